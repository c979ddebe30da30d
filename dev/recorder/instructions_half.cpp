// f16, bf16 and their pairs.
#include "dev/recorder/instructions.hpp"

namespace ptx2spv::recorder {

void add_half_rows(Table& t) {
  for (const std::string type : {"f16", "f16x2", "bf16", "bf16x2"}) {
    const bool brain = type[0] == 'b';
    const std::string one = type, two = type + " " + type, three = two + " " + type;
    const std::string dot = "." + type;
    for (const std::string op : {"add", "sub", "mul"}) {
      for (const std::string r : {"", ".rn"}) {
        if (brain) {
          t.add(op + r + dot, one, two);
          continue;
        }
        for (const std::string z : {"", ".ftz"}) {
          for (const std::string s : {"", ".sat"}) t.add(op + r + z + s + dot, one, two);
        }
      }
    }
    for (const std::string z : {"", ".ftz"}) {
      if (brain && !z.empty()) continue;
      for (const std::string s : {"", ".sat", ".relu"}) {
        if (brain && s == ".sat") continue;
        t.add("fma.rn" + z + s + dot, one, three).count = 8192;
      }
    }
    if (brain) t.add("fma.rn.oob" + dot, one, three);
    for (const std::string op : {"neg", "abs"}) {
      t.add(op + dot, one, one);
      if (!brain) t.add(op + ".ftz" + dot, one, one);
    }
    for (const std::string op : {"min", "max"}) {
      for (const std::string z : {"", ".ftz"}) {
        if (brain && !z.empty()) continue;
        for (const std::string n : {"", ".NaN"}) {
          for (const std::string x : {"", ".xorsign.abs"}) t.add(op + z + n + x + dot, one, two);
        }
      }
    }
    t.add((brain ? "ex2.approx.ftz" : "ex2.approx") + dot, one, one);
    t.add("tanh.approx" + dot, one, one);
    const bool pair = type.ends_with("x2");
    for (const std::string cmp : {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu",
                                  "gtu", "geu", "num", "nan"}) {
      const std::string text = "setp." + cmp + dot;
      if (pair) {
        t.add(text, "pred pred", two, text + " %d0|%d1, %a0, %a1;");
      } else {
        t.add(text, "pred", two);
        if (!brain) t.add("setp." + cmp + ".ftz" + dot, "pred", two);
      }
      if (cmp == "lt" || cmp == "neu") {
        t.add("set." + cmp + dot + dot, one, two);
        t.add("set." + cmp + ".u32" + dot, "b32", two);
        t.add("set." + cmp + ".and.s32" + dot, "b32", two + " pred");
      }
    }
  }
  t.add("setp.lt.and.ftz.f16x2", "pred pred", "f16x2 f16x2 pred",
        "setp.lt.and.ftz.f16x2 %d0|%d1, %a0, %a1, %a2;");
  t.add("selp.b16", "b16", "b16 b16 pred");
}

}  // namespace ptx2spv::recorder
