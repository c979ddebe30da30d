#include "src/device/host_limits.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

namespace ptx2spv::runtime {

namespace {

/// A file's numbers, UINT64_MAX for each that is missing or not one ("max", or -1 for no quota).
struct Numbers {
  std::uint64_t first = UINT64_MAX, second = UINT64_MAX;
  explicit Numbers(const std::string& path) {
    std::ifstream in(path);
    for (std::uint64_t* each : {&first, &second})
      if (std::int64_t number = 0; in >> number && number >= 0)
        *each = static_cast<std::uint64_t>(number);
  }
};

std::uint64_t memory_limit(const std::string& group, bool unified) {
  return Numbers(group + (unified ? "/memory.max" : "/memory.limit_in_bytes")).first;
}

/// Microseconds of processor time in each period of so many.
std::uint64_t processor_limit(const std::string& group, bool unified) {
  Numbers quota(group + (unified ? "/cpu.max" : "/cpu.cfs_quota_us"));
  if (!unified) quota.second = Numbers(group + "/cpu.cfs_period_us").first;
  if (quota.first == UINT64_MAX || quota.second == UINT64_MAX || quota.second == 0)
    return UINT64_MAX;
  return std::max<std::uint64_t>(quota.first / quota.second + (quota.first % quota.second != 0), 1);
}

using Limit = std::uint64_t (*)(const std::string& group, bool unified);

std::uint64_t least_around(const std::string& root, std::string path, Limit limit, bool unified) {
  std::uint64_t least = UINT64_MAX;
  for (;;) {
    least = std::min(least, limit(root + path, unified));
    const auto slash = path.rfind('/');
    if (slash == std::string::npos) return least;
    path.erase(slash);
  }
}

/// A line of the list is NUMBER:CONTROLLERS:/PATH; version 2 has no controllers.
std::uint64_t least(const ControlGroups& groups, const std::string& controller, Limit limit) {
  std::uint64_t found = UINT64_MAX;
  std::ifstream list(groups.list);
  for (std::string line; std::getline(list, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",,")
      found = std::min(found, least_around(groups.root, path, limit, true));
    else if (controllers.find("," + controller + ",") != std::string::npos)
      found = std::min(found, least_around(groups.root + "/" + controller, path, limit, false));
  }
  return found;
}

}  // namespace

std::uint64_t ControlGroups::memory() const { return least(*this, "memory", memory_limit); }

std::uint64_t ControlGroups::processors() const { return least(*this, "cpu", processor_limit); }

std::uint64_t host_memory() {
  const auto machine = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                       static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  rlimit space{};
  const bool limited = ::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY;
  return std::min({machine, ControlGroups().memory(), limited ? space.rlim_cur : UINT64_MAX});
}

unsigned host_processors() {
  static const std::uint64_t quota = ControlGroups().processors();
  cpu_set_t allowed;
  const unsigned processors = ::sched_getaffinity(0, sizeof allowed, &allowed) == 0
                                  ? static_cast<unsigned>(CPU_COUNT(&allowed))
                                  : std::max(std::thread::hardware_concurrency(), 1u);
  return static_cast<unsigned>(std::min<std::uint64_t>(processors, quota));
}

}  // namespace ptx2spv::runtime
