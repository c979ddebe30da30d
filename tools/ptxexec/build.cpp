#include "tools/ptxexec/build.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "src/cuda/build_hook/names.hpp"
#include "tools/common/files.hpp"

namespace ptx2spv::tools {
namespace {

namespace fs = std::filesystem;

bool is_one_of(std::string_view word, const auto& words) {
  return std::ranges::find(words, word) != std::ranges::end(words);
}

/// The words of a response file or variable: blanks separate them, quotes and backslashes keep
/// them.
Words words_of(std::string_view text) {
  Words words;
  bool within = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!quote && std::strchr(" \t\r\n", c)) {
      within = false;
      continue;
    }
    if (!within) words.emplace_back();
    within = true;
    if (c == quote)
      quote = 0;
    else if (!quote && (c == '"' || c == '\''))
      quote = c;
    else if (c == '\\' && quote != '\'' && i + 1 < text.size())
      words.back() += text[++i];
    else
      words.back() += c;
  }
  return words;
}

/// An option of nvcc that may have its value behind `=` or as the next word.
struct Valued {
  std::string_view value;
  int words = 0;  ///< that it takes; 0: the word is another option
};
Valued valued(const Words& words, std::size_t at, std::span<const std::string_view> names) {
  const std::string_view word = words[at];
  for (const std::string_view name : names) {
    if (word == name && at + 1 < words.size()) return {words[at + 1], 2};
    if (word.starts_with(name) && word.substr(name.size()).starts_with('='))
      return {word.substr(name.size() + 1), 1};
  }
  return {};
}

constexpr std::array<std::string_view, 2> kArch = {"-arch", "--gpu-architecture"};
constexpr std::array<std::string_view, 2> kCode = {"-code", "--gpu-code"};
constexpr std::array<std::string_view, 2> kGencode = {"-gencode", "--generate-code"};
constexpr std::array<std::string_view, 2> kOutput = {"-o", "--output-file"};
constexpr std::array<std::string_view, 2> kFolder = {"-odir", "--output-directory"};
constexpr std::array<std::string_view, 2> kFiles = {"-optf", "--options-file"};
constexpr std::array<std::string_view, 2> kCubin = {"-cubin", "--cubin"};
constexpr std::array<std::string_view, 3> kLinkTime = {"-dlto", "-lto", "--dlink-time-opt"};
/// With these nvcc makes nothing that a program's machine code could be in.
constexpr std::string_view kAsIs[] = {"-E",        "--preprocess",
                                      "-M",        "--generate-dependencies",
                                      "-MM",       "--generate-nonsystem-dependencies",
                                      "-ptx",      "--ptx",
                                      "-optix-ir", "--optix-ir",
                                      "-ltoir",    "--ltoir",
                                      "-V",        "--version",
                                      "-h",        "--help",
                                      "-arch-ls",  "--list-gpu-arch",
                                      "-code-ls",  "--list-gpu-code"};

/// -Xcompiler and its like: the next word belongs to another program.
bool passes_on(std::string_view word) {
  return word.find('=') == word.npos &&
         (word.starts_with("-X") || (word.starts_with("--") && word.ends_with("-options")));
}

/// All of `words`, with those of response files in their place.
void expand(const Words& words, Words& all, int depth = 0) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Valued files = valued(words, i, kFiles);
    const bool at = words[i].starts_with('@');
    std::string text;
    if (depth > 8 || !(at || files.words) ||
        !read_text(at ? words[i].substr(1) : std::string(files.value), text).empty()) {
      all.push_back(words[i]);
      continue;
    }
    expand(words_of(text), all, depth + 1);
    if (files.words) i += static_cast<std::size_t>(files.words) - 1;
  }
}

/// The code that an nvcc command asks for, and its other words.
struct NvccCommand {
  Words others;  ///< with `-gencode`s
  std::string arch;
  Words codes;    ///< of -code
  Words sources;  ///< what each of all -gencodes compiles for: compute_80
  Words targets;  ///< each of all codes of -gencode
  Words inputs;
  bool as_is = false, cubin = false, link_time = false, output = false, folder = false;
};

/// sm_90 and compute_90 of "sm_90,compute_90" or "[sm_90,compute_90]"; quotes are dropped.
Words codes_of(std::string_view text) {
  Words codes(1);
  for (const char c : text)
    if (c == ',')
      codes.emplace_back();
    else if (!std::strchr("[]\"'\\ ", c))
      codes.back() += c;
  return codes;
}

