// Kernels over surfaces and textures that no record holds; handles_test.cpp runs each.
#pragma once

#include <string>
#include <vector>

namespace ptx2spv::tests {

extern const char* const kKindsModule;       ///< istypep of each kind of handle
extern const char* const kReductionsModule;  ///< sured of values in registers of floats
extern const char* const kPlacesModule;      ///< coordinates in registers of the other class
extern const char* const kSamplesModule;     ///< txq of what an initialiser states
extern const char* const kHalvesModule;      ///< tex.2dms of halves, two in a word
extern const char* const kTrapModule;        ///< trap of one thread
std::vector<std::string> handle_modules();   ///< all of them

}  // namespace ptx2spv::tests
