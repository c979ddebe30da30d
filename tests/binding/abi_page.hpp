// The numbers of docs/reference/abi.md: this host knows no other.
#pragma once

#include <cstdint>
#include <string>

namespace binding {

/// The number of a name in the page's tables: a binding, or the word of a push constant, record or
/// trap. Ends the program where the page does not have it.
std::uint32_t abi(const std::string& name);
/// Of descriptor set 0 all that the page lists.
std::uint32_t abi_bindings();
/// The number that stands in the page between the two texts.
std::uint32_t abi_between(const std::string& before, const std::string& behind);

}  // namespace binding
