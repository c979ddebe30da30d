// Random programs of warp operations in divergent code, as PTX and as what each thread is left
// with. The model runs a warp in lockstep, as the manual describes its operations (PTX 9.7.9
// and 9.7.13); it shares nothing with the translator. Members' masks name exactly the threads that
// come.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace ptx2spv::test {

struct WarpStatement {
  enum class Kind : std::uint8_t {
    arithmetic,  ///< r[to] = r[a] by r[b]; mode says how
    shuffle,     ///< up, down, bfly, idx; `wide`: lane operand from r[b], else `number`
    vote,        ///< all, any, uni, ballot, of r[a] & 1
    match,       ///< any, all; `wide`: 64 bits, of r[a] & 3
    reduce,      ///< add, and, or, xor, min.u32, max.u32, min.s32, max.s32
    elect,
    exchange,  ///< through shared memory between two bar.warp.sync
    barrier,   ///< bar.sync 0
    branch,    ///< `inside` where the condition holds, `otherwise` where not
    loop,      ///< `inside`, as often as r[a] & 3 says or, where uniform, `number` times
    leave,     ///< threads end where the condition holds
  };
  Kind kind{};
  unsigned mode = 0, to = 0, also = 0, a = 0, b = 0;
  std::uint32_t number = 0, clamp = 0;
  bool wide = false, uniform = false;
  unsigned part = 0;  ///< of the members: 0 all, 1 those of the same parity, 2 of the same eight
  std::vector<WarpStatement> inside, otherwise;
};

struct WarpProgram {
  static constexpr unsigned kRegisters = 4;
  using Thread = std::array<std::uint32_t, kRegisters>;

  std::vector<WarpStatement> body;
  std::array<std::uint32_t, 2> block{};  ///< threads along x and y

  std::uint32_t threads() const { return block[0] * block[1]; }
  /// An entry `warps(.param .u64 in, .param .u64 out)`: four words of each thread of the grid.
  std::string text() const;
  /// What one block makes of its threads' words.
  std::vector<Thread> run(const std::vector<Thread>& in) const;
};

WarpProgram make_warp_program(std::mt19937& random);

}  // namespace ptx2spv::test
