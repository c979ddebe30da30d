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

// Bytes, halves, vectors and words of the same memory, and atomics on words of bytes. Nothing ends
// at a multiple of 16.
constexpr const char* kMixed = R"(
.shared .align 1 .b8 odd[13];
.shared .align 16 .b8 fixed[52];
.extern .shared .align 16 .b8 dynamic[];
.visible .entry mixed(.param .u64 out) {
  .reg .pred %p;
  .reg .b16 %h<4>;
  .reg .b32 %r<24>;
  .reg .b64 %d<4>;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, dynamic;
  mov.u32 %r2, fixed;
  mov.u32 %r3, odd;
  mul.lo.u32 %r4, %r0, 7;
  add.u32 %r5, %r1, %r0;
  cvt.u16.u32 %h0, %r4;
  st.shared.u8 [%r5], %h0;
  add.u32 %r6, %r5, %r0;
  mul.lo.u32 %r4, %r0, 1031;
  cvt.u16.u32 %h0, %r4;
  st.shared.u16 [%r6+64], %h0;
  setp.lt.u32 %p, %r0, 13;
  add.u32 %r7, %r3, %r0;
  @%p st.shared.u8 [%r7], %h0;
  @%p mad.lo.u32 %r7, %r0, 4, %r2;
  @%p st.shared.u32 [%r7], %r4;
  bar.sync 0;
  and.b32 %r8, %r0, 15;
  mad.lo.u32 %r8, %r8, 4, %r1;
  atom.shared.add.u32 %r9, [%r8], 16909060;
  red.shared.or.b32 [%r8+64], 32768;
  bar.sync 0;
  and.b32 %r9, %r0, 3;
  mad.lo.u32 %r9, %r9, 16, %r1;
  ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r9];
  ld.shared.u32 %r14, [%r9+64];
  ld.shared.u32 %r15, [%r9+68];
  ld.shared.u32 %r16, [%r9+72];
  ld.shared.u32 %r17, [%r9+76];
  xor.b32 %r10, %r10, %r14;
  xor.b32 %r11, %r11, %r15;
  xor.b32 %r12, %r12, %r16;
  xor.b32 %r13, %r13, %r17;
  ld.shared.u64 %d2, [%r9+8];
  cvt.u32.u64 %r14, %d2;
  ld.shared.v2.u16 {%h1, %h2}, [%r2+48];
  cvt.u32.u16 %r15, %h1;
  ld.shared.u8 %r16, [%r5];
  ld.shared.u8 %r17, [%r3+12];
  setp.eq.u32 %p, %r0, 5;
  bar.sync 0;
  @%p st.shared.v4.u32 [%r2+16], {%r10, %r11, %r12, %r13};
  @%p st.shared.v2.u32 [%r2+32], {%r14, %r15};
  bar.sync 0;
  add.u32 %r18, %r2, 16;
  and.b32 %r19, %r0, 31;
  add.u32 %r18, %r18, %r19;
  ld.shared.s8 %r20, [%r18];
  and.b32 %r19, %r0, 15;
  mad.lo.u32 %r18, %r19, 2, %r2;
  ld.shared.u16 %r21, [%r18+16];
  ld.param.u64 %d0, [out];
  mul.wide.u32 %d1, %r0, 48;
  add.u64 %d0, %d0, %d1;
  st.global.v4.u32 [%d0], {%r10, %r11, %r12, %r13};
  st.global.v4.u32 [%d0+16], {%r14, %r15, %r16, %r17};
  st.global.v4.u32 [%d0+32], {%r20, %r21, %r0, %r0};
  ret;
}
)";

