// Arguments against parameters: the bytes of the parameter buffer.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "src/module/module.hpp"

namespace ptx2spv::runtime {

/// Writes `args` to their offsets; the error names the parameter that one does not fit.
Status write_arguments(const KernelState& kernel, const Args& args, std::vector<std::byte>& bytes);
/// Writes the handles of the .surfref and .texref variables that the kernel uses.
Status write_references(KernelState& kernel, const Args& args, std::vector<std::byte>& bytes,
                        std::vector<std::shared_ptr<const void>>& keep);

}  // namespace ptx2spv::runtime
