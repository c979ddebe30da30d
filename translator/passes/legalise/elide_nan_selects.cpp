// NVIDIA's single precision has one NaN, so lowering selects 0x7fffffff where signs are changed as
// bits, and legalise_float after each operation of a device whose arithmetic may give another one.
// Which NaN it is matters only where something looks at the bits: sums, products and comparisons of
// NaN have the same results for all of them. Double precision keeps NaN, but those of a value that
// only leads to comparisons and integers may be any as well.
#include <vector>

#include "translator/ir/double_signs.hpp"
#include "translator/passes/legalise/nan_uses.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewrite.hpp"

namespace ptx2spv::passes {

namespace {

constexpr std::uint32_t kNan = 0x7fffffff;

class NanUses {
 public:
  explicit NanUses(const Function& function) : f_(function) {
    note_uses();
    spread();
  }

  const std::vector<bool>& observed() const { return observed_; }

  /// The y of isnan(x) ? 0x7fffffff : y, where y is x or -x or |x|, or 0.
  Value selected(Value v) const {
    if (!is(v, Op::select, 3) || f_.insts[v].type != Type::i32) return 0;
    const Value number = f_.arg(v, 2), nan = tested(f_.arg(v, 0));
    if (!nan || !constant(f_.arg(v, 1), kNan)) return 0;
    return number == nan || negated(number) == nan || magnitude_of(number) == nan ? number : 0;
  }

 private:
  /// What a use does with its operand's NaN.
  enum class Use : std::uint8_t {
    none,     ///< its result is the same for all of them
    passes,   ///< its result may be that NaN
    observes  ///< it looks at the bits
  };

  bool constant(Value v, std::uint64_t bits) const {
    return f_.insts[v].op == Op::constant && f_.insts[v].imm == bits;
  }
  bool is(Value v, Op op, unsigned count) const {
    return f_.insts[v].op == op && f_.insts[v].count == count;
  }
  bool wide(Value v) const { return f_.insts[v].type == Type::i64; }
  std::uint64_t sign(Value v) const { return std::uint64_t{1} << (wide(v) ? 63 : 31); }
  /// The x of a sign cleared, or 0.
  Value magnitude_of(Value v) const {
    if (!is(v, Op::and_, 2)) return 0;
    if (constant(f_.arg(v, 1), sign(v) - 1)) return f_.arg(v, 0);
    return constant(f_.arg(v, 0), sign(v) - 1) ? f_.arg(v, 1) : 0;
  }
  /// The x that the truth value tests for NaN, or 0.
  Value tested(Value v) const {
    const std::uint64_t infinity =
        is(v, Op::ult, 2) && wide(f_.arg(v, 0)) ? 0x7ff0000000000000 : 0x7f800000;
    if (!is(v, Op::ult, 2) || !constant(f_.arg(v, 0), infinity)) return 0;
    return magnitude_of(f_.arg(v, 1));
  }
  /// The x of -x, or 0.
  Value negated(Value v) const {
    return is(v, Op::xor_, 2) && constant(f_.arg(v, 1), sign(v)) ? f_.arg(v, 0) : 0;
  }

  /// Whether a selection's first value is compared by its condition, which holds for no NaN.
  bool compares(Value v) const {
    const Value condition = f_.arg(v, 0);
    if (!is_within(f_.insts[condition].op, Op::native_feq, Op::native_fle)) return false;
    return f_.arg(condition, 0) == f_.arg(v, 1) || f_.arg(condition, 1) == f_.arg(v, 1);
  }

  /// Whether it makes a double's NaN quiet, of which the number is chosen.
  bool double_quiet(Value v) const {
    return wide(v) && constant(f_.arg(v, 1), std::uint64_t{1} << 51);
  }
  /// Whether a conversion keeps what it can of a NaN.
  static bool keeps(NumKind kind) { return kind == NumKind::f32 || kind == NumKind::f64; }

  Use use(Value user, unsigned operand) const {
    const Op op = f_.insts[user].op;
    if (is_within(op, Op::native_feq, Op::native_fle)) return Use::none;
    if (is_within(op, Op::native_fadd, Op::native_fmax) || op == Op::native_unary)
      return Use::passes;
    const FpAttr& fp = f_.insts[user].fp;
    if (is_within(op, Op::fadd, Op::funord) && fp.kind == NumKind::f32) return Use::none;
    if (is_within(op, Op::fadd, Op::funord) && fp.kind == NumKind::f64)
      return op < Op::feq ? Use::passes : Use::none;
    switch (op) {
      case Op::phi: return Use::passes;
      case Op::select:
        return selected(user) || !operand || (operand == 1 && compares(user)) ? Use::none
                                                                              : Use::passes;
      case Op::and_: return magnitude_of(user) ? Use::passes : Use::observes;
      case Op::xor_:
        return constant(f_.arg(user, operand ^ 1), sign(user)) ? Use::passes : Use::observes;
      case Op::or_: return double_quiet(user) ? Use::passes : Use::observes;
      case Op::ult: return tested(user) ? Use::none : Use::observes;
      case Op::fcvt:
        if (fp.to < NumKind::f16) return Use::none;
        return keeps(fp.kind) && keeps(fp.to) ? Use::passes : Use::observes;
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
          if (f_.insts[args[i]].type == Type::i1) continue;
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

  const Function& f_;
  std::vector<bool> observed_;            ///< something looks at the value's bits
  std::vector<std::vector<Value>> from_;  ///< whose NaN a value may have
  std::vector<Value> work_;
};

}  // namespace

std::vector<bool> observed_nans(const Function& function) { return NanUses(function).observed(); }

bool elide_nan_selects(Function& function) {
  const NanUses uses(function);
  return SsaRewriter(function).run([&](Value v) {
    const Value number = uses.selected(v);
    return number && !uses.observed()[v] ? number : v;
  });
}

}  // namespace ptx2spv::passes
