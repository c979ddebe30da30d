#include "tests/support/surface_model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace ptx2spv::test {
namespace {

using ptx::Mod;

struct Place {
  bool found = true;  ///< the array is of a kind that the instruction finds something in
  bool inside = false, misaligned = false;
  std::size_t offset = 0;
};

/// 1: lines and layers of them, 2: planes and layers of them, 3: volumes.
int dimensions(Mod instruction) {
  if (instruction == Mod::d1 || instruction == Mod::a1d) return 1;
  return instruction == Mod::d3 ? 3 : 2;
}
int dimensions(const std::string& array) {
  return array == "1d" || array == "a1d" ? 1 : array == "3d" ? 3 : 2;
}

/// `x_unit`: bytes that one step of x is.
Place locate(const ModelSurface& s, const SurfaceForm& form, std::vector<std::int32_t> at,
             std::int64_t bytes, std::int64_t x_unit) {
  const bool layered = form.geometry == Mod::a1d || form.geometry == Mod::a2d;
  std::int64_t z = 0, y = 0;
  if (layered) {
    z = at[0] & 0xffff;
    at.erase(at.begin());
  }
  std::int64_t x = at[0] * x_unit;
  if (at.size() > 1) y = at[1];
  if (at.size() > 2) z = at[2];
  const std::int64_t row = s.row_bytes(), rows = s.height, slices = s.depth;
  Place place;
  const int instruction = dimensions(form.geometry), array = dimensions(s.geometry);
  // A volume's slices are planes. Instructions of any other geometry find nothing.
  place.found = instruction == array || (array == 3 && instruction == 2);
  if (!place.found) return place;
  place.misaligned = x % bytes != 0 && x_unit == 1;
  if (form.clamp == Mod::clamp) {
    if (row < bytes) return place;
    x = std::clamp<std::int64_t>(x, 0, (row - bytes) / bytes * bytes);
    y = std::clamp<std::int64_t>(y, 0, rows - 1);
    z = std::clamp<std::int64_t>(z, 0, slices - 1);
  } else if (x < 0 || x + bytes > row || y < 0 || y >= rows || z < 0 || z >= slices) {
    return place;
  }
  // Every layer of a volume is its first slice.
  if (layered && array == 3) z = 0;
  place.inside = true;
  place.offset = static_cast<std::size_t>((z * rows + y) * row + x);
  return place;
}

std::uint64_t read(const ModelSurface& s, std::size_t at, unsigned bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, s.bytes.data() + at, bytes);
  return value;
}

void write(ModelSurface& s, std::size_t at, unsigned bytes, std::uint64_t value) {
  std::memcpy(s.bytes.data() + at, &value, bytes);
}

std::uint64_t reduce(Mod op, std::uint64_t old, std::uint64_t value, unsigned bits,
                     bool is_signed) {
  const auto key = [&](std::uint64_t v) {
    // Shifted to the top, so that one comparison serves both widths; a flipped sign orders signed.
    v <<= 64 - bits;
    return is_signed ? v ^ std::uint64_t{1} << 63 : v;
  };
  switch (op) {
    case Mod::add: return old + value;
    case Mod::and_: return old & value;
    case Mod::or_: return old | value;
    case Mod::min: return key(value) < key(old) ? value : old;
    default: return key(value) > key(old) ? value : old;
  }
}

/// f32 to f16, toward zero.
std::uint32_t half(std::uint32_t u) {
  const std::uint32_t sign = u >> 16 & 0x8000;
  const std::uint32_t exponent = u >> 23 & 255, mantissa = u & 0x7fffff;
  if (exponent == 255)
    return sign | 0x7c00 | (mantissa ? std::max(mantissa >> 13, std::uint32_t{1}) : 0);
  const int e = static_cast<int>(exponent) - 112;
  if (e >= 31) return sign | 0x7bff;
  if (e <= 0) return sign | (e >= -10 ? (mantissa | 0x800000) >> (14 - e) : 0);
  return sign | static_cast<std::uint32_t>(e) << 10 | mantissa >> 13;
}

}  // namespace

ModelSurface::ModelSurface(std::string geometry_in, std::string format_in,
                           std::uint32_t channels_in, std::uint32_t width_in,
                           std::uint32_t height_in, std::uint32_t depth_in, std::uint32_t seed)
    : geometry(std::move(geometry_in)),
      format(std::move(format_in)),
      channels(channels_in),
      width(width_in),
      height(height_in),
      depth(depth_in),
      bytes(std::size_t{row_bytes()} * height * depth) {
  std::uint32_t state = seed * 2654435761u + 1u;
  for (std::uint8_t& byte : bytes) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    byte = static_cast<std::uint8_t>(state >> 11);
  }
}

