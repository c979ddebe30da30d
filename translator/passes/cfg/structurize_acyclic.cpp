// The acyclic part: a loop's body (inner loops count as one node) along its dominator tree. A node
// with one predecessor nests in that predecessor's branch; one with several (a join) is placed
// behind its dominator's construct. Where control leaves a construct for one join only, the join
// follows directly. Otherwise every jump writes its target to a variable, and a comparison guards
// each of the joins that follow.
#include <algorithm>
#include <ranges>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "translator/passes/cfg/structurize.hpp"

namespace ptx2spv::passes::structured {

void Structurizer::build_nodes(const Region& region) {
  // Reverse postorder of the collapsed graph; index_ holds a block's node.
  for (const Node& node : nodes_) index_[node.block] = kNone;
  nodes_.clear();
  struct Frame {
    BlockId block;
    std::uint32_t next;
  };
  std::vector<Frame> stack;
  std::vector<BlockId> order;
  const auto loop_at = [&](BlockId b) { return b == region.entry ? kNone : loop_of_[b]; };
  const auto tail_of = [&](BlockId b) {
    const std::uint32_t loop = loop_at(b);
    return loop == kNone ? b : regions_[loop].merge;
  };
  for (const BlockId b : region.nodes) index_[b] = kNone;
  const auto open = [&](BlockId b) {
    index_[b] = 0;
    stack.push_back({b, 0});
  };
  open(region.entry);
  while (!stack.empty()) {
    Frame& frame = stack.back();
    const std::vector<BlockId>& succs = f_.blocks[tail_of(frame.block)].succs;
    if (frame.next == succs.size()) {
      order.push_back(frame.block);
      stack.pop_back();
      continue;
    }
    // The last successor is walked first, so that the first one comes first in the order.
    const BlockId s = succs[succs.size() - 1 - frame.next++];
    if (inside(s) && index_[s] == kNone) open(s);
  }
  std::reverse(order.begin(), order.end());
  for (std::uint32_t i = 0; i < order.size(); ++i) index_[order[i]] = i;

  nodes_.resize(order.size());
  const auto common = [&](std::uint32_t a, std::uint32_t b) {
    if (nodes_[a].tree_depth < nodes_[b].tree_depth) std::swap(a, b);
    while (nodes_[a].tree_depth > nodes_[b].tree_depth)
      a = nodes_[nodes_[a].jump].tree_depth >= nodes_[b].tree_depth ? nodes_[a].jump
                                                                    : nodes_[a].idom;
    while (a != b) {
      const bool far = nodes_[a].jump != nodes_[b].jump;
      a = far ? nodes_[a].jump : nodes_[a].idom;
      b = far ? nodes_[b].jump : nodes_[b].idom;
    }
    return a;
  };
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    Node& node = nodes_[i];
    node.block = order[i];
    node.loop = loop_at(order[i]);
    node.tail = tail_of(order[i]);
    if (i > 0) {
      const Node& parent = nodes_[node.idom];
      node.tree_depth = parent.tree_depth + 1;
      const Node& far = nodes_[parent.jump];
      node.jump = parent.tree_depth - far.tree_depth == far.tree_depth - nodes_[far.jump].tree_depth
                      ? far.jump
                      : node.idom;
    }
    for (const BlockId s : f_.blocks[node.tail].succs) {
      if (!inside(s)) {
        node.leave[node.succs] = s == region.header ? region.latch : region.merge;
        node.succ[node.succs++] = kLeave;
        continue;
      }
      const std::uint32_t t = index_[s];
      node.succ[node.succs++] = t;
      Node& target = nodes_[t];
      target.idom = target.preds++ == 0 ? i : common(target.idom, i);
    }
  }
}

/// Whether a branch to `succ` leaves the nest of its dominator instead of entering it.
bool Structurizer::jumps(std::uint32_t succ) const {
  const Node& node = nodes_[succ];
  return node.preds > 1 || node.head || node.tail_placed;
}

