// Products of matrices as cooperative matrices (SPV_KHR_cooperative_matrix, SPV_KHR_bfloat16).
#include <algorithm>

#include "translator/backend/spirv/emitter.hpp"

namespace ptx2spv::spirv {

namespace {

// Declared here because the headers of Debian 12 are older.
constexpr auto kCooperativeMatrix = static_cast<spv::Capability>(6022),
               kBfloat16Matrix = static_cast<spv::Capability>(5118);
constexpr auto kTypeMatrix = static_cast<spv::Op>(4456), kMulAdd = static_cast<spv::Op>(4459);
constexpr std::uint32_t kA = 0, kB = 1, kAccumulator = 2;  // Cooperative Matrix Use
constexpr std::uint32_t kAllSigned = 15;                   // Cooperative Matrix Operands

}  // namespace

Id Emitter::matrix_type(Id component, unsigned rows, unsigned columns, std::uint32_t use) {
  return b_.global(kTypeMatrix, 0,
                   {component, b_.constant(word(spv::Scope::Subgroup)), b_.constant(rows),
                    b_.constant(columns), b_.constant(use)});
}

/// A matrix of which the invocation has the components of `words`, `each` of them in a word; the
/// components of a word 0 are zeros.
Id Emitter::matrix(Id type, Id component, unsigned each, std::span<const Id> words) {
  Words key(words.begin(), words.end());
  key.push_back(type);
  Id& known = matrices_[key];
  if (known != 0) return known;
  const Id vector = each > 1 ? b_.type_vector(component, each) : component;
  const Id zero = std::ranges::find(words, 0u) != words.end() ? b_.constant_null(component) : 0;
  Id made = b_.global(spv::Op::OpUndef, type, {});
  std::uint32_t index = 0;
  for (const Id from : words) {
    const Id parts = from ? op(spv::Op::OpBitcast, vector, from) : 0;
    for (std::uint32_t i = 0; i < each; ++i) {
      const Id part = !from       ? zero
                      : each == 1 ? parts
                                  : op(spv::Op::OpCompositeExtract, component, parts, i);
      made = op(spv::Op::OpCompositeInsert, type, part, made, index++);
    }
  }
  return known = made;
}

// What native_product takes. The device has the components of a row together, mma row by row those
// of four words. Matrices that are larger than the product have zeros beside it.
void Emitter::product(Value v, const Inst& inst) {
  using enum WarpProduct::Element;
  const WarpProduct form = WarpProduct::of(inst.imm);
  const bool floats = form.x == f16 || form.x == bf16, is_signed = form.x == s8;
  b_.extension("SPV_KHR_cooperative_matrix");
  b_.capability(kCooperativeMatrix);
  if (form.x == bf16) {
    b_.extension("SPV_KHR_bfloat16");
    b_.capability(kBfloat16Matrix);
  } else {
    b_.capability(floats ? spv::Capability::Float16 : spv::Capability::Int8);
  }
  const auto integers = [&](unsigned bits) {
    return is_signed ? b_.type_signed(bits) : b_.type_int(bits);
  };
  const Id factor = form.x == bf16 ? b_.global(spv::Op::OpTypeFloat, 0, {16, 0})
                    : floats       ? b_.type_float(16)
                                   : integers(8);
  const Id sum = form.halves ? factor : floats ? b_.type_float(32) : integers(32);
  const unsigned each = floats ? 2 : 4, sums_each = form.halves ? 2 : 1;
  const unsigned quarters = form.words / 4u, wide = form.x == f16 ? quarters : 2;
  const unsigned blocks = form.x == bf16 ? 2 : 1;  // of eight columns
  const unsigned k = 4 * each * wide, columns = 8 * blocks, row_sums = 2 / sums_each;
  Words x, y, sums;
  for (unsigned half = 0; half < 2; ++half) {
    const bool rows = half < form.row_blocks();
    for (unsigned i = 0; i < wide; ++i)
      x.push_back(rows && i < quarters ? operand(v, i * form.row_blocks() + half) : 0);
    for (unsigned i = 0; i < blocks * row_sums; ++i)
      sums.push_back(rows && i < row_sums ? operand(v, form.sums_at() + half * row_sums + i) : 0);
  }
  for (unsigned i = 0; i < blocks * wide; ++i)
    y.push_back(i < quarters ? operand(v, form.x_registers() + i) : 0);
  const Id type = matrix_type(sum, 16, columns, kAccumulator);
  const Id a = matrix(matrix_type(factor, 16, k, kA), factor, each, x);
  const Id b = matrix(matrix_type(factor, k, columns, kB), factor, each, y);
  const Id c = matrix(type, sum, sums_each, sums);
  const Id made = is_signed ? op(kMulAdd, type, a, b, c, kAllSigned) : op(kMulAdd, type, a, b, c);
  Words words;
  for (std::uint32_t i = 0; i < form.sum_registers(); ++i) {
    const std::uint32_t at = (i / row_sums * blocks * row_sums + i % row_sums) * sums_each;
    Id from = op(spv::Op::OpCompositeExtract, sum, made, at);
    if (sums_each == 2)
      from = op(spv::Op::OpCompositeConstruct, b_.type_vector(sum, 2), from,
                op(spv::Op::OpCompositeExtract, sum, made, at + 1));
    words.push_back(sum == b_.type_uint() ? from : op(spv::Op::OpBitcast, b_.type_uint(), from));
  }
  const Id id = b_.id();
  last_at_ = code_.size() + 2;
  put_list(code_, spv::Op::OpCompositeConstruct, words, this->type(inst.type), id);
  set(v, id);
}

}  // namespace ptx2spv::spirv
