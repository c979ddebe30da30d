// Kernels with fused multiply-adds, and what a device gives whose own take denormals for zeros, for
// tests of checked_fma and checked_loops.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>

#include "tests/passes/flushing.hpp"
#include "tests/passes/parsed.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv::test {

using namespace ir;

inline Profile losing() {
  Profile profile = *find_profile("nvidia");
  profile.exactness.fused_fma32 = profile.exactness.denormals32 = true;
  profile.exactness.fma_denormals32 = false;
  return profile;
}

/// A kernel's beginning: %1 is 0, %2 a small number, %8 a sign, %9 is 1; `count` words from memory
/// are %10 and so on, their places %30 and so on.
inline std::string start(unsigned count) {
  std::string all =
      "\nb0:\n  %1 = constant i32 0x0\n  %2 = constant i32 0x3e000000\n"
      "  %8 = constant i32 0x80000000\n  %9 = constant i32 0x1\n";
  for (unsigned i = 0; i < count; ++i)
    all += fmt::format("  %{0} = constant i32 {1}\n  %{2} = load i32 mem=param,4,readonly %{0}\n",
                       30 + i, 4 * i, 10 + i);
  return all;
}

/// And its end: values to memory.
inline std::string finish(std::initializer_list<std::string> values) {
  std::string all;
  for (unsigned i = 0; const std::string& value : values) {
    all += fmt::format("  %{0} = constant i64 0x{1:x}\n  store mem=global,4 %{0} {2}\n", 900 + i,
                       0x100000000u + 4 * i, value);
    ++i;
  }
  return all + "  exit\n";
}

/// A loop of `last` iterations, which %4 counts: `phis` and `body` are in its one block.
inline std::string loop(const std::string& phis, const std::string& body, const std::string& last) {
  return "  br b1\nb1:\n" + phis + "  %4 = phi i32 %1 %5\n" + body +
         "  %5 = add i32 %4 %9\n  %6 = ult i1 %5 " + last +
         "\n  loop b3 b2\n  cond_br %6 b2 b3\nb2:\n  br b1\nb3:\n";
}
/// The same with `body` in a block of its own; either way on, of `ways`, may have one, too.
inline std::string wide_loop(const std::string& phis, const std::string& body,
                             const std::string& last, const std::string& ways) {
  return "  br b1\nb1:\n" + phis + "  %4 = phi i32 %1 %5\n  loop b3 b2\n  br b4\nb4:\n" + body +
         "  %5 = add i32 %4 %9\n  %6 = ult i1 %5 " + last + "\n  merge b5\n  cond_br %6 " + ways +
         "b2:\n  br b1\nb3:\n";
}

/// Eight words from memory, `text`, then %50 and %51 to memory.
inline std::string line(const std::string& text) {
  return start(8) + text + finish({"%50", "%51"});
}

inline bool transform(Parsed& p) {
  const Profile profile = losing();
  const bool any = passes::checked_fma(p.f, p.m, {.profile = profile});
  p.expect_valid();
  return any;
}

inline void legalise(Parsed& p) {
  const Profile profile = losing();
  EXPECT_TRUE(passes::legalise_float(p.f, p.m, {.profile = profile}));
  p.expect_valid();
}

/// Which ways a run went.
struct Ways {
  unsigned native = 0, looked_at = 0, repeated = 0;
};

