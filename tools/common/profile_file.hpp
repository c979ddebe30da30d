// Profiles from files: what `ptxrun --probe --json` wrote, or a table of a device's capabilities.
#pragma once

#include <string>

#include "ptx2spv/profile.hpp"

namespace ptx2spv::tools {

/// Reads a profile from a JSON object. "features" and "limits" have rows by name
/// (profiles.md); "answers" is a list of objects with "row" and "value", or an object like
/// "features". What is not named is as in the profile portable, or as in the named profile that
/// "like" says. The text is what is wrong, with the file's name; empty: nothing.
std::string read_profile(const std::string& file, Profile& profile);

/// The named profile, or that of a file where the name ends in .json. The text as above.
std::string find_or_read_profile(const std::string& name, Profile& profile);

}  // namespace ptx2spv::tools
