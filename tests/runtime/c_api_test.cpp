#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "ptx2spv/vulkan.h"

namespace {

#define OK(call) ASSERT_EQ(call, PTX2SPV_OK) << ptx2spv_last_error_details()

constexpr const char* kPtx = R"(.version 8.3
.target sm_80
.address_size 64
.visible .global .align 4 .u32 bias = 5;
.visible .entry store(.param .u64 surface, .param .u32 factor) {
  .reg .b32 %r<8>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [surface];
  ld.param.u32 %r1, [factor];
  mov.u32 %r2, %tid.x;
  ld.global.u32 %r3, [bias];
  mad.lo.u32 %r4, %r2, %r1, %r3;
  shl.b32 %r5, %r2, 2;
  sust.b.1d.b32.trap [%rd1, {%r5}], %r4;
  ret;
}
)";

struct CInterface : testing::Test {
  ptx2spv_device* device = nullptr;
  void SetUp() override {
    ptx2spv_device_options options;
    PTX2SPV_INIT(options);
    options.cache = -1;
    options.validation = -1;
    OK(ptx2spv_device_open(&options, &device));
  }
  void TearDown() override { ptx2spv_device_destroy(device); }
};

TEST_F(CInterface, RunsAKernelFromStartToEnd) {
  ptx2spv_device_info info;
  PTX2SPV_INIT(info);
  OK(ptx2spv_device_get_info(device, &info));
  EXPECT_GT(std::strlen(info.name), 0u);
  EXPECT_EQ(ptx2spv_api_version(), PTX2SPV_API_VERSION);

  ptx2spv_array_desc desc;
  PTX2SPV_INIT(desc);
  desc.geometry = PTX2SPV_1D;
  desc.format = PTX2SPV_U32;
  desc.width = 16;
  desc.name = "line";
  ptx2spv_array* array = nullptr;
  ptx2spv_surface* surface = nullptr;
  ptx2spv_module* module = nullptr;
  ptx2spv_kernel* kernel = nullptr;
  OK(ptx2spv_array_create(device, &desc, &array));
  OK(ptx2spv_surface_create(array, 0, &surface));
  OK(ptx2spv_module_load(device, kPtx, std::strlen(kPtx), "c.ptx", nullptr, &module));
  EXPECT_NE(std::string(ptx2spv_module_interface(module)).find("store"), std::string::npos);
  OK(ptx2spv_kernel_get(module, "store", &kernel));
  ASSERT_EQ(ptx2spv_kernel_parameter_count(kernel), 2u);
  const char* name = nullptr;
  OK(ptx2spv_kernel_parameter(kernel, 1, &name, nullptr, nullptr));
  EXPECT_NE(std::string(name).find("factor"), std::string::npos);

  std::uint32_t bias = 1000, factor = 3;
  OK(ptx2spv_module_set_global(module, "bias", 0, &bias, 4));
  ptx2spv_argument arguments[2] = {};
  arguments[0].surface = surface;
  arguments[1].data = &factor;
  arguments[1].bytes = 4;
  ptx2spv_launch launch;
  PTX2SPV_INIT(launch);
  launch.block[0] = 16;
  launch.arguments = arguments;
  launch.argument_count = 2;
  double milliseconds = 0;
  OK(ptx2spv_kernel_launch(kernel, &launch, &milliseconds));
  std::vector<std::uint32_t> texels(16);
  OK(ptx2spv_array_download(array, 0, texels.data(), 64));
  for (std::uint32_t i = 0; i < 16; ++i) EXPECT_EQ(texels[i], 1000 + 3 * i);

  launch.filter = PTX2SPV_FILTER_DEVICE;
  OK(ptx2spv_kernel_launch(kernel, &launch, nullptr));
  std::memset(&launch.filter, 3, 1);
  EXPECT_EQ(ptx2spv_kernel_launch(kernel, &launch, nullptr), PTX2SPV_INVALID_ARGUMENT);
  EXPECT_NE(std::string(ptx2spv_last_error()).find("filter"), std::string::npos);
  launch.filter = PTX2SPV_FILTER_DEFAULT;

  ptx2spv_stream* stream = nullptr;
  ptx2spv_event *start = nullptr, *end = nullptr;
  ptx2spv_graph* graph = nullptr;
  OK(ptx2spv_stream_create(device, &stream));
  OK(ptx2spv_event_create(device, &start));
  OK(ptx2spv_event_create(device, &end));
  OK(ptx2spv_graph_create(device, &graph));
  OK(ptx2spv_graph_add_launch(graph, kernel, &launch));
  OK(ptx2spv_stream_record(stream, start));
  OK(ptx2spv_stream_replay(stream, graph));
  OK(ptx2spv_stream_record(stream, end));
  OK(ptx2spv_stream_synchronize(stream));
  OK(ptx2spv_event_elapsed(start, end, &milliseconds));
  EXPECT_TRUE(ptx2spv_event_done(end));

  launch.block[0] = 20;
  EXPECT_EQ(ptx2spv_kernel_launch(kernel, &launch, nullptr), PTX2SPV_TRAP);
  ptx2spv_trap_report report;
  PTX2SPV_INIT(report);
  OK(ptx2spv_last_trap(&report));
  EXPECT_EQ(report.trapped_threads, 4u);
  EXPECT_STREQ(report.kernel, "store");
  EXPECT_STREQ(report.surface, "line");
  EXPECT_STREQ(report.file, "c.ptx");
  EXPECT_NE(std::string(ptx2spv_last_error_details()).find("trapped threads: 4"),
            std::string::npos);

  arguments[1].bytes = 8;
  std::uint64_t wide = 0;
  arguments[1].data = &wide;
  EXPECT_EQ(ptx2spv_kernel_launch(kernel, &launch, nullptr), PTX2SPV_INVALID_ARGUMENT);
  EXPECT_NE(std::string(ptx2spv_last_error()).find("factor"), std::string::npos);

  ptx2spv_graph_destroy(graph);
  ptx2spv_event_destroy(end);
  ptx2spv_event_destroy(start);
  ptx2spv_stream_destroy(stream);
  ptx2spv_kernel_destroy(kernel);
  ptx2spv_module_destroy(module);
  ptx2spv_surface_destroy(surface);
  ptx2spv_array_destroy(array);
}

