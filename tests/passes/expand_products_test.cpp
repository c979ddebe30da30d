// Products of matrices as exchanges and arithmetic: the words of the reference's rule.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>

#include "shaders/library.hpp"
#include "tests/passes/parsed.hpp"
#include "translator/passes/passes.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::ir;
using Element = WarpProduct::Element;

constexpr std::uint32_t kStride = 256;  ///< bytes of a thread

/// A kernel in which each thread loads the operands and stores what it gets.
Function kernel(const WarpProduct& form) {
  Function f;
  f.blocks.resize(1);
  Builder b(f);
  const Value base = b.op2(Op::mul, b.builtin(Builtin::local_id_x), b.i32(kStride));
  const auto at = [&](unsigned word) { return b.op2(Op::add, base, b.i32(8 * word)); };
  const MemAttr in{.space = Space::slot, .bytes = 4}, wide{.space = Space::slot, .bytes = 8};
  std::vector<Value> operands;
  for (unsigned i = 0; i + 1 < form.operands(); ++i) {
    const bool is_wide = form.x == Element::f64 && i < form.metadata_at();
    operands.push_back(is_wide ? b.load(Type::i64, at(i), wide) : b.load(Type::i32, at(i), in));
  }
  operands.push_back(b.i32(~0u));
  const Value words = b.inst(Op::warp_product, form.result(), operands, form.bits());
  const bool four = form.result() == Type::v4;
  b.store(at(0), words,
          {.space = Space::slot, .bytes = static_cast<std::uint8_t>(four ? 16 : 8), .slot = 1});
  b.exit();
  return f;
}

bool routine(std::string_view name, std::span<const Bits> args, Bits& result) {
  for (const shaders::HostCall& each : shaders::library_host_calls()) {
    if (!each.signature.starts_with(name) || each.signature.substr(name.size(), 1) != " ") continue;
    std::vector<std::uint32_t> words;
    std::string_view types = each.signature.substr(name.size());
    for (const Bits& arg : args) {
      types.remove_prefix(1);
      const std::string_view type = types.substr(0, types.find(' '));
      types.remove_prefix(type.size());
      const unsigned count = type == "uvec4" ? 4 : type == "uvec2" ? 2 : 1;
      words.insert(words.end(), arg.w.begin(), arg.w.begin() + count);
    }
    each.call(result.w.data(), words.data());
    return true;
  }
  return false;
}

double f16(std::uint32_t bits) {
  const int field = static_cast<int>(bits >> 10 & 31);
  const double size = std::ldexp((field ? 1024 : 0) + (bits & 0x3ff), std::max(field, 1) - 25);
  return (bits & 0x8000 ? -1 : 1) * (field == 31 ? (bits & 0x3ff ? NAN : HUGE_VAL) : size);
}
std::uint32_t to_f16(double value) {
  if (value != value) return 0x7fff;
  const std::uint32_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (size >= 65520) return sign | 0x7c00;
  const int exponent = size == 0 ? -14 : std::max(std::ilogb(size), -14);
  return sign | (static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, 10 - exponent))) +
                 (static_cast<std::uint32_t>(exponent + 14) << 10));
}

/// The few that products are made of.
bool product_operation(const Function&, const Inst& inst, std::span<const Bits> args,
                       Bits& result) {
  const std::uint32_t a = args[0].w[0];
  if (inst.op == Op::fcvt && inst.fp.kind == NumKind::e5m2) {
    result.w[0] = a << 8;
  } else if (inst.op == Op::fcvt && inst.fp.kind == NumKind::e4m3) {
    const int field = static_cast<int>(a >> 3 & 15);
    const double size = std::ldexp((field ? 8 : 0) + (a & 7), std::max(field, 1) - 10);
    result.w[0] = (a & 0x7f) == 0x7f ? 0x7fff : to_f16(a & 0x80 ? -size : size);
  } else if (inst.op == Op::fadd && inst.fp.kind == NumKind::f16) {
    result.w[0] = to_f16(f16(a) + f16(args[1].w[0]));
  } else if (inst.op == Op::fadd) {
    const float sum = std::bit_cast<float>(a) + std::bit_cast<float>(args[1].w[0]);
    result.w[0] = sum != sum ? 0x7fffffff : std::bit_cast<std::uint32_t>(sum);
  } else if (inst.op == Op::ffma) {
    const auto number = [&](unsigned i) { return std::bit_cast<double>(args[i].u64()); };
    result = Bits::of(std::bit_cast<std::uint64_t>(std::fma(number(0), number(1), number(2))));
  } else {
    return false;
  }
  return true;
}

