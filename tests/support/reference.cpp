#include "tests/support/reference.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "tests/support/reference_products.hpp"
#include "translator/ir/evaluate.hpp"
#include "translator/ir/names.hpp"
#include "translator/passes/subgroups.hpp"

namespace ptx2spv::ir {

namespace {

struct Thread {
  enum class State { running, waiting, done } state = State::running;
  BlockId block = 0, from = kNoBlock;
  std::size_t at = 0;
  std::vector<Bits> values, vars;
  std::vector<std::uint8_t> local;
  Value waits_at = 0;
};

class Machine {
 public:
  Machine(const Function& f, const Module& module, Memory& memory, const RunOptions& options)
      : f_(f), module_(module), memory_(memory), options_(options) {}

  Outcome run() {
    const std::uint32_t count = options_.threads[0] * options_.threads[1] * options_.threads[2];
    threads_.resize(count);
    for (Thread& t : threads_) {
      t.values.resize(f_.insts.size());
      t.vars.resize(f_.vars.size());
      for (std::size_t v = 0; v < f_.vars.size(); ++v)
        t.vars[v].w.fill(f_.vars[v].type == Type::i1 ? options_.unset & 1 : options_.unset);
      t.local.resize(f_.local_bytes, static_cast<std::uint8_t>(options_.unset));
    }
    for (;;) {
      bool any = false;
      for (std::uint32_t i = 0; i < count && out_.error.empty(); ++i) {
        current_ = i;
        if (threads_[i].state != Thread::State::running) continue;
        any = true;
        run_thread(threads_[i]);
      }
      if (!out_.error.empty() || out_.out_of_steps) return std::move(out_);
      if (!any && !release()) break;
    }
    return std::move(out_);
  }

 private:
  // Decides for all waiting threads at once, as a round of the regions model does. Nothing that can
  // go on: warp operations are resolved with the lanes that are there, and failing that the threads
  // wait for ever.
  bool release() {
    bool waiting = false;
    for (const Thread& t : threads_) waiting = waiting || t.state == Thread::State::waiting;
    if (!waiting) return false;
    if (release_some(false) || release_control()) return true;
    if (!out_.error.empty()) return false;
    if (release_some(true)) return true;
    out_.stalled = true;
    return false;
  }

  // The device's own barrier waits for the whole workgroup; every thread must stand at the same
  // one. Warps whose own operations resolve meanwhile may still come to it.
  bool release_control() {
    std::size_t there = 0;
    Value at = 0;
    for (const Thread& t : threads_) {
      if (t.state != Thread::State::waiting || f_.insts[t.waits_at].op != Op::control_barrier)
        continue;
      if (at && at != t.waits_at) return fail("threads wait at different barriers");
      at = t.waits_at;
      ++there;
    }
    if (there == 0) return false;
    if (there != threads_.size()) return fail("a barrier that not all threads reach");
    for (Thread& t : threads_) t.state = Thread::State::running;
    return true;
  }

  bool release_some(bool force) {
    std::vector<std::pair<std::uint32_t, Bits>> ready;
    std::uint32_t done = 0;
    for (const Thread& t : threads_) done += t.state == Thread::State::done;
    random_ = random_ * 1664525u + 1013904223u;
    const std::uint32_t part = force || random_ >> 30 ? ~0u : random_ << 3 | 7;
    bool open[16] = {}, apart = false;
    if (!force) {
      for (unsigned id = 0; id < 16; ++id) {
        const Barrier& b = barriers_[id];
        const std::uint32_t wanted =
            b.expected ? b.expected : static_cast<std::uint32_t>(threads_.size()) - done;
        open[id] = b.arrived != 0 && b.arrived >= wanted;
      }
    }
    for (std::uint32_t i = 0; i < threads_.size(); ++i) {
      const Thread& t = threads_[i];
      if (t.state != Thread::State::waiting) continue;
      const Inst& inst = f_.insts[t.waits_at];
      if (inst.op == Op::control_barrier) continue;
      if (inst.op == Op::yield) {
        ready.push_back({i, Bits{}});
      } else if (inst.op == Op::bar_sync) {
        const unsigned id = t.values[f_.arg(t.waits_at, 0)].w[0] & 15;
        if (!open[id]) continue;
        const Barrier& b = barriers_[id];
        const auto kind = static_cast<BarKind>(inst.imm);
        std::uint32_t result = b.sum;
        if (kind == BarKind::red_and) result = b.sum == b.arrived;
        if (kind == BarKind::red_or) result = b.sum != 0;
        ready.push_back({i, Bits::of(result)});
      } else if (is_apart(inst)) {
        // Of those that are there a part may come by together.
        std::uint32_t present = 0;
        present_lanes(i, present);
        present &= inst.op == Op::subgroup_ballot ? part : ~0u;
        apart = true;
        if (present >> (i & 31) & 1) ready.push_back({i, warp_result(i, present)});
      } else if (std::uint32_t present = 0; present_lanes(i, present) || force) {
        ready.push_back({i, warp_result(i, present)});
      }
    }
    bool any = apart || !ready.empty();
    for (unsigned id = 0; id < 16; ++id) {
      any = any || open[id];
      if (open[id]) barriers_[id] = Barrier{};
    }
    for (const auto& [i, result] : ready) {
      threads_[i].values[threads_[i].waits_at] = result;
      threads_[i].state = Thread::State::running;
    }
    return any;
  }

