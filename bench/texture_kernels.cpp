// bench_textures: the kernels of kernels/textures.ptx beside GLSL by hand that reads by samplers.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "bench/main.hpp"
#include "bench/median.hpp"
#include "bench/sampler_vulkan.hpp"
#include "tools/common/options.hpp"

namespace ptx2spv::bench {
namespace {

using namespace tools;

enum Id : int { opt_device = 1, opt_rounds, opt_kernel, opt_size, opt_steps, opt_folder };

constexpr Option kOptions[] = {
    device_option(opt_device),
    {opt_rounds, 'r', "rounds", "N",
     "medians of N rounds, in which the sides take turns; 7 when "
     "not given"},
    {opt_kernel, 'k', "kernel", "NAME", "only this kernel; may be repeated",
     "advect,scale,gauss,march,trilinear,gather,cube,table,pitched,fetch"},
    {opt_size, 's', "size", "N", "threads along both axes, a multiple of 16; 512 when not given"},
    {opt_steps, 0, "steps", "N",
     "texels along a side of march's volume, and its steps; 64 when not "
     "given"},
    folder_option(opt_folder,
                  "where textures.ptx and the shaders are: kernels/ beside the program"),
};
constexpr Tool kTool = {
    "bench_textures",
    "[OPTION...]",
    "times texture kernels beside GLSL that reads by samplers",
    "Sides: GLSL by hand; `device`, the device's samplers wherever they can; `exact`, NVIDIA's "
    "results; `shader`, exact with all arrays in memory; `fast`, with the device's own float "
    "operations. On CPUs a time is the host's, from submission to completion; on GPUs it is the "
    "device's, by timestamps. The last column has the largest differences of `device` and `exact` "
    "from GLSL, whose texels lie from 0 to 1.",
    kOptions,
    kComparedExits};

/// Sums of weights in both, and bytes that one rounds and the other cuts.
constexpr float kMostDifference = 0.02f;

struct Settings {
  std::string device = "swiftshader", folder;
  std::vector<std::string> kernels;
  unsigned rounds = 7, size = 512, steps = 64;
};

/// What a kernel reads, and how.
struct Form {
  const char* name;
  ArrayDesc from;
  unsigned arrays = 1;
  TextureDesc read;
  ArrayDesc to;
  SamplerForm sampler;
  bool memory = false;  ///< pitched or linear memory to the translated kernel
  std::function<void(Args&)> more;
  SamplerVulkan::Push push;
};

ArrayDesc array_desc(Geometry geometry, abi::SurfaceFormat format, std::uint32_t channels,
                     std::uint32_t side) {
  ArrayDesc desc;
  desc.geometry = geometry;
  desc.format = format;
  desc.channels = channels;
  desc.width = desc.height = side;
  return desc;
}

std::vector<Form> forms(const Settings& settings) {
  using enum abi::SurfaceFormat;
  const std::uint32_t n = settings.size;
  const float over = 1.0f / static_cast<float>(n);
  const auto word = array_desc(Geometry::d2, f32, 1, n), bytes = array_desc(Geometry::d2, u8, 4, n);
  TextureDesc texels, linear, wrapped;
  texels.linear_filter = linear.linear_filter = wrapped.linear_filter = true;
  linear.normalized_coordinates = wrapped.normalized_coordinates = true;
  wrapped.read_as_integer = false;
  wrapped.address = {AddressMode::wrap, AddressMode::wrap, AddressMode::wrap};
  const SamplerForm by_texels{true, false, false}, normal{true, true, false},
      wraps{true, true, true};
  const auto overs = [over](Args& args) { args.value(over).value(over); };
  const auto width = static_cast<std::int32_t>(n);
  const auto steps = static_cast<std::int32_t>(settings.steps);
  std::vector<Form> all;
  all.push_back({"advect",
                 word,
                 2,
                 texels,
                 array_desc(Geometry::d2, f32, 4, n),
                 by_texels,
                 false,
                 [](Args& args) { args.value(3.7f); },
                 {width, 0, over, 3.7f, 0}});
  all.push_back({"scale", bytes, 1, wrapped, bytes, wraps, false, overs, {width, 0, over, 0, 0}});
  ArrayDesc layers = word, box = array_desc(Geometry::d3, f32, 1, settings.steps),
            faces = array_desc(Geometry::a2d, f32, 1, std::max(n / 4, 1u)), levels = bytes;
  layers.geometry = Geometry::a2d;
  layers.layers = 2;
  box.depth = settings.steps;
  faces.layers = 6;
  while (n >> levels.levels) ++levels.levels;
  all.push_back({"gauss",
                 layers,
                 1,
                 texels,
                 layers,
                 normal,
                 false,
                 [](Args& args) { args.value(1); },
                 {width, 1, over, 0, 0}});
  all.push_back({"march",
                 box,
                 1,
                 linear,
                 word,
                 normal,
                 false,
                 [over, steps](Args& args) { args.value(over).value(over).value(steps); },
                 {width, steps, over, 0, 0}});
  TextureDesc mixed = wrapped, cubes = linear;
  mixed.linear_mipmap_filter = true;
  mixed.max_level = static_cast<float>(levels.levels - 1);
  cubes.cube = cubes.seamless_cube = true;
  all.push_back(
      {"trilinear", levels, 1, mixed, bytes, wraps, false, overs, {width, 0, over, 0, 0}});
  all.push_back({"gather", word, 1, linear, word, normal, false, overs, {width, 0, over, 0, 0}});
  all.push_back({"cube", faces, 1, cubes, word, normal, false, overs, {width, 0, over, 0, 0}});
  all.push_back({"table", word, 4, linear, word, normal, false, overs, {width, 0, over, 0, 0}});
  all.push_back({"pitched", word, 1, linear, word, normal, true, overs, {width, 0, over, 0, 0}});
  all.push_back({"fetch",
                 word,
                 0,
                 {},
                 word,
                 normal,
                 true,
                 [width](Args& args) { args.value(width); },
                 {width, 0, over, 0, 0}});
  return all;
}

[[noreturn]] void fail(const std::string& text) {
  std::fprintf(stderr, "bench_textures: error: %s\n", text.c_str());
  std::exit(2);
}
template <class T>
T must(Result<T> result) {
  if (!result) fail(result.error().text);
  return std::move(*result);
}
void must(Status status) {
  if (!status) fail(status.error().text);
}

/// Smooth texels from 0 to 1, in floats or bytes.
std::vector<std::byte> contents(const ArrayDesc& desc, std::uint64_t bytes) {
  std::vector<std::byte> all(bytes);
  const bool floats = desc.format == abi::SurfaceFormat::f32;
  for (std::uint64_t i = 0; i < (floats ? bytes / 4 : bytes); ++i) {
    const float value = 0.5f + 0.5f * std::sin(0.37f * static_cast<float>(i % 65521));
    if (floats)
      std::memcpy(all.data() + 4 * i, &value, 4);
    else
      all[i] = static_cast<std::byte>(value * 255.0f);
  }
  return all;
}

Array filled(const Device& device, ArrayDesc desc, ArrayBacking backing) {
  desc.backing = backing;
  Array array = must(Array::create(device, desc));
  for (std::uint32_t level = 0; level < desc.levels; ++level)
    must(array.upload(contents(desc, array.bytes(level)), level));
  return array;
}

ImageUse image_use(const Array& array, bool cube) {
  const ArrayDesc& desc = array.desc();
  ImageUse use;
  use.image = must(vulkan::image_of(array)).image;
  if (desc.format == abi::SurfaceFormat::u8)
    use.format = VK_FORMAT_R8G8B8A8_UNORM;
  else if (desc.channels == 4)
    use.format = VK_FORMAT_R32G32B32A32_SFLOAT;
  if (desc.geometry == Geometry::d3) use.view = VK_IMAGE_VIEW_TYPE_3D;
  if (desc.geometry == Geometry::a2d)
    use.view = cube ? VK_IMAGE_VIEW_TYPE_CUBE : VK_IMAGE_VIEW_TYPE_2D_ARRAY;
  use.levels = desc.levels;
  use.layers = desc.layers;
  return use;
}

/// One way to run a translated kernel.
struct Side {
  const char* name;
  FilterPolicy filter;
  FpPolicy fp;
  ArrayBacking backing;
};
constexpr Side kSides[] = {
    {"device, fast", FilterPolicy::device, FpPolicy::fast, ArrayBacking::automatic},
    {"device", FilterPolicy::device, FpPolicy::exact, ArrayBacking::automatic},
    {"exact", FilterPolicy::exact, FpPolicy::exact, ArrayBacking::automatic},
    {"shader", FilterPolicy::exact, FpPolicy::exact, ArrayBacking::linear},
    {"shader, fast", FilterPolicy::exact, FpPolicy::fast, ArrayBacking::linear}};

constexpr std::size_t kDevice = 1, kExact = 2;  ///< in kSides

/// A translated kernel with its arrays.
class Translated {
 public:
  Translated(const Device& device, const Module& module, const Form& form, const Side& side,
             unsigned size)
      : kernel_(must(module.kernel(form.name))),
        to_(filled(device, form.to, side.backing)),
        surface_(must(Surface::create(to_))) {
    config_.block = {16, 16, 1};
    config_.grid = {size / 16, size / 16, 1};
    config_.filter = side.filter;
    config_.fp = side.fp;
    config_.time = true;
    if (form.memory) {
      const std::uint64_t bytes = std::uint64_t{size} * size * 4;
      memory_.push_back(must(Buffer::create(device, bytes, BufferMemory::rows)));
      must(memory_[0].upload(0, contents(form.from, bytes)));
      TextureMemory memory{abi::SurfaceFormat::f32, 1, 0, size, size, std::uint64_t{size} * 4};
      if (form.arrays == 0) memory.width = size * size, memory.height = 0;
      textures_.push_back(must(Texture::create(memory_[0], memory, form.read)));
    }
    for (unsigned i = 0; i < form.arrays && !form.memory; ++i) {
      arrays_.push_back(filled(device, form.from, side.backing));
      textures_.push_back(must(Texture::create(arrays_.back(), form.read)));
    }
    if (std::string(form.name) == "table") {
      std::vector<std::uint64_t> handles;
      for (const Texture& each : textures_) handles.push_back(each.handle());
      memory_.push_back(must(Buffer::create(device, handles.size() * 8)));
      must(memory_.back().upload(0, std::as_bytes(std::span(handles))));
      args_.buffer(memory_.back());
    } else {
      for (const Texture& each : textures_) args_.texture(each);
    }
    args_.surface(surface_);
    form.more(args_);
  }

