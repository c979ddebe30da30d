// Fused multiply-adds that are the device's own where a check says that they may be: results are
// exact whatever the operands are, on a device whose fma takes denormals for zeros.
#include "tests/passes/checked_fma.hpp"

namespace ptx2spv {
namespace {

using namespace ir;
using namespace test;

/// A body's part of a sum of forces, as nvcc makes it.
const char* const kForce = R"(  %40 = fadd i32 fp=f32,rn %10 %11
  %41 = fadd i32 fp=f32,rn %12 %13
  %42 = fmul i32 fp=f32,rn %41 %41
  %43 = ffma i32 fp=f32,rn %40 %40 %42
  %44 = fadd i32 fp=f32,rn %43 %2
  %45 = fmul i32 fp=f32,rn %44 %14
  %50 = ffma i32 fp=f32,rn %40 %45 %15
  %51 = ffma i32 fp=f32,rn %41 %45 %16
)";
/// Sums of products, and a product of sums.
const char* const kDot = R"(  %40 = fmul i32 fp=f32,rn %10 %11
  %41 = ffma i32 fp=f32,rn %12 %13 %40
  %42 = ffma i32 fp=f32,rn %14 %15 %41
  %50 = ffma i32 fp=f32,rn %42 %16 %17
  %43 = ffma i32 fp=f32,rn %50 %2 %42
  %51 = ffma i32 fp=f32,rn,sat %43 %42 %10
)";

TEST(CheckedFma, results_are_exact_whatever_the_operands_are) {
  for (const char* text : {kForce, kDot}) {
    const Structured before(line(text));
    Structured after(line(text));
    ASSERT_TRUE(transform(after)) << print(after.f, after.m);
    Operands operands;
    Ways ways;
    for (unsigned round = 0; round < 4000; ++round) {
      std::uint32_t words[8];
      operands.draw(round, words);
      ASSERT_EQ(results(before, words), results(after, words, &ways)) << text << round;
    }
    EXPECT_GT(ways.native, 200u) << text;
    EXPECT_GT(ways.looked_at, 200u) << text;
    EXPECT_GT(ways.repeated, 200u) << text;
  }
}

// Were a check left out, or the repetition behind it, the test before would see it.
TEST(CheckedFma, each_check_is_needed) {
  for (const unsigned dropped : {0u, 1u}) {
    const Structured before(line(kDot));
    Structured after(line(kDot));
    ASSERT_TRUE(transform(after));
    unsigned branches = 0;
    const Value never = Builder(after.f).i1(false);
    after.f.blocks[0].insts.insert(after.f.blocks[0].insts.begin(), never);
    for (Block& block : after.f.blocks)
      if (block.term == Term::cond_br && branches++ == dropped) block.cond = never;
    EXPECT_EQ(branches, 2u);
    Operands operands;
    unsigned wrong = 0;
    for (unsigned round = 0; round < 4000; ++round) {
      std::uint32_t words[8];
      operands.draw(round, words);
      wrong += results(before, words) != results(after, words);
    }
    EXPECT_GT(wrong, 20u) << dropped;
  }
}

/// Sums, products and fma of each other and of `values`, with a store and a load among them.
std::string random_operations(std::mt19937& rng, std::vector<unsigned>& values, bool memory) {
  const auto any = [&] {
    // What was made last is taken most.
    const auto back = std::min<std::size_t>(rng() % 12, values.size() - 1);
    return " %" + std::to_string(values[values.size() - 1 - back]);
  };
  std::string text;
  unsigned next = 100;
  for (unsigned left = 4 + rng() % (memory ? 30 : 8); left > 0; --left) {
    const std::string made = "  %" + std::to_string(next) + " = ";
    switch (rng() % (memory ? 10 : 9) + (memory ? 0 : 1)) {
      case 1: text += made + "fmul i32 fp=f32,rn" + any() + any() + "\n"; break;
      case 2: text += made + "fadd i32 fp=f32,rn" + any() + any() + "\n"; break;
      case 3: text += made + "xor_ i32" + any() + " %8\n"; break;
      case 0: {
        if (rng() % 2) text += "  store mem=global,4 %3" + any() + "\n";
        text += made + "load i32 mem=global,4 %3\n";
        break;
      }
      default: text += made + "ffma i32 fp=f32,rn" + any() + any() + any() + "\n"; break;
    }
    values.push_back(next++);
  }
  return text;
}

std::string random_line(std::mt19937& rng) {
  std::vector<unsigned> values{2, 10, 11, 12, 13, 14, 15, 16, 17};
  const std::string text =
      "  %3 = constant i64 0x100000008\n" + random_operations(rng, values, true);
  const auto value = [&](std::size_t back) { return fmt::format(" %{}", *(values.end() - back)); };
  return text + "  %50 = xor_ i32" + value(1) + " %8\n  %51 = xor_ i32" + value(2) + value(3) +
         "\n";
}

