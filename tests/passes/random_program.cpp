#include "tests/passes/random_program.hpp"

#include <cstring>

#include <fmt/format.h>

namespace ptx2spv::test {

using namespace ir;

namespace {

constexpr std::uint64_t kConstants[] = {0,
                                        1,
                                        2,
                                        3,
                                        4,
                                        5,
                                        7,
                                        8,
                                        16,
                                        31,
                                        32,
                                        33,
                                        63,
                                        64,
                                        65,
                                        100,
                                        255,
                                        256,
                                        0xffff,
                                        0x10000,
                                        0x7fffffff,
                                        0x80000000,
                                        0xfffffffe,
                                        0xffffffff,
                                        0x100000000,
                                        0x7fffffffffffffff,
                                        0x8000000000000000,
                                        0xffffffffffffffff,
                                        0x123456789abcdef0};

class Generator {
 public:
  Generator(std::mt19937& rng, const ProgramShape& shape) : rng_(rng), shape_(shape), b_(f_) {}

  Function make() {
    f_.name = "random";
    for (unsigned i = 0; i < 4; ++i) f_.vars.push_back({Type::i32, "r", false});
    for (unsigned i = 0; i < 4; ++i) f_.vars.push_back({Type::i64, "rd", false});
    for (unsigned i = 0; i < 2; ++i) f_.vars.push_back({Type::i1, "p", false});
    for (unsigned i = 0; i < shape_.blocks; ++i) b_.new_block();
    for (BlockId at = 0; at < shape_.blocks; ++at) block(at);
    f_.compute_preds();
    return f_;
  }

 private:
  unsigned pick(unsigned n) { return static_cast<unsigned>(rng_() % n); }

