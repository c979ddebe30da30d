#include "bench/native_opencl.hpp"

#include <dlfcn.h>

#include <cstring>
#include <vector>

#include "tools/common/files.hpp"

namespace ptx2spv::bench {

namespace {

using Handle = void*;
constexpr int kPlatformName = 0x0902, kBuildLog = 0x1183;

/// The functions of OpenCL 1.2 that are called, by their names without cl.
struct Api {
  int (*GetPlatformIDs)(unsigned, Handle*, unsigned*);
  int (*GetPlatformInfo)(Handle, unsigned, std::size_t, void*, std::size_t*);
  int (*GetDeviceIDs)(Handle, std::uint64_t, unsigned, Handle*, unsigned*);
  Handle (*CreateContext)(const std::intptr_t*, unsigned, const Handle*, void*, void*, int*);
  Handle (*CreateCommandQueue)(Handle, Handle, std::uint64_t, int*);
  Handle (*CreateProgramWithSource)(Handle, unsigned, const char**, const std::size_t*, int*);
  int (*BuildProgram)(Handle, unsigned, const Handle*, const char*, void*, void*);
  int (*GetProgramBuildInfo)(Handle, Handle, unsigned, std::size_t, void*, std::size_t*);
  Handle (*CreateKernel)(Handle, const char*, int*);
  int (*SetKernelArg)(Handle, unsigned, std::size_t, const void*);
  Handle (*CreateBuffer)(Handle, std::uint64_t, std::size_t, void*, int*);
  int (*ReleaseMemObject)(Handle);
  int (*ReleaseKernel)(Handle);
  int (*EnqueueWriteBuffer)(Handle, Handle, unsigned, std::size_t, std::size_t, const void*,
                            unsigned, const Handle*, Handle*);
  int (*EnqueueReadBuffer)(Handle, Handle, unsigned, std::size_t, std::size_t, void*, unsigned,
                           const Handle*, Handle*);
  int (*EnqueueNDRangeKernel)(Handle, Handle, unsigned, const std::size_t*, const std::size_t*,
                              const std::size_t*, unsigned, const Handle*, Handle*);
  int (*Finish)(Handle);
};

std::string failed(int code, const char* what) {
  return code == 0 ? std::string() : std::string(what) + ": OpenCL error " + std::to_string(code);
}

}  // namespace

struct OpenCl::State {
  Api cl{};
  Handle device = nullptr, context = nullptr, queue = nullptr, program = nullptr;
  Handle kernel = nullptr, from = nullptr, to = nullptr;
  std::uint64_t to_bytes = 0;
  std::size_t threads[3] = {};

