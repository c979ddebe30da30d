// Initial contents made real, and final contents written and compared.
#pragma once

#include <functional>
#include <string>

#include "tools/ptxrun/manifest.hpp"

namespace ptx2spv::tools {

/// The generator of the `pattern` contents: xorshift32 started at seed * 2654435761 + 1, bits 11 to
/// 18 of each step.
void fill_pattern(std::span<std::byte> bytes, std::uint32_t seed);

/// Value of the handle at a position of Init::handles.
using HandleValue = std::function<std::uint64_t(std::uint32_t)>;

/// Fills `bytes`, whose size is the resource's. `desc` is the surface's, or null. An error text is
/// located.
std::string make_contents(const Init& init, const ArrayDesc* desc, const HandleValue& handle,
                          std::span<std::byte> bytes);

/// What a surface of this form looks like as a picture, slices below each other. 8-bit formats as
/// they are (signed ones shifted by 128), wider integers by their upper byte, floats from 0 to 1;
/// or any format by `range`.
std::string make_picture(const ArrayDesc& desc, std::uint32_t level,
                         std::span<const std::byte> bytes,
                         const std::optional<std::pair<double, double>>& range, Bytes& png);

struct OutputResult {
  bool mismatch = false;
  std::string line;   ///< a report of what was done
  std::string error;  ///< I/O
};
/// Writes and compares one output. `bytes`: its final contents.
OutputResult finish_output(const OutputSpec& output, const ArrayDesc* desc, const Bytes& bytes);

}  // namespace ptx2spv::tools
