#include "src/device/host_runs.hpp"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>

namespace ptx2spv::runtime {

namespace {

/// Of all devices, since their states would each need one.
struct HostRuns {
  std::mutex mutex;
  std::condition_variable ended;
  std::uint64_t next = 0;
  std::map<std::uint64_t, const DeviceState*> all;  ///< by number
};
HostRuns& runs() {
  static auto* list = new HostRuns;  // threads may outlive statics
  return *list;
}

}  // namespace

HostRun::HostRun(const DeviceState& device) {
  std::lock_guard lock(runs().mutex);
  number_ = runs().next++;
  runs().all.emplace(number_, &device);
}

HostRun::~HostRun() {
  {
    std::lock_guard lock(runs().mutex);
    runs().all.erase(number_);
  }
  runs().ended.notify_all();
}

void wait_for_host_runs(const DeviceState& device) {
  std::unique_lock lock(runs().mutex);
  const std::uint64_t last = runs().next;
  runs().ended.wait(lock, [&] {
    return std::none_of(runs().all.begin(), runs().all.lower_bound(last),
                        [&](const auto& each) { return each.second == &device; });
  });
}

}  // namespace ptx2spv::runtime
