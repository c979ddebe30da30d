// From a trap record to a report with everything named.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "src/module/module.hpp"

namespace ptx2spv::runtime {

/// `params`: the launch's parameter bytes, where the handles of static surfaces stand.
/// PTX spreads a call over lines; a report has room for one.
std::string one_line(std::string_view text);
TrapReport make_report(const ModuleState& module, const KernelState& kernel, const Variant& variant,
                       std::span<const std::uint32_t> record, std::span<const std::byte> params);
/// The report as a launch's error.
Error trap_error(TrapReport report);

}  // namespace ptx2spv::runtime
