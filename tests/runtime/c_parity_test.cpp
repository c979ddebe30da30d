// The parts of the C interface that programs in C++ had before it: options of single launches,
// views, profiles, the translator, and an application's own Vulkan.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "ptx2spv/vulkan.h"
#include "tests/runtime/application.hpp"
#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

#define OK(call) ASSERT_EQ(call, PTX2SPV_OK) << ptx2spv_last_error_details()

constexpr const char* kText = R"(.version 8.3
.target sm_80
.address_size 64
.visible .entry thirds(.param .u64 data) {
  .reg .b32 %r<3>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [data];
  mov.u32 %r1, %tid.x;
  mad.wide.u32 %rd2, %r1, 4, %rd1;
  ld.global.f32 %f1, [%rd2];
  div.rn.f32 %f2, %f1, 0f40400000;
  st.global.f32 [%rd2], %f2;
  ret;
}
.visible .entry cut(.param .u64 surface) {
  .reg .b32 %r<3>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [surface];
  mov.u32 %r1, 64;
  mov.u32 %r2, 3;
  sust.b.2d.b32.trap [%rd1, {%r1, %r2}], %r1;
  ret;
}
)";

/// To the same device, which is as good as another.
void share_an_array(ptx2spv_device* device) {
  ptx2spv_array_desc desc;
  PTX2SPV_INIT(desc);
  desc.geometry = PTX2SPV_2D;
  desc.format = PTX2SPV_U8;
  desc.channels = 4;
  desc.width = 5;
  desc.height = 3;
  ptx2spv_array *here = nullptr, *there = nullptr;
  const ptx2spv_status made = ptx2spv_vulkan_create_exportable_array(device, &desc, &here);
  if (made != PTX2SPV_OK) {
    EXPECT_EQ(made, PTX2SPV_UNSUPPORTED) << ptx2spv_last_error();
    return;
  }
  std::vector<std::uint8_t> texels(60), read(60);
  std::iota(texels.begin(), texels.end(), std::uint8_t(7));
  OK(ptx2spv_array_upload(here, 0, texels.data(), texels.size()));
  ptx2spv_memory_descriptor memory;
  PTX2SPV_INIT(memory);
  OK(ptx2spv_vulkan_export_array_memory(here, &memory));
  OK(ptx2spv_vulkan_import_array_memory(device, &memory, &desc, &there));
  OK(ptx2spv_array_download(there, 0, read.data(), read.size()));
  EXPECT_EQ(read, texels);
  ptx2spv_array_destroy(here);
  ptx2spv_array_destroy(there);
}

void share_a_semaphore(ptx2spv_device* device) {
  ptx2spv_external_semaphore *here = nullptr, *there = nullptr;
  const ptx2spv_status made = ptx2spv_external_semaphore_create(device, 0, &here);
  if (made != PTX2SPV_OK) {
    EXPECT_EQ(made, PTX2SPV_UNSUPPORTED) << ptx2spv_last_error();
    return;
  }
  std::int32_t fd = -1;
  OK(ptx2spv_external_semaphore_export(here, &fd));
  OK(ptx2spv_external_semaphore_import(device, fd, 0, &there));
  ptx2spv_stream* stream = nullptr;
  OK(ptx2spv_stream_create(device, &stream));
  const VkSemaphore signalled = ptx2spv_external_semaphore_handle(here);
  const VkSemaphore waited = ptx2spv_external_semaphore_handle(there);
  EXPECT_NE(signalled, waited);
  OK(ptx2spv_vulkan_signal(stream, &signalled, nullptr, 1));
  OK(ptx2spv_vulkan_wait(stream, &waited, nullptr, 1));
  OK(ptx2spv_stream_synchronize(stream));
  ptx2spv_stream_destroy(stream);
  ptx2spv_external_semaphore_destroy(here);
  ptx2spv_external_semaphore_destroy(there);
}

