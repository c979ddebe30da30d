// Contraction of multiplications and additions, as ptxas does it: PTX leaves an addition or
// multiplication without a rounding modifier open to it, so a kernel's results on NVIDIA hardware
// depend on which are fused.
//
// docs/reference/hardware.md has the rules (tests/instructions/contractions_test.cpp). Lowering
// numbers the blocks. Of a sum's two products the other one stays a product.
#include <utility>
#include <vector>

#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

namespace {

struct Use {
  Value sum = 0;
  std::uint8_t operand = 0;
  bool negated = false;
};

std::uint64_t sign_of(NumKind kind) {
  switch (kind) {
    case NumKind::f64: return std::uint64_t{1} << 63;
    case NumKind::f32: return 0x80000000u;
    default: return 0x8000u;
  }
}

std::uint64_t infinity_of(NumKind kind) {
  switch (kind) {
    case NumKind::f64: return 0x7ff0000000000000;
    case NumKind::f32: return 0x7f800000;
    case NumKind::bf16: return 0x7f80;
    default: return 0x7c00;
  }
}

class Contraction {
 public:
  explicit Contraction(Function& function) : f_(function) {}

  bool run() {
    forward_halves();
    find_live();
    find_users();
    for (const Value v : products_) collect(v);
    if (candidates_.empty()) return false;
    choose();
    return rewrite();
  }

 private:
  struct Candidate {
    Value product = 0;
    std::vector<Use> uses;
    bool alive = true;
  };

  /// Packed halves come as the two results in one word, taken apart again by the next instruction:
  /// the half that goes in is the half that comes out.
  void forward_halves() {
    const auto is_half = [&](Value v) {
      const Inst& inst = f_.insts[v];
      const bool narrow = inst.fp.kind == NumKind::f16 || inst.fp.kind == NumKind::bf16;
      if (inst.op == Op::select)  // neg.f16x2; that of bf16 fuses nothing
        return f_.insts[f_.arg(v, 2)].op == Op::xor_ &&
               is_selected_negation(v, NumKind::f16, f_.arg(f_.arg(v, 2), 0));
      return narrow && (inst.op == Op::fadd || inst.op == Op::fmul || inst.op == Op::ffma);
    };
    const auto constant = [&](Value v, std::uint64_t value) {
      return f_.insts[v].op == Op::constant && f_.insts[v].imm == value;
    };
    // The operand of a pair (low | high << 16) that stands in its low or high half.
    const auto half_of = [&](Value pair, bool high) -> Value {
      if (f_.insts[pair].op != Op::or_) return 0;
      for (unsigned i = 0; i < 2; ++i) {
        const Value low = f_.arg(pair, i), shifted = f_.arg(pair, 1 - i);
        if (!is_half(low) || f_.insts[shifted].op != Op::shl || !constant(f_.arg(shifted, 1), 16))
          continue;
        const Value top = f_.arg(shifted, 0);
        if (is_half(top)) return high ? top : low;
      }
      return 0;
    };
    std::vector<Value> same(f_.insts.size(), 0);
    bool any = false;
    for (const Block& block : f_.blocks)
      for (const Value v : block.insts) {
        const Op op = f_.insts[v].op;
        Value source = 0;
        if (op == Op::and_ && constant(f_.arg(v, 1), 0xffff)) source = half_of(f_.arg(v, 0), false);
        if (op == Op::and_ && constant(f_.arg(v, 0), 0xffff)) source = half_of(f_.arg(v, 1), false);
        if (op == Op::lshr && constant(f_.arg(v, 1), 16)) source = half_of(f_.arg(v, 0), true);
        same[v] = source;
        any = any || source;
      }
    if (!any) return;
    for (const Block& block : f_.blocks)
      for (const Value v : block.insts)
        for (Value& a : f_.args(v))
          if (same[a]) a = same[a];
  }

  /// What an effect or a branch needs: pairs that were forwarded are no use of their halves any
  /// more.
  void find_live() {
    live_.assign(f_.insts.size(), false);
    std::vector<Value> work;
    const auto mark = [&](Value v) {
      if (v && !live_[v]) {
        live_[v] = true;
        work.push_back(v);
      }
    };
    for (const Block& block : f_.blocks) {
      mark(block.cond);
      for (const Value v : block.insts)
        if (!(info(f_.insts[v].op).flags & flag::P)) mark(v);
    }
    while (!work.empty()) {
      const Value v = work.back();
      work.pop_back();
      for (const Value a : f_.args(v)) mark(a);
    }
  }

  void find_users() {
    first_.assign(f_.insts.size() + 1, 0);
    other_use_.assign(f_.insts.size(), false);
    for (const Block& block : f_.blocks) {
      other_use_[block.cond] = true;
      for (const Value v : block.insts) {
        if (!live_[v]) continue;
        for (const Value a : f_.args(v)) ++first_[a + 1];
        const Inst& inst = f_.insts[v];
        if (inst.op == Op::fmul && inst.fp.contract && !inst.fp.sat) products_.push_back(v);
      }
    }
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    users_.resize(first_.back());
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (const Block& block : f_.blocks)
      for (const Value v : block.insts)
        for (unsigned i = 0; live_[v] && i < f_.insts[v].count; ++i)
          users_[next[f_.arg(v, i)]++] = {v, static_cast<std::uint8_t>(i), false};
  }

