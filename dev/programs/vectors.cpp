// Moves of every kind, vector registers, packs, and tables in constant and global memory.
#include "dev/programs/statements.hpp"

namespace ptx2spv::programs {
namespace {

const std::vector<std::string> kMoveTypes = {"b16", "b32", "b64", "u16", "u32", "u64",
                                             "s16", "s32", "s64", "f32", "f64"};

struct Special {
  const char* name;
  const char* type;
};
/// Those that are the same in every run on every device.
const std::vector<Special> kSpecials = {{"%tid.x", "u32"},
                                        {"%tid.y", "u32"},
                                        {"%tid.z", "u32"},
                                        {"%ntid.x", "u32"},
                                        {"%ntid.y", "u32"},
                                        {"%ntid.z", "u32"},
                                        {"%ctaid.x", "u32"},
                                        {"%ctaid.y", "u32"},
                                        {"%ctaid.z", "u32"},
                                        {"%nctaid.x", "u32"},
                                        {"%nctaid.y", "u32"},
                                        {"%nctaid.z", "u32"},
                                        {"%laneid", "u32"},
                                        {"%lanemask_eq", "u32"},
                                        {"%lanemask_le", "u32"},
                                        {"%lanemask_lt", "u32"},
                                        {"%lanemask_ge", "u32"},
                                        {"%lanemask_gt", "u32"},
                                        {"%clusterid.x", "u32"},
                                        {"%cluster_ctaid.x", "u32"},
                                        {"%cluster_nctaid.x", "u32"},
                                        {"%cluster_ctarank", "u32"},
                                        {"%cluster_nctarank", "u32"},
                                        {"%nclusterid.x", "u32"},
                                        {"%dynamic_smem_size", "u32"},
                                        {"%is_explicit_cluster", "pred"}};

std::string vector_register(Writer& w, unsigned n, const std::string& type) {
  const std::string name = "%v" + std::to_string(w.module.registers++);
  w.registers << "  .reg .v" << n << " ." << type << " " << name << ";\n";
  return name;
}

void keep_elements(Writer& w, const std::string& name, unsigned n, const TypeName& type) {
  for (unsigned k = 0; k < n; ++k) {
    Value each;
    each.name = name + "." + (w.random.chance(20) ? "rgba" : "xyzw")[k];
    each.width = type.width;
    each.kind = type.kind == 's' ? 'u' : type.kind;
    w.result(each);
  }
}

std::string list_of(const std::vector<std::string>& parts) {
  std::string list = "{";
  for (std::size_t k = 0; k < parts.size(); ++k) {
    list += k ? ", " : "";
    list += parts[k];
  }
  return list + "}";
}

void pack(Writer& w, unsigned whole, unsigned parts) {
  const unsigned part = whole / parts;
  const TypeName element = type_name("b" + std::to_string(part));
  std::vector<std::string> from;
  for (unsigned k = 0; k < parts; ++k) from.push_back(w.plain_value(element).name);
  const Value to = w.bits(whole);
  w.line("mov.b" + std::to_string(whole) + " " + to.name + ", " + list_of(from) + ";");
  if (whole <= 64) {
    w.result(to);
    return;
  }
  // 128 bits have no store of their own in a cell: back, in parts of another size.
  const unsigned n = w.random.chance(50) ? 2 : 4;
  std::vector<std::string> names;
  std::vector<Value> values;
  for (unsigned k = 0; k < n; ++k) {
    values.push_back(w.bits(128 / n));
    names.push_back(values.back().name);
  }
  w.line("mov.b128 " + list_of(names) + ", " + to.name + ";");
  for (const Value& each : values) w.result(each);
}

void unpack(Writer& w, unsigned whole, unsigned parts) {
  const unsigned part = whole / parts;
  const std::string from = w.value(type_name("b" + std::to_string(whole))).name;
  std::vector<std::string> names;
  std::vector<Value> values;
  const unsigned sink = w.random.chance(15) ? w.random.below(parts) : parts;
  for (unsigned k = 0; k < parts; ++k) {
    if (k == sink) {
      names.push_back("_");
      continue;
    }
    values.push_back(w.bits(part));
    names.push_back(values.back().name);
  }
  w.line("mov.b" + std::to_string(whole) + " " + list_of(names) + ", " + from + ";");
  for (const Value& each : values) w.result(each);
}

}  // namespace

void move(Writer& w) {
  const unsigned way = w.random.below(10);
  if (way < 2) {
    const Special& special = w.random.pick(kSpecials);
    const TypeName type = type_name(special.type);
    const Value to = w.declare(type);
    w.line(std::string("mov.") + special.type + " " + to.name + ", " + special.name + ";");
    w.result(to);
  } else if (way == 2) {
    const Value to = w.declare(type_name("pred"));
    const std::string from = w.value(type_name("pred")).name;
    w.line("mov.pred " + to.name + ", " + from + ";");
    w.result(to);
  } else if (way == 3) {
    static const unsigned kPacks[][2] = {{32, 2}, {64, 2}, {64, 4}, {128, 2}, {128, 4}};
    const auto& each = kPacks[w.random.below(5)];
    if (w.random.chance(50) || each[0] == 128)
      pack(w, each[0], each[1]);
    else
      unpack(w, each[0], each[1]);
  } else {
    const TypeName type = type_name(w.random.pick(kMoveTypes));
    const std::string from = w.source(type);
    const Value to = w.declare(type, false, true);
    const std::string guard = w.guard({to});
    w.line(guard + "mov." + type.text + " " + to.name + ", " + from + ";");
    w.result(to);
  }
}

void vectors(Writer& w) {
  const unsigned way = w.random.below(6);
  const unsigned n = w.random.chance(50) ? 2 : 4;
  if (way == 0) {
    static const std::vector<std::string> kVectors = {"%tid", "%ntid", "%ctaid", "%nctaid"};
    const std::string to = vector_register(w, 4, "u32");
    const std::string from = w.random.pick(kVectors);
    w.line("mov.v4.u32 " + to + ", " + from + ";");
    keep_elements(w, to, 4, type_name("u32"));
    return;
  }
  TypeName type = type_name(w.random.pick(kMoveTypes));
  if (n * type.width > 128) type = type_name("b32");
  const std::string bits = "b" + std::to_string(type.width);
  std::vector<std::string> from;
  for (unsigned k = 0; k < n; ++k) from.push_back(w.plain_value(type).name);
  const std::string v = vector_register(w, n, type.text);
  const std::string head = "mov.v" + std::to_string(n) + "." + type.text + " ";
  if (way == 1) {  // a list into a vector
    w.line(head + v + ", " + list_of(from) + ";");
    keep_elements(w, v, n, type);
    return;
  }
  for (unsigned k = 0; k < n; ++k)
    w.line("mov." + type.text + " " + v + "." + "xyzw"[k] + ", " + from[k] + ";");
  if (way == 2) {  // a vector into a list
    std::vector<std::string> names;
    std::vector<Value> values;
    for (unsigned k = 0; k < n; ++k) {
      values.push_back(w.declare(type, true));
      names.push_back(values.back().name);
    }
    w.line(head + list_of(names) + ", " + v + ";");
    for (const Value& each : values) w.result(each);
  } else if (way == 3) {  // a list into a list
    std::vector<std::string> names;
    std::vector<Value> values;
    for (unsigned k = 0; k < n; ++k) {
      values.push_back(w.declare(type, true));
      names.push_back(values.back().name);
    }
    w.line(head + list_of(names) + ", " + list_of(from) + ";");
    for (const Value& each : values) w.result(each);
  } else if (way == 4 || n * type.width > 64) {  // vector to vector
    const std::string to = vector_register(w, n, type.text);
    w.line(head + to + ", " + v + ";");
    keep_elements(w, to, n, type);
  } else {  // a vector of bits into one register, and another back
    const std::string b = vector_register(w, n, bits), c = vector_register(w, n, bits);
    const Value whole = w.bits(n * type.width);
    const std::string mov = "mov.b" + std::to_string(n * type.width) + " ";
    w.line("mov.v" + std::to_string(n) + "." + bits + " " + b + ", " + list_of(from) + ";");
    w.line(mov + whole.name + ", " + b + ";");
    w.result(whole);
    w.line(mov + c + ", " + whole.name + ";");
    keep_elements(w, c, n, type_name(bits));
  }
}

void table(Writer& w) {
  static const std::vector<std::string> kTypes = {"u8",  "s16", "u32", "s32", "b32",
                                                  "u64", "f32", "f64", "b64", "s8"};
  const std::string text = w.random.pick(kTypes);
  TypeName type = type_name(text);
  const unsigned bytes = text.ends_with("8") ? 1 : type.width / 8;
  const std::string space = w.random.chance(50) ? "const" : "global";
  const unsigned n = 1u << (1 + w.random.below(3));
  const std::string name = "tab" + std::to_string(w.module.variables++);
  std::ostringstream& out = w.module.declarations;
  const bool two = n >= 4 && w.random.chance(40);
  out << "." << space << " .align 16 ." << text << " " << name;
  if (two)
    out << "[" << n / 2 << "][2] = {";
  else
    out << "[" << n << "] = {";
  // The last ones may stay zero.
  const unsigned given = two ? n : n - w.random.below(2);
  for (unsigned k = 0; k < given; ++k) {
    out << (k ? ", " : "");
    if (two && k % 2 == 0) out << "{";
    if (type.kind == 'f') {
      out << w.constant(type);
    } else {
      const std::uint64_t word = w.random.bits();
      switch (w.random.below(4)) {
        case 0: out << (word >> 40 & 127); break;
        case 1: out << (text[0] == 's' ? "-" : "") << (word >> 30 & 127); break;
        case 2: out << "(" << (word >> 50 & 7) << " << 2) | 1"; break;
        default: out << "0x" << std::hex << (word >> 8 & 0x7f) << std::dec; break;
      }
    }
    if (two && k % 2 == 1) out << "}";
  }
  out << "};\n";
  const std::string index = w.bounded(n);
  const Value at = w.bits(64), base = w.bits(64);
  w.line("mul.wide.u32 " + at.name + ", " + index + ", " + std::to_string(bytes) + ";");
  w.line("mov.u64 " + base.name + ", " + name + ";");
  w.line("add.u64 " + at.name + ", " + at.name + ", " + base.name + ";");
  const Value to = w.declare(type);
  if (w.random.chance(40)) {
    w.line("cvta." + space + ".u64 " + at.name + ", " + at.name + ";");
    w.line("ld." + text + " " + to.name + ", [" + at.name + "];");
  } else {
    w.line("ld." + space + "." + text + " " + to.name + ", [" + at.name + "];");
  }
  w.result(to);
}

void stack(Writer& w) {
  if (!w.kernel) return;
  const Value saved = w.bits(64), at = w.bits(64);
  const std::string size = std::to_string(16 * (1 + w.random.below(4)));
  const Value from = w.value(type_name("b32")), to = w.declare(type_name("b32"));
  w.line("stacksave.u64 " + saved.name + ";");
  w.line("alloca.u64 " + at.name + ", " + size + (w.random.chance(50) ? ", 16;" : ";"));
  w.line("st.local.b32 [" + at.name + "+8], " + from.name + ";");
  w.line("ld.local.b32 " + to.name + ", [" + at.name + "+8];");
  w.line("stackrestore.u64 " + saved.name + ";");
  w.result(to);
}

}  // namespace ptx2spv::programs
