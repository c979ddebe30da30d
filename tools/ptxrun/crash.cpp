#include "tools/ptxrun/crash.hpp"

#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>

#include <sys/resource.h>
#include <unistd.h>

namespace ptx2spv::tools {
namespace {

// The text is made before, since a handler may hardly do more than write (signal-safety(7)).
char g_before[512], g_limit[160];
volatile std::sig_atomic_t g_running = 0;

void put(const char* text) {
  if (::write(2, text, std::strlen(text)) < 0) return;
}

extern "C" void report_crash(int, siginfo_t* info, void*) {
  if (!g_running) return;
  char address[19] = "0x0000000000000000";
  auto value = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (int digit = 17; digit > 1; --digit, value >>= 4)
    address[digit] = "0123456789abcdef"[value & 15];
  put(g_before);
  put(address);
  put(" was accessed, where no memory is; Vulkan does not check global memory "
      "(docs/troubleshooting.md)\n");
  put(g_limit);
}

}  // namespace

CrashContext::CrashContext(const std::string& kernel) {
  const std::string text =
      "ptxrun: error: while kernel '" + kernel.substr(0, 300) + "' was prepared or ran, address ";
  std::memcpy(g_before, text.c_str(), text.size() + 1);
  rlimit limit{};
  const bool limited = ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  const std::string of_memory =
      limited ? "ptxrun: note: memory is limited to " + std::to_string(limit.rlim_cur >> 20) +
                    " MiB (ulimit -v); a driver that gets none may end like this too\n"
              : "";
  std::memcpy(g_limit, of_memory.c_str(), of_memory.size() + 1);
  g_running = 1;
  struct sigaction action {};
  action.sa_sigaction = report_crash;
  // The default action follows when the faulting instruction is carried out again.
  action.sa_flags = SA_SIGINFO | static_cast<int>(SA_RESETHAND);
  for (int number : {SIGSEGV, SIGBUS}) ::sigaction(number, &action, nullptr);
}

CrashContext::~CrashContext() {
  g_running = 0;
  for (int number : {SIGSEGV, SIGBUS}) std::signal(number, SIG_DFL);
}

}  // namespace ptx2spv::tools
