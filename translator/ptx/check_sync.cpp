// Barriers, asynchronous copies, mbarrier objects, and instructions over the threads of a warp.
#include "translator/ptx/checker.hpp"

namespace ptx2spv::ptx {

void Checker::check_barrier() {
  unsigned first = 0;
  const unsigned count = inst_->operand_count;
  const bool reduces = mods_->has(Mod::red);
  if (!reduces && mods_->has(Mod::warp)) {
    check_generic();
    return;
  }
  unsigned last = count;
  if (reduces) {
    if (!count_is(3, 4)) return;
    if (!(mods_->op == Mod::popc ? dest(op(0), Type::u32, false) : dest_pred(op(0), false))) return;
    if (!source_pred(op(count - 1))) return;
    first = 1;
    last = count - 1;
  }
  for (unsigned i = first; i < last; ++i) {
    const Operand& operand = op(i);
    if (!check_rule({.role = OperandRole::source, .type = Type::u32}, i)) return;
    if (operand.kind != OperandKind::imm_int) continue;
    if (i > first && mods_->has(Mod::arrive) && operand.value == 0) {
      fail(operand, "the number of threads at a barrier is over 0");
      return;
    }
    if (i == first && (operand.value & 0xffffffff) > 15) {
      fail(operand, "a barrier's number is 0 to 15");
      return;
    }
    if (i > first && operand.value % 32 != 0) {
      fail(operand, "the number of threads at a barrier is a multiple of the warp's size, 32");
      return;
    }
  }
}

void Checker::check_warp() {
  const Type type = mods_->type();
  switch (inst_->op) {
    case Opcode::shfl:
      if (!dest_with_pred(op(0), type, false)) return;
      break;
    case Opcode::match:
      if (!dest_with_pred(op(0), Type::u32, true)) return;
      break;
    case Opcode::elect:
    case Opcode::lop3: {
      const bool both = inst_->op == Opcode::elect || mods_->op != Mod::none;
      const bool pair = op(0).kind == OperandKind::pair;
      if (both && (!pair || f_.list(op(0))[1].kind == OperandKind::sink)) {
        fail(op(0), name() + " writes a register and a predicate here, not " + describe(op(0)));
        return;
      }
      if (!dest_with_pred(op(0), inst_->op == Opcode::elect ? Type::u32 : Type::b32, both)) return;
      break;
    }
    default: break;
  }
  check_generic();
}

/// cp.async.cop.shared.global [dst], [src], cp-size{, src-size | ignore-src}{, cache-policy}
void Checker::check_async_copy() {
  if (!mods_->has(Mod::global)) return check_generic();
  unsigned count = inst_->operand_count;
  const bool policy = mods_->has(Mod::L2_cache_hint);
  if (!count_is(policy ? 4 : 3, policy ? 5 : 4)) return;
  const std::string_view words = m_.text(inst_->opcode_span);
  if (words.find(".global") < words.find(".shared")) {
    sink_.error(inst_->opcode_span, name() + " names .shared, where it writes, before .global");
    return;
  }
  if (!memory(op(0), Space::shared) || !memory(op(1), Space::global)) return;
  const Operand& size = op(2);
  const bool whole = mods_->cache == Mod::cg;
  if (size.kind != OperandKind::imm_int ||
      (size.value != 16 && (whole || (size.value != 4 && size.value != 8)))) {
    fail(size, name() + (whole ? " with .cg copies 16 bytes" : " copies 4, 8 or 16 bytes"));
    return;
  }
  if (policy && !source_register(op(--count), Type::b64)) return;
  if (count == 3) return;
  const Operand& source_size = op(3);
  if (source_size.kind == OperandKind::reg && type_of(source_size).type == Type::pred) {
    needs(75, 80, "a predicate of 'cp.async'");
    return;
  }
  if (!source(source_size, Type::b32, false)) return;
  if (source_size.kind == OperandKind::imm_int && source_size.value > size.value)
    fail(source_size, fmt::format("the source has no more bytes than are copied, {}", size.value));
}

void Checker::check_mbarrier() {
  const bool arrives = mods_->has(Mod::arrive) || mods_->has(Mod::arrive_drop);
  if (arrives && op(0).kind == OperandKind::sink && !needs(71, 80, "'_' as a state")) return;
  if ((mods_->sem == Mod::none) != (mods_->scope == Mod::none)) {
    sink_.error(inst_->opcode_span, name() + " takes an order and a scope together or neither");
    return;
  }
  if (arrives && mods_->shared_cluster && op(0).kind != OperandKind::sink) {
    fail(op(0), name() + " with '.shared::cluster' gives no state: '_' stands here");
    return;
  }
  const bool counts =
      inst_->operand_count > 2 && !mods_->has(Mod::noComplete) && !mods_->has(Mod::expect_tx);
  if (arrives && counts && !needs(78, 90, "a count without '.noComplete'")) return;
  check_generic();
  if (!mods_->has(Mod::init) && !(arrives && !mods_->has(Mod::expect_tx))) return;
  const Operand& count = op(inst_->operand_count - 1);
  constexpr std::uint64_t kMost = (1 << 20) - 1;
  if (count.kind == OperandKind::imm_int && (count.value < 1 || count.value > kMost))
    fail(count, fmt::format("an mbarrier counts 1 to {} arrivals", kMost));
}

}  // namespace ptx2spv::ptx
