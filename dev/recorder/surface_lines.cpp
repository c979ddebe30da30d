#include "dev/recorder/surface_lines.hpp"

#include <algorithm>
#include <cstring>

#include "src/cache/fnv.hpp"

namespace ptx2spv::recorder {
namespace {

/// 64-bit multiplicative generator; the records hold all operands, so any would do.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}
  std::uint32_t next() {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<std::uint32_t>(state_ >> 32);
  }
  std::uint32_t below(std::uint32_t limit) { return next() % limit; }
  std::uint64_t wide() { return std::uint64_t{next()} << 32 | next(); }
  template <class T, std::size_t N>
  T of(const T (&all)[N]) {
    return all[below(N)];
  }

 private:
  std::uint64_t state_;
};

std::uint64_t hash(const std::string& text) { return fnv(text, 1469598103934665603ull); }

std::uint32_t float_bits(float f) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &f, 4);
  return bits;
}

/// A word that conversions may find hard: near the limits of each format, NaN, denormals, or any.
std::uint32_t hard_word(Random& random) {
  constexpr std::uint32_t kEdges[] = {
      0,          1,          0x7f,       0x80,       0x81,       0xff,       0x100,
      0x7fff,     0x8000,     0xffff,     0x10000,    0xffffff80, 0xffffff7f, 0xffff8000,
      0xffff7fff, 0x7fffffff, 0x80000000, 0xffffffff, 0x3f800000, 0xbf800000, 0x3f7fffff,
      0x3f800001, 0xbf7fffff, 0x00800000, 0x007fffff, 0x80000001, 0x7f800000, 0xff800000,
      0x7f800001, 0x7fc00000, 0xffc12345, 0x7fa00000, 0x477fe000, 0x477fefff, 0x477ff000,
      0x47800000, 0xc77fffff, 0x38800000, 0x387fffff, 0x33800000, 0x33000001, 0x337fffff,
      0x3f000000, 0x3effffff, 0x3b808081, 0x37800080, 0x3c010204};
  switch (random.below(4)) {
    case 0: return random.of(kEdges);
    case 1: return random.next();
    case 2: {
      // Numbers in the range of normalized formats, and a little beyond.
      const float unit = static_cast<float>(random.below(1u << 24)) / static_cast<float>(1u << 23);
      return float_bits(1.05f * (unit - 1));
    }
    default: {
      // Near a step of an 8- or 16-bit normalized format.
      const bool narrow = random.below(2);
      const unsigned steps = narrow ? 255 : 65535;
      const float step = (static_cast<float>(random.below(steps)) + 0.5f) /
                         static_cast<float>(random.below(2) ? steps : steps / 2);
      return float_bits(step) + random.below(9) - 4 + (random.below(2) << 31);
    }
  }
}

std::int32_t edge_of(Random& random, std::int32_t extent) {
  switch (random.below(8)) {
    case 0: return -1;
    case 1: return extent;
    case 2: return extent + static_cast<std::int32_t>(random.below(9));
    case 3: return -1 - static_cast<std::int32_t>(random.below(9));
    case 4: return INT32_MIN;
    case 5: return INT32_MAX;
    case 6: return static_cast<std::int32_t>(random.next());
    default: return extent - 1;
  }
}

std::int32_t pick(Random& random, std::int32_t extent, bool inside) {
  if (inside) return static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(extent)));
  return edge_of(random, extent);
}

