// Byte offsets into arrays of words. SPIR-V indexes bound buffers, shared and local memory by
// elements, so that every access would shift its offset right; compilers made the offset by
// shifting left. Here the offset is computed in elements where its terms allow it, and handed on as
// element << k, which the emitter takes apart. GPUs can then fold constants into the access.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <unordered_map>

#include "translator/passes/analysis/known_bits.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewrite.hpp"

namespace ptx2spv::passes {

namespace {

bool private_words(Space space) { return space == Space::shared || space == Space::local; }

/// Bytes of the elements that an access counts in, as a power of two; 0 where it has no index.
unsigned element_log2(const MemAttr& mem, bool shared_layout) {
  const auto own = static_cast<unsigned>(std::countr_zero(static_cast<unsigned>(mem.bytes)));
  if (mem.space == Space::shared && shared_layout) return own;
  if (mem.bytes < 4) return 0;
  switch (mem.space) {
    case Space::shared:
    case Space::local: return 2;
    case Space::slot:
    case Space::constant:
    case Space::table:
    case Space::textures: return own;
    default: return 0;
  }
}

class ScaleAddresses {
 public:
  ScaleAddresses(Function& f, bool shared_layout)
      : f_(f), shared_layout_(shared_layout), rewrite_(f), b_(rewrite_.builder()), known_(f) {}

  bool run() {
    find_counters();
    BlockId block = kNoBlock;
    const bool any = rewrite_.run([&](Value v) {
      if (!counters_.empty()) count(v);
      if (b_.block() != block) {
        block = b_.block();
        made_.clear();
      }
      if (is_access(f_.insts[v].op)) rewrite(v);
      return v;
    });
    for (const auto& [phi, counter] : counters_) {
      if (!counter.made) continue;
      f_.args(counter.made)[counter.entry] = zero_;
      f_.args(counter.made)[1 - counter.entry] = counter.next;
    }
    return any;
  }

 private:
  static constexpr unsigned kWordLog2 = 2;  ///< of private words
  /// A phi that a loop counts up or down by whole words. What it has counted is a phi of its own,
  /// in words, to which an address adds where the loop began.
  struct Counter {
    Value step = 0;      ///< the sum that it is in the next iteration
    unsigned entry = 0;  ///< the operand that comes from outside
    Value made = 0, next = 0;
  };

  /// Those that private words are reached by.
  void find_counters() {
    for (const Block& block : f_.blocks)
      for (const Value access : block.insts) {
        const Inst& inst = f_.insts[access];
        if (!is_access(inst.op) || !private_words(inst.mem.space) ||
            element_log2(inst.mem, shared_layout_) != kWordLog2)
          continue;
        find_counter(f_.arg(access, 0), 0);
      }
  }
  /// Those that are terms of a sum.
  void find_counter(Value v, unsigned depth) {
    const Inst& inst = f_.insts[v];
    if (inst.type != Type::i32 || depth == 4) return;
    if (inst.op == Op::add || inst.op == Op::sub) {
      find_counter(f_.arg(v, 0), depth + 1);
      find_counter(f_.arg(v, 1), depth + 1);
    }
    if (inst.op != Op::phi || inst.count != 2 || counters_.contains(v)) return;
    for (const unsigned entry : {0u, 1u}) {
      const Value start = f_.arg(v, entry), step = f_.arg(v, 1 - entry);
      std::uint32_t by = 0;
      if (f_.insts[step].op == Op::add && f_.arg(step, 0) == v && constant(f_.arg(step, 1), by) &&
          by % (1u << kWordLog2) == 0 && known_.alignment(start) >= 1u << kWordLog2)
        counters_[v] = {step, entry};
    }
  }

  /// Makes the parts of a counter beside its own.
  void count(Value v) {
    if (zero_ == 0) zero_ = b_.i32(0);
    const Inst& inst = f_.insts[v];
    if (inst.op == Op::phi) {
      const auto found = counters_.find(v);
      if (found != counters_.end())
        found->second.made = b_.inst(Op::phi, Type::i32, {zero_, zero_});
    } else if (inst.op == Op::add) {
      const auto found = counters_.find(f_.arg(v, 0));
      if (found == counters_.end() || found->second.step != v) return;
      const auto words = static_cast<std::int32_t>(f_.insts[f_.arg(v, 1)].imm) >> kWordLog2;
      found->second.next =
          b_.op2(Op::add, found->second.made, b_.i32(static_cast<std::uint32_t>(words)));
    }
  }

  void rewrite(Value v) {
    const MemAttr mem = f_.insts[v].mem;
    const unsigned k = element_log2(mem, shared_layout_);
    const Value address = f_.arg(v, 0);
    if (k == 0 || f_.insts[address].op == Op::constant || f_.insts[address].type != Type::i32)
      return;
    Value element = elements(address, k);
    if (!element) return;
    // Of an offset that wrapped around, the element's upper bits are not the offset's. Offsets into
    // a surface were compared with its extent as bytes; those into the workgroup's and the thread's
    // own memory are within it, or the program is undefined.
    const std::uint32_t mask = 0xffffffffu >> k;
    if (!private_words(mem.space) && (known_.zeros(element) & ~mask) != ~std::uint64_t{mask})
      element = b_.op2(Op::and_, element, b_.i32(mask));
    const Value bytes = b_.op2(Op::shl, element, b_.i32(k));
    f_.args(v)[0] = bytes;
  }

