// The smallest part of a crash that crashes still.
#pragma once

#include <functional>
#include <string>

namespace ptx2spv::fuzz {

/// Leaves out lines, then bytes, in runs of half as many each time, as long as `crashes` says that
/// what is left crashes. It is asked n log n times at most for each round that found something.
std::string minimise(std::string text, const std::function<bool(const std::string&)>& crashes);

}  // namespace ptx2spv::fuzz
