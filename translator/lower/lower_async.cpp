// 9.7.9.25 asynchronous copies and 9.7.13.15 mbarrier objects.
//
// A copy is made where it stands: a program that waits for it as the manual asks cannot tell. So
// groups of copies need no memory of their own, and what would arrive at an mbarrier once the
// copies before are done arrives at once.
#include "translator/lower/function.hpp"

namespace ptx2spv::lower {

FunctionLowering::Place FunctionLowering::shared_place(const Instruction& inst,
                                                       const Operand& operand) {
  // The low word of a generic address of shared memory is the address within it.
  Place at =
      place(inst, operand, inst.mods->has(Mod::global) ? ptx::Space::shared : inst.mods->space);
  at.access.window = Window::shared;
  at.access.readonly = false;
  at.address = memory_.as32(at.address);
  return at;
}

/// An mbarrier object is 64 bits that programs do not look into: two words here, for devices
/// without atomics of 64 bits. Of the first word, bits 0 to 19 are the pending arrivals, bits 20
/// and 21 the number of the phase, bits 22 to 31 the low half of the arrivals that a phase expects.
/// Of the second, bits 0 to 21 are the bytes that are expected and have not come, plus kNoBytes,
/// and bits 22 to 31 the high half of the expected arrivals.
///
/// A phase ends where neither arrivals nor bytes are missing. Whoever brings one of the two to zero
/// looks at both, and of two threads that see them so a compare-and-swap lets one end the phase.
class FunctionLowering::Mbarrier {
 public:
  Mbarrier(FunctionLowering& lowering, const Place& at) : l_(lowering), b_(lowering.b_), at_(at) {
    at_.access.is_volatile = true;
  }

  void init(Value count) {
    const Value high = b_.op2(Op::lshr, count, b_.i32(kHalfBits));
    store(0, b_.op2(Op::or_, count, shifted(count)));
    store(1, b_.op2(Op::or_, b_.i32(kNoBytes), shifted(high)));
    b_.inst(Op::progress, Type::none, {});
  }

  void expect_bytes(Value bytes) { add(1, bytes); }

  void complete_bytes(Value bytes) {
    const Value old = add(1, negated(bytes));
    const Value left = b_.op2(Op::and_, b_.op2(Op::sub, old, bytes), b_.i32(kBytes));
    end_phase_if(b_.cmp(Op::eq, left, b_.i32(kNoBytes)));
  }

  /// Later phases expect so many arrivals less.
  void drop(Value count) {
    const Value low = b_.op2(Op::and_, count, b_.i32(kHalf));
    const Value old = add(0, negated(shifted(low)));
    const Value borrow = b_.cmp(Op::ult, b_.op2(Op::lshr, old, b_.i32(kExpected)), low);
    const Value high = b_.op2(Op::add, b_.op2(Op::lshr, count, b_.i32(kHalfBits)),
                              b_.inst(Op::zext, Type::i32, {borrow}));
    add(1, negated(shifted(high)));
  }

  /// The state from before.
  Value arrive(Value count) {
    fence();
    const Value old = add(0, negated(count));
    const Value pending = b_.op2(Op::and_, b_.op2(Op::sub, old, count), b_.i32(kPending));
    end_phase_if(b_.cmp(Op::eq, pending, b_.i32(0)));
    return b_.inst(Op::pack, Type::i64, {old, b_.i32(0)});
  }

  static Value pending_of(ir::Builder& b, Value state) {
    return b.op2(Op::and_, b.inst(Op::trunc, Type::i32, {state}), b.i32(kPending));
  }

