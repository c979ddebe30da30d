// bench_surfaces: translated kernels against hand-written GLSL on each Vulkan device and against
// native CUDA, with equal results as the condition; and launch latency against Vulkan by hand.
#include <cstdio>
#include <cstdlib>

#include "bench/main.hpp"
#include "bench/report.hpp"
#include "tools/common/files.hpp"
#include "tools/common/options.hpp"

namespace ptx2spv::bench {
namespace {

using namespace tools;

enum Id : int {
  opt_device = 1,
  opt_rounds,
  opt_kernel,
  opt_size,
  opt_folder,
  opt_backing,
  opt_no_cuda,
  opt_no_latency,
  opt_json
};

constexpr Option kOptions[] = {
    {opt_device, 'd', "device", "NAME",
     "only this device: gpu, cpu, swiftshader, lavapipe, an index or part of the name; may be "
     "repeated",
     "gpu,cpu,swiftshader,lavapipe"},
    {opt_rounds, 'r', "rounds", "N",
     "medians of N rounds, in which the sides take turns; 15 when not given"},
    {opt_kernel, 'k', "kernel", "NAME", "only this kernel; may be repeated",
     "copy4,copy16,stencil2d,stencil3d,histogram,zbuffer,blur,mandelbrot,nbody"},
    {opt_size, 's', "size", "SIZE",
     "small (what CPUs do in milliseconds), large (what fills a data centre's GPU) or tiny (a test "
     "of the benchmark); "
     "auto, the default, is large on a GPU with 16 GiB or more",
     "auto,tiny,small,large"},
    folder_option(opt_folder, "where kernels.ptx and the shaders are: kernels/ beside the program"),
    {opt_backing, 0, "backing", "KIND",
     "hold the surfaces of the translated kernels in linear memory or in images; the runtime "
     "chooses when not given",
     "linear,image"},
    {opt_no_cuda, 0, "no-cuda", "", "leave native CUDA out where there is one"},
    {opt_no_latency, 0, "no-latency", "", "leave launch latency out"},
    json_option(opt_json),
};

constexpr Tool kTool = {"bench_surfaces",
                        "[OPTION...]",
                        "times translated kernels against hand-written GLSL and native CUDA",
                        "Every usable Vulkan device is measured. On CPUs a time is the host's, "
                        "from submission to completion; on GPUs it is the "
                        "device's, by timestamps, and that of CUDA by events. Ratios below 1 are "
                        "in the translated kernel's favour.",
                        kOptions,
                        kComparedExits,
                        "PTX2SPV_SWIFTSHADER names SwiftShader's library or its folder."};

struct Settings {
  std::vector<std::string> devices, kernels;
  int rounds = 15;
  std::string size = "auto", folder;
  ArrayBacking backing = ArrayBacking::automatic;
  bool cuda = true, latency = true, json = false;
};

int fail(const std::string& text) {
  std::fprintf(stderr, "bench_surfaces: error: %s\n", text.c_str());
  return 2;
}

bool read_settings(const ParsedCommand& command, Settings& settings, std::string& error) {
  for (const ParsedOption& option : command.options) switch (option.id) {
      case opt_device: settings.devices.push_back(option.value); break;
      case opt_kernel: {
        bool known = false;
        for (const Case& form : all_cases()) known |= option.value == form.name;
        if (!known) return error = "there is no kernel " + option.value, false;
        settings.kernels.push_back(option.value);
        break;
      }
      case opt_rounds:
        settings.rounds = std::atoi(option.value.c_str());
        if (settings.rounds < 1 || settings.rounds > 10000)
          return error = "--rounds takes 1 to 10000", false;
        break;
      case opt_size:
        settings.size = option.value;
        if (settings.size != "auto" && settings.size != "tiny" && settings.size != "small" &&
            settings.size != "large")
          return error = "--size takes auto, tiny, small or large", false;
        break;
      case opt_folder: settings.folder = option.value; break;
      case opt_backing:
        if (option.value != "linear" && option.value != "image")
          return error = "--backing takes linear or image", false;
        settings.backing = option.value == "image" ? ArrayBacking::image : ArrayBacking::linear;
        break;
      case opt_no_cuda: settings.cuda = false; break;
      case opt_no_latency: settings.latency = false; break;
      case opt_json: settings.json = true; break;
    }
  if (settings.folder.empty()) settings.folder = own_kernels();
  return true;
}

Result<Module> load(const Device& device, const Settings& settings, FpPolicy fp) {
  ModuleOptions options;
  options.fp = fp;
  return Module::load_file(device, settings.folder + "/kernels.ptx", options);
}

/// Measures one device. On failure `error`; what was measured before it stays in `result`.
bool measure_device(const Settings& settings, const std::string& select, DeviceResult& result,
                    std::string& error) {
  DeviceOptions options;
  options.select = select;
  auto device = Device::open(options);
  if (!device) return error = device.error().text, false;
  const DeviceInfo& info = device->info();
  const bool cpu = info.kind == DeviceKind::cpu;
  result.name = info.name;
  result.driver = info.driver;
  result.rounds = settings.rounds;
  result.size = settings.size;
  if (settings.size == "auto")
    result.size = !cpu && info.memory_bytes >= std::uint64_t(16) << 30 ? "large" : "small";
  result.times = cpu ? "from submission to completion" : "by the device's timestamps";
  if (settings.backing == ArrayBacking::image) result.times += ", surfaces in images";
  RawVulkan raw;
  if (!raw.open(loader_of(options), info.name))
    return error = "no device of hand-written Vulkan is called " + info.name, false;

  auto exact = load(*device, settings, FpPolicy::exact),
       fast = load(*device, settings, FpPolicy::fast);
  for (const auto* module : {&exact, &fast})
    if (!*module) {
      error = module->error().text;
      for (const Message& message : module->error().messages) error += "\n" + message.rendered;
      return false;
    }
  Bench bench{*device, raw, nullptr, *exact, *fast, settings.folder};
  bench.size = result.size == "tiny"    ? Size::tiny
               : result.size == "large" ? Size::large
                                        : Size::small;
  bench.rounds = settings.rounds;
  bench.backing = settings.backing;
  bench.device_times = !cpu;
  NativeCuda cuda;
  std::string ptx;
  if (cpu) {
    result.cuda = "the device is a CPU";
  } else if (!settings.cuda) {
    result.cuda = "left out";
  } else if (const IoError io = read_text(settings.folder + "/kernels.ptx", ptx); !io.empty()) {
    return error = settings.folder + "/kernels.ptx: " + io, false;
  } else if (cuda.open(info.name, ptx, result.cuda)) {
    bench.cuda = &cuda;
    result.cuda.clear();
  }
  if (!settings.json) print_header(result);
  for (const Case& form : all_cases()) {
    bool wanted = settings.kernels.empty();
    for (const std::string& name : settings.kernels) wanted |= name == form.name;
    if (!wanted) continue;
    auto kernel = measure_kernel(bench, form, error);
    if (!kernel) return error = std::string(form.name) + ": " + error, false;
    result.kernels.push_back(*kernel);
    if (!settings.json) print_kernel(*kernel);
  }
  if (settings.latency) {
    auto latency = measure_latency(bench, error);
    if (!latency) return error = "latency: " + error, false;
    result.latency = *latency;
  }
  if (!settings.json) print_summary(result);
  return true;
}

int run(Settings& settings) {
  if (settings.devices.empty()) {
    auto list = list_devices();
    if (!list) return fail(list.error().text);
    for (const DeviceInfo& info : *list)
      if (info.usable) settings.devices.push_back("index:" + std::to_string(info.index));
    if (settings.devices.empty()) return fail("there is no usable Vulkan device");
  }
  std::vector<DeviceResult> results;
  int exit = 0;
  for (const std::string& select : settings.devices) {
    if (!results.empty() && !settings.json) std::printf("\n");
    DeviceResult& result = results.emplace_back();
    std::string error;
    if (!measure_device(settings, select, result, error)) exit = fail(error);
    for (const KernelResult& kernel : result.kernels)
      if (!kernel.equal && exit == 0) exit = 1;
  }
  if (settings.json) std::fputs(json_text(results).c_str(), stdout);
  return exit;
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
