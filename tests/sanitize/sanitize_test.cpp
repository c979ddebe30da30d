// What the sanitizer finds, and what it says of it.
#include <fmt/format.h>

#include <optional>

#include "tests/sanitize/checked_device.hpp"
#include "tests/sanitize/planted.hpp"

namespace ptx2spv {
namespace {

/// What is new in a report since it had `known` findings and these counts.
std::vector<Finding> news(const SanitizerReport& before, const SanitizerReport& after) {
  std::vector<Finding> found(after.findings.begin() + std::ptrdiff_t(before.findings.size()),
                             after.findings.end());
  for (std::size_t i = 0; i < before.findings.size(); ++i)
    if (after.findings[i].threads != before.findings[i].threads) found.push_back(after.findings[i]);
  return found;
}

FindingKind kind_of(const Planted& planted) {
  return planted.border == Border::askew ? FindingKind::misaligned : FindingKind::out_of_bounds;
}

void expect_planted(const Planted& planted, const Finding& found) {
  EXPECT_STREQ(to_string(found.kind), to_string(kind_of(planted)));
  EXPECT_EQ(found.line, planted.line());
  EXPECT_EQ(found.kernel, "planted");
  EXPECT_STREQ(to_string(found.access), to_string(planted.access));
  EXPECT_EQ(found.bytes, planted.bytes);
  EXPECT_EQ(found.thread[0], Planted::kThread);
  EXPECT_EQ(found.threads, 2u);
  EXPECT_TRUE(found.address_known);
  EXPECT_EQ(found.object_bytes, Planted::kBytes) << found.object;
  const bool array = planted.route == Route::parameter;
  EXPECT_NE(found.object.find(array ? "block" : "object"), std::string::npos) << found.object;
  const std::int32_t offset = planted.offset();
  const bool inside = offset >= 0 && offset < static_cast<std::int32_t>(Planted::kBytes);
  EXPECT_EQ(found.inside, inside);
  EXPECT_EQ(found.distance,
            inside || offset < 0 ? offset : offset - static_cast<std::int32_t>(Planted::kBytes));
}

TEST(Sanitize, FindsEveryPlantedFaultAndNothingWithoutIt) {
  const std::vector<Planted> all = planted_faults();
  EXPECT_GE(all.size(), 120u);
  std::optional<Device> opened;
  for (std::size_t i = 0; i < all.size(); i += share()) {
    const Planted& planted = all[i];
    SCOPED_TRACE(planted.name());
    // A device keeps a hundred places.
    if (!opened || opened->sanitizer_report().findings.size() > 90)
      opened = open_checked(check_memory);
    const Device& device = *opened;
    const Scene mended = planted.scene(false), faulty = planted.scene(true);
    Staged stage(device, mended), fault(device, faulty);
    const Module module = stage.load(planted.name() + ".ptx");
    const SanitizerReport start = device.sanitizer_report();
    must(stage.launch(module, planted.threads));
    const std::vector<Finding> none = news(start, device.sanitizer_report());
    EXPECT_TRUE(none.empty()) << none[0].to_string();
    must(fault.launch(module, planted.threads));
    const std::vector<Finding> found = news(start, device.sanitizer_report());
    ASSERT_EQ(found.size(), 1u) << (found.size() > 1 ? found[1].to_string() : "");
    expect_planted(planted, found[0]);
    compare_with_record(mended, none);
    compare_with_record(faulty, found);
    // The access did nothing and gave 0.
    if (planted.access != AccessKind::store) {
      const auto words = read_buffer<std::uint32_t>(fault.memory(2), 16);
      EXPECT_EQ(words[planted.bytes == 2 ? 1 : planted.bytes == 8 ? 2 : 0] & 0xffffu, 0u);
    }
    for (const std::uint32_t word : read_buffer<std::uint32_t>(fault.memory(0), 16))
      EXPECT_LE(word, 2u);
  }
}

constexpr const char* kStore = R"(.version 8.3
.target sm_80
.address_size 64
.visible .entry store(.param .u64 to) {
  .reg .b64 %d0;
  .reg .b32 %r0;
  ld.param.u64 %d0, [to];
  mov.u32 %r0, %tid.x;
  st.global.u32 [%d0], %r0;
  ret;
}
)";

std::vector<Finding> store_to(const Device& device, std::uint64_t address,
                              LaunchConfig config = {}) {
  const SanitizerReport before = device.sanitizer_report();
  Module module = must(Module::load(device, kStore, "store.ptx"));
  must(must(module.kernel("store")).launch(config, Args().address(address)));
  return news(before, device.sanitizer_report());
}

Scene store_scene(const char* name, bool faulty, Scene::Argument to, bool freed) {
  Scene scene;
  scene.name = fmt::format("memory, {}", name);
  scene.check = "memory";
  scene.faulty = faulty;
  scene.ptx = kStore;
  scene.kernel = "store";
  scene.memory = {{"gone", 64, 0u}};
  scene.memory[0].freed = freed;
  scene.arguments = {to};
  return scene;
}

TEST(Sanitize, ScenesOfMemory) { run_scenes(memory_scenes()); }

TEST(Sanitize, FreedMemoryAndNullPointersHaveKindsOfTheirOwn) {
  Device device = open_checked(check_memory);
  std::uint64_t address = 0;
  {
    Buffer gone = must(Buffer::create(device, 64));
    gone.set_name("gone");
    address = gone.address();
    EXPECT_TRUE(store_to(device, address).empty());
  }
  const auto freed = store_to(device, address + 4);
  ASSERT_EQ(freed.size(), 1u);
  EXPECT_EQ(freed[0].kind, FindingKind::freed_memory);
  EXPECT_EQ(freed[0].object, "gone");
  EXPECT_EQ(freed[0].distance, 4);
  const auto null = store_to(device, 0);
  ASSERT_EQ(null.size(), 1u);
  EXPECT_EQ(null[0].kind, FindingKind::null_pointer);
}

TEST(Sanitize, AStoreThroughAPointerToConstantsIsFound) {
  Device device = open_checked(check_memory);
  Module module =
      must(Module::load(device,
                        ".version 8.3\n.target sm_80\n.address_size 64\n.const .b32 c = 5;\n" +
                            std::string(kStore).substr(std::string(kStore).find(".visible")),
                        "constant.ptx"));
  const std::uint64_t address = must(module.global_address("c"));
  must(must(module.kernel("store")).launch({}, Args().address(address)));
  const SanitizerReport report = device.sanitizer_report();
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, FindingKind::constant_store);
  EXPECT_EQ(report.findings[0].object, "constant 'c'");
  std::vector<std::uint32_t> word(1);
  must(module.get_global("c", writable(word)));
  EXPECT_EQ(word[0], 5u);
}

