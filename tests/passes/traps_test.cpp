// What a fault leaves behind: the record, the stores that do not happen, the loops that end.
#include <random>

#include "ptx2spv/abi.hpp"
#include "tests/passes/parsed.hpp"
#include "translator/ir/trap_state.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/threads/spin_loops.hpp"
#include "translator/passes/traps/lower_traps.hpp"

namespace ptx2spv {
namespace {

using namespace ir;
using namespace test;

std::uint32_t trap_word(Memory& memory, abi::TrapWord which) {
  return word(memory, Space::trap, 4u * which);
}
Memory with_record() {
  Memory memory;
  memory.of(Space::trap).resize(4u * abi::kTrapWords);
  return memory;
}

// A thread that waits for another one's store.
constexpr const char* kWait = R"(
b0:
  %1 = constant i64 0x100000000
  br b1
b1:
  %2 = load i32 mem=global,4,volatile %1
  %3 = constant i32 0x1
  %4 = eq i1 %2 %3
  cond_br %4 b2 b1
b2:
  exit
)";

TEST(BoundSpinLoops, a_loop_that_waits_traps_after_its_iterations) {
  Parsed p(kWait, Form::variables);
  Memory memory = with_record();
  EXPECT_TRUE(p.run(memory).out_of_steps);
  EntryInfo info;
  passes::bound_spin_loops(p.f, info, 100);
  p.expect_valid();
  EXPECT_EQ(info.trap_sites.size(), 1u);
  EXPECT_TRUE(p.has(Op::thread_trap));
  passes::lower_traps(p.f, false);
  p.expect_valid();
  EXPECT_EQ(p.run(memory).error, "");
  EXPECT_EQ(trap_word(memory, abi::t_count), 1u);
  EXPECT_EQ(trap_word(memory, abi::t_kind), static_cast<unsigned>(abi::TrapKind::no_progress));
}

TEST(BoundSpinLoops, a_loop_that_counts_stays_as_it_is) {
  Parsed p(R"(func @k local=0 shared=0 {
  var $0 i32 i
b0:
  %1 = constant i32 0x0
  set_var $0 %1
  br b1
b1:
  %2 = get_var i32 $0
  %3 = constant i32 0x1
  %4 = add i32 %2 %3
  set_var $0 %4
  %5 = load i32 mem=param,4,readonly %1
  %6 = ult i1 %4 %5
  cond_br %6 b1 b2
b2:
  exit
}
)",
           Form::variables);
  const std::string before = print(p.f, p.m);
  EntryInfo info;
  passes::bound_spin_loops(p.f, info, 100);
  EXPECT_EQ(print(p.f, p.m), before);
  EXPECT_TRUE(info.trap_sites.empty());
}

// Waits one after another, each of whose bounds begins in the block that the one before ends in.
std::string waits(unsigned count) {
  std::string text = "b0:\n  %1 = constant i64 0x100000000\n  %2 = constant i32 0x1\n  br b1\n";
  for (unsigned k = 1; k <= count; ++k)
    text += fmt::format(
        "b{0}:\n  %{1} = load i32 mem=global,4,volatile %1\n  %{2} = eq i1 %{1} %2\n"
        "  cond_br %{2} b{3} b{0}\n",
        k, 2 * k + 1, 2 * k + 2, k + 1);
  return text + fmt::format("b{}:\n  exit\n", count + 1);
}

TEST(BoundSpinLoops, its_work_grows_with_the_loops_and_not_with_their_square) {
  const auto work = [](unsigned count) {
    Parsed p(waits(count), Form::variables);
    EntryInfo info;
    const std::size_t steps = passes::bound_spin_loops(p.f, info, 100);
    EXPECT_EQ(info.trap_sites.size(), count);
    p.expect_valid();
    return steps;
  };
  const std::size_t one = work(500), four = work(2000);
  EXPECT_GT(one, 500u);
  EXPECT_LT(four, 5 * one);
}

