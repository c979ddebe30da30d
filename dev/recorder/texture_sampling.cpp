// What the third texture record holds: textures and reads drawn at random over everything that a
// descriptor and an instruction may say, and what the first two records leave out.
#include <array>
#include <cstdlib>

#include "dev/recorder/dice.hpp"
#include "dev/recorder/texture_coordinates.hpp"
#include "dev/recorder/texture_session.hpp"

namespace ptx2spv::recorder {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

bool real_format(TexelFormat format) {
  return format == TexelFormat::f16 || format == TexelFormat::f32;
}
bool wide_integer(TexelFormat format) {
  return format == TexelFormat::u32 || format == TexelFormat::s32;
}

TextureSetup random_setup(Dice& dice) {
  static constexpr std::array<const char*, 10> kGeometries = {"1d",  "2d",  "2d",  "3d",   "3d",
                                                              "a1d", "a2d", "a2d", "cube", "acube"};
  TextureSetup s;
  s.geometry = dice.pick(kGeometries);
  s.format = static_cast<TexelFormat>(dice.below(dice.chance(15) ? 12 : 8));
  s.channels = 1u << dice.below(3);
  const bool volume = s.geometry == "3d" || s.cube();
  const auto extent = [&] { return 1 + dice.below(dice.chance(20) ? 3 : volume ? 13 : 37); };
  s.width = extent();
  s.height = s.cube() ? s.width : s.dimensions() > 1 ? extent() : 1;
  s.depth = s.geometry == "3d" ? extent() : s.layered() ? 1 + dice.below(5) : 1;
  // Extents where normalised coordinates keep more bits.
  if (!volume && !s.layered() && dice.chance(3)) s.width = 8000 + dice.below(12000);
  if (s.geometry == "1d" && dice.chance(5)) s.width = 60000 + dice.below(60000);
  if (dice.chance(40)) {
    unsigned most = 1;
    for (unsigned n = std::max({s.width, s.height, s.geometry == "3d" ? s.depth : 1}); n > 1;
         n /= 2)
      ++most;
    s.levels = 1 + dice.below(most);
  }
  s.seed = dice.bits() >> 8;
  if (real_format(s.format)) {
    static constexpr std::array kData = {TexelData::unit, TexelData::unit, TexelData::wide,
                                         TexelData::special, TexelData::bits};
    s.data = dice.pick(kData);
  }
  const bool plain = !s.levels && s.format <= TexelFormat::f32;
  if (plain && s.geometry == "1d" && s.width <= 37 && dice.chance(25)) s.resource = "linear";
  if (plain && s.geometry == "2d" && s.width <= 37 && dice.chance(25)) {
    s.resource = "pitched";
    s.pitch = (s.width * s.texel_bytes() + 31) / 32 * 32 + 32 * dice.below(3);
  }
  for (unsigned& mode : s.address) mode = dice.below(4);
  if (dice.chance(30)) s.address[1] = s.address[2] = s.address[0];
  s.element = dice.chance(40);
  const bool floats = real_format(s.format) || s.format >= TexelFormat::unorm8 ||
                      (!s.element && !wide_integer(s.format));
  s.linear = dice.chance(floats ? 60 : 3);
  s.mip_linear = dice.chance(floats ? 50 : 10);
  s.normalized = dice.chance(s.levels || s.cube() ? 90 : 60);
  s.srgb = (s.format == TexelFormat::u8 && dice.chance(20)) || dice.chance(2);
  s.full_trilinear = dice.chance(15);
  if (dice.chance(40)) {
    s.bias = dice.uniform(-2.0f, 2.0f);
    s.min_level = dice.uniform(-0.5f, 2.0f);
  }
  s.max_level = dice.chance(70) ? 20.0f : dice.uniform(-0.5f, 4.0f);
  if (dice.chance(70))
    for (float& colour : s.border) colour = dice.uniform(-1.5f, dice.chance(20) ? 300.0f : 1.5f);
  if (dice.chance(30)) s.border[0] = std::floor(s.border[0] * 4.0f) / 4.0f;
  // The text of a record has six digits of them.
  for (float* each :
       {&s.bias, &s.min_level, &s.max_level, s.border, s.border + 1, s.border + 2, s.border + 3}) {
    char text[32];
    std::snprintf(text, sizeof(text), "%g", static_cast<double>(*each));
    *each = std::strtof(text, nullptr);
  }
  return s;
}

class RandomReads {
 public:
  RandomReads(Dice& dice, const TextureSetup& s) : dice_(dice), s_(s), c_(s, dice.bits() >> 8) {}

