// Every call of both interfaces, with its arguments, result and time: by ptxexec --log=all in lines
// of text, by --trace in the format of Chrome's traces, which Perfetto reads, with the program's
// own ranges (NVTX).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include <fmt/format.h>

#include "src/cuda/core/log.hpp"

namespace ptx2spv::cuda {

/// Calls are written somewhere.
bool tracing();
/// There is a trace's file.
bool has_trace_file();

/// Microseconds of a clock that all processes share.
double trace_clock();

/// Writes an event of the calling thread: `phase` as the format has it, `more` its other members.
void trace_event(std::string_view name, std::string_view category, char phase, double at,
                 const std::string& more = {});

using TraceNotes = std::map<std::string, std::string>;
/// Says more about the call that the calling thread is in; what has one key becomes one text.
void trace_note(std::string_view key, std::string_view text);
/// Makes room for the notes of a call, and gives those of it.
TraceNotes exchange_trace_notes(TraceNotes notes);

void trace_end_of_call(const char* name, Api which, double begin, const std::string& arguments,
                       CUresult result, const TraceNotes& notes);

template <class T>
std::string trace_text(const T& value) {
  if constexpr (std::is_same_v<T, const char*>)
    return value ? "'" + std::string(value) + "'" : "null";
  else if constexpr (std::is_pointer_v<T>)
    return fmt::format("{:#x}", reinterpret_cast<std::uintptr_t>(value));
  else if constexpr (std::is_enum_v<T>)
    return fmt::format("{}", static_cast<long long>(value));
  else if constexpr (std::is_arithmetic_v<T>)
    return fmt::format("{}", value);
  else if constexpr (requires { value.x, value.y, value.z; })
    return fmt::format("({}, {}, {})", value.x, value.y, value.z);
  else
    return "{...}";
}

template <class Arguments, class F>
CUresult trace_call(const char* name, Api which, const Arguments& arguments, F&& function) {
  std::string text;
  std::apply(
      [&](const auto&... each) { ((text += (text.empty() ? "" : ", ") + trace_text(each)), ...); },
      arguments);
  TraceNotes outer = exchange_trace_notes({});
  const double begin = trace_clock();
  const CUresult result = function();
  trace_end_of_call(name, which, begin, text, result, exchange_trace_notes(std::move(outer)));
  return result;
}

}  // namespace ptx2spv::cuda
