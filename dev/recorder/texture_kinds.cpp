// Anisotropic reads of every kind of texture: without levels, of the nearest level, of lines,
// volumes and cube maps; and descriptions that a program would not write.
#include <array>
#include <cmath>

#include "dev/recorder/dice.hpp"
#include "dev/recorder/texture_coordinates.hpp"
#include "dev/recorder/texture_session.hpp"

namespace ptx2spv::recorder {
namespace {

constexpr std::array<std::array<float, 2>, 16> kLengths = {{{1.3f, 1.0f},
                                                            {2.0f, 1.0f},
                                                            {3.0f, 1.0f},
                                                            {5.5f, 1.0f},
                                                            {8.0f, 1.0f},
                                                            {20.0f, 1.0f},
                                                            {0.7f, 0.3f},
                                                            {1.3f, 0.25f},
                                                            {3.0f, 0.5f},
                                                            {5.0f, 0.0f},
                                                            {3.0f, 1.5f},
                                                            {6.0f, 2.0f},
                                                            {4.0f, 3.0f},
                                                            {9.0f, 4.0f},
                                                            {24.0f, 6.0f},
                                                            {2.4f, 2.2f}}};

/// A texture whose texels tell where a read's samples fall.
TextureSetup stepped(const std::string& geometry, unsigned extent, unsigned levels, bool mixed,
                     unsigned anisotropy) {
  auto s = levelled(geometry, extent, levels, TexelData::step);
  s.linear = false;
  s.mip_linear = mixed;
  s.anisotropy = anisotropy;
  if (s.layered()) s.depth = 2;
  return s;
}

/// Reads at every 64th of a texel along axis `along`, where the longer gradient lies too; the
/// shorter one lies along `across`.
void sweep(TextureSession& session, const TextureSetup& s, unsigned along, unsigned across,
           float longer, float shorter, bool second) {
  const auto instruction = texture_instruction("tex.grad", s.geometry, "f32.f32");
  const unsigned axes = s.dimensions();
  // A cube map's face +x has -z and -y for its axes, and two units of them in its extent.
  const auto place = [&](unsigned axis) { return s.cube() ? (axis ? 1u : 2u) : axis; };
  const float unit = (s.cube() ? 2.0f : 1.0f) / static_cast<float>(s.width);
  std::vector<std::uint32_t> at;
  const int reach = static_cast<int>((std::min(longer, 24.0f) / 2 + 2.5f) * 64);
  for (int i = -reach; i <= reach; ++i) {
    if (s.layered()) at.push_back(1);
    float point[3] = {0.4f, 0.4f, 0.4f};
    if (s.cube()) point[0] = 1.0f, point[1] = point[2] = -0.2f;
    point[place(along)] = (s.cube() ? 0.0f : 0.5f) + static_cast<float>(i) / 64.0f * unit;
    for (unsigned k = 0; k < axes; ++k) at.push_back(float_bits(point[k]));
    for (unsigned g = 0; g < 2; ++g) {
      const bool is_longer = (g == 0) != second;
      for (unsigned k = 0; k < axes; ++k) {
        const bool here = k == place(is_longer ? along : across);
        at.push_back(float_bits(here ? (is_longer ? longer : shorter) * unit : 0.0f));
      }
    }
  }
  session.run(s, instruction, at);
}

void planes(TextureSession& session) {
  struct Kind {
    unsigned levels;
    bool mixed;
  };
  for (const Kind kind : {Kind{0, true}, Kind{0, false}, Kind{1, true}, Kind{1, false},
                          Kind{7, false}, Kind{7, true}}) {
    for (const auto& [longer, shorter] : kLengths)
      sweep(session, stepped("2d", 64, kind.levels, kind.mixed, 16), 0, 1, longer, shorter, false);
    for (const unsigned most : {2u, 3u, 4u, 12u})
      for (const float shorter : {0.5f, 1.0f})
        sweep(session, stepped("2d", 64, kind.levels, kind.mixed, most), 0, 1, 6.0f, shorter,
              false);
  }
  // The longer gradient second, along y, of layers, and where extents differ.
  for (const float longer : {2.5f, 5.5f, 9.0f}) {
    sweep(session, stepped("2d", 64, 7, true, 16), 0, 1, longer, 1.2f, true);
    sweep(session, stepped("2d", 64, 7, true, 16), 1, 0, longer, 1.2f, false);
    sweep(session, stepped("a2d", 64, 7, true, 16), 0, 1, longer, 1.2f, false);
    auto s = stepped("2d", 64, 7, true, 16);
    s.height = 16;
    sweep(session, s, 0, 1, longer, 1.2f, false);
  }
}

void lines(TextureSession& session) {
  for (const std::string geometry : {"1d", "a1d"}) {
    for (const unsigned levels : {0u, 7u}) {
      for (const bool mixed : {true, false}) {
        for (const float longer : {0.7f, 1.3f, 2.0f, 3.0f, 5.5f, 8.0f, 20.0f}) {
          const auto s = stepped(geometry, 64, levels, mixed, 16);
          sweep(session, s, 0, 0, longer, 0.0f, false);
          if (longer == 3.0f || longer == 8.0f) {
            sweep(session, s, 0, 0, longer, 1.0f, false);
            sweep(session, s, 0, 0, longer, 2.0f, true);
            sweep(session, stepped(geometry, 64, levels, mixed, 4), 0, 0, longer, 0.0f, false);
          }
        }
      }
    }
  }
}

void volumes(TextureSession& session) {
  for (const unsigned levels : {0u, 6u}) {
    for (const bool mixed : {true, false}) {
      for (const auto& [longer, shorter] : kLengths) {
        if (longer > 10.0f) continue;
        const auto s = stepped("3d", 32, levels, mixed, 16);
        sweep(session, s, 0, 1, longer, shorter, false);
        sweep(session, s, 0, 2, longer, shorter, false);
        if (levels && mixed) {
          sweep(session, s, 1, 0, longer, shorter, false);
          auto ramp = s;
          ramp.data = TexelData::ramp;
          sweep(session, ramp, 2, 0, longer, shorter, false);
        }
      }
    }
  }
}

void cubes(TextureSession& session) {
  for (const unsigned levels : {0u, 7u}) {
    for (const bool mixed : {true, false}) {
      for (const auto& [longer, shorter] : kLengths) {
        if (longer > 10.0f) continue;
        sweep(session, stepped("cube", 64, levels, mixed, 16), 0, 1, longer, shorter, false);
        if (levels && mixed)
          sweep(session, stepped("cube", 64, levels, mixed, 16), 1, 0, longer, shorter, true);
      }
    }
  }
}

/// The level that lengths choose, in the mix of two: gradients along axes, then anyhow.
void levels_of_kinds(TextureSession& session) {
  Dice dice(41 + session.seed);
  for (const std::string geometry : {"1d", "a1d", "2d", "3d", "cube"}) {
    for (const unsigned most : {2u, 4u, 16u}) {
      auto s = levelled(geometry, 32, 6, TexelData::level);
      s.anisotropy = most;
      if (s.layered()) s.depth = 2;
      const unsigned axes = s.dimensions();
      const float unit = (s.cube() ? 2.0f : 1.0f) / static_cast<float>(s.width);
      std::vector<std::uint32_t> at;
      for (unsigned i = 0; i < 512; ++i) {
        if (s.layered()) at.push_back(1);
        if (s.cube()) {
          const float point[3] = {1.0f, 0.1f, -0.2f};
          for (const float each : point) at.push_back(float_bits(each));
        } else {
          for (unsigned k = 0; k < axes; ++k) at.push_back(float_bits(0.5f));
        }
        const float longer = std::exp2(dice.uniform(-1.0f, 5.0f)) * unit,
                    shorter = longer * std::exp2(-dice.uniform(0.0f, 5.0f));
        const unsigned first = dice.below(axes), other = axes > 1 ? dice.below(axes - 1) : 0;
        for (unsigned g = 0; g < 2; ++g) {
          const float length = g ? shorter : longer;
          const unsigned here = g ? (first + 1 + other) % axes : first;
          for (unsigned k = 0; k < axes; ++k)
            at.push_back(float_bits(i < 256 ? (k == here ? length : 0.0f)
                                            : dice.uniform(-1.0f, 1.0f) * length));
        }
      }
      session.run(s, texture_instruction("tex.grad", geometry, "f32.f32"), at);
    }
  }
}

}  // namespace

void anisotropic_kinds(TextureSession& session) {
  planes(session);
  lines(session);
  volumes(session);
  cubes(session);
  levels_of_kinds(session);
}

/// Biases, bounds and borders that are no numbers or no levels, and maxima of anisotropy that
/// there are not.
void odd_descriptions(TextureSession& session) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto reads = [] {
    std::vector<std::uint32_t> at;
    for (const float lod : {-2.0f, 0.0f, 0.75f, 2.0f, 3.5f, 9.0f, kInfinity, -kInfinity, NAN})
      for (const float each : {0.4f, 0.4f, lod}) at.push_back(float_bits(each));
    return at;
  }();
  const auto level = texture_instruction("tex.level", "2d", "f32.f32"),
             plain = texture_instruction("tex", "2d", "f32.f32");
  for (const bool mixed : {true, false}) {
    for (const float bias : {0.0f, NAN, kInfinity, -kInfinity, 20.0f, -1.25f}) {
      for (const float low : {0.0f, NAN, kInfinity, -1.0f, 2.5f, 3.0f}) {
        for (const float high : {20.0f, NAN, kInfinity, -1.0f, 1.5f, 2.0f}) {
          auto s = levelled("2d", 32, 6, TexelData::level);
          s.mip_linear = mixed;
          s.bias = bias;
          s.min_level = low;
          s.max_level = high;
          session.run(s, level, reads);
          if (bias == 0.0f) session.run(s, plain, {float_bits(0.4f), float_bits(0.4f)});
        }
      }
    }
  }
  for (const unsigned most : {0u, 1u, 17u, 31u, 255u}) {
    auto s = stepped("2d", 64, 7, true, most);
    std::vector<std::uint32_t> at;
    for (int i = -320; i <= 320; i += 4)
      for (const float each :
           {0.5f + static_cast<float>(i) / 4096.0f, 0.4f, 0.125f, 0.0f, 0.0f, 0.015625f})
        at.push_back(float_bits(each));
    session.run(s, texture_instruction("tex.grad", "2d", "f32.f32"), at);
  }
  for (const auto format :
       {TexelFormat::f32, TexelFormat::f16, TexelFormat::u8, TexelFormat::s16, TexelFormat::u32}) {
    for (const float colour : {NAN, kInfinity, -kInfinity, 1e-40f, 65535.0f, -3e5f}) {
      for (const bool linear : {false, true}) {
        if (linear && format == TexelFormat::u32) continue;
        TextureSetup s;
        s.width = s.height = 4;
        s.format = format;
        s.channels = 4;
        s.data = format == TexelFormat::f32 || format == TexelFormat::f16 ? TexelData::unit
                                                                          : TexelData::bits;
        s.element = format == TexelFormat::u32;
        s.linear = linear;
        s.address[0] = s.address[1] = 3;
        s.border[0] = colour;
        s.border[1] = -colour;
        s.border[2] = s.border[3] = 0.5f;
        std::vector<std::uint32_t> at;
        for (const float x : {-1.5f, -0.25f, 0.25f, 1.5f, 3.75f})
          for (const float each : {x, 1.25f}) at.push_back(float_bits(each));
        session.run(
            s, texture_instruction("tex", "2d", format == TexelFormat::u32 ? "u32.f32" : "f32.f32"),
            at);
      }
    }
  }
}

}  // namespace ptx2spv::recorder
