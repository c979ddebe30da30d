// Storage images of surfaces, always seen as unsigned integers of their texel's size.
#include "ptx2spv/formats.hpp"
#include "translator/backend/spirv/emitter.hpp"

namespace ptx2spv::spirv {

namespace {

struct Shape {
  spv::Dim dim = spv::Dim::Dim2D;
  bool arrayed = false;
  unsigned coordinates = 2;  ///< operands of an access; a component -1 reads 0
  int from[3] = {0, 1, 2};
};

/// How a geometry looks to Vulkan; one-dimensional images are one row high where the device has no
/// other.
Shape shape_of(unsigned geometry, bool image1d) {
  switch (geometry) {
    case 1:
      return image1d ? Shape{spv::Dim::Dim1D, false, 1, {0, -1, -1}}
                     : Shape{spv::Dim::Dim2D, false, 2, {0, -1, -1}};
    case 3: return {spv::Dim::Dim3D, false, 3, {0, 1, 2}};
    case 4:
      return image1d ? Shape{spv::Dim::Dim1D, true, 2, {0, 1, -1}}
                     : Shape{spv::Dim::Dim2D, true, 3, {0, -1, 1}};
    case 5: return {spv::Dim::Dim2D, true, 3, {0, 1, 2}};
    default: return {spv::Dim::Dim2D, false, 2, {0, 1, -1}};
  }
}

}  // namespace

const SlotSpec& Emitter::slot(const Inst& inst) const {
  static const SlotSpec kBuffer;
  return inst.mem.slot < o_.slots.size() ? o_.slots[inst.mem.slot] : kBuffer;
}

Id Emitter::image_type(const SlotSpec& spec, bool texels64) {
  const Shape shape = shape_of(spec.geometry, p_.features.image1d);
  if (shape.dim == spv::Dim::Dim1D) b_.capability(spv::Capability::Image1D);
  Id component = b_.type_uint();
  auto format = spv::ImageFormat::R32ui;
  bool extended = true;
  switch (component_bytes(spec.format) * spec.channels) {
    case 1: format = spv::ImageFormat::R8ui; break;
    case 2: format = spv::ImageFormat::R16ui; break;
    case 4: extended = false; break;
    case 8:
      format = spv::ImageFormat::Rg32ui;
      if (!texels64) break;
      format = spv::ImageFormat::R64ui;
      extended = false;
      component = b_.type_int(64);
      b_.extension("SPV_EXT_shader_image_int64");
      b_.capability(spv::Capability::Int64ImageEXT);
      break;
    case 16:
      format = spv::ImageFormat::Rgba32ui;
      extended = false;
      break;
    default: fail("a surface slot has texels of a size that no image has");
  }
  if (extended) b_.capability(spv::Capability::StorageImageExtendedFormats);
  return b_.global(spv::Op::OpTypeImage, 0,
                   {component, word(shape.dim), 0, shape.arrayed ? 1u : 0u, 0, 2, word(format)});
}

Id Emitter::image_variable(const Inst& inst, Id type) {
  const bool coherent = volatile_ && !b_.vulkan_memory();
  const std::uint64_t key = std::uint64_t{2} << 60 | std::uint64_t{type} << 16 | inst.mem.slot |
                            (coherent ? std::uint64_t{1} << 59 : 0);
  if (const Id known = b_.shared(key)) return uses(variables_, known);
  const Id variable = b_.variable(spv::StorageClass::UniformConstant, type);
  b_.decorate(variable, spv::Decoration::DescriptorSet, abi::kSlotSet);
  b_.decorate(variable, spv::Decoration::Binding, std::uint32_t{inst.mem.slot});
  if (coherent) b_.decorate(variable, spv::Decoration::Coherent);
  b_.name(variable, "slot" + std::to_string(inst.mem.slot));
  b_.shared(key) = variable;
  return uses(variables_, variable);
}

Id Emitter::image_coordinates(Value coords, const SlotSpec& spec) {
  const Shape shape = shape_of(spec.geometry, p_.features.image1d);
  const Inst& made = f_.insts[coords];
  const auto part = [&](int component) {
    if (component < 0) return b_.constant(0);
    if (made.op == Op::compose) return operand(coords, static_cast<unsigned>(component));
    return op(spv::Op::OpCompositeExtract, b_.type_uint(), value(coords),
              static_cast<unsigned>(component));
  };
  Words parts;
  for (unsigned i = 0; i < shape.coordinates; ++i) parts.push_back(part(shape.from[i]));
  if (parts.size() == 1) return parts[0];
  const Id id = b_.id();
  put_list(code_, spv::Op::OpCompositeConstruct, parts, b_.type_uvec(shape.coordinates), id);
  return id;
}

/// The image operands of an access, as access() has those of memory.
Words Emitter::texel_access(bool stores) {
  using enum spv::ImageOperandsMask;
  if (!b_.vulkan_memory()) return {};
  if (!volatile_) return {word(NonPrivateTexel)};
  return {word(NonPrivateTexel) | word(stores ? MakeTexelAvailable : MakeTexelVisible),
          b_.constant(word(spv::Scope::Device))};
}

void Emitter::image(Value v, const Inst& inst) {
  const SlotSpec& spec = slot(inst);
  if (spec.backing != Backing::image) return fail("an image access on a slot that is no image");
  const unsigned texel_bytes = component_bytes(spec.format) * spec.channels;
  const Type moved = inst.op == Op::image_load ? inst.type : f_.insts[f_.arg(v, 1)].type;
  const bool texels64 = moved == Type::i64;
  if (texels64 && !(p_.features.int64 && p_.features.image_atomics64 && texel_bytes == 8))
    return unexpected(inst);
  const Id type_id = image_type(spec, texels64);
  const Id variable = image_variable(inst, type_id);
  const Id at = image_coordinates(f_.arg(v, 0), spec);
  const Id component = texels64 ? b_.type_int(64) : b_.type_uint();
  if (inst.op == Op::image_atomic) {
    const spv::Op code = atomic_op(inst.mem.atomic);
    if (code == spv::Op::OpNop || code == spv::Op::OpAtomicFAddEXT ||
        texel_bytes != (texels64 ? 8 : 4))
      return unexpected(inst);
    if (texels64) b_.capability(spv::Capability::Int64Atomics);
    const Id source = operand(v, 1);
    const Id texel =
        op(spv::Op::OpImageTexelPointer, b_.type_pointer(spv::StorageClass::Image, component),
           variable, at, b_.constant(0));
    return set(v, op(code, component, texel, b_.constant(word(spv::Scope::Device)), b_.constant(0),
                     source));
  }
  // Reads give four components and writes take four, whatever the format has.
  const Id four = texels64 ? b_.type_vector(component, 4) : b_.type_uvec(4);
  if (inst.op == Op::image_load) {
    const Id image_id = op(spv::Op::OpLoad, type_id, variable);
    const Words operands = texel_access(false);
    const Id texel = b_.id();
    last_at_ = code_.size() + 2;
    put_list(code_, spv::Op::OpImageRead, operands, four, texel, image_id, at);
    return set(v, texels64 ? op(spv::Op::OpCompositeExtract, component, texel, 0) : texel);
  }
  Id texel = operand(v, 1);
  if (texels64) texel = op(spv::Op::OpCompositeConstruct, four, texel, texel, texel, texel);
  const Id image_id = op(spv::Op::OpLoad, type_id, variable);
  put_list(code_, spv::Op::OpImageWrite, texel_access(true), image_id, at, texel);
}

}  // namespace ptx2spv::spirv
