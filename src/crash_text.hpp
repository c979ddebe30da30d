// What a handler of fatal signals may do (signal-safety(7)): write what was made before.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ptx2spv::runtime {

/// Writes to standard error.
inline void put_text(const char* text) {
  if (::write(2, text, std::strlen(text)) < 0) return;
}

inline void put_address(const void* address) {
  char text[] = "0x0000000000000000";
  auto value = reinterpret_cast<std::uintptr_t>(address);
  for (int digit = 17; digit > 1; --digit, value >>= 4)
    text[digit] = "0123456789abcdef"[value & 15];
  put_text(text);
}

/// Which address a fault was about. x86 does not tell one beyond all that there may be.
inline void put_fault(const siginfo_t& info) {
  if (info.si_code == SI_KERNEL) {
    put_text("an address was accessed that no memory can have");
    return;
  }
  put_text("address ");
  put_address(info.si_addr);
  put_text(" was accessed, where no memory is");
}

/// Whether a limit of addresses keeps the process from as much as a thread of a driver takes.
inline bool no_memory_left() {
  constexpr std::size_t kThread = std::size_t{80} << 20;  // its stack, and an arena of malloc's
  void* piece =
      ::mmap(nullptr, kThread, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (piece == MAP_FAILED) return true;
  ::munmap(piece, kThread);
  return false;
}

}  // namespace ptx2spv::runtime
