// What a run spent its time on, for a trace viewer.
#pragma once

#include <string>
#include <vector>

namespace ptx2spv::tools {

/// A span of time, in milliseconds of now_ms(). Spans lie beside or within each other.
struct TraceSpan {
  std::string name, category;
  double start_ms = 0, end_ms = 0;
  std::string detail;  ///< shown with the span; may be empty
};

/// The spans as Chrome's trace event format has them (complete events, microseconds), which
/// chrome://tracing and Perfetto read. The first span starts at 0.
std::string trace_json(const std::vector<TraceSpan>& spans);

}  // namespace ptx2spv::tools
