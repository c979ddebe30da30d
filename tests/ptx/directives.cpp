#include <array>
#include <utility>

#include "tests/ptx/statements.hpp"

namespace ptx2spv {

namespace {

using Ages = std::vector<std::pair<std::string, std::string>>;

void heads(std::vector<Group>& groups) {
  Group versions{"versions of modules", {}}, heads{"heads of modules", {}};
  const std::string kernel = "\n.entry k() { ret; }\n";
  for (int major = 1; major <= 9; ++major)
    for (int minor = 0; minor <= (major == 9 ? 0 : 9); ++minor)
      for (const std::string target : {"sm_10", "sm_20", "sm_90"}) {
        const std::string head = ".version " + std::to_string(major) + "." + std::to_string(minor) +
                                 "\n.target " + target;
        versions.statements.push_back({head, head + kernel});
      }
  for (const std::string version : {"", "9", "9.0.1", "0.9", "10.0", "a.b", "9.0;"})
    heads.statements.push_back(
        {"version " + version, ".version " + version + "\n.target sm_90" + kernel});
  for (const std::string target :
       {"", "sm_90,", "SM_90", "sm90", "compute_90", "sm_00", "sm_55", "sm_90f", "sm_91",
        "texmode_unified, sm_90", "debug, sm_90", "map_f64_to_f32, sm_12", "sm_90 texmode_unified"})
    heads.statements.push_back({"target " + target, ".version 8.0\n.target " + target + kernel});
  Words lines{".version 7.0", ".target sm_70", ".address_size 64"};
  for (const auto& [a, b, c] : {std::array{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}})
    heads.statements.push_back({"order " + lines[a] + lines[b] + lines[c],
                                lines[a] + "\n" + lines[b] + "\n" + lines[c] + kernel});
  for (const std::string size : {"16", "0", "-64", "64;", "", "64.0", "0x40"})
    heads.statements.push_back(
        {"address size " + size, lines[0] + "\n" + lines[1] + "\n.address_size " + size + kernel});
  groups.push_back(std::move(versions));
  groups.push_back(std::move(heads));
}

const Words kDirectives{".maxntid 32",
                        ".maxntid 32, 2",
                        ".maxntid 32,2,2,2",
                        ".maxntid",
                        ".maxntid 0",
                        ".maxntid 1,",
                        ".maxntid 1 2",
                        ".maxntid 0x20",
                        ".maxntid 2+2",
                        ".maxntid 32.0",
                        ".reqntid 32",
                        ".reqntid 32 .maxntid 64",
                        ".reqntid 32 .reqntid 32",
                        ".maxntid 32 .minnctapersm 2",
                        ".minnctapersm 0",
                        ".maxnctapersm 2",
                        ".maxnreg 32",
                        ".maxnreg 0",
                        ".maxnreg",
                        ".noreturn",
                        ".noreturn .noreturn",
                        ".reqnctapercluster 2",
                        ".reqnctapercluster 2,1,1",
                        ".explicitcluster",
                        ".explicitcluster .reqnctapercluster 2",
                        ".maxclusterrank 8",
                        ".maxclusterrank 8 .reqnctapercluster 2",
                        ".blocksareclusters",
                        ".reqntid 32 .reqnctapercluster 2 .blocksareclusters",
                        ".local_maxnreg 32",
                        ".abi_preserve 16",
                        ".abi_preserve_control 2",
                        ".unknown",
                        ".align 8",
                        ".visible",
                        ".maxntid 32;"};

void directives(std::vector<Group>& groups) {
  Group placed{"directives of headers", {}}, aged{"ages of directives", {}};
  for (const std::string& each : kDirectives) {
    for (const std::string head :
         {".entry z()", ".func z()", ".func (.param .b32 r) z(.param .b32 a)"})
      for (const std::string tail : {" { ret; }", ";"})
        placed.statements.push_back(
            {head + " " + each + tail, module_of(head + " " + each + tail, "")});
    placed.statements.push_back({"body " + each, module_of("", each)});
    placed.statements.push_back({"module " + each, module_of(each, "")});
    for (const auto& [version, target] : Ages{{"1.2", "sm_13"},
                                              {"1.3", "sm_13"},
                                              {"2.0", "sm_20"},
                                              {"2.1", "sm_20"},
                                              {"3.0", "sm_30"},
                                              {"6.3", "sm_30"},
                                              {"6.4", "sm_20"},
                                              {"6.4", "sm_30"},
                                              {"7.7", "sm_80"},
                                              {"7.8", "sm_90"},
                                              {"8.7", "sm_90"},
                                              {"8.8", "sm_90"},
                                              {"9.0", "sm_75"},
                                              {"9.0", "sm_80"}})
      for (const std::string head : {".entry z()", ".func z()"})
        aged.statements.push_back(
            {version + " " + target + ": " + head + " " + each,
             module_of(head + " " + each + " { ret; }", "", "", target, version)});
  }
  groups.push_back(std::move(placed));
  groups.push_back(std::move(aged));
}

void texts(std::vector<Group>& groups) {
  Group pragmas{"pragmas", {}}, places{"places in sources", {}}, names{"names of other things", {}};
  for (const std::string text :
       {"\"nounroll\";", "nounroll;", "\"nounroll\" \"x\";", "\"nounroll\",;", "\"nounroll\"", "1;",
        "\"enable_smem_spilling\";", "\"frequency 3\";", "\"frequency\";", "\"frequency -1\";",
        "\"used_bytes_mask 0xff\";", "\"used_bytes_mask\";"}) {
    pragmas.statements.push_back({"module " + text, module_of(".pragma " + text, "")});
    pragmas.statements.push_back(
        {"kernel " + text, module_of(".entry z() .pragma " + text + " { ret; }", "")});
    pragmas.statements.push_back({"body " + text, module_of("", ".pragma " + text)});
  }
  for (const std::string text :
       {"1 1 1", "1 1", "1", "1 0 0", "0 1 1", "2 1 1", "1 1 1;", "1 1 -1", "a 1 1", "1 1.5 1",
        "1 1 1 1", "1 1 1, inlined_at 1 1 1", "1 1 1, function_name x",
        "1 1 1, function_name x, inlined_at 1 1 1",
        "1 2 3\n.loc 1 1 1, function_name x, inlined_at 1 2 3",
        "1 2 3\n.loc 1 1 1, function_name x+4, inlined_at 1 2 3",
        "1 2 3\n.loc 1 1 1, function_name x, inlined_at 1 2 4"}) {
    places.statements.push_back(
        {"loc " + text,
         module_of(
             ".file 1 \"a\"\n.section .debug_str { x: .b8 97 .b8 98 .b8 99 .b8 100 .b8 101 }\n",
             ".loc " + text + "\nmov.u32 r0, 1;")});
    places.statements.push_back(
        {"module, loc " + text, module_of(".file 1 \"a\"\n.loc " + text + "\n", "")});
  }
  for (const std::string text :
       {"1 \"a\"", "1 \"a\", 2, 3", "1 \"a\", 2", "1 \"a\", 2, 3, 4", "1", "\"a\"", "0 \"a\"",
        "-1 \"a\"", "1 \"a\";", "1 a", "1 \"a\"\n.file 1 \"a\"", "1 \"a\"\n.file 1 \"b\"",
        "1 \"a\"\n.file 2 \"a\"", "4294967296 \"a\""}) {
    places.statements.push_back({"file " + text, module_of(".file " + text + "\n", "")});
    places.statements.push_back({"body, file " + text, module_of("", ".file " + text + "\n")});
  }
  for (const std::string text :
       {".section .debug_str { }", ".section debug_str { .b8 1 }", ".section .debug_str { .b8 1;}",
        ".section .debug_str", ".section .debug_str { .b8 1.5 }", ".section { }"})
    for (const std::string version : {"1.4", "2.0", "9.0"}) {
      const std::string target = version == "1.4" ? "sm_13" : version == "2.0" ? "sm_20" : "sm_90";
      places.statements.push_back(
          {version + ": " + text, module_of(text + "\n", "", "", target, version)});
      places.statements.push_back(
          {version + " body: " + text, module_of("", text + "\n", "", target, version)});
    }
  for (const std::string name : {"a", "_", "__", "_1", "$", "$a", "%a", "%", "WARP_SZ", "warp_sz",
                                 "tid", "add", "entry", "1a", "a.b", "a-b", "a@", "%tid"}) {
    names.statements.push_back({"label " + name, module_of("", name + ": bra " + name + ";")});
    names.statements.push_back(
        {"function " + name, module_of(".func " + name + "() { ret; }", "")});
    names.statements.push_back(
        {"parameter " + name, module_of(".func f(.param .b32 " + name + ") { ret; }", "")});
  }
  for (Group* group : {&pragmas, &places, &names}) groups.push_back(std::move(*group));
}

/// By version and target: linkage, prototypes, parameters and how many bytes they have.
void parameters(std::vector<Group>& groups) {
  Group group{"ages of functions and parameters", {}};
  for (const auto& [version, target] : Ages{{"1.3", "sm_13"},
                                            {"1.4", "sm_13"},
                                            {"1.5", "sm_13"},
                                            {"2.0", "sm_13"},
                                            {"2.0", "sm_20"},
                                            {"2.2", "sm_20"},
                                            {"3.0", "sm_20"},
                                            {"3.1", "sm_20"},
                                            {"4.3", "sm_30"},
                                            {"5.0", "sm_30"},
                                            {"8.0", "sm_90"},
                                            {"8.1", "sm_60"},
                                            {"8.1", "sm_70"},
                                            {"9.0", "sm_90"}})
    for (const std::string text :
         {".entry e(.param .b8 a[256]) { ret; }",
          ".entry e(.param .b8 a[253], .param .b32 b) { ret; }",
          ".entry e(.param .b8 a[4352]) { ret; }", ".entry e(.param .b8 a[4353]) { ret; }",
          ".entry e(.param .b8 a[4349], .param .b32 b) { ret; }",
          ".entry e(.param .b8 a[32764]) { ret; }",
          ".entry e(.param .b8 a[32761], .param .b32 b) { ret; }",
          ".entry e(.param .u64 .ptr .global a) { ret; }", ".entry e(); .entry e() { ret; }",
          ".entry e() .pragma \"nounroll\"; { ret; }", ".func f(.param .b8 a[5000]) { ret; }",
          ".func (.param .b32 a) f() { ret; }", ".func (.reg .u32 a, .reg .u32 b) f () { ret; }",
          ".func (.param .u32 a, .param .u32 b) f () { ret; }",
          ".func (.reg .u32 a, .param .u32 b) f () { ret; }", ".weak .func f() { ret; }",
          ".weak .global .u32 x;", ".weak .entry e() { ret; }", ".common .global .u32 x;"})
      group.statements.push_back(
          {version + " " + target + ": " + text,
           ".version " + version + "\n.target " + target + "\n" + text + "\n"});
  groups.push_back(std::move(group));
}

const char* const kFunctions =
    ".func f() { ret; }\n.func g();\n.func h(.param .b32 a) { ret; }\n"
    ".func (.param .b32 r) w() { ret; }\n.weak .func wk() { ret; }\n.entry en() { ret; }\n"
    ".global .u32 v;\n";

void linked(std::vector<Group>& groups) {
  Group group{"aliases", {}};
  for (const std::string pair :
       {"g, f", "f, g", "g, h", "g, w", "g, en", "g, v", "g, g", "g, nosuch", "nosuch, f", "g",
        "g,", "g, f, f", "v, f", "g f", "en, f", "g, wk", "wk, f", "\"g\", f", "g, f+4"}) {
    group.statements.push_back({pair, module_of(kFunctions + (".alias " + pair + ";"), "")});
    group.statements.push_back(
        {"first " + pair, module_of(".alias " + pair + ";\n" + kFunctions, "")});
  }
  group.statements.push_back(
      {"twice", module_of(std::string(kFunctions) + ".alias g, f;\n.alias g, f;", "")});
  group.statements.push_back(
      {"defined behind",
       module_of(std::string(kFunctions) + ".alias g, f;\n.func g() { ret; }", "")});
  for (const auto& [version, target] : Ages{{"6.2", "sm_30"}, {"6.3", "sm_20"}, {"6.3", "sm_30"}})
    group.statements.push_back(
        {version + " " + target,
         module_of(".func f() { ret; }\n.func g();\n.alias g, f;", "", "", target, version)});
  groups.push_back(std::move(group));
}

void calls(std::vector<Group>& groups) {
  Group lists{"lists of targets", {}}, prototypes{"prototypes", {}}, arguments{"arguments", {}};
  for (const std::string list : {"L1, L2", "L1", "L1,", "", "nosuch", "f", "1", "L1 L2", "r0"}) {
    for (const std::string use : {"brx.idx r0, T;", "brx.idx.uni r0, T;", "brx.idx r0, L1;",
                                  "@p0 brx.idx r0, T;", "brx.idx d0, T;", "brx.idx h0, T;", ""})
      lists.statements.push_back(
          {list + " " + use, module_of(kFunctions, "T: .branchtargets " + list + ";\n" + use +
                                                       "\nL1: ret;\nL2: ret;")});
    lists.statements.push_back(
        {"behind " + list,
         module_of(kFunctions,
                   "brx.idx r0, T;\nL1: ret;\nL2: ret;\nT: .branchtargets " + list + ";")});
  }
  for (const std::string list : {"f", "f, g", "f,", "", "nosuch", "v", "f, h", "f, w"})
    for (const std::string use : {"call d0, T;", "call (r1), d0, (r0), T;", "call d0, (), T;",
                                  "call f, T;", "call f32, T;", "call d0;", ""})
      lists.statements.push_back(
          {list + " " + use, module_of(kFunctions, "T: .calltargets " + list + ";\n" + use)});
  for (const std::string prototype : {"()",
                                      "_",
                                      "_ ()",
                                      "_ (.param .b32 _)",
                                      "(.param .b32 _) _ (.param .b32 _)",
                                      "(.param .b32 _) _",
                                      "(.param .b32 _, .param .b32 _) _ ()",
                                      "() _ ()",
                                      "_ (.reg .b32 _)",
                                      "(.reg .b32 _, .reg .b32 _) _ ()",
                                      "_ (.param .align 8 .b8 _[16])",
                                      "_ (.param .b32 a)",
                                      "_ (.param .b8 _[])",
                                      "_ (.b32 _)",
                                      "_ () .noreturn",
                                      "(.param .b32 _) _ () .noreturn",
                                      "_ (.param .b32 _,)",
                                      "f ()",
                                      "_ () .maxntid 3",
                                      "_ (.param .b32)",
                                      ".noreturn _ ()",
                                      "_ (.param .b32 _[2][2])",
                                      "_ (.global .b32 _)"}) {
    const std::string line = "T: .callprototype " + prototype + ";\n";
    for (const std::string use :
         {"", "call d0, T;", "call d0, (r0), T;", "call (r1), d0, (r0), T;", "call (r1), d0, T;"})
      prototypes.statements.push_back({prototype + " " + use, module_of("", line + use)});
    prototypes.statements.push_back(
        {"behind " + prototype, module_of("", "call d0, (r0), T;\n" + line)});
    for (const auto& [version, target] : Ages{{"2.0", "sm_20"},
                                              {"2.1", "sm_20"},
                                              {"2.1", "sm_13"},
                                              {"6.3", "sm_30"},
                                              {"6.4", "sm_30"}})
      prototypes.statements.push_back(
          {version + " " + target + ": " + prototype, module_of("", line, "", target, version)});
  }
  for (const std::string formal :
       {".param .b32", ".param .f32", ".param .b64", ".param .b16", ".param .b8", ".param .b8 []",
        ".param .b8 [4]", ".param .align 4 .b8 [4]", ".param .b32 [2]", ".param .align 16 .b8 [8]",
        ".param .f16", ".reg .b32", ".reg .f32", ".reg .b16"})
    for (const std::string actual :
         {"r0", "d0", "f0", "h0", "1", "p4", "p8", "pv", "p0", "v", "-r0"}) {
      std::string named = formal;
      const auto bracket = named.find('[');
      bracket == std::string::npos ? named += " x" : named.insert(bracket, "x");
      const std::string body = "{ .param .b32 p4; .param .align 4 .b8 p8[4]; .param .b64 pv;\n";
      arguments.statements.push_back(
          {formal + ", " + actual, module_of(".global .u32 v; .func F(" + named + ");",
                                             body + "call F, (" + actual + "); }")});
      arguments.statements.push_back(
          {"by a prototype " + formal + ", " + actual,
           module_of(".global .u32 v;", body + "T: .callprototype _ (" + named + ");\ncall d0, (" +
                                            actual + "), T; }")});
    }
  for (Group* group : {&lists, &prototypes, &arguments}) groups.push_back(std::move(*group));
}

void handles(std::vector<Group>& groups) {
  Group group{"handles beside samplers", {}};
  for (const std::string target : {"sm_20", "sm_30", "sm_90"})
    for (const std::string mode : {"", ", texmode_independent"})
      for (const std::string text :
           {"tex.1d.v4.f32.s32 {f0,f1,f2,f3}, [d0, {r4}];",
            "tex.1d.v4.f32.s32 {f0,f1,f2,f3}, [d0, m, {r4}];",
            "tex.1d.v4.f32.s32 {f0,f1,f2,f3}, [t, m, {r4}];",
            "tex.1d.v4.f32.s32 {f0,f1,f2,f3}, [t, d1, {r4}];",
            "tex.1d.v4.f32.s32 {f0,f1,f2,f3}, [d0, d1, {r4}];",
            "tld4.g.2d.v4.f32.f32 {f0,f1,f2,f3}, [d0, m, {f4,f5}];", "txq.width.b32 r0, [d0];",
            "txq.filter_mode.b32 r0, [d0];", "txq.filter_mode.b32 r0, [m];",
            "suld.b.1d.b32.trap r0, [d0, {r1}];", "suq.width.b32 r0, [d0];"}) {
        const std::string sampler = mode.empty() ? "" : ".global .samplerref m;";
        group.statements.push_back(
            {target + mode + ": " + text,
             module_of(".global .texref t;" + sampler, text, "", target + mode, "7.8")});
      }
  groups.push_back(std::move(group));
}

void operands(std::vector<Group>& groups) {
  Group addresses{"numbers as addresses", {}}, barriers{"operands of barriers", {}};
  for (const std::string op :
       {"ld{}.u32 r0, [4];", "st{}.u32 [4], r0;", "atom{}.add.u32 r0, [4], r1;",
        "red{}.add.u32 [4], r1;", "ld{}.v2.u32 {r0,r1}, [4];", "ld.volatile{}.u32 r0, [4];"})
    for (const std::string space : {"", ".global", ".shared", ".local", ".const", ".param"}) {
      std::string text = op;
      text.replace(text.find("{}"), 2, space);
      addresses.statements.push_back({text, module_of("", text)});
    }
  for (const std::string text :
       {"prefetch.global.L1 [4];", "prefetchu.L1 [4];", "mbarrier.init.shared.b64 [4], r0;",
        "cp.async.ca.shared.global [4], [d0], 4;", "discard.global.L2 [4], 128;",
        "suld.b.1d.b32.trap r0, [4, {r1}];", "tex.1d.v4.f32.s32 {f0,f1,f2,f3}, [4, {r4}];"})
    addresses.statements.push_back({text, module_of("", text)});
  for (const std::string value :
       {"0", "15", "16", "r0", "d0", "h0", "f0", "1.0", "0f3F800000", "-1", "_", "p0"})
    for (const std::string op :
         {"bar.sync A;", "bar.sync A, 32;", "bar.sync 1, A;", "bar.arrive 1, A;",
          "bar.arrive A, 32;", "bar.red.popc.u32 r1, A, p0;", "bar.red.and.pred p1, A, p0;",
          "barrier.sync A;", "barrier.arrive 0, A;", "bar.warp.sync A;",
          "vote.sync.all.pred p0, p1, A;", "match.any.sync.b32 r0, r1, A;",
          "redux.sync.add.u32 r0, r1, A;", "shfl.sync.idx.b32 r0, r1, 0, 31, A;"}) {
      std::string text = op;
      text.replace(text.find('A'), 1, value);
      barriers.statements.push_back({text, module_of("", text)});
    }
  groups.push_back(std::move(addresses));
  groups.push_back(std::move(barriers));
}

/// Numbers that are constants of an instruction, and what only targets with a suffix have.
void constants(std::vector<Group>& groups) {
  Group numbers{"numbers of instructions", {}}, own{"instructions of targets with a suffix", {}};
  for (const std::string value : {"-1", "0", "1", "15", "16", "24", "25", "128", "129", "255",
                                  "256", "65535", "65536", "264", "WARP_SZ", "r0"})
    for (const std::string op :
         {"pmevent A;", "pmevent.mask A;", "setmaxnreg.inc.sync.aligned.u32 A;",
          "discard.global.L2 [d0], A;", "applypriority.global.L2::evict_normal [d0], A;",
          "bfe.u32 r0, r1, A, 3;", "bfi.b32 r0, r1, r2, 3, A;", "lop3.b32 r0, r1, r2, r3, A;",
          "cp.async.wait_group A;", "brx.idx A, T; T: .branchtargets L; L:"}) {
      std::string text = op;
      text.replace(text.find('A'), 1, value);
      numbers.statements.push_back({text, module_of("", text, "", "sm_90a")});
    }
  for (const std::string value : {"0", "230", "256", "11", "12"})
    for (const std::string name : {".abi_preserve ", ".abi_preserve_control "})
      for (const std::string& text : {name + value, name + value + " " + name + value})
        numbers.statements.push_back({text, module_of(".func f() " + text + " { ret; }", "")});
  for (const std::string target : {"sm_90", "sm_90a"})
    for (const std::string op :
         {"setmaxnreg.inc.sync.aligned.u32 64;", "setmaxnreg.dec.sync.aligned.u32 64;",
          "redux.sync.min.f32 f0, f1, r1;", "cvt.rn.satfinite.e2m3x2.f32 h0, f0, f1;",
          "cvt.rn.bf16x2.ue8m0x2 r0, h0;", "elect.sync r0|p0, -1;", "add.u16x2 r0, r1, r2;"})
      own.statements.push_back({target + ": " + op, module_of("", op, "", target)});
  groups.push_back(std::move(numbers));
  groups.push_back(std::move(own));
}

/// Every two modifiers of a load or store, and registers of packed halves.
void accesses(std::vector<Group>& groups) {
  Group pairs{"modifiers of accesses", {}}, halves{"packed halves and results", {}};
  const Words kinds{"",
                    ".weak",
                    ".volatile",
                    ".relaxed.gpu",
                    ".relaxed.sys",
                    ".mmio",
                    ".acquire.gpu",
                    ".release.gpu",
                    ".nc",
                    ".ca",
                    ".cg",
                    ".cs",
                    ".lu",
                    ".cv",
                    ".wb",
                    ".wt",
                    ".L1::no_allocate",
                    ".L1::evict_last",
                    ".L2::64B",
                    ".L2::128B",
                    ".shared",
                    ".L2::evict_last",
                    ".gpu",
                    ".mmio.relaxed.sys"};
  for (const std::string& one : kinds)
    for (const std::string& other : kinds)
      for (const auto& [op, end] : {std::pair{"ld", " r0, [d0];"}, {"st", " [d0], r0;"}}) {
        const std::string text = op + one + other + ".b32" + end;
        pairs.statements.push_back({text, module_of("", text)});
      }
  for (const std::string op : {"ld.volatile.L2::cache_hint.global.b32 r0, [d0], d1;",
                               "ld.mmio.relaxed.sys.global.L2::cache_hint.b32 r0, [d0], d1;",
                               "ld.nc.global.L2::cache_hint.b32 r0, [d0], d1;",
                               "add.u16x2 r0, x, r1;",
                               "min.s16x2 x, r0, r1;",
                               "tanh.approx.bf16x2 r0, x;",
                               "fma.rn.bf16x2 x, r0, r1, r2;",
                               "abs.bf16x2 r0, x;",
                               "cvt.rn.bf16x2.f32 x, f0, f1;",
                               "cvt.rn.f16x2.f32 x, f0, f1;",
                               "setp.eq.bf16x2 p0|p1, x, r1;",
                               "bar.sync x;",
                               "bar.sync 0, x;",
                               "add.u32 x, x, x;",
                               "shfl.sync.idx.b32 r0, x, x, 31, -1;",
                               "shfl.sync.idx.b32 r0, r1, 0, 31, x;",
                               "match.any.sync.b32 r0, r1, x;",
                               "elect.sync r0|p0, x;",
                               "bar.warp.sync x;",
                               "popc.b32 x, r0;",
                               "clz.b32 r0, x;",
                               "bfind.u32 x, r0;",
                               "bfe.u32 r0, r1, x, 3;",
                               "shf.l.wrap.b32 r0, r1, r2, x;",
                               "shl.b32 r0, r1, x;",
                               "prmt.b32 r0, x, x, x;",
                               "brx.idx x, T; T: .branchtargets L; L:",
                               "elect.sync r0, -1;",
                               "elect.sync _, -1;",
                               "elect.sync _|p0, -1;",
                               "elect.sync r0|_, -1;",
                               "lop3.or.b32 r0, r1, r2, r3, 1, p1;",
                               "lop3.or.b32 r0|_, r1, r2, r3, 1, p1;",
                               "lop3.or.b32 _|p0, r1, r2, r3, 1, p1;",
                               "vadd2.u32.u32.u32 r0, r1, 1, r2;",
                               "vadd2.u32.u32.u32 r0, 1, r1, r2;",
                               "vadd4.u32.u32.u32 r0, r1, 1, r2;",
                               "vadd.u32.u32.u32 r0, r1, 1;",
                               "vadd.u32.u32.u32.add r0, r1, r2;",
                               "vadd.u32.u32.u32.add r0, r1, r2, r3;",
                               "vset.u32.u32.lt.add r0, r1, r2;",
                               "cvt.rn.f16x2.e4m3x2 r0, 0;",
                               "cvt.rn.f16x2.e4m3x2 r0, h0;",
                               "cvt.rn.satfinite.e4m3x2.f16x2 h0, 1;"})
    halves.statements.push_back({op, module_of("", ".reg .f16x2 x;\n" + op)});
  groups.push_back(std::move(pairs));
  groups.push_back(std::move(halves));
}

}  // namespace

void add_directives(std::vector<Group>& groups) {
  heads(groups);
  directives(groups);
  parameters(groups);
  texts(groups);
  linked(groups);
  calls(groups);
  operands(groups);
  handles(groups);
  constants(groups);
  accesses(groups);
}

}  // namespace ptx2spv
