// Dense sweeps, for deriving rules: too large to commit, and written only on request.
#include "dev/recorder/texture_coordinates.hpp"
#include "dev/recorder/texture_session.hpp"

namespace ptx2spv::recorder {
namespace {

TextureSetup base(const std::string& geometry, unsigned width, unsigned height, unsigned depth,
                  TexelData data, TexelFormat format, bool linear, bool normalized, unsigned mode) {
  TextureSetup s;
  s.geometry = geometry;
  s.width = width, s.height = height, s.depth = depth;
  s.data = data;
  s.format = format;
  s.linear = linear;
  s.element = !linear;
  s.normalized = normalized;
  s.address[0] = s.address[1] = s.address[2] = mode;
  s.seed = width * 31 + height * 7 + depth + static_cast<unsigned>(format);
  return s;
}

/// Where the texel and the weight change along one axis.
void weights(TextureSession& session) {
  const auto tex = texture_instruction("tex", "1d", "f32.f32");
  auto s = base("1d", 8, 1, 1, TexelData::ramp, TexelFormat::f32, true, false, 1);
  std::vector<std::uint32_t> at;
  for (int i = -4096; i < 9 * 4096; ++i) at.push_back(float_bits(static_cast<float>(i) / 4096.0f));
  session.run(s, tex, at);
  for (const unsigned n : {2u, 3u, 5u, 7u, 8u, 100u, 1000u, 16384u, 100000u}) {
    for (const bool normalized : {false, true}) {
      for (const bool linear : {true, false}) {
        auto r = base("1d", n, 1, 1, TexelData::ramp, TexelFormat::f32, linear, normalized, 1);
        Coordinates c(r, n);
        at = c.inside(4096);
        // Near the points where the 256th of a texel changes, and where the texel does.
        for (unsigned i = 0; i < 8192; ++i) {
          const float step = i % 2 ? 512.0f : 1.0f;
          const float texel = std::floor(c.uniform(0.0f, static_cast<float>(n)) * step) / step;
          at.push_back(float_bits(c.texels(0, texel)) + c.bits() % 33 - 16);
        }
        session.run(r, tex, at);
      }
    }
  }
  for (unsigned mode = 0; mode < 4; ++mode) {
    for (const bool normalized : {false, true}) {
      for (const bool linear : {true, false}) {
        for (const unsigned n : {5u, 8u}) {
          auto r = base("1d", n, 1, 1, TexelData::ramp, TexelFormat::f32, linear, normalized, mode);
          r.border[0] = 100.0f;
          Coordinates c(r, n + mode);
          at.clear();
          for (unsigned i = 0; i < 4096; ++i) {
            at.push_back(float_bits(std::exp2(c.uniform(-6.0f, i % 2 ? 6.0f : 34.0f)) *
                                    (c.bits() & 1 ? 1.0f : -1.0f)));
          }
          session.run(r, tex, at);
        }
      }
    }
  }
}

/// The precision of normalised coordinates, by the texture's extent.
void precision(TextureSession& session) {
  for (const std::string geometry : {"1d", "2d", "3d"}) {
    for (unsigned axis = 0; axis < (geometry == "1d" ? 1u : geometry == "2d" ? 2u : 3u); ++axis) {
      for (const unsigned n :
           {1024u,  1025u,  2048u,  2049u,  3000u,  4096u,   4097u,  6000u,  8191u,
            8192u,  8193u,  12000u, 16383u, 16384u, 16385u,  20000u, 32767u, 32768u,
            32769u, 40000u, 65535u, 65536u, 65537u, 100000u, 131072u}) {
        if (n > (geometry == "1d" ? 131072u : geometry == "2d" ? 32768u : 16384u)) continue;
        for (const bool linear : {true, false}) {
          auto s = base(geometry, axis == 0 ? n : 4, axis == 1 ? n : 4, axis == 2 ? n : 4,
                        TexelData::ramp, TexelFormat::f32, linear, true, 1);
          s.channels = 4;
          Coordinates c(s, n);
          std::vector<std::uint32_t> at;
          for (unsigned i = 0; i < 1024; ++i) {
            const float step = i % 4 ? 512.0f : 1.0f;
            const float texel = std::floor(c.uniform(0.0f, static_cast<float>(n)) * step) / step;
            const std::uint32_t along = float_bits(c.texels(axis, texel)) + c.bits() % 65 - 32;
            for (unsigned k = 0; k < s.dimensions(); ++k) {
              at.push_back(k == axis ? along : float_bits(c.texels(k, 1.5f)));
            }
          }
          session.run(s, texture_instruction("tex", geometry, "f32.f32"), at);
        }
      }
    }
  }
}

/// The weights of linear filtering themselves.
void bases(TextureSession& session) {
  for (const std::string geometry : {"2d", "3d"}) {
    for (const auto data : {TexelData::basis, TexelData::basis_high}) {
      if (geometry == "2d" && data == TexelData::basis_high) continue;
      auto s = base(geometry, 2, 2, 2, data, TexelFormat::f32, true, false, 1);
      s.channels = 4;
      Coordinates c(s, 5);  // the same coordinates for both halves of a cube of texels
      std::vector<std::uint32_t> at;
      for (unsigned i = 0; i < 32768 * s.dimensions(); ++i) {
        at.push_back(float_bits(0.5f + static_cast<float>(c.bits() >> 24) / 256.0f));
      }
      session.run(s, texture_instruction("tex", geometry, "f32.f32"), at);
    }
  }
}

/// How the weighted texels are summed.
void sums(TextureSession& session) {
  for (const std::string geometry : {"1d", "2d", "3d"}) {
    const auto tex = texture_instruction("tex", geometry, "f32.f32");
    const unsigned w = geometry == "1d"   ? 256
                       : geometry == "2d" ? 32
                                          : 12,
                   h = geometry == "1d" ? 1 : w, d = geometry == "3d" ? w : 1;
    for (unsigned f = 0; f < 8; ++f) {
      const auto format = static_cast<TexelFormat>(f);
      const bool real = format == TexelFormat::f16 || format == TexelFormat::f32;
      if (kTexelFormatBytes[f] == 4 && !real) continue;
      for (const auto data :
           {TexelData::bits, TexelData::unit, TexelData::wide, TexelData::special}) {
        if (real == (data == TexelData::bits)) continue;
        const auto s = base(geometry, w, h, d, data, format, true, false, 1);
        session.run(s, tex, Coordinates(s, f).inside(16384));
      }
    }
  }
}

/// Every value of the small formats, and the narrowing of results.
void conversions(TextureSession& session) {
  for (const auto format :
       {TexelFormat::u8, TexelFormat::s8, TexelFormat::u16, TexelFormat::s16, TexelFormat::f16}) {
    const bool byte = kTexelFormatBytes[static_cast<unsigned>(format)] == 1;
    for (const bool srgb : {false, true}) {
      if (srgb && format != TexelFormat::u8) continue;
      for (const std::string result : {"f32", "f16"}) {
        auto s = base("1d", byte ? 256 : 65536, 1, 1, TexelData::count, format, false, false, 1);
        // f16 counts are values, not bits: take random bits there.
        if (format == TexelFormat::f16) s.data = TexelData::bits;
        s.element = format == TexelFormat::f16;
        s.srgb = srgb;
        s.channels = 4;
        std::vector<std::uint32_t> at;
        for (unsigned i = 0; i < s.width; ++i)
          at.push_back(float_bits(static_cast<float>(i) + 0.5f));
        session.run(s, texture_instruction("tex", "1d", result + ".f32"), at);
      }
    }
  }
  auto s = base("1d", 16384, 1, 1, TexelData::special, TexelFormat::f32, false, false, 1);
  std::vector<std::uint32_t> at;
  for (unsigned i = 0; i < s.width; ++i) at.push_back(float_bits(static_cast<float>(i) + 0.5f));
  session.run(s, texture_instruction("tex", "1d", "f16.f32"), at);
  s.data = TexelData::wide;
  session.run(s, texture_instruction("tex", "1d", "f16.f32"), at);
}

/// Level of detail: explicit, and out of gradients.
void levels(TextureSession& session) {
  for (const std::string geometry : {"1d", "2d", "3d", "cube"}) {
    for (const bool mip_linear : {true, false}) {
      for (const unsigned aniso : {0u, 8u}) {
        if (aniso && geometry != "2d") continue;
        auto s = base(geometry, 64, geometry == "1d" ? 1 : 64, geometry == "3d" ? 64 : 1,
                      TexelData::level, TexelFormat::f32, true, true, 1);
        s.levels = 7;
        s.mip_linear = mip_linear;
        s.max_level = 20;
        s.anisotropy = aniso;
        Coordinates c(s, 9);
        const unsigned axes = s.dimensions();
        std::vector<std::uint32_t> level, gradient;
        auto point = [&](std::vector<std::uint32_t>& out) {
          for (unsigned k = 0; k < axes; ++k)
            out.push_back(float_bits(s.cube() ? c.uniform(-1.0f, 1.0f) : c.uniform(0.1f, 0.9f)));
        };
        for (int i = -1024; i < 8 * 1024; ++i) {
          point(level);
          level.push_back(float_bits(static_cast<float>(i) / 1024.0f));
        }
        for (unsigned i = 0; i < 8192; ++i) {
          point(gradient);
          const unsigned only = c.bits() % 3;  // one axis, one direction, or everything
          for (unsigned k = 0; k < 2 * axes; ++k) {
            const bool keep = only == 0   ? k == i % (2 * axes)
                              : only == 1 ? k / axes == i % 2
                                          : true;
            gradient.push_back(
                keep ? float_bits(std::exp2(c.uniform(-8.0f, 2.0f)) * (c.bits() & 1 ? 1.0f : -1.0f))
                     : 0);
          }
        }
        session.run(s, texture_instruction("tex.level", geometry, "f32.f32"), level);
        session.run(s, texture_instruction("tex.grad", geometry, "f32.f32"), gradient);
      }
    }
  }
}

/// Cube maps: the face and the position on it.
void faces(TextureSession& session) {
  for (const bool linear : {true, false}) {
    for (const bool seamless : {false, true}) {
      auto s = base("cube", 16, 16, 1, TexelData::ramp, TexelFormat::f32, linear, true, 1);
      s.channels = 4;
      s.seamless = seamless;
      session.run(s, texture_instruction("tex", "cube", "f32.f32"),
                  Coordinates(s, 3).directions(16384));
    }
  }
  auto s = base("cube", 4, 4, 1, TexelData::unit, TexelFormat::f32, true, true, 1);
  s.seamless = true;
  session.run(s, texture_instruction("tex", "cube", "f32.f32"),
              Coordinates(s, 4).directions(16384));
}

}  // namespace

void texture_sweeps(TextureSession& session) {
  weights(session);
  precision(session);
  bases(session);
  sums(session);
  conversions(session);
  levels(session);
  faces(session);
}

}  // namespace ptx2spv::recorder