  /// Whether the phase of a state has ended, or with `parity` the one of that parity. A thread that
  /// would have to wait lets the others go on first.
  Value wait(Value state_or_parity, bool parity) {
    const Value wanted =
        parity ? b_.op2(Op::shl, b_.op2(Op::and_, state_or_parity, b_.i32(1)), b_.i32(kPhase))
               : b_.inst(Op::trunc, Type::i32, {state_or_parity});
    const std::uint32_t mask = (parity ? 1u : 3u) << kPhase;
    const auto ended = [&] {
      const Value other = b_.op2(Op::xor_, load(0), wanted);
      return b_.cmp(Op::ne, b_.op2(Op::and_, other, b_.i32(mask)), b_.i32(0));
    };
    const std::uint32_t result = l_.new_var(Type::i1, "ended");
    const BlockId yield = b_.new_block(), join = b_.new_block();
    const Value at_once = ended();
    b_.set(result, at_once);
    b_.cond_br(at_once, join, yield);
    b_.at(yield);
    b_.inst(Op::yield, Type::none, {});
    b_.set(result, ended());
    b_.br(join);
    b_.at(join);
    fence();
    l_.context_.out.info.sync.warp_operations = true;
    return b_.get(result);
  }

 private:
  static constexpr std::uint32_t kPending = 0xfffff, kPhase = 20, kExpected = 22, kHalfBits = 10,
                                 kHalf = 0x3ff, kBytes = 0x3fffff, kNoBytes = 0x200000;

  Value address(unsigned word) { return l_.memory_.add_offset(at_.address, 4 * word); }
  /// To one of the object's words.
  Access access(unsigned word) {
    Access access = at_.access;
    access.whole = 8;
    access.part = static_cast<std::uint8_t>(4 * word);
    return access;
  }
  Value load(unsigned word) { return l_.memory_.load(access(word), address(word), 4); }
  void store(unsigned word, Value value) {
    l_.memory_.store(access(word), address(word), value, 4);
  }
  /// A change: no thread waits in vain for it.
  Value add(unsigned word, Value value) {
    b_.inst(Op::progress, Type::none, {});
    return l_.memory_.atomic(access(word), address(word), ir::AtomicOp::add, value, 0, 4);
  }
  Value negated(Value value) { return b_.inst(Op::neg, Type::i32, {value}); }
  /// Ten bits of expected arrivals at their place.
  Value shifted(Value half) { return b_.op2(Op::shl, half, b_.i32(kExpected)); }
  void fence() { b_.inst(Op::memory_barrier, Type::none, {}, 0); }

  void end_phase_if(Value one_is_zero) {
    const BlockId look = b_.new_block(), end = b_.new_block(), join = b_.new_block();
    b_.cond_br(one_is_zero, look, join);
    b_.at(look);
    fence();
    // Atomics, which cannot give a value from before this thread's own.
    const Value low = add(0, b_.i32(0)), high = add(1, b_.i32(0));
    const Value pending = b_.op2(Op::and_, low, b_.i32(kPending));
    const Value missing =
        b_.op2(Op::xor_, b_.op2(Op::and_, high, b_.i32(kBytes)), b_.i32(kNoBytes));
    b_.cond_br(b_.cmp(Op::eq, b_.op2(Op::or_, pending, missing), b_.i32(0)), end, join);
    b_.at(end);
    const Value upper =
        b_.op2(Op::shl, b_.op2(Op::lshr, high, b_.i32(kExpected)), b_.i32(kHalfBits));
    const Value expected = b_.op2(Op::or_, b_.op2(Op::lshr, low, b_.i32(kExpected)), upper);
    const Value phase =
        b_.op2(Op::and_, b_.op2(Op::add, low, b_.i32(1u << kPhase)), b_.i32(3u << kPhase));
    const Value kept = b_.op2(Op::and_, low, b_.i32(kHalf << kExpected));
    const Value next = b_.op2(Op::or_, b_.op2(Op::or_, kept, phase), expected);
    l_.memory_.atomic(access(0), address(0), ir::AtomicOp::exch, next, low, 4);
    b_.br(join);
    b_.at(join);
  }