// What loops with one block and word 0x100000000 give: the number of yields.
std::size_t yields_in(const std::string& body, const std::string& condition = "%9") {
  Parsed p(
      "func @k local=0 shared=64 {\n  var $0 i32 a\n  var $1 i32 b\nb0:\n"
      "  %1 = constant i64 0x100000000\n  %2 = constant i32 0x1\n  %3 = constant i32 0x0\n"
      "  %4 = load i32 mem=param,4,readonly %3\n  set_var $0 %3\n  br b1\nb1:\n" +
          body + "  cond_br " + condition + " b2 b1\nb2:\n  exit\n}\n",
      Form::variables);
  const bool any = passes::yield_in_spin_loops(p.f);
  p.expect_valid();
  std::size_t yields = 0;
  for (const Block& block : p.f.blocks)
    for (const Value v : block.insts) yields += p.f.insts[v].op == Op::yield;
  EXPECT_EQ(any, yields != 0);
  return yields;
}

TEST(YieldInSpinLoops, LoopsThatOnlyWaitGetOne) {
  const std::string decide = "  %9 = eq i1 %5 %4\n";
  EXPECT_EQ(yields_in("  %5 = load i32 mem=global,4,volatile %1\n" + decide), 1u);
  EXPECT_EQ(yields_in("  %5 = load i32 mem=shared,4,volatile %3\n" + decide), 1u);
  EXPECT_EQ(yields_in("  nanosleep %2\n  %5 = load i32 mem=shared,4,volatile %3\n" + decide), 1u);
  EXPECT_EQ(yields_in("  %5 = atomic_cas i32 mem=shared,4 %3 %3 %2\n" + decide), 1u);
  EXPECT_EQ(yields_in("  %5 = atomic i32 mem=global,4,exch %1 %2\n" + decide), 1u);
  EXPECT_EQ(yields_in("  %5 = atomic i32 mem=global,4,or %1 %2\n" + decide), 1u);
  EXPECT_EQ(yields_in("  %5 = atomic i32 mem=global,4,add %1 %3\n" + decide), 1u);
  EXPECT_EQ(yields_in("  set_var $1 %2\n  %6 = get_var i32 $1\n"
                      "  %5 = atomic_cas i32 mem=shared,4 %3 %3 %6\n" +
                      decide),
            1u);
  EXPECT_EQ(yields_in("  %5 = load i32 mem=global,4,volatile %1\n"
                      "  store mem=local,4 %3 %5\n" +
                      decide),
            1u)
      << "local memory is the thread's own";
}

TEST(YieldInSpinLoops, LoopsThatEndByThemselvesGetNone) {
  const std::string decide = "  %9 = eq i1 %5 %4\n";
  EXPECT_EQ(yields_in("  %5 = load i32 mem=global,4 %1\n" + decide), 0u) << "an ordinary load";
  // A sum by compare and swap: its operands follow what it reads.
  EXPECT_EQ(yields_in("  %6 = get_var i32 $0\n  %7 = add i32 %6 %2\n"
                      "  %5 = atomic_cas i32 mem=shared,4 %3 %6 %7\n  set_var $0 %5\n"
                      "  %9 = eq i1 %5 %6\n"),
            0u);
  EXPECT_EQ(yields_in("  %5 = atomic i32 mem=shared,4,add %3 %2\n" + decide), 0u)
      << "work taken by number";
  EXPECT_EQ(
      yields_in("  %5 = load i32 mem=global,4,volatile %1\n  store mem=global,4 %1 %2\n" + decide),
      0u)
      << "it stores in each iteration";
  EXPECT_EQ(yields_in("  %5 = load i32 mem=shared,4,volatile %3\n  %6 = get_var i32 $0\n"
                      "  %7 = add i32 %6 %2\n  set_var $0 %7\n  %8 = eq i1 %5 %4\n"
                      "  cond_br %8 b2 b3\nb3:\n  %9 = eq i1 %7 %4\n"),
            0u)
      << "one of its exits counts";
  EXPECT_EQ(yields_in("  %6 = get_var i32 $0\n  %7 = add i32 %6 %2\n  set_var $0 %7\n"
                      "  %5 = load i32 mem=shared,4,volatile %7\n" +
                      decide),
            0u)
      << "it walks through memory";
}

