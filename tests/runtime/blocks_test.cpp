// Blocks of up to 1,024 threads with barriers: more than some devices' workgroups hold.
#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

// Threads from `live` on end at once. The others meet at barriers in a loop, in a branch of every
// second iteration, and after loops that each one leaves for itself; the last iteration is cut
// short.
constexpr const char* kKernel = R"(
.visible .entry mixed(.param .u64 out, .param .u32 iterations, .param .u32 live) {
  .shared .align 4 .b32 cells[1024];
  .local .align 16 .b32 own[4];
  .reg .pred %p; .reg .b64 %out, %d, %base; .reg .b32 %r<20>;
  ld.param.u64 %out, [out];
  ld.param.u32 %r1, [iterations];
  ld.param.u32 %r2, [live];
  mov.u32 %r3, %tid.z;
  mov.u32 %r4, %ntid.y;
  mov.u32 %r5, %tid.y;
  mad.lo.u32 %r3, %r3, %r4, %r5;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.u32 %r3, %r3, %r4, %r5;            // me
  mov.u64 %base, own;
  and.b32 %r4, %r3, 3;
  mul.wide.u32 %d, %r4, 4;
  add.u64 %base, %base, %d;
  mul.lo.u32 %r4, %r3, 7;
  st.local.u32 [%base], %r4;
  mul.wide.u32 %d, %r3, 4;
  add.u64 %out, %out, %d;
  setp.lt.u32 %p, %r3, %r2;
  @%p bra stays;
  st.global.u32 [%out], 77;
  ret;
stays:
  mov.u32 %r6, cells;
  mad.lo.u32 %r7, %r3, 4, %r6;              // my cell
  mov.u32 %r8, %r3;                         // sum
  mov.u32 %r9, 0;                           // iteration
again:
  setp.ge.u32 %p, %r9, %r1;
  @%p bra done;
  st.shared.u32 [%r7], %r8;
  bar.sync 0;
  add.u32 %r10, %r3, %r9;
  add.u32 %r10, %r10, 1;
  rem.u32 %r10, %r10, %r2;
  mad.lo.u32 %r10, %r10, 4, %r6;
  ld.shared.u32 %r11, [%r10];
  mad.lo.u32 %r8, %r8, 3, %r11;
  bar.sync 0;
  mov.u32 %r12, 0;
  and.b32 %r13, %r8, 7;
search:
  setp.ge.u32 %p, %r12, %r13;
  @%p bra found;
  add.u32 %r12, %r12, 1;
  shr.u32 %r14, %r8, %r12;
  and.b32 %r14, %r14, 5;
  setp.eq.u32 %p, %r14, 5;
  @%p bra found;
  mad.lo.u32 %r8, %r12, 5, %r8;
  bra search;
found:
  and.b32 %r14, %r9, 1;
  setp.eq.u32 %p, %r14, 0;
  @%p bra next;
  xor.b32 %r14, %r8, %r9;
  st.shared.u32 [%r7], %r14;
  bar.sync 0;
  sub.u32 %r14, %r2, %r3;
  sub.u32 %r14, %r14, 1;
  mad.lo.u32 %r14, %r14, 4, %r6;
  ld.shared.u32 %r14, [%r14];
  add.u32 %r8, %r8, %r14;
  bar.sync 0;
next:
  setp.eq.u32 %p, %r9, 5;
  @%p bra done;
  add.u32 %r9, %r9, 1;
  bra again;
done:
  ld.local.u32 %r4, [%base];
  add.u32 %r8, %r8, %r4;
  st.global.u32 [%out], %r8;
  ret;
}
)";

std::vector<std::uint32_t> expected(std::uint32_t threads, std::uint32_t iterations,
                                    std::uint32_t live) {
  std::vector<std::uint32_t> sum(live), cells(live);
  for (std::uint32_t t = 0; t < live; ++t) sum[t] = t;
  for (std::uint32_t iteration = 0; iteration < iterations; ++iteration) {
    cells = sum;
    for (std::uint32_t t = 0; t < live; ++t) {
      std::uint32_t& s = sum[t];
      s = s * 3 + cells[(t + iteration + 1) % live];
      const std::uint32_t most = s & 7;
      for (std::uint32_t i = 0; i < most;) {
        ++i;
        if ((s >> i & 5) == 5) break;
        s += i * 5;
      }
    }
    if (iteration & 1) {
      for (std::uint32_t t = 0; t < live; ++t) cells[t] = sum[t] ^ iteration;
      for (std::uint32_t t = 0; t < live; ++t) sum[t] += cells[live - t - 1];
    }
    if (iteration == 5) break;
  }
  for (std::uint32_t t = 0; t < live; ++t) sum[t] += t * 7;
  sum.resize(threads, 77);
  return sum;
}

