// What compilers call before main: a program's device code, kernels and variables by the addresses
// that stand for them on the host.
#include <shared_mutex>

#include <fmt/format.h>

#include "src/cuda/cudart/face.hpp"

namespace ptx2spv::cuda {

namespace {

struct Variable {
  LibraryObject* library = nullptr;
  std::string name;
  std::size_t bytes = 0;
  void** managed = nullptr;  ///< the program's pointer to a __managed__ variable
  bool normalized = false;   ///< of a texture reference: integers are read as floats up to 1
};

/// One call of __cudaRegisterFatBinary.
struct Binary {
  const void* wrapper = nullptr;
  std::shared_ptr<LibraryObject> library;
  std::vector<const void*> functions, variables;
  std::vector<Variable> managed;
};

struct Registered {
  mutable std::shared_mutex mutex;
  std::unordered_map<const void*, KernelObject*> kernels;
  std::unordered_map<const void*, Variable> variables;
  std::map<void**, std::unique_ptr<Binary>> binaries;
};

Registered& registered() {
  static auto* all = new Registered;
  return *all;
}

Binary* binary_of(void** handle) {
  auto& all = registered().binaries;
  auto found = all.find(handle);
  return found == all.end() ? nullptr : found->second.get();
}

/// Points the program's managed variables at the device's memory, which is the host's, too.
CUresult map_managed(Binary& binary, ContextObject& context) {
  if (binary.managed.empty()) return eSuccess;
  ModuleObject* module = nullptr;
  if (CUresult code = module_of(*binary.library, context, module); code != eSuccess) return code;
  for (const Variable& each : binary.managed) {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    if (CUresult code = find_managed(*module, each.name, address, bytes); code != eSuccess)
      return code;
    *each.managed = reinterpret_cast<void*>(address);
  }
  return eSuccess;
}

}  // namespace

CUresult find_kernel(ContextObject& context, const void* symbol, FunctionObject*& found,
                     CUresult missing) {
  KernelObject* kernel = nullptr;
  {
    std::shared_lock lock(registered().mutex);
    auto known = registered().kernels.find(symbol);
    if (known != registered().kernels.end()) kernel = known->second;
  }
  if (!kernel) {
    auto handle = static_cast<CUfunction>(const_cast<void*>(symbol));
    if (tables().functions.has(handle) || tables().kernels.has(reinterpret_cast<CUkernel>(handle)))
      return resolve_function(context, handle, found);
    return fail(missing, "the function is no kernel");
  }
  CUresult code = function_of(*kernel, context, found);
  return code == eSymbolNotFound ? fail(missing, "the program's PTX has no such kernel") : code;
}

const void* symbol_of(const FunctionObject& function) {
  std::shared_lock lock(registered().mutex);
  for (const auto& [symbol, kernel] : registered().kernels) {
    if (kernel->name != function.name) continue;
    FunctionObject* found = nullptr;
    if (function_of(*kernel, *function.module->context, found) == eSuccess && found == &function)
      return symbol;
  }
  return &function;
}

namespace {

/// What programs name a managed variable by, too: where it is. Null: there is none.
const Variable* managed_at(const void* address) {
  for (const auto& [handle, binary] : registered().binaries)
    for (const Variable& each : binary->managed)
      if (address && each.managed && *each.managed == address) return &each;
  return nullptr;
}

/// A registered variable and the module that it is in.
CUresult find_variable(ContextObject& context, const void* symbol, Variable& variable,
                       ModuleObject*& module) {
  {
    std::shared_lock lock(registered().mutex);
    auto known = registered().variables.find(symbol);
    const Variable* found =
        known != registered().variables.end() ? &known->second : managed_at(symbol);
    if (!found) return fail(eInvalidSymbol, "the address is of no device variable");
    variable = *found;
  }
  return module_of(*variable.library, context, module);
}

}  // namespace

CUresult find_symbol(ContextObject& context, const void* symbol, CUdeviceptr& address,
                     std::size_t& bytes) {
  Variable variable;
  ModuleObject* module = nullptr;
  if (CUresult code = find_variable(context, symbol, variable, module); code != eSuccess)
    return code;
  CUresult code = find_global(*module, variable.name, address, bytes);
  return code == eSymbolNotFound ? eInvalidSymbol : code;
}

CUresult find_texture_ref(ContextObject& context, const void* symbol, TextureRefObject*& found,
                          bool& normalized) {
  Variable variable;
  ModuleObject* module = nullptr;
  CUresult code = find_variable(context, symbol, variable, module);
  if (code == eSuccess) code = texture_ref(*module, variable.name, found);
  if (code != eSuccess) return fail(eInvalidTexture, "the variable is no texture reference");
  normalized = variable.normalized;
  return eSuccess;
}

CUresult find_surface_ref(ContextObject& context, const void* symbol, SurfaceRefObject*& found) {
  Variable variable;
  ModuleObject* module = nullptr;
  CUresult code = find_variable(context, symbol, variable, module);
  if (code == eSuccess) code = surface_ref(*module, variable.name, found);
  return code == eSuccess ? code : fail(eInvalidSurface, "the variable is no surface reference");
}

namespace {

/// clang gives the name in the PTX twice. nvcc gives it as the device's address, and the name in
/// the source ("::image") as the name.
void register_reference(void** handle, const void* host, const void** device, const char* name,
                        bool normalized) {
  if (device && name[0] == ':') name = reinterpret_cast<const char*>(device);
  if (PTX2SPV_CUDART >= 12)
    say_once(
        fmt::format("the reference '{}' cannot be bound: the runtime library of CUDA 12 and newer "
                    "has texture and surface objects alone (CUDA 11's, libcudart.so.11.0, has "
                    "references)",
                    name));
  std::unique_lock lock(registered().mutex);
  Binary* binary = binary_of(handle);
  if (!binary) return;
  registered().variables[host] = {binary->library.get(), name, 0, nullptr, normalized};
  binary->variables.push_back(host);
}

}  // namespace

extern "C" {

PTX2SPV_EXPORT void** __cudaRegisterFatBinary(void* wrapper) {
  auto binary = std::make_unique<Binary>();
  binary->wrapper = wrapper;
  binary->library = std::make_shared<LibraryObject>();
  binary->library->file = "program";
  // Read when a context first needs it: most programs use a part of what is linked.
  binary->library->reader = [wrapper, library = binary->library.get()](Image& image) {
    return read_image(wrapper, 0, library->file, image);
  };
  tables().libraries.add(binary->library);
  auto* handle = new void*(wrapper);
  std::unique_lock lock(registered().mutex);
  registered().binaries.emplace(handle, std::move(binary));
  return handle;
}

PTX2SPV_EXPORT void __cudaRegisterFatBinaryEnd(void**) {}

PTX2SPV_EXPORT void __cudaUnregisterFatBinary(void** handle) {
  std::unique_ptr<Binary> binary;
  {
    std::unique_lock lock(registered().mutex);
    auto found = registered().binaries.find(handle);
    if (found == registered().binaries.end()) return;
    binary = std::move(found->second);
    registered().binaries.erase(found);
    for (const void* each : binary->functions) registered().kernels.erase(each);
    for (const void* each : binary->variables) registered().variables.erase(each);
  }
  (void)unload_library(binary->library.get());
  delete handle;
}

PTX2SPV_EXPORT void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name,
                                           int, void*, void*, dim3*, dim3*, int*) {
  std::unique_lock lock(registered().mutex);
  Binary* binary = binary_of(handle);
  CUkernel kernel = nullptr;
  if (!binary || kernel_of(*binary->library, name, kernel) != eSuccess) return;
  registered().kernels[host] = kernel;
  binary->functions.push_back(host);
}

PTX2SPV_EXPORT void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int,
                                      std::size_t bytes, int, int) {
  std::unique_lock lock(registered().mutex);
  Binary* binary = binary_of(handle);
  if (!binary) return;
  registered().variables[host] = {binary->library.get(), name, bytes, nullptr, false};
  binary->variables.push_back(host);
}

