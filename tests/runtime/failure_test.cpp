// What happens when the driver gives up or memory runs out. The failures are the driver's own
// answers, put in its place in the runtime's table of functions.
#include <errno.h>  // program_invocation_name
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include "src/device/device.hpp"
#include "src/module/module.hpp"
#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAnswer = R"(.version 8.3
.target sm_80
.address_size 64
.visible .entry answer(.param .u64 cell) {
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [cell];
  st.global.u32 [%rd1], 42;
  ret;
}
.visible .entry count(.param .u64 cell) {
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [cell];
  ld.global.u32 %r1, [%rd1];
  add.u32 %r1, %r1, 1;
  st.global.u32 [%rd1], %r1;
  ret;
}
.visible .entry shared(.param .u64 cell) {
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  .shared .b32 word;
  ld.param.u64 %rd1, [cell];
  st.shared.u32 [word], 7;
  bar.sync 0;
  ld.shared.u32 %r1, [word];
  st.global.u32 [%rd1], %r1;
  ret;
}
)";

PFN_vkWaitSemaphores g_wait = nullptr;

VKAPI_ATTR VkResult VKAPI_CALL submit_lost(VkQueue, std::uint32_t, const VkSubmitInfo*, VkFence) {
  return VK_ERROR_DEVICE_LOST;
}
PFN_vkQueueSubmit g_submit = nullptr;
std::atomic<int> g_submissions{0};
/// As slow as that: the queue waits the longer for launches that follow.
VKAPI_ATTR VkResult VKAPI_CALL submit_slowly(VkQueue queue, std::uint32_t count,
                                             const VkSubmitInfo* submits, VkFence fence) {
  ++g_submissions;
  std::this_thread::sleep_for(std::chrono::microseconds(300));
  return g_submit(queue, count, submits, fence);
}
std::atomic<bool> g_submits{true};
VKAPI_ATTR VkResult VKAPI_CALL submit_once(VkQueue queue, std::uint32_t count,
                                           const VkSubmitInfo* submits, VkFence fence) {
  if (!submits->commandBufferCount) return g_submit(queue, count, submits, fence);  // a signal
  return g_submits.exchange(false) ? submit_slowly(queue, count, submits, fence)
                                   : VK_ERROR_OUT_OF_DEVICE_MEMORY;
}
VKAPI_ATTR VkResult VKAPI_CALL wait_lost(VkDevice device, const VkSemaphoreWaitInfo* info,
                                         std::uint64_t timeout) {
  g_wait(device, info, timeout);  // the real work has to be over before its objects go
  return VK_ERROR_DEVICE_LOST;
}
VKAPI_ATTR VkResult VKAPI_CALL counter_stands(VkDevice, VkSemaphore, std::uint64_t* value) {
  *value = 0;
  return VK_SUCCESS;
}
VKAPI_ATTR VkResult VKAPI_CALL allocate_nothing(VkDevice, const VkMemoryAllocateInfo*,
                                                const VkAllocationCallbacks*, VkDeviceMemory*) {
  return VK_ERROR_OUT_OF_DEVICE_MEMORY;
}
VKAPI_ATTR VkResult VKAPI_CALL no_pipelines(VkDevice, VkPipelineCache, std::uint32_t count,
                                            const VkComputePipelineCreateInfo*,
                                            const VkAllocationCallbacks*, VkPipeline* pipelines) {
  std::fill(pipelines, pipelines + count, VkPipeline(VK_NULL_HANDLE));
  return VK_ERROR_OUT_OF_HOST_MEMORY;
}
VKAPI_ATTR VkResult VKAPI_CALL no_command_buffers(VkDevice, const VkCommandBufferAllocateInfo*,
                                                  VkCommandBuffer*) {
  return VK_ERROR_OUT_OF_HOST_MEMORY;
}

/// A device of its own, since it will not survive.
struct Failure : testing::Test {
  static Device open(const fs::path& cache = {}) {
    DeviceOptions options;
    options.cache = !cache.empty();
    options.cache_directory = cache.string();
    options.validation = false;
    return device_by(ExecutorPolicy::device, options);
  }
  Device device = open();
  runtime::DeviceFunctions& vk = device.state()->vk;
  Module module = must(Module::load(device, kAnswer, "answer.ptx"));
  Kernel kernel = must(module.kernel("answer"));
  Buffer cell = must(Buffer::create(device, 64));

