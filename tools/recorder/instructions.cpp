#include "tools/recorder/instructions.hpp"

#include <sstream>

namespace ptx2spv::recorder {

std::vector<Kind> parse_kinds(const std::string& list) {
  std::vector<Kind> kinds;
  std::istringstream words(list);
  for (std::string word; words >> word;) {
    for (unsigned k = 0; k < std::size(kKindNames); ++k) {
      if (word == kKindNames[k]) kinds.push_back(static_cast<Kind>(k));
    }
  }
  return kinds;
}

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

std::string module_text(const Instruction& instruction) {
  std::ostringstream s;
  s << ".version 8.6\n.target sm_90\n.address_size 64\n"
       ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
       "  .reg .b64 %i, %o, %m;\n  .reg .b32 %n, %x, %t<8>;\n  .reg .pred %q<4>;\n";
  auto declare = [&](char letter, const std::vector<Kind>& kinds) {
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      const unsigned bits = register_bits(kinds[k]);
      s << "  .reg ." << (bits == 1 ? "pred" : "b" + std::to_string(bits)) << " %" << letter << k
        << ";\n";
    }
  };
  declare('a', instruction.in);
  declare('d', instruction.out);
  const std::size_t in_bytes = 8 * instruction.in.size(), out_bytes = 8 * instruction.out.size();
  s << "  mov.u32 %n, %ctaid.x;\n  mov.u32 %x, %tid.x;\n  mad.lo.u32 %n, %n, 128, %x;\n"
       "  ld.param.u64 %i, [in];\n  ld.param.u64 %o, [out];\n"
    << "  mul.wide.u32 %m, %n, " << in_bytes << ";\n  add.u64 %i, %i, %m;\n"
    << "  mul.wide.u32 %m, %n, " << out_bytes + 8 << ";\n  add.u64 %o, %o, %m;\n"
    << "  add.u64 %m, %o, " << out_bytes << ";\n";
  for (std::size_t k = 0; k < instruction.in.size(); ++k) {
    const unsigned bits = register_bits(instruction.in[k]);
    if (bits == 1) {
      s << "  ld.global.u32 %x, [%i+" << 8 * k << "];\n  setp.ne.u32 %a" << k << ", %x, 0;\n";
    } else {
      s << "  ld.global.b" << bits << " %a" << k << ", [%i+" << 8 * k << "];\n";
    }
  }
  s << "  " << instruction.body << "\n";
  for (std::size_t k = 0; k < instruction.out.size(); ++k) {
    const unsigned bits = register_bits(instruction.out[k]);
    if (bits == 1) {
      s << "  selp.u32 %x, 1, 0, %d" << k << ";\n  st.global.b32 [%o+" << 8 * k << "], %x;\n";
    } else {
      s << "  st.global.b" << bits << " [%o+" << 8 * k << "], %d" << k << ";\n";
    }
  }
  s << "  ret;\n}\n";
  return s.str();
}

}  // namespace ptx2spv::recorder
