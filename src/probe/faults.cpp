// Questions about what drivers get wrong: each runs what a workaround keeps away, without it, and
// answers yes where the results are wrong or the time is out of all proportion.
#include <fmt/format.h>

#include "src/probe/ieee.hpp"
#include "src/probe/loops.hpp"
#include "src/probe/questions.hpp"

namespace ptx2spv::runtime {

namespace {

/// Whether a kernel gives other words than NVIDIA's hardware.
Answer faulty(Asker& asker, const Profile& profile, const ProbeKernel& kernel, const Words& in,
              std::uint32_t blocks = 1, std::uint32_t block = kBlock) {
  const std::string text = asker.wrong(profile, kernel, blocks, block, in);
  const std::size_t count = std::size_t{blocks} * block * kernel.out;
  return {!text.empty(), text.empty() ? fmt::format("{} words are right", count) : text};
}

/// Every thread's words of a table with what random searches need.
Words random_words(std::size_t count, std::uint64_t seed) {
  ieee::Sequence sequence(seed);
  Words words(count);
  for (std::uint32_t& word : words) word = sequence.next() >> 8;
  return words;
}

// ------------------------------------------------------------------------------------------ loops

Answer max_loop_iterations(Asker& asker) {
  constexpr std::uint32_t kIterations = (1u << 20) + 3;
  Profile profile = asker.profile();
  profile.max_loop_iterations = 0;
  const Words in(32, kIterations);
  const auto outcome = asker.run(profile,
                                 {R"(
mov.u32 %r8, 0;
mov.u32 %r9, %r0;
again:
mad.lo.u32 %r9, %r9, 1664525, 1013904223;
add.u32 %r8, %r8, 1;
setp.lt.u32 %p1, %r8, %r1;
@%p1 bra again;
st.global.u32 [%d1], %r9;
st.global.u32 [%d1+4], %r8;
)",
                                  1, 2},
                                 1, 32, in);
  if (!outcome.error.empty()) return {65535, outcome.error};
  for (std::uint32_t t = 0; t < 32; ++t) {
    std::uint32_t want = t, iterations = 0;
    while (iterations < kIterations && want != outcome.words[2 * t])
      want = want * 1664525u + 1013904223u, ++iterations;
    for (std::uint32_t i = iterations; i < kIterations; ++i) want = want * 1664525u + 1013904223u;
    if (outcome.words[2 * t] == want) continue;
    return {std::max(iterations, 1u),
            fmt::format("a loop of {} iterations ends after {}", kIterations, iterations)};
  }
  return {0, fmt::format("a loop of {} iterations ends after as many", kIterations)};
}

Answer lcssa_loads(Asker& asker) {
  Profile profile = asker.profile();
  profile.workarounds.lcssa_loads = profile.workarounds.lcssa_values = false;
  Words words = random_words(256, 5);
  words[250] = 3;
  const Answer answer = faulty(asker, profile, {loops::kSearch, 0, 3}, words);
  if (answer.value) return answer;
  const std::string levels = loops::two_levels("");
  return faulty(asker, profile, {levels, 0, 2}, words);
}

// Both loops end where their threads say; what the inner one computed is used behind both.
constexpr std::string_view kComputed = R"(
mov.u32 %r8, 0;
and.b32 %r9, %r1, 3;
mov.u32 %r13, %r2;
mov.u32 %r14, %r3;
mov.u32 %r15, 0;
outer:
mov.u32 %r10, 0;
and.b32 %r11, %r2, 3;
inner:
mul.hi.u32 %r12, %r13, %r3;
mad.lo.u32 %r13, %r13, 1664525, %r4;
add.u32 %r10, %r10, 1;
setp.ge.u32 %p1, %r10, %r11;
@%p1 bra behind;
bra inner;
behind:
rem.u32 %r15, %r12, 3;
table: .branchtargets none, some, none;
brx.idx %r15, table;
none:
bra next;
some:
sub.u32 %r14, %r14, %r12;
xor.b32 %r15, %r14, %r13;
next:
add.u32 %r8, %r8, 1;
setp.ge.u32 %p2, %r8, %r9;
@%p2 bra done;
bra outer;
done:
st.global.u32 [%d1], %r15;
st.global.u32 [%d1+4], %r14;
st.global.u32 [%d1+8], %r12;
)";

