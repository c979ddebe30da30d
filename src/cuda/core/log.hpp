// What the CUDA libraries say on standard error, and the names of errors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ptx2spv/result.hpp"
#include "src/cuda/driver_types.hpp"

namespace ptx2spv::cuda {

/// Prints "ptx2spv: text" and a line break.
void say(std::string_view text);
/// The same, the first time that this text comes.
void say_once(const std::string& text);
/// Returns `code`. With PTX2SPV_CUDA_LOG=1 it prints the call, the code's name in the interface
/// that the thread used last, and `text`, first.
CUresult fail(CUresult code, std::string_view text);
enum class Api : std::uint8_t { driver, runtime };
/// A call of the program's, which fail() names in this thread as long as it lives.
class NamedCall {
 public:
  NamedCall(const char* name, Api which);
  ~NamedCall();
  NamedCall(const NamedCall&) = delete;
  NamedCall& operator=(const NamedCall&) = delete;

 private:
  const char* before_;
};
/// With PTX2SPV_CUDA_LOG=1 prints what a call is about to return, unless fail() has just said why.
void log_returned(CUresult code);
/// Prints it with PTX2SPV_CUDA_LOG=1.
void note(std::string_view text);
/// With PTX2SPV_CUDA_LOG=all every call is printed (core/trace.hpp).
bool logs_calls();
/// Notes which interface the calling thread uses: its errors' names are printed.
void note_interface(Api which);
/// eNotSupported. Says once which function is not supported and why.
CUresult not_supported(const char* function, const char* reason);
/// The code that stands for an error of the runtime library. What a user has to read to go on
/// (traps, the translator's messages) is printed; the rest with PTX2SPV_CUDA_LOG=1.
CUresult report(const Error& error);

struct ErrorRow {
  int value;
  const char *driver, *runtime, *text;  ///< names may be empty
};
/// Null: there is no such code.
const ErrorRow* find_error(int value);

}  // namespace ptx2spv::cuda
