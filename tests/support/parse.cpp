#include "tests/support/parse.hpp"

#include <map>
#include <vector>

#include <fmt/format.h>

#include "ptx2spv/text.hpp"
#include "translator/ir/names.hpp"

namespace ptx2spv::ir {

namespace {

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> out;
  std::size_t at = 0;
  while (at < line.size()) {
    while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) ++at;
    std::size_t end = at;
    while (end < line.size() && line[end] != ' ' && line[end] != '\t') ++end;
    if (end > at) out.push_back(line.substr(at, end - at));
    at = end;
  }
  return out;
}

bool number(std::string_view text, std::uint64_t& value) {
  int base = 10;
  if (text.starts_with("0x")) {
    text.remove_prefix(2);
    base = 16;
  }
  return read_number(text, value, base);
}

template <typename Enum, std::size_t N>
bool lookup(const std::array<std::string_view, N>& names, std::string_view text, Enum& out) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] != text) continue;
    out = static_cast<Enum>(i);
    return true;
  }
  return false;
}

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t at = text.find(by);
    out.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + 1);
  }
}

class Reader {
 public:
  Reader(Function& f, Module& module) : f_(f), module_(module) {}

  std::string run(std::string_view text) {
    unsigned line_number = 0;
    for (std::string_view line : split(text, '\n')) {
      ++line_number;
      line = line.substr(0, line.find(';'));
      const std::vector<std::string_view> w = words(line);
      if (w.empty() || w[0] == "}") continue;
      if (std::string bad = read(w); !bad.empty())
        return fmt::format("line {}: {}", line_number, bad);
    }
    f_.compute_preds();
    return {};
  }

 private:
  std::string read(const std::vector<std::string_view>& w) {
    std::uint64_t n = 0;
    if (w[0] == "func") {
      f_.name = w.size() > 1 ? w[1].substr(1) : "";
      for (const std::string_view x : w) {
        if (x.starts_with("local=") && number(x.substr(6), n))
          f_.local_bytes = static_cast<std::uint32_t>(n);
        if (x.starts_with("shared=") && number(x.substr(7), n))
          f_.shared_bytes = static_cast<std::uint32_t>(n);
        if (x.starts_with("threads=") && number(x.substr(8), n))
          f_.region_threads = static_cast<std::uint32_t>(n);
      }
      return {};
    }
    if (w[0] == "var") {
      Var var;
      if (w.size() < 3 || !read_type(w[2], var.type)) return "not a variable";
      if (w.size() > 3) var.name = w[3];
      var.per_thread = w.back() == "per_thread";
      f_.vars.push_back(var);
      return {};
    }
    if (w[0].starts_with("b") && w[0].ends_with(":")) {
      BlockId b = 0;
      if (!block(w[0].substr(0, w[0].size() - 1), b)) return "not a block";
      current_ = b;
      f_.order.push_back(b);
      return {};
    }
    if (current_ == kNoBlock) return "instruction outside a block";
    if (terminator(w)) return {};
    return instruction(w);
  }

  bool read_type(std::string_view text, Type& type) {
    for (const Type t : {Type::none, Type::i1, Type::i32, Type::i64, Type::v2, Type::v4}) {
      if (name(t) != text) continue;
      type = t;
      return true;
    }
    return false;
  }
  bool block(std::string_view text, BlockId& b) {
    std::uint64_t n = 0;
    if (!text.starts_with("b") || !number(text.substr(1), n) || n > 1000000) return false;
    b = static_cast<BlockId>(n);
    if (b >= f_.blocks.size()) f_.blocks.resize(b + 1);
    return true;
  }
  bool value(std::string_view text, Value& v) {
    std::uint64_t n = 0;
    if (!text.starts_with("%") || !number(text.substr(1), n) || n > 10000000) return false;
    v = static_cast<Value>(n);
    if (v >= f_.insts.size()) f_.insts.resize(v + 1);
    return true;
  }

  bool terminator(const std::vector<std::string_view>& w) {
    static const std::map<std::string_view, Term> kTerms = {
        {"br", Term::br},     {"cond_br", Term::cond_br}, {"switch", Term::switch_},
        {"exit", Term::exit}, {"ret", Term::ret},         {"unreachable", Term::unreachable},
        {"none", Term::none}};
    BlockId a = 0, c = 0;
    if (w[0] == "merge" && w.size() == 2 && block(w[1], a)) {
      f_.blocks[current_].merge = Merge::selection;
      f_.blocks[current_].merge_block = a;
      return true;
    }
    if (w[0] == "loop" && w.size() == 3 && block(w[1], a) && block(w[2], c)) {
      f_.blocks[current_].merge = Merge::loop;
      f_.blocks[current_].merge_block = a;
      f_.blocks[current_].continue_block = c;
      return true;
    }
    const auto found = kTerms.find(w[0]);
    if (found == kTerms.end()) return false;
    std::size_t at = 1;
    Value cond = 0;
    if (found->second == Term::cond_br || found->second == Term::switch_) {
      if (w.size() < 2 || !value(w[1], cond)) return false;
      at = 2;
    }
    std::vector<BlockId> succs;
    for (; at < w.size(); ++at) {
      if (!block(w[at], a)) return false;
      succs.push_back(a);
    }
    f_.blocks[current_].term = found->second;
    f_.blocks[current_].cond = cond;
    f_.blocks[current_].succs = std::move(succs);
    return true;
  }

