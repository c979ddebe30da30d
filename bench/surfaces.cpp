// Translated kernels against hand-written GLSL on one device, in turns, with equal results as the condition.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "bench/raw_vulkan.hpp"
#include "ptx2spv/runtime.hpp"

namespace ptx2spv::bench {
namespace {

struct Case {
  const char* name;
  std::uint32_t texel_bytes;
  std::uint32_t width, height, depth;
  std::uint32_t out_texels;      ///< of a 1D result; 0: as the source
  bool has_source = true;
};

constexpr Case kCases[] = {
    {"copy4", 4, 2048, 2048, 1, 0},        {"copy16", 16, 1024, 1024, 1, 0},   {"stencil2d", 4, 2048, 2048, 1, 0},
    {"stencil3d", 4, 128, 128, 128, 0},    {"histogram", 4, 1024, 1024, 1, 4096},
    {"mandelbrot", 4, 512, 512, 1, 0, false},
};
constexpr int kTurns = 256;
constexpr float kScale = 3.0f / 512;

struct Push {
  std::int32_t width, height, depth, turns;
  float scale;
};

std::vector<char> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (bytes.empty()) {
    std::fprintf(stderr, "bench: %s cannot be read\n", path.c_str());
    std::exit(2);
  }
  return bytes;
}

template <class T>
T must(Result<T> result, const char* what) {
  if (!result) {
    std::fprintf(stderr, "bench: %s: %s\n", what, result.error().text.c_str());
    for (const Message& message : result.error().messages) std::fputs(message.rendered.c_str(), stderr);
    std::exit(2);
  }
  return *std::move(result);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::string vulkan_library(const DeviceInfo& info) {
  if (info.name.find("SwiftShader") == std::string::npos) return "libvulkan.so.1";
  const char* set = std::getenv("PTX2SPV_SWIFTSHADER");
  const std::string name = "libvk_swiftshader.so";
  for (const std::string& folder : {std::string(set ? set : ""), std::string(PTX2SPV_SOURCE_DIR) + "/build/swiftshader",
                                    std::string("/usr/lib/chromium")}) {
    const std::string path = folder.ends_with(name) ? folder : folder + "/" + name;
    if (std::ifstream(path)) return path;
  }
  return name;
}


bool run_case(const Device& device, RawVulkan& raw, const Module& exact, const Module& fast, const Case& one, int rounds) {
  ArrayDesc desc;
  desc.geometry = one.depth > 1 ? Geometry::d3 : Geometry::d2;
  desc.format = abi::SurfaceFormat::u32;
  desc.channels = one.texel_bytes / 4;
  desc.width = one.width;
  desc.height = one.height;
  desc.depth = one.depth;
  desc.backing = ArrayBacking::linear;
  ArrayDesc out_desc = desc;
  if (one.out_texels) {
    out_desc.geometry = Geometry::d1;
    out_desc.width = one.out_texels;
    out_desc.height = 1;
  }
  Array from = must(Array::create(device, desc), "array"), to = must(Array::create(device, out_desc), "array");
  // Varied words for the histogram; else floats from 2^-31 to 2, whose sums are no denormals, which a hand-written shader
  // on SwiftShader would flush.
  std::vector<std::uint32_t> words(from.bytes() / 4), zero(to.bytes() / 4), ours(zero.size());
  std::uint32_t state = 12345;
  for (std::uint32_t& word : words) {
    state = state * 1664525u + 1013904223u;
    word = one.out_texels ? state : (state >> 4 & 0x0fffffffu) | 0x30000000u;
  }
  const auto bytes = [](auto& list) { return std::as_writable_bytes(std::span(list)); };
  if (!from.upload(bytes(words)).ok()) return false;
  const Surface from_surface = must(Surface::create(from), "surface"), to_surface = must(Surface::create(to), "surface");
  Args args;
  if (one.has_source) args.surface(from_surface);
  args.surface(to_surface);
  if (!one.has_source) args.value(kTurns).value(kScale);
  LaunchConfig config;
  config.block = {16, 16, 1};
  config.grid = {one.width / 16, one.height / 16, one.depth};
  const Kernel kernels[] = {must(exact.kernel(one.name), one.name), must(fast.kernel(one.name), one.name)};

  RawVulkan::Buffer raw_from = raw.buffer(words.size() * 4), raw_to = raw.buffer(zero.size() * 4);
  std::memcpy(raw_from.mapped, words.data(), words.size() * 4);
  const std::vector<char> shader = read_file(std::string(PTX2SPV_BENCH_SHADERS) + "/" + one.name + ".spv");
  std::vector<std::uint32_t> shader_words(shader.size() / 4);
  std::memcpy(shader_words.data(), shader.data(), shader.size());
  const Push push{std::int32_t(one.width), std::int32_t(one.height), std::int32_t(one.depth), kTurns, kScale};
  raw.prepare(shader_words, raw_from, raw_to, &push, config.grid.x, config.grid.y, config.grid.z);

  std::vector<double> times[3];
  bool equal = true, fast_equal = true;
  for (int round = -1; round < rounds; ++round) {
    for (int side = 0; side < 2; ++side) {
      if (!to.upload(bytes(zero)).ok()) return false;
      const double wall = must(kernels[side].launch(config, args), one.name).wall_ms;
      if (round >= 0) times[side].push_back(wall);
      if (round != 0) continue;
      std::memset(raw_to.mapped, 0, zero.size() * 4);
      raw.run();
      if (!to.download(bytes(ours)).ok()) return false;
      (side ? fast_equal : equal) = std::memcmp(ours.data(), raw_to.mapped, ours.size() * 4) == 0;
    }
    const double wall = raw.run();
    if (round >= 0) times[2].push_back(wall);
  }
  const double exact_ms = median(times[0]), fast_ms = median(times[1]), glsl_ms = median(times[2]);
  std::printf("%-12s %9.3f %9.3f %9.3f   %6.2f %6.2f   %s\n", one.name, glsl_ms, fast_ms, exact_ms, fast_ms / glsl_ms,
              exact_ms / glsl_ms, equal && fast_equal ? "equal" : equal ? "fast differs" : "exact differs");
  std::fflush(stdout);
  return fast_equal;
}

}  // namespace
}  // namespace ptx2spv::bench

