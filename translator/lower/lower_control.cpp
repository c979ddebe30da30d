// 9.7.12 control flow, 9.7.13 barriers, fences and warp operations.
#include "translator/lower/function.hpp"

namespace ptx2spv::lower {

void FunctionLowering::lower_branch(const Instruction& inst) {
  const auto a = args(inst);
  switch (inst.op) {
    case Opcode::bra: b_.br(label_block_[a[0].symbol]); break;
    case Opcode::brx: {
      const ptx::Symbol& named = m_.symbol(a[1].symbol);
      if (named.kind != ptx::SymbolKind::branch_targets ||
          f_.target_lists[named.index].targets.empty())
        return error(a[1].span, "the list of branch targets is missing");
      branch_by_index(read(a[0], ptx::Type::u32), named.index);
      break;
    }
    case Opcode::ret: leave(); break;
    default: b_.exit(); break;
  }
  ended_ = true;
}

// Where a function's lists have many labels for all their branches together, the branches of a
// list share one switch: the edges of the graph then grow with the text and not by its square.
void FunctionLowering::branch_by_index(Value index, std::uint32_t list) {
  constexpr std::size_t kOwnSwitches = 4096;
  const auto end_by_switch = [&](Value by) {
    ir::Block& block = out_.blocks[b_.block()];
    const std::vector<ptx::SymbolId>& targets = f_.target_lists[list].targets;
    block.term = targets.size() == 1 ? ir::Term::br : ir::Term::switch_;
    block.cond = targets.size() == 1 ? 0 : by;
    block.succs.clear();
    for (const ptx::SymbolId target : targets) block.succs.push_back(label_block_[target]);
  };
  if (!switch_edges_) {
    std::size_t edges = 0;
    for (const Instruction& inst : f_.instructions)
      if (inst.op == Opcode::brx)
        edges += f_.target_lists[m_.symbol(args(inst)[1].symbol).index].targets.size();
    switch_edges_ = edges;
  }
  if (*switch_edges_ <= kOwnSwitches) return end_by_switch(index);
  const auto [at, fresh] = switches_.try_emplace(list);
  if (fresh) at->second = {new_var(Type::i32, "target"), b_.new_block()};
  b_.set(at->second.index, index);
  b_.br(at->second.block);
  if (!fresh) return;
  b_.at(at->second.block);
  end_by_switch(b_.get(at->second.index));
}

void FunctionLowering::lower_nanosleep(const Instruction& inst) {
  b_.inst(Op::nanosleep, Type::none, {read(args(inst)[0], ptx::Type::u32)});
}

void FunctionLowering::lower_barrier(const Instruction& inst) {
  const auto a = args(inst);
  const ptx::Modifiers& mods = *inst.mods;
  if (inst.op == Opcode::membar || inst.op == Opcode::fence) {
    const bool cta = mods.has(Mod::cta) && !mods.has(Mod::gl) && !mods.has(Mod::sys);
    b_.inst(Op::memory_barrier, Type::none, {}, cta ? 0 : 1);
    return;
  }
  if (mods.has(Mod::warp)) {
    const Value sync = b_.inst(Op::warp_sync, Type::none, {read(a[0], ptx::Type::b32)});
    b_.last(sync).object = 1;
    context_.out.info.sync.warp_operations = true;
    return;
  }
  if (mods.has(Mod::cluster))
    return refuse(inst, "cluster instructions have no counterpart in Vulkan");
  context_.out.info.sync.barriers = true;
  const bool aligned = inst.op == Opcode::bar || mods.has(Mod::aligned);
  if (mods.has(Mod::red)) {
    // bar.red.op.type d, a{, b}, {!}c
    ir::BarKind kind = ir::BarKind::red_popc;
    if (mods.op == Mod::and_) kind = ir::BarKind::red_and;
    if (mods.op == Mod::or_) kind = ir::BarKind::red_or;
    const bool counted = a.size() == 4;
    const Value id = read(a[1], ptx::Type::u32);
    const Value count = counted ? read(a[2], ptx::Type::u32) : b_.i32(0);
    const Value value = b_.inst(Op::zext, Type::i32, {read_pred(a[counted ? 3 : 2])});
    const Value r =
        b_.inst(Op::bar_sync, Type::i32, {id, count, value}, static_cast<std::uint64_t>(kind));
    b_.last(r).object = aligned;
    context_.out.info.sync.warp_operations = true;
    if (kind == ir::BarKind::red_popc) return write(a[0], r, ptx::Type::u32);
    return write_pred(a[0], b_.cmp(Op::ne, r, b_.i32(0)));
  }
  const ir::BarKind kind = mods.has(Mod::arrive) ? ir::BarKind::arrive : ir::BarKind::sync;
  const Value id = a.empty() ? b_.i32(0) : read(a[0], ptx::Type::u32);
  std::vector<Value> operands{id};
  if (a.size() > 1) operands.push_back(read(a[1], ptx::Type::u32));
  const Value barrier =
      b_.inst(Op::bar_sync, Type::none, operands, static_cast<std::uint64_t>(kind));
  b_.last(barrier).object = aligned;
}

void FunctionLowering::lower_warp(const Instruction& inst) {
  const auto a = args(inst);
  const ptx::Modifiers& mods = *inst.mods;
  context_.out.info.sync.warp_operations = true;
  const auto word = [&](unsigned i) { return read(a[i], ptx::Type::b32); };
  const Value everyone = b_.i32(0xffffffffu);
  const auto part = [&](Value v, unsigned i) { return b_.inst(Op::extract, Type::i32, {v}, i); };
  const auto flag = [&](Value v) { return b_.cmp(Op::ne, part(v, 1), b_.i32(0)); };
  const auto write_both = [&](Value v) {
    const auto pair = f_.list(a[0]);
    write(pair[0], part(v, 0), ptx::Type::b32);
    write_pred(pair[1], flag(v));
  };
  const bool both = a[0].kind == OperandKind::pair;
  switch (inst.op) {
    case Opcode::shfl: {
      // shfl{.sync}.mode.b32 d|p, a, b, c{, membermask}
      ir::ShflMode mode = ir::ShflMode::idx;
      if (mods.has(Mod::up)) mode = ir::ShflMode::up;
      if (mods.has(Mod::down)) mode = ir::ShflMode::down;
      if (mods.has(Mod::bfly)) mode = ir::ShflMode::bfly;
      const Value mask = a.size() > 4 ? word(4) : everyone;
      const Value r = b_.inst(Op::warp_shfl, Type::v2, {word(1), word(2), word(3), mask},
                              static_cast<std::uint64_t>(mode));
      b_.last(r).object = a.size() > 4;
      return both ? write_both(r) : write(a[0], part(r, 0), ptx::Type::b32);
    }
    case Opcode::vote: {
      ir::VoteMode mode = ir::VoteMode::all;
      if (mods.has(Mod::any)) mode = ir::VoteMode::any;
      if (mods.has(Mod::uni)) mode = ir::VoteMode::uni;
      if (mods.has(Mod::ballot)) mode = ir::VoteMode::ballot;
      const Value mask = a.size() > 2 ? word(2) : everyone;
      const Value r = b_.inst(Op::warp_vote, Type::i32, {read_pred(a[1]), mask},
                              static_cast<std::uint64_t>(mode));
      b_.last(r).object = a.size() > 2;
      if (mode == ir::VoteMode::ballot) return write(a[0], r, ptx::Type::b32);
      return write_pred(a[0], b_.cmp(Op::ne, r, b_.i32(0)));
    }
    case Opcode::match: {
      const ptx::Type type = mods.type();
      const ir::MatchMode mode = mods.has(Mod::all) ? ir::MatchMode::all : ir::MatchMode::any;
      const Value value = read(a[1], type);
      const Value r =
          b_.inst(Op::warp_match, Type::v2, {value, word(2)}, static_cast<std::uint64_t>(mode));
      b_.last(r).object = 1;
      return both ? write_both(r) : write(a[0], part(r, 0), ptx::Type::b32);
    }
    case Opcode::activemask:
      return write(a[0], b_.inst(Op::warp_active, Type::i32, {}), ptx::Type::b32);
    case Opcode::redux: {
      const ptx::Type type = mods.type();
      if (ptx::is_float(type)) return lower_redux_float(inst);
      ir::AtomicOp op = ir::AtomicOp::add;
      const bool s = ptx::is_signed(type);
      if (mods.op == Mod::min) op = s ? ir::AtomicOp::smin : ir::AtomicOp::umin;
      if (mods.op == Mod::max) op = s ? ir::AtomicOp::smax : ir::AtomicOp::umax;
      if (mods.op == Mod::and_) op = ir::AtomicOp::and_;
      if (mods.op == Mod::or_) op = ir::AtomicOp::or_;
      if (mods.op == Mod::xor_) op = ir::AtomicOp::xor_;
      const Value r =
          b_.inst(Op::warp_redux, Type::i32, {word(1), word(2)}, static_cast<std::uint64_t>(op));
      b_.last(r).object = 1;
      return write(a[0], r, ptx::Type::b32);
    }
    default: {
      const Value r = b_.inst(Op::warp_elect, Type::v2, {word(1)});
      b_.last(r).object = 1;
      return both ? write_both(r) : write_pred(a[0], flag(r));
    }
  }
}

/// redux of .f32 by integers whose order is that of the numbers: negative ones with all bits
/// turned, the others above them. A NaN takes the end of that order at which it is passed over, or
/// with .NaN the end at which it wins; all NaN, too, give the one NaN of PTX.
void FunctionLowering::lower_redux_float(const Instruction& inst) {
  const auto a = args(inst);
  const ptx::Modifiers& mods = *inst.mods;
  const bool min = mods.op == Mod::min;
  Value x = read(a[1], ptx::Type::f32);
  const Value is_nan = arith_.testp(NumKind::f32, Testp::notanumber, x);
  if (mods.has(Mod::abs)) x = arith_.fabs(NumKind::f32, x);
  const Value sign = b_.i32(0x80000000u);
  const auto turned = [&](Value v, Value negative) {
    return b_.select(negative, b_.inst(Op::not_, Type::i32, {v}), b_.op2(Op::xor_, v, sign));
  };
  const bool last = min != mods.has(Mod::NaN);
  const Value key =
      b_.select(is_nan, b_.i32(last ? ~0u : 0), turned(x, b_.cmp(Op::slt, x, b_.i32(0))));
  const auto op = static_cast<std::uint64_t>(min ? ir::AtomicOp::umin : ir::AtomicOp::umax);
  const Value r = b_.inst(Op::warp_redux, Type::i32, {key, read(a[2], ptx::Type::b32)}, op);
  b_.last(r).object = 1;
  const Value value = turned(r, b_.cmp(Op::ult, r, sign));
  const Value nan = arith_.testp(NumKind::f32, Testp::notanumber, value);
  write(a[0], b_.select(nan, b_.i32(0x7fffffff), value), ptx::Type::b32);
}

Value FunctionLowering::stack_pointer() { return b_.get(stack_pointer_); }
void FunctionLowering::set_stack_pointer(Value at) { b_.set(stack_pointer_, at); }
void FunctionLowering::leave() {
  if (f_.is_entry) return b_.exit();
  if (context_.stack) set_stack_pointer(b_.get(stack_saved_));
  b_.ret();
}

/// The local variables of a function that may call itself lie on the stack.
void FunctionLowering::enter_frame() {
  locate(f_.instructions.front());
  const Value at = b_.op2(Op::and_, b_.op2(Op::add, stack_pointer(), b_.i32(15)), b_.i32(~15u));
  const Value top = b_.op2(Op::add, at, b_.i32((context_.frame_bytes[number_] + 15) & ~15u));
  const Value end = b_.i32(context_.stack_at + context_.stack_bytes);
  const ir::BlockId full = b_.new_block(), fits = b_.new_block();
  b_.cond_br(b_.cmp(Op::ult, end, top), full, fits);
  b_.at(full);
  lower_trap(abi::TrapKind::trap_instruction,
             fmt::format("recursion of '{}' is too deep: a thread's stack holds {} bytes, which "
                         "cudaLimitStackSize does not change",
                         f_.name, context_.stack_bytes),
             {});
  b_.at(fits);
  ended_ = false;
  b_.set(frame_ = new_var(Type::i32, "frame"), at);
  set_stack_pointer(top);
}

/// 9.7.17: memory of the thread that lasts until its function returns or stackrestore takes it
/// back. A thread that asks for more than there is ends in a trap.
void FunctionLowering::lower_stack(const Instruction& inst) {
  const auto a = args(inst);
  const ptx::Type type = inst.mods->type();
  const auto word = [&](Value v) {
    return type == ptx::Type::u64 ? b_.inst(Op::trunc, Type::i32, {v}) : v;
  };
  const auto address = [&](Value v) {
    return type == ptx::Type::u64 ? b_.inst(Op::zext, Type::i64, {v}) : v;
  };
  if (inst.op == Opcode::stacksave) return write(a[0], address(stack_pointer()), type);
  if (inst.op == Opcode::stackrestore) return set_stack_pointer(word(read(a[0], type)));
  const auto align = static_cast<std::uint32_t>(a.size() > 2 ? a[2].value : 8);
  const Value size = read(a[1], type);
  const Value up = b_.op2(Op::add, stack_pointer(), b_.i32(align - 1));
  const Value at = b_.op2(Op::and_, up, b_.i32(~(align - 1)));
  const Value most =
      type == ptx::Type::u64 ? b_.i64(context_.stack_bytes) : b_.i32(context_.stack_bytes);
  const Value top = b_.op2(Op::add, at, word(size));
  const Value end = b_.i32(context_.stack_at + context_.stack_bytes);
  const Value over = b_.op2(Op::or_, b_.cmp(Op::ult, most, size), b_.cmp(Op::ult, end, top));
  const ir::BlockId full = b_.new_block(), fits = b_.new_block();
  b_.cond_br(over, full, fits);
  b_.at(full);
  lower_trap(abi::TrapKind::trap_instruction,
             fmt::format("alloca: a thread's stack holds {} bytes", context_.stack_bytes), {});
  b_.at(fits);
  ended_ = false;
  set_stack_pointer(top);
  write(a[0], address(at), type);
}

}  // namespace ptx2spv::lower