TEST_F(CInterface, TexturesAreReadThroughTheirHandles) {
  static const char* ptx = R"(.version 8.3
.target sm_80
.address_size 64
.visible .entry fetch(.param .u64 texture, .param .u64 out) {
  .reg .b32 %r<8>;
  .reg .b64 %rd<4>;
  .reg .f32 %f<3>;
  ld.param.u64 %rd1, [texture];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  cvt.rn.f32.u32 %f1, %r1;
  add.f32 %f2, %f1, 0f3F000000;
  tex.1d.v4.u32.f32 {%r2, %r3, %r4, %r5}, [%rd1, {%f2}];
  mul.wide.u32 %rd3, %r1, 4;
  add.u64 %rd3, %rd2, %rd3;
  st.global.u32 [%rd3], %r2;
  ret;
}
)";
  ptx2spv_array_desc desc;
  PTX2SPV_INIT(desc);
  desc.geometry = PTX2SPV_1D;
  desc.format = PTX2SPV_U32;
  desc.width = 8;
  ptx2spv_array* array = nullptr;
  ptx2spv_texture* texture = nullptr;
  ptx2spv_buffer* out = nullptr;
  ptx2spv_module* module = nullptr;
  ptx2spv_kernel* kernel = nullptr;
  OK(ptx2spv_array_create(device, &desc, &array));
  std::vector<std::uint32_t> texels{3, 1, 4, 1, 5, 9, 2, 6}, back(8);
  OK(ptx2spv_array_upload(array, 0, texels.data(), 32));
  ptx2spv_texture_desc how;
  PTX2SPV_INIT(how);
  how.address[0] = how.address[1] = how.address[2] = PTX2SPV_CLAMP;
  OK(ptx2spv_texture_create(array, &how, &texture));
  EXPECT_NE(ptx2spv_texture_handle(texture), 0u);
  OK(ptx2spv_buffer_create(device, 32, &out));
  OK(ptx2spv_module_load(device, ptx, std::strlen(ptx), "fetch.ptx", nullptr, &module));
  OK(ptx2spv_kernel_get(module, "fetch", &kernel));
  ptx2spv_argument arguments[2] = {};
  arguments[0].texture = texture;
  arguments[1].buffer = out;
  ptx2spv_launch launch;
  PTX2SPV_INIT(launch);
  launch.block[0] = 8;
  launch.arguments = arguments;
  launch.argument_count = 2;
  OK(ptx2spv_kernel_launch(kernel, &launch, nullptr));
  OK(ptx2spv_buffer_download(out, 0, back.data(), 32));
  EXPECT_EQ(back, texels);
  ptx2spv_kernel_destroy(kernel);
  ptx2spv_module_destroy(module);
  ptx2spv_buffer_destroy(out);
  ptx2spv_texture_destroy(texture);
  ptx2spv_array_destroy(array);
}

