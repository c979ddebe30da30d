#include "bench/report.hpp"

#include <cstdio>

#include "tools/common/json.hpp"

namespace ptx2spv::bench {
namespace {

struct Ratio {
  const char* name;
  double (*of)(const KernelResult&);
};

double divided(double a, double b) { return a >= 0 && b > 0 ? a / b : -1; }

constexpr Ratio kRatios[] = {
    {"fast_to_glsl", [](const KernelResult& r) { return divided(r.fast_ms, r.glsl_ms); }},
    {"exact_to_glsl", [](const KernelResult& r) { return divided(r.exact_ms, r.glsl_ms); }},
    {"fast_to_cuda", [](const KernelResult& r) { return divided(r.fast_ms, r.cuda_ms); }},
    {"exact_to_cuda", [](const KernelResult& r) { return divided(r.exact_ms, r.cuda_ms); }},
};

std::string cell(double value, const char* form, int width) {
  char text[64];
  if (value < 0)
    std::snprintf(text, sizeof text, "%*s", width, "-");
  else
    std::snprintf(text, sizeof text, form, width, value);
  return text;
}

std::string extent_text(const Extent& extent) {
  std::string text = std::to_string(extent.width) + "x" + std::to_string(extent.height);
  if (extent.depth > 1) text += "x" + std::to_string(extent.depth);
  return text;
}

std::string number(double value) {
  if (value < 0) return "null";
  char text[64];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

}  // namespace

void print_header(const DeviceResult& device) {
  std::printf("%s, %s\nmedians of %d in milliseconds, %s\n", device.name.c_str(),
              device.driver.c_str(), device.rounds, device.times.c_str());
  if (!device.cuda.empty()) std::printf("no native CUDA: %s\n", device.cuda.c_str());
  std::printf("%-11s %-12s %9s %9s %9s %9s   %6s %6s %6s %6s\n", "", "", "", "", "", "", "fast",
              "exact", "fast", "exact");
  std::printf("%-11s %-12s %9s %9s %9s %9s   %6s %6s %6s %6s\n", "kernel", "texels", "glsl", "fast",
              "exact", "cuda", "/glsl", "/glsl", "/cuda", "/cuda");
}

void print_kernel(const KernelResult& r) {
  std::printf("%-11s %-12s", r.kernel.c_str(), extent_text(r.extent).c_str());
  for (const double value : {r.glsl_ms, r.fast_ms, r.exact_ms, r.cuda_ms})
    std::printf(" %s", cell(value, "%*.3f", 9).c_str());
  std::printf("  ");
  for (const Ratio& ratio : kRatios) std::printf(" %s", cell(ratio.of(r), "%*.2f", 6).c_str());
  std::printf("   %s", r.equal ? "equal" : r.difference.c_str());
  if (!r.note.empty()) std::printf(" (glsl: %s)", r.note.c_str());
  std::printf("\n");
  std::fflush(stdout);
}

void print_summary(const DeviceResult& device) {
  if (device.kernels.size() > 1) {
    std::printf("%-63s  ", "geometric mean");
    for (const Ratio& ratio : kRatios) {
      std::vector<double> all;
      for (const KernelResult& r : device.kernels) all.push_back(ratio.of(r));
      std::printf(" %s", cell(geometric_mean(all), "%*.2f", 6).c_str());
    }
    std::printf("\n");
  }
  if (!device.latency.empty())
    std::printf("\n%-25s %10s %10s %10s   %6s\n", "launch, microseconds", "runtime", "vulkan",
                "cuda", "ratio");
  for (const LatencyResult& r : device.latency)
    std::printf("%-25s %s %s %s   %s\n", r.what.c_str(), cell(r.ours_us, "%*.2f", 10).c_str(),
                cell(r.raw_us, "%*.2f", 10).c_str(), cell(r.cuda_us, "%*.2f", 10).c_str(),
                cell(divided(r.ours_us, r.raw_us), "%*.2f", 6).c_str());
  std::fflush(stdout);
}

std::string json_text(const std::vector<DeviceResult>& devices) {
  std::string text = "{\n  \"devices\": [";
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const DeviceResult& device = devices[d];
    text += std::string(d ? "," : "") + "\n    {\n      \"name\": " + json_quote(device.name) +
            ",\n      \"driver\": " + json_quote(device.driver) +
            ",\n      \"size\": " + json_quote(device.size) +
            ",\n      \"times\": " + json_quote(device.times) +
            ",\n      \"rounds\": " + std::to_string(device.rounds) + ",\n      \"kernels\": [";
    for (std::size_t k = 0; k < device.kernels.size(); ++k) {
      const KernelResult& r = device.kernels[k];
      text += std::string(k ? "," : "") + "\n        {\"name\": " + json_quote(r.kernel) +
              ", \"texels\": " + json_quote(extent_text(r.extent)) +
              ", \"glsl_ms\": " + number(r.glsl_ms) + ", \"fast_ms\": " + number(r.fast_ms) +
              ", \"exact_ms\": " + number(r.exact_ms) + ", \"cuda_ms\": " + number(r.cuda_ms);
      for (const Ratio& ratio : kRatios)
        text += std::string(", \"") + ratio.name + "\": " + number(ratio.of(r));
      text += std::string(", \"equal\": ") + (r.equal ? "true" : "false");
      if (!r.equal) text += ", \"difference\": " + json_quote(r.difference);
      if (!r.note.empty()) text += ", \"glsl\": " + json_quote(r.note);
      text += "}";
    }
    text += "\n      ],\n      \"geometric_means\": {";
    for (const Ratio& ratio : kRatios) {
      std::vector<double> all;
      for (const KernelResult& r : device.kernels) all.push_back(ratio.of(r));
      text += std::string(&ratio == kRatios ? "\"" : ", \"") + ratio.name +
              "\": " + number(geometric_mean(all));
    }
    text += "},\n      \"latency_us\": [";
    for (std::size_t k = 0; k < device.latency.size(); ++k) {
      const LatencyResult& r = device.latency[k];
      text += std::string(k ? "," : "") + "\n        {\"name\": " + json_quote(r.what) +
              ", \"runtime\": " + number(r.ours_us) + ", \"vulkan\": " + number(r.raw_us) +
              ", \"cuda\": " + number(r.cuda_us) +
              ", \"ratio\": " + number(divided(r.ours_us, r.raw_us)) + "}";
    }
    text += "\n      ]\n    }";
  }
  return text + "\n  ]\n}\n";
}

}  // namespace ptx2spv::bench
