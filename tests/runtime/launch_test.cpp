#include <optional>

#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

Array make_array(Geometry geometry, std::uint32_t width, std::uint32_t height,
                 abi::SurfaceFormat format, std::uint32_t channels, ArrayBacking backing,
                 std::string name = "img") {
  ArrayDesc desc;
  desc.geometry = geometry;
  desc.width = width;
  desc.height = height;
  desc.format = format;
  desc.channels = channels;
  desc.backing = backing;
  desc.name = std::move(name);
  Array array = must(Array::create(test_device(), desc));
  must(array.fill(0));
  return array;
}

// Each thread stores x + 1000 y, and counts itself.
constexpr const char* kStore = R"(
.visible .entry store(.param .u64 surface, .param .u64 counter, .param .u32 width) {
  .reg .pred %p<3>;
  .reg .b32 %r<12>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [surface];
  ld.param.u64 %rd2, [counter];
  ld.param.u32 %r1, [width];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  mov.u32 %r6, %ctaid.y;
  mad.lo.u32 %r7, %r6, 1000, %r5;
  shl.b32 %r8, %r5, 2;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra done;
  sust.b.2d.b32.trap [%rd1, {%r8, %r6}], %r7;
  atom.global.add.u32 %r9, [%rd2], 1;
done:
  ret;
}
)";

class Launch : public testing::TestWithParam<ArrayBacking> {};

TEST_P(Launch, StoresEveryTexel) {
  Module module = load(kStore);
  Kernel kernel = must(module.kernel("store"));
  Array array = make_array(Geometry::d2, 37, 21, abi::SurfaceFormat::u32, 1, GetParam());
  Surface surface = must(Surface::create(array));
  Buffer counter = must(Buffer::create(test_device(), 4));
  must(counter.fill(0, 4, 0));
  LaunchConfig config;
  config.grid = {2, 21, 1};
  config.block = {32, 1, 1};
  config.time = true;
  LaunchTiming timing =
      must(kernel.launch(config, Args().surface(surface).buffer(counter).value(37u)));
  EXPECT_GE(timing.device_ms, 0);
  auto texels = read_array<std::uint32_t>(array);
  for (std::uint32_t i = 0; i < texels.size(); ++i) ASSERT_EQ(texels[i], i % 37 + 1000 * (i / 37));
  EXPECT_EQ(read_buffer<std::uint32_t>(counter, 1)[0], 37u * 21u);
}

TEST_P(Launch, OutOfBoundsStoreIsReportedWithEverythingNamed) {
  Module module = load(kStore);
  Kernel kernel = must(module.kernel("store"));
  Array array = make_array(Geometry::d2, 8, 4, abi::SurfaceFormat::u32, 1, GetParam(), "picture");
  Surface surface = must(Surface::create(array));
  Buffer counter = must(Buffer::create(test_device(), 4));
  LaunchConfig config;
  config.grid = {1, 4, 1};
  config.block = {10, 1, 1};
  auto result = kernel.launch(config, Args().surface(surface).buffer(counter).value(100u));
  ASSERT_FALSE(result);
  ASSERT_EQ(result.error().code, ErrorCode::trap) << result.error().text;
  const TrapReport& report = *result.error().trap;
  EXPECT_EQ(report.kind, abi::TrapKind::out_of_bounds);
  EXPECT_EQ(report.trapped_threads, 8u);
  EXPECT_EQ(report.kernel, "store");
  EXPECT_EQ(report.surface, "picture");
  EXPECT_EQ(report.file, "test.ptx");
  EXPECT_GT(report.line, 3u);
  EXPECT_NE(report.instruction.find("sust.b.2d.b32.trap"), std::string::npos);
  EXPECT_EQ(report.extent[0], 32u);
  EXPECT_GE(report.thread[0], 8u);
  ASSERT_EQ(report.coordinates.size(), 2u);
  EXPECT_EQ(report.coordinates[0].second, static_cast<std::int32_t>(report.thread[0] * 4));
  // Other threads' stores stand, and the device goes on.
  EXPECT_EQ(read_array<std::uint32_t>(array)[3 * 8 + 7], 3007u);
  config.block = {8, 1, 1};
  must(kernel.launch(config, Args().surface(surface).buffer(counter).value(100u)));
}

