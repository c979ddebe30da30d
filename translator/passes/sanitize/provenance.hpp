// Which variable or parameter an address comes from. An address that is computed from one pointer
// and integers points into what that pointer points into, so its bounds are known without a search.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ptx2spv/translator.hpp"
#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

class Provenance {
 public:
  /// Of a function whose registers are variables. Linear: a value changes its mind four times at
  /// most.
  explicit Provenance(const Function& function);

  struct Root {
    enum class Kind : std::uint8_t { unknown, object, param } kind = Kind::unknown;
    std::uint32_t index =
        0;  ///< object: in EntryInfo::sanitizer.objects; param: offset of its 64 bits
    bool operator==(const Root&) const = default;
  };
  Root root(Value address) const;

 private:
  /// One of these, or kFirstRoot + index of a root. Each may become a later one, and a root
  /// unknown. null: 0, which a choice of a pointer or none has. loaded: 64 bits from memory, a
  /// pointer perhaps. distance: made of pointers by other means than an offset, so that a pointer
  /// and it may be another pointer.
  using State = std::uint32_t;
  static constexpr State kNone = 0, kNull = 1, kInteger = 2, kLoaded = 3, kDistance = 4,
                         kUnknown = 5, kFirstRoot = 6;

  State transfer(Value value);
  State of_load(Value value);
  State root_state(Root root);
  State difference(State a, State b) const;
  State made_of(Value value) const;
  static State join(State a, State b);
  static State sum(State a, State b);

  const Function& f_;
  std::vector<State> values_, vars_;
  std::vector<Root> roots_;
};

/// The value of an address that is made of constants alone, as lowering writes it.
std::optional<std::uint64_t> constant_address(const Function& function, Value address);

/// Fills EntryInfo::sanitizer.pointer_params and the place of the sanitizer's words. Before SSA,
/// after inlining, when the parameter buffer's other parts have their places.
void find_pointer_params(const Function& function, EntryInfo& entry);

}  // namespace ptx2spv::passes
