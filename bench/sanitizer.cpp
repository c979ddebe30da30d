// bench_sanitizer: what each check of the sanitizer costs, in time of the kernels and of their
// first launch.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/cases.hpp"
#include "bench/main.hpp"
#include "bench/median.hpp"
#include "ptx2spv/runtime.hpp"
#include "tools/common/options.hpp"

namespace ptx2spv::bench {
namespace {

using namespace tools;

enum Id : int { opt_kernel = opt_folder + 1 };
constexpr Option kOptions[] = {
    device_option(opt_device),
    rounds_option("medians of N rounds, in which the checks take turns; 15 when not given"),
    {opt_kernel, 'k', "kernel", "NAME", "only this kernel; may be repeated"},
    folder_option(opt_folder, "where the PTX files are: kernels/ beside the program"),
};
constexpr Tool kTool = {
    "bench_sanitizer",
    "[OPTION...]",
    "times kernels with each check of the sanitizer against the same ones without",
    "Surfaces, shared memory with barriers, warp operations and global memory. Times are of "
    "all the processor's threads on CPUs, and the device's timestamps elsewhere. The "
    "first launch translates and compiles: MESA_SHADER_CACHE_DISABLE=true lets lavapipe do so.",
    kOptions,
    kMeasuredExits};

/// The first one is without.
constexpr std::uint32_t kChecks[] = {no_checks, check_memory, check_init, check_race, check_sync};
constexpr const char* kNames[] = {"none", "memory", "init", "race", "sync"};
constexpr std::size_t kSides = std::size(kChecks);

/// What a kernel is given. Surfaces and buffers live as long as it.
struct Given {
  std::vector<Array> arrays;
  std::vector<Surface> surfaces;
  std::vector<Buffer> buffers;
  Args args;
  LaunchConfig config;
};

struct Work {
  std::string file, kernel;
  /// Makes it on a device; false and an error.
  std::function<bool(const Device&, Given&, std::string&)> give;
};

template <class T>
bool keep(Result<T> made, std::vector<T>& list, std::string& error) {
  if (!made) return error = made.error().text, false;
  list.push_back(std::move(*made));
  return true;
}

bool give_surfaces(const Case& form, const Device& device, Given& given, std::string& error) {
  const Job job = make_job(form, Size::small, true);
  const auto add = [&](const ArrayDesc& desc) {
    return keep(Array::create(device, desc), given.arrays, error) &&
           keep(Surface::create(given.arrays.back()), given.surfaces, error);
  };
  if (form.input != Input::none) {
    if (!add(job.from)) return false;
    if (auto put = given.arrays.back().upload(std::as_bytes(std::span(job.input))); !put)
      return error = put.error().text, false;
  }
  if (!add(job.to)) return false;
  if (form.accumulates)
    if (auto put = given.arrays.back().fill(form.initial, 4); !put)
      return error = put.error().text, false;
  for (const Surface& surface : given.surfaces) given.args.surface(surface);
  for (const std::uint32_t argument : job.arguments) given.args.value(argument);
  given.config = job.config;
  return true;
}

/// Two buffers of as many words, of which the second one begins with the address of the first.
bool give_buffers(std::uint32_t words, std::uint32_t threads, std::uint32_t block,
                  std::int32_t argument, const Device& device, Given& given, std::string& error) {
  std::vector<std::uint32_t> contents(words);
  for (std::uint32_t i = 0; i < words; ++i) contents[i] = i * 2654435761u;
  for (int i = 0; i < 2; ++i) {
    if (!keep(Buffer::create(device, 4ull * words), given.buffers, error)) return false;
    if (i == 1) {
      const std::uint64_t address = given.buffers[0].address();
      std::memcpy(contents.data(), &address, sizeof address);
    }
    // What kernels write is not written before, which costs init the most.
    const auto bytes = std::as_bytes(std::span(contents));
    if (auto put = given.buffers[i].upload(0, i == 1 ? bytes.first(8) : bytes); !put)
      return error = put.error().text, false;
    given.args.buffer(given.buffers[i]);
  }
  given.args.value(argument);
  given.config.grid = {threads / block, 1, 1};
  given.config.block = {block, 1, 1};
  return true;
}

std::vector<Work> all_work() {
  std::vector<Work> work;
  for (const Case& form : all_cases())
    work.push_back({"kernels.ptx", form.name, [&form](const Device& d, Given& g, std::string& e) {
                      return give_surfaces(form, d, g, e);
                    }});
  const auto add = [&](const char* file, const char* kernel, std::uint32_t words,
                       std::uint32_t threads, std::uint32_t block, std::int32_t argument) {
    work.push_back({file, kernel, [=](const Device& d, Given& g, std::string& e) {
                      return give_buffers(words, threads, block, argument, d, g, e);
                    }});
  };
  for (const char* kernel : {"reduce", "transpose", "blur"})
    add("blocks.ptx", kernel, 1u << 20, 1u << 18, 256, 1024);
  for (const char* kernel : {"scan", "reduce", "compact"})
    add("warps.ptx", kernel, 1u << 18, 1u << 18, 256, 1 << 18);
  for (const char* kernel : {"repeat", "stride", "vectors", "gather", "pointer"})
    add("memory.ptx", kernel, 1u << 20, (1u << 18) - 256, 256, 1 << 20);
  return work;
}

struct Side {
  std::optional<Device> device;
  std::optional<Kernel> kernel;
  Given given;
  double first = -1;  ///< milliseconds of the first launch, which translates and compiles
  std::vector<double> times;
};

/// Times one kernel on every side. Prints a row.
bool measure(const Work& work, std::span<const Device> devices, const std::string& folder,
             unsigned rounds, std::string& error) {
  std::vector<Side> sides(kSides);
  for (std::size_t i = 0; i < kSides; ++i) {
    auto module = Module::load_file(devices[i], folder + "/" + work.file);
    if (!module) return error = module.error().text, false;
    auto kernel = module->kernel(work.kernel);
    if (!kernel) return error = kernel.error().text, false;
    sides[i].kernel = *kernel;
    if (!work.give(devices[i], sides[i].given, error)) return false;
  }
  const bool cpu = devices[0].info().kind == DeviceKind::cpu;
  for (unsigned round = 0; round <= rounds; ++round)
    for (std::size_t i = 0; i < kSides; ++i) {
      Side& side = sides[i];
      side.given.config.time = !cpu;
      std::optional<Result<LaunchTiming>> timing;
      const Times spent =
          timed([&] { timing = side.kernel->launch(side.given.config, side.given.args); });
      if (!*timing) return error = timing->error().text, false;
      if (round == 0)
        side.first = spent.wall_ms;
      else
        side.times.push_back(cpu ? spent.processor_ms : (*timing)->device_ms);
    }
  const std::string stem = work.file.substr(0, work.file.find('.'));
  std::printf("| %s %s |", stem.c_str(), work.kernel.c_str());
  const double plain = median(sides[0].times);
  std::printf(" %.3f |", plain);
  for (std::size_t i = 1; i < kSides; ++i) std::printf(" %.2f |", median(sides[i].times) / plain);
  std::printf(" %.0f |", sides[0].first);
  for (std::size_t i = 1; i < kSides; ++i) std::printf(" %.1f |", sides[i].first / sides[0].first);
  std::printf("\n");
  std::fflush(stdout);
  for (std::size_t i = 0; i < kSides; ++i)
    if (const auto found = devices[i].sanitizer_report().findings; !found.empty())
      return error = "the sanitizer found something:\n" + found[0].to_string(), false;
  return true;
}

int fail(const std::string& text) {
  std::fprintf(stderr, "bench_sanitizer: error: %s\n", text.c_str());
  return 2;
}

int run(const ParsedCommand& command) {
  const DeviceRun asked(command);
  std::vector<Device> devices;
  for (const std::uint32_t checks : kChecks) {
    DeviceOptions options;
    options.select = asked.device;
    options.cache = false;
    options.checks = checks;
    auto device = Device::open(options);
    if (!device) return fail(device.error().text);
    devices.push_back(*device);
  }
  std::printf("%s\n\n| kernel | ms |", devices[0].info().name.c_str());
  for (std::size_t i = 1; i < kSides; ++i) std::printf(" %s |", kNames[i]);
  std::printf(" first, ms |");
  for (std::size_t i = 1; i < kSides; ++i) std::printf(" %s |", kNames[i]);
  std::printf("\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  std::string error;
  for (const Work& work : all_work()) {
    bool wanted = true;
    for (const ParsedOption& option : command.options)
      if (option.id == opt_kernel) wanted = false;
    for (const ParsedOption& option : command.options)
      wanted |= option.id == opt_kernel && option.value == work.kernel;
    if (wanted && !measure(work, devices, asked.folder, asked.rounds, error))
      return fail(work.kernel + ": " + error);
  }
  return 0;
}

}  // namespace
}  // namespace ptx2spv::bench

int main(int argc, char** argv) {
  return ptx2spv::bench::bench_main(ptx2spv::bench::kTool, argc, argv, ptx2spv::bench::run);
}
