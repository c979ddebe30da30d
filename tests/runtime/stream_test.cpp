#include <cstring>
#include <thread>

#include "src/array/buffer.hpp"
#include "src/executor/executor.hpp"
#include "src/executor/graph.hpp"
#include "src/module/module.hpp"
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
.visible .entry await(.param .u64 cell, .param .u32 value) {
  .reg .pred %p1;
  .reg .b32 %r<4>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [cell];
  ld.param.u32 %r1, [value];
again:
  ld.volatile.global.u32 %r2, [%rd1];
  setp.ne.u32 %p1, %r2, %r1;
  @%p1 bra again;
  add.u32 %r3, %r2, 1;
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

TEST_F(Streams, OnlyTimestampsOrderTheRecordingsOfOneEvent) {
  Stream other = must(Stream::create(test_device()));
  LaunchConfig config;
  config.repeat = 1000;
  for (const bool timed : {false, true}) {
    Event event = must(runtime::create_event(test_device(), timed));
    must(stream.launch(step, config, Args().buffer(cell).value(1u)));
    must(stream.record(event));
    must(other.record(event));
    const auto& before = other.state()->before_;
    EXPECT_EQ(std::ranges::count(before, stream.state()->last_value),
              timed && test_device().state()->traits.timestamp_bits);
    must(event.wait());
    EXPECT_EQ(event.since(event).ok(), timed && test_device().state()->traits.timestamp_bits);
    must(stream.synchronize());
    must(other.synchronize());
  }
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

// Three chains of four steps begin after a common one and meet in two: a barrier for each rank.
TEST_F(Streams, GraphsHaveBarriersWhereNodesComeAfterOthers) {
  Graph graph = must(Graph::create(test_device()));
  Buffer cells = must(Buffer::create(test_device(), 3 * 4));
  must(cells.fill(0, 12, 0));
  const auto add = [&](std::uint32_t chain, std::uint32_t value, std::vector<std::size_t> after) {
    const auto facts = must(
        runtime::gather_facts(*step.state(), {}, Args().buffer(cells, 4 * chain).value(value)));
    return must(graph.state()->add(facts, std::move(after)));
  };
  if (!add(0, 7, {})) GTEST_SKIP() << "the host runs the kernel";
  for (std::size_t rank = 0; rank < 4; ++rank)
    for (std::uint32_t chain = 0; chain < 3; ++chain)
      EXPECT_TRUE(add(chain, 10 * chain + static_cast<std::uint32_t>(rank),
                      {rank ? 3 * rank - 2 + chain : 0}));
  EXPECT_TRUE(add(1, 50, {10, 11, 12}));
  EXPECT_TRUE(add(2, 60, {12}));
  std::uint32_t expected[3] = {};
  for (int round = 0; round < 3; ++round) {
    must(stream.replay(graph));
    expected[0] = 3 * expected[0] + 7;
    for (std::uint32_t rank = 0; rank < 4; ++rank)
      for (std::uint32_t chain = 0; chain < 3; ++chain)
        expected[chain] = 3 * expected[chain] + 10 * chain + rank;
    expected[1] = 3 * expected[1] + 50;
    expected[2] = 3 * expected[2] + 60;
  }
  must(stream.synchronize());
  const auto values = read_buffer<std::uint32_t>(cells, 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(values[i], expected[i]) << i;
  EXPECT_EQ(graph.state()->barriers, 6u);
}

// A barrier holds up the kinds of commands alone that it was made for.
TEST_F(Streams, GraphsHaveBarriersWhereNodesAreOfAnotherKind) {
  Graph graph = must(Graph::create(test_device()));
  Buffer from = must(Buffer::create(test_device(), 64)),
         to = must(Buffer::create(test_device(), 64));
  must(from.fill(0, 64, 5));
  must(to.fill(0, 64, 0));
  runtime::GraphState& state = *graph.state();
  const auto add = [&](std::uint32_t at) {
    const auto facts =
        must(runtime::gather_facts(*step.state(), {}, Args().buffer(cell, at).value(7u)));
    return must(state.add(facts, {}));
  };
  if (!add(0)) GTEST_SKIP() << "the host runs the kernel";
  const auto copy = [&](std::uint64_t at) {
    const auto row = must(runtime::resolve_copy(*from.state(), at, *to.state(), {at, 16}));
    state.nodes.emplace_back(
        runtime::CopyNode{from.state(), to.state(), from.state()->offset + at, row});
    state.after.emplace_back();
  };
  copy(0);
  copy(16);
  EXPECT_TRUE(add(4));
  must(stream.replay(graph));
  must(stream.synchronize());
  EXPECT_EQ(state.barriers, 3u);
  EXPECT_EQ(read_buffer<std::uint32_t>(cell, 3), (std::vector<std::uint32_t>{7, 7, 0}));
  const auto copied = read_buffer<std::uint32_t>(to, 16);
  EXPECT_EQ(std::ranges::count(copied, 0x05050505u), 8) << "two copies of 16 bytes";
}

std::uint32_t g_submissions = 0;
PFN_vkQueueSubmit g_submit = nullptr;

// The signal of a launch that someone probably waits for is in its own submission.
TEST_F(Streams, AWaitAfterAWaitIsOneSubmission) {
  auto& submit = test_device().state()->vk.QueueSubmit;
  g_submit = submit;
  submit = [](VkQueue queue, std::uint32_t number, const VkSubmitInfo* infos, VkFence fence) {
    ++g_submissions;
    return g_submit(queue, number, infos, fence);
  };
  const auto rounds = [&] {
    for (int i = 0; i < 20; ++i) {
      must(stream.launch(step, {}, Args().buffer(cell).value(1u)));
      must(stream.synchronize());
    }
  };
  rounds();
  g_submissions = 0;
  rounds();
  submit = g_submit;
  EXPECT_EQ(g_submissions, 20u);
}

TEST_F(Streams, CopiesWithinAGpuAreOverSooner) {
  runtime::DeviceState& device = *test_device().state();
  const DeviceKind was = device.info.kind;
  const runtime::StreamState& state = *stream.state();
  constexpr std::uint64_t kBytes = 24 << 20;
  device.info.kind = DeviceKind::discrete;
  EXPECT_EQ(state.over_bus(kBytes, true), 1u << 20);
  EXPECT_EQ(state.over_bus(kBytes, false), kBytes);
  device.info.kind = DeviceKind::integrated;
  EXPECT_EQ(state.over_bus(kBytes, true), kBytes);
  device.info.kind = was;
}

// Each stream's step comes after the one before it, in whichever stream that is.
TEST_F(Streams, EventsOrderWorkOfSeveralStreams) {
  std::vector<Stream> streams;
  std::vector<Event> events;
  for (int i = 0; i < 9; ++i) {
    streams.push_back(must(Stream::create(test_device())));
    events.push_back(must(Event::create(test_device())));
  }
  std::uint32_t expected = 0;
  std::size_t last = streams.size();
  for (std::uint32_t i = 0; i < 200; ++i) {
    const std::size_t now = i * i % streams.size();
    if (last != streams.size()) must(streams[now].wait(events[last]));
    must(streams[now].launch(step, {}, Args().buffer(cell).value(i)));
    must(streams[now].record(events[now]));
    expected = expected * 3 + i;
    last = now;
  }
  // The wait is part of the stream's work, though nothing follows it.
  Stream other = must(Stream::create(test_device()));
  must(other.wait(events[last]));
  must(other.synchronize());
  EXPECT_TRUE(events[last].done());
  EXPECT_EQ(read_buffer<std::uint32_t>(cell, 1)[0], expected);
}

// What is no stream's comes after all that streams were given, and before what they are given
// later.
TEST_F(Streams, OtherWorkComesBetween) {
  std::vector<Stream> streams;
  std::vector<Buffer> cells;
  for (int i = 0; i < 4; ++i) {
    streams.push_back(must(Stream::create(test_device())));
    cells.push_back(must(Buffer::create(test_device(), 64)));
  }
  for (std::uint32_t round = 0; round < 20; ++round) {
    for (Buffer& each : cells) must(each.fill(0, 64, round));
    for (std::size_t i = 0; i < streams.size(); ++i) {
      must(streams[i].launch(step, {}, Args().buffer(cells[i]).value(5u)));
      must(streams[i].launch(step, {},
                             Args().buffer(cells[i]).value(static_cast<std::uint32_t>(i))));
    }
    must(step.launch({}, Args().buffer(cells[round % 4]).value(1u)));
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint32_t word = 0x01010101u * round, both = (word * 3 + 5) * 3 + i;
      EXPECT_EQ(read_buffer<std::uint32_t>(cells[i], 1)[0], i == round % 4 ? both * 3 + 1 : both);
    }
  }
}

// Streams share queues, where those that have nothing to do with each other need no barriers.
TEST_F(Streams, MoreOfThemThanQueues) {
  constexpr std::uint32_t kStreams = 24;
  std::vector<Stream> streams;
  std::vector<Buffer> cells;
  for (std::uint32_t i = 0; i < kStreams; ++i) {
    streams.push_back(must(Stream::create(test_device())));
    cells.push_back(must(Buffer::create(test_device(), 64)));
    must(cells[i].fill(0, 64, 0));
  }
  std::vector<std::uint32_t> expected(kStreams, 0);
  Event event = must(Event::create(test_device()));
  for (std::uint32_t round = 0; round < 60; ++round) {
    // One stream works at another's cell.
    const std::uint32_t from = round % kStreams, to = round * 7 % kStreams;
    for (std::uint32_t i = 0; i < kStreams; ++i) {
      must(streams[i].launch(step, {}, Args().buffer(cells[i]).value(round)));
      expected[i] = expected[i] * 3 + round;
    }
    must(streams[from].record(event));
    must(streams[to].wait(event));
    must(streams[to].launch(step, {}, Args().buffer(cells[from]).value(to)));
    must(streams[to].record(event));
    must(streams[from].wait(event));
    expected[from] = expected[from] * 3 + to;
  }
  for (std::uint32_t i = 0; i < kStreams; ++i)
    EXPECT_EQ(read_buffer<std::uint32_t>(cells[i], 1)[0], expected[i]) << i;
}

// Such a kernel has a queue to itself where it can, and all other work another from then on.
TEST_F(Streams, GoOnBesideAKernelThatMayWait) {
  Kernel await = must(module.kernel("await"));
  await.state()->tier.waits_for_others = true;
  std::vector<Stream> streams;
  std::vector<Buffer> cells;
  for (int i = 0; i < 3; ++i) {
    streams.push_back(must(Stream::create(test_device())));
    cells.push_back(must(Buffer::create(test_device(), 64)));
    must(cells[i].fill(0, 64, 0));
  }
  Event event = must(Event::create(test_device()));
  std::uint32_t expected[3] = {};
  std::thread([&] {
    runtime::let_launches_wait();
    for (std::uint32_t round = 0; round < 6; ++round) {
      for (std::uint32_t i = 0; i < 3; ++i) {
        must(streams[i].launch(step, {}, Args().buffer(cells[i]).value(round + i)));
        expected[i] = expected[i] * 3 + round + i;
      }
      const std::uint32_t now = round % 3, next = (round + 1) % 3;
      // What it waits for is there.
      must(streams[now].launch(await, {}, Args().buffer(cells[now]).value(expected[now])));
      must(streams[now].record(event));
      must(streams[next].wait(event));
      must(streams[next].launch(step, {}, Args().buffer(cells[now]).value(9u)));
      must(streams[next].record(event));
      must(streams[now].wait(event));
      expected[now] = (expected[now] + 1) * 3 + 9;
    }
  }).join();
  for (std::uint32_t i = 0; i < 3; ++i)
    EXPECT_EQ(read_buffer<std::uint32_t>(cells[i], 1)[0], expected[i]) << i;
}

// Copies of some size may have queues of their own.
TEST_F(Streams, LargeCopiesKeepTheirStreamsOrder) {
  constexpr std::uint64_t kBytes = 4 << 20;
  constexpr std::size_t kStreams = 3, kLast = kBytes / 4 - 1;
  struct Lane {
    Stream stream = must(Stream::create(test_device()));
    Buffer from = must(Buffer::create(test_device(), kBytes, BufferMemory::host)),
           at = must(Buffer::create(test_device(), kBytes)),
           to = must(Buffer::create(test_device(), kBytes, BufferMemory::host));
  };
  std::vector<Lane> lanes(kStreams);
  for (std::uint32_t round = 0; round < 6; ++round) {
    for (std::uint32_t i = 0; i < kStreams; ++i) {
      const std::vector<std::uint32_t> words(kBytes / 4, 100 * i + round);
      must(lanes[i].from.upload(0, bytes_of(words)));
    }
    for (std::uint32_t i = 0; i < kStreams; ++i) {
      Lane& lane = lanes[i];
      must(lane.stream.copy(lane.from, 0, lane.at, 0, kBytes));
      must(lane.stream.launch(step, {}, Args().buffer(lane.at).value(i)));
      must(lane.stream.copy(lane.at, 0, lane.to, 0, kBytes));
      // After the copy: it does not see this.
      must(lane.stream.fill(lane.at, 0, kBytes, 0));
    }
    for (std::uint32_t i = 0; i < kStreams; ++i) {
      must(lanes[i].stream.synchronize());
      std::uint32_t first = 0, last = 0;
      std::memcpy(&first, lanes[i].to.mapped(), 4);
      std::memcpy(&last, lanes[i].to.mapped() + 4 * kLast, 4);
      EXPECT_EQ(first, (100 * i + round) * 3 + i);
      EXPECT_EQ(last, 100 * i + round);
    }
  }
}

TEST_F(Streams, ReplaysInSeveralStreamsTakeTurns) {
  Graph graph = must(Graph::create(test_device()));
  for (std::uint32_t i = 0; i < 3; ++i) must(graph.add(step, {}, Args().buffer(cell).value(i)));
  std::vector<Stream> streams;
  for (int i = 0; i < 3; ++i) streams.push_back(must(Stream::create(test_device())));
  std::uint32_t expected = 0;
  for (std::uint32_t round = 0; round < 12; ++round) {
    must(streams[round % 3].replay(graph));
    must(streams[round % 3].launch(step, {}, Args().buffer(cell).value(round)));
    for (std::uint32_t i = 0; i < 3; ++i) expected = expected * 3 + i;
    expected = expected * 3 + round;
    Event event = must(Event::create(test_device()));
    must(streams[round % 3].record(event));
    must(streams[(round + 1) % 3].wait(event));
  }
  for (Stream& each : streams) must(each.synchronize());
  EXPECT_EQ(read_buffer<std::uint32_t>(cell, 1)[0], expected);
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
