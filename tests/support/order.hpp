// Whether what atomics found and left can have come about one after the other.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace ptx2spv::test {

/// What one atomic found in a word and what it left there.
struct Step {
  std::uint64_t found = 0, left = 0;
};

/// Whether an order of all steps leads from `first` to `last`: a path through a graph of values
/// that takes every edge once (Euler).
inline bool has_order(std::uint64_t first, std::uint64_t last, const std::vector<Step>& steps) {
  std::map<std::uint64_t, std::int64_t> surplus;
  std::multimap<std::uint64_t, std::uint64_t> ways;
  for (const Step& each : steps) {
    ++surplus[each.found];
    --surplus[each.left];
    ways.insert({each.found, each.left});
  }
  --surplus[first];
  ++surplus[last];
  for (const auto& [value, count] : surplus)
    if (count != 0) return false;
  std::map<std::uint64_t, bool> reached{{first, true}};
  std::vector<std::uint64_t> open{first};
  while (!open.empty()) {
    const auto [begin, end] = ways.equal_range(open.back());
    open.pop_back();
    for (auto way = begin; way != end; ++way)
      if (reached.insert({way->second, true}).second) open.push_back(way->second);
  }
  for (const Step& each : steps)
    if (!reached.contains(each.found)) return false;
  return true;
}

}  // namespace ptx2spv::test
