#include "ptx2spv/version.hpp"

namespace ptx2spv {

const char* version() { return PTX2SPV_VERSION; }

}  // namespace ptx2spv
