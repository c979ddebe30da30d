#include "tools/ptxexec/functions_page.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include <fmt/format.h>

namespace ptx2spv::tools {
namespace {

struct Row {
  const char* name;
  const char* libraries;  ///< of the runtime interface: "all", "11", "11_12"
  int version;            ///< of the driver interface
  const char* reason;     ///< why it answers not-supported; null where it is implemented
};

constexpr Row kRuntime[] = {
#define PTX2SPV_CUDART_FUNCTION(which, name, ...) {#name, #which, 0, nullptr},
#define PTX2SPV_CUDART_MISSING(which, name, variant, reason) {#name, #which, 0, reason},
#include "src/cuda/cudart/functions.def"
};

constexpr Row kDriver[] = {
#define PTX2SPV_DRIVER_FUNCTION(base, name, version, ...) {#name, "", version, nullptr},
#define PTX2SPV_DRIVER_MISSING(base, name, version, variant, reason) {#name, "", version, reason},
#include "src/cuda/driver/functions.def"
};

std::string versions(const Row& row) {
  const std::string_view which = row.libraries;
  if (which.empty()) return fmt::format("{}.{}", row.version / 1000, row.version % 1000 / 10);
  if (which == "all") return "11, 12, 13";
  std::string out(which.substr(0, 2));
  if (which.size() > 2) out += ", " + std::string(which.substr(3));
  return out;
}

std::string line(const Row& row) {
  return "| `" + std::string(row.name) + "` | " + versions(row) + " | " +
         (row.reason ? "not supported: " + std::string(row.reason) : "implemented") + " |\n";
}

std::string lines(std::span<const Row> rows) {
  std::vector<Row> sorted(rows.begin(), rows.end());
  std::ranges::stable_sort(sorted, {}, [](const Row& row) { return std::string_view(row.name); });
  std::string out;
  for (const Row& row : sorted) out += line(row);
  return out;
}

constexpr const char* kHead = R"(# Functions of CUDA's interfaces

Each function is implemented, or returns not-supported with a message that gives the reason.
Functions with a variant for per-thread default streams (`_ptsz`, `_ptds`) have that variant too.
[cuda-programs.md](../user/cuda-programs.md) lists where implemented functions differ from NVIDIA's.
)";

}  // namespace

std::string functions_page(std::string_view kind) {
  if (kind != "cuda-functions") return {};
  std::string out = kHead;
  out += "\n## Runtime interface\n\n| function | CUDA | |\n|---|---|---|\n";
  out += lines(kRuntime);
  out += "\n## Driver interface\n\n| function | since CUDA | |\n|---|---|---|\n";
  out += lines(kDriver);
  return out;
}

}  // namespace ptx2spv::tools
