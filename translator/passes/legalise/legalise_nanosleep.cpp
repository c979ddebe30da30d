// nanosleep t takes from 0 to 2t nanoseconds. Without it blocks that wait for others look again at
// once, and take the memory's time from those that they wait for.
#include "translator/passes/passes.hpp"
#include "translator/passes/rewrite.hpp"
#include "translator/passes/subgroups.hpp"

namespace ptx2spv::passes {

void legalise_nanosleep(Function& function, bool by_clock) {
  // A clock of 1 GHz gives 2t, one of 2 GHz t. The most is the manual's.
  constexpr std::uint32_t kTicks = 2, kMost = 1000000;
  CfgRewriter rewriter(function);
  Builder& b = rewriter.builder();
  rewriter.run([&](Value v) {
    if (function.insts[v].op != Op::nanosleep) return rewriter.keep(v);
    if (!by_clock) return;
    const Value start = subgroup_ticks(b);
    const Value time = b.op2(Op::umin, function.arg(v, 0), b.i32(kMost));
    wait_by_ticks(b, start, b.op2(Op::mul, time, b.i32(kTicks)));
  });
}

}  // namespace ptx2spv::passes
