// Long routines of the shader library, shared. Drivers expand every call: the machine code of a
// double-precision sum is some two thousand instructions on a CPU, and a kernel with a few hundred
// of them takes minutes to compile. Where a kernel calls more than it should, the calls of a basic
// block that wait for nothing but each other become a loop over one call, its operands and results
// in the thread's own memory and a table of who takes what beside them. The loop's header also ends
// the driver's basic block, in whose length SwiftShader's search for equal values is quadratic.
#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <utility>

#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

using namespace ir;

namespace {

/// What is worth sharing, with its instructions. Calls of one class share a routine, `general`.
struct Routine {
  std::string_view name;
  std::uint32_t cost;
  std::string_view general;
};
constexpr Routine kRoutines[] = {
    {"f64_fma_rn", 490, "f64_fma_rn"},           {"f64_add_rn", 241, "f64_fma_rn"},
    {"f64_mul_rn", 273, "f64_fma_rn"},           {"f64_div_rn", 349, "f64_div_rn"},
    {"f64_rcp_rn", 349, "f64_div_rn"},           {"f64_sqrt_rn", 327, "f64_sqrt_rn"},
    {"f64_from_s64_rn", 150, "f64_from_s64_rn"},
};
/// Instructions of such calls that a kernel may have before they are shared: a third of a second on
/// SwiftShader.
constexpr std::uint32_t kBudget = 6000;
/// Steps of a loop: below, it costs more than it saves; above, its table only grows.
constexpr std::size_t kLeastSteps = 2, kMostSteps = 256;
/// Words of a thread's memory after which calls are left as they are.
constexpr std::uint32_t kMostWords = 6000;

// Of a high word
constexpr std::uint32_t kSign = 0x80000000u, kInfinity = 0x7ff00000u, kQuiet = 0x80000u;
constexpr std::uint64_t kOne = 0x3ff0000000000000ull, kMinusZero = 0x8000000000000000ull;

class Sharing {
 public:
  Sharing(Function& f, Module& module) : f_(f), module_(module), b_(f) {}

  bool run() {
    if (cost() <= kBudget) return false;
    base_ = (f_.local_bytes + 15) & ~15u;
    find_leaving();
    bool any = false;
    std::vector<bool> in_continue(f_.blocks.size(), false);
    for (const Block& block : f_.blocks)
      if (block.merge == Merge::loop) in_continue[block.continue_block] = true;
    const std::vector<BlockId> order = f_.order;
    for (const BlockId b : order)
      if (!in_continue[b]) any = rebuild(b) || any;
    if (!any) return false;
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
    const std::string& name = module_.library_names[inst.imm];
    for (const Routine& r : kRoutines)
      if (r.name == name) return &r;
    return nullptr;
  }

