#include "src/cuda/core/trace.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "ptx2spv/text.hpp"
#include "src/cuda/core/of_thread.hpp"
#include "src/options.hpp"

namespace ptx2spv::cuda {

namespace {

TraceNotes& notes_of_thread() { return of_thread<TraceNotes>(); }

/// All processes of a program append to one file, each event by one call.
int trace_file() {
  static const int file = [] {
    const std::string name(runtime::option_text(runtime::Option::cuda_trace));
    if (name.empty()) return -1;
    const int opened = open(name.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (opened < 0) say(fmt::format("the trace {}: {}", name, std::strerror(errno)));
    return opened;
  }();
  return file;
}

}  // namespace

bool tracing() { return logs_calls() || has_trace_file(); }
bool has_trace_file() { return trace_file() >= 0; }

double trace_clock() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

void trace_event(std::string_view name, std::string_view category, char phase, double at,
                 const std::string& more) {
  const std::string line = fmt::format(
      "{{\"name\":{},\"cat\":\"{}\",\"ph\":\"{}\",\"ts\":{:.3f},\"pid\":{},\"tid\":{}{}}},\n",
      json_quote(name), category, phase, at, ::getpid(), ::syscall(SYS_gettid), more);
  if (write(trace_file(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    say_once("the trace cannot be written");
}

void trace_note(std::string_view key, std::string_view text) {
  if (!tracing()) return;
  std::string& known = notes_of_thread()[std::string(key)];
  (known += known.empty() ? "" : "; ") += text;
}

TraceNotes exchange_trace_notes(TraceNotes notes) {
  notes_of_thread().swap(notes);
  return notes;
}

void trace_end_of_call(const char* name, Api which, double begin, const std::string& arguments,
                       CUresult result, const TraceNotes& notes) {
  const double end = trace_clock();
  const bool runtime = which == Api::runtime;
  const ErrorRow* row = find_error(result);
  std::string_view named = row ? (runtime ? row->runtime : row->driver) : "";
  const std::string code = named.empty() ? std::to_string(result) : std::string(named);
  if (logs_calls()) {
    std::string more;
    for (const auto& [key, said] : notes) more += fmt::format(", {} {}", key, said);
    say(fmt::format("{}({}) = {}, {:.1f} us{}", name, arguments, code, end - begin, more));
  }
  if (!has_trace_file()) return;
  std::string more;
  for (const auto& [key, said] : notes)
    more += fmt::format(",{}:{}", json_quote(key), json_quote(said));
  trace_event(name, runtime ? "runtime" : "driver", 'X', begin,
              fmt::format(",\"dur\":{:.3f},\"args\":{{\"arguments\":{},\"result\":{}{}}}",
                          end - begin, json_quote("(" + arguments + ")"), json_quote(code), more));
}

}  // namespace ptx2spv::cuda