  FunctionLowering& l_;
  ir::Builder& b_;
  Place at_;
};

void FunctionLowering::lower_mbarrier(const Instruction& inst) {
  const auto a = args(inst);
  const ptx::Modifiers& mods = *inst.mods;
  const auto word = [&](unsigned i) { return read(a[i], ptx::Type::b32); };
  if (mods.has(Mod::pending_count))
    return write(a[0], Mbarrier::pending_of(b_, read(a[1], ptx::Type::b64)), ptx::Type::b32);
  const bool arrives = mods.has(Mod::arrive) || mods.has(Mod::arrive_drop);
  const bool waits = mods.has(Mod::test_wait) || mods.has(Mod::try_wait);
  Mbarrier barrier(*this, shared_place(inst, a[arrives || waits ? 1 : 0]));
  if (mods.has(Mod::inval)) return;
  if (mods.has(Mod::init)) return barrier.init(word(1));
  if (mods.has(Mod::complete_tx)) return barrier.complete_bytes(word(1));
  if (waits) {
    const bool parity = mods.has(Mod::parity);
    const Value what = read(a[2], parity ? ptx::Type::b32 : ptx::Type::b64);
    return write_pred(a[0], barrier.wait(what, parity));
  }
  if (mods.has(Mod::expect_tx)) barrier.expect_bytes(word(arrives ? 2 : 1));
  if (!arrives) return;
  const Value count = a.size() > 2 && !mods.has(Mod::expect_tx) ? word(2) : b_.i32(1);
  if (mods.has(Mod::arrive_drop)) barrier.drop(count);
  write(a[0], barrier.arrive(count), ptx::Type::b64);
}

void FunctionLowering::lower_async_copy(const Instruction& inst) {
  const auto a = args(inst);
  const ptx::Modifiers& mods = *inst.mods;
  if (mods.has(Mod::mbarrier)) {
    // Without .noinc the object counts one arrival more, which then comes.
    if (mods.has(Mod::noinc)) Mbarrier(*this, shared_place(inst, a[0])).arrive(b_.i32(1));
    return;
  }
  if (!mods.has(Mod::global)) return;  // groups
  const Place to = shared_place(inst, a[0]), from = place(inst, a[1], ptx::Space::global);
  const auto bytes = static_cast<unsigned>(a[2].value);
  const unsigned policies = mods.has(Mod::L2_cache_hint) ? 1 : 0;
  if (a.size() - policies == 3) return store_words(to, 0, bytes, load_words(from, 0, bytes));
  // What the source has, then zeros. Words of which it has nothing are not read.
  const bool predicate =
      a[3].kind == OperandKind::reg && m_.symbol(a[3].symbol).type == ptx::Type::pred;
  const Value size =
      predicate ? b_.select(read_pred(a[3]), b_.i32(0), b_.i32(bytes)) : read(a[3], ptx::Type::b32);
  std::vector<Value> words;
  std::vector<std::uint32_t> vars;
  for (unsigned at = 0; at < bytes; at += 4) {
    vars.push_back(new_var(Type::i32, "copied"));
    const BlockId some = b_.new_block(), join = b_.new_block();
    b_.set(vars.back(), b_.i32(0));
    b_.cond_br(b_.cmp(Op::ult, b_.i32(at), size), some, join);
    b_.at(some);
    const Value bits = b_.op2(Op::shl, b_.op2(Op::sub, size, b_.i32(at)), b_.i32(3));
    // A shift by all 32 bits and more gives 0, and that less one all bits.
    const Value mask = b_.op2(Op::sub, b_.op2(Op::shl, b_.i32(1), bits), b_.i32(1));
    b_.set(vars.back(), b_.op2(Op::and_, load_words(from, at, 4), mask));
    b_.br(join);
    b_.at(join);
  }
  for (const std::uint32_t var : vars) words.push_back(b_.get(var));
  store_words(to, 0, bytes, memory_.join(words, 4));
}

}  // namespace ptx2spv::lower