TEST_P(Launch, DestroyedSurfaceIsADeadHandle) {
  Module module = load(kStore);
  Kernel kernel = must(module.kernel("store"));
  Array array = make_array(Geometry::d2, 8, 4, abi::SurfaceFormat::u32, 1, GetParam());
  Buffer counter = must(Buffer::create(test_device(), 4));
  std::uint64_t handle = must(Surface::create(array)).handle();
  Surface other = must(Surface::create(array));
  EXPECT_NE(handle, other.handle());
  const std::uint64_t foreign = other.handle() ^ std::uint64_t{1} << 40;
  for (std::uint64_t dead : {handle, std::uint64_t{0}, foreign, ~std::uint64_t{0}}) {
    auto result = kernel.launch({}, Args().value(dead).buffer(counter).value(1u));
    ASSERT_FALSE(result) << dead;
    ASSERT_EQ(result.error().code, ErrorCode::trap) << result.error().text;
    EXPECT_EQ(result.error().trap->kind, abi::TrapKind::dead_handle);
  }
  must(kernel.launch({}, Args().value(other.handle()).buffer(counter).value(1u)));
}

// Byte stores onto 2-byte texels: no image can take them, so an image array is seen as memory.
TEST_P(Launch, LaunchesLikeEarlierOnesHaveTheirOwnArguments) {
  constexpr std::uint32_t kRows = 12;  // more shapes than plans are kept
  Module module = load(kStore);
  Kernel kernel = must(module.kernel("store"));
  Buffer counter = must(Buffer::create(test_device(), 4));
  must(counter.fill(0, 4, 0));
  Array arrays[] = {make_array(Geometry::d2, 40, kRows, abi::SurfaceFormat::u32, 1, GetParam()),
                    make_array(Geometry::d2, 24, kRows, abi::SurfaceFormat::u32, 1, GetParam())};
  std::optional<Surface> surfaces[] = {must(Surface::create(arrays[0])),
                                       must(Surface::create(arrays[1]))};
  LaunchConfig config;
  config.block = {32, 1, 1};
  std::uint32_t counted = 0;
  for (const std::uint32_t less : {0u, 1u, 2u})
    for (std::uint32_t rows = 1; rows <= kRows; ++rows)
      for (int i : {0, 1}) {
        const std::uint32_t extent = arrays[i].desc().width, width = extent - less;
        config.grid = {2, rows, 1};
        must(arrays[i].fill(0));
        must(kernel.launch(config, Args().surface(*surfaces[i]).buffer(counter).value(width)));
        counted += width * rows;
        const auto texels = read_array<std::uint32_t>(arrays[i]);
        for (std::uint32_t t = 0; t < texels.size(); ++t) {
          const std::uint32_t x = t % extent, y = t / extent;
          ASSERT_EQ(texels[t], x < width && y < rows ? x + 1000 * y : 0) << x << ' ' << y;
        }
      }
  EXPECT_EQ(read_buffer<std::uint32_t>(counter, 1)[0], counted);
  const auto trap = [&](std::uint64_t handle, std::uint32_t width) {
    auto result = kernel.launch(config, Args().value(handle).buffer(counter).value(width));
    return result ? abi::TrapKind::none : result.error().trap->kind;
  };
  const std::uint64_t handle = surfaces[1]->handle();
  EXPECT_EQ(trap(handle, 24), abi::TrapKind::none);
  EXPECT_EQ(trap(handle, 25), abi::TrapKind::out_of_bounds);
  EXPECT_EQ(trap(handle, 24), abi::TrapKind::none);
  surfaces[1].reset();
  EXPECT_EQ(trap(handle, 24), abi::TrapKind::dead_handle);
  // The next one takes its place in the table.
  surfaces[1] = must(Surface::create(arrays[0]));
  EXPECT_EQ(trap(handle, 24), abi::TrapKind::dead_handle);
  EXPECT_EQ(trap(surfaces[1]->handle(), 40), abi::TrapKind::none);
}

