// Elements as operands of every family, vectors that loops and functions carry.
#include <bit>

#include "tests/vectors/forms.hpp"

namespace ptx2spv::tests {

const char* const kFunctions = R"(
.func (.reg .v2 .b32 r) swap2(.reg .v2 .b32 a) { mov.v2.b32 r, {a.y, a.x}; ret; }
.func (.reg .v4 .f32 r) rotate4(.reg .v4 .f32 a, .reg .b32 n)
{
  .reg .pred p;
  mov.v4.f32 r, a;
more:
  setp.eq.u32 p, n, 0;
  @p ret;
  mov.v4.f32 r, {r.w, r.x, r.y, r.z};
  sub.u32 n, n, 1;
  bra more;
}
.func (.reg .v2 .b64 r) wide2(.reg .v2 .b64 a, .reg .v2 .b32 b)
{
  .reg .v2 .b32 c; .reg .v2 .b64 d;
  call (c), swap2, (b);
  cvt.u64.u32 d.x, c.x; cvt.u64.u32 d.y, c.y;
  add.u64 r.x, a.y, d.x; add.u64 r.y, a.x, d.y;
  ret;
}
.func (.reg .v4 .b16 r) halves(.reg .v4 .b16 a, .reg .v2 .f16 b)
{
  mov.v4.b16 r, {b.x, a.w, a.x, b.y}; ret;
}
.func (.reg .v2 .f16 r) swapped(.reg .v2 .f16 a) { mov.v2.b16 r, {a.y, a.x}; ret; }
.func (.reg .b128 r) turned(.reg .b128 a)
{
  .reg .v4 .b32 v; mov.b128 v, a; mov.b128 r, {v.w, v.z, v.y, v.x}; ret;
}
// Adds {n, 1} for each n down to 0, the vector first that waited for the call to come back.
.func (.reg .v2 .u32 r) sums(.reg .u32 n)
{
  .reg .v2 .u32 mine, theirs; .reg .pred p; .reg .u32 less;
  mov.v2.u32 mine, {n, 1};
  mov.v2.u32 r, mine;
  setp.eq.u32 p, n, 0;
  @p ret;
  sub.u32 less, n, 1;
  call (theirs), sums, (less);
  add.u32 r.x, mine.x, theirs.x; add.u32 r.y, mine.y, theirs.y;
  ret;
}
.func (.reg .v2 .b32 r) negated2(.reg .v2 .b32 a) { neg.s32 r.x, a.x; neg.s32 r.y, a.y; ret; }
.func (.param .b64 r) packed(.param .align 8 .b8 a[8])
{
  .reg .v2 .b32 v; .reg .b64 d;
  ld.param.v2.b32 v, [a]; mov.v2.b32 v, {v.y, v.x}; mov.b64 d, v; st.param.b64 [r], d; ret;
}
)";

namespace {

using Expect = std::function<void(const Thread&, Stored&)>;

void words(Stored& out, std::initializer_list<std::uint64_t> values) {
  unsigned at = 0;
  for (const std::uint64_t value : values) out.put(4 * at++, value, 4);
}

const std::string kV4 =
    ".reg .v4 .u32 V; mov.v4.u32 V, {%s_b32_0, %s_b32_1, %s_b32_2, %s_b32_3};\n";
const std::string kKeep = "st.global.v4.u32 [%o], V;";

/// A statement over V, words 0 to 3, that leaves these four words in it.
Form over(const std::string& statement,
          std::function<std::array<std::uint32_t, 4>(const Thread&)> becomes) {
  return {kV4 + statement + "\n" + kKeep, [becomes](const Thread& t, Stored& out) {
            const auto v = becomes(t);
            words(out, {v[0], v[1], v[2], v[3]});
          }};
}

}  // namespace