TEST_F(CInterface, CopiesRegionsAndSharesBuffers) {
  ptx2spv_buffer *a = nullptr, *b = nullptr, *shared = nullptr;
  OK(ptx2spv_buffer_create(device, 256, &a));
  OK(ptx2spv_buffer_create(device, 256, &b));
  OK(ptx2spv_buffer_fill(a, 0, 256, 0, 4));
  // Two rows of two words, every 16 bytes in the buffer, dense on the host.
  const std::uint32_t rows[4] = {1, 2, 3, 4};
  std::uint32_t back[4] = {};
  ptx2spv_region region;
  PTX2SPV_INIT(region);
  region.offset = 32;
  region.row_bytes = 8;
  region.rows = 2;
  region.row_pitch = 16;
  OK(ptx2spv_buffer_upload_region(a, &region, rows, sizeof rows));
  OK(ptx2spv_buffer_download_region(a, &region, back, sizeof back));
  EXPECT_EQ(std::memcmp(rows, back, sizeof rows), 0);
  EXPECT_EQ(ptx2spv_buffer_upload_region(a, &region, rows, 8), PTX2SPV_INVALID_ARGUMENT);

  ptx2spv_stream* stream = nullptr;
  ptx2spv_graph* graph = nullptr;
  ptx2spv_event* event = nullptr;
  OK(ptx2spv_stream_create(device, &stream));
  OK(ptx2spv_graph_create(device, &graph));
  OK(ptx2spv_event_create(device, &event));
  EXPECT_FALSE(ptx2spv_event_recorded(event));
  OK(ptx2spv_stream_fill(stream, b, 0, 256, 9));
  OK(ptx2spv_stream_copy(stream, a, 32, b, 0, 8));
  OK(ptx2spv_graph_add_copy(graph, b, 0, b, 64, 8));
  EXPECT_EQ(ptx2spv_graph_size(graph), 1u);
  OK(ptx2spv_stream_replay(stream, graph));
  OK(ptx2spv_stream_record(stream, event));
  OK(ptx2spv_stream_synchronize(stream));
  EXPECT_TRUE(ptx2spv_stream_idle(stream));
  EXPECT_TRUE(ptx2spv_event_recorded(event));

  VkBuffer handle = VK_NULL_HANDLE;
  VkDeviceSize offset = 0, bytes = 0;
  OK(ptx2spv_vulkan_buffer_of(b, &handle, &offset, &bytes));
  EXPECT_NE(handle, VkBuffer{VK_NULL_HANDLE});
  EXPECT_EQ(bytes, 256u);
  OK(ptx2spv_vulkan_import_buffer(device, handle, offset, bytes, &shared));
  OK(ptx2spv_buffer_download(shared, 64, back, 16));
  EXPECT_EQ(back[0], 1u);
  EXPECT_EQ(back[1], 2u);
  EXPECT_EQ(back[2], 9u);
  ptx2spv_device_statistics statistics;
  PTX2SPV_INIT(statistics);
  OK(ptx2spv_device_get_statistics(device, &statistics));
  EXPECT_GE(statistics.memory_used, 512u);
  EXPECT_EQ(statistics.array_copies, 0u);
  statistics.size = 8;
  EXPECT_EQ(ptx2spv_device_get_statistics(device, &statistics), PTX2SPV_INVALID_ARGUMENT);
  ptx2spv_buffer_destroy(shared);
  ptx2spv_event_destroy(event);
  ptx2spv_graph_destroy(graph);
  ptx2spv_stream_destroy(stream);
  ptx2spv_buffer_destroy(b);
  ptx2spv_buffer_destroy(a);
}

TEST_F(CInterface, LinksTextsAndBindsReferencesForOneLaunch) {
  const std::string head = ".version 8.3\n.target sm_80\n.address_size 64\n";
  const std::string caller = head + R"(
.extern .func (.param .b32 result) seven();
.global .surfref out;
.visible .entry store() {
  .reg .b32 %r<2>;
  { .param .b32 result; call.uni (result), seven; ld.param.b32 %r1, [result]; }
  sust.b.1d.b32.trap [out, {0}], %r1;
  ret;
}
)";
  const std::string callee = head + R"(
