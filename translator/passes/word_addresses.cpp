// Byte offsets into arrays of words. SPIR-V indexes bound buffers, shared and local memory by
// elements, so that every access would shift its offset right; compilers made the offset by
// shifting left. Here the offset is computed in elements where its terms allow it, and handed on as
// element << k, which the emitter takes apart. GPUs can then fold constants into the access, and
// SwiftShader, which takes vectors apart to shift them, saves 35 machine instructions an access.
#include <bit>
#include <unordered_map>

#include "translator/passes/known_bits.hpp"
#include "translator/passes/passes.hpp"
#include "translator/passes/rewrite.hpp"

namespace ptx2spv::passes {

using namespace ir;

namespace {

bool reads_or_writes(Op op) {
  return op == Op::load || op == Op::store || op == Op::atomic || op == Op::atomic_cas;
}

bool private_words(Space space) { return space == Space::shared || space == Space::local; }

/// Bytes of the elements that an access counts in, as a power of two; 0 where it has no index.
unsigned element_log2(const MemAttr& mem) {
  if (mem.bytes < 4) return 0;
  switch (mem.space) {
    case Space::shared:
    case Space::local: return 2;
    case Space::slot:
    case Space::constant:
    case Space::table:
    case Space::textures:
      return static_cast<unsigned>(std::countr_zero(static_cast<unsigned>(mem.bytes)));
    default: return 0;
  }
}

class WordAddresses {
 public:
  explicit WordAddresses(Function& f) : f_(f), rewrite_(f), b_(rewrite_.builder()), known_(f) {}

  bool run() {
    BlockId block = kNoBlock;
    return rewrite_.run([&](Value v) {
      if (b_.block() != block) {
        block = b_.block();
        made_.clear();
      }
      if (reads_or_writes(f_.insts[v].op)) rewrite(v);
      return v;
    });
  }

 private:
  void rewrite(Value v) {
    const MemAttr mem = f_.insts[v].mem;
    const unsigned k = element_log2(mem);
    const Value address = f_.arg(v, 0);
    if (k == 0 || f_.insts[address].op == Op::constant || f_.insts[address].type != Type::i32)
      return;
    Value element = elements(address, k);
    if (!element) return;
    // Of an offset that wrapped around, the element's upper bits are not the offset's. Offsets into
    // a surface were compared with its extent as bytes; those into the workgroup's and the thread's
    // own memory are within it, or the program is undefined.
    const std::uint32_t mask = 0xffffffffu >> k;
    if (!private_words(mem.space) && (known_.zeros(element) & ~mask) != ~std::uint64_t{mask})
      element = b_.op2(Op::and_, element, b_.i32(mask));
    const Value bytes = b_.op2(Op::shl, element, b_.i32(k));
    f_.args(v)[0] = bytes;
  }

  /// `v` / 2^k modulo 2^(32 - k), 0 where only a shift could give it.
  Value elements(Value v, unsigned k) {
    const auto [found, is_new] = made_.try_emplace(std::uint64_t{v} << 8 | k, 0);
    if (!is_new) return found->second;
    const Value made = derive(v, k);
    made_[std::uint64_t{v} << 8 | k] = made;
    return made;
  }

  bool constant(Value v, std::uint32_t& value) const {
    value = static_cast<std::uint32_t>(f_.insts[v].imm);
    return f_.insts[v].op == Op::constant;
  }

  /// A term that has to be shifted: worth it when it is one of a sum, whose other terms then are
  /// not.
  Value term(Value v, unsigned k) {
    if (const Value made = elements(v, k)) return made;
    if (known_.alignment(v) < 1u << k) return 0;
    return b_.op2(Op::lshr, v, b_.i32(k));
  }

  Value derive(Value v, unsigned k) {
    const Inst inst = f_.insts[v];
    const Value a = inst.count > 0 ? f_.arg(v, 0) : 0, d = inst.count > 1 ? f_.arg(v, 1) : 0;
    std::uint32_t c = 0;
    switch (inst.op) {
      case Op::constant:
        if (inst.imm & ((1u << k) - 1)) return 0;
        return b_.i32(static_cast<std::uint32_t>(static_cast<std::int32_t>(inst.imm) >> k));
      case Op::shl:
        if (!constant(d, c) || c < k || c >= 32) return 0;
        return c == k ? a : b_.op2(Op::shl, a, b_.i32(c - k));
      case Op::mul:
        if (!constant(d, c) || c == 0 || (c & ((1u << k) - 1))) return 0;
        return c >> k == 1 ? a : b_.op2(Op::mul, a, b_.i32(c >> k));
      case Op::add:
      case Op::sub: {
        // At least one side gets rid of its shift; a sum of two shifts would be worse than one.
        const Value x = elements(a, k), y = elements(d, k);
        if (!x && !y) return 0;
        const Value left = x ? x : term(a, k), right = y ? y : term(d, k);
        return left && right ? b_.op2(inst.op, left, right) : 0;
      }
      case Op::select: {
        const Value x = elements(d, k), y = elements(f_.arg(v, 2), k);
        if (!x && !y) return 0;
        const Value left = x ? x : term(d, k), right = y ? y : term(f_.arg(v, 2), k);
        return left && right ? b_.select(a, left, right) : 0;
      }
      default: return 0;
    }
  }

  Function& f_;
  Rewrite rewrite_;
  Builder& b_;
  const KnownBits known_;
  std::unordered_map<std::uint64_t, Value> made_;  ///< of the block being walked, by value and k
};

}  // namespace

bool word_addresses(Function& function, Module&) { return WordAddresses(function).run(); }

}  // namespace ptx2spv::passes
