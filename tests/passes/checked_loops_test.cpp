// Loops that run with the device's own float operations first: which ones do, and that the copies
// together do what the loop did.
#include <random>

#include "ptx2spv/translator.hpp"
#include "tests/passes/flushing.hpp"
#include "tests/passes/parsed.hpp"
#include "tests/support/spirv_tools.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv {
namespace {

using namespace ir;
using namespace test;

/// Four iterations of z = z * z + c, with `extra` in the loop, then z to memory.
std::string squares(const std::string& extra = {}) {
  return R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 0x4
  %3 = constant i64 0x100000000
  %4 = load i32 mem=param,4,readonly %1
  %5 = load i32 mem=param,4,readonly %2
  %6 = constant i32 0x1
  br b1
b1:
  %10 = phi i32 %4 %13
  %11 = phi i32 %1 %14
  loop b5 b4
  br b2
b2:
  %12 = fmul i32 fp=f32,rn %10 %10
  %13 = fadd i32 fp=f32,rn %12 %5
  %14 = add i32 %11 %6
  %15 = ult i1 %14 %2
)" + extra +
         R"(
  merge b3
  cond_br %15 b4 b3
b3:
  br b5
b4:
  br b1
b5:
  store mem=global,4 %3 %13
  exit
)";
}

bool checked(const Parsed& p) {
  return p.any([&](Value v, BlockId) { return p.f.insts[v].fp.checked; });
}

TEST(CheckedLoops, both_copies_together_do_what_the_loop_did) {
  const std::uint32_t inputs[][2] = {{0x3f000000, 0x3e800000}, {0, 0x80000000u},
                                     {0x00000001, 0x3f800000}, {0x7fc12345, 0x3f800000},
                                     {0x3f800000, 0x00400000}, {0x1f800000, 0},
                                     {0x7f000000, 0xff000000}, {0x20000000, 0x80000001u}};
  for (const auto& input : inputs) {
    std::uint32_t results[2];
    for (const bool transformed : {false, true}) {
      Structured p(squares());
      if (transformed) {
        const Profile profile = flushing();
        EXPECT_TRUE(passes::checked_loops(p.f, p.m, {.profile = profile}));
        p.expect_valid();
        EXPECT_TRUE(checked(p)) << print(p.f, p.m);
        EXPECT_EQ(p.count(Op::fmul), 2u) << print(p.f, p.m);
      }
      Memory memory;
      put(memory, Space::param, 0, input[0]);
      put(memory, Space::param, 4, input[1]);
      memory.of(Space::global).resize(4);
      RunOptions options;
      options.operation = float_operation;
      EXPECT_EQ(p.run(memory, options).error, "");
      results[transformed] = word(memory, Space::global, 0);
    }
    EXPECT_EQ(results[0], results[1]) << std::hex << input[0] << " " << input[1];
  }
}

TEST(CheckedLoops, operations_of_the_copy_with_checks_are_the_devices_own) {
  Structured p(squares());
  const Profile profile = flushing();
  EXPECT_TRUE(passes::checked_loops(p.f, p.m, {.profile = profile}));
  passes::legalise_float(p.f, p.m, {.profile = profile});
  p.expect_valid();
  EXPECT_EQ(p.count(Op::native_fmul), 1u) << print(p.f, p.m);
  EXPECT_EQ(p.count(Op::native_fadd), 1u) << print(p.f, p.m);
  EXPECT_EQ(p.count(Op::library), 2u) << print(p.f, p.m);
}

// A wrong number must not become an address, nor lead to a read that the kernel does not make.
TEST(CheckedLoops, reads_that_follow_from_numbers_keep_a_loop_exact) {
  const Profile profile = flushing();
  const auto stands_twice = [&](const std::string& extra) {
    Structured p(squares(extra));
    const bool twice = passes::checked_loops(p.f, p.m, {.profile = profile});
    p.expect_valid();
    return twice;
  };
  EXPECT_TRUE(stands_twice("  %16 = load i32 mem=slot,4 %14\n"));
  EXPECT_FALSE(stands_twice("  %16 = load i32 mem=slot,4 %13\n"));
  EXPECT_FALSE(stands_twice("  %16 = and_ i32 %13 %2\n  %17 = load i32 mem=slot,4 %16\n"));
  const std::string branch = "  %16 = flt i1 fp=f32 %13 %5\n  merge b7\n  cond_br %16 b6 b7\nb6:\n";
  EXPECT_FALSE(stands_twice(branch + "  %17 = load i32 mem=slot,4 %14\n  br b7\nb7:\n"));
  EXPECT_TRUE(stands_twice(branch + "  br b7\nb7:\n"));
}

