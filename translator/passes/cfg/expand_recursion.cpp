#include "translator/passes/cfg/expand_recursion.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "translator/ir/thread_stack.hpp"
#include "translator/passes/analysis/live_variables.hpp"
#include "translator/passes/cfg/demote_to_stack.hpp"

namespace ptx2spv::passes {

namespace {

/// The cycles of the call graph, by Tarjan's algorithm with a stack of its own.
class Cycles {
 public:
  explicit Cycles(const Module& module)
      : m_(module), index_(module.functions.size()), low_(index_.size()), open_(index_.size()) {
    for (std::uint32_t f = 0; f < index_.size(); ++f)
      if (!index_[f]) visit(f);
  }
  std::vector<std::vector<std::uint32_t>> found;

 private:
  void visit(std::uint32_t root) {
    std::vector<std::pair<std::uint32_t, std::size_t>> path;
    const auto enter = [&](std::uint32_t f) {
      index_[f] = low_[f] = ++count_;
      open_[f] = true;
      stack_.push_back(f);
      path.emplace_back(f, 0);
    };
    enter(root);
    while (!path.empty()) {
      const std::uint32_t f = path.back().first;
      const auto& calls = m_.functions[f].calls;
      if (path.back().second < calls.size()) {
        const std::uint32_t next = calls[path.back().second++].callee;
        if (next >= index_.size()) continue;
        if (!index_[next])
          enter(next);
        else if (open_[next])
          low_[f] = std::min(low_[f], index_[next]);
        continue;
      }
      path.pop_back();
      if (!path.empty()) low_[path.back().first] = std::min(low_[path.back().first], low_[f]);
      if (low_[f] == index_[f]) close(f);
    }
  }

  void close(std::uint32_t f) {
    std::vector<std::uint32_t> members;
    do {
      members.push_back(stack_.back());
      open_[stack_.back()] = false;
      stack_.pop_back();
    } while (members.back() != f);
    const auto& calls = m_.functions[f].calls;
    if (members.size() > 1 ||
        std::any_of(calls.begin(), calls.end(), [f](const auto& call) { return call.callee == f; }))
      found.push_back(std::move(members));
  }

  const Module& m_;
  std::vector<std::uint32_t> index_, low_, stack_;
  std::vector<bool> open_;
  std::uint32_t count_ = 0;
};

/// One function in place of a cycle: the bodies of its members side by side.
class Merged {
 public:
  Merged(const Module& module, const std::vector<std::uint32_t>& members) : m_(module), b_(f_) {
    for (const std::uint32_t number : members) members_[number];
  }

  /// `root` is the member that is called from outside.
  std::string make(std::uint32_t root, Function& result) {
    const Function& model = m_.functions[root];
    f_.name = model.name;
    f_.local_bytes = model.local_bytes;
    f_.shared_bytes = model.shared_bytes;
    f_.uses_dynamic_shared = model.uses_dynamic_shared;
    f_.vars.push_back({Type::i32, "stack_base"});
    const BlockId start = b_.new_block();
    dispatch_ = b_.new_block();
    for (auto& [number, member] : members_) prepare(m_.functions[number], member);
    for (auto& [number, member] : members_) append(m_.functions[number], member);
    stack_ = ir::stack_pointer(f_);
    const Member& first = members_[root];
    b_.at(start);
    b_.set_loc(0);
    b_.set(0, stack());
    b_.br(first.blocks[0]);
    for (const std::uint32_t v : model.param_vars) f_.param_vars.push_back(first.vars[v]);
    f_.result_vars = first.results;

    demote_to_stack(f_);
    find_live();
    for (const Site& site : sites_)
      if (std::string bad = call(site); !bad.empty()) return bad;
    come_back();
    f_.compute_preds();
    result = std::move(f_);
    return {};
  }

