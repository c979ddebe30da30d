// Stores of the bits of a wider floating-point register: ptxas converts the number to an integer of
// the stored width, towards zero and within its range, where the manual speaks of the low bits.
#pragma once

#include <algorithm>
#include <optional>
#include <span>

#include "translator/ir/ir.hpp"
#include "translator/ptx/ast.hpp"

namespace ptx2spv::lower {

/// What the elements of a stored value are converted from and to; nothing where their bits are
/// stored: one register of bits makes the whole vector one of bits.
struct StoredFloats {
  ptx::Type declared;
  ir::NumKind from, to;
};
inline std::optional<StoredFloats> stored_floats(const ptx::Module& module,
                                                 std::span<const ptx::Operand> elements,
                                                 ptx::Type type) {
  if (!ptx::is_bits(type) || ptx::bits(type) < 8 || ptx::bits(type) > 32 || elements.empty())
    return {};
  const auto declared = [&](const ptx::Operand& element) {
    return element.kind == ptx::OperandKind::reg ? module.symbol(element.symbol).type
                                                 : ptx::Type::none;
  };
  const ptx::Type first = declared(elements[0]);
  if (first != ptx::Type::f32 && first != ptx::Type::f64) return {};
  if (ptx::bits(first) <= ptx::bits(type) ||
      !std::all_of(elements.begin(), elements.end(),
                   [&](const ptx::Operand& each) { return declared(each) == first; }))
    return {};
  return StoredFloats{first, first == ptx::Type::f32 ? ir::NumKind::f32 : ir::NumKind::f64,
                      ptx::bits(type) == 8    ? ir::NumKind::u8
                      : ptx::bits(type) == 16 ? ir::NumKind::u16
                                              : ir::NumKind::u32};
}

}  // namespace ptx2spv::lower
