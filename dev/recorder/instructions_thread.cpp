// Instructions over a warp's lanes, with all lanes present, and atomics on a memory cell of the
// thread's own.
#include "dev/recorder/instructions.hpp"

namespace ptx2spv::recorder {
namespace {

void warp(Table& t) {
  for (const std::string mode : {"up", "down", "bfly", "idx"}) {
    const std::string text = "shfl.sync." + mode + ".b32";
    t.add(text, "b32 pred", "b32 amount segment", text + " %d0|%d1, %a0, %a1, %a2, -1;");
  }
  for (const std::string mode : {"all", "any", "uni"}) {
    const std::string text = "vote.sync." + mode + ".pred";
    t.add(text, "pred", "b32",
          "and.b32 %t0, %a0, 15; setp.ne.u32 %q0, %t0, 0; " + text + " %d0, %q0, -1;");
    t.add(text + " negated", "pred", "b32",
          "and.b32 %t0, %a0, 15; setp.ne.u32 %q0, %t0, 0; " + text + " %d0, !%q0, -1;");
  }
  t.add("vote.sync.ballot.b32", "b32", "pred", "vote.sync.ballot.b32 %d0, %a0, -1;");
  t.add("match.any.sync.b32", "b32", "b32",
        "and.b32 %t0, %a0, 3; match.any.sync.b32 %d0, %t0, -1;");
  t.add("match.any.sync.b64", "b32", "b64", "match.any.sync.b64 %d0, %a0, -1;");
  t.add("match.all.sync.b32", "b32 pred", "b32",
        "and.b32 %t0, %a0, 0; match.all.sync.b32 %d0|%d1, %t0, -1;");
  t.add("match.all.sync.b32 differing", "b32 pred", "b32", "match.all.sync.b32 %d0|%d1, %a0, -1;");
  for (const std::string op : {"add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32",
                               "and.b32", "or.b32", "xor.b32"}) {
    const std::string text = "redux.sync." + op;
    t.add(text, "b32", "b32", text + " %d0, %a0, -1;");
  }
  t.add("activemask.b32", "b32", "b32", "activemask.b32 %d0;").count = 128;
  t.add("elect.sync", "b32 pred", "b32", "elect.sync %d0|%d1, -1;").count = 128;
  for (const std::string name :
       {"laneid", "lanemask_eq", "lanemask_le", "lanemask_lt", "lanemask_ge", "lanemask_gt"}) {
    t.add("mov.u32 " + name, "b32", "b32", "mov.u32 %d0, %" + name + ";").count = 128;
  }
}

void atomics(Table& t) {
  struct Row {
    const char *op, *kind;
  };
  for (const Row row : {Row{"add.u32", "b32"},      {"add.s32", "b32"},
                        {"add.u64", "b64"},         {"add.f32", "f32"},
                        {"add.f64", "f64"},         {"add.noftz.f16x2", "f16x2"},
                        {"add.noftz.f16", "f16"},   {"add.noftz.bf16x2", "bf16x2"},
                        {"add.noftz.bf16", "bf16"}, {"min.u32", "b32"},
                        {"min.s32", "b32"},         {"min.u64", "b64"},
                        {"min.s64", "b64"},         {"max.u32", "b32"},
                        {"max.s32", "b32"},         {"max.u64", "b64"},
                        {"max.s64", "b64"},         {"and.b32", "b32"},
                        {"and.b64", "b64"},         {"or.b32", "b32"},
                        {"or.b64", "b64"},          {"xor.b32", "b32"},
                        {"xor.b64", "b64"},         {"exch.b32", "b32"},
                        {"exch.b64", "b64"},        {"inc.u32", "b32"},
                        {"dec.u32", "b32"}}) {
    const std::string kind = row.kind, op = row.op;
    const std::string bits = std::to_string(register_bits(parse_kinds(kind)[0]));
    t.add("atom.global." + op, kind + " " + kind, kind + " " + kind,
          "st.global.b" + bits + " [%m], %a0; atom.global." + op + " %d0, [%m], %a1; ld.global.b" +
              bits + " %d1, [%m];");
    t.add("atom.shared." + op, kind + " " + kind, kind + " " + kind,
          ".shared .align 8 .b8 cells[1024]; mov.u32 %t0, %tid.x; shl.b32 %t0, %t0, 3; mov.u32 "
          "%t1, cells; "
          "add.u32 %t0, %t0, %t1; st.shared.b" +
              bits + " [%t0], %a0; atom.shared." + op + " %d0, [%t0], %a1; ld.shared.b" + bits +
              " %d1, [%t0];");
  }
  for (const std::string bits : {"16", "32", "64"}) {
    const std::string k = "b" + bits;
    t.add("atom.global.cas." + k, k + " " + k, k + " " + k + " " + k,
          "st.global." + k + " [%m], %a0; atom.global.cas." + k +
              " %d0, [%m], %a1, %a2; ld.global." + k + " %d1, [%m];");
    t.add("atom.shared.cas." + k, k + " " + k, k + " " + k + " " + k,
          ".shared .align 8 .b8 cells[1024]; mov.u32 %t0, %tid.x; shl.b32 %t0, %t0, 3; mov.u32 "
          "%t1, cells; "
          "add.u32 %t0, %t0, %t1; st.shared." +
              k + " [%t0], %a0; atom.shared.cas." + k + " %d0, [%t0], %a1, %a2; ld.shared." + k +
              " %d1, [%t0];");
  }
}

}  // namespace

void add_thread_rows(Table& table) {
  warp(table);
  atomics(table);
}

}  // namespace ptx2spv::recorder
