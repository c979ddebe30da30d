#include "translator/backend/host/llvm_api.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

#include <fmt/format.h>

#include "translator/backend/host/llvm_hooks.hpp"

namespace ptx2spv::interpreter::llvm {

namespace {

#if defined(__x86_64__)
constexpr const char* kTarget = "X86";
#elif defined(__aarch64__)
constexpr const char* kTarget = "AArch64";
#else
constexpr const char* kTarget = nullptr;
#endif

/// The names that Debian, Ubuntu and Fedora give the library, from the newest version on.
constexpr const char* kFiles[] = {
    "libLLVM.so.19.1", "libLLVM.so.18.1", "libLLVM-17.so.1", "libLLVM-17.so",   "libLLVM-16.so.1",
    "libLLVM-16.so",   "libLLVM-15.so.1", "libLLVM-15.so",   "libLLVM-14.so.1", "libLLVM-14.so"};

/// A Vulkan driver may have loaded one already, which is shared then.
void* open_library(std::string& file) {
  for (const int only_loaded : {RTLD_NOLOAD, 0})
    for (const char* name : kFiles)
      if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL | only_loaded)) {
        file = name;
        return library;
      }
  return nullptr;
}

/// Of a library: its file's size and time.
std::string version_of(void* library, const std::string& file) {
  Dl_info info{};
  struct stat status {};
  void* symbol = dlsym(library, "LLVMContextCreate");
  if (!symbol || !dladdr(symbol, &info) || stat(info.dli_fname, &status) != 0) return file;
  return fmt::format("{} {} {}", file, status.st_size, status.st_mtime);
}

struct Loaded {
  Api api;
  std::string problem;

  Loaded() {
    if (!kTarget) {
      problem = "kernels are compiled for x86-64 and AArch64 alone";
      return;
    }
    void* library = open_library(api.file);
    if (!library) {
      problem = "libLLVM (14 to 19) is not installed";
      return;
    }
    api.version = version_of(library, api.file);
    // Handlers of the process's end run last registered first: the objects that LLVM makes while it
    // compiles would be gone while the thread that compiles uses them.
    hook(library);
    const auto find = [&](auto& function, const std::string& name) {
      void* found = dlsym(library, name.c_str());
      if (!found && problem.empty()) problem = fmt::format("{} has no {}", api.file, name);
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
    };
#define FUNCTION(result, name, parameters) find(api.name, "LLVM" #name);
#include "translator/backend/host/llvm_api.def"
    for (const char* part : {"TargetInfo", "Target", "TargetMC", "AsmPrinter"}) {
      void (*initialize)() = nullptr;
      find(initialize, fmt::format("LLVMInitialize{}{}", kTarget, part));
      if (initialize) initialize();
    }
  }
};

}  // namespace

const Api* load_api(std::string& problem) {
  static const Loaded loaded;
  problem = loaded.problem;
  return problem.empty() ? &loaded.api : nullptr;
}

}  // namespace ptx2spv::interpreter::llvm
