#include "translator/passes/sanitize/copies.hpp"

#include <optional>
#include <set>
#include <utility>

namespace ptx2spv::passes {

namespace {

/// The words of an operand that are in `words` of the result; nothing: it is used otherwise.
std::optional<std::uint32_t> moved(const Inst& inst, unsigned operand, std::uint32_t words) {
  switch (inst.op) {
    case Op::pack:
    case Op::compose: return words >> operand & 1;
    case Op::extract: return (words & 1) << inst.imm;
    case Op::high: return (words & 1) << 1;
    case Op::trunc:
    case Op::zext: return words & 1;
    case Op::select: return operand ? std::optional(words) : std::nullopt;
    default: return std::nullopt;
  }
}

/// Whether `user` makes its result of the value by moving its words.
bool moves(const Function& function, Value user, Value value) {
  const Inst& inst = function.insts[user];
  if (inst.op == Op::set_var) return true;
  for (unsigned i = 0; i < inst.count; ++i)
    if (function.arg(user, i) == value && !moved(inst, i, 0)) return false;
  return user != value;
}

bool has_constant(const Function& function, Value v) {
  return function.insts[function.arg(v, 0)].op == Op::constant ||
         function.insts[function.arg(v, 1)].op == Op::constant;
}

std::uint32_t words_of(Type type) {
  return type == Type::v4 ? 15 : type == Type::i64 || type == Type::v2 ? 3 : 1;
}

}  // namespace

Copies::Copies(const Function& function)
    : users_(function.insts.size()),
      readers_(function.vars.size()),
      used_(function.insts.size()),
      carries_(function.insts.size()),
      var_carries_(function.vars.size()),
      bits_of_(function.vars.size()) {
  find_uses(function);
  find_carriers(function);
}

void Copies::find_uses(const Function& function) {
  std::vector<std::uint8_t> used_vars(function.vars.size());
  // Who makes a value of a register is asked again when somebody uses what is read from it.
  std::vector<std::vector<Value>> writers(function.vars.size());
  std::vector<Value> work;
  const auto use = [&](Value value, std::uint32_t words) {
    if ((used_[value] | words) == used_[value]) return;
    used_[value] = static_cast<std::uint8_t>(used_[value] | words);
    work.push_back(value);
  };
  for (const Block& block : function.blocks) {
    if (block.cond) use(block.cond, 1);
    for (const Value v : block.insts) {
      const Inst& inst = function.insts[v];
      if (inst.op == Op::set_var) {
        writers[inst.imm].push_back(function.arg(v, 0));
        continue;
      }
      for (unsigned i = 0; i < inst.count; ++i)
        if (!moved(inst, i, 0) && !(inst.op == Op::store && i == 1))
          use(function.arg(v, i), words_of(function.insts[function.arg(v, i)].type));
    }
  }
  while (!work.empty()) {
    const Value v = work.back();
    work.pop_back();
    const Inst& inst = function.insts[v];
    for (unsigned i = 0; i < inst.count; ++i)
      if (const auto words = moved(inst, i, used_[v])) use(function.arg(v, i), *words);
    if (inst.op != Op::get_var || (used_vars[inst.imm] | used_[v]) == used_vars[inst.imm]) continue;
    used_vars[inst.imm] = static_cast<std::uint8_t>(used_vars[inst.imm] | used_[v]);
    for (const Value written : writers[inst.imm]) use(written, used_vars[inst.imm]);
  }
}

std::uint32_t Copies::used_bytes(Value load) const {
  std::uint32_t bytes = 0;
  for (unsigned i = 0; i < 4; ++i)
    if (used_[load] >> i & 1) bytes |= 15u << (4 * i);
  return bytes;
}

bool Copies::all_used(const Function& function, Value value) const {
  return used_[value] == words_of(function.insts[value].type);
}

/// Where words of loads come by that are only stored.
void Copies::find_carriers(const Function& function) {
  std::vector<Value> work;
  for (const Block& block : function.blocks) {
    if (block.cond) users_[block.cond].push_back(block.cond);
    for (const Value v : block.insts) {
      const Inst& inst = function.insts[v];
      if (inst.op == Op::get_var) readers_[inst.imm].push_back(v);
      for (unsigned i = 0; i < inst.count; ++i) users_[function.arg(v, i)].push_back(v);
      if (inst.op == Op::load && !all_used(function, v)) work.push_back(v);
    }
  }
  while (!work.empty()) {
    const Value v = work.back();
    work.pop_back();
    const Inst& inst = function.insts[v];
    if (inst.op == Op::set_var) {
      if (var_carries_[inst.imm]) continue;
      var_carries_[inst.imm] = true;
      work.insert(work.end(), readers_[inst.imm].begin(), readers_[inst.imm].end());
      continue;
    }
    if (carries_[v] || all_used(function, v)) continue;
    carries_[v] = true;
    for (const Value user : users_[v])
      if (moves(function, user, v)) work.push_back(user);
  }
}

bool Copies::stays_local(const Function& function, Value load,
                         const std::function<bool(Value)>& local) const {
  // A value, and whether it has lost bits to a mask.
  std::set<std::pair<Value, bool>> seen;
  std::vector<std::pair<Value, bool>> work = {{load, false}};
  while (!work.empty()) {
    const auto [v, masked] = work.back();
    work.pop_back();
    if (!seen.emplace(v, masked).second) continue;
    for (const Value user : users_[v]) {
      const Inst& inst = function.insts[user];
      if (inst.op == Op::set_var) {
        for (const Value reader : readers_[inst.imm]) work.emplace_back(reader, masked);
      } else if (inst.op == Op::store && function.arg(user, 0) != v) {
        // The word that a bit field is in goes where it came from.
        const bool field = masked && inst.mem.origin == Origin::generic;
        if (!field && !local(user)) return false;
      } else if (inst.op == Op::and_ && has_constant(function, user)) {
        work.emplace_back(user, true);
      } else if ((masked && inst.op == Op::or_) || moves(function, user, v)) {
        work.emplace_back(user, masked);
      } else {
        return false;
      }
    }
  }
  return true;
}

Value Copies::missing(Value value) const {
  const auto found = missing_.find(value);
  return found == missing_.end() ? 0 : found->second;
}

void Copies::follow(Function& function, Builder& b, Builder& prologue, Value value) {
  const Inst inst = function.insts[value];
  const bool variable = inst.op == Op::get_var || inst.op == Op::set_var;
  if (value >= carries_.size() || (variable && inst.imm >= var_carries_.size())) return;
  if (!(variable ? var_carries_[inst.imm] : carries_[value])) return;
  if (variable && !bits_of_[inst.imm]) {
    function.vars.push_back({Type::i32, "missing"});
    bits_of_[inst.imm] = static_cast<std::uint32_t>(function.vars.size() - 1);
    prologue.set(bits_of_[inst.imm], prologue.i32(0));
  }
  const auto of = [&](unsigned i) {
    const Value known = missing(function.arg(value, i));
    return known ? known : b.i32(0);
  };
  const auto shifted = [&](Op op, Value bits, std::uint32_t by) {
    return by ? b.op2(op, bits, b.i32(by)) : bits;
  };
  const auto word = [&](Value bits, std::uint32_t which) {
    return b.op2(Op::and_, shifted(Op::lshr, bits, 4 * which), b.i32(15));
  };
  switch (inst.op) {
    case Op::get_var: missing_[value] = b.get(bits_of_[inst.imm]); break;
    case Op::set_var: b.set(bits_of_[inst.imm], of(0)); break;
    case Op::zext: missing_[value] = of(0); break;
    case Op::trunc: missing_[value] = word(of(0), 0); break;
    case Op::high: missing_[value] = word(of(0), 1); break;
    case Op::extract: missing_[value] = word(of(0), static_cast<std::uint32_t>(inst.imm)); break;
    case Op::select: missing_[value] = b.select(function.arg(value, 0), of(1), of(2)); break;
    case Op::pack:
    case Op::compose: {
      Value all = b.i32(0);
      for (unsigned i = 0; i < inst.count; ++i)
        all = b.op2(Op::or_, all, shifted(Op::shl, of(i), 4 * i));
      missing_[value] = all;
      break;
    }
    default: break;
  }
}

}  // namespace ptx2spv::passes