TEST_P(Launch, SubTexelStoresLeaveTheirNeighbours) {
  Module module = load(R"(
.visible .entry bytes(.param .u64 surface) {
  .reg .b16 %rs<2>;
  .reg .b32 %r<3>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [surface];
  mov.u32 %r1, %tid.x;
  shl.b32 %r2, %r1, 1;
  cvt.u16.u32 %rs1, %r1;
  sust.b.1d.b8.clamp [%rd1, {%r2}], %rs1;
  ret;
}
)");
  Array array = make_array(Geometry::d1, 64, 1, abi::SurfaceFormat::u16, 1, GetParam());
  must(array.fill(0xee));
  Surface surface = must(Surface::create(array));
  LaunchConfig config;
  config.block = {64, 1, 1};
  must(must(module.kernel("bytes")).launch(config, Args().surface(surface)));
  auto texels = read_array<std::uint16_t>(array);
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(texels[i], 0xee00u + i);
}

// Handles loaded from memory: any surface may be meant.
TEST_P(Launch, HandlesFromMemoryReachTheirSurfaces) {
  Module module = load(R"(
.visible .entry scatter(.param .u64 handles) {
  .reg .b32 %r<4>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [handles];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 8;
  add.u64 %rd3, %rd1, %rd2;
  ld.global.u64 %rd4, [%rd3];
  mov.u32 %r2, 0;
  add.u32 %r3, %r1, 77;
  sust.b.1d.b32.trap [%rd4, {%r2}], %r3;
  ret;
}
)");
  std::vector<Array> arrays;
  std::vector<Surface> surfaces;
  std::vector<std::uint64_t> handles;
  for (int i = 0; i < 8; ++i) {
    arrays.push_back(make_array(Geometry::d1, 4, 1, abi::SurfaceFormat::u32, 1, GetParam()));
    surfaces.push_back(must(Surface::create(arrays.back())));
    handles.push_back(surfaces.back().handle());
  }
  Buffer buffer = must(Buffer::create(test_device(), 64));
  must(buffer.upload(0, bytes_of(handles)));
  LaunchConfig config;
  config.block = {8, 1, 1};
  must(must(module.kernel("scatter")).launch(config, Args().buffer(buffer)));
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(read_array<std::uint32_t>(arrays[i])[0], i + 77);
}

INSTANTIATE_TEST_SUITE_P(Backing, Launch,
                         testing::Values(ArrayBacking::linear, ArrayBacking::image),
                         [](const auto& each) {
                           return each.param == ArrayBacking::image ? "image" : "linear";
                         });

TEST(Kernels, WrongArgumentsNameTheParameter) {
  Module module = load(kStore);
  Kernel kernel = must(module.kernel("store"));
  auto few = kernel.launch({}, Args().value(1u));
  ASSERT_FALSE(few);
  EXPECT_NE(few.error().text.find("3 parameters"), std::string::npos) << few.error().text;
  auto narrow = kernel.launch({}, Args().value(1u).value(std::uint64_t{0}).value(1u));
  ASSERT_FALSE(narrow);
  EXPECT_EQ(narrow.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(narrow.error().text.find("'surface'"), std::string::npos) << narrow.error().text;
  auto missing = module.kernel("stor");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().text.find("store"), std::string::npos);
}

