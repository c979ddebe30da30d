// Cooperative launches: all blocks of a grid are there at once, and wait for each other. Results
// are computed on the host.
#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

// A kernel's registers: its number within the block (%r0), threads of a block (%r1), its block
// (%r2), blocks (%r3), its number within the grid (%r4), threads of the grid (%r5), the address of
// the grid's workspace (%d0).
constexpr const char* kStart =
    "  .reg .pred %p<8>;\n  .reg .b32 %r<32>;\n  .reg .b64 %d<16>;\n"
    "  mov.u32 %r20, %ntid.x;\n  mov.u32 %r21, %ntid.y;\n  mov.u32 %r22, %tid.x;\n"
    "  mov.u32 %r23, %tid.y;\n  mad.lo.u32 %r0, %r23, %r20, %r22;\n  mov.u32 %r22, %tid.z;\n"
    "  mul.lo.u32 %r1, %r20, %r21;\n  mad.lo.u32 %r0, %r22, %r1, %r0;\n"
    "  mov.u32 %r22, %ntid.z;\n  mul.lo.u32 %r1, %r1, %r22;\n"
    "  mov.u32 %r20, %nctaid.x;\n  mov.u32 %r21, %nctaid.y;\n  mov.u32 %r22, %ctaid.x;\n"
    "  mov.u32 %r23, %ctaid.y;\n  mad.lo.u32 %r2, %r23, %r20, %r22;\n  mov.u32 %r22, %ctaid.z;\n"
    "  mul.lo.u32 %r3, %r20, %r21;\n  mad.lo.u32 %r2, %r22, %r3, %r2;\n"
    "  mov.u32 %r22, %nctaid.z;\n  mul.lo.u32 %r3, %r3, %r22;\n"
    "  mad.lo.u32 %r4, %r2, %r1, %r0;\n  mul.lo.u32 %r5, %r1, %r3;\n"
    "  mov.u32 %r20, %envreg1;\n  mov.u32 %r21, %envreg2;\n  mov.b64 %d0, {%r21, %r20};\n";

/// All threads of the grid meet at the word that %d0 + 4 is the address of: the first thread of
/// each block counts, and waits for as many as have come when all have. Uses %r20 to %r22 and %p7.
std::string meet(int number) {
  const std::string n = std::to_string(number);
  return "  bar.sync 0;\n  setp.ne.u32 %p7, %r0, 0;\n  @%p7 bra met" + n +
         ";\n  membar.gl;\n  atom.global.add.u32 %r20, [%d0+4], 1;\n  div.u32 %r20, %r20, %r3;\n"
         "  mad.lo.u32 %r20, %r20, %r3, %r3;\nwait" +
         n +
         ":\n  ld.volatile.global.u32 %r21, [%d0+4];\n  setp.lt.u32 %p7, %r21, %r20;\n  @%p7 bra "
         "wait" +
         n + ";\n  membar.gl;\nmet" + n + ":\n  bar.sync 0;\n";
}

std::string kernel(const std::string& params, const std::string& body) {
  return ".extern .shared .align 16 .b32 more[];\n.visible .entry k(" + params + ") {\n" + kStart +
         body + "  ret;\n}\n";
}

LaunchConfig cooperative(Dim3 grid, Dim3 block) {
  LaunchConfig config;
  config.grid = grid;
  config.block = block;
  config.cooperative = true;
  return config;
}

std::uint32_t product(const Dim3& size) { return size.x * size.y * size.z; }

