// The functions that both interfaces have, and those that the table makes: calls of the core,
// variants for per-thread streams, answers of those that are not supported, and cuGetProcAddress
// over all of them.
#include <dlfcn.h>
#include <execinfo.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "src/cuda/core/advice.hpp"
#include "src/cuda/core/backlog.hpp"
#include "src/cuda/core/texts.hpp"

#include "src/cuda/driver/face.hpp"

#include "src/cuda/both.hpp"

namespace ptx2spv::cuda {

extern "C" {

#define PTX2SPV_DRIVER_FUNCTION(base, name, since, variant, ...)
#define PTX2SPV_DRIVER_MISSING(base, name, since, variant, reason)
#define PTX2SPV_DRIVER_CALL(base, name, since, variant, work, count, ...) \
  CUresult name(PTX2SPV_PARAMS_##count(__VA_ARGS__)) { return work; }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "src/cuda/driver/functions.def"
#pragma GCC diagnostic pop

#define PTX2SPV_REFUSE(name, reason)     \
  PTX2SPV_DECLARE(name, 0)               \
  CUresult name() {                      \
    note_interface(Api::driver);         \
    return not_supported(#name, reason); \
  }                                      \
  PTX2SPV_TRACED(Api::driver, name, 0)

#define PTX2SPV_DRIVER_FUNCTION(base, name, since, variant, ...) \
  PTX2SPV_TRACED(Api::driver, name, __VA_ARGS__)                 \
  PTX2SPV_VARIANT_##variant(name, __VA_ARGS__)
#define PTX2SPV_DRIVER_MISSING(base, name, since, variant, reason) \
  PTX2SPV_REFUSE_##variant(name, reason)
#include "src/cuda/driver/functions.def"

}  // extern "C"

namespace {

using Function = void (*)();

struct Row {
  const char* base;
  int since;
  bool there;
  Function function, per_thread;  ///< the variant, or the function itself
};

#define PTX2SPV_ADDRESS(name) reinterpret_cast<Function>(&name)
#define PTX2SPV_PER_THREAD_none(name) PTX2SPV_ADDRESS(traced_##name)
#define PTX2SPV_PER_THREAD_ptsz(name) PTX2SPV_ADDRESS(name##_ptsz)
#define PTX2SPV_PER_THREAD_ptds(name) PTX2SPV_ADDRESS(name##_ptds)

#define PTX2SPV_REFUSED_none(name) PTX2SPV_ADDRESS(traced_##name)
#define PTX2SPV_REFUSED_ptsz(name) PTX2SPV_ADDRESS(traced_##name##_ptsz)

/// By base name, and of one name by version.
const std::vector<Row>& rows() {
  static const auto* all = [] {
    auto* list = new std::vector<Row>{
#define PTX2SPV_DRIVER_FUNCTION(base, name, since, variant, ...) \
  {#base, since, true, PTX2SPV_ADDRESS(traced_##name), PTX2SPV_PER_THREAD_##variant(name)},
#define PTX2SPV_DRIVER_MISSING(base, name, since, variant, reason) \
  {#base, since, false, PTX2SPV_ADDRESS(traced_##name), PTX2SPV_REFUSED_##variant(name)},
#include "src/cuda/driver/functions.def"
    };
    std::ranges::stable_sort(*list, [](const Row& a, const Row& b) {
      const int order = std::strcmp(a.base, b.base);
      return order ? order < 0 : a.since < b.since;
    });
    return list;
  }();
  return *all;
}

// CUdriverProcAddressQueryResult.
constexpr int kFound = 0, kNotFound = 1, kTooOld = 2;

/// The table without which NVIDIA's runtime library does not begin. Other libraries (NVRTC) ask for
/// others, and do without.
constexpr unsigned char kRuntimeTable[16] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                             0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};

/// The program or library that called this one, by however many functions of it.
std::string file_of_caller() {
  void* frames[8];
  Dl_info own{}, info{};
  dladdr(reinterpret_cast<void*>(&file_of_caller), &own);
  for (int i = 0, count = backtrace(frames, 8); i < count; ++i)
    if (dladdr(frames[i], &info) && info.dli_fname && info.dli_fbase != own.dli_fbase)
      return std::filesystem::path(info.dli_fname).filename();
  return "the program";
}

}  // namespace

extern "C" {

CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, std::uint64_t flags,
                             int* result) {
  if (!symbol || !function || (flags & ~3ull)) return eInvalidValue;
  *function = nullptr;
  const Row* best = nullptr;
  bool known = false;
  const auto& all = rows();
  auto row = std::lower_bound(
      all.begin(), all.end(), symbol,
      [](const Row& each, const char* name) { return std::strcmp(each.base, name) < 0; });
  for (; row != all.end() && std::strcmp(row->base, symbol) == 0; ++row) {
    known = true;
    // The newest that is not over the version asked for; one that is supported before another.
    if (row->since <= version && (!best || row->there || !best->there)) best = &*row;
  }
  if (result) *result = best ? kFound : known ? kTooOld : kNotFound;
  if (!best) return fail(eSymbolNotFound, std::string("there is no ") + symbol);
  *function = reinterpret_cast<void*>(flags & 2 ? best->per_thread : best->function);
  return eSuccess;
}

CUresult cuGetProcAddress(const char* symbol, void** function, int version, std::uint64_t flags) {
  // CUDA 11 asked for cuGetProcAddress itself and got this signature.
  return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}

CUresult cuGetExportTable(const void** table, const CUuuid* id) {
  if (table) *table = nullptr;
  if (id && std::memcmp(id->bytes, kRuntimeTable, sizeof kRuntimeTable) == 0)
    say_once(fmt::format(
        "{} asks for tables that are private to NVIDIA's own runtime library, which is linked into "
        "it: build it by `ptxexec build make`, or whatever builds it, or with nvcc -cudart shared",
        file_of_caller()));
  return fail(eSymbolNotFound, "there is no such table");
}

}  // extern "C"

}  // namespace ptx2spv::cuda