/// Three numbers that come around, of which one begins with 0, and five from before the loop; of
/// `known` ones all are integers converted, two through shared memory, or zero or 2^-70.
std::string random_loop(std::mt19937& rng, bool known = false) {
  std::string text = start(7);
  std::vector<unsigned> values{12, 13, 14, 15, 16, 20, 21, 22};
  if (known) {
    for (unsigned i = 0; i < 7; ++i)
      text += fmt::format("  %{} = fcvt i32 fp=u32,to:f32,rn %{}\n", 60 + i, 10 + i);
    text +=
        "  store mem=shared,4 %1 %65\n  store mem=shared,4 %31 %66\n"
        "  %67 = load i32 mem=shared,4 %31\n  %68 = load i32 mem=shared,4 %1\n"
        "  %69 = constant i32 0x1c800000\n";
    values = {62, 63, 64, 67, 68, 69, 1, 20, 21, 22};
  }
  const std::string body = random_operations(rng, values, false);
  const auto last = [&](std::size_t back) { return fmt::format("%{}", *(values.end() - back)); };
  const std::string phis =
      fmt::format("  %20 = phi i32 {} {}\n  %21 = phi i32 {} {}\n  %22 = phi i32 %1 {}\n",
                  known ? "%60" : "%10", last(1), known ? "%61" : "%11", last(2), last(3));
  const char* const ways = rng() % 2 ? "b2 b5\nb5:\n  br b3\n" : "b5 b3\nb5:\n  br b2\n";
  return text + "  %7 = constant i32 0x5\n" + wide_loop(phis, body, "%7", ways) +
         finish({last(1), last(2)});
}

TEST(CheckedFma, random_lines_give_what_they_gave) {
  std::mt19937 rng(11);
  Operands operands;
  Ways ways;
  unsigned transformed = 0;
  for (unsigned program = 0; program < 150; ++program) {
    const std::string text = line(random_line(rng));
    const Structured before(text);
    Structured after(text);
    transformed += transform(after);
    // What needs no check is the device's own as well.
    Structured legal(text);
    transform(legal);
    legalise(legal);
    for (unsigned round = 0; round < 50; ++round) {
      std::uint32_t words[8];
      operands.draw(round, words);
      const auto want = results(before, words);
      ASSERT_EQ(want, results(after, words, &ways)) << text << print(after.f, after.m);
      ASSERT_EQ(want, results(legal, words)) << text << print(legal.f, legal.m);
    }
  }
  EXPECT_GT(transformed, 100u);
  EXPECT_GT(ways.native, 300u);
  EXPECT_GT(ways.looked_at, 300u);
  EXPECT_GT(ways.repeated, 300u);
}

// A sum of two values that a line checks is known in that line alone.
TEST(CheckedFma, the_next_line_does_not_rest_on_checks_of_the_last_one) {
  const std::string text = line(R"(  %3 = constant i64 0x100000008
  %41 = ffma i32 fp=f32,rn %10 %11 %12
  %40 = fadd i32 fp=f32,rn %10 %11
  store mem=global,4 %3 %41
  %42 = load i32 mem=global,4 %3
  %50 = ffma i32 fp=f32,rn %40 %13 %42
  %51 = ffma i32 fp=f32,rn %40 %14 %15
)");
  const Structured before(text);
  Structured after(text);
  ASSERT_TRUE(transform(after));
  // The sum is a denormal.
  const std::uint32_t words[8] = {0x00c00000, 0x80800000, 0x3f800000, 0x7e800000,
                                  0x7e800000, 0x3f800000, 0,          0};
  EXPECT_EQ(results(before, words), results(after, words)) << print(after.f, after.m);
}

TEST(CheckedFma, a_chain_needs_one_check_of_its_addend_and_constants_none) {
  Structured chain(line(R"(  %40 = ffma i32 fp=f32,rn %10 %2 %11
  %41 = ffma i32 fp=f32,rn %12 %2 %40
  %42 = ffma i32 fp=f32,rn %13 %2 %41
  %50 = ffma i32 fp=f32,rn %14 %2 %42
  %51 = ffma i32 fp=f32,rn %10 %2 %2
)"));
  ASSERT_TRUE(transform(chain));
  EXPECT_EQ(chain.count(Op::flt), 5u) << print(chain.f, chain.m);
  legalise(chain);
  // The last one is the device's own, outside.
  EXPECT_EQ(chain.count(Op::native_ffma), 5u) << print(chain.f, chain.m);
}

// Of x x, of polynomials of it with constants that are no denormals, and of their values added to x
// times them: a denormal factor has a small one beside it.
TEST(CheckedFma, a_polynomial_needs_no_check_and_its_product_with_the_operand_one) {
  const std::string polynomial = R"(  %3 = constant i32 0x3c80f082
  %4 = constant i32 0xbd563cae
  %5 = constant i32 0x80000000
  %6 = constant i32 0x1d000000
  %40 = fmul i32 fp=f32,rn %10 %10
  %41 = ffma i32 fp=f32,rn %40 %3 %4
  %42 = xor_ i32 %40 %5
  %43 = ffma i32 fp=f32,rn %41 %42 %2
  %44 = xor_ i32 %43 %5
  %45 = ffma i32 fp=f32,rn %40 %44 %6
  %50 = ffma i32 fp=f32,rn %45 %40 %2
)";
  for (const bool product : {false, true}) {
    const std::string text = line(polynomial + (product ? "  %51 = ffma i32 fp=f32,rn %10 %50 %10\n"
                                                        : "  %51 = xor_ i32 %50 %5\n"));
    const Structured before(text);
    Structured after(text);
    EXPECT_EQ(transform(after), product);
    EXPECT_EQ(after.count(Op::flt), product ? 1u : 0u) << print(after.f, after.m);
    legalise(after);
    EXPECT_EQ(after.has(Op::library), product) << print(after.f, after.m);
    Operands operands;
    for (unsigned round = 0; round < 4000; ++round) {
      std::uint32_t words[8];
      operands.draw(round, words);
      // Denormals of x x, and x beside infinities.
      if (round % 2) words[0] = (words[0] & 0x807fffff) | (0x1f + round % 4) << 24;
      ASSERT_EQ(results(before, words), results(after, words)) << std::hex << words[0];
    }
  }
}

