#include "translator/passes/cfg/spill_variables.hpp"

namespace ptx2spv::passes {

namespace {

class Spiller {
 public:
  Spiller(Function& function, const std::vector<bool>& moves, BlockId entry)
      : f_(function), entry_(entry), at_(moves.size(), kStays) {
    for (std::uint32_t var = 0; var < moves.size(); ++var)
      if (moves[var]) at_[var] = kMoves;
  }

  void run() {
    f_.local_bytes = (f_.local_bytes + 15) & ~15u;
    // The largest first, so that each lies at a multiple of its size.
    for (const std::uint8_t bytes : {16, 8, 4})
      for (std::uint32_t var = 0; var < at_.size(); ++var) {
        if (at_[var] != kMoves || size(var) != bytes) continue;
        at_[var] = f_.local_bytes;
        f_.local_bytes += bytes;
      }
    Builder b(f_);
    for (BlockId id = 0; id < f_.blocks.size(); ++id) {
      const std::vector<Value> old = std::move(f_.blocks[id].insts);
      f_.blocks[id].insts.clear();
      f_.blocks[id].insts.reserve(old.size());
      b.at(id);
      if (id == entry_) clear(b);
      for (const Value v : old) rewrite(b, v);
    }
  }

 private:
  static constexpr std::uint32_t kStays = 0xffffffffu, kMoves = 0xfffffffeu;

  /// What is read before it is written is 0.
  void clear(Builder& b) {
    b.set_loc(0);
    for (std::uint32_t var = 0; var < at_.size(); ++var)
      for (std::uint32_t word = 0; at_[var] != kStays && word < size(var); word += 4)
        b.store(b.i32(at_[var] + word), b.i32(0), {.space = Space::local, .bytes = 4});
  }

  void rewrite(Builder& b, Value v) {
    const Inst inst = f_.insts[v];
    const bool moves =
        (inst.op == Op::get_var || inst.op == Op::set_var) && at_[inst.imm] != kStays;
    if (!moves) {
      f_.blocks[b.block()].insts.push_back(v);
      return;
    }
    b.set_loc(inst.loc);
    const auto var = static_cast<std::uint32_t>(inst.imm);
    const Type type = f_.vars[var].type;
    const Value address = b.i32(at_[var]);
    const MemAttr memory{.space = Space::local, .bytes = size(var)};
    if (inst.op == Op::set_var) {
      Value value = f_.arg(v, 0);
      if (type == Type::i1) value = b.inst(Op::zext, Type::i32, {value});
      b.store(address, value, memory);
      return;
    }
    // The reader keeps its number, so that its uses stand.
    Value last = b.load(type == Type::i1 ? Type::i32 : type, address, memory);
    if (type == Type::i1) last = b.cmp(Op::ne, last, b.i32(0));
    f_.insts[v] = f_.insts[last];
    f_.blocks[b.block()].insts.back() = v;
  }

  std::uint8_t size(std::uint32_t var) const {
    switch (f_.vars[var].type) {
      case Type::v4: return 16;
      case Type::i64:
      case Type::v2: return 8;
      default: return 4;
    }
  }

  Function& f_;
  const BlockId entry_;
  std::vector<std::uint32_t> at_;  ///< by variable: its byte offset in local memory
};

}  // namespace

void spill_variables(Function& function, const std::vector<bool>& moves, BlockId entry) {
  Spiller(function, moves, entry).run();
}

}  // namespace ptx2spv::passes
