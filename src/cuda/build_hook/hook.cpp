// Preloaded into a build by `ptxexec build`: whoever starts nvcc, clang or a linker that is given
// CUDA's static runtime library or the driver's, by whatever path, starts `ptxexec --build-step`
// with that command, which changes its options. A child of vfork calls these functions, so they
// allocate nothing.
#include <dlfcn.h>
#include <spawn.h>
#include <unistd.h>

#include <alloca.h>
#include <atomic>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "src/cuda/build_hook/names.hpp"

extern char** environ;

namespace {

char g_ptxexec[PATH_MAX];

using ptx2spv::cuda::is_clang;
using ptx2spv::cuda::is_linker;
using Arguments = char* const*;

const char* base_of(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/// Whether `file` can be started: who searches PATH tries one folder after another, and has to be
/// told where there is none.
bool is_there(const char* file) {
  if (std::strchr(file, '/')) return access(file, X_OK) == 0;
  char path[PATH_MAX];
  for (const char* at = std::getenv("PATH"); at && *at;) {
    const char* end = std::strchr(at, ':');
    const int length = static_cast<int>(end ? end - at : static_cast<long>(std::strlen(at)));
    std::snprintf(path, sizeof path, "%.*s/%s", length, at, file);
    if (access(length ? path : file, X_OK) == 0) return true;
    at = end ? end + 1 : nullptr;
  }
  return false;
}

/// Whether the command may need a change: ptxexec itself decides, but costs a process.
bool concerns(const char* path, Arguments argv) {
  const char* base = base_of(path);
  if (std::strcmp(base, "nvcc") == 0) return true;
  const bool linker = is_linker(base);
  if (!linker && !is_clang(base)) return false;
  for (Arguments each = argv; *each; ++each) {
    if (**each == '@' || std::strstr(*each, linker ? "cudart_static" : "cuda")) return true;
    if (linker && std::strcmp(*each, "-lcuda") == 0) return true;
    const char* dot = linker ? nullptr : std::strrchr(*each, '.');
    if (dot && std::strcmp(dot, ".cu") == 0) return true;
  }
  return false;
}

int count(Arguments argv) {
  int number = 0;
  while (argv[number]) ++number;
  return number;
}

/// ptxexec --build-step PATH argv[0] argv[1]...
void wrap(const char* path, Arguments argv, char** wrapped) {
  wrapped[0] = g_ptxexec;
  wrapped[1] = const_cast<char*>("--build-step");
  wrapped[2] = const_cast<char*>(path);
  std::memcpy(wrapped + 3, argv, sizeof(char*) * static_cast<std::size_t>(count(argv) + 1));
}

/// A function of the C library. Others' constructors may start programs before ours has run.
template <typename Function>
class Next {
 public:
  constexpr explicit Next(const char* name) : name_(name) {}
  Function* get() {
    Function* found = found_.load(std::memory_order_relaxed);
    if (!found)
      found_.store(found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name_)),
                   std::memory_order_relaxed);
    return found;
  }

 private:
  const char* name_;
  std::atomic<Function*> found_{nullptr};
};
using Exec = int(const char*, Arguments, Arguments);
using Spawn = int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                  Arguments, Arguments);
constinit Next<Exec> g_execve{"execve"};
constinit Next<Exec> g_execvpe{"execvpe"};
constinit Next<Spawn> g_spawn{"posix_spawn"};
constinit Next<Spawn> g_spawnp{"posix_spawnp"};

__attribute__((constructor)) void begin() {
  const char* path = std::getenv("PTX2SPV_BUILD");
  if (path) std::snprintf(g_ptxexec, sizeof g_ptxexec, "%s", path);
  (void)g_execve.get(), (void)g_execvpe.get(), (void)g_spawn.get(), (void)g_spawnp.get();
}

/// Starts `path`, or ptxexec in front of it, by a function (path, argv, the rest...) of the C
/// library.
template <typename Start>
int start(const char* path, Arguments argv, Start&& with) {
  if (!path || !argv || !*argv || !g_ptxexec[0] || !concerns(path, argv) || !is_there(path))
    return with(path, argv);
  auto** wrapped =
      static_cast<char**>(alloca(sizeof(char*) * static_cast<std::size_t>(count(argv) + 4)));
  wrap(path, argv, wrapped);
  return with(g_ptxexec, wrapped);
}

/// The arguments of execl and its like, the first one included, as an array of `number` and a null.
/// The C library's headers promise a first one, which programs may not keep: read it as volatile.
#define PTX2SPV_GATHER(first, argv)                                                                \
  std::va_list list;                                                                               \
  va_start(list, first);                                                                           \
  const char* volatile start_of_##argv = first;                                                    \
  int number = start_of_##argv ? 1 : 0;                                                            \
  while (number && va_arg(list, char*)) ++number;                                                  \
  va_end(list);                                                                                    \
  auto** argv = static_cast<char**>(alloca(sizeof(char*) * static_cast<std::size_t>(number + 1))); \
  va_start(list, first);                                                                           \
  argv[0] = const_cast<char*>(first);                                                              \
  for (int i = 1; i <= number; ++i) argv[i] = va_arg(list, char*)

}  // namespace

#define PTX2SPV_HOOK extern "C" __attribute__((visibility("default"))) int

PTX2SPV_HOOK execve(const char* path, Arguments argv, Arguments envp) noexcept {
  return start(path, argv, [&](const char* p, Arguments a) { return g_execve.get()(p, a, envp); });
}
PTX2SPV_HOOK execv(const char* path, Arguments argv) noexcept {
  return execve(path, argv, environ);
}
PTX2SPV_HOOK execvpe(const char* file, Arguments argv, Arguments envp) noexcept {
  return start(file, argv, [&](const char* p, Arguments a) { return g_execvpe.get()(p, a, envp); });
}
PTX2SPV_HOOK execvp(const char* file, Arguments argv) noexcept {
  return execvpe(file, argv, environ);
}
PTX2SPV_HOOK execl(const char* path, const char* first, ...) noexcept {
  PTX2SPV_GATHER(first, argv);
  va_end(list);
  return execve(path, argv, environ);
}
PTX2SPV_HOOK execlp(const char* file, const char* first, ...) noexcept {
  PTX2SPV_GATHER(first, argv);
  va_end(list);
  return execvpe(file, argv, environ);
}
PTX2SPV_HOOK execle(const char* path, const char* first, ...) noexcept {
  PTX2SPV_GATHER(first, argv);
  Arguments envp = va_arg(list, Arguments);
  va_end(list);
  return execve(path, argv, envp);
}
PTX2SPV_HOOK posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                         const posix_spawnattr_t* attributes, Arguments argv, Arguments envp) {
  return start(path, argv, [&](const char* p, Arguments a) {
    return g_spawn.get()(pid, p, actions, attributes, a, envp);
  });
}
PTX2SPV_HOOK posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                          const posix_spawnattr_t* attributes, Arguments argv, Arguments envp) {
  return start(file, argv, [&](const char* p, Arguments a) {
    return g_spawnp.get()(pid, p, actions, attributes, a, envp);
  });
}
