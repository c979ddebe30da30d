#include "src/device/pipeline_trial.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "src/cache/digest.hpp"
#include "src/cache/disk_cache.hpp"
#include "src/device/ask.hpp"
#include "src/device/calibrate.hpp"
#include "src/device/probe_process.hpp"
#include "src/options.hpp"

namespace ptx2spv::runtime {

namespace {

thread_local const char* t_compiling = nullptr;

/// Of exit(), which Subzero's fatal errors call.
void tell_what_was_compiled() {
  if (t_compiling)
    std::fprintf(stderr,
                 "ptx2spv: error: the compiler of the Vulkan driver ended the process over kernel "
                 "'%s'\n",
                 t_compiling);
}

void put(std::string& bytes, std::uint32_t word) {
  bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
}

class Words {
 public:
  explicit Words(std::string_view bytes) : bytes_(bytes) {}
  bool good = true;
  bool at_end() const { return bytes_.empty(); }
  std::uint32_t word() {
    std::uint32_t value = 0;
    const std::string_view from = take(sizeof value);
    if (good) std::memcpy(&value, from.data(), sizeof value);
    return value;
  }
  std::string_view take(std::size_t count) {
    good = good && count <= bytes_.size();
    const std::string_view out = bytes_.substr(0, good ? count : 0);
    bytes_.remove_prefix(out.size());
    return out;
  }

 private:
  std::string_view bytes_;
};

/// A file without a name that holds `bytes`, read from its start; -1: there is none.
int unnamed_file(const std::string& bytes) {
  const int file = ::memfd_create("ptx2spv-pipeline", MFD_CLOEXEC);
  if (file < 0) return -1;
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t count = ::write(file, bytes.data() + at, bytes.size() - at);
    if (count <= 0) {
      ::close(file);
      return -1;
    }
    at += static_cast<std::size_t>(count);
  }
  ::lseek(file, 0, SEEK_SET);
  return file;
}

/// What became of it; empty where the driver made code, or where it could not be tried.
std::string what_went_wrong(const DeviceState& device, const std::string& program,
                            const PipelineTrial& trial, bool& judged) {
  judged = false;
  const int file = unnamed_file(trial.bytes());
  if (file < 0) return {};
  const DeviceIdentity identity = identity_of(device.traits, device.info);
  ProbeProcess process;
  const bool started =
      process.start(program, {"compile", "uuid:" + uuid_text(identity.uuid)}, file);
  ::close(file);
  std::string line;
  if (!started || process.read(line, -1) != ProbeProcess::Got::line ||
      line != fmt::format("{} {}", kProbeProtocol, build_id()))
    return {};
  if (process.read(line, -1) != ProbeProcess::Got::line || line != "compile") return {};
  const bool answered = process.read(line, -1) == ProbeProcess::Got::line;
  const std::string how = process.end();
  if (answered) {
    judged = line == "made" || line == "none";
    return line == "none" ? "makes no code of it" : "";
  }
  judged = how.find("signal 9") == std::string::npos;  // which others send, for want of memory
  return "ends the process over it: one that tried " + how;
}

}  // namespace

VkResult create_pipeline(const VulkanDevice& device, const PipelineSpec& spec,
                         VkShaderModule shader, VkPipelineLayout layout, VkPipelineCache cache,
                         VkPipeline& pipeline) {
  const VkSpecializationMapEntry entries[] = {{abi::size_x, 0, 4},
                                              {abi::size_y, 4, 4},
                                              {abi::size_z, 8, 4},
                                              {abi::dynamic_shared_words, 12, 4}};
  VkSpecializationInfo specialization{4, entries, sizeof spec.constants, spec.constants};
  VkComputePipelineCreateInfo create{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  create.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  create.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  create.stage.module = shader;
  create.stage.pName = spec.entry.c_str();
  create.stage.pSpecializationInfo = &specialization;
  create.layout = layout;
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo warps{
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO};
  warps.requiredSubgroupSize = 32;
  if (spec.warp_subgroups) {
    create.stage.pNext = &warps;
    create.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
  }
  const CompileNote note(spec.entry);
  return device.vk.CreateComputePipelines(device.handle, cache, 1, &create, nullptr, &pipeline);
}

std::string PipelineTrial::bytes() const {
  std::string out;
  put(out, static_cast<std::uint32_t>(spec.entry.size()));
  out += spec.entry;
  for (const std::uint32_t each : spec.constants) put(out, each);
  put(out, spec.warp_subgroups);
  put(out, layout.push_bytes);
  for (const auto& set : layout.sets) {
    put(out, static_cast<std::uint32_t>(set.size()));
    for (const LayoutBinding& each : set) {
      put(out, each.binding);
      put(out, static_cast<std::uint32_t>(each.type));
      put(out, each.count);
    }
  }
  out.append(reinterpret_cast<const char*>(spirv.data()), spirv.size() * 4);
  return out;
}

std::optional<PipelineTrial> PipelineTrial::parse(std::string_view bytes) {
  Words words(bytes);
  PipelineTrial trial;
  trial.spec.entry = words.take(words.word());
  for (std::uint32_t& each : trial.spec.constants) each = words.word();
  trial.spec.warp_subgroups = words.word() != 0;
  trial.layout.push_bytes = words.word();
  for (auto& set : trial.layout.sets)
    for (std::uint32_t left = words.word(); left > 0 && words.good; --left) {
      LayoutBinding each;
      each.binding = words.word();
      each.type = static_cast<VkDescriptorType>(words.word());
      each.count = words.word();
      set.push_back(each);
    }
  while (words.good && !words.at_end()) trial.spirv.push_back(words.word());
  if (!words.good) return std::nullopt;
  return trial;
}

Status try_pipeline(DeviceState& device, const PipelineTrial& trial) {
  const std::string_view probe = option_text(Option::probe);
  if (probe == "off") return {};
  const std::string program = find_probe_program();
  if (program.empty()) return {};
  Digest digest;
  digest.add(build_id());
  digest.add(device.info.name);
  digest.add_number(device.traits.properties.driverVersion);
  digest.add(trial.spec.entry);
  digest.add(
      std::string_view(reinterpret_cast<const char*>(trial.spirv.data()), trial.spirv.size() * 4));
  const std::string key = "c-" + digest.text();
  const auto error = [&](std::string_view what) {
    return make_error(ErrorCode::unsupported,
                      "kernel '{}' is too large for the compiler of {}, which {}", trial.spec.entry,
                      device.info.name, what);
  };
  if (device.disk)
    if (const auto known = device.disk->load(key)) {
      if (known->empty()) return {};
      return error({reinterpret_cast<const char*>(known->data()), known->size()});
    }
  if (probe == "cached") return {};
  bool judged = false;
  const std::string wrong = what_went_wrong(device, program, trial, judged);
  if (judged && device.disk) {
    const auto* first = reinterpret_cast<const std::byte*>(wrong.data());
    device.disk->store(key, {first, first + wrong.size()});
  }
  if (wrong.empty()) return {};
  return error(wrong);
}

CompileNote::CompileNote(const std::string& kernel) {
  static const int registered = std::atexit(tell_what_was_compiled);
  if (registered == 0) t_compiling = kernel.c_str();
}

CompileNote::~CompileNote() { t_compiling = nullptr; }

}  // namespace ptx2spv::runtime
