// ptxexec: starts a CUDA program on the libraries of src/cuda.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "ptx2spv/debug_setting.hpp"
#include "ptx2spv/profile.hpp"
#include "ptx2spv/runtime.hpp"
#include "ptx2spv/sanitize.hpp"
#include "ptx2spv/sanitizer.hpp"
#include "tools/common/files.hpp"
#include "tools/common/names.hpp"
#include "tools/common/options.hpp"
#include "tools/ptxexec/build.hpp"
#include "tools/ptxexec/functions_page.hpp"
#include "tools/ptxexec/static_runtime.hpp"

namespace ptx2spv::tools {
namespace {

/// The parts of `text` between commas; one that is blank is a problem.
std::vector<std::string> parts_of(const std::string& text, std::string& problem) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, comma - at));
    at = comma + 1;
    if (parts.back().find_first_not_of(' ') == std::string::npos)
      problem = "the list '" + text + "' has an empty name";
  }
  return parts;
}

/// Each is empty where the value will do, else what is wrong with it.
std::string unusable_device(const std::string& name) {
  if (name.find_first_not_of(' ') == std::string::npos) return "the name of a device is empty";
  DeviceOptions options;
  options.select = name;
  const auto list = list_devices(options);
  if (!list) return list.error().text;
  std::string names;
  for (const DeviceInfo& each : *list) {
    if (each.usable && each.rejection.empty()) return {};
    names += (names.empty() ? "" : ", ") + each.name;
  }
  return "no usable device matches '" + name + "'; there are: " + names +
         " (ptxrun --list-devices says more)";
}
std::string devices_problem(const ParsedOption& option) {
  const std::string& names = option.value;
  std::string problem;
  const std::vector<std::string> parts = parts_of(names, problem);
  std::set<std::string> different(parts.begin(), parts.end());
  if (!parts.empty() && parts.front() == "rank") different.erase("rank");
  for (auto each = different.begin(); problem.empty() && each != different.end(); ++each)
    problem = unusable_device(*each);
  return problem;
}
std::string capabilities_problem(const ParsedOption& option) {
  const std::string& names = option.value;
  std::string problem;
  for (const std::string& each : parts_of(names, problem))
    if (problem.empty() && !find_capability(each))
      problem = "there is no capability '" + each + "'; docs/reference/capabilities.md lists them";
  return problem;
}
std::string compute_capability_problem(const ParsedOption& option) {
  const std::string& value = option.value;
  const bool formed = value.size() >= 3 && value.size() <= 4 && value[value.size() - 2] == '.' &&
                      std::ranges::count_if(value, [](char c) { return c >= '0' && c <= '9'; }) ==
                          static_cast<std::ptrdiff_t>(value.size()) - 1;
  const double number = formed ? std::atof(value.c_str()) : 0;
  if (number >= 2 && number <= 13) return {};
  return "a compute capability has the form 7.5 and is from 2.0 to 13.0, not '" + value + "'";
}
std::string device_problem(const ParsedOption& option) { return unusable_device(option.value); }
std::string profile_problem(const ParsedOption& option) {
  return find_profile(option.value) ? "" : unknown_profile(option.value);
}
std::string checks_problem(const ParsedOption& option) {
  std::string unknown;
  return parse_checks(option.value, unknown) ? "" : unknown_check(unknown);
}
std::string choice_problem(const ParsedOption& option) {
  return choice_of(option) ? "" : wrong_choice(option);
}
#define PART(word, ...) "," #word
constexpr std::string_view kParts =
#include "src/cuda/parts.def"
    ;
template <auto low, auto high>
std::string number_problem(const ParsedOption& option) {
  decltype(high) number{};
  const bool good = parse_number<decltype(high)>(option.value, number, low, high);
  return good ? "" : wrong_number(option, low, high);
}

/// The environment of the program, as the options say it: variables, and settings of PTX2SPV_DEBUG.
struct Environment {
  std::vector<std::pair<std::string, std::string>> variables, debug;
};

/// A name as a template's argument.
template <std::size_t size>
struct Name {
  char text[size];
  constexpr Name(const char (&name)[size]) { std::copy_n(name, size, text); }
};
using Problem = std::string (*)(const ParsedOption& option);
std::string no_problem(const ParsedOption&) { return {}; }

template <Name name, Problem problem_of = no_problem>
std::string set_variable(void* settings, const ParsedOption& option) {
  const bool flag = option.row->value.empty();
  static_cast<Environment*>(settings)->variables.emplace_back(name.text, flag ? "1" : option.value);
  return problem_of(option);
}
template <Name key, Problem problem_of>
std::string set_debug(void* settings, const ParsedOption& option) {
  static_cast<Environment*>(settings)->debug.emplace_back(key.text, option.value);
  return problem_of(option);
}