// Two polynomials of which each coefficient is selected: none is small.
TEST(CheckedFma, selected_constants_are_constants) {
  const std::string text = line(R"(  %3 = constant i32 0x3c80f082
  %4 = constant i32 0xbd563cae
  %5 = constant i32 0x40000000
  %40 = flt i1 fp=f32,rn %2 %11
  %41 = select i32 %40 %3 %4
  %42 = select i32 %40 %4 %5
  %43 = ffma i32 fp=f32,rn %10 %41 %42
  %50 = ffma i32 fp=f32,rn %43 %10 %41
  %44 = fadd i32 fp=f32,rn %12 %42
  %51 = ffma i32 fp=f32,rn %44 %44 %41
)");
  const Structured before(text);
  Structured after(text);
  EXPECT_FALSE(transform(after)) << print(after.f, after.m);
  legalise(after);
  EXPECT_FALSE(after.has(Op::library)) << print(after.f, after.m);
  expect_same<8>(before, after);
  // One of them is a denormal.
  const std::string small = "  %6 = constant i32 0x1\n  %7 = select i32 %40 %3 %6\n";
  Structured needs(line("  %3 = constant i32 0x3c80f082\n  %40 = flt i1 fp=f32,rn %2 %11\n" +
                        small + "  %50 = ffma i32 fp=f32,rn %10 %3 %7\n  %51 = xor_ i32 %50 %3\n"));
  EXPECT_TRUE(transform(needs));
}

// An infinity that is a factor and the addend is no factor of a denormal's.
TEST(CheckedFma, a_factor_that_is_added_to_its_product_needs_one_beside_it_that_is_no_denormal) {
  const std::string text =
      line("  %50 = ffma i32 fp=f32,rn %10 %11 %10\n  %51 = ffma i32 fp=f32,rn %12 %13 %13\n");
  const Structured before(text);
  Structured after(text);
  ASSERT_TRUE(transform(after));
  EXPECT_EQ(after.count(Op::flt), 4u) << print(after.f, after.m);
  expect_same<8>(before, after);
  const std::uint32_t words[8] = {0x7f800000, 1, 0x80000001, 0xff800000};
  EXPECT_EQ(results(before, words), results(after, words)) << print(after.f, after.m);
}

/// A sum of products in a loop: the factors come from shared memory, which has integers converted,
/// and with `unknown` another word.
std::string tile(bool unknown) {
  return start(3) + "  %7 = fcvt i32 fp=u32,to:f32,rn %10\n  %20 = compose v2 %7 %1\n" +
         "  store mem=shared,4 %1 %7\n" + (unknown ? "  store mem=shared,4 %31 %11\n" : "") +
         "  store mem=shared,8 %32 %20\n  control_barrier\n" +
         loop("  %21 = phi i32 %1 %25\n", R"(  %22 = load i32 mem=shared,4 %31
  %23 = load v2 mem=shared,8 %32
  %24 = extract i32 %23
  %25 = ffma i32 fp=f32,rn %22 %24 %21
)",
              "%31") +
         finish({"%25"});
}

TEST(CheckedFma, words_of_shared_memory_are_what_was_stored_there) {
  for (const bool unknown : {false, true}) {
    const Structured before(tile(unknown));
    Structured after(tile(unknown));
    EXPECT_EQ(transform(after), unknown) << print(after.f, after.m);
    passes::legalise_float(after.f, after.m, {.profile = losing()});
    after.expect_valid();
    EXPECT_EQ(after.has(Op::library), unknown) << print(after.f, after.m);
  }
}