/// lto_90 is for a link that goes on compiling; machine code has the same name with sm_.
std::string without_lto(std::string code) {
  if (code.starts_with("lto_")) code.replace(0, 3, "sm");
  return code;
}

std::string listed(const Words& codes) {
  std::string text;
  for (const std::string& each : codes) text += (text.empty() ? "" : ",") + without_lto(each);
  return codes.size() > 1 ? "[" + text + "]" : text;
}

void take_gencode(NvccCommand& command, std::string_view value) {
  std::string plain;
  for (const char c : value)
    if (!std::strchr("\"'\\", c)) plain += c;
  const auto code = plain.find("code=");
  command.sources.push_back(
      plain.substr(plain.find('=') + 1, plain.find(',') - plain.find('=') - 1));
  if (code == std::string::npos) {
    command.targets.push_back(plain.substr(plain.find('=') + 1));  // the architecture is the code
    command.others.insert(command.others.end(), {"-gencode", plain});
    return;
  }
  const Words codes = codes_of(std::string_view(plain).substr(code + 5));
  command.targets.insert(command.targets.end(), codes.begin(), codes.end());
  command.others.insert(command.others.end(),
                        {"-gencode", plain.substr(0, code + 5) + listed(codes)});
}

NvccCommand read_nvcc(const Words& words) {
  NvccCommand command;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    Valued taken;
    if (taken = valued(words, i, kArch); taken.words)
      command.arch = taken.value;
    else if (taken = valued(words, i, kCode); taken.words)
      command.codes = codes_of(taken.value);
    else if (taken = valued(words, i, kGencode); taken.words)
      take_gencode(command, taken.value);
    else if (is_one_of(word, kCubin))
      command.cubin = true;
    else if (is_one_of(word, kLinkTime))
      command.link_time = true;
    else {
      command.as_is |= is_one_of(word, kAsIs);
      command.output |= valued(words, i, kOutput).words > 0;
      command.folder |= valued(words, i, kFolder).words > 0;
      command.others.push_back(word);
      const bool pair = passes_on(word) || word == "-o" || word == "--output-file";
      if (!word.starts_with('-')) command.inputs.push_back(word);
      if (pair && i + 1 < words.size()) command.others.push_back(words[++i]);
    }
    if (taken.words) i += static_cast<std::size_t>(taken.words) - 1;
  }
  return command;
}

/// 90 of "compute_90"; 0 where `code` is machine code, or PTX that newer devices do not take.
int ptx_version(std::string_view code, std::string_view prefix = "compute_") {
  if (!code.starts_with(prefix)) return 0;
  code.remove_prefix(prefix.size());
  const bool plain = !code.empty() && code.find_first_not_of("0123456789") == code.npos;
  return plain ? std::atoi(std::string(code).c_str()) : 0;
}

/// -arch and -code as -gencode, beside which older releases of nvcc do not take them.
void write_arch(NvccCommand& command) {
  const std::string& arch = command.arch;
  const auto under = arch.find('_');
  if (under == std::string::npos) {
    // "native" is machine code for the GPU of this machine: there is none, or it is not meant.
    if (!arch.empty() && arch != "native") command.others.push_back("-arch=" + arch);
    return;
  }
  const std::string virtual_arch = "compute" + arch.substr(under);
  if (command.codes.empty()) {
    if (arch != virtual_arch) command.codes.push_back(arch);
    command.codes.push_back(virtual_arch);
  }
  command.sources.push_back(virtual_arch);
  command.targets.insert(command.targets.end(), command.codes.begin(), command.codes.end());
  command.others.insert(command.others.end(),
                        {"-gencode", "arch=" + virtual_arch + ",code=" + listed(command.codes)});
}

/// PTX under the name of machine code, which libcuda takes as well.
std::optional<Words> ptx_for_cubin(const Words& words, const NvccCommand& command) {
  constexpr std::string_view kSources[] = {".cu", ".c", ".cc", ".cpp", ".cxx"};
  Words sources;
  for (const std::string& each : command.inputs)
    if (is_one_of(fs::path(each).extension().string(), kSources)) sources.push_back(each);
  if (sources.size() != 1 || (!command.output && command.folder)) return std::nullopt;
  Words changed = words;
  for (std::string& each : changed)
    if (is_one_of(each, kCubin)) each = "-ptx";
  if (!command.output)
    changed.insert(changed.end(), {"-o", fs::path(sources[0]).stem().string() + ".cubin"});
  return changed;
}

