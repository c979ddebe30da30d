#include "translator/passes/legalise/legalise_atomics.hpp"

#include <optional>

#include "ptx2spv/abi.hpp"
#include "translator/passes/legalise/lane_groups.hpp"
#include "translator/passes/rewrite.hpp"
#include "translator/passes/subgroups.hpp"

namespace ptx2spv::passes {

namespace {

bool is_add(AtomicOp op) { return op == AtomicOp::add; }
bool is_bitwise(AtomicOp op) {
  return op == AtomicOp::and_ || op == AtomicOp::or_ || op == AtomicOp::xor_;
}

/// What an atomic on half-precision numbers computes; width 0 for the others.
struct HalfFormat {
  unsigned width = 0;  ///< bits of the cell: 16 or 32
  Op op = Op::fadd;
  NumKind kind = NumKind::f16;
};
HalfFormat half_format(AtomicOp op) {
  using enum AtomicOp;
  constexpr auto kBrain = NumKind::bf16;
  switch (op) {
    case fadd_f16: return {16};
    case fadd_bf16: return {16, Op::fadd, kBrain};
    case fadd_f16x2: return {32};
    case fadd_bf16x2: return {32, Op::fadd, kBrain};
    case fmin_f16: return {16, Op::fmin};
    case fmin_bf16: return {16, Op::fmin, kBrain};
    case fmin_f16x2: return {32, Op::fmin};
    case fmin_bf16x2: return {32, Op::fmin, kBrain};
    case fmax_f16: return {16, Op::fmax};
    case fmax_bf16: return {16, Op::fmax, kBrain};
    case fmax_f16x2: return {32, Op::fmax};
    case fmax_bf16x2: return {32, Op::fmax, kBrain};
    default: return {};
  }
}

bool native64(const Inst& inst, const Profile& profile) {
  if (inst.mem.atomic == AtomicOp::inc || inst.mem.atomic == AtomicOp::dec) return false;
  const bool shared = inst.mem.space == Space::shared;
  if (inst.mem.atomic == AtomicOp::fadd_f64)
    return !shared && profile.features.buffer_atomic_f64_add && profile.features.float64;
  // Without views, shared memory is an array of words, which 64-bit atomics cannot address.
  return profile.features.int64 &&
         (shared ? profile.features.shared_atomics64 && profile.features.shared_layout
                 : profile.features.buffer_atomics64);
}

bool native32(const Inst& inst, const Profile& profile) {
  switch (inst.mem.atomic) {
    case AtomicOp::inc:
    case AtomicOp::dec: return false;
    case AtomicOp::fadd_f32:
      return inst.mem.space != Space::shared && profile.features.buffer_atomic_f32_add;
    default: return half_format(inst.mem.atomic).width == 0;
  }
}

/// What a function's 64-bit atomics that are emulated, or in shared memory, have in common decides
/// how cheap they may be.
struct Wide {
  bool all_add = true, all_bitwise = true, all_min_max = true, any_used = false;
  bool any = false;
  bool mixed_order = false;  ///< both min and max, or both signednesses
  AtomicOp first = AtomicOp::add;
};

class Legaliser {
 public:
  Legaliser(Function& function, const Profile& profile, bool host)
      : f_(function),
        profile_(profile),
        host_(host),
        rw_(function),
        b_(rw_.builder()),
        lanes_(b_) {}

  void run() {
    find_uses();
    survey();
    rw_.run([&](Value value) { visit(value); });
  }

 private:
  void find_uses() {
    used_.resize(f_.insts.size());
    for (const Block& block : f_.blocks) {
      for (const Value v : block.insts)
        for (const Value a : f_.args(v)) used_[a] = true;
      used_[block.cond] = true;
    }
    // A result that is only kept in a variable nobody reads does not count.
    std::vector<bool> read(f_.vars.size());
    for (const Block& block : f_.blocks)
      for (const Value v : block.insts)
        if (f_.insts[v].op == Op::get_var) read[f_.insts[v].imm] = true;
    std::vector<bool> really(f_.insts.size());
    for (const Block& block : f_.blocks) {
      really[block.cond] = true;
      for (const Value v : block.insts)
        if (f_.insts[v].op != Op::set_var || read[f_.insts[v].imm])
          for (const Value a : f_.args(v)) really[a] = true;
    }
    used_ = std::move(really);
  }

  void survey() {
    for (const Block& block : f_.blocks)
      for (const Value v : block.insts) {
        const Inst& inst = f_.insts[v];
        const bool shared = inst.mem.space == Space::shared;
        if (host_ || inst.mem.space == Space::local || !is_atomic(inst.op) || inst.mem.bytes != 8)
          continue;
        const bool native = native64(inst, profile_);
        if (native && !shared) continue;
        shared_emulated_ = shared_emulated_ || (shared && !native);
        const bool cas = inst.op == Op::atomic_cas;
        const AtomicOp op = inst.mem.atomic;
        if (wide_.any && op != wide_.first) wide_.mixed_order = true;
        if (!wide_.any) wide_.first = op;
        wide_.any = true;
        wide_.all_add = wide_.all_add && !cas && is_add(op);
        wide_.all_bitwise = wide_.all_bitwise && !cas && is_bitwise(op);
        const bool order = op == AtomicOp::umin || op == AtomicOp::umax || op == AtomicOp::smin ||
                           op == AtomicOp::smax;
        wide_.all_min_max = wide_.all_min_max && !cas && order;
        wide_.any_used = wide_.any_used || used_[v];
      }
  }