TEST(CheckedFma, a_product_with_a_small_constant_leaves_no_check_behind) {
  const std::string text = line(R"(  %3 = constant i32 0x1c812345
  %50 = ffma i32 fp=f32,rn %10 %11 %12
  %41 = fadd i32 fp=f32,rn %50 %13
  %51 = ffma i32 fp=f32,rn %41 %3 %14
)");
  const Structured before(text);
  Structured after(text);
  ASSERT_TRUE(transform(after)) << print(after.f, after.m);
  EXPECT_EQ(after.count(Op::flt), 3u) << print(after.f, after.m);
  expect_same<8>(before, after);
}

TEST(CheckedFma, a_product_with_zero_needs_no_check) {
  Structured sum(line(R"(  %3 = constant i32 0x0
  %40 = ffma i32 fp=f32,rn %10 %3 %2
  %41 = fmul i32 fp=f32,rn %11 %3
  %50 = ffma i32 fp=f32,rn %12 %3 %41
  %51 = ffma i32 fp=f32,rn %50 %50 %40
)"));
  EXPECT_FALSE(transform(sum)) << print(sum.f, sum.m);
}

TEST(CheckedFma, what_comes_to_a_loop_around_it_is_what_came_before) {
  const std::string text =
      start(2) +
      loop("  %20 = phi i32 %10 %21\n", "  %21 = ffma i32 fp=f32,rn %20 %11 %10\n", "%31") +
      finish({"%21"});
  const Structured before(text);
  Structured after(text);
  ASSERT_TRUE(transform(after)) << print(after.f, after.m);
  expect_same<2>(before, after);
}

/// Sums of products around a loop, from eight words of memory; what a sum starts as, and its
/// factor.
std::string sums(const std::string& start_as, const std::string& factor) {
  return start(2) + "  %7 = constant i32 0x2\n  %3 = constant i64 0x100000008\n" +
         loop("  %19 = phi i32 " + start_as +
                  " %22\n  %40 = phi i32 %1 %42\n  %41 = phi i32 %1 %43\n",
              R"(  %12 = shl i32 %4 %7
  %13 = load i32 mem=param,4,readonly %12
  %14 = add i32 %12 %31
  %15 = load i32 mem=param,4,readonly %14
  %20 = ffma i32 fp=f32,rn %13 %15 %19
  store mem=global,4 %3 %20
  %21 = fadd i32 fp=f32,rn %20 %20
  %22 = ffma i32 fp=f32,rn %15 )" +
                  factor + R"( %21
  %42 = ffma i32 fp=f32,rn %13 %15 %40
  %43 = ffma i32 fp=f32,rn %13 %13 %41
)",
              "%31") +
         "  %44 = xor_ i32 %42 %43\n" + finish({"%22", "%44"});
}

TEST(CheckedFma, sums_around_a_loop_are_checked_where_they_were_repeated) {
  const auto checks = [](const std::string& text) {
    const Structured before(text);
    Structured after(text);
    EXPECT_TRUE(transform(after)) << print(after.f, after.m);
    expect_same<8>(before, after);
    return after.count(Op::flt);
  };
  // The factors alone, a sum that is one too; all where that would not save half of the checks.
  EXPECT_EQ(checks(sums("%1", "%13")), 2u);
  EXPECT_EQ(checks(sums("%1", "%20")), 3u);
  EXPECT_EQ(checks(sums("%10", "%13")), 5u);
}

TEST(CheckedFma, many_results_are_chosen_behind_their_checks) {
  std::string text, last = "%10";
  for (unsigned i = 0; i < 14; ++i)
    text += fmt::format("  %{} = ffma i32 fp=f32,rn %{} %{} %{}\n", 60 + i, 10 + i % 4, 14 + i % 3,
                        10 + i / 4);
  for (unsigned i = 0; i < 14; ++i, last = fmt::format("%{}", 79 + i))
    text += fmt::format("  %{} = xor_ i32 {} %{}\n", 80 + i, last, 60 + i);
  text = line(text + "  %50 = add i32 %93 %2\n  %51 = sub i32 %93 %60\n");
  const Structured before(text);
  Structured after(text);
  ASSERT_TRUE(transform(after));
  for (const Block& block : after.f.blocks)
    for (const Value v : block.insts)
      EXPECT_FALSE(block.merge == Merge::selection && after.f.insts[v].op == Op::ffma)
          << print(after.f, after.m);
  Ways ways;
  Operands operands;
  for (unsigned round = 0; round < 2000; ++round) {
    std::uint32_t words[8];
    operands.draw(round, words);
    ASSERT_EQ(results(before, words), results(after, words, &ways)) << round;
  }
  EXPECT_GT(ways.native, 100u);
  EXPECT_GT(ways.looked_at, 10u);
  EXPECT_GT(ways.repeated, 100u);
}

/// Products of which nothing is made: other work of a loop.
std::string work(unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i) text += fmt::format("  %{} = mul i32 %10 %10\n", 700 + i);
  return text;
}

/// z = z^2 + c with two exits, and a sum of products beside it, from eight words of memory.
const std::string kLoop = start(3) + R"(  %7 = constant i32 0x40800000
  br b1
b1:
  %20 = phi i32 %1 %19
  %21 = phi i32 %1 %16
  %22 = phi i32 %1 %27
  %24 = phi i32 %12 %23
  loop b6 b5
  br b2
