// The middle of measured times.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace ptx2spv::bench {

/// Of an even count the upper of the two in the middle; -1 of none.
inline double median(std::vector<double> values) {
  if (values.empty()) return -1;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace ptx2spv::bench
