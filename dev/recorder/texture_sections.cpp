// What the committed texture record holds.
#include "dev/recorder/texture_coordinates.hpp"
#include "dev/recorder/texture_session.hpp"

namespace ptx2spv::recorder {
namespace {

unsigned words_of(const TextureSetup& s) { return s.dimensions() + (s.layered() ? 1 : 0); }

TextureSetup plain(const std::string& geometry, TexelFormat format, unsigned channels = 1) {
  TextureSetup s;
  s.geometry = geometry;
  s.format = format;
  s.channels = channels;
  if (s.cube()) s.width = s.height = 4;
  if (s.dimensions() == 1) s.height = 1;
  if (geometry == "3d") s.depth = 4;
  return s;
}

const char* result_of(TexelFormat format) {
  static constexpr const char* kResults[] = {"u32", "u32", "u32", "s32",
                                             "s32", "s32", "f32", "f32"};
  return kResults[static_cast<unsigned>(format)];
}

/// Address modes, coordinate kinds and filters on every plain geometry.
void addressing(TextureSession& session) {
  std::uint32_t seed = 1;
  for (const std::string geometry : {"1d", "2d", "3d", "a1d", "a2d"}) {
    for (unsigned mode = 0; mode < 4; ++mode) {
      for (const bool normalized : {false, true}) {
        for (const unsigned width : {5u, 8u}) {
          for (const bool linear : {false, true}) {
            auto s = plain(geometry, linear ? TexelFormat::f32 : TexelFormat::u32);
            s.width = width;
            if (linear) s.data = TexelData::unit;
            s.element = !linear;
            s.linear = linear;
            s.normalized = normalized;
            s.address[0] = s.address[1] = s.address[2] = mode;
            s.seed = ++seed;
            if (mode == 3 && linear) s.border[0] = 0.75f;
            Coordinates c(s, seed);
            const char* types = linear ? "f32.f32" : "u32.f32";
            session.run(s, texture_instruction("tex", geometry, types),
                        c.plane(false, width == 5 ? 60 : 20));
            if (width == 5)
              session.run(s, texture_instruction("tex", geometry, linear ? "f32.s32" : "u32.s32"),
                          c.plane(true, 10));
          }
        }
      }
    }
  }
  auto s = plain("3d", TexelFormat::u16, 2);
  s.normalized = true;
  s.address[0] = 1, s.address[1] = 2, s.address[2] = 3;
  session.run(s, texture_instruction("tex", "3d", "u32.f32"), Coordinates(s, 5).plane(false, 60));
  s.linear = true, s.element = false;
  session.run(s, texture_instruction("tex", "3d", "f32.f32"), Coordinates(s, 6).plane(false, 60));
}

/// Every format, channel count, read mode and result type; the border's colour.
void formats(TextureSession& session) {
  std::uint32_t seed = 1000;
  for (unsigned f = 0; f < 8; ++f) {
    const auto format = static_cast<TexelFormat>(f);
    const bool real = format == TexelFormat::f16 || format == TexelFormat::f32;
    for (const unsigned channels : {1u, 2u, 4u}) {
      for (const bool element : {true, false}) {
        if (!element && kTexelFormatBytes[f] == 4 && !real) continue;
        for (const bool linear : {false, true}) {
          if (linear && element && !real) continue;
          auto s = plain("2d", format, channels);
          s.seed = ++seed;
          s.element = element;
          s.linear = linear;
          if (real) s.data = linear ? TexelData::wide : TexelData::special;
          Coordinates c(s, seed);
          for (unsigned mode : {1u, 3u}) {
            s.address[0] = s.address[1] = mode;
            const float border[4] = {0.25f, -0.5f, 2.0f, 300.7f};
            if (mode == 3) std::copy(border, border + 4, s.border);
            for (const std::string result : {"f32", "u32", "s32", "f16", "f16x2"}) {
              if (mode == 3 && result != (element ? result_of(format) : "f32")) continue;
              session.run(s, texture_instruction("tex", "2d", result + ".f32"),
                          c.inside(mode == 3 ? 24 : 16, mode == 3 ? 1.6f : 0.6f));
            }
          }
        }
      }
    }
  }
  for (const unsigned channels : {1u, 2u, 4u}) {
    for (const bool linear : {false, true}) {
      auto s = plain("2d", TexelFormat::u8, channels);
      s.seed = ++seed;
      s.element = false;
      s.srgb = true;
      s.linear = linear;
      session.run(s, texture_instruction("tex", "2d", "f32.f32"), Coordinates(s, seed).inside(64));
    }
  }
}

/// Linear filtering on data that shows weights and rounding.
void filtering(TextureSession& session) {
  std::uint32_t seed = 2000;
  for (const std::string geometry : {"1d", "2d", "3d", "a1d", "a2d"}) {
    for (const auto format : {TexelFormat::u8, TexelFormat::u16, TexelFormat::s8, TexelFormat::s16,
                              TexelFormat::f16, TexelFormat::f32}) {
      const bool real = format == TexelFormat::f16 || format == TexelFormat::f32;
      for (const auto data : {TexelData::unit, TexelData::wide, TexelData::special}) {
        if (!real && data != TexelData::unit) continue;
        for (const bool normalized : {false, true}) {
          auto s = plain(geometry, format);
          s.width = 13;
          s.height = s.dimensions() > 1 ? 11 : 1;
          s.seed = ++seed;
          s.data = real ? data : TexelData::bits;
          s.element = false;
          s.linear = true;
          s.normalized = normalized;
          s.address[0] = s.address[1] = s.address[2] = 1;
          session.run(s, texture_instruction("tex", geometry, "f32.f32"),
                      Coordinates(s, seed).inside(96));
        }
      }
    }
  }
}

void mipmaps(TextureSession& session) {
  std::uint32_t seed = 3000;
  for (const std::string geometry : {"1d", "2d", "3d", "a2d", "cube"}) {
    for (const bool linear : {false, true}) {
      for (const bool mip_linear : {false, true}) {
        for (const int variant : {0, 1, 2}) {
          auto s = plain(geometry, TexelFormat::f32);
          s.width = 16;
          s.height = s.dimensions() > 1 ? (s.cube() ? 16 : 8) : 1;
          s.levels = 4;
          s.seed = ++seed;
          s.data = TexelData::unit;
          s.element = false;
          s.linear = linear;
          s.mip_linear = mip_linear;
          s.normalized = true;
          s.full_trilinear = variant == 2;
          s.max_level = 10;
          s.address[0] = s.address[1] = s.address[2] = 1;
          if (variant == 1) s.bias = 0.75f, s.min_level = 0.6f, s.max_level = 2.25f;
          Coordinates c(s, seed);
          const auto at = s.cube() ? c.directions(64) : c.inside(64);
          const unsigned words = words_of(s);
          session.run(s, texture_instruction("tex", geometry, "f32.f32"),
                      s.cube() ? c.directions(8) : c.inside(8));
          session.run(s, texture_instruction("tex.base", geometry, "f32.f32"),
                      s.cube() ? c.directions(8) : c.inside(8));
          session.run(s, texture_instruction("tex.level", geometry, "f32.f32"),
                      Coordinates::with(at, words, [&](auto& out) {
                        out.push_back(float_bits(c.uniform(-1.5f, 5.0f)));
                      }));
          session.run(s, texture_instruction("tex.grad", geometry, "f32.f32"),
                      Coordinates::with(at, words, [&](auto& out) {
                        for (unsigned k = 0; k < 2 * s.dimensions(); ++k) {
                          out.push_back(float_bits(std::exp2(c.uniform(-5.0f, 0.0f)) *
                                                   (c.bits() & 1 ? 1.0f : -1.0f)));
                        }
                      }));
        }
      }
    }
  }
  auto s = plain("2d", TexelFormat::u32);
  s.width = 16, s.height = 8, s.levels = 4, s.max_level = 10;
  Coordinates c(s, seed);
  session.run(
      s, texture_instruction("tex.level", "2d", "u32.s32"),
      Coordinates::with(c.plane(true, 20), 2, [&](auto& out) { out.push_back(c.bits() % 7 - 1); }));
  for (const unsigned aniso : {2u, 4u, 16u}) {
    auto a = plain("2d", TexelFormat::f32);
    a.width = 32, a.height = 32, a.levels = 6, a.max_level = 10, a.data = TexelData::unit,
    a.element = false, a.linear = a.mip_linear = true;
    a.normalized = true, a.anisotropy = aniso, a.seed = ++seed;
    Coordinates at(a, seed);
    session.run(a, texture_instruction("tex.grad", "2d", "f32.f32"),
                Coordinates::with(at.inside(64), 2, [&](auto& out) {
                  for (unsigned k = 0; k < 4; ++k)
                    out.push_back(float_bits(std::exp2(at.uniform(-6.0f, -1.0f))));
                }));
  }
}

void gathers(TextureSession& session) {
  std::uint32_t seed = 4000;
  for (const std::string geometry : {"2d", "a2d", "cube", "acube"}) {
    for (unsigned mode = 0; mode < 4; ++mode) {
      for (const bool normalized : {false, true}) {
        for (const bool linear : {false, true}) {
          auto s = plain(geometry, linear ? TexelFormat::f32 : TexelFormat::u8, 4);
          if (s.cube() && !normalized) continue;
          s.data = linear ? TexelData::unit : TexelData::bits;
          s.linear = linear;
          s.element = !linear;
          s.normalized = normalized;
          s.address[0] = s.address[1] = s.address[2] = mode;
          s.seed = ++seed;
          Coordinates c(s, seed);
          for (const std::string part : {"r", "g", "b", "a"}) {
            if (part != "g" && mode != 1) continue;
            auto at = s.cube() ? c.directions(64) : c.plane(false, 20);
            session.run(
                s, texture_instruction("tld4." + part, geometry, linear ? "f32.f32" : "u32.f32"),
                at);
            if (s.cube()) continue;
            session.run(
                s,
                texture_instruction("tld4." + part, geometry, linear ? "f32.f32" : "u32.f32", true),
                Coordinates::with(c.inside(32), words_of(s), [&](auto& out) {
                  for (unsigned k = 0; k < 2; ++k) out.push_back(c.bits() % 24 - 12);
                }));
          }
        }
      }
    }
  }
}

void offsets(TextureSession& session) {
  std::uint32_t seed = 5000;
  for (const std::string geometry : {"1d", "2d", "3d", "a1d", "a2d"}) {
    for (unsigned mode = 0; mode < 4; ++mode) {
      for (const bool linear : {false, true}) {
        auto s = plain(geometry, linear ? TexelFormat::f32 : TexelFormat::u32);
        s.width = 9;
        s.data = linear ? TexelData::unit : TexelData::bits;
        s.linear = linear;
        s.element = !linear;
        s.normalized = mode % 2 == 0;
        s.address[0] = s.address[1] = s.address[2] = mode;
        s.seed = ++seed;
        Coordinates c(s, seed);
        auto extra = [&](auto& out) {
          for (unsigned k = 0; k < s.dimensions(); ++k) out.push_back(c.bits() % 24 - 12);
        };
        session.run(s, texture_instruction("tex", geometry, linear ? "f32.f32" : "u32.f32", true),
                    Coordinates::with(c.inside(48), words_of(s), extra));
        session.run(s, texture_instruction("tex", geometry, linear ? "f32.s32" : "u32.s32", true),
                    Coordinates::with(c.plane(true, 10), words_of(s), extra));
      }
    }
  }
}

void cubes(TextureSession& session) {
  std::uint32_t seed = 6000;
  for (const std::string geometry : {"cube", "acube"}) {
    for (const bool linear : {false, true}) {
      for (const bool seamless : {false, true}) {
        for (unsigned mode = 0; mode < 4; ++mode) {
          auto s = plain(geometry, linear ? TexelFormat::f32 : TexelFormat::u32);
          s.data = linear ? TexelData::unit : TexelData::count;
          s.linear = linear;
          s.element = !linear;
          s.normalized = mode != 2;
          s.seamless = seamless;
          s.address[0] = s.address[1] = s.address[2] = mode;
          s.seed = ++seed;
          session.run(s, texture_instruction("tex", geometry, linear ? "f32.f32" : "u32.f32"),
                      Coordinates(s, seed).directions(160));
        }
      }
    }
  }
}

void memory(TextureSession& session) {
  std::uint32_t seed = 7000;
  for (const auto format :
       {TexelFormat::u8, TexelFormat::s16, TexelFormat::u32, TexelFormat::f16, TexelFormat::f32}) {
    for (const unsigned channels : {1u, 2u, 4u}) {
      auto s = plain("1d", format, channels);
      s.resource = "linear";
      s.width = 24;
      s.seed = ++seed;
      session.run(s, texture_instruction("tex", "1d", std::string(result_of(format)) + ".s32"),
                  Coordinates(s, seed).plane(true, 20));
      session.run(s, texture_instruction("tex", "1d", std::string(result_of(format)) + ".f32"),
                  Coordinates(s, seed).plane(false, 20));
      s.element = false;
      session.run(s, texture_instruction("tex", "1d", "f32.s32"),
                  Coordinates(s, seed).plane(true, 10));
    }
    for (const bool normalized : {false, true}) {
      for (unsigned mode = 0; mode < 4; ++mode) {
        const bool real = format == TexelFormat::f32;
        auto s = plain("2d", format);
        s.resource = "pitched";
        s.seed = ++seed;
        s.normalized = normalized;
        s.data = real ? TexelData::unit : TexelData::bits;
        s.linear = real;
        s.element = !real;
        s.address[0] = s.address[1] = mode;
        session.run(s, texture_instruction("tex", "2d", std::string(result_of(format)) + ".f32"),
                    Coordinates(s, seed).plane(false, 20));
        session.run(s, texture_instruction("tex", "2d", std::string(result_of(format)) + ".s32"),
                    Coordinates(s, seed).plane(true, 10));
      }
    }
  }
}

void queries(TextureSession& session) {
  for (const std::string geometry : {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"}) {
    for (const unsigned levels : {0u, 3u}) {
      for (const bool normalized : {false, true}) {
        if (levels && !normalized) continue;
        auto s = plain(geometry, levels ? TexelFormat::f16 : TexelFormat::u8, normalized ? 4 : 1);
        s.levels = levels;
        s.width = s.cube() ? 8 : 12;
        s.height = s.cube() ? 8 : s.dimensions() > 1 ? 9 : 1;
        s.normalized = normalized;
        s.address[0] = s.address[1] = s.address[2] = levels ? 1 : 0;
        for (const std::string query :
             {"width", "height", "depth", "channel_data_type", "channel_order", "normalized_coords",
              "array_size", "num_mipmap_levels", "num_samples", "filter_mode", "addr_mode_0",
              "addr_mode_1", "addr_mode_2"}) {
          session.run(s, texture_query(query, false), {});
        }
        for (const std::string query : {"width", "height", "depth"}) {
          session.run(s, texture_query(query, true), {0, 1, 2, 3, 5, 0xffffffffu, 31, 32});
        }
      }
    }
  }
}

}  // namespace

void texture_sections(TextureSession& session) {
  addressing(session);
  formats(session);
  filtering(session);
  mipmaps(session);
  gathers(session);
  offsets(session);
  cubes(session);
  memory(session);
  queries(session);
}

}  // namespace ptx2spv::recorder
