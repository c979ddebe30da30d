// Straight lines of float arithmetic on devices that flush denormals. Operations of a block that
// depend on each other, a segment, are the device's own. One check of what they take says whether
// all of them come out as they should. Where a thread's check fails, a loop does them again: each
// iteration is one operation, exactly, by a table of which operation takes what.
//
//     native operations, checks --> L: another step? --> the step, exactly --+
//                                   |  ^                                     |
//                                   |  +-------------------------------------+
//                                   +--> what needs the results
//
// CPU drivers execute one masked iteration of a loop that no thread enters. So a segment costs one
// exact operation of each kind, however long it is. Results and operands of the loop are in the
// thread's own memory.
#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "translator/passes/cfg/block_ends.hpp"
#include "translator/passes/legalise/float_checks.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv::passes {

using namespace ir;

namespace checked {

namespace {

/// Steps of a loop, and words of tables and constants for all of a kernel's loops, of which a step
/// has up to five.
constexpr std::size_t kMostSteps = 256, kMostWords = 8192, kStepWords = 5;
/// Kinds of operations in a loop: two bits of a row say which.
constexpr std::size_t kMostKinds = 4;
/// Instructions of a loop's iteration beside the operations, and of a choice between two kinds.
constexpr unsigned kIteration = 30, kChoice = 4;
/// Instructions of an fma whose operands are checked, where the device has none that is fused.
constexpr unsigned kBoundedFma = 44;
/// And of a sum with a constant that is no denormal's neighbour.
constexpr unsigned kConstantSum = 4;

constexpr std::uint32_t kSign = 0x80000000u, kOne = 0x3f800000u;
constexpr MemAttr kWord{.space = Space::local, .bytes = 4};

/// A row of the table: the places of the first two operands in the halves of a word, whose upper
/// bits say which kind; the third one's in the next word, where a kind has three.
constexpr std::uint32_t kPlaceBits = 16, kPlaceMask = 0x7fff;
constexpr std::uint32_t kKindMask = 0x80008000u;
constexpr std::uint32_t kind_bits(std::size_t kind) {
  return (kind & 1 ? 0x80000000u : 0) | (kind & 2 ? 0x8000u : 0);
}

struct Segment {
  BlockId block = 0;
  std::size_t first = 0, end = 0;  ///< places of its instructions in the block
  std::vector<Value> members;      ///< its operations
  std::vector<Value> results;      ///< those of them that something else needs
  std::vector<Value> behind;       ///< what has to wait for results
  std::vector<Value> inputs;       ///< operands that are neither members nor constants
  std::vector<Value> checked[2];   ///< plain, narrow
  std::vector<Op> kinds;
};

enum class Role : std::uint8_t { none, member, behind };

class CheckedSegments {
 public:
  CheckedSegments(Function& function, const Profile& profile)
      : f_(function),
        p_(profile),
        b_(function),
        cutter_(function, b_),
        checks_(function, profile) {}

  bool run() {
    role_.assign(f_.insts.size(), Role::none);
    count_uses();
    std::vector<bool> in_continue(f_.blocks.size(), false);
    for (const Block& block : f_.blocks)
      if (block.merge == Merge::loop) in_continue[block.continue_block] = true;
    for (const BlockId b : f_.order)
      if (!in_continue[b]) plan(b);
    if (segments_.empty()) return false;
    copy_of_.assign(f_.insts.size(), 0);
    base_ = (f_.local_bytes + 15) & ~15u;
    for (const Segment& s : segments_)
      words_ = std::max(words_, static_cast<std::uint32_t>(s.members.size() + s.inputs.size()));
    for (std::size_t at = 0; at < segments_.size();) {
      std::size_t end = at;
      while (end < segments_.size() && segments_[end].block == segments_[at].block) ++end;
      rebuild({segments_.data() + at, end - at});
      at = end;
    }
    cutter_.finish();
    fill_memory();
    f_.local_bytes = base_ + 4 * words_;
    return true;
  }