  static bool is_apart(const Inst& inst) {
    return (inst.op == Op::subgroup_ballot || inst.op == Op::subgroup_shuffle) &&
           inst.imm == passes::kLanesApart;
  }

  std::uint32_t members(const Thread& t) const {
    const Inst& inst = f_.insts[t.waits_at];
    switch (inst.op) {
      case Op::warp_shfl: return t.values[f_.arg(t.waits_at, 3)].w[0];
      case Op::warp_vote:
      case Op::warp_match:
      case Op::warp_redux: return t.values[f_.arg(t.waits_at, 1)].w[0];
      case Op::warp_product: return t.values[f_.args(t.waits_at).back()].w[0];
      case Op::warp_sync:
      case Op::warp_elect: return t.values[f_.arg(t.waits_at, 0)].w[0];
      default: return 0xffffffffu;
    }
  }

  // Lanes of thread i's warp at the same operation; whether no member is missing.
  bool present_lanes(std::uint32_t i, std::uint32_t& present) const {
    const std::uint32_t mask = members(threads_[i]);
    bool complete = true;
    for (std::uint32_t l = 0; l < 32; ++l) {
      const std::uint32_t other = (i & ~31u) + l;
      const bool self = other == i;
      if (other >= threads_.size() || !((mask >> l & 1) || self)) continue;
      const Thread& t = threads_[other];
      if (t.state == Thread::State::waiting && t.waits_at == threads_[i].waits_at)
        present |= 1u << l;
      else if (t.state != Thread::State::done)
        complete = false;
    }
    return complete;
  }

