// Calls that share one body, with the budget for copies at nothing, and calls that are copied, on
// the device: against the same functions (functions.inc) as the host's compiler makes them.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <functional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "ptx2spv/runtime.hpp"
#include "tests/support/share.hpp"

namespace ptx2spv::tests {
namespace {

#define FUNCTION static
#define ROOT(x) std::sqrt(x)
#include "tests/calls/functions.inc"

using Words = std::vector<std::uint32_t>;

constexpr std::uint32_t kThreads = 128, kBlock = 64;

Words input() {
  Words words(kThreads);
  std::uint32_t x = 12345;
  for (std::uint32_t& word : words) word = x = mix(x + 0x9e3779b9u);
  return words;
}

Words each(const std::function<std::uint32_t(std::uint32_t, std::uint32_t)>& value) {
  const Words in = input();
  Words out;
  for (std::uint32_t i = 0; i < kThreads; ++i) out.push_back(value(i, in[i]));
  return out;
}

Words diamonds() {
  return each([](std::uint32_t, std::uint32_t x) {
    std::uint32_t sum = level5(x, 0);
    if (x & 2) sum += level4(x + 1, 1);
    if ((x & 5) == 1) {
      const std::uint32_t other = level2(sum, x);
      sum ^= other + level5(sum, 2);
    }
    return sum;
  });
}

Words walks() {
  return each([](std::uint32_t, std::uint32_t x) {
    std::uint32_t sum = walk(x);
    if (sum & 1) sum += walk(sum);
    return sum * 3 + walk(x ^ 0x55555555u);
  });
}

Words pixels() {
  return each(
      [](std::uint32_t i, std::uint32_t) { return std::bit_cast<std::uint32_t>(pixel(i)); });
}

Words trees() {
  return each([](std::uint32_t, std::uint32_t x) {
    return tree(x, 4) + collatz(x & 0x3f) * tree(x >> 5, 2);
  });
}

Words addresses() {
  constexpr unsigned (*kTable[4])(unsigned, unsigned) = {level0, level1, level2, level3};
  return each([&](std::uint32_t i, std::uint32_t x) {
    std::uint32_t sum = kTable[x & 3](x, i);
    sum += level1(sum, 1);
    for (std::uint32_t k = 0; k < (x & 3); ++k) sum ^= kTable[(sum + k) & 3](sum, k);
    return sum;
  });
}

// What the threads of a block hand on: all of them together, step by step.
Words block_sums(const Words& values) {
  Words sums(values.size());
  for (std::size_t block = 0; block < values.size(); block += kBlock) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < kBlock; ++i) sum += values[block + i];
    for (std::size_t i = 0; i < kBlock; ++i) sums[block + i] = sum;
  }
  return sums;
}
Words neighbours(const Words& values, std::uint32_t by) {
  Words out(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    out[i] = values[i / kBlock * kBlock + (i + by) % kBlock];
  return out;
}
Words with(const Words& a, const Words& b,
           const std::function<std::uint32_t(std::uint32_t, std::uint32_t)>& both) {
  Words out(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) out[i] = both(a[i], b[i]);
  return out;
}

Words barriers() {
  const Words x = input();
  Words sum = block_sums(x);
  Words flipped = x, numbered = sum;
  for (std::size_t i = 0; i < x.size(); ++i) {
    flipped[i] ^= 0xff;
    numbered[i] += static_cast<std::uint32_t>(i % kBlock);
  }
  const Words product = with(block_sums(flipped), neighbours(numbered, 1), std::multiplies<>());
  sum = with(sum, product, std::plus<>());
  for (std::uint32_t k = 1; k < 4; ++k) {
    sum = with(sum, neighbours(sum, k), std::plus<>());
    if (k != 2) continue;
    Words low = sum;
    for (std::uint32_t& word : low) word &= 0xffff;
    sum = with(sum, block_sums(low), std::bit_xor<>());
  }
  return sum;
}

Words uneven() {
  Words sum = each([](std::uint32_t, std::uint32_t x) { return x & 1 ? level2(x, 3) : x; });
  sum = with(sum, neighbours(sum, 3), std::plus<>());
  for (std::uint32_t& each : sum)
    if (each & 2) each += level2(each, 4) * collatz(each & 0xff);
  sum = with(sum, block_sums(sum), std::bit_xor<>());
  for (std::uint32_t& each : sum)
    if (each & 4) each += collatz(each & 0x7f);
  return sum;
}

Words warp_sums(const Words& values, const std::function<std::uint32_t(std::uint32_t)>& mask) {
  Words out(values.size());
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    const std::uint32_t members = mask(i);
    std::uint32_t sum = 0, odd = 0;
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      if (!(members >> lane & 1)) continue;
      sum = sum * 3 + values[i / 32 * 32 + lane];
      odd += values[i / 32 * 32 + lane] & 1;
    }
    out[i] = sum + odd;
  }
  return out;
}

