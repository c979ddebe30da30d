// The texture record of an H200, replayed through translated kernels on a device.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "ptx2spv/runtime.hpp"
#include "src/cache/fnv.hpp"
#include "tests/support/share.hpp"
#include "tests/texture/instruction.hpp"

namespace ptx2spv::tests {
namespace {

using recorder::TexelData;
using recorder::TextureSetup;

std::optional<Geometry> geometry_of(const TextureSetup& s) {
  if (s.cube()) return Geometry::a2d;
  return parse_geometry(s.geometry);
}

/// Why a level out of gradients may differ (docs/reference/hardware.md).
enum class LevelOff : std::uint8_t {
  no,       ///< it may not
  one,      ///< by 1/256
  cube,     ///< by more, on a cube map
  unknown,  ///< what an endless length counts for on a cube map
};
LevelOff level_off(const TextureSection& section, std::size_t i, const std::uint32_t* actual) {
  if (!section.instruction.starts_with("tex.grad")) return LevelOff::no;
  constexpr std::uint32_t kEndless = 0x5d800000;
  if (section.setup.cube()) {
    for (std::uint32_t word : section.operands[i])
      if ((word & 0x7fffffffu) > kEndless) return LevelOff::unknown;
  }
  // A nearest level shows neither.
  if (!section.setup.mip_linear) return section.setup.cube() ? LevelOff::cube : LevelOff::one;
  float most = 0;
  for (std::size_t k = 0; k < section.results[i].size(); ++k)
    most = std::max(most, std::fabs(std::bit_cast<float>(actual[k]) -
                                    std::bit_cast<float>(section.results[i][k])));
  if (most <= 1.0f / 256) return LevelOff::one;
  return section.setup.cube() && most <= 128.0f / 256 ? LevelOff::cube : LevelOff::no;
}

/// Reads of several samples: how many are not equal, and by how much.
struct Anisotropic {
  unsigned lines = 0, off = 0, far = 0;
  float worst = 0;
  std::string worst_line;
};
// The committed records have so many, as counted; hardware.md says where others differ.
constexpr unsigned kLevelsOne = 0, kLevelsCube = 0, kLevelsUnknown = 148, kAnisotropic = 32753,
                   kAnisotropicOff = 0, kAnisotropicFar = 0, kCubes = 2155, kCubesOff = 0,
                   kCubesFar = 0;

class Replay {
 public:
  Replay(Device device, ArrayBacking backing) : device_(std::move(device)), backing_(backing) {}

  void section(const TextureSection& section) {
    const bool classifies = std::getenv("PTX2SPV_TEXTURE_CLASSES") != nullptr;
    // What no sampler reads need not be translated to see that.
    if (classifies &&
        (section.setup.resource == "linear" || section.instruction.ends_with(" offset") ||
         section.instruction.find(".s32") != std::string::npos))
      return;
    if (section.setup_text != setup_text_) open(section);
    if (!texture_) return;
    auto& kernel = kernels_[section.instruction];
    const auto instruction = instruction_of(section.instruction);
    if (!kernel) {
      auto module = Module::load(device_, recorder::texture_module(instruction),
                                 section.instruction + ".ptx");
      ASSERT_TRUE(module) << section.instruction << ": " << module.error().text;
      auto entry = module->kernel("k");
      ASSERT_TRUE(entry) << entry.error().text;
      kernel = *entry;
      modules_.push_back(*module);
    }
    const std::size_t count = section.operands.size(), threads = (count + 127) / 128 * 128,
                      words = instruction.words;
    std::vector<std::uint32_t> in(std::max<std::size_t>(threads * words, 1)), out(threads * 4);
    for (std::size_t i = 0; i < count; ++i)
      std::copy(section.operands[i].begin(), section.operands[i].end(),
                in.begin() + static_cast<std::ptrdiff_t>(i * words));
    auto from = Buffer::create(device_, in.size() * 4),
         to = Buffer::create(device_, out.size() * 4);
    ASSERT_TRUE(from && to);
    ASSERT_TRUE(from->upload(0, std::as_bytes(std::span(in))));
    LaunchConfig config;
    config.grid.x = static_cast<std::uint32_t>(threads / 128);
    config.block.x = 128;
    const auto done = kernel->launch(config, Args().texture(*texture_).buffer(*from).buffer(*to));
    ASSERT_TRUE(done) << section.instruction << ": " << done.error().text;
    ASSERT_TRUE(to->download(0, std::as_writable_bytes(std::span(out))));
    if (classifies && done->sampled_textures == 0) return;
    for (std::size_t i = 0; i < count; ++i) {
      if (classifies)
        classify(section, i, out.data() + 4 * i);
      else
        compare(section, i, out.data() + 4 * i);
    }
  }

