// Options as a target of the fuzzers takes them.
#pragma once

#include "fuzz/target.hpp"
#include "ptx2spv/translator.hpp"

namespace ptx2spv::fuzz {

/// Any profile, thread model, policy and specialisation, as `random` has it.
TranslateOptions any_options(Random& random, std::size_t& inline_budget);

}  // namespace ptx2spv::fuzz
