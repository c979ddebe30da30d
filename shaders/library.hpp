#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace ptx2spv::shaders {

// The SPIR-V of shaders/library.comp, with every function and name kept.
std::span<const std::uint32_t> library_words();

// A function of the same library that the processor runs. Values pass as words, truth values as 0
// and 1.
struct HostCall {
  std::string_view signature;  ///< its name, then its parameters' types: "f32_add_rz uint uint"
  void (*call)(std::uint32_t* result, const std::uint32_t* arguments);
};
std::span<const HostCall> library_host_calls();

}  // namespace ptx2spv::shaders
