// Checked access to JSON values: every mismatch becomes a located message, and reading goes on.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "tools/common/files.hpp"
#include "tools/common/json.hpp"

namespace ptx2spv::tools {

/// A value and the JSON pointer that leads to it.
class Reader {
 public:
  Reader(const std::string& file, const Json& json, std::string pointer,
         std::vector<std::string>& errors)
      : file_(&file), json_(&json), pointer_(std::move(pointer)), errors_(&errors) {}

  const Json& json() const { return *json_; }
  void error(const std::string& text) const;
  /// file:line: error: pointer, to which a text can be added later.
  std::string where() const;
  /// "/pointer (line 3)", for messages about another place.
  std::string place() const;

  bool is_object() const;
  bool is_array() const;
  /// An error for every member that is not among `names`.
  void only(std::initializer_list<const char*> names) const;
  Reader item(std::size_t index) const;
  Reader member(const std::string& name, const Json& json) const;
  std::optional<Reader> find(const char* name) const;
  /// As find, an error when it is missing.
  std::optional<Reader> need(const char* name) const;

  std::optional<std::string> string() const;
  std::optional<bool> boolean() const;
  std::optional<double> number() const;
  /// An integer from `low` to `high`; text such as "0xff" counts too.
  std::optional<std::uint64_t> integer(std::uint64_t low, std::uint64_t high) const;
  /// The little-endian bytes of a number typed u8 ... f64, range checked.
  std::optional<Bytes> scalar(std::string_view type) const;
  std::optional<Bytes> hex() const;

 private:
  const std::string* file_;
  const Json* json_;
  std::string pointer_;
  std::vector<std::string>* errors_;
};

/// float to half, round to nearest even, as for a scalar argument.
std::uint16_t half_bits(double value);

}  // namespace ptx2spv::tools
