// Reductions of 64 bits in every tier that the device can be made to use: many threads on few
// cells, next to reductions of 32 bits, and every result exact. PTX2SPV_EXHAUSTIVE makes it a
// million each.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>

#include "tests/runtime/fixture.hpp"
#include "tests/support/share.hpp"

namespace ptx2spv {
namespace {

constexpr std::uint32_t kBlock = 128, kRounds = 16;

/// What thread `t` contributes in round `r`; the kernel computes the same.
std::uint64_t value_of(std::uint32_t t, std::uint32_t r) {
  const std::uint64_t x = (std::uint64_t{t} * kRounds + r + 1) * 0x9e3779b97f4a7c15u;
  return x ^ x >> 29;
}

struct Reduction {
  const char* name;
  const char* text;  ///< operation and type
  std::function<std::uint64_t(std::uint64_t, std::uint64_t)> apply;
};

std::uint64_t add(std::uint64_t a, std::uint64_t b) { return a + b; }
std::uint64_t umin(std::uint64_t a, std::uint64_t b) { return std::min(a, b); }
std::uint64_t umax(std::uint64_t a, std::uint64_t b) { return std::max(a, b); }
std::uint64_t smin(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b) ? a : b;
}
std::uint64_t smax(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::int64_t>(a) > static_cast<std::int64_t>(b) ? a : b;
}

const Reduction kAdd{"add", "b.add.1d.u64", add}, kUmin{"umin", "b.min.1d.u64", umin},
    kUmax{"umax", "b.max.1d.u64", umax}, kSmin{"smin", "b.min.1d.s64", smin},
    kSmax{"smax", "b.max.1d.s64", smax}, kPmax{"pmax", "p.max.1d.b64", umax};

/// Cells of `reductions` stand one section after the other, then, where `mixed`, one of 32-bit
/// sums.
std::string kernel_text(const std::vector<Reduction>& reductions, bool mixed) {
  std::string text = R"(
.visible .entry contend(.param .u64 surface, .param .u32 cells) {
  .reg .pred %more;
  .reg .b32 %r<12>;
  .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [surface];
  ld.param.u32 %r1, [cells];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  mov.u32 %r6, 0;
again:
  mad.lo.u32 %r7, %r5, 16, %r6;
  cvt.u64.u32 %rd2, %r7;
  add.u64 %rd2, %rd2, 1;
  mul.lo.u64 %rd2, %rd2, 0x9e3779b97f4a7c15;
  shr.u64 %rd3, %rd2, 29;
  xor.b64 %rd2, %rd2, %rd3;
  mad.lo.u32 %r8, %r6, 5, %r5;
  rem.u32 %r8, %r8, %r1;
)";
  for (std::size_t i = 0; i < reductions.size(); ++i) {
    const std::string base = std::to_string(i);
    // .b counts bytes, .p units of the type.
    text += "  mad.lo.u32 %r9, %r1, " + base + ", %r8;\n";
    if (reductions[i].text[0] == 'b') text += "  shl.b32 %r9, %r9, 3;\n";
    text += "  sured." + std::string(reductions[i].text) + ".trap [%rd1, {%r9}], %rd2;\n";
  }
  if (mixed)
    text += "  mad.lo.u32 %r9, %r1, " + std::to_string(reductions.size()) + R"(, %r8;
  shl.b32 %r9, %r9, 3;
  cvt.u32.u64 %r10, %rd2;
  sured.b.add.1d.u32.trap [%rd1, {%r9}], %r10;
  add.u32 %r9, %r9, 4;
  sured.b.max.1d.s32.trap [%rd1, {%r9}], %r10;
)";
  return text + R"(  add.u32 %r6, %r6, 1;
  setp.lt.u32 %more, %r6, 16;
  @%more bra again;
  ret;
}
)";
}

struct Tier {
  const char* name;
  ArrayBacking backing;
  std::vector<std::string> disable,
      require;  ///< what leaves the device this tier and no better one
  /// 32-bit reductions into neighbours, too. An image of 64-bit integers does not take them.
  bool mixed = true;
};

class Contention : public testing::TestWithParam<Tier> {
 protected:
  /// A device that has the tier and no better one.
  void SetUp() override {
    DeviceOptions options;
    options.cache = false;
    options.disable = GetParam().disable;
    options.require = GetParam().require;
    auto device = Device::open(options);
    if (!device && device.error().code == ErrorCode::unsupported)
      GTEST_SKIP() << device.error().text;
    device_ = must(std::move(device));
  }

  void run(const std::vector<Reduction>& reductions, std::uint32_t cells, bool mixed);
  std::optional<Device> device_;
};

