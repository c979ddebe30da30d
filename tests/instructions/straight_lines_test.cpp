// Straight lines of sums, products and fma, whose operations are a device's own only where checks
// allow it: their results are what this processor's arithmetic gives, with denormals, infinities
// and NaN among ordinary numbers in the same subgroup.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <random>

#include "ptx2spv/runtime.hpp"
#include "tests/support/share.hpp"

namespace ptx2spv::tests {
namespace {

constexpr unsigned kThreads = 128, kInputs = 8, kResults = 4;

enum class Kind : std::uint8_t { add, sub, mul, fma, fma_negated, last };

struct Step {
  Kind kind;
  unsigned operand[3];
};

constexpr std::uint32_t kConstants[] = {0x3e000000, 0x3eaaaaab, 0xc0e00000, 0x0c000000, 0x00012345};

/// Inputs come first, then constants, then steps.
unsigned first_step() { return kInputs + static_cast<unsigned>(std::size(kConstants)); }

/// A step takes an input or a constant, and mostly what the last steps gave.
std::vector<Step> program(std::mt19937& random, unsigned steps, unsigned kinds) {
  std::vector<Step> all;
  for (unsigned i = 0; i < steps; ++i) {
    Step step{static_cast<Kind>(random() % kinds), {}};
    const unsigned known = first_step() + i;
    for (unsigned k = 0; k < 3; ++k) {
      const bool given = i == 0 || random() % 2 == 0;
      // One of eight is a constant: the least of them are rare.
      const unsigned number =
          random() % 8 == 0 ? kInputs + random() % (random() % 8 ? 3 : 5) : random() % kInputs;
      step.operand[k] = given ? number : known - 1 - random() % std::min(i, 3u);
    }
    all.push_back(step);
  }
  return all;
}

std::string text_of(const std::vector<Step>& steps) {
  const unsigned values = first_step() + static_cast<unsigned>(steps.size());
  std::string text = fmt::format(
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".visible .entry k(.param .u64 in, .param .u64 out)\n{{\n.reg .b32 %t;\n.reg .b64 %a<2>;\n"
      ".reg .f32 %v<{}>, %n;\nld.param.u64 %a0, [in];\nld.param.u64 %a1, [out];\n"
      "mov.u32 %t, %tid.x;\nmad.wide.u32 %a0, %t, {}, %a0;\nmad.wide.u32 %a1, %t, {}, %a1;\n",
      values, 4 * kInputs, 4 * kResults);
  for (unsigned i = 0; i < kInputs; ++i)
    text += fmt::format("ld.global.f32 %v{}, [%a0+{}];\n", i, 4 * i);
  for (unsigned i = 0; i < std::size(kConstants); ++i)
    text += fmt::format("mov.f32 %v{}, 0f{:08x};\n", kInputs + i, kConstants[i]);
  unsigned next = first_step();
  for (const Step& step : steps) {
    const auto [a, b, c] = step.operand;
    switch (step.kind) {
      case Kind::add: text += fmt::format("add.rn.f32 %v{}, %v{}, %v{};\n", next, a, b); break;
      case Kind::sub: text += fmt::format("sub.rn.f32 %v{}, %v{}, %v{};\n", next, a, b); break;
      case Kind::mul: text += fmt::format("mul.rn.f32 %v{}, %v{}, %v{};\n", next, a, b); break;
      case Kind::fma:
        text += fmt::format("fma.rn.f32 %v{}, %v{}, %v{}, %v{};\n", next, a, b, c);
        break;
      default:
        text += fmt::format("neg.f32 %n, %v{};\nfma.rn.f32 %v{}, %v{}, %v{}, %n;\n", c, next, a, b);
        break;
    }
    ++next;
  }
  for (unsigned i = 0; i < kResults; ++i)
    text += fmt::format("st.global.f32 [%a1+{}], %v{};\n", 4 * i, next - 1 - 2 * i);
  return text + "ret;\n}\n";
}

std::uint32_t bits_of(float value) {
  return std::isnan(value) ? 0x7fffffffu : std::bit_cast<std::uint32_t>(value);
}

std::vector<std::uint32_t> expected(const std::vector<Step>& steps,
                                    const std::vector<std::uint32_t>& in) {
  std::vector<std::uint32_t> out;
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    std::vector<float> v;
    for (unsigned i = 0; i < kInputs; ++i)
      v.push_back(std::bit_cast<float>(in[thread * kInputs + i]));
    for (const std::uint32_t word : kConstants) v.push_back(std::bit_cast<float>(word));
    for (const Step& step : steps) {
      const float a = v[step.operand[0]], b = v[step.operand[1]], c = v[step.operand[2]];
      switch (step.kind) {
        case Kind::add: v.push_back(a + b); break;
        case Kind::sub: v.push_back(a - b); break;
        case Kind::mul: v.push_back(a * b); break;
        case Kind::fma: v.push_back(std::fma(a, b, c)); break;
        default: v.push_back(std::fma(a, b, -c)); break;
      }
    }
    for (unsigned i = 0; i < kResults; ++i) out.push_back(bits_of(v[v.size() - 1 - 2 * i]));
  }
  return out;
}

/// Ordinary numbers in half of the threads, in runs of eight and one by one.
std::vector<std::uint32_t> operands(std::mt19937& random) {
  constexpr std::uint32_t kOthers[] = {0,          1,          0x007fffff, 0x00800000, 0x0d800000,
                                       0x25ffffff, 0x20000000, 0x7f7fffff, 0x7f800000, 0x7fc00001};
  std::vector<std::uint32_t> words;
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    const bool ordinary = thread < kThreads / 2 ? thread / 8 % 2 == 0 : random() % 2 == 0;
    for (unsigned i = 0; i < kInputs; ++i) {
      const std::uint32_t any = random();
      const bool other = !ordinary && random() % 3 == 0;
      const std::uint32_t near_one = 0x3e000000u + any % 0x03000000u;
      const std::uint32_t word = other ? kOthers[any % std::size(kOthers)] : near_one;
      words.push_back(word | (random() & 0x80000000u));
    }
  }
  return words;
}

