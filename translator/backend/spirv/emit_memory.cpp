// Loads and stores: device addresses (or offsets in the buffer that stands for them), bound
// buffers, shared and local memory, push constants.
#include "translator/backend/spirv/emitter.hpp"

namespace ptx2spv::spirv {

namespace {

constexpr unsigned log2_bytes(View view) {
  switch (view) {
    case View::u8: return 0;
    case View::u16: return 1;
    case View::u32:
    case View::f32: return 2;
    case View::uvec2:
    case View::u64:
    case View::f64: return 3;
    case View::uvec4: return 4;
  }
  return 2;
}

constexpr std::string_view suffix(View view) {
  constexpr std::string_view kNames[] = {"_u8",  "_u16",   "",     "_uvec2",
                                         "_u64", "_uvec4", "_f32", "_f64"};
  return kNames[static_cast<unsigned>(view)];
}

struct Bound {
  std::uint32_t set = 0, binding = 0;
  std::string_view name;
  bool readonly = false;
};

Bound bound(const ir::MemAttr& mem) {
  switch (mem.space) {
#define PTX2SPV_BINDING(name, number, space, readonly, moves, holds) \
  case Space::space:                                                 \
    return {abi::kSet, number, #name, readonly};
#include "ptx2spv/bindings.def"
#undef PTX2SPV_BINDING  // for clang-format
    default: return {abi::kSlotSet, mem.slot, "slot", false};
  }
}

// Pointer forms are kept by view; containing words and word offsets have keys of their own.
constexpr std::uint32_t pointer_key(Space space, unsigned slot, unsigned what) {
  return 1 + (static_cast<std::uint32_t>(space) << 24 | slot << 8 | what);
}
constexpr unsigned kContaining = 64, kWord = 32, kCoherent = 128;

}  // namespace

bool Emitter::word_space(Space space) const {
  return space == Space::shared || space == Space::local || space == Space::push;
}

bool Emitter::native_narrow(const Inst& inst) const {
  if (by_views(inst.mem.space)) return true;
  if (word_space(inst.mem.space)) return view_of(inst.mem.space) != View::u32;
  return inst.mem.bytes == 1 ? p_.features.storage8 : p_.features.storage16;
}

Id Emitter::element_type(View view) {
  switch (view) {
    case View::u8: return b_.type_int(8);
    case View::u16: return b_.type_int(16);
    case View::u32: return b_.type_uint();
    case View::uvec2: return b_.type_uvec(2);
    case View::u64: return b_.type_int(64);
    case View::uvec4: return b_.type_uvec(4);
    case View::f32: return b_.type_float(32);
    case View::f64: return b_.type_float(64);
  }
  return 0;
}

/// The same of a buffer.
Id Emitter::buffer_element(View view) {
  if (view == View::u8) b_.capability(spv::Capability::StorageBuffer8BitAccess);
  if (view == View::u16) b_.capability(spv::Capability::StorageBuffer16BitAccess);
  return element_type(view);
}

Id Emitter::array_of(View view, Id length) {
  if (view == View::u8) b_.capability(spv::Capability::Int8);
  if (view == View::u16) b_.capability(spv::Capability::Int16);
  return b_.global(spv::Op::OpTypeArray, 0, {buffer_element(view), length});
}

Id Emitter::resource(const Inst& inst, View view) {
  const Bound at = bound(inst.mem);
  const bool coherent = volatile_ && !at.readonly && !b_.vulkan_memory();
  const std::uint64_t type_key =
      0x1000u | static_cast<unsigned>(view) << 1 | (at.readonly ? 1u : 0u);
  const std::uint64_t key = std::uint64_t{1} << 40 | std::uint64_t{at.set} << 32 |
                            std::uint64_t{at.binding} << 8 | static_cast<unsigned>(view) << 1 |
                            (coherent ? 1u : 0u);
  if (const Id known = b_.shared(key)) return uses(variables_, known);
  if (b_.shared(type_key) == 0) {
    const Id element = buffer_element(view);
    const Id block = b_.type_block(element, 1u << log2_bytes(view), 0, at.readonly);
    b_.name(block, std::string(at.readonly ? "Constants" : "Memory") + std::string(suffix(view)));
    b_.shared(type_key) = block;
  }
  const Id variable = b_.variable(spv::StorageClass::StorageBuffer, b_.shared(type_key));
  b_.decorate(variable, spv::Decoration::DescriptorSet, at.set);
  b_.decorate(variable, spv::Decoration::Binding, at.binding);
  // The same bytes are seen through several views, and through addresses.
  if (!at.readonly) b_.decorate(variable, spv::Decoration::Aliased);
  if (coherent) b_.decorate(variable, spv::Decoration::Coherent);
  std::string name(at.name);
  if (at.set == abi::kSlotSet) name += std::to_string(at.binding);
  b_.name(variable, name + std::string(suffix(view)));
  b_.shared(key) = variable;
  return uses(variables_, variable);
}

/// Shared memory as an array of words; where it has an explicit layout, also as what else it holds.
Id Emitter::shared_array(View view) {
  Id& made = shared_[view];
  if (made != 0) return made;
  const Id uint = b_.type_uint();
  const std::uint32_t fixed = (f_.shared_bytes + 3) / 4;
  const unsigned bytes = 1u << log2_bytes(view);
  // No array may be empty.
  Id length = b_.constant((std::max(fixed, 1u) * 4 + bytes - 1) / bytes);
  if (f_.uses_dynamic_shared) {
    const Id dynamic = b_.spec_constant(abi::Spec::dynamic_shared_words, 0);
    length =
        fixed != 0
            ? b_.spec_op(spv::Op::OpIAdd, uint, {dynamic, b_.constant(fixed)})
            : b_.spec_op(spv::Op::OpSelect, uint,
                         {b_.spec_op(spv::Op::OpIEqual, b_.type_bool(), {dynamic, b_.constant(0)}),
                          b_.constant(1), dynamic});
    if (bytes < 4) length = b_.spec_op(spv::Op::OpIMul, uint, {length, b_.constant(4 / bytes)});
    if (bytes > 4) {
      length = b_.spec_op(spv::Op::OpIAdd, uint, {length, b_.constant(bytes / 4 - 1)});
      length = b_.spec_op(spv::Op::OpUDiv, uint, {length, b_.constant(bytes / 4)});
    }
  }
  if (!shared_views_) {
    made = b_.variable(spv::StorageClass::Workgroup, array_of(view, length));
    b_.name(made, "shared_memory");
    return uses(variables_, made);
  }
  b_.capability(spv::Capability::WorkgroupMemoryExplicitLayoutKHR);
  if (view == View::u8) {
    b_.capability(spv::Capability::Int8);
    b_.capability(spv::Capability::WorkgroupMemoryExplicitLayout8BitAccessKHR);
  } else if (view == View::u16) {
    b_.capability(spv::Capability::Int16);
    b_.capability(spv::Capability::WorkgroupMemoryExplicitLayout16BitAccessKHR);
  }
  const Id block = b_.type_block_of(element_type(view), bytes, length, false);
  b_.name(block, "Shared" + std::string(suffix(view)));
  made = b_.variable(spv::StorageClass::Workgroup, block);
  b_.decorate(made, spv::Decoration::Aliased);
  b_.name(made, "shared_memory" + std::string(suffix(view)));
  return uses(variables_, made);
}

Id Emitter::push_block() {
  // Entries of one module have blocks of their own, each as long as its push constants are.
  const std::uint64_t key = 0x9054'0000u + push_words_;
  if (const Id known = b_.shared(key)) return uses(variables_, known);
  const Id block = b_.type_block(b_.type_uint(), 4, push_words_, false);
  b_.name(block, "Launch");
  const Id variable = b_.variable(spv::StorageClass::PushConstant, block);
  b_.name(variable, "launch");
  b_.shared(key) = variable;
  return uses(variables_, variable);
}

Id Emitter::local_array() {
  if (local_ == 0) fail("local memory is used, but not declared");
  return local_;
}

Id Emitter::index(Value address, unsigned shift) {
  std::uint64_t known = 0;
  if (is_constant(address, known)) return b_.constant(static_cast<std::uint32_t>(known) >> shift);
  if (shift == 0) return low_word(address);
  Form& form = indices_[address];
  if (holds(form) && form.key == shift) return form.id;
  // passes/scale_addresses has seen to it that no upper bits of the element count.
  const Inst& by = f_.insts[address];
  if (by.op == Op::shl && by.type == Type::i32 && is_constant(f_.arg(address, 1), known) &&
      known >= shift && known < 32) {
    const Id element = value(f_.arg(address, 0));
    const Id scale = b_.constant(std::uint32_t{1} << (known - shift));
    form = {serial_, shift,
            known == shift ? element : op(spv::Op::OpIMul, b_.type_uint(), element, scale)};
    return form.id;
  }
  const Id offset = low_word(address);
  form = {serial_, shift,
          op(spv::Op::OpShiftRightLogical, b_.type_uint(), offset, b_.constant(shift))};
  return form.id;
}

Id Emitter::address_pointer(Id address, Id pointee) {
  b_.capability(spv::Capability::PhysicalStorageBufferAddresses);
  const Id type = b_.type_pointer(spv::StorageClass::PhysicalStorageBuffer, pointee);
  return op(p_.features.int64 ? spv::Op::OpConvertUToPtr : spv::Op::OpBitcast, type, address);
}

// Volatile alone does not reach other workgroups: NVIDIA's driver reads its first-level cache, in
// which a store of another one never shows. Coherent is a decoration of members, so that the access
// goes through a structure of one. In Vulkan's memory model the access says it itself.
Id Emitter::coherent_pointer(Id address, View view) {
  const std::uint64_t key = 0x1c00u | static_cast<unsigned>(view);
  if (b_.shared(key) == 0) {
    const Id block = b_.type_coherent(buffer_element(view));
    b_.name(block, "Coherent" + std::string(suffix(view)));
    b_.shared(key) = block;
  }
  const Id whole = address_pointer(address, b_.shared(key));
  const Id type = b_.type_pointer(spv::StorageClass::PhysicalStorageBuffer, element_type(view));
  return op(spv::Op::OpAccessChain, type, whole, b_.constant(0));
}

Id Emitter::pointer(Value v, Value address, View view) {
  const Inst& inst = f_.insts[v];
  const Space space = inst.mem.space;
  if (view_of(space) != View::u32) {
    const bool local = space == Space::local;
    const auto storage = local ? spv::StorageClass::Function : spv::StorageClass::Workgroup;
    return op(spv::Op::OpAccessChain, b_.type_pointer(storage, element_type(view)),
              local ? local_array() : shared_array(view), index(address, log2_bytes(view)));
  }
  if (word_space(space) && (view == View::u32 || !by_views(space)))
    return word_pointer(v, address, 0);
  const bool coherent = by_address(space) && inst.mem.is_volatile && !b_.vulkan_memory();
  const std::uint32_t key =
      pointer_key(space, inst.mem.slot, static_cast<unsigned>(view) | (coherent ? kCoherent : 0));
  Form& form = pointers_[address];
  if (holds(form) && form.key == key) return form.id;
  Id made = 0;
  if (by_address(space)) {
    const Id from = value(address);
    // OpBitcast may only name narrow types that the module has arithmetic on; the profile's narrow
    // storage comes with it.
    if (!p_.features.int64 && view == View::u8) b_.capability(spv::Capability::Int8);
    if (!p_.features.int64 && view == View::u16) b_.capability(spv::Capability::Int16);
    made = coherent ? coherent_pointer(from, view) : address_pointer(from, buffer_element(view));
  } else {
    const bool shared = space == Space::shared;
    const Id variable = shared ? shared_array(view) : resource(inst, view);
    const Id pointer_type =
        b_.type_pointer(shared ? spv::StorageClass::Workgroup : spv::StorageClass::StorageBuffer,
                        element_type(view));
    const Id at = index(address, log2_bytes(view));
    made = op(spv::Op::OpAccessChain, pointer_type, variable, b_.constant(0), at);
  }
  form = {serial_, key, made};
  return made;
}

Id Emitter::word_pointer(Value v, Value address, unsigned word) {
  const Inst& inst = f_.insts[v];
  const Space space = inst.mem.space;
  const std::uint32_t key = pointer_key(space, 0, kWord + word);
  Form& form = pointers_[address];
  if (holds(form) && form.key == key) return form.id;
  std::uint64_t known = 0;
  Id at = 0;
  if (is_constant(address, known)) {
    at = b_.constant((static_cast<std::uint32_t>(known) >> 2) + word);
  } else {
    at = index(address, 2);
    if (word != 0) at = op(spv::Op::OpIAdd, b_.type_uint(), at, b_.constant(word));
  }
  const auto storage = space == Space::shared  ? spv::StorageClass::Workgroup
                       : space == Space::local ? spv::StorageClass::Function
                                               : spv::StorageClass::PushConstant;
  const Id type = b_.type_pointer(storage, b_.type_uint());
  const bool member = space == Space::push || by_views(space);
  const Id array = space == Space::push     ? push_block()
                   : space == Space::shared ? shared_array(View::u32)
                                            : local_array();
  const Id made = member ? op(spv::Op::OpAccessChain, type, array, b_.constant(0), at)
                         : op(spv::Op::OpAccessChain, type, array, at);
  form = {serial_, key, made};
  return made;
}

Id Emitter::containing_word(Value v, Value address) {
  const Inst& inst = f_.insts[v];
  if (!by_address(inst.mem.space)) return pointer(v, address, View::u32);
  const bool coherent = inst.mem.is_volatile && !b_.vulkan_memory();
  const std::uint32_t key =
      pointer_key(inst.mem.space, 0, kContaining | (coherent ? kCoherent : 0));
  Form& form = pointers_[address];
  if (holds(form) && form.key == key) return form.id;
  const Id mask = integer(Type::i64, ~std::uint64_t{3});
  const Id base = op(spv::Op::OpBitwiseAnd, this->type(Type::i64), value(address), mask);
  form = {serial_, key,
          coherent ? coherent_pointer(base, View::u32) : address_pointer(base, b_.type_uint())};
  return form.id;
}

Id Emitter::low_word(Value v) {
  const Id all = value(v);
  if (f_.insts[v].type != Type::i64) return all;
  if (p_.features.int64) return op(spv::Op::OpUConvert, b_.type_uint(), all);
  return op(spv::Op::OpCompositeExtract, b_.type_uint(), all, 0u);
}

/// The bit within its word at which a byte or half stands.
Id Emitter::bit_offset(Value address, unsigned bytes) {
  const std::uint32_t mask = bytes == 1 ? 3 : 2;
  std::uint64_t known = 0;
  if (is_constant(address, known))
    return b_.constant((static_cast<std::uint32_t>(known) & mask) * 8);
  const Id uint = b_.type_uint();
  const Id byte = op(spv::Op::OpBitwiseAnd, uint, low_word(address), b_.constant(mask));
  return op(spv::Op::OpShiftLeftLogical, uint, byte, b_.constant(3));
}

/// The memory operands of an access. In Vulkan's memory model barriers order what is not private,
/// and a coherent access reaches other workgroups.
Words Emitter::access(const Inst& inst, View view, bool stores) {
  using enum spv::MemoryAccessMask;
  const bool aligned = by_address(inst.mem.space);
  Words operands{0};
  if (inst.mem.is_volatile) operands[0] |= word(Volatile);
  if (aligned) {
    operands[0] |= word(Aligned);
    operands.push_back(1u << log2_bytes(view));
  }
  const bool buffer = !aligned && !word_space(inst.mem.space);
  const bool own = inst.mem.space == Space::local || inst.mem.space == Space::push ||
                   (buffer && bound(inst.mem).readonly);
  if (b_.vulkan_memory() && !own) {
    operands[0] |= word(NonPrivatePointer);
    if (aligned ? inst.mem.is_volatile : volatile_ && buffer) {
      operands[0] |= word(stores ? MakePointerAvailable : MakePointerVisible);
      operands.push_back(b_.constant(word(spv::Scope::Device)));
    }
  }
  if (operands[0] == 0) operands.clear();
  return operands;
}

Id Emitter::load_from(const Inst& inst, Id pointer, View view) {
  const Id type = element_type(view);
  const Words operands = access(inst, view, false);
  last_ = b_.id();
  last_at_ = code_.size() + 2;
  put_list(code_, spv::Op::OpLoad, operands, type, last_, pointer);
  return last_;
}

void Emitter::store_to(const Inst& inst, Id pointer, View view, Id value) {
  put_list(code_, spv::Op::OpStore, access(inst, view, true), pointer, value);
}

void Emitter::load(Value v, const Inst& inst) {
  const Value address = f_.arg(v, 0);
  const unsigned bytes = inst.mem.bytes;
  const bool in_words = word_space(inst.mem.space) && !by_views(inst.mem.space);
  if (bytes < 4) {
    const Id uint = b_.type_uint();
    if (native_narrow(inst)) {
      const View view = bytes == 1 ? View::u8 : View::u16;
      return set(v,
                 op(spv::Op::OpUConvert, uint, load_from(inst, pointer(v, address, view), view)));
    }
    const Id word = load_from(inst, containing_word(v, address), View::u32);
    const Id offset = bit_offset(address, bytes);
    return set(v, op(spv::Op::OpBitFieldUExtract, uint, word, offset, b_.constant(bytes * 8)));
  }
  if (bytes == 4) return set(v, load_from(inst, pointer(v, address, View::u32), View::u32));
  if (in_words) {
    Words parts;
    for (unsigned i = 0; i < bytes / 4; ++i) {
      parts.push_back(load_from(inst, word_pointer(v, address, i), View::u32));
    }
    const Id id = b_.id();
    last_at_ = code_.size() + 2;
    put_list(code_, spv::Op::OpCompositeConstruct, parts, b_.type_uvec(bytes / 4), id);
    return inst.type == Type::i64 ? set_words(v, id) : set(v, id);
  }
  const View view = bytes == 16                                   ? View::uvec4
                    : inst.type == Type::i64 && p_.features.int64 ? View::u64
                                                                  : View::uvec2;
  set(v, load_from(inst, pointer(v, address, view), view));
}

void Emitter::store(Value v, const Inst& inst) {
  const Value address = f_.arg(v, 0), data = f_.arg(v, 1);
  const unsigned bytes = inst.mem.bytes;
  if (bytes < 4) return narrow_store(v, inst);
  if (bytes == 4) {
    const Id value_id = value(data);
    return store_to(inst, pointer(v, address, View::u32), View::u32, value_id);
  }
  const bool wide = f_.insts[data].type == Type::i64;
  if (word_space(inst.mem.space) && !by_views(inst.mem.space)) {
    const Id all = wide ? words(data) : value(data);
    for (unsigned i = 0; i < bytes / 4; ++i) {
      const Id part = op(spv::Op::OpCompositeExtract, b_.type_uint(), all, i);
      store_to(inst, word_pointer(v, address, i), View::u32, part);
    }
    return;
  }
  const View view = bytes == 16 ? View::uvec4 : wide && p_.features.int64 ? View::u64 : View::uvec2;
  const Id value_id = value(data);
  store_to(inst, pointer(v, address, view), view, value_id);
}

void Emitter::narrow_store(Value v, const Inst& inst) {
  const Value address = f_.arg(v, 0), data = f_.arg(v, 1);
  const unsigned bytes = inst.mem.bytes;
  const Id uint = b_.type_uint();
  const Id source = value(data);
  if (native_narrow(inst)) {
    const View view = bytes == 1 ? View::u8 : View::u16;
    const Id narrow = op(spv::Op::OpUConvert, element_type(view), source);
    return store_to(inst, pointer(v, address, view), view, narrow);
  }
  const Id word = containing_word(v, address);
  const Id offset = bit_offset(address, bytes);
  const Id width = b_.constant(bytes * 8);
  if (inst.mem.space == Space::local) {
    // Nobody else writes here.
    const Id old = load_from(inst, word, View::u32);
    return store_to(inst, word, View::u32,
                    op(spv::Op::OpBitFieldInsert, uint, old, source, offset, width));
  }
  // Clearing and setting as two atomics never disturbs a neighbour, and needs no loop: loops are
  // dear, and some drivers cut them off.
  const Id scope_id = scope(inst);
  const Id relaxed = b_.constant(0);
  const Id zero = b_.constant(0);
  const Id keep =
      op(spv::Op::OpBitFieldInsert, uint, b_.constant(0xffffffffu), zero, offset, width);
  const Id placed = op(spv::Op::OpBitFieldInsert, uint, zero, source, offset, width);
  op(spv::Op::OpAtomicAnd, uint, word, scope_id, relaxed, keep);
  op(spv::Op::OpAtomicOr, uint, word, scope_id, relaxed, placed);
}

Id Emitter::scope(const Inst& inst) {
  return b_.constant(
      word(inst.mem.space == Space::shared ? spv::Scope::Workgroup : spv::Scope::Device));
}

}  // namespace ptx2spv::spirv
