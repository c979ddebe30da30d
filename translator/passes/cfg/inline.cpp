// Inlines all that the entry calls, from its own calls downwards, so that every copy remains. A
// function that is copied gets registers of its own at each call. One that stands once has one set
// of registers: without recursion it is never active twice. Its callers store a number in a
// variable, by which its end branches back. No driver can multiply it, although all drivers inline
// SPIR-V's functions.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

namespace {

struct CallPlan {
  std::vector<bool> shared;  ///< by function: it stands once and all its calls go there
  std::size_t size = 0;      ///< of the entry with all that it calls, about, in instructions
  std::string problem;       ///< a cycle among the calls, or one that leads nowhere
};

/// So small a function costs less than a call of a shared one: arguments, results and the way back.
constexpr std::size_t kSmall = 24;
constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max() / 2;

std::size_t add(std::size_t a, std::size_t b) { return std::min(kMost, a + b); }
std::size_t times(std::size_t a, std::size_t b) { return b && a > kMost / b ? kMost : a * b; }

/// What an instruction becomes, about, in instructions.
std::size_t weight(const Inst& inst) {
  switch (inst.op) {
    case Op::surf_load:
    case Op::surf_store:
    case Op::surf_reduce: return 40;
    case Op::surf_store_p: return 80;
    // Those that are many share their code, whichever functions they stand in.
    case Op::texture_read: return 100;
    case Op::constant: return 0;
    default: return 1;
  }
}

struct Node {
  std::size_t own = 0, total = 0, calls = 0;                   ///< calls: of it, in all functions
  std::vector<std::pair<std::uint32_t, std::size_t>> callees;  ///< and how often it calls each
};

// Which functions are copied to each of their calls and which stand once. As little is shared as
// keeps the entry within the budget, and all that is worth it where nothing does. Copying
// multiplies a function by the call paths that lead to it. A function is shared when the copies at
// its calls, less the one that remains, would have more instructions than a limit. The limit is the
// largest that meets the budget. Functions that are to stand once (malloc) always are.
class Planner {
 public:
  explicit Planner(const Module& module) : m_(module), nodes_(module.functions.size()) {}

  CallPlan run(std::size_t budget) {
    CallPlan plan;
    plan.problem = order();
    if (!plan.problem.empty()) return plan;
    for (const std::uint32_t f : order_) count(f);
    plan.shared.resize(nodes_.size());
    plan.size = share_above(kMost, plan.shared);
    if (plan.size <= budget) return plan;
    std::size_t low = 0, high = budget;  // low is tried last, whether it meets the budget or not
    while (low < high) {
      const std::size_t middle = low + (high - low + 1) / 2;
      if (share_above(middle, plan.shared) <= budget)
        low = middle;
      else
        high = middle - 1;
    }
    plan.size = share_above(low, plan.shared);
    return plan;
  }

 private:
  // Callees before callers, without recursion of our own.
  std::string order() {
    enum class State : std::uint8_t { fresh, open, done };
    std::vector<State> state(nodes_.size(), State::fresh);
    std::vector<std::pair<std::uint32_t, std::size_t>> stack{{0, 0}};
    state[0] = State::open;
    while (!stack.empty()) {
      const std::uint32_t id = stack.back().first;
      const Function& f = m_.functions[id];
      if (stack.back().second == f.calls.size()) {
        state[id] = State::done;
        order_.push_back(id);
        stack.pop_back();
        continue;
      }
      const std::uint32_t callee = f.calls[stack.back().second++].callee;
      if (callee >= nodes_.size()) return fmt::format("function {} calls nothing known", f.name);
      if (state[callee] == State::open)
        return fmt::format("function {} calls itself by way of {}", m_.functions[callee].name,
                           f.name);
      if (state[callee] == State::fresh) {
        state[callee] = State::open;
        stack.push_back({callee, 0});
      }
    }
    return {};
  }

  void count(std::uint32_t id) {
    const Function& f = m_.functions[id];
    Node& node = nodes_[id];
    std::vector<std::uint32_t> callees;
    for (const Block& block : f.blocks) {
      ++node.own;
      for (const Value v : block.insts) {
        const Inst& inst = f.insts[v];
        if (inst.op == Op::call)
          callees.push_back(f.calls[inst.imm].callee);
        else
          node.own = add(node.own, weight(inst));
      }
    }
    // Each copy has variables of its own, which are many where parameters are large.
    node.own = std::max(node.own, f.vars.size() / 4);
    std::sort(callees.begin(), callees.end());
    for (const std::uint32_t callee : callees) {
      ++nodes_[callee].calls;
      if (node.callees.empty() || node.callees.back().first != callee)
        node.callees.emplace_back(callee, 0);
      ++node.callees.back().second;
    }
  }

