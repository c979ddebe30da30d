// Calls are copied in, callees first. A callee's registers become variables of the caller, one set
// for all its calls: they hold nothing from one call to the next.
#include <algorithm>

#include <fmt/format.h>

#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

using namespace ir;

namespace {

bool uses_surface_op(Op op) {
  return op == Op::surf_load || op == Op::surf_store || op == Op::surf_store_p ||
         op == Op::surf_reduce || op == Op::surf_query;
}

class Inliner {
 public:
  Inliner(Module& module, Function& caller, std::size_t budget)
      : module_(module), f_(caller), budget_(budget), b_(caller) {}

  std::string run() {
    std::vector<BlockId> work;
    for (BlockId b = 0; b < f_.blocks.size(); ++b) work.push_back(b);
    for (const BlockId b : work) {
      // From the last call to the first, so that each tail moves once.
      for (std::size_t k = f_.blocks[b].insts.size(); k-- > 0;) {
        const Value v = f_.blocks[b].insts[k];
        if (f_.insts[v].op != Op::call) continue;
        if (f_.insts.size() > budget_)
          return fmt::format("function {} grows beyond {} instructions when its calls are inlined",
                             f_.name, budget_);
        expand(b, k, v);
      }
    }
    f_.calls.clear();
    f_.compute_preds();
    return {};
  }

 private:
  struct Mapping {
    bool made = false;
    std::vector<std::uint32_t> vars;
    std::uint32_t locs = 0, surface_ops = 0;
  };

  const Mapping& map(std::uint32_t id) {
    Mapping& m = mappings_[id];
    if (m.made) return m;
    m.made = true;
    const Function& callee = module_.functions[id];
    for (const Var& var : callee.vars) {
      const auto same = !var.per_thread
                            ? f_.vars.end()
                            : std::find_if(f_.vars.begin(), f_.vars.end(), [&](const Var& v) {
                                return v.per_thread && v.name == var.name;
                              });
      m.vars.push_back(static_cast<std::uint32_t>(same - f_.vars.begin()));
      if (same == f_.vars.end()) f_.vars.push_back(var);
    }
    m.locs = static_cast<std::uint32_t>(f_.locs.size()) - 1;
    f_.locs.insert(f_.locs.end(), callee.locs.begin() + 1, callee.locs.end());
    m.surface_ops = static_cast<std::uint32_t>(f_.surface_ops.size());
    f_.surface_ops.insert(f_.surface_ops.end(), callee.surface_ops.begin(),
                          callee.surface_ops.end());
    f_.local_bytes = std::max(f_.local_bytes, callee.local_bytes);
    f_.shared_bytes = std::max(f_.shared_bytes, callee.shared_bytes);
    f_.uses_dynamic_shared = f_.uses_dynamic_shared || callee.uses_dynamic_shared;
    return m;
  }

  void expand(BlockId b, std::size_t k, Value call) {
    const Function::Call record = f_.calls[f_.insts[call].imm];
    const Function& callee = module_.functions[record.callee];
    const Mapping& m = map(record.callee);
    const auto loc = [&](std::uint32_t l) { return l ? l + m.locs : f_.insts[call].loc; };

    const BlockId rest = b_.new_block();
    {
      Block& from = f_.blocks[b];
      Block& to = f_.blocks[rest];
      to.insts.assign(from.insts.begin() + static_cast<std::ptrdiff_t>(k) + 1, from.insts.end());
      to.term = from.term;
      to.cond = from.cond;
      to.succs = std::move(from.succs);
      to.loc = from.loc;
      from.insts.resize(k);
    }
    const auto first = static_cast<BlockId>(f_.blocks.size());
    b_.at(b);
    b_.set_loc(f_.insts[call].loc);
    const std::size_t given = std::min<std::size_t>(callee.param_vars.size(), f_.insts[call].count);
    for (std::size_t i = 0; i < given; ++i)
      b_.set(m.vars[callee.param_vars[i]], f_.arg(call, static_cast<unsigned>(i)));
    b_.br(first);

    values_.assign(callee.insts.size(), 0);
    for (const Block& source : callee.blocks) {
      const BlockId id = b_.new_block();
      b_.at(id);
      for (const Value v : source.insts) {
        Inst inst = callee.insts[v];
        inst.first = static_cast<std::uint32_t>(f_.operands.size());
        for (const Value a : callee.args(v)) f_.operands.push_back(value(a));
        inst.loc = loc(inst.loc);
        if (inst.op == Op::get_var || inst.op == Op::set_var) inst.imm = m.vars[inst.imm];
        if (uses_surface_op(inst.op)) inst.imm += m.surface_ops;
        const Value copy = value(v);
        f_.insts[copy] = inst;
        f_.blocks[id].insts.push_back(copy);
      }
      Block& block = f_.blocks[id];
      block.term = source.term;
      block.cond = source.cond ? value(source.cond) : 0;
      block.loc = loc(source.loc);
      for (const BlockId s : source.succs) block.succs.push_back(first + s);
      if (source.term != Term::ret) continue;
      b_.set_loc(f_.insts[call].loc);
      const std::size_t results = std::min(record.result_vars.size(), callee.result_vars.size());
      for (std::size_t i = 0; i < results; ++i)
        b_.set(record.result_vars[i], b_.get(m.vars[callee.result_vars[i]]));
      b_.br(rest);
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
  const std::size_t budget_;
  Builder b_;
  std::vector<Mapping> mappings_ = std::vector<Mapping>(module_.functions.size());
  std::vector<Value> values_;
};

}  // namespace

std::string inline_calls(Module& module, std::size_t budget) {
  // Callees before callers, without recursion of our own.
  enum class State : std::uint8_t { fresh, open, done };
  std::vector<State> state(module.functions.size(), State::fresh);
  for (std::uint32_t root = 0; root < module.functions.size(); ++root) {
    if (state[root] != State::fresh) continue;
    std::vector<std::pair<std::uint32_t, std::size_t>> stack{{root, 0}};
    state[root] = State::open;
    while (!stack.empty()) {
      const std::uint32_t id = stack.back().first;
      Function& f = module.functions[id];
      if (stack.back().second < f.calls.size()) {
        const std::uint32_t callee = f.calls[stack.back().second++].callee;
        if (callee >= module.functions.size())
          return fmt::format("function {} calls nothing known", f.name);
        if (state[callee] == State::open)
          return fmt::format("function {} calls itself by way of {}", module.functions[callee].name,
                             f.name);
        if (state[callee] == State::fresh) {
          state[callee] = State::open;
          stack.push_back({callee, 0});
        }
        continue;
      }
      if (!f.calls.empty())
        if (std::string bad = Inliner(module, f, budget).run(); !bad.empty()) return bad;
      state[id] = State::done;
      stack.pop_back();
    }
  }
  return {};
}

}  // namespace ptx2spv::passes
