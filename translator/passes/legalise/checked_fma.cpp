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
//
// Weights that are exponentials, as of a bilateral filter, are soon smaller. Where a block has
// many, a third check, before the exact stretch, is of each fma by itself: it passes too if its
// result is at least 2^-70 and its factors are below 2^31. A denormal factor's product then is less
// than half of what the addend is rounded to, and without one nothing is lost. What it looks at
// stays in registers until then, so that other stretches have none.
//
// A result stays what it is: stretches behind it, and around a loop, need no check of it. A thread
// that makes one exactly notes if it is no such multiple, and what rests on that is exact then.
// This costs a condition throughout, and is done where it saves half of the checks.
//
// A stretch with many results is chosen behind its checks, so that no register holds what it takes
// and what it makes at once:
//
//     check --> check but for zeros --> exact stretch or native stretch --> what needs results
//
// Where most of what is taken comes from shared memory, words are checked where they are stored
// (shared_words.hpp), and here, for zeros too, only once a thread of the workgroup stored one that
// failed. Their loads move into the stretch, which may be long.
#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "translator/passes/cfg/block_ends.hpp"
#include "translator/passes/legalise/fma_checks.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

using checked::FmaChecks;
using checked::SharedWords;
using Check = FmaChecks::Check;

namespace {

/// The fma of a stretch, at most: what it takes stays in registers until its end.
constexpr std::size_t kMostFma = 64;
/// The same where that is words from shared memory that need no check.
constexpr std::size_t kMostFmaOfWords = 1024;
/// How many checks of loaded words one of a stored word has to save, and all of them.
constexpr std::size_t kSavedByOne = 2, kSavedByAll = 8;
/// Results of a stretch from which on they would crowd the registers beside what they are made of.
constexpr std::size_t kManyResults = 12;
/// So many fma of a block with exponentials as factors are checked one by one.
constexpr std::ptrdiff_t kManyWeighted = 48;
/// Factors beside which a denormal one leaves a large addend as it is are below that power of two.
constexpr int kSmall = 31;
struct Stretch {
  BlockId block = 0;
  std::size_t first = 0, end = 0;  ///< places of its instructions in the block
  std::vector<Value> members;      ///< fma, and what leads from one to another
  std::vector<Value> fma;          ///< those of them that rest on checks
  std::vector<Value> results;      ///< those of them that something else needs
  std::vector<Value> kept;         ///< those of these that are kept as multiples of 2^-126
  std::vector<Value> behind;       ///< what has to wait for results
  std::vector<Check> checks;
  bool relies = false;  ///< on what other stretches kept
};

enum class Role : std::uint8_t { none, member, behind };

class CheckedFma {
 public:
  CheckedFma(Function& function, Module& module, std::uint32_t most_shared_bytes)
      : f_(function),
        module_(module),
        b_(function),
        cutter_(function, b_),
        checks_(function),
        most_shared_bytes_(most_shared_bytes) {}

  bool run() {
    in_continue_.assign(f_.blocks.size(), false);
    for (const Block& block : f_.blocks)
      if (block.merge == Merge::loop) in_continue_[block.continue_block] = true;
    plan();
    if (stretches_.empty()) return false;
    check_words();
    const std::size_t alone = count_checks();
    std::vector<Stretch> stretches = std::exchange(stretches_, {});
    keeps_ = true;
    plan();
    if (2 * count_checks() > alone) stretches_ = std::move(stretches);
    const bool relied_on =
        std::ranges::any_of(stretches_, [](const Stretch& s) { return s.relies; });
    if (relied_on) {
      lost_ = static_cast<std::uint32_t>(f_.vars.size());
      f_.vars.push_back({Type::i1, "lost", false});
    }
    copy_of_.assign(f_.insts.size(), 0);
    for (std::size_t at = 0; at < stretches_.size();) {
      std::size_t end = at;
      while (end < stretches_.size() && stretches_[end].block == stretches_[at].block) ++end;
      rebuild({stretches_.data() + at, end - at});
      at = end;
    }
    cutter_.finish();
    if (relied_on) {
      Block& entry = f_.blocks[f_.order[0]];
      std::vector<Value> insts = std::exchange(entry.insts, {});
      b_.at(f_.order[0]);
      b_.set(lost_, b_.i1(false));
      entry.insts.insert(entry.insts.end(), insts.begin(), insts.end());
      order_preds(f_);
      ssa(f_, module_);
    }
    return true;
  }

 private:
  // ---- Which stretches ----

  /// Phis that fma may make, to be multiples of the least normal number unless a check failed.
  void find_phis() {
    for (const BlockId b : f_.order)
      for (const Value v : f_.blocks[b].insts) {
        if (f_.insts[v].op != Op::phi) break;
        if (f_.insts[v].type == Type::i32 && !checks_.is_known(v)) phis_.push_back(v);
      }
  }

