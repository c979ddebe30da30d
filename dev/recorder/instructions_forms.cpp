// The second record: what the first leaves out of the forms that ptxas takes for sm_90. Most are
// the modifiers of a family in every combination; names that the first record has are dropped.
#include <set>

#include "dev/recorder/instructions.hpp"

namespace ptx2spv::recorder {
namespace {

using Words = std::vector<std::string>;
const Words kIntegers{"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"};
const Words kFloats{"f16", "f32", "f64"};
const Words kDirections{".rn", ".rz", ".rm", ".rp"};
const Words kIntegral{".rni", ".rzi", ".rmi", ".rpi"};

std::string kind(const std::string& type) {
  const bool floating = type[0] == 'f' || type[0] == 'b';
  return floating && type != "b16" && type != "b32" && type != "b64" ? type : "b" + type.substr(1);
}
unsigned bits(const std::string& type) { return register_bits(parse_kinds(kind(type))[0]); }

Instruction& shorter(Instruction& row) {
  row.count = 1024;
  return row;
}

void arithmetic(Table& t) {
  for (const std::string type : {"bf16", "bf16x2", "f16", "f16x2"}) {
    const std::string three = type + " " + type + " " + type;
    for (const auto& r : type[0] == 'b' ? kDirections : Words{".rn"}) {
      for (const std::string x : {"", ".relu", ".oob", ".oob.relu"})
        t.add("fma" + r + x + "." + type, type, three);
    }
  }
  for (const std::string r : {"", ".rn", ".rz", ".rm", ".rp"}) {
    for (const std::string x : {"", ".ftz", ".sat", ".ftz.sat"}) {
      if (!r.empty()) shorter(t.add("mad" + r + x + ".f32", "f32", "f32 f32 f32"));
      if (!r.empty()) continue;
      for (const std::string op : {"add", "sub", "mul"})
        shorter(t.add(op + x + ".f32", "f32", "f32 f32"));
    }
    if (!r.empty()) shorter(t.add("mad" + r + ".f64", "f64", "f64 f64 f64"));
    if (!r.empty()) t.add("rcp" + r + ".ftz.f64", "f64", "f64");
  }
  for (const std::string type : {"u16", "s16", "sat.s32"}) {
    const std::string k = type == "sat.s32" ? "b32" : "b16", in = k + " " + k + " b32 b32";
    for (const std::string op : {"addc", "subc"}) {
      t.add(op + "." + type, k, in,
            "add.cc.u32 %t0, %a2, %a3; " + op + "." + type + " %d0, %a0, %a1;");
    }
    for (const std::string half : {"lo", "hi"}) {
      if (type == "sat.s32" && half == "lo") continue;
      const std::string text = "madc." + half + "." + type;
      t.add(text, k, k + " " + k + " " + k + " b32 b32",
            "add.cc.u32 %t0, %a3, %a4; " + text + " %d0, %a0, %a1, %a2;");
    }
  }
}

void comparisons(Table& t) {
  const Words ordered{"eq", "ne", "lt", "le", "gt", "ge"};
  const Words unsigned_only{"lo", "ls", "hi", "hs"};
  const Words floating{"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                       "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
  const Words booleans{"and", "or", "xor"};
  const Words types{"b16", "b32", "b64", "u16", "u32",  "u64",   "s16",   "s32",
                    "s64", "f32", "f64", "f16", "bf16", "f16x2", "bf16x2"};
  unsigned next = 0;
  for (const auto& type : types) {
    const bool is_float = kind(type) == type && type[0] != 'b' ? true : type.starts_with("bf");
    Words list = is_float ? floating : type[0] == 'b' ? Words{"eq", "ne"} : ordered;
    if (type[0] == 'u') list.insert(list.end(), unsigned_only.begin(), unsigned_only.end());
    const bool pair = type.ends_with("x2"), half = type == "f16" || type == "bf16";
    const std::string k = kind(type), two = k + " " + k;
    for (const auto& cmp : list) {
      for (const std::string z : {"", ".ftz"}) {
        if (!z.empty() && (!is_float || type == "f64" || type.starts_with("bf"))) continue;
        const std::string op = booleans[next++ % 3], tail = z + "." + type;
        if (pair)
          shorter(t.add("setp." + cmp + tail, "pred pred", two,
                        "setp." + cmp + tail + " %d0|%d1, %a0, %a1;"));
        else
          shorter(t.add("setp." + cmp + tail, "pred", two));
        const std::string text = "setp." + cmp + "." + op + tail;
        if (half)
          shorter(t.add(text, "pred", two + " pred", text + " %d0, %a0, %a1, %a2;"));
        else
          shorter(t.add(text, "pred pred", two + " pred", text + " %d0|%d1, %a0, %a1, !%a2;"));
      }
    }
    // A result of every type, with one comparison of each sort.
    const Words results =
        pair ? Words{type, "u32", "s32"} : Words{"u16", "s16", "u32", "s32", "f16", "bf16", "f32"};
    for (const auto& to : results) {
      const std::string cmp = list[next % list.size()], op = booleans[next % 3];
      for (const std::string z : {"", ".ftz"}) {
        if (!z.empty() && (!is_float || type == "f64" || type.starts_with("bf"))) continue;
        shorter(t.add("set." + cmp + z + "." + to + "." + type, kind(to), two));
        const std::string text = "set." + cmp + "." + op + z + "." + to + "." + type;
        shorter(t.add(text, kind(to), two + " pred", text + " %d0, %a0, %a1, !%a2;"));
      }
      ++next;
    }
    if (pair || half) continue;
    shorter(t.add("selp." + type, k, two + " pred"));
    for (const std::string by : {"s32", "f32", "ftz"}) {
      const std::string text =
          by == "ftz" ? "slct.ftz." + type + ".f32" : "slct." + type + "." + by;
      shorter(t.add(text, k, two + (by == "s32" ? " b32" : " f32")));
    }
  }
}

void conversions(Table& t) {
  for (const auto& integer : kIntegers) {
    for (const auto& real : kFloats) {
      for (const std::string z : {"", ".ftz"}) {
        if (!z.empty() && real != "f32") continue;
        for (const std::string s : {"", ".sat"}) {
          for (const auto& r : kDirections)
            shorter(t.add("cvt" + r + z + s + "." + real + "." + integer, real, kind(integer)));
          for (const auto& r : kIntegral) {
            Instruction& row =
                t.add("cvt" + r + z + s + "." + integer + "." + real, kind(integer), real);
            if (row.count != 65536) shorter(row);
          }
        }
      }
    }
  }
  for (const std::string eight : {"u8", "s8"}) {
    for (const auto& r : kDirections) {
      const std::string text = "cvt" + r + ".bf16." + eight;
      shorter(t.add(text, "bf16", "b32", "{.reg .b8 c; cvt.u8.u32 c, %a0; " + text + " %d0, c;}"));
    }
    for (const auto& r : kIntegral) {
      const std::string text = "cvt" + r + "." + eight + ".bf16";
      t.add(text, "b32", "bf16", "{.reg .b8 c; " + text + " c, %a0; cvt.u32.u8 %d0, c;}");
    }
  }
  for (const std::string r : {".rn", ".rz"}) {
    t.add("cvt" + r + ".relu.tf32.f32", "b32", "f32");
    t.add("cvt" + r + ".satfinite.tf32.f32", "b32", "f32");
  }
  for (const std::string type : {"e4m3x2", "e5m2x2"}) {
    t.add("cvt.rn.relu.satfinite." + type + ".f32", "b16", "f32 f32");
    t.add("cvt.rn.relu.satfinite." + type + ".f16x2", "b16", "f16x2");
  }
  t.add("cvt.pack.sat.s4.s32.b32", "b32", "b32 b32 b32");
  t.add("cvt.pack.sat.u2.s32.b32", "b32", "b32 b32 b32");
}

void video(Table& t) {
  const Words signs{"u32", "s32"};
  for (const auto& a : signs) {
    for (const auto& b : signs) {
      for (const auto& d : signs) {
        const std::string types = "." + d + "." + a + "." + b, vmad = "vmad" + types;
        for (const std::string tail : {"", ".sat", ".shr7", ".sat.shr15"})
          shorter(t.add(vmad + tail + " minus both", "b32", "b32 b32 b32",
                        vmad + tail + " %d0, -%a0, -%a1, %a2;"));
        for (const std::string tail : {".po", ".po.sat", ".po.shr15", ".po.sat.shr15"})
          shorter(t.add(vmad + tail, "b32", "b32 b32 b32"));
        for (const std::string tail : {"", ".shr7", ".sat.shr15"}) {
          shorter(t.add(vmad + tail + " minus b", "b32", "b32 b32 b32",
                        vmad + tail + " %d0, %a0, -%a1, %a2;"));
          shorter(t.add(vmad + tail + " minus c", "b32", "b32 b32 b32",
                        vmad + tail + " %d0, %a0.h1, %a1, -%a2;"));
        }
        for (const std::string op : {"vadd", "vsub", "vabsdiff", "vmin", "vmax"}) {
          for (const std::string s : {"", ".sat"}) {
            const std::string text = op + types + s;
            for (const std::string second : {"add", "min", "max"})
              shorter(t.add(text + " " + second + " whole", "b32", "b32 b32 b32",
                            text + "." + second + " %d0, %a0, %a1, %a2;"));
            for (const std::string part : {"b0", "b3", "h0", "h1"})
              shorter(t.add(text + " whole into " + part, "b32", "b32 b32 b32",
                            text + " %d0." + part + ", %a0, %a1, %a2;"));
          }
        }
        for (const std::string n : {"2", "4"}) {
          const std::string selected =
              n == "2" ? " %d0.h0, %a0.h03, %a1.h21, %a2;" : " %d0.b31, %a0.b7012, %a1.b0456, %a2;";
          for (const std::string op : {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"}) {
            for (const std::string s : {"", ".add"})
              shorter(t.add(op + n + types + s + " selected", "b32", "b32 b32 b32",
                            op + n + types + s + selected));
          }
        }
      }
      for (const std::string cmp : {"lt", "ge"}) {
        const std::string types = "." + a + "." + b + "." + cmp;
        for (const std::string second : {"min", "max"})
          shorter(t.add("vset" + types + " " + second, "b32", "b32 b32 b32",
                        "vset" + types + "." + second + " %d0, %a0, %a1.b1, %a2;"));
        for (const std::string s : {"", ".add"}) {
          shorter(t.add("vset2" + types + s + " selected", "b32", "b32 b32 b32",
                        "vset2" + types + s + " %d0.h1, %a0.h12, %a1.h30, %a2;"));
          shorter(t.add("vset4" + types + s + " selected", "b32", "b32 b32 b32",
                        "vset4" + types + s + " %d0.b20, %a0.b7012, %a1.b0456, %a2;"));
        }
      }
    }
  }
  for (const auto& d : signs) {
    for (const auto& a : signs) {
      for (const std::string op : {"vshl", "vshr"}) {
        for (const std::string mode : {".clamp", ".wrap"}) {
          for (const std::string s : {"", ".sat"}) {
            const std::string text = op + "." + d + "." + a + ".u32" + s + mode;
            for (const std::string second : {"add", "min", "max"})
              shorter(t.add(text + " " + second, "b32", "b32 amount b32",
                            text + "." + second + " %d0, %a0, %a1, %a2;"));
            shorter(t.add(text + " into h1", "b32", "b32 amount b32",
                          text + " %d0.h1, %a0, %a1, %a2;"));
            shorter(t.add(text + " into b0", "b32", "b32 amount b32",
                          text + " %d0.b0, %a0.b3, %a1, %a2;"));
          }
        }
      }
    }
  }
}

/// Vectors of atomics on the thread's eight bytes of memory, and reductions.
void atomics(Table& t) {
  struct Row {
    const char *op, *type;
    unsigned lanes;
  };
  for (const std::string op : {"add", "min", "max"}) {
    for (const Row row : {Row{"", "f32", 2},
                          {".noftz", "f16", 2},
                          {".noftz", "f16", 4},
                          {".noftz", "bf16", 2},
                          {".noftz", "bf16", 4},
                          {".noftz", "f16x2", 2},
                          {".noftz", "bf16x2", 2}}) {
      const std::string type = row.type, v = ".v" + std::to_string(row.lanes);
      const std::string text = "global." + op + row.op + v + "." + type;
      std::string kinds, all, first, second, after;
      for (unsigned i = 0; i < 2 * row.lanes; ++i) {
        kinds += (i ? " " : "") + type;
        (i < row.lanes ? first : second) += (i % row.lanes ? ", %a" : "%a") + std::to_string(i);
        (i < row.lanes ? all : after) += (i % row.lanes ? ", %d" : "%d") + std::to_string(i);
      }
      const std::string memory = "global" + v + ".b" + std::to_string(bits(type));
      const std::string store = "st." + memory + " [%m], {" + first + "}; ";
      const std::string load = " ld." + memory + " {" + after + "}, [%m];";
      shorter(t.add("atom." + text, kinds, kinds,
                    store + "atom." + text + " {" + all + "}, [%m], {" + second + "};" + load));
    }
  }
  for (const Row row : {Row{"add.u32", "b32", 1},
                        {"add.s32", "b32", 1},
                        {"add.u64", "b64", 1},
                        {"add.f32", "f32", 1},
                        {"add.f64", "f64", 1},
                        {"add.noftz.f16", "f16", 1},
                        {"add.noftz.f16x2", "f16x2", 1},
                        {"add.noftz.bf16", "bf16", 1},
                        {"add.noftz.bf16x2", "bf16x2", 1},
                        {"min.s32", "b32", 1},
                        {"max.u32", "b32", 1},
                        {"min.s64", "b64", 1},
                        {"max.u64", "b64", 1},
                        {"and.b32", "b32", 1},
                        {"or.b64", "b64", 1},
                        {"xor.b32", "b32", 1},
                        {"inc.u32", "b32", 1},
                        {"dec.u32", "b32", 1}}) {
    const std::string k = row.type, width = ".b" + std::to_string(bits(k)), op = row.op;
    shorter(t.add("red.global." + op, k, k + " " + k,
                  "st.global" + width + " [%m], %a0; red.global." + op + " [%m], %a1; ld.global" +
                      width + " %d0, [%m];"));
    shorter(t.add("red.shared." + op, k, k + " " + k,
                  ".shared .align 8 .b8 cells[1024]; mov.u32 %t0, %tid.x; shl.b32 %t0, %t0, 3; "
                  "mov.u32 %t1, cells; add.u32 %t0, %t0, %t1; st.shared" +
                      width + " [%t0], %a0; red.shared." + op + " [%t0], %a1; ld.shared" + width +
                      " %d0, [%t0];"));
  }
}

}  // namespace

std::vector<Instruction> more_instructions() {
  Table table;
  arithmetic(table);
  comparisons(table);
  conversions(table);
  video(table);
  atomics(table);
  add_edge_rows(table);
  std::set<std::string> known;
  for (const auto& row : all_instructions()) known.insert(row.text);
  std::vector<Instruction> rows;
  for (auto& row : table.rows) {
    if (known.insert(row.text).second) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace ptx2spv::recorder
