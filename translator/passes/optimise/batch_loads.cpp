// Loops whose iterations wait for memory. Where four iterations are certain to come, their loads
// stand before the rest of the four, so that a thread waits once for all:
//
//     before --> are there four? --> loads of four --> the rest of four --+--> after
//                  |      ^                                               |
//                  |      +-------------------------------<---------------+
//                  +--> one iteration --> as behind the four
//
// The number of iterations that come must follow from registers without a load. A loop that may
// write what it loads, or whose accesses are ordered, stays as it is, and so does one with several
// loads, which compilers have unrolled: a thread waits for them together.
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

namespace {

constexpr unsigned kIterations = 4;
constexpr std::size_t kMost = 80;  ///< operations of an iteration that is worth four copies
constexpr unsigned kMostLoads = 2;

class BatchLoads {
 public:
  explicit BatchLoads(Function& f)
      : f_(f),
        b_(f),
        early_(f.insts.size()),
        hoisted_(f.insts.size()),
        late_(f.vars.size()),
        now_(f.vars.size()) {}

  bool run() {
    f_.compute_preds();
    bool any = false;
    const auto blocks = static_cast<BlockId>(f_.blocks.size());
    for (BlockId block = 0; block < blocks; ++block) {
      if (!iterates(block) || is_rest(block) || !find_early(block)) continue;
      batch(block);
      any = true;
    }
    if (any) f_.compute_preds();
    return any;
  }

 private:
  using Values = std::unordered_map<Value, Value>;        ///< by value of the loop
  using Vars = std::unordered_map<std::uint64_t, Value>;  ///< by variable

  static bool is_variable(const Inst& inst) {
    return inst.op == Op::get_var || inst.op == Op::set_var;
  }
  static bool is_pure(const Inst& inst) {
    return (ir::info(inst.op).flags & ir::flag::P) && inst.op != Op::texture_sample;
  }
  static bool is_load(const Inst& inst) {
    return inst.op == Op::load && inst.mem.space == Space::global && !inst.mem.is_volatile;
  }

  /// Whether the block is a loop of its own, which changes no memory that it loads ahead.
  bool iterates(BlockId loop) const {
    const Block& block = f_.blocks[loop];
    if (block.term != Term::cond_br || (block.succs[0] == loop) == (block.succs[1] == loop) ||
        block.insts.size() > 4 * kMost)
      return false;
    std::size_t size = 0;
    return std::ranges::all_of(block.insts, [&](Value v) {
      const Inst& inst = f_.insts[v];
      if (is_variable(inst) || inst.op == Op::constant) return true;
      const bool in_shared =
          (inst.op == Op::load || inst.op == Op::store || inst.op == Op::atomic) &&
          inst.mem.space == Space::shared && !inst.mem.is_volatile;
      return ++size <= kMost && (is_pure(inst) || is_load(inst) || in_shared);
    });
  }

  /// Whether it is the remainder loop that compilers put beside an unrolled one: a variable counts
  /// down from the remainder of a division by the unroll factor.
  bool is_rest(BlockId loop) const {
    return std::ranges::any_of(f_.blocks[loop].insts, [&](Value v) {
      const Inst& set = f_.insts[v];
      if (set.op != Op::set_var || !is_with_constant(f_.arg(v, 0), Op::add, 0xffffffff, 0xffffffff))
        return false;
      const Inst& before = f_.insts[f_.arg(f_.arg(v, 0), 0)];
      return before.op == Op::get_var && before.imm == set.imm && starts_low(set.imm, loop);
    });
  }
  bool starts_low(std::uint64_t var, BlockId loop) const {
    for (const Block& block : f_.blocks)
      for (const Value v : block.insts)
        if (&block != &f_.blocks[loop] && f_.insts[v].op == Op::set_var && f_.insts[v].imm == var &&
            !is_with_constant(f_.arg(v, 0), Op::and_, 0, kIterations - 1))
          return false;
    return true;
  }
  /// Whether it is the operation with a constant from `least` to `most`.
  bool is_with_constant(Value v, Op op, std::uint64_t least, std::uint64_t most) const {
    if (f_.insts[v].op != op) return false;
    const Inst& second = f_.insts[f_.arg(v, 1)];
    return second.op == Op::constant && least <= second.imm && second.imm <= most;
  }

