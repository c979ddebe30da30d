// Forms of PTX with vector registers and lists, each with what it leaves in 32 bytes of memory,
// worked out here from the manual's elementwise meaning.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace ptx2spv::tests {

/// What one thread of the tests is given.
struct Thread {
  std::array<std::uint32_t, 16> words{};
  std::uint32_t tid[4]{}, ntid[4]{}, ctaid[4]{}, nctaid[4]{};  ///< the fourth is 0

  /// Element `i` of `bytes` bytes of what the kernel holds in %s_b8_i, %s_b16_i, ...
  std::uint64_t element(unsigned bytes, unsigned i) const {
    std::uint64_t value = 0;
    std::memcpy(&value, reinterpret_cast<const std::byte*>(words.data()) + i * bytes, bytes);
    return value;
  }
  bool odd() const { return words[12] & 1; }
};

/// What a form stores: 32 bytes that start as 0xcc each.
struct Stored {
  std::array<std::uint8_t, 32> bytes;
  Stored() { bytes.fill(0xcc); }
  void put(unsigned at, std::uint64_t value, unsigned size) {
    std::memcpy(bytes.data() + at, &value, size);
  }
};

struct Form {
  /// Statements of a scope of their own: they may declare registers, know those of kernel() in
  /// vectors_test.cpp, and store at [%o].
  std::string text;
  std::function<void(const Thread&, Stored&)> expect;
};

/// `%s_b32_0, %s_b32_1` and the like.
std::string scalars(const std::string& prefix, unsigned count);
std::string list(const std::string& prefix, unsigned count);
inline constexpr const char* kParts = "xyzw";

std::vector<Form> elementwise_forms();  ///< mov.v2 and mov.v4
std::vector<Form> packing_forms();      ///< mov.b16 to mov.b128
std::vector<Form> special_forms();      ///< special registers, constants, sinks, overlap
std::vector<Form> memory_forms();       ///< ld, st, suld, sust, tex
std::vector<Form> operand_forms();      ///< elements as operands, loops
std::vector<Form> call_forms();         ///< of the functions in call_functions
extern const char* const kFunctions;    ///< stands before the kernels

/// How much of a block a kernel holds up together: what decides which thread models it can have.
enum class Sync : std::uint8_t { none, barriers, warps };

/// Bytes that a form stores of each thread, and threads of the kernels.
inline constexpr std::uint32_t kStored = 32, kFormThreads = 4 * 256;

/// Whether one of forms first to last keeps values in shared memory.
bool shares(const std::vector<Form>& forms, std::size_t first, std::size_t last);
/// The module with the kernel `k` that runs forms first to last.
std::string kernel_text(const std::vector<Form>& forms, std::size_t first, std::size_t last,
                        Sync sync);

}  // namespace ptx2spv::tests
