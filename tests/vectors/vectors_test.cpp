// Every form with vector registers or lists, executed in every thread model, against what the
// manual's elementwise meaning gives (the *_forms.cpp work it out from the thread's input).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <span>

#include "ptx2spv/runtime.hpp"
#include "tests/support/share.hpp"
#include "tests/vectors/forms.hpp"
#include "tests/vectors/write_manifest.hpp"

namespace ptx2spv::tests {
namespace {

constexpr Dim3 kGrid{2, 2, 1}, kBlock{16, 4, 4};
constexpr std::uint32_t kThreads = kFormThreads, kWidth = 64;

struct Vectors : testing::Test {
  void SetUp() override {
    const char* name = std::getenv("PTX2SPV_DEVICE");
    DeviceOptions options;
    options.select = name ? name : "swiftshader";
    auto opened = Device::open(options);
    if (!opened) GTEST_SKIP() << "no device " << options.select << ": " << opened.error().text;
    device = std::make_unique<Device>(std::move(*opened));
    std::uint32_t state = 0x2545f491;
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      Thread& thread = threads.emplace_back();
      for (std::uint32_t& word : thread.words) {
        state = state * 1664525 + 1013904223;
        word = state ^ state >> 15;
      }
      const std::uint32_t block = t / 256, in = t % 256;
      const std::uint32_t tid[] = {in % 16, in / 16 % 4, in / 64},
                          ctaid[] = {block % 2, block / 2, 0};
      const std::uint32_t ntid[] = {16, 4, 4}, nctaid[] = {2, 2, 1};
      for (unsigned i = 0; i < 3; ++i) {
        thread.tid[i] = tid[i];
        thread.ctaid[i] = ctaid[i];
        thread.ntid[i] = ntid[i];
        thread.nctaid[i] = nctaid[i];
      }
    }
  }

  /// What the kernel of forms first to last is given, and what it has to leave.
  Case make_case(const std::vector<Form>& forms, std::size_t first, std::size_t last, Sync sync) {
    Case made;
    made.text = kernel_text(forms, first, last, sync);
    made.grid = kGrid;
    made.block = kBlock;
    made.width = kWidth;
    made.height = kThreads / kWidth;
    for (const Thread& thread : threads) {
      const auto words = std::as_bytes(std::span(thread.words));
      made.in.insert(made.in.end(), words.begin(), words.end());
      made.texels.insert(made.texels.end(), words.begin(), words.begin() + 16);
    }
    for (std::size_t k = first; k <= last; ++k)
      for (const Thread& thread : threads) {
        Stored stored;
        if (k < last)
          forms[k].expect(thread, stored);
        else
          for (unsigned i = 0; i < 4; ++i) stored.put(4 * i, thread.words[3 - i], 4);
        const auto bytes = std::as_bytes(std::span(stored.bytes));
        made.expected.insert(made.expected.end(), bytes.begin(), bytes.end());
      }
    return made;
  }

  /// Runs forms first to last in one kernel and holds what each thread stored against its meaning.
  void run(const std::vector<Form>& forms, std::size_t first, std::size_t last, Sync sync,
           std::optional<ThreadModel> model) {
    const Case given = make_case(forms, first, last, sync);
    auto module = Module::load(*device, given.text, "vectors.ptx");
    ASSERT_TRUE(module) << module.error().text;
    auto kernel = module->kernel("k");
    ASSERT_TRUE(kernel) << kernel.error().text;
    auto input = Buffer::create(*device, given.in.size());
    auto output = Buffer::create(*device, given.expected.size());
    ASSERT_TRUE(input && output);
    ASSERT_TRUE(input->upload(0, given.in));
    std::vector<std::byte> stored(given.expected.size(), std::byte{0xcc});
    ASSERT_TRUE(output->upload(0, stored));
    ArrayDesc desc;
    desc.channels = 4;
    desc.width = given.width;
    desc.height = given.height;
    auto array = Array::create(*device, desc), spare = Array::create(*device, desc);
    ASSERT_TRUE(array && spare);
    ASSERT_TRUE(array->upload(given.texels));
    ASSERT_TRUE(spare->fill(0));
    auto surface = Surface::create(*array), second = Surface::create(*spare);
    auto texture = Texture::create(*array, {});
    ASSERT_TRUE(surface && second && texture);
    const std::array<std::uint32_t, 4> four{0x01010101, 0x02020202, 0x03030303, 0x04040404};
    LaunchConfig config;
    config.grid = given.grid;
    config.block = given.block;
    config.threads = model;
    auto done = kernel->launch(config, Args()
                                           .buffer(*input)
                                           .buffer(*output)
                                           .surface(*surface)
                                           .surface(*second)
                                           .texture(*texture)
                                           .value(four));
    ASSERT_TRUE(done) << done.error().text;
    if (model) {
      EXPECT_EQ(done->threads, *model);
    }
    ASSERT_TRUE(output->download(0, stored));
    for (std::size_t k = first; k <= last; ++k) {
      const std::string text = k < last ? forms[k].text : "the vector that is kept to the end";
      if (!same(text, k - first, stored, given.expected)) return;
    }
  }

