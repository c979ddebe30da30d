// bench_growth: seconds and memory that the translator takes for modules that grow.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/main.hpp"
#include "dev/programs/families.hpp"
#include "ptx2spv/translator.hpp"
#include "tools/common/files.hpp"
#include "tools/common/names.hpp"
#include "tools/common/options.hpp"

namespace ptx2spv::bench {
namespace {

using namespace tools;
using programs::families;
using programs::Family;

enum Id : int {
  opt_family = 1,
  opt_bytes,
  opt_profile,
  opt_threads,
  opt_sanitize,
  opt_fp,
  opt_debug,
  opt_write
};

constexpr Option kOptions[] = {
    {opt_family, 0, "family", "NAME",
     "only this family (dev/programs/families.cpp); may be repeated"},
    {opt_bytes, 0, "bytes", "N", "of the largest module; 1000000 when not given"},
    {opt_profile, 'p', "profile", "NAME", "the device to translate for; portable when not given"},
    {opt_threads, 0, "threads", "MODEL", "direct (when not given), flat or regions",
     "direct,flat,regions"},
    {opt_sanitize, 0, "sanitize", "", "with every check of the sanitizer"},
    {opt_fp, 0, "fp", "POLICY", "exact (when not given) or fast", "exact,fast"},
    {opt_debug, 'g', "debug", "", "with debug information"},
    {opt_write, 0, "write", "FOLDER", "only write the largest module of each family there", "file"},
};
constexpr Tool kTool = {
    "bench_growth",
    "[OPTION...]",
    "times the translation of modules that grow: a quarter, a half and all of a size",
    "Each module has a process of its own. A row has the seconds of processor time, and the MB of "
    "resident memory, for the three sizes, and what became of the largest.",
    kOptions,
    kMeasuredExits};

struct Cost {
  double seconds = 0, megabytes = 0;
  std::string outcome;
};

/// What becomes of a module: its size, or the reason of its refusal.
std::string translate(const std::string& text, const TranslateOptions& options) {
  std::vector<Message> messages;
  const auto module = PtxModule::parse({{text, "growth.ptx"}}, messages);
  const auto made = module ? module->translate(options, messages) : std::nullopt;
  if (made) return fmt::format("{:.1f} MB", static_cast<double>(made->spirv.size()) * 4e-6);
  for (const Message& message : messages)
    if (message.severity == Severity::error) return "refused: " + message.text;
  return "neither a module nor a reason";
}

/// In a process of its own, so that its memory is its own.
Cost measure(const std::string& text, const TranslateOptions& options) {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string outcome = translate(text, options).substr(0, 2000);
    ::_exit(::write(ends[1], outcome.data(), outcome.size()) < 0 ? 1 : 0);
  }
  ::close(ends[1]);
  Cost cost;
  char piece[4096];
  for (ssize_t count = 0; (count = ::read(ends[0], piece, sizeof piece)) > 0;)
    cost.outcome.append(piece, static_cast<std::size_t>(count));
  ::close(ends[0]);
  int status = 0;
  rusage used{};
  if (child < 0 || ::wait4(child, &status, 0, &used) != child) return {};
  if (WIFSIGNALED(status)) cost.outcome = fmt::format("ended by signal {}", WTERMSIG(status));
  for (const timeval& each : {used.ru_utime, used.ru_stime})
    cost.seconds += static_cast<double>(each.tv_sec) + static_cast<double>(each.tv_usec) * 1e-6;
  cost.megabytes = static_cast<double>(used.ru_maxrss) * 1024e-6;
  return cost;
}

int fail(const std::string& text) {
  std::fprintf(stderr, "bench_growth: error: %s\n", text.c_str());
  return 2;
}

int run(const ParsedCommand& command) {
  std::vector<std::string> wanted;
  std::string folder;
  std::size_t bytes = 1'000'000;
  TranslateOptions options;
  options.profile = *find_profile("portable");
  for (const ParsedOption& option : command.options) switch (option.id) {
      case opt_family: wanted.push_back(option.value); break;
      case opt_bytes: bytes = positive(option.value); break;
      case opt_write: folder = option.value; break;
      case opt_sanitize: options.checks = kAllChecks; break;
      case opt_fp: options.fp = option.value == "fast" ? FpPolicy::fast : FpPolicy::exact; break;
      case opt_debug: options.debug_info = true; break;
      case opt_profile: {
        const auto profile = find_profile(option.value);
        if (!profile) return fail("there is no profile " + option.value);
        options.profile = *profile;
        break;
      }
      case opt_threads: {
        const auto model = find_thread_model(option.value);
        if (!model) return fail("there is no thread model " + option.value);
        options.threads = *model;
        break;
      }
      default: break;
    }
  for (const std::string& name : wanted)
    if (std::ranges::none_of(families(), [&](const auto& each) { return name == each.name; }))
      return fail("there is no family " + name);
  if (folder.empty())
    std::printf("| family | bytes | seconds | MB | outcome |\n|---|---|---|---|---|\n");
  for (const Family& family : families()) {
    if (!wanted.empty() && std::ranges::find(wanted, family.name) == wanted.end()) continue;
    const std::size_t small = family.text(family.n).size();
    const std::size_t most = std::max<std::size_t>(family.n * bytes / small, 4);
    if (!folder.empty()) {
      if (const IoError error = write_text(folder + "/" + family.name + ".ptx", family.text(most));
          !error.empty())
        return fail(error);
      continue;
    }
    std::string seconds, megabytes, outcome;
    for (const std::size_t n : {most / 4, most / 2, most}) {
      const Cost cost = measure(family.text(n), options);
      if (!seconds.empty()) {
        seconds += ", ";
        megabytes += ", ";
      }
      seconds += fmt::format("{:.2f}", cost.seconds);
      megabytes += fmt::format("{:.0f}", cost.megabytes);
      outcome = cost.outcome;
    }
    std::printf("| %s | %zu | %s | %s | %s |\n", family.name, family.text(most).size(),
                seconds.c_str(), megabytes.c_str(), outcome.c_str());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace ptx2spv::bench

int main(int argc, char** argv) {
  return ptx2spv::bench::bench_main(ptx2spv::bench::kTool, argc, argv, ptx2spv::bench::run);
}
