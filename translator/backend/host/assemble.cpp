#include "translator/backend/host/assemble.hpp"

#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "translator/backend/host/handlers.hpp"
#include "translator/backend/host/places.hpp"
#include "translator/ir/cfg.hpp"
#include "translator/ir/names.hpp"

namespace ptx2spv::interpreter {

namespace {

/// Operations that several threads do together, and those that let others go on.
bool of_several(Op op) {
  return op == Op::control_barrier || ir::is_within(op, Op::bar_sync, Op::yield);
}

/// Moves that are made together, one after the other: none writes what a later one reads.
class Moves {
 public:
  struct Move {
    Place to = 0, from = 0;
    Type type = Type::i32;
  };
  void add(Place to, Place from, Type type) {
    if (to != from) moves_.push_back({to, from, type});
  }
  /// `scratch`: rows that nothing else uses, four of them.
  template <typename Emit>
  void emit(Place scratch, Emit&& emit) {
    for (std::size_t i = 0; i < moves_.size(); ++i) {
      readers_[moves_[i].from].push_back(i);
      ++left_[moves_[i].from];
      writer_[moves_[i].to] = i;
    }
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < moves_.size(); ++i)
      if (!left_.contains(moves_[i].to)) ready.push_back(i);
    std::vector<bool> done(moves_.size(), false);
    const auto drain = [&] {
      while (!ready.empty()) {
        const std::size_t i = ready.back();
        ready.pop_back();
        emit(moves_[i]);
        done[i] = true;
        const Place freed = moves_[i].from;
        if (freed == scratch || --left_[freed] != 0) continue;
        if (const auto w = writer_.find(freed); w != writer_.end() && !done[w->second])
          ready.push_back(w->second);
      }
    };
    drain();
    for (std::size_t i = 0; i < moves_.size(); ++i) {
      if (done[i]) continue;
      // What is left goes round in circles: one of each is read from aside.
      emit({scratch, moves_[i].to, moves_[i].type});
      for (const std::size_t k : readers_[moves_[i].to])
        if (!done[k]) moves_[k].from = scratch;
      left_[moves_[i].to] = 0;
      ready.push_back(i);
      drain();
    }
  }

 private:
  std::vector<Move> moves_;
  std::unordered_map<Place, std::size_t> left_, writer_;  ///< by place: reads to come, the write
  std::unordered_map<Place, std::vector<std::size_t>> readers_;
};

class Assembler {
 public:
  Assembler(const ir::Function& f, const ir::Module& m)
      : f_(f), m_(m), steps_(f.insts.size(), ~0u) {
    for (const BlockId b : ir::reverse_postorder(f, false)) order_.push_back(b);
    if (!f.order.empty()) {
      std::vector<bool> reached(f.blocks.size(), false);
      for (const BlockId b : order_) reached[b] = true;
      order_.clear();
      for (const BlockId b : f.order)
        if (reached[b]) order_.push_back(b);
    }
  }

  bool run(std::string& problem) {
    places_ = allocate_registers(f_, order_);
    scratch_ = places_.rows;
    out_.rows = places_.rows + 4;
    out_.shared_bytes = f_.shared_bytes;
    out_.local_bytes = (f_.local_bytes + 15) & ~15u;
    out_.locs = f_.locs;
    std::vector<std::uint32_t> at(f_.blocks.size(), 0);
    for (std::uint32_t i = 0; i < order_.size(); ++i) at[order_[i]] = i;
    out_.blocks.resize(order_.size());
    for (std::uint32_t i = 0; i < order_.size(); ++i) {
      const ir::Block& block = f_.blocks[order_[i]];
      BlockCode& code = out_.blocks[i];
      code.first = next();
      for (const Value v : block.insts)
        if (!instruction(v)) {
          problem = problem_;
          return false;
        }
      code.last = next();
      code.term = block.term;
      if (block.term == ir::Term::cond_br || block.term == ir::Term::switch_)
        code.cond = place(block.cond);
      for (const BlockId to : block.succs) code.edges.push_back(edge(order_[i], to, at[to]));
    }
    return true;
  }

  Program take() {
    out_.source = std::make_shared<Source>(f_, std::move(steps_));
    return std::move(out_);
  }

 private:
  std::uint32_t next() const { return static_cast<std::uint32_t>(out_.steps.size()); }

  Place place(Value v) {
    const ir::Inst& inst = f_.insts[v];
    if (inst.op != Op::constant && inst.op != Op::undef) return places_.of[v];
    const std::uint64_t number = inst.op == Op::undef ? 0 : inst.imm;
    const auto [known, added] = constants_.try_emplace({inst.type, number}, 0);
    if (!added) return known->second;
    known->second = kConstant | static_cast<Place>(out_.constants.size());
    const unsigned rows = rows_of(inst.type);
    out_.constants.resize(out_.constants.size() + rows);
    Row* row = out_.constants.data() + out_.constants.size() - rows;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if (inst.type == Type::i64)
        reinterpret_cast<std::uint64_t*>(row)[lane] = number;
      else
        row->words[lane] = static_cast<std::uint32_t>(number);
    }
    return known->second;
  }

  bool fail(const ir::Inst& inst) {
    problem_ = fmt::format("the interpreter has no operation {}", ir::info(inst.op).name);
    return false;
  }