TEST(StraightLines, AreExactWhateverTheirOperandsAre) {
  DeviceOptions options;
  options.cache = false;
  const auto device = Device::open(options);
  ASSERT_TRUE(device) << device.error().to_string();
  std::mt19937 random(18);
  const unsigned programs = test::exhaustive() ? 1000 : 12;
  for (unsigned number = 0; number < programs; ++number) {
    // Sums and products alone in half of them: they have other checks than fma.
    const auto last = static_cast<unsigned>(Kind::last);
    const auto steps = program(random, 8 + 2 * (number % 40), number % 2 ? last : last - 2);
    const std::vector<std::uint32_t> in = operands(random);
    const std::string text = text_of(steps);
    const auto module = Module::load(*device, text, "line.ptx");
    ASSERT_TRUE(module) << module.error().to_string();
    const auto kernel = module->kernel("k");
    std::vector<std::uint32_t> out(kThreads * kResults);
    auto from = Buffer::create(*device, in.size() * 4),
         to = Buffer::create(*device, out.size() * 4);
    ASSERT_TRUE(kernel && from && to);
    ASSERT_TRUE(from->upload(0, std::as_bytes(std::span(in))));
    LaunchConfig config;
    config.block = {kThreads, 1, 1};
    Args args;
    args.buffer(*from).buffer(*to);
    const auto done = kernel->launch(config, args);
    ASSERT_TRUE(done) << done.error().to_string();
    ASSERT_TRUE(to->download(0, std::as_writable_bytes(std::span(out))));
    const std::vector<std::uint32_t> right = expected(steps, in);
    unsigned wrong = 0;
    for (std::size_t i = 0; i < out.size() && wrong < 4; ++i)
      if (out[i] != right[i])
        ADD_FAILURE() << fmt::format("program {}, thread {}, result {}: {:08x}, not {:08x}\n{}",
                                     number, i / kResults, i % kResults, out[i], right[i],
                                     ++wrong == 1 ? text : std::string());
  }
}

}  // namespace
}  // namespace ptx2spv::tests
