// A random kernel as a tree of statements, so that a failing one can be made smaller, and its PTX.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace ptx2spv::test {

/// pieces[0] bodies[0] pieces[1] ... pieces[n]: a leaf has one piece and no body. Any statement may
/// be left out, and a compound one may be replaced by a body, as long as every label that is
/// branched to remains.
struct Statement {
  std::vector<std::string> pieces;
  std::vector<std::vector<Statement>> bodies;
};

/// An entry or a .func.
struct Unit {
  std::string name, head, tail;
  std::vector<Statement> body;
};

/// What every random kernel takes:
///   in       kInputWords words, only read
///   out      kThreadBytes of each thread: kCellBytes of memory to work with, then its registers
///   shared   kSharedCounters words, a cell for each commutative operation of all threads
///   surface  .u64 handle of a two-dimensional surface of kRowBytes a row, one row for each thread
///   n        a number
struct RandomKernel {
  static constexpr std::uint32_t kInputWords = 256, kThreadBytes = 256, kCellBytes = 64,
                                 kCounterBytes = 128, kRowBytes = 64;
  std::string name;
  std::string variables;    ///< module-scope declarations
  std::vector<Unit> units;  ///< functions, callees first; the entry is the last one
  std::uint32_t block[2] = {32, 1}, grid = 1, n = 0;
  std::uint32_t threads() const { return block[0] * block[1] * grid; }
  std::string ptx() const;  ///< without the module's head
  std::size_t statements() const;
};

inline constexpr const char* kModuleHead = ".version 8.3\n.target sm_80\n.address_size 64\n";

/// `name` is used for everything at module scope.
RandomKernel random_kernel(std::mt19937& rng, const std::string& name);

/// The words of `in`: small numbers, limits, floats of every kind and noise.
std::vector<std::uint32_t> random_input(std::uint32_t seed);

}  // namespace ptx2spv::test