  Bits warp_result(std::uint32_t i, std::uint32_t present) const {
    const Thread& t = threads_[i];
    const Inst& inst = f_.insts[t.waits_at];
    const auto operand = [&](std::uint32_t thread, unsigned k) {
      return threads_[thread].values[f_.arg(t.waits_at, k)];
    };
    const std::uint32_t lane = i & 31, base = i & ~31u;
    switch (inst.op) {
      case Op::warp_shfl: {
        const std::uint32_t b = operand(i, 1).w[0] & 31, c = operand(i, 2).w[0];
        const std::uint32_t segment = c >> 8 & 31, low = lane & segment,
                            high = low | (c & 31 & ~segment);
        std::int32_t from = 0;
        bool inside = false;
        switch (static_cast<ShflMode>(inst.imm)) {
          case ShflMode::up:
            from = static_cast<std::int32_t>(lane - b);
            inside = from >= static_cast<std::int32_t>(high);
            break;
          case ShflMode::down: from = static_cast<std::int32_t>(lane + b); break;
          case ShflMode::bfly: from = static_cast<std::int32_t>(lane ^ b); break;
          case ShflMode::idx: from = static_cast<std::int32_t>(low | (b & ~segment)); break;
        }
        if (static_cast<ShflMode>(inst.imm) != ShflMode::up)
          inside = from <= static_cast<std::int32_t>(high);
        const std::uint32_t source = inside ? static_cast<std::uint32_t>(from) : lane;
        const bool there = present >> source & 1;
        return Bits{{there ? operand(base + source, 0).w[0] : 0, inside ? 1u : 0u, 0, 0}};
      }
      case Op::warp_active: return Bits::of(present);
      case Op::warp_product:
        return product_of(WarpProduct::of(inst.imm), lane, [&](std::uint32_t other, unsigned k) {
          return present >> other & 1 ? operand(base + other, k) : Bits{};
        });
      case Op::warp_elect: {
        std::uint32_t leader = 0;
        while (!(present >> leader & 1)) ++leader;
        return Bits{{leader, leader == lane ? 1u : 0u, 0, 0}};
      }
      case Op::subgroup_shuffle: {
        std::uint32_t source = operand(i, 1).w[0] & 31;
        if (!(present >> source & 1)) source = lane;
        return operand(base + source, 0);
      }
      case Op::subgroup_ballot: {
        std::uint32_t ballot = 0;
        for (std::uint32_t l = 0; l < 32; ++l)
          if ((present >> l & 1) && operand(base + l, 0).w[0]) ballot |= 1u << l;
        return Bits::of(ballot);
      }
      case Op::subgroup_partition: {
        std::uint32_t same = 0;
        for (std::uint32_t l = 0; l < 32; ++l)
          if ((present >> l & 1) && operand(base + l, 0) == operand(i, 0)) same |= 1u << l;
        return Bits::of(same);
      }
      case Op::subgroup_barrier:
      case Op::warp_sync: return Bits{};
      default: break;
    }
    if (inst.op == Op::warp_vote) present &= members(t);
    std::uint32_t votes = 0, same = 0;
    Bits sum = Bits::of(0);
    bool first = true;
    const bool reduces = inst.op == Op::warp_redux || inst.op == Op::subgroup_reduce;
    for (std::uint32_t l = 0; l < 32; ++l) {
      if (!(present >> l & 1)) continue;
      const Bits value = operand(base + l, 0);
      if (value.w[0]) votes |= 1u << l;
      if (value == operand(i, 0)) same |= 1u << l;
      if (reduces) {
        Inst pure;
        pure.op = reduction(static_cast<AtomicOp>(inst.imm));
        pure.type = Type::i32;
        const Bits both[2] = {sum, value};
        sum = first ? value : *evaluate(pure, Type::i32, both);
        first = false;
      }
    }
    if (reduces) return sum;
    if (inst.op == Op::warp_match) {
      if (static_cast<MatchMode>(inst.imm) == MatchMode::any) return Bits{{same, 0, 0, 0}};
      return Bits{{same == present ? present : 0u, same == present ? 1u : 0u, 0, 0}};
    }
    switch (static_cast<VoteMode>(inst.imm)) {
      case VoteMode::all: return Bits::of(votes == present);
      case VoteMode::any: return Bits::of(votes != 0);
      case VoteMode::uni: return Bits::of(votes == 0 || votes == present);
      default: return Bits::of(votes);
    }
  }

  static Op reduction(AtomicOp op) {
    switch (op) {
      case AtomicOp::and_: return Op::and_;
      case AtomicOp::or_: return Op::or_;
      case AtomicOp::xor_: return Op::xor_;
      case AtomicOp::umin: return Op::umin;
      case AtomicOp::umax: return Op::umax;
      case AtomicOp::smin: return Op::smin;
      case AtomicOp::smax: return Op::smax;
      default: return Op::add;
    }
  }

  void arrive(const Inst& inst, const Bits* args) {
    Barrier& b = barriers_[args[0].w[0] & 15];
    ++b.arrived;
    b.expected = inst.count > 1 ? args[1].w[0] : 0;
    if (inst.count > 2) b.sum += args[2].w[0];
  }

  bool fail(std::string text) {
    if (out_.error.empty()) out_.error = std::move(text);
    return false;
  }

  std::vector<std::uint8_t>& space(const MemAttr& mem, Thread& t) {
    if (mem.space == Space::local) return t.local;
    return memory_.of(mem.space, mem.space == Space::slot ? mem.slot : 0);
  }

  std::uint64_t offset(const MemAttr& mem, const Bits& address) const {
    return mem.space == Space::global ? address.u64() - Memory::kGlobalBase : address.w[0];
  }

  Bits load(Thread& t, const MemAttr& mem, const Bits& address) {
    const std::vector<std::uint8_t>& bytes = space(mem, t);
    const std::uint64_t at = offset(mem, address);
    Bits result;
    if (at <= bytes.size() && mem.bytes <= bytes.size() - at)
      std::memcpy(result.w.data(), bytes.data() + at, mem.bytes);
    return result;
  }