PTX2SPV_EXPORT void __cudaRegisterManagedVar(void** handle, void** host, char* address,
                                             const char* name, int, std::size_t bytes, int, int) {
  std::unique_lock lock(registered().mutex);
  Binary* binary = binary_of(handle);
  if (!binary) return;
  const Variable variable{binary->library.get(), name, bytes, host, false};
  for (const void* symbol : {static_cast<const void*>(host), static_cast<const void*>(address)}) {
    registered().variables[symbol] = variable;
    binary->variables.push_back(symbol);
  }
  binary->managed.push_back(variable);
}

PTX2SPV_EXPORT void __cudaRegisterHostVar(void**, const char* name, char*, std::size_t) {
  say_once(
      fmt::format("the host variable '{}' is not visible to kernels: host variables are not "
                  "supported",
                  name));
}

PTX2SPV_EXPORT void __cudaRegisterUnifiedTable(void**, void*) {
  say_once(
      "unified function pointers are not supported: kernels have no pointers to functions of "
      "the host");
}

PTX2SPV_EXPORT void __cudaRegisterTexture(void** handle, const void* host, const void** device,
                                          const char* name, int, int normalized, int) {
  register_reference(handle, host, device, name, normalized != 0);
}

PTX2SPV_EXPORT void __cudaRegisterSurface(void** handle, const void* host, const void** device,
                                          const char* name, int, int) {
  register_reference(handle, host, device, name, false);
}

/// Before the program reads a __managed__ variable.
PTX2SPV_EXPORT char __cudaInitModule(void** handle) {
  ContextObject* context = nullptr;
  CUresult code = enter_runtime(context);
  if (code == eSuccess) {
    std::unique_lock lock(registered().mutex);
    Binary* binary = binary_of(handle);
    if (binary) code = map_managed(*binary, *context);
  }
  if (code == eSuccess) return 1;
  keep(code);
  say_once("__managed__ variables have no memory: the program cannot read them");
  return 0;
}

PTX2SPV_EXPORT CUresult __cudaGetKernel(CUkernel* found, const void* host) {
  std::shared_lock lock(registered().mutex);
  auto known = registered().kernels.find(host);
  if (known == registered().kernels.end()) return keep(eInvalidDeviceFunction);
  *found = known->second;
  return eSuccess;
}

}  // extern "C"

}  // namespace ptx2spv::cuda
