#include "translator/ir/evaluate.hpp"

#include <algorithm>
#include <bit>

namespace ptx2spv::ir {

namespace {

std::uint64_t high_product(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t al = a & 0xffffffffu, ah = a >> 32, bl = b & 0xffffffffu, bh = b >> 32;
  const std::uint64_t middle = ah * bl + (al * bl >> 32);
  const std::uint64_t low = al * bh + (middle & 0xffffffffu);
  return ah * bh + (middle >> 32) + (low >> 32);
}

std::uint64_t sign_extend(std::uint64_t v, unsigned width) {
  return width == 64
             ? v
             : static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(v)));
}

// Division as the hardware does it: by zero quotient and remainder are all ones.
std::uint64_t divide(Op op, std::uint64_t a, std::uint64_t b, unsigned width) {
  const std::uint64_t all = width == 64 ? ~0ull : 0xffffffffull;
  if (op == Op::udiv) return b == 0 ? all : a / b;
  if (op == Op::urem) return b == 0 ? all : a % b;
  const std::uint64_t sa = sign_extend(a, width), sb = sign_extend(b, width);
  if (sb == 0) return all;
  const bool na = sa >> 63, nb = sb >> 63;
  const std::uint64_t ma = na ? 0 - sa : sa, mb = nb ? 0 - sb : sb;
  if (op == Op::sdiv) return (na != nb ? 0 - ma / mb : ma / mb) & all;
  return (na ? 0 - ma % mb : ma % mb) & all;
}

}  // namespace

std::optional<Bits> evaluate(const Inst& inst, Type from, std::span<const Bits> args) {
  const unsigned width = from == Type::i64 ? 64 : from == Type::i1 ? 1 : 32;
  const std::uint64_t mask = width == 64 ? ~0ull : (1ull << width) - 1;
  const auto u = [&](unsigned i) { return args[i].u64(); };
  const auto s = [&](unsigned i) {
    return static_cast<std::int64_t>(sign_extend(args[i].u64(), width));
  };
  const auto give = [&](std::uint64_t v) { return Bits::of(v & mask); };
  const auto flag = [](bool v) { return Bits::of(v ? 1 : 0); };
  switch (inst.op) {
    case Op::constant: return Bits::of(inst.imm);
    case Op::undef: return Bits{};
    case Op::add: return give(u(0) + u(1));
    case Op::sub: return give(u(0) - u(1));
    case Op::mul: return give(u(0) * u(1));
    case Op::mulhi_u: return give(width == 64 ? high_product(u(0), u(1)) : u(0) * u(1) >> 32);
    case Op::mulhi_s: {
      if (width != 64) return give(static_cast<std::uint64_t>(s(0) * s(1)) >> 32);
      return give(high_product(u(0), u(1)) - (s(0) < 0 ? u(1) : 0) - (s(1) < 0 ? u(0) : 0));
    }
    case Op::udiv:
    case Op::urem:
    case Op::sdiv:
    case Op::srem: return give(divide(inst.op, u(0), u(1), width));
    case Op::and_: return give(u(0) & u(1));
    case Op::or_: return give(u(0) | u(1));
    case Op::xor_: return give(u(0) ^ u(1));
    case Op::not_: return give(~u(0));
    case Op::neg: return give(0 - u(0));
    case Op::shl: return give(args[1].w[0] >= width ? 0 : u(0) << args[1].w[0]);
    case Op::lshr: return give(args[1].w[0] >= width ? 0 : u(0) >> args[1].w[0]);
    case Op::ashr:
      return give(
          static_cast<std::uint64_t>(s(0) >> (args[1].w[0] >= width ? width - 1 : args[1].w[0])));
    case Op::umin: return give(std::min(u(0), u(1)));
    case Op::umax: return give(std::max(u(0), u(1)));
    case Op::smin: return give(static_cast<std::uint64_t>(std::min(s(0), s(1))));
    case Op::smax: return give(static_cast<std::uint64_t>(std::max(s(0), s(1))));
    case Op::popcount: return Bits::of(static_cast<unsigned>(std::popcount(u(0))));
    case Op::find_msb:
      return Bits::of(u(0) == 0 ? 0xffffffffu
                                : 31u - static_cast<unsigned>(std::countl_zero(args[0].w[0])));
    case Op::bit_reverse: {
      std::uint32_t r = 0;
      for (unsigned i = 0; i < 32; ++i) r |= (args[0].w[0] >> i & 1u) << (31 - i);
      return Bits::of(r);
    }
    case Op::bfe_u:
    case Op::bfe_s: {
      const std::uint32_t offset = args[1].w[0] & 31, count = args[2].w[0];
      if (count == 0) return Bits::of(0);
      const std::uint64_t field =
          count >= 32 ? args[0].w[0] >> offset : args[0].w[0] >> offset & ((1ull << count) - 1);
      if (inst.op == Op::bfe_u || count >= 32) return Bits::of(field);
      const std::uint32_t top = 1u << (count - 1);
      return Bits::of(static_cast<std::uint32_t>((field ^ top) - top));
    }
    case Op::bfi: {
      const std::uint32_t offset = args[2].w[0] & 31, count = args[3].w[0];
      const std::uint32_t field =
          static_cast<std::uint32_t>(count >= 32 ? ~0ull : ((1ull << count) - 1)) << offset;
      return Bits::of((args[0].w[0] & ~field) | (args[1].w[0] << offset & field));
    }
    case Op::eq: return flag(u(0) == u(1));
    case Op::ne: return flag(u(0) != u(1));
    case Op::ult: return flag(u(0) < u(1));
    case Op::ule: return flag(u(0) <= u(1));
    case Op::slt: return flag(s(0) < s(1));
    case Op::sle: return flag(s(0) <= s(1));
    case Op::select: return args[0].w[0] ? args[1] : args[2];
    case Op::zext: return Bits::of(args[0].w[0]);
    case Op::sext: return Bits::of(sign_extend(args[0].w[0], 32));
    case Op::trunc: return Bits::of(args[0].w[0]);
    case Op::high: return Bits::of(args[0].w[1]);
    case Op::pack: return Bits{{args[0].w[0], args[1].w[0], 0, 0}};
    case Op::compose: {
      Bits r;
      for (std::size_t i = 0; i < args.size() && i < 4; ++i) r.w[i] = args[i].w[0];
      return r;
    }
    case Op::extract: return Bits::of(args[0].w[inst.imm & 3]);
    default: return std::nullopt;
  }
}

}  // namespace ptx2spv::ir
