// Long routines of the shader library, shared. Drivers inline every call: the machine code of a
// double-precision sum is some two thousand instructions on a CPU, and a kernel with a few hundred
// of them takes minutes to compile. Where a kernel has too many, the calls of a basic block that
// depend only on each other become a loop over one call of each routine. Operands and results are
// in the thread's own memory, with a table of which call takes which.
#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "translator/passes/optimise/routine_loop.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

namespace {

/// A routine that is called. Those of one group are all one, `general`, where several of them
/// share a loop.
struct Routine {
  std::string name;
  std::uint32_t cost = 0;
  Type type = Type::none;  ///< of the result; none: not worth sharing
  Type from = Type::none;  ///< of the operands

  bool wide() const { return type == Type::i64 && from == Type::i64; }
  std::string general;
};
/// What `name` may be called as too, with operands as Sharing::generalise makes them.
std::string_view general_of(std::string_view name) {
  if (name == "f64_add_rn" || name == "f64_mul_rn" || name == "f64_fma_rn") return "f64_fma_rn";
  if (name == "f64_rcp_rn" || name == "f64_div_rn") return "f64_div_rn";
  return name;
}
/// Instructions of a routine from which on a loop's step, with its loads and stores, is small
/// beside it. The second number is of routines that take or give words of 32 bits.
constexpr std::uint32_t kLeast64 = 150, kLeast32 = 32;
/// Instructions of such calls that a kernel may have before they are shared, in 64 bits, and how
/// many budgets in 32 bits: for short routines the step costs more at run time than they do.
constexpr std::uint64_t kMost64 = 6000, kBudgets32 = 3;
/// Instructions that a loop has to save.
constexpr std::uint64_t kLeastSaved = 200;
/// Steps of a loop: below, it costs more than it saves; above, its table only grows.
constexpr std::size_t kLeastSteps = 2, kMostSteps = 256;
/// Calls in a block from which on their operands go to memory where they are computed: many that
/// wait for one loop would crowd the driver's registers.
constexpr std::size_t kManyCalls = 32;
/// Words of a thread's memory after which calls are left as they are.
constexpr std::uint32_t kMostWords = 12000;

// Of a high word
constexpr std::uint32_t kQuiet = 0x80000u;
constexpr std::uint64_t kOne = 0x3ff0000000000000ull, kMinusZero = 0x8000000000000000ull;

class Sharing {
 public:
  Sharing(Function& f, Module& module, const RoutineCost& cost, std::uint64_t budget)
      : f_(f), module_(module), b_(f), cutter_(f, b_) {
    for (const std::string& name : module.library_names)
      routines_.push_back(
          {name, cost(name), Type::none, Type::none, std::string(general_of(name))});
    most64_ = std::min(kMost64, budget);
    most32_ = kBudgets32 * budget;
  }

  bool run() {
    if (!choose()) return false;
    base_ = (f_.local_bytes + 15) & ~15u;
    find_live_out();
    bool any = false;
    std::vector<bool> in_continue(f_.blocks.size(), false);
    for (const Block& block : f_.blocks)
      if (block.merge == Merge::loop) in_continue[block.continue_block] = true;
    const std::vector<BlockId> order = f_.order;
    for (const BlockId b : order)
      if (!in_continue[b]) any = rebuild(b) || any;
    if (!any) return false;
    cutter_.finish();
    f_.blocks[0].insts.insert(f_.blocks[0].insts.begin(), prologue_.begin(), prologue_.end());
    f_.local_bytes = base_ + 4 * words_;
    return true;
  }

 private:
  struct Operand {
    Value value = 0;
    bool negated = false;
  };
  struct Step {
    Value call = 0;
    const Routine* routine = nullptr;
    std::vector<Operand> operands;
  };

  const Routine* routine_of(Value v) const {
    const Inst& inst = f_.insts[v];
    if (inst.op != Op::library) return nullptr;
    if (inst.imm >= routines_.size()) return nullptr;  // of a loop
    const Routine& routine = routines_[inst.imm];
    return routine.type == inst.type && chosen_[inst.imm] ? &routine : nullptr;
  }

