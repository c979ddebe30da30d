// The table of one-instruction kernels: what is recorded, and the PTX of each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dev/recorder/instruction_kernel.hpp"

namespace ptx2spv::recorder {

/// Every row, in the order of the record. Rows that a driver refuses are left out of its record.
std::vector<Instruction> all_instructions();
/// The rows of the second record: forms that the first does not hold.
std::vector<Instruction> more_instructions();
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
void add_edge_rows(Table& table);

}  // namespace ptx2spv::recorder
