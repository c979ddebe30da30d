// Clocks of devices that have one, and of those that have none.
#include <gtest/gtest.h>

#include <cstring>
#include <tuple>
#include <vector>

#include "tests/support/reference.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv {
namespace {

using ir::Op;
using ir::Space;
using ir::Type;
using ir::Value;

/// Reads a clock twice and stores both results.
struct Fixture {
  ir::Module module;
  ir::Function function;
  ir::Builder b{function};

  explicit Fixture(ir::Clock clock) {
    b.at(b.new_block());
    for (std::uint32_t i = 0; i < 2; ++i) {
      const Value now =
          b.inst(Op::clock, Type::i64, {b.i64(700 + i)}, static_cast<std::uint64_t>(clock));
      b.store(b.i32(8 * i), now, {.space = Space::trap, .bytes = 8});
    }
    b.exit();
  }

  unsigned count(Op op, std::uint64_t imm) const {
    unsigned count = 0;
    for (const ir::Block& block : function.blocks)
      for (const Value v : block.insts)
        count += function.insts[v].op == op && function.insts[v].imm == imm;
    return count;
  }

  /// What is stored where a device reads 1, then 2, and the rates are these.
  std::vector<std::uint64_t> run(std::vector<std::uint64_t> rates) {
    ir::Memory memory;
    memory.of(Space::trap).resize(16);
    auto& params = memory.of(Space::param);
    params.resize(16 + rates.size() * 8);
    std::memcpy(params.data() + 16, rates.data(), rates.size() * 8);
    EXPECT_EQ(ir::validate(function, module, false, false), "");
    EXPECT_EQ(ir::interpret(function, module, memory, {}).error, "");
    std::vector<std::uint64_t> words(2);
    std::memcpy(words.data(), memory.of(Space::trap).data(), 16);
    return words;
  }
};

Features with(bool shader_clock, bool device_clock) {
  Features features;
  features.shader_clock = shader_clock;
  features.device_clock = device_clock;
  return features;
}

TEST(Clocks, ADeviceWithoutOneCounts) {
  Fixture f(ir::Clock::cycles);
  passes::legalise_clocks(f.function, with(false, false), 16);
  EXPECT_EQ(f.run({}), (std::vector<std::uint64_t>{700, 701}));
}

TEST(Clocks, EachClockHasItsScopeAndItsRates) {
  constexpr std::uint64_t kOne = std::uint64_t{1} << 32;
  const std::vector<std::uint64_t> rates = {3 * kOne + kOne / 2, 1000, 5 * kOne,
                                            0x7fffffff00000000};
  for (const auto& [clock, first, second] :
       {std::tuple{ir::Clock::cycles, 1003ull, 1007ull},
        {ir::Clock::time, 0x7fffffff00000005ull, 0x7fffffff0000000aull}}) {
    Fixture f(clock);
    passes::legalise_clocks(f.function, with(true, true), 16);
    const bool time = clock == ir::Clock::time;
    const auto scope = time ? ir::ClockScope::device : ir::ClockScope::subgroup;
    EXPECT_EQ(f.count(Op::read_clock, static_cast<std::uint64_t>(scope)), 2u);
    EXPECT_EQ(f.run(rates), (std::vector<std::uint64_t>{first, second}));
  }
}

TEST(Clocks, OneOfTwoServesForBoth) {
  Fixture cycles(ir::Clock::cycles), time(ir::Clock::time);
  passes::legalise_clocks(cycles.function, with(false, true), 16);
  passes::legalise_clocks(time.function, with(true, false), 16);
  EXPECT_EQ(cycles.count(Op::read_clock, static_cast<std::uint64_t>(ir::ClockScope::device)), 2u);
  EXPECT_EQ(time.count(Op::read_clock, static_cast<std::uint64_t>(ir::ClockScope::subgroup)), 2u);
}

TEST(Clocks, WithoutRatesTicksStayAsTheyAre) {
  Fixture f(ir::Clock::cycles);
  passes::legalise_clocks(f.function, with(true, false), 16);
  EXPECT_EQ(f.run({0, 0, 0, 0}), (std::vector<std::uint64_t>{1, 2}));
}

TEST(Clocks, ReadingsAreNeitherSharedNorDropped) {
  Fixture f(ir::Clock::cycles);
  f.function.blocks[0].insts.erase(f.function.blocks[0].insts.end() - 1);  // the last store
  passes::legalise_clocks(f.function, with(true, true), 16);
  f.function.compute_preds();
  passes::simplify(f.function, f.module);
  EXPECT_EQ(f.count(Op::read_clock, static_cast<std::uint64_t>(ir::ClockScope::subgroup)), 2u);
}

/// How often a thread has read the clock that counts its readings after nanosleep, with this one.
std::uint32_t readings(std::uint32_t nanoseconds, bool by_clock, bool device_clock = false) {
  ir::Module module;
  ir::Function function;
  ir::Builder b(function);
  b.at(b.new_block());
  b.inst(Op::nanosleep, Type::none, {b.i32(nanoseconds)});
  const Value now =
      b.inst(Op::read_clock, Type::v2, {}, static_cast<std::uint64_t>(ir::ClockScope::subgroup));
  b.store(b.i32(0), b.inst(Op::extract, Type::i32, {now}, 0), {.space = Space::trap, .bytes = 4});
  b.exit();
  passes::legalise_nanosleep(function, by_clock, device_clock);
  EXPECT_EQ(ir::validate(function, module, false, false), "");
  ir::Memory memory;
  memory.of(Space::trap).resize(4);
  EXPECT_EQ(ir::interpret(function, module, memory, {.max_steps = 1u << 27}).error, "");
  std::uint32_t word = 0;
  std::memcpy(&word, memory.of(Space::trap).data(), 4);
  return word;
}

TEST(Clocks, NanosleepWaitsTwoTicksANanosecondForAMillisecondAtMost) {
  EXPECT_EQ(readings(350, false), 1u);
  // One reading begins, the next shows a tick, and the last is the kernel's own.
  EXPECT_EQ(readings(0, true), 3u);
  EXPECT_EQ(readings(1, true), 4u);
  EXPECT_EQ(readings(350, true), 702u);
  EXPECT_EQ(readings(0x80000001u, true), 2000002u);
  // Both clocks are read in turn, and a reading of one is a tick of the other.
  EXPECT_EQ(readings(0, true, true), 4u);
  EXPECT_EQ(readings(350, true, true), 702u);
}

}  // namespace
}  // namespace ptx2spv
