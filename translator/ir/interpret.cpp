#include "translator/ir/interpret.hpp"

#include <cstring>

#include <fmt/format.h>

#include "translator/ir/evaluate.hpp"
#include "translator/ir/names.hpp"

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
      t.local.resize(f_.local_bytes);
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
  // A control barrier waits for the whole workgroup; every thread must stand at the same one.
  bool release() {
    std::uint32_t waiting = 0, done = 0;
    Value at = 0;
    for (const Thread& t : threads_) {
      done += t.state == Thread::State::done;
      if (t.state != Thread::State::waiting) continue;
      ++waiting;
      if (at && at != t.waits_at) return fail("threads wait at different barriers");
      at = t.waits_at;
    }
    if (waiting == 0) return false;
    if (done != 0) return fail("a thread ended before a barrier that others wait at");
    for (Thread& t : threads_) t.state = Thread::State::running;
    return true;
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
    if (at <= bytes.size() && mem.bytes <= bytes.size() - at) std::memcpy(result.w.data(), bytes.data() + at, mem.bytes);
    return result;
  }

  void store(Thread& t, const MemAttr& mem, const Bits& address, const Bits& value) {
    std::vector<std::uint8_t>& bytes = space(mem, t);
    const std::uint64_t at = offset(mem, address);
    if (at <= bytes.size() && mem.bytes <= bytes.size() - at) std::memcpy(bytes.data() + at, value.w.data(), mem.bytes);
  }

  void record(Op op, const MemAttr& mem, const Bits& address, const Bits& value) {
    if (options_.trace && mem.space != Space::local) out_.trace.push_back({current_, op, mem.space, address.u64(), value});
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
        case AtomicOp::add: pure.op = Op::add; break;
        case AtomicOp::and_: pure.op = Op::and_; break;
        case AtomicOp::or_: pure.op = Op::or_; break;
        case AtomicOp::xor_: pure.op = Op::xor_; break;
        case AtomicOp::umin: pure.op = Op::umin; break;
        case AtomicOp::umax: pure.op = Op::umax; break;
        case AtomicOp::smin: pure.op = Op::smin; break;
        case AtomicOp::smax: pure.op = Op::smax; break;
        case AtomicOp::inc: next = Bits::of(old.w[0] >= args[1].w[0] ? 0 : old.w[0] + 1); break;
        case AtomicOp::dec:
          next = Bits::of(old.w[0] == 0 || old.w[0] > args[1].w[0] ? args[1].w[0] : old.w[0] - 1);
          break;
        default: break;
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
    Bits args[8];
    const unsigned n = inst.count < 8 ? inst.count : 8;
    for (unsigned i = 0; i < n; ++i) args[i] = t.values[f_.arg(v, i)];
    Bits& result = t.values[v];
    const Type from = inst.count ? f_.insts[f_.arg(v, 0)].type : inst.type;
    if (const auto pure = evaluate(inst, inst.op == Op::select ? inst.type : from, {args, n})) {
      result = *pure;
      return;
    }
    switch (inst.op) {
      case Op::builtin: result = builtin(inst.builtin); return;
      case Op::get_var: result = t.vars[inst.imm]; return;
      case Op::set_var: t.vars[inst.imm] = args[0]; return;
      case Op::load: result = load(t, inst.mem, args[0]); return;
      case Op::store:
        store(t, inst.mem, args[0], args[1]);
        record(Op::store, inst.mem, args[0], args[1]);
        return;
      case Op::atomic:
      case Op::atomic_cas: result = atomic(t, inst, args); return;
      case Op::memory_barrier: return;
      case Op::control_barrier:
        t.state = Thread::State::waiting;
        t.waits_at = v;
        return;
      case Op::library:
        if (options_.library && options_.library(module_.library_names[inst.imm], {args, n}, result)) return;
        fail(fmt::format("library function {} is not known", module_.library_names[inst.imm]));
        return;
      default: fail(fmt::format("{} cannot be interpreted", info(inst.op).name));
    }
  }

  const Function& f_;
  const Module& module_;
  Memory& memory_;
  const RunOptions& options_;
  std::vector<Thread> threads_;
  std::vector<Bits> scratch_;
  std::uint32_t current_ = 0;
  std::uint64_t steps_ = 0;
  Outcome out_;
};

}  // namespace

Outcome interpret(const Function& function, const Module& module, Memory& memory, const RunOptions& options) {
  return Machine(function, module, memory, options).run();
}

}  // namespace ptx2spv::ir
