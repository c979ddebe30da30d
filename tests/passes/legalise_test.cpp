// What a device lacks, spelled out in what it has.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <random>

#include "ptx2spv/abi.hpp"
#include "tests/passes/flushing.hpp"
#include "tests/passes/parsed.hpp"
#include "tests/support/order.hpp"
#include "translator/passes/analysis/float_ranges.hpp"
#include "translator/passes/legalise/legalise_atomics.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/subgroups.hpp"

namespace ptx2spv {
namespace {

using namespace ir;
using namespace test;

TEST(LegaliseDots, a_dot_product_that_the_device_lacks_becomes_products_of_bytes) {
  constexpr std::uint32_t kFirst = 0x80ff7f01, kSecond = 0xff80c17f;
  // Unsigned, the first's bytes signed, the second's, both: by hand.
  constexpr std::uint32_t kSums[] = {
      0x80 * 0xff + 0xff * 0x80 + 0x7f * 0xc1 + 0x7f, 0u - 0x80 * 0xff - 0x80 + 0x7f * 0xc1 + 0x7f,
      0u - 0x80 - 0xff * 0x80 - 0x7f * 0x3f + 0x7f, 0u + 0x80 + 0x80 - 0x7f * 0x3f + 0x7f};
  for (unsigned signs = 0; signs < 4; ++signs) {
    for (const bool has : {false, true}) {
      Parsed p(fmt::format(R"(
b0:
  %1 = constant i32 {:#x}
  %2 = constant i32 {:#x}
  %3 = dot4 i32 %1 %2 imm={}
  %4 = constant i32 0x0
  store mem=slot,4 %4 %3
  exit
)",
                           kFirst, kSecond, signs),
               Form::variables);
      Features features;
      features.dot4_u8 = (signs == 0) == has;
      features.dot4_s8 = (signs == 3) == has;
      features.dot4_mixed = (signs == 1 || signs == 2) == has;
      passes::legalise_dots(p.f, features);
      p.expect_valid();
      EXPECT_EQ(p.has(Op::dot4), has) << signs;
      EXPECT_EQ(p.has(Op::mul), !has) << signs;
      Memory memory;
      memory.of(Space::slot).resize(4);
      EXPECT_EQ(p.run(memory).error, "");
      EXPECT_EQ(word(memory, Space::slot, 0), kSums[signs]) << signs;
    }
  }
}

TEST(LegaliseFloat, an_addition_is_native_where_it_is_exact_and_a_routine_elsewhere) {
  for (const bool exact : {true, false}) {
    Parsed p(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i64 0x100000000
  %3 = load i32 mem=param,4,readonly %1
  %4 = fadd i32 fp=f32,rn %3 %3
  store mem=global,4 %2 %4
  exit
)");
    const Profile profile = *find_profile(exact ? "nvidia" : "portable");
    EXPECT_TRUE(passes::legalise_float(p.f, p.m, {.profile = profile}));
    p.expect_valid();
    EXPECT_FALSE(p.has(Op::fadd)) << print(p.f, p.m);
    EXPECT_EQ(p.has(Op::library), !exact) << print(p.f, p.m);
  }
}

// A colour as a byte: the value is limited to 0 to 1, and what it is multiplied with and added to
// is known, so that neither denormals nor numbers out of range matter.
TEST(LegaliseFloat, a_limited_value_becomes_an_integer_by_the_devices_own_operations) {
  Parsed p(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i64 0x100000000
  %3 = constant i32 0x437f0000
  %4 = constant i32 0x3f000000
  %5 = load i32 mem=param,4,readonly %1
  %6 = fcvt i32 fp=f32,to:f32,rn,sat %5
  %7 = ffma i32 fp=f32,rn %6 %3 %4
  %8 = fcvt i32 fp=f32,to:u32,rzi %7
  store mem=global,4 %2 %8
  exit
)");
  Profile profile = *find_profile("nvidia");
  profile.exactness.fma_denormals32 = profile.exactness.exact_round32 = false;
  EXPECT_TRUE(passes::legalise_float(p.f, p.m, {.profile = profile}));
  p.expect_valid();
  EXPECT_TRUE(p.has(Op::native_ffma)) << print(p.f, p.m);
  EXPECT_EQ(p.m.library_names, std::vector<std::string>{"f32_to_u32_bounded"});
}

// NVIDIA's own root takes denormals for zeros: it is scaled unless a constant beside it excludes
// them.
TEST(LegaliseFloat, a_root_of_no_denormal_needs_no_scaling) {
  for (const bool known : {true, false}) {
    Parsed p(std::string(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i64 0x100000000
  %3 = constant i32 0x38d1b717
  %4 = load i32 mem=param,4,readonly %1
  %5 = fadd i32 fp=f32,rn %4 %3
  %6 = frsqrt i32 fp=f32,approx %)") +
             (known ? "5" : "4") + "\n  store mem=global,4 %2 %6\n  exit\n");
    const Profile profile = *find_profile("nvidia");
    EXPECT_TRUE(passes::legalise_float(p.f, p.m, {.profile = profile}));
    p.expect_valid();
    EXPECT_EQ(p.has(Op::native_fmul), !known) << print(p.f, p.m);
  }
}

// Between operations that flush nothing looks at the NaN either.
TEST(LegaliseFloat, of_a_chain_that_flushes_only_the_last_nan_is_selected) {
  Parsed p(R"(
b0:
  %1 = constant i32 0x0
  %2 = load i32 mem=param,4,readonly %1
  %3 = fadd i32 fp=f32,rn,ftz %2 %2
  %4 = fmul i32 fp=f32,rn,ftz %3 %2
  %5 = fadd i32 fp=f32,rn,ftz %4 %3
  store mem=slot,4 %1 %5
  exit
)");
  EXPECT_TRUE(passes::legalise_float(p.f, p.m, {.profile = *find_profile("lavapipe")}));
  EXPECT_TRUE(passes::elide_nan_selects(p.f));
  passes::simplify(p.f, p.m);
  p.expect_valid();
  EXPECT_EQ(p.count([&](Value v, BlockId) {
    if (p.f.insts[v].op != Op::select) return false;
    const Inst& chosen = p.f.insts[p.f.arg(v, 1)];
    return chosen.op == Op::constant && chosen.imm == 0x7fffffffu;
  }),
            1u)
      << print(p.f, p.m);
}

TEST(LegaliseFloat, the_lesser_or_greater_of_a_constant_is_a_selection) {
  constexpr std::uint32_t kNumbers[] = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff,
                                        0x00800000, 0x80800000, 0x3f7fffff, 0x3f800000, 0xbf800000,
                                        0x3f800001, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345,
                                        0x7f800001, 0xff800001};
  for (const bool least : {true, false})
    for (const unsigned side : {0u, 1u})
      for (const std::uint32_t limit : {0x3f800000u, 0xbf800000u, 0x00800000u, 0x7f800000u, 0u}) {
        Parsed p(
            "b0:\n  %1 = constant i32 0x0\n  %2 = load i32 mem=param,4,readonly %1\n  %3 = "
            "constant i32 " +
            std::to_string(limit) + "\n  %4 = " + (least ? "fmin" : "fmax") + " i32 fp=f32 " +
            (side ? "%2 %3" : "%3 %2") + "\n  store mem=slot,4 %1 %4\n  exit\n");
        EXPECT_TRUE(passes::legalise_float(p.f, p.m, {.profile = *find_profile("portable")}));
        p.expect_valid();
        EXPECT_FALSE(p.has(Op::library)) << print(p.f, p.m);
        for (const bool flushing : {false, true}) {
          RunOptions options{.trace = false};
          options.operation = [&](const Function&, const Inst& inst, std::span<const Bits> args,
                                  Bits& result) {
            if (inst.op != Op::native_flt) return false;
            const auto of = [&](std::size_t i) {
              const float x = std::bit_cast<float>(args[i].w[0]);
              return flushing && std::fpclassify(x) == FP_SUBNORMAL ? 0.0f : x;
            };
            result = Bits::of(of(0) < of(1));
            return true;
          };
          for (const std::uint32_t x : kNumbers) {
            const float a = std::bit_cast<float>(x), b = std::bit_cast<float>(limit);
            const bool below = a < b || (a == b && std::signbit(a));
            const std::uint32_t want = std::isnan(a) || below != least ? limit : x;
            Memory memory;
            memory.of(Space::slot).resize(4);
            put(memory, Space::param, 0, x);
            EXPECT_EQ(p.run(memory, options).error, "");
            EXPECT_EQ(word(memory, Space::slot, 0), want)
                << std::hex << x << (least ? " min " : " max ") << limit << ", side " << side;
          }
        }
      }
}

// Vulkan promises 2 ulp of 1 / sqrt x for normal x, PTX less than 2^-22.9: where fma are fused, one
// step of Newton makes up for it.
TEST(LegaliseFloat, an_inverse_root_of_two_ulp_is_within_the_manuals_bound_after_one_step) {
  Parsed p(R"(
b0:
  %1 = constant i32 0x0
  %2 = load i32 mem=param,4,readonly %1
  %3 = frsqrt i32 fp=f32,approx %2
  store mem=slot,4 %1 %3
  exit
)");
  Profile profile = *find_profile("nvidia");
  profile.exactness.native_approx = profile.exactness.canonical_nan32 = false;
  EXPECT_TRUE(passes::legalise_float(p.f, p.m, {.profile = profile}));
  p.expect_valid();
  EXPECT_FALSE(p.has(Op::library)) << print(p.f, p.m);
  int ulps = 0;
  RunOptions options{.trace = false};
  options.operation = [&](const Function&, const Inst& inst, std::span<const Bits> args,
                          Bits& result) {
    const auto of = [&](std::size_t i) { return std::bit_cast<float>(args[i].w[0]); };
    float value = 0;
    switch (inst.op) {
      case Op::native_unary: {
        const float x = std::fpclassify(of(0)) == FP_SUBNORMAL ? std::copysign(0.0f, of(0)) : of(0);
        value = static_cast<float>(1 / std::sqrt(static_cast<double>(x)));
        if (std::isnormal(value))
          value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) +
                                       static_cast<std::uint32_t>(ulps));
        break;
      }
      case Op::native_fmul: value = of(0) * of(1); break;
      case Op::native_ffma: value = std::fma(of(0), of(1), of(2)); break;
      default: return false;
    }
    result = Bits::of(std::bit_cast<std::uint32_t>(value));
    return true;
  };
  Memory memory;
  memory.of(Space::slot).resize(4);
  const auto root_of = [&](std::uint32_t x) {
    put(memory, Space::param, 0, x);
    EXPECT_EQ(p.run(memory, options).error, "");
    return word(memory, Space::slot, 0);
  };
  std::mt19937 rng(7);
  for (ulps = -2; ulps <= 2; ++ulps) {
    double worst = 0;
    for (int i = 0; i < 20000; ++i) {
      // Denormals are every eighth.
      const auto x = static_cast<std::uint32_t>(rng() % (i % 8 ? 0x7f800000u : 0x00800000u) | 1u);
      const double want = 1 / std::sqrt(static_cast<double>(std::bit_cast<float>(x)));
      worst = std::max(worst, std::abs(std::bit_cast<float>(root_of(x)) / want - 1));
    }
    EXPECT_LT(worst, 0x1p-23) << ulps;
    constexpr std::uint32_t kSpecial[][2] = {{0x00000000, 0x7f800000}, {0x80000000, 0xff800000},
                                             {0x7f800000, 0x00000000}, {0xff800000, 0x7fffffff},
                                             {0xbf800000, 0x7fffffff}, {0x80000001, 0x7fffffff},
                                             {0x7fc00000, 0x7fffffff}, {0xff812345, 0x7fffffff}};
    for (const auto& [x, want] : kSpecial) EXPECT_EQ(root_of(x), want) << std::hex << x;
  }
}

