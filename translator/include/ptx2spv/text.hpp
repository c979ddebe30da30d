// Text of other people in messages and reports: cut to a length, and quoted for JSON.
#pragma once

#include <string>
#include <string_view>

namespace ptx2spv {

/// A text of at most 800 bytes as it is; of a longer one the beginning and the end, cut between
/// characters of UTF-8.
std::string shortened(std::string text);

/// A JSON string with its quotes. Where the text is not UTF-8, each of its bytes from 0x80 on
/// becomes the character of that number.
std::string json_quote(std::string_view text);

}  // namespace ptx2spv