  void visit(Value value) {
    const Inst inst = f_.insts[value];
    if (!is_atomic(inst.op)) return rw_.keep(value);
    if (inst.mem.space == Space::local) return own_memory(value, inst);
    const bool cas = inst.op == Op::atomic_cas;
    if (host_ && (cas || half_format(inst.mem.atomic).width == 0)) return rw_.keep(value);
    if (inst.mem.bytes == 8) {
      const bool shared = inst.mem.space == Space::shared;
      const bool words =
          inst.op == Op::atomic && !wide_.any_used && (wide_.all_add || wide_.all_bitwise);
      // In shared memory, two atomics of words take less time than one of 64 bits; and those that
      // take a lock do not see others.
      if (native64(inst, profile_) && !(shared && (words || shared_emulated_)))
        return rw_.keep(value);
      if (words) return two_words(value, inst);
      return tells_lanes_apart() && keeps_lanes_together() ? lock_as_one(value, inst)
                                                           : locked(value, inst);
    }
    if (const auto step = whole_cycle(inst)) {
      f_.args(value)[1] = b_.i32(*step);
      f_.insts[value].mem.atomic = AtomicOp::add;
      return rw_.keep(value);
    }
    if (cas) return inst.mem.bytes == 2 ? narrow_cas(value, inst) : rw_.keep(value);
    if (native32(inst, profile_)) return rw_.keep(value);
    cas_loop(value, inst);
  }

  /// What inc or dec adds where its bound is the largest word.
  std::optional<std::uint32_t> whole_cycle(const Inst& inst) const {
    const bool up = inst.mem.atomic == AtomicOp::inc;
    if (inst.op != Op::atomic || (!up && inst.mem.atomic != AtomicOp::dec)) return {};
    const Inst& bound = f_.insts[f_.operands[inst.first + 1]];
    if (bound.op != Op::constant || bound.imm != ~0u) return {};
    return up ? 1 : ~0u;
  }

  /// Whether a word's bits are a subgroup's lanes.
  bool tells_lanes_apart() const {
    return profile_.features.subgroup_ops && profile_.exactness.native_warps &&
           profile_.subgroup_size != 0 && profile_.subgroup_size <= 32;
  }
  /// Whether lanes that want the same can be found, and act as one.
  bool keeps_lanes_together() const {
    return profile_.features.subgroup_partition && profile_.features.maximal_reconvergence;
  }

  MemAttr word(const MemAttr& mem, AtomicOp op = AtomicOp::add) const {
    MemAttr out = mem;
    out.bytes = 4;
    out.is_volatile = true;
    out.atomic = op;
    return out;
  }
  Value plus4(Value address) {
    return b_.op2(Op::add, address, f_.insts[address].type == Type::i64 ? b_.i64(4) : b_.i32(4));
  }
  Value atomic32(Value address, Value data, const MemAttr& mem, AtomicOp op) {
    const Value v = b_.inst(Op::atomic, Type::i32, {address, data});
    b_.last(v).mem = word(mem, op);
    return v;
  }
  Value swap(Value address, Value from, Value to, const MemAttr& mem) {
    const Value v = b_.inst(Op::atomic_cas, Type::i32, {address, from, to});
    b_.last(v).mem = word(mem);
    return v;
  }
  Value read32(Value address, const MemAttr& mem) { return b_.load(Type::i32, address, word(mem)); }
  std::uint32_t variable(Type type, const char* name) {
    f_.vars.push_back({type, name});
    return static_cast<std::uint32_t>(f_.vars.size() - 1);
  }

  /// A thread's own memory, reached by a generic address: nobody else looks.
  void own_memory(Value value, const Inst& inst) {
    const Value address = f_.arg(value, 0), first = f_.arg(value, 1);
    const bool cas = inst.op == Op::atomic_cas;
    const Value data = cas ? f_.arg(value, 2) : first;
    MemAttr mem = inst.mem;
    const Value old = b_.load(inst.type, address, mem);
    Value next;
    if (inst.mem.bytes == 8) {
      next = combine64(inst, old, data, first);
    } else if (cas) {
      next = b_.select(b_.cmp(Op::eq, old, first), data, old);
    } else {
      switch (inst.mem.atomic) {
        case AtomicOp::add: next = b_.op2(Op::add, old, data); break;
        case AtomicOp::and_: next = b_.op2(Op::and_, old, data); break;
        case AtomicOp::or_: next = b_.op2(Op::or_, old, data); break;
        case AtomicOp::xor_: next = b_.op2(Op::xor_, old, data); break;
        case AtomicOp::umin: next = b_.op2(Op::umin, old, data); break;
        case AtomicOp::umax: next = b_.op2(Op::umax, old, data); break;
        case AtomicOp::smin: next = b_.op2(Op::smin, old, data); break;
        case AtomicOp::smax: next = b_.op2(Op::smax, old, data); break;
        case AtomicOp::exch: next = data; break;
        default: next = combine32(inst, old, data); break;
      }
    }
    b_.store(address, next, mem);
    rw_.replace_by(value, old);
  }

