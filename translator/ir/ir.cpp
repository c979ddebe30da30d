#include "translator/ir/ir.hpp"

#include "ptx2spv/abi.hpp"

#include <array>

namespace ptx2spv::ir {

namespace {
using namespace flag;
constexpr std::array kOps = {
#define OP(name, types, flags, meaning) OpInfo{#name, types, flags},
#include "translator/ir/ops.def"
};
}  // namespace

const OpInfo& info(Op op) { return kOps[static_cast<std::size_t>(op)]; }

std::string_view name(Type type) {
  constexpr std::array<std::string_view, 6> kNames = {"none", "i1", "i32", "i64", "v2", "v4"};
  return kNames[static_cast<std::size_t>(type)];
}

void Function::compute_preds() {
  for (Block& block : blocks) block.preds.clear();
  for (BlockId b = 0; b < blocks.size(); ++b)
    for (BlockId s : blocks[b].succs) blocks[s].preds.push_back(b);
}

std::uint32_t Module::library(std::string_view wanted) {
  for (std::uint32_t i = 0; i < library_names.size(); ++i)
    if (library_names[i] == wanted) return i;
  library_names.emplace_back(wanted);
  return static_cast<std::uint32_t>(library_names.size() - 1);
}

BlockId Builder::new_block() {
  if (f_.blocks.size() >= f_.most_blocks) throw Outgrown();
  f_.blocks.emplace_back();
  f_.blocks.back().loc = loc_;
  return static_cast<BlockId>(f_.blocks.size() - 1);
}

Value Builder::inst(Op op, Type type, std::span<const Value> args, std::uint64_t imm) {
  if (f_.insts.size() >= f_.most_insts) throw Outgrown();
  Inst inst;
  inst.op = op;
  inst.type = type;
  inst.count = static_cast<std::uint16_t>(args.size());
  inst.first = static_cast<std::uint32_t>(f_.operands.size());
  inst.loc = loc_;
  inst.imm = imm;
  f_.operands.insert(f_.operands.end(), args.begin(), args.end());
  f_.insts.push_back(inst);
  const auto value = static_cast<Value>(f_.insts.size() - 1);
  f_.blocks[block_].insts.push_back(value);
  return value;
}

Value Builder::i32(std::uint32_t value) { return inst(Op::constant, Type::i32, {}, value); }
Value Builder::i64(std::uint64_t value) { return inst(Op::constant, Type::i64, {}, value); }
Value Builder::i1(bool value) { return inst(Op::constant, Type::i1, {}, value ? 1 : 0); }

Value Builder::builtin(Builtin which) {
  const Value value = inst(Op::builtin, Type::i32, {});
  f_.insts[value].builtin = which;
  return value;
}

Value Builder::load(Type type, Value address, MemAttr mem) {
  const Value value = inst(Op::load, type, {address});
  f_.insts[value].mem = mem;
  return value;
}

void Builder::store(Value address, Value value, MemAttr mem) {
  const Value v = inst(Op::store, Type::none, {address, value});
  f_.insts[v].mem = mem;
}

Value Builder::fp(Op op, Type type, std::initializer_list<Value> args, FpAttr attr) {
  const Value value = inst(op, type, args);
  f_.insts[value].fp = attr;
  return value;
}

void Builder::br(BlockId target) {
  Block& block = f_.blocks[block_];
  block.term = Term::br;
  block.succs.assign(1, target);
}

void Builder::cond_br(Value cond, BlockId if_true, BlockId if_false) {
  Block& block = f_.blocks[block_];
  block.term = Term::cond_br;
  block.cond = cond;
  block.succs.assign({if_true, if_false});
}

void Builder::exit() {
  Block& block = f_.blocks[block_];
  block.term = Term::exit;
  block.succs.clear();
}

void Builder::ret() {
  exit();
  f_.blocks[block_].term = Term::ret;
}

Value linear_thread(Builder& b) {
  const auto push = [&](std::uint32_t word) {
    return b.load(Type::i32, b.i32(word * 4), {.space = Space::push, .bytes = 4, .readonly = true});
  };
  const Value rows =
      b.op2(Op::add, b.builtin(Builtin::local_id_y),
            b.op2(Op::mul, b.builtin(Builtin::local_id_z), push(abi::Push::block_y)));
  return b.op2(Op::add, b.builtin(Builtin::local_id_x),
               b.op2(Op::mul, rows, push(abi::Push::block_x)));
}

Value never(Builder& b, std::uint32_t number) {
  const Value size = b.load(Type::i32, b.i32(abi::Push::grid_x * 4),
                            {.space = Space::push, .bytes = 4, .readonly = true});
  return b.cmp(Op::slt, size, b.i32(0u - number));
}

}  // namespace ptx2spv::ir
