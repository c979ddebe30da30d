// The page of CUDA's functions, which is made when ptxexec is built.
#pragma once

#include <string>
#include <string_view>

namespace ptx2spv::tools {

/// docs/reference/cuda-functions.md for the kind "cuda-functions", nothing for any other.
std::string functions_page(std::string_view kind);

}  // namespace ptx2spv::tools