SurfaceLine any_line(const SurfaceSetup& s, const SurfaceInstruction& i, Random& random,
                     bool aligned) {
  SurfaceLine line;
  const bool all_inside = random.below(5) < 2;
  const auto inside = [&] { return all_inside || random.below(3) != 0; };
  const auto n = static_cast<std::int32_t>(i.access(s));
  const auto starts = static_cast<std::int32_t>(s.row_bytes()) / n;
  const bool in_bytes =
      i.kind != SurfaceKind::formatted_store && i.kind != SurfaceKind::formatted_reduce;
  // The unit of x: an access in bytes is aligned; sured.p counts units and sust.p texels.
  std::int32_t x = starts > 0 ? pick(random, starts, inside()) : edge_of(random, starts);
  if (in_bytes) {
    x = static_cast<std::int32_t>(static_cast<std::uint32_t>(x) * static_cast<std::uint32_t>(n));
    // The unscaled extremes, cut to the alignment.
    if (!all_inside && random.below(8) == 0)
      x = (random.below(2) ? INT32_MAX : INT32_MIN) & ~(n - 1);
    if (!aligned) x += 1 + static_cast<std::int32_t>(random.below(static_cast<unsigned>(n)));
  } else if (!all_inside && random.below(8) == 0) {
    // Numbers whose product with the unit has 33 bits.
    constexpr std::int32_t kWrapping[] = {0x10000000,  0x20000000,        0x40000000,
                                          -0x40000000, INT32_MIN / 4 + 1, 0x40000001};
    x = random.of(kWrapping);
  }
  const auto rows = static_cast<std::int32_t>(s.rows()),
             slices = static_cast<std::int32_t>(s.slices());
  std::int32_t z = pick(random, slices, inside());
  if (s.layered() && random.below(6) == 0) {
    // Only the low 16 bits of an array index are believed to count.
    constexpr std::uint32_t kHigh[] = {0x10000, 0x80000000, 0x7fff0000, 0xffff0000, 0x12340000};
    z = static_cast<std::int32_t>((static_cast<std::uint32_t>(z) & 0xffff) | random.of(kHigh));
  }
  const std::int32_t y = pick(random, rows, inside());
  if (i.geometry == "a1d") {
    line.coordinates[0] = z;
    line.coordinates[1] = x;
  } else if (i.geometry == "a2d") {
    line.coordinates[0] = z;
    line.coordinates[1] = x;
    line.coordinates[2] = y;
  } else {
    line.coordinates[0] = x;
    line.coordinates[1] = y;
    line.coordinates[2] = z;
  }
  if (i.kind != SurfaceKind::load)
    for (unsigned k = 0; k < i.elements; ++k)
      line.values[k] = i.is_float_store()     ? hard_word(random)
                       : i.element_bytes == 8 ? random.wide()
                                              : std::uint64_t{random.next()};
  for (std::uint64_t& value : line.values)
    if (i.element_bytes <= 2) value &= 0xffff;
  return line;
}

void add_accesses(const std::string& base, const std::string& geometry, const char* cache,
                  std::vector<SurfaceInstruction>& out) {
  const bool formatted = base == "sust.p";
  for (const unsigned elements : {1u, 2u, 4u})
    for (const unsigned bytes : {1u, 2u, 4u, 8u})
      for (const char* mode : {"trap", "clamp", "zero"}) {
        if (elements * bytes > 16 || (formatted && bytes != 4)) continue;
        SurfaceInstruction i;
        i.kind = formatted          ? SurfaceKind::formatted_store
                 : base == "suld.b" ? SurfaceKind::load
                                    : SurfaceKind::store;
        i.geometry = geometry;
        i.mode = mode;
        i.elements = elements;
        i.element_bytes = bytes;
        i.text = base + "." + geometry + (*cache ? "." : "") + cache +
                 (elements == 1 ? "" : ".v" + std::to_string(elements)) + ".b" +
                 std::to_string(bytes * 8) + "." + mode;
        out.push_back(std::move(i));
      }
}

void add_reductions(const std::string& geometry, std::vector<SurfaceInstruction>& out) {
  struct Row {
    const char *start, *types;
  };
  constexpr Row kRows[] = {{"sured.b.add", "u32 s32 u64"},
                           {"sured.b.min", "u32 s32 u64 s64"},
                           {"sured.b.max", "u32 s32 u64 s64"},
                           {"sured.b.and", "b32"},
                           {"sured.b.or", "b32"},
                           {"sured.p.add", "b32"},
                           {"sured.p.min", "b32 b64"},
                           {"sured.p.max", "b32 b64"},
                           {"sured.p.and", "b32"},
                           {"sured.p.or", "b32"}};
  for (const Row& row : kRows) {
    const std::string types = row.types;
    for (std::size_t at = 0; at < types.size(); at += 4)
      for (const char* mode : {"trap", "clamp", "zero"}) {
        const std::string type = types.substr(at, 3);
        SurfaceInstruction i;
        i.kind = row.start[6] == 'p' ? SurfaceKind::formatted_reduce : SurfaceKind::reduce;
        i.geometry = geometry;
        i.mode = mode;
        i.element_bytes = type[1] == '6' ? 8 : 4;
        i.text = std::string(row.start) + "." + geometry + "." + type + "." + mode;
        out.push_back(std::move(i));
      }
  }
}

}  // namespace

