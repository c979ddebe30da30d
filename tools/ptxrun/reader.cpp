#include "tools/ptxrun/reader.hpp"

#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "ptx2spv/text.hpp"
#include "tools/common/npy.hpp"

namespace ptx2spv::tools {
namespace {

std::string escape_pointer(const std::string& name) {
  std::string out;
  for (char c : name) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += '?';
    } else {
      out += c;
    }
  }
  return out;
}

// "0x1f", "-3": sign and magnitude.
bool parse_integer(std::string_view text, bool& negative, std::uint64_t& magnitude) {
  negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  }
  return read_number(text, magnitude, base);
}

Bytes little_endian(std::uint64_t bits, std::uint32_t count) {
  Bytes bytes(count);
  for (std::uint32_t k = 0; k < count; ++k) bytes[k] = std::byte(bits >> (8 * k));
  return bytes;
}

}  // namespace

std::uint16_t half_bits(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return 0x7fff;
  if (magnitude >= 65520.0) return sign | 0x7c00;
  if (magnitude < 0x1p-14) return sign | std::uint16_t(std::nearbyint(magnitude * 0x1p24));
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent);  // [0.5, 1)
  // A mantissa rounded up to 2048 carries into the exponent, as the encoding wants.
  const auto mantissa = std::uint32_t(std::nearbyint(std::ldexp(fraction, 11)));
  return sign | std::uint16_t(((exponent + 14) << 10) + (mantissa - 1024));
}

void Reader::error(const std::string& text) const {
  if (errors_->size() < 50) errors_->push_back(shortened(where() + text));
}

std::string Reader::where() const {
  return fmt::format("{}:{}: error: {}: ", *file_, json_->line, pointer_.empty() ? "/" : pointer_);
}

std::string Reader::place() const {
  return fmt::format("{} (line {})", pointer_.empty() ? "/" : pointer_, json_->line);
}

bool Reader::is_object() const {
  if (json_->kind == Json::Kind::object) return true;
  error(std::string("has to be an object, not ") + to_string(json_->kind));
  return false;
}

bool Reader::is_array() const {
  if (json_->kind == Json::Kind::array) return true;
  error(std::string("has to be an array, not ") + to_string(json_->kind));
  return false;
}

void Reader::only(std::initializer_list<const char*> names) const {
  for (const auto& [name, value] : json_->members) {
    bool known = false;
    for (const char* candidate : names) known |= name == candidate;
    if (known) continue;
    std::string list;
    for (const char* candidate : names) list += (list.empty() ? "" : ", ") + std::string(candidate);
    member(name, value).error("there is no such field here; there are " + list);
  }
}

Reader Reader::item(std::size_t index) const {
  return Reader(*file_, json_->items[index], fmt::format("{}/{}", pointer_, index), *errors_);
}

Reader Reader::member(const std::string& name, const Json& json) const {
  return Reader(*file_, json, pointer_ + "/" + escape_pointer(name), *errors_);
}

std::optional<Reader> Reader::find(const char* name) const {
  const Json* json = json_->find(name);
  if (!json) return std::nullopt;
  return member(name, *json);
}

std::optional<Reader> Reader::need(const char* name) const {
  auto reader = find(name);
  if (!reader) error(std::string("needs the field \"") + name + "\"");
  return reader;
}

std::optional<std::string> Reader::string() const {
  if (json_->kind != Json::Kind::string) {
    error(std::string("has to be a string, not ") + to_string(json_->kind));
    return std::nullopt;
  }
  if (json_->text.find('\0') != std::string::npos) {
    error("holds a zero byte");
    return std::nullopt;
  }
  return json_->text;
}

std::optional<bool> Reader::boolean() const {
  if (json_->kind == Json::Kind::boolean) return json_->boolean;
  error(std::string("has to be true or false, not ") + to_string(json_->kind));
  return std::nullopt;
}

std::optional<double> Reader::number() const {
  if (json_->is_number()) return json_->real;
  error(std::string("has to be a number, not ") + to_string(json_->kind));
  return std::nullopt;
}

