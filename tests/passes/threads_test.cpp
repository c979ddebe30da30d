// Which invocation is which thread, and what a workgroup shares.
#include "ptx2spv/abi.hpp"
#include "tests/passes/parsed.hpp"
#include "translator/passes/cfg/demote_to_stack.hpp"
#include "translator/passes/legalise/move_shared_memory.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/traps/lower_traps.hpp"

namespace ptx2spv {
namespace {

using namespace ir;
using namespace test;

void push(Memory& memory, abi::Push which, std::uint32_t value) {
  put(memory, Space::push, 4u * which, value);
}

// Stores 1 at word ctaid.x * 8 + tid.x.
constexpr const char* kNumbers = R"(
b0:
  %1 = builtin i32 workgroup_id_x
  %2 = builtin i32 local_id_x
  %3 = constant i32 0x20
  %4 = constant i32 0x4
  %5 = mul i32 %1 %3
  %6 = mul i32 %2 %4
  %7 = add i32 %5 %6
  %8 = zext i64 %7
  %9 = constant i64 0x100000000
  %10 = add i64 %9 %8
  %11 = constant i32 0x1
  store mem=global,4 %10 %11
  exit
)";

TEST(ApplyThreadModel, direct_workgroups_are_counted_from_the_base) {
  for (const bool whole_grid : {false, true}) {
    Parsed p(kNumbers, Form::variables);
    passes::apply_thread_model(p.f, ThreadModel::direct, whole_grid);
    p.expect_valid();
    Memory memory;
    memory.of(Space::global).resize(256);
    push(memory, abi::base_x, 3);
    RunOptions options;
    options.workgroup[0] = 2;
    options.workgroups[0] = 4;
    EXPECT_EQ(p.run(memory, options).error, "");
    EXPECT_EQ(word(memory, Space::global, 4 * (whole_grid ? 16 : 40)), 1u);
  }
}

TEST(ApplyThreadModel, flat_threads_are_numbered_through_the_grid_and_those_beyond_it_end) {
  Parsed p(kNumbers, Form::variables);
  passes::apply_thread_model(p.f, ThreadModel::flat, false);
  p.expect_valid();
  Memory memory;
  memory.of(Space::global).resize(256);
  push(memory, abi::block_x, 2);
  push(memory, abi::block_y, 1);
  push(memory, abi::block_z, 1);
  push(memory, abi::grid_x, 8);
  push(memory, abi::grid_y, 1);
  push(memory, abi::grid_z, 1);
  push(memory, abi::threads, 3);
  RunOptions options;
  options.threads[0] = 4;
  const Outcome outcome = p.run(memory, options);
  EXPECT_EQ(outcome.error, "");
  std::vector<std::uint64_t> stores;
  for (const Event& event : outcome.trace) stores.push_back(event.address - Memory::kGlobalBase);
  EXPECT_EQ(stores, (std::vector<std::uint64_t>{0, 4, 32}));
}

TEST(DemoteToStack, no_block_uses_the_value_of_another) {
  constexpr const char* kText = R"(
b0:
  %1 = constant i32 0x0
  %2 = load i32 mem=param,4,readonly %1
  %3 = constant i64 0x100000000
  %4 = eq i1 %2 %1
  %5 = add i32 %2 %2
  cond_br %4 b1 b2
b1:
  store mem=global,4 %3 %2
  br b2
b2:
  store mem=global,4 %3 %5
  exit
)";
  const Parsed before(kText, Form::variables);
  Parsed p(kText, Form::variables);
  passes::demote_to_stack(p.f);
  p.expect_valid();
  std::vector<BlockId> home(p.f.insts.size());
  for (BlockId b = 0; b < p.f.blocks.size(); ++b)
    for (const Value v : p.f.blocks[b].insts) home[v] = b;
  EXPECT_FALSE(p.any([&](Value v, BlockId b) {
    bool other = false;
    for (const Value a : p.f.args(v)) other = other || home[a] != b;
    return other;
  })) << print(p.f, p.m);
  for (const std::uint32_t param : {0u, 7u}) {
    Memory memory;
    put(memory, Space::param, 0, param);
    EXPECT_EQ(p.run(memory).trace, before.run(memory).trace);
  }
}

TEST(MoveSharedMemory, each_workgroup_has_its_part_of_the_slab) {
  Parsed p(R"(func @k local=0 shared=20 {
b0:
  %1 = constant i32 0x8
  %2 = load i32 mem=shared,4 %1
  %3 = constant i32 0x1
  %4 = add i32 %2 %3
  store mem=shared,4 %1 %4
  %5 = atomic i32 mem=shared,4 %1 %3
  exit
}
)",
           Form::variables);
  passes::move_shared_memory(p.f);
  p.expect_valid();
  for (const Op op : {Op::load, Op::store, Op::atomic}) EXPECT_EQ(p.count(op, Space::shared), 0u);
  EXPECT_EQ(p.f.shared_bytes, 0u);
  Memory memory;
  memory.of(Space::global).resize(256);
  push(memory, abi::shared_slab, 64);
  put(memory, Space::push, 4u * abi::shared_slab + 4, 1);
  RunOptions options;
  options.workgroup[0] = 2;
  options.workgroups[0] = 3;
  EXPECT_EQ(p.run(memory, options).error, "");
  EXPECT_EQ(word(memory, Space::global, 64 + 2 * 32 + 8), 2u);
}

