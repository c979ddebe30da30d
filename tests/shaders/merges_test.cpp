// No routine of the library merges the bits of two values, (a & S) | (b & ~S) with a constant S:
// LLVM up to 22 on AVX-512 makes one masked instruction of a merge and of a choice between it and
// b, and takes its operands for each other. In kernels the pass break_bitfield_insert_select takes
// merges apart, which sees no routine from within.
#include <gtest/gtest.h>

#include <map>
#include <span>
#include <string>
#include <vector>

#include "ptx2spv/profile.hpp"
#include "ptx2spv/translator.hpp"
#include "shaders/library.hpp"

namespace {

enum : std::uint32_t {
  kOpName = 5,
  kOpConstant = 43,
  kOpConstantComposite = 44,
  kOpFunction = 54,
  kOpBitwiseOr = 197,
  kOpBitwiseAnd = 199,
  kOpBitFieldInsert = 201,
};

/// Names of the functions (or numbers, where there is no name) that hold merges.
std::vector<std::string> merging_functions(std::span<const std::uint32_t> words) {
  std::map<std::uint32_t, std::string> names;
  std::map<std::uint32_t, std::vector<std::uint32_t>> constants;  // components
  std::map<std::uint32_t, std::vector<std::uint32_t>> masks;      // of what `and` gives
  std::vector<std::string> found;
  std::uint32_t function = 0;
  for (std::size_t at = 5; at < words.size(); at += words[at] >> 16) {
    const std::size_t end = at + (words[at] >> 16);
    switch (words[at] & 0xffff) {
      case kOpName: names[words[at + 1]] = reinterpret_cast<const char*>(&words[at + 2]); break;
      case kOpConstant:
        if (end - at == 4) constants[words[at + 2]] = {words[at + 3]};
        break;
      case kOpConstantComposite: {
        std::vector<std::uint32_t> parts;
        for (std::size_t i = at + 3; i < end; ++i)
          for (const std::uint32_t part : constants[words[i]]) parts.push_back(part);
        constants[words[at + 2]] = parts;
        break;
      }
      case kOpFunction: function = words[at + 2]; break;
      case kOpBitwiseAnd:
        for (const std::size_t i : {at + 3, at + 4})
          if (constants.contains(words[i])) masks[words[at + 2]] = constants[words[i]];
        break;
      case kOpBitwiseOr: {
        const auto a = masks.find(words[at + 3]), b = masks.find(words[at + 4]);
        if (a == masks.end() || b == masks.end() || a->second.size() != b->second.size()) break;
        bool merge = true;
        for (std::size_t i = 0; i < a->second.size(); ++i)
          merge = merge && (a->second[i] ^ b->second[i]) == ~0u;
        if (merge) found.push_back(names[function]);
        break;
      }
      case kOpBitFieldInsert:
        if (constants.contains(words[at + 5]) && constants.contains(words[at + 6]))
          found.push_back(names[function]);
        break;
      default: break;
    }
  }
  return found;
}

TEST(ShaderLibrary, MergesNoBits) {
  for (const std::string& name : merging_functions(ptx2spv::shaders::library_words()))
    ADD_FAILURE() << name << " merges bits";
}

// The same search finds a merge where there is one.
TEST(ShaderLibrary, MergesWouldBeFound) {
  std::vector<ptx2spv::Message> messages;
  const auto module = ptx2spv::PtxModule::parse({{R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p) {
  .reg .b64 %a;
  .reg .f32 %f<3>;
  ld.param.u64 %a, [p];
  ld.global.v2.f32 {%f0, %f1}, [%a];
  copysign.f32 %f2, %f0, %f1;
  st.global.f32 [%a], %f2;
  ret;
})",
                                                  "merge.ptx"}},
                                                messages);
  ASSERT_TRUE(module);
  ptx2spv::TranslateOptions options;
  options.profile = *ptx2spv::find_profile("swiftshader");
  const auto translation = module->translate(options, messages);
  ASSERT_TRUE(translation);
  EXPECT_EQ(merging_functions(translation->spirv).size(), 1u);
}

}  // namespace
