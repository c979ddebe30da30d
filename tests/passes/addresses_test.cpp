// What kernels read and where they reach: parameters in push constants, numbers of threads, offsets
// in elements.
#include "tests/passes/parsed.hpp"
#include "translator/passes/passes.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::ir;
using namespace ptx2spv::test;

constexpr const char* kParams = R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i32 0x8
  %3 = constant i32 0xc
  %4 = constant i32 0x10
  %5 = constant i32 0x2
  %6 = load i64 mem=param,8,readonly %1
  %7 = load i32 mem=param,4,readonly %2
  %8 = load i32 mem=param,4,readonly %3
  %9 = load i32 mem=push,4,readonly %1
  %10 = lshr i32 %8 %5
  %11 = add i32 %7 %10
  %12 = add i32 %11 %9
  %13 = load i32 mem=param,1,readonly %4
  %14 = add i32 %12 %13
  store mem=global,4 %6 %14
  exit
)";

TEST(PromoteParams, words_that_the_launch_leaves_take_parameters) {
  Parsed p(kParams);
  EntryInfo info;
  EXPECT_TRUE(passes::promote_params_to_push_constants(p.f, 32, info));
  EXPECT_EQ(validate(p.f, p.m, true, false), "");
  EXPECT_EQ(p.count(Op::load, Space::param), 0u);
  EXPECT_EQ(p.count(Op::lshr), 0u);
  EXPECT_EQ(info.push_words, ptx2spv::abi::kPushWords);
  // Word 0 is the grid's; the address takes two in a row, and the shifted word comes shifted.
  ASSERT_EQ(info.push_params.size(), 5u);
  const std::uint32_t expected[5][3] = {{1, 0, 0}, {2, 4, 0}, {3, 8, 0}, {4, 12, 2}, {5, 16, 0}};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(info.push_params[i].word, expected[i][0]) << i;
    EXPECT_EQ(info.push_params[i].offset, expected[i][1]) << i;
    EXPECT_EQ(info.push_params[i].shift, expected[i][2]) << i;
  }
}

TEST(PromoteParams, what_finds_no_room_stays_in_the_buffer) {
  Parsed p(kParams);
  EntryInfo info;
  EXPECT_TRUE(passes::promote_params_to_push_constants(p.f, 4, info));
  EXPECT_EQ(validate(p.f, p.m, true, false), "");
  EXPECT_EQ(info.push_params.size(), 3u);
  EXPECT_EQ(p.count(Op::load, Space::param), 2u);
  EXPECT_EQ(p.count(Op::lshr), 1u);
  Parsed none(kParams);
  EntryInfo untouched;
  EXPECT_FALSE(passes::promote_params_to_push_constants(none.f, 0, untouched));
  EXPECT_TRUE(untouched.push_params.empty());
}

TEST(PromoteParams, a_word_that_is_read_shifted_too_is_placed_once) {
  Parsed p(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i64 0x100
  %3 = constant i32 0x3
  %4 = load i32 mem=param,4,readonly %1
  %5 = lshr i32 %4 %3
  %6 = add i32 %4 %5
  store mem=global,4 %2 %6
  exit
)");
  EntryInfo info;
  EXPECT_TRUE(passes::promote_params_to_push_constants(p.f, 32, info));
  EXPECT_EQ(info.push_params.size(), 1u);
  EXPECT_EQ(p.count(Op::lshr), 1u);
}

TEST(PromoteParams, words_of_a_record_are_read_together) {
  Parsed p(R"(
b0:
  %1 = constant i32 0x10
  %2 = constant i64 0x100
  %3 = constant i32 0x1c
  %4 = constant i32 0x20
  %5 = load i32 mem=param,4,readonly %1
  %6 = load i32 mem=param,4,readonly %3
  %7 = load i32 mem=param,4,readonly %4
  %8 = add i32 %5 %6
  %9 = add i32 %7 %8
  store mem=global,4 %2 %9
  exit
)");
  EntryInfo info;
  info.slots.resize(1);
  info.slot_records = 16;
  EXPECT_TRUE(passes::promote_params_to_push_constants(p.f, 0, info));
  EXPECT_EQ(validate(p.f, p.m, true, false), "");
  EXPECT_EQ(p.count(Op::load, Space::param), 2u);
  EXPECT_EQ(p.count(Op::extract), 2u);
}

TEST(GlobalIds, a_sum_over_one_axis_is_the_devices_number) {
  const auto folded = [](const char* group, const char* size, const char* local) {
    Parsed p("b0:\n %1 = builtin i32 " + std::string(group) + "\n %2 = builtin i32 " + size +
             "\n %3 = builtin i32 " + local + R"(
  %4 = mul i32 %2 %1
  %5 = add i32 %3 %4
  %6 = constant i64 0x100
  store mem=global,4 %6 %5
  exit
)");
    return passes::global_ids(p.f);
  };
  EXPECT_TRUE(folded("workgroup_id_y", "workgroup_size_y", "local_id_y"));
  EXPECT_FALSE(folded("workgroup_id_y", "workgroup_size_x", "local_id_y"));
  EXPECT_FALSE(folded("workgroup_id_y", "workgroup_size_y", "local_id_x"));
  EXPECT_FALSE(folded("num_workgroups_y", "workgroup_size_y", "local_id_y"));
}

