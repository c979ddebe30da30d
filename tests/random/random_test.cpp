// Random kernels on devices, under every profile, against the scalar interpreter of the IR.
//
// PTX2SPV_SEED takes others (`random`: new ones each time), PTX2SPV_PROGRAMS says how many. A
// kernel that fails is made small and printed; it belongs into tests/random/found/.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/random/reduce.hpp"
#include "tests/random/runner.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/share.hpp"
#include "tools/common/sha256.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::test;

/// Every profile that there is; `full` is the device's own.
std::vector<std::string> profiles() {
  return {"",         "no-int64", "no-64-bit-atomics", "no-8/16-bit", "swiftshader",
          "lavapipe", "nvidia",   "portable"};
}

/// Everything but the profile goes by the kernel's number.
Variant variant(const std::string& profile, std::size_t kernel) {
  Variant v;
  v.profile = profile;
  v.optimize = static_cast<int>(kernel % 2);
  if (kernel / 3 % 4 == 0) v.threads = ThreadModel::regions;
  if (kernel / 3 % 4 == 1) v.threads = ThreadModel::flat;
  return v;
}

/// Tells which translations of a module are new, so that a profile is run where it matters.
class Translations {
 public:
  Translations(const std::string& text, const Variant& how) {
    std::vector<Message> messages;
    module_ = PtxModule::parse({{text, "random.ptx"}}, messages);
    options_.optimize = how.optimize;
    options_.threads = how.threads.value_or(ThreadModel::direct);
  }
  bool is_new(const std::string& entry, const Profile& profile) {
    if (!module_) return true;
    options_.entry = entry;
    options_.profile = profile;
    std::vector<Message> messages;
    auto made = module_->translate(options_, messages);
    return !made || seen_.insert(std::move(made->spirv)).second;
  }

 private:
  std::optional<PtxModule> module_;
  TranslateOptions options_;
  std::set<std::vector<std::uint32_t>> seen_;
};

/// A fixed one where nothing is said, so that a change is never blamed for another one's kernel.
std::uint32_t first_seed() {
  const std::string text = environment("PTX2SPV_SEED");
  if (text == "random") return std::random_device{}();
  constexpr std::uint32_t kSeed = 1000;
  return text.empty() ? kSeed : static_cast<std::uint32_t>(std::stoul(text));
}

/// Two halves, for runs side by side.
class Random : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Random, KernelsAgreeWithTheInterpreter) {
  const std::uint32_t seed = first_seed() + GetParam();
  const std::string count_text = environment("PTX2SPV_PROGRAMS");
  const std::size_t count = !count_text.empty() ? std::stoul(count_text) : exhaustive() ? 5000 : 20;
  std::cout << "PTX2SPV_SEED=" << seed - GetParam() << " repeats this run of " << count
            << " kernels" << std::endl;  // at once: a driver may end the process
  const std::vector<std::uint32_t> input = random_input(7);
  std::vector<std::unique_ptr<Runner>> runners;
  const std::vector<std::string> names = profiles();
  for (const std::string& profile : names) {
    runners.push_back(std::make_unique<Runner>(profile, input));
    ASSERT_EQ(runners.back()->problem(), "");
  }
  std::mt19937 rng(seed);
  constexpr std::size_t kModule = 5;
  std::size_t failures = 0;
  for (std::size_t first = 0; first < count && failures < 5; first += kModule) {
    std::vector<RandomKernel> kernels;
    std::vector<ModelRun> wanted;
    for (std::size_t i = first; i < std::min(count, first + kModule); ++i) {
      kernels.push_back(random_kernel(rng, "k" + std::to_string(i)));
      wanted.push_back(run_model(kernels.back(), input));
      ASSERT_EQ(wanted.back().error, "") << kernels.back().ptx();
    }
    std::string text = kModuleHead;
    for (const RandomKernel& kernel : kernels) text += kernel.ptx();
    const std::size_t number = first / kModule;
    Translations translations(text, variant("", number));
    for (std::size_t p = 0; p < names.size(); ++p) {
      const Variant how = variant(names[p], number);
      std::vector<std::size_t> which;
      std::vector<const RandomKernel*> run_these;
      for (std::size_t k = 0; k < kernels.size(); ++k) {
        if (!translations.is_new(kernels[k].name, runners[p]->device().profile())) continue;
        which.push_back(k);
        run_these.push_back(&kernels[k]);
      }
      if (which.empty()) continue;
      const std::vector<Runner::Run> runs = runners[p]->run(run_these, how);
      for (std::size_t r = 0; r < runs.size(); ++r) {
        const std::size_t k = which[r];
        const std::string wrong =
            runs[r].error.empty() ? difference(wanted[k].outputs, runs[r].outputs) : runs[r].error;
        if (wrong.empty()) continue;
        ++failures;
        std::cout << kernels[k].name << " of seed " << seed << ", " << how.text() << ": " << wrong
                  << "\n";
        const bool refused = !runs[r].error.empty();
        const RandomKernel small = reduce(kernels[k], [&](const RandomKernel& candidate) {
          const ModelRun model = run_model(candidate, input);
          // What remains may not read what it has not written: it would fail for that.
          if (!model.error.empty() || run_model(candidate, input, 0x5b).outputs != model.outputs)
            return false;
          const Runner::Run run = runners[p]->run({&candidate}, how)[0];
          if (refused) return !run.error.empty();
          return run.error.empty() && !difference(model.outputs, run.outputs).empty();
        });
        ADD_FAILURE() << how.text() << ": " << wrong << "\nblock " << small.block[0] << " x "
                      << small.block[1] << ", grid " << small.grid << ", n " << small.n << "\n"
                      << kModuleHead << small.ptx();
        break;
      }
    }
  }
  for (std::size_t p = 0; p < names.size(); ++p) {
    const DeviceStatistics s = runners[p]->device().statistics();
    std::cout << fmt::format("{}: {} launches, {:.1f} s translation, {:.1f} s pipelines\n",
                             names[p].empty() ? "device" : names[p], s.launches,
                             s.translation_ms / 1000, s.pipeline_ms / 1000);
  }
}