  /// `v` / 2^k modulo 2^(32 - k), as an i32 also of an i64, 0 where only a shift could give it.
  Value elements(Value v, unsigned k) {
    const auto [found, is_new] = made_.try_emplace(std::uint64_t{v} << 8 | k, 0);
    if (!is_new) return found->second;
    const Value made = derive(v, k);
    made_[std::uint64_t{v} << 8 | k] = made;
    return made;
  }

  /// Where a value lies as a signed number.
  struct Bounds {
    std::int64_t low, high;
    bool fits() const { return low >= INT32_MIN && high <= INT32_MAX; }
  };
  Bounds bounds(Value v, unsigned depth = 0) const {
    const Inst& inst = f_.insts[v];
    Bounds any{INT32_MIN, INT32_MAX};
    if (known_.zeros(v) & 0x80000000u)
      any = {0, static_cast<std::int64_t>(~known_.zeros(v) & 0xffffffffu)};
    if (inst.op == Op::constant) {
      const std::int64_t value = static_cast<std::int32_t>(inst.imm);
      return {value, value};
    }
    switch (inst.op) {
      case Op::add:
      case Op::sub:
      case Op::shl:
      case Op::mul:
      case Op::smin:
      case Op::smax: break;
      default: return any;
    }
    if (depth == 8) return any;
    const Bounds a = bounds(f_.arg(v, 0), depth + 1), d = bounds(f_.arg(v, 1), depth + 1);
    Bounds made = any;
    switch (inst.op) {
      case Op::add: made = {a.low + d.low, a.high + d.high}; break;
      case Op::sub: made = {a.low - d.high, a.high - d.low}; break;
      case Op::shl:
        if (d.low != d.high || d.low < 0 || d.low > 31) return any;
        made = {a.low << d.low, a.high << d.low};
        break;
      case Op::mul:
        if (d.low != d.high || d.low < 0) return any;
        made = {a.low * d.low, a.high * d.low};
        break;
      case Op::smin: return {std::min(a.low, d.low), std::min(a.high, d.high)};
      case Op::smax: return {std::max(a.low, d.low), std::max(a.high, d.high)};
      default: return any;
    }
    // One that may leave the 32 bits wraps around.
    return made.fits() ? made : any;
  }
  static Bounds sum(const Bounds& a, const Bounds& d, bool minus) {
    return minus ? Bounds{a.low - d.high, a.high - d.low} : Bounds{a.low + d.low, a.high + d.high};
  }

  /// `v` / 2^k as a signed number, whose upper bits count, as orderings and masks need it; 0 where
  /// only a shift could give it.
  Value whole(Value v, unsigned k, unsigned depth = 0) {
    const Inst inst = f_.insts[v];
    const Value a = inst.count > 0 ? f_.arg(v, 0) : 0, d = inst.count > 1 ? f_.arg(v, 1) : 0;
    std::uint32_t c = 0;
    if (depth == 8) return 0;
    const auto part = [&](Value of) {
      if (const Value made = whole(of, k, depth + 1)) return made;
      const bool shiftable = known_.alignment(of) >= 1u << k && known_.zeros(of) & 0x80000000u;
      return shiftable && uniform(of) ? b_.op2(Op::lshr, of, b_.i32(k)) : 0;
    };
    switch (inst.op) {
      case Op::constant: return elements(v, k);
      case Op::shl:
        if (!constant(d, c) || c < k || c >= 32) return 0;
        if (const Bounds of = bounds(a); !Bounds{of.low << c, of.high << c}.fits()) return 0;
        return c == k ? a : b_.op2(Op::shl, a, b_.i32(c - k));
      case Op::mul:
        if (!constant(d, c) || c == 0 || c >> 31 || (c & ((1u << k) - 1))) return 0;
        if (const Bounds of = bounds(a); !Bounds{of.low * c, of.high * c}.fits()) return 0;
        return c >> k == 1 ? a : b_.op2(Op::mul, a, b_.i32(c >> k));
      case Op::and_: {
        // A field that was taken out at a multiple of 2^k is taken out at its end.
        std::uint32_t from = 0;
        if (!constant(d, c) || c >> 31 || (c & ((1u << k) - 1))) return 0;
        if (f_.insts[a].op != Op::lshr || !constant(f_.arg(a, 1), from) || from + k >= 32) return 0;
        const Value field = b_.op2(Op::lshr, f_.arg(a, 0), b_.i32(from + k));
        if (from + k + static_cast<unsigned>(std::bit_width(c >> k)) == 32 &&
            std::has_single_bit((c >> k) + 1))
          return field;
        return b_.op2(Op::and_, field, b_.i32(c >> k));
      }
      case Op::add:
      case Op::sub: {
        if (!sum(bounds(a), bounds(d), inst.op == Op::sub).fits()) return 0;
        const Value x = part(a), y = x ? part(d) : 0;
        return y ? b_.op2(inst.op, x, y) : 0;
      }
      case Op::smin:
      case Op::smax: {
        const Value x = part(a), y = x ? part(d) : 0;
        return y ? b_.op2(inst.op, x, y) : 0;
      }
      default: return 0;
    }
  }

