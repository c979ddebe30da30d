// Words that are always 0 although no driver can know it: no grid has 2^31 workgroups in a row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

class OpaqueZero {
 public:
  enum class Source : std::uint8_t {
    launch,     ///< a push constant, which a driver knows to be the same in all threads
    workgroup,  ///< the workgroup's number
  };
  explicit OpaqueZero(Function& function, Source source = Source::launch)
      : f_(function), source_(source) {}
  /// i32, i64 or i1 (false), made at the function's beginning when it is asked for first.
  Value of(Type type);

 private:
  Function& f_;
  Source source_;
  Value word_ = 0, wide_ = 0, bit_ = 0;
};

/// Merges the operands, from number `first` on, for which `hides` holds with the word, in every
/// instruction for which `takes` holds. Whether there was one.
template <typename Takes, typename Hides>
bool make_operands_opaque(Function& f, unsigned first, Takes&& takes, Hides&& hides,
                          OpaqueZero::Source source = OpaqueZero::Source::launch) {
  OpaqueZero zero(f, source);
  Builder builder(f);
  const auto wanted = [&](Value v) {
    if (!takes(v)) return false;
    for (unsigned i = first; i < f.insts[v].count; ++i)
      if (hides(f.arg(v, i))) return true;
    return false;
  };
  bool any = false;
  for (const BlockId b : f.order) {
    const std::vector<Value>& insts = f.blocks[b].insts;
    if (std::none_of(insts.begin(), insts.end(), wanted)) continue;
    any = true;
    zero.of(Type::i32);  // may stand in this block
    const std::vector<Value> old = std::exchange(f.blocks[b].insts, {});
    builder.at(b);
    for (const Value v : old) {
      if (takes(v)) {
        builder.set_loc(f.insts[v].loc);
        for (unsigned i = first; i < f.insts[v].count; ++i) {
          const Value a = f.arg(v, i);
          if (!hides(a)) continue;
          const Value hidden = builder.op2(Op::xor_, zero.of(f.insts[a].type), a);
          f.operands[f.insts[v].first + i] = hidden;
        }
      }
      f.blocks[b].insts.push_back(v);
    }
  }
  return any;
}

}  // namespace ptx2spv::passes