  /// Low word, then the carry into the high word: exact for additions alone, and bitwise operations
  /// alone.
  void two_words(Value value, const Inst& inst) {
    const Value address = f_.arg(value, 0), data = f_.arg(value, 1);
    const Value lo = b_.inst(Op::trunc, Type::i32, {data});
    Value hi = b_.inst(Op::high, Type::i32, {data});
    const Value old_lo = atomic32(address, lo, inst.mem, inst.mem.atomic);
    if (is_add(inst.mem.atomic)) {
      const Value carry = b_.cmp(Op::ult, b_.op2(Op::add, old_lo, lo), lo);
      hi = b_.op2(Op::add, hi, b_.inst(Op::zext, Type::i32, {carry}));
    }
    const Value old_hi = atomic32(plus4(address), hi, inst.mem, inst.mem.atomic);
    rw_.replace(value, Op::pack, Type::i64, {old_lo, old_hi});
  }

  Value combine64(const Inst& inst, Value old, Value data, Value compare) {
    if (inst.op == Op::atomic_cas) return b_.select(b_.cmp(Op::eq, old, compare), data, old);
    switch (inst.mem.atomic) {
      case AtomicOp::add: return b_.op2(Op::add, old, data);
      case AtomicOp::and_: return b_.op2(Op::and_, old, data);
      case AtomicOp::or_: return b_.op2(Op::or_, old, data);
      case AtomicOp::xor_: return b_.op2(Op::xor_, old, data);
      case AtomicOp::umin: return b_.op2(Op::umin, old, data);
      case AtomicOp::umax: return b_.op2(Op::umax, old, data);
      case AtomicOp::smin: return b_.op2(Op::smin, old, data);
      case AtomicOp::smax: return b_.op2(Op::smax, old, data);
      case AtomicOp::fadd_f64: {
        // Shared memory is added to by the processor, which makes a NaN quiet and keeps that of the
        // cell; the cache, where global memory is, leaves a NaN as it is and takes the operand's
        // first.
        const auto is_nan = [&](Value v) {
          const Value magnitude = b_.op2(Op::and_, v, b_.i64(0x7fffffffffffffffull));
          return b_.cmp(Op::ult, b_.i64(0x7ff0000000000000ull), magnitude);
        };
        const Value sum = b_.fp(Op::fadd, Type::i64, {data, old}, {.kind = NumKind::f64});
        if (inst.mem.space == Space::shared) return sum;
        return b_.select(is_nan(data), data, b_.select(is_nan(old), old, sum));
      }
      default: return data;
    }
  }

  /// A try-lock whose critical section stands inside the branch that won it: a spin outside that
  /// branch never ends where the lanes of a subgroup run in lockstep. min and max look first:
  /// readers take the high word first and the writer stores the low word first, so that a skip is
  /// never wrong.
  ///
  /// Bit 0 of a lock word says that it is taken. The word that releases it is made of what the
  /// writes returned: where there are no fences, they are done before it can be written.
  void locked(Value value, const Inst& inst) {
    const Value address = f_.arg(value, 0), first = f_.arg(value, 1);
    const bool cas = inst.op == Op::atomic_cas;
    const Value data = cas ? f_.arg(value, 2) : first;
    const std::uint32_t v_address = variable(f_.insts[address].type, "lock.address");
    const std::uint32_t v_data = variable(Type::i64, "lock.data");
    const std::uint32_t v_compare = variable(Type::i64, "lock.compare");
    const std::uint32_t v_done = variable(Type::i1, "lock.done");
    const std::uint32_t v_old = variable(Type::i64, "lock.old");
    b_.set(v_address, address);
    b_.set(v_data, data);
    if (cas) b_.set(v_compare, first);
    b_.set(v_done, b_.i1(false));
    b_.set(v_old, b_.i64(0));
    const BlockId attempt = b_.new_block(), latch = b_.new_block(), after = b_.new_block();
    const bool counted = profile_.max_loop_iterations != 0;
    const std::uint32_t v_iterations = counted ? variable(Type::i32, "lock.iterations") : 0;
    if (counted) b_.set(v_iterations, b_.i32(0));
    b_.br(attempt);
    b_.at(attempt);
    if (counted) {
      // Those who are done stay, to wait with the others.
      const BlockId open = b_.new_block();
      b_.cond_br(b_.get(v_done), latch, open);
      b_.at(open);
    }
    if (looks_first(inst)) {
      const Value now = read64(b_.get(v_address), inst.mem);
      const Value next = combine64(inst, now, b_.get(v_data), 0);
      const BlockId open = b_.new_block(), skip = b_.new_block();
      b_.cond_br(b_.cmp(Op::eq, now, next), skip, open);
      b_.at(skip);
      b_.set(v_done, b_.i1(true));
      b_.br(latch);
      b_.at(open);
    }
    const Value lock = lock_of(b_.get(v_address), inst.mem);
    const BlockId critical = b_.new_block();
    b_.cond_br(take(lock), critical, latch);
    b_.at(critical);
    const Value old = read_locked(b_.get(v_address), inst.mem);
    const Value next = combine64(inst, old, b_.get(v_data), cas ? b_.get(v_compare) : 0);
    const Value taken = write_and_release(lock, b_.get(v_address), next, inst.mem);
    b_.set(v_old, old);
    b_.set(v_done, b_.cmp(Op::ne, taken, b_.i32(0)));
    b_.br(latch);
    // The question stands at the end: before the attempt it would cost one more iteration, whose
    // body a CPU driver goes through with all lanes masked.
    b_.at(latch);
    if (counted)
      wait_together(v_done, v_iterations, attempt, after);
    else
      b_.cond_br(b_.get(v_done), after, attempt);
    b_.at(after);
    rw_.replace(value, Op::get_var, Type::i64, {}, v_old);
  }

