// Surfaces, instructions and operands of the record of pairs: every geometry of instruction on
// every kind of array.
#include "dev/recorder/surface_pairs.hpp"

#include <algorithm>
#include <climits>

#include "dev/recorder/dice.hpp"
#include "src/cache/fnv.hpp"

namespace ptx2spv::recorder {
namespace {

const SurfaceFormatRow& format_of(std::string_view name) {
  return *std::find_if(std::begin(kSurfaceFormats), std::end(kSurfaceFormats),
                       [&](const SurfaceFormatRow& row) { return row.name == name; });
}

struct Place {
  std::int64_t x, y, z;  ///< x counts accesses
};

/// Inside in every coordinate, then outside in one and in all. `x`, `y` and `z` are extents.
std::vector<Place> places(std::int64_t x, std::int64_t y, std::int64_t z, bool has_y, bool has_z,
                          bool outside) {
  constexpr std::int64_t kFar = 1 << 20;
  const std::int64_t last = std::max<std::int64_t>(x - 1, 0);
  if (!outside) return {{0, 0, 0}, {last, y - 1, z - 1}, {x / 2, y - 1, 0}, {last / 2, 0, z - 1}};
  std::vector<Place> out = {{x, 0, 0}, {-1, y - 1, 0}, {kFar, 0, z - 1}, {-kFar, 0, 0}};
  if (has_y)
    for (const std::int64_t at : {y, std::int64_t{-1}, kFar, -kFar}) out.push_back({0, at, z - 1});
  if (has_z)
    for (const std::int64_t at : {z, std::int64_t{-1}, kFar, -kFar, z + 7, std::int64_t{65535}})
      out.push_back({last, y - 1, at});
  out.push_back({-1, -1, -1});
  out.push_back({x, y, z});
  return out;
}

SurfaceLine line_of(const SurfaceInstruction& i, unsigned unit, const Place& at, Dice& dice) {
  SurfaceLine line;
  const auto x = static_cast<std::int32_t>(at.x * unit), y = static_cast<std::int32_t>(at.y),
             z = static_cast<std::int32_t>(at.z);
  std::int32_t* c = line.coordinates;
  if (i.layered()) {
    c[0] = z, c[1] = x, c[2] = y;
  } else {
    c[0] = x, c[1] = y, c[2] = z;
  }
  for (unsigned k = 0; k < i.elements && i.kind != SurfaceKind::load; ++k)
    line.values[k] = (std::uint64_t{dice.bits()} << 32 | dice.bits()) >>
                     (64 - 8 * std::max(2u, i.element_bytes));
  return line;
}

}  // namespace

std::vector<SurfaceSetup> pair_surfaces() {
  struct Kind {
    const char* geometry;
    unsigned width, height, depth, level = 0;
  };
  constexpr Kind kKinds[] = {
      {"2d", 5, 3, 0},    {"1d", 6, 0, 0},     {"3d", 5, 3, 2},      {"a1d", 6, 0, 3},
      {"a2d", 5, 3, 2},   {"2d", 6, 1, 0},     {"cube", 4, 4, 6},    {"acube", 3, 3, 12},
      {"3d", 6, 3, 1},    {"3d", 6, 1, 1},     {"3d", 5, 1, 4},      {"a1d", 6, 0, 1},
      {"a2d", 6, 1, 1},   {"a2d", 5, 1, 3},    {"2d", 5, 3, 0, 1},   {"3d", 5, 3, 2, 1},
      {"1d", 6, 0, 0, 1}, {"a2d", 4, 3, 2, 1}, {"cube", 4, 4, 6, 1}, {"1d", 1, 0, 0},
      {"2d", 1, 1, 0},    {"2d", 40, 20, 0},   {"3d", 40, 9, 5},     {"a2d", 40, 20, 3},
  };
  struct Format {
    const char* name;
    unsigned channels;
  };
  constexpr Format kFormats[] = {{"u32", 1},    {"f32", 4}, {"u8", 1},      {"s16", 2},
                                 {"unorm8", 4}, {"f16", 4}, {"snorm16", 1}, {"s32", 2}};
  std::vector<SurfaceSetup> out;
  std::uint32_t seed = 7000;
  for (unsigned format = 0; format < std::size(kFormats); ++format)
    for (unsigned kind = 0; kind < std::size(kKinds); ++kind) {
      if (format && kind > 13 && (format + kind) % 3) continue;
      SurfaceSetup s;
      s.geometry = kKinds[kind].geometry;
      s.format = &format_of(kFormats[format].name);
      s.channels = kFormats[format].channels;
      s.width = kKinds[kind].width;
      s.height = kKinds[kind].height;
      s.depth = kKinds[kind].depth;
      s.level = kKinds[kind].level;
      s.seed = ++seed;
      out.push_back(std::move(s));
    }
  return out;
}

std::vector<SurfaceInstruction> pair_instructions(const SurfaceSetup& setup) {
  constexpr const char* kStarts[] = {"suld.b", "sust.b", "sust.p", "sured.b", "sured.p"};
  constexpr const char* kTypes[] = {".b8.",     ".b16.", ".b32.",  ".b64.", ".v4.b32.",
                                    ".v2.b16.", ".add.", "b.max.", "p.max."};
  const bool plain = std::string_view(setup.format->name) == "u32";
  std::vector<SurfaceInstruction> out;
  for (const char* geometry : {"1d", "2d", "3d", "a1d", "a2d"})
    for (const SurfaceInstruction& i : surface_instructions(geometry, false)) {
      const bool vector = i.elements > 1,
                 reduces = i.kind == SurfaceKind::reduce || i.kind == SurfaceKind::formatted_reduce;
      bool chosen = false;
      for (const char* start : kStarts)
        for (const char* type : kTypes) {
          const std::string_view text = i.text, wanted = type;
          const bool typed =
              text.find(wanted) != text.npos && (vector == (wanted[1] == 'v')) &&
              reduces == (wanted.find("add") != wanted.npos || wanted.find("max") != wanted.npos);
          chosen |= text.starts_with(start) && typed;
        }
      if (i.kind == SurfaceKind::formatted_store && i.element_bytes != 4) chosen = false;
      // The format matters to few of them.
      if (!plain && fnv_seed(i.text + setup.text()) % 5) chosen = false;
      if (chosen) out.push_back(i);
    }
  return out;
}

std::vector<SurfaceSetup> unread_surfaces() {
  constexpr struct {
    const char* format;
    unsigned channels, width;
  } kRows[] = {{"u32", 4, 3}, {"u32", 1, 5}, {"u8", 4, 1}, {"u32", 2, 3}};
  std::vector<SurfaceSetup> out;
  for (const char* geometry : {"1d", "2d", "3d", "a1d", "a2d"})
    for (const auto& row : kRows) {
      SurfaceSetup s;
      s.geometry = geometry;
      s.format = &format_of(row.format);
      s.channels = row.channels;
      s.width = row.width;
      s.height = s.geometry.find('1') == s.geometry.npos ? 2 : 0;
      s.depth = s.geometry == "3d" || s.layered() ? 2 : 0;
      s.seed = 9001 + static_cast<std::uint32_t>(out.size());
      out.push_back(std::move(s));
    }
  return out;
}

std::vector<SurfaceInstruction> unread_instructions(const std::string& geometry) {
  std::vector<SurfaceInstruction> out;
  for (SurfaceInstruction& i : surface_instructions(geometry, false)) {
    if (i.kind != SurfaceKind::load || i.elements == 1) continue;
    const std::string mnemonic = i.text;
    for (i.unread = 1; i.unread < 1u << i.elements; ++i.unread) {
      i.text = mnemonic + " {";
      for (unsigned k = 0; k < i.elements; ++k)
        i.text += std::string(k ? "," : "") + (i.reads(k) ? "xyzw"[k] : '_');
      i.text += "}";
      out.push_back(i);
    }
  }
  return out;
}

PairLines pair_lines(const SurfaceSetup& s, const SurfaceInstruction& i) {
  Dice dice(fnv_seed(i.text + s.text()));
  const unsigned n = i.access(s);
  const bool in_bytes =
      i.kind != SurfaceKind::formatted_store && i.kind != SurfaceKind::formatted_reduce;
  const unsigned unit = in_bytes ? n : 1;
  const bool has_y = i.geometry != "1d" && i.geometry != "a1d",
             has_z = i.geometry == "3d" || i.layered();
  PairLines out;
  for (const bool outside : {false, true})
    for (const Place& at : places(s.row_bytes() / n, s.rows(), s.slices(), has_y, has_z, outside)) {
      const SurfaceLine line = line_of(i, unit, at, dice);
      const bool faults = fault_of(s, i, line) != SurfaceFault::none;
      (faults ? out.faulting : out.safe).push_back(line);
    }
  if (in_bytes && n > 1) {
    SurfaceLine line = line_of(i, unit, {0, 0, 0}, dice);
    line.coordinates[i.layered() ? 1 : 0] += static_cast<std::int32_t>(n / 2);
    out.faulting.insert(out.faulting.begin(), line);
  }
  return out;
}

}  // namespace ptx2spv::recorder
