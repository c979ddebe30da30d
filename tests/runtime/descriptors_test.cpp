// Images and semaphores by file descriptors: another device of this process, and another process.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <numeric>

#include "ptx2spv/vulkan.h"
#include "ptx2spv/vulkan.hpp"
#include "tests/runtime/application.hpp"
#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

constexpr std::uint32_t kRepeat = 5000;

#define OK(call) ASSERT_EQ(call, PTX2SPV_OK) << ptx2spv_last_error_details()

constexpr const char* kText = R"(.version 8.3
.target sm_80
.address_size 64
.visible .entry add(.param .u64 surface, .param .u32 amount) {
  .reg .b32 %r<5>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [surface];
  ld.param.u32 %r3, [amount];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  shl.b32 %r1, %r1, 2;
  suld.b.2d.b32.trap %r4, [%rd1, {%r1, %r2}];
  add.u32 %r4, %r4, %r3;
  sust.b.2d.b32.trap [%rd1, {%r1, %r2}], %r4;
  ret;
}
)";

Module kernels(const Device& device) {
  return must(Module::load(device, kText, "descriptors.ptx"));
}

LaunchConfig whole(std::uint32_t repeat = 1) {
  LaunchConfig config;
  config.grid = {3, 1, 1};
  config.block = {16, 1, 1};
  config.repeat = repeat;
  return config;
}

ArrayDesc picture() {
  ArrayDesc desc;
  desc.width = 16;
  desc.height = 3;
  return desc;
}

void fill(Array& array, std::uint32_t value) {
  const std::vector<std::uint32_t> texels(48, value);
  must(array.upload(std::as_bytes(std::span(texels))));
}

/// What a child needs to import memory, as one word.
std::string word_of(const vulkan::MemoryDescriptor& memory) {
  return fmt::format("{},{},{},{}", memory.fd, memory.bytes, memory.memory_type,
                     int{memory.dedicated});
}

/// The whole numbers in an environment variable.
std::vector<std::uint64_t> numbers(const char* text) {
  std::vector<std::uint64_t> all;
  for (char* end = nullptr; *text; text = *end ? end + 1 : end)
    all.push_back(std::strtoull(text, &end, 10));
  return all;
}

struct Descriptors : testing::Test {
  Application application{test_device()};
  Device device = application.adopt();
  Module module = kernels(device);
  Kernel add = must(module.kernel("add"));
  Stream stream = must(Stream::create(device));
};