// In each step a thread takes what another block's thread has left, its neighbour in the block by
// shared memory, and the warp's first lane by a shuffle.
const std::string kSteps = kernel(
    ".param .u64 data, .param .u32 steps",
    "  .shared .align 4 .b32 tile[1024];\n"
    "  ld.param.u64 %d1, [data];\n  ld.param.u32 %r6, [steps];\n  mov.u32 %r7, 0;\n"
    "  mov.u64 %d5, tile;\n  mul.wide.u32 %d6, %r0, 4;\n  add.u64 %d6, %d5, %d6;\n"
    "  add.u32 %r8, %r0, 1;\n  rem.u32 %r8, %r8, %r1;\n  mul.wide.u32 %d7, %r8, 4;\n"
    "  add.u64 %d7, %d5, %d7;\n  add.u32 %r9, %r4, 37;\n  rem.u32 %r9, %r9, %r5;\n"
    "  and.b32 %r16, %r0, -32;\n  sub.u32 %r16, %r1, %r16;\n  min.u32 %r16, %r16, 32;\n"
    "  mov.u32 %r17, 32;\n  sub.u32 %r17, %r17, %r16;\n  mov.u32 %r16, -1;\n"
    "  shr.u32 %r16, %r16, %r17;\n"
    "loop:\n  and.b32 %r10, %r7, 1;\n  mad.lo.u32 %r11, %r10, %r5, %r9;\n"
    "  mul.wide.u32 %d2, %r11, 4;\n  add.u64 %d2, %d1, %d2;\n  ld.volatile.global.u32 %r12, "
    "[%d2];\n"
    "  st.shared.u32 [%d6], %r12;\n  bar.sync 0;\n  ld.shared.u32 %r13, [%d7];\n"
    "  shfl.sync.idx.b32 %r14, %r12, 0, 31, %r16;\n"
    "  mad.lo.u32 %r15, %r12, 1664525, %r13;\n  add.u32 %r15, %r15, %r14;\n"
    "  add.u32 %r15, %r15, %r2;\n  xor.b32 %r10, %r10, 1;\n  mad.lo.u32 %r11, %r10, %r5, %r4;\n"
    "  mul.wide.u32 %d2, %r11, 4;\n  add.u64 %d2, %d1, %d2;\n  st.global.u32 [%d2], %r15;\n" +
        meet(0) + "  add.u32 %r7, %r7, 1;\n  setp.lt.u32 %p0, %r7, %r6;\n  @%p0 bra loop;\n");

std::vector<std::uint32_t> steps_on_host(std::vector<std::uint32_t> data, std::uint32_t blocks,
                                         std::uint32_t threads, std::uint32_t steps) {
  const std::uint32_t all = blocks * threads;
  for (std::uint32_t step = 0; step < steps; ++step) {
    const std::uint32_t* from = data.data() + (step & 1) * all;
    std::uint32_t* to = data.data() + (~step & 1) * all;
    const auto value = [&](std::uint32_t block, std::uint32_t thread) {
      return from[(block * threads + thread + 37) % all];
    };
    for (std::uint32_t block = 0; block < blocks; ++block)
      for (std::uint32_t thread = 0; thread < threads; ++thread)
        to[block * threads + thread] = value(block, thread) * 1664525u +
                                       value(block, (thread + 1) % threads) +
                                       value(block, thread & ~31u) + block;
  }
  return data;
}

struct Shape {
  Dim3 grid, block;
};

class Cooperative : public testing::TestWithParam<Shape> {};

TEST_P(Cooperative, blocks_meet) {
  const auto& [grid, block] = GetParam();
  const std::uint32_t blocks = product(grid), threads = product(block), steps = 5;
  std::vector<std::uint32_t> data(std::size_t{2} * blocks * threads);
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<std::uint32_t>(i * 2654435761u);
  Module module = load(kSteps);
  Buffer memory = must(Buffer::create(test_device(), data.size() * 4));
  must(memory.upload(0, bytes_of(data)));
  auto launched =
      must(module.kernel("k")).launch(cooperative(grid, block), Args().buffer(memory).value(steps));
  ASSERT_TRUE(launched) << text_of(launched.error());
  EXPECT_EQ(read_buffer<std::uint32_t>(memory, data.size()),
            steps_on_host(data, blocks, threads, steps));
}