TEST(SharedMemory, BytesHalvesWordsAndVectorsAreTheSameMemory) {
  constexpr std::uint32_t kThreads = 64;
  std::vector<std::uint8_t> dynamic(192), fixed(52), odd(13);
  const auto put = [](std::vector<std::uint8_t>& to, std::size_t at, std::uint32_t value,
                      unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) to[at + i] = static_cast<std::uint8_t>(value >> 8 * i);
  };
  const auto get = [](const std::vector<std::uint8_t>& from, std::size_t at, unsigned bytes) {
    std::uint32_t value = 0;
    for (unsigned i = 0; i < bytes; ++i) value |= std::uint32_t{from[at + i]} << 8 * i;
    return value;
  };
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    put(dynamic, t, t * 7, 1);
    put(dynamic, 64 + 2 * std::size_t{t}, t * 1031, 2);
    if (t >= 13) continue;
    put(odd, t, t * 1031, 1);
    put(fixed, 4 * std::size_t{t}, t * 1031, 4);
  }
  // Four threads share a word of the first 64 bytes.
  for (std::size_t at = 0; at < 64; at += 4) {
    put(dynamic, at, get(dynamic, at, 4) + 4 * 16909060u, 4);
    put(dynamic, at + 64, get(dynamic, at + 64, 4) | 32768u, 4);
  }
  const auto row = [&](std::uint32_t t) {
    std::vector<std::uint32_t> words;
    const std::size_t at = 16 * std::size_t{t % 4};
    for (std::size_t i = 0; i < 16; i += 4)
      words.push_back(get(dynamic, at + i, 4) ^ get(dynamic, at + 64 + i, 4));
    words.insert(words.end(), {get(dynamic, at + 8, 4), get(fixed, 48, 2), get(dynamic, t, 1),
                               std::uint32_t{odd[12]}});
    return words;
  };
  std::vector<std::vector<std::uint32_t>> expected;
  for (std::uint32_t t = 0; t < kThreads; ++t) expected.push_back(row(t));
  for (std::size_t i = 0; i < 6; ++i) put(fixed, 16 + 4 * i, expected[5][i], 4);
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    const auto byte = static_cast<std::int8_t>(fixed[16 + t % 32]);
    expected[t].push_back(static_cast<std::uint32_t>(std::int32_t{byte}));
    expected[t].push_back(get(fixed, 16 + 2 * std::size_t{t % 16}, 2));
  }
  for (const bool layout : {true, false}) {
    DeviceOptions options;
    if (!layout) options.disable = {"shared_layout"};
    const Device device = device_by(ExecutorPolicy::device, options);
    const Module module = load_on(device, kMixed);
    const Kernel kernel = must(module.kernel("mixed"));
    for (const auto model : {std::optional<ThreadModel>(), std::optional(ThreadModel::regions)}) {
      Buffer buffer = must(Buffer::create(device, std::size_t{48} * kThreads));
      LaunchConfig config;
      config.block = {kThreads, 1, 1};
      config.dynamic_shared = 192;
      config.threads = model;
      must(kernel.launch(config, Args().buffer(buffer)));
      const auto back = read_buffer<std::uint32_t>(buffer, std::size_t{12} * kThreads);
      for (std::uint32_t t = 0; t < kThreads; ++t)
        for (std::size_t i = 0; i < expected[t].size(); ++i)
          ASSERT_EQ(back[12 * t + i], expected[t][i])
              << "word " << i << " of thread " << t << (layout ? "" : ", by words");
    }
  }
}

// Each thread reduces into cells of 64 bits, of which 12 are declared and 12 dynamic, in the order
// of the operations below; then it exchanges its number into one, and compares and swaps in
// another. Between the two, words of both sizes are written by ordinary stores and read back.
std::string wide_kernel() {
  std::string text = R"(
.shared .align 8 .b8 cells[96];
.extern .shared .align 8 .b8 dynamic[];
.visible .entry wide(.param .u64 out) {
  .reg .pred %p;
  .reg .b32 %r<16>;
  .reg .b64 %d<12>;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, cells;
  mov.u32 %r3, dynamic;
  mul.lo.u32 %r4, %r0, 8;
  add.u32 %r5, %r2, %r4;
  setp.lt.u32 %p, %r0, 12;
  cvt.u64.u32 %d0, %r0;
  mul.lo.u64 %d0, %d0, 0x9e3779b97f4a7c15;
  @%p st.shared.u64 [%r5], %d0;
  add.u32 %r6, %r3, %r4;
  mov.b64 {%r7, %r8}, %d0;
  @%p st.shared.u32 [%r6], %r8;
  @%p st.shared.u32 [%r6+4], %r7;
  bar.sync 0;
  cvt.u64.u32 %d1, %r0;
  add.u64 %d1, %d1, 77;
  mul.lo.u64 %d1, %d1, 0xd1342543de82ef95;
)";
  constexpr const char* kOps[] = {"add.u64", "min.u64", "max.u64", "min.s64",
                                  "max.s64", "and.b64", "or.b64",  "xor.b64"};
  for (std::size_t i = 0; i < std::size(kOps); ++i)
    text += fmt::format("red.shared.{0} [cells+{1}], %d1;\natom.shared.{0} %d2, [%r3+{1}], %d1;\n",
                        kOps[i], 8 * i);
  return text + R"(
  atom.shared.exch.b64 %d3, [cells+64], %d1;
  ld.shared.u64 %d4, [cells+72];
  bar.sync 0;
  atom.shared.cas.b64 %d5, [cells+72], %d4, %d1;
  atom.shared.cas.b64 %d6, [cells+80], %d4, %d1;
  cvta.shared.u64 %d7, cells;
  atom.add.u64 %d8, [%d7+88], 0x100000001;
  bar.sync 0;
  ld.param.u64 %d9, [out];
  mul.wide.u32 %d10, %r0, 40;
  add.u64 %d9, %d9, %d10;
  st.global.u64 [%d9+192], %d3;
  st.global.u64 [%d9+200], %d5;
  st.global.u64 [%d9+208], %d6;
  st.global.u64 [%d9+216], %d8;
  ld.shared.u32 %r9, [%r3+4];
  ld.shared.u32 %r10, [%r3];
  mov.b64 %d11, {%r10, %r9};
  st.global.u64 [%d9+224], %d11;
  ld.param.u64 %d9, [out];
  mul.wide.u32 %d10, %r0, 8;
  add.u64 %d9, %d9, %d10;
  @%p ld.shared.u64 %d0, [%r5];
  @%p st.global.u64 [%d9], %d0;
  @%p ld.shared.u64 %d0, [%r6];
  @%p st.global.u64 [%d9+96], %d0;
  ret;
}
)";
}

