#include "tests/faults/live_bytes.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
namespace ptx2spv {
std::int64_t live_bytes() { return 0; }
}  // namespace ptx2spv
#else
#include "tests/support/counted_new.hpp"

namespace ptx2spv {
std::int64_t live_bytes() { return test::live_bytes; }
}  // namespace ptx2spv
#endif
