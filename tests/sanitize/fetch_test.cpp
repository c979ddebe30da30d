// Reads of textures of linear memory out of range.
#include <fmt/format.h>

#include "tests/sanitize/scene.hpp"

namespace ptx2spv {
namespace {

constexpr const char* kFetch = R"(.version 8.3
.target sm_80
.address_size 64
.visible .entry k(.param .u64 texture, .param .s32 offset, .param .u64 to) {
  .reg .b64 %d<4>; .reg .b32 %r<8>;
  ld.param.u64 %d0, [texture]; ld.param.s32 %r0, [offset]; ld.param.u64 %d1, [to];
  mov.u32 %r1, %tid.x; add.s32 %r0, %r0, %r1;
  tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%d0, {%r0}];
  mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;
  st.global.u32 [%d1], %r2;
  ret;
}
)";

TEST(Textures, FetchesOutOfLinearMemoryAreFound) {
  Device device = open_checked(check_memory);
  const std::vector<std::uint32_t> texels(64, 5);
  Buffer memory = must(Buffer::create(device, 256)), to = must(Buffer::create(device, 128));
  must(memory.upload(0, bytes_of(texels)));
  TextureMemory view;
  view.width = 64;
  Texture texture = must(Texture::create(memory, view, {}));
  Module module = must(Module::load(device, kFetch, "fetch.ptx"));
  Kernel kernel = must(module.kernel("k"));
  LaunchConfig config;
  config.block = {32, 1, 1};
  const auto threads = [&](std::int32_t offset) {
    const auto before = device.sanitizer_report();
    must(kernel.launch(config, Args().texture(texture).value(offset).buffer(to)));
    const auto after = device.sanitizer_report();
    if (after.findings.empty()) return std::uint64_t{0};
    return after.findings[0].threads - (before.findings.empty() ? 0 : before.findings[0].threads);
  };
  EXPECT_EQ(threads(0), 0u);
  EXPECT_EQ(threads(32), 0u);
  EXPECT_EQ(threads(33), 1u);
  EXPECT_EQ(read_buffer<std::uint32_t>(to, 32)[31], 0u);
  EXPECT_EQ(read_buffer<std::uint32_t>(to, 32)[30], 5u);
  EXPECT_EQ(threads(-2), 2u);
  const SanitizerReport report = device.sanitizer_report();
  ASSERT_EQ(report.findings.size(), 1u);
  const Finding& found = report.findings[0];
  EXPECT_EQ(found.kind, FindingKind::out_of_bounds);
  EXPECT_EQ(found.memory, MemorySpace::texture);
  EXPECT_EQ(found.line, 8u);
  ASSERT_EQ(found.coordinates.size(), 1u);
  EXPECT_EQ(found.coordinates[0].second, 64);
}

Scene scene_of(std::int64_t offset) {
  Scene scene;
  scene.name = fmt::format("fetch, {} texels from the start", offset);
  scene.check = "memory";
  scene.faulty = offset < 0 || offset > 32;
  scene.ptx = kFetch;
  scene.kernel = "k";
  scene.block = {32, 1};
  scene.memory = {{"texels", 256, 5u}, {"to", 128}};
  scene.memory[0].texture = 64;
  scene.arguments = {
      {Scene::Kind::texture, 0}, {Scene::Kind::value, offset, 4}, {Scene::Kind::memory, 1}};
  return scene;
}

TEST(Textures, ScenesOfFetches) { run_scenes(fetch_scenes()); }

}  // namespace

std::vector<Scene> fetch_scenes() {
  return {scene_of(0), scene_of(32), scene_of(33), scene_of(-2)};
}

}  // namespace ptx2spv