TEST(SharedMemory, AtomicsOf64BitsAreThoseOfTheirCells) {
  constexpr std::uint32_t kThreads = 96;
  const auto given = [](std::uint64_t t) { return (t + 77) * 0xd1342543de82ef95; };
  std::vector<std::uint64_t> cells(12), dynamic(12);
  for (std::uint64_t i = 0; i < 12; ++i) {
    cells[i] = i * 0x9e3779b97f4a7c15;
    dynamic[i] = cells[i] >> 32 | cells[i] << 32;
  }
  const std::vector<std::uint64_t> first = cells;
  const auto as_signed = [](std::uint64_t v) { return static_cast<std::int64_t>(v); };
  for (auto* const each : {&cells, &dynamic})
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      const std::uint64_t v = given(t);
      auto& c = *each;
      c[0] += v;
      c[1] = std::min(c[1], v);
      c[2] = std::max(c[2], v);
      if (as_signed(v) < as_signed(c[3])) c[3] = v;
      if (as_signed(v) > as_signed(c[4])) c[4] = v;
      c[5] &= v;
      c[6] |= v;
      c[7] ^= v;
    }
  for (const bool layout : {true, false}) {
    DeviceOptions options;
    if (!layout) options.disable = {"shared_layout"};
    const Device device = device_by(ExecutorPolicy::device, options);
    const Module module = load_on(device, wide_kernel());
    for (const auto model : {std::optional<ThreadModel>(), std::optional(ThreadModel::regions)}) {
      Buffer buffer = must(Buffer::create(device, 192 + std::size_t{40} * kThreads));
      LaunchConfig config;
      config.block = {kThreads, 1, 1};
      config.dynamic_shared = 96;
      config.threads = model;
      must(must(module.kernel("wide")).launch(config, Args().buffer(buffer)));
      const auto back = read_buffer<std::uint64_t>(buffer, 24 + std::size_t{5} * kThreads);
      const std::string how = layout ? "" : " by words";
      for (std::size_t i = 0; i < 8; ++i) {
        ASSERT_EQ(back[i], cells[i]) << "operation " << i << how;
        ASSERT_EQ(back[12 + i], dynamic[i]) << "operation " << i << ", dynamic" << how;
      }
      for (std::size_t i = 8; i < 12; ++i) ASSERT_EQ(back[12 + i], dynamic[i]) << how;
      ASSERT_EQ(back[10], first[10]) << "a swap of another value" << how;
      ASSERT_EQ(back[11], first[11] + kThreads * 0x100000001) << how;
      // What was exchanged and what is left are what there was and what was given.
      std::vector<std::uint64_t> left = {back[8]}, put = {first[8]}, counts;
      std::uint32_t swapped = 0;
      for (std::uint32_t t = 0; t < kThreads; ++t) {
        const std::uint64_t* const its = &back[24 + std::size_t{5} * t];
        left.push_back(its[0]);
        put.push_back(given(t));
        // One thread found what it compared with; the others what that one gave.
        if (its[1] == first[9]) {
          ++swapped;
          ASSERT_EQ(back[9], given(t)) << how;
        } else {
          ASSERT_EQ(its[1], back[9]) << how;
        }
        ASSERT_EQ(its[2], first[10]) << how;
        counts.push_back(its[3]);
        ASSERT_EQ(its[4], dynamic[0]) << how;
      }
      ASSERT_EQ(swapped, 1u) << how;
      std::ranges::sort(left);
      std::ranges::sort(put);
      ASSERT_EQ(left, put) << how;
      std::ranges::sort(counts);
      for (std::uint32_t t = 0; t < kThreads; ++t)
        ASSERT_EQ(counts[t], first[11] + t * 0x100000001) << how;
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
