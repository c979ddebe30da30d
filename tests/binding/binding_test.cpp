// A host that has only Vulkan, the description that ptx2spv writes and abi.md runs modules.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/binding/module.hpp"
#include "tests/support/process.hpp"

namespace binding {
namespace {

/// Names SwiftShader's library to the loader, which does not know of it.
void announce_swiftshader() {
  static const ptx2spv::test::TemporaryFolder folder;
  const char* given = std::getenv("PTX2SPV_SWIFTSHADER");
  for (std::string place :
       {std::string(given ? given : ""), std::string(PTX2SPV_SOURCE_DIR) + "/build/swiftshader",
        std::string("/usr/lib/chromium")}) {
    if (std::filesystem::is_directory(place)) place += "/libvk_swiftshader.so";
    if (place.empty() || !std::filesystem::exists(place)) continue;
    const std::string text = R"({"file_format_version":"1.0.0","ICD":{"library_path":")" + place +
                             R"(","api_version":"1.2.0"}})";
    setenv("VK_ICD_FILENAMES", folder.write("swiftshader.json", text).c_str(), 1);
    return;
  }
}

std::unique_ptr<Host> g_host;

class Device : public testing::Environment {
 public:
  void SetUp() override {
    const char* request = std::getenv("PTX2SPV_DEVICE");
    const std::string name = request ? request : "swiftshader";
    if (name == "swiftshader") announce_swiftshader();
    std::string problem;
    g_host = Host::open(name == "lavapipe" ? "llvmpipe" : name, problem);
    ASSERT_TRUE(g_host) << problem;
  }
  void TearDown() override {
    if (!g_host) return;
    EXPECT_EQ(g_host->complaints(), 0u) << "the validation layer found fault";
    g_host.reset();
  }
};
const auto* g_environment = testing::AddGlobalTestEnvironment(new Device);

Module load(const std::string& body, std::vector<std::string> options = {}) {
  std::string problem;
  Module module(*g_host, ".version 8.3\n.target sm_80\n.address_size 64\n" + body, options,
                problem);
  EXPECT_EQ(problem, "");
  if (!problem.empty()) std::abort();
  return module;
}

std::vector<std::uint32_t> numbers(std::size_t count, std::uint32_t first) {
  std::vector<std::uint32_t> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = first + static_cast<std::uint32_t>(i) * 3;
  return out;
}

// Reads a .surfref, writes through a handle, adds a constant, counts in a variable that another
// variable's initialiser points to.
constexpr const char* kCopy = R"(
.global .surfref canvas;
.const .align 4 .b32 factors[2] = {5, 1000};
.global .align 4 .u32 total[3] = {7, 8, 9};
.global .align 8 .u64 where = generic(total) + 4;
.visible .entry copy(.param .u32 add, .param .u64 target) {
  .reg .b32 %r<12>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [target];
  ld.param.u32 %r1, [add];
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %ctaid.x;
  shl.b32 %r4, %r2, 2;
  suld.b.2d.b32.trap %r5, [canvas, {%r4, %r3}];
  ld.const.u32 %r6, [factors+4];
  add.u32 %r7, %r5, %r6;
  add.u32 %r7, %r7, %r1;
  sust.b.2d.b32.trap [%rd1, {%r4, %r3}], %r7;
  ld.global.u64 %rd2, [where];
  atom.global.add.u32 %r8, [%rd2], 1;
  suq.width.b32 %r9, [canvas];
  st.global.u32 [total], %r9;
  ret;
}
)";

struct Case {
  const char* name;
  bool image;
  std::vector<std::string> options;
};

class Backings : public testing::TestWithParam<Case> {};

TEST_P(Backings, ASurfrefAndAHandleReachTheirSurfaces) {
  std::vector<std::string> options = GetParam().options;
  Module module = load(kCopy, options);
  for (const auto& slot : module.entry("copy")["slots"])
    EXPECT_EQ(slot["backing"], GetParam().image                                      ? "image"
                               : std::string(GetParam().name).ends_with("addresses") ? "address"
                                                                                     : "buffer");
  Surface& from = module.surface(13, 5, GetParam().image);
  Surface& to = module.surface(13, 5, GetParam().image);
  module.put(from, numbers(65, 100));
  module.put(to, numbers(65, 0));
  Module::Launch launch;
  launch.arguments = {{"add", 20000}, {"target", to.handle}};
  launch.surfrefs = {{"canvas", from.handle}};
  launch.grid[0] = 5;
  launch.block[0] = 13;
  const Trap trap = module.run("copy", launch);
  EXPECT_EQ(trap.count, 0u);
  EXPECT_EQ(module.texels(to), numbers(65, 21100));
  EXPECT_EQ(module.texels(from), numbers(65, 100));
  EXPECT_EQ(module.variable("total"), 13u);
  EXPECT_EQ(module.variable("total", 1), 8u + 65);
  EXPECT_EQ(module.variable("total", 2), 9u);
}

