#include "translator/backend/host/emit.hpp"

namespace ptx2spv::interpreter::llvm {

Build::Build(const Api& api, LLVMContextRef in, LLVMModuleRef to, Kind kind)
    : l(api),
      context(in),
      module(to),
      b(api.CreateBuilderInContext(in)),
      lanes(kind.lanes),
      fence_logic(kind.fence_logic) {
  i1 = integer(1);
  i32 = integer(32);
  i64 = integer(64);
  f32 = l.FloatTypeInContext(context);
  f64 = l.DoubleTypeInContext(context);
  mask_type = vector(i1);
}

LLVMValueRef Build::load_at(LLVMTypeRef t, LLVMValueRef address, bool invariant) {
  LLVMValueRef value = load(t, pointer(t, address));
  l.SetAlignment(value, 1);
  if (invariant)
    l.SetMetadata(value, l.GetMDKindIDInContext(context, "invariant.load", 14),
                  l.MetadataAsValue(context, l.MDNodeInContext2(context, nullptr, 0)));
  return value;
}

void Build::store_at(LLVMValueRef value, LLVMValueRef address) {
  l.SetAlignment(l.BuildStore(b, value, pointer(l.TypeOf(value), address)), 1);
}

LLVMValueRef Build::splat(LLVMValueRef scalar) {
  LLVMTypeRef t = vector(l.TypeOf(scalar));
  LLVMValueRef first = l.BuildInsertElement(b, l.GetUndef(t), scalar, c32(0), "");
  return l.BuildShuffleVector(b, first, l.GetUndef(t), l.ConstNull(vector(i32)), "");
}

LLVMValueRef Build::ramp(LLVMTypeRef element, std::uint64_t step) const {
  LLVMValueRef each[32];
  for (unsigned i = 0; i < lanes; ++i) each[i] = l.ConstInt(element, i * step, 0);
  return l.ConstVector(each, lanes);
}

LLVMValueRef Build::intrinsic(const char* name, std::initializer_list<LLVMTypeRef> types,
                              std::initializer_list<LLVMValueRef> args) {
  const unsigned id = l.LookupIntrinsicID(name, std::char_traits<char>::length(name));
  std::vector<LLVMTypeRef> t(types);
  std::vector<LLVMValueRef> a(args);
  LLVMValueRef callee = l.GetIntrinsicDeclaration(module, id, t.data(), t.size());
  LLVMTypeRef signature = l.IntrinsicGetType(context, id, t.data(), t.size());
  return l.BuildCall2(b, signature, callee, a.data(), static_cast<unsigned>(a.size()), "");
}

LLVMValueRef Build::call(LLVMTypeRef result, LLVMValueRef address,
                         std::initializer_list<LLVMValueRef> args) {
  std::vector<LLVMValueRef> a(args);
  std::vector<LLVMTypeRef> t;
  for (LLVMValueRef each : a) t.push_back(l.TypeOf(each));
  LLVMTypeRef signature = l.FunctionType(result, t.data(), static_cast<unsigned>(t.size()), 0);
  return l.BuildCall2(b, signature, pointer(signature, address), a.data(),
                      static_cast<unsigned>(a.size()), "");
}

LLVMValueRef Build::shuffle(LLVMValueRef x, LLVMValueRef y, const std::vector<unsigned>& from) {
  std::vector<LLVMValueRef> indices;
  for (const unsigned i : from) indices.push_back(c32(i));
  return l.BuildShuffleVector(
      b, x, y, l.ConstVector(indices.data(), static_cast<unsigned>(indices.size())), "");
}

LLVMValueRef Build::phi(LLVMTypeRef t, std::initializer_list<LLVMValueRef> values,
                        std::initializer_list<LLVMBasicBlockRef> from) {
  LLVMValueRef made = l.BuildPhi(b, t, "");
  std::vector<LLVMValueRef> v(values);
  std::vector<LLVMBasicBlockRef> f(from);
  l.AddIncoming(made, v.data(), f.data(), static_cast<unsigned>(v.size()));
  return made;
}

void Build::likely(LLVMValueRef condition, LLVMBasicBlockRef yes, LLVMBasicBlockRef no) {
  LLVMMetadataRef weights[] = {l.MDStringInContext2(context, "branch_weights", 14),
                               l.ValueAsMetadata(c32(64)), l.ValueAsMetadata(c32(1))};
  l.SetMetadata(l.BuildCondBr(b, condition, yes, no), l.GetMDKindIDInContext(context, "prof", 4),
                l.MetadataAsValue(context, l.MDNodeInContext2(context, weights, 3)));
}

LLVMValueRef Build::all_ones() {
  LLVMValueRef each[32];
  for (unsigned i = 0; i < lanes; ++i) each[i] = l.ConstInt(i1, 1, 0);
  return l.ConstVector(each, lanes);
}

LLVMValueRef Build::bits(LLVMValueRef mask) {
  LLVMValueRef word = cast(op_bitcast, mask, integer(lanes));
  return lanes == 32 ? word : cast(op_zext, word, i32);
}

LLVMValueRef Build::from_bits(LLVMValueRef word) {
  if (lanes != 32) word = cast(op_trunc, word, integer(lanes));
  return cast(op_bitcast, word, mask_type);
}

LLVMValueRef Build::any(LLVMValueRef mask) {
  return icmp(int_ne, cast(op_bitcast, mask, integer(lanes)), l.ConstInt(integer(lanes), 0, 0));
}

LLVMValueRef Build::all(LLVMValueRef mask) {
  return icmp(int_eq, cast(op_bitcast, mask, integer(lanes)), l.ConstInt(integer(lanes), ~0ull, 1));
}

bool Build::is_vector(LLVMValueRef v) {
  LLVMTypeRef t = l.TypeOf(v);
  return t != i1 && t != i32 && t != i64 && t != f32 && t != f64;
}

LLVMValueRef Build::number(LLVMValueRef like, LLVMTypeRef element, std::uint64_t n) {
  LLVMValueRef c = l.ConstInt(element, n, 0);
  return is_vector(like) ? splat(c) : c;
}

LLVMValueRef Build::fence(LLVMValueRef bits) {
  LLVMTypeRef t = l.TypeOf(bits), floats = nullptr;
  if (t == vector(i32)) floats = vector(f32);
  if (t == vector(i64)) floats = vector(f64);
  if (!fence_logic || !floats) return bits;
  return cast(op_bitcast,
              intrinsic("llvm.arithmetic.fence", {floats}, {cast(op_bitcast, bits, floats)}), t);
}

LLVMValueRef Build::quotient(LLVMValueRef x, LLVMValueRef y) {
  LLVMTypeRef t = l.TypeOf(x);
  // Lanes that do not run may have anything.
  x = freeze(x);
  y = freeze(y);
  LLVMValueRef zero = l.ConstNull(t);
  y = select(icmp(int_eq, y, zero), number(y, t == i64 || t == vector(i64) ? i64 : i32, 1), y);
  if (t != vector(i32)) return op(op_udiv, x, y);
  // A quotient of 32 bits is nowhere so near the next integer that a double would round to it.
  LLVMTypeRef doubles = vector(f64);
  return cast(op_fptoui, op(op_fdiv, cast(op_uitofp, x, doubles), cast(op_uitofp, y, doubles)), t);
}

}  // namespace ptx2spv::interpreter::llvm