b2:
  %13 = fmul i32 fp=f32,rn %20 %20
  %14 = fmul i32 fp=f32,rn %21 %21
  %15 = fadd i32 fp=f32,rn %13 %14
  %25 = flt i1 fp=f32 %7 %15
  merge b4
  cond_br %25 b3 b4
b3:
  br b6
b4:
  %26 = fadd i32 fp=f32,rn %20 %20
  %16 = ffma i32 fp=f32,rn %26 %21 %11
  %17 = xor_ i32 %14 %8
  %18 = fadd i32 fp=f32,rn %13 %17
  %19 = fadd i32 fp=f32,rn %18 %10
  %23 = ffma i32 fp=f32,rn %11 %10 %24
  %27 = add i32 %22 %9
  %28 = ult i1 %27 %32
  merge b7
  cond_br %28 b5 b7
b7:
  br b6
b5:
  br b1
b6:
  %40 = phi i32 %20 %19
  %41 = phi i32 %21 %23
)" + finish({"%40", "%41", "%22"});

/// Whether it is a check that zeros pass.
bool zeros_pass(const Function& f, Value v) {
  return f.insts[v].op == Op::ult && f.insts[f.arg(v, 0)].op == Op::sub;
}
unsigned checks_that_zeros_pass(const Function& f) {
  unsigned count = 0;
  for (const Block& block : f.blocks)
    for (const Value v : block.insts) count += zeros_pass(f, v);
  return count;
}

/// Every check says that nothing failed.
void ignore_checks(Parsed& p) {
  const Value none = Builder(p.f).i32(0);
  p.f.blocks[0].insts.insert(p.f.blocks[0].insts.begin(), none);
  for (Block& block : p.f.blocks)
    for (const Value v : block.insts)
      if ((p.f.insts[v].op == Op::flt && p.f.insts[v].fp.checked) || zeros_pass(p.f, v))
        p.f.args(v)[1] = none;
}

TEST(CheckedFma, a_loop_runs_natively_and_again_where_a_check_fails) {
  const Structured before(kLoop);
  Structured once(kLoop);
  const Profile profile = losing();
  ASSERT_TRUE(passes::checked_loops(once.f, once.m, {.profile = profile}));
  once.expect_valid();
  EXPECT_EQ(once.count(Op::ffma), 4u) << print(once.f, once.m);
  Structured both(kLoop);
  passes::checked_loops(both.f, both.m, {.profile = profile});
  ASSERT_TRUE(transform(both));
  // Two factors that come around, and before the loop two factors and two addends.
  EXPECT_EQ(once.count(Op::flt), 2u + 2) << print(once.f, once.m);
  EXPECT_EQ(checks_that_zeros_pass(once.f), 3u) << print(once.f, once.m);
  Operands operands;
  Ways ways;
  unsigned wrong = 0;
  Structured unchecked(kLoop);
  passes::checked_loops(unchecked.f, unchecked.m, {.profile = profile});
  ignore_checks(unchecked);
  for (unsigned round = 0; round < 3000; ++round) {
    std::uint32_t words[3];
    operands.draw(round, words);
    const auto want = results(before, words);
    ASSERT_EQ(want, results(once, words)) << round;
    ASSERT_EQ(want, results(both, words, &ways)) << round;
    wrong += want != results(unchecked, words);
  }
  EXPECT_GT(ways.native, 500u);
  EXPECT_GT(ways.repeated, 100u);
  EXPECT_GT(wrong, 20u) << "checks that are left out are missed";
}

TEST(CheckedFma, a_loop_makes_no_check_that_follows_from_others) {
  const std::string force = kForce;
  std::string body = force.substr(0, force.find("  %50"));
  body += "  %46 = ffma i32 fp=f32,rn %40 %45 %20\n  %47 = ffma i32 fp=f32,rn %41 %45 %21\n";
  const std::string text = start(8) +
                           wide_loop("  %20 = phi i32 %15 %46\n  %21 = phi i32 %16 %47\n",
                                     body + work(24), "%10", "b5 b3\nb5:\n  br b2\n") +
                           finish({"%46"});
  Structured p(text);
  const Profile profile = losing();
  ASSERT_TRUE(passes::checked_loops(p.f, p.m, {.profile = profile})) << text;
  p.expect_valid();
  // The factors of the sums, not the square of one; and the sums before the loop.
  EXPECT_EQ(checks_that_zeros_pass(p.f), 3u + 2) << print(p.f, p.m);
  EXPECT_EQ(p.count(Op::flt), 0u) << print(p.f, p.m);
}

/// A loop that turns while %50, made of its counter, is less than %12, with `body` in it.
std::string counting_loop(const std::string& body) {
  return start(8) +
         "  br b1\nb1:\n  %4 = phi i32 %1 %5\n  loop b3 b2\n  br b4\nb4:\n"
         "  %40 = fcvt i32 fp=u32,to:f32,rn %4\n" +
         body +
         "  %5 = add i32 %4 %9\n  %6 = flt i1 fp=f32,rn %50 %12\n  merge b5\n  cond_br %6 b5 b3\n"
         "b5:\n  br b2\nb2:\n  br b1\nb3:\n" +
         finish({"%50", "%4"});
}

