// Kernels with one fault each: an access whose place is an argument, so that the same kernel has
// the fault and has it not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ptx2spv/runtime.hpp"
#include "tests/sanitize/scene.hpp"

namespace ptx2spv {

/// How the address is made.
enum class Route : std::uint8_t {
  param,            ///< a pointer that is a parameter
  table,            ///< a pointer that lies in memory
  global_variable,  ///< a .global variable
  constant,         ///< a .const variable
  shared,           ///< a .shared variable
  dynamic_shared,   ///< an extern .shared variable
  local,            ///< a .local variable
  parameter,        ///< an array that is a parameter
  generic_param,    ///< a generic access to what a parameter points to
  generic_shared,
  generic_local,
  generic_constant,
  generic_variable,
};

/// Where the access lies.
enum class Border : std::uint8_t {
  end,     ///< the first byte behind the end is the access's first
  before,  ///< the byte before the start is the access's last
  across,  ///< one byte of the access is behind the end
  askew,   ///< within, at no multiple of its size
};

struct Planted {
  Route route = Route::param;
  AccessKind access = AccessKind::load;
  unsigned bytes = 4;  ///< 1, 2, 4, 8, 16
  Border border = Border::end;
  ThreadModel threads = ThreadModel::direct;

  std::string name() const;        ///< for messages
  std::string ptx() const;         ///< kernel `planted`; the access stands on line access_line()
  std::uint32_t line() const;      ///< of the access
  bool has_border() const;         ///< the route has memory on that side to be held against
  std::int32_t offset() const;     ///< of the access from the object's start
  Scene scene(bool faulty) const;  ///< without the fault the access is at the object's start
  static constexpr std::uint32_t kBytes = 64;  ///< of every object
  static constexpr std::uint32_t kThread = 5;  ///< the thread that makes the access
};

/// Every route, access, width and border that PTX has, and the thread models in turns.
std::vector<Planted> planted_faults();

}  // namespace ptx2spv
