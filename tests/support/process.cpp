#include "tests/support/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

extern char** environ;

namespace ptx2spv::test {

std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

ProcessResult run_process(const std::vector<std::string>& arguments, const std::string& input,
                          const std::vector<std::string>& environment, double kill_after_ms) {
  ProcessResult result;
  // Files, not pipes: nothing can block on a full one.
  const TemporaryFolder folder;
  const std::string in = folder.write("in", input), out = folder.file("out"),
                    error = folder.file("error");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, in.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, error.c_str(), O_WRONLY | O_CREAT, 0600);
  std::vector<char*> argv, envp;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const bool replaced =
        std::any_of(environment.begin(), environment.end(), [&](const std::string& added) {
          return text.starts_with(added.substr(0, added.find('=') + 1));
        });
    if (!replaced) envp.push_back(*entry);
  }
  for (const std::string& added : environment) envp.push_back(const_cast<char*>(added.c_str()));
  envp.push_back(nullptr);
  const auto start = std::chrono::steady_clock::now();
  pid_t child = 0;
  const int status = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  if (status != 0) {
    result.error = "cannot run " + arguments[0];
    return result;
  }
  if (kill_after_ms >= 0) {
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(kill_after_ms));
    kill(child, SIGKILL);
  }
  int state = 0;
  while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
  }
  result.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  result.exit_code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  result.out = read_whole(out);
  result.error = read_whole(error);
  return result;
}

std::string tool_path(const std::string& name) {
  const char* folder = std::getenv("PTX2SPV_BINARY_DIR");
  return std::string(folder ? folder : ".") + "/tools/" + name;
}

TemporaryFolder::TemporaryFolder() {
  const char* base = std::getenv("TMPDIR");
  path_ = std::string(base && *base ? base : "/tmp") + "/ptx2spv-test-XXXXXX";
  if (!mkdtemp(path_.data())) path_.clear();
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, const std::string& contents) const {
  std::ofstream(file(name), std::ios::binary) << contents;
  return file(name);
}

std::vector<std::string> TemporaryFolder::list() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace ptx2spv::test
