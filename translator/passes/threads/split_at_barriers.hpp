// Threads that wait for one another on devices whose invocations cannot: private to
// split_at_barriers.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "ptx2spv/translator.hpp"
#include "translator/passes/analysis/live_variables.hpp"
#include "translator/passes/ir.hpp"
#include "translator/passes/passes.hpp"

namespace ptx2spv::passes::split {

/// One synchronisation point of the kernel.
struct SyncPoint {
  Value inst = 0;
  BlockId before = 0, after = 0;    ///< the block that ends in it, and where the thread goes on
  bool warp = false;                ///< a warp operation
  bool yields = false;              ///< a yield; what is neither is a barrier
  bool stops = true;                ///< barrier.arrive does not
  std::uint32_t key = 0;            ///< warp operations: which arrival masks
  std::uint32_t kind = 0;           ///< warp operations: index into BarrierSplitter::kinds_
  std::uint64_t times = 1;          ///< an estimate of how often a thread meets it
  std::vector<std::uint32_t> live;  ///< variables that the code behind it reads
};

/// Warp operations that resolve alike.
struct WarpKind {
  Op op{};
  std::uint64_t mode = 0;
  bool wide = false;  ///< 64-bit operand
  bool operator==(const WarpKind&) const = default;
};

class BarrierSplitter {
 public:
  BarrierSplitter(Function& function, Module& module, std::uint32_t invocations,
                  std::uint32_t threads, const BlockOptions& options);
  std::string run();

 private:
  // split_at_barriers.cpp: cutting the kernel, its threads' state, the rounds
  void cut();
  void replace_builtins();
  void shift_local_memory();
  void find_live();
  void count_accesses();
  bool live_within(LiveVariables& live, std::size_t each, std::size_t most, std::size_t saved,
                   std::vector<bool>& many);
  void keep_fault_log();
  void lay_out_state();
  void clear_control_words();
  void emit_entry(BlockId rounds);
  BlockId emit_start(BlockId start);
  void emit_iteration(BlockId start, BlockId next);
  void emit_stop(const SyncPoint& point, std::uint32_t number);
  void emit_end_of_stops(BlockId next);
  BlockId emit_resume(const SyncPoint& point);
  void emit_exits(BlockId next, BlockId end);
  void emit_end_of_round(BlockId rounds);
  void emit_stall_record(BlockId out);
  Value idle_too_long(Value slot, Value cleared);
  void mark_progress();
  void replace_progress();
  void set_thread();
  void set_block();
  void save(std::uint32_t var);
  void restore(std::uint32_t var);

  // split_at_barriers_sync.cpp: barriers and warp operations through shared memory
  void lay_out_shared();
  void arrive_at_barrier(const SyncPoint& point);
  void arrive_at_warp(const SyncPoint& point);
  void announce_at_warp();
  void leave_warp();
  Value waits_at_kind(std::uint32_t kind);
  void give_way(const SyncPoint& point);
  Value may_go_on();
  void emit_agent();
  void emit_resolve();
  void resolve_thread(BlockId done);
  void resolve_kind(const WarpKind& kind, Value present);
  void over_lanes(const WarpKind& kind, Value present);
  void offer_factors(const WarpProduct& form, const std::vector<Value>& operands);
  void multiply(const WarpProduct& form, Value present);
  /// The variables of a thread's result. A product of matrices begins with its sums in them.
  std::vector<std::uint32_t> results() const;
  Value barrier_word(Value index, std::uint32_t word);
  Value existing_lanes();

  // split_at_barriers_check.cpp: check_sync
  /// A fault where `bad` (i1) holds. The words are what SyncFault says of its kind.
  struct Fault {
    Value bad = 0, site = 0, low = 0, high = 0;
  };
  void add_sites();
  void note(const Fault& fault);
  Value site_of(std::uint32_t point, SyncFault kind);
  Value site_here(SyncFault kind);
  template <typename Has>
  Value stopped_at(Has&& has);
  Value at_named_members();
  Fault arrival_fault(const SyncPoint& point, std::uint32_t number);
  Fault count_fault(const SyncPoint& point, std::uint32_t number);
  void check_end();
  void check_opened();
  void check_opened_thread();
  void check_stalled();
  void check_missing_lanes();
  void check_members(Value present);
  void write_own_log();
  std::vector<std::uint32_t> fault_variables() const;
  void check_source(Value present, Value lane);

