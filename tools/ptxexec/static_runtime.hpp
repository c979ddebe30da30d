#pragma once

#include <string>

namespace ptx2spv::tools {

/// Whether the executable that `name` finds on the PATH has NVIDIA's runtime library linked into
/// it.
bool has_static_runtime(const std::string& name);

}  // namespace ptx2spv::tools
