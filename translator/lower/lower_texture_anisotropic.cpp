// Anisotropic reads: samples along the longest vector of the footprint, in a loop. What they weigh
// and where they lie is in shaders/texture_gradient.glsl.
#include "translator/lower/lower_texture.hpp"

namespace ptx2spv::lower {

/// i1: the texture asks for it.
Value TextureLowering::wants_anisotropy() {
  // Integers that are read as integers are not filtered.
  const Value real = b_.cmp(Op::ule, i32(static_cast<std::uint32_t>(abi::SurfaceFormat::f16)),
                            word(abi::x_format));
  const Value floats = b_.op2(Op::or_, real, b_.op2(Op::xor_, element_, b_.i1(true)));
  return both(both(feature(abi::feature_anisotropy), floats),
              set(sampler_, abi::sample_anisotropy));
}

Value TextureLowering::filters_points() {
  const Value several = volume_ ? b_.i1(false) : wants_anisotropy();
  return b_.op2(Op::or_, mixed_, several);
}

/// The most samples by their code, whether levels are mixed as they fall, whether two are mixed.
Value TextureLowering::anisotropy() {
  const Value bits = b_.op2(Op::and_, b_.op2(Op::lshr, sampler_, i32(14)), i32(15));
  return b_.op2(Op::or_, bits, b_.select(mixed_, i32(16), i32(0)));
}

void TextureLowering::find_footprint() {
  const Value most = b_.op2(Op::shl, b_.op2(Op::sub, word(abi::x_levels), i32(1)), i32(8));
  const Value bounds = b_.inst(Op::compose, Type::v4,
                               {sampler_word(abi::x_lod_bias), sampler_word(abi::x_lod_min),
                                b_.op2(Op::umin, sampler_word(abi::x_lod_max), most), i32(0)});
  Footprint& at = footprint_;
  at.levels =
      library("tex_footprint", Type::v4, {gradients_[0], gradients_[1], bounds, anisotropy()});
  at.direction = library("tex_direction", Type::v4, {gradients_[0], gradients_[1]});
  at.near = library("tex_samples", Type::v4, {part(at.levels, 2)});
  at.far = library("tex_samples", Type::v4, {part(at.levels, 3)});
  const Value share = part(at.levels, 1);
  at.near_count = b_.select(b_.cmp(Op::eq, share, i32(256)), i32(0), part(at.near, 0));
  const Value far_count = b_.select(b_.cmp(Op::eq, share, i32(0)), i32(0), part(at.far, 0));
  // One sample of each level is a read like any other.
  const Value all = b_.op2(Op::add, at.near_count, far_count);
  const Value levels = b_.select(b_.cmp(Op::eq, share, i32(0)), i32(1), i32(2));
  at.several = both(wants_anisotropy(), b_.cmp(Op::ult, levels, all));
  at.count = b_.select(at.several, all, i32(0));
}

TextureLowering::SampleSums TextureLowering::sample(const Footprint& at, const Place& place,
                                                    Value index) {
  const Value second = b_.cmp(Op::ule, at.near_count, index);
  const Value number = b_.op2(Op::sub, index, b_.select(second, at.near_count, i32(0)));
  const Value samples = b_.select(second, at.far, at.near);
  const Value share = part(at.levels, 1);
  const Value total = b_.select(second, share, b_.op2(Op::sub, i32(256), share));
  const Value distance = b_.select(second, i32(64), library("tex_distance", Type::i32, {share}));
  // Weights count 1024ths in the end.
  const Value unit = part(samples, 2);
  const Value finer = b_.select(b_.cmp(Op::eq, unit, i32(256)), i32(2),
                                b_.select(b_.cmp(Op::eq, unit, i32(512)), i32(1), i32(0)));
  const Value last = b_.op2(Op::sub, word(abi::x_levels), i32(1));
  const Value chosen = b_.op2(
      Op::umin, b_.op2(Op::add, part(at.levels, 0), b_.select(second, i32(1), i32(0))), last);
  Level level = this->level(b_.select(has_levels_, chosen, i32(0)));
  level.total = library("tex_sample_weight", Type::i32, {samples, total, number});
  level.shares = b_.cmp(Op::ne, level.total, i32(0));
  Place moved = place;
  const Value extents[] = {level.width, level.height, level.depth};
  const Value normalized = cube() ? b_.i1(true) : set(sampler_, abi::sample_normalized);
  const Value one = bare_line();
  const Value across =
      place.axes >= 2 && !cube() ? b_.op2(Op::umax, level.width, level.height) : level.width;
  for (unsigned k = 0; k < place.axes; ++k) {
    const Value by =
        library("tex_sample_place", Type::i32, {samples, distance, part(at.direction, k), number});
    moved.coordinates[k] =
        library("tex_moved", Type::i32,
                {place.coordinates[k], by, b_.select(normalized, extents[k], i32(1)), across, one});
  }
  locate(level, moved);
  SampleSums sums;
  const Plane near = plane(level, level.z.first, level.z.first_in),
              far = volume_ ? plane(level, level.z.second, level.z.second_in) : near;
  for (unsigned channel = 0; channel < 4; ++channel) {
    const Component how = component(channel);
    const auto add = [&](const Plane& plane, Value weight) {
      const auto texels = components(plane, channel, how);
      const Value given = weights(level, weight);
      Value products = i32(0);
      std::array<Value, 4> each;
      for (unsigned i = 0; i < 4; ++i) {
        each[i] = b_.op2(Op::shl, part(given, i), finer);
        products = b_.op2(Op::add, products, b_.op2(Op::mul, extended(texels[i]), each[i]));
      }
      const Value some = b_.cmp(Op::ne, weight, i32(0));
      products = b_.select(some, products, i32(0));
      const Value sum = b_.select(some, float_sum(texels, compose(each), how),
                                  compose({i32(0), i32(0), i32(0), i32(0)}));
      const bool first = !sums.floats[channel];
      sums.integers[channel] = first ? products : b_.op2(Op::add, sums.integers[channel], products);
      const Value raised = library("tex_raised", Type::v4, {sum});
      sums.floats[channel] =
          first ? raised : library("tex_gathered", Type::v4, {sums.floats[channel], raised});
    };
    if (volume_) {
      const Value deep = library("tex_share", Type::i32, {level.z.weight, level.total});
      add(near, b_.op2(Op::sub, level.total, deep));
      add(far, deep);
    } else {
      add(near, level.total);
    }
  }
  return sums;
}

void TextureLowering::anisotropic(const Place& place, std::vector<Value>& values) {
  const Footprint& at = footprint_;
  auto& variables = b_.function().vars;
  const auto variable = [&](const char* name) {
    variables.push_back({Type::i32, name});
    return static_cast<std::uint32_t>(variables.size() - 1);
  };
  struct Held {
    std::array<std::uint32_t, 4> parts;
    std::uint32_t integers;
  };
  const std::uint32_t iteration = variable("texture.sample");
  b_.set(iteration, i32(0));
  std::array<Held, 4> held;
  for (Held& each : held) {
    for (std::uint32_t& part : each.parts) b_.set(part = variable("texture.sum"), i32(0));
    b_.set(each.integers = variable("texture.sum"), i32(0));
  }
  const auto sums_of = [&](const Held& each) {
    return b_.inst(Op::compose, Type::v4,
                   {b_.get(each.parts[0]), b_.get(each.parts[1]), b_.get(each.parts[2]),
                    b_.get(each.parts[3])});
  };
  const ir::BlockId loop = b_.new_block(), body = b_.new_block(), after = b_.new_block();
  b_.br(loop);
  b_.at(loop);
  b_.cond_br(b_.cmp(Op::ult, b_.get(iteration), at.count), body, after);
  b_.at(body);
  const SampleSums sums = sample(at, place, b_.get(iteration));
  for (unsigned channel = 0; channel < 4; ++channel) {
    const Value sum =
        library("tex_gathered", Type::v4, {sums_of(held[channel]), sums.floats[channel]});
    for (unsigned i = 0; i < 4; ++i) b_.set(held[channel].parts[i], part(sum, i));
    b_.set(held[channel].integers,
           b_.op2(Op::add, b_.get(held[channel].integers), sums.integers[channel]));
  }
  b_.set(iteration, b_.op2(Op::add, b_.get(iteration), i32(1)));
  b_.br(loop);
  b_.at(after);
  for (unsigned channel = 0; channel < 4; ++channel) {
    const Component how = component(channel);
    const Value filtered =
        library("tex_filtered_samples", Type::i32, {sums_of(held[channel]), how.format});
    const Value is_real =
        b_.cmp(Op::ule, i32(static_cast<std::uint32_t>(abi::SurfaceFormat::f16)), how.format);
    const Value value = value_of(
        channel, b_.select(is_real, filtered, fine_quotient(b_.get(held[channel].integers))));
    values[channel] = b_.select(at.several, value, values[channel]);
  }
}

}  // namespace ptx2spv::lower
