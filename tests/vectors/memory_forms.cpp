// Vector registers in ld and st of every type and space, in surfaces and textures.
#include "tests/vectors/forms.hpp"

namespace ptx2spv::tests {
namespace {

struct Kind {
  const char* name;
  unsigned bytes;
  bool is_signed;
};
constexpr Kind kKinds[] = {
    {"b8", 1, false},  {"u8", 1, false},  {"s8", 1, true},   {"b16", 2, false}, {"u16", 2, false},
    {"s16", 2, true},  {"b32", 4, false}, {"u32", 4, false}, {"s32", 4, true},  {"f32", 4, false},
    {"b64", 8, false}, {"u64", 8, false}, {"s64", 8, true},  {"f64", 8, false}};

/// The bits of an element that `value` becomes in a register of `to` bytes.
std::uint64_t widened(const Kind& kind, std::uint64_t value, unsigned to) {
  const unsigned shift = 64 - 8 * kind.bytes;
  if (kind.is_signed)
    value = static_cast<std::uint64_t>(static_cast<std::int64_t>(value << shift) >> shift);
  return to == 8 ? value : value & ((std::uint64_t{1} << 8 * to) - 1);
}

void add_loads_and_stores(std::vector<Form>& forms) {
  for (const Kind& kind : kKinds)
    for (const unsigned count : {2u, 4u}) {
      if (kind.bytes * count > 16) continue;
      const std::string access = ".v" + std::to_string(count) + "." + kind.name + " ";
      const std::string vector = ".reg .v" + std::to_string(count) + " ." + kind.name + " V;\n";
      const auto same = [=](const Thread& t, Stored& out) {
        for (unsigned i = 0; i < count; ++i)
          out.put(kind.bytes * i, t.element(kind.bytes, i), kind.bytes);
      };
      forms.push_back(
          {vector + "ld.global" + access + "V, [%in];\nst.global" + access + "[%o], V;", same});
      forms.push_back({vector + ".local .align 16 .b8 mine[32]; ld.global" + access +
                           "V, [%in];\nst.local" + access + "[mine+16], V; ld.local" + access +
                           "V, [mine+16];\nst" + access + "[%o], V;",
                       same});
      // Threads have a place each in shared memory.
      forms.push_back({vector + "ld" + access + "V, [%in]; st.shared" + access +
                           "[%mine], V;\nld.shared" + access + "V, [%mine]; st.global" + access +
                           "[%o], V;",
                       same});
      forms.push_back({vector + "ld.global" + access + "V, [%in];\n@!%odd ld.global" + access +
                           "V, [%in+16];\n@%odd st.global" + access + "[%o], V;\n@!%odd st.global" +
                           access + "[%o+16], V;",
                       [=](const Thread& t, Stored& out) {
                         const unsigned at = t.odd() ? 0 : 16;
                         for (unsigned i = 0; i < count; ++i)
                           out.put(at + kind.bytes * i, t.element(kind.bytes, i + at / kind.bytes),
                                   kind.bytes);
                       }});
      if (kind.bytes == 8 || kind.name == std::string("f32")) continue;
      // A wider register takes the element with zeros or its sign above it.
      const unsigned wide = count == 4 || kind.bytes < 4 ? 4 : 8;
      if (wide <= kind.bytes) continue;
      const std::string kept = std::string(".") + kind.name[0] + std::to_string(8 * wide);
      forms.push_back({".reg .v" + std::to_string(count) + " " + kept + " V; ld.global" + access +
                           "V, [%in];\nst.global.v" + std::to_string(count) + kept + " [%o], V;",
                       [=](const Thread& t, Stored& out) {
                         for (unsigned i = 0; i < count; ++i)
                           out.put(wide * i, widened(kind, t.element(kind.bytes, i), wide), wide);
                       }});
      forms.push_back({".reg .v" + std::to_string(count) + " " + kept + " V;\n" +
                           [&] {
                             std::string text;
                             for (unsigned i = 0; i < count; ++i)
                               text += "mov.b" + std::to_string(8 * wide) + " V." + kParts[i] +
                                       ", %s_b" + std::to_string(8 * wide) + "_" +
                                       std::to_string(i) + ";\n";
                             return text;
                           }() +
                           "st.global" + access + "[%o], V;",
                       [=](const Thread& t, Stored& out) {
                         for (unsigned i = 0; i < count; ++i)
                           out.put(kind.bytes * i, t.element(wide, i), kind.bytes);
                       }});
    }
  forms.push_back({".reg .v4 .b32 V; ld.param.v4.b32 V, [four]; st.global.v4.b32 [%o], V;",
                   [](const Thread&, Stored& out) {
                     for (unsigned i = 0; i < 4; ++i) out.put(4 * i, 0x01010101u * (i + 1), 4);
                   }});
}

/// The thread's texel, of which the surface %surf and the texture %tex hold words 0 to 3.
void add_surfaces(std::vector<Form>& forms) {
  const std::string at =
      ".reg .v2 .b32 C; mov.v2.b32 C, {%x, %y}; .reg .v2 .u32 B; mov.v2.u32 B, C; "
      "shl.b32 B.x, B.x, 4;\n";
  struct Access {
    const char *type, *reg;
    unsigned bytes, count, kept;
  };
  constexpr Access kAccesses[] = {
      {"b8", "u8", 1, 2, 1},   {"b8", "b16", 1, 4, 2},  {"b8", "u32", 1, 4, 4},
      {"b16", "b16", 2, 2, 2}, {"b16", "u16", 2, 4, 2}, {"b16", "f16", 2, 4, 2},
      {"b16", "b32", 2, 4, 4}, {"b32", "b32", 4, 2, 4}, {"b32", "u32", 4, 4, 4},
      {"b32", "s32", 4, 4, 4}, {"b32", "f32", 4, 4, 4}, {"b64", "b64", 8, 2, 8},
      {"b64", "f64", 8, 2, 8}, {"b32", "b64", 4, 2, 8}};
  for (const Access& a : kAccesses) {
    const std::string count = std::to_string(a.count);
    const std::string form = ".2d.v" + count + "." + a.type + ".trap ";
    const std::string vector = ".reg .v" + count + " ." + a.reg + " V;\n";
    const std::string store = "st.global.v" + count + ".b" + std::to_string(8 * a.kept) + " [";
    const auto loaded = [=](const Thread& t, Stored& out) {
      for (unsigned i = 0; i < a.count; ++i) out.put(a.kept * i, t.element(a.bytes, i), a.kept);
    };
    forms.push_back(
        {at + vector + "suld.b" + form + "V, [%surf, B];\n" + store + "%o], V;", loaded});
    // What is stored is read back by scalars; the surface %spare is for that.
    std::string text = at + vector + "ld.global.v" + count + "." + a.type + " V, [%in+16];\n" +
                       "sust.b" + form + "[%spare, B], V;\n.reg .b32 e<4>;\n" +
                       "suld.b.2d.v4.b32.trap {e0, e1, e2, e3}, [%spare, {B.x, B.y}];\n" +
                       "st.global.v4.b32 [%o], {e0, e1, e2, e3};\n" +
                       "sust.b.2d.v4.b32.trap [%spare, B], {0, 0, 0, 0};";
    forms.push_back({std::move(text), [=](const Thread& t, Stored& out) {
                       out.put(0, 0, 8);
                       out.put(8, 0, 8);
                       for (unsigned i = 0; i < a.count; ++i)
                         out.put(a.bytes * i, t.element(a.bytes, 16 / a.bytes + i), a.bytes);
                     }});
  }
  const auto words = [](unsigned first, unsigned count) {
    return [=](const Thread& t, Stored& out) {
      for (unsigned i = 0; i < count; ++i) out.put(4 * i, t.words[first + i], 4);
    };
  };
  forms.push_back(
      {at + ".reg .b32 e; suld.b.2d.b32.clamp e, [%surf, B]; st.global.b32 [%o], e;", words(0, 1)});
  // Coordinates past the geometry's are ignored.
  forms.push_back({at + ".reg .v4 .b32 D; mov.v4.b32 D, {B.x, B.y, C.x, C.y}; .reg .v2 .b64 V;\n"
                        "suld.b.2d.v2.b64.zero V, [%surf, D]; st.global.v2.b64 [%o], V;",
                   words(0, 4)});
  forms.push_back({at + ".reg .v4 .b32 V; mov.v4.b32 V, {1, 2, 3, 4};\n"
                        "@%odd suld.b.2d.v4.b32.trap V, [%surf, B]; st.global.v4.b32 [%o], V;",
                   [](const Thread& t, Stored& out) {
                     for (unsigned i = 0; i < 4; ++i)
                       out.put(4 * i, t.odd() ? t.words[i] : i + 1, 4);
                   }});
  forms.push_back({at + ".reg .v4 .u32 V; ld.global.v4.u32 V, [%in+32];\n"
                        "sust.p.2d.v4.b32.trap [%spare, C], V;\n"
                        "suld.b.2d.v4.b32.trap {V.w, V.z, V.y, V.x}, [%spare, B];\n"
                        "st.global.v4.u32 [%o], V;",
                   [](const Thread& t, Stored& out) {
                     for (unsigned i = 0; i < 4; ++i) out.put(4 * i, t.words[11 - i], 4);
                   }});
  forms.push_back({at + ".reg .b32 e; mov.b32 e, 5; sust.b.2d.b32.trap [%spare, B], 7;\n"
                        "sured.b.add.2d.u32.trap [%spare, B], e;\n"
                        "suld.b.2d.b32.trap e, [%spare, B]; st.global.b32 [%o], e;",
                   [](const Thread&, Stored& out) { out.put(0, 12, 4); }});
  forms.push_back({at + ".reg .v4 .u32 V; tex.2d.v4.u32.s32 V, [%tex, C]; "
                        "st.global.v4.u32 [%o], V;",
                   words(0, 4)});
  forms.push_back({at + ".reg .v4 .b32 V; tex.2d.v4.s32.s32 V, [%tex, {C.x, C.y}]; "
                        "st.global.v4.u32 [%o], V;",
                   words(0, 4)});
  const std::string floats =
      ".reg .v2 .f32 F; cvt.rn.f32.u32 F.x, C.x; cvt.rn.f32.u32 F.y, C.y;\n"
      "add.f32 F.x, F.x, 0.5; add.f32 F.y, F.y, 0.5;\n";
  forms.push_back({at + floats +
                       ".reg .v4 .u32 V; tex.2d.v4.u32.f32 V, [%tex, F]; "
                       "st.global.v4.u32 [%o], V;",
                   words(0, 4)});
  // What tld4 gathers is measured elsewhere; here the vectors have to be the lists.
  forms.push_back({at + floats +
                       ".reg .v4 .u32 V, W; tld4.r.2d.v4.u32.f32 V, [%tex, F];\n"
                       "tld4.r.2d.v4.u32.f32 {W.x, W.y, W.z, W.w}, [%tex, {F.x, F.y}];\n"
                       "xor.b32 V.x, V.x, W.x; xor.b32 V.y, V.y, W.y;\n"
                       "xor.b32 V.z, V.z, W.z; xor.b32 V.w, V.w, W.w;\n"
                       "st.global.v4.u32 [%o], V;",
                   [](const Thread&, Stored& out) {
                     out.put(0, 0, 8);
                     out.put(8, 0, 8);
                   }});
}

}  // namespace

std::vector<Form> memory_forms() {
  std::vector<Form> forms;
  add_loads_and_stores(forms);
  add_surfaces(forms);
  return forms;
}

}  // namespace ptx2spv::tests
