#include "tools/ptxrun/batch.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>

#include <fmt/format.h>

#include "tools/common/json.hpp"
#include "tools/ptxrun/backend.hpp"

namespace ptx2spv::tools {
namespace {

struct Child {
  pid_t pid = -1;
  std::array<int, 2> pipes{-1, -1};  ///< what it writes to standard output and standard error
  double start = 0;
};

/// The texts of all lines of a child that could not be started.
void not_started(ManifestRun& run) {
  run.exit = int(Exit::usage);
  run.err = fmt::format("ptxrun: error: {}: no process can be started: {}\n", run.file,
                        std::strerror(errno));
}

bool start(Child& child, ManifestRun& run, const std::function<int(const std::string&)>& call) {
  std::array<std::array<int, 2>, 2> ends{{{-1, -1}, {-1, -1}}};
  for (auto& pair : ends)
    if (::pipe(pair.data()) != 0) {
      not_started(run);
      for (auto& made : ends)
        for (int end : made)
          if (end >= 0) ::close(end);
      return false;
    }
  std::fflush(stdout);
  std::fflush(stderr);
  child.start = now_ms();
  child.pid = ::fork();
  if (child.pid == 0) {
    for (int stream : {0, 1}) {
      ::dup2(ends[std::size_t(stream)][1], stream + 1);
      for (int end : ends[std::size_t(stream)]) ::close(end);
    }
    const int exit = call(run.file);
    std::fflush(stdout);
    std::fflush(stderr);
    ::_exit(exit);
  }
  for (std::size_t stream : {0u, 1u}) {
    ::close(ends[stream][1]);
    child.pipes[stream] = ends[stream][0];
  }
  if (child.pid > 0) return true;
  not_started(run);
  for (int end : child.pipes) ::close(end);
  return false;
}

/// Reads what is there. False once the child closed the stream.
bool read_some(int pipe, std::string& text) {
  std::array<char, 16384> bytes;
  const ssize_t count = ::read(pipe, bytes.data(), bytes.size());
  if (count < 0) return errno == EINTR;
  text.append(bytes.data(), std::size_t(count));
  return count > 0;
}

void finish(const Child& child, ManifestRun& run) {
  int status = 0;
  while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  run.seconds = (now_ms() - child.start) / 1000;
  run.exit = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (byte < 0x20 && c != '\n' && c != '\t') {
      out += fmt::format("\\x{:02x}", byte);  // XML 1.0 has no way to write it
    } else {
      out += c;
    }
  }
  return out;
}

std::size_t count_passed(const std::vector<ManifestRun>& runs) {
  std::size_t passed = 0;
  for (const ManifestRun& run : runs) passed += run.passed();
  return passed;
}

std::string json_lines(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += (out.empty() ? "" : ", ") + json_quote(text.substr(at, end - at));
    at = end + 1;
  }
  return "[" + out + "]";
}

}  // namespace

std::string ManifestRun::reason() const {
  const std::size_t error = err.find("error:");
  if (error != err.npos) {
    const std::size_t line = err.rfind('\n', error) == err.npos ? 0 : err.rfind('\n', error) + 1;
    return err.substr(line, std::min(err.find('\n', error), err.size()) - line);
  }
  if (exit > 128) return fmt::format("signal {} ({}) ended it", exit - 128, strsignal(exit - 128));
  return fmt::format("exit code {}", exit);
}

std::vector<ManifestRun> run_each(const std::vector<std::string>& files, unsigned jobs,
                                  const std::function<int(const std::string& file)>& run,
                                  const std::function<void(const ManifestRun&)>& done) {
  std::vector<ManifestRun> runs(files.size());
  for (std::size_t k = 0; k < files.size(); ++k) runs[k].file = files[k];
  std::map<std::size_t, Child> active;
  std::vector<bool> ended(files.size());
  std::size_t next = 0, told = 0;
  while (told < files.size()) {
    while (next < files.size() && active.size() < std::max(1u, jobs)) {
      Child child;
      if (start(child, runs[next], run)) {
        active.emplace(next, child);
      } else {
        ended[next] = true;
      }
      ++next;
    }
    std::vector<pollfd> waits;
    for (const auto& [index, child] : active)
      for (int pipe : child.pipes) waits.push_back({pipe, POLLIN, 0});
    if (!waits.empty() && ::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) break;
    std::size_t at = 0;
    for (auto entry = active.begin(); entry != active.end();) {
      auto& [index, child] = *entry;
      for (std::size_t stream : {0u, 1u}) {
        const short seen = waits[at++].revents;
        if (child.pipes[stream] < 0 || !(seen & (POLLIN | POLLHUP | POLLERR))) continue;
        if (read_some(child.pipes[stream], stream ? runs[index].err : runs[index].out)) continue;
        ::close(child.pipes[stream]);
        child.pipes[stream] = -1;
      }
      if (child.pipes[0] >= 0 || child.pipes[1] >= 0) {
        ++entry;
        continue;
      }
      finish(child, runs[index]);
      ended[index] = true;
      entry = active.erase(entry);
    }
    while (told < files.size() && ended[told]) done(runs[told++]);
  }
  return runs;
}

std::string summary_line(const std::vector<ManifestRun>& runs) {
  return fmt::format("{} of {} manifests passed", count_passed(runs), runs.size());
}

std::string batch_json(const std::vector<ManifestRun>& runs) {
  std::string out = fmt::format("{{\"manifests\": {}, \"passed\": {}, \"results\": [", runs.size(),
                                count_passed(runs));
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const ManifestRun& run = runs[k];
    out += fmt::format(
        "{}\n  {{\"manifest\": {}, \"passed\": {}, \"exit_code\": {}, \"seconds\": {:.3f},\n"
        "   \"reason\": {},\n   \"output\": {},\n   \"messages\": {}}}",
        k ? "," : "", json_quote(run.file), run.passed(), run.exit, run.seconds,
        run.passed() ? "null" : json_quote(run.reason()), json_lines(run.out), json_lines(run.err));
  }
  return out + "]}\n";
}

std::string batch_junit(const std::vector<ManifestRun>& runs) {
  double seconds = 0;
  for (const ManifestRun& run : runs) seconds += run.seconds;
  const std::size_t failed = runs.size() - count_passed(runs);
  std::string out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"{0}\" failures=\"{1}\" "
      "time=\"{2:.3f}\">\n<testsuite name=\"ptxrun\" tests=\"{0}\" failures=\"{1}\" errors=\"0\" "
      "skipped=\"0\" time=\"{2:.3f}\">\n",
      runs.size(), failed, seconds);
  for (const ManifestRun& run : runs) {
    out += fmt::format("  <testcase classname=\"ptxrun\" name=\"{}\" time=\"{:.3f}\">\n",
                       xml(run.file), run.seconds);
    if (!run.passed())
      out += fmt::format("    <failure message=\"{}\" type=\"exit code {}\"/>\n", xml(run.reason()),
                         run.exit);
    if (!run.out.empty()) out += "    <system-out>" + xml(run.out) + "</system-out>\n";
    if (!run.err.empty()) out += "    <system-err>" + xml(run.err) + "</system-err>\n";
    out += "  </testcase>\n";
  }
  return out + "</testsuite>\n</testsuites>\n";
}

}  // namespace ptx2spv::tools