  /// Work of a device that is really lost is over; here what the driver was given still runs.
  void TearDown() override { EXPECT_EQ(vk.DeviceWaitIdle(device.state()->handle), VK_SUCCESS); }

  static void expect_code(const Status& status, ErrorCode code, const char* what) {
    ASSERT_FALSE(status) << what;
    EXPECT_EQ(status.error().code, code) << what << ": " << status.error().text;
    EXPECT_FALSE(status.error().text.empty()) << what;
  }
  template <class T>
  static void expect_code(const Result<T>& result, ErrorCode code, const char* what) {
    expect_code(result ? Status() : Status(result.error()), code, what);
  }
  /// Everything that would use the device says that it is lost.
  void expect_lost() {
    std::vector<std::uint32_t> words(16);
    expect_code(kernel.launch({}, Args().buffer(cell)), ErrorCode::device_lost, "launch");
    expect_code(cell.upload(0, bytes_of(words)), ErrorCode::device_lost, "upload");
    expect_code(cell.download(0, writable(words)), ErrorCode::device_lost, "download");
    expect_code(cell.fill(0, 64, 1), ErrorCode::device_lost, "fill");
    expect_code(device.synchronize(), ErrorCode::device_lost, "synchronize");
    Stream stream = must(Stream::create(device));
    expect_code(stream.launch(kernel, {}, Args().buffer(cell)), ErrorCode::device_lost, "stream");
    Graph graph = must(Graph::create(device));
    must(graph.add(kernel, {}, Args().buffer(cell)));
    expect_code(stream.replay(graph), ErrorCode::device_lost, "graph");
  }
};

TEST_F(Failure, DeviceLostAtSubmissionStaysLost) {
  must(kernel.launch({}, Args().buffer(cell)));
  auto submit = vk.QueueSubmit;
  vk.QueueSubmit = submit_lost;
  expect_code(kernel.launch({}, Args().buffer(cell)), ErrorCode::device_lost, "first");
  vk.QueueSubmit = submit;  // a lost device does not come back
  expect_lost();
  // A new one does the work.
  Device again = open();
  Module other = must(Module::load(again, kAnswer, "answer.ptx"));
  Buffer fresh = must(Buffer::create(again, 64));
  must(must(other.kernel("answer")).launch({}, Args().buffer(fresh)));
  EXPECT_EQ(read_buffer<std::uint32_t>(fresh, 1)[0], 42u);
}

TEST_F(Failure, DeviceLostWhileWorkIsRunning) {
  Stream stream = must(Stream::create(device));
  Event event = must(Event::create(device));
  std::vector<std::uint32_t> words(1, 99);
  must(kernel.prepare({}, Args().buffer(cell)));
  g_wait = vk.WaitSemaphores;
  vk.GetSemaphoreCounterValue = counter_stands;
  vk.WaitSemaphores = wait_lost;
  must(stream.launch(kernel, {}, Args().buffer(cell)));
  must(stream.download(cell, 0, writable(words)));
  must(stream.record(event));
  expect_code(event.wait(), ErrorCode::device_lost, "event");
  expect_code(stream.synchronize(), ErrorCode::device_lost, "stream");
  EXPECT_EQ(words[0], 99u) << "a download of a lost device must not be handed out";
  EXPECT_TRUE(stream.idle()) << "nothing of a lost device runs any more";
  expect_lost();
}

TEST_F(Failure, DeviceLostIsSeenByEveryThread) {
  Stream stream = must(Stream::create(device));
  std::atomic<int> lost{0}, other{0};
  std::vector<std::thread> threads;
  must(kernel.prepare({}, Args().buffer(cell)));
  vk.QueueSubmit = submit_lost;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        Status status = stream.launch(kernel, {}, Args().buffer(cell));
        ++(!status && status.error().code == ErrorCode::device_lost ? lost : other);
      }
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(lost, 80);
  EXPECT_EQ(other, 0);
}

/// Launches that follow one another closely, of a kernel that is known to be short.
struct Together : Failure {
  Kernel count = must(module.kernel("count"));
  Stream stream = must(Stream::create(device));
  void SetUp() override {
    // The first launch compiles, and a busy machine holds others up: what follows may be late.
    const auto& time = count.state()->tier.time_of(1);
    const auto is_short = [&] { return time.known() > 0 && time.known() < 300; };
    for (int i = 0; i < 1000 && !is_short(); ++i) must(count.launch({}, Args().buffer(cell)));
    ASSERT_TRUE(is_short()) << time.known() << "microseconds; submissions are shared up to 1000";
    must(cell.upload(0, bytes_of(std::vector<std::uint32_t>(16))));
    for (int i = 0; i < 3; ++i) must(count.launch({}, Args().buffer(cell)));
    g_submit = vk.QueueSubmit;
    vk.QueueSubmit = submit_slowly;
  }
  void launch(int times) {
    for (int i = 0; i < times; ++i) must(stream.launch(count, {}, Args().buffer(cell)));
  }
  void takes_100_us() {
    for (int i = 0; i < 5; ++i) count.state()->tier.time_of(1).note(100);
  }
};