// Of a device that keeps them.
TEST(LegaliseFloat, an_inverse_root_with_ftz_takes_denormals_for_zeros) {
  Parsed p(R"(
b0:
  %1 = constant i32 0x0
  %2 = load i32 mem=param,4,readonly %1
  %3 = frsqrt i32 fp=f32,approx,ftz %2
  store mem=slot,4 %1 %3
  exit
)");
  Profile profile = *find_profile("nvidia");
  profile.exactness.native_approx = false;
  EXPECT_TRUE(passes::legalise_float(p.f, p.m, {.profile = profile}));
  p.expect_valid();
  RunOptions options{.trace = false};
  options.operation = [](const Function&, const Inst& inst, std::span<const Bits> args,
                         Bits& result) {
    const auto of = [&](std::size_t i) { return std::bit_cast<float>(args[i].w[0]); };
    const auto is = [&](float value) {
      result = Bits::of(std::bit_cast<std::uint32_t>(value));
      return true;
    };
    switch (inst.op) {
      case Op::native_unary: return is(1 / std::sqrt(of(0)));
      case Op::native_fmul: return is(of(0) * of(1));
      case Op::native_ffma: return is(std::fma(of(0), of(1), of(2)));
      case Op::native_flt: result = Bits::of(of(0) < of(1)); return true;
      default: return false;
    }
  };
  for (const auto& [x, want] : {std::pair{0x00000001u, 0x7f800000u},
                                {0x807fffffu, 0xff800000u},
                                {0x00800000u, 0x5f000000u},
                                {0x40800000u, 0x3f000000u}}) {
    Memory memory;
    memory.of(Space::slot).resize(4);
    put(memory, Space::param, 0, x);
    EXPECT_EQ(p.run(memory, options).error, "");
    EXPECT_EQ(word(memory, Space::slot, 0), want) << std::hex << x;
  }
}

