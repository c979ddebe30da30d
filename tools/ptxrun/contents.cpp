#include "tools/ptxrun/contents.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "tools/common/npy.hpp"
#include "tools/common/png.hpp"
#include "tools/common/sha256.hpp"

namespace ptx2spv::tools {
namespace {

using Format = abi::SurfaceFormat;

double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double value = exponent == 0    ? std::ldexp(mantissa, -24)
                 : exponent == 31 ? (mantissa ? std::nan("") : HUGE_VAL)
                                  : std::ldexp(1024 + mantissa, exponent - 25);
  return bits & 0x8000 ? -value : value;
}

// One component as a number; normalised formats from -1 or 0 to 1.
double component(Format format, const std::byte* at) {
  std::uint8_t u8 = 0;
  std::uint16_t u16 = 0;
  std::uint32_t u32 = 0;
  switch (format_bytes(format)) {
    case 1: std::memcpy(&u8, at, 1); break;
    case 2: std::memcpy(&u16, at, 2); break;
    default: std::memcpy(&u32, at, 4); break;
  }
  switch (format) {
    case Format::u8: return u8;
    case Format::s8: return std::int8_t(u8);
    case Format::unorm8: return u8 / 255.0;
    case Format::snorm8: return std::int8_t(u8) / 127.0;
    case Format::u16: return u16;
    case Format::s16: return std::int16_t(u16);
    case Format::unorm16: return u16 / 65535.0;
    case Format::snorm16: return std::int16_t(u16) / 32767.0;
    case Format::f16: return half_value(u16);
    case Format::u32: return u32;
    case Format::s32: return std::int32_t(u32);
    case Format::f32: return std::bit_cast<float>(u32);
  }
  return 0;
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

/// What a file of data may be longer than its data: NumPy's header, gzip's.
constexpr std::uint64_t kMostHeader = 1 << 16;

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
    return init.where + init.path + " is " + std::to_string(picture.width) + " x " +
           std::to_string(picture.height) + ", the surface " + std::to_string(extent[0]) + " x " +
           std::to_string(extent[1] * extent[2]);
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
        return init.where + "a picture cannot fill the format " + to_string(desc.format) +
               "; it can fill u8, u16, u32, unorm8, unorm16 and f32";
    }
    for (std::uint32_t b = 0; b < size; ++b) bytes[k * size + b] = std::byte(bits >> (8 * b));
  }
  return {};
}

std::string report_difference(std::span<const std::byte> got, std::span<const std::byte> wanted) {
  if (got.size() != wanted.size())
    return std::to_string(got.size()) + " bytes instead of " + std::to_string(wanted.size());
  std::size_t first = 0, count = 0;
  for (std::size_t k = 0; k < got.size(); ++k) {
    if (got[k] == wanted[k]) continue;
    if (!count) first = k;
    ++count;
  }
  if (!count) return {};
  char buffer[96];
  std::snprintf(buffer, sizeof buffer,
                "%zu bytes differ, the first at %zu: 0x%02x instead of 0x%02x", count, first,
                unsigned(got[first]), unsigned(wanted[first]));
  return buffer;
}

}  // namespace

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
        return init.where + std::to_string(init.bytes.size()) + " bytes do not fit " +
               std::to_string(bytes.size());
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
        return init.where + std::to_string(init.handles.size()) + " handles do not fit " +
               std::to_string(bytes.size()) + " bytes";
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
    error = "holds " + std::to_string(file.size()) + " bytes of data, needed are " +
            std::to_string(bytes.size());
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

OutputResult finish_output(const OutputSpec& output, const ArrayDesc* desc, const Bytes& bytes) {
  OutputResult result;
  result.line = std::string(output.kind_name()) + " " + output.name;
  const auto wrote = [&](const std::string& path, std::span<const std::byte> data) {
    const IoError error = write_file(path, data);
    if (!error.empty()) {
      result.error = output.where + path + ": " + error;
      return;
    }
    result.line += ", wrote " + path;
  };
  if (!output.raw.empty()) wrote(output.raw, bytes);
  if (!output.npy.empty()) {
    std::string type = desc ? to_string(desc->format) : output.dtype;
    if (type.starts_with("unorm")) type = "u" + type.substr(5);
    if (type.starts_with("snorm")) type = "s" + type.substr(5);
    const std::uint32_t size = type_bytes(type);
    if (bytes.size() % size) {
      result.error =
          output.where + std::to_string(bytes.size()) + " bytes are no whole number of " + type;
    } else {
      wrote(output.npy, write_npy(npy_descr(type),
                                  desc ? npy_shape(*desc, output.level)
                                       : std::vector<std::uint64_t>{bytes.size() / size},
                                  bytes));
    }
  }
  if (!output.png.empty()) {
    Bytes png;
    const std::string error = make_picture(*desc, output.level, bytes, output.range, png);
    if (error.empty()) {
      wrote(output.png, png);
    } else {
      result.error = output.where + error;
    }
  }
  if (!output.sha256.empty()) {
    const std::string digest = sha256_hex(bytes);
    result.mismatch = digest != output.sha256;
    result.line += result.mismatch ? ", sha256 " + digest + " instead of " + output.sha256
                                   : ", sha256 matches";
  }
  if (!output.expect.empty()) {
    Bytes wanted;
    const bool picture_file = output.expect.ends_with(".png");
    IoError error = picture_file ? read_file(output.expect, wanted)
                                 : read_file(output.expect, wanted, bytes.size() + kMostHeader);
    Picture picture;
    Bytes got = bytes;
    if (error.empty() && output.expect.ends_with(".npy")) {
      Npy npy;
      error = read_npy(wanted, npy);
      wanted = std::move(npy.data);
    } else if (error.empty() && output.expect.ends_with(".png")) {
      if (!desc) {
        error = "is a picture, the output is not a surface";
      } else {
        error = read_png(wanted, desc->channels, picture);
        wanted = std::move(picture.pixels);
        Bytes png;
        if (error.empty()) error = make_picture(*desc, output.level, bytes, output.range, png);
        if (error.empty()) error = read_png(png, desc->channels, picture);
        got = std::move(picture.pixels);
      }
    }
    if (!error.empty()) {
      result.error = output.where + output.expect + " " + error;
    } else if (const std::string difference = report_difference(got, wanted); !difference.empty()) {
      result.mismatch = true;
      result.line += ", " + output.expect + ": " + difference;
    } else {
      result.line += ", equals " + output.expect;
    }
  }
  return result;
}

}  // namespace ptx2spv::tools
