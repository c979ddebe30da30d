// The launch manifest: what a JSON file says, checked, with names resolved to positions.
// docs/reference/manifest.md describes the form.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptx2spv/runtime.hpp"
#include "tools/common/files.hpp"

namespace ptx2spv::tools {

/// Where initial contents come from.
struct Init {
  enum class Kind : std::uint8_t { zero, pattern, raw, npy, png, bytes, handles };
  Kind kind = Kind::zero;
  std::uint32_t seed = 0;  ///< pattern
  std::string path;        ///< raw, npy, png: seen from the working directory
  Bytes bytes;             ///< repeated to the size
  /// handles: surfaces count from 0, textures from kTextureBase, samplers from kSamplerBase;
  /// kNullHandle is a null handle.
  std::vector<std::uint32_t> handles;
  std::string where;  ///< file:line and pointer, for errors found later
};
inline constexpr std::uint32_t kTextureBase = 1u << 30, kSamplerBase = 1u << 31, kNullHandle = ~0u;

struct SurfaceSpec {
  std::string name;
  ArrayDesc desc;
  Init init;
  std::vector<Init> level_inits;  ///< of levels 1 up; those that are not there are zero
  std::uint64_t bytes = 0;        ///< of level 0, dense
};
struct BufferSpec {
  std::string name;
  std::uint64_t bytes = 0;
  Init init;
};
struct TextureSpec {
  std::string name, where;
  std::uint32_t surface = 0;            ///< its array,
  std::optional<std::uint32_t> level;   ///< of which one level alone,
  std::optional<std::uint32_t> buffer;  ///< or its memory
  TextureMemory memory;
  TextureDesc desc;
};
struct SamplerSpec {
  std::string name, where;
  TextureDesc desc;
};
struct GlobalSpec {
  std::string name;
  Init init;
};

struct ArgSpec {
  enum class Kind : std::uint8_t { surface, texture, sampler, buffer, bytes };
  Kind kind = Kind::bytes;
  std::uint32_t index = 0;   ///< surface, texture, sampler or buffer
  std::uint64_t offset = 0;  ///< buffer
  std::uint32_t level = 0;   ///< surface
  Bytes bytes;
  std::string type;  ///< of a number, "f32"; empty for other bytes
};
struct LaunchSpec {
  std::string kernel;
  Dim3 grid, block;
  std::uint32_t shared = 0, repeat = 1;
  std::vector<ArgSpec> args;
  std::vector<std::pair<std::string, std::uint32_t>> surfrefs, texrefs, samplerrefs;
  std::string where;
};

/// How far a value may be from what is expected: an element passes where any part allows it.
struct Tolerance {
  double absolute = 0;     ///< |got - expected|
  double relative = 0;     ///< of |expected|
  std::uint64_t ulps = 0;  ///< representable numbers from one to the other
  bool none() const { return absolute == 0 && relative == 0 && ulps == 0; }
};

struct OutputSpec {
  enum class Kind : std::uint8_t { surface, buffer, global };
  Kind kind = Kind::surface;
  std::uint32_t index = 0;  ///< surface or buffer
  std::uint32_t level = 0;  ///< of a surface
  std::string name;
  std::string png, npy, raw, expect;  ///< paths, empty: none
  std::string dtype;                  ///< of a buffer's or global's elements: u8 ... f64
  Tolerance tolerance;                ///< of `expect`
  std::uint64_t max_different = 0;    ///< elements that may be beyond the tolerance
  std::string difference;             ///< a picture of the differences is written there
  std::string sha256;
  std::optional<std::pair<double, double>> range;  ///< values shown black and white in a picture
  std::string where;
  const char* kind_name() const;
};

/// A file that the manifest names, and where.
struct FileUse {
  std::string path;
  std::string where;  ///< file:line and pointer, for errors
  std::string place;  ///< pointer and line, for errors about another place
  bool written = false;
};

struct Manifest {
  std::string file, folder;
  std::vector<FileUse> files;
  std::vector<std::string> modules, module_where;  ///< paths, and where each is named
  std::vector<SurfaceSpec> surfaces;
  std::vector<BufferSpec> buffers;
  std::vector<TextureSpec> textures;
  std::vector<SamplerSpec> samplers;
  std::vector<GlobalSpec> globals;
  std::vector<LaunchSpec> launches;
  std::vector<OutputSpec> outputs;
};

/// Parses and checks `text`. Every problem found is a line in `errors`: file:line: error: /pointer:
/// text. `output_folder` empty: outputs go beside the manifest.
bool parse_manifest(const std::string& file, std::string_view text,
                    const std::string& output_folder, Manifest& manifest,
                    std::vector<std::string>& errors);

/// Dimensions as an .npy shape: slices or layers, rows, elements, and channels where there are
/// several.
std::vector<std::uint64_t> npy_shape(const ArrayDesc& desc, std::uint32_t level = 0);
/// Elements of a mipmap level along x, y and z (or layers).
std::array<std::uint32_t, 3> level_extent(const ArrayDesc& desc, std::uint32_t level);
/// A level as an array of its own.
ArrayDesc level_desc(const ArrayDesc& desc, std::uint32_t level);
std::uint64_t level_bytes(const ArrayDesc& desc, std::uint32_t level);

}  // namespace ptx2spv::tools
