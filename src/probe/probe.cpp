// The two sides of asking: the process that runs the questions, and the report about one device.
#include "ptx2spv/probe.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <fstream>

#include "ptx2spv/text.hpp"
#include "src/device/ask.hpp"
#include "src/device/calibrate.hpp"
#include "src/device/pipeline_trial.hpp"
#include "src/input_file.hpp"
#include "src/module/module.hpp"
#include "src/options.hpp"
#include "src/probe/questions.hpp"

namespace ptx2spv {

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

void write_line(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

/// Of this process's mappings that may be executed and are no file's: what drivers compiled.
std::uint64_t executable_bytes() {
  std::ifstream maps("/proc/self/maps");
  std::uint64_t sum = 0;
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t first = 0, end = 0;
    char access[5] = {}, path[2] = {};
    // start-end rwxp offset device inode path
    const int found = std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %1s",
                                  &first, &end, access, path);
    const bool named = found == 4 && (path[0] == '[' || line.find("(deleted)") == line.npos);
    if (found >= 3 && access[2] == 'x' && !named) sum += end - first;
  }
  return sum;
}

}  // namespace

namespace runtime {

int answer_questions(const DeviceOptions& options, const std::string& answers) {
  write_line(fmt::format("{} {}", kProbeProtocol, build_id()));
  const auto given = Answers::parse(answers);
  if (!given) {
    write_line("error the answers given cannot be read");
    return 2;
  }
  auto asker = Asker::open(options);
  if (!asker) {
    write_line("error " + one_line(asker.error().text));
    return 5;
  }
  for (const Question& question : questions()) {
    if (const auto value = given->find(question.row)) {
      asker->answer(question.row, *value);
      continue;
    }
    write_line(fmt::format("ask {}", question.row));
    const auto start = Clock::now();
    const Answer answer = question.ask(*asker);
    asker->answer(question.row, answer.value);
    write_line(fmt::format("answer {}={} {:.3f} {}", question.row, answer.value,
                           milliseconds_since(start), one_line(answer.seen)));
  }
  return 0;
}

int try_compilation(const DeviceOptions& options) {
  write_line(fmt::format("{} {}", kProbeProtocol, build_id()));
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::string bytes, piece(1 << 16, '\0');
  InputFile input(0);
  while (const std::size_t count = input.read(piece.data(), piece.size()))
    bytes.append(piece, 0, count);
  const auto trial = PipelineTrial::parse(bytes);
  auto asker = Asker::open(options);
  if (!trial || !asker) {
    write_line("error " + (trial ? one_line(asker.error().text) : "the pipeline cannot be read"));
    return 2;
  }
  // A driver whose code does not show among the process's mappings is not judged by them.
  std::uint64_t before = executable_bytes();
  const auto known = asker->run(asker->profile(), {.body = "mov.u32 %r5, 1;"}, 1, 1, {});
  const bool shows = known.error.empty() && executable_bytes() > before;
  const DeviceState& device = *asker->device().state();
  Variant variant(device);
  Pipeline pipeline(device);
  VkShaderModuleCreateInfo shader{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  shader.codeSize = trial->spirv.size() * 4;
  shader.pCode = trial->spirv.data();
  VkResult result = device.vk.CreateShaderModule(device.handle, &shader, nullptr, &variant.shader);
  auto layout = asker->device().state()->layouts.get(device, trial->layout);
  before = executable_bytes();
  write_line("compile");
  if (result == VK_SUCCESS && layout)
    result = create_pipeline(device, trial->spec, variant.shader, (*layout)->pipeline,
                             VK_NULL_HANDLE, pipeline.handle);
  if (result != VK_SUCCESS || !layout) {
    write_line("error " + to_text(result));
    return 2;
  }
  write_line(shows && executable_bytes() <= before ? "none" : "made");
  return 0;
}

}  // namespace runtime

Result<ProbeReport> probe_device(const DeviceOptions& options) {
  const auto start = Clock::now();
  std::string notes;
  auto candidates = enumerate_candidates(options, notes, false);
  const int chosen =
      select_candidate(candidates, options.select.empty() ? std::string(option_text(Option::device))
                                                          : options.select);
  if (chosen < 0) {
    std::string text = "no usable device can be asked";
    for (const Candidate& each : candidates)
      text += fmt::format("; {}: {}", each.info.name, each.info.rejection);
    return make_error(ErrorCode::no_device, text + (notes.empty() ? "" : "; ") + notes);
  }
  const Candidate& candidate = candidates[static_cast<std::size_t>(chosen)];
  const DeviceIdentity identity = identity_of(candidate.traits, candidate.info);
  const std::string program = find_probe_program();
  if (program.empty())
    return make_error(ErrorCode::io,
                      "there is no ptx2spv-probe to ask with (PTX2SPV_DEBUG=probe-program)");
  auto asked = ask_in_process(program, identity, kQuestionMilliseconds);
  if (!asked) return asked.error();
  ProbeReport report;
  report.device = candidate.info;
  report.processor = identity.host;
  report.driver_id = identity.driver;
  report.driver_info = identity.info;
  apply_answers(asked->answers, report.device.profile);
  const auto known = known_answers(identity);
  for (const Question& question : questions()) {
    ProbeRow row;
    row.name = question.row;
    row.question = question.asks;
    row.value = asked->answers.find(question.row).value_or(0);
    if (known) row.known = known->find(question.row);
    for (const AskedRow& each : asked->rows)
      if (each.row == question.row) {
        row.seen = each.seen;
        row.milliseconds = each.milliseconds;
      }
    report.rows.push_back(std::move(row));
  }
  report.milliseconds = milliseconds_since(start);
  return report;
}

std::string ProbeReport::json() const {
  std::string text = fmt::format(
      "{{\"device\": {}, \"driver\": {}, \"driver_id\": {}, \"driver_info\": {}, "
      "\"driver_version\": {}, "
      "\"vendor\": {}, \"device_id\": {}, \"uuid\": {}, \"kind\": {}, \"processor\": {}, "
      "\"milliseconds\": {:.1f},\n \"features\": {{",
      json_quote(device.name), json_quote(device.driver), driver_id, json_quote(driver_info),
      device.driver_version, device.vendor, device.device, json_quote(device.uuid_text()),
      json_quote(to_string(device.kind)), json_quote(processor), milliseconds);
  bool first = true;
  for (const Capability& each : capabilities()) {
    if (each.group != Capability::Group::feature) continue;
    text += fmt::format("{}\"{}\": {}", first ? "" : ", ", each.name, each.value(device.profile));
    first = false;
  }
  const Profile& profile = device.profile;
  text += fmt::format(
      "}},\n \"limits\": {{\"subgroup_size\": {}, \"max_workgroup_invocations\": {}, "
      "\"max_shared_bytes\": {}, \"max_slots\": {}}},\n \"answers\": [",
      profile.subgroup_size, profile.max_workgroup_invocations, profile.max_shared_bytes,
      profile.max_slots);
  first = true;
  for (const ProbeRow& row : rows) {
    text += fmt::format(
        "{}\n  {{\"row\": {}, \"value\": {}, \"seen\": {}, \"milliseconds\": {:.1f}, \"known\": "
        "{}}}",
        first ? "" : ",", json_quote(row.name), row.value, json_quote(row.seen), row.milliseconds,
        row.known ? std::to_string(*row.known) : "null");
    first = false;
  }
  return text + "]}\n";
}

std::string ProbeReport::known_device() const {
  return fmt::format("PTX2SPV_KNOWN_DEVICE({}, {}, 0x{:x}, 0x{:x}, {}, {}, {}, \"{}\")\n",
                     driver_name(driver_id), device.driver_version, device.vendor, device.device,
                     json_quote(device.name), json_quote(driver_info), json_quote(processor),
                     Answers::of(device.profile).text());
}

}  // namespace ptx2spv
