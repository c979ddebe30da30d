// What instructions, their modifiers and special registers need: the first PTX version and target.
#include <array>

#include "tests/ptx/statements.hpp"

namespace ptx2spv {

namespace {

/// A version and a target that it knows.
struct Age {
  const char *version, *target;
};
constexpr Age kAges[] = {
    {"1.0", "sm_10"}, {"1.1", "sm_11"}, {"1.3", "sm_13"}, {"1.4", "sm_10"}, {"1.5", "sm_13"},
    {"2.0", "sm_13"}, {"2.0", "sm_20"}, {"2.2", "sm_20"}, {"3.0", "sm_30"}, {"3.1", "sm_20"},
    {"3.2", "sm_35"}, {"4.2", "sm_53"}, {"4.3", "sm_13"}, {"4.3", "sm_30"}, {"5.0", "sm_60"},
    {"6.0", "sm_62"}, {"6.0", "sm_70"}, {"6.2", "sm_70"}, {"6.3", "sm_70"}, {"7.0", "sm_80"},
    {"7.1", "sm_80"}, {"7.5", "sm_62"}, {"7.8", "sm_75"}, {"7.8", "sm_86"}, {"7.8", "sm_89"},
    {"7.8", "sm_90"}, {"8.0", "sm_89"}, {"8.1", "sm_89"}, {"8.2", "sm_90"}, {"8.3", "sm_70"},
    {"8.3", "sm_90"}, {"8.4", "sm_80"}, {"8.4", "sm_90"}, {"9.0", "sm_60"}, {"9.0", "sm_75"}};

void add(Group& group, const std::string& globals, const std::string& line) {
  for (const auto& [version, target] : kAges) {
    const std::string named = std::string(version) + " " + target + ": ";
    // Textures are of PTX 1.5, special types of what their registers are.
    if (!globals.empty() && std::string(version) < "1.5") continue;
    group.statements.push_back({named + line, module_of(globals, line, "", target, version)});
  }
}

constexpr const char* kMemory[] = {"ld.u32 r0, [d0];",
                                   "ld.global.u32 r0, [d0];",
                                   "ld.volatile.u32 r0, [d0];",
                                   "ld.volatile.global.u32 r0, [d0];",
                                   "ld.global.ca.u32 r0, [d0];",
                                   "ld.shared.cv.u32 r0, [r1];",
                                   "ld.weak.global.u32 r0, [d0];",
                                   "ld.relaxed.gpu.global.u32 r0, [d0];",
                                   "ld.global.nc.u32 r0, [d0];",
                                   "ld.param::entry.u32 r0, [d0];",
                                   "ld.global.L1::no_allocate.u32 r0, [d0];",
                                   "ld.global.L2::128B.u32 r0, [d0];",
                                   "ld.mmio.relaxed.sys.global.u32 r0, [d0];",
                                   "st.u32 [d0], r0;",
                                   "st.global.wt.u32 [d0], r0;",
                                   "st.weak.shared.u32 [r1], r0;",
                                   "st.release.gpu.u32 [d0], r0;",
                                   "{ .reg .b128 q; ld.acquire.sys.b128 q, [d0]; }",
                                   "{ .reg .b128 q; st.relaxed.gpu.b128 [d0], q; }",
                                   "atom.global.add.u32 r0, [d0], r1;",
                                   "atom.shared.add.u32 r0, [r2], r1;",
                                   "atom.add.u32 r0, [d0], r1;",
                                   "atom.global.add.u64 d1, [d0], d2;",
                                   "atom.shared.exch.b64 d1, [r2], d2;",
                                   "atom.global.add.f32 f0, [d0], f1;",
                                   "atom.global.min.u64 d1, [d0], d2;",
                                   "atom.acq_rel.cta.global.add.u32 r0, [d0], r1;",
                                   "atom.gpu.global.add.u32 r0, [d0], r1;",
                                   "atom.global.add.noftz.f16 h0, [d0], h1;",
                                   "atom.global.add.noftz.f16x2 r0, [d0], r1;",
                                   "{ .reg .b128 q; atom.sys.global.exch.b128 q, [d0], q; }",
                                   "{ .reg .b128 q; atom.gpu.global.exch.b128 q, [d0], q; }",
                                   "red.global.add.u32 [d0], r1;",
                                   "red.shared.add.u64 [r2], d1;",
                                   "red.release.gpu.global.add.u32 [d0], r1;",
                                   "red.add.u32 [d0], r1;",
                                   "membar.gl;",
                                   "membar.sys;",
                                   "cvta.global.u64 d0, d1;",
                                   "cvta.to.const.u64 d0, d1;",
                                   "cvta.param.u64 d0, d1;",
                                   "isspacep.const p0, d0;",
                                   "isspacep.param::entry p0, d0;"};

constexpr const char* kNumbers[] = {"add.rz.f32 f0, f1, f2;",
                                    "add.rm.f32 f0, f1, f2;",
                                    "mul.rp.ftz.f32 f0, f1, f2;",
                                    "sub.ftz.f32 f0, f1, f2;",
                                    "mad.rn.f32 f0, f1, f2, f3;",
                                    "div.full.f32 f0, f1, f2;",
                                    "div.rn.f32 f0, f1, f2;",
                                    "rcp.rz.f32 f0, f1;",
                                    "sin.approx.f32 f0, f1;",
                                    "div.approx.f32 f0, f1, f2;",
                                    "{ .reg .f64 g; rsqrt.approx.f64 g, g; }",
                                    "sqrt.rn.f32 f0, f1;",
                                    "{ .reg .f64 g; div.rm.f64 g, g, g; }",
                                    "{ .reg .f64 g; sqrt.rp.f64 g, g; }",
                                    "set.lt.ftz.u32.f32 r0, f0, f1;",
                                    "cvt.rzi.ftz.u32.f32 r0, f0;",
                                    "cvt.rzi.ftz.u64.f32 d0, f0;",
                                    "cvt.ftz.f32.bf16 f0, h0;",
                                    "cvt.f32.bf16 f0, h0;",
                                    "cvt.rp.ftz.bf16.f32 h0, f0;",
                                    "cvt.rz.ftz.f32.s64 f0, d0;",
                                    "cvt.rn.ftz.f32.u8 f0, r0;",
                                    "cvt.rn.satfinite.relu.e4m3x2.f16x2 h0, r0;",
                                    "cvt.rn.bf16.f32 h0, f0;",
                                    "cvt.rn.satfinite.f16x2.f32 r0, f0, f1;",
                                    "cvt.rn.relu.bf16x2.f32 r0, f0, f1;",
                                    "cvt.rna.tf32.f32 r0, f0;",
                                    "cvt.rna.satfinite.tf32.f32 r0, f0;",
                                    "cvt.rn.satfinite.e4m3x2.f32 h0, f0, f1;",
                                    "cvt.rn.f16x2.e5m2x2 r0, h0;",
                                    "add.cc.u32 r0, r1, r2;",
                                    "sub.cc.u32 r0, r1, r2;",
                                    "addc.u32 r0, r1, r2;",
                                    "subc.cc.u32 r0, r1, r2;",
                                    "add.cc.u64 d0, d1, d2;"};

constexpr const char* kTextures[] = {
    "tex.a1d.v4.f32.f32 {f0,f1,f2,f3}, [t, {r0,f4}];",
    "tex.2d.v4.f32.f32 {f0,f1,f2,f3}|p0, [t, {f4,f5}];",
    "tex.2d.v4.f32.f32 {f0,f1,f2,f3}, [t, t, {f4,f5}];",
    "tex.2d.v4.f32.f32 {f0,f1,f2,f3}, [d0, d1, {f4,f5}];",
    "tex.grad.2d.v4.f32.f32 {f0,f1,f2,f3}, [t, {f4,f5}], {f4,f5}, {f4,f5};",
    "tex.grad.cube.v4.f32.f32 {f0,f1,f2,f3}, [t, {f4,f5,f6,f6}], {f4,f5,f6,f6}, {f4,f5,f6,f6};",
    "tex.level.cube.v4.f32.f32 {f0,f1,f2,f3}, [t, {f4,f5,f6,f6}], f0;",
    "tld4.r.2d.v4.f32.f32 {f0,f1,f2,f3}|p0, [t, {f4,f5}];",
    "suld.b.2d.cg.b32.trap r0, [s, {r1,r2}];",
    "sust.b.2d.wt.b32.zero [s, {r1,r2}], r0;",
    "sust.p.a2d.v4.b32.trap [s, {r1,r2,r3,r4}], {r4,r5,r6,r7};",
    "sured.b.min.2d.u64.trap [s, {r1,r2}], d0;"};

constexpr const char* kSpecial[] = {"mov.u32 r0, %aggr_smem_size;",
                                    "mov.u64 d0, %clock64;",
                                    "mov.u32 r0, %clock_hi;",
                                    "mov.u32 r0, %clusterid.x;",
                                    "mov.u32 r0, %cluster_ctarank;",
                                    "mov.u64 d0, %current_graph_exec;",
                                    "mov.u32 r0, %laneid;",
                                    "mov.u32 r0, %dynamic_smem_size;",
                                    "mov.u64 d0, %globaltimer;",
                                    "mov.pred p0, %is_explicit_cluster;",
                                    "mov.u32 r0, %lanemask_lt;",
                                    "mov.u32 r0, %nsmid;",
                                    "mov.u32 r0, %nwarpid;",
                                    "mov.b32 r0, %reserved_smem_offset_begin;",
                                    "mov.u32 r0, %pm3;",
                                    "mov.u32 r0, %pm4;",
                                    "mov.u64 d0, %pm0_64;",
                                    "mov.u32 r0, %total_smem_size;"};

/// Words of sections, files and bodies.
void sources(Group& group) {
  for (const auto& [version, target] : kAges)
    for (const std::string text :
         {".file 1 \"a\"", ".file 1 \"a\", 3, 4", ".section .debug_info { .b8 1 }",
          ".section .debug_info { .b64 x+3\n}", ".section .debug_info { x:\n .b8 1\n}",
          ".section .debug_info { .b8 -1\n}", ".func f() { .param .b32 x; ret; }"})
      group.statements.push_back({std::string(version) + " " + target + ": " + text,
                                  module_of(text, "", "", target, version)});
}

/// Orders, lines of preprocessors, and labels by number.
void shapes(Group& group) {
  for (const std::string text : {"ldmatrix.sync.m8n8.x2.shared.b16 {r0,r1}, [r2];",
                                 "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {r0,r1}, [r2];",
                                 "stmatrix.sync.m8n8.x2.shared.b16 [r2], {r0,r1};",
                                 "stmatrix.sync.aligned.m8n8.x2.shared.b16 [r2], {r0,r1};",
                                 "cp.async.ca.shared.global [r0], [d0], 4;",
                                 "cp.async.ca.global.shared [r0], [d0], 4;",
                                 "cp.async.shared.global.ca [r0], [d0], 4;",
                                 "cp.async.global.ca.shared [r0], [d0], 4;",
                                 "cp.async.cg.shared.global.L2::128B [r0], [d0], 16;",
                                 "cp.async.cg.global.shared.L2::128B [r0], [d0], 16;",
                                 "bar.sync 15;",
                                 "bar.sync 16;",
                                 "bar.sync 4294967296;",
                                 "bar.sync 4294967311;",
                                 "bar.sync 4294967312;",
                                 "barrier.sync 0x100000005;",
                                 "T: .branchtargets L<2>; brx.idx r0, T; L0: L1:",
                                 "T: .branchtargets M, L<2>; brx.idx r0, T; L0: L1: M:",
                                 "T: .branchtargets L<2>, M; brx.idx r0, T; L0: L1: M:",
                                 "T: .branchtargets L<3>; brx.idx r0, T; L0: L1:",
                                 "T: .branchtargets L<0>; brx.idx r0, T; L0: L1:",
                                 "T: .branchtargets L<2; brx.idx r0, T; L0: L1:",
                                 "# 1 \"a\"\n",
                                 "#line 1 \"a\"\n",
                                 "#1 \"a\" 2\n",
                                 "# 1\n",
                                 "#\n",
                                 "#define x\n",
                                 "#include \"a\"\n",
                                 "add.u32 r0,\n# 3 \"x\"\nr1,r2;",
                                 "add.u32 r0, # 3 \"x\"\nr1,r2;"})
    group.statements.push_back({text, module_of("", text)});
}

}  // namespace

void add_ages(std::vector<Group>& groups) {
  Group memory{"ages of memory", {}}, numbers{"ages of arithmetic", {}},
      textures{"ages of textures", {}}, special{"ages of special registers", {}},
      places{"ages of sources", {}}, shape{"shapes of instructions", {}};
  for (const std::string line : kMemory) add(memory, "", line);
  for (const std::string line : kNumbers) add(numbers, "", line);
  for (const std::string line : kTextures)
    add(textures, ".global .texref t; .global .surfref s;", line);
  for (const std::string line : kSpecial) add(special, "", line);
  sources(places);
  shapes(shape);
  for (Group* group : {&memory, &numbers, &textures, &special, &places, &shape})
    groups.push_back(std::move(*group));
}

}  // namespace ptx2spv
