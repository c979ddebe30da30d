#include "translator/passes/traps/lower_traps.hpp"

#include <algorithm>
#include <vector>

#include "translator/ir/cfg.hpp"
#include "translator/ir/trap_state.hpp"
#include "translator/passes/rewrite.hpp"
#include "translator/passes/sanitize/sanitize.hpp"

namespace ptx2spv::passes {

void suppress_after_trap(Function& function, AfterFault after) {
  const std::vector<bool> goes_on = faults_that_go_on(function, after);
  bool faults = false;
  for (const Block& block : function.blocks)
    for (const Value v : block.insts)
      faults = faults || (goes_on[v] && is_surface_access(function.insts[v].op));
  if (!faults) return;
  const TrapState trap = trap_state(function);
  CfgRewriter rewriter(function);
  Builder& b = rewriter.builder();
  rewriter.run([&](Value value) {
    const Op op = function.insts[value].op;
    const Space space = function.insts[value].mem.space;
    const bool writes = op == Op::store || is_atomic(op);
    const bool shared = space == Space::shared && function.shared_discard != 0xffffffffu;
    if (writes && (space == Space::global || shared)) {
      const Value alive = b.cmp(Op::eq, b.get(trap.code), b.i32(0));
      const Value discard = shared ? b.i32(function.shared_discard)
                                   : b.load(Type::i64, b.i32(abi::Push::discard * 4),
                                            {.space = Space::push, .bytes = 8, .readonly = true});
      const Value address = b.select(alive, function.arg(value, 0), discard);
      function.args(value)[0] = address;
    }
    rewriter.keep(value);
  });
}

namespace {

/// Ends of threads that have trapped, each with the code for its record. Of more, all are one.
constexpr std::ptrdiff_t kMostEnds = 32;

/// The words of the record, from t_count on.
std::vector<Value> record_words(Function& function, Builder& b, const TrapState& trap) {
  static_assert(abi::t_count == 0 && abi::t_claimed == 1 && abi::t_site == 2 && abi::t_kind == 3 &&
                abi::t_ctaid_x == 4 && abi::t_tid_x == 7 && abi::t_coord == 10 &&
                abi::t_handle_lo == 13 && abi::t_handle_hi == 14);
  const Value code = b.get(trap.code);
  using enum Builtin;
  std::vector<Value> words = {b.i32(1), b.i32(1), b.op2(Op::lshr, code, b.i32(4)),
                              b.op2(Op::and_, code, b.i32(15))};
  for (const Builtin id :
       {workgroup_id_x, workgroup_id_y, workgroup_id_z, local_id_x, local_id_y, local_id_z})
    words.push_back(b.builtin(id));
  for (const std::uint32_t var : {trap.x, trap.y, trap.z, trap.handle}) words.push_back(b.get(var));
  // Where every handle is a parameter's, the launch knows its high word.
  const bool whole_handles = std::ranges::any_of(function.insts, [&](const Inst& inst) {
    return inst.op == Op::set_var && inst.imm == trap.handle_hi;
  });
  if (whole_handles) words.push_back(b.get(trap.handle_hi));
  return words;
}

/// From `end` to the thread's exit: a thread with a fault counts itself, and the first one writes
/// the record, which the host has zeroed. CPU drivers run all of this for every thread, masked,
/// and each memory access costs: hence one atomic addition in a loop over the words, the count's
/// being the first.
void write_record(Function& function, Builder& b, BlockId end, const TrapState& trap) {
  function.vars.push_back({Type::i32, "trap.word"});
  const auto word = static_cast<std::uint32_t>(function.vars.size() - 1);
  const BlockId loop = b.new_block(), body = b.new_block(), last = b.new_block();
  b.at(end);
  const std::vector<Value> words = record_words(function, b, trap);
  const auto count = static_cast<std::uint32_t>(words.size());
  b.set(word, b.select(b.cmp(Op::ne, b.get(trap.code), b.i32(0)), b.i32(0), b.i32(count)));
  b.br(loop);
  b.at(loop);
  function.blocks[loop].bounded = true;
  b.cond_br(b.cmp(Op::ult, b.get(word), b.i32(count)), body, last);
  b.at(body);
  const Value index = b.get(word);
  const Value address = b.op2(Op::shl, index, b.i32(2));
  const Value before = b.inst(Op::atomic, Type::i32, {address, pick(b, index, words)});
  b.last(before).mem = {.space = Space::trap, .bytes = 4, .atomic = AtomicOp::add};
  const Value late =
      b.op2(Op::and_, b.cmp(Op::eq, index, b.i32(0)), b.cmp(Op::ne, before, b.i32(0)));
  b.set(word, b.select(late, b.i32(count), b.op2(Op::add, index, b.i32(1))));
  b.br(loop);
  b.at(last);
  b.exit();
}

/// The same where a thread has trapped, and ends.
void write_record_and_exit(Function& function, Builder& b, const TrapState& trap, Apart apart) {
  const std::vector<Value> words = record_words(function, b, trap);
  const MemAttr memory{.space = Space::trap, .bytes = 4};
  const Value before = b.inst(Op::atomic, Type::i32, {b.i32(abi::t_count * 4), words[0]});
  b.last(before).mem = memory;
  b.last(before).mem.atomic = AtomicOp::add;
  const BlockId first = b.new_block(), others = b.new_block();
  b.cond_br(b.cmp(Op::eq, before, b.i32(0)), first, others);
  b.at(first);
  for (std::size_t i = 1; i < words.size(); ++i)
    b.store(b.i32(static_cast<std::uint32_t>(4 * i)), words[i], memory);
  for (const BlockId end : {first, others}) {
    b.at(end);
    b.exit();
    function.blocks[end].apart = apart;
  }
}

/// Instructions that trap set the state, where no fault is in it yet, and go to `end`, or end there
/// if that is kNoBlock.
void lower_trap_instructions(Function& function, const TrapState& trap, BlockId end) {
  CfgRewriter rewriter(function);
  Builder& rb = rewriter.builder();
  rewriter.run([&](Value value) {
    if (function.insts[value].op != Op::thread_trap) return rewriter.keep(value);
    const Value code = rb.get(trap.code);
    const Value first = rb.cmp(Op::eq, code, rb.i32(0));
    const std::uint32_t vars[4] = {trap.x, trap.y, trap.z, trap.handle};
    const std::vector<Value> args(function.args(value).begin(), function.args(value).end());
    for (std::size_t i = 0; i < args.size() && i < 4; ++i)
      rb.set(vars[i], rb.select(first, args[i], rb.get(vars[i])));
    rb.set(trap.code,
           rb.select(first, rb.i32(static_cast<std::uint32_t>(function.insts[value].imm)), code));
    if (end == kNoBlock)
      write_record_and_exit(function, rb, trap,
                            function.insts[value].imm ? Apart::trap : Apart::fault);
    else
      rb.br(end);
    rewriter.end_block();
  });
}

/// Whether a thread may go on with a fault in its registers.
bool goes_on_after_fault(const Function& function, const TrapState& trap) {
  return std::ranges::any_of(function.blocks, [&](const Block& block) {
    bool faults = false;
    for (const Value v : block.insts) {
      const Inst& inst = function.insts[v];
      if (inst.op == Op::set_var && inst.imm == trap.code) faults = true;
      if (inst.op == Op::thread_trap) faults = false;
    }
    return faults;
  });
}

/// A thread that has trapped may read zeros for ever: its loops end at their headers.
void end_loops_of_trapped(Function& function, Builder& b, const TrapState& trap, BlockId end) {
  const std::vector<BackEdges::Edge> edges = back_edges(function).edges;
  for (std::size_t i = 0, next = 0; i < edges.size(); i = next) {
    const BlockId block = edges[i].to, latch = edges[i].from;
    while (next < edges.size() && edges[next].to == block) ++next;
    // A latch that is a header too may have been rewritten already.
    const auto ends_with_test = [&](const Block& last) {
      return last.term == Term::cond_br && (last.succs[0] == block) != (last.succs[1] == block);
    };
    if (next - i == 1 && ends_with_test(function.blocks[latch])) {
      // The loop's own test at its end takes the other one in: one more exit would cost every
      // iteration.
      const BlockId leave = b.new_block();
      b.at(latch);
      const Value dead = b.cmp(Op::ne, b.get(trap.code), b.i32(0));
      Block& end_block = function.blocks[latch];
      const unsigned back = end_block.succs[0] == block ? 0 : 1;
      const BlockId after = end_block.succs[1 - back];
      end_block.succs[1 - back] = leave;
      const Value cond = end_block.cond;
      if (back == 0) {
        const Value go_on = b.inst(Op::xor_, Type::i1, {dead, b.i1(true)});
        function.blocks[latch].cond = b.op2(Op::and_, cond, go_on);
      } else {
        function.blocks[latch].cond = b.op2(Op::or_, cond, dead);
      }
      b.at(leave);
      b.cond_br(dead, end, after);
      continue;
    }
    const BlockId rest = b.new_block();
    Block& head = function.blocks[block];
    Block& tail = function.blocks[rest];
    tail.insts = std::move(head.insts);
    tail.term = head.term;
    tail.cond = head.cond;
    tail.succs = std::move(head.succs);
    head.insts.clear();
    b.at(block);
    b.cond_br(b.cmp(Op::ne, b.get(trap.code), b.i32(0)), end, rest);
  }
}

/// Threads start without a fault.
void clear_state(Function& function, Builder& b, const TrapState& trap) {
  b.at(0);
  const std::uint32_t vars[] = {trap.code, trap.x, trap.y, trap.z, trap.handle, trap.handle_hi};
  const BlockId scratch = b.new_block();
  b.at(scratch);
  for (const std::uint32_t var : vars) b.set(var, b.i32(0));
  std::vector<Value> start = std::move(function.blocks[scratch].insts);
  function.blocks[scratch].insts.clear();
  function.blocks[scratch].term = Term::unreachable;
  std::vector<Value>& entry = function.blocks[0].insts;
  entry.insert(entry.begin(), start.begin(), start.end());
}

}  // namespace

void lower_traps(Function& function, bool keep_barriers, AfterFault after, LoopGuard* guard,
                 const FaultLog& log) {
  TrapState trap;
  std::ptrdiff_t instruction_traps = 0;
  for (const Block& block : function.blocks)
    instruction_traps += std::ranges::count_if(
        block.insts, [&](Value v) { return function.insts[v].op == Op::thread_trap; });
  if (instruction_traps) trap_state(function);
  const bool traps = find_trap_state(function, trap);
  const bool returns = after == AfterFault::returns && instruction_traps <= kMostEnds;
  const bool goes_on =
      traps && (after == AfterFault::goes_on || goes_on_after_fault(function, trap));
  const bool at_end = goes_on || (instruction_traps && !returns);

  Builder b(function);
  const BlockId end = b.new_block();
  for (BlockId block = 0; block < end; ++block)
    if (function.blocks[block].term == Term::exit) {
      function.blocks[block].term = Term::br;
      function.blocks[block].succs.assign(1, end);
    }

  if (instruction_traps) lower_trap_instructions(function, trap, returns ? kNoBlock : end);
  b.at(end);
  const Value cut = guard && guard->on ? report_cut_off(b, *guard) : 0;
  if (!at_end) {
    write_fault_log(b, log);
    b.exit();
    if (traps) clear_state(function, b, trap);
    return;
  }
  // One that was cut off may have trapped over what it did not finish.
  if (cut) b.set(trap.code, b.select(cut, b.i32(0), b.get(trap.code)));
  const BlockId ending = b.block();

  if (goes_on && !keep_barriers) end_loops_of_trapped(function, b, trap, end);
  b.at(ending);
  write_fault_log(b, log);
  write_record(function, b, b.block(), trap);
  clear_state(function, b, trap);
}

}  // namespace ptx2spv::passes
