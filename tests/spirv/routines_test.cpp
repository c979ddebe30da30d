// Routines of emulated arithmetic in modules: copied by the driver, or left as calls.
#include <gtest/gtest.h>

#include "ptx2spv/translator.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/spirv_tools.hpp"

namespace ptx2spv {
namespace {

/// A kernel of `count` sums that are rounded down, on a device that can round to nearest alone.
std::string kernel_with_sums(int count) {
  std::string text = R"(.version 7.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 to) {
  .reg .b64 %d<1>;
  .reg .f64 %f<2>;
  ld.param.u64 %d0, [to];
  ld.global.f64 %f0, [%d0];
  ld.global.f64 %f1, [%d0+8];
)";
  for (int i = 0; i < count; ++i) text += "  add.rm.f64 %f0, %f0, %f1;\n";
  text += "  st.global.f64 [%d0], %f0;\n  ret;\n}\n";
  const test::DebugSettings copies("skip=outline-library-calls");
  std::vector<Message> messages;
  const auto module = PtxModule::parse({{text, "k.ptx"}}, messages);
  TranslateOptions options;
  options.profile = *find_profile("nvidia");
  const auto result = module ? module->translate(options, messages) : std::nullopt;
  if (!result) return messages.empty() ? "" : messages.front().rendered;
  EXPECT_EQ(test::validate_spirv(result->spirv), "");
  return test::disassemble_spirv(result->spirv);
}

TEST(Routines, OnesThatManyCallsReachStayCalls) {
  constexpr std::string_view kSum = "= OpFunction %v2uint ";
  EXPECT_NE(kernel_with_sums(10).find(std::string(kSum) + "None"), std::string::npos);
  EXPECT_EQ(kernel_with_sums(10).find("DontInline"), std::string::npos);
  EXPECT_NE(kernel_with_sums(400).find(std::string(kSum) + "DontInline"), std::string::npos);
}

}  // namespace
}  // namespace ptx2spv
