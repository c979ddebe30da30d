// Pages of the documentation that are made of the translator's tables when ptx2spv is built.
#pragma once

#include <string>
#include <string_view>

namespace ptx2spv::tools {

/// docs/reference/support.md: the instruction table.
std::string support_page();
/// docs/reference/capabilities.md: the rows of profiles.
std::string capabilities_page();
/// docs/develop/passes.md: the pass table.
std::string passes_page();

/// The page of a kind for --generate, empty where there is none.
std::string page(std::string_view kind);

}  // namespace ptx2spv::tools