struct CParity : testing::Test {
  ptx2spv_device* device = nullptr;
  ptx2spv_module* module = nullptr;
  ptx2spv_kernel* thirds = nullptr;
  void SetUp() override {
    ptx2spv_device_options options;
    PTX2SPV_INIT(options);
    options.cache = -1;
    options.validation = -1;
    options.executor = PTX2SPV_EXECUTOR_DEVICE;  // the host has one model of threads
    OK(ptx2spv_device_open(&options, &device));
    OK(ptx2spv_module_load(device, kText, std::strlen(kText), "c.ptx", nullptr, &module));
    OK(ptx2spv_kernel_get(module, "thirds", &thirds));
  }
  void TearDown() override {
    ptx2spv_kernel_destroy(thirds);
    ptx2spv_module_destroy(module);
    ptx2spv_device_destroy(device);
  }
};

TEST_F(CParity, a_launch_has_its_own_policies_and_is_timed) {
  ptx2spv_buffer *buffer = nullptr, *view = nullptr, *host = nullptr, *rows = nullptr;
  OK(ptx2spv_buffer_create(device, 64, &buffer));
  OK(ptx2spv_buffer_create_rows(device, 64, &rows));
  EXPECT_EQ(ptx2spv_buffer_size(rows), 64u);
  ptx2spv_buffer_destroy(rows);
  OK(ptx2spv_buffer_set_name(buffer, "values"));
  OK(ptx2spv_buffer_view(device, ptx2spv_buffer_address(buffer) + 16, 16, &view));
  OK(ptx2spv_buffer_create_host(device, 16, &host));
  ASSERT_NE(ptx2spv_buffer_mapped(host), nullptr);
  const std::vector<float> values(16, 7.5f);
  OK(ptx2spv_buffer_upload(buffer, 0, values.data(), 64));
  ptx2spv_argument argument = {};
  argument.buffer = view;
  ptx2spv_launch launch;
  PTX2SPV_INIT(launch);
  launch.block[0] = 4;
  launch.arguments = &argument;
  launch.argument_count = 1;
  launch.fp = PTX2SPV_FP_FAST;
  launch.threads = PTX2SPV_THREADS_FLAT;
  launch.no_slots = 1;
  ptx2spv_launch_timing timing;
  PTX2SPV_INIT(timing);
  OK(ptx2spv_kernel_launch_timed(thirds, &launch, &timing));
  EXPECT_EQ(timing.threads, PTX2SPV_THREADS_FLAT);
  EXPECT_GT(timing.wall_ms, 0);
  std::vector<float> read(16);
  OK(ptx2spv_buffer_download(buffer, 0, read.data(), 64));
  for (int i = 0; i < 16; ++i) EXPECT_FLOAT_EQ(read[i], i >= 4 && i < 8 ? 2.5f : 7.5f);
  ptx2spv_region region;
  PTX2SPV_INIT(region);
  region.row_bytes = 4;
  region.rows = 2;
  region.row_pitch = 8;
  OK(ptx2spv_buffer_copy_region(view, 0, host, &region));
  const float* mapped = static_cast<float*>(ptx2spv_buffer_mapped(host));
  EXPECT_FLOAT_EQ(mapped[2], 2.5f);
  std::memset(&launch.threads, 9, 1);
  EXPECT_EQ(ptx2spv_kernel_launch(thirds, &launch, nullptr), PTX2SPV_INVALID_ARGUMENT);
  for (ptx2spv_buffer* each : {host, view, buffer}) ptx2spv_buffer_destroy(each);
}

