// Asking a device: what it answers, that the answers which come with the project are those, and
// what happens over a question that it does not survive.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include "src/device/ask.hpp"
#include "src/device/calibrate.hpp"
#include "src/device/device.hpp"
#include "src/probe/questions.hpp"
#include "tests/probe/common.hpp"
#include "tests/support/process.hpp"

namespace ptx2spv::runtime {
namespace {

/// The rows that differ. A GPU's times do not depend on what else the machine does.
std::string difference(const Profile& want, const Profile& got, bool times = false) {
  const Answers expected = Answers::of(want), answers = Answers::of(got);
  std::string text;
  for (const std::string_view row : Answers::rows())
    if ((times || !timed(row)) && expected.find(row) != answers.find(row))
      text += std::string(row) + " ";
  return text;
}

/// Seconds of the processor that this process, or those that it waited for, took so far.
double processor_seconds(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Of this process, for work that is always the same: a machine that is slow or busy stretches it
/// as it does what is compared with it.
double seconds_of_translations() {
  std::string text =
      ".version 8.3\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
      ".reg .b64 %a; .reg .f64 %d<2>;\nld.param.u64 %a, [p];\nld.global.f64 %d0, [%a];\n"
      "ld.global.f64 %d1, [%a + 8];\n";
  for (int i = 0; i < 1000; ++i)
    text += "div.rn.f64 %d0, %d0, %d1;\nfma.rn.f64 %d1, %d0, %d1, %d0;\n";
  text += "st.global.f64 [%a], %d1;\nret;\n}\n";
  const double before = processor_seconds(RUSAGE_SELF);
  for (int i = 0; i < 40; ++i) {
    std::vector<Message> messages;
    const auto module = PtxModule::parse({{text, "k.ptx"}}, messages);
    EXPECT_TRUE(module && module->translate({}, messages));
  }
  return processor_seconds(RUSAGE_SELF) - before;
}
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kFast = false;
#else
constexpr bool kFast = true;
#endif

/// The test's device as Vulkan describes it.
Candidate the_device() {
  std::string notes;
  auto candidates = enumerate_candidates({}, notes, false);
  const int chosen = select_candidate(candidates, std::getenv("PTX2SPV_DEVICE"));
  if (chosen < 0) {
    ADD_FAILURE() << notes;
    std::abort();
  }
  return candidates[static_cast<std::size_t>(chosen)];
}

TEST(Probe, EveryRowHasOneQuestion) {
  std::multiset<std::string_view> asked;
  for (const Question& each : questions()) asked.insert(each.row);
  for (const std::string_view row : Answers::rows()) EXPECT_EQ(asked.count(row), 1u) << row;
  EXPECT_EQ(asked.size(), Answers::rows().size());
}

TEST(Probe, EveryKnownDeviceHasEveryAnswer) {
  EXPECT_FALSE(known_devices().empty());
  for (const KnownDevice& each : known_devices()) {
    const auto answers = Answers::parse(each.answers);
    ASSERT_TRUE(answers) << each.identity.name;
    EXPECT_TRUE(answers->complete()) << each.identity.name;
    EXPECT_EQ(answers->text(), each.answers) << each.identity.name;
    EXPECT_FALSE(answers->find("denormals32") == 1 && answers->find("flushes_denormals32") == 1)
        << each.identity.name;
  }
}

// The driver as one of another name and version, which nobody knows: it answers what the known one
// does, and what it answered is kept.
TEST(Probe, AnUnknownDriverGetsTheProfileOfTheKnownOne) {
  Candidate device = the_device();
  const auto known = known_answers(identity_of(device.traits, device.info));
  if (!known) GTEST_SKIP() << device.info.name << " is not known";
  const Profile expected = device.info.profile;

  device.traits.driver = static_cast<VkDriverId>(9999);
  device.traits.driver_info = "another";
  device.info.name = "Another device";
  device.info.driver_version += 1;
  Profile profile = expected;
  for (const Capability& each : capabilities())
    if (each.group != Capability::Group::feature) each.in(profile) = !each.value(expected);
  const test::TemporaryFolder folder;
  const DeviceOptions options{.cache = true, .cache_directory = folder.path()};
  const std::string tool = test::tool_path(std::string(kProbeProgram));
  {
    std::string asks(debug_setting("probe-program"));
    const test::DebugSettings program("probe-program=" + (asks.empty() ? tool : asks));
    const double before = processor_seconds(RUSAGE_CHILDREN);
    ASSERT_TRUE(calibrate(device.traits, device.info, options, profile));
    // Two seconds on two cores.
    if (kFast) {
      const double asked = processor_seconds(RUSAGE_CHILDREN) - before;
      EXPECT_LT(asked, 10 * seconds_of_translations());
    }
  }
  EXPECT_EQ(difference(expected, profile, device.info.kind != DeviceKind::cpu), "");
  EXPECT_FALSE(folder.list().empty());

  // From the cache, and not from the process either.
  forget_answers();
  const test::DebugSettings program("probe-program=/nowhere");
  Profile again = *find_profile("portable");
  again.features = expected.features;
  const double before = processor_seconds(RUSAGE_SELF);
  ASSERT_TRUE(calibrate(device.traits, device.info, options, again));
  if (kFast) {
    EXPECT_LT(processor_seconds(RUSAGE_SELF) - before, 0.1) << "later uses cost nothing";
  }
  EXPECT_EQ(difference(profile, again), "");

  // Without a cache and without a program nothing of it is known.
  forget_answers();
  Profile presumed = *find_profile("portable");
  const DeviceOptions no_cache{.cache = false};
  ASSERT_TRUE(calibrate(device.traits, device.info, no_cache, presumed));
  EXPECT_EQ(difference(*find_profile("portable"), presumed), "");
}

// Vulkan promises that OpFmaKHR rounds once, and by its float controls how and what of denormals.
TEST(Probe, OfAnUnknownDeviceWithOpFmaKhrOneRoundingIsPresumed) {
  for (const bool even : {false, true}) {
    for (const bool denormals : {false, true}) {
      Profile profile = *find_profile("portable");
      profile.features.shader_fma32 = true;
      profile.features.rounds_even32 = even;
      profile.features.preserves_denormals32 = denormals;
      presume({}, {}, profile);
      EXPECT_EQ(profile.exactness.fused_fma32, even);
      EXPECT_EQ(profile.exactness.fma_denormals32, even && denormals);
    }
  }
}

// What was asked of OpFmaKHR says nothing of GLSL's fma, and the reverse.
TEST(Probe, WithoutOpFmaKhrItsAnswersAreForgotten) {
  for (const char* disabled :
       {"", "shader_fma16", "shader_fma32", "shader_fma64", "rounds_even32"}) {
    Profile profile = *find_profile("nvidia");
    profile.features.shader_fma16 = profile.features.shader_fma32 = profile.features.shader_fma64 =
        true;
    profile.exactness.fma_denormals32 = profile.exactness.second_nan64 = true;
    const std::string name = disabled;
    DeviceOptions options;
    if (*disabled) options.disable = {name};
    ASSERT_TRUE(restrict_profile(profile, options, "a device"));
    EXPECT_EQ(profile.exactness.exact_float16, name != "shader_fma16") << name;
    EXPECT_EQ(profile.exactness.fused_fma32, !name.ends_with("32")) << name;
    EXPECT_EQ(profile.exactness.fma_denormals32, !name.ends_with("32")) << name;
    EXPECT_EQ(profile.exactness.denormals32, name != "rounds_even32") << name;
    EXPECT_EQ(profile.exactness.fused_fma64, name != "shader_fma64") << name;
    EXPECT_EQ(profile.exactness.second_nan64, name != "shader_fma64") << name;
    EXPECT_TRUE(profile.exactness.exact_float64) << name;
  }
}

TEST(Probe, AQuestionThatTheDriverDoesNotSurviveIsAnsweredByWhatIsSafe) {
  const test::TemporaryFolder folder;
  // It crashes over one row and hangs over another; every other answer is 0.
  std::string script = "#!/bin/sh\nprintf 'ptx2spv-probe 1 " + std::string(build_id()) + "\\n'\n";
  for (const std::string_view row : Answers::rows()) {
    const std::string name(row);
    script += "case \"$*\" in *" + name + "=*) ;; *) echo 'ask " + name + "'\n";
    if (row == "lcssa_loads") script += "kill -9 $$\n";
    if (row == "independent_threads") script += "sleep 30\n";
    script += "echo 'answer " + name + "=0 1.5 seen'\n;; esac\n";
  }
  const std::string program = folder.write("asks", script);
  ASSERT_EQ(test::run_process({"/bin/chmod", "+x", program}).exit_code, 0);
  const auto asked = ask_in_process(program, {}, 1500);
  ASSERT_TRUE(asked) << asked.error().text;
  EXPECT_TRUE(asked->answers.complete());
  EXPECT_EQ(asked->answers.find("lcssa_loads"), 1u) << "a workaround is on";
  EXPECT_EQ(asked->answers.find("independent_threads"), 0u) << "what a device has is off";
  EXPECT_EQ(asked->answers.find("lcssa_values"), 0u) << "the others are asked";
  EXPECT_NE(asked->notes.find("lcssa_loads: the process that asked was ended by signal 9"),
            std::string::npos)
      << asked->notes;
  EXPECT_NE(asked->notes.find("independent_threads: no answer in 1500 ms"), std::string::npos)
      << asked->notes;
}

TEST(Probe, AProgramOfAnotherBuildIsNotBelieved) {
  const test::TemporaryFolder folder;
  const std::string program = folder.write("ptxrun", "#!/bin/sh\necho 'ptx2spv-probe 1 old'\n");
  ASSERT_EQ(test::run_process({"/bin/chmod", "+x", program}).exit_code, 0);
  EXPECT_FALSE(ask_in_process(program, {}, 1000));
  EXPECT_FALSE(ask_in_process("/nowhere", {}, 1000));
}

// A fault of the compiler for wide vectors is worked around on processors without them too, but one
// of narrow vectors says nothing of wide ones.
TEST(Probe, AnswersHoldForNarrowerVectorsOfTheSameDriver) {
  DeviceIdentity known, device;
  known.host = "avx2";
  for (const auto& [host, same] :
       {std::pair{"avx2", true}, {"sse", true}, {"avx512", false}, {"neon", false}, {"", false}}) {
    device.host = host;
    EXPECT_EQ(known.covers(device), same) << host;
  }
  device = known;
  device.info = "another version";
  EXPECT_FALSE(known.covers(device));
}

TEST(Probe, AnswersAreReadAsTheyAreWritten) {
  EXPECT_FALSE(Answers::parse("denormals32"));
  EXPECT_FALSE(Answers::parse("no_such_row=1"));
  EXPECT_FALSE(Answers::parse("denormals32=1x"));
  const auto answers = Answers::parse("max_loop_iterations=77 denormals32=1");
  ASSERT_TRUE(answers);
  EXPECT_FALSE(answers->complete());
  EXPECT_EQ(answers->text(), "denormals32=1 max_loop_iterations=77");
}

// What is not asked of a driver's new version is presumed from the versions that are known.
TEST(Probe, ADriverOfAnotherVersionIsPresumedToHaveEveryFaultOfTheKnownOnes) {
  for (const KnownDevice& each : known_devices()) {
    const auto presumed = answers_of_driver(each.identity.driver);
    ASSERT_TRUE(presumed);
    const auto answers = Answers::parse(each.answers);
    for (const Capability& row : capabilities()) {
      if (row.group == Capability::Group::feature) continue;
      if (answers->find(row.name) != row.best()) {
        EXPECT_EQ(presumed->find(row.name), !row.best()) << each.identity.name << " " << row.name;
      }
    }
  }
}

TEST(Probe, AProfileFileTranslatesAsTheDeviceDoes) {
  const test::TemporaryFolder folder;
  const std::string device = std::getenv("PTX2SPV_DEVICE");
  const auto probe =
      test::run_process({test::tool_path("ptxrun"), "--probe", "--json", "-d", device});
  ASSERT_EQ(probe.exit_code, 0) << probe.error;
  const std::string file = folder.write("device.json", probe.out);
  const std::string kernel = std::string(PTX2SPV_SOURCE_DIR) + "/examples/filter/filter.ptx";
  const auto made = test::run_process(
      {test::tool_path("ptx2spv"), "--profile", file, kernel, "-o", folder.file("a.spv")});
  EXPECT_EQ(made.exit_code, 0) << made.error;
  folder.write("bad.json", R"({"features": {"int65": true}})");
  const auto bad = test::run_process(
      {test::tool_path("ptx2spv"), "--profile", folder.file("bad.json"), kernel, "-o", "-"});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_NE(bad.error.find("there is no row 'int65'"), std::string::npos) << bad.error;
}

}  // namespace
}  // namespace ptx2spv::runtime