 private:
  // ---- Which segments ----

  void count_uses() {
    uses_.assign(f_.insts.size(), 0);
    for (const BlockId b : f_.order)
      for (const Value v : f_.blocks[b].insts)
        for (const Value a : f_.args(v)) ++uses_[a];
  }

  bool is_constant(Value v, std::uint32_t bits) const {
    return f_.insts[v].op == Op::constant && f_.insts[v].imm == bits;
  }
  bool is_member(Value v) const { return role_[v] == Role::member; }

  /// A change of a member's sign is a step as well.
  bool changes_sign(Value v) const {
    const Inst& inst = f_.insts[v];
    if (inst.type != Type::i32 || (inst.op != Op::xor_ && inst.op != Op::and_)) return false;
    const std::uint32_t bits = inst.op == Op::xor_ ? kSign : kSign - 1;
    return (is_member(f_.arg(v, 0)) && is_constant(f_.arg(v, 1), bits)) ||
           (is_member(f_.arg(v, 1)) && is_constant(f_.arg(v, 0), bits));
  }

  bool may_join(Value v) const {
    const Inst& inst = f_.insts[v];
    const bool arithmetic = inst.type == Type::i32 && checks_.takes_part(inst) &&
                            !is_comparison(inst.op) && !inst.fp.checked;
    if (!arithmetic && !changes_sign(v)) return false;
    if (now_.members.size() >= kMostSteps) return false;
    return std::ranges::find(now_.kinds, inst.op) != now_.kinds.end() ||
           now_.kinds.size() < kMostKinds;
  }

  /// Whether the operation follows from checked values; others need no check to be the device's.
  bool rests_on_checks(Value v) const {
    return std::ranges::any_of(f_.args(v),
                               [&](Value a) { return is_member(a) || checks_.is_checked(a); });
  }

  void plan(BlockId b) {
    const std::vector<Value>& insts = f_.blocks[b].insts;
    start(b, 0);
    for (std::size_t i = 0; i < insts.size(); ++i) {
      const Value v = insts[i];
      if (must_wait(v) && may_join(v)) {
        close(i);
        start(b, i);
      }
      place(v);
    }
    close(insts.size());
  }

  void start(BlockId b, std::size_t first) {
    now_ = {};
    now_.block = b;
    now_.first = first;
    ordered_waits_ = false;
  }

  bool must_wait(Value v) const {
    if (f_.insts[v].op == Op::phi) return false;
    return std::ranges::any_of(f_.args(v), [&](Value a) { return role_[a] == Role::behind; });
  }

  void place(Value v) {
    const Inst& inst = f_.insts[v];
    const bool ordered = !(info(inst.op).flags & flag::P);
    if (must_wait(v) || (ordered && ordered_waits_)) return wait(v, ordered);
    const bool takes_part = checks_.takes_part(inst) && !is_comparison(inst.op);
    if (may_join(v) && checks_.follow(v) && rests_on_checks(v)) {
      role_[v] = Role::member;
      now_.members.push_back(v);
      if (std::ranges::find(now_.kinds, inst.op) == now_.kinds.end()) now_.kinds.push_back(inst.op);
      return;
    }
    if (inst.op != Op::phi &&
        std::ranges::any_of(f_.args(v), [&](Value a) { return is_member(a); }))
      return wait(v, ordered);
    if (!takes_part && !is_comparison(inst.op)) checks_.follow(v);
  }

  void wait(Value v, bool ordered) {
    role_[v] = Role::behind;
    now_.behind.push_back(v);
    ordered_waits_ = ordered_waits_ || ordered;
  }

