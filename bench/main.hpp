// What the benchmarks without operands do before they run.
#pragma once

#include <string>

#include "tools/common/options.hpp"

namespace ptx2spv::bench {

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
