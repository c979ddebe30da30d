// replay: runs recorded surface instructions on a device and compares with what the hardware did.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <new>
#include <thread>

#include "dev/replay/session.hpp"
#include "tools/common/names.hpp"
#include "tools/common/options.hpp"

namespace ptx2spv::tools {
namespace {

struct Settings {
  DeviceOptions device;
  ReplayOptions replay;
  unsigned jobs = 2, shard = 0, shards = 1;
  std::string filter;
  bool verbose = false, print = false;
};

std::string take_profile(Settings& settings, const ParsedOption& option) {
  if (!find_profile(option.value)) return unknown_profile(option.value);
  settings.device.profile = option.value;
  return {};
}
std::string take_disabled(Settings& settings, const ParsedOption& option) {
  if (!find_capability(option.value)) return unknown_capability(option.value);
  settings.device.disable.push_back(option.value);
  return {};
}
std::string take_no_slots(Settings& settings, const ParsedOption&) {
  settings.replay.bind_slots = false;
  return {};
}
std::string take_shard(Settings& settings, const ParsedOption& option) {
  const std::string_view value = option.value;
  const std::size_t slash = std::min(value.find('/'), value.size());
  if (slash < value.size() && parse_number(value.substr(0, slash), settings.shard, 0u, ~0u) &&
      parse_number(value.substr(slash + 1), settings.shards, 1u, ~0u) &&
      settings.shard < settings.shards)
    return {};
  return "--shard takes K/N with K below N";
}

constexpr Option kOptions[] = {
    {set_text<&Settings::device, &DeviceOptions::select>, 'd', "device", "NAME",
     "the device: gpu, cpu, swiftshader, lavapipe, an index, uuid:... or part of the name",
     "gpu,cpu,swiftshader,lavapipe"},
    {set_choice<ArrayBacking::linear, &Settings::replay, &ReplayOptions::backing>, 'b', "backing",
     "KIND", "hold the surfaces in linear memory (the default) or in images", "linear,image"},
    {set_by<take_profile>, 0, "profile", "NAME",
     "translate for no more than this profile has: portable, swiftshader, lavapipe, nvidia, or "
     "full, no-int64, "
     "no-64-bit-atomics, no-8/16-bit",
     "portable,swiftshader,lavapipe,nvidia,full,no-int64,no-64-bit-atomics,no-8/16-bit"},
    {set_by<take_disabled>, 0, "disable", "CAPABILITY",
     "do without this capability of the device; may be repeated"},
    {add_text<&Settings::device, &DeviceOptions::require>, 0, "require", "CAPABILITY",
     "refuse a device without this capability; may be repeated"},
    {set_choice<HandleSource::param, &Settings::replay, &ReplayOptions::source>, 0, "handle",
     "SOURCE",
     "how the kernel gets its surface: param, a u64 parameter (the default); surfref, a variable; "
     "reference, a .surfref "
     "parameter; memory, a handle that every thread loads",
     "param,surfref,reference,memory"},
    {set_by<take_no_slots>, 0, "no-slots", "",
     "reach linear surfaces by their address, none through a bound buffer"},
    {set_choice<ThreadModel::direct, &Settings::replay, &ReplayOptions::threads>, 0, "threads",
     "MODEL", "how threads map to invocations", "direct,flat,regions"},
    {set_number<1u, 64u, &Settings::jobs>, 'j', "jobs", "N",
     "work in so many host threads; 2 when not given"},
    {set_text<&Settings::filter>, 0, "filter", "TEXT", "only instructions whose text holds this"},
    {set_by<take_shard>, 0, "shard", "K/N",
     "only every Nth group of lines, the Kth counted from 0; of kernels with several instructions, "
     "every Nth kernel on all surfaces"},
    {set_flag<&Settings::device, &DeviceOptions::validation>, 0, "validate", "",
     "run under the Vulkan validation layer; a message of it counts as a difference"},
    {set_flag<&Settings::print>, 0, "print-ptx", "", "print the kernels and end"},
    {set_flag<&Settings::verbose>, 'v', "verbose", "", "print the counts of every instruction"},
};

constexpr ExitCode kExitCodes[] = {
    {0, "every line was checked and none differs"},
    {1, "a line differs or was skipped"},
    {2, "usage, or a record that cannot be read"},
    {5, "no usable device"},
};

constexpr Tool kTool = {
    "replay",
    "[OPTION...] FILE[.gz]...",
    "replays records of surface instructions on a Vulkan device and compares every result",
    "A record lists, for surfaces with known contents, what instructions returned or changed on "
    "NVIDIA hardware. Lines of an "
    "instruction that do not touch the same bytes run in one launch, one thread each. The last "
    "line printed is "
    "\"replay: checked N, differ M, skipped K\".",
    kOptions,
    kExitCodes,
    "PTX2SPV_DEVICE selects a device where --device does not."};

struct Tally {
  std::uint64_t checked = 0, differ = 0, skipped = 0;
  std::uint32_t shown = 0;
};

int run_replay(const Settings& settings, const Records& records) {
  auto device = Device::open(settings.device);
  if (!device) {
    std::fprintf(stderr, "replay: error: no usable device: %s\n", device.error().text.c_str());
    return device.error().code == ErrorCode::no_device ? 5 : 2;
  }
  std::printf("device %s, %s\n", device->info().name.c_str(), device->info().driver.c_str());

  // Groups of one kernel are neighbours, so that it is made once and workers seldom wait for it.
  const auto kernel_of = [&](std::uint32_t group) {
    return records.instructions[records.groups[group].instruction].kernel;
  };
  std::vector<std::uint32_t> order;
  for (std::uint32_t k = 0; k < records.groups.size(); ++k) {
    const std::uint32_t kernel = kernel_of(k);
    const std::uint32_t number = records.kernels[kernel].size() > 1 ? kernel : k;
    const std::string& text = records.instructions[records.groups[k].instruction].text;
    if (number % settings.shards == settings.shard && text.find(settings.filter) != text.npos)
      order.push_back(k);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return kernel_of(a) < kernel_of(b); });