  bool same(const std::string& text, std::size_t k, const std::vector<std::byte>& stored,
            const std::vector<std::byte>& expected) {
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      const std::size_t at = (k * kThreads + t) * kStored;
      if (std::memcmp(stored.data() + at, expected.data() + at, kStored) == 0) continue;
      std::string words;
      for (unsigned i = 0; i < kStored / 4; ++i) {
        std::uint32_t have = 0, want = 0;
        std::memcpy(&have, stored.data() + at + 4 * i, 4);
        std::memcpy(&want, expected.data() + at + 4 * i, 4);
        char line[64];
        std::snprintf(line, sizeof line, "  word %u: %08x, not %08x\n", i, have, want);
        if (have != want) words += line;
      }
      ADD_FAILURE() << "thread " << t << " stored\n" << words << text;
      return false;
    }
    return true;
  }

  /// In the thread models: direct, flat and regions, all of which a kernel without barriers can
  /// have (flat without shared memory); with barriers, at which regions are cut; with warp
  /// operations, which need regions. `all` runs every form in each, else two take turns, unless
  /// PTX2SPV_EXHAUSTIVE is 1.
  void run_all(const std::vector<Form>& forms, bool all) {
    constexpr std::size_t kAtOnce = 24;
    struct How {
      Sync sync;
      std::optional<ThreadModel> model;
    };
    constexpr How kHows[] = {
        {Sync::none, ThreadModel::direct},      {Sync::none, ThreadModel::flat},
        {Sync::none, ThreadModel::regions},     {Sync::barriers, ThreadModel::direct},
        {Sync::barriers, ThreadModel::regions}, {Sync::warps, ThreadModel::regions}};
    if (const char* folder = std::getenv("PTX2SPV_FOLDER")) {
      const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
      for (std::size_t first = 0; first < forms.size(); first += kAtOnce)
        for (const Sync sync : {Sync::none, Sync::warps}) {
          const std::string name =
              test + "-" + std::to_string(first) + (sync == Sync::none ? "" : "-barriers");
          const std::size_t last = std::min(first + kAtOnce, forms.size());
          ASSERT_TRUE(write_manifest(folder, name, make_case(forms, first, last, sync)));
        }
      GTEST_SKIP() << "PTX2SPV_FOLDER asks for manifests alone";
    }
    all = all || test::exhaustive();
    for (std::size_t h = 0; h < std::size(kHows); ++h)
      for (std::size_t first = 0; first < forms.size(); first += kAtOnce) {
        if (!all && (h + first / kAtOnce) % 3 != 0) continue;
        const std::size_t last = std::min(first + kAtOnce, forms.size());
        if (kHows[h].model == ThreadModel::flat && shares(forms, first, last)) continue;
        SCOPED_TRACE("model " + std::to_string(h) + ", forms from " + std::to_string(first));
        run(forms, first, last, kHows[h].sync, kHows[h].model);
        if (HasFatalFailure() || HasNonfatalFailure()) return;
      }
  }

  std::unique_ptr<Device> device;
  std::vector<Thread> threads;
};

TEST_F(Vectors, MoveElementByElement) { run_all(elementwise_forms(), false); }
TEST_F(Vectors, PackAndUnpack) { run_all(packing_forms(), false); }
TEST_F(Vectors, SpecialRegistersConstantsSinksAndOverlap) { run_all(special_forms(), true); }
TEST_F(Vectors, LoadsStoresSurfacesAndTextures) { run_all(memory_forms(), false); }
TEST_F(Vectors, ElementsAsOperandsAndInLoops) { run_all(operand_forms(), true); }
TEST_F(Vectors, FunctionsTakeAndGiveVectors) { run_all(call_forms(), true); }

}  // namespace
}  // namespace ptx2spv::tests