std::uint32_t ModelSurface::component_bytes() const {
  return format.ends_with("32") ? 4 : format.ends_with("16") ? 2 : 1;
}

std::uint32_t model_query(const ModelSurface& s, const std::string& query) {
  const bool layered = s.geometry[0] == 'a';
  if (query == "width") return s.width;
  // The layers are the height of 1D arrays and the depth of 2D ones, as the recorded programs say.
  if (query == "height") return s.geometry == "1d" ? 0 : s.geometry == "a1d" ? s.depth : s.height;
  if (query == "depth") return s.geometry == "3d" || s.geometry == "a2d" ? s.depth : 0;
  if (query == "array_size") return layered ? s.depth : 0;
  if (query == "memory_layout") return 0;
  if (query == "channel_order") return s.channels == 1 ? 0x10b0 : s.channels == 2 ? 0x10b2 : 0x10b5;
  constexpr struct {
    const char* format;
    std::uint32_t number;
  } kTypes[] = {{"snorm8", 0x10d0}, {"snorm16", 0x10d1}, {"unorm8", 0x10d2}, {"unorm16", 0x10d3},
                {"s8", 0x10d7},     {"s16", 0x10d8},     {"s32", 0x10d9},    {"u8", 0x10da},
                {"u16", 0x10db},    {"u32", 0x10dc},     {"f16", 0x10dd},    {"f32", 0x10de}};
  for (const auto& row : kTypes)
    if (s.format == row.format && query == "channel_data_type") return row.number;
  return ~0u;
}

std::uint32_t model_convert(const std::string& format, std::uint32_t u) {
  if (format == "f32" || format == "u32" || format == "s32") return u;
  if (format == "f16") return half(u);
  const unsigned bits = format.ends_with("16") ? 16 : 8;
  if (format[0] == 'u' && format[1] != 'n') return std::min(u, (1u << bits) - 1);
  if (format[0] == 's' && format[1] != 'n') {
    const std::int32_t top = (1 << (bits - 1)) - 1;
    return static_cast<std::uint32_t>(std::clamp(static_cast<std::int32_t>(u), -top - 1, top)) &
           ((1u << bits) - 1);
  }
  const float x = std::bit_cast<float>(u);
  const unsigned b = format[0] == 's' ? bits - 1 : bits;
  if (std::isnan(x) || (format[0] == 'u' && x <= 0)) return 0;
  const double scaled =
      std::min<double>(std::fabs(x), 1) * std::ldexp(1.0, static_cast<int>(b) + 4);
  const auto whole = static_cast<std::uint32_t>(scaled);
  const std::uint32_t r = (whole - (whole >> b) + 7) >> 4;
  return (x < 0 ? 0 - r : r) & ((1u << bits) - 1);
}

ModelResult model_run(ModelSurface& s, const SurfaceForm& form,
                      const std::vector<std::int32_t>& coordinates,
                      const std::vector<std::uint64_t>& values) {
  ModelResult result;
  const unsigned n = form.element_bytes();
  const bool texels = form.op == ptx::Opcode::sust && form.formatted;
  const unsigned bytes = texels ? s.texel_bytes() : form.access_bytes();
  const Place at = locate(s, form, coordinates, bytes, form.formatted ? bytes : 1);
  const bool traps = form.clamp == Mod::trap || form.clamp == Mod::none;
  result.trap = at.found && (at.misaligned || (traps && !at.inside));
  const bool done = at.inside && !result.trap;
  if (form.op == ptx::Opcode::suld) {
    for (unsigned i = 0; i < form.vector; ++i)
      result.elements.push_back(done ? read(s, at.offset + std::size_t{i} * n, n) : 0);
  } else if (done && texels) {
    for (unsigned c = 0; c < s.channels; ++c)
      write(s, at.offset + std::size_t{c} * s.component_bytes(), s.component_bytes(),
            model_convert(s.format, c < form.vector ? static_cast<std::uint32_t>(values[c]) : 0));
  } else if (done && form.op == ptx::Opcode::sust) {
    for (unsigned i = 0; i < form.vector; ++i)
      write(s, at.offset + std::size_t{i} * n, n, values[i]);
  } else if (done) {
    const std::string type(ptx::text(form.type));
    const bool by_format = form.formatted && s.format[0] == 's';
    const bool is_signed = type[0] == 's' || by_format;
    write(s, at.offset, n,
          reduce(form.operation, read(s, at.offset, n), values[0], 8 * n, is_signed));
  }
  return result;
}

}  // namespace ptx2spv::test
