// Reads by the device's sampler. Coordinates go to it as they are where its addressing is the
// texture's. Where a texture takes coordinates in texels and the sampler cannot, they are cut as
// the hardware cuts them and divided by the extent: they then stand in the middle of what they were
// cut to, and the quotient's rounding does not move them.
#include "translator/passes/texture/sampled_reads.hpp"

#include "ptx2spv/formats.hpp"
#include "translator/ir/texture_gradients.hpp"
#include "translator/passes/texture/texture_records.hpp"

namespace ptx2spv::passes {

namespace {

class SampledRead {
 public:
  SampledRead(Builder& builder, Module& module, const TextureOp& op, std::span<const Value> args,
              const SampledTexture& texture)
      : b_(builder), module_(module), op_(op), args_(args), at_(texture) {}

  Value read() {
    TextureSample sample;
    sample.view = op_.use.geometry;
    sample.component = op_.component;
    sample.texel = texel();
    sample.indexed = at_.indexed;
    limit(sample);
    std::vector<Value> operands = place(sample);
    sample.mode = mode();
    if (sample.mode == TextureMode::level) operands.push_back(level());
    for (unsigned g = 0; sample.mode == TextureMode::gradient && g < 2; ++g)
      for (unsigned k = 0; k < sample.directions(); ++k)
        operands.push_back(argument(op_.gradients[g][k]));
    if (at_.indexed) operands.push_back(record_index(b_, args_[0]));
    const Value read = b_.inst(Op::texture_sample, Type::v4, operands, sample.bits());
    b_.last(read).mem.slot = static_cast<std::uint16_t>(at_.binding);
    return results(read);
  }

 private:
  using Texel = TextureSample::Texel;

  Value i32(std::uint32_t value) { return b_.i32(value); }
  Value argument(std::int8_t index) {
    return index < 0 ? i32(0) : args_[static_cast<std::size_t>(index)];
  }
  Value library(const char* name, Type type, std::initializer_list<Value> args) {
    return b_.inst(Op::library, type, args, module_.library(name));
  }
  Value word(std::uint32_t which) {
    const Value at =
        at_.indexed ? b_.op2(Op::add, args_[0], i32(which * 4)) : i32(at_.record + which * 4);
    return b_.load(
        Type::i32, at,
        {.space = at_.indexed ? Space::textures : Space::param, .bytes = 4, .readonly = true});
  }
  Value part(Value vector, unsigned index) {
    return b_.inst(Op::extract, Type::i32, {vector}, index);
  }
  bool has(std::uint32_t bit) const { return (at_.spec.sampler & bit) != 0; }
  /// i1: the same where only the record tells.
  Value has_at_run_time(std::uint32_t bit) {
    return b_.cmp(Op::ne, b_.op2(Op::and_, word(abi::x_sampler), i32(bit)), i32(0));
  }
  bool gathers() const { return op_.use.mode == TextureMode::gather; }

  /// What the view's texels are to the sampler.
  Texel texel() const {
    if (at_.indexed) return at_.texel;
    if (!has(abi::sample_element) || at_.spec.format >= abi::SurfaceFormat::f16) return Texel::real;
    const bool is_signed = at_.spec.format >= abi::SurfaceFormat::s8;
    return is_signed ? Texel::sint : Texel::uint;
  }

  /// What the texture's format says of the numbers. Border colours are texels, too.
  void limit(TextureSample& sample) const {
    using enum abi::SurfaceFormat;
    const abi::SurfaceFormat format = at_.spec.format;
    if (at_.indexed || sample.texel != Texel::real || component_bytes(format) > 2 || format == f16)
      return;
    sample.normalised = true;
    sample.not_negative = format == u8 || format == u16 || format == unorm8 || format == unorm16;
  }

  /// Gradients choose a level, or samples; where there is one level and one sample they do nothing.
  bool chooses() const { return at_.indexed || !at_.spec.one_level || has(abi::sample_anisotropy); }
  bool layered() const {
    const TextureGeometry geometry = op_.use.geometry;
    return geometry == TextureGeometry::a1d || geometry == TextureGeometry::a2d ||
           geometry == TextureGeometry::acube;
  }
  TextureMode mode() const {
    if (gathers()) return TextureMode::gather;
    return op_.use.mode == TextureMode::gradient && chooses() && at_.spec.approximate
               ? TextureMode::gradient
               : TextureMode::level;
  }

  /// The bits of a float. The sampler adds its bias, of which reads of the base level know nothing.
  Value level() {
    if (op_.use.mode == TextureMode::level) return argument(op_.level);
    if (op_.use.mode == TextureMode::gradient && chooses()) return gradient_level();
    return at_.spec.biased ? library("tex_fraction", Type::i32,
                                     {b_.op2(Op::sub, i32(0), word(abi::x_lod_bias))})
                           : i32(0);
  }

  /// Devices need not count gradients as NVIDIA's hardware does.
  Value gradient_level() {
    std::array<Value, 3> at;
    std::array<std::array<Value, 3>, 2> moves;
    for (unsigned k = 0; k < 3; ++k) {
      at[k] = argument(op_.coordinates[k + (layered() ? 1 : 0)]);
      for (unsigned g = 0; g < 2; ++g) moves[g][k] = argument(op_.gradients[g][k]);
    }
    const TextureGradients found =
        texture_gradients(b_, module_, op_.use.geometry, at, moves,
                          {word(abi::x_width), word(abi::x_height), word(abi::x_depth)});
    return library("tex_fraction", Type::i32, {found.lod});
  }

