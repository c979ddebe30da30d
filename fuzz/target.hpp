// What is fuzzed: functions that take any bytes and must neither crash nor lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptx2spv::fuzz {

using Input = std::span<const std::uint8_t>;

/// Random numbers that an input or a seed determines.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(next() % count); }
  bool one_in(std::size_t count) { return below(count) == 0; }

 private:
  std::uint64_t state_;
};

struct Target {
  std::string_view name;
  std::string_view what;  ///< for --help
  /// Aborts where the code under test is wrong. Returns whether the input was taken, so that a pool
  /// keeps it: others are of little use for mutation.
  bool (*run)(Input input);
  /// Inputs to start from. `root` is the source tree.
  std::vector<std::string> (*seeds)(const std::string& root);
  /// A change that keeps the form, most of the time; `other` is another input of the pool.
  std::string (*mutate)(const std::string& text, const std::string& other, Random& random);
  bool bytes = true;  ///< whether changes of any bytes, as libFuzzer makes them, are of use
};

std::span<const Target> targets();
/// Null when there is none of that name.
const Target* find_target(std::string_view name);

/// Ends the process with `why`, which a fuzzer takes as a crash.
[[noreturn]] void found(std::string_view why);

/// The contents of all files below `folder` whose names end in `ending`, up to `most` bytes each.
std::vector<std::string> files_below(const std::string& folder, std::string_view ending,
                                     std::size_t most);

/// Mutations of bytes, and of PTX text by its statements and the instruction table.
std::string mutate_bytes(const std::string& text, const std::string& other, Random& random);
std::string mutate_ptx(const std::string& text, const std::string& other, Random& random);
/// Of one instruction: other modifiers or another opcode, the operands of the other one, registers
/// that trade places. No operand comes in that is not in either, and none twice.
std::string mutate_instruction(const std::string& text, const std::string& other, Random& random);
std::string mutate_json(const std::string& text, const std::string& other, Random& random);

/// A kernel that loads registers of every kind from memory, carries `instruction` out and stores
/// them all: the registers are %p0 to %p9 (predicates), %h (16 bits), %r (32), %d (64), %q (128).
std::string kernel_around(std::string_view instruction);

/// A digest of the input, from which a target takes its options.
std::uint64_t hash(Input input);

// One function a target, each in its file.
bool run_ptx(Input input);
bool run_whole(Input input);
bool run_sensitivity(Input input);
bool run_interpret(Input input);
bool run_manifest(Input input);
bool run_cache(Input input);
bool run_npy(Input input);
bool run_png(Input input);
bool run_gzip(Input input);
bool run_fatbin(Input input);
std::vector<std::string> ptx_seeds(const std::string& root);
std::vector<std::string> sensitivity_seeds(const std::string& root);
std::vector<std::string> manifest_seeds(const std::string& root);
std::vector<std::string> cache_seeds(const std::string& root);
std::vector<std::string> npy_seeds(const std::string& root);
std::vector<std::string> png_seeds(const std::string& root);
std::vector<std::string> gzip_seeds(const std::string& root);
std::vector<std::string> fatbin_seeds(const std::string& root);

}  // namespace ptx2spv::fuzz
