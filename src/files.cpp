#include "src/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ptx2spv::runtime {

std::string read_file(const std::string& path, std::uint64_t most, std::string& bytes) {
  struct Descriptor {
    int fd;
    ~Descriptor() {
      if (fd >= 0) ::close(fd);
    }
  } file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat info {};
  if (file.fd < 0 || ::fstat(file.fd, &info) != 0) return std::strerror(errno);
  const std::uint64_t known = S_ISREG(info.st_mode) ? static_cast<std::uint64_t>(info.st_size) : 0;
  const std::string too_large = "it is larger than " + std::to_string(most) + " bytes";
  if (known > most) return too_large;
  bytes.clear();
  std::size_t used = 0;
  while (true) {
    // One byte more than is known shows the end.
    if (used == bytes.size()) bytes.resize(std::max<std::size_t>({known + 1, used * 2, 1 << 16}));
    const ssize_t count = ::read(file.fd, bytes.data() + used, bytes.size() - used);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::strerror(errno);
    used += static_cast<std::size_t>(count);
    if (used > most) return too_large;
    if (count == 0) break;
  }
  bytes.resize(used);
  return {};
}

}  // namespace ptx2spv::runtime