  /// Of a class of reads: how far the results are from the record's.
  struct Deviation {
    unsigned lines = 0, differ = 0;
    double worst = 0, sum = 0;
    std::string example;
  };
  /// By what a sampler is made from, of the reads that the device's sampler did.
  std::map<std::string, Deviation> classes;
  Deviation deviation;  ///< of all whose texels are of one order of magnitude

  void print_classes() const {
    std::printf("sampled: %u lines of plain texels, %u differ, by %g at most, %g in the mean\n",
                deviation.lines, deviation.differ, deviation.worst,
                deviation.sum / std::max(deviation.lines, 1u));
    for (const auto& [name, each] : classes)
      std::printf("class %s: %u lines, %u differ, by %g at most, %g in the mean%s%s\n",
                  name.c_str(), each.lines, each.differ, each.worst,
                  each.sum / std::max(each.lines, 1u), each.differ ? ": " : "",
                  each.example.c_str());
  }

  unsigned lines = 0, wide_sums = 0, differ = 0;
  std::array<unsigned, 4> levels_off{};  ///< by LevelOff
  Anisotropic anisotropic, cubes;

 private:
  void open(const TextureSection& section) {
    setup_text_ = section.setup_text;
    texture_.reset();
    const TextureSetup& s = section.setup;
    const auto format = static_cast<abi::SurfaceFormat>(s.format);
    TextureDesc desc;
    for (unsigned k = 0; k < 3; ++k) desc.address[k] = static_cast<AddressMode>(s.address[k]);
    desc.linear_filter = s.linear;
    desc.normalized_coordinates = s.normalized;
    desc.read_as_integer = s.element;
    std::copy(s.border, s.border + 4, desc.border.begin());
    desc.linear_mipmap_filter = s.mip_linear;
    desc.mipmap_bias = s.bias, desc.min_level = s.min_level, desc.max_level = s.max_level;
    desc.srgb = s.srgb;
    desc.cube = s.cube();
    desc.seamless_cube = s.cube() && s.seamless;
    desc.full_trilinear = s.full_trilinear;
    desc.mipmapped = s.levels == 1;
    desc.max_anisotropy = std::max(s.anisotropy, 1u);
    auto texture =
        s.resource == "array" ? over_array(s, format, desc) : over_memory(s, format, desc);
    ASSERT_TRUE(texture) << s.geometry << ": " << texture.error().text;
    texture_ = *texture;
  }

  Result<Texture> over_array(const TextureSetup& s, abi::SurfaceFormat format,
                             const TextureDesc& desc) {
    ArrayDesc memory;
    memory.backing = backing_;
    memory.geometry = *geometry_of(s);
    memory.format = format;
    memory.channels = s.channels;
    memory.width = s.level_width(0);
    memory.height = s.level_height(0);
    memory.depth = s.geometry == "3d" ? s.depth : 1;
    memory.layers = s.geometry == "3d" ? 1 : s.level_depth(0);
    memory.levels = std::max(s.levels, 1u);
    auto array = Array::create(device_, memory);
    if (!array) return array.error();
    for (unsigned level = 0; level < memory.levels; ++level) {
      const auto bytes = recorder::texture_bytes(s, level);
      if (const auto status = array->upload(std::as_bytes(std::span(bytes)), level); !status)
        return status.error();
    }
    return Texture::create(*array, desc);
  }