// A sum's result is flushed once, around a loop too, and its operands where they come from memory.
TEST(LegaliseFloat, what_is_flushed_is_not_flushed_again) {
  const auto flushes = [](std::string_view first, std::string_view last) {
    Parsed p(std::string("b0:\n  %1 = constant i32 0x0\n  %2 = constant i32 0x80000000\n"
                         "  %3 = load i32 mem=param,4,readonly %1\n  br b1\n"
                         "b1:\n  %4 = phi i32 ") +
             std::string(first) + " %7\n  %5 = fadd i32 fp=f32,rn,ftz %4 %4\n" +
             "  %6 = xor_ i32 %5 %2\n  %7 = fadd i32 fp=f32,rn" + std::string(last) + " %6 %5\n" +
             "  %8 = flt i1 fp=f32,ftz %7 %1\n  cond_br %8 b1 b2\n"
             "b2:\n  store mem=slot,4 %1 %7\n  exit\n");
    Profile profile = *find_profile("lavapipe");
    profile.exactness.canonical_nan32 = true;
    EXPECT_TRUE(passes::legalise_float(p.f, p.m, {.profile = profile}));
    p.expect_valid();
    return p.count(Op::select);
  };
  // Each sum's result.
  EXPECT_EQ(flushes("%1", ",ftz"), 2u);
  // The phi, once for each of the two that read it.
  EXPECT_EQ(flushes("%3", ",ftz"), 4u);
  // One result, the phi, and the other result at its comparison.
  EXPECT_EQ(flushes("%1", ""), 4u);
}

