// Errors as text.
#include <cstdio>
#include <cstdlib>

#include "ptx2spv/result.hpp"

namespace ptx2spv {

const char* to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid argument";
    case ErrorCode::not_found: return "not found";
    case ErrorCode::no_device: return "no device";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::translation: return "translation failed";
    case ErrorCode::trap: return "trap";
    case ErrorCode::out_of_memory: return "out of memory";
    case ErrorCode::device_lost: return "device lost";
    case ErrorCode::timed_out: return "timed out";
    case ErrorCode::io: return "input or output failed";
    case ErrorCode::internal: return "internal error";
  }
  return "unknown error";
}

std::string Error::to_string() const {
  if (trap) return trap->to_string();
  std::string out;
  for (const Message& message : messages) {
    out += message.rendered;
    if (!out.ends_with('\n')) out += '\n';
  }
  return out.empty() ? text + "\n" : out;
}

namespace runtime {

void unchecked_error(const Error& error) {
  std::fprintf(stderr, "ptx2spv: the value of a failed call was used; the call's error: %s\n",
               error.text.c_str());
  if (!error.messages.empty()) std::fputs(error.to_string().c_str(), stderr);
  std::abort();
}

void error_of_success() {
  std::fputs("ptx2spv: the error of a call that succeeded was used\n", stderr);
  std::abort();
}

}  // namespace runtime

}  // namespace ptx2spv
