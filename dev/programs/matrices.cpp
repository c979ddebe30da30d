// The kernels of matrix instructions: those of registers, those of shared memory, and wmma.
#include "dev/programs/matrices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ptx2spv::programs {
namespace {

using Element = MatrixElement;
using Role = MatrixRole;

/// The registers of a fragment: `count` of one class, from number `first` on.
struct Fragment {
  char kind = 'r';  ///< r: 32 bits, f: f32, d: f64
  unsigned count = 0, first = 0;

  unsigned words() const { return kind == 'd' ? 2 * count : count; }
  std::string reg(unsigned i) const { return fmt::format("%{}{}", kind, first + i); }
  std::string list() const {
    std::string text;
    for (unsigned i = 0; i < count; ++i) text += (i ? "," : "") + reg(i);
    return "{" + text + "}";
  }
  std::string type() const { return kind == 'r' ? "b32" : kind == 'f' ? "f32" : "f64"; }
  std::string load(const char* base, unsigned word) const {
    std::string text;
    for (unsigned i = 0; i < count; ++i)
      text += fmt::format("  ld.global.{} {}, [{}+{}];\n", type(), reg(i), base,
                          4 * (word + i * (kind == 'd' ? 2 : 1)));
    return text;
  }
  std::string store(const char* base, unsigned word) const {
    std::string text;
    for (unsigned i = 0; i < count; ++i)
      text += fmt::format("  st.global.{} [{}+{}], {};\n", type(), base,
                          4 * (word + i * (kind == 'd' ? 2 : 1)), reg(i));
    return text;
  }
};

Element element_of(const std::string& type) {
  if (type == "f16") return Element::f16;
  if (type == "bf16") return Element::bf16;
  if (type == "tf32") return Element::tf32;
  if (type == "f32") return Element::f32;
  if (type == "f64") return Element::f64;
  if (type == "e4m3") return Element::e4m3;
  if (type == "e5m2") return Element::e5m2;
  return Element::bits;
}

unsigned bits_of(const std::string& type) {
  if (type == "f64") return 64;
  if (type == "f32" || type == "tf32" || type == "s32") return 32;
  if (type == "f16" || type == "bf16") return 16;
  if (type == "s4" || type == "u4") return 4;
  return type == "b1" ? 1 : 8;
}

char kind_of(const std::string& type) { return type == "f64" ? 'd' : type == "f32" ? 'f' : 'r'; }

struct Shape {
  unsigned m, n, k;
  std::string text() const { return fmt::format("m{}n{}k{}", m, n, k); }
};

/// mma: registers in, registers out.
struct Mma {
  std::string modifiers;  ///< between shape and types, with dots
  std::string d, a, b, c, behind;
  unsigned version = 70, target = 80;
};

void add_mma(std::vector<MatrixForm>& forms, Shape shape, const std::array<unsigned, 4>& counts,
             const Mma& how) {
  const Fragment d{kind_of(how.d), counts[0], 0}, a{kind_of(how.a), counts[1], 8},
      b{kind_of(how.b), counts[2], 16}, c{kind_of(how.c), counts[3], 24};
  MatrixForm form;
  form.name = fmt::format("mma.sync.aligned.{}{}.{}.{}.{}.{}{}", shape.text(), how.modifiers, how.d,
                          how.a, how.b, how.c, how.behind);
  form.version = how.version;
  form.target = how.target;
  form.parts = {{element_of(how.a), Role::a, a.words()},
                {element_of(how.b), Role::b, b.words()},
                {element_of(how.c), Role::c, c.words()}};
  form.is_float = form.parts[0].element != Element::bits;
  form.results = 32 * d.words();
  form.body =
      a.load("%it", 0) + b.load("%it", a.words()) + c.load("%it", a.words() + b.words()) +
      fmt::format("  {} {}, {}, {}, {};\n", form.name, d.list(), a.list(), b.list(), c.list()) +
      d.store("%ot", 0);
  forms.push_back(std::move(form));
}

void add_integer_mma(std::vector<MatrixForm>& forms) {
  struct Row {
    Shape shape;
    std::array<unsigned, 4> counts;
    unsigned bits, version, target;
  };
  const Row rows[] = {
      {{8, 8, 16}, {2, 1, 1, 2}, 8, 65, 75},  {{16, 8, 16}, {4, 2, 1, 4}, 8, 70, 80},
      {{16, 8, 32}, {4, 4, 2, 4}, 8, 70, 80}, {{8, 8, 32}, {2, 1, 1, 2}, 4, 65, 75},
      {{16, 8, 32}, {4, 2, 1, 4}, 4, 70, 80}, {{16, 8, 64}, {4, 4, 2, 4}, 4, 70, 80},
      {{8, 8, 128}, {2, 1, 1, 2}, 1, 70, 75}, {{16, 8, 128}, {4, 2, 1, 4}, 1, 70, 80},
      {{16, 8, 256}, {4, 4, 2, 4}, 1, 70, 80}};
  for (const Row& row : rows) {
    if (row.bits == 1) {
      for (const char* op : {".xor.popc", ".and.popc"}) {
        const bool younger = op[1] == 'a';
        add_mma(forms, row.shape, row.counts,
                {".row.col", "s32", "b1", "b1", "s32", op, younger ? 71 : row.version,
                 younger ? 80 : row.target});
      }
      continue;
    }
    for (const char* sign_a : {"s", "u"})
      for (const char* sign_b : {"s", "u"})
        for (const char* sat : {"", ".satfinite"})
          add_mma(forms, row.shape, row.counts,
                  {std::string(".row.col") + sat, "s32", fmt::format("{}{}", sign_a, row.bits),
                   fmt::format("{}{}", sign_b, row.bits), "s32", "", row.version, row.target});
  }
}

void add_float_mma(std::vector<MatrixForm>& forms) {
  for (const char* layouts : {".row.col", ".row.row", ".col.row", ".col.col"}) {
    add_mma(forms, {8, 8, 4}, {8, 2, 2, 8}, {layouts, "f32", "f16", "f16", "f32", "", 64, 70});
    add_mma(forms, {8, 8, 4}, {8, 2, 2, 4}, {layouts, "f32", "f16", "f16", "f16", "", 64, 70});
    add_mma(forms, {8, 8, 4}, {4, 2, 2, 4}, {layouts, "f16", "f16", "f16", "f16", "", 64, 70});
  }
  for (const bool half : {false, true}) {
    const std::string d = half ? "f16" : "f32";
    const unsigned count = half ? 2 : 4;
    add_mma(forms, {16, 8, 8}, {count, 2, 1, count}, {".row.col", d, "f16", "f16", d, "", 65, 75});
    add_mma(forms, {16, 8, 16}, {count, 4, 2, count}, {".row.col", d, "f16", "f16", d, "", 70, 80});
    for (const char* a : {"e4m3", "e5m2"})
      for (const char* b : {"e4m3", "e5m2"}) {
        add_mma(forms, {16, 8, 16}, {count, 2, 1, count}, {".row.col", d, a, b, d, "", 87, 89});
        add_mma(forms, {16, 8, 32}, {count, 4, 2, count},
                {".row.col", d, a, b, d, "", half ? 87u : 84u, 89});
      }
  }
  add_mma(forms, {16, 8, 8}, {4, 2, 1, 4}, {".row.col", "f32", "bf16", "bf16", "f32", ""});
  add_mma(forms, {16, 8, 16}, {4, 4, 2, 4}, {".row.col", "f32", "bf16", "bf16", "f32", ""});
  add_mma(forms, {16, 8, 4}, {4, 2, 1, 4}, {".row.col", "f32", "tf32", "tf32", "f32", ""});
  add_mma(forms, {16, 8, 8}, {4, 4, 2, 4}, {".row.col", "f32", "tf32", "tf32", "f32", ""});
  for (const char* round : {"", ".rn", ".rz", ".rm", ".rp"}) {
    const std::string modifiers = std::string(".row.col") + round;
    add_mma(forms, {8, 8, 4}, {2, 1, 1, 2}, {modifiers, "f64", "f64", "f64", "f64", ""});
    for (const unsigned k : {4u, 8u, 16u})
      add_mma(forms, {16, 8, k}, {4, k / 2, k / 4, 4},
              {modifiers, "f64", "f64", "f64", "f64", "", 78, 90});
  }
}

/// mma.sp: half of a row of a, and which half, in the threads that the selector names.
void add_sparse(std::vector<MatrixForm>& forms, Shape shape, bool whole_a, unsigned selectors,
                const Mma& how) {
  const unsigned registers = whole_a ? 4 : 2, sums = how.d == "f16" ? 2 : 4;
  const Fragment d{kind_of(how.d), sums, 0}, a{'r', registers, 8}, b{'r', registers, 16},
      e{'r', 1, 48}, c{kind_of(how.c), sums, 24};
  const auto add = [&](const std::string& variant, unsigned selector, Element metadata,
                       const char* behind) {
    MatrixForm form;
    const std::string front = fmt::format("mma.{}.sync.aligned.{}{}.{}.{}.{}.{}", variant,
                                          shape.text(), how.modifiers, how.d, how.a, how.b, how.c);
    form.name = fmt::format("{} selector {}{}", front, selector, behind);
    form.version = variant == "sp" ? how.version : 85u;
    form.target = how.target;
    form.parts = {{element_of(how.a), Role::a, a.words()},
                  {element_of(how.b), Role::b, b.words()},
                  {metadata, Role::a, 1},
                  {element_of(how.c), Role::c, c.words()}};
    form.is_float = form.parts[0].element != Element::bits;
    form.results = 32 * d.words();
    const unsigned words = a.words() + b.words();
    form.body = a.load("%it", 0) + b.load("%it", a.words()) + e.load("%it", words) +
                c.load("%it", words + 1) +
                fmt::format("  {} {}, {}, {}, {}, {}, {};\n", front, d.list(), a.list(), b.list(),
                            c.list(), e.reg(0), selector) +
                d.store("%ot", 0);
    forms.push_back(std::move(form));
  };
  for (const char* variant : {"sp", "sp::ordered_metadata"}) {
    for (unsigned selector = 0; selector < selectors; ++selector)
      add(variant, selector, how.a == "tf32" ? Element::one_of_two : Element::two_of_four, "");
    // Indices in any order, and twice the same.
    if (how.a == how.b && how.modifiers == ".row.col")
      add(variant, 0, Element::bits, " any metadata");
  }
}

void add_sparse_forms(std::vector<MatrixForm>& forms) {
  for (const bool whole : {false, true}) {
    const unsigned times = whole ? 2 : 1, wide = whole ? 2 : 4, narrow = whole ? 1 : 2;
    for (const bool half : {false, true}) {
      const std::string d = half ? "f16" : "f32";
      add_sparse(forms, {16, 8, 16 * times}, whole, wide,
                 {".row.col", d, "f16", "f16", d, "", 71, 80});
    }
    for (const char* x : {"e4m3", "e5m2"})
      for (const char* y : {"e4m3", "e5m2"})
        if (whole)
          add_sparse(forms, {16, 8, 64}, true, 1, {".row.col", "f32", x, y, "f32", "", 84, 89});
    add_sparse(forms, {16, 8, 16 * times}, whole, wide,
               {".row.col", "f32", "bf16", "bf16", "f32", "", 71, 80});
    add_sparse(forms, {16, 8, 8 * times}, whole, wide,
               {".row.col", "f32", "tf32", "tf32", "f32", "", 71, 80});
    for (const unsigned bits : {8u, 4u})
      for (const char* x : {"s", "u"})
        for (const char* y : {"s", "u"})
          for (const char* sat : {"", ".satfinite"})
            add_sparse(forms, {16, 8, 256 / bits * times}, whole, narrow,
                       {std::string(".row.col") + sat, "s32", fmt::format("{}{}", x, bits),
                        fmt::format("{}{}", y, bits), "s32", "", 71, 80});
  }
}

/// Bytes of shared memory of each warp for loads and stores of matrices: rows of 16.
constexpr unsigned kSharedWords = 256;

std::string copy_to_shared(unsigned from_word) {
  std::string text;
  for (unsigned i = 0; i < kSharedWords / 32; ++i)
    text += fmt::format("  ld.global.b32 %r60, [%il+{}];\n  st.shared.b32 [%sl+{}], %r60;\n",
                        4 * (from_word + 32 * i), 128 * i);
  return text + "  bar.warp.sync 0xffffffff;\n";
}

std::string copy_from_shared() {
  std::string text = "  bar.warp.sync 0xffffffff;\n";
  for (unsigned i = 0; i < kSharedWords / 32; ++i)
    text += fmt::format("  ld.shared.b32 %r60, [%sl+{}];\n  st.global.b32 [%ol+{}], %r60;\n",
                        128 * i, 128 * i);
  return text;
}

void add_moves(std::vector<MatrixForm>& forms) {
  for (const unsigned count : {1u, 2u, 4u})
    for (const char* trans : {"", ".trans"}) {
      const Fragment data{'r', count, 0};
      const char* space = count == 1 ? "" : count == 2 ? ".shared" : ".shared::cta";
      MatrixForm load;
      load.name = fmt::format("ldmatrix.sync.aligned.m8n8.x{}{}{}.b16", count, trans, space);
      load.version = count == 4 ? 78 : 65;
      load.target = 75;
      load.by_thread = false;
      load.parts = {{Element::row, Role::a, 32}, {Element::bits, Role::a, kSharedWords}};
      load.results = 32 * count;
      const std::string address =
          "  shl.b32 %r61, %r61, 4;\n  add.u32 %r61, %r61, %s;\n  cvt.u64.u32 %x, %r61;\n"
          "  cvta.shared.u64 %x, %x;\n";
      const char* register_of = *space ? "%r61" : "%x";
      load.body = copy_to_shared(32) + "  ld.global.b32 %r61, [%il];\n" + address +
                  fmt::format("  {} {}, [{}];\n", load.name, data.list(), register_of) +
                  data.store("%ot", 0);
      forms.push_back(load);
      MatrixForm store;
      store.name = fmt::format("stmatrix.sync.aligned.m8n8.x{}{}{}.b16", count, trans, space);
      store.version = 78;
      store.target = 90;
      store.by_thread = false;
      store.parts = {{Element::distinct_row, Role::a, 32},
                     {Element::bits, Role::a, kSharedWords},
                     {Element::bits, Role::a, 32 * count}};
      store.results = kSharedWords;
      store.body = copy_to_shared(32) + "  ld.global.b32 %r61, [%il];\n" + address;
      for (unsigned i = 0; i < count; ++i)
        store.body += fmt::format("  ld.global.b32 {}, [%il+{}];\n", data.reg(i),
                                  4 * (32 + kSharedWords + 32 * i));
      store.body += fmt::format("  {} [{}], {};\n", store.name, register_of, data.list()) +
                    copy_from_shared();
      forms.push_back(store);
    }
  MatrixForm move;
  move.name = "movmatrix.sync.aligned.m8n8.trans.b16";
  move.version = 78;
  move.target = 75;
  move.parts = {{Element::bits, Role::a, 1}};
  move.results = 32;
  move.body = "  ld.global.b32 %r1, [%it];\n  " + move.name + " %r0, %r1;\n" +
              "  st.global.b32 [%ot], %r0;\n";
  forms.push_back(move);
}

/// wmma: matrices in memory, of which the rows lie 16 bytes further apart than they are long.
struct Wmma {
  Shape shape;
  std::array<unsigned, 3> counts;  ///< registers of a, b and of c
  std::string a_layout, b_layout;
  std::string d, a, b, c, mma;  ///< types, and all of the instruction up to its operands
  unsigned version, target;
};

struct Stored {
  unsigned stride;  ///< in elements
  unsigned words;
};
Stored stored(unsigned rows, unsigned columns, const std::string& layout, const std::string& type,
              unsigned padding) {
  const unsigned along = layout == "row" ? columns : rows, across = rows * columns / along;
  const unsigned stride = along + padding * 8 / bits_of(type);
  return {stride, stride * across * bits_of(type) / 32};
}

void add_wmma(std::vector<MatrixForm>& forms, const Wmma& how) {
  const auto [m, n, k] = how.shape;
  const Stored a = stored(m, k, how.a_layout, how.a, 16), b = stored(k, n, how.b_layout, how.b, 16),
               c = stored(m, n, how.b_layout, how.c, 16), d = stored(m, n, how.a_layout, how.d, 0);
  const Fragment fa{kind_of(how.a), how.counts[0], 0}, fb{kind_of(how.b), how.counts[1], 8},
      fc{kind_of(how.c), how.c == "f16" ? 4u : how.counts[2], 16},
      fd{kind_of(how.d), how.d == "f16" ? 4u : how.counts[2], 24};
  const std::string shape = how.shape.text();
  MatrixForm form;
  form.name = how.mma;
  form.version = how.version;
  form.target = how.target;
  form.by_thread = false;
  form.parts = {{element_of(how.a), Role::a, a.words},
                {element_of(how.b), Role::b, b.words},
                {element_of(how.c), Role::c, c.words}};
  form.is_float = form.parts[0].element != Element::bits;
  const unsigned fragments = fa.words() + fb.words() + fc.words() + fd.words();
  form.results = d.words + 32 * fragments;
  const unsigned shared_words = (b.words + 31) / 32 * 32;
  std::string& text = form.body;
  text = "  mov.u32 %r50, %laneid;\n";
  // b stands in shared memory.
  for (unsigned i = 0; i < b.words; i += 32)
    text += fmt::format(
        "  add.u32 %r51, %r50, {};\n  setp.lt.u32 %p, %r51, {};\n"
        "  @%p ld.global.b32 %r60, [%il+{}];\n  @%p st.shared.b32 [%sl+{}], %r60;\n",
        i, b.words, 4 * (a.words + i), 4 * i);
  text += "  bar.warp.sync 0xffffffff;\n";
  text += fmt::format("  wmma.load.a.sync.aligned.{}.{}.{} {}, [%i], {};\n", how.a_layout, shape,
                      how.a, fa.list(), a.stride);
  text += fmt::format("  wmma.load.b.sync.aligned.{}.{}.shared.{} {}, [%s], {};\n", how.b_layout,
                      shape, how.b, fb.list(), b.stride);
  text += fmt::format("  wmma.load.c.sync.aligned.{}.{}.global.{} {}, [%i+{}], {};\n", how.b_layout,
                      shape, how.c, fc.list(), 4 * (a.words + b.words), c.stride);
  text +=
      fmt::format("  {} {}, {}, {}, {};\n", how.mma, fd.list(), fa.list(), fb.list(), fc.list());
  text += fmt::format("  wmma.store.d.sync.aligned.{}.{}.global.{} [%o], {}, {};\n", how.a_layout,
                      shape, how.d, fd.list(), d.stride);
  // Then the fragments, as each thread has them.
  text += fmt::format(
      "  mad.lo.u32 %r51, %r50, {}, {};\n  cvt.u64.u32 %x, %r51;\n"
      "  add.u64 %x, %x, %o;\n",
      4 * fragments, 4 * d.words);
  unsigned at = 0;
  for (const Fragment& each : {fa, fb, fc, fd}) {
    text += each.store("%x", at);
    at += each.words();
  }
  (void)shared_words;
  forms.push_back(std::move(form));
}

constexpr std::array<std::array<const char*, 2>, 4> kLayouts = {
    {{"row", "col"}, {"row", "row"}, {"col", "row"}, {"col", "col"}}};

void add_wmmas(std::vector<MatrixForm>& forms) {
  const Shape shapes[] = {{16, 16, 16}, {8, 32, 16}, {32, 8, 16}};
  for (const Shape& shape : shapes) {
    constexpr unsigned version = 63;
    for (const auto& [al, bl] : kLayouts) {
      const std::string front = fmt::format("wmma.mma.sync.aligned.{}.{}.{}", al, bl, shape.text());
      for (const char* d : {"f16", "f32"})
        for (const char* c : {"f16", "f32"})
          for (const char* sat : {"", ".satfinite"})
            add_wmma(forms, {shape,
                             {8, 8, 8},
                             al,
                             bl,
                             d,
                             "f16",
                             "f16",
                             c,
                             fmt::format("{}.{}.{}{}", front, d, c, sat),
                             version,
                             70});
      const unsigned a = shape.m / 4, b = shape.n / 4;  // halves
      add_wmma(forms, {shape,
                       {a, b, 8},
                       al,
                       bl,
                       "f32",
                       "bf16",
                       "bf16",
                       "f32",
                       front + ".f32.bf16.bf16.f32",
                       70,
                       80});
      for (const char* type : {"s8", "u8"})
        for (const char* sat : {"", ".satfinite"})
          add_wmma(forms, {shape,
                           {a / 2, b / 2, 8},
                           al,
                           bl,
                           "s32",
                           type,
                           type,
                           "s32",
                           fmt::format("{}.s32.{}.{}.s32{}", front, type, type, sat),
                           63,
                           72});
    }
  }
  for (const auto& [al, bl] : kLayouts) {
    const std::string front = fmt::format("wmma.mma.sync.aligned.{}.{}.", al, bl);
    add_wmma(forms, {{16, 16, 8},
                     {4, 4, 8},
                     al,
                     bl,
                     "f32",
                     "tf32",
                     "tf32",
                     "f32",
                     front + "m16n16k8.f32.tf32.tf32.f32",
                     70,
                     80});
    for (const char* round : {"", ".rn", ".rz", ".rm", ".rp"})
      add_wmma(forms, {{8, 8, 4},
                       {1, 1, 2},
                       al,
                       bl,
                       "f64",
                       "f64",
                       "f64",
                       "f64",
                       fmt::format("{}m8n8k4{}.f64.f64.f64.f64", front, round),
                       70,
                       80});
  }
  for (const char* type : {"s4", "u4"})
    for (const char* sat : {"", ".satfinite"})
      add_wmma(forms, {{8, 8, 32},
                       {1, 1, 2},
                       "row",
                       "col",
                       "s32",
                       type,
                       type,
                       "s32",
                       fmt::format("wmma.mma.sync.aligned.row.col.m8n8k32.s32.{}.{}.s32{}", type,
                                   type, sat),
                       63,
                       75});
  for (const bool younger : {false, true})
    add_wmma(forms, {{8, 8, 128},
                     {1, 1, 2},
                     "row",
                     "col",
                     "s32",
                     "b1",
                     "b1",
                     "s32",
                     fmt::format("wmma.mma.{}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",
                                 younger ? "and" : "xor"),
                     younger ? 71u : 63u,
                     younger ? 80u : 75u});
}

}  // namespace

