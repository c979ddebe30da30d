// The questions that a device is asked: one for each row of its profile that Vulkan does not
// report.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "src/probe/asker.hpp"

namespace ptx2spv::runtime {

/// A row's answer, and in words what was seen.
struct Answer {
  std::uint32_t value = 0;
  std::string seen;
};

struct Question {
  std::string_view row;   ///< of Answers::rows()
  std::string_view asks;  ///< the question, for readers
  Answer (*ask)(Asker& asker);
};

/// In the order in which they are asked: each may rely on the answers before it.
std::span<const Question> questions();

// The rooms of questions().
std::span<const Question> float_questions();
std::span<const Question> thread_questions();
std::span<const Question> fault_questions();
std::span<const Question> matrix_questions();
std::span<const Question> image_questions();

/// Yes where nothing is wrong with so many words.
Answer judged(const std::string& wrong, std::size_t words);

/// Compares words; the text says how many differ, and how the first one does.
std::string differences(std::span<const std::uint32_t> want, std::span<const std::uint32_t> got);

/// What `ptx2spv-probe answer` does: asks the device every question that `answers` ("row=value
/// ...") has no answer for, and writes a line for each to standard output. The exit code of the
/// process.
int answer_questions(const DeviceOptions& options, const std::string& answers);

/// What `ptx2spv-probe compile` does: tries whether the device's driver compiles a pipeline, which
/// it reads from standard input, and writes "made" or "none" to standard output, for code or none,
/// unless the driver ends it. The exit code of the process.
int try_compilation(const DeviceOptions& options);

}  // namespace ptx2spv::runtime
