// Shuffles whose sources are not there: what is asked of the hardware and of this project alike. A
// warp's threads part before they shuffle: some have ended, some never were, some take a branch of
// their own, some have left the loop. Everything is computed from a seed, so that a record needs
// the results alone.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "dev/recorder/dice.hpp"

namespace ptx2spv::recorder {

inline constexpr unsigned kWarpLanes = 32;

/// What a thread does.
enum class LaneRole : std::uint32_t {
  ended,     ///< exits before the shuffle
  first,     ///< takes the first branch, where it shuffles
  second,    ///< takes the second one, where it shuffles too
  elsewhere  ///< does not shuffle
};

/// A thread's operands, 8 words in memory.
struct LaneInput {
  LaneRole role = LaneRole::first;
  std::uint32_t members = 0;   ///< the mask that it names
  std::uint32_t b = 0, c = 0;  ///< of the shuffle
  std::uint32_t value = 0;     ///< what others may read
  std::uint32_t rounds = 0;    ///< of the loop
  std::uint32_t unused[2] = {};
};
static_assert(sizeof(LaneInput) == 32);

struct WarpKernel {
  std::string mode;  ///< up, down, bfly or idx
  std::string form;  ///< branch, tree or loop
  std::string name() const { return form + "." + mode; }
  /// Words that each thread leaves.
  unsigned results() const { return form == "tree" ? 12 : 2; }
};

inline std::vector<WarpKernel> warp_kernels() {
  std::vector<WarpKernel> kernels;
  for (const char* form : {"branch", "tree", "loop"})
    for (const char* mode : {"up", "down", "bfly", "idx"}) kernels.push_back({mode, form});
  return kernels;
}

/// Threads of a block: whole warps, a part of a second one, a part of one.
inline constexpr std::array<unsigned, 4> kWarpBlocks = {32, 51, 20, 3};
inline unsigned warps_of(unsigned threads) { return (threads + kWarpLanes - 1) / kWarpLanes; }

namespace warp_text {

/// One shuffle of the registers %v, %b, %c into %d and %e.
inline std::string shuffle(const std::string& mode, const std::string& operands) {
  return "  shfl.sync." + mode + ".b32 %d|%q, %v, " + operands + ";\n  selp.u32 %e, 1, 0, %q;\n";
}

inline std::string branch(const std::string& mode) {
  return "  setp.ne.u32 %p, %role, 1;\n  @%p bra second;\n" + shuffle(mode, "%b, %c, %m") +
         "  bra done;\n"
         "second:\n  setp.ne.u32 %p, %role, 2;\n  @%p bra done;\n  not.b32 %v, %v;\n" +
         shuffle(mode, "%b, %c, %m") + "done:\n  st.global.v2.u32 [%o], {%d, %e};\n";
}

/// As sums of a block's last warp are written: five shuffles by constants and a sum after each.
inline std::string tree(const std::string& mode) {
  const std::string clamp = mode == "up" ? "0" : "31";
  std::string text = "  setp.ne.u32 %p, %role, 1;\n  @%p bra done;\n";
  unsigned at = 0;
  for (const char* by : {"16", "8", "4", "2", "1"}) {
    text += shuffle(mode, std::string(by) + ", " + clamp + ", %m") + "  st.global.v2.u32 [%o+" +
            std::to_string(8 * at++) + "], {%d, %e};\n  add.u32 %v, %v, %d;\n";
  }
  return text + "  st.global.u32 [%o+40], %v;\ndone:\n";
}

/// The members are those that are still in the loop.
inline std::string loop(const std::string& mode) {
  return "  setp.ne.u32 %p, %role, 1;\n  @%p bra done;\n  mov.u32 %n, 0;\n"
         "again:\n  setp.lt.u32 %p, %n, %rounds;\n  vote.sync.ballot.b32 %m, %p, %m;\n"
         "  @!%p bra done;\n" +
         shuffle(mode, "%b, %c, %m") +
         "  mad.lo.u32 %v, %d, 3, %v;\n  add.u32 %n, %n, 1;\n  bra again;\n"
         "done:\n  st.global.v2.u32 [%o], {%v, %e};\n";
}

}  // namespace warp_text

/// The module; its entry `k` takes the addresses of operands and results.
inline std::string warp_module(const WarpKernel& kernel) {
  std::string text =
      ".version 6.4\n.target sm_70\n.address_size 64\n"
      ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
      "  .reg .b64 %i, %o, %w;\n  .reg .b32 %role, %m, %b, %c, %v, %d, %e, %n, %x, %rounds;\n"
      "  .reg .pred %p, %q;\n"
      "  ld.param.u64 %i, [in];\n  ld.param.u64 %o, [out];\n"
      // Threads of blocks lie at the next multiple of 32.
      "  mov.u32 %x, %ntid.x;\n  add.u32 %x, %x, 31;\n  and.b32 %x, %x, 0xffffffe0;\n"
      "  mov.u32 %n, %ctaid.x;\n  mul.lo.u32 %x, %x, %n;\n"
      "  mov.u32 %n, %tid.x;\n  add.u32 %x, %x, %n;\n"
      "  mul.wide.u32 %w, %x, 32;\n  add.u64 %i, %i, %w;\n  mul.wide.u32 %w, %x, " +
      std::to_string(4 * kernel.results()) +
      ";\n  add.u64 %o, %o, %w;\n"
      "  ld.global.v4.u32 {%role, %m, %b, %c}, [%i];\n"
      "  ld.global.v2.u32 {%v, %rounds}, [%i+16];\n"
      "  mov.u32 %d, 0xabad;\n  mov.u32 %e, 2;\n"
      "  setp.eq.u32 %p, %role, 0;\n  @%p exit;\n";
  text += kernel.form == "branch" ? warp_text::branch(kernel.mode)
          : kernel.form == "tree" ? warp_text::tree(kernel.mode)
                                  : warp_text::loop(kernel.mode);
  return text + "  ret;\n}\n";
}

/// One warp, of `threads` threads. Masks name all of those that take the branch together, and of
/// those that are gone whom they like.
inline std::array<LaneInput, kWarpLanes> warp_case(Dice& dice, const WarpKernel& kernel,
                                                   unsigned threads) {
  std::array<LaneInput, kWarpLanes> lanes;
  const unsigned gone = dice.chance(40) ? dice.below(60) : 0, others = dice.below(70);
  // As a block's last warp does it: the first threads alone.
  const bool prefix = dice.chance(30);
  const unsigned border = 1 + dice.below(kWarpLanes);
  std::uint32_t masks[4] = {}, absent = 0;
  for (unsigned k = 0; k < kWarpLanes; ++k) {
    LaneRole role = dice.chance(gone)      ? LaneRole::ended
                    : !dice.chance(others) ? LaneRole::first
                    : dice.chance(50)      ? LaneRole::second
                                           : LaneRole::elsewhere;
    if (prefix) role = k < border ? LaneRole::first : LaneRole::elsewhere;
    if (k >= threads) role = LaneRole::ended;
    lanes[k].role = role;
    masks[static_cast<unsigned>(role)] |= 1u << k;
    if (role == LaneRole::ended) absent |= 1u << k;
  }
  // Those of the first branch may name two groups, which shuffle side by side.
  const std::uint32_t part = dice.chance(25) ? dice.bits() : 0xffffffffu;
  const std::uint32_t named = absent & (dice.chance(50) ? dice.bits() : 0xffffffffu);
  const std::uint32_t clamps[] = {kernel.mode == "up" ? 0u : 31u,
                                  kernel.mode == "up" ? 0x1800u : 0x181fu, dice.bits() & 0x1f1fu,
                                  dice.bits()};
  const std::uint32_t clamp = clamps[dice.below(4)], by = dice.below(32);
  const bool same = dice.chance(60), near = dice.chance(50);
  for (unsigned k = 0; k < kWarpLanes; ++k) {
    LaneInput& lane = lanes[k];
    lane.members = masks[static_cast<unsigned>(lane.role)];
    if (lane.role == LaneRole::first) lane.members &= part >> k & 1 ? part : ~part;
    lane.members |= named;
    lane.b = same ? by : near ? dice.below(8) : dice.bits();
    lane.c = clamp;
    lane.value = (dice.bits() & 0xff00u) | (k + 1);
    lane.rounds = dice.below(6);
  }
  return lanes;
}

/// Warps of each launch.
inline constexpr unsigned kWarpCases = 32;

/// The operands of a launch with blocks of so many threads.
inline std::vector<LaneInput> warp_inputs(const WarpKernel& kernel, unsigned threads,
                                          std::uint32_t seed) {
  Dice dice(seed * 977 + threads * 31 + kernel.results() + kernel.mode.size() * 7 +
            static_cast<std::uint32_t>(kernel.mode[0]) +
            static_cast<std::uint32_t>(kernel.form[0]));
  std::vector<LaneInput> all;
  const unsigned warps = warps_of(threads);
  for (unsigned n = 0; n < kWarpCases / warps * warps; ++n) {
    const unsigned before = n % warps * kWarpLanes;
    const unsigned there = threads - before < kWarpLanes ? threads - before : kWarpLanes;
    for (const LaneInput& lane : warp_case(dice, kernel, there)) all.push_back(lane);
  }
  return all;
}

}  // namespace ptx2spv::recorder