/// A load of a word at `smin(smax(x * 4 + offset, 0), last)`, and what it gives for thread numbers
/// and values of x.
std::string clamped(const char* x, std::int32_t offset) {
  return "b0:\n %20 = constant i32 0x0\n %1 = " + std::string(x) + R"(
  %2 = constant i32 0x2
  %3 = shl i32 %1 %2
  %4 = constant i32 )" +
         std::to_string(static_cast<std::uint32_t>(offset)) + R"(
  %5 = add i32 %3 %4
  %6 = constant i32 0x0
  %7 = smax i32 %5 %6
  %8 = constant i32 0x4
  %9 = load i32 mem=param,4,readonly,high_zeros:1 %8
  %10 = lshr i32 %9 %2
  %11 = constant i32 0xffffffff
  %12 = add i32 %10 %11
  %13 = shl i32 %12 %2
  %14 = smin i32 %7 %13
  %15 = load i32 mem=slot,4 %14
  %16 = constant i64 0x100000000
  store mem=global,4 %16 %15
  exit
)";
}

std::uint32_t result(const Parsed& p, std::uint32_t group, std::uint32_t param) {
  ir::Memory memory;
  const auto put = [](std::vector<std::uint8_t>& bytes, std::size_t at, std::uint32_t word) {
    if (bytes.size() < at + 4) bytes.resize(at + 4);
    for (unsigned i = 0; i < 4; ++i) bytes[at + i] = static_cast<std::uint8_t>(word >> (8 * i));
  };
  memory.of(Space::global).resize(16);
  put(memory.of(Space::param), 0, param);
  put(memory.of(Space::param), 4, 32);
  for (std::uint32_t i = 0; i < 8; ++i) put(memory.of(Space::slot), i * std::size_t{4}, 100 + i);
  ir::RunOptions options;
  options.workgroup[0] = group;
  options.trace = false;
  const Outcome outcome = ir::interpret(p.f, p.m, memory, options);
  EXPECT_EQ(outcome.error, "");
  const auto& bytes = memory.of(Space::global);
  return bytes[0] | static_cast<std::uint32_t>(bytes[1]) << 8;
}

TEST(ScaleAddresses, clamped_numbers_of_threads_need_no_shift) {
  for (const std::int32_t offset : {0, -4, 8}) {
    Parsed before(clamped("builtin i32 global_id_x", offset));
    Parsed after(clamped("builtin i32 global_id_x", offset));
    passes::scale_addresses(after.f, after.m);
    passes::simplify(after.f, after.m);
    EXPECT_EQ(validate(after.f, after.m, true, false), "");
    EXPECT_EQ(after.count(Op::lshr), 1u);  // of the width
    for (const std::uint32_t x : {0u, 1u, 5u, 7u, 8u, 9u, 1000u, ptx2spv::abi::kSmallGrid - 1})
      EXPECT_EQ(result(after, x, 0), result(before, x, 0)) << x << " + " << offset;
  }
}

TEST(ScaleAddresses, numbers_that_wrap_around_are_clamped_as_bytes) {
  for (const std::int32_t offset : {0, -4, 8}) {
    Parsed before(clamped("load i32 mem=param,4,readonly %20", offset));
    Parsed after(clamped("load i32 mem=param,4,readonly %20", offset));
    passes::scale_addresses(after.f, after.m);
    for (const std::uint32_t x :
         {0u, 3u, 7u, 8u, 0x1fffffffu, 0x20000000u, 0x3fffffffu, 0x40000001u, 0x80000002u, ~0u})
      EXPECT_EQ(result(after, 0, x), result(before, 0, x)) << x << " + " << offset;
  }
}

/// What 16 threads leave in a buffer, the words of shared memory being squares.
std::vector<std::uint8_t> outcome_of(Parsed& p) {
  Memory memory;
  memory.of(Space::slot).resize(64);
  for (std::uint32_t i = 0; i < 80; ++i) put(memory, Space::shared, 4 * i, 77 * i * i + 5);
  run_row(p.f, p.m, memory, 16);
  return memory.of(Space::slot);
}