  /// Long routines of words of one size, where the kernel's calls of them come to enough.
  bool choose() {
    std::uint64_t sum64 = 0, sum32 = 0;
    for (const BlockId b : f_.order)
      for (const Value v : f_.blocks[b].insts) {
        const Inst& inst = f_.insts[v];
        if (inst.op != Op::library || inst.count == 0 || inst.count > 3) continue;
        Routine& routine = routines_[inst.imm];
        const Type from = f_.insts[f_.arg(v, 0)].type;
        const bool alike =
            std::ranges::all_of(f_.args(v), [&](Value a) { return f_.insts[a].type == from; });
        const auto word = [](Type type) { return type == Type::i64 || type == Type::i32; };
        if (!alike || !word(from) || !word(inst.type)) continue;
        const bool wide = from == Type::i64 && inst.type == Type::i64;
        if (routine.cost < (wide ? kLeast64 : kLeast32)) continue;
        routine.type = inst.type;
        routine.from = from;
        (wide ? sum64 : sum32) += routine.cost;
      }
    chosen_.assign(routines_.size(), false);
    bool any = false;
    for (std::size_t i = 0; i < routines_.size(); ++i) {
      if (routines_[i].type == Type::none) continue;
      chosen_[i] = routines_[i].wide() ? sum64 > most64_ : sum32 > most32_;
      any = any || chosen_[i];
    }
    return any;
  }

  bool is(Value v, Op op) const { return f_.insts[v].op == op; }
  bool is_part(Value v, Op half, Value of) const { return is(v, half) && f_.arg(v, 0) == of; }
  // op(`half` of x, bits), in either order
  bool is_masked(Value v, Op op, Value x, std::uint64_t bits) const {
    if (!is(v, op)) return false;
    const Value a = f_.arg(v, 0), b = f_.arg(v, 1);
    return (is_part(a, Op::high, x) && is_constant(b, bits)) ||
           (is_part(b, Op::high, x) && is_constant(a, bits));
  }
  // Values that another block, a phi or a branch needs.
  void find_live_out() {
    live_out_.assign(f_.insts.size(), false);
    std::vector<BlockId> home(f_.insts.size(), kNoBlock);
    for (const BlockId b : f_.order)
      for (const Value v : f_.blocks[b].insts) home[v] = b;
    for (const BlockId b : f_.order) {
      for (const Value v : f_.blocks[b].insts)
        for (const Value a : f_.args(v))
          if (home[a] != b || f_.insts[v].op == Op::phi) live_out_[a] = true;
      if (f_.blocks[b].cond) live_out_[f_.blocks[b].cond] = true;
    }
  }

  bool is_constant(Value v, std::uint64_t bits) const {
    return is(v, Op::constant) && f_.insts[v].imm == bits;
  }
  bool is_nan_of(Value v, Value x) const {
    if (!is(v, Op::select)) return false;
    const Value even = f_.arg(v, 0), low = f_.arg(v, 1), above = f_.arg(v, 2);
    return is(even, Op::eq) && is_masked(f_.arg(even, 0), Op::and_, x, kSign - 1) &&
           is_constant(f_.arg(even, 1), kInfinity) && is(low, Op::ne) &&
           is_part(f_.arg(low, 0), Op::trunc, x) && is_constant(f_.arg(low, 1), 0) &&
           is(above, Op::ult) && is_constant(f_.arg(above, 0), kInfinity) &&
           is_masked(f_.arg(above, 1), Op::and_, x, kSign - 1);
  }

  // PTX's negation of a step's value, which leaves a NaN its sign, is the value and a mark, so that
  // the chain goes on. A step's NaN is quiet.
  Operand operand(Value v) const {
    if (!is(v, Op::select) || f_.insts[v].type != Type::i64) return {v};
    const Value nan = f_.arg(v, 1), number = f_.arg(v, 2);
    if (!is(number, Op::pack) || !is(f_.arg(number, 0), Op::trunc)) return {v};
    const Value x = f_.arg(f_.arg(number, 0), 0);
    const Routine* const routine = routine_of(x);
    if (!routine || !routine->wide() || !is_masked(f_.arg(number, 1), Op::xor_, x, kSign))
      return {v};
    const bool quieted = is(nan, Op::pack) && is_part(f_.arg(nan, 0), Op::trunc, x) &&
                         is_masked(f_.arg(nan, 1), Op::or_, x, kQuiet);
    if ((nan != x && !quieted) || !is_nan_of(f_.arg(v, 0), x)) return {v};
    return {x, true};
  }

