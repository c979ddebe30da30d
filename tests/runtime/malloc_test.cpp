// malloc and free in kernels: blocks do not overlap, outlive the launch, come back when freed, and
// end when the heap does.
#include <algorithm>

#include <fmt/format.h>

#include "ptx2spv/translator.hpp"
#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

constexpr const char* kDeclarations = R"(
.extern .func (.param .b64 func_retval0) malloc(.param .b64 malloc_param_0);
.extern .func free(.param .b64 free_param_0);
)";

// out[t] = the address of a block of sizes[t] bytes, the first 1,024 of them filled with t.
constexpr const char* kTake = R"(
.visible .entry take(.param .u64 out, .param .u64 sizes)
{
  .reg .b64 %d<8>; .reg .b32 %r<8>; .reg .pred %p<3>;
  ld.param.u64 %d0, [out];
  ld.param.u64 %d1, [sizes];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.u32 %r0, %r0, %r1, %r2;
  mul.wide.u32 %d2, %r0, 8;
  add.u64 %d0, %d0, %d2;
  add.u64 %d1, %d1, %d2;
  ld.global.u64 %d3, [%d1];
  {
  .param .b64 param0;
  st.param.b64 [param0], %d3;
  .param .b64 retval0;
  call.uni (retval0), malloc, (param0);
  ld.param.b64 %d4, [retval0];
  }
  st.global.u64 [%d0], %d4;
  setp.eq.u64 %p0, %d4, 0;
  @%p0 bra end;
  min.u64 %d3, %d3, 1024;
  mov.u64 %d5, 0;
fill:
  setp.ge.u64 %p1, %d5, %d3;
  @%p1 bra end;
  add.u64 %d6, %d4, %d5;
  st.u8 [%d6], %r0;
  add.u64 %d5, %d5, 1;
  bra fill;
end:
  ret;
}
)";

// out[t] = whether the block still holds what take() filled it with; it is freed.
constexpr const char* kGive = R"(
.visible .entry give(.param .u64 out, .param .u64 sizes)
{
  .reg .b64 %d<8>; .reg .b32 %r<8>; .reg .pred %p<3>;
  ld.param.u64 %d0, [out];
  ld.param.u64 %d1, [sizes];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.u32 %r0, %r0, %r1, %r2;
  mul.wide.u32 %d2, %r0, 8;
  add.u64 %d0, %d0, %d2;
  add.u64 %d1, %d1, %d2;
  ld.global.u64 %d3, [%d1];
  ld.global.u64 %d4, [%d0];
  min.u64 %d3, %d3, 1024;
  mov.u64 %d5, 0;
  mov.u32 %r3, 1;
  and.b32 %r5, %r0, 255;
look:
  setp.ge.u64 %p1, %d5, %d3;
  @%p1 bra end;
  add.u64 %d6, %d4, %d5;
  ld.u8 %r4, [%d6];
  setp.eq.u32 %p2, %r4, %r5;
  @!%p2 mov.u32 %r3, 2;
  add.u64 %d5, %d5, 1;
  bra look;
end:
  cvt.u64.u32 %d7, %r3;
  st.global.u64 [%d0], %d7;
  {
  .param .b64 param0;
  st.param.b64 [param0], %d4;
  call.uni free, (param0);
  }
  ret;
}
)";

// Each thread takes and gives blocks in turn, twenty times; out[t] = how many it did not get.
constexpr const char* kChurn = R"(
.visible .entry churn(.param .u64 out, .param .u64 sizes)
{
  .reg .b64 %d<8>; .reg .b32 %r<8>; .reg .pred %p<3>;
  ld.param.u64 %d0, [out];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.u32 %r0, %r0, %r1, %r2;
  mul.wide.u32 %d2, %r0, 8;
  add.u64 %d0, %d0, %d2;
  mov.u32 %r3, 0;
  mov.u32 %r4, 0;
more:
  mad.lo.u32 %r5, %r3, 37, %r0;
  and.b32 %r5, %r5, 511;
  cvt.u64.u32 %d3, %r5;
  {
  .param .b64 param0;
  st.param.b64 [param0], %d3;
  .param .b64 retval0;
  call.uni (retval0), malloc, (param0);
  ld.param.b64 %d4, [retval0];
  }
  setp.eq.u64 %p0, %d4, 0;
  @%p0 add.u32 %r4, %r4, 1;
  @%p0 bra next;
  st.u32 [%d4], %r0;
  ld.volatile.u32 %r6, [%d4];
  setp.ne.u32 %p1, %r6, %r0;
  @%p1 add.u32 %r4, %r4, 1000;
next:
  {
  .param .b64 param0;
  st.param.b64 [param0], %d4;
  call.uni free, (param0);
  }
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p2, %r3, 20;
  @%p2 bra more;
  cvt.u64.u32 %d7, %r4;
  st.global.u64 [%d0], %d7;
  ret;
}
)";

