// Words of shared memory that are checked where they are stored, for fused multiply-adds that take
// them.
#include "tests/passes/checked_fma.hpp"

namespace ptx2spv {
namespace {

using namespace ir;
using namespace test;

/// Each of three threads stores four words to shared memory, in one of three `forms`. Behind the
/// barrier it takes eight of the twelve, for many results or for few, and stores all in one word.
std::string tile_of_three(unsigned form, bool many) {
  std::string text = start(0) + R"(
  %3 = constant i32 0x4
  %4 = constant i32 0x2
  %5 = builtin i32 local_id_x
  %6 = shl i32 %5 %3
  %7 = load v4 mem=param,16,readonly %6
)";
  const auto place = [&](unsigned at, unsigned by) {
    text += fmt::format("  %{0} = constant i32 {1}\n  %{2} = add i32 %6 %{0}\n", at, by, at + 10);
  };
  if (form == 0) text += "  store mem=shared,16 %6 %7\n";
  if (form != 0)
    for (unsigned i = 0; i < 4; ++i) {
      place(20 + i, 4 * i);
      text += fmt::format("  %{} = extract i32 imm={} %7\n", 40 + i, i);
    }
  if (form == 1)
    for (unsigned i = 0; i < 4; ++i)
      text += fmt::format("  store mem=shared,4 %{} %{}\n", 30 + i, 40 + i);
  if (form == 2)
    text +=
        "  %50 = compose v2 %40 %41\n  store mem=shared,8 %30 %50\n"
        "  %51 = compose v2 %42 %43\n  store mem=shared,8 %32 %51\n";
  text +=
      "  control_barrier\n  %60 = load v4 mem=shared,16 %1\n  %61 = constant i32 0x18\n"
      "  %62 = load v2 mem=shared,8 %61\n";
  for (unsigned i = 0; i < 8; ++i)
    text += i < 4 ? fmt::format("  %{} = extract i32 imm={} %60\n", 70 + i, i)
            : i < 6
                ? fmt::format("  %{0} = constant i32 {1}\n  %{2} = load i32 mem=shared,4 %{0}\n",
                              80 + i, 4 * i, 70 + i)
                : fmt::format("  %{} = extract i32 imm={} %62\n", 70 + i, i - 6);
  std::string all = "%1";
  unsigned next = 100;
  for (unsigned i = 0; i < 8; ++i, ++next)
    text += fmt::format("  %{} = fadd i32 fp=f32,rn %{} %{}\n", next, 70 + i, 70 + (i + 3) % 8);
  for (unsigned i = 0; i < 16; ++i, ++next) {
    text += fmt::format("  %{} = ffma i32 fp=f32,rn %{} %{} %{}\n", next, 70 + i % 8,
                        i % 3 ? 70 + (i / 2) % 8 : 100 + i % 8,
                        i < 4 ? 70 + (i + 1) % 8 : next - (many ? 4 : 1));
    if (i >= (many ? 0u : 15u)) {
      text += fmt::format("  %{} = xor_ i32 {} %{}\n", next + 100, all, next);
      all = fmt::format("%{}", next + 100);
    }
  }
  return text + "  %300 = shl i32 %5 %4\n  %301 = zext i64 %300\n" +
         "  %302 = constant i64 0x100000000\n  %303 = add i64 %302 %301\n" +
         "  store mem=global,4 %303 " + all + "\n  exit\n";
}
/// The function, and what its threads give.
struct Tile : Structured {
  explicit Tile(const std::string& text) : Structured(text) { f.shared_bytes = 48; }
  auto give(std::span<const std::uint32_t> words, Ways* ways = nullptr) const {
    return results(*this, words, ways, 3);
  }
};

TEST(CheckedFma, words_of_shared_memory_are_checked_where_they_are_stored) {
  for (unsigned form = 0; form < 6; ++form) {
    const bool many = form >= 3;
    const Tile before(tile_of_three(form % 3, many));
    Tile after(tile_of_three(form % 3, many));
    ASSERT_TRUE(transform(after));
    EXPECT_EQ(after.count(Op::flt), 0u) << print(after.f, after.m);
    EXPECT_EQ(after.f.shared_bytes, 56u);
    Operands operands;
    Ways ways;
    for (unsigned round = 0; round < 3000; ++round) {
      std::uint32_t words[12];
      operands.draw(round, words);
      // One word alone fails.
      if (round % 5 == 1 && round % 2) words[round % 12] &= 0x807fffffu;
      ASSERT_EQ(before.give(words), after.give(words, &ways)) << round;
    }
    EXPECT_GT(ways.native, 500u);
    EXPECT_GT(ways.repeated, 500u);
  }
}

TEST(CheckedFma, words_of_shared_memory_are_looked_at_once_one_failed) {
  for (const bool many : {false, true}) {
    Tile p(tile_of_three(0, many));
    ASSERT_TRUE(transform(p));
    Ways ways;
    std::uint32_t words[12] = {0x3f800000, 0, 0x7f800000, 0xc0000000, 0x80000000, 0x7fffffff};
    p.give(words, &ways);
    words[9] = 1;
    p.give(words, &ways);
    EXPECT_EQ(ways.native, 2u);
    words[1] = 1;
    p.give(words, &ways);
    EXPECT_EQ(ways.repeated, 1u);
  }
}

// The check of what is stored, and the barrier behind the word's first value.
TEST(CheckedFma, each_part_of_a_check_at_a_store_is_needed) {
  for (const Op dropped : {Op::store, Op::control_barrier}) {
    const Tile before(tile_of_three(1, true));
    Tile after(tile_of_three(1, true));
    ASSERT_TRUE(transform(after));
    std::vector<Value>& insts = after.f.blocks[0].insts;
    const auto is_dropped = [&](Value v) {
      const Inst& inst = after.f.insts[v];
      return inst.op == dropped && (dropped != Op::store || after.operand(v, 0) == Op::select);
    };
    const auto at = std::ranges::find_if(insts, is_dropped);
    ASSERT_NE(at, insts.end()) << print(after.f, after.m);
    insts.erase(at);
    Operands operands;
    unsigned wrong = 0;
    for (unsigned round = 0; round < 3000; ++round) {
      std::uint32_t words[12];
      operands.draw(round, words);
      wrong += before.give(words) != after.give(words);
    }
    EXPECT_GT(wrong, 20u);
  }
}

TEST(CheckedFma, words_are_checked_where_they_are_taken_if_they_may_be_no_floats) {
  const std::string text = tile_of_three(1, true);
  const auto with = [&](const std::string& more) {
    return text.substr(0, text.find("  %300")) + more + text.substr(text.find("  %300"));
  };
  const std::string address = "  %400 = constant i32 0x1c\n";
  const auto checks_of_words = [](const std::string& of, auto&& change) {
    Tile p(of);
    change(p);
    EXPECT_TRUE(transform(p));
    EXPECT_EQ(p.f.shared_bytes, 48u);
    return p.count(Op::flt) > 0;
  };
  const auto as_it_is = [](Tile&) {};
  EXPECT_TRUE(checks_of_words(with("  %401 = add i32 %70 %9\n"), as_it_is));
  for (const char* more :
       {"  %401 = atomic i32 mem=shared,4 %400 %9\n", "  store mem=shared,2 %400 %9\n",
        "  store mem=shared,4,volatile %400 %9\n", "  store mem=shared,4 %400 %9\n"})
    EXPECT_TRUE(checks_of_words(with(address + more), as_it_is)) << more;
  EXPECT_TRUE(checks_of_words(text, [](Tile& p) { p.f.uses_dynamic_shared = true; }));
  EXPECT_TRUE(checks_of_words(text, [](Tile& p) { p.f.region_threads = 2; }));
  EXPECT_TRUE(checks_of_words(text, [](Tile& p) {
    std::erase_if(p.f.blocks[0].insts,
                  [&](Value v) { return p.f.insts[v].op == Op::control_barrier; });
  }));
  Tile full(text);
  Profile profile = losing();
  profile.max_shared_bytes = 55;
  EXPECT_TRUE(passes::checked_fma(full.f, full.m, {.profile = profile}));
  EXPECT_EQ(full.f.shared_bytes, 48u);
}

}  // namespace
}  // namespace ptx2spv