  /// The same for all lanes that want one word, of which the last one takes the lock.
  void lock_as_one(Value value, const Inst& inst) {
    const Value address = f_.arg(value, 0), first = f_.arg(value, 1);
    const bool cas = inst.op == Op::atomic_cas;
    const Value data = cas ? f_.arg(value, 2) : first, zero = b_.i32(0);
    const auto next = [&](Value old) { return combine64(inst, old, data, first); };
    const std::uint32_t v_old = variable(Type::i64, "lock.old");
    const std::uint32_t v_now = variable(Type::i64, "lock.now");
    const std::uint32_t v_won = variable(Type::i32, "lock.won");
    const std::uint32_t v_taken = variable(Type::i32, "lock.taken");
    const std::uint32_t v_done = variable(Type::i32, "lock.done");
    const BlockId attempt = b_.new_block(), lead = b_.new_block(), critical = b_.new_block(),
                  meet = b_.new_block(), won = b_.new_block(), write = b_.new_block(),
                  written = b_.new_block(), latch = b_.new_block(), again = b_.new_block(),
                  after = b_.new_block();
    b_.set(v_old, b_.i64(0));
    if (looks_first(inst)) {
      const Value now = read64(address, inst.mem);
      const BlockId open = b_.new_block();
      b_.cond_br(b_.cmp(Op::eq, now, next(now)), after, open);
      b_.at(open);
    }
    const LaneGroup group = lanes_.of(lanes_.sharing(address));
    const Value lock = lock_of(address, inst.mem);
    b_.set(v_now, b_.i64(0));
    for (const std::uint32_t each : {v_won, v_taken, v_done}) b_.set(each, zero);
    const bool waits = profile_.features.shader_clock;
    const std::uint32_t v_span = waits ? lanes_.first_wait() : 0;
    b_.br(attempt);
    b_.at(attempt);
    b_.cond_br(group.leads, lead, meet);
    b_.at(lead);
    const Value took = take(lock);
    b_.set(v_won, b_.inst(Op::zext, Type::i32, {took}));
    b_.cond_br(took, critical, meet);
    b_.at(critical);
    b_.set(v_now, read_locked(address, inst.mem));
    b_.br(meet);
    b_.at(meet);
    b_.cond_br(b_.cmp(Op::ne, lanes_.from_lane(b_.get(v_won), group.last), zero), won, latch);
    b_.at(won);
    lanes_.find(group, lanes_.from_lane(b_.get(v_now), group.last), next, v_old);
    const Value made = next(b_.get(v_old));
    b_.cond_br(group.leads, write, written);
    b_.at(write);
    b_.set(v_taken, write_and_release(lock, address, made, inst.mem));
    b_.br(written);
    b_.at(written);
    b_.set(v_done, lanes_.from_lane(b_.get(v_taken), group.last));
    b_.br(latch);
    b_.at(latch);
    b_.cond_br(b_.cmp(Op::ne, b_.get(v_done), zero), after, again);
    b_.at(again);
    if (waits) lanes_.wait_at_random(v_span);
    b_.br(attempt);
    b_.at(after);
    rw_.replace(value, Op::get_var, Type::i64, {}, v_old);
  }

