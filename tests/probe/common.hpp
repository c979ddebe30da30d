// What the tests of asking share.
#pragma once

#include <string_view>

#include "ptx2spv/profile.hpp"
#include "tests/support/environment.hpp"

namespace ptx2spv::runtime {

/// Rows whose answer is a time, which a busy machine changes: results do not depend on them.
inline bool timed(std::string_view row) {
  const Capability* capability = find_capability(row);
  const bool cost = capability && capability->group == Capability::Group::cost;
  return cost || row == "split_long_blocks" || row == "routine_budget";
}

}  // namespace ptx2spv::runtime
