// Random programs through the passes, compared with the interpreter before and after each.
#include <gtest/gtest.h>

#include "tests/passes/random_program.hpp"
#include "translator/ir/evaluate.hpp"
#include "translator/passes/passes.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::ir;
using namespace ptx2spv::test;

// The library's 64-bit routines, as the IR defines the operations that they stand for.
bool library64(std::string_view name, std::span<const Bits> args, Bits& result) {
  static constexpr std::pair<std::string_view, Op> kRoutines[] = {
      {"u64_mulhi", Op::mulhi_u}, {"s64_mulhi", Op::mulhi_s}, {"u64_div", Op::udiv},
      {"s64_div", Op::sdiv},      {"u64_rem", Op::urem},      {"s64_rem", Op::srem},
      {"u64_shl", Op::shl},       {"u64_shr", Op::lshr},      {"s64_shr", Op::ashr}};
  for (const auto& [routine, op] : kRoutines) {
    if (name != routine) continue;
    Inst inst;
    inst.op = op;
    inst.type = Type::i64;
    result = *evaluate(inst, Type::i64, args);
    return true;
  }
  return false;
}

// What may remain on i64 when the device has no 64-bit integers.
std::string wide_operation(const Function& f) {
  for (const Block& block : f.blocks)
    for (const Value v : block.insts) {
      const Inst& inst = f.insts[v];
      const bool wide =
          inst.type == Type::i64 || (inst.count && f.insts[f.arg(v, 0)].type == Type::i64);
      switch (inst.op) {
        case Op::constant:
        case Op::undef:
        case Op::phi:
        case Op::select:
        case Op::pack:
        case Op::trunc:
        case Op::high:
        case Op::load:
        case Op::store:
        case Op::library: break;
        default:
          if (wide) return std::string(info(inst.op).name);
      }
    }
  return {};
}

void check(std::mt19937& rng, const ProgramShape& shape, int number) {
  Module m;
  const Function source = random_program(rng, shape);
  ASSERT_EQ(validate(source, m, false, false), "");
  Function f = source;
  const std::uint32_t seeds[] = {static_cast<std::uint32_t>(rng()),
                                 static_cast<std::uint32_t>(rng()), 7};
  RunOptions options;
  options.library = library64;
  const auto compare = [&](const Function& before, const char* pass) {
    ASSERT_EQ(validate(f, m, true, true), "") << "program " << number << " after " << pass << "\n"
                                              << print(before, m) << print(f, m);
    for (const std::uint32_t seed : seeds) {
      const std::string difference = compare_traces(run_program(source, m, seed, 3000),
                                                    run_program(f, m, seed, 30000, options));
      ASSERT_EQ(difference, "") << "program " << number << " after " << pass << "\n"
                                << print(before, m) << print(f, m);
    }
  };
  passes::structurize(f, m);
  passes::ssa(f, m);
  compare(source, "ssa");
  if (::testing::Test::HasFatalFailure()) return;
  Function before = f;
  passes::simplify(f, m);
  compare(before, "simplify");
  if (::testing::Test::HasFatalFailure()) return;
  const Function simple = f;
  for (const char* name : {"nvidia", "swiftshader"}) {
    f = simple;
    Profile profile;
    profile.features.int64 = name[0] == 'n';
    passes::legalise_int64(f, m, profile);
    compare(simple, "legalise_int64");
    if (::testing::Test::HasFatalFailure()) return;
    before = f;
    passes::if_convert(f, false);
    compare(before, "if-convert");
    if (::testing::Test::HasFatalFailure()) return;
    before = f;
    passes::simplify(f, m, profile.features.int64);
    compare(before, "the second simplify");
    if (::testing::Test::HasFatalFailure()) return;
    if (!profile.features.int64) {
      ASSERT_EQ(wide_operation(f), "") << print(f, m);
    }
  }
}

TEST(RandomPrograms, keep_their_trace) {
  std::mt19937 rng(11);
  for (int i = 0; i < 250; ++i) {
    ProgramShape shape;
    shape.blocks = 1 + static_cast<unsigned>(rng() % 14);
    shape.ops = 1 + static_cast<unsigned>(rng() % 12);
    shape.backward = static_cast<unsigned>(rng() % 40);
    check(rng, shape, i);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
