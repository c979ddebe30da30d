#include "tools/common/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "src/input_file.hpp"

namespace ptx2spv::tools {
namespace {

std::string system_text() { return std::strerror(errno); }

struct Descriptor {
  int fd = -1;
  bool owned = false;
  ~Descriptor() {
    if (owned && fd >= 0) ::close(fd);
  }
};

IoError write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return system_text();
    bytes = bytes.subspan(std::size_t(count));
  }
  return {};
}

/// A pipe or a device. A FIFO that nobody reads is an error, where open(2) would wait for ever.
IoError write_in_place(const std::string& path, std::span<const std::byte> bytes) {
  const auto start = std::chrono::steady_clock::now();
  while (true) {
    const Descriptor file{::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), true};
    if (file.fd < 0 && errno != ENXIO) return system_text();
    if (file.fd >= 0) {
      const int flags = ::fcntl(file.fd, F_GETFL);
      if (flags < 0 || ::fcntl(file.fd, F_SETFL, flags & ~O_NONBLOCK) < 0) return system_text();
      return write_all(file.fd, bytes);
    }
    if (std::chrono::steady_clock::now() - start > runtime::InputFile::kNoPartner)
      return "is a FIFO that no process reads";
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace

IoError unpack_gzip(Bytes& bytes, std::uint64_t limit) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) return "zlib does not start";
  Bytes out;
  int status = Z_OK;
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = uInt(bytes.size());
  IoError error;
  while (error.empty()) {
    const std::size_t old = out.size();
    out.resize(std::min<std::uint64_t>(old + std::max<std::size_t>(1 << 16, old), limit + 1));
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + old);
    stream.avail_out = uInt(std::min<std::size_t>(out.size() - old, 1u << 30));
    const uInt room = stream.avail_out;
    status = inflate(&stream, Z_NO_FLUSH);
    out.resize(old + (room - stream.avail_out));
    if (out.size() > limit) error = fmt::format("unpacks to more than {} bytes", limit);
    if (status == Z_STREAM_END) {
      if (stream.avail_in == 0) break;
      inflateReset(&stream);  // members may follow each other
    } else if (status != Z_OK) {
      error = status == Z_BUF_ERROR ? "the gzip data ends early" : "the gzip data is damaged";
    }
  }
  inflateEnd(&stream);
  if (error.empty()) bytes = std::move(out);
  return error;
}

namespace {

IoError read_whole(runtime::InputFile& file, Bytes& bytes, const LimitOf& limit_of) {
  bytes.clear();
  if (!file.error().empty()) return file.error();
  if (file.is_folder()) return "is a folder";
  std::optional<std::uint64_t> limit;
  std::size_t used = 0;
  bytes.resize(1 << 16);
  while (true) {
    if (used == bytes.size()) bytes.resize(std::max<std::uint64_t>(used * 2, file.bytes() + 1));
    const std::size_t count = file.read(bytes.data() + used, bytes.size() - used);
    if (!file.error().empty()) return file.error();
    used += count;
    if (!limit && (used >= kBeginning || count == 0)) limit = limit_of({bytes.data(), used});
    if (limit && std::max<std::uint64_t>(used, file.bytes()) > *limit)
      return fmt::format("is larger than {} bytes", *limit);
    if (count == 0) break;
  }
  bytes.resize(used);
  if (used >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b})
    return unpack_gzip(bytes, *limit);
  return {};
}

}  // namespace

IoError read_file(const std::string& path, Bytes& bytes, const LimitOf& limit_of) {
  if (path == "-") {
    runtime::InputFile standard(0);
    return read_whole(standard, bytes, limit_of);
  }
  runtime::InputFile file(path);
  return read_whole(file, bytes, limit_of);
}

IoError read_file(const std::string& path, Bytes& bytes, std::uint64_t limit) {
  return read_file(path, bytes, [&](std::span<const std::byte>) { return limit; });
}

std::string text_of(std::span<const std::byte> bytes) {
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  // Editors of some systems put this mark before text in UTF-8.
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  return text;
}

IoError read_text(const std::string& path, std::string& text, std::uint64_t limit) {
  Bytes bytes;
  IoError error = read_file(path, bytes, limit);
  if (error.empty()) text = text_of(bytes);
  return error;
}

IoError write_file(const std::string& path, std::span<const std::byte> bytes) {
  if (path == "-") return write_all(1, bytes);
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    if (S_ISDIR(info.st_mode)) return "is a folder";
    return write_in_place(path, bytes);
  }
  // The process number keeps two writers apart; the last to rename wins, each file whole.
  const std::string temporary = fmt::format("{}.part{}", path, ::getpid());
  IoError error;
  {
    Descriptor file{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666),
                    true};
    if (file.fd < 0) return system_text();
    error = write_all(file.fd, bytes);
    // A full disk may show only when the file is closed.
    file.owned = false;
    if (::close(file.fd) != 0 && error.empty()) error = system_text();
  }
  if (error.empty() && ::rename(temporary.c_str(), path.c_str()) != 0) error = system_text();
  if (!error.empty()) ::unlink(temporary.c_str());
  return error;
}

IoError write_text(const std::string& path, std::string_view text) {
  return write_file(path, std::as_bytes(std::span(text.data(), text.size())));
}

void occupy_standard_descriptors() {
  for (const int each : {0, 1, 2}) {
    if (::fcntl(each, F_GETFD) >= 0) continue;
    const int opened = ::open("/dev/null", each == 0 ? O_WRONLY : O_RDONLY);
    if (opened >= 0 && opened != each) {
      ::dup2(opened, each);
      ::close(opened);
    }
  }
}

std::string path_from(const std::string& folder, const std::string& path) {
  if (folder.empty() || folder == "." || path.empty() || path[0] == '/' || path == "-") return path;
  return folder + "/" + path;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string file_name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::vector<std::string> files_of_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return {name};
  const char* variable = std::getenv("PATH");
  const std::string path = variable ? variable : kDefaultPath;
  std::vector<std::string> files;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t colon = std::min(path.find(':', at), path.size());
    const std::string folder = path.substr(at, colon - at);
    files.push_back((folder.empty() ? "." : folder) + "/" + name);
    at = colon + 1;
  }
  return files;
}

bool use_color(int stream, std::string_view choice) {
  if (choice == "always") return true;
  if (choice == "never") return false;
  const char* off = std::getenv("NO_COLOR");
  if (off && *off) return false;
  const char* term = std::getenv("TERM");
  return ::isatty(stream) && term && std::strcmp(term, "dumb") != 0;
}

}  // namespace ptx2spv::tools
