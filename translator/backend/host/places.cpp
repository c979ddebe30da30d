#include "translator/backend/host/places.hpp"

#include <algorithm>
#include <queue>

namespace ptx2spv::interpreter {

namespace {

constexpr std::uint32_t kNone = 0xffffffffu;

/// Blocks, by their places in the order, between the target of an edge back and the last block with
/// one.
struct Loop {
  std::uint32_t first = 0, last = 0, parent = kNone;
};

/// Positions count instructions in the order; each block's end has one of its own.
class Lives {
 public:
  Lives(const ir::Function& f, const std::vector<BlockId>& order) : f_(f), order_(order) {
    number();
    find_loops();
    first_.assign(f.insts.size(), kNone);
    last_.assign(f.insts.size(), 0);
    for (std::uint32_t i = 0; i < order_.size(); ++i) follow(i);
  }

  Places place() {
    std::vector<Value> live;
    for (Value v = 1; v < f_.insts.size(); ++v)
      if (first_[v] != kNone && rows_of(f_.insts[v].type) && !constant(v)) live.push_back(v);
    std::ranges::sort(live, {}, [&](Value v) { return first_[v]; });
    Places out;
    out.of.assign(f_.insts.size(), 0);
    std::vector<Place> free[5];
    using End = std::pair<std::uint32_t, Value>;
    std::priority_queue<End, std::vector<End>, std::greater<>> active;
    for (const Value v : live) {
      while (!active.empty() && active.top().first < first_[v]) {
        const Value over = active.top().second;
        free[rows_of(f_.insts[over].type)].push_back(out.of[over]);
        active.pop();
      }
      const unsigned rows = rows_of(f_.insts[v].type);
      if (free[rows].empty()) {
        out.of[v] = out.rows;
        out.rows += rows;
      } else {
        out.of[v] = free[rows].back();
        free[rows].pop_back();
      }
      active.push({std::max(last_[v], first_[v]), v});
    }
    return out;
  }

  std::vector<std::vector<Value>> after(const std::vector<Value>& stops) const {
    std::vector<std::vector<Value>> out(stops.size());
    for (Value v = 1; v < f_.insts.size(); ++v) {
      if (first_[v] == kNone || !rows_of(f_.insts[v].type) || constant(v)) continue;
      const std::uint32_t from = kept_from(v);
      for (std::size_t i = 0; i < stops.size(); ++i)
        if (const std::uint32_t at = first_[stops[i]]; v != stops[i] && from <= at && at < last_[v])
          out[i].push_back(v);
    }
    return out;
  }

 private:
  /// Who has left a loop keeps what it made there while others go round again.
  std::uint32_t kept_from(Value v) const {
    std::uint32_t from = first_[v];
    const auto leave = [&](std::uint32_t block) {
      for (std::uint32_t l = inside_[block]; l != kNone; l = loops_[l].parent)
        if (last_[v] > end_[loops_[l].last]) from = std::min(from, begin_[loops_[l].first]);
    };
    leave(made_in_[v]);
    if (f_.insts[v].op == Op::phi)
      for (const BlockId p : f_.blocks[order_[made_in_[v]]].preds)
        if (at_[p] != kNone) leave(at_[p]);
    return from;
  }

  bool constant(Value v) const {
    return f_.insts[v].op == Op::constant || f_.insts[v].op == Op::undef;
  }

  void number() {
    at_.assign(f_.blocks.size(), kNone);
    std::uint32_t position = 0;
    for (std::uint32_t i = 0; i < order_.size(); ++i) {
      at_[order_[i]] = i;
      begin_.push_back(position);
      position += static_cast<std::uint32_t>(f_.blocks[order_[i]].insts.size()) + 1;
      end_.push_back(position++);
    }
    made_in_.assign(f_.insts.size(), 0);
    for (std::uint32_t i = 0; i < order_.size(); ++i)
      for (const Value v : f_.blocks[order_[i]].insts) made_in_[v] = i;
  }

  void find_loops() {
    std::vector<std::uint32_t> last(order_.size(), kNone);
    for (std::uint32_t i = 0; i < order_.size(); ++i)
      for (const BlockId to : f_.blocks[order_[i]].succs)
        if (at_[to] <= i) last[at_[to]] = i;
    inside_.assign(order_.size(), kNone);
    std::vector<std::uint32_t> open;
    for (std::uint32_t i = 0; i < order_.size(); ++i) {
      while (!open.empty() && loops_[open.back()].last < i) open.pop_back();
      if (last[i] != kNone) {
        const std::uint32_t parent = open.empty() ? kNone : open.back();
        open.push_back(static_cast<std::uint32_t>(loops_.size()));
        loops_.push_back({i, last[i], parent});
        for (const std::uint32_t each : open)
          loops_[each].last = std::max(loops_[each].last, last[i]);
      }
      inside_[i] = open.empty() ? kNone : open.back();
    }
  }

  /// What is read in a loop that it was made before is read in the next round too.
  void use(Value v, std::uint32_t block, std::uint32_t position) {
    for (std::uint32_t l = inside_[block]; l != kNone && loops_[l].first > made_in_[v];
         l = loops_[l].parent)
      position = std::max(position, end_[loops_[l].last]);
    last_[v] = std::max(last_[v], position);
  }

  void follow(std::uint32_t i) {
    const ir::Block& block = f_.blocks[order_[i]];
    std::uint32_t position = begin_[i];
    for (const Value v : block.insts) {
      ++position;
      if (f_.insts[v].op == Op::phi) {
        for (unsigned p = 0; p < block.preds.size(); ++p) {
          const std::uint32_t from = at_[block.preds[p]];
          if (from == kNone) continue;
          first_[v] = std::min({first_[v], end_[from], position});
          last_[v] = std::max({last_[v], end_[from], position});
          use(f_.arg(v, p), from, end_[from]);
        }
        continue;
      }
      first_[v] = std::min(first_[v], position);
      for (const Value a : f_.args(v)) use(a, i, position);
    }
    if (block.term == ir::Term::cond_br || block.term == ir::Term::switch_)
      use(block.cond, i, end_[i]);
  }

  const ir::Function& f_;
  const std::vector<BlockId>& order_;
  std::vector<std::uint32_t> at_, begin_, end_, made_in_, inside_, first_, last_;
  std::vector<Loop> loops_;
};

}  // namespace

Places allocate_registers(const ir::Function& function, const std::vector<BlockId>& order) {
  return Lives(function, order).place();
}

std::vector<std::vector<Value>> needed_after(const ir::Function& function,
                                             const std::vector<BlockId>& order,
                                             const std::vector<Value>& stops) {
  return Lives(function, order).after(stops);
}

}  // namespace ptx2spv::interpreter
