#include "dev/programs/writer.hpp"

#include <cstdio>

namespace ptx2spv::programs {
namespace {

std::string hex(std::uint64_t value, unsigned digits) {
  char text[20];
  std::snprintf(text, sizeof(text), "%0*llX", static_cast<int>(digits),
                static_cast<unsigned long long>(value));
  return text;
}

/// Floats that matter: zeros, ones, the largest, the least, infinities, NaN.
constexpr std::uint32_t kSingles[] = {
    0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x40490fdb, 0x7f7fffff, 0x00800000, 0x00000001,
    0x7f800000, 0xff800000, 0x7fc00000, 0x4b000000, 0x3f000000, 0xc2f6e979, 0x34000000, 0x4f000000};

bool fits(const Value& value, const TypeName& type) {
  if (value.width != type.width) return false;
  switch (type.kind) {
    case 'b': return true;
    case 'u':
    case 's': return value.kind == 'b' || value.kind == 'u';
    case 'f': return value.kind == 'b' || value.kind == 'f';
    case 'h': return value.kind == 'b' || value.kind == 'h';
    default: return value.kind == 'b';
  }
}

Flavour flavour_of(const TypeName& type) {
  if (type.kind == 'f') return type.width == 64 ? Flavour::twice : Flavour::single;
  if (type.kind == 'h') return Flavour::half;
  if (type.kind == 'g') return Flavour::bfloat;
  return Flavour::integer;
}

}  // namespace

TypeName type_name(const std::string& text) {
  TypeName type;
  type.text = text;
  if (text == "pred") return {text, 'b', 1};
  if (text == "f16" || text == "bf16") return {text, text[0] == 'b' ? 'g' : 'h', 16};
  if (text == "f16x2" || text == "bf16x2") return {text, text[0] == 'b' ? 'g' : 'h', 32};
  if (text == "u16x2" || text == "s16x2") return {text, 'p', 32};
  type.kind = text[0];
  type.width = 0;
  for (std::size_t i = 1; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i)
    type.width = type.width * 10 + static_cast<unsigned>(text[i] - '0');
  if (type.width == 8) type.width = 16;  // registers of 8 bits hold little
  return type;
}

Value Writer::declare(const TypeName& type, bool plain, bool element) {
  Value value;
  value.width = type.width;
  value.flavour = flavour_of(type);
  value.name = "%v" + std::to_string(module.registers++);
  std::string as = type.width == 1 ? "pred" : "b" + std::to_string(type.width);
  if (!plain && type.width > 1 && type.width <= 64 && random.chance(35)) {
    const std::string bits = std::to_string(type.width);
    if (type.kind == 'u' || type.kind == 's') {
      value.kind = 'u';
      as = (random.chance(50) ? "u" : "s") + bits;
    } else if (type.kind == 'f') {
      value.kind = 'f';
      as = "f" + bits;
    } else if (type.kind == 'h') {
      value.kind = 'h';
      as = type.text;
    }
  }
  if (element && !plain && value.kind == 'b' && type.width > 1 && type.width <= 64 &&
      random.chance(12)) {
    // One element of a vector register, the others hold nothing.
    const bool four = type.width <= 32 && random.chance(50);
    registers << "  .reg .v" << (four ? 4 : 2) << " ." << as << " " << value.name << ";\n";
    const std::string elements = random.chance(30) ? "rgba" : "xyzw";
    value.name += "." + elements.substr(random.below(four ? 4 : 2), 1);
    return value;
  }
  registers << "  .reg ." << as << " " << value.name << ";\n";
  return value;
}

Value Writer::bits(unsigned width) {
  return declare({width == 1 ? "pred" : "b" + std::to_string(width), 'b', width}, true);
}

std::string Writer::label() { return "$L" + std::to_string(module.labels++); }

Value Writer::value(const TypeName& type, bool whole) {
  std::vector<const Value*> fitting, like;
  for (const Value& each : pool) {
    if (!fits(each, type) || (whole && each.name.find('.') != std::string::npos)) continue;
    fitting.push_back(&each);
    if (each.flavour == flavour_of(type)) like.push_back(&each);
  }
  if (!like.empty() && random.chance(85)) {
    // Later values more often than the first.
    const unsigned a = random.below(like.size()), b = random.below(like.size());
    return *like[a > b ? a : b];
  }
  if (!fitting.empty()) return *fitting[random.below(fitting.size())];
  // Nothing yet: a constant in a register.
  Value made = declare(type, true);
  made.kind = 'b';
  if (type.width == 1) {
    const std::string a = constant({"u32", 'u', 32});
    line("setp.ne.u32 " + made.name + ", " + a + ", 0;");
  } else {
    const std::string a = constant({"b" + std::to_string(type.width), 'u', type.width});
    line("mov.b" + std::to_string(type.width) + " " + made.name + ", " + a + ";");
  }
  pool.push_back(made);
  return made;
}

std::string Writer::constant(const TypeName& type) {
  if (type.kind == 'f') {
    const unsigned way = random.below(10);
    if (way == 0) return "1.5";
    if (way == 1) return "-2.0";
    if (way == 2) return "0.25E1";
    if (type.width == 32) {
      if (way < 6) return "0f" + hex(kSingles[random.below(std::size(kSingles))], 8);
      const std::uint32_t rest = random.word() & 0x807fffffu;
      return "0f" + hex(rest | (117 + random.below(20)) << 23, 8);
    }
    const std::uint64_t mantissa = random.bits() & 0x800fffffffffffffu;
    return "0d" + hex(mantissa | std::uint64_t{1013 + random.below(20)} << 52, 16);
  }
  const unsigned width = type.width;
  const std::uint64_t all = width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  const std::uint64_t word = random.bits() >> random.below(64) & all;
  const std::uint64_t small = random.below(33);
  switch (random.below(12)) {
    case 0: return "0x" + hex(word, 1);
    case 1: return "-" + std::to_string(small);
    case 2: return "(" + std::to_string(small) + " + 7) * 3";
    case 3: return "~" + std::to_string(small);
    case 4: return "(1 << " + std::to_string(random.below(width < 16 ? width : 15)) + ") - 1";
    case 5: {
      const std::string last = std::to_string(random.below(8));
      return "0" + std::to_string(random.below(8)) + last;
    }
    case 6: return "0b1" + std::string(random.chance(50) ? "01" : "10");
    case 7: return width == 16 ? "0x7fff" : "0x" + hex(all >> 1, 1);
    case 8: return width == 16 ? "-32768" : "0x" + hex((all >> 1) + 1, 1);
    case 9: return std::to_string(small) + " > 9 ? 100 : " + std::to_string(small);
    default: return std::to_string(small);
  }
}

std::string Writer::source(const TypeName& type, bool whole) {
  // Halves have no constants.
  const bool constants = type.kind == 'b' || type.kind == 'u' || type.kind == 's' ||
                         (type.kind == 'f' && type.width >= 32);
  if (constants && type.width > 1 && type.width <= 64 && random.chance(18)) return constant(type);
  return value(type, whole).name;
}

Value Writer::plain_value(const TypeName& type) {
  const Value from = value(type);
  if (from.kind == 'b') return from;
  const Value to = bits(type.width);
  line("mov.b" + std::to_string(type.width) + " " + to.name + ", " + from.name + ";");
  return to;
}

std::string Writer::predicate(bool may_negate) {
  const bool negated = may_negate && random.chance(30);
  return (negated ? "!" : "") + value({"pred", 'b', 1}).name;
}

std::string Writer::bounded(unsigned below) {
  const Value from = value({"u32", 'u', 32}), to = bits(32);
  if ((below & (below - 1)) == 0)
    line("and.b32 " + to.name + ", " + from.name + ", " + std::to_string(below - 1) + ";");
  else
    line("rem.u32 " + to.name + ", " + from.name + ", " + std::to_string(below) + ";");
  return to.name;
}

void Writer::line(const std::string& text) { code << indent() << text << "\n"; }

void Writer::result(const Value& value, bool keep_it) {
  if (keep_it) pool.push_back(value);
  if (!kernel) return;
  const unsigned bytes = value.width == 64 ? 8 : 4;
  cell_bytes = (cell_bytes + bytes - 1) / bytes * bytes;
  const std::string at = "[%out+" + std::to_string(cell_bytes) + "]";
  cell_bytes += bytes;
  if (value.width == 1) {
    line("selp.b32 %x0, 1, 2, " + value.name + ";");
    line("st.global.b32 " + at + ", %x0;");
  } else {
    line("st.global.b" + std::to_string(value.width) + " " + at + ", " + value.name + ";");
  }
}

std::string Writer::guard(const std::vector<Value>& destinations) {
  if (!random.chance(12)) return "";
  // The assembler loses a guarded write to an element, at one level of optimisation or the other.
  for (const Value& each : destinations)
    if (each.name.find('.') != std::string::npos) return "";
  const std::string p = predicate();
  for (const Value& each : destinations) {
    if (each.width == 1)
      line("setp.eq.b32 " + each.name + ", " + std::to_string(random.below(2)) + ", 0;");
    else
      line("mov.b" + std::to_string(each.width) + " " + each.name + ", " +
           std::to_string(random.below(9)) + ";");
  }
  return "@" + p + " ";
}

}  // namespace ptx2spv::programs
