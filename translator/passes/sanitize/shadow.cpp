#include "translator/passes/sanitize/shadow.hpp"

#include <algorithm>
#include <bit>

#include "ptx2spv/abi_sanitizer.hpp"
#include "translator/passes/legalise/move_shared_memory.hpp"

namespace ptx2spv::passes {

using ir::Op;
using ir::Space;
using ir::Type;
using ir::Value;

namespace {

constexpr std::uint32_t kThread = 0x7ff, kFlag = 0x800, kEpochShift = 12;

Value push(ir::Builder& b, std::uint32_t word) {
  return b.load(Type::i32, b.i32(word * 4), {.space = Space::push, .bytes = 4, .readonly = true});
}

Value discard(ir::Builder& b) {
  return b.load(Type::i64, b.i32(abi::Push::discard * 4),
                {.space = Space::push, .bytes = 8, .readonly = true});
}

Value wide(ir::Builder& b, Value value) {
  return b.function().insts[value].type == Type::i64 ? value : b.inst(Op::zext, Type::i64, {value});
}

/// The word of a bitmap that has an access's bits, and the bits. Aligned accesses of up to 16 bytes
/// have theirs in one word.
struct Bits {
  Value place = 0, mask = 0;
};

Bits bits_of(ir::Builder& b, Value base, const ShadowAccess& access) {
  const bool far = b.function().insts[access.offset].type == Type::i64;
  const Value byte = b.op2(Op::lshr, access.offset, b.i32(3));
  const Value word = b.op2(Op::and_, byte, far ? b.i64(~std::uint64_t{3}) : b.i32(~3u));
  const Value at = b.op2(Op::add, base, wide(b, word));
  const Value low = far ? b.inst(Op::trunc, Type::i32, {access.offset}) : access.offset;
  const Value bit = b.op2(Op::and_, low, b.i32(31));
  return {b.select(access.ok, at, discard(b)),
          b.op2(Op::shl, b.i32((1u << access.bytes) - 1), bit)};
}

}  // namespace

Value bits_set(ir::Builder& b, Value base, const ShadowAccess& access) {
  const Bits bits = bits_of(b, base, access);
  const Value word = b.load(Type::i32, bits.place, {.space = Space::global, .bytes = 4});
  const Value all = b.cmp(Op::eq, b.op2(Op::and_, word, bits.mask), bits.mask);
  return b.op2(Op::or_, all, b.inst(Op::xor_, Type::i1, {access.ok, b.i1(true)}));
}

void set_bits(ir::Builder& b, Value base, const ShadowAccess& access) {
  const Bits bits = bits_of(b, base, access);
  const Value old = b.inst(Op::atomic, Type::i32, {bits.place, bits.mask});
  b.last(old).mem = {.space = Space::global, .bytes = 4, .atomic = ir::AtomicOp::or_};
}

SharedShadow::SharedShadow(ir::Function& function, const EntryInfo& entry, bool races,
                           ir::Builder& b)
    : entry_(entry) {
  for (const ir::Block& block : function.blocks)
    for (const Value v : block.insts) {
      const Op op = function.insts[v].op;
      warps_ = warps_ || (op >= Op::warp_shfl && op <= Op::warp_elect);
    }
  Value bytes = b.i32(static_cast<std::uint32_t>(entry.shadow_shared));
  if (entry.dynamic_shared) bytes = b.op2(Op::add, bytes, push(b, abi::Push::dynamic_shared));
  // abi::shadow_bytes.
  const Value words = b.op2(Op::lshr, b.op2(Op::add, bytes, b.i32(31)), b.i32(5));
  const Value bitmap = b.op2(Op::shl, words, b.i32(2));
  Value size = bitmap;
  const std::uint32_t granule = entry.shadow_granule;
  if (races) {
    const Value granules = b.op2(Op::lshr, b.op2(Op::add, bytes, b.i32(granule - 1)),
                                 b.i32(static_cast<std::uint32_t>(std::countr_zero(granule))));
    size = b.op2(Op::add, size, b.op2(Op::mul, granules, b.i32(abi::kRaceWords * 4)));
  }
  size = b.op2(Op::and_, b.op2(Op::add, size, b.i32(15)), b.i32(~15u));
  const Value first = b.load(Type::i64, b.i32(entry.sanitizer_words + abi::z_shadow * 4),
                             {.space = Space::param, .bytes = 8, .readonly = true});
  base_ = b.op2(Op::add, first, b.op2(Op::mul, wide(b, workgroup_number(b)), wide(b, size)));
  if (!races) return;
  races_ = b.op2(Op::add, base_, wide(b, bitmap));
  const Value rows =
      b.op2(Op::add, b.builtin(ir::Builtin::local_id_y),
            b.op2(Op::mul, b.builtin(ir::Builtin::local_id_z), push(b, abi::Push::block_y)));
  const Value thread = b.op2(Op::add, b.builtin(ir::Builtin::local_id_x),
                             b.op2(Op::mul, rows, push(b, abi::Push::block_x)));
  number_ = b.op2(Op::add, thread, b.i32(1));
  function.vars.push_back({Type::i32, "epoch", true});
  epoch_ = static_cast<std::uint32_t>(function.vars.size() - 1);
  b.set(epoch_, b.i32(1));
}

void SharedShadow::next_epoch(ir::Builder& b) {
  if (races_) b.set(epoch_, b.op2(Op::add, b.get(epoch_), b.i32(1)));
}

Value SharedShadow::load(ir::Builder& b, Value place, std::uint32_t word) {
  const Value at = b.op2(Op::add, place, b.i64(word * 4));
  return b.load(Type::i32, at, {.space = Space::global, .bytes = 4, .is_volatile = true});
}

Value SharedShadow::exchange(ir::Builder& b, Value place, std::uint32_t word, Value value) {
  const Value at = b.op2(Op::add, place, b.i64(word * 4));
  const Value old = b.inst(Op::atomic, Type::i32, {at, value});
  b.last(old).mem = {.space = Space::global, .bytes = 4, .atomic = ir::AtomicOp::exch};
  return old;
}

Value SharedShadow::me(ir::Builder& b) {
  return b.op2(Op::or_, b.op2(Op::shl, b.get(epoch_), b.i32(kEpochShift)), number_);
}

Value SharedShadow::rival(ir::Builder& b, Value who) {
  const Value epoch = b.op2(Op::lshr, who, b.i32(kEpochShift));
  const Value now = b.op2(Op::and_, b.get(epoch_), b.i32((1u << (32 - kEpochShift)) - 1));
  const Value thread = b.op2(Op::and_, who, b.i32(kThread));
  Value other = b.cmp(Op::ne, thread, number_);
  if (warps_) {
    const auto warp = [&](Value number) {
      return b.op2(Op::lshr, b.op2(Op::sub, number, b.i32(1)), b.i32(5));
    };
    other = b.op2(Op::and_, other, b.cmp(Op::ne, warp(thread), warp(number_)));
  }
  return b.op2(Op::and_, b.cmp(Op::eq, epoch, now), other);
}

void SharedShadow::conflict(ir::Builder& b, Piece& piece, Value bad, Value who, Value site) {
  const Value thread = b.op2(Op::shl, b.op2(Op::and_, who, b.i32(kThread)), b.i32(16));
  const Value other = b.op2(Op::or_, thread, b.op2(Op::and_, site, b.i32(0xffff)));
  piece.other = piece.other ? b.select(bad, other, piece.other) : other;
  piece.bad = piece.bad ? b.op2(Op::or_, piece.bad, bad) : bad;
}

SharedShadow::Race SharedShadow::race(ir::Builder& b, const ShadowAccess& access,
                                      std::uint32_t site) {
  const std::uint32_t granule = entry_.shadow_granule;
  const auto shift = static_cast<std::uint32_t>(std::countr_zero(granule));
  const Value first = b.op2(Op::lshr, access.offset, b.i32(shift));
  const Value here = b.i32(site), own = me(b);
  const auto flagged = [&](Value who) {
    return b.cmp(Op::ne, b.op2(Op::and_, who, b.i32(kFlag)), b.i32(0));
  };
  Piece piece;
  for (std::uint32_t i = 0; i < std::max(access.bytes / granule, 1u); ++i) {
    const Value number = b.op2(Op::add, first, b.i32(i));
    const Value at =
        b.op2(Op::add, races_, wide(b, b.op2(Op::mul, number, b.i32(abi::kRaceWords * 4))));
    piece.place = b.select(access.ok, at, discard(b));
    if (access.kind == AccessKind::load) {
      const Value writer = load(b, piece.place, abi::r_writer);
      const Value write_site = load(b, piece.place, abi::r_write_site);
      conflict(b, piece, rival(b, writer), writer, write_site);
      const Value before = exchange(b, piece.place, abi::r_reader, own);
      (void)exchange(b, piece.place, abi::r_read_site, here);
      // Of several readers the last one is kept, and that there were others.
      const Value same = b.cmp(Op::eq, b.op2(Op::lshr, before, b.i32(kEpochShift)),
                               b.op2(Op::lshr, own, b.i32(kEpochShift)));
      const Value several =
          b.op2(Op::and_, same, b.op2(Op::or_, rival(b, before), flagged(before)));
      const Value flag = b.inst(Op::atomic, Type::i32,
                                {b.op2(Op::add, piece.place, b.i64(abi::r_reader * 4)),
                                 b.select(several, b.i32(kFlag), b.i32(0))});
      b.last(flag).mem = {.space = Space::global, .bytes = 4, .atomic = ir::AtomicOp::or_};
      continue;
    }
    const bool atomic = access.kind == AccessKind::atomic;
    const Value mark = atomic ? b.op2(Op::or_, own, b.i32(kFlag)) : own;
    const Value writer = exchange(b, piece.place, abi::r_writer, mark);
    const Value write_site = exchange(b, piece.place, abi::r_write_site, here);
    Value bad = rival(b, writer);
    if (atomic)
      bad = b.op2(Op::and_, bad, b.inst(Op::xor_, Type::i1, {flagged(writer), b.i1(true)}));
    conflict(b, piece, bad, writer, write_site);
    const Value reader = load(b, piece.place, abi::r_reader);
    const Value read_site = load(b, piece.place, abi::r_read_site);
    const Value same = b.cmp(Op::eq, b.op2(Op::lshr, reader, b.i32(kEpochShift)),
                             b.op2(Op::lshr, own, b.i32(kEpochShift)));
    conflict(b, piece, b.op2(Op::or_, rival(b, reader), b.op2(Op::and_, same, flagged(reader))),
             reader, read_site);
  }
  const Value bad = b.op2(Op::and_, piece.bad, access.ok);
  return {b.inst(Op::xor_, Type::i1, {bad, b.i1(true)}), piece.other};
}

}  // namespace ptx2spv::passes
