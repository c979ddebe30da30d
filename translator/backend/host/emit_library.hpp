// Functions of the shader library, made of their SPIR-V for all lanes side by side.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <spirv/unified1/spirv.hpp11>
#include <unordered_map>
#include <vector>

#include "translator/backend/host/emit.hpp"
#include "translator/backend/spirv/library.hpp"

namespace ptx2spv::interpreter::llvm {

/// One call of a function. These have no loops and no memory: both sides of a branch run, and
/// selections choose.
class LibraryCall {
 public:
  /// A value's components, those of structures and vectors one after the other.
  struct Parts {
    std::vector<LLVMValueRef> part;
    bool uniform = true;  ///< scalars, which all lanes have
  };

  LibraryCall(Build& build, const spirv::Library& library) : b_(build), library_(library) {}
  /// The function's result; nothing where it has an operation that is not made here. `body`: as
  /// spirv::Library has it.
  std::optional<Parts> run(std::span<const std::uint32_t> body, std::span<const Parts> arguments);

 private:
  using Words = std::span<const std::uint32_t>;
  enum class Element : std::uint8_t { truth, word, real };
  /// To a variable's component `first` and what of that type follows.
  struct Pointer {
    std::uint32_t variable = 0, first = 0, type = 0;
  };

  void flatten(std::uint32_t type, std::vector<Element>& out) const;
  std::uint32_t size_of(std::uint32_t type) const;
  /// Where a member of a type begins; `type` becomes the member's.
  std::uint32_t offset_of(std::uint32_t& type, std::uint32_t member) const;
  LLVMTypeRef element_type(Element element, bool uniform) const;
  Parts constant(std::uint32_t id);
  Parts value(std::uint32_t id);
  Parts slice(const Parts& from, std::uint32_t first, std::uint32_t type) const;
  Parts spread(Parts v);
  std::vector<Parts> alike(std::span<const std::uint32_t> ids);

  // emit_library.cpp
  bool instruction(spv::Op op, Words words);
  bool control(spv::Op op, Words words);
  bool memory(spv::Op op, Words words);
  bool composite(spv::Op op, Words words);
  void edge(std::uint32_t to, LLVMValueRef condition);
  Parts phi(Words words);
  Parts choose(const Parts& c, Parts x, Parts y);

  // emit_library_values.cpp
  bool arithmetic(spv::Op op, Words words);
  bool wide(spv::Op op, Words words);
  LLVMValueRef unary(spv::Op op, LLVMValueRef x);
  LLVMValueRef binary(spv::Op op, LLVMValueRef x, LLVMValueRef y);
  LLVMValueRef comparison(spv::Op op, LLVMValueRef x, LLVMValueRef y);
  LLVMValueRef extended(std::uint32_t instruction, const LLVMValueRef* in);
  LLVMValueRef shift(Opcode o, LLVMValueRef x, LLVMValueRef by);
  LLVMValueRef to(LLVMValueRef x, Element element);
  LLVMValueRef not_(LLVMValueRef x);

  Build& b_;
  const spirv::Library& library_;
  std::unordered_map<std::uint32_t, Parts> values_;
  std::unordered_map<std::uint32_t, std::uint32_t> types_;
  std::unordered_map<std::uint32_t, Pointer> pointers_;
  std::unordered_map<std::uint32_t, Parts> variables_;
  std::uint32_t block_ = 0;
  LLVMValueRef here_ = nullptr;  ///< which lanes are in this block; null: all
  std::map<std::pair<std::uint32_t, std::uint32_t>, LLVMValueRef> edges_;
  std::unordered_map<std::uint32_t, LLVMValueRef> blocks_;
  std::optional<Parts> result_;
};

}  // namespace ptx2spv::interpreter::llvm