// Numbers that lost denormals may never be what a loop waits for: it ends for the checks of values
// from before it alone, also where no check of its own fails.
TEST(CheckedFma, loops_end_where_a_check_before_them_fails) {
  constexpr std::uint32_t kInfinity = 0x7f800000;
  for (const std::string other : {"",
                                  "  %41 = load i32 mem=param,4,readonly %30\n"
                                  "  %42 = ffma i32 fp=f32,rn %41 %14 %15\n",
                                  "  %43 = ult i1 %4 %1\n  merge b7\n  cond_br %43 b6 b7\nb6:\n"
                                  "  %41 = load i32 mem=param,4,readonly %30\n"
                                  "  %42 = ffma i32 fp=f32,rn %41 %14 %15\n  br b7\nb7:\n"}) {
    const std::string text = counting_loop(other + "  %50 = ffma i32 fp=f32,rn %40 %11 %13\n");
    const Structured before(text);
    Structured after(text);
    const Profile profile = losing();
    ASSERT_TRUE(passes::checked_loops(after.f, after.m, {.profile = profile}));
    after.expect_valid();
    for (const std::uint32_t first : {kInfinity, 0x3f800000u, 0x7fffffffu})
      for (const std::uint32_t factor : {0x100u, 0x3f800000u}) {
        const std::uint32_t words[8] = {first, factor,     factor == 0x100 ? 0x1100u : 0x41880000u,
                                        0,     0x3f800000, 0x3f800000};
        EXPECT_EQ(results(before, words), results(after, words)) << other << factor;
      }
  }
}

TEST(CheckedFma, words_that_are_made_in_a_loop_are_checked_in_it) {
  // From memory, or of integers.
  for (const char* word : {"load i32 mem=param,4,readonly %70", "xor_ i32 %11 %71"}) {
    const std::string text =
        start(8) + "  %7 = constant i32 0x5\n  %3 = constant i32 0x2\n" +
        wide_loop("  %20 = phi i32 %15 %50\n",
                  "  %70 = shl i32 %4 %3\n  %71 = lshr i32 %12 %4\n  %72 = " + std::string(word) +
                      "\n  %50 = ffma i32 fp=f32,rn %72 %13 %20\n",
                  "%7", "b5 b3\nb5:\n  br b2\n") +
        finish({"%50"});
    const Structured before(text);
    Structured after(text);
    const Profile profile = losing();
    ASSERT_TRUE(passes::checked_loops(after.f, after.m, {.profile = profile}));
    after.expect_valid();
    Operands operands;
    Ways ways;
    for (unsigned round = 0; round < 3000; ++round) {
      std::uint32_t words[8];
      operands.draw(round, words);
      ASSERT_EQ(results(before, words), results(after, words, &ways)) << word << round;
    }
    EXPECT_GT(ways.native, 100u) << word;
    EXPECT_GT(ways.repeated, 100u) << word;
  }
}

/// A loop of three turns in one of three, with a body that takes %20 and %21, which come around
/// the outer and the inner one as `outer` and `inner`.
std::string loop_in_loop(const std::string& body, const std::string& outer,
                         const std::string& inner) {
  return start(8) + "  %7 = constant i32 0x3\n  br b1\nb1:\n  %4 = phi i32 %1 %5\n" +
         fmt::format("  %20 = phi i32 %10 {}\n", outer) +
         "  loop b8 b7\n  br b2\nb2:\n  %61 = phi i32 %1 %62\n" +
         fmt::format("  %21 = phi i32 %20 {}\n", inner) + "  loop b6 b5\n  br b3\nb3:\n" + body +
         work(24) +
         "  %62 = add i32 %61 %9\n  %63 = ult i1 %62 %7\n  merge b4\n  cond_br %63 b5 b4\nb4:\n"
         "  br b6\nb5:\n  br b2\nb6:\n  %5 = add i32 %4 %9\n  %6 = ult i1 %5 %7\n  merge b9\n"
         "  cond_br %6 b7 b9\nb9:\n  br b8\nb7:\n  br b1\nb8:\n" +
         finish({outer, inner});
}
TEST(CheckedFma, loops_whose_turns_follow_from_no_number_run_to_their_end) {
  const std::string text = loop_in_loop(
      "  %40 = fadd i32 fp=f32,rn %11 %12\n  %50 = ffma i32 fp=f32,rn %40 %13 %21\n", "%50", "%50");
  const Structured before(text);
  Structured after(text), unchecked(text);
  const Profile profile = losing();
  ASSERT_TRUE(passes::checked_loops(after.f, after.m, {.profile = profile}));
  after.expect_valid();
  passes::checked_loops(unchecked.f, unchecked.m, {.profile = profile});
  ignore_checks(unchecked);
  // Both factors, and what comes first; nothing leaves the loops.
  EXPECT_EQ(checks_that_zeros_pass(after.f), 3u) << print(after.f, after.m);
  EXPECT_EQ(after.count(Op::flt), 0u);
  Operands operands;
  Ways ways, usual;
  unsigned wrong = 0;
  for (unsigned round = 0; round < 3000; ++round) {
    std::uint32_t words[8];
    operands.draw(round, words);
    const bool normal_or_zero = round % 5 == 1 || round % 5 == 2;
    const auto want = results(before, words);
    ASSERT_EQ(want, results(after, words, normal_or_zero ? &usual : &ways)) << round;
    wrong += want != results(unchecked, words);
  }
  EXPECT_EQ(usual.repeated, 0u) << "zeros pass";
  EXPECT_EQ(usual.native, 1200u);
  EXPECT_GT(ways.native, 100u);
  EXPECT_GT(ways.repeated, 100u);
  EXPECT_GT(wrong, 20u) << "checks that are left out are missed";
}

