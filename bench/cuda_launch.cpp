// What CUDA's interface costs over the runtime library: microseconds of a small launch through
// cuLaunchKernel and through Stream::launch, and of a copy through cuMemcpyHtoD and memcpy.
//
//   PTX2SPV_DEVICE=NAME bench_cuda_launch FOLDER-OF-THE-LIBRARIES
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "ptx2spv/runtime.hpp"

namespace {

constexpr const char* kKernel =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry store(.param .u64 out, .param .u32 value) {\n"
    "  .reg .u64 %rd1; .reg .u32 %r1; ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [value];\n"
    "  st.global.u32 [%rd1], %r1; ret;\n}\n";
constexpr int kLaunches = 2000, kRounds = 9;
constexpr std::size_t kBytes = 64 << 20;

double median_us(int count, const std::function<void()>& round) {
  std::vector<double> times;
  for (int i = 0; i < kRounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    round();
    times.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
            .count() /
        count);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

using Address = unsigned long long;

/// The functions of libcuda that are called, out of a library with a runtime of its own inside.
struct Driver {
  int (*init)(unsigned);
  int (*create)(void**, unsigned, int);
  int (*load)(void**, const void*);
  int (*function)(void**, void*, const char*);
  int (*allocate)(Address*, std::size_t);
  int (*upload)(Address, const void*, std::size_t);
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                void**, void**);
  int (*synchronize)();
};

bool open(const std::string& folder, Driver& driver) {
  void* library = dlopen((folder + "/libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (!library) {
    std::fprintf(stderr, "%s\n", dlerror());
    return false;
  }
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
  };
  find("cuInit", driver.init);
  find("cuCtxCreate_v2", driver.create);
  find("cuModuleLoadData", driver.load);
  find("cuModuleGetFunction", driver.function);
  find("cuMemAlloc_v2", driver.allocate);
  find("cuMemcpyHtoD_v2", driver.upload);
  find("cuLaunchKernel", driver.launch);
  find("cuCtxSynchronize", driver.synchronize);
  return driver.init && driver.launch && driver.upload;
}

}  // namespace

int main(int argc, char** argv) {
  Driver cuda{};
  if (argc != 2 || !open(argv[1], cuda)) return 2;
  auto device = ptx2spv::Device::open();
  auto module = ptx2spv::Module::load(*device, kKernel, "store.ptx");
  auto kernel = module->kernel("store");
  auto buffer = ptx2spv::Buffer::create(*device, 64);
  auto stream = ptx2spv::Stream::create(*device);
  const auto own = [&] {
    for (int i = 0; i < kLaunches; ++i) {
      ptx2spv::Args args;
      args.buffer(*buffer).value(i);
      if (!stream->launch(*kernel, {}, args)) std::abort();
    }
    if (!stream->synchronize()) std::abort();
  };

  void *context = nullptr, *loaded = nullptr, *function = nullptr;
  Address memory = 0, large = 0;
  if (cuda.init(0) || cuda.create(&context, 0, 0) || cuda.load(&loaded, kKernel) ||
      cuda.function(&function, loaded, "store") || cuda.allocate(&memory, 64) ||
      cuda.allocate(&large, kBytes))
    return 1;
  const auto through_cuda = [&] {
    for (int i = 0; i < kLaunches; ++i) {
      void* params[] = {&memory, &i};
      if (cuda.launch(function, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr)) std::abort();
    }
    if (cuda.synchronize()) std::abort();
  };
  own();
  through_cuda();
  const double plain = median_us(kLaunches, own), cuda_launch = median_us(kLaunches, through_cuda);
  std::printf("launch: Stream::launch %.2f us, cuLaunchKernel %.2f us, ratio %.2f\n", plain,
              cuda_launch, cuda_launch / plain);

  std::vector<char> from(kBytes, 1), to(kBytes);
  std::memcpy(to.data(), from.data(), kBytes);
  (void)cuda.upload(large, from.data(), kBytes);
  const double copy = median_us(1, [&] { std::memcpy(to.data(), from.data(), kBytes); });
  const double upload = median_us(1, [&] { (void)cuda.upload(large, from.data(), kBytes); });
  std::printf("64 MiB: memcpy %.0f us, cuMemcpyHtoD %.0f us, ratio %.2f\n", copy, upload,
              upload / copy);
}