  Value constant(Type type) {
    const std::uint64_t c = kConstants[pick(std::size(kConstants))];
    if (type == Type::i64) return b_.i64(c);
    if (type == Type::i1) return b_.i1(c & 1);
    return b_.i32(static_cast<std::uint32_t>(c));
  }
  Value value(Type type) {
    if (pick(5) == 0) return constant(type);
    if (threads() && type == Type::i32 && pick(6) == 0)
      return b_.builtin(pick(2) ? Builtin::local_id_x : Builtin::local_id_y);
    if (threads() && type == Type::i1 && pick(2))
      return b_.cmp(Op::ult, b_.builtin(Builtin::local_id_x), b_.i32(pick(20)));
    if (pick(8) == 0 && type != Type::i1) {
      MemAttr mem{.space = Space::param};
      mem.bytes = type == Type::i64 ? 8 : 4;
      mem.readonly = true;
      return b_.load(type, b_.i32(pick(8) * 8), mem);
    }
    // A value of this block, or a variable.
    for (int i = 0; i < 4 && !made_.empty() && pick(2); ++i) {
      const Value v = made_[pick(static_cast<unsigned>(made_.size()))];
      if (f_.insts[v].type == type) return v;
    }
    const std::uint32_t first = type == Type::i32 ? 0 : type == Type::i64 ? 4 : 8;
    return b_.get(first + pick(type == Type::i1 ? 2 : 4));
  }
  void assign(Value v) {
    made_.push_back(v);
    const Type type = f_.insts[v].type;
    if (pick(2) || type == Type::none) return;
    const std::uint32_t first = type == Type::i32 ? 0 : type == Type::i64 ? 4 : 8;
    if (type == Type::i32 || type == Type::i64 || type == Type::i1)
      b_.set(first + pick(type == Type::i1 ? 2 : 4), v);
  }
  bool threads() const { return shape_.barriers || shape_.general; }
  void synchronise() {
    if (pick(100) < shape_.barriers) b_.inst(Op::bar_sync, Type::none, {b_.i32(0)}, 0);
    if (pick(100) >= shape_.general) return;
    static constexpr AtomicOp kReductions[] = {AtomicOp::add,  AtomicOp::and_, AtomicOp::or_,
                                               AtomicOp::xor_, AtomicOp::umin, AtomicOp::umax,
                                               AtomicOp::smin, AtomicOp::smax};
    const auto mask = [&] {
      return pick(4) ? b_.i32(0xffffffffu)
                     : b_.i32(pick(2) ? 0x0000ffffu : static_cast<std::uint32_t>(rng_()));
    };
    const auto both = [&](Value v) {
      assign(b_.inst(Op::extract, Type::i32, {v}, 0));
      assign(b_.inst(Op::extract, Type::i32, {v}, 1));
    };
    switch (pick(shape_.products ? 12 : 11)) {
      case 0: b_.inst(Op::bar_sync, Type::none, {b_.i32(pick(3))}, 0); break;
      case 1: b_.inst(Op::bar_sync, Type::none, {b_.i32(4), b_.i32(32)}, pick(2)); break;
      case 2: {
        const Value p = b_.inst(Op::zext, Type::i32, {value(Type::i1)});
        assign(b_.inst(Op::bar_sync, Type::i32, {b_.i32(5), b_.i32(0), p}, 2 + pick(3)));
        break;
      }
      case 3:
      case 4: {
        const Value a = value(Type::i32), l = pick(2) ? b_.i32(pick(32)) : value(Type::i32);
        const Value c = b_.i32(pick(2) ? 31 : static_cast<std::uint32_t>(rng_()) & 0x1f1f);
        both(b_.inst(Op::warp_shfl, Type::v2, {a, l, c, mask()}, pick(4)));
        break;
      }
      case 5: {
        const Value p = value(Type::i1);
        assign(b_.inst(Op::warp_vote, Type::i32, {p, mask()}, pick(4)));
        break;
      }
      case 6: {
        const Value a = value(pick(2) ? Type::i32 : Type::i64);
        both(b_.inst(Op::warp_match, Type::v2, {a, mask()}, pick(2)));
        break;
      }
      case 7: {
        const Value a = value(Type::i32);
        assign(b_.inst(Op::warp_redux, Type::i32, {a, mask()},
                       static_cast<std::uint64_t>(kReductions[pick(8)])));
        break;
      }
      case 8: assign(b_.inst(Op::warp_active, Type::i32, {})); break;
      case 9: b_.inst(Op::warp_sync, Type::none, {mask()}); break;
      case 11: {
        const WarpProduct form{.x = WarpProduct::Element::s8,
                               .y = WarpProduct::Element::u8,
                               .words = 4,
                               .tall = pick(2) != 0};
        std::vector<Value> operands;
        for (unsigned i = 0; i + 1 < form.operands(); ++i) operands.push_back(value(Type::i32));
        operands.push_back(mask());
        both(b_.inst(Op::warp_product, form.result(), operands, form.bits()));
        break;
      }
      default: both(b_.inst(Op::warp_elect, Type::v2, {mask()}));
    }
  }
  void operation() {
    if (threads()) synchronise();
    static constexpr Op kBinary[] = {Op::add,  Op::sub,  Op::mul,  Op::mulhi_u, Op::mulhi_s,
                                     Op::udiv, Op::sdiv, Op::urem, Op::srem,    Op::and_,
                                     Op::or_,  Op::xor_, Op::umin, Op::umax,    Op::smin,
                                     Op::smax, Op::add,  Op::sub,  Op::and_,    Op::add};
    static constexpr Op kCompare[] = {Op::eq, Op::ne, Op::ult, Op::ule, Op::slt, Op::sle};
    const Type type = shape_.wide && pick(2) ? Type::i64 : Type::i32;
    switch (pick(9)) {
      case 0:
      case 1:
      case 2: {
        const Op op = kBinary[pick(std::size(kBinary))];
        const Value a = value(type), c = value(type);
        assign(b_.inst(op, type, {a, c}));
        break;
      }
      case 3: {
        const Op op = pick(3) == 0 ? Op::shl : pick(2) ? Op::lshr : Op::ashr;
        const Value a = value(type), c = pick(2) ? b_.i32(pick(70)) : value(Type::i32);
        assign(b_.inst(op, type, {a, c}));
        break;
      }
      case 4: {
        const Value a = value(type), c = value(type);
        assign(b_.inst(kCompare[pick(6)], Type::i1, {a, c}));
        break;
      }
      case 5: {
        const Value c = value(Type::i1), x = value(type), y = value(type);
        assign(b_.inst(Op::select, type, {c, x, y}));
        break;
      }
      case 6: assign(b_.inst(pick(2) ? Op::not_ : Op::neg, type, {value(type)})); break;
      case 7: conversion(); break;
      default:
        switch (pick(4)) {
          case 0: assign(b_.inst(Op::popcount, Type::i32, {value(type)})); break;
          case 1:
            assign(
                b_.inst(pick(2) ? Op::find_msb : Op::bit_reverse, Type::i32, {value(Type::i32)}));
            break;
          case 2: {
            const unsigned offset = pick(32), count = pick(33 - offset);
            const Value a = value(Type::i32);
            assign(b_.inst(pick(2) ? Op::bfe_u : Op::bfe_s, Type::i32,
                           {a, b_.i32(offset), b_.i32(count)}));
            break;
          }
          default: {
            const Value a = value(Type::i1), c = value(Type::i1);
            assign(b_.inst(pick(2) ? Op::and_ : Op::xor_, Type::i1, {a, c}));
          }
        }
    }
  }
  void conversion() {
    if (!shape_.wide) {
      assign(b_.inst(Op::zext, Type::i32, {value(Type::i1)}));
      return;
    }
    switch (pick(7)) {
      case 0: assign(b_.inst(Op::zext, Type::i64, {value(Type::i32)})); break;
      case 1: assign(b_.inst(Op::sext, Type::i64, {value(Type::i32)})); break;
      case 2: assign(b_.inst(Op::trunc, Type::i32, {value(Type::i64)})); break;
      case 3: assign(b_.inst(Op::high, Type::i32, {value(Type::i64)})); break;
      case 4: assign(b_.inst(Op::zext, pick(2) ? Type::i32 : Type::i64, {value(Type::i1)})); break;
      case 5: {
        const Value a = value(Type::i32), c = value(Type::i32);
        assign(b_.inst(Op::pack, Type::i64, {a, c}));
        break;
      }
      default: {
        const Value a = value(Type::i32), c = value(Type::i32);
        const Value both = b_.inst(Op::compose, Type::v2, {a, c});
        assign(b_.inst(Op::extract, Type::i32, {both}, pick(2)));
      }
    }
  }
  void block(BlockId at) {
    b_.at(at);
    made_.clear();
    for (unsigned i = 0; i < shape_.ops; ++i) operation();
    MemAttr mem{.space = Space::slot};
    const bool wide = shape_.wide && pick(2);
    mem.bytes = wide ? 8 : 4;
    const Value stored = value(wide ? Type::i64 : Type::i32);
    Value address = b_.i32(at * 8);
    if (threads()) {
      // Each thread has 64 cells of its own.
      Value t = b_.builtin(Builtin::local_id_y);
      t = b_.op2(Op::add, b_.op2(Op::mul, t, b_.i32(16)), b_.builtin(Builtin::local_id_x));
      address = b_.op2(Op::add, address, b_.op2(Op::mul, t, b_.i32(512)));
    }
    b_.store(address, stored, mem);
    const auto target = [&]() -> BlockId {
      if (pick(100) < shape_.backward || at + 1 == shape_.blocks)
        return 1 + pick(shape_.blocks - 1);
      return at + 1 + pick(std::min(shape_.blocks - at - 1, 4u));
    };
    const unsigned kind = pick(12);
    if (shape_.blocks == 1 || kind == 0 || (at + 1 == shape_.blocks && kind < 8))
      b_.exit();
    else if (kind < 4)
      b_.br(target());
    else
      b_.cond_br(value(Type::i1), target(), target());
  }

