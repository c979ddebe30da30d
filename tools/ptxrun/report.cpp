#include "tools/ptxrun/report.hpp"

#include <algorithm>
#include <cstdio>

#include "ptx2spv/probe.hpp"
#include "tools/common/json.hpp"
#include "tools/ptxrun/driver_manifests.hpp"

namespace ptx2spv::tools {
namespace {

std::string number(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.4f", value);
  return buffer;
}

std::string triple(const Dim3& dim) {
  return "[" + std::to_string(dim.x) + ", " + std::to_string(dim.y) + ", " + std::to_string(dim.z) +
         "]";
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return -1;
  const std::size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + std::ptrdiff_t(middle), values.end());
  if (values.size() % 2) return values[middle];
  const double above = values[middle];
  return (above + *std::max_element(values.begin(), values.begin() + std::ptrdiff_t(middle))) / 2;
}

std::string timing_json(const Manifest& manifest, const std::string& backend,
                        const RunResult& result) {
  std::string out = "{\"backend\": " + json_quote(backend) +
                    ", \"device\": " + json_quote(result.device) +
                    ", \"setup_ms\": " + number(result.setup_ms) +
                    ", \"upload_ms\": " + number(result.upload_ms) +
                    ", \"launches_ms\": " + number(result.launch_ms) +
                    ", \"download_ms\": " + number(result.download_ms) + ",\n \"launches\": [";
  for (std::size_t k = 0; k < result.launches.size(); ++k) {
    const LaunchSpec& spec = manifest.launches[k];
    const LaunchTime& time = result.launches[k];
    out += std::string(k ? "," : "") + "\n  {\"kernel\": " + json_quote(spec.kernel) +
           ", \"grid\": " + triple(spec.grid) + ", \"block\": " + triple(spec.block) +
           ", \"repeat\": " + std::to_string(spec.repeat) + ", \"device_ms\": " +
           (time.device_ms.empty() ? "null" : number(median(time.device_ms))) +
           ", \"wall_ms\": " + (time.wall_ms.empty() ? "null" : number(median(time.wall_ms))) +
           ", \"prepare_ms\": " + number(time.prepare_ms) + "}";
  }
  return out + "]}\n";
}

Exit list_all_devices(bool json) {
  for (const std::string& each : damaged_driver_manifests())
    std::fprintf(stderr, "ptxrun: warning: %s\n", each.c_str());
  const auto devices = list_devices();
  if (!devices) {
    std::fprintf(stderr, "ptxrun: error: %s\n", devices.error().text.c_str());
    return Exit::no_device;
  }
  bool usable = false;
  std::string out;
  for (const DeviceInfo& info : *devices) {
    usable |= info.usable;
    if (json) {
      out += std::string(out.empty() ? "[" : ",\n ") + "{\"index\": " + std::to_string(info.index) +
             ", \"name\": " + json_quote(info.name) + ", \"driver\": " + json_quote(info.driver) +
             ", \"kind\": " + json_quote(to_string(info.kind)) +
             ", \"uuid\": " + json_quote(info.uuid_text()) +
             ", \"profile\": " + json_quote(info.profile.name) +
             ", \"memory_bytes\": " + std::to_string(info.memory_bytes) +
             ", \"usable\": " + (info.usable ? "true" : "false") +
             ", \"reason\": " + json_quote(info.rejection) + "}";
    } else {
      out += std::to_string(info.index) + "  " + info.name + " (" + to_string(info.kind) + ", " +
             info.driver + ")\n   uuid " + info.uuid_text() + "\n";
      if (!info.rejection.empty())
        out += (info.usable ? "   passed over: " : "   not usable: ") + info.rejection + "\n";
    }
  }
  if (json) out += out.empty() ? "[]\n" : "]\n";
  std::fwrite(out.data(), 1, out.size(), stdout);
  if (!usable) std::fprintf(stderr, "ptxrun: error: no usable device\n");
  return usable ? Exit::good : Exit::no_device;
}

Exit probe_one_device(const std::string& device, std::string_view what, bool json) {
  const auto report = probe_device({.select = device});
  if (!report) {
    std::fprintf(stderr, "ptxrun: error: %s\n", report.error().text.c_str());
    return Exit::no_device;
  }
  if (what == "known" || json) {
    std::fputs((json ? report->json() : report->known_device()).c_str(), stdout);
    return Exit::good;
  }
  std::printf("%s (%s)\n", report->device.name.c_str(), report->device.driver.c_str());
  for (const ProbeRow& row : report->rows) {
    const bool number = row.name == "max_loop_iterations" || row.name == "routine_budget";
    const std::string value = number ? std::to_string(row.value) : row.value ? "yes" : "no";
    const bool other = row.known && *row.known != row.value;
    std::printf("%-29s %-6s %s\n%-36s %s, %.0f ms%s\n", row.name.c_str(), value.c_str(),
                row.question.c_str(), "", row.seen.c_str(), row.milliseconds,
                other ? "; NOT what is known of it" : "");
  }
  const bool known = !report->rows.empty() && report->rows[0].known.has_value();
  std::printf("%zu answers in %.0f ms; the device is %s\n", report->rows.size(),
              report->milliseconds, known ? "known" : "not known");
  return Exit::good;
}

}  // namespace ptx2spv::tools