// Blocks of one warp, of parts of warps, of three dimensions, the largest ones, and so many threads
// that what they meet by exceeds a workgroup's shared memory.
constexpr Shape kShapes[] = {{{2, 1, 1}, {32, 1, 1}},   {{1, 1, 1}, {64, 1, 1}},
                             {{3, 2, 2}, {5, 4, 1}},    {{5, 1, 3}, {7, 3, 5}},
                             {{3, 1, 1}, {1024, 1, 1}}, {{50, 1, 1}, {256, 1, 1}}};

std::string shape_name(const testing::TestParamInfo<Shape>& shape) {
  return std::to_string(product(shape.param.grid)) + "_blocks_of_" +
         std::to_string(product(shape.param.block));
}

INSTANTIATE_TEST_SUITE_P(Shapes, Cooperative, testing::ValuesIn(kShapes), shape_name);

// The last block has its turn first. A thread of a block takes what those of its second warp, which
// end at once, have left in dynamic shared memory.
const std::string kTurns = kernel(
    ".param .u64 to",
    "  ld.param.u64 %d1, [to];\n  mov.u64 %d5, more;\n  mul.wide.u32 %d6, %r0, 4;\n"
    "  add.u64 %d6, %d5, %d6;\n  setp.ge.u32 %p0, %r0, 32;\n  @%p0 bra second;\n"
    "  bar.sync 1, 64;\n  ld.shared.u32 %r8, [%d6+128];\n  setp.ne.u32 %p1, %r0, 0;\n"
    "  @%p1 bra done;\n  sub.u32 %r9, %r3, %r2;\n  sub.u32 %r9, %r9, 1;\n"
    "turn:\n  ld.volatile.global.u32 %r10, [%d1];\n  setp.ne.u32 %p2, %r10, %r9;\n"
    "  @%p2 bra turn;\n  ld.volatile.global.u32 %r11, [%d1+4];\n"
    "  mad.lo.u32 %r11, %r11, 3, %r8;\n  st.volatile.global.u32 [%d1+4], %r11;\n  membar.gl;\n"
    "  add.u32 %r10, %r10, 1;\n  st.volatile.global.u32 [%d1], %r10;\n  bra done;\n"
    "second:\n  mad.lo.u32 %r8, %r2, 100, %r0;\n  st.shared.u32 [%d6], %r8;\n"
    "  bar.arrive 1, 64;\ndone:\n");

TEST(Cooperative, blocks_wait_for_later_ones) {
  constexpr std::uint32_t kBlocks = 9;
  Module module = load(kTurns);
  Buffer to = must(Buffer::create(test_device(), 16));
  must(to.upload(0, bytes_of(std::vector<std::uint32_t>(4))));
  LaunchConfig config = cooperative({kBlocks, 1, 1}, {64, 1, 1});
  config.dynamic_shared = 256;
  auto launched = must(module.kernel("k")).launch(config, Args().buffer(to));
  ASSERT_TRUE(launched) << text_of(launched.error());
  std::uint32_t sum = 0;
  for (std::uint32_t block = kBlocks; block-- > 0;) sum = sum * 3 + block * 100 + 32;
  EXPECT_EQ(read_buffer<std::uint32_t>(to, 2), (std::vector<std::uint32_t>{kBlocks, sum}));
}

// Each launch finds the workspace empty, whatever the one before has left there.
TEST(Cooperative, the_workspace_starts_at_zero) {
  Module module = load(kernel(
      ".param .u64 to, .param .u32 steps",
      "  ld.param.u64 %d1, [to];\n  setp.eq.u64 %p0, %d0, 0;\n  selp.u32 %r6, 1, 0, %p0;\n"
      "  st.global.u32 [%d1], %r6;\n  @%p0 bra done;\n  ld.volatile.global.u32 %r7, [%d0+4];\n"
      "  atom.global.max.u32 %r8, [%d1+4], %r7;\n" +
          meet(0) + "done:\n"));
  const Kernel kernel = must(module.kernel("k"));
  Buffer to = must(Buffer::create(test_device(), 16));
  const LaunchConfig config = cooperative({1, 1, 1}, {32, 1, 1});
  const Args args = Args().buffer(to).value(0u);
  const auto words = [&] { return read_buffer<std::uint32_t>(to, 2); };
  const std::vector<std::uint32_t> zeros(4), good = {0, 0}, none = {1, 0};
  must(to.upload(0, bytes_of(zeros)));
  for (int i = 0; i < 3; ++i) must(kernel.launch(config, args));
  EXPECT_EQ(words(), good);
  Graph graph = must(Graph::create(test_device()));
  for (int i = 0; i < 2; ++i) must(graph.add(kernel, config, args));
  Stream stream = must(Stream::create(test_device()));
  for (int i = 0; i < 3; ++i) must(stream.replay(graph));
  must(stream.synchronize());
  EXPECT_EQ(words(), good);
  // A launch of another kind has none.
  LaunchConfig plain = config;
  plain.cooperative = false;
  must(kernel.launch(plain, args));
  EXPECT_EQ(words(), none);
}

