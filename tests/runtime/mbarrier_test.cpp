// Threads of a block that wait for one another at mbarrier objects, in blocks of every size: each
// thread in an invocation of its own, several in one, warps that take different ways.
#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

constexpr const char* kModule = R"(.extern .shared .align 16 .b8 dynamic[];

// The first thread fills a cell each round, the others add it up: one object says that it is full,
// another that it is empty.
.visible .entry queue(.param .u64 out, .param .u32 rounds)
{
  .shared .align 8 .b64 full, empty; .shared .align 4 .b32 cell;
  .reg .u64 %o, %s; .reg .u32 %t, %n, %rounds, %i, %x, %sum, %takers, %parity, %at;
  .reg .pred %p, %done;
  ld.param.u64 %o, [out];
  ld.param.u32 %rounds, [rounds];
  mov.u32 %t, %tid.x;
  mov.u32 %n, %ntid.x;
  sub.u32 %takers, %n, 1;
  setp.ne.u32 %p, %t, 0;
  @%p bra made;
  mbarrier.init.shared.b64 [full], 1;
  mbarrier.init.shared.b64 [empty], %takers;
made:
  barrier.sync 0;
  mov.u32 %i, 0;
  mov.u32 %sum, 0;
  setp.ne.u32 %p, %t, 0;
  @%p bra take;
fill:
  setp.eq.u32 %done, %i, 0;
  @%done bra store;
  sub.u32 %parity, %i, 1;
  and.b32 %parity, %parity, 1;
wait_empty:
  mbarrier.try_wait.parity.shared.b64 %done, [empty], %parity;
  @!%done bra wait_empty;
store:
  mad.lo.u32 %x, %i, 7, 3;
  st.shared.u32 [cell], %x;
  mbarrier.arrive.shared.b64 %s, [full];
  add.u32 %sum, %sum, %x;
  add.u32 %i, %i, 1;
  setp.lt.u32 %done, %i, %rounds;
  @%done bra fill;
  bra end;
take:
  and.b32 %parity, %i, 1;
wait_full:
  mbarrier.test_wait.parity.shared.b64 %done, [full], %parity;
  @!%done bra wait_full;
  ld.shared.u32 %x, [cell];
  mad.lo.u32 %sum, %x, %t, %sum;
  mbarrier.arrive.shared.b64 %s, [empty];
  add.u32 %i, %i, 1;
  setp.lt.u32 %done, %i, %rounds;
  @%done bra take;
end:
  mov.u32 %x, %ctaid.x;
  mad.lo.u32 %at, %x, %n, %t;
  mul.wide.u32 %s, %at, 4;
  add.u64 %o, %o, %s;
  st.global.u32 [%o], %sum;
  ret;
}

// Threads leave one after another: thread k after k + 1 phases.
.visible .entry leave(.param .u64 out, .param .u32 rounds)
{
  .reg .u64 %o, %s; .reg .u32 %t, %n, %i, %x, %a, %at; .reg .pred %p, %done;
  ld.param.u64 %o, [out];
  mov.u32 %t, %tid.x;
  mov.u32 %n, %ntid.x;
  mov.u32 %a, dynamic;
  setp.ne.u32 %p, %t, 0;
  @%p bra made;
  mbarrier.init.shared.b64 [%a], %n;
  st.shared.u32 [%a+8], 0;
made:
  bar.sync 0;
  mov.u32 %i, 0;
more:
  red.shared.add.u32 [%a+8], 1;
  setp.eq.u32 %p, %i, %t;
  @%p bra last;
  mbarrier.arrive.shared.b64 %s, [%a];
wait:
  mbarrier.try_wait.shared.b64 %done, [%a], %s;
  @!%done bra wait;
  add.u32 %i, %i, 1;
  bra more;
last:
  mbarrier.arrive_drop.shared.b64 _, [%a];
  barrier.sync 1;
  ld.shared.u32 %x, [%a+8];
  mov.u32 %i, %ctaid.x;
  mad.lo.u32 %at, %i, %n, %t;
  mul.wide.u32 %s, %at, 4;
  add.u64 %o, %o, %s;
  st.global.u32 [%o], %x;
  ret;
}

// Nobody arrives.
.visible .entry never(.param .u64 out, .param .u32 rounds)
{
  .shared .align 8 .b64 bar; .reg .u32 %t; .reg .pred %p, %done;
  mov.u32 %t, %tid.x;
  setp.ne.u32 %p, %t, 0;
  @%p bra made;
  mbarrier.init.shared.b64 [bar], 5;
made:
  bar.sync 0;
wait:
  mbarrier.try_wait.parity.shared.b64 %done, [bar], 0;
  @!%done bra wait;
  ret;
}
)";

constexpr std::uint32_t kBlocks = 3;

Result<LaunchTiming> launch(const char* kernel, std::uint32_t threads, std::uint32_t rounds,
                            std::vector<std::uint32_t>& out) {
  static Module module = must(Module::load(
      test_device(), std::string(".version 8.3\n.target sm_90\n.address_size 64\n") + kModule,
      "mbarrier.ptx"));
  Buffer to = must(Buffer::create(test_device(), std::uint64_t{kBlocks} * threads * 4));
  LaunchConfig config;
  config.block = {threads, 1, 1};
  config.grid = {kBlocks, 1, 1};
  config.dynamic_shared = 16;
  auto timing = must(module.kernel(kernel)).launch(config, Args().buffer(to).value(rounds));
  out = read_buffer<std::uint32_t>(to, std::size_t{kBlocks} * threads);
  return timing;
}

TEST(Mbarriers, FillAndEmpty) {
  for (const std::uint32_t threads : {2u, 32u, 100u, 256u, 700u}) {
    SCOPED_TRACE(threads);
    const std::uint32_t rounds = threads == 32 ? 300 : 9;
    std::vector<std::uint32_t> out;
    const auto timing = launch("queue", threads, rounds, out);
    ASSERT_TRUE(timing) << text_of(timing.error());
    std::uint32_t sum = 0;
    for (std::uint32_t i = 0; i < rounds; ++i) sum += i * 7 + 3;
    for (std::size_t k = 0; k < out.size(); ++k)
      ASSERT_EQ(out[k], k % threads ? sum * std::uint32_t(k % threads) : sum) << k;
  }
}

TEST(Mbarriers, ThreadsLeave) {
  for (const std::uint32_t threads : {1u, 33u, 64u, 300u}) {
    SCOPED_TRACE(threads);
    std::vector<std::uint32_t> out;
    const auto timing = launch("leave", threads, 0, out);
    ASSERT_TRUE(timing) << text_of(timing.error());
    for (const std::uint32_t each : out) ASSERT_EQ(each, threads * (threads + 1) / 2);
  }
}

// A wait without end is a report and no hang, in small and in large blocks.
TEST(Mbarriers, NobodyArrives) {
  if (test_device().info().profile.exactness.independent_threads)
    GTEST_SKIP() << "waits are not bounded where threads advance independently";
  for (const std::uint32_t threads : {4u, 600u}) {
    std::vector<std::uint32_t> out;
    const auto timing = launch("never", threads, 0, out);
    ASSERT_FALSE(timing);
    ASSERT_TRUE(timing.error().trap) << timing.error().text;
    const TrapReport& report = *timing.error().trap;
    EXPECT_TRUE(report.kind == abi::TrapKind::no_progress ||
                report.kind == abi::TrapKind::loop_limit);
    EXPECT_EQ(report.kernel, "never");
  }
}

}  // namespace
}  // namespace ptx2spv