  /// Whether a lane that would change nothing needs no lock.
  bool looks_first(const Inst& inst) const {
    return inst.op == Op::atomic && wide_.all_min_max && !wide_.mixed_order && !wide_.any_used;
  }
  Value read64(Value at, const MemAttr& mem) {
    const Value hi = read32(plus4(at), mem);
    const Value lo = read32(at, mem);
    return b_.inst(Op::pack, Type::i64, {lo, hi});
  }
  static constexpr MemAttr kLocks{.space = Space::locks, .bytes = 4};
  /// The offset of the lock of a word of 64 bits.
  Value lock_of(Value at, const MemAttr& mem) {
    Value key = f_.insts[at].type == Type::i64 ? b_.inst(Op::trunc, Type::i32, {at}) : at;
    key = b_.op2(Op::lshr, key, b_.i32(3));
    if (mem.space == Space::slot) key = b_.op2(Op::add, key, b_.i32(mem.slot * 1031u));
    // Each block has its own.
    if (mem.space == Space::shared)
      for (const auto& [id, factor] : {std::pair{Builtin::workgroup_id_x, 61u},
                                       {Builtin::workgroup_id_y, 509u},
                                       {Builtin::workgroup_id_z, 1021u}})
        key = b_.op2(Op::add, key, b_.op2(Op::mul, b_.builtin(id), b_.i32(factor)));
    return b_.op2(Op::shl, b_.op2(Op::and_, key, b_.i32(abi::kLockWords - 1)), b_.i32(2));
  }
  /// Whether the lock was free.
  Value take(Value lock) {
    const Value before = atomic32(lock, b_.i32(1), kLocks, AtomicOp::exch);
    return b_.cmp(Op::eq, b_.op2(Op::and_, before, b_.i32(1)), b_.i32(0));
  }
  Value read_locked(Value at, const MemAttr& mem) {
    if (!profile_.workarounds.locks_without_barriers) {
      b_.inst(Op::memory_barrier, Type::none, {}, 1);
      return read64(at, mem);
    }
    // What others wrote is sure to be seen by an atomic only.
    const Value zero = b_.i32(0);
    const Value hi = atomic32(plus4(at), zero, mem, AtomicOp::or_);
    return b_.inst(Op::pack, Type::i64, {atomic32(at, zero, mem, AtomicOp::or_), hi});
  }
  /// 1, if the lock was taken till then, which is always so. A compiler that knew this would put
  /// the critical section behind the loop. Lanes wait for each other there, and those still in the
  /// loop for the lock.
  Value write_and_release(Value lock, Value at, Value word, const MemAttr& mem) {
    const Value low = b_.inst(Op::trunc, Type::i32, {word});
    const Value high = b_.inst(Op::high, Type::i32, {word});
    const Value was_low = atomic32(at, low, mem, AtomicOp::exch);
    const Value was_high = atomic32(plus4(at), high, mem, AtomicOp::exch);
    const Value free = b_.op2(Op::shl, b_.op2(Op::xor_, was_low, was_high), b_.i32(1));
    if (!profile_.workarounds.locks_without_barriers)
      b_.inst(Op::memory_barrier, Type::none, {}, 1);
    return b_.op2(Op::and_, atomic32(lock, free, kLocks, AtomicOp::exch), b_.i32(1));
  }

  /// Where loops have a limit: a thread that holds the lock may have lost its processor for
  /// milliseconds, and those who wait must not use up their iterations meanwhile. After more
  /// iterations than a subgroup's threads need among themselves, each one does something slow that
  /// nobody can leave out. It costs those who do not wait as well, because the driver goes through
  /// it with all lanes masked. Hence all of a subgroup go on until its last thread is done: what
  /// eight lanes do one after the other takes long, and few instructions are enough.
  void wait_together(std::uint32_t v_done, std::uint32_t v_iterations, BlockId attempt,
                     BlockId after) {
    constexpr std::uint32_t kQuick = 64, kSlow = 8;
    const Value iterations = b_.op2(Op::add, b_.get(v_iterations), b_.i32(1));
    b_.set(v_iterations, iterations);
    const BlockId slow = b_.new_block(), ask = b_.new_block();
    b_.cond_br(b_.cmp(Op::ult, iterations, b_.i32(kQuick)), ask, slow);
    b_.at(slow);
    // With 0, so that whoever uses that word as a lock does not notice.
    for (std::uint32_t i = 0; i < kSlow; ++i) atomic32(b_.i32(0), b_.i32(0), kLocks, AtomicOp::or_);
    b_.br(ask);
    b_.at(ask);
    const Value open = b_.inst(Op::xor_, Type::i1, {b_.get(v_done), b_.i1(true)});
    const Value any = b_.cmp(Op::ne, b_.inst(Op::subgroup_ballot, Type::i32, {open}), b_.i32(0));
    b_.cond_br(any, attempt, after);
  }

