// Instructions that access memory beside ld, st and atom of 32 and 64 bits: each with an address
// that is an argument, so that the same kernel has the fault and has it not.
#include <fmt/format.h>

#include <algorithm>

#include "tests/sanitize/checked_device.hpp"

namespace ptx2spv {
namespace {

constexpr std::uint32_t kBytes = 64;

struct Case {
  const char* name;
  const char* body;          ///< %d0: 64 bytes of global memory and the offset; %r1, %d2: the same
                             ///< of shared memory, the latter generic; %d1: 64 bytes to write to
  std::int32_t faulty = 64;  ///< offset in bytes
  FindingKind kind = FindingKind::out_of_bounds;
  std::uint32_t line = 0;     ///< of the body, which has the fault
  std::uint32_t bytes = 0;    ///< of the access; 0: not looked at
  std::uint32_t threads = 1;  ///< of the block, all of which run the body
};

/// Of the line: in the function that the body calls.
constexpr std::uint32_t kInFunction = 100;
constexpr FindingKind kMisaligned = FindingKind::misaligned;

constexpr Case kCases[] = {
    {"cp.async of 4 bytes, its source",
     "cp.async.ca.shared.global [tile], [%d0], 4; cp.async.wait_all;\n"},
    {"cp.async of 16 bytes, its source across the end",
     "cp.async.cg.shared.global [tile], [%d0], 16; cp.async.wait_all;\n", 56},
    {"cp.async of 8 bytes, its source askew",
     "cp.async.ca.shared.global [tile], [%d0], 8; cp.async.wait_all;\n", 4, kMisaligned},
    {"cp.async, its destination",
     "cp.async.ca.shared.global [%r1], [%d1], 4; cp.async.wait_all;\n"},
    {"cp.async, its destination askew",
     "cp.async.ca.shared.global [%r1], [%d1], 16; cp.async.wait_all;\n", 8, kMisaligned},
    {"cp.async of fewer bytes than it fills, its source",
     "cp.async.ca.shared.global [tile], [%d0], 8, 4; cp.async.wait_all;\n"},
    {"ldmatrix", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1];\n", 64,
     FindingKind::out_of_bounds, 0, 16, 32},
    {"ldmatrix across the end", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1];\n", 56,
     FindingKind::out_of_bounds, 0, 16, 32},
    {"ldmatrix askew by a word", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1];\n", 4,
     kMisaligned, 0, 16, 32},
    {"ldmatrix askew by half a row", "ldmatrix.sync.aligned.m8n8.x1.b16 {%r2}, [%d2];\n", 8,
     kMisaligned, 0, 16, 32},
    {"stmatrix askew", "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2};\n", 8, kMisaligned,
     0, 16, 32},
    {"mbarrier.init", "mbarrier.init.shared.b64 [%r1], 1;\n"},
    {"mbarrier.init askew", "mbarrier.init.shared.b64 [%r1], 1;\n", 4, kMisaligned},
    {"mbarrier.init across the end", "mbarrier.init.shared.b64 [%r1], 1;\n", 60},
    {"mbarrier.arrive by a generic address",
     "mbarrier.init.shared.b64 [tile], 8;\nmbarrier.arrive.b64 %d5, [%d2];\n", 64,
     FindingKind::out_of_bounds, 1, 8},
    {"atom.cas of 16 bits", "atom.global.cas.b16 %h0, [%d0], %h0, %h1;\n", 64,
     FindingKind::out_of_bounds, 0, 2},
    {"atom.cas of 64 bits", "atom.global.cas.b64 %d5, [%d0], %d5, %d6;\n", 64,
     FindingKind::out_of_bounds, 0, 8},
    {"atom.cas of 64 bits, askew", "atom.global.cas.b64 %d5, [%d0], %d5, %d6;\n", 4, kMisaligned},
    {"atom.add of f32 in shared memory", "atom.shared.add.f32 %r2, [%r1], 0f3f800000;\n"},
    {"atom.add of f64", "atom.global.add.f64 %d5, [%d0], 0d3ff0000000000000;\n", 52, kMisaligned},
    {"atom.add of two halves", "atom.global.add.noftz.f16x2 %r2, [%d0], %r3;\n"},
    {"atom.inc by a generic address in shared memory", "atom.inc.u32 %r2, [%d2], 7;\n"},
    {"red.max in shared memory", "red.shared.max.s32 [%r1], 7;\n"},
    {"red.add of 64 bits", "red.global.add.u64 [%d0], 7;\n", -8},
    {"ld.v2 of 8 bytes each", "ld.global.v2.u64 {%d5, %d6}, [%d0];\n", 56,
     FindingKind::out_of_bounds, 0, 16},
    {"ld.v2 of 8 bytes each, askew", "ld.global.v2.u64 {%d5, %d6}, [%d0];\n", 8, kMisaligned},
    {"ld.v4 of a byte each", "ld.global.v4.u8 {%h0, %h1, %h2, %h3}, [%d0];\n", 64,
     FindingKind::out_of_bounds, 0, 4},
    {"ld.v2 of two bytes each, askew", "ld.shared.v2.u16 {%h0, %h1}, [%r1];\n", 2, kMisaligned},
    {"ld of 128 bits", "ld.global.b128 %q0, [%d0]; mov.b128 {%d5, %d6}, %q0;\n", 64,
     FindingKind::out_of_bounds, 0, 16},
    {"st.v4 of four bytes each", "st.global.v4.f32 [%d0], {%r2, %r2, %r3, %r3};\n", -16,
     FindingKind::out_of_bounds, 0, 16},
    {"ld.nc", "ld.global.nc.u32 %r2, [%d0];\n"},
    {"ldu", "ldu.global.u32 %r2, [%d0];\n"},
    {"ld.volatile", "ld.volatile.global.u32 %r2, [%d0];\n"},
    {"ld.acquire", "ld.acquire.gpu.global.u32 %r2, [%d0];\n"},
    {"st.release", "st.release.gpu.global.u32 [%d0], 7;\n"},
    {"ld.relaxed of shared memory", "ld.relaxed.cta.shared.u32 %r2, [%r1];\n"},
    {"st.volatile in shared memory", "st.volatile.shared.u32 [%r1], 7;\n"},
    {"a signed byte", "ld.global.s8 %r2, [%d0];\n", 64, FindingKind::out_of_bounds, 0, 1},
    {"a constant by an index",
     "mov.u64 %d5, table; add.s64 %d5, %d5, %d7; ld.const.u32 %r2, [%d5];\n"},
    {"a predicated load", "setp.eq.u32 %p0, 0, 0;\n@%p0 ld.global.u32 %r2, [%d0];\n", 64,
     FindingKind::out_of_bounds, 1},
    {"a load in a called function", "call.uni (%r2), fetch, (%d0);\n", 64,
     FindingKind::out_of_bounds, kInFunction},
    {"a load by a function pointer",
     "mov.u64 %d5, fetch;\n"
     "shape: .callprototype (.reg .b32 %v) _ (.reg .b64 %a);\ncall (%r2), %d5, (%d0), shape;\n",
     64, FindingKind::out_of_bounds, kInFunction},
};

