// The opcodes: one enumerator per OP row of instructions.def. Names that C++ reserves end in '_'.
#pragma once

#include <cstdint>
#include <string_view>

namespace ptx2spv::ptx {

enum class Opcode : std::uint16_t {
  none,
#define OP(name, ...) name,
#include "translator/ptx/instructions.def"
  count_
};
std::string_view text(Opcode op);

/// Whether an instruction of the opcode does more than write its destinations: under a predicate
/// that is false it must not run at all. That of a pure one may run, and its results are dropped.
bool has_effect(Opcode op);

}  // namespace ptx2spv::ptx
