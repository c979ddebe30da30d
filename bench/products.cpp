// bench_products: a product of matrices of f16 by tensor cores' instructions and by plain fma, and
// the same PTX by NVIDIA's driver where there is one.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "bench/main.hpp"
#include "bench/median.hpp"
#include "ptx2spv/runtime.hpp"
#include "tools/common/cuda_api.hpp"
#include "tools/common/options.hpp"

namespace ptx2spv::bench {
namespace {

using namespace tools;

enum Id : int { opt_size = opt_folder + 1 };
constexpr Option kOptions[] = {
    device_option(opt_device),
    rounds_option("medians of N rounds, in which the sides take turns; 15 when not given"),
    {opt_size, 's', "size", "N", "the matrices' sides, a multiple of 64; 256 when not given"},
    folder_option(opt_folder, "where products.ptx is: kernels/ beside the program"),
};
constexpr Tool kTool = {
    "bench_products",
    "[OPTION...]",
    "times a product of matrices by mma.sync and by fma",
    "Elements are f16, sums f32. Columns are floating-point policies and NVIDIA's driver. On CPUs "
    "times are the host's, from submission to completion, elsewhere the device's.",
    kOptions,
    kComparedExits};

constexpr std::uint32_t kTile = 64;
constexpr struct {
  const char* name;
  std::uint32_t threads;  ///< of a block
} kKernels[] = {{"product_fma", 128}, {"product_mma", 256}};

int fail(const std::string& text) {
  std::fprintf(stderr, "bench_products: error: %s\n", text.c_str());
  return 2;
}

/// Small whole numbers, of which every sum is exact.
std::vector<std::uint16_t> elements(std::uint32_t size, std::uint32_t seed) {
  constexpr std::uint16_t kHalves[] = {0, 0x3c00, 0x4000, 0x4200, 0xbc00, 0xc000, 0xc200, 0};
  std::vector<std::uint16_t> values(std::size_t{size} * size);
  std::uint32_t state = seed;
  for (std::uint16_t& each : values) each = kHalves[(state = state * 1664525u + 1013904223u) >> 29];
  return values;
}

/// The product's kernels by CUDA; times stay empty where there is no such driver.
class Native {
 public:
  Native(const std::string& ptx, std::span<const std::uint16_t> a, std::span<const std::uint16_t> b,
         std::uint32_t size)
      : size_(size) {
    std::string reason;
    cuda::DeviceNumber device = 0;
    void* context = nullptr;
    const std::size_t bytes = a.size_bytes();
    open_ = cuda::load_api(api_, reason) && api_.init(0) == 0 && api_.device_get(&device, 0) == 0 &&
            api_.context_retain(&context, device) == 0 && api_.context_current(context) == 0 &&
            api_.module_load(&module_, ptx.c_str(), 0, nullptr, nullptr) == 0 &&
            api_.mem_alloc(&a_, bytes) == 0 && api_.mem_alloc(&b_, bytes) == 0 &&
            api_.mem_alloc(&c_, 2 * bytes) == 0 && api_.to_device(a_, a.data(), bytes) == 0 &&
            api_.to_device(b_, b.data(), bytes) == 0 && api_.event_create(&begin_, 0) == 0 &&
            api_.event_create(&end_, 0) == 0;
  }
  /// Milliseconds; negative where it does not run.
  double run(const char* kernel, std::uint32_t threads, std::span<std::byte> result) {
    cuda::Function function = nullptr;
    void* arguments[] = {&a_, &b_, &c_, &size_};
    float elapsed = -1;
    if (!open_ || api_.module_function(&function, module_, kernel) != 0) return -1;
    api_.event_record(begin_, nullptr);
    const unsigned side = size_ / kTile;
    if (api_.launch(function, side, side, 1, threads, 1, 1, 0, nullptr, arguments, nullptr) != 0)
      return -1;
    api_.event_record(end_, nullptr);
    if (api_.to_host(result.data(), c_, result.size()) != 0) return -1;
    api_.event_elapsed(&elapsed, begin_, end_);
    return elapsed;
  }

