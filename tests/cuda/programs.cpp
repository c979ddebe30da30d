#include "tests/cuda/programs.hpp"

#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "ptx2spv/runtime.hpp"
#include "tests/support/environment.hpp"

namespace ptx2spv::test {

const std::string kHere = std::string(PTX2SPV_SOURCE_DIR) + "/tests/cuda/";
const std::string kLibraries = std::string(PTX2SPV_BINARY_DIR) + "/cuda";

namespace {

namespace fs = std::filesystem;

/// The newest of what an executable is made from.
fs::file_time_type newest(const std::vector<std::string>& sources) {
  auto time = fs::file_time_type::min();
  for (const std::string& each : sources) time = std::max(time, fs::last_write_time(each));
  return time;
}

/// Where this program is built with AddressSanitizer or ThreadSanitizer, the library of it, which
/// has to come first in programs that are not, too.
std::string sanitizer_library() {
  std::string found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        const std::string name = info->dlpi_name;
        if (name.find("/libasan.so") != name.npos || name.find("/libtsan.so") != name.npos)
          *static_cast<std::string*>(to) = name;
        return 0;
      },
      &found);
  return found;
}

}  // namespace

bool has_device(const std::string& select) {
  DeviceOptions options;
  options.select = select;
  const auto list = list_devices(options);
  return list && std::ranges::any_of(*list, [](const DeviceInfo& each) {
           return each.usable && each.rejection.empty();
         });
}

bool on_processor() {
  const auto device = Device::open();
  return device && device->info().kind == DeviceKind::cpu;
}

bool has_program(const std::string& name, const std::vector<std::string>& environment) {
  return run_process({"/usr/bin/env", name, "--version"}, {}, environment).exit_code == 0;
}

std::string executables() {
  const std::string folder = std::string(PTX2SPV_BINARY_DIR) + "/tests/cuda-programs/";
  fs::create_directories(folder);
  return folder;
}

::testing::AssertionResult compile(const std::string& name, std::vector<std::string> command,
                                   const std::vector<std::string>& sources, std::string& made) {
  made = executables() + name;
  std::error_code missing;
  if (fs::last_write_time(made, missing) > newest(sources) && !missing)
    return ::testing::AssertionSuccess();
  const std::string own = made + "." + std::to_string(getpid());
  command.insert(command.end(), {"-o", own});
  const ProcessResult result = run_process(command);
  if (result.exit_code)
    return ::testing::AssertionFailure() << name << " does not compile:\n" << result.error;
  fs::rename(own, made);
  return ::testing::AssertionSuccess();
}

std::string nvcc() {
  const char* named = std::getenv("PTX2SPV_NVCC");
  for (const char* each : {named, "/usr/local/cuda/bin/nvcc", "/usr/bin/nvcc"})
    if (each && access(each, X_OK) == 0) return each;
  return {};
}

const std::string& toolkit() {
  static const std::string version = [] {
    const std::string text = nvcc().empty() ? "" : run_process({nvcc(), "--version"}).out;
    const auto at = text.find("release ");
    return at == std::string::npos ? "" : text.substr(at + 8, text.find(',', at) - at - 8);
  }();
  return version;
}
int toolkit_major() { return std::atoi(toolkit().c_str()); }

ProcessResult execute(const std::vector<std::string>& program,
                      const std::vector<std::string>& environment) {
  std::vector<std::string> arguments = {tool_path("ptxexec")};
  arguments.insert(arguments.end(), program.begin(), program.end());
  // The layer's messages end the process, which belongs to tests of the runtime itself.
  std::vector<std::string> all = environment;
  const auto is_debug = [](const std::string& each) { return each.starts_with("PTX2SPV_DEBUG="); };
  if (std::ranges::none_of(all, is_debug)) all.push_back(debug_variable("validate-ir=0,tier=auto"));
  if (const std::string library = sanitizer_library(); !library.empty())
    all.push_back("LD_PRELOAD=" + library);
  return run_process(arguments, {}, all);
}

::testing::AssertionResult compile_c(const std::string& name, std::string& made) {
  const std::string source = kHere + "driver/" + name + ".c";
  return compile(
      name,
      {"/usr/bin/env", "cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", source, "-L" + kLibraries,
       "-l:libcuda.so.1", "-Wl,--allow-shlib-undefined,-rpath-link," + kLibraries, "-lm"},
      {source, kHere + "driver/driver.h", kHere + "driver/arrays.h", kHere + "driver/opengl.h",
       kHere + "driver/opengl_images.h", kHere + "driver/opengl_runtime.h",
       kHere + "driver/pools.h", kLibraries + "/libcuda.so.1"},
      made);
}

::testing::AssertionResult compile_cuda(const std::string& name,
                                        const std::vector<std::string>& files,
                                        const std::vector<std::string>& options,
                                        std::string& made) {
  std::vector<std::string> command = {nvcc(),   "-std=c++17", "-cudart",
                                      "shared", "-gencode",   "arch=compute_75,code=compute_75"};
  command.insert(command.end(), options.begin(), options.end());
  std::vector<std::string> sources = {kHere + "programs/common.cuh", kHere + "programs/expect.cuh"};
  for (const std::string& each : files) {
    sources.push_back(kHere + "programs/" + each);
    command.push_back(sources.back());
  }
  return compile(name + "-" + toolkit(), command, sources, made);
}

}  // namespace ptx2spv::test
