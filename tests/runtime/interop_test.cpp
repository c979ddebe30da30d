// An application's own Vulkan beside the runtime, under validation with synchronisation checks.
#include <unistd.h>
#include <vulkan/vulkan_core.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <regex>
#include <thread>

#include "ptx2spv/vulkan.hpp"
#include "src/array/peer_copy.hpp"
#include "src/array/shared_memory.hpp"
#include "tests/runtime/application.hpp"
#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

Module kernels(const Device& device) {
  return must(Module::load(device, R"(.version 8.3
.target sm_80
.address_size 64
.visible .entry bump(.param .u64 data) {
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [data];
  mov.u32 %r1, %tid.x;
  mad.wide.u32 %rd2, %r1, 4, %rd1;
  ld.global.u32 %r2, [%rd2];
  add.u32 %r3, %r2, 1;
  st.global.u32 [%rd2], %r3;
  ret;
}
.visible .entry paint(.param .u64 surface, .param .u32 row) {
  .reg .b32 %r<5>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [surface];
  ld.param.u32 %r3, [row];
  mov.u32 %r1, %tid.x;
  shl.b32 %r2, %r1, 2;
  add.u32 %r4, %r1, 100;
  sust.b.2d.b32.trap [%rd1, {%r2, %r3}], %r4;
  ret;
}
.visible .entry follow(.param .u64 cell) {
  .reg .b32 %r<2>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [cell];
  ld.global.u64 %rd2, [%rd1];
  mov.u32 %r1, 0;
  sust.b.2d.b32.trap [%rd2, {%r1, %r1}], %r1;
  ret;
}
.visible .entry look(.param .u64 texture, .param .u64 data) {
  .reg .b32 %r<5>;
  .reg .b64 %rd<3>;
  .reg .f32 %f<3>;
  ld.param.u64 %rd1, [texture];
  ld.param.u64 %rd2, [data];
  mov.f32 %f1, 0f00000000;
  tex.2d.v4.u32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%f1, %f1}];
  st.global.u32 [%rd2], %r1;
  ret;
}
)",
                           "interop.ptx"));
}

LaunchConfig threads(std::uint32_t count) {
  LaunchConfig config;
  config.block = {count, 1, 1};
  return config;
}

struct Interop : testing::Test {
  Application application{test_device()};
  Device device = application.adopt();
  Module module = kernels(device);
  Kernel bump = must(module.kernel("bump")), paint = must(module.kernel("paint"));
  Stream stream = must(Stream::create(device));
  Buffer counters = must(Buffer::create(device, 64));
  void SetUp() override { must(counters.fill(0, 64, 0, 4)); }
  Args bump_args() const { return Args().buffer(counters); }
  std::vector<std::uint32_t> counted() const { return read_buffer<std::uint32_t>(counters, 16); }
  static std::vector<std::uint32_t> all(std::uint32_t value) {
    return std::vector<std::uint32_t>(16, value);
  }
};

TEST_F(Interop, adopt_names_every_feature_that_was_not_enabled) {
  Application bare(test_device(), Application::Features::timeline_alone);
  auto refused = vulkan::adopt(bare.handles());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::no_device);
  const std::string text = refused.error().text;
  EXPECT_NE(text.find("bufferDeviceAddress (or disable 'device_addresses')"), text.npos) << text;
  EXPECT_EQ(text.find("shaderInt64 (or disable 'int64')") != text.npos,
            test_device().info().profile.features.int64)
      << text;
  EXPECT_EQ(text.find("timelineSemaphore"), text.npos) << text;
  // What the message says is enough.
  DeviceOptions options;
  options.cache = false;
  options.executor = ExecutorPolicy::device;  // the host reaches memory by addresses alone
  const std::regex name("disable '([a-z0-9_]+)'");
  for (auto each = std::sregex_iterator(text.begin(), text.end(), name);
       each != std::sregex_iterator(); ++each)
    options.disable.push_back((*each)[1]);
  Device adopted = must(vulkan::adopt(bare.handles(), options));
  Module loaded = kernels(adopted);
  Buffer cells = must(Buffer::create(adopted, 64));
  must(cells.fill(0, 64, 4, 4));
  must(must(loaded.kernel("bump")).launch(threads(16), Args().buffer(cells)));
  EXPECT_EQ(read_buffer<std::uint32_t>(cells, 16), all(5));
}

