// ptx2spv's call of SPIRV-Tools' validator: what it says of large modules, and that it ends.
#include <gtest/gtest.h>

#include "ptx2spv/translator.hpp"
#include "tests/tools/nested_loops.hpp"
#include "tools/ptx2spv/spirv.hpp"

namespace ptx2spv {
namespace {

std::vector<std::uint32_t> module_of(const std::string& body) {
  const std::string text =
      ".version 8.3\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out) {\n"
      ".reg .pred %p; .reg .b32 %r0; .reg .b64 %rd0;\nld.param.u64 %rd0, [out];\n"
      "mov.u32 %r0, %tid.x;\n" +
      body + "st.global.u32 [%rd0], %r0;\nret;\n}\n";
  std::vector<Message> messages;
  const auto module = PtxModule::parse({{text, "large.ptx"}}, messages);
  auto made = module ? module->translate({}, messages) : std::nullopt;
  EXPECT_TRUE(made) << messages.front().rendered;
  return made ? std::move(made->spirv) : std::vector<std::uint32_t>{};
}

TEST(Validator, a_large_module_is_valid_or_wrong_as_a_small_one_is) {
  std::string body;
  for (int i = 0; i < 3000; ++i)
    body += "st.global.u32 [%rd0+" + std::to_string(i * 4) + "], %r0;\n";
  tools::Validator validator(body.size());
  for (std::string lines : {std::string(), body}) {
    std::vector<std::uint32_t> words = module_of(lines);
    ASSERT_EQ(words.size() > 50'000, !lines.empty()) << words.size();
    tools::Validity validity = validator.check(words);
    EXPECT_EQ(validity.wrong + validity.unchecked, "");
    words[3] = 1;  // the bound of the ids
    validity = validator.check(words);
    EXPECT_NE(validity.wrong.find("word "), std::string::npos) << validity.wrong;
    EXPECT_EQ(validity.unchecked, "");
  }
}

TEST(Validator, one_that_does_not_end_is_given_up) {
  const std::vector<std::uint32_t> words = module_of(test::nested_loops(3000, "%r0"));
  tools::Validator validator(0, 1u);
  const tools::Validity validity = validator.check(words);
  EXPECT_EQ(validity.wrong, "");
  EXPECT_NE(validity.unchecked.find("did not end within 1 second of processor time"),
            std::string::npos)
      << validity.unchecked;
  // Its time was that of all modules.
  EXPECT_NE(validator.check(module_of("")).unchecked.find("used up its processor time"),
            std::string::npos);
}

}  // namespace
}  // namespace ptx2spv
