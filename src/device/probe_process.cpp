#include "src/device/probe_process.hpp"

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
#include <chrono>
#include <string_view>

#include "ptx2spv/debug_setting.hpp"

extern char** environ;

namespace ptx2spv::runtime {

using Clock = std::chrono::steady_clock;

namespace {

/// What the asking process must not inherit: it is asked about the device as it is.
bool concerns_the_run(std::string_view variable) {
  constexpr std::array<std::string_view, 6> kNames = {
      "PTX2SPV_DEVICE=", "MESA_SHADER_CACHE_DISABLE=", "PTX2SPV_DEBUG=", "PTX2SPV_VALIDATION=",
      "PTX2SPV_CACHE=",  "PTX2SPV_MEMORY_MIB="};
  return std::ranges::any_of(kNames,
                             [&](std::string_view name) { return variable.starts_with(name); });
}

/// Settings of the run that it must not inherit: an empty value is as good as none.
constexpr std::string_view kOfTheRun =
    "disable=,enable=,require=,profile=,limits=,routine-budget=,wait-iterations=,probe=off";

}  // namespace

bool ProbeProcess::start(const std::string& program, const std::vector<std::string>& arguments,
                         int input) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) return false;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (input < 0)
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  else
    posix_spawn_file_actions_adddup2(&actions, input, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], 1);
  // A driver that crashes says so there, to nobody's use.
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& each : arguments) argv.push_back(const_cast<char*>(each.c_str()));
  argv.push_back(nullptr);
  // Time of compiling is asked for as well: Mesa keeps what it compiled before.
  static char no_cache[] = "PTX2SPV_CACHE=0", mesa_no_cache[] = "MESA_SHADER_CACHE_DISABLE=true";
  std::string debug = "PTX2SPV_DEBUG=" + debug_settings_and(kOfTheRun);
  std::vector<char*> environment;
  for (char** each = environ; *each; ++each)
    if (!concerns_the_run(*each)) environment.push_back(*each);
  environment.push_back(debug.data());
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

ProbeProcess::Got ProbeProcess::read(std::string& line, int limit_ms) {
  const auto until = Clock::now() + std::chrono::milliseconds(limit_ms);
  for (;;) {
    if (const std::size_t end = rest_.find('\n'); end != rest_.npos) {
      line = rest_.substr(0, end);
      rest_.erase(0, end + 1);
      return Got::line;
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (limit_ms >= 0 && left <= 0) return Got::late;
    pollfd wait{out_, POLLIN, 0};
    const int ready = ::poll(&wait, 1, limit_ms < 0 ? -1 : static_cast<int>(left));
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

std::string ProbeProcess::end() {
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

std::string uuid_text(std::span<const std::uint8_t> uuid) {
  std::string text;
  for (const std::uint8_t byte : uuid) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace ptx2spv::runtime
