// Modules as compilers write them, one a file in tests/cases/translate: each kernel translates for
// every profile, floating-point policy and thread model that it can have, and the result is valid.
// A case whose first line is `//: refused TEXT` is refused with that text in the message.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "ptx2spv/translator.hpp"
#include "tests/support/spirv_tools.hpp"

namespace ptx2spv {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(PTX2SPV_SOURCE_DIR) / "tests/cases/translate";

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kFolder))
    if (entry.path().extension() == ".ptx") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string read_whole(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::string text_of(const std::vector<Message>& messages) {
  std::string text;
  for (const Message& message : messages)
    if (message.severity == Severity::error) text += message.rendered + "\n";
  return text;
}

class Translate : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    text_ = read_whole(kFolder / (GetParam() + ".ptx"));
    constexpr std::string_view kRefused = "//: refused ";
    if (!text_.starts_with(kRefused)) return;
    refused_ = text_.substr(kRefused.size(), text_.find('\n') - kRefused.size());
  }

  void judge(const PtxModule& module, const std::string& entry, const TranslateOptions& options,
             const std::string& how) {
    std::vector<Message> messages;
    const auto result = module.translate(options, messages);
    if (!refused_.empty()) {
      EXPECT_FALSE(result) << entry << how;
      EXPECT_NE(text_of(messages).find(refused_), std::string::npos)
          << entry << how << text_of(messages);
      return;
    }
    ASSERT_TRUE(result) << entry << how << text_of(messages);
    EXPECT_EQ(test::validate_spirv(result->spirv), "") << entry << how;
  }

  std::string text_, refused_;
};

TEST_P(Translate, EverywhereAndValid) {
  std::vector<Message> messages;
  const auto module = PtxModule::parse({{text_, GetParam() + ".ptx"}}, messages);
  if (!module && !refused_.empty()) {
    EXPECT_NE(text_of(messages).find(refused_), std::string::npos) << text_of(messages);
    return;
  }
  ASSERT_TRUE(module) << text_of(messages);
  for (const std::string_view profile : profile_names()) {
    for (const FpPolicy fp : {FpPolicy::exact, FpPolicy::fast}) {
      for (const ThreadModel threads : {ThreadModel::direct, ThreadModel::regions}) {
        for (const EntryInfo& entry : module->interface().entries) {
          TranslateOptions options;
          options.profile = *find_profile(profile);
          options.fp = fp;
          options.threads = threads;
          options.entry = entry.name;
          options.debug_info = fp == FpPolicy::fast;
          judge(*module, entry.name, options,
                " for " + std::string(profile) +
                    (threads == ThreadModel::regions ? " in regions: " : ": "));
        }
      }
    }
  }
}

// What SPIRV-Tools of Debian 12 cannot say.
TEST(Reconvergence, IsDeclaredWhereLanesActAsOne) {
  std::vector<Message> messages;
  const auto module =
      PtxModule::parse({{read_whole(kFolder / "atomics-as-loops.ptx"), "a.ptx"}}, messages);
  ASSERT_TRUE(module) << text_of(messages);
  for (const std::string_view without : {"", "subgroup_partition", "maximal_reconvergence"}) {
    TranslateOptions options;
    options.profile = *find_profile("nvidia");
    set_capability(options.profile, without, false);
    const auto result = module->translate(options, messages);
    ASSERT_TRUE(result) << text_of(messages);
    constexpr std::uint32_t kExecutionMode = 3u << 16 | 16, kMaximallyReconverges = 6023;
    bool declared = false;
    for (std::size_t i = 5; i + 2 < result->spirv.size(); i += result->spirv[i] >> 16)
      declared = declared || (result->spirv[i] == kExecutionMode &&
                              result->spirv[i + 2] == kMaximallyReconverges);
    EXPECT_EQ(declared, without.empty()) << without;
    const auto text = test::disassemble_spirv(result->spirv);
    EXPECT_EQ(text.find("OpGroupNonUniformPartitionNV") != text.npos, without.empty()) << without;
    EXPECT_EQ(text.find("SPV_KHR_maximal_reconvergence") != text.npos, without.empty()) << without;
  }
}

