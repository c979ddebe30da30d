// Matrix instructions give the words that an H100 gave.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cctype>
#include <map>
#include <sstream>

#include "dev/programs/matrices.hpp"
#include "ptx2spv/runtime.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/runtime.hpp"
#include "tests/support/share.hpp"

namespace ptx2spv::tests {
namespace {

using programs::MatrixForm;

/// What the record has of a form: a hash for each warp, or the words of some.
struct Recorded {
  std::vector<std::uint32_t> hashes;
  std::vector<std::vector<std::uint32_t>> words;
};

std::vector<std::uint32_t> numbers(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::uint32_t> out;
  for (std::string word; in >> word;)
    out.push_back(static_cast<std::uint32_t>(std::stoul(word, nullptr, 16)));
  return out;
}

std::map<std::string, Recorded> read_record() {
  const std::string other = test::environment("PTX2SPV_REPLAY");
  const std::string path =
      other.empty() ? PTX2SPV_SOURCE_DIR "/tests/data/hardware/matrices.txt.gz" : other;
  std::map<std::string, Recorded> record;
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file) return record;
  std::vector<char> line(1 << 20);
  Recorded* at = nullptr;
  bool full = false;
  while (gzgets(file, line.data(), static_cast<int>(line.size()))) {
    std::string text = line.data();
    if (text.ends_with('\n')) text.pop_back();
    if (text.starts_with('#')) continue;
    if (text.starts_with("M ") || text.starts_with("F ")) {
      at = &record[text.substr(2)];
      full = text[0] == 'F';
    } else if (full) {
      at->words.push_back(numbers(text));
    } else {
      at->hashes = numbers(text);
    }
  }
  gzclose(file);
  return record;
}

class Matrices : public testing::TestWithParam<MatrixForm> {};

TEST_P(Matrices, GiveTheRecordedWords) {
  static const auto record = read_record();
  const MatrixForm& form = GetParam();
  ASSERT_TRUE(record.contains(form.name));
  const Recorded& right = record.at(form.name);
  static const Result<Device> device = Device::open();
  ASSERT_TRUE(device) << device.error().to_string();
  const auto module = Module::load(*device, programs::matrix_module(form), form.name + ".ptx");
  ASSERT_TRUE(module) << module.error().to_string();
  const auto kernel = module->kernel("k");
  ASSERT_TRUE(kernel) << kernel.error().to_string();
  const std::size_t most = right.hashes.empty() ? right.words.size() : right.hashes.size();
  const auto warps = static_cast<unsigned>(most) & ~(programs::kMatrixWarps - 1);
  ASSERT_GT(warps, 0u);
  const std::uint32_t seed = test::environment_number("PTX2SPV_SEED", 0);
  LaunchConfig config;
  config.grid = {warps / programs::kMatrixWarps, 1, 1};
  config.block = {32 * programs::kMatrixWarps, 1, 1};
  const auto words = words_of_launch(*device, *kernel, config,
                                     bytes_of(programs::matrix_inputs(form, warps, seed)),
                                     std::size_t{warps} * form.results);
  ASSERT_TRUE(words) << words.error().to_string();
  unsigned wrong = 0;
  for (unsigned w = 0; w < warps; ++w) {
    const std::uint32_t* first = words->data() + std::size_t{w} * form.results;
    if (right.hashes.empty()) {
      for (unsigned i = 0; i < form.results; ++i)
        if (first[i] != right.words[w][i] && ++wrong <= 4)
          ADD_FAILURE() << "warp " << w << ", word " << i << ": " << std::hex << first[i]
                        << ", the record has " << right.words[w][i];
    } else if (programs::matrix_hash(first, form.results) != right.hashes[w] && ++wrong == 1) {
      ADD_FAILURE() << "warp " << w << " has other words than the record";
    }
  }
  EXPECT_EQ(wrong, 0u) << "of " << warps << " warps";
}

/// All on the interpreter; elsewhere, where a compiler takes its time, a quarter by name, another
/// one on each driver.
std::vector<MatrixForm> forms() {
  std::vector<MatrixForm> all = programs::matrix_forms();
  const bool interpreted =
      test::environment("PTX2SPV_DEBUG").find("interpreted") != std::string::npos;
  if (test::exhaustive() || interpreted) return all;
  const unsigned share =
      test::environment("PTX2SPV_EXECUTOR") == "host" ? 2 : test::share_of_device(4);
  std::erase_if(all, [&](const MatrixForm& form) {
    unsigned sum = 0;
    for (const char c : form.name) sum = sum * 31 + static_cast<unsigned char>(c);
    return (sum >> 4) % 4 != share;
  });
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, Matrices, testing::ValuesIn(forms()), [](const auto& each) {
  std::string name = each.param.name;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

}  // namespace
}  // namespace ptx2spv::tests
