#include "ptx2spv/translator.hpp"

namespace ptx2spv {

std::string_view version() { return PTX2SPV_VERSION; }

}  // namespace ptx2spv
