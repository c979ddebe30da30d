// Initial contents made real, and contents shown as pictures.
#pragma once

#include <functional>
#include <string>

#include "tools/ptxrun/manifest.hpp"

namespace ptx2spv::tools {

/// What a file of data may be longer than its data: NumPy's header, gzip's.
inline constexpr std::uint64_t kMostHeader = 1 << 16;

/// The type of a texel's components in files, u8 ... f32; normalised ones are the integers that
/// they are made of.
std::string component_type(abi::SurfaceFormat format);

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

}  // namespace ptx2spv::tools