TEST_F(Together, LaunchesShareSubmissionsInTheirOrder) {
  launch(1);
  must(stream.synchronize());
  g_submissions = 0;
  launch(300);
  must(stream.synchronize());
  EXPECT_EQ(read_buffer<std::uint32_t>(cell, 1)[0], 304u);
  EXPECT_LT(g_submissions, 200);
}

VKAPI_ATTR VkResult VKAPI_CALL submit_counted(VkQueue queue, std::uint32_t count,
                                              const VkSubmitInfo* submits, VkFence fence) {
  ++g_submissions;
  return g_submit(queue, count, submits, fence);
}

TEST_F(Together, ADeviceWithNothingToDoIsGivenWhatSomeoneProbablyWaitsFor) {
  device.state()->queue.set_polls(true);
  for (int i = 0; i < 10; ++i) {
    launch(1);
    must(stream.synchronize());
    g_submissions = 0;
    launch(1);
    EXPECT_EQ(g_submissions, 1);
    must(stream.synchronize());
    EXPECT_EQ(g_submissions, 1);
  }
}

TEST_F(Together, ADeviceWithNothingToDoIsGivenWhatTakesLonger) {
  runtime::Queue& queue = device.state()->queue;
  queue.set_polls(true);
  launch(1);
  must(stream.synchronize());
  for (int i = 0; i < 10; ++i) {
    g_submissions = 0;
    takes_100_us();
    launch(1);
    EXPECT_EQ(g_submissions, 1);
    while (!queue.reached(queue.submitted())) std::this_thread::yield();
  }
}

TEST_F(Together, ADeviceWithNothingToDoIsGivenWhatIsWorthASubmission) {
  using Microseconds = std::chrono::duration<double, std::micro>;
  runtime::Queue& queue = device.state()->queue;
  queue.set_polls(true);
  vk.QueueSubmit = submit_counted;
  launch(1);
  must(stream.synchronize());
  launch(1);                // the one that somebody probably waits for
  Microseconds longest{0};  // what submissions take counts for later ones, too
  for (int i = 0; i < 30; ++i) {
    while (!queue.reached(queue.submitted())) std::this_thread::yield();
    int launches = 0;
    for (g_submissions = 0; !g_submissions && launches < 1000; ++launches) {
      for (int k = 0; k < 5; ++k) count.state()->tier.time_of(1).note(24);
      const auto start = std::chrono::steady_clock::now();
      launch(1);
      longest = std::max<Microseconds>(longest, std::chrono::steady_clock::now() - start);
    }
    // What earlier ones took counts less each time, and may have been long.
    if (i < 20) continue;
    EXPECT_LE(launches, 2 * longest.count() / 24 + 2) << longest.count();
  }
  must(stream.synchronize());
}

TEST_F(Together, AnEventIsSubmittedWithWhatItTimes) {
  using namespace std::chrono_literals;
  Event event = must(Event::create(device));
  device.state()->queue.set_polls(true);
  vk.QueueSubmit = submit_counted;
  int judged = 0;
  for (int i = 0; i < 1000 && judged < 10; ++i) {
    launch(1);
    must(stream.synchronize());
    g_submissions = 0;
    const auto start = std::chrono::steady_clock::now();
    must(stream.record(event));
    const int alone = g_submissions;
    launch(1);
    const int both = g_submissions;
    // Left alone, it is submitted after 100 microseconds.
    const bool quick = std::chrono::steady_clock::now() - start < 90us;
    must(stream.synchronize());
    if (!quick) continue;
    ++judged;
    EXPECT_EQ(alone, 0);
    EXPECT_EQ(both, 1);
  }
  if (judged == 0) GTEST_SKIP() << "a recording and a launch took 90 microseconds, 1,000 times";
}

