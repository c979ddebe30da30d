// Links functions of the compiled GLSL library (shaders/) into a module under construction.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "translator/backend/spirv/builder.hpp"
#include "translator/ir/ir.hpp"

namespace ptx2spv::spirv {

/// What a library holds and where, found in one walk over its words.
class Library {
 public:
  explicit Library(std::span<const std::uint32_t> words);

  /// The library that is built into the translator; indexed at the first call, safe from any
  /// thread.
  static const Library& embedded();

  /// The id in `builder`'s module of the function `name` with this type (of
  /// Builder::type_function); the function and all that it needs are copied at the first use. 0
  /// when there is none: `error` says why. A builder takes functions of one library only. `control`
  /// is what a copy made here says of its own calls, not of those that it makes.
  Id link(Builder& builder, std::string_view name, Id function_type, std::string& error,
          spv::FunctionControlMask control = spv::FunctionControlMask::MaskNone) const;

  /// Instructions of the function `name` (the largest of them) with all that it calls copied in; 0
  /// when there is none.
  std::uint32_t cost(std::string_view name) const;

  /// The words of the function `name` whose parameters are GLSL's for these types, i64 as uvec2;
  /// none where there is no such function.
  std::span<const std::uint32_t> body(std::string_view name,
                                      std::span<const ir::Type> parameters) const;
  /// The instruction outside functions that defines `id`; none where there is no such one.
  std::span<const std::uint32_t> definition(std::uint32_t id) const;

  /// Names of all functions, without their parameter lists.
  std::vector<std::string_view> names() const;

 private:
  struct Function {
    std::uint32_t id = 0, begin = 0, end = 0;  ///< words [begin, end)
    std::uint32_t cost = 0;                    ///< 0: not counted yet
  };
  struct Name {
    std::string_view text;
    std::uint32_t function = 0;  ///< index in functions_
  };
  using Names = std::vector<Name>;
  class Copy;
  std::pair<Names::const_iterator, Names::const_iterator> named(std::string_view name) const;
  void count(std::uint32_t function);
  bool takes(const Function& function, std::span<const ir::Type> parameters) const;

  std::span<const std::uint32_t> words_;
  std::vector<std::uint32_t> definitions_;  ///< by id: offset of a module-level instruction, or 0
  std::vector<std::uint32_t> function_of_;  ///< by id: index in functions_ plus 1, or 0
  std::vector<std::vector<std::uint32_t>> decorations_;  ///< by id: offsets of OpDecorate
  std::vector<Function> functions_;
  Names names_;  ///< sorted
};

}  // namespace ptx2spv::spirv