constexpr const char* kStores = R"(
b0:
  %1 = constant i32 0x0
  %2 = load i64 mem=param,8,readonly %1
  %3 = constant i64 0x100000000
  surf_store %2 %1 %1
  store mem=global,4 %3 %1
  store mem=shared,4 %1 %1
  exit
)";

TEST(SuppressAfterTrap, stores_after_a_fault_go_where_nothing_reads) {
  for (const bool shared : {false, true}) {
    Parsed p(kStores, Form::variables);
    p.f.surface_ops = {{}};
    if (shared) p.f.shared_discard = 64;
    passes::suppress_after_trap(p.f, passes::AfterFault::goes_on);
    p.expect_valid();
    const auto redirected = [&](Space space) {
      return p.any([&](Value v, BlockId) {
        const Inst& inst = p.f.insts[v];
        return inst.op == Op::store && inst.mem.space == space && p.operand(v, 0) == Op::select;
      });
    };
    EXPECT_TRUE(redirected(Space::global)) << print(p.f, p.m);
    EXPECT_EQ(redirected(Space::shared), shared) << print(p.f, p.m);
  }
}

TEST(SuppressAfterTrap, stores_of_a_thread_that_returns_stay_unless_others_wait_for_it) {
  for (const bool waits : {false, true}) {
    std::string text = kStores;
    if (waits) text.insert(text.find("  exit"), "  bar_sync %1\n");
    Parsed p(text, Form::variables);
    p.f.surface_ops = {{}};
    const std::string before = print(p.f, p.m);
    passes::suppress_after_trap(p.f, passes::AfterFault::returns);
    EXPECT_EQ(print(p.f, p.m) != before, waits);
  }
}

TEST(FaultsThatGoOn, those_with_a_barrier_ahead) {
  Parsed p(R"(
b0:
  %1 = constant i32 0x0
  %2 = load i64 mem=param,8,readonly %1
  surf_store %2 %1 %1
  %4 = eq i1 %1 %1
  cond_br %4 b1 b2
b1:
  surf_store %2 %1 %1
  bar_sync %1
  surf_store %2 %1 %1
  exit
b2:
  surf_store %2 %1 %1
  cond_br %4 b2 b3
b3:
  exit
)",
           Form::variables);
  p.f.surface_ops = {{}};
  for (const bool returns : {false, true}) {
    const std::vector<bool> goes_on = passes::faults_that_go_on(
        p.f, returns ? passes::AfterFault::returns : passes::AfterFault::goes_on);
    std::vector<bool> found;
    for (const Block& block : p.f.blocks)
      for (const Value v : block.insts)
        if (p.f.insts[v].op == Op::surf_store) found.push_back(goes_on[v]);
    EXPECT_EQ(found, std::vector<bool>({true, true, !returns, !returns}));
  }
}

TEST(SuppressAfterTrap, a_function_without_faults_stays_as_it_is) {
  std::string text = kStores;
  text.erase(text.find("  surf_store"), std::string_view("  surf_store %2 %1 %1\n").size());
  Parsed p(text, Form::variables);
  const std::string before = print(p.f, p.m);
  passes::suppress_after_trap(p.f, passes::AfterFault::goes_on);
  EXPECT_EQ(print(p.f, p.m), before);
}

