// The rules of texture reads, as shaders/texture.glsl has them, against the record of an H200:
// coordinates, weights, sums and conversions, on the CPU. tests/device replays the record through
// translated kernels.
#include <gtest/gtest.h>

#include <optional>

#include "tests/shaders/glsl.hpp"
#include "tests/texture/record.hpp"

namespace ptx2spv::tests {
namespace {

using glsl::uint;
using glsl::uvec2;
using glsl::uvec4;
using recorder::TexelFormat;
using recorder::TextureSetup;

/// A texture in memory and its reads, in the same steps as the kernels that the translator makes.
class Texture {
 public:
  explicit Texture(const TextureSetup& setup)
      : s_(setup), bytes_(recorder::texture_bytes(setup, 0)) {
    static constexpr uint kFormats[] = {TEX_U8, TEX_U16, 2, TEX_S8, TEX_S16, 5, TEX_F16, TEX_F32};
    format_ = kFormats[static_cast<unsigned>(setup.format)];
    size_ = recorder::kTexelFormatBytes[static_cast<unsigned>(setup.format)];
    extent_[0] = setup.level_width(0);
    extent_[1] = setup.level_height(0);
    extent_[2] = setup.geometry == "3d" ? setup.level_depth(0) : 1;
  }

  struct Point {
    uint coordinate[3] = {0, 0, 0}, offset[3] = {0, 0, 0}, layer = 0;
    bool integer = false, layer_inside = true;
  };

  uint read(const Point& p, unsigned channel) const {
    if (channel >= s_.channels) return 0;
    if (p.integer) {
      if (s_.geometry == "1d" && s_.resource != "linear") return 0;
      uvec2 at[3];
      bool inside = p.layer_inside;
      for (unsigned k = 0; k < 3; ++k) {
        if (k < s_.dimensions())
          at[k] = glsl::tex_fetch(p.coordinate[k], extent_[k], p.offset[k]);
        else
          at[k] = {0, 3};
        inside = inside && at[k].y != 0;
      }
      return inside ? glsl::tex_point(raw(at[0].x, at[1].x, plane(at[2].x, p.layer), channel),
                                      format_, s_.element)
                    : 0;
    }
    if (s_.resource == "linear") return 0;
    uvec4 axis[3];
    axes(p, s_.linear ? 8 : 0, axis);
    const uvec4 near = plane_of(axis, axis[2].x, (axis[2].w & 1) != 0, p.layer, channel);
    if (!s_.linear) return glsl::tex_point(near.x, format_, s_.element || size_ == 4);
    const uvec4 far = plane_of(axis, axis[2].y, (axis[2].w & 2) != 0, p.layer, channel);
    const uint c = axis[2].z, present = present_of(axis);
    const uvec4 sum =
        glsl::tex_sum(near, glsl::tex_weights(axis[0].z, axis[1].z, 256 - c), present, format_);
    const uvec4 deep = glsl::tex_sum(far, glsl::tex_weights(axis[0].z, axis[1].z, c),
                                     c != 0 ? present : 0, format_);
    return glsl::tex_filtered(sum, deep, format_);
  }

  uvec4 gather(const Point& p, unsigned channel) const {
    uvec4 axis[3];
    axes(p, 8 | 32, axis);
    const uvec4 t = plane_of(axis, axis[2].x, (axis[2].w & 1) != 0, p.layer, channel);
    const bool element = s_.element || size_ == 4;
    if (channel >= s_.channels) return {0, 0, 0, 0};
    return {glsl::tex_point(t.z, format_, element), glsl::tex_point(t.w, format_, element),
            glsl::tex_point(t.y, format_, element), glsl::tex_point(t.x, format_, element)};
  }

