// 9.7.12.5 call: direct and indirect calls of .func, and the functions that CUDA's run time
// supplies.
#include "translator/lower/call_shape.hpp"
#include "translator/lower/function.hpp"

#include <numeric>

namespace ptx2spv::lower {

/// The variables of a register or of one of its elements.
std::vector<std::uint32_t> FunctionLowering::vars_of(const Operand& operand) const {
  ptx::Symbol symbol = m_.symbol(operand.symbol);
  if (operand.part != ptx::Part::none) symbol.vec = 1;
  std::vector<std::uint32_t> vars(variables_of(symbol).size());
  std::iota(vars.begin(), vars.end(), var_of(operand));
  return vars;
}

std::vector<Value> FunctionLowering::argument_words(const Operand& argument, ptx::Type constant) {
  if (argument.kind == OperandKind::reg) {
    std::vector<Value> values;
    for (const std::uint32_t var : vars_of(argument)) values.push_back(b_.get(var));
    return values;
  }
  if (argument.kind != OperandKind::address || !param_words_.contains(argument.symbol))
    return {read(argument, constant)};
  std::vector<Value> words;
  const auto count = static_cast<std::uint32_t>(
      (std::max<std::uint64_t>(m_.variable(argument.symbol).size, 4) + 3) / 4);
  const bool addressed = addressed_.contains(argument.symbol);
  for (std::uint32_t i = 0; i < count; ++i)
    words.push_back(addressed ? b_.load(Type::i32, local_address(argument.symbol, 4 * i),
                                        {.space = Space::local, .bytes = 4})
                              : b_.get(param_words_[argument.symbol] + i));
  return words;
}

std::vector<Value> FunctionLowering::argument_words(const Operand& list) {
  std::vector<Value> words;
  if (list.kind == OperandKind::none) return words;
  for (const Operand& argument : f_.list(list)) {
    const std::vector<Value> of_one = argument_words(argument, ptx::Type::b32);
    words.insert(words.end(), of_one.begin(), of_one.end());
  }
  return words;
}

namespace {
/// Bytes of one variable of a register (a vector's element, half of 128 bits), or of a .param's.
unsigned variable_bytes(const ptx::Symbol& symbol) {
  if (symbol.kind != ptx::SymbolKind::reg) return 4;
  return std::min(ptx::bytes(symbol.type), 8u);
}
}  // namespace

/// One operand's values in the types of its other side, which may be a register where this one is a
/// .param variable, or a vector of other elements.
std::vector<Value> FunctionLowering::regroup(const std::vector<Value>& values, unsigned bytes,
                                             const std::vector<Type>& wanted,
                                             unsigned wanted_bytes) {
  std::vector<Value> out = values;
  if (values.size() != wanted.size()) {
    if (bytes == 0 || wanted_bytes == 0 || values.size() * bytes != wanted.size() * wanted_bytes)
      return {};
    out = memory_.pieces(memory_.words_of(values, bytes), wanted_bytes,
                         static_cast<unsigned>(wanted.size()));
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = fit(out[i], wanted[i]);
  return out;
}

/// The variables of one result; `types` are those of a result that goes nowhere.
std::vector<std::uint32_t> FunctionLowering::result_words(const Operand& result,
                                                          const std::vector<Type>& types) {
  std::vector<std::uint32_t> words;
  if (result.kind == OperandKind::reg) {
    words = vars_of(result);
  } else if (param_words_.contains(result.symbol)) {
    const auto count = static_cast<std::uint32_t>(
        (std::max<std::uint64_t>(m_.variable(result.symbol).size, 4) + 3) / 4);
    for (std::uint32_t i = 0; i < count; ++i) words.push_back(param_words_[result.symbol] + i);
  } else {
    for (const Type type : types) words.push_back(new_var(type, "unused"));
  }
  return words;
}

std::vector<std::uint32_t> FunctionLowering::result_words(const Operand& list) {
  std::vector<std::uint32_t> words;
  if (list.kind == OperandKind::none) return words;
  for (const Operand& result : f_.list(list)) {
    const std::vector<std::uint32_t> of_one = result_words(result, {Type::i32});
    words.insert(words.end(), of_one.begin(), of_one.end());
  }
  return words;
}

void FunctionLowering::call_function(const Instruction& inst, std::uint32_t callee) {
  const auto a = args(inst);
  const ptx::Module& their_module = context_.program.module(context_.functions[callee].module);
  const ptx::Function& theirs = context_.program.function(context_.functions[callee]);
  const auto disagree = [&](const Operand& where, const char* what) {
    error(where.span, "the " + std::string(what) + " of '" + std::string(theirs.name) +
                          "' do not have the sizes that it declares");
  };
  // The types of the callee's variables: parameters are words, register parameters as declared.
  const auto types_of = [&](ptx::SymbolId id) {
    const ptx::Symbol& symbol = their_module.symbol(id);
    if (symbol.kind == ptx::SymbolKind::reg) return variables_of(symbol);
    return std::vector<Type>((std::max<std::uint64_t>(their_module.variable(id).size, 4) + 3) / 4,
                             Type::i32);
  };
  std::vector<Value> words;
  for (std::size_t i = 0; i < theirs.params.size(); ++i) {
    const std::vector<Type> wanted = types_of(theirs.params[i]);
    const bool wide = wanted.size() == 2 || wanted[0] == Type::i64;
    const Operand& passed = f_.list(a[ptx::kCallArguments])[i];
    const bool named = passed.kind == OperandKind::reg || passed.kind == OperandKind::address;
    const unsigned bytes = named ? variable_bytes(m_.symbol(passed.symbol)) : wide ? 8 : 4;
    const std::vector<Value> of_one =
        regroup(argument_words(passed, wide ? ptx::Type::b64 : ptx::Type::b32), bytes, wanted,
                variable_bytes(their_module.symbol(theirs.params[i])));
    if (of_one.size() != wanted.size()) return disagree(a[ptx::kCallArguments], "arguments");
    words.insert(words.end(), of_one.begin(), of_one.end());
  }
  // Results come in the callee's types, too.
  struct Taken {
    std::vector<std::uint32_t> from, to;
    unsigned from_bytes, to_bytes;
  };
  std::vector<Taken> taken;
  ir::Function::Call call;
  call.callee = callee;
  for (std::size_t i = 0; i < theirs.returns.size(); ++i) {
    const std::vector<Type> given = types_of(theirs.returns[i]);
    const Operand& result = f_.list(a[ptx::kCallReturns])[i];
    const unsigned bytes = variable_bytes(their_module.symbol(theirs.returns[i]));
    const bool goes = result.kind != OperandKind::sink;
    Taken one{{},
              result_words(result, given),
              bytes,
              goes ? variable_bytes(m_.symbol(result.symbol)) : bytes};
    bool same = one.to.size() == given.size();
    for (std::size_t k = 0; same && k < given.size(); ++k)
      same = out_.vars[one.to[k]].type == given[k];
    if (same) {
      call.result_vars.insert(call.result_vars.end(), one.to.begin(), one.to.end());
      continue;
    }
    for (const Type type : given) one.from.push_back(new_var(type, "result"));
    call.result_vars.insert(call.result_vars.end(), one.from.begin(), one.from.end());
    taken.push_back(std::move(one));
  }
  context_.argument_words += words.size() + call.result_vars.size();
  if (context_.argument_words > kArgumentWords)
    return error(inst.opcode_span,
                 fmt::format("the calls of a kernel may pass {} words in all", kArgumentWords));
  out_.calls.push_back(std::move(call));
  b_.inst(Op::call, Type::none, words, out_.calls.size() - 1);
  for (const Taken& one : taken) {
    std::vector<Value> values;
    std::vector<Type> types;
    for (const std::uint32_t var : one.from) values.push_back(b_.get(var));
    for (const std::uint32_t var : one.to) types.push_back(out_.vars[var].type);
    values = regroup(values, one.from_bytes, types, one.to_bytes);
    if (values.size() != types.size()) return disagree(a[ptx::kCallReturns], "results");
    for (std::size_t i = 0; i < values.size(); ++i) b_.set(one.to[i], values[i]);
  }
  // Results that are addressed are copied where their address leads.
  if (a[ptx::kCallReturns].kind != OperandKind::none)
    for (const Operand& result : f_.list(a[ptx::kCallReturns])) {
      if (result.kind == OperandKind::reg || !addressed_.contains(result.symbol)) continue;
      const auto count = static_cast<std::uint32_t>((m_.variable(result.symbol).size + 3) / 4);
      for (std::uint32_t i = 0; i < count; ++i)
        b_.store(local_address(result.symbol, 4 * i), b_.get(param_words_[result.symbol] + i),
                 {.space = Space::local, .bytes = 4});
    }
}

void FunctionLowering::call_indirect(const Instruction& inst) {
  const auto a = args(inst);
  const Value target = memory_.as64(read(a[ptx::kCallCallee], ptx::Type::b64));
  std::vector<FunctionRef> candidates;
  if (const ptx::TargetList* list = targets_of(m_, f_, inst)) {
    for (const ptx::SymbolId id : list->targets)
      candidates.push_back(context_.program.resolve_function(ref_.module, id));
  } else if (const ptx::Prototype* prototype = prototype_of(m_, f_, inst)) {
    const auto taken = context_.address_taken.find(shape_of(*prototype));
    if (taken != context_.address_taken.end()) candidates = taken->second;
  }
  context_.indirect_targets += candidates.size();
  if (context_.indirect_targets > kIndirectTargets)
    return error(
        inst.opcode_span,
        fmt::format("the indirect calls of a kernel may have {} functions as their targets "
                    "in all, counted for every call",
                    kIndirectTargets));
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
  if (flat.size() < 7) return refuse(inst, "__assertfail with other parameters");
  lower_trap(abi::TrapKind::assertion, {}, {flat[4], flat[0], flat[2], flat[5]});
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
  const Value thread =
      b_.op2(Op::add, b_.op2(Op::mul, cta, wide(block)), wide(ir::linear_thread(b_)));
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
  if (const auto heap = heap_call(name)) return call_heap(inst, *heap);
  error(callee.span, "'" + std::string(name) + "' is external and no module defines it");
}

}  // namespace ptx2spv::lower
