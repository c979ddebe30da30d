// What the launch, or the thread model, makes of operations of a whole block.
#include "translator/passes/passes.hpp"
#include "translator/passes/rewrite.hpp"

namespace ptx2spv::passes {

bool native_reductions(Function& function) {
  const std::uint32_t at = (function.shared_bytes + 3) & ~3u;
  bool any = false;
  CfgRewriter rewriter(function);
  Builder& b = rewriter.builder();
  const auto meet = [&] { b.inst(Op::control_barrier, Type::none, {}); };
  rewriter.run([&](Value v) {
    const Inst inst = function.insts[v];
    if (inst.op != Op::bar_sync || inst.type == Type::none) return rewriter.keep(v);
    any = true;
    const auto kind = static_cast<BarKind>(inst.imm);
    const Value given = function.arg(v, 2);
    // What is counted: false ones of bar.red.and.
    const Value counts = b.cmp(kind == BarKind::red_and ? Op::eq : Op::ne, given, b.i32(0));
    // Behind dynamic shared memory.
    Value sum = b.i32(at);
    if (function.uses_dynamic_shared) {
      const Value dynamic = b.load(Type::i32, b.i32(abi::Push::dynamic_shared * 4),
                                   {.space = Space::push, .bytes = 4, .readonly = true});
      sum = b.op2(Op::add, sum, b.op2(Op::and_, b.op2(Op::add, dynamic, b.i32(3)), b.i32(~3u)));
    }
    const MemAttr shared{.space = Space::shared, .bytes = 4};
    // Variables, because the blocks are several.
    const auto keep = [&](Value value) {
      function.vars.push_back({function.insts[value].type, "reduced"});
      const auto var = static_cast<std::uint32_t>(function.vars.size() - 1);
      b.set(var, value);
      return var;
    };
    const std::uint32_t where = keep(sum), counted = keep(counts);
    meet();  // what the word was used for before is over
    rewriter.when(b.cmp(Op::eq, b.builtin(Builtin::local_index), b.i32(0)),
                  [&] { b.store(b.get(where), b.i32(0), shared); });
    meet();
    rewriter.when(b.get(counted), [&] {
      const Value old = b.inst(Op::atomic, Type::i32, {b.get(where), b.i32(1)});
      function.insts[old].mem = shared;
      function.insts[old].mem.atomic = AtomicOp::add;
    });
    meet();
    const Value all = b.load(Type::i32, b.get(where), shared);
    if (kind == BarKind::red_popc) return rewriter.replace_by(v, all);
    const Value truth = b.cmp(kind == BarKind::red_and ? Op::eq : Op::ne, all, b.i32(0));
    rewriter.replace(v, Op::zext, Type::i32, {truth});
  });
  if (any) function.shared_bytes = at + 4;
  return any;
}

void native_barriers(Function& function) {
  for (Block& block : function.blocks)
    for (const Value v : block.insts) {
      Inst& inst = function.insts[v];
      if (inst.op != Op::bar_sync) continue;
      inst.op = Op::control_barrier;
      inst.count = 0;
      inst.imm = 0;
    }
}

void fix_push_word(Function& function, std::uint32_t word, std::uint32_t known) {
  for (const Block& block : function.blocks)
    for (const Value value : block.insts) {
      Inst& inst = function.insts[value];
      if (inst.op != Op::load || inst.mem.space != Space::push) continue;
      const Inst& address = function.insts[function.arg(value, 0)];
      if (address.op != Op::constant || address.imm != word * 4) continue;
      inst.op = Op::constant;
      inst.count = 0;
      inst.mem = {};
      inst.imm = known;
    }
}

}  // namespace ptx2spv::passes
