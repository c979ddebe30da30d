// What threads carry out of a loop that they leave in different iterations.
#include "src/probe/loops.hpp"
#include "tests/runtime/fixture.hpp"

namespace ptx2spv {
namespace {

namespace loops = runtime::loops;

constexpr std::uint32_t kThreads = 64;
// The table of these kernels has no zeros before it.
const std::string kNoZeros = "sub.u64 %d0, %d0, 16;\n";

std::vector<std::uint32_t> table() {
  std::vector<std::uint32_t> words(256);
  std::uint32_t state = 12345;
  for (std::uint32_t& word : words) {
    state = state * 1664525u + 1013904223u;
    word = state >> 8;
  }
  words[250] = 3;  // where every search ends
  return words;
}

/// What loops::kSearch gives for each thread.
std::vector<std::uint32_t> searched(const std::vector<std::uint32_t>& words,
                                    std::uint32_t threads) {
  std::vector<std::uint32_t> want;
  for (std::uint32_t t = 0; t < threads; ++t) {
    std::uint32_t i = t;
    while ((words[i] & 7) != 3) ++i;
    want.insert(want.end(), {words[i], words[i] ^ 0x5555, i});
  }
  return want;
}

/// What loops::two_levels gives for each thread. `inner`, where it is not null, gets how often each
/// thread was in the inner loop.
std::vector<std::uint32_t> left_at_once(const std::vector<std::uint32_t>& words,
                                        std::uint32_t threads,
                                        std::vector<std::uint32_t>* inner = nullptr) {
  std::vector<std::uint32_t> want;
  for (std::uint32_t t = 0; t < threads; ++t) {
    std::uint32_t sum = 0, last = 0, first = 0, count = 0;
    bool found = false;
    for (std::uint32_t k = 0; k < 10 && !found; ++k) {
      first = words[16 * k + t];
      for (std::uint32_t i = 0; i < 6 && !found; ++i, ++count) {
        last = words[16 * k + t + i];
        found = (last & 31) == k;
      }
      if (!found) sum += first + last;
    }
    want.insert(want.end(), {last, sum + first});
    if (inner) inner->push_back(count);
  }
  return want;
}

std::vector<std::uint32_t> run(const std::string& body, std::uint32_t words_each) {
  Module module = load(
      ".visible .entry k(.param .u64 table, .param .u64 to) {\n"
      "  .reg .pred %p<6>;\n  .reg .b32 %r<20>;\n  .reg .b64 %d<10>;\n"
      "  ld.param.u64 %d0, [table];\n  ld.param.u64 %d1, [to];\n  mov.u32 %r0, %tid.x;\n"
      "  mul.wide.u32 %d2, %r0, " +
      std::to_string(4 * words_each) + ";\n  add.u64 %d1, %d1, %d2;\n" + body + "  ret;\n}\n");
  Buffer from = must(Buffer::create(test_device(), 1024));
  Buffer to = must(Buffer::create(test_device(), 4 * kThreads * words_each));
  must(from.upload(0, bytes_of(table())));
  must(to.upload(0, bytes_of(std::vector<std::uint32_t>(kThreads * words_each))));
  LaunchConfig config;
  config.block = {kThreads, 1, 1};
  must(must(module.kernel("k")).launch(config, Args().buffer(from).buffer(to)));
  return read_buffer<std::uint32_t>(to, kThreads * words_each);
}

// A search: the value that ended it, something made of it, and the iteration.
TEST(Loops, ValuesLoadedInTheLastIterationOutliveTheLoop) {
  const auto got = run(kNoZeros + std::string(loops::kSearch), 3);
  EXPECT_EQ(got, searched(table(), kThreads));
}

// The partition of a quicksort: two scans in a loop, whose loads are stored crosswise behind them;
// local memory.
TEST(Loops, NestedScansOverLocalMemory) {
  const auto got = run(R"(
  .local .align 4 .b8 own[64];
  mov.u64 %d5, own;
  mov.u32 %r1, 0;
fill:
  add.u32 %r2, %r0, %r1;
  mul.wide.u32 %d3, %r2, 4;
  add.u64 %d4, %d0, %d3;
  ld.global.u32 %r3, [%d4];
  mul.wide.u32 %d3, %r1, 4;
  add.u64 %d4, %d5, %d3;
  st.local.u32 [%d4], %r3;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p0, %r1, 16;
  @%p0 bra fill;
  ld.local.u32 %r4, [own+28];
  mov.u32 %r5, 0;
  mov.u32 %r6, 15;
again:
up:
  mul.wide.s32 %d3, %r5, 4;
  add.u64 %d6, %d5, %d3;
  ld.local.u32 %r7, [%d6];
  setp.lt.u32 %p1, %r7, %r4;
  add.u32 %r9, %r5, 1;
  @!%p1 bra down;
  mov.u32 %r5, %r9;
  bra up;
down:
  mul.wide.s32 %d3, %r6, 4;
  add.u64 %d7, %d5, %d3;
  ld.local.u32 %r8, [%d7];
  setp.gt.u32 %p2, %r8, %r4;
  add.s32 %r10, %r6, -1;
  @!%p2 bra meet;
  mov.u32 %r6, %r10;
  bra down;
meet:
  setp.gt.s32 %p3, %r5, %r6;
  @%p3 bra next;
  st.local.u32 [%d6], %r8;
  st.local.u32 [%d7], %r7;
  mov.u32 %r5, %r9;
  mov.u32 %r6, %r10;
next:
  setp.le.s32 %p4, %r5, %r6;
  @%p4 bra again;
  mov.u32 %r1, 0;
copy:
  mul.wide.u32 %d3, %r1, 4;
  add.u64 %d4, %d5, %d3;
  ld.local.u32 %r3, [%d4];
  add.u64 %d4, %d1, %d3;
  st.global.u32 [%d4], %r3;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p0, %r1, 16;
  @%p0 bra copy;
)",
                       16);
  const auto words = table();
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    std::vector<std::uint32_t> own(words.begin() + t, words.begin() + t + 16);
    const std::uint32_t pivot = own[7];
    int i = 0, j = 15;
    do {
      while (own[i] < pivot) ++i;
      while (own[j] > pivot) --j;
      if (i <= j) std::swap(own[i++], own[j--]);
    } while (i <= j);
    EXPECT_EQ(std::vector<std::uint32_t>(got.begin() + 16 * t, got.begin() + 16 * (t + 1)), own)
        << t;
  }
}

