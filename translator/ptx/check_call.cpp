// Calls against the callee's declaration or the prototype.
#include "translator/ptx/checker.hpp"

namespace ptx2spv::ptx {

namespace {

/// What the function or the prototype declares of a parameter or result.
struct Formal {
  Type type;
  unsigned vec;
  bool is_reg, has_size, is_array;
  std::uint64_t size;
  std::uint32_t align;
  std::string_view name;
  Span span;
};

/// What is called: a function, or any that a prototype describes.
struct Callee {
  const Function* function = nullptr;
  const Prototype* prototype = nullptr;
  Span declared;

  std::size_t returns() const {
    return function ? function->returns.size() : prototype->returns.size();
  }
  std::size_t params() const {
    return function ? function->params.size() : prototype->params.size();
  }
  Formal formal(const Module& m, std::size_t i, bool result) const;
};

Formal Callee::formal(const Module& m, std::size_t i, bool result) const {
  if (function == nullptr) {
    const PrototypeParam& param = result ? prototype->returns[i] : prototype->params[i];
    const bool is_reg = param.space == Space::reg;
    const unsigned size = bytes(param.type);
    const bool vector = !param.is_array && size != 0;
    const unsigned vec = vector ? static_cast<unsigned>(param.size / size) : 1;
    return {param.is_array ? Type::none : param.type,
            vec,
            is_reg,
            param.size != 0,
            param.is_array,
            param.size,
            param.align,
            "",
            declared};
  }
  const SymbolId id = result ? function->returns[i] : function->params[i];
  const Symbol& s = m.symbol(id);
  if (s.kind == SymbolKind::reg) return {s.type, s.vec, true, true, false, 0, 0, s.name, s.span};
  const Variable& v = m.variable(id);
  const bool scalar = !is_opaque(s.type) && s.vec == 1 && !v.is_array;
  return {scalar ? s.type : Type::none,
          1,
          false,
          !v.unsized,
          v.is_array,
          v.size,
          v.align,
          s.name,
          s.span};
}

}  // namespace

void Checker::check_call() {
  const Operand& callee = op(kCallCallee);
  const Operand& returns = op(kCallReturns);
  const Operand& arguments = op(kCallArguments);
  const Operand& prototype = op(kCallPrototype);
  Callee called;
  const Function*& function = called.function;
  if (callee.kind == OperandKind::function) {
    function = &m_.functions[m_.symbol(callee.symbol).index];
    if (function->is_entry) {
      fail(callee, "'" + std::string(function->name) + "' is a kernel and is not called");
      return;
    }
    if (prototype.kind == OperandKind::targets && prototype.symbol != kNoSymbol) {
      fail(prototype, "a call by name takes neither targets nor a prototype");
      return;
    }
  } else {
    if (prototype.kind != OperandKind::targets || prototype.symbol == kNoSymbol) {
      fail(callee, "a call through a register names its targets or a prototype");
      return;
    }
    if (!address_register(callee)) return;
    const Symbol& s = m_.symbol(prototype.symbol);
    if (s.kind == SymbolKind::prototype) {
      called.prototype = &f_.prototypes[s.index];
      called.declared = s.span;
    } else if (s.kind == SymbolKind::branch_targets) {
      const TargetList& list = f_.target_lists[s.index];
      if (!list.calls) {
        fail(prototype, "'" + std::string(s.name) + "' lists labels, not functions");
        return;
      }
      if (!list.targets.empty() && list.targets.front() != kNoSymbol) {
        function = &m_.functions[m_.symbol(list.targets.front()).index];
      }
      for (const SymbolId each : list.targets) {
        if (each == kNoSymbol || function == nullptr) continue;
        const Function& other = m_.functions[m_.symbol(each).index];
        if (other.params.size() != function->params.size() ||
            other.returns.size() != function->returns.size()) {
          fail(prototype, "the functions of '" + std::string(s.name) + "' differ in parameters");
          return;
        }
      }
    } else if (s.kind == SymbolKind::function) {
      function = &m_.functions[s.index];
    }
  }
  if (function == nullptr && called.prototype == nullptr) return;
  if (function != nullptr) called.declared = function->span;
  const std::size_t wanted_returns = called.returns(), wanted_arguments = called.params();
  const auto returned =
      returns.kind == OperandKind::list ? f_.list(returns) : std::span<const Operand>{};
  const auto passed =
      arguments.kind == OperandKind::list ? f_.list(arguments) : std::span<const Operand>{};
  if (returned.size() != wanted_returns || passed.size() < wanted_arguments ||
      (passed.size() > wanted_arguments && !(function != nullptr && function->name == "vprintf"))) {
    Diagnostic& d = sink_.error(
        inst_->span, fmt::format("the call passes {} and takes back {}, the function has {} and {}",
                                 passed.size(), returned.size(), wanted_arguments, wanted_returns));
    d.notes.push_back({called.declared, "declared here"});
    return;
  }
  const auto agree = [&](const Operand& operand, const Formal& formal, bool is_dest) {
    const unsigned width = bits(formal.type) * formal.vec;
    if (operand.kind == OperandKind::address) {
      const Symbol& actual = m_.symbol(operand.symbol);
      if (actual.kind != SymbolKind::variable && actual.kind != SymbolKind::param) return true;
      if (actual.space != Space::param)
        return fail(operand, "an argument is a register, a constant or a .param variable");
      const Variable& v = m_.variable(operand.symbol);
      if (formal.is_reg && (v.is_array || 8 * v.size != width))
        return fail(operand, fmt::format("'{}' is no value of {} bits", actual.name, width));
      if (!formal.is_reg && formal.has_size && formal.size != v.size) {
        Diagnostic& d =
            sink_.error(operand.span, fmt::format("'{}' has {} bytes, the parameter '{}' has {}",
                                                  actual.name, v.size, formal.name, formal.size));
        d.notes.push_back({formal.span, "declared here"});
        return false;
      }
      if (!formal.is_reg && (v.is_array != formal.is_array || v.align != formal.align)) {
        Diagnostic& d = sink_.error(
            operand.span,
            fmt::format("'{}' and the parameter '{}' differ in {}", actual.name, formal.name,
                        v.align != formal.align ? "alignment" : "being an array"));
        d.notes.push_back({formal.span, "declared here"});
        return false;
      }
      return true;
    }
    if (is_dest && operand.kind == OperandKind::sink) return true;
    if (formal.is_array)
      return fail(operand,
                  fmt::format("an array takes a .param variable, not {}", describe(operand)));
    if (formal.type == Type::none) return true;
    // A vector goes for anything of its size, element by element or not.
    const OperandType given = type_of(operand);
    if (operand.kind == OperandKind::reg && (given.vec > 1 || formal.vec > 1)) {
      const bool plain = !operand.negated && operand.selectors == 0;
      if (plain && bits(given.type) * given.vec == width) return true;
      Diagnostic& d = sink_.error(
          operand.span, fmt::format("{} has {} bits, the parameter has {}", describe(operand),
                                    bits(given.type) * given.vec, width));
      d.notes.push_back({formal.span, "declared here"});
      return false;
    }
    const bool wide = formal.is_reg && bits(formal.type) < 16;
    if (formal.vec > 1)
      return fail(operand, fmt::format("'call' wants a vector of {} here, not {}", formal.vec,
                                       describe(operand)));
    return is_dest ? dest(operand, formal.type, wide) : source(operand, formal.type, wide);
  };
  for (std::size_t i = 0; i < returned.size(); ++i) {
    if (!agree(returned[i], called.formal(m_, i, true), true)) return;
  }
  for (std::size_t i = 0; i < wanted_arguments; ++i) {
    if (!agree(passed[i], called.formal(m_, i, false), false)) return;
  }
}

}  // namespace ptx2spv::ptx
