// A kernel as the interpreter runs it: steps that each do one operation for the 32 lanes of a warp.
//
// A value lies in rows of 32 words, a word for each lane: one row for i1 (0 or 1) and i32, two for
// i64 (32 numbers of 64 bits side by side), two and four for v2 and v4 (a row for each component).
// Which lanes a step is for is in Lanes. Lanes that go other ways at that time keep their values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ptx2spv/abi.hpp"
#include "translator/ir/ir.hpp"

namespace ptx2spv::interpreter {

using namespace ir;

inline constexpr unsigned kLanes = 32;
/// A row of a register file.
struct alignas(64) Row {
  std::uint32_t words[kLanes];
};

/// Where rows lie: their number, in the constants where the top bit is set, else in the warp's
/// registers.
using Place = std::uint32_t;
inline constexpr Place kConstant = 0x80000000u;

/// Rows that a value of a type takes.
constexpr unsigned rows_of(ir::Type type) {
  switch (type) {
    case ir::Type::none: return 0;
    case ir::Type::i1:
    case ir::Type::i32: return 1;
    case ir::Type::i64:
    case ir::Type::v2: return 2;
    case ir::Type::v4: return 4;
  }
  return 0;
}

/// Memory that is addressed by offsets. Accesses past its end read 0 and write nothing.
struct Region {
  std::byte* bytes = nullptr;
  std::uint64_t size = 0;
};

/// The spaces of ir::Space that regions stand for, by their number.
inline constexpr std::size_t kSpaces = static_cast<std::size_t>(ir::Space::push) + 1;

/// What all threads of a launch have in common.
struct Launch {
  std::uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  std::array<Region, kSpaces> regions{};  ///< global, shared and local memory have none here
};

/// The lanes that a step is for, and what they see.
struct Lanes {
  Row* bases[2] = {nullptr, nullptr};  ///< registers, constants
  std::uint32_t mask = 0;              ///< lanes that run
  Row select;                          ///< all ones for lanes of `mask`, else 0
  const Launch* launch = nullptr;
  Region shared;
  std::byte* local = nullptr;  ///< of lane 0; those of the others follow
  std::uint32_t local_bytes = 0;
  std::uint32_t first_thread = 0;  ///< of the warp, in its block
  std::uint32_t block[3] = {0, 0, 0};

  Row* rows(Place place) const { return bases[place >> 31] + (place & ~kConstant); }
  std::uint32_t* words(Place place) const { return rows(place)->words; }
  /// Sets the lanes that run.
  void run(std::uint32_t lanes);
};

/// Calls `visit` with the number of each lane in `mask`.
template <typename Visit>
void each_lane(std::uint32_t mask, Visit&& visit) {
  if (mask == 0xffffffffu) {
    for (unsigned lane = 0; lane < kLanes; ++lane) visit(lane);
    return;
  }
  for (; mask; mask &= mask - 1) visit(static_cast<unsigned>(__builtin_ctz(mask)));
}

struct Step;
/// Does a step. `whole` and `masked` differ in what lanes that do not run get: anything, or
/// nothing.
using Handler = void (*)(const Step& step, Lanes& lanes);

/// A function of the shader library: words in, words out, for one thread.
using Routine = void (*)(std::uint32_t* result, const std::uint32_t* arguments);

struct Step {
  Handler whole = nullptr, masked = nullptr;  ///< none: an operation of several threads
  Place out = 0;
  Place in[4] = {0, 0, 0, 0};
  std::uint64_t imm = 0;
  const void* more = nullptr;  ///< a handler's own: ir::MemAttr, Call
  ir::Op op = ir::Op::undef;
  std::uint8_t inputs = 0;
  bool wide = false;  ///< of an operation of several threads: on i64
  std::uint32_t loc = 0;
};

/// More operands than a step has room for: a function of the library's, or a product of matrices.
struct Call {
  std::string name;  ///< of the library's function
  Routine routine = nullptr;
  struct Operand {
    Place place = 0;
    ir::Type type = ir::Type::i32;
  };
  Operand result;
  std::vector<Operand> arguments;
};

/// Where control goes: the steps that phis take on the way, and a block.
struct Edge {
  std::uint32_t first = 0, last = 0;  ///< steps [first, last)
  std::uint32_t to = 0;
};

/// Blocks are numbered in an order in which a block's dominators come before it.
struct BlockCode {
  std::uint32_t first = 0, last = 0;  ///< steps [first, last)
  ir::Term term = ir::Term::exit;
  Place cond = 0;
  std::vector<Edge> edges;
};

/// What a program was made of, for a compiler.
struct Source {
  ir::Function function;
  std::vector<std::uint32_t> steps;  ///< by value: its step, all ones where it has none
};

struct Program {
  std::vector<Step> steps;
  std::vector<BlockCode> blocks;
  std::vector<Row> constants;
  std::uint32_t rows = 0;  ///< of a warp's registers
  std::uint32_t shared_bytes = 0, local_bytes = 0;
  std::vector<ir::Loc> locs;
  std::shared_ptr<const Source> source;
  std::string name, file;  ///< of the kernel and its PTX, where debuggers are to know; else empty
  // What steps point at.
  std::vector<std::unique_ptr<ir::MemAttr>> accesses;
  std::vector<std::unique_ptr<Call>> calls;
};

}  // namespace ptx2spv::interpreter