  /// What of a block has not been placed, and what waits for it.
  struct Waiting {
    std::uint32_t others = 0;  ///< operands that are not placed
    std::uint32_t steps = 0;   ///< of a call: operands' roots that are neither placed nor in a loop
    std::vector<Value> users, calls;  ///< by whose counts it goes
    std::uint32_t at = 0;             ///< in the block
  };

  bool pure(Value v) const {
    return (info(f_.insts[v].op).flags & flag::P) || f_.insts[v].op == Op::library;
  }

  // The block again: what waits for no step, then steps that wait for nothing else, in turn.
  bool rebuild(BlockId b) {
    const std::vector<Value> rest = f_.blocks[b].insts;
    const auto calls = static_cast<std::size_t>(
        std::ranges::count_if(rest, [&](Value v) { return routine_of(v) != nullptr; }));
    if (calls < kLeastSteps) return false;
    stores_early_ = calls >= kManyCalls;
    end_ = b;
    cutter_.start(b);
    copy_at_.clear();
    early_phis_.clear();
    f_.blocks[b].insts.clear();
    find_waiting(rest);
    bool any = false;
    while (placed_ < rest.size()) {
      emit_others();
      if (placed_ < rest.size()) any = emit_steps() || any;
    }
    for (const Value v : std::exchange(stored_, {}))
      if (live_out_[v]) fetch(v);
    return any;
  }

  void find_waiting(const std::vector<Value>& rest) {
    waiting_.clear();
    ordered_.clear();
    next_ordered_ = 0;
    placed_ = 0;
    for (std::uint32_t i = 0; i < rest.size(); ++i) {
      waiting_[rest[i]].at = i;
      if (!pure(rest[i])) ordered_.push_back(rest[i]);
    }
    std::vector<Value> first;
    for (const Value v : rest) {
      Waiting& own = waiting_.at(v);
      const bool call = routine_of(v) != nullptr;
      if (f_.insts[v].op != Op::phi)
        for (const Value a : f_.args(v)) {
          if (!waits(a)) continue;
          waiting_.at(a).users.push_back(v);
          ++own.others;
          // What is negated may stand in another block, and its negation waits for nothing.
          const Value root = operand(a).value;
          if (!call || !waits(root)) continue;
          waiting_.at(root).calls.push_back(v);
          ++own.steps;
        }
      if (call) {
        if (own.steps == 0) first.push_back(v);
      } else if (own.others == 0) {
        ready_.push({own.at, v});
      }
    }
    // Only now all are known that join with them.
    for (const Value v : first) join(v);
  }

  bool waits(Value v) const { return waiting_.contains(v); }

  /// The call may stand in the next loop, and what waits for nothing else with it.
  void join(Value v) {
    std::vector<Value> work{v};
    while (!work.empty()) {
      Waiting& own = waiting_.at(work.back());
      next_.push({own.at, work.back()});
      work.pop_back();
      for (const Value user : std::exchange(own.calls, {}))
        if (--waiting_.at(user).steps == 0) work.push_back(user);
    }
  }

  /// `v` stands somewhere now.
  void done(Value v) {
    auto node = waiting_.extract(v);
    ++placed_;
    for (const Value user : node.mapped().users) {
      // A call that takes the negation of a step's value does not wait for the negation.
      const auto other = waiting_.find(user);
      if (other != waiting_.end() && --other->second.others == 0 && !routine_of(user))
        ready_.push({other->second.at, user});
    }
    for (const Value user : node.mapped().calls)
      if (--waiting_.at(user).steps == 0) join(user);
  }

  void place(Value v) {
    const bool phi = f_.insts[v].op == Op::phi;
    b_.at(end_);
    // Nothing may stand between the phis, which all come first.
    if (!phi) {
      for (const Value each : std::exchange(early_phis_, {})) put(each);
      for (const Value a : f_.args(v)) fetch(a);
    }
    f_.blocks[end_].insts.push_back(v);
    if (stores_early_ && !routine_of(v) && is_operand_of_call(v)) {
      if (phi)
        early_phis_.push_back(v);
      else
        put(v);
    }
    done(v);
  }