  Result<Texture> over_memory(const TextureSetup& s, abi::SurfaceFormat format,
                              const TextureDesc& desc) {
    TextureMemory memory;
    memory.format = format;
    memory.channels = s.channels;
    memory.width = s.width;
    memory.offset = 32;
    const auto bytes = recorder::texture_bytes(s, 0);
    const std::size_t row = bytes.size() / s.height;
    if (s.resource == "pitched") {
      memory.height = s.height;
      // Rows as images have them too, and rows that are none's.
      memory.pitch = backing_ == ArrayBacking::linear ? (row + 47) / 16 * 16 : (row + 31) / 32 * 32;
    }
    auto buffer = Buffer::create(
        device_, memory.offset + std::max<std::size_t>(memory.pitch, row) * s.height,
        backing_ == ArrayBacking::linear ? BufferMemory::device : BufferMemory::rows);
    if (!buffer) return buffer.error();
    for (unsigned y = 0; y < s.height; ++y) {
      const auto status = buffer->upload(memory.offset + y * memory.pitch,
                                         std::as_bytes(std::span(bytes)).subspan(y * row, row));
      if (!status) return status.error();
    }
    return Texture::create(*buffer, memory, desc);
  }

  static std::string words(const std::vector<std::uint32_t>& list) {
    std::string text;
    char word[16];
    for (const std::uint32_t value : list) {
      std::snprintf(word, sizeof(word), "%x ", value);
      text += word;
    }
    return text;
  }

  void classify(const TextureSection& section, std::size_t i, const std::uint32_t* actual) {
    const TextureSetup& s = section.setup;
    const auto parts = split(section.instruction, '.');
    const bool mode = parts[0] == "tld4" || parts[1].size() > 3;
    std::string name = parts[0] == "tld4" ? "tld4" : mode ? "tex." + parts[1] : "tex";
    name += "." + s.geometry + " " + recorder::kTexelFormatNames[static_cast<unsigned>(s.format)] +
            (s.element ? " element" : "") + (s.linear ? " linear" : " point") +
            (s.normalized || s.levels > 1 || s.cube() ? "" : " texels") + (s.srgb ? " srgb" : "") +
            (s.cube() && s.seamless ? " seamless" : "");
    if (s.levels) name += s.mip_linear ? " mip-linear" : " mip-point";
    if (s.levels && s.bias != 0) name += " bias";
    if (s.anisotropy > 1) name += " anisotropic";
    if (s.resource == "pitched") name += " pitched";
    for (unsigned k = 0; k < (s.geometry == "3d" ? 3u : 2u); ++k)
      if (s.address[k] == 3) {
        name += " border";
        break;
      }
    Deviation& of = classes[name];
    // Of texels that span several orders of magnitude a difference says little.
    const bool counts = s.data == TexelData::unit && !s.element;
    ++of.lines;
    deviation.lines += counts;
    double most = 0;
    bool same = true;
    for (std::size_t k = 0; k < section.results[i].size(); ++k) {
      const std::uint32_t expected = section.results[i][k];
      same = same && expected == actual[k];
      const double off = std::fabs(double{std::bit_cast<float>(actual[k])} -
                                   double{std::bit_cast<float>(expected)});
      if (std::isfinite(off)) most = std::max(most, off);
    }
    if (same) return;
    ++of.differ;
    of.worst = std::max(of.worst, most);
    of.sum += most;
    if (counts) {
      ++deviation.differ;
      deviation.worst = std::max(deviation.worst, most);
      deviation.sum += most;
    }
    if (of.example.empty())
      of.example = section.setup_text + " | " + section.instruction + " " +
                   words(section.operands[i]) + "gave " + words({actual, actual + 4}) + "not " +
                   words(section.results[i]);
  }

  void compare(const TextureSection& section, std::size_t i, const std::uint32_t* actual) {
    ++lines;
    const auto& expected = section.results[i];
    bool same = true;
    for (std::size_t k = 0; k < expected.size(); ++k) {
      same = same && expected[k] == actual[k];
    }
    const TextureSetup& s = section.setup;
    const bool several = s.anisotropy > 1 && section.instruction.starts_with("tex.grad");
    Anisotropic& samples = s.cube() ? cubes : anisotropic;
    if (several) ++samples.lines;
    if (same) return;
    if (several) return count_anisotropic(samples, section, i, actual);
    const bool wide =
        s.data == TexelData::wide || s.data == TexelData::special || s.data == TexelData::bits;
    const bool real =
        s.format == recorder::TexelFormat::f16 || s.format == recorder::TexelFormat::f32;
    if (s.linear && (s.geometry == "3d" || s.levels) && ((wide && real) || s.srgb)) {
      ++wide_sums;
      return;
    }
    if (const LevelOff off = level_off(section, i, actual); off != LevelOff::no) {
      ++levels_off[static_cast<std::size_t>(off)];
      if (std::getenv("PTX2SPV_TEXTURE_LINES"))
        std::printf("level %u %s | %s | %s gave %s not %s\n", static_cast<unsigned>(off),
                    section.setup_text.c_str(), section.instruction.c_str(),
                    words(section.operands[i]).c_str(), words({actual, actual + 4}).c_str(),
                    words(section.results[i]).c_str());
      return;
    }
    // The first line of a section, and of 20 sections, is enough to look at.
    ++differ;
    if (failed_instruction_ == section.instruction && failed_setup_ == section.setup_text) return;
    failed_instruction_ = section.instruction;
    failed_setup_ = section.setup_text;
    if (++sections_ > 20) return;
    ADD_FAILURE() << section.setup_text << "\n"
                  << section.instruction << " " << words(section.operands[i]) << "gave "
                  << words({actual, actual + 4}) << "and not " << words(expected);
  }

