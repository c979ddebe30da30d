// Where ptxas 13.0 departs from the manual and the translation does not follow it, as the recorded
// programs show: the text that means by the manual what ptxas makes of a program.
#pragma once

#include <string>
#include <vector>

namespace ptx2spv::tests {

struct Departures {
  std::string text;                  ///< of the program, changed
  std::vector<std::string> reasons;  ///< one for each kind of change; none: nothing was changed
};

Departures as_ptxas_takes(const std::string& text);

}  // namespace ptx2spv::tests