TEST_P(Backings, AnAccessOutOfBoundsTellsWhere) {
  Module module = load(kCopy, GetParam().options);
  Surface& from = module.surface(13, 5, GetParam().image);
  Surface& to = module.surface(11, 4, GetParam().image);
  module.put(from, numbers(65, 100));
  module.put(to, numbers(44, 0));
  Module::Launch launch;
  launch.arguments = {{"add", 0}, {"target", to.handle}};
  launch.surfrefs = {{"canvas", from.handle}};
  launch.grid[0] = 5;
  launch.block[0] = 13;
  const Trap trap = module.run("copy", launch);
  EXPECT_EQ(trap.count, 4u * 2 + 13);
  EXPECT_EQ(trap.claimed, 1u);
  EXPECT_EQ(trap.kind, 1u);
  EXPECT_EQ(trap.site["surface"], "target");
  EXPECT_EQ(trap.site["line"], 21);
  EXPECT_EQ(trap.site["text"], "sust.b.2d.b32.trap [%rd1, {%r4, %r3}], %r7");
  EXPECT_EQ(trap.site["coordinates"], (nlohmann::json{"x", "y"}));
  EXPECT_EQ(trap.coordinates[0], static_cast<std::int32_t>(trap.thread[0] * 4));
  EXPECT_EQ(trap.coordinates[1], static_cast<std::int32_t>(trap.cta[0]));
  EXPECT_TRUE(trap.thread[0] >= 11 || trap.cta[0] == 4);
  EXPECT_EQ(trap.handle & 0xffffffff, to.handle & 0xffffffff);
  // What was in bounds stands; a trapped thread did nothing after its trap.
  const auto written = module.texels(to);
  for (std::uint32_t i = 0; i < 44; ++i)
    EXPECT_EQ(written[i], 1100 + 3 * (i / 11 * 13 + i % 11)) << i;
  EXPECT_EQ(module.variable("total", 1), 8u + 44);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Backings,
    testing::Values(Case{"buffers", false, {}}, Case{"addresses", false, {"--no-slots"}},
                    Case{"bound", false, {"--disable", "device_addresses"}},
                    Case{"bound_addresses", false, {"--no-slots", "--disable", "device_addresses"}},
                    Case{"pushed", false, {"--push", "32"}},
                    Case{"small", false, {"--push", "28", "--small-grid"}},
                    Case{"images",
                         true,
                         {"--backing", "canvas=image:u32x1:2d", "--backing",
                          "target=image:u32x1:2d"}}),
    [](const auto& each) { return each.param.name; });

TEST(Binding, ADeadHandleTraps) {
  Module module = load(kCopy);
  Surface& from = module.surface(4, 4, false);
  Surface& gone = module.surface(4, 4, false);
  const std::uint64_t stale = gone.handle;
  module.destroy(gone);
  for (const std::uint64_t handle : {stale, std::uint64_t{0}, from.handle ^ std::uint64_t{1} << 32,
                                     std::uint64_t{0x7fffffff00000123}}) {
    Module::Launch launch;
    launch.arguments = {{"add", 0}, {"target", handle}};
    launch.surfrefs = {{"canvas", from.handle}};
    launch.block[0] = 3;
    const Trap trap = module.run("copy", launch);
    EXPECT_EQ(trap.count, 3u);
    EXPECT_EQ(trap.kind, 3u);
    EXPECT_EQ(trap.site["surface"], "target");
  }
}

TEST(Binding, HandlesFromMemoryAreLookedUpInTheTable) {
  Module module = load(R"(
.global .align 8 .u64 handles[8];
.visible .entry scatter() {
  .reg .b32 %r<4>;
  .reg .b64 %rd<5>;
  mov.u64 %rd1, handles;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 8;
  add.u64 %rd3, %rd1, %rd2;
  ld.global.u64 %rd4, [%rd3];
  add.u32 %r3, %r1, 77;
  sust.b.2d.b32.trap [%rd4, {0, 1}], %r3;
  ret;
}
)");
  EXPECT_EQ(module.entry("scatter")["dynamic_handles"], true);
  std::vector<Surface*> surfaces;
  for (std::uint32_t i = 0; i < 8; ++i) {
    surfaces.push_back(&module.surface(3, 2, false));
    module.variable("handles", 2 * i) = static_cast<std::uint32_t>(surfaces[i]->handle);
    module.variable("handles", 2 * i + 1) = static_cast<std::uint32_t>(surfaces[i]->handle >> 32);
  }
  module.destroy(*surfaces[5]);
  Module::Launch launch;
  launch.block[0] = 8;
  const Trap trap = module.run("scatter", launch);
  EXPECT_EQ(trap.count, 1u);
  EXPECT_EQ(trap.kind, 3u);
  EXPECT_EQ(trap.thread[0], 5u);
  for (std::uint32_t i = 0; i < 8; ++i)
    EXPECT_EQ(module.texels(*surfaces[i])[3], i == 5 ? 0 : 77 + i) << i;
}

