// The binding interface between a translated module and its host, version 1. abi.md describes
// it in words; the numbers are here once, for the translator, the runtime and any other host.
#pragma once

#include <cstdint>

namespace ptx2spv::abi {

inline constexpr std::uint32_t kVersion = 3;

// Descriptor set 0: storage buffers of 32-bit words. bindings.def says what each holds.
inline constexpr std::uint32_t kSet = 0;
enum Binding : std::uint32_t {
#define PTX2SPV_BINDING(name, number, space, readonly, moves, holds) name = number,
#include "ptx2spv/bindings.def"
};
inline constexpr std::uint32_t kBindings = 0
#define PTX2SPV_BINDING(name, number, space, readonly, moves, holds) +1
#include "ptx2spv/bindings.def"
    ;
inline constexpr std::uint32_t kLockWords = 4096;
/// Bytes at the start of binding `memory` that no object has: null points there.
inline constexpr std::uint32_t kNullBytes = 256;
/// Descriptor set 1: slot k of the kernel at binding k, a storage buffer or a storage image.
inline constexpr std::uint32_t kSlotSet = 1;
/// Descriptor set 2: texture slot k at binding k, a combined image sampler, where the device's
/// sampler reads it (TextureSpec::unit). Behind the slots, an array of them for each geometry that
/// handles out of memory are read in (TableSpec::unit), indexed by a handle's low word.
inline constexpr std::uint32_t kTextureSet = 2;

/// Push constants, as 32-bit word offsets. Addresses are two words, low first.
enum Push : std::uint32_t {
  grid_x = 0,
  grid_y,
  grid_z,  ///< %nctaid
  block_x,
  block_y,
  block_z,  ///< %ntid
  base_x,
  base_y,
  base_z,  ///< %ctaid of the first workgroup (direct, regions); flat: base_x is the linear index of
           ///< the first CTA
  threads =
      9,  ///< flat model: threads of this dispatch (gl_GlobalInvocation beyond it end at once)
  texture_features = 10,  ///< a constant of the translation (TranslateOptions); no host fills it in
  dynamic_shared = 11,    ///< bytes
  globals = 12,           ///< address of the module's .global variables
  constants_address = 14,  ///< address of the .const variables, for generic addresses
  params_address = 16,     ///< address of the parameters, for generic addresses
  printf_buffer = 18,      ///< address of the printf buffer, 0: none
  shared_slab = 20,    ///< address of shared memory kept in a buffer (block i at i * shared bytes);
                       ///< local memory kept there ends at it (TranslateOptions::local_in_memory)
  discard = 22,        ///< address of 64 bytes that suppressed stores go to
  surface_count = 24,  ///< records in the surface table, record 0 included
  texture_count = 25,
  heap = 26,  ///< address of the device heap, 0: none
};
inline constexpr std::uint32_t kPushWords = 28;
inline constexpr std::uint32_t kMostPushWords = 64;  ///< with parameters

/// Threads along an axis of a launch that TranslateOptions::assume_small_grid speaks of.
inline constexpr std::uint32_t kSmallGrid = 1u << 26;

/// Bytes of a cooperative grid's workspace, all zero at the start. The second word is what the
/// blocks count in where they meet (CUDA's headers, cooperative_groups).
inline constexpr std::uint32_t kGridWorkspace = 16;

/// What makes billionths of a second of a clock's ticks, in the parameter buffer of kernels that
/// read one: first + (ticks * rate >> 32), by a rate and a first time of 64 bits each. Rates of 0
/// leave the ticks as they are.
enum ClockWord : std::uint32_t {
  c_cycles_rate = 0,
  c_cycles_first = 2,  ///< of %clock and %clock64
  c_time_rate = 4,
  c_time_first = 6,  ///< of %globaltimer
};
inline constexpr std::uint32_t kClockWords = 8;

/// Specialisation constants: workgroup size, and words of dynamic shared memory.
enum Spec : std::uint32_t { size_x = 0, size_y = 1, size_z = 2, dynamic_shared_words = 3 };

/// A surface record, in words. The table is an array of records; record 0 is never a surface. What
/// accesses to planes and volumes need is in two groups of four words, and each is loaded as one.
enum SurfaceWord : std::uint32_t {
  s_base_lo = 0,
  s_base_hi,       ///< address of the first byte, a multiple of 16
  s_row_pitch,     ///< bytes from row to row, a multiple of 16
  s_generation,    ///< high word of the live handle; 0: no surface
  s_row_bytes_2d,  ///< s_row_bytes to instructions 2d and a2d; 0: they find nothing
  s_rows,          ///< height, at least 1
  s_slices,        ///< depth or layers, at least 1
  s_row_bytes_3d,  ///< to 3d
  s_slice_pitch_lo,
  s_slice_pitch_hi,  ///< bytes from slice to slice, a multiple of 16
  s_layer_pitch_lo,  ///< s_slice_pitch to instructions with an array index
  s_layer_pitch_hi,
  s_row_bytes_1d,  ///< to 1d and a1d
  s_row_bytes,     ///< width in bytes, no padding, below 2^31
  s_texel_bytes,
  s_format,  ///< SurfaceFormat
  s_width,
  s_height,
  s_depth,              ///< as suq gives them, elements; 0 where the geometry has none
  s_channel_data_type,  ///< as suq gives it
  s_channel_order,
  s_array_size,
  s_memory_layout,
  s_channels,
  s_flags,  ///< bit 0: image-backed (the address is its linear copy); surface_of_nothing
};
inline constexpr std::uint32_t kSurfaceWords = 32;
/// s_flags: the record is there for queries; accesses are out of bounds, whatever their geometry.
inline constexpr std::uint32_t surface_of_nothing = 2;
// The host copies slot k's record into the parameter buffer, at EntryInfo::slot_records + k
// records, or zeros where the handle is dead. Drivers load a constant offset once for all threads.
// A record found through its index costs gathers, more than the surface access itself.

/// A texture record, in words: its memory, then how it is read. Record 0 is never a texture.
enum TextureWord : std::uint32_t {
  x_base_lo = 0,
  x_base_hi,      ///< address of the first byte, a multiple of 4
  x_row_pitch,    ///< bytes from row to row, a multiple of 4
  x_slice_pitch,  ///< bytes from slice, layer or face to the next, a multiple of 4
  x_width,
  x_height,
  x_depth,       ///< texels, at least 1; depth of a 3D texture, else 1
  x_layers,      ///< at least 1; a cube is six of them
  x_generation,  ///< high word of the live handle; 0: no texture
  x_texel_bytes,
  x_component_bytes,
  x_channels,
  x_format,   ///< SurfaceFormat, u8 to f32: unorm and snorm are integers read as floats
  x_sampler,  ///< TextureSampler
  x_border,   ///< four components as the texture's memory would hold them; of sRGB colours, entries
              ///< of the sRGB table
  x_query_width = 18,
  x_query_height,
  x_query_depth,
  x_channel_data_type,
  x_channel_order,
  x_array_size,
  x_levels,    ///< mipmap levels, at least 1
  x_lod_bias,  ///< levels of detail: signed 256ths of a level
  x_lod_min,
  x_lod_max,       ///< both within the levels that there are
  x_level_offset,  ///< byte offset of each level from the first; rows of levels 1 up are 16 bytes
                   ///< aligned
};
inline constexpr std::uint32_t kTextureLevels = 20;  ///< most levels of a texture
/// Bits 0 to 15, as the host likes (TableSpec::bound): a sampler's array holds the texture. Bits 16
/// and 17: its texels are unsigned or signed integers there.
inline constexpr std::uint32_t x_sampled = x_level_offset + kTextureLevels;
inline constexpr std::uint32_t sampled_uint = 1u << 16, sampled_sint = 2u << 16;
inline constexpr std::uint32_t kTextureWords = x_sampled + 1;
/// Samples of a texel; 0 counts as 1. The word is the offset of level 19, which no texture has.
inline constexpr std::uint32_t x_samples = x_level_offset + kTextureLevels - 1;
inline constexpr std::uint32_t kTextureCapacity = 65536;  ///< records of the table
/// The sRGB table follows the last record: an entry of 16 bits for each byte, two in a word, low
/// one first. Bits 8 to 15 are a float32's exponent, which eight consecutive bytes share: that of
/// the last of them. Bits 0 to 7 are the mantissa for that exponent, leading one included, which is
/// bit 7 only where the byte's own exponent is the shared one.
inline constexpr std::uint32_t kSrgbTable = kTextureCapacity * kTextureWords;
inline constexpr std::uint32_t kSrgbWords = 128;
/// Bits of x_sampler. Bits 0 to 5: address modes of x, y, z.
enum TextureAddress : std::uint32_t { address_wrap, address_clamp, address_mirror, address_border };
enum TextureSampler : std::uint32_t {
  sample_linear = 1u << 6,
  sample_normalized = 1u << 7,
  sample_element = 1u << 8,
  sample_memory = 1u << 9,       ///< linear memory: integer coordinates alone read it
  sample_mip_linear = 1u << 10,  ///< the filter mixes two levels
  sample_srgb = 1u << 11,        ///< 8-bit colours are sRGB; alpha is not
  sample_rows = 1u << 12,        ///< the geometry has rows
  sample_seamless = 1u << 13,    ///< a cube map whose faces are filtered across their edges
  sample_anisotropy = 7u << 14,  ///< most samples by gradients: 1 2 4 6 8 10 12 16
  sample_trilinear = 1u << 17,   ///< anisotropic reads mix levels without NVIDIA's optimisation
  sample_mipmapped = 1u << 18,   ///< a mipmapped array of one level
  // What a texture is not made for reads as zeros: by instructions
  sample_no_planes = 1u << 19,   ///< 2d, a2d, and 1d at float coordinates
  sample_no_volumes = 1u << 20,  ///< 3d
  sample_no_cubes = 1u << 21,    ///< cube and acube
  sample_no_lines = 1u << 22,    ///< a1d at float coordinates
  sample_no_fetches = 1u << 23,  ///< 1d and a1d at integer coordinates
  sample_nothing = 31u << 19,    ///< all of them
  // For queries alone: the mode of x is clamp_ogl, which addresses as clamp_to_edge does. The next
  // bits are for y and z.
  sample_clamp_ogl = 1u << 24,
};
/// Features of textures that cost every read something. A module may be translated without them.
enum TextureFeature : std::uint32_t {
  feature_levels = 1,  ///< mipmap levels; without, level 0 is read
  feature_srgb = 2,
  feature_seamless = 4,
  feature_anisotropy = 8,
};
inline constexpr std::uint32_t kAllTextureFeatures = 15;

/// Texel component formats, also of records and slots.
enum class SurfaceFormat : std::uint32_t {
  u8,
  u16,
  u32,
  s8,
  s16,
  s32,
  f16,
  f32,
  unorm8,
  unorm16,
  snorm8,
  snorm16
};

/// A handle: low word the record's index, high word its generation (bit 31 set: a texture).
inline constexpr std::uint32_t kTextureHandleBit = 0x80000000u;
/// Set beside it: a sampler, whose record has only what says how to read.
inline constexpr std::uint32_t kSamplerHandleBit = 0x40000000u;

/// The trap record, in words. The host zeroes it before a launch.
enum TrapWord : std::uint32_t {
  t_count = 0,    ///< trapped threads, exact
  t_claimed = 1,  ///< 1 once a thread has written the rest
  t_site = 2,     ///< index into the interface description's trap sites
  t_kind = 3,     ///< TrapKind
  t_ctaid_x = 4,
  t_ctaid_y,
  t_ctaid_z,
  t_tid_x = 7,
  t_tid_y,
  t_tid_z,
  t_coord = 10,  ///< three words: the operands x, y, z (layered: index, x, y) as the instruction
                 ///< took them; of a dead texture or sampler the handle's two words
  t_handle_lo = 13,  ///< the record's number
  t_handle_hi = 14,  ///< of handles that no parameter holds, else 0
  t_cut_off =
      15,  ///< 1 + trap site of a loop that the driver cut off; words 1 to 13 say nothing then
};
/// Four words that nobody reads, for stores that only keep a driver from an optimisation.
inline constexpr std::uint32_t t_unread = 60;
inline constexpr std::uint32_t kTrapWords = 64;
enum class TrapKind : std::uint32_t {
  none = 0,
  out_of_bounds = 1,
  misaligned = 2,
  dead_handle = 3,
  trap_instruction = 4,
  assertion = 5,
  loop_limit = 6,
  bad_call = 7,
  no_progress = 8
};

/// The device heap, which malloc and free share, in words. The host makes it and hands it to one
/// launch after another; while none runs, the lock is 0. Blocks are 2^order units, each at a
/// multiple of its size. A unit's state is 0 where no block begins, order + 1 of a free block, with
/// kHeapUsed of one in use. A free block's first two words are the unit of the next free one of its
/// order plus 1 and of the previous one plus 1; 0 is the end.
enum HeapWord : std::uint32_t {
  h_lock = 0,
  h_units,  ///< of kHeapUnit bytes
  h_data,   ///< bytes from the heap's start to unit 0, a multiple of 256
  h_live,   ///< blocks in use
  h_lists,  ///< kHeapOrders of them: the first free block's unit plus 1, 0: none
};
inline constexpr std::uint32_t kHeapOrders = 28;
inline constexpr std::uint32_t kHeapStates = 64;  ///< word of unit 0's state
inline constexpr std::uint32_t kHeapUnit = 32;
inline constexpr std::uint32_t kHeapUsed = 0x80000000u;

/// printf buffer: word 0 bytes used (atomic), word 1 capacity in bytes, word 2 dropped calls;
/// entries from byte 16: words { bytes of the entry, linear thread number lo, hi, format address
/// lo, hi, argument bytes... }.
inline constexpr std::uint32_t kPrintfHeaderBytes = 16;

/// Windows of generic addresses, by their high word; every other address is global.
inline constexpr std::uint32_t kSharedWindowHi = 0xf5a00001u;
inline constexpr std::uint32_t kLocalWindowHi = 0xf5a00002u;

}  // namespace ptx2spv::abi
