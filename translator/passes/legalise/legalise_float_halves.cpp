// Sums and products of f16 by the device's own operations, which take the two halves of a word. One
// half alone has zeros beside it, and gives zeros there. Where the halves of the same words go
// through the same operation one after the other, as packed instructions are lowered, one operation
// of the words takes the place of both.
#include <algorithm>

#include "translator/passes/legalise/legalise_float.hpp"

namespace ptx2spv::passes::floats {

namespace {

/// How many results a second half is looked for among: those that a packed instruction has in
/// between.
constexpr std::size_t kRecent = 8;

bool is_constant(const Function& f, Value v, std::uint64_t value) {
  return f.insts[v].op == Op::constant && f.insts[v].imm == value;
}
bool is_bitwise(const Function& f, Value v) {
  const Op op = f.insts[v].op;
  return (op == Op::and_ || op == Op::xor_) && f.insts[f.arg(v, 1)].op == Op::constant;
}

}  // namespace

std::optional<Op> FloatLegaliser::two_halves(const Inst& inst) const {
  const FpAttr& fp = inst.fp;
  const bool nearest = fp.round == Round::rn || fp.round == Round::none;
  if (fp.kind != NumKind::f16 || fp.ftz || !nearest || !p_.features.float16 ||
      !p_.exactness.exact_float16)
    return std::nullopt;
  switch (inst.op) {
    case Op::fadd: return Op::native_hadd2;
    case Op::fmul: return Op::native_hmul2;
    case Op::ffma: return Op::native_hfma2;
    default: return std::nullopt;
  }
}

Value FloatLegaliser::extreme_half(const Inst& inst, const std::vector<Value>& args) {
  // Negative numbers go down from -1, so that -0 is below +0.
  constexpr std::uint32_t kLeast = 0xffff8000;
  const bool least = inst.op == Op::fmin;
  const auto turned = [&](Value a, Value negative) {
    return b_.select(negative, b_.op2(Op::sub, b_.i32(0x7fff), a), a);
  };
  const bool nan_is_least = least == inst.fp.nan;
  const auto place = [&](Value a) {
    const Value number = turned(a, b_.cmp(Op::ult, b_.i32(0x7fff), a));
    return b_.select(is_nan(NumKind::f16, a), b_.i32(nan_is_least ? kLeast : 0x7fff), number);
  };
  const Value chosen = b_.op2(least ? Op::smin : Op::smax, place(args[0]), place(args[1]));
  const Value result = turned(chosen, b_.cmp(Op::slt, chosen, b_.i32(0)));
  return nan_is_least ? only_nan(NumKind::f16, result) : result;
}

Value FloatLegaliser::canonical_halves(Value word) {
  if (p_.exactness.canonical_nan16) return word;
  // Bit 15 of a half whose magnitude is above infinity's.
  const Value magnitude = b_.op2(Op::and_, word, b_.i32(0x7fff7fff));
  const Value top =
      b_.op2(Op::and_, b_.op2(Op::add, magnitude, b_.i32(0x03ff03ff)), b_.i32(0x80008000));
  const Value nan = b_.op2(Op::sub, top, b_.op2(Op::lshr, top, b_.i32(15)));
  const Value others = b_.op2(Op::and_, word, b_.inst(Op::not_, Type::i32, {top}));
  return b_.op2(Op::or_, others, nan);
}

bool FloatLegaliser::are_joined(Value low, Value high) const {
  const auto is_high = [&](Value v, Value of) {
    return f_.insts[v].op == Op::lshr && f_.arg(v, 0) == of && is_constant(f_, f_.arg(v, 1), 16);
  };
  if (f_.insts[low].op == Op::constant) return f_.insts[high].op == Op::constant;
  const auto l = in_word_.find(low), h = in_word_.find(high);
  if (l != in_word_.end() && h != in_word_.end())
    return l->second.word == h->second.word && !l->second.high && h->second.high;
  if (!is_bitwise(f_, low)) return false;
  if (is_high(high, f_.arg(low, 0))) return f_.insts[low].op == Op::and_;
  if (!is_bitwise(f_, high)) return false;
  // abs of a half clears its mask's bits in what is left of the word.
  if (is_high(f_.arg(high, 0), f_.arg(low, 0)) && f_.insts[low].op == Op::and_)
    return f_.insts[high].op == Op::and_;
  return f_.insts[low].op == f_.insts[high].op && are_joined(f_.arg(low, 0), f_.arg(high, 0));
}

Value FloatLegaliser::joined(Value low, Value high) {
  const auto imm = [&](Value v) {
    const Value c = f_.insts[v].op == Op::constant ? v : f_.arg(v, 1);
    return static_cast<std::uint32_t>(f_.insts[c].imm);
  };
  if (f_.insts[low].op == Op::constant) return b_.i32(imm(low) | imm(high) << 16);
  if (const auto found = in_word_.find(low); found != in_word_.end()) return found->second.word;
  const Value word = f_.arg(low, 0);
  std::uint32_t upper = 0xffff;
  if (f_.insts[high].op != Op::lshr) {
    if (f_.insts[f_.arg(high, 0)].op != Op::lshr || f_.arg(f_.arg(high, 0), 0) != word)
      return b_.op2(f_.insts[low].op, joined(word, f_.arg(high, 0)),
                    b_.i32((imm(low) & 0xffff) | imm(high) << 16));
    upper = imm(high);
  }
  const std::uint32_t mask = (imm(low) & 0xffff) | upper << 16;
  return mask == 0xffffffffu ? word : b_.op2(Op::and_, word, b_.i32(mask));
}

Value FloatLegaliser::native_half(const Inst& inst, Op op, const std::vector<Value>& args) {
  const auto second_of = [&](const Half& first) {
    if (first.taken || first.block != b_.block() || first.inst.op != inst.op) return false;
    bool word = false;
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (!are_joined(first.args[i], args[i])) return false;
      word = word || f_.insts[args[i]].op != Op::constant;
    }
    return word;
  };
  const auto first = std::ranges::find_if(halves_, second_of);
  if (first != halves_.end()) {
    std::vector<Value> words;
    for (std::size_t i = 0; i < args.size(); ++i) words.push_back(joined(first->args[i], args[i]));
    const Value word = canonical_halves(b_.inst(op, Type::i32, words));
    const Value high = b_.op2(Op::lshr, word, b_.i32(16));
    first->taken = true;
    in_word_[first->result] = {word, false};
    in_word_[high] = {word, true};
    return high;
  }
  const Value result = canonical_halves(b_.inst(op, Type::i32, args));
  if (halves_.size() == kRecent) halves_.erase(halves_.begin());
  halves_.push_back({inst, args, result, b_.block(), false});
  return result;
}

std::optional<Value> FloatLegaliser::word_of_halves(Value v) const {
  if (f_.insts[v].op != Op::or_) return std::nullopt;
  for (unsigned i = 0; i < 2; ++i) {
    const Value shifted = f_.arg(v, 1 - i);
    const auto low = in_word_.find(f_.arg(v, i));
    if (low == in_word_.end() || low->second.high || f_.insts[shifted].op != Op::shl ||
        !is_constant(f_, f_.arg(shifted, 1), 16))
      continue;
    const auto high = in_word_.find(f_.arg(shifted, 0));
    if (high != in_word_.end() && high->second.high && high->second.word == low->second.word)
      return low->second.word;
  }
  return std::nullopt;
}

}  // namespace ptx2spv::passes::floats
