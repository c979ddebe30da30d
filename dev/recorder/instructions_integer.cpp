// Integer arithmetic, comparison and carry chains.
#include "dev/recorder/instructions.hpp"

namespace ptx2spv::recorder {
namespace {

const std::string kTypes[] = {"u16", "s16", "u32", "s32", "u64", "s64"};
std::string kind(const std::string& type) { return "b" + type.substr(1); }

void carries(Table& t) {
  for (const std::string type : {"u32", "s32", "u64", "s64"}) {
    const std::string k = kind(type), four = k + " " + k + " " + k + " " + k;
    const std::string flag = " addc." + type + " %d2, 0, 0;",
                      borrow = " subc." + type + " %d2, 0, 0;";
    const std::string three = k + " " + k + " " + k;
    t.add("add.cc." + type, three, four,
          "add.cc." + type + " %d0, %a0, %a1; addc.cc." + type + " %d1, %a2, %a3;" + flag);
    t.add("sub.cc." + type, three, four,
          "sub.cc." + type + " %d0, %a0, %a1; subc.cc." + type + " %d1, %a2, %a3;" + borrow);
    t.add("mad.lo.cc." + type, three, four,
          "mad.lo.cc." + type + " %d0, %a0, %a1, %a2; madc.hi.cc." + type + " %d1, %a0, %a1, %a3;" +
              flag);
    t.add("mad.hi.cc." + type, three, four,
          "mad.hi.cc." + type + " %d0, %a0, %a1, %a2; madc.lo.cc." + type + " %d1, %a0, %a1, %a3;" +
              flag);
    t.add("madc.lo." + type, k + " " + k, four,
          "add.cc." + type + " %d0, %a0, %a1; madc.lo." + type + " %d1, %a1, %a2, %a3;");
    t.add("madc.hi." + type, k + " " + k, four,
          "add.cc." + type + " %d0, %a0, %a1; madc.hi." + type + " %d1, %a1, %a2, %a3;");
    t.add("sub.cc then addc." + type, k + " " + k, four,
          "sub.cc." + type + " %d0, %a0, %a1; addc." + type + " %d1, %a2, %a3;");
    t.add("add.cc then subc." + type, k + " " + k, four,
          "add.cc." + type + " %d0, %a0, %a1; subc." + type + " %d1, %a2, %a3;");
  }
}

void packed(Table& t) {
  for (const std::string type : {"u16x2", "s16x2"}) {
    t.add("add." + type, "b32", "b32 b32");
    for (const std::string op : {"min", "max"}) {
      t.add(op + "." + type, "b32", "b32 b32");
      if (type[0] == 's') t.add(op + ".relu." + type, "b32", "b32 b32");
    }
  }
  for (const std::string a : {"u32", "s32"}) {
    for (const std::string b : {"u32", "s32"}) {
      t.add("dp4a." + a + "." + b, "b32", "b32 b32 b32");
      t.add("dp2a.lo." + a + "." + b, "b32", "b32 b32 b32");
      t.add("dp2a.hi." + a + "." + b, "b32", "b32 b32 b32");
    }
  }
}

}  // namespace

void add_integer_rows(Table& t) {
  for (const auto& type : kTypes) {
    const std::string k = kind(type), two = k + " " + k, three = two + " " + k, dot = "." + type;
    for (const std::string op : {"add", "sub", "div", "rem", "min", "max", "mul.lo", "mul.hi"}) {
      t.add(op + dot, k, two);
    }
    t.add("mad.lo" + dot, k, three);
    t.add("mad.hi" + dot, k, three);
    t.add("sad" + dot, k, three);
    const unsigned bits = static_cast<unsigned>(std::stoul(type.substr(1)));
    if (bits < 64) {
      const std::string wide = "b" + std::to_string(bits * 2);
      t.add("mul.wide" + dot, wide, two);
      t.add("mad.wide" + dot, wide, two + " " + wide);
    }
    if (type[0] == 's') {
      t.add("neg" + dot, k, k);
      t.add("abs" + dot, k, k);
    }
    for (const std::string cmp : {"eq", "ne", "lt", "le", "gt", "ge"})
      t.add("setp." + cmp + dot, "pred", two);
    if (type[0] == 'u') {
      for (const std::string cmp : {"lo", "ls", "hi", "hs"})
        t.add("setp." + cmp + dot, "pred", two);
    }
    t.add("setp.lt.and" + dot, "pred pred", two + " pred",
          "setp.lt.and" + dot + " %d0|%d1, %a0, %a1, %a2;");
    t.add("setp.ge.xor" + dot, "pred pred", two + " pred",
          "setp.ge.xor" + dot + " %d0|%d1, %a0, %a1, !%a2;");
    t.add("set.le.u32" + dot, "b32", two);
    t.add("set.gt.or.f32" + dot, "f32", two + " pred");
    t.add("selp" + dot, k, two + " pred");
    t.add("slct" + dot + ".s32", k, two + " b32");
    t.add("slct" + dot + ".f32", k, two + " f32");
  }
  for (const std::string type : {"b16", "b32", "b64"}) {
    const std::string two = type + " " + type;
    t.add("setp.eq." + type, "pred", two);
    t.add("setp.ne." + type, "pred", two);
  }
  for (const std::string op : {"add.sat.s32", "sub.sat.s32", "min.relu.s32", "max.relu.s32",
                               "mul24.lo.u32", "mul24.hi.u32", "mul24.lo.s32", "mul24.hi.s32"}) {
    t.add(op, "b32", "b32 b32");
  }
  for (const std::string op : {"mad.hi.sat.s32", "mad24.lo.u32", "mad24.hi.u32", "mad24.lo.s32",
                               "mad24.hi.s32", "mad24.hi.sat.s32"}) {
    t.add(op, "b32", "b32 b32 b32");
  }
  carries(t);
  packed(t);
}

}  // namespace ptx2spv::recorder
