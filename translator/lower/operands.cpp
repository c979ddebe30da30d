// Operands as values and destinations as variables.
#include "translator/lower/function.hpp"

namespace ptx2spv::lower {

using ptx::SymbolKind;

Value FunctionLowering::fit(Value value, Type type) {
  const Type have = out_.insts[value].type;
  if (have == type) return value;
  if (type == Type::i32 && have == Type::i64) return b_.inst(Op::trunc, Type::i32, {value});
  if (type == Type::i64 && have == Type::i32) return b_.inst(Op::zext, Type::i64, {value});
  if (have == Type::i1) return b_.inst(Op::zext, type, {value});
  return b_.cmp(Op::ne, value, have == Type::i64 ? b_.i64(0) : b_.i32(0));
}

std::uint32_t FunctionLowering::var_of(const Operand& operand) const {
  const ptx::Symbol& symbol = m_.symbol(operand.symbol);
  std::uint32_t var = reg_var_[symbol.index];
  const unsigned scale = symbol.type == ptx::Type::b128 ? 2 : 1;
  switch (operand.part) {
    case ptx::Part::y: var += scale; break;
    case ptx::Part::z: var += 2 * scale; break;
    case ptx::Part::w: var += 3 * scale; break;
    default: break;
  }
  return var;
}

Value FunctionLowering::read_reg(const Operand& operand) { return b_.get(var_of(operand)); }

Value FunctionLowering::read(const Operand& operand, ptx::Type type) {
  if (type == ptx::Type::pred) return read_pred(operand);
  const Type wanted = ir_type(type);
  switch (operand.kind) {
    case OperandKind::reg: {
      Value value = read_reg(operand);
      const ptx::Type declared = m_.symbol(operand.symbol).type;
      value = fit(value, wanted);
      if (ptx::bits(type) < 32 && ptx::bits(declared) > ptx::bits(type))
        value = b_.op2(Op::and_, value, b_.i32((1u << ptx::bits(type)) - 1));
      return value;
    }
    case OperandKind::sum: {
      const unsigned declared = ptx::bits(m_.symbol(operand.symbol).type);
      const auto offset = static_cast<std::uint64_t>(operand.offset);
      const Value reg = read_reg(operand);
      Value value =
          b_.op2(Op::add, reg,
                 declared == 64 ? b_.i64(offset) : b_.i32(static_cast<std::uint32_t>(offset)));
      if (declared < 32) value = b_.op2(Op::and_, value, b_.i32((1u << declared) - 1));
      value = fit(value, wanted);
      return ptx::bits(type) < 32 && declared > ptx::bits(type)
                 ? b_.op2(Op::and_, value, b_.i32((1u << ptx::bits(type)) - 1))
                 : value;
    }
    case OperandKind::imm_int:
    case OperandKind::imm_f32:
    case OperandKind::imm_f64: {
      const std::uint64_t bits = ptx::immediate_bits(operand, type);
      return wanted == Type::i64 ? b_.i64(bits) : b_.i32(static_cast<std::uint32_t>(bits));
    }
    case OperandKind::special: {
      const Value value = fit(special(operand), wanted);
      return ptx::bits(type) < 32 ? b_.op2(Op::and_, value, b_.i32((1u << ptx::bits(type)) - 1))
                                  : value;
    }
    case OperandKind::address:
    case OperandKind::function:
    case OperandKind::label: {
      const Value address = fit(symbol_address(operand), wanted);
      return ptx::bits(type) < 32 ? b_.op2(Op::and_, address, b_.i32((1u << ptx::bits(type)) - 1))
                                  : address;
    }
    default:
      error(operand.span, "an operand of this kind is not expected here");
      return wanted == Type::i64 ? b_.i64(0) : b_.i32(0);
  }
}

std::vector<Value> FunctionLowering::read_elements(const Operand& operand, ptx::Type type) {
  const std::vector<Operand> list = elements(operand);
  std::vector<Value> values;
  for (const Operand& element : list) {
    const bool literal =
        element.kind == OperandKind::imm_f32 || element.kind == OperandKind::imm_f64;
    Operand bits = element;
    if (literal && list.size() > 1 && type != ptx::Type::f32) bits.kind = OperandKind::imm_int;
    values.push_back(read(bits, type));
  }
  return values;
}

Value FunctionLowering::read_pred(const Operand& operand) {
  Value value;
  if (operand.kind == OperandKind::reg)
    value = fit(read_reg(operand), Type::i1);
  else if (operand.kind == OperandKind::imm_int)
    value = b_.i1(operand.value != 0);
  else if (operand.kind == OperandKind::special)
    value = b_.cmp(Op::ne, special(operand), b_.i32(0));
  else {
    error(operand.span, "a predicate is expected here");
    value = b_.i1(false);
  }
  return operand.negated ? b_.inst(Op::xor_, Type::i1, {value, b_.i1(true)}) : value;
}

void FunctionLowering::write(const Operand& operand, Value value, ptx::Type type) {
  if (operand.kind == OperandKind::sink || operand.kind == OperandKind::none) return;
  if (operand.kind == OperandKind::pair) return write(f_.list(operand)[0], value, type);
  if (operand.kind != OperandKind::reg) {
    error(operand.span, "a register is expected as the destination");
    return;
  }
  const std::uint32_t var = var_of(operand);
  const Type to = out_.vars[var].type;
  const unsigned from_bits = ptx::bits(type);
  const unsigned to_bits = ptx::bits(m_.symbol(operand.symbol).type);
  if (type != ptx::Type::pred && to != Type::i1) {
    if (ptx::is_signed(type) && to_bits > from_bits) {
      if (from_bits < 32) value = arith_.sext_bits(value, from_bits);
      if (to == Type::i64 && out_.insts[value].type == Type::i32)
        value = b_.inst(Op::sext, Type::i64, {value});
      if (to_bits == 16) value = arith_.lo16(value);
    }
    value = fit(value, to);
    if (to_bits < 32 && to_bits < from_bits)
      value = b_.op2(Op::and_, value, b_.i32((1u << to_bits) - 1));
  } else {
    value = fit(value, to);
  }
  if (guard_) value = b_.select(guard_, value, b_.get(var));
  b_.set(var, value);
}

void FunctionLowering::write_pred(const Operand& operand, Value value) {
  write(operand, value, ptx::Type::pred);
}

std::vector<Operand> FunctionLowering::elements(const Operand& operand) const {
  if (operand.kind == OperandKind::vector || operand.kind == OperandKind::list) {
    const auto list = f_.list(operand);
    return {list.begin(), list.end()};
  }
  unsigned parts = 1;
  if (operand.part == ptx::Part::none) {
    if (operand.kind == OperandKind::reg) parts = m_.symbol(operand.symbol).vec;
    if (operand.kind == OperandKind::special) {
      const ptx::SpecialInfo* info = ptx::find_special(m_.text(operand.span));
      if (info != nullptr && info->vector) parts = 4;
    }
  }
  std::vector<Operand> out(parts, operand);
  constexpr ptx::Part kParts[] = {ptx::Part::x, ptx::Part::y, ptx::Part::z, ptx::Part::w};
  for (unsigned i = 0; parts > 1 && i < parts; ++i) out[i].part = kParts[i % 4];
  return out;
}

/// A symbol used as a value: its address in its own state space, a function's number, a surface's
/// handle.
Value FunctionLowering::symbol_address(const Operand& operand) {
  const ptx::Symbol& symbol = m_.symbol(operand.symbol);
  const auto offset =
      static_cast<std::uint64_t>(operand.kind == OperandKind::address ? operand.offset : 0);
  if (symbol.kind == SymbolKind::function) {
    const FunctionRef ref = context_.program.resolve_function(ref_.module, operand.symbol);
    return b_.i64(context_.program.function_number(ref));
  }
  const SymbolRef ref{ref_.module, operand.symbol};
  if (ptx::is_opaque(symbol.type)) {
    // The address of a surface is its handle, which the host puts behind the parameters.
    const SymbolRef definition = context_.program.resolve(ref);
    std::uint32_t at = 0;
    if (symbol.space == ptx::Space::param) {
      at = context_.ref_offset[ref.key()];
    } else {
      at = context_.ref_offset[definition.key()];
    }
    const Value handle =
        b_.load(Type::i64, b_.i32(at), {.space = Space::param, .bytes = 8, .readonly = true});
    return memory_.add_offset(handle, static_cast<std::int64_t>(offset));
  }
  switch (symbol.space) {
    case ptx::Space::shared: {
      const SymbolRef definition = context_.program.resolve(ref);
      const auto it = context_.shared_offset.find(definition.key());
      const bool dynamic = it == context_.shared_offset.end();
      const std::uint32_t at = dynamic ? context_.dynamic_shared_offset : it->second;
      return named(b_.i64(at + offset), definition, MemorySpace::shared, at,
                   dynamic ? 0 : size_of(definition));
    }
    case ptx::Space::param:
      if (f_.is_entry && context_.ref_offset.contains(ref.key()))
        return named(b_.i64(context_.ref_offset[ref.key()] + offset), ref, MemorySpace::param,
                     context_.ref_offset[ref.key()], size_of(ref));
      [[fallthrough]];
    case ptx::Space::local:
      if (context_.in_frame.contains(ref.key()))
        return b_.inst(Op::zext, Type::i64,
                       {local_address(operand.symbol, static_cast<std::uint32_t>(offset))});
      return named(b_.i64(context_.local_offset[ref.key()] + offset), ref, MemorySpace::local,
                   context_.local_offset[ref.key()], size_of(ref));
    default: break;
  }
  std::uint64_t at = 0;
  if (!context_.program.offset_of(ref, at)) {
    error(operand.span, "'" + std::string(symbol.name) + "' is external and no module defines it");
    return b_.i64(0);
  }
  const SymbolRef definition = context_.program.resolve(ref);
  const bool constant = symbol.space == ptx::Space::const_;
  const Value address =
      named(b_.i64(at + offset), definition, constant ? MemorySpace::constant : MemorySpace::global,
            at, size_of(definition));
  return constant ? address : b_.op2(Op::add, memory_.push_address(abi::Push::globals), address);
}

Value FunctionLowering::named(Value address, SymbolRef variable, MemorySpace space,
                              std::uint64_t offset, std::uint64_t bytes) {
  std::vector<MemoryObject>& objects = context_.out.info.sanitizer.objects;
  const bool dynamic = space == MemorySpace::shared && bytes == 0;
  // One without a size has no bounds to hold an access against.
  if (objects.size() + 1 >= UINT16_MAX || (bytes == 0 && !dynamic)) return address;
  const auto [it, is_new] = context_.object_of.try_emplace(
      variable.key(), static_cast<std::uint16_t>(objects.size() + 1));
  if (is_new) {
    const ptx::Symbol& symbol = context_.program.module(variable.module).symbol(variable.symbol);
    objects.push_back({std::string(symbol.name), space, offset, bytes});
  }
  b_.last(address).object = it->second;
  return address;
}

std::uint64_t FunctionLowering::size_of(SymbolRef variable) const {
  return context_.program.module(variable.module).variable(variable.symbol).size;
}

Value FunctionLowering::local_address(ptx::SymbolId id, std::uint32_t offset) {
  const std::uint64_t key = SymbolRef{ref_.module, id}.key();
  const Value at = b_.i32(context_.local_offset[key] + offset);
  return context_.in_frame.contains(key) ? b_.op2(Op::add, b_.get(frame_), at) : at;
}

/// The registers that tell of clusters: a kernel says how many blocks one has, else it has one. The
/// instructions by which the blocks of a cluster work together are refused.
Value FunctionLowering::cluster(const Operand& operand) {
  using enum ptx::SpecialReg;
  const std::uint32_t(&required)[3] =
      context_.program.function(context_.functions[0]).reqnctapercluster;
  const auto size = [&](unsigned i) { return std::max(required[i], 1u); };
  const auto id = [&](unsigned i) {
    return b_.builtin(
        static_cast<ir::Builtin>(static_cast<unsigned>(ir::Builtin::workgroup_id_x) + i));
  };
  const auto within = [&](unsigned i) {
    return size(i) == 1 ? b_.i32(0) : b_.op2(Op::urem, id(i), b_.i32(size(i)));
  };
  const auto part = static_cast<unsigned>(operand.part == ptx::Part::y   ? 1
                                          : operand.part == ptx::Part::z ? 2
                                                                         : 0);
  if (operand.part == ptx::Part::w) return b_.i32(0);
  switch (operand.special) {
    case is_explicit_cluster: return b_.i32(required[0] ? 1 : 0);
    case cluster_nctaid: return b_.i32(size(part));
    case cluster_nctarank: return b_.i32(size(0) * size(1) * size(2));
    case cluster_ctaid: return within(part);
    case cluster_ctarank: {
      const Value plane = b_.op2(Op::add, within(1), b_.op2(Op::mul, within(2), b_.i32(size(1))));
      return b_.op2(Op::add, within(0), b_.op2(Op::mul, plane, b_.i32(size(0))));
    }
    case clusterid: return b_.op2(Op::udiv, id(part), b_.i32(size(part)));
    default: {  // nclusterid
      const Value blocks = b_.load(Type::i32, b_.i32((abi::Push::grid_x + part) * 4),
                                   {.space = Space::push, .bytes = 4, .readonly = true});
      return b_.op2(Op::udiv, blocks, b_.i32(size(part)));
    }
  }
}

Value FunctionLowering::special(const Operand& operand) {
  using enum ptx::SpecialReg;
  const auto push = [&](std::uint32_t word) {
    return b_.load(Type::i32, b_.i32(word * 4),
                   {.space = Space::push, .bytes = 4, .readonly = true});
  };
  const auto part = [&](Builtin first, std::uint32_t push_first, bool from_push) -> Value {
    unsigned which = 0;
    if (operand.part == ptx::Part::y) which = 1;
    if (operand.part == ptx::Part::z) which = 2;
    if (operand.part == ptx::Part::w) return b_.i32(0);
    if (from_push) return push(push_first + which);
    return b_.builtin(static_cast<Builtin>(static_cast<unsigned>(first) + which));
  };
  const auto lane = [&] { return b_.op2(Op::and_, ir::linear_thread(b_), b_.i32(31)); };
  const auto bit = [&] { return b_.op2(Op::shl, b_.i32(1), lane()); };
  const auto now = [&](ir::Clock clock) {
    // A device without clocks has one that goes on with every reading: kernels that wait for it to
    // advance end. A second is 10,000 readings, since a driver may end loops of 65,535 iterations.
    if (!clock_) clock_ = new_var(Type::i64, "clock");
    const Value count = b_.op2(Op::add, b_.get(clock_), b_.i64(100'000));
    b_.set(clock_, count);
    EntryInfo& info = context_.out.info;
    if (!info.waits.reads_clock) {
      info.waits.reads_clock = true;
      info.waits.clock_rates = info.param_buffer_bytes = (info.param_buffer_bytes + 7) & ~7u;
      info.param_buffer_bytes += abi::kClockWords * 4;
    }
    return b_.inst(Op::clock, Type::i64, {count}, static_cast<std::uint64_t>(clock));
  };
  switch (operand.special) {
    case tid: return part(Builtin::local_id_x, 0, false);
    case ntid: return part(Builtin::local_id_x, abi::Push::block_x, true);
    case ctaid: return part(Builtin::workgroup_id_x, 0, false);
    case nctaid: return part(Builtin::local_id_x, abi::Push::grid_x, true);
    case laneid: return lane();
    case warpid: return b_.op2(Op::lshr, ir::linear_thread(b_), b_.i32(5));
    case nwarpid: {
      const Value threads =
          b_.op2(Op::mul, push(abi::Push::block_x),
                 b_.op2(Op::mul, push(abi::Push::block_y), push(abi::Push::block_z)));
      return b_.op2(Op::lshr, b_.op2(Op::add, threads, b_.i32(31)), b_.i32(5));
    }
    case lanemask_eq: return bit();
    case lanemask_lt: return b_.op2(Op::sub, bit(), b_.i32(1));
    case lanemask_le: return b_.op2(Op::sub, b_.op2(Op::shl, bit(), b_.i32(1)), b_.i32(1));
    case lanemask_gt:
      return b_.inst(Op::not_, Type::i32,
                     {b_.op2(Op::sub, b_.op2(Op::shl, bit(), b_.i32(1)), b_.i32(1))});
    case lanemask_ge: return b_.inst(Op::not_, Type::i32, {b_.op2(Op::sub, bit(), b_.i32(1))});
    case clock:
    case clock64: return now(ir::Clock::cycles);
    case clock_hi: return b_.inst(Op::high, Type::i32, {now(ir::Clock::cycles)});
    case globaltimer:
    case globaltimer_lo: return now(ir::Clock::time);
    case globaltimer_hi: return b_.inst(Op::high, Type::i32, {now(ir::Clock::time)});
    case dynamic_smem_size: return push(abi::Push::dynamic_shared);
    case total_smem_size:
      return b_.op2(
          Op::add, push(abi::Push::dynamic_shared),
          b_.i32(context_.shared_bytes - (context_.uses_reserved_shared ? kReservedShared : 0)));
    case aggr_smem_size:
      return b_.op2(Op::add, push(abi::Push::dynamic_shared), b_.i32(context_.shared_bytes));
    case reserved_smem_offset_begin:
    case reserved_smem_offset_0:
    case reserved_smem_offset_1: return b_.i32(context_.reserved_shared);
    case reserved_smem_offset_end: return b_.i32(context_.reserved_shared + kReservedEnd);
    case reserved_smem_offset_cap: return b_.i32(kReservedShared);
    case warp_size: return b_.i32(32);
    case nsmid: return b_.i32(1);
    case is_explicit_cluster:
    case nclusterid:
    case clusterid:
    case cluster_ctaid:
    case cluster_ctarank:
    case cluster_nctaid:
    case cluster_nctarank: return cluster(operand);
    case envreg: {
      // CUDA's headers take the address of the grid's workspace out of these two.
      if (operand.index != 1 && operand.index != 2) return b_.i32(0);
      EntryInfo& info = context_.out.info;
      if (!info.sync.uses_grid_workspace) {
        info.sync.uses_grid_workspace = true;
        info.sync.grid_workspace = info.param_buffer_bytes;
        info.param_buffer_bytes += 8;
      }
      const std::uint32_t at = info.sync.grid_workspace + (operand.index == 1 ? 4 : 0);
      return b_.load(Type::i32, b_.i32(at), {.space = Space::param, .bytes = 4, .readonly = true});
    }
    default: return b_.i32(0);  // smid, gridid, %pm: one of each, number 0
  }
}

}  // namespace ptx2spv::lower
