// Floats by operations that are NVIDIA's own.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <random>

#include "tests/passes/flushing.hpp"
#include "tests/passes/parsed.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv {
namespace {

using namespace ir;
using namespace test;

Parsed legalised(const std::string& operation, const Profile& profile) {
  Parsed p(fmt::format(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 0x4
  %3 = load i32 mem=param,4,readonly %1
  %4 = load i32 mem=param,4,readonly %2
  %5 = {}
  store mem=slot,4 %1 %5
  exit
)",
                       operation));
  EXPECT_TRUE(passes::legalise_float(p.f, p.m, {.profile = profile}));
  p.expect_valid();
  return p;
}

TEST(LegaliseFloat,
     whole_numbers_and_the_lesser_of_two_are_the_devices_own_where_they_are_cvt_and_min) {
  const struct {
    const char* operation;
    Op own;
    std::size_t unary;
  } kCases[] = {{"fcvt i32 fp=f32,to:f32,rni %3", Op::native_unary, 1},
                {"fcvt i32 fp=f32,to:f32,rmi %3", Op::native_unary, 1},
                {"fcvt i32 fp=f32,to:s32,rzi %3", Op::native_to_s, 0},
                {"fcvt i32 fp=f32,to:s32,rni %3", Op::native_to_s, 1},
                {"fcvt i32 fp=f32,to:u32,rpi %3", Op::native_to_u, 1},
                {"fmin i32 fp=f32 %3 %4", Op::native_fmin, 0},
                {"fmax i32 fp=f32 %3 %4", Op::native_fmax, 0},
                {"fmin i32 fp=f32 %3 %1", Op::native_fmin, 0}};
  for (const auto& each : kCases)
    for (const bool own : {true, false}) {
      Profile profile = *find_profile("nvidia");
      profile.exactness.exact_round32 = profile.exactness.exact_min32 = own;
      const Parsed p = legalised(each.operation, profile);
      EXPECT_EQ(p.has(each.own), own) << each.operation;
      EXPECT_EQ(p.has(Op::library) || p.has(Op::select), !own) << each.operation;
      EXPECT_EQ(p.count(Op::native_unary), own ? each.unary : 0) << each.operation;
    }
  // A NaN that is to be propagated is not among them.
  EXPECT_TRUE(legalised("fmin i32 fp=f32,nan %3 %4", *find_profile("nvidia")).has(Op::library));
}

TEST(LegaliseFloat, saturation_is_the_devices_own_where_it_chooses_as_min_and_max) {
  for (const bool own : {true, false}) {
    Profile profile = *find_profile("nvidia");
    profile.exactness.exact_min32 = own;
    const Parsed p = legalised("fadd i32 fp=f32,sat %3 %4", profile);
    EXPECT_EQ(p.count(Op::native_fmax), own ? 1 : 0);
    EXPECT_EQ(p.count(Op::native_fmin), own ? 1 : 0);
    EXPECT_EQ(p.count(Op::umin), own ? 0 : 1);
  }
}

TEST(LegaliseFloat, what_is_chosen_or_rounded_is_a_nan_of_its_own_where_the_device_has_several) {
  for (const char* operation : {"fmax i32 fp=f32 %3 %4", "fcvt i32 fp=f32,to:f32,rzi %3"})
    for (const bool one : {true, false}) {
      Profile profile = *find_profile("nvidia");
      profile.exactness.canonical_nan32 = one;
      EXPECT_EQ(legalised(operation, profile).count(Op::select), one ? 0 : 1) << operation;
    }
}

// To the nearest and toward zero a denormal becomes the zero that it would be flushed to, and no
// whole number is one.
TEST(LegaliseFloat, conversions_to_whole_numbers_flush_what_would_become_one) {
  for (const char* to : {"f32", "s32", "u32"})
    for (const char* round : {"rni", "rzi", "rmi", "rpi"}) {
      const std::string operation = fmt::format("fcvt i32 fp=f32,to:{},{},ftz %3", to, round);
      const Parsed p = legalised(operation, *find_profile("nvidia"));
      EXPECT_EQ(p.count(Op::select), round[1] == 'm' || round[1] == 'p' ? 1 : 0) << operation;
    }
}

// A denormal beside it changes nothing, flushed or not: the nearest tie is further away.
TEST(LegaliseFloat, a_sum_with_a_product_of_constants_is_the_devices_own_unless_that_is_a_tie) {
  const struct {
    std::uint32_t a, b;
    bool own;
  } kCases[] = {{0x3f6ee581, 0x3fd774eb, true},    // half of pi, as atan2f has it
                {0xbf6ee581, 0x3fd774eb, true},    //
                {0x3f800001, 0x3fc00000, false},   // a tie
                {0x3f800000, 0x40000000, true},    // exact
                {0x1c800000, 0x1c800000, false},   // a small one
                {0x7f000000, 0x41000000, false}};  // an infinity
  std::mt19937 rng(1);
  for (const auto& each : kCases) {
    Parsed p(fmt::format(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 {:#x}
  %3 = constant i32 {:#x}
  %4 = load i32 mem=param,4,readonly %1
  %5 = ffma i32 fp=f32,rn %2 %3 %4
  store mem=slot,4 %1 %5
  exit
)",
                         each.a, each.b));
    EXPECT_TRUE(passes::legalise_float(p.f, p.m, {.profile = *find_profile("nvidia")}));
    p.expect_valid();
    EXPECT_EQ(p.has(Op::native_ffma), each.own) << std::hex << each.a;
    EXPECT_EQ(p.has(Op::library), !each.own) << std::hex << each.a;
    const float a = std::bit_cast<float>(each.a), b = std::bit_cast<float>(each.b);
    for (unsigned i = 0; each.own && i < 20000; ++i) {
      std::uint32_t c = static_cast<std::uint32_t>(rng());
      if (i % 3 == 0) c &= 0x807fffff;
      // What cancels with the product.
      if (i % 3 == 1) c = std::bit_cast<std::uint32_t>(-a * b) + c % 9 - 4;
      const float addend = std::bit_cast<float>(c);
      if (std::isnan(addend)) continue;
      ASSERT_EQ(flushed(std::fma(a, b, flushed(addend))), std::fma(a, b, addend)) << std::hex << c;
    }
  }
}

// Of a NaN beside itself there is nothing to choose, and one that is a result has its quiet bit.
TEST(LegaliseFloat, of_results_that_are_nan_the_upper_word_tells) {
  Parsed p(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 0x8
  %4 = load i64 mem=param,8,readonly %1
  %5 = load i64 mem=param,8,readonly %2
  %7 = fadd i64 fp=f64,rn %4 %5
  %8 = fadd i64 fp=f64,rn %4 %7
  %9 = fadd i64 fp=f64,rn %8 %8
  store mem=slot,8 %1 %9
  exit
)");
  Profile profile = *find_profile("nvidia");
  profile.exactness.second_nan64 = false;
  EXPECT_TRUE(passes::legalise_float(p.f, p.m, {.profile = profile}));
  p.expect_valid();
  EXPECT_EQ(p.count(Op::select), 2u);
  EXPECT_EQ(p.count(Op::high), 1u);
}

}  // namespace
}  // namespace ptx2spv