/// Decides what is placed behind which node and which of these need a guard. The set of targets to
/// which control falls out of a node's subtree goes up the tree, the smaller set always into the
/// larger.
void Structurizer::place(bool chunked) {
  using Targets = std::unordered_set<std::uint32_t>;
  for (Node& node : nodes_) {
    node.placed.clear();
    node.tail_placed = node.guarded = false;
    if (!chunked) node.head = false;
  }
  for (std::uint32_t i = 1; i < nodes_.size(); ++i) {
    if (nodes_[i].head)
      nodes_[nodes_[i].root].placed.push_back(i);
    else if (nodes_[i].preds > 1)
      nodes_[nodes_[i].idom].placed.push_back(i);
  }
  std::vector<Targets> out(nodes_.size());
  const auto join = [](Targets& into, Targets&& from) {
    if (into.size() < from.size()) into.swap(from);
    into.insert(from.begin(), from.end());
    from.clear();
  };
  for (std::uint32_t i = static_cast<std::uint32_t>(nodes_.size()); i-- > 0;) {
    Node& node = nodes_[i];
    // An arm that never comes out leaves the rest to the other arm, which then need not nest.
    if (node.succs == 2) {
      const auto stuck = [&](std::uint32_t s) {
        return s == kLeave || (!jumps(s) && out[s].empty());
      };
      for (unsigned k = 0; k < 2; ++k) {
        const std::uint32_t other = node.succ[1 - k];
        if (!stuck(node.succ[k]) || other == kLeave || jumps(other)) continue;
        nodes_[other].tail_placed = true;
        node.placed.insert(node.placed.begin(), other);
        break;
      }
    }
    Targets& targets = out[i];
    for (std::uint32_t k = 0; k < node.succs; ++k) {
      const std::uint32_t s = node.succ[k];
      if (s == kLeave) continue;
      if (jumps(s))
        targets.insert(s);
      else
        join(targets, std::move(out[s]));
    }
    node.falls_out = !targets.empty();
    for (const std::uint32_t m : node.placed) {
      nodes_[m].guarded = targets.size() != 1 || !targets.count(m);
      targets.erase(m);
      join(targets, std::move(out[m]));
    }
  }
}

/// Gives each predecessor of a short guarded join a copy of its own: a switch's default, to which
/// several comparisons lead, takes fewer instructions than the guard. Whether there are any.
bool Structurizer::copy_joins() {
  constexpr std::size_t kShort = 6, kCopies = 8;
  const auto movable = [&](Value v) {
    const Inst& inst = f_.insts[v];
    return inst.op == Op::get_var || inst.op == Op::set_var ||
           (info(inst.op).flags & (flag::P | flag::C)) == flag::P;
  };
  // Values stay within their blocks (demote_to_stack).
  const auto copy = [&](BlockId from) {
    const BlockId to = new_block();
    std::unordered_map<Value, Value> copies;
    for (const Value v : std::vector(f_.blocks[from].insts)) {
      const std::vector<Value> args(f_.args(v).begin(), f_.args(v).end());
      Inst inst = f_.insts[v];
      inst.first = static_cast<std::uint32_t>(f_.operands.size());
      for (const Value a : args) f_.operands.push_back(copies.at(a));
      copies[v] = static_cast<Value>(f_.insts.size());
      f_.insts.push_back(inst);
      f_.blocks[to].insts.push_back(copies[v]);
    }
    Block& block = f_.blocks[to];
    block.term = f_.blocks[from].term;
    block.succs = f_.blocks[from].succs;
    block.loc = f_.blocks[from].loc;
    return to;
  };
  enum class Join : std::uint8_t { other, uncopied, own };  // own: taken by one predecessor
  std::vector<Join> joins(nodes_.size(), Join::other);
  for (std::uint32_t i = 1; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    const std::vector<Value>& insts = f_.blocks[node.block].insts;
    if (node.guarded && node.loop == kNone && node.succs == 1 && node.preds <= kCopies &&
        insts.size() <= kShort && std::ranges::all_of(insts, movable))
      joins[i] = Join::uncopied;
  }
  bool any = false;
  for (const Node& from : nodes_)
    for (std::uint32_t k = 0; k < from.succs; ++k) {
      const std::uint32_t s = from.succ[k];
      if (s == kLeave || joins[s] == Join::other) continue;
      if (std::exchange(joins[s], Join::own) == Join::uncopied) continue;
      const BlockId own = copy(nodes_[s].block);
      f_.blocks[from.tail].succs[k] = own;
      any = true;
    }
  return any;
}

void Structurizer::set_depths(const Region& region) {
  nodes_[0].depth = region.depth;
  for (Node& node : nodes_) {
    for (const std::uint32_t m : node.placed)
      nodes_[m].depth = node.depth + (nodes_[m].guarded ? 1 : 0);
    for (std::uint32_t k = 0; k < node.succs; ++k)
      if (node.succ[k] != kLeave && !jumps(node.succ[k]))
        nodes_[node.succ[k]].depth = node.depth + (node.succs == 2 ? 1 : 0);
  }
}

bool Structurizer::too_deep() const {
  return std::any_of(nodes_.begin(), nodes_.end(),
                     [](const Node& n) { return n.depth > kMaxDepth; });
}

/// Where nesting is too deep, the subtree of a node at a bearable depth is cut into shallow chunks:
/// single-entry parts whose heads are all placed at that node, one guard after the other, in
/// reverse postorder.
void Structurizer::choose_chunks() {
  constexpr unsigned kThreshold = kMaxDepth * 2 / 3;
  constexpr std::uint32_t kMixed = kLeave;
  std::vector<std::uint32_t> chunk(nodes_.size(), kNone), from(nodes_.size(), kNone);
  std::vector<unsigned> height(nodes_.size(), 0);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    node.root = i == 0 ? kNone : nodes_[node.idom].root;
    if (node.root == kNone && node.depth >= kThreshold) {
      node.root = i;
      chunk[i] = i;
    } else if (node.root != kNone) {
      const unsigned base = nodes_[node.root].depth;
      const unsigned limit = base >= kMaxDepth - 4 ? 2 : std::min(12u, (kMaxDepth - base) / 2);
      const Node& parent = nodes_[node.idom];
      height[i] = height[node.idom] + (node.preds > 1 || parent.succs == 2 ? 1 : 0);
      if (from[i] == kMixed || height[i] > limit) {
        node.head = true;
        chunk[i] = i;
        height[i] = 0;
      } else {
        chunk[i] = from[i];
      }
    }
    for (std::uint32_t k = 0; k < node.succs; ++k) {
      if (node.succ[k] == kLeave) continue;
      std::uint32_t& c = from[node.succ[k]];
      c = c == kNone || c == chunk[i] ? chunk[i] : kMixed;
    }
  }
}