/// Skips a test where the device shares no such thing; its name is in the reason.
#define PTX2SPV_SHARED(type, object, call)                                                      \
  auto object##_made = call;                                                                    \
  if (!object##_made && object##_made.error().code == ErrorCode::unsupported) {                 \
    EXPECT_EQ(object##_made.error().text.rfind(test_device().info().name + " has no ", 0), 0u); \
    GTEST_SKIP() << object##_made.error().text;                                                 \
  }                                                                                             \
  type object = must(std::move(object##_made))

/// Another device imports the image, of every geometry, and finds and leaves its texels.
TEST_F(Descriptors, another_device_has_the_texels_of_an_image) {
  struct {
    Geometry geometry;
    abi::SurfaceFormat format;
    std::uint32_t channels, width, height, depth, layers, levels;
  } const forms[] = {
      {Geometry::d1, abi::SurfaceFormat::u32, 1, 33, 1, 1, 1, 1},
      {Geometry::d2, abi::SurfaceFormat::u8, 4, 37, 21, 1, 1, 1},
      {Geometry::d2, abi::SurfaceFormat::f32, 4, 16, 16, 1, 1, 5},
      {Geometry::d2, abi::SurfaceFormat::u16, 4, 19, 5, 1, 1, 1},
      {Geometry::d3, abi::SurfaceFormat::u32, 1, 9, 7, 5, 1, 1},
      {Geometry::a1d, abi::SurfaceFormat::u8, 1, 65, 1, 1, 3, 1},
      {Geometry::a2d, abi::SurfaceFormat::f16, 2, 12, 12, 1, 6, 2},
  };
  for (const auto& form : forms) {
    ArrayDesc desc;
    desc.geometry = form.geometry;
    desc.format = form.format;
    desc.channels = form.channels;
    desc.width = form.width;
    desc.height = form.height;
    desc.depth = form.depth;
    desc.layers = form.layers;
    desc.levels = form.levels;
    SCOPED_TRACE(fmt::format("{} {} channels, {} bytes a texel", to_string(form.geometry),
                             form.channels, desc.texel_bytes()));
    PTX2SPV_SHARED(Array, here, vulkan::create_exportable(device, desc));
    EXPECT_TRUE(here.image_backed());
    std::vector<std::vector<std::uint8_t>> texels;
    for (std::uint32_t level = 0; level < form.levels; ++level) {
      texels.emplace_back(here.bytes(level));
      std::iota(texels.back().begin(), texels.back().end(), std::uint8_t(form.width + level));
      must(here.upload(std::as_bytes(std::span(texels.back())), level));
    }
    const vulkan::MemoryDescriptor memory = must(vulkan::export_memory(here));
    Array there = must(vulkan::import_memory(test_device(), memory, desc));
    for (std::uint32_t level = 0; level < form.levels; ++level) {
      std::vector<std::uint8_t> read(here.bytes(level));
      must(there.download(std::as_writable_bytes(std::span(read)), level));
      EXPECT_EQ(read, texels[level]) << "level " << level;
      for (std::uint8_t& byte : texels[level]) byte = std::uint8_t(byte * 3);
      must(there.upload(std::as_bytes(std::span(texels[level])), level));
      must(here.download(std::as_writable_bytes(std::span(read)), level));
      EXPECT_EQ(read, texels[level]) << "level " << level << ", back";
    }
  }
}

TEST_F(Descriptors, kernels_of_two_devices_share_an_image) {
  PTX2SPV_SHARED(Array, here, vulkan::create_exportable(device, picture()));
  fill(here, 5);
  Array there =
      must(vulkan::import_memory(test_device(), must(vulkan::export_memory(here)), picture()));
  Module other = kernels(test_device());
  Surface ours = must(Surface::create(here)), theirs = must(Surface::create(there));
  must(add.launch(whole(), Args().surface(ours).value(10u)));
  must(must(other.kernel("add")).launch(whole(), Args().surface(theirs).value(100u)));
  must(add.launch(whole(), Args().surface(ours).value(1000u)));
  EXPECT_EQ(read_array<std::uint32_t>(there), std::vector<std::uint32_t>(48, 1115));
  // Whoever is last has the memory still.
  { const Array gone = std::move(here); }
  EXPECT_EQ(read_array<std::uint32_t>(there), std::vector<std::uint32_t>(48, 1115));
}

Array imported_picture(const std::vector<std::uint64_t>& given) {
  const vulkan::MemoryDescriptor memory{int(given[0]), given[1], std::uint32_t(given[2]),
                                        given[3] != 0};
  return must(vulkan::import_memory(test_device(), memory, picture()));
}

/// What the other processes do, which find the descriptors in their environment; this one by the C
/// interface.
TEST(DescriptorsChild, AddsToAnImage) {
  const char* text = std::getenv("PTX2SPV_TEST_DESCRIPTOR");
  if (!text) GTEST_SKIP() << "another_process_has_the_texels_of_an_image starts this";
  const auto given = numbers(text);
  ptx2spv_device* device = nullptr;
  OK(ptx2spv_device_open(nullptr, &device));
  ptx2spv_memory_descriptor memory;
  PTX2SPV_INIT(memory);
  memory.fd = int(given[0]);
  memory.bytes = given[1];
  memory.memory_type = std::uint32_t(given[2]);
  memory.dedicated = given[3] != 0;
  ptx2spv_array_desc desc;
  PTX2SPV_INIT(desc);
  desc.geometry = PTX2SPV_2D;
  desc.format = PTX2SPV_U32;
  desc.channels = 1;
  desc.width = 16;
  desc.height = 3;
  ptx2spv_array* shared = nullptr;
  OK(ptx2spv_vulkan_import_array_memory(device, &memory, &desc, &shared));
  std::vector<std::uint32_t> texels(48);
  OK(ptx2spv_array_download(shared, 0, texels.data(), 192));
  EXPECT_EQ(texels, std::vector<std::uint32_t>(48, 7));
  ptx2spv_module* module = nullptr;
  ptx2spv_kernel* add = nullptr;
  ptx2spv_surface* surface = nullptr;
  OK(ptx2spv_module_load(device, kText, std::strlen(kText), "c.ptx", nullptr, &module));
  OK(ptx2spv_kernel_get(module, "add", &add));
  OK(ptx2spv_surface_create(shared, 0, &surface));
  const std::uint32_t amount = 30;
  ptx2spv_argument arguments[2] = {};
  arguments[0].surface = surface;
  arguments[1].data = &amount;
  arguments[1].bytes = 4;
  ptx2spv_launch launch;
  PTX2SPV_INIT(launch);
  launch.grid[0] = 3;
  launch.block[0] = 16;
  launch.arguments = arguments;
  launch.argument_count = 2;
  OK(ptx2spv_kernel_launch(add, &launch, nullptr));
  ptx2spv_surface_destroy(surface);
  ptx2spv_kernel_destroy(add);
  ptx2spv_module_destroy(module);
  ptx2spv_array_destroy(shared);
  ptx2spv_device_destroy(device);
}

TEST_F(Descriptors, another_process_has_the_texels_of_an_image) {
  PTX2SPV_SHARED(Array, shared, vulkan::create_exportable(device, picture()));
  fill(shared, 7);
  const vulkan::MemoryDescriptor memory = must(vulkan::export_memory(shared));
  run_child("DescriptorsChild.AddsToAnImage", word_of(memory), {memory.fd});
  EXPECT_EQ(read_array<std::uint32_t>(shared), std::vector<std::uint32_t>(48, 37));
}

TEST_F(Descriptors, wrong_images_are_refused) {
  Array plain = must(Array::create(device, picture()));
  EXPECT_EQ(vulkan::export_memory(plain).error().code, ErrorCode::invalid_argument);
  ArrayDesc wrong = picture();
  wrong.channels = 3;
  EXPECT_EQ(vulkan::create_exportable(device, wrong).error().code, ErrorCode::invalid_argument);
  PTX2SPV_SHARED(Array, shared, vulkan::create_exportable(device, picture()));
  const vulkan::MemoryDescriptor memory = must(vulkan::export_memory(shared));
  ArrayDesc large = picture();
  large.width = 4096;
  large.height = 4096;
  const auto refused = vulkan::import_memory(device, memory, large);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(refused.error().text.find("the image needs"), std::string::npos)
      << refused.error().text;
  vulkan::MemoryDescriptor other = memory;
  other.memory_type = 31;
  EXPECT_EQ(vulkan::import_memory(device, other, picture()).error().code,
            ErrorCode::invalid_argument);
  other = memory;
  other.fd = -1;
  EXPECT_EQ(vulkan::import_memory(device, other, picture()).error().code,
            ErrorCode::invalid_argument);
  // The descriptor is still the caller's.
  EXPECT_EQ(::close(memory.fd), 0);
}

/// The child's work lies between two semaphores: this process's many launches, and its next one.
TEST(DescriptorsChild, WorksBetweenSemaphores) {
  const char* text = std::getenv("PTX2SPV_TEST_DESCRIPTOR");
  if (!text) GTEST_SKIP() << "semaphores_order_two_processes starts this";
  const auto given = numbers(text);
  const bool timeline = given[4] != 0;
  Array shared = imported_picture(given);
  const auto before =
      must(vulkan::ExternalSemaphore::import(test_device(), int(given[5]), timeline));
  const auto after =
      must(vulkan::ExternalSemaphore::import(test_device(), int(given[6]), timeline));
  EXPECT_FALSE(before.export_descriptor());
  Module module = kernels(test_device());
  Kernel add = must(module.kernel("add"));
  Surface surface = must(Surface::create(shared));
  Stream stream = must(Stream::create(test_device()));
  const auto wait = before.at(1), signal = after.at(1);
  must(vulkan::wait(stream, {&wait, 1}));
  must(stream.launch(add, whole(), Args().surface(surface).value(1'000'000u)));
  must(vulkan::signal(stream, {&signal, 1}));
  must(stream.synchronize());
  EXPECT_EQ(read_array<std::uint32_t>(shared), std::vector<std::uint32_t>(48, kRepeat + 1'000'000));
}

class Semaphores : public Descriptors, public testing::WithParamInterface<bool> {};

TEST_P(Semaphores, semaphores_order_two_processes) {
  const bool timeline = GetParam();
  PTX2SPV_SHARED(vulkan::ExternalSemaphore, first,
                 vulkan::ExternalSemaphore::create(device, timeline));
  PTX2SPV_SHARED(vulkan::ExternalSemaphore, second,
                 vulkan::ExternalSemaphore::create(device, timeline));
  PTX2SPV_SHARED(Array, shared, vulkan::create_exportable(device, picture()));
  fill(shared, 0);
  Surface surface = must(Surface::create(shared));
  must(stream.launch(add, whole(kRepeat), Args().surface(surface).value(1u)));
  const auto signal = first.at(1), wait = second.at(1);
  must(vulkan::signal(stream, {&signal, 1}));
  const vulkan::MemoryDescriptor memory = must(vulkan::export_memory(shared));
  const int out = must(first.export_descriptor()), in = must(second.export_descriptor());
  run_child("DescriptorsChild.WorksBetweenSemaphores",
            fmt::format("{},{},{},{}", word_of(memory), int{timeline}, out, in),
            {memory.fd, out, in});
  must(vulkan::wait(stream, {&wait, 1}));
  must(stream.launch(add, whole(), Args().surface(surface).value(3u)));
  must(stream.synchronize());
  EXPECT_EQ(read_array<std::uint32_t>(shared), std::vector<std::uint32_t>(48, kRepeat + 1'000'003));
}

TEST_P(Semaphores, wrong_descriptors_of_semaphores_are_refused) {
  const bool timeline = GetParam();
  EXPECT_EQ(vulkan::ExternalSemaphore::import(device, -1, timeline).error().code,
            ErrorCode::invalid_argument);
  PTX2SPV_SHARED(vulkan::ExternalSemaphore, made,
                 vulkan::ExternalSemaphore::create(device, timeline));
  EXPECT_EQ(vulkan::ExternalSemaphore::import(device, 1'000'000, timeline).error().code,
            ErrorCode::invalid_argument);
  const int fd = must(made.export_descriptor());
  const auto back = must(vulkan::ExternalSemaphore::import(device, fd, timeline));
  EXPECT_NE(back.at().semaphore, made.at().semaphore);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Semaphores, testing::Bool(), [](const auto& kind) {
  return std::string(kind.param ? "Timeline" : "Binary");
});

}  // namespace
}  // namespace ptx2spv
