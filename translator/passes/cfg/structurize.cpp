// Structured control flow from any graph, in three steps: irreducible regions get a dispatching
// header and loops a single exit (structurize_loops.cpp), then the acyclic rest of every loop body
// becomes nested selections along its dominator tree (structurize_acyclic.cpp). Steps work from the
// outermost loop inwards.
#include "translator/passes/cfg/structurize.hpp"

#include <algorithm>
#include <ranges>

#include "translator/ir/cfg.hpp"
#include "translator/passes/cfg/blocks.hpp"
#include "translator/passes/cfg/demote_to_stack.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

namespace structured {

// A switch becomes a balanced tree of comparisons; runs of equal targets share one.
void Structurizer::lower_switches() {
  struct Range {
    std::uint32_t low;
    BlockId target;
  };
  struct Work {
    BlockId at;
    std::uint32_t first, last;
  };
  for (BlockId b = 0, end = static_cast<BlockId>(f_.blocks.size()); b < end; ++b) {
    if (f_.blocks[b].term != Term::switch_) continue;
    const Value cond = f_.blocks[b].cond;
    std::vector<Range> ranges;
    for (std::uint32_t i = 0; i < f_.blocks[b].succs.size(); ++i)
      if (ranges.empty() || ranges.back().target != f_.blocks[b].succs[i])
        ranges.push_back({i, f_.blocks[b].succs[i]});
    builder_.set_loc(f_.blocks[b].loc);
    std::vector<Work> work{{b, 0, static_cast<std::uint32_t>(ranges.size())}};
    while (!work.empty()) {
      const auto [at, first, last] = work.back();
      work.pop_back();
      builder_.at(at);
      if (last - first == 1) {
        builder_.br(ranges[first].target);
        continue;
      }
      const std::uint32_t middle = first + (last - first) / 2;
      const Value below = builder_.cmp(Op::ult, cond, builder_.i32(ranges[middle].low));
      const auto side = [&](std::uint32_t from, std::uint32_t to) {
        if (to - from == 1) return ranges[from].target;
        const BlockId block = builder_.new_block();
        work.push_back({block, from, to});
        return block;
      };
      const BlockId left = side(first, middle), right = side(middle, last);
      builder_.at(at);
      builder_.cond_br(below, left, right);
    }
  }
}

/// Ends that stay apart, and what leads to them alone from one place.
void Structurizer::find_dead_ends() {
  f_.compute_preds();
  dead_end_.assign(f_.blocks.size(), false);
  const std::vector<BlockId> order = reverse_postorder(f_, false);
  for (const BlockId b : std::views::reverse(order)) {
    const Block& block = f_.blocks[b];
    if (block.preds.size() != 1) continue;
    const auto ends = [&](BlockId s) { return bool{dead_end_[s]}; };
    dead_end_[b] = block.apart != Apart::no ||
                   (!block.succs.empty() && std::ranges::all_of(block.succs, ends));
  }
}

void Structurizer::unify_exits() {
  for (Block& block : f_.blocks) {
    block.merge = Merge::none;
    block.merge_block = block.continue_block = kNoBlock;
    if (block.term == Term::none) block.term = Term::unreachable;
    if (block.term == Term::cond_br && block.succs[0] == block.succs[1]) {
      block.term = Term::br;
      block.succs.resize(1);
    }
  }
  std::vector<BlockId> exits;
  Term term = Term::exit;
  for (const BlockId b : reverse_postorder(f_, false)) {
    if (f_.blocks[b].apart != Apart::no) continue;
    if (f_.blocks[b].term != Term::exit && f_.blocks[b].term != Term::ret) continue;
    exits.push_back(b);
    term = f_.blocks[b].term;
  }
  if (exits.size() < 2) return;
  const BlockId last = builder_.new_block();
  f_.blocks[last].term = term;
  for (const BlockId b : exits) {
    builder_.at(b);
    builder_.br(last);
  }
}

// Joins straight lines, drops empty arms, and numbers the blocks in emission order.
void Structurizer::tidy() {
  std::vector<std::uint32_t> preds(f_.blocks.size(), 0);
  std::vector<bool> target(f_.blocks.size());
  const std::vector<BlockId> before = reverse_postorder(f_, true);
  for (const BlockId b : before) {
    const Block& block = f_.blocks[b];
    for (const BlockId s : block.succs) ++preds[s];
    if (block.merge != Merge::none) target[block.merge_block] = true;
    if (block.merge == Merge::loop) target[block.continue_block] = true;
  }
  std::vector<bool> gone(f_.blocks.size());
  for (const BlockId b : before) {
    if (gone[b]) continue;
    for (;;) {
      Block& block = f_.blocks[b];
      if (block.term != Term::br || block.merge != Merge::none) break;
      const BlockId t = block.succs[0];
      if (preds[t] != 1 || target[t] || t == b) break;
      Block& next = f_.blocks[t];
      block.insts.insert(block.insts.end(), next.insts.begin(), next.insts.end());
      block.term = next.term;
      block.cond = next.cond;
      block.succs = std::move(next.succs);
      block.merge = next.merge;
      block.merge_block = next.merge_block;
      block.continue_block = next.continue_block;
      next = Block{};
      gone[t] = true;
    }
  }
  for (const BlockId b : before) {
    Block& block = f_.blocks[b];
    if (gone[b] || block.merge != Merge::selection || block.term != Term::cond_br) continue;
    for (unsigned i = 0; i < 2; ++i) {
      const BlockId arm = block.succs[i];
      const Block& empty = f_.blocks[arm];
      if (!empty.insts.empty() || empty.term != Term::br || empty.merge != Merge::none ||
          target[arm] || preds[arm] != 1 || empty.succs[0] == block.succs[1 - i])
        continue;
      block.succs[i] = empty.succs[0];
    }
  }

  renumber_blocks(f_);
  f_.compute_preds();
}

void Structurizer::run() {
  lower_switches();
  unify_exits();
  demote_to_stack(f_);
  find_dead_ends();
  loop_of_.assign(f_.blocks.size(), kNone);
  stamp_.assign(f_.blocks.size(), kNone);
  index_.assign(f_.blocks.size(), kNone);
  low_.assign(f_.blocks.size(), 0);
  is_entry_.assign(f_.blocks.size(), false);
  path_var_ = static_cast<std::uint32_t>(f_.vars.size());
  f_.vars.push_back({Type::i32, "path", false});
  select_var_ = static_cast<std::uint32_t>(f_.vars.size());
  f_.vars.push_back({Type::i32, "next", false});

  Region whole;
  whole.nodes = reverse_postorder(f_, false);
  regions_.push_back(std::move(whole));
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    // find_loops appends the inner loops, so the region in work must not live in the vector.
    Region region = std::move(regions_[i]);
    region_ = &region;
    find_loops(region);
    build_nodes(region);
    place(false);
    if (copy_joins()) {
      build_nodes(region);
      place(false);
    }
    set_depths(region);
    if (too_deep()) {
      choose_chunks();
      place(true);
      set_depths(region);
    }
    for (const Node& node : nodes_)
      if (node.loop != kNone) regions_[node.loop].depth = node.depth + 1;
    if (region.shell != kNoBlock) {
      Block& shell = f_.blocks[region.shell];
      shell.merge = Merge::loop;
      shell.merge_block = region.merge;
      shell.continue_block = region.latch;
      builder_.at(region.shell);
      builder_.br(region.header);
      builder_.at(region.latch);
      builder_.br(region.shell);
    }
    emit(0, kNoBlock, false);
  }
  if (guard_) finish_guard();
  tidy();
}

}  // namespace structured

bool structurize(Function& function, Module&, LoopGuard* guard) {
  structured::Structurizer(function, guard && guard->on ? guard : nullptr).run();
  return true;
}

}  // namespace ptx2spv::passes
