// Questions about threads and memory: who waits for whom, and in which order accesses are seen.
#include <fmt/format.h>

#include <set>

#include "src/probe/questions.hpp"

namespace ptx2spv::runtime {

namespace {

// Two threads that hand a number to each other in turn: neither gets on while the other stands. The
// partner of thread 0 is in another warp of its block.
constexpr std::string_view kTurns = R"(
ld.param.u64 %d3, [from];
add.u64 %d3, %d3, 64;
setp.eq.u32 %p1, %r0, 0;
setp.eq.u32 %p2, %r0, %r1;
mov.u32 %r8, 0;
mov.u32 %r9, 0;
@%p1 bra first;
@%p2 bra second;
bra done;
first:
add.u32 %r8, %r8, 1;
st.volatile.global.u32 [%d3], %r8;
wait_first:
ld.volatile.global.u32 %r10, [%d3+64];
add.u32 %r9, %r9, 1;
setp.ge.u32 %p3, %r9, 20000;
@%p3 bra done;
setp.lt.u32 %p4, %r10, %r8;
@%p4 bra wait_first;
setp.lt.u32 %p5, %r8, 4;
@%p5 bra first;
bra done;
second:
add.u32 %r8, %r8, 1;
wait_second:
ld.volatile.global.u32 %r10, [%d3];
add.u32 %r9, %r9, 1;
setp.ge.u32 %p3, %r9, 20000;
@%p3 bra done;
setp.lt.u32 %p4, %r10, %r8;
@%p4 bra wait_second;
st.volatile.global.u32 [%d3+64], %r8;
setp.lt.u32 %p5, %r8, 4;
@%p5 bra second;
done:
setp.ge.u32 %p6, %r9, 20000;
selp.u32 %r8, 0, %r8, %p6;
st.global.u32 [%d1], %r8;
)";

Answer independent_threads(Asker& asker) {
  Profile profile = asker.profile();
  profile.exactness.independent_threads = true;
  constexpr std::uint32_t kPartner = 33;
  const Words in(64, kPartner);
  const auto outcome = asker.run(profile, {kTurns, 1, 1, "", 128}, 1, 64, in);
  if (!outcome.error.empty()) return {0, outcome.error};
  const bool met = outcome.words[0] == 4 && outcome.words[kPartner] == 4;
  return {met, met ? "threads of two warps wait for each other"
                   : "threads of two warps do not wait for each other"};
}

constexpr std::string_view kSums = R"(
ld.param.u64 %d3, [to];
mov.u32 %r9, 0;
again:
add.u32 %r10, %r0, 0x80000001;
mov.b64 %d5, {%r10, %r9};
atom.global.add.u64 %d6, [%d3], %d5;
add.u32 %r9, %r9, 1;
setp.lt.u32 %p1, %r9, 4;
@%p1 bra again;
st.global.u64 [%d1+8], %d6;
)";

/// Whether sums of 64 bits, which all threads add to one cell, are right, and what each thread sees
/// there is a sum that was.
std::string sums_go_wrong(Asker& asker, const Profile& profile) {
  constexpr std::uint32_t kBlocks = 1, kThreads = 64, kWords = 4;
  const auto outcome = asker.run(profile, {kSums, 0, kWords}, kBlocks, kThreads, {});
  if (!outcome.error.empty()) return outcome.error;
  std::uint64_t sum = 0;
  for (std::uint32_t t = 0; t < kBlocks * kThreads; ++t)
    for (std::uint64_t i = 0; i < 4; ++i) sum += (i << 32) + (t + 0x80000001u);
  const std::span words(outcome.words);
  const Words want = {static_cast<std::uint32_t>(sum), static_cast<std::uint32_t>(sum >> 32)};
  if (std::string text = differences(want, words.first(2)); !text.empty()) return text;
  std::set<std::uint64_t> seen;
  for (std::size_t t = 0; t < kBlocks * kThreads; ++t)
    seen.insert(words[kWords * t + 2] | std::uint64_t{words[kWords * t + 3]} << 32);
  // Every sum is larger than the one before.
  if (seen.size() == kBlocks * kThreads && *seen.rbegin() < sum) return {};
  return fmt::format("{} threads saw {} sums", kBlocks * kThreads, seen.size());
}

Answer locks_without_barriers(Asker& asker) {
  Profile profile = asker.profile();
  profile.features.buffer_atomics64 = false;
  profile.workarounds.locks_without_barriers = false;
  // Where the fault shows, waits for a lock are long: a driver that ends them shows it as well. One
  // block, which one core runs, does not wait for what the system holds up.
  profile.max_loop_iterations = 0;
  const std::string wrong = sums_go_wrong(asker, profile);
  return {!wrong.empty(), wrong.empty() ? "locks with barriers give right sums" : wrong};
}

