// Folding, value numbering along the dominator tree, constant branches and dead code, to a fixed
// point (bounded). Needs SSA form; structure stays valid: a branch that becomes constant only loses
// its selection.
#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "translator/ir/cfg.hpp"
#include "translator/passes/analysis/known_bits.hpp"
#include "translator/passes/cfg/blocks.hpp"
#include "translator/passes/optimise/fold.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

namespace {

bool always_readonly(Space space) {
  return space == Space::param || space == Space::constant || space == Space::push;
}

/// The values that stand for each expression, by hash, in the blocks that dominate the one being
/// walked. One array of entries and one of chains: a kernel of a million values allocates twice.
class ValueTable {
 public:
  explicit ValueTable(std::size_t values)
      : chains_(std::bit_ceil(std::max<std::size_t>(values, 64)), kEnd) {
    entries_.reserve(values);
  }

  /// The value equal to `v` that reaches `block`, which is `v` itself when there is none yet.
  template <typename Same>
  Value find_or_add(Value v, BlockId block, std::size_t hash, const Dominators& doms,
                    const Same& same) {
    std::uint32_t& chain = chains_[hash & (chains_.size() - 1)];
    const auto tag = static_cast<std::uint32_t>(hash >> 32);
    // Entries of finished subtrees never come back, and they are the newest of their chain.
    while (chain != kEnd && !doms.dominates(entries_[chain].block, block))
      chain = entries_[chain].next;
    for (std::uint32_t i = chain; i != kEnd; i = entries_[i].next)
      if (entries_[i].tag == tag && same(entries_[i].value)) return entries_[i].value;
    entries_.push_back({v, block, chain, tag});
    chain = static_cast<std::uint32_t>(entries_.size() - 1);
    return v;
  }

 private:
  static constexpr std::uint32_t kEnd = 0xffffffffu;
  struct Entry {
    Value value;
    BlockId block;
    std::uint32_t next, tag;
  };
  std::vector<std::uint32_t> chains_;
  std::vector<Entry> entries_;
};

/// One value for each constant of the function, which stands in the entry block and so reaches
/// every other. Open addressing; kernels repeat few constants very often.
class ConstantTable {
 public:
  explicit ConstantTable(const Function& function) : f_(function), slots_(256, 0) {}

  /// The value to use for the constant `v`, `v` itself when it is the first.
  Value find_or_add(Value v) {
    if (found_.size() * 2 >= slots_.size()) grow();
    Value& slot = slots_[place(v)];
    if (slot == 0) {
      slot = v;
      found_.push_back(v);
    }
    return slot;
  }
  /// In the order in which they were met.
  const std::vector<Value>& all() const { return found_; }

 private:
  std::size_t place(Value v) const {
    const Inst& inst = f_.insts[v];
    std::size_t i = (inst.imm * 8 + static_cast<std::size_t>(inst.type)) * 0x9e3779b97f4a7c15ull;
    for (i >>= 20;; ++i) {
      const Value other = slots_[i &= slots_.size() - 1];
      if (other == 0 || (f_.insts[other].imm == inst.imm && f_.insts[other].type == inst.type))
        return i;
    }
  }
  void grow() {
    slots_.assign(slots_.size() * 2, 0);
    for (const Value v : found_) slots_[place(v)] = v;
  }

  const Function& f_;
  std::vector<Value> slots_, found_;
};

/// The conditions that a branch on the way to a block has decided.
class DecidedConditions {
 public:
  DecidedConditions(const Function& function, const Dominators& doms)
      : f_(function), doms_(doms), known_(function.insts.size()) {}

  /// Learns what the branch to `block` says; blocks are entered in the dominator tree's preorder.
  void enter(BlockId block) {
    if (f_.blocks[block].preds.size() != 1) return;
    const Block& from = f_.blocks[f_.blocks[block].preds[0]];
    if (from.term != Term::cond_br || from.succs[0] == from.succs[1]) return;
    learn(from.cond, from.succs[0] == block, block, 0);
  }
  /// The value of `cond` in `block`, where it is decided.
  std::optional<bool> find(Value cond, BlockId block) const {
    if (cond >= known_.size() || known_[cond].block == kNoBlock) return std::nullopt;
    if (!doms_.dominates(known_[cond].block, block)) return std::nullopt;
    return known_[cond].truth;
  }

 private:
  static constexpr unsigned kDepth = 6;  ///< of an expression that is taken apart
  struct Known {
    BlockId block = kNoBlock;
    bool truth = false;
  };