TEST(CheckedLoops, one_behind_the_other_each_takes_what_the_one_before_left) {
  constexpr unsigned kLoops = 200;
  std::string text =
      ".version 8.3\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 to) {\n"
      ".reg .f32 %f<2>; .reg .b32 %r<3>; .reg .b64 %d; .reg .pred %p;\n"
      "ld.param.u64 %d, [to]; ld.global.f32 %f0, [%d]; ld.global.f32 %f1, [%d+4];\n"
      "mov.u32 %r0, %tid.x;\n";
  for (unsigned i = 0; i < kLoops; ++i) {
    const std::string again = "again" + std::to_string(i);
    text += "mov.u32 %r1, 0;\n" + again +
            ":\nmul.rn.f32 %f0, %f0, %f0;\n"
            "add.rn.f32 %f0, %f0, %f1;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p, %r1, %r0;\n@%p bra " +
            again + ";\n";
  }
  text += "st.global.f32 [%d], %f0;\nret;\n}\n";
  std::vector<Message> messages;
  const auto module = PtxModule::parse({{text, "k.ptx"}}, messages);
  ASSERT_TRUE(module);
  TranslateOptions options;
  options.profile = flushing();
  std::string after;
  options.dump = [&](std::string_view pass, std::string_view ir) {
    if (pass == "checked-loops") after = ir;
  };
  const auto translation = module->translate(options, messages);
  ASSERT_TRUE(translation);
  EXPECT_EQ(test::validate_spirv(translation->spirv), "");
  std::size_t sums = 0;
  for (std::size_t at = 0; (at = after.find(",checked", at)) != std::string::npos; ++at) ++sums;
  EXPECT_EQ(sums, 2 * kLoops) << "a product and a sum of each";
}

TEST(CheckedLoops, loops_that_others_can_see_or_that_have_no_need_stay) {
  const std::string text = squares(), stores = squares("  store mem=global,4 %3 %14\n");
  const auto stays = [](const std::string& kernel, const Profile& profile, FpPolicy fp) {
    Structured p(kernel);
    const std::string before = print(p.f, p.m);
    EXPECT_FALSE(passes::checked_loops(p.f, p.m, {.profile = profile, .fp = fp}));
    EXPECT_EQ(print(p.f, p.m), before);
  };
  stays(stores, flushing(), FpPolicy::exact);
  stays(text, flushing(), FpPolicy::fast);
  stays(text, *find_profile("lavapipe"), FpPolicy::exact);
  stays(text, *find_profile("nvidia"), FpPolicy::exact);
}

/// Where fma alone lose denormals.
Profile losing() {
  Profile profile = *find_profile("nvidia");
  profile.exactness.fused_fma32 = profile.exactness.denormals32 = true;
  profile.exactness.fma_denormals32 = false;
  return profile;
}

/// z = z * z + c of complex numbers, left once |z|^2 is over `bound` or after nine times; `sum`
/// makes that, %25, and `fma` %28 from x + x in %27. Gives x, y and the number of turns.
std::string escapes(const std::string& bound = "0x40800000",
                    const std::string& fma = "  %28 = ffma i32 fp=f32,rn %27 %21 %13\n",
                    const std::string& sum = "  %25 = fadd i32 fp=f32,rn %24 %23\n") {
  return R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 0x4
  %3 = constant i32 0x8
  %4 = constant i32 0xc
  %5 = constant i32 0x1
  %6 = constant i32 0x9
  %7 = constant i32 )" +
         bound + R"(
  %8 = constant i32 0x80000000
  %9 = constant i32 0x7fffffff
  %10 = load i32 mem=param,4,readonly %1
  %11 = load i32 mem=param,4,readonly %2
  %12 = load i32 mem=param,4,readonly %3
  %13 = load i32 mem=param,4,readonly %4
  br b1
b1:
  %20 = phi i32 %10 %31
  %21 = phi i32 %11 %28
  %22 = phi i32 %1 %32
  loop b6 b5
  br b2
b2:
  %23 = fmul i32 fp=f32,rn %21 %21
  %24 = fmul i32 fp=f32,rn %20 %20
)" + sum +
         R"(
  %26 = flt i1 fp=f32,rn %7 %25
  merge b3
  cond_br %26 b6 b3
b3:
  %27 = fadd i32 fp=f32,rn %20 %20
)" + fma +
         R"(
  %29 = xor_ i32 %23 %8
  %30 = fadd i32 fp=f32,rn %24 %29
  %31 = fadd i32 fp=f32,rn %12 %30
  %32 = add i32 %22 %5
  %33 = ult i1 %32 %6
  merge b4
  cond_br %33 b5 b4
