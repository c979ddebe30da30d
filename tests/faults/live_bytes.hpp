// What operator new has given and not got back: the runtime's and the translator's allocations, not
// the driver's, which has functions of its own.
#pragma once

#include <cstdint>

namespace ptx2spv {

/// Always 0 under AddressSanitizer, whose own functions stay: it reports leaks at the end.
std::int64_t live_bytes();

}  // namespace ptx2spv