  /// The segment ends before the instruction at `end`, and stands twice if that pays.
  void close(std::size_t end) {
    now_.end = end;
    for (const Value v : checks_.checks()) now_.checked[checks_.is_narrow(v)].push_back(v);
    for (const Value v : now_.members)
      for (const Value a : f_.args(v)) {
        if (is_member(a))
          --uses_[a];
        else if (f_.insts[a].op != Op::constant)
          now_.inputs.push_back(a);
      }
    std::ranges::sort(now_.inputs);
    now_.inputs.erase(std::unique(now_.inputs.begin(), now_.inputs.end()), now_.inputs.end());
    for (const Value v : now_.members)
      if (uses_[v] != 0) now_.results.push_back(v);
    const std::vector<Value> members = now_.members, behind = now_.behind;
    if (pays()) segments_.push_back(std::move(now_));
    for (const Value v : members) role_[v] = Role::none;
    for (const Value v : behind) role_[v] = Role::none;
    checks_.forget();
  }

  bool pays() {
    if (now_.members.empty()) return false;
    unsigned exact = 0, spent = 0;
    for (const Value v : now_.members) {
      const Op op = f_.insts[v].op;
      exact += cost_of(op, checks_.large_constant(v).has_value());
      spent += op == Op::ffma && !p_.exactness.fused_fma32 ? kBoundedFma : 1;
    }
    spent += kCheck * static_cast<unsigned>(now_.checked[0].size() + now_.checked[1].size());
    spent += static_cast<unsigned>(now_.inputs.size() + 2 * now_.results.size());
    generalise(now_.kinds);
    if (!p_.costs.skipped_branches) {
      spent += kIteration;
      for (const Op op : now_.kinds) spent += kChoice + cost_of(op, false);
    }
    const std::size_t steps = steps_ + now_.members.size();
    if (4 * exact <= 5 * spent || kStepWords * steps > kMostWords) return false;
    steps_ = steps;
    return true;
  }

  /// Instructions of an exact operation.
  static unsigned cost_of(Op op, bool with_constant) {
    if (op == Op::xor_ || op == Op::and_) return 1;
    if (with_constant) return kConstantSum;
    return op == Op::ffma ? saved_by(op) + kBoundedFma : saved_by(op) + 1;
  }

  /// Sums and products are fma where there are such: of one and of minus zero.
  static void generalise(std::vector<Op>& kinds) {
    if (std::ranges::find(kinds, Op::ffma) == kinds.end()) return;
    std::erase(kinds, Op::fadd);
    std::erase(kinds, Op::fmul);
  }

  // ---- What becomes of them ----

  void rebuild(std::span<const Segment> segments) {
    const BlockId b = segments[0].block;
    const std::vector<Value> insts = std::exchange(f_.blocks[b].insts, {});
    end_ = b;
    cutter_.start(b);
    std::size_t next = 0;
    const auto append = [&](std::size_t end) {
      for (; next < end; ++next) f_.blocks[end_].insts.push_back(insts[next]);
    };
    for (const Segment& s : segments) {
      append(s.first);
      emit(s, {insts.data() + s.first, s.end - s.first});
      next = s.end;
    }
    append(insts.size());
  }

  Value copied(Value v) const { return copy_of_[v] ? copy_of_[v] : v; }
  Value address(std::uint32_t place) { return b_.i32(base_ + 4 * place); }

  void emit(const Segment& s, std::span<const Value> insts) {
    for (const Value v : s.members) role_[v] = Role::member;
    for (const Value v : s.behind) role_[v] = Role::behind;
    b_.at(end_);
    for (const Value v : insts) {
      if (role_[v] == Role::none) f_.blocks[end_].insts.push_back(v);
      if (is_member(v)) copy_of_[v] = native(v);
    }
    b_.set_loc(f_.insts[s.members[0]].loc);
    Value fails = 0;
    for (const bool narrow : {false, true})
      for (const Value v : s.checked[narrow]) {
        const Value one = failure(b_, copied(v), narrow ? kNarrow : kPlain);
        fails = fails ? b_.op2(Op::or_, fails, one) : one;
      }
    std::map<Value, std::uint32_t> places;
    std::uint32_t next = 0;
    for (const Value v : s.members) places.emplace(v, next++);
    for (const Value v : s.inputs) places.emplace(v, next++);
    for (const Value v : s.inputs) b_.store(address(places.at(v)), v, kWord);
    for (const Value v : s.results) b_.store(address(places.at(v)), copied(v), kWord);
    repeat(s, fails, table(s, places));
    for (const Value v : s.results) {
      const Value from = address(places.at(v));
      Inst& inst = f_.insts[v];
      inst.op = Op::load;
      inst.imm = 0;
      inst.fp = {};
      inst.mem = kWord;
      inst.count = 1;
      f_.operands[inst.first] = from;
      f_.blocks[end_].insts.push_back(v);
    }
    for (const Value v : s.behind) f_.blocks[end_].insts.push_back(v);
    for (const Value v : s.members) role_[v] = Role::none;
    for (const Value v : s.behind) role_[v] = Role::none;
  }

