// What the tests of asking share.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

#include "ptx2spv/profile.hpp"

namespace ptx2spv::runtime {

/// Rows whose answer is a time, which a busy machine changes: results do not depend on them.
inline bool timed(std::string_view row) {
  const Capability* capability = find_capability(row);
  const bool cost = capability && capability->group == Capability::Group::cost;
  return cost || row == "split_long_blocks" || row == "routine_budget";
}

/// Sets a variable for the length of a test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (old_.empty())
      ::unsetenv(name_);
    else
      ::setenv(name_, old_.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string old_;
};

}  // namespace ptx2spv::runtime
