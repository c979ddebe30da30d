// Loops on drivers that end them silently (lavapipe: once the loops of a group of threads have
// made 65,535 iterations together). Counting would slow every iteration down, and a thread cannot
// count the iterations of the others in its group, which the driver counts with its own.
// LoopGuard describes what is done instead.
#include "ptx2spv/abi.hpp"
#include "translator/ir/cfg.hpp"
#include "translator/passes/traps/lower_traps.hpp"

namespace ptx2spv::passes {

namespace {

/// Numbers of conditions (never) that other passes do not use.
constexpr std::uint32_t kFirstNever = 1u << 25;

/// Where a block's branch stands in the source: with what it computes last.
std::uint32_t location(const Function& function, BlockId block) {
  const Block& b = function.blocks[block];
  for (std::size_t i = b.insts.size(); !b.loc && i-- > 0;)
    if (const std::uint32_t loc = function.insts[b.insts[i]].loc) return loc;
  return b.loc;
}

/// Loops without an exit get one that no thread takes. A driver's optimiser would otherwise drop
/// the code behind them, where a thread that was cut off continues.
void add_exits(Function& function, const BackEdges& back) {
  std::vector<std::vector<BlockId>> preds(function.blocks.size());
  std::vector<BlockId> work;
  std::vector<bool> ends(function.blocks.size());
  for (BlockId b = 0; b < function.blocks.size(); ++b) {
    for (const BlockId s : function.blocks[b].succs) preds[s].push_back(b);
    if (function.blocks[b].term == Term::exit) {
      ends[b] = true;
      work.push_back(b);
    }
  }
  while (!work.empty()) {
    const BlockId b = work.back();
    work.pop_back();
    for (const BlockId p : preds[b])
      if (!ends[p]) {
        ends[p] = true;
        work.push_back(p);
      }
  }
  Builder b(function);
  BlockId out = kNoBlock;
  for (const BackEdges::Edge& edge : back.edges) {
    if (ends[edge.from]) continue;
    if (out == kNoBlock) {
      out = b.new_block();
      b.at(out);
      b.exit();
    }
    const BlockId again = b.new_block();
    for (BlockId& s : function.blocks[edge.from].succs)
      if (s == edge.to) s = again;
    b.at(again);
    b.cond_br(never(b, kFirstNever + edge.from), out, edge.to);
  }
}

}  // namespace

void detect_loop_cutoff(Function& function, LoopGuard& guard) {
  const BackEdges back = back_edges(function);
  for (const BackEdges::Edge& edge : back.edges) {
    if (function.blocks[edge.to].bounded) continue;
    guard.on = true;
    guard.headers.resize(function.blocks.size());
    guard.headers[edge.to] = location(function, edge.from);
  }
  if (!guard.on) return;
  guard.first_word = (function.local_bytes + 3) & ~3u;
  add_exits(function, back);
}

Value report_cut_off(Builder& b, LoopGuard& guard) {
  Function& function = b.function();
  function.vars.push_back({Type::i32, "cut.off"});
  guard.found = static_cast<std::uint32_t>(function.vars.size() - 1);
  guard.check = b.new_block();
  const BlockId look = b.new_block(), report = b.new_block(), rest = b.new_block();
  b.br(guard.check);
  b.at(guard.check);
  b.br(look);
  b.at(look);
  const Value number = b.get(guard.found);
  const Value cut = b.cmp(Op::ne, number, b.i32(0));
  b.cond_br(cut, report, rest);
  b.at(report);
  const auto atomic = [&](std::uint32_t word, Value value, AtomicOp op) {
    const Value v = b.inst(Op::atomic, Type::i32, {b.i32(word * 4), value});
    b.last(v).mem = {.space = Space::trap, .bytes = 4, .atomic = op};
  };
  atomic(abi::t_count, b.i32(1), AtomicOp::add);
  atomic(abi::t_cut_off, number, AtomicOp::umax);
  b.br(rest);
  b.at(rest);
  return cut;
}

void report_at_exits(Function& function, LoopGuard& guard) {
  Builder b(function);
  const auto blocks = static_cast<BlockId>(function.blocks.size());
  const BlockId end = b.new_block();
  for (BlockId block = 0; block < blocks; ++block)
    if (function.blocks[block].term == Term::exit) {
      b.at(block);
      b.br(end);
    }
  b.at(end);
  report_cut_off(b, guard);
  b.exit();
}

}  // namespace ptx2spv::passes
