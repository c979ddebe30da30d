// Sections that each answer one question: how levels mix where anisotropy is asked for, what
// precision wide arrays keep on their levels, which face far directions meet, where the samples of
// an anisotropic read lie, and which level two vectors choose.
#include <array>
#include <cmath>

#include "dev/recorder/dice.hpp"
#include "dev/recorder/texture_coordinates.hpp"
#include "dev/recorder/texture_session.hpp"

namespace ptx2spv::recorder {
namespace {

constexpr float kTurn = 6.2831853f;

void put(std::vector<std::uint32_t>& at, std::initializer_list<float> list) {
  for (const float each : list) at.push_back(float_bits(each));
}

TextureInstruction gradients_of(const TextureSetup& s) {
  return texture_instruction("tex.grad", s.geometry, "f32.f32");
}

/// Distances from the middle texel: the spread of samples around it is what a read gives.
TextureSetup spread(const std::string& geometry, unsigned width, unsigned height) {
  auto s = levelled(geometry, width, 0, TexelData::vee);
  s.height = height;
  s.channels = 4;
  s.anisotropy = 16;
  if (s.layered()) s.depth = 2;
  return s;
}

/// Two vectors around the middle of a plane, in texels.
class Plane {
 public:
  explicit Plane(const TextureSetup& s)
      : x_(1.0f / static_cast<float>(s.width)), y_(1.0f / static_cast<float>(s.height)) {
    middle_ = {(static_cast<float>(s.width / 2) + 0.5f) * x_,
               (static_cast<float>(s.height / 2) + 0.5f) * y_};
  }
  void add(float ax, float ay, float bx, float by) {
    put(at, {middle_[0], middle_[1], ax * x_, ay * y_, bx * x_, by * y_});
  }
  std::vector<std::uint32_t> at;

 private:
  float x_, y_;
  std::array<float, 2> middle_;
};

/// Pairs of vectors of any kind: anyhow, at right angles, parallel, along the axes.
void random_pairs(Plane& plane, Dice& dice, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    const float longer = std::exp2(dice.uniform(-1.0f, 5.5f)),
                shorter = longer * std::exp2(-dice.uniform(0.0f, 5.0f)),
                angle = dice.uniform(0.0f, kTurn);
    float turn = kTurn / 4;
    if (i % 4 == 0) turn = dice.uniform(0.0f, kTurn);
    if (i % 16 == 1) turn = 0;
    const float first = i % 8 == 2 ? std::floor(dice.uniform(0.0f, 4.0f)) * kTurn / 4 : angle;
    float parts[4] = {longer * std::cos(first), longer * std::sin(first),
                      shorter * std::cos(first + turn), shorter * std::sin(first + turn)};
    if (i % 4 == 3)
      for (float& each : parts) each = dice.uniform(-1.0f, 1.0f) * longer;
    const unsigned swap = dice.chance(50) ? 2 : 0;
    plane.add(parts[swap], parts[swap + 1], parts[2 - swap], parts[3 - swap]);
  }
}

}  // namespace