  /// The size of all when functions whose copies have more than `limit` instructions are shared.
  std::size_t share_above(std::size_t limit, std::vector<bool>& shared) {
    std::size_t sum = 0;
    for (const std::uint32_t id : order_) {
      Node& node = nodes_[id];
      node.total = node.own;
      for (const auto& [callee, calls] : node.callees)
        node.total =
            add(node.total, times(calls, shared[callee] ? kSmall / 2 : nodes_[callee].total));
      // A single call of such a function may stand in one that is copied.
      shared[id] =
          id != 0 && (m_.functions[id].stands_once || (node.calls > 1 && node.total > kSmall &&
                                                       times(node.total, node.calls - 1) > limit));
      if (shared[id] || id == 0) sum = add(sum, node.total);
    }
    return sum;
  }

  const Module& m_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> order_;
};

class Inliner {
 public:
  Inliner(Module& module, const CallPlan& plan)
      : module_(module), f_(module.functions[0]), plan_(plan), b_(f_) {}

  void run() {
    // Blocks that are copied in are searched later.
    for (BlockId b = 0; b < f_.blocks.size(); ++b)
      // From the last call to the first, so that each tail moves once.
      for (std::size_t k = f_.blocks[b].insts.size(); k-- > 0;) {
        const Value v = f_.blocks[b].insts[k];
        if (f_.insts[v].op == Op::call) expand(b, k, v);
      }
    for (const Shared& body : shared_)
      if (body.made) come_back(body);
    f_.calls.clear();
    f_.compute_preds();
  }

 private:
  /// What all copies of a function have in common.
  struct Tables {
    bool made = false;
    std::uint32_t locs = 0, surface_ops = 0;
  };
  struct Shared {
    bool made = false;
    std::uint32_t from = 0;  ///< the variable that says which call to come back from
    BlockId entry = 0, end = 0;
    std::vector<std::uint32_t> vars;
    std::vector<BlockId> back;  ///< by call
  };

  const Tables& tables(std::uint32_t id) {
    Tables& t = tables_[id];
    if (t.made) return t;
    t.made = true;
    const Function& callee = module_.functions[id];
    t.locs = static_cast<std::uint32_t>(f_.locs.size()) - 1;
    f_.locs.insert(f_.locs.end(), callee.locs.begin() + 1, callee.locs.end());
    t.surface_ops = static_cast<std::uint32_t>(f_.surface_ops.size());
    f_.surface_ops.insert(f_.surface_ops.end(), callee.surface_ops.begin(),
                          callee.surface_ops.end());
    f_.local_bytes = std::max(f_.local_bytes, callee.local_bytes);
    f_.shared_bytes = std::max(f_.shared_bytes, callee.shared_bytes);
    f_.uses_dynamic_shared = f_.uses_dynamic_shared || callee.uses_dynamic_shared;
    return t;
  }

  std::vector<std::uint32_t> new_vars(const Function& callee) {
    std::vector<std::uint32_t> vars;
    vars.reserve(callee.vars.size());
    for (const Var& var : callee.vars) {
      if (var.per_thread) {
        vars.push_back(of_thread(var));
        continue;
      }
      vars.push_back(static_cast<std::uint32_t>(f_.vars.size()));
      f_.vars.push_back(var);
    }
    return vars;
  }

  // Few variables belong to the thread, so that a list of them will do.
  std::uint32_t of_thread(const Var& var) {
    for (; seen_vars_ < f_.vars.size(); ++seen_vars_)
      if (f_.vars[seen_vars_].per_thread) thread_vars_.push_back(seen_vars_);
    for (const std::uint32_t v : thread_vars_)
      if (f_.vars[v].name == var.name) return v;
    f_.vars.push_back(var);
    return static_cast<std::uint32_t>(f_.vars.size() - 1);
  }

  /// The call's block ends before it; what stands behind it goes to a new block.
  BlockId split(BlockId b, std::size_t k) {
    const BlockId rest = b_.new_block();
    Block& from = f_.blocks[b];
    Block& to = f_.blocks[rest];
    to.insts.assign(from.insts.begin() + static_cast<std::ptrdiff_t>(k) + 1, from.insts.end());
    to.term = from.term;
    to.cond = from.cond;
    to.succs = std::move(from.succs);
    to.loc = from.loc;
    from.insts.resize(k);
    return rest;
  }

  void pass(Value call, const Function& callee, const std::vector<std::uint32_t>& vars) {
    const std::size_t given = std::min<std::size_t>(callee.param_vars.size(), f_.insts[call].count);
    for (std::size_t i = 0; i < given; ++i)
      b_.set(vars[callee.param_vars[i]], f_.arg(call, static_cast<unsigned>(i)));
  }

  void take(const Function::Call& record, const Function& callee,
            const std::vector<std::uint32_t>& vars) {
    const std::size_t results = std::min(record.result_vars.size(), callee.result_vars.size());
    for (std::size_t i = 0; i < results; ++i)
      b_.set(record.result_vars[i], b_.get(vars[callee.result_vars[i]]));
  }

