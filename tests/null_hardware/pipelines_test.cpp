// Every kernel of bench, tests and examples through AMD's compiler, without a GPU: that each
// compiles for the family, in bounded time, what exactness costs in instructions, and what
// translation does against hand-written GLSL. PTX2SPV_DEVICE is the family.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "tests/null_hardware/null_hardware.hpp"
#include "tests/support/process.hpp"
#include "tests/support/translations.hpp"
#include "tools/common/files.hpp"

namespace ptx2spv::test {
namespace {

constexpr const char* kSource = PTX2SPV_SOURCE_DIR;
const auto in_source = [](std::initializer_list<const char*> folders) {
  return kernels_below(kSource, folders);
};

std::string family() {
  const char* name = std::getenv("PTX2SPV_DEVICE");
  return name ? name : "navi21";
}

NullHardware* hardware(std::string& problem) {
  static std::string why;
  static const std::unique_ptr<NullHardware> device = NullHardware::open(family(), why);
  problem = why;
  return device.get();
}

/// Whether an fma is a routine: before RDNA2 the driver makes a product and a sum of Fma
/// (lower_ffma32), which stay two under NoContraction. Without that they become a v_fma_f32 again
/// where a family has a fast one, but not if something else needs the product.
bool without_fma() { return family() != "navi21" && family() != "gfx1100"; }

/// What a device of the family answers, which cannot be asked here: v_fma_f32 is fused and keeps
/// denormals, and v_add_f64, v_mul_f64 and v_fma_f64 round as IEEE 754 has it. Everything else is
/// what Vulkan reports.
Profile profile_of(const NullHardware& device) {
  Profile profile = device.profile();
  profile.exactness.fused_fma32 = profile.exactness.fma_denormals32 = !without_fma();
  profile.exactness.exact_float64 = profile.exactness.fused_fma64 = true;
  return profile;
}

/// figures.txt has what devices.md shows: "driver|family|figure|value" a line. Of the driver
/// that it was recorded with, a figure that has moved is a failure; PTX2SPV_RECORD=1 writes it.
void expect_figure(const NullHardware& device, const std::string& figure, double value) {
  const std::string file = std::string(kSource) + "/tests/null_hardware/figures.txt";
  const std::string prefix = family() + "|" + figure + "|";
  std::ifstream stream(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  char text[16];
  std::snprintf(text, sizeof text, "%.3f", value);
  const auto driver = [&](const std::string& line) { return line.substr(0, line.find('|')); };
  const auto known = std::ranges::find_if(lines, [&](const std::string& line) {
    return line.substr(line.find('|') + 1).starts_with(prefix);
  });
  if (std::getenv("PTX2SPV_RECORD")) {
    const std::string line = device.driver() + "|" + prefix + text;
    if (known == lines.end())
      lines.push_back(line);
    else
      *known = line;
    std::ofstream out(file);
    for (const std::string& each : lines) out << each << "\n";
    return;
  }
  ASSERT_NE(known, lines.end()) << prefix << " is not recorded";
  if (driver(*known) != device.driver()) return;
  EXPECT_NEAR(value, std::stod(known->substr(known->rfind('|') + 1)), 0.02)
      << prefix << ": PTX2SPV_RECORD=1 writes it";
}

class Pipelines : public testing::Test {
 protected:
  void SetUp() override {
    device_ = hardware(problem_);
    if (!device_) GTEST_SKIP() << problem_;
  }
  std::optional<PipelineStatistics> compile(const KernelFile& kernel, FpPolicy fp,
                                            const TextureSpec* texture = nullptr) {
    EntryInfo info;
    const auto spirv = translate_launch(kernel.file, kernel.name, profile_of(*device_), fp, &info,
                                        {}, nullptr, texture);
    EXPECT_FALSE(spirv.empty()) << kernel.file << " " << kernel.name;
    if (spirv.empty()) return std::nullopt;
    const std::uint32_t block[3] = {
        info.threads == ThreadModel::direct ? 64 : std::min(info.workgroup_threads, 64u), 1, 1};
    return device_->compile(spirv, kernel.name, block);
  }
  NullHardware* device_ = nullptr;
  std::string problem_;
};

TEST_F(Pipelines, EveryKernelCompiles) {
  std::size_t count = 0;
  double slowest = 0;
  for (const KernelFile& kernel :
       in_source({"bench", "tests/kernels", "tests/calls", "examples"})) {
    const auto made = compile(kernel, FpPolicy::exact);
    ASSERT_TRUE(made) << kernel.file << " " << kernel.name << " is refused";
    // Of the processor. Four times what the slowest takes: this is about what explodes.
    EXPECT_LT(made->milliseconds, 3000) << kernel.name;
    slowest = std::max(slowest, made->milliseconds);
    EXPECT_GT(made->instructions, 0u) << kernel.name;
    // The stack of a recursion is indexed, and what threads of an emulated warp have in loops.
    // Operands of routines that calls share are not to be.
    constexpr std::string_view kIndexing[] = {"trees", "warps", "denoise", "product_mma"};
    const bool indexes = std::ranges::find(kIndexing, kernel.name) != std::end(kIndexing);
    EXPECT_TRUE(indexes || made->scratch == 0) << kernel.name << " has " << made->scratch;
    ++count;
  }
  EXPECT_GT(count, 30u);
  std::printf("%s: %zu kernels, the slowest in %.0f ms\n", family().c_str(), count, slowest);
}

/// Where an fma is a routine, the bound is wider over all kernels, not over those without.
TEST_F(Pipelines, ExactnessCostsAFifthAtMost) {
  double sum = 0, bounded = 0;
  unsigned count = 0, bounded_count = 0;
  for (const KernelFile& kernel : in_source({"bench"})) {
    // Its sums are NVIDIA's tensor cores' under exact, which no device has an instruction for.
    if (kernel.name == "product_mma") continue;
    const auto exact = compile(kernel, FpPolicy::exact), fast = compile(kernel, FpPolicy::fast);
    ASSERT_TRUE(exact && fast) << kernel.name;
    // A texture that is not known to the translation takes more scalar registers than there are:
    // their spills go to vector registers, not to memory.
    if (kernel.textures)
      std::printf("%s: %s spills %llu scalars\n", family().c_str(), kernel.name.c_str(),
                  static_cast<unsigned long long>(exact->spills));
    else
      EXPECT_EQ(exact->spills, 0u) << kernel.name;
    EXPECT_EQ(exact->scratch, 0u) << kernel.name;
    const double cost = std::log(static_cast<double>(exact->instructions) /
                                 static_cast<double>(fast->instructions));
    sum += cost;
    ++count;
    if (!without_fma() || !kernel.file.ends_with("/kernels.ptx")) bounded += cost, ++bounded_count;
    if (std::getenv("PTX2SPV_COVERAGE"))
      std::printf("%-16s exact %6llu, fast %6llu instructions\n", kernel.name.c_str(),
                  static_cast<unsigned long long>(exact->instructions),
                  static_cast<unsigned long long>(fast->instructions));
  }
  const double ratio = std::exp(sum / count);
  std::printf("%s: exact / fast %.3f over %u kernels\n", family().c_str(), ratio, count);
  EXPECT_LT(ratio, without_fma() ? 1.5 : 1.2);
  ASSERT_GT(bounded_count, 0u);
  EXPECT_LT(std::exp(bounded / bounded_count), 1.2);
  expect_figure(*device_, "exact / fast", ratio);
}

// As the runtime makes them: a launch knows its textures, unless handles come out of memory. Those
// reads take more scalar registers than there are, and are left out. Where Fma is not fused, a
// march through a volume, which computes it in many steps, keeps a few scalars in vector registers.
TEST_F(Pipelines, ReadsOfKnownTexturesSpillNothing) {
  const std::uint32_t filtered = abi::sample_linear | abi::sample_normalized;
  const TextureSpec kinds[] = {
      {.known = true, .sampler = filtered, .format = abi::SurfaceFormat::f32, .one_level = true},
      {.known = true,
       .sampler = filtered,
       .format = abi::SurfaceFormat::f32,
       .channels = 4,
       .one_level = true},
      {.known = true,
       .sampler = filtered,
       .format = abi::SurfaceFormat::f16,
       .channels = 4,
       .one_level = true},
      {.known = true,
       .sampler = filtered | abi::sample_mip_linear,
       .format = abi::SurfaceFormat::u8,
       .channels = 4},
      {.known = true,
       .sampler = abi::sample_linear,
       .format = abi::SurfaceFormat::f32,
       .one_level = true,
       .unit = TextureUnit::sampler}};
  unsigned count = 0;
  for (const KernelFile& kernel : in_source({"bench"}))
    for (const TextureSpec& kind : kinds) {
      if (!kernel.textures || kernel.name == "table") continue;
      const auto made = compile(kernel, FpPolicy::exact, &kind);
      ASSERT_TRUE(made) << kernel.name;
      const auto which = &kind - kinds;
      EXPECT_LE(made->spills, without_fma() && kernel.name == "march" ? 16u : 0u)
          << kernel.name << ", kind " << which;
      EXPECT_EQ(made->scratch, 0u) << kernel.name << ", kind " << which;
      EXPECT_LT(made->milliseconds, 3000) << kernel.name << ", kind " << which;
      ++count;
    }
  EXPECT_GE(count, 45u);
}

// The same kernels by hand in GLSL, in blocks of 16 x 16.
TEST_F(Pipelines, TranslationsAreAboutAsLongAsGlsl) {
  const std::string kernels = std::string(kSource) + "/bench/kernels/";
  const TemporaryFolder folder;
  double sums[2] = {};
  unsigned count = 0;
  for (const char* name : {"blur", "copy4", "copy16", "histogram", "mandelbrot", "stencil2d",
                           "stencil3d", "zbuffer64"}) {
    const ProcessResult glslang =
        run_process({"/usr/bin/glslangValidator", "-V", "--target-env", "vulkan1.2", "-o",
                     folder.file("a.spv"), kernels + name + ".comp"});
    if (glslang.exit_code == -1) GTEST_SKIP() << "there is no glslangValidator";
    ASSERT_EQ(glslang.exit_code, 0) << glslang.out;
    tools::Bytes bytes;
    ASSERT_EQ(tools::read_file(folder.file("a.spv"), bytes), "");
    std::vector<std::uint32_t> words(bytes.size() / 4);
    std::memcpy(words.data(), bytes.data(), words.size() * 4);
    constexpr std::uint32_t kBlock[3] = {16, 16, 1};
    const auto by_hand = device_->compile(words, "main", kBlock);
    ASSERT_TRUE(by_hand) << name;
    const std::string entry = std::string(name) == "zbuffer64" ? "zbuffer" : name;
    std::uint64_t made[2] = {};
    for (const FpPolicy fp : {FpPolicy::exact, FpPolicy::fast}) {
      const auto spirv = translate_launch(kernels + "kernels_unfused.ptx", entry,
                                          profile_of(*device_), fp, nullptr, kBlock);
      ASSERT_FALSE(spirv.empty()) << entry;
      const auto pipeline = device_->compile(spirv, entry, kBlock);
      ASSERT_TRUE(pipeline) << entry;
      made[fp == FpPolicy::fast] = pipeline->instructions;
    }
    // A minimum that must not happen takes no branch.
    if (entry == "zbuffer") {
      EXPECT_LE(static_cast<double>(made[0]), 1.1 * static_cast<double>(by_hand->instructions));
    }
    for (int i = 0; i < 2; ++i)
      sums[i] +=
          std::log(static_cast<double>(made[i]) / static_cast<double>(by_hand->instructions));
    ++count;
    if (std::getenv("PTX2SPV_COVERAGE"))
      std::printf("%-12s GLSL %5llu, exact %5llu, fast %5llu instructions\n", name,
                  static_cast<unsigned long long>(by_hand->instructions),
                  static_cast<unsigned long long>(made[0]),
                  static_cast<unsigned long long>(made[1]));
  }
  const double exact = std::exp(sums[0] / count), fast = std::exp(sums[1] / count);
  std::printf("%s: exact / GLSL %.3f, fast / GLSL %.3f over %u kernels\n", family().c_str(), exact,
              fast, count);
  EXPECT_LT(fast, 1.15);
  EXPECT_LT(exact, 1.2);
  expect_figure(*device_, "exact / GLSL", exact);
  expect_figure(*device_, "fast / GLSL", fast);
}

}  // namespace
}  // namespace ptx2spv::test