  bool is_constant(Value v, std::uint64_t imm) const {
    return f_.insts[v].op == Op::constant && f_.insts[v].imm == imm;
  }

  bool is_negation(Value v, NumKind kind, Value of) const {
    if (f_.insts[v].op != Op::xor_) return false;
    const Value x = f_.arg(v, 0), y = f_.arg(v, 1);
    return (x == of && is_constant(y, sign_of(kind))) || (y == of && is_constant(x, sign_of(kind)));
  }

  /// Whether they are one value, or products of the same factors.
  bool same_product(Value a, Value b) const {
    if (a == b) return true;
    const Inst &x = f_.insts[a], &y = f_.insts[b];
    if (x.op != Op::fmul || y.op != Op::fmul || x.fp != y.fp) return false;
    const auto p = f_.args(a), q = f_.args(b);
    return (p[0] == q[0] && p[1] == q[1]) || (p[0] == q[1] && p[1] == q[0]);
  }

  /// Whether `v` is isnan(x) ? NaN : -x of x = `of`, as lowering negates, which keep a NaN's sign.
  bool is_selected_negation(Value v, NumKind kind, Value of) const {
    return f_.insts[v].op == Op::select && is_negation(f_.arg(v, 2), kind, of) &&
           keeps_nan(v, kind, of);
  }

  /// Whether the selection `v` is isnan(of) ? NaN : ...
  bool keeps_nan(Value v, NumKind kind, Value of) const {
    const Value test = f_.arg(v, 0), nan = f_.arg(v, 1);
    const bool quiet = f_.insts[nan].op == Op::or_ && f_.arg(nan, 0) == of &&
                       is_constant(f_.arg(nan, 1), std::uint64_t{1} << 51);
    if (nan != of && !is_constant(nan, sign_of(kind) - 1) && !quiet) return false;
    return f_.insts[test].op == Op::ult && is_constant(f_.arg(test, 0), infinity_of(kind)) &&
           f_.insts[f_.arg(test, 1)].op == Op::and_ && f_.arg(f_.arg(test, 1), 0) == of &&
           is_constant(f_.arg(f_.arg(test, 1), 1), sign_of(kind) - 1);
  }

  /// Whether an operand of a machine instruction can be `v`: a constant, a parameter or element of
  /// .const memory at a fixed place, or the negation or magnitude of those, or both.
  bool is_ready(Value v, NumKind kind, unsigned steps = 4) const {
    const Inst& inst = f_.insts[v];
    if (steps-- == 0) return false;
    switch (inst.op) {
      case Op::constant: return true;
      case Op::load: {
        if (inst.mem.space != Space::param && inst.mem.space != Space::constant) return false;
        const Value address = f_.arg(v, 0);
        return f_.insts[address].op == Op::constant ||
               (f_.insts[address].op == Op::trunc &&
                f_.insts[f_.arg(address, 0)].op == Op::constant);
      }
      case Op::xor_:
        return is_negation(v, kind, f_.arg(v, 0)) && is_ready(f_.arg(v, 0), kind, steps);
      case Op::and_:
        return is_constant(f_.arg(v, 1), sign_of(kind) - 1) && is_ready(f_.arg(v, 0), kind, steps);
      case Op::select: {
        const Value other = f_.arg(v, 2);
        return (f_.insts[other].op == Op::xor_ || f_.insts[other].op == Op::and_) &&
               keeps_nan(v, kind, f_.arg(other, 0)) && is_ready(other, kind, steps + 1);
      }
      default: return false;
    }
  }

  bool has_ready_factor(const Inst& product) const {
    const NumKind kind = product.fp.kind;
    return is_ready(f_.operands[product.first], kind) ||
           is_ready(f_.operands[product.first + 1], kind);
  }

  /// Whether `v`, made of `of`, only serves such selections of `of`: is one, or its test or NaN.
  bool serves_negation(Value v, NumKind kind, Value of) const {
    if (is_selected_negation(v, kind, of)) return true;
    const Op op = f_.insts[v].op;
    if (other_use_[v] || (op != Op::and_ && op != Op::or_ && op != Op::ult)) return false;
    for (std::uint32_t i = first_[v]; i < first_[v + 1]; ++i) {
      const Value user = users_[i].sum;
      const bool selects = is_selected_negation(user, kind, of);
      if (op == Op::and_ ? f_.insts[user].op != Op::ult || !serves_negation(user, kind, of)
                         : !selects)
        return false;
    }
    return true;
  }

