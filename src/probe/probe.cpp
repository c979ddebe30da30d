// The two sides of asking: the process that runs the questions, and the report about one device.
#include "ptx2spv/probe.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "src/device/ask.hpp"
#include "src/device/calibrate.hpp"
#include "src/options.hpp"
#include "src/probe/questions.hpp"

namespace ptx2spv {

using namespace runtime;

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

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + "\"";
}

}  // namespace

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
    return make_error(ErrorCode::io, "there is no ptxrun to ask with (PTX2SPV_PROBE_PROGRAM)");
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
      json_string(device.name), json_string(device.driver), driver_id, json_string(driver_info),
      device.driver_version, device.vendor, device.device, json_string(device.uuid_text()),
      json_string(to_string(device.kind)), json_string(processor), milliseconds);
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
        first ? "" : ",", json_string(row.name), row.value, json_string(row.seen), row.milliseconds,
        row.known ? std::to_string(*row.known) : "null");
    first = false;
  }
  return text + "]}\n";
}

std::string ProbeReport::known_device() const {
  return fmt::format("PTX2SPV_KNOWN_DEVICE({}, {}, 0x{:x}, 0x{:x}, {}, {}, {}, \"{}\")\n",
                     driver_name(driver_id), device.driver_version, device.vendor, device.device,
                     json_string(device.name), json_string(driver_info), json_string(processor),
                     Answers::of(device.profile).text());
}

}  // namespace ptx2spv
