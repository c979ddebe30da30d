#include <functional>

#include "tests/hostile/hostile.hpp"

namespace ptx2spv::test {
namespace {

const std::string kHead = ".version 8.3\n.target sm_80\n.address_size 64\n";

std::string kernel(const std::string& body, const std::string& params = ".param .u64 s") {
  return kHead + ".visible .entry k(" + params +
         ") {\n .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .b16 %h<9>; .reg .pred %p<3>;\n" + body +
         "\n ret;\n}\n";
}

const std::string kGood = kHead + R"(.global .surfref img;
.const .align 4 .b32 table[4] = {1,2,3,4};
.global .align 8 .u64 where = generic(table)+8;
.func (.param .b32 r) twice(.param .b32 a) {
 .reg .b32 %x; ld.param.b32 %x, [a]; add.s32 %x, %x, %x; st.param.b32 [r], %x; ret;
}
.visible .entry k(.param .u64 s, .param .align 8 .b8 box[24]) {
 .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<3>;
 .shared .align 4 .b8 tile[256];
 ld.param.u64 %d1, [s];
loop:
 suld.b.2d.v2.b32.clamp {%r2, %r3}, [%d1, {%r1, %r2}];
 sust.b.1d.b32.trap [img, {%r1}], %r2;
 sured.b.add.1d.u32.zero [img, {%r1}], %r2;
 setp.lt.u32 %p1, %r1, 10;
 add.u32 %r1, %r1, 1;
 @%p1 bra loop;
 { .param .b32 q; .param .b32 z; st.param.b32 [q], %r1; call (z), twice, (q); }
 bar.sync 0;
 ret;
}
)";

std::uint32_t next(std::uint32_t& state) {
  state ^= state << 13;
  state ^= state >> 17;
  return state ^= state << 5;
}

using Add = std::function<void(const std::string& name, const std::string& text)>;

/// Cut off, noise, and a good module with a few bytes changed.
void add_damaged(const Add& add) {
  std::uint32_t state = 12345;
  for (std::size_t i = 0; i < 25; ++i)
    add("cut_" + std::to_string(i), kGood.substr(0, 30 + i * (kGood.size() - 34) / 25));
  for (std::size_t i = 0; i < 10; ++i) {
    std::string noise(40 + i * 500, ' ');
    for (char& c : noise) c = static_cast<char>(next(state));
    add("noise_" + std::to_string(i), noise);
  }
  for (std::size_t i = 0; i < 15; ++i) {
    std::string flipped = kGood;
    for (std::size_t n = 0; n < 3 + i; ++n)
      flipped[next(state) % flipped.size()] = static_cast<char>(next(state));
    // Damage to the version's line is certain to be noticed.
    flipped[next(state) % 8] = '\x7f';
    add("flipped_" + std::to_string(i), flipped);
  }
}

/// Modules that end before a kernel, versions and targets that there are not.
void add_headers(const Add& add) {
  add("empty", "");
  add("newline", "\n");
  add("nul", std::string(1, '\0'));
  add("version_only", ".version 8.3\n");
  add("version_99", ".version 99.9\n.target sm_80\n");
  add("version_huge", ".version 99999999999999999999.3\n.target sm_80\n");
  add("version_negative", ".version -1.0\n.target sm_80\n");
  add("target_huge", ".version 8.3\n.target sm_99999999999\n");
  add("address_size", ".version 8.3\n.target sm_80\n.address_size 16\n");
}

/// Numbers of registers, elements and bytes that no machine has.
void add_sizes(const Add& add) {
  add("registers_max", kernel(".reg .b32 %q<4294967295>;"));
  add("registers_overflow", kernel(".reg .b32 %q<99999999999999999999>;"));
  add("registers_negative", kernel(".reg .b32 %q<-1>;"));
  add("array_2_64", kHead + ".global .b8 x[18446744073709551615];\n");
  add("array_overflow", kHead + ".global .b8 x[99999999999999999999];\n");
  add("array_product", kHead + ".global .b8 x[4294967296][4294967296][4294967296];\n");
  add("array_bytes", kHead + ".global .b64 x[2305843009213693952];\n");
  add("array_negative", kHead + ".global .b8 x[-1];\n");
  add("array_terabyte", kHead + ".global .b8 x[1099511627776] = {1};\n");
  add("const_terabyte", kHead + ".const .b8 x[1099511627776];\n");
  add("shared_4_gib", kernel(".shared .b8 t[4294967296]; mov.u32 %r1, t;"));
  add("local_terabyte", kernel(".local .b8 t[1099511627776]; st.local.u32 [t], %r1;"));
  std::string locals;
  for (int i = 0; i < 5'000; ++i)
    locals += ".local .b8 t" + std::to_string(i) + "[1099511627776];\n";
  add("locals_too_large", kernel(locals));
  add("param_terabyte", kernel("", ".param .b8 p[1099511627776]"));
  add("params_many", kernel("", times(9999, ".param .u64 p, ") + ".param .u64 q"));
  add("params_wide", kernel("", ".param .b8 p[32765]"));
  add("align_3", kHead + ".global .align 3 .b8 x;\n");
  add("align_2_64", kHead + ".global .align 18446744073709551615 .b8 x;\n");
}

/// Nesting and words of any length.
void add_depths(const Add& add) {
  add("deep_blocks", kernel(times(100'000, "{")));
  add("deep_blocks_closed", kernel(times(100'000, "{") + times(100'000, "}")));
  add("deep_parentheses",
      kHead + ".global .u32 x = " + times(100'000, "(") + "1" + times(100'000, ")") + ";\n");
  add("deep_initialiser",
      kHead + ".global .u32 x[2] = " + times(100'000, "{") + "1" + times(100'000, "}") + ";\n");
  add("deep_dimensions", kHead + ".global .u32 x" + times(100'000, "[1]") + ";\n");
  add("deep_minus", kHead + ".global .u32 x = " + times(100'000, "-") + "1;\n");
  add("deep_condition",
      kHead + ".global .u32 x = " + times(100'000, "1?") + "1" + times(100'000, ":1") + ";\n");
  add("long_names", kHead + ".global .u32 " + times(1'000'000, "a") + ";\n.global .u32 " +
                        times(1'000'000, "a") + ";\n");
  add("open_comment", kHead + times(50'000, "/*"));
  add("open_string", kHead + ".file 1 \"" + times(50'000, "x"));
  add("long_number", kHead + ".global .u32 x = " + times(100'000, "9") + ";\n");
  add("long_hex", kHead + ".global .u32 x = 0x" + times(100'000, "f") + ";\n");
}

/// Small mistakes in what a module says.
void add_mistakes(const Add& add) {
  add("short_float", kHead + ".global .f32 x = 0f3f80;\n");
  add("divide_by_zero", kHead + ".global .u32 x = 1/0;\n");
  add("remainder_of_zero", kHead + ".global .s64 x = -9223372036854775808 % 0;\n");
  add("least_by_minus_one", kHead + ".global .s64 x = -9223372036854775808 / -1;\n");
  add("least_rest_minus_one", kHead + ".global .s64 x = -9223372036854775808 % -1;\n");
  add("shift_too_far", kHead + ".global .u32 x = 1 << 99999;\n");
  add("shift_back", kHead + ".global .u32 x = 1 << -1;\n");
  add("unknown_instruction", kernel("frobnicate.u32 %r1, %r2;"));
  add("unsupported_often", kernel(times(5'000, "wgmma.fence.sync.aligned;\n")));
  add("unknown_modifier", kernel("add.wibble.u32 %r1, %r2, %r3;"));
  add("wrong_types", kernel("add.f32 %d1, %r1, %r2;"));
  add("too_few_operands", kernel("add.u32 %r1;"));
  add("too_many_operands", kernel("add.u32 %r1" + times(50'000, ", %r2") + ";"));
  add("vector_huge",
      kernel("suld.b.1d.v4.b32.trap {%r1" + times(50'000, ", %r1") + "}, [%d1, {%r1}];"));
  add("modifiers_many", kernel("add" + times(50'000, ".u32") + " %r1, %r2, %r3;"));
  add("undeclared", kernel("add.u32 %nope, %r1, %r2;"));
  add("no_label", kernel("bra nowhere;"));
  add("label_twice", kernel("a: a: bra a;"));
  // What a caller keeps of its registers is bounded.
  std::string keeps = ".func (.reg .u32 r) f(.reg .u32 n) {\n .reg .u32 %k<600>;\n", used;
  for (int i = 0; i < 600; ++i) {
    keeps += " add.u32 %k" + std::to_string(i) + ", n, " + std::to_string(i) + ";\n";
    used += " add.u32 r, r, %k" + std::to_string(i) + ";\n";
  }
  keeps += " call (r), f, (n);\n" + used + " ret;\n}\n";
  add("recursion_keeps_much",
      kHead + keeps + ".entry k() { .reg .u32 %x; call (%x), f, (3); ret; }\n");
  add("no_function", kernel("call nothing;"));
  add("two_kernels", kernel("") + kernel("").substr(kHead.size()));
  add("no_target_list", kernel("brx.idx %r1, t;"));
  add("targets_missing", kernel("t: .branchtargets a, b;\n brx.idx %r1, t;"));
  add("maxntid_0", kHead + ".entry k() .maxntid 0 { ret; }\n");
  add("reqntid_negative", kHead + ".entry k() .reqntid -1 { ret; }\n");
  add("no_end", kHead + ".entry k() { ret;");
  add("stray_braces", kHead + "}}}}}}\n");
  add("nameless", kHead + ".entry () { ret; }\n");
  add("surfref_huge", kHead + ".global .surfref s = {width = 99999999999999999999};\n");
  add("surfref_field", kHead + ".global .surfref s = {widht = 1};\n");
  add("surfref_local", kernel(".local .surfref s;"));
  add("offset_overflow", kernel("ld.global.u32 %r1, [%d1+99999999999999999999];"));
  add("initialiser_cycle", kHead + ".global .u64 x = y+1;\n.global .u64 y = x+1;\n");
  add("barrier_99", kernel("bar.sync 99, 99999;"));
  add("predicate_wanted", kernel("setp.lt.u32 %r1, %r1, %r1;"));
  add("control_characters", ".version 8.3\n\x01\x02\x03");
  add("latin_1", kHead + ".global .u32 \xe4\xf6;\n");
  add("dots", times(50'000, "."));
  add("semicolons", kHead + times(50'000, ";"));
  add("quotes", times(999, "\""));
  add("backslash", kHead + "\\\n");
  add("at_signs", kernel(times(10'000, "@")));
  add("guard", kernel("@%r1 add.u32 %r1, %r1, %r1;"));
  add("percent", kernel("%%%%%%"));
  add("selector", kernel("vadd.u32.u32.u32 %r1, %r1.b9, %r1;"));
  add("section", kHead + ".section .debug_info {");
  add("alias", kHead + ".alias a, b;\n");
  add("mask", kHead + ".global .u8 x = 0xFFFFFF(x);\n");
}

}  // namespace

std::vector<Hostile> hostile_modules() {
  std::vector<Hostile> out;
  const Add add = [&](const std::string& name, const std::string& text) {
    out.push_back({name, text});
  };
  add_damaged(add);
  add_headers(add);
  add_sizes(add);
  add_depths(add);
  add_mistakes(add);
  return out;
}

}  // namespace ptx2spv::test