  void learn(Value cond, bool truth, BlockId block, unsigned depth) {
    if (cond >= known_.size()) return;
    if (!find(cond, block)) known_[cond] = {block, truth};
    const Inst& inst = f_.insts[cond];
    if (depth == kDepth || inst.type != Type::i1) return;
    if (inst.op == Op::not_)
      learn(f_.arg(cond, 0), !truth, block, depth + 1);
    else if (inst.op == (truth ? Op::and_ : Op::or_))
      for (const Value a : f_.args(cond)) learn(a, truth, block, depth + 1);
  }

  const Function& f_;
  const Dominators& doms_;
  std::vector<Known> known_;  ///< by value: the newest
};

class Simplifier {
 public:
  Simplifier(Function& function, bool int64) : f_(function), int64_(int64) {}

  bool run() {
    // The first round mostly joins what lowering wrote many times over, and needs no known bits for
    // it; the others then walk through a fifth of the values, in the order in which they stand.
    bool any = round(false);
    renumber_values(f_);
    constexpr int kRounds = 4;
    for (int i = 0; i < kRounds && round(true); ++i) any = true;
    remove_dead();
    return any;
  }

 private:
  bool round(bool known_bits) {
    changed_ = false;
    number_values(known_bits);
    const bool folded = fold_branches();
    if (delete_single_trip_loops(f_) || folded) {
      remove_unreachable(f_);
      changed_ = true;
    }
    return changed_;
  }

  Value resolve(Value v) {
    Value end = v;
    while (alias_[end]) end = alias_[end];
    while (alias_[v]) v = std::exchange(alias_[v], end);
    return end;
  }

  bool shareable(const Inst& inst) const {
    const unsigned flags = info(inst.op).flags;
    if (inst.op == Op::phi || inst.op == Op::undef) return false;
    if (flags & flag::P) return true;
    return inst.op == Op::load && !inst.mem.is_volatile &&
           (inst.mem.readonly || always_readonly(inst.mem.space));
  }

  std::size_t hash(Value v) const {
    const Inst& i = f_.insts[v];
    std::size_t h = static_cast<std::size_t>(i.op) * 31 + static_cast<std::size_t>(i.type);
    const auto mix = [&](std::size_t x) {
      h = (h ^ x) * 0x9e3779b97f4a7c15ull;
      h ^= h >> 29;
    };
    mix(i.imm);
    mix(static_cast<std::size_t>(i.builtin) | static_cast<std::size_t>(i.mem.bytes) << 8 |
        static_cast<std::size_t>(i.mem.space) << 16 | static_cast<std::size_t>(i.mem.slot) << 24);
    for (const Value a : f_.args(v)) mix(a);
    return h;
  }

  bool same(Value a, Value b) const {
    const Inst &x = f_.insts[a], &y = f_.insts[b];
    return x.op == y.op && x.type == y.type && x.imm == y.imm && x.builtin == y.builtin &&
           x.fp == y.fp && x.mem == y.mem && std::ranges::equal(f_.args(a), f_.args(b));
  }

