// Threads of a block that load from one address usually get the same word, but another block may
// store there meanwhile. If the load decides which threads come to a barrier, a native barrier is
// possible only if they agree: all take what the first thread has loaded, which each of them could
// have loaded then. The barrier before that load makes it see what other threads stored earlier.
#include "translator/passes/threads/agree_on_loads.hpp"

#include <algorithm>
#include <utility>

#include "translator/passes/analysis/uniformity.hpp"
#include "translator/passes/cfg/demote_to_stack.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewrite.hpp"

namespace ptx2spv::passes {

namespace {

bool is_candidate(const Inst& inst) {
  return inst.op == Op::load && !inst.mem.is_volatile && !inst.mem.readonly &&
         (inst.mem.space == Space::global || inst.mem.space == Space::shared);
}

/// Which loads must be the same for all threads so that barriers do not diverge.
class Search {
 public:
  Search(const Function& function, Module& module) : copy_(function) {
    for (const Block& block : function.blocks)
      for (const Value v : block.insts)
        if (is_candidate(function.insts[v])) loads_.push_back(v);
    if (loads_.empty() || loads_.size() > 0xffff) return;
    // Such loads have no slot: the copy's have their number there.
    for (std::size_t i = 0; i < loads_.size(); ++i)
      copy_.insts[loads_[i]].mem.slot = static_cast<std::uint16_t>(i);
    demote_to_stack(copy_);
    structurize(copy_, module);
    ssa(copy_, module);
    simplify(copy_, module);
    agreed_.assign(loads_.size(), true);
    const Uniformity all = uniformity();
    if (diverge(all)) return;
    // Loads at addresses of their own, or by some threads, give none what others get.
    std::vector<bool> differs(loads_.size(), false), same = differs;
    each_load([&](BlockId b, Value v, std::size_t i) {
      (all.divergent(v) || all.divergent_block(b) ? differs : same)[i] = true;
    });
    for (std::size_t i = 0; i < loads_.size(); ++i) agreed_[i] = same[i] && !differs[i];
    if (diverge(uniformity())) return;
    drop(0, loads_.size());
    for (std::size_t i = 0; i < loads_.size(); ++i)
      if (agreed_[i]) found_.push_back(loads_[i]);
  }
  const std::vector<Value>& found() const { return found_; }

 private:
  template <typename Each>
  void each_load(const Each& each) const {
    for (const BlockId b : copy_.order)
      for (const Value v : copy_.blocks[b].insts)
        if (is_candidate(copy_.insts[v])) each(b, v, copy_.insts[v].mem.slot);
  }
  Uniformity uniformity() const {
    std::vector<bool> agreed(copy_.insts.size(), false);
    each_load([&](BlockId, Value v, std::size_t i) { agreed[v] = agreed_[i]; });
    return Uniformity(copy_, {}, {.agreed = &agreed});
  }
  bool diverge(const Uniformity& known) const {
    return std::ranges::any_of(copy_.order, [&](BlockId b) {
      return known.divergent_block(b) && std::ranges::any_of(copy_.blocks[b].insts, [&](Value v) {
               return is_barrier(copy_.insts[v].op);
             });
    });
  }
  /// Drops those of a range that are not needed, as far as few questions tell.
  void drop(std::size_t first, std::size_t end) {
    const std::vector<bool> before = agreed_;
    const auto begin = agreed_.begin();
    std::fill(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(end),
              false);
    if (agreed_ == before) return;
    if (questions_ != 0 && (--questions_, !diverge(uniformity()))) return;
    agreed_ = before;
    if (end - first == 1 || questions_ == 0) return;
    const std::size_t middle = first + (end - first) / 2;
    drop(first, middle);
    drop(middle, end);
  }

  Function copy_;
  std::vector<Value> loads_, found_;
  std::vector<bool> agreed_;  ///< by number of a load
  unsigned questions_ = 64;
};

/// Loads of a block that threads agree on at once, and the registers that get them.
struct Group {
  std::vector<Value> loads, sets;
  Value last = 0;      ///< the instruction behind which threads agree
  bool first = false;  ///< nothing can have been stored before
};

class Groups {
 public:
  Groups(const Function& f, const std::vector<Value>& loads) : f_(f), agreed_(f.insts.size()) {
    for (const Value v : loads) agreed_[v] = true;
    const bool once = std::ranges::none_of(f.blocks, [](const Block& block) {
      return std::ranges::find(block.succs, BlockId{0}) != block.succs.end();
    });
    for (BlockId b = 0; b < f.blocks.size(); ++b) {
      bool stored = b != 0 || !once;
      for (const Value v : f.blocks[b].insts) {
        if (!open_.loads.empty() && !joins(v)) close();
        if (agreed_[v]) {
          if (open_.loads.empty()) open_.first = !std::exchange(stored, true);
          open_.loads.push_back(v);
        }
        stored = stored || !is_quiet(f.insts[v]);
        if (!open_.loads.empty()) open_.last = v;
      }
      if (!open_.loads.empty()) close();
    }
  }
  std::vector<Group> take() { return std::move(groups_); }

