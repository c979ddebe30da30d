// From the IR to steps.
#pragma once

#include <optional>
#include <string>

#include "translator/backend/host/program.hpp"

namespace ptx2spv::interpreter {

/// The steps of a function in SSA form, with preds. Nothing where it has an operation that the
/// interpreter does not have; `problem` names it then.
std::optional<Program> assemble(const ir::Function& function, const ir::Module& module,
                                std::string& problem);

}  // namespace ptx2spv::interpreter
