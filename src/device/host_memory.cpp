#include "src/device/host_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace ptx2spv::runtime {

namespace {

/// The least limit of a group and of those around it. A file that is not there, or says "max", is
/// no limit.
std::uint64_t limit_of_group(const std::string& root, std::string path, const char* file) {
  std::uint64_t least = UINT64_MAX;
  for (;;) {
    std::ifstream in(root + path + "/" + file);
    if (std::uint64_t bytes = 0; in >> bytes) least = std::min(least, bytes);
    const auto slash = path.rfind('/');
    if (slash == std::string::npos) return least;
    path.erase(slash);
  }
}

/// A line of /proc/self/cgroup is NUMBER:CONTROLLERS:/PATH; version 2 has no controllers.
std::uint64_t limit_of_groups() {
  std::uint64_t least = UINT64_MAX;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",,")
      least = std::min(least, limit_of_group("/sys/fs/cgroup", path, "memory.max"));
    else if (controllers.find(",memory,") != std::string::npos)
      least =
          std::min(least, limit_of_group("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes"));
  }
  return least;
}

}  // namespace

std::uint64_t host_memory() {
  const auto machine = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                       static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  rlimit space{};
  const bool limited = ::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY;
  return std::min({machine, limit_of_groups(), limited ? space.rlim_cur : UINT64_MAX});
}

}  // namespace ptx2spv::runtime
