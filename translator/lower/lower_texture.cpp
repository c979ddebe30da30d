// 9.7.10 texture instructions. A read goes by the texture's record: shaders/texture.glsl turns
// coordinates into texels and weights, the texels are loaded by address, and the library sums them.
// docs/hardware.md has the rules.
#include <array>

#include "translator/lower/function.hpp"

namespace ptx2spv::lower {

using ir::Op;
using ir::Space;
using ir::Type;

/// One texture instruction. Everything the record decides stays a value; the geometry is known.
class TextureLowering {
 public:
  TextureLowering(FunctionLowering& function, const Instruction& inst)
      : l_(function), b_(function.b_), inst_(inst) {}
  void read();
  void query();

 private:
  struct Axis {
    Value first = 0, second = 0, weight = 0, first_in = 0, second_in = 0;  ///< the last two are i1
  };

  Value i32(std::uint32_t value) { return b_.i32(value); }
  Value library(const char* name, Type type, std::initializer_list<Value> args) {
    return l_.arith_.library(name, type, args);
  }
  Value part(Value vector, std::uint64_t index) {
    return b_.inst(Op::extract, Type::i32, {vector}, index);
  }
  Value both(Value a, Value b) { return b_.op2(Op::and_, a, b); }
  Value set(Value word, std::uint32_t bit) {
    return b_.cmp(Op::ne, b_.op2(Op::and_, word, i32(bit)), i32(0));
  }

  /// Reads the handle; a dead one traps the thread.
  void open(const Operand& handle);
  Value word(std::uint32_t which);
  Axis axis(Value coordinate, Value extent, unsigned number, Value offset, bool gather);
  Axis fetch(Value coordinate, Value extent, Value offset);
  Value raw(Value offset, unsigned channel);
  std::array<Value, 4> plane(Value z, Value z_in, unsigned channel);
  Value present();
  Value sampled(unsigned channel);
  Value fetched(unsigned channel);
  Value value_of(unsigned channel, Value value) {
    return b_.select(b_.cmp(Op::ult, i32(channel), word(abi::x_channels)), value, i32(0));
  }
  void write_results(const std::vector<Value>& values);

