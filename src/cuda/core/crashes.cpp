#include "src/cuda/core/crashes.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <utility>

#include "ptx2spv/interpreter.hpp"
#include "src/crash_text.hpp"
#include "src/device/device.hpp"

namespace ptx2spv::cuda {

namespace {

using runtime::put_fault;
using runtime::put_text;

constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

/// A driver's code.
struct CodeRange {
  std::uintptr_t first = 0, end = 0;
};

// Handlers read all of this, so that nothing here moves or is freed.
std::array<CodeRange, 32> g_code;
std::atomic<std::size_t> g_ranges{0};
std::array<struct sigaction, kSignals.size()> g_before;

struct Name {
  std::atomic<bool> whole{false};
  char text[400] = "";
};
std::array<Name, 4> g_launched;  ///< the names launched last, a ring
std::atomic<std::uint32_t> g_launches{0};
std::mutex g_names;

thread_local bool t_program = false, t_launching = false;

/// Whether a word of the thread's stack is an address in a driver's code: threads that a driver
/// started have one near their beginning.
bool is_driver_thread(const void* context) {
#ifdef __x86_64__
  auto at = static_cast<std::uintptr_t>(
      static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
  auto at = static_cast<std::uintptr_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.sp);
#else
  std::uintptr_t at = 0;
#endif
  at &= ~std::uintptr_t{7};
  const std::size_t ranges = g_ranges.load(std::memory_order_acquire);
  constexpr std::size_t kMost = std::size_t{16} << 20;
  std::array<std::uintptr_t, 512> words;
  for (std::size_t done = 0; at && done < kMost; done += sizeof words) {
    // The call fails where the stack ends; up to a page's end it reads what is there.
    const std::size_t left = 4096 - at % 4096;
    const iovec to{words.data(), left}, from{reinterpret_cast<void*>(at), left};
    const ssize_t count = ::process_vm_readv(::getpid(), &to, 1, &from, 1, 0);
    if (count <= 0) return false;
    for (std::size_t k = 0; k < static_cast<std::size_t>(count) / sizeof words[0]; ++k)
      for (std::size_t r = 0; r < ranges; ++r)
        if (words[k] >= g_code[r].first && words[k] < g_code[r].end) return true;
    at += static_cast<std::size_t>(count);
  }
  return false;
}

void put_names() {
  const std::uint32_t count = g_launches.load(std::memory_order_acquire);
  bool any = false;
  for (std::uint32_t back = 1; back <= std::min<std::uint32_t>(count, g_launched.size()); ++back) {
    const Name& name = g_launched[(count - back) % g_launched.size()];
    if (!name.whole.load(std::memory_order_acquire)) continue;
    put_text(any ? ", before it '" : "'");
    put_text(name.text);
    put_text("'");
    any = true;
  }
}

constexpr const char* kUnchecked =
    "ptx2spv: note: Vulkan does not check global memory; ptxexec --sanitize finds a wrong access\n";

/// Of a kernel that this thread interprets.
void tell_of(const char* kernel, const siginfo_t& info) {
  put_text("ptx2spv: error: kernel '");
  put_text(kernel);
  put_text("' crashed; ");
  put_fault(info);
  put_text("\n");
  put_text(kUnchecked);
}

void tell(int number, const siginfo_t& info) {
  if (const char* kernel = InterpretedKernel::running()) return tell_of(kernel, info);
  put_text(t_launching ? "ptx2spv: error: the Vulkan driver crashed while it was given a kernel: "
                       : "ptx2spv: error: the Vulkan driver crashed, perhaps while a kernel ran: "
                         "launched last was ");
  put_names();
  if (number == SIGSEGV || number == SIGBUS) {
    put_text("; ");
    put_fault(info);
  }
  put_text("\n");
  if (runtime::no_memory_left())
    put_text("ptx2spv: note: the process has no memory left (ulimit -v)\n");
  else if (!t_launching)
    put_text(kUnchecked);
}

extern "C" void on_fatal_signal(int number, siginfo_t* info, void* context) {
  const int before_error = errno;
  if (number == SIGSEGV && info->si_code > 0 && runtime::PageGuard::admit(info->si_addr)) {
    errno = before_error;
    return;
  }
  static std::atomic<bool> told{false};
  // Not what another process sends.
  const bool own_fault =
      info->si_code > 0 || (info->si_code == SI_TKILL && info->si_pid == ::getpid());
  if (own_fault &&
      (InterpretedKernel::running() || t_launching || (!t_program && is_driver_thread(context))) &&
      !told.exchange(true))
    tell(number, *info);
  const auto* const place = std::find(kSignals.begin(), kSignals.end(), number);
  struct sigaction& before = g_before[static_cast<std::size_t>(place - kSignals.begin())];
  errno = before_error;
  const bool own = (before.sa_flags & SA_SIGINFO) != 0;
  if (own || (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)) {
    const struct sigaction chained = before;
    if (before.sa_flags & static_cast<int>(SA_RESETHAND)) {
      before = {};
      before.sa_handler = SIG_DFL;
    }
    if (own)
      chained.sa_sigaction(number, info, context);
    else
      chained.sa_handler(number);
    return;
  }
  // The instruction is carried out again and ends the process; what was sent, by raise() or
  // another process, is sent again.
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  ::sigaction(number, &plain, nullptr);
  if (info->si_code <= 0) ::raise(number);
}

/// The code of the library that holds `function`.
void add_code(const void* function) {
  Dl_info found{};
  if (!function || ::dladdr(function, &found) == 0) return;
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* base) {
        if (reinterpret_cast<void*>(object->dlpi_addr) != base) return 0;
        for (int k = 0; k < object->dlpi_phnum; ++k) {
          const auto& header = object->dlpi_phdr[k];
          const std::size_t used = g_ranges.load(std::memory_order_relaxed);
          if (header.p_type != PT_LOAD || !(header.p_flags & PF_X) || used == g_code.size())
            continue;
          const std::uintptr_t first = object->dlpi_addr + header.p_vaddr;
          g_code[used] = {first, first + header.p_memsz};
          g_ranges.store(used + 1, std::memory_order_release);
        }
        return 1;
      },
      found.dli_fbase);
}

}  // namespace

