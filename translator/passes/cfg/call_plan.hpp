// Which functions of an entry are copied to each of their calls and which stand once.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

struct CallPlan {
  std::vector<bool> shared;  ///< by function: it stands once and all its calls go there
  std::size_t size = 0;      ///< of the entry with all that it calls, about, in instructions
  std::string problem;       ///< a cycle among the calls, or one that leads nowhere
};

/// Shares as little as keeps the entry (function 0) within `budget` instructions, and all that is
/// worth it where nothing does.
CallPlan plan_calls(const Module& module, std::size_t budget);

}  // namespace ptx2spv::passes
