// Blocks with more shared memory than a workgroup of the device has: up to CUDA's 227 KiB.
#include <algorithm>

#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

// Fills `words` words of dynamic memory, reads them by other threads, and meets in static memory by
// atomics of each kind, by bytes and through a generic address. A block writes eight words.
constexpr const char* kKernel = R"(
.shared .align 8 .b8 fixed[2048];
.extern .shared .align 16 .b8 dynamic[];
.visible .entry meet(.param .u64 out, .param .u32 words) {
  .reg .pred %p;
  .reg .b16 %h;
  .reg .b32 %r<16>;
  .reg .f32 %f<2>;
  .reg .b64 %d<8>;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %ctaid.x;
  ld.param.u32 %r3, [words];
  mov.u32 %r4, %r0;
clear:
  shl.b32 %r5, %r4, 2;
  mov.u32 %r6, fixed;
  add.u32 %r6, %r6, %r5;
  setp.lt.u32 %p, %r4, 512;
  @%p st.shared.u32 [%r6], 0;
  add.u32 %r4, %r4, %r1;
  setp.lt.u32 %p, %r4, 512;
  @%p bra clear;
  mov.u32 %r4, %r0;
  mov.u32 %r7, dynamic;
fill:
  mad.lo.u32 %r6, %r4, 2654435761, %r2;
  shl.b32 %r5, %r4, 2;
  add.u32 %r5, %r5, %r7;
  st.shared.u32 [%r5], %r6;
  add.u32 %r4, %r4, %r1;
  setp.lt.u32 %p, %r4, %r3;
  @%p bra fill;
  bar.sync 0;
  sub.u32 %r4, %r3, %r0;
  shl.b32 %r4, %r4, 2;
  add.u32 %r4, %r4, %r7;
  ld.shared.u32 %r8, [%r4+-4];
  atom.shared.add.u32 %r9, [fixed], %r8;
  mov.b64 %d0, {%r0, %r8};
  atom.shared.max.u64 %d1, [fixed+8], %d0;
  mov.u32 %r9, fixed;
  cvta.shared.u64 %d2, fixed;
  atom.add.u32 %r10, [%d2+16], 3;
  mov.b32 %f0, 5;
  atom.shared.add.f32 %f1, [fixed+20], %f0;
  add.u32 %r9, %r9, %r0;
  cvt.u16.u32 %h, %r0;
  st.shared.u8 [%r9+1000], %h;
  bar.sync 0;
  setp.ne.u32 %p, %r0, 0;
  @%p bra done;
  ld.param.u64 %d3, [out];
  mul.wide.u32 %d4, %r2, 32;
  add.u64 %d3, %d3, %d4;
  ld.shared.u32 %r10, [fixed];
  ld.shared.v2.u32 {%r11, %r12}, [fixed+8];
  ld.shared.v2.u32 {%r13, %r14}, [fixed+16];
  st.global.v4.u32 [%d3], {%r10, %r11, %r12, %r13};
  add.u32 %r9, %r9, %r1;
  ld.shared.u8 %r15, [%r9+999];
  mov.u32 %r8, %dynamic_smem_size;
  st.global.v4.u32 [%d3+16], {%r14, %r15, %r8, %r4};
done:
  ret;
}
)";

std::vector<std::uint32_t> expected(std::uint32_t block, std::uint32_t threads,
                                    std::uint32_t words) {
  std::uint32_t sum = 0;
  std::uint64_t most = 0;
  for (std::uint32_t t = 0; t < threads; ++t) {
    const std::uint32_t word = (words - 1 - t) * 2654435761u + block;
    sum += word;
    most = std::max(most, std::uint64_t{word} << 32 | t);
  }
  return {sum,
          static_cast<std::uint32_t>(most),
          static_cast<std::uint32_t>(most >> 32),
          threads * 3,
          threads * 5,
          (threads - 1) & 0xff,
          words * 4};
}

void meet(const Kernel& kernel, std::uint32_t blocks, std::uint32_t threads, std::uint32_t words,
          std::optional<ThreadModel> model) {
  Buffer buffer = must(Buffer::create(test_device(), 32ull * blocks));
  LaunchConfig config;
  config.grid = {blocks, 1, 1};
  config.block = {threads, 1, 1};
  config.dynamic_shared = words * 4;
  config.threads = model;
  auto result = kernel.launch(config, Args().buffer(buffer).value(words));
  ASSERT_TRUE(result) << result.error().text;
  const auto back = read_buffer<std::uint32_t>(buffer, 8ull * blocks);
  for (std::uint32_t block = 0; block < blocks; ++block) {
    const auto want = expected(block, threads, words);
    for (std::size_t i = 0; i < want.size(); ++i)
      ASSERT_EQ(back[8 * block + i], want[i]) << "word " << i << " of block " << block << ", "
                                              << threads << " threads, " << words << " words";
  }
}

