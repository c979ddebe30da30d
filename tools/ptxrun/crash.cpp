#include "tools/ptxrun/crash.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace ptx2spv::tools {
namespace {

// The text is made before, since a handler may hardly do more than write (signal-safety(7)).
char g_before[512], g_memory[512], g_limit[320];
volatile std::sig_atomic_t g_running = 0;

/// Whether a limit of addresses keeps the process from as much as a thread of a driver takes.
bool no_memory_left() {
  constexpr std::size_t kThread = std::size_t{80} << 20;  // its stack, and an arena of malloc's
  void* piece =
      ::mmap(nullptr, kThread, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (piece == MAP_FAILED) return true;
  ::munmap(piece, kThread);
  return false;
}

void put(const char* text) {
  if (::write(2, text, std::strlen(text)) < 0) return;
}

extern "C" void report_crash(int number, siginfo_t* info, void*) {
  const bool no_memory = g_running && g_memory[0] && no_memory_left();
  if (no_memory) put(g_memory);
  if (g_running && number != SIGABRT) {
    char address[19] = "0x0000000000000000";
    auto value = reinterpret_cast<std::uintptr_t>(info->si_addr);
    for (int digit = 17; digit > 1; --digit, value >>= 4)
      address[digit] = "0123456789abcdef"[value & 15];
    put(no_memory ? "ptxrun: note: address " : g_before);
    put(address);
    put(no_memory ? " was accessed, where no memory is\n"
                  : " was accessed, where no memory is; Vulkan does not check global memory "
                    "(docs/troubleshooting.md)\n");
  }
  if (!no_memory) put(g_limit);
}

/// The default action follows the report: a faulting instruction is carried out again, abort()
/// raises its signal once more.
void report(bool on) {
  struct sigaction action {};
  action.sa_sigaction = report_crash;
  action.sa_flags = SA_SIGINFO | static_cast<int>(SA_RESETHAND);
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT}) {
    if (on)
      ::sigaction(number, &action, nullptr);
    else
      std::signal(number, SIG_DFL);
  }
}

/// `text` with the limit in the place of {}, in units of 2^`shift` bytes; empty without a limit.
std::string limit_note(decltype(RLIMIT_AS) resource, int shift, const char* text) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return "ptxrun: note: " + fmt::format(fmt::runtime(text), limit.rlim_cur >> shift) +
         " may end like this too\n";
}

}  // namespace

void report_limits_in_crashes() {
  const std::string limits =
      limit_note(RLIMIT_AS, 20,
                 "memory is limited to {} MiB (ulimit -v); a driver that gets none") +
      limit_note(RLIMIT_FSIZE, 10,
                 "files are limited to {} KiB (ulimit -f); a driver that keeps code in one");
  std::memcpy(g_limit, limits.c_str(), limits.size() + 1);
  if (!limits.empty()) report(true);
}

const char* limits_in_force() { return g_limit; }

CrashContext::CrashContext(const std::string& kernel) {
  const std::string text =
      "ptxrun: error: while kernel '" + kernel.substr(0, 300) + "' was prepared or ran, address ";
  std::memcpy(g_before, text.c_str(), text.size() + 1);
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const std::string memory = fmt::format(
        "ptxrun: error: out of memory: the driver crashed while kernel '{}' was prepared or ran; "
        "memory is limited to {} MiB (ulimit -v)\n",
        kernel.substr(0, 300), limit.rlim_cur >> 20);
    std::memcpy(g_memory, memory.c_str(), memory.size() + 1);
  }
  g_running = 1;
  report(true);
}

CrashContext::~CrashContext() {
  g_running = 0;
  report(g_limit[0] != 0);
}

}  // namespace ptx2spv::tools
