// A file opened for reading, by the libraries and by tools that link none of them.
#pragma once

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>

namespace ptx2spv::runtime {

/// Reads what open(2) can name. A FIFO is read as long as a process has it open for writing; one
/// that nobody opens is an error, where open(2) would wait for ever.
class InputFile {
 public:
  /// How long nobody else may have a FIFO open.
  static constexpr std::chrono::seconds kNoPartner{2};

  explicit InputFile(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)), owned_(true) {
    look();
  }
  /// One that is open, which stays so.
  explicit InputFile(int descriptor) : fd_(descriptor), owned_(false) { look(); }
  ~InputFile() {
    if (owned_ && fd_ >= 0) ::close(fd_);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Why it cannot be read; empty as long as it can.
  const std::string& error() const { return error_; }
  bool is_folder() const { return S_ISDIR(info_.st_mode); }
  /// Of a regular file; 0 of anything else.
  std::uint64_t bytes() const {
    return S_ISREG(info_.st_mode) ? static_cast<std::uint64_t>(info_.st_size) : 0;
  }

  /// Up to `most` bytes; 0 at the end and where there is an error.
  std::size_t read(void* to, std::size_t most) {
    const auto start = std::chrono::steady_clock::now();
    while (true) {
      const ssize_t count = ::read(fd_, to, most);
      if (count > 0) {
        written_ = true;
        return static_cast<std::size_t>(count);
      }
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        written_ = true;  // by a process that has it open
        pollfd wait{fd_, POLLIN, 0};
        ::poll(&wait, 1, -1);
        continue;
      }
      if (count < 0) error_ = std::strerror(errno);
      if (count < 0 || !named_fifo_ || written_) return 0;
      if (std::chrono::steady_clock::now() - start > kNoPartner) {
        error_ = "is a FIFO that no process writes to";
        return 0;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

 private:
  void look() {
    if (fd_ < 0 || ::fstat(fd_, &info_) != 0) {
      error_ = std::strerror(errno);
      return;
    }
    // A shell's `<(command)` is a pipe that had its writer from the start.
    struct statfs system {};
    named_fifo_ = owned_ && S_ISFIFO(info_.st_mode) &&
                  !(::fstatfs(fd_, &system) == 0 && system.f_type == PIPEFS_MAGIC);
  }

  int fd_;
  bool owned_, named_fifo_ = false, written_ = false;
  struct stat info_ {};
  std::string error_;
};

}  // namespace ptx2spv::runtime
