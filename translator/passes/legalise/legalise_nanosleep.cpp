// nanosleep t takes from 0 to 2t nanoseconds. Without it blocks that wait for others look again at
// once, and take the memory's time from those that they wait for.
#include "translator/passes/passes.hpp"
#include "translator/passes/rewrite.hpp"
#include "translator/passes/subgroups.hpp"

namespace ptx2spv::passes {

void legalise_nanosleep(Function& function, bool by_clock, bool device_clock) {
  // A clock of 1 GHz gives 2t, one of 2 GHz t. A subgroup's slows down with an idle processor, and
  // the device's does not: whichever is first ends the wait. The most is the manual's.
  constexpr std::uint32_t kTicks = 2, kMost = 1000000;
  CfgRewriter rewriter(function);
  Builder& b = rewriter.builder();
  rewriter.run([&](Value v) {
    if (function.insts[v].op != Op::nanosleep) return rewriter.keep(v);
    if (!by_clock) return;
    const Value start = subgroup_ticks(b);
    const Value other = device_clock ? ticks_of(b, ClockScope::device) : 0;
    const Value time = b.op2(Op::umin, function.arg(v, 0), b.i32(kMost));
    const Value ticks = b.op2(Op::mul, time, b.i32(kTicks));
    const BlockId wait = b.new_block(), done = b.new_block();
    b.br(wait);
    b.at(wait);
    const Value waits = b.cmp(Op::ult, b.op2(Op::sub, subgroup_ticks(b), start), ticks);
    if (device_clock) {
      // It takes longer to read.
      const BlockId second = b.new_block();
      b.cond_br(waits, second, done);
      b.at(second);
      const Value gone = b.op2(Op::sub, ticks_of(b, ClockScope::device), other);
      b.cond_br(b.cmp(Op::ult, gone, ticks), wait, done);
    } else {
      b.cond_br(waits, wait, done);
    }
    b.at(done);
  });
}

}  // namespace ptx2spv::passes
