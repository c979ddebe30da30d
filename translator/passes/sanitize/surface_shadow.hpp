// What shadows say of surfaces: texels that nobody wrote, and races for them (abi::LevelWord).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "translator/passes/sanitize/races.hpp"
#include "translator/passes/surface/surface_record.hpp"

namespace ptx2spv::passes {

class SurfaceShadow {
 public:
  /// `prologue` writes what all accesses of a thread need.
  SurfaceShadow(const Function& function, const EntryInfo& entry, Builder& prologue);

  /// A surface access that is made: one that is out of range, misaligned or of a dead handle is not
  /// looked at, and traps or does nothing by itself.
  struct Access {
    ShadowAccess bytes;   ///< its offset is i64, from the start of the level
    Value bitmap = 0;     ///< i64: of the level; 0: it has none
    Value records = 0;    ///< the same, of races
    Value place = 0;      ///< i64: coordinates x and y, for reports
    std::string surface;  ///< its name, empty where the handle comes from memory
  };
  Access locate(Builder& b, Value op);
  /// The slot that the surface of an operation is; nothing: its handle comes from memory.
  std::optional<std::uint32_t> slot(Value op) const;

 private:
  struct Row {
    Value generation = 0, row_bytes = 0, width = 0, rows = 0, slices = 0, row_pitch = 0,
          texel_bytes = 0, geometries = 0;
    Value slice_pitch = 0, bitmap = 0, records = 0;  ///< i64
  };
  Row read(Builder& b, Value handle);

  const Function& f_;
  HandleTracer tracer_;
  const EntryInfo& entry_;
  Builder& prologue_;
  std::map<std::uint32_t, std::pair<Value, Row>> known_;  ///< handles that are parameters
};

}  // namespace ptx2spv::passes