  void clear() {
    if (from) cl.ReleaseMemObject(from);
    if (to) cl.ReleaseMemObject(to);
    if (kernel) cl.ReleaseKernel(kernel);
    from = to = kernel = nullptr;
  }
  std::string load() {
    void* library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return "libOpenCL.so.1 is not installed (ocl-icd-libopencl1, pocl-opencl-icd)";
    std::string missing;
    const auto find = [&](auto& function, const char* name) {
      void* found = dlsym(library, name);
      if (!found) missing = std::string("libOpenCL.so.1 has no ") + name;
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
    };
#define PTX2SPV_FIND(name) find(cl.name, "cl" #name)
    PTX2SPV_FIND(GetPlatformIDs);
    PTX2SPV_FIND(GetPlatformInfo);
    PTX2SPV_FIND(GetDeviceIDs);
    PTX2SPV_FIND(CreateContext);
    PTX2SPV_FIND(CreateCommandQueue);
    PTX2SPV_FIND(CreateProgramWithSource);
    PTX2SPV_FIND(BuildProgram);
    PTX2SPV_FIND(GetProgramBuildInfo);
    PTX2SPV_FIND(CreateKernel);
    PTX2SPV_FIND(SetKernelArg);
    PTX2SPV_FIND(CreateBuffer);
    PTX2SPV_FIND(ReleaseMemObject);
    PTX2SPV_FIND(ReleaseKernel);
    PTX2SPV_FIND(EnqueueWriteBuffer);
    PTX2SPV_FIND(EnqueueReadBuffer);
    PTX2SPV_FIND(EnqueueNDRangeKernel);
    PTX2SPV_FIND(Finish);
#undef PTX2SPV_FIND
    return missing;
  }
  bool find_device() {
    Handle platforms[16] = {};
    unsigned count = 0;
    if (cl.GetPlatformIDs(16, platforms, &count) != 0) return false;
    for (unsigned i = 0; i < count && i < 16; ++i) {
      char name[256] = {};
      cl.GetPlatformInfo(platforms[i], kPlatformName, sizeof name - 1, name, nullptr);
      constexpr std::uint64_t kCpu = 2;
      if (std::strstr(name, "Portable Computing Language") &&
          cl.GetDeviceIDs(platforms[i], kCpu, 1, &device, nullptr) == 0)
        return true;
    }
    return false;
  }
};

OpenCl::OpenCl() : state_(std::make_unique<State>()) {}
OpenCl::~OpenCl() { state_->clear(); }

std::string OpenCl::open(const std::string& source_file) {
  State& s = *state_;
  if (std::string problem = s.load(); !problem.empty()) return problem;
  if (!s.find_device()) return "OpenCL has no platform of POCL (package pocl-opencl-icd)";
  std::string source;
  if (tools::IoError error = tools::read_text(source_file, source); !error.empty()) return error;
  int code = 0;
  s.context = s.cl.CreateContext(nullptr, 1, &s.device, nullptr, nullptr, &code);
  if (code) return failed(code, "clCreateContext");
  s.queue = s.cl.CreateCommandQueue(s.context, s.device, 0, &code);
  if (code) return failed(code, "clCreateCommandQueue");
  const char* text = source.c_str();
  s.program = s.cl.CreateProgramWithSource(s.context, 1, &text, nullptr, &code);
  if (code) return failed(code, "clCreateProgramWithSource");
  code = s.cl.BuildProgram(s.program, 1, &s.device, "-cl-std=CL1.2", nullptr, nullptr);
  if (code == 0) return {};
  std::vector<char> log(65536);
  s.cl.GetProgramBuildInfo(s.program, s.device, kBuildLog, log.size() - 1, log.data(), nullptr);
  return failed(code, "clBuildProgram") + "\n" + log.data();
}

std::string OpenCl::prepare(const Job& job) {
  State& s = *state_;
  s.clear();
  int code = 0;
  s.kernel = s.cl.CreateKernel(s.program, job.kernel.c_str(), &code);
  if (code) return failed(code, "clCreateKernel");
  constexpr std::uint64_t kReadWrite = 1;
  const std::size_t from_bytes = job.input.empty() ? 4 : job.input.size();
  s.from = s.cl.CreateBuffer(s.context, kReadWrite, from_bytes, nullptr, &code);
  if (code) return failed(code, "clCreateBuffer");
  s.to = s.cl.CreateBuffer(s.context, kReadWrite, job.to_bytes, nullptr, &code);
  if (code) return failed(code, "clCreateBuffer");
  s.to_bytes = job.to_bytes;
  std::memcpy(s.threads, job.threads, sizeof s.threads);
  if (!job.input.empty())
    code = s.cl.EnqueueWriteBuffer(s.queue, s.from, 1, 0, job.input.size(), job.input.data(), 0,
                                   nullptr, nullptr);
  if (code) return failed(code, "clEnqueueWriteBuffer");
  unsigned next = 0;
  const auto argument = [&](const auto& value) {
    if (!code) code = s.cl.SetKernelArg(s.kernel, next++, sizeof value, &value);
  };
  argument(s.from);
  argument(s.to);
  argument(job.width);
  argument(job.height);
  argument(job.depth);
  argument(job.iterations);
  argument(job.scale);
  return failed(code, "clSetKernelArg");
}

std::string OpenCl::fill(std::uint32_t word) {
  const std::vector<std::uint32_t> words(state_->to_bytes / 4, word);
  return failed(state_->cl.EnqueueWriteBuffer(state_->queue, state_->to, 1, 0, state_->to_bytes,
                                              words.data(), 0, nullptr, nullptr),
                "clEnqueueWriteBuffer");
}

std::string OpenCl::launch() {
  State& s = *state_;
  const std::size_t group[] = {16, 16, 1};
  int code = s.cl.EnqueueNDRangeKernel(s.queue, s.kernel, 3, nullptr, s.threads, group, 0, nullptr,
                                       nullptr);
  if (!code) code = s.cl.Finish(s.queue);
  return failed(code, "clEnqueueNDRangeKernel");
}

std::string OpenCl::download(std::span<std::byte> bytes) {
  return failed(state_->cl.EnqueueReadBuffer(state_->queue, state_->to, 1, 0, bytes.size(),
                                             bytes.data(), 0, nullptr, nullptr),
                "clEnqueueReadBuffer");
}

}  // namespace ptx2spv::bench