  Value native(Value v) {
    const Inst inst = f_.insts[v];
    b_.set_loc(inst.loc);
    std::vector<Value> args(f_.args(v).begin(), f_.args(v).end());
    for (Value& a : args) a = copied(a);
    const Value made = b_.inst(inst.op, inst.type, args, inst.imm);
    b_.last(made).fp = inst.fp;
    b_.last(made).fp.checked = checks_.takes_part(inst);
    return made;
  }

  std::uint32_t index_of_constant(std::uint32_t word) {
    const auto [at, fresh] = constants_.emplace(word, words_);
    if (fresh) ++words_;
    return at->second;
  }

  static bool has_third(const Segment& s) {
    return std::ranges::find(s.kinds, Op::ffma) != s.kinds.end();
  }

  /// The place of the segment's table; those that are alike share one.
  std::uint32_t table(const Segment& s, const std::map<Value, std::uint32_t>& places) {
    const bool third = has_third(s);
    const auto place = [&](Value v) {
      return f_.insts[v].op == Op::constant
                 ? index_of_constant(static_cast<std::uint32_t>(f_.insts[v].imm))
                 : places.at(v);
    };
    std::vector<std::uint32_t> words;
    for (const Value v : s.members) {
      Op op = f_.insts[v].op;
      std::vector<std::uint32_t> operands;
      for (const Value a : f_.args(v)) operands.push_back(place(a));
      if (third && op == Op::fadd) operands.insert(operands.begin() + 1, index_of_constant(kOne));
      if (third && op == Op::fmul) operands.push_back(index_of_constant(kSign));
      if (third && (op == Op::fadd || op == Op::fmul)) op = Op::ffma;
      operands.resize(3, 0);
      const auto kind = std::ranges::find(s.kinds, op) - s.kinds.begin();
      words.push_back(operands[0] | operands[1] << kPlaceBits |
                      kind_bits(static_cast<std::size_t>(kind)));
      if (third) words.push_back(operands[2]);
    }
    const auto [at, fresh] = tables_.emplace(words, words_);
    if (fresh) words_ += static_cast<std::uint32_t>(words.size());
    return at->second;
  }

  Value word_at(Value place, std::uint32_t more) {
    const Value at = b_.op2(Op::add, place, b_.i32(base_ / 4 + more));
    return b_.op2(Op::shl, at, b_.i32(2));
  }
  Value load(Value place, std::uint32_t more = 0) {
    return b_.load(Type::i32, word_at(place, more), kWord);
  }

  /// The loop of the threads whose checks failed, behind what stands in end_.
  void repeat(const Segment& s, Value fails, std::uint32_t table) {
    const BlockId before = end_, header = b_.new_block(), body = b_.new_block(),
                  latch = b_.new_block(), behind = b_.new_block();
    cutter_.move_end(before, behind, {header, body, latch});
    const Value count = b_.i32(static_cast<std::uint32_t>(s.members.size()));
    const Value failed = b_.cmp(Op::slt, fails, b_.i32(0));
    const Value first = b_.select(failed, b_.i32(0), count);
    b_.br(header);

    b_.at(header);
    const Value step = b_.inst(Op::phi, Type::i32, {first, first});
    b_.cond_br(b_.cmp(Op::slt, step, count), body, behind);
    Block& head = f_.blocks[header];
    head.merge = Merge::loop;
    head.merge_block = behind;
    head.continue_block = latch;
    head.preds = {before, latch};

    b_.at(body);
    b_.store(word_at(step, 0), one_step(s, step, table), kWord);
    b_.br(latch);
    f_.blocks[body].preds = {header};
    b_.at(latch);
    f_.args(step)[1] = b_.op2(Op::add, step, b_.i32(1));
    b_.br(header);
    f_.blocks[latch].preds = {body};
    f_.blocks[behind].preds = {header};
    end_ = behind;
    b_.at(end_);
  }

