#include "translator/passes/analysis/known_bits.hpp"

#include <algorithm>
#include <bit>

#include "ptx2spv/abi.hpp"
#include "translator/ir/cfg.hpp"

namespace ptx2spv::passes {

namespace {

std::uint64_t width_mask(Type type) {
  return type == Type::i64 ? ~0ull : type == Type::i32 ? 0xffffffffull : type == Type::i1 ? 1 : 0;
}
unsigned low(std::uint64_t zeros) { return static_cast<unsigned>(std::countr_one(zeros)); }
unsigned high(std::uint64_t zeros) { return static_cast<unsigned>(std::countl_one(zeros)); }
std::uint64_t low_mask(unsigned n) { return n >= 64 ? ~0ull : (1ull << n) - 1; }
std::uint64_t high_mask(unsigned n) { return n == 0 ? 0 : ~low_mask(64 - std::min(n, 64u)); }

}  // namespace

std::uint64_t KnownBits::transfer(const Function& f, Value v) const {
  const Inst& inst = f.insts[v];
  const std::uint64_t outside = ~width_mask(inst.type);
  const auto z = [&](unsigned i) { return zeros_[f.arg(v, i)]; };
  const auto constant = [&](unsigned i, std::uint64_t& value) {
    const Inst& a = f.insts[f.arg(v, i)];
    value = a.imm;
    return a.op == Op::constant;
  };
  // An operand of fewer bits than 64 has its upper zeros set, which leading zeros count from.
  std::uint64_t c = 0;
  switch (inst.op) {
    case Op::constant: return ~inst.imm;
    case Op::builtin:
      switch (inst.builtin) {
        case Builtin::num_workgroups_x:
        case Builtin::workgroup_id_x: return outside;
        case Builtin::global_id_x:
        case Builtin::global_id_y:
        case Builtin::global_id_z: return ~std::uint64_t{abi::kSmallGrid - 1};
        case Builtin::local_id_x:
        case Builtin::local_id_y:
        case Builtin::local_id_z: {
          const std::uint32_t size = f.block_size[static_cast<unsigned>(inst.builtin) -
                                                  static_cast<unsigned>(Builtin::local_id_x)];
          if (size) return ~(std::bit_ceil(std::uint64_t{size}) - 1);
          return outside | ~1023u;  // CUDA's blocks end there
        }
        case Builtin::local_index: return outside | ~1023u;  // CUDA's blocks end there
        default: return outside | 0xffff0000u;
      }
    case Op::add: {
      const unsigned lead = std::min(high(z(0)), high(z(1)));
      return outside | low_mask(std::min(low(z(0)), low(z(1)))) |
             (inst.type == Type::i64 || lead > 33 ? high_mask(lead ? lead - 1 : 0) : 0);
    }
    case Op::sub:
    case Op::neg: {
      const unsigned zeros = inst.op == Op::neg ? low(z(0)) : std::min(low(z(0)), low(z(1)));
      return outside | low_mask(zeros);
    }
    case Op::mul: {
      const unsigned bits = (64 - std::min(high(z(0)), 64u)) + (64 - std::min(high(z(1)), 64u));
      return outside | low_mask(low(z(0)) + low(z(1))) | (bits < 64 ? high_mask(64 - bits) : 0);
    }
    case Op::mulhi_u: return outside;
    case Op::udiv: return constant(1, c) && c ? outside | high_mask(high(z(0))) : outside;
    case Op::urem: return constant(1, c) && c ? outside | high_mask(std::countl_zero(c)) : outside;
    case Op::and_: return outside | z(0) | z(1);
    case Op::or_:
    case Op::xor_: return outside | (z(0) & z(1));
    case Op::shl:
      if (!constant(1, c)) return outside | low_mask(low(z(0)));
      return c >= 64 ? ~0ull : outside | z(0) << c | low_mask(static_cast<unsigned>(c));
    case Op::lshr:
      if (!constant(1, c)) return outside | high_mask(high(z(0)));
      return c >= 64 ? ~0ull : z(0) >> c | high_mask(static_cast<unsigned>(c));
    case Op::ashr: {
      const std::uint64_t sign = inst.type == Type::i64 ? 1ull << 63 : 1ull << 31;
      if (!constant(1, c) || !(z(0) & sign)) return outside;
      return c >= 64 ? ~0ull : z(0) >> c | high_mask(static_cast<unsigned>(c));
    }
    case Op::umin: return outside | high_mask(std::max(high(z(0)), high(z(1))));
    case Op::umax: return outside | high_mask(std::min(high(z(0)), high(z(1))));
    case Op::smin:
    case Op::smax: return outside | (z(0) & z(1));
    case Op::popcount: return ~0x7full;
    case Op::bfe_u: return constant(2, c) && c < 64 ? ~low_mask(static_cast<unsigned>(c)) : outside;
    case Op::select: return outside | (z(1) & z(2));
    case Op::zext: return z(0) | ~width_mask(f.insts[f.arg(v, 0)].type);
    case Op::sext: return z(0) & 0x80000000u ? z(0) : (z(0) & 0x7fffffffu);
    case Op::trunc: return outside | z(0);
    case Op::high: return outside | z(0) >> 32;
    case Op::pack: return (z(0) & 0xffffffffu) | z(1) << 32;
    case Op::load:
      return (inst.mem.bytes == 1   ? ~0xffull
              : inst.mem.bytes == 2 ? ~0xffffull
                                    : outside) |
             low_mask(inst.mem.low_zeros) |
             (inst.mem.high_zeros ? ~low_mask(32u - inst.mem.high_zeros) : 0);
    case Op::extract: {
      const Inst& whole = f.insts[f.arg(v, 0)];
      const unsigned high_zeros = whole.op == Op::load ? whole.mem.high_zeros : 0;
      return outside | (high_zeros ? ~low_mask(32u - high_zeros) : 0);
    }
    case Op::phi: {
      std::uint64_t all = ~0ull;
      for (unsigned i = 0; i < inst.count; ++i) all &= z(i);
      return outside | all;
    }
    default: {
      // Arithmetic of halves gives halves.
      const NumKind kind = inst.op == Op::fcvt ? inst.fp.to : inst.fp.kind;
      const bool half = is_within(inst.op, Op::fadd, Op::fcvt) && inst.type == Type::i32 &&
                        (kind == NumKind::f16 || kind == NumKind::bf16);
      return half ? ~0xffffull : outside;
    }
  }
}

KnownBits::KnownBits(const Function& f) : zeros_(f.insts.size(), ~0ull) {
  // Optimistic: a loop's variable keeps the alignment that its start and step have. Masks only lose
  // bits; after some rounds the phis that still move are given up.
  const std::vector<BlockId> order = reverse_postorder(f, false);
  std::vector<Value> walk;  // all instructions, in that order
  std::vector<bool> walked(f.blocks.size());
  bool loops = false;
  for (const BlockId b : order) {
    walked[b] = true;
    for (const BlockId s : f.blocks[b].succs) loops = loops || walked[s];
    for (const Value v : f.blocks[b].insts) zeros_[v] &= transfer(f, v);
    walk.insert(walk.end(), f.blocks[b].insts.begin(), f.blocks[b].insts.end());
  }
  // Without a loop that walk has seen every operand before its use.
  if (loops) iterate(f, walk);
}

// Only a phi has operands that come after it, so what the first walk left open begins at phis.
// Each further round looks at what uses a value that changed, in the order of the walk.
void KnownBits::iterate(const Function& f, const std::vector<Value>& walk) {
  constexpr int kRounds = 8;
  std::vector<std::uint64_t> now((walk.size() + 63) / 64, 0), next;  // bits by place in the walk
  bool any = false;
  for (std::size_t i = 0; i < walk.size(); ++i)
    if (f.insts[walk[i]].op == Op::phi &&
        (transfer(f, walk[i]) & zeros_[walk[i]]) != zeros_[walk[i]]) {
      now[i / 64] |= 1ull << (i % 64);
      any = true;
    }
  if (!any) return;
  // The places of each value's users, one list behind the other.
  std::vector<std::uint32_t> begin(f.insts.size() + 1, 0), users;
  for (const Value v : walk)
    for (const Value a : f.args(v)) ++begin[a];
  for (std::size_t v = 0, sum = 0; v < begin.size(); ++v)
    begin[v] = static_cast<std::uint32_t>(sum += begin[v]);
  users.resize(begin.back());
  for (std::size_t i = walk.size(); i-- > 0;)
    for (const Value a : f.args(walk[i])) users[--begin[a]] = static_cast<std::uint32_t>(i);
  for (int round = 1; any; ++round) {
    any = false;
    next.assign(now.size(), 0);
    for (std::size_t word = 0; word < now.size(); ++word)
      while (now[word]) {
        const std::size_t i = word * 64 + static_cast<std::size_t>(std::countr_zero(now[word]));
        now[word] &= now[word] - 1;
        const Value v = walk[i];
        std::uint64_t z = transfer(f, v) & zeros_[v];
        if (z == zeros_[v]) continue;
        if (round >= kRounds && f.insts[v].op == Op::phi) z = ~width_mask(f.insts[v].type);
        zeros_[v] = z;
        for (std::uint32_t u = begin[v]; u < begin[v + 1]; ++u) {
          const std::uint32_t place = users[u];
          const bool later = place > i;
          (later ? now : next)[place / 64] |= 1ull << (place % 64);
          any = any || !later;
        }
      }
    now.swap(next);
  }
}

std::uint64_t KnownBits::alignment(Value value) const {
  return 1ull << std::min(low(zeros(value)), 63u);
}

}  // namespace ptx2spv::passes