// Two levels are left at once, with what the inner loop has loaded; an atomic's result leaves too.
TEST(Loops, ValuesLeaveSeveralLoopsAtOnce) {
  const auto got = run(kNoZeros + loops::two_levels("atom.global.add.u32 %r7, [%d1+12], 5;") +
                           "st.global.u32 [%d1+8], %r7;\n",
                       4);
  std::vector<std::uint32_t> inner;
  const auto want = left_at_once(table(), kThreads, &inner);
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    EXPECT_EQ(got[4 * t], want[2 * t]) << t;
    EXPECT_EQ(got[4 * t + 1], want[2 * t + 1]) << t;
    EXPECT_EQ(got[4 * t + 2], 5 * inner[t] - 5) << t;
    EXPECT_EQ(got[4 * t + 3], 5 * inner[t]) << t;
  }
}

// A kernel that holds a stream up reads a clock until a second is over. Drivers that end long loops
// let it.
TEST(Loops, WaitsOfASecondByAClockEnd) {
  for (const char* clock : {"%clock64", "%globaltimer"}) {
    const std::string read = std::string("  mov.u64 %d3, ") + clock + ";\n";
    const auto got = run(read + "  mov.u64 %d4, %d3;\nagain:\n" + read +
                             "  sub.u64 %d5, %d3, %d4;\n"
                             "  setp.lt.u64 %p0, %d5, 1000000000;\n"
                             "  @%p0 bra again;\n"
                             "  shr.u64 %d5, %d5, 29;\n  cvt.u32.u64 %r1, %d5;\n"
                             "  st.global.u32 [%d1], %r1;\n",
                         1);
    for (const std::uint32_t each : got) EXPECT_EQ(each, 1u) << clock;
  }
}

// More loops in sequence than some compilers take without help. Threads leave each of them in
// another iteration.
TEST(Loops, ManyInSequenceKeepTheirResults) {
  constexpr std::uint32_t kLoops = 40;
  std::string body = "  and.b32 %r1, %r0, 7;\n  mov.u32 %r2, %r0;\n";
  for (std::uint32_t i = 0; i < kLoops; ++i) {
    const std::string name = "again" + std::to_string(i);
    body += "  mov.u32 %r3, 0;\n" + name + ":\n  mad.lo.u32 %r2, %r2, " +
            std::to_string(2 * i + 3) + ", %r3;\n  add.u32 %r3, %r3, 1;\n" +
            "  setp.le.u32 %p0, %r3, %r1;\n  @%p0 bra " + name + ";\n";
  }
  const auto got = run(body + "  st.global.u32 [%d1], %r2;\n", 1);
  std::vector<std::uint32_t> want;
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    std::uint32_t value = t;
    for (std::uint32_t i = 0; i < kLoops; ++i)
      for (std::uint32_t k = 0; k <= (t & 7); ++k) value = value * (2 * i + 3) + k;
    want.push_back(value);
  }
  EXPECT_EQ(got, want);
}

}  // namespace
}  // namespace ptx2spv
