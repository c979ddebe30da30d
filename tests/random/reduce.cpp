#include "tests/random/reduce.hpp"

#include <algorithm>

namespace ptx2spv::test {

namespace {

/// Where a list of statements stands: a unit, then alternately a statement and one of its bodies.
using Path = std::vector<std::size_t>;

std::vector<Statement>& list_at(RandomKernel& kernel, const Path& path) {
  std::vector<Statement>* list = &kernel.units[path[0]].body;
  for (std::size_t i = 1; i + 1 < path.size(); i += 2) list = &(*list)[path[i]].bodies[path[i + 1]];
  return *list;
}

void collect(const std::vector<Statement>& list, const Path& at, std::vector<Path>& out) {
  out.push_back(at);
  for (std::size_t i = 0; i < list.size(); ++i)
    for (std::size_t b = 0; b < list[i].bodies.size(); ++b) {
      Path inner = at;
      inner.push_back(i);
      inner.push_back(b);
      collect(list[i].bodies[b], inner, out);
    }
}

class Reducer {
 public:
  Reducer(RandomKernel kernel, const std::function<bool(const RandomKernel&)>& fails,
          unsigned attempts)
      : kernel_(std::move(kernel)), fails_(fails), attempts_(attempts) {}

  RandomKernel run() {
    while (attempts_ && (functions() || lists() || hoists() || blocks())) {
    }
    return std::move(kernel_);
  }

 private:
  bool take(RandomKernel candidate) {
    if (attempts_ == 0) return false;
    --attempts_;
    if (!fails_(candidate)) return false;
    kernel_ = std::move(candidate);
    return true;
  }

  bool functions() {
    bool any = false;
    for (std::size_t i = kernel_.units.size() - 1; i-- > 0;) {
      RandomKernel candidate = kernel_;
      candidate.units.erase(candidate.units.begin() + static_cast<std::ptrdiff_t>(i));
      any = take(std::move(candidate)) || any;
    }
    return any;
  }

  /// Leaves out runs of statements, long ones first.
  bool lists() {
    bool any = false;
    std::vector<Path> paths;
    for (std::size_t u = 0; u < kernel_.units.size(); ++u)
      collect(kernel_.units[u].body, {u}, paths);
    for (const Path& path : paths)
      for (std::size_t run = list_at(kernel_, path).size(); run; run /= 2)
        for (std::size_t at = 0; at + run <= list_at(kernel_, path).size();) {
          RandomKernel candidate = kernel_;
          auto& list = list_at(candidate, path);
          const bool compound = has_bodies(list);
          const auto first = list.begin() + static_cast<std::ptrdiff_t>(at);
          list.erase(first, first + static_cast<std::ptrdiff_t>(run));
          if (!take(std::move(candidate))) {
            at += run;
            continue;
          }
          any = true;
          if (compound) return true;  // places further on have moved
        }
    return any;
  }

  static bool has_bodies(const std::vector<Statement>& list) {
    return std::any_of(list.begin(), list.end(), [](const auto& s) { return !s.bodies.empty(); });
  }

  /// A statement gives way to one of its bodies.
  bool hoists() {
    std::vector<Path> paths;
    for (std::size_t u = 0; u < kernel_.units.size(); ++u)
      collect(kernel_.units[u].body, {u}, paths);
    for (const Path& path : paths)
      for (std::size_t i = 0; i < list_at(kernel_, path).size(); ++i)
        for (std::size_t b = 0; b < list_at(kernel_, path)[i].bodies.size(); ++b) {
          RandomKernel candidate = kernel_;
          auto& list = list_at(candidate, path);
          const std::vector<Statement> inner = list[i].bodies[b];
          list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
          list.insert(list.begin() + static_cast<std::ptrdiff_t>(i), inner.begin(), inner.end());
          if (take(std::move(candidate))) return true;
        }
    return false;
  }

  bool blocks() {
    if (kernel_.grid == 1) return false;
    RandomKernel candidate = kernel_;
    candidate.grid = 1;
    return take(std::move(candidate));
  }

  RandomKernel kernel_;
  const std::function<bool(const RandomKernel&)>& fails_;
  unsigned attempts_;
};

}  // namespace

RandomKernel reduce(RandomKernel kernel, const std::function<bool(const RandomKernel&)>& fails,
                    unsigned attempts) {
  return Reducer(std::move(kernel), fails, attempts).run();
}

}  // namespace ptx2spv::test