  KernelCache kernels(*device, records, settings.replay.source);
  std::vector<GroupResult> results(records.groups.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    ReplaySession session(*device, records, settings.replay, kernels);
    for (std::size_t k = next++; k < order.size(); k = next++)
      results[order[k]] = session.run(order[k]);
  };
  std::vector<std::thread> workers;
  for (unsigned k = 1; k < settings.jobs; ++k) workers.emplace_back(work);
  work();
  for (std::thread& worker : workers) worker.join();

  std::map<std::string, Tally> by_instruction;
  Tally all;
  for (std::uint32_t number : order) {
    const RecordGroup& group = records.groups[number];
    const GroupResult& result = results[number];
    const std::string& text = records.instructions[group.instruction].text;
    Tally& tally = by_instruction[text];
    tally.checked += result.checked;
    tally.skipped += result.skipped;
    tally.differ += result.differences.size();
    if (!result.error.empty() && tally.shown < 3) {
      ++tally.shown;
      std::printf("%s: %s: skipped %llu lines: %s\n", records.names[group.file].c_str(),
                  text.c_str(), static_cast<unsigned long long>(result.skipped),
                  result.error.c_str());
    }
    for (const Difference& difference : result.differences) {
      if (tally.shown >= 3) break;
      ++tally.shown;
      const RecordLine& line = group.lines[difference.line];
      std::printf("%s:%u: %s on %s: %.*s, got %s\n", records.names[group.file].c_str(), line.number,
                  text.c_str(), records.surfaces[group.surface].text.c_str(), int(line.text.size()),
                  line.text.data(), difference.got.c_str());
    }
  }
  for (const auto& [text, tally] : by_instruction) {
    if (settings.verbose || tally.differ || tally.skipped)
      std::printf("%-40s checked %llu, differ %llu, skipped %llu\n", text.c_str(),
                  static_cast<unsigned long long>(tally.checked),
                  static_cast<unsigned long long>(tally.differ),
                  static_cast<unsigned long long>(tally.skipped));
    all.checked += tally.checked;
    all.differ += tally.differ;
    all.skipped += tally.skipped;
  }
  const std::uint64_t messages = device->validation_messages();
  if (messages) {
    std::printf("the validation layer gave %llu messages\n",
                static_cast<unsigned long long>(messages));
    all.differ += messages;
  }
  std::printf("replay: checked %llu, differ %llu, skipped %llu\n",
              static_cast<unsigned long long>(all.checked),
              static_cast<unsigned long long>(all.differ),
              static_cast<unsigned long long>(all.skipped));
  return all.differ || all.skipped ? 1 : 0;
}

int run_tool(int argc, char** argv) {
  const ParsedCommand command = parse_command(kTool, argc, argv);
  int exit_code = 0;
  if (handle_common(kTool, command, exit_code)) return exit_code;
  Settings settings;
  std::string error = set_options(command, &settings);
  if (error.empty() && command.operands.empty()) error = "no record is given";
  if (!error.empty()) {
    usage_error(kTool, error);
    return 2;
  }
  Records records;
  records.texts.reserve(command.operands.size());
  for (const std::string& path : command.operands) {
    const std::string problem = read_record(path, records);
    if (problem.empty()) continue;
    std::fprintf(stderr, "%s\n", problem.c_str());
    return 2;
  }
  if (settings.print) {
    for (std::uint32_t k = 0; k < records.kernels.size(); ++k) {
      const RecordInstruction& first = records.instructions[records.kernels[k][0]];
      if (first.op != RecordOp::other && first.text.find(settings.filter) != std::string::npos)
        std::printf("// %s\n%s\n", first.text.c_str(),
                    replay_ptx(records, k, settings.replay.source).c_str());
    }
    return 0;
  }
  return run_replay(settings, records);
}

}  // namespace
}  // namespace ptx2spv::tools

int main(int argc, char** argv) {
  try {
    return ptx2spv::tools::run_tool(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("replay: error: out of memory\n", stderr);
    return 2;
  }
}
