// A launch manifest to fill in, made of what a PTX module declares.
#pragma once

#include <string>

#include "ptx2spv/translator.hpp"

namespace ptx2spv::tools {

/// A manifest for `file` with a launch of every kernel: surfaces, textures and buffers by the names
/// of the parameters that take them, zeros for numbers, and outputs for what kernels write.
/// `schema` is what "$schema" says, left out when empty. What has to be filled in is listed in
/// "description".
std::string draft_manifest(const Interface& interface, const std::string& file,
                           const std::string& schema);

}  // namespace ptx2spv::tools