TEST_F(Interop, adopt_refuses_a_device_without_timeline_semaphores) {
  Application bare(test_device(), Application::Features::none);
  auto refused = vulkan::adopt(bare.handles());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("created without timelineSemaphore,"), std::string::npos)
      << refused.error().text;
}

TEST_F(Interop, adopt_reads_the_structs_of_vulkan_versions) {
  if (test_device().info().api_version < VK_API_VERSION_1_3)
    GTEST_SKIP() << "the device has no Vulkan 1.3, whose struct is asked for";
  Application gathered(test_device(), Application::Features::gathered);
  Device adopted = must(vulkan::adopt(gathered.handles()));
  EXPECT_EQ(adopted.profile().features.int64, test_device().profile().features.int64);
}

TEST_F(Interop, a_stream_waits_for_a_timeline_and_signals_it) {
  VkSemaphore timeline = application.semaphore(true);
  const vulkan::SemaphoreValue first{timeline, 1}, second{timeline, 2};
  must(vulkan::wait(stream, {&first, 1}));
  must(stream.launch(bump, threads(16), bump_args()));
  must(vulkan::signal(stream, {&second, 1}));
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(stream.idle());
  EXPECT_EQ(application.reached(timeline), 0u);
  application.signal(timeline, 1);
  application.wait(timeline, 2);
  EXPECT_EQ(counted(), all(1));
  must(stream.synchronize());
  EXPECT_TRUE(stream.idle());
}