void expect_record(passes::AfterFault after) {
  Parsed p(R"(
b0:
  %1 = constant i32 0x7
  %2 = constant i32 0x8
  %3 = constant i32 0x9
  thread_trap imm=84 %1 %2 %3
  unreachable
)",
           Form::variables);
  ASSERT_EQ(trap_code(5, abi::TrapKind::trap_instruction), 84u);
  passes::lower_traps(p.f, false, after);
  p.expect_valid();
  EXPECT_FALSE(p.has(Op::thread_trap));
  Memory memory = with_record();
  RunOptions options;
  options.workgroup[1] = 3;
  options.workgroups[1] = 4;
  EXPECT_EQ(p.run(memory, options).error, "");
  EXPECT_EQ(trap_word(memory, abi::t_count), 1u);
  EXPECT_EQ(trap_word(memory, abi::t_claimed), 1u);
  EXPECT_EQ(trap_word(memory, abi::t_site), 5u);
  EXPECT_EQ(trap_word(memory, abi::t_kind), 4u);
  EXPECT_EQ(trap_word(memory, abi::t_ctaid_y), 3u);
  for (unsigned i = 0; i < 3; ++i)
    EXPECT_EQ(word(memory, Space::trap, 4 * (abi::t_coord + i)), 7 + i);
  // A second thread counts itself alone.
  options.workgroup[1] = 2;
  EXPECT_EQ(p.run(memory, options).error, "");
  EXPECT_EQ(trap_word(memory, abi::t_count), 2u);
  EXPECT_EQ(trap_word(memory, abi::t_ctaid_y), 3u);
}

TEST(LowerTraps, a_fault_writes_its_record) {
  expect_record(passes::AfterFault::goes_on);
  expect_record(passes::AfterFault::returns);
}

TEST(LowerTraps, a_thread_that_returns_ends_where_it_traps) {
  Parsed p(R"(
b0:
  %1 = constant i32 0x0
  %2 = load i32 mem=param,4,readonly %1
  %3 = eq i1 %2 %1
  cond_br %3 b1 b2
b1:
  thread_trap imm=84 %1
  unreachable
b2:
  store mem=slot,4 %1 %2
  exit
)",
           Form::variables);
  passes::lower_traps(p.f, false, passes::AfterFault::returns);
  p.expect_valid();
  EXPECT_EQ(p.ends(Term::exit), 3u) << "the thread's own, the first fault's, that of others";
  EXPECT_EQ(p.count(Op::atomic, Space::trap), 1u);
  for (const std::uint32_t fine : {0u, 1u}) {
    Memory memory = with_record();
    memory.of(Space::slot).resize(4);
    put(memory, Space::param, 0, fine);
    EXPECT_EQ(p.run(memory).error, "");
    EXPECT_EQ(trap_word(memory, abi::t_count), 1 - fine);
    EXPECT_EQ(word(memory, Space::slot, 0), fine);
  }
}

// Each of them has code for the record, of which a kernel with many calls would consist.
TEST(LowerTraps, many_traps_share_their_end) {
  for (const std::uint32_t number : {32u, 33u}) {
    std::string text = "b0:\n  %1 = constant i32 0x0\n  %2 = load i32 mem=param,4,readonly %1\n";
    for (std::uint32_t i = 1; i <= number; ++i) {
      const std::uint32_t at = 2 * i - 1;
      text +=
          fmt::format("  %{0} = constant i32 {1:#x}\n  %{2} = eq i1 %{0} %2\n", at + 2, i, at + 3);
      text += fmt::format("  cond_br %{} b{} b{}\n", at + 3, at, at + 1);
      text += fmt::format("b{}:\n  thread_trap imm={} %1\n  unreachable\nb{}:\n", at, 16 * i + 4,
                          at + 1);
    }
    text += "  store mem=slot,4 %1 %2\n  exit\n";
    for (std::uint32_t i = 0; i <= number; i += 11) {
      Parsed p(text, Form::variables);
      passes::lower_traps(p.f, false, passes::AfterFault::returns);
      p.expect_valid();
      EXPECT_EQ(p.count(Op::atomic, Space::trap), number > 32 ? 1u : number);
      Memory memory = with_record();
      put(memory, Space::param, 0, i);
      memory.of(Space::slot).resize(4);
      EXPECT_EQ(p.run(memory, {}).error, "");
      EXPECT_EQ(trap_word(memory, abi::t_count), i ? 1u : 0u) << i;
      EXPECT_EQ(trap_word(memory, abi::t_site), i);
    }
  }
}

