// What a texture record runs on: the description of a texture and the contents of its memory.
// Contents are computed from a seed, so the record holds descriptions and results only; recorder
// and replay share this file.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace ptx2spv::recorder {

/// In the order of abi::SurfaceFormat.
enum class TexelFormat : std::uint8_t {
#define PTX2SPV_FORMAT(name, bytes) name,
#include "ptx2spv/formats.def"
};
inline constexpr const char* kTexelFormatNames[] = {
#define PTX2SPV_FORMAT(name, bytes) #name,
#include "ptx2spv/formats.def"
};
inline constexpr unsigned kTexelFormatBytes[] = {
#define PTX2SPV_FORMAT(name, bytes) bytes,
#include "ptx2spv/formats.def"
};

/// bits: the generator's bits. unit: floats in [0, 1). wide: floats of either sign over 24 powers
/// of two. special: wide, with infinities, NaN, zeros and denormals among them. ramp: x, y, z,
/// level by channel. level: the level's number. count: the texel's number. cancel: odd slices are
/// the slices before them negated, nearly. step: 1 from the middle on, in x and in y by channel,
/// and the level. vee: the distance from the middle texel in x and in y, the level, and the product
/// of both ways.
enum class TexelData : std::uint8_t {
  bits,
  unit,
  wide,
  special,
  ramp,
  level,
  count,
  basis,
  basis_high,
  cancel,
  step,
  vee
};
inline constexpr const char* kTexelDataNames[] = {"bits",       "unit",   "wide",  "special",
                                                  "ramp",       "level",  "count", "basis",
                                                  "basis_high", "cancel", "step",  "vee"};

struct TextureSetup {
  std::string geometry = "2d";  ///< 1d 2d 3d a1d a2d cube acube
  TexelFormat format = TexelFormat::f32;
  unsigned channels = 1;
  unsigned width = 5, height = 3, depth = 2;  ///< depth: also layers
  unsigned levels = 0;                        ///< 0: no mipmapped array
  std::uint32_t seed = 1;
  TexelData data = TexelData::bits;
  std::string resource = "array";   ///< array, linear, pitched
  unsigned pitch = 0;               ///< of pitched memory; 0: a multiple of 512 bytes
  unsigned address[3] = {0, 0, 0};  ///< wrap clamp mirror border
  bool linear = false, mip_linear = false, element = true, normalized = false, srgb = false,
       seamless = false, full_trilinear = false;
  float bias = 0, min_level = 0, max_level = 0;
  unsigned anisotropy = 0;
  float border[4] = {0, 0, 0, 0};

  bool layered() const { return geometry[0] == 'a'; }
  bool cube() const { return geometry.find("cube") != std::string::npos; }
  unsigned dimensions() const {
    return geometry == "3d" || cube() ? 3 : geometry.find("2d") != std::string::npos ? 2 : 1;
  }
  unsigned texel_bytes() const {
    return kTexelFormatBytes[static_cast<unsigned>(format)] * channels;
  }
  unsigned level_width(unsigned level) const { return std::max(1u, width >> level); }
  unsigned level_height(unsigned level) const {
    return cube() ? level_width(level) : dimensions() < 2 ? 1 : std::max(1u, height >> level);
  }
  unsigned level_depth(unsigned level) const {
    if (cube()) return layered() ? 6 * depth : 6;
    return layered() ? depth : geometry == "3d" ? std::max(1u, depth >> level) : 1;
  }
};

/// The next 32 bits of the generator: xorshift32.
inline std::uint32_t next_bits(std::uint32_t& state) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

/// f32 to f16 for values that f16 holds exactly.
inline std::uint32_t exact_half(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  const std::uint32_t sign = bits >> 16 & 0x8000u, exponent = bits >> 23 & 255u,
                      mantissa = bits & 0x7fffffu;
  if (exponent == 255) return sign | 0x7c00u | mantissa >> 13;
  if (exponent < 113)
    return exponent < 102 ? sign : sign | (mantissa | 0x800000u) >> (126 - exponent);
  return sign | (exponent - 112) << 10 | mantissa >> 13;
}