TEST(FloatRanges, an_fma_with_known_constants_does_not_care_about_flushed_denormals) {
  const auto flushed = [](float x) { return std::fpclassify(x) == FP_SUBNORMAL ? x * 0 : x; };
  std::mt19937 rng(5);
  unsigned denormal = 0, taken = 0, differing = 0;
  for (int i = 0; i < 400000; ++i) {
    const auto draw = [&](int low, int high) {
      const int exponent = low + static_cast<int>(rng() % static_cast<unsigned>(high - low));
      return std::bit_cast<float>(static_cast<std::uint32_t>(rng() & 0x807fffffu) |
                                  static_cast<std::uint32_t>(exponent + 127) << 23);
    };
    const float a = i % 3 ? draw(-126, 127)
                          : std::bit_cast<float>(static_cast<std::uint32_t>(rng() & 0x807fffffu));
    const float b = draw(-126, 60);
    float c = draw(-126, 20);
    if (i % 4 == 0) c = -a * b;
    Function f;
    Builder builder(f);
    builder.at(builder.new_block());
    const Value unknown = builder.load(Type::i32, builder.i32(0), {.space = Space::param});
    const Value factor = builder.i32(std::bit_cast<std::uint32_t>(b)),
                addend = builder.i32(std::bit_cast<std::uint32_t>(c));
    const bool known = passes::FloatRanges(f).fma_with_constants(unknown, factor, addend);
    const float exact = std::fma(a, b, c),
                device = flushed(std::fma(flushed(a), flushed(b), flushed(c)));
    const bool same = std::bit_cast<std::uint32_t>(exact) == std::bit_cast<std::uint32_t>(device);
    if (known) {
      ASSERT_TRUE(same) << a << " * " << b << " + " << c << ": " << exact << ", " << device;
    }
    denormal += std::fpclassify(a) == FP_SUBNORMAL && known;
    taken += known;
    differing += !same;
  }
  EXPECT_GT(taken, 1000u);
  EXPECT_GT(denormal, 1000u);
  EXPECT_GT(differing, 1000u);
}