// Two arms with a trap before each of their loads: the traps come first, in their order.
void expect_early(Apart apart) {
  Parsed p(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 0x4
  %3 = constant i32 0x8
  %4 = load i32 mem=param,4,readonly %1
  %5 = load i32 mem=param,4,readonly %2
  %6 = ult i1 %4 %2
  %7 = ult i1 %5 %2
  merge b4
  cond_br %6 b1 b4
b1:
  %8 = eq i1 %4 %1
  merge b3
  cond_br %8 b2 b3
b2:
  store mem=slot,4 %1 %2
  exit
b3:
  %9 = load i32 mem=slot,4 %2
  %10 = add i32 %9 %4
  br b4
b4:
  %11 = phi i32 %1 %10
  merge b8
  cond_br %7 b5 b8
b5:
  %12 = eq i1 %5 %1
  merge b7
  cond_br %12 b6 b7
b6:
  store mem=slot,4 %1 %3
  exit
b7:
  %13 = load i32 mem=slot,4 %2
  %14 = add i32 %13 %11
  br b8
b8:
  %15 = phi i32 %11 %14
  store mem=slot,4 %3 %15
  exit
)",
           test::Form::structured);
  const auto results = [&] {
    std::vector<std::uint32_t> words;
    for (std::uint32_t i = 0; i < 9; ++i) {
      Memory memory;
      memory.of(Space::slot).resize(12);
      put(memory, Space::slot, 4, 100);
      put(memory, Space::param, 0, i % 3 * 2);
      put(memory, Space::param, 4, i / 3 * 2);
      EXPECT_EQ(p.run(memory).error, "");
      words.push_back(word(memory, Space::slot, 0));
      words.push_back(word(memory, Space::slot, 8));
    }
    return words;
  };
  const std::vector<std::uint32_t> before = results();
  p.f.blocks[2].apart = p.f.blocks[6].apart = apart;
  EXPECT_TRUE(passes::hoist_traps(p.f));
  p.expect_valid();
  EXPECT_EQ(results(), before);
  unsigned traps = 0;
  for (const BlockId b : p.f.order) {
    const Block& block = p.f.blocks[b];
    if (block.term == Term::exit && block.apart != Apart::no) ++traps;
    const bool loads = std::ranges::any_of(block.insts, [&](Value v) {
      return p.f.insts[v].op == Op::load && p.f.insts[v].mem.space == Space::slot;
    });
    EXPECT_TRUE(!loads || traps == 2) << print(p.f, p.m);
  }
}

TEST(HoistTraps, traps_come_before_the_loads_of_the_arms_that_they_stand_in) {
  expect_early(Apart::trap);
  expect_early(Apart::fault);
}

// Loads of one surface, each with a fault where it is out of range, some only where a guard lets
// them: memory has the number of the first fault, or the loads' sum.
struct Accesses {
  static constexpr unsigned kMost = 12;
  enum Word : std::uint32_t { x, y, guard, width, height, words };

  Module m;
  Function f;