/// What PTX is added for where the user says nothing: the oldest architecture that the command
/// names, whose code may be none for older ones. All that 8.9 has is translated, unlike 9.0.
constexpr int kLeast = 75, kMost = 89;
struct Target {
  int capability = kLeast;
  std::string named;  ///< newer than that, as compute_90a: code for it may need it
};
Target target_for(const Words& named, std::string_view prefix) {
  int oldest = 0;
  Target target;
  for (const std::string& each : named) {
    if (!each.starts_with(prefix)) continue;
    const int version = std::atoi(each.c_str() + prefix.size());  // 90 of 90a, too
    if (version <= 0 || (oldest && oldest <= version)) continue;
    oldest = version;
    target.named = each;
  }
  target.capability = std::clamp(oldest, kLeast, kMost);
  if (oldest <= kMost) target.named.clear();
  return target;
}

/// `words` (nvcc first) with PTX in what they make.
std::optional<ChangedCommand> changed_nvcc(const Words& words, int chosen) {
  NvccCommand command = read_nvcc(words);
  if (command.as_is) return std::nullopt;
  // nvcc refuses it and says why.
  if (!command.codes.empty() && command.arch.find('_') == command.arch.npos) return std::nullopt;
  if (command.cubin) {
    std::optional<Words> made = ptx_for_cubin(words, command);
    return made ? std::optional(ChangedCommand{.words = std::move(*made)}) : std::nullopt;
  }
  const bool asks = !command.arch.empty() || !command.codes.empty() || !command.targets.empty();
  write_arch(command);
  const Target target = target_for(command.sources, "compute_");
  const int capability = chosen ? chosen : target.capability;
  const auto runs = [&](const std::string& code) {
    const int version = ptx_version(code);
    return version > 0 && version <= capability;
  };
  // Without a word of it nvcc makes PTX for the oldest architecture that it has.
  if (!command.link_time && (!asks || std::ranges::any_of(command.targets, runs)))
    return std::nullopt;
  ChangedCommand changed;
  changed.words = {words[0]};
  changed.words.insert(changed.words.end(), command.others.begin(), command.others.end());
  if (!asks || std::ranges::any_of(command.targets, runs)) return changed;
  const auto with_ptx = [&](Words made, const std::string& code) {
    made.insert(made.end(), {"-gencode", "arch=" + code + ",code=" + code});
    return made;
  };
  if (!chosen && !target.named.empty() && !is_one_of("-", command.others))  // input is read once
    changed.as_named = is_one_of(target.named, command.targets)
                           ? changed.words
                           : with_ptx(changed.words, target.named);
  changed.words = with_ptx(changed.words, fmt::format("compute_{}", capability));
  return changed;
}

/// Whether `words` have something that changed_nvcc() has to see in one list with the others.
bool concerns_code(const Words& words) {
  Words all = {"nvcc"};
  expand(words, all);
  const NvccCommand command = read_nvcc(all);
  return command.as_is || command.cubin || command.link_time || !command.arch.empty() ||
         !command.codes.empty() || !command.targets.empty();
}

std::optional<ChangedCommand> nvcc_command(const Words& command, const BuildSettings& settings) {
  const Words prepend = words_of(settings.prepend), append = words_of(settings.append);
  Words from_files;
  for (std::size_t i = 1; i < command.size(); ++i)
    if (const Valued files = valued(command, i, kFiles); files.words) {
      from_files.insert(from_files.end(), {"-optf", std::string(files.value)});
    } else if (command[i].starts_with('@')) {
      from_files.push_back(command[i]);
    }
  const bool takes = concerns_code(prepend) || concerns_code(append);
  Words words = {command[0]};
  if (takes) words.insert(words.end(), prepend.begin(), prepend.end());
  words.insert(words.end(), command.begin() + 1, command.end());
  if (takes) words.insert(words.end(), append.begin(), append.end());
  if (takes || concerns_code(from_files)) {
    Words all;
    expand(words, all);
    words = std::move(all);
  }
  std::optional<ChangedCommand> changed = changed_nvcc(words, settings.capability);
  if (changed) changed->took_variables = takes;
  return changed;
}

/// Whether a linker's folders have libcuda.so, which NVIDIA's driver and toolkits bring.
bool finds_libcuda(const Words& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (!words[i].starts_with("-L")) continue;
    const std::string folder = words[i].size() > 2    ? words[i].substr(2)
                               : i + 1 < words.size() ? words[i + 1]
                                                      : "";
    if (fs::exists(fs::path(folder) / "libcuda.so")) return true;
  }
  return false;
}

