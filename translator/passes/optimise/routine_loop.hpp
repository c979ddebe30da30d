// A loop over calls of long routines: private to outline_library_calls.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "translator/passes/cfg/block_ends.hpp"
#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// Of a double's high word.
constexpr std::uint32_t kSign = 0x80000000u, kInfinity = 0x7ff00000u;

/// What a step calls.
struct LoopCall {
  std::uint32_t library = 0;  ///< Module::library_names
  Type type = Type::i64;      ///< of the result
  Type from = Type::i64;      ///< of the operands
  unsigned operands = 1;
};

/// Places are words of the thread's own memory from RoutineLoop::base on.
struct LoopStep {
  std::uint32_t call = 0;  ///< index in RoutineLoop::calls
  std::array<std::uint32_t, 3> places{};
  std::uint32_t negated = 0;  ///< by operand, a bit: a double that PTX negates, NaN excepted
};

struct RoutineLoop {
  std::vector<LoopCall> calls;
  std::vector<LoopStep> steps;
  std::uint32_t base = 0;     ///< bytes
  std::uint32_t results = 0;  ///< place of the first step's; each has two words
  std::uint32_t table = 0;    ///< place of what table() gives

  bool negates() const;
  /// Words of the table that a step has.
  std::uint32_t row() const;
  std::vector<std::uint32_t> table_words() const;
  /// Makes the loop behind what stands in block `before`. Result: the block behind the loop, which
  /// ends as `before` did.
  BlockId emit(Builder& b, BlockCutter& cutter, BlockId before) const;
};

}  // namespace ptx2spv::passes
