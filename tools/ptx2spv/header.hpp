// Headers that a C or C++ host includes to launch a translated module.
#pragma once

#include <string>

#include "ptx2spv/translator.hpp"

namespace ptx2spv::tools {

/// C: the module as an array of words, and each kernel's parameter buffer as a packed struct with
/// its offsets checked. For hosts with a Vulkan runtime of their own (docs/interface.md).
std::string c_header(const Translation& translation, const std::string& file_name);

/// C++: a struct of typed fields for each kernel, whose args() makes the runtime's arguments.
std::string cpp_header(const Interface& interface, const std::string& file_name);

}  // namespace ptx2spv::tools