 private:
  void close() { groups_.push_back(std::exchange(open_, {})); }
  static bool is_quiet(const Inst& inst) {
    return (info(inst.op).flags & flag::P) || inst.op == Op::get_var || inst.op == Op::set_var ||
           (inst.op == Op::load && !inst.mem.is_volatile);
  }
  /// Whether the instruction may stand before the threads agree. Notes registers that get what they
  /// agree on.
  bool joins(Value v) {
    const Inst& inst = f_.insts[v];
    const bool reads = std::ranges::any_of(f_.args(v), [&](Value operand) {
      return std::ranges::find(open_.loads, operand) != open_.loads.end();
    });
    const bool var = inst.op == Op::get_var || inst.op == Op::set_var;
    const bool waits = var && std::ranges::any_of(open_.sets, [&](Value set) {
                         return f_.insts[set].imm == inst.imm;
                       });
    if (waits || !is_quiet(inst) || (reads && inst.op != Op::set_var)) return false;
    if (reads) open_.sets.push_back(v);
    return true;
  }

  const Function& f_;
  std::vector<bool> agreed_;
  Group open_;
  std::vector<Group> groups_;
};

unsigned bytes_of(Type type) { return type == Type::i32 ? 4 : type == Type::v4 ? 16 : 8; }

}  // namespace

std::vector<Value> loads_to_agree_on(const Function& function, Module& module) {
  const std::vector<Value> found = Search(function, module).found();
  if (found.empty()) return found;
  Function copy = function;
  agree_on_loads(copy, found);
  demote_to_stack(copy);
  return barriers_diverge(copy, module) ? std::vector<Value>{} : found;
}

void agree_on_loads(Function& function, const std::vector<Value>& loads) {
  const std::vector<Group> groups = Groups(function, loads).take();
  constexpr std::uint32_t kNone = 0xffffffffu;
  std::vector<std::uint32_t> begins(function.insts.size(), kNone), ends = begins;
  std::vector<bool> loaded(function.insts.size(), false), waits = loaded;
  std::uint32_t bytes = 0;
  for (std::uint32_t g = 0; g < groups.size(); ++g) {
    begins[groups[g].loads.front()] = g;
    ends[groups[g].last] = g;
    std::uint32_t sum = 0;
    for (const Value v : groups[g].loads) loaded[v] = true, sum += 16;
    for (const Value v : groups[g].sets) waits[v] = true;
    bytes = std::max(bytes, sum);
  }
  const std::uint32_t at = (function.shared_bytes + 15) & ~15u;
  CfgRewriter rewriter(function);
  Builder& b = rewriter.builder();
  const auto meet = [&] { b.inst(Op::control_barrier, Type::none, {}); };
  // What has been loaded, until all have what the first thread has.
  std::vector<Value> own;
  const auto agree = [&](const Group& group) {
    Value base = b.i32(at);
    // Behind dynamic shared memory.
    if (function.uses_dynamic_shared) {
      const Value dynamic = b.load(Type::i32, b.i32(abi::Push::dynamic_shared * 4),
                                   {.space = Space::push, .bytes = 4, .readonly = true});
      base = b.op2(Op::add, base, b.op2(Op::and_, b.op2(Op::add, dynamic, b.i32(15)), b.i32(~15u)));
    }
    std::vector<Value> places;
    for (std::size_t i = 0; i < own.size(); ++i)
      places.push_back(b.op2(Op::add, base, b.i32(static_cast<std::uint32_t>(16 * i))));
    const auto shared = [&](std::size_t i) {
      const unsigned size = bytes_of(function.insts[own[i]].type);
      return MemAttr{.space = Space::shared, .bytes = static_cast<std::uint8_t>(size)};
    };
    const Value numbers =
        b.op2(Op::or_, b.builtin(Builtin::local_id_x),
              b.op2(Op::or_, b.builtin(Builtin::local_id_y), b.builtin(Builtin::local_id_z)));
    rewriter.when(b.cmp(Op::eq, numbers, b.i32(0)), [&] {
      for (std::size_t i = 0; i < own.size(); ++i) b.store(places[i], own[i], shared(i));
    });
    meet();
    for (std::size_t i = 0; i < own.size(); ++i) {
      const Value v = group.loads[i];
      rewriter.replace(v, Op::load, function.insts[v].type, {places[i]});
      function.insts[v].mem = shared(i);
    }
    for (const Value set : group.sets) rewriter.keep(set);
    own.clear();
  };
  rewriter.run([&](Value v) {
    const bool old = v < begins.size();
    if (!old) return rewriter.keep(v);
    if (const std::uint32_t g = begins[v]; g != kNone && !groups[g].first) meet();
    if (loaded[v]) {
      const Inst inst = function.insts[v];
      const std::vector<Value> args(function.args(v).begin(), function.args(v).end());
      own.push_back(b.inst(Op::load, inst.type, args, inst.imm));
      function.insts[own.back()].mem = inst.mem;
    } else if (!waits[v]) {
      rewriter.keep(v);
    }
    if (ends[v] != kNone) agree(groups[ends[v]]);
  });
  // Dynamic shared memory before it is rounded up.
  function.shared_bytes = at + bytes + (function.uses_dynamic_shared ? 16 : 0);
}

}  // namespace ptx2spv::passes
