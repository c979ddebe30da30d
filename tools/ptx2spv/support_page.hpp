// The page of accepted instructions, which is made when ptx2spv is built.
#pragma once

#include <string>
#include <string_view>

namespace ptx2spv::tools {

/// docs/reference/support.md for the kind "support", nothing for any other.
std::string support_page(std::string_view kind);

}  // namespace ptx2spv::tools
