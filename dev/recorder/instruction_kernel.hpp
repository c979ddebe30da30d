// The kernel that runs one instruction on many inputs, shared by the recorder and the tests that
// replay its record.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "dev/recorder/inputs.hpp"

namespace ptx2spv::recorder {

struct Instruction {
  std::string text;  ///< the instruction without operands; names the record
  std::vector<Kind> out, in;
  std::string
      body;  ///< PTX over %d0.. (results), %a0.. (operands), %m (8 bytes of memory), %t (registers)
  std::uint32_t count = 4096;  ///< tuples of inputs, a power of two
  bool approximate = false;    ///< the manual gives an error bound, not a value
};

/// Parses "f32 f32 b32".
inline std::vector<Kind> parse_kinds(const std::string& list) {
  std::vector<Kind> kinds;
  std::istringstream words(list);
  for (std::string word; words >> word;) {
    for (unsigned k = 0; k < std::size(kKindNames); ++k) {
      if (word == kKindNames[k]) kinds.push_back(static_cast<Kind>(k));
    }
  }
  return kinds;
}

/// The module that runs a row: thread i takes tuple i from `in` (8 bytes per operand) and leaves
/// its results in `out` (8 bytes each, then 8 bytes of memory of its own); 128 threads per block.
inline std::string module_text(const Instruction& instruction) {
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