TEST(Cooperative, a_trap_names_its_block) {
  Module module = load(kernel(".param .u64 to, .param .u32 steps",
                              meet(0) +
                                  "  setp.eq.u32 %p0, %r4, 167;\n  @!%p0 bra done;\n  trap;\n"
                                  "done:\n" +
                                  meet(1)));
  Buffer to = must(Buffer::create(test_device(), 16));
  auto launched = must(module.kernel("k"))
                      .launch(cooperative({2, 2, 1}, {64, 1, 1}), Args().buffer(to).value(0u));
  ASSERT_FALSE(launched);
  ASSERT_TRUE(launched.error().trap) << launched.error().text;
  const TrapReport& report = *launched.error().trap;
  EXPECT_EQ(report.kind, abi::TrapKind::trap_instruction);
  EXPECT_EQ(report.cta[0], 0u);
  EXPECT_EQ(report.cta[1], 1u);
  EXPECT_EQ(report.thread[0], 39u);
}

// Of all checks those of addresses and of values stay where one workgroup runs the blocks.
TEST(Cooperative, is_checked) {
  std::string reports;
  DeviceOptions options;
  options.cache = false;
  options.checks = kAllChecks;
  options.report = [&reports](std::string_view text) { reports += text; };
  const Device device = must(Device::open(options));
  Module module = must(
      Module::load(device, ".version 8.3\n.target sm_80\n.address_size 64\n" + kSteps, "test.ptx"));
  constexpr std::uint32_t kBlocks = 4, kThreads = 64, kAll = kBlocks * kThreads;
  const auto launch = [&](std::uint32_t words) {
    std::vector<std::uint32_t> data(words, 7);
    Buffer memory = must(Buffer::create(device, data.size() * 4));
    must(memory.upload(0, bytes_of(data)));
    must(must(module.kernel("k"))
             .launch(cooperative({kBlocks, 1, 1}, {kThreads, 1, 1}),
                     Args().buffer(memory).value(2u)));
    if (words == 2 * kAll) {
      EXPECT_EQ(read_buffer<std::uint32_t>(memory, words),
                steps_on_host(data, kBlocks, kThreads, 2));
    }
  };
  launch(2 * kAll);
  const bool together = !device.info().profile.exactness.independent_threads;
  EXPECT_EQ(reports.find("launched cooperatively") != std::string::npos, together) << reports;
  EXPECT_EQ(reports.find("invalid"), std::string::npos) << reports;
  launch(2 * kAll - 1);
  EXPECT_NE(reports.find("block (3, 0, 0), thread (63, 0, 0)"), std::string::npos) << reports;
}

TEST(Cooperative, grids_that_are_too_large_are_refused) {
  Module module = load(kSteps);
  Buffer memory = must(Buffer::create(test_device(), 64));
  auto launched =
      must(module.kernel("k"))
          .launch(cooperative({65535, 1, 1}, {1024, 1, 1}), Args().buffer(memory).value(1u));
  ASSERT_FALSE(launched);
  EXPECT_EQ(launched.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(launched.error().text.find("launched cooperatively"), std::string::npos);
}

}  // namespace
}  // namespace ptx2spv
