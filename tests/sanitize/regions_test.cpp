// Faults of threads that one invocation runs in turns: each place is found with the number of
// its threads, and the address is that of the thread that is named.
#include <fmt/format.h>

#include "tests/sanitize/checked_device.hpp"

namespace ptx2spv {
namespace {

constexpr std::uint32_t kWords = 32, kThreads = 48, kBlocks = 3;

struct Form {
  bool warps = false;          ///< threads meet at warp operations, else at barriers
  std::uint32_t places = 1;    ///< that fault, of which a log keeps the last eight addresses
  std::uint32_t between = 0;   ///< instructions between two of them
  std::uint32_t repeated = 1;  ///< iterations
};

/// Stores to word %tid of 32, in blocks of 48 threads, each on a line of its own from line 10 on.
std::string text_of(const Form& form) {
  std::string text =
      ".version 8.3\n.target sm_80\n.address_size 64\n"
      ".visible .entry k(.param .u64 to, .param .u32 times) {\n"
      "  .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %d<4>;\n"
      "  ld.param.u64 %d0, [to]; ld.param.u32 %r5, [times]; mov.u32 %r0, %tid.x;\n"
      "  mul.wide.u32 %d1, %r0, 4; add.u64 %d2, %d0, %d1; mov.u32 %r1, %r0; mov.u32 %r4, 0;\n"
      "again:\n\n";
  for (std::uint32_t place = 0; place < form.places; ++place) {
    text += "  st.global.u32 [%d2], %r1;";
    for (std::uint32_t i = 0; i < form.between; ++i)
      text += fmt::format(" mad.lo.u32 %r1, %r1, %r1, {};", i);
    text += form.warps ? " shfl.sync.up.b32 %r1, %r1, 1, 0, -1;\n" : " bar.sync 0;\n";
  }
  return text + "  add.u32 %r4, %r4, 1; setp.lt.u32 %p, %r4, %r5;\n  @%p bra again;\n  ret;\n}\n";
}

void expect_all_places(const Form& form) {
  SCOPED_TRACE(fmt::format("warps {}, places {}, between {}, repeated {}", form.warps, form.places,
                           form.between, form.repeated));
  const Device device = open_checked(check_memory);
  Module module = must(Module::load(device, text_of(form), "k.ptx"));
  Buffer to = must(Buffer::create(device, kWords * 4));
  LaunchConfig config;
  config.grid = {kBlocks, 1, 1};
  config.block = {kThreads, 1, 1};
  config.threads = ThreadModel::regions;
  must(must(module.kernel("k")).launch(config, Args().buffer(to).value(form.repeated)));
  const SanitizerReport report = device.sanitizer_report();
  ASSERT_EQ(report.findings.size(), form.places);
  std::uint32_t known = 0;
  for (std::uint32_t place = 0; place < form.places; ++place) {
    const Finding& found = report.findings[place];
    EXPECT_EQ(found.line, 10 + place);
    EXPECT_EQ(found.threads, kBlocks * (kThreads - kWords));
    EXPECT_GE(found.thread[0], kWords);
    EXPECT_LT(found.thread[0], kThreads);
    EXPECT_LT(found.cta[0], kBlocks);
    if (!found.address_known) continue;
    ++known;
    EXPECT_STREQ(to_string(found.kind), to_string(FindingKind::out_of_bounds));
    EXPECT_EQ(found.address, to.address() + 4ull * found.thread[0]) << found.to_string();
  }
  EXPECT_GE(known, std::min(form.places, 2u));
}

TEST(Regions, EveryPlaceIsFoundWithItsThreads) {
  for (const bool warps : {false, true}) {
    expect_all_places({warps, 3, 0, 3});
    expect_all_places({warps, 2, 30, 1});
    expect_all_places({warps, 33, 0, 1});  // more than a thread has registers for
  }
}

// Warps of one block that write the same words: both are named.
TEST(Regions, ARaceNamesThreadsOfBothWarps) {
  const Device device = open_checked(check_race);
  Module module = must(Module::load(device, R"(.version 8.3
.target sm_80
.address_size 64
.visible .entry k(.param .u64 to) {
  .reg .b32 %r<4>; .reg .b64 %d<4>;
  ld.param.u64 %d0, [to];
  mov.u32 %r0, %tid.x;
  shfl.sync.bfly.b32 %r1, %r0, 1, 31, -1;
  and.b32 %r2, %r0, 31;
  mul.wide.u32 %d1, %r2, 4;
  add.u64 %d2, %d0, %d1;
  st.global.u32 [%d2], %r1;
  ret;
}
)",
                                    "race.ptx"));
  Buffer to = must(Buffer::create(device, kWords * 4));
  LaunchConfig config;
  config.block = {64, 1, 1};
  must(must(module.kernel("k")).launch(config, Args().buffer(to)));
  const SanitizerReport report = device.sanitizer_report();
  ASSERT_EQ(report.findings.size(), 1u);
  const Finding& found = report.findings[0];
  EXPECT_STREQ(to_string(found.kind), to_string(FindingKind::race));
  EXPECT_EQ(found.threads, 32u);
  ASSERT_TRUE(found.other.known) << found.to_string();
  EXPECT_EQ(found.thread[0] % 32, found.other.thread % 32) << found.to_string();
  EXPECT_NE(found.thread[0] / 32, found.other.thread / 32) << found.to_string();
  EXPECT_EQ(found.address, to.address() + 4ull * (found.thread[0] % 32));
}

}  // namespace
}  // namespace ptx2spv