  // split_at_barriers_subgroups.cpp: warp operations by the device's own
  void resolve_at_once(const SyncPoint& point);
  void resolve_in_subgroup();
  void resolve_group(const WarpKind& kind);
  void emit_end_of_warp_round(BlockId rounds);
  Value ballot(Value truth);
  Value from_lane(std::uint32_t var, Value lane);
  Value goes_on();
  Value exchanged(bool high, Value lane);

  // Small parts
  std::array<Value, 3> coordinates();
  Value block_number(unsigned axis);
  std::uint32_t var(Type type, std::string name);
  /// Whether a thread's word is selected from those of all threads of the invocation.
  bool simple() const { return !warps_ && !general_barriers_; }
  /// Whether the block's threads wait for one another, beside those of each warp.
  bool block_meets() const { return !subgroups_ || barrier_ids_ != 0; }
  Value shared_at(std::uint32_t word, Value index);
  Value read(Value address);
  void write(Value address, Value value);
  Value atomic(AtomicOp op, Value address, Value value);
  Value push(std::uint32_t word);
  Value thread() { return b_.get(thread_); }
  /// Its number within its block, and the block's among those of the workgroup.
  Value local() { return b_.get(local_); }
  Value block() { return blocks_ > 1 ? b_.get(block_) : b_.i32(0); }
  /// A barrier's place among those of all blocks.
  Value of_block(Value barrier) {
    if (blocks_ == 1) return barrier;
    return b_.op2(Op::add, barrier, b_.op2(Op::mul, block(), b_.i32(barrier_ids_)));
  }
  Value lane() { return b_.op2(Op::and_, thread(), b_.i32(31)); }
  Value lane_bit() { return b_.op2(Op::shl, b_.i32(1), lane()); }
  Value warp() { return b_.op2(Op::lshr, thread(), b_.i32(5)); }
  /// Address of a warp's word in an array of one word a warp for each key.
  Value keyed(std::uint32_t base, Value key);
  void branch(Value cond, BlockId yes, BlockId no) { b_.cond_br(cond, yes, no); }
  /// A loop that counts its iterations in variable `counter`. `body` starts in the loop and leaves
  /// the builder in the block that continues it; afterwards the builder stands behind the loop.
  template <typename Body>
  void loop(std::uint32_t counter, std::uint32_t iterations, Body&& body) {
    const BlockId header = b_.new_block(), inside = b_.new_block(), out = b_.new_block();
    b_.set(counter, b_.i32(0));
    b_.br(header);
    b_.at(header);
    b_.cond_br(b_.cmp(Op::ult, b_.get(counter), b_.i32(iterations)), inside, out);
    b_.at(inside);
    body();
    b_.set(counter, b_.op2(Op::add, b_.get(counter), b_.i32(1)));
    b_.br(header);
    b_.at(out);
  }

  Function& f_;
  Module& module_;
  Builder b_;
  const std::uint32_t invocations_, per_invocation_, idle_rounds_;
  const std::array<std::uint32_t, 3> grid_;  ///< of the blocks that the workgroup runs
  const std::uint32_t blocks_;               ///< 1, or all of the grid
  const std::uint32_t block_threads_;        ///< of a block, rounded up to whole warps
  bool subgroups_;                           ///< that are warps resolve warp operations
  EntryInfo* const checked_;  ///< gets the sites of check_sync; null: nobody asks for that
  FaultLog log_;
  std::uint64_t apart_ = 0;  ///< of the subgroup operations that are written
  bool yields_ = false, warps_ = false, general_barriers_ = false, warp_wide_ = false,
       votes_ = false, exchanges_ = false;
  std::vector<SyncPoint> points_;
  BlockId start_ = 0;
  BlockId warp_stop_ = 0, stop_ = 0;      ///< where threads that stop at a warp operation, or at
                                          ///< any point, leave their words
  std::vector<std::uint64_t> accesses_;   ///< by variable: estimate of a thread's; empty: all stay
  std::vector<std::uint32_t> undefined_;  ///< variables that the start reads before it writes them
  std::vector<WarpKind> kinds_;
  std::map<std::uint32_t, std::uint32_t>
      barrier_index_;  ///< constant barrier numbers; empty: all sixteen
  std::uint32_t barrier_ids_ = 0, keys_ = 0, warp_count_ = 0;

