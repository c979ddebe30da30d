// Instructions on registers alone, out of the vocabulary's lines.
#include <set>

#include "dev/programs/statements.hpp"

namespace ptx2spv::programs {
namespace {

std::vector<std::string> parts_of(const std::string& head) {
  std::vector<std::string> parts;
  std::string each;
  for (const char c : head) {
    if (c == '.') {
      parts.push_back(each);
      each.clear();
    } else {
      each += c;
    }
  }
  parts.push_back(each);
  return parts;
}

bool rounded(const std::set<std::string>& mods) {
  return mods.contains("rn") || mods.contains("rz") || mods.contains("rm") || mods.contains("rp");
}

/// Only bounds are known of what it gives.
bool approximate(const std::string& opcode, const std::set<std::string>& mods) {
  static const std::set<std::string> kOpcodes = {"ex2", "lg2", "sin", "cos", "tanh", "rsqrt"};
  if (kOpcodes.contains(opcode) || mods.contains("approx") || mods.contains("full")) return true;
  return (opcode == "div" || opcode == "rcp" || opcode == "sqrt") &&
         (mods.contains("f32") || mods.contains("f64")) && !rounded(mods);
}

/// A product without a rounding may be fused with a sum that uses it, as the assembler likes.
bool contractible(const std::string& opcode, const std::set<std::string>& mods) {
  static const std::set<std::string> kFloats = {"f32", "f64", "f16", "f16x2", "bf16", "bf16x2"};
  if (opcode != "mul" || rounded(mods)) return false;
  for (const std::string& mod : mods)
    if (kFloats.contains(mod)) return true;
  return false;
}

bool number(const std::string& token) {
  for (const char c : token)
    if (!((c >= '0' && c <= '9') || c == 'x' || (c >= 'a' && c <= 'f'))) return false;
  return !token.empty();
}

/// Writes an instruction's operands and remembers where its results are.
class Operands {
 public:
  Operands(Writer& w, const std::string& opcode) : w_(w), opcode_(opcode) {
    // The assembler writes these as functions of its own, which take no elements of vectors.
    static const std::set<std::string> kFunctions = {"div", "rem", "rcp", "sqrt", "rsqrt", "cvt"};
    whole_ = kFunctions.contains(opcode) || opcode[0] == 'v';
  }

  /// "-$R:b32.b3" and the like.
  std::string read(const std::string& token) {
    std::string out;
    std::size_t i = 0;
    pair_ = token.find('|') != token.npos;
    while (i < token.size()) {
      if (token[i] != '$') {
        out += token[i++];
        continue;
      }
      const char what = token[i + 1];
      i += 2;
      std::string type;
      if (token[i] == ':' && what != 'P' && what != 'C') {
        ++i;
        while (i < token.size() && token[i] != '|' && token[i] != '.') type += token[i++];
      }
      out += one(what, type);
    }
    return number(token) ? std::to_string(w_.random.below(opcode_ == "lop3"      ? 256
                                                          : opcode_ == "pmevent" ? 16
                                                                                 : 32))
                         : out;
  }
  std::vector<Value> results;
  bool rewritten = false;  ///< the result is an older variable's

