// Products and moves of matrices: fragments as lists of registers.
#include "translator/ptx/checker.hpp"

namespace ptx2spv::ptx {

MatrixShape matrix_shape(Mod shape) {
  unsigned numbers[3] = {}, at = 0;
  for (const char c : text(shape).substr(1)) {
    if (c < '0' || c > '9')
      ++at;
    else
      numbers[at] = 10 * numbers[at] + static_cast<unsigned>(c - '0');
  }
  return {numbers[0], numbers[1], numbers[2]};
}

MatrixPart matrix_part(const Modifiers& mods) {
  return mods.has(Mod::a)   ? MatrixPart::a
         : mods.has(Mod::b) ? MatrixPart::b
         : mods.has(Mod::c) ? MatrixPart::c
                            : MatrixPart::d;
}

Type matrix_element(const Instruction& inst, MatrixPart part) {
  const Modifiers& mods = *inst.mods;
  const bool factor = part == MatrixPart::a || part == MatrixPart::b;
  switch (mods.type_count) {
    case 1: return mods.type();
    // wmma.mma names d and c alone where a and b are of f16.
    case 2: return factor ? Type::f16 : mods.type(part == MatrixPart::d ? 0 : 1);
    default:
      return mods.type(part == MatrixPart::d   ? 0
                       : part == MatrixPart::a ? 1
                       : part == MatrixPart::b ? 2
                                               : 3);
  }
}

Fragment fragment_of(const Instruction& inst, MatrixPart part) {
  const auto [m, n, k] = matrix_shape(inst.mods->geom);
  const Type type = matrix_element(inst, part);
  const bool factor = part == MatrixPart::a || part == MatrixPart::b;
  // mma.m8n8k4 of halves makes four products side by side.
  const bool four = inst.op == Opcode::mma && inst.mods->geom == Mod::m8n8k4 && type != Type::f64;
  const unsigned elements = (part == MatrixPart::a   ? m * (is_sparse(*inst.mods) ? k / 2 : k)
                             : part == MatrixPart::b ? n * k
                                                     : m * n) *
                            (four ? 4 : 1) / 32;
  if (type == Type::f64) return {elements, Type::b64};
  if (factor && type == Type::f16 && inst.op == Opcode::wmma) return {8, Type::f16x2};
  if (type == Type::f16) return {elements / 2, Type::f16x2};
  if (factor) {
    const bool integers = is_integer(type) || type == Type::s4 || type == Type::u4 ||
                          (type == Type::b1 && inst.op == Opcode::wmma);
    const bool whole = type == Type::bf16 || type == Type::tf32;
    return {elements * bits(type) / 32, integers ? Type::s32 : Type::b32, whole};
  }
  return {elements, type};
}

/// {r, ...}, or a vector register of as many elements.
bool Checker::fragment(const Operand& operand, const Fragment& want, bool is_dest, bool constants) {
  const OperandType given = type_of(operand);
  const auto excluded = [&](Type type) {
    return (want.bits && !is_bits(type)) || (want.type == Type::s32 && type == Type::f16x2);
  };
  if (operand.kind == OperandKind::reg && !operand.negated && given.vec == want.count &&
      want.count > 1)
    return (compatible(given.type, want.type, false) && !excluded(given.type)) ||
           mismatch(operand, want.type, "vector");
  if (operand.kind != OperandKind::vector)
    return fail(operand, fmt::format("{} wants a list of {} register{} here, not {}", name(),
                                     want.count, want.count == 1 ? "" : "s", describe(operand)));
  const auto items = f_.list(operand);
  if (items.size() != want.count)
    return fail(operand, fmt::format("{} wants {} register{} here, not {}", name(), want.count,
                                     want.count == 1 ? "" : "s", items.size()));
  for (const Operand& item : items) {
    const bool reg = item.kind == OperandKind::reg;
    if (!reg && !is_dest && !constants)
      return fail(item, name() + " wants a register here, not " + describe(item));
    if (!(is_dest ? dest(item, want.type, false, true) : source(item, want.type, false)))
      return false;
    if (reg && excluded(type_of(item).type))
      return mismatch(item, want.type, is_dest ? "destination" : "source");
  }
  return !is_dest || writes_something(operand);
}

void Checker::check_matrix() {
  const bool store = inst_->op == Opcode::stmatrix || mods_->has(Mod::store);
  if (inst_->op == Opcode::ldmatrix || inst_->op == Opcode::stmatrix) {
    const unsigned count = mods_->mode == Mod::x4 ? 4 : mods_->mode == Mod::x2 ? 2 : 1;
    if (memory(op(store ? 0 : 1))) fragment(op(store ? 1 : 0), {count}, !store, false);
    return;
  }
  if (inst_->op == Opcode::wmma && !mods_->has(Mod::aligned) && m_.version() >= 63) {
    sink_.error(inst_->opcode_span, name() + " without .aligned is gone in PTX 6.3");
    return;
  }
  const Type sums = inst_->op == Opcode::wmma ? matrix_element(*inst_, MatrixPart::d) : Type::none;
  if (mods_->sat && (sums == Type::f16 || sums == Type::f32) && m_.version() >= 65) {
    sink_.error(inst_->opcode_span, name() + " of floats with .satfinite is gone in PTX 6.5");
    return;
  }
  if (mods_->has(Mod::load) || store) {
    if (!count_is(2, 3) || !memory(op(store ? 0 : 1))) return;
    const Fragment want = fragment_of(*inst_, matrix_part(*mods_));
    if (!fragment(op(store ? 1 : 0), want, !store, false)) return;
    if (inst_->operand_count > 2) check_rule({.role = OperandRole::source, .type = Type::u32}, 2);
    return;
  }
  const unsigned count = is_sparse(*mods_) ? 6 : 4;
  if (!count_is(count, count)) return;
  constexpr MatrixPart kParts[] = {MatrixPart::d, MatrixPart::a, MatrixPart::b, MatrixPart::c};
  for (unsigned i = 0; i < 4; ++i)
    if (!fragment(op(i), fragment_of(*inst_, kParts[i]), i == 0, i == 3)) return;
  if (is_sparse(*mods_)) check_generic();
}

}  // namespace ptx2spv::ptx
