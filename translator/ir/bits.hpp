// A value of the IR as the processor has it.
#pragma once

#include <array>
#include <cstdint>

namespace ptx2spv::ir {

/// Any value; i1, i32 in word 0, i64 in words 0 and 1, vectors in order.
struct Bits {
  std::array<std::uint32_t, 4> w{};
  std::uint64_t u64() const { return w[0] | static_cast<std::uint64_t>(w[1]) << 32; }
  static Bits of(std::uint64_t v) {
    return {{static_cast<std::uint32_t>(v), static_cast<std::uint32_t>(v >> 32), 0, 0}};
  }
  bool operator==(const Bits&) const = default;
};

}  // namespace ptx2spv::ir
