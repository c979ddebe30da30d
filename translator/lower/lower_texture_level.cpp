// The levels that a texture read takes, and where its coordinates fall on them.
#include "translator/ir/texture_gradients.hpp"
#include "translator/lower/lower_texture.hpp"

namespace ptx2spv::lower {

/// Without the feature this is a constant, and all that depends on it goes (pipeline.cpp).
Value TextureLowering::feature(abi::TextureFeature which) {
  const Value bits = b_.load(Type::i32, i32(abi::Push::texture_features * 4),
                             {.space = Space::push, .bytes = 4, .readonly = true});
  return set(bits, which);
}

TextureLowering::Level TextureLowering::level(Value number) {
  Level level;
  const Value base = b_.cmp(Op::eq, number, i32(0));
  const auto extent = [&](Value whole) {
    return b_.select(base, whole, b_.op2(Op::umax, b_.op2(Op::lshr, whole, number), i32(1)));
  };
  level.width = extent(word(abi::x_width));
  level.height = extent(word(abi::x_height));
  level.depth = extent(word(abi::x_depth));
  const Value row = b_.op2(Op::mul, level.width, word(abi::x_texel_bytes));
  const Value pitch = b_.op2(Op::and_, b_.op2(Op::add, row, i32(15)), i32(~15u));
  level.row_pitch = b_.select(base, aligned(word(abi::x_row_pitch)), pitch);
  level.slice_pitch =
      b_.select(base, aligned(word(abi::x_slice_pitch)), b_.op2(Op::mul, pitch, level.height));
  const Value at = b_.op2(Op::add, b_.op2(Op::add, record_, i32(abi::x_level_offset * 4)),
                          b_.op2(Op::shl, number, i32(2)));
  const Value offset =
      b_.load(Type::i32, at, {.space = Space::textures, .bytes = 4, .readonly = true});
  level.offset = b_.select(base, i32(0), aligned(offset));
  return level;
}

void TextureLowering::choose_levels(const Place& place) {
  has_levels_ = both(feature(abi::feature_levels), b_.cmp(Op::ult, i32(1), word(abi::x_levels)));
  Value lod = i32(0), bias = i32(0);
  if (inst_.mods->mode == Mod::level && !integer_) {
    lod = library("tex_lod", Type::i32, {in_.level});
    bias = sampler_word(abi::x_lod_bias);
  } else if (inst_.mods->mode == Mod::grad) {
    lod = gradient_level(place);
    bias = sampler_word(abi::x_lod_bias);
  }
  // Two levels are mixed where texels are floats; else the nearest is read.
  const Value real = b_.cmp(Op::ule, i32(static_cast<std::uint32_t>(abi::SurfaceFormat::f16)),
                            word(abi::x_format));
  const Value floats = b_.op2(Op::or_, real, b_.op2(Op::xor_, element_, b_.i1(true)));
  const Value mixed = both(set(sampler_, abi::sample_mip_linear), floats);
  mixed_ =
      both(mixed, b_.op2(Op::or_, has_levels_, set(word(abi::x_sampler), abi::sample_mipmapped)));
  // Where anisotropy is asked for, levels mix otherwise, whether or not there are several samples.
  const bool by_number = inst_.mods->mode == Mod::level && !integer_;
  if (by_number || (inst_.mods->mode == Mod::grad && one_sample())) {
    const Value stretched = library("tex_stretched", Type::i32, {lod, bias, anisotropy()});
    const Value active = wants_anisotropy();
    lod = b_.select(active, stretched, lod);
    bias = b_.select(active, i32(0), bias);
  }
  const Value most = b_.op2(Op::shl, b_.op2(Op::sub, word(abi::x_levels), i32(1)), i32(8));
  const Value chosen = library("tex_levels", Type::v2,
                               {lod, bias, sampler_word(abi::x_lod_min),
                                b_.op2(Op::umin, sampler_word(abi::x_lod_max), most)});
  Value fine = part(chosen, 0), nearest = part(chosen, 1);
  if (inst_.mods->mode == Mod::grad && !one_sample()) {
    find_footprint();
    const Value active = wants_anisotropy(), at = part(footprint_.levels, 0);
    fine = b_.select(
        active, b_.op2(Op::or_, b_.op2(Op::shl, at, i32(8)), part(footprint_.levels, 1)), fine);
    nearest = b_.select(active, at, nearest);
  }
  const Value number = b_.select(mixed_, b_.op2(Op::lshr, fine, i32(8)), nearest);
  const Value weight = b_.select(mixed_, b_.op2(Op::and_, fine, i32(255)), i32(0));
  Value first =
      place.gather ? i32(0) : b_.select(has_levels_, number, i32(0));  // gathers know no levels
  if (integer_) {
    // Integer coordinates read the level that they name, level 0 without, and nothing where there
    // is none. With a level, coordinates and layers stay inside.
    first = i32(0);
    if (inst_.mods->mode == Mod::level) {
      const Value given = in_.level;
      // Linear memory has no levels, and takes any.
      const Value there = b_.cmp(Op::ult, given, word(abi::x_levels));
      layer_in_ = b_.op2(Op::or_, there, set(word(abi::x_sampler), abi::sample_memory));
      first = b_.select(both(has_levels_, there), given, i32(0));
    }
  }
  const Value share = b_.select(has_levels_, weight, i32(0));
  levels_[0] = level(first);
  levels_[0].total = b_.op2(Op::sub, i32(256), share);
  levels_[0].shares = b_.i1(true);
  levels_[1] = level(b_.op2(Op::umin, b_.op2(Op::add, first, i32(1)),
                            b_.op2(Op::sub, word(abi::x_levels), i32(1))));
  levels_[1].total = share;
  levels_[1].shares = b_.cmp(Op::ne, share, i32(0));
  locate(levels_[0], place);
  locate(levels_[1], place);
}

Value TextureLowering::gradient_level(const Place& place) {
  const abi::TextureWord kExtents[] = {abi::x_width, abi::x_height, abi::x_depth};
  std::array<Value, 3> extents{}, at = direction_;
  for (unsigned k = 0; k < 3; ++k) {
    // Texels are normalised coordinates times the extent.
    extents[k] = word(kExtents[k]);
    if (!cube()) {
      extents[k] = b_.select(set(sampler_, abi::sample_normalized), extents[k], i32(1));
      at[k] = place.coordinates[k];
    }
  }
  const ir::TextureGradients found =
      ir::texture_gradients(b_, l_.ir_, texture_op(in_).use.geometry, at, in_.gradients, extents);
  gradients_ = found.texels;
  return found.lod;
}

/// i1: a 1D texture without levels, which keeps fewer bits than others of its extent.
Value TextureLowering::bare_line() {
  if (inst_.mods->geom != Mod::d1) return b_.i1(false);
  const Value levels =
      b_.op2(Op::or_, has_levels_, set(word(abi::x_sampler), abi::sample_mipmapped));
  return b_.op2(Op::xor_, levels, b_.i1(true));
}

/// Each way to count is a routine of its own, and selects choose: where the texture is known
/// (texture_records.cpp), the others go.
TextureLowering::Axis TextureLowering::axis(Value coordinate, Value extent, unsigned number,
                                            Value offset, bool gather, Value largest) {
  const Value one = bare_line();
  const auto zero = [&](Value value) {
    const ir::Inst& inst = b_.function().insts[value];
    return inst.op == Op::constant && inst.imm == 0;
  };
  const Value mode = b_.op2(Op::and_, b_.op2(Op::lshr, sampler_, i32(2 * number)), i32(3));
  // A seamless cube map has texels beside a face, whatever the address mode says.
  const Value faces = cube() ? b_.op2(Op::xor_, seamless_, b_.i1(true)) : b_.i1(true);
  const Value mirror = b_.cmp(Op::eq, mode, i32(abi::address_mirror)),
              wrap = b_.cmp(Op::eq, mode, i32(abi::address_wrap)),
              border = both(faces, b_.cmp(Op::eq, mode, i32(abi::address_border)));
  const Value normalized = cube() ? b_.i1(true) : set(sampler_, abi::sample_normalized);
  const Value linear = gather ? b_.i1(true) : linear_;
  // Coordinates in texels know no repetition.
  const Value repeats = both(faces, both(normalized, b_.op2(Op::or_, mirror, wrap)));
  Value at = 0;
  if (zero(coordinate)) {
    at = b_.select(linear, i32(static_cast<std::uint32_t>(-128)), i32(0));
  } else {
    at = b_.select(normalized,
                   library("tex_at_bounded", Type::i32, {coordinate, extent, largest, linear, one}),
                   library("tex_at_texel", Type::i32, {coordinate, linear}));
    at = b_.select(
        repeats,
        library("tex_at_repeated", Type::i32, {coordinate, extent, largest, mirror, linear, one}),
        at);
  }
  if (!zero(offset)) at = b_.op2(Op::add, at, b_.op2(Op::shl, offset, i32(8)));
  const Value last = b_.op2(Op::sub, extent, i32(1));
  const auto clamped = [&](Value value, Value most) {
    return b_.op2(Op::smax, b_.op2(Op::smin, value, most), i32(0));
  };
  const Value loose = cube() ? both(seamless_, linear) : b_.i1(false);
  if (!gather) {
    const Value moves = b_.op2(Op::or_, b_.op2(Op::or_, repeats, border), loose);
    at = b_.select(moves, at, clamped(at, b_.op2(Op::shl, last, i32(8))));
  }
  const auto texel = [&](Value index) {
    const Value repeated = library(zero(offset) ? "tex_repeat_near" : "tex_repeat", Type::i32,
                                   {index, extent, mirror});
    Value bounded = clamped(index, last);
    // Where the place is bounded, so are both texels.
    if (!gather) bounded = b_.select(b_.op2(Op::or_, border, loose), bounded, index);
    return b_.select(repeats, repeated, bounded);
  };
  const auto inside = [&](Value index) {
    return b_.op2(Op::or_, b_.op2(Op::xor_, border, b_.i1(true)), b_.cmp(Op::ult, index, extent));
  };
  const Value first = b_.op2(Op::ashr, at, i32(8));
  // A texel without weight is the first one again, so that what it holds does not matter.
  const Value second = gather ? b_.op2(Op::add, first, i32(1))
                              : b_.op2(Op::ashr, b_.op2(Op::add, at, i32(255)), i32(8));
  const Value weight = b_.op2(Op::and_, at, i32(255));
  return {texel(first), texel(second), weight, inside(first), inside(second), first, second};
}

TextureLowering::Axis TextureLowering::fetch(Value coordinate, Value extent, Value offset) {
  const bool clamped = inst_.mods->mode == Mod::level;
  // Linear memory takes no offset.
  offset = b_.select(set(word(abi::x_sampler), abi::sample_memory), i32(0), offset);
  const Value r =
      library(clamped ? "tex_fetch_clamped" : "tex_fetch", Type::v2, {coordinate, extent, offset});
  const Value in = b_.cmp(Op::ne, part(r, 1), i32(0));
  return {part(r, 0), part(r, 0), i32(0), in, in};
}

void TextureLowering::locate(Level& level, const Place& place) {
  const Axis none{i32(0), i32(0), i32(0), b_.i1(true), b_.i1(true)};
  level.y = none;
  level.z = {place.layer, place.layer, i32(0), b_.i1(true), b_.i1(true)};
  // The larger of width and height says how many bits both keep; a volume's depth goes by itself.
  const bool plane = place.axes >= 2 && !cube();
  const Value across = plane ? b_.op2(Op::umax, level.width, level.height) : level.width;
  const auto at = [&](unsigned k, Value extent) {
    return integer_ ? fetch(place.coordinates[k], extent, place.offset[k])
                    : axis(place.coordinates[k], extent, k, place.offset[k], place.gather,
                           k == 2 ? level.depth : across);
  };
  level.x = at(0, level.width);
  if (place.axes >= 2) level.y = at(1, level.height);
  // A 1D texture is one row of a 2D one, read at y = 0; its border shows where y's mode is border.
  // Of a texture with more rows others do, where y's mode is wrap.
  if (inst_.mods->geom == Mod::d1 && !integer_) {
    const Value rows = b_.select(set(word(abi::x_sampler), abi::sample_rows), level.height, i32(1));
    level.y = axis(i32(0), rows, 1, place.offset[1], place.gather, i32(1));
  }
  if (volume_) level.z = at(2, level.depth);
  level.corner = i32(4);
  if (!cube()) return;
  // One column and one row at most lie beside a face; where they cross, there is no texel.
  const Value none_left = b_.cmp(Op::slt, level.x.from, i32(0)),
              none_above = b_.cmp(Op::slt, level.y.from, i32(0));
  const Value crosses =
      both(b_.op2(Op::or_, none_left, b_.cmp(Op::sle, level.width, level.x.to)),
           b_.op2(Op::or_, none_above, b_.cmp(Op::sle, level.height, level.y.to)));
  const Value linear = place.gather ? b_.i1(true) : linear_;
  const Value which =
      b_.op2(Op::or_, b_.select(none_left, i32(0), i32(1)), b_.select(none_above, i32(0), i32(2)));
  level.corner = b_.select(both(both(seamless_, linear), crosses), which, i32(4));
}

}  // namespace ptx2spv::lower