TEST_F(CParity, arrays_tell_what_they_are_and_copy_boxes) {
  ptx2spv_array_desc desc, told;
  PTX2SPV_INIT(desc);
  PTX2SPV_INIT(told);
  OK(ptx2spv_parse_geometry("2d", &desc.geometry));
  OK(ptx2spv_parse_format("u8", &desc.format));
  EXPECT_STREQ(ptx2spv_format_name(desc.format), "u8");
  EXPECT_STREQ(ptx2spv_geometry_name(PTX2SPV_A2D), "a2d");
  EXPECT_EQ(ptx2spv_format_name(99), nullptr);
  EXPECT_EQ(ptx2spv_format_bytes(PTX2SPV_F32), 4u);
  EXPECT_EQ(ptx2spv_parse_format("u9", &desc.format), PTX2SPV_NOT_FOUND);
  desc.channels = 4;
  desc.width = 4;
  desc.height = 2;
  desc.name = "plane";
  desc.backing = PTX2SPV_LINEAR;
  ptx2spv_array *from = nullptr, *to = nullptr, *same = nullptr;
  OK(ptx2spv_array_create(device, &desc, &from));
  OK(ptx2spv_array_create(device, &desc, &to));
  OK(ptx2spv_array_get_desc(from, &told));
  EXPECT_EQ(told.geometry, PTX2SPV_2D);
  EXPECT_EQ(told.width, 4u);
  EXPECT_EQ(told.backing, PTX2SPV_LINEAR);
  EXPECT_STREQ(told.name, "plane");
  EXPECT_EQ(ptx2spv_array_image_backed(from), 0);
  OK(ptx2spv_array_fill(from, 0, 5, 1));
  OK(ptx2spv_array_fill(to, 0, 1, 1));
  ptx2spv_array_region source, region;
  PTX2SPV_INIT(source);
  PTX2SPV_INIT(region);
  source.width = region.width = 1;
  source.height = region.height = 1;
  region.x = 3;
  region.y = 1;
  OK(ptx2spv_array_copy_region(from, &source, to, &region));
  std::vector<unsigned char> bytes(32);
  OK(ptx2spv_array_download(to, 0, bytes.data(), 32));
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(bytes[i], i < 28 ? 1 : 5) << i;
  ptx2spv_surface* surface = nullptr;
  OK(ptx2spv_surface_create(to, 0, &surface));
  OK(ptx2spv_surface_array(surface, &same));
  EXPECT_EQ(ptx2spv_array_bytes(same, 0), 32u);
  ptx2spv_texture_desc how;
  PTX2SPV_INIT(how);
  ptx2spv_texture_view view;
  PTX2SPV_INIT(view);
  view.format = PTX2SPV_U32;
  view.channels = 1;
  ptx2spv_texture* texture = nullptr;
  OK(ptx2spv_texture_create_view(to, &view, &how, &texture));
  view.channels = 2;  // twice the array's bytes
  ptx2spv_texture* none = nullptr;
  EXPECT_EQ(ptx2spv_texture_create_view(to, &view, &how, &none), PTX2SPV_INVALID_ARGUMENT);
  ptx2spv_texture_destroy(texture);
  ptx2spv_surface_destroy(surface);
  for (ptx2spv_array* each : {same, to, from}) ptx2spv_array_destroy(each);
}

