// Logic, shifts, bit fields and permutations.
#include "dev/recorder/instructions.hpp"

namespace ptx2spv::recorder {

void add_bit_rows(Table& t) {
  for (const std::string type : {"pred", "b16", "b32", "b64"}) {
    for (const std::string op : {"and", "or", "xor"})
      t.add(op + "." + type, type, type + " " + type);
    t.add("not." + type, type, type);
    if (type != "pred") t.add("cnot." + type, type, type);
  }
  for (const std::string type : {"b16", "b32", "b64"}) t.add("shl." + type, type, type + " amount");
  for (const std::string type : {"b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"}) {
    const std::string kind = "b" + type.substr(1);
    t.add("shr." + type, kind, kind + " amount");
  }
  for (const std::string side : {"l", "r"}) {
    for (const std::string mode : {"clamp", "wrap"})
      t.add("shf." + side + "." + mode + ".b32", "b32", "b32 b32 amount");
  }
  for (const std::string type : {"b32", "b64"}) {
    t.add("popc." + type, "b32", type);
    t.add("clz." + type, "b32", type);
    t.add("brev." + type, type, type);
    t.add("bfi." + type, type, type + " " + type + " amount amount").count = 8192;
  }
  for (const std::string type : {"u32", "s32", "u64", "s64"}) {
    const std::string kind = "b" + type.substr(1);
    t.add("bfe." + type, kind, kind + " amount amount").count = 8192;
    t.add("bfind." + type, "b32", kind);
    t.add("bfind.shiftamt." + type, "b32", kind);
  }
  t.add("fns.b32", "b32", "b32 amount b32").count = 8192;
  for (const std::string mode : {"", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"}) {
    t.add("prmt.b32" + mode, "b32", "b32 b32 b32");
  }
  for (const std::string mode : {"clamp", "wrap"}) {
    t.add("szext." + mode + ".u32", "b32", "b32 amount");
    t.add("szext." + mode + ".s32", "b32", "b32 amount");
    t.add("bmsk." + mode + ".b32", "b32", "amount amount");
  }
  for (unsigned table = 1; table < 256; table += 15) {
    const std::string text = "lop3.b32 " + std::to_string(table);
    t.add(text, "b32", "b32 b32 b32", "lop3.b32 %d0, %a0, %a1, %a2, " + std::to_string(table) + ";")
        .count = 512;
  }
  t.add("lop3.or.b32", "b32 pred", "b32 b32 b32 pred",
        "lop3.or.b32 %d0|%d1, %a0, %a1, %a2, 0x96, %a3;");
  t.add("lop3.and.b32", "b32 pred", "b32 b32 b32 pred",
        "lop3.and.b32 %d0|%d1, %a0, %a1, %a2, 0xca, %a3;");
  t.add("mov.b64 pack", "b64", "b32 b32", "mov.b64 %d0, {%a0, %a1};");
  t.add("mov.b32 unpack", "b16 b16", "b32", "mov.b32 {%d0, %d1}, %a0;");
  t.add("mov.b64 unpack", "b16 b16 b16 b16", "b64", "mov.b64 {%d0, %d1, %d2, %d3}, %a0;");
}

}  // namespace ptx2spv::recorder
