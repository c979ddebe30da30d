#include "tools/ptxrun/contents.hpp"

#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "tools/common/elements.hpp"
#include "tools/common/npy.hpp"
#include "tools/common/png.hpp"

namespace ptx2spv::tools {
namespace {

using Format = abi::SurfaceFormat;

// One component as a number; normalised formats from -1 or 0 to 1.
double component(Format format, const std::byte* at) {
  const ElementType type = element_type(component_type(format));
  const double value = element_value(type, element_bits(type, at));
  switch (format) {
    case Format::unorm8: return value / 255;
    case Format::snorm8: return value / 127;
    case Format::unorm16: return value / 65535;
    case Format::snorm16: return value / 32767;
    default: return value;
  }
}

std::pair<double, double> natural_range(Format format) {
  switch (format) {
    case Format::u8: return {0, 255};
    case Format::s8: return {-128, 127};
    case Format::u16: return {0, 65535};
    case Format::s16: return {-32768, 32767};
    case Format::u32: return {0, 4294967295.0};
    case Format::s32: return {-2147483648.0, 2147483647.0};
    case Format::snorm8:
    case Format::snorm16: return {-1, 1};
    default: return {0, 1};
  }
}

std::byte shade(double value, std::pair<double, double> range) {
  const double scaled = (value - range.first) / (range.second - range.first) * 255.0 + 0.5;
  if (!(scaled > 0)) return std::byte{0};
  return std::byte(scaled >= 255 ? 255 : int(scaled));
}

std::string from_picture(const Init& init, const ArrayDesc& desc, std::span<std::byte> bytes) {
  Bytes file;
  Picture picture;
  IoError error = read_file(init.path, file);
  if (error.empty()) error = read_png(file, desc.channels, picture);
  if (!error.empty()) return init.where + init.path + " " + error;
  const auto extent = level_extent(desc, 0);
  if (picture.width != extent[0] || picture.height != extent[1] * extent[2])
    return fmt::format("{}{} is {} x {}, the surface {} x {}", init.where, init.path, picture.width,
                       picture.height, extent[0], extent[1] * extent[2]);
  const std::uint32_t size = format_bytes(desc.format);
  for (std::size_t k = 0; k < picture.pixels.size(); ++k) {
    const auto value = std::uint32_t(picture.pixels[k]);
    std::uint32_t bits = value;
    switch (desc.format) {
      case Format::u8:
      case Format::unorm8: break;
      case Format::u16:
      case Format::u32: break;
      case Format::unorm16: bits = value * 257; break;
      case Format::f32: bits = std::bit_cast<std::uint32_t>(float(value) / 255.0f); break;
      default:
        return init.where + "a picture cannot fill the format " + ptx2spv::to_string(desc.format) +
               "; it can fill u8, u16, u32, unorm8, unorm16 and f32";
    }
    for (std::uint32_t b = 0; b < size; ++b) bytes[k * size + b] = std::byte(bits >> (8 * b));
  }
  return {};
}

}  // namespace

std::string component_type(abi::SurfaceFormat format) {
  const std::string name = ptx2spv::to_string(format);
  if (name.starts_with("unorm")) return "u" + name.substr(5);
  if (name.starts_with("snorm")) return "s" + name.substr(5);
  return name;
}

void fill_pattern(std::span<std::byte> bytes, std::uint32_t seed) {
  std::uint32_t state = seed * 2654435761u + 1u;
  for (std::byte& byte : bytes) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    byte = std::byte(state >> 11);
  }
}

std::string make_contents(const Init& init, const ArrayDesc* desc, const HandleValue& handle,
                          std::span<std::byte> bytes) {
  switch (init.kind) {
    case Init::Kind::zero: std::fill(bytes.begin(), bytes.end(), std::byte{0}); return {};
    case Init::Kind::pattern: fill_pattern(bytes, init.seed); return {};
    case Init::Kind::bytes:
      if (init.bytes.size() > bytes.size())
        return fmt::format("{}{} bytes do not fit {}", init.where, init.bytes.size(), bytes.size());
      if (init.bytes.size() == 1) {
        std::fill(bytes.begin(), bytes.end(), init.bytes[0]);
        return {};
      }
      for (std::size_t at = 0; at < bytes.size(); at += init.bytes.size())
        std::memcpy(bytes.data() + at, init.bytes.data(),
                    std::min(init.bytes.size(), bytes.size() - at));
      return {};
    case Init::Kind::handles: {
      if (init.handles.size() * 8 > bytes.size())
        return fmt::format("{}{} handles do not fit {} bytes", init.where, init.handles.size(),
                           bytes.size());
      std::fill(bytes.begin(), bytes.end(), std::byte{0});
      for (std::size_t k = 0; k < init.handles.size(); ++k) {
        const std::uint64_t value = init.handles[k] == kNullHandle ? 0 : handle(init.handles[k]);
        std::memcpy(bytes.data() + 8 * k, &value, 8);
      }
      return {};
    }
    case Init::Kind::png: return from_picture(init, *desc, bytes);
    case Init::Kind::raw:
    case Init::Kind::npy: break;
  }
  Bytes file;
  IoError error = read_file(init.path, file, bytes.size() + kMostHeader);
  Npy npy;
  if (error.empty() && init.kind == Init::Kind::npy) {
    error = read_npy(file, npy);
    file = std::move(npy.data);
  }
  if (error.empty() && file.size() != bytes.size())
    error = fmt::format("holds {} bytes of data, needed are {}", file.size(), bytes.size());
  if (!error.empty()) return init.where + init.path + " " + error;
  if (!file.empty()) std::memcpy(bytes.data(), file.data(), file.size());
  return {};
}

std::string make_picture(const ArrayDesc& desc, std::uint32_t level,
                         std::span<const std::byte> bytes,
                         const std::optional<std::pair<double, double>>& range, Bytes& png) {
  const auto extent = level_extent(desc, level);
  Picture picture{extent[0], extent[1] * extent[2], desc.channels, {}};
  const std::uint32_t size = format_bytes(desc.format);
  const bool as_is = !range && (desc.format == Format::u8 || desc.format == Format::unorm8);
  picture.pixels.resize(bytes.size() / size);
  const auto shades = range.value_or(natural_range(desc.format));
  for (std::size_t k = 0; k < picture.pixels.size(); ++k) {
    if (as_is) {
      picture.pixels[k] = bytes[k];
    } else if (!range && desc.format == Format::s8) {
      picture.pixels[k] = bytes[k] ^ std::byte{0x80};
    } else {
      picture.pixels[k] = shade(component(desc.format, bytes.data() + k * size), shades);
    }
  }
  return write_png(picture, png);
}

}  // namespace ptx2spv::tools