std::vector<Form> operand_forms() {
  using Words = std::array<std::uint32_t, 4>;
  const auto first = [](const Thread& t) {
    return Words{t.words[0], t.words[1], t.words[2], t.words[3]};
  };
  std::vector<Form> forms;
  const auto add = [&](const std::string& statement, std::function<void(const Thread&, Words&)> f) {
    forms.push_back(over(statement, [=](const Thread& t) {
      Words v = first(t);
      f(t, v);
      return v;
    }));
  };
  add("add.u32 V.x, V.y, V.w;", [](const Thread&, Words& v) { v[0] = v[1] + v[3]; });
  add("mad.lo.u32 V.b, V.r, V.g, V.a;", [](const Thread&, Words& v) { v[2] = v[0] * v[1] + v[3]; });
  add("mul.wide.u32 %d, V.x, V.y; mov.b64 {V.z, V.w}, %d;", [](const Thread&, Words& v) {
    const std::uint64_t product = std::uint64_t{v[0]} * v[1];
    v[2] = static_cast<std::uint32_t>(product);
    v[3] = static_cast<std::uint32_t>(product >> 32);
  });
  add("@%odd xor.b32 V.w, V.w, V.x;",
      [](const Thread& t, Words& v) { v[3] ^= t.odd() ? v[0] : 0; });
  add("setp.lt.u32 %p|%q, V.x, V.y; selp.u32 V.z, V.x, V.y, %p; selp.u32 V.w, 1, V.w, %q;",
      [](const Thread&, Words& v) {
        v[2] = v[0] < v[1] ? v[0] : v[1];
        if (v[0] >= v[1]) v[3] = 1;
      });
  add("lop3.b32 V.x, V.x, V.y, V.z, 0x96; prmt.b32 V.w, V.w, V.y, 0x1076;",
      [](const Thread&, Words& v) {
        v[0] ^= v[1] ^ v[2];
        v[3] = (v[1] >> 16) | (v[3] << 16);
      });
  add("bfe.u32 V.y, V.x, 8, 16; bfi.b32 V.z, V.w, V.z, 4, 8; popc.b32 V.w, V.x;",
      [](const Thread&, Words& v) {
        v[1] = v[0] >> 8 & 0xffff;
        v[2] = (v[2] & ~0xff0u) | (v[3] & 0xff) << 4;
        v[3] = static_cast<std::uint32_t>(std::popcount(v[0]));
      });
  add("add.cc.u32 V.x, V.x, V.z; addc.u32 V.y, V.y, V.w;", [](const Thread&, Words& v) {
    const std::uint64_t sum =
        (std::uint64_t{v[1]} << 32 | v[0]) + (std::uint64_t{v[3]} << 32 | v[2]);
    v[0] = static_cast<std::uint32_t>(sum);
    v[1] = static_cast<std::uint32_t>(sum >> 32);
  });
  add("cvt.u16.u32 %h, V.x; cvt.u32.u16 V.y, %h; cvt.s32.s8 V.z, V.w;", [](const Thread&,
                                                                           Words& v) {
    v[1] = v[0] & 0xffff;
    v[2] = static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<std::int8_t>(v[3])));
  });
  add("st.shared.v2.u32 [%mine], {V.y, V.x}; ld.shared.v2.u32 {V.z, V.w}, [%mine];",
      [](const Thread&, Words& v) {
        v[2] = v[1];
        v[3] = v[0];
      });
  add("st.shared.u32 [%mine], V.x; atom.shared.add.u32 V.y, [%mine], V.z; "
      "ld.shared.u32 V.w, [%mine];",
      [](const Thread&, Words& v) {
        v[1] = v[0];
        v[3] = v[0] + v[2];
      });
  // Addresses out of a vector: they are registers of their own.
  forms.push_back(
      {".reg .v2 .b64 A; mov.v2.b64 A, {%o, %in}; .reg .b64 from, to; .reg .b32 e;\n"
       "add.u64 A.y, A.y, 8; mov.v2.b64 {to, from}, A; ld.global.b32 e, [from];\n"
       "st.global.b32 [to], e; cvta.to.global.u64 A.x, A.x; mov.b64 to, A.x;\n"
       "st.global.b32 [to+4], e;",
       [](const Thread& t, Stored& out) {
         words(out, {t.words[2], t.words[2]});
       }});
  // Loops, whose every iteration takes the vector apart.
  forms.push_back(
      {kV4 +
           ".reg .u32 n; mov.u32 n, 0;\nagain: mov.v4.u32 V, {V.y, V.z, V.w, V.x};\n"
           "add.u32 V.x, V.x, n; add.u32 n, n, 1; setp.lt.u32 %p, n, 6; @%p bra again;\n" +
           kKeep,
       [](const Thread& t, Stored& out) {
         Words v{t.words[0], t.words[1], t.words[2], t.words[3]};
         for (std::uint32_t n = 0; n < 6; ++n) v = {v[1] + n, v[2], v[3], v[0]};
         words(out, {v[0], v[1], v[2], v[3]});
       }});
  // One that threads leave in different iterations, with a guarded move in it.
  forms.push_back(
      {kV4 + ".reg .u32 n; and.b32 n, %s_b32_5, 7; .reg .v2 .u32 W; mov.v2.u32 W, {0, 1};\n"
             "again: mov.v2.u32 {V.x, V.y}, {V.y, V.x}; and.b32 V.w, n, 1;\n"
             "setp.ne.u32 %p, V.w, 0; @%p mov.v2.u32 W, {W.y, V.x};\n"
             "sub.u32 n, n, 1; setp.ge.s32 %p, n, 0; @%p bra again;\n"
             "st.global.v2.u32 [%o], W; st.global.v2.u32 [%o+8], {V.x, V.y};",
       [](const Thread& t, Stored& out) {
         std::uint32_t x = t.words[0], y = t.words[1], a = 0, b = 1;
         for (int n = static_cast<int>(t.words[5] & 7); n >= 0; --n) {
           std::swap(x, y);
           if (n & 1) {
             a = b;
             b = x;
           }
         }
         words(out, {a, b, x, y});
       }});
  return forms;
}

