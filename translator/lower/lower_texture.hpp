// One texture instruction. Everything the record decides stays a value; the geometry is known.
#pragma once

#include <array>

#include "translator/lower/function.hpp"

namespace ptx2spv::lower {

class TextureLowering {
 public:
  TextureLowering(FunctionLowering& function, const Instruction& inst)
      : TextureLowering(function, inst, function.b_) {}
  /// A read is an ir::Op::texture_read; how it is done is a routine of its kind, which
  /// passes/texture/expand_texture_reads puts in its place.
  void read();
  void query();

 private:
  struct Axis {
    Value first = 0, second = 0, weight = 0, first_in = 0, second_in = 0;  ///< the last two are i1
    Value from = 0, to = 0;  ///< the indices before any address mode
  };
  /// One level as a read sees it: its memory, and the texels around the point.
  struct Level {
    Value offset = 0, row_pitch = 0, slice_pitch = 0, width = 0, height = 0, depth = 0;
    Axis x, y, z;
    Value total = 0;   ///< its weight in 256ths
    Value shares = 0;  ///< i1: the total is not 0
    Value corner = 0;  ///< of a seamless cube map: which of four texels no face has, 4: none
  };
  /// What an instruction says about the place, the same for every level.
  struct Place {
    std::vector<Value> coordinates;
    std::array<Value, 3> offset{};
    Value layer = 0;
    unsigned axes = 2;
    bool gather = false;
  };
  /// How a component is read; sRGB makes that depend on the channel, and its sums are rounded to
  /// f16.
  struct Component {
    Value format = 0, srgb = 0;
  };

  Value i32(std::uint32_t value) { return b_.i32(value); }
  Value library(const char* name, ir::Type type, std::initializer_list<Value> args) {
    return b_.inst(ir::Op::library, type, args, l_.ir_.library(name));
  }
  Value part(Value vector, std::uint64_t index) {
    return b_.inst(ir::Op::extract, ir::Type::i32, {vector}, index);
  }
  Value both(Value a, Value b) { return b_.op2(ir::Op::and_, a, b); }
  /// A word of the record that counts whole words of memory: later passes know its low bits.
  Value aligned(Value word) { return b_.op2(ir::Op::and_, word, i32(~3u)); }
  Value set(Value word, std::uint32_t bit) {
    return b_.cmp(ir::Op::ne, b_.op2(ir::Op::and_, word, i32(bit)), i32(0));
  }

  TextureLowering(FunctionLowering& function, const Instruction& inst, ir::Builder& builder)
      : l_(function), b_(builder), inst_(inst) {}

  // lower_texture.cpp
  /// The values of a read, in the order of its routine's parameters. Where the instruction has no
  /// such operand, it is 0 and no parameter.
  struct Inputs {
    Value record = 0, sampler_record = 0;
    std::array<Value, 4> coordinates{};
    Value level = 0;
    std::array<std::array<Value, 3>, 2> gradients{};
    std::array<Value, 3> offsets{};
    template <class Each>
    void each(Each&& f) {
      f(record), f(sampler_record);
      for (Value& value : coordinates) f(value);
      f(level);
      for (auto& gradient : gradients)
        for (Value& value : gradient) f(value);
      for (Value& value : offsets) f(value);
    }
  };
  Inputs gather_inputs();
  std::uint32_t routine(const Inputs& given);
  ir::TextureOp texture_op(const Inputs& inputs) const;
  std::uint8_t gathered_component() const;
  /// The routine's code: four words.
  std::vector<Value> body();
  /// Reads the handles of texture and sampler; a dead one traps the thread.
  void open(const Operand& texture, const Operand* sampler);
  /// What of the open records holds for this instruction.
  void decide();
  enum class Kind : std::uint8_t { texture, sampler, either };
  std::uint32_t common_variable(const char* name);
  Value open_record(const Operand& handle, Kind kind);
  Value word(std::uint32_t which);          ///< of the texture's record
  Value sampler_word(std::uint32_t which);  ///< of the sampler's, which may be the texture's
  Value feature(abi::TextureFeature which);
  void offsets(Inputs& inputs);
  bool samples() const { return inst_.mods->geom == Mod::d2ms || inst_.mods->geom == Mod::a2dms; }
  bool cube() const { return inst_.mods->geom == Mod::cube || inst_.mods->geom == Mod::acube; }
  std::vector<Value> converted(std::vector<Value> values);
  void write_results(const std::vector<Value>& values);