  void expand(BlockId b, std::size_t k, Value call) {
    const Function::Call record = f_.calls[f_.insts[call].imm];
    const Function& callee = module_.functions[record.callee];
    const std::uint32_t loc = f_.insts[call].loc;
    const BlockId rest = split(b, k);
    if (plan_.shared[record.callee]) return go(b, rest, call, record);
    const std::vector<std::uint32_t> vars = new_vars(callee);
    b_.at(b);
    b_.set_loc(loc);
    pass(call, callee, vars);
    b_.br(static_cast<BlockId>(f_.blocks.size()));
    copy(record.callee, vars, loc, [&] {
      b_.set_loc(loc);
      take(record, callee, vars);
      b_.br(rest);
    });
  }

  /// A call of a function that stands once.
  void go(BlockId b, BlockId rest, Value call, const Function::Call& record) {
    const Function& callee = module_.functions[record.callee];
    Shared& body = shared_[record.callee];
    if (!body.made) {
      body.made = true;
      body.vars = new_vars(callee);
      body.from = static_cast<std::uint32_t>(f_.vars.size());
      f_.vars.push_back({Type::i32, "from"});
      body.end = b_.new_block();
      body.entry = static_cast<BlockId>(f_.blocks.size());
      // What the PTX text does not have (malloc) gets a call's place, this one's.
      copy(record.callee, body.vars, f_.insts[call].loc, [&] { b_.br(body.end); });
    }
    b_.at(b);
    b_.set_loc(f_.insts[call].loc);
    pass(call, callee, body.vars);
    b_.set(body.from, b_.i32(static_cast<std::uint32_t>(body.back.size())));
    b_.br(body.entry);
    body.back.push_back(b_.new_block());
    b_.at(body.back.back());
    take(record, callee, body.vars);
    b_.br(rest);
  }

  void come_back(const Shared& body) {
    b_.at(body.end);
    b_.set_loc(0);
    if (body.back.size() == 1) return b_.br(body.back[0]);
    Block& end = f_.blocks[body.end];
    end.succs = body.back;
    end.term = Term::switch_;
    const Value from = b_.get(body.from);
    f_.blocks[body.end].cond = from;
  }

  /// Appends the callee's blocks. `leave` ends those that return.
  template <typename Leave>
  void copy(std::uint32_t id, const std::vector<std::uint32_t>& vars, std::uint32_t call_loc,
            Leave&& leave) {
    const Function& callee = module_.functions[id];
    const Tables& t = tables(id);
    const auto loc = [&](std::uint32_t l) { return l ? l + t.locs : call_loc; };
    const auto first = static_cast<BlockId>(f_.blocks.size());
    values_.assign(callee.insts.size(), 0);
    for (const Block& source : callee.blocks) {
      const BlockId block = b_.new_block();
      b_.at(block);
      for (const Value v : source.insts) {
        Inst inst = callee.insts[v];
        inst.first = static_cast<std::uint32_t>(f_.operands.size());
        for (const Value a : callee.args(v)) f_.operands.push_back(value(a));
        inst.loc = loc(inst.loc);
        if (inst.op == Op::get_var || inst.op == Op::set_var) inst.imm = vars[inst.imm];
        if (is_surface_operation(inst.op)) inst.imm += t.surface_ops;
        if (inst.op == Op::call) {
          Function::Call record = callee.calls[inst.imm];
          for (std::uint32_t& var : record.result_vars) var = vars[var];
          inst.imm = f_.calls.size();
          f_.calls.push_back(std::move(record));
        }
        const Value made = value(v);
        f_.insts[made] = inst;
        f_.blocks[block].insts.push_back(made);
      }
      Block& to = f_.blocks[block];
      to.term = source.term;
      to.cond = source.cond ? value(source.cond) : 0;
      to.loc = loc(source.loc);
      for (const BlockId s : source.succs) to.succs.push_back(first + s);
      if (source.term == Term::ret) leave();
    }
  }

  // A value's copy; one that is used before its block is copied gets its number early.
  Value value(Value v) {
    if (!values_[v]) {
      f_.insts.emplace_back();
      values_[v] = static_cast<Value>(f_.insts.size() - 1);
    }
    return values_[v];
  }

  Module& module_;
  Function& f_;
  const CallPlan& plan_;
  Builder b_;
  std::vector<Tables> tables_ = std::vector<Tables>(module_.functions.size());
  std::vector<Shared> shared_ = std::vector<Shared>(module_.functions.size());
  std::vector<std::uint32_t> thread_vars_;
  std::uint32_t seen_vars_ = 0;
  std::vector<Value> values_;
};

}  // namespace

std::string inline_calls(Module& module, std::size_t budget) {
  constexpr std::size_t kMost = 2000000;
  if (module.functions.empty()) return {};
  const CallPlan plan = Planner(module).run(budget);
  if (!plan.problem.empty()) return plan.problem;
  if (plan.size > kMost)
    return fmt::format("function {} has more than {} instructions with all that it calls",
                       module.functions[0].name, kMost);
  Inliner(module, plan).run();
  return {};
}

}  // namespace ptx2spv::passes