  /// Read once for all threads, where a shift costs little or nothing
  /// (promote_params_to_push_constants).
  bool uniform(Value v) const {
    const Inst& inst = f_.insts[v];
    return inst.op == Op::load && (inst.mem.space == Space::param || inst.mem.space == Space::push);
  }

  bool constant(Value v, std::uint32_t& value) const {
    value = static_cast<std::uint32_t>(f_.insts[v].imm);
    return f_.insts[v].op == Op::constant;
  }

  /// Of signed numbers, as that of a term: an index into memory that nothing bounds is a sum of
  /// whole words, in which 2^30 is no 0.
  static std::uint32_t quotient(std::uint64_t c, unsigned k) {
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(c) >> k);
  }

  /// A term that has to be shifted: worth it when it is one of a sum, whose other terms then are
  /// not. Not where that is a sum of 64 bits: drivers unroll a loop over a pointer, not over two.
  Value term(Value v, unsigned k) {
    if (const Value made = elements(v, k)) return made;
    if (f_.insts[v].type != Type::i32 || known_.alignment(v) < 1u << k) return 0;
    const bool unsigned_number = uniform(v) || known_.zeros(v) & 0x80000000u;
    return b_.op2(unsigned_number ? Op::lshr : Op::ashr, v, b_.i32(k));
  }
  Value low(Value v) {
    if (f_.insts[v].type != Type::i64) return v;
    const bool extended = f_.insts[v].op == Op::sext || f_.insts[v].op == Op::zext;
    if (extended && f_.insts[f_.arg(v, 0)].type == Type::i32) return f_.arg(v, 0);
    return b_.inst(Op::trunc, Type::i32, {v});
  }

  Value derive(Value v, unsigned k) {
    const Inst inst = f_.insts[v];
    const Value a = inst.count > 0 ? f_.arg(v, 0) : 0, d = inst.count > 1 ? f_.arg(v, 1) : 0;
    std::uint32_t c = 0;
    switch (inst.op) {
      case Op::constant:
        if (inst.imm & ((1u << k) - 1)) return 0;
        return b_.i32(quotient(inst.imm, k));
      case Op::shl:
        if (!constant(d, c) || c < k || c >= 32) return 0;
        return c == k ? low(a) : b_.op2(Op::shl, low(a), b_.i32(c - k));
      case Op::trunc:
      case Op::pack: return elements(a, k);
      case Op::sext:
      case Op::zext: return f_.insts[a].type == Type::i32 ? elements(a, k) : 0;
      case Op::mul:
        if (!constant(d, c)) {
          // A pitch is a multiple of more than that.
          for (const Value pitch : {a, d})
            if (uniform(pitch) && known_.alignment(pitch) >= 1u << k)
              return b_.op2(Op::mul, low(pitch == a ? d : a),
                            b_.op2(Op::lshr, low(pitch), b_.i32(k)));
          return 0;
        }
        if (c == 0 || (c & ((1u << k) - 1))) return 0;
        return c >> k == 1 ? low(a) : b_.op2(Op::mul, low(a), b_.i32(quotient(c, k)));
      case Op::add:
      case Op::sub: {
        // At least one side gets rid of its shift; a sum of two shifts would be worse than one.
        const Value x = elements(a, k), y = elements(d, k);
        if (!x && !y) return 0;
        const Value left = x ? x : term(a, k), right = y ? y : term(d, k);
        return left && right ? b_.op2(inst.op, left, right) : 0;
      }
      case Op::select: {
        const Value x = elements(d, k), y = elements(f_.arg(v, 2), k);
        if (!x && !y) return 0;
        const Value left = x ? x : term(d, k), right = y ? y : term(f_.arg(v, 2), k);
        return left && right ? b_.select(a, left, right) : 0;
      }
      case Op::phi: {
        const auto found = counters_.find(v);
        if (k != kWordLog2 || found == counters_.end() || !found->second.made) return 0;
        const Value start = term(f_.arg(v, found->second.entry), k);
        return start ? b_.op2(Op::add, start, found->second.made) : 0;
      }
      case Op::and_:
      case Op::smin:
      case Op::smax: return inst.type == Type::i32 ? whole(v, k) : 0;
      default: return 0;
    }
  }

  Function& f_;
  const bool shared_layout_;
  SsaRewriter rewrite_;
  Builder& b_;
  const KnownBits known_;
  std::unordered_map<Value, Counter> counters_;  ///< by phi
  Value zero_ = 0;
  std::unordered_map<std::uint64_t, Value> made_;  ///< of the block being walked, by value and k
};

}  // namespace

bool scale_addresses(Function& function, Module&, bool shared_layout) {
  return ScaleAddresses(function, shared_layout).run();
}

}  // namespace ptx2spv::passes
