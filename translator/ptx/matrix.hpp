// The fragments of matrices: which registers of a thread hold what, as ptxas has it for mma and, as
// recorded, for wmma.
//
// A product is made of blocks of 16 rows and 8 columns. Thread 4g + t holds of a matrix of 16 rows
// the words t, t + 4, ... of the rows g and g + 8, where a word has 32 bits or an f64; of one of 8
// columns the words t, t + 4, ... of column g; and of the product the elements 2t and 2t + 1 of
// rows g and g + 8. In m8n32k16 the sides have changed places.
#pragma once

#include "translator/ptx/ast.hpp"

namespace ptx2spv::ptx {

struct MatrixShape {
  unsigned m = 0, n = 0, k = 0;
};
MatrixShape matrix_shape(Mod shape);

enum class MatrixPart : std::uint8_t { a, b, c, d };
/// The type of the elements.
Type matrix_element(const Instruction& inst, MatrixPart part);
/// Whether half of a's elements are left out.
inline bool is_sparse(const Modifiers& mods) {
  return mods.has(Mod::sp) || mods.has(Mod::sp_ordered_metadata);
}
/// The part that wmma.load or wmma.store moves.
MatrixPart matrix_part(const Modifiers& mods);

/// The registers of a thread.
struct Fragment {
  unsigned count = 0;
  Type type = Type::b32;
  bool bits = false;  ///< of a type of bits alone
};
Fragment fragment_of(const Instruction& inst, MatrixPart part);

}  // namespace ptx2spv::ptx
