#include "tools/ptx2spv/spirv.hpp"

#include <fcntl.h>
#include <spirv-tools/libspirv.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "tools/common/known_modes.hpp"

namespace ptx2spv::tools {
namespace {

struct Release {
  void operator()(spv_context_t* context) const { spvContextDestroy(context); }
  void operator()(spv_diagnostic_t* diagnostic) const { spvDiagnosticDestroy(diagnostic); }
  void operator()(spv_text_t* text) const { spvTextDestroy(text); }
};

std::string describe(spv_diagnostic diagnostic) {
  if (!diagnostic) return "SPIRV-Tools gives no reason";
  return fmt::format("word {}: {}", diagnostic->position.index, diagnostic->error);
}

/// What `ask` says of the module, empty where nothing is wrong; of one with a mode that
/// SPIRV-Tools do not know, what it says of the rest.
template <typename Ask>
std::string ask_of_known(std::span<const std::uint32_t> words, Ask&& ask) {
  std::string wrong = ask(words);
  if (wrong.empty()) return wrong;
  const auto kept = without_reconvergence(words);
  return kept.size() == words.size() ? wrong : ask(std::span<const std::uint32_t>(kept));
}

/// Empty when the module is valid.
std::string ask_validator(std::span<const std::uint32_t> words) {
  const std::unique_ptr<spv_context_t, Release> context(
      spvContextCreate(SPV_ENV_VULKAN_1_1_SPIRV_1_4));
  spv_const_binary_t binary{words.data(), words.size()};
  spv_diagnostic diagnostic = nullptr;
  const spv_result_t result = spvValidate(context.get(), &binary, &diagnostic);
  const std::unique_ptr<spv_diagnostic_t, Release> owner(diagnostic);
  return result == SPV_SUCCESS ? std::string() : describe(diagnostic);
}

/// Whether the module declares a capability that this SPIRV-Tools has no name for.
bool is_newer(std::span<const std::uint32_t> words) {
  constexpr std::size_t kHeader = 5;
  constexpr std::uint32_t kCapability = 2 << 16 | 17;  // OpCapability, of two words
  const std::unique_ptr<spv_context_t, Release> context(
      spvContextCreate(SPV_ENV_VULKAN_1_1_SPIRV_1_4));
  const auto reads = [](auto...) { return SPV_SUCCESS; };
  for (std::size_t at = kHeader; at + 1 < words.size() && words[at] == kCapability; at += 2) {
    std::vector<std::uint32_t> alone(words.begin(), words.begin() + kHeader);
    alone.insert(alone.end(), {kCapability, words[at + 1]});
    if (spvBinaryParse(context.get(), nullptr, alone.data(), alone.size(), reads, reads, nullptr) !=
        SPV_SUCCESS)
      return true;
  }
  return false;
}

/// That this process and those that it waited for have taken.
double processor_seconds() {
  double sum = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    ::getrusage(who, &used);
    for (const timeval& each : {used.ru_utime, used.ru_stime})
      sum += static_cast<double>(each.tv_sec) + static_cast<double>(each.tv_usec) * 1e-6;
  }
  return sum;
}

constexpr int kNoMemory = 3;  ///< exit status of a child

/// What `work` gives, from a child process that may take `seconds` of processor time and `most`
/// bytes of addresses, this process's among them; nothing where it takes more or a signal ends it,
/// with why.
std::optional<std::string> in_child(unsigned seconds, std::uint64_t most,
                                    const std::function<std::string()>& work, std::string& why) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return work();
  const pid_t child = ::fork();
  if (child < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    return work();
  }
  if (child == 0) {
    // The signal of the hard limit cannot be caught.
    const rlimit limit{seconds, seconds};
    ::setrlimit(RLIMIT_CPU, &limit);
#ifndef __SANITIZE_ADDRESS__  // which takes terabytes of addresses
    rlimit addresses{};
    if (::getrlimit(RLIMIT_AS, &addresses) == 0) {
      addresses.rlim_cur = std::min<rlim_t>(addresses.rlim_cur, most);
      ::setrlimit(RLIMIT_AS, &addresses);
    }
#endif
    std::set_new_handler([] { ::_exit(kNoMemory); });
    const std::string text = work();
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t wrote = ::write(ends[1], text.data() + at, text.size() - at);
      if (wrote <= 0) ::_exit(1);
      at += static_cast<std::size_t>(wrote);
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char piece[4096];
  for (ssize_t count = 0; (count = ::read(ends[0], piece, sizeof piece)) != 0;) {
    if (count < 0 && errno != EINTR) break;
    if (count > 0) text.append(piece, static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoMemory) {
    why = fmt::format("needs more memory than the {} MiB that it may have", most >> 20);
    return std::nullopt;
  }
  const int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  why = number == SIGKILL || number == SIGXCPU
            ? fmt::format("did not end within {}{} of processor time", seconds,
                          seconds == 1 ? " second" : " seconds")
            : "crashed";
  return std::nullopt;
}

}  // namespace

Validator::Validator(std::size_t bytes, std::optional<unsigned> seconds)
    : start_(processor_seconds()) {
  const double megabytes = std::max(static_cast<double>(bytes) * 1e-6, 1.0);
  allowed_ = seconds ? 0 : 8 * megabytes;
  own_ = seconds ? *seconds : allowed_ / 5;
}

double Validator::left() const {
  return std::max(allowed_ - (processor_seconds() - start_), own_ - used_);
}

Validity Validator::check(std::span<const std::uint32_t> words) {
  // Small modules do not need a process each.
  constexpr std::size_t kSmall = 50'000;
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
  const auto unchecked = [](const std::string& why) {
    return Validity{"",
                    "SPIRV-Tools' validator " + why + ", so that the module is not checked by it"};
  };
  if (is_newer(words)) return unchecked("is older than what it declares");
  // Limits of processor time are whole seconds.
  const double seconds = left();
  if (seconds < 1) return unchecked("has used up its processor time");
  const double start = processor_seconds();
  std::string why;
  std::optional<std::string> wrong;
  if (words.size() <= kSmall)
    wrong = ask_of_known(words, ask_validator);
  else
    wrong = in_child(
        static_cast<unsigned>(seconds), kMostBytes,
        [&] { return ask_of_known(words, ask_validator); }, why);
  used_ += processor_seconds() - start;
  return wrong ? Validity{std::move(*wrong), ""} : unchecked(why);
}

std::string disassemble_spirv(std::span<const std::uint32_t> words, std::string& error) {
  const std::unique_ptr<spv_context_t, Release> context(
      spvContextCreate(SPV_ENV_VULKAN_1_1_SPIRV_1_4));
  constexpr unsigned kOptions =
      SPV_BINARY_TO_TEXT_OPTION_INDENT | SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES;
  std::string out;
  error = ask_of_known(words, [&](std::span<const std::uint32_t> module) {
    spv_text text = nullptr;
    spv_diagnostic diagnostic = nullptr;
    const spv_result_t result =
        spvBinaryToText(context.get(), module.data(), module.size(), kOptions, &text, &diagnostic);
    const std::unique_ptr<spv_diagnostic_t, Release> owner(diagnostic);
    const std::unique_ptr<spv_text_t, Release> text_owner(text);
    if (result != SPV_SUCCESS) return describe(diagnostic);
    out.assign(text->str, text->length);
    return std::string();
  });
  return out;
}

}  // namespace ptx2spv::tools
