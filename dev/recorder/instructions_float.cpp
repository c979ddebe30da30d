// f32 and f64.
#include "dev/recorder/instructions.hpp"

namespace ptx2spv::recorder {
namespace {

const char* const kRoundings[] = {".rn", ".rz", ".rm", ".rp"};
const char* const kFtz[] = {"", ".ftz"};
const char* const kSat[] = {"", ".sat"};

void arithmetic(Table& t) {
  for (const char* op : {"add", "sub", "mul", "fma"}) {
    const bool three = op[0] == 'f';
    for (const char* r : kRoundings) {
      for (const char* ftz : kFtz) {
        for (const char* sat : kSat) {
          t.add(std::string(op) + r + ftz + sat + ".f32", "f32", three ? "f32 f32 f32" : "f32 f32");
        }
      }
      t.add(std::string(op) + r + ".f64", "f64", three ? "f64 f64 f64" : "f64 f64");
    }
    if (!three) {
      t.add(std::string(op) + ".f32", "f32", "f32 f32");
      t.add(std::string(op) + ".f64", "f64", "f64 f64");
    }
  }
  t.add("mad.rn.f32", "f32", "f32 f32 f32");
  t.add("mad.rz.ftz.sat.f32", "f32", "f32 f32 f32");
  t.add("mad.rm.f64", "f64", "f64 f64 f64");
  for (const char* op : {"div", "rcp", "sqrt"}) {
    const bool two = op[0] == 'd';
    for (const char* r : kRoundings) {
      for (const char* ftz : kFtz)
        t.add(std::string(op) + r + ftz + ".f32", "f32", two ? "f32 f32" : "f32");
      t.add(std::string(op) + r + ".f64", "f64", two ? "f64 f64" : "f64");
    }
  }
  for (const char* ftz : kFtz) {
    const std::string z = ftz;
    t.add("div.approx" + z + ".f32", "f32", "f32 f32");
    t.add("div.full" + z + ".f32", "f32", "f32 f32");
    for (const char* op : {"rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos"}) {
      t.add(op + std::string(".approx") + z + ".f32", "f32", "f32").count = 8192;
    }
    t.add("rsqrt.approx" + z + ".f64", "f64", "f64");
  }
  t.add("rcp.approx.ftz.f64", "f64", "f64");
  t.add("tanh.approx.f32", "f32", "f32").count = 8192;
}

void selection(Table& t) {
  for (const char* op : {"min", "max"}) {
    for (const char* ftz : kFtz) {
      for (const char* nan : {"", ".NaN"}) {
        for (const char* x : {"", ".xorsign.abs"}) {
          t.add(std::string(op) + ftz + nan + x + ".f32", "f32", "f32 f32");
        }
      }
    }
    t.add(std::string(op) + ".f64", "f64", "f64 f64");
  }
  for (const char* op : {"neg", "abs"}) {
    for (const char* ftz : kFtz) t.add(std::string(op) + ftz + ".f32", "f32", "f32");
    t.add(std::string(op) + ".f64", "f64", "f64");
  }
  t.add("copysign.f32", "f32", "f32 f32");
  t.add("copysign.f64", "f64", "f64 f64");
  for (const char* what : {"finite", "infinite", "number", "notanumber", "normal", "subnormal"}) {
    t.add(std::string("testp.") + what + ".f32", "pred", "f32");
    t.add(std::string("testp.") + what + ".f64", "pred", "f64");
  }
  for (const char* cmp : {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu",
                          "geu", "num", "nan"}) {
    const std::string c = cmp;
    for (const char* ftz : kFtz) t.add("setp." + c + ftz + ".f32", "pred", "f32 f32");
    t.add("setp." + c + ".f64", "pred", "f64 f64");
    t.add("set." + c + ".u32.f32", "b32", "f32 f32");
    t.add("set." + c + ".f32.f32", "b32", "f32 f32");
  }
  for (const char* b : {"and", "or", "xor"}) {
    const std::string c = std::string("setp.lt.") + b;
    t.add(c + ".f32", "pred pred", "f32 f32 pred", c + ".f32 %d0|%d1, %a0, %a1, !%a2;");
    t.add(c + ".ftz.f32", "pred pred", "f32 f32 pred", c + ".ftz.f32 %d0|%d1, %a0, %a1, %a2;");
    t.add(std::string("set.geu.") + b + ".s32.f64", "b32", "f64 f64 pred");
    t.add(std::string("set.lt.") + b + ".ftz.f32.f32", "f32", "f32 f32 pred");
  }
  t.add("set.gt.ftz.s32.f32", "b32", "f32 f32");
  t.add("set.num.f32.f64", "f32", "f64 f64");
  t.add("set.eq.u32.f64", "b32", "f64 f64");
  t.add("selp.f32", "f32", "f32 f32 pred");
  t.add("selp.f64", "f64", "f64 f64 pred");
  t.add("slct.f32.f32", "f32", "f32 f32 f32");
  t.add("slct.ftz.f32.f32", "f32", "f32 f32 f32");
  t.add("slct.f64.f32", "f64", "f64 f64 f32");
  t.add("slct.f32.s32", "f32", "f32 f32 b32");
}

}  // namespace

void add_float_rows(Table& table) {
  arithmetic(table);
  selection(table);
}

}  // namespace ptx2spv::recorder
