#include "translator/passes/surface/surface_access.hpp"

#include <bit>

#include "translator/passes/fault_log.hpp"

namespace ptx2spv::passes {

namespace {
// Keys of values that a static record makes once, beside its words.
enum Key : std::uint32_t {
  k_limit = 10000,
  k_last = 20000,
  k_fits = 30000,
  k_discard = 40000,
  k_rows_last,
  k_slices_last,
  k_base,
  k_found  ///< and the geometry
};
}  // namespace

unsigned log2_of(unsigned power_of_two) {
  return static_cast<unsigned>(std::countr_zero(power_of_two));
}

Located SurfaceAccess::locate(const std::vector<Value>& coords, Value unit_bytes,
                              unsigned unit_log2) {
  const bool clamp = op_.clamp == ClampMode::clamp;
  const bool in_bytes = !op_.formatted;
  const unsigned n = op_.bytes;
  const bool layered = is_layered(op_.geometry);
  const Value x = coords[layered ? 1 : 0];
  Value y = 0, z = 0;
  if (op_.geometry == Geometry::d2 || op_.geometry == Geometry::d3) y = coords[1];
  if (op_.geometry == Geometry::a2d) y = coords[2];
  if (op_.geometry == Geometry::d3) z = coords[2];
  // Of an array index only the low 16 bits count: 0x80000000 selects layer 0, 0xffffffff layer
  // 65535.
  if (layered) z = b_.op2(Op::and_, coords[0], i32(0xffff));

  Located at;
  const std::uint32_t key = (in_bytes     ? n
                             : unit_bytes ? 200
                                          : 100 + unit_log2) +
                            (r_.checked() ? 0 : 300 * static_cast<std::uint32_t>(op_.geometry));
  const Value width = r_.row_bytes(op_.geometry);
  // .b forms count bytes: the last start is W - n, so the number of starts is W - n + 1, or none.
  // sured.p counts units of n bytes and sust.p texels: floor(W / n) and width starts.
  const Value limit = r_.cached(k_limit + key, [&](Builder& b) {
    Value starts;
    if (in_bytes && r_.checked()) {
      starts = b.op2(Op::sub, width, b.i32(n - 1));
    } else if (in_bytes) {
      const Value fits = b.cmp(Op::ule, b.i32(n), width);
      starts = b.select(fits, b.op2(Op::sub, width, b.i32(n - 1)), b.i32(0));
    } else if (unit_bytes != 0) {
      // A row of texels has at least as many bytes, or none.
      starts = r_.checked() ? r_.word(abi::s_width) : b.op2(Op::umin, r_.word(abi::s_width), width);
    } else {
      starts = b.op2(Op::lshr, width, b.i32(unit_log2));
    }
    return r_.dead() ? b.select(r_.dead(), b.i32(0), starts) : starts;
  });

  if (clamp) {
    // A row shorter than the access: the load gives 0 and the store is dropped.
    const Value last = r_.cached(k_last + key, [&](Builder& b) {
      if (in_bytes && n > 1 && r_.checked()) {
        const Value units = b.op2(Op::lshr, width, b.i32(log2_of(n)));
        return b.op2(Op::shl, b.op2(Op::sub, units, b.i32(1)), b.i32(log2_of(n)));
      }
      const Value fits = b.cmp(Op::ne, limit, b.i32(0));
      Value start = b.op2(Op::sub, limit, b.i32(1));
      if (in_bytes && n > 1) start = b.op2(Op::and_, start, b.i32(~(n - 1)));
      return r_.checked() ? start : b.select(fits, start, b.i32(0));
    });
    if (!r_.checked())
      at.ok = r_.cached(k_fits + key, [&](Builder& b) { return b.cmp(Op::ne, limit, b.i32(0)); });
    const auto clamp_to = [&](Value v, Value top) {
      return b_.op2(Op::smin, b_.op2(Op::smax, v, i32(0)), top);
    };
    at.x = clamp_to(x, last);
    if (y)
      at.y = clamp_to(y, r_.cached(k_rows_last, [&](Builder& b) {
        return b.op2(Op::sub, r_.word(abi::s_rows), b.i32(1));
      }));
    if (z)
      at.z = clamp_to(z, r_.cached(k_slices_last, [&](Builder& b) {
        return b.op2(Op::sub, r_.word(abi::s_slices), b.i32(1));
      }));
  } else {
    at.ok = b_.cmp(Op::ult, x, limit);
    if (y) at.ok = and1(at.ok, b_.cmp(Op::ult, y, r_.word(abi::s_rows)));
    if (z) at.ok = and1(at.ok, b_.cmp(Op::ult, z, r_.word(abi::s_slices)));
    at.x = x;
    at.y = y;
    at.z = z;
  }

  if (watched_) {
    Value in = b_.cmp(Op::ult, x, limit);
    if (y) in = and1(in, b_.cmp(Op::ult, y, r_.word(abi::s_rows)));
    if (z) in = and1(in, b_.cmp(Op::ult, z, r_.word(abi::s_slices)));
    // That another geometry finds nothing is another finding.
    if (found()) in = b_.op2(Op::or_, in, not1(found()));
    const Value row = y ? y : i32(0);
    passes::note_fault(b_, *watched_, in, b_.inst(Op::pack, Type::i64, {x, row}));
  }

  at.unseen = robust() ? 0 : at.ok;
  // Of those that have no fault: all, or all that find something.
  at.in_bounds = op_.clamp == ClampMode::trap ? found() : at.ok;
  Value misaligned = 0;
  if (in_bytes && n > 1) {
    misaligned = b_.cmp(Op::ne, b_.op2(Op::and_, x, i32(n - 1)), i32(0));
  }
  const auto kind_value = [&](abi::TrapKind kind) { return i32(trap_code(site_, kind)); };
  if (op_.clamp == ClampMode::trap) {
    at.fault = not1(at.ok);
    at.kind = kind_value(abi::TrapKind::out_of_bounds);
  }
  if (misaligned) {
    at.fault = at.fault ? b_.op2(Op::or_, at.fault, misaligned) : misaligned;
    at.kind = at.kind ? b_.select(misaligned, kind_value(abi::TrapKind::misaligned), at.kind)
                      : kind_value(abi::TrapKind::misaligned);
    at.ok = and1(at.ok, not1(misaligned));
    at.unseen = and1(at.unseen, not1(misaligned));
  }
  // An instruction of another geometry finds nothing, and goes on.
  if (at.fault) at.fault = and1(found(), at.fault);
  if (r_.dead()) {
    at.fault = at.fault ? b_.op2(Op::or_, at.fault, r_.dead()) : r_.dead();
    at.kind = at.kind ? b_.select(r_.dead(), kind_value(abi::TrapKind::dead_handle), at.kind)
                      : kind_value(abi::TrapKind::dead_handle);
    at.ok = and1(at.ok, not1(r_.dead()));
    at.unseen = and1(at.unseen, not1(r_.dead()));
  }

  if (!in_bytes)
    at.x = unit_bytes ? b_.op2(Op::mul, at.x, unit_bytes)
                      : (unit_log2 ? b_.op2(Op::shl, at.x, i32(unit_log2)) : at.x);
  return at;
}

/// i1: the surface is there for instructions of the geometry; 0 where the host has made sure.
Value SurfaceAccess::found() {
  if (r_.checked()) return 0;
  return r_.cached(k_found + static_cast<std::uint32_t>(op_.geometry), [&](Builder& b) {
    Value bytes = r_.row_bytes(op_.geometry);
    // Handles of unbound variables are static.
    if (r_.is_static()) {
      const Value nothing = b.op2(Op::and_, r_.word(abi::s_flags), b.i32(abi::surface_of_nothing));
      bytes = b.op2(Op::or_, bytes, nothing);
    }
    return b.cmp(Op::ne, bytes, b.i32(0));
  });
}

/// What another geometry finds in the surface is nothing, or slice 0 for every layer.
void SurfaceAccess::note_geometry() {
  if (!geometry_site_ || r_.checked()) return;
  Value meant = found();
  if (is_layered(op_.geometry))
    meant =
        and1(meant, b_.cmp(Op::eq, r_.word(abi::s_layer_pitch_lo), r_.word(abi::s_slice_pitch_lo)));
  if (r_.dead()) meant = b_.op2(Op::or_, meant, r_.dead());
  passes::note_fault(b_, *geometry_site_, meant, handle_);
}

/// An instruction that finds nothing there has no width to compare.
void SurfaceAccess::note_width() {
  if (!width_site_) return;
  const bool known = r_.is_static() && r_.spec().format_known;
  const Value texel =
      known ? i32(texel_bytes(r_.spec().format, r_.spec().channels)) : r_.word(abi::s_texel_bytes);
  Value meant = b_.cmp(Op::eq, texel, i32(op_.bytes + op_.unread_bytes));
  if (found()) meant = b_.op2(Op::or_, meant, not1(found()));
  if (r_.dead()) meant = b_.op2(Op::or_, meant, r_.dead());
  passes::note_fault(b_, *width_site_, meant, handle_);
}

void SurfaceAccess::note_fault(Located& at, const std::vector<Value>& coords) {
  if (!at.fault) return;
  r_.note_fault(b_, trap_, at.fault, at.kind, coords, returns_);
  if (!returns_) return;
  at.ok = at.in_bounds;
  at.unseen = robust() ? 0 : at.ok;
}

Value SurfaceAccess::offset32(const Located& at) {
  Value offset = at.x;
  if (at.y) offset = b_.op2(Op::add, b_.op2(Op::mul, at.y, r_.word(abi::s_row_pitch)), offset);
  if (at.z) offset = b_.op2(Op::add, b_.op2(Op::mul, at.z, slice_pitch(false)), offset);
  return offset;
}

Value SurfaceAccess::load_address(const Located& at) {
  if (r_.spec().backing == Backing::buffer) {
    const Value offset = offset32(at);
    return at.ok ? b_.select(at.ok, offset, i32(0)) : offset;
  }
  return store_address(at, at.ok);
}

Value SurfaceAccess::discard_offset() {
  // The 64 bytes of padding behind the last row.
  return r_.cached(k_discard, [&](Builder& b) {
    const Value end = b.op2(Op::mul, r_.word(abi::s_slices), r_.word(abi::s_slice_pitch_lo));
    return r_.dead() ? b.select(r_.dead(), b.i32(0), end) : end;
  });
}

Value SurfaceAccess::store_address(const Located& at, Value ok) {
  if (r_.spec().backing == Backing::buffer) {
    const Value offset = offset32(at);
    return ok ? b_.select(ok, offset, discard_offset()) : offset;
  }
  const Value base = r_.cached(k_base, [&](Builder& b) {
    return b.inst(Op::pack, Type::i64, {r_.word(abi::s_base_lo), r_.word(abi::s_base_hi)});
  });
  Value address;
  const auto wide = [&](Value v) { return b_.inst(Op::zext, Type::i64, {v}); };
  if (r_.wide() && at.z) {
    const Value slice = b_.inst(Op::pack, Type::i64, {slice_pitch(false), slice_pitch(true)});
    address = b_.op2(Op::add, base, b_.op2(Op::mul, wide(at.z), slice));
    const Value row = b_.op2(Op::mul, wide(at.y ? at.y : i32(0)), wide(r_.word(abi::s_row_pitch)));
    address = b_.op2(Op::add, b_.op2(Op::add, address, row), wide(at.x));
  } else if (r_.wide() && at.y) {
    const Value row = b_.op2(Op::mul, wide(at.y), wide(r_.word(abi::s_row_pitch)));
    address = b_.op2(Op::add, b_.op2(Op::add, base, row), wide(at.x));
  } else {
    address = b_.op2(Op::add, base, wide(offset32(at)));
  }
  if (!ok) return address;
  const MemAttr push{.space = Space::push, .bytes = 8, .readonly = true};
  const Value discard = r_.cached(k_discard + 100, [&](Builder& b) {
    return b.load(Type::i64, b.i32(abi::Push::discard * 4), push);
  });
  return b_.select(ok, address, discard);
}

MemAttr SurfaceAccess::memory(unsigned bytes) const {
  MemAttr mem;
  mem.bytes = static_cast<std::uint8_t>(bytes);
  mem.space = r_.spec().backing == Backing::buffer ? Space::slot : Space::global;
  mem.slot = static_cast<std::uint16_t>(r_.slot());
  return mem;
}

Value SurfaceAccess::may_store(const Located& at) {
  // A thread that has trapped changes nothing any more.
  return and1(image() ? at.unseen : at.ok, b_.cmp(Op::eq, b_.get(trap_.code), i32(0)));
}

namespace {
Type type_of(unsigned bytes) { return bytes <= 4 ? Type::i32 : bytes == 8 ? Type::i64 : Type::v4; }
}  // namespace

void SurfaceAccess::lower_load(Value value, const Located& at) {
  if (image()) return image_load(value, at);
  const Type type = type_of(op_.bytes);
  const Value address = load_address(at);
  if (!at.ok) {
    rw_.replace(value, Op::load, type, {address});
    b_.last(value).mem = memory(op_.bytes);
    return;
  }
  const Value loaded = b_.load(type, address, memory(op_.bytes));
  Value zero;
  if (type == Type::v4) {
    const Value none = i32(0);
    zero = b_.inst(Op::compose, Type::v4, {none, none, none, none});
  } else {
    zero = type == Type::i64 ? b_.i64(0) : i32(0);
  }
  rw_.replace(value, Op::select, type, {at.ok, loaded, zero});
}

void SurfaceAccess::lower_store(const Located& at, Value data) {
  const Value ok = may_store(at);
  if (image()) return image_store(at, ok, op_.bytes, data);
  store_where(at, ok, data, op_.bytes);
}

void SurfaceAccess::store_where(const Located& at, Value ok, Value data, unsigned bytes) {
  b_.store(store_address(at, ok), data, memory(bytes));
}

Value SurfaceAccess::convert(abi::SurfaceFormat format, Value u) {
  using enum abi::SurfaceFormat;
  const auto saturate = [&](std::uint32_t lowest, std::uint32_t highest, std::uint32_t mask) {
    const Value v = b_.op2(Op::smin, b_.op2(Op::smax, u, i32(lowest)), i32(highest));
    return b_.op2(Op::and_, v, i32(mask));
  };
  switch (format) {
    case u8: return b_.op2(Op::umin, u, i32(0xff));
    case u16: return b_.op2(Op::umin, u, i32(0xffff));
    case s8: return saturate(0xffffff80u, 0x7f, 0xff);
    case s16: return saturate(0xffff8000u, 0x7fff, 0xffff);
    case u32:
    case s32:
    case f32: return u;
    case f16: return library("sust_p_f16", Type::i32, {u});
    case unorm8: return library("sust_p_unorm", Type::i32, {u, i32(8)});
    case unorm16: return library("sust_p_unorm", Type::i32, {u, i32(16)});
    case snorm8: return library("sust_p_snorm", Type::i32, {u, i32(7)});
    case snorm16: return library("sust_p_snorm", Type::i32, {u, i32(15)});
  }
  return u;
}

void SurfaceAccess::store_texel(const Located& at, Value ok, unsigned bytes,
                                const std::vector<Value>& words) {
  Value data = words[0];
  if (bytes == 8) data = b_.inst(Op::pack, Type::i64, {words[0], words[1]});
  if (bytes == 16) data = b_.inst(Op::compose, Type::v4, {words[0], words[1], words[2], words[3]});
  if (image()) return image_store(at, ok, bytes, data);
  store_where(at, ok, data, bytes);
}

void SurfaceAccess::lower_formatted(const Located& at, const std::vector<Value>& components) {
  const Value ok = may_store(at);
  // Channels that the source does not name are written as 0; source elements past the channels are
  // ignored.
  std::vector<Value> source = components;
  while (source.size() < 4) source.push_back(0);
  if (r_.spec().format_known && r_.is_static()) {
    const unsigned size = component_bytes(r_.spec().format);
    const unsigned channels = r_.spec().channels;
    std::vector<Value> words(4, 0);
    for (unsigned c = 0; c < channels; ++c) {
      if (!source[c]) continue;
      const unsigned bit = c * size * 8;
      Value part = convert(r_.spec().format, source[c]);
      if (bit % 32) part = b_.op2(Op::shl, part, i32(bit % 32));
      Value& word = words[bit / 32];
      word = word ? b_.op2(Op::or_, word, part) : part;
    }
    for (Value& word : words)
      if (!word) word = i32(0);
    return store_texel(at, ok, size * channels, words);
  }
  // The format is the record's: all conversions stand in one library routine, and the texel's size
  // picks which of the five stores is real.
  for (Value& part : source)
    if (!part) part = i32(0);
  const Value in = b_.inst(Op::compose, Type::v4, {source[0], source[1], source[2], source[3]});
  const Value out =
      library("sust_p_texel", Type::v4, {r_.word(abi::s_format), r_.word(abi::s_channels), in});
  std::vector<Value> words;
  for (unsigned i = 0; i < 4; ++i) words.push_back(b_.inst(Op::extract, Type::i32, {out}, i));
  for (const unsigned bytes : {1u, 2u, 4u, 8u, 16u}) {
    const Value same = b_.cmp(Op::eq, r_.word(abi::s_texel_bytes), i32(bytes));
    store_texel(at, and1(ok, same), bytes, words);
  }
}

void SurfaceAccess::lower_reduce(Value value, const Located& at, Value data) {
  const Value ok = may_store(at);
  const bool wide = op_.bytes == 8;
  // One that must not happen goes to the discarded bytes, except where it would fight for them: an
  // emulated one for their lock, and one of the two of an unknown format, which no thread wants.
  // With a branch the z-buffer of bench/ has 197 instructions on RDNA 2, not 147 (GLSL: 149).
  const Profile& profile = r_.profile();
  const bool by_record = op_.signed_by_format && !(r_.spec().format_known && r_.is_static());
  const bool guarded =
      by_record || (wide && !(profile.features.int64 && profile.features.buffer_atomics64));
  const auto reduce = [&](Value when, AtomicOp op, Value result) {
    if (image()) return image_reduce(at, when, op, data);
    if (guarded) {
      const Value place = store_address(at, 0);
      rw_.when(when, [&] {
        const Value made = b_.inst(Op::atomic, wide ? Type::i64 : Type::i32, {place, data});
        b_.last(made).mem = memory(op_.bytes);
        b_.last(made).mem.atomic = op;
      });
      return;
    }
    const Value address = store_address(at, when);
    Value made = result;
    if (made)
      rw_.replace(made, Op::atomic, wide ? Type::i64 : Type::i32, {address, data});
    else
      made = b_.inst(Op::atomic, wide ? Type::i64 : Type::i32, {address, data});
    b_.last(made).mem = memory(op_.bytes);
    b_.last(made).mem.atomic = op;
  };
  if (!op_.signed_by_format) return reduce(ok, op_.reduce, value);
  // sured.p min and max: signed on formats with signed channels but those of floats, unsigned on
  // every other.
  const bool is_min = op_.reduce == AtomicOp::umin || op_.reduce == AtomicOp::smin;
  const AtomicOp as_signed = is_min ? AtomicOp::smin : AtomicOp::smax;
  const AtomicOp as_unsigned = is_min ? AtomicOp::umin : AtomicOp::umax;
  using enum abi::SurfaceFormat;
  std::uint32_t signed_formats = 0;
  for (const abi::SurfaceFormat f : {s8, s16, s32, snorm8, snorm16})
    signed_formats |= 1u << static_cast<unsigned>(f);
  if (r_.spec().format_known && r_.is_static()) {
    const bool is_signed = signed_formats >> static_cast<unsigned>(r_.spec().format) & 1;
    return reduce(ok, is_signed ? as_signed : as_unsigned, value);
  }
  const Value bit = b_.op2(Op::lshr, i32(signed_formats), r_.word(abi::s_format));
  const Value is_signed = b_.cmp(Op::ne, b_.op2(Op::and_, bit, i32(1)), i32(0));
  reduce(and1(ok, is_signed), as_signed, 0);
  reduce(and1(ok, not1(is_signed)), as_unsigned, value);
}

void SurfaceAccess::lower(Value value, Op kind, const std::vector<Value>& operands) {
  unsigned dims = 1;
  switch (op_.geometry) {
    case Geometry::d1: dims = 1; break;
    case Geometry::d2:
    case Geometry::a1d: dims = 2; break;
    case Geometry::d3:
    case Geometry::a2d: dims = 3; break;
  }
  const std::vector<Value> coords(operands.begin(), operands.begin() + dims);
  Value texel = 0;
  unsigned unit = 0;
  if (kind == Op::surf_store_p) {
    if (r_.is_static() && r_.spec().format_known)
      unit = log2_of(texel_bytes(r_.spec().format, r_.spec().channels));
    else
      texel = r_.word(abi::s_texel_bytes);
  } else if (op_.formatted) {
    unit = log2_of(op_.bytes);
  }
  note_geometry();
  note_width();
  Located at = locate(coords, texel, unit);
  note_fault(at, coords);
  switch (kind) {
    case Op::surf_load: return lower_load(value, at);
    case Op::surf_store: return lower_store(at, operands[dims]);
    case Op::surf_store_p: return lower_formatted(at, {operands.begin() + dims, operands.end()});
    default: return lower_reduce(value, at, operands[dims]);
  }
}

}  // namespace ptx2spv::passes
