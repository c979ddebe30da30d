// CUDA programs under ptxexec: in C against the driver interface, in Python, and in CUDA C++ where
// nvcc is installed, with the outputs that an H200 gave under NVIDIA's libraries.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ptx2spv/runtime.hpp"
#include "tests/cuda/programs.hpp"
#include "tests/support/environment.hpp"

namespace ptx2spv::test {
namespace {

namespace fs = std::filesystem;

TEST(DriverInterface, ProgramInC) {
  std::string program;
  ASSERT_TRUE(compile_c("driver", program));
  const ProcessResult result = execute({program});
  EXPECT_EQ(result.out, "good\n") << result.error;
  EXPECT_EQ(result.exit_code, 0);
  // The messages that it provokes.
  EXPECT_NE(result.error.find("holds machine code"), std::string::npos) << result.error;
  EXPECT_NE(result.error.find("-cudart shared"), std::string::npos) << result.error;
  EXPECT_NE(result.error.find("cuIpcGetMemHandle is not supported"), std::string::npos);
}

TEST(DriverInterface, CyclesDoNotGrow) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers keep freed memory";
#endif
  std::string program;
  ASSERT_TRUE(compile_c("cycles", program));
  const ProcessResult result = execute({program, "10000"});
  EXPECT_EQ(result.out, "good\n") << result.error;
}

// CUB asks for an attribute before every launch.
TEST(DriverInterface, AttributesOpenADeviceOnce) {
  std::string program;
  ASSERT_TRUE(compile_c("opens", program));
  EXPECT_EQ(execute({program}).out, "good\n");
}

// A driver's threads that are still at work when the process takes its parts away end it by a
// signal, in some runs.
TEST(DriverInterface, ProgramThatEndsBeforeItsKernels) {
  std::string program;
  ASSERT_TRUE(compile_c("leaves", program));
  for (const char* launches : {"1", "1", "2", "5"}) {
    const ProcessResult result = execute({program, launches}, {"PTX2SPV_CACHE=0"});
    EXPECT_EQ(result.out, "good\n") << result.error;
    EXPECT_EQ(result.exit_code, 7) << launches << " launches: " << result.error;
  }
}

TEST(DriverInterface, ThreadsOfHostFunctionsEndBeforeDevicesGo) {
  std::string program;
  ASSERT_TRUE(compile_c("threads", program));
  const ProcessResult result = execute({program});
  EXPECT_EQ(result.out, "good\n") << result.error;
  EXPECT_EQ(result.exit_code, 0);
}

TEST(DriverInterface, ChildrenOfAProcessWithADevice) {
  std::string program;
  ASSERT_TRUE(compile_c("forks", program));
  const ProcessResult result = execute({program});
  EXPECT_EQ(result.out, "good\n") << result.error;
  EXPECT_EQ(result.exit_code, 0);
}

/// Of the device that a selection finds, as Vulkan gives it, without dashes.
std::string uuid_of(const char* select) {
  DeviceOptions options;
  options.select = select;
  auto device = Device::open(options);
  std::string uuid = device ? device->info().uuid_text() : device.error().to_string();
  std::erase(uuid, '-');
  return uuid;
}

TEST(DriverInterface, SeveralDevices) {
  PTX2SPV_NEEDS_DEVICE("swiftshader");
  PTX2SPV_NEEDS_DEVICE("lavapipe");
  std::string program;
  ASSERT_TRUE(compile_c("devices", program));
  const ProcessResult result = execute({program, "3", uuid_of("swiftshader"), uuid_of("lavapipe")},
                                       {"PTX2SPV_DEVICES=swiftshader,lavapipe,swiftshader"});
  EXPECT_EQ(result.out, "good\n") << result.error;
  const ProcessResult wrong = execute({program, "1"}, {"PTX2SPV_DEVICES=swiftshader,nonesuch"});
  EXPECT_NE(wrong.exit_code, 0);
  EXPECT_NE(wrong.error.find("nonesuch"), std::string::npos) << wrong.error;
}

TEST(DriverInterface, DevicesReachAndCopyEachOthersMemory) {
  std::string program;
  ASSERT_TRUE(compile_c("peers", program));
  for (const char* devices : {"swiftshader,lavapipe", "lavapipe,lavapipe"})
    for (const char* option : {"--executor=auto", "--executor=device", "--sanitize=all"}) {
      const char* can = std::string_view(option) == "--sanitize=all" ? "0" : "1";
      const ProcessResult result =
          execute({option, program, can}, {std::string("PTX2SPV_DEVICES=") + devices});
      EXPECT_EQ(result.out, "good\n") << devices << ' ' << option << ' ' << result.error;
    }
}

TEST(DriverInterface, GraphsOfSeveralContextsAndDevices) {
  PTX2SPV_NEEDS_DEVICE("swiftshader");
  std::string program;
  ASSERT_TRUE(compile_c("spans", program));
  for (const char* executor : {"auto", "device"}) {
    const ProcessResult result = execute({std::string("--executor=") + executor, program},
                                         {"PTX2SPV_DEVICES=swiftshader,swiftshader"});
    EXPECT_EQ(result.out, "good\n") << executor << result.error;
  }
}

TEST(DriverInterface, SurfaceFromPython) {
  if (run_process({"/usr/bin/env", "python3", "-c", "import ctypes"}).exit_code)
    GTEST_SKIP() << "python3 is not installed";
  const ProcessResult result = execute({"python3", kHere + "driver/surface.py"});
  EXPECT_EQ(result.out, "good\n") << result.error;
}

TEST(DriverInterface, SurfaceFromPyCuda) {
  const ProcessResult found = execute({"python3", "-c", "import pycuda.driver"});
  if (found.exit_code) GTEST_SKIP() << "python3-pycuda is not installed";
  const ProcessResult result = execute({"python3", kHere + "driver/pycuda_surface.py"});
  EXPECT_EQ(result.out, "good\n") << result.error;
}

TEST(DriverInterface, LibrariesByAnyName) {
  PTX2SPV_NEEDS_PRELOADS;
  std::string program;
  const std::string source = kHere + "driver/names.c";
  ASSERT_TRUE(compile(
      "names", {"/usr/bin/env", "cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", source, "-ldl"},
      {source}, program));
  const ProcessResult result = execute({program});
  EXPECT_EQ(result.out, "good\n") << result.error;
}

// As cudarc and rust-cuda use the interface, with a kernel as LLVM writes it.
TEST(DriverInterface, BindingsOfOtherLanguages) {
  PTX2SPV_NEEDS_PRELOADS;
  std::string program;
  ASSERT_TRUE(compile_c("bindings", program));
  const ProcessResult result = execute({program});
  EXPECT_EQ(result.out, "good\n") << result.error;
}

TEST(DriverInterface, ShadersOfSlang) {
  std::string program;
  ASSERT_TRUE(compile_c("shader", program));
  const ProcessResult result = execute({program});
  EXPECT_EQ(result.out, "good\n") << result.error;
}

/// A program that asks NVRTC for machine code, `libraries` behind its own command.
::testing::AssertionResult compile_nvrtc_program(const std::string& name,
                                                 const std::vector<std::string>& libraries,
                                                 std::string& made) {
  const std::string source = kHere + "driver/nvrtc.c";
  std::vector<std::string> command = {
      "/usr/bin/env", "cc",   "-std=gnu11",      "-Wall",           "-Wextra",
      "-Werror",      source, "-L" + kLibraries, "-l:libcuda.so.1", "-Wl,-rpath-link," + kLibraries,
      "-ldl"};
  command.insert(command.end(), libraries.begin(), libraries.end());
  return compile(name, command, {source, kHere + "driver/driver.h", kLibraries + "/libcuda.so.1"},
                 made);
}

TEST(DriverInterface, MachineCodeOfNvrtcIsPtx) {
  PTX2SPV_NEEDS_PRELOADS;
  const TemporaryFolder folder;
  std::string opens;
  ASSERT_TRUE(compile_nvrtc_program("nvrtc", {}, opens));
  for (const std::string version : {"11.2", "12", "13"}) {
    const std::string library = folder.file("libnvrtc.so." + version);
    const ProcessResult made = run_process(
        {"/usr/bin/env", "cc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", library,
         kHere + "driver/fake_nvrtc.c", "-Wl,--default-symver,-soname,libnvrtc.so." + version});
    ASSERT_EQ(made.exit_code, 0) << made.error;
    const std::string other = ":" + environment("LD_LIBRARY_PATH");  // the Vulkan loader's, too
    const std::vector<std::string> path = {"LD_LIBRARY_PATH=" + folder.path() + other};
    EXPECT_NE(run_process({opens, library}, {}, {"LD_LIBRARY_PATH=" + kLibraries + other}).out,
              "good\n")
        << "the machine code is none";
    for (const std::string& name : {library, "libnvrtc.so." + version}) {
      const ProcessResult result = execute({opens, name}, path);
      EXPECT_EQ(result.out, "good\n") << name << ": " << result.error;
    }
    std::string linked;
    ASSERT_TRUE(compile_nvrtc_program("nvrtc" + version, {"-DLINKED", library}, linked));
    const ProcessResult result = execute({linked}, path);
    EXPECT_EQ(result.out, "good\n") << result.error;
    EXPECT_EQ(result.error.find("version"), std::string::npos) << result.error;
  }
}

TEST(DriverInterface, MachineCodeOfNvidiasNvrtcIsPtx) {
  PTX2SPV_NEEDS_PRELOADS;
  std::string library;
  for (const char* each : {"/usr/local/cuda/lib64/libnvrtc.so", "/usr/local/cuda/lib/libnvrtc.so",
                           "/usr/lib/x86_64-linux-gnu/libnvrtc.so"})
    if (fs::exists(each)) library = each;
  if (library.empty()) GTEST_SKIP() << "libnvrtc is not installed";
  std::string opens;
  ASSERT_TRUE(compile_nvrtc_program("nvrtc", {}, opens));
  // It opens its builtins by their name, in whatever folder CUDA is.
  const ProcessResult result =
      execute({opens, library}, {"LD_LIBRARY_PATH=" + environment("LD_LIBRARY_PATH") + ":" +
                                 fs::path(library).parent_path().string()});
  EXPECT_EQ(result.out, "good\n") << result.error;
}

TEST(DriverInterface, KernelsFromNumba) {
  const ProcessResult found =
      execute({"python3", "-c",
               "from numba.cuda.cudadrv import nvvm; from numba import cuda\n"
               "import numba.cuda.cudaimpl\nassert nvvm.is_available()"});
  if (found.exit_code)
    GTEST_SKIP() << "python3-numba, or the libNVVM or NumPy that it needs, is missing:\n"
                 << found.error;
  const ProcessResult result = execute({"python3", kHere + "driver/numba_kernels.py"});
  EXPECT_EQ(result.out, "good\n") << result.error;
}

/// The parts of a row between bars, without the blanks around them.
std::vector<std::string> cells(const std::string& row) {
  std::vector<std::string> all;
  std::istringstream in(row);
  for (std::string cell; std::getline(in, cell, '|');) {
    const auto first = cell.find_first_not_of(' '), last = cell.find_last_not_of(' ');
    all.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
  }
  return all;
}

/// Puts `line` in the place of every line that is `recorded` but for the blanks before it; false:
/// there is none.
bool replace_lines(std::string& text, const std::string& recorded, const std::string& line) {
  std::string changed;
  std::istringstream lines(text);
  bool any = false;
  for (std::string each; std::getline(lines, each);) {
    const auto first = std::min(each.find_first_not_of(' '), each.size());
    const bool is = each.compare(first, std::string::npos, recorded) == 0;
    any = any || is;
    changed += (is ? each.substr(0, first) + line : each) + '\n';
  }
  text = changed;
  return any;
}

/// What the hardware gave, with the lines that are known to differ here: each has to be there.
std::string expected_output(const std::string& name) {
  std::string text = read_whole(kHere + "expected/" + name + ".txt");
  std::istringstream rows(read_whole(kHere + "expected/differences.txt"));
  for (std::string row; std::getline(rows, row);) {
    if (row.empty() || row[0] == '#') continue;
    const auto parts = cells(row);
    EXPECT_EQ(parts.size(), 4u) << row;
    if (parts.size() != 4 || parts[0] != name) continue;
    if (replace_lines(text, parts[1], parts[2])) continue;
    const auto at = text.find(parts[1] + ' ');
    EXPECT_NE(at, std::string::npos) << row;
    if (at == std::string::npos) continue;
    const auto end = text.find('\n', at), word = text.rfind(' ', end);
    EXPECT_NE(text.substr(word + 1, end - word - 1), parts[2]) << "no difference: " << row;
    text.replace(word + 1, end - word - 1, parts[2]);
  }
  return text;
}

/// What the groups of a program print, each in a process of its own and under its name.
std::string output_of_groups(const std::string& program) {
  std::string all;
  std::istringstream groups(execute({program}).out);
  for (std::string group; std::getline(groups, group);) {
    const ProcessResult result = execute({program, group});
    EXPECT_EQ(result.exit_code, 0) << group << ": " << result.error;
    all += "== " + group + '\n' + result.out;
  }
  return all;
}

TEST(DriverInterface, WrongCallsAnswerAsNvidias) {
  std::string program;
  ASSERT_TRUE(compile_c("mistakes", program));
  EXPECT_EQ(output_of_groups(program), expected_output("mistakes_driver"));
}

TEST(DriverInterface, OpenGlsObjectsAsOnAnH100) {
  std::string program;
  ASSERT_TRUE(compile_c("opengl_calls", program));
  const ProcessResult result = execute({program});
  if (result.exit_code == 77) GTEST_SKIP() << result.error;
  EXPECT_EQ(output_of_groups(program), expected_output("opengl_calls"));
}

/// Compiles a program in C against one of the runtime libraries and runs it.
void run_with_library(const std::string& file, const std::string& library, ProcessResult& result) {
  std::string program;
  const std::string source = kHere + file;
  ASSERT_TRUE(compile(fs::path(file).stem(),
                      {"/usr/bin/env", "cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", source,
                       "-L" + kLibraries, "-l:" + library, "-Wl,-rpath-link," + kLibraries},
                      {source, kHere + "runtime11/runtime.h", kHere + "runtime11/registration.h",
                       kLibraries + "/" + library},
                      program));
  result = execute({program});
  EXPECT_EQ(result.out, "good\n") << result.error;
  EXPECT_EQ(result.exit_code, 0);
}

TEST(RuntimeOfCuda11, References) {
  ProcessResult result;
  run_with_library("runtime11/references.c", "libcudart.so.11.0", result);
}

TEST(RuntimeOfCuda12, Objects) {
  ProcessResult result;
  run_with_library("runtime12/objects.c", "libcudart.so.12", result);
  // The two messages that it provokes: what 12 has no more, and what is not supported.
  EXPECT_NE(result.error.find("cannot be bound"), std::string::npos) << result.error;
  EXPECT_NE(result.error.find("cudaVDPAUGetDevice is not supported"), std::string::npos);
}

TEST(RuntimeOfCuda12, LibrariesAndGraphs) {
  ProcessResult result;
  run_with_library("runtime12/library.c", "libcudart.so.12", result);
}

TEST(RuntimeOfCuda12, ClosedWhileThreadsServeLaunches) {
  std::string program;
  const std::string source = kHere + "runtime12/unload.c";
  ASSERT_TRUE(compile("unload",
                      {"/usr/bin/env", "cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", source,
                       "-ldl", "-pthread"},
                      {source}, program));
  const ProcessResult result = execute({program, kLibraries + "/libcudart.so.12"});
  EXPECT_EQ(result.out, "good\n") << result.error;
  EXPECT_EQ(result.exit_code, 0);
}

/// A fat binary of one PTX text, not compressed.
std::string fat_binary(std::string text) {
  text.resize(text.size() / 8 * 8 + 8);
  std::string bytes;
  const auto put = [&](auto value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  constexpr std::uint32_t kMagic = 0xba55ed50, kEntryBytes = 64, kArch = 75;
  put(kMagic);
  put(std::uint16_t{1});   // version
  put(std::uint16_t{16});  // bytes of this header
  put(std::uint64_t{kEntryBytes + text.size()});
  put(std::uint16_t{1});  // PTX
  put(std::uint16_t{0x101});
  put(kEntryBytes);
  put(std::uint64_t{text.size()});
  put(std::uint64_t{0});            // compressed bytes, options
  put(std::uint32_t{0x0006'0003});  // version of the PTX
  put(kArch);
  put(std::uint64_t{0});     // name
  put(std::uint64_t{0x11});  // flags
  put(std::uint64_t{0});
  put(std::uint64_t{0});  // uncompressed bytes
  return bytes + text;
}

// clang compiles CUDA without a toolkit: the device's part to PTX, and the host's part with the fat
// binary that ptxas and fatbinary would make.
TEST(RuntimeOfCuda11, CompiledByClang) {
  if (run_process({"/usr/bin/env", "clang++", "--version"}).exit_code)
    GTEST_SKIP() << "clang is not installed";
  const std::string source = kHere + "runtime11/clang.cu", library = "libcudart.so.11.0",
                    own = executables() + "clang." + std::to_string(getpid());
  std::vector<std::string> clang = {"/usr/bin/env",
                                    "clang++",
                                    "-x",
                                    "cuda",
                                    "-std=c++17",
                                    "-O2",
                                    "--cuda-gpu-arch=sm_75",
                                    "-nocudainc",
                                    "-nocudalib",
                                    "--cuda-path=/nonexistent",
                                    "-Wno-unknown-cuda-version",
                                    "-Xclang",
                                    "-target-sdk-version=11.0"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), clang.begin(), clang.end());
    return run_process(more);
  };
  const ProcessResult device = with({"--cuda-device-only", "-S", source, "-o", own + ".ptx"});
  if (device.error.find("device_builtin_texture_type") != std::string::npos)
    GTEST_SKIP() << "this clang knows no texture references";
  ASSERT_EQ(device.exit_code, 0) << device.error;
  std::ofstream(own + ".fatbin", std::ios::binary) << fat_binary(read_whole(own + ".ptx"));
  const ProcessResult host = with({"--cuda-host-only", "-Xclang", "-fcuda-include-gpubinary",
                                   "-Xclang", own + ".fatbin", "-c", source, "-o", own + ".o"});
  ASSERT_EQ(host.exit_code, 0) << host.error;
  const ProcessResult linked =
      run_process({"/usr/bin/env", "clang++", own + ".o", "-o", own, "-L" + kLibraries,
                   "-l:" + library, "-Wl,-rpath-link," + kLibraries});
  ASSERT_EQ(linked.exit_code, 0) << linked.error;
  const ProcessResult result = execute({own});
  EXPECT_EQ(result.out, "good\n") << result.error;
  for (const char* each : {"", ".o", ".ptx", ".fatbin"}) fs::remove(own + each);
}

struct Program {
  const char* name;
  std::vector<std::string> files, options;
  bool recorded = true;  ///< its output is in expected/; else it checks itself and says good
};

void PrintTo(const Program& program, std::ostream* out) { *out << program.name; }

class CudaProgram : public ::testing::TestWithParam<Program> {};

TEST_P(CudaProgram, GivesWhatTheHardwareGives) {
  if (nvcc().empty()) GTEST_SKIP() << "nvcc is not installed";
  const Program& program = GetParam();
  for (const std::string& each : program.options)
    if (each.starts_with("--compress-mode") &&
        run_process({nvcc(), "--help"}).out.find("--compress-mode") == std::string::npos)
      GTEST_SKIP() << "nvcc " << toolkit() << " has no option " << each;
  std::string made;
  ASSERT_TRUE(compile_cuda(program.name, program.files, program.options, made));
  const ProcessResult result = execute({made});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  const std::string name = std::string(program.name).substr(0, std::string(program.name).find('-'));
  if (program.recorded)
    EXPECT_EQ(result.out, expected_output(name)) << result.error;
  else
    EXPECT_EQ(result.out, "good\n") << result.error;
}

// `copies` is compiled in each of nvcc's compressions.
INSTANTIATE_TEST_SUITE_P(
    All, CudaProgram,
    ::testing::Values(
        Program{"copies", {"copies.cu"}, {}},
        Program{"copies-speed", {"copies.cu"}, {"--compress-mode=speed"}},
        Program{"copies-none", {"copies.cu"}, {"--compress-mode=none"}},
        Program{"codes", {"codes.cu"}, {}}, Program{"errors", {"errors.cu"}, {}},
        Program{"graphs", {"graphs.cu"}, {}}, Program{"nodes", {"nodes.cu"}, {}},
        Program{"views", {"views.cu"}, {}},
        Program{"linked", {"linked_a.cu", "linked_b.cu"}, {"-rdc=true"}},
        Program{"surfaces", {"surfaces.cu"}, {}, false},
        Program{"managed", {"managed.cu"}, {}, false}, Program{"hosts", {"hosts.cu"}, {}, false},
        Program{"handshakes", {"handshakes.cu"}, {}, false},
        Program{"rules", {"rules.cu"}, {}, false}, Program{"rows", {"rows.cu"}, {}, false},
        Program{"huge_host", {"huge_host.cu"}, {}, false},
        Program{"textures", {"textures.cu"}, {}, false}, Program{"symbols", {"symbols.cu"}, {}},
        Program{"pairs", {"pairs.cu"}, {}}, Program{"streams", {"streams.cu"}, {}}),
    [](const auto& each) {
      std::string name = each.param.name;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

// The headers write other instructions for each capability: shuffles, redux.sync and bar.warp.sync,
// plain copies and cp.async, counters and mbarrier objects.
TEST(CudaGroups, OfEachCapability) {
  if (nvcc().empty()) GTEST_SKIP() << "nvcc is not installed";
  std::string made;
  ASSERT_TRUE(compile_cuda("groups", {"groups.cu"},
                           {"-gencode", "arch=compute_90,code=compute_90", "-gencode",
                            "arch=compute_100,code=compute_100"},
                           made));
  for (const char* capability : {"7.5", "9.0", "10.0"}) {
    const ProcessResult result = execute({made}, {std::string("PTX2SPV_CUDA_ARCH=") + capability});
    EXPECT_EQ(result.out, "good\n") << capability << ": " << result.error;
  }
}

// Under each executor but `device`, the host runs what CPU drivers do not compile.
TEST(CudaSort, EqualsTheHosts) {
  if (nvcc().empty()) GTEST_SKIP() << "nvcc is not installed";
  std::string made;
  ASSERT_TRUE(compile_cuda("sort", {"sort.cu"}, {}, made));
  for (const char* mode : {"auto", "host"}) {
    if (mode == std::string("host") && !on_processor()) continue;  // which runs none for a GPU
    const ProcessResult result = execute({std::string("--executor=") + mode, made}, {});
    if (result.out == "no thrust\n") GTEST_SKIP() << "the toolkit has no thrust";
    EXPECT_EQ(result.out, "good\n") << mode << ": " << result.error;
  }
  // On a device newer than the program, which has the kernels that it was compiled for alone.
  const ProcessResult newer = execute({"--compute-capability=9.0", made}, {});
  EXPECT_EQ(newer.out, "good\n") << newer.error;
}

// With checks of synchronisation these kernels are too much for SwiftShader's compiler, and for
// lavapipe's within minutes.
TEST(CudaSort, EndsUnderTheSanitizerWithoutAFinding) {
  if (nvcc().empty()) GTEST_SKIP() << "nvcc is not installed";
  std::string made;
  ASSERT_TRUE(compile_cuda("sort", {"sort.cu"}, {}, made));
  for (const char* checks : {"sync", "all"}) {
    const ProcessResult result = execute({std::string("--sanitize=") + checks, made, "14400"});
    if (result.out == "no thrust\n") GTEST_SKIP() << "the toolkit has no thrust";
    EXPECT_EQ(result.out, "good\n") << checks << ": " << result.error;
    EXPECT_EQ(result.exit_code, 0) << checks << ": " << result.error;
  }
}

TEST(CudaMemory, IsTheMachines) {
  if (nvcc().empty()) GTEST_SKIP() << "nvcc is not installed";
  std::string made;
  ASSERT_TRUE(compile_cuda("large", {"large.cu"}, {}, made));
  for (const char* mode : {"host", "device"}) {
    if (mode == std::string("host") && !on_processor()) continue;  // which runs none for a GPU
    const ProcessResult result = execute({std::string("--executor=") + mode, made}, {});
    if (result.out.starts_with("small")) GTEST_SKIP() << "the device has less than 6 GiB";
    EXPECT_EQ(result.out, "good\n") << mode << ": " << result.error;
  }
}

TEST(CudaGrids, BlocksMeet) {
  if (nvcc().empty()) GTEST_SKIP() << "nvcc is not installed";
  std::string made;
  ASSERT_TRUE(
      compile_cuda("grids", {"grids.cu"}, {"-gencode", "arch=compute_90,code=compute_90"}, made));
  for (const char* capability : {"7.5", "9.0"}) {
    const ProcessResult result = execute({made}, {std::string("PTX2SPV_CUDA_ARCH=") + capability});
    EXPECT_EQ(result.out, "good\n") << capability << ": " << result.error;
  }
}

TEST(CudaMistakes, AnswerAsNvidias) {
  if (nvcc().empty()) GTEST_SKIP() << "nvcc is not installed";
  if (toolkit_major() < 13) GTEST_SKIP() << "the answers are those of CUDA 13's runtime library";
  for (const char* name : {"mistakes", "misuse", "calls", "edits", "sweep", "huge"}) {
    std::string made;
    ASSERT_TRUE(compile_cuda(name, {std::string(name) + ".cu"}, {}, made));
    EXPECT_EQ(output_of_groups(made), expected_output(name));
  }
}

class CudaHostSide : public ::testing::TestWithParam<const char*> {};

TEST_P(CudaHostSide, AnswersAsNvidias) {
  if (nvcc().empty()) GTEST_SKIP() << "nvcc is not installed";
  if (toolkit_major() < 13) GTEST_SKIP() << "the answers are those of CUDA 13's runtime library";
  const std::string name = GetParam();
  std::vector<std::string> options;
  if (name == "conditions") options = {"-rdc=true"};  // the device's runtime is linked
  std::string made;
  ASSERT_TRUE(compile_cuda(name, {name + ".cu"}, options, made));
  EXPECT_EQ(output_of_groups(made), expected_output(name));
}

INSTANTIATE_TEST_SUITE_P(All, CudaHostSide,
                         ::testing::Values("arrays", "boxes", "waits", "conditions", "mappings",
                                           "units", "homeless", "references", "pools", "edges",
                                           "foreign", "pairing"),
                         [](const auto& each) { return std::string(each.param); });

// The reasons of calls and what they leave in a trace are kept by thread, too.
TEST(CudaExits, DestructorsAndHandlersMakeCalls) {
  if (nvcc().empty()) GTEST_SKIP() << "nvcc is not installed";
  std::string made;
  ASSERT_TRUE(compile_cuda("exits", {"exits.cu"}, {}, made));
  for (const char* option : {"--executor=auto", "--executor=device", "--log", "--trace=/dev/null"})
    for (const char* calls : {"none", "before", "launch", "thread"}) {
      const ProcessResult result = execute({option, made, calls});
      EXPECT_EQ(result.out, "a thread's destructor\na handler\na destructor\n")
          << option << " " << calls << result.error;
      EXPECT_EQ(result.exit_code, 0) << option << " " << calls;
    }
}

TEST(CudaTraps, StayUntilTheProcessEnds) {
  if (nvcc().empty()) GTEST_SKIP() << "nvcc is not installed";
  std::string made;
  ASSERT_TRUE(compile_cuda("traps", {"traps.cu"}, {}, made));
  const std::map<std::string, std::string> reports = {
      {"surface", "out of bounds"}, {"assert", "threadIdx.x < n"}, {"trap", "trap instruction"}};
  for (const auto& [kind, report] : reports) {
    const ProcessResult result = execute({made, kind});
    EXPECT_EQ(result.out, read_whole(kHere + "expected/traps_" + kind + ".txt")) << kind;
    EXPECT_NE(result.error.find(report), std::string::npos) << result.error;
  }
  // The line that NVIDIA's runtime prints; the source's folder is where it was compiled.
  const ProcessResult result = execute({made, "assert"});
  EXPECT_NE(result.error.find(read_whole(kHere + "expected/traps_assert_line.txt")),
            std::string::npos)
      << result.error;
}

TEST(CudaTraps, CopiesBehindThemDeliverNothing) {
  if (nvcc().empty()) GTEST_SKIP() << "nvcc is not installed";
  std::string made;
  ASSERT_TRUE(compile_cuda("trapped_copies", {"trapped_copies.cu"}, {}, made));
  for (const char* executor : {"host", "device"})
    for (const char* how : {"memory", "locked", "async", "rows", "symbol", "array"}) {
      const ProcessResult result = execute({std::string("--executor=") + executor, made, how});
      EXPECT_EQ(result.out, "cudaErrorLaunchFailure\n64 of 64 kept\n") << executor << " " << how;
    }
}

TEST(CudaLayouts, AreTheToolkits) {
  if (nvcc().empty()) GTEST_SKIP() << "nvcc is not installed";
  if (toolkit_major() < 12) GTEST_SKIP() << "headers of CUDA 11 name older driver structures";
  // The declarations for that major version are compared. The host's compiler is enough.
  const ProcessResult result =
      run_process({"/usr/bin/env", "c++", "-x", "c++", "-std=c++20", "-fsyntax-only", "-I",
                   PTX2SPV_SOURCE_DIR, "-I", std::string(PTX2SPV_SOURCE_DIR) + "/src/include", "-I",
                   std::string(PTX2SPV_SOURCE_DIR) + "/translator/include", "-isystem",
                   fs::path(nvcc()).parent_path().parent_path() / "include",
                   "-DPTX2SPV_CUDART=" + std::to_string(toolkit_major()), kHere + "abi.cu"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
}

TEST(CudaImages, MachineCodeAloneIsNamed) {
  if (nvcc().empty()) GTEST_SKIP() << "nvcc is not installed";
  std::string made;
  ASSERT_TRUE(compile("sass",
                      {nvcc(), "-cudart", "shared", "-gencode", "arch=compute_75,code=sm_75",
                       kHere + "programs/image.cu"},
                      {kHere + "programs/image.cu"}, made));
  const ProcessResult result = execute({made});
  EXPECT_EQ(result.out, "cudaErrorNoKernelImageForDevice\n");
  EXPECT_NE(result.error.find("-gencode"), std::string::npos) << result.error;
}

TEST(CudaImages, StaticRuntimeIsNamed) {
  if (nvcc().empty()) GTEST_SKIP() << "nvcc is not installed";
  std::string made;
  ASSERT_TRUE(
      compile("static",
              {nvcc(), "-gencode", "arch=compute_75,code=compute_75", kHere + "programs/image.cu"},
              {kHere + "programs/image.cu"}, made));
  const ProcessResult result = execute({made});
  EXPECT_NE(result.error.find("-cudart shared"), std::string::npos) << result.error << result.out;
}

TEST(CudaImages, ArchiveForNoRuntime) {
  if (nvcc().empty()) GTEST_SKIP() << "nvcc is not installed";
  std::string made;
  ASSERT_TRUE(compile("archive",
                      {nvcc(), "-cudart", "none", "-gencode", "arch=compute_75,code=compute_75",
                       kHere + "programs/image.cu", "-L" + kLibraries, "-lptx2spv-cudart",
                       "-lptx2spv-cuda", "-lfmt", "-Xlinker", "-rpath=" + kLibraries},
                      {kHere + "programs/image.cu", kLibraries + "/libptx2spv-cudart.a"}, made));
  const ProcessResult result = run_process({made});
  EXPECT_EQ(result.out, "cudaSuccess\n") << result.error;
}

}  // namespace
}  // namespace ptx2spv::test
