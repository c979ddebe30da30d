// Every form with vector registers or lists, executed in every thread model, against what the
// manual's elementwise meaning gives (the *_forms.cpp work it out from the thread's input).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <span>

#include "ptx2spv/runtime.hpp"
#include "tests/vectors/forms.hpp"

namespace ptx2spv::tests {
namespace {

constexpr Dim3 kGrid{2, 2, 1}, kBlock{16, 4, 4};
constexpr std::uint32_t kThreads = 4 * 256, kRecord = 64, kStored = 32, kWidth = 64;

/// How much of a block a kernel holds up together: what decides which thread models it can have.
enum class Sync : std::uint8_t { none, barriers, warps };

bool shares(const std::vector<Form>& forms, std::size_t first, std::size_t last) {
  return std::any_of(forms.begin() + first, forms.begin() + last, [](const Form& form) {
    return form.text.find("%mine") != std::string::npos;
  });
}

std::string kernel_text(const std::vector<Form>& forms, std::size_t first, std::size_t last,
                        Sync sync) {
  std::string text = R"(.version 8.3
.target sm_90
.address_size 64
.global .align 8 .b32 cells[2] = {123, 456};
)";
  text += kFunctions;
  text += R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u64 psurf, .param .u64 pspare,
                  .param .u64 ptex, .param .align 16 .b8 four[16])
{
.reg .b64 %in, %out, %o, %d, %mine, %surf, %spare, %tex; .reg .b32 %t, %i, %x, %y;
.reg .b16 %h; .reg .pred %odd, %p, %q;
.reg .b16 %s_b16_<8>; .reg .b32 %s_b32_<8>; .reg .b64 %s_b64_<4>;
ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout]; ld.param.u64 %surf, [psurf];
ld.param.u64 %spare, [pspare]; ld.param.u64 %tex, [ptex];
mad.lo.u32 %t, %tid.z, 4, %tid.y; mad.lo.u32 %t, %t, 16, %tid.x;
mad.lo.u32 %i, %ctaid.y, 2, %ctaid.x; mad.lo.u32 %t, %i, 256, %t;
mul.wide.u32 %d, %t, 64; add.u64 %in, %in, %d; mul.wide.u32 %d, %t, 32; add.u64 %out, %out, %d;
and.b32 %x, %t, 63; shr.u32 %y, %t, 6;
ld.global.u32 %i, [%in+48]; and.b32 %i, %i, 1; setp.ne.u32 %odd, %i, 0;
)";
  // %tid is no operand of mad: PTX reads special registers by mov alone.
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (std::size_t at; (at = text.find(from)) != std::string::npos;)
      text.replace(at, from.size(), to);
  };
  replace("mad.lo.u32 %t, %tid.z, 4, %tid.y; mad.lo.u32 %t, %t, 16, %tid.x;",
          "mov.u32 %t, %tid.z; mov.u32 %i, %tid.y; mad.lo.u32 %t, %t, 4, %i; mov.u32 %i, %tid.x; "
          "mad.lo.u32 %t, %t, 16, %i;");
  replace("mad.lo.u32 %i, %ctaid.y, 2, %ctaid.x;",
          "mov.u32 %i, %ctaid.y; mov.u32 %x, %ctaid.x; mad.lo.u32 %i, %i, 2, %x;");
  if (shares(forms, first, last))
    replace("mov.u32 %i, %ctaid.y;",
            ".shared .align 16 .b8 places[4096]; mov.u64 %mine, places; mul.wide.u32 %d, %t, 16; "
            "add.u64 %mine, %mine, %d; mov.u32 %i,  %ctaid.y;");
  for (unsigned bytes = 2; bytes <= 8; bytes *= 2)
    for (unsigned i = 0; i < std::min(8u, 32 / bytes); ++i) {
      const std::string size = "b" + std::to_string(8 * bytes);
      text += "ld.global." + size + " %s_" + size + "_" + std::to_string(i) + ", [%in+" +
              std::to_string(i * bytes) + "];\n";
    }
  // Vectors that stay alive across every barrier of the kernel.
  text += ".reg .v4 .b32 %kept; mov.v4.b32 %kept, {%s_b32_3, %s_b32_2, %s_b32_1, %s_b32_0};\n";
  for (std::size_t k = first; k < last; ++k) {
    if (sync != Sync::none) text += "bar.sync 0;\n";
    if (sync == Sync::warps && k % 4 == 0)
      text += "vote.sync.any.pred %p, %odd, 0xffffffff;\n";
    text += "{ add.u64 %o, %out, " + std::to_string((k - first) * kThreads * kStored) + ";\n" +
            forms[k].text + "\n}\n";
  }
  return text + "add.u64 %o, %out, " + std::to_string((last - first) * kThreads * kStored) +
         ";\nst.global.v4.b32 [%o], %kept;\nret;\n}\n";
}

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
      const std::uint32_t tid[] = {in % 16, in / 16 % 4, in / 64}, ctaid[] = {block % 2, block / 2, 0};
      const std::uint32_t ntid[] = {16, 4, 4}, nctaid[] = {2, 2, 1};
      for (unsigned i = 0; i < 3; ++i) {
        thread.tid[i] = tid[i];
        thread.ctaid[i] = ctaid[i];
        thread.ntid[i] = ntid[i];
        thread.nctaid[i] = nctaid[i];
      }
    }
  }

  /// Runs forms first to last in one kernel and holds what each thread stored against its meaning.
  void run(const std::vector<Form>& forms, std::size_t first, std::size_t last, Sync sync,
           std::optional<ThreadModel> model) {
    const std::string text = kernel_text(forms, first, last, sync);
    auto module = Module::load(*device, text, "vectors.ptx");
    ASSERT_TRUE(module) << module.error().text;
    auto kernel = module->kernel("k");
    ASSERT_TRUE(kernel) << kernel.error().text;
    const std::size_t count = last - first;
    std::vector<std::byte> in(kThreads * kRecord), texels(kThreads * 16);
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      std::memcpy(in.data() + t * kRecord, threads[t].words.data(), kRecord);
      std::memcpy(texels.data() + t * 16, threads[t].words.data(), 16);
    }
    auto input = Buffer::create(*device, in.size());
    auto output = Buffer::create(*device, (count + 1) * kThreads * kStored);
    ASSERT_TRUE(input && output);
    ASSERT_TRUE(input->upload(0, in));
    std::vector<std::byte> stored((count + 1) * kThreads * kStored, std::byte{0xcc});
    ASSERT_TRUE(output->upload(0, stored));
    ArrayDesc desc;
    desc.channels = 4;
    desc.width = kWidth;
    desc.height = kThreads / kWidth;
    auto array = Array::create(*device, desc), spare = Array::create(*device, desc);
    ASSERT_TRUE(array && spare);
    ASSERT_TRUE(array->upload(texels));
    ASSERT_TRUE(spare->fill(0));
    auto surface = Surface::create(*array), second = Surface::create(*spare);
    auto texture = Texture::create(*array, {});
    ASSERT_TRUE(surface && second && texture);
    const std::array<std::uint32_t, 4> four{0x01010101, 0x02020202, 0x03030303, 0x04040404};
    LaunchConfig config;
    config.grid = kGrid;
    config.block = kBlock;
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
      EXPECT_EQ(done->threads, sync == Sync::warps ? ThreadModel::regions : *model);
    }
    ASSERT_TRUE(output->download(0, stored));
    for (std::size_t k = 0; k <= count; ++k)
      if (!same(forms, first, k, count, stored)) return;
  }

  bool same(const std::vector<Form>& forms, std::size_t first, std::size_t k, std::size_t count,
            const std::vector<std::byte>& stored) {
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      Stored wanted;
      if (k < count)
        forms[first + k].expect(threads[t], wanted);
      else
        for (unsigned i = 0; i < 4; ++i) wanted.put(4 * i, threads[t].words[3 - i], 4);
      const std::byte* at = stored.data() + (k * kThreads + t) * kStored;
      if (std::memcmp(at, wanted.bytes.data(), kStored) == 0) continue;
      std::string words;
      for (unsigned i = 0; i < kStored / 4; ++i) {
        std::uint32_t have = 0, want = 0;
        std::memcpy(&have, at + 4 * i, 4);
        std::memcpy(&want, wanted.bytes.data() + 4 * i, 4);
        char line[64];
        std::snprintf(line, sizeof line, "  word %u: %08x, not %08x\n", i, have, want);
        if (have != want) words += line;
      }
      ADD_FAILURE() << "thread " << t << " stored\n"
                    << words << (k < count ? forms[first + k].text : "the kept vector");
      return false;
    }
    return true;
  }

  /// In the thread models: direct, flat and regions, which a kernel without barriers can have all of
  /// (flat without shared memory); with barriers, where threads run side by side in an invocation;
  /// with warp operations, which cut it into regions. `all` runs every form in each, else two take
  /// turns, unless PTX2SPV_EXHAUSTIVE is 1.
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
    const char* exhaustive = std::getenv("PTX2SPV_EXHAUSTIVE");
    all = all || (exhaustive && *exhaustive == '1');
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
