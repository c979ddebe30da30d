// Names in scope while a function, or the module, is being parsed.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "translator/ptx/ast.hpp"

namespace ptx2spv::ptx {

/// A declaration %r<100>: its registers become symbols when they are used.
struct RegisterRange {
  std::string_view prefix;
  Span span;
  Type type = Type::none;
  std::uint8_t vec = 1;
  std::uint32_t count = 0;
  std::uint32_t scope = 0;
  std::vector<SymbolId>
      made;  ///< nested scopes only: what an inner range of the same name must hide
};

/// An open-addressing map from names to numbers, with scopes that put back what they hid.
class NameMap {
 public:
  NameMap() : slots_(kFirstSize) {}
  std::uint32_t find(std::string_view name) const { return slots_[slot(name)].value; }
  /// Binds `name` in scope `scope` (0 is the outermost).
  void bind(std::string_view name, std::uint32_t value, std::uint32_t scope);
  std::uint32_t depth() const { return static_cast<std::uint32_t>(undo_.size()); }
  void push() { undo_.emplace_back(); }
  void pop();
  void clear();
  /// The scope in which `name` is bound now.
  std::uint32_t scope_of(std::string_view name) const { return slots_[slot(name)].scope; }

 private:
  static constexpr std::size_t kFirstSize = 256;
  struct Entry {
    std::string_view name;
    std::uint32_t value = 0, scope = 0;
  };
  struct Undo {
    std::string_view name;
    std::uint32_t value, scope;
  };
  std::size_t slot(std::string_view name) const;
  void grow();

  std::vector<Entry> slots_;
  std::size_t used_ = 0;
  std::vector<std::vector<Undo>> undo_{1};
};

}  // namespace ptx2spv::ptx