  std::string instruction(const std::vector<std::string_view>& w) {
    std::size_t at = 0;
    Value v = 0;
    Inst inst;
    if (w.size() > 2 && w[1] == "=") {
      if (!value(w[0], v)) return "not a value";
      at = 2;
    }
    bool found = false;
    for (std::size_t op = 0; op < kOpCount && !found; ++op) {
      if (info(static_cast<Op>(op)).name != w[at]) continue;
      inst.op = static_cast<Op>(op);
      found = true;
    }
    if (!found) return fmt::format("unknown operation {}", w[at]);
    ++at;
    if (v && (at >= w.size() || !read_type(w[at++], inst.type))) return "type missing";
    std::vector<Value> args;
    for (; at < w.size(); ++at)
      if (std::string bad = attribute(w[at], inst, args); !bad.empty()) return bad;
    inst.count = static_cast<std::uint16_t>(args.size());
    inst.first = static_cast<std::uint32_t>(f_.operands.size());
    f_.operands.insert(f_.operands.end(), args.begin(), args.end());
    if (!v) {
      // Instructions without a result have no number in the text; they get high ones.
      v = next_unnamed_++;
      if (v >= f_.insts.size()) f_.insts.resize(v + 1);
    }
    f_.insts[v] = inst;
    f_.blocks[current_].insts.push_back(v);
    return {};
  }

  std::string attribute(std::string_view w, Inst& inst, std::vector<Value>& args) {
    Value a = 0;
    std::uint64_t n = 0;
    if (w.starts_with("%")) {
      if (!value(w, a)) return "not a value";
      args.push_back(a);
      return {};
    }
    if (w.starts_with("$") && number(w.substr(1), n)) {
      inst.imm = n;
      return {};
    }
    if (w.starts_with("@")) {
      inst.imm = module_.library(w.substr(1));
      return {};
    }
    if (w.starts_with("imm=") && number(w.substr(4), n)) {
      inst.imm = n;
      return {};
    }
    if (inst.op == Op::constant && number(w, n)) {
      inst.imm = n;
      return {};
    }
    if (inst.op == Op::builtin && lookup(kBuiltinNames, w, inst.builtin)) return {};
    if (w.starts_with("fp=")) {
      const auto parts = split(w.substr(3), ',');
      if (!lookup(kKindNames, parts[0], inst.fp.kind)) return "unknown format";
      inst.fp.round = Round::none;
      for (std::size_t i = 1; i < parts.size(); ++i) {
        if (parts[i] == "ftz")
          inst.fp.ftz = true;
        else if (parts[i] == "sat")
          inst.fp.sat = true;
        else if (parts[i] == "nan")
          inst.fp.nan = true;
        else if (parts[i] == "contract")
          inst.fp.contract = true;
        else if (parts[i] == "checked")
          inst.fp.checked = true;
        else if (parts[i].starts_with("to:"))
          lookup(kKindNames, parts[i].substr(3), inst.fp.to);
        else if (!lookup(kRoundNames, parts[i], inst.fp.round))
          return "unknown rounding";
      }
      return {};
    }
    if (w.starts_with("mem=")) {
      const auto parts = split(w.substr(4), ',');
      if (!lookup(kSpaceNames, parts[0], inst.mem.space)) return "unknown space";
      for (std::size_t i = 1; i < parts.size(); ++i) {
        if (number(parts[i], n))
          inst.mem.bytes = static_cast<std::uint8_t>(n);
        else if (parts[i] == "volatile")
          inst.mem.is_volatile = true;
        else if (parts[i] == "readonly")
          inst.mem.readonly = true;
        else if (parts[i].starts_with("zeros:") && number(parts[i].substr(6), n))
          inst.mem.low_zeros = static_cast<std::uint8_t>(n);
        else if (parts[i].starts_with("high_zeros:") && number(parts[i].substr(11), n))
          inst.mem.high_zeros = static_cast<std::uint8_t>(n);
        else if (parts[i].starts_with("slot:") && number(parts[i].substr(5), n))
          inst.mem.slot = static_cast<std::uint16_t>(n);
        else if (!lookup(kAtomicNames, parts[i], inst.mem.atomic))
          return "unknown memory attribute";
      }
      return {};
    }
    return fmt::format("cannot read {}", w);
  }

  static constexpr std::size_t kOpCount = static_cast<std::size_t>(Op::call) + 1;
  Function& f_;
  Module& module_;
  BlockId current_ = kNoBlock;
  Value next_unnamed_ = 100000;
};

}  // namespace

std::string parse(std::string_view text, Function& function, Module& module) {
  function = Function{};
  return Reader(function, module).run(text);
}

}  // namespace ptx2spv::ir