std::vector<Form> call_forms() {
  std::vector<Form> forms;
  const auto add = [&](std::string text, Expect expect) {
    forms.push_back({std::move(text), std::move(expect)});
  };
  const std::string v2 = ".reg .v2 .b32 V, W; mov.v2.b32 V, {%s_b32_0, %s_b32_1};\n";
  add(v2 + "call (W), swap2, (V); st.global.v2.b32 [%o], W;", [](const Thread& t, Stored& out) {
    words(out, {t.words[1], t.words[0]});
  });
  add(v2 + "call (V), swap2, (V); st.global.v2.b32 [%o], V;", [](const Thread& t, Stored& out) {
    words(out, {t.words[1], t.words[0]});
  });
  add(v2 + "@!%odd call (V), swap2, (V); st.global.v2.b32 [%o], V;",
      [](const Thread& t, Stored& out) {
        words(out, {t.words[t.odd() ? 0 : 1], t.words[t.odd() ? 1 : 0]});
      });
  add(".reg .v4 .f32 F, G; .reg .v4 .b32 V;\n"
      "mov.v4.b32 V, {%s_b32_0, %s_b32_1, %s_b32_2, %s_b32_3}; mov.v4.f32 F, V;\n"
      ".reg .b32 n; and.b32 n, %s_b32_4, 3; call (G), rotate4, (F, n); st.global.v4.f32 [%o], G;",
      [](const Thread& t, Stored& out) {
        for (unsigned i = 0; i < 4; ++i) out.put(4 * ((i + t.words[4]) & 3), t.words[i], 4);
      });
  add(v2 + ".reg .v2 .b64 D; mov.v2.b64 D, {%s_b64_0, %s_b64_1};\n"
           "call (D), wide2, (D, V); st.global.v2.b64 [%o], D;",
      [](const Thread& t, Stored& out) {
        out.put(0, t.element(8, 1) + t.words[1], 8);
        out.put(8, t.element(8, 0) + t.words[0], 8);
      });
  add(".reg .v4 .b16 H; .reg .v2 .f16 I; mov.v4.b16 H, {%s_b16_0, %s_b16_1, %s_b16_2, %s_b16_3};\n"
      "mov.b32 I, %s_b32_2; call (H), halves, (H, I); st.global.v4.b16 [%o], H;\n"
      "call (I), swapped, (I); st.global.v2.b16 [%o+8], I;",
      [](const Thread& t, Stored& out) {
        constexpr unsigned kFrom[] = {4, 3, 0, 5, 5, 4};
        for (unsigned i = 0; i < 6; ++i) out.put(2 * i, t.element(2, kFrom[i]), 2);
      });
  add(".reg .b128 q; mov.b128 q, {%s_b64_0, %s_b64_1}; call (q), turned, (q); "
      "st.global.b128 [%o], q;",
      [](const Thread& t, Stored& out) {
        words(out, {t.words[3], t.words[2], t.words[1], t.words[0]});
      });
  add(".reg .v2 .u32 S; .reg .u32 n; and.b32 n, %s_b32_6, 15; call (S), sums, (n); "
      "st.global.v2.u32 [%o], S;",
      [](const Thread& t, Stored& out) {
        const std::uint32_t n = t.words[6] & 15;
        words(out, {n * (n + 1) / 2, n + 1});
      });
  // Through a register, by a prototype with vectors and by a list of targets.
  const std::string target =
      v2 + ".reg .b64 f, g; mov.b64 f, swap2; mov.b64 g, negated2; selp.b64 f, f, g, %odd;\n";
  const auto either = [](const Thread& t, Stored& out) {
    const std::uint32_t a = t.words[0], b = t.words[1];
    t.odd() ? words(out, {b, a}) : words(out, {0u - a, 0u - b});
  };
  add(target +
          "two: .callprototype (.reg .v2 .b32 _) _ (.reg .v2 .b32 _);\n"
          "call (W), f, (V), two; st.global.v2.b32 [%o], W;",
      either);
  add(target +
          "all: .calltargets swap2, negated2;\ncall (W), f, (V), all; "
          "st.global.v2.b32 [%o], W;",
      either);
  add(v2 + ".param .align 8 .b8 a[8]; .param .b64 r; .reg .b64 d;\n"
           "st.param.v2.b32 [a], V; call (r), packed, (a); ld.param.b64 d, [r];\n"
           "st.global.b64 [%o], d; ld.param.v2.b32 V, [r]; st.global.v2.b32 [%o+8], V;",
      [](const Thread& t, Stored& out) {
        words(out, {t.words[1], t.words[0], t.words[1], t.words[0]});
      });
  return forms;
}

}  // namespace ptx2spv::tests
