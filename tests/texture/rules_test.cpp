// The rules of texture reads, as shaders/texture.glsl has them, against the record of an H200:
// coordinates, weights, sums and conversions, on the CPU. tests/device replays the record through
// translated kernels.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <random>

#include "src/array/texture.hpp"
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
  explicit Texture(const TextureSetup& setup) : s_(setup) {
    size_ = recorder::kTexelFormatBytes[static_cast<unsigned>(setup.format)];
    for (unsigned k = 0; k < std::max(setup.levels, 1u); ++k) {
      levels_.push_back({recorder::texture_bytes(setup, k),
                         {setup.level_width(k), setup.level_height(k),
                          setup.geometry == "3d" ? setup.level_depth(k) : 1}});
    }
    runtime::TextureSource source;
    source.geometry = s_.cube() ? Geometry::a2d : parse_geometry(s_.geometry).value();
    source.format = static_cast<abi::SurfaceFormat>(setup.format);
    source.channels = s_.channels;
    source.offsets.resize(levels_.size());
    source.width = setup.width;
    TextureDesc desc;
    desc.read_as_integer = s_.element;
    for (unsigned k = 0; k < 3; ++k) desc.address[k] = static_cast<AddressMode>(s_.address[k]);
    desc.srgb = s_.srgb;
    desc.normalized_coordinates = s_.normalized;
    desc.mipmap_bias = s_.bias, desc.min_level = s_.min_level, desc.max_level = s_.max_level;
    std::copy(s_.border, s_.border + 4, desc.border.begin());
    record_ = runtime::texture_record(source, desc);
    format_ = record_[abi::x_format];
    element_ = (record_[abi::x_sampler] & abi::sample_element) != 0;
    bias_ = record_[abi::x_lod_bias];
    low_ = record_[abi::x_lod_min];
    high_ = record_[abi::x_lod_max];
  }

  struct Point {
    uint coordinate[3] = {0, 0, 0}, offset[3] = {0, 0, 0}, layer = 0;
    bool integer = false, layer_inside = true;
    uint lod = 0;  ///< signed 256ths, before bias and clamps
    bool biased = false, clamped = false;
  };

  uint read(const Point& p, unsigned channel) const {
    if (channel >= record_[abi::x_channels]) return 0;
    const uvec2 at = glsl::tex_levels(p.lod, p.biased ? bias_ : 0, low_, high_);
    const bool mixed = s_.mip_linear && levels_.size() > 1 && (!element_ || format_ >= TEX_F16);
    const uint number = mixed ? at.x >> 8 : at.y, share = mixed ? at.x & 255 : 0;
    if (p.integer) return p.lod < levels_.size() ? fetch(p, levels_[p.lod], channel) : 0;
    if (s_.resource == "linear") return 0;
    const uint format = format_of(channel);
    uvec4 sums[4];
    uint total_integers = 0;
    std::optional<uint> single;
    for (uint k = 0; k < (share ? 2u : 1u); ++k) {
      const Level& level = levels_[number + k];
      const uint total = k ? share : 256 - share;
      uvec4 axis[3];
      axes(p, level, false, axis);
      const uvec4 near = plane_of(level, axis, axis[2].x, (axis[2].w & 1) != 0, p.layer, channel);
      if (!s_.linear && !mixed) return point(near.x, channel);
      const uvec4 far = plane_of(level, axis, axis[2].y, (axis[2].w & 2) != 0, p.layer, channel);
      const uint c = axis[2].z, deep = glsl::tex_share(c, total);
      const auto sum = [&](const uvec4& texels, uint weight) {
        if (!weight) return uvec4();
        const uvec4 weights = glsl::tex_weights(axis[0].z, axis[1].z, weight);
        if (weight == 256 && !srgb(channel) && format >= TEX_F16)
          single = format == TEX_F16 ? glsl::tex_plane_f16(texels, weights)
                                     : glsl::tex_plane_f32(texels, weights);
        total_integers += extended(texels.x) * weights.x + extended(texels.y) * weights.y +
                          extended(texels.z) * weights.z + extended(texels.w) * weights.w;
        return srgb(channel)       ? glsl::tex_srgb_sum(texels, weights)
               : format == TEX_F16 ? glsl::tex_sum_f16(texels, weights)
                                   : glsl::tex_sum_f32(texels, weights);
      };
      sums[2 * k] = sum(near, total - deep);
      sums[2 * k + 1] = sum(far, deep);
    }
    if (format < TEX_F16) return quotient(total_integers);
    // One plane of one level has a routine of its own, which gives what the sums do.
    if (single) {
      EXPECT_EQ(*single, glsl::tex_filtered_all(sums[0], sums[1], sums[2], sums[3], format));
      return *single;
    }
    if (s_.geometry == "3d")
      return glsl::tex_filtered_all(sums[0], sums[1], sums[2], sums[3], format);
    return glsl::tex_filtered(sums[0], sums[2], format);
  }

  uvec4 gather(const Point& p, unsigned channel) const {
    if (channel >= record_[abi::x_channels]) return {0, 0, 0, 0};
    const Level& level = levels_[0];
    uvec4 axis[3];
    axes(p, level, true, axis);
    const uvec4 t = plane_of(level, axis, axis[2].x, (axis[2].w & 1) != 0, p.layer, channel);
    // 8 signed bits come out of the filter.
    const auto one = [&](uint texel) {
      return format_ == kS8 && !element_ ? quotient(extended(texel) << 8) : point(texel, channel);
    };
    return {one(t.z), one(t.w), one(t.y), one(t.x)};
  }

 private:
  struct Level {
    std::vector<std::uint8_t> bytes;
    uint extent[3];
  };
  bool srgb(unsigned channel) const {
    return s_.srgb && s_.format == TexelFormat::u8 && !s_.element &&
           channel != (s_.channels == 2 ? 1u : 3u);
  }
  uint format_of(unsigned channel) const { return srgb(channel) ? TEX_F16 : format_; }
  static constexpr uint kU8 = 0, kU16 = 1, kS8 = 3, kS16 = 4;
  uint extended(uint raw) const {
    const auto sign = [&](int spare) {
      return static_cast<uint>(static_cast<std::int32_t>(raw << spare) >> spare);
    };
    return format_ == kS8 ? sign(24) : format_ == kS16 ? sign(16) : raw;
  }
  uint point(uint texel, unsigned channel, bool integer = false) const {
    if (srgb(channel)) return glsl::tex_srgb_point(texel);
    if (format_ == TEX_F16) return glsl::tex_point_f16(texel);
    if (element_ || size_ == 4) return extended(texel);
    if (format_ == kS8 && s_.mip_linear && s_.levels > 1 && !integer)
      return quotient(extended(texel) << 8);
    return format_ == kU8    ? glsl::tex_unorm8(texel)
           : format_ == kU16 ? glsl::tex_unorm16(texel)
           : format_ == kS8  ? glsl::tex_snorm8(extended(texel))
                             : glsl::tex_snorm16(extended(texel));
  }
  /// A filtered component of integers out of the sum of its texels.
  uint quotient(uint sum) const {
    return format_ == kU8    ? glsl::tex_quotient_u8(sum)
           : format_ == kS8  ? glsl::tex_quotient_s8(sum)
           : format_ == kS16 ? glsl::tex_quotient_s16(sum)
                             : glsl::tex_quotient_u16(sum);
  }
  uint fetch(const Point& p, const Level& level, unsigned channel) const {
    if (s_.geometry == "1d" && s_.resource != "linear") return 0;
    uvec2 at[3];
    bool inside = p.layer_inside;
    for (unsigned k = 0; k < 3; ++k) {
      if (k < s_.dimensions())
        at[k] = p.clamped ? glsl::tex_fetch_clamped(p.coordinate[k], level.extent[k], p.offset[k])
                          : glsl::tex_fetch(p.coordinate[k], level.extent[k], p.offset[k]);
      else
        at[k] = {0, 3};
      inside = inside && at[k].y != 0;
    }
    return inside ? point(raw(level, at[0].x, at[1].x, plane(at[2].x, p.layer), channel), channel,
                          true)
                  : 0;
  }
  /// One axis of a read: the two texels, the second one's weight in 256ths, and in bits 0 and 1
  /// whether they are texels (else the border).
  uvec4 axis(const Point& p, unsigned k, const uint* extents, bool gathers) const {
    const uint n = extents[k];
    const bool normalized = (record_[abi::x_sampler] & abi::sample_normalized) != 0 || s_.cube();
    const bool one = s_.geometry == "1d" && s_.levels == 0, linear = s_.linear || gathers;
    const uint mode = s_.seamless ? static_cast<uint>(abi::address_clamp)
                                  : record_[abi::x_sampler] >> (2 * k) & 3;
    uint largest = extents[0];
    if (!s_.cube() && s_.dimensions() > 1) largest = std::max(largest, extents[1]);
    if (k == 2) largest = n;
    const bool border = mode == abi::address_border, mirror = mode == abi::address_mirror;
    const bool repeats = normalized && (mirror || mode == abi::address_wrap);
    // A 1D texture is a row of a 2D one, read at y = 0.
    const uint x = s_.geometry == "1d" && k == 1 ? 0 : p.coordinate[k];
    const uint found = repeats      ? glsl::tex_at_repeated(x, n, largest, mirror, linear, one)
                       : normalized ? glsl::tex_at_bounded(x, n, largest, linear, one)
                                    : glsl::tex_at_texel(x, linear);
    auto at = static_cast<std::int32_t>(found + (p.offset[k] << 8));
    const auto last = static_cast<std::int32_t>(n) - 1;
    if (!gathers && !repeats && !border) at = glsl::clamp(at, 0, last * 256);
    // A texel without weight is the first one again.
    const std::int32_t first = at >> 8, second = gathers ? first + 1 : (at + 255) >> 8;
    const auto texel = [&](std::int32_t i) {
      const auto index = static_cast<uint>(i);
      if (!repeats) return static_cast<uint>(glsl::clamp(i, 0, last));
      return p.offset[k] ? glsl::tex_repeat(index, n, mirror)
                         : glsl::tex_repeat_near(index, n, mirror);
    };
    const auto inside = [&](std::int32_t i) { return !border || (i >= 0 && i <= last); };
    return {texel(first), texel(second), linear ? static_cast<uint>(at) & 255 : 0,
            (inside(first) ? 1u : 0u) | (inside(second) ? 2u : 0u)};
  }
  void axes(const Point& p, const Level& level, bool gathers, uvec4* found) const {
    const bool flat = s_.geometry == "1d";
    for (unsigned k = 0; k < 3; ++k) {
      found[k] = {0, 0, 0, 3};
      const unsigned count = s_.geometry == "3d" ? 3u : s_.cube() ? 2u : s_.dimensions();
      if (k < count || (k == 1 && flat)) found[k] = axis(p, k, level.extent, gathers);
    }
  }
  uint plane(uint z, uint layer) const { return s_.geometry == "3d" ? z : layer; }
  uint raw(const Level& level, uint x, uint y, uint z, unsigned channel) const {
    const std::size_t at =
        ((std::size_t{z} * level.extent[1] + y) * level.extent[0] + x) * s_.texel_bytes() +
        channel * size_;
    uint value = 0;
    for (unsigned b = 0; b < size_; ++b) value |= static_cast<uint>(level.bytes[at + b]) << (8 * b);
    return srgb(channel) ? runtime::srgb_entry(value) : value;
  }
  uint border(unsigned channel) const { return record_[abi::x_border + channel]; }
  uvec4 plane_of(const Level& level, const uvec4* axis, uint z, bool z_inside, uint layer,
                 unsigned channel) const {
    const auto tap = [&](unsigned column, unsigned row) {
      const bool inside = z_inside && (axis[0].w >> column & 1) != 0 && (axis[1].w >> row & 1) != 0;
      if (!inside) return border(channel);
      return raw(level, column ? axis[0].y : axis[0].x, row ? axis[1].y : axis[1].x,
                 plane(z, layer), channel);
    };
    return {tap(0, 0), tap(1, 0), tap(0, 1), tap(1, 1)};
  }

  TextureSetup s_;
  std::vector<Level> levels_;
  std::array<uint, abi::kTextureWords> record_{};
  uint format_ = 0, size_ = 1, low_ = 0, high_ = 0, bias_ = 0;
  bool element_ = false;
};

