// Which variable or parameter an address comes from. An address that is computed from one pointer
// and integers points into what that pointer points into, so its bounds are known without a search.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ptx2spv/translator.hpp"
#include "translator/ir/ir.hpp"

namespace ptx2spv::passes {

class Provenance {
 public:
  /// Of a function whose registers are variables. Linear: a value changes its mind twice at most.
  explicit Provenance(const ir::Function& function);

  struct Root {
    enum class Kind : std::uint8_t { unknown, object, param } kind = Kind::unknown;
    std::uint32_t index = 0;  ///< object: in EntryInfo::objects; param: offset of its 64 bits
    bool operator==(const Root&) const = default;
  };
  Root root(ir::Value address) const;

 private:
  using State = std::uint32_t;  ///< none, integer, unknown, or kFirstRoot + index of a root
  static constexpr State kNone = 0, kInteger = 1, kUnknown = 2, kFirstRoot = 3;

  State transfer(ir::Value value);
  State of_load(ir::Value value);
  State root_state(Root root);
  static State join(State a, State b);
  static State sum(State a, State b);

  const ir::Function& f_;
  std::vector<State> values_, vars_;
  std::vector<Root> roots_;
};

/// The value of an address that is made of constants alone, as lowering writes it.
std::optional<std::uint64_t> constant_address(const ir::Function& function, ir::Value address);

/// Fills EntryInfo::pointer_params and the place of the sanitizer's words. Before SSA, after
/// inlining, when the parameter buffer's other parts have their places.
void find_pointer_params(const ir::Function& function, EntryInfo& entry);

}  // namespace ptx2spv::passes
