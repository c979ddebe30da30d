// What the second texture record holds: levels of detail out of operands and gradients, sums over
// two levels, sRGB, and sums over planes that nearly cancel.
#include "dev/recorder/texture_coordinates.hpp"
#include "dev/recorder/texture_session.hpp"

namespace ptx2spv::recorder {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A mipmapped texture that reads its level's number, so that a read gives the level of detail.
TextureSetup numbered(const std::string& geometry, unsigned extent, unsigned levels) {
  TextureSetup s;
  s.geometry = geometry;
  s.width = extent;
  s.height = s.dimensions() > 1 ? extent : 1;
  s.depth = geometry == "3d" ? extent : 2;
  s.levels = levels;
  s.data = TexelData::level;
  s.element = false;
  s.linear = s.mip_linear = s.normalized = true;
  s.max_level = 20;
  s.address[0] = s.address[1] = s.address[2] = 1;
  return s;
}

std::vector<std::uint32_t> middle(const TextureSetup& s, Coordinates& c) {
  std::vector<std::uint32_t> at;
  if (s.layered()) at.push_back(c.bits() % s.depth);
  for (unsigned k = 0; k < s.dimensions(); ++k) {
    at.push_back(float_bits(
        s.cube() ? c.uniform(-1.0f, 1.0f)
                 : c.texels(k, c.uniform(0.1f, 0.9f) * static_cast<float>(c.extent(k)))));
  }
  return at;
}

void explicit_levels(TextureSession& session) {
  const auto tex = texture_instruction("tex.level", "1d", "f32.f32");
  const float far[] = {0.0f,   -0.0f,  1e-40f, -1e-40f,   1e-6f,      -1e-6f, 7.999f,
                       8.0f,   8.001f, 15.99f, 16.0f,     31.9f,      32.0f,  127.9f,
                       128.0f, 1000.f, 1e9f,   -127.9f,   -128.0f,    -1e9f,  1e30f,
                       -1e30f, 255.9f, 256.1f, kInfinity, -kInfinity, NAN};
  const float variants[][3] = {
      {0, 0, 20},       {0.3f, 0, 20},  {-0.7f, 0, 20}, {0.002f, 0, 20}, {-0.002f, 0, 20},
      {0.0058f, 0, 20}, {15.7f, 0, 20}, {16.5f, 0, 20}, {-16.5f, 0, 20}, {40.0f, 0, 20},
      {0, 0.3f, 20},    {0, 2.7f, 20},  {0, 0, 1.3f},   {0, 2.5f, 1.2f}, {0, 0, 0},
      {0, 0, 0.499f},   {0, -3, 20},    {0, 0, -1},     {0, 30, 40},     {0, 5.998f, 6.001f}};
  for (const bool mip_linear : {true, false}) {
    for (std::size_t v = 0; v < std::size(variants); ++v) {
      const auto& variant = variants[v];
      auto s = numbered("1d", 256, 9);
      s.mip_linear = mip_linear;
      s.bias = variant[0], s.min_level = variant[1], s.max_level = variant[2];
      Coordinates c(s, 11);
      std::vector<std::uint32_t> at;
      const auto push = [&](float level) {
        at.push_back(middle(s, c)[0]);
        at.push_back(float_bits(level));
      };
      for (const float level : far) push(level);
      for (int i = 0; i < 128; ++i) push(c.uniform(-2.0f, 10.0f));
      for (int i = 0; i < (v < 2 ? 1280 : 128); ++i) {
        push(static_cast<float>(i - 200) / 1024.0f);
        if (i % 4 == 0) push(static_cast<float>(i - 100) / 256.0f);
      }
      session.run(s, tex, at);
    }
  }
}

/// `spread`: the gradients' lengths in texels cover 2^-1 to 2^spread.
void gradients(TextureSession& session, TextureSetup s, unsigned count, int pick, float spread) {
  Coordinates c(s, 21);
  const unsigned axes = s.dimensions();
  std::vector<std::uint32_t> at;
  for (unsigned i = 0; i < count; ++i) {
    const auto point = middle(s, c);
    at.insert(at.end(), point.begin(), point.end());
    for (unsigned k = 0; k < 2 * axes; ++k) {
      // pick: 0 the first component alone, 1 one axis of both, 2 one gradient, 3 everything,
      // 4 special values among them
      const bool keep = pick == 0   ? k == 0
                        : pick == 1 ? k % axes == i % axes
                        : pick == 2 ? k / axes == i % 2
                                    : true;
      float value = std::exp2(c.uniform(-1.0f, spread)) * (c.bits() & 0x10000 ? 1.0f : -1.0f);
      const float extent = s.cube()       ? static_cast<float>(s.width) / 2.0f
                           : s.normalized ? static_cast<float>(c.extent(k % axes))
                                          : 1.0f;
      value /= extent;
      if (pick == 4 && (c.bits() >> 8) % 4 == 0) {
        const float special[] = {0.0f,    -0.0f, kInfinity, -kInfinity, NAN,
                                 3.0e38f, 1e30f, 1e-30f,    1e-40f};
        value = special[(c.bits() >> 8) % 9];
      }
      at.push_back(keep ? float_bits(value) : 0);
    }
  }
  session.run(s, texture_instruction("tex.grad", s.geometry, "f32.f32"), at);
}

void gradient_levels(TextureSession& session) {
  auto line = numbered("1d", 256, 9);
  gradients(session, line, 8192, 0, 9.0f);
  gradients(session, line, 2048, 1, 9.0f);
  gradients(session, line, 256, 4, 9.0f);
  line.mip_linear = false;
  gradients(session, line, 2048, 0, 9.0f);
  line.mip_linear = true;
  const float variants[][3] = {{0.3f, 0, 20}, {-0.7f, 0, 20}, {0, 0.6f, 2.25f}, {2.002f, 1, 6}};
  for (const auto& variant : variants) {
    auto s = line;
    s.bias = variant[0], s.min_level = variant[1], s.max_level = variant[2];
    gradients(session, s, 256, 0, 9.0f);
  }
  for (const unsigned extent : {5u, 100u, 999u, 4096u}) {
    gradients(session, numbered("1d", extent, extent == 5 ? 3 : 7), 512, 0, 7.0f);
  }
  for (const int pick : {0, 1, 2, 3, 4}) {
    gradients(session, numbered("2d", 64, 7), pick == 3 ? 3072 : 512, pick, 7.0f);
    gradients(session, numbered("3d", 32, 6), pick == 3 ? 3072 : 512, pick, 6.0f);
    gradients(session, numbered("cube", 64, 7), pick == 3 ? 3072 : 512, pick, 7.0f);
  }
  auto uneven = numbered("2d", 48, 6);
  uneven.height = 20;
  gradients(session, uneven, 512, 3, 6.0f);
  auto texels = numbered("2d", 64, 7);
  texels.normalized = false;
  gradients(session, texels, 256, 3, 7.0f);
  gradients(session, numbered("a1d", 64, 7), 256, 3, 7.0f);
  gradients(session, numbered("a2d", 64, 7), 256, 3, 7.0f);
  gradients(session, numbered("acube", 64, 7), 256, 3, 7.0f);
  for (const unsigned anisotropy : {2u, 4u, 8u, 16u}) {
    auto s = numbered("2d", 64, 7);
    s.anisotropy = anisotropy;
    gradients(session, s, 768, 3, 7.0f);
    gradients(session, s, 256, 2, 7.0f);
    s.data = TexelData::ramp;
    s.channels = 4;
    gradients(session, s, 256, 3, 5.0f);
  }
}

/// Sums over two levels, in every format.
void level_sums(TextureSession& session) {
  std::uint32_t seed = 8000;
  for (const std::string geometry : {"1d", "2d", "3d"}) {
    for (const auto format : {TexelFormat::u8, TexelFormat::u16, TexelFormat::s8, TexelFormat::s16,
                              TexelFormat::f16, TexelFormat::f32}) {
      const bool real = format == TexelFormat::f16 || format == TexelFormat::f32;
      for (const auto data : {TexelData::unit, TexelData::wide, TexelData::special}) {
        if (!real && data != TexelData::unit) continue;
        for (const bool linear : {true, false}) {
          auto s = numbered(geometry, 16, 4);
          s.format = format;
          s.data = real ? data : TexelData::bits;
          s.linear = linear;
          s.seed = ++seed;
          Coordinates c(s, seed);
          std::vector<std::uint32_t> at;
          const unsigned count = !linear ? 64 : geometry == "3d" ? 512 : 256;
          for (unsigned i = 0; i < count; ++i) {
            const auto point = middle(s, c);
            at.insert(at.end(), point.begin(), point.end());
            at.push_back(float_bits(c.uniform(-0.2f, 3.2f)));
          }
          session.run(s, texture_instruction("tex.level", geometry, "f32.f32"), at);
        }
      }
    }
  }
}

void level_forms(TextureSession& session) {
  // Reads that take no level.
  for (const float bias : {0.0f, 1.3f}) {
    auto s = numbered("2d", 16, 4);
    s.channels = 4;
    s.data = TexelData::unit;
    s.bias = bias;
    Coordinates c(s, 31);
    session.run(s, texture_instruction("tld4.g", "2d", "f32.f32"), c.inside(32));
    session.run(s, texture_instruction("tex", "2d", "f32.f32"), c.inside(32));
    s.min_level = 1.25f;
    session.run(s, texture_instruction("tld4.g", "2d", "f32.f32"), c.inside(32));
    session.run(s, texture_instruction("tex", "2d", "f32.s32"), c.plane(true, 16));
    session.run(s, texture_instruction("tex.base", "2d", "f32.s32"), c.plane(true, 16));
  }
  // Integer coordinates, and integers at that.
  for (const std::string geometry : {"1d", "2d", "3d", "a2d"}) {
    for (const float bias : {0.0f, 1.3f}) {
      for (const bool mip_linear : {true, false}) {
        auto s = numbered(geometry, 16, 4);
        s.format = TexelFormat::u32;
        s.data = TexelData::bits;
        s.element = true;
        s.linear = false;
        s.mip_linear = mip_linear;
        s.bias = bias;
        Coordinates c(s, 32);
        session.run(s, texture_instruction("tex.level", geometry, "u32.s32"),
                    Coordinates::with(c.plane(true, 40), s.dimensions() + (s.layered() ? 1 : 0),
                                      [&](auto& out) {
                                        const std::uint32_t pick = c.bits() >> 8;
                                        out.push_back(pick % 16 == 0   ? 0x7fffffffu
                                                      : pick % 16 == 1 ? 0x80000000u
                                                                       : (pick >> 4) % 8 - 2);
                                      }));
        session.run(
            s, texture_instruction("tex.level", geometry, "u32.f32"),
            Coordinates::with(c.inside(48), s.dimensions() + (s.layered() ? 1 : 0), [&](auto& out) {
              out.push_back(float_bits(c.uniform(-1.0f, 5.0f)));
            }));
      }
    }
  }
  // The same of arrays without further levels, by address mode.
  for (const std::string geometry : {"1d", "2d", "3d", "a1d", "a2d"}) {
    for (const unsigned levels : {0u, 4u}) {
      for (const unsigned mode : {0u, 1u, 3u}) {
        auto s = numbered(geometry, 8, levels);
        s.format = TexelFormat::u32;
        s.data = TexelData::bits;
        s.element = true;
        s.linear = s.mip_linear = s.normalized = false;
        s.address[0] = s.address[1] = s.address[2] = mode;
        s.border[0] = 3.0f;
        s.min_level = levels ? 1.0f : 0.0f;
        s.max_level = 2.0f;
        Coordinates c(s, 36);
        session.run(s, texture_instruction("tex.level", geometry, "u32.s32"),
                    Coordinates::with(c.plane(true, 12), s.dimensions() + (s.layered() ? 1 : 0),
                                      [&](auto& out) { out.push_back((c.bits() >> 8) % 6 - 1); }));
        session.run(s, texture_instruction("tex", geometry, "u32.s32"), c.plane(true, 4));
        session.run(s, texture_instruction("tex.base", geometry, "u32.s32"), c.plane(true, 4));
      }
    }
  }
  // Coordinates in texels.
  for (const bool linear : {true, false}) {
    auto s = numbered("2d", 16, 4);
    s.data = TexelData::unit;
    s.normalized = false;
    s.linear = linear;
    Coordinates c(s, 33);
    session.run(s, texture_instruction("tex.level", "2d", "f32.f32"),
                Coordinates::with(c.inside(128), 2, [&](auto& out) {
                  out.push_back(float_bits(c.uniform(-1.0f, 5.0f)));
                }));
  }
  // Every address mode, odd extents, offsets.
  for (unsigned mode = 0; mode < 4; ++mode) {
    auto s = numbered("2d", 19, 5);
    s.height = 11;
    s.data = TexelData::unit;
    s.address[0] = s.address[1] = mode;
    s.border[0] = 0.75f;
    Coordinates c(s, 34 + mode);
    const auto level = [&](auto& out) { out.push_back(float_bits(c.uniform(-1.0f, 5.0f))); };
    session.run(s, texture_instruction("tex.level", "2d", "f32.f32"),
                Coordinates::with(c.inside(128, 9.0f), 2, level));
    session.run(s, texture_instruction("tex.level", "2d", "f32.f32", true),
                Coordinates::with(c.inside(128), 2, [&](auto& out) {
                  level(out);
                  for (unsigned k = 0; k < 2; ++k) out.push_back(c.bits() % 16 - 8);
                }));
  }
}

void srgb(TextureSession& session) {
  std::uint32_t seed = 9000;
  for (const unsigned channels : {1u, 2u, 4u}) {
    auto s = numbered("1d", 256, 0);
    s.format = TexelFormat::u8;
    s.data = TexelData::count;
    s.channels = channels;
    s.linear = s.mip_linear = s.normalized = false;
    s.max_level = 0;
    s.srgb = true;
    std::vector<std::uint32_t> at;
    for (unsigned i = 0; i < s.width; ++i) at.push_back(float_bits(static_cast<float>(i) + 0.5f));
    session.run(s, texture_instruction("tex", "1d", "f32.f32"), at);
    session.run(s, texture_instruction("tex", "1d", "f16.f32"), at);
    s.element = true;
    session.run(s, texture_instruction("tex", "1d", "u32.f32"), at);
  }
  for (const auto format :
       {TexelFormat::u8, TexelFormat::s8, TexelFormat::u16, TexelFormat::f16, TexelFormat::f32}) {
    for (const std::string geometry : {"1d", "2d", "3d"}) {
      if (format != TexelFormat::u8 && geometry != "2d") continue;
      auto s = numbered(geometry, 16, 0);
      s.format = format;
      s.channels = 4;
      s.data = format == TexelFormat::f16 || format == TexelFormat::f32 ? TexelData::unit
                                                                        : TexelData::bits;
      s.srgb = true;
      s.max_level = 0;
      s.seed = ++seed;
      Coordinates c(s, seed);
      session.run(s, texture_instruction("tex", geometry, "f32.f32"),
                  c.inside(format == TexelFormat::u8 ? 768 : 32));
      s.address[0] = s.address[1] = s.address[2] = 3;
      const float border[4] = {0.25f, 0.5f, 0.75f, 0.3f};
      std::copy(border, border + 4, s.border);
      session.run(s, texture_instruction("tex", geometry, "f32.f32"), c.inside(64, 1.6f));
      s.linear = false;
      session.run(s, texture_instruction("tex", geometry, "f32.f32"), c.inside(64, 1.6f));
      session.run(s, texture_instruction("tex", geometry, "f32.s32"), c.plane(true, 16));
      if (geometry == "2d")
        session.run(s, texture_instruction("tld4.g", geometry, "f32.f32"), c.inside(32));
      s.linear = true;
      s.levels = 4;
      s.max_level = 10;
      session.run(s, texture_instruction("tex.level", geometry, "f32.f32"),
                  Coordinates::with(c.inside(96), s.dimensions(), [&](auto& out) {
                    out.push_back(float_bits(c.uniform(0.0f, 3.0f)));
                  }));
    }
  }
}

/// Two planes whose texels nearly cancel, at x and y of single texels and between them.
void plane_sums(TextureSession& session) {
  for (const auto format : {TexelFormat::f32, TexelFormat::f16}) {
    for (const auto data : {TexelData::cancel, TexelData::wide}) {
      for (const bool between : {false, true}) {
        TextureSetup s;
        s.geometry = "3d";
        s.format = format;
        s.width = s.height = 48;
        s.depth = 2;
        s.data = data;
        s.element = false;
        s.linear = true;
        s.address[0] = s.address[1] = s.address[2] = 1;
        s.seed = 77;
        Coordinates c(s, 41);
        std::vector<std::uint32_t> at;
        const unsigned count = format == TexelFormat::f32 ? 4096 : 512;
        for (unsigned i = 0; i < count; ++i) {
          for (unsigned k = 0; k < 2; ++k) {
            const float texel = std::floor(c.uniform(0.0f, 47.0f));
            at.push_back(float_bits(texel + 0.5f + (between ? c.unit() : 0.0f)));
          }
          at.push_back(float_bits(0.5f + (i % 4 ? c.unit() : 0.5f)));
        }
        session.run(s, texture_instruction("tex", "3d", "f32.f32"), at);
      }
    }
  }
}

}  // namespace

void texture_levels(TextureSession& session) {
  explicit_levels(session);
  gradient_levels(session);
  level_sums(session);
  level_forms(session);
  srgb(session);
  plane_sums(session);
}

}  // namespace ptx2spv::recorder
