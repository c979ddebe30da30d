// Where are a kernel's parameters and the slots' records read from? Drivers keep push constants at
// hand but look a buffer up for every load. The words of the push constants that this kernel's
// launches do not use hold parameter words, in the order in which the kernel reads them. A word
// that is only read shifted is stored shifted. Words for which there is no room are read from the
// parameter buffer, records four words at a time.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "translator/passes/passes.hpp"
#include "translator/passes/rewrite.hpp"

namespace ptx2spv::passes {

namespace {

class PromoteParams {
 public:
  PromoteParams(Function& f, std::uint32_t push_words, EntryInfo& info)
      : f_(f),
        push_words_(push_words),
        info_(info),
        uses_(f.insts.size()),
        shift_of_(f.insts.size()) {}

  bool run() {
    find();
    if (push_words_ != 0 && launch_words()) assign();
    return rewrite();
  }

 private:
  using Word = std::pair<std::uint32_t, std::uint32_t>;  // offset in the buffer, shift
  struct Uses {
    bool plain = false;
    std::vector<std::uint32_t> shifts;
  };

  std::optional<std::uint32_t> offset(Value load) const {
    const Inst& address = f_.insts[f_.arg(load, 0)];
    if (address.op != Op::constant) return std::nullopt;
    return static_cast<std::uint32_t>(address.imm);
  }
  bool is_param(Value v) const {
    const Inst& inst = f_.insts[v];
    return inst.op == Op::load && inst.mem.space == Space::param && offset(v);
  }

  /// Which words the kernel asks for, and how.
  void find() {
    for (const BlockId b : f_.order) {
      for (const Value v : f_.blocks[b].insts)
        if (is_param(v)) loads_.push_back(v);
      if (f_.blocks[b].cond) uses_[f_.blocks[b].cond].plain = true;
    }
    for (const BlockId b : f_.order)
      for (const Value v : f_.blocks[b].insts) {
        const auto args = f_.args(v);
        for (unsigned i = 0; i < args.size(); ++i) {
          const Value a = args[i];
          if (!is_param(a)) continue;
          const bool shifted = i == 0 && f_.insts[v].op == Op::lshr && f_.insts[a].mem.bytes == 4 &&
                               f_.insts[args[1]].op == Op::constant && f_.insts[args[1]].imm < 32;
          if (shifted) {
            shift_of_[v] = a;
            uses_[a].shifts.push_back(static_cast<std::uint32_t>(f_.insts[args[1]].imm));
          } else {
            uses_[a].plain = true;
          }
        }
      }
    for (const Value v : loads_) {
      const std::uint32_t at = *offset(v);
      Uses& all = words_[at];
      all.plain = all.plain || uses_[v].plain;
      all.shifts.insert(all.shifts.end(), uses_[v].shifts.begin(), uses_[v].shifts.end());
    }
  }

  /// Marks the words that hold the launch; false when nobody knows which.
  bool launch_words() {
    taken_.assign(push_words_, false);
    for (const BlockId b : f_.order)
      for (const Value v : f_.blocks[b].insts) {
        const Inst& inst = f_.insts[v];
        if (inst.op != Op::load || inst.mem.space != Space::push) continue;
        const auto at = offset(v);
        if (!at) return false;
        for (std::uint32_t word = *at / 4; word <= (*at + inst.mem.bytes - 1) / 4; ++word)
          if (word < taken_.size()) taken_[word] = true;
      }
    return true;
  }

  /// The first of `count` free words in a row.
  std::optional<std::uint32_t> take(std::uint32_t count) {
    for (std::uint32_t word = 0; word + count <= taken_.size(); ++word) {
      const auto at = taken_.begin() + word;
      if (std::find(at, at + count, true) != at + count) continue;
      std::fill(at, at + count, true);
      return word;
    }
    return std::nullopt;
  }

  void put(std::uint32_t word, std::uint32_t offset, std::uint32_t shift) {
    info_.push_params.push_back({word, offset, shift});
    info_.push_words = std::max(info_.push_words, word + 1);
  }

  std::optional<std::uint32_t> place(Word which) {
    if (const auto known = placed_.find(which); known != placed_.end()) return known->second;
    const auto word = take(1);
    if (!word) return std::nullopt;
    placed_[which] = *word;
    put(*word, which.first, which.second);
    return word;
  }

