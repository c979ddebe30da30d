// What CUDA's interfaces cost over the runtime library: microseconds of a small launch through
// Stream::launch, through cuLaunchKernel and through <<<>>> as compilers emit it, and of a copy
// through cuMemcpyHtoD and memcpy. Each is timed in processes of its own, in turns: two runtimes in
// one process have two CPU drivers, whose threads disturb each other. What is printed is the least
// of the processes' medians, which other work on the machine disturbs least.
//
//   PTX2SPV_DEVICE=NAME bench_cuda_launch FOLDER-OF-THE-LIBRARIES
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ptx2spv/runtime.hpp"

namespace {

constexpr char kKernel[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry store(.param .u64 out, .param .u32 value) {\n"
    "  .reg .u64 %rd1; .reg .u32 %r1; ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [value];\n"
    "  st.global.u32 [%rd1], %r1; ret;\n}\n";
constexpr int kLaunches = 2000, kRounds = 9, kProcesses = 5;
constexpr std::size_t kBytes = 64 << 20;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double least(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

double median_us(int count, const std::function<void()>& round) {
  round();  // compiles, and fills caches
  std::vector<double> times;
  for (int i = 0; i < kRounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    round();
    times.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
            .count() /
        count);
  }
  return median(times);
}

template <class F>
void find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (function) return;
  std::fprintf(stderr, "there is no %s\n", name);
  std::exit(2);
}

void* open_library(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library) return library;
  std::fprintf(stderr, "%s\n", dlerror());
  std::exit(2);
}

void must(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s failed\n", what);
  std::exit(1);
}

void time_runtime() {
  auto device = ptx2spv::Device::open();
  auto module = ptx2spv::Module::load(*device, kKernel, "store.ptx");
  auto kernel = module->kernel("store");
  auto buffer = ptx2spv::Buffer::create(*device, 64);
  auto stream = ptx2spv::Stream::create(*device);
  std::printf("launch %f\n", median_us(kLaunches, [&] {
                for (int i = 0; i < kLaunches; ++i) {
                  ptx2spv::Args args;
                  args.buffer(*buffer).value(i);
                  must(stream->launch(*kernel, {}, args).ok(), "Stream::launch");
                }
                must(stream->synchronize().ok(), "Stream::synchronize");
              }));
  std::vector<char> from(kBytes, 1), to(kBytes);
  std::printf("copy %f\n", median_us(1, [&] { std::memcpy(to.data(), from.data(), kBytes); }));
}

using Address = unsigned long long;

void time_driver(const std::string& folder) {
  void* library = open_library(folder + "/libcuda.so.1");
  int (*init)(unsigned), (*create)(void**, unsigned, int), (*load)(void**, const void*),
      (*get)(void**, void*, const char*), (*allocate)(Address*, std::size_t),
      (*upload)(Address, const void*, std::size_t), (*synchronize)();
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                void**, void**);
  find(library, "cuInit", init);
  find(library, "cuCtxCreate_v2", create);
  find(library, "cuModuleLoadData", load);
  find(library, "cuModuleGetFunction", get);
  find(library, "cuMemAlloc_v2", allocate);
  find(library, "cuMemcpyHtoD_v2", upload);
  find(library, "cuLaunchKernel", launch);
  find(library, "cuCtxSynchronize", synchronize);
  void *context = nullptr, *module = nullptr, *function = nullptr;
  Address memory = 0, large = 0;
  must(!init(0) && !create(&context, 0, 0) && !load(&module, kKernel) &&
           !get(&function, module, "store") && !allocate(&memory, 64) && !allocate(&large, kBytes),
       "the set-up");
  std::printf("launch %f\n", median_us(kLaunches, [&] {
                for (int i = 0; i < kLaunches; ++i) {
                  void* params[] = {&memory, &i};
                  must(!launch(function, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr),
                       "cuLaunchKernel");
                }
                must(!synchronize(), "cuCtxSynchronize");
              }));
  std::vector<char> from(kBytes, 1);
  std::printf("copy %f\n", median_us(1, [&] { (void)upload(large, from.data(), kBytes); }));
}

struct Dim3 {
  unsigned x, y, z;
};

