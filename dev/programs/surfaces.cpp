// Surface instructions. Loads read a surface that nothing stores to; a store has 16 or 32 bytes of
// a row for each thread, and a row of its own.
#include "dev/programs/statements.hpp"

namespace ptx2spv::programs {
namespace {

const std::vector<std::string> kGeometries = {"1d", "2d", "2d", "3d", "a1d", "a2d"};

std::string clamp_of(Writer& w, bool& inside) {
  const unsigned way = w.random.below(4);
  inside = way < 2;
  return way < 2 ? ".trap" : way == 2 ? ".clamp" : ".zero";
}

/// A coordinate below `extent`, or around it.
std::string coordinate(Writer& w, unsigned extent, unsigned unit, bool inside) {
  std::string at;
  if (inside) {
    at = w.bounded(extent);
  } else {
    at = w.bounded(2 * extent + 3);
    w.line("sub.s32 " + at + ", " + at + ", " + std::to_string(extent / 2 + 1) + ";");
  }
  if (unit > 1) w.line("mul.lo.s32 " + at + ", " + at + ", " + std::to_string(unit) + ";");
  return at;
}

/// {x}, {x, y}, {x, y, z, w}, {layer, x}, {layer, x, y, w}
std::string coordinates(Writer& w, const std::string& geometry, const std::string& x,
                        const std::string& y, const std::string& z) {
  std::vector<std::string> list;
  if (geometry == "1d") list = {x};
  if (geometry == "2d") list = {x, y};
  if (geometry == "3d") list = {x, y, z, z};
  if (geometry == "a1d") list = {z, x};
  if (geometry == "a2d") list = {z, x, y, y};
  if (list.size() > 1 && w.random.chance(25)) {
    const std::string name = "%v" + std::to_string(w.module.registers++);
    w.registers << "  .reg .v" << list.size() << " .b32 " << name << ";\n";
    for (std::size_t k = 0; k < list.size(); ++k)
      w.line("mov.b32 " + name + "." + "xyzw"[k] + ", " + list[k] + ";");
    return name;
  }
  std::string text = "{";
  for (std::size_t k = 0; k < list.size(); ++k) {
    text += k ? ", " : "";
    text += list[k];
  }
  return text + "}";
}

void load(Writer& w, const SurfaceChoice& s) {
  static const std::vector<std::string> kTypes = {"b8", "b16", "b32", "b32", "b64"},
                                        kCaches = {"", "", "", ".ca", ".cg", ".cs", ".cv"};
  bool inside = false;
  const std::string clamp = clamp_of(w, inside);
  std::string type = w.random.pick(kTypes);
  unsigned n = 1u << w.random.below(3);
  if (type == "b64" && n == 4) n = 2;
  const unsigned bytes = n * (type == "b8" ? 1 : type_name(type).width / 8);
  const unsigned places = s.width * s.texel_bytes() / bytes;
  if (places == 0) return;
  const std::string x = coordinate(w, places, bytes, inside),
                    y = coordinate(w, s.height, 1, inside), z = coordinate(w, s.depth, 1, inside);
  const std::string at = coordinates(w, s.geometry, x, y, z);
  std::vector<Value> values;
  std::string to, vec;
  if (n == 1) {
    values.push_back(w.bits(type_name(type).width));
    to = values[0].name;
  } else {
    vec = ".v" + std::to_string(n);
    if (type != "b8" && w.random.chance(35)) {
      to = "%v" + std::to_string(w.module.registers++);
      w.registers << "  .reg " << vec << " ." << type << " " << to << ";\n";
      for (unsigned k = 0; k < n; ++k)
        values.push_back({to + "." + "xyzw"[k], type_name(type).width, 'b'});
    } else {
      for (unsigned k = 0; k < n; ++k) {
        values.push_back(w.bits(type_name(type).width));
        to += (k ? ", " : "{") + values.back().name;
      }
      to += "}";
    }
  }
  const std::string guard = w.guard(values);
  const std::string cache = w.random.pick(kCaches);
  w.line(guard + "suld.b." + s.geometry + cache + vec + "." + type + clamp + " " + to + ", [%sa, " +
         at + "];");
  for (const Value& each : values) w.result(each);
}

std::string elements(Writer& w, const TypeName& type, unsigned n) {
  if (n == 1) return w.value(type).name;
  std::string list = "{";
  for (unsigned k = 0; k < n; ++k) {
    list += k ? ", " : "";
    list += w.value(type).name;
  }
  return list + "}";
}

void store(Writer& w, Resources& resources) {
  static const std::vector<std::string> kTypes = {"b8", "b16", "b32", "b32", "b64"},
                                        kCaches = {"", "", "", ".wb", ".cg", ".cs", ".wt"},
                                        kClamps = {".trap", ".clamp", ".zero"};
  const SurfaceChoice& s = resources.stores;
  if (resources.stored_rows >= s.rows()) return;
  const unsigned row = resources.stored_rows++;
  const std::string y = std::to_string(row % s.height), z = std::to_string(row / s.height);
  const unsigned texel = s.texel_bytes();
  const bool reduces = !s.layered() && w.random.chance(45);
  const bool formatted = w.random.chance(40) && (!reduces || (texel >= 4 && texel <= 8));
  const Value x = w.bits(32);
  // Bytes, texels, or for formatted reductions what holds of both the unit of their type and
  // texels.
  const unsigned unit = !formatted ? 16 : reduces ? 2 : 16 / texel;
  w.line("mul.lo.u32 " + x.name + ", %gt, " + std::to_string(unit) + ";");
  const std::string at = coordinates(w, s.geometry, x.name, y, z);
  const std::string clamp = w.random.pick(kClamps);
  std::string head;
  std::string from;
  if (reduces && formatted) {
    const bool wide = texel == 8 && w.random.chance(60);
    static const std::vector<std::string> kOps = {"add", "min", "max", "and", "or"},
                                          kWideOps = {"min", "max"};
    const std::string op = w.random.pick(wide ? kWideOps : kOps);
    head = "sured.p." + op + "." + s.geometry + (wide ? ".b64" : ".b32") + clamp;
    from = elements(w, type_name(wide ? "b64" : "b32"), 1);
  } else if (reduces) {
    static const std::vector<std::string> kForms = {
        "add.u32", "add.s32", "add.u64", "min.u32", "min.s32", "min.u64", "min.s64",
        "max.u32", "max.s32", "max.u64", "max.s64", "and.b32", "or.b32"};
    const std::string form = w.random.pick(kForms);
    const std::size_t dot = form.find('.');
    head = "sured.b." + form.substr(0, dot) + "." + s.geometry + form.substr(dot) + clamp;
    from = elements(w, type_name(form.substr(dot + 1)), 1);
  } else if (formatted) {
    const unsigned n = 1u << w.random.below(3);
    const std::string cache = w.random.pick(kCaches);
    head =
        "sust.p." + s.geometry + cache + (n > 1 ? ".v" + std::to_string(n) : "") + ".b32" + clamp;
    from = elements(w, type_name("b32"), n);
  } else {
    const std::string type = w.random.pick(kTypes);
    unsigned n = 1u << w.random.below(3);
    if (type == "b64" && n == 4) n = 2;
    const std::string cache = w.random.pick(kCaches);
    head = "sust.b." + s.geometry + cache + (n > 1 ? ".v" + std::to_string(n) : "") + "." + type +
           clamp;
    from = elements(w, type_name(type), n);
  }
  const std::string guard = w.guard({});
  w.line(guard + head + " [%sb, " + at + "], " + from + ";");
}

}  // namespace

SurfaceChoice loaded_surface(Random& random) {
  SurfaceChoice s;
  s.geometry = random.pick(kGeometries);
  s.format = static_cast<recorder::TexelFormat>(random.below(12));
  s.channels = 1u << random.below(3);
  s.width = 1 + random.below(30);
  if (s.geometry == "2d" || s.geometry == "3d" || s.geometry == "a2d")
    s.height = 1 + random.below(7);
  if (s.geometry == "3d" || s.layered()) s.depth = 1 + random.below(4);
  return s;
}

SurfaceChoice stored_surface(Random& random, unsigned threads) {
  SurfaceChoice s;
  s.geometry = random.pick(kGeometries);
  s.format = static_cast<recorder::TexelFormat>(random.below(12));
  s.channels = 1u << random.below(3);
  s.width = threads * 32 / s.texel_bytes();
  if (s.geometry == "2d") s.height = 6;
  if (s.geometry == "3d" || s.geometry == "a2d") s.height = 2;
  if (s.geometry == "3d" || s.layered()) s.depth = 3;
  return s;
}

std::vector<std::uint8_t> surface_bytes(const SurfaceChoice& choice, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint8_t> bytes(choice.bytes());
  for (std::uint8_t& each : bytes) each = static_cast<std::uint8_t>(random.word() >> 11);
  return bytes;
}

void surface(Writer& w, Resources& resources) {
  if (!w.kernel || !resources.use_surfaces) return;
  const unsigned way = w.random.below(10);
  if (way == 0) {
    static const std::vector<std::string> kQueries = {"width", "height", "depth"};
    const Value to = w.bits(32);
    const std::string query = w.random.pick(kQueries);
    w.line("suq." + query + ".b32 " + to.name + (w.random.chance(50) ? ", [%sa];" : ", [%sb];"));
    w.result(to);
  } else if (way < 6) {
    load(w, resources.loads);
  } else if (w.depth == 0) {
    store(w, resources);
  }
}

}  // namespace ptx2spv::programs