std::string SurfaceSetup::text() const {
  return "S " + std::string(format->name) + std::to_string(channels) + " " + geometry +
         " w=" + std::to_string(width) + " h=" + std::to_string(height) +
         " d=" + std::to_string(depth) + " seed=" + std::to_string(seed) +
         (level ? " level=" + std::to_string(level) : "");
}

std::vector<SurfaceInstruction> surface_instructions(const std::string& geometry, bool cached) {
  std::vector<SurfaceInstruction> out;
  add_accesses("suld.b", geometry, "", out);
  add_accesses("sust.b", geometry, "", out);
  add_accesses("sust.p", geometry, "", out);
  if (cached) {
    for (const char* cache : {"ca", "cg", "cs", "cv"}) add_accesses("suld.b", geometry, cache, out);
    for (const char* cache : {"wb", "cg", "cs", "wt"}) {
      add_accesses("sust.b", geometry, cache, out);
      add_accesses("sust.p", geometry, cache, out);
    }
  }
  if (geometry[0] != 'a') add_reductions(geometry, out);
  return out;
}

std::vector<SurfaceSetup> surface_setups() {
  struct Shape {
    const char* geometry;
    unsigned width, height, depth;
    bool cube;
  };
  constexpr Shape kShapes[] = {
      {"1d", 1, 0, 0, false},   {"1d", 2, 0, 0, false},  {"1d", 3, 0, 0, false},
      {"1d", 7, 0, 0, false},   {"1d", 16, 0, 0, false}, {"1d", 33, 0, 0, false},
      {"1d", 257, 0, 0, false}, {"2d", 1, 1, 0, false},  {"2d", 2, 3, 0, false},
      {"2d", 3, 2, 0, false},   {"2d", 9, 1, 0, false},  {"2d", 1, 7, 0, false},
      {"2d", 17, 5, 0, false},  {"2d", 66, 3, 0, false}, {"3d", 1, 1, 1, false},
      {"3d", 2, 1, 3, false},   {"3d", 3, 2, 4, false},  {"3d", 1, 5, 2, false},
      {"3d", 7, 3, 3, false},   {"3d", 18, 2, 2, false}, {"a1d", 1, 0, 1, false},
      {"a1d", 3, 0, 1, false},  {"a1d", 2, 0, 5, false}, {"a1d", 9, 0, 3, false},
      {"a1d", 33, 0, 2, false}, {"a2d", 1, 1, 1, false}, {"a2d", 2, 3, 1, false},
      {"a2d", 3, 2, 5, false},  {"a2d", 1, 4, 3, false}, {"a2d", 13, 2, 3, false},
      {"a2d", 5, 5, 6, true},   {"a2d", 3, 3, 12, true},
  };
  std::vector<SurfaceSetup> out;
  std::uint32_t seed = 1000;
  for (const Shape& shape : kShapes)
    for (const SurfaceFormatRow& format : kSurfaceFormats)
      for (const unsigned channels : {1u, 2u, 4u}) {
        SurfaceSetup s;
        s.geometry = shape.geometry;
        s.format = &format;
        s.channels = channels;
        s.width = shape.width;
        s.height = shape.height;
        s.depth = shape.depth;
        s.cube = shape.cube;
        s.seed = ++seed;
        out.push_back(std::move(s));
      }
  return out;
}

std::vector<std::uint8_t> surface_bytes(const SurfaceSetup& setup) {
  std::vector<std::uint8_t> bytes(setup.bytes());
  std::uint32_t state = setup.seed * 2654435761u + 1u;
  for (std::uint8_t& byte : bytes) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    byte = static_cast<std::uint8_t>(state >> 11);
  }
  return bytes;
}