std::string take_suppressions(Environment& environment, const ParsedOption& option) {
  const std::string& file = option.value;
  environment.variables.emplace_back("PTX2SPV_SUPPRESSIONS",
                                     std::filesystem::absolute(file).string());
  std::string text;
  const IoError error = read_text(file, text);
  return error.empty() ? suppressions_problem(text, file) : file + ": " + error;
}

std::string take_log(Environment& environment, const ParsedOption& option) {
  environment.variables.emplace_back("PTX2SPV_CUDA_LOG", option.has_value ? option.value : "1");
  return option.has_value ? choice_problem(option) : "";
}

/// Begins the file, to which each process of the program appends.
std::string take_trace(Environment& environment, const ParsedOption& option) {
  const std::string file = std::filesystem::absolute(option.value).string();
  environment.variables.emplace_back("PTX2SPV_CUDA_TRACE", file);
  std::FILE* out = std::fopen(file.c_str(), "w");
  const bool written = out && std::fputs("[\n", out) >= 0;
  return out && std::fclose(out) == 0 && written ? "" : file + " cannot be written";
}

/// What is wrong with --json: the file is written when the program ends.
std::string report_problem(const Environment& environment) {
  for (const auto& [name, file] : environment.variables) {
    if (name != "PTX2SPV_SANITIZE_JSON") continue;
    if (!std::getenv("PTX2SPV_SANITIZE"))
      return "--json is of what --sanitize finds, which is not given";
    std::FILE* out = std::fopen(file.c_str(), "a");
    if (!out || std::fclose(out) != 0) return file + " cannot be written";
  }
  return {};
}

constexpr int opt_libraries = 1, opt_dry_run = 2;

constexpr Option kOptions[] = {
    {set_variable<"PTX2SPV_DEVICE", device_problem>, 'd', "device", "NAME",
     "the device that the program sees: gpu, cpu, swiftshader, lavapipe, an index, uuid:... or "
     "part of the name; every usable one when not given",
     "gpu,cpu,swiftshader,lavapipe"},
    {set_variable<"PTX2SPV_DEVICES", devices_problem>, 0, "devices", "NAMES",
     "the devices that it sees, separated by commas; one named twice is two devices; rank first: "
     "one of them, in turns by the local rank of MPI"},
    {set_variable<"PTX2SPV_CUDA_ARCH", compute_capability_problem>, 0, "compute-capability", "X.Y",
     "what devices report, which decides which PTX of a program is chosen; 7.5 when not given"},
    {set_variable<"PTX2SPV_CUDA_AS", choice_problem>, 0, "as", "PART",
     "what devices say they are: name, compute capability, memory, multiprocessors, caches and "
     "clocks of that part of NVIDIA's; what they are when not given",
     kParts.substr(1)},
    {set_variable<"PTX2SPV_CUDA_FP", choice_problem>, 0, "fp", "POLICY",
     "exact (the default): results equal NVIDIA's; fast: the device's own float operations",
     "exact,fast"},
    {set_debug<"profile", profile_problem>, 0, "profile", "NAME",
     "translate for no more than this profile has", "portable,swiftshader,lavapipe,nvidia"},
    {set_debug<"disable", capabilities_problem>, 0, "disable", "CAPABILITIES",
     "do without these capabilities of the device, separated by commas"},
    {set_variable<"PTX2SPV_VALIDATION">, 0, "validate", "",
     "run under the Vulkan validation layer, whose messages are printed"},
    {set_variable<"PTX2SPV_CUDA_STATISTICS">, 0, "statistics", "",
     "when the program ends, print what each device did"},
    {set_by<take_log>, 0, "log", "[all]",
     "print why a call of the CUDA libraries failed; all: every call, with arguments, result and "
     "time",
     "all"},
    {set_by<take_trace>, 0, "trace", "FILE",
     "write every call of CUDA's libraries, with arguments, result and time, and NVTX ranges to "
     "this file, which Perfetto and Chrome show",
     "file"},
    {set_variable<"PTX2SPV_SANITIZE", checks_problem>, 0, "sanitize", "CHECKS",
     "check kernels while they run: memory (accesses out of bounds, misaligned ones, freed "
     "memory), init (reads of what nobody wrote), race (memory that two threads access at once), "
     "sync (threads that wait in vain), clamp (surface accesses out of range that do not trap), "
     "width (surface accesses of more or fewer bytes than a texel has), leaks (memory that is "
     "never freed), or all, which is every check but clamp, width and leaks",
     "all,memory,init,race,sync,clamp,width,leaks"},
    {set_variable<"PTX2SPV_SANITIZE_EXITCODE", number_problem<0, 255>>, 0, "error-exitcode", "CODE",
     "what the program ends with where --sanitize found something and it ended with 0; 4 when not "
     "given"},
    {set_by<take_suppressions>, 0, "suppressions", "FILE", kSuppressionsHelp, "file"},
    {set_variable<"PTX2SPV_SANITIZE_JSON">, 0, "json", "FILE",
     "write what --sanitize found to this file", "file"},
    {set_variable<"PTX2SPV_TIMEOUT", number_problem<0.0, 1e6>>, 0, "timeout", "SECONDS",
     "a launch that takes longer is an error (cudaErrorLaunchTimeout); 0: none does. 600 when not "
     "given and the environment variable CI is set, else 0"},
    {set_variable<"PTX2SPV_EXECUTOR", choice_problem>, 0, "executor", "WHO", kExecutorHelp,
     "auto,device,host"},
    {opt_libraries, 0, "libraries", "",
     "print the folder of the libraries instead: what LD_LIBRARY_PATH and the linker's -L take"},
    {opt_dry_run, 0, "dry-run", "",
     "with build: change no command, and print what each would become"},
};