// The clock of a subgroup is that of its processor, whose frequency changes.
TEST(Clocks, AreTheDevicesOwnWhereItHasOne) {
  const std::string text =
      ".version 7.0\n.target sm_80\n.address_size 64\n"
      ".visible .entry k(.param .u64 p) {\n  .reg .b64 %d<3>;\n  ld.param.u64 %d0, [p];\n"
      "  mov.u64 %d1, %clock64;\n  mov.u64 %d2, %globaltimer;\n"
      "  st.global.v2.u64 [%d0], {%d1, %d2};\n  ret;\n}\n";
  std::vector<Message> messages;
  const auto module = PtxModule::parse({{text, "a.ptx"}}, messages);
  ASSERT_TRUE(module) << text_of(messages);
  for (const bool own : {true, false}) {
    TranslateOptions options;
    options.profile = *find_profile("nvidia");
    set_capability(options.profile, "device_clock", own);
    const auto result = module->translate(options, messages);
    ASSERT_TRUE(result) << text_of(messages);
    constexpr std::uint32_t kReadClock = 4u << 16 | 5056, kConstant = 4u << 16 | 43;
    const auto& words = result->spirv;
    std::map<std::uint32_t, std::uint32_t> constants;
    std::vector<std::uint32_t> scopes;
    for (std::size_t i = 5; i < words.size(); i += words[i] >> 16) {
      if (words[i] == kConstant) constants[words[i + 2]] = words[i + 3];
      if (words[i] == kReadClock) scopes.push_back(constants[words[i + 3]]);
    }
    constexpr std::uint32_t kDevice = 1, kSubgroup = 3;
    EXPECT_EQ(scopes, std::vector<std::uint32_t>(2, own ? kDevice : kSubgroup)) << own;
  }
}

// As compilers write them, the mask in a register.
TEST(Reductions, AreTheSubgroupsWhereLanesHaveOneMask) {
  for (const char* mask :
       {"mov.u32 %r1, -1;", "mov.u32 %r1, %tid.x;", "mov.u32 %r1, -1; @%p0 mov.u32 %r1, 255;"}) {
    const std::string text =
        ".version 7.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 p) {\n  .reg .b64 %d<2>; .reg .b32 %r<4>; .reg .pred "
        "%p<1>;\n"
        "  ld.param.u64 %d0, [p];\n  ld.global.u32 %r0, [%d0];\n  setp.eq.u32 %p0, %r0, 0;\n  " +
        std::string(mask) +
        "\n  redux.sync.add.u32 %r2, %r0, %r1;\n  st.global.u32 [%d0], %r2;\n  ret;\n}\n";
    std::vector<Message> messages;
    const auto module = PtxModule::parse({{text, "a.ptx"}}, messages);
    ASSERT_TRUE(module) << text_of(messages);
    for (const bool arithmetic : {true, false}) {
      TranslateOptions options;
      options.profile = *find_profile("nvidia");
      set_capability(options.profile, "subgroup_arithmetic", arithmetic);
      options.block[0] = 64;
      options.block[1] = options.block[2] = 1;
      const auto result = module->translate(options, messages);
      ASSERT_TRUE(result) << text_of(messages);
      const auto spirv = test::disassemble_spirv(result->spirv);
      const bool one = arithmetic && std::string_view(mask) == "mov.u32 %r1, -1;";
      EXPECT_EQ(spirv.find("OpGroupNonUniformIAdd") != spirv.npos, one) << mask;
      EXPECT_EQ(spirv.find("OpGroupNonUniformShuffle ") != spirv.npos, !one) << mask;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Translate, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<std::string>& each) {
                           std::string name = each.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace ptx2spv
