// Traps of surface accesses: what the record says, what of the launch stands, and that it ends.
#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

class Traps : public testing::TestWithParam<ArrayBacking> {
 protected:
  Array make(std::uint32_t width, std::uint32_t height, const char* name) {
    ArrayDesc desc;
    desc.geometry = Geometry::d2;
    desc.width = width;
    desc.height = height;
    desc.format = abi::SurfaceFormat::u32;
    desc.channels = 1;
    desc.backing = GetParam();
    desc.name = name;
    Array array = must(Array::create(test_device(), desc));
    must(array.fill(0));
    return array;
  }
};

// An x that is no multiple of the access traps in every mode. Under .trap the bounds come first, as
// on an H100 (tests/cuda/expected/reports.txt).
TEST_P(Traps, MisalignedAccessesTrapInEveryMode) {
  Array array = make(8, 4, "plate");
  Surface surface = must(Surface::create(array));
  for (const char* access :
       {"suld.b.2d.b32.%s %%r1, [%%h, {%%x, 1}];",
        "suld.b.2d.v2.b16.%s {%%s1, %%s2}, [%%h, {%%x, 1}];",
        "sust.b.2d.b32.%s [%%h, {%%x, 1}], 7;", "sured.b.add.2d.u32.%s [%%h, {%%x, 1}], 7;"})
    for (const char* mode : {"trap", "clamp", "zero"})
      for (const std::int32_t x : {2, 6, 34, -2}) {
        char text[128];
        std::snprintf(text, sizeof text, access, mode);
        Module module = load(
            ".visible .entry go(.param .u64 target, .param .u32 at) {\n .reg .b64 %h; .reg .b32 "
            "%x, %r1; .reg .b16 %s1, %s2;\n ld.param.u64 %h, [target];\n ld.param.u32 %x, "
            "[at];\n " +
            std::string(text) +
            "\n .shared .b32 word;\n st.shared.b32 [word], %r1; st.shared.b16 [word], %s1;\n "
            "ret;\n}\n");
        const auto ran = must(module.kernel("go")).launch({}, Args().surface(surface).value(x));
        ASSERT_FALSE(ran) << text;
        ASSERT_TRUE(ran.error().trap) << ran.error().text;
        const TrapReport& report = *ran.error().trap;
        const bool outside = std::string(mode) == "trap" && (x < 0 || x >= 32);
        EXPECT_EQ(report.kind, outside ? abi::TrapKind::out_of_bounds : abi::TrapKind::misaligned)
            << text << " at " << x;
        EXPECT_EQ(report.trapped_threads, 1u);
        EXPECT_EQ(report.surface, "plate");
        EXPECT_EQ(report.line, 8u);
        EXPECT_EQ(report.instruction + ";", text);
        ASSERT_EQ(report.coordinates.size(), 2u);
        EXPECT_EQ(report.coordinates[0].first, "x");
        EXPECT_EQ(report.coordinates[0].second, x);
        EXPECT_EQ(report.coordinates[1].second, 1);
        EXPECT_EQ(report.extent[0], 32u);
        EXPECT_EQ(report.extent[1], 4u);
      }
  EXPECT_EQ(read_array<std::uint32_t>(array), std::vector<std::uint32_t>(32));
}

// Every thread iterates ten times with two barriers an iteration; thread 5 of each block traps in
// iteration 3. Its neighbours go on meeting their barriers, its own later stores are gone.
TEST_P(Traps, BarriersAndLoopsEnd) {
  Module module = load(R"(
.shared .align 4 .b8 sums[512];
.visible .entry iterations(.param .u64 target) {
  .reg .pred %p, %more;
  .reg .b32 %r<12>;
  .reg .b64 %h;
  ld.param.u64 %h, [target];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, 0;
  mov.u32 %r4, 0;
  mov.u32 %r5, sums;
  shl.b32 %r6, %r1, 2;
  add.u32 %r7, %r5, %r6;
  xor.b32 %r8, %r6, 4;
  add.u32 %r8, %r8, %r5;
again:
  st.shared.u32 [%r7], %r3;
  bar.sync 0;
  ld.shared.u32 %r9, [%r8];
  add.u32 %r4, %r4, %r9;
  bar.sync 0;
  setp.eq.u32 %p, %r3, 3;
  setp.eq.and.u32 %p, %r1, 5, %p;
  selp.u32 %r10, 0x10000, %r6, %p;
  sust.b.2d.b32.trap [%h, {%r10, %r2}], %r4;
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %more, %r3, 10;
  @%more bra again;
  ret;
}
)");
  for (const std::uint32_t threads : {64u, 128u}) {
    Array array = make(threads, 6, "iterations array");
    Surface surface = must(Surface::create(array));
    LaunchConfig config;
    config.grid.x = 6;
    config.block.x = threads;
    const auto ran = must(module.kernel("iterations")).launch(config, Args().surface(surface));
    ASSERT_FALSE(ran);
    ASSERT_TRUE(ran.error().trap) << ran.error().text;
    const TrapReport& report = *ran.error().trap;
    EXPECT_EQ(report.kind, abi::TrapKind::out_of_bounds);
    EXPECT_EQ(report.trapped_threads, 6u);
    EXPECT_EQ(report.thread[0], 5u);
    EXPECT_LT(report.cta[0], 6u);
    EXPECT_EQ(report.coordinates[0].second, 0x10000);
    const auto texels = read_array<std::uint32_t>(array);
    for (std::uint32_t i = 0; i < texels.size(); ++i) {
      const std::uint32_t thread = i % threads;
      // The sum of iterations 0 to 9, or what thread 5 stored before its trap. Its neighbour,
      // thread 4, reads what it no longer stores.
      if (thread == 4) continue;
      EXPECT_EQ(texels[i], thread == 5 ? 0 + 1 + 2 : 45) << i;
    }
  }
}

