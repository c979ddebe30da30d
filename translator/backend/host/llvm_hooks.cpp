#include "translator/backend/host/llvm_hooks.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstring>

namespace ptx2spv::interpreter::llvm {

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kCall = R_X86_64_JUMP_SLOT, kAddress = R_X86_64_GLOB_DAT;
#else
constexpr std::uint32_t kCall = R_AARCH64_JUMP_SLOT, kAddress = R_AARCH64_GLOB_DAT;
#endif

/// In the place of __cxa_atexit: says that the destructor is registered.
int register_nothing(void (*)(void*), void*, void*) { return 0; }

thread_local Leaving* t_leaving = nullptr;
thread_local bool t_inside = false;

void stand_still_if_asked() {
  if (!t_inside || !t_leaving->asked.load(std::memory_order_relaxed)) return;
  // Signals are for the threads that go on.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  t_leaving->state = Leaving::left;
  t_leaving->state.notify_all();
  for (;;) pause();
}

void* move_memory(void* to, const void* from, std::size_t bytes) {
  stand_still_if_asked();
  return std::memmove(to, from, bytes);
}

void* fill_memory(void* to, int with, std::size_t bytes) {
  stand_still_if_asked();
  return std::memset(to, with, bytes);
}

void* hook_of(const char* name) {
  const auto is = [name](const char* other) { return std::strcmp(name, other) == 0; };
  if (is("__cxa_atexit")) return reinterpret_cast<void*>(&register_nothing);
  if (is("memmove")) return reinterpret_cast<void*>(&move_memory);
  return is("memset") ? reinterpret_cast<void*>(&fill_memory) : nullptr;
}

/// The relocations of a library, as its dynamic section has them.
struct Relocations {
  const ElfW(Rela) * first[2] = {};
  std::size_t bytes[2] = {};
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;

  explicit Relocations(const link_map& library) {
    for (const ElfW(Dyn)* each = library.l_ld; each->d_tag != DT_NULL; ++each) {
      const ElfW(Addr) address = each->d_un.d_ptr;
      if (each->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(address);
      if (each->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(address);
      if (each->d_tag == DT_JMPREL) first[0] = reinterpret_cast<const ElfW(Rela)*>(address);
      if (each->d_tag == DT_PLTRELSZ) bytes[0] = each->d_un.d_val;
      if (each->d_tag == DT_RELA) first[1] = reinterpret_cast<const ElfW(Rela)*>(address);
      if (each->d_tag == DT_RELASZ) bytes[1] = each->d_un.d_val;
    }
  }
};

void set_pointer(ElfW(Addr) at, void* to) {
  const auto page = static_cast<ElfW(Addr)>(getpagesize());
  // It may be in a page that the dynamic linker protected once it had relocated the library.
  if (mprotect(reinterpret_cast<void*>(at & ~(page - 1)), page, PROT_READ | PROT_WRITE) == 0)
    std::atomic_ref(*reinterpret_cast<void**>(at)).store(to, std::memory_order_release);
}

}  // namespace

MayBeLeft::MayBeLeft() { t_inside = t_leaving != nullptr; }
MayBeLeft::~MayBeLeft() { t_inside = false; }
void MayBeLeft::obey(Leaving& leaving) { t_leaving = &leaving; }
void MayBeLeft::obey_now() { stand_still_if_asked(); }

void hook(void* library) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || !map) return;
  const Relocations all(*map);
  if (!all.symbols || !all.names) return;
  for (int part = 0; part < 2; ++part)
    for (std::size_t i = 0; i < all.bytes[part] / sizeof *all.first[part]; ++i) {
      const ElfW(Rela)& each = all.first[part][i];
      const auto kind = static_cast<std::uint32_t>(ELF64_R_TYPE(each.r_info));
      if (kind != kCall && kind != kAddress) continue;
      const char* name = all.names + all.symbols[ELF64_R_SYM(each.r_info)].st_name;
      if (void* own = hook_of(name)) set_pointer(map->l_addr + each.r_offset, own);
    }
}

}  // namespace ptx2spv::interpreter::llvm
