// The only file of the tools that compiles nlohmann-json; it costs two seconds.
#include "tools/common/json.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

namespace ptx2spv::tools {
namespace {

// Counts lines as the parser consumes characters, which nlohmann's callbacks do not tell.
struct CountingIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at = nullptr;
  std::uint32_t* line = nullptr;

  reference operator*() const { return *at; }
  CountingIterator& operator++() {
    if (line && *at == '\n') ++*line;
    ++at;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator old = *this;
    ++*this;
    return old;
  }
  bool operator==(const CountingIterator& other) const { return at == other.at; }
};

class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(Json& root, std::uint32_t& line, std::string_view text)
      : root_(root), line_(line), text_(text) {}

  bool null() override { return put({}); }
  bool boolean(bool value) override {
    Json json;
    json.kind = Json::Kind::boolean;
    json.boolean = value;
    return put(std::move(json));
  }
  bool number_integer(number_integer_t value) override {
    return put_integer(std::uint64_t(value), value < 0, double(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return put_integer(value, false, double(value));
  }
  bool number_float(number_float_t value, const string_t&) override {
    Json json;
    json.kind = Json::Kind::real;
    json.real = value;
    return put(std::move(json));
  }
  bool string(string_t& value) override {
    Json json;
    json.kind = Json::Kind::string;
    json.text = std::move(value);
    return put(std::move(json));
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::Kind::object); }
  bool start_array(std::size_t) override { return open(Json::Kind::array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    Json& object = *stack_.back();
    // The search for repeated names is quadratic, so their number is bounded.
    if (object.members.size() >= 16384) return fail("more than 16384 members in one object");
    if (object.find(value)) return fail("\"" + value + "\" is given twice in one object");
    key_ = std::move(value);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception& problem) override {
    std::size_t line_start = 0, line = 1;
    const std::size_t end = std::min(position ? position - 1 : 0, text_.size());
    for (std::size_t k = 0; k < end; ++k)
      if (text_[k] == '\n') {
        line_start = k + 1;
        ++line;
      }
    // Only the part that says what was read and what was expected; the rest repeats the position.
    std::string what = problem.what();
    for (const char* mark : {"syntax error", "parse error"}) {
      const std::size_t at = what.rfind(mark);
      if (at != what.npos) {
        what = what.substr(at);
        break;
      }
    }
    for (char& c : what)
      if (c == '\n' || c == '\r') c = ' ';
    error = fmt::format("{}:{}: error: {}", line, end - line_start + 1, what);
    return false;
  }

  std::string error;

 private:
  bool put_integer(std::uint64_t value, bool negative, double real) {
    Json json;
    json.kind = Json::Kind::integer;
    json.integer = value;
    json.negative = negative;
    json.real = real;
    return put(std::move(json));
  }
  Json* place(Json json) {
    json.line = line_;
    if (stack_.empty()) {
      root_ = std::move(json);
      return &root_;
    }
    Json& parent = *stack_.back();
    if (parent.kind == Json::Kind::array) return &parent.items.emplace_back(std::move(json));
    return &parent.members.emplace_back(std::move(key_), std::move(json)).second;
  }
  bool put(Json json) {
    place(std::move(json));
    return true;
  }
  bool open(Json::Kind kind) {
    // Values are freed recursively, so depth is bounded.
    if (stack_.size() >= 64) return fail("nested deeper than 64");
    Json json;
    json.kind = kind;
    stack_.push_back(place(std::move(json)));
    return true;
  }
  bool close() {
    stack_.pop_back();
    return true;
  }
  bool fail(const std::string& text) {
    error = fmt::format("{}:1: error: {}", line_, text);
    return false;
  }

  Json& root_;
  std::uint32_t& line_;
  std::string_view text_;
  std::vector<Json*> stack_;  // a parent does not grow while its child is open, so pointers hold
  std::string key_;
};

// Sequences of the right form; overlong ones pass, and every JSON reader takes those or replaces
// them.
}  // namespace

Json::Json() = default;
Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

const Json* Json::find(std::string_view name) const {
  for (const auto& [key, value] : members)
    if (key == name) return &value;
  return nullptr;
}

const char* to_string(Json::Kind kind) {
  switch (kind) {
    case Json::Kind::null: return "null";
    case Json::Kind::boolean: return "a boolean";
    case Json::Kind::integer: return "an integer";
    case Json::Kind::real: return "a fraction";
    case Json::Kind::string: return "a string";
    case Json::Kind::array: return "an array";
    case Json::Kind::object: return "an object";
  }
  return "";
}

bool parse_json(std::string_view text, Json& value, std::string& error) {
  std::uint32_t line = 1;
  Builder builder(value, line, text);
  const bool good =
      nlohmann::json::sax_parse(CountingIterator{text.data(), &line},
                                CountingIterator{text.data() + text.size(), &line}, &builder);
  error = shortened(std::move(builder.error));
  return good && error.empty();
}

}  // namespace ptx2spv::tools
