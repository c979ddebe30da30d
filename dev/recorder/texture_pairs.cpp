// Texture instructions of one geometry on textures of another kind: `recorder texture-pairs`.
#include <array>

#include "dev/recorder/dice.hpp"
#include "dev/recorder/texture_coordinates.hpp"
#include "dev/recorder/texture_session.hpp"

namespace ptx2spv::recorder {
namespace {

struct Kind {
  const char *geometry, *resource;
  unsigned width, height, depth, levels;
};
constexpr Kind kKinds[] = {
    {"1d", "array", 6, 1, 1, 0},   {"2d", "array", 5, 3, 1, 0},   {"2d", "array", 6, 1, 1, 0},
    {"3d", "array", 5, 3, 4, 0},   {"3d", "array", 5, 3, 1, 0},   {"a1d", "array", 6, 1, 3, 0},
    {"a2d", "array", 5, 3, 4, 0},  {"cube", "array", 4, 4, 1, 0}, {"acube", "array", 3, 3, 2, 0},
    {"1d", "linear", 6, 1, 1, 0},  {"2d", "pitched", 5, 3, 1, 0}, {"1d", "array", 6, 1, 1, 2},
    {"2d", "array", 6, 4, 1, 2},   {"3d", "array", 6, 4, 4, 2},   {"a2d", "array", 6, 4, 3, 2},
    {"cube", "array", 4, 4, 1, 2}, {"a1d", "array", 6, 1, 3, 2},
};
constexpr unsigned kDescriptions = 5;

TextureSetup setup_of(const Kind& kind, unsigned description) {
  TextureSetup s;
  s.geometry = kind.geometry;
  s.resource = kind.resource;
  s.width = kind.width;
  s.height = kind.height;
  s.depth = kind.depth;
  s.levels = kind.levels;
  s.channels = 2;
  s.data = TexelData::unit;
  s.seed = 9000 + description;
  s.max_level = 8;
  const auto modes = [&](unsigned mode) { std::fill(s.address, s.address + 3, mode); };
  modes(1);
  switch (description) {
    case 0: break;
    case 1: s.linear = true; break;
    case 2: s.linear = s.normalized = s.mip_linear = true, modes(0); break;
    case 3:
      s.normalized = true, modes(3);
      for (unsigned k = 0; k < 4; ++k) s.border[k] = 0.25f + static_cast<float>(k);
      break;
    default:
      s.format = TexelFormat::u8, s.channels = 4, s.data = TexelData::bits;
      s.linear = s.normalized = true, s.element = false;
      s.address[0] = 0, s.address[1] = 2, s.address[2] = 3;
      s.border[1] = 0.75f;
      break;
  }
  return s;
}

/// Coordinates inside and around the texture, layers first.
std::vector<std::uint32_t> coordinates(const TextureSetup& s, const std::string& geometry,
                                       bool integers, bool level, unsigned count) {
  Dice dice(s.seed + static_cast<unsigned>(geometry.size()) * 31 + (integers ? 7 : 0));
  const bool cube = geometry.find("cube") != std::string::npos;
  const unsigned axes = geometry == "3d" || cube                   ? 3
                        : geometry.find("2d") != std::string::npos ? 2
                                                                   : 1;
  const unsigned extents[] = {s.width, s.level_height(0), s.level_depth(0)};
  std::vector<std::uint32_t> out;
  for (unsigned n = 0; n < count; ++n) {
    static constexpr std::uint32_t kLayers[] = {0, 1, 2, 3, 5, 65535, 0xffffffffu, 6};
    if (geometry[0] == 'a') out.push_back(kLayers[n % 8]);
    for (unsigned axis = 0; axis < axes; ++axis) {
      const auto extent = static_cast<float>(extents[axis]);
      // One coordinate in six lies outside.
      const bool outside = (n + axis) % 6 == 5;
      float at =
          cube ? dice.uniform(-1.0f, 1.0f)
               : dice.uniform(outside ? -1.5f * extent : 0.0f, outside ? 2.5f * extent : extent);
      if (n % 4 == 1 && !cube) at = std::floor(at) + 0.5f;
      if (integers) {
        out.push_back(static_cast<std::uint32_t>(static_cast<std::int32_t>(std::floor(at))));
      } else {
        out.push_back(float_bits(s.normalized && !cube ? at / extent : at));
      }
    }
    if (level) out.push_back(integers ? n % 3 : float_bits(static_cast<float>(n % 5) * 0.4f));
  }
  return out;
}

}  // namespace

unsigned texture_pair_sections() {
  return static_cast<unsigned>(std::size(kKinds)) * kDescriptions;
}

void texture_pairs(TextureSession& session, unsigned section) {
  const TextureSetup s = setup_of(kKinds[section / kDescriptions], section % kDescriptions);
  for (const char* query : {"width", "height", "depth"})
    session.run(s, texture_query(query, false), {});
  for (const char* query : {"width", "height", "depth"})
    session.run(s, texture_query(query, true), {0, 1, 2});
  for (const std::string geometry : {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"}) {
    const bool cube = geometry.find("cube") != std::string::npos;
    session.run(s, texture_instruction("tex", geometry, "f32.f32"),
                coordinates(s, geometry, false, false, 48));
    session.run(s, texture_instruction("tex.level", geometry, "f32.f32"),
                coordinates(s, geometry, false, true, 24));
    if (geometry == "2d" || geometry == "a2d" || cube)
      session.run(s, texture_instruction("tld4.g", geometry, "f32.f32"),
                  coordinates(s, geometry, false, false, 24));
    if (cube) continue;
    session.run(s, texture_instruction("tex", geometry, "f32.s32"),
                coordinates(s, geometry, true, false, 32));
    session.run(s, texture_instruction("tex.level", geometry, "f32.s32"),
                coordinates(s, geometry, true, true, 16));
  }
}

}  // namespace ptx2spv::recorder
