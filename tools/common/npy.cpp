#include "tools/common/npy.hpp"

#include <charconv>
#include <cstring>

#include <fmt/format.h>

namespace ptx2spv::tools {
namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 48;

struct Row {
  const char *type, *descr;
  std::uint32_t bytes;
};
constexpr Row kTypes[] = {
    {"u8", "|u1", 1},  {"s8", "|i1", 1},  {"u16", "<u2", 2}, {"s16", "<i2", 2},
    {"f16", "<f2", 2}, {"u32", "<u4", 4}, {"s32", "<i4", 4}, {"f32", "<f4", 4},
    {"u64", "<u8", 8}, {"s64", "<i8", 8}, {"f64", "<f8", 8},
};

// The text after 'key': in the header's Python dictionary.
std::string_view field(std::string_view header, std::string_view key) {
  for (char quote : {'\'', '"'}) {
    const std::string pattern = quote + std::string(key) + quote;
    std::size_t at = header.find(pattern);
    if (at == header.npos) continue;
    at = header.find_first_not_of(" \t", at + pattern.size());
    if (at == header.npos || header[at] != ':') continue;
    at = header.find_first_not_of(" \t", at + 1);
    return at == header.npos ? std::string_view() : header.substr(at);
  }
  return {};
}

}  // namespace

IoError read_npy(const Bytes& file, Npy& npy) {
  if (file.size() < 10 || std::memcmp(file.data(), kMagic, 6) != 0) return "is not an .npy file";
  const auto byte = [&](std::size_t at) { return std::size_t(file[at]); };
  const std::size_t version = byte(6);
  if (version < 1 || version > 3) return "is an .npy file of an unknown version";
  const std::size_t start = version == 1 ? 10 : 12;
  if (file.size() < start) return "ends in its header";
  std::size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > file.size() - start) return "ends in its header";
  const std::string_view header(reinterpret_cast<const char*>(file.data()) + start, length);

  const std::string_view descr = field(header, "descr");
  if (descr.size() < 2 || (descr[0] != '\'' && descr[0] != '"')) return "has no plain element type";
  const std::size_t end = descr.find(descr[0], 1);
  if (end == descr.npos) return "has a damaged header";
  npy.descr = descr.substr(1, end - 1);
  if (!field(header, "fortran_order").starts_with("False")) return "is not in C order";

  std::string_view shape = field(header, "shape");
  if (shape.empty() || shape[0] != '(') return "has a damaged header";
  shape.remove_prefix(1);
  npy.shape.clear();
  std::uint64_t count = 1;
  const auto skip_blanks = [&] {
    shape.remove_prefix(std::min(shape.find_first_not_of(' '), shape.size()));
  };
  for (skip_blanks(); !shape.starts_with(')'); skip_blanks()) {
    std::uint64_t value = 0;
    const auto [next, error] = std::from_chars(shape.data(), shape.data() + shape.size(), value);
    if (error != std::errc() || value > kMostElements || (value && count > kMostElements / value))
      return "has a damaged shape";
    count *= value;
    npy.shape.push_back(value);
    shape.remove_prefix(std::size_t(next - shape.data()));
    skip_blanks();
    if (shape.starts_with(','))
      shape.remove_prefix(1);
    else if (!shape.starts_with(')'))
      return "has a damaged shape";
  }

  const std::uint64_t bytes = type_bytes(npy_type(npy.descr));
  if (!bytes) return "has elements of type " + npy.descr + ", which is not supported";
  if (file.size() - start - length != count * bytes)
    return fmt::format("holds {} bytes of data, its shape asks for {}",
                       file.size() - start - length, count * bytes);
  npy.data.assign(file.begin() + std::ptrdiff_t(start + length), file.end());
  return {};
}

Bytes write_npy(const std::string& descr, const std::vector<std::uint64_t>& shape,
                std::span<const std::byte> data) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (std::size_t k = 0; k < shape.size(); ++k) {
    if (k) header += ", ";
    header += std::to_string(shape[k]);
  }
  header += shape.size() == 1 ? ",), }" : "), }";
  // The data starts at a multiple of 64.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string start(kMagic, 6);
  start += {'\x01', '\x00', char(header.size() & 255), char(header.size() >> 8)};
  start += header;
  Bytes out(start.size() + data.size());
  std::memcpy(out.data(), start.data(), start.size());
  if (!data.empty()) std::memcpy(out.data() + start.size(), data.data(), data.size());
  return out;
}

std::string npy_descr(const std::string& type) {
  for (const Row& row : kTypes)
    if (type == row.type) return row.descr;
  return {};
}

std::string npy_type(const std::string& descr) {
  for (const Row& row : kTypes) {
    // One-byte types come with any of the byte order marks.
    std::string name = descr;
    if (!name.empty() && (name[0] == '=' || (name.ends_with('1') && name[0] != '|')))
      name[0] = row.descr[0];
    if (name == row.descr) return row.type;
  }
  return {};
}

std::uint32_t type_bytes(const std::string& type) {
  for (const Row& row : kTypes)
    if (type == row.type) return row.bytes;
  return 0;
}

}  // namespace ptx2spv::tools
