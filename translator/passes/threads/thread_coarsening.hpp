// Several threads of a block side by side in one invocation: private to thread_coarsening.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "translator/ir/ir.hpp"
#include "translator/passes/analysis/uniformity.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/sanitize/invocation_faults.hpp"

namespace ptx2spv::passes::coarse {

inline constexpr std::uint32_t kNone = 0xffffffffu;

inline constexpr std::uint32_t kWarp = 32;

/// A branch by which threads leave while the others meet at barriers or warp operations: for good
/// where there are barriers.
struct Guard {
  ir::BlockId head = 0, merge = 0;
  ir::BlockId inside = 0;     ///< where the threads that stay go on
  bool inside_if = true;      ///< they are those for whom the condition holds
  bool risky = false;         ///< what they share may not be run where no thread stays
  bool barriers = false;      ///< they meet at barriers
  std::uint32_t arm = kNone;  ///< the piece of those who leave; none when they go to the merge
};

/// A run of blocks in which threads go different ways. Each thread goes through it by itself.
struct Piece {
  std::vector<ir::BlockId> blocks;
  ir::BlockId head = ir::kNoBlock;  ///< the block whose branch leads in; none: only its first block
  ir::BlockId exit = ir::kNoBlock;
};

/// What of a kernel is the same for all threads of an invocation and what each one does by itself.
/// Without warp operations an invocation runs any threads of a block, with them a warp.
class Plan {
 public:
  Plan(const ir::Function& function, ir::Module& module, const BlockOptions& options);
  /// Empty, or why the kernel cannot run so.
  const std::string& refusal() const { return refusal_; }

  ir::Function f;                  ///< the kernel, structured and in SSA form
  std::vector<ir::BlockId> order;  ///< its blocks that threads reach, dominators first
  std::vector<Guard> guards;
  std::vector<Piece> pieces;
  std::vector<bool> in_loop;            ///< by block
  std::vector<std::uint32_t> piece_of;  ///< by block
  std::vector<std::uint32_t> guard_of;  ///< by block: the innermost guard that it stands in
  std::vector<bool> own;                ///< by value: each thread has its own
  bool warps = false;                   ///< an invocation runs a warp

 private:
  void check_operations();
  void structure(ir::Module& module);
  void find_guards();
  bool add_guard(ir::BlockId head);
  bool quiet_from(ir::BlockId block) const;
  bool has_barrier(ir::BlockId block) const;
  bool has_warp_operation(ir::BlockId block) const;
  void find_pieces(const Uniformity& uniformity);
  void close(Piece& piece, const Uniformity& uniformity);
  void find_own(const Uniformity& uniformity);
  void find_risks();
  void refuse(const char* why) {
    if (refusal_.empty()) refusal_ = why;
  }

  const Scope scope_;  ///< of what threads have in common
  EarlyExits early_;
  std::vector<bool> reached_;
  std::vector<std::uint32_t> place_;
  std::vector<std::vector<ir::BlockId>> inside_, exit_arms_;  ///< by guard: the blocks of its arms
  std::string refusal_;
};

/// Reads of what the launch brought, wherever no thread can fault.
bool is_launch_word(const ir::Inst& inst);

/// Only threads up to a number have something to do, as in a tree of sums: the loop over an
/// invocation's threads may end at the first that has not.
struct Bound {
  ir::Op op{};  ///< between a thread's number and `other`, holds for those threads
  ir::Value other = 0;
};

/// Up to this many of a thread's own instructions between two meeting points of all threads are
/// copied for each thread; more of them stand in a loop over the threads. Copies fill the
/// processor's instruction cache, loops take iterations.
inline constexpr std::size_t kMostCopied = 48;
/// Of a warp, whose threads exchange values between copies without memory; and in the whole kernel,
/// because a driver keeps each copy's values on its stack, so that the time to compile it grows
/// faster than their number. A kernel that would have more is cut at its operations.
inline constexpr std::size_t kMostCopiedOfWarp = 768, kMostCopiesOfWarp = 2560;
/// Checks of the sanitizer alone shall not bring a kernel there. One that has them is made anew
/// with fewer copies.
inline constexpr std::size_t kMostCopiedOfCheckedWarp = 192;

/// Writes the planned kernel for so many threads an invocation.
class Coarsener {
 public:
  /// The variables in `arrays` (their first ones) become arrays of local memory. Of a warp up to
  /// `most_copied` instructions of all threads together are copied.
  Coarsener(const Plan& plan, const ir::Function& original, const BlockOptions& options,
            const std::vector<std::uint32_t>& arrays = {},
            std::size_t most_copied = kMostCopiedOfWarp);
  /// Variables that each thread has of its own.
  std::size_t kept() const;
  std::uint32_t invocations() const { return invocations_; }
  /// Nothing: the function would become too long.
  std::optional<ir::Function> run();
  /// After run: the first ones of the variables that loops over an invocation's threads use.
  const std::vector<std::uint32_t>& looped() const { return looped_bases_; }
  /// After run: there was more to copy than a warp's kernel may have.
  bool wants_too_many_copies() const { return wanted_ > kMostCopiesOfWarp; }