// As in expf of CUDA's own library. The device's fma flush.
TEST(LegaliseFloat, what_rounding_left_says_how_to_round_down) {
  constexpr struct {
    std::uint32_t factor, addend;
  } kCases[] = {{0x437c0000, 0x4b400001},   // 252 and 12582913
                {0x3dcccccd, 0xc0e00000},   // 0.1 and -7
                {0x3eaaaaab, 0x40000000},   // 1/3 and 2
                {0x25123456, 0x27000000}};  // about 2^-53, and 2^-49
  std::mt19937 rng(9);
  for (const auto& [factor, addend] : kCases) {
    Parsed p(fmt::format(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i64 0x100000000
  %3 = constant i32 0x{:x}
  %4 = constant i32 0x{:x}
  %5 = load i32 mem=param,4,readonly %1
  %6 = fcvt i32 fp=f32,to:f32,rn,sat %5
  %7 = ffma i32 fp=f32,rm %6 %3 %4
  store mem=global,4 %2 %7
  exit
)",
                         factor, addend));
    Profile profile = *find_profile("nvidia");
    profile.exactness.exact_min32 = false;
    EXPECT_TRUE(passes::legalise_float(p.f, p.m, {.profile = profile}));
    p.expect_valid();
    ASSERT_EQ(p.count(Op::native_ffma), 2u) << print(p.f, p.m);
    RunOptions options;
    options.operation = [](const Function&, const Inst& inst, std::span<const Bits> args,
                           Bits& result) {
      const auto in = [&](unsigned i) { return flushed(number(args[i])); };
      const auto gives = [&](float own) {
        return result = Bits::of(std::bit_cast<std::uint32_t>(flushed(own))), true;
      };
      if (inst.op == Op::native_flt) return result = Bits::of(in(0) < in(1)), true;
      if (inst.op == Op::native_fsub) return gives(in(0) - in(1));
      return inst.op == Op::native_ffma && gives(std::fma(in(0), in(1), in(2)));
    };
    unsigned down = 0, denormal = 0;
    for (unsigned i = 0; i < 20000; ++i) {
      std::uint32_t x = static_cast<std::uint32_t>(rng());
      if (i % 4 == 0) x &= 0x007fffff;
      if (i % 4 == 1) x = (x & 0x7fffff) | (96 + x % 31) << 23;
      if (i % 4 == 2) x = 0x3f800000 - x % 0x3000000;
      const float any = std::bit_cast<float>(x),
                  a = any > 1   ? 1
                      : any > 0 ? any
                                : 0,
                  b = std::bit_cast<float>(factor), c = std::bit_cast<float>(addend);
      Memory memory;
      put(memory, Space::param, 0, x);
      memory.of(Space::global).resize(4);
      ASSERT_EQ(p.run(memory, options).error, "");
      const float nearest = std::fma(a, b, c);
      std::fesetround(FE_DOWNWARD);
      const volatile float factors[] = {a, b, c};
      const float want = std::fma(factors[0], factors[1], factors[2]);
      std::fesetround(FE_TONEAREST);
      ASSERT_EQ(word(memory, Space::global, 0), std::bit_cast<std::uint32_t>(want)) << a;
      down += want != nearest;
      denormal += std::fpclassify(a) == FP_SUBNORMAL;
    }
    EXPECT_GT(down, 1000u) << factor;
    EXPECT_GT(denormal, 1000u) << factor;
  }
}

TEST(LegaliseInt64, a_sum_of_64_bits_is_made_of_words) {
  constexpr const char* kText = R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 0x8
  %3 = load i64 mem=param,8,readonly %1
  %4 = load i64 mem=param,8,readonly %2
  %5 = add i64 %3 %4
  store mem=slot,8 %1 %5
  exit
)";
  Parsed p(kText);
  Profile profile = *find_profile("portable");
  profile.features.int64 = false;
  passes::legalise_int64(p.f, p.m, profile);
  p.expect_valid();
  EXPECT_FALSE(p.any([&](Value v, BlockId) {
    return p.f.insts[v].op == Op::add && p.f.insts[v].type == Type::i64;
  })) << print(p.f, p.m);
  Memory memory;
  const std::uint32_t words[4] = {0xffffffffu, 1, 2, 3};  // the carry goes into the high word
  for (unsigned i = 0; i < 4; ++i) put(memory, Space::param, 4 * i, words[i]);
  memory.of(Space::slot).resize(8);
  EXPECT_EQ(p.run(memory).error, "");
  EXPECT_EQ(word(memory, Space::slot, 0), 1u);
  EXPECT_EQ(word(memory, Space::slot, 4), 5u);
}

TEST(LegaliseAtomics, what_the_device_has_no_atomic_for_is_compared_and_swapped_in_a_loop) {
  Parsed p(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i64 0x100000000
  %3 = load i32 mem=param,4,readonly %1
  %4 = atomic i32 mem=global,4,inc %2 %3
  exit
)",
           Form::variables);
  passes::legalise_atomics(p.f, *find_profile("portable"));
  p.expect_valid();
  EXPECT_TRUE(p.has(Op::atomic_cas));
  EXPECT_EQ(p.count(Op::atomic, Space::global), 0u) << print(p.f, p.m);
  Memory memory;
  put(memory, Space::param, 0, 2);
  memory.of(Space::global).resize(4);
  for (const std::uint32_t expected : {1u, 2u, 0u}) {
    EXPECT_EQ(p.run(memory).error, "");
    EXPECT_EQ(word(memory, Space::global, 0), expected);
  }
}

