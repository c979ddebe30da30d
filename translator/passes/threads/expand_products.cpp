// Products of matrices by exchanges between the threads of a warp that are all there, each of which
// computes its own elements. Sums of floats are an H100's (docs/reference/hardware.md), by the
// shader library (shaders/matrix.glsl).
#include "translator/passes/threads/expand_products.hpp"

#include <array>
#include <bit>
#include <span>
#include <utility>

#include "translator/passes/passes.hpp"
#include "translator/passes/rewrite.hpp"

namespace ptx2spv::passes {

namespace {

using Element = WarpProduct::Element;

/// Exponent 0 on the scale of sums of two unpacked exponents: 512 and the format's bias, twice.
constexpr std::uint32_t kBiasF16 = 2 * (512 + 15), kBiasF32 = 2 * (512 + 127);

}  // namespace

ProductBuilder::ProductBuilder(Builder& b, Module& module, WarpProduct form, Values operands,
                               Value lane, FromLane from_lane)
    : b_(b),
      module_(&module),
      form_(form),
      operands_(std::move(operands)),
      from_lane_(std::move(from_lane)),
      lane_(lane),
      group_(b.op2(Op::lshr, lane, b.i32(2))),
      within_(b.op2(Op::and_, lane, b.i32(3))) {}

/// The words of row `group_`, or of the other half, group_ + 8.
ProductBuilder::Values ProductBuilder::exchanged_x(unsigned half) {
  const Value first = b_.op2(Op::and_, lane_, b_.i32(28));
  Values words;
  for (unsigned i = 0; i < form_.words; ++i)
    words.push_back(from_lane_(i / 4 * form_.row_blocks() + half, plus(first, b_.i32(i % 4))));
  return words;
}

/// The words of column 2 * within_ + odd.
ProductBuilder::Values ProductBuilder::exchanged_y(unsigned odd) {
  const Value first = plus(b_.op2(Op::shl, within_, b_.i32(3)), b_.i32(4 * odd));
  Values words;
  for (unsigned i = 0; i < form_.words_of_y(); ++i)
    words.push_back(from_lane_(form_.x_registers() + i / 4, plus(first, b_.i32(i % 4))));
  return words;
}

/// The elements of words in the order of k; b1's and f64's words themselves.
ProductBuilder::Values ProductBuilder::unpacked(Element element, const Values& words) {
  if (element == Element::f64 || element == Element::b1) return words;
  const unsigned bits = WarpProduct::bits_of(element);
  const bool is_signed = element == Element::s8 || element == Element::s4;
  Values elements;
  for (const Value word : words)
    for (unsigned i = 0; i < 32 / bits; ++i) {
      const unsigned below = bits * i, above = 32 - bits - below;
      if (!WarpProduct::is_float(element)) {
        const Value top = above ? b_.op2(Op::shl, word, b_.i32(above)) : word;
        elements.push_back(b_.op2(is_signed ? Op::ashr : Op::lshr, top, b_.i32(32 - bits)));
        continue;
      }
      if (element == Element::tf32) {
        elements.push_back(library("matrix_tf32", Type::i32, {word}));
        continue;
      }
      if (bits == 16) {
        const char* name = element == Element::f16 ? "matrix_f16" : "matrix_bf16";
        elements.push_back(library(name, Type::i32, {i ? hi16(word) : lo16(word)}));
        continue;
      }
      const Value byte = b_.op2(Op::and_, b_.op2(Op::lshr, word, b_.i32(below)), b_.i32(0xff));
      const NumKind kind = element == Element::e4m3 ? NumKind::e4m3 : NumKind::e5m2;
      const Value half = b_.fp(Op::fcvt, Type::i32, {byte}, {.kind = kind, .to = NumKind::f16});
      elements.push_back(library("matrix_f16", Type::i32, {half}));
    }
  return elements;
}

/// The metadata of row `group_` or, of the other half, group_ + 8: words of which each four bits
/// are of one group of y's elements. Elements of 16 bits and more have four groups in a half of a
/// word of the thread that the selector names, narrower ones a word in one of every other thread.
ProductBuilder::Values ProductBuilder::metadata(unsigned half) {
  const Value first = b_.op2(Op::and_, lane_, b_.i32(28));
  const auto from = [&](unsigned lane) {
    return from_lane_(form_.metadata_at(), plus(first, b_.i32(lane)));
  };
  const unsigned words = form_.words / 4;
  const bool narrow = WarpProduct::bits_of(form_.x) < 16;
  Values found;
  for (unsigned i = 0; i < words; ++i) {
    if (narrow) {
      found.push_back(from(2 * (words == 1 ? form_.selector : i) + half));
    } else {
      const Value word = from(words == 1 ? form_.selector : 2 * form_.selector + i);
      found.push_back(half ? hi16(word) : lo16(word));
    }
  }
  return found;
}

/// Of each group of y's elements those that the metadata names, half of them. It names units of 8
/// or 16 bits: two s4, and either half of a tf32.
ProductBuilder::Values ProductBuilder::chosen(const Values& y, const Values& metadata) {
  if (form_.y != Element::tf32) return units(y, metadata);
  Values halves, words;
  for (const Value word : y) {
    halves.push_back(lo16(word));
    halves.push_back(hi16(word));
  }
  const Values found = units(halves, metadata);
  for (std::size_t i = 0; i < found.size(); i += 2) words.push_back(pair16(found[i], found[i + 1]));
  return unpacked(form_.y, words);
}

ProductBuilder::Values ProductBuilder::units(const Values& y, const Values& metadata) {
  const unsigned groups = WarpProduct::bits_of(form_.x) < 16 ? 8 : 4;  // of a word
  const std::size_t size = y.size() / (groups * metadata.size());
  Values elements;
  for (std::size_t group = 0; group < groups * metadata.size(); ++group)
    for (unsigned i = 0; i < 2; ++i) {
      const auto bit = [&](unsigned at) {
        const Value word = metadata[group / groups];
        const std::uint32_t mask = 1u << (4 * (group % groups) + 2 * i + at);
        return b_.cmp(Op::ne, b_.op2(Op::and_, word, b_.i32(mask)), b_.i32(0));
      };
      const auto at = [&](std::size_t k) { return y[group * size + k]; };
      const std::size_t unit = size / 4;
      for (std::size_t k = 0; k < unit; ++k)
        elements.push_back(b_.select(bit(1), b_.select(bit(0), at(3 * unit + k), at(2 * unit + k)),
                                     b_.select(bit(0), at(unit + k), at(k))));
    }
  return elements;
}

Value ProductBuilder::product(const Values& x, const Values& y, Value sum) {
  if (WarpProduct::is_float(form_.x)) return float_product(x, y, sum);
  if (form_.x == Element::f64) {
    const FpAttr how{.kind = NumKind::f64, .round = form_.round, .nan = true};
    for (std::size_t i = 0; i < x.size(); ++i)
      sum = b_.fp(Op::ffma, Type::i64, {x[i], y[i], sum}, how);
    return sum;
  }
  Value products = b_.i32(0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (form_.x == Element::b1) {
      const Value bits = b_.op2(form_.ands ? Op::and_ : Op::xor_, x[i], y[i]);
      products = plus(products, b_.inst(Op::popcount, Type::i32, {bits}));
    } else {
      products = plus(products, b_.op2(Op::mul, x[i], y[i]));
    }
  }
  const Value all = plus(products, sum);
  if (!form_.saturates) return all;
  // Overflow: both differ in sign from what they give; the limit has the sign of the first.
  const Value differs =
      b_.op2(Op::and_, b_.op2(Op::xor_, products, all), b_.op2(Op::xor_, sum, all));
  const Value limit = b_.op2(Op::xor_, b_.op2(Op::ashr, products, b_.i32(31)), b_.i32(0x7fffffff));
  return b_.select(b_.cmp(Op::slt, differs, b_.i32(0)), limit, all);
}

/// An addend and products, rounded once.
Value ProductBuilder::float_sum(const Values& x, const Values& y, Value addend) {
  const bool wide = form_.x == Element::bf16 || form_.x == Element::tf32;
  const Value bias = b_.i32(wide ? kBiasF32 : kBiasF16);
  Values operands;
  for (const Values& side : {x, y})
    for (std::size_t i = 0; i < side.size(); i += 4)
      operands.push_back(b_.inst(Op::compose, Type::v4, std::span(side).subspan(i, 4)));
  operands.push_back(
      library(form_.halves ? "matrix_addend_f16" : "matrix_addend_f32", Type::v2, {addend, bias}));
  const char* name = x.size() == 16  ? "matrix_sum_16"
                     : x.size() == 8 ? "matrix_sum_8"
                                     : "matrix_sum_4";
  const Value sum = library(name, Type::v4, operands);
  return library(form_.halves ? "matrix_result_f16" : "matrix_result_f32", Type::i32, {sum, bias});
}

Value ProductBuilder::float_product(const Values& x, const Values& y, Value sum) {
  if (WarpProduct::bits_of(form_.x) >= 16) return float_sum(x, y, sum);
  // Two products of f16 that begin with zero, of elements 4i and 4i + 1 and of the others, and a
  // rounded sum.
  Value both = b_.i32(0);
  for (const unsigned first : {0u, 2u}) {
    Values part[2];
    for (std::size_t i = first; i < x.size(); i += 4)
      for (const std::size_t k : {i, i + 1}) {
        part[0].push_back(x[k]);
        part[1].push_back(y[k]);
      }
    both = float_sum(part[0], part[1], both);
  }
  const NumKind kind = form_.halves ? NumKind::f16 : NumKind::f32;
  return b_.fp(Op::fadd, Type::i32, {both, sum}, {.kind = kind});
}

/// The thread's own, one by one.
ProductBuilder::Values ProductBuilder::sums() {
  Values out;
  for (unsigned i = 0; i < form_.sum_registers(); ++i) {
    const Value word = operands_[form_.sums_at() + i];
    out.push_back(form_.halves ? lo16(word) : word);
    if (form_.halves) out.push_back(hi16(word));
  }
  return out;
}

Value ProductBuilder::run() {
  Values y[2];
  const bool choose_first = form_.sparse && form_.y == Element::tf32;
  for (unsigned odd = 0; odd < 2; ++odd) {
    const Values words = exchanged_y(odd);
    y[odd] = choose_first ? words : unpacked(form_.y, words);
  }
  const Values given = sums();
  Values results;
  for (unsigned half = 0; half < form_.row_blocks(); ++half) {
    const Values x = unpacked(form_.x, exchanged_x(half));
    const Values choice = form_.sparse ? metadata(half) : Values{};
    for (unsigned odd = 0; odd < 2; ++odd)
      results.push_back(
          product(x, form_.sparse ? chosen(y[odd], choice) : y[odd], given[results.size()]));
  }
  Values words;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (form_.halves) {
      words.push_back(pair16(results[i], results[i + 1]));
      ++i;
    } else if (form_.x == Element::f64) {
      words.push_back(b_.inst(Op::trunc, Type::i32, {results[i]}));
      words.push_back(b_.inst(Op::high, Type::i32, {results[i]}));
    } else {
      words.push_back(results[i]);
    }
  }
  return b_.inst(Op::compose, form_.result(), words);
}