struct OneWarp : RunOptions {
  OneWarp() {
    threads[0] = 32;
    library = routine;
    operation = product_operation;
  }
};

/// Numbers of much the same size, all that there are, or few that are not zero.
std::uint32_t drawn(const WarpProduct& form, unsigned round, std::uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  const auto bits = static_cast<std::uint32_t>(state >> 32);
  if (!WarpProduct::is_float(form.x) || round % 3 == 1) return bits;
  if (round % 3 == 2) return bits & 0x0b000b00;
  return WarpProduct::bits_of(form.x) == 16 ? (bits & 0x83ff83ff) | 0x3c003c00 | (bits & 0x0c000c00)
                                            : (bits & 0x87ffffff) | 0x38000000;
}

std::vector<std::uint8_t> results(const Function& f, const Module& m, const WarpProduct& form,
                                  unsigned round) {
  Memory memory;
  auto& in = memory.of(Space::slot);
  in.resize(32 * kStride);
  memory.of(Space::slot, 1).resize(32 * kStride);
  std::uint64_t state = 77 + round;
  for (std::size_t i = 0; i < in.size(); i += 4) {
    std::uint32_t word = drawn(form, round, state);
    // Doubles of which all sums are finite.
    if (form.x == Element::f64 && i % 8) word = (word & 0x800fffff) | 0x3ff00000;
    std::memcpy(&in[i], &word, 4);
  }
  EXPECT_EQ(interpret(f, m, memory, OneWarp()).error, "");
  return memory.of(Space::slot, 1);
}

std::vector<WarpProduct> forms() {
  std::vector<WarpProduct> all;
  for (const Element e : {Element::f16, Element::bf16, Element::tf32})
    for (const std::uint8_t words : {4, 8}) {
      all.push_back({.x = e, .y = e, .words = words});
      for (const std::uint8_t selector : {0, 1})
        all.push_back({.x = e, .y = e, .words = words, .sparse = true, .selector = selector});
    }
  all.push_back({.x = Element::f16, .y = Element::f16, .words = 8, .halves = true});
  for (const bool halves : {false, true})
    for (const bool sparse : {false, true})
      all.push_back(
          {.x = Element::e4m3, .y = Element::e5m2, .words = 8, .halves = halves, .sparse = sparse});
  for (const bool tall : {false, true}) {
    all.push_back({.x = Element::s8, .y = Element::u8, .words = 4, .tall = tall});
    all.push_back(
        {.x = Element::u4, .y = Element::s4, .words = 4, .tall = tall, .saturates = true});
    all.push_back({.x = Element::b1, .y = Element::b1, .words = 4, .tall = tall, .ands = tall});
  }
  all.push_back({.x = Element::u8, .y = Element::s8, .words = 8, .sparse = true});
  all.push_back({.x = Element::s4, .y = Element::s4, .words = 8, .sparse = true});
  for (const std::uint8_t words : {4, 8, 16})
    all.push_back({.x = Element::f64, .y = Element::f64, .words = words, .tall = false});
  return all;
}

TEST(ExpandProducts, all_forms_give_what_the_rule_gives) {
  for (const WarpProduct& form : forms()) {
    Module m;
    const Function before = kernel(form);
    EXPECT_EQ(validate(before, m, false, false), "");
    Function after = before;
    EXPECT_TRUE(passes::expand_products(after, m));
    EXPECT_EQ(validate(after, m, false, false), "");
    for (const Value v : after.blocks[0].insts) EXPECT_NE(after.insts[v].op, Op::warp_product);
    for (unsigned round = 0; round < 6; ++round)
      EXPECT_EQ(results(before, m, form, round), results(after, m, form, round))
          << "imm " << form.bits() << ", round " << round;
  }
}

TEST(ExpandProducts, a_function_without_products_stays) {
  test::Parsed p("b0:\n  %1 = constant i32 0x7\n  exit\n", test::Form::variables);
  EXPECT_FALSE(passes::expand_products(p.f, p.m));
}

}  // namespace
