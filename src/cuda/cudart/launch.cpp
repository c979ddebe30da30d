// Launches and what functions say of themselves.
#include <algorithm>
#include <cstring>

#include "src/cuda/core/of_thread.hpp"
#include "src/cuda/cudart/face.hpp"

namespace ptx2spv::cuda {

namespace {

struct Configuration {
  dim3 grid, block;
  std::size_t shared;
  CUstream stream;
};

/// What <<<>>> pushed and the kernel's stub has not yet taken.
std::vector<Configuration>& configurations() { return of_thread<std::vector<Configuration>>(); }

LaunchConfig config_of(const dim3& grid, const dim3& block, std::size_t shared) {
  LaunchConfig config;
  config.grid = {grid.x, grid.y, grid.z};
  config.block = {block.x, block.y, block.z};
  config.dynamic_shared = static_cast<std::uint32_t>(std::min<std::size_t>(shared, 0x7fffffff));
  return config;
}

/// What launches and some other calls say of an address that is no kernel's. From CUDA 13 on it is
/// taken for a kernel's handle.
CUresult no_kernel(const void* symbol) {
  return symbol && PTX2SPV_CUDART >= 13 ? eInvalidResourceHandle : eInvalidDeviceFunction;
}

}  // namespace

CUresult enqueue_symbol(const void* symbol, const dim3& grid, const dim3& block, void** args,
                        std::size_t shared, CUstream handle, bool cooperative) {
  return call_in(handle, [&](ContextObject& context, const auto& stream) -> CUresult {
    FunctionObject* function = nullptr;
    if (CUresult code = find_kernel(context, symbol, function, no_kernel(symbol)); code != eSuccess)
      return code;
    // A kernel without parameters may come with a null pointer.
    void* none[1] = {};
    return enqueue_kernel(stream, *function, config_of(grid, block, shared), args ? args : none,
                          nullptr, cooperative);
  });
}

extern "C" {

PTX2SPV_EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared,
                                                    CUstream stream) {
  configurations().push_back({grid, block, shared, stream});
  return 0;
}

PTX2SPV_EXPORT CUresult __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared,
                                                   void* stream) {
  auto& stack = configurations();
  if (stack.empty()) return keep(eMissingConfiguration);
  const Configuration& last = stack.back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *static_cast<CUstream*>(stream) = last.stream;
  stack.pop_back();
  return eSuccess;
}

CUresult __cudaLaunchKernel(CUkernel kernel, dim3 grid, dim3 block, void** args, std::size_t shared,
                            CUstream stream) {
  return enqueue_symbol(kernel, grid, block, args, shared, stream, false);
}

CUresult cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* symbol, void** args) {
  if (!config) return keep(eInvalidValue);
  LaunchAttributes attributes;
  if (CUresult code = read_attributes(config->attrs, config->numAttrs, attributes);
      code != eSuccess)
    return keep(code);
  CUresult code = enqueue_symbol(symbol, config->gridDim, config->blockDim, args,
                                 config->dynamicSmemBytes, config->stream, attributes.cooperative);
  return code == eSuccess && attributes.after ? cudaEventRecord(attributes.after, config->stream)
                                              : code;
}

CUresult cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* symbol) {
  if (!attributes) return keep(eInvalidValue);
  return with_kernel(symbol, [&](FunctionObject& function) {
    const auto get = [&](int number) { return function_attribute(function, number).value_or(0); };
    using A = FunctionAttribute;
    cudaFuncAttributes a{};
    a.maxThreadsPerBlock = get(A::MAX_THREADS_PER_BLOCK);
    a.sharedSizeBytes = static_cast<std::size_t>(get(A::SHARED_SIZE_BYTES));
    a.constSizeBytes = static_cast<std::size_t>(get(A::CONST_SIZE_BYTES));
    a.localSizeBytes = static_cast<std::size_t>(get(A::LOCAL_SIZE_BYTES));
    a.numRegs = get(A::NUM_REGS);
    a.ptxVersion = get(A::PTX_VERSION);
    a.binaryVersion = get(A::BINARY_VERSION);
    a.cacheModeCA = get(A::CACHE_MODE_CA);
    a.maxDynamicSharedSizeBytes = get(A::MAX_DYNAMIC_SHARED_SIZE_BYTES);
    a.preferredShmemCarveout = get(A::PREFERRED_SHARED_MEMORY_CARVEOUT);
    constexpr std::size_t kBytes =
        PTX2SPV_CUDART >= 12 ? sizeof a : offsetof(cudaFuncAttributes, clusterDimMustBeSet);
    std::memcpy(static_cast<void*>(attributes), &a, kBytes);
    return eSuccess;
  });
}

CUresult cudaKernelSetAttributeForDevice(CUkernel kernel, int attribute, int value, int ordinal) {
  if (CUresult code = initialize(); code != eSuccess) return keep(code);
  DeviceObject* device = device_at(ordinal);
  if (!device) return keep(eInvalidDevice);
  ContextObject* context = nullptr;
  FunctionObject* function = nullptr;
  CUresult code = retain_primary(*device, context);
  if (code == eSuccess) code = find_kernel(*context, kernel, function);
  return keep(code == eSuccess ? set_function_attribute(*function, attribute, value) : code);
}

CUresult cudaFuncSetSharedMemConfig(const void* symbol, int config) {
  if (config < 0 || config > 2) return keep(eInvalidValue);
  return with_kernel(
      symbol, [](FunctionObject&) { return eSuccess; }, no_kernel(symbol));
}

CUresult cudaFuncGetName(const char** name, const void* symbol) {
  if (!name) return keep(eInvalidValue);
  const auto take = [&](FunctionObject& function) {
    *name = function.name.c_str();
    return eSuccess;
  };
  return with_kernel(symbol, take, no_kernel(symbol));
}

CUresult cudaFuncGetParamInfo(const void* symbol, std::size_t index, std::size_t* offset,
                              std::size_t* bytes) {
  if (!offset) return keep(eInvalidValue);
  return with_kernel(symbol, [&](FunctionObject& function) -> CUresult {
    const auto& params = function.kernel.info().params;
    if (index >= params.size()) return fail(eInvalidValue, "the kernel has no such parameter");
    *offset = params[index].offset;
    if (bytes) *bytes = params[index].bytes;
    return eSuccess;
  });
}

}  // extern "C"

}  // namespace ptx2spv::cuda
