// Modules that come and go, and ever other block sizes, leave nothing behind: neither with us nor
// with a CPU driver, whose memory is this process's. PTX2SPV_EXHAUSTIVE=1 takes 10,000 turns.
#include <malloc.h>

#include <cstdlib>
#include <numeric>

#include "src/module/module.hpp"
#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

constexpr const char* kModule = R"(.version 8.3
.target sm_80
.address_size 64
.visible .entry k(.param .u64 cell, .param .u64 surface) {
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [cell];
  ld.param.u64 %rd2, [surface];
  st.global.u32 [%rd1], 42;
  sust.b.1d.b32.trap [%rd2, {0}], 43;
  ret;
}
)";

Device unvalidated_device() {
  DeviceOptions options;
  options.validation = false;  // the layer keeps notes of all objects
  options.cache = false;
  return must(Device::open(options));
}

std::int64_t bytes_in_use() {
  const struct mallinfo2 now = mallinfo2();
  return static_cast<std::int64_t>(now.uordblks + now.hblkhd);
}

TEST(Cycles, a_module_that_comes_again_costs_no_memory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers replace the allocator that counts the bytes";
#endif
  Device device = unvalidated_device();
  if (device.info().kind != DeviceKind::cpu)
    GTEST_SKIP() << "the driver of a GPU keeps what it likes";
  const Buffer cell = must(Buffer::create(device, 4));
  ArrayDesc desc;
  desc.geometry = Geometry::d1;
  desc.format = abi::SurfaceFormat::u32;
  desc.width = 16;
  const Array array = must(Array::create(device, desc));
  const Surface surface = must(Surface::create(array));
  const auto turn = [&] {
    const Module module = must(Module::load(device, kModule, "cycle.ptx"));
    const Kernel kernel = must(module.kernel("k"));
    must(kernel.launch({}, Args().buffer(cell).surface(surface)));
  };
  // What grows to a bound does so here: descriptor sets, free lists.
  for (int i = 0; i < 600; ++i) turn();
  const std::int64_t before = bytes_in_use();
  const std::size_t layouts = device.state()->layouts.size();
  constexpr int kTurns = 200;
  for (int i = 0; i < kTurns; ++i) turn();
  EXPECT_EQ(device.state()->layouts.size(), layouts);
  // SwiftShader took 12,000 bytes for each when each module had pipeline layouts of its own.
  EXPECT_LT(bytes_in_use() - before, 1024 * kTurns);
  EXPECT_EQ(read_buffer<std::uint32_t>(cell, 1), (std::vector<std::uint32_t>{42}));
}

TEST(Cycles, unused_layouts_are_kept_up_to_a_number) {
  using namespace runtime;
  Device device = unvalidated_device();
  Layouts& layouts = device.state()->layouts;
  const auto with = [&](std::uint32_t binding) {
    LayoutContents contents;
    contents.sets[1].push_back({binding, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER});
    contents.push_bytes = 16;
    return must(layouts.get(*device.state(), contents));
  };
  const auto held = with(0);
  for (std::uint32_t i = 1; i < 3 * Layouts::kKept; ++i) {
    with(i % 512);
    EXPECT_LE(layouts.size(), Layouts::kKept);
  }
  EXPECT_EQ(with(0), held) << "a layout in use is destroyed";
}

// Each thread adds 1 to its word, and the first the number of threads to the word behind them.
constexpr const char* kCount = R"(.version 8.3
.target sm_80
.address_size 64
.visible .entry count(.param .u64 out) {
  .reg .pred %p;
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ntid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd3, %rd1, %rd2;
  red.global.add.u32 [%rd3], 1;
  setp.eq.u32 %p, %r1, 0;
  @%p red.global.add.u32 [%rd1+1024], %r2;
  ret;
}
)";

/// The setting pipelines while it lives.
struct Keeps : test::DebugSettings {
  explicit Keeps(std::size_t number) : DebugSettings("pipelines=" + std::to_string(number)) {}
};

struct Counted {
  explicit Counted(const Device& device)
      : module(must(Module::load(device, kCount, "count.ptx"))),
        kernel(must(module.kernel("count"))),
        out(must(Buffer::create(device, 1028))) {
    must(out.fill(0, 1028, 0));
  }
  LaunchConfig config(std::uint32_t threads) const {
    LaunchConfig config;
    config.block = {threads, 1, 1};
    return config;
  }
  Args args() const { return Args().buffer(out); }
  /// Words of threads, and the sum of the blocks' sizes.
  std::vector<std::uint32_t> words() const { return read_buffer<std::uint32_t>(out, 257); }
  std::size_t variants() const { return kernel.state()->variants.size(); }
  std::size_t pipelines() const { return kernel.state()->pipelines.size(); }

  Module module;
  Kernel kernel;
  Buffer out;
};