// What the threads of a warp exchange, behind a loop that they leave one after the other.
constexpr std::string_view kExchanges = R"(
mov.u32 %r8, %tid.x;
and.b32 %r9, %r8, 31;
mul.lo.u32 %r10, %r0, 77;
mov.u32 %r11, 0;
again:
add.u32 %r11, %r11, 1;
setp.lt.u32 %p1, %r11, %r1;
@%p1 bra again;
add.u32 %r10, %r10, %r11;
shfl.sync.up.b32 %r12|%p2, %r10, 3, 0, 0xffffffff;
st.global.u32 [%d1], %r12;
shfl.sync.down.b32 %r12, %r10, 5, 31, 0xffffffff;
st.global.u32 [%d1+4], %r12;
shfl.sync.bfly.b32 %r12, %r10, 9, 31, 0xffffffff;
st.global.u32 [%d1+8], %r12;
shfl.sync.idx.b32 %r12, %r10, %r11, 31, 0xffffffff;
st.global.u32 [%d1+12], %r12;
and.b32 %r13, %r11, 1;
setp.ne.u32 %p3, %r13, 0;
vote.sync.ballot.b32 %r12, %p3, 0xffffffff;
st.global.u32 [%d1+16], %r12;
match.any.sync.b32 %r12, %r11, 0xffffffff;
st.global.u32 [%d1+20], %r12;
redux.sync.add.u32 %r12, %r10, 0xffffffff;
st.global.u32 [%d1+24], %r12;
activemask.b32 %r12;
st.global.u32 [%d1+28], %r12;
)";

/// What every thread has: how often it stays in the loops.
Words turns(std::uint32_t threads) {
  Words in;
  for (std::uint32_t t = 0; t < threads; ++t) in.push_back(1 + t * 7 % 13);
  return in;
}

// Parts of a warp that exchange by themselves: threads of equal input in a loop that they leave at
// different times, then odd and even lanes in the two sides of a branch. Some threads have ended
// by then.
constexpr std::string_view kApart = R"(
mov.u32 %r8, %tid.x;
and.b32 %r9, %r8, 1;
setp.ne.u32 %p2, %r9, 0;
mul.lo.u32 %r10, %r0, 77;
match.any.sync.b32 %r13, %r1, 0xffffffff;
setp.le.u32 %p4, %r1, 10;
vote.sync.ballot.b32 %r14, %p4, 0xffffffff;
mov.u32 %r11, 0;
again:
add.u32 %r11, %r11, 1;
add.u32 %r10, %r10, %r11;
redux.sync.add.u32 %r10, %r10, %r13;
setp.lt.u32 %p1, %r11, %r1;
@%p1 bra again;
st.global.u32 [%d1], %r10;
@!%p4 bra done;
@%p2 bra odd;
and.b32 %r15, %r14, 0x55555555;
shfl.sync.bfly.b32 %r12, %r10, 2, 31, %r15;
bra joined;
odd:
and.b32 %r15, %r14, 0xaaaaaaaa;
shfl.sync.up.b32 %r12, %r10, 4, 0, %r15;
joined:
and.b32 %r15, %r12, 1;
setp.ne.u32 %p3, %r15, 0;
vote.sync.ballot.b32 %r15, %p3, %r14;
st.global.u32 [%d1+4], %r12;
st.global.u32 [%d1+8], %r15;
done:
)";

Answer native_warps(Asker& asker) {
  if (!asker.profile().features.subgroup_ops) return {0, "it has no subgroups of 32 threads"};
  Profile profile = asker.profile();
  profile.exactness.native_warps = true;
  std::string wrong = asker.wrong(profile, {kExchanges, 1, 8}, 4, 96, turns(4 * 96));
  if (!wrong.empty()) return {0, "threads that come together: " + wrong};
  wrong = asker.wrong(profile, {kApart, 1, 3}, 4, 64, turns(4 * 64));
  if (!wrong.empty()) return {0, "threads that go different ways: " + wrong};
  return {1, "threads exchange what warps do, together and apart"};
}

}  // namespace

std::span<const Question> thread_questions() {
  static constexpr Question kQuestions[] = {
      {"independent_threads", "may a thread wait for the store of another warp of its block?",
       independent_threads},
      {"native_warps", "are subgroups of 32 threads warps?", native_warps},
      {"locks_without_barriers", "do barriers in the locks of emulated 64-bit atomics lose values?",
       locks_without_barriers},
  };
  return kQuestions;
}

}  // namespace ptx2spv::runtime
