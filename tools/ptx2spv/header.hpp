// Headers that a C or C++ host includes to launch a translated module.
#pragma once

#include <string>

#include "ptx2spv/translator.hpp"

namespace ptx2spv::tools {

/// C: the module as an array of words, each kernel's parameter buffer as a packed struct with its
/// offsets checked, the numbers of the binding interface, and the description as constants. For
/// hosts with a Vulkan runtime of their own (docs/reference/abi.md), which read no JSON.
std::string c_header(const Translation& translation, const std::string& file_name);

/// C++: a struct of typed fields for each kernel, whose args() makes the runtime's arguments.
std::string cpp_header(const Interface& interface, const std::string& file_name);

/// A C identifier made of any text.
std::string identifier(const std::string& text);
/// The types and numbers that every such header has, behind a guard of their own.
std::string binding_types();
/// The description as constants whose names begin with `name`.
std::string binding_tables(const Interface& interface, const std::string& name);

}  // namespace ptx2spv::tools
