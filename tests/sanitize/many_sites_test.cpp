// Kernels with so many checked accesses that a thread's faults lie in its memory, not in registers.
#include <fmt/format.h>

#include "tests/sanitize/checked_device.hpp"

namespace ptx2spv {
namespace {

constexpr std::uint32_t kLoads = 140, kThreads = 64;
constexpr std::uint32_t kFirst = 5, kLast = 131;  ///< loads that one thread each does outside
constexpr std::uint32_t kHeadLines = 16;

/// Loads that each depend on the one before. `between` stands in every tenth's place, `end` behind
/// the last.
std::string many_loads(const char* between, const char* end, std::uint32_t loads = kLoads) {
  std::string text =
      ".version 8.3\n.target sm_80\n.address_size 64\n"
      ".visible .entry k(.param .u64 words, .param .u64 out)\n{\n"
      ".reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %d<4>;\n.reg .b64 %to;\n"
      "ld.param.u64 %d0, [words];\nld.param.u64 %to, [out];\nmov.u32 %r0, %tid.x;\n"
      "mov.u32 %r1, %r0;\nmov.u32 %r5, 0;\nmul.wide.u32 %d3, %r0, 4;\n";
  for (std::uint32_t i = 0; i < loads; ++i) {
    text += fmt::format("and.b32 %r2, %r1, 15; ");
    if (i == kFirst || i == kLast)
      text += fmt::format("setp.eq.u32 %p0, %r0, {}; @%p0 mov.u32 %r2, 100000; ", i % 64);
    text += "mul.wide.u32 %d1, %r2, 4; add.u64 %d1, %d0, %d1; ld.global.u32 %r1, [%d1]; ";
    text += "add.u32 %r5, %r5, %r1; ";
    if (i % 10 == 9) text += between;
    text += "\n";
  }
  return text + "add.u64 %to, %to, %d3;\nst.global.u32 [%to], %r5;\n" + end + "ret;\n}\n";
}

void expect_found(const Device& device, const std::string& text, std::optional<ThreadModel> threads,
                  std::size_t others, std::uint32_t loads = kLoads) {
  std::vector<std::uint32_t> words(16);
  for (std::uint32_t i = 0; i < 16; ++i) words[i] = i * 5 + 3;
  Buffer in = must(Buffer::create(device, 64)), out = must(Buffer::create(device, 256));
  must(in.upload(0, std::as_bytes(std::span(words))));
  const Module module = must(Module::load(device, text, "many.ptx"));
  LaunchConfig config;
  config.block = {kThreads, 1, 1};
  config.threads = threads;
  const auto timing = must(module.kernel("k")).launch(config, Args().buffer(in).buffer(out));
  EXPECT_EQ(static_cast<bool>(timing), others == 0);
  std::vector<Finding> found;
  std::size_t rest = 0;
  for (const Finding& each : device.sanitizer_report().findings)
    if (each.kind == FindingKind::out_of_bounds)
      found.push_back(each);
    else
      ++rest;
  EXPECT_EQ(rest > 0, others > 0);
  ASSERT_EQ(found.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::uint32_t load = i ? kLast : kFirst;
    EXPECT_EQ(found[i].line, kHeadLines + load) << found[i].to_string();
    EXPECT_EQ(found[i].thread[0], load % 64) << found[i].to_string();
    EXPECT_EQ(found[i].threads, 1u);
    if (found[i].address_known) {
      EXPECT_EQ(found[i].address, in.address() + 400'000);
    }
  }
  std::vector<std::uint32_t> expected(kThreads);
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    std::uint32_t last = t;
    for (std::uint32_t i = 0; i < loads; ++i) {
      const bool outside = (i == kFirst || i == kLast) && t == i % 64;
      last = outside ? 0 : words[last & 15];
      expected[t] += last;
    }
  }
  EXPECT_EQ(read_buffer<std::uint32_t>(out, kThreads), expected);
}

TEST(ManySites, faults_are_found_where_threads_run_alone) {
  expect_found(open_checked(check_memory), many_loads("", ""), ThreadModel::direct, 0);
}

TEST(ManySites, faults_are_found_where_an_invocation_runs_several_threads) {
  expect_found(open_checked(check_memory), many_loads("bar.sync 0; ", ""), ThreadModel::regions, 0);
}

// These have no end at which they could write their faults. The shuffles cut the kernel.
TEST(ManySites, faults_are_found_of_threads_that_wait_for_ever) {
  if (const char* reason = no_sync()) GTEST_SKIP() << reason;
  expect_found(open_checked(check_memory | check_sync),
               many_loads("shfl.sync.idx.b32 %r6, %r1, 0, 31, -1; ",
                          "setp.eq.u32 %p1, %r0, 0;\n@%p1 bra OUT;\nbar.sync 1, 64;\nOUT:\n"),
               ThreadModel::regions, 1);
}

// Checks make modules of megabytes of such kernels, over which SwiftShader's compiler ends the
// process, and which lavapipe's takes minutes for. Where the interpreter runs them instead, a line
// names what is not looked at.
TEST(ManySites, kernels_that_no_driver_takes_with_checks_are_run) {
  constexpr std::uint32_t kMany = 700;
  // By whole warps there is no synchronisation to look at, by members that the kernel asks for
  // there is.
  const char* whole = "shfl.sync.idx.b32 %r6, %r1, 0, 31, -1; ";
  const char* asked = "activemask.b32 %r6; shfl.sync.idx.b32 %r6, %r1, 0, 31, %r6; ";
  const struct {
    std::uint32_t checks;
    const char* between;
    bool left_out;
  } all[] = {{check_memory, "", false},
             {kAllChecks, "", false},
             {kAllChecks, whole, false},
             {kAllChecks, asked, true}};
  for (const auto& [checks, between, left_out] : all) {
    SCOPED_TRACE(fmt::format("{} {}", checks, between));
    std::string said;
    const Device device =
        open_checked(checks, nullptr, [&](std::string_view text) { said += text; });
    expect_found(device, many_loads(between, "", kMany), std::nullopt, 0, kMany);
    if (device.info().kind != DeviceKind::cpu) continue;
    EXPECT_EQ(device.statistics().interpreted_launches, 1u);
    EXPECT_EQ(said.find("kernel 'k' with checks of synchronisation") != std::string::npos, left_out)
        << said;
  }
}

}  // namespace
}  // namespace ptx2spv