// Local arrays have generic addresses, of 64 bits, in what nvcc compiles.
TEST(ScaleAddresses, low_words_of_long_addresses_need_no_shift) {
  for (const char* offset : {"shl i64 %4 %2", "mul i64 %4 %5", "pack i64 %6 %7"}) {
    const std::string text = R"(
b0:
  %1 = builtin i32 local_id_x
  %2 = constant i32 0x2
  %3 = constant i32 0xfffffffd
  %11 = add i32 %1 %3
  %4 = sext i64 %11
  %5 = constant i64 0x4
  %6 = shl i32 %11 %2
  %7 = mulhi_s i32 %11 %12
  %8 = )" + std::string(offset) +
                             R"(
  %9 = constant i64 0xfffffff8
  %10 = constant i64 0x10
  %13 = sub i64 %8 %9
  %14 = add i64 %13 %10
  %15 = trunc i32 %14
  %16 = load i32 mem=shared,4 %15
  %17 = trunc i32 %13
  %18 = add i32 %17 %19
  %20 = load i32 mem=shared,4 %18
  %21 = sub i32 %16 %20
  %22 = shl i32 %1 %2
  store mem=slot,4 %22 %21
  exit
)";
    std::string whole = text;
    whole.replace(whole.find("  %3 ="), 0, "  %12 = constant i32 0x4\n  %19 = constant i32 0x8\n");
    Parsed before(whole), after(whole);
    passes::scale_addresses(after.f, after.m);
    passes::simplify(after.f, after.m);
    EXPECT_EQ(validate(after.f, after.m, true, false), "");
    EXPECT_EQ(after.count(Op::trunc), 0u) << offset;
    EXPECT_EQ(after.count(Op::lshr), 0u) << offset;
    EXPECT_EQ(outcome_of(after), outcome_of(before)) << offset;
  }
}

// A pointer that a loop counts stays one: drivers unroll such a loop, not one over two sums.
TEST(ScaleAddresses, pointers_that_loops_count_stay_sums) {
  const std::string text = R"(
b0:
  %1 = builtin i32 local_id_x
  %2 = constant i32 0x2
  %3 = constant i64 0xfffffffffffffffc
  %4 = constant i64 0x4
  %5 = constant i32 0x1
  %7 = constant i32 0x0
  br b1
b1:
  %8 = phi i64 %3 %15
  %9 = phi i32 %7 %16
  %10 = phi i32 %7 %14
  loop b3 b2
  br b2
b2:
  %11 = add i64 %8 %4
  %12 = trunc i32 %11
  %13 = load i32 mem=shared,4 %12
  %14 = add i32 %10 %13
  %15 = add i64 %8 %4
  %16 = add i32 %9 %5
  %18 = ult i1 %9 %1
  cond_br %18 b1 b3
b3:
  %19 = shl i32 %1 %2
  store mem=slot,4 %19 %14
  exit
)";
  Parsed before(text), after(text);
  passes::scale_addresses(after.f, after.m);
  EXPECT_EQ(validate(after.f, after.m, true, false), "");
  EXPECT_EQ(after.count(Op::ashr) + after.count(Op::lshr), 0u);
  EXPECT_EQ(outcome_of(after), outcome_of(before));
}

// A loop that nvcc has made count bytes: by four words, beside a count of its trips.
TEST(ScaleAddresses, counters_of_loops_count_words) {
  for (const char* start : {"shl i32 %1 %2", "add i32 %8 %8"}) {
    const std::string text = R"(
b0:
  %1 = builtin i32 local_id_x
  %2 = constant i32 0x2
  %3 = constant i32 0x0
  %4 = constant i32 0x5
  %5 = constant i32 0x10
  %6 = constant i32 0xfffffff8
  %7 = constant i32 0xffffffff
  %8 = shl i32 %1 %2
  %9 = )" + std::string(start) +
                             R"(
  %10 = add i32 %9 %5
  br b1
b1:
  %11 = phi i32 %10 %12
  %13 = phi i32 %4 %14
  %15 = phi i32 %3 %16
  %17 = add i32 %11 %6
  %18 = load i32 mem=shared,4 %17
  %19 = add i32 %15 %18
  %20 = load i32 mem=shared,4 %11
  %16 = sub i32 %20 %19
  %12 = add i32 %11 %5
  %14 = add i32 %13 %7
  %21 = ne i1 %14 %3
  cond_br %21 b2 b3
b2:
  br b1
b3:
  store mem=slot,4 %8 %16
  exit
)";
    Parsed before(text), after(text);
    passes::scale_addresses(after.f, after.m);
    passes::simplify(after.f, after.m);
    EXPECT_EQ(validate(after.f, after.m, true, false), "");
    EXPECT_EQ(outcome_of(after), outcome_of(before));
    for (const Block& block : after.f.blocks)
      for (const Value v : block.insts) {
        const Inst& inst = after.f.insts[v];
        if (inst.op != Op::load) continue;
        const Value address = after.f.arg(v, 0);
        EXPECT_EQ(after.f.insts[address].op, Op::shl) << "of words";
      }
  }
}

}  // namespace