  Value combine32(const Inst& inst, Value old, Value data) {
    const auto half_pair = [&](HalfFormat half) {
      const auto part = [&](Value v, bool upper) {
        return upper ? b_.op2(Op::lshr, v, b_.i32(16)) : b_.op2(Op::and_, v, b_.i32(0xffff));
      };
      const Value lo =
          b_.fp(half.op, Type::i32, {part(old, false), part(data, false)}, {.kind = half.kind});
      const Value hi =
          b_.fp(half.op, Type::i32, {part(old, true), part(data, true)}, {.kind = half.kind});
      return b_.op2(Op::or_, lo, b_.op2(Op::shl, hi, b_.i32(16)));
    };
    switch (inst.mem.atomic) {
      case AtomicOp::inc: {
        const Value wraps = b_.cmp(Op::ule, data, old);
        return b_.select(wraps, b_.i32(0), b_.op2(Op::add, old, b_.i32(1)));
      }
      case AtomicOp::dec: {
        const Value wraps =
            b_.op2(Op::or_, b_.cmp(Op::eq, old, b_.i32(0)), b_.cmp(Op::ult, data, old));
        return b_.select(wraps, data, b_.op2(Op::sub, old, b_.i32(1)));
      }
      default:
        if (const HalfFormat half = half_format(inst.mem.atomic); half.width == 32)
          return half_pair(half);
        // The manual: on global memory denormals are flushed, on shared memory they are kept.
        return b_.fp(Op::fadd, Type::i32, {old, data},
                     {.kind = NumKind::f32, .ftz = inst.mem.space != Space::shared});
    }
  }

  static constexpr std::uint32_t kMostAhead = 1024;
  /// What a word holds after `times` (at most kMostAhead + 32) of inc or dec with one bound.
  Value advance(bool down, Value old, Value bound, Value times) {
    // From above the bound the first one leads to the start of the cycle of bound + 1 values. dec
    // goes through it backwards: how far it is below the bound goes up.
    const Value above = b_.cmp(Op::ult, bound, old);
    const Value from = b_.select(above, b_.i32(0), down ? b_.op2(Op::sub, bound, old) : old);
    const Value steps = b_.select(above, b_.op2(Op::sub, times, b_.i32(1)), times);
    const Value room = b_.op2(Op::sub, bound, from);
    const Value past = b_.op2(Op::sub, b_.op2(Op::sub, steps, room), b_.i32(1));
    const Value cycle =
        b_.op2(Op::add, b_.op2(Op::umin, bound, b_.i32(kMostAhead + 31)), b_.i32(1));
    const Value to = b_.select(b_.cmp(Op::ule, steps, room), b_.op2(Op::add, from, steps),
                               b_.op2(Op::urem, past, cycle));
    return b_.select(b_.cmp(Op::eq, times, b_.i32(0)), old, down ? b_.op2(Op::sub, bound, to) : to);
  }

  /// An attempt by each lane for itself, which is enough where they want words of their own, then
  /// one for all that want the same word: hardware goes through the lanes of a compare-and-swap one
  /// by one, and all but one are in vain. In shared memory a few attempts take less time than to
  /// find out: the lanes that want what the first of them wants tell how many there will be.
  template <typename Next>
  void swap_in_groups(const Inst& inst, Value word_address, const MemAttr& mem, Next&& next,
                      std::uint32_t v_old) {
    const BlockId after = b_.new_block();
    const auto attempt = [&](BlockId failed) {
      const Value old = b_.get(v_old);
      const Value seen = swap(word_address, old, next(old), mem);
      b_.set(v_old, seen);
      b_.cond_br(b_.cmp(Op::eq, seen, old), after, failed);
      b_.at(failed);
    };
    const bool shared = mem.space == Space::shared;
    b_.set(v_old, read32(word_address, mem));
    attempt(b_.new_block());
    if (shared) {
      constexpr std::uint32_t kCrowd = 6;
      const auto ballot = [&](Value truth) {
        return b_.inst(Op::subgroup_ballot, Type::i32, {truth});
      };
      const Value theirs = lanes_.from_lane(word_address, lowest_lane(b_, ballot(b_.i1(true))));
      const Value with_it = ballot(b_.cmp(Op::eq, word_address, theirs));
      const Value many =
          b_.cmp(Op::ule, b_.i32(kCrowd), b_.inst(Op::popcount, Type::i32, {with_it}));
      const BlockId alone = b_.new_block(), crowd = b_.new_block();
      b_.cond_br(many, crowd, alone);
      b_.at(alone);
      const BlockId again = b_.new_block();
      b_.br(again);
      b_.at(again);
      attempt(again);
      b_.at(crowd);
    }
    swap_as_one(inst, word_address, mem, next, v_old);
    b_.br(after);
    b_.at(after);
  }