void anisotropic_directions(TextureSession& session) {
  Dice dice(43 + session.seed);
  const auto s = spread("2d", 64, 64);
  const auto run = [&](const TextureSetup& setup, const Plane& plane) {
    session.run(setup, gradients_of(setup), plane.at);
  };
  // One vector at every angle.
  for (const float length : {1.5f, 2.5f, 4.0f, 8.0f, 15.0f, 40.0f}) {
    Plane plane(s);
    for (unsigned i = 0; i < 1024; ++i) {
      const float angle = (static_cast<float>(i) + dice.uniform(0.0f, 1.0f)) * kTurn / 1024;
      plane.add(length * std::cos(angle), length * std::sin(angle), 0, 0);
    }
    run(s, plane);
  }
  // One component against the other.
  for (unsigned k = 0; k < 16; ++k) {
    Plane plane(s);
    for (unsigned i = 0; i < 640; ++i) {
      const float a = 8.0f + static_cast<float>(k) / 2, b = static_cast<float>(i) / 32;
      if (i % 2) {
        plane.add(a, b, 0, 0);
      } else {
        plane.add(b, a, 0, 0);
      }
    }
    run(s, plane);
  }
  // Any two vectors, where the extents differ too, and of fewer samples.
  Plane pairs(s);
  random_pairs(pairs, dice, 16384);
  run(s, pairs);
  const auto other = spread("2d", 128, 32);
  Plane unequal(other);
  random_pairs(unequal, dice, 4096);
  run(other, unequal);
  for (const unsigned most : {2u, 4u, 6u, 8u, 10u, 12u, 16u}) {
    auto fewer = s;
    fewer.anisotropy = most;
    Plane plane(fewer);
    random_pairs(plane, dice, 1024);
    // Along an axis, where only numbers and weights matter.
    for (unsigned i = 0; i < 1024; ++i)
      plane.add(std::exp2(dice.uniform(0.0f, 5.0f)), 0, 0, std::exp2(dice.uniform(-1.0f, 2.0f)));
    run(fewer, plane);
  }
}

void cube_directions(TextureSession& session) {
  Dice dice(47 + session.seed);
  for (const bool levels : {false, true}) {
    auto s = spread("cube", 64, 64);
    if (levels) {
      s.levels = 7;
      s.data = TexelData::level;
      s.channels = 1;
    }
    for (const unsigned kind : {0u, 1u, 2u, 3u}) {
      std::vector<std::uint32_t> at;
      for (unsigned i = 0; i < 4096; ++i) {
        const unsigned major = dice.below(3);
        const float length = std::exp2(dice.uniform(-1.0f, 4.0f)) / 32.0f;
        float v[3] = {0.015625f, 0.015625f, 0.015625f};
        // At the middle, anywhere, near an edge.
        for (float& each : v) {
          if (kind == 2) each = dice.uniform(-0.9f, 0.9f);
          if (kind == 3) each = dice.uniform(-1.0f, 1.0f);
          if (kind < 2 && dice.chance(50)) each = -each;
        }
        v[major] = dice.chance(50) ? 1.0f : -1.0f;
        for (const float each : v) at.push_back(float_bits(each));
        for (unsigned g = 0; g < 2; ++g)
          for (unsigned k = 0; k < 3; ++k)
            at.push_back(float_bits(kind == 0 && k == major ? 0.0f
                                    : g && i % 4 == 0       ? 0.0f
                                                            : dice.uniform(-1.0f, 1.0f) * length));
      }
      session.run(s, gradients_of(s), at);
    }
  }
}

/// The level that two vectors choose.
void footprints(TextureSession& session) {
  Dice dice(53 + session.seed);
  for (const unsigned most : {1u, 2u, 4u, 6u, 8u, 10u, 12u, 16u}) {
    auto s = levelled("2d", 64, 7, TexelData::level);
    s.anisotropy = most;
    s.full_trilinear = true;
    Plane plane(s);
    random_pairs(plane, dice, most == 1 ? 16384 : 6144);
    if (most == 16)
      for (unsigned i = 0; i < 4096; ++i)
        plane.add(std::exp2(dice.uniform(2.0f, 5.0f)), 0, dice.uniform(0.0f, 4.0f),
                  std::exp2(dice.uniform(1.0f, 3.0f)));
    session.run(s, gradients_of(s), plane.at);
  }
  const auto s = levelled("3d", 32, 6, TexelData::level);
  std::vector<std::uint32_t> at;
  for (unsigned i = 0; i < 8192; ++i) {
    put(at, {0.5f, 0.5f, 0.5f});
    for (unsigned g = 0; g < 2; ++g) {
      const float length = std::exp2(dice.uniform(-1.0f, 5.0f)) / 32.0f;
      for (unsigned k = 0; k < 3; ++k) put(at, {dice.uniform(-1.0f, 1.0f) * length});
    }
  }
  session.run(s, gradients_of(s), at);
}

