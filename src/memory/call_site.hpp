// Where a program called this library.
#pragma once

#include <string>

namespace ptx2spv::runtime {

/// The calls that lead here, the nearest first, a line each: "function+0x12 (file)" as the loader
/// knows them. Frames of this library at the top are left out; empty where
/// nothing is known, which a library that is linked into the program itself is not told from.
std::string call_site();

}  // namespace ptx2spv::runtime