std::string text_of(const Case& each) {
  return fmt::format(
      ".version 8.5\n.target sm_90\n.address_size 64\n"
      ".const .align 16 .b8 table[64]; .const .align 16 .b8 more[64];\n"
      ".func (.reg .b32 %value) fetch(.reg .b64 %place) {{\n"
      "  ld.global.u32 %value, [%place];\n  ret;\n}}\n"
      ".visible .entry k(.param .u64 from, .param .u64 to, .param .s32 offset) {{\n"
      "  .reg .pred %p0; .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %d<10>; .reg .b128 %q0;\n"
      "  .shared .align 16 .b8 tile[64]; .shared .align 16 .b8 next[64];\n"
      "  ld.param.u64 %d0, [from]; ld.param.u64 %d1, [to]; ld.param.s32 %r0, [offset];\n"
      "  cvt.s64.s32 %d7, %r0; add.s64 %d0, %d0, %d7; mov.u32 %r1, tile; add.s32 %r1, %r1, %r0;\n"
      "  mov.u64 %d2, tile; cvta.shared.u64 %d2, %d2; add.s64 %d2, %d2, %d7;\n"
      "  mov.b32 %r2, 1; mov.b32 %r3, 2; mov.b64 %d5, 3; mov.b64 %d6, 4;\n"
      "  mov.b16 %h0, 5; mov.b16 %h1, 6;\n"
      "{}"
      "  st.global.u32 [%d1], %r2; st.global.u64 [%d1+8], %d5; st.global.u64 [%d1+16], %d6;\n"
      "  st.global.u16 [%d1+4], %h0;\n  ret;\n}}\n",
      each.body);
}

