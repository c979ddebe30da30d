// Reads of textures of linear memory and of those that show the instruction nothing, before
// expand-texture-reads makes plain code of them.
#include <array>
#include <string>

#include "translator/ir/texture_hiding.hpp"
#include "translator/passes/rewrite.hpp"
#include "translator/passes/sanitize/sanitize.hpp"
#include "translator/passes/texture/texture_records.hpp"

namespace ptx2spv::passes {

namespace {

/// A read at integer coordinates, which linear memory has.
bool fetches(const TextureOp& op) {
  return op.use.integer && !op.use.offset && op.use.mode != TextureMode::gradient &&
         op.use.geometry == TextureGeometry::d1;
}

}  // namespace

void mark_fetches(Function& function, const std::vector<TextureOp>& textures) {
  std::uint32_t mark = 0;
  std::array<std::uint32_t, kTextureKinds> kinds{};
  const auto variable = [&](std::uint32_t& known, std::string name) {
    if (!known) {
      function.vars.push_back({Type::i64, std::move(name)});
      known = static_cast<std::uint32_t>(function.vars.size() - 1);
    }
    return known;
  };
  CfgRewriter rewriter(function);
  Builder& b = rewriter.builder();
  rewriter.run([&](Value value) {
    const Inst inst = function.insts[value];
    if (inst.op != Op::texture_read) return rewriter.keep(value);
    const Value record = function.arg(value, 0);
    const auto word = [&](std::uint32_t which) {
      return b.load(Type::i32, b.op2(Op::add, record, b.i32(which * 4)),
                    {.space = Space::textures, .bytes = 4, .readonly = true});
    };
    const TextureUse& use = textures[inst.imm].use;
    const std::uint32_t kind = texture_kind(use);
    const Value hidden =
        b.op2(Op::and_, word(abi::x_sampler), b.i32(hiding_bit(use.geometry, use.integer)));
    const Value handle =
        b.inst(Op::pack, Type::i64, {record_index(b, record), word(abi::x_generation)});
    b.set(variable(kinds[kind], kOtherKind + std::to_string(kind)),
          b.select(b.cmp(Op::eq, hidden, b.i32(0)), b.i64(0), handle));
    if (!fetches(textures[inst.imm])) return rewriter.keep(value);
    const auto coordinate = static_cast<unsigned>(textures[inst.imm].coordinates[0]);
    const Value x = function.arg(value, coordinate);
    const Value memory = b.op2(Op::and_, word(abi::x_sampler), b.i32(abi::sample_memory));
    const Value array = b.cmp(Op::eq, memory, b.i32(0));
    const Value ok = b.op2(Op::or_, array, b.cmp(Op::ult, x, word(abi::x_width)));
    b.set(variable(mark, kFetch),
          b.inst(Op::pack, Type::i64, {x, b.inst(Op::zext, Type::i32, {ok})}));
    rewriter.keep(value);
  });
}

}  // namespace ptx2spv::passes
