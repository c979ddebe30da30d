// Outputs compared with expectations: places, tolerances and pictures of the difference.
#include <bit>

#include "tests/ptxrun/fixture.hpp"

namespace ptx2spv::test {
namespace {

/// A manifest whose buffer holds `have` in words, untouched by its launch.
std::string with_words(const std::string& have, const std::string& output) {
  return R"({"module": "fill.ptx",
 "surfaces": {"s": {"geometry": "1d", "format": "u32", "channels": 1, "width": 8},
              "p": {"geometry": "2d", "format": "f32", "channels": 2, "width": 3, "height": 2,
                    "init": {"bytes": ")" +
         have + R"("}}},
 "buffers": {"b": {"bytes": 32}, "n": {"bytes": 48, "init": {"bytes": ")" +
         have + R"("}}},
 "launches": [)" +
         kLaunch + R"(],
 "outputs": [)" +
         output + "]}";
}

std::string floats(std::initializer_list<float> values) {
  std::string out;
  for (const float value : values) out += words({std::bit_cast<std::uint32_t>(value)});
  return out;
}

std::string hex(const std::string& bytes) {
  std::string out;
  for (const char c : bytes) {
    out += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    out += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

const std::string kHave = floats({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
const std::string kWant = floats({0, 1, 2, 3.25f, 4, 5, 6, 7, 8, 9, 10.5f, 11});

class Compare : public Ptxrun {
 protected:
  /// Whether the output passes, and that the message says `text`.
  void expect(int exit, const std::string& output, const std::string& text) {
    const ProcessResult result = run(with_words(hex(kHave), output), {"-v"});
    EXPECT_EQ(result.exit_code, exit) << output << "\n" << result.error;
    const std::string all = result.out + result.error;
    EXPECT_NE(all.find(text), std::string::npos) << text << "\n" << all;
  }
  void SetUp() override {
    Ptxrun::SetUp();
    folder_.write("want.bin", kWant);
  }
};

TEST_F(Compare, PlacesAreTexelsAndChannels) {
  expect(1, R"({"surface": "p", "expect": "want.bin"})",
         "2 of 12 components differ, the first at texel (1, 0), channel 1: 3 instead of 3.25; the "
         "largest difference is 0.5 at texel (2, 1), channel 0");
  expect(1, R"({"buffer": "n", "dtype": "f32", "expect": "want.bin"})",
         "2 of 12 elements differ, the first at element 3: 3 instead of 3.25; the largest "
         "difference is 0.5 at element 10");
}

TEST_F(Compare, TheManifestsLineStandsInFront) {
  const ProcessResult result = run(with_words(hex(kHave),
                                              "\n"
                                              R"({"surface": "p", "expect": "want.bin"})"));
  EXPECT_NE(result.error.find("m.json:9: error: /outputs/0: surface p, "), std::string::npos)
      << result.error;
}

TEST_F(Compare, Tolerances) {
  const auto output = [](const std::string& more) {
    return R"({"surface": "p", "expect": "want.bin", )" + more + "}";
  };
  expect(0, output(R"("tolerance": {"absolute": 0.5})"), "the largest difference is 0.5");
  expect(1, output(R"("tolerance": {"absolute": 0.25})"),
         "1 of 12 components differ by more than the tolerance, the first at texel (2, 1)");
  expect(0, output(R"("tolerance": {"relative": 0.08})"), "near enough");
  expect(1, output(R"("tolerance": {"relative": 0.05})"), "the first at texel (1, 0), channel 1");
  // From 3 to 3.25 are 2^20 steps of 2^-22, from 10 to 10.5 2^19 of 2^-20.
  expect(0, output(R"("tolerance": {"ulp": 1048576})"), "near enough");
  expect(1, output(R"("tolerance": {"ulp": 1048575})"), "1 of 12 components");
  expect(0, output(R"("max_different": 2)"), "2 beyond the tolerance");
  expect(1, output(R"("max_different": 1)"), "1 may differ");
}

TEST_F(Compare, NumbersThatAreNone) {
  const std::string nan = words({0x7fc00000}), other = words({0xffc00001});
  const std::string have = nan + kHave.substr(4), want = other + kHave.substr(4);
  folder_.write("want.bin", want);
  const auto check = [&](const std::string& more) {
    return run(with_words(hex(have), R"({"surface": "p", "expect": "want.bin")" + more + "}"))
        .exit_code;
  };
  EXPECT_EQ(check(""), 1);  // bits count where no tolerance is given
  EXPECT_EQ(check(R"(, "tolerance": {"ulp": 1})"), 0);
  folder_.write("want.bin", kHave);
  EXPECT_EQ(check(R"(, "tolerance": {"absolute": 1e30, "ulp": 1000000})"), 1);
}

TEST_F(Compare, ThePictureShowsTheDifferences) {
  const ProcessResult result = run(
      with_words(hex(kHave), R"({"surface": "p", "expect": "want.bin", "difference": "d.png"})"));
  EXPECT_EQ(result.exit_code, 1);
  // Texel (2, 1) is the largest difference, white; (1, 0) has half of it.
  folder_.write("grey.json", R"({"module": "fill.ptx",
 "surfaces": {"s": {"geometry": "1d", "format": "u32", "channels": 1, "width": 8},
              "d": {"geometry": "2d", "format": "u8", "channels": 1, "width": 3, "height": 2,
                    "init": {"png": "d.png"}}},
 "buffers": {"b": {"bytes": 32}},
 "launches": [)" + kLaunch + R"(], "outputs": [{"surface": "d", "raw": "d.bin"}]})");
  EXPECT_EQ(run_process({tool_path("ptxrun"), folder_.file("grey.json")}).exit_code, 0);
  EXPECT_EQ(hex(read_whole(folder_.file("d.bin"))), "0080000000ff");
}

TEST_F(Compare, WhatIsExpectedMayBeAnArrayOfTheSameType) {
  // NumPy's header, then the words: the type of a buffer's elements is the file's.
  const std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (12,), }";
  std::string header = text + std::string(118 - 1 - text.size(), ' ') + "\n";
  const std::string npy = std::string("\x93NUMPY\x01\x00", 8) + char(header.size()) +
                          std::string(1, '\0') + header + kWant;
  folder_.write("want.npy", npy);
  expect(1, R"({"buffer": "n", "expect": "want.npy"})",
         "the first at element 3: 3 instead of 3.25");
  expect(2, R"({"buffer": "n", "dtype": "f64", "expect": "want.npy"})",
         "has elements of type <f4, the output <f8");
}

}  // namespace
}  // namespace ptx2spv::test