  // One walk over the dominator tree: operands resolved, the instruction folded, then looked up.
  void number_values(bool known_bits) {
    const Dominators doms(f_, false);
    Folder folder(f_, out_, int64_);
    Ranges ranges(f_);
    if (known_bits) {
      folder.set_zeros(KnownBits(f_).take());
      folder.set_ranges(&ranges);
    }
    alias_.assign(f_.insts.size(), 0);
    ValueTable table(f_.insts.size());
    ConstantTable constants(f_);
    DecidedConditions decided(f_, doms);
    const auto number = [&](Value v, BlockId b) {
      if (!shareable(f_.insts[v])) return v;
      return table.find_or_add(v, b, hash(v), doms, [&](Value other) { return same(other, v); });
    };
    std::vector<Value> insts;
    for (const BlockId b : doms.preorder()) {
      decided.enter(b);
      std::vector<Value>& kept = f_.blocks[b].insts;  // no block is made here
      insts.assign(kept.begin(), kept.end());
      kept.clear();
      for (const Value v : insts) {
        if (f_.insts[v].op == Op::constant) {
          const Value first = constants.find_or_add(v);
          if (first != v) alias_[v] = first;
          continue;
        }
        if (f_.insts[v].op == Op::phi) {
          const Value only = single_operand(v);
          if (only) {
            alias_[v] = only;
            changed_ = true;
          } else {
            kept.push_back(v);
          }
          continue;
        }
        for (Value& a : f_.args(v)) a = resolve(a);
        out_.clear();
        const Inst before = f_.insts[v];
        Value result = folder.fold(v);
        alias_.resize(f_.insts.size(), 0);
        for (const Value extra : out_) {
          for (Value& a : f_.args(extra)) a = resolve(a);
          const bool is_constant = f_.insts[extra].op == Op::constant;
          const Value shared = is_constant ? constants.find_or_add(extra) : number(extra, b);
          if (shared != extra)
            alias_[extra] = shared;
          else if (!is_constant)
            kept.push_back(extra);
        }
        result = resolve(result);
        if (result == v) {
          for (Value& a : f_.args(v)) a = resolve(a);
          changed_ = changed_ || before.op != f_.insts[v].op || before.first != f_.insts[v].first;
          result = number(v, b);
        }
        if (result != v) {
          alias_[v] = result;
          changed_ = true;
        } else {
          kept.push_back(v);
        }
      }
      Block& block = f_.blocks[b];
      if (!block.cond) continue;
      block.cond = resolve(block.cond);
      if (block.term != Term::cond_br) continue;
      if (const auto truth = decided.find(block.cond, b)) block.cond = constant(*truth, constants);
    }
    std::vector<Value>& entry = f_.blocks[0].insts;
    entry.insert(entry.begin(), constants.all().begin(), constants.all().end());
    for (const BlockId b : doms.order()) {
      for (const Value v : f_.blocks[b].insts)
        for (Value& a : f_.args(v)) a = resolve(a);
      if (f_.blocks[b].cond) f_.blocks[b].cond = resolve(f_.blocks[b].cond);
    }
  }

  Value constant(bool truth, ConstantTable& constants) {
    f_.insts.push_back({.op = Op::constant, .type = Type::i1, .imm = truth});
    alias_.resize(f_.insts.size(), 0);
    return constants.find_or_add(static_cast<Value>(f_.insts.size() - 1));
  }

  Value single_operand(Value phi) {
    Value only = 0;
    for (const Value operand : f_.args(phi)) {
      const Value a = resolve(operand);
      if (a == phi || a == only) continue;
      if (only) return 0;
      only = a;
    }
    return only;
  }

  bool fold_branches() {
    bool any = false;
    for (Block& block : f_.blocks) {
      if (block.term != Term::cond_br) continue;
      if (f_.insts[block.cond].op == Op::not_) {
        block.cond = f_.arg(block.cond, 0);
        std::swap(block.succs[0], block.succs[1]);
      }
      const Inst& cond = f_.insts[block.cond];
      if (cond.op != Op::constant || block.succs[0] == block.succs[1]) continue;
      block.succs.assign(1, block.succs[cond.imm ? 0 : 1]);
      block.term = Term::br;
      block.cond = 0;
      if (block.merge == Merge::selection) {
        block.merge = Merge::none;
        block.merge_block = kNoBlock;
      }
      any = true;
    }
    return any;
  }

  void remove_dead() {
    std::vector<bool> live(f_.insts.size());
    std::vector<Value> work;
    const auto mark = [&](Value v) {
      if (live[v]) return;
      live[v] = true;
      work.push_back(v);
    };
    for (const Block& block : f_.blocks) {
      if (block.term == Term::cond_br || block.term == Term::switch_) mark(block.cond);
      for (const Value v : block.insts) {
        const Inst& inst = f_.insts[v];
        const unsigned flags = info(inst.op).flags;
        const bool keep = (flags & (flag::W | flag::C)) ||
                          ((flags & flag::R) && inst.mem.is_volatile && inst.op == Op::load);
        if (keep) mark(v);
      }
    }
    while (!work.empty()) {
      const Value v = work.back();
      work.pop_back();
      for (const Value a : f_.args(v)) mark(a);
    }
    for (Block& block : f_.blocks) {
      const auto dead = [&](Value v) { return !live[v]; };
      block.insts.erase(std::remove_if(block.insts.begin(), block.insts.end(), dead),
                        block.insts.end());
    }
  }

  Function& f_;
  std::vector<Value> alias_, out_;
  const bool int64_;
  bool changed_ = false;
};

}  // namespace

bool simplify(Function& function, Module&, bool int64) { return Simplifier(function, int64).run(); }

}  // namespace ptx2spv::passes
