#include "src/vulkan/page_guard.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <mutex>
#include <utility>

#include "src/crash_text.hpp"

namespace ptx2spv::runtime {

namespace {

/// The process's guards. Who has the lock touches none of their pages, so that a handler may take
/// it.
struct Guards {
  std::mutex mutex;
  std::vector<PageGuard*> all;
};
Guards& guards() {
  static auto* list = new Guards;
  return *list;
}

thread_local bool t_submits = false;  ///< this thread is between close and until

/// Another thread may have opened the pages before this one's handler looks. An address that is
/// refused so often though they are open is refused for another reason.
bool opened_meanwhile(const void* address) {
  constexpr unsigned kMost = 3;
  static thread_local const void* last = nullptr;
  static thread_local unsigned times = 0;
  times = std::exchange(last, address) == address ? times + 1 : 0;
  return times < kMost;
}

void pause() {
  const timespec time{0, 20'000};
  ::nanosleep(&time, nullptr);
}

}  // namespace

PageGuard::PageGuard(Over over, std::chrono::milliseconds patience)
    : over_(std::move(over)), patience_(patience) {
  const std::lock_guard lock(guards().mutex);
  guards().all.push_back(this);
}

PageGuard::~PageGuard() {
  const std::lock_guard lock(guards().mutex);
  open();
  std::erase(guards().all, this);
}

void PageGuard::add(std::span<std::byte> bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::lock_guard lock(guards().mutex);
  pages_.emplace_back(bytes.data(), (bytes.size() + page - 1) / page * page);
}

void PageGuard::remove(const std::byte* first) {
  const std::lock_guard lock(guards().mutex);
  const auto found = std::ranges::find(pages_, first, &std::span<std::byte>::data);
  if (found == pages_.end()) return;
  ::mprotect(found->data(), found->size(), PROT_READ | PROT_WRITE);
  pages_.erase(found);
}

bool PageGuard::protect(int protection) const {
  return std::ranges::all_of(pages_, [&](const std::span<std::byte>& each) {
    return ::mprotect(each.data(), each.size(), protection) == 0;
  });
}

void PageGuard::open() {
  if (closed_) protect(PROT_READ | PROT_WRITE);
  closed_ = false;
}

bool PageGuard::close(const std::string& kernel, bool waits) {
  const std::lock_guard lock(guards().mutex);
  if (pages_.empty()) return false;
  std::strncpy(kernel_, kernel.c_str(), sizeof kernel_ - 1);
  waits_ = closed_ ? waits_ || waits : waits;
  closed_ = true;
  if (!protect(PROT_NONE)) {
    open();
    return false;
  }
  ++submitting_;
  t_submits = true;
  return true;
}

void PageGuard::until(std::uint64_t value) {
  const std::lock_guard lock(guards().mutex);
  until_ = std::max(until_, value);
  --submitting_;
  t_submits = false;
  if (!value && is_over()) open();
}

bool PageGuard::is_over() const { return submitting_ == 0 && over_(until_); }

void PageGuard::open_after(std::uint64_t value) {
  const std::lock_guard lock(guards().mutex);
  if (submitting_ == 0 && value >= until_) open();
}

bool PageGuard::has(const std::byte* address) const {
  return std::ranges::any_of(pages_, [&](const std::span<std::byte>& each) {
    return address >= each.data() && address < each.data() + each.size();
  });
}

void PageGuard::report(const void* address) const {
  put_text("ptx2spv: warning: the host accessed managed memory at ");
  put_address(address);
  put_text(" while kernel '");
  put_text(kernel_);
  put_text(
      "' waited, whose atomic operations of system scope are not atomic with the host's on this "
      "device (concurrentManagedAccess is 0): what either writes may be lost\n");
}

bool PageGuard::admit(const void* address) {
  const auto since = std::chrono::steady_clock::now();
  for (;; pause()) {
    const std::lock_guard lock(guards().mutex);
    const auto found = std::ranges::find_if(guards().all, [&](const PageGuard* each) {
      return each->has(static_cast<const std::byte*>(address));
    });
    if (found == guards().all.end()) return false;
    PageGuard& guard = **found;
    if (!guard.closed_) return opened_meanwhile(address);
    const bool late = guard.waits_ && std::chrono::steady_clock::now() - since >= guard.patience_;
    if (!late && !t_submits && !guard.is_over()) continue;
    if (late) guard.report(address);
    guard.open();
    return true;
  }
}

}  // namespace ptx2spv::runtime