/// One component, as the low bits of a word.
inline std::uint32_t texel_component(const TextureSetup& s, unsigned level, unsigned x, unsigned y,
                                     unsigned z, unsigned channel, std::uint32_t& state) {
  const std::uint32_t bits = next_bits(state) * 0x9e3779b1u;
  const bool half = s.format == TexelFormat::f16, real = half || s.format == TexelFormat::f32;
  auto number = [&](float value) -> std::uint32_t {
    if (!real) return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
    if (half) return exact_half(value);
    std::uint32_t word = 0;
    std::memcpy(&word, &value, 4);
    return word;
  };
  switch (s.data) {
    case TexelData::bits:
      return bits >> (32 - 8 * kTexelFormatBytes[static_cast<unsigned>(s.format)]);
    case TexelData::unit:
      return half ? number(static_cast<float>(bits >> 21) / 2048.0f)
                  : number(static_cast<float>(bits >> 8) / 16777216.0f);
    case TexelData::special:
      switch (bits % 23) {
        case 0: return half ? 0x7c00u : 0x7f800000u;
        case 1: return half ? 0xfc00u : 0xff800000u;
        case 2: return half ? 0x7e15u : 0x7fc12345u;
        case 3: return half ? 0xfd01u : 0xff912345u;
        case 4: return 0;
        case 5: return half ? 0x8000u : 0x80000000u;
        case 6:
        case 7: return bits >> 8 & (half ? 0x83ffu : 0x80007fffu);
        case 8: return half ? 0x7bffu : 0x7f7fffffu;
        case 9: return half ? 0xfbffu : 0xff7fffffu;
        default: break;
      }
      [[fallthrough]];
    case TexelData::wide:
      return half ? (bits >> 16 & 0x83ffu) | (3 + (bits >> 5) % 24) << 10
                  : (bits & 0x807fffffu) | (115 + (bits >> 23 & 255) % 24) << 23;
    case TexelData::ramp:
      return number(static_cast<float>(channel == 0   ? x
                                       : channel == 1 ? y
                                       : channel == 2 ? z
                                                      : level));
    case TexelData::basis:
    case TexelData::basis_high:
      return number((x % 2 + 2 * (y % 2)) == channel && z % 2 == (s.data == TexelData::basis_high)
                        ? 1.0f
                        : 0.0f);
    case TexelData::cancel: {
      // Up to 32 powers of two apart at random, else equal but for some low bits.
      std::uint32_t own = ((s.seed * 31 + y) * 4099 + x) * 2654435761u + channel + 1;
      const std::uint32_t even = next_bits(own) * 0x9e3779b1u;
      const std::uint32_t low = z % 2 ? (bits >> 27) % 24 : 0, other = bits & ((1u << low) - 1);
      const std::uint32_t apart = z % 2 && bits >> 3 & 1 ? (bits >> 4) % (half ? 14 : 32) : 0;
      if (half)
        return ((even >> 16 & 0x83ffu) ^ (z % 2 ? 0x8000u : 0u) ^ (other & 0x3ffu)) | (25 - apart)
                                                                                          << 10;
      return ((even & 0x807fffffu) ^ (z % 2 ? 0x80000000u : 0u) ^ (other & 0x7fffffu)) |
             (140 - apart) << 23;
    }
    case TexelData::level: return number(static_cast<float>(level));
    case TexelData::step:
      return number(channel == 0   ? (2 * x >= s.level_width(level) ? 1.0f : 0.0f)
                    : channel == 1 ? (2 * y >= s.level_height(level) ? 1.0f : 0.0f)
                                   : static_cast<float>(level));
    case TexelData::vee: {
      const float from_x = static_cast<float>(x) - static_cast<float>(s.level_width(level) / 2),
                  from_y = static_cast<float>(y) - static_cast<float>(s.level_height(level) / 2);
      return number(channel == 0   ? (from_x < 0 ? -from_x : from_x)
                    : channel == 1 ? (from_y < 0 ? -from_y : from_y)
                    : channel == 2 ? static_cast<float>(level)
                                   : from_x * from_y);
    }
    case TexelData::count: {
      const unsigned w = s.level_width(level), h = s.level_height(level);
      const unsigned number_of = (z * h + y) * w + x;
      return real ? number(static_cast<float>(number_of)) : number_of;
    }
  }
  return 0;
}

/// The bytes of one level, row-major without padding.
inline std::vector<std::uint8_t> texture_bytes(const TextureSetup& s, unsigned level) {
  std::uint32_t state = (s.seed + level) * 2654435761u + 1;
  const unsigned bytes = kTexelFormatBytes[static_cast<unsigned>(s.format)];
  std::vector<std::uint8_t> out;
  for (unsigned z = 0; z < s.level_depth(level); ++z) {
    for (unsigned y = 0; y < s.level_height(level); ++y) {
      for (unsigned x = 0; x < s.level_width(level); ++x) {
        for (unsigned c = 0; c < s.channels; ++c) {
          const std::uint32_t value = texel_component(s, level, x, y, z, c, state);
          for (unsigned b = 0; b < bytes; ++b)
            out.push_back(static_cast<std::uint8_t>(value >> (8 * b)));
        }
      }
    }
  }
  return out;
}

/// The setup as a line of the record.
inline std::string describe(const TextureSetup& s) {
  static constexpr const char* kAddress[] = {"wrap", "clamp", "mirror", "border"};
  char text[512];
  std::snprintf(text, sizeof(text),
                "%s%u %s w=%u h=%u d=%u levels=%u seed=%u data=%s resource=%s address=%s,%s,%s "
                "filter=%s read=%s "
                "coords=%s srgb=%d seamless=%d mip=%s trilinear=%d bias=%g min=%g max=%g aniso=%u "
                "border=%g,%g,%g,%g",
                kTexelFormatNames[static_cast<unsigned>(s.format)], s.channels, s.geometry.c_str(),
                s.width, s.height, s.depth, s.levels, s.seed,
                kTexelDataNames[static_cast<unsigned>(s.data)], s.resource.c_str(),
                kAddress[s.address[0]], kAddress[s.address[1]], kAddress[s.address[2]],
                s.linear ? "linear" : "point", s.element ? "element" : "normalized",
                s.normalized ? "normalized" : "texel", s.srgb, s.seamless,
                s.mip_linear ? "linear" : "point", s.full_trilinear, static_cast<double>(s.bias),
                static_cast<double>(s.min_level), static_cast<double>(s.max_level), s.anisotropy,
                static_cast<double>(s.border[0]), static_cast<double>(s.border[1]),
                static_cast<double>(s.border[2]), static_cast<double>(s.border[3]));
  // Later records have it; those before stay as they are.
  if (s.pitch) return std::string(text) + " pitch=" + std::to_string(s.pitch);
  return text;
}

}  // namespace ptx2spv::recorder