// Without 64-bit atomics a minimum takes one of the locks.
TEST(Binding, ReductionsOf64BitsTakeTheLocks) {
  Module module = load(R"(
.visible .entry least(.param .surfref cell) {
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mad.lo.u32 %r3, %r2, 64, %r1;
  mul.wide.u32 %rd1, %r3, 0x10001;
  xor.b64 %rd2, %rd1, 0x5a5a00000000;
  sured.b.max.2d.u64.trap [cell, {8, 1}], %rd2;
  ret;
}
)");
  Surface& cell = module.surface(4, 2, false);
  Module::Launch launch;
  launch.arguments = {{"cell", cell.handle}};
  launch.grid[0] = 50;
  launch.block[0] = 64;
  EXPECT_EQ(module.run("least", launch).count, 0u);
  std::uint64_t most = 0;
  for (std::uint64_t i = 0; i < 3200; ++i)
    most = std::max(most, i * 0x10001 ^ std::uint64_t{0x5a5a00000000});
  const auto texels = module.texels(cell);
  EXPECT_EQ(texels[6] | std::uint64_t{texels[7]} << 32, most);
}

// Threads in each model: numbers through shared memory and a barrier where there may be any.
struct Model {
  const char* name;
  std::vector<std::string> options;
};
class Models : public testing::TestWithParam<Model> {};

TEST_P(Models, EveryThreadRunsOnce) {
  const std::string model = GetParam().options[1];
  const std::string shared = R"(
  mov.u32 %r4, dynamic;
  shl.b32 %r5, %r1, 2;
  add.u32 %r4, %r4, %r5;
  st.shared.u32 [%r4], %r3;
  bar.sync 0;
  ld.shared.u32 %r3, [%r4];
)";
  Module module = load(
      ".global .surfref canvas;\n.extern .shared .align 4 .b8 dynamic[];\n"
      R"(
.visible .entry number() {
  .reg .b32 %r<9>;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r6, %ntid.x;
  mad.lo.u32 %r3, %r2, %r6, %r1;
)" + (model == "flat" ? "" : shared) +
          R"(
  shl.b32 %r7, %r1, 2;
  sust.b.2d.b32.trap [canvas, {%r7, %r2}], %r3;
  ret;
}
)",
      GetParam().options);
  EXPECT_EQ(module.entry("number")["threads"], model);
  Surface& canvas = module.surface(96, 3, false);
  Module::Launch launch;
  launch.surfrefs = {{"canvas", canvas.handle}};
  launch.grid[0] = 3;
  launch.block[0] = 96;
  launch.dynamic_shared = model == "flat" ? 0 : 96 * 4;
  EXPECT_EQ(module.run("number", launch).count, 0u);
  const auto texels = module.texels(canvas);
  for (std::uint32_t i = 0; i < texels.size(); ++i) EXPECT_EQ(texels[i], i);
}

INSTANTIATE_TEST_SUITE_P(
    Threads, Models,
    testing::Values(Model{"direct", {"--threads", "direct"}},
                    Model{"direct_small", {"--threads", "direct", "--small-grid"}},
                    Model{"flat", {"--threads", "flat"}},
                    Model{"flat_pushed", {"--threads", "flat", "--push", "30"}},
                    Model{"regions",
                          {"--threads", "regions", "--block", "96", "--workgroup", "32"}},
                    Model{"regions_small",
                          {"--threads", "regions", "--block", "96", "--workgroup", "32", "--push",
                           "64", "--small-grid"}}),
    [](const auto& each) { return each.param.name; });

// What an image cannot do is said by name and at once.
TEST(Binding, AnImageThatCannotTakeAStoreIsRefused) {
  std::string problem;
  const std::string body =
      ".version 8.3\n.target sm_80\n.address_size 64\n"
      ".visible .entry k(.param .surfref s) {\n"
      "  sust.b.2d.b8.trap [s, {0, 0}], 1;\n  sured.b.add.2d.u32.trap [s, {0, 0}], 1;\n  ret;\n}\n";
  Module narrow(*g_host, body, {"--backing", "s=image:u16x1:2d"}, problem);
  EXPECT_NE(problem.find("texels of 2 bytes takes no stores of 1 bytes; bind surface 's'"),
            std::string::npos)
      << problem;
  Module wide(*g_host, body, {"--backing", "s=image:u8x1:2d"}, problem);
  EXPECT_NE(problem.find("texels of 1 bytes takes no reductions of 4 bytes"), std::string::npos)
      << problem;
  Module good(*g_host, body, {"--backing", "s=image:u8x4:2d"}, problem);
  EXPECT_EQ(problem, "");
}

}  // namespace
}  // namespace binding
