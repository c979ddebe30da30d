// The passes that all translations of an entry share, and what the pipeline needs of them.
#pragma once

#include <string>
#include <string_view>

namespace ptx2spv {

/// Whether the IR is checked after every pass, which costs a quarter of the time: debug builds do,
/// and others when PTX2SPV_DEBUG=validate-ir=1 asks for it, as the tests do. It is checked before
/// the first pass and after the last one always, so that a fault of ours is an error and never a
/// module.
bool validates();

/// The message for a fault of ours.
std::string internal_error(std::string_view kernel, const std::string& text);

}  // namespace ptx2spv
