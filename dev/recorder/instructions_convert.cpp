// cvt in every pair, rounding, .ftz and .sat.
#include "dev/recorder/instructions.hpp"

namespace ptx2spv::recorder {
namespace {

const std::string kIntegers[] = {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"};
const std::string kFloats[] = {"f16", "bf16", "f32", "f64"};

/// The operand kind of an integer type: 8-bit values sit in 32-bit registers.
std::string kind(const std::string& integer) { return "b" + integer.substr(1); }

}  // namespace

void add_convert_rows(Table& t) {
  for (const auto& to : kIntegers) {
    for (const auto& from : kIntegers) {
      for (const std::string s : {"", ".sat"})
        t.add("cvt" + s + "." + to + "." + from, kind(to), kind(from));
    }
  }
  t.add("cvt.u32.u16 wide source", "b32", "b32", "cvt.u32.u16 %d0, %a0;");
  t.add("cvt.s64.s16 wide source", "b64", "b64", "cvt.s64.s16 %d0, %a0;");
  t.add("cvt.s16.s8 wide result", "b32", "b32", "cvt.s16.s8 %d0, %a0;");
  for (const auto& to : kFloats) {
    for (const auto& from : kIntegers) {
      for (const std::string r : {".rn", ".rz", ".rm", ".rp"}) {
        t.add("cvt" + r + "." + to + "." + from, to, kind(from));
      }
      t.add("cvt.rn.sat." + to + "." + from, to, kind(from));
    }
  }
  for (const auto& from : kFloats) {
    for (const auto& to : kIntegers) {
      for (const std::string r : {".rni", ".rzi", ".rmi", ".rpi"}) {
        t.add("cvt" + r + "." + to + "." + from, kind(to), from);
        if (from == "f32") t.add("cvt" + r + ".ftz." + to + ".f32", kind(to), from);
      }
      t.add("cvt.rzi.sat." + to + "." + from, kind(to), from);
    }
    for (const auto& to : kFloats) {
      for (const std::string s : {"", ".sat"}) {
        for (const std::string z : {"", ".ftz"}) {
          t.add("cvt" + z + s + "." + to + "." + from, to, from);
          for (const std::string r : {".rn", ".rz", ".rm", ".rp", ".rni", ".rzi", ".rmi", ".rpi"}) {
            t.add("cvt" + r + z + s + "." + to + "." + from, to, from);
          }
        }
      }
    }
  }
  for (const std::string r : {".rn", ".rz"}) {
    for (const std::string x : {"", ".relu", ".satfinite", ".relu.satfinite"}) {
      t.add("cvt" + r + x + ".f16x2.f32", "b32", "f32 f32");
      t.add("cvt" + r + x + ".bf16x2.f32", "b32", "f32 f32");
      if (!x.empty()) {
        t.add("cvt" + r + x + ".f16.f32", "b16", "f32");
        t.add("cvt" + r + x + ".bf16.f32", "b16", "f32");
      }
    }
  }
  for (const std::string r : {".rna", ".rn", ".rz", ".rna.satfinite", ".rn.relu"})
    t.add("cvt" + r + ".tf32.f32", "b32", "f32");
  for (const std::string eight : {"e4m3x2", "e5m2x2"}) {
    for (const std::string x : {"", ".relu"}) {
      t.add("cvt.rn.satfinite" + x + "." + eight + ".f32", "b16", "f32 f32");
      t.add("cvt.rn.satfinite" + x + "." + eight + ".f16x2", "b16", "f16x2").count = 4096;
      t.add("cvt.rn" + x + ".f16x2." + eight, "b32", "b16");
    }
  }
  t.add("cvt.pack.sat.u8.s32.b32", "b32", "b32 b32 b32");
  t.add("cvt.pack.sat.s8.s32.b32", "b32", "b32 b32 b32");
  t.add("cvt.pack.sat.u16.s32", "b32", "b32 b32");
  t.add("cvt.pack.sat.s16.s32", "b32", "b32 b32");
  t.add("cvt.pack.sat.u4.s32.b32", "b32", "b32 b32 b32");
  t.add("cvt.pack.sat.s2.s32.b32", "b32", "b32 b32 b32");
}

}  // namespace ptx2spv::recorder