constexpr ExitCode kExitCodes[] = {
    {0, "the folder was printed"},
    {2, "the command line is wrong, or the libraries are not there"},
    {126, "the program cannot be started"},
    {127, "there is no such program"},
};

constexpr Tool kTool = {
    "ptxexec",
    "[OPTION...] [build] PROGRAM [ARG...]",
    "run a CUDA program on any Vulkan device",
    "Starts PROGRAM with the libraries libcudart and libcuda of ptx2spv in front of all others, "
    "for it "
    "and for what it starts. ptxexec becomes the program, whose exit code is its own. With the "
    "word build before it, PROGRAM (make, cmake, python3...) may build CUDA programs: nvcc, clang "
    "and "
    "linkers that it starts get the options that ptxexec needs, which are PTX for the oldest "
    "architecture that they name, up to 8.9 if it compiles, and the shared runtime library. "
    "Programs that use the "
    "driver interface, such as PyCUDA, run as they are.",
    kOptions,
    kExitCodes,
    "Every option stands for an environment variable, which the program's own children inherit: "
    "PTX2SPV_DEVICE, PTX2SPV_DEVICES, PTX2SPV_CUDA_ARCH, PTX2SPV_CUDA_AS, PTX2SPV_CUDA_FP, "
    "PTX2SPV_DEBUG, "
    "PTX2SPV_VALIDATION, PTX2SPV_CUDA_STATISTICS, PTX2SPV_CUDA_LOG, PTX2SPV_CUDA_TRACE, "
    "PTX2SPV_SANITIZE, PTX2SPV_SANITIZE_EXITCODE, PTX2SPV_SANITIZE_JSON, PTX2SPV_TIMEOUT and "
    "PTX2SPV_EXECUTOR.",
    functions_page,
};

/// The index of the program in `argv`: the first word from `first` that is no option and no
/// option's value.
int program_index(int first, int argc, char** argv) {
  const auto takes_value = [](std::string_view word) {
    for (const Option& each : kOptions) {
      const bool named = word == "--" + std::string(each.name) ||
                         (each.letter && word == std::string{'-', each.letter});
      if (named) return !each.value.empty() && !each.optional_value();
    }
    return word == "--generate";  // which every tool has
  };
  for (int i = first; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") return i + 1;
    if (word.empty() || word[0] != '-' || word == "-") return i;
    if (takes_value(word)) ++i;
  }
  return argc;
}

std::filesystem::path own_folder() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0) return {};
  path[length] = 0;
  return std::filesystem::path(path).parent_path();
}

/// Where the libraries lie: beside the tools of a build tree, or below an installation's libraries.
std::filesystem::path library_folder() {
  const std::filesystem::path own = own_folder();
  std::error_code ignored;
  for (const char* relative : {"../cuda", PTX2SPV_CUDA_FROM_BIN}) {
    const auto folder = (own / relative).lexically_normal();
    if (std::filesystem::exists(folder / "libcuda.so.1", ignored)) return folder;
  }
  return {};
}

void set(const char* variable, const std::string& value) { setenv(variable, value.c_str(), 1); }

void apply(const Environment& environment) {
  for (const auto& [name, value] : environment.variables) {
    set(name.c_str(), value);
    if (name == "PTX2SPV_DEVICE") unsetenv("PTX2SPV_DEVICES");
  }
  for (auto [key, value] : environment.debug) {
    std::replace(value.begin(), value.end(), ',', '+');  // as names are separated there
    set("PTX2SPV_DEBUG", debug_settings_and(key + "=" + value));
  }
}