  template <typename Next>
  void swap_as_one(const Inst& inst, Value word_address, const MemAttr& mem, Next&& next,
                   std::uint32_t v_old) {
    const bool counts = inst.op == Op::atomic &&
                        (inst.mem.atomic == AtomicOp::inc || inst.mem.atomic == AtomicOp::dec);
    const Value zero = b_.i32(0);
    const Value bound = counts ? f_.operands[inst.first + 1] : 0;
    Value lanes = lanes_.sharing(word_address);
    if (counts) lanes = b_.op2(Op::and_, lanes, lanes_.sharing(bound));
    const LaneGroup group = lanes_.of(lanes);
    const std::uint32_t v_won = variable(Type::i32, "cas.won");
    b_.set(v_won, zero);
    // In shared memory an attempt takes less time than a wait.
    const bool waits = mem.space != Space::shared && profile_.features.shader_clock;
    // Others count on meanwhile: an attempt that starts as far ahead as they get in the time of one
    // comes in turn more often than one that starts with what was there. Of warps that all try
    // there are too many for that.
    const bool guesses = counts && waits;
    Value alone = 0;
    if (guesses) {
      const Value here = b_.inst(Op::subgroup_ballot, Type::i32, {b_.i1(true)});
      alone = b_.cmp(Op::eq, b_.inst(Op::popcount, Type::i32, {here}), b_.i32(1));
    }
    const std::uint32_t v_span = waits ? lanes_.first_wait() : 0;
    const std::uint32_t v_found = guesses ? variable(Type::i32, "cas.found") : 0,
                        v_seen = guesses ? variable(Type::i32, "cas.seen") : 0,
                        v_ahead = guesses ? variable(Type::i32, "cas.ahead") : 0;
    const bool down = inst.mem.atomic == AtomicOp::dec;
    if (guesses) {
      b_.set(v_found, b_.get(v_old));
      b_.set(v_seen, b_.get(v_old));
    }
    const BlockId round = b_.new_block(), turn = b_.new_block(), meet = b_.new_block(),
                  again = b_.new_block(), after = b_.new_block();
    b_.br(round);
    b_.at(round);
    const Value found = guesses ? b_.get(v_found) : read32(word_address, mem);
    const Value now = lanes_.from_lane(found, group.last);
    if (counts) {
      const Value rank = b_.inst(Op::popcount, Type::i32, {group.below});
      b_.set(v_old, advance(down, now, bound, rank));
    } else {
      lanes_.find(group, now, next, v_old);
    }
    const Value made = next(b_.get(v_old));
    b_.cond_br(group.leads, turn, meet);
    b_.at(turn);
    const Value seen = swap(word_address, now, made, mem);
    b_.set(v_won, b_.inst(Op::zext, Type::i32, {b_.cmp(Op::eq, seen, now)}));
    if (guesses) {
      const Value last = b_.get(v_seen);
      const Value moved = b_.op2(Op::umin, b_.op2(Op::sub, down ? last : seen, down ? seen : last),
                                 b_.i32(kMostAhead / 2));
      const Value half = b_.op2(Op::lshr, moved, b_.i32(1));
      b_.set(v_ahead, b_.op2(Op::add, b_.op2(Op::add, moved, half), b_.i32(1)));
      b_.set(v_seen, seen);
    }
    b_.br(meet);
    b_.at(meet);
    const Value won = lanes_.from_lane(b_.get(v_won), group.last);
    b_.cond_br(b_.cmp(Op::ne, won, zero), after, again);
    b_.at(again);
    if (guesses) {
      const BlockId ahead = b_.new_block(), pause = b_.new_block();
      b_.cond_br(alone, ahead, pause);
      b_.at(ahead);
      b_.set(v_found, advance(down, b_.get(v_seen), bound, lanes_.draw(b_.get(v_ahead))));
      b_.br(round);
      b_.at(pause);
    }
    if (waits) lanes_.wait_at_random(v_span);
    if (guesses) b_.set(v_found, read32(word_address, mem));
    b_.br(round);
    b_.at(after);
  }

  /// A loop of attempts in which the lanes of a warp that want the same word take turns: hardware
  /// goes through the lanes of a compare-and-swap one by one, and all but one are in vain. Who is
  /// next follows from the lanes that are there; that it is somebody is all that the loop needs.
  template <typename Next>
  void take_turns(Value word_address, const MemAttr& mem, Next&& next, std::uint32_t v_old) {
    const std::uint32_t v_tries = variable(Type::i1, "cas.tries");
    b_.set(v_tries, b_.i1(true));
    const BlockId round = b_.new_block(), turn = b_.new_block(), wait = b_.new_block(),
                  after = b_.new_block();
    b_.br(round);
    b_.at(round);
    b_.cond_br(b_.get(v_tries), turn, wait);
    b_.at(turn);
    const Value old = read32(word_address, mem);
    const Value seen = swap(word_address, old, next(old), mem);
    b_.set(v_old, seen);
    b_.cond_br(b_.cmp(Op::eq, seen, old), after, wait);
    b_.at(wait);
    const Value lane = b_.builtin(Builtin::subgroup_lane);
    const Value here = b_.inst(Op::subgroup_ballot, Type::i32, {b_.i1(true)}, kLanesApart);
    const Value first = lowest_lane(b_, here);
    const Value low = f_.insts[word_address].type == Type::i64
                          ? b_.inst(Op::trunc, Type::i32, {word_address})
                          : word_address;
    const Value its = b_.inst(Op::subgroup_shuffle, Type::i32, {low, first}, kLanesApart);
    b_.set(v_tries, b_.op2(Op::or_, b_.cmp(Op::eq, lane, first), b_.cmp(Op::ne, low, its)));
    b_.br(round);
    b_.at(after);
  }

