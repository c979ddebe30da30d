// Makes a failing kernel small.
#pragma once

#include <functional>

#include "tests/random/program.hpp"

namespace ptx2spv::test {

/// The smallest kernel that `fails` still holds for, out of `kernel` with statements left out and
/// compound ones replaced by what they hold. At most `attempts` calls.
RandomKernel reduce(RandomKernel kernel, const std::function<bool(const RandomKernel&)>& fails,
                    unsigned attempts = 2000);

}  // namespace ptx2spv::test