int start(char** program, const std::filesystem::path& folder, bool build) {
  if (has_static_runtime(program[0]))
    std::fprintf(stderr,
                 "ptxexec: %s has NVIDIA's runtime library linked into it, which needs NVIDIA's "
                 "driver: build it by `ptxexec build make` (or whatever builds it), or with nvcc "
                 "-cudart shared\n",
                 program[0]);
  put_first("LD_LIBRARY_PATH", folder.string());
  setenv("PATH", kDefaultPath, 0);
  put_first("PATH", (folder / "bin").string());  // nvidia-smi
  // What NVTX's headers in a program tell of its ranges, for traces, and pools, for the sanitizer.
  setenv("NVTX_INJECTION64_PATH", (folder / "libptx2spv-cuda.so").c_str(), 0);
  // A program that opens NVIDIA's libraries by their paths, or has them in its DT_RPATH, gets ours.
  const auto audit = folder / "libptx2spv-cuda-audit.so";
  std::error_code ignored;
  if (std::filesystem::exists(audit, ignored)) put_first("LD_AUDIT", audit.string());
  // A program with Vulkan of its own shares semaphores with CUDA on drivers that share none.
  if (std::filesystem::exists(folder / "VkLayer_ptx2spv_semaphores.json", ignored)) {
    put_first("VK_ADD_LAYER_PATH", folder.string());
    put_first("VK_INSTANCE_LAYERS", "VK_LAYER_PTX2SPV_semaphores");
  }
  if (build) {
    char** end = program;
    while (*end) ++end;
    return build_step(program[0], {program, end}, folder);
  }
  execvp(program[0], program);
  const int error = errno;
  std::fprintf(stderr, "ptxexec: %s cannot be started: %s\n", program[0], std::strerror(error));
  return error == ENOENT ? 127 : 126;
}

/// What the command line is made of: the options, `build` or nothing, and the program.
struct Line {
  std::vector<char*> options;  ///< with the tool's name before them
  bool build = false;
  int program = 0;  ///< its index
};
Line read_line(int argc, char** argv) {
  Line line;
  line.options = {argv[0]};
  for (int at = 1;;) {
    line.program = program_index(at, argc, argv);
    const bool separated = line.program > at && std::strcmp(argv[line.program - 1], "--") == 0;
    line.options.insert(line.options.end(), argv + at, argv + line.program - separated);
    if (line.build || separated || line.program >= argc) return line;
    if (std::strcmp(argv[line.program], "build") != 0) return line;
    line.build = true;
    at = line.program + 1;
  }
}

bool has_option(const ParsedCommand& command, int id) {
  return std::ranges::any_of(command.options, [&](const auto& each) { return each.id == id; });
}

int run(int argc, char** argv) {
  if (argc > 3 && std::strcmp(argv[1], "--build-step") == 0)  // src/cuda/build_hook starts this
    return build_step(argv[2], {argv + 3, argv + argc}, library_folder());
  Line line = read_line(argc, argv);
  const int program = line.program;
  const ParsedCommand command =
      parse_command(kTool, static_cast<int>(line.options.size()), line.options.data());
  int exit_code = 0;
  if (!command.error.empty()) {
    usage_error(kTool, command.error);
    return 2;
  }
  if (handle_common(kTool, command, exit_code)) return exit_code;
  Environment environment;
  if (const std::string problem = set_options(command, &environment); !problem.empty()) {
    usage_error(kTool, problem);
    return 2;
  }
  const auto folder = library_folder();
  if (folder.empty()) {
    std::fputs(
        "ptxexec: the libraries for CUDA programs are not there: libcuda.so.1 is neither in "
        "the build tree nor installed\n",
        stderr);
    return 2;
  }
  if (has_option(command, opt_libraries)) {
    std::printf("%s\n", folder.c_str());
    return 0;
  }
  if (program >= argc) {
    usage_error(kTool, "no program is given");
    return 2;
  }
  // A job of CI that never ends blocks others.
  const char* ci = std::getenv("CI");
  if (ci && *ci && !std::getenv("PTX2SPV_TIMEOUT")) set("PTX2SPV_TIMEOUT", "600");
  apply(environment);
  if (const std::string problem = report_problem(environment); !problem.empty()) {
    usage_error(kTool, problem);
    return 2;
  }
  const bool dry_run = has_option(command, opt_dry_run);
  if (dry_run && !line.build) {
    usage_error(kTool, "--dry-run is an option of build");
    return 2;
  }
  if (line.build)
    if (const std::string problem = begin_build(folder, dry_run); !problem.empty()) {
      usage_error(kTool, problem);
      return 2;
    }
  return start(argv + program, folder, line.build);
}

}  // namespace
}  // namespace ptx2spv::tools

int main(int argc, char** argv) { return ptx2spv::tools::run(argc, argv); }