TEST(Cycles, pipelines_are_kept_up_to_a_number) {
  const Keeps kept(4);
  const Device device = device_by(ExecutorPolicy::device);
  Counted it(device);
  const auto made = [&] { return device.statistics().pipelines; };
  std::uint64_t before = made();
  for (std::uint32_t threads = 1; threads <= 24; ++threads) {
    must(it.kernel.launch(it.config(threads), it.args()));
    EXPECT_LE(it.variants(), 4u);
    EXPECT_LE(it.pipelines(), 4u);
  }
  EXPECT_EQ(made() - before, 24u);
  before = made();
  for (int i = 0; i < 3; ++i)
    for (std::uint32_t threads = 21; threads <= 24; ++threads)
      must(it.kernel.launch(it.config(threads), it.args()));
  EXPECT_EQ(made(), before) << "the four that were used last are there";
  must(it.kernel.launch(it.config(21), it.args()));
  must(it.kernel.launch(it.config(1), it.args()));  // in the place of 22
  must(it.kernel.launch(it.config(21), it.args()));
  EXPECT_EQ(made() - before, 1u);
  must(it.kernel.launch(it.config(22), it.args()));
  EXPECT_EQ(made() - before, 2u);
  const std::vector<std::uint32_t> words = it.words();
  const std::uint32_t launched = 24 * 25 / 2 + 3 * (21 + 22 + 23 + 24) + 21 + 1 + 21 + 22;
  EXPECT_EQ(words[256], launched);
  EXPECT_EQ(std::accumulate(words.begin(), words.begin() + 256, 0u), launched);
}

TEST(Cycles, sizes_of_shared_memory_count_as_block_sizes_do) {
  const Keeps kept(4);
  Counted it(test_device());
  for (std::uint32_t words = 1; words <= 12; ++words) {
    LaunchConfig config = it.config(8);
    config.dynamic_shared = words * 4;
    must(it.kernel.launch(config, it.args()));
    EXPECT_LE(it.pipelines(), 4u);
  }
  EXPECT_EQ(it.words()[256], 12u * 8);
}

// What waits in a stream, and what a graph or a recording will run again, keeps its pipeline
// alive: the validation layer looks on.
TEST(Cycles, what_a_launch_needs_outlives_its_place) {
  const Keeps kept(1);
  const Device& device = test_device();
  Counted it(device);
  Graph graph = must(Graph::create(device));
  must(graph.add(it.kernel, it.config(33), it.args()));
  must(graph.add(it.kernel, it.config(34), it.args()));
  Stream stream = must(Stream::create(device));
  std::uint32_t launched = 0;
  for (std::uint32_t threads = 1; threads <= 32; ++threads) {
    must(stream.launch(it.kernel, it.config(threads), it.args()));
    if (threads % 8 == 0) must(stream.replay(graph));
    launched += threads + (threads % 8 == 0 ? 33 + 34 : 0);
    EXPECT_EQ(it.pipelines(), 1u);
  }
  must(stream.synchronize());
  EXPECT_EQ(it.words()[256], launched);
}

TEST(Cycles, a_pipeline_cache_that_has_grown_is_made_anew) {
  using runtime::PipelineCache;
  const Device device = unvalidated_device();
  runtime::DeviceState& state = *device.state();
  const auto before = state.pipeline_cache.current();
  ASSERT_TRUE(before && before->handle);
  state.pipeline_cache.grown(state, PipelineCache::kMostCode / 2);
  EXPECT_EQ(state.pipeline_cache.current(), before);
  state.pipeline_cache.grown(state, PipelineCache::kMostCode / 2);
  if (device.info().kind == DeviceKind::cpu)
    EXPECT_NE(state.pipeline_cache.current(), before) << "a CPU driver does not say what it holds";
  else
    EXPECT_EQ(state.pipeline_cache.current(), before) << "it holds next to nothing";
  Counted it(device);
  must(it.kernel.launch(it.config(16), it.args()));
  EXPECT_EQ(it.words()[256], 16u);
}

TEST(Cycles, other_modules_and_block_sizes_cost_a_bounded_amount) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers replace the allocator that counts the bytes";
#endif
  const Device device = unvalidated_device();
  if (device.info().name.find("SwiftShader") == std::string::npos)
    GTEST_SKIP() << "only SwiftShader gives all of a pipeline's memory back";
  const bool all = std::getenv("PTX2SPV_EXHAUSTIVE") != nullptr;
  const std::uint32_t turns = all ? 10'000 : 100;
  const Keeps kept(all ? runtime::KernelState::kKept : 32);
  runtime::DeviceState& state = *device.state();
  Counted it(device);
  std::uint32_t number = 0, sum = 0;
  const auto turn = [&] {
    std::string text = kCount;
    text.replace(text.find(", 1;"), 4, ", " + std::to_string(++number) + ";");
    const Module module = must(Module::load(device, text, "cycle.ptx"));
    LaunchConfig config = it.config(1 + number % 128);
    must(must(module.kernel("count")).launch(config, it.args()));
    config.dynamic_shared = number / 128 * 4;
    must(it.kernel.launch(config, it.args()));
    sum += 2 * config.block.x;
  };
  // A share of the turns that fill a cache; 10,000 do it several times over.
  const auto cycle = [&] {
    for (std::uint32_t i = 0; i < turns; ++i) turn();
    if (!all) state.pipeline_cache.grown(state, runtime::PipelineCache::kMostCode);
    return bytes_in_use();
  };
  cycle();
  const std::int64_t before = cycle();
  const std::int64_t after = cycle();
  // 13 KiB a pipeline when both kept them all.
  EXPECT_LT(after - before, 2 * 1024 * static_cast<std::int64_t>(turns));
  EXPECT_EQ(it.words()[256], sum);
}

}  // namespace
}  // namespace ptx2spv
