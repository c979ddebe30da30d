// Texture instructions: reads at coordinates in and around a texture, levels, gradients, offsets,
// gathers and queries.
#include "dev/programs/statements.hpp"

namespace ptx2spv::programs {
namespace {

using recorder::TexelData;
using recorder::TexelFormat;
using recorder::TextureSetup;

bool real_format(TexelFormat format) {
  return format == TexelFormat::f16 || format == TexelFormat::f32 || format >= TexelFormat::unorm8;
}

/// Reads give integers.
bool integers(const TextureSetup& s) {
  return !real_format(s.format) &&
         (s.element || s.format == TexelFormat::u32 || s.format == TexelFormat::s32);
}

std::string list_of(const std::vector<std::string>& list) {
  std::string text = "{";
  for (std::size_t k = 0; k < list.size(); ++k) {
    text += k ? ", " : "";
    text += list[k];
  }
  return text + "}";
}

/// A float coordinate: in the texture, around it, or any float there is.
std::string coordinate(Writer& w, const TextureSetup& s, unsigned extent) {
  if (w.random.chance(12)) return w.value(type_name("f32")).name;
  const std::string steps = w.bounded(1024);
  const Value to = w.bits(32);
  w.line("cvt.rn.f32.u32 " + to.name + ", " + steps + ";");
  // Steps of eighths of a texel or so, in a range of some three times the extent.
  const bool normalized = s.normalized && !s.cube();
  const float scale = s.cube()     ? 1.0f / 256
                      : normalized ? 1.0f / 300
                                   : static_cast<float>(extent) / 300;
  const float start = s.cube() ? -2.0f : normalized ? -1.1f : -static_cast<float>(extent);
  char text[80];
  std::uint32_t a = 0, b = 0;
  std::memcpy(&a, &scale, 4);
  std::memcpy(&b, &start, 4);
  std::snprintf(text, sizeof(text), "0f%08X, 0f%08X", a, b);
  w.line("fma.rn.f32 " + to.name + ", " + to.name + ", " + text + ";");
  return to.name;
}

std::string texel(Writer& w, unsigned extent) {
  const std::string at = w.bounded(2 * extent + 3);
  w.line("sub.s32 " + at + ", " + at + ", " + std::to_string(extent / 2 + 1) + ";");
  return at;
}

std::string fraction(Writer& w, float low, float high) {
  const float value = low + (high - low) * static_cast<float>(w.random.below(1 << 12)) /
                                static_cast<float>(1 << 12);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  char text[16];
  std::snprintf(text, sizeof(text), "0f%08X", bits);
  const Value to = w.bits(32);
  w.line("mov.b32 " + to.name + ", " + text + ";");
  return to.name;
}

std::vector<std::string> place(Writer& w, const TextureSetup& s, bool real) {
  std::vector<std::string> list;
  const unsigned n = s.dimensions();
  const unsigned extents[] = {s.width, s.height, s.depth};
  if (s.layered()) list.push_back(texel(w, s.depth));
  for (unsigned k = 0; k < n; ++k)
    list.push_back(real ? coordinate(w, s, extents[k]) : texel(w, extents[k]));
  if (list.size() == 3) list.push_back(list.back());
  return list;
}

void query(Writer& w, const TextureSetup& s, const std::string& handle) {
  static const std::vector<std::string> kQueries = {"width", "height", "depth"};
  const Value to = w.bits(32);
  const std::string what = w.random.pick(kQueries);
  const bool level = w.random.chance(40) && s.resource == "array";
  std::string line = std::string("txq.") + (level ? "level." : "") + what + ".b32 " + to.name +
                     ", [" + handle + "]";
  if (level) {
    const std::string lod = w.bounded(std::max(1u, s.levels));
    line += ", " + lod;
  }
  w.line(line + ";");
  w.result(to);
}

}  // namespace

TextureSetup chosen_texture(Random& random) {
  static const std::vector<std::string> kGeometries = {"1d",  "2d",  "2d",   "3d",
                                                       "a1d", "a2d", "cube", "acube"};
  TextureSetup s;
  s.geometry = random.pick(kGeometries);
  s.format = static_cast<TexelFormat>(random.below(random.chance(20) ? 12 : 8));
  s.channels = 1u << random.below(3);
  s.width = 1 + random.below(20);
  const bool flat = s.geometry == "1d" || s.geometry == "a1d";
  const unsigned height = 1 + random.below(9), depth = 1 + random.below(4);
  s.height = s.cube() ? s.width : flat ? 1 : height;
  s.depth = s.geometry == "3d" || s.layered() ? depth : 1;
  if (random.chance(45)) {
    unsigned most = 1;
    for (unsigned n = std::max({s.width, s.height, s.geometry == "3d" ? s.depth : 1}); n > 1;
         n /= 2)
      ++most;
    s.levels = 1 + random.below(most);
  }
  s.seed = random.word() >> 8;
  if (s.format == TexelFormat::f16 || s.format == TexelFormat::f32) s.data = TexelData::unit;
  if (!s.levels && s.format <= TexelFormat::f32) {
    if (s.geometry == "1d" && random.chance(25)) s.resource = "linear";
    if (s.geometry == "2d" && random.chance(25)) {
      s.resource = "pitched";
      s.pitch = (s.width * s.texel_bytes() + 31) / 32 * 32;
    }
  }
  for (unsigned& mode : s.address) mode = random.below(4);
  s.element = random.chance(40);
  s.normalized = s.levels || s.cube() || random.chance(60);
  const bool real = !integers(s);
  s.linear = real && s.resource != "linear" && random.chance(55);
  s.mip_linear = real && s.levels && random.chance(50);
  s.seamless = s.cube() && random.chance(40);
  s.srgb = s.format == TexelFormat::u8 && !s.element && random.chance(15);
  s.max_level = 20;
  if (random.chance(30)) {
    s.bias = static_cast<float>(random.below(17)) / 8 - 1;
    s.min_level = static_cast<float>(random.below(9)) / 8;
  }
  for (float& each : s.border) each = static_cast<float>(random.below(13)) / 8 - 0.5f;
  return s;
}

void texture(Writer& w, Context& context) {
  if (!w.kernel || !context.resources.use_textures) return;
  const unsigned which = w.random.below(2);
  const TextureSetup& s = context.resources.texture[which];
  const std::string handle = which ? "%tb" : "%ta";
  if (w.random.chance(10)) return query(w, s, handle);
  // A line of the vocabulary: modifiers as the assembler takes them; operands as the texture is.
  std::vector<const std::string*> fitting;
  const bool memory = s.resource == "linear";
  for (const auto& [geometry, line] : context.vocabulary.textures) {
    const std::string head = line.substr(0, line.find(' '));
    const bool integral = head.find(".u32.") != head.npos || head.find(".s32.") != head.npos;
    const bool texels = head.ends_with(".s32");
    if (geometry != s.geometry || integral != integers(s)) continue;
    if (memory &&
        (!texels || head.find(".level.") != head.npos || head.find(".grad.") != head.npos))
      continue;
    if (s.resource == "pitched" && head.find("tld4") != head.npos) continue;
    if (texels && !memory && (s.normalized || s.linear)) continue;
    if (head.find(".level.") != head.npos && !s.levels && texels) continue;
    if (head.find(".grad.") != head.npos && (s.cube() || s.mip_linear || !s.levels)) continue;
    // One line of each head.
    if (!fitting.empty() && fitting.back()->substr(0, fitting.back()->find(' ')) == head &&
        line.find('|') == line.npos)
      continue;
    fitting.push_back(&line);
  }
  if (fitting.empty()) return query(w, s, handle);
  const std::string line = *fitting[w.random.below(fitting.size())];
  const std::string head = line.substr(0, line.find(' '));
  const bool real = !head.ends_with(".s32");
  const std::string results = line.substr(line.find('{'), line.find('}') - line.find('{'));
  const unsigned n = head.find(".v2.") != head.npos ? 2 : 4;
  const TypeName type = type_name(
      results.find("%h") != results.npos && results.find("%hx") == results.npos ? "b16" : "b32");
  const bool resident = line.find("}|") != line.npos;
  const auto at = place(w, s, real);
  std::vector<std::string> names;
  std::vector<Value> values;
  for (unsigned k = 0; k < n; ++k) {
    values.push_back(w.declare(type, true));
    names.push_back(values.back().name);
  }
  std::string text = head + " " + list_of(names);
  if (resident) {
    values.push_back(w.declare(type_name("pred")));
    text += "|" + values.back().name;
  }
  text += ", [" + handle + ", " + list_of(at) + "]";
  const unsigned dimensions = s.dimensions();
  if (head.find(".level.") != head.npos) {
    const std::string lod = real ? fraction(w, -1.0f, static_cast<float>(s.levels + 1))
                                 : w.bounded(std::max(1u, s.levels));
    text += ", " + lod;
  }
  if (head.find(".grad.") != head.npos) {
    for (int side = 0; side < 2; ++side) {
      std::vector<std::string> gradient;
      for (unsigned k = 0; k < dimensions; ++k) gradient.push_back(fraction(w, -0.5f, 0.5f));
      if (dimensions == 3) gradient.push_back(gradient.back());
      text += ", " + list_of(gradient);
    }
  }
  if (!s.cube() && !memory && w.random.chance(20)) {
    std::vector<std::string> offset;
    for (unsigned k = 0; k < (dimensions == 3 ? 4 : dimensions); ++k)
      offset.push_back(std::to_string(static_cast<int>(w.random.below(16)) - 8));
    text += ", " + list_of(offset);
  }
  w.line(text + ";");
  for (const Value& each : values) w.result(each);
}

}  // namespace ptx2spv::programs