TEST_F(Together, ABusyDeviceIsGivenMoreAtATime) {
  device.state()->queue.set_polls(true);
  vk.QueueSubmit = submit_counted;
  launch(1);
  const auto counter = vk.GetSemaphoreCounterValue;
  vk.GetSemaphoreCounterValue = counter_stands;
  takes_100_us();
  g_submissions = 0;
  const auto start = std::chrono::steady_clock::now();
  launch(200);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  EXPECT_LE(g_submissions, took.count() / 80 + 1);
  vk.GetSemaphoreCounterValue = counter;
  must(stream.synchronize());
  EXPECT_EQ(read_buffer<std::uint32_t>(cell, 1)[0], 204u);
}

TEST_F(Together, LaunchesAreSubmittedAtOnceWhereNoThreadCanSeeToThem) {
  pthread_attr_t usual, huge;
  ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(pthread_attr_init(&huge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, std::size_t{1} << 47), 0);
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  EXPECT_THROW(std::thread([] {}).join(), std::system_error);
  g_submissions = 0;
  launch(10);
  EXPECT_GE(g_submissions, 10);
  EXPECT_EQ(pthread_setattr_default_np(&usual), 0);
  must(stream.synchronize());
  EXPECT_EQ(read_buffer<std::uint32_t>(cell, 1)[0], 13u);
}

TEST_F(Together, NobodyNeedsToWaitForALaunchToBegin) {
  launch(10);
  runtime::Queue& queue = device.state()->queue;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!queue.reached(queue.submitted()) && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(queue.reached(queue.submitted()));
}

TEST_F(Together, EventsAndQueriesSubmitWhatIsBeforeThem) {
  Event event = must(Event::create(device));
  for (int round = 0; round < 20; ++round) {
    launch(2);
    must(stream.record(event));
    launch(1);
    must(event.wait());
    launch(1);
    while (!stream.idle()) std::this_thread::yield();
  }
  EXPECT_EQ(read_buffer<std::uint32_t>(cell, 1)[0], 83u);
}

TEST_F(Together, TheDeviceIsLostWithLaunchesThatCannotBeSubmitted) {
  vk.QueueSubmit = submit_once;
  // The second launch is submitted later, unless this thread is too slow: then it fails alone.
  bool late = false;
  for (int attempt = 0; attempt < 1000 && !late; ++attempt) {
    g_submits = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    launch(1);
    late = stream.launch(count, {}, Args().buffer(cell)).ok();
  }
  EXPECT_TRUE(late);
  EXPECT_FALSE(stream.synchronize());
  vk.QueueSubmit = g_submit;
  expect_lost();
}

TEST_F(Together, ALostDeviceTakesNoLaunchThatIsSubmittedLater) {
  launch(1);
  vk.QueueSubmit = submit_lost;
  EXPECT_FALSE(stream.synchronize() && count.launch({}, Args().buffer(cell)));
  vk.QueueSubmit = g_submit;
  for (int i = 0; i < 100; ++i)
    expect_code(stream.launch(count, {}, Args().buffer(cell)), ErrorCode::device_lost, "launch");
}

int g_allocations = 0;
PFN_vkAllocateMemory g_allocate = nullptr;

VKAPI_ATTR VkResult VKAPI_CALL allocate_counted(VkDevice handle, const VkMemoryAllocateInfo* info,
                                                const VkAllocationCallbacks* callbacks,
                                                VkDeviceMemory* memory) {
  ++g_allocations;
  return g_allocate(handle, info, callbacks, memory);
}
VKAPI_ATTR VkResult VKAPI_CALL allocate_once_freed(VkDevice handle,
                                                   const VkMemoryAllocateInfo* info,
                                                   const VkAllocationCallbacks* callbacks,
                                                   VkDeviceMemory* memory) {
  // There is memory for one large range.
  if (info->allocationSize > 32 << 20 && g_allocations++ == 0) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  return g_allocate(handle, info, callbacks, memory);
}

