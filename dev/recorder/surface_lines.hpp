// What the records of surfaces are made of: surfaces, instructions, and the operands of single
// lines. Nothing here needs a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dev/recorder/cuda_driver.hpp"

namespace ptx2spv::recorder {

struct SurfaceFormatRow {
  const char* name;
  unsigned bytes;
  ArrayFormat format;  ///< of one channel
  bool normalized;     ///< two and four channels have numbers of their own
};
inline constexpr SurfaceFormatRow kSurfaceFormats[] = {
    {"u8", 1, ArrayFormat::u8, false},        {"u16", 2, ArrayFormat::u16, false},
    {"u32", 4, ArrayFormat::u32, false},      {"s8", 1, ArrayFormat::s8, false},
    {"s16", 2, ArrayFormat::s16, false},      {"s32", 4, ArrayFormat::s32, false},
    {"f16", 2, ArrayFormat::f16, false},      {"f32", 4, ArrayFormat::f32, false},
    {"unorm8", 1, ArrayFormat::unorm8, true}, {"unorm16", 2, ArrayFormat::unorm16, true},
    {"snorm8", 1, ArrayFormat::snorm8, true}, {"snorm16", 2, ArrayFormat::snorm16, true},
};

struct SurfaceSetup {
  std::string geometry = "2d";  ///< 1d 2d 3d a1d a2d cube acube
  const SurfaceFormatRow* format = kSurfaceFormats;
  unsigned channels = 1;
  unsigned width = 1, height = 0, depth = 0;  ///< texels; 0 where there is none; depth: or layers
  bool cube = false;                          ///< the layers are the faces of cubes
  unsigned level = 0;                         ///< of a mipmapped array; the extents are its own
  std::uint32_t seed = 1;

  bool is_cube() const { return cube || geometry.find("cube") != std::string::npos; }
  bool layered() const { return geometry[0] == 'a'; }
  unsigned texel_bytes() const { return format->bytes * channels; }
  unsigned row_bytes() const { return width * texel_bytes(); }
  unsigned rows() const { return height ? height : 1; }
  unsigned slices() const { return depth ? depth : 1; }
  std::size_t bytes() const { return std::size_t{row_bytes()} * rows() * slices(); }
  /// The record's S line.
  std::string text() const;
};

enum class SurfaceKind : std::uint8_t { load, store, formatted_store, reduce, formatted_reduce };

struct SurfaceInstruction {
  /// suld.b.2d.v2.b32.clamp; then " {x,_}" if the kernel leaves some of a load's elements unread.
  std::string text;
  SurfaceKind kind = SurfaceKind::load;
  std::string geometry, mode;
  unsigned elements = 1, element_bytes = 4;
  unsigned unread = 0;  ///< of a load: a bit for each element
  bool is_float_store() const { return kind == SurfaceKind::formatted_store; }
  bool layered() const { return geometry[0] == 'a'; }
  unsigned coordinates() const {
    return geometry == "1d" ? 1 : geometry == "2d" || geometry == "a1d" ? 2 : 3;
  }
  bool reads(unsigned element) const { return !(unread >> element & 1); }
  bool reads_nothing() const { return unread + 1 == 1u << elements; }
  /// Bytes of one access; of a load, those that ptxas leaves of it.
  unsigned access(const SurfaceSetup& s) const {
    if (is_float_store()) return s.texel_bytes();
    unsigned used = elements;
    while (used / 2 * element_bytes >= 4 && unread >> used / 2 == (1u << elements >> used / 2) - 1)
      used /= 2;
    return used * element_bytes;
  }
};

/// Coordinates as the instruction takes them, and source elements.
struct SurfaceLine {
  std::int32_t coordinates[4] = {};
  std::uint64_t values[4] = {};
};

/// Every instruction on a geometry, in the manual's order. `cached`: with each cache operator, too.
std::vector<SurfaceInstruction> surface_instructions(const std::string& geometry, bool cached);
/// Every surface: shapes of each geometry in each format, the seeds counted through.
std::vector<SurfaceSetup> surface_setups();
/// The bytes that belong to a seed.
std::vector<std::uint8_t> surface_bytes(const SurfaceSetup& setup);
/// A kernel with entry `k`, a line a thread: handle, lines, results, first line, number of lines.
std::string surface_kernel(const SurfaceInstruction& instruction);

/// Why a line ends its launch with an error, or nothing.
enum class SurfaceFault : std::uint8_t { none, bounds, alignment };
SurfaceFault fault_of(const SurfaceSetup& setup, const SurfaceInstruction& instruction,
                      const SurfaceLine& line);
/// `count` lines of pseudo-random choice, none of which faults; fewer where there are none.
std::vector<SurfaceLine> surface_lines(const SurfaceSetup& setup,
                                       const SurfaceInstruction& instruction, unsigned count);
/// A line that faults as `fault` says; false where none was found.
bool faulting_line(const SurfaceSetup& setup, const SurfaceInstruction& instruction,
                   SurfaceFault fault, SurfaceLine& line);

}  // namespace ptx2spv::recorder