 private:
  static constexpr std::uint32_t kNoSite = 0xffffffffu;
  struct Member {
    std::vector<std::uint32_t> vars, results;  ///< results leave by variables that nobody saves
    std::vector<BlockId> blocks;
    std::uint32_t locs = 0, surface_ops = 0, first_var = 0, end_var = 0;
  };
  struct Site {
    BlockId block = 0, rest = 0, restore = 0;
    std::uint32_t callee = 0, call = 0;
  };

  Value stack() { return b_.get(stack_); }
  void set_stack(Value at) { b_.set(stack_, at); }

  void prepare(const Function& source, Member& member) {
    member.first_var = static_cast<std::uint32_t>(f_.vars.size());
    for (const Var& var : source.vars) {
      const auto same = std::find_if(f_.vars.begin(), f_.vars.end(), [&](const Var& v) {
        return var.per_thread && v.per_thread && v.name == var.name;
      });
      member.vars.push_back(static_cast<std::uint32_t>(same - f_.vars.begin()));
      if (same == f_.vars.end()) f_.vars.push_back(var);
    }
    member.end_var = static_cast<std::uint32_t>(f_.vars.size());
    for (const std::uint32_t v : source.result_vars) {
      member.results.push_back(static_cast<std::uint32_t>(f_.vars.size()));
      f_.vars.push_back({source.vars[v].type, "returned"});
    }
    member.locs = static_cast<std::uint32_t>(f_.locs.size()) - 1;
    f_.locs.insert(f_.locs.end(), source.locs.begin() + 1, source.locs.end());
    member.surface_ops = static_cast<std::uint32_t>(f_.surface_ops.size());
    f_.surface_ops.insert(f_.surface_ops.end(), source.surface_ops.begin(),
                          source.surface_ops.end());
    for (std::size_t k = 0; k < source.blocks.size(); ++k) member.blocks.push_back(b_.new_block());
  }

  void append(const Function& source, const Member& member) {
    std::vector<Value> values(source.insts.size());
    const auto value = [&](Value v) {
      if (!values[v]) {
        f_.insts.emplace_back();
        values[v] = static_cast<Value>(f_.insts.size() - 1);
      }
      return values[v];
    };
    const auto loc = [&](std::uint32_t l) { return l ? l + member.locs : 0; };
    for (std::size_t k = 0; k < source.blocks.size(); ++k) {
      const Block& from = source.blocks[k];
      BlockId id = member.blocks[k];
      for (const Value v : from.insts) {
        Inst inst = source.insts[v];
        inst.first = static_cast<std::uint32_t>(f_.operands.size());
        for (const Value a : source.args(v)) f_.operands.push_back(value(a));
        inst.loc = loc(inst.loc);
        if (inst.op == Op::get_var || inst.op == Op::set_var) inst.imm = member.vars[inst.imm];
        if (is_surface_operation(inst.op)) inst.imm += member.surface_ops;
        const Value copy = value(v);
        if (inst.op == Op::call) {
          Function::Call record = source.calls[inst.imm];
          for (std::uint32_t& var : record.result_vars) var = member.vars[var];
          inst.imm = f_.calls.size();
          f_.calls.push_back(std::move(record));
        }
        f_.insts[copy] = inst;
        f_.blocks[id].insts.push_back(copy);
        if (inst.op != Op::call || !members_.contains(f_.calls[inst.imm].callee)) continue;
        Site site{id, b_.new_block(), b_.new_block(), 0, static_cast<std::uint32_t>(inst.imm)};
        site.callee = f_.calls[inst.imm].callee;
        sites_.push_back(site);
        b_.at(id);
        b_.br(site.rest);
        id = site.rest;
      }
      Block& block = f_.blocks[id];
      block.term = from.term;
      block.cond = from.cond ? value(from.cond) : 0;
      block.loc = loc(from.loc);
      block.succs.clear();
      for (const BlockId s : from.succs) block.succs.push_back(member.blocks[s]);
      if (from.term != Term::ret) continue;
      b_.at(id);
      b_.set_loc(block.loc);
      for (std::size_t i = 0; i < member.results.size(); ++i)
        b_.set(member.results[i], b_.get(member.vars[source.result_vars[i]]));
      b_.br(dispatch_);
    }
  }