TEST(Sanitize, OneLaunchMayAskForChecksAlone) {
  Device device = open_checked(no_checks);
  Buffer buffer = must(Buffer::create(device, 8));
  LaunchConfig config;
  config.checks = check_memory;
  EXPECT_TRUE(store_to(device, buffer.address(), config).empty());
  EXPECT_EQ(store_to(device, buffer.address() + 8, config).size(), 1u);
}

TEST(Sanitize, EveryThreadThatFaultsIsCountedOnceAPlace) {
  Device device = open_checked(check_memory);
  LaunchConfig config;
  config.grid = {3, 1, 1};
  config.block = {64, 1, 1};
  ASSERT_EQ(store_to(device, 16, config).size(), 1u);
  EXPECT_EQ(device.sanitizer_report().findings[0].threads, 192u);
  ASSERT_EQ(store_to(device, 16, config).size(), 1u);
  EXPECT_EQ(device.sanitizer_report().findings.size(), 1u);
  EXPECT_EQ(device.sanitizer_report().findings[0].threads, 384u);
}

TEST(Sanitize, AHundredPlacesAreKeptAndTheOthersCounted) {
  Device device = open_checked(check_memory);
  std::string text =
      ".version 8.3\n.target sm_80\n.address_size 64\n"
      ".visible .entry many(.param .u64 to) {\n  .reg .b64 %d; .reg .b32 %r;\n"
      "  ld.param.u64 %d, [to]; mov.u32 %r, 1;\n";
  for (int i = 0; i < 120; ++i)
    text += "  st.global.u32 [%d+" + std::to_string(64 + 4 * i) + "], %r;\n";
  Module module = must(Module::load(device, text + "  ret;\n}\n", "many.ptx"));
  Buffer to = must(Buffer::create(device, 64));
  LaunchConfig config;
  config.block = {2, 1, 1};
  for (std::uint64_t launch = 1; launch <= 2; ++launch) {
    must(must(module.kernel("many")).launch(config, Args().buffer(to)));
    const SanitizerReport report = device.sanitizer_report();
    EXPECT_EQ(report.findings.size(), 100u);
    EXPECT_EQ(report.places_left_out, 20u);
    for (const Finding& each : report.findings) EXPECT_EQ(each.threads, 2 * launch);
  }
}

