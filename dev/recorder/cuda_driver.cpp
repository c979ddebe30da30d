#include "dev/recorder/cuda_driver.hpp"

#include <cstdio>
#include <cstdlib>

#include "tools/common/cuda_library.hpp"

namespace ptx2spv::recorder {

// The driver reads these structures by layout.
static_assert(sizeof(ArrayDescription) == 40);
static_assert(sizeof(ResourceDescription) == 144);
static_assert(sizeof(TextureDescription) == 104);
static_assert(sizeof(Copy3D) == 200);

namespace {

[[noreturn]] void fail(const std::string& text) {
  std::fprintf(stderr, "recorder: %s\n", text.c_str());
  std::exit(2);
}

template <class Function>
void resolve(void* library, Function*& function, const char* symbol) {
  tools::cuda::find(library, symbol, function);
  if (!function) fail(std::string("the CUDA driver has no ") + symbol);
}

}  // namespace

Driver& Driver::get() {
  static Driver driver = [] {
    Driver d;
    std::string reason;
    void* library = tools::cuda::open_library(reason);
    if (!library) fail(reason);
#define PTX2SPV_CUDA(member, symbol, ...) resolve(library, d.member, symbol);
#include "dev/recorder/cuda_driver.def"
#undef PTX2SPV_CUDA
    d.check(d.init(0), "cuInit");
    int device = 0;
    char name[256] = "";
    d.check(d.device_get(&device, 0), "cuDeviceGet");
    d.check(d.device_get_name(name, sizeof(name), device), "cuDeviceGetName");
    d.check(d.primary_retain(&d.context, device), "cuDevicePrimaryCtxRetain");
    d.check(d.context_set(d.context), "cuCtxSetCurrent");
    d.check(d.driver_version(&d.version), "cuDriverGetVersion");
    d.device_name = name;
    return d;
  }();
  return driver;
}

void Driver::check(int result, const char* what) const {
  if (result == 0) return;
  const char* text = "unknown error";
  error_name(result, &text);
  fail(std::string(what) + ": " + text);
}

DeviceMemory::DeviceMemory(std::size_t bytes) {
  auto& d = Driver::get();
  d.check(d.allocate(&address_, bytes), "cuMemAlloc");
}
DeviceMemory::~DeviceMemory() { Driver::get().release(address_); }
void DeviceMemory::upload(const void* from, std::size_t bytes) {
  auto& d = Driver::get();
  d.check(d.upload(address_, from, bytes), "cuMemcpyHtoD");
}
void DeviceMemory::download(void* to, std::size_t bytes, std::size_t offset) const {
  auto& d = Driver::get();
  d.check(d.download(to, address_ + offset, bytes), "cuMemcpyDtoH");
}

std::unique_ptr<Kernel> Kernel::load(const std::string& ptx, std::string* log) {
  auto& d = Driver::get();
  std::unique_ptr<Kernel> kernel(new Kernel);
  constexpr int kErrorLog = 5, kErrorLogBytes = 6;
  char text[4096] = "";
  int options[] = {kErrorLog, kErrorLogBytes};
  void* values[] = {text, reinterpret_cast<void*>(sizeof(text))};
  const int result = d.module_load(&kernel->module_, ptx.c_str(), 2, options, values);
  if (result != 0) {
    if (log) *log = text;
    kernel->module_ = nullptr;
    return nullptr;
  }
  // Kernels with queries that the driver does not support load, and then lack their entry.
  if (d.module_function(&kernel->function_, kernel->module_, "k") != 0) return nullptr;
  return kernel;
}
Kernel::~Kernel() {
  if (module_) Driver::get().module_unload(module_);
}
int Kernel::start(std::uint32_t blocks, std::vector<std::uint64_t> parameters) const {
  std::vector<void*> pointers;
  for (auto& parameter : parameters) pointers.push_back(&parameter);
  return Driver::get().launch(function_, blocks, 1, 1, 128, 1, 1, 0, nullptr, pointers.data(),
                              nullptr);
}
int Kernel::run(std::uint32_t blocks, std::vector<std::uint64_t> parameters) const {
  const int result = start(blocks, std::move(parameters));
  return result ? result : Driver::get().synchronize();
}

}  // namespace ptx2spv::recorder