TEST(LegaliseAtomics, inc_and_dec_through_all_words_are_additions) {
  const auto text = [](const std::string& op, const std::string& bound) {
    return R"(
b0:
  %1 = builtin i32 local_id_x
  %2 = constant i32 0x2
  %3 = shl i32 %1 %2
  %4 = constant i32 0x0
  %5 = constant i32 )" +
           bound + "\n  %6 = atomic i32 mem=shared,4," + op + R"( %4 %5
  store mem=slot,4 %3 %6
  exit
)";
  };
  for (const std::string op : {"inc", "dec"}) {
    Parsed other(text(op, "0xfffffffe"), Form::variables);
    passes::legalise_atomics(other.f, *find_profile("nvidia"));
    EXPECT_TRUE(other.has(Op::atomic_cas));
    for (const std::uint32_t first : {0u, 40u, 0x80000000u, 0xffffffffu}) {
      Parsed p(text(op, "0xffffffff"), Form::variables);
      passes::legalise_atomics(p.f, *find_profile("nvidia"));
      p.expect_valid();
      EXPECT_FALSE(p.has(Op::atomic_cas)) << print(p.f, p.m);
      Memory memory;
      memory.of(Space::slot).resize(4 * 64);
      put(memory, Space::shared, 0, first);
      test::run_row(p.f, p.m, memory, 64);
      const std::uint32_t step = op == "inc" ? 1 : ~0u;
      EXPECT_EQ(word(memory, Space::shared, 0), first + 64 * step);
      std::vector<std::uint32_t> found, want;
      for (std::uint32_t t = 0; t < 64; ++t) {
        found.push_back(word(memory, Space::slot, 4 * t));
        want.push_back(first + t * step);
      }
      std::ranges::sort(found);
      std::ranges::sort(want);
      EXPECT_EQ(found, want);
    }
  }
}

/// Before each swap threads wait, so that others come first.
void delay_swaps(Function& f) {
  Builder b(f);
  for (BlockId each = 0; each < f.blocks.size(); ++each) {
    const auto is_swap = [&](Value v) { return f.insts[v].op == Op::atomic_cas; };
    auto& insts = f.blocks[each].insts;
    const auto swap = std::ranges::find_if(insts, is_swap) - insts.begin();
    if (swap == std::ssize(insts)) continue;
    b.at(each);
    b.inst(Op::subgroup_ballot, Type::i32, {b.i1(true)}, passes::kLanesApart);
    std::rotate(insts.begin() + swap, insts.end() - 2, insts.end());
  }
}

std::ptrdiff_t swaps_of(const Outcome& outcome) {
  return std::ranges::count_if(outcome.trace,
                               [](const Event& each) { return each.op == Op::atomic_cas; });
}

TEST(LegaliseAtomics, lanes_that_want_the_same_word_take_turns) {
  constexpr std::uint32_t kThreads = 64;
  for (const unsigned words : {1u, 4u, 32u}) {
    Parsed p(R"(
b0:
  %1 = builtin i32 local_id_x
  %2 = constant i32 )" +
                 std::to_string(words - 1) +
                 R"(
  %3 = and_ i32 %1 %2
  %4 = constant i32 0x2
  %5 = shl i32 %3 %4
  %6 = constant i32 0x7fffffff
  %7 = atomic i32 mem=shared,4,inc %5 %6
  %8 = shl i32 %1 %4
  store mem=slot,4 %8 %7
  exit
)",
             Form::variables);
    Profile profile = *find_profile("nvidia");
    profile.features.subgroup_partition = false;
    passes::legalise_atomics(p.f, profile);
    p.expect_valid();
    delay_swaps(p.f);
    Memory memory;
    memory.of(Space::slot).resize(4 * kThreads);
    memory.of(Space::shared).resize(4 * words);
    RunOptions options;
    options.threads[0] = kThreads;
    const Outcome outcome = p.run(memory, options);
    EXPECT_EQ(outcome.error, "");
    EXPECT_FALSE(outcome.stalled || outcome.out_of_steps);
    std::vector<std::vector<bool>> seen(words, std::vector<bool>(kThreads / words));
    for (unsigned t = 0; t < kThreads; ++t) {
      const std::uint32_t old = word(memory, Space::slot, 4 * t);
      ASSERT_LT(old, kThreads / words) << t;
      EXPECT_FALSE(seen[t % words][old]) << t;
      seen[t % words][old] = true;
    }
    const auto tried = swaps_of(outcome);
    EXPECT_LT(tried, 6 * kThreads) << words;
    EXPECT_GT(tried, words == 1 ? kThreads : 0u) << words;
  }
}

/// An atomic that is a loop, in both branches of an if: lane l's operand is operands[l % count].
struct Grouped {
  const char* name;
  std::uint32_t first;
  std::vector<std::uint32_t> operands;
  std::uint32_t (*left)(std::uint32_t found, std::uint32_t operand);
};

