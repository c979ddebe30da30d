// The forms in which a translation is written.
#pragma once

#include <string>

#include "tools/ptx2spv/settings.hpp"

namespace ptx2spv::tools {

/// The bytes of `translation` in the form asked for. Empty and an error on failure.
std::string render_output(Emit emit, const Translation& translation, const std::string& name,
                          std::string& error);
/// The ending of a file of this form, with its dot.
const char* output_ending(Emit emit);

}  // namespace ptx2spv::tools