  // Per-thread state, kept in variables and, where an invocation has several threads, in local
  // memory.
  std::uint32_t resume_ = 0, thread_ = 0, mask_ = 0, operand_ = 0, operand2_ = 0, key_ = 0,
                ready_ = 0;
  std::uint32_t result0_ = 0, result1_ = 0, result2_ = 0, result3_ = 0, local_ = 0, block_ = 0,
                ctaid_[3] = {0, 0, 0}, tid_[3] = {0, 0, 0};
  // Of the invocation
  std::uint32_t iteration_ = 0, slot_ = 0, force_ = 0, base_ = 0, state_base_ = 0, local_base_ = 0,
                count_ = 0, idle_ = 0;
  std::uint32_t lane_counter_ = 0, accumulator_ = 0;
  // Of a subgroup: what lanes offer, who lives, waits still, belongs to the group in work and takes
  // its result, and the results of those who do not.
  std::uint32_t value_[2] = {0, 0}, living_ = 0, left_ = 0, group_ = 0, group_key_ = 0, taken_ = 0,
                present_ = 0, waiting_[2] = {0, 0}, moved_on_ = 0;
  std::uint32_t first_site_ = 0;  ///< of check_sync, kSyncFaults for each point
  std::uint32_t fault_place_ = 0, fault_low_ = 0, fault_high_ = 0, missing_ = 0, worked_ = 0;
  std::map<std::uint32_t, std::uint32_t> state_word_;  ///< variable: its word in a thread's state
  std::uint32_t state_words_ = 0, state_offset_ = 0, thread_local_bytes_ = 0;

  // Shared memory behind the kernel's own: word numbers
  std::uint32_t alive_ = 0, progress_ = 3, done_ = 6, barriers_ = 7;  ///< done_: by block
  std::uint32_t moved_ = 0, waits_in_ = 0, gone_ = 0, arrived_ = 0, voted_ = 0, exchange_ = 0,
                exchange_high_ = 0, control_words_ = 0;
  std::uint32_t factors_ = 0, factor_words_ = 0;  ///< of products of matrices, of each thread
  std::uint32_t ended_ = 0, strayed_ = 0, where_ = 0,
                members_ = 0;  ///< check_sync: threads that ended after
                               ///< some work; by warp: their lanes; by
                               ///< thread: where it stopped last, and
                               ///< its warp operation's members
  std::uint32_t shared_offset_ = 0;
};

inline constexpr std::uint32_t kDone =
    0;  ///< resume numbers: 0 ended, 1 at the start, 2 + k at sync point k
inline constexpr std::uint32_t kStart = 1;
inline constexpr std::uint32_t kAtBarrier = 0xffffffffu;  ///< in place of a warp operation's key

/// Words of a barrier: threads that arrived, threads it waits for (0: all), phase, sum of the
/// predicates; then the sum and the number of arrivals of the phase before; with check_sync how
/// many threads those that arrived have named (0: nobody has arrived).
enum BarrierWord : std::uint32_t {
  w_arrived,
  w_expected,
  w_phase,
  w_sum,
  w_last_sum,
  w_last_count,
  w_named
};
inline constexpr std::uint32_t kBarrierWords = 6, kCheckedBarrierWords = 7;

}  // namespace ptx2spv::passes::split
