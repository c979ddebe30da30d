// Clocks in billionths of a second, made of the ticks of those that the device has, by the rates
// that its runtime measured (abi::ClockWord).
#include "translator/passes/passes.hpp"
#include "translator/passes/rewrite.hpp"

namespace ptx2spv::passes {

namespace {

/// ticks * rate >> 32, where the product has 96 bits and more are lost.
Value scaled(Builder& b, Value ticks, Value rate) {
  const auto wide = [&](Value word) { return b.inst(Op::zext, Type::i64, {word}); };
  const Value low = b.inst(Op::extract, Type::i32, {ticks}, 0);
  const Value high = b.inst(Op::extract, Type::i32, {ticks}, 1);
  const Value fraction = b.inst(Op::trunc, Type::i32, {rate});
  const Value whole = b.inst(Op::high, Type::i32, {rate});
  const Value all = b.inst(Op::pack, Type::i64, {low, high});
  const Value ones = b.op2(Op::mul, all, wide(whole));
  const Value upper = b.op2(Op::mul, wide(high), wide(fraction));
  const Value lower = wide(b.op2(Op::mulhi_u, low, fraction));
  return b.op2(Op::add, ones, b.op2(Op::add, upper, lower));
}

}  // namespace

void legalise_clocks(Function& function, const Features& features, std::uint32_t rates) {
  SsaRewriter rewriter(function);
  Builder& b = rewriter.builder();
  const auto param = [&](std::uint32_t word) {
    return b.load(Type::i64, b.i32(rates + word * 4),
                  {.space = Space::param, .bytes = 8, .readonly = true});
  };
  rewriter.run([&](Value v) {
    if (function.insts[v].op != Op::clock) return v;
    const bool time = static_cast<Clock>(function.insts[v].imm) == Clock::time;
    const bool device = time ? features.device_clock : !features.shader_clock;
    if (!features.device_clock && !features.shader_clock) return function.arg(v, 0);
    const Value ticks =
        b.inst(Op::read_clock, Type::v2, {},
               static_cast<std::uint64_t>(device ? ClockScope::device : ClockScope::subgroup));
    const Value rate = param(time ? abi::c_time_rate : abi::c_cycles_rate);
    const Value one = b.i64(std::uint64_t{1} << 32);
    const Value used = b.select(b.cmp(Op::eq, rate, b.i64(0)), one, rate);
    return b.op2(Op::add, scaled(b, ticks, used),
                 param(time ? abi::c_time_first : abi::c_cycles_first));
  });
}

}  // namespace ptx2spv::passes
