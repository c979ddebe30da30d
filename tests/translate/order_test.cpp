// Where fences stand: behind an access that acquires and before one that releases, and nowhere
// else.
#include <gtest/gtest.h>

#include <map>
#include <spirv/unified1/spirv.hpp11>
#include <string>

#include "ptx2spv/translator.hpp"

namespace ptx2spv {
namespace {

/// The accesses that other threads may see and the fences of a module, in its order.
std::string order_of(const std::vector<std::uint32_t>& words) {
  std::map<std::uint32_t, std::uint32_t> constants;
  std::string out;
  for (std::size_t at = 5; at < words.size(); at += words[at] >> 16) {
    const std::size_t length = words[at] >> 16;
    switch (static_cast<spv::Op>(words[at] & 0xffff)) {
      case spv::Op::OpConstant: constants[words[at + 2]] = words[at + 3]; break;
      case spv::Op::OpLoad:
        if (length > 4 && (words[at + 4] & 1)) out += " load";
        break;
      case spv::Op::OpStore:
        if (length > 3 && (words[at + 3] & 1)) out += " store";
        break;
      case spv::Op::OpAtomicIAdd: out += " atomic"; break;
      case spv::Op::OpMemoryBarrier:
        out += constants[words[at + 1]] == static_cast<std::uint32_t>(spv::Scope::Device)
                   ? " device"
                   : " workgroup";
        break;
      default: break;
    }
  }
  return out;
}

TEST(MemoryOrder, fences_stand_behind_acquiring_and_before_releasing_accesses) {
  const struct {
    const char *instruction, *order;
  } rows[] = {
      {"ld.acquire.gpu.global.u32 %r0, [%rd0];", " load device"},
      {"ld.acquire.sys.u32 %r0, [%rd0];", " load device"},
      {"ld.acquire.cta.global.u32 %r0, [%rd0];", " load workgroup"},
      {"ld.acquire.gpu.shared::cta.u32 %r0, [s];", " load device"},
      {"ld.relaxed.gpu.global.u32 %r0, [%rd0];", " load"},
      {"ld.volatile.global.u32 %r0, [%rd0];", " load"},
      {"st.release.sys.global.u32 [%rd0], %r0;", " device store"},
      {"st.release.cta.global.u32 [%rd0], %r0;", " workgroup store"},
      {"st.relaxed.gpu.global.u32 [%rd0], %r0;", " store"},
      {"atom.global.add.u32 %r0, [%rd0], 1;", " atomic"},
      {"atom.relaxed.gpu.global.add.u32 %r0, [%rd0], 1;", " atomic"},
      {"atom.acquire.gpu.global.add.u32 %r0, [%rd0], 1;", " atomic device"},
      {"atom.release.cta.global.add.u32 %r0, [%rd0], 1;", " workgroup atomic"},
      {"atom.acq_rel.gpu.global.add.u32 %r0, [%rd0], 1;", " device atomic device"},
      {"red.release.gpu.global.add.u32 [%rd0], 1;", " device atomic"},
      {"fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%rd0], %r0;", " device store"},
      {"membar.cta; st.volatile.global.u32 [%rd0], %r0;", " workgroup store"},
  };
  for (const auto& [instruction, order] : rows) {
    const std::string text =
        ".version 8.3\n.target sm_80\n.address_size 64\n.shared .align 4 .u32 s;\n"
        ".visible .entry k(.param .u64 out) {\n.reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
        "ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x;\n" +
        std::string(instruction) + "\nst.global.u32 [%rd0+4], %r0;\nret;\n}\n";
    std::vector<Message> messages;
    const auto module = PtxModule::parse({{text, "order.ptx"}}, messages);
    ASSERT_TRUE(module) << instruction << messages.front().rendered;
    const auto made = module->translate({}, messages);
    ASSERT_TRUE(made) << instruction << messages.front().rendered;
    EXPECT_EQ(order_of(made->spirv), order) << instruction;
  }
}

}  // namespace
}  // namespace ptx2spv