 private:
  cuda::Api api_;
  std::uint32_t size_;
  bool open_ = false;
  cuda::ModuleHandle module_ = nullptr;
  cuda::DevicePointer a_ = 0, b_ = 0, c_ = 0;
  cuda::EventHandle begin_ = nullptr, end_ = nullptr;
};

int run(const ParsedCommand& command) {
  const DeviceRun asked(command);
  std::uint32_t size = 256;
  for (const ParsedOption& option : command.options)
    if (option.id == opt_size) size = (positive(option.value) + kTile - 1) / kTile * kTile;
  DeviceOptions options;
  options.select = asked.device;
  auto device = Device::open(options);
  if (!device) return fail(device.error().text);
  std::ifstream file(asked.folder + "/products.ptx", std::ios::binary);
  if (!file) return fail("there is no " + asked.folder + "/products.ptx");
  const std::string ptx{std::istreambuf_iterator<char>(file), {}};
  const auto a = elements(size, 1), b = elements(size, 2);
  const std::size_t bytes = a.size() * 2;
  auto left = Buffer::create(*device, bytes), right = Buffer::create(*device, bytes),
       to = Buffer::create(*device, 2 * bytes);
  if (!left || !right || !to) return fail("the matrices have no room");
  if (!left->upload(0, std::as_bytes(std::span(a))) ||
      !right->upload(0, std::as_bytes(std::span(b))))
    return fail("the matrices cannot be written");
  Native native(ptx, a, b, size);
  LaunchConfig config;
  config.grid = {size / kTile, size / kTile, 1};
  config.time = true;
  const Args args = Args().buffer(*left).buffer(*right).buffer(*to).value(size);
  std::printf("%s, %u x %u\n\n| kernel | exact, ms | fast, ms | CUDA, ms |\n|---|---|---|---|\n",
              device->info().name.c_str(), size, size);
  std::vector<float> first, words(a.size());
  const auto bytes_of_words = std::as_writable_bytes(std::span(words));
  bool equal = true;
  const auto compare = [&] {
    if (first.empty()) first = words;
    equal = equal && first == words;
  };
  for (const auto& [name, threads] : kKernels) {
    config.block = {threads, 1, 1};
    std::printf("| %s |", name);
    for (const FpPolicy policy : {FpPolicy::exact, FpPolicy::fast}) {
      ModuleOptions how;
      how.fp = policy;
      auto module = Module::load(*device, ptx, "products.ptx", how);
      if (!module) return fail(module.error().text);
      auto kernel = module->kernel(name);
      if (!kernel) return fail(kernel.error().text);
      std::vector<double> times;
      for (unsigned round = 0; round <= asked.rounds; ++round) {
        auto timing = kernel->launch(config, args);
        if (!timing) return fail(timing.error().text);
        // The first one translates.
        if (round > 0) times.push_back(timing->device_ms > 0 ? timing->device_ms : timing->wall_ms);
      }
      if (auto got = to->download(0, bytes_of_words); !got) return fail(got.error().text);
      compare();
      std::printf(" %.3f |", median(times));
      std::fflush(stdout);
    }
    std::vector<double> times;
    for (unsigned round = 0; round <= asked.rounds; ++round) {
      const double time = native.run(name, threads, bytes_of_words);
      if (time < 0) break;
      compare();
      if (round > 0) times.push_back(time);
    }
    times.empty() ? std::printf(" - |\n") : std::printf(" %.3f |\n", median(times));
  }
  if (!equal) std::printf("results differ\n");
  return equal ? 0 : 1;
}

}  // namespace
}  // namespace ptx2spv::bench

int main(int argc, char** argv) {
  return ptx2spv::bench::bench_main(ptx2spv::bench::kTool, argc, argv, ptx2spv::bench::run);
}
