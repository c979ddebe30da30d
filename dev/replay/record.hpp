// Record files of what hardware did: tests/data/hardware/README.md describes their form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ptx2spv/runtime.hpp"
#include "tools/common/files.hpp"

namespace ptx2spv::tools {

/// A surface of the record: an S line.
struct RecordSurface {
  std::string text;
  ArrayDesc desc;
  std::uint32_t level = 0;  ///< of a mipmapped array
  std::uint32_t seed = 0;
  std::uint64_t row_bytes = 0, rows = 1, slices = 1;
  std::uint64_t bytes() const { return row_bytes * rows * slices; }
};

enum class RecordOp : std::uint8_t {
  load,
  store,
  formatted_store,
  reduce,
  formatted_reduce,
  other
};

/// An instruction of the record: an I line.
struct RecordInstruction {
  std::string text;
  RecordOp op = RecordOp::other;
  std::uint32_t coordinates = 1;  ///< numbers on a line
  bool layered = false;           ///< the first is the array index
  std::uint32_t elements = 1, element_bytes = 4;
  std::uint32_t unread = 0;  ///< of a load: a bit for each element that the kernel does not read
  bool reads(std::uint32_t element) const { return !(unread >> element & 1); }
  std::string type, mode;    ///< b32, u64 ...; clamp, zero, trap
  std::uint32_t kernel = 0;  ///< in Records::kernels
};

/// One line: coordinates, values, and what the hardware did.
struct RecordLine {
  std::uint32_t number = 0;  ///< in its file
  std::string_view text;
  std::int64_t coordinates[3] = {};
  std::uint64_t values[4] = {};  ///< stored, or expected of a load
  bool trap = false;             ///< the hardware trapped
  std::string_view changes;      ///< " @4:e3a1 ..." or " none"
};

/// Lines of one instruction on one surface.
struct RecordGroup {
  std::uint32_t file = 0, surface = 0, instruction = 0;
  std::vector<RecordLine> lines;
};

struct Records {
  std::vector<std::string> names, texts;  ///< of the files
  std::vector<RecordSurface> surfaces;
  std::vector<RecordInstruction> instructions;  ///< each text once
  /// Instructions that one kernel runs: a few that differ in `unread` alone.
  std::vector<std::vector<std::uint32_t>> kernels;
  std::vector<RecordGroup> groups;
};

/// Adds one file. On failure file:line: error: text. Lines refer to `records.texts`, whose vector
/// must have been reserved.
std::string read_record(const std::string& path, Records& records);

/// Bytes that a line touches, in the surface without padding; size 0 when it touches none.
struct Range {
  std::uint64_t begin = 0, size = 0;
};
Range touched(const RecordSurface& surface, const RecordInstruction& instruction,
              const RecordLine& line);

/// Applies a line's changed runs to `bytes`. False when they are malformed.
bool apply_changes(std::string_view changes, std::vector<std::byte>& bytes);

}  // namespace ptx2spv::tools
