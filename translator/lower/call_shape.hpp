// Which functions an indirect call may reach: those whose parameters have the sizes that its
// prototype gives.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "translator/ptx/ast.hpp"

namespace ptx2spv::lower {

/// Bytes of each result and each parameter.
struct CallShape {
  std::vector<std::uint64_t> returns, params;
  auto operator<=>(const CallShape&) const = default;
};

CallShape shape_of(const ptx::Module& module, const ptx::Function& function);
CallShape shape_of(const ptx::Prototype& prototype);

/// The prototype or the list of targets that an indirect call of `function` names; null when it is
/// not one.
const ptx::Prototype* prototype_of(const ptx::Module& module, const ptx::Function& function,
                                   const ptx::Instruction& call);
const ptx::TargetList* targets_of(const ptx::Module& module, const ptx::Function& function,
                                  const ptx::Instruction& call);

}  // namespace ptx2spv::lower