// What a launch is given in a surface's place: buffers and textures, and objects of another device,
// whose handles are none here even as bare numbers.
TEST(Kernels, SurfacesAreOfTheirKindAndDevice) {
  Module module = load(
      ".visible .entry store(.param .u64 target) {\n .reg .b64 %h;\n ld.param.u64 %h, [target];\n"
      " sust.b.2d.b32.trap [%h, {0, 0}], 7;\n ret;\n}\n");
  Kernel kernel = must(module.kernel("store"));
  ArrayDesc desc;
  desc.width = desc.height = 4;
  Buffer buffer = must(Buffer::create(test_device(), 64));
  Array array = must(Array::create(test_device(), desc));
  Texture texture = must(Texture::create(array, {}));
  const auto refused = [&](const Args& args, const char* why) {
    auto ran = kernel.launch({}, args);
    ASSERT_FALSE(ran);
    EXPECT_EQ(ran.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(ran.error().text.find(why), std::string::npos) << ran.error().text;
  };
  refused(Args().buffer(buffer), "uses it as a surface, and an address was given");
  refused(Args().texture(texture), "uses it as a surface, and a texture was given");

  DeviceOptions options;
  options.select = "index:" + std::to_string(test_device().info().index);
  Device other = must(Device::open(options));
  Array foreign = must(Array::create(other, desc));
  must(foreign.fill(0));
  Surface surface = must(Surface::create(foreign));
  refused(Args().surface(surface), "a surface of another device was given");
  Surface own = must(Surface::create(array));
  EXPECT_NE(own.handle(), surface.handle());
  auto ran = kernel.launch({}, Args().value(surface.handle()));
  ASSERT_FALSE(ran);
  ASSERT_TRUE(ran.error().trap) << ran.error().text;
  EXPECT_EQ(ran.error().trap->kind, abi::TrapKind::dead_handle);
  EXPECT_EQ(read_array<std::uint32_t>(foreign), std::vector<std::uint32_t>(16));
}

// nvcc inlines surf2Dwrite out of a header: the report leads from there to the kernel's own line.
TEST(Kernels, TrapsNameTheWholeChainOfInlinedCalls) {
  Module module = load(
      ".file 1 \"kernel.cu\"\n.file 2 \"surface_functions.h\"\n.file 3 \"store.cuh\"\n"
      ".visible .entry store(.param .u64 target) {\n .reg .b64 %h;\n .loc 1 40 3\n"
      " ld.param.u64 %h, [target];\n"
      " .loc 3 9 5, function_name $L_store, inlined_at 1 40 3\n"
      " .loc 2 120 1, function_name $L_write, inlined_at 3 9 5\n"
      " sust.b.2d.b32.trap [%h, {64, 0}], 7;\n ret;\n}\n");
  ArrayDesc desc;
  desc.width = desc.height = 4;
  Array array = must(Array::create(test_device(), desc));
  Surface surface = must(Surface::create(array));
  auto ran = must(module.kernel("store")).launch({}, Args().surface(surface));
  ASSERT_FALSE(ran);
  ASSERT_TRUE(ran.error().trap) << ran.error().text;
  const TrapReport& report = *ran.error().trap;
  EXPECT_EQ(report.source_file, "surface_functions.h");
  EXPECT_EQ(report.source_line, 120u);
  ASSERT_EQ(report.inlined_at.size(), 2u);
  EXPECT_EQ(report.inlined_at[0].file, "store.cuh");
  EXPECT_EQ(report.inlined_at[0].line, 9u);
  EXPECT_EQ(report.inlined_at[1].file, "kernel.cu");
  EXPECT_EQ(report.inlined_at[1].line, 40u);
  EXPECT_NE(ran.error().to_string().find("inlined at: kernel.cu:40\n"), std::string::npos);
}

// As C++ compilers mangle it; what is no such name stays as it is.
TEST(Kernels, TrapsNameTheKernelAsItsAuthorDid) {
  Module module = load(
      ".visible .entry _Z4stopPi() { trap; }\n.visible .entry _Zstop() { trap; }\n"
      ".func _ZN4user4stopEj() { trap; }\n.visible .entry caller() { call _ZN4user4stopEj; ret; "
      "}\n");
  const auto reported = [&](const char* name) {
    auto ran = must(module.kernel(name)).launch({}, {});
    return ran || !ran.error().trap ? "no trap" : ran.error().trap->to_string();
  };
  EXPECT_NE(reported("_Z4stopPi").find("\n  kernel: _Z4stopPi (stop(int*))\n"), std::string::npos);
  EXPECT_NE(reported("_Zstop").find("\n  kernel: _Zstop\n"), std::string::npos);
  EXPECT_NE(reported("caller").find(
                "\n  kernel: caller, in _ZN4user4stopEj (user::stop(unsigned int))\n"),
            std::string::npos)
      << reported("caller");
}

TEST(Results, TheValueOfAFailedCallEndsTheProgramWithItsError) {
  auto module = Module::load(test_device(), ".version 8.3\n.target sm_80\nnonsense\n", "bad.ptx");
  ASSERT_FALSE(module);
  EXPECT_DEATH((void)module->kernel("k"), "failed call.*\n*.*bad.ptx:3");
  auto file = Module::load_file(test_device(), "/nowhere/none.ptx");
  EXPECT_DEATH((void)*file, "/nowhere/none.ptx cannot be read: No such file");
}

TEST(Kernels, WrongShapesAreRefused) {
  Module module = load(kStore);
  Kernel kernel = must(module.kernel("store"));
  Args args;
  args.value(std::uint64_t{0}).value(std::uint64_t{0}).value(0u);
  for (auto change : std::vector<void (*)(LaunchConfig&)>{[](LaunchConfig& c) { c.grid.x = 0; },
                                                          [](LaunchConfig& c) {
                                                            c.block = {1024, 2, 1};
                                                          },
                                                          [](LaunchConfig& c) {
                                                            c.block = {1, 1, 65};
                                                          },
                                                          [](LaunchConfig& c) { c.grid.y = 65536; },
                                                          [](LaunchConfig& c) { c.repeat = 0; }}) {
    LaunchConfig config;
    change(config);
    auto result = kernel.launch(config, args);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::invalid_argument) << result.error().text;
  }
}

