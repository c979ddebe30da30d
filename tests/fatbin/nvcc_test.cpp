// Fat binaries as nvcc and clang really write them, where they are installed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "ptx2spv/fatbin.hpp"
#include "ptx2spv/translator.hpp"
#include "tests/fatbin/builder.hpp"
#include "tests/support/process.hpp"

namespace ptx2spv::test {
namespace {

namespace fs = std::filesystem;

// The program of that name on the path, or in CUDA's usual folder; empty where there is none.
std::string program(const std::string& name) {
  std::string path = std::getenv("PATH") ? std::getenv("PATH") : "";
  path += ":/usr/local/cuda/bin";
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const fs::path file = fs::path(path.substr(at, end - at)) / name;
    std::error_code ignored;
    if (fs::is_regular_file(file, ignored)) return file;
    at = end + 1;
  }
  return {};
}

const char* const kSource =
    "#include <cstdio>\n"
    "__device__ int table[64];\n"
    "__global__ void scale(int* out, float by) { out[threadIdx.x] = int(by * table[threadIdx.x]); "
    "}\n"
    "int main() { scale<<<1, 32>>>(nullptr, 1.0f); std::puts(\"done\"); }\n";

class NvccFatbin : public testing::Test {
 protected:
  void SetUp() override {
    nvcc_ = program("nvcc");
    if (nvcc_.empty()) GTEST_SKIP() << "nvcc is not installed";
    source_ = folder_.write("program.cu", kSource);
  }
  // The fat binaries of what nvcc makes with these options.
  std::vector<fatbin::Image> build(std::vector<std::string> options) {
    const std::string out = folder_.file("out");
    options.insert(options.begin(), nvcc_);
    options.insert(options.end(), {"-o", out, source_});
    const ProcessResult result = run_process(options);
    EXPECT_EQ(result.exit_code, 0) << result.error << result.out;
    bytes_ = read_whole(out);
    std::string error;
    auto images = fatbin::read_file(bytes_of(bytes_), error);
    EXPECT_TRUE(images) << error;
    return images.value_or(std::vector<fatbin::Image>());
  }
  static std::string text_of(const fatbin::Entry& entry) {
    std::string error;
    const auto text = fatbin::unpack_ptx(entry, error);
    EXPECT_TRUE(text) << error;
    return text.value_or("");
  }
  static void expect_translates(const std::string& text) {
    std::vector<Message> messages;
    const auto module = PtxModule::parse({{text, "nvcc"}}, messages);
    ASSERT_TRUE(module) << (messages.empty() ? text : messages[0].rendered);
    EXPECT_EQ(module->entry_names(), (std::vector<std::string>{"_Z5scalePif"}));
  }
  TemporaryFolder folder_;
  std::string nvcc_, source_, bytes_;
};

TEST_F(NvccFatbin, EveryCompressionHoldsTheSamePtx) {
  std::string plain;
  for (const auto& [mode, method] :
       {std::pair{"none", fatbin::Compression::none}, std::pair{"speed", fatbin::Compression::lz4},
        std::pair{"size", fatbin::Compression::zstd}}) {
    SCOPED_TRACE(mode);
    if (run_process({nvcc_, std::string("--compress-mode=") + mode, "--version"}).exit_code != 0)
      GTEST_SKIP() << "this nvcc has no --compress-mode";
    const auto images = build({std::string("--compress-mode=") + mode, "-arch=compute_80", "-c"});
    ASSERT_EQ(images.size(), 1u);
    const auto found = fatbin::ptx_for(images[0].entries, 80);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0]->compression, method);
    EXPECT_EQ(fatbin::arch_name(*found[0]), "sm_80");
    const std::string text = text_of(*found[0]);
    if (plain.empty()) plain = text;
    EXPECT_EQ(text, plain);
    expect_translates(text);
  }
}

TEST_F(NvccFatbin, SeveralArchitectures) {
  const auto images = build({"-gencode", "arch=compute_80,code=[sm_80,compute_80]", "-gencode",
                             "arch=compute_90,code=compute_90", "-gencode",
                             "arch=compute_90a,code=compute_90a", "-cudart", "shared"});
  std::string names;
  for (const fatbin::Image& image : images) {
    EXPECT_EQ(image.section, ".nv_fatbin");
    for (const fatbin::Entry& entry : image.entries)
      names += fatbin::kind_name(entry.kind) + " " + fatbin::arch_name(entry) + ", ";
    for (const fatbin::Entry* entry : fatbin::ptx_for(image.entries, 90)) {
      const std::string text = text_of(*entry);
      EXPECT_NE(text.find(".target " + fatbin::arch_name(*entry)), std::string::npos) << text;
      expect_translates(text);
    }
  }
  for (const char* name : {"SASS sm_80, ", "PTX sm_80, ", "PTX sm_90, ", "PTX sm_90a, "})
    EXPECT_NE(names.find(name), std::string::npos) << name << names;
}

TEST_F(NvccFatbin, RelocatableObjectsAndPrograms) {
  const auto object = build({"-rdc=true", "-arch=compute_80", "-lineinfo", "-c"});
  ASSERT_EQ(object.size(), 1u);
  EXPECT_TRUE(object[0].relocatable);
  ASSERT_EQ(object[0].entries.size(), 1u);
  EXPECT_NE(std::string(object[0].entries[0].name).find("program.cu"), std::string::npos);
  EXPECT_NE(std::string(object[0].entries[0].options).find("--compile-only"), std::string::npos);
  expect_translates(text_of(object[0].entries[0]));
  std::size_t relocatable = 0;
  for (const fatbin::Image& image : build({"-rdc=true", "-arch=compute_80", "-cudart", "shared"}))
    relocatable += image.relocatable && !fatbin::ptx_for(image.entries, 80).empty();
  EXPECT_EQ(relocatable, 1u);
}

TEST_F(NvccFatbin, FatbinFilesAndMachineCodeAlone) {
  const auto images = build({"-fatbin", "-arch=compute_80"});
  ASSERT_EQ(images.size(), 1u);
  expect_translates(text_of(*fatbin::ptx_for(images[0].entries, 80).at(0)));
  const auto alone = build({"-c", "-gencode", "arch=compute_80,code=sm_80"});
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_FALSE(alone[0].entries.empty());
  EXPECT_TRUE(fatbin::ptx_for(alone[0].entries, 80).empty());
}

TEST(ClangFatbin, ObjectsAreRead) {
  const std::string clang = program("clang");
  if (clang.empty()) GTEST_SKIP() << "clang is not installed";
  const TemporaryFolder folder;
  const std::string out = folder.file("out.o");
  const std::string source =
      folder.write("k.cu", "__attribute__((global)) void k(int* p) { *p = 3; }\n");
  const ProcessResult result =
      run_process({clang, "-x", "cuda", "--cuda-gpu-arch=sm_75", "--cuda-include-ptx=all",
                   "-nocudainc", "-nocudalib", "-c", source, "-o", out});
  if (result.exit_code != 0) GTEST_SKIP() << "this clang does not compile CUDA: " << result.error;
  const std::string bytes = read_whole(out);
  std::string error;
  const auto images = fatbin::read_file(bytes_of(bytes), error);
  ASSERT_TRUE(images) << error;
  ASSERT_EQ(images->size(), 1u);
  EXPECT_EQ(fatbin::ptx_for(images->at(0).entries, 75).size(), 1u);
}

}  // namespace
}  // namespace ptx2spv::test
