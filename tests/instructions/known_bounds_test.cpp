// Operands of which the translator knows bounds (integers converted, constants) take shorter ways
// to the same results as operands out of memory, of which it knows nothing.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <bit>
#include <random>

#include "ptx2spv/runtime.hpp"

namespace ptx2spv::tests {
namespace {

constexpr unsigned kThreads = 64, kRounds = 4;

// %f1 and %f2 are integers converted, %f3 any bits, %f8 to %f15 the constants below; %f0 is the
// result.
constexpr const char* kPrograms[] = {
    "add.rn.f32 %f0, %f3, %f8;",
    "add.rn.f32 %f0, %f9, %f3;",
    "sub.rn.f32 %f0, %f3, %f10;",
    "sub.rn.f32 %f0, %f11, %f3;",
    "add.rn.f32 %f4, %f3, %f8;\nsub.rn.f32 %f0, %f4, %f8;",
    "add.rn.f32 %f4, %f3, %f8;\nmul.rn.f32 %f0, %f4, %f9;",
    "add.rn.ftz.f32 %f0, %f3, %f8;",
    "add.rn.sat.f32 %f0, %f3, %f12;",
    "add.rz.f32 %f0, %f3, %f8;",
    "add.rn.f32 %f0, %f1, %f2;",
    "mul.rn.f32 %f0, %f1, %f2;",
    "mul.rn.f32 %f0, %f1, %f14;",
    "mul.rn.f32 %f4, %f1, %f14;\nmul.rn.f32 %f0, %f4, %f14;",
    "mul.rn.f32 %f4, %f1, %f10;\nmul.rn.f32 %f4, %f4, %f10;\nmul.rn.f32 %f0, %f4, %f2;",
    "mul.rn.f32 %f4, %f1, %f9;\nadd.rn.f32 %f0, %f4, %f3;",
    "mul.rn.ftz.f32 %f0, %f1, %f9;",
    "mul.rp.f32 %f0, %f1, %f9;",
    "mul.rn.f32 %f0, %f1, %f15;",
    "fma.rn.f32 %f0, %f1, %f9, %f12;",
    "fma.rn.f32 %f0, %f1, %f2, %f13;",
    "fma.rn.f32 %f4, %f1, %f12, %f13;\nfma.rn.f32 %f0, %f2, %f9, %f4;",
    "mul.rn.f32 %f4, %f1, %f9;\nneg.f32 %f4, %f4;\nfma.rn.f32 %f0, %f1, %f9, %f4;",
    "fma.rn.f32 %f4, %f1, %f8, %f8;\nfma.rn.f32 %f0, %f4, %f2, %f12;",
    "fma.rn.f32 %f0, %f1, %f10, %f11;",
    "fma.rn.f32 %f4, %f1, %f2, %f10;\nfma.rn.f32 %f0, %f4, %f10, %f2;",
    "fma.rn.sat.f32 %f0, %f1, %f9, %f12;",
    "fma.rn.ftz.f32 %f0, %f1, %f9, %f12;",
    "fma.rm.f32 %f0, %f1, %f9, %f12;",
    "add.rn.sat.f32 %f4, %f3, %f12;\nfma.rm.f32 %f0, %f4, %f12, %f13;",
    "add.rn.sat.f32 %f4, %f3, %f12;\nfma.rz.f32 %f0, %f4, %f9, %f11;",
    "mul.rn.sat.f32 %f4, %f3, %f9;\nfma.rm.f32 %f0, %f4, %f14, %f12;",
    "mul.rn.sat.f32 %f4, %f3, %f9;\nfma.rm.ftz.f32 %f0, %f4, %f10, %f8;",
    "add.rn.sat.f32 %f4, %f1, %f12;\nfma.rn.f32 %f0, %f4, %f3, %f12;",
    "min.f32 %f4, %f1, %f12;\nmax.f32 %f5, %f2, %f9;\nfma.rn.f32 %f0, %f4, %f5, %f12;",
    "max.f32 %f4, %f3, %f12;\nfma.rn.f32 %f0, %f4, %f1, %f12;",
    "setp.lt.f32 %q, %f3, %f12;\nselp.f32 %f4, %f1, %f9, %q;\nfma.rn.f32 %f0, %f4, %f2, %f12;",
    "setp.lt.f32 %q, %f3, %f12;\nselp.f32 %f4, %f1, %f3, %q;\nfma.rn.f32 %f0, %f4, %f2, %f12;",
    "cvt.rni.f32.f32 %f4, %f3;\nadd.rn.f32 %f4, %f4, %f12;\nmul.rn.f32 %f0, %f4, %f9;",
    "cvt.rzi.f32.f32 %f4, %f3;\nfma.rn.f32 %f0, %f4, %f9, %f12;",
    "mul.rn.f32 %f4, %f3, %f9;\nfma.rn.f32 %f0, %f4, %f1, %f12;",
    "abs.f32 %f4, %f1;\nsqrt.rn.f32 %f4, %f4;\nmul.rn.f32 %f0, %f4, %f14;",
};

// 2^-101, 1/3, about 2^-102, 1e30, 0.1, -7, 2^-126, a denormal
constexpr std::uint32_t kConstants[] = {0x0d000000, 0x3eaaaaab, 0x0cc90fdb, 0x7149f2ca,
                                        0x3dcccccd, 0xc0e00000, 0x00800000, 0x00012345};

std::string kernel_text(bool known) {
  std::string text =
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".visible .entry k(.param .u64 in, .param .u64 constants, .param .u64 out)\n{\n"
      ".reg .b32 %t<4>;\n.reg .b64 %a<4>;\n.reg .f32 %f<16>;\n.reg .pred %q;\n"
      "ld.param.u64 %a0, [in];\nld.param.u64 %a1, [constants];\nld.param.u64 %a2, [out];\n"
      "mov.u32 %t0, %tid.x;\nmad.wide.u32 %a0, %t0, 20, %a0;\n";
  text += fmt::format("mad.wide.u32 %a2, %t0, {}, %a2;\n", std::size(kPrograms) * 4);
  if (known)
    text +=
        "ld.global.u32 %t1, [%a0];\nld.global.u32 %t2, [%a0+4];\n"
        "cvt.rn.f32.s32 %f1, %t1;\ncvt.rn.f32.u32 %f2, %t2;\n";
  else
    text += "ld.global.f32 %f1, [%a0+8];\nld.global.f32 %f2, [%a0+12];\n";
  text += "ld.global.f32 %f3, [%a0+16];\n";
  for (unsigned i = 0; i < std::size(kConstants); ++i)
    text += known ? fmt::format("mov.f32 %f{}, 0f{:08x};\n", i + 8, kConstants[i])
                  : fmt::format("ld.global.f32 %f{}, [%a1+{}];\n", i + 8, i * 4);
  for (unsigned i = 0; i < std::size(kPrograms); ++i)
    text += fmt::format("{}\nst.global.f32 [%a2+{}], %f0;\n", kPrograms[i], i * 4);
  return text + "ret;\n}\n";
}

/// A thread's operands: two integers, the same as floats, and any float.
std::vector<std::uint32_t> operands(std::mt19937& random) {
  std::vector<std::uint32_t> words;
  for (unsigned i = 0; i < kThreads; ++i) {
    const std::uint32_t n = random() >> random() % 32, m = random() >> random() % 32;
    const auto negative = static_cast<std::int32_t>(random() & 1 ? 0u - n : n);
    std::uint32_t any = random();
    if (i % 4 == 0) any = (any & 0x80000000u) | any % 0x01000000u;  // near zero
    if (i % 4 == 1) any = (kConstants[random() % 6] ^ (any & 0x80000000u)) + any % 5 - 2;
    if (i % 16 == 2) any = any % 2 ? 0x7fc00001u : 0xff800000u;
    words.insert(words.end(), {static_cast<std::uint32_t>(negative), m,
                               std::bit_cast<std::uint32_t>(static_cast<float>(negative)),
                               std::bit_cast<std::uint32_t>(static_cast<float>(m)), any});
  }
  return words;
}

std::vector<std::uint32_t> results(const Device& device, bool known,
                                   const std::vector<std::uint32_t>& in) {
  std::vector<std::uint32_t> out(kThreads * std::size(kPrograms));
  const auto module = Module::load(device, kernel_text(known), "bounds.ptx");
  EXPECT_TRUE(module) << module.error().to_string();
  if (!module) return {};
  const auto kernel = module->kernel("k");
  auto from = Buffer::create(device, in.size() * 4), to = Buffer::create(device, out.size() * 4),
       constants = Buffer::create(device, sizeof kConstants);
  EXPECT_TRUE(kernel && from && to && constants);
  if (!kernel || !from || !to || !constants) return {};
  EXPECT_TRUE(from->upload(0, std::as_bytes(std::span(in))));
  EXPECT_TRUE(constants->upload(0, std::as_bytes(std::span(kConstants))));
  LaunchConfig config;
  config.block = {kThreads, 1, 1};
  Args args;
  args.buffer(*from).buffer(*constants).buffer(*to);
  const auto done = kernel->launch(config, args);
  EXPECT_TRUE(done) << done.error().to_string();
  EXPECT_TRUE(to->download(0, std::as_writable_bytes(std::span(out))));
  return out;
}

TEST(KnownBounds, ChangeNoResult) {
  const auto device = Device::open();
  ASSERT_TRUE(device) << device.error().to_string();
  std::mt19937 random(7);
  for (unsigned round = 0; round < kRounds; ++round) {
    const auto in = operands(random);
    const auto known = results(*device, true, in), unknown = results(*device, false, in);
    ASSERT_FALSE(unknown.empty());
    ASSERT_EQ(known.size(), unknown.size());
    for (std::size_t i = 0; i < known.size(); ++i) {
      const std::size_t thread = i / std::size(kPrograms), program = i % std::size(kPrograms);
      ASSERT_EQ(known[i], unknown[i])
          << kPrograms[program]
          << fmt::format("\nof {:08x}, {:08x}, {:08x}", in[thread * 5 + 2], in[thread * 5 + 3],
                         in[thread * 5 + 4]);
    }
  }
}

}  // namespace
}  // namespace ptx2spv::tests