/// The block through which control enters a node. A loop gets a block before its header, so that no
/// header is also a branch's target or merge block; call once a node.
BlockId Structurizer::entry_of(std::uint32_t n) {
  if (nodes_[n].loop == kNone) return nodes_[n].block;
  const BlockId before = new_block();
  builder_.at(before);
  builder_.br(regions_[nodes_[n].loop].shell);
  return before;
}

/// The target of one side of a conditional branch, whose construct ends in `join`.
BlockId Structurizer::emit_arm(std::uint32_t succ, BlockId join, bool guard) {
  if (!jumps(succ)) {
    const BlockId entry = entry_of(succ);
    emit(succ, join, guard);
    return entry;
  }
  return guard ? setter(select_var_, nodes_[succ].block, join) : join;
}

/// Writes the branches of a node and all that is nested in it or placed behind it. Control that
/// falls out goes to `exit_to`; `guard` says that the selecting variable is read there.
void Structurizer::emit(std::uint32_t n, BlockId exit_to, bool guard) {
  for (;;) {
    const std::vector<std::uint32_t>& placed = nodes_[n].placed;
    const BlockId tail = nodes_[n].tail;
    BlockId join = exit_to;
    bool join_guard = guard;
    if (!placed.empty()) {
      join_guard = nodes_[placed[0]].guarded;
      join = join_guard ? new_block() : entry_of(placed[0]);
    }
    if (nodes_[n].succs == 1) {
      const std::uint32_t s = nodes_[n].succ[0];
      builder_.at(tail);
      if (s == kLeave) {
        builder_.br(nodes_[n].leave[0]);
      } else if (jumps(s)) {
        if (join_guard) builder_.set(select_var_, builder_.i32(nodes_[s].block));
        builder_.br(join);
      } else {
        const BlockId entry = entry_of(s);
        builder_.at(tail);
        builder_.br(entry);
        if (placed.empty()) {
          n = s;
          continue;
        }
        emit(s, join, join_guard);
      }
    } else if (nodes_[n].succs == 2) {
      BlockId merge = join;
      unsigned next =
          2;  // the side that goes on with the loop's next iteration behind the construct
      if (placed.empty()) {
        merge = new_block();
        builder_.at(merge);
        for (unsigned k = 0; k < 2 && !nodes_[n].falls_out; ++k)
          if (nodes_[n].succ[k] == kLeave && nodes_[n].leave[k] == region_->latch) next = k;
        // Drivers' loops carry a mask of those who continue early, at a cost in every iteration.
        if (nodes_[n].falls_out)
          builder_.br(exit_to);
        else if (next < 2)
          builder_.br(region_->latch);
        else
          f_.blocks[merge].term = Term::unreachable;
      }
      BlockId arms[2];
      for (unsigned k = 0; k < 2; ++k) {
        const std::uint32_t s = nodes_[n].succ[k];
        arms[k] = k == next     ? merge
                  : s == kLeave ? nodes_[n].leave[k]
                                : emit_arm(s, merge, join_guard);
      }
      Block& block = f_.blocks[tail];
      block.succs.assign({arms[0], arms[1]});
      block.merge = Merge::selection;
      block.merge_block = merge;
    }
    bool again = false;
    BlockId at = join;
    for (std::size_t k = 0; k < placed.size(); ++k) {
      const std::uint32_t m = placed[k];
      const bool last = k + 1 == placed.size();
      if (last && !nodes_[m].guarded) {
        n = m;
        again = true;
        break;
      }
      const bool after_guard = last ? guard : nodes_[placed[k + 1]].guarded;
      const BlockId after = last || after_guard ? new_block() : entry_of(placed[k + 1]);
      if (nodes_[m].guarded) {
        builder_.at(at);
        const Value hit =
            builder_.cmp(Op::eq, builder_.get(select_var_), builder_.i32(nodes_[m].block));
        const BlockId entry = entry_of(m);
        builder_.at(at);
        builder_.cond_br(hit, entry, after);
        f_.blocks[at].merge = Merge::selection;
        f_.blocks[at].merge_block = after;
      }
      if (last) {
        builder_.at(after);
        builder_.br(exit_to);
      }
      emit(m, after, after_guard);
      at = after;
    }
    if (!again) return;
  }
}

}  // namespace ptx2spv::passes::structured