void expect_found(const Case& each, const std::string& text, const Finding& found,
                  std::int32_t offset) {
  EXPECT_STREQ(to_string(found.kind), to_string(each.kind)) << found.to_string();
  const bool called = each.line == kInFunction;
  const std::size_t at = text.find(called ? "  ld.global.u32 %value" : each.body);
  const auto before = std::count(text.begin(), text.begin() + std::ptrdiff_t(at), '\n');
  EXPECT_EQ(found.line, static_cast<std::uint32_t>(before) + 1 + (called ? 0 : each.line))
      << found.to_string();
  const std::uint32_t bytes = each.bytes ? each.bytes : found.bytes;
  EXPECT_EQ(found.bytes, bytes) << found.to_string();
  EXPECT_EQ(found.threads, each.threads);
  EXPECT_EQ(found.object_bytes, kBytes) << found.to_string();
  const bool inside = offset >= 0 && offset < static_cast<std::int32_t>(kBytes);
  EXPECT_EQ(found.inside, inside) << found.to_string();
  EXPECT_EQ(found.distance,
            inside || offset < 0 ? offset : offset - static_cast<std::int32_t>(kBytes))
      << found.to_string();
}

TEST(Instructions, EachIsFoundAndNothingWithoutItsFault) {
  for (const Case& each : kCases) {
    SCOPED_TRACE(each.name);
    const Device device = open_checked(check_memory);
    const std::string text = text_of(each);
    auto loaded = Module::load(device, text, "k.ptx");
    EXPECT_TRUE(loaded) << loaded.error().text;
    if (!loaded) continue;
    Buffer from = must(Buffer::create(device, kBytes)), to = must(Buffer::create(device, kBytes));
    from.set_name("from");
    LaunchConfig config;
    config.block = {each.threads, 1, 1};
    const auto launch = [&](std::int32_t offset) {
      auto done =
          must(loaded->kernel("k")).launch(config, Args().buffer(from).buffer(to).value(offset));
      EXPECT_TRUE(done) << done.error().text;
      return device.sanitizer_report().findings;
    };
    const std::vector<Finding> none = launch(0);
    EXPECT_TRUE(none.empty()) << none[0].to_string();
    const std::vector<Finding> found = launch(each.faulty);
    EXPECT_EQ(found.size(), 1u) << (found.size() > 1 ? found[1].to_string() : "");
    if (found.size() == 1) expect_found(each, text, found[0], each.faulty);
  }
}

// CUDA's headers keep a kibibyte of shared memory for themselves. It is behind the kernel's own
// variables, and written and read without a declaration.
TEST(Instructions, ReservedSharedMemoryIsMemory) {
  const Device device = open_checked(kAllChecks);
  Module module = must(Module::load(device, R"(.version 8.3
.target sm_80
.address_size 64
.visible .entry k(.param .u64 to, .param .u32 beyond) {
  .reg .b32 %r<8>; .reg .b64 %d<2>;
  .shared .align 4 .b8 tile[256];
  ld.param.u64 %d0, [to]; ld.param.u32 %r4, [beyond]; mov.u32 %r0, %tid.x;
  shl.b32 %r1, %r0, 2; mov.u32 %r2, %reserved_smem_offset_0;
  add.u32 %r2, %r2, %r1; add.u32 %r2, %r2, %r4;
  st.shared.u32 [%r2], %r0;
  ld.shared.u32 %r3, [%r2];
  mov.u32 %r5, tile; add.u32 %r5, %r5, %r1; st.shared.u32 [%r5], %r3;
  cvt.u64.u32 %d1, %r1; add.u64 %d0, %d0, %d1; st.global.u32 [%d0], %r3;
  ret;
}
)",
                                    "reserved.ptx"));
  Buffer to = must(Buffer::create(device, 256));
  LaunchConfig config;
  config.block = {64, 1, 1};
  const auto launch = [&](std::uint32_t beyond) {
    must(must(module.kernel("k")).launch(config, Args().buffer(to).value(beyond)));
    return device.sanitizer_report().findings;
  };
  const std::vector<Finding> none = launch(0);
  EXPECT_TRUE(none.empty()) << none[0].to_string();
  EXPECT_EQ(read_buffer<std::uint32_t>(to, 64)[63], 63u);
  const std::vector<Finding> found = launch(1024);
  ASSERT_EQ(found.size(), 2u);
  for (const Finding& each : found) {
    EXPECT_STREQ(to_string(each.kind), to_string(FindingKind::out_of_bounds));
    EXPECT_EQ(each.threads, 64u);
    EXPECT_NE(each.object.find("%reserved_smem"), std::string::npos) << each.object;
  }
}

}  // namespace
}  // namespace ptx2spv
