// A 128-bit content hash for cache keys: two 64-bit FNV-style lanes with a final mix. Not for
// security.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ptx2spv::runtime {

class Digest {
 public:
  void add(std::string_view bytes);  ///< its length counts too, so that parts cannot run together
  void add_number(std::uint64_t value);
  std::string text() const;  ///< 32 hexadecimal digits
  std::uint64_t value() const;

 private:
  std::uint64_t a_ = 0xcbf29ce484222325u, b_ = 0x9ae16a3b2f90404fu;
};

}  // namespace ptx2spv::runtime
