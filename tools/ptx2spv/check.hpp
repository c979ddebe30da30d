// --check: what of many files translates.
#pragma once

#include <string>
#include <vector>

#include "tools/ptx2spv/settings.hpp"

namespace ptx2spv::tools {

/// Prints the report to standard output. The exit code: 0 all translated, 3 not all, 2 a file could
/// not be read, 4 all translated and not all checked by the validator, which was to check them.
int check_files(const Settings& settings, const std::vector<std::string>& files);

/// Where a kernel or function is defined in PTX text, for telling whose fault a message is.
struct Definition {
  std::string name;
  bool kernel = false;
  std::uint32_t first_line = 0, last_line = 0;
  std::size_t begin = 0, end = 0;  ///< in the text
};
std::vector<Definition> find_definitions(std::string_view text);

}  // namespace ptx2spv::tools
