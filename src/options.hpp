// Environment variables, all of them in options.def.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ptx2spv::runtime {

enum class Option {
#define PTX2SPV_OPTION(name, variable, form, fallback, help) name,
#include "src/options.def"
#undef PTX2SPV_OPTION
};

/// The variable's value, empty where it is not set.
std::string_view option_text(Option option);
/// Set to anything but 0, no, off or false; `fallback` where it is not set.
bool option_flag(Option option, bool fallback);
/// The variable's number; `fallback` where it is not set, or no number that it may be.
std::uint64_t option_number(Option option, std::uint64_t fallback);
/// What is wrong with the first variable that has a value which it may not have; empty where all
/// are right.
std::string wrong_option();

}  // namespace ptx2spv::runtime
