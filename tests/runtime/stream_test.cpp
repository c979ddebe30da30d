#include <thread>

#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

// cell = 3 cell + value: the order of launches shows.
constexpr const char* kStep = R"(
.visible .entry step(.param .u64 cell, .param .u32 value) {
  .reg .b32 %r<4>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [cell];
  ld.param.u32 %r1, [value];
  ld.global.u32 %r2, [%rd1];
  mad.lo.u32 %r3, %r2, 3, %r1;
  st.global.u32 [%rd1], %r3;
  ret;
}
.visible .entry fail() {
  trap;
}
.visible .entry count(.param .u64 cell) {
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [cell];
  atom.global.add.u32 %r1, [%rd1], 1;
  ret;
}
)";

struct Streams : testing::Test {
  Module module = load(kStep);
  Kernel step = must(module.kernel("step")), fail = must(module.kernel("fail")),
         count = must(module.kernel("count"));
  Stream stream = must(Stream::create(test_device()));
  Buffer cell = must(Buffer::create(test_device(), 64));
  void SetUp() override { must(cell.fill(0, 64, 0)); }
};

TEST_F(Streams, WorkIsDoneInOrder) {
  std::uint32_t expected = 7;
  std::vector<std::uint32_t> start{7}, middle(1), end(1);
  must(stream.upload(cell, 0, bytes_of(start)));
  for (std::uint32_t i = 0; i < 300; ++i) {
    must(stream.launch(step, {}, Args().buffer(cell).value(i)));
    expected = expected * 3 + i;
    if (i == 149) must(stream.copy(cell, 0, cell, 32, 4));
    if (i == 149) middle[0] = expected;
  }
  must(stream.download(cell, 0, writable(end)));
  must(stream.synchronize());
  EXPECT_EQ(end[0], expected);
  EXPECT_EQ(read_buffer<std::uint32_t>(cell, 1, 32)[0], middle[0]);
  EXPECT_TRUE(stream.idle());
}

TEST_F(Streams, ATrapIsReturnedByTheNextSynchronize) {
  must(stream.launch(step, {}, Args().buffer(cell).value(1u)));
  must(stream.launch(fail, {}, {}));
  must(stream.launch(step, {}, Args().buffer(cell).value(1u)));
  Status status = stream.synchronize();
  ASSERT_FALSE(status);
  ASSERT_EQ(status.error().code, ErrorCode::trap);
  EXPECT_EQ(status.error().trap->kind, abi::TrapKind::trap_instruction);
  EXPECT_EQ(status.error().trap->kernel, "fail");
  must(stream.synchronize());
  EXPECT_EQ(read_buffer<std::uint32_t>(cell, 1)[0], 4u);
  // Another stream does not see it.
  Stream other = must(Stream::create(test_device()));
  must(stream.launch(fail, {}, {}));
  must(other.launch(step, {}, Args().buffer(cell).value(0u)));
  must(other.synchronize());
  EXPECT_FALSE(stream.synchronize());
}

TEST_F(Streams, EventsTakeTheTime) {
  Event first = must(Event::create(test_device())), second = must(Event::create(test_device()));
  EXPECT_FALSE(first.recorded());
  EXPECT_FALSE(second.since(first));
  must(stream.record(first));
  LaunchConfig config;
  config.repeat = 20;
  must(stream.launch(step, config, Args().buffer(cell).value(1u)));
  must(stream.record(second));
  must(second.wait());
  EXPECT_TRUE(first.done());
  EXPECT_GT(must(second.since(first)), 0.0);
  must(stream.synchronize());
}

TEST_F(Streams, GraphReplaysWhatWasRecorded) {
  Graph graph = must(Graph::create(test_device()));
  for (std::uint32_t i = 0; i < 5; ++i) must(graph.add(step, {}, Args().buffer(cell).value(i)));
  must(graph.add_copy(cell, 0, cell, 16, 4));
  EXPECT_EQ(graph.size(), 6u);
  std::uint32_t expected = 0;
  for (int round = 0; round < 50; ++round) {
    must(stream.replay(graph));
    for (std::uint32_t i = 0; i < 5; ++i) expected = expected * 3 + i;
  }
  must(stream.synchronize());
  EXPECT_EQ(read_buffer<std::uint32_t>(cell, 1, 16)[0], expected);
  must(graph.add(fail, {}, {}));
  for (int round = 0; round < 2; ++round) {
    must(stream.replay(graph));
    Status status = stream.synchronize();
    ASSERT_FALSE(status) << round;
    EXPECT_EQ(status.error().trap->trapped_threads, 1u);
  }
}

TEST_F(Streams, ThreadsMayShareOneStream) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) must(stream.launch(count, {}, Args().buffer(cell)));
      must(stream.synchronize());
    });
  for (auto& each : threads) each.join();
  EXPECT_EQ(read_buffer<std::uint32_t>(cell, 1)[0], 200u);
}

TEST_F(Streams, ThreadsMayLaunchAndAllocateAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Buffer own = must(Buffer::create(test_device(), 4096));
      must(own.fill(0, 4096, 0));
      for (std::uint32_t i = 0; i < 20; ++i) {
        LaunchConfig config;
        config.block = {1 + static_cast<std::uint32_t>(t), 1, 1};
        must(count.launch(config, Args().buffer(own)));
        Buffer passing = must(Buffer::create(test_device(), 1000 * (i + 1)));
      }
      EXPECT_EQ(read_buffer<std::uint32_t>(own, 1)[0], 20u * (1 + static_cast<std::uint32_t>(t)));
    });
  for (auto& each : threads) each.join();
}

