// Matrix instructions: what is asked of the hardware and of this project alike. A form is a kernel
// in which warps take words from memory, execute its instructions and leave words. The words come
// from a seed, so that a record needs the results alone.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace ptx2spv::programs {

/// What a word, or a pair of f64, holds.
enum class MatrixElement : std::uint8_t {
  bits,
  f16,
  bf16,
  tf32,
  f32,
  f64,
  e4m3,
  e5m2,
  row,           ///< number of a 16-byte row of shared memory
  distinct_row,  ///< the same, of each thread another one
  two_of_four,   ///< metadata of mma.sp: each four bits name two of four elements, in order
  one_of_two     ///< the same of tf32: each four bits name one of two
};
enum class MatrixRole : std::uint8_t { a, b, c };

struct MatrixPart {
  MatrixElement element = MatrixElement::bits;
  MatrixRole role = MatrixRole::a;
  unsigned words = 0;
};

struct MatrixForm {
  std::string name;
  std::string body;  ///< between the prologue of matrix_module() and its end
  unsigned version, target;
  bool by_thread = true;  ///< the parts are those of each thread, not of the warp
  std::vector<MatrixPart> parts;
  unsigned results = 0;  ///< words that a warp leaves
  bool is_float = false;

  unsigned words() const {  ///< that a warp takes
    unsigned sum = 0;
    for (const MatrixPart& each : parts) sum += each.words;
    return by_thread ? 32 * sum : sum;
  }
};

/// For messages of tests.
inline void PrintTo(const MatrixForm& form, std::ostream* out) { *out << form.name; }

inline constexpr unsigned kMatrixWarps = 2;  ///< of a block

std::vector<MatrixForm> matrix_forms();
/// The module; its entry `k` takes the addresses of operands and results.
std::string matrix_module(const MatrixForm& form);
/// The operands of so many warps.
std::vector<std::uint32_t> matrix_inputs(const MatrixForm& form, unsigned warps,
                                         std::uint32_t seed);
/// A warp's results as the record has them.
std::uint32_t matrix_hash(const std::uint32_t* words, unsigned count);
/// Warps that the committed record has of the form.
inline unsigned matrix_warps(const MatrixForm& form) { return form.is_float ? 256 : 32; }

}  // namespace ptx2spv::programs
