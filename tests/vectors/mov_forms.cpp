// mov of every type, two and four elements, between registers, lists and both, plain and guarded.
#include "tests/vectors/forms.hpp"

namespace ptx2spv::tests {

std::string scalars(const std::string& prefix, unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i) text += (i ? ", " : "") + prefix + std::to_string(i);
  return text;
}

std::string list(const std::string& prefix, unsigned count) {
  return "{" + scalars(prefix, count) + "}";
}

namespace {

struct Kind {
  const char* name;
  unsigned bytes;
};
constexpr Kind kMoved[] = {{"b16", 2}, {"u16", 2}, {"s16", 2}, {"b32", 4}, {"u32", 4}, {"s32", 4},
                           {"f32", 4}, {"b64", 8}, {"u64", 8}, {"s64", 8}, {"f64", 8}};
constexpr const char* kGuards[] = {"", "@%odd ", "@!%odd "};

bool taken(const Thread& t, unsigned guard) {
  return guard == 0 || (guard == 1 ? t.odd() : !t.odd());
}

std::string bits(unsigned bytes) { return "b" + std::to_string(8 * bytes); }

/// Registers e0..., the vector V and the source's S and s0..., of a type that has so many bytes.
std::string declare(const Kind& kind, unsigned count, bool is_dest) {
  const std::string type = std::string(" .") + kind.name + " ", size = bits(kind.bytes);
  const std::string one = is_dest ? "e" : "s", many = is_dest ? "V" : "S";
  std::string text = ".reg" + type + scalars(one, count) + "; .reg .v" + std::to_string(count) +
                     type + many + ";\n";
  for (unsigned i = 0; i < count; ++i) {
    const std::string index = std::to_string(i);
    // What a destination holds before: a source that stands further on, so that every thread's
    // differs.
    const std::string from = "%s_" + size + "_" + std::to_string(is_dest ? count - 1 - i : i);
    // There is no mov of bytes: they come from memory.
    const std::string get = kind.bytes == 1 ? "ld.global.b8 " : "mov." + size + " ";
    const std::string what =
        kind.bytes == 1 ? "[%in+" + std::to_string(is_dest ? count - 1 - i : i) + "]" : from;
    text +=
        get + one + index + ", " + what + "; " + get + many + "." + kParts[i] + ", " + what + ";\n";
  }
  return text;
}

std::string store(const std::string& what, unsigned count, unsigned bytes) {
  std::string text;
  for (unsigned i = 0; i < count; ++i)
    text += "st.global." + bits(bytes) + " [%o+" + std::to_string(8 * i) + "], " + what +
            (what == "V" ? std::string(".") + kParts[i] : std::to_string(i)) + ";\n";
  return text;
}

}  // namespace

std::vector<Form> elementwise_forms() {
  std::vector<Form> forms;
  for (const Kind& kind : kMoved)
    for (const unsigned count : {2u, 4u}) {
      if (kind.bytes * count > 16) continue;
      for (unsigned shape = 0; shape < 4; ++shape)
        for (unsigned guard = 0; guard < 3; ++guard) {
          const std::string to = shape & 1 ? list("e", count) : "V";
          const std::string from = shape & 2 ? list("s", count) : "S";
          Form form;
          form.text = declare(kind, count, true) + declare(kind, count, false) + kGuards[guard] +
                      "mov.v" + std::to_string(count) + "." + kind.name + " " + to + ", " + from +
                      ";\n" + store(shape & 1 ? "e" : "V", count, kind.bytes);
          form.expect = [=](const Thread& t, Stored& out) {
            for (unsigned i = 0; i < count; ++i)
              out.put(8 * i, t.element(kind.bytes, taken(t, guard) ? i : count - 1 - i),
                      kind.bytes);
          };
          forms.push_back(std::move(form));
        }
    }
  return forms;
}

std::vector<Form> packing_forms() {
  // Element types by size: packing goes by bits, whatever the elements are declared as.
  constexpr Kind kElements[] = {{"b8", 1},  {"u8", 1},  {"b16", 2}, {"s16", 2},
                                {"f16", 2}, {"b32", 4}, {"u32", 4}, {"f32", 4},
                                {"b64", 8}, {"s64", 8}, {"f64", 8}};
  std::vector<Form> forms;
  for (const Kind& kind : kElements)
    for (const unsigned count : {2u, 4u}) {
      const unsigned total = kind.bytes * count;
      if (total > 16) continue;
      const std::string whole = "b" + std::to_string(8 * total);
      const std::string get = total == 16 ? "mov.b128 d, {%s_b64_0, %s_b64_1};\n"
                                          : "mov." + whole + " d, %s_" + whole + "_0;\n";
      const std::string other = total == 16 ? "mov.b128 d, {%s_b64_1, %s_b64_0};\n"
                                            : "mov." + whole + " d, %s_" + whole + "_1;\n";
      for (unsigned shape = 0; shape < 4; ++shape)
        for (unsigned guard = 0; guard < 3; ++guard) {
          const bool packs = shape & 1, vector = shape & 2;
          Form form;
          form.text = declare(kind, count, !packs) + ".reg ." + whole + " d;\n";
          const std::string parts = packs    ? (vector ? "S" : list("s", count))
                                    : vector ? "V"
                                             : list("e", count);
          form.text += (packs ? other : get) + kGuards[guard] + "mov." + whole + " " +
                       (packs ? "d, " + parts : parts + ", d") + ";\n";
          form.text += packs ? "st.global." + whole + " [%o], d;\n"
                             : store(vector ? "V" : "e", count, kind.bytes);
          form.expect = [=](const Thread& t, Stored& out) {
            const bool did = taken(t, guard);
            for (unsigned i = 0; i < count; ++i) {
              if (!packs)
                out.put(8 * i, t.element(kind.bytes, did ? i : count - 1 - i), kind.bytes);
              else if (did)
                out.put(kind.bytes * i, t.element(kind.bytes, i), kind.bytes);
              else if (total == 16)
                out.put(kind.bytes * i, t.element(kind.bytes, (i + count / 2) % count), kind.bytes);
              else
                out.put(kind.bytes * i, t.element(kind.bytes, i + count), kind.bytes);
            }
          };
          forms.push_back(std::move(form));
        }
    }
  return forms;
}

}  // namespace ptx2spv::tests