  void store(Thread& t, const MemAttr& mem, const Bits& address, const Bits& value) {
    std::vector<std::uint8_t>& bytes = space(mem, t);
    const std::uint64_t at = offset(mem, address);
    if (at <= bytes.size() && mem.bytes <= bytes.size() - at)
      std::memcpy(bytes.data() + at, value.w.data(), mem.bytes);
  }

  void record(Op op, const MemAttr& mem, const Bits& address, const Bits& value) {
    if (options_.trace && mem.space != Space::local)
      out_.trace.push_back({current_, op, mem.space, address.u64(), value});
  }

  Bits atomic(Thread& t, const Inst& inst, const Bits* args) {
    const Bits old = load(t, inst.mem, args[0]);
    Bits next = args[1];
    if (inst.op == Op::atomic_cas) {
      next = old == args[1] ? args[2] : old;
    } else {
      const Type type = inst.mem.bytes == 8 ? Type::i64 : Type::i32;
      Inst pure;
      pure.type = type;
      switch (inst.mem.atomic) {
        case AtomicOp::inc: next = Bits::of(old.w[0] >= args[1].w[0] ? 0 : old.w[0] + 1); break;
        case AtomicOp::dec:
          next = Bits::of(old.w[0] == 0 || old.w[0] > args[1].w[0] ? args[1].w[0] : old.w[0] - 1);
          break;
        case AtomicOp::exch:
        case AtomicOp::fadd_f32:
        case AtomicOp::fadd_f64: break;
        default: pure.op = reduction(inst.mem.atomic);
      }
      const Bits both[2] = {old, args[1]};
      if (pure.op != Op::undef) next = *evaluate(pure, type, both);
    }
    store(t, inst.mem, args[0], next);
    record(inst.op, inst.mem, args[0], args[1]);
    return old;
  }

  Bits builtin(Builtin which) const {
    const std::uint32_t* n = options_.threads;
    switch (which) {
      case Builtin::workgroup_id_x: return Bits::of(options_.workgroup[0]);
      case Builtin::workgroup_id_y: return Bits::of(options_.workgroup[1]);
      case Builtin::workgroup_id_z: return Bits::of(options_.workgroup[2]);
      case Builtin::local_id_x: return Bits::of(current_ % n[0]);
      case Builtin::local_id_y: return Bits::of(current_ / n[0] % n[1]);
      case Builtin::local_id_z: return Bits::of(current_ / n[0] / n[1]);
      case Builtin::local_index: return Bits::of(current_);
      case Builtin::workgroup_size_x: return Bits::of(n[0]);
      case Builtin::workgroup_size_y: return Bits::of(n[1]);
      case Builtin::workgroup_size_z: return Bits::of(n[2]);
      case Builtin::num_workgroups_x: return Bits::of(options_.workgroups[0]);
      case Builtin::num_workgroups_y: return Bits::of(options_.workgroups[1]);
      case Builtin::num_workgroups_z: return Bits::of(options_.workgroups[2]);
      case Builtin::global_id_x: return Bits::of(options_.workgroup[0] * n[0] + current_ % n[0]);
      case Builtin::global_id_y:
        return Bits::of(options_.workgroup[1] * n[1] + current_ / n[0] % n[1]);
      case Builtin::global_id_z:
        return Bits::of(options_.workgroup[2] * n[2] + current_ / n[0] / n[1]);
      case Builtin::subgroup_size: return Bits::of(32);
      case Builtin::subgroup_lane: return Bits::of(current_ % 32);
      default: return Bits{};
    }
  }

  void enter(Thread& t, BlockId block) {
    t.from = t.block;
    t.block = block;
    t.at = 0;
    const Block& b = f_.blocks[block];
    // Phis read their operands together, before any of them changes.
    scratch_.clear();
    for (const Value v : b.insts) {
      if (f_.insts[v].op != Op::phi) break;
      for (std::size_t p = 0; p < b.preds.size(); ++p)
        if (b.preds[p] == t.from) {
          scratch_.push_back(t.values[f_.arg(v, static_cast<unsigned>(p))]);
          break;
        }
    }
    for (std::size_t i = 0; i < scratch_.size(); ++i) t.values[b.insts[i]] = scratch_[i];
    t.at = scratch_.size();
  }