constexpr const char* kTwice = R"(
.visible .entry twice(.param .u64 out, .param .u64 sizes)
{
  .reg .b64 %d<8>;
  mov.u64 %d3, 100;
  {
  .param .b64 param0;
  st.param.b64 [param0], %d3;
  .param .b64 retval0;
  call.uni (retval0), malloc, (param0);
  ld.param.b64 %d4, [retval0];
  }
  {
  .param .b64 param0;
  st.param.b64 [param0], %d4;
  call.uni free, (param0);
  }
  {
  .param .b64 param0;
  st.param.b64 [param0], %d4;
  call.uni free, (param0);
  }
  ret;
}
)";

using Longs = std::vector<std::uint64_t>;
constexpr std::uint64_t kHeap = 1 << 20;

class Malloc : public testing::Test {
 protected:
  // Of its own: other tests have used the heap of the common one.
  static Device& device() {
    static Device opened = [] {
      Device fresh = must(Device::open());
      EXPECT_EQ(fresh.malloc_heap_bytes(), 8u << 20);
      must(fresh.set_malloc_heap_bytes(kHeap));
      EXPECT_EQ(fresh.malloc_heap_bytes(), kHeap);
      return fresh;
    }();
    return opened;
  }
  // A launch of one block after another; `out` is what the kernel finds and leaves there.
  static Result<LaunchTiming> launch(const char* kernel, std::uint32_t blocks,
                                     std::uint32_t threads, Longs& out, const Longs& sizes) {
    static Module module =
        must(Module::load(device(),
                          std::string(".version 8.0\n.target sm_80\n.address_size 64\n") +
                              kDeclarations + kTake + kGive + kChurn + kTwice,
                          "malloc.ptx"));
    Buffer to = must(Buffer::create(device(), out.size() * 8)),
           from = must(Buffer::create(device(), out.size() * 8));
    must(to.upload(0, bytes_of(out)));
    must(from.upload(0, bytes_of(sizes)));
    LaunchConfig config;
    config.grid = {blocks, 1, 1};
    config.block = {threads, 1, 1};
    auto timing = must(module.kernel(kernel)).launch(config, Args().buffer(to).buffer(from));
    out = read_buffer<std::uint64_t>(to, out.size());
    return timing;
  }
  static void expect_good(const Result<LaunchTiming>& timing) {
    EXPECT_TRUE(timing) << text_of(timing.error());
  }
};

TEST_F(Malloc, BlocksDoNotOverlapAndOutliveTheLaunch) {
  for (const std::uint32_t threads : {1u, 48u, 300u}) {
    SCOPED_TRACE(threads);
    Longs out(std::size_t{3} * threads), sizes;
    for (std::size_t i = 0; i < out.size(); ++i) sizes.push_back(i % 5 == 0 ? 0 : i * 97 % 600);
    expect_good(launch("take", 3, threads, out, sizes));
    std::vector<std::pair<std::uint64_t, std::uint64_t>> blocks;
    for (std::size_t i = 0; i < out.size(); ++i) {
      ASSERT_NE(out[i], 0u) << i;
      EXPECT_EQ(out[i] % 16, 0u);
      blocks.emplace_back(out[i], out[i] + std::max<std::uint64_t>(sizes[i], 1));
    }
    std::sort(blocks.begin(), blocks.end());
    for (std::size_t i = 1; i < blocks.size(); ++i)
      ASSERT_LE(blocks[i - 1].second, blocks[i].first);
    expect_good(launch("give", 3, threads, out, sizes));
    for (const std::uint64_t each : out) ASSERT_EQ(each, 1u);
  }
}

TEST_F(Malloc, TheWholeHeapComesBack) {
  // All of it as the smallest blocks, then as one: what was freed is joined again.
  for (int round = 0; round < 2; ++round) {
    Longs small(kHeap / 32 / 16), sizes(small.size(), 32 * 16);
    expect_good(launch("take", std::uint32_t(small.size() / 64), 64, small, sizes));
    EXPECT_EQ(std::count(small.begin(), small.end(), 0u), 0);
    Longs none(1);
    expect_good(launch("take", 1, 1, none, {1}));
    EXPECT_EQ(none[0], 0u);
    expect_good(launch("give", std::uint32_t(small.size() / 64), 64, small, sizes));
    EXPECT_EQ(std::count(small.begin(), small.end(), 1u), std::ptrdiff_t(small.size()));
    Longs one(1);
    expect_good(launch("take", 1, 1, one, {kHeap}));
    ASSERT_NE(one[0], 0u);
    expect_good(launch("give", 1, 1, one, {kHeap}));
    EXPECT_EQ(one[0], 1u);
  }
}

