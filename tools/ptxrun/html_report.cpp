#include "tools/ptxrun/html_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tools/ptxrun/report.hpp"

namespace ptx2spv::tools {
namespace {

constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{0}: {1}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; }}
body {{ max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }}
h1 {{ font-size: 1.5rem; }} h2 {{ font-size: 1.2rem; margin-top: 2rem; }}
table {{ border-collapse: collapse; width: 100%; }} .wide {{ overflow-x: auto; }}
p, figcaption, h1 {{ overflow-wrap: anywhere; }}
th, td {{ text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #8884; }}
td.number, th.number {{ text-align: right; font-variant-numeric: tabular-nums; }}
pre {{ overflow-x: auto; padding: .75rem; border: 1px solid #8884; }}
figure {{ display: inline-block; margin: 0 1rem 1rem 0; vertical-align: top; }}
img {{ max-width: 100%; image-rendering: pixelated; border: 1px solid #8884; }}
.passed {{ color: #17803d; }} .failed {{ color: #c02020; }}
@media (prefers-color-scheme: dark) {{
  .passed {{ color: #5fce83; }} .failed {{ color: #ff8f88; }}
}}
</style>
</head>
<body>
<h1>{0}: <span class="{2}">{1}</span></h1>
)";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string base64(const Bytes& bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t group = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < count ? std::uint32_t(bytes[at + k]) : 0);
    for (std::size_t k = 0; k < 4; ++k)
      out += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

/// A picture, with pixels as large as squares where it is small.
std::string figure(const Bytes& png, const std::string& caption) {
  constexpr std::size_t kWidthAt = 16, kHeightAt = 20;  // of the IHDR chunk, which is the first
  constexpr std::uint32_t kLeast = 128;
  if (png.size() < kHeightAt + 4) return {};
  const auto number = [&png](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t k = 0; k < 4; ++k) value = value << 8 | std::uint32_t(png[at + k]);
    return value;
  };
  const std::uint32_t width = number(kWidthAt), height = number(kHeightAt);
  const std::uint32_t scale = std::max(1u, kLeast / std::max({width, height, 1u}));
  return fmt::format(
      "<figure><img alt=\"{0}\" style=\"width: {1}px\" src=\"data:image/png;base64,{2}\">"
      "<figcaption>{0}, {3} x {4}</figcaption></figure>\n",
      escaped(caption), std::uint64_t{width} * scale, base64(png), width, height);
}

std::string milliseconds(double value) {
  return value < 0 ? "&ndash;" : fmt::format("{:.4f}", value);
}

std::string launches(const Manifest& manifest, const RunResult& result) {
  std::string out =
      "<h2>Launches</h2>\n<div "
      "class=\"wide\">\n<table>\n<tr><th>kernel</th><th>grid</th><th>block</th><th "
      "class=\"number\">device ms</th><th class=\"number\">wall ms</th><th "
      "class=\"number\">translation and pipeline ms</th></tr>\n";
  for (std::size_t k = 0; k < result.launches.size(); ++k) {
    const LaunchSpec& spec = manifest.launches[k];
    const LaunchTime& time = result.launches[k];
    out += fmt::format(
        "<tr><td>{}</td><td>{} x {} x {}</td><td>{} x {} x {}</td><td class=\"number\">{}</td><td "
        "class=\"number\">{}</td><td class=\"number\">{}</td></tr>\n",
        escaped(spec.kernel), spec.grid.x, spec.grid.y, spec.grid.z, spec.block.x, spec.block.y,
        spec.block.z, milliseconds(median(time.device_ms)), milliseconds(median(time.wall_ms)),
        milliseconds(time.prepare_ms));
  }
  return out + "</table>\n</div>\n";
}

const char* verdict_of(const RunResult& result, const ReportedRun& reported) {
  if (reported.exit == Exit::good) return "passed";
  if (result.exit == Exit::trap) return "a kernel trapped";
  if (!result.sanitized.findings.empty()) return "the sanitizer found faults";
  const bool mismatch = std::any_of(reported.outputs.begin(), reported.outputs.end(),
                                    [](const ReportedOutput& each) { return each.mismatch; });
  return mismatch ? "an output differs" : "failed";
}

}  // namespace

std::string html_report(const Manifest& manifest, const RunResult& result,
                        const ReportedRun& reported) {
  std::string out =
      fmt::format(fmt::runtime(kHead), escaped(file_name_of(manifest.file)),
                  verdict_of(result, reported), reported.exit == Exit::good ? "passed" : "failed");
  std::string modules;
  for (const std::string& module : manifest.modules)
    modules += (modules.empty() ? "" : ", ") + module;
  out += fmt::format("<p>{}<br>{}</p>\n", escaped(modules), escaped(result.device));
  if (!reported.problems.empty()) out += "<h2>What went wrong</h2>\n";
  for (const std::string& problem : reported.problems)
    out += "<pre>" + escaped(problem) + "</pre>\n";
  if (!reported.outputs.empty()) out += "<h2>Outputs</h2>\n";
  for (const ReportedOutput& each : reported.outputs)
    out += fmt::format("<p class=\"{}\">{}</p>\n{}{}", each.mismatch ? "failed" : "passed",
                       escaped(each.line), figure(each.picture, "what the kernels wrote"),
                       figure(each.difference, "where it differs from what is expected"));
  if (!result.launches.empty()) out += launches(manifest, result);
  if (result.device.empty()) return out + "</body>\n</html>\n";
  out += fmt::format(
      "<p>Device and module {:.1f} ms, uploads {:.1f} ms, launches {:.1f} ms, downloads {:.1f} "
      "ms.</p>\n</body>\n</html>\n",
      result.setup_ms, result.upload_ms, result.launch_ms, result.download_ms);
  return out;
}

}  // namespace ptx2spv::tools
