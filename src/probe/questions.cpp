#include "src/probe/questions.hpp"

#include <fmt/format.h>

namespace ptx2spv::runtime {

std::span<const Question> questions() {
  static const auto& all = *new auto([] {
    std::vector<Question> list;
    // Faults first: what the other questions ask must not meet them unknown. Waits need the
    // iterations that loops may have.
    for (const auto part : {fault_questions(), thread_questions(), float_questions(),
                            matrix_questions(), image_questions()})
      list.insert(list.end(), part.begin(), part.end());
    return list;
  }());
  return all;
}

Answer judged(const std::string& wrong, std::size_t words) {
  return {wrong.empty(), wrong.empty() ? fmt::format("{} words are right", words) : wrong};
}

std::string differences(std::span<const std::uint32_t> want, std::span<const std::uint32_t> got) {
  if (want.size() != got.size())
    return fmt::format("{} words instead of {}", got.size(), want.size());
  std::size_t count = 0, first = 0;
  for (std::size_t i = want.size(); i-- > 0;)
    if (want[i] != got[i]) ++count, first = i;
  if (!count) return {};
  return fmt::format("{} of {} words differ, the first at {}: {:08x}, not {:08x}", count,
                     want.size(), first, got[first], want[first]);
}

}  // namespace ptx2spv::runtime
