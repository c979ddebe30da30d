// Preloaded by tests (LD_PRELOAD): faults in what the process writes to files whose name begins
// with tmp-. After PTX2SPV_KILLED_AT bytes it ends by SIGKILL, as if killed from outside (at its
// rename of such a file where they are fewer); after PTX2SPV_FULL_AT bytes the disk is full.
// Nothing depends on how long a write takes, and no other file counts.
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool is_temporary(const char* path) {
  const char* name = std::strrchr(path, '/');
  return std::strncmp(name ? name + 1 : path, "tmp-", 4) == 0;
}

bool is_temporary(int file) {
  char link[64], path[PATH_MAX];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = ::readlink(link, path, sizeof path - 1);
  if (length <= 0) return false;
  path[length] = 0;
  return is_temporary(path);
}

/// The bytes that may still be written, below 0: any number.
long long number(const char* name) {
  const char* text = std::getenv(name);
  return text ? std::atoll(text) : -1LL;
}
long long g_until_killed = number("PTX2SPV_KILLED_AT");
long long g_until_full = number("PTX2SPV_FULL_AT");

}  // namespace

extern "C" ssize_t write(int file, const void* data, size_t count) {
  long long& left = g_until_killed >= 0 ? g_until_killed : g_until_full;
  if (left < 0 || !is_temporary(file)) return ::syscall(SYS_write, file, data, count);
  if (left == 0 && g_until_killed < 0) {
    errno = ENOSPC;
    return -1;
  }
  const ssize_t wrote =
      ::syscall(SYS_write, file, data, std::min(count, static_cast<size_t>(left)));
  left -= wrote > 0 ? wrote : 0;
  if (g_until_killed == 0) ::raise(SIGKILL);
  return wrote;
}

extern "C" int rename(const char* from, const char* to) {
  if (g_until_killed >= 0 && is_temporary(from)) ::raise(SIGKILL);
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