TEST(Blocks, BarriersInLoopsAndBranchesForAnyShape) {
  Module module = load(kKernel);
  Kernel kernel = must(module.kernel("mixed"));
  constexpr Dim3 kShapes[] = {{1024, 1, 1}, {32, 32, 1}, {1000, 1, 1}, {33, 31, 1}, {8, 8, 16},
                              {512, 1, 1},  {257, 1, 1}, {2, 512, 1},  {64, 2, 1},  {1, 1, 1}};
  Buffer out = must(Buffer::create(test_device(), 4096));
  for (const Dim3& shape : kShapes) {
    const std::uint32_t threads = shape.x * shape.y * shape.z;
    for (const std::uint32_t live : {threads, threads - threads / 3, 1u})
      for (const std::uint32_t iterations : {0u, 2u, 9u}) {
        LaunchConfig config;
        config.block = shape;
        must(kernel.launch(config, Args().buffer(out).value(iterations).value(live)));
        EXPECT_EQ(read_buffer<std::uint32_t>(out, threads), expected(threads, iterations, live))
            << shape.x << " x " << shape.y << " x " << shape.z << ", " << live << " stay, "
            << iterations << " iterations";
      }
  }
}

// Each block follows a chain of words in memory and meets once for each of them.
constexpr const char* kChain = R"(
CELLS
.visible .entry chain(.param .u64 out, .param .u64 next) {
  .reg .pred %p; .reg .b64 %out, %next, %d; .reg .b32 %r<12>;
  ld.param.u64 %out, [out];
  ld.param.u64 %next, [next];
  mov.u32 %r0, %ntid.x;
  mov.u32 %r1, %tid.y;
  mov.u32 %r2, %tid.x;
  mad.lo.u32 %r1, %r1, %r0, %r2;            // me
  mov.u32 %r2, %ntid.y;
  mul.lo.u32 %r0, %r0, %r2;
  mov.u32 %r2, %ctaid.x;
  mad.lo.u32 %r3, %r2, %r0, %r1;
  mul.wide.u32 %d, %r3, 4;
  add.u64 %out, %out, %d;
  mov.u32 %r4, cells;
  mad.lo.u32 %r5, %r1, 4, %r4;              // my cell
  mov.u32 %r6, %r1;                         // sum
again:
  mul.wide.u32 %d, %r2, 4;
  add.u64 %d, %next, %d;
  ld.global.u32 %r2, [%d];
  setp.eq.u32 %p, %r2, 0;
  @%p bra done;
  st.shared.u32 [%r5], %r6;
  bar.sync 0;
  add.u32 %r7, %r1, %r2;
  rem.u32 %r7, %r7, %r0;
  mad.lo.u32 %r7, %r7, 4, %r4;
  ld.shared.u32 %r7, [%r7];
  mad.lo.u32 %r6, %r6, 3, %r7;
  bar.sync 0;
  bra again;
done:
  st.global.u32 [%out], %r6;
  ret;
}
)";

TEST(Blocks, WordsInMemorySayHowOftenTheyMeet) {
  const std::vector<std::uint32_t> next = {0, 7, 5, 12, 0, 0, 0, 9, 0, 0, 0, 0, 13, 14, 15, 4};
  Buffer words = must(Buffer::create(test_device(), next.size() * 4));
  must(words.upload(0, bytes_of(next)));
  for (const bool dynamic : {false, true}) {
    std::string text = kChain;
    text.replace(text.find("CELLS"), 5,
                 dynamic ? ".extern .shared .align 4 .b8 cells[];" : ".shared .b32 cells[1024];");
    Module module = load(text);
    Kernel kernel = must(module.kernel("chain"));
    constexpr Dim3 kShapes[] = {{1024, 1, 1}, {64, 1, 1}, {33, 3, 1}, {1, 1, 1}};
    for (const Dim3& shape : kShapes) {
      const std::uint32_t threads = shape.x * shape.y, blocks = 4;
      Buffer out = must(Buffer::create(test_device(), 4ull * threads * blocks));
      LaunchConfig config;
      config.grid = {blocks, 1, 1};
      config.block = shape;
      if (dynamic) config.dynamic_shared = 4 * threads;
      must(kernel.launch(config, Args().buffer(out).buffer(words)));
      std::vector<std::uint32_t> want;
      for (std::uint32_t block = 0; block < blocks; ++block) {
        std::vector<std::uint32_t> sum(threads);
        for (std::uint32_t t = 0; t < threads; ++t) sum[t] = t;
        for (std::uint32_t at = next[block]; at; at = next[at]) {
          const std::vector<std::uint32_t> cells = sum;
          for (std::uint32_t t = 0; t < threads; ++t)
            sum[t] = sum[t] * 3 + cells[(t + at) % threads];
        }
        want.insert(want.end(), sum.begin(), sum.end());
      }
      EXPECT_EQ(read_buffer<std::uint32_t>(out, want.size()), want)
          << shape.x << " x " << shape.y << (dynamic ? ", dynamic" : "");
    }
  }
}

