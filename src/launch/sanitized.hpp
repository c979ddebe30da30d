// What a launch with checks brings along: the table of allocations and the log of its faults.
#pragma once

#include <memory>
#include <vector>

#include "src/device/suppressions.hpp"
#include "src/launch/allocation_table.hpp"
#include "src/launch/facts.hpp"

namespace ptx2spv::runtime {

struct Slots;

struct SanitizedLaunch {
  std::shared_ptr<const AllocationTable> table;
  Memory log;     ///< kFaultWords for each site of the variant
  Memory shadow;  ///< of shared memory, for each workgroup of one dispatch; empty: none
  std::uint64_t shadow_bytes = 0;  ///< of one workgroup
  std::uint32_t dynamic_shared = 0;
  std::uint32_t checks = no_checks;
  std::uint32_t number = 0;  ///< in its records of races; 0: none are looked at
  Dim3 grid{}, block{};
  Suppressions suppressions;            ///< of this launch alone
  std::vector<std::uint64_t> pointers;  ///< the values of EntryInfo::sanitizer.pointer_params
};

/// Whether check_sync has anything to look for: operations that some threads may miss.
bool has_sync_to_check(const LaunchFacts& facts);
/// Sets what of the key the checks decide. An executor that does not look at synchronisation has a
/// line say so.
Result<std::shared_ptr<SanitizedLaunch>> prepare_checks(const LaunchFacts& facts,
                                                        const Slots& slots,
                                                        const std::vector<std::byte>& params,
                                                        bool looks_at_sync, Specialization& key);
/// Workgroups that a dispatch has at most, so that the shadow of their shared memory does not grow
/// too large; 0: any number.
std::uint64_t most_groups(const SanitizedLaunch* launch);
/// For a launch that is replayed: every replay would have the same number.
void ignore_global_races(const Variant& variant, SanitizedLaunch& launch,
                         std::vector<std::byte>& params);
/// Once the variant and its dispatches are known: the log, and the sanitizer's words of the
/// parameters.
Status allocate_checks(const KernelState& kernel, const Variant& variant, std::uint64_t groups,
                       SanitizedLaunch& launch, std::vector<std::byte>& params);
/// After the launch: prints and counts what is in the log, and clears it.
void read_fault_log(const ModuleState& module, const KernelState& kernel, const Variant& variant,
                    SanitizedLaunch& launch);
/// What traps with and without checks, and is a finding too: with check_sync a loop that waits for
/// other threads' stores, with any check that looks at memory a handle that was alive once.
void note_trap(const ModuleState& module, const SanitizedLaunch& launch, const TrapReport& trap);

}  // namespace ptx2spv::runtime