TEST(Sanitize, StreamsAndGraphsReportToo) {
  Device device = open_checked(check_memory);
  Module module = must(Module::load(device, kStore, "store.ptx"));
  Kernel kernel = must(module.kernel("store"));
  Stream stream = must(Stream::create(device));
  must(stream.launch(kernel, {}, Args().address(16)));
  must(stream.synchronize());
  EXPECT_EQ(device.sanitizer_report().findings.size(), 1u);
  Graph graph = must(Graph::create(device));
  must(graph.add(kernel, {}, Args().address(16)));
  for (int i = 0; i < 2; ++i) {
    must(stream.replay(graph));
    must(stream.synchronize());
  }
  EXPECT_EQ(device.sanitizer_report().findings[0].threads, 3u);
}

// Two pointers, of which a thread takes one: the table is asked.
TEST(Sanitize, SelectedPointersAreNoFaults) {
  Device device = open_checked(check_memory);
  Module module = must(Module::load(device, R"(.version 8.3
.target sm_80
.address_size 64
.visible .entry pick(.param .u64 a, .param .u64 b) {
  .reg .pred %p;
  .reg .b64 %d<4>;
  .reg .b32 %r<3>;
  ld.param.u64 %d0, [a];
  ld.param.u64 %d1, [b];
  mov.u32 %r0, %tid.x;
  and.b32 %r1, %r0, 1;
  setp.eq.u32 %p, %r1, 0;
  selp.b64 %d2, %d0, %d1, %p;
  mul.wide.u32 %d3, %r0, 4;
  add.u64 %d2, %d2, %d3;
  st.global.u32 [%d2], %r0;
  ret;
}
)",
                                    "pick.ptx"));
  Buffer a = must(Buffer::create(device, 128)), b = must(Buffer::create(device, 128));
  LaunchConfig config;
  config.block = {32, 1, 1};
  Kernel kernel = must(module.kernel("pick"));
  must(kernel.launch(config, Args().buffer(a).buffer(b)));
  EXPECT_TRUE(device.sanitizer_report().findings.empty());
  EXPECT_EQ(read_buffer<std::uint32_t>(b, 32)[31], 31u);
  // A pointer to the end that is walked backwards from is none either.
  must(kernel.launch(config, Args().address(a.address() + 128 - 128).buffer(b)));
  EXPECT_TRUE(device.sanitizer_report().findings.empty());
  config.block = {33, 1, 1};
  must(kernel.launch(config, Args().buffer(a).buffer(b)));
  EXPECT_EQ(device.sanitizer_report().findings.size(), 1u);
}

// What nvcc makes of from[i]: a product of twice the width, added to the parameter. It leads into
// another allocation there.
TEST(Sanitize, AnIndexThatLeadsIntoAnotherAllocationIsFound) {
  Device device = open_checked(check_memory);
  Module module = must(Module::load(device, R"(.version 8.3
.target sm_80
.address_size 64
.visible .entry index(.param .u64 from, .param .u32 at) {
  .reg .b64 %d<4>;
  .reg .b32 %r<2>;
  ld.param.u64 %d0, [from];
  ld.param.u32 %r0, [at];
  mul.wide.s32 %d1, %r0, 4;
  add.s64 %d2, %d0, %d1;
  st.global.u32 [%d2], %r0;
  ret;
}
)",
                                    "index.ptx"));
  Buffer a = must(Buffer::create(device, 128)), b = must(Buffer::create(device, 128));
  const Kernel kernel = must(module.kernel("index"));
  const auto store = [&](std::int32_t at) {
    must(kernel.launch({}, Args().buffer(a).value(at)));
    return device.sanitizer_report().findings.size();
  };
  EXPECT_EQ(store(0), 0u);
  EXPECT_EQ(store(31), 0u);
  const auto distance = static_cast<std::int64_t>(b.address() - a.address());
  ASSERT_EQ(store(static_cast<std::int32_t>(distance / 4)), 1u);
  EXPECT_EQ(device.sanitizer_report().findings[0].pointer, "from");
}

