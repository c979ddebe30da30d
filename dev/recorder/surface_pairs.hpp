// What the record of pairs is made of: every geometry of instruction on every kind of array.
#pragma once

#include "dev/recorder/surface_lines.hpp"

namespace ptx2spv::recorder {

std::vector<SurfaceSetup> pair_surfaces();
std::vector<SurfaceInstruction> pair_instructions(const SurfaceSetup& setup);
/// For the record of loads whose elements are not all read: surfaces of each geometry, and the
/// loads of that geometry with each choice of elements.
std::vector<SurfaceSetup> unread_surfaces();
std::vector<SurfaceInstruction> unread_instructions(const std::string& geometry);

/// Operands of one pair. `faulting` would fault on a surface of the instruction's geometry; whether
/// they do here is the question.
struct PairLines {
  std::vector<SurfaceLine> safe, faulting;
};
PairLines pair_lines(const SurfaceSetup& setup, const SurfaceInstruction& instruction);

}  // namespace ptx2spv::recorder
