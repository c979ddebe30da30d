#include "tools/ptxrun/crash.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <sys/resource.h>
#include <unistd.h>

#include "ptx2spv/interpreter.hpp"
#include "src/crash_text.hpp"
#include "tools/ptxrun/backend.hpp"

namespace ptx2spv::tools {
namespace {

using runtime::no_memory_left, runtime::put_fault, runtime::put_text;

// The text is made before, since a handler may hardly do more than write (signal-safety(7)).
char g_before[512], g_memory[512], g_limit[320];
volatile std::sig_atomic_t g_running = 0;

/// Of exit(): a driver's compiler that calls it has not taken the kernel.
void leave_for_the_driver() {
  if (!g_running) return;
  std::fflush(nullptr);
  ::_exit(static_cast<int>(Exit::too_small));
}

extern "C" void report_crash(int number, siginfo_t* info, void*) {
  const bool no_memory = g_memory[0] && no_memory_left();
  if (no_memory) put_text(g_memory);
  const char* const kernel = InterpretedKernel::running();
  if (kernel && number != SIGABRT) {
    put_text("ptxrun: error: kernel '");
    put_text(kernel);
    put_text("' crashed: ");
    put_fault(*info);
    put_text("; --sanitize finds a wrong access\n");
  } else if (g_running && number != SIGABRT) {
    put_text(no_memory ? "ptxrun: note: " : g_before);
    put_fault(*info);
    put_text(no_memory ? "\n"
                       : "; Vulkan does not check global memory (docs/user/troubleshooting.md)\n");
  }
  if (!no_memory) put_text(g_limit);
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

/// What is said of a crash `when` a limit of memory was reached; nothing without such a limit.
void set_memory_text(const std::string& when) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const std::string text = fmt::format(
      "ptxrun: error: out of memory: the driver crashed{}; memory is limited to {} MiB (ulimit "
      "-v)\n",
      when, limit.rlim_cur >> 20);
  std::memcpy(g_memory, text.c_str(), text.size() + 1);
}

}  // namespace

void report_limits_in_crashes() {
  set_memory_text("");
  const std::string limits =
      limit_note(RLIMIT_AS, 20,
                 "memory is limited to {} MiB (ulimit -v); a driver that gets none") +
      limit_note(RLIMIT_FSIZE, 10,
                 "files are limited to {} KiB (ulimit -f); a driver that keeps code in one");
  std::memcpy(g_limit, limits.c_str(), limits.size() + 1);
  if (!limits.empty()) report(true);
  std::atexit(leave_for_the_driver);
}

const char* limits_in_force() { return g_limit; }

CrashContext::CrashContext(const std::string& kernel) {
  const std::string text =
      "ptxrun: error: while kernel '" + kernel.substr(0, 300) + "' was prepared or ran, ";
  std::memcpy(g_before, text.c_str(), text.size() + 1);
  set_memory_text(" while kernel '" + kernel.substr(0, 300) + "' was prepared or ran");
  g_running = 1;
  report(true);
}

CrashContext::~CrashContext() {
  g_running = 0;
  set_memory_text("");
  report(g_limit[0] != 0);
}

}  // namespace ptx2spv::tools
