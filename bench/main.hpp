// What the benchmarks without operands do before they run, and the options that several have.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tools/common/options.hpp"

namespace ptx2spv::bench {

/// --device, of the benchmarks that measure one.
constexpr tools::Option device_option(int id) {
  return {id,
          'd',
          "device",
          "NAME",
          "the device, as PTX2SPV_DEVICE names it; swiftshader when not given",
          "gpu,cpu,swiftshader,lavapipe"};
}
/// --kernels: `help` says which files are looked for there.
constexpr tools::Option folder_option(int id, std::string_view help) {
  return {id, 0, "kernels", "FOLDER", help, "file"};
}
constexpr tools::Option json_option(int id) {
  return {id, 0, "json", "", "print JSON instead of tables"};
}
inline constexpr tools::ExitCode kUsageExit = {2, "usage, or something needed is not there"};
inline constexpr tools::ExitCode kMeasuredExits[] = {{0, "measured"}, kUsageExit};
inline constexpr tools::ExitCode kComparedExits[] = {
    {0, "measured, all results equal"}, {1, "results differ"}, kUsageExit};

/// A number of at least 1.
inline unsigned positive(const std::string& value) {
  return static_cast<unsigned>(std::max(1, std::atoi(value.c_str())));
}

/// kernels/ beside the program.
inline std::string own_kernels() {
  std::error_code ignored;
  return (std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "kernels")
      .string();
}

/// What the benchmarks of one device and a folder of kernels are told.
enum DeviceOptionId : int { opt_device = 1, opt_rounds, opt_folder };
struct DeviceRun {
  std::string device = "swiftshader", folder = own_kernels();
  unsigned rounds = 15;

  explicit DeviceRun(const tools::ParsedCommand& command) {
    for (const tools::ParsedOption& option : command.options) switch (option.id) {
        case opt_device: device = option.value; break;
        case opt_rounds: rounds = positive(option.value); break;
        case opt_folder: folder = option.value; break;
        default: break;
      }
  }
};
/// --rounds: `what` takes turns.
constexpr tools::Option rounds_option(std::string_view help) {
  return {opt_rounds, 'r', "rounds", "N", help};
}

/// Parses the command and hands it to `run`, whose exit code it returns; 2 for a usage error.
template <class Run>
int bench_main(const tools::Tool& tool, int argc, char** argv, Run&& run) {
  const tools::ParsedCommand command = tools::parse_command(tool, argc, argv);
  std::string error = command.error;
  if (error.empty() && !command.operands.empty())
    error = "unexpected operand " + command.operands[0];
  if (!error.empty()) return tools::usage_error(tool, error), 2;
  int exit = 0;
  if (tools::handle_common(tool, command, exit)) return exit;
  return run(command);
}

}  // namespace ptx2spv::bench