  void run(TextureSession& session, unsigned count) {
    const bool floats = real_format(s_.format) || s_.format >= TexelFormat::unorm8 ||
                        (!s_.element && !wide_integer(s_.format));
    const bool gathers =
        (s_.cube() || s_.geometry == "2d" || s_.geometry == "a2d") && dice_.chance(20);
    const bool integers = !s_.cube() && !gathers && dice_.chance(s_.resource == "linear" ? 80 : 20);
    static constexpr std::array<const char*, 6> kModes = {"tex",       "tex",      "tex.level",
                                                          "tex.level", "tex.base", "tex.grad"};
    static constexpr std::array<const char*, 4> kParts = {"tld4.r", "tld4.g", "tld4.b", "tld4.a"};
    std::string op = gathers ? dice_.pick(kParts) : dice_.pick(kModes);
    // What level gradients choose is another section's.
    if (op == "tex.grad" && (integers || s_.levels > 1 || s_.anisotropy > 1)) op = "tex.level";
    static constexpr std::array<const char*, 5> kOther = {"f32", "u32", "s32", "f16", "f16x2"};
    std::string result = floats ? "f32" : s_.format >= TexelFormat::s8 ? "s32" : "u32";
    if (dice_.chance(15)) result = kOther[dice_.below(gathers ? 3 : 5)];
    const bool offset = !s_.cube() && op != "tex.base" && dice_.chance(20);
    const auto instruction =
        texture_instruction(op, s_.geometry, result + (integers ? ".s32" : ".f32"), offset);
    std::vector<std::uint32_t> at;
    for (unsigned i = 0; i < count; ++i) {
      if (s_.layered()) at.push_back(c_.layer());
      for (unsigned k = 0; k < s_.dimensions(); ++k)
        at.push_back(s_.cube() ? direction() : integers ? integer(k) : coordinate(k));
      if (op == "tex.level") at.push_back(integers ? level_number() : float_bits(level()));
      if (op == "tex.grad")
        for (unsigned k = 0; k < 2 * s_.dimensions(); ++k)
          at.push_back(float_bits(c_.uniform(-0.3f, 0.3f)));
      for (unsigned k = 0; offset && k < s_.dimensions(); ++k) at.push_back(dice_.below(24) - 12);
    }
    session.run(s_, instruction, at);
  }

 private:
  std::uint32_t coordinate(unsigned axis) {
    const auto n = static_cast<float>(c_.extent(axis));
    switch (dice_.below(10)) {
      case 0: return float_bits(c_.texels(axis, c_.uniform(-3.0f * n - 2.0f, 4.0f * n + 2.0f)));
      case 1: return float_bits(c_.texels(axis, std::floor(c_.uniform(-n, 2.0f * n))));
      case 2: return float_bits(c_.texels(axis, std::floor(c_.uniform(-n, 2.0f * n)) + 0.5f));
      case 3: {
        const auto edges = c_.edges(axis);
        return edges[dice_.below(static_cast<unsigned>(edges.size()))];
      }
      case 4:
        return float_bits(c_.texels(axis, std::floor(c_.uniform(0, n) * 512.0f) / 512.0f)) +
               dice_.below(9) - 4;
      default: return float_bits(c_.texels(axis, c_.uniform(-0.6f, n + 0.6f)));
    }
  }
  std::uint32_t integer(unsigned axis) {
    if (dice_.chance(30)) {
      const auto edges = c_.integer_edges(axis);
      return edges[dice_.below(static_cast<unsigned>(edges.size()))];
    }
    return dice_.below(c_.extent(axis) + 2) - 1;
  }
  std::uint32_t direction() {
    static constexpr std::array kParts = {0.0f,  -0.0f, 1.0f,  -1.0f,     0.5f,
                                          -0.5f, 2.0f,  1e30f, kInfinity, 1e-40f};
    return float_bits(dice_.chance(15) ? dice_.pick(kParts) : c_.uniform(-1.0f, 1.0f));
  }
  float level() {
    const auto most = static_cast<float>(std::max(s_.levels, 1u));
    static constexpr std::array kFar = {NAN, kInfinity, -kInfinity, 1e30f, -1e30f, 1e-40f, -0.0f};
    switch (dice_.below(8)) {
      case 0: return dice_.pick(kFar);
      case 1: return std::floor(c_.uniform(-2.0f, most + 2.0f));
      case 2: return std::floor(c_.uniform(-2.0f, most + 2.0f) * 256.0f) / 256.0f;
      default: return c_.uniform(-1.5f, most + 1.0f);
    }
  }
  std::uint32_t level_number() {
    static constexpr std::array<std::uint32_t, 4> kFar = {0x7fffffffu, 0x80000000u, 31, 32};
    return dice_.chance(10) ? dice_.pick(kFar) : dice_.below(s_.levels + 3) - 1;
  }

