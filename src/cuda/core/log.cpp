#include "src/cuda/core/log.hpp"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "src/cuda/core/crashes.hpp"
#include "src/options.hpp"

namespace ptx2spv::cuda {

namespace {

constexpr ErrorRow kErrors[] = {
#define PTX2SPV_CUDA_ERROR(value, name, driver, runtime, text) {value, #driver, #runtime, text},
#define PTX2SPV_CUDA_RUNTIME_ERROR(value, name, runtime, text) {value, "", #runtime, text},
#define PTX2SPV_CUDA_DRIVER_ERROR(value, name, driver, text) {value, #driver, "", text},
#include "src/cuda/errors.def"
};

thread_local Api t_interface = Api::driver;
thread_local const char* t_call = nullptr;
thread_local CUresult t_logged = eSuccess;  ///< of the last fail() that no log_returned() followed

bool logging() {
  static const bool on = runtime::option_flag(runtime::Option::cuda_log, false);
  return on;
}

CUresult code_of_trap(abi::TrapKind kind) {
  switch (kind) {
    case abi::TrapKind::out_of_bounds: return eIllegalAddress;
    case abi::TrapKind::misaligned: return eMisalignedAddress;
    case abi::TrapKind::assertion: return eAssert;
    case abi::TrapKind::loop_limit:
    case abi::TrapKind::no_progress: return eLaunchTimeout;
    default: return eLaunchFailure;
  }
}

}  // namespace

bool logs_calls() {
  static const bool on = runtime::option_text(runtime::Option::cuda_log) == "all";
  return on;
}

void say(std::string_view text) {
  std::string line = "ptx2spv: ";
  line += text;
  if (line.back() != '\n') line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void say_once(const std::string& text) {
  static std::mutex mutex;
  static auto& said = *new std::set<std::string>;  // for calls of destructors, too
  {
    std::lock_guard lock(mutex);
    if (!said.insert(text).second) return;
  }
  say(text);
}

void note(std::string_view text) {
  if (logging()) say(text);
}

CUresult fail(CUresult code, std::string_view text) {
  if (!logging()) return code;
  const ErrorRow* row = find_error(code);
  const bool runtime = t_interface == Api::runtime;
  std::string_view name = row ? (runtime ? row->runtime : row->driver) : "";
  if (row && name.empty()) name = runtime ? row->driver : row->runtime;
  say(fmt::format("{}{}{}: {}", t_call ? t_call : "", t_call ? ": " : "",
                  name.empty() ? "error" : name, text));
  t_logged = code;
  return code;
}

NamedCall::NamedCall(const char* name, Api which) : before_(std::exchange(t_call, name)) {
  t_interface = which;
}
NamedCall::~NamedCall() { t_call = before_; }

void log_returned(CUresult code) {
  if (!logging()) return;
  if (const ErrorRow* row = find_error(code); row && code != t_logged) fail(code, row->text);
  t_logged = eSuccess;
}

void note_interface(Api which) {
  t_interface = which;
  note_program_thread();
}

CUresult not_supported(const char* function, const char* reason) {
  const std::string text = fmt::format("{} is not supported: {}", function, reason);
  if (logging()) return fail(eNotSupported, t_call ? reason : text);
  say_once(text);
  return eNotSupported;
}

namespace {

/// What a user has to read, in the one line that the log has of a call.
CUresult tell(CUresult code, const std::string& text) {
  if (logging()) return fail(code, text);
  say(text);
  return code;
}

}  // namespace

CUresult report(const Error& error) {
  switch (error.code) {
    case ErrorCode::trap:
      if (error.trap && !error.trap->assertion.empty())
        std::fputs((error.trap->assertion + "\n").c_str(), stderr);
      std::fputs(error.to_string().c_str(), stderr);
      return error.trap ? code_of_trap(error.trap->kind) : eLaunchFailure;
    case ErrorCode::translation: return tell(eInvalidPtx, error.to_string());
    case ErrorCode::unsupported: return tell(eNotSupported, error.to_string());
    case ErrorCode::device_lost: return tell(eLaunchFailure, error.to_string());
    case ErrorCode::timed_out: return tell(eLaunchTimeout, error.to_string());
    case ErrorCode::internal: return tell(eUnknown, error.to_string());
    case ErrorCode::no_device: return tell(eNoDevice, error.to_string());
    case ErrorCode::invalid_argument: return fail(eInvalidValue, error.text);
    case ErrorCode::not_found: return fail(eSymbolNotFound, error.text);
    case ErrorCode::out_of_memory: return fail(eMemoryAllocation, error.text);
    case ErrorCode::io: return fail(eFileNotFound, error.text);
  }
  return eUnknown;
}

const ErrorRow* find_error(int value) {
  const auto* row = std::lower_bound(std::begin(kErrors), std::end(kErrors), value,
                                     [](const ErrorRow& each, int v) { return each.value < v; });
  return row != std::end(kErrors) && row->value == value ? row : nullptr;
}

}  // namespace ptx2spv::cuda
