// Asking a device from a process of its own: a driver that hangs or crashes over a question takes
// that process with it and not the application.
#pragma once

#include <string>

#include "ptx2spv/result.hpp"
#include "src/device/answers.hpp"

namespace ptx2spv::runtime {

/// The version of the lines that the asking process writes (docs/develop/devices.md).
inline constexpr std::string_view kProbeProtocol = "ptx2spv-probe 1";

inline constexpr std::string_view kProbeProgram = "ptx2spv-probe";

/// The program that asks: the debug setting probe-program, or kProbeProgram of this build or
/// installation. Empty: there is none.
std::string find_probe_program();

/// How long one question may take. The longest takes some 100 ms on two idle cores.
inline constexpr int kQuestionMilliseconds = 10000;

struct AskedRow {
  std::string row, seen;
  double milliseconds = 0;
};
struct Asked {
  Answers answers;             ///< complete
  std::vector<AskedRow> rows;  ///< in the order in which they were asked
  std::string notes;           ///< the questions that the device did not survive; empty: none
};

/// Runs `program answer` for the device until every row has an answer. A question over
/// which the process ends, or which takes longer than `limit_ms`, is answered by what is safe.
Result<Asked> ask_in_process(const std::string& program, const DeviceIdentity& identity,
                             int limit_ms);

/// What is right on a device that gets this row wrong: a workaround on, everything else off.
std::uint32_t safe_answer(std::string_view row);

}  // namespace ptx2spv::runtime
