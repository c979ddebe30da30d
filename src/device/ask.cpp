#include "src/device/ask.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "src/device/probe_process.hpp"
#include "src/options.hpp"
#include "src/vulkan/api.hpp"

namespace ptx2spv::runtime {

namespace fs = std::filesystem;

namespace {

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

/// The folder of the library that has this code, or of the program where it is linked in.
fs::path own_folder() {
  Dl_info info;
  link_map* map = nullptr;
  std::error_code error;
  if (::dladdr1(reinterpret_cast<void*>(&find_probe_program), &info, reinterpret_cast<void**>(&map),
                RTLD_DL_LINKMAP) &&
      map && map->l_name && *map->l_name)
    return fs::canonical(map->l_name, error).parent_path();
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

/// Nobody else may have put it there.
bool may_run(const fs::path& program) {
  struct stat status {};
  return ::stat(program.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         (status.st_uid == 0 || status.st_uid == ::geteuid()) &&
         ::access(program.c_str(), X_OK) == 0;
}

}  // namespace

std::uint32_t safe_answer(std::string_view row) {
  const Capability* capability = find_capability(row);
  if (capability) return capability->group == Capability::Group::workaround;
  return row == "routine_budget" ? 20000 : 0;
}

std::string find_probe_program() {
  if (const std::string_view text = option_text(Option::probe_program); !text.empty())
    return ::access(std::string(text).c_str(), X_OK) == 0 ? std::string(text) : std::string();
  // Beside this code in a wheel and in tools/, from elsewhere in a build tree, then from where an
  // installation has programs and libraries.
  const fs::path folder = own_folder();
  if (!folder.empty())
    for (const char* place : {".", "../tools", "../../tools", PTX2SPV_LIBEXEC_FROM_BIN,
                              PTX2SPV_LIBEXEC_FROM_LIB, "../../" PTX2SPV_LIBEXEC_FROM_LIB})
      if (const fs::path program = folder / place / kProbeProgram; may_run(program))
        return program.lexically_normal().string();
  if (const fs::path program = fs::path(PTX2SPV_INSTALL_LIBEXECDIR) / kProbeProgram;
      may_run(program))
    return program.string();
  return {};
}

Result<Asked> ask_in_process(const std::string& program, const DeviceIdentity& identity,
                             int limit_ms) {
  Asked asked;
  const std::string uuid = uuid_text(identity.uuid);
  while (!asked.answers.complete()) {
    ProbeProcess child;
    if (!child.start(program, {"answer", "uuid:" + uuid, asked.answers.text()}))
      return make_error(ErrorCode::io, "{} cannot be started", program);
    std::string line, open;
    ProbeProcess::Got got = child.read(line, 10 * limit_ms);
    if (got != ProbeProcess::Got::line || line != fmt::format("{} {}", kProbeProtocol, build_id()))
      return make_error(ErrorCode::io, "{} is no program of this build", program);
    bool progress = false;
    while ((got = child.read(line, limit_ms)) == ProbeProcess::Got::line) {
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
      const std::string why = got == ProbeProcess::Got::late
                                  ? fmt::format("no answer in {} ms", limit_ms)
                                  : "the process that asked " + how;
      asked.notes += fmt::format("{}{}: {}", asked.notes.empty() ? "" : "; ", open, why);
      asked.rows.push_back({open, why, 0});
      progress = true;
    }
    if (!progress) return make_error(ErrorCode::io, "{} {}", program, how);
  }
  return asked;
}

}  // namespace ptx2spv::runtime