TEST_F(Malloc, TooMuchGivesNull) {
  for (const std::uint64_t size : {kHeap + 1, kHeap * 4096, ~std::uint64_t{0}}) {
    Longs out(1, 5);
    expect_good(launch("take", 1, 1, out, {size}));
    EXPECT_EQ(out[0], 0u);
  }
}

TEST_F(Malloc, ManyThreadsTakeAndGive) {
  Longs out(1024, 7);
  expect_good(launch("churn", 4, 256, out, out));
  for (const std::uint64_t each : out) ASSERT_EQ(each, 0u);
  // Nothing is lost.
  Longs one(1);
  expect_good(launch("take", 1, 1, one, {kHeap}));
  ASSERT_NE(one[0], 0u);
  expect_good(launch("give", 1, 1, one, {kHeap}));
}

TEST_F(Malloc, FreeingTwiceTraps) {
  Longs out(1);
  const auto timing = launch("twice", 1, 1, out, {0});
  ASSERT_FALSE(timing);
  ASSERT_TRUE(timing.error().trap) << timing.error().text;
  EXPECT_EQ(timing.error().trap->kernel, "twice");
  EXPECT_NE(timing.error().text.find("free of an address"), std::string::npos)
      << timing.error().text;
}

// A kernel that takes `blocks` blocks of 48 bytes one after another, stores each one's number in
// it, and gives them back in the same order: out[t] = how many had another number then.
std::string unrolled(int blocks) {
  std::string text = R"(.version 8.0
.target sm_80
.address_size 64
)";
  text += kDeclarations;
  text += fmt::format(R"(.visible .entry unrolled(.param .u64 out, .param .u64 sizes)
{{
  .reg .b64 %d<{}>; .reg .b32 %r<8>; .reg .pred %p<2>;
  ld.param.u64 %d0, [out];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %d1, %r0, 8;
  add.u64 %d0, %d0, %d1;
  mov.u64 %d2, 48;
  mov.u32 %r1, 0;
)",
                      blocks + 8);
  for (int i = 0; i < blocks; ++i)
    text += fmt::format(R"({{
  .param .b64 param0;
  st.param.b64 [param0], %d2;
  .param .b64 retval0;
  call.uni (retval0), malloc, (param0);
  ld.param.b64 %d{0}, [retval0];
  }}
  mad.lo.u32 %r2, %r0, 1000, {1};
  st.u32 [%d{0}], %r2;
)",
                        i + 8, i);
  for (int i = 0; i < blocks; ++i)
    text += fmt::format(R"(  mad.lo.u32 %r2, %r0, 1000, {1};
  ld.u32 %r3, [%d{0}];
  setp.ne.u32 %p0, %r2, %r3;
  @%p0 add.u32 %r1, %r1, 1;
{{
  .param .b64 param0;
  st.param.b64 [param0], %d{0};
  call.uni free, (param0);
  }}
)",
                        i + 8, i);
  text += "  cvt.u64.u32 %d1, %r1;\n  st.global.u64 [%d0], %d1;\n  ret;\n}\n";
  return text;
}

TEST_F(Malloc, ManyCallsInAKernelShareTheirCode) {
  const auto words = [](int blocks) {
    const std::string text = unrolled(blocks);
    std::vector<Message> messages;
    const auto module = PtxModule::parse({{text, "unrolled.ptx"}}, messages);
    const auto translation = module ? module->translate({}, messages) : std::nullopt;
    EXPECT_TRUE(translation) << (messages.empty() ? "" : messages.front().rendered);
    return translation ? translation->spirv.size() : 0;
  };
  const std::size_t one = words(1), few = words(2), many = words(34);
  ASSERT_GT(one, 0u);
  EXPECT_LT((many - few) / 32, one / 20) << "32 more calls of both";

  Module module = must(Module::load(device(), unrolled(34), "unrolled.ptx"));
  Buffer out = must(Buffer::create(device(), 40 * 8));
  must(out.upload(0, bytes_of(Longs(40, 7))));
  LaunchConfig config;
  config.block = {40, 1, 1};
  expect_good(must(module.kernel("unrolled")).launch(config, Args().buffer(out).buffer(out)));
  for (const std::uint64_t each : read_buffer<std::uint64_t>(out, 40)) ASSERT_EQ(each, 0u);
}

TEST_F(Malloc, TheSizeStaysOnceThereIsAHeap) {
  Longs one(1);
  expect_good(launch("take", 1, 1, one, {1}));
  expect_good(launch("give", 1, 1, one, {1}));
  EXPECT_FALSE(device().set_malloc_heap_bytes(2 * kHeap));
  EXPECT_EQ(device().malloc_heap_bytes(), kHeap);
}

}  // namespace
}  // namespace ptx2spv
