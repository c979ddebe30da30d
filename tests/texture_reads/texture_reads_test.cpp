// Kernels of many texture reads, with copies of the reads' code and with code that reads share, on
// the device: against values that the textures' texels give by hand. Coordinates lie on texels and
// halfway between them, where the filter's weights are exact.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ptx2spv/runtime.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/share.hpp"

namespace ptx2spv::tests {
namespace {

using Words = std::vector<std::uint32_t>;

constexpr std::uint32_t kThreads = 128, kBlock = 64, kSize = 8, kLayers = 4;

std::uint32_t volume(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  return x * 3 + y * 17 + z * 101 + (x * y + z) % 5;
}
std::uint32_t plane(std::uint32_t x, std::uint32_t y, std::uint32_t channel) {
  return x * 7 + y * 31 + channel * 211 + (x + y * channel) % 3;
}
std::uint32_t layer(std::uint32_t x, std::uint32_t y, std::uint32_t number) {
  return x + y * 13 + number * 300 + (x * x + y) % 7;
}

/// Eight times the value halfway between texels `from` and the next ones, or at them.
template <class Texel>
std::uint32_t eightfold(Texel&& texel, bool half, unsigned axes) {
  std::uint32_t sum = 0;
  for (unsigned corner = 0; corner < 8; ++corner) {
    const auto next = [&](unsigned axis) {
      return half && axis < axes && (corner >> axis & 1) ? 1u : 0u;
    };
    sum += texel(next(0), next(1), next(2));
  }
  return sum;
}

struct Thread {
  std::uint32_t number = 0, sum = 0;
};
using Step = std::function<void(Thread&)>;

enum class Read { volume, filtered, fetched, gathered, layer, level };
constexpr Read kReads[] = {Read::volume,   Read::filtered, Read::fetched,
                           Read::gathered, Read::layer,    Read::level};

/// PTX and, beside it, what it does.
class Kernel {
 public:
  /// `exchanges`: with barriers, at which threads take each other's sums.
  Kernel(unsigned seed, bool exchanges) : rng_(seed), exchanges_(exchanges) {
    helper_ = reads(3, false);
    for (unsigned part = 0; part < 2; ++part) {
      std::vector<Step> steps = reads(5, true);
      text_ += "and.b32 %t, %id, 1;\nsetp.ne.u32 %p, %t, 0;\n";
      text_ += fmt::format("@%p bra odd{0};\n", part);
      const auto even = reads(2, true);
      text_ += fmt::format("bra join{0};\nodd{0}:\n", part);
      const auto odd = reads(2, true);
      text_ += fmt::format("join{0}:\n", part);
      steps.push_back([=](Thread& t) {
        for (const Step& step : t.number & 1 ? odd : even) step(t);
      });
      // Threads take different numbers of iterations.
      text_ += fmt::format("mov.u32 %count, 0;\nloop{0}:\n", part);
      const auto body = reads(2, true);
      text_ += "add.u32 %count, %count, 1;\nand.b32 %t, %id, 3;\nsetp.le.u32 %p, %count, %t;\n";
      text_ += fmt::format("@%p bra loop{0};\n", part);
      steps.push_back([=](Thread& t) {
        for (unsigned count = 0; count <= (t.number & 3); ++count)
          for (const Step& step : body) step(t);
      });
      for (unsigned call = 0; call < 2; ++call) {
        text_ += "call (%acc), helper, (%known3, %some2, %acc, %id);\n";
        steps.push_back([this](Thread& t) {
          for (const Step& step : helper_) step(t);
        });
      }
      parts_.push_back(std::move(steps));
      if (!exchanges_) continue;
      text_ +=
          "st.shared.u32 [%own], %acc;\nbar.sync 0;\nld.shared.u32 %t, [%next];\n"
          "xor.b32 %acc, %acc, %t;\nbar.sync 0;\n";
    }
  }