// The heap is made for the first launch that needs it, which may use it too.
TEST(Sanitize, TheFirstLaunchWithMallocMayUseItsBlocks) {
  Device device = open_checked(check_memory);
  Module module = must(
      Module::load(device,
                   ".version 8.3\n.target sm_80\n.address_size 64\n"
                   ".extern .func (.param .b64 block) malloc(.param .b64 bytes);\n"
                   ".visible .entry k(.param .u64 to) {\n  .reg .b64 %d<4>; .reg .b32 %r<2>;\n"
                   "  ld.param.u64 %d0, [to];\n"
                   "  { .param .b64 bytes; st.param.b64 [bytes], 64; .param .b64 block;\n"
                   "  call.uni (block), malloc, (bytes); ld.param.b64 %d1, [block]; }\n"
                   "  st.u32 [%d1+60], 7;\n  ld.u32 %r0, [%d1+60];\n  st.global.u32 [%d0], %r0;\n"
                   "  ret;\n}\n",
                   "heap.ptx"));
  Buffer to = must(Buffer::create(device, 4));
  must(must(module.kernel("k")).launch({}, Args().buffer(to)));
  const SanitizerReport report = device.sanitizer_report();
  EXPECT_TRUE(report.findings.empty()) << report.findings[0].to_string();
  EXPECT_EQ(read_buffer<std::uint32_t>(to, 1)[0], 7u);
}

TEST(Sanitize, TheReportIsJson) {
  Device device = open_checked(check_memory);
  (void)store_to(device, 16);
  const std::string json = device.sanitizer_report().to_json();
  for (const char* part : {"\"kind\": \"null-pointer\"", "\"line\": 9", "\"threads\": 1",
                           "\"places_left_out\": 0", "\"address\": 16"})
    EXPECT_NE(json.find(part), std::string::npos) << part << "\n" << json;
}

// Modules without checks are the same whether or not one with checks was made before.
TEST(Sanitize, ModulesWithoutChecksHaveNothingOfIt) {
  const Profile profile = open_checked(no_checks).profile();
  for (const Planted& planted : planted_faults()) {
    if (planted.border != Border::end || planted.bytes != 4) continue;
    std::vector<Message> messages;
    const std::string text = planted.ptx();
    const auto module = PtxModule::parse({{text, "a.ptx"}}, messages);
    ASSERT_TRUE(module);
    TranslateOptions plain, checked;
    plain.profile = checked.profile = profile;
    checked.checks = check_memory;
    checked.table_steps = 4;
    std::vector<std::string> passes;
    plain.dump = [&](std::string_view pass, std::string_view) { passes.emplace_back(pass); };
    const auto before = module->translate(plain, messages);
    const auto with = module->translate(checked, messages);
    const auto after = module->translate(plain, messages);
    ASSERT_TRUE(before && with && after);
    EXPECT_EQ(before->spirv, after->spirv) << planted.name();
    EXPECT_NE(before->spirv, with->spirv) << planted.name();
    EXPECT_TRUE(before->interface.entries[0].sanitizer.sites.empty());
    for (const std::string& pass : passes) EXPECT_NE(pass, "check-memory");
  }
}

TEST(Sanitize, NamesOfChecks) {
  std::string unknown;
  EXPECT_EQ(parse_checks("memory", unknown), check_memory);
  EXPECT_EQ(parse_checks("", unknown), no_checks);
  EXPECT_EQ(parse_checks("none", unknown), no_checks);
  EXPECT_EQ(parse_checks("all", unknown), kAllChecks);
  EXPECT_EQ(parse_checks("memory,leaks", unknown), check_memory | check_leaks);
  EXPECT_FALSE(parse_checks("memory,rcae", unknown));
  EXPECT_EQ(unknown, "rcae");
}

}  // namespace

std::vector<Scene> memory_scenes() {
  return {store_scene("a live allocation", false, {}, false),
          store_scene("a freed allocation", true, {}, true),
          store_scene("a null pointer", true, {Scene::Kind::value, 0}, false),
          store_scene("an address below 4096", true, {Scene::Kind::value, 4092}, false)};
}

}  // namespace ptx2spv
