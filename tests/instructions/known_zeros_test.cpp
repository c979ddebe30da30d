// Arithmetic with an operand that the driver can find out to be zero gives what it gives where the
// zero comes out of memory: as a constant, as the number of a thread in a dimension of size 1, as
// the counter of a short loop.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "ptx2spv/runtime.hpp"

namespace ptx2spv::tests {
namespace {

struct Operation {
  const char *text, *type;
};
constexpr Operation kOperations[] = {
    {"add.rn.f32", "f32"},     {"sub.rn.f32", "f32"},     {"mul.rn.f32", "f32"},
    {"div.rn.f32", "f32"},     {"div.full.f32", "f32"},   {"div.rz.f32", "f32"},
    {"add.rn.ftz.f32", "f32"}, {"mul.rn.ftz.f32", "f32"}, {"mul.rz.ftz.f32", "f32"},
    {"div.rn.ftz.f32", "f32"}, {"add.rn.f64", "f64"},     {"sub.rn.f64", "f64"},
    {"mul.rn.f64", "f64"},     {"div.rn.f64", "f64"},     {"mul.rp.f64", "f64"},
};

constexpr std::uint32_t kWords[] = {0,          0x80000000, 0x3f800000, 0xbf800000,
                                    0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001,
                                    0x00000001, 0x807fffff, 0x00800000, 0x42280000};

/// The zero stands first and then second, positive and then negative.
std::string kernel_text(const Operation& op, const std::string& source) {
  const bool wide = op.type[1] == '6';
  const std::string r = wide ? "%d" : "%f", bits = wide ? "b64" : "b32";
  std::string text =
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".visible .entry k(.param .u64 in, .param .u64 zeros, .param .u64 out)\n{\n"
      ".reg .b32 %t<4>;\n.reg .b64 %a<6>;\n.reg .f32 %f<8>;\n.reg .f64 %d<8>;\n.reg .pred %p;\n"
      "ld.param.u64 %a0, [in];\nld.param.u64 %a1, [zeros];\nld.param.u64 %a2, [out];\n"
      "mov.u32 %t0, %tid.x;\nmul.wide.u32 %a3, %t0, 8;\nadd.s64 %a0, %a0, %a3;\n"
      "mul.wide.u32 %a3, %t0, 32;\nadd.s64 %a2, %a2, %a3;\n";
  text += fmt::format("ld.global.{} {}0, [%a0];\nmov.u32 %t1, 0;\n", op.type, r);
  if (source == "loop") text += "again:\n";
  if (source == "thread") text += "mov.u32 %t1, %tid.y;\n";
  text += "cvt.u64.u32 %a4, %t1;\n";
  if (source == "memory")
    text += fmt::format("ld.global.{0} {1}1, [%a1];\nld.global.{0} {1}2, [%a1+8];\n", op.type, r);
  else if (source == "constant")
    text += fmt::format("mov.{0} {1}1, {2};\nmov.{0} {1}2, {3};\n", op.type, r,
                        wide ? "0d0000000000000000" : "0f00000000",
                        wide ? "0d8000000000000000" : "0f80000000");
  else
    text += fmt::format("mov.{0} {1}1, {2};\nxor.{0} {2}, {2}, {3};\nmov.{0} {1}2, {2};\n", bits, r,
                        wide ? "%a4" : "%t2", wide ? "0x8000000000000000" : "0x80000000");
  if (source != "memory" && source != "constant" && !wide)
    text.insert(text.rfind("mov.b32 %f1"), "mov.u32 %t2, %t1;\n");
  // The loop counts on; what counts is its first iteration.
  const std::string guard = source == "loop" ? "@!%p " : "";
  if (source == "loop") text += "setp.ne.u32 %p, %t1, 0;\n";
  for (unsigned zero = 1; zero <= 2; ++zero) {
    text += fmt::format("{0} {1}3, {1}{2}, {1}0;\n{3}st.global.{4} [%a2+{5}], {1}3;\n", op.text, r,
                        zero, guard, op.type, 16 * zero - 16);
    text += fmt::format("{0} {1}3, {1}0, {1}{2};\n{3}st.global.{4} [%a2+{5}], {1}3;\n", op.text, r,
                        zero, guard, op.type, 16 * zero - 8);
  }
  if (source == "loop") text += "add.u32 %t1, %t1, 1;\nsetp.lt.u32 %p, %t1, 3;\n@%p bra again;\n";
  return text + "ret;\n}\n";
}

std::vector<std::uint64_t> results(const Device& device, const Operation& op,
                                   const std::string& source) {
  std::vector<std::uint64_t> in, out(std::size(kWords) * 4);
  for (const std::uint32_t word : kWords)
    in.push_back(op.type[1] == '3'           ? word
                 : (word << 1) >> 24 == 0xff ? std::uint64_t{word} << 32 | (word & 1)
                                             : std::uint64_t{word} << 32);
  std::vector<std::uint64_t> zeros = {0, op.type[1] == '3' ? 0x80000000u : 1ull << 63};
  const auto module = Module::load(device, kernel_text(op, source), "zeros.ptx");
  EXPECT_TRUE(module) << module.error().to_string();
  if (!module) return {};
  const auto kernel = module->kernel("k");
  auto from = Buffer::create(device, in.size() * 8), to = Buffer::create(device, out.size() * 8),
       nothing = Buffer::create(device, 16);
  EXPECT_TRUE(kernel && from && to && nothing);
  if (!kernel || !from || !to || !nothing) return {};
  EXPECT_TRUE(from->upload(0, std::as_bytes(std::span(in))));
  EXPECT_TRUE(to->upload(0, std::as_bytes(std::span(out))));
  EXPECT_TRUE(nothing->upload(0, std::as_bytes(std::span(zeros))));
  LaunchConfig config;
  config.block = {static_cast<std::uint32_t>(in.size()), 1, 1};
  Args args;
  args.buffer(*from).buffer(*nothing).buffer(*to);
  const auto done = kernel->launch(config, args);
  EXPECT_TRUE(done) << done.error().to_string();
  EXPECT_TRUE(to->download(0, std::as_writable_bytes(std::span(out))));
  return out;
}

TEST(KnownZeros, GiveWhatZerosOutOfMemoryGive) {
  const auto device = Device::open();
  ASSERT_TRUE(device) << device.error().to_string();
  for (const Operation& op : kOperations) {
    const std::vector<std::uint64_t> wanted = results(*device, op, "memory");
    for (const char* source : {"constant", "thread", "loop"})
      EXPECT_EQ(results(*device, op, source), wanted) << op.text << ", zero of a " << source;
  }
}

}  // namespace
}  // namespace ptx2spv::tests
