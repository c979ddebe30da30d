// Values that are only moved from memory to memory, and the bytes of them that nobody wrote: a copy
// is no use of those, and leaves as many unwritten bytes where it goes.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// Of a function whose registers are variables.
class Copies {
 public:
  explicit Copies(const Function& function);

  /// A bit for each byte of a load that something depends on, but for its words that go nowhere but
  /// into memory, as what is stored, whole or in parts. Padding of structures is moved so.
  std::uint32_t used_bytes(Value load) const;
  /// A load of local memory whose value goes nowhere but back there: a structure that is copied, or
  /// the other bits of a word when a bit field is set. `local`: whether a store goes there.
  bool stays_local(const Function& function, Value load,
                   const std::function<bool(Value)>& local) const;
  /// i32: a bit for each byte that nobody wrote, the lowest first; 0: all were written.
  Value missing(Value value) const;
  void set_missing(Value load, Value missing) { missing_[load] = missing; }
  /// Follows an instruction that moves values; `b` stands behind it, `prologue` before everything.
  void follow(Function& function, Builder& b, Builder& prologue, Value value);

 private:
  void find_uses(const Function& function);
  bool all_used(const Function& function, Value value) const;
  void find_carriers(const Function& function);

  std::vector<std::vector<Value>> users_;    ///< by value, which is no address to them
  std::vector<std::vector<Value>> readers_;  ///< by variable
  std::vector<std::uint8_t> used_;           ///< by value, a bit for each word
  std::vector<bool> carries_;                ///< by value
  std::vector<bool> var_carries_;            ///< a load's value may be in the variable
  std::vector<std::uint32_t> bits_of_;  ///< the variable with the bits of another one; 0: none yet
  std::unordered_map<Value, Value> missing_;
};

}  // namespace ptx2spv::passes
