// Rows whose operands are made by the kernel out of its inputs, so that every tuple falls on an
// edge: results at the least normal number, where .ftz has to decide, and the NaN that .oob knows.
#include "dev/recorder/instructions.hpp"

namespace ptx2spv::recorder {
namespace {

const char* const kRoundings[] = {".rn", ".rz", ".rm", ".rp"};

/// x = 1.m * 2^-63 and y, its reciprocal times 2^-63: the product is 2^-126 but for the rounding of
/// the reciprocal.
const std::string kReciprocals =
    "and.b32 %t0, %a0, 0x807fffff; or.b32 %t0, %t0, 0x3f800000; rcp.rn.f32 %t1, %t0; "
    "and.b32 %t2, %a0, 0x800000; sub.u32 %t0, %t0, 0x1f800000; sub.u32 %t1, %t1, 0x1f800000; "
    "shr.u32 %t2, %t2, 23; sub.u32 %t1, %t1, %t2; ";

void single(Table& t) {
  for (const std::string r : kRoundings) {
    for (const std::string s : {"", ".sat"}) {
      const std::string z = r + ".ftz" + s + ".f32";
      t.add("mul" + z + " least normal", "f32", "b32",
            kReciprocals + "mul" + z + " %d0, %t0, %t1;");
      t.add("fma" + z + " least normal", "f32", "b32",
            kReciprocals + "fma" + z + " %d0, %t0, %t1, 0f80000000;");
      // 2^-125 - 2^-126, either side of it by less than a denormal's unit
      t.add("fma" + z + " difference", "f32", "b32",
            kReciprocals +
                "add.u32 %t1, %t1, 0x800000; and.b32 %t2, %a0, 0x80000000; "
                "xor.b32 %t2, %t2, 0x80800000; fma" +
                z + " %d0, %t0, %t1, %t2;");
    }
    const std::string z = r + ".ftz.f32";
    // mantissas one apart, quotient just under 2^-126
    t.add("div" + z + " least normal", "f32", "b32 b32",
          "and.b32 %t0, %a0, 0x807fffff; or.b32 %t0, %t0, 0x20000000; and.b32 %t1, %a0, 0x7fffff; "
          "or.b32 %t1, %t1, 0x5f000000; and.b32 %t2, %a1, 3; add.u32 %t1, %t1, %t2; div" +
              z + " %d0, %t0, %t1;");
    t.add("rcp" + z + " least normal", "f32", "b32",
          "and.b32 %t0, %a0, 0x80000007; add.u32 %t0, %t0, 0x7e7ffffc; rcp" + z + " %d0, %t0;");
    t.add("add" + z + " least normal", "f32", "b32 b32",
          "and.b32 %t0, %a0, 0x807fffff; or.b32 %t0, %t0, 0x00800000; and.b32 %t1, %a1, "
          "0x807fffff; or.b32 %t1, %t1, 0x00800000; add" +
              z + " %d0, %t0, %t1;");
    // a double just under 2^-126
    t.add("cvt" + z + ".f64 least normal", "f32", "b64",
          "{.reg .b64 w; and.b64 w, %a0, 0x800000007fffffff; sub.s64 w, 0x3810000040000000, w; "
          "cvt" +
              z + ".f64 %d0, w;}");
  }
}

/// Half precision: x = 1.m * 2^-7, y within eight units of its reciprocal.
const std::string kHalves =
    "{.reg .b16 x, y, z; and.b32 %t0, %a0, 0x3ff; or.b32 %t1, %t0, 0x2000; cvt.u16.u32 x, %t1; "
    "add.u32 %t0, %t0, 1024; div.u32 %t0, 2097152, %t0; shr.u32 %t1, %a0, 10; and.b32 %t1, %t1, "
    "15; add.u32 %t0, %t0, %t1; sub.u32 %t0, %t0, 1032; max.s32 %t0, %t0, 0; ";

void half(Table& t) {
  for (const std::string s : {"", ".sat"}) {
    const std::string z = ".rn.ftz" + s + ".f16";
    t.add("mul" + z + " least normal", "f16", "b32",
          kHalves + "add.u32 %t0, %t0, 0x1c00; cvt.u16.u32 y, %t0; mul" + z + " %d0, x, y;}");
    t.add("fma" + z + " least normal", "f16", "b32",
          kHalves + "add.u32 %t0, %t0, 0x1c00; cvt.u16.u32 y, %t0; mov.b16 z, 0x8000; fma" + z +
              " %d0, x, y, z;}");
    t.add("fma" + z + " difference", "f16", "b32",
          kHalves + "add.u32 %t0, %t0, 0x2000; cvt.u16.u32 y, %t0; mov.b16 z, 0x8400; fma" + z +
              " %d0, x, y, z;}");
  }
}

/// One operand of fma with .oob over all its values.
void out_of_bounds(Table& t) {
  for (const std::string type : {"f16", "bf16"}) {
    const std::string one = type == "f16" ? "0x3c00" : "0x3f80";
    const std::string with = "{.reg .b16 x, y; mov.b16 x, " + one + "; mov.b16 y, 0x4000; fma.rn";
    for (const std::string x : {".oob.", ".oob.relu."}) {
      const std::string text = "fma.rn" + x + type, op = with + x + type;
      t.add(text + " all a", type, type, op + " %d0, %a0, x, y;}");
      t.add(text + " all b", type, type, op + " %d0, x, %a0, y;}");
      t.add(text + " all c", type, type, op + " %d0, x, y, %a0;}");
      const std::string two = type + "x2", pair = "fma.rn" + x + two;
      const std::string pairs = "{.reg .b16 x, y; .reg .b32 p, q; mov.b16 x, " + one +
                                "; mov.b16 y, 0x4000; mov.b32 p, {%a0, x}; mov.b32 q, {x, y}; " +
                                pair;
      t.add(pair + " all low a", "b32", type, pairs + " %d0, p, q, q;}");
      t.add(pair + " all low b", "b32", type, pairs + " %d0, q, p, q;}");
      t.add(pair + " all low c", "b32", type, pairs + " %d0, q, q, p;}");
    }
  }
}

}  // namespace

void add_edge_rows(Table& table) {
  single(table);
  half(table);
  out_of_bounds(table);
}

}  // namespace ptx2spv::recorder