  std::string text() const {
    const std::string registers =
        ".reg .pred %p;\n.reg .f32 %fx, %fy, %fz, %v<4>;\n"
        ".reg .b32 %acc, %id, %x, %y, %z, %t, %s, %own, %next, %count;\n";
    return ".version 8.0\n.target sm_80\n.address_size 64\n"
           ".func (.reg .b32 %result) helper(.reg .b64 %known3, .reg .b64 %some2, .reg .b32 %from, "
           ".reg .b32 %number)\n{\n" +
           registers + "mov.b32 %acc, %from;\nmov.b32 %id, %number;\n" + helper_text_ +
           "mov.b32 %result, %acc;\nret;\n}\n"
           ".visible .entry k(.param .u64 volume, .param .u64 plane, .param .u64 layers,\n"
           ".param .u64 handles, .param .u64 out)\n{\n" +
           registers +
           ".reg .b64 %known3, %known2, %knowna, %some3, %some2, %somea, %at, %wide;\n"
           ".shared .b32 sums[64];\n"
           "ld.param.u64 %known3, [volume];\nld.param.u64 %known2, [plane];\n"
           "ld.param.u64 %knowna, [layers];\nld.param.u64 %at, [handles];\n"
           "ld.global.u64 %some3, [%at];\nld.global.u64 %some2, [%at+8];\n"
           "ld.global.u64 %somea, [%at+16];\nld.param.u64 %at, [out];\n"
           "mov.u32 %x, %tid.x;\nmov.u32 %y, %ctaid.x;\nmad.lo.u32 %id, %y, 64, %x;\n"
           "mul.wide.u32 %wide, %id, 4;\nadd.u64 %at, %at, %wide;\n"
           "mov.u32 %t, sums;\nmad.lo.u32 %own, %x, 4, %t;\nadd.u32 %x, %x, 1;\n"
           "and.b32 %x, %x, 63;\nmad.lo.u32 %next, %x, 4, %t;\nmov.u32 %acc, 1;\n" +
           text_ + "st.global.u32 [%at], %acc;\nret;\n}\n";
  }

  Words wanted() const {
    std::vector<Thread> threads(kThreads);
    for (std::uint32_t i = 0; i < kThreads; ++i) threads[i] = {i, 1};
    for (const auto& part : parts_) {
      for (Thread& t : threads)
        for (const Step& step : part) step(t);
      if (!exchanges_) continue;
      Words sums;
      for (const Thread& t : threads) sums.push_back(t.sum);
      for (Thread& t : threads) t.sum ^= sums[t.number / kBlock * kBlock + (t.number + 1) % kBlock];
    }
    Words all;
    for (const Thread& t : threads) all.push_back(t.sum);
    return all;
  }

 private:
  std::vector<Step> reads(unsigned count, bool outside) {
    std::vector<Step> steps;
    for (unsigned i = 0; i < count; ++i) {
      const Read kind = kReads[rng_() % (outside ? 6 : 3)];
      steps.push_back(read(kind, rng_() % 3 == 0, outside));
    }
    return steps;
  }

