// Special registers of several parts, constants and sinks in lists, sides that overlap.
#include <bit>

#include "tests/vectors/forms.hpp"

namespace ptx2spv::tests {
namespace {

std::uint32_t float_bits(float value) { return std::bit_cast<std::uint32_t>(value); }
std::uint64_t double_bits(double value) { return std::bit_cast<std::uint64_t>(value); }

Form form(std::string text, std::function<void(const Thread&, Stored&)> expect) {
  return {std::move(text), std::move(expect)};
}

/// Words from the first on.
void words(Stored& out, std::initializer_list<std::uint64_t> values) {
  unsigned at = 0;
  for (const std::uint64_t value : values) out.put(4 * at++, value, 4);
}

void add_special_registers(std::vector<Form>& forms) {
  struct Special {
    const char* name;
    const std::uint32_t (Thread::*value)[4];
  };
  constexpr Special kSpecials[] = {{"%tid", &Thread::tid},
                                   {"%ntid", &Thread::ntid},
                                   {"%ctaid", &Thread::ctaid},
                                   {"%nctaid", &Thread::nctaid}};
  const auto four = [](const Special& special) {
    return [value = special.value](const Thread& t, Stored& out) {
      const auto& v = t.*value;
      words(out, {v[0], v[1], v[2], 0});
    };
  };
  for (const Special& special : kSpecials) {
    const std::string name = special.name;
    for (const char* type : {"b32", "u32", "s32"}) {
      forms.push_back(form(".reg .v4 ." + std::string(type) + " V; mov.v4." + type + " V, " + name +
                               "; st.global.v4." + type + " [%o], V;",
                           four(special)));
      forms.push_back(form(".reg ." + std::string(type) + " e<4>; mov.v4." + type +
                               " {e0, e1, e2, e3}, " + name +
                               "; st.global.v4.b32 [%o], {e0, e1, e2, e3};",
                           four(special)));
    }
    forms.push_back(
        form(".reg .b128 q; mov.b128 q, " + name + "; st.global.b128 [%o], q;", four(special)));
    forms.push_back(form(".reg .v4 .u16 V; mov.v4.u16 V, " + name + "; st.global.v4.u16 [%o], V;",
                         [value = special.value](const Thread& t, Stored& out) {
                           for (unsigned i = 0; i < 4; ++i)
                             out.put(2 * i, i < 3 ? (t.*value)[i] : 0, 2);
                         }));
    forms.push_back(form(".reg .v2 .u32 V; mov.v2.u32 V, {" + name + ".z, " + name +
                             ".y}; st.global.v2.u32 [%o], V;",
                         [value = special.value](const Thread& t, Stored& out) {
                           words(out, {(t.*value)[2], (t.*value)[1]});
                         }));
    forms.push_back(
        form(".reg .b64 d; mov.b64 d, {" + name + ".y, " + name + ".x}; st.global.b64 [%o], d;",
             [value = special.value](const Thread& t, Stored& out) {
               words(out, {(t.*value)[1], (t.*value)[0]});
             }));
  }
}

void add_constants(std::vector<Form>& forms) {
  const auto gives = [&](std::string text, std::initializer_list<std::uint64_t> values) {
    forms.push_back(form(std::move(text),
                         [values = std::vector<std::uint64_t>(values)](const Thread&, Stored& out) {
                           for (unsigned i = 0; i < values.size(); ++i)
                             out.put(4 * i, values[i], 4);
                         }));
  };
  gives(".reg .v2 .b32 V; mov.v2.b32 V, {7, -2}; st.global.v2.b32 [%o], V;", {7, 0xfffffffe});
  gives(".reg .v4 .s32 V; mov.v4.s32 V, {-1, 2, -3, 4}; st.global.v4.s32 [%o], V;",
        {0xffffffff, 2, 0xfffffffd, 4});
  gives(".reg .v2 .f32 V; mov.v2.f32 V, {1.5, 0f40000000}; st.global.v2.f32 [%o], V;",
        {float_bits(1.5f), float_bits(2.0f)});
  gives(".reg .v2 .b64 V; mov.v2.b64 V, {1, -1}; st.global.v2.b64 [%o], V;",
        {1, 0, 0xffffffff, 0xffffffff});
  gives(".reg .b32 d; mov.b32 d, {-1, -2}; st.global.b32 [%o], d;", {0xfffeffff});
  gives(".reg .b32 d; mov.b32 d, {1, 2, 3, -4}; st.global.b32 [%o], d;", {0xfc030201});
  gives(".reg .b64 d; mov.b64 d, {1, 2}; st.global.b64 [%o], d;", {1, 2});
  gives(".reg .b64 d; mov.b64 d, {1, 2, 3, 4}; st.global.b64 [%o], d;", {0x00020001, 0x00040003});
  gives(".reg .b64 d; mov.b64 d, {0f3F800000, 0f40000000}; st.global.b64 [%o], d;",
        {0x3f800000, 0x40000000});
  gives(".reg .b32 e, f; mov.b64 {e, f}, -3; st.global.v2.b32 [%o], {e, f};",
        {0xfffffffd, 0xffffffff});
  gives(".reg .b32 e, f; mov.b64 {e, f}, 1.5; st.global.v2.b32 [%o], {e, f};", {0, 0x3ff80000});
  gives(".reg .v4 .b16 V; mov.b64 V, 0x4444333322221111; st.global.v4.b16 [%o], V;",
        {0x22221111, 0x44443333});
  gives(".reg .v2 .b16 V; mov.b32 V, 0f3F801234; st.global.v2.b16 [%o], V;", {0x3f801234});
  // A constant has 64 bits, and the upper 64 of 128 become zeros.
  gives(".reg .b128 q; mov.b128 q, -5; st.global.b128 [%o], q;", {0xfffffffb, 0xffffffff, 0, 0});
  gives(".reg .b32 e<4>; mov.b128 {e0, e1, e2, e3}, -5; st.global.v4.b32 [%o], {e0, e1, e2, e3};",
        {0xfffffffb, 0xffffffff, 0, 0});
  gives(".reg .b128 q; mov.b128 q, {1, 2, 3, 4}; st.global.b128 [%o], q;", {1, 2, 3, 4});
  gives(".reg .b128 q; mov.b128 q, {1, -1}; st.global.b128 [%o], q;",
        {1, 0, 0xffffffff, 0xffffffff});
  // In a list a double is a float for .f32 alone, and elsewhere its own bits, cut to the size.
  const std::uint64_t pi = double_bits(1.1);
  forms.push_back(
      form(".reg .f32 f; mov.b32 f, %s_b32_0; .reg .v2 .f32 V; mov.v2.f32 V, {f, 1.1}; "
           "st.global.v2.f32 [%o], V;",
           [](const Thread& t, Stored& out) {
             words(out, {t.words[0], float_bits(1.1f)});
           }));
  forms.push_back(
      form(".reg .f32 f; mov.b32 f, %s_b32_0; .reg .v2 .b32 V; mov.v2.b32 V, {f, 1.1}; "
           "st.global.v2.b32 [%o], V;",
           [pi](const Thread& t, Stored& out) {
             words(out, {t.words[0], pi});
           }));
  forms.push_back(
      form(".reg .f32 f; mov.b32 f, %s_b32_0; .reg .b64 d; mov.b64 d, {f, 1.1}; "
           "st.global.b64 [%o], d;",
           [pi](const Thread& t, Stored& out) {
             words(out, {t.words[0], pi});
           }));
  forms.push_back(
      form(".reg .f32 f; mov.b32 f, %s_b32_0; st.global.v2.f32 [%o], {f, 1.1}; "
           "st.global.v2.b32 [%o+8], {f, 1.1};",
           [pi](const Thread& t, Stored& out) {
             words(out, {t.words[0], float_bits(1.1f), t.words[0], pi});
           }));
  forms.push_back(
      form(".reg .f64 f; mov.b64 f, %s_b64_0; .reg .v2 .f64 V; mov.v2.f64 V, "
           "{f, 0f3F800000}; st.global.v2.f64 [%o], V;",
           [](const Thread& t, Stored& out) {
             words(out, {t.words[0], t.words[1], 0x3f800000, 0});
           }));
}

void add_sinks_and_overlap(std::vector<Form>& forms) {
  const auto of = [&](std::string text, std::function<void(const Thread&, Stored&)> expect) {
    forms.push_back(form(std::move(text), std::move(expect)));
  };
  const std::string v2 = ".reg .v2 .b32 V; mov.v2.b32 V, {%s_b32_0, %s_b32_1};\n";
  const std::string v4 =
      ".reg .v4 .b32 V; mov.v4.b32 V, {%s_b32_0, %s_b32_1, %s_b32_2, %s_b32_3};\n";
  of(v2 + "mov.v2.b32 V, {V.y, V.x}; st.global.v2.b32 [%o], V;", [](const Thread& t, Stored& out) {
    words(out, {t.words[1], t.words[0]});
  });
  of(v2 + "@%odd mov.v2.b32 {V.y, V.x}, V; st.global.v2.b32 [%o], V;",
     [](const Thread& t, Stored& out) {
       words(out, {t.words[t.odd() ? 1 : 0], t.words[t.odd() ? 0 : 1]});
     });
  of(v4 + "mov.v4.b32 V, {V.w, V.x, V.y, V.z}; st.global.v4.b32 [%o], V;",
     [](const Thread& t, Stored& out) {
       words(out, {t.words[3], t.words[0], t.words[1], t.words[2]});
     });
  of(v4 + "mov.v2.b32 {V.x, V.w}, {V.w, V.x}; mov.v2.b32 {V.r, V.g}, {V.g, V.r}; "
          "st.global.v4.b32 [%o], V;",
     [](const Thread& t, Stored& out) {
       words(out, {t.words[1], t.words[3], t.words[2], t.words[0]});
     });
  of(".reg .b32 a, b; .reg .b64 d; mov.v2.b32 {a, b}, {%s_b32_0, %s_b32_1};\n"
     "mov.b64 d, {a, b}; mov.b64 {b, a}, d; mov.b64 d, {b, a}; st.global.b64 [%o], d;",
     [](const Thread& t, Stored& out) {
       words(out, {t.words[0], t.words[1]});
     });
  of(".reg .v4 .b16 H; mov.v4.b16 H, {%s_b16_0, %s_b16_1, %s_b16_2, %s_b16_3};\n"
     "mov.v4.b16 {H.w, H.z, H.y, H.x}, H; .reg .b64 d; mov.b64 d, H; st.global.b64 [%o], d;",
     [](const Thread& t, Stored& out) {
       for (unsigned i = 0; i < 4; ++i) out.put(2 * i, t.element(2, 3 - i), 2);
     });
  // The last of two writes stays.
  of(".reg .b32 e; mov.v2.b32 {e, e}, {%s_b32_0, %s_b32_1}; st.global.b32 [%o], e;\n"
     "mov.b64 {e, e}, %s_b64_1; st.global.b32 [%o+4], e;",
     [](const Thread& t, Stored& out) {
       words(out, {t.words[1], t.words[3]});
     });
  of(".reg .b32 e, f; mov.b64 {_, e}, %s_b64_0; mov.b64 {f, _}, %s_b64_1; "
     "st.global.v2.b32 [%o], {e, f};",
     [](const Thread& t, Stored& out) {
       words(out, {t.words[1], t.words[2]});
     });
  of(".reg .b16 e; mov.b32 {_, e}, %s_b32_3; st.global.b16 [%o], e; mov.b64 {_, _, e, _}, "
     "%s_b64_1; "
     "st.global.b16 [%o+4], e;",
     [](const Thread& t, Stored& out) {
       out.put(0, t.words[3] >> 16, 2);
       out.put(4, t.words[3], 2);
     });
  of(v4 + ".reg .b32 e; mov.v4.b32 {_, _, _, e}, V; mov.v2.b32 {V.x, _}, {e, V.x}; "
          "st.global.v4.b32 [%o], V;",
     [](const Thread& t, Stored& out) {
       words(out, {t.words[3], t.words[1], t.words[2], t.words[3]});
     });
  of(".reg .b128 q; mov.b128 q, {%s_b64_0, %s_b64_1}; .reg .b64 d; mov.b128 {_, d}, q; "
     "st.global.b64 [%o], d; .reg .b32 e; mov.b128 {_, _, e, _}, q; st.global.b32 [%o+8], e;",
     [](const Thread& t, Stored& out) {
       words(out, {t.words[2], t.words[3], t.words[2]});
     });
  // Of an address of 64 bits.
  of(".reg .v2 .b32 V; .reg .b64 d, e; mov.b64 V, cells; mov.b64 d, cells; mov.b64 e, V;\n"
     "sub.u64 d, d, e; st.global.b64 [%o], d; .reg .b128 q; mov.b128 q, cells;\n"
     "mov.b128 {d, e}, q; ld.global.b32 V.x, [d+4]; st.global.b32 [%o+8], V.x; "
     "st.global.b64 [%o+16], e;",
     [](const Thread&, Stored& out) {
       words(out, {0, 0, 456});
       out.put(16, 0, 8);
     });
}

}  // namespace

std::vector<Form> special_forms() {
  std::vector<Form> forms;
  add_special_registers(forms);
  add_constants(forms);
  add_sinks_and_overlap(forms);
  return forms;
}

}  // namespace ptx2spv::tests
