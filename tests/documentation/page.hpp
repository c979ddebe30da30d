// A page under docs/: parts of it are made from the tables of the code, the rest is compared with
// them.
#pragma once

#include <string>
#include <string_view>

namespace documentation {

/// The page's text, empty where there is none. `name` is relative to the source tree.
std::string read_page(std::string_view name);

/// Expects the part of the page between `<!-- table: NAME -->` and `<!-- end -->` to be `text`.
/// With PTX2SPV_RECORD=1 in the environment it is written there instead.
void expect_part(std::string_view page, std::string_view part, const std::string& text);

}  // namespace documentation
