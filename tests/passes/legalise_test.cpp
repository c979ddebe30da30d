// What a device lacks, spelled out in what it has.
#include "tests/passes/parsed.hpp"
#include "translator/passes/legalise/legalise_atomics.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv {
namespace {

using namespace ir;
using namespace test;

TEST(LegaliseFloat, an_addition_is_native_where_it_is_exact_and_a_routine_elsewhere) {
  for (const bool exact : {true, false}) {
    Parsed p(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i64 0x100000000
  %3 = load i32 mem=param,4,readonly %1
  %4 = fadd i32 fp=f32,rn %3 %3
  store mem=global,4 %2 %4
  exit
)");
    const Profile profile = *find_profile(exact ? "nvidia" : "portable");
    EXPECT_TRUE(passes::legalise_float(p.f, p.m, {.profile = profile}));
    p.expect_valid();
    EXPECT_FALSE(p.has(Op::fadd)) << print(p.f, p.m);
    EXPECT_EQ(p.has(Op::library), !exact) << print(p.f, p.m);
  }
}

TEST(LegaliseInt64, a_sum_of_64_bits_is_made_of_words) {
  constexpr const char* kText = R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 0x8
  %3 = load i64 mem=param,8,readonly %1
  %4 = load i64 mem=param,8,readonly %2
  %5 = add i64 %3 %4
  store mem=slot,8 %1 %5
  exit
)";
  Parsed p(kText);
  Profile profile = *find_profile("portable");
  profile.features.int64 = false;
  passes::legalise_int64(p.f, p.m, profile);
  p.expect_valid();
  EXPECT_FALSE(p.any([&](Value v, BlockId) {
    return p.f.insts[v].op == Op::add && p.f.insts[v].type == Type::i64;
  })) << print(p.f, p.m);
  Memory memory;
  const std::uint32_t words[4] = {0xffffffffu, 1, 2, 3};  // the carry goes into the high word
  for (unsigned i = 0; i < 4; ++i) put(memory, Space::param, 4 * i, words[i]);
  memory.of(Space::slot).resize(8);
  EXPECT_EQ(p.run(memory).error, "");
  EXPECT_EQ(word(memory, Space::slot, 0), 1u);
  EXPECT_EQ(word(memory, Space::slot, 4), 5u);
}

TEST(LegaliseAtomics, what_the_device_has_no_atomic_for_is_compared_and_swapped_in_a_loop) {
  Parsed p(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i64 0x100000000
  %3 = load i32 mem=param,4,readonly %1
  %4 = atomic i32 mem=global,4,inc %2 %3
  exit
)",
           Form::variables);
  passes::legalise_atomics(p.f, *find_profile("portable"));
  p.expect_valid();
  EXPECT_TRUE(p.has(Op::atomic_cas));
  EXPECT_EQ(p.count(Op::atomic, Space::global), 0u) << print(p.f, p.m);
  Memory memory;
  put(memory, Space::param, 0, 2);
  memory.of(Space::global).resize(4);
  for (const std::uint32_t expected : {1u, 2u, 0u}) {
    EXPECT_EQ(p.run(memory).error, "");
    EXPECT_EQ(word(memory, Space::global, 0), expected);
  }
}

}  // namespace
}  // namespace ptx2spv