Words warps() {
  const Words x = input();
  const auto all = [](std::uint32_t) { return 0xffffffffu; };
  const auto half = [](std::uint32_t i) { return i & 1 ? 0xaaaaaaaau : 0x55555555u; };
  Words sum = warp_sums(x, all), numbered = sum;
  for (std::uint32_t i = 0; i < numbered.size(); ++i) numbered[i] += i & 1 ? i : 0 - i;
  const Words halves = warp_sums(numbered, half);
  for (std::uint32_t i = 0; i < sum.size(); ++i)
    sum[i] = i & 1 ? sum[i] + halves[i] : sum[i] ^ (halves[i] + collatz(x[i] & 0x3f));
  const Words last = warp_sums(sum, all);
  return with(sum, last,
              [](std::uint32_t a, std::uint32_t b) { return a + b + collatz(a & 0x3f); });
}

std::string source() {
  std::ifstream file(std::string(PTX2SPV_SOURCE_DIR) + "/tests/calls/calls.ptx");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

const Device& device() {
  static const Device opened = [] {
    DeviceOptions options;
    options.cache = false;
    auto made = Device::open(options);
    if (!made) throw std::runtime_error(made.error().to_string());
    return *made;
  }();
  return opened;
}

/// 0: everything is shared that can be. The middle one shares some.
constexpr std::size_t kBudgets[] = {0, 400, 40000};

/// Pipelines take the time here: past the first budget one thread model will do.
std::vector<ThreadModel> models(std::size_t budget) {
  if (budget != kBudgets[0] && !test::exhaustive()) return {ThreadModel::direct};
  return {ThreadModel::direct, ThreadModel::flat, ThreadModel::regions};
}

Result<Module> load(std::size_t budget) {
  ModuleOptions options;
  options.inline_budget = budget;
  return Module::load(device(), source(), "calls.ptx", options);
}

struct Case {
  const char* kernel;
  Words (*wanted)();
};
class Calls : public testing::TestWithParam<Case> {};

TEST_P(Calls, GiveWhatTheSameFunctionsGiveOnTheHost) {
  const Words wanted = GetParam().wanted(), in = input();
  for (const std::size_t budget : kBudgets) {
    const auto module = load(budget);
    ASSERT_TRUE(module) << module.error().to_string();
    const auto kernel = module->kernel(GetParam().kernel);
    auto from = Buffer::create(device(), in.size() * 4),
         to = Buffer::create(device(), in.size() * 4);
    ASSERT_TRUE(kernel && from && to);
    ASSERT_TRUE(from->upload(0, std::as_bytes(std::span(in))));
    for (const ThreadModel threads : models(budget)) {
      Words got(in.size());
      ASSERT_TRUE(to->upload(0, std::as_bytes(std::span(got))));
      LaunchConfig config;
      config.grid = {kThreads / kBlock, 1, 1};
      config.block = {kBlock, 1, 1};
      config.threads = threads;
      Args args;
      args.buffer(*from).buffer(*to);
      const auto done = kernel->launch(config, args);
      ASSERT_TRUE(done) << done.error().to_string();
      ASSERT_TRUE(to->download(0, std::as_writable_bytes(std::span(got))));
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_EQ(got[i], wanted[i])
            << "thread " << i << ", budget " << budget << ", threads " << static_cast<int>(threads);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Calls,
                         testing::Values(Case{"diamonds", diamonds}, Case{"walks", walks},
                                         Case{"pixels", pixels}, Case{"trees", trees},
                                         Case{"addresses", addresses}, Case{"barriers", barriers},
                                         Case{"uneven", uneven}, Case{"warps", warps}),
                         [](const testing::TestParamInfo<Case>& each) {
                           return std::string(each.param.kernel);
                         });

constexpr std::uint32_t kWidth = 16, kHeight = 8;

Words texels(std::uint32_t seed) {
  Words words(kWidth * kHeight);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = mix(seed + static_cast<unsigned>(i));
  return words;
}

std::uint32_t row_sum(const Words& s, std::uint32_t y, std::uint32_t from) {
  std::uint32_t sum = 0;
  for (std::uint32_t x = 0; x < 8; ++x) sum = sum * 5 + s[y * kWidth + ((x + from) & 7)];
  return sum;
}

struct SurfaceRun {
  Words out, image;
  std::string error;
};

SurfaceRun run_surfaces(ArrayBacking backing, std::size_t budget, ThreadModel threads, int beyond) {
  SurfaceRun run;
  run.out.resize(64);
  run.image.resize(kWidth * kHeight);
  const auto failed = [&](const auto& result) {
    if (!result) run.error = result.error().to_string();
    return !result;
  };
  const auto module = load(budget);
  if (failed(module)) return run;
  const auto kernel = module->kernel("surfaces");
  auto to = Buffer::create(device(), run.out.size() * 4);
  if (failed(kernel) || failed(to)) return run;
  std::vector<Array> arrays;
  std::vector<Surface> surfaces;
  for (const std::uint32_t seed : {1u, 1000u, 0u}) {
    ArrayDesc desc;
    desc.width = kWidth;
    desc.height = kHeight;
    desc.backing = backing;
    auto array = Array::create(device(), desc);
    const Words start = seed ? texels(seed) : Words(kWidth * kHeight);
    if (failed(array) || failed(array->upload(std::as_bytes(std::span(start))))) return run;
    auto surface = Surface::create(*array);
    if (failed(surface)) return run;
    arrays.push_back(std::move(*array));
    surfaces.push_back(std::move(*surface));
  }
  LaunchConfig config;
  config.block = {64, 1, 1};
  config.threads = threads;
  Args args;
  args.surface(surfaces[0]).surface(surfaces[1]).surface(surfaces[2]).buffer(*to).value(beyond);
  if (failed(kernel->launch(config, args))) return run;
  if (failed(to->download(0, std::as_writable_bytes(std::span(run.out))))) return run;
  failed(arrays[2].download(std::as_writable_bytes(std::span(run.image))));
  return run;
}

class Surfaces : public testing::TestWithParam<ArrayBacking> {};

TEST_P(Surfaces, ThatFunctionsShareAreTheOnesGiven) {
  const Words a = texels(1), b = texels(1000);
  Words wanted(64), image(kWidth * kHeight);
  for (std::uint32_t i = 0; i < 64; ++i) {
    const std::uint32_t y = i & 3, x = i >> 2;
    std::uint32_t sum = row_sum(a, y, x) + row_sum(b, y + 1, 2) * 7;
    if (i & 1) sum += row_sum(i & 2 ? a : b, 3, i);
    image[y * kWidth + x] = sum;
    image[(y + 4) * kWidth + x] = sum ^ i;
    wanted[i] = sum;
  }
  for (const std::size_t budget : kBudgets)
    for (const ThreadModel threads : models(budget)) {
      const SurfaceRun run = run_surfaces(GetParam(), budget, threads, 0);
      ASSERT_EQ(run.error, "");
      EXPECT_EQ(run.out, wanted) << budget;
      EXPECT_EQ(run.image, image) << budget;
    }
}

TEST_P(Surfaces, ATrapInAFunctionThatIsSharedNamesItsLine) {
  // The line of the store in put(), which is shared or copied.
  std::istringstream lines(source());
  std::string line;
  unsigned store = 0, at = 0;
  while (std::getline(lines, line)) {
    ++at;
    if (line.find("sust.b.2d.b32.trap") != line.npos) store = at;
  }
  ASSERT_NE(store, 0u);
  for (const std::size_t budget : kBudgets) {
    const SurfaceRun run = run_surfaces(GetParam(), budget, ThreadModel::direct, 1);
    EXPECT_NE(run.error.find("calls.ptx:" + std::to_string(store)), std::string::npos)
        << store << ": " << run.error;
  }
}

INSTANTIATE_TEST_SUITE_P(Backings, Surfaces,
                         testing::Values(ArrayBacking::linear, ArrayBacking::image),
                         [](const testing::TestParamInfo<ArrayBacking>& each) {
                           return each.param == ArrayBacking::linear ? std::string("linear")
                                                                     : std::string("image");
                         });

}  // namespace
}  // namespace ptx2spv::tests