  double run(bool device_times) {
    const LaunchTiming timing = must(kernel_.launch(config_, args_));
    return device_times ? timing.device_ms : timing.wall_ms;
  }
  const Array& result() const { return to_; }

 private:
  Kernel kernel_;
  Array to_;
  Surface surface_;
  std::vector<Array> arrays_;
  std::vector<Buffer> memory_;
  std::vector<Texture> textures_;
  LaunchConfig config_;
  Args args_;
};

std::vector<float> values(const Array& array) {
  std::vector<std::byte> bytes(array.bytes());
  must(array.download(bytes));
  std::vector<float> all;
  if (array.desc().format == abi::SurfaceFormat::f32) {
    all.resize(bytes.size() / 4);
    std::memcpy(all.data(), bytes.data(), bytes.size());
  } else {
    for (const std::byte each : bytes) all.push_back(static_cast<float>(each) / 255.0f);
  }
  return all;
}

std::vector<std::uint32_t> read_words(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)),
                                std::istreambuf_iterator<char>());
  if (bytes.empty()) fail(path + " cannot be read");
  std::vector<std::uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), words.size() * 4);
  return words;
}

/// A row of the table. False: the results differ.
bool measure(const Settings& settings, const Device& device, const Module& module,
             SamplerVulkan& by_hand, Form form) {
  const bool device_times = device.info().kind != DeviceKind::cpu;
  std::vector<Array> images;
  std::vector<ImageUse> uses;
  for (unsigned i = 0; i < form.arrays; ++i) {
    images.push_back(filled(device, form.from, ArrayBacking::image));
    uses.push_back(image_use(images.back(), form.read.cube));
  }
  std::vector<Buffer> words;
  if (form.arrays == 0) {
    const std::uint64_t bytes = std::uint64_t{settings.size} * settings.size * 4;
    words.push_back(must(Buffer::create(device, bytes)));
    must(words[0].upload(0, contents(form.from, bytes)));
    form.push.memory = words[0].address();
  }
  const Array to = filled(device, form.to, ArrayBacking::image);
  by_hand.prepare(read_words(settings.folder + "/tex_" + form.name + ".spv"), uses, form.sampler,
                  image_use(to, false), form.push, settings.size / 16);
  std::vector<Translated> sides;
  for (const Side& side : kSides) sides.emplace_back(device, module, form, side, settings.size);
  std::vector<double> glsl;
  std::vector<std::vector<double>> times(sides.size());
  for (unsigned round = 0; round <= settings.rounds; ++round) {
    const double first = by_hand.run(device_times);
    if (round > 0) glsl.push_back(first);
    for (std::size_t i = 0; i < sides.size(); ++i) {
      const double each = sides[i].run(device_times);
      if (round > 0) times[i].push_back(each);  // the first one translates
    }
  }
  const std::vector<float> want = values(to);
  const auto difference = [&](std::size_t side) {
    const std::vector<float> got = values(sides[side].result());
    float most = 0;
    for (std::size_t i = 0; i < want.size(); ++i)
      most = std::max(most, std::fabs(want[i] - got[i]));
    return most;
  };
  const float device_off = difference(kDevice), exact_off = difference(kExact);
  const double base = median(glsl);
  std::printf("| %s | %.3f |", form.name, base);
  for (const auto& each : times) std::printf(" %.3f (%.2f) |", median(each), median(each) / base);
  // Not a number is no small difference.
  const bool equal = device_off <= kMostDifference && exact_off <= kMostDifference;
  std::printf(" %.2g, %.2g%s |\n", static_cast<double>(device_off), static_cast<double>(exact_off),
              equal ? "" : " differs");
  std::fflush(stdout);
  return equal;
}

