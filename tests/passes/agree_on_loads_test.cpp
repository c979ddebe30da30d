// Loads that decide who comes to a barrier. The reference runs a thread up to the next barrier
// before it begins with the next one, so threads that store where all load differ in what they
// load.
#include <gtest/gtest.h>

#include <string>

#include "ptx2spv/translator.hpp"
#include "tests/passes/parsed.hpp"
#include "translator/passes/analysis/uniformity.hpp"
#include "translator/passes/cfg/demote_to_stack.hpp"
#include "translator/passes/threads/agree_on_loads.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::ir;

constexpr std::uint32_t kThreads = 64;

/// Each thread's result, from word 16 on. `first`: the word that all load, and what follows it.
std::vector<std::uint32_t> results(const Function& f, const Module& m, std::uint32_t first) {
  Memory memory;
  for (std::uint32_t i = 0; i < 16; ++i) test::put(memory, Space::slot, 4 * i, 0);
  for (std::uint32_t i = 0; i < 16; ++i) test::put(memory, Space::global, 4 * i, first + i);
  for (std::uint32_t i = 0; i < kThreads; ++i) test::put(memory, Space::slot, 64 + 4 * i, 0xdead);
  memory.of(Space::shared).resize(f.shared_bytes + 64);
  test::run_row(f, m, memory, kThreads);
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < kThreads; ++i)
    out.push_back(test::word(memory, Space::slot, 64 + 4 * i));
  return out;
}

/// %1 is the thread's number, %5 the place of its result, %6 zero, %9 an address.
constexpr const char* kStart = R"(b0:
  %1 = builtin i32 local_id_x
  %2 = constant i32 0x4
  %3 = mul i32 %1 %2
  %4 = constant i32 0x40
  %5 = add i32 %3 %4
  %6 = constant i32 0x0
  %9 = constant i64 0x100000000
)";

/// What all threads load decides whether they meet and store what they have loaded. `before` stands
/// in front of the load from %9, `behind` after it.
std::string early_end(const std::string& before, const std::string& behind) {
  return std::string("  var $0 i32 loaded\n") + kStart + before + R"(
  %7 = load i32 mem=global,4 %9
  set_var $0 %7
)" + behind +
         R"(
  %8 = get_var i32 $0
  %10 = eq i1 %8 %6
  cond_br %10 b1 b2
b1:
  exit
b2:
  control_barrier
  %12 = get_var i32 $0
  store mem=slot,4 %5 %12
  exit
)";
}

struct Agreed {
  test::Parsed p;
  std::vector<Value> loads;
  std::size_t barriers = 0;  ///< that there are more than before
  explicit Agreed(const std::string& text) : p(text, test::Form::variables) {
    EXPECT_TRUE(passes::barriers_diverge(p.f, p.m)) << text;
    loads = passes::loads_to_agree_on(p.f, p.m);
    const std::size_t before = p.count(Op::control_barrier);
    if (loads.empty()) return;
    passes::agree_on_loads(p.f, loads);
    p.expect_valid();
    barriers = p.count(Op::control_barrier) - before;
    passes::demote_to_stack(p.f);
    EXPECT_FALSE(passes::barriers_diverge(p.f, p.m)) << print(p.f, p.m);
  }
};

TEST(AgreeOnLoads, AllGetWhatTheFirstThreadLoads) {
  // Each thread raises the word behind its load: the next ones load more.
  const std::string raise =
      "  %20 = constant i32 0x1\n  %21 = add i32 %7 %20\n"
      "  store mem=global,4 %9 %21\n";
  const std::string text = early_end("", raise);
  for (const std::uint32_t first : {0u, 7u}) {
    const Agreed agreed(text);
    EXPECT_EQ(agreed.loads.size(), 1u);
    EXPECT_EQ(agreed.p.f.shared_bytes, 16u);
    const auto got = results(agreed.p.f, agreed.p.m, first);
    for (const std::uint32_t each : got) EXPECT_EQ(each, first ? first : 0xdead);
  }
}

TEST(AgreeOnLoads, AThreadsOwnStoreCameBefore) {
  const std::string store =
      "  %20 = constant i32 0x25\n  %21 = eq i1 %1 %20\n  cond_br %21 b3 b4\n"
      "b3:\n  store mem=global,4 %9 %20\n  br b4\nb4:\n";
  const Agreed agreed(early_end(store, ""));
  ASSERT_EQ(agreed.loads.size(), 1u);
  EXPECT_EQ(agreed.barriers, 2u);
  EXPECT_EQ(results(agreed.p.f, agreed.p.m, 0), std::vector<std::uint32_t>(kThreads, 0x25));
  EXPECT_EQ(Agreed(early_end("", "")).barriers, 1u) << "nothing has been stored";
}

TEST(AgreeOnLoads, ThoseSideBySideTogether) {
  const std::string second =
      "  %30 = constant i64 0x4\n  %31 = add i64 %9 %30\n  %32 = load i64 mem=global,8 %31\n"
      "  %33 = trunc i32 %32\n  %34 = high i32 %32\n  %35 = get_var i32 $0\n"
      "  %36 = ult i1 %35 %33\n  %37 = zext i32 %36\n  %38 = mul i32 %37 %34\n"
      "  set_var $0 %38\n";
  const Agreed agreed(early_end("", second));
  EXPECT_EQ(agreed.loads.size(), 2u);
  EXPECT_EQ(agreed.barriers, 1u);
  EXPECT_EQ(agreed.p.f.shared_bytes, 32u);
  EXPECT_EQ(results(agreed.p.f, agreed.p.m, 5), std::vector<std::uint32_t>(kThreads, 7));
  // The second address is what the first load gives.
  const Agreed chain(early_end("",
                               "  %30 = constant i32 0xc\n  %31 = and_ i32 %7 %30\n"
                               "  %32 = zext i64 %31\n  %33 = add i64 %9 %32\n"
                               "  %34 = load i32 mem=global,4 %33\n  set_var $0 %34\n"));
  EXPECT_EQ(chain.loads.size(), 2u);
  EXPECT_EQ(chain.barriers, 3u);
  EXPECT_EQ(results(chain.p.f, chain.p.m, 9), std::vector<std::uint32_t>(kThreads, 11));
}