  std::size_t count_checks() const {
    std::size_t all = 0;
    for (const Stretch& s : stretches_) all += std::ranges::count(s.checks, false, &Check::stored);
    return all;
  }

  /// Words of shared memory are checked where they are stored, if that saves enough.
  void check_words() {
    words_.emplace(f_, most_shared_bytes_);
    std::size_t saved = 0;
    for (const Stretch& s : stretches_)
      saved += std::ranges::count_if(s.checks, [&](const Check& c) {
        return words_->has(c.value) && c.grid >= SharedWords::kGrid;
      });
    if (saved < std::max(kSavedByAll, kSavedByOne * words_->to_check())) return words_.reset();
    words_->check_stores();
    checks_.set_words(&*words_);
    plan();
  }
  bool is_word(Value v) const { return words_ && words_->has(v); }

  /// Of all blocks. What is supposed of phis is so if it is of what comes to them.
  void plan() {
    role_.assign(f_.insts.size(), Role::none);
    leads_.assign(f_.insts.size(), false);
    const FmaChecks before = checks_;
    if (keeps_) find_phis();
    for (unsigned round = 0;; ++round) {
      constexpr unsigned kRounds = 8;
      if (round == kRounds) phis_.clear();
      checks_.start_anew(before);
      for (const Value v : phis_) checks_.keep(v);
      stretches_.clear();
      count_uses();
      for (const BlockId b : f_.order)
        if (!in_continue_[b])
          plan(b);
        else
          for (const Value v : f_.blocks[b].insts) checks_.know(v);
      const auto comes_otherwise = [&](Value phi) {
        return !std::ranges::all_of(f_.args(phi), [&](Value a) { return checks_.is_kept(a); });
      };
      if (std::erase_if(phis_, comes_otherwise) == 0) break;
    }
    checks_.start_anew(before);
  }

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
      if (checks_.is_fma(v) ? must_wait(v) || is_full() : now_.fma.empty() && waits_for_words(v)) {
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
    ordered_waits_ = words_move_ = false;
  }

  bool is_full() const {
    const bool of_words = words_ && std::ranges::all_of(checks_.checks(), &Check::stored);
    return now_.fma.size() >= (of_words ? kMostFmaOfWords : kMostFma);
  }
  /// Whether it stays behind loads that move.
  bool waits_for_words(Value v) const {
    return words_move_ && (info(f_.insts[v].op).flags & flag::W);
  }

  void place(Value v) {
    const bool pure = info(f_.insts[v].op).flags & flag::P;
    const bool follows = takes_member(v);
    if (must_wait(v) || waits_for_words(v) || (!pure && (ordered_waits_ || follows)))
      return wait(v);
    if (is_word(v) && (follows || !pure)) {
      words_move_ = true;
      role_[v] = Role::member;
      now_.members.push_back(v);
      checks_.follow(v);
      // So that what is made of it needs no check, either.
      if (f_.insts[v].type == Type::i32) checks_.require(v, SharedWords::kGrid);
      return;
    }
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
    now_.relies = checks_.relies();
    keep_what_leads_on();
    std::erase_if(now_.checks, [&](const Check& c) { return role_[c.value] == Role::behind; });
    for (const Value v : now_.members)
      for (const Value a : f_.args(v))
        if (is_member(a)) --uses_[a];
    for (const Value v : now_.members)
      if (uses_[v] != 0) now_.results.push_back(v);
    for (const Value v : now_.results)
      if (keeps_ && f_.insts[v].type == Type::i32 && !checks_.is_known(v) &&
          checks_.has_grid(v, FmaChecks::kSum))
        now_.kept.push_back(v);
    checks_.forget();
    for (const Value v : now_.kept) checks_.keep(v);
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
    std::ptrdiff_t weighted = 0;
    for (const Stretch& s : stretches) weighted += count_weighted(s);
    many_weighted_ = weighted >= kManyWeighted;
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
    for (const Value v : insts)
      if (role_[v] == Role::none) f_.blocks[end_].insts.push_back(v);
    const BlockId behind = can_choose(s) ? choose(s) : repeat(s);
    for (const Value v : insts)
      if (role_[v] == Role::behind) f_.blocks[behind].insts.push_back(v);
    for (const Value v : s.members) copy_of_[v] = 0;
    mark(s, Role::none, Role::none);
    end_ = behind;
  }

  bool can_choose(const Stretch& s) const {
    return s.results.size() >= kManyResults &&
           std::ranges::none_of(s.checks, [&](const Check& check) {
             return is_member(check.value) && !check.stored;
           });
  }