TEST_F(Failure, LargeRangesThatWereFreedAreKeptForLaterOnes) {
  constexpr std::uint64_t kMiB = 1 << 20;
  device.state()->heap.keep_freed(100 * kMiB);
  g_allocate = vk.AllocateMemory;
  vk.AllocateMemory = allocate_counted;
  const DeviceStatistics before = device.statistics();
  std::uint64_t address = 0;
  {
    const Buffer first = must(Buffer::create(device, 64 * kMiB));
    address = first.address();
  }
  EXPECT_EQ(device.statistics().memory_used, before.memory_used) << "it counts as free";
  EXPECT_EQ(device.statistics().memory_bytes, before.memory_bytes + 64 * kMiB);
  const Buffer small = must(Buffer::create(device, 20 * kMiB));
  EXPECT_TRUE(small.address() < address || small.address() >= address + 64 * kMiB)
      << "it is not cut up for what is much smaller";
  const std::uint64_t others = device.statistics().memory_bytes - 64 * kMiB;
  {
    g_allocations = 0;
    const Buffer again = must(Buffer::create(device, 60 * kMiB));
    EXPECT_EQ(again.address(), address);
    EXPECT_EQ(g_allocations, 0);
    // Both are more than is kept: the one that was freed first goes.
    (void)must(Buffer::create(device, 70 * kMiB));
  }
  EXPECT_EQ(device.statistics().memory_bytes, others + 64 * kMiB);
  // Memory is for others, if there is no more.
  vk.AllocateMemory = allocate_once_freed;
  g_allocations = 0;
  const Buffer large = must(Buffer::create(device, 80 * kMiB));
  EXPECT_EQ(device.statistics().memory_bytes, others + 80 * kMiB);
  vk.AllocateMemory = g_allocate;
}

TEST_F(Failure, OutOfDeviceMemoryIsAnErrorAndNoMore) {
  auto allocate = vk.AllocateMemory;
  const DeviceStatistics before = device.statistics();
  vk.AllocateMemory = allocate_nothing;
  expect_code(Buffer::create(device, 256 << 20), ErrorCode::out_of_memory, "buffer");
  ArrayDesc desc;
  desc.width = desc.height = 8192;
  expect_code(Array::create(device, desc), ErrorCode::out_of_memory, "array");
  desc.backing = ArrayBacking::image;
  expect_code(Array::create(device, desc), ErrorCode::out_of_memory, "image");
  vk.AllocateMemory = allocate;
  const DeviceStatistics after = device.statistics();
  EXPECT_EQ(after.memory_bytes, before.memory_bytes);
  EXPECT_EQ(after.memory_used, before.memory_used);
  must(kernel.launch({}, Args().buffer(cell)));
  EXPECT_EQ(read_buffer<std::uint32_t>(cell, 1)[0], 42u);
  Array array = must(Array::create(device, desc));
}

TEST_F(Failure, OutOfMemoryInALaunchLeavesTheStreamUsable) {
  Kernel shared = must(module.kernel("shared"));
  auto pipelines = vk.CreateComputePipelines;
  vk.CreateComputePipelines = no_pipelines;
  expect_code(shared.launch({}, Args().buffer(cell)), ErrorCode::out_of_memory, "pipeline");
  vk.CreateComputePipelines = pipelines;
  Stream stream = must(Stream::create(device));
  auto commands = vk.AllocateCommandBuffers;
  vk.AllocateCommandBuffers = no_command_buffers;
  expect_code(stream.launch(shared, {}, Args().buffer(cell)), ErrorCode::out_of_memory, "commands");
  vk.AllocateCommandBuffers = commands;
  must(stream.launch(shared, {}, Args().buffer(cell)));
  must(stream.synchronize());
  EXPECT_EQ(read_buffer<std::uint32_t>(cell, 1)[0], 7u);
}

/// How this program was started, without its arguments: a dynamic linker may stand before it.
std::string this_program() {
  std::ifstream file("/proc/self/cmdline");
  std::string words;
  for (std::string word; std::getline(file, word, '\0');) {
    words += "'" + word + "' ";
    if (word == program_invocation_name) break;
  }
  return words;
}

TEST(Drivers, BrokenManifestsLeaveTheOtherDrivers) {
  const fs::path file =
      fs::temp_directory_path() / ("ptx2spv-icd-" + std::to_string(::getpid()) + ".json");
  // The loader reads its variable when the instance is made, so a process of its own asks.
  const std::string self = this_program();
  for (const char* text : {"", "{ not json", R"({"ICD": {"library_path": "/nowhere/lib.so"}})"}) {
    std::ofstream(file, std::ios::trunc) << text;
    const std::string command =
        "VK_DRIVER_FILES=" + file.string() + " VK_ICD_FILENAMES=" + file.string() +
        " PTX2SPV_DEVICE=swiftshader PTX2SPV_VALIDATION=0 " + self +
        " --gtest_filter=Failure.OutOfMemoryInALaunchLeavesTheStreamUsable >/dev/null 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << "SwiftShader has to work beside: " << text;
  }
  fs::remove(file);
}

}  // namespace
}  // namespace ptx2spv
