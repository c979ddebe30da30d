// The cross product of declarations, redeclarations, names, members and initialisers, and of the
// versions and targets of surface and texture instructions, against what ptxas said of each
// statement: tests/data/ptxas/declarations.txt has a sign for each, in the order of this walk.
// Where ptxas is installed a sample is asked again; PTX2SPV_RECORD=1 asks all of them and writes
// the file, PTX2SPV_RECORD=new those of new groups.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <future>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/ptx/statements.hpp"
#include "tests/support/process.hpp"
#include "translator/ptx/parser.hpp"

namespace ptx2spv {
std::string module_of(const std::string& globals, const std::string& body,
                      const std::string& params, const std::string& target,
                      const std::string& version) {
  return ".version " + version + "\n.target " + target + "\n" +
         (version >= "2.3" ? ".address_size 64\n" : "") + globals + "\n.entry k(" + params +
         ")\n{\n.reg .pred p<4>; .reg .b16 h<8>; .reg .b32 r<8>; .reg .u64 d<8>; .reg .f32 "
         "f<8>;\n" +
         body + "\nret;\n}\n";
}

Words product(const std::vector<Words>& lists) {
  Words out{""};
  for (const Words& list : lists) {
    Words next;
    for (const std::string& head : out)
      for (const std::string& word : list)
        next.push_back(head.empty() || word.empty() ? head + word : head + " " + word);
    out = std::move(next);
  }
  return out;
}

namespace {

const Words kTypes{".b8",  ".u16", ".f16",  ".bf16", ".f16x2",   ".b32",    ".f32",
                   ".s64", ".f64", ".b128", ".pred", ".surfref", ".texref", ".samplerref"};
const Words kSizes{"", ".v2", ".v4", ".v8", ".v2 .v2", ".align 8", ".align 3", ".align 16 .v2"};

void declarations(std::vector<Group>& groups) {
  Group scope{"module scope", {}}, body{"body", {}}, params{"parameters", {}}, linked{"linked", {}};
  const std::string mode = "sm_90, texmode_independent";
  for (const std::string& head :
       product({{".global", ".const", ".shared", ".local", ".param", ".reg", ""}, kSizes, kTypes}))
    scope.statements.push_back({head + " a", module_of(head + " a;", "", "", mode)});
  for (const std::string& head :
       product({{".reg", ".local", ".shared", ".param", ".global", ".const"}, kSizes, kTypes}))
    body.statements.push_back({head + " a", module_of("", "{ " + head + " a; }", "", mode)});
  for (const std::string& head : product({{".param", ".reg", ".global"}, kSizes, kTypes})) {
    params.statements.push_back({"entry " + head, module_of("", "", head + " a", mode)});
    params.statements.push_back(
        {"func " + head, module_of(".func f(" + head + " a) { ret; }", "", "", mode)});
  }
  for (const std::string& head : product(
           {{"", ".visible", ".extern", ".weak", ".common"},
            {".global", ".const", ".shared"},
            {".u32", ".surfref", ".texref", ".samplerref", ".f16"},
            {"x", "x[2]", "x[]", "x<2>", "x = 1", "x = {}", "x = {width = 8}", "x[] = {1, 2}"}}))
    linked.statements.push_back({head, module_of(head + ";", "", "", mode)});
  for (Group* group : {&scope, &body, &params, &linked}) groups.push_back(std::move(*group));
}

void pairs(std::vector<Group>& groups, const std::string& name, const Words& heads,
           const std::string& end) {
  Group group{name, {}};
  for (const std::string& one : heads)
    for (const std::string& other : heads)
      group.statements.push_back(
          {one + "; " + other + end, module_of(one + ";\n" + other + end, "")});
  groups.push_back(std::move(group));
}

void redeclarations(std::vector<Group>& groups) {
  const Words functions{".func f()",
                        ".visible .func f()",
                        ".weak .func f()",
                        ".extern .func f()",
                        ".func f() .noreturn",
                        ".func f(.param .b32 a)",
                        ".func f(.param .u32 z)",
                        ".func f(.param .align 8 .b32 a)",
                        ".func f(.param .b8 a[4])",
                        ".func f(.param .b8 a[8])",
                        ".func f(.param .align 4 .b8 a[4])",
                        ".func f(.reg .b32 a)",
                        ".func f(.reg .s32 a)",
                        ".func f(.reg .v2 .b32 a)",
                        ".func (.reg .b32 r) f()",
                        ".func (.param .b32 r) f()",
                        ".func (.param .f32 r) f()",
                        ".func f(.param .b32 a, .param .b32 b)",
                        ".func .attribute(.unified(1,2)) f()",
                        ".func .attribute(.unified(1,3)) f()",
                        ".func f() .maxnreg 32",
                        ".entry f()"};
  pairs(groups, "functions declared and defined", functions, " { ret; }");
  pairs(groups, "functions declared twice", functions, ";");
  pairs(groups, "kernels",
        {".entry e()", ".visible .entry e()", ".weak .entry e()", ".entry e(.param .b32 a)",
         ".entry e(.param .u32 a)", ".entry e(.param .u64 a)", ".entry e(.param .u64 .ptr a)",
         ".entry e(.param .align 8 .b8 a[4])", ".entry e(.param .surfref a)",
         ".entry e(.param .texref a)", ".entry e() .maxntid 32"},
        " { ret; }");
  pairs(
      groups, "variables",
      {".global .u32 v", ".visible .global .u32 v", ".weak .global .u32 v",
       ".extern .global .u32 v", ".extern .global .b32 v", ".extern .global .u64 v",
       ".extern .global .u32 v[4]", ".extern .global .u32 v[]", ".visible .global .u32 v[4]",
       ".visible .global .u32 v[] = {1, 2}", ".extern .global .u32 v[2][2]",
       ".extern .global .v2 .u32 v", ".extern .global .surfref v", ".visible .global .surfref v",
       ".extern .global .texref v", ".extern .shared .u32 v[]", ".visible .global .align 8 .u32 v"},
      ";");
}

void names(std::vector<Group>& groups) {
  Group group{"names", {}};
  const Words each{
      ".reg .b32 x<4>;",     ".reg .b32 x2;",     ".reg .b32 x4;",
      ".reg .b32 x;",        ".reg .f32 x<2>;",   ".reg .b32 x12;",
      ".reg .b32 x1<3>;",    ".shared .b32 x2;",  ".local .b32 x<4>;",
      ".reg .b32 P<4>;",     ".reg .b32 P1;",     "{ .reg .b32 x2; }",
      "{ .reg .b32 x<4>; }", ".reg .b32 G<4>;",   ".reg .b32 x<20>;",
      ".reg .b32 x02;",      ".reg .f32 x03<2>;", ".shared .b32 x012;",
      "mov.b32 x02, 0;",     "mov.b32 x12, 0;",   "mov.b32 x0000000000001, 0;",
      "bra x2; x2:",         "x3: ret;",          "{ .reg .f32 x1; mov.f32 x01, x1; }"};
  for (const std::string& one : each)
    for (const std::string& other : each) {
      // ptxas reads x02 as one of these, too, and keeps labels apart from them.
      const auto apart = [](const std::string& a, const std::string& b) {
        return a == ".local .b32 x<4>;" && (b == ".reg .b32 x02;" || b == "x3: ret;");
      };
      if (apart(one, other) || apart(other, one)) continue;
      group.statements.push_back(
          {one + " " + other, module_of(".global .u32 G1;", one + " " + other, ".param .u32 P1")});
    }
  groups.push_back(std::move(group));
}

/// What stands between statements, and what of a module's head.
void statements(std::vector<Group>& groups) {
  Group body{"statements", {}}, module{"statements of a module", {}};
  for (const std::string text : {";",
                                 ";;",
                                 "{;}",
                                 "{}",
                                 "{ { } }",
                                 "mov.u32 r1, r2;;",
                                 "; mov.u32 r1, r2;",
                                 "L:;",
                                 "L: L2: ret;",
                                 "@p0;",
                                 "@p0 ret;;",
                                 "@!p0 ; ret;",
                                 "@p0 L: ret;",
                                 "@p0 {ret;}",
                                 "@-p0 ret;",
                                 ".reg .b32 z;;",
                                 ".pragma \"nounroll\";",
                                 ".pragma \"nounroll\";;",
                                 ".loc 1 1 1",
                                 ".loc 1 1 1;",
                                 "{ret;};",
                                 "bra L;; L: ret;",
                                 "mov.u32 r1, r2 ; /* c */",
                                 "mov.u32 r1, r2 /* c */ ; // e",
                                 "mov.u32 r1, r2 /* c */ ; ;",
                                 "mov.u32 r1 r2;",
                                 "mov.u32 r1, r2,;",
                                 "mov .u32 r1, r2;",
                                 "mov. u32 r1, r2;",
                                 "MOV.u32 r1, r2;",
                                 "suld.b.1d.b32.trap {r1}, [s, {r2}];;",
                                 "L: }{",
                                 ".reg .b32 %tid;",
                                 ".reg .b32 WARP_SZ;",
                                 ".reg .b32 $;",
                                 ".reg .b32 $_;",
                                 ".reg .b32 %;"})
    body.statements.push_back({text, module_of(".global .surfref s; .file 1 \"a\"", text)});
  for (const std::string text : {";",
                                 ".global .u32 a;;",
                                 "; .global .u32 a;",
                                 ".entry e() {ret;};",
                                 ".func h() {ret;};",
                                 ".func h();",
                                 ".func h();;",
                                 ".visible .func h() {ret;} ;",
                                 ".file 1 \"a\"",
                                 ".file 1 \"a\";",
                                 ".pragma \"nounroll\";",
                                 ".pragma \"nounroll\";;",
                                 ".address_size 64",
                                 ".address_size 32",
                                 ".entry e() { ; }",
                                 ".global .u32 $;",
                                 ".global .u32 $_;",
                                 ".global .u32 _;",
                                 ".global .u32 %;",
                                 ".global .u32 %_;",
                                 ".global .u32 %tid;",
                                 ".global .surfref %clock;",
                                 ".shared .u32 %laneid;",
                                 ".func %tid() {ret;}",
                                 ".entry %tid() {ret;}",
                                 ".global .u32 %nosuch;",
                                 ".global .u32 tid;",
                                 ".extern .shared .u32 %tid[];",
                                 ".func f(.reg .b32 %tid) {ret;}",
                                 ".tex .texref a;"})
    module.statements.push_back({text, module_of(text, "")});
  groups.push_back(std::move(body));
  groups.push_back(std::move(module));
}

void pointers(std::vector<Group>& groups) {
  Group kernels{"pointer parameters", {}}, others{"pointers elsewhere", {}};
  for (const std::string mode : {"sm_90", "sm_90, texmode_independent"})
    for (const std::string& text :
         product({{".param .u64", ".param .f64", ".param .surfref"},
                  {"", ".ptr"},
                  {"", ".global", ".local", ".surfref", ".texref", ".samplerref", ".align 8",
                   ".global .align 8", ".align 8 .global", ".surfref .align 8", ".align 8 .surfref",
                   ".global .surfref", ".surfref .global", ".param"},
                  {"a"}}))
      kernels.statements.push_back({mode + ": " + text, module_of("", "", text, mode)});
  for (const std::string mode : {"sm_90", "sm_90, texmode_independent"})
    kernels.statements.push_back(
        {mode + ": .samplerref", module_of("", "", ".param .samplerref a", mode)});
  for (const std::string text :
       {".func f(.param .u64 .ptr a) {ret;}", ".func f(.reg .u64 .ptr a) {ret;}",
        ".func f(.param .u64 .ptr .surfref a) {ret;}", ".func (.param .u64 .ptr b) f() {ret;}",
        ".global .u64 .ptr a;", ".global .u64 .ptr .surfref a;", ".const .u64 .ptr a;",
        ".shared .u64 .ptr .global a;"})
    others.statements.push_back({text, module_of(text, "")});
  for (const std::string space : {".reg", ".local", ".shared", ".param"})
    others.statements.push_back({space, module_of("", space + " .u64 .ptr a;")});
  groups.push_back(std::move(kernels));
  groups.push_back(std::move(others));
}

/// Addresses of 32 bits in a module whose addresses have 64.
void narrow_addresses(std::vector<Group>& groups) {
  Group group{"addresses of 32 bits", {}};
  const std::string globals =
      ".global .u32 g; .shared .u32 sh; .const .u32 co; .global .surfref s;";
  for (const std::string address : {"r0", "d0", "r0+4", "f0", "h0"})
    for (const std::string op :
         {"ld.u32 r1, [A];", "ld.global.u32 r1, [A];", "ld.shared.u32 r1, [A];",
          "ld.local.u32 r1, [A];", "ld.const.u32 r1, [A];", "st.u32 [A], r1;",
          "st.global.u32 [A], r1;", "st.shared.u32 [A], r1;", "atom.add.u32 r1, [A], r2;",
          "atom.global.add.u32 r1, [A], r2;", "atom.shared.add.u32 r1, [A], r2;",
          "red.global.add.u32 [A], r1;", "prefetch.global.L1 [A];", "ld.global.nc.u32 r1, [A];"}) {
      // ptxas reads 16 bits as an address.
      if (address == "h0") continue;
      std::string text = op;
      text.replace(text.find('A'), 1, address);
      group.statements.push_back({text, module_of(globals, text)});
    }
  for (const std::string text : {"mov.u32 r1, g;",
                                 "mov.b32 r1, g;",
                                 "mov.s32 r1, g;",
                                 "mov.u64 d1, g;",
                                 "mov.u32 r1, sh;",
                                 "mov.u32 r1, co;",
                                 "mov.u64 d1, sh;",
                                 "cvta.global.u32 r1, r0;",
                                 "cvta.shared.u32 r1, r0;",
                                 "cvta.to.global.u32 r1, r0;",
                                 "cvta.to.global.u64 d1, d0;",
                                 "cvta.global.u64 d1, g;",
                                 "isspacep.global p0, d0;",
                                 "isspacep.global p0, -d0;",
                                 "istypep.surfref p0, d0;",
                                 "istypep.surfref p0, f0;",
                                 "istypep.surfref p0, h0;",
                                 "istypep.surfref p0, r0;",
                                 "{ .reg .f64 w; istypep.surfref p0, w; }",
                                 "{ .reg .s64 w; istypep.surfref p0, w; }"})
    group.statements.push_back({text, module_of(globals, text)});
  groups.push_back(std::move(group));
}

/// Options of a target, with what needs one of them.
void options(std::vector<Group>& groups) {
  Group group{"options of targets", {}};
  for (const std::string target :
       {"sm_90", "sm_90, texmode_unified", "sm_90, texmode_independent", "sm_90, texmode_raw",
        "sm_90, texmode_unified, texmode_independent",
        "sm_90, texmode_independent, texmode_unified",
        "sm_90, texmode_independent, texmode_independent", "sm_20, texmode_independent",
        "sm_90, map_f64_to_f32", "sm_13, map_f64_to_f32", "sm_12, map_f64_to_f32",
        "texmode_independent", "sm_90, sm_80", "sm_90, nosuch"})
    for (const std::string text :
         {"", "tex.1d.v4.f32.s32 {f1,f2,f3,f4}, [t, {r2}];",
          "tex.1d.v4.f32.s32 {f1,f2,f3,f4}, [t, m, {r2}];",
          "tld4.g.2d.v4.f32.f32 {f1,f2,f3,f4}, [t, m, {f5,f6}];", "txq.filter_mode.b32 r1, [m];",
          "txq.filter_mode.b32 r1, [t];", "txq.addr_mode_1.b32 r1, [t];",
          "txq.normalized_coords.b32 r1, [t];", "txq.force_unnormalized_coords.b32 r1, [m];",
          "txq.width.b32 r1, [s];", "suq.width.b32 r1, [t];"})
      for (const std::string sampler : {"", ".global .samplerref m;"})
        group.statements.push_back(
            {target + ": " + text + sampler,
             module_of(".global .surfref s; .global .texref t;" + sampler, text, "", target)});
  groups.push_back(std::move(group));
}

void members(std::vector<Group>& groups) {
  Group group{"members", {}};
  const Words uses{"mov.u32 r0, A;",
                   "mov.u32 A, r0;",
                   "add.u32 r0, A, r1;",
                   "add.u32 r0, r1, A;",
                   "setp.eq.u32 p0, A, r1;",
                   "selp.u32 r0, A, r1, p0;",
                   "mov.b64 d0, {A, r1};",
                   "mov.b64 {A, r1}, d0;",
                   "cvt.u64.u32 d0, A;",
                   "ld.shared.u32 A, [r1];",
                   "ld.shared.u32 r0, [A];",
                   "st.shared.u32 [r1], A;",
                   "atom.shared.add.u32 r0, [r1], A;",
                   "suld.b.1d.b32.trap {A}, [d0, {r1}];",
                   "suld.b.1d.b32.trap {r0}, [d0, {A}];",
                   "sust.b.1d.b32.trap [d0, {r1}], A;",
                   "vadd.u32.u32.u32 r0, A, r1;",
                   "suq.width.b32 A, [d0];",
                   "shfl.sync.idx.b32 A, r0, r1, 31, -1;",
                   "bar.sync A;"};
  for (const std::string& use : uses)
    for (const std::string item : {"s.x", "s.y", "s.r", "y1.x", "y1.w", "v.x", "v.y", "w.w", "w.a",
                                   "g.x", "q.x", "s.unified", "g.unified", "s.lo"}) {
      std::string text = use;
      text.replace(text.find('A'), 1, item);
      group.statements.push_back(
          {text, module_of("",
                           ".reg .u32 s, y<4>; .reg .v2 .u32 v; .reg .v4 .u32 w; .shared .u32 g; "
                           ".reg .pred q;\n" +
                               text)});
    }
  for (const std::string at : {"[v.unified]", "[v].unified", "[v+4].unified", "[v.unified+4]",
                               "[d0].unified", "[d0.unified]", "[n].unified", "v.unified"})
    for (const std::string op : {"ld.global.u32 r0, A;", "st.global.u32 A, r0;", "mov.u64 d0, A;",
                                 "ld.u32 r0, A;", "prefetch.global.L1 A;"}) {
      std::string text = op;
      text.replace(text.find('A'), 1, at);
      group.statements.push_back(
          {text, module_of(".global .attribute(.unified(19,95)) .u32 v; .global .u32 n;", text)});
    }
  groups.push_back(std::move(group));
}

void initialisers(std::vector<Group>& groups) {
  Group opaque{"members of opaque variables", {}}, addresses{"addresses", {}};
  for (const std::string type : {".texref", ".surfref", ".samplerref"})
    for (const std::string member :
         {"width", "height", "depth", "channel_data_type", "channel_order", "array_size",
          "num_mipmap_levels", "num_samples", "memory_layout", "normalized_coords",
          "force_unnormalized_coords", "filter_mode", "addr_mode_0", "addr_mode_2"})
      for (const std::string value : {"0", "1", "true", "false", "linear", "wrap", "-1", "{1}"}) {
        const std::string text = ".global " + type + " x = {" + member + " = " + value + "};";
        opaque.statements.push_back({text, module_of(text, "", "", "sm_90, texmode_independent")});
      }
  for (const std::string tail :
       {"[2] = {{width = 1}, {width = 2}}", "[2] = {{width = 1}, {width = 2}, {width = 3}}",
        "[] = {{width = 1}}", "[] = {}", "[2] = {}", "[2] = {width = 1}", "[2] = {{foo = 1}}",
        "[2] = {{width = true}}", "[2] = {{width = 1},}", " = {{width = 1}}", " = {0}", " = 0",
        " = {width = 1, width = 2}", " = {width 1}"}) {
    const std::string text = ".global .surfref x" + std::string(tail) + ";";
    opaque.statements.push_back({text, module_of(text, "")});
  }
  for (const std::string version : {"2.0", "2.1", "3.0", "3.1", "7.1", "9.0"})
    for (const std::string target : {"sm_10", "sm_13", "sm_20", "sm_35", "sm_90"})
      for (const std::string text :
           {".global .u32 p = v;", ".global .u64 p = v;", ".global .u32 p = v + 4;",
            ".global .u64 p = generic(v);", ".global .u32 p[2] = {0, v};", ".const .u64 p = v;",
            ".global .u8 p = 0xff(v);", ".global .u64 p = k;", ".global .b64 p = v;",
            ".global .u64 p = s;", ".shared .u64 p = v;"}) {
        // The kernel is named before it is defined.
        const std::string kernel =
            std::string(text).find("= k") == std::string::npos ? "" : ".entry k();\n";
        addresses.statements.push_back(
            {version + " " + target + ": " + text,
             module_of(".global .u32 v; .global .surfref s;\n" + kernel + text, "", "", target,
                       version)});
      }
  groups.push_back(std::move(opaque));
  groups.push_back(std::move(addresses));
}

void versions(std::vector<Group>& groups) {
  Group group{"versions and targets", {}};
  const Words lines{"",
                    "suld.b.1d.b32.trap {r0}, [s, {r1}];",
                    "suld.b.2d.v2.b32.clamp {r0,r2}, [s, {r1,r1}];",
                    "suld.b.3d.b8.zero {r0}, [s, {r1,r1,r1,r1}];",
                    "suld.b.a2d.cg.b32.trap {r0}, [s, {r1,r1,r1,r1}];",
                    "suld.b.1d.b32.trap {r0}, [d0, {r1}];",
                    "sust.b.1d.b32.trap [s, {r1}], r0;",
                    "sust.b.a1d.wt.b32.trap [s, {r1,r1}], r0;",
                    "sust.p.1d.b32.trap [s, {r1}], r0;",
                    "sust.p.a1d.b32.zero [s, {r1,r1}], r0;",
                    "sust.p.1d.b32 [s, {r1}], r0;",
                    "sured.b.add.1d.u32.trap [s, {r1}], r0;",
                    "sured.b.min.1d.s64.trap [s, {r1}], d0;",
                    "sured.p.add.2d.b32.clamp [s, {r1,r1}], r0;",
                    "sured.p.min.1d.b64.zero [s, {r1}], d0;",
                    "sured.b.and.1d.b32 [s, {r1}], r0;",
                    "suq.width.b32 r0, [s];",
                    "suq.channel_order.b32 r0, [s];",
                    "suq.array_size.b32 r0, [s];",
                    "suq.memory_layout.b32 r0, [d0];",
                    "tex.1d.v4.s32.s32 {r0,r1,r2,r3}, [t, {r1}];",
                    "tex.cube.v4.f32.f32 {f0,f1,f2,f3}, [t, {f0,f1,f2,f3}];",
                    "tex.2dms.v4.s32.s32 {r0,r1,r2,r3}, [t, {r0,r1,r2,r3}];",
                    "tex.level.2d.v4.f32.f32 {f0,f1,f2,f3}, [t, {f0,f1}], f2;",
                    "tex.2d.v2.f16x2.f32 {r0,r1}, [d0, {f0,f1}];",
                    "tld4.r.2d.v4.f32.f32 {f0,f1,f2,f3}, [t, {f0,f1}];",
                    "tex.2d.v4.f32.f32 {f0,f1,f2,f3}, [t, {f0,f1}], {r0,r1};",
                    "tex.2d.v4.f32.f32 {f0,f1,f2,f3}, [t, {f0,f1}], f2;",
                    "tex.2d.v4.f32.f32 {f0,f1,f2,f3}|p0, [t, {f0,f1}];",
                    "tld4.r.cube.v4.f32.f32 {f0,f1,f2,f3}, [t, {f0,f1,f2,f2}];",
                    "tld4.r.a2d.v4.f32.f32 {f0,f1,f2,f3}, [t, {r0,f1,f2,f2}];",
                    "tld4.r.2d.v4.f32.f32 {f0,f1,f2,f3}, [t, {f0,f1}], {r0,r1};",
                    "txq.width.b32 r0, [t];",
                    "txq.array_size.b32 r0, [t];",
                    "txq.level.width.b32 r0, [t], 0;",
                    "istypep.surfref p0, d0;",
                    "istypep.texref p0, d0;",
                    "mov.u64 d0, s;",
                    "mov.u64 d0, t;",
                    "mov.u64 d0, ps;"};
  for (const std::string version :
       {"1.4", "1.5", "2.0", "2.1", "3.0", "3.1", "4.0", "4.1", "4.2", "8.1"})
    for (const std::string target : {"sm_13", "sm_20", "sm_30", "sm_53", "sm_60"})
      for (const std::string& line : lines)
        group.statements.push_back({version + " " + target + ": " + line,
                                    module_of(".global .surfref s; .global .texref t;", line,
                                              ".param .surfref ps", target, version)});
  groups.push_back(std::move(group));
}

/// What types of variables, parameters and texture instructions need.
void younger(std::vector<Group>& groups) {
  Group types{"types of variables", {}}, parts{"parts of texture instructions", {}};
  const auto add = [](Group& group, const std::string& version, const std::string& target,
                      const std::string& globals, const std::string& params,
                      const std::string& body) {
    group.statements.push_back({version + " " + target + ": " + globals + params + body,
                                module_of(globals, body, params, target, version)});
  };
  const std::pair<const char*, const char*> kAges[] = {
      {"1.4", "sm_13"}, {"1.5", "sm_13"}, {"2.0", "sm_20"}, {"2.1", "sm_20"}, {"3.0", "sm_20"},
      {"3.2", "sm_30"}, {"4.1", "sm_13"}, {"4.1", "sm_20"}, {"4.1", "sm_30"}, {"4.2", "sm_30"},
      {"4.2", "sm_53"}, {"4.3", "sm_13"}, {"4.3", "sm_20"}, {"6.0", "sm_20"}, {"6.0", "sm_30"},
      {"8.2", "sm_70"}, {"8.3", "sm_60"}, {"8.3", "sm_70"}, {"9.0", "sm_20"}, {"9.0", "sm_52"},
      {"9.0", "sm_53"}, {"9.0", "sm_90"}};
  for (const auto& [version, target] : kAges) {
    for (const std::string type : {".f16", ".f16x2", ".b128"}) {
      add(types, version, target, "", "", "{ .reg " + type + " x; }");
      add(types, version, target, ".global " + type + " x;", "", "");
    }
    for (const std::string params :
         {".param .b8 a[]", ".param .b8 a[0]", ".param .u64 .ptr .surfref a", ".param .b8 a[4]"})
      add(types, version, target, "", params, "");
    for (const std::string globals : {".func f(.param .b8 a[]) { ret; }", ".tex .u32 a;"})
      add(types, version, target, globals, "", "");
    // Before that the header's kernel has no textures.
    if (version < std::string("1.5")) continue;
    for (const std::string body :
         {"tex.2d.v4.f16.f32 {h0,h1,h2,h3}, [t, {f4,f5}];",
          "tex.2d.v2.f16x2.f32 {r0,r1}, [t, {f4,f5}];",
          "tex.level.2d.v4.f16.f32 {h0,h1,h2,h3}, [t, {f4,f5}], f0;",
          "tex.base.2d.v2.f16x2.f32 {r0,r1}, [t, {f4,f5}];",
          "tex.2dms.v4.f32.s32 {f0,f1,f2,f3}, [t, {r0,r1,r2,r3}];",
          "tex.base.a2dms.v4.f32.s32 {f0,f1,f2,f3}, [t, {r0,r1,r2,r3}];",
          "txq.array_size.b32 r0, [t];", "txq.num_mipmap_levels.b32 r0, [t];",
          "txq.num_samples.b32 r0, [t];", "txq.channel_order.b32 r0, [t];",
          "txq.channel_data_type.b32 r0, [t];", "txq.normalized_coords.b32 r0, [t];",
          "sured.b.add.3d.u32.trap [s, {r0,r1,r2,r3}], r0;",
          "sured.b.add.2d.u32.trap [s, {r0,r1}], r0;"})
      add(parts, version, target, ".global .texref t; .global .surfref s;", "", body);
  }
  groups.push_back(std::move(types));
  groups.push_back(std::move(parts));
}

/// Parameters, and lists of values, of every shape.
void shapes(std::vector<Group>& groups) {
  Group params{"shapes of parameters", {}}, values{"lists of values", {}};
  for (const std::string& text :
       product({{".param", "", ".reg", ".global"},
                {".b8", ".u32", ".v2 .u32", ".v4 .f32", ".align 8 .b8", ".u64 .ptr", ".b128"},
                {"a", "a[4]", "a[]", "a[0]", "a[][2]", "a[2][2]", "a<2>"}})) {
    params.statements.push_back({"entry " + text, module_of("", "", text)});
    params.statements.push_back({"func " + text, module_of(".func f(" + text + ") { ret; }", "")});
    params.statements.push_back({"body " + text, module_of("", "{ " + text + "; }")});
  }
  for (const std::string& text :
       product({{".u32", ".f32", ".v2 .u32", ".v4 .u8", ".b128"},
                {"a", "a[2]", "a[]", "a[2][2]"},
                {"= {}", "= {{}}", "= {{},{}}", "= {1}", "= {1,}", "= {1,2}", "= {1,2,}",
                 "= {{1,2}}", "= {{1,2},}", "= {{1,2},{3,4}}", "= {{1},{2}}", "= 1", "= {,}"}}))
    values.statements.push_back({text, module_of(".global " + text + ";", "")});
  groups.push_back(std::move(params));
  groups.push_back(std::move(values));
}

/// The order of modifiers, of which some belong to the name; and what coordinates are.
void instructions(std::vector<Group>& groups) {
  Group orders{"orders of modifiers", {}}, places{"coordinates", {}};
  const std::string globals = ".global .texref t; .global .surfref s;";
  const std::pair<std::vector<Words>, const char*> kOrders[] = {
      {{{"suld"}, {"b", "1d", "b32", "trap"}}, " r0, [s, {r1}];"},
      {{{"sust"}, {"b", "1d", "b32", "trap"}}, " [s, {r1}], r0;"},
      {{{"sust"}, {"p", "1d", "b32", "trap"}}, " [s, {r1}], r0;"},
      {{{"sured"}, {"b", "add", "1d", "u32", "trap"}}, " [s, {r1}], r0;"},
      {{{"sured"}, {"p", "add", "1d", "b32", "trap"}}, " [s, {r1}], r0;"},
      {{{"suq"}, {"width", "b32"}}, " r0, [s];"},
      {{{"tex"}, {"base", "2d", "v4"}}, ".f32.f32 {f0,f1,f2,f3}, [t, {f4,f5}];"},
      {{{"tex"}, {"level", "2d", "v4"}}, ".f32.f32 {f0,f1,f2,f3}, [t, {f4,f5}], f6;"},
      {{{"tex"}, {"grad", "1d", "v4"}}, ".f32.f32 {f0,f1,f2,f3}, [t, {f4}], {f5}, {f6};"},
      {{{"tld4"}, {"r", "2d", "v4"}}, ".f32.f32 {f0,f1,f2,f3}, [t, {f4,f5}];"},
      {{{"txq"}, {"level", "width", "b32"}}, " r0, [t], r1;"},
      {{{"mul"}, {"wide", "u32"}}, " d0, r0, r1;"},
      {{{"mad"}, {"lo", "u32"}}, " r0, r1, r2, r3;"},
      {{{"mad"}, {"hi", "sat", "s32"}}, " r0, r1, r2, r3;"},
      {{{"madc"}, {"lo", "cc", "u32"}}, " r0, r1, r2, r3;"},
      {{{"mul24"}, {"lo", "u32"}}, " r0, r1, r2;"},
      {{{"shf"}, {"l", "wrap", "b32"}}, " r0, r1, r2, r3;"},
      {{{"div"}, {"full", "ftz", "f32"}}, " f0, f1, f2;"},
      {{{"cvta"}, {"to", "global", "u64"}}, " d0, d1;"},
      {{{"ld"}, {"volatile", "global", "u32"}}, " r0, [d0];"},
      {{{"setp"}, {"lt", "u32"}}, " p0, r0, r1;"}};
  for (const auto& [words, rest] : kOrders) {
    Words order = words[1];
    std::ranges::sort(order);
    do {
      std::string text = words[0][0];
      for (const std::string& each : order) text += "." + each;
      text += rest;
      orders.statements.push_back({text, module_of(globals, text)});
    } while (std::ranges::next_permutation(order).found);
  }
  for (const std::string place : {"r0", "f0", "d0", "h0", "hx", "%tid.x", "%clock64", "%tid",
                                  "%laneid", "%globaltimer", "-1", "0f3F800000", "_"})
    for (const std::string op :
         {"suld.b.1d.b32.trap r0, [s, {A}];", "suld.b.2d.b32.trap r0, [s, {r1,A}];",
          "sust.b.1d.b32.trap [s, {A}], r0;", "sured.b.add.1d.u32.trap [s, {A}], r0;",
          "sust.b.1d.v2.b32.trap [s, {r0}], {r1,A};", "tex.1d.v4.f32.s32 {f0,f1,f2,f3}, [t, {A}];",
          "tex.1d.v4.f32.f32 {f0,f1,f2,f3}, [t, {A}];",
          "tex.a1d.v4.f32.f32 {f0,f1,f2,f3}, [t, {A,f4}];",
          "tex.2d.v4.f32.f32 {f0,f1,f2,f3}, [t, {f4,A}];", "txq.level.width.b32 r0, [t], A;",
          "tld4.r.2d.v4.f32.f32 {f0,f1,f2,f3}, [t, {f4,A}];",
          "tex.2d.v4.f32.f32 {f0,f1,f2,f3}|A, [t, {f4,f5}];"}) {
      std::string text = op;
      text.replace(text.find('A'), 1, place);
      places.statements.push_back({text, module_of(globals, ".reg .f16x2 hx; " + text)});
    }
  groups.push_back(std::move(orders));
  groups.push_back(std::move(places));
}

std::vector<Group> all_groups() {
  std::vector<Group> groups;
  declarations(groups);
  redeclarations(groups);
  names(groups);
  members(groups);
  initialisers(groups);
  versions(groups);
  statements(groups);
  pointers(groups);
  narrow_addresses(groups);
  options(groups);
  younger(groups);
  shapes(groups);
  instructions(groups);
  add_directives(groups);
  add_operands(groups);
  add_ages(groups);
  return groups;
}

/// As a whole program, and where that lacks a definition, or has what only a part may have, as a
/// part.
bool ptxas_takes(const std::string& module) {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("a.ptx", module);
  const std::string arch = module.find("sm_90a") == module.npos ? "sm_90" : "sm_90a";
  const auto ask = [&](const std::string& option) {
    return std::system(("ptxas " + option + "-arch=" + arch + " " + file + " -o " +
                        folder.file("a.o") + " > " + folder.file("log") + " 2>&1")
                           .c_str()) == 0;
  };
  if (ask("")) return true;
  const std::string log = test::read_whole(folder.file("log"));
  const bool part = log.find("Unresolved extern") != std::string::npos ||
                    log.find("--compile-only") != std::string::npos;
  if (!part) return false;
  // Only the linker misses what nothing defines.
  return ask("-c ") ||
         test::read_whole(folder.file("log")).find("Unresolved extern") != std::string::npos;
}

bool installed() { return std::system("ptxas --version > /dev/null 2>&1") == 0; }

const std::string kFile = PTX2SPV_SOURCE_DIR "/tests/data/ptxas/declarations.txt";

/// A line "group: +-+..." for each group.
std::map<std::string, std::string> recorded() {
  std::map<std::string, std::string> out;
  std::ifstream in(kFile);
  for (std::string line; std::getline(in, line);)
    if (const auto colon = line.find(": "); colon != std::string::npos)
      out[line.substr(0, colon)] = line.substr(colon + 2);
  return out;
}

std::string ask_all(const Group& group) {
  std::string signs(group.statements.size(), '-');
  const auto ask = [&](std::size_t first) {
    for (std::size_t i = first; i < signs.size(); i += 4)
      if (ptxas_takes(group.statements[i].module)) signs[i] = '+';
  };
  std::vector<std::future<void>> turns;
  for (std::size_t k = 0; k < 4; ++k) turns.push_back(std::async(std::launch::async, ask, k));
  return signs;
}

/// Why a statement that ptxas takes is refused on purpose; empty where there is no reason.
std::string_view refusal(const std::string& message) {
  struct Reason {
    std::string_view words, why;
  };
  constexpr Reason kReasons[] = {
      {"does not initialise a variable", "the manual: opaque variables are no initialisers"},
      {"is no value of", "the manual: a member takes its own words"},
      {"a .common variable has no opaque type", "ptxas refuses the scalar and takes the array"},
      {"is past the vector's", "the element is none of the vector's"},
      {"is no vector", "the element is none of a scalar's"},
      {"writes a register here", "a selector is for video instructions"},
      {"is for .global variables and kernel parameters",
       "ptxas refuses the scalar and takes the array"},
      {"generic() in an initialiser needs .target", "the manual: generic addresses are of sm_20"},
      {"a mask in an initialiser needs .target", "the manual: generic addresses are of sm_20"},
      {"'.clamp' needs .target", "the manual: .clamp and .zero are of sm_20"},
      {"'.zero' needs .target", "the manual: .clamp and .zero are of sm_20"},
      {"'tex.cube.v4.f32.f32' needs .target", "the manual: cubes are of sm_20"},
      {"selects nothing", "a selector is for video instructions"},
      {".f64' needs .target", "the manual: .f64 is of sm_13"},
      {"'mma' wants a source of type .b32", "the manual: metadata are one register of .b32"},
      {"this constant is 0 to 1", "an H100 refuses to run selectors 2 and 3 of it"},
      {"'mma' wants a register here", "the manual: metadata are one register of .b32"},
  };
  for (const Reason& reason : kReasons)
    if (message.find(reason.words) != std::string::npos) return reason.why;
  return {};
}

TEST(Declarations, AreTakenAndRefusedAsPtxasDoes) {
  const auto answers = recorded();
  std::map<std::string, std::size_t> on_purpose;
  std::size_t taken = 0, refused = 0;
  for (const Group& group : all_groups()) {
    const auto found = answers.find(group.name);
    ASSERT_TRUE(found != answers.end()) << group.name;
    ASSERT_EQ(found->second.size(), group.statements.size()) << group.name;
    for (std::size_t i = 0; i < group.statements.size(); ++i) {
      DiagnosticSink sink;
      ptx::parse_module(group.statements[i].module, "declarations.ptx", {}, sink);
      const bool theirs = found->second[i] == '+', ours = sink.errors() == 0;
      (theirs ? taken : refused) += 1;
      std::string message;
      for (const Diagnostic& d : sink.diagnostics())
        if (message.empty() && d.severity == Severity::error) message = d.text;
      const std::string_view why = theirs && !ours ? refusal(message) : std::string_view();
      if (!why.empty()) {
        ++on_purpose[std::string(why)];
        continue;
      }
      EXPECT_EQ(theirs, ours) << group.name << ": " << group.statements[i].text << "\n" << message;
    }
  }
  EXPECT_GT(taken, 1500u);
  EXPECT_GT(refused, 2000u);
  for (const auto& [why, count] : on_purpose)
    std::printf("%zu refused on purpose: %s\n", count, why.c_str());
}

TEST(Declarations, TheAssemblerAgreesWhereItIsInstalled) {
  if (!installed()) GTEST_SKIP() << "ptxas is not installed";
  const std::vector<Group> groups = all_groups();
  const auto answers = recorded();
  if (const char* record = std::getenv("PTX2SPV_RECORD")) {
    const bool all = std::string_view(record) != "new";
    std::ofstream out(kFile, std::ios::binary);
    for (const Group& group : groups) {
      const auto known = answers.find(group.name);
      const bool asked = known != answers.end() && known->second.size() == group.statements.size();
      out << group.name << ": " << (all || !asked ? ask_all(group) : known->second) << "\n";
    }
    return;
  }
  constexpr std::size_t kStep = 97;  // coprime to the lengths of the lists
  std::size_t at = 0, asked = 0;
  for (const Group& group : groups)
    for (std::size_t i = 0; i < group.statements.size(); ++i, ++at) {
      if (at % kStep != 0) continue;
      ++asked;
      EXPECT_EQ(ptxas_takes(group.statements[i].module), answers.at(group.name)[i] == '+')
          << group.name << ": " << group.statements[i].text;
    }
  EXPECT_GT(asked, 50u);
}

}  // namespace
}  // namespace ptx2spv
