// Records one-instruction kernels. A record's lines:
//   I the instruction, which also seeds the inputs
//   K kinds of results and operands, number of inputs
//   B the kernel's body
//   V the first results, in hexadecimal
//   H 32-bit hashes of the remaining results, in blocks
#include <cinttypes>
#include <cstdio>
#include <fstream>

#include "dev/recorder/cuda_driver.hpp"
#include "dev/recorder/instructions.hpp"
#include "dev/recorder/record.hpp"
#include "dev/recorder/surface_pairs.hpp"

namespace ptx2spv::recorder {
namespace {

/// Results that the record holds in full; the rest stands there as one hash per block.
constexpr std::uint32_t kSample = 128, kFormSample = 64, kApproximateSample = 1024, kBlocks = 32;

std::string names(const std::vector<Kind>& kinds) {
  std::string text;
  for (Kind kind : kinds)
    text += (text.empty() ? "" : ",") + std::string(kKindNames[static_cast<unsigned>(kind)]);
  return text;
}

void hex(std::string& to, std::uint64_t value, unsigned bits) {
  const int digits = bits == 1 ? 1 : static_cast<int>(bits / 4);
  char text[20];
  std::snprintf(text, sizeof(text), "%0*" PRIx64, digits, value);
  to += text;
}

/// Runs one row; `results` gets count * out words of 64 bits, cut to the registers' widths.
bool run(const Instruction& row, std::vector<std::uint64_t>& results, std::string& log) {
  const auto kernel = Kernel::load(module_text(row), &log);
  if (!kernel) return false;
  const std::size_t in = row.in.size(), out = row.out.size();
  const Inputs inputs(row.text, row.in, row.count);
  std::vector<std::uint64_t> operands(row.count * in);
  for (std::uint32_t i = 0; i < row.count; ++i) inputs.tuple(i, {operands.data() + i * in, in});
  DeviceMemory from(operands.size() * 8), to(row.count * (out + 1) * 8);
  from.upload(operands.data(), operands.size() * 8);
  const std::vector<std::uint64_t> zero(row.count * (out + 1));
  to.upload(zero.data(), zero.size() * 8);
  Driver::get().check(kernel->run(row.count / 128, {from.address(), to.address()}),
                      row.text.c_str());
  std::vector<std::uint64_t> memory(row.count * (out + 1));
  to.download(memory.data(), memory.size() * 8);
  results.resize(row.count * out);
  for (std::uint32_t i = 0; i < row.count; ++i) {
    for (std::size_t k = 0; k < out; ++k) results[i * out + k] = memory[i * (out + 1) + k];
  }
  return true;
}

std::string line_of(const Instruction& row, const std::vector<std::uint64_t>& results,
                    std::uint32_t usual) {
  const std::size_t out = row.out.size();
  std::string text = "I " + row.text + "\nK out=" + names(row.out) + " in=" + names(row.in) +
                     " n=" + std::to_string(row.count) + (row.approximate ? " approximate" : "") +
                     "\nB " + row.body + "\nV ";
  const std::uint32_t sample =
      row.count == 65536 ? 0 : std::min(row.count, row.approximate ? kApproximateSample : usual);
  for (std::size_t i = 0; i < sample * out; ++i)
    hex(text, results[i], register_bits(row.out[i % out]));
  text += "\nH ";
  const std::uint32_t block = (row.count - sample) / kBlocks;
  for (std::uint32_t first = sample; block > 0 && first < row.count; first += block) {
    const std::uint32_t end = std::min(first + block, row.count);
    hex(text, block_hash({results.data() + first * out, (end - first) * out}), 32);
  }
  return text + "\n";
}

/// `sample`: how many results of an exact instruction the record holds in full.
int record(const std::vector<Instruction>& rows, std::uint32_t sample, const std::string& path,
           const std::string& full, const std::string& only) {
  auto& driver = Driver::get();
  std::ofstream record(path), everything;
  if (!full.empty()) everything.open(full, std::ios::binary);
  record << "# one-instruction kernels on " << driver.device_name << ", driver interface "
         << driver.version << "\n";
  unsigned recorded = 0, refused = 0;
  for (const auto& row : rows) {
    if (!only.empty() && row.text.find(only) == std::string::npos) continue;
    std::vector<std::uint64_t> results;
    std::string log;
    if (!run(row, results, log)) {
      ++refused;
      std::fprintf(stderr, "refused: %s: %s\n", row.text.c_str(), log.c_str());
      continue;
    }
    ++recorded;
    record << line_of(row, results, sample);
    // Small operand spaces are recorded whole, by hash; the bytes of approximations are worth
    // keeping all the same.
    if (full.empty() || (row.count == 65536 && !row.approximate) || row.text[0] == 'v') continue;
    everything << "I " << row.text << '\t' << names(row.out) << '\t' << names(row.in) << '\t'
               << row.count << '\n';
    for (std::size_t i = 0; i < results.size(); ++i) {
      const unsigned bytes = (register_bits(row.out[i % row.out.size()]) + 7) / 8;
      everything.write(reinterpret_cast<const char*>(&results[i]), bytes);
    }
  }
  std::fprintf(stderr, "%u instructions recorded, %u refused\n", recorded, refused);
  return record.good() ? 0 : 2;
}

}  // namespace

int record_instructions(const std::string& path, const std::string& full, const std::string& only) {
  return record(all_instructions(), kSample, path, full, only);
}

int record_forms(const std::string& path, const std::string& full, const std::string& only) {
  return record(more_instructions(), kFormSample, path, full, only);
}

int write_modules(const std::string& path) {
  unsigned number = 0;
  auto rows = all_instructions();
  for (auto& row : more_instructions()) rows.push_back(std::move(row));
  for (const auto& row : rows) {
    std::ofstream file(path + "/" + std::to_string(number++) + ".ptx");
    file << "// " << row.text << "\n" << module_text(row);
  }
  for (const char* geometry : {"1d", "2d", "3d", "a1d", "a2d"}) {
    auto loads = surface_instructions(geometry, true);
    for (auto& row : unread_instructions(geometry)) loads.push_back(std::move(row));
    for (const auto& row : loads) {
      std::ofstream file(path + "/" + std::to_string(number++) + ".ptx");
      file << "// " << row.text << "\n" << surface_kernel(row);
    }
  }
  return 0;
}

}  // namespace ptx2spv::recorder
