#include "src/device/ask.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "src/options.hpp"
#include "src/vulkan/api.hpp"

extern char** environ;

namespace ptx2spv::runtime {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

/// One run of the asking process.
class Child {
 public:
  Child() = default;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }

  bool start(const std::string& program, const std::vector<std::string>& arguments);
  enum class Got : std::uint8_t { line, end, late };
  /// The next line, within `limit_ms`.
  Got read(std::string& line, int limit_ms);
  /// Kills it where it still runs. How it ended, in words.
  std::string end();

 private:
  pid_t process_ = -1;
  int out_ = -1;
  std::string rest_;
};

/// What the asking process must not inherit: it is asked about the device as it is.
bool concerns_the_run(std::string_view variable) {
  constexpr std::array<std::string_view, 13> kNames = {
      "PTX2SPV_DEVICE=",         "MESA_SHADER_CACHE_DISABLE=", "PTX2SPV_DISABLE=",
      "PTX2SPV_ENABLE=",         "PTX2SPV_REQUIRE=",           "PTX2SPV_PROFILE=",
      "PTX2SPV_PROBE=",          "PTX2SPV_VALIDATION=",        "PTX2SPV_CACHE=",
      "PTX2SPV_ROUTINE_BUDGET=", "PTX2SPV_WAIT_ITERATIONS=",   "PTX2SPV_LIMITS=",
      "PTX2SPV_MEMORY_MIB="};
  return std::ranges::any_of(kNames,
                             [&](std::string_view name) { return variable.starts_with(name); });
}

bool Child::start(const std::string& program, const std::vector<std::string>& arguments) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) return false;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], 1);
  // A driver that crashes says so there, to nobody's use.
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& each : arguments) argv.push_back(const_cast<char*>(each.c_str()));
  argv.push_back(nullptr);
  // Time of compiling is asked for as well: Mesa keeps what it compiled before.
  static char probe_off[] = "PTX2SPV_PROBE=off", no_cache[] = "PTX2SPV_CACHE=0",
              mesa_no_cache[] = "MESA_SHADER_CACHE_DISABLE=true";
  std::vector<char*> environment;
  for (char** each = environ; *each; ++each)
    if (!concerns_the_run(*each)) environment.push_back(*each);
  environment.push_back(probe_off);
  environment.push_back(no_cache);
  environment.push_back(mesa_no_cache);
  environment.push_back(nullptr);
  const int failed =
      ::posix_spawn(&process_, program.c_str(), &actions, nullptr, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[1]);
  if (failed) {
    process_ = -1;
    ::close(pipe[0]);
    return false;
  }
  out_ = pipe[0];
  return true;
}

Child::Got Child::read(std::string& line, int limit_ms) {
  const auto until = Clock::now() + std::chrono::milliseconds(limit_ms);
  for (;;) {
    if (const std::size_t end = rest_.find('\n'); end != rest_.npos) {
      line = rest_.substr(0, end);
      rest_.erase(0, end + 1);
      return Got::line;
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return Got::late;
    pollfd wait{out_, POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(left));
    if (ready < 0 && errno != EINTR) return Got::end;
    if (ready <= 0) continue;
    char bytes[4096];
    const ssize_t count = ::read(out_, bytes, sizeof bytes);
    if (count > 0)
      rest_.append(bytes, static_cast<std::size_t>(count));
    else if (count == 0 || errno != EINTR)
      return Got::end;
  }
}

std::string Child::end() {
  if (process_ < 0) return {};
  // One that ended by itself is not killed: it is gone when its output is.
  int status = 0;
  pid_t done = 0;
  for (int i = 0; i < 200 && done == 0; ++i) {
    done = ::waitpid(process_, &status, WNOHANG);
    if (done == 0 && i >= 20) ::kill(process_, SIGKILL);
    if (done == 0) ::usleep(5000);
  }
  // One that not even that ends, in a driver's call into the kernel, is left behind.
  ::close(out_);
  process_ = -1;
  if (done > 0 && WIFSIGNALED(status))
    return fmt::format("was ended by signal {}", WTERMSIG(status));
  if (done > 0 && WIFEXITED(status)) return fmt::format("ended with {}", WEXITSTATUS(status));
  return "did not end";
}

/// "row=value milliseconds words".
bool take_answer(std::string_view text, Asked& asked) {
  const std::size_t first = std::min(text.find(' '), text.size());
  const auto more = Answers::parse(text.substr(0, first));
  if (!more) return false;
  const std::string_view rest = text.substr(std::min(first + 1, text.size()));
  const std::size_t second = std::min(rest.find(' '), rest.size());
  AskedRow row{std::string(text.substr(0, text.find('='))),
               std::string(rest.substr(std::min(second + 1, rest.size()))), 0};
  std::from_chars(rest.data(), rest.data() + second, row.milliseconds);
  for (const std::string_view each : Answers::rows())
    if (const auto value = more->find(each)) asked.answers.set(each, *value);
  asked.rows.push_back(std::move(row));
  return true;
}

fs::path executable() {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : self;
}

}  // namespace

