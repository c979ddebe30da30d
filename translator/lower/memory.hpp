// ld, st, atom and red (9.7.9, 9.7.13): address windows, raw words, and vector elements within
// them.
#pragma once

#include <vector>

#include "translator/ir/ir.hpp"

namespace ptx2spv::lower {

using namespace ir;

/// State space of an access as PTX writes it; `generic` is an address that may point anywhere.
enum class Window : std::uint8_t { generic, global, shared, local, constant, param };

struct Access {
  Window window = Window::generic;
  bool is_volatile = false, readonly = false;
  ir::Origin origin = ir::Origin::none;
  std::uint8_t whole = 0, part = 0;  ///< MemAttr's
};

/// Spaces besides global whose addresses may have become generic ones in this kernel.
struct Windows {
  bool shared = false, local = false;
};

class Memory {
 public:
  Memory(ir::Builder& builder, Windows windows) : b_(builder), windows_(windows) {}

  /// `bytes` raw bytes (1, 2, 4: i32; 8: i64; 16: v4) at `address` (i64, or i32 within its window).
  ir::Value load(const Access& access, ir::Value address, unsigned bytes);
  void store(const Access& access, ir::Value address, ir::Value raw, unsigned bytes);
  /// The old value; `compare` is 0 but for cas.
  ir::Value atomic(const Access& access, ir::Value address, ir::AtomicOp op, ir::Value value,
                   ir::Value compare, unsigned bytes);

  /// Values of `bytes` each (1, 2, 4: i32; 8: i64), the lowest first, as 32-bit words and back.
  /// What the words do not hold reads as 0.
  std::vector<ir::Value> words_of(const std::vector<ir::Value>& elements, unsigned bytes);
  std::vector<ir::Value> pieces(const std::vector<ir::Value>& words, unsigned bytes,
                                unsigned count);
  /// Elements of `bytes` each, out of raw words and back. Total 1, 2, 4, 8 or 16 bytes.
  std::vector<ir::Value> split(ir::Value raw, unsigned element_bytes, unsigned count);
  ir::Value join(const std::vector<ir::Value>& elements, unsigned element_bytes);

  ir::Value add_offset(ir::Value address, std::int64_t offset);
  /// i64 address of the word `push` (two words) plus a 32- or 64-bit offset.
  ir::Value push_address(std::uint32_t push_word);
  ir::Value as32(ir::Value v);
  ir::Value as64(ir::Value v);

 private:
  /// The 32-bit words of a raw value, by its IR type.
  std::vector<ir::Value> words(ir::Value raw);
  template <typename Each>
  void by_window(ir::Value address, Each&& each);
  ir::MemAttr attributes(const Access& access, unsigned bytes) const;
  ir::Value address_for(const Access& access, ir::Value address);

  bool many_windows(const Access& access) const {
    return access.window == Window::generic && (windows_.shared || windows_.local);
  }

  ir::Builder& b_;
  Windows windows_;
};

}  // namespace ptx2spv::lower