b4:
  br b6
b5:
  br b1
b6:
  %40 = phi i32 %22 %32
  %41 = constant i64 0x100000000
  store mem=global,4 %41 %40
  %42 = constant i64 0x100000004
  store mem=global,4 %42 %20
  %43 = constant i64 0x100000008
  store mem=global,4 %43 %21
  exit
)";
}

/// The same loop with its test at the end: `first` and `next` lead into it and around it while
/// |z|^2 is under 4, which %15 and %37 say of %14 and %36; `fma` makes %28.
std::string escapes_at_end(const std::string& first = "  %15 = flt i1 fp=f32,rn %14 %7\n",
                           const std::string& next = "  %37 = flt i1 fp=f32,rn %36 %7\n",
                           const std::string& fma = "  %28 = ffma i32 fp=f32,rn %27 %21 %13\n") {
  return "b0:\n" + constants(1, {0, 4, 8, 12, 1, 9, 0x40800000, 0x80000000}) + R"(
  %10 = load i32 mem=param,4,readonly %1
  %11 = load i32 mem=param,4,readonly %2
  %12 = load i32 mem=param,4,readonly %3
  %13 = load i32 mem=param,4,readonly %4
  %16 = fmul i32 fp=f32,rn %10 %10
  %17 = fmul i32 fp=f32,rn %11 %11
  %14 = fadd i32 fp=f32,rn %16 %17
)" + first +
         R"(
  merge b6
  cond_br %15 b1 b6
b1:
  %20 = phi i32 %10 %31
  %21 = phi i32 %11 %28
  %22 = phi i32 %1 %32
  %23 = phi i32 %17 %35
  %24 = phi i32 %16 %34
  loop b5 b4
  br b2
b2:
  %29 = xor_ i32 %23 %8
  %30 = fadd i32 fp=f32,rn %24 %29
  %31 = fadd i32 fp=f32,rn %12 %30
  %27 = fadd i32 fp=f32,rn %20 %20
)" + fma +
         R"(
  %32 = add i32 %22 %5
  %33 = ult i1 %32 %6
  %34 = fmul i32 fp=f32,rn %31 %31
  %35 = fmul i32 fp=f32,rn %28 %28
  %36 = fadd i32 fp=f32,rn %34 %35
)" + next +
         R"(
  %38 = and_ i1 %33 %37
  merge b3
  cond_br %38 b3 b5
b3:
  br b4
b4:
  br b1
b5:
  br b6
b6:
  %40 = phi i32 %1 %32
  %43 = phi i32 %10 %31
  %44 = phi i32 %11 %28
  %41 = constant i64 0x100000000
  store mem=global,4 %41 %40
  %42 = constant i64 0x100000004
  store mem=global,4 %42 %43
  %45 = constant i64 0x100000008
  store mem=global,4 %45 %44
  exit
)";
}

/// Whether one of two copies runs: those that check themselves have a third loop, around the
/// second.
bool chooses(const std::string& text) {
  Structured p(text);
  passes::checked_loops(p.f, p.m, {.profile = losing()});
  p.expect_valid();
  std::size_t loops = 0;
  for (const Block& block : p.f.blocks) loops += block.merge == Merge::loop;
  return checked(p) && loops == 2;
}

TEST(CheckedLoops, a_branch_around_a_loop_bounds_what_an_fma_in_it_takes) {
  const std::string first = "  %15 = flt i1 fp=f32,rn %14 %7\n";
  const std::string next = "  %37 = flt i1 fp=f32,rn %36 %7\n";
  const std::string unless_over = "  %39 = flt i1 fp=f32,rn %7 %36\n  %37 = not_ i1 %39\n";
  const std::string with_other =
      "  %19 = fadd i32 fp=f32,rn %20 %27\n  %28 = ffma i32 fp=f32,rn %27 %19 %13\n";
  EXPECT_TRUE(chooses(escapes_at_end()));
  EXPECT_FALSE(chooses(escapes_at_end("  %15 = flt i1 fp=f32,rn %7 %14\n")))
      << "what comes first may be of any size";
  EXPECT_FALSE(chooses(escapes_at_end(first, "  %37 = flt i1 fp=f32,rn %7 %36\n")))
      << "what comes around may be of any size";
  EXPECT_TRUE(chooses(escapes_at_end(first, unless_over)));
  EXPECT_TRUE(chooses(escapes_at_end(first, next, with_other)));
  EXPECT_FALSE(chooses(escapes_at_end(first, unless_over, with_other)))
      << "%20 may be of any size if %21 is a NaN, which the fma does not take";
  EXPECT_FALSE(chooses(escapes_at_end(first, next, "  %28 = ffma i32 fp=f32,rn %31 %27 %13\n")))
      << "%31 is of this turn";
}

