// Kernels found by the name that their author wrote.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/demangled.hpp"

namespace ptx2spv::tools {

using runtime::demangled;

/// The name for a message: "'_Z4blury' (blur(unsigned long long))", or "'blur'".
std::string shown_name(const std::string& name);

/// A kernel of `names` by its own name, or where that is none of them, by what its author wrote:
/// with arguments, "blur(int)"; without, "filters::blur<4>"; without template arguments,
/// "filters::blur"; or the last part, "blur". Returns its position. Where none or several fit, -1,
/// and `problem` says so and lists the kernels.
int find_entry_name(const std::vector<std::string>& names, std::string_view wanted,
                    std::string& problem);

}  // namespace ptx2spv::tools