  Step read(Read kind, bool known, bool outside) {
    const auto dx = static_cast<std::uint32_t>(rng_() % 8), dy = dx * 5 % 7, dz = dx * 3 % 8;
    const bool half = rng_() % 2 && kind != Read::fetched;
    std::string& text = outside ? text_ : helper_text_;
    text += "add.u32 %s, %id, %acc;\n";
    text += fmt::format("add.u32 %x, %s, {};\nand.b32 %x, %x, 7;\n", dx);
    text += fmt::format("shr.u32 %y, %s, 3;\nadd.u32 %y, %y, {};\nand.b32 %y, %y, 7;\n", dy);
    text += fmt::format("shr.u32 %z, %s, 6;\nadd.u32 %z, %z, {};\nand.b32 %z, %z, 7;\n", dz);
    for (const char* axis : {"x", "y", "z"})
      text += fmt::format("cvt.rn.f32.u32 %f{0}, %{0};\nadd.f32 %f{0}, %f{0}, {1};\n", axis,
                          half || kind == Read::gathered ? "0f3F800000" : "0f3F000000");
    const bool has_volume = kind == Read::volume;
    // The helper gets a volume that the host knows and a plane that it does not.
    const std::string of = !outside ? (has_volume ? "known" : "some") : known ? "known" : "some";
    const auto emit = [&](std::string_view instruction, char which, std::string_view operands) {
      text += fmt::format("{} {{%v0, %v1, %v2, %v3}}, [%{}{}, {}];\n", instruction, of, which,
                          operands);
    };
    const auto taken = [&](unsigned channel) {
      text +=
          fmt::format("mul.f32 %v{0}, %v{0}, 0f41000000;\ncvt.rzi.u32.f32 %t, %v{0};\n", channel);
      text += "mad.lo.u32 %acc, %acc, 31, %t;\n";
    };
    const auto at = [=](const Thread& t) {
      const std::uint32_t s = t.number + t.sum;
      return std::array{(s + dx) & 7, ((s >> 3) + dy) & 7, ((s >> 6) + dz) & 7};
    };
    const auto next = [](std::uint32_t from, std::uint32_t more) {
      return std::min(from + more, kSize - 1);
    };
    const auto planes = [=](const Thread& t, unsigned channel, bool between) {
      const auto c = at(t);
      return eightfold(
          [&](auto i, auto j, auto) { return plane(next(c[0], i), next(c[1], j), channel); },
          between, 2);
    };
    switch (kind) {
      case Read::volume:
        emit("tex.3d.v4.f32.f32", '3', "{%fx, %fy, %fz, %fz}");
        taken(0);
        return [=](Thread& t) {
          const auto c = at(t);
          const auto texel = [&](auto i, auto j, auto k) {
            return volume(next(c[0], i), next(c[1], j), next(c[2], k));
          };
          t.sum = t.sum * 31 + eightfold(texel, half, 3);
        };
      case Read::filtered:
        emit("tex.2d.v4.f32.f32", '2', "{%fx, %fy}");
        taken(1);
        return [=](Thread& t) { t.sum = t.sum * 31 + planes(t, 1, half); };
      case Read::fetched:
        emit("tex.2d.v4.f32.s32", '2', "{%x, %y}");
        taken(2);
        return [=](Thread& t) { t.sum = t.sum * 31 + planes(t, 2, false); };
      case Read::gathered:
        emit("tld4.b.2d.v4.f32.f32", '2', "{%fx, %fy}");
        for (const unsigned k : {0u, 1u, 2u, 3u}) taken(k);
        return [=](Thread& t) {
          const auto c = at(t);
          // Counterclockwise from the lower left.
          constexpr std::uint32_t kOrder[][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
          for (const auto& [i, j] : kOrder)
            t.sum = t.sum * 31 + 8 * plane(next(c[0], i), next(c[1], j), 2);
        };
      case Read::layer:
        text += "and.b32 %z, %z, 3;\n";
        emit("tex.a2d.v4.f32.f32", 'a', "{%z, %fx, %fy, %fy}");
        taken(0);
        return [=](Thread& t) {
          const auto c = at(t);
          const auto texel = [&](auto i, auto j, auto) {
            return layer(next(c[0], i), next(c[1], j), c[2] & 3);
          };
          t.sum = t.sum * 31 + eightfold(texel, half, 2);
        };
      case Read::level:
        text += fmt::format(
            "tex.level.2d.v4.f32.f32 {{%v0, %v1, %v2, %v3}}, [%{}2, {{%fx, %fy}}], "
            "0f3F800000;\n",
            of);
        taken(3);
        return [=](Thread& t) { t.sum = t.sum * 31 + planes(t, 3, half); };
    }
    return {};
  }

  std::mt19937 rng_;
  bool exchanges_;
  std::string text_, helper_text_;
  std::vector<Step> helper_;
  std::vector<std::vector<Step>> parts_;
};

const Device& device() {
  static const Device opened = [] {
    DeviceOptions options;
    options.cache = false;
    auto made = Device::open(options);
    if (!made) throw std::runtime_error(made.error().to_string());
    return *made;
  }();
  return opened;
}

template <class Value>
Result<Texture> texture(Geometry geometry, ArrayBacking backing, std::uint32_t channels,
                        std::uint32_t depth, Value&& value) {
  ArrayDesc desc;
  desc.geometry = geometry;
  desc.format = abi::SurfaceFormat::f32;
  desc.channels = channels;
  desc.width = desc.height = kSize;
  (geometry == Geometry::d3 ? desc.depth : desc.layers) = depth;
  desc.backing = backing;
  std::vector<float> texels;
  for (std::uint32_t z = 0; z < depth; ++z)
    for (std::uint32_t y = 0; y < kSize; ++y)
      for (std::uint32_t x = 0; x < kSize; ++x)
        for (std::uint32_t c = 0; c < channels; ++c)
          texels.push_back(static_cast<float>(value(x, y, channels > 1 ? c : z)));
  auto array = Array::create(device(), desc);
  if (!array) return array.error();
  if (const auto done = array->upload(std::as_bytes(std::span(texels))); !done) return done.error();
  TextureDesc how;
  how.linear_filter = true;
  return Texture::create(*array, how);
}

struct Setup {
  ArrayBacking backing;
  ThreadModel threads;
  const char* budget;   ///< the setting routine-budget; null: not set
  unsigned number = 0;  ///< of this setup
};

Result<Words> run(const Kernel& kernel, const Setup& setup) {
  const test::DebugSettings budget("routine-budget=" +
                                   std::string(setup.budget ? setup.budget : ""));
  const auto module = Module::load(device(), kernel.text(), "reads.ptx");
  if (!module) return module.error();
  const auto entry = module->kernel("k");
  if (!entry) return entry.error();
  const auto deep = texture(Geometry::d3, setup.backing, 1, kSize, volume);
  const auto flat = texture(Geometry::d2, setup.backing, 4, 1, plane);
  const auto layers = texture(Geometry::a2d, setup.backing, 1, kLayers, layer);
  for (const auto* each : {&deep, &flat, &layers})
    if (!*each) return each->error();
  const std::uint64_t handles[] = {deep->handle(), flat->handle(), layers->handle()};
  auto from = Buffer::create(device(), sizeof(handles)),
       to = Buffer::create(device(), kThreads * 4);
  if (!from) return from.error();
  if (!to) return to.error();
  if (const auto done = from->upload(0, std::as_bytes(std::span(handles))); !done)
    return done.error();
  LaunchConfig config;
  config.grid = {kThreads / kBlock, 1, 1};
  config.block = {kBlock, 1, 1};
  config.threads = setup.threads;
  Args args;
  args.texture(*deep).texture(*flat).texture(*layers).buffer(*from).buffer(*to);
  if (const auto done = entry->launch(config, args); !done) return done.error();
  Words got(kThreads);
  if (const auto done = to->download(0, std::as_writable_bytes(std::span(got))); !done)
    return done.error();
  return got;
}

class TextureReads : public testing::TestWithParam<Setup> {};

TEST_P(TextureReads, GiveTheirTexelsWhateverCodeTheyShare) {
  for (const bool exchanges : {false, true}) {
    // Devices take turns at the two; the other is only for those with time.
    if (!test::exhaustive() &&
        exchanges != ((GetParam().number + test::share_of_device(2)) % 2 != 0))
      continue;
    const unsigned seed = exchanges ? 1 : 2;
    const Kernel kernel(seed, exchanges);
    const auto got = run(kernel, GetParam());
    ASSERT_TRUE(got) << got.error().to_string() << kernel.text();
    EXPECT_EQ(*got, kernel.wanted()) << "seed " << seed;
  }
}

std::vector<Setup> setups() {
  std::vector<Setup> all;
  for (const auto backing : {ArrayBacking::linear, ArrayBacking::image})
    for (const auto threads : {ThreadModel::direct, ThreadModel::flat, ThreadModel::regions})
      for (const char* budget : {"0", "9000"}) all.push_back({backing, threads, budget});
  all.push_back({ArrayBacking::linear, ThreadModel::direct, nullptr});
  all.push_back({ArrayBacking::image, ThreadModel::regions, nullptr});
  // Of two budgets for one backing and model, one gets each kernel.
  for (unsigned i = 0; i < all.size(); ++i) all[i].number = i;
  return all;
}

std::string name(const testing::TestParamInfo<Setup>& each) {
  constexpr const char* kModels[] = {"direct", "flat", "regions"};
  const Setup& setup = each.param;
  return fmt::format("{}_{}_{}", setup.backing == ArrayBacking::linear ? "linear" : "image",
                     kModels[static_cast<int>(setup.threads)],
                     setup.budget ? setup.budget : "default");
}

INSTANTIATE_TEST_SUITE_P(Setups, TextureReads, testing::ValuesIn(setups()), name);

}  // namespace
}  // namespace ptx2spv::tests