std::uint32_t safe_answer(std::string_view row) {
  const Capability* capability = find_capability(row);
  if (capability) return capability->group == Capability::Group::workaround;
  return row == "routine_budget" ? 20000 : 0;
}

std::string find_probe_program() {
  std::vector<fs::path> places;
  if (const std::string_view text = option_text(Option::probe_program); !text.empty())
    return ::access(std::string(text).c_str(), X_OK) == 0 ? std::string(text) : std::string();
  if (const fs::path self = executable(); !self.empty()) {
    if (self.filename() == "ptxrun") return self.string();
    const fs::path folder = self.parent_path();
    for (const char* place : {"ptxrun", "../tools/ptxrun", "../bin/ptxrun"})
      places.push_back(folder / place);
  }
  places.emplace_back(PTX2SPV_INSTALL_BINDIR "/ptxrun");
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "";
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    if (colon) places.push_back(fs::path(rest.substr(0, colon)) / "ptxrun");
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  for (const fs::path& place : places)
    if (::access(place.c_str(), X_OK) == 0 && fs::is_regular_file(place)) return place.string();
  return {};
}

Result<Asked> ask_in_process(const std::string& program, const DeviceIdentity& identity,
                             int limit_ms) {
  Asked asked;
  std::string uuid;
  for (const std::uint8_t byte : identity.uuid) uuid += fmt::format("{:02x}", byte);
  while (!asked.answers.complete()) {
    Child child;
    if (!child.start(program, {"--probe=answer", "--device", "uuid:" + uuid, "--answers",
                               asked.answers.text()}))
      return make_error(ErrorCode::io, fmt::format("{} cannot be started", program));
    std::string line, open;
    Child::Got got = child.read(line, 10 * limit_ms);
    if (got != Child::Got::line || line != fmt::format("{} {}", kProbeProtocol, build_id()))
      return make_error(ErrorCode::io, fmt::format("{} is no program of this build", program));
    bool progress = false;
    while ((got = child.read(line, limit_ms)) == Child::Got::line) {
      if (line.starts_with("ask ")) {
        open = line.substr(4);
      } else if (line.starts_with("answer ")) {
        if (!take_answer(std::string_view(line).substr(7), asked)) break;
        progress = true;
        open.clear();
      } else if (line.starts_with("error ")) {
        return make_error(ErrorCode::no_device, line.substr(6));
      }
    }
    const std::string how = child.end();
    if (!open.empty() && asked.answers.set(open, safe_answer(open))) {
      const std::string why = got == Child::Got::late ? fmt::format("no answer in {} ms", limit_ms)
                                                      : "the process that asked " + how;
      asked.notes += fmt::format("{}{}: {}", asked.notes.empty() ? "" : "; ", open, why);
      asked.rows.push_back({open, why, 0});
      progress = true;
    }
    if (!progress) return make_error(ErrorCode::io, fmt::format("{} {}", program, how));
  }
  return asked;
}

}  // namespace ptx2spv::runtime
