#include "tools/ptxrun/trace.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tools/common/json.hpp"

namespace ptx2spv::tools {

std::string trace_json(const std::vector<TraceSpan>& spans) {
  double origin = spans.empty() ? 0 : spans[0].start_ms;
  for (const TraceSpan& span : spans) origin = std::min(origin, span.start_ms);
  std::string out =
      "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n"
      " {\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 1, \"args\": {\"name\": "
      "\"ptxrun\"}}";
  for (const TraceSpan& span : spans) {
    out += fmt::format(
        ",\n {{\"name\": {}, \"cat\": {}, \"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"ts\": {:.3f}, "
        "\"dur\": {:.3f}",
        json_quote(span.name), json_quote(span.category), (span.start_ms - origin) * 1000,
        (span.end_ms - span.start_ms) * 1000);
    if (!span.detail.empty()) out += ", \"args\": {\"detail\": " + json_quote(span.detail) + "}";
    out += "}";
  }
  return out + "\n]}\n";
}

}  // namespace ptx2spv::tools