bool native_product(const WarpProduct& form, const Profile& profile) {
  using enum Element;
  if (form.x != form.y || form.sparse || form.saturates || form.words > 8) return false;
  if (form.x == f16)
    return form.tall && profile.features.matrices_f16 && profile.exactness.exact_matrices_f16;
  if (form.x == bf16)
    return profile.features.matrices_bf16 && profile.exactness.exact_matrices_bf16;
  return (form.x == s8 || form.x == u8) && profile.features.matrices_s8 &&
         profile.exactness.exact_matrices_s8;
}

bool expand_products(Function& function, Module& module, const Profile* native) {
  CfgRewriter rewriter(function);
  Builder& b = rewriter.builder();
  bool any = false;
  rewriter.run([&](Value v) {
    const Inst inst = function.insts[v];
    if (inst.op != Op::warp_product ||
        (native && native_product(WarpProduct::of(inst.imm), *native)))
      return rewriter.keep(v);
    any = true;
    const std::vector<Value> operands(function.args(v).begin(), function.args(v).end());
    const auto word_of_lane = [&](Value word, Value lane) {
      const Value both = b.inst(Op::warp_shfl, Type::v2, {word, lane, b.i32(31), operands.back()},
                                static_cast<std::uint64_t>(ShflMode::idx));
      b.last(both).object = inst.object;
      return b.inst(Op::extract, Type::i32, {both}, 0);
    };
    const auto from_lane = [&](unsigned operand, Value lane) {
      const Value value = operands[operand];
      if (function.insts[value].type != Type::i64) return word_of_lane(value, lane);
      const Value low = word_of_lane(b.inst(Op::trunc, Type::i32, {value}), lane);
      const Value high = b.inst(Op::high, Type::i32, {value});
      return b.inst(Op::pack, Type::i64, {low, word_of_lane(high, lane)});
    };
    const Value lane = b.op2(Op::and_, linear_thread(b), b.i32(31));
    const Value made =
        ProductBuilder(b, module, WarpProduct::of(inst.imm), operands, lane, from_lane).run();
    // The value keeps its number.
    function.blocks[b.block()].insts.back() = v;
    function.insts[v] = function.insts[made];
    function.insts[v].loc = inst.loc;
  });
  return any;
}

}  // namespace ptx2spv::passes
