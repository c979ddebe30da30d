// Fused multiply-adds that are the device's own where a check says that they may be: results are
// exact whatever the operands are, on a device whose fma takes denormals for zeros.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>

#include "tests/passes/flushing.hpp"
#include "tests/passes/parsed.hpp"
#include "tests/shaders/glsl.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv {
namespace {

using namespace ir;
using namespace test;

Profile losing() {
  Profile profile = *find_profile("nvidia");
  profile.exactness.fused_fma32 = profile.exactness.denormals32 = true;
  profile.exactness.fma_denormals32 = false;
  return profile;
}

/// Eight words from memory, %10 to %17; `text`; then %50 and %51 to memory.
std::string line(const std::string& text) {
  std::string all = "\nb0:\n  %1 = constant i64 0x100000000\n  %2 = constant i32 0x3e000000\n";
  for (unsigned i = 0; i < 8; ++i)
    all += "  %" + std::to_string(30 + i) + " = constant i32 " + std::to_string(4 * i) + "\n  %" +
           std::to_string(10 + i) + " = load i32 mem=param,4,readonly %" + std::to_string(30 + i) +
           "\n";
  return all + text + "  %49 = constant i64 0x100000004\n  store mem=global,4 %1 %50\n" +
         "  store mem=global,4 %49 %51\n  exit\n";
}

/// A body's part of a sum of forces, as nvcc makes it.
const char* const kForce = R"(  %40 = fadd i32 fp=f32,rn %10 %11
  %41 = fadd i32 fp=f32,rn %12 %13
  %42 = fmul i32 fp=f32,rn %41 %41
  %43 = ffma i32 fp=f32,rn %40 %40 %42
  %44 = fadd i32 fp=f32,rn %43 %2
  %45 = fmul i32 fp=f32,rn %44 %14
  %50 = ffma i32 fp=f32,rn %40 %45 %15
  %51 = ffma i32 fp=f32,rn %41 %45 %16
)";
/// Sums of products, and a product of sums.
const char* const kDot = R"(  %40 = fmul i32 fp=f32,rn %10 %11
  %41 = ffma i32 fp=f32,rn %12 %13 %40
  %42 = ffma i32 fp=f32,rn %14 %15 %41
  %50 = ffma i32 fp=f32,rn %42 %16 %17
  %43 = ffma i32 fp=f32,rn %50 %2 %42
  %51 = ffma i32 fp=f32,rn,sat %43 %42 %10
)";

bool transform(Parsed& p) {
  const Profile profile = losing();
  const bool any = passes::checked_fma(p.f, p.m, {.profile = profile});
  p.expect_valid();
  return any;
}

/// Which ways a run went.
struct Ways {
  unsigned native = 0, looked_at = 0, repeated = 0;
};

