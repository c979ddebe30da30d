#include "src/cache/disk_cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "src/cache/digest.hpp"
#include "src/options.hpp"

namespace ptx2spv::runtime {

namespace fs = std::filesystem;

namespace {

constexpr char kMagic[8] = {'p', '2', 's', 'c', 'a', 'c', 'h', '2'};
/// Of an entry: a file with a larger claim is none of ours, and takes no memory.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

struct Header {
  char magic[8];
  std::uint64_t bytes, checksum;
};

std::uint64_t checksum_of(std::string_view key, const std::byte* bytes, std::size_t count) {
  Digest digest;
  digest.add(key);
  digest.add(std::string_view(reinterpret_cast<const char*>(bytes), count));
  return digest.value();
}

std::uint64_t limit_bytes() {
  return std::min<std::uint64_t>(option_number(Option::cache_mib, 256), 1 << 20) << 20;
}

bool write_all(int file, const void* data, std::size_t count) {
  auto* at = static_cast<const char*>(data);
  while (count) {
    ssize_t wrote = ::write(file, at, count);
    if (wrote <= 0) return false;
    at += wrote;
    count -= static_cast<std::size_t>(wrote);
  }
  return true;
}

/// A scope in which a write past the limit of a file's size (RLIMIT_FSIZE) fails and does not end
/// the process, whatever that does with the signal.
class NoFileSizeSignal {
 public:
  NoFileSizeSignal() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    sigset_t pending;
    pending_ = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
    blocked_ = pthread_sigmask(SIG_BLOCK, &signal_, &before_) == 0;
  }
  ~NoFileSizeSignal() {
    if (!blocked_) return;
    const timespec none{};
    if (!pending_) {
      while (sigtimedwait(&signal_, nullptr, &none) < 0 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoFileSizeSignal(const NoFileSizeSignal&) = delete;
  NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;

 private:
  sigset_t signal_, before_;
  bool blocked_ = false;
  bool pending_ = false;  ///< before: then it is not ours to take
};

}  // namespace

namespace {

/// Whoever names a folder wants to know why it is not used.
void say_unusable(const std::string& path, const std::error_code& error) {
  static std::atomic<bool> said = false;
  if (said.exchange(true)) return;
  fmt::print(stderr, "ptx2spv: no disk cache: the folder {:.500} cannot be made: {}\n", path,
             error ? error.message() : "it is no folder");
}

std::string default_folder() {
  if (const char* base = std::getenv("XDG_CACHE_HOME"); base && *base)
    return std::string(base) + "/ptx2spv";
  if (const char* home = std::getenv("HOME"); home && *home)
    return std::string(home) + "/.cache/ptx2spv";
  return {};
}

}  // namespace

std::unique_ptr<DiskCache> DiskCache::open(const std::string& directory) {
  std::string path =
      directory.empty() ? std::string(option_text(Option::cache_directory)) : directory;
  const bool named = !path.empty();
  if (!named) path = default_folder();
  if (path.empty()) return nullptr;
  std::error_code error;
  fs::create_directories(path, error);
  if (!error && fs::is_directory(path, error))
    return std::unique_ptr<DiskCache>(new DiskCache(path));
  if (named) say_unusable(path, error);
  return nullptr;
}

std::optional<std::vector<std::byte>> DiskCache::load(std::string_view key) {
  std::string path = fmt::format("{}/{}", directory_, key);
  // Not blocking: a pipe of that name would wait for a writer.
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return std::nullopt;
  std::optional<std::vector<std::byte>> result;
  Header header;
  struct stat info {};
  bool fits = ::fstat(file, &info) == 0 && S_ISREG(info.st_mode) &&
              ::read(file, &header, sizeof header) == sizeof header &&
              !std::memcmp(header.magic, kMagic, sizeof kMagic) &&
              static_cast<std::uint64_t>(info.st_size) == header.bytes + sizeof header &&
              header.bytes <= kMostBytes;
  if (fits) {
    std::vector<std::byte> bytes(header.bytes);
    std::size_t at = 0;
    while (at < bytes.size()) {
      ssize_t got = ::read(file, bytes.data() + at, bytes.size() - at);
      if (got <= 0) break;
      at += static_cast<std::size_t>(got);
    }
    fits = at == bytes.size() && checksum_of(key, bytes.data(), bytes.size()) == header.checksum;
    if (fits) result = std::move(bytes);
  }
  ::close(file);
  if (!fits) {
    ::unlink(path.c_str());  // damaged: written anew by whoever translates next
  } else {
    ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // the time of last use, for trim
  }
  return result;
}

void DiskCache::store(std::string_view key, const std::vector<std::byte>& bytes) {
  static std::atomic<unsigned> number{0};
  std::string path = fmt::format("{}/{}", directory_, key);
  std::string temporary = fmt::format("{}/tmp-{}-{}", directory_, ::getpid(), number++);
  int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) return;
  Header header;
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.bytes = bytes.size();
  header.checksum = checksum_of(key, bytes.data(), bytes.size());
  const NoFileSizeSignal no_signal;
  bool ok = write_all(file, &header, sizeof header) && write_all(file, bytes.data(), bytes.size());
  ok = ::close(file) == 0 && ok;
  if (!ok || ::rename(temporary.c_str(), path.c_str()) != 0) {
    ::unlink(temporary.c_str());
    return;
  }
  std::lock_guard lock(mutex_);
  // Looking at every file costs more than most stores: once at the start, then after some
  // megabytes.
  bool first = written_ == 0;
  written_ += bytes.size() + sizeof header;
  if (first || written_ > (8u << 20)) {
    trim();
    written_ = 1;
  }
}

std::shared_ptr<void> DiskCache::turn(std::string_view key, void (*waiting)()) {
  const std::string path = fmt::format("{}/turn-{}", directory_, key);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
  if (file < 0) return nullptr;
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  // Not blocking: who has it may have been stopped.
  while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK || std::chrono::steady_clock::now() > end) {
      ::close(file);
      return nullptr;
    }
    waiting();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  // Who has opened the removed file still gets its turn, and finds the entry.
  return {this, [file, path](void*) {
            ::unlink(path.c_str());
            ::close(file);
          }};
}

void DiskCache::trim() {
  struct File {
    fs::path path;
    fs::file_time_type used;
    std::uint64_t bytes;
  };
  std::vector<File> files;
  std::uint64_t total = 0;
  std::error_code error;
  auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator it(directory_, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;
    std::string name = it->path().filename().string();
    auto used = it->last_write_time(ignored);
    if (name.starts_with("tmp-") || name.starts_with("turn-")) {
      // Left by a process that was killed in mid-write.
      if (now - used > std::chrono::hours(1)) fs::remove(it->path(), ignored);
      continue;
    }
    if (!name.starts_with("t-") && !name.starts_with("p-") && !name.starts_with("h-")) continue;
    std::uint64_t bytes = it->file_size(ignored);
    files.push_back({it->path(), used, bytes});
    total += bytes;
  }
  std::uint64_t limit = limit_bytes();
  if (total <= limit) return;
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.used < b.used; });
  for (const File& file : files) {
    if (total <= limit / 4 * 3) break;
    std::error_code ignored;
    if (fs::remove(file.path, ignored)) total -= file.bytes;
  }
}

}  // namespace ptx2spv::runtime