void report_crashes(const Device& device) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  // From the device, not the loader: the driver's own function.
  add_code(reinterpret_cast<const void*>(device.state()->vk.CreateComputePipelines));
  static bool installed = false;
  if (std::exchange(installed, true)) return;
  for (std::size_t k = 0; k < kSignals.size(); ++k) {
    ::sigaction(kSignals[k], nullptr, &g_before[k]);
    struct sigaction action {};
    action.sa_sigaction = on_fatal_signal;
    action.sa_mask = g_before[k].sa_mask;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | (g_before[k].sa_flags & SA_NODEFER);
    ::sigaction(kSignals[k], &action, nullptr);
  }
}

void note_program_thread() { t_program = true; }

LaunchWatch::LaunchWatch(const std::string& kernel) {
  const std::uint32_t count = g_launches.load(std::memory_order_relaxed);
  const Name& last = g_launched[(count - 1) % g_launched.size()];
  if (count == 0 || !last.whole.load(std::memory_order_acquire) || kernel != last.text) {
    const std::lock_guard lock(g_names);
    const std::uint32_t now = g_launches.load(std::memory_order_relaxed);
    Name& name = g_launched[now % g_launched.size()];
    name.whole.store(false, std::memory_order_release);
    std::strncpy(name.text, kernel.c_str(), sizeof name.text - 1);
    name.whole.store(true, std::memory_order_release);
    g_launches.store(now + 1, std::memory_order_release);
  }
  t_launching = true;
}

LaunchWatch::~LaunchWatch() { t_launching = false; }

}  // namespace ptx2spv::cuda