// A word, a byte, a half, a pair of words and four of them, all at places that the thread's number
// gives, and what is read there again.
constexpr const char* kOwn = R"(func @k local=100 shared=0 {
b0:
  %1 = builtin i32 local_index
  %2 = constant i32 0x10
  %3 = constant i32 0x1
  %4 = and_ i32 %1 %3
  %5 = mul i32 %4 %2
  %6 = constant i32 0x20
  %7 = add i32 %5 %6
  %8 = add i32 %7 %2
  %9 = add i32 %8 %4
  %10 = constant i32 0x2
  %11 = add i32 %7 %10
  %12 = constant i32 0x11223344
  %13 = add i32 %12 %1
  %14 = pack i64 %13 %1
  %15 = compose v4 %1 %13 %4 %12
  store mem=local,16 %7 %15
  store mem=local,8 %8 %14
  store mem=local,1 %9 %1
  store mem=local,2 %11 %13
  %20 = load v4 mem=local,16 %7
  %21 = load i64 mem=local,8 %8
  %22 = load i32 mem=local,1 %9
  %23 = load i32 mem=local,2 %11
  %24 = constant i32 0x5c
  store mem=local,4 %24 %13
  %25 = load i32 mem=local,4 %24
  %30 = extract i32 %20
  %31 = extract i32 imm=1 %20
  %32 = extract i32 imm=2 %20
  %33 = extract i32 imm=3 %20
  %34 = trunc i32 %21
  %35 = high i32 %21
  %40 = constant i32 0x40
  %41 = mul i32 %1 %40
  %42 = zext i64 %41
  %43 = constant i64 0x100000000
  %44 = add i64 %43 %42
  %45 = compose v4 %30 %31 %32 %33
  store mem=global,16 %44 %45
  %46 = compose v4 %34 %35 %22 %23
  %47 = constant i64 0x10
  %48 = add i64 %44 %47
  store mem=global,16 %48 %46
  %49 = add i64 %48 %47
  store mem=global,4 %49 %25
  exit
}
)";

TEST(MoveLocalMemory, each_invocation_has_its_words_among_those_of_its_warp) {
  constexpr std::uint32_t kThreads = 40, kResults = 0x40 * kThreads;
  // The third workgroup of three, of two warps each, before the slab.
  constexpr std::uint32_t kBytes = 112, kWorkgroup = 64 * kBytes, kSlab = kResults + 3 * kWorkgroup;
  std::vector<std::uint8_t> results[3];
  for (const int narrow : {-1, 0, 1}) {
    Parsed p(kOwn);
    if (narrow >= 0) {
      Features features;
      features.storage8 = features.storage16 = narrow;
      EXPECT_EQ(passes::move_local_memory(p.f, features), kBytes);
      p.expect_valid();
      for (const Op op : {Op::load, Op::store}) EXPECT_EQ(p.count(op, Space::local), 0u);
      EXPECT_EQ(p.f.local_bytes, 0u);
    }
    Memory memory;
    memory.of(Space::global).resize(kSlab);
    push(memory, abi::shared_slab, kSlab);
    put(memory, Space::push, 4u * abi::shared_slab + 4, 1);
    RunOptions options;
    options.threads[0] = 5, options.threads[1] = 8;
    options.workgroup[1] = 2;
    options.workgroups[1] = 3;
    EXPECT_EQ(p.run(memory, options).error, "");
    if (narrow >= 0)
      for (std::uint32_t t = 0; t < kThreads; ++t) {
        const std::uint32_t at = kResults + t / 32 * 32 * kBytes + 0x5c / 4 * 128 + t % 32 * 4;
        EXPECT_EQ(word(memory, Space::global, at), 0x11223344 + t) << t;
      }
    const auto& all = memory.of(Space::global);
    results[narrow + 1].assign(all.begin(), all.begin() + kResults);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(RelaxBarrierScope, only_barriers_behind_writes_outside_the_workgroup_order_all_memory) {
  Parsed p(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i64 0x100000000
  store mem=shared,4 %1 %1
  control_barrier
  store mem=global,4 %2 %1
  control_barrier
  exit
)");
  EXPECT_TRUE(passes::relax_barrier_scope(p.f, p.m));
  std::vector<std::uint64_t> scopes;
  for (const Value v : p.f.blocks[0].insts)
    if (p.f.insts[v].op == Op::control_barrier) scopes.push_back(p.f.insts[v].imm);
  EXPECT_EQ(scopes, (std::vector<std::uint64_t>{1, 0}));
}

TEST(RelaxBarrierScope, what_others_wrote_is_ordered_too) {
  for (const char* waits : {"%3 = load i32 mem=global,4,volatile %2", "memory_barrier"}) {
    Parsed p(fmt::format(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i64 0x100000000
  {}
  control_barrier
  %4 = load i32 mem=global,4 %2
  store mem=shared,4 %1 %4
  exit
)",
                         waits));
    EXPECT_FALSE(passes::relax_barrier_scope(p.f, p.m)) << waits;
  }
}

TEST(RelaxBarrierScope, a_write_at_a_loops_end_reaches_the_barrier_at_its_beginning) {
  Parsed p(R"(
b0:
  %1 = constant i32 0x0
  %2 = constant i64 0x100000000
  br b1
b1:
  control_barrier
  %3 = load i32 mem=param,4,readonly %1
  store mem=global,4 %2 %1
  %4 = eq i1 %3 %1
  cond_br %4 b1 b2
b2:
  exit
)");
  EXPECT_FALSE(passes::relax_barrier_scope(p.f, p.m));
}

}  // namespace
}  // namespace ptx2spv