// What lanes want one word is one swap a branch, however many they are.
TEST(LegaliseAtomics, lanes_that_want_the_same_word_swap_as_one) {
  constexpr std::uint32_t kThreads = 64;
  const auto up = [](std::uint32_t found, std::uint32_t bound) {
    return found >= bound ? 0 : found + 1;
  };
  const auto down = [](std::uint32_t found, std::uint32_t bound) {
    return found == 0 || found > bound ? bound : found - 1;
  };
  const auto sum = [](std::uint32_t found, std::uint32_t operand) {
    return std::bit_cast<std::uint32_t>(std::bit_cast<float>(found) +
                                        std::bit_cast<float>(operand));
  };
  std::vector<Grouped> all = {{"fadd_f32", 0x3f800000, {0x3dcccccd, 0x41234567, 0x4b000001}, sum},
                              {"inc", 3, {5, 0, 90}, up},
                              {"dec", 3, {5, 0, 90}, down}};
  for (const std::uint32_t bound : {0u, 1u, 4u, 31u, 33u, ~0u})
    for (const std::uint32_t first : {0u, 7u, 33u, ~0u - 20}) {
      all.push_back({"inc", first, {bound}, up});
      all.push_back({"dec", first, {bound}, down});
    }
  for (const Grouped& each : all)
    for (const auto& [space, words] : {std::pair(Space::shared, 1u),
                                       {Space::shared, 8u},
                                       {Space::slot, 1u},
                                       {Space::slot, 8u}}) {
      const bool shared = space == Space::shared;
      if (!shared && each.left == +sum) continue;  // the device has it
      const std::uint32_t base = shared ? 0 : 4 * kThreads;
      const std::string atomic = std::string(" = atomic i32 mem=") + (shared ? "shared" : "slot") +
                                 ",4," + each.name + " %5 %9\n";
      Parsed p(R"(
b0:
  %1 = builtin i32 local_id_x
  %2 = constant i32 )" +
                   std::to_string(words - 1) +
                   R"(
  %3 = and_ i32 %1 %2
  %4 = constant i32 0x2
  %17 = shl i32 %3 %4
  %18 = constant i32 )" +
                   std::to_string(base) +
                   R"(
  %5 = add i32 %17 %18
  %6 = constant i32 )" +
                   std::to_string(each.operands.size()) +
                   R"(
  %7 = urem i32 %1 %6
  %8 = shl i32 %7 %4
  %9 = load i32 mem=param,4 %8
  %10 = shl i32 %1 %4
  %11 = constant i32 )" +
                   std::string(shared ? "0xc" : "0x1f") +
                   R"(
  %13 = and_ i32 %1 %11
  %14 = eq i1 %13 %11
  cond_br %14 b1 b2
b1:
  %15)" + atomic + R"(  store mem=slot,4 %10 %15
  exit
b2:
  %16)" + atomic + R"(  store mem=slot,4 %10 %16
  exit
)",
               Form::variables);
      passes::legalise_atomics(p.f, *find_profile("nvidia"));
      p.expect_valid();
      EXPECT_TRUE(p.has(Op::subgroup_partition));
      delay_swaps(p.f);
      Memory memory;
      memory.of(Space::slot).resize(8 * kThreads);
      for (std::uint32_t i = 0; i < words; ++i) put(memory, space, base + 4 * i, each.first);
      for (std::uint32_t i = 0; i < each.operands.size(); ++i)
        put(memory, Space::param, 4 * i, each.operands[i]);
      RunOptions options;
      options.threads[0] = kThreads;
      options.unset = 0xdead;
      if (!shared) options.max_steps = 1u << 25;  // lanes wait by the clock
      options.operation = [&](const Function&, const Inst&, std::span<const Bits> args,
                              Bits& result) {
        result = Bits::of(sum(args[0].w[0], args[1].w[0]));
        return true;
      };
      const Outcome outcome = p.run(memory, options);
      EXPECT_EQ(outcome.error, "");
      EXPECT_FALSE(outcome.stalled || outcome.out_of_steps);
      std::vector<std::vector<test::Step>> steps(words);
      for (std::uint32_t t = 0; t < kThreads; ++t) {
        const std::uint32_t found = word(memory, Space::slot, 4 * t);
        steps[t % words].push_back(
            {found, each.left(found, each.operands[t % each.operands.size()])});
      }
      for (std::uint32_t i = 0; i < words; ++i)
        EXPECT_TRUE(test::has_order(each.first, word(memory, space, base + 4 * i), steps[i]))
            << each.name << " from " << each.first << ", bound " << each.operands[0] << ", word "
            << i << " of " << words;
      // Two warps in two branches are four groups, of which others come between.
      if (shared && words == 1 && (each.operands.size() == 1 || each.first == 0x3f800000)) {
        EXPECT_LE(swaps_of(outcome), kThreads + 4 + 3 + 2 + 1) << each.name;
      }
    }
}