 private:
  bool too_long() const;
  void number_parts();
  void find_kept();
  void lay_out_arrays(const std::vector<std::uint32_t>& bases);
  void find_repeated();
  unsigned cost(ir::Value v) const;
  void prologue();
  void block(ir::BlockId b);
  void common_part(const std::vector<ir::Value>& insts);
  template <typename Body>
  void for_each_thread(std::size_t size, std::uint32_t guard, bool masked,
                       const std::optional<Bound>& bound, Body&& body);
  template <typename Body>
  void one_thread(std::uint32_t guard, bool masked, Body&& body);
  bool copies(std::size_t size);
  static std::size_t size_of(const ir::Inst& inst);
  std::size_t size_of(ir::BlockId block) const;
  ir::Value mask(std::uint32_t guard);
  void split(ir::BlockId b, ir::BlockId next);
  std::optional<Bound> bound(ir::BlockId b, const std::vector<ir::Value>& part) const;
  void stay(const Guard& guard, std::uint32_t number, ir::BlockId next);
  ir::Value anyone(std::uint32_t guard);
  void begin_guard(std::uint32_t guard);
  void count_threads();
  void write_faults();

  // thread_coarsening_warps.cpp: a warp's operations in the invocation that runs it
  void warp_operation(ir::Value v, std::uint32_t guard);
  ir::Value threads_there(std::uint32_t guard);
  ir::Value of_thread(ir::Value v, std::uint32_t lane);
  void shuffle(ir::Value v, ir::Value there);
  void gather(ir::Value v, ir::Value there);
  ir::Value ballot(ir::Value v);
  template <typename Next>
  ir::Value accumulate(std::size_t size, std::uint32_t first, Next&& next);
  ir::Value combine(ir::Value v, ir::Value present);
  void compare_lanes(ir::Value v, ir::Value there);
  void elect(ir::Value v, ir::Value there);
  template <typename Body>
  void each_result(ir::Value v, std::size_t size, ir::Value there, Body&& body);
  ir::Value scratch(ir::Value index, std::uint32_t half);
  void fill_scratch(ir::Value v);
  void piece(const Piece& piece, ir::BlockId next);
  void clone(ir::Value v);
  ir::Value copy(ir::Value v);
  ir::Value fetch(ir::Value v);
  ir::Value local_id(std::uint32_t axis);
  void phis(ir::BlockId from, ir::BlockId to);
  void common_phis(ir::BlockId from, ir::BlockId to);

  ir::Value push(std::uint32_t word) {
    return b_.load(ir::Type::i32, b_.i32(word * 4),
                   {.space = ir::Space::push, .bytes = 4, .readonly = true});
  }
  /// The invocation's number, and that it is below what a workgroup has.
  ir::Value index() {
    return b_.op2(ir::Op::umin, b_.builtin(ir::Builtin::local_index), b_.i32(invocations_ - 1));
  }
  /// `each` for every thread of the invocation before the one at hand.
  ir::Value times_before(std::uint32_t each) {
    return looped_ ? b_.op2(ir::Op::mul, b_.get(counter_), b_.i32(each)) : b_.i32(k_ * each);
  }
  ir::Value thread() {
    if (p_.warps) return b_.op2(ir::Op::add, b_.op2(ir::Op::mul, index(), b_.i32(kWarp)), lane());
    return b_.op2(ir::Op::add, index(), times_before(invocations_));
  }
  /// Of a warp.
  ir::Value lane() { return times_before(1); }
  /// What the current thread has in the n_ variables from `base` on.
  ir::Value read(std::uint32_t base);
  void write(std::uint32_t base, ir::Value value);
  ir::Value array_at(std::uint32_t base);
  /// Of n_ variables from `base` on, the one of the current thread. In a loop over the threads that
  /// is the first: at the end of an iteration they move up.
  std::uint32_t slot(std::uint32_t base) {
    if (!looped_) return base + k_;
    for (std::vector<std::uint32_t>* seen : {&touched_, &looped_bases_})
      if (std::find(seen->begin(), seen->end(), base) == seen->end()) seen->push_back(base);
    return base;
  }
  std::uint32_t slots(ir::Type type, const char* name) {
    const auto base = static_cast<std::uint32_t>(out_.vars.size());
    out_.vars.resize(out_.vars.size() + n_, {type, name, false});
    return base;
  }
  std::uint32_t word(const char* name) {
    out_.vars.push_back({ir::Type::i32, name, false});
    return static_cast<std::uint32_t>(out_.vars.size() - 1);
  }
  bool is_phi(ir::Value v) const { return p_.f.insts[v].op == ir::Op::phi; }
  bool partial() const { return !known_ || n_ * invocations_ != threads_; }
  ir::Value operand(ir::BlockId from, ir::BlockId to, ir::Value phi) const {
    const auto& preds = p_.f.blocks[to].preds;
    const auto which = std::find(preds.begin(), preds.end(), from) - preds.begin();
    return p_.f.arg(phi, static_cast<unsigned>(which));
  }