  // The variables that are live behind each call, which counts as going on there.
  void find_live() {
    std::vector<std::uint32_t> site_at(f_.blocks.size(), kNoSite);
    for (std::uint32_t k = 0; k < sites_.size(); ++k) site_at[sites_[k].rest] = k;
    live_.assign(sites_.size(), {});
    LiveVariables live(f_);
    for (std::uint32_t var = 0; var < f_.vars.size(); ++var)
      live.visit(var, [&](BlockId b) {
        if (site_at[b] != kNoSite) live_[site_at[b]].push_back(var);
        return true;
      });
  }

  static std::uint32_t bytes(Type type) {
    switch (type) {
      case Type::i64:
      case Type::v2: return 8;
      case Type::v4: return 16;
      default: return 4;
    }
  }

  std::string call(const Site& site) {
    const std::uint32_t number = ++numbers_;
    const Function::Call record = f_.calls[site.call];
    const Value inst = f_.blocks[site.block].insts.back();
    const std::vector<Value> args(f_.args(inst).begin(), f_.args(inst).end());
    f_.blocks[site.block].insts.pop_back();
    // The largest first, so that each lies at a multiple of its size.
    std::vector<std::uint32_t> kept;
    const std::set<std::uint32_t> results(record.result_vars.begin(), record.result_vars.end());
    for (const std::uint32_t v : live_[static_cast<std::size_t>(&site - sites_.data())])
      if (v && !f_.vars[v].per_thread && !results.contains(v)) kept.push_back(v);
    std::stable_sort(kept.begin(), kept.end(), [&](std::uint32_t a, std::uint32_t b) {
      return bytes(f_.vars[a].type) > bytes(f_.vars[b].type);
    });
    std::uint32_t size = 4;
    for (const std::uint32_t v : kept) size += bytes(f_.vars[v].type);
    size = (size + 15) & ~15u;
    if (size > kMostKeptBytes)
      return fmt::format("recursion of {} keeps {} bytes of registers across a call, more than {}",
                         m_.functions[site.callee].name, size, kMostKeptBytes);

    b_.at(site.block);
    b_.set_loc(f_.insts[inst].loc);
    const Value top = stack();
    std::uint32_t at = 0;
    for (const std::uint32_t v : kept) {
      const Type type = f_.vars[v].type;
      Value value = b_.get(v);
      if (type == Type::i1) value = b_.inst(Op::zext, Type::i32, {value});
      b_.store(b_.op2(Op::add, top, b_.i32(at)), value,
               {.space = Space::local, .bytes = static_cast<std::uint8_t>(bytes(type))});
      at += bytes(type);
    }
    b_.store(b_.op2(Op::add, top, b_.i32(size - 4)), b_.i32(number - 1),
             {.space = Space::local, .bytes = 4});
    set_stack(b_.op2(Op::add, top, b_.i32(size)));
    const Member& callee = members_[site.callee];
    const auto& params = m_.functions[site.callee].param_vars;
    for (std::size_t i = 0; i < std::min(params.size(), args.size()); ++i)
      b_.set(callee.vars[params[i]], args[i]);
    b_.br(callee.blocks[0]);

    b_.at(site.restore);
    const Value frame = b_.op2(Op::sub, stack(), b_.i32(size));
    set_stack(frame);
    at = 0;
    for (const std::uint32_t v : kept) {
      const Type type = f_.vars[v].type;
      Value value =
          b_.load(type == Type::i1 ? Type::i32 : type, b_.op2(Op::add, frame, b_.i32(at)),
                  {.space = Space::local, .bytes = static_cast<std::uint8_t>(bytes(type))});
      if (type == Type::i1) value = b_.cmp(Op::ne, value, b_.i32(0));
      b_.set(v, value);
      at += bytes(type);
    }
    for (std::size_t i = 0; i < std::min(record.result_vars.size(), callee.results.size()); ++i)
      b_.set(record.result_vars[i], b_.get(callee.results[i]));
    b_.br(site.rest);
    return {};
  }

