// Pages that the host and kernels share, kept from the host while a kernel changes them by
// operations that are not atomic with the host's: an access of the host's waits for the kernel.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace ptx2spv::runtime {

/// Thread-safe.
class PageGuard {
 public:
  /// Whether the submission of a value is over. Handlers of signals call it: it takes no lock that
  /// a thread may have while it accesses the pages.
  using Over = std::function<bool(std::uint64_t value)>;
  /// For kernels that wait for what others store: so long may an access of the host's take. The
  /// kernel may be waiting for it, so that it is carried out then, and the loss is reported.
  static constexpr std::chrono::milliseconds kPatience{10'000};

  explicit PageGuard(Over over, std::chrono::milliseconds patience = kPatience);
  PageGuard(const PageGuard&) = delete;
  PageGuard& operator=(const PageGuard&) = delete;
  ~PageGuard();

  /// Bytes that alone fill the pages that they lie in.
  void add(std::span<std::byte> bytes);
  void remove(const std::byte* first);

  /// Keeps the pages from the host, for a kernel that the calling thread is about to submit. False:
  /// there are none, or the process may not protect them.
  bool close(const std::string& kernel, bool waits);
  /// The kernel is over when the submission of `value` is; 0: it was not submitted.
  void until(std::uint64_t value);
  /// Opens the pages where what they are closed for is over: before whoever waited for `value` is
  /// told, because system calls do not wait for pages.
  void reached(std::uint64_t value) {
    if (closed_.load(std::memory_order_acquire)) open_after(value);
  }

  /// For a handler of SIGSEGV: whether the pages at `address` are a guard's and the access can be
  /// carried out now.
  static bool admit(const void* address);

 private:
  void open_after(std::uint64_t value);
  bool protect(int protection) const;
  void open();           ///< the caller has the lock
  bool is_over() const;  ///< likewise
  bool has(const std::byte* address) const;
  void report(const void* address) const;

  const Over over_;
  const std::chrono::milliseconds patience_;
  std::vector<std::span<std::byte>> pages_;
  std::atomic<bool> closed_{false};
  unsigned submitting_ = 0;  ///< threads between close and until
  std::uint64_t until_ = 0;
  bool waits_ = false;
  char kernel_[400] = "";
};

}  // namespace ptx2spv::runtime