/// What the device does: its fma flush, nothing else does.
std::array<std::uint32_t, 3> results(const Parsed& p, std::span<const std::uint32_t> words,
                                     Ways* ways = nullptr) {
  Memory memory;
  for (std::size_t i = 0; i < words.size(); ++i) put(memory, Space::param, 4 * i, words[i]);
  memory.of(Space::global).resize(12);
  RunOptions options;
  bool own = false, looked = false, again = false;
  options.operation = [&](const Function& f, const Inst& inst, std::span<const Bits> args,
                          Bits& result) {
    own = own || inst.fp.checked;
    if (inst.op == Op::flt) return result = Bits::of(number(args[0]) < number(args[1])), true;
    if (!float_operation(f, inst, args, result)) return false;
    if (inst.fp.sat)
      result =
          Bits::of(std::bit_cast<std::uint32_t>(std::fmin(std::fmax(number(result), 0.0f), 1.0f)));
    return true;
  };
  options.library = [&](std::string_view name, std::span<const Bits> args, Bits& result) {
    const auto word = [&](unsigned i) { return args[i].w[0]; };
    if (name == "f32_fma_lost") {
      looked = true;
      result = Bits::of(glsl::f32_fma_lost(word(0), word(1), word(2), word(3)));
    } else if (name == "f32_fma_rn") {
      again = true;
      const float value = std::fma(number(args[0]), number(args[1]), number(args[2]));
      result = Bits::of(std::isnan(value) ? 0x7fffffffu : std::bit_cast<std::uint32_t>(value));
    } else {
      return false;
    }
    return true;
  };
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

TEST(CheckedFma, results_are_exact_whatever_the_operands_are) {
  for (const char* text : {kForce, kDot}) {
    const Structured before(line(text));
    Structured after(line(text));
    ASSERT_TRUE(transform(after)) << print(after.f, after.m);
    Operands operands;
    Ways ways;
    for (unsigned round = 0; round < 4000; ++round) {
      std::uint32_t words[8];
      operands.draw(round, words);
      ASSERT_EQ(results(before, words), results(after, words, &ways)) << text << round;
    }
    EXPECT_GT(ways.native, 200u) << text;
    EXPECT_GT(ways.looked_at, 200u) << text;
    EXPECT_GT(ways.repeated, 200u) << text;
  }
}

// Were a check left out, or the repetition behind it, the test before would see it.
TEST(CheckedFma, each_check_is_needed) {
  for (const unsigned dropped : {0u, 1u}) {
    const Structured before(line(kDot));
    Structured after(line(kDot));
    ASSERT_TRUE(transform(after));
    unsigned branches = 0;
    const Value never = Builder(after.f).i1(false);
    after.f.blocks[0].insts.insert(after.f.blocks[0].insts.begin(), never);
    for (Block& block : after.f.blocks)
      if (block.term == Term::cond_br && branches++ == dropped) block.cond = never;
    EXPECT_EQ(branches, 2u);
    Operands operands;
    unsigned wrong = 0;
    for (unsigned round = 0; round < 4000; ++round) {
      std::uint32_t words[8];
      operands.draw(round, words);
      wrong += results(before, words) != results(after, words);
    }
    EXPECT_GT(wrong, 20u) << dropped;
  }
}

/// Sums, products and fma of each other, with a store and a load among them.
std::string random_line(std::mt19937& rng) {
  std::vector<unsigned> values{2, 10, 11, 12, 13, 14, 15, 16, 17};
  const auto any = [&] {
    // What was made last is taken most.
    const auto back = std::min<std::size_t>(rng() % 12, values.size() - 1);
    return " %" + std::to_string(values[values.size() - 1 - back]);
  };
  std::string text = "  %3 = constant i64 0x100000008\n  %4 = constant i32 0x80000000\n";
  unsigned next = 100;
  for (unsigned left = 4 + rng() % 30; left > 0; --left) {
    const std::string made = "  %" + std::to_string(next) + " = ";
    switch (rng() % 10) {
      case 0: text += made + "fmul i32 fp=f32,rn" + any() + any() + "\n"; break;
      case 1: text += made + "fadd i32 fp=f32,rn" + any() + any() + "\n"; break;
      case 2: text += made + "xor_ i32" + any() + " %4\n"; break;
      case 3: {
        if (rng() % 2) text += "  store mem=global,4 %3" + any() + "\n";
        text += made + "load i32 mem=global,4 %3\n";
        break;
      }
      default: text += made + "ffma i32 fp=f32,rn" + any() + any() + any() + "\n"; break;
    }
    values.push_back(next++);
  }
  text += "  %50 = xor_ i32 %" + std::to_string(next - 1) + " %4\n";
  return text + "  %51 = xor_ i32" + any() + any() + "\n";
}

TEST(CheckedFma, random_lines_give_what_they_gave) {
  std::mt19937 rng(11);
  Operands operands;
  Ways ways;
  unsigned transformed = 0;
  for (unsigned program = 0; program < 150; ++program) {
    const std::string text = line(random_line(rng));
    const Structured before(text);
    Structured after(text);
    transformed += transform(after);
    for (unsigned round = 0; round < 50; ++round) {
      std::uint32_t words[8];
      operands.draw(round, words);
      ASSERT_EQ(results(before, words), results(after, words, &ways))
          << text << print(after.f, after.m);
    }
  }
  EXPECT_GT(transformed, 100u);
  EXPECT_GT(ways.native, 300u);
  EXPECT_GT(ways.looked_at, 300u);
  EXPECT_GT(ways.repeated, 300u);
}

// A sum of two values that a line checks is known in that line alone.
TEST(CheckedFma, the_next_line_does_not_rest_on_checks_of_the_last_one) {
  const std::string text = line(R"(  %3 = constant i64 0x100000008
  %41 = ffma i32 fp=f32,rn %10 %11 %12
  %40 = fadd i32 fp=f32,rn %10 %11
  store mem=global,4 %3 %41
  %42 = load i32 mem=global,4 %3
  %50 = ffma i32 fp=f32,rn %40 %13 %42
  %51 = ffma i32 fp=f32,rn %40 %14 %15
)");
  const Structured before(text);
  Structured after(text);
  ASSERT_TRUE(transform(after));
  // The sum is a denormal.
  const std::uint32_t words[8] = {0x00c00000, 0x80800000, 0x3f800000, 0x7e800000,
                                  0x7e800000, 0x3f800000, 0,          0};
  EXPECT_EQ(results(before, words), results(after, words)) << print(after.f, after.m);
}

TEST(CheckedFma, a_chain_needs_one_check_of_its_addend_and_constants_none) {
  Structured chain(line(R"(  %40 = ffma i32 fp=f32,rn %10 %2 %11
  %41 = ffma i32 fp=f32,rn %12 %2 %40
  %42 = ffma i32 fp=f32,rn %13 %2 %41
  %50 = ffma i32 fp=f32,rn %14 %2 %42
  %51 = ffma i32 fp=f32,rn %10 %2 %2
)"));
  ASSERT_TRUE(transform(chain));
  EXPECT_EQ(chain.count(Op::flt), 5u) << print(chain.f, chain.m);
  const Profile profile = losing();
  passes::legalise_float(chain.f, chain.m, {.profile = profile});
  chain.expect_valid();
  // The last one is the device's own, outside.
  EXPECT_EQ(chain.count(Op::native_ffma), 5u) << print(chain.f, chain.m);
}

TEST(CheckedFma, what_comes_to_a_loop_around_it_is_what_came_before) {
  const std::string text = R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 0x4
  %3 = constant i64 0x100000000
  %4 = load i32 mem=param,4,readonly %1
  %5 = load i32 mem=param,4,readonly %2
  %6 = constant i32 0x1
  br b1
b1:
  %10 = phi i32 %4 %12
  %11 = phi i32 %1 %13
  %12 = ffma i32 fp=f32,rn %10 %5 %4
  %13 = add i32 %11 %6
  %14 = ult i1 %13 %2
  loop b3 b2
  cond_br %14 b2 b3
b2:
  br b1
b3:
  store mem=global,4 %3 %12
  exit
)";
  const Structured before(text);
  Structured after(text);
  ASSERT_TRUE(transform(after)) << print(after.f, after.m);
  Operands operands;
  for (unsigned round = 0; round < 2000; ++round) {
    std::uint32_t words[2];
    operands.draw(round, words);
    ASSERT_EQ(results(before, words), results(after, words)) << round;
  }
}

TEST(CheckedFma, devices_that_have_no_need_or_no_fma_keep_what_they_have) {
  for (const char* name : {"lavapipe", "swiftshader", "portable"}) {
    Structured p(line(kDot));
    const Profile profile = *find_profile(name);
    EXPECT_FALSE(passes::checked_fma(p.f, p.m, {.profile = profile})) << name;
  }
  Profile profile = losing();
  Structured fast(line(kDot));
  EXPECT_FALSE(passes::checked_fma(fast.f, fast.m, {.profile = profile, .fp = FpPolicy::fast}));
  profile.exactness.fma_denormals32 = true;
  EXPECT_FALSE(passes::checked_fma(fast.f, fast.m, {.profile = profile}));
}

}  // namespace
}  // namespace ptx2spv
