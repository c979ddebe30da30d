// Every surface instruction that the instruction table accepts, from the table itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "translator/ptx/instruction_table.hpp"

namespace ptx2spv::test {

/// One choice for every modifier of a row of the table.
struct SurfaceForm {
  ptx::Opcode op{};
  std::uint16_t row = 0;
  std::string name;   ///< suld.b.2d.v2.b32.trap
  std::string place;  ///< what `name` is without its cache operator and with its mode
  ptx::Type type{};
  ptx::Mod geometry{}, clamp{}, cache{}, query{}, operation{};
  unsigned vector = 1;
  bool formatted = false;  ///< .p
  /// What no column of the table says: a vector has at most 128 bits.
  bool too_wide() const;
  unsigned element_bytes() const;
  unsigned access_bytes() const { return element_bytes() * vector; }
  unsigned coordinates() const;  ///< the array index included

  /// "name d, [surface, {c...}];" in the registers that are given, without a guard.
  std::string text(const std::string& surface, const std::vector<std::string>& coordinates,
                   const std::vector<std::string>& data) const;
};

/// Of every opcode in the manual's chapter on surfaces. A row with a slot that this walk does not
/// know is a failed test.
std::vector<SurfaceForm> surface_forms();

}  // namespace ptx2spv::test