  FunctionLowering& l_;
  ir::Builder& b_;
  const Instruction& inst_;
  Value record_ = 0, base_ = 0, slice_ = 0, layer_in_ = 0, linear_ = 0, element_ = 0;
  std::array<Value, 32> words_{};
  Axis x_, y_, z_;
  bool volume_ = false, integer_ = false;
};

Value TextureLowering::word(std::uint32_t which) {
  if (!words_[which]) {
    const Value address = b_.op2(Op::add, record_, i32(which * 4));
    words_[which] =
        b_.load(Type::i32, address, {.space = Space::textures, .bytes = 4, .readonly = true});
  }
  return words_[which];
}

void TextureLowering::open(const Operand& handle) {
  Operand operand = handle;
  if (operand.kind == OperandKind::memory) {
    operand.kind = l_.m_.symbol(operand.symbol).kind == ptx::SymbolKind::reg ? OperandKind::reg
                                                                             : OperandKind::address;
  }
  const Value value = l_.fit(l_.read(operand, ptx::Type::b64), Type::i64);
  const Value low = b_.inst(Op::trunc, Type::i32, {value}),
              high = b_.inst(Op::high, Type::i32, {value});
  const Value count = b_.load(Type::i32, i32(abi::Push::texture_count * 4),
                              {.space = Space::push, .bytes = 4, .readonly = true});
  const Value known = b_.select(b_.cmp(Op::ult, low, count), low, i32(0));
  record_ = b_.op2(Op::mul, known, i32(abi::kTextureWords * 4));
  const Value live =
      both(b_.cmp(Op::eq, word(abi::x_generation), high), b_.cmp(Op::ne, high, i32(0)));
  const ir::BlockId dead = b_.new_block(), rest = b_.new_block();
  b_.cond_br(live, rest, dead);
  b_.at(dead);
  l_.lower_trap(abi::TrapKind::dead_handle, "the handle names no live texture",
                {i32(0), i32(0), i32(0)});
  l_.ended_ = false;
  b_.at(rest);
}

TextureLowering::Axis TextureLowering::axis(Value coordinate, Value extent, unsigned number,
                                            Value offset, bool gather) {
  const Value sampler = word(abi::x_sampler);
  const Mod geom = inst_.mods->geom;
  const bool cube = geom == Mod::cube || geom == Mod::acube,
             line = geom == Mod::d1 || geom == Mod::a1d;
  Value bits = b_.op2(Op::and_, b_.op2(Op::lshr, sampler, i32(2 * number)), i32(3));
  const Value normalized =
      b_.op2(Op::lshr, b_.op2(Op::and_, sampler, i32(abi::sample_normalized)), i32(5));
  const Value linear = b_.op2(Op::lshr, b_.op2(Op::and_, sampler, i32(abi::sample_linear)), i32(3));
  bits = b_.op2(Op::or_, bits, cube ? i32(4) : normalized);
  bits = b_.op2(Op::or_, bits, gather ? i32(8 | 32) : linear);
  if (line) bits = b_.op2(Op::or_, bits, i32(16));
  const Value r = library("tex_axis", Type::v4, {coordinate, extent, bits, offset});
  return {part(r, 0), part(r, 1), part(r, 2), set(part(r, 3), 1), set(part(r, 3), 2)};
}

TextureLowering::Axis TextureLowering::fetch(Value coordinate, Value extent, Value offset) {
  const Value r = library("tex_fetch", Type::v2, {coordinate, extent, offset});
  const Value in = b_.cmp(Op::ne, part(r, 1), i32(0));
  return {part(r, 0), part(r, 0), i32(0), in, in};
}

/// The component `channel` of the texel at byte `offset`, as the low bits of a word.
Value TextureLowering::raw(Value offset, unsigned channel) {
  const Value size = word(abi::x_component_bytes);
  if (channel) {
    const Value skip = value_of(channel, b_.op2(Op::mul, size, i32(channel)));
    offset = b_.op2(Op::add, offset, skip);
  }
  if (!base_) base_ = b_.inst(Op::pack, Type::i64, {word(abi::x_base_lo), word(abi::x_base_hi)});
  const Value whole = b_.inst(Op::zext, Type::i64, {b_.op2(Op::and_, offset, i32(~3u))});
  const Value loaded =
      b_.load(Type::i32, b_.op2(Op::add, base_, whole), {.space = Space::global, .bytes = 4});
  const Value shift = b_.op2(Op::shl, b_.op2(Op::and_, offset, i32(3)), i32(3));
  const Value spare = b_.op2(Op::sub, i32(32), b_.op2(Op::shl, size, i32(3)));
  const Value mask = b_.op2(Op::lshr, i32(0xffffffffu), spare);
  return b_.op2(Op::and_, b_.op2(Op::lshr, loaded, shift), mask);
}

/// The four texels around the point in slice z, x first.
std::array<Value, 4> TextureLowering::plane(Value z, Value z_in, unsigned channel) {
  const Value slice = b_.op2(Op::mul, z, word(abi::x_slice_pitch));
  const Value pitch = word(abi::x_row_pitch), texel = word(abi::x_texel_bytes);
  const Value rows[] = {b_.op2(Op::add, slice, b_.op2(Op::mul, y_.first, pitch)),
                        b_.op2(Op::add, slice, b_.op2(Op::mul, y_.second, pitch))};
  const Value columns[] = {b_.op2(Op::mul, x_.first, texel), b_.op2(Op::mul, x_.second, texel)};
  const Value column_in[] = {x_.first_in, x_.second_in}, row_in[] = {y_.first_in, y_.second_in};
  std::array<Value, 4> texels;
  for (unsigned i = 0; i < 4; ++i) {
    const Value in = both(z_in, both(column_in[i % 2], row_in[i / 2]));
    const Value value = raw(b_.op2(Op::add, rows[i / 2], columns[i % 2]), channel);
    texels[i] = b_.select(in, value, word(abi::x_border + channel));
  }
  return texels;
}

/// Which texels have a share, whatever its rounded weight: infinities and NaN in them show.
Value TextureLowering::present() {
  const auto any = [&](Value weight, std::uint32_t bits) {
    return b_.select(b_.cmp(Op::ne, weight, i32(0)), i32(bits), i32(0));
  };
  const Value right = any(x_.weight, 2 | 8), below = any(y_.weight, 4 | 8);
  const Value corner = b_.op2(Op::and_, b_.op2(Op::and_, right, below), i32(8));
  const Value edges = b_.op2(Op::and_, b_.op2(Op::or_, right, below), i32(6));
  return b_.op2(Op::or_, b_.op2(Op::or_, corner, edges), i32(1));
}

Value TextureLowering::sampled(unsigned channel) {
  const Value format = word(abi::x_format);
  const auto near = plane(z_.first, z_.first_in, channel);
  const Value single = library("tex_point", Type::i32, {near[0], format, element_});
  const auto sum = [&](const std::array<Value, 4>& texels, Value total, Value mask) {
    const Value weights = library("tex_weights", Type::v4, {x_.weight, y_.weight, total});
    const Value vector =
        b_.inst(Op::compose, Type::v4, {texels[0], texels[1], texels[2], texels[3]});
    return library("tex_sum", Type::v4, {vector, weights, mask, format});
  };
  Value first = 0, second = 0;
  if (volume_) {
    const auto far = plane(z_.second, z_.second_in, channel);
    first = sum(near, b_.op2(Op::sub, i32(256), z_.weight), present());
    second = sum(far, z_.weight, b_.select(b_.cmp(Op::ne, z_.weight, i32(0)), present(), i32(0)));
  } else {
    first = sum(near, i32(256), present());
    second = b_.inst(Op::compose, Type::v4, {i32(0), i32(0), i32(0), i32(0)});
  }
  const Value filtered = library("tex_filtered", Type::i32, {first, second, format});
  const Value value = b_.select(linear_, filtered, single);
  // Linear memory is read at integer coordinates alone.
  const Value memory = set(word(abi::x_sampler), abi::sample_memory);
  return value_of(channel, b_.select(memory, i32(0), value));
}

Value TextureLowering::fetched(unsigned channel) {
  Value in = both(layer_in_, both(x_.first_in, both(y_.first_in, z_.first_in)));
  // The hardware reads nothing from a 1D array at integer coordinates: those are for linear memory.
  if (inst_.mods->geom == Mod::d1) in = both(in, set(word(abi::x_sampler), abi::sample_memory));
  const Value offset = b_.op2(Op::add, b_.op2(Op::mul, x_.first, word(abi::x_texel_bytes)),
                              b_.op2(Op::add, b_.op2(Op::mul, y_.first, word(abi::x_row_pitch)),
                                     b_.op2(Op::mul, z_.first, word(abi::x_slice_pitch))));
  const Value at = b_.select(in, offset, i32(0));
  const Value value =
      library("tex_point", Type::i32, {raw(at, channel), word(abi::x_format), element_});
  return value_of(channel, b_.select(in, value, i32(0)));
}

void TextureLowering::read() {
  const ptx::Modifiers& mods = *inst_.mods;
  const auto a = l_.args(inst_);
  const auto parts = l_.f_.list(a[1]);
  const Mod geom = mods.geom;
  if (geom == Mod::d2ms || geom == Mod::a2dms) return l_.refuse(inst_, "multi-sample textures");
  const bool gather = inst_.op == Opcode::tld4;
  const bool layered = geom == Mod::a1d || geom == Mod::a2d || geom == Mod::acube;
  const bool cube = geom == Mod::cube || geom == Mod::acube;
  const unsigned axes = geom == Mod::d3 || cube ? 3 : geom == Mod::d1 || geom == Mod::a1d ? 1 : 2;
  volume_ = geom == Mod::d3;
  integer_ = !gather && ptx::is_signed(mods.types[1]);

  // Operands behind the coordinates: level or gradients, which a texture without further levels
  // does not heed, then offsets in braces. A lone operand is a depth to compare with.
  unsigned next = 2 + (mods.mode == Mod::level ? 1u : mods.mode == Mod::grad ? 2u : 0u);
  std::array<Value, 3> offset{i32(0), i32(0), i32(0)};
  for (; next < inst_.operand_count; ++next) {
    const auto list = l_.elements(a[next]);
    if (a[next].kind != OperandKind::vector && list.size() < 2) {
      return l_.refuse(inst_, "comparison of depths in textures");
    }
    // Four bits of an offset count, six of a gather's. A 1D texture takes the next four bits for
    // its row.
    const Value spare = i32(gather ? 26 : 28);
    const auto cut = [&](Value v) { return b_.op2(Op::ashr, b_.op2(Op::shl, v, spare), spare); };
    for (unsigned i = 0; i < list.size() && i < axes; ++i)
      offset[i] = l_.read(list[i], ptx::Type::b32);
    if (geom == Mod::d1) offset[1] = b_.op2(Op::lshr, offset[0], i32(4));
    for (Value& each : offset) each = cut(each);
  }

  std::vector<Value> c;
  for (const Operand& each : l_.elements(parts.back())) c.push_back(l_.read(each, ptx::Type::b32));
  c.resize(4, i32(0));
  open(parts[0]);
  // A cube is six layers.
  const Value layers =
      geom == Mod::acube ? b_.op2(Op::udiv, word(abi::x_layers), i32(6)) : word(abi::x_layers);
  layer_in_ = b_.i1(true);
  Value layer = i32(0);
  if (layered) {
    layer_in_ = b_.cmp(Op::ult, c[0], layers);
    layer = b_.op2(Op::umin, c[0], b_.op2(Op::sub, b_.op2(Op::umax, layers, i32(1)), i32(1)));
    c.erase(c.begin());
    c.push_back(i32(0));
  }
  if (cube) {
    const Value face = library("tex_cube", Type::v4, {c[0], c[1], c[2]});
    layer = b_.op2(Op::add, b_.op2(Op::mul, layer, i32(6)), part(face, 0));
    c[0] = part(face, 1);
    c[1] = part(face, 2);
  }
  const Value width = word(abi::x_width), height = word(abi::x_height);
  linear_ = set(word(abi::x_sampler), abi::sample_linear);
  element_ = set(word(abi::x_sampler), abi::sample_element);
  const Axis none{i32(0), i32(0), i32(0), b_.i1(true), b_.i1(true)};
  y_ = none;
  z_ = {layer, layer, i32(0), b_.i1(true), b_.i1(true)};
  const auto place = [&](unsigned k, Value extent, Value coordinate) {
    return integer_ ? fetch(coordinate, extent, offset[k])
                    : axis(coordinate, extent, k, offset[k], gather);
  };
  x_ = place(0, width, c[0]);
  if (axes >= 2) y_ = place(1, height, c[1]);
  // A 1D texture is one row of a 2D one, read at y = 0; its border shows where y's mode is border.
  if (geom == Mod::d1 && !integer_) y_ = axis(i32(0), i32(1), 1, offset[1], gather);
  if (volume_) z_ = place(2, word(abi::x_depth), c[2]);

  std::vector<Value> values(4, 0);
  if (gather) {
    const unsigned channel = mods.mode == Mod::g   ? 1
                             : mods.mode == Mod::b ? 2
                             : mods.mode == Mod::a ? 3
                                                   : 0;
    const auto texels = plane(z_.first, z_.first_in, channel);
    constexpr unsigned kOrder[] = {2, 3, 1, 0};
    for (unsigned i = 0; i < 4; ++i) {
      const Value value =
          library("tex_point", Type::i32, {texels[kOrder[i]], word(abi::x_format), element_});
      values[i] = value_of(channel, value);
    }
  } else {
    for (unsigned i = 0; i < 4; ++i) values[i] = integer_ ? fetched(i) : sampled(i);
  }
  write_results(values);
}

void TextureLowering::write_results(const std::vector<Value>& values) {
  const ptx::Type type = inst_.mods->types[0];
  Operand data = l_.args(inst_)[0];
  if (data.kind == OperandKind::pair) {
    const auto pair = l_.f_.list(data);
    l_.write_pred(pair[1], b_.i1(true));  // every texel is resident
    data = pair[0];
  }
  const auto to = l_.elements(data);
  const bool half = type == ptx::Type::f16 || type == ptx::Type::f16x2;
  std::vector<Value> out = values;
  if (half) {
    for (Value& value : out) value = library("tex_half", Type::i32, {value});
  }
  if (type == ptx::Type::f16x2) {
    const auto pair = [&](unsigned i) {
      return b_.op2(Op::or_, out[i], b_.op2(Op::shl, out[i + 1], i32(16)));
    };
    out = {pair(0), pair(2)};
  }
  for (std::size_t i = 0; i < to.size() && i < out.size(); ++i) {
    l_.write(to[i], out[i], type == ptx::Type::f16 ? ptx::Type::b16 : ptx::Type::b32);
  }
}

void TextureLowering::query() {
  const auto a = l_.args(inst_);
  open(a[1]);
  const Value sampler = word(abi::x_sampler);
  const auto flag = [&](std::uint32_t bit) { return b_.select(set(sampler, bit), i32(1), i32(0)); };
  // The manual's numbers: wrap 0, mirror 1, clamp_to_edge 3, clamp_to_border 4.
  const auto mode = [&](unsigned number) {
    const Value bits = b_.op2(Op::and_, b_.op2(Op::lshr, sampler, i32(2 * number)), i32(3));
    return b_.op2(Op::and_, b_.op2(Op::lshr, i32(0x4130), b_.op2(Op::shl, bits, i32(2))), i32(7));
  };
  Value value = i32(0);
  switch (inst_.mods->query) {
    case Mod::width: value = word(abi::x_query_width); break;
    case Mod::height: value = word(abi::x_query_height); break;
    case Mod::depth: value = word(abi::x_query_depth); break;
    case Mod::channel_data_type: value = word(abi::x_channel_data_type); break;
    case Mod::channel_order: value = word(abi::x_channel_order); break;
    case Mod::array_size: value = word(abi::x_array_size); break;
    case Mod::normalized_coords: value = flag(abi::sample_normalized); break;
    case Mod::filter_mode: value = flag(abi::sample_linear); break;
    case Mod::addr_mode_0: value = mode(0); break;
    case Mod::addr_mode_1: value = mode(1); break;
    case Mod::addr_mode_2: value = mode(2); break;
    case Mod::num_mipmap_levels:
    case Mod::num_samples: value = i32(1); break;
    default: break;
  }
  l_.write(a[0], value, ptx::Type::b32);
}

void FunctionLowering::lower_texture(const Instruction& inst) {
  if (inst.op == Opcode::istypep) {
    // A texture's handle has bit 31 of its high word set, a surface's has not.
    const auto a = args(inst);
    const Value high = b_.inst(Op::high, Type::i32, {fit(read(a[1], ptx::Type::b64), Type::i64)});
    const Value texture = b_.cmp(Op::slt, high, b_.i32(0));
    const Value surface = b_.cmp(Op::slt, b_.i32(0), high);
    const ptx::Type type = inst.mods->type();
    return write_pred(a[0], type == ptx::Type::surfref  ? surface
                            : type == ptx::Type::texref ? texture
                                                        : b_.i1(false));
  }
  context_.out.info.uses_textures = true;
  TextureLowering texture(*this, inst);
  if (inst.op == Opcode::txq) return texture.query();
  texture.read();
}

}  // namespace ptx2spv::lower
