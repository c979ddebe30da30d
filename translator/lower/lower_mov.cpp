// 9.7.9.3 and 9.7.9.4 mov: values, vectors element by element, packing and unpacking.
#include "translator/lower/function.hpp"

namespace ptx2spv::lower {

namespace {

ptx::Type bits_of(unsigned bytes) {
  switch (bytes) {
    case 1: return ptx::Type::b8;
    case 2: return ptx::Type::b16;
    case 4: return ptx::Type::b32;
    default: return ptx::Type::b64;
  }
}

constexpr unsigned kHalf = 8;  ///< a register of 128 bits is two values of 8 bytes

}  // namespace

/// The two halves of an operand of 128 bits, the low one first.
std::vector<Value> FunctionLowering::read_halves(const Operand& operand) {
  if (operand.kind == OperandKind::reg && m_.symbol(operand.symbol).type == ptx::Type::b128) {
    const std::uint32_t var = var_of(operand);
    return {b_.get(var), b_.get(var + 1)};
  }
  // Constants have 64 bits and addresses no more: ptxas extends both by zeros, -1 too.
  return {read(operand, ptx::Type::b64), b_.i64(0)};
}

void FunctionLowering::write_halves(const Operand& operand, const std::vector<Value>& halves) {
  const std::uint32_t var = var_of(operand);
  for (std::uint32_t i = 0; i < 2; ++i)
    b_.set(var + i, guard_ ? b_.select(guard_, halves[i], b_.get(var + i)) : halves[i]);
}

/// mov without .vec: each side is one value of `total` bytes, or the elements that it is made of,
/// the lowest first.
void FunctionLowering::move_bits(const Operand& d, const Operand& a, unsigned total) {
  const std::vector<Operand> to = elements(d);
  const std::size_t parts = elements(a).size();
  const auto size = [total](std::size_t count) {
    const bool halves = total == 2 * kHalf && count == 1;
    return halves ? kHalf : total / static_cast<unsigned>(count);
  };
  const unsigned from_bytes = size(parts), to_bytes = size(to.size());
  if (from_bytes == 0 || to_bytes == 0)
    return error((to_bytes == 0 ? d : a).span, "an element has 8 bits at least");
  const bool wide = total == 2 * kHalf;
  std::vector<Value> values =
      wide && parts == 1 ? read_halves(a) : read_elements(a, bits_of(from_bytes));
  if (from_bytes != to_bytes)
    values = memory_.pieces(memory_.words_of(values, from_bytes), to_bytes, total / to_bytes);
  if (wide && to.size() == 1) return write_halves(d, values);
  for (std::size_t i = 0; i < to.size(); ++i) write(to[i], values[i], bits_of(to_bytes));
}

void FunctionLowering::lower_mov(const Instruction& inst) {
  const auto a = args(inst);
  const ptx::Type type = inst.mods->type();
  if (type == ptx::Type::pred) return write_pred(a[0], read_pred(a[1]));
  const std::vector<Operand> to = elements(a[0]);
  const std::size_t parts = elements(a[1]).size();
  if (inst.mods->vec == 1 && (to.size() > 1 || parts > 1 || type == ptx::Type::b128))
    return move_bits(a[0], a[1], ptx::bytes(type));
  if (to.size() != parts)
    return error(a[1].span, "as many elements as the destination has are expected here");
  // All are read before the first is written: one side may hold elements of the other.
  const std::vector<Value> values = read_elements(a[1], type);
  for (std::size_t i = 0; i < to.size(); ++i) write(to[i], values[i], type);
}

}  // namespace ptx2spv::lower
