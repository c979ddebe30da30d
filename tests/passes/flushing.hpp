// A device whose float operations take denormals for zeros, for tests of passes that check for
// them.
#pragma once

#include <bit>
#include <cmath>
#include <span>

#include "ptx2spv/translator.hpp"
#include "tests/support/reference.hpp"

namespace ptx2spv::test {

inline float number(ir::Bits word) { return std::bit_cast<float>(word.w[0]); }
/// A denormal is zero to such a device.
inline float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

/// Sums, products and fma: exact ones, with NVIDIA's NaN, or the device's own.
inline bool float_operation(const ir::Function&, const ir::Inst& inst,
                            std::span<const ir::Bits> args, ir::Bits& result) {
  if (inst.op != ir::Op::fmul && inst.op != ir::Op::fadd && inst.op != ir::Op::ffma) return false;
  float operand[3] = {};
  for (std::size_t i = 0; i < args.size(); ++i) {
    operand[i] = number(args[i]);
    if (inst.fp.checked) operand[i] = flushed(operand[i]);
  }
  float value = inst.op == ir::Op::fmul   ? operand[0] * operand[1]
                : inst.op == ir::Op::fadd ? operand[0] + operand[1]
                                          : std::fma(operand[0], operand[1], operand[2]);
  if (inst.fp.checked) value = flushed(value);
  result = ir::Bits::of(std::isnan(value) ? 0x7fffffffu : std::bit_cast<std::uint32_t>(value));
  return true;
}

inline Profile flushing() { return *find_profile("swiftshader"); }

}  // namespace ptx2spv::test
