// Warp operations as those of subgroups: the same results in every mode, with every lane's own
// mask.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "ptx2spv/translator.hpp"
#include "tests/passes/parsed.hpp"
#include "translator/passes/passes.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::ir;

constexpr std::uint32_t kThreads = 64, kWords = 4;

/// A kernel that loads four words of each thread, does `operation` on them and stores the two words
/// of its result. %10 to %13 are the words, %14 is a mask that halves of the warp agree on, %15 a
/// condition; the results are %20 and %21.
std::string kernel(const std::string& operation) {
  return R"(
b0:
  %1 = builtin i32 local_id_x
  %2 = constant i32 0x10
  %3 = mul i32 %1 %2
  %4 = constant i32 0x4
  %5 = add i32 %3 %4
  %6 = add i32 %5 %4
  %7 = add i32 %6 %4
  %10 = load i32 mem=slot,4 %3
  %11 = load i32 mem=slot,4 %5
  %12 = load i32 mem=slot,4 %6
  %13 = load i32 mem=slot,4 %7
  %16 = and_ i32 %1 %2
  %17 = constant i32 0xffff
  %14 = shl i32 %17 %16
  %18 = constant i32 0x0
  %19 = constant i32 0x1
  %30 = and_ i32 %13 %19
  %15 = ne i1 %30 %18
  %31 = constant i32 0xffffffff
)" + operation +
         R"(
  store mem=slot,4 %3 %20
  store mem=slot,4 %5 %21
  exit
)";
}

std::vector<std::uint8_t> results(const Function& f, const Module& m) {
  Memory memory;
  auto& bytes = memory.of(Space::slot);
  bytes.resize(kThreads * kWords * 4);
  std::uint32_t state = 77;
  for (std::size_t i = 0; i < bytes.size() / 4; ++i) {
    state = state * 1664525u + 1013904223u;
    // Lanes with small words now and then, so that some match.
    const std::uint32_t word = i % 4 == 0 ? state >> 29 : state;
    std::memcpy(bytes.data() + 4 * i, &word, 4);
  }
  RunOptions options;
  options.threads[0] = kThreads;
  options.trace = false;
  const Outcome outcome = interpret(f, m, memory, options);
  EXPECT_EQ(outcome.error, "");
  EXPECT_FALSE(outcome.stalled || outcome.out_of_steps);
  return bytes;
}

TEST(NativeWarps, GiveWhatWarpsGive) {
  std::vector<std::string> operations;
  const auto both = [](const std::string& head) {
    return head + "\n  %20 = extract i32 %40\n  %21 = extract i32 imm=1 %40\n";
  };
  const auto one = [](const std::string& head) { return head + "\n  %21 = constant i32 0x0\n"; };
  for (const char* mask : {"%31", "%14"}) {
    const std::string m = mask;
    for (const char* mode : {"0", "1", "2", "3"}) {
      operations.push_back(
          both("  %40 = warp_shfl v2 imm=" + std::string(mode) + " %10 %11 %12 " + m));
      operations.push_back(one("  %20 = warp_vote i32 imm=" + std::string(mode) + " %15 " + m));
    }
    for (const char* mode : {"0", "1"})
      operations.push_back(both("  %40 = warp_match v2 imm=" + std::string(mode) + " %10 " + m));
    for (const AtomicOp op : {AtomicOp::add, AtomicOp::and_, AtomicOp::or_, AtomicOp::xor_,
                              AtomicOp::umin, AtomicOp::umax, AtomicOp::smin, AtomicOp::smax})
      operations.push_back(one(
          "  %20 = warp_redux i32 imm=" + std::to_string(static_cast<unsigned>(op)) + " %13 " + m));
    operations.push_back(both("  %40 = warp_elect v2 " + m));
  }
  operations.push_back(one("  %20 = warp_active i32"));
  for (const std::string& each : operations) {
    test::Parsed p(kernel(each));
    const auto want = results(p.f, p.m);
    EXPECT_TRUE(passes::native_warps(p.f));
    EXPECT_EQ(validate(p.f, p.m, false, false), "") << print(p.f, p.m);
    for (const Block& block : p.f.blocks)
      for (const Value v : block.insts) {
        EXPECT_FALSE(p.f.insts[v].op >= Op::warp_shfl && p.f.insts[v].op <= Op::warp_elect) << each;
      }
    EXPECT_EQ(results(p.f, p.m), want) << each;
  }
}

TEST(NativeWarps, AreForBlocksOfWholeWarpsThatComeTogether) {
  EntryInfo info;
  info.warp_operations = true;
  Profile profile = *find_profile("nvidia");
  EXPECT_TRUE(native_warps(info, profile, {64, 2, 1}));
  EXPECT_FALSE(native_warps(info, profile, {16, 16, 1})) << "a row is no whole warp";
  EXPECT_FALSE(native_warps(info, profile, {0, 0, 0})) << "the block is not known";
  EXPECT_EQ(thread_model(info, ThreadModel::direct, true), ThreadModel::direct);
  EXPECT_EQ(thread_model(info, ThreadModel::direct, false), ThreadModel::regions);
  EXPECT_EQ(thread_model(info, ThreadModel::flat, true), ThreadModel::regions);
  info.divergent_warp_operations = true;
  EXPECT_FALSE(native_warps(info, profile, {64, 1, 1}));
  info.divergent_warp_operations = false;
  profile.exactness.native_warps = false;
  EXPECT_FALSE(native_warps(info, profile, {64, 1, 1}));
}

}  // namespace
