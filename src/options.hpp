// Environment variables and the keys of PTX2SPV_DEBUG, all of them in options.def.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ptx2spv::runtime {

enum class Option {
#define PTX2SPV_OPTION(name, variable, form, fallback, help) name,
#define PTX2SPV_DEBUG_KEY(name, key, form, fallback, help) name,
#include "src/options.def"
};

/// The setting's value, empty if it is not set.
std::string_view option_text(Option option);
/// Set to anything but 0, no, off or false; `fallback` if it is not set.
bool option_flag(Option option, bool fallback);
/// The setting's number; `fallback` if it is not set, or not a number that it may be.
std::uint64_t option_number(Option option, std::uint64_t fallback);
/// What is wrong with the first setting that has a value which it may not have, or with a key that
/// does not exist; empty if all are right.
std::string wrong_option();

}  // namespace ptx2spv::runtime
