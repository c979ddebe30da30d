// Texels and their sums.
#include "translator/lower/lower_texture.hpp"

namespace ptx2spv::lower {

TextureLowering::Component TextureLowering::component(unsigned channel) {
  // Alpha is the second of two channels and the last of four.
  Value colour = b_.i1(channel != 3);
  if (channel == 1) colour = b_.cmp(Op::ne, word(abi::x_channels), i32(2));
  const Value srgb = both(has_srgb_, both(set(word(abi::x_sampler), abi::sample_srgb), colour));
  const auto half = static_cast<std::uint32_t>(abi::SurfaceFormat::f16);
  return {b_.select(srgb, i32(half), word(abi::x_format)), srgb};
}

/// The words of the texel at byte `offset`, from bit 0 of the first.
Value TextureLowering::texel(Value offset) {
  if (!base_)
    base_ = b_.inst(Op::pack, Type::i64, {aligned(word(abi::x_base_lo)), word(abi::x_base_hi)});
  return b_.inst(Op::texel_load, Type::v4, {base_, offset, word(abi::x_texel_bytes)});
}

/// The component `channel` of a texel, as the low bits of a word; of sRGB an entry of its table.
Value TextureLowering::raw(const Texel& texel, unsigned channel, const Component& component) {
  const Value size = word(abi::x_component_bytes);
  const auto bits = [&](Value from, unsigned first, unsigned count) {
    const Value moved = first ? b_.op2(Op::lshr, from, i32(first)) : from;
    return first + count == 32 ? moved : b_.op2(Op::and_, moved, i32((1u << count) - 1));
  };
  const Value byte = bits(part(texel.words, 0), 8 * channel, 8),
              half = bits(part(texel.words, channel / 2), 16 * (channel % 2), 16);
  const Value wide = b_.select(b_.cmp(Op::eq, size, i32(2)), half, part(texel.words, channel));
  const Value value = b_.select(b_.cmp(Op::eq, size, i32(1)), byte, wide);
  const Value entry = b_.op2(Op::shl, byte, i32(1));
  const Value pair = b_.load(
      Type::i32, b_.op2(Op::add, b_.op2(Op::and_, entry, i32(~3u)), i32(abi::kSrgbTable * 4)),
      {.space = Space::textures, .bytes = 4, .readonly = true});
  const Value upper = b_.cmp(Op::ne, b_.op2(Op::and_, entry, i32(2)), i32(0));
  const Value meaning = b_.select(upper, bits(pair, 16, 16), bits(pair, 0, 16));
  return b_.select(component.srgb, b_.select(texel.in, meaning, word(abi::x_border + channel)),
                   value);
}

/// The border's words, as those of a texel.
Value TextureLowering::border() {
  if (!border_)
    border_ = library("tex_packed", Type::v4,
                      {b_.inst(Op::compose, Type::v4,
                               {word(abi::x_border), word(abi::x_border + 1),
                                word(abi::x_border + 2), word(abi::x_border + 3)}),
                       word(abi::x_component_bytes)});
  return border_;
}

/// The four texels around the point in slice z, x first. Where one has no weight, it is another.
TextureLowering::Plane TextureLowering::plane(const Level& level, Value z, Value z_in) {
  const Value slice = b_.op2(Op::add, level.offset, b_.op2(Op::mul, z, level.slice_pitch));
  const Value size = word(abi::x_texel_bytes);
  const Value rows[] = {b_.op2(Op::add, slice, b_.op2(Op::mul, level.y.first, level.row_pitch)),
                        b_.op2(Op::add, slice, b_.op2(Op::mul, level.y.second, level.row_pitch))};
  const Value columns[] = {b_.op2(Op::mul, level.x.first, size),
                           b_.op2(Op::mul, level.x.second, size)};
  const Value column_in[] = {level.x.first_in, level.x.second_in},
              row_in[] = {level.y.first_in, level.y.second_in};
  const auto across = [&](unsigned i) {
    const Value met = library(
        "tex_seam", Type::v4,
        {face_, i % 2 ? level.x.to : level.x.from, i / 2 ? level.y.to : level.y.from, level.width});
    const Value first = b_.op2(Op::sub, z, face_);
    const Value face = b_.op2(Op::mul, b_.op2(Op::add, first, part(met, 0)), level.slice_pitch);
    const Value row = b_.op2(Op::mul, part(met, 2), level.row_pitch);
    return b_.op2(Op::add, b_.op2(Op::add, level.offset, face),
                  b_.op2(Op::add, row, b_.op2(Op::mul, part(met, 1), size)));
  };
  Plane plane;
  for (unsigned i = 0; i < 4; ++i) {
    const Value in = both(z_in, both(column_in[i % 2], row_in[i / 2]));
    Value place = b_.op2(Op::add, rows[i / 2], columns[i % 2]);
    if (cube()) place = b_.select(both(seamless_, filters_), across(i), place);
    plane[i] = {b_.select(in, texel(place), border()), in};
  }
  return plane;
}

std::array<Value, 4> TextureLowering::components(const Plane& plane, unsigned channel,
                                                 const Component& how) {
  std::array<Value, 4> values;
  for (unsigned i = 0; i < 4; ++i) values[i] = raw(plane[i], channel, how);
  return values;
}

Value TextureLowering::compose(const std::array<Value, 4>& values) {
  return b_.inst(Op::compose, Type::v4, {values[0], values[1], values[2], values[3]});
}

/// A sum of four components that others are added to.
Value TextureLowering::float_sum(const std::array<Value, 4>& texels, Value weights,
                                 const Component& how) {
  const Value vector = compose(texels);
  const Value sum = b_.select(format_is(abi::SurfaceFormat::f16),
                              library("tex_sum_f16", Type::v4, {vector, weights}),
                              library("tex_sum_f32", Type::v4, {vector, weights}));
  return b_.select(how.srgb, library("tex_srgb_sum", Type::v4, {vector, weights}), sum);
}

/// The weights of four texels that share `total` 256ths.
Value TextureLowering::weights(const Level& level, Value total) {
  const Value plain = library("tex_weights", Type::v4, {level.x.weight, level.y.weight, total});
  if (!cube()) return plain;
  return b_.select(seamless_, library("tex_corner", Type::v4, {plain, level.corner}), plain);
}

Value TextureLowering::format_is(abi::SurfaceFormat format) {
  return b_.cmp(Op::eq, word(abi::x_format), i32(static_cast<std::uint32_t>(format)));
}

/// An integer's value in 32 bits: the sign of s8 and s16 extended.
Value TextureLowering::extended(Value raw) {
  const auto sign = [&](std::uint32_t spare) {
    return b_.op2(Op::ashr, b_.op2(Op::shl, raw, i32(spare)), i32(spare));
  };
  return b_.select(format_is(abi::SurfaceFormat::s8), sign(24),
                   b_.select(format_is(abi::SurfaceFormat::s16), sign(16), raw));
}

/// A component that is not filtered.
Value TextureLowering::point(Value raw, const Component& component) {
  const Value whole = extended(raw);
  const auto unless_element = [&](const char* name, Value of) {
    return b_.select(element_, whole, library(name, Type::i32, {of}));
  };
  Value value = b_.select(format_is(abi::SurfaceFormat::f16),
                          library("tex_point_f16", Type::i32, {raw}), raw);
  value = b_.select(format_is(abi::SurfaceFormat::u8), unless_element("tex_unorm8", raw), value);
  value = b_.select(format_is(abi::SurfaceFormat::u16), unless_element("tex_unorm16", raw), value);
  // The linear mipmap filter sends every texel of a float coordinate through the filter, which
  // rounds signed bytes its way.
  Value byte = library("tex_snorm8", Type::i32, {whole});
  if (!integer_ && inst_.op != Opcode::tld4)
    byte = b_.select(both(has_levels_, set(sampler_, abi::sample_mip_linear)),
                     quotient(b_.op2(Op::shl, whole, i32(8))), byte);
  value = b_.select(format_is(abi::SurfaceFormat::s8), b_.select(element_, whole, byte), value);
  value =
      b_.select(format_is(abi::SurfaceFormat::s16), unless_element("tex_snorm16", whole), value);
  return b_.select(component.srgb, library("tex_srgb_point", Type::i32, {raw}), value);
}

/// A filtered component of integers out of the sum of texels, whose weights count 256ths.
Value TextureLowering::quotient(Value sum) {
  const auto of = [&](const char* name) { return library(name, Type::i32, {sum}); };
  return b_.select(format_is(abi::SurfaceFormat::u8), of("tex_quotient_u8"),
                   b_.select(format_is(abi::SurfaceFormat::s8), of("tex_quotient_s8"),
                             b_.select(format_is(abi::SurfaceFormat::s16), of("tex_quotient_s16"),
                                       of("tex_quotient_u16"))));
}

/// The same of 1024ths.
Value TextureLowering::fine_quotient(Value sum) {
  const auto rounded = [&](Value total, unsigned bits) {
    return b_.op2(Op::ashr, b_.op2(Op::add, total, i32((1u << bits) / 2)), i32(bits));
  };
  const Value scale = b_.select(format_is(abi::SurfaceFormat::u8), i32(257), i32(1));
  const Value word = rounded(b_.op2(Op::mul, sum, scale), 10);
  const Value drift = b_.op2(Op::shl, b_.op2(Op::ashr, sum, i32(14)), i32(6));
  const Value rest =
      b_.op2(Op::ashr, b_.op2(Op::add, b_.op2(Op::add, sum, i32(64u << 2)), drift), i32(7));
  const Value small = b_.op2(Op::ashr, b_.op2(Op::add, sum, rest), i32(2));
  const Value is_s8 = format_is(abi::SurfaceFormat::s8);
  const Value is_signed = b_.op2(Op::or_, is_s8, format_is(abi::SurfaceFormat::s16));
  return b_.select(is_signed, library("tex_snorm16", Type::i32, {b_.select(is_s8, small, word)}),
                   library("tex_unorm16", Type::i32, {b_.op2(Op::and_, word, i32(0xffff))}));
}

/// All components of one plane of one level, filtered; sRGB is not among them.
Value TextureLowering::filtered_plane(const Plane& plane, Value weights) {
  std::array<Value, 4> first, second;
  for (unsigned i = 0; i < 4; ++i) {
    first[i] = part(plane[i].words, 0);
    second[i] = part(plane[i].words, 1);
  }
  const Value low = compose(first), high = compose(second);
  const Value is_s8 = format_is(abi::SurfaceFormat::s8),
              is_s16 = format_is(abi::SurfaceFormat::s16);
  const Value bytes = b_.select(is_s8, library("tex_plane_s8", Type::v4, {low, weights}),
                                library("tex_plane_u8", Type::v4, {low, weights}));
  const Value shorts = library("tex_plane_16", Type::v4, {low, high, weights, is_s16});
  const Value integers =
      b_.select(b_.cmp(Op::eq, word(abi::x_component_bytes), i32(1)), bytes, shorts);
  const Value one = library("tex_plane_f32", Type::i32, {low, weights});
  const Value all =
      library("tex_plane_words", Type::v4,
              {plane[0].words, plane[1].words, plane[2].words, plane[3].words, weights});
  const Value words = b_.select(b_.cmp(Op::eq, word(abi::x_channels), i32(1)),
                                compose({one, i32(0), i32(0), i32(0)}), all);
  const Value halves = library("tex_plane_halves", Type::v4, {low, high, weights});
  const Value floats = b_.select(format_is(abi::SurfaceFormat::f16), halves, words);
  const Value real = b_.cmp(Op::ule, i32(static_cast<std::uint32_t>(abi::SurfaceFormat::f16)),
                            word(abi::x_format));
  return b_.select(real, floats, integers);
}

/// A component out of several planes: those of a volume, of two levels, or both.
Value TextureLowering::filtered_planes(const std::array<std::array<Plane, 2>, 2>& planes,
                                       unsigned channel, const Component& how) {
  const Value nothing = compose({i32(0), i32(0), i32(0), i32(0)});
  // Floats and integers are summed apart; where the format is known, one of the two sums goes.
  Value total = i32(0);
  const auto sum = [&](const Level& level, const Plane& plane, Value share) {
    const Value weights = this->weights(level, share);
    const auto texels = components(plane, channel, how);
    Value products = i32(0);
    for (unsigned i = 0; i < 4; ++i)
      products = b_.op2(Op::add, products, b_.op2(Op::mul, extended(texels[i]), part(weights, i)));
    const Value some = b_.cmp(Op::ne, share, i32(0));
    total = b_.op2(Op::add, total, b_.select(some, products, i32(0)));
    return b_.select(some, float_sum(texels, weights, how), nothing);
  };
  std::array<Value, 4> sums{nothing, nothing, nothing, nothing};
  for (unsigned i = 0; i < 2; ++i) {
    const Level& level = levels_[i];
    Value near = level.total;
    if (volume_) {
      const Value far = library("tex_share", Type::i32, {level.z.weight, level.total});
      near = b_.op2(Op::sub, level.total, far);
      sums[2 * i + 1] = sum(level, planes[i][1], far);
    }
    sums[2 * i] = sum(level, planes[i][0], near);
  }
  Value mixed = library("tex_filtered", Type::i32, {sums[0], sums[volume_ ? 1 : 2], how.format});
  if (volume_)
    mixed = b_.select(
        levels_[1].shares,
        library("tex_filtered_all", Type::i32, {sums[0], sums[1], sums[2], sums[3], how.format}),
        mixed);
  const Value real =
      b_.cmp(Op::ule, i32(static_cast<std::uint32_t>(abi::SurfaceFormat::f16)), how.format);
  return b_.select(real, mixed, quotient(total));
}

std::vector<Value> TextureLowering::sampled() {
  std::array<std::array<Plane, 2>, 2> planes;
  for (unsigned i = 0; i < 2; ++i) {
    const Level& level = levels_[i];
    planes[i][0] = plane(level, level.z.first, level.z.first_in);
    if (volume_) planes[i][1] = plane(level, level.z.second, level.z.second_in);
  }
  const Value weights = this->weights(levels_[0], i32(256));
  const Value plain = volume_ ? 0 : filtered_plane(planes[0][0], weights);
  std::vector<Value> values;
  for (unsigned channel = 0; channel < 4; ++channel) {
    const Component how = component(channel);
    Value filtered = filtered_planes(planes, channel, how);
    if (!volume_)
      filtered =
          b_.select(b_.op2(Op::or_, levels_[1].shares, how.srgb), filtered, part(plain, channel));
    const Value single = point(raw(planes[0][0][0], channel, how), how);
    const Value value = b_.select(b_.op2(Op::or_, linear_, filters_points()), filtered, single);
    values.push_back(value_of(channel, value));
  }
  return values;
}

std::vector<Value> TextureLowering::fetched() {
  const Level& level = levels_[0];
  const Value in =
      both(layer_in_, both(level.x.first_in, both(level.y.first_in, level.z.first_in)));
  const Value offset = b_.op2(
      Op::add,
      b_.op2(Op::add, level.offset, b_.op2(Op::mul, level.x.first, word(abi::x_texel_bytes))),
      b_.op2(Op::add, b_.op2(Op::mul, level.y.first, level.row_pitch),
             b_.op2(Op::mul, level.z.first, level.slice_pitch)));
  const Texel read{texel(b_.select(in, offset, i32(0))), b_.i1(true)};
  std::vector<Value> values;
  for (unsigned channel = 0; channel < 4; ++channel) {
    const Component how = component(channel);
    const Value value = point(raw(read, channel, how), how);
    values.push_back(value_of(channel, b_.select(in, value, i32(0))));
  }
  return values;
}

std::vector<Value> TextureLowering::gathered(unsigned channel) {
  const Level& level = levels_[0];
  const Component how = component(channel);
  const auto texels = components(plane(level, level.z.first, level.z.first_in), channel, how);
  constexpr unsigned kOrder[] = {2, 3, 1, 0};
  const auto read = [&](Value raw) {
    // 8 signed bits and floats come out of the filter.
    const Value filters =
        both(format_is(abi::SurfaceFormat::s8), b_.op2(Op::xor_, element_, b_.i1(true)));
    const Value sum = b_.op2(Op::shl, extended(raw), i32(8));
    const Value value = b_.select(filters, quotient(sum), point(raw, how));
    const Value four = compose({raw, raw, raw, raw}),
                weight = compose({i32(256), i32(0), i32(0), i32(0)});
    const Value alone = b_.select(format_is(abi::SurfaceFormat::f16),
                                  library("tex_plane_f16", Type::i32, {four, weight}),
                                  library("tex_plane_f32", Type::i32, {four, weight}));
    const Value real =
        both(b_.cmp(Op::ule, i32(static_cast<std::uint32_t>(abi::SurfaceFormat::f16)), how.format),
             b_.op2(Op::xor_, how.srgb, b_.i1(true)));
    return b_.select(real, alone, value);
  };
  std::vector<Value> values;
  for (const unsigned which : kOrder) {
    Value value = read(texels[which]);
    if (cube()) {
      const Value missing = both(seamless_, b_.cmp(Op::eq, level.corner, i32(which)));
      value = b_.select(missing, corner(level, texels, how), value);
    }
    values.push_back(value_of(channel, value));
  }
  return values;
}

/// What a gather gives for the texel that no face has: the other three, filtered.
Value TextureLowering::corner(const Level& level, const std::array<Value, 4>& texels,
                              const Component& how) {
  const Value nothing = compose({i32(0), i32(0), i32(0), i32(0)});
  const auto alone = [&](std::uint32_t which) {
    return b_.select(b_.cmp(Op::eq, level.corner, i32(which)), i32(256), i32(0));
  };
  const Value one = compose({alone(0), alone(1), alone(2), alone(3)});
  const Value weights = library("tex_corner", Type::v4, {one, level.corner});
  Value total = i32(0);
  for (unsigned i = 0; i < 4; ++i)
    total = b_.op2(Op::add, total, b_.op2(Op::mul, extended(texels[i]), part(weights, i)));
  const Value sum = float_sum(texels, weights, how);
  const Value real =
      b_.cmp(Op::ule, i32(static_cast<std::uint32_t>(abi::SurfaceFormat::f16)), how.format);
  const Value whole = b_.op2(Op::ashr, b_.op2(Op::add, total, i32(128)), i32(8));
  return b_.select(real, library("tex_filtered", Type::i32, {sum, nothing, how.format}),
                   b_.select(element_, whole, quotient(total)));
}

}  // namespace ptx2spv::lower
