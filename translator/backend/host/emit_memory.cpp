// Loads and stores. Lanes whose addresses follow each other share one access, which is found out
// while the kernel runs; others gather and scatter.
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "translator/backend/host/emit.hpp"

namespace ptx2spv::interpreter::llvm {

/// An address: base + scale * each lane's index, or, without one, of all lanes the base.
struct Emitter::Access {
  LLVMValueRef base = nullptr;   ///< i64
  LLVMValueRef index = nullptr;  ///< a vector of i32 or i64, or null
  /// The index less what all lanes add. Accesses to the neighbours of a place share it, and so what
  /// is found out about it.
  LLVMValueRef root = nullptr;
  std::uint64_t scale = 1;
  enum class Extend : std::uint8_t { none, zero, sign } extend = Extend::none;  ///< none: i64
  LLVMValueRef size = nullptr;    ///< i64, bytes from the base on; null in global memory
  LLVMValueRef inside = nullptr;  ///< lanes, or of a uniform access one i1; null: all
  bool local = false, is_volatile = false;
  /// Of an address that is chosen by lanes, as the sanitizer does: where lanes of the others go,
  /// and what `index` is not of.
  LLVMValueRef guard = nullptr, chosen = nullptr;
  // What follow() adds.
  LLVMValueRef addresses = nullptr, first = nullptr, follows = nullptr;
};

/// Groups of lanes next to each other: whether the addresses of each group are, and by group where
/// its first one is, less the base and with it.
struct Emitter::Lines {
  LLVMValueRef follow = nullptr;
  std::vector<LLVMValueRef> offsets, firsts;
};

/// Whether the value is a constant, was made in this turn, or is saved: what made a value that is
/// needed behind a barrier may not be needed itself.
bool Emitter::at_hand(Value v) const {
  if (f_.insts[v].op == Op::constant || f_.insts[v].op == Op::undef || known_.contains(v))
    return true;
  const auto home = homes_.find(v);
  return home != homes_.end() && home->second.part[0].type;
}

/// Takes an address apart into what all lanes have and 32 bits a lane. Looks at operations of this
/// block alone, whose operands are at hand.
bool Emitter::split_address(Value v, Access& out, unsigned depth) {
  if (!at_hand(v)) return false;
  const Lifted known = value(v);
  if (known.uniform) {
    out = {.base = known.part[0]};
    return true;
  }
  const ir::Inst& inst = f_.insts[v];
  if (depth == 0 || shape_.home(v) != current_) return false;
  switch (inst.op) {
    case Op::zext:
    case Op::sext:
      if (f_.insts[f_.arg(v, 0)].type != Type::i32 || !at_hand(f_.arg(v, 0))) return false;
      out = {.base = b_.c64(0),
             .index = wide(f_.arg(v, 0)),
             .root = root_of(f_.arg(v, 0)),
             .extend = inst.op == Op::zext ? Access::Extend::zero : Access::Extend::sign};
      return true;
    case Op::add: {
      Access x, y;
      if (!split_address(f_.arg(v, 0), x, depth - 1) || !split_address(f_.arg(v, 1), y, depth - 1))
        return false;
      if (x.index && y.index) return false;
      out = x.index ? x : y;
      out.base = b_.op(op_add, x.base, y.base);
      return true;
    }
    case Op::shl:
    case Op::mul: {
      const ir::Inst& by = f_.insts[f_.arg(v, 1)];
      if (by.op != Op::constant || (inst.op == Op::shl && by.imm > 8)) return false;
      const std::uint64_t factor = inst.op == Op::shl ? 1ull << by.imm : by.imm;
      if (factor == 0 || factor > 4096 || !split_address(f_.arg(v, 0), out, depth - 1))
        return false;
      out.base = b_.op(op_mul, out.base, b_.c64(factor));
      out.scale *= factor;
      return out.scale <= 4096;
    }
    case Op::select: {
      const Lifted c = value(f_.arg(v, 0));
      Access x, y;
      if (!c.uniform || !split_address(f_.arg(v, 1), x, depth - 1) ||
          !split_address(f_.arg(v, 2), y, depth - 1) || (x.index && y.index))
        return false;
      out = x.index ? x : y;
      out.base = b_.select(c.part[0], x.base, y.base);
      if (!out.index) return true;
      LLVMValueRef none = b_.l.ConstNull(b_.l.TypeOf(out.index));
      out.index =
          x.index ? b_.select(c.part[0], out.index, none) : b_.select(c.part[0], none, out.index);
      out.root = out.index;
      return true;
    }
    default: return false;
  }
}

/// Of operations of this block alone, as before.
LLVMValueRef Emitter::root_of(Value v) {
  while (shape_.home(v) == current_ && f_.insts[v].op == Op::add) {
    Value x = f_.arg(v, 0), y = f_.arg(v, 1);
    if (f_.insts[y].op == Op::constant) std::swap(x, y);
    if (f_.insts[x].op != Op::constant || !at_hand(y)) break;
    v = y;
  }
  return wide(v);
}

Emitter::Access Emitter::access(Value address, const ir::MemAttr& mem) {
  Access out;
  const ir::Inst& inst = f_.insts[address];
  LLVMValueRef guard = nullptr, chosen = nullptr;
  if (inst.op == Op::select && shape_.home(address) == current_ && mem.space != Space::local &&
      std::ranges::all_of(f_.args(address), [&](Value each) { return at_hand(each); }) &&
      !value(f_.arg(address, 0)).uniform && !value(f_.arg(address, 1)).uniform &&
      value(f_.arg(address, 2)).uniform) {
    guard = wide(f_.arg(address, 0));
    chosen = wide(address);
    address = f_.arg(address, 1);
  }
  if (mem.space == Space::global) {
    if (!split_address(address, out, 6))
      out = {.base = b_.c64(0), .index = wide(address), .root = root_of(address)};
  } else {
    const Lifted offset = value(address);
    if (mem.space == Space::local) {
      out.base = local_;
      out.size = b_.c64(program_.local_bytes);
      out.local = true;
    } else {
      const std::size_t region =
          offsetof(Frame, regions) + static_cast<std::size_t>(mem.space) * sizeof(Region);
      out.base = field(region + offsetof(Region, bytes), b_.i64);
      out.size = field(region + offsetof(Region, size), b_.i64);
    }
    LLVMValueRef end = b_.c64(mem.bytes);
    if (offset.uniform) {
      LLVMValueRef at = b_.cast(op_zext, offset.part[0], b_.i64);
      out.inside = b_.icmp(int_ule, b_.op(op_add, at, end), out.size);
      if (!out.local)
        out.base = b_.op(op_add, out.base, at);
      else
        out.index = b_.splat(offset.part[0]);
    } else {
      out.index = offset.part[0];
      out.root = root_of(address);
      out.extend = Access::Extend::zero;
      LLVMValueRef limit = b_.op(op_sub, out.size, end);
      // A region smaller than the access has no place for it.
      LLVMValueRef fits = b_.icmp(int_ule, end, out.size);
      LLVMValueRef most = b_.intrinsic("llvm.umin", {b_.i64}, {limit, b_.c64(0xffffffffu)});
      LLVMValueRef below =
          b_.icmp(int_ule, chosen ? chosen : out.index, b_.splat(b_.cast(op_trunc, most, b_.i32)));
      out.inside = b_.op(op_and, below, b_.splat(fits));
    }
  }
  out.is_volatile = mem.is_volatile;
  if (out.index) out.guard = guard, out.chosen = chosen;
  return out;
}

/// Whether those that run of each `count` lanes have addresses `bytes` apart, one after the other,
/// and where the first ones' are. Nothing where they cannot.
Emitter::Lines Emitter::lines_of(const Access& a, unsigned bytes, unsigned count) {
  if (bytes % a.scale != 0) return {};
  const std::uint64_t step = bytes / a.scale, last = step * (count - 1);
  LLVMTypeRef element = a.extend == Access::Extend::none ? b_.i64 : b_.i32;
  std::vector<unsigned> heads;
  std::vector<LLVMValueRef> ramp;
  for (unsigned i = 0; i < b_.lanes; ++i) {
    heads.push_back(i - i % count);
    ramp.push_back(b_.l.ConstInt(element, i % count * step, 0));
  }
  LLVMValueRef starts = b_.shuffle(a.root, a.root, heads);
  LLVMValueRef same =
      b_.icmp(int_eq, a.root, b_.op(op_add, starts, b_.l.ConstVector(ramp.data(), b_.lanes)));
  if (a.guard) same = b_.op(op_and, same, a.guard);
  Lines out{.follow = b_.all(b_.op(op_or, same, b_.op(op_xor, mask_, b_.all_ones())))};
  const bool zero = a.extend == Access::Extend::zero;
  for (unsigned from = 0; from < b_.lanes; from += count) {
    LLVMValueRef offset = b_.lane(a.index, b_.c32(from));
    if (a.extend != Access::Extend::none) {
      offset = b_.cast(zero ? op_zext : op_sext, offset, b_.i64);
      // No wrapping on the way.
      LLVMValueRef most = b_.c64((zero ? 0xffffffffull : 0x7fffffffull) - last);
      LLVMValueRef fits = b_.icmp(zero ? int_ule : int_sle, offset, most);
      // Lanes that do not run may have anything.
      LLVMValueRef here = b_.op(op_and, mask_bits(), b_.c32(((1ull << count) - 1) << from));
      fits = b_.op(op_or, fits, b_.icmp(int_eq, here, b_.c32(0)));
      out.follow = b_.op(op_and, out.follow, fits);
    }
    if (a.scale != 1) offset = b_.op(op_mul, offset, b_.c64(a.scale));
    out.offsets.push_back(offset);
    out.firsts.push_back(b_.op(op_add, a.base, offset));
  }
  return out;
}

/// Of each lane.
void Emitter::find_addresses(Access& a) {
  LLVMValueRef wide_index = a.index;
  if (a.chosen) {
    const bool whole = b_.l.TypeOf(a.chosen) == b_.vector(b_.i64);
    a.addresses =
        whole ? a.chosen
              : b_.op(op_add, b_.cast(op_zext, a.chosen, b_.vector(b_.i64)), b_.splat(a.base));
    return;
  }
  if (a.extend != Access::Extend::none)
    wide_index =
        b_.cast(a.extend == Access::Extend::zero ? op_zext : op_sext, a.index, b_.vector(b_.i64));
  if (a.scale != 1) wide_index = b_.op(op_mul, wide_index, b_.splat(b_.c64(a.scale)));
  a.addresses = b_.op(op_add, wide_index, b_.splat(a.base));
}

/// Where lanes' words are, and which lanes have one.
Emitter::Words Emitter::words_of(Value address, const ir::MemAttr& mem) {
  Access a = access(address, mem);
  LLVMValueRef inside = a.inside && !a.index ? b_.splat(a.inside) : a.inside;
  Words out{.lanes = inside ? b_.op(op_and, mask_, inside) : mask_};
  if (a.index) {
    find_addresses(a);
    out.addresses = a.addresses;
  } else {
    out.one = a.base;
    out.addresses = b_.splat(a.base);
  }
  return out;
}

/// The same of all lanes; `whole`: and all run.
void Emitter::follow(Access& a, unsigned bytes, bool whole) {
  find_addresses(a);
  const Lines line = lines_of(a, bytes, b_.lanes);
  if (!line.follow) return;
  a.first = line.firsts[0];
  a.follows = line.follow;
  if (whole) a.follows = b_.op(op_and, a.follows, b_.all(mask_));
  if (!a.size) return;
  LLVMValueRef end = b_.op(op_add, line.offsets[0], b_.c64(std::uint64_t{bytes} * b_.lanes));
  a.follows = b_.op(op_and, a.follows, b_.icmp(int_ule, end, a.size));
}

namespace {

unsigned parts_of(const ir::Inst& inst, Type t) {
  return t == Type::v2 ? 2 : t == Type::v4 ? 4 : inst.mem.bytes == 16 ? 4 : 1;
}

}  // namespace

bool Emitter::load(Value v) {
  const ir::Inst& inst = f_.insts[v];
  Access a = access(f_.arg(v, 0), inst.mem);
  // Never one with an earlier one.
  if (a.is_volatile) b_.l.BuildFence(b_.b, kSequentiallyConsistent, 1, "");
  if (a.local)
    define(v, load_local(a, inst));
  else if (!a.index)
    define(v, load_uniform(a, inst));
  else
    define(v, load_lanes(a, inst));
  return true;
}

Lifted Emitter::load_uniform(const Access& a, const ir::Inst& inst) {
  const bool fixed = inst.mem.space == Space::param || inst.mem.space == Space::push ||
                     inst.mem.space == Space::table || inst.mem.space == Space::textures ||
                     (inst.mem.readonly && !inst.mem.is_volatile);
  Lifted out{.parts = parts_of(inst, inst.type), .uniform = true};
  const unsigned bytes = out.parts > 1 ? 4 : inst.mem.bytes;
  LLVMValueRef base = a.base;
  // Past the end lie zeros: the frame's own.
  if (a.inside)
    base = b_.select(a.inside, base, b_.op(op_add, frame_, b_.c64(offsetof(Frame, zeros))));
  for (unsigned i = 0; i < out.parts; ++i) {
    LLVMTypeRef t = memory_type(bytes);
    LLVMValueRef part = b_.load_at(t, b_.op(op_add, base, b_.c64(i * 4)), fixed);
    if (inst.mem.is_volatile) b_.l.SetVolatile(part, 1);
    out.part[i] = bytes < 4 ? b_.cast(op_zext, part, b_.i32) : part;
  }
  return out;
}

LLVMValueRef Emitter::gather(LLVMValueRef addresses, LLVMValueRef lanes, LLVMTypeRef element) {
  const unsigned count = b_.l.GetVectorSize(b_.l.TypeOf(addresses));
  LLVMTypeRef t = b_.l.VectorType(element, count);
  LLVMTypeRef pointers = b_.l.VectorType(b_.l.PointerType(element, 0), count);
  return b_.intrinsic(
      "llvm.masked.gather", {t, pointers},
      {b_.cast(op_inttoptr, addresses, pointers), b_.c32(1), lanes, b_.l.ConstNull(t)});
}

void Emitter::scatter(LLVMValueRef what, LLVMValueRef addresses, LLVMValueRef lanes) {
  LLVMTypeRef t = b_.l.TypeOf(what);
  LLVMTypeRef pointers =
      b_.l.VectorType(b_.l.PointerType(b_.l.GetElementType(t), 0), b_.l.GetVectorSize(t));
  b_.intrinsic("llvm.masked.scatter", {t, pointers},
               {what, b_.cast(op_inttoptr, addresses, pointers), b_.c32(1), lanes});
}

/// Rows of a small block, or of a tile in shared memory, follow each other in groups of lanes. That
/// is worth a look where a vector has several registers; textures' texels gather without it.
Emitter::Lines Emitter::groups(const Access& a, unsigned bytes) {
  return a.follows && b_.lanes >= 4 * kGroup ? lines_of(a, bytes, kGroup) : Lines();
}

/// Of each group of lanes.
LLVMValueRef Emitter::group_of(LLVMValueRef v, std::size_t number) {
  std::vector<unsigned> lanes(kGroup);
  std::iota(lanes.begin(), lanes.end(), static_cast<unsigned>(number) * kGroup);
  return b_.shuffle(v, v, lanes);
}

LLVMValueRef Emitter::load_groups(const Access& a, LLVMValueRef lanes, unsigned bytes) {
  LLVMTypeRef element = memory_type(bytes), t = b_.l.VectorType(element, kGroup);
  const Lines lines = groups(a, bytes);
  if (!lines.follow) return gather(a.addresses, lanes, element);
  LLVMBasicBlockRef rows = b_.block(), each = b_.block(), join = b_.block();
  b_.l.BuildCondBr(b_.b, lines.follow, rows, each);
  b_.at(rows);
  std::vector<LLVMValueRef> parts;
  for (std::size_t g = 0; g < lines.firsts.size(); ++g)
    parts.push_back(b_.intrinsic(
        "llvm.masked.load", {t, b_.l.PointerType(t, 0)},
        {b_.pointer(t, lines.firsts[g]), b_.c32(1), group_of(lanes, g), b_.l.ConstNull(t)}));
  for (unsigned count = kGroup; parts.size() > 1; count *= 2) {
    std::vector<unsigned> both(2 * count);
    std::iota(both.begin(), both.end(), 0u);
    std::vector<LLVMValueRef> joined;
    for (std::size_t i = 0; i < parts.size(); i += 2)
      joined.push_back(b_.shuffle(parts[i], parts[i + 1], both));
    parts = std::move(joined);
  }
  b_.l.BuildBr(b_.b, join);
  b_.at(each);
  LLVMValueRef alone = gather(a.addresses, lanes, element);
  b_.l.BuildBr(b_.b, join);
  b_.at(join);
  return b_.phi(b_.vector(element), {parts[0], alone}, {rows, each});
}

void Emitter::store_groups(const Access& a, LLVMValueRef what, LLVMValueRef lanes, unsigned bytes) {
  LLVMTypeRef t = b_.l.VectorType(memory_type(bytes), kGroup);
  const Lines lines = groups(a, bytes);
  if (!lines.follow) return scatter(what, a.addresses, lanes);
  LLVMBasicBlockRef rows = b_.block(), each = b_.block(), join = b_.block();
  b_.l.BuildCondBr(b_.b, lines.follow, rows, each);
  b_.at(rows);
  for (std::size_t g = 0; g < lines.firsts.size(); ++g)
    b_.intrinsic(
        "llvm.masked.store", {t, b_.l.PointerType(t, 0)},
        {group_of(what, g), b_.pointer(t, lines.firsts[g]), b_.c32(1), group_of(lanes, g)});
  b_.l.BuildBr(b_.b, join);
  b_.at(each);
  scatter(what, a.addresses, lanes);
  b_.l.BuildBr(b_.b, join);
  b_.at(join);
}

Lifted Emitter::load_lanes(Access& a, const ir::Inst& inst) {
  Lifted out{.parts = parts_of(inst, inst.type)};
  const unsigned parts = out.parts, bytes = parts > 1 ? 4 : inst.mem.bytes;
  LLVMTypeRef element = memory_type(bytes);
  follow(a, inst.mem.bytes, parts > 1);
  LLVMBasicBlockRef fast = nullptr, slow = b_.block(), join = b_.block();
  LLVMValueRef quick[4] = {}, one_by_one[4] = {};
  if (a.follows) {
    fast = b_.block();
    b_.likely(a.follows, fast, slow);
    b_.at(fast);
    if (parts == 1) {
      LLVMTypeRef t = b_.vector(element);
      LLVMTypeRef to = b_.l.PointerType(t, 0);
      quick[0] = b_.intrinsic("llvm.masked.load", {t, to},
                              {b_.pointer(t, a.first), b_.c32(1), mask_, b_.l.ConstNull(t)});
    } else {
      LLVMTypeRef t = b_.l.VectorType(element, parts * b_.lanes);
      LLVMValueRef all = b_.load_at(t, a.first);
      for (unsigned i = 0; i < parts; ++i) {
        std::vector<unsigned> from;
        for (unsigned k = 0; k < b_.lanes; ++k) from.push_back(k * parts + i);
        quick[i] = b_.shuffle(all, b_.l.GetUndef(t), from);
      }
    }
    b_.l.BuildBr(b_.b, join);
  } else {
    b_.l.BuildBr(b_.b, slow);
  }
  b_.at(slow);
  LLVMValueRef lanes = a.inside ? b_.op(op_and, mask_, a.inside) : mask_;
  for (unsigned i = 0; i < parts; ++i) {
    LLVMValueRef at = i ? b_.op(op_add, a.addresses, b_.splat(b_.c64(4 * i))) : a.addresses;
    one_by_one[i] = parts == 1 ? load_groups(a, lanes, bytes) : gather(at, lanes, element);
  }
  LLVMBasicBlockRef slow_end = b_.l.GetInsertBlock(b_.b);
  b_.l.BuildBr(b_.b, join);
  b_.at(join);
  for (unsigned i = 0; i < parts; ++i) {
    LLVMValueRef part = one_by_one[i];
    if (fast) part = b_.phi(b_.vector(element), {quick[i], one_by_one[i]}, {fast, slow_end});
    out.part[i] = bytes < 4 ? b_.cast(op_zext, part, b_.vector(b_.i32)) : part;
  }
  return out;
}

bool Emitter::store(Value v) {
  const ir::Inst& inst = f_.insts[v];
  Access a = access(f_.arg(v, 0), inst.mem);
  const Lifted what = value(f_.arg(v, 1));
  if (a.local)
    store_local(a, inst, what);
  else if (!a.index)
    store_uniform(a, inst, what);
  else
    store_lanes(a, inst, spread(what));
  return true;
}

/// All lanes write to one place: the last one's stays.
void Emitter::store_uniform(const Access& a, const ir::Inst& inst, Lifted what) {
  const unsigned bytes = what.parts > 1 ? 4 : inst.mem.bytes;
  if (!what.uniform) {
    LLVMValueRef zeros =
        b_.intrinsic("llvm.ctlz", {b_.i32}, {mask_bits(), b_.l.ConstInt(b_.i1, 0, 0)});
    LLVMValueRef last = b_.op(op_sub, b_.c32(31), zeros);
    for (unsigned i = 0; i < what.parts; ++i) what.part[i] = b_.lane(what.part[i], last);
  }
  LLVMBasicBlockRef on = nullptr;
  if (a.inside) {
    LLVMBasicBlockRef inside = b_.block();
    on = b_.block();
    b_.l.BuildCondBr(b_.b, a.inside, inside, on);
    b_.at(inside);
  }
  for (unsigned i = 0; i < what.parts; ++i) {
    LLVMValueRef part = what.part[i];
    if (bytes < 4) part = b_.cast(op_trunc, part, memory_type(bytes));
    b_.store_at(part, b_.op(op_add, a.base, b_.c64(i * 4)));
  }
  if (!on) return;
  b_.l.BuildBr(b_.b, on);
  b_.at(on);
}

void Emitter::store_lanes(Access& a, const ir::Inst& inst, Lifted what) {
  const unsigned parts = what.parts, bytes = parts > 1 ? 4 : inst.mem.bytes;
  LLVMTypeRef element = memory_type(bytes), t = b_.vector(element);
  if (bytes < 4) what.part[0] = b_.cast(op_trunc, what.part[0], t);
  follow(a, inst.mem.bytes, parts > 1);
  LLVMBasicBlockRef slow = b_.block(), join = b_.block();
  if (a.follows) {
    LLVMBasicBlockRef fast = b_.block();
    b_.likely(a.follows, fast, slow);
    b_.at(fast);
    if (parts == 1) {
      LLVMTypeRef to = b_.l.PointerType(t, 0);
      b_.intrinsic("llvm.masked.store", {t, to},
                   {what.part[0], b_.pointer(t, a.first), b_.c32(1), mask_});
    } else {
      // Pairs first, then both pairs: lanes by lanes, parts side by side.
      std::vector<unsigned> pair, both;
      for (unsigned k = 0; k < b_.lanes; ++k) pair.insert(pair.end(), {k, b_.lanes + k});
      LLVMValueRef all = b_.shuffle(what.part[0], what.part[1], pair);
      if (parts == 4) {
        LLVMValueRef high = b_.shuffle(what.part[2], what.part[3], pair);
        for (unsigned k = 0; k < b_.lanes; ++k)
          both.insert(both.end(),
                      {2 * k, 2 * k + 1, 2 * b_.lanes + 2 * k, 2 * b_.lanes + 2 * k + 1});
        all = b_.shuffle(all, high, both);
      }
      b_.store_at(all, a.first);
    }
    b_.l.BuildBr(b_.b, join);
  } else {
    b_.l.BuildBr(b_.b, slow);
  }
  b_.at(slow);
  LLVMValueRef lanes = a.inside ? b_.op(op_and, mask_, a.inside) : mask_;
  for (unsigned i = 0; i < parts; ++i) {
    LLVMValueRef at = i ? b_.op(op_add, a.addresses, b_.splat(b_.c64(4 * i))) : a.addresses;
    if (parts == 1)
      store_groups(a, what.part[i], lanes, bytes);
    else
      scatter(what.part[i], at, lanes);
  }
  b_.l.BuildBr(b_.b, join);
  b_.at(join);
}

// Local memory: word w of all lanes, then word w + 1.

LLVMValueRef Emitter::local_address(const Access& a, unsigned word) {
  LLVMValueRef index = b_.cast(op_zext, a.index, b_.vector(b_.i64));
  LLVMValueRef words = b_.op(op_and, index, b_.splat(b_.c64(~3ull)));
  LLVMValueRef at = b_.op(op_mul, words, b_.splat(b_.c64(b_.lanes)));
  at = b_.op(op_add, at, b_.op(op_and, index, b_.splat(b_.c64(3))));
  at = b_.op(op_add, at, b_.ramp(b_.i64, 4));
  return b_.op(op_add, at,
               b_.splat(b_.op(op_add, a.base, b_.c64(std::uint64_t{word} * 4 * b_.lanes))));
}

Lifted Emitter::load_local(Access& a, const ir::Inst& inst) {
  Lifted out{.parts = parts_of(inst, inst.type)};
  const unsigned bytes = inst.mem.bytes, words = bytes > 4 ? bytes / 4 : 1;
  LLVMValueRef inside = b_.l.TypeOf(a.inside) == b_.i1 ? b_.splat(a.inside) : a.inside;
  LLVMValueRef lanes = b_.op(op_and, mask_, inside), read[4] = {};
  LLVMTypeRef element = memory_type(bytes < 4 ? bytes : 4), t = b_.vector(element);
  LLVMTypeRef pointers = b_.vector(b_.l.PointerType(element, 0));
  for (unsigned w = 0; w < words; ++w) {
    read[w] = b_.intrinsic(
        "llvm.masked.gather", {t, pointers},
        {b_.cast(op_inttoptr, local_address(a, w), pointers), b_.c32(1), lanes, b_.l.ConstNull(t)});
    if (bytes < 4) read[w] = b_.cast(op_zext, read[w], b_.vector(b_.i32));
  }
  for (unsigned i = 0; i < out.parts; ++i) out.part[i] = read[i];
  if (inst.type == Type::i64) {
    LLVMTypeRef wide64 = b_.vector(b_.i64);
    LLVMValueRef high = b_.op(op_shl, b_.cast(op_zext, read[1], wide64), b_.splat(b_.c64(32)));
    out.part[0] = b_.op(op_or, b_.cast(op_zext, read[0], wide64), high);
  }
  return out;
}

void Emitter::store_local(Access& a, const ir::Inst& inst, Lifted what) {
  what = spread(what);
  const unsigned bytes = inst.mem.bytes, words = bytes > 4 ? bytes / 4 : 1;
  LLVMValueRef inside = b_.l.TypeOf(a.inside) == b_.i1 ? b_.splat(a.inside) : a.inside;
  LLVMValueRef lanes = b_.op(op_and, mask_, inside);
  LLVMTypeRef element = memory_type(bytes < 4 ? bytes : 4), t = b_.vector(element);
  LLVMTypeRef pointers = b_.vector(b_.l.PointerType(element, 0));
  if (what.parts == 1 && bytes == 8) {
    LLVMValueRef both = what.part[0];
    what.part[0] = b_.cast(op_trunc, both, t);
    what.part[1] = b_.cast(op_trunc, b_.op(op_lshr, both, b_.splat(b_.c64(32))), t);
  }
  if (bytes < 4) what.part[0] = b_.cast(op_trunc, what.part[0], t);
  for (unsigned w = 0; w < words; ++w)
    b_.intrinsic(
        "llvm.masked.scatter", {t, pointers},
        {what.part[w], b_.cast(op_inttoptr, local_address(a, w), pointers), b_.c32(1), lanes});
}

}  // namespace ptx2spv::interpreter::llvm