/// The shared runtime library in the static one's place, as nvcc itself names both to linkers, and
/// our libcuda where there is no other.
std::optional<ChangedCommand> linker_command(const Words& command, const fs::path& libraries) {
  ChangedCommand changed;
  Words words;
  expand(command, words);
  bool any = false;
  for (const std::string& each : words) {
    // A program without a dynamic linker cannot have it.
    if (each == "-static" || each == "--static") return std::nullopt;
    const bool library = each == "-lcudart_static" || each == "-l:libcudart_static.a";
    const fs::path path = each;
    const bool file = !each.starts_with('-') && path.filename() == "libcudart_static.a";
    const bool driver = each == "-lcuda" && !finds_libcuda(words);
    any |= library || file || driver;
    if (driver)
      changed.words.push_back((libraries / "libcuda.so.1").string());
    else if (file && fs::exists(path.parent_path() / "libcudart.so"))
      changed.words.push_back((path.parent_path() / "libcudart.so").string());
    else if (library || file)
      changed.words.insert(changed.words.end(),
                           {"--push-state", "-Bdynamic", "-lcudart", "--pop-state"});
    else
      changed.words.push_back(each);
  }
  if (!any) return std::nullopt;
  return changed;
}

/// PTX in what clang makes of CUDA: newer releases leave it out.
std::optional<ChangedCommand> clang_command(const Words& command, int chosen) {
  constexpr std::string_view kOneTarget[] = {"-E",
                                             "-M",
                                             "-MM",
                                             "--cuda-device-only",
                                             "--offload-device-only",
                                             "--cuda-host-only",
                                             "--offload-host-only",
                                             "-cc1",
                                             "-cc1as"};
  constexpr std::string_view kNoPtx = "--no-cuda-include-ptx=";  // which CMake gives
  Words words;
  expand(command, words);
  Words named;
  for (const std::string& each : words)
    if (each.starts_with("--offload-arch=") || each.starts_with("--cuda-gpu-arch="))
      for (std::string& code : codes_of(std::string_view(each).substr(each.find('=') + 1)))
        named.push_back(std::move(code));
  const Target oldest = target_for(named, "sm_");
  const std::string target = fmt::format("sm_{}", chosen ? chosen : oldest.capability);
  bool cuda = false, refuses = false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& each = words[i];
    if (is_one_of(each, kOneTarget) || each == "--cuda-include-ptx=" + target) return std::nullopt;
    refuses |= each.starts_with(kNoPtx);
    cuda |= each == "-xcuda" || each == "--language=cuda" ||
            (each == "-x" && i + 1 < words.size() && words[i + 1] == "cuda") ||
            (!each.starts_with('-') && fs::path(each).extension() == ".cu");
  }
  if (!cuda) return std::nullopt;
  if (refuses) std::erase_if(words, [&](const auto& each) { return each.starts_with(kNoPtx); });
  // Before all else: sources may stand behind a "--".
  const auto with_ptx = [&](const std::string& code) {
    Words made = refuses ? words : command;
    made.insert(made.begin() + 1, {"--cuda-gpu-arch=" + code, "--cuda-include-ptx=" + code});
    return made;
  };
  ChangedCommand changed;
  changed.words = with_ptx(target);
  if (!chosen && !oldest.named.empty() && !is_one_of("-", words))  // input is read once
    changed.as_named = with_ptx(oldest.named);
  return changed;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

BuildSettings settings_of_environment() {
  BuildSettings settings;
  std::string capability = variable("PTX2SPV_CUDA_ARCH");
  std::erase(capability, '.');
  if (const int number = std::atoi(capability.c_str()); number > 0) settings.capability = number;
  settings.prepend = variable("NVCC_PREPEND_FLAGS");
  settings.append = variable("NVCC_APPEND_FLAGS");
  return settings;
}