/// What the device does: its fma flush, nothing else does.
inline std::array<std::uint32_t, 3> results(const Parsed& p, std::span<const std::uint32_t> words,
                                            Ways* ways = nullptr, unsigned threads = 1) {
  Memory memory;
  for (std::size_t i = 0; i < words.size(); ++i) put(memory, Space::param, 4 * i, words[i]);
  memory.of(Space::global).resize(12);
  RunOptions options;
  bool own = false, looked = false, again = false;
  options.operation = [&](const Function& f, const Inst& inst, std::span<const Bits> args,
                          Bits& result) {
    own = own || (inst.op == Op::ffma && inst.fp.checked);
    again = again || (inst.op == Op::ffma && !inst.fp.checked);
    if (inst.op == Op::flt) {
      const bool less = number(args[0]) < number(args[1]);
      looked = looked || (inst.fp.checked && less);
      return result = Bits::of(less), true;
    }
    const auto gives = [&](float value) {
      const bool nan = std::isnan(value);
      return result = Bits::of(nan ? 0x7fffffffu : std::bit_cast<std::uint32_t>(value)), true;
    };
    const auto in = [&](unsigned i) { return number(args[i]); };
    switch (inst.op) {
      case Op::fcvt:
      case Op::native_from_u: return gives(static_cast<float>(args[0].w[0]));
      case Op::fex2: return gives(std::exp2(in(0)));
      case Op::native_fadd: return gives(in(0) + in(1));
      case Op::native_fsub: return gives(in(0) - in(1));
      case Op::native_fmul: return gives(in(0) * in(1));
      case Op::native_ffma:
        own = true;
        return gives(flushed(std::fma(flushed(in(0)), flushed(in(1)), flushed(in(2)))));
      case Op::native_flt: return result = Bits::of(flushed(in(0)) < flushed(in(1))), true;
      default: break;
    }
    if (!float_operation(f, inst, args, result)) return false;
    if (inst.fp.sat)
      result =
          Bits::of(std::bit_cast<std::uint32_t>(std::fmin(std::fmax(number(result), 0.0f), 1.0f)));
    return true;
  };
  options.library = [&](std::string_view name, std::span<const Bits> args, Bits& result) {
    again = true;
    const float value = std::fma(number(args[0]), number(args[1]), number(args[2]));
    result = Bits::of(std::isnan(value) ? 0x7fffffffu : std::bit_cast<std::uint32_t>(value));
    return name == "f32_fma_rn_fused";
  };
  memory.of(Space::shared).resize(std::max(8u, p.f.shared_bytes));
  options.threads[0] = threads;
  EXPECT_EQ(p.run(memory, options).error, "");
  if (ways) {
    ways->native += own && !looked;
    ways->looked_at += looked && !again;
    ways->repeated += again;
  }
  return {word(memory, Space::global, 0), word(memory, Space::global, 4),
          word(memory, Space::global, 8)};
}

/// Words of every kind, or such that sums and products are near the least normal number.
class Operands {
 public:
  void draw(unsigned round, std::span<std::uint32_t> words) {
    for (std::uint32_t& each : words) {
      const std::uint32_t random = static_cast<std::uint32_t>(rng_());
      const std::uint32_t sign = random & 0x80000000u, fraction = random & 0x7fffffu;
      const unsigned pick = random >> 24 & 0x7f;
      switch (round % 5) {
        case 0: each = kKinds[pick % std::size(kKinds)]; break;
        case 1: each = sign | (127 - pick % 8) << 23 | fraction; break;
        case 2: each = pick % 4 ? sign | (127 - pick % 8) << 23 | fraction : sign; break;
        case 3: each = sign | (64 - pick % 8) << 23 | (pick & 64 ? fraction : 0); break;
        default: each = sign | (pick % 8 ? (pick * 2) << 23 : 0) | fraction; break;
      }
    }
  }

 private:
  static constexpr std::uint32_t kKinds[] = {
      0,          0x80000000u, 1,          0x807fffffu, 0x00800000, 0x01000001,
      0x3f800000, 0xbf800001,  0x20000000, 0x7f7fffff,  0x7f800000, 0xff800000u,
      0x7fc12345, 0x42280000,  0x0d123456, 0x33800000,  0xbf800000, 0x007fffff};
  std::mt19937 rng_{7};
};

/// Both functions give the same for 2,000 draws of so many words.
template <unsigned Words>
void expect_same(const Structured& before, const Structured& after) {
  Operands operands;
  for (unsigned round = 0; round < 2000; ++round) {
    std::uint32_t words[Words];
    operands.draw(round, words);
    ASSERT_EQ(results(before, words), results(after, words)) << round;
  }
}

}  // namespace ptx2spv::test
