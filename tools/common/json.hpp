// JSON with the place of every value, so that an error can be located.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptx2spv/text.hpp"

namespace ptx2spv::tools {

struct Json {
  enum class Kind : std::uint8_t { null, boolean, integer, real, string, array, object };
  Kind kind = Kind::null;
  bool boolean = false;
  bool negative = false;  ///< of an integer: `integer` is the two's complement
  std::uint64_t integer = 0;
  double real = 0;                                    ///< integers have it too
  std::string text;                                   ///< of a string
  std::vector<Json> items;                            ///< of an array
  std::vector<std::pair<std::string, Json>> members;  ///< of an object, in the file's order
  std::uint32_t line = 0;

  // In json.cpp, where the type is complete: clang 14 does not make them here.
  Json();
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  bool is_number() const { return kind == Kind::integer || kind == Kind::real; }
  const Json* find(std::string_view name) const;
};
const char* to_string(Json::Kind kind);

/// Parses `text`. On failure false, and `error` is "line:column: error: text". Repeated names,
/// nesting deeper than 64 and trailing text are errors.
bool parse_json(std::string_view text, Json& value, std::string& error);

}  // namespace ptx2spv::tools