void show(const Words& words) {
  std::string line = "ptxexec: would be:";
  for (const std::string& each : words) line += " " + each;
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

/// Becomes `file`, past the preloaded functions, which would come back here. The error, if not.
int try_become(const std::string& file, const Words& words) {
  std::vector<char*> argv;
  for (const std::string& each : words) argv.push_back(const_cast<char*>(each.c_str()));
  argv.push_back(nullptr);
  syscall(SYS_execve, file.c_str(), argv.data(), environ);
  return errno;
}

int become(const std::string& file, const Words& words) {
  int error = ENOENT;
  for (const std::string& path : files_of_program(file)) {
    int now = try_become(path, words);
    if (now == ENOEXEC) {  // a script without #!, which shells and execvp() take
      Words script = {"sh", path};
      script.insert(script.end(), words.begin() + 1, words.end());
      now = try_become("/bin/sh", script);
    }
    if (now != ENOENT && now != ENOTDIR) error = now;
  }
  std::fprintf(stderr, "ptxexec: %s cannot be started: %s\n", file.c_str(), std::strerror(error));
  return error == ENOENT ? 127 : 126;
}

/// Copies all of `from` to `to`.
void copy_out(int from, int to) {
  char bytes[65536];
  lseek(from, 0, SEEK_SET);
  for (ssize_t got = 0; (got = read(from, bytes, sizeof bytes)) > 0;)
    for (ssize_t at = 0, put = 0; at < got; at += put)
      if ((put = write(to, bytes + at, static_cast<std::size_t>(got - at))) <= 0) return;
}

/// Starts `file` and waits for it. Nothing, and none of its output, where it ended with a failure.
std::optional<int> try_step(const std::string& file, const Words& words) {
  const int out = memfd_create("out", MFD_CLOEXEC), err = memfd_create("err", MFD_CLOEXEC);
  const pid_t child = out < 0 || err < 0 ? -1 : fork();
  if (child < 0) return std::nullopt;
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    _exit(become(file, words));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::optional<int> exit_code;
  if (WIFSIGNALED(status)) exit_code = 128 + WTERMSIG(status);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) exit_code = 0;
  if (exit_code) copy_out(out, STDOUT_FILENO);
  if (exit_code) copy_out(err, STDERR_FILENO);
  close(out);
  close(err);
  return exit_code;
}

fs::path hook_in(const fs::path& libraries) { return libraries / "libptx2spv-cuda-build.so"; }

}  // namespace

std::optional<ChangedCommand> changed_command(const Words& command, const BuildSettings& settings,
                                              const fs::path& libraries) {
  const std::string base = fs::path(command[0]).filename().string();
  if (base == "nvcc") return nvcc_command(command, settings);
  if (cuda::is_clang(base.c_str())) return clang_command(command, settings.capability);
  if (cuda::is_linker(base.c_str())) return linker_command(command, libraries);
  return std::nullopt;
}

int build_step(const std::string& file, Words words, const fs::path& libraries) {
  const std::string name = words[0];
  words[0] = file;         // argv[0] may be anything
  enter_build(libraries);  // a build may start compilers with few variables
  if (auto changed = changed_command(words, settings_of_environment(), libraries)) {
    if (!variable("PTX2SPV_BUILD_DRY_RUN").empty()) {
      show(changed->words);
    } else {
      words = std::move(changed->words);
      if (changed->took_variables) unsetenv("NVCC_PREPEND_FLAGS");
      if (changed->took_variables) unsetenv("NVCC_APPEND_FLAGS");
      words[0] = name;
      if (!changed->as_named.empty()) {
        if (const auto exit_code = try_step(file, words)) return *exit_code;
        words = std::move(changed->as_named);
      }
    }
  }
  words[0] = name;
  return become(file, words);
}

void put_first(const char* variable, std::string path) {
  if (const char* before = std::getenv(variable); before && *before) {
    if ((std::string(before) + ':').starts_with(path + ':')) return;
    path += ':';
    path += before;
  }
  setenv(variable, path.c_str(), 1);
}

void enter_build(const fs::path& libraries) {
  put_first("LD_PRELOAD", hook_in(libraries).string());
  setenv("PTX2SPV_BUILD", fs::read_symlink("/proc/self/exe").c_str(), 1);
  // Objects that ccache kept from another build of the project lack the PTX.
  setenv("CCACHE_NAMESPACE", "ptxexec-build", 0);
}

std::string begin_build(const fs::path& libraries, bool dry_run) {
  if (!fs::exists(hook_in(libraries)))
    return "this build of ptx2spv has no " + hook_in(libraries).filename().string();
  if (libraries.string().find_first_of(" :") != std::string::npos)
    return "the dynamic linker preloads nothing from a path with a blank or a colon: " +
           libraries.string();
  const bool within = !variable("PTX2SPV_BUILD").empty();
  if (dry_run) setenv("PTX2SPV_BUILD_DRY_RUN", "1", 1);
  enter_build(libraries);
  const int chosen = settings_of_environment().capability;
  const int least = chosen ? chosen : kLeast;
  if (!within && !dry_run)
    std::fprintf(stderr,
                 "ptxexec: compilers add PTX for compute capability %d.%d%s unless a command makes "
                 "it itself; linkers take libcudart.so for libcudart_static.a\n",
                 least / 10, least % 10, chosen ? "" : ", or the lowest up to 8.9 that is named,");
  return {};
}

}  // namespace ptx2spv::tools