// Made of the loop's own phis behind it: how often it ran, and what that gives.
constexpr std::string_view kMade = R"(
mov.u32 %r8, 0;
and.b32 %r9, %r1, 7;
mov.u32 %r10, %r2;
mov.u32 %r11, %r3;
again:
shf.r.clamp.b32 %r12, %r10, %r11, %r4;
rem.u32 %r13, %r3, 3;
cases: .branchtargets one, two, two;
brx.idx %r13, cases;
one:
clz.b32 %r11, %r10;
two:
sub.sat.s32 %r14, %r12, 0xff00;
add.u32 %r10, %r10, %r12;
add.u32 %r8, %r8, 1;
setp.ge.u32 %p1, %r8, %r9;
@%p1 bra done;
bra again;
done:
st.global.u32 [%d1], %r14;
st.global.u32 [%d1+4], %r10;
st.global.u32 [%d1+8], %r12;
)";

Answer lcssa_values(Asker& asker) {
  Profile profile = asker.profile();
  profile.workarounds.lcssa_values = false;
  const Words in = random_words(4 * kBlock, 6);
  const Answer answer = faulty(asker, profile, {kComputed, 4, 3}, in);
  if (answer.value) return answer;
  return faulty(asker, profile, {kMade, 4, 3}, in);
}

Answer lower_bool_loop_phis(Asker& asker) {
  Profile profile = asker.profile();
  profile.workarounds.lower_bool_loop_phis = false;
  const Words in = random_words(2 * kBlock, 7);
  return faulty(asker, profile,
                {R"(
and.b32 %r8, %r1, 1;
setp.ne.u32 %p1, %r8, 0;
and.b32 %r8, %r2, 16;
setp.ne.u32 %p2, %r8, 0;
and.b32 %r9, %r2, 15;
mov.u32 %r10, 0;
mov.u32 %r11, 0;
again:
@%p1 bra one;
mul.lo.u32 %r12, %r10, 0x9e3779b1;
xor.b32 %r11, %r11, %r12;
bra next;
one:
mad.lo.u32 %r11, %r11, 3, %r10;
next:
and.pred %p1, %p2, %p2;
add.u32 %r10, %r10, 1;
setp.le.u32 %p3, %r10, %r9;
@%p3 bra again;
st.global.u32 [%d1], %r11;
)",
                 2, 1},
                in);
}

// ------------------------------------------------------------------------------------- operations

Answer bitcast_atomic_operands(Asker& asker) {
  Profile profile = asker.profile();
  profile.workarounds.bitcast_atomic_operands = false;
  profile.exactness.exact_convert32 = true;  // of small integers it is
  Words in;
  for (std::uint32_t t = 0; t < kBlock; ++t) in.push_back(t * 37 % 101 - 50);
  return faulty(asker, profile,
                {R"(
ld.param.u64 %d3, [to];
cvt.rn.f32.s32 %f1, %r1;
mov.b32 %r8, %f1;
red.global.max.u32 [%d3], %r8;
)",
                 1, 1},
                in);
}