  Value one_step(const Segment& s, Value step, std::uint32_t table) {
    const bool third = has_third(s);
    const Value row = third ? b_.op2(Op::shl, step, b_.i32(1)) : step;
    const Value word = load(row, table), mask = b_.i32(kPlaceMask);
    const Value upper = b_.op2(Op::lshr, word, b_.i32(kPlaceBits));
    std::vector<Value> operands{load(b_.op2(Op::and_, word, mask)),
                                load(b_.op2(Op::and_, upper, mask))};
    if (third) operands.push_back(load(load(row, table + 1)));
    const Value bits = s.kinds.size() > 1 ? b_.op2(Op::and_, word, b_.i32(kKindMask)) : 0;
    Value result = 0;
    for (std::size_t kind = 0; kind < s.kinds.size(); ++kind) {
      const Value own = exactly(s.kinds[kind], operands);
      if (kind == 0) {
        result = own;
        continue;
      }
      const Value wanted = b_.cmp(Op::eq, bits, b_.i32(kind_bits(kind)));
      result = b_.select(wanted, own, result);
    }
    return result;
  }

  Value exactly(Op op, std::span<const Value> operands) {
    if (op == Op::xor_ || op == Op::and_) return b_.op2(op, operands[0], operands[1]);
    const std::size_t count = op == Op::ffma ? 3 : op == Op::frcp || op == Op::fsqrt ? 1 : 2;
    const Value made = b_.inst(op, Type::i32, operands.first(count));
    b_.last(made).fp = {.kind = NumKind::f32, .round = Round::rn};
    return made;
  }

  /// Constants and tables come into memory where the kernel starts.
  void fill_memory() {
    const std::vector<Value> rest = std::exchange(f_.blocks[0].insts, {});
    b_.at(0);
    for (const auto& [word, place] : constants_) b_.store(address(place), b_.i32(word), kWord);
    for (const auto& [words, place] : tables_)
      for (std::uint32_t i = 0; i < words.size(); ++i)
        b_.store(address(place + i), b_.i32(words[i]), kWord);
    f_.blocks[0].insts.insert(f_.blocks[0].insts.end(), rest.begin(), rest.end());
  }

  Function& f_;
  const Profile& p_;
  Builder b_;
  BlockCutter cutter_;
  FloatChecks checks_;
  std::vector<Segment> segments_;
  std::vector<std::uint32_t> uses_;  ///< by value; once its segment is made, by others
  std::vector<Role> role_;           ///< by value, in the segment in work
  Segment now_;
  bool ordered_waits_ = false;  ///< something with an order of its own waits for results
  std::size_t steps_ = 0;       ///< of all segments
  std::vector<Value> copy_of_;  ///< by value: a member's native operation
  BlockId end_ = 0;             ///< the block in work
  // Places, in words from base_ on
  std::uint32_t base_ = 0, words_ = 0;
  std::map<std::uint32_t, std::uint32_t> constants_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> tables_;
};

}  // namespace

}  // namespace checked

bool checked_segments(Function& function, const FloatOptions& options) {
  const Exactness& device = options.profile.exactness;
  if (options.fp != FpPolicy::exact || !device.flushes_denormals32 || device.denormals32)
    return false;
  return checked::CheckedSegments(function, options.profile).run();
}

}  // namespace ptx2spv::passes
