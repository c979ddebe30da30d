// Machine code of the host back end, beside the interpreter, whose results the other tests hold
// against hardware: control flow that splits warps, blocks of any shape, barriers, warp operations,
// local memory, and what ends a launch early.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "tests/host/kernels.hpp"
#include "translator/backend/host/workers.hpp"

namespace ptx2spv::tests {
namespace {

/// Kernels that only store words: on AArch64, too.
class Anywhere : public Compiled {
 protected:
  void SetUp() override {
    if (std::string_view(GetParam()) != kArm) return Compiled::SetUp();
    if (const std::string problem = InterpretedKernel::no_compiler(); !problem.empty())
      GTEST_SKIP() << problem;
    if (!Emulator::missing().empty()) GTEST_SKIP() << Emulator::missing();
    if (!initialise("AArch64")) GTEST_SKIP() << "this libLLVM does not compile for AArch64";
    interpreter::llvm::compile_for(kArm, "aarch64-linux-gnu");
    g_on_arm = true;
  }
  void TearDown() override {
    g_on_arm = false;
    Compiled::TearDown();
  }

 public:
  static constexpr const char* kArm = "cortex-a72";
};

TEST_P(Anywhere, LanesGoDifferentWays) {
  expect_equal(
      "and.b32 %r12, %r10, 31;\nmov.u32 %r13, 0;\n"
      "again:\nsetp.ge.u32 %p0, %r13, %r12;\n@%p0 bra over;\nadd.u32 %r13, %r13, 1;\n"
      "mad.lo.u32 %r11, %r11, 1664525, 1013904223;\nand.b32 %r14, %r11, 3;\n"
      "setp.eq.u32 %p1, %r14, 0;\n@%p1 bra again;\nsetp.eq.u32 %p2, %r14, 1;\n@!%p2 bra other;\n"
      "xor.b32 %r10, %r10, %r13;\nand.b32 %r15, %r11, 0x700;\nsetp.eq.u32 %p3, %r15, 0;\n"
      "@%p3 bra over;\nbra again;\nother:\nadd.u32 %r10, %r10, %r11;\nbra again;\n"
      "over:\nadd.u32 %r11, %r11, %r13;");
  // A value of the iteration in which each lane left, and a loop in a loop.
  expect_equal(
      "mov.u32 %r12, 0;\nmov.u32 %r16, 0;\nouter:\nmov.u32 %r13, 0;\ninner:\n"
      "mad.lo.u32 %r11, %r11, 22695477, 1;\nshr.u32 %r14, %r11, 28;\nadd.u32 %r13, %r13, %r14;\n"
      "setp.lt.u32 %p0, %r13, 40;\n@%p0 bra inner;\nadd.u32 %r12, %r12, 1;\n"
      "add.u32 %r16, %r16, %r13;\nand.b32 %r15, %r11, 0x300;\nsetp.ne.u32 %p1, %r15, 0;\n"
      "setp.lt.u32 %p2, %r12, 9;\nand.pred %p3, %p1, %p2;\n@%p3 bra outer;\n"
      "mov.u32 %r10, %r16;\nadd.u32 %r11, %r13, %r12;");
  // A switch, and threads that end early.
  expect_equal(
      "and.b32 %r12, %r10, 3;\nsetp.eq.u32 %p0, %r12, 2;\n@%p0 bra two;\nsetp.eq.u32 %p1, %r12, "
      "1;\n"
      "@%p1 bra one;\nsetp.eq.u32 %p2, %r12, 3;\n@%p2 ret;\nmul.lo.u32 %r11, %r11, 3;\nbra over;\n"
      "one:\nxor.b32 %r11, %r11, %r10;\nbra over;\ntwo:\nnot.b32 %r11, %r10;\nover:");
}

TEST_P(Anywhere, AddressesFollowEachOtherOrNot) {
  expect_equal(
      "rem.u32 %r12, %r10, %r0;\nmul.wide.u32 %d4, %r12, 8;\nadd.u64 %d4, %d1, %d4;\n"
      "ld.global.u32 %r11, [%d4+4];\nld.global.u8 %r13, [%d3+1];\nld.global.u16 %r14, [%d4+2];\n"
      "add.u32 %r11, %r11, %r13;\nxor.b32 %r11, %r11, %r14;\nld.global.u64 %d5, [%d4];\n"
      "cvt.u32.u64 %r15, %d5;\nadd.u32 %r10, %r10, %r15;\nld.global.u32 %r16, [%d1+12];\n"
      "add.u32 %r10, %r10, %r16;\nsetp.gt.u32 %p0, %r14, 0x8000;\n@%p0 st.global.u8 [%d2+1], "
      "%r13;\n"
      "@%p0 ret;");
}

TEST_P(Anywhere, ThreadsHaveMemoryOfTheirOwn) {
  expect_equal(
      "mov.u32 %r12, 0;\nfill:\nand.b32 %r13, %r12, 7;\nshl.b32 %r13, %r13, 2;\nmov.u32 %r14, "
      "mine;\n"
      "add.u32 %r13, %r13, %r14;\nmad.lo.u32 %r11, %r11, 1664525, 7;\nst.local.u32 [%r13], %r11;\n"
      "add.u32 %r12, %r12, 1;\nsetp.lt.u32 %p0, %r12, 8;\n@%p0 bra fill;\nand.b32 %r15, %r10, 6;\n"
      "shl.b32 %r15, %r15, 2;\nadd.u32 %r15, %r14, %r15;\nld.local.u64 %d4, [%r15];\n"
      "cvt.u32.u64 %r10, %d4;\nst.local.u8 [%r15+2], %r12;\nld.local.u16 %r16, [%r15+2];\n"
      "ld.local.u32 %r17, [mine+8];\nadd.u32 %r11, %r16, %r17;",
      ".local .align 8 .b8 mine[32];\n");
}

TEST_P(Anywhere, BarriersAndSharedMemory) {
  expect_equal(
      "mov.u32 %r12, all;\nshl.b32 %r13, %r2, 2;\nadd.u32 %r13, %r12, %r13;\n"
      "st.shared.u32 [%r13], %r10;\nmov.u32 %r14, 1;\nround:\nbar.sync 0;\nadd.u32 %r15, %r2, "
      "%r14;\n"
      "setp.lt.u32 %p0, %r15, %r9;\nmov.u32 %r16, 0;\n@!%p0 bra none;\nshl.b32 %r17, %r15, 2;\n"
      "add.u32 %r17, %r12, %r17;\nld.shared.u32 %r16, [%r17];\nnone:\nbar.sync 0;\n"
      "ld.shared.u32 %r18, [%r13];\nadd.u32 %r18, %r18, %r16;\nst.shared.u32 [%r13], %r18;\n"
      "shl.b32 %r14, %r14, 1;\nsetp.lt.u32 %p1, %r14, %r9;\n@%p1 bra round;\nbar.sync 0;\n"
      "ld.shared.u32 %r10, [%r12];\nld.shared.u32 %r11, [%r13];\n"
      "setp.gt.u32 %p2, %r18, 0x80000000;\nbar.red.popc.u32 %r19, 0, %p2;\nadd.u32 %r11, %r11, "
      "%r19;",
      ".shared .align 4 .b8 all[4096];\n");
}

/// Addresses that were made in front of a barrier, from values that nothing needs behind it.
TEST_P(Anywhere, AddressesAreReadBehindBarriers) {
  for (const std::string index :
       {"mul.wide.u32 %d4, %r12, 4;\n", "shl.b32 %r12, %r12, 2;\ncvt.u64.u32 %d4, %r12;\n",
        "cvt.s64.s32 %d4, %r12;\nshl.b64 %d4, %d4, 2;\n"})
    expect_equal("and.b32 %r12, %r2, 7;\n" + index +
                 "add.u64 %d4, %d1, %d4;\nld.global.u32 %r13, [%d4];\nxor.b32 %r10, %r10, %r13;\n"
                 "bar.sync 0;\nld.volatile.global.u32 %r14, [%d4];\nadd.u32 %r10, %r10, %r14;\n"
                 "bar.sync 0;\nld.volatile.global.u32 %r15, [%d4+4];\nadd.u32 %r11, %r11, %r15;\n");
}

/// Sums of memory in a loop, as the hardware has them (hardware.md): a bit of the result for each
/// that is another.
TEST_P(Compiled, AtomicSumsOfFloatsAreNvidias) {
  struct Sum {
    std::uint64_t old, value, global, shared;
  };
  // Denormals flushed by global memory alone, a sum that is one, zeros, one NaN for all.
  constexpr Sum kSingle[] = {{0x3f800000, 0x40000000, 0x40400000, 0x40400000},
                             {1, 1, 0, 2},
                             {0x80000001, 0x80000000, 0x80000000, 0x80000001},
                             {0x00800000, 0x80800001, 0x80000000, 0x80000001},
                             {0x80000000, 0x80000000, 0x80000000, 0x80000000},
                             {0x3f800000, 0xbf800000, 0, 0},
                             {0x4b800000, 0x3f800000, 0x4b800000, 0x4b800000},
                             {0x7f800000, 0xff800000, 0x7fffffff, 0x7fffffff},
                             {0xffc00001, 0x3f800000, 0x7fffffff, 0x7fffffff},
                             {0x7f7fffff, 0x7f7fffff, 0x7f800000, 0x7f800000}};
  // The operand's NaN first and as it is, or the cell's first and quiet.
  constexpr Sum kDouble[] = {
      {0x3ff0000000000000, 0x4000000000000000, 0x4008000000000000, 0x4008000000000000},
      {1, 1, 2, 2},
      {0x7ff0000000000001, 0xfff0000000000002, 0xfff0000000000002, 0x7ff8000000000001},
      {0x7ff0000000000001, 0x3ff0000000000000, 0x7ff0000000000001, 0x7ff8000000000001},
      {0x3ff0000000000000, 0xfff0000000000002, 0xfff0000000000002, 0xfff8000000000002},
      {0x7ff0000000000000, 0xfff0000000000000, 0xfff8000000000000, 0xfff8000000000000}};
  std::string body =
      "mov.u32 %r12, all;\nshl.b32 %r13, %r2, 3;\nadd.u32 %r12, %r12, %r13;\nmov.u32 %r10, 0;\n"
      "mov.u32 %r11, 0;\nmov.u32 %r14, 0;\nagain:\n";
  unsigned bit = 0;
  const auto add = [&](const Sum& sum, bool wide, bool shared) {
    const std::string space = shared ? "shared" : "global", at = shared ? "[%r12]" : "[%d2]";
    const auto number = [](std::uint64_t n) { return std::to_string(n); };
    const std::string bits = wide ? "b64" : "b32", cell = wide ? "%d4" : "%r15";
    const std::string value = wide ? "%d5" : "%r16", type = wide ? "f64" : "f32";
    body += "mov." + bits + " " + cell + ", " + number(sum.old) + ";\nst." + space + "." + bits +
            " " + at + ", " + cell + ";\nmov." + bits + " " + value + ", " + number(sum.value) +
            ";\natom." + space + ".add." + type + " " + value + ", " + at + ", " + value +
            ";\nsetp.ne." + bits + " %p0, " + value + ", " + cell + ";\nld." + space + "." + bits +
            " " + cell + ", " + at + ";\nsetp.ne.or." + bits + " %p0, " + cell + ", " +
            number(shared ? sum.shared : sum.global) + ", %p0;\nselp.b32 %r17, " +
            number(1u << (bit++ % 16)) + ", 0, %p0;\nor.b32 " +
            (wide ? "%r11, %r11" : "%r10, %r10") + ", %r17;\n";
  };
  for (const bool shared : {false, true}) {
    for (const Sum& each : kSingle) add(each, false, shared);
    bit = 0;
    for (const Sum& each : kDouble) add(each, true, shared);
    bit = 0;
  }
  body += "add.u32 %r14, %r14, 1;\nsetp.lt.u32 %p1, %r14, 2;\n@%p1 bra again;";
  const auto kernel = kernel_of(body, ".shared .align 8 .b8 all[2048];\n");
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->not_compiled({32, 1, 1}), "");
  for (const Tier tier : {Tier::interpreted, Tier::compiled})
    for (const std::uint32_t word : run(*kernel, {32, 1, 1, 2}, tier).words) EXPECT_EQ(word, 0u);
}

/// Every operation on words that one, four or sixteen threads of a vector change, with what each
/// thread gets and without.
TEST_P(Compiled, AtomicsAreTheInterpreters) {
  const std::string narrow[] = {"add.u32", "min.u32", "max.u32", "min.s32", "max.s32",  "and.b32",
                                "or.b32",  "xor.b32", "inc.u32", "dec.u32", "exch.b32", "add.f32"};
  const std::string wide[] = {"add.u64", "min.u64", "max.u64", "min.s64", "max.s64",
                              "and.b64", "or.b64",  "xor.b64", "exch.b64"};
  for (const std::string space : {"global", "shared"})
    for (const unsigned sharing : {1u, 4u, 16u}) {
      const std::string at = space == "global" ? "[%d4]" : "[%r14]", in_space = "." + space + ".";
      const auto both = [&](const std::string& op, const std::string& to, const std::string& by) {
        return "atom" + in_space + op + " " + to + ", " + at + ", " + by + ";\nred" + in_space +
               op + " " + at + ", " + by + ";\n";
      };
      std::string body =
          "mov.u32 %r14, all;\nrem.u32 %r15, %r2, " + std::to_string(sharing) +
          ";\nsub.u32 %r15, %r2, %r15;\nshl.b32 %r16, %r15, 3;\nadd.u32 %r14, %r14, %r16;\n"
          "sub.u32 %r16, %r1, %r2;\nadd.u32 %r16, %r16, %r15;\nmul.wide.u32 %d4, %r16, 8;\n"
          "add.u64 %d4, %d0, %d4;\nmov.u32 %r20, 0;\nmov.b64 %d5, {%r10, %r11};\n"
          "mov.b64 %d6, {%r11, %r1};\nst.global.b64 [%d2], %d5;\nst.shared.b64 [%r14], %d5;\n"
          "bar.sync 0;\n";
      const std::string mix = "mad.lo.u32 %r20, %r20, 77, %r18;\n";
      for (const std::string& op : narrow)
        if (op == "exch.b32")
          body += "atom" + in_space + op + " %r18, " + at + ", %r10;\n" + mix;
        else if (op == "add.f32")
          body += "mov.b32 %f0, %r11;\n" + both(op, "%f1", "%f0") + "mov.b32 %r18, %f1;\n" + mix;
        else
          body += both(op, "%r18", "%r10") + mix;
      body += "atom" + in_space + "cas.b32 %r18, " + at + ", %r11, %r10;\n" + mix;
      for (const std::string& op : wide) {
        body += op == "exch.b64" ? "atom" + in_space + op + " %d7, " + at + ", %d6;\n"
                                 : both(op, "%d7", "%d6");
        body += "mov.b64 {%r18, %r19}, %d7;\n" + mix + "xor.b32 %r20, %r20, %r19;\n";
      }
      body += "atom" + in_space + "cas.b64 %d7, " + at +
              ", %d6, %d5;\nmov.b64 {%r18, %r19}, %d7;\n" + mix + "bar.sync 0;\nld" + in_space +
              "b64 %d7, " + at +
              ";\nmov.b64 {%r18, %r19}, %d7;\nbar.sync 0;\nxor.b32 %r10, %r20, %r18;\n"
              "add.u32 %r11, %r18, %r19;";
      expect_equal(body, ".shared .align 8 .b8 all[2048];\n");
    }
}

/// Lanes that change one word get what it was, one after the other.
TEST_P(Compiled, AtomicsOfOneWordAddUp) {
  constexpr unsigned kSome = 8;  // a vector of any processor's
  const auto float_of = [](std::uint32_t word) { return static_cast<float>(word & 0xffff); };
  for (const bool shared : {false, true}) {
    const std::string space = shared ? "shared" : "global", at = shared ? "%r20" : "%d4";
    const std::string in_space = "." + space + ".";
    const auto kernel = kernel_of(
        "setp.ge.u32 %p0, %r2, 8;\n@%p0 ret;\nadd.u64 %d4, %d0, 320;\nmov.u32 %r20, cell;\n"
        "mov.u32 %r21, 0;\nst" +
            in_space + "u32 [" + at + "], %r21;\nst" + in_space + "u32 [" + at +
            "+4], %r21;\nand.b32 %r22, %r11, 0xffff;\ncvt.rn.f32.u32 %f0, %r22;\n" + "atom" +
            in_space + "add.u32 %r12, [" + at + "], %r10;\n" + "atom" + in_space +
            "max.s32 %r13, [" + at + "], %r11;\n" + "atom" + in_space + "xor.b32 %r14, [" + at +
            "], %r10;\n" + "atom" + in_space + "inc.u32 %r15, [" + at + "], %r11;\n" + "atom" +
            in_space + "exch.b32 %r16, [" + at + "], %r10;\n" + "atom" + in_space +
            "add.f32 %f1, [" + at + "+4], %f0;\nmov.b32 %r17, %f1;\n" +
            "xor.b32 %r10, %r12, %r13;\nxor.b32 %r10, %r10, %r14;\nxor.b32 %r11, %r15, %r16;\n"
            "add.u32 %r11, %r11, %r17;",
        ".shared .align 8 .b8 cell[8];\n");
    ASSERT_TRUE(kernel);
    const Shape shape{64, 1, 1, 1};
    const std::vector<std::uint32_t> from = words_for(shape);
    std::vector<std::uint32_t> right(kSome * 2);
    std::uint32_t cell = 0;
    const auto change = [&](unsigned word, const auto& to) {
      for (unsigned lane = 0; lane < kSome; ++lane) {
        right[2 * lane + word] ^= cell;
        cell = to(cell, from[2 * lane], from[2 * lane + 1]);
      }
    };
    change(0, [](auto old, auto a, auto) { return old + a; });
    change(0, [](auto old, auto, auto b) {
      return static_cast<std::int32_t>(old) > static_cast<std::int32_t>(b) ? old : b;
    });
    change(0, [](auto old, auto a, auto) { return old ^ a; });
    change(1, [](auto old, auto, auto b) { return old >= b ? 0 : old + 1; });
    change(1, [](auto, auto a, auto) { return a; });
    float sum = 0;
    for (unsigned lane = 0; lane < kSome; ++lane) {
      right[2 * lane + 1] += std::bit_cast<std::uint32_t>(sum);
      sum += float_of(from[2 * lane + 1]);
    }
    for (const Tier tier : {Tier::interpreted, Tier::compiled}) {
      std::vector<std::uint32_t> words = run(*kernel, shape, tier).words;
      if (!shared) {
        EXPECT_EQ(words[80], cell);
        EXPECT_EQ(words[81], std::bit_cast<std::uint32_t>(sum));
      }
      words.resize(kSome * 2);
      EXPECT_EQ(words, right) << space;
    }
  }
}

/// Rows of a tile: groups of lanes follow each other where not all do. Some do not run, and some
/// lie before the tile's begin.
TEST_P(Anywhere, RowsOfATileFollowEachOther) {
  for (const unsigned width : {8u, 12u}) {
    const auto number = [](unsigned n) { return std::to_string(n); };
    const std::string place = "div.u32 %r13, %r2, " + number(width) + ";\nrem.u32 %r14, %r2, " +
                              number(width) + ";\nmad.lo.u32 %r13, %r13, " + number(width + 8) +
                              ", %r14;\n";
    expect_equal(
        "mov.u32 %r12, all;\nmov.u32 %r15, %r2;\nfill:\nshl.b32 %r16, %r15, 2;\n"
        "add.u32 %r16, %r12, %r16;\nmul.lo.u32 %r17, %r15, 0x9e3779b1;\n"
        "st.shared.u32 [%r16], %r17;\nadd.u32 %r15, %r15, %r9;\nsetp.lt.u32 %p0, %r15, 2048;\n"
        "@%p0 bra fill;\nbar.sync 0;\n" +
            place +
            "shl.b32 %r16, %r13, 2;\nadd.u32 %r16, %r12, %r16;\nshl.b32 %r18, %r13, 1;\n"
            "add.u32 %r18, %r12, %r18;\nadd.u32 %r19, %r12, %r13;\nshl.b32 %r20, %r13, 3;\n"
            "add.u32 %r20, %r12, %r20;\nsetp.lt.u32 %p1, %r11, 0xd0000000;\n"
            "@%p1 st.shared.u32 [%r16+64], %r10;\nbar.sync 0;\n"
            "@%p1 st.shared.u16 [%r18+4], %r11;\nbar.sync 0;\n"
            "@!%p1 st.shared.u8 [%r19+1], %r10;\nbar.sync 0;\nmov.b64 %d4, {%r10, %r11};\n"
            "setp.lt.u32 %p2, %r11, 0x20000000;\n@%p2 st.shared.u64 [%r20+2048], %d4;\n"
            "bar.sync 0;\nld.shared.u32 %r21, [%r16+-16];\nld.shared.u32 %r22, [%r16+4];\n"
            "mov.u32 %r23, 0;\n@%p1 ld.shared.u32 %r23, [%r16+-4];\n"
            "ld.shared.u16 %r24, [%r18+2];\nld.shared.s8 %r25, [%r19+5];\n"
            "ld.shared.u64 %d5, [%r20+8];\nmov.b64 {%r26, %r27}, %d5;\n"
            "add.u32 %r10, %r21, %r22;\nxor.b32 %r10, %r10, %r23;\nadd.u32 %r10, %r10, %r24;\n"
            "xor.b32 %r11, %r25, %r26;\nadd.u32 %r11, %r11, %r27;\n"
            // The same of global memory, by rows of its words.
            "rem.u32 %r28, %r13, %r9;\n"
            "mul.wide.u32 %d6, %r28, 8;\nadd.u64 %d6, %d1, %d6;\nld.global.u64 %d7, [%d6];\n"
            "mov.b64 {%r29, %r30}, %d7;\nadd.u32 %r10, %r10, %r29;\nxor.b32 %r11, %r11, %r30;",
        ".shared .align 8 .b8 all[8192];\n");
  }
}

/// The same of global memory, without barriers: rows that change their places.
TEST_P(Anywhere, RowsOfGlobalMemoryFollowEachOther) {
  expect_equal(
      "shr.u32 %r12, %r2, 3;\nand.b32 %r13, %r2, 7;\nmad.lo.u32 %r14, %r12, 12, %r13;\n"
      "rem.u32 %r14, %r14, %r9;\nmul.wide.u32 %d4, %r14, 4;\nadd.u64 %d4, %d1, %d4;\n"
      "ld.global.u32 %r15, [%d4];\nld.global.u32 %r16, [%d4+4];\nmul.wide.u32 %d4, %r14, 2;\n"
      "add.u64 %d4, %d1, %d4;\nld.global.u16 %r17, [%d4+2];\nsetp.lt.u32 %p0, %r11, 0xd0000000;\n"
      "mov.u32 %r18, 0;\n@%p0 ld.global.u32 %r18, [%d4];\nadd.u32 %r15, %r15, %r17;\n"
      "xor.b32 %r16, %r16, %r18;\nmov.b64 %d4, {%r15, %r16};\n"
      // The last row comes first, where rows are whole.
      "shr.u32 %r19, %r9, 3;\nsub.u32 %r19, %r19, 1;\nsub.u32 %r19, %r19, %r12;\n"
      "mad.lo.u32 %r19, %r19, 8, %r13;\nand.b32 %r20, %r9, 7;\nsetp.eq.u32 %p1, %r20, 0;\n"
      "selp.u32 %r19, %r19, %r2, %p1;\nsub.u32 %r20, %r1, %r2;\nadd.u32 %r19, %r19, %r20;\n"
      "mul.wide.u32 %d5, %r19, 8;\nadd.u64 %d5, %d0, %d5;\nst.global.u64 [%d5], %d4;\nret;");
}

TEST_P(Compiled, LanesWorkTogether) {
  const std::string body =
      "mov.b32 %r12, %r10;\nshfl.sync.bfly.b32 %r13, %r12, 5, 31, -1;\nadd.u32 %r12, %r12, %r13;\n"
      "shfl.sync.down.b32 %r13|%p0, %r12, 3, 31, -1;\nselp.u32 %r14, 1, 0, %p0;\n"
      "add.u32 %r12, %r12, %r13;\nadd.u32 %r12, %r12, %r14;\nand.b32 %r15, %r11, 31;\n"
      "shfl.sync.idx.b32 %r16, %r12, %r15, 31, -1;\nsetp.lt.u32 %p1, %r16, 0x60000000;\n"
      "vote.sync.ballot.b32 %r17, %p1, -1;\nactivemask.b32 %r18;\nmatch.any.sync.b32 %r19, %r15, "
      "-1;\n"
      "add.u32 %r10, %r16, %r17;\nxor.b32 %r11, %r18, %r19;";
  const auto kernel = kernel_of(body);
  ASSERT_TRUE(kernel);
  for (const Shape& shape : kShapes)
    EXPECT_EQ(run(*kernel, shape, Tier::compiled).words,
              run(*kernel, shape, Tier::interpreted).words)
        << shape.x << " " << shape.y << " " << shape.z;
}

/// Lanes that some leave, named while the kernel runs, of segments, of members that not all are.
TEST_P(Anywhere, LanesWorkTogetherThatAreLeft) {
  const std::string early = "setp.lt.u32 %p0, %r10, 0x30000000;\n@%p0 ret;\n";
  const std::string lanes = "and.b32 %r15, %r11, 31;\n";
  for (const std::string& start : {lanes, early + lanes}) {
    expect_equal(start +
                 "shfl.sync.idx.b32 %r16|%p1, %r10, %r15, 31, -1;\nselp.u32 %r17, 1, 0, %p1;\n"
                 "add.u32 %r16, %r16, %r17;\nshfl.sync.up.b32 %r17|%p2, %r16, %r15, 0, -1;\n"
                 "selp.u32 %r18, 1, 0, %p2;\nadd.u32 %r17, %r17, %r18;\n"
                 "shfl.sync.down.b32 %r18, %r17, %r15, 0x180f, -1;\nshr.u32 %r19, %r11, 8;\n"
                 "shfl.sync.bfly.b32 %r10, %r18, %r15, %r19, -1;\nadd.u32 %r11, %r16, %r17;");
    expect_equal(start +
                 "setp.lt.u32 %p1, %r10, 0x90000000;\nactivemask.b32 %r16;\n"
                 "vote.sync.ballot.b32 %r17, %p1, %r16;\nvote.sync.all.pred %p2, %p1, %r16;\n"
                 "mov.u32 %r20, %laneid;\nsetp.lt.u32 %p3, %r20, 16;\n"
                 "selp.b32 %r18, 0xffff, 0xffff0000, %p3;\nvote.sync.any.pred %p4, %p1, %r18;\n"
                 "vote.sync.uni.pred %p5, %p1, %r18;\nvote.sync.ballot.b32 %r19, !%p1, %r18;\n"
                 "selp.b32 %r10, 1, 0, %p2;\nselp.b32 %r20, 2, 0, %p4;\n"
                 "selp.b32 %r21, 4, 0, %p5;\nadd.u32 %r10, %r10, %r20;\n"
                 "add.u32 %r10, %r10, %r21;\nadd.u32 %r10, %r10, %r17;\n"
                 "xor.b32 %r11, %r19, %r18;");
  }
}

TEST_P(Compiled, BarriersCountThreadsThatAreLeft) {
  const std::string early = "setp.lt.u32 %p0, %r10, 0x30000000;\n@%p0 ret;\n";
  expect_equal("mov.u32 %r12, all;\nst.shared.u32 [%r12], %r0;\nbar.sync 0;\n" + early +
                   "atom.shared.add.u32 %r13, [%r12], %r10;\nbar.sync 0;\n"
                   "ld.shared.u32 %r10, [%r12];\nsetp.gt.u32 %p1, %r11, 0x50000000;\n"
                   "bar.red.popc.u32 %r11, 0, %p1;",
               ".shared .align 4 .b8 all[4];\n");
}

/// Functions of the shader library, of what each lane has, and of what all have.
TEST_P(Anywhere, LanesCallTheLibrary) {
  for (const std::string word : {"%r10", "%r0"})
    expect_equal("mov.b32 %f0, " + word +
                 ";\nrcp.approx.f32 %f1, %f0;\nabs.f32 %f2, %f0;\nsqrt.approx.f32 %f2, %f2;\n"
                 "tanh.approx.f32 %f3, %f0;\nsin.approx.f32 %f4, %f0;\nadd.f32 %f1, %f1, %f2;\n"
                 "fma.rz.f32 %f5, %f0, %f3, %f4;\nadd.rm.f32 %f6, %f5, %f1;\n"
                 "cvt.rzi.u64.f32 %d4, %f0;\ncvt.u32.u64 %r12, %d4;\nmov.b32 %r10, %f6;\n"
                 "mov.b32 %r13, %f4;\nadd.u32 %r11, %r12, %r13;");
}

/// As in a second process: the first launch finds what was stored, which no other kernel and no
/// other shape of blocks does.
TEST_P(Compiled, CodeIsKept) {
  const auto kept = std::make_shared<Kept>();
  const std::string body =
      "mad.lo.u32 %r10, %r10, 3, %r1;\nmov.b32 %f0, %r11;\n"
      "rcp.approx.f32 %f0, %f0;\nmov.b32 %r11, %f0;";
  const Shape &rows = kShapes[0], &no_rows = kShapes[3];
  const auto first = kernel_of(body, "", kept), second = kernel_of(body, "", kept);
  const auto other = kernel_of("mad.lo.u32 %r10, %r10, 5, %r1;" + body, "", kept);
  ASSERT_TRUE(first && second && other);
  const auto right = run(*first, rows, Tier::interpreted).words;
  EXPECT_EQ(run(*first, rows, Tier::compiled).words, right);
  EXPECT_EQ(kept->stored, 1);
  EXPECT_EQ(kept->found, 0);
  EXPECT_EQ(run(*second, rows, Tier::automatic).words, right);
  EXPECT_EQ(kept->found, 1);
  run(*second, no_rows, Tier::compiled);
  run(*other, rows, Tier::compiled);
  EXPECT_EQ(kept->found, 1);
  EXPECT_EQ(kept->stored, 3);
  // What another process has stored while this one waited for it.
  const auto late = std::make_shared<Kept>();
  late->others = kept->codes;
  const auto third = kernel_of(body, "", late);
  ASSERT_TRUE(third);
  EXPECT_EQ(run(*third, rows, Tier::compiled).words, right);
  EXPECT_EQ(late->found, 1);
  EXPECT_EQ(late->stored, 0);
}

TEST_P(Compiled, LoopsThatDoNotEndAreStopped) {
  const auto kernel =
      kernel_of("again:\nadd.u32 %r10, %r10, 1;\nsetp.ne.u32 %p0, %r0, 0;\n@%p0 bra again;");
  ASSERT_TRUE(kernel);
  const Result result = run(*kernel, kShapes[0], Tier::compiled, 0.2);
  EXPECT_TRUE(result.ending.timed_out);
  EXPECT_EQ(result.ending.problem, "did not end within 0.2 seconds");
}

TEST_P(Compiled, BarriersThatOthersMissAreReported) {
  // A warp of the block goes to another barrier.
  const auto kernel = kernel_of(
      "shr.u32 %r12, %r2, 5;\nsetp.eq.u32 %p0, %r12, 0;\n@%p0 bra first;\nbar.sync 1;\nbra over;\n"
      "first:\nbar.sync 2;\nover:");
  ASSERT_TRUE(kernel);
  const Result result = run(*kernel, kShapes[0], Tier::compiled, 0, 1);
  EXPECT_EQ(result.ending.problem,
            "threads of block (0, 0, 0) wait at a barrier that others never reach");
}

/// Blocks that the interpreter begins and machine code ends: each is run once.
TEST_P(Compiled, ChangesWithinALaunch) {
  const auto kernel = kernel_of(
      "mov.u32 %r12, 0;\nturn:\nmad.lo.u32 %r11, %r11, 1664525, %r12;\nadd.u32 %r12, %r12, 1;\n"
      "setp.lt.u32 %p0, %r12, 2000;\n@%p0 bra turn;\natom.global.add.u32 %r13, [%d2], %r11;\n"
      "ld.global.u32 %r10, [%d2];");
  ASSERT_TRUE(kernel);
  const Shape shape{64, 1, 1, 4000};
  const Result right = run(*kernel, shape, Tier::compiled);
  for (int turn = 0; turn < 3; ++turn)
    EXPECT_EQ(run(*kernel, shape, Tier::automatic).words, right.words);
}

/// Launches at the same time, and in a child that has none of the threads which wait for launches.
TEST_P(Compiled, LaunchesShareThreads) {
  const auto kernel = kernel_of("mad.lo.u32 %r10, %r10, 3, %r1;\nxor.b32 %r11, %r11, %r10;");
  ASSERT_TRUE(kernel);
  const Shape shape{64, 1, 1, 500};
  const auto right = run(*kernel, shape, Tier::interpreted, 0, 1).words;
  const auto wrong = [&] {
    int count = 0;
    for (int i = 0; i < 20; ++i)
      count += run(*kernel, shape, i % 2 ? Tier::compiled : Tier::interpreted, 0, 4).words != right;
    return count;
  };
  std::vector<std::thread> callers;
  std::atomic<int> all{0};
  for (int i = 0; i < 4; ++i) callers.emplace_back([&] { all += wrong(); });
  for (std::thread& each : callers) each.join();
  EXPECT_EQ(all, 0);
#if !defined(__SANITIZE_THREAD__)
  const pid_t child = fork();
  if (child == 0) _exit(wrong());
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
#endif
}

#if !defined(__SANITIZE_THREAD__)
std::size_t threads_of_process() {
  const auto tasks = std::filesystem::directory_iterator("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

/// 0 where a signal to the process waits for this thread, which blocks it, and no thread of
/// launches takes it.
int signal_left_to_program(const InterpretedKernel& kernel) {
  std::signal(SIGUSR1, [](int) { _exit(2); });
  run(kernel, kShapes[0], Tier::interpreted, 0, 4);
  if (threads_of_process() < 2) return 3;
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  kill(getpid(), SIGUSR1);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return sigpending(&signals) == 0 && sigismember(&signals, SIGUSR1) == 1 ? 0 : 1;
}

// In a child, which has no threads but this one and those that its launch begins.
TEST(Workers, ThreadsLeaveSignalsToTheProgram) {
  const auto kernel = kernel_of("add.u32 %r10, %r10, %r11;");
  ASSERT_TRUE(kernel);
  const pid_t child = fork();
  if (child == 0) _exit(signal_left_to_program(*kernel));
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}
#endif

#if !defined(__SANITIZE_THREAD__)
/// In a child, whose one thread launches a block and then others: 0 where that begins no further
/// threads, 1 where it does.
int others_called(const InterpretedKernel& kernel, std::uint32_t blocks) {
  const pid_t child = fork();
  if (child == 0) {
    run(kernel, {64, 1, 1, 1}, Tier::interpreted, 0, 4);
    const bool alone = threads_of_process() == 1;
    run(kernel, {64, 1, 1, blocks}, Tier::interpreted, 0, 4);
    _exit(!alone ? 2 : threads_of_process() != 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// What is as short as it was is over before others would have begun.
TEST(Workers, ShortLaunchesAreRunAlone) {
  // Blocks but for the first take long.
  const auto kernel = kernel_of(
      "mov.u32 %r12, 0;\nmov.u32 %r13, %ctaid.x;\nsetp.eq.u32 %p0, %r13, 0;\n@%p0 bra over;\n"
      "turn:\nmad.lo.u32 %r11, %r11, 1664525, %r12;\nadd.u32 %r12, %r12, 1;\n"
      "setp.lt.u32 %p0, %r12, 100000;\n@%p0 bra turn;\nover:");
  const auto brief = kernel_of("add.u32 %r10, %r10, %r11;");
  ASSERT_TRUE(kernel && brief);
  // Where others take the processor meanwhile, even short ones last.
  int called = 1;
  for (int turn = 0; turn < 20 && called != 0; ++turn) called = others_called(*brief, 8);
  EXPECT_EQ(called, 0);
  EXPECT_EQ(others_called(*brief, 50000), 1);
  EXPECT_EQ(others_called(*kernel, 4), 1);
}
#endif

/// Such reads alone make no loop wait: here how often it is run does not depend on them.
TEST_P(Anywhere, LoopsMayReadWhatOthersStore) {
  expect_equal(
      "mov.u32 %r12, all;\nshl.b32 %r13, %r2, 2;\nadd.u32 %r13, %r12, %r13;\n"
      "st.volatile.shared.u32 [%r13], %r10;\nmov.u32 %r14, 4;\nround:\nbar.sync 0;\n"
      "and.b32 %r15, %r14, 124;\nadd.u32 %r15, %r12, %r15;\nld.volatile.shared.u32 %r16, [%r15];\n"
      "ld.volatile.shared.u32 %r17, [%r13];\nbar.sync 0;\nadd.u32 %r16, %r16, %r17;\n"
      "st.volatile.shared.u32 [%r13], %r16;\nshl.b32 %r14, %r14, 1;\n"
      "setp.lt.u32 %p1, %r14, 1024;\n@%p1 bra round;\nadd.u32 %r11, %r11, %r16;",
      ".shared .align 4 .b8 all[4096];\n");
}

/// For perf a line with name, address and length; for GDB an object in its list with symbol and
/// lines.
TEST_P(Compiled, DebuggersAndProfilersKnowCode) {
  std::vector<Message> messages;
  const auto module = PtxModule::parse(
      {{".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry named(.param .u64 to) {\n"
        ".reg .b64 %d;\n.reg .b32 %r;\nld.param.u64 %d, [to];\nmov.u32 %r, 7;\n"
        "st.global.u32 [%d], %r;\nret;\n}\n",
        "lines.ptx"}},
      messages);
  ASSERT_TRUE(module);
  const std::string map = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  std::filesystem::remove(map);
  for (const bool debug_info : {false, true}) {
    const auto kernel =
        InterpretedKernel::make(*module, {.debug_info = debug_info, .entry = "named"}, messages);
    ASSERT_TRUE(kernel);
    EXPECT_EQ(run(*kernel, {32, 1, 1, 1}, Tier::compiled).words[0], 7u);
    std::ifstream file(map);
    std::uint64_t address = 0, length = 0;
    std::string name;
    file >> std::hex >> address >> length >> name;
    EXPECT_EQ(name, debug_info ? "ptx.named" : "");
    if (!debug_info) continue;
    EXPECT_GT(length, 16u);
    // With the kernel alive, its object is the list's first.
    struct Entry {
      const Entry *next, *previous;
      const char* object;
      std::uint64_t size;
    };
    struct Descriptor {
      std::uint32_t version, action;
      const Entry *relevant, *first;
    };
    const auto* descriptor =
        static_cast<const Descriptor*>(library_symbol("__jit_debug_descriptor"));
    ASSERT_TRUE(descriptor && descriptor->first);
    const std::string_view object(descriptor->first->object, descriptor->first->size);
    EXPECT_NE(object.find("ptx.named"), std::string_view::npos);
    EXPECT_NE(object.find("lines.ptx"), std::string_view::npos);
    EXPECT_NE(object.find(".debug_line"), std::string_view::npos);
  }
  std::filesystem::remove(map);
}

// Vectors of 16, of 8, and of 8 without fused multiplication and gathers.
INSTANTIATE_TEST_SUITE_P(Processors, Compiled, testing::Values("", "haswell", "x86-64"));
INSTANTIATE_TEST_SUITE_P(Processors, Anywhere,
                         testing::Values("", "haswell", "x86-64", Anywhere::kArm));

TEST(Workers, AreAsManyAsTheThreadsProcessors) {
  std::thread([] {
    cpu_set_t allowed;
    ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    EXPECT_EQ(interpreter::processors(), static_cast<unsigned>(CPU_COUNT(&allowed)));
    const int first = sched_getcpu();
    CPU_ZERO(&allowed);
    CPU_SET(first, &allowed);
    ASSERT_EQ(sched_setaffinity(0, sizeof allowed, &allowed), 0);
    EXPECT_EQ(interpreter::processors(), 1u);
  }).join();
}

}  // namespace
}  // namespace ptx2spv::tests
