// Fused multiply-adds on devices whose own is right but takes denormals for zeros, results as well.
// The fma of a block that depend on each other only, a stretch, are the device's own, with a cheap
// check of what they take. Where it fails, a second one looks whether that was because of zeros;
// where it was not, the thread does the stretch again, exactly.
//
//     native stretch, check --> check but for zeros --> exact stretch --+
//                         |                         |                   |
//                         +-------------------------+-------------------+--> what needs results
//
// The cheap check takes one comparison a value: factors are at least 2^-40 and addends at least
// 2^-103, so that products and sums are multiples of the least normal number: zero or normal. Sums
// of such sums are as well, so that a chain needs one check of an addend. Zeros fail it, and pass
// the second one.
#include <algorithm>
#include <span>
#include <utility>

#include "translator/passes/cfg/block_ends.hpp"
#include "translator/passes/legalise/fma_checks.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

namespace {

/// The fma of a stretch, at most: what it takes stays in registers until its end.
constexpr std::size_t kMostFma = 64;
struct Stretch {
  BlockId block = 0;
  std::size_t first = 0, end = 0;  ///< places of its instructions in the block
  std::vector<Value> members;      ///< fma, and what leads from one to another
  std::vector<Value> fma;          ///< those of them that rest on checks
  std::vector<Value> results;      ///< those of them that something else needs
  std::vector<Value> behind;       ///< what has to wait for results
  std::vector<checked::FmaChecks::Check> checks;
};

enum class Role : std::uint8_t { none, member, behind };

class CheckedFma {
 public:
  explicit CheckedFma(Function& function)
      : f_(function), b_(function), cutter_(function, b_), checks_(function) {}

  bool run() {
    role_.assign(f_.insts.size(), Role::none);
    leads_.assign(f_.insts.size(), false);
    count_uses();
    std::vector<bool> in_continue(f_.blocks.size(), false);
    for (const Block& block : f_.blocks)
      if (block.merge == Merge::loop) in_continue[block.continue_block] = true;
    for (const BlockId b : f_.order)
      if (!in_continue[b]) plan(b);
    if (stretches_.empty()) return false;
    copy_of_.assign(f_.insts.size(), 0);
    for (std::size_t at = 0; at < stretches_.size();) {
      std::size_t end = at;
      while (end < stretches_.size() && stretches_[end].block == stretches_[at].block) ++end;
      rebuild({stretches_.data() + at, end - at});
      at = end;
    }
    cutter_.finish();
    return true;
  }

 private:
  // ---- Which stretches ----

  void count_uses() {
    uses_.assign(f_.insts.size(), 0);
    for (const BlockId b : f_.order) {
      for (const Value v : f_.blocks[b].insts)
        for (const Value a : f_.args(v)) ++uses_[a];
      if (f_.blocks[b].cond) ++uses_[f_.blocks[b].cond];
    }
  }

  bool is_member(Value v) const { return role_[v] == Role::member; }
  template <typename Is>
  bool takes(Value v, Is&& is) const {
    return f_.insts[v].op != Op::phi && std::ranges::any_of(f_.args(v), is);
  }
  bool takes_member(Value v) const {
    return takes(v, [&](Value a) { return is_member(a); });
  }
  bool must_wait(Value v) const {
    return takes(v, [&](Value a) { return role_[a] == Role::behind; });
  }

  void plan(BlockId b) {
    const std::vector<Value>& insts = f_.blocks[b].insts;
    start(b, 0);
    for (std::size_t i = 0; i < insts.size(); ++i) {
      const Value v = insts[i];
      if (checks_.is_fma(v) && (must_wait(v) || now_.fma.size() == kMostFma)) {
        close(i);
        start(b, i);
      }
      place(v);
      checks_.know(v);
    }
    close(insts.size());
  }

  void start(BlockId b, std::size_t first) {
    now_ = {};
    now_.block = b;
    now_.first = first;
    ordered_waits_ = false;
  }

  void place(Value v) {
    const bool pure = info(f_.insts[v].op).flags & flag::P;
    const bool follows = takes_member(v);
    if (must_wait(v) || (!pure && (ordered_waits_ || follows))) return wait(v);
    const bool rests = checks_.rests_on_checks(v);
    if (rests && !checks_.check_operands(v)) {
      if (follows) wait(v);
      return;
    }
    if (rests || follows) {
      role_[v] = Role::member;
      now_.members.push_back(v);
      if (rests) now_.fma.push_back(v);
    }
    checks_.follow(v);
  }

  void wait(Value v) {
    role_[v] = Role::behind;
    now_.behind.push_back(v);
    if (!(info(f_.insts[v].op).flags & flag::P)) ordered_waits_ = true;
  }

  /// The stretch ends before the instruction at `end`.
  void close(std::size_t end) {
    now_.end = end;
    // What rests on checks holds in the stretch alone.
    now_.checks.assign(checks_.checks().begin(), checks_.checks().end());
    checks_.forget();
    keep_what_leads_on();
    for (const Value v : now_.members)
      for (const Value a : f_.args(v))
        if (is_member(a)) --uses_[a];
    for (const Value v : now_.members)
      if (uses_[v] != 0) now_.results.push_back(v);
    mark(now_, Role::none, Role::none);
    if (!now_.members.empty()) stretches_.push_back(std::move(now_));
  }

  /// What no fma of the stretch takes waits for results.
  void keep_what_leads_on() {
    for (const Value v : now_.members) leads_[v] = false;
    for (const Value v : now_.fma) leads_[v] = true;
    for (auto v = now_.members.rbegin(); v != now_.members.rend(); ++v)
      if (leads_[*v])
        for (const Value a : f_.args(*v)) leads_[a] = true;
    for (const Value v : now_.members)
      if (!leads_[v]) now_.behind.push_back(v), role_[v] = Role::behind;
    std::erase_if(now_.members, [&](Value v) { return !leads_[v]; });
  }

