// Texels and their sums.
#include "translator/lower/lower_texture.hpp"

namespace ptx2spv::lower {

using ir::Op;
using ir::Space;
using ir::Type;

TextureLowering::Component TextureLowering::component(unsigned channel) {
  // Alpha is the second of two channels and the last of four.
  Value colour = b_.i1(channel != 3);
  if (channel == 1) colour = b_.cmp(Op::ne, word(abi::x_channels), i32(2));
  const Value srgb = both(has_srgb_, both(set(word(abi::x_sampler), abi::sample_srgb), colour));
  const auto half = static_cast<std::uint32_t>(abi::SurfaceFormat::f16);
  return {b_.select(srgb, i32(half), word(abi::x_format)), srgb};
}

/// The component `channel` of the texel at byte `offset`, as the low bits of a word.
Value TextureLowering::raw(Value offset, unsigned channel, const Component& component) {
  const Value size = word(abi::x_component_bytes);
  // What is left of the texel's offset in its word is 0 where texels are words.
  const Value skip = value_of(channel, b_.op2(Op::mul, size, i32(channel)));
  const Value byte = b_.op2(Op::add, b_.op2(Op::and_, offset, i32(3)), skip);
  const Value at =
      b_.op2(Op::add, b_.op2(Op::and_, offset, i32(~3u)), b_.op2(Op::and_, byte, i32(~3u)));
  if (!base_)
    base_ = b_.inst(Op::pack, Type::i64, {aligned(word(abi::x_base_lo)), word(abi::x_base_hi)});
  const Value address = b_.op2(Op::add, base_, b_.inst(Op::zext, Type::i64, {at}));
  const Value loaded =
      b_.load(Type::i32, address, {.space = Space::global, .bytes = 4, .readonly = true});
  const auto field = [&](Value from, Value first, Value bytes) {
    const Value shift = b_.op2(Op::shl, b_.op2(Op::and_, first, i32(3)), i32(3));
    const Value spare = b_.op2(Op::sub, i32(32), b_.op2(Op::shl, bytes, i32(3)));
    const Value mask = b_.op2(Op::lshr, i32(0xffffffffu), spare);
    return b_.op2(Op::and_, b_.op2(Op::lshr, from, shift), mask);
  };
  const Value value = field(loaded, byte, size);
  const Value entry = b_.op2(Op::and_, b_.op2(Op::shl, value, i32(1)), i32(0x1fe));
  const Value pair = b_.load(
      Type::i32, b_.op2(Op::add, b_.op2(Op::and_, entry, i32(~3u)), i32(abi::kSrgbTable * 4)),
      {.space = Space::textures, .bytes = 4, .readonly = true});
  return b_.select(component.srgb, field(pair, entry, i32(2)), value);
}

/// The four texels around the point in slice z, x first.
std::array<Value, 4> TextureLowering::plane(const Level& level, Value z, Value z_in,
                                            unsigned channel, const Component& component) {
  const Value slice = b_.op2(Op::add, level.offset, b_.op2(Op::mul, z, level.slice_pitch));
  const Value texel = word(abi::x_texel_bytes);
  const Value rows[] = {b_.op2(Op::add, slice, b_.op2(Op::mul, level.y.first, level.row_pitch)),
                        b_.op2(Op::add, slice, b_.op2(Op::mul, level.y.second, level.row_pitch))};
  const Value columns[] = {b_.op2(Op::mul, level.x.first, texel),
                           b_.op2(Op::mul, level.x.second, texel)};
  const Value column_in[] = {level.x.first_in, level.x.second_in},
              row_in[] = {level.y.first_in, level.y.second_in};
  std::array<Value, 4> texels;
  const auto across = [&](unsigned i) {
    const Value met = library(
        "tex_seam", Type::v4,
        {face_, i % 2 ? level.x.to : level.x.from, i / 2 ? level.y.to : level.y.from, level.width});
    const Value first = b_.op2(Op::sub, z, face_);
    const Value face = b_.op2(Op::mul, b_.op2(Op::add, first, part(met, 0)), level.slice_pitch);
    const Value row = b_.op2(Op::mul, part(met, 2), level.row_pitch);
    return b_.op2(Op::add, b_.op2(Op::add, level.offset, face),
                  b_.op2(Op::add, row, b_.op2(Op::mul, part(met, 1), texel)));
  };
  for (unsigned i = 0; i < 4; ++i) {
    const Value in = both(z_in, both(column_in[i % 2], row_in[i / 2]));
    Value place = b_.op2(Op::add, rows[i / 2], columns[i % 2]);
    if (cube()) place = b_.select(both(seamless_, filters_), across(i), place);
    const Value value = raw(place, channel, component);
    texels[i] = b_.select(in, value, word(abi::x_border + channel));
  }
  return texels;
}

/// Which texels have a share, whatever its rounded weight: infinities and NaN in them show.
Value TextureLowering::present(const Level& level) {
  const auto any = [&](Value weight, std::uint32_t bits) {
    return b_.select(b_.cmp(Op::ne, weight, i32(0)), i32(bits), i32(0));
  };
  const Value right = any(level.x.weight, 2 | 8), below = any(level.y.weight, 4 | 8);
  const Value corner = b_.op2(Op::and_, b_.op2(Op::and_, right, below), i32(8));
  const Value edges = b_.op2(Op::and_, b_.op2(Op::or_, right, below), i32(6));
  Value mask = b_.op2(Op::or_, b_.op2(Op::or_, corner, edges), i32(1));
  if (cube()) {
    const Value missing = b_.op2(Op::shl, i32(1), level.corner);
    mask = b_.op2(Op::and_, mask, b_.op2(Op::xor_, missing, i32(~0u)));
  }
  return b_.select(level.shares, mask, i32(0));
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
  const auto unless_element = [&](const char* name, std::initializer_list<Value> args) {
    return b_.select(element_, whole, library(name, Type::i32, args));
  };
  Value value = b_.select(format_is(abi::SurfaceFormat::f16),
                          library("tex_point_f16", Type::i32, {raw}), raw);
  value = b_.select(format_is(abi::SurfaceFormat::u8), unless_element("tex_unorm8", {raw}), value);
  value =
      b_.select(format_is(abi::SurfaceFormat::u16), unless_element("tex_unorm16", {raw}), value);
  // The linear mipmap filter sends every texel of a float coordinate through the filter, which
  // rounds signed bytes its way.
  Value byte = library("tex_snorm", Type::i32, {whole, i32(7)});
  if (!integer_ && inst_.op != Opcode::tld4)
    byte = b_.select(both(has_levels_, set(sampler_, abi::sample_mip_linear)),
                     quotient(b_.op2(Op::shl, whole, i32(8))), byte);
  value = b_.select(format_is(abi::SurfaceFormat::s8), b_.select(element_, whole, byte), value);
  value = b_.select(format_is(abi::SurfaceFormat::s16),
                    unless_element("tex_snorm", {whole, i32(15)}), value);
  return b_.select(component.srgb, library("tex_srgb_point", Type::i32, {raw}), value);
}

/// A filtered component of integers out of the sum of texels, 8 unsigned bits taken as 16. Weights
/// count 256ths, or so many powers of two finer.
Value TextureLowering::quotient(Value sum, unsigned finer) {
  const auto rounded = [&](Value total, unsigned bits) {
    return b_.op2(Op::ashr, b_.op2(Op::add, total, i32((1u << bits) / 2)), i32(bits));
  };
  const Value scale = b_.select(format_is(abi::SurfaceFormat::u8), i32(257), i32(1));
  const Value word = rounded(b_.op2(Op::mul, sum, scale), 8 + finer);
  const Value drift = b_.op2(Op::shl, b_.op2(Op::ashr, sum, i32(12 + finer)), i32(4 + finer));
  const Value rest =
      b_.op2(Op::ashr, b_.op2(Op::add, b_.op2(Op::add, sum, i32(64u << finer)), drift), i32(7));
  Value small = b_.op2(Op::add, sum, rest);
  if (finer) small = b_.op2(Op::ashr, small, i32(finer));
  const Value is_s8 = format_is(abi::SurfaceFormat::s8);
  const Value is_signed = b_.op2(Op::or_, is_s8, format_is(abi::SurfaceFormat::s16));
  return b_.select(is_signed,
                   library("tex_snorm", Type::i32, {b_.select(is_s8, small, word), i32(15)}),
                   library("tex_unorm16", Type::i32, {b_.op2(Op::and_, word, i32(0xffff))}));
}

Value TextureLowering::sampled(unsigned channel) {
  const Component how = component(channel);
  const Value nothing = b_.inst(Op::compose, Type::v4, {i32(0), i32(0), i32(0), i32(0)});
  // Floats and integers are summed apart; where the format is known, one of the two sums goes.
  Value total = i32(0);
  const auto sum = [&](const Level& level, const std::array<Value, 4>& texels, Value share,
                       Value mask) {
    const Value weights = this->weights(level, share);
    Value products = i32(0);
    for (unsigned i = 0; i < 4; ++i) {
      const Value product = b_.op2(Op::mul, extended(texels[i]), part(weights, i));
      products = b_.op2(Op::add, products, product);
    }
    total = b_.op2(Op::add, total, b_.select(level.shares, products, i32(0)));
    const Value vector =
        b_.inst(Op::compose, Type::v4, {texels[0], texels[1], texels[2], texels[3]});
    return b_.select(how.srgb, library("tex_srgb_sum", Type::v4, {vector, weights}),
                     library("tex_sum", Type::v4, {vector, weights, mask, how.format}));
  };
  std::array<Value, 4> sums{nothing, nothing, nothing, nothing};
  Value single = 0;
  for (unsigned i = 0; i < 2; ++i) {
    const Level& level = levels_[i];
    const auto near = plane(level, level.z.first, level.z.first_in, channel, how);
    const Value mask = present(level);
    if (i == 0) single = point(near[0], how);
    Value first = 0, second = nothing;
    if (volume_) {
      const auto far = plane(level, level.z.second, level.z.second_in, channel, how);
      const Value deep = library("tex_share", Type::i32, {level.z.weight, level.total});
      const Value rest = b_.op2(Op::sub, level.total, deep);
      const auto with = [&](Value weight) {
        return b_.select(b_.cmp(Op::ne, weight, i32(0)), mask, i32(0));
      };
      first = sum(level, near, rest, with(rest));
      second = sum(level, far, deep, with(deep));
    } else {
      first = sum(level, near, level.total, mask);
    }
    sums[2 * i] = i == 0 ? first : b_.select(level.shares, first, nothing);
    sums[2 * i + 1] = i == 0 ? second : b_.select(level.shares, second, nothing);
  }
  const Value real =
      b_.cmp(Op::ule, i32(static_cast<std::uint32_t>(abi::SurfaceFormat::f16)), how.format);
  const Value mixed = volume_ ? library("tex_filtered_all", Type::i32,
                                        {sums[0], sums[1], sums[2], sums[3], how.format})
                              : library("tex_filtered", Type::i32, {sums[0], sums[2], how.format});
  const Value filtered = b_.select(real, mixed, quotient(total));
  const Value value = b_.select(b_.op2(Op::or_, linear_, filters_points()), filtered, single);
  // Linear memory is read at integer coordinates alone.
  const Value memory = set(word(abi::x_sampler), abi::sample_memory);
  return value_of(channel, b_.select(memory, i32(0), value));
}

Value TextureLowering::fetched(unsigned channel) {
  const Level& level = levels_[0];
  const Component how = component(channel);
  Value in = both(layer_in_, both(level.x.first_in, both(level.y.first_in, level.z.first_in)));
  // The hardware reads nothing from a 1D array at integer coordinates: those are for linear memory.
  if (inst_.mods->geom == Mod::d1) in = both(in, set(word(abi::x_sampler), abi::sample_memory));
  const Value offset = b_.op2(
      Op::add,
      b_.op2(Op::add, level.offset, b_.op2(Op::mul, level.x.first, word(abi::x_texel_bytes))),
      b_.op2(Op::add, b_.op2(Op::mul, level.y.first, level.row_pitch),
             b_.op2(Op::mul, level.z.first, level.slice_pitch)));
  const Value at = b_.select(in, offset, i32(0));
  const Value value = point(raw(at, channel, how), how);
  return value_of(channel, b_.select(in, value, i32(0)));
}

std::array<Value, 4> TextureLowering::gathered(unsigned channel) {
  const Level& level = levels_[0];
  const Component how = component(channel);
  const auto texels = plane(level, level.z.first, level.z.first_in, channel, how);
  constexpr unsigned kOrder[] = {2, 3, 1, 0};
  std::array<Value, 4> values;
  const auto read = [&](Value raw) {
    // 8 signed bits and floats come out of the filter.
    const Value filters =
        both(format_is(abi::SurfaceFormat::s8), b_.op2(Op::xor_, element_, b_.i1(true)));
    const Value sum = b_.op2(Op::shl, extended(raw), i32(8));
    const Value value = b_.select(filters, quotient(sum), point(raw, how));
    const Value one = b_.inst(Op::compose, Type::v4, {raw, i32(0), i32(0), i32(0)});
    const Value weight = b_.inst(Op::compose, Type::v4, {i32(256), i32(0), i32(0), i32(0)});
    const Value nothing = b_.inst(Op::compose, Type::v4, {i32(0), i32(0), i32(0), i32(0)});
    const Value alone = library("tex_sum", Type::v4, {one, weight, i32(1), how.format});
    const Value real =
        both(b_.cmp(Op::ule, i32(static_cast<std::uint32_t>(abi::SurfaceFormat::f16)), how.format),
             b_.op2(Op::xor_, how.srgb, b_.i1(true)));
    return b_.select(real, library("tex_filtered", Type::i32, {alone, nothing, how.format}), value);
  };
  for (unsigned i = 0; i < 4; ++i) {
    Value value = read(texels[kOrder[i]]);
    if (cube()) {
      const Value missing = both(seamless_, b_.cmp(Op::eq, level.corner, i32(kOrder[i])));
      value = b_.select(missing, corner(level, texels, how), value);
    }
    value = b_.select(set(word(abi::x_sampler), abi::sample_memory), i32(0), value);
    values[i] = value_of(channel, value);
  }
  return values;
}

/// What a gather gives for the texel that no face has: the other three, filtered.
Value TextureLowering::corner(const Level& level, const std::array<Value, 4>& texels,
                              const Component& how) {
  const Value nothing = b_.inst(Op::compose, Type::v4, {i32(0), i32(0), i32(0), i32(0)});
  const Value one = [&] {
    const auto alone = [&](std::uint32_t which) {
      return b_.select(b_.cmp(Op::eq, level.corner, i32(which)), i32(256), i32(0));
    };
    return b_.inst(Op::compose, Type::v4, {alone(0), alone(1), alone(2), alone(3)});
  }();
  const Value weights = library("tex_corner", Type::v4, {one, level.corner});
  const Value vector = b_.inst(Op::compose, Type::v4, {texels[0], texels[1], texels[2], texels[3]});
  const Value missing = b_.op2(Op::shl, i32(1), level.corner);
  const Value mask = b_.op2(Op::xor_, missing, i32(15));
  Value total = i32(0);
  for (unsigned i = 0; i < 4; ++i)
    total = b_.op2(Op::add, total, b_.op2(Op::mul, extended(texels[i]), part(weights, i)));
  const Value sum = b_.select(how.srgb, library("tex_srgb_sum", Type::v4, {vector, weights}),
                              library("tex_sum", Type::v4, {vector, weights, mask, how.format}));
  const Value real =
      b_.cmp(Op::ule, i32(static_cast<std::uint32_t>(abi::SurfaceFormat::f16)), how.format);
  const Value whole = b_.op2(Op::ashr, b_.op2(Op::add, total, i32(128)), i32(8));
  return b_.select(real, library("tex_filtered", Type::i32, {sum, nothing, how.format}),
                   b_.select(element_, whole, quotient(total)));
}

}  // namespace ptx2spv::lower
