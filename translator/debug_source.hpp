// The PTX text that debuggers find in a module.
#pragma once

#include <cstdint>

#include "translator/backend/spirv/emit.hpp"
#include "translator/ir/ir.hpp"
#include "translator/lower/program.hpp"

namespace ptx2spv {

/// What the module of `kernel` holds of the PTX file of that number. All kernels of a translation
/// share the whole text. A module of one kernel among several (`alone`) has the lines around that
/// kernel's where the text is longer than the kernel pays for, so that the modules of a file come
/// to a bounded size.
spirv::PtxSource debug_source(const lower::Program& program, std::uint32_t module,
                              const ir::Function& kernel, bool alone);

}  // namespace ptx2spv
