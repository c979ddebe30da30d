#include <fmt/format.h>

#include <algorithm>

#include "translator/ir/validate.hpp"

namespace ptx2spv::ir {

namespace {

bool is_int(Type t) { return t == Type::i32 || t == Type::i64; }
Type value_type(unsigned bytes, Type wide) {
  if (bytes == 16) return Type::v4;
  if (bytes == 8) return wide == Type::v2 ? Type::v2 : Type::i64;
  return Type::i32;
}

std::string check_memory(const Function& f, Value v) {
  const Inst& inst = f.insts[v];
  const MemAttr& mem = inst.mem;
  if (mem.bytes != 1 && mem.bytes != 2 && mem.bytes != 4 && mem.bytes != 8 && mem.bytes != 16)
    return fmt::format("{} bytes", mem.bytes);
  const Type address = mem.space == Space::global ? Type::i64 : Type::i32;
  if (f.insts[f.arg(v, 0)].type != address) return "address has the wrong type";
  const Type shown = inst.op == Op::store ? f.insts[f.arg(v, 1)].type : inst.type;
  if (shown != value_type(mem.bytes, shown))
    return fmt::format("{} for {} bytes", name(shown), mem.bytes);
  if (is_atomic(inst.op))
    for (unsigned i = 1; i < inst.count; ++i)
      if (f.insts[f.arg(v, i)].type != inst.type) return "operand and result types differ";
  return {};
}

/// The types around an instruction: its result's and its operands'.
struct Operands {
  Type type(unsigned i) const { return f.insts[f.arg(value, i)].type; }
  std::string bad(unsigned i, Type wanted) const {
    return fmt::format("operand {} is {}, not {}", i, name(type(i)), name(wanted));
  }

  const Function& f;
  const Value value;
};

/// Whether result and operands are of the types that the operation's row has.
std::string check_row(std::string_view row, const Inst& inst, const Operands& operands) {
  Type same = Type::none;  // what n, a and t stand for
  const auto wanted = [&](char letter, Type given) {
    switch (letter) {
      case 'b': return Type::i1;
      case 'i': return Type::i32;
      case 'l': return Type::i64;
      case '2': return Type::v2;
      case '4': return Type::v4;
      case '?': return given;
      default: break;
    }
    const bool fits = letter == 't' || is_int(given) || (letter == 'a' && given == Type::i1);
    if (same == Type::none) same = fits ? given : Type::i32;
    return same;
  };
  if (row.ends_with('*')) row.remove_suffix(1);
  for (unsigned i = 0; i <= inst.count; ++i) {
    const Type given = i == 0 ? inst.type : operands.type(i - 1);
    const Type type = wanted(row[std::min<std::size_t>(i, row.size() - 1)], given);
    if (given == type) continue;
    if (i != 0) return operands.bad(i - 1, type);
    return fmt::format("result is {}, not {}", name(given), name(type));
  }
  return {};
}

}  // namespace

std::string validate_types(const Function& f, const Module& module, Value v) {
  const Inst& inst = f.insts[v];
  const std::string_view row = info(inst.op).types;
  if (!row.ends_with('*') && row.size() != inst.count + 1u)
    return fmt::format("{} operands where {} belong", inst.count, row.size() - 1);
  const auto type = [&](unsigned i) { return f.insts[f.arg(v, i)].type; };
  for (unsigned i = 0; i < inst.count; ++i)
    if (type(i) == Type::none) return fmt::format("operand {} gives no value", i);
  const Operands operands{f, v};
  const auto bad = [&](unsigned i, Type wanted) { return operands.bad(i, wanted); };
  if (std::string wrong = check_row(row, inst, operands); !wrong.empty()) return wrong;
  switch (inst.op) {
    case Op::constant:
      if (inst.type == Type::i1 && inst.imm > 1) return "i1 constant is neither 0 nor 1";
      if (inst.type == Type::i32 && inst.imm > 0xffffffffu)
        return "i32 constant has more than 32 bits";
      return inst.type == Type::i1 || is_int(inst.type) ? "" : "constant of a vector type";
    case Op::get_var:
      if (inst.imm >= f.vars.size()) return "variable does not exist";
      return inst.type == f.vars[inst.imm].type ? "" : "variable has another type";
    case Op::set_var:
      if (inst.imm >= f.vars.size()) return "variable does not exist";
      return type(0) == f.vars[inst.imm].type ? "" : bad(0, f.vars[inst.imm].type);
    case Op::zext:
      if (!is_int(inst.type)) return "result is not an integer";
      return type(0) == Type::i1 || (type(0) == Type::i32 && inst.type == Type::i64)
                 ? ""
                 : "no extension";
    case Op::compose:
      return (inst.type == Type::v2 && inst.count == 2) ||
                     (inst.type == Type::v4 && inst.count == 4)
                 ? ""
                 : "components and type differ";
    case Op::extract:
      if (inst.type != Type::i32 || (type(0) != Type::v2 && type(0) != Type::v4))
        return "not a component of a vector";
      return inst.imm < (type(0) == Type::v2 ? 2u : 4u) ? "" : "no such component";
    case Op::load:
    case Op::store:
    case Op::atomic:
    case Op::atomic_cas: return check_memory(f, v);
    case Op::library:
      return inst.imm < module.library_names.size() ? "" : "library function does not exist";
    case Op::note_fault:
      if (inst.count != 2 && inst.count != 3) return "operands are missing";
      if (type(0) != Type::i1) return bad(0, Type::i1);
      if (!is_int(type(1))) return "address is not i32 or i64";
      return inst.count == 2 || type(2) == Type::i64 ? "" : bad(2, Type::i64);
    case Op::texture_sample: {
      const TextureSample sample = TextureSample::of(inst.imm);
      const unsigned more = sample.mode == TextureMode::level      ? 1
                            : sample.mode == TextureMode::gradient ? 2 * sample.directions()
                                                                   : 0;
      return inst.count == sample.coordinates() + more + sample.indexed ? ""
                                                                        : "operands are missing";
    }
    case Op::texture_read:
      if (inst.imm >= module.routines.size()) return "routine does not exist";
      return inst.count == module.routines[inst.imm].param_vars.size() ? ""
                                                                       : "operands are missing";
    case Op::warp_product: {
      const WarpProduct form = WarpProduct::of(inst.imm);
      const Type number = form.x == WarpProduct::Element::f64 ? Type::i64 : Type::i32;
      if (inst.count != form.operands()) return "operands are missing";
      for (unsigned i = 0; i < inst.count; ++i)
        if (const Type wanted = i < form.metadata_at() ? number : Type::i32; type(i) != wanted)
          return bad(i, wanted);
      return inst.type == form.result() ? "" : "the result has another type";
    }
    case Op::call:
      if (inst.imm >= f.calls.size()) return "call record does not exist";
      return f.calls[inst.imm].callee < module.functions.size() ? "" : "callee does not exist";
    default: return {};
  }
}

}  // namespace ptx2spv::ir
