// Times, the middle of several, and the mean of ratios.
#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <vector>

namespace ptx2spv::bench {

struct Times {
  double processor_ms = 0, wall_ms = 0;
};
/// Measures what `work` takes, in all threads of the process.
template <class Work>
Times timed(Work&& work) {
  const auto processor = [] {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
  };
  const auto begin = std::chrono::steady_clock::now();
  const double before = processor();
  work();
  const double after = processor();
  const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - begin;
  return {after - before, wall.count()};
}

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