INSTANTIATE_TEST_SUITE_P(Halves, Random, testing::Values(0u, 1u));

/// PTX2SPV_FOLDER: modules of kernels, and manifests with what the interpreter says that
/// they leave, for `ptxrun` on other machines and with CUDA.
TEST(RandomManifests, KernelsForOtherMachines) {
  const std::string folder = environment("PTX2SPV_FOLDER");
  if (folder.empty()) GTEST_SKIP() << "PTX2SPV_FOLDER says where manifests shall go";
  const std::uint32_t seed =
      static_cast<std::uint32_t>(std::stoul("0" + environment("PTX2SPV_SEED")));
  const std::size_t count = std::stoul("0" + environment("PTX2SPV_PROGRAMS"));
  const std::vector<std::uint32_t> input = random_input(7);
  const auto write = [&](const std::string& name, const void* bytes, std::size_t size) {
    std::ofstream out(folder + "/" + name, std::ios::binary);
    out.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
    ASSERT_TRUE(out.good()) << name;
  };
  write("input.bin", input.data(), input.size() * 4);
  std::mt19937 rng(seed);
  constexpr std::size_t kModule = 20;
  for (std::size_t first = 0; first < count; first += kModule) {
    std::string text = kModuleHead;
    nlohmann::ordered_json manifest;
    const std::string name = fmt::format("m{:04}", first / kModule);
    manifest["module"] = name + ".ptx";
    manifest["buffers"]["in"] = {{"bytes", input.size() * 4}, {"init", {{"raw", "input.bin"}}}};
    for (std::size_t i = first; i < std::min(count, first + kModule); ++i) {
      const RandomKernel kernel = random_kernel(rng, fmt::format("k{}", i));
      const ModelRun model = run_model(kernel, input);
      ASSERT_EQ(model.error, "") << kernel.ptx();
      text += kernel.ptx();
      const Outputs initial = initial_outputs(kernel);
      const auto object = [&](const char* kind, const std::string& object_name,
                              nlohmann::ordered_json what, const std::vector<std::uint8_t>& begin,
                              const std::vector<std::uint8_t>& end) {
        // What a kernel finds goes by its size alone.
        const std::string file = fmt::format("{}_{}.bin", kind, begin.size());
        write(file, begin.data(), begin.size());
        what["init"] = {{"raw", file}};
        manifest[std::string(kind) + "s"][object_name] = what;
        manifest["outputs"].push_back(
            {{kind, object_name},
             {"raw", object_name + ".bin"},
             {"sha256", tools::sha256_hex(std::as_bytes(std::span(end)))}});
      };
      const std::string t = kernel.name + "_threads", c = kernel.name + "_counters",
                        s = kernel.name + "_surface";
      object("buffer", t, {{"bytes", initial.threads.size()}}, initial.threads,
             model.outputs.threads);
      object("buffer", c, {{"bytes", initial.counters.size()}}, initial.counters,
             model.outputs.counters);
      object("surface", s,
             {{"geometry", "2d"},
              {"format", "u32"},
              {"channels", 1},
              {"width", RandomKernel::kRowBytes / 4},
              {"height", kernel.threads()}},
             initial.surface, model.outputs.surface);
      manifest["launches"].push_back({{"kernel", kernel.name},
                                      {"grid", {kernel.grid, 1, 1}},
                                      {"block", {kernel.block[0], kernel.block[1], 1}},
                                      {"args",
                                       {{{"buffer", "in"}},
                                        {{"buffer", t}},
                                        {{"buffer", c}},
                                        {{"surface", s}},
                                        {{"u32", kernel.n}}}}});
    }
    const std::string json = manifest.dump(1);
    write(name + ".ptx", text.data(), text.size());
    write(name + ".json", json.data(), json.size());
  }
}

}  // namespace