  std::uint32_t cost() const {
    std::uint32_t sum = 0;
    for (const BlockId b : f_.order)
      for (const Value v : f_.blocks[b].insts)
        if (const Routine* r = routine_of(v)) sum += r->cost;
    return sum;
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
  void find_leaving() {
    leaves_.assign(f_.insts.size(), false);
    std::vector<BlockId> home(f_.insts.size(), kNoBlock);
    for (const BlockId b : f_.order)
      for (const Value v : f_.blocks[b].insts) home[v] = b;
    for (const BlockId b : f_.order) {
      for (const Value v : f_.blocks[b].insts)
        for (const Value a : f_.args(v))
          if (home[a] != b || f_.insts[v].op == Op::phi) leaves_[a] = true;
      if (f_.blocks[b].cond) leaves_[f_.blocks[b].cond] = true;
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
    if (!routine_of(x) || !is_masked(f_.arg(number, 1), Op::xor_, x, kSign)) return {v};
    const bool quieted = is(nan, Op::pack) && is_part(f_.arg(nan, 0), Op::trunc, x) &&
                         is_masked(f_.arg(nan, 1), Op::or_, x, kQuiet);
    if ((nan != x && !quieted) || !is_nan_of(f_.arg(v, 0), x)) return {v};
    return {x, true};
  }

  // The block again: what waits for no step, then steps that wait for nothing else, in turn.
  bool rebuild(BlockId b) {
    std::vector<Value> rest = f_.blocks[b].insts;
    if (static_cast<std::size_t>(std::count_if(rest.begin(), rest.end(), [&](Value v) {
          return routine_of(v) != nullptr;
        })) < kLeastSteps)
      return false;
    waiting_.assign(f_.insts.size(), false);
    for (const Value v : rest) waiting_[v] = true;
    end_ = b;
    copy_at_.clear();
    f_.blocks[b].insts.clear();
    bool any = false;
    while (!rest.empty()) {
      emit_others(rest);
      if (!rest.empty()) any = emit_steps(rest) || any;
    }
    for (const Value v : std::exchange(stored_, {}))
      if (leaves_[v]) fetch(v);
    return any;
  }

  bool waits(Value v) const { return v < waiting_.size() && waiting_[v]; }

  void place(Value v) {
    if (f_.insts[v].op != Op::phi)
      for (const Value a : f_.args(v)) fetch(a);
    f_.blocks[end_].insts.push_back(v);
    waiting_[v] = false;
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
    inst.mem = kPair;
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

  void emit_others(std::vector<Value>& rest) {
    bool ordered = false;  // something with an order of its own stays behind
    std::erase_if(rest, [&](Value v) {
      const Inst& inst = f_.insts[v];
      const bool pure = (info(inst.op).flags & flag::P) || inst.op == Op::library;
      bool ready = !routine_of(v) && (pure || !ordered);
      if (inst.op != Op::phi)
        for (const Value a : f_.args(v)) ready = ready && !waits(a);
      if (ready) {
        place(v);
      } else if (!pure) {
        ordered = true;
      }
      return ready;
    });
  }

  // The class with most steps that can follow each other now.
  bool emit_steps(std::vector<Value>& rest) {
    std::vector<Step> best;
    for (const std::string_view general :
         {"f64_fma_rn", "f64_div_rn", "f64_sqrt_rn", "f64_from_s64_rn"}) {
      std::vector<Step> steps;
      std::unordered_map<Value, bool> chosen;
      for (const Value v : rest) {
        const Routine* routine = routine_of(v);
        if (!routine || routine->general != general || steps.size() == kMostSteps) continue;
        Step step{v, routine, {}};
        bool ready = true;
        for (const Value a : f_.args(v)) {
          const Operand o = operand(a);
          const bool whole = !waits(a);
          step.operands.push_back(whole ? Operand{a} : o);
          ready = ready && (whole || chosen.count(o.value) || !waits(o.value));
        }
        if (!ready) continue;
        chosen[v] = true;
        steps.push_back(std::move(step));
      }
      if (steps.size() > best.size()) best = std::move(steps);
    }
    const bool loop = best.size() >= kLeastSteps && words_ < kMostWords;
    if (loop) {
      emit_loop(best);
    } else {
      // An operand that is a step's value negated may not stand there yet; it does the next time.
      std::erase_if(best, [&](const Step& s) {
        const auto args = f_.args(s.call);
        const bool ready =
            std::none_of(args.begin(), args.end(), [&](Value a) { return waits(a); });
        if (ready) place(s.call);
        return !ready;
      });
    }
    std::erase_if(rest, [&](Value v) { return !waits(v); });
    return loop;
  }

  Value address(std::uint32_t word) { return b_.i32(base_ + 4 * word); }
  Value element(Value word) { return b_.op2(Op::shl, word, b_.i32(2)); }
  static constexpr MemAttr kWord{.space = Space::local, .bytes = 4};
  static constexpr MemAttr kPair{.space = Space::local, .bytes = 8};

  void emit_loop(const std::vector<Step>& steps) {
    const bool alike = std::all_of(steps.begin(), steps.end(),
                                   [&](const Step& s) { return s.routine == steps[0].routine; });
    const std::string_view name = alike ? steps[0].routine->name : steps[0].routine->general;
    const std::uint32_t results = words_;
    for (const Step& s : steps) {
      result_at_.emplace(s.call, words_);
      words_ += 2;
    }
    b_.at(end_);
    b_.set_loc(f_.insts[steps[0].call].loc);
    const auto put = [&](Value v) {
      const Inst inst = f_.insts[v];
      const bool constant = inst.op == Op::constant;
      if (const auto step = result_at_.find(v); step != result_at_.end()) return step->second;
      const auto known =
          constant ? constant_at_.emplace(inst.imm, words_) : copy_at_.emplace(v, words_);
      if (!known.second) return known.first->second;
      words_ += 2;
      if (constant)
        at_start([&] { b_.store(address(words_ - 2), b_.i64(inst.imm), kPair); });
      else
        b_.store(address(words_ - 2), v, kPair);
      return words_ - 2;
    };
    bool negates = false;
    std::vector<std::vector<std::uint64_t>> table;
    for (const Step& s : steps) {
      std::vector<Operand> operands = s.operands;
      if (!alike) generalise(s, operands);
      std::vector<std::uint64_t> row;
      for (const Operand& o : operands) {
        negates = negates || o.negated;
        row.push_back((base_ / 4 + put(o.value)) | (o.negated ? kSign : 0));
      }
      table.push_back(std::move(row));
    }
    const auto width = static_cast<std::uint32_t>(table[0].size());
    const std::uint32_t first_row = words_;
    at_start([&] {
      for (const auto& row : table)
        for (const std::uint64_t entry : row)
          b_.store(address(words_++), b_.i32(static_cast<std::uint32_t>(entry)), kWord);
    });
    turn(steps, name, width, results, first_row, negates);
  }

  // a + c is a 1 + c, and a b is a b - 0: signs of zeros and the choice among NaN stay the same.
  void generalise(const Step& s, std::vector<Operand>& operands) {
    if (s.routine->name == s.routine->general) return;
    if (s.routine->name == "f64_add_rn")
      operands = {operands[1], {b_.i64(kOne)}, operands[0]};
    else if (s.routine->name == "f64_mul_rn")
      operands.push_back({b_.i64(kMinusZero)});
    else
      operands.insert(operands.begin(), {b_.i64(kOne)});  // the reciprocal
  }

  void turn(const std::vector<Step>& steps, std::string_view name, std::uint32_t width,
            std::uint32_t results, std::uint32_t first_row, bool negates) {
    const BlockId before = end_;
    const BlockId header = b_.new_block(), latch = b_.new_block(), behind = b_.new_block();
    // What ended the block ends the last part. A loop's header keeps its phis and its merge.
    Block& from = f_.blocks[before];
    Block& to = f_.blocks[behind];
    const bool of_loop = from.merge == Merge::loop;
    to.term = from.term;
    to.cond = from.cond;
    to.loc = from.loc;
    to.succs = std::move(from.succs);
    if (!of_loop) {
      to.merge = std::exchange(from.merge, Merge::none);
      to.merge_block = std::exchange(from.merge_block, kNoBlock);
    }
    from.cond = 0;
    for (const BlockId s : to.succs)
      for (BlockId& p : f_.blocks[s].preds)
        if (p == before) p = behind;
    std::vector<BlockId> placed{header, latch, behind};
    const Value zero = b_.i32(0);
    b_.br(header);
    if (of_loop && to.term != Term::br) {
      // Its ways out need a merge block of its own, which no thread reaches.
      const BlockId nowhere = b_.new_block();
      f_.blocks[nowhere].term = Term::unreachable;
      f_.blocks[behind].merge = Merge::selection;
      f_.blocks[behind].merge_block = nowhere;
      placed.push_back(nowhere);
    }
    f_.order.insert(std::find(f_.order.begin(), f_.order.end(), before) + 1, placed.begin(),
                    placed.end());

    b_.at(header);
    const Value step = b_.inst(Op::phi, Type::i32, {zero, zero});
    // Three words a step go by one product; its place of result is its number twice.
    const Value row =
        b_.op2(Op::add, b_.op2(Op::mul, step, b_.i32(width)), b_.i32(base_ / 4 + first_row));
    std::vector<Value> arguments;
    for (std::uint32_t i = 0; i < width; ++i) {
      const Value entry =
          b_.load(Type::i32, element(i ? b_.op2(Op::add, row, b_.i32(i)) : row), kWord);
      const Value at = negates ? b_.op2(Op::and_, entry, b_.i32(kSign - 1)) : entry;
      const Value low = b_.load(Type::i32, element(at), kWord);
      Value high = b_.load(Type::i32, element(b_.op2(Op::add, at, b_.i32(1))), kWord);
      if (negates) {
        const Value some = b_.op2(Op::umin, low, b_.i32(1));
        const Value size = b_.op2(Op::and_, high, b_.i32(kSign - 1));
        const Value number = b_.cmp(Op::ule, b_.op2(Op::add, size, some), b_.i32(kInfinity));
        const Value turned = b_.op2(Op::xor_, high, b_.op2(Op::and_, entry, b_.i32(kSign)));
        high = b_.select(number, turned, high);
      }
      arguments.push_back(b_.inst(Op::pack, Type::i64, {low, high}));
    }
    const Value result = b_.inst(Op::library, Type::i64, arguments, module_.library(name));
    const Value target = b_.op2(Op::add, b_.op2(Op::add, step, step), b_.i32(base_ / 4 + results));
    b_.store(element(target), b_.inst(Op::trunc, Type::i32, {result}), kWord);
    b_.store(element(b_.op2(Op::add, target, b_.i32(1))), b_.inst(Op::high, Type::i32, {result}),
             kWord);
    const Value following = b_.op2(Op::add, step, b_.i32(1));
    f_.args(step)[1] = following;
    const Value more = b_.cmp(Op::slt, following, b_.i32(static_cast<std::uint32_t>(steps.size())));
    b_.cond_br(more, latch, behind);
    f_.blocks[header].merge = Merge::loop;
    f_.blocks[header].merge_block = behind;
    f_.blocks[header].continue_block = latch;
    f_.blocks[header].preds = {before, latch};
    f_.blocks[latch].preds = {header};
    f_.blocks[behind].preds = {header};
    b_.at(latch);
    b_.br(header);

    end_ = behind;
    unloaded_.resize(f_.insts.size(), false);
    for (const Step& s : steps) {
      waiting_[s.call] = false;
      unloaded_[s.call] = true;
      stored_.push_back(s.call);
    }
  }

  Function& f_;
  Module& module_;
  Builder b_;
  BlockId end_ = 0;
  std::vector<bool> waiting_;   ///< by value: stands in the block, not placed yet
  std::vector<bool> leaves_;    ///< by value: needed beyond its block
  std::vector<bool> unloaded_;  ///< by value: a step's result that is in memory alone
  std::vector<Value> stored_;   ///< the block's steps
  std::vector<Value> prologue_;
  // Where values are in memory: results of steps and constants for good, others while their block
  // is rebuilt, for they are stored in it.
  std::map<std::uint64_t, std::uint32_t> result_at_, constant_at_, copy_at_;
  std::uint32_t base_ = 0, words_ = 0;
};

}  // namespace

bool share_routines(Function& function, Module& module) { return Sharing(function, module).run(); }

}  // namespace ptx2spv::passes
