// What stands as an operand: registers of every type, constants, special registers, variables; and
// the modifiers that belong to a name.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tests/ptx/statements.hpp"

namespace ptx2spv {

namespace {

/// The text with `value` for its 'X', of which there is one.
std::string filled(std::string text, const std::string& value) {
  return text.replace(text.find('X'), 1, value);
}

void names(std::vector<Group>& groups) {
  Group group{"names of instructions", {}};
  const std::array<Words, 2> kNames[] = {
      {{{"bar", "cta", "sync"}, {"0;"}}},
      {{{"bar", "warp", "sync"}, {"-1;"}}},
      {{{"bar", "cta", "arrive"}, {"0, 32;"}}},
      {{{"bar", "cta", "red", "popc", "u32"}, {"r0, 0, p0;"}}},
      {{{"bar", "red", "and", "pred"}, {"p1, 0, 32, p0;"}}},
      {{{"barrier", "cta", "sync", "aligned"}, {"0;"}}},
      {{{"barrier", "arrive", "aligned"}, {"0, 32;"}}},
      {{{"barrier", "cta", "arrive", "aligned"}, {"0, 32;"}}},
      {{{"barrier", "red", "or", "aligned", "pred"}, {"p1, 0, !p0;"}}},
      {{{"barrier", "cta", "red", "popc", "u32"}, {"r0, 0, p0;"}}},
      {{{"wmma", "load", "c", "sync", "row", "m16n16k16"}, {".f16 {r0,r1,r2,r3}, [d0];"}}},
      {{{"wmma", "store", "d", "sync", "row", "m16n16k16"}, {".f16 [d0], {r0,r1,r2,r3};"}}},
      {{{"ldmatrix", "sync", "aligned", "m8n8", "x2", "b16"}, {"{r0,r1}, [r2];"}}},
      {{{"cp", "async", "mbarrier", "arrive", "noinc", "b64"}, {"[d0];"}}},
      {{{"mbarrier", "arrive", "expect_tx", "shared", "b64"}, {"d1, [r0], 3;"}}},
      {{{"mbarrier", "arrive_drop", "noComplete", "shared", "b64"}, {"d1, [r0], r3;"}}},
      {{{"mbarrier", "test_wait", "parity", "shared", "b64"}, {"p0, [r0], r3;"}}},
      {{{"mbarrier", "complete_tx", "shared", "b64"}, {"[r0], r3;"}}},
      {{{"mbarrier", "pending_count", "b64"}, {"r0, d0;"}}},
      {{{"vote", "sync", "ballot", "b32"}, {"r0, p1, -1;"}}},
      {{{"atom", "relaxed", "gpu", "global", "add", "u32"}, {"r0, [d0], r1;"}}}};
  for (const auto& [words, rest] : kNames) {
    Words order(words.begin() + 1, words.end());
    std::ranges::sort(order);
    do {
      std::string text = words[0];
      for (const std::string& each : order) text += "." + each;
      text += (rest[0].front() == '.' ? "" : " ") + rest[0];
      group.statements.push_back({text, module_of("", text, "", "sm_90")});
    } while (std::ranges::next_permutation(order).found);
  }
  groups.push_back(std::move(group));
}

/// A register of each type as each operand. ptxas takes wider ones in cvt.pack and packed
/// conversions, which the manual lacks.
void registers(std::vector<Group>& groups) {
  Group group{"registers of instructions", {}};
  for (const std::string type : {"b8", "u16", "s16", "b16", "f16", "b32", "u32", "s32", "f32",
                                 "f16x2", "b64", "u64", "f64", "b128", "pred"})
    for (const std::string op : {"cvt.rn.satfinite.e4m3x2.f32 X, f0, f1;",
                                 "cvt.rn.satfinite.e5m2x2.f16x2 X, r1;",
                                 "cvt.rn.satfinite.e4m3x2.f16x2 h0, X;",
                                 "cvt.rn.f16x2.e4m3x2 r0, X;",
                                 "cvt.rn.f16x2.e5m2x2 X, h0;",
                                 "cvt.rna.tf32.f32 X, f0;",
                                 "cvt.rna.tf32.f32 r0, X;",
                                 "cvt.rn.relu.tf32.f32 X, f0;",
                                 "cvt.rn.f16.f32 X, f0;",
                                 "cvt.rn.bf16.f32 X, f0;",
                                 "cvt.f32.bf16 f0, X;",
                                 "cvt.f32.f16 f0, X;",
                                 "dp4a.u32.s32 X, r0, r1, r2;",
                                 "dp4a.u32.s32 r0, X, r1, r2;",
                                 "dp4a.u32.s32 r0, r1, X, r2;",
                                 "dp4a.u32.s32 r0, r1, r2, X;",
                                 "dp2a.lo.u32.s32 X, r0, r1, r2;",
                                 "dp2a.lo.u32.s32 r0, X, r1, r2;",
                                 "dp2a.lo.u32.s32 r0, r1, X, r2;",
                                 "dp2a.hi.s32.s32 r0, r1, r2, X;",
                                 "redux.sync.add.u32 X, r0, -1;",
                                 "redux.sync.add.s32 r0, X, -1;",
                                 "redux.sync.and.b32 r0, X, -1;",
                                 "redux.sync.and.b32 X, r0, -1;",
                                 "nanosleep.u32 X;",
                                 "sad.u32 X, r1, r2, r3;",
                                 "vadd.u32.u32.u32 X, r0, r1;",
                                 "vadd4.u32.u32.u32 r0, X, r1, r2;",
                                 "prmt.b32 r0, X, r1, r2;",
                                 "fns.b32 r0, r1, X, r2;",
                                 "fns.b32 r0, r1, r2, X;",
                                 "bfind.u32 X, r0;",
                                 "bmsk.clamp.b32 r0, X, r1;",
                                 "szext.wrap.u32 r0, X, r1;",
                                 "slct.u32.s32 r0, r1, r2, X;",
                                 "activemask.b32 X;",
                                 "match.any.sync.b64 X, d0, -1;",
                                 "match.all.sync.b64 X|p0, d0, -1;",
                                 "vote.sync.ballot.b32 X, p0, -1;",
                                 "shfl.sync.up.b32 r0, X, r1, 0, -1;",
                                 "elect.sync X|p0, -1;",
                                 "copysign.f32 f0, X, f1;",
                                 "testp.infinite.f32 p0, X;",
                                 "ex2.approx.f16 h0, X;",
                                 "tanh.approx.bf16 X, h0;",
                                 "fma.rn.bf16x2 r0, r1, X, r2;",
                                 "setp.lt.bf16 p0, X, h1;",
                                 "mov.b32 X, 0;",
                                 "ld.global.nc.u16 X, [d0];",
                                 "st.global.f32 [d0], X;",
                                 "alloca.u64 X, 16;"})
      group.statements.push_back(
          {type + ": " + op, module_of("", ".reg ." + type + " x; " + filled(op, "x"))});
  groups.push_back(std::move(group));
}

void sources(std::vector<Group>& groups) {
  Group values{"constants as sources", {}}, special{"special registers as sources", {}};
  for (const std::string value : {"1.0", "0f3F800000", "0d3FF0000000000000", "-1", "0x1ffffffff",
                                  "WARP_SZ", "%tid.x", "%clock64", "p0", "d0", "f0", "_", "v"})
    for (const std::string op : {"dp4a.u32.u32 r0, X, r1, r2;",
                                 "dp4a.s32.u32 r0, r1, X, r2;",
                                 "dp4a.u32.s32 r0, r1, r2, X;",
                                 "dp2a.hi.s32.s32 r0, r1, X, r2;",
                                 "dp2a.lo.u32.u32 r0, r1, r2, X;",
                                 "sad.u32 r0, r1, r2, X;",
                                 "shf.l.wrap.b32 r0, r1, r2, X;",
                                 "vadd.u32.u32.u32 r0, r1, X;",
                                 "fns.b32 r0, X, r1, r2;",
                                 "mul.wide.u16 r0, h1, X;",
                                 "min.s64 d0, d1, X;",
                                 "slct.u32.f32 r0, r1, r2, X;",
                                 "brev.b32 r0, X;",
                                 "redux.sync.add.u32 r0, X, -1;",
                                 "atom.global.add.u32 r0, [d0], X;",
                                 "red.global.add.f32 [d0], X;",
                                 "st.global.f64 [d0], X;",
                                 "mov.f32 f0, X;",
                                 "fma.rn.f32 f0, f1, f2, X;",
                                 "copysign.f32 f0, f1, X;",
                                 "nanosleep.u32 X;"})
      values.statements.push_back(
          {filled(op, value), module_of(".global .u32 v;", filled(op, value))});
  for (const std::string value :
       {"%tid.x", "%tid", "%laneid", "%clock64", "%gridid", "%envreg3", "%pm0_64", "WARP_SZ"})
    for (const std::string op :
         {"cvt.u64.u32 d0, X;", "cvt.u16.u32 h0, X;", "cvt.rn.f32.u32 f0, X;",
          "cvt.rz.f32.s32 f0, X;", "cvt.rn.f16.u32 h0, X;", "cvt.rn.f32.u64 f0, X;",
          "cvt.rn.f32.u16 f0, X;", "cvt.sat.u8.u32 r0, X;", "cvt.u32.u16 r0, X;",
          "cvt.u32.u8 r0, X;", "cvt.s64.s32 d0, X;", "cvt.u32.u64 r0, X;", "cvt.f64.f32 d0, X;",
          "cvt.rzi.u32.f32 r0, X;", "cvt.rn.bf16.u32 h0, X;", "cvt.s64.s8 d0, X;",
          "cvt.pack.sat.u8.s32.b32 r0, X, r1, r2;", "add.u32 r0, X, 1;", "mov.u16 h0, X;"})
      special.statements.push_back({filled(op, value), module_of("", filled(op, value))});
  groups.push_back(std::move(values));
  groups.push_back(std::move(special));
}

/// Variables of every space as addresses of every space.
void variables(std::vector<Group>& groups) {
  Group group{"variables as addresses", {}};
  for (const std::string name : {"c", "c+4", "e", "g", "sh", "lo", "pa"})
    for (const std::string op :
         {"ld.u32 r0, [X];", "ld.const.u32 r0, [X];", "st.u32 [X], r0;", "ld.volatile.u32 r0, [X];",
          "ld.relaxed.gpu.u32 r0, [X];", "ld.v2.u32 {r0,r1}, [X];", "atom.add.u32 r0, [X], r1;",
          "red.add.u32 [X], r1;", "ldu.u32 r0, [X];", "prefetch.L1 [X];", "prefetchu.L1 [X];",
          "ld.global.u32 r0, [X];", "ld.shared.u32 r0, [X];", "ld.local.u32 r0, [X];",
          "ld.param.u32 r0, [X];", "ld.global.nc.u32 r0, [X];", "st.const.u32 [X], r0;"}) {
      // ptxas crashes.
      if (name == "lo" && op.starts_with("atom")) continue;
      group.statements.push_back(
          {filled(op, name),
           module_of(".const .align 8 .b8 c[8]; .extern .const .u32 e; .global .u32 g; "
                     ".shared .u32 sh;",
                     ".local .u32 lo; " + filled(op, name), ".param .u32 pa")});
    }
  for (const std::string type : {".u32", ".u64", ".b64", ".f32"})
    for (const std::string value : {"x", "{x}", "x + 4", "generic(x)"}) {
      const std::string text = ".global " + type + " x = " + value + ";";
      group.statements.push_back({text, module_of(text, "")});
    }
  groups.push_back(std::move(group));
}

/// A product with half of a left out: `counts` registers of d, a, b and c.
struct Sparse {
  std::string name;
  std::array<unsigned, 4> counts{4, 2, 2, 4};
  std::string e = "e0", selector = "0", version = "9.0", target = "sm_90";
};

Statement sparse(const Sparse& how) {
  std::string text = how.name, body;
  const bool floats[] = {how.name.find(".f32.") != std::string::npos, false, false,
                         how.name.ends_with(".f32")};
  for (unsigned part = 0; part < 4; ++part) {
    const std::string name = std::string("x") + "dabc"[part];
    body += fmt::format(".reg .{} {}<8>; ", floats[part] ? "f32" : "b32", name);
    text += part ? ", {" : " {";
    for (unsigned i = 0; i < how.counts[part]; ++i)
      text += fmt::format("{}{}{}", i ? "," : "", name, i);
    text += "}";
  }
  text += fmt::format(", {}, {};", how.e, how.selector);
  return {fmt::format("{} {} {}", how.version, how.target, text),
          module_of("", ".reg .b32 e<2>; " + body + text, "", how.target, how.version)};
}

struct SparseShape {
  unsigned k;
  std::string types;
};

void sparse_products(std::vector<Group>& groups) {
  Group forms{"sparse products", {}}, operands{"operands of sparse products", {}};
  const Words kTypes{"f16.f16.f16.f16",   "f32.f16.f16.f32",   "f16.f16.f16.f32",
                     "f32.f16.f16.f16",   "f32.bf16.bf16.f32", "f16.bf16.bf16.f16",
                     "f32.f16.bf16.f32",  "f32.tf32.tf32.f32", "s32.s8.s8.s32",
                     "s32.s8.u8.s32",     "s32.u8.u8.s32",     "s32.s4.u4.s32",
                     "s32.u4.u4.s32",     "s32.s8.s4.s32",     "f32.e4m3.e4m3.f32",
                     "f32.e5m2.e4m3.f32", "f32.e5m2.e5m2.f32", "f16.e4m3.e4m3.f16",
                     "s32.b1.b1.s32",     "f64.f64.f64.f64",   "f32.e4m3.f16.f32"};
  const auto sums = [](const std::string& type) { return type == "f16" ? 2u : 4u; };
  for (const std::string variant : {"sp", "sp::ordered_metadata"})
    for (const unsigned k : {8u, 16u, 32u, 64u, 128u, 256u})
      for (const std::string& types : kTypes) {
        const std::string a = types.substr(4, types.find('.', 4) - 4);
        const unsigned bits = a == "f64"                  ? 64
                              : a == "tf32"               ? 32
                              : a == "f16" || a == "bf16" ? 16
                              : a == "b1"                 ? 1
                              : a == "s4" || a == "u4"    ? 4
                                                          : 8;
        const unsigned registers = k * bits / 128;
        if (registers == 0 || registers > 8) continue;
        Sparse how;
        how.name = fmt::format("mma.{}.sync.aligned.m16n8k{}.row.col.{}", variant, k, types);
        how.counts = {sums(types.substr(0, 3)), registers, registers,
                      sums(types.substr(types.size() - 3))};
        for (const std::string selector : {"0", "1", "2", "3"}) {
          how.selector = selector;
          forms.statements.push_back(sparse(how));
        }
        how.selector = "0";
        for (const auto& [version, target] : {std::pair{"7.0", "sm_80"},
                                              {"7.1", "sm_80"},
                                              {"8.3", "sm_89"},
                                              {"8.4", "sm_89"},
                                              {"8.5", "sm_90"},
                                              {"9.0", "sm_75"},
                                              {"9.0", "sm_86"},
                                              {"9.0", "sm_89"}}) {
          how.version = version;
          how.target = target;
          forms.statements.push_back(sparse(how));
        }
      }
  const SparseShape kShapes[] = {
      {16, "f16.f16.f16.f16"}, {8, "f32.tf32.tf32.f32"}, {32, "s32.s8.u8.s32"}};
  for (const auto& [k, types] : kShapes) {
    const std::string shape = fmt::format("m16n8k{}", k), behind = "." + types;
    Sparse how;
    how.counts = {sums(types.substr(0, 3)), 2, 2, sums(types.substr(0, 3))};
    const auto add = [&](const std::string& name) {
      how.name = name;
      operands.statements.push_back(sparse(how));
    };
    const std::string front = "mma.sp.sync.aligned.", full = front + shape + ".row.col" + behind;
    for (const std::string layouts : {".row.row", ".col.col", ".col.row", ".row", ""})
      add(front + shape + layouts + behind);
    for (const std::string more : {".satfinite", ".rn", ".relu", ".xor.popc", ".sp"})
      add(front + shape + ".row.col" + more + behind);
    for (const std::string head :
         {"mma.sync.aligned.sp.", "mma.sync.sp.aligned.", "mma.sp.aligned.sync.", "mma.sp.sync.",
          "mma.sp.aligned.", "mma.sp.sp::ordered_metadata.sync.aligned.", "mma.sp::ordered.sync.",
          "mma.sync.aligned.", "wmma.sp.sync.aligned."})
      add(head + shape + ".row.col" + behind);
    add("mma." + shape + ".sp.sync.aligned.row.col" + behind);
    add(front + "row.col." + shape + behind);
    for (unsigned part = 0; part < 4; ++part)
      for (const int change : {-1, 1, 2}) {
        const auto counts = how.counts;
        how.counts[part] = static_cast<unsigned>(static_cast<int>(counts[part]) + change);
        add(full);
        how.counts = counts;
      }
    for (const std::string e : {"r0", "h0", "d0", "f0", "p0", "0", "0xeeeeeeee", "{e0}", "{e0,e1}",
                                "%laneid", "_", "-e0", "v", "u", "s", "hh"}) {
      how.e = e;
      how.name = full;
      Statement each = sparse(how);
      const std::size_t body = each.module.find(".reg .b32 e<2>;");
      each.module.insert(body, ".reg .u32 u; .reg .s32 s; .reg .f16x2 hh; .reg .v2 .b32 v; ");
      operands.statements.push_back(std::move(each));
    }
    how.e = "e0";
    for (const std::string selector :
         {"4", "-1", "0x0", "1+1", "0U", "1.0", "r0", "e0", "%laneid", "{0}", "WARP_SZ",
          "WARP_SZ-32", "0x100000000", "1, 0", "!0", "(1)", "01"}) {
      how.selector = selector;
      add(full);
    }
  }
  groups.push_back(std::move(forms));
  groups.push_back(std::move(operands));
}

}  // namespace

void add_operands(std::vector<Group>& groups) {
  names(groups);
  registers(groups);
  sources(groups);
  variables(groups);
  sparse_products(groups);
}

}  // namespace ptx2spv
