// The middle of measured times, and the mean of ratios.
#pragma once

#include <algorithm>
#include <cmath>
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

/// Of the ratios that were measured; negative when none was.
inline double geometric_mean(const std::vector<double>& ratios) {
  double sum = 0;
  int count = 0;
  for (const double ratio : ratios)
    if (ratio > 0) {
      sum += std::log(ratio);
      ++count;
    }
  return count ? std::exp(sum / count) : -1;
}

}  // namespace ptx2spv::bench
