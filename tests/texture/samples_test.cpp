// The samples of anisotropic reads, as shaders/texture_gradient.glsl has them: where they lie and
// what they weigh, which texels share their weights, and the levels, against the record of an H200.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>

#include "tests/shaders/glsl.hpp"
#include "tests/texture/record.hpp"

namespace ptx2spv::tests {
namespace {

using glsl::uint;
using glsl::uvec4;

constexpr unsigned kStepExtent = 64, kStepLevels = 7, kFootExtent = 32;

/// The code of a maximum in a sampler, with the bits of tex_footprint: a full mix, two levels.
uint mode_of(unsigned most, bool full) {
  static constexpr std::array<unsigned, 8> kMost = {1, 2, 4, 6, 8, 10, 12, 16};
  const auto code = static_cast<uint>(std::find(kMost.begin(), kMost.end(), most) - kMost.begin());
  return code | (full ? 8u : 0u) | 16u;
}

/// What a read does before it meets texels.
struct Footprint {
  uvec4 levels, direction, samples[2];

  Footprint(const uint* gradients, unsigned extent, const uvec4& bounds, uint mode) {
    const auto texels = [&](unsigned k) { return glsl::tex_gradient(gradients[k], extent); };
    const uvec4 dx(texels(0), texels(1), 0, 0), dy(texels(2), texels(3), 0, 0);
    levels = glsl::tex_footprint(dx, dy, bounds, mode);
    direction = glsl::tex_direction(dx, dy);
    samples[0] = glsl::tex_samples(levels.z);
    samples[1] = glsl::tex_samples(levels.w);
  }

