// Modules that come and go leave nothing behind: neither with us nor with a CPU driver, whose
// memory is this process's.
#include <malloc.h>

#include "src/device/device.hpp"
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

}  // namespace
}  // namespace ptx2spv
