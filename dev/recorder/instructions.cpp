#include "dev/recorder/instructions.hpp"

namespace ptx2spv::recorder {

Instruction& Table::add(const std::string& text, const std::string& out, const std::string& in,
                        std::string body) {
  Instruction row{text, parse_kinds(out), parse_kinds(in), std::move(body)};
  if (row.body.empty()) {
    row.body = text + " %d0";
    for (std::size_t k = 0; k < row.in.size(); ++k) row.body += ", %a" + std::to_string(k);
    row.body += ";";
  }
  if (row.in.size() == 1) {
    const Kind kind = row.in[0];
    const bool half = register_bits(kind) == 16 || kind == Kind::f16x2 || kind == Kind::bf16x2;
    if (half) row.count = 65536;
  }
  row.approximate =
      text.find("approx") != std::string::npos || text.find(".full") != std::string::npos;
  rows.push_back(std::move(row));
  return rows.back();
}

std::vector<Instruction> all_instructions() {
  Table table;
  add_float_rows(table);
  add_half_rows(table);
  add_convert_rows(table);
  add_integer_rows(table);
  add_bit_rows(table);
  add_video_rows(table);
  add_thread_rows(table);
  return std::move(table.rows);
}

}  // namespace ptx2spv::recorder