  /// Whether a call that has not been placed takes `v`.
  bool is_operand_of_call(Value v) const {
    return f_.insts[v].op != Op::constant &&
           std::ranges::any_of(waiting_.at(v).users, [&](Value user) { return routine_of(user); });
  }

  // The call of a step becomes a load of its result where that is first needed; loaded at once, the
  // results of a long chain would crowd the driver's registers.
  void fetch(Value v) {
    if (v >= unloaded_.size() || !unloaded_[v]) return;
    unloaded_[v] = false;
    b_.at(end_);
    const Value from = address(result_at_.at(v));
    Inst& inst = f_.insts[v];
    inst.op = Op::load;
    inst.imm = 0;
    inst.mem = memory(inst.type);
    inst.count = 1;
    f_.operands[inst.first] = from;
    f_.blocks[end_].insts.push_back(v);
  }

  // What depends on nothing is put into memory once, where the kernel starts.
  template <typename Emit>
  void at_start(Emit&& emit) {
    const BlockId here = b_.block();
    b_.at(0);
    std::vector<Value>& insts = f_.blocks[0].insts;
    const std::size_t before = insts.size();
    emit();
    prologue_.insert(prologue_.end(), insts.begin() + static_cast<std::ptrdiff_t>(before),
                     insts.end());
    insts.resize(before);
    b_.at(here);
  }

  // What has an order of its own keeps it.
  void emit_others() {
    while (!ready_.empty()) {
      const Value v = ready_.top().second;
      ready_.pop();
      if (pure(v)) {
        place(v);
        continue;
      }
      may_go_.insert(v);
      while (next_ordered_ < ordered_.size() && may_go_.erase(ordered_[next_ordered_]))
        place(ordered_[next_ordered_++]);
    }
  }

  // The steps that can follow each other now.
  bool emit_steps() {
    std::vector<Step> steps;
    std::map<std::string_view, std::uint32_t> costs;
    std::uint64_t sum = 0;
    const bool room = words_ < kMostWords;
    while (!next_.empty() && steps.size() < (room ? kMostSteps : 1)) {
      const Value v = next_.top().second;
      const Routine* routine = routine_of(v);
      next_.pop();
      Step step{v, routine, {}};
      for (const Value a : f_.args(v)) step.operands.push_back(waits(a) ? operand(a) : Operand{a});
      steps.push_back(std::move(step));
      sum += routine->cost;
      std::uint32_t& most = costs[routine->general];
      most = std::max(most, routine->cost);
    }
    std::uint64_t once = 0;
    for (const auto& [name, cost] : costs) once += cost;
    if (steps.size() >= kLeastSteps && room && sum >= once + kLeastSaved) {
      emit_loop(steps);
      return true;
    }
    // The first stands by itself; the others go on waiting. What its operands wait for is placed.
    for (std::size_t i = 1; i < steps.size(); ++i)
      next_.push({waiting_.at(steps[i].call).at, steps[i].call});
    place(steps[0].call);
    return false;
  }

  Value address(std::uint32_t word) { return b_.i32(base_ + 4 * word); }
  static constexpr MemAttr kWord{.space = Space::local, .bytes = 4};
  static constexpr MemAttr kPair{.space = Space::local, .bytes = 8};
  static const MemAttr& memory(Type type) { return type == Type::i64 ? kPair : kWord; }

  /// The place of a value that a step takes, put there first where it is in none.
  std::uint32_t put(Value v) {
    const Inst inst = f_.insts[v];
    if (const auto step = result_at_.find(v); step != result_at_.end()) return step->second;
    const bool constant = inst.op == Op::constant;
    const bool wide = inst.type == Type::i64;
    const auto known = constant ? constant_at_.emplace(std::pair(wide, inst.imm), words_)
                                : std::pair(constant_at_.end(), false);
    const auto copied = constant ? std::pair(copy_at_.end(), false) : copy_at_.emplace(v, words_);
    if (constant ? !known.second : !copied.second)
      return constant ? known.first->second : copied.first->second;
    const std::uint32_t place = words_;
    words_ += wide ? 2 : 1;
    const auto store = [&](Value value) { b_.store(address(place), value, memory(inst.type)); };
    if (!constant)
      store(v);
    else
      at_start(
          [&] { store(wide ? b_.i64(inst.imm) : b_.i32(static_cast<std::uint32_t>(inst.imm))); });
    return place;
  }