  std::vector<Value> place(TextureSample& sample) {
    const TextureGeometry geometry = op_.use.geometry;
    const bool cube = geometry == TextureGeometry::cube || geometry == TextureGeometry::acube;
    std::vector<Value> c;
    for (const std::int8_t index : op_.coordinates)
      if (index >= 0) c.push_back(args_[static_cast<std::size_t>(index)]);
    Value layer = 0;
    if (layered()) {
      const Value layers = word(abi::x_layers);
      const Value count = cube ? b_.op2(Op::udiv, layers, i32(6)) : layers;
      layer = b_.op2(Op::umin, c[0], b_.op2(Op::sub, count, i32(1)));
      c.erase(c.begin());
    }
    const unsigned axes = sample.directions();
    while (c.size() < axes) c.push_back(i32(0));
    c.resize(axes);
    if (cube && at_.spec.faces) {
      // Filters stay on the face.
      sample.view = TextureGeometry::a2d;
      const Value face = library("tex_cube", Type::v4, {c[0], c[1], c[2]});
      const Value first = layer ? b_.op2(Op::mul, layer, i32(6)) : i32(0);
      layer = b_.op2(Op::add, first, part(face, 0));
      c = {part(face, 1), part(face, 2)};
    } else if (cube && !at_.spec.approximate) {
      ordinary_direction(c);
    } else if (at_.spec.divides) {
      divide(c);
    }
    if (layer) c.push_back(library("tex_layer", Type::i32, {layer}));
    return c;
  }

  /// A direction that the sampler takes otherwise than CUDA's programs do is replaced, behind a
  /// branch that ordinary ones do not take.
  void ordinary_direction(std::vector<Value>& c) {
    std::array<std::uint32_t, 3> vars{};
    auto& all = b_.function().vars;
    for (unsigned k = 0; k < 3; ++k) {
      vars[k] = static_cast<std::uint32_t>(all.size());
      all.push_back({Type::i32, "texture.direction"});
      b_.set(vars[k], c[k]);
    }
    const Value ordinary = library("tex_cube_ordinary", Type::i32, {c[0], c[1], c[2]});
    const BlockId replace = b_.new_block(), rest = b_.new_block();
    b_.cond_br(b_.cmp(Op::ne, ordinary, i32(0)), rest, replace);
    b_.at(replace);
    const Value way = library("tex_cube_direction", Type::v4, {c[0], c[1], c[2]});
    for (unsigned k = 0; k < 3; ++k) b_.set(vars[k], part(way, k));
    b_.br(rest);
    b_.at(rest);
    for (unsigned k = 0; k < 3; ++k) c[k] = b_.get(vars[k]);
  }

  /// Coordinates in texels over the extents.
  void divide(std::vector<Value>& c) {
    constexpr abi::TextureWord kExtents[] = {abi::x_width, abi::x_height, abi::x_depth};
    const Value linear = gathers()     ? b_.i1(true)
                         : at_.indexed ? has_at_run_time(abi::sample_linear)
                                       : b_.i1(has(abi::sample_linear));
    const Value across = c.size() == 1 ? word(abi::x_width)
                                       : b_.op2(Op::umax, word(abi::x_width), word(abi::x_height));
    for (unsigned k = 0; k < c.size(); ++k) {
      const Value extent = word(kExtents[k]);
      const Value over = at_.spec.approximate
                             ? library("tex_over_extent", Type::i32, {c[k], extent})
                             : library(at_.fused_fma ? "tex_divided_fused" : "tex_divided",
                                       Type::i32, {c[k], extent, k == 2 ? extent : across, linear});
      c[k] = at_.indexed ? b_.select(has_at_run_time(abi::sample_normalized), c[k], over) : over;
    }
  }

  /// Channels that the texture has not are 0.
  Value results(Value read) {
    std::array<Value, 4> values;
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned channel = gathers() ? op_.component : i;
      values[i] = channel < at_.spec.channels ? part(read, i) : i32(0);
    }
    using Result = TextureOp::Result;
    if (op_.result != Result::words)
      for (Value& value : values) value = library("tex_half", Type::i32, {value});
    if (op_.result == Result::half_pairs) {
      const auto pair = [&](unsigned i) {
        return b_.op2(Op::or_, values[i], b_.op2(Op::shl, values[i + 1], i32(16)));
      };
      values = {pair(0), pair(2), i32(0), i32(0)};
    }
    return b_.inst(Op::compose, Type::v4, {values[0], values[1], values[2], values[3]});
  }

  Builder& b_;
  Module& module_;
  const TextureOp& op_;
  std::span<const Value> args_;
  const SampledTexture& at_;
};

}  // namespace

Value sampled_read(Builder& builder, Module& module, const TextureOp& op,
                   std::span<const Value> args, const SampledTexture& texture) {
  return SampledRead(builder, module, op, args, texture).read();
}

}  // namespace ptx2spv::passes
