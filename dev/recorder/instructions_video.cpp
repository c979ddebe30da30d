// The video instructions, scalar and SIMD.
#include "dev/recorder/instructions.hpp"

namespace ptx2spv::recorder {
namespace {

void scalar(Table& t) {
  const std::string signs[] = {"u32", "s32"};
  for (const std::string op : {"vadd", "vsub", "vabsdiff", "vmin", "vmax"}) {
    for (const auto& d : signs) {
      for (const auto& a : signs) {
        for (const auto& b : signs) {
          for (const std::string s : {"", ".sat"}) {
            const std::string text = op + "." + d + "." + a + "." + b + s;
            t.add(text, "b32", "b32 b32");
            t.add(text + " b1 h1", "b32", "b32 b32", text + " %d0, %a0.b1, %a1.h1;");
            if (a == b) continue;
            t.add(text + " min", "b32", "b32 b32 b32", text + ".min %d0, %a0.h0, %a1.b3, %a2;");
            t.add(text + " into b2", "b32", "b32 b32 b32", text + " %d0.b2, %a0, %a1.b0, %a2;");
          }
          const std::string text = op + "." + d + "." + a + "." + b;
          t.add(text + " add", "b32", "b32 b32 b32", text + ".add %d0, %a0.b2, %a1.h0, %a2;");
          t.add(text + ".sat max", "b32", "b32 b32 b32", text + ".sat.max %d0, %a0, %a1, %a2;");
          t.add(text + ".sat into h1", "b32", "b32 b32 b32", text + ".sat %d0.h1, %a0, %a1, %a2;");
        }
      }
    }
  }
  for (const std::string op : {"vshl", "vshr"}) {
    for (const auto& d : signs) {
      for (const auto& a : signs) {
        for (const std::string mode : {".clamp", ".wrap"}) {
          const std::string text = op + "." + d + "." + a + ".u32";
          t.add(text + mode, "b32", "b32 amount");
          t.add(text + ".sat" + mode, "b32", "b32 amount");
          t.add(text + ".sat" + mode + " b1 add", "b32", "b32 amount b32",
                text + ".sat" + mode + ".add %d0, %a0.b1, %a1.b0, %a2;");
          t.add(text + mode + " into b3", "b32", "b32 amount b32",
                text + mode + " %d0.b3, %a0.h1, %a1, %a2;");
        }
      }
    }
  }
  for (const auto& d : signs) {
    for (const auto& a : signs) {
      for (const auto& b : signs) {
        const std::string text = "vmad." + d + "." + a + "." + b;
        for (const std::string tail : {"", ".sat", ".shr7", ".sat.shr15"}) {
          t.add(text + tail, "b32", "b32 b32 b32");
          t.add(text + tail + " b0 h1", "b32", "b32 b32 b32",
                text + tail + " %d0, %a0.b0, %a1.h1, %a2;");
        }
        t.add(text + " minus a", "b32", "b32 b32 b32", text + " %d0, -%a0, %a1, %a2;");
        t.add(text + ".sat minus c", "b32", "b32 b32 b32", text + ".sat %d0, %a0, %a1, -%a2;");
        t.add(text + ".po", "b32", "b32 b32 b32", text + ".po %d0, %a0, %a1, %a2;");
        t.add(text + ".po.sat.shr7", "b32", "b32 b32 b32",
              text + ".po.sat.shr7 %d0, %a0.h0, %a1.h1, %a2;");
      }
    }
  }
  for (const auto& a : signs) {
    for (const auto& b : signs) {
      for (const std::string cmp : {"eq", "ne", "lt", "le", "gt", "ge"}) {
        const std::string text = "vset." + a + "." + b + "." + cmp;
        t.add(text, "b32", "b32 b32");
        t.add(text + " add", "b32", "b32 b32 b32", text + ".add %d0, %a0.b3, %a1.h1, %a2;");
        t.add(text + " into h0", "b32", "b32 b32 b32", text + " %d0.h0, %a0, %a1, %a2;");
      }
    }
  }
}

void simd(Table& t) {
  const std::string signs[] = {"u32", "s32"};
  for (const std::string n : {"2", "4"}) {
    for (const std::string op : {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"}) {
      for (const auto& d : signs) {
        for (const auto& a : signs) {
          for (const auto& b : signs) {
            const std::string text = op + n + "." + d + "." + a + "." + b;
            t.add(text, "b32", "b32 b32 b32").count = 2048;
            t.add(text + ".sat", "b32", "b32 b32 b32").count = 2048;
            t.add(text + ".add", "b32", "b32 b32 b32").count = 2048;
            const std::string selected = n == "2" ? " %d0.h1, %a0.h12, %a1.h30, %a2;"
                                                  : " %d0.b20, %a0.b7012, %a1.b0456, %a2;";
            t.add(text + ".sat selected", "b32", "b32 b32 b32", text + ".sat" + selected).count =
                2048;
          }
        }
      }
    }
    for (const auto& a : signs) {
      for (const auto& b : signs) {
        for (const std::string cmp : {"eq", "ne", "lt", "le", "gt", "ge"}) {
          const std::string text = "vset" + n + "." + a + "." + b + "." + cmp;
          t.add(text, "b32", "b32 b32 b32").count = 2048;
          t.add(text + ".add", "b32", "b32 b32 b32").count = 2048;
        }
      }
    }
  }
}

}  // namespace

void add_video_rows(Table& table) {
  scalar(table);
  simd(table);
}

}  // namespace ptx2spv::recorder