/// A loop of seven turns that loads a word from `address` in each, and goes on with %50, or with
/// what `chosen` makes of it in %51 if it is less than %12; %53 says which.
std::string choosing_loop(const std::string& chosen, const std::string& address) {
  return start(8) +
         "  %7 = constant i32 0x7\n  %3 = constant i32 0x2\n  br b1\nb1:\n"
         "  %4 = phi i32 %1 %5\n  %20 = phi i32 %10 %52\n  %21 = phi i32 %1 %53\n"
         "  loop b3 b2\n  br b4\nb4:\n" +
         fmt::format("  %70 = shl i32 {} %3\n", address) +
         "  %71 = load i32 mem=param,4,readonly %70\n  %40 = fadd i32 fp=f32,rn %71 %11\n"
         "  %50 = ffma i32 fp=f32,rn %40 %13 %20\n  %72 = flt i1 fp=f32,rn %50 %12\n" +
         work(24) + "  merge b6\n  cond_br %72 b5 b6\nb5:\n" + chosen +
         "  br b6\nb6:\n  %52 = phi i32 %50 %51\n  %53 = phi i32 %1 %9\n"
         "  %5 = add i32 %4 %9\n  %6 = ult i1 %5 %7\n  merge b7\n  cond_br %6 b2 b7\nb7:\n"
         "  br b3\nb2:\n  br b1\nb3:\n" +
         finish({"%52", "%53"});
}

TEST(CheckedFma, branches_of_loops_may_choose_what_is_computed_but_not_what_is_read) {
  const Profile profile = losing();
  const std::string computes = "  %51 = ffma i32 fp=f32,rn %50 %14 %15\n";
  const auto is_twice = [&](const std::string& text) {
    Structured p(text);
    const bool twice = passes::checked_loops(p.f, p.m, {.profile = profile});
    p.expect_valid();
    return twice;
  };
  EXPECT_FALSE(is_twice(choosing_loop(
      "  %73 = load i32 mem=param,4,readonly %70\n  %51 = ffma i32 fp=f32,rn %73 %14 %15\n", "%4")))
      << "a wrong number leads to the second load";
  EXPECT_FALSE(is_twice(choosing_loop(computes, "%21"))) << "it chooses the load's address";
  const std::string text = choosing_loop(computes, "%4");
  EXPECT_TRUE(is_twice(text));
  const Structured before(text);
  Structured after(text), unchecked(text);
  passes::checked_loops(after.f, after.m, {.profile = profile});
  EXPECT_EQ(after.count(Op::flt), 2u) << "no check leaves the loop" << print(after.f, after.m);
  passes::checked_loops(unchecked.f, unchecked.m, {.profile = profile});
  ignore_checks(unchecked);
  Operands operands;
  Ways ways;
  unsigned wrong = 0;
  for (unsigned round = 0; round < 3000; ++round) {
    std::uint32_t words[8];
    operands.draw(round, words);
    const auto want = results(before, words);
    ASSERT_EQ(want, results(after, words, &ways)) << round;
    wrong += want != results(unchecked, words);
  }
  EXPECT_GT(ways.repeated, 100u);
  EXPECT_GT(wrong, 20u) << "checks that are left out are missed";
}

