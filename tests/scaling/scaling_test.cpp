// Time and memory grow with the text, n log n at most, whatever the text holds: twice the text is
// less than three times the work, and a module of a megabyte costs a bounded amount of either or is
// refused. PTX2SPV_EXHAUSTIVE=1 translates a megabyte of each family, and bounds seconds too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "dev/programs/families.hpp"
#include "ptx2spv/debug_setting.hpp"
#include "ptx2spv/translator.hpp"
#include "tests/scaling/counts.hpp"
#include "translator/growth.hpp"

namespace ptx2spv::test {

using programs::families;
using programs::Family;

namespace {

// The IR's validation after every pass, which other tests ask for, is no part of what users pay.
[[maybe_unused]] const int kNotValidated =
    ::setenv("PTX2SPV_DEBUG", debug_settings_and("validate-ir=0").c_str(), 1);

struct Target {
  const char* profile;
  ThreadModel threads;
  std::uint32_t checks = no_checks;
  bool debug = false;  ///< with debug information
};

constexpr Target kTargets[] = {{"portable", ThreadModel::direct},
                               {"portable", ThreadModel::regions},
                               {"swiftshader", ThreadModel::direct},
                               {"lavapipe", ThreadModel::regions},
                               {"nvidia", ThreadModel::direct}};

constexpr Target kChecked = {"portable", ThreadModel::direct, kAllChecks};
/// Families of which the sanitizer's checks make much: each instruction is a place that a report
/// may name, and a cut that keeps the faults so far.
constexpr std::string_view kCheckedFamilies[] = {"loads_and_stores", "waits", "waits_at_objects",
                                                 "barriers_in_a_row"};

constexpr Target kDebugged = {"portable", ThreadModel::direct, no_checks, true};
/// Families of which debug information makes much: kernels and places share a text and its files.
constexpr std::string_view kDebuggedFamilies[] = {"kernels", "files_and_kernels", "source_lines",
                                                  "inlined_lines", "comments"};

/// What a byte of text may cost where much is asked of it. A machine that runs 10^9 basic blocks in
/// a second needs 10 seconds for a megabyte of such bytes.
constexpr double kMostWork = 10000, kMostMemory = 1000;
/// What a module may cost whatever its size: the library of shaders, and what the budgets for
/// copies of functions and of texture reads let through.
constexpr std::uint64_t kFreeWork = 600'000'000, kFreeMemory = 96'000'000;

struct Outcome {
  std::size_t bytes = 0, words = 0;
  Counts counts;
  std::string refusal;
};

TranslateOptions options_of(const Target& target) {
  TranslateOptions options;
  options.profile = *find_profile(target.profile);
  options.threads = target.threads;
  options.checks = target.checks;
  options.debug_info = target.debug;
  return options;
}

Outcome translate(const std::string& text, const Target& target, bool one_by_one = false) {
  Outcome out;
  out.bytes = text.size();
  std::vector<Message> messages;
  TranslateOptions options = options_of(target);
  start_counting();
  {
    const auto module = PtxModule::parse({{text, "scaling.ptx"}}, messages);
    if (module && one_by_one) {
      for (const EntryInfo& entry : module->interface().entries) {
        options.entry = entry.name;
        const auto made = module->translate_kernel(options, messages);
        if (made) out.words += made->spirv.size();
      }
    } else if (module) {
      const auto made = module->translate(options, messages);
      if (made) out.words = made->spirv.size();
    }
  }
  out.counts = stop_counting();
  for (const Message& message : messages)
    if (message.severity == Severity::error && out.refusal.empty()) out.refusal = message.text;
  EXPECT_NE(out.words == 0, out.refusal.empty()) << "a module or a reason";
  EXPECT_EQ(out.refusal.find("internal error"), out.refusal.npos) << out.refusal;
  return out;
}

struct Case {
  Family family;
  Target target;
};

std::string name_of(const Case& each) {
  const bool direct = each.target.threads == ThreadModel::direct;
  return std::string(each.family.name) + "_" + each.target.profile + (direct ? "" : "_regions") +
         (each.target.checks == no_checks ? "" : "_checked") +
         (each.target.debug ? "_debugged" : "");
}

void print(const Case& each, const Outcome& it) {
  std::printf("%-50s %8zu bytes %11llu blocks %11llu copied %10llu peak %9zu words %s\n",
              name_of(each).c_str(), it.bytes, static_cast<unsigned long long>(it.counts.blocks),
              static_cast<unsigned long long>(it.counts.copied),
              static_cast<unsigned long long>(it.counts.peak), it.words,
              it.refusal.substr(0, 60).c_str());
}

void PrintTo(const Case& each, std::ostream* out) { *out << name_of(each); }

class ScalingOf : public testing::TestWithParam<Case> {};

TEST_P(ScalingOf, twice_the_text_is_less_than_three_times_the_work) {
  const Case& each = GetParam();
  // The first translation of a process reads the library of shaders.
  translate(each.family.text(1), each.target);
  const Outcome once = translate(each.family.text(each.family.n), each.target);
  const Outcome twice = translate(each.family.text(2 * each.family.n), each.target);
  if (std::getenv("PTX2SPV_SCALING")) {
    print(each, once);
    print(each, twice);
  }
  EXPECT_LT(static_cast<double>(twice.counts.work()), 3.0 * static_cast<double>(once.counts.work()))
      << once.bytes << " bytes: " << once.counts.work() << " blocks; " << twice.bytes
      << " bytes: " << twice.counts.work();
  const auto bytes = static_cast<double>(twice.bytes);
  EXPECT_LT(twice.counts.work(), kFreeWork + static_cast<std::uint64_t>(kMostWork * bytes));
  EXPECT_LT(twice.counts.peak, kFreeMemory + static_cast<std::uint64_t>(kMostMemory * bytes));
}

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const Family& family : families()) {
    for (const Target& target : kTargets)
      if (family.everywhere || &target == kTargets) out.push_back({family, target});
    if (std::ranges::find(kCheckedFamilies, family.name) != std::end(kCheckedFamilies))
      out.push_back({family, kChecked});
    if (std::ranges::find(kDebuggedFamilies, family.name) != std::end(kDebuggedFamilies))
      out.push_back({family, kDebugged});
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(families, ScalingOf, testing::ValuesIn(cases()),
                         [](const auto& given) { return name_of(given.param); });

// The modules of all kernels, made one after the other, as the runtime and ptx2spv --check do: of
// each the text, the names and the images of the file are the same.
TEST(Scaling, kernels_that_are_translated_one_by_one_share_what_the_module_has) {
  const auto text = [](std::size_t n, const char* before, const char* each) {
    std::string made = ".version 8.3\n.target sm_80\n.address_size 64\n";
    made += before;
    for (std::size_t i = 0; i < n; ++i)
      made += fmt::format(
          "{}.visible .entry k{}(.param .u64 p) {{\n.reg .b64 %d;\nld.param.u64 %d, [p];\n"
          "st.global.u32 [%d], {};\nret;\n}}\n",
          fmt::format(fmt::runtime(each), i), i, i);
    return made;
  };
  const struct {
    const char *name, *before, *each;
  } kinds[] = {{"kernels", "", ""},
               {"variables", "", ".global .u32 g{} = 1;\n"},
               {"an image", ".global .b8 g[200000] = {1};\n", ""},
               {"kernels in one line", "", "/*"},
               {"empty lines", "", "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"}};
  for (const auto& kind : kinds)
    for (const bool debug : {false, true}) {
      Target target = kTargets[0];
      target.debug = debug;
      const auto made = [&](std::size_t n) {
        std::string module =
            text(n, kind.before, kind.each == std::string_view("/*") ? "" : kind.each);
        if (kind.each == std::string_view("/*"))
          std::replace(module.begin() + 50, module.end(), '\n', ' ');
        return translate(module, target, true);
      };
      made(1);
      constexpr std::size_t kKernels = 500;
      const Outcome once = made(kKernels), twice = made(2 * kKernels);
      if (std::getenv("PTX2SPV_SCALING"))
        std::printf("%-24s %llu %llu\n", kind.name,
                    static_cast<unsigned long long>(once.counts.work()),
                    static_cast<unsigned long long>(twice.counts.work()));
      EXPECT_LT(twice.counts.work(), 3 * once.counts.work())
          << kind.name << (debug ? ", debugged: " : ": ") << once.counts.work();
      EXPECT_LT(static_cast<double>(twice.counts.work()),
                static_cast<double>(kFreeWork) + kMostWork * static_cast<double>(twice.bytes))
          << kind.name;
      EXPECT_GT(twice.words, once.words);
    }
}

TEST(Scaling, a_megabyte_is_translated_or_refused_in_ten_seconds) {
  if (!std::getenv("PTX2SPV_EXHAUSTIVE"))
    GTEST_SKIP() << "a megabyte of each family takes minutes: PTX2SPV_EXHAUSTIVE=1 does it";
  for (const Case& each : cases()) {
    const std::size_t small = each.family.text(each.family.n).size();
    const std::string text = each.family.text(each.family.n * 1'000'000 / small);
    const std::clock_t start = std::clock();
    const Outcome it = translate(text, each.target);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    print(each, it);
    EXPECT_LT(seconds, 10) << name_of(each);
    EXPECT_LT(it.counts.peak, 1'000'000'000u) << name_of(each);
  }
}

// The message names the kernel and its line.
TEST(Scaling, a_kernel_that_expands_to_too_much_is_refused) {
  std::vector<Message> messages;
  TranslateOptions options;
  options.profile = *find_profile("portable");
  for (const Family& each : families()) {
    if (each.name != std::string_view("loops_of_shared_atomics")) continue;
    const auto module = PtxModule::parse({{each.text(20000), "large.ptx"}}, messages);
    ASSERT_TRUE(module);
    EXPECT_FALSE(module->translate(options, messages));
  }
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].text.find("kernel 'k': its instructions"), std::string::npos)
      << messages[0].text;
  EXPECT_EQ(messages[0].line, 6u);
}

// What one pass makes of a module takes no memory beyond the bound either.
TEST(Scaling, no_pass_makes_more_of_a_kernel_than_it_may_have) {
  for (const Family& each : families()) {
    if (each.name != std::string_view("waits_at_objects")) continue;
    for (const Target& target : {kChecked, kTargets[0]}) {
      const Outcome it = translate(each.text(target.checks ? 12'000 : 40'000), target);
      EXPECT_LT(it.counts.peak, 1'000'000'000u);
      EXPECT_NE(it.refusal.find("kernel 'k': its instructions expand"), std::string::npos)
          << it.refusal;
    }
  }
  ir::Function function;
  Growth(0).limit(function);
  ir::Builder builder(function);
  EXPECT_THROW(for (;;) builder.new_block(), ir::Outgrown);
  EXPECT_LT(function.blocks.size(), 1'000'000u);
}

// A function that stands once returns by a switch over its calls.
TEST(Scaling, a_switch_that_no_instruction_holds_is_refused) {
  const auto text = [](int calls) {
    std::string made =
        ".version 8.3\n.target sm_80\n.address_size 64\n"
        ".func (.reg .b32 %out) f(.reg .b32 %in) {\n  mov.b32 %out, %in;\n";
    for (int i = 0; i < 50; ++i) made += "  mad.lo.s32 %out, %out, %in, 7;\n";
    made += "  ret;\n}\n.entry k(.param .u64 to) {\n  .reg .b32 %r<2>;\n  .reg .b64 %d;\n";
    for (int i = 0; i < calls; ++i) made += "  call (%r0), f, (%r0);\n";
    return made + "  ld.param.u64 %d, [to];\n  st.global.u32 [%d], %r0;\n  ret;\n}\n";
  };
  for (const int calls : {2000, 33000}) {
    std::vector<Message> messages;
    TranslateOptions options;
    options.profile = *find_profile("portable");
    const auto module = PtxModule::parse({{text(calls), "calls.ptx"}}, messages);
    ASSERT_TRUE(module);
    const auto made = module->translate(options, messages);
    ASSERT_EQ(made.has_value(), calls == 2000) << (messages.empty() ? "" : messages[0].text);
    if (made) continue;
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_NE(messages[0].text.find("more cases than an instruction"), std::string::npos)
        << messages[0].text;
    EXPECT_EQ(messages[0].line, 58u);
  }
}

TEST(Scaling, what_kernels_expand_to_adds_up) {
  ir::Function function;
  function.blocks.resize(200'000);  // 4.8 million instructions' worth
  Growth small(1000), large(1'000'000);
  for (Growth* each : {&small, &large}) {
    EXPECT_TRUE(each->fits(function));
    EXPECT_TRUE(each->fits(function)) << "the passes of one kernel add up";
    each->next_kernel();
  }
  EXPECT_FALSE(small.fits(function));
  EXPECT_NE(small.refusal().find("the kernels before it"), std::string::npos);
  function.blocks.resize(100'000);
  EXPECT_TRUE(large.fits(function)) << "a larger text may have more";
}

// What a few bytes of text ask for: a module, or a refusal, that does not take the memory.
TEST(Scaling, large_numbers_take_no_memory) {
  const std::string head = ".version 8.3\n.target sm_80\n.address_size 64\n";
  const std::string kernel = ".visible .entry k() { ret; }\n";
  const std::string inside = ".visible .entry k() {\n";
  const std::string modules[] = {
      ".const .b8 c[1073741824];\n" + kernel,
      ".const .b8 c[1073741824] = {1};\n" + kernel,
      ".global .b8 g[1073741824];\n" + kernel,
      ".global .b8 g[1073741824] = {1};\n" + kernel,
      ".global .b8 g[536870912];\n.global .u32 h = 1;\n" + kernel,
      ".global .b8 g[268435456] = {1};\n.global .b8 h[268435456] = {1};\n" + kernel,
      ".global .align 1073741824 .b8 g[4];\n" + kernel,
      ".global .b8 g[1099511627776];\n" + kernel,
      ".func f(.param .b8 p[16777216]) { ret; }\n" + kernel,
      ".func f(.param .b8 p[16777216]) { ret; }\n" + inside +
          "{ .param .b8 x[16777216];\ncall f, (x);\n}\nret;\n}\n",
      inside + ".param .b8 x[1073741824];\n.param .b8 y[1073741824];\nret;\n}\n",
      inside + ".local .b8 x[1073741824];\n.reg .b64 %a;\nmov.u64 %a, x;\nret;\n}\n",
      inside + ".shared .b8 x[1073741824];\n.reg .b64 %a;\nmov.u64 %a, x;\nret;\n}\n",
      inside + ".reg .b32 %r<16777216>;\nmov.u32 %r16777215, 1;\nret;\n}\n",
      ".visible .entry k(.param .b8 x[1073741824]) { ret; }\n"};
  for (const std::string& module : modules)
    for (const Target& target : kTargets) {
      const Outcome it = translate(head + module, target);
      EXPECT_LT(it.counts.peak, 300'000'000u) << module << it.refusal;
      EXPECT_LT(it.counts.work(), 50'000'000u) << module << it.refusal;
    }
}

}  // namespace
}  // namespace ptx2spv::test