  /// Compare-and-swap until nobody came between. For 2-byte types `place` shifts within the word.
  template <typename Next>
  void cas_word(Value value, Value word_address, const MemAttr& mem, Next&& next, Value shift) {
    const std::uint32_t v_old = variable(Type::i32, "cas.old");
    // In shared memory an attempt takes less time than a sum of halves.
    const Inst inst = f_.insts[value];
    const bool slow = mem.space == Space::shared && half_format(inst.mem.atomic).width != 0;
    if (tells_lanes_apart()) {
      if (keeps_lanes_together() && !slow)
        swap_in_groups(inst, word_address, mem, next, v_old);
      else
        take_turns(word_address, mem, next, v_old);
      return replace_by_old(value, v_old, shift);
    }
    const std::uint32_t v_done = variable(Type::i1, "cas.done");
    b_.set(v_old, read32(word_address, mem));
    b_.set(v_done, b_.i1(false));
    const BlockId header = b_.new_block(), attempt = b_.new_block(), after = b_.new_block();
    b_.br(header);
    b_.at(header);
    b_.cond_br(b_.get(v_done), after, attempt);
    b_.at(attempt);
    const Value old = b_.get(v_old);
    const Value seen = swap(word_address, old, next(old), mem);
    b_.set(v_done, b_.cmp(Op::eq, seen, old));
    b_.set(v_old, seen);
    b_.br(header);
    b_.at(after);
    replace_by_old(value, v_old, shift);
  }

  void replace_by_old(Value value, std::uint32_t v_old, Value shift) {
    if (shift)
      rw_.replace(value, Op::and_, Type::i32,
                  {b_.op2(Op::lshr, b_.get(v_old), shift), b_.i32(0xffff)});
    else
      rw_.replace(value, Op::get_var, Type::i32, {}, v_old);
  }

  void cas_loop(Value value, const Inst& inst) {
    const Value address = f_.arg(value, 0), data = f_.arg(value, 1);
    const AtomicOp op = inst.mem.atomic;
    const HalfFormat half = half_format(op);
    if (half.width != 16)
      return cas_word(
          value, address, inst.mem, [&](Value old) { return combine32(inst, old, data); }, 0);
    const Value shift = half_shift(address);
    cas_word(
        value, word_of(address), inst.mem,
        [&](Value old) {
          const Value sum =
              b_.fp(half.op, Type::i32, {half_of(old, shift), data}, {.kind = half.kind});
          return insert_half(old, sum, shift);
        },
        shift);
  }

  void narrow_cas(Value value, const Inst& inst) {
    const Value address = f_.arg(value, 0), compare = f_.arg(value, 1), data = f_.arg(value, 2);
    const Value shift = half_shift(address);
    cas_word(
        value, word_of(address), inst.mem,
        [&](Value old) {
          const Value part = half_of(old, shift);
          return b_.select(b_.cmp(Op::eq, part, compare), insert_half(old, data, shift), old);
        },
        shift);
  }

  Value half_of(Value word, Value shift) {
    return b_.op2(Op::and_, b_.op2(Op::lshr, word, shift), b_.i32(0xffff));
  }
  Value half_shift(Value address) {
    const Value low =
        f_.insts[address].type == Type::i64 ? b_.inst(Op::trunc, Type::i32, {address}) : address;
    return b_.op2(Op::shl, b_.op2(Op::and_, low, b_.i32(2)), b_.i32(3));
  }
  Value word_of(Value address) {
    if (f_.insts[address].type == Type::i64)
      return b_.op2(Op::and_, address, b_.i64(~std::uint64_t{3}));
    return b_.op2(Op::and_, address, b_.i32(~3u));
  }
  Value insert_half(Value old, Value half, Value shift) {
    const Value mask = b_.inst(Op::not_, Type::i32, {b_.op2(Op::shl, b_.i32(0xffff), shift)});
    return b_.op2(Op::or_, b_.op2(Op::and_, old, mask),
                  b_.op2(Op::shl, b_.op2(Op::and_, half, b_.i32(0xffff)), shift));
  }

  Function& f_;
  const Profile& profile_;
  const bool host_;
  CfgRewriter rw_;
  Builder& b_;
  LaneGroups lanes_;
  std::vector<bool> used_;
  Wide wide_;
  bool shared_emulated_ = false;  ///< whether some 64-bit atomics of shared memory are
};

// An atomic orders memory as a barrier does, and changes nothing where it adds 0.
void barriers_as_atomics(Function& function) {
  CfgRewriter rewriter(function);
  Builder& b = rewriter.builder();
  rewriter.run([&](Value value) {
    if (function.insts[value].op != Op::memory_barrier) return rewriter.keep(value);
    const Value nothing = b.inst(Op::atomic, Type::i32, {b.i32(abi::t_count * 4), b.i32(0)});
    b.last(nothing).mem = {.space = Space::trap, .bytes = 4, .atomic = AtomicOp::add};
  });
}

}  // namespace

void legalise_atomics(Function& function, const Profile& profile, bool host) {
  if (profile.workarounds.barriers_as_atomics) barriers_as_atomics(function);
  bool any = false;
  for (const Block& block : function.blocks)
    for (const Value v : block.insts) any = any || is_atomic(function.insts[v].op);
  if (any) Legaliser(function, profile, host).run();
}

}  // namespace ptx2spv::passes
