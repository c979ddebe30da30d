#include "tools/common/input_kind.hpp"

#include <algorithm>

namespace ptx2spv::tools {
namespace {

using namespace std::string_view_literals;

struct Magic {
  std::string_view bytes, name;
};
// The first bytes of formats, as their specifications give them.
constexpr Magic kMagics[] = {
    {"\x89PNG\r\n\x1a\n"sv, "a PNG picture"},
    {"\xff\xd8\xff"sv, "a JPEG picture"},
    {"GIF8"sv, "a GIF picture"},
    {"BM"sv, "a BMP picture"},
    {"\x03\x02\x23\x07"sv, "a SPIR-V module"},
    {"\x07\x23\x02\x03"sv, "a SPIR-V module of the other byte order"},
    {"\x7f"
     "ELF"sv,
     "an ELF program or object"},
    {"!<arch>\n"sv, "an archive of objects"},
    {"\x50\xed\x55\xba"sv, "a fat binary"},
    {"\x93NUMPY"sv, "a NumPy array"},
    {"PK\x03\x04"sv, "a ZIP archive"},
    {"%PDF"sv, "a PDF document"},
    {"BC\xc0\xde"sv, "LLVM bitcode"},
};

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// Text behind white space and C++ comments.
std::string_view first_words(std::string_view text) {
  while (!text.empty()) {
    if (is_space(text.front())) {
      text.remove_prefix(1);
    } else if (text.starts_with("//")) {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
    } else if (text.starts_with("/*")) {
      const std::size_t end = text.find("*/");
      text.remove_prefix(end == text.npos ? text.size() : end + 2);
    } else {
      break;
    }
  }
  return text;
}

bool is_ptx(std::string_view words) {
  return words.starts_with(".version") || words.starts_with(".target") ||
         words.starts_with(".visible") || words.starts_with(".entry");
}

// Many control characters: a single one in a text is its reader's to report, with its place.
bool is_binary(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, 4096);
  const auto controls = std::count_if(head.begin(), head.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 && !is_space(c) && c != '\f' && c != '\v';
  });
  return std::size_t(controls) > head.size() / 20;
}

std::string kind_of(std::string_view bytes, Wanted wanted) {
  for (const Magic& magic : kMagics) {
    if (!bytes.starts_with(magic.bytes)) continue;
    // Two letters may begin a text as well.
    if (magic.bytes.size() == 2 && !is_binary(bytes)) continue;
    return std::string(magic.name);
  }
  if (bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff"))
    return "text in UTF-16; it has to be UTF-8";
  if (is_binary(bytes)) return "no text: it holds control characters";
  const std::string_view words = first_words(bytes);
  if (wanted == Wanted::manifest && is_ptx(words)) return "PTX";
  if (wanted == Wanted::ptx) {
    if (words.starts_with("{")) return "JSON, a launch manifest perhaps; ptxrun runs manifests";
    if (words.starts_with("; ModuleID") || words.starts_with("source_filename"))
      return "LLVM assembly; llc -march=nvptx64 makes PTX of it";
    if (words.starts_with("#include") || words.starts_with("#pragma") ||
        words.starts_with("__global__") || words.starts_with("extern \"C\""))
      return "C++ source; nvcc -ptx, or clang --cuda-device-only -S, makes PTX of it";
    if (words.starts_with("; SPIR-V")) return "SPIR-V assembly";
  }
  return {};
}

}  // namespace

std::string other_kind(std::string_view bytes, Wanted wanted) {
  const std::string kind = kind_of(bytes, wanted);
  if (kind.empty()) return {};
  return "is " + kind +
         (kind.find(';') == kind.npos ? wanted == Wanted::ptx
                                            ? ", and PTX is wanted"
                                            : ", and a launch manifest is wanted; ptxrun "
                                              "--init makes one of PTX"
                                      : "");
}

}  // namespace ptx2spv::tools
