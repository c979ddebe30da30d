#include <string>

#include "tests/passes/parsed.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv::test {
namespace {

using ir::Memory;
using ir::Op;
using ir::Space;

/// Each of four threads adds up, times 1, 3, 9 and so on, what `loads`, %20 to %23, give from
/// %10, a multiple of `stride`.
std::string kernel(std::uint32_t stride, const std::string& loads) {
  return "b0:\n  %1 = builtin i32 local_id_x\n" + constants(2, {stride, 2, 4, 8, 12, 3, 16}) + R"(
  %10 = mul i32 %1 %2
  %11 = add i32 %10 %4
  %12 = add i32 %10 %5
  %13 = add i32 %10 %6
  %14 = add i32 %10 %8
)" + loads +
         R"(
  %30 = mul i32 %20 %7
  %31 = add i32 %30 %21
  %32 = mul i32 %31 %7
  %33 = add i32 %32 %22
  %34 = mul i32 %33 %7
  %35 = add i32 %34 %23
  %36 = shl i32 %1 %3
  store mem=slot,4 %36 %35
  exit
)";
}

std::vector<std::uint8_t> results(const Parsed& p) {
  Memory memory;
  memory.of(Space::slot).resize(16);
  auto& shared = memory.of(Space::shared);
  for (std::uint32_t i = 0; i < 512; ++i)
    shared.push_back(static_cast<std::uint8_t>(i * i * 7 + i / 3));
  run_row(p.f, p.m, memory, 4);
  return memory.of(Space::slot);
}

/// Merges, and compares the results with those before.
Parsed merged(const std::string& text) {
  Parsed before(text), after(text);
  passes::merge_shared_loads(after.f, after.m);
  after.expect_valid();
  EXPECT_EQ(results(before), results(after)) << print(after.f, after.m);
  return after;
}

std::size_t loads(const Parsed& p, unsigned bytes) {
  return p.count([&](ir::Value v, ir::BlockId) {
    const ir::Inst& inst = p.f.insts[v];
    return inst.op == Op::load && inst.mem.space == Space::shared && inst.mem.bytes == bytes;
  });
}

constexpr const char* kInOrder = R"(  %20 = load i32 mem=shared,4 %10
  %21 = load i32 mem=shared,4 %11
  %22 = load i32 mem=shared,4 %12
  %23 = load i32 mem=shared,4 %13)";

TEST(MergeSharedLoads, four_aligned_words_are_one_load) {
  const Parsed in_order = merged(kernel(16, kInOrder));
  EXPECT_EQ(loads(in_order, 16), 1u);
  EXPECT_EQ(loads(in_order, 4), 0u);
  const Parsed mixed = merged(kernel(48, R"(  %20 = load i32 mem=shared,4 %13
  %21 = load i32 mem=shared,4 %10
  %40 = load i32 mem=shared,4 %12
  %22 = load i32 mem=shared,4 %11
  %23 = load i32 mem=shared,4 %12)"));
  EXPECT_EQ(loads(mixed, 16), 1u);
  EXPECT_EQ(loads(mixed, 4), 0u);
}

TEST(MergeSharedLoads, addresses_decide_how_many_words) {
  const Parsed pairs = merged(kernel(24, kInOrder));
  EXPECT_EQ(loads(pairs, 8), 2u);
  EXPECT_EQ(loads(pairs, 4), 0u);
  const Parsed words = merged(kernel(20, kInOrder));
  EXPECT_EQ(loads(words, 4), 4u);
  // From the second word on: a word, and two that make a pair; the last one is in another sixteen
  // bytes.
  const Parsed later = merged(kernel(32, R"(  %20 = load i32 mem=shared,4 %11
  %21 = load i32 mem=shared,4 %12
  %22 = load i32 mem=shared,4 %13
  %23 = load i32 mem=shared,4 %14)"));
  EXPECT_EQ(loads(later, 8), 1u);
  EXPECT_EQ(loads(later, 4), 2u);
  const Parsed constant = merged(kernel(4, R"(  %20 = load i32 mem=shared,4 %8
  %40 = constant i32 0x14
  %21 = load i32 mem=shared,4 %40
  %22 = load i32 mem=shared,4 %10
  %23 = load i32 mem=shared,4 %11)"));
  EXPECT_EQ(loads(constant, 8), 1u);
  EXPECT_EQ(loads(constant, 4), 2u);
}

TEST(MergeSharedLoads, what_may_change_between_them_stays_apart) {
  const Parsed stored = merged(kernel(16, R"(  %20 = load i32 mem=shared,4 %10
  %21 = load i32 mem=shared,4 %11
  store mem=shared,4 %13 %20
  %22 = load i32 mem=shared,4 %12
  %23 = load i32 mem=shared,4 %13)"));
  EXPECT_EQ(loads(stored, 16), 0u);
  EXPECT_EQ(loads(stored, 8), 2u);
  const Parsed barrier = merged(kernel(16, R"(  %20 = load i32 mem=shared,4 %10
  control_barrier
  %21 = load i32 mem=shared,4 %11
  control_barrier
  %22 = load i32 mem=shared,4 %12
  control_barrier
  %23 = load i32 mem=shared,4 %13)"));
  EXPECT_EQ(loads(barrier, 4), 4u);
  const Parsed is_volatile = merged(kernel(16, R"(  %20 = load i32 mem=shared,4,volatile %10
  %21 = load i32 mem=shared,4,volatile %11
  %22 = load i32 mem=shared,4 %12
  %23 = load i32 mem=shared,4 %13)"));
  EXPECT_EQ(loads(is_volatile, 4), 2u);
  EXPECT_EQ(loads(is_volatile, 8), 1u);
  // A store elsewhere changes nothing.
  const Parsed elsewhere = merged(kernel(16, R"(  %20 = load i32 mem=shared,4 %10
  %21 = load i32 mem=shared,4 %11
  store mem=slot,4 %3 %20
  %22 = load i32 mem=shared,4 %12
  %23 = load i32 mem=shared,4 %13)"));
  EXPECT_EQ(loads(elsewhere, 16), 1u);
}

TEST(ScaleAddresses, shared_memory_with_views_counts_in_elements_of_each_size) {
  const std::string text = kernel(16, R"(  %20 = load i32 mem=shared,2 %12
  %21 = load i32 mem=shared,1 %11
  %40 = load v4 mem=shared,16 %14
  %22 = extract i32 imm=3 %40
  %41 = load v2 mem=shared,8 %12
  %23 = extract i32 imm=1 %41)");
  Parsed before(text), after(text);
  passes::scale_addresses(after.f, after.m, true);
  passes::simplify(after.f, after.m);
  after.expect_valid();
  // Each counts from an element of its own on.
  for (const unsigned bytes : {2u, 8u, 16u})
    EXPECT_TRUE(after.any([&](ir::Value v, ir::BlockId) {
      const ir::Inst& inst = after.f.insts[v];
      if (inst.op != Op::load || inst.mem.bytes != bytes) return false;
      const ir::Value address = after.f.arg(v, 0);
      return after.f.insts[address].op == Op::shl &&
             1u << after.f.insts[after.f.arg(address, 1)].imm == bytes;
    })) << bytes;
  EXPECT_EQ(results(before), results(after));
}

}  // namespace
}  // namespace ptx2spv::test