 private:
  void axes(const Point& p, uint flags, uvec4* axis) const {
    const bool flat = s_.geometry == "1d";
    for (unsigned k = 0; k < 3; ++k) {
      const uint word = (s_.seamless ? static_cast<uint>(TEX_CLAMP) : s_.address[k]) |
                        (s_.normalized || s_.cube() ? 4u : 0u) | flags |
                        (s_.dimensions() == 1 ? 16u : 0u);
      axis[k] = {0, 0, 0, 3};
      // A 1D texture is a row of a 2D one, read at y = 0; its border shows where y's mode is
      // border.
      const bool row = k == 1 && flat;
      if (k < (s_.geometry == "3d" ? 3u : s_.cube() ? 2u : s_.dimensions()) || row) {
        axis[k] = glsl::tex_axis(row ? 0 : p.coordinate[k], extent_[k], word, p.offset[k]);
      }
    }
  }
  static uint present_of(const uvec4* axis) {
    const uint right = axis[0].z != 0 ? 10u : 0u, below = axis[1].z != 0 ? 12u : 0u;
    return 1u | (right & 2u) | (below & 4u) | (right & below & 8u);
  }
  uint plane(uint z, uint layer) const { return s_.geometry == "3d" ? z : layer; }
  uint raw(uint x, uint y, uint z, unsigned channel) const {
    const std::size_t at =
        ((std::size_t{z} * extent_[1] + y) * extent_[0] + x) * s_.texel_bytes() + channel * size_;
    uint value = 0;
    for (unsigned b = 0; b < size_; ++b) value |= static_cast<uint>(bytes_[at + b]) << (8 * b);
    return value;
  }
  uint border(unsigned channel) const {
    const float c = s_.border[channel];
    const uint bits = glsl::floatBitsToUint(c);
    if (s_.format == TexelFormat::f16) return glsl::f16_from_f32_rz(bits);
    if (size_ == 4) return bits;
    if (s_.element) return size_ == 1 ? bits & 0xff : bits & 0xffff;
    const bool is_signed = s_.format == TexelFormat::s8 || s_.format == TexelFormat::s16;
    const float most = static_cast<float>((1u << (8 * size_ - (is_signed ? 1 : 0))) - 1);
    const float clamped = std::min(std::max(c, is_signed ? -1.0f : 0.0f), 1.0f);
    return static_cast<uint>(static_cast<int>(std::floor(clamped * most + 0.5f))) &
           ((1u << (8 * size_)) - 1);
  }
  uvec4 plane_of(const uvec4* axis, uint z, bool z_inside, uint layer, unsigned channel) const {
    const auto tap = [&](unsigned column, unsigned row) {
      const bool inside = z_inside && (axis[0].w >> column & 1) != 0 && (axis[1].w >> row & 1) != 0;
      if (!inside) return border(channel);
      return raw(column ? axis[0].y : axis[0].x, row ? axis[1].y : axis[1].x, plane(z, layer),
                 channel);
    };
    return {tap(0, 0), tap(1, 0), tap(0, 1), tap(1, 1)};
  }

