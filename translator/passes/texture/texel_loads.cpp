// Loads of texels. Where the texel's size is known it is one load of that size. Else sixteen bytes
// are loaded, which no texel crosses: textures start, and their rows follow, at multiples of 16.
#include "translator/passes/rewrite.hpp"
#include "translator/passes/texture/texture_records.hpp"

namespace ptx2spv::passes {

namespace {

/// A load of `bytes` at the offset, rounded down to a multiple of them.
Value load(Builder& b, Type type, Value base, Value offset, std::uint8_t bytes) {
  const Value kept = b.op2(Op::and_, offset, b.i32(~(bytes - 1u)));
  const Value address = b.op2(Op::add, base, b.inst(Op::zext, Type::i64, {kept}));
  return b.load(type, address, {.space = Space::global, .bytes = bytes, .readonly = true});
}

}  // namespace

void lower_texel_loads(Function& function, Module& module) {
  CfgRewriter rewriter(function);
  Builder& b = rewriter.builder();
  rewriter.run([&](Value value) {
    if (function.insts[value].op != Op::texel_load) return rewriter.keep(value);
    const Value base = function.arg(value, 0), offset = function.arg(value, 1),
                size = function.arg(value, 2);
    const Inst bytes = function.insts[size];
    const auto words = [&](Value first, Value second) {
      const Value zero = b.i32(0);
      rewriter.replace(value, Op::compose, Type::v4, {first, second, zero, zero});
    };
    if (bytes.op != Op::constant) {
      const Value all = load(b, Type::v4, base, offset, 16);
      const Value at = b.op2(Op::and_, offset, b.i32(15));
      return rewriter.replace(value, Op::library, Type::v4, {all, at, size},
                              module.library("tex_texel"));
    }
    switch (bytes.imm) {
      case 16: return rewriter.replace_by(value, load(b, Type::v4, base, offset, 16));
      case 8: {
        const Value both = load(b, Type::i64, base, offset, 8);
        return words(b.inst(Op::trunc, Type::i32, {both}), b.inst(Op::high, Type::i32, {both}));
      }
      case 4: return words(load(b, Type::i32, base, offset, 4), b.i32(0));
      default: {
        const Value word = load(b, Type::i32, base, offset, 4);
        const Value bit = b.op2(Op::shl, b.op2(Op::and_, offset, b.i32(3)), b.i32(3));
        return words(b.op2(Op::lshr, word, bit), b.i32(0));
      }
    }
  });
}

}  // namespace ptx2spv::passes