  Dice& dice_;
  TextureSetup s_;
  Coordinates c_;
};

void random_reads(TextureSession& session) {
  Dice dice(20261121 + session.seed);
  for (unsigned i = 0; i < 6000; ++i) {
    const auto s = random_setup(dice);
    RandomReads reads(dice, s);
    for (unsigned k = 0; k < 2; ++k) reads.run(session, 12);
  }
}

/// The same where anisotropy is asked for, and no gradient is there to use it.
void maxima(TextureSession& session) {
  Dice dice(71 + session.seed);
  for (unsigned i = 0; i < 1500; ++i) {
    auto s = random_setup(dice);
    s.anisotropy = 1 + dice.below(16);
    RandomReads reads(dice, s);
    reads.run(session, 12);
  }
}

TextureSetup cube_setup(const std::string& geometry, unsigned extent) {
  TextureSetup s;
  s.geometry = geometry;
  s.width = s.height = extent;
  s.depth = s.layered() ? 2 : 1;
  s.element = false;
  s.linear = s.normalized = true;
  s.address[0] = s.address[1] = s.address[2] = 1;
  return s;
}

/// Directions near the edges and corners of a cube's faces.
std::vector<std::uint32_t> edge_directions(const TextureSetup& s, Dice& dice, unsigned count) {
  std::vector<std::uint32_t> at;
  for (unsigned i = 0; i < count; ++i) {
    if (s.layered()) at.push_back(dice.below(s.depth));
    float v[3] = {dice.uniform(-1.0f, 1.0f), dice.uniform(-1.0f, 1.0f), dice.uniform(-1.0f, 1.0f)};
    const unsigned major = dice.below(3);
    v[major] = dice.chance(50) ? 1.0f : -1.0f;
    // Within a texel of one edge, of two, or anywhere.
    const unsigned near = dice.below(4);
    for (unsigned k = 0; k < 2 && k < near; ++k) {
      float& each = v[(major + 1 + (near == 1 ? dice.below(2) : k)) % 3];
      const float away = dice.uniform(0.0f, 1.2f) / static_cast<float>(s.width);
      each = each < 0 ? away - 1.0f : 1.0f - away;
    }
    for (const float each : v) at.push_back(float_bits(each));
  }
  return at;
}

void seamless(TextureSession& session) {
  Dice dice(7 + session.seed);
  std::uint32_t seed = 100;
  for (const std::string geometry : {"cube", "acube"}) {
    for (const unsigned extent : {1u, 2u, 3u, 4u, 5u, 8u, 16u, 31u}) {
      for (const auto format : {TexelFormat::f32, TexelFormat::u8, TexelFormat::u16,
                                TexelFormat::s8, TexelFormat::s16, TexelFormat::f16}) {
        if (geometry == "acube" && format != TexelFormat::f32) continue;
        auto s = cube_setup(geometry, extent);
        s.seamless = true;
        s.format = format;
        s.data = real_format(format) ? TexelData::unit : TexelData::bits;
        s.seed = ++seed;
        const bool many = format == TexelFormat::f32 || format == TexelFormat::u8;
        session.run(s, texture_instruction("tex", geometry, "f32.f32"),
                    edge_directions(s, dice, many ? 384 : 96));
        if (format == TexelFormat::f32) {
          // Each texel's own number shows which texels a corner takes.
          auto counted = s;
          counted.data = TexelData::count;
          session.run(counted, texture_instruction("tex", geometry, "f32.f32"),
                      edge_directions(s, dice, 192));
          session.run(counted, texture_instruction("tld4.r", geometry, "f32.f32"),
                      edge_directions(s, dice, 192));
        }
        if (format == TexelFormat::u8 || format == TexelFormat::f32) {
          auto other = s;
          other.linear = false;
          session.run(other, texture_instruction("tex", geometry, "f32.f32"),
                      edge_directions(s, dice, 24));
          for (const unsigned mode : {0u, 2u, 3u}) {
            other = s;
            other.address[0] = other.address[1] = mode;
            other.border[0] = 0.75f;
            session.run(other, texture_instruction("tex", geometry, "f32.f32"),
                        edge_directions(s, dice, 48));
          }
        }
        if (extent >= 4 && format == TexelFormat::f32) {
          auto other = s;
          other.levels = 3;
          other.mip_linear = true;
          other.max_level = 10;
          session.run(
              other, texture_instruction("tex.level", geometry, "f32.f32"),
              Coordinates::with(edge_directions(s, dice, 192), s.layered() ? 4 : 3, [&](auto& out) {
                out.push_back(float_bits(dice.uniform(-0.5f, 2.5f)));
              }));
        }
      }
    }
  }
  auto s = cube_setup("cube", 4);
  s.format = TexelFormat::u8;
  s.channels = 4;
  s.seamless = s.srgb = true;
  session.run(s, texture_instruction("tex", "cube", "f32.f32"), edge_directions(s, dice, 192));
  s.srgb = false;
  s.element = true;
  s.linear = false;
  session.run(s, texture_instruction("tld4.g", "cube", "u32.f32"), edge_directions(s, dice, 96));
  s.format = TexelFormat::f32;
  s.data = TexelData::special;
  s.channels = 1;
  s.linear = true;
  session.run(s, texture_instruction("tex", "cube", "f32.f32"), edge_directions(s, dice, 256));
}

/// Where the samples of an anisotropic read lie: a step read at every 16th of a texel along the
/// longer gradient.
void anisotropy(TextureSession& session) {
  Dice dice(11 + session.seed);
  const auto tex = texture_instruction("tex.grad", "2d", "f32.f32");
  const auto put = [](std::vector<std::uint32_t>& at, std::initializer_list<float> list) {
    for (const float each : list) at.push_back(float_bits(each));
  };
  constexpr unsigned kExtent = 64;
  const float texel = 1.0f / kExtent;
  for (const unsigned most : {2u, 3u, 4u, 8u, 16u}) {
    for (const bool linear : {false, true}) {
      auto s = levelled("2d", kExtent, 7, TexelData::step);
      s.anisotropy = most;
      s.linear = linear;
      for (const float longer : {1.0f, 1.5f, 2.0f, 2.5f, 3.0f, 4.0f, 5.3f, 8.0f, 16.0f, 24.0f}) {
        for (const float shorter : {0.25f, 1.0f, 2.0f}) {
          if (shorter > longer || (most != 16 && (shorter != 1.0f || longer == 5.3f))) continue;
          std::vector<std::uint32_t> at;
          const int reach = static_cast<int>(longer * 8.0f) + 24;
          for (int i = -reach; i <= reach; ++i)
            put(at, {(32.0f + static_cast<float>(i) / 16.0f) * texel, 0.4f, longer * texel, 0, 0,
                     shorter * texel});
          session.run(s, tex, at);
        }
      }
    }
    // Levels by the ratio and the angle of the gradients; the level is the fourth component.
    auto s = levelled("2d", kExtent, 7, TexelData::step);
    s.anisotropy = most;
    std::vector<std::uint32_t> at;
    for (unsigned i = 0; i < 512; ++i) {
      const float longer = std::exp2(dice.uniform(-1.0f, 5.0f)) * texel,
                  ratio = std::exp2(-dice.uniform(0.0f, 6.0f));
      if (i < 256) {
        put(at, {0.5f, 0.4f, longer, 0, 0, longer * ratio});
      } else {
        const float angle = dice.uniform(0.0f, 6.28f), turn = dice.uniform(1.3f, 1.8f);
        put(at, {0.5f, 0.4f, longer * std::cos(angle), longer * std::sin(angle),
                 longer * ratio * std::cos(angle + turn), longer * ratio * std::sin(angle + turn)});
      }
    }
    session.run(s, tex, at);
    s.data = TexelData::ramp;
    session.run(s, tex, at);
    // Forms without gradients.
    Coordinates c(s, most);
    session.run(s, texture_instruction("tex", "2d", "f32.f32"), c.inside(16));
    session.run(s, texture_instruction("tex.level", "2d", "f32.f32"),
                Coordinates::with(c.inside(32), 2, [&](auto& out) {
                  out.push_back(float_bits(dice.uniform(-1.0f, 7.0f)));
                }));
  }
}

/// Gradients whose products and sums show how wide the hardware's are.
void gradients(TextureSession& session) {
  Dice dice(13 + session.seed);
  const auto line = texture_instruction("tex.grad", "1d", "f32.f32");
  for (const unsigned extent : {3u, 5u, 6u, 7u, 11u, 13u, 100u, 129u, 255u, 257u, 999u, 4095u}) {
    // As many levels as there are, and 9 at most.
    unsigned levels = 1;
    while (levels < 9 && extent >> levels) ++levels;
    const auto s = levelled("1d", extent, levels, TexelData::level);
    std::vector<std::uint32_t> at;
    for (unsigned i = 0; i < 1536; ++i) {
      // Just at the steps of an eight-bit mantissa of the product.
      const float length = std::exp2(std::floor(dice.uniform(0.0f, extent < 6 ? 1.0f : 2.0f))) *
                           (1.0f + static_cast<float>(dice.below(256)) / 256.0f);
      const float g = length / static_cast<float>(extent);
      at.push_back(float_bits(0.4f));
      const unsigned spread = i % 3 == 0 ? 16 : i % 3 == 1 ? 512 : 16384;
      at.push_back(float_bits(g) + dice.below(2 * spread) - spread);
      at.push_back(0);
    }
    session.run(s, line, at);
  }
  // Two gradients of one axis, and one gradient of two axes, over mantissas and powers of two.
  const auto plane = texture_instruction("tex.grad", "2d", "f32.f32");
  const auto s = levelled("2d", 256, 9, TexelData::level);
  for (const unsigned kind : {0u, 1u, 2u, 3u}) {
    std::vector<std::uint32_t> at;
    for (unsigned i = 0; i < 4096; ++i) {
      const float a = (1.0f + static_cast<float>(dice.below(4096)) / 4096.0f) * 4.0f / 256.0f;
      const float b = (1.0f + static_cast<float>(dice.below(4096)) / 4096.0f) * 4.0f / 256.0f *
                      std::exp2(-static_cast<float>(dice.below(8)));
      const bool swap = dice.chance(50);
      const float u = (swap ? b : a) * (dice.chance(50) ? 1.0f : -1.0f),
                  v = (swap ? a : b) * (dice.chance(50) ? 1.0f : -1.0f);
      at.push_back(float_bits(0.5f));
      at.push_back(float_bits(0.5f));
      const float parts[4][4] = {{u, v, 0, 0}, {u, 0, v, 0}, {u, 0, 0, v}, {u, v, -v / 2, u / 2}};
      for (const float each : parts[kind]) at.push_back(float_bits(each));
    }
    session.run(s, plane, at);
  }
  // What a NaN or an infinity counts for.
  for (const std::string geometry : {"2d", "3d"}) {
    const auto t = levelled(geometry, 32, 6, TexelData::level);
    const unsigned axes = t.dimensions();
    std::vector<std::uint32_t> at;
    for (unsigned i = 0; i < 768; ++i) {
      for (unsigned k = 0; k < axes; ++k) at.push_back(float_bits(0.5f));
      for (unsigned k = 0; k < 2 * axes; ++k) {
        const unsigned roll = dice.below(i < 384 ? 5 : 9);
        const float length = std::exp2(std::floor(dice.uniform(0.0f, 4.0f))) / 32.0f;
        at.push_back(roll == 0   ? 0x7fc00000u
                     : roll == 1 ? float_bits(0)
                     : roll == 5 ? float_bits(kInfinity)
                     : roll == 6 ? float_bits(-kInfinity)
                     : roll == 7 ? 0xffc00000u
                                 : float_bits(length));
      }
    }
    session.run(t, texture_instruction("tex.grad", geometry, "f32.f32"), at);
  }
}

/// Gradients of cube maps: one component at a time, at the middle of a face and elsewhere.
void cubes(TextureSession& session) {
  Dice dice(17 + session.seed);
  const auto s = levelled("cube", 64, 7, TexelData::level);
  const auto tex = texture_instruction("tex.grad", "cube", "f32.f32");
  for (const unsigned kind : {0u, 1u, 2u}) {
    std::vector<std::uint32_t> at;
    for (unsigned i = 0; i < 1536; ++i) {
      const unsigned major = dice.below(3);
      float v[3] = {0, 0, 0};
      if (kind)
        for (float& each : v) each = dice.uniform(-0.9f, 0.9f);
      v[major] = (dice.chance(50) ? 1.0f : -1.0f) *
                 (kind == 2 ? std::exp2(dice.uniform(0.0f, 2.0f)) : 1.0f);
      for (const float each : v) at.push_back(float_bits(each));
      const unsigned only = dice.below(6);
      for (unsigned k = 0; k < 6; ++k) {
        const float length = std::exp2(dice.uniform(0.0f, 5.0f)) / 64.0f;
        at.push_back(kind == 2 || k == only ? float_bits(dice.chance(50) ? length : -length) : 0);
      }
    }
    session.run(s, tex, at);
  }
}

/// A depth to compare with, which the manual allows where CUDA has no depth textures.
void depths(TextureSession& session) {
  for (const std::string geometry : {"2d", "a2d", "cube", "acube"}) {
    for (const bool linear : {false, true}) {
      for (const auto format : {TexelFormat::f32, TexelFormat::u8}) {
        auto s = cube_setup(geometry, 5);
        s.depth = 2;
        s.linear = linear;
        s.format = format;
        s.data = format == TexelFormat::f32 ? TexelData::unit : TexelData::bits;
        Coordinates c(s, 3);
        for (const std::string op : {"tex", "tld4.r"}) {
          const auto instruction = texture_instruction(op, geometry, "f32.f32", false, true);
          session.run(s, instruction,
                      Coordinates::with(s.cube() ? c.directions(24) : c.inside(24),
                                        s.dimensions() + (s.layered() ? 1 : 0), [&](auto& out) {
                                          out.push_back(float_bits(c.uniform(-0.2f, 1.2f)));
                                        }));
        }
      }
    }
  }
}

/// Multi-sample fetches of arrays that have one sample.
void samples(TextureSession& session) {
  for (const std::string geometry : {"2dms", "a2dms"}) {
    TextureSetup s;
    s.geometry = geometry == "2dms" ? "2d" : "a2d";
    s.format = TexelFormat::u32;
    s.width = 7;
    s.height = 5;
    s.depth = s.layered() ? 3 : 1;
    const auto t = texture_instruction("tex", geometry, "u32.s32");
    std::vector<std::uint32_t> at;
    for (const std::uint32_t sample : {0u, 1u, 2u, 7u, 0xffffffffu}) {
      for (unsigned i = 0; i < 45; ++i) {
        if (s.layered()) at.push_back(i % 4);
        at.push_back(sample);
        at.push_back(i % 9 - 1);
        at.push_back(i / 9 % 6);
      }
    }
    session.run(s, t, at);
  }
}

}  // namespace

bool texture_sampling(TextureSession& session, const std::string& only) {
  constexpr struct {
    const char* name;
    void (*record)(TextureSession&);
  } kSections[] = {{"random", random_reads},
                   {"seamless", seamless},
                   {"anisotropy", anisotropy},
                   {"gradients", gradients},
                   {"cubes", cubes},
                   {"depths", depths},
                   {"samples", samples},
                   {"places", anisotropic_places},
                   {"ratios", anisotropic_ratios},
                   {"sums", anisotropic_sums},
                   {"integers", integer_gradients},
                   {"kinds", anisotropic_kinds},
                   {"odd", odd_descriptions},
                   {"mixes", level_mixes},
                   {"maxima", maxima},
                   {"wide", wide_levels},
                   {"far", far_directions},
                   {"directions", anisotropic_directions},
                   {"faces", cube_directions},
                   {"footprints", footprints}};
  bool found = false;
  for (const auto& section : kSections) {
    if (!only.empty() && only != section.name) continue;
    section.record(session);
    found = true;
  }
  return found;
}

}  // namespace ptx2spv::recorder