  /// The sums that use `value`, which is the product or its negation; false if anything else does.
  bool gather(Value value, const Inst& product, bool negated, std::vector<Use>& uses) const {
    if (other_use_[value]) return false;
    const bool anywhere = has_ready_factor(product);
    const NumKind kind = product.fp.kind;
    for (std::uint32_t i = first_[value]; i < first_[value + 1]; ++i) {
      const Use& user = users_[i];
      const Inst& inst = f_.insts[user.sum];
      const bool sum = inst.op == Op::fadd && inst.fp.contract && inst.fp.kind == kind &&
                       inst.fp.ftz == product.fp.ftz &&
                       (anywhere || f_.locs[inst.loc].block == f_.locs[product.loc].block);
      if (sum) {
        if (same_product(f_.arg(user.sum, 0), f_.arg(user.sum, 1))) return false;
        uses.push_back({user.sum, user.operand, negated});
      } else if (is_negation(user.sum, kind, value)) {
        if (!gather(user.sum, product, !negated, uses)) return false;
      } else if (user.operand == 2 && inst.op == Op::select &&
                 is_selected_negation(user.sum, kind, f_.arg(value, 0))) {
        if (!gather(user.sum, product, negated, uses)) return false;
      } else if (!serves_negation(user.sum, kind, value)) {
        return false;
      }
    }
    return true;
  }

  void collect(Value product) {
    Candidate candidate;
    candidate.product = product;
    if (!gather(product, f_.insts[product], false, candidate.uses) || candidate.uses.empty())
      return;
    // Both operands of one sum, one of them negated: the product minus itself stays as it is.
    for (std::size_t i = 1; i < candidate.uses.size(); ++i)
      for (std::size_t k = 0; k < i && i < 8; ++k)
        if (candidate.uses[i].sum == candidate.uses[k].sum) return;
    candidates_.push_back(std::move(candidate));
  }

  /// Each sum takes the product with fewer uses if that is fused, or its first operand's, else the
  /// other; a product is fused only where all its sums take it.
  void choose() {
    std::vector<std::uint32_t> of[2];
    for (auto& list : of) list.assign(f_.insts.size(), 0);  // candidate + 1, by sum
    for (std::uint32_t c = 0; c < candidates_.size(); ++c)
      for (const Use& use : candidates_[c].uses) of[use.operand][use.sum] = c + 1;
    constexpr int kRounds = 8;
    for (int round = 0; round < kRounds; ++round) {
      bool changed = false;
      for (std::uint32_t c = 0; c < candidates_.size(); ++c) {
        bool all = true;
        const std::size_t uses = candidates_[c].uses.size();
        for (const Use& use : candidates_[c].uses) {
          const std::uint32_t other = of[1 - use.operand][use.sum];
          if (!other || !candidates_[other - 1].alive) continue;
          const std::size_t others = candidates_[other - 1].uses.size();
          if (others < uses || (others == uses && use.operand == 1)) all = false;
        }
        if (all != candidates_[c].alive) changed = true;
        candidates_[c].alive = all;
      }
      if (!changed) return;
    }
  }

  /// -a; a NaN of a double keeps its sign.
  static Value negation(Builder& b, Value a, NumKind kind) {
    const std::uint64_t sign = sign_of(kind);
    if (kind != NumKind::f64) return b.op2(Op::xor_, a, b.i32(static_cast<std::uint32_t>(sign)));
    const Value minus = b.op2(Op::xor_, a, b.i64(sign));
    const Value magnitude = b.op2(Op::and_, a, b.i64(sign - 1));
    return b.select(b.cmp(Op::ult, b.i64(infinity_of(kind)), magnitude), a, minus);
  }

  bool rewrite() {
    std::vector<std::pair<const Candidate*, const Use*>> fused(f_.insts.size());
    bool any = false;
    std::vector<bool> taken(f_.insts.size());
    for (const Candidate& candidate : candidates_) {
      if (!candidate.alive) continue;
      for (const Use& use : candidate.uses) {
        if (taken[use.sum]) continue;
        taken[use.sum] = true;
        fused[use.sum] = {&candidate, &use};
        any = true;
      }
    }
    if (!any) return false;
    const auto original = static_cast<Value>(f_.insts.size());
    Builder b(f_);
    for (BlockId block = 0; block < f_.blocks.size(); ++block) {
      const std::vector<Value> old = std::exchange(f_.blocks[block].insts, {});
      b.at(block);
      for (const Value v : old) {
        if (v < original && fused[v].first) {
          const Value product = fused[v].first->product;
          const Use& use = *fused[v].second;
          Value a = f_.arg(product, 0);
          const Value c = f_.arg(product, 1), addend = f_.arg(v, 1 - use.operand);
          b.set_loc(f_.insts[v].loc);
          if (use.negated) a = negation(b, a, f_.insts[v].fp.kind);
          const auto first = static_cast<std::uint32_t>(f_.operands.size());
          f_.operands.insert(f_.operands.end(), {a, c, addend});
          Inst& inst = f_.insts[v];
          inst.op = Op::ffma;
          inst.first = first;
          inst.count = 3;
        }
        f_.blocks[block].insts.push_back(v);
      }
    }
    return true;
  }

  Function& f_;
  std::vector<std::uint32_t> first_;
  std::vector<Use> users_;
  std::vector<bool> other_use_, live_;
  std::vector<Value> products_;
  std::vector<Candidate> candidates_;
};

}  // namespace

bool fma_contract(Function& function, Module&) { return Contraction(function).run(); }

}  // namespace ptx2spv::passes