/// A fat binary with the kernel's PTX, not compressed, and its wrapper.
struct FatBinary {
  std::uint32_t magic = 0xba55ed50;
  std::uint16_t version = 1, header_bytes = 16;
  std::uint64_t payload_bytes = sizeof(FatBinary) - 16;
  std::uint16_t kind = 1, entry_version = 0x101;
  std::uint32_t entry_bytes = 64;
  std::uint64_t text_bytes = sizeof text;
  std::uint32_t compressed = 0, options = 0;
  std::uint16_t minor = 0, major = 7;
  std::uint32_t arch = 75, name = 0, name_bytes = 0;
  std::uint64_t flags = 0x11, zero = 0, bytes = 0;
  char text[(sizeof kKernel + 7) / 8 * 8] = {};
};
struct Wrapper {
  std::uint32_t magic = 0x466243b1, version = 1;
  const void* data = nullptr;
  void* prelinked = nullptr;
};

void host_function() {}

void time_stubs(const std::string& folder) {
  void* library = open_library(folder + "/libcudart.so.12");
  void** (*add)(void*);
  void (*add_function)(void**, const char*, char*, const char*, int, void*, void*, Dim3*, Dim3*,
                       int*);
  unsigned (*push)(Dim3, Dim3, std::size_t, void*);
  int (*pop)(Dim3*, Dim3*, std::size_t*, void*), (*allocate)(void**, std::size_t), (*synchronize)();
  int (*launch)(const void*, Dim3, Dim3, void**, std::size_t, void*);
  find(library, "__cudaRegisterFatBinary", add);
  find(library, "__cudaRegisterFunction", add_function);
  find(library, "__cudaPushCallConfiguration", push);
  find(library, "__cudaPopCallConfiguration", pop);
  find(library, "cudaLaunchKernel", launch);
  find(library, "cudaMalloc", allocate);
  find(library, "cudaDeviceSynchronize", synchronize);
  static FatBinary binary;
  std::memcpy(binary.text, kKernel, sizeof kKernel);
  static Wrapper wrapper;
  wrapper.data = &binary;
  void** handle = add(&wrapper);
  const auto* host = reinterpret_cast<const char*>(&host_function);
  add_function(handle, host, const_cast<char*>("store"), "store", -1, nullptr, nullptr, nullptr,
               nullptr, nullptr);
  void* memory = nullptr;
  must(!allocate(&memory, 64), "cudaMalloc");
  std::printf("launch %f\n", median_us(kLaunches, [&] {
                for (int i = 0; i < kLaunches; ++i) {
                  // store<<<1, 1>>>(memory, i) and the stub that it calls.
                  push({1, 1, 1}, {1, 1, 1}, 0, nullptr);
                  Dim3 grid, block;
                  std::size_t shared;
                  void *stream, *params[] = {&memory, &i};
                  pop(&grid, &block, &shared, &stream);
                  must(!launch(host, grid, block, params, shared, stream), "cudaLaunchKernel");
                }
                must(!synchronize(), "cudaDeviceSynchronize");
              }));
}

/// The numbers that one process prints, by name.
std::map<std::string, double> measure(const std::string& program, const std::string& way,
                                      const std::string& folder) {
  std::map<std::string, double> numbers;
  FILE* pipe = popen(("'" + program + "' '" + folder + "' " + way).c_str(), "r");
  char name[32];
  double value = 0;
  while (pipe && std::fscanf(pipe, "%31s %lf", name, &value) == 2) numbers[name] = value;
  must(pipe && pclose(pipe) == 0, way.c_str());
  return numbers;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "", way = argc > 2 ? argv[2] : "";
  if (folder.empty()) {
    std::fputs("usage: bench_cuda_launch FOLDER-OF-THE-LIBRARIES\n", stderr);
    return 2;
  }
  if (way == "runtime") return time_runtime(), 0;
  if (way == "driver") return time_driver(folder), 0;
  if (way == "stubs") return time_stubs(folder), 0;
  std::map<std::string, std::vector<double>> launches, copies;
  for (int i = 0; i < kProcesses; ++i)
    for (const char* each : {"runtime", "driver", "stubs"})
      for (const auto& [name, value] : measure(argv[0], each, folder))
        (name == "launch" ? launches : copies)[each].push_back(value);
  const double plain = least(launches["runtime"]);
  std::printf(
      "launch: Stream::launch %.2f us, cuLaunchKernel %.2f us (%.2f), <<<>>> %.2f us (%.2f)\n",
      plain, least(launches["driver"]), least(launches["driver"]) / plain, least(launches["stubs"]),
      least(launches["stubs"]) / plain);
  std::printf("64 MiB: memcpy %.0f us, cuMemcpyHtoD %.0f us (%.2f)\n", least(copies["runtime"]),
              least(copies["driver"]), least(copies["driver"]) / least(copies["runtime"]));
}