  void emit_loop(const std::vector<Step>& steps) {
    // Routines of one group are called by the general one's name, unless they are all the same.
    std::map<std::string_view, std::string_view> name_of;
    for (const Step& s : steps) {
      const auto [at, fresh] = name_of.emplace(s.routine->general, s.routine->name);
      if (!fresh && at->second != s.routine->name) at->second = s.routine->general;
    }
    RoutineLoop loop;
    loop.base = base_;
    loop.results = words_;
    for (const Step& s : steps) {
      result_at_.emplace(s.call, words_);
      words_ += 2;
    }
    b_.at(end_);
    b_.set_loc(f_.insts[steps[0].call].loc);
    std::map<std::string_view, std::uint32_t> call_of;
    for (const Step& s : steps) {
      std::vector<Operand> operands = s.operands;
      const std::string_view name = name_of.at(s.routine->general);
      if (name != s.routine->name) generalise(s, operands);
      const auto [call, fresh] =
          call_of.emplace(name, static_cast<std::uint32_t>(loop.calls.size()));
      if (fresh)
        loop.calls.push_back({module_.library(name), s.routine->type, s.routine->from,
                              static_cast<unsigned>(operands.size())});
      LoopStep step{.call = call->second};
      for (std::size_t i = 0; i < operands.size(); ++i) {
        step.places[i] = put(operands[i].value);
        step.negated |= static_cast<std::uint32_t>(operands[i].negated) << i;
      }
      loop.steps.push_back(step);
    }
    loop.table = words_;
    at_start([&] {
      for (const std::uint32_t word : loop.table_words())
        b_.store(address(words_++), b_.i32(word), kWord);
    });
    end_ = loop.emit(b_, cutter_, end_);
    unloaded_.resize(f_.insts.size(), false);
    for (const Step& s : steps) {
      unloaded_[s.call] = true;
      stored_.push_back(s.call);
      done(s.call);
    }
  }

  // a + c is a 1 + c, and a b is a b - 0: signs of zeros and the choice among NaN stay the same.
  void generalise(const Step& s, std::vector<Operand>& operands) {
    if (s.routine->name == "f64_add_rn")
      operands = {operands[1], {b_.i64(kOne)}, operands[0]};
    else if (s.routine->name == "f64_mul_rn")
      operands.push_back({b_.i64(kMinusZero)});
    else if (s.routine->name == "f64_rcp_rn")
      operands.insert(operands.begin(), {b_.i64(kOne)});
  }

  Function& f_;
  Module& module_;
  Builder b_;
  BlockCutter cutter_;
  std::vector<Routine> routines_;  ///< by Op::library's imm
  std::vector<bool> chosen_;       ///< the same
  std::uint64_t most64_ = 0, most32_ = 0;
  BlockId end_ = 0;
  // Of the block that is rebuilt
  std::unordered_map<Value, Waiting> waiting_;
  using Queue = std::priority_queue<std::pair<std::uint32_t, Value>,
                                    std::vector<std::pair<std::uint32_t, Value>>, std::greater<>>;
  Queue ready_, next_;          ///< no calls, by place in the block; calls for the next loop
  std::vector<Value> ordered_;  ///< what has an order of its own
  std::size_t next_ordered_ = 0, placed_ = 0;
  std::unordered_set<Value> may_go_;  ///< of ordered_: waits only for those before it
  std::vector<bool> live_out_;        ///< by value: needed beyond its block
  std::vector<bool> unloaded_;        ///< by value: a step's result that is in memory alone
  std::vector<Value> stored_;         ///< the block's steps
  bool stores_early_ = false;         ///< the block's operands of steps are stored at once
  std::vector<Value> early_phis_;     ///< those of them that are not stored yet
  std::vector<Value> prologue_;
  // Where values are in memory: results of steps and constants for good, others while their block
  // is rebuilt, for they are stored in it.
  std::unordered_map<Value, std::uint32_t> result_at_, copy_at_;
  std::map<std::pair<bool, std::uint64_t>, std::uint32_t> constant_at_;
  std::uint32_t base_ = 0, words_ = 0;
};

}  // namespace

bool outline_library_calls(Function& function, Module& module, const RoutineCost& cost,
                           std::uint64_t budget) {
  return Sharing(function, module, cost, budget).run();
}

}  // namespace ptx2spv::passes