TEST_F(CParity, a_trap_names_its_coordinates) {
  ptx2spv_array_desc desc;
  PTX2SPV_INIT(desc);
  desc.geometry = PTX2SPV_2D;
  desc.format = PTX2SPV_U32;
  desc.width = desc.height = 4;
  ptx2spv_array* array = nullptr;
  ptx2spv_surface* surface = nullptr;
  ptx2spv_kernel* cut = nullptr;
  OK(ptx2spv_array_create(device, &desc, &array));
  OK(ptx2spv_surface_create(array, 0, &surface));
  OK(ptx2spv_kernel_get(module, "cut", &cut));
  EXPECT_STREQ(ptx2spv_kernel_name(cut), "cut");
  ptx2spv_argument argument = {};
  argument.surface = surface;
  ptx2spv_launch launch;
  PTX2SPV_INIT(launch);
  launch.arguments = &argument;
  launch.argument_count = 1;
  ASSERT_EQ(ptx2spv_kernel_launch(cut, &launch, nullptr), PTX2SPV_TRAP);
  ptx2spv_trap_report report;
  PTX2SPV_INIT(report);
  OK(ptx2spv_last_trap(&report));
  EXPECT_STREQ(report.coordinate_names[0], "x");
  EXPECT_STREQ(report.coordinate_names[1], "y");
  EXPECT_EQ(report.texel_bytes, 4u);
  EXPECT_EQ(report.thread_known, 1);
  EXPECT_EQ(report.inlined_count, 0u);
  EXPECT_EQ(ptx2spv_last_inlined(0, nullptr, nullptr), PTX2SPV_NOT_FOUND);
  EXPECT_STREQ(ptx2spv_status_name(PTX2SPV_TRAP), "trap");
  EXPECT_GT(std::strlen(ptx2spv_trap_kind_name(report.kind)), 0u);
  ptx2spv_kernel_destroy(cut);
  ptx2spv_surface_destroy(surface);
  ptx2spv_array_destroy(array);
}

TEST_F(CParity, the_translator_takes_every_option) {
  const std::size_t bytes = std::strlen(kText);
  const char* file = "c.ptx";
  ptx2spv_ptx* ptx = nullptr;
  OK(ptx2spv_ptx_parse(&kText, &bytes, &file, 1, nullptr, &ptx));
  ASSERT_EQ(ptx2spv_ptx_entry_count(ptx), 2u);
  EXPECT_STREQ(ptx2spv_ptx_entry_name(ptx, 0), "thirds");
  EXPECT_EQ(ptx2spv_ptx_entry_name(ptx, 2), nullptr);
  EXPECT_NE(std::string(ptx2spv_ptx_interface(ptx)).find("cut"), std::string::npos);
  ptx2spv_profile* profile = nullptr;
  OK(ptx2spv_profile_create("portable", &profile));
  std::uint32_t value = 9;
  OK(ptx2spv_profile_set(profile, "device_addresses", 1));
  OK(ptx2spv_profile_get(profile, "device_addresses", &value));
  EXPECT_EQ(value, 1u);
  OK(ptx2spv_profile_set(profile, "max_shared_bytes", 12345));
  OK(ptx2spv_profile_get(profile, "max_shared_bytes", &value));
  EXPECT_EQ(value, 12345u);
  EXPECT_EQ(ptx2spv_profile_set(profile, "device_addresses", 2), PTX2SPV_INVALID_ARGUMENT);
  EXPECT_EQ(ptx2spv_profile_set(profile, "no_row", 1), PTX2SPV_NOT_FOUND);
  OK(ptx2spv_device_capability(device, "max_workgroup_invocations", &value));
  EXPECT_GT(value, 0u);

  std::vector<std::string> passes;
  ptx2spv_slot slot = {};
  slot.backing = PTX2SPV_SLOT_IMAGE;
  slot.format = PTX2SPV_U32;
  ptx2spv_translate_options options;
  PTX2SPV_INIT(options);
  options.entry = "cut";
  options.custom_profile = profile;
  options.slots = &slot;
  options.slot_count = 1;
  options.push_words = 40;
  options.user = &passes;
  options.dump = [](void* user, const char* pass, const char*) {
    static_cast<std::vector<std::string>*>(user)->push_back(pass);
  };
  ptx2spv_translation *image = nullptr, *memory = nullptr;
  OK(ptx2spv_ptx_translate(ptx, &options, &image));
  EXPECT_FALSE(passes.empty());
  std::vector<std::string> all;
  for (std::uint32_t i = 0; const char* name = ptx2spv_pass_name(i); ++i) all.push_back(name);
  EXPECT_NE(std::ranges::find(all, passes.back()), all.end());
  options.slot_count = 0;
  options.dump = nullptr;
  OK(ptx2spv_ptx_translate(ptx, &options, &memory));
  std::size_t words = 0, others = 0;
  const std::uint32_t* first = ptx2spv_translation_words(image, &words);
  const std::uint32_t* second = ptx2spv_translation_words(memory, &others);
  EXPECT_FALSE(words == others && std::equal(first, first + words, second));
  EXPECT_NE(std::string(ptx2spv_translation_interface(image)).find("r32ui"), std::string::npos);
  slot.geometry = 77;
  options.slot_count = 1;
  ptx2spv_translation* none = nullptr;
  EXPECT_EQ(ptx2spv_ptx_translate(ptx, &options, &none), PTX2SPV_INVALID_ARGUMENT);
  ptx2spv_translation_destroy(image);
  ptx2spv_translation_destroy(memory);
  ptx2spv_profile_destroy(profile);
  ptx2spv_ptx_destroy(ptx);
}

