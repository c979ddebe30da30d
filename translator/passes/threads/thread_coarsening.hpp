// Several threads of a block side by side in one invocation: private to thread_coarsening.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "translator/ir/ir.hpp"
#include "translator/passes/analysis/uniformity.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv::passes::coarse {

inline constexpr std::uint32_t kNone = 0xffffffffu;

/// A branch by which threads leave for good while the others meet barriers.
struct Guard {
  ir::BlockId head = 0, merge = 0;
  ir::BlockId inside = 0;     ///< where the threads that stay go on
  bool inside_if = true;      ///< they are those for whom the condition holds
  bool risky = false;         ///< what they share may not be run where no thread of the block stays
  std::uint32_t arm = kNone;  ///< the piece of those who leave; none when they go to the merge
};

/// A run of blocks in which threads go different ways. Each thread goes through it by itself.
struct Piece {
  std::vector<ir::BlockId> blocks;
  ir::BlockId head = ir::kNoBlock;  ///< the block whose branch leads in; none: only its first block
  ir::BlockId exit = ir::kNoBlock;
};

/// What of a kernel is the same for all threads of a block and what each one does by itself.
class Plan {
 public:
  Plan(const ir::Function& function, ir::Module& module);
  /// Empty, or why the kernel cannot run so.
  const std::string& refusal() const { return refusal_; }

  ir::Function f;                  ///< the kernel, structured and in SSA form
  std::vector<ir::BlockId> order;  ///< its blocks that threads reach, dominators first
  std::vector<Guard> guards;
  std::vector<Piece> pieces;
  std::vector<std::uint32_t> piece_of;  ///< by block
  std::vector<std::uint32_t> guard_of;  ///< by block: the innermost guard that it stands in
  std::vector<bool> own;                ///< by value: each thread has its own

 private:
  void check_operations();
  void structure(ir::Module& module);
  void find_guards();
  bool add_guard(ir::BlockId head);
  std::vector<ir::BlockId> arm(ir::BlockId from, ir::BlockId merge) const;
  bool quiet_from(ir::BlockId block) const;
  bool has_barrier(ir::BlockId block) const;
  void find_pieces(const Uniformity& uniformity);
  void close(Piece& piece, const Uniformity& uniformity);
  void find_own(const Uniformity& uniformity);
  void find_risks();
  void refuse(const char* why) {
    if (refusal_.empty()) refusal_ = why;
  }

  EarlyExits early_;
  std::vector<bool> reached_;
  std::vector<std::uint32_t> place_;
  std::vector<std::vector<ir::BlockId>> inside_, exit_arms_;  ///< by guard: the blocks of its arms
  std::string refusal_;
};

bool is_barrier(const ir::Inst& inst);
/// Reads of what the launch brought, wherever no thread can fault.
bool is_launch_word(const ir::Inst& inst);

/// Only threads up to a number have something to do, as in a tree of sums: the loop over an
/// invocation's threads may end at the first that has not.
struct Bound {
  ir::Op op{};  ///< between a thread's number and `other`, holds for those threads
  ir::Value other = 0;
};

/// Writes the planned kernel for so many threads an invocation.
class Coarsener {
 public:
  Coarsener(const Plan& plan, const ir::Function& original, const BlockOptions& options);
  /// Variables that each thread has of its own.
  std::size_t kept() const;
  ir::Function run();

 private:
  void number_parts();
  void find_kept();
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
  ir::Value mask(std::uint32_t guard);
  void split(ir::BlockId b, ir::BlockId next);
  std::optional<Bound> bound(ir::BlockId b, const std::vector<ir::Value>& part) const;
  void stay(const Guard& guard, std::uint32_t number, ir::BlockId next);
  ir::Value anyone(std::uint32_t guard);
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
  ir::Value thread() { return b_.op2(ir::Op::add, index(), times_before(invocations_)); }
  /// Of n_ variables from `base` on, the one of the current thread. In a loop over the threads that
  /// is the first: at the end of an iteration they move up.
  std::uint32_t slot(std::uint32_t base) {
    if (!looped_) return base + k_;
    if (std::find(touched_.begin(), touched_.end(), base) == touched_.end())
      touched_.push_back(base);
    return base;
  }
  std::uint32_t slots(ir::Type type, const char* name) {
    const auto base = static_cast<std::uint32_t>(out_.vars.size());
    out_.vars.resize(out_.vars.size() + n_, {type, name, false});
    return base;
  }
  bool is_phi(ir::Value v) const { return p_.f.insts[v].op == ir::Op::phi; }
  bool partial() const { return !known_ || n_ * invocations_ != threads_; }
  ir::Value operand(ir::BlockId from, ir::BlockId to, ir::Value phi) const {
    const auto& preds = p_.f.blocks[to].preds;
    const auto which = std::find(preds.begin(), preds.end(), from) - preds.begin();
    return p_.f.arg(phi, static_cast<unsigned>(which));
  }

  const Plan& p_;
  ir::Function out_;
  ir::Builder b_;
  const BlockOptions& options_;
  const std::uint32_t invocations_, n_;
  const bool known_;
  const std::uint32_t threads_;

  // Of the plan's values and blocks
  std::vector<std::uint32_t> part_of_;    ///< by value that threads have of their own
  std::vector<std::uint32_t> last_part_;  ///< by block: what its branch and its phis belong to
  std::vector<bool> repeated_;            ///< by value: worked out anew where it is needed
  std::vector<std::uint32_t> kept_;       ///< by value: the variables that keep it between parts
  std::vector<std::uint32_t> phi_vars_;   ///< by phi
  std::vector<std::uint32_t> masks_;      ///< by guard: variables, whether a thread has stayed
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

  std::uint32_t local_bytes_ = 0, word_ = 0;
  bool used_[3] = {};
  bool flat_ = false, rows_ = false;
  ir::Value factor_[2] = {}, size_[2] = {}, first_[2] = {}, count_ = 0;
};

}  // namespace ptx2spv::passes::coarse