TEST(SharedMemory, BeyondTheWorkgroupsOwn) {
  Module module = load(kKernel);
  const Kernel kernel = must(module.kernel("meet"));
  constexpr std::uint32_t kMost = (227 * 1024 - 2048) / 4;
  for (const std::uint32_t words : {2048u, 7680u, 8192u, 20000u, kMost})
    for (const std::uint32_t threads : {1u, 96u, 1000u, 1024u})
      meet(kernel, 3, threads, words, std::nullopt);
  meet(kernel, 3, 64, kMost, ThreadModel::direct);
  meet(kernel, 3, 640, kMost, ThreadModel::regions);
  // More blocks than have room at once.
  meet(kernel, 700, 256, kMost, std::nullopt);
}

/// Every thread stores its element, of `bytes`, in memory that is accessed in that size alone, and
/// reads that of thread 5 * tid + 1 modulo their number.
std::string narrow_kernel(unsigned bytes, bool dynamic) {
  const char* const type = bytes == 1 ? "u8" : "u16";
  return fmt::format(R"(
{}
.visible .entry narrow(.param .u64 out) {{
  .reg .b16 %h;
  .reg .b32 %r<10>;
  .reg .b64 %d<3>;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, own;
  mad.lo.u32 %r4, %r0, 40503, %r2;
  cvt.u16.u32 %h, %r4;
  mad.lo.u32 %r5, %r0, {}, %r3;
  st.shared.{} [%r5], %h;
  bar.sync 0;
  mad.lo.u32 %r6, %r0, 5, 1;
  rem.u32 %r6, %r6, %r1;
  mad.lo.u32 %r6, %r6, {}, %r3;
  ld.shared.{} %h, [%r6];
  cvt.u32.u16 %r7, %h;
  mad.lo.u32 %r8, %r2, %r1, %r0;
  ld.param.u64 %d0, [out];
  mul.wide.u32 %d1, %r8, 4;
  add.u64 %d0, %d0, %d1;
  st.global.u32 [%d0], %r7;
  ret;
}}
)",
                     dynamic ? ".extern .shared .align 2 .b8 own[];"
                             : fmt::format(".shared .align 2 .b8 own[{}];", 101 * bytes),
                     bytes, type, bytes, type);
}

TEST(SharedMemory, OfBytesOrHalvesAloneKeepsEachOfThem) {
  constexpr std::uint32_t kBlocks = 3, kThreads = 101;
  for (const bool narrow : {true, false}) {
    DeviceOptions options;
    if (!narrow) options.disable = {"storage8", "storage16"};
    const Device device = device_by(ExecutorPolicy::device, options);
    for (const unsigned bytes : {1u, 2u})
      for (const bool dynamic : {false, true})
        for (const auto model :
             {std::optional<ThreadModel>(), std::optional(ThreadModel::regions)}) {
          const Module module = load_on(device, narrow_kernel(bytes, dynamic));
          Buffer buffer = must(Buffer::create(device, std::size_t{4} * kBlocks * kThreads));
          LaunchConfig config;
          config.grid = {kBlocks, 1, 1};
          config.block = {kThreads, 1, 1};
          config.dynamic_shared = dynamic ? kThreads * bytes : 0;
          config.threads = model;
          must(must(module.kernel("narrow")).launch(config, Args().buffer(buffer)));
          const auto back = read_buffer<std::uint32_t>(buffer, std::size_t{kBlocks} * kThreads);
          for (std::uint32_t i = 0; i < back.size(); ++i) {
            const std::uint32_t from = (i % kThreads * 5 + 1) % kThreads;
            const std::uint32_t stored = from * 40503 + i / kThreads;
            ASSERT_EQ(back[i], stored & (bytes == 1 ? 0xffu : 0xffffu))
                << "thread " << i << ", " << bytes << " bytes";
          }
        }
  }
}

TEST(SharedMemory, BeyondCudasIsRefused) {
  Module module = load(kKernel);
  const Kernel kernel = must(module.kernel("meet"));
  Buffer buffer = must(Buffer::create(test_device(), 32));
  LaunchConfig config;
  config.dynamic_shared = 227 * 1024 - 2047;
  const auto result = kernel.launch(config, Args().buffer(buffer).value(1u));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace ptx2spv
