// Loops with one entry and one exit. A region's strongly connected components are its loops; one
// with several entries gets a header that dispatches on a variable, and several exit targets are
// told apart by a variable behind the loop's single merge block.
#include <algorithm>

#include "translator/passes/cfg/structurize.hpp"

namespace ptx2spv::passes::structured {

BlockId Structurizer::setter(std::uint32_t var, std::uint32_t value, BlockId target) {
  const BlockId block = new_block();
  builder_.at(block);
  builder_.set(var, builder_.i32(value));
  builder_.br(target);
  return block;
}

/// At the end of block `at`: writes a loop's word of the guard (LoopGuard).
void Structurizer::mark(BlockId at, std::uint32_t number, std::uint32_t value) {
  builder_.at(at);
  const std::uint32_t loop = number - guard_->first_number;
  builder_.store(builder_.i32(guard_->first_word + 4 * loop), builder_.i32(value),
                 {.space = Space::local, .bytes = 4});
}

/// The number of the guard's own condition (never), which no loop has.
constexpr std::uint32_t kNever = 1u << 24;

/// Clears the words of the guard at the start and reads them at the end. The first one's address is
/// one that only the device knows, so that no optimiser takes the words apart.
void Structurizer::finish_guard() {
  LoopGuard& guard = *guard_;
  const auto count = static_cast<std::uint32_t>(guard.loops.size());
  constexpr MemAttr memory{.space = Space::local, .bytes = 4};
  builder_.at(0);
  for (std::uint32_t i = 0; i < count; ++i) mark(0, guard.first_number + i, 0);
  const Value step = builder_.op2(
      Op::shl, builder_.inst(Op::zext, Type::i32, {never(builder_, kNever)}), builder_.i32(2));
  builder_.store(builder_.op2(Op::add, builder_.i32(guard.first_word), step), builder_.i32(0),
                 memory);
  builder_.at(guard.check);
  Value found = builder_.i32(0);
  for (std::uint32_t i = 0; i < count; ++i) {
    const Value word = builder_.load(Type::i32, builder_.i32(guard.first_word + 4 * i), memory);
    found = i == 0 ? word : builder_.op2(Op::umax, found, word);
  }
  builder_.set(guard.found, found);
  f_.local_bytes = guard.first_word + 4 * std::max(count, 2u);
}

/// Gives the region's loops their numbers; the ways into them pass blocks that write them down.
void Structurizer::guard_entries(Region& region, const std::vector<BlockId>& headers,
                                 std::vector<std::uint32_t>& numbers) {
  LoopGuard& guard = *guard_;
  for (std::uint32_t n = 0; n < headers.size(); ++n) {
    const BlockId h = headers[n];
    if (f_.blocks[h].bounded) continue;
    numbers[n] = guard.first_number + static_cast<std::uint32_t>(guard.loops.size());
    guard.loops.push_back(h < guard.headers.size() ? guard.headers[h] : 0);
  }
  std::vector<BlockId> ways(headers.size(), kNoBlock), added;
  for (const BlockId b : region.nodes)
    for (std::size_t i = 0; i < f_.blocks[b].succs.size(); ++i) {
      const BlockId header = f_.blocks[b].succs[i];
      const std::uint32_t n = inside(header) ? stamp_[header] : kNone;
      if (n == kNone || n == stamp_[b] || numbers[n] == 0) continue;
      if (ways[n] == kNoBlock) {
        ways[n] = new_block();
        added.push_back(ways[n]);
        mark(ways[n], numbers[n], numbers[n]);
        builder_.br(header);
      }
      f_.blocks[b].succs[i] = ways[n];
    }
  region.nodes.insert(region.nodes.end(), added.begin(), added.end());
}

/// A header that dispatches to others has the place of one of those.
void Structurizer::locate(const Region& loop) {
  LoopGuard& guard = *guard_;
  std::uint32_t& loc = guard.loops[loop.number - guard.first_number];
  for (std::size_t i = 0; !loc && i < loop.nodes.size(); ++i)
    if (loop.nodes[i] < guard.headers.size()) loc = guard.headers[loop.nodes[i]];
}

/// Branches on `var` (0, 1, ...) to the targets, a balanced tree that starts in block `at`; its
/// further blocks are added to `nodes`.
void Structurizer::dispatch(BlockId at, std::uint32_t var, const std::vector<BlockId>& targets,
                            std::vector<BlockId>& nodes) {
  struct Work {
    BlockId block;
    std::uint32_t first, last;
  };
  std::vector<Work> work{{at, 0, static_cast<std::uint32_t>(targets.size())}};
  while (!work.empty()) {
    const auto [block, first, last] = work.back();
    work.pop_back();
    const std::uint32_t middle = first + (last - first) / 2;
    const auto side = [&](std::uint32_t from, std::uint32_t to) {
      if (to - from == 1) return targets[from];
      const BlockId inner = new_block();
      nodes.push_back(inner);
      work.push_back({inner, from, to});
      return inner;
    };
    builder_.at(block);
    const Value below = builder_.cmp(Op::ult, builder_.get(var), builder_.i32(middle));
    const BlockId left = side(first, middle), right = side(middle, last);
    builder_.at(block);
    builder_.cond_br(below, left, right);
  }
}

/// The blocks of each loop: Tarjan's components, without recursion. stamp_ holds the component's
/// number while the region is in work.
std::vector<std::vector<BlockId>> Structurizer::components(const Region& region) {
  std::vector<std::uint32_t>&index = index_, &low = low_;
  std::vector<std::vector<BlockId>> loops;
  for (const BlockId b : region.nodes) stamp_[b] = index[b] = kNone;
  std::vector<BlockId> open;
  std::vector<std::pair<BlockId, std::uint32_t>> stack;
  std::uint32_t clock = 0;
  constexpr std::uint32_t kDone = kLeave;
  for (const BlockId root : region.nodes) {
    if (index[root] != kNone) continue;
    stack.push_back({root, 0});
    while (!stack.empty()) {
      const BlockId b = stack.back().first;
      if (stack.back().second == 0) {
        index[b] = low[b] = clock++;
        open.push_back(b);
      }
      bool descended = false;
      while (stack.back().second < f_.blocks[b].succs.size()) {
        const BlockId s = f_.blocks[b].succs[stack.back().second++];
        if (!inside(s)) continue;
        if (index[s] == kNone) {
          stack.push_back({s, 0});
          descended = true;
          break;
        }
        if (low[s] != kDone) low[b] = std::min(low[b], index[s]);
      }
      if (descended) continue;
      stack.pop_back();
      const bool self = std::find(f_.blocks[b].succs.begin(), f_.blocks[b].succs.end(), b) !=
                            f_.blocks[b].succs.end() &&
                        inside(b);
      if (low[b] == index[b]) {
        const auto number = static_cast<std::uint32_t>(loops.size());
        const bool loop = open.back() != b || self;
        if (loop) loops.emplace_back();
        for (;;) {
          const BlockId member = open.back();
          open.pop_back();
          low[member] = kDone;
          if (loop) {
            loops.back().push_back(member);
            stamp_[member] = number;
          }
          if (member == b) break;
        }
      }
      if (!stack.empty() && low[b] != kDone)
        low[stack.back().first] = std::min(low[stack.back().first], low[b]);
    }
  }
  return loops;
}

/// Gives loop `n` its SPIR-V blocks: one exit, behind which the targets of its exits are told
/// apart.
void Structurizer::form_loop(Region& outer, Region& loop, std::uint32_t n) {
  loop.shell = new_block();
  loop.latch = new_block();
  loop.merge = new_block();
  std::vector<BlockId> targets;
  const auto leaves = [&](BlockId s) { return !inside(s) || stamp_[s] != n; };
  // Exits that many blocks share are found by a mark of their own, not by a search of the
  // targets.
  std::vector<std::pair<BlockId, std::uint32_t>> exits;
  for (const BlockId b : loop.nodes)
    for (std::uint32_t i = 0; i < f_.blocks[b].succs.size(); ++i)
      if (leaves(f_.blocks[b].succs[i])) exits.push_back({b, i});
  for (const auto& [b, i] : exits) targets.push_back(f_.blocks[b].succs[i]);
  std::sort(targets.begin(), targets.end());
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  const bool guarded = loop.number != 0;
  std::vector<BlockId> through(targets.size(), loop.merge);
  for (std::uint32_t i = 0; i < targets.size() && (guarded || targets.size() > 1); ++i) {
    through[i] = new_block();
    builder_.at(through[i]);
    if (targets.size() > 1) builder_.set(path_var_, builder_.i32(i));
    if (guarded) mark(through[i], loop.number, 0);
    builder_.br(loop.merge);
    loop.nodes.push_back(through[i]);
    stamp_[through[i]] = n;
  }
  for (const auto& [b, i] : exits) {
    BlockId& s = f_.blocks[b].succs[i];
    s = through[std::lower_bound(targets.begin(), targets.end(), s) - targets.begin()];
  }
  if (targets.empty()) {
    f_.blocks[loop.merge].term = Term::unreachable;
  } else if (targets.size() == 1) {
    builder_.at(loop.merge);
    builder_.br(targets[0]);
  } else {
    dispatch(loop.merge, path_var_, targets, outer.nodes);
  }
}

void Structurizer::find_loops(Region& region) {
  std::vector<std::vector<BlockId>> loops = components(region);
  if (loops.empty()) return;
  // A thread that ends in a loop does not leave it first.
  for (std::uint32_t n = 0; n < loops.size(); ++n)
    for (std::size_t i = 0; i < loops[n].size(); ++i)
      for (const BlockId s : f_.blocks[loops[n][i]].succs)
        if (inside(s) && dead_end_[s] && stamp_[s] == kNone) {
          stamp_[s] = n;
          loops[n].push_back(s);
        }
  std::vector<BlockId> headers(loops.size(), kNoBlock);
  make_reducible(region, loops, headers);
  std::vector<std::uint32_t> numbers(loops.size(), 0);
  if (guard_) guard_entries(region, headers, numbers);

  for (std::uint32_t n = 0; n < loops.size(); ++n) {
    Region loop;
    loop.nodes = std::move(loops[n]);
    loop.entry = loop.header = headers[n];
    loop.number = numbers[n];
    if (loop.number) locate(loop);
    form_loop(region, loop, n);
    loop_of_[loop.header] = static_cast<std::uint32_t>(regions_.size());
    regions_.push_back(std::move(loop));
  }
}

/// Adds the targets of the edges that a walk of loop `n` from its entries finds going back.
void Structurizer::add_inner_headers(std::uint32_t n, std::vector<BlockId>& entries) {
  std::vector<std::pair<BlockId, std::uint32_t>> stack;
  const std::vector<BlockId> roots = entries;
  // low_ marks what the walk has seen: 1 on the way, 2 behind it.
  const auto open = [&](BlockId b) {
    low_[b] = 1;
    stack.push_back({b, 0});
  };
  for (const BlockId root : roots) {
    if (low_[root] != 1 && low_[root] != 2) open(root);
    while (!stack.empty()) {
      const BlockId b = stack.back().first;
      if (stack.back().second == f_.blocks[b].succs.size()) {
        low_[b] = 2;
        stack.pop_back();
        continue;
      }
      const BlockId s = f_.blocks[b].succs[stack.back().second++];
      if (!inside(s) || stamp_[s] != n) continue;
      if (low_[s] == 1 && !is_entry_[s]) {
        is_entry_[s] = true;
        entries.push_back(s);
      }
      if (low_[s] != 1 && low_[s] != 2) open(s);
    }
  }
}

void Structurizer::make_reducible(Region& region, std::vector<std::vector<BlockId>>& loops,
                                  std::vector<BlockId>& headers) {
  const std::vector<BlockId>& nodes = region.nodes;
  std::vector<std::vector<BlockId>> entries(loops.size());
  for (const BlockId b : nodes) {
    for (const BlockId s : f_.blocks[b].succs) {
      if (!inside(s) || stamp_[s] == kNone || stamp_[s] == stamp_[b] || is_entry_[s]) continue;
      is_entry_[s] = true;
      entries[stamp_[s]].push_back(s);
    }
  }
  // Loops within loops cannot be nested for ever: from here on all of a loop's inner loops share
  // its header, which dispatches to theirs.
  if (region.depth >= kMaxDepth * 2 / 3)
    for (std::uint32_t n = 0; n < loops.size(); ++n) add_inner_headers(n, entries[n]);
  for (const std::vector<BlockId>& list : entries)
    for (const BlockId e : list) is_entry_[e] = false;
  const auto single = [](const std::vector<BlockId>& list) { return list.size() == 1; };
  for (std::uint32_t n = 0; n < loops.size(); ++n)
    if (single(entries[n])) headers[n] = entries[n][0];
  if (std::all_of(entries.begin(), entries.end(), single)) return;

  // The ways to an entry from outside and from inside the loop pass blocks of their own.
  std::vector<BlockId> outside_way(f_.blocks.size(), kNoBlock),
      inside_way(f_.blocks.size(), kNoBlock);
  std::vector<BlockId> outer;
  for (std::uint32_t n = 0; n < loops.size(); ++n) {
    if (single(entries[n])) continue;
    const BlockId header = new_block();
    headers[n] = header;
    stamp_[header] = n;
    for (std::uint32_t i = 0; i < entries[n].size(); ++i) {
      outside_way[entries[n][i]] = setter(path_var_, i, header);
      outer.push_back(outside_way[entries[n][i]]);
      const BlockId way = inside_way[entries[n][i]] = setter(path_var_, i, header);
      stamp_[way] = n;
    }
  }
  for (const BlockId b : nodes) {
    for (BlockId& s : f_.blocks[b].succs) {
      if (!inside(s) || s >= outside_way.size() || outside_way[s] == kNoBlock) continue;
      s = stamp_[s] == stamp_[b] ? inside_way[s] : outside_way[s];
    }
  }
  for (std::uint32_t n = 0; n < loops.size(); ++n) {
    if (single(entries[n])) continue;
    std::vector<BlockId> added{headers[n]};
    dispatch(headers[n], path_var_, entries[n], added);
    for (const BlockId b : added) stamp_[b] = n;
    loops[n].insert(loops[n].end(), added.begin(), added.end());
    for (const BlockId e : entries[n]) loops[n].push_back(inside_way[e]);
  }
  region.nodes.insert(region.nodes.end(), outer.begin(), outer.end());
}

}  // namespace ptx2spv::passes::structured
