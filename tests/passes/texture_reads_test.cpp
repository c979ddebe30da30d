// Texture reads in random programs, as copies and as code that they share, against the operation
// itself.
#include <gtest/gtest.h>

#include <string>

#include "tests/passes/parsed.hpp"
#include "tests/passes/random_program.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/texture/expand_texture_reads.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::ir;
using namespace ptx2spv::test;

/// Routine `number`: a straight one and one with a loop and a variable of its own.
Function routine(unsigned number) {
  Function f;
  f.name = "routine";
  Builder b(f);
  for (unsigned i = 0; i < 3; ++i) {
    f.vars.push_back({Type::i32, "operand"});
    f.param_vars.push_back(i);
  }
  b.at(b.new_block());
  const Value x = b.get(0), y = b.get(1), z = b.get(2);
  Value sum = b.op2(Op::add, b.op2(Op::mul, x, b.i32(7 + number)), y);
  if (number == 1) {
    f.vars.push_back({Type::i32, "count"});
    f.vars.push_back({Type::i32, "sum"});
    const BlockId loop = b.new_block(), body = b.new_block(), after = b.new_block();
    b.set(3, b.i32(0));
    b.set(4, sum);
    b.br(loop);
    b.at(loop);
    b.cond_br(b.cmp(Op::ult, b.get(3), b.op2(Op::and_, z, b.i32(3))), body, after);
    b.at(body);
    b.set(4, b.op2(Op::mul, b.get(4), b.i32(5)));
    b.set(3, b.op2(Op::add, b.get(3), b.i32(1)));
    b.br(loop);
    b.at(after);
    sum = b.get(4);
  }
  const auto result = static_cast<std::uint32_t>(f.vars.size());
  f.vars.push_back({Type::v4, "result"});
  f.result_vars.push_back(result);
  b.set(result, b.inst(Op::compose, Type::v4, {sum, z, b.op2(Op::xor_, x, z), b.i32(number)}));
  b.ret();
  f.compute_preds();
  return f;
}

bool read(const Function&, const Inst& inst, std::span<const Bits> args, Bits& result) {
  if (inst.op != Op::texture_read) return false;
  const std::uint32_t x = args[0].w[0], y = args[1].w[0], z = args[2].w[0];
  const auto number = static_cast<std::uint32_t>(inst.imm);
  std::uint32_t sum = x * (7 + number) + y;
  for (unsigned count = 0; number == 1 && count < (z & 3); ++count) sum *= 5;
  result = {{sum, z, x ^ z, number}};
  return true;
}

/// Reads of the program's variables into them, anywhere.
unsigned add_reads(std::mt19937& rng, Function& f) {
  Builder b(f);
  unsigned reads = 0;
  const auto pick = [&](unsigned n) { return static_cast<unsigned>(rng() % n); };
  for (BlockId block = 0; block < f.blocks.size(); ++block) {
    const std::vector<Value> insts = std::exchange(f.blocks[block].insts, {});
    b.at(block);
    const auto maybe = [&] {
      if (pick(4)) return;
      const Value x = b.get(pick(4)), y = b.get(pick(4)), z = b.get(pick(4));
      const Value v = b.inst(Op::texture_read, Type::v4, {x, y, z}, pick(2));
      b.set(pick(4), b.inst(Op::extract, Type::i32, {v}, pick(4)));
      ++reads;
    };
    for (const Value v : insts) {
      maybe();
      f.blocks[block].insts.push_back(v);
    }
    maybe();
  }
  return reads;
}

passes::ReadOptions options(std::uint64_t budget, bool few_iterations) {
  passes::ReadOptions made;
  made.budget = budget;
  made.few_iterations = few_iterations;
  made.count = [](const Function&) { return 1000; };
  made.measure = [](Function& f) { return f.blocks.size() > 3 ? 100 : 40; };
  return made;
}

TEST(TextureReads, GiveTheSameAsCopiesAndShared) {
  std::mt19937 rng(31);
  unsigned shared = 0;
  for (int i = 0; i < 60; ++i) {
    ProgramShape shape;
    shape.blocks = 1 + static_cast<unsigned>(rng() % 10);
    shape.ops = 1 + static_cast<unsigned>(rng() % 8);
    shape.backward = static_cast<unsigned>(rng() % 30);
    shape.barriers = i % 3 == 0 ? 10 : 0;
    Module m;
    m.routines = {routine(0), routine(1)};
    Function source = random_program(rng, shape);
    const unsigned reads = add_reads(rng, source);
    ASSERT_EQ(validate(source, m, false, false), "");
    RunOptions run;
    run.operation = read;
    const Outcome wanted = run_program(source, m, 9, 3000, run);
    ASSERT_EQ(wanted.error, "");
    for (const std::uint64_t budget : {0u, 60u, 400u, 100000u})
      for (const bool few_iterations : {false, true}) {
        Module n = m;
        Function f = source;
        passes::expand_texture_reads(f, n, {}, {}, {}, options(budget, few_iterations));
        unsigned copies = 0;
        for (const Block& block : f.blocks)
          for (const Value v : block.insts) {
            ASSERT_NE(f.insts[v].op, Op::texture_read);
            copies += f.insts[v].op == Op::compose && f.insts[v].type == Type::v4;
          }
        EXPECT_LE(copies, reads);
        if (copies < reads) ++shared;
        if (budget == 100000) {
          EXPECT_EQ(copies, reads);
        }
        ASSERT_EQ(validate(f, n, false, false), "") << print(f, n);
        passes::structurize(f, n);
        passes::ssa(f, n);
        ASSERT_EQ(validate(f, n, true, true), "") << print(f, n);
        const std::string difference = compare_traces(wanted, run_program(f, n, 9, 200000));
        ASSERT_EQ(difference, "") << "program " << i << ", budget " << budget << "\n"
                                  << print(source, m) << print(f, n);
      }
  }
  EXPECT_GT(shared, 80u);
}

// What a sampler reads of bytes, in 255ths: no number out of range, and of unsigned bytes none
// below zero. Of floats nothing is known.
TEST(TextureReads, samples_of_normalised_texels_become_integers_without_checks) {
  for (const bool normalised : {true, false}) {
    TextureSample sample;
    sample.normalised = normalised;
    Parsed p(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i64 0x100000000
  %3 = constant i32 0x437f0000
  %4 = texture_sample v4 imm=)" +
             std::to_string(sample.bits()) + R"( %1 %1 %1
  %5 = extract i32 imm=0 %4
  %6 = fmul i32 fp=f32,rn %5 %3
  %7 = fcvt i32 fp=f32,to:u32,rzi %6
  store mem=global,4 %2 %7
  exit
)");
    Profile profile = *find_profile("nvidia");
    profile.exactness.exact_round32 = false;
    EXPECT_TRUE(passes::legalise_float(p.f, p.m, {.profile = profile}));
    p.expect_valid();
    const std::string text = print(p.f, p.m);
    EXPECT_EQ(text.find("f32_to_u32_bounded") != std::string::npos, normalised) << text;
  }
}

}  // namespace
