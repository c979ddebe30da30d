// %tid and %ctaid: which invocation is which thread.
#include "translator/passes/rewrite.hpp"
#include "translator/passes/traps/lower_traps.hpp"

namespace ptx2spv::passes {

namespace {

Value push_word(Builder& b, std::uint32_t word) {
  return b.load(Type::i32, b.i32(word * 4), {.space = Space::push, .bytes = 4, .readonly = true});
}

/// Variables for tid and ctaid in the flat model, set in a new entry block; threads past the end
/// leave.
struct FlatIds {
  std::uint32_t tid[3], cta[3];
};

FlatIds flat_prologue(Function& function) {
  Builder b(function);
  FlatIds ids{};
  for (int i = 0; i < 3; ++i) {
    ids.tid[i] = static_cast<std::uint32_t>(function.vars.size());
    function.vars.push_back({Type::i32, "tid" + std::to_string(i)});
    ids.cta[i] = static_cast<std::uint32_t>(function.vars.size());
    function.vars.push_back({Type::i32, "ctaid" + std::to_string(i)});
  }
  const BlockId body = b.new_block();
  const BlockId start = 0;
  std::swap(function.blocks[body], function.blocks[start]);
  // Edges never lead to the entry, so only the two blocks' places change.
  b.at(start);
  const Value row =
      b.op2(Op::mul, b.builtin(Builtin::workgroup_id_y), b.builtin(Builtin::num_workgroups_x));
  const Value group = b.op2(Op::add, b.builtin(Builtin::workgroup_id_x), row);
  const Value thread = b.op2(Op::add, b.op2(Op::mul, group, b.builtin(Builtin::workgroup_size_x)),
                             b.builtin(Builtin::local_id_x));
  const Value inside = b.cmp(Op::ult, thread, push_word(b, abi::Push::threads));
  const Value bx = push_word(b, abi::Push::block_x);
  const Value by = push_word(b, abi::Push::block_y);
  const Value bz = push_word(b, abi::Push::block_z);
  const Value per_block = b.op2(Op::mul, b.op2(Op::mul, bx, by), bz);
  const auto divide = [&](Value a, Value by_what, Value& remainder) {
    const Value quotient = b.op2(Op::udiv, a, by_what);
    remainder = b.op2(Op::sub, a, b.op2(Op::mul, quotient, by_what));
    return quotient;
  };
  Value in_block = 0, x = 0, y = 0;
  Value cta = divide(thread, per_block, in_block);
  cta = b.op2(Op::add, cta, push_word(b, abi::Push::base_x));
  Value rest = divide(in_block, bx, x);
  b.set(ids.tid[0], x);
  const Value z = divide(rest, by, y);
  b.set(ids.tid[1], y);
  b.set(ids.tid[2], z);
  Value cx = 0, cy = 0;
  rest = divide(cta, push_word(b, abi::Push::grid_x), cx);
  const Value cz = divide(rest, push_word(b, abi::Push::grid_y), cy);
  b.set(ids.cta[0], cx);
  b.set(ids.cta[1], cy);
  b.set(ids.cta[2], cz);
  const BlockId outside = b.new_block();
  b.cond_br(inside, body, outside);
  b.at(outside);
  b.exit();
  return ids;
}

}  // namespace

void apply_thread_model(Function& function, ThreadModel model, bool whole_grid) {
  if (model == ThreadModel::flat) {
    // The prologue reads the hardware's numbers itself, so the kernel's own reads are replaced
    // first.
    std::vector<Value> reads;
    for (const Block& block : function.blocks)
      for (const Value v : block.insts)
        if (function.insts[v].op == Op::builtin) reads.push_back(v);
    const FlatIds ids = flat_prologue(function);
    for (const Value v : reads) {
      Inst& inst = function.insts[v];
      const auto which = static_cast<unsigned>(inst.builtin);
      const auto first_cta = static_cast<unsigned>(Builtin::workgroup_id_x);
      const auto first_tid = static_cast<unsigned>(Builtin::local_id_x);
      if (which >= first_cta && which < first_cta + 3) {
        inst.op = Op::get_var;
        inst.imm = ids.cta[which - first_cta];
      } else if (which >= first_tid && which < first_tid + 3) {
        inst.op = Op::get_var;
        inst.imm = ids.tid[which - first_tid];
      }
    }
    return;
  }
  CfgRewriter rewriter(function);
  Builder& b = rewriter.builder();
  rewriter.run([&](Value value) {
    const Inst inst = function.insts[value];
    // A workgroup is a block, whose size the driver knows.
    if (model == ThreadModel::direct && inst.op == Op::load && inst.mem.space == Space::push) {
      const Inst& address = function.insts[function.arg(value, 0)];
      const std::uint64_t word = address.imm / 4;
      if (address.op == Op::constant && word >= abi::Push::block_x && word <= abi::Push::block_z) {
        rewriter.keep(value);
        Inst& size = function.insts[value];
        size.op = Op::builtin;
        size.builtin = static_cast<Builtin>(static_cast<unsigned>(Builtin::workgroup_size_x) +
                                            (word - abi::Push::block_x));
        size.count = 0;
        size.mem = {};
        return;
      }
    }
    if (whole_grid) return rewriter.keep(value);
    const auto which = static_cast<unsigned>(inst.builtin);
    const auto first = static_cast<unsigned>(Builtin::workgroup_id_x);
    if (inst.op != Op::builtin || which < first || which > first + 2) return rewriter.keep(value);
    const Value group = b.builtin(inst.builtin);
    rewriter.replace(value, Op::add, Type::i32,
                     {group, push_word(b, abi::Push::base_x + (which - first))});
  });
}

}  // namespace ptx2spv::passes