  void run_thread(Thread& t) {
    for (;;) {
      const Block& block = f_.blocks[t.block];
      while (t.at < block.insts.size()) {
        if (++steps_ > options_.max_steps) {
          out_.out_of_steps = true;
          return;
        }
        const Value v = block.insts[t.at++];
        execute(t, v);
        if (!out_.error.empty() || t.state == Thread::State::waiting) return;
      }
      if (++steps_ > options_.max_steps) {
        out_.out_of_steps = true;
        return;
      }
      switch (block.term) {
        case Term::br: enter(t, block.succs[0]); break;
        case Term::cond_br: enter(t, block.succs[t.values[block.cond].w[0] ? 0 : 1]); break;
        case Term::switch_: {
          const std::size_t last = block.succs.size() - 1, wanted = t.values[block.cond].w[0];
          enter(t, block.succs[wanted < last ? wanted : last]);
          break;
        }
        case Term::exit:
        case Term::ret: t.state = Thread::State::done; return;
        default: fail(fmt::format("b{} ends nowhere", t.block)); return;
      }
    }
  }

  void execute(Thread& t, Value v) {
    const Inst& inst = f_.insts[v];
    constexpr unsigned kMost = 16;
    Bits args[kMost];
    const unsigned n = std::min<unsigned>(inst.count, kMost);
    for (unsigned i = 0; i < n; ++i) args[i] = t.values[f_.arg(v, i)];
    Bits& result = t.values[v];
    const Type from = inst.count ? f_.insts[f_.arg(v, 0)].type : inst.type;
    if (const auto pure = evaluate(inst, inst.op == Op::select ? inst.type : from, {args, n})) {
      result = *pure;
      return;
    }
    switch (inst.op) {
      case Op::builtin: result = builtin(inst.builtin); return;
      case Op::clock: result = args[0]; return;
      case Op::read_clock: result = Bits::of(++ticks_); return;
      case Op::get_var: result = t.vars[inst.imm]; return;
      case Op::set_var: t.vars[inst.imm] = args[0]; return;
      case Op::load: result = load(t, inst.mem, args[0]); return;
      case Op::store:
        store(t, inst.mem, args[0], args[1]);
        record(Op::store, inst.mem, args[0], args[1]);
        return;
      case Op::atomic:
      case Op::atomic_cas: result = atomic(t, inst, args); return;
      case Op::memory_barrier:
      case Op::nanosleep:
      case Op::progress: return;
      case Op::bar_sync:
        arrive(inst, args);
        if (static_cast<BarKind>(inst.imm) == BarKind::arrive) return;
        [[fallthrough]];
      case Op::warp_shfl:
      case Op::warp_vote:
      case Op::warp_match:
      case Op::warp_redux:
      case Op::warp_active:
      case Op::warp_product:
      case Op::warp_sync:
      case Op::warp_elect:
      case Op::yield:
      case Op::subgroup_shuffle:
      case Op::subgroup_ballot:
      case Op::subgroup_partition:
      case Op::subgroup_reduce:
      case Op::subgroup_barrier:
      case Op::control_barrier:
        t.state = Thread::State::waiting;
        t.waits_at = v;
        return;
      case Op::library:
        if (options_.library &&
            options_.library(module_.library_names[inst.imm], {args, n}, result))
          return;
        fail(fmt::format("library function {} is not known", module_.library_names[inst.imm]));
        return;
      default:
        if (options_.operation && options_.operation(f_, inst, {args, n}, result)) return;
        fail(fmt::format("{} cannot be interpreted", info(inst.op).name));
    }
  }

  struct Barrier {
    std::uint32_t arrived = 0, expected = 0, sum = 0;
  };

  const Function& f_;
  const Module& module_;
  Memory& memory_;
  const RunOptions& options_;
  Barrier barriers_[16];
  std::vector<Thread> threads_;
  std::vector<Bits> scratch_;
  std::uint32_t current_ = 0, random_ = 1;
  std::uint64_t steps_ = 0;
  std::uint64_t ticks_ = 0;  ///< of the clocks: one a reading
  Outcome out_;
};

}  // namespace

Outcome interpret(const Function& function, const Module& module, Memory& memory,
                  const RunOptions& options) {
  return Machine(function, module, memory, options).run();
}

}  // namespace ptx2spv::ir