  /// Samples of anisotropic reads: the committed ones are equal, others may differ a little.
  static void count_anisotropic(Anisotropic& samples, const TextureSection& section, std::size_t i,
                                const std::uint32_t* actual) {
    ++samples.off;
    float most = 0;
    for (std::size_t k = 0; k < section.results[i].size(); ++k) {
      const float a = std::bit_cast<float>(actual[k]),
                  b = std::bit_cast<float>(section.results[i][k]);
      const float off = std::fabs(a - b);
      most = std::max(most, off);
      if (off > samples.worst) {
        samples.worst = off;
        samples.worst_line = section.setup_text + "\n" + section.instruction + " " +
                             words(section.operands[i]) + "gave " + words({actual, actual + 4}) +
                             "and not " + words(section.results[i]);
      }
    }
    if (std::getenv("PTX2SPV_TEXTURE_LINES"))
      std::printf("differs %zu %g %s | %s | %s gave %s not %s\n", i, static_cast<double>(most),
                  section.setup_text.c_str(), section.instruction.c_str(),
                  words(section.operands[i]).c_str(), words({actual, actual + 4}).c_str(),
                  words(section.results[i]).c_str());
    // A 32nd of a texel's step.
    if (!(most <= 0.03125f)) ++samples.far;
  }

  Device device_;
  ArrayBacking backing_;
  std::map<std::string, std::optional<Kernel>> kernels_;
  std::vector<Module> modules_;
  std::string setup_text_, failed_setup_, failed_instruction_;
  unsigned sections_ = 0;
  std::optional<Texture> texture_;
};

/// A kind of instruction, or one of several parts of its textures, so that ctest can share them
/// out.
struct Part {
  const char* prefix;
  unsigned number = 0, parts = 1;
  unsigned shares = 1;  ///< that its textures make, of which a quick run takes one
};
void PrintTo(const Part& part, std::ostream* to) {
  *to << part.prefix << " " << part.number + 1 << " of " << part.parts;
}
class TextureRecord : public testing::TestWithParam<Part> {};

/// Cube maps are the first part's, whose lines have limits of their own.
bool in_part(const TextureSection& section, const Part& part) {
  return part.parts == 1 ||
         (section.setup.cube() ? 0 : fnv_seed(section.setup_text) % part.parts) == part.number;
}
/// Whether a share of the textures of each part has this one.
bool in_share(const TextureSection& section, const Part& part, unsigned shares) {
  return fnv_seed(section.setup_text) / part.parts % shares == test::share_of_device(shares);
}

TEST_P(TextureRecord, IsMet) {
  const char* name = std::getenv("PTX2SPV_DEVICE");
  DeviceOptions options;
  options.select = name ? name : "swiftshader";
  auto device = Device::open(options);
  if (!device) GTEST_SKIP() << "no device " << options.select << ": " << device.error().text;
  // The committed records run in the backing that arrays have by themselves.
  const char* text = std::getenv("PTX2SPV_TEXTURE_BACKING");
  const std::string backing = text ? text : "";
  Replay replay(*device, backing == "image"    ? ArrayBacking::image
                         : backing == "linear" ? ArrayBacking::linear
                                               : ArrayBacking::automatic);
  const Part part = GetParam();
  const std::string prefix = part.prefix;
  const bool all = test::exhaustive() || std::getenv("PTX2SPV_REPLAY");
  const unsigned share = all ? 1 : part.shares;
  if (share > 1)
    std::printf("%s: one texture in %u; PTX2SPV_EXHAUSTIVE=1 takes all\n", part.prefix, share);
  for (const std::string& file : record_files()) {
    const bool found = read_record(file, [&](const TextureSection& section) {
      if (testing::Test::HasFatalFailure() || !section.instruction.starts_with(prefix) ||
          !replayed(section.setup) || !in_part(section, part) || !in_share(section, part, share))
        return;
      replay.section(section);
    });
    ASSERT_TRUE(found) << file;
  }
  if (std::getenv("PTX2SPV_TEXTURE_CLASSES")) return replay.print_classes();
  if (std::getenv("PTX2SPV_REPLAY")) {
    std::printf("checked %u, differ %u, nearly cancelling sums %u, levels off %u %u %u\n",
                replay.lines, replay.differ, replay.wide_sums, replay.levels_off[1],
                replay.levels_off[2], replay.levels_off[3]);
    for (const Anisotropic* each : {&replay.anisotropic, &replay.cubes})
      if (each->lines)
        std::printf("%s %u, of which %u differ, %u of them by more than 1/32, by %g at most:\n%s\n",
                    each == &replay.cubes ? "anisotropic cube maps" : "anisotropic", each->lines,
                    each->off, each->far, static_cast<double>(each->worst),
                    each->worst_line.c_str());
    EXPECT_EQ(replay.differ, 0u);
    return;
  }
  EXPECT_GT(replay.lines, 0u);
  EXPECT_EQ(replay.differ, 0u);
  EXPECT_LE(replay.wide_sums, 25u);
  const bool gradients = prefix == "tex.grad.", cubes = gradients && part.number == 0;
  // A share of the textures is not the same share of the lines.
  const unsigned least = share == 1 ? 1 : 8 * share, split = part.parts == 1 ? 1 : 2 * part.parts;
  EXPECT_LE(replay.levels_off[1], gradients ? kLevelsOne : 0u);
  EXPECT_LE(replay.levels_off[2], cubes ? kLevelsCube : 0u);
  EXPECT_LE(replay.levels_off[3], cubes ? kLevelsUnknown : 0u);
  EXPECT_GE(replay.anisotropic.lines, gradients ? kAnisotropic / least / split : 0u);
  EXPECT_LE(replay.anisotropic.off, kAnisotropicOff) << replay.anisotropic.worst_line;
  EXPECT_LE(replay.anisotropic.far, kAnisotropicFar) << replay.anisotropic.worst_line;
  EXPECT_GE(replay.cubes.lines, cubes ? kCubes / least : 0u);
  EXPECT_LE(replay.cubes.off, kCubesOff) << replay.cubes.worst_line;
  EXPECT_LE(replay.cubes.far, kCubesFar) << replay.cubes.worst_line;
}

// The two longest are in parts that follow each other, so that they fall to different entries.
constexpr unsigned kLong = 24, kShort = 6;
INSTANTIATE_TEST_SUITE_P(
    All, TextureRecord,
    testing::Values(Part{"tex.grad.", 0, 6, kLong}, Part{"tex.grad.", 1, 6, kLong},
                    Part{"tex.grad.", 2, 6, kLong}, Part{"tex.grad.", 3, 6, kLong},
                    Part{"tex.grad.", 4, 6, kLong}, Part{"tex.grad.", 5, 6, kLong},
                    Part{"tex.level.", 0, 2, kLong}, Part{"tex.level.", 1, 2, kLong},
                    Part{"tex.1d.", 0, 1, kShort}, Part{"tex.2d.", 0, 1, kShort},
                    Part{"tex.3d.", 0, 1, kShort}, Part{"tex.a1d.", 0, 1, kShort},
                    Part{"tex.a2d.", 0, 1, kShort}, Part{"tex.2dms."}, Part{"tex.a2dms."},
                    Part{"tex.cube.", 0, 1, kShort}, Part{"tex.acube.", 0, 1, kShort},
                    Part{"tld4.", 0, 1, kShort}, Part{"txq."}, Part{"tex.base.", 0, 1, kShort}));

}  // namespace
}  // namespace ptx2spv::tests