  void copy_members(const Stretch& s, bool native) {
    for (const Value v : s.members) copy_of_[v] = copy(v, native);
  }

  /// Natively, and exactly if a check fails. Result: the block behind it.
  BlockId repeat(const Stretch& s) {
    copy_members(s, true);
    b_.set_loc(f_.insts[s.members[0]].loc);
    std::vector<Value> native;
    for (const Value v : s.results) native.push_back(copied(v));
    const BlockId before = end_, second = b_.new_block(), exact = b_.new_block(),
                  join = b_.new_block(), behind = b_.new_block();
    const bool third = many_weighted_ && count_weighted(s) > 0;
    const BlockId each = third ? b_.new_block() : exact, again = third ? b_.new_block() : join;
    std::vector<BlockId> between{second, exact, join};
    if (third) between = {second, each, exact, again, join};
    cutter_.move_end(before, behind, between);
    select(before, check(s), second, behind);
    f_.blocks[second].preds = {before};
    b_.at(second);
    select(second, check_but_for_zeros(s), each, join);
    if (third) {
      b_.at(each);
      select(each, check_each(s), exact, again);
      f_.blocks[each].preds = {second};
    }
    b_.at(exact);
    copy_members(s, false);
    note_lost(s);
    b_.br(again);
    std::vector<Value> results;
    for (const Value v : s.results) results.push_back(copied(v));
    f_.blocks[exact].preds = {third ? each : second};
    if (third) {
      b_.at(again);
      results = phis(s, native, results);
      b_.br(join);
      f_.blocks[again].preds = {each, exact};
    }
    b_.at(join);
    results = phis(s, native, results);
    f_.blocks[join].preds = {second, third ? again : exact};
    f_.blocks[behind].preds = {before, join};
    b_.br(behind);
    end_with_phis(s, behind, native, results);
    return behind;
  }

  /// How many fma take what exponentials, which soon are small, make alone.
  std::ptrdiff_t count_weighted(const Stretch& s) const {
    return std::ranges::count_if(s.fma, [&](Value v) {
      return is_exponential(f_.arg(v, 0)) || is_exponential(f_.arg(v, 1));
    });
  }
  bool is_exponential(Value v, unsigned steps = FmaChecks::kSteps) const {
    const Inst& inst = f_.insts[v];
    return inst.op == Op::fex2 ||
           (inst.op == Op::fmul && steps &&
            (is_exponential(f_.arg(v, 0), steps - 1) || is_exponential(f_.arg(v, 1), steps - 1)));
  }

  std::vector<Value> phis(const Stretch& s, const std::vector<Value>& first,
                          const std::vector<Value>& second) {
    std::vector<Value> made;
    for (std::size_t i = 0; i < s.results.size(); ++i)
      made.push_back(b_.inst(Op::phi, f_.insts[s.results[i]].type, {first[i], second[i]}));
    return made;
  }

  /// Either natively or exactly: results do not have to stand beside what they are made of.
  BlockId choose(const Stretch& s) {
    const BlockId before = end_, second = b_.new_block(), both = b_.new_block(),
                  exact = b_.new_block(), own = b_.new_block(), behind = b_.new_block();
    cutter_.move_end(before, behind, {second, both, exact, own});
    b_.at(before);
    const Value no = b_.i1(false);
    select(before, check(s), second, both);
    b_.at(second);
    for (const Value v : s.members)
      if (is_word(v)) copy_of_[v] = copy(v, false);
    const Value fails = check_but_for_zeros(s);
    b_.br(both);
    f_.blocks[second].preds = {before};
    f_.blocks[both].preds = {before, second};
    b_.at(both);
    const Value failed = b_.inst(Op::phi, Type::i1, {no, fails});
    b_.cond_br(failed, exact, own);
    f_.blocks[both].merge = Merge::selection;
    f_.blocks[both].merge_block = behind;
    f_.blocks[exact].preds = f_.blocks[own].preds = {both};
    b_.at(exact);
    copy_members(s, false);
    note_lost(s);
    std::vector<Value> repeated, native;
    for (const Value v : s.results) repeated.push_back(copied(v));
    b_.br(behind);
    b_.at(own);
    for (const Value v : s.members) copy_of_[v] = 0;
    copy_members(s, true);
    for (const Value v : s.results) native.push_back(copied(v));
    b_.br(behind);
    f_.blocks[behind].preds = {exact, own};
    end_with_phis(s, behind, repeated, native);
    return behind;
  }