  template <typename Pick>
  Accesses(unsigned count, bool guards, Pick&& pick) {
    f.name = "accesses";
    f.vars.push_back({Type::i32, "sum", false});
    Builder b(f);
    b.at(b.new_block());
    const MemAttr slot{.space = Space::slot, .bytes = 4};
    Value in[words];
    for (std::uint32_t i = 0; i < words; ++i)
      in[i] = b.load(Type::i32, b.i32(4 * i), {.space = Space::param, .bytes = 4});
    b.set(0, b.i32(0));
    for (std::uint32_t i = 1; i <= count; ++i) {
      const std::uint32_t dx = pick(9) - 4, dy = pick(5) - 2;
      const Value to = b.op2(Op::add, in[x], b.i32(dx));
      const Value at_x = pick(2) ? b.op2(Op::shl, to, b.i32(2))
                                 : b.op2(Op::add, b.op2(Op::mul, in[x], b.i32(4)), b.i32(dx * 4));
      const Value at_y = b.op2(Op::add, b.i32(dy), in[y]);
      Value ok = b.op2(Op::and_, b.cmp(Op::ult, at_x, in[width]), b.cmp(Op::ult, at_y, in[height]));
      if (pick(4) == 0)
        ok = b.op2(Op::and_, ok, b.cmp(Op::ne, b.op2(Op::and_, in[y], b.i32(7)), b.i32(3)));
      const bool guarded = guards && pick(3);
      const BlockId arm = guarded ? b.new_block() : b.block(), join = b.new_block();
      if (guarded) b.cond_br(b.cmp(Op::slt, to, in[guard]), arm, join);
      b.at(arm);
      const BlockId trap = b.new_block(), rest = b.new_block();
      if (pick(2))
        b.cond_br(b.inst(Op::xor_, Type::i1, {ok, b.i1(true)}), trap, rest);
      else
        b.cond_br(ok, rest, trap);
      b.at(trap);
      b.store(b.i32(0), b.i32(i), slot);
      b.exit();
      f.blocks[trap].apart = Apart::fault;
      b.at(rest);
      b.set(0, b.op2(Op::add, b.get(0), b.load(Type::i32, b.i32(4 + 4 * i), slot)));
      b.br(join);
      b.at(join);
    }
    b.store(b.i32(4), b.get(0), slot);
    b.exit();
    f.compute_preds();
    passes::structurize(f, m);
    passes::ssa(f, m);
    passes::simplify(f, m);
  }
  std::pair<std::uint32_t, std::uint32_t> results(std::span<const std::uint32_t> parameters) const {
    Memory memory;
    for (std::uint32_t i = 0; i < 2 + kMost; ++i)
      put(memory, Space::slot, 4 * i, i < 2 ? 0 : 1u << i);
    for (std::uint32_t i = 0; i < words; ++i) put(memory, Space::param, 4 * i, parameters[i]);
    EXPECT_EQ(interpret(f, m, memory, {}).error, "");
    return {word(memory, Space::slot, 0), word(memory, Space::slot, 4)};
  }
};

TEST(HoistTraps, the_first_fault_of_a_row_is_found) {
  std::mt19937 rng(7);
  const auto pick = [&](unsigned n) { return static_cast<std::uint32_t>(rng() % n); };
  const std::uint32_t places[] = {0,          1,          2,          3,          4,
                                  7,          8,          100,        0x1fffffff, 0x3ffffffe,
                                  0x40000000, 0x7fffffff, 0x80000001, 0xfffffffe, 0xffffffff};
  const std::uint32_t limits[] = {0,  1,  5,   13,         16,         21,         32,
                                  33, 41, 400, 0x7fffffff, 0x80000000, 0x80000010, 0xfffffff1};
  unsigned changed = 0, faults = 0, whole = 0;
  for (unsigned i = 0; i < 300; ++i) {
    Accesses before(2 + pick(Accesses::kMost - 1), i % 2, pick);
    Accesses after = before;
    changed += passes::hoist_traps(after.f);
    ASSERT_EQ(validate(after.f, after.m, true, true), "") << print(after.f, after.m);
    for (unsigned k = 0; k < 60; ++k) {
      const std::uint32_t words[] = {
          places[pick(std::size(places))], places[pick(std::size(places))],
          places[pick(std::size(places))], limits[pick(std::size(limits))],
          limits[pick(std::size(limits))]};
      const auto result = before.results(words);
      ASSERT_EQ(after.results(words), result)
          << print(before.f, before.m) << print(after.f, after.m);
      ++(result.first ? faults : whole);
    }
  }
  EXPECT_GT(changed, 250u);
  EXPECT_GT(faults, 1000u);
  EXPECT_GT(whole, 1000u);
}

