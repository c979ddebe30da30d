// Loads, stores and atomics. A thread's own bytes lie in global, shared and local memory; tables in
// constant memory and the kernel's structure of parameters are read alone.
#include <set>

#include "dev/programs/statements.hpp"

namespace ptx2spv::programs {
namespace {

struct Access {
  std::string head, opcode, space;  ///< space empty: generic
  std::set<std::string> mods;
  unsigned elements = 1, bytes = 4;  ///< of one element
  TypeName type;
};

Access access_of(const std::string& text) {
  static const std::set<std::string> kSpaces = {"global",      "shared",      "local",
                                                "const",       "param",       "param::entry",
                                                "param::func", "shared::cta", "shared::cluster"};
  static const std::set<std::string> kTypes = {
      "b8",  "b16", "b32", "b64", "u8",  "u16",   "u32",    "u64",  "s8",  "s16",
      "s32", "s64", "f16", "f32", "f64", "f16x2", "bf16x2", "bf16", "b128"};
  Access access;
  access.head = text.substr(0, text.find(' '));
  std::string part;
  bool first = true;
  for (std::size_t i = 0; i <= access.head.size(); ++i) {
    if (i < access.head.size() && access.head[i] != '.') {
      part += access.head[i];
      continue;
    }
    if (first) access.opcode = part;
    if (!first) access.mods.insert(part);
    first = false;
    if (kSpaces.contains(part)) access.space = part;
    if (part == "v2") access.elements = 2;
    if (part == "v4") access.elements = 4;
    if (part == "v8") access.elements = 8;
    if (kTypes.contains(part)) {
      access.type = type_name(part);
      access.bytes = part.ends_with("8") && part.size() == 2 ? 1 : access.type.width / 8;
    }
    part.clear();
  }
  return access;
}

/// Memory that a thread may read: where, and how much.
struct Region {
  std::string base;  ///< register or variable
  unsigned bytes = 64;
  bool variable = false;
};

const char* window(const std::string& space) {
  if (space.starts_with("shared")) return "shared";
  if (space.starts_with("param")) return "param";
  return space.c_str();
}

Region region(Writer& w, const std::string& space, bool read_only) {
  Region r;
  const std::string in = window(space);
  if (in == "global") {
    r.base = read_only ? "%in" : "%own";
    r.bytes = read_only ? 128 : 64;
  } else if (in == "shared") {
    w.uses_shared = true;
    r.base = w.random.chance(25) ? "%sh32" : "%sh";
    r.bytes = 32;
  } else if (in == "local") {
    r.variable = w.random.chance(50);
    r.base = r.variable ? "lo" : "%lo";
  } else if (in == "const") {
    r.variable = w.random.chance(50);
    r.base = r.variable ? "cc" : "%cc";
  } else {
    r.variable = true;
    r.base = "st";
    r.bytes = 48;
  }
  return r;
}

/// A generic address in a register, of one of the windows.
Region generic(Writer& w, bool store, bool read_only) {
  static const std::vector<std::string> kAll = {"global", "shared", "local", "const", "param"},
                                        kStored = {"global", "shared", "local"};
  const std::string space = read_only ? "global" : w.random.pick(store ? kStored : kAll);
  Region r = region(w, space, read_only);
  const Value pointer = w.bits(64);
  if (space == "param" && w.random.chance(50)) {
    const Value in = w.bits(64);
    w.line("mov.u64 " + in.name + ", st;");
    w.line("cvta.param.u64 " + pointer.name + ", " + in.name + ";");
  } else {
    if (r.base == "%sh32") r.base = "%sh";
    w.line("cvta." + space + ".u64 " + pointer.name + ", " + r.base + ";");
  }
  r.base = pointer.name;
  r.variable = false;
  return r;
}

/// "[...]" of `bytes` bytes, aligned to them.
std::string address(Writer& w, Region r, unsigned bytes) {
  const unsigned places = r.bytes / bytes;
  if (places == 0) return "";
  const unsigned offset = w.random.below(places) * bytes;
  if (r.variable) {
    if (offset == 0 && w.random.chance(50)) return "[" + r.base + "]";
    return "[" + r.base + "+" + std::to_string(offset) + "]";
  }
  const bool narrow = r.base == "%sh32";
  const std::string type = narrow ? "u32" : "u64";
  const unsigned way = w.random.below(4);
  if (way == 0) return "[" + r.base + "+" + std::to_string(offset) + "]";
  const Value moved = w.bits(narrow ? 32 : 64);
  if (way == 1) {  // past it, and back by a negative offset
    w.line("add." + type + " " + moved.name + ", " + r.base + ", " + std::to_string(offset + 24) +
           ";");
    return "[" + moved.name + "+-24]";
  }
  if (way == 2) {
    w.line("add." + type + " " + moved.name + ", " + r.base + ", " + std::to_string(offset) + ";");
    return "[" + moved.name + "]";
  }
  unsigned below = 1;
  while (below * 2 <= places) below *= 2;
  const std::string index = w.bounded(below);
  if (narrow) {
    w.line("mad.lo.u32 " + moved.name + ", " + index + ", " + std::to_string(bytes) + ", " +
           r.base + ";");
  } else {
    w.line("mul.wide.u32 " + moved.name + ", " + index + ", " + std::to_string(bytes) + ";");
    w.line("add.u64 " + moved.name + ", " + moved.name + ", " + r.base + ";");
  }
  return "[" + moved.name + "]";
}

/// A register of an element, or of a wider one where the instruction lets it be.
TypeName register_type(Writer& w, const Access& a) {
  TypeName type = a.type;
  const bool widens = a.opcode.starts_with("ld") || a.opcode == "st";
  if (widens && a.elements == 1 && (type.kind == 'u' || type.kind == 's') && type.width < 64 &&
      w.random.chance(25))
    return {"b" + std::to_string(type.width * 2), 'b', type.width * 2};
  return type;
}

void store_or_keep(Writer& w, const std::vector<Value>& values) {
  for (const Value& each : values) {
    if (each.width == 128) {
      const Value low = w.bits(64), high = w.bits(64);
      w.line("mov.b128 {" + low.name + ", " + high.name + "}, " + each.name + ";");
      w.result(low);
      w.result(high);
    } else {
      w.result(each);
    }
  }
}

/// The destination of `n` elements: a list, a vector register or a register.
std::string destination(Writer& w, const TypeName& type, unsigned n, bool sinks,
                        std::vector<Value>& values) {
  if (n == 1) {
    values.push_back(type.width == 128 ? w.bits(128) : w.declare(type));
    return values[0].name;
  }
  if (n <= 4 && n * type.width <= 128 && w.random.chance(35)) {
    const std::string name = "%v" + std::to_string(w.module.registers++);
    w.registers << "  .reg .v" << n << " .b" << type.width << " " << name << ";\n";
    for (unsigned k = 0; k < n; ++k) {
      Value each;
      each.name = name + "." + "xyzw"[k];
      each.width = type.width;
      values.push_back(each);
    }
    return name;
  }
  std::string list = "{";
  const unsigned sink = sinks && w.random.chance(15) ? w.random.below(n) : n;
  for (unsigned k = 0; k < n; ++k) {
    if (k) list += ", ";
    if (k == sink) {
      list += "_";
    } else {
      values.push_back(type.width == 128 ? w.bits(128) : w.declare(type));
      list += values.back().name;
    }
  }
  return list + "}";
}

std::string one_source(Writer& w, const TypeName& type, bool constants) {
  if (type.width != 128) return constants ? w.source(type) : w.value(type).name;
  const std::string low = w.value(type_name("b64")).name, high = w.value(type_name("b64")).name;
  const Value both = w.bits(128);
  w.line("mov.b128 " + both.name + ", {" + low + ", " + high + "};");
  return both.name;
}

std::string sources(Writer& w, const TypeName& type, unsigned n, bool constants) {
  if (n == 1) return one_source(w, type, constants);
  std::vector<std::string> each;
  for (unsigned k = 0; k < n; ++k) each.push_back(one_source(w, type, false));
  if (n <= 4 && n * type.width <= 128 && w.random.chance(30)) {
    const std::string name = "%v" + std::to_string(w.module.registers++);
    w.registers << "  .reg .v" << n << " .b" << type.width << " " << name << ";\n";
    for (unsigned k = 0; k < n; ++k)
      w.line("mov.b" + std::to_string(type.width) + " " + name + "." + "xyzw"[k] + ", " + each[k] +
             ";");
    return name;
  }
  std::string list = "{";
  for (unsigned k = 0; k < n; ++k) {
    list += k ? ", " : "";
    list += each[k];
  }
  return list + "}";
}

}  // namespace

bool memory(Writer& w, const std::string& text) {
  const Access a = access_of(text);
  if (!w.kernel || a.mods.contains("L2::cache_hint") || a.space == "param::func" ||
      (a.space.starts_with("param") && a.opcode == "st"))
    return false;
  const bool hint = a.opcode != "ld" && a.opcode != "st" && a.opcode != "ldu";
  if (a.opcode == "discard") return false;  // leaves memory without a value
  const bool read_only = a.mods.contains("nc") || a.opcode == "ldu";
  const unsigned bytes = hint ? (a.opcode == "applypriority" ? 128 : 16) : a.elements * a.bytes;
  if (hint && a.opcode == "applypriority") {
    w.line(a.head + " [%aligned], 128;");
    return true;
  }
  if (hint && a.opcode == "prefetchu") {
    const Region r = generic(w, false, true);
    w.line(a.head + " " + address(w, r, bytes) + ";");
    return true;
  }
  Region r =
      a.space.empty() ? generic(w, a.opcode == "st", read_only) : region(w, a.space, read_only);
  if (bytes > r.bytes) return false;
  const std::string where = address(w, r, bytes);
  if (hint) {
    w.line(a.head + " " + where + ";");
    return true;
  }
  const TypeName type = register_type(w, a);
  if (a.opcode == "st") {
    const std::string from = sources(w, type, a.elements, type.text == a.type.text);
    const std::string guard = w.guard({});
    w.line(guard + a.head + " " + where + ", " + from + ";");
    return true;
  }
  std::vector<Value> values;
  const std::string to = destination(w, type, a.elements, true, values);
  const std::string guard = type.width == 128 ? "" : w.guard(values);
  w.line(guard + a.head + " " + to + ", " + where + ";");
  store_or_keep(w, values);
  return true;
}

bool atomic(Writer& w, const std::string& text) {
  const Access a = access_of(text);
  if (!w.kernel || a.mods.contains("L2::cache_hint") || a.type.width == 128) return false;
  static const std::set<std::string> kCommon = {"add", "min", "max", "and",
                                                "or",  "xor", "inc", "dec"};
  bool unordered = false;
  for (const std::string& mod : a.mods) unordered = unordered || kCommon.contains(mod);
  const bool integer = a.type.kind == 'b' || a.type.kind == 'u' || a.type.kind == 's';
  const bool shared = a.space.starts_with("shared");
  const bool reduces = a.opcode == "red";
  if (unordered && integer && w.random.chance(50)) {
    // All threads on one cell: no one sees what was there, the sum is the same in any order.
    std::string base = "%com";
    unsigned offset = 0;
    if (shared) {
      base = "%shc";
      w.uses_shared = true;
      offset = w.shared_common_bytes;
      if (offset >= 256) return false;
      w.shared_common_bytes += 8;
    } else {
      offset = w.common_bytes;
      if (offset >= 512) return false;
      w.common_bytes += 8;
    }
    if (a.space.empty()) {
      const Value pointer = w.bits(64);
      w.line("cvta.global.u64 " + pointer.name + ", " + base + ";");
      base = pointer.name;
    }
    const bool bound = a.mods.contains("inc") || a.mods.contains("dec");
    const std::string b = bound ? std::to_string(3 + w.random.below(90)) : w.source(a.type);
    std::string line = a.head + " ";
    if (!reduces) line += w.declare(a.type).name + ", ";
    w.line(line + "[" + base + "+" + std::to_string(offset) + "], " + b + ";");
    return true;
  }
  const unsigned bytes = a.elements * a.bytes;
  Region r;
  if (a.space.empty()) {
    r = region(w, w.random.chance(50) ? "shared" : "global", false);
    if (r.base == "%sh32") r.base = "%sh";
    const Value pointer = w.bits(64);
    w.line(std::string("cvta.") + (r.base == "%sh" ? "shared" : "global") + ".u64 " + pointer.name +
           ", " + r.base + ";");
    r.base = pointer.name;
    // Vectors and packed floats are global memory's alone.
    if (a.elements > 1) return false;
  } else {
    r = region(w, a.space, false);
  }
  const std::string where = address(w, r, bytes);
  std::string compare;
  if (a.mods.contains("cas")) {
    compare = w.value(a.type).name;
    if (w.random.chance(60)) {
      const Value old = w.declare(a.type, true);
      const std::string in = a.space.empty() ? "" : "." + a.space;
      w.line("ld" + in + ".b" + std::to_string(a.type.width) + " " + old.name + ", " + where + ";");
      compare = old.name;
    }
    compare += ", ";
  }
  const std::string b = sources(w, a.type, a.elements, true);
  std::vector<Value> values;
  std::string line = a.head + " ";
  if (!reduces) {
    line += destination(w, a.type, a.elements, false, values);
    line += ", ";
  }
  w.line(line + where + ", " + compare + b + ";");
  store_or_keep(w, values);
  return true;
}

bool address_query(Writer& w, const std::string& text) {
  if (!w.kernel) return false;
  const Access a = access_of(text);
  const std::string head = a.head;
  if (a.opcode == "isspacep") {
    const Region r = generic(w, false, false);
    const Value p = w.declare(type_name("pred"));
    w.line(head + " " + p.name + ", " + r.base + ";");
    w.result(p);
    return true;
  }
  if (!a.type.text.ends_with("64") || a.space == "param::func") return false;
  Region r = region(w, a.space, false);
  if (r.base == "%sh32") r.base = "%sh";
  const Value pointer = w.bits(64), word = w.declare(type_name("b32"));
  const unsigned offset = 4 * w.random.below(r.bytes / 4);
  if (a.mods.contains("to")) {
    const Value there = w.bits(64);
    w.line(std::string("cvta.") + window(a.space) + ".u64 " + there.name + ", " + r.base + ";");
    w.line(head + " " + pointer.name + ", " + there.name + ";");
    w.line("ld." + a.space + ".b32 " + word.name + ", [" + pointer.name + "+" +
           std::to_string(offset) + "];");
  } else {
    w.line(head + " " + pointer.name + ", " + r.base + ";");
    w.line("ld.b32 " + word.name + ", [" + pointer.name + "+" + std::to_string(offset) + "];");
  }
  w.result(word);
  return true;
}

}  // namespace ptx2spv::programs
