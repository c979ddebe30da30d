#include "translator/backend/host/early_exits.hpp"

#include <algorithm>

#include "translator/ir/cfg.hpp"

namespace ptx2spv::interpreter::llvm {

namespace {

class Finder {
 public:
  Finder(const ir::Function& f, const ir::StructuredLoops& nest, const passes::Scope& scope)
      : f_(f), nest_(nest), scope_(scope) {}

  passes::EarlyExits run() {
    for (std::size_t left = kMost; left-- > 0 && add_one();) continue;
    return std::move(early_);
  }

 private:
  static constexpr std::size_t kMost = 16;

  /// The outermost branch that keeps lanes from the first operation that some miss.
  bool add_one() {
    const passes::Uniformity uniformity(f_, early_, scope_);
    const auto missed = [&](BlockId b) {
      return uniformity.divergent_block(b) &&
             has(b, [](const ir::Inst& inst) { return together(inst.op); });
    };
    const auto late = std::ranges::find_if(f_.order, missed);
    if (late == f_.order.end()) return false;
    for (auto b = f_.order.begin(); b != late; ++b) {
      const ir::Block& block = f_.blocks[*b];
      if (block.term != ir::Term::cond_br || block.merge != ir::Merge::selection ||
          uniformity.divergent_block(*b) || !uniformity.divergent(block.cond) ||
          std::ranges::find(early_.heads, *b) != early_.heads.end() ||
          nest_.place[block.merge_block] <= nest_.place[*late])
        continue;
      return add(*b);
    }
    return false;
  }

  template <typename Is>
  bool has(BlockId block, Is&& is) const {
    return std::ranges::any_of(f_.blocks[block].insts, [&](Value v) { return is(f_.insts[v]); });
  }

  bool quiet(const std::vector<BlockId>& blocks) const {
    return std::ranges::none_of(blocks, [&](BlockId b) {
      return has(b, [](const ir::Inst& inst) { return together(inst.op) || is_visible(inst); });
    });
  }

  bool add(BlockId head) {
    const ir::Block& block = f_.blocks[head];
    if (nest_.innermost[head] != ir::StructuredLoops::kNone) return false;
    std::vector<BlockId> arms[2];
    bool barriers = false, meets[2] = {};
    for (unsigned i = 0; i < 2; ++i) {
      arms[i] = ir::blocks_until(f_, block.succs[i], block.merge_block);
      for (const BlockId b : arms[i]) {
        // Who leaves the construct by another way is not followed.
        if (b == head || f_.blocks[b].succs.empty() ||
            nest_.place[b] >= nest_.place[block.merge_block])
          return false;
        meets[i] = meets[i] || has(b, [](const ir::Inst& inst) { return together(inst.op); });
        barriers = barriers || has(b, [](const ir::Inst& inst) { return is_barrier(inst.op); });
      }
    }
    if (meets[0] == meets[1]) return false;
    const unsigned other = meets[0] ? 1 : 0;
    if (barriers &&
        !(quiet(arms[other]) && quiet(ir::blocks_until(f_, block.merge_block, ir::kNoBlock))))
      return false;
    early_.heads.push_back(head);
    early_.arms.insert(early_.arms.end(), arms[other].begin(), arms[other].end());
    return true;
  }

  const ir::Function& f_;
  const ir::StructuredLoops& nest_;
  const passes::Scope scope_;
  passes::EarlyExits early_;
};

}  // namespace

bool is_visible(const ir::Inst& inst) {
  return is_access(inst.op) && inst.op != Op::load && inst.mem.space != ir::Space::trap &&
         inst.mem.space != ir::Space::local;
}

bool together(Op op) { return is_barrier(op) || is_warp_operation(op); }

passes::EarlyExits find_early_exits(const ir::Function& function, const ir::StructuredLoops& nest,
                                    const passes::Scope& scope) {
  return Finder(function, nest, scope).run();
}

}  // namespace ptx2spv::interpreter::llvm
