// Environment variables, all of them in options.def.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ptx2spv::runtime {

enum class Option {
#define PTX2SPV_OPTION(name, variable, fallback, help) name,
#include "src/options.def"
#undef PTX2SPV_OPTION
};

struct OptionRow {
  const char *name, *variable, *fallback, *help;
};

/// The variable's value, empty where it is not set.
std::string_view option_text(Option option);
/// Set to anything but 0, no, off or false; `fallback` where it is not set.
bool option_flag(Option option, bool fallback);

}  // namespace ptx2spv::runtime