  std::mt19937& rng_;
  const ProgramShape& shape_;
  Function f_;
  Builder b_;
  std::vector<Value> made_;
};

}  // namespace

Function random_program(std::mt19937& rng, const ProgramShape& shape) {
  return Generator(rng, shape).make();
}

Outcome run_program(const Function& f, const Module& m, std::uint32_t seed, std::uint64_t steps,
                    const RunOptions& given, Memory* given_memory) {
  Memory own;
  Memory& memory = given_memory ? *given_memory : own;
  if (!given_memory) memory.of(Space::slot).resize(4096);
  auto& params = memory.of(Space::param);
  params.resize(64);
  std::mt19937 rng(seed);
  for (unsigned i = 0; i < 64; i += 8) {
    std::uint64_t word = rng() % 3 ? kConstants[rng() % std::size(kConstants)]
                                   : (std::uint64_t{rng()} << 32 | rng());
    std::memcpy(params.data() + i, &word, 8);
  }
  RunOptions options = given;
  options.max_steps = steps;
  return interpret(f, m, memory, options);
}

std::string compare_traces(const Outcome& a, const Outcome& b) {
  if (!a.error.empty()) return "first: " + a.error;
  if (!b.error.empty()) return "second: " + b.error;
  if (!a.out_of_steps && !b.out_of_steps && a.trace.size() != b.trace.size())
    return fmt::format("{} events against {}", a.trace.size(), b.trace.size());
  for (std::size_t i = 0; i < std::min(a.trace.size(), b.trace.size()); ++i)
    if (!(a.trace[i] == b.trace[i]))
      return fmt::format("event {}: {:#x} <- {:#x} against {:#x} <- {:#x}", i, a.trace[i].address,
                         a.trace[i].value.u64(), b.trace[i].address, b.trace[i].value.u64());
  return {};
}

}  // namespace ptx2spv::test
