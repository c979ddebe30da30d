// The record of one-instruction kernels on an H200, replayed through the translator on a device:
// every result to the bit, but for approximations, which the manual bounds and tests/shaders
// measures.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "ptx2spv/runtime.hpp"
#include "tests/instructions/record.hpp"

namespace ptx2spv::tests {
namespace {

using recorder::Instruction;

/// Runs a row; its results in 64-bit words, or the message that stopped it.
std::string run(const Device& device, const Instruction& row, std::vector<std::uint64_t>& results) {
  auto module = Module::load(device, recorder::module_text(row), row.text + ".ptx");
  if (!module) return module.error().text;
  auto kernel = module->kernel("k");
  if (!kernel) return kernel.error().text;
  const std::size_t in = row.in.size(), out = row.out.size();
  const recorder::Inputs inputs(row.text, row.in, row.count);
  std::vector<std::uint64_t> operands(row.count * in), memory(row.count * (out + 1));
  for (std::uint32_t i = 0; i < row.count; ++i) inputs.tuple(i, {operands.data() + i * in, in});
  auto from = Buffer::create(device, operands.size() * 8),
       to = Buffer::create(device, memory.size() * 8);
  if (!from || !to) return "no memory";
  if (!from->upload(0, std::as_bytes(std::span(operands))) ||
      !to->upload(0, std::as_bytes(std::span(memory))))
    return "upload";
  LaunchConfig config;
  config.grid.x = row.count / 128;
  config.block.x = 128;
  if (auto done = kernel->launch(config, Args().buffer(*from).buffer(*to)); !done)
    return done.error().text;
  if (!to->download(0, std::as_writable_bytes(std::span(memory)))) return "download";
  results.resize(row.count * out);
  for (std::uint32_t i = 0; i < row.count; ++i) {
    for (std::size_t k = 0; k < out; ++k) results[i * out + k] = memory[i * (out + 1) + k];
  }
  return {};
}

std::string hex(std::uint64_t value, unsigned bits) {
  char text[20];
  std::snprintf(text, sizeof(text), "%0*llx", bits == 1 ? 1 : static_cast<int>(bits / 4),
                static_cast<unsigned long long>(value));
  return text;
}

/// The first difference between results and record, in words; empty when there is none.
std::string difference(const Recorded& recorded, const std::vector<std::uint64_t>& results) {
  const Instruction& row = recorded.row;
  const std::size_t out = row.out.size();
  std::size_t at = 0, i = 0;
  for (; at < recorded.sample.size(); ++i) {
    const unsigned bits = recorder::register_bits(row.out[i % out]);
    const std::string mine = hex(results[i], bits);
    if (recorded.sample.compare(at, mine.size(), mine) != 0) {
      std::vector<std::uint64_t> tuple(row.in.size());
      recorder::Inputs(row.text, row.in, row.count)
          .tuple(static_cast<std::uint32_t>(i / out), tuple);
      std::string text = "tuple " + std::to_string(i / out) + " (";
      for (std::size_t k = 0; k < tuple.size(); ++k)
        text += (k ? ", " : "") + hex(tuple[k], recorder::register_bits(row.in[k]));
      return text + ") result " + std::to_string(i % out) + ": " + mine + ", recorded " +
             recorded.sample.substr(at, mine.size());
    }
    at += mine.size();
  }
  const std::size_t first = i / out, blocks = recorded.hashes.size() / 8;
  const std::size_t block = blocks ? (row.count - first) / blocks : 0;
  for (std::size_t b = 0; b < blocks; ++b) {
    const std::size_t begin = first + b * block;
    const std::string mine =
        hex(recorder::block_hash({results.data() + begin * out, block * out}), 32);
    if (recorded.hashes.compare(b * 8, 8, mine) != 0)
      return "a result among tuples " + std::to_string(begin) + " to " +
             std::to_string(begin + block - 1);
  }
  return {};
}

/// Every recorded result of `row` out of the file that `recorder instructions --full` writes, or
/// nothing.
std::vector<std::uint64_t> full_results(const char* path, const Instruction& row) {
  std::ifstream file(path, std::ios::binary);
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line.substr(2));
    std::string text, out, in, count;
    std::getline(fields, text, '\t');
    std::getline(fields, out, '\t');
    std::getline(fields, in, '\t');
    std::getline(fields, count, '\t');
    for (char& c : out) c = c == ',' ? ' ' : c;
    const auto kinds = recorder::parse_kinds(out);
    std::vector<std::uint64_t> results(std::stoul(count) * kinds.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      file.read(reinterpret_cast<char*>(&results[i]),
                (recorder::register_bits(kinds[i % kinds.size()]) + 7) / 8);
    }
    if (text == row.text) return results;
  }
  return {};
}

/// The first few differing results, in words.
std::string differences(const Instruction& row, const std::vector<std::uint64_t>& results,
                        const std::vector<std::uint64_t>& full) {
  std::string text;
  unsigned count = 0;
  for (std::size_t i = 0; i < full.size() && i < results.size(); ++i) {
    if (results[i] == full[i] || ++count > 6) continue;
    std::vector<std::uint64_t> tuple(row.in.size());
    const std::size_t out = row.out.size();
    recorder::Inputs(row.text, row.in, row.count).tuple(static_cast<std::uint32_t>(i / out), tuple);
    text += "\n  (";
    for (std::size_t k = 0; k < tuple.size(); ++k)
      text += (k ? ", " : "") + hex(tuple[k], recorder::register_bits(row.in[k]));
    const unsigned bits = recorder::register_bits(row.out[i % out]);
    text += ") result " + std::to_string(i % out) + ": " + hex(results[i], bits) + ", recorded " +
            hex(full[i], bits);
  }
  return std::to_string(count) + " results differ" + text;
}

class InstructionRecord : public testing::TestWithParam<unsigned> {};

TEST_P(InstructionRecord, IsMet) {
  const char* name = std::getenv("PTX2SPV_DEVICE");
  DeviceOptions options;
  options.select = name ? name : "swiftshader";
  auto device = Device::open(options);
  if (!device) GTEST_SKIP() << "no device " << options.select << ": " << device.error().text;
  const auto rows = recorded_instructions();
  ASSERT_GT(rows.size(), 2000u);
  // PTX2SPV_ALL_INSTRUCTIONS replays every row.
  const bool all = std::getenv("PTX2SPV_ALL_INSTRUCTIONS") != nullptr;
  const char* only = std::getenv("PTX2SPV_ONLY");
  const std::set<std::string> known = all ? std::set<std::string>{} : instruction_deviations();
  unsigned met = 0;
  for (std::size_t i = GetParam(); i < rows.size(); i += kRecordParts) {
    const Recorded& recorded = rows[i];
    if (only ? recorded.row.text.find(only) == std::string::npos : !all && !replayed_by_itself(i))
      continue;
    if (recorded.row.approximate || known.contains(recorded.row.text)) continue;
    std::vector<std::uint64_t> results;
    const std::string failure = run(*device, recorded.row, results);
    if (!failure.empty()) {
      ADD_FAILURE() << recorded.row.text << ": " << failure;
      continue;
    }
    std::string text = difference(recorded, results);
    const char* full = std::getenv("PTX2SPV_FULL_RECORD");
    if (full && !text.empty())
      text += "; " + differences(recorded.row, results, full_results(full, recorded.row));
    EXPECT_EQ(text, "") << recorded.row.text;
    met += text.empty();
  }
  if (!only) {
    EXPECT_GT(met, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, InstructionRecord, testing::Range(0u, unsigned{kRecordParts}));

}  // namespace
}  // namespace ptx2spv::tests