/// Levels by number where samples may be several: how two levels mix.
void level_mixes(TextureSession& session) {
  Dice dice(59 + session.seed);
  for (const std::string geometry : {"1d", "2d", "3d", "cube", "a1d", "a2d", "acube"}) {
    const auto instruction = texture_instruction("tex.level", geometry, "f32.f32");
    const auto place = [&](const TextureSetup& s, std::vector<std::uint32_t>& at) {
      if (s.layered()) at.push_back(dice.below(s.depth));
      for (unsigned k = 0; k < s.dimensions(); ++k)
        put(at, {dice.uniform(s.cube() ? -1.0f : 0.0f, 1.0f)});
    };
    for (unsigned most = 1; most <= 17; ++most) {
      auto s = levelled(geometry, 16, 5, TexelData::level);
      if (s.layered()) s.depth = 2;
      s.anisotropy = most;
      std::vector<std::uint32_t> at;
      for (int i = -64; i < 256 * 2; ++i) {
        place(s, at);
        put(at, {static_cast<float>(i) / 256.0f + (i % 3 ? 0.0f : 0.001f)});
      }
      session.run(s, instruction, at);
      if (most % 4 != 2) continue;
      // Filters, bounds and contents.
      for (unsigned variant = 0; variant < 8; ++variant) {
        auto t = s;
        t.data = TexelData::unit;
        t.seed = dice.bits() >> 8;
        t.linear = variant % 2 == 0;
        t.mip_linear = variant != 3;
        t.full_trilinear = variant == 5;
        if (variant == 6) t.format = TexelFormat::u8, t.data = TexelData::bits;
        if (variant >= 2) t.bias = 0.375f, t.min_level = 0.625f, t.max_level = 2.4375f;
        at.clear();
        for (unsigned i = 0; i < 48; ++i) {
          place(t, at);
          put(at, {dice.uniform(-1.0f, 5.0f)});
        }
        session.run(t, instruction, at);
        at.clear();
        for (unsigned i = 0; i < 8; ++i) place(t, at);
        session.run(t, texture_instruction("tex", geometry, "f32.f32"), at);
        session.run(t, texture_instruction("tex.base", geometry, "f32.f32"), at);
      }
    }
  }
}

/// Arrays whose extents are beyond 8,192, with all their levels.
void wide_levels(TextureSession& session) {
  Dice dice(61 + session.seed);
  static constexpr std::array kGeometries = {"1d", "1d", "2d", "2d", "a1d", "a2d", "3d", "tall"};
  static constexpr std::array kWidths = {8191u,  8192u,  8193u,  16383u, 16384u,
                                         16385u, 32767u, 32768u, 15850u, 19963u};
  for (unsigned i = 0; i < 160; ++i) {
    const std::string kind = kGeometries[i % 8];
    const unsigned width = i / 8 < 10 ? kWidths[i / 8] : 4096 + dice.below(28673);
    TextureSetup s = levelled(kind == "tall" ? "2d" : kind, 8, 0, TexelData::count);
    s.width = kind == "3d" ? std::min(width, 16384u) : width;
    s.height = s.dimensions() > 1 ? 1 + dice.below(6) : 1;
    s.depth = kind == "3d" ? 1 + dice.below(4) : s.layered() ? 2 : 1;
    if (kind == "tall") std::swap(s.width, s.height);
    s.levels = dice.chance(15) ? 0 : 1 + dice.below(15);
    while (s.levels > 1 && std::max(s.width, s.height) >> (s.levels - 1) == 0) --s.levels;
    for (unsigned& mode : s.address) mode = dice.below(4);
    s.border[0] = 0.75f;
    for (const bool linear : {false, true}) {
      s.linear = linear;
      s.mip_linear = false;
      std::vector<std::uint32_t> at;
      for (unsigned k = 0; k < 96; ++k) {
        const unsigned level = dice.below(std::max(s.levels, 1u));
        if (s.layered()) at.push_back(dice.below(2));
        const unsigned extents[3] = {s.level_width(level), s.level_height(level),
                                     s.level_depth(level)};
        for (unsigned a = 0; a < s.dimensions(); ++a) {
          // At the edges of texels and of 256ths of them, and anywhere.
          const auto n = static_cast<double>(extents[a]);
          const double at_texel = std::floor(dice.uniform(-0.5f, 1.5f) * static_cast<float>(n));
          const double part = linear ? (dice.below(256) + 0.5) / 256 : 0;
          const auto x = static_cast<float>((at_texel + part) / n);
          at.push_back(k % 4 ? float_bits(x) + dice.below(7) - 3
                             : float_bits(dice.uniform(-0.7f, 1.7f)));
        }
        put(at, {static_cast<float>(level)});
      }
      session.run(s, texture_instruction("tex.level", s.geometry, "f32.f32"), at);
    }
  }
}

