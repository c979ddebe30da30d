// The process that the runtime library starts to ask a device what Vulkan does not report, or to
// try a pipeline: a driver that crashes or hangs ends this process and not the application.
#include <cstdio>
#include <string_view>

#include "src/probe/questions.hpp"

int main(int argc, char** argv) {
  const std::string_view work = argc > 2 ? argv[1] : "";
  if (work == "answer")
    return ptx2spv::runtime::answer_questions({.select = argv[2]}, argc > 3 ? argv[3] : "");
  if (work == "compile") return ptx2spv::runtime::try_compilation({.select = argv[2]});
  std::fputs(
      "usage: ptx2spv-probe answer DEVICE [ANSWERS] | compile DEVICE\n"
      "The libraries of ptx2spv start it; ptxrun --probe shows its answers.\n",
      stderr);
  return 2;
}