  void assign() {
    for (const Value v : loads_) {
      const Inst& inst = f_.insts[v];
      const std::uint32_t at = *offset(v);
      if (inst.mem.is_volatile) continue;
      if (inst.mem.bytes == 8 && at % 4 == 0) {
        if (!pairs_.contains(at)) {
          const auto word = take(2);
          if (!word) continue;
          pairs_[at] = *word;
          put(*word, at, 0);
          put(*word + 1, at + 4, 0);
        }
      } else if (inst.mem.bytes == 4 && at % 4 == 0) {
        const Uses& uses = words_[at];
        if (!uses.plain && uses.shifts.empty()) continue;  // nobody asks for it
        const bool one = !uses.plain && std::all_of(uses.shifts.begin(), uses.shifts.end(),
                                                    [&](std::uint32_t shift) {
                                                      return shift == uses.shifts.front();
                                                    });
        place({at, one ? uses.shifts.front() : 0});
      } else if (inst.mem.bytes < 4) {
        place({at & ~3u, 0});
      }
    }
  }

  Value from_push(Value v, std::uint32_t address) {
    const Inst old = f_.insts[v];
    MemAttr mem = old.op == Op::load ? old.mem : MemAttr{};
    mem.space = Space::push;
    mem.readonly = true;
    Builder& b = *builder_;
    return b.load(old.type, b.i32(address), mem);
  }

  /// The words of a record that stand in one quad, as far as they are read from the buffer.
  bool in_record(Value v) const {
    const Inst& inst = f_.insts[v];
    return inst.mem.bytes == 4 && !inst.mem.is_volatile && !info_.slots.empty() &&
           *offset(v) >= info_.slot_records &&
           *offset(v) < info_.slot_records + info_.slots.size() * abi::kSurfaceWords * 4;
  }

  std::optional<std::uint32_t> pushed(Value v) const {
    const Inst& inst = f_.insts[v];
    const std::uint32_t at = *offset(v);
    if (inst.mem.is_volatile) return std::nullopt;
    if (inst.mem.bytes == 8) {
      const auto pair = pairs_.find(at);
      return pair == pairs_.end() ? std::nullopt : std::optional(pair->second * 4);
    }
    if (inst.mem.bytes > 4) return std::nullopt;
    const auto word = placed_.find({at & ~3u, 0});
    return word == placed_.end() ? std::nullopt : std::optional(word->second * 4 + at % 4);
  }

  bool rewrite() {
    // Quads that save loads, by block and quad.
    std::map<std::pair<BlockId, std::uint32_t>, unsigned> wanted;
    for (const BlockId b : f_.order)
      for (const Value v : f_.blocks[b].insts)
        if (is_param(v) && in_record(v) && needed(v) && !pushed(v)) ++wanted[{b, *offset(v) / 16}];
    SsaRewriter rewrite(f_);
    builder_ = &rewrite.builder();
    std::map<std::pair<BlockId, std::uint32_t>, Value> quads;
    const auto values = static_cast<Value>(uses_.size());
    return rewrite.run([&](Value v) -> Value {
      if (v >= values) return v;
      if (shift_of_[v]) {
        const auto word = placed_.find({*offset(shift_of_[v]), shift(v)});
        return word == placed_.end() ? v : from_push(v, word->second * 4);
      }
      if (!is_param(v)) return v;
      if (!needed(v)) return 0;
      if (const auto address = pushed(v)) return from_push(v, *address);
      const std::pair key{builder_->block(), *offset(v) / 16};
      if (!in_record(v) || wanted[key] < 2) return v;
      Value& quad = quads[key];
      if (!quad)
        quad = builder_->load(Type::v4, builder_->i32(*offset(v) / 16 * 16),
                              {.space = Space::param, .bytes = 16, .readonly = true});
      return builder_->inst(Op::extract, Type::i32, {quad}, *offset(v) / 4 % 4);
    });
  }

  std::uint32_t shift(Value v) const {
    return static_cast<std::uint32_t>(f_.insts[f_.arg(v, 1)].imm);
  }
  /// Whether anything but shifts that have words of their own asks for the load.
  bool needed(Value v) const {
    if (uses_[v].plain) return true;
    return std::any_of(uses_[v].shifts.begin(), uses_[v].shifts.end(), [&](std::uint32_t shift) {
      return !placed_.contains({*offset(v), shift});
    });
  }

  Function& f_;
  const std::uint32_t push_words_;
  EntryInfo& info_;
  Builder* builder_ = nullptr;
  std::vector<Value> loads_;
  std::vector<Uses> uses_;       ///< by value
  std::vector<Value> shift_of_;  ///< by value: the load that it shifts right
  std::map<std::uint32_t, Uses> words_;
  std::vector<bool> taken_;
  std::map<Word, std::uint32_t> placed_;
  std::map<std::uint32_t, std::uint32_t> pairs_;
};

}  // namespace

bool promote_params_to_push_constants(Function& f, std::uint32_t push_words, EntryInfo& info) {
  return PromoteParams(f, push_words, info).run();
}

}  // namespace ptx2spv::passes