 private:
  std::string one(char what, const std::string& type_text) {
    if (what == 'C') return w_.predicate();
    TypeName type = type_name(what == 'P' ? "pred" : type_text);
    if ((what == 'W' || what == 'X') && (type.kind == 'u' || type.kind == 's') && type.width < 64 &&
        w_.random.chance(20))
      type = {type.text, 'b', type.width * 2};  // a wider register than the type
    if (what == 'D' || what == 'W' || what == 'P') {
      if (type.width == 32 && results.empty() && !pair_ && w_.random.chance(10)) {
        rewritten = true;
        results.push_back({"%m" + std::to_string(w_.random.below(4)), 32, 'b'});
      } else {
        results.push_back(w_.declare(type, false, !pair_ && !whole_));
      }
      return results.back().name;
    }
    static const std::set<std::string> kIntegers = {"dp4a", "dp2a"};
    if (opcode_[0] == 'v' || kIntegers.contains(opcode_) ||
        (opcode_ == "cvt" && type.kind == 'b' && type.width == 32 && what == 'S'))
      type = type_name("u32");  // integers or bits, no floats
    if ((opcode_ == "bfe" || opcode_ == "bfi") && type.text == "u32" && !results.empty() &&
        w_.random.chance(40))
      return std::to_string(w_.random.below(256));
    if (what == 'R' || opcode_ == "cvt" || opcode_ == "bfe" || opcode_ == "bfi")
      return w_.value(type, whole_).name;
    return w_.source(type, whole_);
  }
  Writer& w_;
  std::string opcode_;
  bool whole_ = false;
  bool pair_ = false;  ///< a register and a predicate are one operand: no element of a vector
};

}  // namespace

bool plain(Writer& w, const Group&, const std::string& text) {
  const std::size_t blank = std::min(text.find(' '), text.size());
  const std::string head = text.substr(0, blank);
  auto parts = parts_of(head);
  const std::string opcode = parts[0];
  const std::set<std::string> mods(parts.begin() + 1, parts.end());
  if (opcode == "nanosleep") {
    w.line(head + " " + std::to_string(w.random.below(40)) + ";");
    return true;
  }
  if (opcode == "fns") {
    const std::string mask = w.source(type_name("b32")), base = w.bounded(32),
                      offset = w.bounded(8);
    const Value to = w.declare(type_name("u32"));
    w.line("sub.s32 " + offset + ", " + offset + ", 4;");
    w.line(head + " " + to.name + ", " + mask + ", " + base + ", " + offset + ";");
    w.result(to);
    return true;
  }
  const bool takes_carry = opcode == "addc" || opcode == "subc" || opcode == "madc",
             gives_carry = mods.contains("cc");
  Operands operands(w, opcode);
  std::vector<std::string> read;
  for (std::size_t at = blank; at < text.size();) {
    while (at < text.size() && (text[at] == ' ' || text[at] == ',')) ++at;
    std::size_t end = std::min(text.find(',', at), text.size());
    if (at < text.size() && text[at] == '{') end = text.find('}', at) + 1;
    if (end > at) read.push_back(operands.read(text.substr(at, end - at)));
    at = end;
  }
  // A pair of predicates is one operand, and a name in it once only.
  const bool approximation = approximate(opcode, mods);
  if (operands.rewritten && (approximation || contractible(opcode, mods))) return false;
  std::string guard;
  if (!takes_carry && !gives_carry && !operands.rewritten && !approximation)
    guard = w.guard(operands.results);
  if (takes_carry) {
    const bool wide = w.random.chance(30);
    const TypeName type = type_name(wide ? "u64" : "u32");
    const std::string a = w.source(type), b = w.source(type);
    const Value low = w.declare(type);
    const std::string op = opcode == "subc" ? "sub" : w.random.chance(80) ? "add" : "sub";
    w.line(op + ".cc." + type.text + " " + low.name + ", " + a + ", " + b + ";");
  }
  std::string line = guard + head;
  for (std::size_t k = 0; k < read.size(); ++k) {
    line += k ? ", " : " ";
    line += read[k];
  }
  w.line(line + ";");
  Value carry;
  if (gives_carry) {
    carry = w.declare(type_name("u32"));
    w.line((opcode.starts_with("sub") ? "subc.u32 " : "addc.u32 ") + carry.name + ", 5, 0;");
  }
  if (approximation) return true;
  for (const Value& each : operands.results)
    w.result(each, !contractible(opcode, mods) && !operands.rewritten);
  if (gives_carry) w.result(carry);
  return true;
}

bool statement(Writer& w, Context& context, const Group& group) {
  const std::string& text = group.lines[w.random.below(group.lines.size())];
  const std::string& op = group.opcode;
  static const std::set<std::string> kMemory = {"ld",        "ldu",     "st",           "prefetch",
                                                "prefetchu", "discard", "applypriority"};
  static const std::set<std::string> kWarp = {"shfl",  "vote",  "match",
                                              "redux", "elect", "activemask"};
  static const std::set<std::string> kNever = {"trap", "brkpt", "exit"};
  (void)context;
  if (kNever.contains(op)) return false;
  if (kMemory.contains(op)) return memory(w, text);
  if (op == "atom" || op == "red") return atomic(w, text);
  if (op == "isspacep" || op == "cvta") return address_query(w, text);
  if (op == "bar" || op == "barrier") return barrier(w, text);
  if (kWarp.contains(op)) return warp(w, text);
  if (op == "mov") {
    move(w);
    return true;
  }
  return plain(w, group, text);
}

}  // namespace ptx2spv::programs