TEST_F(Interop, earlier_work_does_not_wait_for_a_semaphore_that_a_later_wait_is_for) {
  VkSemaphore timeline = application.semaphore(true);
  const vulkan::SemaphoreValue first{timeline, 1};
  Stream earlier = must(Stream::create(device));
  must(earlier.launch(bump, threads(16), bump_args()));
  must(vulkan::wait(stream, {&first, 1}));
  auto ended = std::async(std::launch::async, [&] { return earlier.synchronize(); });
  EXPECT_EQ(ended.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_FALSE(stream.idle());
  application.signal(timeline, 1);
  must(ended.get());
  must(stream.synchronize());
  EXPECT_EQ(counted(), all(1));
}

TEST_F(Interop, binary_semaphores_order_a_stream_and_the_applications_commands) {
  const vulkan::SemaphoreValue done{application.semaphore(false)},
      filled{application.semaphore(false)};
  const vulkan::BufferRange range = vulkan::buffer_of(counters);
  must(stream.launch(bump, threads(16), bump_args()));
  must(vulkan::signal(stream, {&done, 1}));
  // The application overwrites what the kernel wrote, and the next launch sees that.
  VkCommandBuffer commands = application.begin();
  application.vk.CmdFillBuffer(commands, range.buffer, range.offset, range.bytes, 40);
  application.submit(commands, done.semaphore, filled.semaphore);
  must(vulkan::wait(stream, {&filled, 1}));
  must(stream.launch(bump, threads(16), bump_args()));
  must(stream.synchronize());
  EXPECT_EQ(counted(), all(41));
}

TEST_F(Interop, a_null_semaphore_is_refused) {
  const vulkan::SemaphoreValue none;
  EXPECT_EQ(vulkan::wait(stream, {&none, 1}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(vulkan::signal(stream, {&none, 1}).error().code, ErrorCode::invalid_argument);
}

TEST_F(Interop, a_recorded_launch_runs_with_each_submission) {
  vulkan::Recording recording = must(vulkan::Recording::create(device));
  const vulkan::BufferRange range = vulkan::buffer_of(counters);
  VkCommandBuffer commands = application.begin();
  // No barrier of the application's own: the recording has them.
  application.vk.CmdFillBuffer(commands, range.buffer, range.offset, range.bytes / 2, 7);
  must(recording.launch(commands, bump, threads(16), bump_args()));
  must(recording.launch(commands, bump, threads(16), bump_args()));
  application.vk.CmdFillBuffer(commands, range.buffer, range.offset, 4, 1000);
  application.end(commands);
  for (int i = 0; i < 3; ++i) application.run(commands);
  must(recording.check());
  auto expected = all(6);
  std::fill(expected.begin(), expected.begin() + 8, 9u);
  expected[0] = 1000;
  EXPECT_EQ(counted(), expected);
}

TEST_F(Interop, a_recorded_launch_keeps_its_pipeline) {
  std::optional<test::DebugSettings> one("pipelines=1");
  vulkan::Recording recording = must(vulkan::Recording::create(device));
  VkCommandBuffer commands = application.begin();
  must(recording.launch(commands, bump, threads(16), bump_args()));
  application.end(commands);
  for (std::uint32_t count = 1; count <= 8; ++count) must(bump.launch(threads(count), bump_args()));
  one.reset();
  application.run(commands);
  must(recording.check());
  auto expected = all(1);
  for (std::uint32_t i = 0; i < 8; ++i) expected[i] = 9 - i;
  EXPECT_EQ(counted(), expected);
}

TEST_F(Interop, a_recorded_launch_reports_its_trap_once_an_execution) {
  ArrayDesc desc;
  desc.width = 16;
  desc.height = 2;
  desc.name = "canvas";
  Array array = must(Array::create(device, desc));
  Surface surface = must(Surface::create(array));
  vulkan::Recording recording = must(vulkan::Recording::create(device));
  VkCommandBuffer commands = application.begin();
  Args args;
  args.surface(surface).value(2u);
  must(recording.launch(commands, paint, threads(16), args));
  application.end(commands);
  must(recording.check());
  for (int i = 0; i < 2; ++i) {
    application.run(commands);
    const Status trapped = recording.check();
    ASSERT_FALSE(trapped);
    ASSERT_EQ(trapped.error().code, ErrorCode::trap);
    EXPECT_EQ(trapped.error().trap->surface, "canvas");
    EXPECT_EQ(trapped.error().trap->trapped_threads, 16u);
    must(recording.check());
  }
}

TEST_F(Interop, arrays_stay_where_a_recording_has_them) {
  ArrayDesc desc;
  desc.width = 16;
  desc.height = 2;
  Array array = must(Array::create(device, desc));
  Surface surface = must(Surface::create(array));
  Texture texture = must(Texture::create(array, TextureDesc()));
  Kernel look = must(module.kernel("look"));
  LaunchConfig config = threads(1);
  config.filter = FilterPolicy::device;
  const Args look_args = Args().texture(texture).buffer(counters);
  VkCommandBuffer commands = application.begin();
  {
    vulkan::Recording recording = must(vulkan::Recording::create(device));
    must(recording.launch(commands, paint, threads(16), Args().surface(surface).value(0u)));
    application.end(commands);
    const bool before = array.image_backed();
    must(look.launch(config, look_args));
    EXPECT_EQ(array.image_backed(), before);
    application.run(commands);
    must(recording.check());
  }
  must(look.launch(config, look_args));
  EXPECT_EQ(counted()[0], 100u);
}

TEST_F(Interop, a_recording_refuses_what_it_cannot_keep_true) {
  vulkan::Recording recording = must(vulkan::Recording::create(device));
  VkCommandBuffer commands = application.begin();
  Kernel follow = must(module.kernel("follow"));
  const Status handles = recording.launch(commands, follow, threads(1), bump_args());
  ASSERT_FALSE(handles);
  EXPECT_EQ(handles.error().code, ErrorCode::unsupported);
  EXPECT_NE(handles.error().text.find("handles out of memory"), std::string::npos);
  LaunchConfig checked = threads(16);
  checked.checks = check_memory;
  EXPECT_EQ(recording.launch(commands, bump, checked, bump_args()).error().code,
            ErrorCode::unsupported);
  EXPECT_EQ(recording.launch(VK_NULL_HANDLE, bump, threads(16), bump_args()).error().code,
            ErrorCode::invalid_argument);
  Kernel other = must(kernels(test_device()).kernel("bump"));
  EXPECT_EQ(recording.launch(commands, other, threads(16), bump_args()).error().code,
            ErrorCode::invalid_argument);
  application.end(commands);
}

TEST_F(Interop, an_image_of_the_application_takes_what_a_kernel_stores) {
  ArrayDesc desc;
  desc.width = 16;
  desc.height = 2;
  const VkImage image = application.image(16, 2);
  Array array = must(vulkan::import(device, vulkan::ImageHandle{image, VK_FORMAT_R32_UINT}, desc));
  Surface surface = must(Surface::create(array));
  must(stream.launch(paint, threads(16), Args().surface(surface).value(1u)));
  const vulkan::SemaphoreValue done{application.semaphore(false)};
  must(vulkan::signal(stream, {&done, 1}));
  // The image stays in VK_IMAGE_LAYOUT_GENERAL, and no barrier is due behind the semaphore.
  VkCommandBuffer commands = application.begin();
  const vulkan::BufferRange range = vulkan::buffer_of(counters);
  VkBufferImageCopy copy{};
  copy.bufferOffset = range.offset;
  copy.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
  copy.imageOffset = {0, 1, 0};
  copy.imageExtent = {16, 1, 1};
  application.vk.CmdCopyImageToBuffer(commands, image, VK_IMAGE_LAYOUT_GENERAL, range.buffer, 1,
                                      &copy);
  application.submit(commands, done.semaphore, VK_NULL_HANDLE);
  application.finish();
  for (std::uint32_t i = 0; i < 16; ++i) EXPECT_EQ(counted()[i], 100 + i);
}

/// Skips a test where the device shares no memory; its name is in the reason.
#define PTX2SPV_EXPORTABLE(name, device)                                  \
  auto name##_made = vulkan::create_exportable(device, 64);               \
  if (!name##_made && name##_made.error().code == ErrorCode::unsupported) \
    GTEST_SKIP() << name##_made.error().text;                             \
  Buffer name = must(std::move(name##_made))

TEST_F(Interop, another_device_sees_memory_by_its_descriptor) {
  PTX2SPV_EXPORTABLE(shared, device);
  must(shared.fill(0, 64, 20, 4));
  const vulkan::MemoryDescriptor descriptor = must(vulkan::export_memory(shared));
  Buffer there = must(vulkan::import_memory(test_device(), descriptor, 0, 64));
  Kernel other = must(kernels(test_device()).kernel("bump"));
  must(other.launch(threads(16), Args().buffer(there)));
  EXPECT_EQ(read_buffer<std::uint32_t>(shared, 16), all(21));
  must(bump.launch(threads(16), Args().buffer(shared)));
  EXPECT_EQ(read_buffer<std::uint32_t>(there, 16), all(22));
}

// As CUDA programs register them: from the middle of a page on.
TEST_F(Interop, pages_of_the_process_are_a_buffer) {
  Device owner = test_device();
  if (!runtime::imports_pages(*owner.state()))
    GTEST_SKIP() << owner.info().name << " has no " << VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
  std::vector<std::uint32_t> words(5000, 7);
  std::byte* memory = reinterpret_cast<std::byte*>(&words[3]);
  Kernel add = must(kernels(owner).kernel("bump"));
  {
    Buffer pages = must(runtime::import_pages(owner, memory, 4 * 4900));
    must(add.launch(threads(16), Args().buffer(pages)));
    EXPECT_EQ(std::vector(words.begin() + 3, words.begin() + 19), all(8));
    words[3] = 20;
    must(add.launch(threads(1), Args().buffer(pages)));
    EXPECT_EQ(read_buffer<std::uint32_t>(pages, 2), (std::vector<std::uint32_t>{21, 8}));
    must(pages.fill(4 * 4899, 4, 9, 4));
  }
  EXPECT_EQ(words[2], 7u);
  EXPECT_EQ(words[19], 7u);
  EXPECT_EQ(words[3 + 4899], 9u);
  EXPECT_EQ(words[3 + 4900], 7u);
}

TEST_F(Interop, devices_copy_to_each_other_by_pages_of_the_process) {
  Device other = test_device();
  if (!runtime::imports_pages(*device.state()) || !runtime::imports_pages(*other.state()))
    GTEST_SKIP() << other.info().name << " has no " << VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
  Buffer out = must(runtime::peer_pages(device)), in = must(runtime::peer_pages(other));
  // In less than a piece of 8 MiB, one, and several with a rest.
  for (const std::size_t words : {1u, 2u << 20, (5u << 20) + 3}) {
    std::vector<std::uint32_t> sent(words);
    for (std::size_t i = 0; i < words; ++i) sent[i] = static_cast<std::uint32_t>(i * 2654435761u);
    Buffer from = must(Buffer::create(device, 4 * words + 8));
    Buffer to = must(Buffer::create(other, 4 * words + 8));
    must(from.upload(4, std::as_bytes(std::span(sent))));
    must(to.fill(0, 4 * words + 8, 1, 4));
    const std::uint64_t bytes = 4 * words, piece = runtime::kPeerPiece;
    must(runtime::copy_by_pages(
        out, in, (bytes + piece - 1) / piece,
        [&](Buffer& pages, std::uint64_t at, std::size_t number) {
          const std::uint64_t first = number * piece;
          return pages.copy_from(from, 4 + first, at, std::min(piece, bytes - first));
        },
        [&](Buffer& pages, std::uint64_t at, std::size_t number) {
          const std::uint64_t first = number * piece;
          return to.copy_from(pages, at, 4 + first, std::min(piece, bytes - first));
        }));
    const auto got = read_buffer<std::uint32_t>(to, words + 2);
    EXPECT_EQ(got.front(), 1u);
    EXPECT_EQ(got.back(), 1u);
    EXPECT_TRUE(std::equal(sent.begin(), sent.end(), got.begin() + 1)) << words;
  }
}

/// What the other process does, which finds the descriptor in its environment.
TEST(InteropChild, BumpsSharedMemory) {
  const char* text = std::getenv("PTX2SPV_TEST_DESCRIPTOR");
  if (!text) GTEST_SKIP() << "another_process_sees_memory_by_its_descriptor starts this";
  vulkan::MemoryDescriptor descriptor;
  unsigned long long bytes = 0;
  int dedicated = 0;
  ASSERT_EQ(std::sscanf(text, "%d %llu %u %d", &descriptor.fd, &bytes, &descriptor.memory_type,
                        &dedicated),
            4);
  descriptor.bytes = bytes;
  descriptor.dedicated = dedicated;
  Buffer shared = must(vulkan::import_memory(test_device(), descriptor, 0, 64));
  Kernel bump = must(kernels(test_device()).kernel("bump"));
  must(bump.launch(threads(16), Args().buffer(shared)));
}

TEST_F(Interop, another_process_sees_memory_by_its_descriptor) {
  PTX2SPV_EXPORTABLE(shared, device);
  must(shared.fill(0, 64, 30, 4));
  const vulkan::MemoryDescriptor descriptor = must(vulkan::export_memory(shared));
  run_child("InteropChild.BumpsSharedMemory",
            std::to_string(descriptor.fd) + " " + std::to_string(descriptor.bytes) + " " +
                std::to_string(descriptor.memory_type) + " " + std::to_string(descriptor.dedicated),
            {descriptor.fd});
  EXPECT_EQ(read_buffer<std::uint32_t>(shared, 16), all(31));
}

TEST_F(Interop, wrong_descriptors_are_refused) {
  EXPECT_EQ(vulkan::export_memory(counters).error().code, ErrorCode::invalid_argument);
  PTX2SPV_EXPORTABLE(shared, device);
  vulkan::MemoryDescriptor descriptor = must(vulkan::export_memory(shared));
  const auto code = [&](const vulkan::MemoryDescriptor& given, std::uint64_t offset,
                        std::uint64_t bytes) {
    return vulkan::import_memory(device, given, offset, bytes).error().code;
  };
  EXPECT_EQ(code(descriptor, 0, descriptor.bytes + 1), ErrorCode::invalid_argument);
  EXPECT_EQ(code(descriptor, 2, 8), ErrorCode::invalid_argument);
  vulkan::MemoryDescriptor wrong = descriptor;
  wrong.memory_type = 99;
  EXPECT_EQ(code(wrong, 0, 64), ErrorCode::invalid_argument);
  wrong.fd = -1;
  EXPECT_EQ(code(wrong, 0, 64), ErrorCode::invalid_argument);
  // The descriptor is still the caller's.
  EXPECT_EQ(::close(descriptor.fd), 0);
}

}  // namespace
}  // namespace ptx2spv
