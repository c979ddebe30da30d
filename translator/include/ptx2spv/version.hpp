#pragma once

namespace ptx2spv {

// "major.minor.patch" of the library that the program runs with.
const char* version();

}  // namespace ptx2spv