bool is_nan(uint bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

/// Integers mixed between levels: CUDA has no such texture, though the driver makes one.
bool integer_mix(const TextureSetup& s) {
  const bool integers =
      s.format != TexelFormat::f32 && s.format != TexelFormat::f16 &&
      (s.element || recorder::kTexelFormatBytes[static_cast<unsigned>(s.format)] == 4);
  return s.levels && s.mip_linear && integers;
}

/// What the rules give for a line, or nothing where they say nothing: queries, seamless cube maps,
/// several samples of an anisotropic read, gradients of cube maps.
std::optional<std::vector<uint>> evaluate(const TextureSection& section, const Texture& texture,
                                          const std::vector<uint>& operands) {
  const TextureSetup& s = section.setup;
  const auto parts = split(section.instruction, '.');
  const bool offset = section.instruction.ends_with(" offset");
  if ((s.seamless && s.linear) || parts[0] == "txq" || s.anisotropy > 1 || integer_mix(s))
    return std::nullopt;
  const bool mode = parts[1] == "level" || parts[1] == "base";
  const bool gathers = parts[0] == "tld4";
  const std::string result = parts[gathers || mode ? 4 : 3],
                    coordinates = split(parts[gathers || mode ? 5 : 4], ' ')[0];
  Texture::Point p;
  p.integer = coordinates == "s32";
  std::size_t at = 0;
  // Arrays have one sample, number 0.
  const bool sample = !parts[1].ends_with("dms") || operands[at++] == 0;
  p.layer_inside = sample;
  if (s.layered()) {
    const uint index = operands[at++];
    p.layer_inside = sample && index < s.depth;
    p.layer = std::min(index, s.depth - 1);
  }
  for (unsigned k = 0; k < s.dimensions(); ++k) p.coordinate[k] = operands[at++];
  if (parts[1] == "level") {
    p.clamped = p.integer;
    p.biased = true;
    if (p.integer) p.layer_inside = true;
    p.lod = p.integer ? operands[at] : glsl::tex_lod(operands[at]);
    ++at;
  }
  if (parts[1] == "grad") {
    p.biased = true;
    if (s.cube()) return std::nullopt;
    uint scaled[2][3] = {};
    for (unsigned g = 0; g < 2; ++g) {
      for (unsigned k = 0; k < s.dimensions(); ++k) {
        // What a NaN counts for in a volume is not known.
        if (s.geometry == "3d" && is_nan(operands[at])) return std::nullopt;
        const uint extent = k == 0 ? s.width : k == 1 ? s.height : s.depth;
        scaled[g][k] =
            glsl::tex_gradient(operands[at++], s.normalized || s.levels > 1 ? extent : 1);
      }
    }
    const uvec4 x(scaled[0][0], scaled[0][1], scaled[0][2], 0),
        y(scaled[1][0], scaled[1][1], scaled[1][2], 0);
    p.lod = s.geometry == "3d" ? glsl::tex_lod_volume(x, y) : glsl::tex_lod_gradient(x, y);
  }
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

struct Count {
  unsigned lines = 0, wide_sums = 0;
};

/// Compares every line of a record with the rules.
Count replay(const std::string& path) {
  Count count;
  std::string last;
  std::optional<Texture> texture;
  const bool found = read_record(path, [&](const TextureSection& section) {
    if (section.setup_text != last) texture.emplace(section.setup);
    last = section.setup_text;
    const TextureSetup& s = section.setup;
    const bool floats = section.instruction.find(".f32.") != std::string::npos;
    const auto same = [&](const std::vector<uint>& expected, const std::vector<uint>& actual) {
      bool equal = expected.size() == actual.size();
      for (std::size_t k = 0; equal && k < actual.size(); ++k)
        equal = expected[k] == actual[k] || (floats && is_nan(expected[k]) && is_nan(actual[k]));
      return equal;
    };
    for (std::size_t i = 0; i < section.operands.size(); ++i) {
      const auto expected = evaluate(section, *texture, section.operands[i]);
      if (!expected) continue;
      ++count.lines;
      if (same(*expected, section.results[i])) continue;
      // Texels over many powers of two: how the hardware adds two sums is not fully known.
      if (s.linear && (s.geometry == "3d" || s.levels) &&
          (s.data == recorder::TexelData::wide || s.data == recorder::TexelData::special)) {
        ++count.wide_sums;
        continue;
      }
      ADD_FAILURE() << describe_line(section, i, *expected);
    }
  });
  EXPECT_TRUE(found) << path;
  return count;
}

TEST(TextureRules, EqualTheRecord) {
  const Count count = replay(PTX2SPV_SOURCE_DIR "/tests/data/hardware/textures.txt.gz");
  EXPECT_GT(count.lines, 120000u);
  EXPECT_LE(count.wide_sums, 1u);
}

// What the sampler is given as it is needs no replacement.
// As far as a read is inside, and some way outside.
TEST(TextureRules, QuotientsByFusedFmaAreTheQuotients) {
  std::mt19937 random(7);
  for (uint extent = 1; extent <= 32768; ++extent)
    for (unsigned i = 0; i < 64; ++i) {
      const float share = std::uniform_real_distribution<float>(-1, 2)(random);
      const uint x = glsl::floatBitsToUint(share * static_cast<float>(extent));
      const uint largest = std::max(extent, i % 2 ? 1u : static_cast<uint>(random() % 32768));
      for (const bool linear : {false, true})
        ASSERT_EQ(glsl::tex_divided_fused(x, extent, largest, linear),
                  glsl::tex_divided(x, extent, largest, linear))
            << extent << ": " << share;
    }
  for (const uint beyond : {0x7f800000u, 0xff800000u, 0x7fffffffu, 0x7149f2cau, 0xf149f2cau})
    for (const bool linear : {false, true}) {
      const float a = glsl::uintBitsToFloat(glsl::tex_divided_fused(beyond, 640, 640, linear));
      const float b = glsl::uintBitsToFloat(glsl::tex_divided(beyond, 640, 640, linear));
      EXPECT_TRUE(std::isnan(b) ? std::isnan(a) : (a < -2 && b < -2) || (a > 2 && b > 2)) << b;
    }
}

TEST(TextureRules, OrdinaryDirectionsOfCubeMapsStay) {
  std::mt19937 rng(17);
  unsigned ordinary = 0;
  for (int i = 0; i < 200000; ++i) {
    std::array<uint, 3> way{};
    const auto exponent = static_cast<uint>(rng() % 256);
    for (uint& each : way) {
      const auto near =
          static_cast<uint>(static_cast<int>(exponent) + static_cast<int>(rng() % 9) - 4);
      const uint of = i % 5 == 0 ? static_cast<uint>(rng() % 256) : std::min(near, 255u);
      each = static_cast<uint>(rng() & 0x807fffffu) | of << 23;
      if (i % 11 == 0 && rng() % 3 == 0) each &= 0x80000000u;
    }
    if (!glsl::tex_cube_ordinary(way[0], way[1], way[2])) continue;
    ++ordinary;
    const uvec4 kept = glsl::tex_cube_direction(way[0], way[1], way[2]);
    ASSERT_TRUE(kept.x == way[0] && kept.y == way[1] && kept.z == way[2])
        << std::hex << way[0] << " " << way[1] << " " << way[2];
  }
  EXPECT_GT(ordinary, 50000u);
  EXPECT_LT(ordinary, 195000u);
}

TEST(TextureRules, EqualTheRecordOfLevels) {
  const Count count = replay(PTX2SPV_SOURCE_DIR "/tests/data/hardware/texture_levels.txt.gz");
  EXPECT_GT(count.lines, 89000u);
  EXPECT_LE(count.wide_sums, 19u);
}

}  // namespace
}  // namespace ptx2spv::tests