TEST_F(CParity, required_capabilities_and_disabled_ones_contradict) {
  const char* name = "int64";
  ptx2spv_device_options options;
  PTX2SPV_INIT(options);
  options.cache = options.validation = -1;
  options.disable = options.require = &name;
  options.disable_count = options.require_count = 1;
  ptx2spv_device* other = nullptr;
  EXPECT_EQ(ptx2spv_device_open(&options, &other), PTX2SPV_UNSUPPORTED);
  const char* null = nullptr;
  options.enable = &null;
  options.enable_count = 1;
  EXPECT_EQ(ptx2spv_device_open(&options, &other), PTX2SPV_INVALID_ARGUMENT);
}

TEST_F(CParity, an_executor_is_chosen) {
  ptx2spv_device_options options;
  PTX2SPV_INIT(options);
  const bool host_runs = test_device().info().kind == DeviceKind::cpu;
  for (const std::uint32_t executor : {0, 1, 2, 3, 4}) {
    std::memcpy(&options.executor, &executor, sizeof executor);
    ptx2spv_device* other = nullptr;
    const ptx2spv_status status = ptx2spv_device_open(&options, &other);
    EXPECT_EQ(status, executor > PTX2SPV_EXECUTOR_HOST                  ? PTX2SPV_INVALID_ARGUMENT
                      : executor == PTX2SPV_EXECUTOR_HOST && !host_runs ? PTX2SPV_UNSUPPORTED
                                                                        : PTX2SPV_OK)
        << executor;
    ptx2spv_device_destroy(other);
  }
}