// bench_surfaces [DEVICE] [ROUNDS] [KERNEL]
int main(int argc, char** argv) {
  using namespace ptx2spv;
  using namespace ptx2spv::bench;
  DeviceOptions options;
  if (argc > 1) options.select = argv[1];
  const int rounds = argc > 2 ? std::max(1, std::atoi(argv[2])) : 15;
  const Device device = must(Device::open(options), "device");
  RawVulkan raw;
  if (!raw.open(vulkan_library(device.info()), device.info().name)) {
    std::fprintf(stderr, "bench: no raw Vulkan device is called %s\n", device.info().name.c_str());
    return 2;
  }
  const std::string path = std::string(PTX2SPV_SOURCE_DIR) + "/bench/kernels/kernels.ptx";
  ModuleOptions how;
  const Module exact = must(Module::load_file(device, path, how), "kernels.ptx");
  how.fp = FpPolicy::fast;
  const Module fast = must(Module::load_file(device, path, how), "kernels.ptx");
  std::printf("%s, medians of %d, milliseconds from submission to completion\n", device.info().name.c_str(), rounds);
  std::printf("%-12s %9s %9s %9s   %6s %6s\n", "kernel", "glsl", "fast", "exact", "fast/", "exact/");
  bool good = true;
  for (const Case& one : kCases)
    if (argc <= 3 || std::string(argv[3]) == one.name) good &= run_case(device, raw, exact, fast, one, rounds);
  return good ? 0 : 1;
}
