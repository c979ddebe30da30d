// Files read and written whole. What is written appears under its name complete or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptx2spv::tools {

using Bytes = std::vector<std::byte>;

/// An error text, empty for success.
using IoError = std::string;

/// Bytes of a text: a PTX module, a manifest.
inline constexpr std::uint64_t kMostText = std::uint64_t(1) << 28;

/// Reads `path` ("-": standard input), unpacking gzip by its magic number. More than `limit` bytes,
/// packed or not, are an error.
IoError read_file(const std::string& path, Bytes& bytes,
                  std::uint64_t limit = std::uint64_t(1) << 32);
/// Limits the file by what its beginning says it is: kBeginning bytes, or fewer if it has no more.
using LimitOf = std::function<std::uint64_t(std::span<const std::byte> beginning)>;
inline constexpr std::size_t kBeginning = 64;
IoError read_file(const std::string& path, Bytes& bytes, const LimitOf& limit_of);
/// Unpacks gzip in place; more than `limit` bytes is an error.
IoError unpack_gzip(Bytes& bytes, std::uint64_t limit);
/// The bytes as text, without the mark (U+FEFF) that may stand before text in UTF-8.
std::string text_of(std::span<const std::byte> bytes);
/// As read_file, as text_of() gives it.
IoError read_text(const std::string& path, std::string& text, std::uint64_t limit = kMostText);
/// Writes to a temporary file beside `path` and renames it. "-" is standard output; what exists and
/// is no regular file (a pipe, /dev/null) is written in place.
IoError write_file(const std::string& path, std::span<const std::byte> bytes);
IoError write_text(const std::string& path, std::string_view text);

/// Keeps the numbers 0, 1 and 2 from files that are opened later where the process was started
/// without them: a message would go into an output. Reading and writing them still fails.
void occupy_standard_descriptors();

/// `path` as seen from `folder`, unless it is absolute.
std::string path_from(const std::string& folder, const std::string& path);
std::string folder_of(const std::string& path);
std::string file_name_of(const std::string& path);

/// What execvp() searches where there is no PATH.
inline constexpr const char* kDefaultPath = "/bin:/usr/bin";
/// Where a program is looked for, in turn: `name` itself if it has a slash, else in PATH's folders.
std::vector<std::string> files_of_program(const std::string& name);

/// Whether colour belongs on `stream` (1 or 2): a terminal, and NO_COLOR is not set. `choice`:
/// always, never, auto.
bool use_color(int stream, std::string_view choice);

}  // namespace ptx2spv::tools