.visible .func (.param .b32 result) seven() {
  .reg .b32 %r<2>;
  mov.u32 %r1, 7;
  st.param.b32 [result], %r1;
  ret;
}
)";
  const char* texts[] = {caller.c_str(), callee.c_str()};
  const char* files[] = {"caller.ptx", "callee.ptx"};
  const std::size_t bytes[] = {caller.size(), callee.size()};
  ptx2spv_module* module = nullptr;
  ptx2spv_kernel* kernel = nullptr;
  OK(ptx2spv_module_load_linked(device, texts, bytes, files, 2, nullptr, &module));
  EXPECT_STREQ(ptx2spv_module_warnings(module), "");
  OK(ptx2spv_kernel_get(module, "store", &kernel));
  ptx2spv_array_desc desc;
  PTX2SPV_INIT(desc);
  desc.geometry = PTX2SPV_1D;
  desc.format = PTX2SPV_U32;
  desc.width = 4;
  ptx2spv_array *array = nullptr, *copy = nullptr;
  ptx2spv_surface* surface = nullptr;
  OK(ptx2spv_array_create(device, &desc, &array));
  OK(ptx2spv_array_create(device, &desc, &copy));
  OK(ptx2spv_surface_create(array, 0, &surface));
  OK(ptx2spv_surface_set_name(surface, "bound"));
  ptx2spv_reference reference = {"out", surface, nullptr};
  ptx2spv_launch launch;
  PTX2SPV_INIT(launch);
  launch.references = &reference;
  launch.reference_count = 1;
  OK(ptx2spv_kernel_prepare(kernel, &launch));
  OK(ptx2spv_kernel_launch(kernel, &launch, nullptr));
  OK(ptx2spv_array_copy(array, copy));
  std::uint32_t texels[4] = {};
  OK(ptx2spv_array_download(copy, 0, texels, sizeof texels));
  EXPECT_EQ(texels[0], 7u);
  reference.name = "nothing";
  EXPECT_EQ(ptx2spv_kernel_launch(kernel, &launch, nullptr), PTX2SPV_NOT_FOUND);
  reference.surface = nullptr;
  EXPECT_EQ(ptx2spv_kernel_launch(kernel, &launch, nullptr), PTX2SPV_INVALID_ARGUMENT);
  ptx2spv_surface_destroy(surface);
  ptx2spv_array_destroy(copy);
  ptx2spv_array_destroy(array);
  ptx2spv_kernel_destroy(kernel);
  ptx2spv_module_destroy(module);
}

TEST_F(CInterface, NullAndForeignStructsAreRefused) {
  ptx2spv_buffer* buffer = nullptr;
  EXPECT_EQ(ptx2spv_buffer_create(nullptr, 4, &buffer), PTX2SPV_INVALID_ARGUMENT);
  EXPECT_EQ(ptx2spv_buffer_create(device, 4, nullptr), PTX2SPV_INVALID_ARGUMENT);
  ptx2spv_array_desc desc;
  PTX2SPV_INIT(desc);
  desc.size = 4;
  ptx2spv_array* array = nullptr;
  EXPECT_EQ(ptx2spv_array_create(device, &desc, &array), PTX2SPV_INVALID_ARGUMENT);
  PTX2SPV_INIT(desc);
  desc.format = static_cast<ptx2spv_format>(99);
  EXPECT_EQ(ptx2spv_array_create(device, &desc, &array), PTX2SPV_INVALID_ARGUMENT);
  ptx2spv_module* module = nullptr;
  EXPECT_EQ(ptx2spv_module_load(device, "nonsense", 8, "n.ptx", nullptr, &module),
            PTX2SPV_TRANSLATION);
  EXPECT_NE(std::string(ptx2spv_last_error()).find("n.ptx:1:"), std::string::npos)
      << ptx2spv_last_error();
  ptx2spv_buffer_destroy(nullptr);
  EXPECT_EQ(ptx2spv_buffer_create(device, 1ull << 60, &buffer), PTX2SPV_OUT_OF_MEMORY);
}

TEST(CHeader, IsStrictC99) {
  if (std::system("cc --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no C compiler";
  if (!std::filesystem::exists(PTX2SPV_SOURCE_DIR "/src/include/ptx2spv/ptx2spv.h"))
    GTEST_SKIP() << "the source tree is not here";
  std::string command =
      "echo '#include \"ptx2spv/ptx2spv.h\"' | cc -std=c99 -pedantic -Wall -Wextra -Werror "
      "-fsyntax-only -I" PTX2SPV_SOURCE_DIR "/src/include -I" PTX2SPV_SOURCE_DIR
      "/translator/include -x c -";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