bool read_settings(const ParsedCommand& command, Settings& settings, std::string& error) {
  for (const ParsedOption& option : command.options) switch (option.id) {
      case opt_device: settings.device = option.value; break;
      case opt_rounds: settings.rounds = positive(option.value); break;
      case opt_kernel: settings.kernels.push_back(option.value); break;
      case opt_size: settings.size = positive(option.value); break;
      case opt_steps: settings.steps = positive(option.value); break;
      case opt_folder: settings.folder = option.value; break;
      default: break;
    }
  if (settings.folder.empty()) settings.folder = own_kernels();
  if (settings.size % 16) return error = "the size is a multiple of 16", false;
  const std::vector<Form> all = forms(settings);
  for (const std::string& name : settings.kernels)
    if (std::ranges::none_of(all, [&](const Form& form) { return name == form.name; }))
      return error = "there is no kernel " + name, false;
  return true;
}

int run(const Settings& settings) {
  DeviceOptions options;
  options.select = settings.device;
  const Device device = must(Device::open(options));
  const Module module = must(Module::load_file(device, settings.folder + "/textures.ptx"));
  SamplerVulkan by_hand(device);
  std::printf("%s, %u x %u threads, milliseconds, medians of %u\n\n| kernel | GLSL |",
              device.info().name.c_str(), settings.size, settings.size, settings.rounds);
  for (const Side& side : kSides) std::printf(" %s |", side.name);
  std::printf(" difference |\n|---|---|");
  for (std::size_t i = 0; i < std::size(kSides); ++i) std::printf("---|");
  std::printf("---|\n");
  bool equal = true;
  for (Form& form : forms(settings)) {
    const bool wanted = settings.kernels.empty() ||
                        std::ranges::find(settings.kernels, form.name) != settings.kernels.end();
    if (wanted) equal = measure(settings, device, module, by_hand, std::move(form)) && equal;
  }
  return equal ? 0 : 1;
}

}  // namespace
}  // namespace ptx2spv::bench

int main(int argc, char** argv) {
  using namespace ptx2spv::bench;
  return bench_main(kTool, argc, argv, [](const ParsedCommand& command) {
    Settings settings;
    std::string error;
    if (!read_settings(command, settings, error)) return usage_error(kTool, error), 2;
    return run(settings);
  });
}
