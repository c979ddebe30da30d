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

const ptx::Prototype* prototype_of(const ptx::Function& function, const ptx::Instruction& call) {
  const ptx::SymbolId named = function.args(call)[ptx::kCallPrototype].symbol;
  for (const ptx::Prototype& prototype : function.prototypes)
    if (prototype.symbol == named) return &prototype;
  return nullptr;
}

const ptx::TargetList* targets_of(const ptx::Function& function, const ptx::Instruction& call) {
  const ptx::SymbolId named = function.args(call)[ptx::kCallPrototype].symbol;
  for (const ptx::TargetList& list : function.target_lists)
    if (list.calls && list.symbol == named) return &list;
  return nullptr;
}

}  // namespace ptx2spv::lower
