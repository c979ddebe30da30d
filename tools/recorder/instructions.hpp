// The table of one-instruction kernels: what is recorded, and the PTX of each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/recorder/inputs.hpp"

namespace ptx2spv::recorder {

struct Instruction {
  std::string text;  ///< the instruction without operands; names the record
  std::vector<Kind> out, in;
  std::string
      body;  ///< PTX over %d0.. (results), %a0.. (operands), %m (8 bytes of memory), %t (registers)
  std::uint32_t count = 4096;  ///< tuples of inputs, a power of two
  bool approximate = false;    ///< the manual gives an error bound, not a value
};

/// Every row, in the order of the record. Rows that a driver refuses are left out of its record.
std::vector<Instruction> all_instructions();
/// The module that runs a row: thread i takes tuple i from `in` (8 bytes per operand) and leaves
/// its results in `out` (8 bytes each); 128 threads per block.
std::string module_text(const Instruction& instruction);

/// Parses "f32 f32 b32".
std::vector<Kind> parse_kinds(const std::string& list);

/// Collects rows. The families below add to it.
class Table {
 public:
  /// `body` empty: "TEXT %d0, %a0, ...;".
  Instruction& add(const std::string& text, const std::string& out, const std::string& in,
                   std::string body = {});
  std::vector<Instruction> rows;
};
void add_float_rows(Table& table);
void add_half_rows(Table& table);
void add_convert_rows(Table& table);
void add_integer_rows(Table& table);
void add_bit_rows(Table& table);
void add_video_rows(Table& table);
void add_thread_rows(Table& table);

}  // namespace ptx2spv::recorder
