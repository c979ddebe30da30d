// NVIDIA's single precision has one NaN, so lowering selects 0x7fffffff where signs are changed as
// bits, and legalise_float after each operation of a device whose arithmetic may give another one.
// Which NaN it is matters only where something looks at the bits: sums, products and comparisons of
// NaN have the same results for all of them.
#include <vector>

#include "translator/passes/passes.hpp"
#include "translator/passes/rewrite.hpp"

namespace ptx2spv::passes {

namespace {

constexpr std::uint32_t kNan = 0x7fffffff, kInfinity = 0x7f800000, kSign = 0x80000000;

class NanSelects {
 public:
  explicit NanSelects(Function& function) : f_(function) {}

  bool run() {
    note_uses();
    spread();
    return SsaRewriter(f_).run([&](Value v) {
      const Value number = selected(v);
      return number && !observed_[v] ? number : v;
    });
  }

 private:
  /// What a use does with its operand's NaN.
  enum class Use : std::uint8_t {
    none,     ///< its result is the same for all of them
    passes,   ///< its result may be that NaN
    observes  ///< it looks at the bits
  };

  bool constant(Value v, std::uint32_t bits) const {
    return f_.insts[v].op == Op::constant && f_.insts[v].imm == bits;
  }
  bool is(Value v, Op op, unsigned count) const {
    return f_.insts[v].op == op && f_.insts[v].count == count;
  }
  /// The x of x & 0x7fffffff, or 0.
  Value magnitude_of(Value v) const {
    if (!is(v, Op::and_, 2)) return 0;
    if (constant(f_.arg(v, 1), kNan)) return f_.arg(v, 0);
    return constant(f_.arg(v, 0), kNan) ? f_.arg(v, 1) : 0;
  }
  /// The x that the truth value tests for NaN, or 0.
  Value tested(Value v) const {
    if (!is(v, Op::ult, 2) || !constant(f_.arg(v, 0), kInfinity)) return 0;
    return magnitude_of(f_.arg(v, 1));
  }
  /// The x of -x, or 0.
  Value negated(Value v) const {
    return is(v, Op::xor_, 2) && constant(f_.arg(v, 1), kSign) ? f_.arg(v, 0) : 0;
  }
  /// The y of isnan(x) ? 0x7fffffff : y, where y is x or -x or |x|, or 0.
  Value selected(Value v) const {
    if (!is(v, Op::select, 3) || f_.insts[v].type != Type::i32) return 0;
    const Value number = f_.arg(v, 2), nan = tested(f_.arg(v, 0));
    if (!nan || !constant(f_.arg(v, 1), kNan)) return 0;
    return number == nan || negated(number) == nan || magnitude_of(number) == nan ? number : 0;
  }

  /// Whether a selection's first value is compared by its condition, which holds for no NaN.
  bool compares(Value v) const {
    const Value condition = f_.arg(v, 0);
    if (!is_within(f_.insts[condition].op, Op::native_feq, Op::native_fle)) return false;
    return f_.arg(condition, 0) == f_.arg(v, 1) || f_.arg(condition, 1) == f_.arg(v, 1);
  }

  Use use(Value user, unsigned operand) const {
    const Op op = f_.insts[user].op;
    if (is_within(op, Op::native_feq, Op::native_fle)) return Use::none;
    if (is_within(op, Op::native_fadd, Op::native_fmax) || op == Op::native_unary)
      return Use::passes;
    if (is_within(op, Op::fadd, Op::funord) && f_.insts[user].fp.kind == NumKind::f32)
      return Use::none;
    switch (op) {
      case Op::phi: return Use::passes;
      case Op::select:
        return selected(user) || !operand || (operand == 1 && compares(user)) ? Use::none
                                                                              : Use::passes;
      case Op::and_: return magnitude_of(user) ? Use::passes : Use::observes;
      case Op::xor_:
        return constant(f_.arg(user, operand ^ 1), kSign) ? Use::passes : Use::observes;
      case Op::ult: return tested(user) ? Use::none : Use::observes;
      case Op::fcvt: return f_.insts[user].fp.to < NumKind::f16 ? Use::none : Use::observes;
      default: return Use::observes;
    }
  }

  void note_uses() {
    observed_.assign(f_.insts.size(), false);
    from_.resize(f_.insts.size());
    for (const Block& block : f_.blocks)
      for (const Value v : block.insts) {
        const auto args = f_.args(v);
        for (unsigned i = 0; i < args.size(); ++i) {
          if (f_.insts[args[i]].type != Type::i32) continue;
          const Use how = use(v, i);
          if (how == Use::passes) from_[v].push_back(args[i]);
          if (how == Use::observes) observe(args[i]);
        }
      }
  }

  void observe(Value v) {
    if (observed_[v]) return;
    observed_[v] = true;
    work_.push_back(v);
  }

  void spread() {
    while (!work_.empty()) {
      const Value v = work_.back();
      work_.pop_back();
      for (const Value a : from_[v]) observe(a);
    }
  }

  Function& f_;
  std::vector<bool> observed_;            ///< something looks at the value's bits
  std::vector<std::vector<Value>> from_;  ///< whose NaN a value may have
  std::vector<Value> work_;
};

}  // namespace

bool elide_nan_selects(Function& function) { return NanSelects(function).run(); }

}  // namespace ptx2spv::passes
