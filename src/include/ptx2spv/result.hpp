// Functions of the runtime return a value or an error, and never throw.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ptx2spv/translator.hpp"

namespace ptx2spv {

/// One trapped thread of a launch, the first to be recorded, with everything named.
struct TrapReport {
  abi::TrapKind kind = abi::TrapKind::none;
  std::uint32_t trapped_threads = 0;  ///< exact, over the whole launch
  std::string kernel;
  std::string function;  ///< where the instruction stands, when not in the kernel itself
  std::string file;      ///< PTX file as it was named to the module
  std::uint32_t line = 0, column = 0;  ///< of the PTX, from 1
  std::string instruction;             ///< its text
  std::string source_file;             ///< CUDA source by .loc, may be empty
  std::uint32_t source_line = 0;
  std::vector<SourcePlace> inlined_at;  ///< where that line was inlined, the nearest call first
  std::array<std::uint32_t, 3> cta{}, thread{};
  bool thread_known = true;  ///< false, with cta and thread 0, where the driver cut a loop off
  std::uint64_t handle = 0;  ///< as the instruction had it
  std::string surface;       ///< name of the surface, its parameter or its .surfref; may be empty
  std::vector<std::pair<std::string, std::int32_t>> coordinates;  ///< "x", "y", "z" or "layer"
  std::array<std::uint64_t, 3> extent{};  ///< width in bytes, rows, slices or layers; 0: not known
  std::uint32_t texel_bytes = 0;
  std::string message;    ///< of an assertion: its text, file and line
  std::string assertion;  ///< the line that CUDA prints for it
  /// The whole report, one fact a line. The first line has the form file:line:col: error: text. It
  /// ends with a line break, as Message::rendered does.
  std::string to_string() const;
};
const char* to_string(abi::TrapKind kind);

enum class ErrorCode : std::uint8_t {
  invalid_argument,  ///< the call itself is wrong: ranges, sizes, argument lists
  not_found,         ///< no entry, variable or surface of that name
  no_device,         ///< no device is usable, or none matches the selection
  unsupported,       ///< the device cannot do it
  translation,       ///< `messages` says why
  trap,              ///< `trap` has the report
  out_of_memory,
  device_lost,
  io,
  internal,
  timed_out,  ///< a launch took longer than DeviceOptions::timeout; the device is of no use now,
              ///< unless the interpreter ran the launch and stopped it
};
const char* to_string(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string text;                        ///< one sentence
  std::vector<Message> messages;           ///< of the translator
  std::shared_ptr<const TrapReport> trap;  ///< code trap only
  /// All that is known, in whole lines: the trap's report, the translator's messages or `text`.
  std::string to_string() const;
};

namespace runtime {
/// Prints an error that the program did not check and aborts: without the value of a failed call
/// the program cannot continue.
[[noreturn]] void unchecked_error(const Error& error);
[[noreturn]] void error_of_success();
}  // namespace runtime

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  /// The value. A failed call has none: prints its error and aborts the program.
  T& value() & { return checked(); }
  const T& value() const& { return const_cast<Result*>(this)->checked(); }
  T&& value() && { return std::move(checked()); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(checked()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const& { return const_cast<Result*>(this)->failure(); }
  Error&& error() && { return std::move(failure()); }

 private:
  T& checked() {
    if (Error* error = std::get_if<1>(&state_)) runtime::unchecked_error(*error);
    return *std::get_if<0>(&state_);
  }
  Error& failure() {
    if (ok()) runtime::error_of_success();
    return *std::get_if<1>(&state_);
  }
  std::variant<T, Error> state_;
};

/// A result without a value.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::make_unique<Error>(std::move(error))) {}
  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const& { return *failure(); }
  Error&& error() && { return std::move(*failure()); }

 private:
  Error* failure() const {
    if (!error_) runtime::error_of_success();
    return error_.get();
  }
  std::unique_ptr<Error> error_;
};

}  // namespace ptx2spv
