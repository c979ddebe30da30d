// What the process may take of the machine.
#pragma once

#include <cstdint>
#include <string>

namespace ptx2spv::runtime {

/// The limits of the process's control groups and of the groups around them, of either version.
struct ControlGroups {
  std::string list = "/proc/self/cgroup";
  std::string root = "/sys/fs/cgroup";

  /// Bytes; UINT64_MAX without a limit.
  std::uint64_t memory() const;
  /// Whole processors whose time the quota comes to, rounded up; UINT64_MAX without a quota.
  std::uint64_t processors() const;
};

/// Bytes of the machine, or of the least limit of control groups and of the address space.
std::uint64_t host_memory();

/// Processors that the calling thread may run on, or that the control groups' quota comes to.
unsigned host_processors();

}  // namespace ptx2spv::runtime
