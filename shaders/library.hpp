#pragma once

#include <cstdint>
#include <span>

namespace ptx2spv::shaders {

// The SPIR-V of shaders/library.comp, with every function and name kept.
std::span<const std::uint32_t> library_words();

}  // namespace ptx2spv::shaders
