// Surface accesses on a storage image. The image is viewed as unsigned integers of its texel's size
// (r8ui, r16ui, r32ui, rg32ui, rgba32ui), so that bytes go in and out unconverted. 8-byte texels
// that take 64-bit reductions are r64ui; their operations have values of 64 bits.
#include "translator/passes/surface/surface_access.hpp"

namespace ptx2spv::passes {

unsigned SurfaceAccess::image_texel_bytes() const {
  return texel_bytes(r_.spec().format, r_.spec().channels);
}

Value SurfaceAccess::image_coords(const Located& at, Value texel_x, Value ok) {
  const Value zero = i32(0);
  Value y = at.y ? at.y : zero, z = at.z ? at.z : zero;
  // Every layer of a volume is its first slice.
  constexpr std::uint8_t kVolume = 3;
  if (op_.geometry == Geometry::a2d && r_.spec().geometry == kVolume) z = zero;
  if (op_.geometry == Geometry::a1d) std::swap(y, z);
  // An access that is dropped still names a texel that exists.
  if (ok) {
    texel_x = b_.select(ok, texel_x, zero);
    if (y != zero) y = b_.select(ok, y, zero);
    if (z != zero) z = b_.select(ok, z, zero);
  }
  return b_.inst(Op::compose, Type::v4, {texel_x, y, z, zero});
}

/// The words of texel-aligned memory that hold the access: at most four, or the texel's when it is
/// larger.
Value SurfaceAccess::image_load_words(const Located& at, std::vector<Value>& words) {
  const unsigned t = image_texel_bytes();
  const unsigned n = op_.bytes;
  const Value first = b_.op2(Op::lshr, at.x, i32(log2_of(t)));
  const unsigned texels = n > t ? n / t : 1;
  const unsigned per_texel = t < 4 ? 1 : t / 4;
  for (unsigned i = 0; i < texels; ++i) {
    const Value coords = image_coords(at, i ? b_.op2(Op::add, first, i32(i)) : first, at.unseen);
    const Value texel = b_.inst(Op::image_load, r_.texels64() ? Type::i64 : Type::v4, {coords});
    b_.last(texel).mem.slot = static_cast<std::uint16_t>(r_.slot());
    b_.last(texel).mem.bytes = static_cast<std::uint8_t>(t);
    if (r_.texels64()) {
      words.push_back(b_.inst(Op::trunc, Type::i32, {texel}));
      words.push_back(b_.inst(Op::high, Type::i32, {texel}));
      continue;
    }
    for (unsigned c = 0; c < per_texel; ++c) {
      const Value part = b_.inst(Op::extract, Type::i32, {texel}, c);
      const unsigned bit = i * t * 8;
      if (t >= 4 || bit % 32 == 0)
        words.push_back(part);
      else
        words.back() = b_.op2(Op::or_, words.back(), b_.op2(Op::shl, part, i32(bit % 32)));
    }
  }
  return first;
}

void SurfaceAccess::image_load(Value value, const Located& at) {
  const unsigned t = image_texel_bytes();
  const unsigned n = op_.bytes;
  std::vector<Value> words;
  image_load_words(at, words);
  if (n < t) {
    // Part of one texel: pick the words, then the bytes within the word.
    const unsigned picked = n <= 4 ? 1 : n / 4;
    const Value byte = b_.op2(Op::and_, at.x, i32(t - 1));
    std::vector<Value> part(words.begin(), words.begin() + picked);
    for (unsigned from = picked; from + picked <= words.size(); from += picked) {
      const Value here =
          b_.cmp(Op::eq, b_.op2(Op::lshr, byte, i32(log2_of(picked * 4))), i32(from / picked));
      for (unsigned i = 0; i < picked; ++i) part[i] = b_.select(here, words[from + i], part[i]);
    }
    if (n < 4) {
      // A texel smaller than a word stands at bit 0 of it, wherever it is in the row.
      const Value shift = b_.op2(Op::shl, b_.op2(Op::and_, byte, i32(3)), i32(3));
      part[0] = b_.op2(Op::and_, b_.op2(Op::lshr, part[0], shift), i32((1u << (8 * n)) - 1));
    }
    words = part;
  }
  if (at.unseen)
    for (Value& word : words) word = b_.select(at.unseen, word, i32(0));
  if (n <= 4)
    rw_.replace_by(value, words[0]);
  else if (n == 8)
    rw_.replace(value, Op::pack, Type::i64, {words[0], words[1]});
  else
    rw_.replace(value, Op::compose, Type::v4, {words[0], words[1], words[2], words[3]});
}

void SurfaceAccess::image_store(const Located& at, Value ok, unsigned bytes, Value data) {
  const unsigned t = image_texel_bytes();
  const Value zero = i32(0);
  std::vector<Value> words;
  if (bytes <= 4) {
    words.push_back(data);
  } else if (bytes == 8) {
    words = {b_.inst(Op::trunc, Type::i32, {data}), b_.inst(Op::high, Type::i32, {data})};
  } else {
    for (unsigned i = 0; i < 4; ++i) words.push_back(b_.inst(Op::extract, Type::i32, {data}, i));
  }
  const auto attribute = [&](Value v) {
    b_.last(v).mem.slot = static_cast<std::uint16_t>(r_.slot());
    b_.last(v).mem.bytes = static_cast<std::uint8_t>(t);
  };
  // A write outside an image is not defined to vanish everywhere, so a dropped store is a branch
  // where it is not.
  rw_.when(ok, [&] {
    const Value first = b_.op2(Op::lshr, at.x, i32(log2_of(t)));
    if (bytes < t) {
      // Only texels of one word come here (the interface's rule); And and Or leave the other bytes
      // alone.
      const Value shift = b_.op2(Op::shl, b_.op2(Op::and_, at.x, i32(3)), i32(3));
      const std::uint32_t bits = (1u << (8 * bytes)) - 1;
      const Value coords = image_coords(at, first, 0);
      const Value keep = b_.inst(Op::not_, Type::i32, {b_.op2(Op::shl, i32(bits), shift)});
      const Value cleared = b_.inst(Op::image_atomic, Type::i32, {coords, keep});
      attribute(cleared);
      b_.last(cleared).mem.atomic = AtomicOp::and_;
      const Value put = b_.op2(Op::shl, b_.op2(Op::and_, words[0], i32(bits)), shift);
      const Value placed = b_.inst(Op::image_atomic, Type::i32, {coords, put});
      attribute(placed);
      b_.last(placed).mem.atomic = AtomicOp::or_;
      return;
    }
    for (unsigned i = 0; i < bytes / t; ++i) {
      const Value coords = image_coords(at, i ? b_.op2(Op::add, first, i32(i)) : first, 0);
      Value c[4] = {zero, zero, zero, zero};
      if (t < 4) {
        const unsigned bit = i * t * 8;
        c[0] = words[bit / 32];
        if (bit % 32) c[0] = b_.op2(Op::lshr, c[0], i32(bit % 32));
        c[0] = b_.op2(Op::and_, c[0], i32((1u << (8 * t)) - 1));
      } else {
        for (unsigned k = 0; k < t / 4; ++k) c[k] = words[i * (t / 4) + k];
      }
      const Value texel = r_.texels64() ? b_.inst(Op::pack, Type::i64, {c[0], c[1]})
                                        : b_.inst(Op::compose, Type::v4, {c[0], c[1], c[2], c[3]});
      attribute(b_.inst(Op::image_store, Type::none, {coords, texel}));
    }
  });
}

void SurfaceAccess::image_reduce(const Located& at, Value ok, AtomicOp op, Value data) {
  rw_.when(ok, [&] {
    const Value texel_x = b_.op2(Op::lshr, at.x, i32(log2_of(image_texel_bytes())));
    const Value done = b_.inst(Op::image_atomic, op_.bytes == 8 ? Type::i64 : Type::i32,
                               {image_coords(at, texel_x, 0), data});
    b_.last(done).mem.slot = static_cast<std::uint16_t>(r_.slot());
    b_.last(done).mem.bytes = op_.bytes;
    b_.last(done).mem.atomic = op;
  });
}

}  // namespace ptx2spv::passes
