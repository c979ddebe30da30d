// Sums of products of bytes where the device has no instruction for them.
#include "translator/passes/passes.hpp"
#include "translator/passes/rewrite.hpp"

namespace ptx2spv::passes {

void legalise_dots(Function& function, const Features& features) {
  const auto has = [&](std::uint64_t signs) {
    return signs == ir::kDotUnsigned ? features.dot4_u8
           : signs == ir::kDotSigned ? features.dot4_s8
                                     : features.dot4_mixed;
  };
  CfgRewriter rewriter(function);
  Builder& b = rewriter.builder();
  const auto byte = [&](Value word, bool is_signed, unsigned i) {
    if (is_signed) {
      const Value high = i < 3 ? b.op2(Op::shl, word, b.i32(24 - 8 * i)) : word;
      return b.op2(Op::ashr, high, b.i32(24));
    }
    const Value low = i ? b.op2(Op::lshr, word, b.i32(8 * i)) : word;
    return i < 3 ? b.op2(Op::and_, low, b.i32(0xff)) : low;
  };
  rewriter.run([&](Value v) {
    const std::uint64_t signs = function.insts[v].imm;
    if (function.insts[v].op != Op::dot4 || has(signs)) return rewriter.keep(v);
    const Value first = function.arg(v, 0), second = function.arg(v, 1);
    const auto product = [&](unsigned i) {
      return b.op2(Op::mul, byte(first, (signs & ir::kDotFirst) != 0, i),
                   byte(second, (signs & ir::kDotSecond) != 0, i));
    };
    Value sum = product(0);
    for (unsigned i = 1; i < 3; ++i) sum = b.op2(Op::add, sum, product(i));
    rewriter.replace(v, Op::add, Type::i32, {sum, product(3)});
  });
}

}  // namespace ptx2spv::passes
