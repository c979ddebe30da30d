#include "translator/lower/call_shape.hpp"

namespace ptx2spv::lower {

namespace {

std::vector<std::uint64_t> sizes(const ptx::Module& module,
                                 const std::vector<ptx::SymbolId>& params) {
  std::vector<std::uint64_t> out;
  for (const ptx::SymbolId id : params) {
    const ptx::Symbol& symbol = module.symbol(id);
    out.push_back(symbol.kind == ptx::SymbolKind::reg
                      ? std::uint64_t{ptx::bytes(symbol.type)} * symbol.vec
                      : module.variable(id).size);
  }
  return out;
}

std::vector<std::uint64_t> sizes(const std::vector<ptx::PrototypeParam>& params) {
  std::vector<std::uint64_t> out;
  for (const ptx::PrototypeParam& param : params) out.push_back(param.size);
  return out;
}

}  // namespace

CallShape shape_of(const ptx::Module& module, const ptx::Function& function) {
  return {sizes(module, function.returns), sizes(module, function.params)};
}

CallShape shape_of(const ptx::Prototype& prototype) {
  return {sizes(prototype.returns), sizes(prototype.params)};
}

namespace {
/// What stands at the call's place for a prototype or a list; nullptr: nothing.
const ptx::Symbol* named_by(const ptx::Module& module, const ptx::Function& function,
                            const ptx::Instruction& call) {
  const ptx::SymbolId id = function.args(call)[ptx::kCallPrototype].symbol;
  return id == ptx::kNoSymbol ? nullptr : &module.symbol(id);
}
}  // namespace

const ptx::Prototype* prototype_of(const ptx::Module& module, const ptx::Function& function,
                                   const ptx::Instruction& call) {
  const ptx::Symbol* named = named_by(module, function, call);
  if (!named || named->kind != ptx::SymbolKind::prototype) return nullptr;
  return &function.prototypes[named->index];
}

const ptx::TargetList* targets_of(const ptx::Module& module, const ptx::Function& function,
                                  const ptx::Instruction& call) {
  const ptx::Symbol* named = named_by(module, function, call);
  if (!named || named->kind != ptx::SymbolKind::branch_targets) return nullptr;
  const ptx::TargetList& list = function.target_lists[named->index];
  return list.calls ? &list : nullptr;
}

}  // namespace ptx2spv::lower