Answer opaque_zero_operands(Asker& asker) {
  Profile profile = asker.profile();
  profile.workarounds.opaque_zero_operands = false;
  // Of numbers that are not denormal these are right on every device, or are asked for elsewhere.
  profile.exactness.denormals32 = profile.exactness.exact_div32 = true;
  profile.exactness.exact_convert32 = true;
  profile.exactness.flushes_denormals32 = false;
  const Words in = {0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
                    0x80000000, 0,          0x7f7fffff, 0x7fc00000};
  // The only thread of its block: its number is known to be 0.
  return faulty(asker, profile,
                {R"(
mov.u32 %r8, %tid.x;
cvt.rn.f32.u32 %f1, %r8;
mov.b32 %f2, %r1;
div.rn.f32 %f3, %f2, %f1;
mul.rn.f32 %f4, %f2, %f1;
add.rn.f32 %f5, %f2, %f1;
div.rn.f32 %f6, %f1, %f2;
st.global.f32 [%d1], %f3;
st.global.f32 [%d1+4], %f4;
st.global.f32 [%d1+8], %f5;
st.global.f32 [%d1+12], %f6;
)",
                 1, 4},
                in, static_cast<std::uint32_t>(in.size()), 1);
}

Answer break_bitfield_insert_select(Asker& asker) {
  Profile profile = asker.profile();
  profile.workarounds.break_bitfield_insert_select = false;
  // A sign is cleared where a product is small: for every second thread, of either sign.
  constexpr std::uint32_t kFactor = 0x9e3779b1, kInverse = 0x0e8b2f51;
  static_assert(kFactor * kInverse == 1);
  Words in;
  for (std::uint32_t t = 0; t < kBlock; ++t)
    in.push_back(((t & 1 ? t * 7 % 31 : 0x40000000u * (t % 4) + 77 * t + 31) - t) * kInverse);
  return faulty(asker, profile,
                {R"(
mov.u32 %r7, %tid.x;
mov.b32 %f2, %r7;
mov.b32 %f3, %r1;
mad.lo.u32 %r8, %r1, 0x9e3779b1, %r7;
setp.lt.u32 %p1, %r8, 31;
@%p1 copysign.f32 %f3, %f2, %f3;
selp.u32 %r10, 1, 0, %p1;
mad.lo.u32 %r11, %r7, 0x9e3779b1, %r10;
mov.b32 %r9, %f3;
mad.lo.u32 %r11, %r11, 0x9e3779b1, %r9;
st.global.u32 [%d1], %r11;
)",
                 1, 1, "", 4, ThreadModel::flat},
                in);
}

Answer barriers_as_atomics(Asker& asker) {
  Profile profile = asker.profile();
  profile.workarounds.barriers_as_atomics = false;
  // A lock that each thread of a block takes in turn.
  return faulty(asker, profile,
                {R"(
ld.param.u64 %d3, [to];
mov.u32 %r8, 0;
again:
atom.global.cas.b32 %r9, [%d3], 0, 1;
setp.ne.u32 %p1, %r9, 0;
@%p1 bra skip;
ld.volatile.global.u32 %r10, [%d3+4];
add.u32 %r10, %r10, 1;
st.volatile.global.u32 [%d3+4], %r10;
membar.gl;
atom.global.exch.b32 %r11, [%d3], 0;
mov.u32 %r8, 1;
skip:
setp.eq.u32 %p2, %r8, 0;
@%p2 bra again;
)",
                 0, 1},
                {});
}

// ------------------------------------------------------------------------------ time of compiling

/// Milliseconds of processor time until a kernel has been made and has run once.
double first_run(Asker& asker, const Profile& profile, const ProbeKernel& kernel,
                 std::string& error) {
  const auto outcome = asker.run(profile, kernel, 1, kBlock, Words(4 * kBlock, 1));
  error = outcome.error;
  return outcome.prepare_ms;
}

