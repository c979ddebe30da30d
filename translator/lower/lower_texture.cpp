// 9.7.10 texture instructions. A read goes by the texture's record: shaders/texture.glsl turns
// coordinates into texels and weights, the texels are loaded by address, and the library sums them.
// docs/reference/hardware.md has the rules.
#include "translator/lower/lower_texture.hpp"

#include <fmt/format.h>

#include "ptx2spv/abi.hpp"
#include "translator/ir/texture_hiding.hpp"

namespace ptx2spv::lower {

Value TextureLowering::word(std::uint32_t which) {
  if (!words_[which]) {
    const Value address = b_.op2(Op::add, record_, i32(which * 4));
    words_[which] =
        b_.load(Type::i32, address, {.space = Space::textures, .bytes = 4, .readonly = true});
  }
  return words_[which];
}

Value TextureLowering::sampler_word(std::uint32_t which) {
  if (sampler_record_ == record_) return word(which);
  if (!sampler_words_[which]) {
    const Value address = b_.op2(Op::add, sampler_record_, i32(which * 4));
    sampler_words_[which] =
        b_.load(Type::i32, address, {.space = Space::textures, .bytes = 4, .readonly = true});
  }
  return sampler_words_[which];
}

// One is made at the first read, behind the registers.
std::uint32_t TextureLowering::common_variable(const char* name) {
  auto& vars = b_.function().vars;
  for (std::size_t v = vars.size(); v-- > 0;)
    if (vars[v].name == name) return static_cast<std::uint32_t>(v);
  vars.push_back({Type::i32, name});
  return static_cast<std::uint32_t>(vars.size() - 1);
}

Value TextureLowering::open_record(const Operand& handle, Kind kind) {
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
  // As passes/texture finds it again. Record 0 is nobody's.
  const Value known = b_.select(b_.cmp(Op::ult, low, count), low, i32(0));
  const Value record = b_.op2(Op::mul, known, i32(abi::kTextureWords * 4));
  const Value generation = b_.load(Type::i32, b_.op2(Op::add, record, i32(abi::x_generation * 4)),
                                   {.space = Space::textures, .bytes = 4, .readonly = true});
  // A sampler has no texels; only queries take either.
  const std::uint32_t kinds = abi::kTextureHandleBit | abi::kSamplerHandleBit;
  const Value is_kind = kind == Kind::either
                            ? b_.cmp(Op::ne, high, i32(0))
                            : b_.cmp(Op::eq, b_.op2(Op::and_, high, i32(kinds)),
                                     i32(kind == Kind::texture ? abi::kTextureHandleBit : kinds));
  const Value live = both(b_.cmp(Op::eq, generation, high), is_kind);
  // By variables that all reads have in common: where reads share code, the ways to the traps lead
  // out of a loop, and each value of its own would go through all of it.
  const std::uint32_t dead_low = common_variable("texture.dead_low"),
                      dead_high = common_variable("texture.dead_high");
  b_.set(dead_low, low);
  b_.set(dead_high, high);
  const ir::BlockId dead = b_.new_block(), rest = b_.new_block();
  b_.cond_br(live, rest, dead);
  b_.at(dead);
  l_.lower_trap(abi::TrapKind::dead_handle,
                kind == Kind::sampler ? "the handle names no live sampler"
                                      : "the handle names no live texture",
                {b_.get(dead_low), b_.get(dead_high), i32(0)});
  l_.ended_ = false;
  b_.at(rest);
  return record;
}

void TextureLowering::open(const Operand& texture, const Operand* sampler) {
  record_ = sampler_record_ =
      open_record(texture, inst_.op == Opcode::txq ? Kind::either : Kind::texture);
  if (sampler) sampler_record_ = open_record(*sampler, Kind::sampler);
}

void TextureLowering::decide() {
  sampler_ = word(abi::x_sampler);
  if (sampler_record_ != record_) {
    // Address modes and filters are the sampler's; coordinates are normalised where neither says
    // otherwise.
    const Value own = sampler_word(abi::x_sampler);
    const std::uint32_t taken = 63 | abi::sample_linear | abi::sample_mip_linear |
                                abi::sample_anisotropy | abi::sample_trilinear;
    const Value both_normalized =
        b_.op2(Op::and_, b_.op2(Op::and_, sampler_, own), i32(abi::sample_normalized));
    sampler_ = b_.op2(Op::or_, b_.op2(Op::and_, own, i32(taken)),
                      b_.op2(Op::and_, sampler_, i32(~(taken | abi::sample_normalized))));
    sampler_ = b_.op2(Op::or_, sampler_, both_normalized);
  }
  linear_ = set(sampler_, abi::sample_linear);
  element_ = set(word(abi::x_sampler), abi::sample_element);
  has_srgb_ = feature(abi::feature_srgb);
}

/// Offsets in braces. A lone operand is a depth to compare with, which the hardware does not:
/// CUDA's arrays hold no depths.
void TextureLowering::offsets(Inputs& inputs) {
  const Mod mode = inst_.mods->mode;
  const auto a = l_.args(inst_);
  for (unsigned next = mode == Mod::level  ? 3u
                       : mode == Mod::grad ? 4u
                                           : 2u;
       next < inst_.operand_count; ++next) {
    const auto list = l_.elements(a[next]);
    if (a[next].kind != OperandKind::vector && list.size() < 2) continue;
    for (unsigned i = 0; i < list.size() && i < 3; ++i)
      inputs.offsets[i] = l_.read(list[i], ptx::Type::b32);
  }
}

TextureLowering::Inputs TextureLowering::gather_inputs() {
  const ptx::Modifiers& mods = *inst_.mods;
  const auto a = l_.args(inst_);
  const auto parts = l_.f_.list(a[1]);
  Inputs inputs;
  offsets(inputs);
  const auto coordinates = l_.elements(parts.back());
  for (unsigned k = 0; k < coordinates.size() && k < 4; ++k)
    inputs.coordinates[k] = l_.read(coordinates[k], ptx::Type::b32);
  if (mods.mode == Mod::level) inputs.level = l_.read(a[2], ptx::Type::b32);
  for (unsigned g = 0; mods.mode == Mod::grad && g < 2; ++g) {
    const auto elements = l_.elements(a[2 + g]);
    for (unsigned k = 0; k < elements.size() && k < 3; ++k)
      inputs.gradients[g][k] = l_.read(elements[k], ptx::Type::b32);
  }
  const bool sampled_apart = parts.size() == 3 && l_.m_.texmode_independent;
  open(parts[0], sampled_apart ? &parts[1] : nullptr);
  inputs.record = record_;
  if (sampled_apart) inputs.sampler_record = sampler_record_;
  return inputs;
}

ir::TextureOp TextureLowering::texture_op(const Inputs& inputs) const {
  const ptx::Modifiers& mods = *inst_.mods;
  ir::TextureOp op;
  switch (mods.geom) {
    case Mod::d1: op.use.geometry = TextureGeometry::d1; break;
    case Mod::d3: op.use.geometry = TextureGeometry::d3; break;
    case Mod::a1d: op.use.geometry = TextureGeometry::a1d; break;
    case Mod::a2d: op.use.geometry = TextureGeometry::a2d; break;
    case Mod::cube: op.use.geometry = TextureGeometry::cube; break;
    case Mod::acube: op.use.geometry = TextureGeometry::acube; break;
    case Mod::d2ms: op.use.geometry = TextureGeometry::d2ms; break;
    case Mod::a2dms: op.use.geometry = TextureGeometry::a2dms; break;
    default: break;
  }
  const bool gather = inst_.op == Opcode::tld4;
  if (gather)
    op.use.mode = TextureMode::gather;
  else if (mods.mode == Mod::level)
    op.use.mode = TextureMode::level;
  else if (mods.mode == Mod::grad)
    op.use.mode = TextureMode::gradient;
  op.use.integer = !gather && ptx::is_signed(mods.types[1]);
  op.use.sampler_apart = inputs.sampler_record != 0;
  for (const Value offset : inputs.offsets) op.use.offset = op.use.offset || offset;
  if (gather) op.component = gathered_component();
  if (mods.types[0] == ptx::Type::f16) op.result = ir::TextureOp::Result::half;
  if (mods.types[0] == ptx::Type::f16x2) op.result = ir::TextureOp::Result::half_pairs;
  std::int8_t next = 0;
  const auto place = [&](Value value) { return value ? next++ : static_cast<std::int8_t>(-1); };
  place(inputs.record), place(inputs.sampler_record);
  for (unsigned k = 0; k < 4; ++k) op.coordinates[k] = place(inputs.coordinates[k]);
  op.level = place(inputs.level);
  for (unsigned g = 0; g < 2; ++g)
    for (unsigned k = 0; k < 3; ++k) op.gradients[g][k] = place(inputs.gradients[g][k]);
  return op;
}

/// The component that a gather takes.
std::uint8_t TextureLowering::gathered_component() const {
  const Mod mode = inst_.mods->mode;
  return mode == Mod::g ? 1 : mode == Mod::b ? 2 : mode == Mod::a ? 3 : 0;
}

/// Everything that the body reads of the instruction names its routine.
std::uint32_t TextureLowering::routine(const Inputs& given) {
  const ptx::Modifiers& mods = *inst_.mods;
  Inputs inputs = given;
  std::uint32_t present = 0, bit = 1;
  inputs.each([&](const Value& value) {
    if (value) present |= bit;
    bit <<= 1;
  });
  const std::string name =
      fmt::format("{}.{}.{}.{}.{}.{:x}", inst_.op == Opcode::tld4 ? "tld4" : "tex",
                  static_cast<int>(mods.geom), static_cast<int>(mods.mode),
                  static_cast<int>(mods.types[0]), static_cast<int>(mods.types[1]), present);
  auto& routines = l_.ir_.routines;
  const auto [known, fresh] =
      l_.context_.routine_of.emplace(name, static_cast<std::uint32_t>(routines.size()));
  if (!fresh) return known->second;

  ir::Function made;
  made.name = name;
  ir::Builder builder(made);
  builder.at(builder.new_block());
  inputs.each([&](Value& value) {
    if (!value) return;
    const auto var = static_cast<std::uint32_t>(made.vars.size());
    made.vars.push_back({Type::i32, "texture.operand"});
    made.param_vars.push_back(var);
    value = builder.get(var);
  });
  l_.ir_.texture_ops.push_back(texture_op(given));
  TextureLowering reading(l_, inst_, builder);
  reading.in_ = inputs;
  const std::vector<Value> values = reading.body();
  made.vars.push_back({Type::v4, "texture.result"});
  made.result_vars.push_back(static_cast<std::uint32_t>(made.vars.size() - 1));
  builder.set(made.result_vars[0], builder.inst(Op::compose, Type::v4, values));
  builder.ret();
  routines.push_back(std::move(made));
  return known->second;
}

void TextureLowering::read() {
  Inputs inputs = gather_inputs();
  const std::uint32_t which = routine(inputs);
  std::vector<Value> operands;
  inputs.each([&](const Value& value) {
    if (value) operands.push_back(value);
  });
  const Value result = b_.inst(Op::texture_read, Type::v4, operands, which);
  std::vector<Value> values;
  for (unsigned i = 0; i < 4; ++i) values.push_back(part(result, i));
  write_results(values);
}

std::vector<Value> TextureLowering::body() {
  const ptx::Modifiers& mods = *inst_.mods;
  const Mod geom = mods.geom;
  const bool layered =
      geom == Mod::a1d || geom == Mod::a2d || geom == Mod::acube || geom == Mod::a2dms;
  record_ = in_.record;
  sampler_record_ = in_.sampler_record ? in_.sampler_record : record_;
  Place place;
  place.gather = inst_.op == Opcode::tld4;
  place.axes = geom == Mod::d3 || cube() ? 3 : geom == Mod::d1 || geom == Mod::a1d ? 1 : 2;
  volume_ = geom == Mod::d3;
  // Beside gradients the hardware takes the bits of integer coordinates for floats.
  integer_ = !place.gather && ptx::is_signed(mods.types[1]) && mods.mode != Mod::grad;
  // Four bits of an offset count, six of a gather's. A 1D texture takes the next four bits for
  // its row.
  place.offset = {i32(0), i32(0), i32(0)};
  const Value spare = i32(place.gather ? 26 : 28);
  const auto cut = [&](Value v) { return b_.op2(Op::ashr, b_.op2(Op::shl, v, spare), spare); };
  for (unsigned i = 0; i < place.axes; ++i)
    if (in_.offsets[i]) place.offset[i] = cut(in_.offsets[i]);
  if (geom == Mod::d1 && in_.offsets[0])
    place.offset[1] = cut(b_.op2(Op::lshr, in_.offsets[0], i32(4)));
  const auto or_zero = [&](Value& value) {
    if (!value) value = i32(0);
  };
  or_zero(in_.level);
  for (auto& gradient : in_.gradients)
    for (Value& value : gradient) or_zero(value);
  for (Value& value : in_.coordinates) or_zero(value);
  std::vector<Value> c(in_.coordinates.begin(), in_.coordinates.end());

  // CUDA's arrays have one sample, number 0; the others read 0.
  Value sample_in = b_.i1(true);
  if (samples()) {
    sample_in = b_.cmp(Op::eq, c[0], i32(0));
    c.erase(c.begin());
    c.push_back(i32(0));
  }
  decide();
  hidden_ = set(word(abi::x_sampler), ir::hiding_bit(texture_op(in_).use.geometry, integer_));
  // A cube is six layers.
  const Value layers =
      geom == Mod::acube ? b_.op2(Op::udiv, word(abi::x_layers), i32(6)) : word(abi::x_layers);
  layer_in_ = sample_in;
  place.layer = i32(0);
  if (layered) {
    layer_in_ = both(sample_in, b_.cmp(Op::ult, c[0], layers));
    place.layer = b_.op2(Op::umin, c[0], b_.op2(Op::sub, b_.op2(Op::umax, layers, i32(1)), i32(1)));
    c.erase(c.begin());
    c.push_back(i32(0));
  }
  if (cube()) {
    const Value face = library("tex_cube", Type::v4, {c[0], c[1], c[2]});
    face_ = part(face, 0);
    // What is no cube map need not have six layers.
    place.layer = b_.op2(Op::add, b_.op2(Op::mul, place.layer, i32(6)), face_);
    place.layer = b_.select(hidden_, i32(0), place.layer);
    filters_ = place.gather ? b_.i1(true) : linear_;
    direction_ = {c[0], c[1], c[2]};
    seamless_ = both(feature(abi::feature_seamless), set(sampler_, abi::sample_seamless));
    c[0] = part(face, 1);
    c[1] = part(face, 2);
    place.axes = 2;
  }
  place.coordinates = c;
  choose_levels(place);

  std::vector<Value> values;
  if (place.gather) {
    values = gathered(gathered_component());
  } else {
    values = integer_ ? fetched() : sampled();
    if (mods.mode == Mod::grad && !one_sample()) anisotropic(place, values);
  }
  return converted(values);
}

/// Half results out of single ones.
std::vector<Value> TextureLowering::converted(std::vector<Value> values) {
  const ptx::Type type = inst_.mods->types[0];
  if (type != ptx::Type::f16 && type != ptx::Type::f16x2) return values;
  for (Value& value : values) value = library("tex_half", Type::i32, {value});
  if (type == ptx::Type::f16) return values;
  const auto pair = [&](unsigned i) {
    return b_.op2(Op::or_, values[i], b_.op2(Op::shl, values[i + 1], i32(16)));
  };
  return {pair(0), pair(2), i32(0), i32(0)};
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
  const std::size_t given = type == ptx::Type::f16x2 ? 2 : values.size();
  for (std::size_t i = 0; i < to.size() && i < given; ++i)
    l_.write(to[i], values[i], type == ptx::Type::f16 ? ptx::Type::b16 : ptx::Type::b32);
}

void TextureLowering::query() {
  const auto a = l_.args(inst_);
  // Sampler queries of independent mode name a sampler, whose record answers like a texture's.
  open(a[1], nullptr);
  decide();
  const Value sampler = word(abi::x_sampler);
  const auto flag = [&](std::uint32_t bit) { return b_.select(set(sampler, bit), i32(1), i32(0)); };
  // The manual's numbers: wrap 0, mirror 1, clamp_ogl 2, clamp_to_edge 3, clamp_to_border 4.
  const auto mode = [&](unsigned number) {
    const Value bits = b_.op2(Op::and_, b_.op2(Op::lshr, sampler, i32(2 * number)), i32(3));
    const Value edge =
        b_.op2(Op::and_, b_.op2(Op::lshr, i32(0x4130), b_.op2(Op::shl, bits, i32(2))), i32(7));
    return b_.op2(Op::sub, edge, flag(abi::sample_clamp_ogl << number));
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
    case Mod::force_unnormalized_coords:
      value = b_.op2(Op::xor_, flag(abi::sample_normalized), i32(1));
      break;
    case Mod::filter_mode: value = flag(abi::sample_linear); break;
    case Mod::addr_mode_0: value = mode(0); break;
    case Mod::addr_mode_1: value = mode(1); break;
    case Mod::addr_mode_2: value = mode(2); break;
    case Mod::num_mipmap_levels: value = word(abi::x_levels); break;
    case Mod::num_samples: value = b_.op2(Op::umax, word(abi::x_samples), i32(1)); break;
    default: break;
  }
  if (inst_.operand_count == 3) {
    // Extents halve from level to level, layers do not; a level that is not there has none.
    const Value number = l_.read(a[2], ptx::Type::b32);
    const Value there = b_.cmp(Op::ult, number, word(abi::x_levels));
    const Value halved = b_.op2(Op::umax, b_.op2(Op::lshr, value, number), i32(1));
    const Value layered = b_.cmp(Op::ne, word(abi::x_array_size), i32(0));
    const Value rows = set(sampler, abi::sample_rows);
    const bool height = inst_.mods->query == Mod::height, depth = inst_.mods->query == Mod::depth;
    Value extent = halved;
    if (height)
      extent = b_.select(both(layered, b_.op2(Op::xor_, rows, b_.i1(true))), value, halved);
    if (depth) extent = b_.select(layered, value, halved);
    extent = b_.select(b_.cmp(Op::ne, value, i32(0)), extent, i32(0));
    value = b_.select(there, extent, i32(0));
  }
  l_.write(a[0], value, ptx::Type::b32);
}

void FunctionLowering::lower_texture(const Instruction& inst) {
  if (inst.op == Opcode::istypep) {
    // The high word of a texture's or sampler's handle has bit 31 set, a sampler's bit 30 too.
    const auto a = args(inst);
    const Value high = b_.inst(Op::high, Type::i32, {fit(read(a[1], ptx::Type::b64), Type::i64)});
    const Value kind = b_.op2(Op::lshr, high, b_.i32(30));
    const ptx::Type type = inst.mods->type();
    if (type == ptx::Type::surfref) {
      const Value some = b_.cmp(Op::ne, high, b_.i32(0));
      return write_pred(a[0], b_.op2(Op::and_, some, b_.cmp(Op::ult, kind, b_.i32(2))));
    }
    return write_pred(a[0], b_.cmp(Op::eq, kind, b_.i32(type == ptx::Type::texref ? 2 : 3)));
  }
  context_.out.info.uses_textures = true;
  TextureLowering texture(*this, inst);
  if (inst.op == Opcode::txq) return texture.query();
  texture.read();
}

}  // namespace ptx2spv::lower