TEST(CheckedLoops, a_branch_that_leaves_bounds_what_an_fma_behind_it_takes) {
  EXPECT_TRUE(chooses(escapes()));
  EXPECT_FALSE(chooses(escapes("0x7f000000"))) << "factors of up to 2^64";
  EXPECT_FALSE(chooses(escapes("0x40800000", "  %28 = ffma i32 fp=f32,rn %27 %21 %20\n")))
      << "an addend of the loop's";
  EXPECT_TRUE(chooses(escapes("0x40800000", "  %28 = ffma i32 fp=f32,rn %27 %27 %13\n")))
      << "the square of a denormal is none, whatever is supposed";
  EXPECT_FALSE(chooses(escapes("0x40800000",
                               "  %34 = fadd i32 fp=f32,rn %20 %27\n"
                               "  %28 = ffma i32 fp=f32,rn %27 %34 %13\n")))
      << "%20 may be of any size if %21 is a NaN, which the fma does not take";
  EXPECT_FALSE(chooses(escapes("0x40800000", "  %28 = ffma i32 fp=f32,rn %27 %21 %13\n",
                               "  %25 = fadd i32 fp=f32,rn %24 %21\n")))
      << "a sum of which a part may be negative";
  EXPECT_TRUE(chooses(escapes("0x40800000", "  %28 = ffma i32 fp=f32,rn %27 %21 %13\n",
                              "  %25 = ffma i32 fp=f32,rn,ftz %20 %20 %23\n")));
  EXPECT_TRUE(chooses(escapes("0x40800000", "  %28 = ffma i32 fp=f32,rn %27 %21 %13\n",
                              "  %19 = and_ i32 %20 %9\n  %18 = and_ i32 %21 %9\n"
                              "  %25 = fadd i32 fp=f32,rn %18 %19\n")));
}

TEST(CheckedLoops, copies_of_which_one_runs_do_what_the_loop_did) {
  const auto operation = [](const Function& f, const Inst& inst, std::span<const Bits> args,
                            Bits& result) {
    if (inst.op != Op::flt) return float_operation(f, inst, args, result);
    result = Bits::of(number(args[0]) < number(args[1]));
    return true;
  };
  const Profile profile = losing();
  std::mt19937 rng(7);
  const auto draw = [&] {
    constexpr std::uint32_t kSpecial[] = {0,          0x80000000, 1,          0x807fffff,
                                          0x00800000, 0x7f800000, 0xff800000, 0x7fffffff,
                                          0x1c800000, 0x9c800000, 0x1c7fffff, 0x40000000};
    const std::uint32_t word = rng();
    if (word % 4 == 0) return kSpecial[rng() % std::size(kSpecial)];
    if (word % 4 == 1) return (word & 0x80ffffff) >> (word >> 24 & 7);  // small ones and denormals
    return (word & 0x807fffff) | (64 + (word >> 3) % 65) << 23;         // 2^-63 to 4
  };
  for (const std::string& text : {escapes(), escapes_at_end()}) {
    const Structured plain(text);
    Structured twice(text), unchecked(text);
    EXPECT_TRUE(passes::checked_loops(twice.f, twice.m, {.profile = profile}));
    twice.expect_valid();
    for (Inst& inst : unchecked.f.insts) inst.fp.checked = inst.op == Op::ffma;
    unsigned differing = 0;
    for (int i = 0; i < 4000; ++i) {
      const std::uint32_t inputs[] = {draw(), draw(), draw(), draw()};
      std::vector<std::uint8_t> results[3];
      for (const int how : {0, 1, 2}) {
        const Structured& p = how == 0 ? plain : how == 1 ? twice : unchecked;
        Memory memory;
        for (unsigned k = 0; k < 4; ++k) put(memory, Space::param, 4 * k, inputs[k]);
        memory.of(Space::global).resize(12);
        RunOptions options;
        options.operation = operation;
        ASSERT_EQ(p.run(memory, options).error, "");
        results[how] = memory.of(Space::global);
      }
      ASSERT_EQ(results[0], results[1])
          << std::hex << inputs[0] << " " << inputs[1] << " " << inputs[2] << " " << inputs[3];
      differing += results[0] != results[2];
    }
    EXPECT_GT(differing, 40u);
  }
}

}  // namespace
}  // namespace ptx2spv
