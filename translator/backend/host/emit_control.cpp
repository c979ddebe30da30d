// Control flow: each block runs for the lanes that have come to it.
#include <algorithm>

#include "translator/backend/host/debug_lines.hpp"

namespace ptx2spv::interpreter::llvm {

/// Where the first of the blocks from a place on is tested for lanes that wait.
LLVMBasicBlockRef Emitter::next_from(std::uint32_t place) {
  const std::uint32_t next = shape_.next_wait(place);
  if (next == shape_.places()) return warp_over_;
  if (!tests_[next]) tests_[next] = b_.block();
  return tests_[next];
}

void Emitter::block(std::uint32_t place) {
  current_ = f_.order[place];
  known_.clear();
  b_.at(bodies_[place]);
  mask_ = has_all_lanes(place) ? b_.all_ones() : b_.load(b_.mask_type, in_[place]);
  if (shape_.waits(place)) b_.store(b_.l.ConstNull(b_.mask_type), in_[place]);
  const std::vector<Value>& insts = f_.blocks[current_].insts;
  for (std::size_t i = 0; i < insts.size(); ++i) {
    const Value v = insts[i];
    if (lines_) lines_->at(f_.locs[f_.insts[v].loc]);
    if (const std::size_t more = choose_together(insts, i)) {
      i += more - 1;
      continue;
    }
    if (instruction(v)) continue;
    fail(f_.insts[v]);
    return;
  }
  terminate(current_);
}

/// Notes that lanes come to a block.
void Emitter::enter(BlockId to, LLVMValueRef lanes, bool add) {
  LLVMValueRef in = in_[shape_.place(to)];
  if (add && shape_.waits(shape_.place(to))) lanes = b_.op(op_or, b_.load(b_.mask_type, in), lanes);
  b_.store(lanes, in);
}

/// Gives the phis of the blocks behind the edges their values, for the lanes of each edge. All are
/// read before any is written.
void Emitter::take_phis(BlockId from, const std::vector<std::pair<BlockId, LLVMValueRef>>& edges) {
  struct Taken {
    Value phi = 0;
    Lifted value;
    LLVMValueRef lanes = nullptr;
    bool keep = false;
  };
  std::vector<Taken> taken;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const ir::Block& to = f_.blocks[edges[e].first];
    const auto same = static_cast<std::size_t>(
        std::count_if(edges.begin(), edges.begin() + static_cast<std::ptrdiff_t>(e),
                      [&](const auto& edge) { return edge.first == edges[e].first; }));
    std::size_t p = 0;
    for (std::size_t seen = 0; p < to.preds.size(); ++p)
      if (to.preds[p] == from && seen++ == same) break;
    for (const Value v : to.insts) {
      if (f_.insts[v].op != Op::phi) break;
      const bool keep = shape_.keeps_phis(from, edges[e].first);
      taken.push_back({v, value(f_.arg(v, static_cast<unsigned>(p))), edges[e].second, keep});
    }
  }
  for (Taken& each : taken) {
    const Home& home = homes_[each.phi];
    const bool uniform = shape_.uniform(each.phi), escapes = shape_.escapes(each.phi);
    if (!uniform) each.value = spread(each.value);
    for (unsigned i = 0; i < each.value.parts; ++i) {
      LLVMValueRef part = each.value.part[i];
      const Variable* to = &home.part[i];
      if (uniform) {
        set(*to, part);
        if (!escapes) continue;
        part = b_.splat(part);
        to = &home.lanes[i];
      }
      if (escapes || each.keep) part = b_.select(each.lanes, part, get(*to));
      set(*to, part);
    }
  }
}

/// Back to a loop's header, unless the launch is to stop.
void Emitter::back(LLVMBasicBlockRef header) {
  LLVMValueRef at = field(offsetof(Frame, stop), b_.i64);
  LLVMValueRef stop = b_.load_at(b_.i32, at);
  b_.l.SetVolatile(stop, 1);
  b_.l.BuildCondBr(b_.b, b_.icmp(int_eq, stop, b_.c32(0)), header, stopped_);
}

/// All lanes that are here go to one block.
void Emitter::go(BlockId from, BlockId to, LLVMValueRef lanes) {
  take_phis(from, {{to, lanes}});
  enter(to, lanes, true);
  const std::uint32_t here = shape_.place(from), there = shape_.place(to);
  if (there <= here)
    back(bodies_[there]);
  else if (shape_.next_wait(here + 1) >= there)
    b_.l.BuildBr(b_.b, bodies_[there]);
  else
    b_.l.BuildBr(b_.b, next_from(here + 1));
}

/// Lanes go different ways.
void Emitter::split(BlockId b) {
  const ir::Block& block = f_.blocks[b];
  std::vector<std::pair<BlockId, LLVMValueRef>> edges;
  LLVMValueRef cond = wide(block.cond), rest = mask_;
  for (std::size_t k = 0; k < block.succs.size(); ++k) {
    LLVMValueRef lanes = rest;
    if (k + 1 < block.succs.size()) {
      LLVMValueRef chosen =
          block.term == Term::cond_br ? cond : b_.icmp(int_eq, cond, b_.splat(b_.c32(k)));
      lanes = b_.op(op_and, rest, chosen);
      rest = b_.op(op_and, rest, b_.op(op_xor, chosen, b_.all_ones()));
    }
    edges.emplace_back(block.succs[k], lanes);
  }
  take_phis(b, edges);
  LLVMValueRef back_lanes = nullptr;
  BlockId header = 0;
  for (const auto& [to, lanes] : edges) {
    enter(to, lanes, true);
    if (shape_.place(to) > shape_.place(b)) continue;
    back_lanes = lanes;
    header = to;
  }
  LLVMBasicBlockRef on = next_from(shape_.place(b) + 1);
  if (!back_lanes) {
    b_.l.BuildBr(b_.b, on);
    return;
  }
  LLVMBasicBlockRef again = b_.block();
  b_.l.BuildCondBr(b_.b, b_.any(back_lanes), again, on);
  b_.at(again);
  back(bodies_[shape_.place(header)]);
}

void Emitter::terminate(BlockId b) {
  const ir::Block& block = f_.blocks[b];
  if (block.succs.empty()) {
    b_.l.BuildBr(b_.b, next_from(shape_.place(b) + 1));
    return;
  }
  if (block.succs.size() == 1) return go(b, block.succs[0], mask_);
  if (!shape_.uniform(block.cond)) return split(b);
  LLVMValueRef cond = scalar(block.cond);
  for (std::size_t k = 0; k + 1 < block.succs.size(); ++k) {
    LLVMValueRef chosen = block.term == Term::cond_br ? cond : b_.icmp(int_eq, cond, b_.c32(k));
    LLVMBasicBlockRef yes = b_.block(), no = b_.block();
    b_.l.BuildCondBr(b_.b, chosen, yes, no);
    b_.at(yes);
    const auto known = known_;
    go(b, block.succs[k], mask_);
    known_ = known;
    b_.at(no);
  }
  go(b, block.succs.back(), mask_);
}

}  // namespace ptx2spv::interpreter::llvm
