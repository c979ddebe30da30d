// Textures that the device's samplers read: combined image samplers.
#include "translator/backend/spirv/emitter.hpp"

namespace ptx2spv::spirv {

namespace {

struct TextureShape {
  spv::Dim dim = spv::Dim::Dim2D;
  bool arrayed = false;
};

TextureShape shape_of(TextureGeometry geometry) {
  switch (geometry) {
    case TextureGeometry::d1: return {spv::Dim::Dim1D, false};
    case TextureGeometry::a1d: return {spv::Dim::Dim1D, true};
    case TextureGeometry::d3: return {spv::Dim::Dim3D, false};
    case TextureGeometry::a2d: return {spv::Dim::Dim2D, true};
    case TextureGeometry::cube: return {spv::Dim::Cube, false};
    case TextureGeometry::acube: return {spv::Dim::Cube, true};
    default: return {spv::Dim::Dim2D, false};
  }
}

}  // namespace

Id Emitter::texel_type(TextureSample::Texel texel) {
  switch (texel) {
    case TextureSample::Texel::uint: return b_.type_uint();
    case TextureSample::Texel::sint: return b_.type_signed(32);
    case TextureSample::Texel::real: break;
  }
  return b_.type_float(32);
}

/// The combined image sampler at a binding, loaded where it is used. `index`: in an array, else 0.
Id Emitter::sampled_image(std::uint32_t binding, const TextureSample& sample, Id index) {
  const TextureShape view = shape_of(sample.view);
  if (view.dim == spv::Dim::Dim1D) b_.capability(spv::Capability::Sampled1D);
  if (view.dim == spv::Dim::Cube && view.arrayed) b_.capability(spv::Capability::SampledCubeArray);
  const Id image = b_.global(spv::Op::OpTypeImage, 0,
                             {texel_type(sample.texel), word(view.dim), 0, view.arrayed ? 1u : 0u,
                              0, 1, word(spv::ImageFormat::Unknown)});
  const Id type = b_.global(spv::Op::OpTypeSampledImage, 0, {image});
  const Id held = sample.indexed ? b_.global(spv::Op::OpTypeRuntimeArray, 0, {type}) : type;
  const std::uint64_t key = std::uint64_t{3} << 60 | std::uint64_t{held} << 16 | binding;
  Id variable = b_.shared(key);
  if (variable == 0) {
    variable = b_.variable(spv::StorageClass::UniformConstant, held);
    b_.decorate(variable, spv::Decoration::DescriptorSet, abi::kTextureSet);
    b_.decorate(variable, spv::Decoration::Binding, binding);
    b_.name(variable, (sample.indexed ? "textures" : "texture") + std::to_string(binding));
    b_.shared(key) = variable;
  }
  uses(variables_, variable);
  if (!sample.indexed) return op(spv::Op::OpLoad, type, variable);
  // Threads of a group may take several elements.
  b_.capability(spv::Capability::RuntimeDescriptorArray);
  b_.capability(spv::Capability::ShaderNonUniform);
  b_.capability(spv::Capability::SampledImageArrayNonUniformIndexing);
  const Id pointer = op(spv::Op::OpAccessChain,
                        b_.type_pointer(spv::StorageClass::UniformConstant, type), variable, index);
  const Id loaded = op(spv::Op::OpLoad, type, pointer);
  for (const Id id : {index, pointer, loaded}) b_.decorate(id, spv::Decoration::NonUniform);
  return loaded;
}

void Emitter::texture_sample(Value v, const Inst& inst) {
  const TextureSample sample = TextureSample::of(inst.imm);
  unsigned next = 0;
  const auto floats = [&](unsigned count) {
    Words parts;
    for (unsigned i = 0; i < count; ++i) parts.push_back(float_value(f_.arg(v, next++)));
    if (count == 1) return parts[0];
    const Id id = b_.id();
    put_list(code_, spv::Op::OpCompositeConstruct, parts, b_.type_vector(b_.type_float(32), count),
             id);
    return id;
  };
  const Id place = floats(sample.coordinates());
  // A copy, for the decoration is of the id.
  Id index = 0;
  if (sample.indexed)
    index = op(spv::Op::OpCopyObject, b_.type_uint(), value(f_.arg(v, inst.count - 1u)));
  const Id image = sampled_image(inst.mem.slot, sample, index);
  const Id component = texel_type(sample.texel), four = b_.type_vector(component, 4);
  Id read = 0;
  if (sample.mode == TextureMode::gather) {
    read = op(spv::Op::OpImageGather, four, image, place, b_.constant(sample.component));
  } else if (sample.mode == TextureMode::gradient) {
    const Id dx = floats(sample.directions()), dy = floats(sample.directions());
    read = op(spv::Op::OpImageSampleExplicitLod, four, image, place,
              word(spv::ImageOperandsMask::Grad), dx, dy);
  } else {
    const Id lod = floats(1);
    read = op(spv::Op::OpImageSampleExplicitLod, four, image, place,
              word(spv::ImageOperandsMask::Lod), lod);
  }
  if (sample.texel != TextureSample::Texel::uint)
    read = op(spv::Op::OpBitcast, b_.type_uvec(4), read);
  set(v, read);
}

}  // namespace ptx2spv::spirv
