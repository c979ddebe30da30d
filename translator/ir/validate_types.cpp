#include <fmt/format.h>

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
  std::string all(Type wanted) const {
    for (unsigned i = 0; i < f.insts[value].count; ++i)
      if (type(i) != wanted) return bad(i, wanted);
    return {};
  }

  const Function& f;
  const Value value;
};

std::string check_float(const Inst& inst, const Operands& operands) {
  switch (inst.op) {
    case Op::feq:
    case Op::flt:
    case Op::fle:
    case Op::funord:
    case Op::native_feq:
    case Op::native_flt:
    case Op::native_fle:
      return inst.type == Type::i1 ? operands.all(operands.type(0)) : "comparison does not give i1";
    case Op::fadd:
    case Op::fmul:
    case Op::ffma:
    case Op::fdiv:
    case Op::frcp:
    case Op::fsqrt:
    case Op::frsqrt:
    case Op::fmin:
    case Op::fmax:
    case Op::native_fadd:
    case Op::native_fsub:
    case Op::native_fmul:
    case Op::native_fdiv:
    case Op::native_ffma:
    case Op::native_fsqrt:
      return is_int(inst.type) ? operands.all(inst.type) : "result is not i32 or i64";
    default: return {};
  }
}

/// Between types: widths, parts and vectors.
std::string check_conversion(const Inst& inst, const Operands& operands) {
  const auto type = [&](unsigned i) { return operands.type(i); };
  switch (inst.op) {
    case Op::zext:
      if (!is_int(inst.type)) return "result is not an integer";
      return type(0) == Type::i1 || (type(0) == Type::i32 && inst.type == Type::i64)
                 ? ""
                 : "no extension";
    case Op::sext: return type(0) == Type::i32 && inst.type == Type::i64 ? "" : "not i32 to i64";
    case Op::trunc:
    case Op::high: return type(0) == Type::i64 && inst.type == Type::i32 ? "" : "not i64 to i32";
    case Op::pack: return inst.type == Type::i64 ? operands.all(Type::i32) : "result is not i64";
    case Op::compose:
      if (!(inst.type == Type::v2 && inst.count == 2) &&
          !(inst.type == Type::v4 && inst.count == 4))
        return "components and type differ";
      return operands.all(Type::i32);
    case Op::extract:
      if (inst.type != Type::i32 || (type(0) != Type::v2 && type(0) != Type::v4))
        return "not a component of a vector";
      return inst.imm < (type(0) == Type::v2 ? 2u : 4u) ? "" : "no such component";
    default: return check_float(inst, operands);
  }
}

}  // namespace

std::string validate_types(const Function& f, const Module& module, Value v) {
  const Inst& inst = f.insts[v];
  const OpInfo& op = info(inst.op);
  if (op.operands != kVariadic && op.operands != inst.count)
    return fmt::format("{} operands where {} belong", inst.count, op.operands);
  const auto type = [&](unsigned i) { return f.insts[f.arg(v, i)].type; };
  for (unsigned i = 0; i < inst.count; ++i)
    if (type(i) == Type::none) return fmt::format("operand {} gives no value", i);
  const Operands operands{f, v};
  const auto bad = [&](unsigned i, Type wanted) { return operands.bad(i, wanted); };
  const auto all = [&](Type wanted) { return operands.all(wanted); };
  switch (inst.op) {
    case Op::constant:
      if (inst.type == Type::i1 && inst.imm > 1) return "i1 constant is neither 0 nor 1";
      if (inst.type == Type::i32 && inst.imm > 0xffffffffu)
        return "i32 constant has more than 32 bits";
      return inst.type == Type::i1 || is_int(inst.type) ? "" : "constant of a vector type";
    case Op::builtin: return inst.type == Type::i32 ? "" : "builtin is not i32";
    case Op::clock: return inst.type == Type::i64 ? all(Type::i64) : "clock is not i64";
    case Op::read_clock: return inst.type == Type::v2 ? "" : "clock's ticks are not v2";
    case Op::get_var:
      if (inst.imm >= f.vars.size()) return "variable does not exist";
      return inst.type == f.vars[inst.imm].type ? "" : "variable has another type";
    case Op::set_var:
      if (inst.imm >= f.vars.size()) return "variable does not exist";
      return type(0) == f.vars[inst.imm].type ? "" : bad(0, f.vars[inst.imm].type);
    case Op::phi: return all(inst.type);
    case Op::and_:
    case Op::or_:
    case Op::xor_:
    case Op::not_:
      if (inst.type != Type::i1 && !is_int(inst.type)) return "result is not an integer";
      return all(inst.type);
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::mulhi_u:
    case Op::mulhi_s:
    case Op::udiv:
    case Op::sdiv:
    case Op::urem:
    case Op::srem:
    case Op::neg:
    case Op::umin:
    case Op::umax:
    case Op::smin:
    case Op::smax: return is_int(inst.type) ? all(inst.type) : "result is not an integer";
    case Op::shl:
    case Op::lshr:
    case Op::ashr:
      if (!is_int(inst.type)) return "result is not an integer";
      if (type(0) != inst.type) return bad(0, inst.type);
      return type(1) == Type::i32 ? "" : bad(1, Type::i32);
    case Op::popcount:
      return inst.type == Type::i32 && is_int(type(0)) ? "" : "not i32 or i64 to i32";
    case Op::find_msb:
    case Op::bit_reverse:
    case Op::bfe_u:
    case Op::bfe_s:
    case Op::bfi: return inst.type == Type::i32 ? all(Type::i32) : "result is not i32";
    case Op::eq:
    case Op::ne:
      if (inst.type != Type::i1) return "comparison does not give i1";
      return (is_int(type(0)) || type(0) == Type::i1) ? all(type(0)) : "comparison of vectors";
    case Op::ult:
    case Op::ule:
    case Op::slt:
    case Op::sle:
      if (inst.type != Type::i1) return "comparison does not give i1";
      return is_int(type(0)) ? all(type(0)) : "comparison of no integers";
    case Op::select:
      if (type(0) != Type::i1) return bad(0, Type::i1);
      if (type(1) != inst.type) return bad(1, inst.type);
      return type(2) == inst.type ? "" : bad(2, inst.type);
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
    case Op::texel_load:
      if (type(0) != Type::i64) return bad(0, Type::i64);
      if (type(1) != Type::i32) return bad(1, Type::i32);
      if (type(2) != Type::i32) return bad(2, Type::i32);
      return inst.type == Type::v4 ? "" : "result is not v4";
    case Op::texture_sample: {
      const TextureSample sample = TextureSample::of(inst.imm);
      const unsigned more = sample.mode == TextureMode::level      ? 1
                            : sample.mode == TextureMode::gradient ? 2 * sample.directions()
                                                                   : 0;
      if (inst.count != sample.coordinates() + more + sample.indexed) return "operands are missing";
      return inst.type == Type::v4 ? all(Type::i32) : "result is not v4";
    }
    case Op::texture_read:
      if (inst.imm >= module.routines.size()) return "routine does not exist";
      if (inst.count != module.routines[inst.imm].param_vars.size()) return "operands are missing";
      return inst.type == Type::v4 ? all(Type::i32) : "result is not v4";
    case Op::call:
      if (inst.imm >= f.calls.size()) return "call record does not exist";
      return f.calls[inst.imm].callee < module.functions.size() ? "" : "callee does not exist";
    default: return check_conversion(inst, operands);
  }
}

}  // namespace ptx2spv::ir
