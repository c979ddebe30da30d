// Linked modules: which definition a name means across PTX files, and where variables live.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptx2spv/translator.hpp"
#include "translator/lower/call_shape.hpp"
#include "translator/ptx/ast.hpp"

namespace ptx2spv::lower {

/// A function by module and index; has a body unless only declarations exist.
struct FunctionRef {
  std::uint32_t module = 0, function = ptx::kNoIndex;
  bool operator==(const FunctionRef&) const = default;
  bool found() const { return function != ptx::kNoIndex; }
  std::uint64_t key() const { return std::uint64_t{module} << 32 | function; }
};

/// A symbol of one of the modules.
struct SymbolRef {
  std::uint32_t module = 0;
  ptx::SymbolId symbol = ptx::kNoSymbol;
  bool operator==(const SymbolRef&) const = default;
  std::uint64_t key() const { return std::uint64_t{module} << 32 | symbol; }
};

class Program {
 public:
  /// Links and lays out. Problems (two definitions, an initialiser of an unknown symbol) go to
  /// `messages`.
  Program(std::vector<std::unique_ptr<ptx::Module>> modules, std::vector<Message>& messages);

  const ptx::Module& module(std::uint32_t index) const { return *modules_[index]; }
  /// The definition that a variable symbol means (itself when it is defined here).
  SymbolRef resolve(SymbolRef symbol) const;
  FunctionRef resolve_function(std::uint32_t module, ptx::SymbolId symbol) const;
  const ptx::Function& function(FunctionRef ref) const {
    return modules_[ref.module]->functions[ref.function];
  }

  /// Byte offset of a .global or .const variable in its image; false when it has none there.
  bool offset_of(SymbolRef symbol, std::uint64_t& offset) const;
  /// Number of a function whose address is taken, from 1: its "address". 0 for others.
  std::uint32_t function_number(FunctionRef ref) const;
  /// Those of the shape, by number.
  const std::vector<FunctionRef>& numbered_functions(const CallShape& shape) const {
    static const auto& none = *new std::vector<FunctionRef>;
    const auto at = of_shape_.find(shape);
    return at == of_shape_.end() ? none : at->second;
  }

  std::vector<FunctionRef> entries() const;
  /// Of the PTX text.
  std::size_t instructions() const;
  std::size_t text_bytes() const;
  const Interface& interface() const { return interface_; }
  Interface& interface() { return interface_; }

 private:
  void link(std::vector<Message>& messages);
  void find_references();
  void lay_out(std::vector<Message>& messages);
  /// Those with initial contents or those without.
  void place(std::uint32_t module, ptx::SymbolId symbol, bool initialised,
             std::vector<Message>& messages);
  void allocate_in_bank(SymbolRef self, const ptx::Variable& variable);
  void initialise(std::uint32_t module, ptx::SymbolId symbol, std::vector<Message>& messages);

  std::vector<std::unique_ptr<ptx::Module>> modules_;
  std::unordered_map<std::string_view, SymbolRef>
      variables_;  ///< definitions visible across modules
  std::unordered_map<std::string_view, FunctionRef> functions_;
  std::unordered_map<std::uint64_t, std::uint64_t> offsets_;
  std::unordered_map<unsigned, std::uint64_t> banks_;       ///< of constants, by number: the offset
  std::map<CallShape, std::vector<FunctionRef>> of_shape_;  ///< the numbered functions
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
  Interface interface_;
};

/// The functions of the device heap, which lower_heap.cpp writes.
enum class HeapCall : std::uint8_t { malloc, free };
std::optional<HeapCall> heap_call(std::string_view name);

/// Functions that CUDA supplies without a definition: lower_call.cpp knows them, or refuses them by
/// name.
bool is_runtime_function(std::string_view name);

/// A located message about `module`.
Message message_at(const ptx::Module& module, Severity severity, Span span, std::string text);

}  // namespace ptx2spv::lower