  void mark(const Stretch& s, Role members, Role behind) {
    for (const Value v : s.members) role_[v] = members;
    for (const Value v : s.behind) role_[v] = behind;
  }

  // ---- What becomes of them ----

  void rebuild(std::span<const Stretch> stretches) {
    const BlockId b = stretches[0].block;
    const std::vector<Value> insts = std::exchange(f_.blocks[b].insts, {});
    end_ = b;
    cutter_.start(b);
    std::size_t next = 0;
    const auto append = [&](std::size_t end) {
      for (; next < end; ++next) f_.blocks[end_].insts.push_back(insts[next]);
    };
    for (const Stretch& s : stretches) {
      append(s.first);
      emit(s, {insts.data() + s.first, s.end - s.first});
      next = s.end;
    }
    append(insts.size());
  }

  Value copied(Value v) const { return copy_of_[v] ? copy_of_[v] : v; }

  void emit(const Stretch& s, std::span<const Value> insts) {
    mark(s, Role::member, Role::behind);
    while (f_.insts[insts.front()].op == Op::phi) {
      f_.blocks[end_].insts.push_back(insts.front());
      insts = insts.subspan(1);
    }
    leave_header();
    b_.at(end_);
    for (const Value v : insts) {
      if (role_[v] == Role::none) f_.blocks[end_].insts.push_back(v);
      if (is_member(v)) copy_of_[v] = copy(v, true);
    }
    b_.set_loc(f_.insts[s.members[0]].loc);
    std::vector<Value> native;
    for (const Value v : s.results) native.push_back(copied(v));
    const BlockId before = end_, second = b_.new_block(), exact = b_.new_block(),
                  join = b_.new_block(), behind = b_.new_block();
    cutter_.move_end(before, behind, {second, exact, join});
    select(before, check(s, checked::is_less), second, behind);
    b_.at(second);
    select(second, check(s, checked::is_tiny), exact, join);
    b_.at(exact);
    for (const Value v : s.members) copy_of_[v] = copy(v, false);
    b_.br(join);
    b_.at(join);
    f_.blocks[second].preds = {before};
    f_.blocks[exact].preds = {second};
    f_.blocks[join].preds = {second, exact};
    f_.blocks[behind].preds = {before, join};
    std::vector<Value> joined;
    for (std::size_t i = 0; i < s.results.size(); ++i) {
      const Type type = f_.insts[s.results[i]].type;
      joined.push_back(b_.inst(Op::phi, type, {native[i], copied(s.results[i])}));
    }
    b_.br(behind);
    b_.at(behind);
    for (std::size_t i = 0; i < s.results.size(); ++i) {
      const Value v = s.results[i];
      const Value made = b_.inst(Op::phi, f_.insts[v].type, {native[i], joined[i]});
      f_.insts[v] = f_.insts[made];
      f_.blocks[behind].insts.back() = v;
    }
    for (const Value v : insts)
      if (role_[v] == Role::behind) f_.blocks[behind].insts.push_back(v);
    for (const Value v : s.members) copy_of_[v] = 0;
    mark(s, Role::none, Role::none);
    end_ = behind;
  }

  /// A loop's header branches for the loop alone.
  void leave_header() {
    if (f_.blocks[end_].merge != Merge::loop) return;
    const BlockId behind = b_.new_block();
    cutter_.move_end(end_, behind, {});
    b_.at(end_);
    b_.br(behind);
    f_.blocks[behind].preds = {end_};
    end_ = behind;
  }

  void select(BlockId from, Value condition, BlockId then, BlockId join) {
    b_.cond_br(condition, then, join);
    f_.blocks[from].merge = Merge::selection;
    f_.blocks[from].merge_block = join;
  }

  Value check(const Stretch& s, Value (*fails)(Builder&, Value, int)) {
    Value any = 0;
    for (const auto& each : s.checks) {
      const Value one = fails(b_, copied(each.value), each.grid);
      any = any ? b_.op2(Op::or_, any, one) : one;
    }
    return any ? any : b_.i1(false);
  }

  Value copy(Value v, bool native) {
    const Inst inst = f_.insts[v];
    b_.set_loc(inst.loc);
    std::vector<Value> args(f_.args(v).begin(), f_.args(v).end());
    for (Value& a : args) a = copied(a);
    const Value made = b_.inst(inst.op, inst.type, args, inst.imm);
    Inst& copied = b_.last(made);
    copied.builtin = inst.builtin;
    copied.fp = inst.fp;
    copied.mem = inst.mem;
    if (native && checks_.is_fma(v)) copied.fp.checked = true;
    return made;
  }

  Function& f_;
  Builder b_;
  BlockCutter cutter_;
  checked::FmaChecks checks_;  ///< of the stretch in work
  std::vector<Stretch> stretches_;
  std::vector<std::uint32_t> uses_;  ///< by value; once its stretch is made, by others
  std::vector<Role> role_;           ///< by value, in the stretch in work
  std::vector<bool> leads_;          ///< by value: to an fma of the stretch in work
  Stretch now_;
  bool ordered_waits_ = false;  ///< something with an order of its own waits for results
  std::vector<Value> copy_of_;  ///< by value: a member's native operation, then its exact one
  BlockId end_ = 0;             ///< the block in work
};

}  // namespace

bool checked_fma(Function& function, const FloatOptions& options) {
  const Exactness& device = options.profile.exactness;
  if (options.fp != FpPolicy::exact || !device.denormals32 || !device.fused_fma32 ||
      device.fma_denormals32)
    return false;
  return CheckedFma(function).run();
}

}  // namespace ptx2spv::passes