std::vector<MatrixForm> matrix_forms() {
  std::vector<MatrixForm> forms;
  add_moves(forms);
  add_integer_mma(forms);
  add_float_mma(forms);
  add_sparse_forms(forms);
  add_wmmas(forms);
  return forms;
}

std::string matrix_module(const MatrixForm& form) {
  constexpr unsigned kSharedBytes = 8192;  // of each warp
  return fmt::format(
      ".version {}.{}\n.target sm_{}\n.address_size 64\n"
      ".shared .align 128 .b8 memory[{}];\n"
      ".visible .entry k(.param .u64 in, .param .u64 out)\n{{\n"
      "  .reg .b64 %i, %o, %il, %ol, %it, %ot, %x;\n  .reg .b32 %r<64>, %s, %sl, %w, %l, %n;\n"
      "  .reg .f32 %f<32>;\n  .reg .f64 %d<32>;\n  .reg .pred %p;\n"
      "  ld.param.u64 %i, [in];\n  ld.param.u64 %o, [out];\n"
      "  mov.u32 %n, %ctaid.x;\n  mov.u32 %w, %tid.x;\n  and.b32 %l, %w, 31;\n"
      "  shr.u32 %w, %w, 5;\n  mov.u32 %s, memory;\n  mad.lo.u32 %s, %w, {}, %s;\n"
      "  mad.lo.u32 %sl, %l, 4, %s;\n  mad.lo.u32 %w, %n, {}, %w;\n"
      // Where the warp's words are, the thread's column in them, and the thread's own.
      "  mul.wide.u32 %x, %w, {};\n  add.u64 %i, %i, %x;\n"
      "  mul.wide.u32 %x, %w, {};\n  add.u64 %o, %o, %x;\n"
      "  mul.wide.u32 %x, %l, 4;\n  add.u64 %il, %i, %x;\n  add.u64 %ol, %o, %x;\n"
      "  mul.wide.u32 %x, %l, {};\n  add.u64 %it, %i, %x;\n"
      "  mul.wide.u32 %x, %l, {};\n  add.u64 %ot, %o, %x;\n{}  ret;\n}}\n",
      form.version / 10, form.version % 10, form.target, kMatrixWarps * kSharedBytes, kSharedBytes,
      kMatrixWarps, 4 * form.words(), 4 * form.results, form.words() / 8, form.results / 8,
      form.body);
}

std::uint32_t matrix_hash(const std::uint32_t* words, unsigned count) {
  std::uint32_t hash = 2166136261u;
  for (unsigned i = 0; i < count; ++i)
    for (unsigned shift = 0; shift < 32; shift += 8)
      hash = (hash ^ (words[i] >> shift & 0xff)) * 16777619u;
  return hash;
}

}  // namespace ptx2spv::programs