TEST(AgreeOnLoads, OnlyThoseThatBarriersNeed) {
  const Agreed agreed(
      early_end("  %20 = constant i64 0x10000000c\n  %21 = load i32 mem=global,4 %20\n"
                "  %22 = eq i1 %21 %6\n  cond_br %22 b3 b4\nb3:\n  store mem=slot,4 %5 %6\n"
                "  br b4\nb4:\n",
                ""));
  ASSERT_EQ(agreed.loads.size(), 1u);
  EXPECT_EQ(agreed.loads[0], 7u);
}

TEST(AgreeOnLoads, InLoopsEachTime) {
  // Adds words until one is at least 3.
  const std::string text = std::string("  var $0 i32 sum\n  var $1 i64 at\n") + kStart + R"(
  set_var $0 %6
  set_var $1 %9
  br b1
b1:
  %10 = get_var i64 $1
  %11 = load i32 mem=global,4 %10
  %12 = get_var i32 $0
  %13 = add i32 %12 %11
  set_var $0 %13
  %14 = constant i64 0x4
  %15 = add i64 %10 %14
  set_var $1 %15
  control_barrier
  %16 = constant i32 0x3
  %17 = ult i1 %11 %16
  cond_br %17 b1 b2
b2:
  %18 = get_var i32 $0
  store mem=slot,4 %5 %18
  exit
)";
  const Agreed agreed(text);
  EXPECT_EQ(agreed.loads.size(), 1u);
  EXPECT_EQ(agreed.barriers, 2u);
  EXPECT_EQ(results(agreed.p.f, agreed.p.m, 0), std::vector<std::uint32_t>(kThreads, 6));
}

TEST(AgreeOnLoads, NotWhereThreadsDifferAnyway) {
  const auto none = [](std::string before, std::string behind = "") {
    return Agreed(early_end(before, behind)).loads.empty();
  };
  // Addresses of their own, threads that are not there, a condition of their own besides.
  std::string own = early_end("", "");
  own.replace(own.find("mem=global,4 %9"), 15, "mem=slot,4 %3");
  EXPECT_TRUE(Agreed(own).loads.empty());
  EXPECT_TRUE(
      none("  %20 = zext i64 %3\n  %21 = add i64 %9 %20\n  %22 = load i32 mem=global,4 %21\n"
           "  %23 = eq i1 %22 %6\n  cond_br %23 b3 b4\nb3:\n  exit\nb4:\n"));
  EXPECT_TRUE(none("  %20 = ult i1 %1 %2\n  cond_br %20 b3 b4\nb3:\n  exit\nb4:\n"));
  EXPECT_TRUE(none("", "  %20 = add i32 %7 %1\n  set_var $0 %20\n"));
  std::string strong = early_end("", "");
  strong.replace(strong.find("global,4 %9"), 11, "global,4,volatile %9");
  EXPECT_TRUE(Agreed(strong).loads.empty());
}

/// Blocks whose range of words is empty end at once; others add it up.
constexpr const char* kSegments = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 ends, .param .u64 out) {
  .reg .pred %p, %q; .reg .b32 %i, %b, %t, %e, %v; .reg .b64 %a, %o, %x;
  .shared .b32 sum;
  ld.param.u64 %a, [ends]; ld.param.u64 %o, [out];
  mov.u32 %b, %ctaid.x; mov.u32 %t, %tid.x;
  mul.wide.u32 %x, %b, 4; add.u64 %a, %a, %x; add.u64 %o, %o, %x;
  ld.global.u32 %i, [%a]; ld.global.u32 %e, [%a+4];
  setp.eq.u32 %p, %i, %e; @%p bra END;
  setp.ne.u32 %q, %t, 0; @%q bra MEET; st.shared.u32 [sum], %i;
MEET: bar.sync 0;
  ld.shared.u32 %v, [sum]; @%q bra END; st.global.u32 [%o], %v;
END: ret;
}
)";

TEST(AgreeOnLoads, BarriersAreTheDevicesThen) {
  std::vector<Message> messages;
  const auto module = PtxModule::parse({{kSegments, "k.ptx"}}, messages);
  ASSERT_TRUE(module) << messages[0].text;
  const auto model = [&](auto&& change) {
    TranslateOptions options;
    options.profile = *find_profile("nvidia");
    change(options);
    const auto kernel = module->translate_kernel(options, messages);
    EXPECT_TRUE(kernel);
    EXPECT_FALSE(kernel->entry.sync.divergent_barriers);
    return kernel->entry.threads;
  };
  EXPECT_EQ(model([](TranslateOptions&) {}), ThreadModel::direct);
  EXPECT_EQ(model([](TranslateOptions& o) { o.shared_in_memory = true; }), ThreadModel::regions);
  EXPECT_EQ(model([](TranslateOptions& o) { o.checks = check_race; }), ThreadModel::regions)
      << "the sanitizer tells accesses apart by barriers";
  EXPECT_EQ(model([](TranslateOptions& o) { o.threads = ThreadModel::flat; }),
            ThreadModel::regions);
}

}  // namespace
