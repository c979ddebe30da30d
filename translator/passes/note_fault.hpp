// What every pass may use of the sanitizer's fault log (translator/passes/sanitize/fault_log.cpp).
#pragma once

#include <cstdint>

#include "translator/ir/ir.hpp"

namespace ptx2spv::passes {

/// Notes a fault of `site` where `ok` is false. `address`: i32 or i64. `other`: of a race in global
/// memory the other access (i64: abi::f_other and the word behind it), else 0.
void note_fault(ir::Builder& builder, std::uint32_t site, ir::Value ok, ir::Value address,
                ir::Value other = 0);

}  // namespace ptx2spv::passes
