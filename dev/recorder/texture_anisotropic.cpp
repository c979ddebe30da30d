// Anisotropic reads: where their samples lie, what they weigh and how they are summed.
#include <algorithm>
#include <array>
#include <cmath>

#include "dev/recorder/dice.hpp"
#include "dev/recorder/texture_coordinates.hpp"
#include "dev/recorder/texture_session.hpp"

namespace ptx2spv::recorder {

TextureSetup levelled(const std::string& geometry, unsigned extent, unsigned levels,
                      TexelData data) {
  TextureSetup s;
  s.geometry = geometry;
  s.width = extent;
  s.height = s.dimensions() > 1 ? extent : 1;
  s.depth = geometry == "3d" ? extent : 1;
  s.levels = levels;
  s.data = data;
  s.channels = data == TexelData::step || data == TexelData::ramp ? 4 : 1;
  s.element = false;
  s.linear = s.mip_linear = s.normalized = true;
  s.max_level = 20;
  s.address[0] = s.address[1] = s.address[2] = 1;
  return s;
}

namespace {

constexpr unsigned kExtent = 64;
constexpr float kTexel = 1.0f / kExtent;

void put(std::vector<std::uint32_t>& at, std::initializer_list<float> list) {
  for (const float each : list) at.push_back(float_bits(each));
}

/// Point filtering shows a step's crossing by each sample: where it lies, and its weight.
void sweep(TextureSession& session, const TextureSetup& s, float longer, float shorter,
           float step) {
  std::vector<std::uint32_t> at;
  const int reach = static_cast<int>((longer / 2 + 2.5f) / step);
  for (int i = -reach; i <= reach; ++i)
    put(at, {(32.0f + static_cast<float>(i) * step) * kTexel, 0.4f, longer * kTexel, 0, 0,
             shorter * kTexel});
  session.run(s, texture_instruction("tex.grad", "2d", "f32.f32"), at);
}

}  // namespace

void anisotropic_places(TextureSession& session) {
  Dice dice(23 + session.seed);
  const auto tex = texture_instruction("tex.grad", "2d", "f32.f32");
  for (const bool full : {false, true}) {
    auto s = levelled("2d", kExtent, 7, TexelData::step);
    s.anisotropy = 16;
    s.linear = false;
    s.full_trilinear = full;
    for (const float shorter : {1.0f, 1.2f, 1.3f, 1.5f, 1.8f})
      for (const float ratio : {1.05f, 1.3f, 1.7f, 2.0f, 2.4f, 3.3f, 5.5f})
        sweep(session, s, shorter * ratio, shorter, 1.0f / 128);
    for (const unsigned most : {2u, 4u, 8u}) {
      s.anisotropy = most;
      for (const float each : {1.1f, 1.3f, 1.7f})
        sweep(session, s, static_cast<float>(most) * each, 0.5f, 1.0f / 64);
    }
  }
  // Gradients at every angle, seen along both axes.
  auto s = levelled("2d", kExtent, 7, TexelData::step);
  s.anisotropy = 16;
  s.linear = false;
  for (unsigned i = 0; i < 36; ++i) {
    const float shorter = i < 12 ? 1.0f : dice.uniform(1.0f, 2.0f),
                longer = shorter * dice.uniform(1.0f, 7.0f), angle = dice.uniform(0.0f, 6.2832f),
                turn = i < 24 ? 1.5708f : dice.uniform(0.3f, 2.8f);
    const float parts[4] = {longer * std::cos(angle) * kTexel, longer * std::sin(angle) * kTexel,
                            shorter * std::cos(angle + turn) * kTexel,
                            shorter * std::sin(angle + turn) * kTexel};
    const bool swap = dice.chance(50);
    for (const bool across : {false, true}) {
      std::vector<std::uint32_t> at;
      const int reach = static_cast<int>((longer / 2 + 2.0f) * 64);
      for (int k = -reach; k <= reach; ++k) {
        const float place = (32.0f + static_cast<float>(k) / 64) * kTexel;
        put(at, {across ? 0.3f : place, across ? place : 0.3f});
        for (unsigned p = 0; p < 4; ++p) put(at, {parts[swap ? (p + 2) % 4 : p]});
      }
      session.run(s, tex, at);
    }
  }
  // The product of a sample's weight and a texel's.
  s.linear = true;
  for (const float longer : {2.0f, 2.5f, 4.0f, 5.3f}) sweep(session, s, longer, 1.0f, 1.0f / 512);
}

void anisotropic_ratios(TextureSession& session) {
  Dice dice(29 + session.seed);
  const auto tex = texture_instruction("tex.grad", "2d", "f32.f32");
  // Only the outermost sample is beyond the step: its weight tells the ratio.
  for (const bool full : {false, true}) {
    auto s = levelled("2d", kExtent, 7, TexelData::step);
    s.anisotropy = 16;
    s.linear = false;
    s.full_trilinear = full;
    std::vector<std::uint32_t> at;
    for (unsigned i = 0; i < 4096; ++i) {
      const float longer =
          i < 3072 ? std::exp2(dice.uniform(1.0f, 4.0f)) : std::exp2(dice.uniform(1.0f, 3.0f));
      const float shorter = i < 3072 ? 1.0f : std::exp2(dice.uniform(0.0f, 1.0f));
      const float beyond = std::ceil(longer / 2) - 1.0f;
      put(at, {(32.0f - beyond) * kTexel, 0.4f, longer * kTexel, 0, 0, shorter * kTexel});
    }
    session.run(s, tex, at);
    // Levels by both lengths, at any angle.
    at.clear();
    s.data = TexelData::level;
    for (unsigned i = 0; i < 4096; ++i) {
      const float longer = std::exp2(dice.uniform(-1.0f, 6.0f)) * kTexel,
                  shorter = longer * std::exp2(-dice.uniform(0.0f, 5.0f)),
                  angle = i < 2048 ? 0.0f : dice.uniform(0.0f, 6.2832f),
                  turn = i < 3072 ? 1.5707964f : dice.uniform(0.2f, 2.9f);
      if (i < 2048) {
        put(at, {0.5f, 0.4f, longer, 0, 0, shorter});
      } else {
        put(at, {0.5f, 0.4f, longer * std::cos(angle), longer * std::sin(angle),
                 shorter * std::cos(angle + turn), shorter * std::sin(angle + turn)});
      }
    }
    for (const unsigned most : {2u, 4u, 16u}) {
      s.anisotropy = most;
      session.run(s, tex, at);
    }
    // The same with a nearest level, and with bias and bounds.
    s.mip_linear = false;
    session.run(s, tex, at);
    s.mip_linear = true;
    s.bias = 0.75f;
    s.min_level = 1.25f;
    s.max_level = 3.5f;
    session.run(s, tex, at);
  }
}

void anisotropic_sums(TextureSession& session) {
  Dice dice(31 + session.seed);
  // Axis-parallel whole ratios first, then everything at random.
  for (const bool linear : {false, true}) {
    for (const auto format : {TexelFormat::f32, TexelFormat::u8, TexelFormat::u16, TexelFormat::s8,
                              TexelFormat::s16, TexelFormat::f16}) {
      auto s = levelled("2d", kExtent, 7, TexelData::unit);
      s.format = format;
      s.channels = 1;
      s.linear = linear;
      s.anisotropy = 16;
      s.element = false;
      if (format != TexelFormat::f32 && format != TexelFormat::f16) s.data = TexelData::bits;
      std::vector<std::uint32_t> at;
      for (unsigned i = 0; i < 768; ++i) {
        static constexpr std::array kLonger = {1.4f, 2.0f, 2.5f, 3.0f, 4.0f, 5.3f, 8.0f, 16.0f};
        put(at, {dice.uniform(0.0f, 1.0f), dice.uniform(0.0f, 1.0f), dice.pick(kLonger) * kTexel, 0,
                 0, (i < 512 ? 1.0f : 1.6f) * kTexel});
      }
      session.run(s, texture_instruction("tex.grad", "2d", "f32.f32"), at);
    }
  }
  for (unsigned i = 0; i < 600; ++i) {
    static constexpr std::array<const char*, 8> kGeometries = {"1d", "2d",  "2d",   "3d",
                                                               "3d", "a1d", "cube", "a2d"};
    const std::string geometry = dice.pick(kGeometries);
    auto s = levelled(geometry, dice.chance(50) ? 16 : 3 + dice.below(20), 1, TexelData::unit);
    unsigned most = 1;
    for (unsigned n = s.width; n > 1; n /= 2) ++most;
    s.levels = dice.chance(20) ? 0 : 1 + dice.below(most);
    s.depth = geometry == "3d" ? s.width : s.layered() ? 2 : 1;
    s.format = static_cast<TexelFormat>(dice.below(8));
    if (s.format == TexelFormat::u32 || s.format == TexelFormat::s32) s.format = TexelFormat::f32;
    const bool real = s.format == TexelFormat::f16 || s.format == TexelFormat::f32;
    s.data = real ? TexelData::unit : TexelData::bits;
    s.channels = 1u << dice.below(3);
    s.seed = dice.bits() >> 8;
    s.linear = dice.chance(70);
    s.mip_linear = dice.chance(70);
    s.srgb = s.format == TexelFormat::u8 && dice.chance(30);
    s.full_trilinear = dice.chance(20);
    s.anisotropy = 2 + dice.below(15);
    s.normalized = s.cube() || s.levels > 1 || dice.chance(80);
    for (unsigned& mode : s.address) mode = dice.below(4);
    s.border[0] = 0.75f;
    if (dice.chance(20)) s.bias = static_cast<float>(dice.below(64)) / 16.0f - 2.0f;
    if (dice.chance(20)) s.min_level = static_cast<float>(dice.below(32)) / 16.0f;
    std::vector<std::uint32_t> at;
    Coordinates c(s, dice.bits() >> 8);
    const unsigned axes = s.dimensions();
    for (unsigned k = 0; k < 16; ++k) {
      if (s.layered()) at.push_back(dice.below(2));
      const float scale = s.normalized ? 1.0f / static_cast<float>(s.width) : 1.0f;
      for (unsigned a = 0; a < axes; ++a)
        put(at, {s.cube() ? dice.uniform(-1.0f, 1.0f)
                          : dice.uniform(-0.2f, 1.2f) * static_cast<float>(s.width) * scale});
      const float lengths[2] = {std::exp2(dice.uniform(-1.0f, 4.0f)),
                                std::exp2(dice.uniform(-1.0f, 4.0f))};
      for (unsigned g = 0; g < 2; ++g) {
        const unsigned along = dice.below(axes);
        for (unsigned a = 0; a < axes; ++a) {
          const bool only = k < 8;
          put(at, {only ? (a == (along + g) % axes ? lengths[g] * scale : 0.0f)
                        : dice.uniform(-1.0f, 1.0f) * lengths[g] * scale});
        }
      }
    }
    session.run(s, texture_instruction("tex.grad", geometry, "f32.f32"), at);
  }
}

/// Gradients beside integer coordinates, which ptxas takes and no manual speaks of.
void integer_gradients(TextureSession& session) {
  Dice dice(37 + session.seed);
  for (const std::string geometry : {"1d", "2d", "3d", "a1d", "a2d"}) {
    for (const unsigned levels : {0u, 3u}) {
      TextureSetup s;
      s.geometry = geometry;
      s.width = s.height = 8;
      s.depth = geometry == "3d" ? 8 : s.layered() ? 2 : 1;
      if (s.dimensions() < 2) s.height = 1;
      s.levels = levels;
      s.data = TexelData::count;
      s.max_level = 10;
      s.normalized = levels > 0;
      std::vector<std::uint32_t> at;
      for (unsigned i = 0; i < 64; ++i) {
        if (s.layered()) at.push_back(dice.below(3));
        for (unsigned a = 0; a < s.dimensions(); ++a) at.push_back(dice.below(10) - 1);
        for (unsigned a = 0; a < 2 * s.dimensions(); ++a)
          put(at, {i < 16 ? 0.0f : dice.uniform(-1.0f, 1.0f)});
      }
      session.run(s, texture_instruction("tex.grad", geometry, "f32.s32"), at);
    }
  }
}

}  // namespace ptx2spv::recorder
