// ptxexec --trace: what a program called, as Perfetto and Chrome read it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cuda/programs.hpp"

namespace ptx2spv::test {
namespace {

using nlohmann::json;

/// A trace's events; the format leaves the closing bracket to the reader.
json events_of(const std::string& file) {
  std::string text = read_whole(file);
  EXPECT_TRUE(text.ends_with(",\n")) << text;
  text.replace(text.size() - 2, 2, "]");
  json events = json::parse(text, nullptr, false);
  EXPECT_FALSE(events.is_discarded()) << text;
  return events;
}

json events_named(const json& events, const std::string& name) {
  json found = json::array();
  for (const json& each : events)
    if (each["name"] == name) found.push_back(each);
  return found;
}

TEST(PtxexecTrace, CallsOfTheDriverInterface) {
  std::string program;
  ASSERT_TRUE(compile_c("devices", program));
  const TemporaryFolder folder;
  const std::string file = folder.file("trace.json");
  // Two processes of one program.
  const ProcessResult result =
      execute({"--trace", file, "sh", "-c", program + " 1; " + program + " 1"});
  EXPECT_EQ(result.out, "good\ngood\n") << result.error;
  const json events = events_of(file), all = events_named(events, "cuInit");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_NE(all[0]["pid"], all[1]["pid"]);
  const json call = all[0];
  EXPECT_EQ(call["ph"], "X");
  EXPECT_EQ(call["cat"], "driver");
  EXPECT_EQ(call["args"]["arguments"], "(0)");
  EXPECT_EQ(call["args"]["result"], "CUDA_SUCCESS");
  EXPECT_GT(call["dur"].get<double>(), 0);
  const json refused = events_named(events, "cuStreamBeginCapture_ptsz");
  ASSERT_EQ(refused.size(), 2u) << events;
  EXPECT_EQ(refused[0]["args"]["result"], "CUDA_ERROR_NOT_SUPPORTED");
}

TEST(PtxexecTrace, CallsKernelsAndRanges) {
  if (nvcc().empty()) GTEST_SKIP() << "nvcc is not installed";
  const std::string source = kHere + "programs/ranges.cu";
  const std::string include =
      std::filesystem::canonical(nvcc()).parent_path().parent_path().string() + "/include";
  if (!std::filesystem::exists(include + "/nvtx3")) GTEST_SKIP() << "NVTX's headers are missing";
  std::string program;
  ASSERT_TRUE(compile("ranges-" + toolkit(),
                      {nvcc(), "-cudart", "shared", "-arch=compute_75", source, "-ldl"}, {source},
                      program));
  const TemporaryFolder folder;
  const std::string file = folder.file("trace.json");
  const ProcessResult result = execute({"--trace=" + file, program});
  EXPECT_EQ(result.out, "7\n") << result.error;
  const json events = events_of(file);

  json launch = json::array();  // by one of two functions, as nvcc's version has it
  for (const json& each : events)
    if (each.contains("args") && each["args"].contains("kernel")) launch.push_back(each);
  ASSERT_EQ(launch.size(), 1u) << events;
  const std::string kernel = launch[0]["args"]["kernel"];
  EXPECT_NE(kernel.find("seven"), std::string::npos) << kernel;
  EXPECT_NE(kernel.find("<<<(1, 1, 1), (32, 1, 1), 0>>>"), std::string::npos) << kernel;
  EXPECT_NE(launch[0]["name"].get<std::string>().find("cudaLaunchKernel"), std::string::npos);
  EXPECT_NE(launch[0]["args"]["arguments"].get<std::string>().find("(32, 1, 1)"),
            std::string::npos);
  EXPECT_EQ(events_named(events, "cudaFree")[0]["args"]["result"], "cudaErrorInvalidValue");
  EXPECT_EQ(events_named(events, "cudaMemcpy")[0]["args"].size(), 2u);

  // Begin and end of a thread's ranges enclose what happened between them.
  std::vector<std::string> order;
  for (const json& each : events) {
    const std::string phase = each["ph"];
    if (each["cat"] == "nvtx") order.push_back(phase + " " + each["name"].get<std::string>());
    if (each["name"] == "cudaMemcpy") order.push_back("copy");
  }
  EXPECT_EQ(order, (std::vector<std::string>{"B outer \"range\"", "i mark \u00ff",
                                             "b across threads", "copy", "B registered", "E ",
                                             "e across threads", "i ", "E "}));
  EXPECT_EQ(events_named(events, "across threads")[0]["id"],
            events_named(events, "across threads")[1]["id"]);
  double last = 0;
  for (const json& each : events) {
    const double at = each["ts"].get<double>() + each.value("dur", 0.0);
    EXPECT_GE(at, last - 0.01) << each;  // its numbers are rounded
    last = at;
  }
}

TEST(PtxexecTrace, RefusesAFileThatCannotBeWritten) {
  const ProcessResult result = execute({"--trace", "/nowhere/trace.json", "echo", "started"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
}

}  // namespace
}  // namespace ptx2spv::test
