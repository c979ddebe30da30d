#include "translator/lower/memory.hpp"

#include <cassert>

#include "ptx2spv/abi.hpp"

namespace ptx2spv::lower {

namespace {
Type raw_type(unsigned bytes) { return bytes <= 4 ? Type::i32 : bytes == 8 ? Type::i64 : Type::v4; }
}  // namespace

Value Memory::as32(Value v) {
  return b_.function().insts[v].type == Type::i64 ? b_.inst(Op::trunc, Type::i32, {v}) : v;
}

Value Memory::as64(Value v) {
  return b_.function().insts[v].type == Type::i64 ? v : b_.inst(Op::zext, Type::i64, {v});
}

Value Memory::add_offset(Value address, std::int64_t offset) {
  if (offset == 0) return address;
  const auto bits = static_cast<std::uint64_t>(offset);
  const bool wide = b_.function().insts[address].type == Type::i64;
  return b_.op2(Op::add, address, wide ? b_.i64(bits) : b_.i32(static_cast<std::uint32_t>(bits)));
}

Value Memory::push_address(std::uint32_t push_word) {
  return b_.load(Type::i64, b_.i32(push_word * 4),
                 {.space = Space::push, .bytes = 8, .readonly = true});
}

MemAttr Memory::attributes(const Access& access, unsigned bytes) const {
  MemAttr mem;
  mem.bytes = static_cast<std::uint8_t>(bytes);
  mem.is_volatile = access.is_volatile;
  mem.origin = access.origin;
  mem.whole = access.whole;
  mem.part = access.part;
  mem.readonly = access.readonly && !access.is_volatile;
  switch (access.window) {
    case Window::generic:
    case Window::global: mem.space = Space::global; break;
    case Window::shared: mem.space = Space::shared; break;
    case Window::local: mem.space = Space::local; break;
    case Window::constant:
      mem.space = Space::constant;
      mem.readonly = true;
      break;
    case Window::param:
      mem.space = Space::param;
      mem.readonly = true;
      break;
  }
  return mem;
}

Value Memory::address_for(const Access& access, Value address) {
  const bool device = access.window == Window::generic || access.window == Window::global;
  return device ? as64(address) : as32(address);
}

/// Branches on the address's high word; each(window) runs once per window that it may be in.
template <typename Each>
void Memory::by_window(Value address, Each&& each) {
  const Value high = b_.inst(Op::high, Type::i32, {as64(address)});
  const BlockId join = b_.new_block();
  const auto window = [&](Window which, std::uint32_t its_high) {
    const BlockId inside = b_.new_block(), other = b_.new_block();
    b_.cond_br(b_.cmp(Op::eq, high, b_.i32(its_high)), inside, other);
    b_.at(inside);
    each(which);
    b_.br(join);
    b_.at(other);
  };
  if (windows_.shared) window(Window::shared, abi::kSharedWindowHi);
  if (windows_.local) window(Window::local, abi::kLocalWindowHi);
  each(Window::global);
  b_.br(join);
  b_.at(join);
}

Value Memory::load(const Access& access, Value address, unsigned bytes) {
  if (!many_windows(access))
    return b_.load(raw_type(bytes), address_for(access, address), attributes(access, bytes));
  auto& vars = b_.function().vars;
  vars.push_back({raw_type(bytes), "generic"});
  const auto var = static_cast<std::uint32_t>(vars.size() - 1);
  by_window(address, [&](Window window) {
    Access here = access;
    here.window = window;
    b_.set(var, load(here, address, bytes));
  });
  return b_.get(var);
}

void Memory::store(const Access& access, Value address, Value raw, unsigned bytes) {
  if (!many_windows(access)) {
    MemAttr mem = attributes(access, bytes);
    mem.readonly = false;
    return b_.store(address_for(access, address), raw, mem);
  }
  by_window(address, [&](Window window) {
    Access here = access;
    here.window = window;
    store(here, address, raw, bytes);
  });
}

Value Memory::atomic(const Access& access, Value address, ir::AtomicOp op, Value value,
                     Value compare, unsigned bytes) {
  if (many_windows(access)) {
    auto& vars = b_.function().vars;
    vars.push_back({raw_type(bytes), "generic"});
    const auto var = static_cast<std::uint32_t>(vars.size() - 1);
    by_window(address, [&](Window window) {
      Access here = access;
      here.window = window;
      b_.set(var, atomic(here, address, op, value, compare, bytes));
    });
    return b_.get(var);
  }
  const Value at = address_for(access, address);
  const Value made = compare ? b_.inst(Op::atomic_cas, raw_type(bytes), {at, compare, value})
                             : b_.inst(Op::atomic, raw_type(bytes), {at, value});
  b_.last(made).mem = attributes(access, bytes);
  b_.last(made).mem.atomic = op;
  return made;
}

std::vector<Value> Memory::words(Value raw) {
  switch (b_.function().insts[raw].type) {
    case Type::i64:
      return {b_.inst(Op::trunc, Type::i32, {raw}), b_.inst(Op::high, Type::i32, {raw})};
    case Type::v2:
      return {b_.inst(Op::extract, Type::i32, {raw}, 0), b_.inst(Op::extract, Type::i32, {raw}, 1)};
    case Type::v4: {
      std::vector<Value> out;
      for (unsigned i = 0; i < 4; ++i) out.push_back(b_.inst(Op::extract, Type::i32, {raw}, i));
      return out;
    }
    default: return {raw};
  }
}

std::vector<Value> Memory::pieces(const std::vector<Value>& words, unsigned bytes, unsigned count) {
  assert(bytes != 0 && bytes * count <= 4 * words.size());
  // What no word holds is 0, in builds without asserts too.
  const auto word = [&](unsigned i) { return i < words.size() ? words[i] : b_.i32(0); };
  std::vector<Value> out;
  for (unsigned i = 0; i < count; ++i) {
    const unsigned byte = i * bytes;
    if (bytes == 8) {
      out.push_back(b_.inst(Op::pack, Type::i64, {word(byte / 4), word(byte / 4 + 1)}));
    } else if (bytes == 4) {
      out.push_back(word(byte / 4));
    } else {
      Value v = word(byte / 4);
      if (byte % 4) v = b_.op2(Op::lshr, v, b_.i32(byte % 4 * 8));
      out.push_back(b_.op2(Op::and_, v, b_.i32((1u << (8 * bytes)) - 1)));
    }
  }
  return out;
}

std::vector<Value> Memory::words_of(const std::vector<Value>& elements, unsigned bytes) {
  const std::size_t total = elements.size() * bytes;
  std::vector<Value> out((total + 3) / 4, 0);
  for (unsigned i = 0; i < elements.size(); ++i) {
    const unsigned byte = i * bytes;
    if (bytes == 8) {
      out[byte / 4] = b_.inst(Op::trunc, Type::i32, {elements[i]});
      out[byte / 4 + 1] = b_.inst(Op::high, Type::i32, {elements[i]});
    } else if (bytes == 4) {
      out[byte / 4] = elements[i];
    } else {
      Value v = b_.op2(Op::and_, elements[i], b_.i32((1u << (8 * bytes)) - 1));
      if (byte % 4) v = b_.op2(Op::shl, v, b_.i32(byte % 4 * 8));
      Value& word = out[byte / 4];
      word = word ? b_.op2(Op::or_, word, v) : v;
    }
  }
  return out;
}

std::vector<Value> Memory::split(Value raw, unsigned element_bytes, unsigned count) {
  if (count == 1) return {raw};
  return pieces(words(raw), element_bytes, count);
}

Value Memory::join(const std::vector<Value>& elements, unsigned element_bytes) {
  if (elements.size() == 1) return elements[0];
  const std::vector<Value> words = words_of(elements, element_bytes);
  if (words.size() == 1) return words[0];
  if (words.size() == 2) return b_.inst(Op::pack, Type::i64, {words[0], words[1]});
  assert(words.size() == 4);
  const auto word = [&](unsigned i) { return i < words.size() ? words[i] : b_.i32(0); };
  return b_.inst(Op::compose, Type::v4, {word(0), word(1), word(2), word(3)});
}

}  // namespace ptx2spv::lower
