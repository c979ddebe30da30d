// Calls against the callee's declaration or the prototype.
#include "translator/ptx/checker.hpp"

namespace ptx2spv::ptx {

void Checker::check_call() {
  const Operand& callee = op(kCallCallee);
  const Operand& returns = op(kCallReturns);
  const Operand& arguments = op(kCallArguments);
  const Operand& prototype = op(kCallPrototype);
  std::size_t wanted_returns = 0, wanted_arguments = 0;
  bool known = false;
  Span declared;
  const Function* function = nullptr;
  if (callee.kind == OperandKind::function) {
    function = &m_.functions[m_.symbol(callee.symbol).index];
    if (function->is_entry) {
      fail(callee, "'" + std::string(function->name) + "' is a kernel and is not called");
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
      const Prototype& p = f_.prototypes[s.index];
      wanted_returns = p.returns.size();
      wanted_arguments = p.params.size();
      declared = s.span;
      known = true;
    } else if (s.kind == SymbolKind::branch_targets) {
      const TargetList& list = f_.target_lists[s.index];
      if (!list.calls) {
        fail(prototype, "'" + std::string(s.name) + "' lists labels, not functions");
        return;
      }
      if (!list.targets.empty() && list.targets.front() != kNoSymbol) {
        function = &m_.functions[m_.symbol(list.targets.front()).index];
      }
    } else if (s.kind == SymbolKind::function) {
      function = &m_.functions[s.index];
    }
  }
  if (function != nullptr) {
    wanted_returns = function->returns.size();
    wanted_arguments = function->params.size();
    declared = function->span;
    known = true;
  }
  if (!known) return;
  const auto returned =
      returns.kind == OperandKind::list ? f_.list(returns) : std::span<const Operand>{};
  const auto passed =
      arguments.kind == OperandKind::list ? f_.list(arguments) : std::span<const Operand>{};
  if (returned.size() != wanted_returns || passed.size() < wanted_arguments ||
      (passed.size() > wanted_arguments && !(function != nullptr && function->name == "vprintf"))) {
    Diagnostic& d =
        sink_.error(inst_->span, "the call passes " + std::to_string(passed.size()) +
                                     " and takes back " + std::to_string(returned.size()) +
                                     ", the function has " + std::to_string(wanted_arguments) +
                                     " and " + std::to_string(wanted_returns));
    d.notes.push_back({declared, "declared here"});
    return;
  }
  if (function == nullptr) return;
  const auto agree = [&](const Operand& operand, SymbolId formal, bool is_dest) {
    const Symbol& s = m_.symbol(formal);
    if (operand.kind == OperandKind::address) {
      const Symbol& actual = m_.symbol(operand.symbol);
      if (actual.kind != SymbolKind::variable && actual.kind != SymbolKind::param) return true;
      if (actual.space != Space::param)
        return fail(operand, "an argument is a register, a constant or a .param variable");
      if (s.kind == SymbolKind::param &&
          m_.variable(formal).size != m_.variable(operand.symbol).size &&
          !m_.variable(formal).unsized) {
        Diagnostic& d =
            sink_.error(operand.span, "'" + std::string(actual.name) + "' has " +
                                          std::to_string(m_.variable(operand.symbol).size) +
                                          " bytes, the parameter '" + std::string(s.name) +
                                          "' has " + std::to_string(m_.variable(formal).size));
        d.notes.push_back({s.span, "declared here"});
        return false;
      }
      return true;
    }
    if (is_opaque(s.type) || s.vec != 1 ||
        (s.kind == SymbolKind::param && m_.variable(formal).is_array))
      return true;
    const bool wide = bits(s.type) < 32;
    return is_dest ? dest(operand, s.type, wide, true) : source(operand, s.type, wide);
  };
  for (std::size_t i = 0; i < returned.size(); ++i) {
    if (!agree(returned[i], function->returns[i], true)) return;
  }
  for (std::size_t i = 0; i < wanted_arguments; ++i) {
    if (!agree(passed[i], function->params[i], false)) return;
  }
}

}  // namespace ptx2spv::ptx
