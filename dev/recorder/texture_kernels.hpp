// The kernels that run one texture instruction, shared by the recorder and the tests that replay
// its record.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>

namespace ptx2spv::recorder {

/// One form of a texture instruction. `words` operand words stand before each result.
struct TextureInstruction {
  std::string text;  ///< "tex.2d.v4.f32.f32", with " offset" behind it where offsets follow the
                     ///< coordinates, " depth" where one to compare with does
  std::string body;  ///< over %tx, %a0.. and %d0..%d3
  unsigned words = 0;
};

inline unsigned coordinate_words(const std::string& geometry) {
  if (geometry == "1d") return 1;
  if (geometry == "2d" || geometry == "a1d") return 2;
  return geometry == "acube" || geometry == "a2dms" ? 4 : 3;
}

/// "{%a2, %a3}": `count` registers from `first`; three stand in a vector of four, the last one
/// twice.
inline std::string vector_of(unsigned first, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < (count == 3 ? 4 : count); ++i) {
    text += (i ? ", %a" : "%a") + std::to_string(first + std::min(i, count - 1));
  }
  return text + "}";
}

/// `op`: tex, tex.base, tex.level, tex.grad, tld4.r ...; `types`: "f32.s32" (result, coordinates).
inline TextureInstruction texture_instruction(const std::string& op, const std::string& geometry,
                                              const std::string& types, bool offset = false,
                                              bool depth = false) {
  TextureInstruction t;
  const std::string result = types.substr(0, types.find('.'));
  t.text = op + "." + geometry + (result == "f16x2" ? ".v2." : ".v4.") + types;
  const unsigned dimensions = geometry == "3d" || geometry.find("cube") != std::string::npos ? 3
                              : geometry.find("2d") != std::string::npos                     ? 2
                                                                                             : 1;
  t.words = coordinate_words(geometry);
  std::string tail;
  if (op == "tex.level") tail += ", %a" + std::to_string(t.words++);
  if (op == "tex.grad") {
    tail +=
        ", " + vector_of(t.words, dimensions) + ", " + vector_of(t.words + dimensions, dimensions);
    t.words += 2 * dimensions;
  }
  if (offset) {
    tail += ", " + vector_of(t.words, dimensions);
    t.words += dimensions;
  }
  if (depth) tail += ", %a" + std::to_string(t.words++);
  std::string results = "{%d0, %d1, %d2, %d3}", after;
  if (result == "f16x2") results = "{%d0, %d1}";
  if (result == "f16") {
    results = "{%h0, %h1, %h2, %h3}";
    for (const std::string i : {"0", "1", "2", "3"})
      after += " cvt.u32.u16 %d" + i + ", %h" + i + ";";
  }
  t.body = t.text + " " + results + ", [%tx, " + vector_of(0, coordinate_words(geometry)) + "]" +
           tail + ";" + after;
  if (offset) t.text += " offset";
  if (depth) t.text += " depth";
  return t;
}

inline TextureInstruction texture_query(const std::string& query, bool level) {
  TextureInstruction t;
  t.text = std::string(level ? "txq.level." : "txq.") + query + ".b32";
  t.body = t.text + " %d0, [%tx]" + (level ? ", %a0;" : ";");
  t.words = level ? 1 : 0;
  return t;
}

inline std::string texture_module(const TextureInstruction& instruction) {
  std::ostringstream s;
  s << ".version 8.6\n.target sm_90\n.address_size 64\n"
       ".visible .entry k(.param .u64 texture, .param .u64 in, .param .u64 out)\n{\n"
       "  .reg .b64 %tx, %i, %o, %m;\n  .reg .b32 %n, %x, %a<12>, %d<4>;\n  .reg .b16 %h<4>;\n"
       "  mov.u32 %n, %ctaid.x;\n  mov.u32 %x, %tid.x;\n  mad.lo.u32 %n, %n, 128, %x;\n"
       "  ld.param.u64 %tx, [texture];\n  ld.param.u64 %i, [in];\n  ld.param.u64 %o, [out];\n"
    << "  mul.wide.u32 %m, %n, " << 4 * instruction.words << ";\n  add.u64 %i, %i, %m;\n"
    << "  mul.wide.u32 %m, %n, 16;\n  add.u64 %o, %o, %m;\n";
  for (unsigned k = 0; k < instruction.words; ++k)
    s << "  ld.global.b32 %a" << k << ", [%i+" << 4 * k << "];\n";
  for (unsigned k = 0; k < 4; ++k) s << "  mov.b32 %d" << k << ", 0;\n";
  s << "  " << instruction.body << "\n  st.global.v4.b32 [%o], {%d0, %d1, %d2, %d3};\n  ret;\n}\n";
  return s.str();
}

}  // namespace ptx2spv::recorder