  bool library(Value v, const ir::Inst& inst, Step& step) {
    const std::string& name = m_.library_names[inst.imm];
    std::vector<Type> types;
    auto call = std::make_unique<Call>();
    call->name = name;
    unsigned words = 0;
    for (const Value a : f_.args(v)) {
      types.push_back(f_.insts[a].type);
      call->arguments.push_back({place(a), types.back()});
      words += rows_of(types.back());
    }
    call->result = {place(v), inst.type};
    call->routine = words <= kMostArguments ? find_routine(name, types) : nullptr;
    if (!call->routine) {
      problem_ = fmt::format("the interpreter has no routine {}", name);
      return false;
    }
    const Handlers handlers = call_handlers();
    step.whole = handlers.whole;
    step.masked = handlers.masked;
    step.more = call.get();
    out_.calls.push_back(std::move(call));
    out_.steps.push_back(step);
    return true;
  }

  bool product(Value v, const ir::Inst& inst, Step& step) {
    auto call = std::make_unique<Call>();
    for (const Value a : f_.args(v)) call->arguments.push_back({place(a), f_.insts[a].type});
    call->result = {step.out, inst.type};
    step.in[0] = call->arguments.back().place;  // the members
    step.more = call.get();
    out_.calls.push_back(std::move(call));
    out_.steps.push_back(step);
    return true;
  }

  Handlers handlers_of(Value v, const ir::Inst& inst) {
    const Type from = inst.count ? f_.insts[f_.arg(v, 0)].type : inst.type;
    switch (inst.op) {
      case Op::builtin: return builtin_handlers(inst.builtin);
      case Op::read_clock: return clock_handlers();
      case Op::load:
      case Op::atomic:
      case Op::atomic_cas:
      case Op::memory_barrier:
        return memory_handlers(inst, inst.count && f_.insts[f_.arg(v, 0)].op == Op::constant);
      case Op::store: return store_handlers(inst, f_.insts[f_.arg(v, 1)].type);
      default: break;
    }
    if (const Handlers found = integer_handlers(inst, from); found.whole) return found;
    return float_handlers(inst, from);
  }

  bool instruction(Value v) {
    const std::uint32_t at = next();
    if (!steps(v)) return false;
    if (next() != at) steps_[v] = at;
    return true;
  }

  bool steps(Value v) {
    const ir::Inst& inst = f_.insts[v];
    if (inst.op == Op::constant || inst.op == Op::undef || inst.op == Op::phi ||
        inst.op == Op::progress)
      return true;
    Step step;
    step.op = inst.op;
    step.imm = inst.op == Op::select ? rows_of(inst.type) : inst.imm;
    step.loc = inst.loc;
    if (rows_of(inst.type)) step.out = place(v);
    if (inst.op == Op::library) return library(v, inst, step);
    if (inst.op == Op::warp_product) return product(v, inst, step);
    if (inst.count > std::size(step.in)) return fail(inst);
    step.inputs = static_cast<std::uint8_t>(inst.count);
    for (unsigned i = 0; i < inst.count; ++i) step.in[i] = place(f_.arg(v, i));
    if (!of_several(inst.op)) {
      const Handlers handlers = handlers_of(v, inst);
      if (!handlers.whole) return fail(inst);
      step.whole = handlers.whole;
      step.masked = handlers.masked;
    } else {
      step.wide = inst.count != 0 && f_.insts[f_.arg(v, 0)].type == Type::i64;
      if (rows_of(inst.type) == 0) step.out = scratch_;
    }
    if (is_access(inst.op)) {
      out_.accesses.push_back(std::make_unique<ir::MemAttr>(inst.mem));
      step.more = out_.accesses.back().get();
    }
    out_.steps.push_back(step);
    return true;
  }

  Edge edge(BlockId from, BlockId to, std::uint32_t target) {
    Edge out{next(), next(), target};
    const ir::Block& block = f_.blocks[to];
    unsigned p = 0;
    while (p < block.preds.size() && block.preds[p] != from) ++p;
    Moves moves;
    for (const Value v : block.insts) {
      if (f_.insts[v].op != Op::phi) break;
      moves.add(place(v), place(f_.arg(v, p)), f_.insts[v].type);
    }
    moves.emit(scratch_, [&](const Moves::Move& move) {
      Step step;
      const Handlers handlers = move_handlers(move.type);
      step.whole = handlers.whole;
      step.masked = handlers.masked;
      step.out = move.to;
      step.in[0] = move.from;
      step.inputs = 1;
      step.imm = rows_of(move.type);
      out_.steps.push_back(step);
    });
    out.last = next();
    return out;
  }

  static constexpr unsigned kMostArguments = 64;  ///< words, of handlers_memory.cpp's call

  const ir::Function& f_;
  const ir::Module& m_;
  std::vector<std::uint32_t> steps_;  ///< by value
  std::vector<BlockId> order_;
  Places places_;
  Place scratch_ = 0;
  std::map<std::pair<Type, std::uint64_t>, Place> constants_;
  Program out_;
  std::string problem_;
};

}  // namespace

std::optional<Program> assemble(const ir::Function& function, const ir::Module& module,
                                std::string& problem) {
  Assembler assembler(function, module);
  if (!assembler.run(problem)) return std::nullopt;
  return assembler.take();
}

}  // namespace ptx2spv::interpreter
