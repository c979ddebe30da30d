// What the options of the sanitizer, of time limits and of executors take, in every tool that has
// them.
#pragma once

#include <string>

namespace ptx2spv::tools {

/// Each is empty where the value will do, else what is wrong with it.
std::string checks_problem(const std::string& value);
std::string exit_code_problem(const std::string& value);
std::string seconds_problem(const std::string& value);

/// The help of --suppressions.
inline constexpr const char* kSuppressionsHelp =
    "do not report what the list in this file covers (docs/user/sanitizer.md)";

/// The help of --executor.
inline constexpr const char* kExecutorHelp =
    "who runs kernels: auto (the default) lets the host run what a CPU driver rejects or compiles "
    "slowly; device, host: one of them alone, where it can";

}  // namespace ptx2spv::tools