TEST(CVulkan, an_application_shares_its_device) {
  Application application(test_device());
  const vulkan::AdoptedDevice from = application.handles();
  ptx2spv_vulkan_needs* needs = nullptr;
  OK(ptx2spv_vulkan_needs_query(from.get_instance_proc_addr, from.instance, from.physical_device,
                                &needs));
  std::uint32_t extensions = 0;
  EXPECT_NE(ptx2spv_vulkan_needs_extensions(needs, &extensions), nullptr);
  EXPECT_NE(ptx2spv_vulkan_needs_features(needs)->pNext, nullptr);
  EXPECT_EQ(ptx2spv_vulkan_needs_queue_family(needs), from.queue_family);
  ptx2spv_vulkan_needs_destroy(needs);
  int locks = 0;
  ptx2spv_adopted_device external;
  PTX2SPV_INIT(external);
  external.get_instance_proc_addr = from.get_instance_proc_addr;
  external.instance = from.instance;
  external.physical_device = from.physical_device;
  external.device = from.device;
  external.queue = from.queue;
  external.queue_family = from.queue_family;
  external.created = from.created;
  external.lock_user = &locks;
  external.lock_queue = [](void* user) { ++*static_cast<int*>(user); };
  external.unlock_queue = [](void* user) { --*static_cast<int*>(user); };
  ptx2spv_device_options options;
  PTX2SPV_INIT(options);
  options.cache = -1;
  ptx2spv_device* device = nullptr;
  OK(ptx2spv_vulkan_adopt(&external, &options, &device));
  ptx2spv_adopted_device told;
  PTX2SPV_INIT(told);
  OK(ptx2spv_vulkan_handles(device, &told));
  EXPECT_EQ(told.device, from.device);

  ptx2spv_module* module = nullptr;
  ptx2spv_kernel* thirds = nullptr;
  ptx2spv_buffer* buffer = nullptr;
  ptx2spv_stream* stream = nullptr;
  ptx2spv_recording* recording = nullptr;
  OK(ptx2spv_module_load(device, kText, std::strlen(kText), "c.ptx", nullptr, &module));
  OK(ptx2spv_kernel_get(module, "thirds", &thirds));
  OK(ptx2spv_buffer_create(device, 64, &buffer));
  const std::vector<float> values(16, 9.0f);
  OK(ptx2spv_buffer_upload(buffer, 0, values.data(), 64));
  OK(ptx2spv_stream_create(device, &stream));
  OK(ptx2spv_recording_create(device, &recording));
  ptx2spv_argument argument = {};
  argument.buffer = buffer;
  ptx2spv_launch launch;
  PTX2SPV_INIT(launch);
  launch.block[0] = 16;
  launch.arguments = &argument;
  launch.argument_count = 1;
  VkCommandBuffer commands = application.begin();
  OK(ptx2spv_recording_launch(recording, commands, thirds, &launch));
  application.end(commands);
  application.run(commands);
  OK(ptx2spv_recording_check(recording));
  const VkSemaphore timeline = application.semaphore(true);
  const std::uint64_t one = 1, two = 2;
  OK(ptx2spv_vulkan_wait(stream, &timeline, &one, 1));
  OK(ptx2spv_stream_launch(stream, thirds, &launch));
  OK(ptx2spv_vulkan_signal(stream, &timeline, &two, 1));
  application.signal(timeline, 1);
  application.wait(timeline, 2);
  std::vector<float> read(16);
  OK(ptx2spv_buffer_download(buffer, 0, read.data(), 64));
  EXPECT_EQ(read, std::vector<float>(16, 1.0f));
  EXPECT_EQ(locks, 0);
  VkBuffer vulkan = VK_NULL_HANDLE;
  VkDeviceSize offset = 0, bytes = 0;
  OK(ptx2spv_vulkan_buffer_of(buffer, &vulkan, &offset, &bytes));
  EXPECT_EQ(bytes, 64u);
  ptx2spv_buffer* again = nullptr;
  OK(ptx2spv_vulkan_import_buffer(device, vulkan, offset, bytes, &again));
  EXPECT_EQ(ptx2spv_buffer_address(again), ptx2spv_buffer_address(buffer));
  ptx2spv_buffer* shared = nullptr;
  const ptx2spv_status made = ptx2spv_vulkan_create_exportable(device, 64, &shared);
  if (made == PTX2SPV_OK) {
    ptx2spv_memory_descriptor memory;
    PTX2SPV_INIT(memory);
    OK(ptx2spv_vulkan_export_memory(shared, &memory));
    ptx2spv_buffer* there = nullptr;
    OK(ptx2spv_vulkan_import_memory(device, &memory, 0, 64, &there));
    ptx2spv_buffer_destroy(there);
    ptx2spv_buffer_destroy(shared);
  } else {
    EXPECT_EQ(made, PTX2SPV_UNSUPPORTED) << ptx2spv_last_error();
  }
  share_an_array(device);
  share_a_semaphore(device);
  ptx2spv_buffer_destroy(again);
  ptx2spv_recording_destroy(recording);
  ptx2spv_stream_destroy(stream);
  ptx2spv_buffer_destroy(buffer);
  ptx2spv_kernel_destroy(thirds);
  ptx2spv_module_destroy(module);
  ptx2spv_device_destroy(device);
}

}  // namespace
}  // namespace ptx2spv