void Contention::run(const std::vector<Reduction>& reductions, std::uint32_t cells, bool mixed) {
  const std::uint32_t total = test::exhaustive() ? 1'000'000 : 40'000;
  const std::uint32_t blocks = (total / kRounds + kBlock - 1) / kBlock;
  Module module = must(Module::load(
      *device_, ".version 8.3\n.target sm_80\n.address_size 64\n" + kernel_text(reductions, mixed),
      "contention.ptx"));
  ArrayDesc desc;
  desc.geometry = Geometry::d1;
  desc.format = abi::SurfaceFormat::u32;
  desc.channels = 2;
  desc.width = cells * static_cast<std::uint32_t>(reductions.size() + 1);
  desc.backing = GetParam().backing;
  // Wider than the device's images: rows of another kind would be another test.
  auto made = Array::create(*device_, desc);
  if (!made && desc.backing == ArrayBacking::image) {
    std::printf("%u cells as an image: %s\n", cells, made.error().text.c_str());
    return;
  }
  Array array = must(std::move(made));
  std::vector<std::uint64_t> expected(desc.width, 0x8000000000000000u);
  const std::vector<std::uint64_t> before = expected;
  must(array.upload(bytes_of(before)));
  Surface surface = must(Surface::create(array));
  for (std::uint32_t t = 0; t < blocks * kBlock; ++t)
    for (std::uint32_t r = 0; r < kRounds; ++r) {
      const std::uint64_t value = value_of(t, r);
      const std::uint32_t cell = (t + 5 * r) % cells;
      for (std::size_t i = 0; i < reductions.size(); ++i) {
        std::uint64_t& word = expected[i * cells + cell];
        word = reductions[i].apply(word, value);
      }
      if (!mixed) continue;
      std::uint64_t& pair = expected[reductions.size() * cells + cell];
      const auto low = static_cast<std::uint32_t>(pair) + static_cast<std::uint32_t>(value);
      const auto high = std::max(static_cast<std::int32_t>(pair >> 32),
                                 static_cast<std::int32_t>(static_cast<std::uint32_t>(value)));
      pair = std::uint64_t{static_cast<std::uint32_t>(high)} << 32 | low;
    }
  LaunchConfig config;
  config.grid.x = blocks;
  config.block.x = kBlock;
  config.time = true;
  Kernel kernel = must(module.kernel("contend"));
  auto launched = kernel.launch(config, Args().surface(surface).value(cells));
  // Whoever waits for a thread that has lost its processor may use up the iterations that lavapipe
  // gives a loop. That is a trap, never a wrong sum, and limits.md says so; on a busy machine
  // it takes a second run to see the sums.
  for (int again = 0; !launched && again < 3; ++again) {
    ASSERT_TRUE(launched.error().trap) << launched.error().text;
    ASSERT_EQ(launched.error().trap->kind, abi::TrapKind::loop_limit) << launched.error().text;
    std::printf("%s on %u cells once more: %s\n", reductions[0].name, cells,
                launched.error().text.c_str());
    must(array.upload(bytes_of(before)));
    launched = kernel.launch(config, Args().surface(surface).value(cells));
  }
  const LaunchTiming timing = must(std::move(launched));
  const auto got = read_array<std::uint64_t>(array);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) wrong += got[i] != expected[i];
  EXPECT_EQ(wrong, 0u) << reductions[0].name << " on " << cells << " cells";
  std::printf("%-8s %zu x %7u in %4u cells: %6.1f ns a reduction\n", reductions[0].name,
              reductions.size(), blocks * kBlock * kRounds, cells,
              timing.device_ms * 1e6 / (double(blocks) * kBlock * kRounds * reductions.size()));
}

TEST_P(Contention, NoReductionIsLost) {
  for (const std::uint32_t cells : {1u, 16u, 4096u}) {
    for (const Reduction* each : {&kAdd, &kUmin, &kUmax, &kSmin, &kSmax, &kPmax})
      run({*each}, cells, GetParam().mixed);
    // Several orders in one kernel take another path through the emulation.
    run({kAdd, kUmax, kSmin}, cells, GetParam().mixed);
  }
}

// More cells than threads: nobody waits. bench/results/contention.txt has its times.
TEST_P(Contention, CellsOfTheirOwn) {
  for (const Reduction* each : {&kUmin, &kSmax}) run({*each}, 65536, false);
}

// A tier that the device lacks is refused by name, never replaced by another one in silence.
TEST(ContentionTiers, ATierThatIsNotThereIsRefused) {
  DeviceOptions options;
  options.disable = {"buffer_atomics64"};
  options.require = {"buffer_atomics64"};
  const auto device = Device::open(options);
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, ErrorCode::unsupported);
  EXPECT_NE(device.error().text.find("'buffer_atomics64' (shaderBufferInt64Atomics)"),
            std::string::npos)
      << device.error().text;
  options.require = {"no_such_thing"};
  EXPECT_EQ(Device::open(options).error().code, ErrorCode::invalid_argument);
}

const std::vector<std::string> kNoNative{"buffer_atomics64", "image_atomics64"};

INSTANTIATE_TEST_SUITE_P(
    Tiers, Contention,
    testing::Values(
        Tier{"native_linear", ArrayBacking::linear, {}, {"buffer_atomics64"}},
        Tier{"native_image", ArrayBacking::image, {}, {"image_atomics64"}, false},
        Tier{"image_with_other_widths", ArrayBacking::image, {}, {"buffer_atomics64"}},
        Tier{"native_linear_copy", ArrayBacking::image, {"image_atomics64"}, {"buffer_atomics64"}},
        Tier{"emulated_linear", ArrayBacking::linear, kNoNative, {}},
        Tier{"emulated_image", ArrayBacking::image, kNoNative, {}}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace ptx2spv