  /// Finds values that no load of the loop is part of, in this or an earlier iteration, and the
  /// loads whose addresses are such ones. Returns whether there are some, but not too many, and the
  /// end is known.
  bool find_early(BlockId loop) {
    const Block& block = f_.blocks[loop];
    std::vector<std::uint64_t> set;
    for (const Value v : block.insts)
      if (f_.insts[v].op == Op::set_var) set.push_back(f_.insts[v].imm);
    for (const std::uint64_t var : set) late_[var] = false;
    unsigned loads = 0;
    for (bool changed = true; changed;) {
      for (const std::uint64_t var : set) now_[var] = late_[var];
      changed = false;
      loads = 0;
      for (const Value v : block.insts) {
        const Inst& inst = f_.insts[v];
        const bool of_early = std::ranges::all_of(f_.args(v), [&](Value a) { return early_[a]; });
        if (inst.op == Op::set_var) now_[inst.imm] = !of_early;
        early_[v] = inst.op == Op::get_var ? !now_[inst.imm]
                                           : of_early && (inst.op == Op::set_var || is_pure(inst));
        hoisted_[v] = of_early && is_load(inst);
        loads += hoisted_[v];
      }
      for (const std::uint64_t var : set)
        if (now_[var] && !late_[var]) late_[var] = changed = true;
    }
    for (const std::uint64_t var : set) now_[var] = late_[var] = false;
    return loads != 0 && loads <= kMostLoads && early_[block.cond];
  }

  void batch(BlockId loop) {
    const Block block = f_.blocks[loop];
    const bool until = block.succs[1] == loop;
    const BlockId out = block.succs[until ? 0 : 1];
    const BlockId guard = b_.new_block(), four = b_.new_block();
    for (const BlockId from : block.preds) std::ranges::replace(f_.blocks[from].succs, loop, guard);

    b_.at(guard);
    Vars vars;
    Value come = 0;
    for (unsigned i = 1; i < kIterations; ++i) {
      Values values;
      ahead(block, values, vars, false);
      Value next = values.at(block.cond);
      if (until) next = b_.op2(Op::xor_, next, b_.i1(true));
      come = come ? b_.op2(Op::and_, come, next) : next;
    }
    b_.cond_br(come, four, loop);

    b_.at(four);
    vars.clear();
    Values iterations[kIterations];
    for (Values& values : iterations) ahead(block, values, vars, true);
    vars.clear();
    for (Values& values : iterations)
      for (const Value v : block.insts) {
        const Inst& inst = f_.insts[v];
        if (inst.op == Op::set_var)
          vars[inst.imm] = of(values, f_.arg(v, 0));
        else if (!values.contains(v))
          make(v, values, vars);
      }
    for (const Value v : block.insts)
      if (f_.insts[v].op == Op::set_var)
        if (const auto last = vars.extract(f_.insts[v].imm))
          b_.set(static_cast<std::uint32_t>(last.key()), last.mapped());
    b_.cond_br(of(iterations[kIterations - 1], block.cond), until ? out : guard,
               until ? guard : out);
    f_.blocks[out].preds.push_back(four);  // which may be a loop, too
  }

  /// The early values of the next iteration, and the loads of early places.
  void ahead(const Block& block, Values& values, Vars& vars, bool loads) {
    for (const Value v : block.insts) {
      if (f_.insts[v].op != Op::set_var) {
        if (early_[v] || (loads && hoisted_[v])) make(v, values, vars);
      } else if (early_[v]) {
        vars[f_.insts[v].imm] = of(values, f_.arg(v, 0));
      }
    }
  }

  static Value of(const Values& values, Value v) {
    const auto found = values.find(v);
    return found != values.end() ? found->second : v;
  }
  /// A copy of the instruction, or what its variable is by then.
  void make(Value v, Values& values, Vars& vars) {
    const Inst inst = f_.insts[v];
    if (inst.op == Op::get_var) {
      Value& now = vars[inst.imm];
      if (!now) now = b_.get(static_cast<std::uint32_t>(inst.imm));
      values[v] = now;
      return;
    }
    std::vector<Value> args;
    for (const Value a : f_.args(v)) args.push_back(of(values, a));
    const Value made = b_.inst(inst.op, inst.type, args, inst.imm);
    const std::uint32_t first = f_.insts[made].first;
    f_.insts[made] = inst;
    f_.insts[made].first = first;
    values[v] = made;
  }

  Function& f_;
  Builder b_;
  std::vector<bool> early_, hoisted_;  ///< by value
  std::vector<bool> late_, now_;       ///< by variable: a load is part of it, at the loop's begin
};

}  // namespace

bool batch_loads(Function& function) { return BatchLoads(function).run(); }

}  // namespace ptx2spv::passes