  // lower_texture_level.cpp
  /// Levels of detail: sets levels_[0] and, where two may be mixed, levels_[1].
  void choose_levels(const Place& place);
  Value gradient_level(const Place& place);
  Level level(Value number);
  void locate(Level& level, const Place& place);
  Value bare_line();
  Axis axis(Value coordinate, Value extent, unsigned number, Value offset, bool gather,
            Value largest);
  Axis fetch(Value coordinate, Value extent, Value offset);

  // lower_texture_anisotropic.cpp
  /// Volumes and layers of lines have one sample: of anisotropy only the mix of levels is left.
  bool one_sample() const { return inst_.mods->geom == Mod::d3 || inst_.mods->geom == Mod::a1d; }
  Value wants_anisotropy();
  /// i1: texels of a point filter go through the sums too.
  Value filters_points();
  Value anisotropy();
  /// Replaces what `values` hold by several samples' sum, where the texture asks for it.
  void anisotropic(const Place& place, std::vector<Value>& values);
  struct Footprint {
    Value levels = 0;  ///< v4: the level, the part of the next one, logarithms of the ratios
    Value direction = 0, near = 0, far = 0;  ///< v4: in both levels, tex_samples
    Value near_count = 0, count = 0;
    Value several = 0;  ///< i1: there is more than one sample of a level
  };
  void find_footprint();
  /// The sums of one sample: floats' by channel, then integers'.
  struct SampleSums {
    std::array<Value, 4> floats{}, integers{};
  };
  SampleSums sample(const Footprint& at, const Place& place, Value index);

  // lower_texture_sample.cpp
  Component component(unsigned channel);
  /// A texel's words, the border's where it is not inside.
  struct Texel {
    Value words = 0, in = 0;
  };
  using Plane = std::array<Texel, 4>;
  Value texel(Value offset);
  Value raw(const Texel& texel, unsigned channel, const Component& component);
  Value border();
  Plane plane(const Level& level, Value z, Value z_in);
  std::array<Value, 4> components(const Plane& plane, unsigned channel, const Component& how);
  Value compose(const std::array<Value, 4>& values);
  Value float_sum(const std::array<Value, 4>& texels, Value weights, const Component& how);
  Value weights(const Level& level, Value total);
  Value format_is(abi::SurfaceFormat format);
  Value extended(Value raw);
  Value point(Value raw, const Component& component);
  Value quotient(Value sum);
  Value fine_quotient(Value sum);
  Value filtered_plane(const Plane& plane, Value weights);
  Value filtered_planes(const std::array<std::array<Plane, 2>, 2>& planes, unsigned channel,
                        const Component& how);
  std::vector<Value> sampled();
  std::vector<Value> fetched();
  std::vector<Value> gathered(unsigned channel);
  Value corner(const Level& level, const std::array<Value, 4>& texels, const Component& how);
  /// Channels that the texture has not are 0, as are all to an instruction that it is hidden from.
  Value value_of(unsigned channel, Value value) {
    if (!channels_) channels_ = b_.select(hidden_, i32(0), word(abi::x_channels));
    return b_.select(b_.cmp(ir::Op::ult, i32(channel), channels_), value, i32(0));
  }

  FunctionLowering& l_;
  ir::Builder& b_;
  const Instruction& inst_;
  Inputs in_;
  Value record_ = 0, sampler_record_ = 0, base_ = 0, border_ = 0, layer_in_ = 0, linear_ = 0,
        element_ = 0;
  Value sampler_ = 0;   ///< the bits of abi::TextureSampler that hold for this read
  Value hidden_ = 0;    ///< i1: the texture reads as zeros to this instruction
  Value channels_ = 0;  ///< that it has for this instruction
  Value has_levels_ = 0, has_srgb_ = 0, mixed_ = 0;
  Value seamless_ = 0;                ///< i1: a cube map, read across the edges of its faces
  Value face_ = 0, filters_ = 0;      ///< of a cube; i1: four texels around the point are read
  std::array<Value, 3> direction_{};  ///< of a cube
  std::array<Value, abi::kTextureWords> words_{}, sampler_words_{};
  std::array<Level, 2> levels_;
  std::array<Value, 2> gradients_{};  ///< v4: in texels
  Footprint footprint_;
  bool volume_ = false, integer_ = false;
};

}  // namespace ptx2spv::lower
