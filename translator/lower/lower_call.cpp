// 9.7.12.5 call: direct and indirect calls of .func, and the functions that CUDA's run time
// supplies.
#include "translator/lower/call_shape.hpp"
#include "translator/lower/function.hpp"

namespace ptx2spv::lower {

using ir::BlockId;
using ir::Op;
using ir::Space;
using ir::Type;

std::vector<Value> FunctionLowering::argument_words(const Operand& list) {
  std::vector<Value> words;
  if (list.kind == OperandKind::none) return words;
  for (const Operand& argument : f_.list(list)) {
    if (argument.kind == OperandKind::address && param_words_.contains(argument.symbol)) {
      const auto count = static_cast<std::uint32_t>(
          (std::max<std::uint64_t>(m_.variable(argument.symbol).size, 4) + 3) / 4);
      if (addressed_.contains(argument.symbol)) {
        const std::uint32_t at =
            context_.local_offset[SymbolRef{ref_.module, argument.symbol}.key()];
        for (std::uint32_t i = 0; i < count; ++i)
          words.push_back(
              b_.load(Type::i32, b_.i32(at + 4 * i), {.space = Space::local, .bytes = 4}));
      } else {
        for (std::uint32_t i = 0; i < count; ++i)
          words.push_back(b_.get(param_words_[argument.symbol] + i));
      }
    } else if (argument.kind == OperandKind::reg) {
      words.push_back(read_reg(argument));
    } else {
      // An immediate or special register takes the width of the callee's register; 32 bits unless
      // it is known.
      words.push_back(read(argument, ptx::Type::b32));
    }
  }
  return words;
}

std::vector<std::uint32_t> FunctionLowering::result_words(const Operand& list) {
  std::vector<std::uint32_t> words;
  if (list.kind == OperandKind::none) return words;
  for (const Operand& result : f_.list(list)) {
    if (result.kind == OperandKind::reg) {
      words.push_back(var_of(result));
    } else if (param_words_.contains(result.symbol)) {
      const auto count = static_cast<std::uint32_t>(
          (std::max<std::uint64_t>(m_.variable(result.symbol).size, 4) + 3) / 4);
      for (std::uint32_t i = 0; i < count; ++i) words.push_back(param_words_[result.symbol] + i);
    } else {
      words.push_back(new_var(Type::i32, "unused"));
    }
  }
  return words;
}

void FunctionLowering::call_function(const Instruction& inst, std::uint32_t callee) {
  const auto a = args(inst);
  std::vector<Value> words = argument_words(a[ptx::kCallArguments]);
  const ptx::Module& their_module = context_.program.module(context_.functions[callee].module);
  const ptx::Function& theirs = context_.program.function(context_.functions[callee]);
  // Operands in the types of the callee's variables: parameters are words, register parameters as
  // declared.
  std::vector<Type> wanted;
  for (const ptx::SymbolId id : theirs.params) {
    const ptx::Symbol& symbol = their_module.symbol(id);
    if (symbol.kind == ptx::SymbolKind::reg)
      wanted.push_back(ir_type(symbol.type));
    else
      wanted.insert(wanted.end(),
                    (std::max<std::uint64_t>(their_module.variable(id).size, 4) + 3) / 4,
                    Type::i32);
  }
  if (words.size() != wanted.size())
    return error(a[ptx::kCallArguments].span, "the arguments of '" + std::string(theirs.name) +
                                                  "' do not have the sizes that it declares");
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = fit(words[i], wanted[i]);
  ir::Function::Call call;
  call.callee = callee;
  call.result_vars = result_words(a[ptx::kCallReturns]);
  out_.calls.push_back(std::move(call));
  b_.inst(Op::call, Type::none, words, out_.calls.size() - 1);
  // Results that are addressed are copied where their address leads.
  if (a[ptx::kCallReturns].kind != OperandKind::none)
    for (const Operand& result : f_.list(a[ptx::kCallReturns])) {
      if (result.kind == OperandKind::reg || !addressed_.contains(result.symbol)) continue;
      const std::uint32_t at = context_.local_offset[SymbolRef{ref_.module, result.symbol}.key()];
      const auto count = static_cast<std::uint32_t>((m_.variable(result.symbol).size + 3) / 4);
      for (std::uint32_t i = 0; i < count; ++i)
        b_.store(b_.i32(at + 4 * i), b_.get(param_words_[result.symbol] + i),
                 {.space = Space::local, .bytes = 4});
    }
}

void FunctionLowering::call_indirect(const Instruction& inst) {
  const auto a = args(inst);
  const Value target = memory_.as64(read(a[ptx::kCallCallee], ptx::Type::b64));
  std::vector<FunctionRef> candidates;
  if (const ptx::TargetList* list = targets_of(f_, inst)) {
    for (const ptx::SymbolId id : list->targets)
      candidates.push_back(context_.program.resolve_function(ref_.module, id));
  } else if (const ptx::Prototype* prototype = prototype_of(f_, inst)) {
    const CallShape wanted = shape_of(*prototype);
    for (const FunctionRef& ref : context_.address_taken)
      if (shape_of(context_.program.module(ref.module), context_.program.function(ref)) == wanted)
        candidates.push_back(ref);
  }
  const BlockId join = b_.new_block();
  for (const FunctionRef& ref : candidates) {
    const std::uint32_t number = context_.number(ref);
    if (number == 0xffffffffu) continue;
    const BlockId take = b_.new_block(), next = b_.new_block();
    b_.cond_br(b_.cmp(Op::eq, target, b_.i64(context_.program.function_number(ref))), take, next);
    b_.at(take);
    call_function(inst, number);
    b_.br(join);
    b_.at(next);
  }
  lower_trap(abi::TrapKind::bad_call, {}, {b_.inst(Op::trunc, Type::i32, {target})});
  b_.at(join);
  ended_ = false;
}

void FunctionLowering::call_assert(const Instruction& inst) {
  // __assertfail(message, file, line, function, character size): the host reads the strings by
  // address.
  const std::vector<Value> words = argument_words(args(inst)[ptx::kCallArguments]);
  std::vector<Value> flat;
  for (const Value word : words) {
    if (out_.insts[word].type == Type::i64) {
      flat.push_back(b_.inst(Op::trunc, Type::i32, {word}));
      flat.push_back(b_.inst(Op::high, Type::i32, {word}));
    } else {
      flat.push_back(word);
    }
  }
  if (flat.size() < 5) return refuse(inst, "__assertfail with other parameters");
  lower_trap(abi::TrapKind::assertion, {}, {flat[4], flat[0], flat[2]});
  b_.at(b_.new_block());
  ended_ = false;
}

/// vprintf(format, arguments): one entry of the printf buffer. How many bytes the arguments take is
/// the format's business, which the host reads; what can be theirs is copied, up to the thread's
/// local memory.
void FunctionLowering::call_vprintf(const Instruction& inst) {
  context_.out.info.uses_printf = true;
  const std::vector<Value> words = argument_words(args(inst)[ptx::kCallArguments]);
  Value format, list;
  if (words.size() == 4) {
    format = b_.inst(Op::pack, Type::i64, {words[0], words[1]});
    list = b_.inst(Op::pack, Type::i64, {words[2], words[3]});
  } else if (words.size() == 2) {
    format = memory_.as64(words[0]);
    list = memory_.as64(words[1]);
  } else {
    return refuse(inst, "vprintf with other parameters");
  }
  constexpr std::uint32_t kMostBytes = 256;
  std::uint32_t bytes = 0;
  for (const ptx::SymbolId id : f_.variables)
    if (m_.symbol(id).space == ptx::Space::local)
      bytes += static_cast<std::uint32_t>(m_.variable(id).size);
  bytes = std::min((bytes + 3) / 4 * 4, kMostBytes);
  const std::uint32_t header = 20, entry = header + bytes;
  const Value buffer = memory_.push_address(abi::Push::printf_buffer);
  const auto at = [&](Value base, std::uint32_t offset) {
    return b_.op2(Op::add, base, b_.i64(offset));
  };
  const BlockId present = b_.new_block(), fits = b_.new_block(), full = b_.new_block(),
                join = b_.new_block();
  b_.cond_br(b_.cmp(Op::ne, buffer, b_.i64(0)), present, join);
  b_.at(present);
  const auto add = [&](Value address, std::uint32_t amount) {
    const Value old = b_.inst(Op::atomic, Type::i32, {address, b_.i32(amount)});
    b_.last(old).mem = {.space = Space::global, .bytes = 4, .atomic = ir::AtomicOp::add};
    return old;
  };
  const Value used = add(buffer, entry);
  const Value capacity = b_.load(Type::i32, at(buffer, 4), {.space = Space::global, .bytes = 4});
  const Value end = b_.op2(Op::add, used, b_.i32(entry));
  // The counter may run past the capacity and, after 4 GiB of calls, around.
  const Value room = b_.op2(Op::and_, b_.cmp(Op::ule, end, capacity), b_.cmp(Op::ult, used, end));
  b_.cond_br(room, fits, full);
  b_.at(full);
  add(at(buffer, 8), 1);
  b_.br(join);
  b_.at(fits);
  const Value base =
      b_.op2(Op::add, at(buffer, abi::kPrintfHeaderBytes), b_.inst(Op::zext, Type::i64, {used}));
  const auto put = [&](std::uint32_t offset, Value word) {
    b_.store(at(base, offset), word, {.space = Space::global, .bytes = 4});
  };
  put(0, b_.i32(entry));
  const auto push = [&](std::uint32_t word) {
    return b_.load(Type::i32, b_.i32(word * 4),
                   {.space = Space::push, .bytes = 4, .readonly = true});
  };
  const auto wide = [&](Value v) { return b_.inst(Op::zext, Type::i64, {v}); };
  using enum ir::Builtin;
  const Value block =
      b_.op2(Op::mul, b_.op2(Op::mul, push(abi::Push::block_x), push(abi::Push::block_y)),
             push(abi::Push::block_z));
  const Value row =
      b_.op2(Op::add, wide(b_.builtin(workgroup_id_y)),
             b_.op2(Op::mul, wide(b_.builtin(workgroup_id_z)), wide(push(abi::Push::grid_y))));
  const Value cta = b_.op2(Op::add, wide(b_.builtin(workgroup_id_x)),
                           b_.op2(Op::mul, row, wide(push(abi::Push::grid_x))));
  const Value thread = b_.op2(Op::add, b_.op2(Op::mul, cta, wide(block)), wide(tid_linear()));
  put(4, b_.inst(Op::trunc, Type::i32, {thread}));
  put(8, b_.inst(Op::high, Type::i32, {thread}));
  put(12, b_.inst(Op::trunc, Type::i32, {format}));
  put(16, b_.inst(Op::high, Type::i32, {format}));
  const Value first = b_.inst(Op::trunc, Type::i32, {list});
  const Value local =
      b_.cmp(Op::eq, b_.inst(Op::high, Type::i32, {list}), b_.i32(abi::kLocalWindowHi));
  const std::uint32_t last = context_.local_bytes >= 4 ? context_.local_bytes - 4 : 0;
  for (std::uint32_t i = 0; i < bytes; i += 4) {
    const Value offset = b_.op2(Op::umin, b_.op2(Op::add, first, b_.i32(i)), b_.i32(last));
    const Value safe = b_.select(local, offset, b_.i32(0));
    put(header + i, b_.load(Type::i32, safe, {.space = Space::local, .bytes = 4}));
  }
  b_.br(join);
  b_.at(join);
  if (args(inst)[ptx::kCallReturns].kind != OperandKind::none)
    for (const std::uint32_t var : result_words(args(inst)[ptx::kCallReturns]))
      b_.set(var, b_.i32(0));
}

void FunctionLowering::lower_call(const Instruction& inst) {
  const Operand& callee = args(inst)[ptx::kCallCallee];
  if (callee.kind == OperandKind::reg) return call_indirect(inst);
  const FunctionRef ref = context_.program.resolve_function(ref_.module, callee.symbol);
  const std::string_view name = m_.symbol(callee.symbol).name;
  if (ref.found() && context_.program.function(ref).has_body)
    return call_function(inst, context_.number(ref));
  if (name == "vprintf") return call_vprintf(inst);
  if (name == "__assertfail" || name == "__assert_fail") return call_assert(inst);
  if (name == "malloc" || name == "free")
    return error(callee.span, "'" + std::string(name) +
                                  "' in a kernel is not supported: there is no device heap");
  error(callee.span, "'" + std::string(name) + "' is external and no module defines it");
}

}  // namespace ptx2spv::lower
