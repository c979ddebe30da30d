// Kernels of the time when warps ran in lockstep: lanes exchange words of shared memory by volatile
// accesses, without a barrier. What is right is worked out here, all lanes an access at a time.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <functional>
#include <random>

#include "tests/instructions/words.hpp"
#include "tests/support/runtime.hpp"

namespace ptx2spv::tests {
namespace {

struct Lockstep {
  const char* name;
  std::vector<unsigned> blocks;  ///< threads
  std::string text;              ///< %x: the thread's word, then its result; %s: where in `words`
  std::function<Words(const Words&)> right;  ///< of a block
};

void PrintTo(const Lockstep& each, std::ostream* out) { *out << each.name; }

/// Of every warp: inclusive sums, in 64 words a warp whose lower half is 0.
Lockstep sums() {
  std::string text =
      "sub.u32 %t, %thread, %lane;\nshl.b32 %t, %t, 3;\nadd.u32 %s, %s, %t;\n"
      "shl.b32 %b, %lane, 4;\nadd.u32 %b, %s, %b;\nsetp.lt.u32 %p, %lane, 8;\n";
  for (const int word : {0, 4, 8, 12})  // a warp may have 8 lanes
    text += fmt::format("@%p st.shared.u32 [%b+{}], 0;\n", word);
  text +=
      "bar.sync 0;\nshl.b32 %t, %lane, 2;\nadd.u32 %s, %s, %t;\n"
      "st.volatile.shared.u32 [%s+128], %x;\n";
  for (const int distance : {1, 2, 4, 8, 16})
    text += fmt::format(
        "ld.volatile.shared.u32 %a, [%s+128];\nld.volatile.shared.u32 %b, [%s+{}];\n"
        "add.u32 %a, %a, %b;\nst.volatile.shared.u32 [%s+128], %a;\n",
        128 - 4 * distance);
  text += "ld.volatile.shared.u32 %x, [%s+128];\n";
  return {"sums", {32, 64, 96, 200}, text, [](const Words& in) {
            Words out = in;
            for (std::size_t i = 0; i < in.size(); ++i)
              if (i % 32) out[i] += out[i - 1];
            return out;
          }};
}

/// The first warp alone adds up what the block has, every thread gets the sum.
Lockstep reduction() {
  std::string text =
      "shl.b32 %t, %thread, 2;\nmov.u32 %c, %s;\nadd.u32 %s, %s, %t;\nst.shared.u32 [%s], %x;\n"
      "bar.sync 0;\nsetp.ge.u32 %p, %thread, 32;\n@%p bra added;\n";
  for (const int distance : {32, 16, 8, 4, 2, 1})
    text += fmt::format(
        "ld.volatile.shared.u32 %a, [%s+{}];\nld.volatile.shared.u32 %b, [%s];\n"
        "add.u32 %a, %a, %b;\nst.volatile.shared.u32 [%s], %a;\n",
        4 * distance);
  text += "added:\nbar.sync 0;\nld.shared.u32 %x, [%c];\n";
  return {"reduction", {64}, text, [](const Words& in) {
            std::uint32_t sum = 0;
            for (const std::uint32_t each : in) sum += each;
            return Words(in.size(), sum);
          }};
}

/// Each lane stores to its own word, then to the next lane's.
Lockstep handed_on() {
  return {
      "handed_on",
      {32, 128},
      "and.b32 %a, %thread, -32;\nadd.u32 %b, %lane, 1;\nand.b32 %b, %b, 31;\nor.b32 %a, %a, %b;\n"
      "shl.b32 %a, %a, 2;\nadd.u32 %a, %s, %a;\nshl.b32 %t, %thread, 2;\nadd.u32 %s, %s, %t;\n"
      "st.volatile.shared.u32 [%s], 0;\nst.volatile.shared.u32 [%a], %x;\n"
      "ld.volatile.shared.u32 %x, [%s];\n",
      [](const Words& in) {
        Words out(in.size());
        for (std::size_t i = 0; i < in.size(); ++i) out[(i & ~31u) | ((i + 1) & 31)] = in[i];
        return out;
      }};
}

/// Lanes count into one of four words of their warp. Each marks what it stores and tries again
/// unless it finds its mark.
Lockstep counts() {
  return {"counts",
          {32, 96},
          "and.b32 %a, %thread, -32;\nand.b32 %b, %x, 3;\nadd.u32 %c, %a, %b;\nshl.b32 %c, %c, 2;\n"
          "add.u32 %c, %s, %c;\nshl.b32 %t, %thread, 2;\nadd.u32 %s, %s, %t;\n"
          "st.volatile.shared.u32 [%s], 0;\nbar.sync 0;\nshl.b32 %t, %lane, 27;\n"
          "again:\nld.volatile.shared.u32 %a, [%c];\nand.b32 %a, %a, 0x7ffffff;\n"
          "add.u32 %a, %a, 1;\nor.b32 %a, %a, %t;\nst.volatile.shared.u32 [%c], %a;\n"
          "ld.volatile.shared.u32 %b, [%c];\nsetp.ne.u32 %p, %a, %b;\n@%p bra again;\n"
          "bar.sync 0;\nld.shared.u32 %x, [%s];\nand.b32 %x, %x, 0x7ffffff;\n",
          [](const Words& in) {
            Words out(in.size(), 0);
            for (std::size_t i = 0; i < in.size(); ++i) ++out[(i & ~31u) + in[i] % 4];
            return out;
          }};
}

std::string module_of(const Lockstep& each) {
  return ".version 7.0\n.target sm_75\n.address_size 64\n"
         ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
         ".reg .u32 %thread, %lane, %s, %t, %a, %b, %c, %x;\n.reg .u64 %at, %d;\n.reg .pred %p;\n"
         ".shared .align 4 .b8 words[2048];\n"
         "mov.u32 %thread, %tid.x;\nmov.u32 %t, %ntid.x;\nmov.u32 %a, %ctaid.x;\n"
         "mad.lo.u32 %t, %a, %t, %thread;\nmul.wide.u32 %d, %t, 4;\nld.param.u64 %at, [in];\n"
         "add.u64 %at, %at, %d;\nld.global.u32 %x, [%at];\nld.param.u64 %at, [out];\n"
         "add.u64 %at, %at, %d;\nand.b32 %lane, %thread, 31;\nmov.u32 %s, words;\n" +
         each.text + "st.global.u32 [%at], %x;\nret;\n}\n";
}

class Lockstepped : public testing::TestWithParam<Lockstep> {};

TEST_P(Lockstepped, LanesMakeEachAccessTogether) {
  static const Result<Device> device = Device::open();
  ASSERT_TRUE(device) << device.error().to_string();
  const Lockstep& form = GetParam();
  const auto module = Module::load(*device, module_of(form), std::string(form.name) + ".ptx");
  ASSERT_TRUE(module) << text_of(module.error());
  const auto kernel = module->kernel("k");
  ASSERT_TRUE(kernel) << kernel.error().to_string();
  std::mt19937 random(7);
  for (const unsigned threads : form.blocks)
    for (const ThreadModel model : {ThreadModel::direct, ThreadModel::regions}) {
      SCOPED_TRACE(fmt::format("{} threads, model {}", threads, static_cast<int>(model)));
      constexpr unsigned kBlocks = 5;
      Words in(threads * kBlocks);
      for (std::uint32_t& word : in) word = random();
      LaunchConfig config;
      config.grid = {kBlocks, 1, 1};
      config.block = {threads, 1, 1};
      config.threads = model;
      const auto out = words_of_launch(*device, *kernel, config, bytes_of(in), in.size());
      ASSERT_TRUE(out) << out.error().to_string();
      for (unsigned block = 0; block < kBlocks; ++block) {
        const auto first = static_cast<std::ptrdiff_t>(block * threads);
        const auto last = first + static_cast<std::ptrdiff_t>(threads);
        const Words right = form.right({in.begin() + first, in.begin() + last});
        ASSERT_EQ(Words(out->begin() + first, out->begin() + last), right) << "block " << block;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(All, Lockstepped,
                         testing::Values(sums(), reduction(), handed_on(), counts()),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace ptx2spv::tests