  static constexpr std::uint32_t kScratchWords = 2 * kWarp;

  const Plan& p_;
  ir::Function out_;
  ir::Builder b_;
  const BlockOptions& options_;
  const std::uint32_t invocations_, n_;
  const std::size_t most_copied_;
  const bool known_;
  const std::uint32_t threads_;

  // Of the plan's values and blocks
  std::vector<std::uint32_t> part_of_;    ///< by value that threads have of their own
  std::vector<std::uint32_t> last_part_;  ///< by block: what its branch and its phis belong to
  std::vector<bool> repeated_;            ///< by value: worked out anew where it is needed
  std::vector<std::uint32_t> kept_;       ///< by value: the variables that keep it between parts
  std::vector<std::uint32_t> phi_vars_;   ///< by phi
  std::vector<std::uint32_t> masks_;      ///< by guard: variables, whether a thread has stayed; of
                                          ///< a warp one, with a bit for each
  std::vector<std::uint32_t> guard_at_;   ///< by block: the guard whose head it is
  std::vector<std::uint32_t> merge_of_;   ///< by block: the guard whose merge it is
  std::vector<std::uint32_t> piece_at_;   ///< by block: the piece that its branch leads into
  std::vector<ir::BlockId> blocks_, clones_;  ///< by block: its own, and that of the piece in work

  // The thread at hand
  std::uint32_t k_ = 0, counter_ = 0;
  bool looped_ = false;
  std::vector<std::uint32_t> touched_;
  std::vector<ir::Value> values_;
  std::vector<std::uint32_t>
      instance_of_;  ///< by value: the instance of a part that it was made for
  std::uint32_t instance_ = 0;

  std::vector<std::uint32_t> array_of_;      ///< by variable: its array's place, kNone: no array
  std::vector<std::uint32_t> looped_bases_;  ///< that were touched_ in any loop
  std::size_t wanted_ = 0;
  std::uint32_t local_bytes_ = 0, word_ = 0, scratch_ = 0;
  std::optional<InvocationFaults> faults_;
  bool used_[3] = {};
  bool flat_ = false, rows_ = false;
  ir::Value factor_[2] = {}, size_[2] = {}, first_[3] = {}, count_ = 0;
};

/// `body(next)` for the thread at hand, which it leaves by a branch to `next`.
template <typename Body>
void Coarsener::one_thread(std::uint32_t guard, bool masked, Body&& body) {
  using namespace ir;
  ++instance_;
  const BlockId next = b_.new_block();
  if (const Value there = masked ? mask(guard) : 0) {
    const BlockId inside = b_.new_block();
    b_.cond_br(there, inside, next);
    b_.at(inside);
  }
  body(next);
  b_.at(next);
}

/// A part of `size` instructions for each of the invocation's threads.
template <typename Body>
void Coarsener::for_each_thread(std::size_t size, std::uint32_t guard, bool masked,
                                const std::optional<Bound>& bound, Body&& body) {
  using namespace ir;
  if (size == 0) return;
  if (n_ == 1 || (copies(size) && !bound)) {
    for (k_ = 0; k_ < n_; ++k_) one_thread(guard, masked, body);
    k_ = 0;
    return;
  }
  counter_ = static_cast<std::uint32_t>(out_.vars.size());
  out_.vars.push_back({Type::i32, "iteration", false});
  const BlockId head = b_.new_block(), out = b_.new_block();
  b_.set(counter_, b_.i32(0));
  b_.br(head);
  b_.at(head);
  looped_ = true;
  touched_.clear();
  one_thread(guard, masked, body);
  b_.set_loc(0);
  for (const std::uint32_t base : touched_) {
    const Value mine = b_.get(base);
    for (std::uint32_t k = 1; k < n_; ++k) b_.set(base + k - 1, b_.get(base + k));
    b_.set(base + n_ - 1, mine);
  }
  const Value following = b_.op2(Op::add, b_.get(counter_), b_.i32(1));
  b_.set(counter_, following);
  Value more = b_.cmp(Op::ult, following, b_.i32(n_));
  if (bound) more = b_.op2(Op::and_, more, b_.cmp(bound->op, thread(), values_[bound->other]));
  looped_ = false;
  b_.cond_br(more, head, out);
  b_.at(out);
}

}  // namespace ptx2spv::passes::coarse