  TextureSetup s_;
  std::vector<std::uint8_t> bytes_;
  uint format_ = 0, size_ = 1;
  uint extent_[3] = {1, 1, 1};
};

bool is_nan(uint bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

/// What the rules give for a line, or nothing where they say nothing (levels of detail, queries,
/// sRGB).
std::optional<std::vector<uint>> evaluate(const TextureSection& section, const Texture& texture,
                                          const std::vector<uint>& operands) {
  const TextureSetup& s = section.setup;
  const auto parts = split(section.instruction, '.');
  const bool offset = section.instruction.ends_with(" offset");
  if (s.levels || s.srgb || (s.seamless && s.linear) || parts[0] == "txq" || parts[1] == "level" ||
      parts[1] == "grad" || parts[1] == "base")
    return std::nullopt;
  const bool gathers = parts[0] == "tld4";
  const std::string result = parts[gathers ? 4 : 3],
                    coordinates = split(parts[gathers ? 5 : 4], ' ')[0];
  Texture::Point p;
  p.integer = coordinates == "s32";
  std::size_t at = 0;
  if (s.layered()) {
    const uint index = operands[at++];
    p.layer_inside = index < s.depth;
    p.layer = std::min(index, s.depth - 1);
  }
  for (unsigned k = 0; k < s.dimensions(); ++k) p.coordinate[k] = operands[at++];
  if (s.cube()) {
    const uvec4 face = glsl::tex_cube(p.coordinate[0], p.coordinate[1], p.coordinate[2]);
    p.coordinate[0] = face.y, p.coordinate[1] = face.z;
    p.layer = p.layer * 6 + face.x;
  }
  for (unsigned k = 0; offset && k < s.dimensions(); ++k) {
    // 4 bits of an offset count, and 6 of a gather's. A 1D texture takes the next four for y.
    const unsigned spare = gathers ? 26 : 28;
    const auto cut = [&](uint v) {
      return static_cast<uint>(static_cast<std::int32_t>(v << spare) >> spare);
    };
    if (s.geometry == "1d") p.offset[1] = cut(operands[at] >> 4);
    p.offset[k] = cut(operands[at++]);
  }
  std::vector<uint> out(4);
  if (gathers) {
    const uvec4 four = texture.gather(p, static_cast<unsigned>(std::string("rgba").find(parts[1])));
    out = {four.x, four.y, four.z, four.w};
  } else {
    for (unsigned c = 0; c < 4; ++c) out[c] = texture.read(p, c);
  }
  if (result == "f16" || result == "f16x2") {
    for (uint& value : out) value = glsl::tex_half(value);
    if (result == "f16x2") out = {out[0] | out[1] << 16, out[2] | out[3] << 16};
  }
  return out;
}

std::string describe_line(const TextureSection& section, std::size_t line,
                          const std::vector<uint>& expected) {
  std::string text = section.setup_text + "\n" + section.instruction + " ";
  const auto words = [&](const std::vector<uint>& list) {
    char word[16];
    for (uint value : list) {
      std::snprintf(word, sizeof(word), "%x ", value);
      text += word;
    }
  };
  words(section.operands[line]);
  text += "gave ";
  words(section.results[line]);
  text += "and the rules ";
  words(expected);
  return text;
}

TEST(TextureRules, EqualTheRecord) {
  unsigned lines = 0, wide_volume = 0;
  std::string last;
  std::optional<Texture> texture;
  const bool found =
      read_record(PTX2SPV_SOURCE_DIR "/tests/data/hardware/textures.txt.gz",
                  [&](const TextureSection& section) {
                    if (section.setup_text != last) texture.emplace(section.setup);
                    last = section.setup_text;
                    const bool floats = section.instruction.find(".f32.") != std::string::npos;
                    for (std::size_t i = 0; i < section.operands.size(); ++i) {
                      const auto expected = evaluate(section, *texture, section.operands[i]);
                      if (!expected) continue;
                      ++lines;
                      const auto& actual = section.results[i];
                      bool same = expected->size() == actual.size();
                      for (std::size_t k = 0; same && k < actual.size(); ++k) {
                        same = (*expected)[k] == actual[k] ||
                               (floats && is_nan((*expected)[k]) && is_nan(actual[k]));
                      }
                      if (same) continue;
                      // Texels of a volume over many powers of two: how the hardware adds its two
                      // planes is not fully known.
                      const bool known = section.setup.geometry == "3d" && section.setup.linear &&
                                         (section.setup.data == recorder::TexelData::wide ||
                                          section.setup.data == recorder::TexelData::special);
                      if (known) {
                        ++wide_volume;
                        continue;
                      }
                      ADD_FAILURE() << describe_line(section, i, *expected);
                    }
                  });
  ASSERT_TRUE(found);
  EXPECT_GT(lines, 100000u);
  EXPECT_LE(wide_volume, 1u);
}

}  // namespace
}  // namespace ptx2spv::tests