/// Directions and gradients of cube maps that are zero, denormal, endless or no numbers.
void far_directions(TextureSession& session) {
  Dice dice(67 + session.seed);
  static constexpr std::array<std::uint32_t, 23> kParts = {
      0,          0x80000000, 1,          0x80000001, 0x00400000, 0x80400000,
      0x007fffff, 0x00800000, 0x80800000, 0x0da24260, 0x3f000000, 0xbf000000,
      0x3f800000, 0xbf800000, 0x7149f2ca, 0xf149f2ca, 0x7f7fffff, 0xff7fffff,
      0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001};
  const auto part = [&] { return dice.pick(kParts); };
  auto s = levelled("cube", 4, 0, TexelData::count);
  s.linear = false;
  std::vector<std::uint32_t> every;
  for (const std::uint32_t x : kParts)
    for (const std::uint32_t y : kParts)
      for (const std::uint32_t z : kParts) every.insert(every.end(), {x, y, z});
  session.run(s, texture_instruction("tex", "cube", "f32.f32"), every);
  for (const std::string geometry : {"cube", "acube"}) {
    const auto directions = [&](unsigned count, bool level) {
      std::vector<std::uint32_t> at;
      for (unsigned i = 0; i < count; ++i) {
        if (geometry == "acube") at.push_back(dice.below(2));
        for (unsigned k = 0; k < 3; ++k)
          at.push_back(dice.chance(20) ? float_bits(dice.uniform(-1.0f, 1.0f)) : part());
        if (level) put(at, {dice.uniform(0.0f, 2.0f)});
      }
      return at;
    };
    for (unsigned variant = 0; variant < 16; ++variant) {
      auto t = levelled(geometry, 4, variant % 2 ? 3 : 0, TexelData::count);
      if (t.layered()) t.depth = 2;
      t.linear = variant & 2;
      t.seamless = variant & 4;
      t.normalized = variant < 12;
      for (unsigned& mode : t.address) mode = dice.below(4);
      t.border[0] = 500.0f;
      session.run(t, texture_instruction("tex", geometry, "f32.f32"), directions(384, false));
      session.run(t, texture_instruction("tex.level", geometry, "f32.f32"), directions(384, true));
      session.run(t, texture_instruction("tld4.r", geometry, "f32.f32"), directions(128, false));
    }
  }
  // Their gradients, beside which a direction may be plain.
  for (const unsigned most : {1u, 16u}) {
    auto t = levelled("cube", 64, 7, TexelData::level);
    t.anisotropy = most;
    std::vector<std::uint32_t> at;
    for (unsigned i = 0; i < 4096; ++i) {
      for (unsigned k = 0; k < 3; ++k)
        at.push_back(i % 4 == 0 ? part() : float_bits(dice.uniform(-1.0f, 1.0f)));
      for (unsigned k = 0; k < 6; ++k) {
        const float length = std::exp2(dice.uniform(0.0f, i % 4 == 1 ? 120.0f : 5.0f)) / 64.0f;
        at.push_back(dice.chance(20) ? part() : float_bits(dice.uniform(-1.0f, 1.0f) * length));
      }
    }
    session.run(t, gradients_of(t), at);
  }
}

}  // namespace ptx2spv::recorder