// Coordinates in between need no comparison.
TEST(HoistTraps, faults_in_a_row_are_one_branch) {
  Accesses row(6, false, [n = 0u](unsigned most) mutable { return most == 4 ? 1 : n++ % most; });
  EXPECT_TRUE(passes::hoist_traps(row.f));
  const Block& first = row.f.blocks[row.f.order[0]];
  const auto compares =
      std::ranges::count_if(first.insts, [&](Value v) { return row.f.insts[v].op == Op::ult; });
  EXPECT_EQ(compares, 4) << print(row.f, row.m);
  ASSERT_EQ(first.term, Term::cond_br);
  EXPECT_EQ(first.merge_block, first.succs[0]) << print(row.f, row.m);
  EXPECT_EQ(row.f.blocks[first.succs[0]].term, Term::exit) << print(row.f, row.m);
}

TEST(LowerTraps, all_ends_of_a_thread_are_one) {
  Parsed p(R"(
b0:
  %1 = constant i32 0x0
  %2 = load i32 mem=param,4,readonly %1
  %3 = eq i1 %2 %1
  cond_br %3 b1 b2
b1:
  exit
b2:
  exit
)",
           Form::variables);
  EXPECT_EQ(p.ends(Term::exit), 2u);
  passes::lower_traps(p.f, false);
  p.expect_valid();
  EXPECT_EQ(p.ends(Term::exit), 1u);
}

TEST(LowerTraps, a_thread_with_a_fault_leaves_its_loops_unless_others_wait_at_barriers) {
  for (const bool keep_barriers : {false, true}) {
    Parsed p(kWait, Form::variables);
    const TrapState trap = trap_state(p.f);
    Builder b(p.f);
    b.at(1);
    b.set(trap.code, b.i32(trap_code(1, abi::TrapKind::misaligned)));
    passes::lower_traps(p.f, keep_barriers);
    p.expect_valid();
    Memory memory = with_record();
    EXPECT_EQ(p.run(memory).out_of_steps, keep_barriers);
    if (keep_barriers) continue;
    EXPECT_EQ(trap_word(memory, abi::t_site), 1u);
    EXPECT_EQ(trap_word(memory, abi::t_kind), 2u);
  }
}

TEST(DetectLoopCutoff, a_loop_gets_a_guard_behind_local_memory) {
  Parsed p(kWait, Form::variables);
  p.f.local_bytes = 6;
  passes::LoopGuard guard, none;
  passes::detect_loop_cutoff(p.f, guard);
  p.expect_valid();
  EXPECT_TRUE(guard.on);
  EXPECT_EQ(guard.first_word, 8u);
  Parsed straight("b0:\n  exit\n", Form::variables);
  passes::detect_loop_cutoff(straight.f, none);
  EXPECT_FALSE(none.on);
}

TEST(DetectLoopCutoff, a_loop_without_an_exit_gets_one) {
  Parsed p("b0:\n  br b1\nb1:\n  br b1\n", Form::variables);
  EXPECT_EQ(p.ends(Term::exit), 0u);
  passes::LoopGuard guard;
  passes::detect_loop_cutoff(p.f, guard);
  EXPECT_TRUE(guard.on);
  p.expect_valid();
  EXPECT_EQ(p.ends(Term::exit), 1u);
}

TEST(DetectLoopCutoff, a_thread_that_was_cut_off_counts_itself_where_it_ends) {
  Parsed p(kWait, Form::variables);
  passes::LoopGuard guard;
  passes::detect_loop_cutoff(p.f, guard);
  EXPECT_TRUE(guard.on);
  passes::report_at_exits(p.f, guard);
  p.expect_valid();
  EXPECT_EQ(p.ends(Term::exit), 1u);
  EXPECT_EQ(p.count(Op::atomic, Space::trap), 2u);
}

}  // namespace
}  // namespace ptx2spv
