// What an input is that was taken for something else.
#pragma once

#include <string>
#include <string_view>

namespace ptx2spv::tools {

/// What a reader of text is given.
enum class Wanted : unsigned char { ptx, manifest };

/// Says what `bytes` are and what to do with them, where they are clearly not what is wanted: "is a
/// PNG picture, and a manifest is wanted". Empty where they may be it.
std::string other_kind(std::string_view bytes, Wanted wanted);

}  // namespace ptx2spv::tools