// 124 of 1,024 threads store beyond the surface's edge before the barrier.
TEST(Blocks, TrapsAreCountedAndTheOtherThreadsResultsStand) {
  Module module = load(R"(
.visible .entry edge(.param .u64 out, .param .u64 surface) {
  .shared .align 4 .b32 cells[1024];
  .reg .b64 %out, %d, %s; .reg .b32 %r<9>; .reg .pred %p;
  ld.param.u64 %out, [out];
  ld.param.u64 %s, [surface];
  mov.u32 %r1, %tid.x;
  shl.b32 %r2, %r1, 2;
  mov.u32 %r5, 0;
again:
  sust.b.1d.b32.trap [%s, {%r2}], %r1;
  mov.u32 %r3, cells;
  add.u32 %r4, %r3, %r2;
  st.shared.u32 [%r4], %r1;
  bar.sync 0;
  xor.b32 %r4, %r2, 4;
  add.u32 %r4, %r3, %r4;
  ld.shared.u32 %r4, [%r4];
  bar.sync 0;
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p, %r5, 3;
  @%p bra again;
  mul.wide.u32 %d, %r1, 4;
  add.u64 %out, %out, %d;
  st.global.u32 [%out], %r4;
  ret;
}
.visible .entry some(.param .u64 out) {
  .shared .align 4 .b32 cells[1024];
  .reg .b64 %out, %d; .reg .b32 %r<9>; .reg .pred %p;
  ld.param.u64 %out, [out];
  mov.u32 %r1, %tid.x;
  shl.b32 %r2, %r1, 2;
  mov.u32 %r3, cells;
  add.u32 %r4, %r3, %r2;
  st.shared.u32 [%r4], %r1;
  rem.u32 %r5, %r1, 100;
  setp.ne.u32 %p, %r5, 7;
  @%p bra well;
  trap;
well:
  bar.sync 0;
  xor.b32 %r4, %r2, 4;
  add.u32 %r4, %r3, %r4;
  ld.shared.u32 %r4, [%r4];
  mul.wide.u32 %d, %r1, 4;
  add.u64 %out, %out, %d;
  st.global.u32 [%out], %r4;
  ret;
}
)");
  ArrayDesc desc;
  desc.geometry = Geometry::d1;
  desc.width = 900;
  desc.format = abi::SurfaceFormat::u32;
  desc.channels = 1;
  Array array = must(Array::create(test_device(), desc));
  must(array.fill(0));
  Surface surface = must(Surface::create(array));
  Buffer out = must(Buffer::create(test_device(), 4096));
  const std::vector<std::uint32_t> untouched(1024, 5);
  LaunchConfig config;
  config.block = {1024, 1, 1};

  must(out.upload(0, bytes_of(untouched)));
  const auto ran = must(module.kernel("edge")).launch(config, Args().buffer(out).surface(surface));
  ASSERT_FALSE(ran);
  ASSERT_TRUE(ran.error().trap) << ran.error().text;
  EXPECT_EQ(ran.error().trap->trapped_threads, 124u);
  EXPECT_GE(ran.error().trap->thread[0], 900u);
  const auto stored = read_array<std::uint32_t>(array);
  const auto words = read_buffer<std::uint32_t>(out, 1024);
  for (std::uint32_t t = 0; t < 1024; ++t) {
    EXPECT_EQ(words[t], t < 900 ? t ^ 1 : 5u) << t;
    EXPECT_EQ(stored[t % 900], t % 900);
  }

  must(out.upload(0, bytes_of(untouched)));
  const auto trapped = must(module.kernel("some")).launch(config, Args().buffer(out));
  ASSERT_FALSE(trapped);
  ASSERT_TRUE(trapped.error().trap) << trapped.error().text;
  EXPECT_EQ(trapped.error().trap->trapped_threads, 11u);
  const auto others = read_buffer<std::uint32_t>(out, 1024);
  for (std::uint32_t t = 0; t < 1024; ++t) EXPECT_EQ(others[t], t % 100 == 7 ? 5u : t ^ 1) << t;
}

}  // namespace
}  // namespace ptx2spv
