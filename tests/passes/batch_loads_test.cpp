// Loops whose iterations load ahead give the same, however many iterations there are.
#include <fmt/format.h>

#include "tests/passes/parsed.hpp"
#include "translator/passes/passes.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::ir;

/// A loop over words of global memory from $1 on, in steps of 12 bytes up to the end, a word of the
/// slot. `body` makes $0 of what it loads; `next` is a loop's end at %60, the next place.
std::string loop(const std::string& body, const std::string& next =
                                              "  %61 = ult i1 %60 %31\n"
                                              "  cond_br %61 b1 b2\n") {
  return R"(
  var $0 i32 sum
  var $1 i64 place
  var $2 i64 end
  var $3 i32 other
b0:
  %1 = constant i32 0x0
  %2 = load i32 mem=slot,4 %1
  %3 = zext i64 %2
  set_var $0 %1
  set_var $3 %1
  %4 = zext i64 %1
  set_var $1 %4
  set_var $2 %3
  br b1
b1:
  %10 = get_var i64 $1
)" + body +
         R"(
  %30 = constant i64 0xc
  %31 = get_var i64 $2
  %60 = add i64 %10 %30
  set_var $1 %60
)" + next +
         R"(
b2:
  %70 = get_var i32 $0
  %71 = constant i32 0x4
  store mem=slot,4 %71 %70
  %72 = get_var i64 $1
  %73 = trunc i32 %72
  %74 = constant i32 0x8
  store mem=slot,4 %74 %73
  %75 = get_var i32 $3
  %76 = constant i32 0xc
  store mem=slot,4 %76 %75
  exit
)";
}

std::vector<std::uint8_t> results(const test::Parsed& p, std::uint32_t end) {
  Memory memory;
  for (std::uint32_t i = 0; i < 64; ++i) {
    test::put(memory, Space::global, 4 * i, i * i * 2654435761u);
    test::put(memory, Space::shared, 4 * i, i * 5);
  }
  test::put(memory, Space::slot, 0, end);
  test::put(memory, Space::slot, 12, 0);
  RunOptions options;
  options.trace = false;
  EXPECT_EQ(p.run(memory, options).error, "");
  auto all = memory.of(Space::slot);
  for (const Space space : {Space::global, Space::shared})
    all.insert(all.end(), memory.of(space).begin(), memory.of(space).end());
  return all;
}

void same(const std::string& text, std::size_t loads, std::size_t batched) {
  const test::Parsed before(text, test::Form::variables);
  test::Parsed after(text, test::Form::variables);
  EXPECT_EQ(passes::batch_loads(after.f), loads != batched) << text;
  after.expect_valid();
  const auto count = [](const test::Parsed& p) { return p.count(Op::load, Space::global); };
  EXPECT_EQ(count(before), loads) << text;
  EXPECT_EQ(count(after), batched) << text;
  for (std::uint32_t end = 0; end <= 12 * 14; end += 6)
    EXPECT_EQ(results(before, end), results(after, end)) << text << end;
}

const std::string kSum = R"(  %20 = load i32 mem=global,4 %10
  %21 = get_var i32 $0
  %22 = add i32 %21 %20
  set_var $0 %22
)";

TEST(BatchLoads, OfIterationsThatAreCertainToCome) {
  same(loop(kSum), 1, 5);
  // Until rather than while.
  same(loop(kSum, "  %61 = ule i1 %31 %60\n  cond_br %61 b2 b1\n"), 1, 5);
  // In shared memory they write what later ones of them read.
  same(loop(R"(  %20 = load i32 mem=global,4 %10
  %23 = constant i32 0x7c
  %24 = and_ i32 %20 %23
  %25 = atomic i32 mem=shared,4 %24 %20
  %26 = get_var i32 $3
  %27 = mul i32 %26 %20
  %28 = add i32 %27 %25
  set_var $3 %28
  %29 = load i32 mem=shared,4 %23
  set_var $0 %29
  store mem=shared,4 %23 %28
)"),
       1, 5);
  // A register is what the iteration before loaded.
  same(loop(R"(  %20 = load i32 mem=global,4 %10
  %21 = get_var i32 $0
  %22 = get_var i32 $3
  set_var $3 %20
  %23 = sub i32 %22 %21
  set_var $0 %23
)"),
       1, 5);
}

TEST(BatchLoads, LoadsWhoseAddressesWereLoadedStayInPlace) {
  same(loop(R"(  %20 = load i32 mem=global,4 %10
  %23 = constant i32 0xfc
  %24 = and_ i32 %20 %23
  %25 = zext i64 %24
  %26 = load i32 mem=global,4 %25
  %21 = get_var i32 $0
  %22 = add i32 %21 %26
  set_var $0 %22
)"),
       2, 10);
  same(loop(R"(  %19 = get_var i32 $0
  %23 = constant i32 0xfc
  %24 = and_ i32 %19 %23
  %25 = zext i64 %24
  %26 = load i32 mem=global,4 %25
  set_var $0 %26
)"),
       1, 1);
}

TEST(BatchLoads, ManyWaitTogetherAlready) {
  const auto of_words = [](int count) {
    std::string body = "  %20 = get_var i32 $0\n";
    for (int i = 0; i < count; ++i)
      body += fmt::format(
          "  %{0} = constant i64 {1:#x}\n  %{2} = add i64 %10 %{0}\n"
          "  %{3} = load i32 mem=global,4 %{2}\n  %{4} = xor_ i32 %{5} %{3}\n",
          80 + i, 4 * i, 84 + i, 88 + i, 92 + i, i ? 91 + i : 20);
    return loop(body + fmt::format("  set_var $0 %{}\n", 91 + count));
  };
  same(of_words(2), 2, 10);
  same(of_words(3), 3, 3);
}

TEST(BatchLoads, RestsOfUnrolledLoopsStay) {
  for (const unsigned most : {3u, 7u}) {
    std::string text = loop(R"(  %20 = load i32 mem=global,4 %10
  set_var $0 %20
  %21 = constant i32 0xffffffff
  %22 = get_var i32 $3
  %23 = add i32 %22 %21
  set_var $3 %23
)",
                            R"(  %61 = get_var i32 $3
  %62 = constant i32 0x0
  %63 = ne i1 %61 %62
  cond_br %63 b1 b2
)");
    // The slot's word is the number of iterations, at least one.
    const std::string start = "  set_var $3 %1\n";
    text.replace(text.find(start), start.size(),
                 fmt::format("  %5 = constant i32 {:#x}\n  %6 = and_ i32 %2 %5\n"
                             "  %7 = constant i32 0x1\n  %8 = umax i32 %6 %7\n"
                             "  %9 = and_ i32 %8 %5\n  set_var $3 %9\n",
                             most));
    same(text, 1, most == 3 ? 1 : 5);
  }
}

TEST(BatchLoads, WhatMayChangeTheMemoryOrTheEndPreventsIt) {
  same(loop(kSum + "  store mem=global,4 %10 %22\n"), 1, 1);
  same(loop("  %20 = load i32 mem=global,4,volatile %10\n  set_var $0 %20\n"), 1, 1);
  same(loop(kSum + "  memory_barrier\n"), 1, 1);
  same(loop(kSum, R"(  %61 = ult i1 %60 %31
  %62 = constant i32 0x80000000
  %63 = ult i1 %20 %62
  %64 = and_ i1 %61 %63
  cond_br %64 b1 b2
)"),
       1, 1);
}

}  // namespace
