// Questions about what is cheap: the same kernel translated both ways, and the time of each.
// Results do not depend on the answers, and an answer changes only where one way is clearly faster.
#include <fmt/format.h>

#include <algorithm>

#include "src/probe/loops.hpp"
#include "src/probe/questions.hpp"

namespace ptx2spv::runtime {

namespace {

constexpr unsigned kRepeats = 9, kRounds = 3;
/// How much faster one way must be: less is noise on a busy machine.
constexpr double kClearly = 0.25;
/// The blocks that a launch may have to keep the device busy.
constexpr std::uint32_t kMostBlocks = 1u << 20;

bool is_cpu(const Asker& asker) { return asker.device().info().kind == DeviceKind::cpu; }

/// The least and the largest of what rounds took.
struct Times {
  double least = 1e30, most = 0;
  void add(double time) {
    least = std::min(least, time);
    most = std::max(most, time);
  }
  double spread() const { return most / least - 1; }
};

/// How many blocks keep the device busy: `blocks`, which do that to a processor, or more.
std::uint32_t busy(Asker& asker, const ProbeKernel& kernel, std::uint32_t blocks) {
  const std::uint32_t most = kernel.in || kernel.out ? kMostBlocks / 16 : kMostBlocks;
  while (!is_cpu(asker) && blocks < most) {
    const Words in(std::size_t{blocks} * kBlock * kernel.in, 3);
    const auto outcome = asker.run(asker.profile(), kernel, blocks, kBlock, in, 2);
    if (!outcome.error.empty() || outcome.run_ms >= kBusy) break;
    blocks = std::min(blocks * 4, most);
  }
  return blocks;
}

/// The same kernel both ways, which take turns.
Answer cheaper(Asker& asker, std::string_view row, bool Costs::*field, const ProbeKernel& kernel,
               std::uint32_t blocks, double clearly = kClearly) {
  blocks = busy(asker, kernel, blocks);
  const Words in(std::size_t{blocks} * kBlock * kernel.in, 3);
  Times with, without;
  for (unsigned round = 0; round < kRounds; ++round) {
    for (const bool way : {true, false}) {
      Profile profile = asker.profile();
      profile.costs.*field = way;
      const auto outcome = asker.run(profile, kernel, blocks, kBlock, in, kRepeats);
      if (!outcome.error.empty()) return {1, outcome.error};
      (way ? with : without).add(outcome.run_ms);
    }
    // On a processor each round compiles again, for most of the time that all questions take.
    if (is_cpu(asker) && with.least <= without.least * (1 + clearly)) break;
  }
  const double noise = std::max({clearly, with.spread(), without.spread()});
  return {cheaper_with(asker, row, with.least, without.least, is_cpu(asker) ? clearly : noise),
          fmt::format("{} blocks: {:.3f} ms with it, {:.3f} ms without", blocks, with.least,
                      without.least)};
}

// As most kernels end: a value that is stored, and where it goes.
constexpr std::string_view kCopy = R"(
ld.param.u64 %d3, [surface];
and.b32 %r8, %r0, 63;
shl.b32 %r8, %r8, 2;
shr.u32 %r9, %r0, 6;
and.b32 %r9, %r9, 63;
suld.b.2d.b32.zero {%r10}, [%d3, {%r8, %r9}];
sust.b.2d.b32.zero [%d3, {%r8, %r9}], {%r10};
)";

Answer redirect_stores(Asker& asker) {
  return cheaper(asker, "redirect_stores", &Costs::redirect_stores, {kCopy, 0, 0}, 1024, 0.1);
}

Answer bound_buffers(Asker& asker) {
  return cheaper(asker, "bound_buffers", &Costs::bound_buffers, {kCopy, 0, 0}, 4096);
}

Answer skipped_branches(Asker& asker) {
  // The body that no thread enters, against the same loop where all do; what a launch takes in any
  // case is that of one iteration.
  std::string body =
      "mov.u32 %r8, 0;\nmov.u32 %r9, %r0;\nagain:\nsetp.lt.u32 %p1, %r8, %r1;\n@!%p1 bra over;\n";
  for (unsigned i = 0; i < 60; ++i)
    body += fmt::format("mad.lo.u32 %r9, %r9, {}, {};\nxor.b32 %r9, %r9, {};\n", 2 * i + 3, i,
                        i * 7919);
  body +=
      "over:\nadd.u32 %r9, %r9, 1;\nadd.u32 %r8, %r8, 1;\nsetp.lt.u32 %p2, %r8, %r2;\n"
      "@%p2 bra again;\nst.global.u32 [%d1], %r9;\n";
  const std::uint32_t blocks = is_cpu(asker) ? 32 : 8192;
  double times[3];
  constexpr std::uint32_t kEntered[] = {0, 0, 64}, kIterations[] = {1, 64, 64};
  for (unsigned i = 0; i < 3; ++i) {
    Words in;
    for (unsigned t = 0; t < blocks * kBlock; ++t)
      in.insert(in.end(), {kEntered[i], kIterations[i]});
    const auto outcome = asker.run(asker.profile(), {body, 2, 1}, blocks, kBlock, in, kRepeats);
    if (!outcome.error.empty()) return {0, outcome.error};
    times[i] = outcome.run_ms;
  }
  const double skipped = times[1] - times[0], entered = times[2] - times[0];
  // Where the launch itself takes most of the time nothing was seen.
  const bool noise = entered < kClearly * times[0];
  return {noise ? cheaper_with(asker, "skipped_branches", 1, 1, 0) : skipped < 0.5 * entered,
          fmt::format("a body that no thread enters {:.3f} ms, entered {:.3f} ms, beside {:.3f} ms",
                      skipped, entered, times[0])};
}

Answer outlined_calls(Asker& asker) {
  // Calls share a routine through a loop: some compilers' time explodes with loops in sequence.
  Profile profile = asker.profile();
  profile.workarounds.limit_strength_reduction = false;
  const auto took = [&](unsigned count, std::string& error) {
    const std::string body = loops::in_sequence(count, "%r2", "lt.u32 %p1, %r8, %r1");
    const auto outcome = asker.run(profile, {body, 2, 1}, 1, kBlock, Words(2 * kBlock, 3));
    error = outcome.error;
    return outcome.prepare_ms;
  };
  std::string error;
  // What six loops more add, and what six more than that do: as much where time is linear.
  double times[3] = {};
  for (unsigned i = 0; i < 3 && error.empty(); ++i) times[i] = took(2 + 6 * i, error);
  if (!error.empty()) return {0, error};
  const double first = std::max(times[1] - times[0], 1.0), second = times[2] - times[1];
  return {second < 3 * first,
          fmt::format("2, 8 and 14 loops compile in {:.1f}, {:.1f} and {:.1f} ms", times[0],
                      times[1], times[2])};
}

// Long blocks take too long to be asked about: a compiler that slows down with the square of their
// length shows it in tens of thousands of instructions. Splitting them by empty loops costs a CPU
// driver nothing where its compiler bears loops, so there it is done unasked.
Answer split_long_blocks(Asker& asker) {
  const bool cpu = is_cpu(asker);
  const bool loops = asker.profile().costs.outlined_calls;
  return {cpu && loops, cpu && loops ? "a CPU driver whose compiler bears loops: as a precaution"
                        : cpu        ? "its compiler does not bear loops"
                                     : "no GPU's compiler is known to slow down"};
}

Answer routine_budget(Asker& asker) {
  const bool slow = asker.profile().workarounds.split_long_blocks;
  return {slow ? 20000u : 40000u, slow ? "half, where long blocks are split" : "the usual"};
}

}  // namespace

std::span<const Question> cost_questions() {
  static constexpr Question kQuestions[] = {
      {"redirect_stores", "does a suppressed store cost least as a store elsewhere?",
       redirect_stores},
      {"skipped_branches", "is a branch that no thread takes skipped?", skipped_branches},
      {"outlined_calls", "does compiling bear many loops in sequence?", outlined_calls},
      {"split_long_blocks", "may compiling slow down with the square of a block's length?",
       split_long_blocks},
      {"routine_budget", "how many instructions may copies of routines take?", routine_budget},
      {"bound_buffers", "is a bound buffer at least as fast as an address?", bound_buffers},
  };
  return kQuestions;
}

}  // namespace ptx2spv::runtime
