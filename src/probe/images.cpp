// Questions about images: whether the device's samplers filter as NVIDIA's texture unit does, and
// whether images suit surfaces of two dimensions better than memory.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "src/cache/fnv.hpp"
#include "src/device/device.hpp"
#include "src/probe/ieee.hpp"
#include "src/probe/questions.hpp"

namespace ptx2spv::runtime {

namespace {

constexpr std::uint32_t kSide = 16, kReads = 256;

/// Thread t reads at two words of `from` and stores four.
constexpr std::string_view kReadKernel =
    ".version 8.3\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 texture, .param .u64 from, .param .u64 to) {\n"
    ".reg .b32 %r<4>;\n.reg .b64 %d<6>;\n.reg .f32 %x, %y, %v<4>;\n"
    "ld.param.u64 %d0, [texture];\nld.param.u64 %d1, [from];\nld.param.u64 %d2, [to];\n"
    "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\n"
    "mad.lo.u32 %r1, %r1, %r2, %r3;\n"
    "mul.wide.u32 %d3, %r1, 8;\nadd.u64 %d1, %d1, %d3;\n"
    "mul.wide.u32 %d3, %r1, 16;\nadd.u64 %d2, %d2, %d3;\n"
    "ld.global.v2.f32 {%x, %y}, [%d1];\n"
    "tex.2d.v4.f32.f32 {%v0, %v1, %v2, %v3}, [%d0, {%x, %y}];\n"
    "st.global.v4.f32 [%d2], {%v0, %v1, %v2, %v3};\nret;\n}\n";

/// A kind of texels, and the digest of what an H200 reads. CUDA's texture objects and the H200's
/// samplers give it alike.
struct Sampled {
  abi::SurfaceFormat format;
  std::uint32_t channels;
  bool linear, srgb;
  std::uint64_t normalized, texels;  ///< by kinds of coordinates
  bool integer = false;
};
constexpr Sampled kPoints = {abi::SurfaceFormat::f32, 1, false, false, 0x24ca780b6802dafd,
                             0x8a9b85f72b1b6261};
constexpr Sampled kUnorm8 = {abi::SurfaceFormat::u8, 4, true, false, 0xeaa3d303eedcf2bb,
                             0xbcac964864ba1c0f};
constexpr Sampled kUnorm16 = {abi::SurfaceFormat::u16, 2, true, false, 0xf45f911ed2c86080,
                              0x322f52156091fafd};
constexpr Sampled kSnorm8 = {abi::SurfaceFormat::s8, 4, true, false, 0x8b9ebe68c12f7985,
                             0x7f6d0cbccc3d8a20};
constexpr Sampled kSnorm16 = {abi::SurfaceFormat::s16, 2, true, false, 0x0747cad7687872ff,
                              0xee176488f9808bf0};
constexpr Sampled kHalf = {abi::SurfaceFormat::f16, 2, true, false, 0x91cdc51039b27325,
                           0x854e25dee6f61325};
constexpr Sampled kFloat = {abi::SurfaceFormat::f32, 1, true, false, 0xeba94131d40a5836,
                            0xdb1ba1fc170ed50b};
constexpr Sampled kSrgb = {abi::SurfaceFormat::u8, 4, true, true, 0x19cb21085d0d2dc8,
                           0xfa4ede733eee6738};

constexpr Sampled within_border(abi::SurfaceFormat format, std::uint32_t channels, bool linear,
                                std::uint64_t digest, bool srgb = false, bool integer = false) {
  return {format, channels, linear, srgb, digest, digest, integer};
}
/// Within kBorder, which says nothing of coordinates.
constexpr Sampled kBordered[] = {
    within_border(abi::SurfaceFormat::f32, 1, false, 0x74e3a0004a4e9045),
    within_border(abi::SurfaceFormat::f32, 4, true, 0x37b6738a411f317f),
    within_border(abi::SurfaceFormat::f16, 4, true, 0x98e79ccbcbbbb325),
    within_border(abi::SurfaceFormat::u8, 2, true, 0x8a04450707e5366a),
    within_border(abi::SurfaceFormat::u16, 4, true, 0xad557fc04d665f05),
    within_border(abi::SurfaceFormat::s8, 4, true, 0x457e3cfd6352a409),
    within_border(abi::SurfaceFormat::s16, 2, true, 0x367ee582da22b829),
    within_border(abi::SurfaceFormat::u8, 4, true, 0x4389970f9ebda13b, true),
    within_border(abi::SurfaceFormat::u8, 4, false, 0xcc25ed85a7cd3d60, false, true),
    within_border(abi::SurfaceFormat::s16, 2, false, 0xbd24dec9e63ab9ad, false, true),
    within_border(abi::SurfaceFormat::u32, 1, false, 0x5b91e8784fce9045, false, true),
};
constexpr std::array<float, 4> kBorder = {0.3f, -0.7f, 0.55f, 1.6f};

/// Any integers; floats of some orders of magnitude, of both signs.
Words texels(const Sampled& sampled) {
  ieee::Sequence sequence(7);
  const std::uint32_t bytes = format_bytes(sampled.format) * sampled.channels * kSide * kSide;
  Words words(bytes / 4);
  for (std::uint32_t& word : words) {
    word = sequence.next();
    if (sampled.format == abi::SurfaceFormat::f32)
      word = (word & 0x807fffff) | (121 + (word >> 23) % 9) << 23;
    else if (sampled.format == abi::SurfaceFormat::f16)
      word = (word & 0x83ff83ff) | 0x30003000 | (word >> 3 & 0x0c000c00);
  }
  return words;
}

/// Places within and around the texture.
Words places(bool normalized) {
  ieee::Sequence sequence(11);
  Words words;
  for (std::uint32_t i = 0; i < 2 * kReads; ++i) {
    const float place = static_cast<float>(sequence.next() >> 8) * 0x1p-24f * 3 - 1;
    words.push_back(std::bit_cast<std::uint32_t>(normalized ? place : place * kSide));
  }
  return words;
}

/// The digest of what the sampler reads. Nothing and why there is none.
std::optional<std::uint64_t> read(const Asker& asker, const Sampled& sampled, bool normalized,
                                  bool bordered, std::string& error) {
  const Device& device = asker.device();
  const auto failed = [&error](const Error& reason) {
    error = reason.to_string();
    return std::nullopt;
  };
  const auto module = Module::load(device, kReadKernel, "probe.ptx");
  if (!module) return failed(module.error());
  const auto kernel = module->kernel("k");
  if (!kernel) return failed(kernel.error());
  ArrayDesc desc;
  desc.format = sampled.format;
  desc.channels = sampled.channels;
  desc.width = desc.height = kSide;
  desc.backing = ArrayBacking::image;
  auto array = Array::create(device, desc);
  if (!array) return failed(array.error());
  const Words contents = texels(sampled), at = places(normalized);
  if (auto status = array->upload(std::as_bytes(std::span(contents))); !status)
    return failed(status.error());
  TextureDesc how;
  how.linear_filter = sampled.linear;
  how.read_as_integer = sampled.integer;
  how.srgb = sampled.srgb;
  how.normalized_coordinates = normalized;
  if (normalized) how.address = {AddressMode::wrap, AddressMode::mirror, AddressMode::clamp};
  if (bordered) how.address.fill(AddressMode::border);
  how.border = kBorder;
  const auto texture = Texture::create(*array, how);
  if (!texture) return failed(texture.error());
  auto from = Buffer::create(device, at.size() * 4), to = Buffer::create(device, kReads * 16);
  if (!from) return failed(from.error());
  if (!to) return failed(to.error());
  if (auto status = from->upload(0, std::as_bytes(std::span(at))); !status)
    return failed(status.error());
  LaunchConfig config;
  config.block.x = 64;
  config.grid.x = kReads / config.block.x;
  config.filter = asker.interpreted() ? FilterPolicy::exact : FilterPolicy::device;
  const auto timing = kernel->launch(config, Args().texture(*texture).buffer(*from).buffer(*to));
  if (!timing) return failed(timing.error());
  if (timing->sampled_textures != 1 && !asker.interpreted()) {
    error = "no sampler reads it";
    return std::nullopt;
  }
  Words words(4 * kReads);
  if (auto status = to->download(0, std::as_writable_bytes(std::span(words))); !status)
    return failed(status.error());
  return fnv(words);
}

Answer sampler(Asker& asker, std::span<const Sampled> kinds, bool bordered) {
  asker.device().state()->profile = asker.profile();
  std::string error;
  for (const Sampled& sampled : kinds)
    for (const bool normalized : {true, false}) {
      const auto got = read(asker, sampled, normalized, bordered, error);
      if (!got) return {0, error};
      const std::uint64_t want = normalized ? sampled.normalized : sampled.texels;
      if (*got != want)
        return {0, fmt::format("{} reads give {:016x}, not {:016x}", kReads, *got, want)};
    }
  return {1, fmt::format("{} reads give what an H200 does", 2 * kReads * kinds.size())};
}

template <const Sampled& sampled>
Answer sampler(Asker& asker) {
  return sampler(asker, {&sampled, 1}, false);
}

Answer borders(Asker& asker) { return sampler(asker, kBordered, true); }

// What decides between images and memory: sums over a column and a row of texels, in blocks of 16 x
// 16 threads, which share neighbours in two dimensions; and reductions into a row of cells.
constexpr std::string_view kPlanes =
    ".version 8.3\n.target sm_80\n.address_size 64\n"
    ".visible .entry sums(.param .u64 from, .param .u64 to) {\n"
    ".reg .b32 %r<16>;\n.reg .b64 %d<4>;\n.reg .pred %p;\n"
    "ld.param.u64 %d0, [from];\nld.param.u64 %d1, [to];\n"
    "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\nshl.b32 %r1, %r1, 4;\nadd.u32 %r1, %r1, %r2;\n"
    "mov.u32 %r3, %ctaid.y;\nmov.u32 %r4, %tid.y;\nshl.b32 %r3, %r3, 4;\nadd.u32 %r3, %r3, %r4;\n"
    "shl.b32 %r1, %r1, 2;\nmov.u32 %r9, 0;\nmov.u32 %r5, 0;\n"
    "again:\nadd.u32 %r6, %r3, %r5;\nshl.b32 %r8, %r5, 2;\nadd.u32 %r8, %r8, %r1;\n"
    "suld.b.2d.b32.zero %r7, [%d0, {%r1, %r6}];\nadd.u32 %r9, %r9, %r7;\n"
    "suld.b.2d.b32.zero %r7, [%d0, {%r8, %r3}];\nadd.u32 %r9, %r9, %r7;\n"
    "add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p, %r5, 8;\n@%p bra again;\n"
    "sust.b.2d.b32.zero [%d1, {%r1, %r3}], %r9;\nret;\n}\n"
    ".visible .entry cells(.param .u64 from, .param .u64 to) {\n"
    ".reg .b32 %r<8>;\n.reg .b64 %d<2>;\nld.param.u64 %d1, [to];\n"
    "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\nmad.lo.u32 %r1, %r1, 16, %r2;\n"
    "mov.u32 %r3, %ctaid.y;\nmov.u32 %r4, %tid.y;\nmad.lo.u32 %r3, %r3, 16, %r4;\n"
    "mad.lo.u32 %r1, %r3, 65537, %r1;\nmul.lo.u32 %r1, %r1, 0x9e3779b1;\n"
    "shr.u32 %r1, %r1, 20;\nshl.b32 %r1, %r1, 2;\n"
    "sured.b.add.1d.u32.clamp [%d1, {%r1}], 1;\nret;\n}\n";
constexpr std::uint32_t kCells = 4096, kLeastPlane = 1024, kMostPlane = 4096;

/// The least of what launches of `name` took over so many threads along each axis.
Result<double> time_of_planes(const Device& device, const Module& module, const char* name,
                              std::uint32_t side, bool image) {
  const auto kernel = module.kernel(name);
  if (!kernel) return kernel.error();
  ArrayDesc desc;
  desc.backing = image ? ArrayBacking::image : ArrayBacking::linear;
  desc.width = desc.height = side;
  const auto from = Array::create(device, desc);
  if (!from) return from.error();
  if (std::string_view(name) == "cells") {
    desc.geometry = Geometry::d1;
    desc.width = kCells;
    desc.height = 1;
  }
  const auto to = Array::create(device, desc);
  if (!to) return to.error();
  const auto source = Surface::create(*from), target = Surface::create(*to);
  if (!source || !target) return (source ? target : source).error();
  LaunchConfig config;
  config.block = {16, 16, 1};
  config.grid = {side / 16, side / 16, 1};
  config.time = true;
  double least = 0;
  for (int i = 0; i < 6; ++i) {
    const auto timing = kernel->launch(config, Args().surface(*source).surface(*target));
    if (!timing) return timing.error();
    const double each = timing->device_ms >= 0 ? timing->device_ms : timing->wall_ms;
    // The first one translates.
    if (i == 1 || (i > 1 && each < least)) least = each;
  }
  return least;
}

Answer tiled_planes(Asker& asker) {
  constexpr double kNoise = 0.05;
  const Device& device = asker.device();
  if (device.info().kind == DeviceKind::cpu) return {0, "a processor's cache knows no tiles"};
  device.state()->profile = asker.profile();
  const auto module = Module::load(device, kPlanes, "probe.ptx");
  if (!module) return {0, module.error().to_string()};
  double with = 1, without = 1, noise = kNoise;
  std::string seen;
  for (const char* name : {"sums", "cells"}) {
    // As large as keeps the device busy.
    std::uint32_t side = kLeastPlane;
    for (; side < kMostPlane; side *= 2) {
      const auto took = time_of_planes(device, *module, name, side, false);
      if (!took) return {0, took.error().to_string()};
      if (*took >= kBusy) break;
    }
    double times[2] = {1e30, 1e30}, most[2] = {};
    for (int round = 0; round < 3; ++round)
      for (const bool image : {false, true}) {
        const auto took = time_of_planes(device, *module, name, side, image);
        if (!took) return {0, took.error().to_string()};
        times[image] = std::min(times[image], *took);
        most[image] = std::max(most[image], *took);
      }
    for (const bool image : {false, true}) noise = std::max(noise, most[image] / times[image] - 1);
    without *= times[0];
    with *= times[1];
    seen += fmt::format("{}{} of {} x {}: in images {:.3f} ms, in memory {:.3f} ms",
                        seen.empty() ? "" : "; ", name, side, side, times[1], times[0]);
  }
  // Where the difference is noise they are, as on NVIDIA's.
  return {with <= without * (1 + noise), seen};
}

}  // namespace

std::span<const Question> image_questions() {
  static constexpr Question kQuestions[] = {
      {"sampler_points", "do samplers read single texels as NVIDIA's do?", sampler<kPoints>},
      {"sampler_unorm8", "do samplers filter unsigned bytes as NVIDIA's do?", sampler<kUnorm8>},
      {"sampler_unorm16", "do samplers filter unsigned words of 16 bits as NVIDIA's do?",
       sampler<kUnorm16>},
      {"sampler_snorm8", "do samplers filter signed bytes as NVIDIA's do?", sampler<kSnorm8>},
      {"sampler_snorm16", "do samplers filter signed words of 16 bits as NVIDIA's do?",
       sampler<kSnorm16>},
      {"sampler_f16", "do samplers filter halves as NVIDIA's do?", sampler<kHalf>},
      {"sampler_f32", "do samplers filter floats as NVIDIA's do?", sampler<kFloat>},
      {"sampler_srgb", "do samplers filter sRGB colours as NVIDIA's do?", sampler<kSrgb>},
      {"sampler_borders", "do samplers take borders' colours as NVIDIA's do?", borders},
      {"tiled_planes", "are planes of words faster in images than in memory?", tiled_planes},
  };
  return kQuestions;
}

}  // namespace ptx2spv::runtime