std::string surface_kernel(const SurfaceInstruction& i) {
  const std::string type = i.element_bytes == 8 ? "b64" : i.element_bytes == 4 ? "b32" : "b16";
  std::string text =
      ".version 8.1\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .u64 surface, .param .u64 lines, .param .u64 results,\n"
      "                  .param .u64 first, .param .u64 count)\n{\n"
      "  .reg .pred %p;\n  .reg .b32 %i, %n, %t, %c<4>;\n  .reg .b64 %s, %in, %out, %o;\n"
      "  .reg ." +
      type +
      " %v<4>;\n"
      "  mov.u32 %i, %ctaid.x;\n  mov.u32 %n, %ntid.x;\n  mov.u32 %t, %tid.x;\n"
      "  mad.lo.u32 %i, %i, %n, %t;\n  ld.param.u32 %n, [count];\n"
      "  setp.ge.u32 %p, %i, %n;\n  @%p bra done;\n"
      "  ld.param.u32 %t, [first];\n  add.u32 %i, %i, %t;\n"
      "  ld.param.u64 %s, [surface];\n  ld.param.u64 %in, [lines];\n"
      "  mul.wide.u32 %o, %i, 48;\n  add.u64 %in, %in, %o;\n";
  std::string at, values;
  for (unsigned k = 0; k < i.coordinates(); ++k) {
    const std::string number = std::to_string(k);
    text += "  ld.global.u32 %c" + number + ", [%in+" + std::to_string(4 * k) + "];\n";
    at += (k ? ", %c" : "%c") + number;
  }
  if (i.coordinates() == 3) at += ", %c2";
  for (unsigned k = 0; k < i.elements; ++k) {
    const std::string number = std::to_string(k);
    values += (k ? ", %v" : "%v") + number;
    if (i.kind != SurfaceKind::load)
      text +=
          "  ld.global." + type + " %v" + number + ", [%in+" + std::to_string(16 + 8 * k) + "];\n";
  }
  if (i.elements > 1) values = "{" + values + "}";
  const std::string place = "[%s, {" + at + "}]";
  if (i.kind == SurfaceKind::load) {
    text += "  " + i.text.substr(0, i.text.find(' ')) + " " + values + ", " + place +
            ";\n  ld.param.u64 %out, [results];\n  mul.wide.u32 %o, %i, 32;\n"
            "  add.u64 %out, %out, %o;\n";
    for (unsigned k = 0; k < i.elements; ++k)
      if (i.reads(k))
        text += "  st.global." + type + " [%out+" + std::to_string(8 * k) + "], %v" +
                std::to_string(k) + ";\n";
  } else {
    text += "  " + i.text + " " + place + ", " + values + ";\n";
  }
  return text + "done:\n  ret;\n}\n";
}

SurfaceFault fault_of(const SurfaceSetup& s, const SurfaceInstruction& i, const SurfaceLine& line) {
  if (i.reads_nothing()) return SurfaceFault::none;
  const std::int64_t n = i.access(s);
  const bool in_bytes =
      i.kind != SurfaceKind::formatted_store && i.kind != SurfaceKind::formatted_reduce;
  const std::int32_t* c = line.coordinates;
  std::int64_t x = i.layered() ? c[1] : c[0], y = 0, z = 0;
  if (i.geometry == "2d" || i.geometry == "3d") y = c[1];
  if (i.geometry == "a2d") y = c[2];
  if (i.geometry == "3d") z = c[2];
  if (i.layered()) z = c[0] & 0xffff;
  if (in_bytes && x % n) return SurfaceFault::alignment;
  if (i.mode != "trap") return SurfaceFault::none;
  if (!in_bytes) x *= n;
  const bool fits =
      x >= 0 && x + n <= s.row_bytes() && y >= 0 && y < s.rows() && z >= 0 && z < s.slices();
  return fits ? SurfaceFault::none : SurfaceFault::bounds;
}

std::vector<SurfaceLine> surface_lines(const SurfaceSetup& setup,
                                       const SurfaceInstruction& instruction, unsigned count) {
  Random random(hash(instruction.text) + setup.seed);
  std::vector<SurfaceLine> out;
  for (unsigned tries = 0; out.size() < count && tries < 8 * count; ++tries) {
    const SurfaceLine line = any_line(setup, instruction, random, true);
    if (fault_of(setup, instruction, line) == SurfaceFault::none) out.push_back(line);
  }
  return out;
}

bool faulting_line(const SurfaceSetup& setup, const SurfaceInstruction& instruction,
                   SurfaceFault fault, SurfaceLine& line) {
  Random random(hash(instruction.text) + setup.seed + 77);
  for (unsigned tries = 0; tries < 64; ++tries) {
    line = any_line(setup, instruction, random, fault != SurfaceFault::alignment);
    if (fault_of(setup, instruction, line) == fault) return true;
  }
  return false;
}

}  // namespace ptx2spv::recorder
