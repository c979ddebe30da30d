// The page of known devices, which is made when ptxrun is built.
#pragma once

#include <string>
#include <string_view>

namespace ptx2spv::tools {

/// docs/develop/known-devices.md for the kind "known-devices", nothing for any other.
std::string known_devices_page(std::string_view kind);

}  // namespace ptx2spv::tools
