#include "translator/passes/sanitize/shadow.hpp"

#include <algorithm>
#include <bit>

#include "ptx2spv/abi_sanitizer.hpp"
#include "translator/passes/legalise/move_shared_memory.hpp"
#include "translator/passes/sanitize/sanitize.hpp"

namespace ptx2spv::passes {

namespace {

constexpr std::uint32_t kThread = 0x7ff, kFlag = 0x800, kEpochShift = 12;

Value discard(Builder& b) { return push_word(b, abi::Push::discard, Type::i64); }

/// The word of a bitmap that has an access's bits, and the bits. Aligned accesses of up to 16 bytes
/// have theirs in one word.
struct BitPlace {
  Value place = 0, mask = 0;
  Value first = 0;  ///< number of the lowest
  Space space = Space::global;
};

BitPlace bits_of(Builder& b, Value base, const ShadowAccess& access) {
  const bool far = b.function().insts[access.offset].type == Type::i64;
  const Value byte = b.op2(Op::lshr, access.offset, b.i32(3));
  const Value word = b.op2(Op::and_, byte, far ? b.i64(~std::uint64_t{3}) : b.i32(~3u));
  const bool local = b.function().insts[base].type == Type::i32;
  const Value at = b.op2(Op::add, base, local ? word : wide(b, word));
  const Value low = far ? b.inst(Op::trunc, Type::i32, {access.offset}) : access.offset;
  const Value bit = b.op2(Op::and_, low, b.i32(31));
  const Value ones = access.size ? b.op2(Op::sub, b.op2(Op::shl, b.i32(1), access.size), b.i32(1))
                                 : b.i32((1u << access.bytes) - 1);
  const Value nowhere = local ? b.i32(access.spare) : discard(b);
  return {b.select(access.ok, at, nowhere), b.op2(Op::shl, ones, bit), bit,
          local ? Space::local : Space::global};
}

}  // namespace

Value bits_set(Builder& b, Value base, const ShadowAccess& access) {
  const BitPlace bits = bits_of(b, base, access);
  const Value word = b.load(Type::i32, bits.place, {.space = bits.space, .bytes = 4});
  const Value all = b.cmp(Op::eq, b.op2(Op::and_, word, bits.mask), bits.mask);
  return b.op2(Op::or_, all, b.inst(Op::xor_, Type::i1, {access.ok, b.i1(true)}));
}

Value any_bit_set(Builder& b, Value base, const ShadowAccess& access) {
  const BitPlace bits = bits_of(b, base, access);
  const Value word = b.load(Type::i32, bits.place, {.space = bits.space, .bytes = 4});
  const Value any = b.cmp(Op::ne, b.op2(Op::and_, word, bits.mask), b.i32(0));
  return b.op2(Op::or_, any, b.inst(Op::xor_, Type::i1, {access.ok, b.i1(true)}));
}

Value missing_bits(Builder& b, Value base, const ShadowAccess& access) {
  const BitPlace bits = bits_of(b, base, access);
  const Value word = b.load(Type::i32, bits.place, {.space = bits.space, .bytes = 4});
  const Value unset = b.op2(Op::and_, b.inst(Op::not_, Type::i32, {word}), bits.mask);
  return b.select(access.ok, b.op2(Op::lshr, unset, bits.first), b.i32(0));
}

void clear_bits(Builder& b, Value base, const ShadowAccess& access, Value missing) {
  const BitPlace bits = bits_of(b, base, access);
  const Value gone = b.op2(Op::and_, b.op2(Op::shl, missing, bits.first), bits.mask);
  const Value kept = b.inst(Op::not_, Type::i32, {gone});
  if (bits.space == Space::local) {
    const Value before = b.load(Type::i32, bits.place, {.space = Space::local, .bytes = 4});
    return b.store(bits.place, b.op2(Op::and_, before, kept), {.space = Space::local, .bytes = 4});
  }
  const Value old = b.inst(Op::atomic, Type::i32, {bits.place, kept});
  b.last(old).mem = {.space = Space::global, .bytes = 4, .atomic = AtomicOp::and_};
}

void set_bits(Builder& b, Value base, const ShadowAccess& access) {
  const BitPlace bits = bits_of(b, base, access);
  if (bits.space == Space::local) {
    const Value before = b.load(Type::i32, bits.place, {.space = Space::local, .bytes = 4});
    return b.store(bits.place, b.op2(Op::or_, before, bits.mask),
                   {.space = Space::local, .bytes = 4});
  }
  const Value old = b.inst(Op::atomic, Type::i32, {bits.place, bits.mask});
  b.last(old).mem = {.space = Space::global, .bytes = 4, .atomic = AtomicOp::or_};
}

SharedShadow::SharedShadow(Function& function, const EntryInfo& entry, bool races, bool acquires,
                           Builder& b, bool atomics64)
    : RaceRecords(atomics64),
      entry_(entry),
      warps_(has_warp_operations(function)),
      acquires_(acquires) {
  Value bytes = b.i32(static_cast<std::uint32_t>(entry.sanitizer.shadow_shared));
  if (entry.dynamic_shared) bytes = b.op2(Op::add, bytes, push_word(b, abi::Push::dynamic_shared));
  // abi::shadow_bytes.
  const Value words = b.op2(Op::lshr, b.op2(Op::add, bytes, b.i32(31)), b.i32(5));
  Value bitmap = b.op2(Op::shl, words, b.i32(2));
  Value size = bitmap;
  const std::uint32_t granule = entry.sanitizer.shadow_granule;
  if (races) {
    // Records are read as a whole.
    bitmap = b.op2(Op::and_, b.op2(Op::add, bitmap, b.i32(15)), b.i32(~15u));
    size = bitmap;
    const Value granules = b.op2(Op::lshr, b.op2(Op::add, bytes, b.i32(granule - 1)),
                                 b.i32(static_cast<std::uint32_t>(std::countr_zero(granule))));
    size = b.op2(Op::add, size, b.op2(Op::mul, granules, b.i32(abi::kRaceWords * 4)));
  }
  size = b.op2(Op::and_, b.op2(Op::add, size, b.i32(15)), b.i32(~15u));
  const Value first = b.load(Type::i64, b.i32(entry.sanitizer.words + abi::z_shadow * 4),
                             {.space = Space::param, .bytes = 8, .readonly = true});
  base_ = b.op2(Op::add, first, b.op2(Op::mul, wide(b, workgroup_number(b)), wide(b, size)));
  if (!races) return;
  races_ = b.op2(Op::add, base_, wide(b, bitmap));
  const Value rows =
      b.op2(Op::add, b.builtin(Builtin::local_id_y),
            b.op2(Op::mul, b.builtin(Builtin::local_id_z), push_word(b, abi::Push::block_y)));
  const Value thread = b.op2(Op::add, b.builtin(Builtin::local_id_x),
                             b.op2(Op::mul, rows, push_word(b, abi::Push::block_x)));
  number_ = b.op2(Op::add, thread, b.i32(1));
  function.vars.push_back({Type::i32, "epoch", true});
  epoch_ = static_cast<std::uint32_t>(function.vars.size() - 1);
  b.set(epoch_, b.i32(1));
  if (!acquires_) return;
  function.vars.push_back({Type::i32, "ordered", true});
  ordered_ = static_cast<std::uint32_t>(function.vars.size() - 1);
  b.set(ordered_, b.i32(0));
}

void SharedShadow::next_epoch(Builder& b) {
  if (!races_) return;
  b.set(epoch_, b.op2(Op::add, b.get(epoch_), b.i32(1)));
  if (acquires_) b.set(ordered_, b.i32(0));
}

void SharedShadow::acquire(Builder& b) {
  if (races_) b.set(ordered_, b.i32(1));
}

Value SharedShadow::unordered(Builder& b) {
  return acquires_ ? b.cmp(Op::eq, b.get(ordered_), b.i32(0)) : b.i1(true);
}

Value SharedShadow::me(Builder& b) {
  return b.op2(Op::or_, b.op2(Op::shl, b.get(epoch_), b.i32(kEpochShift)), number_);
}

RaceRecords::Entry SharedShadow::own(Builder& b, bool flagged) {
  const Value who = me(b);
  return {flagged ? b.op2(Op::or_, who, b.i32(kFlag)) : who, b.i32(site_)};
}

Value SharedShadow::recent(Builder& b, const Entry& entry) {
  const Value epoch = b.op2(Op::lshr, entry.who, b.i32(kEpochShift));
  return b.cmp(Op::eq, epoch,
               b.op2(Op::and_, b.get(epoch_), b.i32((1u << (32 - kEpochShift)) - 1)));
}

/// Accesses are of whole granules.
Value SharedShadow::same_bytes(Builder& b, const Entry&) { return b.i1(true); }

Value SharedShadow::rival(Builder& b, const Entry& entry) {
  const Value thread = b.op2(Op::and_, entry.who, b.i32(kThread));
  Value other = b.cmp(Op::ne, thread, number_);
  if (warps_) {
    const auto warp = [&](Value number) {
      return b.op2(Op::lshr, b.op2(Op::sub, number, b.i32(1)), b.i32(5));
    };
    other = b.op2(Op::and_, other, b.cmp(Op::ne, warp(thread), warp(number_)));
  }
  return b.op2(Op::and_, b.op2(Op::and_, recent(b, entry), other), unordered(b));
}

Value SharedShadow::flagged(Builder& b, const Entry& entry) {
  return b.cmp(Op::ne, b.op2(Op::and_, entry.who, b.i32(kFlag)), b.i32(0));
}

RaceRecords::Entry SharedShadow::with_flag(Builder& b, const Entry& entry, Value flag) {
  return {b.op2(Op::or_, entry.who, b.select(flag, b.i32(kFlag), b.i32(0))), entry.mark};
}

RaceRecords::Race SharedShadow::race(Builder& b, const ShadowAccess& access, std::uint32_t site) {
  site_ = site;
  const std::uint32_t granule = entry_.sanitizer.shadow_granule;
  const auto shift = static_cast<std::uint32_t>(std::countr_zero(granule));
  const Value first = b.op2(Op::lshr, access.offset, b.i32(shift));
  Race race;
  for (std::uint32_t i = 0; i < std::max(access.bytes / granule, 1u); ++i) {
    const Value number = b.op2(Op::add, first, b.i32(i));
    const Value at =
        b.op2(Op::add, races_, wide(b, b.op2(Op::mul, number, b.i32(abi::kRaceWords * 4))));
    visit(b, b.select(access.ok, at, discard(b)), access.kind, race);
  }
  race.ok = b.inst(Op::xor_, Type::i1, {b.op2(Op::and_, race.ok, access.ok), b.i1(true)});
  return race;
}

Value SharedShadow::other(Builder& b, const Race& race) {
  const Value thread = b.op2(Op::shl, b.op2(Op::and_, race.who, b.i32(kThread)), b.i32(16));
  return b.op2(Op::or_, thread, b.op2(Op::and_, race.mark, b.i32(0xffff)));
}

}  // namespace ptx2spv::passes
