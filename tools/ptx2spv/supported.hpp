// The instruction table as text.
#pragma once

#include <string>

namespace ptx2spv::tools {

/// Every form that is accepted, one a line, with its PTX version and target; then what is refused
/// by name.
std::string supported_forms();

}  // namespace ptx2spv::tools