// The same of 64 bits, under a lock: in the branch of an if, where some lanes have ended.
TEST(LegaliseAtomics, lanes_that_want_the_same_wide_word_lock_as_one) {
  constexpr std::uint32_t kThreads = 64;
  struct Wide {
    const char* text;
    std::uint64_t first;
    std::uint64_t (*left)(std::uint64_t found, std::uint64_t operand);
  };
  const Wide all[] = {
      {"atomic i64 mem=shared,8,add %5 %8", ~0ull - 7,
       [](std::uint64_t found, std::uint64_t operand) { return found + operand; }},
      {"atomic i64 mem=shared,8,smax %5 %8", 5,
       [](std::uint64_t found, std::uint64_t operand) {
         return static_cast<std::int64_t>(found) < static_cast<std::int64_t>(operand) ? operand
                                                                                      : found;
       }},
      {"atomic i64 mem=shared,8,fadd_f64 %5 %8", 0x3ff0000000000000,
       [](std::uint64_t found, std::uint64_t operand) {
         return std::bit_cast<std::uint64_t>(std::bit_cast<double>(found) +
                                             std::bit_cast<double>(operand));
       }},
      {"atomic_cas i64 mem=shared,8 %5 %9 %8", 0x1000000003,
       [](std::uint64_t found, std::uint64_t operand) {
         return found == 0x1000000003 ? operand : found;
       }}};
  for (const Wide& each : all)
    for (const std::uint32_t words : {1u, 8u}) {
      Parsed p(R"(
b0:
  %1 = builtin i32 local_id_x
  %2 = constant i32 )" +
                   std::to_string(words - 1) +
                   R"(
  %3 = and_ i32 %1 %2
  %4 = constant i32 0x3
  %5 = shl i32 %3 %4
  %6 = constant i32 0x10
  %7 = shl i32 %1 %4
  %8 = pack i64 %1 %6
  %9 = constant i64 0x1000000003
  %10 = and_ i32 %1 %4
  %11 = eq i1 %10 %4
  cond_br %11 b2 b1
b1:
  %12 = )" + each.text +
                   R"(
  store mem=slot,8 %7 %12
  exit
b2:
  exit
)",
               Form::variables);
      Profile profile = *find_profile("nvidia");
      profile.features.shader_clock = false;
      // In shared memory as words, or the sum of doubles that the device lacks.
      Parsed own = p;
      passes::legalise_atomics(own.f, profile);
      EXPECT_EQ(own.has(Op::subgroup_partition),
                std::string_view(each.text).find("fadd") != std::string_view::npos);
      profile.features.shared_layout = false;
      passes::legalise_atomics(p.f, profile);
      p.expect_valid();
      EXPECT_TRUE(p.has(Op::subgroup_partition));
      Memory memory;
      memory.of(Space::slot).resize(8 * kThreads);
      memory.of(Space::shared).resize(8 * words);
      memory.of(Space::locks).resize(std::size_t{4} * abi::kLockWords);
      const auto wide = [&](Space space, std::size_t at) {
        return word(memory, space, at) | std::uint64_t{word(memory, space, at + 4)} << 32;
      };
      for (std::uint32_t i = 0; i < words; ++i) {
        put(memory, Space::shared, 8 * i, static_cast<std::uint32_t>(each.first));
        put(memory, Space::shared, 8 * i + 4, static_cast<std::uint32_t>(each.first >> 32));
      }
      RunOptions options;
      options.threads[0] = kThreads;
      options.unset = 0xdead;
      options.operation = [&](const Function&, const Inst&, std::span<const Bits> args,
                              Bits& result) {
        result = Bits::of(each.left(args[0].u64(), args[1].u64()));
        return true;
      };
      const Outcome outcome = p.run(memory, options);
      EXPECT_EQ(outcome.error, "");
      EXPECT_FALSE(outcome.stalled || outcome.out_of_steps);
      std::vector<std::vector<test::Step>> steps(words);
      for (std::uint32_t t = 0; t < kThreads; ++t) {
        if (t % 4 == 3) continue;
        const std::uint64_t found = wide(Space::slot, 8 * t);
        steps[t % words].push_back({found, each.left(found, t | std::uint64_t{16} << 32)});
      }
      for (std::uint32_t i = 0; i < words; ++i)
        EXPECT_TRUE(test::has_order(each.first, wide(Space::shared, 8 * i), steps[i]))
            << each.text << ", word " << i << " of " << words;
      // Less than to take and release it in each lane.
      const auto locks = std::ranges::count_if(outcome.trace, [](const Event& event) {
        return event.op == Op::atomic && event.space == Space::locks;
      });
      if (words == 1) {
        EXPECT_LT(locks, std::ssize(steps[0]) * 2) << each.text;
      }
    }
}

}  // namespace
}  // namespace ptx2spv
