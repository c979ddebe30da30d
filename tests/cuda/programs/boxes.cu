// Boxes that CUDA copies or refuses: each field of cuMemcpy3D and cudaMemcpy3D wrong by itself.
#include "driver.cuh"

#include <functional>
#include <string>

namespace {

constexpr std::size_t kW = 64, kH = 8, kD = 4;  // bytes, rows, slices

struct Places {
  char* host = nullptr;
  char* other = nullptr;
  CUdeviceptr device = 0, second = 0;
  CUarray array = nullptr, wide = nullptr, flat = nullptr;
};

CUarray make_array(std::size_t w, std::size_t h, std::size_t d, CUarray_format format, unsigned n) {
  CUDA_ARRAY3D_DESCRIPTOR desc{};
  desc.Width = w;
  desc.Height = h;
  desc.Depth = d;
  desc.Format = format;
  desc.NumChannels = n;
  CUarray made = nullptr;
  if (DRIVER(cuArray3DCreate)(&made, &desc)) std::printf("no array\n");
  return made;
}

Places make() {
  CHECK(cudaFree(nullptr));
  Places p;
  p.host = static_cast<char*>(std::calloc(kW * kH * kD, 1));
  p.other = static_cast<char*>(std::calloc(kW * kH * kD, 1));
  CHECK(cudaMalloc(reinterpret_cast<void**>(&p.device), kW * kH * kD));
  CHECK(cudaMalloc(reinterpret_cast<void**>(&p.second), kW * kH * kD));
  p.array = make_array(kW / 4, kH, kD, CU_AD_FORMAT_FLOAT, 1);
  p.wide = make_array(kW / 16, kH, kD, CU_AD_FORMAT_FLOAT, 4);
  p.flat = make_array(kW / 4, kH, 0, CU_AD_FORMAT_FLOAT, 1);
  return p;
}

using Kind = CUmemorytype;

void set_source(CUDA_MEMCPY3D& c, Kind kind, const Places& p) {
  c.srcMemoryType = kind;
  if (kind == CU_MEMORYTYPE_HOST) c.srcHost = p.host;
  if (kind == CU_MEMORYTYPE_DEVICE || kind == CU_MEMORYTYPE_UNIFIED) c.srcDevice = p.device;
  if (kind == CU_MEMORYTYPE_ARRAY) c.srcArray = p.array;
  if (kind != CU_MEMORYTYPE_ARRAY) {
    c.srcPitch = kW;
    c.srcHeight = kH;
  }
}
void set_target(CUDA_MEMCPY3D& c, Kind kind, const Places& p) {
  c.dstMemoryType = kind;
  if (kind == CU_MEMORYTYPE_HOST) c.dstHost = p.other;
  if (kind == CU_MEMORYTYPE_DEVICE || kind == CU_MEMORYTYPE_UNIFIED) c.dstDevice = p.second;
  if (kind == CU_MEMORYTYPE_ARRAY) c.dstArray = p.array;
  if (kind != CU_MEMORYTYPE_ARRAY) {
    c.dstPitch = kW;
    c.dstHeight = kH;
  }
}

struct Fault {
  const char* name;
  std::function<void(CUDA_MEMCPY3D&, const Places&)> make;
};
#define FAULT(text)                                             \
  {                                                             \
#text, [](CUDA_MEMCPY3D& c, const Places& p) { (void)p; text; } \
  }
const Fault kFaults[] = {
    FAULT((void)c),
    FAULT(c.srcMemoryType = Kind(0)),
    FAULT(c.srcMemoryType = Kind(5)),
    FAULT(c.srcMemoryType = Kind(-1)),
    FAULT(c.dstMemoryType = Kind(0)),
    FAULT(c.dstMemoryType = Kind(5)),
    FAULT(c.dstMemoryType = Kind(-1)),
    FAULT(c.srcHost = nullptr),
    FAULT(c.dstHost = nullptr),
    FAULT(c.srcDevice = 0),
    FAULT(c.dstDevice = 0),
    FAULT(c.srcArray = nullptr),
    FAULT(c.dstArray = nullptr),
    FAULT(c.srcPitch = 0),
    FAULT(c.dstPitch = 0),
    FAULT(c.srcPitch = kW - 1),
    FAULT(c.dstPitch = kW - 1),
    FAULT(c.srcPitch = 1),
    FAULT(c.dstPitch = 1),
    FAULT(c.srcPitch = std::size_t(1) << 31),
    FAULT(c.dstPitch = std::size_t(1) << 31),
    FAULT(c.srcPitch = 0x7fffffff),

    FAULT(c.srcHeight = 0),
    FAULT(c.dstHeight = 0),
    FAULT(c.srcHeight = 1),
    FAULT(c.dstHeight = 1),
    FAULT(c.srcHeight = kH - 1),
    FAULT(c.dstHeight = kH - 1),
    FAULT(c.srcXInBytes = 1),
    FAULT(c.dstXInBytes = 1),
    FAULT(c.srcXInBytes = 4),
    FAULT(c.dstXInBytes = 4),
    FAULT(c.srcXInBytes = kW),
    FAULT(c.dstXInBytes = kW),
    FAULT(c.srcXInBytes = std::size_t(-1)),
    FAULT(c.dstXInBytes = std::size_t(-1)),
    FAULT(c.srcY = 1),
    FAULT(c.dstY = 1),
    FAULT(c.srcY = kH),
    FAULT(c.dstY = kH),
    FAULT(c.srcZ = 1),
    FAULT(c.dstZ = 1),
    FAULT(c.srcZ = kD),
    FAULT(c.dstZ = kD),
    FAULT(c.srcLOD = 1),
    FAULT(c.dstLOD = 1),
    FAULT(c.srcLOD = 77),
    FAULT(c.dstLOD = 77),
    FAULT(c.WidthInBytes = 0),
    FAULT(c.Height = 0),
    FAULT(c.Depth = 0),
    FAULT(c.WidthInBytes = c.Height = c.Depth = 0),
    FAULT(c.WidthInBytes = kW + 1),
    FAULT(c.Height = kH + 1),
    FAULT(c.Depth = kD + 1),
    FAULT(c.WidthInBytes = kW - 1),
    FAULT(c.WidthInBytes = 3),
    FAULT(c.WidthInBytes = std::size_t(-1)),
    FAULT(c.Height = std::size_t(-1)),
    FAULT(c.Depth = std::size_t(-1)),
    FAULT(c.srcPitch = kW + 1; c.Depth = 1; c.Height = 7),
    FAULT(c.dstPitch = kW + 1; c.Depth = 1; c.Height = 7),
    FAULT(c.reserved0 = c.reserved1 = reinterpret_cast<void*>(1)),
    FAULT(c.srcArray = p.wide),
    FAULT(c.dstArray = p.wide),
    FAULT(c.srcArray = p.flat),
    FAULT(c.dstArray = p.flat),
    FAULT(c.srcArray = p.flat; c.Depth = 1),
    FAULT(c.dstArray = p.flat; c.Depth = 1),
    FAULT(c.dstHeight = kH + 100; c.Depth = 1),
    FAULT(c.Depth = 1; c.srcHeight = 1),
};

int run_driver(const CUDA_MEMCPY3D& c, bool async) {
  static const auto now = DRIVER(cuMemcpy3D);
  static const auto later = DRIVER(cuMemcpy3DAsync);
  const int code = async ? later(&c, nullptr) : now(&c);
  const int then = static_cast<int>(cudaDeviceSynchronize());
  return then ? 1000 + then : code;
}

const char* kNames[] = {"", "host", "device", "array", "unified"};

void driver_boxes(Kind from, Kind to) {
  const Places p = make();
  for (const Fault& fault : kFaults) {
    CUDA_MEMCPY3D c{};
    c.WidthInBytes = kW;
    c.Height = kH;
    c.Depth = kD;
    set_source(c, from, p);
    set_target(c, to, p);
    fault.make(c, p);
    const int now = run_driver(c, false), later = run_driver(c, true);
    std::printf("%s to %s: %-48s %d %d\n", kNames[from], kNames[to], fault.name, now, later);
    std::fflush(stdout);
  }
}
void device_to_device() { driver_boxes(CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE); }
void device_to_array() { driver_boxes(CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_ARRAY); }
void array_to_device() { driver_boxes(CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_DEVICE); }
void array_to_array() { driver_boxes(CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_ARRAY); }
void unified() { driver_boxes(CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED); }
void null_box() {
  CHECK(cudaFree(nullptr));
  DTELL(cuMemcpy3D, (nullptr));
  DTELL(cuMemcpy3DAsync, (nullptr, nullptr));
  CUDA_MEMCPY3D c{};
  DTELL(cuMemcpy3D, (&c));
  DTELL(cuMemcpy3DAsync, (&c, nullptr));
  c.WidthInBytes = c.Height = c.Depth = 1;
  DTELL(cuMemcpy3D, (&c));
  DTELL(cuMemcpy2D, (nullptr));
  DTELL(cuMemcpy2DAsync, (nullptr, nullptr));
  DTELL(cuMemcpy2DUnaligned, (nullptr));
}

struct RunFault {
  const char* name;
  std::function<void(cudaMemcpy3DParms&, const Places&)> make;
};
#define RUN_FAULT(text)                                             \
  {                                                                 \
#text, [](cudaMemcpy3DParms& c, const Places& p) { (void)p; text; } \
  }
const RunFault kRunFaults[] = {
    RUN_FAULT((void)c),
    RUN_FAULT(c.srcPtr.ptr = nullptr),
    RUN_FAULT(c.dstPtr.ptr = nullptr),
    RUN_FAULT(c.srcPtr.pitch = 0),
    RUN_FAULT(c.dstPtr.pitch = 0),
    RUN_FAULT(c.srcPtr.pitch = kW - 1),
    RUN_FAULT(c.dstPtr.pitch = kW - 1),
    RUN_FAULT(c.srcPtr.pitch = 0x80000000),
    RUN_FAULT(c.dstPtr.pitch = 0x80000000),
    RUN_FAULT(c.srcPtr.xsize = 1),
    RUN_FAULT(c.dstPtr.xsize = 1),
    RUN_FAULT(c.srcPtr.ysize = 1),
    RUN_FAULT(c.dstPtr.ysize = 1),
    RUN_FAULT(c.srcPtr.ysize = 0),
    RUN_FAULT(c.dstPtr.ysize = 0),
    RUN_FAULT(c.srcPos.x = 1),
    RUN_FAULT(c.dstPos.x = 1),
    RUN_FAULT(c.srcPos.y = 1),
    RUN_FAULT(c.dstPos.y = 1),
    RUN_FAULT(c.srcPos.z = 1),
    RUN_FAULT(c.dstPos.z = 1),
    RUN_FAULT(c.srcPos.x = kW),
    RUN_FAULT(c.dstPos.x = kW),
    RUN_FAULT(c.srcPos.x = std::size_t(-1)),
    RUN_FAULT(c.dstPos.x = std::size_t(-1)),
    RUN_FAULT(c.extent.width = 0),
    RUN_FAULT(c.extent.height = 0),
    RUN_FAULT(c.extent.depth = 0),
    RUN_FAULT(c.extent = {}),
    RUN_FAULT(c.extent.width += 1),
    RUN_FAULT(c.extent.height += 1),
    RUN_FAULT(c.extent.depth += 1),
    RUN_FAULT(c.extent.height = std::size_t(-1)),
    RUN_FAULT(c.extent.depth = std::size_t(-1)),
    RUN_FAULT(c.kind = cudaMemcpyKind(-1)),
    RUN_FAULT(c.kind = cudaMemcpyKind(5)),
    RUN_FAULT(c.kind = cudaMemcpyHostToHost),
    RUN_FAULT(c.kind = cudaMemcpyHostToDevice),
    RUN_FAULT(c.kind = cudaMemcpyDeviceToHost),
    RUN_FAULT(c.kind = cudaMemcpyDeviceToDevice),
    RUN_FAULT(c.srcArray = reinterpret_cast<cudaArray_t>(p.array)),
    RUN_FAULT(c.dstArray = reinterpret_cast<cudaArray_t>(p.array)),
    RUN_FAULT(c.srcArray = nullptr; c.srcPtr = {}),
    RUN_FAULT(c.dstArray = nullptr; c.dstPtr = {}),
    RUN_FAULT(if (c.srcArray) c.srcArray = reinterpret_cast<cudaArray_t>(p.wide)),
    RUN_FAULT(if (c.dstArray) c.dstArray = reinterpret_cast<cudaArray_t>(p.wide)),
    RUN_FAULT(if (c.dstArray) c.dstArray = reinterpret_cast<cudaArray_t>(p.flat)),
};
enum Where { kHost, kDevice, kArray };
void runtime_boxes(Where from, Where to) {
  const Places p = make();
  const char* names[] = {"host", "device", "array"};
  for (const RunFault& fault : kRunFaults) {
    std::string codes;
    for (bool async : {false, true}) {
      cudaMemcpy3DParms c{};
      const bool array = from == kArray || to == kArray;
      c.extent = {array ? kW / 4 : kW, kH, kD};
      if (from == kArray)
        c.srcArray = reinterpret_cast<cudaArray_t>(p.array);
      else
        c.srcPtr = make_cudaPitchedPtr(from == kHost ? p.host : reinterpret_cast<void*>(p.device),
                                       kW, kW, kH);
      if (to == kArray)
        c.dstArray = reinterpret_cast<cudaArray_t>(p.array);
      else
        c.dstPtr = make_cudaPitchedPtr(to == kHost ? p.other : reinterpret_cast<void*>(p.second),
                                       kW, kW, kH);
      c.kind = cudaMemcpyDefault;
      fault.make(c, p);
      const cudaError_t code = async ? cudaMemcpy3DAsync(&c, nullptr) : cudaMemcpy3D(&c);
      const cudaError_t kept = cudaGetLastError();
      codes += std::string(" ") + cudaGetErrorName(code) + (kept == code ? "" : " not kept");
      if (const cudaError_t then = cudaDeviceSynchronize())
        codes += std::string(" then ") + cudaGetErrorName(then);
    }
    std::printf("%s to %s: %-40s%s\n", names[from], names[to], fault.name, codes.c_str());
    std::fflush(stdout);
  }
}
void run_device_device() { runtime_boxes(kDevice, kDevice); }
void run_array_array() { runtime_boxes(kArray, kArray); }
void run_device_array() { runtime_boxes(kDevice, kArray); }

constexpr Group kGroups[] = {{"device_to_device", device_to_device},
                             {"device_to_array", device_to_array},
                             {"array_to_device", array_to_device},
                             {"array_to_array", array_to_array},
                             {"unified", unified},
                             {"null_box", null_box},
                             {"run_device_device", run_device_device},
                             {"run_array_array", run_array_array},
                             {"run_device_array", run_device_array}};

}  // namespace

int main(int argc, char** argv) { return run_group(kGroups, argc, argv); }