  void end_with_phis(const Stretch& s, BlockId behind, const std::vector<Value>& first,
                     const std::vector<Value>& second) {
    b_.at(behind);
    for (std::size_t i = 0; i < s.results.size(); ++i) {
      const Value v = s.results[i];
      const Value made = b_.inst(Op::phi, f_.insts[v].type, {first[i], second[i]});
      f_.insts[v] = f_.insts[made];
      f_.blocks[behind].insts.back() = v;
    }
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

  /// Of what was made exactly, whether it still is what was kept.
  void note_lost(const Stretch& s) {
    if (lost_ == kNoVariable || s.kept.empty()) return;
    Value any = b_.get(lost_);
    for (const Value v : s.kept)
      any = b_.op2(Op::or_, any, checked::is_tiny(b_, copied(v), FmaChecks::kSum));
    b_.set(lost_, any);
  }

  void select(BlockId from, Value condition, BlockId then, BlockId join) {
    b_.cond_br(condition, then, join);
    f_.blocks[from].merge = Merge::selection;
    f_.blocks[from].merge_block = join;
  }

  Value check(const Stretch& s) {
    Value any = 0;
    for (const Check& each : s.checks)
      if (!each.stored) any = either(any, checked::is_less(b_, copied(each.value), each.grid));
    if (!std::ranges::all_of(s.checks, std::logical_not(), &Check::stored))
      any = either(any, words_->failed(b_));
    return or_lost(s, any);
  }
  Value check_but_for_zeros(const Stretch& s) {
    Value any = 0;
    for (const Check& each : s.checks)
      any = either(any, checked::is_tiny(b_, copied(each.value), each.grid));
    return or_lost(s, any);
  }
  /// Whether an fma's own operands fail, and its native result, or what is kept would not be so.
  Value check_each(const Stretch& s) {
    Value any = 0;
    for (const Value v : s.fma) {
      const Value a = copied(f_.arg(v, 0)), b = copied(f_.arg(v, 1)), c = copied(f_.arg(v, 2));
      const Value tiny = b_.op2(Op::or_, checked::is_tiny(b_, a, FmaChecks::kFactor),
                                checked::is_tiny(b_, b, FmaChecks::kFactor));
      const Value small =
          b_.op2(Op::and_, checked::is_below(b_, a, kSmall), checked::is_below(b_, b, kSmall));
      const Value less = checked::is_below(b_, copied(v), FloatRanges::kLeastAddend);
      const Value lost = b_.op2(Op::or_, b_.inst(Op::not_, Type::i1, {small}), less);
      any = either(any, b_.op2(Op::and_, tiny, lost));
      any = either(any, checked::is_tiny(b_, c, FmaChecks::kSum));
    }
    for (const Value v : s.kept)
      any = either(any, checked::is_tiny(b_, copied(v), FmaChecks::kSum));
    return any;
  }
  Value or_lost(const Stretch& s, Value any) {
    if (s.relies) any = either(any, b_.get(lost_));
    return any ? any : b_.i1(false);
  }
  Value either(Value any, Value one) { return any ? b_.op2(Op::or_, any, one) : one; }

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

  static constexpr std::uint32_t kNoVariable = ~0u;

  Function& f_;
  Module& module_;
  Builder b_;
  BlockCutter cutter_;
  FmaChecks checks_;  ///< of the stretch in work
  const std::uint32_t most_shared_bytes_;
  std::optional<SharedWords> words_;  ///< that are checked where they are stored
  std::vector<bool> in_continue_;     ///< by block
  bool keeps_ = false;                ///< what a stretch made, for others
  std::vector<Value> phis_;           ///< supposed to be kept, as what comes to them is
  std::vector<Stretch> stretches_;
  std::uint32_t lost_ = kNoVariable;  ///< variable: what was kept is not so; if any relies on it
  std::vector<std::uint32_t> uses_;   ///< by value; once its stretch is made, by others
  std::vector<Role> role_;            ///< by value, in the stretch in work
  std::vector<bool> leads_;           ///< by value: to an fma of the stretch in work
  Stretch now_;
  bool many_weighted_ = false;  ///< fma in the block in work take exponentials
  bool words_move_ = false;     ///< loads of shared memory move into the stretch
  bool ordered_waits_ = false;  ///< something with an order of its own waits for results
  std::vector<Value> copy_of_;  ///< by value: a member's native operation, then its exact one
  BlockId end_ = 0;             ///< the block in work
};

}  // namespace

bool checked_fma(Function& function, Module& module, const FloatOptions& options) {
  const Exactness& device = options.profile.exactness;
  if (options.fp != FpPolicy::exact || !device.denormals32 || !device.fused_fma32 ||
      device.fma_denormals32)
    return false;
  return CheckedFma(function, module, options.profile.max_shared_bytes).run();
}

}  // namespace ptx2spv::passes
