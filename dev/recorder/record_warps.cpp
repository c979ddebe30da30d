// Records what shuffles give whose sources are not there: `recorder warps`.
#include <cinttypes>
#include <cstdio>
#include <fstream>

#include "dev/recorder/cuda_driver.hpp"
#include "dev/recorder/record.hpp"
#include "dev/recorder/warp_cases.hpp"

namespace ptx2spv::recorder {
namespace {

/// A module compiled at one level of the assembler's optimiser.
class Leveled {
 public:
  Leveled(const std::string& text, unsigned level) {
    auto& d = Driver::get();
    char log[2048] = "";
    int options[] = {5, 6, 7};  // the error log, its size, the optimisation level
    void* values[] = {log, reinterpret_cast<void*>(sizeof(log)),
                      reinterpret_cast<void*>(static_cast<std::uintptr_t>(level))};
    const int error = d.module_load(&module_, text.c_str(), 3, options, values);
    if (error) std::fprintf(stderr, "%s\n", log);
    d.check(error, "cuModuleLoadDataEx");
    d.check(d.module_function(&function_, module_, "k"), "cuModuleGetFunction");
  }
  ~Leveled() { Driver::get().module_unload(module_); }
  Leveled(const Leveled&) = delete;
  Leveled& operator=(const Leveled&) = delete;

  /// The words that all threads leave.
  std::vector<std::uint32_t> run(const std::vector<LaneInput>& inputs, unsigned threads,
                                 unsigned results) const {
    auto& d = Driver::get();
    std::vector<std::uint32_t> words(inputs.size() * results, 0xdead);
    DeviceMemory from(inputs.size() * sizeof(LaneInput)), to(words.size() * 4);
    from.upload(inputs.data(), inputs.size() * sizeof(LaneInput));
    to.upload(words.data(), words.size() * 4);
    DevicePointer in = from.address(), out = to.address();
    void* parameters[] = {&in, &out};
    const auto blocks = static_cast<unsigned>(inputs.size() / kWarpLanes / warps_of(threads));
    int error = d.launch(function_, blocks, 1, 1, threads, 1, 1, 0, nullptr, parameters, nullptr);
    if (!error) error = d.synchronize();
    d.check(error, "cuLaunchKernel");
    to.download(words.data(), words.size() * 4);
    return words;
  }

 private:
  void *module_ = nullptr, *function_ = nullptr;
};

}  // namespace

int record_warps(const std::string& path, const std::string& only, std::uint32_t seed) {
  auto& driver = Driver::get();
  std::ofstream record(path);
  record << "# shuffles from lanes that are not there on " << driver.device_name
         << ", driver interface " << driver.version << ", seed " << seed << "\n";
  unsigned lines = 0, open = 0;
  for (const WarpKernel& kernel : warp_kernels()) {
    if (!only.empty() && kernel.name().find(only) == std::string::npos) continue;
    const Leveled plain(warp_module(kernel), 0), optimised(warp_module(kernel), 4);
    for (const unsigned threads : kWarpBlocks) {
      const auto inputs = warp_inputs(kernel, threads, seed);
      const unsigned words = kernel.results() * kWarpLanes;
      const auto right = optimised.run(inputs, threads, kernel.results());
      const auto again = optimised.run(inputs, threads, kernel.results());
      const auto other = plain.run(inputs, threads, kernel.results());
      record << "W " << kernel.name() << " threads=" << threads << "\n";
      for (std::size_t first = 0; first < right.size(); first += words) {
        for (std::size_t i = first; i < first + words; ++i) {
          // A word that depends on the optimiser or the moment has no value.
          const bool sure = right[i] == again[i] && right[i] == other[i];
          char text[12];
          std::snprintf(text, sizeof(text), sure ? "%" PRIx32 : "?", right[i]);
          record << (i == first ? "" : " ") << text;
          open += !sure;
        }
        record << "\n";
        ++lines;
      }
    }
  }
  std::fprintf(stderr, "%u warps recorded, %u words open\n", lines, open);
  return record.good() ? 0 : 2;
}

}  // namespace ptx2spv::recorder
