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
  if (channel) {
    const Value skip = value_of(channel, b_.op2(Op::mul, size, i32(channel)));
    offset = b_.op2(Op::add, offset, skip);
  }
  if (!base_) base_ = b_.inst(Op::pack, Type::i64, {word(abi::x_base_lo), word(abi::x_base_hi)});
  const Value whole = b_.inst(Op::zext, Type::i64, {b_.op2(Op::and_, offset, i32(~3u))});
  const Value loaded =
      b_.load(Type::i32, b_.op2(Op::add, base_, whole), {.space = Space::global, .bytes = 4});
  const auto field = [&](Value from, Value byte, Value bytes) {
    const Value shift = b_.op2(Op::shl, b_.op2(Op::and_, byte, i32(3)), i32(3));
    const Value spare = b_.op2(Op::sub, i32(32), b_.op2(Op::shl, bytes, i32(3)));
    const Value mask = b_.op2(Op::lshr, i32(0xffffffffu), spare);
    return b_.op2(Op::and_, b_.op2(Op::lshr, from, shift), mask);
  };
  const Value value = field(loaded, offset, size);
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
  for (unsigned i = 0; i < 4; ++i) {
    const Value in = both(z_in, both(column_in[i % 2], row_in[i / 2]));
    const Value value = raw(b_.op2(Op::add, rows[i / 2], columns[i % 2]), channel, component);
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
  const Value mask = b_.op2(Op::or_, b_.op2(Op::or_, corner, edges), i32(1));
  return b_.select(level.shares, mask, i32(0));
}

Value TextureLowering::point(Value raw, const Component& component) {
  return b_.select(component.srgb, library("tex_srgb_point", Type::i32, {raw}),
                   library("tex_point", Type::i32, {raw, component.format, element_}));
}

Value TextureLowering::sampled(unsigned channel) {
  const Component how = component(channel);
  const Value nothing = b_.inst(Op::compose, Type::v4, {i32(0), i32(0), i32(0), i32(0)});
  const auto sum = [&](const Level& level, const std::array<Value, 4>& texels, Value total,
                       Value mask) {
    const Value weights = library("tex_weights", Type::v4, {level.x.weight, level.y.weight, total});
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
  const Value filtered =
      volume_
          ? library("tex_filtered_all", Type::i32, {sums[0], sums[1], sums[2], sums[3], how.format})
          : library("tex_filtered", Type::i32, {sums[0], sums[2], how.format});
  const Value value = b_.select(b_.op2(Op::or_, linear_, mixed_), filtered, single);
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
  for (unsigned i = 0; i < 4; ++i) {
    const Value raw = texels[kOrder[i]];
    const Value value = b_.select(how.srgb, library("tex_srgb_point", Type::i32, {raw}),
                                  library("tex_gathered", Type::i32, {raw, how.format, element_}));
    values[i] = value_of(channel, value);
  }
  return values;
}

}  // namespace ptx2spv::lower