TEST(Kernels, PtxErrorsHaveAPlace) {
  auto module = Module::load(test_device(),
                             ".version 8.3\n.target sm_80\n.visible .entry k() { frob.u32 %r1; }\n",
                             "bad.ptx");
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().code, ErrorCode::translation);
  EXPECT_EQ(module.error().text.rfind("bad.ptx:3:", 0), 0u) << module.error().text;
}

constexpr const char* kCount = R"(
.visible .entry count(.param .u64 counter) {
  .reg .b32 %r<3>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [counter];
  atom.global.add.u32 %r1, [%rd1], 1;
  ret;
}
)";

TEST(Kernels, GridsAndBlocksBeyondTheDevicesLimitsRunWhole) {
  Module module = load(kCount);
  Kernel kernel = must(module.kernel("count"));
  Buffer counter = must(Buffer::create(test_device(), 4));
  for (auto [grid, block] : std::vector<std::pair<Dim3, Dim3>>{{{70'000, 1, 1}, {1, 1, 1}},
                                                               {{3, 2, 2}, {1024, 1, 1}},
                                                               {{5, 1, 1}, {32, 32, 1}},
                                                               {{1, 1, 3}, {2, 2, 64}}}) {
    must(counter.fill(0, 4, 0));
    LaunchConfig config;
    config.grid = grid;
    config.block = block;
    must(kernel.launch(config, Args().buffer(counter)));
    EXPECT_EQ(read_buffer<std::uint32_t>(counter, 1)[0],
              grid.x * grid.y * grid.z * block.x * block.y * block.z);
  }
  must(counter.fill(0, 4, 0));
  LaunchConfig config;
  config.repeat = 10;
  config.block = {32, 1, 1};
  must(kernel.launch(config, Args().buffer(counter)));
  EXPECT_EQ(read_buffer<std::uint32_t>(counter, 1)[0], 320u);
}

TEST(Kernels, SharedMemoryAndBarriersInEveryThreadModel) {
  Module module = load(R"(
.extern .shared .align 4 .b8 dynamic[];
.visible .entry reverse(.param .u64 data) {
  .reg .b32 %r<10>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [data];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %ctaid.x;
  mad.lo.u32 %r4, %r3, %r2, %r1;
  mul.wide.u32 %rd2, %r4, 4;
  add.u64 %rd3, %rd1, %rd2;
  ld.global.u32 %r5, [%rd3];
  mov.u32 %r6, dynamic;
  shl.b32 %r7, %r1, 2;
  add.u32 %r7, %r7, %r6;
  st.shared.u32 [%r7], %r5;
  bar.sync 0;
  sub.u32 %r8, %r2, %r1;
  sub.u32 %r8, %r8, 1;
  shl.b32 %r8, %r8, 2;
  add.u32 %r8, %r8, %r6;
  ld.shared.u32 %r9, [%r8];
  st.global.u32 [%rd3], %r9;
  ret;
}
)");
  Kernel kernel = must(module.kernel("reverse"));
  for (std::uint32_t threads : {64u, 1000u}) {
    std::vector<std::uint32_t> data(3 * threads);
    for (std::uint32_t i = 0; i < data.size(); ++i) data[i] = i;
    Buffer buffer = must(Buffer::create(test_device(), data.size() * 4));
    must(buffer.upload(0, bytes_of(data)));
    LaunchConfig config;
    config.grid = {3, 1, 1};
    config.block = {threads, 1, 1};
    config.dynamic_shared = threads * 4;
    auto result = kernel.launch(config, Args().buffer(buffer));
    ASSERT_TRUE(result) << result.error().text;
    auto back = read_buffer<std::uint32_t>(buffer, data.size());
    for (std::uint32_t i = 0; i < data.size(); ++i)
      ASSERT_EQ(back[i], i / threads * threads + threads - 1 - i % threads) << threads;
  }
}

TEST(Kernels, VariablesAreSetAndReadByName) {
  Module module = load(R"(
.visible .global .align 4 .u32 total = 5;
.visible .const .align 4 .u32 factor = 3;
.visible .global .align 8 .u64 where = total;
.visible .entry add() {
  .reg .b32 %r<5>;
  .reg .b64 %rd<3>;
  ld.const.u32 %r1, [factor];
  ld.global.u64 %rd1, [where];
  ld.global.u32 %r2, [%rd1];
  add.u32 %r3, %r2, %r1;
  st.global.u32 [total], %r3;
  ret;
}
)");
  Kernel kernel = must(module.kernel("add"));
  auto total = [&] {
    std::vector<std::uint32_t> value(1);
    must(module.get_global("total", writable(value)));
    return value[0];
  };
  EXPECT_EQ(total(), 5u);
  must(kernel.launch({}, {}));
  EXPECT_EQ(total(), 8u);
  must(module.set_global("factor", bytes_of(std::vector<std::uint32_t>{100})));
  must(kernel.launch({}, {}));
  EXPECT_EQ(total(), 108u);
  EXPECT_EQ(must(module.global_size("where")), 8u);
  EXPECT_FALSE(module.global_address("nothing"));
  EXPECT_FALSE(module.set_global("total", bytes_of(std::vector<std::uint32_t>{1, 2})));
}

TEST(Kernels, SurfrefsAreBoundByNameAndPerLaunch) {
  Module module = load(R"(
.global .surfref canvas;
.visible .entry paint(.param .u32 value) {
  .reg .b32 %r<4>;
  ld.param.u32 %r1, [value];
  mov.u32 %r2, 0;
  sust.b.1d.b32.trap [canvas, {%r2}], %r1;
  ret;
}
)");
  Kernel kernel = must(module.kernel("paint"));
  auto unbound = kernel.launch({}, Args().value(1u));
  ASSERT_FALSE(unbound);
  EXPECT_EQ(unbound.error().trap ? unbound.error().trap->kind : abi::TrapKind::none,
            abi::TrapKind::dead_handle);
  Array a = make_array(Geometry::d1, 4, 1, abi::SurfaceFormat::u32, 1, ArrayBacking::linear);
  Array b = make_array(Geometry::d1, 4, 1, abi::SurfaceFormat::u32, 1, ArrayBacking::image);
  Surface sa = must(Surface::create(a)), sb = must(Surface::create(b));
  must(module.bind_surface("canvas", sa));
  must(kernel.launch({}, Args().value(1u)));
  must(kernel.launch({}, Args().value(2u).surfref("canvas", sb)));
  EXPECT_EQ(read_array<std::uint32_t>(a)[0], 1u);
  EXPECT_EQ(read_array<std::uint32_t>(b)[0], 2u);
  EXPECT_FALSE(module.bind_surface("canvass", sa));
  EXPECT_FALSE(kernel.launch({}, Args().value(2u).surfref("canvass", sb)));
}

TEST(Kernels, InitialisersOfASurfrefHoldUntilSomethingIsBound) {
  Module module = load(R"(
.global .surfref canvas = {width = 6, height = 9};
.visible .entry ask(.param .u64 out) {
  .reg .b32 %r<4>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [out];
  suq.width.b32 %r1, [canvas];
  suq.height.b32 %r2, [canvas];
  st.global.v2.u32 [%rd1], {%r1, %r2};
  ret;
}
)");
  Kernel kernel = must(module.kernel("ask"));
  Buffer out = must(Buffer::create(test_device(), 8));
  must(kernel.launch({}, Args().buffer(out)));
  EXPECT_EQ(read_buffer<std::uint32_t>(out, 2), (std::vector<std::uint32_t>{6, 9}));
  Array array = make_array(Geometry::d2, 4, 3, abi::SurfaceFormat::u32, 1, ArrayBacking::linear);
  Surface surface = must(Surface::create(array));
  must(module.bind_surface("canvas", surface));
  must(kernel.launch({}, Args().buffer(out)));
  EXPECT_EQ(read_buffer<std::uint32_t>(out, 2), (std::vector<std::uint32_t>{4, 3}));
}

// Silent under the validation layer, as everything in this process.
TEST(Kernels, DebugInformationChangesNothing) {
  ModuleOptions options;
  options.debug_info = true;
  Module module = load(R"(
.visible .entry twice(.param .u64 cell) {
  .reg .b32 %r<3>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [cell];
  ld.global.u32 %r1, [%rd1];
  add.u32 %r2, %r1, %r1;
  st.global.u32 [%rd1], %r2;
  ret;
}
)",
                       options);
  Buffer cell = must(Buffer::create(test_device(), 4));
  must(cell.fill(0, 4, 21, 4));
  must(must(module.kernel("twice")).launch({}, Args().buffer(cell)));
  EXPECT_EQ(read_buffer<std::uint32_t>(cell, 1)[0], 42u);
}

TEST(Kernels, TakeArraysOfVectors) {
  Module module = load(R"(
.visible .entry store(.param .u32 first, .param .v2 .u32 pairs[3], .param .u64 out) {
  .reg .b32 %r<8>;
  .reg .b64 %d<2>;
  ld.param.u64 %d0, [out];
  ld.param.v2.u32 {%r0, %r1}, [pairs];
  ld.param.u32 %r2, [pairs+8];
  ld.param.u32 %r3, [pairs+12];
  ld.param.v2.u32 {%r4, %r5}, [pairs+16];
  ld.param.u32 %r6, [first];
  st.global.v4.u32 [%d0], {%r0, %r1, %r2, %r3};
  st.global.v2.u32 [%d0+16], {%r4, %r5};
  st.global.u32 [%d0+24], %r6;
  ret;
}
)");
  const std::vector<std::uint32_t> pairs{1, 20, 300, 4000, 50000, 600000};
  Buffer out = must(Buffer::create(test_device(), 28));
  Args args;
  args.value(7).bytes(bytes_of(pairs)).buffer(out);
  must(must(module.kernel("store")).launch({}, args));
  EXPECT_EQ(read_buffer<std::uint32_t>(out, 7),
            (std::vector<std::uint32_t>{1, 20, 300, 4000, 50000, 600000, 7}));
}

TEST(Kernels, PrintfComesOutInOrder) {
  Module module = load(R"(
.global .align 1 .b8 $fmt[22] = {116, 104, 114, 101, 97, 100, 32, 37, 100, 58, 32, 37, 46, 50, 102,
 32, 37, 108, 120, 33, 10, 0};
.extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 arguments);
.visible .entry hello() {
  .local .align 8 .b8 depot[24];
  .reg .b32 %r<4>;
  .reg .b64 %rd<6>;
  .reg .f64 %fd<3>;
  mov.u32 %r1, %tid.x;
  mov.u64 %rd1, depot;
  cvta.local.u64 %rd2, %rd1;
  st.local.u32 [%rd1], %r1;
  mov.u64 %rd5, 0x3FF8000000000000;
  st.local.u64 [%rd1+8], %rd5;
  mov.u64 %rd3, 0x123456789a;
  st.local.u64 [%rd1+16], %rd3;
  mov.u64 %rd4, $fmt;
  cvta.global.u64 %rd4, %rd4;
  {
    .param .b64 p0;
    .param .b64 p1;
    .param .b32 r0;
    st.param.b64 [p0], %rd4;
    st.param.b64 [p1], %rd2;
    call.uni (r0), vprintf, (p0, p1);
    ld.param.b32 %r2, [r0];
  }
  ret;
}
)");
  printed().clear();
  LaunchConfig config;
  config.grid = {3, 1, 1};
  must(must(module.kernel("hello")).launch(config, {}));
  EXPECT_EQ(printed(),
            "thread 0: 1.50 123456789a!\nthread 0: 1.50 123456789a!\nthread 0: 1.50 123456789a!\n");
}

}  // namespace
}  // namespace ptx2spv