Answer limit_uniformity_search(Asker& asker) {
  Profile profile = asker.profile();
  profile.workarounds.limit_uniformity_search = false;
  const auto took = [&](unsigned steps, std::string& error) {
    std::string body = "ld.param.u64 %d3, [from];\ncvt.u32.u64 %r8, %d3;\n";
    for (unsigned i = 0; i < steps; ++i)
      body += "mul.lo.u32 %r8, %r8, %r8;\nadd.u32 %r8, %r8, 5;\n";
    body +=
        "and.b32 %r9, %r8, 252;\nmov.u32 %r10, cells;\nadd.u32 %r10, %r10, %r9;\n"
        "st.shared.u32 [%r10], %r0;\nld.shared.u32 %r11, [%r10];\nst.global.u32 [%d1], %r11;\n";
    return first_run(asker, profile, {body, 0, 1, ".shared .align 4 .b8 cells[256];\n"}, error);
  };
  std::string error;
  // Eight steps more are 256 times the questions.
  const double few = took(16, error), many = error.empty() ? took(24, error) : 0;
  if (!error.empty()) return {1, error};
  return {many > 3 * few + 30,
          fmt::format("16 steps took {:.1f} ms, 24 steps {:.1f} ms", few, many)};
}

Answer limit_strength_reduction(Asker& asker) {
  Profile profile = asker.profile();
  profile.workarounds.limit_strength_reduction = false;
  const auto took = [&](unsigned count, std::string& error) {
    const std::string body = loops::in_sequence(count, "%r0", "le.u32 %p1, %r8, %r5");
    return first_run(asker, profile, {body, 0, 1}, error);
  };
  std::string error;
  // Twice the loops take eight times the time.
  const double few = took(10, error), many = error.empty() ? took(20, error) : 0;
  if (!error.empty()) return {1, error};
  return {many > 4 * few + 30,
          fmt::format("10 loops took {:.1f} ms, 20 loops {:.1f} ms", few, many)};
}

// Long blocks take too long to be asked about: a compiler that slows down with the square of their
// length shows it in tens of thousands of instructions. Splitting them by empty loops costs a CPU
// driver nothing where its compiler bears loops, so there it is done unasked.
Answer split_long_blocks(Asker& asker) {
  const bool cpu = asker.device().info().kind == DeviceKind::cpu;
  const bool loops = !asker.profile().workarounds.limit_strength_reduction;
  return {cpu && loops, cpu && loops ? "a CPU driver whose compiler bears loops: as a precaution"
                        : cpu        ? "its compiler does not bear loops"
                                     : "no GPU's compiler is known to slow down"};
}

Answer routine_budget(Asker& asker) {
  const bool slow = asker.profile().workarounds.split_long_blocks;
  return {slow ? 20000u : 40000u, slow ? "half, where long blocks are split" : "the usual"};
}

}  // namespace

std::span<const Question> fault_questions() {
  static constexpr Question kQuestions[] = {
      {"max_loop_iterations", "after how many iterations does the driver end a loop? 0: never",
       max_loop_iterations},
      {"lcssa_loads", "is a value loaded in a loop lost behind it?", lcssa_loads},
      {"lcssa_values", "is a value computed in a loop lost behind it?", lcssa_values},
      {"lower_bool_loop_phis", "does the compiler fail over a truth value that a loop carries?",
       lower_bool_loop_phis},
      {"bitcast_atomic_operands", "does an integer atomic miss what a float operation gives?",
       bitcast_atomic_operands},
      {"opaque_zero_operands", "are products, sums and quotients with a known zero wrong?",
       opaque_zero_operands},
      {"break_bitfield_insert_select", "is a selection between merged bits and one of them wrong?",
       break_bitfield_insert_select},
      {"barriers_as_atomics", "does a memory barrier lose the values of those who do not reach it?",
       barriers_as_atomics},
      {"limit_uniformity_search", "does compiling take exponential time over uniform offsets?",
       limit_uniformity_search},
      {"limit_strength_reduction", "does compiling take cubic time over loops in sequence?",
       limit_strength_reduction},
      {"split_long_blocks", "may compiling slow down with the square of a block's length?",
       split_long_blocks},
      {"routine_budget", "how many instructions may copies of routines take?", routine_budget},
  };
  return kQuestions;
}

}  // namespace ptx2spv::runtime
