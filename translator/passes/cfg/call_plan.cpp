// Copying multiplies a function by the call paths that lead to it. A function is shared when the
// copies at its calls, less the one that remains, would have more instructions than a limit. The
// limit is the largest that meets the budget. Functions that are to stand once (malloc) always are.
#include "translator/passes/cfg/call_plan.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace ptx2spv::passes {

namespace {

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

}  // namespace

CallPlan plan_calls(const Module& module, std::size_t budget) {
  return Planner(module).run(budget);
}

}  // namespace ptx2spv::passes