  // Where a member returns: out of the cycle when nothing is left of its stack, else behind the
  // last call.
  void come_back() {
    const BlockId done = b_.new_block(), back = b_.new_block();
    b_.at(dispatch_);
    b_.set_loc(0);
    const Value top = stack();
    b_.cond_br(b_.cmp(Op::eq, top, b_.get(0)), done, back);
    b_.at(done);
    b_.ret();
    b_.at(back);
    const Value place = b_.load(Type::i32, b_.op2(Op::sub, stack(), b_.i32(4)),
                                {.space = Space::local, .bytes = 4});
    for (std::size_t k = 0; k + 1 < sites_.size(); ++k) {
      const BlockId next = b_.new_block();
      const Value here = k == 0 ? place
                                : b_.load(Type::i32, b_.op2(Op::sub, stack(), b_.i32(4)),
                                          {.space = Space::local, .bytes = 4});
      b_.cond_br(b_.cmp(Op::eq, here, b_.i32(static_cast<std::uint32_t>(k))), sites_[k].restore,
                 next);
      b_.at(next);
    }
    b_.br(sites_.back().restore);
    // Calls within the cycle are gone, the others get new numbers.
    std::vector<Function::Call> calls;
    for (Block& block : f_.blocks)
      for (const Value v : block.insts)
        if (f_.insts[v].op == Op::call) {
          calls.push_back(f_.calls[f_.insts[v].imm]);
          f_.insts[v].imm = calls.size() - 1;
        }
    f_.calls = std::move(calls);
  }

  const Module& m_;
  Function f_;
  Builder b_;
  std::map<std::uint32_t, Member> members_;
  std::vector<Site> sites_;
  std::vector<std::vector<std::uint32_t>> live_;  ///< by site: variables, in order
  BlockId dispatch_ = 0;
  std::uint32_t numbers_ = 0, stack_ = 0;  ///< stack_: the variable
};

}  // namespace

std::vector<bool> recursive_functions(const Module& module) {
  const Cycles cycles(module);
  std::vector<bool> recursive(cycles.found.empty() ? 0 : module.functions.size());
  for (const auto& members : cycles.found)
    for (const std::uint32_t f : members) recursive[f] = true;
  return recursive;
}

std::string expand_recursion(Module& module) {
  // Each function of a cycle that is called from outside gets a copy of the cycle.
  constexpr std::size_t kMostCopied = 400000;
  std::size_t copied = 0;
  std::vector<std::vector<std::uint32_t>> callers(module.functions.size());
  for (std::uint32_t f = 0; f < module.functions.size(); ++f)
    for (const Function::Call& call : module.functions[f].calls) callers[call.callee].push_back(f);
  for (const std::vector<std::uint32_t>& members : Cycles(module).found) {
    const std::set<std::uint32_t> inside(members.begin(), members.end());
    std::vector<std::uint32_t> roots;
    std::size_t size = 0;
    for (const std::uint32_t f : inside) {
      size += module.functions[f].insts.size();
      if (std::ranges::any_of(callers[f], [&](std::uint32_t c) { return !inside.contains(c); }))
        roots.push_back(f);
    }
    copied += size * roots.size();
    if (copied > kMostCopied)
      return fmt::format(
          "{} functions that call each other are called from outside at {} of them, and have "
          "{} instructions: the copies would have more than {}",
          members.size(), roots.size(), size, kMostCopied);
    std::vector<std::pair<std::uint32_t, Function>> made;
    for (const std::uint32_t root : roots) {
      made.emplace_back(root, Function{});
      if (std::string bad = Merged(module, members).make(root, made.back().second); !bad.empty())
        return bad;
    }
    for (const std::uint32_t f : members) module.functions[f] = Function{};
    for (auto& [root, function] : made) module.functions[root] = std::move(function);
  }
  return {};
}

}  // namespace ptx2spv::passes