// No barriers: thread 5 of each block traps in the inner of two loops, and none of its later stores
// to the surface, to global and to shared memory happens. Its neighbours' do.
TEST_P(Traps, NothingBehindAFaultInALoopHappens) {
  Module module = load(R"(
.shared .align 4 .b8 words[256];
.visible .entry nested(.param .u64 target, .param .u64 out) {
  .reg .pred %p, %more;
  .reg .b32 %r<14>;
  .reg .b64 %h, %a, %o;
  ld.param.u64 %h, [target];
  ld.param.u64 %o, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  shl.b32 %r6, %r1, 2;
  mov.u32 %r11, words;
  add.u32 %r11, %r11, %r6;
  mad.lo.u32 %r12, %r2, 256, %r6;
  cvt.u64.u32 %a, %r12;
  add.u64 %o, %o, %a;
  mov.u32 %r3, 0;
outer:
  mov.u32 %r4, 0;
inner:
  setp.eq.u32 %p, %r3, 2;
  setp.eq.and.u32 %p, %r4, 3, %p;
  setp.eq.and.u32 %p, %r1, 5, %p;
  selp.u32 %r10, 0x10000, %r6, %p;
  suld.b.2d.b32.trap %r5, [%h, {%r10, %r2}];
  add.u32 %r5, %r5, 1;
  sust.b.2d.b32.trap [%h, {%r6, %r2}], %r5;
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %more, %r4, 5;
  @%more bra inner;
  st.global.u32 [%o], %r5;
  st.shared.u32 [%r11], %r5;
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %more, %r3, 4;
  @%more bra outer;
  ld.shared.u32 %r5, [%r11];
  st.global.u32 [%o], %r5;
  ret;
}
)");
  Array array = make(64, 3, "nested array");
  Surface surface = must(Surface::create(array));
  Buffer out = must(Buffer::create(test_device(), 3 * 256));
  LaunchConfig config;
  config.grid.x = 3;
  config.block.x = 64;
  const auto ran =
      must(module.kernel("nested")).launch(config, Args().surface(surface).buffer(out));
  ASSERT_FALSE(ran);
  ASSERT_TRUE(ran.error().trap) << ran.error().text;
  const TrapReport& report = *ran.error().trap;
  EXPECT_EQ(report.kind, abi::TrapKind::out_of_bounds);
  EXPECT_EQ(report.trapped_threads, 3u);
  EXPECT_EQ(report.thread[0], 5u);
  EXPECT_EQ(report.coordinates[0].second, 0x10000);
  const auto texels = read_array<std::uint32_t>(array);
  const auto words = read_buffer<std::uint32_t>(out, 3 * 64);
  for (std::uint32_t i = 0; i < texels.size(); ++i) {
    EXPECT_EQ(texels[i], i % 64 == 5 ? 13u : 20u) << i;
    EXPECT_EQ(words[i], i % 64 == 5 ? 10u : 20u) << i;
  }
}

// A million threads, of which every third traps: the count is exact, the others' stores are there.
TEST_P(Traps, TheCountIsExact) {
  Module module = load(R"(
.visible .entry third(.param .u64 target) {
  .reg .pred %p;
  .reg .b32 %r<9>;
  .reg .b64 %h;
  ld.param.u64 %h, [target];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r4, %r2, %r3, %r1;
  rem.u32 %r5, %r4, 3;
  setp.eq.u32 %p, %r5, 1;
  shr.u32 %r6, %r4, 10;
  and.b32 %r7, %r4, 1023;
  shl.b32 %r7, %r7, 2;
  selp.u32 %r6, 0xffffffff, %r6, %p;
  sust.b.2d.b32.trap [%h, {%r7, %r6}], %r4;
  ret;
}
)");
  Array array = make(1024, 1024, "field");
  Surface surface = must(Surface::create(array));
  LaunchConfig config;
  config.grid.x = 1u << 13;
  config.block.x = 128;
  const auto ran = must(module.kernel("third")).launch(config, Args().surface(surface));
  ASSERT_FALSE(ran);
  ASSERT_TRUE(ran.error().trap) << ran.error().text;
  EXPECT_EQ(ran.error().trap->trapped_threads, (1u << 20) / 3);
  const auto texels = read_array<std::uint32_t>(array);
  std::size_t wrong = 0;
  for (std::uint32_t i = 0; i < texels.size(); ++i) wrong += texels[i] != (i % 3 == 1 ? 0 : i);
  EXPECT_EQ(wrong, 0u);
}

INSTANTIATE_TEST_SUITE_P(Surfaces, Traps,
                         testing::Values(ArrayBacking::linear, ArrayBacking::image),
                         [](const auto& each) {
                           return each.param == ArrayBacking::image ? "image" : "linear";
                         });

}  // namespace
}  // namespace ptx2spv