  /// Calls `each` with every sample: its level, its place on both axes in 128ths of a texel of that
  /// level, its weight and how many of the weight's units are in 1024.
  template <typename F>
  void each_sample(F each) const {
    for (uint second = 0; second < 2; ++second) {
      const uint total = second ? levels.y : 256 - levels.y;
      const uvec4& s = samples[second];
      const uint distance = second ? 64 : glsl::tex_distance(levels.y);
      for (uint j = 0; total && j < s.x; ++j)
        each(levels.x + second, glsl::tex_sample_place(s, distance, direction.x, j),
             glsl::tex_sample_place(s, distance, direction.y, j),
             glsl::tex_sample_weight(s, total, j), 1024 / s.z);
    }
  }
};

std::vector<uint> words(const std::string& text) {
  std::vector<uint> list;
  for (const auto& word : split(text, ','))
    list.push_back(static_cast<uint>(std::stoul(word, nullptr, 16)));
  return list;
}

using Weights = std::map<int, int>;

Weights weights_of(const std::string& text) {
  Weights list;
  for (const auto& pair : split(text, ' ')) {
    if (pair.empty()) continue;
    const auto parts = split(pair, ':');
    list[std::stoi(parts[0])] = std::stoi(parts[1]);
  }
  return list;
}

/// Where a point crosses the step in the middle by a sample, and the weight beyond it then.
void check_places(std::istream& line, const std::string& given) {
  unsigned most = 0, full = 0;
  std::string operands;
  line >> most >> full >> operands;
  const Footprint f(words(operands).data(), kStepExtent, {0, 0, (kStepLevels - 1) << 8, 0},
                    mode_of(most, full != 0));
  std::array<Weights, 4> single;
  f.each_sample([&](uint level, uint x, uint y, uint weight, uint units) {
    // A 128th of a level's texel in 32768ths of one of level 0; the last level has no step.
    const int scale = 256 << level;
    if (level + 1 == kStepLevels || !weight) return;
    const auto share = static_cast<int>(weight * units);
    single[(level & 1) * 2][-static_cast<int>(x) * scale] += share;
    single[(level & 1) * 2 + 1][-static_cast<int>(y) * scale] += share;
  });
  const auto parts = split(given, '|');
  EXPECT_EQ(std::to_string(f.levels.x * 256 + f.levels.y), parts[0]) << operands;
  for (unsigned k = 0; k < 4; ++k) {
    int sum = 0;
    for (auto& [at, weight] : single[k]) weight = sum += weight;
    EXPECT_EQ(single[k], weights_of(parts[k + 1])) << operands << " sweep " << k;
  }
}

/// A texel and its weight in the second one, both coordinates clamped.
int along(uint coordinate, uint place, uint extent, bool linear) {
  const uint moved = glsl::tex_moved(coordinate, place, extent, extent, false);
  const auto at = static_cast<int>(glsl::tex_at_bounded(moved, extent, extent, linear, false));
  return glsl::clamp(at, 0, static_cast<int>(extent - 1) * 256);
}

void check_footprint(std::istream& line, const std::string& given) {
  std::string filter, operands;
  unsigned full = 0;
  line >> filter >> full >> operands;
  const auto at = words(operands);
  const bool linear = filter == "linear";
  const Footprint f(&at[2], kFootExtent, {0, 0, 5 << 8, 0}, mode_of(16, full != 0));
  Weights sum;
  f.each_sample([&](uint level, uint x, uint y, uint weight, uint units) {
    int first = 0;
    for (uint l = 0; l < level; ++l)
      first += static_cast<int>((kFootExtent >> l) * (kFootExtent >> l));
    const auto extent = static_cast<int>(kFootExtent >> level);
    const int u = along(at[0], x, static_cast<uint>(extent), linear),
              v = along(at[1], y, static_cast<uint>(extent), linear);
    const uvec4 split = glsl::tex_weights(linear ? static_cast<uint>(u & 255) : 0,
                                          linear ? static_cast<uint>(v & 255) : 0, weight);
    const uint each[4] = {split.x, split.y, split.z, split.w};
    for (int i = 0; i < 4; ++i) {
      const int column = std::min((u >> 8) + i % 2, extent - 1),
                row = std::min((v >> 8) + i / 2, extent - 1);
      if (each[i]) sum[first + row * extent + column] += static_cast<int>(each[i] * units);
    }
  });
  EXPECT_EQ(sum, weights_of(given)) << operands;
}

void check_levels(std::istream& line, const std::string& given) {
  int most = 0, bias = 0, low = 0, high = 0;
  std::string operands;
  line >> most >> bias >> low >> high >> operands;
  const auto at = words(operands);
  const uint mode = mode_of(static_cast<unsigned>(most), false);
  const auto least = static_cast<uint>(low),
             last = static_cast<uint>(std::min(high, static_cast<int>(kStepLevels - 1) * 256));
  const uint lod = glsl::tex_stretched(glsl::tex_lod(at[0]), static_cast<uint>(bias), mode);
  const Footprint f(&at[1], kStepExtent, {static_cast<uint>(bias), least, last, 0}, mode);
  EXPECT_EQ(std::to_string(glsl::tex_levels(lod, 0, least, last).x) + " " +
                std::to_string(f.levels.x * 256 + f.levels.y),
            given)
      << most << " " << bias << " " << operands;
}

TEST(TextureSamples, EqualTheRecord) {
  const std::string path = PTX2SPV_SOURCE_DIR "/tests/data/hardware/texture_samples.txt.gz";
  gzFile file = gzopen(path.c_str(), "rb");
  ASSERT_TRUE(file) << path;
  std::map<char, unsigned> lines;
  std::string buffer(1 << 16, '\0');
  while (gzgets(file, buffer.data(), static_cast<int>(buffer.size()))) {
    std::string text = buffer.c_str();
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (text.empty() || text[0] == '#') continue;
    const auto sides = split(text, '=');
    std::istringstream line(sides[0].substr(1));
    ++lines[text[0]];
    if (text[0] == 'P') check_places(line, sides[1]);
    if (text[0] == 'F') check_footprint(line, sides[1]);
    if (text[0] == 'L') check_levels(line, sides[1]);
  }
  gzclose(file);
  EXPECT_GE(lines['P'], 1200u);
  EXPECT_GE(lines['F'], 1400u);
  EXPECT_GE(lines['L'], 1450u);
}

}  // namespace
}  // namespace ptx2spv::tests
