#include "tools/ptxrun/report.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

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

std::string triple(const Dim3& dim) { return fmt::format("[{}, {}, {}]", dim.x, dim.y, dim.z); }

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
  std::string out = fmt::format(
      "{{\"backend\": {}, \"device\": {}, \"setup_ms\": {}, \"upload_ms\": {}, \"launches_ms\": "
      "{}, "
      "\"download_ms\": {},\n \"launches\": [",
      json_quote(backend), json_quote(result.device), number(result.setup_ms),
      number(result.upload_ms), number(result.launch_ms), number(result.download_ms));
  for (std::size_t k = 0; k < result.launches.size(); ++k) {
    const LaunchSpec& spec = manifest.launches[k];
    const LaunchTime& time = result.launches[k];
    out += fmt::format(
        "{}\n  {{\"kernel\": {}, \"grid\": {}, \"block\": {}, \"repeat\": {}, \"device_ms\": {}, "
        "\"wall_ms\": {}, \"prepare_ms\": {}}}",
        k ? "," : "", json_quote(spec.kernel), triple(spec.grid), triple(spec.block), spec.repeat,
        time.device_ms.empty() ? "null" : number(median(time.device_ms)),
        time.wall_ms.empty() ? "null" : number(median(time.wall_ms)), number(time.prepare_ms));
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
      out += fmt::format(
          "{}{{\"index\": {}, \"name\": {}, \"driver\": {}, \"kind\": {}, \"uuid\": {}, "
          "\"profile\": {}, \"memory_bytes\": {}, \"usable\": {}, \"reason\": {}}}",
          out.empty() ? "[" : ",\n ", info.index, json_quote(info.name), json_quote(info.driver),
          json_quote(to_string(info.kind)), json_quote(info.uuid_text()),
          json_quote(info.profile.name), info.memory_bytes, info.usable,
          json_quote(info.rejection));
    } else {
      out += fmt::format("{}  {} ({}, {})\n   uuid {}\n", info.index, info.name,
                         to_string(info.kind), info.driver, info.uuid_text());
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