// First launches translate and build pipelines side by side, surfaces come and go, graphs and
// events are shared.
TEST_F(Streams, ThreadsMayTranslateReplayAndDestroyAtOnce) {
  Module fresh = load(R"(
.visible .entry mark(.param .u64 surface, .param .u64 cell) {
  .reg .b32 %r<2>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [surface];
  ld.param.u64 %rd2, [cell];
  mov.u32 %r0, 3;
  sust.b.1d.b32.trap [%rd1, {0}], %r0;
  atom.global.add.u32 %r1, [%rd2], 1;
  ret;
}
)");
  Graph graph = must(Graph::create(test_device()));
  must(graph.add(count, {}, Args().buffer(cell)));
  Event event = must(Event::create(test_device()));
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Kernel mark = must(fresh.kernel("mark"));
      Stream own = must(Stream::create(test_device()));
      for (std::uint32_t i = 0; i < 10; ++i) {
        ArrayDesc desc;
        desc.geometry = Geometry::d1;
        desc.width = 4;
        Array array = must(Array::create(test_device(), desc));
        {
          Surface surface = must(Surface::create(array));
          LaunchConfig config;
          config.threads = i % 2 ? ThreadModel::flat : ThreadModel::direct;
          must(own.launch(mark, config, Args().surface(surface).buffer(cell)));
          must(own.replay(graph));
          must(own.record(event));
          must(event.wait());
        }
        must(own.synchronize());
        EXPECT_EQ(read_array<std::uint32_t>(array)[0], 3u) << t;
      }
    });
  for (auto& each : threads) each.join();
  EXPECT_EQ(read_buffer<std::uint32_t>(cell, 1)[0], 80u);
  EXPECT_TRUE(event.done());
}

constexpr const char* kByHandle = R"(
.visible .entry by_handle(.param .u64 place) {
  .reg .b32 %r<2>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [place];
  ld.global.u64 %rd2, [%rd1];
  mov.u32 %r0, 77;
  sust.b.1d.b32.trap [%rd2, {4}], %r0;
  ret;
}
.global .surfref out;
.visible .entry by_reference() {
  .reg .b32 %r<2>;
  mov.u32 %r0, 5;
  sust.b.1d.b32.trap [out, {0}], %r0;
  ret;
}
)";

// A graph's launches look handles in memory up when they are replayed, wherever the surfaces lie.
TEST_F(Streams, GraphSeesSurfacesThatWereMadeAfterIt) {
  Module by_handle = load(kByHandle);
  Buffer place = must(Buffer::create(test_device(), 8));
  must(place.fill(0, 8, 0));
  Graph graph = must(Graph::create(test_device()));
  must(graph.add(must(by_handle.kernel("by_handle")), {}, Args().buffer(place)));
  must(stream.replay(graph));
  Status dead = stream.synchronize();
  ASSERT_FALSE(dead);
  EXPECT_EQ(dead.error().trap->kind, abi::TrapKind::dead_handle);
  for (ArrayBacking backing : {ArrayBacking::linear, ArrayBacking::image}) {
    ArrayDesc desc;
    desc.geometry = Geometry::d1;
    desc.width = 4;
    desc.backing = backing;
    Array array = must(Array::create(test_device(), desc));
    must(array.fill(0));
    Surface surface = must(Surface::create(array));
    std::vector<std::uint64_t> handle{surface.handle()};
    must(place.upload(0, bytes_of(handle)));
    for (int round = 0; round < 2; ++round) {
      must(stream.replay(graph));
      must(stream.synchronize());
    }
    EXPECT_EQ(read_array<std::uint32_t>(array), (std::vector<std::uint32_t>{0, 77, 0, 0}));
  }
  // The last one is gone.
  must(stream.replay(graph));
  dead = stream.synchronize();
  ASSERT_FALSE(dead);
  EXPECT_EQ(dead.error().trap->kind, abi::TrapKind::dead_handle);
}

TEST_F(Streams, GraphKeepsTheSurfrefThatWasBoundWhenTheLaunchWasAdded) {
  Module by_reference = load(kByHandle);
  ArrayDesc desc;
  desc.geometry = Geometry::d1;
  desc.width = 1;
  Array first = must(Array::create(test_device(), desc)),
        second = must(Array::create(test_device(), desc));
  must(first.fill(0));
  must(second.fill(0));
  must(by_reference.bind_surface("out", must(Surface::create(first))));
  Graph graph = must(Graph::create(test_device()));
  must(graph.add(must(by_reference.kernel("by_reference")), {}, {}));
  must(by_reference.bind_surface("out", must(Surface::create(second))));
  must(stream.replay(graph));
  must(stream.synchronize());
  EXPECT_EQ(read_array<std::uint32_t>(first)[0], 5u);
  EXPECT_EQ(read_array<std::uint32_t>(second)[0], 0u);
}

// A trap of a replay that nobody has waited for is not lost when the graph changes.
TEST_F(Streams, TrapOfAReplayOutlivesAChangeOfTheGraph) {
  Graph graph = must(Graph::create(test_device()));
  must(graph.add(fail, {}, {}));
  must(stream.replay(graph));
  must(test_device().synchronize());
  must(graph.add(count, {}, Args().buffer(cell)));
  Stream other = must(Stream::create(test_device()));
  must(other.replay(graph));
  EXPECT_FALSE(stream.synchronize());
  EXPECT_FALSE(other.synchronize()) << "it failed again";
}

}  // namespace
}  // namespace ptx2spv
