// Loads of neighbouring words of shared memory become one load of two or four of them. Compilers
// make these where the variable's declared alignment allows it, and NVIDIA's assembler makes the
// others; here an address's known alignment decides.
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "translator/passes/analysis/known_bits.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewrite.hpp"

namespace ptx2spv::passes {

namespace {

class MergeSharedLoads {
 public:
  explicit MergeSharedLoads(Function& f) : f_(f), known_(f) {}

  bool run() {
    for (const Block& block : f_.blocks) {
      for (const Value v : block.insts) {
        const Inst& inst = f_.insts[v];
        if (inst.op == Op::load && inst.mem.space == Space::shared) {
          if (inst.type == Type::i32 && inst.mem.bytes == 4 && !inst.mem.is_volatile) note(v);
        } else if (writes(inst)) {
          merge();
        }
      }
      merge();
    }
    if (part_of_.empty()) return false;
    SsaRewriter rewrite(f_);
    Builder& b = rewrite.builder();
    return rewrite.run([&](Value v) {
      const auto found = part_of_.find(v);
      if (found == part_of_.end()) return v;
      Window& window = windows_[found->second];
      // The first of them in the block; the base stands before it.
      if (window.made == 0) {
        const std::uint32_t from = window.from;
        const Value address = !window.base ? b.i32(from)
                              : from       ? b.op2(Op::add, window.base, b.i32(from))
                                           : window.base;
        window.made =
            b.load(window.words == 4 ? Type::v4 : Type::v2, address,
                   {.space = Space::shared, .bytes = static_cast<std::uint8_t>(window.words * 4)});
      }
      return b.inst(Op::extract, Type::i32, {window.made}, (offset_of(v) - window.from) / 4);
    });
  }

 private:
  struct Window {
    Value base;          ///< 0: `from` is the address
    std::uint32_t from;  ///< in bytes from the base
    unsigned words;
    Value made = 0;
  };

  static bool writes(const Inst& inst) {
    if (!(ir::info(inst.op).flags & ir::flag::W)) return false;
    return !is_access(inst.op) || inst.mem.space == Space::shared;
  }

  Value base_of(Value load) const {
    const Value address = f_.arg(load, 0);
    const Inst& inst = f_.insts[address];
    if (inst.op == Op::constant) return 0;
    if (inst.op == Op::add && f_.insts[f_.arg(address, 1)].op == Op::constant)
      return f_.arg(address, 0);
    return address;
  }
  std::uint32_t offset_of(Value load) const {
    const Value address = f_.arg(load, 0);
    const Inst& inst = f_.insts[address];
    if (inst.op == Op::constant) return static_cast<std::uint32_t>(inst.imm);
    return base_of(load) == address ? 0
                                    : static_cast<std::uint32_t>(f_.insts[f_.arg(address, 1)].imm);
  }

  void note(Value load) {
    const Value base = base_of(load);
    const auto [found, is_new] = group_of_.try_emplace(base, groups_.size());
    if (is_new) groups_.push_back({base, {}});
    groups_[found->second].second.push_back(load);
  }

  /// Ends the loads between which nothing writes to shared memory.
  void merge() {
    for (auto& [base, loads] : groups_) {
      std::ranges::stable_sort(loads, {}, [&](Value v) { return offset_of(v); });
      const std::uint64_t aligned = base ? known_.alignment(base) : 16;
      for (std::size_t i = 0; i < loads.size();) {
        std::size_t end = i;
        for (const unsigned words : {4u, 2u}) {
          if (aligned < words * 4 || offset_of(loads[i]) % (words * 4) != 0) continue;
          end = last_of(loads, i, words);
          if (end == i) continue;
          for (std::size_t k = i; k < end; ++k) part_of_[loads[k]] = windows_.size();
          windows_.push_back({base, offset_of(loads[i]), words});
          break;
        }
        i = std::max(end, i + 1);
      }
    }
    groups_.clear();
    group_of_.clear();
  }
  /// Behind the loads that start at `first` and read each of that many words; `first`: there is a
  /// word that none reads.
  std::size_t last_of(const std::vector<Value>& loads, std::size_t first, unsigned words) const {
    const std::uint32_t from = offset_of(loads[first]);
    unsigned next = 0;
    std::size_t k = first;
    for (; k < loads.size() && offset_of(loads[k]) - from < words * 4; ++k) {
      const std::uint32_t at = offset_of(loads[k]) - from;
      if (at == next * 4)
        ++next;
      else if (at + 4 != next * 4)
        return first;
    }
    return next == words ? k : first;
  }

  Function& f_;
  const KnownBits known_;
  std::vector<std::pair<Value, std::vector<Value>>> groups_;  ///< by base, in the block's order
  std::unordered_map<Value, std::size_t> group_of_, part_of_;
  std::vector<Window> windows_;
};

}  // namespace

bool merge_shared_loads(Function& function, Module&) { return MergeSharedLoads(function).run(); }

}  // namespace ptx2spv::passes