std::optional<std::uint64_t> Reader::integer(std::uint64_t low, std::uint64_t high) const {
  bool negative = json_->negative;
  std::uint64_t value = json_->integer;
  if (json_->kind == Json::Kind::string) {
    if (!parse_integer(json_->text, negative, value)) {
      error("is not an integer");
      return std::nullopt;
    }
  } else if (json_->kind != Json::Kind::integer) {
    error(std::string("has to be an integer, not ") + to_string(json_->kind));
    return std::nullopt;
  }
  if (negative || value < low || value > high) {
    error(fmt::format("has to be from {} to {}", low, high));
    return std::nullopt;
  }
  return value;
}

std::optional<Bytes> Reader::scalar(std::string_view type) const {
  const std::uint32_t count = type_bytes(std::string(type));
  const bool is_text = json_->kind == Json::Kind::string;
  if (type[0] == 'f') {
    double value = 0;
    if (is_text) {
      bool negative = false;
      std::uint64_t bits = 0;
      const std::string& text = json_->text;
      if (text == "nan") {
        value = std::nan("");
      } else if (text == "inf" || text == "-inf") {
        value = text[0] == '-' ? -HUGE_VAL : HUGE_VAL;
      } else if (text.starts_with("0x") && parse_integer(text, negative, bits) &&
                 (count == 8 || bits >> (8 * count) == 0)) {
        return little_endian(bits, count);
      } else {
        error("is not a number: text is \"nan\", \"inf\", \"-inf\" or the bits as \"0x...\"");
        return std::nullopt;
      }
    } else if (const auto number = this->number()) {
      value = *number;
    } else {
      return std::nullopt;
    }
    if (count == 2) return little_endian(half_bits(value), 2);
    if (count == 4) return little_endian(std::bit_cast<std::uint32_t>(float(value)), 4);
    return little_endian(std::bit_cast<std::uint64_t>(value), 8);
  }

  bool negative = json_->negative;
  std::uint64_t magnitude = negative ? 0 - json_->integer : json_->integer;
  if (is_text) {
    if (!parse_integer(json_->text, negative, magnitude)) {
      error("is not an integer");
      return std::nullopt;
    }
  } else if (json_->kind != Json::Kind::integer) {
    error(std::string("has to be an integer, not ") + to_string(json_->kind));
    return std::nullopt;
  }
  const std::uint64_t all = count == 8 ? ~std::uint64_t(0) : (std::uint64_t(1) << (8 * count)) - 1;
  const std::uint64_t half = (all >> 1) + 1;
  const bool is_signed = type[0] == 's';
  // Written as bits in hexadecimal a signed number may use the sign bit.
  const bool hex = is_text && json_->text.find('x') != std::string::npos;
  const std::uint64_t limit =
      negative ? (is_signed ? half : 0) : (is_signed && !hex ? half - 1 : all);
  if (magnitude > limit) {
    error("does not fit " + std::string(type));
    return std::nullopt;
  }
  return little_endian(negative ? 0 - magnitude : magnitude, count);
}

std::optional<Bytes> Reader::hex() const {
  const auto text = string();
  if (!text) return std::nullopt;
  Bytes bytes;
  int high = -1;
  for (char c : *text) {
    if (c == ' ' || c == '_') continue;
    int digit = -1;
    if (c >= '0' && c <= '9') digit = c - '0';
    if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
    if (c >= 'A' && c <= 'F') digit = c - 'A' + 10;
    if (digit < 0) {
      error("holds something that is no hexadecimal digit");
      return std::nullopt;
    }
    if (high < 0) {
      high = digit;
    } else {
      bytes.push_back(std::byte(high * 16 + digit));
      high = -1;
    }
  }
  if (high >= 0) {
    error("holds an odd number of hexadecimal digits");
    return std::nullopt;
  }
  if (bytes.empty()) {
    error("holds no bytes");
    return std::nullopt;
  }
  return bytes;
}

}  // namespace ptx2spv::tools
