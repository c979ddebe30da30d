// Random functions for the pass tests, and the comparison of what two functions do.
#pragma once

#include <random>
#include <string>

#include "tests/support/reference.hpp"

namespace ptx2spv::test {

struct ProgramShape {
  unsigned blocks = 8;
  unsigned backward = 20;  ///< percent of branches that may go anywhere
  unsigned ops = 6;        ///< operations a block
  bool wide = true;        ///< i64 operations
  unsigned barriers = 0;   ///< percent of operations: barriers, threads told apart by their numbers
  unsigned general = 0;    ///< percent of operations: barriers of all kinds and warp operations
  bool products = false;   ///< of matrices among those
};

/// A function over a few i32, i64 and i1 variables that stores to slot 0 as it goes.
ir::Function random_program(std::mt19937& rng, const ProgramShape& shape);

/// Runs with parameters made from `seed`.
ir::Outcome run_program(const ir::Function& f, const ir::Module& m, std::uint32_t seed,
                        std::uint64_t steps, const ir::RunOptions& options = {},
                        ir::Memory* memory = nullptr);

/// Empty when the traces agree as far as both go, and in length when both ended.
std::string compare_traces(const ir::Outcome& a, const ir::Outcome& b);

}  // namespace ptx2spv::test