TEST(CheckedFma, loops_run_to_their_end_if_zeros_are_what_fails_or_checks_are_cheap) {
  // Sums of products with %42, made of differences %40 of words behind the addresses %60 and %61.
  const auto runs_to_end = [](const std::string& other, const std::string& factor,
                              const std::string& last) {
    Structured p(
        start(8) +
        "  %7 = constant i32 0x7\n  %60 = load i64 mem=param,8,readonly %30\n"
        "  %61 = load i64 mem=param,8,readonly %32\n  %62 = load i32 mem=global,4 " +
        other + "\n  %63 = xor_ i32 %62 %8\n" +
        wide_loop("  %20 = phi i32 %15 %50\n",
                  "  %64 = zext i64 %4\n  %65 = add i64 %60 %64\n"
                  "  %66 = load i32 mem=global,4 %65\n  %40 = fadd i32 fp=f32,rn %66 %63\n" +
                      factor + "  %50 = ffma i32 fp=f32,rn %42 %13 %20\n",
                  last, "b5 b3\nb5:\n  br b2\n") +
        finish({"%50"}));
    const Profile profile = losing();
    EXPECT_TRUE(passes::checked_loops(p.f, p.m, {.profile = profile})) << print(p.f, p.m);
    p.expect_valid();
    return p.count(Op::flt) == 0;
  };
  const std::string one = "  %42 = xor_ i32 %40 %8\n", often = "%12", seven = "%7";
  const std::string three =
      "  %41 = fmul i32 fp=f32,rn %40 %40\n  %42 = fmul i32 fp=f32,rn %41 %40\n";
  EXPECT_TRUE(runs_to_end("%60", one, often)) << "a difference of an element and itself";
  EXPECT_FALSE(runs_to_end("%61", one, often)) << "of two arrays";
  EXPECT_TRUE(runs_to_end("%61", one + work(16), often)) << "one check in much work";
  EXPECT_TRUE(runs_to_end("%60", three, seven));
  EXPECT_FALSE(runs_to_end("%60", three, often)) << "such a product is often small, but not zero";
  EXPECT_FALSE(runs_to_end("%60", three + work(72), often));
}

TEST(CheckedFma, random_loops_in_loops_give_what_they_gave) {
  std::mt19937 rng(14);
  Operands operands;
  Ways ways;
  unsigned twice = 0;
  for (unsigned program = 0; program < 60; ++program) {
    std::vector<unsigned> values{11, 12, 13, 14, 15, 16, 20, 21};
    const std::string body = random_operations(rng, values, false);
    const std::string text =
        loop_in_loop(body, fmt::format("%{}", values.back()),
                     fmt::format("%{}", values[values.size() - 1 - rng() % 3]));
    const Structured before(text);
    Structured after(text);
    twice += passes::checked_loops(after.f, after.m, {.profile = losing()});
    after.expect_valid();
    transform(after);
    for (unsigned round = 0; round < 40; ++round) {
      std::uint32_t words[8];
      operands.draw(round, words);
      ASSERT_EQ(results(before, words), results(after, words, &ways))
          << text << print(after.f, after.m);
    }
  }
  EXPECT_GT(twice, 30u);
  EXPECT_GT(ways.native, 100u);
  EXPECT_GT(ways.repeated, 100u);
}

TEST(CheckedFma, random_loops_give_what_they_gave) {
  std::mt19937 rng(12);
  Operands operands;
  Ways ways;
  unsigned twice = 0;
  const Profile profile = losing();
  for (unsigned program = 0; program < 100; ++program) {
    const std::string text = random_loop(rng);
    const Structured before(text);
    Structured after(text);
    twice += passes::checked_loops(after.f, after.m, {.profile = profile});
    transform(after);
    for (unsigned round = 0; round < 40; ++round) {
      std::uint32_t words[7];
      operands.draw(round, words);
      ASSERT_EQ(results(before, words), results(after, words, &ways))
          << text << print(after.f, after.m);
    }
  }
  EXPECT_GT(twice, 50u);
  EXPECT_GT(ways.native, 100u);
  EXPECT_GT(ways.repeated, 100u);
}

TEST(CheckedFma, what_is_known_of_loops_and_shared_memory_is_so) {
  std::mt19937 rng(13);
  Operands operands;
  Ways ways;
  unsigned known = 0;
  for (unsigned program = 0; program < 200; ++program) {
    const std::string text = random_loop(rng, true);
    const Structured before(text);
    Structured after(text);
    passes::checked_loops(after.f, after.m, {.profile = losing()});
    const bool checks = transform(after);
    passes::legalise_float(after.f, after.m, {.profile = losing()});
    known += !checks && after.count(Op::native_ffma) > 2 && !after.has(Op::library);
    for (unsigned round = 0; round < 40; ++round) {
      std::uint32_t words[7];
      operands.draw(round, words);
      ASSERT_EQ(results(before, words), results(after, words, &ways))
          << text << print(after.f, after.m);
    }
  }
  EXPECT_GT(known, 10u);
  EXPECT_GT(ways.native, 1000u);
}

TEST(CheckedFma, devices_that_have_no_need_or_no_fma_keep_what_they_have) {
  for (const char* name : {"lavapipe", "swiftshader", "portable"}) {
    Structured p(line(kDot));
    const Profile profile = *find_profile(name);
    EXPECT_FALSE(passes::checked_fma(p.f, p.m, {.profile = profile})) << name;
  }
  Profile profile = losing();
  Structured fast(line(kDot));
  EXPECT_FALSE(passes::checked_fma(fast.f, fast.m, {.profile = profile, .fp = FpPolicy::fast}));
  profile.exactness.fma_denormals32 = true;
  EXPECT_FALSE(passes::checked_fma(fast.f, fast.m, {.profile = profile}));
}

}  // namespace
}  // namespace ptx2spv
