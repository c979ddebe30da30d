#include "tools/ptx2spv/settings.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "ptx2spv/debug_setting.hpp"

#include "tools/common/files.hpp"
#include "tools/common/names.hpp"
#include "tools/common/profile_file.hpp"
#include "tools/ptx2spv/pages.hpp"

namespace ptx2spv::tools {
namespace {

enum Id : int {
  opt_output = 1,
  opt_asm,
  opt_debug,
  opt_optimize,
  opt_entry,
  opt_profile,
  opt_disable,
  opt_enable,
  opt_fp,
  opt_threads,
  opt_block,
  opt_workgroup,
  opt_push,
  opt_small_grid,
  opt_backing,
  opt_no_slots,
  opt_reflect,
  opt_emit,
  opt_dump,
  opt_stop,
  opt_skip,
  opt_time,
  opt_check,
  opt_relax,
  opt_supported,
  opt_color,
  opt_diagnostics,
  opt_quiet,
  opt_link,
  opt_inline,
  opt_routines,
  opt_list,
  opt_image,
  opt_capability,
  opt_validator,
};

constexpr Option kOptions[] = {
    {opt_output, 'o', "output", "FILE",
     "write there, - for standard output; without it FILE.spv (.spvasm, .interface.json, .h, .hpp) "
     "in the working folder, or standard output where the input is standard input",
     "file"},
    {opt_emit, 0, "emit", "KIND",
     "what to write: spirv (the default), asm, json (the interface description), c-header (the "
     "module as an array, a struct for each kernel's parameters, and the description), cpp-header "
     "(a struct of "
     "typed "
     "arguments for each kernel, for the runtime library)",
     "spirv,asm,json,c-header,cpp-header"},
    {opt_asm, 'S', "", "", "the same as --emit asm"},
    {opt_reflect, 0, "reflect", "FILE",
     "write the interface description there as JSON, - for standard output; without -o nothing "
     "else",
     "file"},
    {opt_link, 0, "link", "FILE",
     "link this PTX file too, for what the others declare as extern; with --check, to every file "
     "in turn; may be repeated",
     "file"},
    {opt_list, 0, "list", "[FORMAT]",
     "list what programs, objects, archives and fat binaries hold; FORMAT is text (the default) or "
     "json",
     "text,json"},
    {opt_capability, 0, "capability", "M.N",
     "of a program, take the newest PTX that is not over this compute capability, 7.5 when not "
     "given"},
    {opt_image, 0, "image", "NUMBER",
     "of a program, take this PTX, whatever it is for; --list gives the numbers"},
    {opt_entry, 'e', "entry", "NAME", "translate this kernel only"},
    {opt_profile, 'p', "profile", "NAME",
     "the device to translate for: portable (the default), swiftshader, lavapipe, nvidia, or a "
     "file "
     "(NAME.json) that ptxrun --probe --json wrote; --check takes several with commas between, or "
     "all",
     "portable,swiftshader,lavapipe,nvidia,all"},
    {opt_disable, 0, "disable", "CAPABILITY",
     "do without this capability (docs/reference/capabilities.md); may be repeated"},
    {opt_enable, 0, "enable", "CAPABILITY",
     "use this capability, or this workaround, which the profile has not; may be repeated"},
    {opt_fp, 0, "fp", "POLICY",
     "exact (the default): results equal NVIDIA's; fast: the device's own float operations",
     "exact,fast"},
    {opt_optimize, 'O', "", "LEVEL", "optimisation: 0, or 1 (the default)", "0,1"},
    {opt_inline, 0, "inline-budget", "COUNT",
     "instructions of a kernel up to which every call gets a copy of the function called, 40000 "
     "when not given; beyond, calls share one; 0: always"},
    {opt_routines, 0, "routine-budget", "COUNT",
     "instructions of long routines of emulated arithmetic that a kernel gets copies of, the "
     "profile's when not given; beyond, those alike share one; 0: always"},
    {opt_threads, 0, "threads", "MODEL",
     "how threads map to invocations: direct, flat, regions; chosen by what the kernel does when "
     "not given",
     "direct,flat,regions"},
    {opt_block, 0, "block", "THREADS",
     "regions: threads of the largest block, 1024 when not given; as in 32x32: the size of every "
     "block"},
    {opt_workgroup, 0, "workgroup", "INVOCATIONS", "regions: invocations of a workgroup"},
    {opt_push, 0, "push", "WORDS",
     "parameters in the push constants that a launch leaves, of so many words that the device has, "
     "28 to 64; the description lists them"},
    {opt_small_grid, 0, "small-grid", "",
     "every launch is one dispatch of at most 2^26 threads along each axis"},
    {opt_backing, 0, "backing", "SLOT=KIND",
     "what a surface is bound to, by the slot's number or name: buffer, buffer:FORMATxCHANNELS, "
     "address, "
     "address:FORMATxCHANNELS, image:FORMATxCHANNELS:GEOMETRY as in 0=image:u8x4:2d; may be "
     "repeated"},
    {opt_no_slots, 0, "no-slots", "", "reach every surface by its address"},
    {opt_debug, 'g', "debug", "", "put names, the PTX source and its lines into the module"},
    {opt_relax, 0, "relax", "",
     "take instructions that the module's PTX version or target does not have"},
    {opt_validator, 0, "validator-seconds", "SECONDS",
     "processor time that the validator may take for a file, 0 to 86400; when not given what is "
     "left of 8 seconds for each megabyte of text, 1.6 at least. A module that is not checked in "
     "it is written, and reported. 0: no module is checked"},
    {opt_check, 0, "check", "[FORMAT]",
     "write no module: report for every file and kernel whether it translates and validates, or "
     "every construct that is "
     "not supported with its line; FORMAT is text (the default) or json",
     "text,json"},
    {opt_dump, 0, "dump-ir", "[PASS]",
     "print the IR after every pass, or after this one, to standard error"},
    {opt_stop, 0, "stop-after", "PASS",
     "print the IR after this pass to standard error, and translate no further"},
    {opt_skip, 0, "skip", "PASS", "leave an optional pass out; several with + between"},
    {opt_time, 0, "time-passes", "", "print how long each pass took, to standard error"},
    {opt_supported, 0, "print-supported", "", "print every instruction form that is accepted"},
    {opt_diagnostics, 0, "diagnostics", "FORMAT",
     "messages as text (the default), or as json: one object a line", "text,json"},
    {opt_color, 0, "color", "WHEN",
     "colour in messages: auto (the default), always or never; NO_COLOR is honoured",
     "auto,always,never"},
    {opt_quiet, 'q', "quiet", "", "no warnings; with --check only what failed"},
};

constexpr ExitCode kExitCodes[] = {
    {0, "everything was translated"},
    {2, "usage, or input and output"},
    {3, "translation failed; with --check for at least one kernel"},
    {4, "--check: every kernel was translated, and the validator came to no end for at least one"},
};

bool parse_number(std::string_view text, std::uint32_t& value, std::uint32_t low,
                  std::uint32_t high) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= low && value <= high;
}

std::string_view cut(std::string_view& text, char mark) {
  const std::size_t at = text.find(mark);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == text.npos ? text.size() : at + 1);
  return part;
}

// 1024, or 32x32 and 8x8x8
bool parse_block(std::string_view text, TranslateOptions& options) {
  if (text.find('x') == text.npos) return parse_number(text, options.max_block_threads, 1, 1024);
  std::uint32_t size[3] = {1, 1, 1}, threads = 1;
  for (unsigned axis = 0; axis < 3 && !text.empty(); ++axis) {
    if (!parse_number(cut(text, 'x'), size[axis], 1, 1024)) return false;
    threads *= size[axis];
    if (threads > 1024) return false;
  }
  if (!text.empty()) return false;
  std::copy(std::begin(size), std::end(size), options.block);
  options.max_block_threads = threads;
  return true;
}

// 7.5
bool parse_capability(std::string_view text, std::uint32_t& capability) {
  std::uint32_t major = 0, minor = 0;
  if (!parse_number(cut(text, '.'), major, 1, 999) || !parse_number(text, minor, 0, 9))
    return false;
  capability = major * 10 + minor;
  return true;
}

// u8x4
bool parse_texel(std::string_view text, SlotSpec& spec) {
  constexpr std::string_view kFormats[] = {"u8",  "u16", "u32",    "s8",      "s16",    "s32",
                                           "f16", "f32", "unorm8", "unorm16", "snorm8", "snorm16"};
  const std::string_view format = cut(text, 'x');
  std::uint32_t channels = 0;
  if (!parse_number(text, channels, 1, 4) || channels == 3) return false;
  spec.channels = std::uint8_t(channels);
  for (std::size_t k = 0; k < std::size(kFormats); ++k) {
    if (format != kFormats[k]) continue;
    spec.format = abi::SurfaceFormat(k);
    return spec.format_known = true;
  }
  return false;
}

std::string parse_backing(std::string_view text, std::pair<std::string, SlotSpec>& out) {
  const std::string whole(text);
  out.first = cut(text, '=');
  const std::string_view kind = cut(text, ':');
  SlotSpec& spec = out.second;
  spec.backing = kind == "image"     ? Backing::image
                 : kind == "address" ? Backing::address
                                     : Backing::buffer;
  if (out.first.empty() || (kind != "image" && kind != "address" && kind != "buffer"))
    return "--backing " + whole +
           ": it takes SLOT=buffer, SLOT=address or SLOT=image:FORMATxCHANNELS:GEOMETRY";
  const std::string_view texel = cut(text, ':');
  if ((kind == "image" || !texel.empty()) && !parse_texel(texel, spec))
    return "--backing " + whole + ": a texel is written as u8x4: format, x, 1, 2 or 4 channels";
  if (kind != "image")
    return text.empty() ? "" : "--backing " + whole + ": only an image has a geometry";
  constexpr std::string_view kGeometries[] = {"1d", "2d", "3d", "a1d", "a2d"};
  for (std::size_t k = 0; k < std::size(kGeometries); ++k) {
    if (text != kGeometries[k]) continue;
    spec.geometry = std::uint8_t(k + 1);
    return {};
  }
  return "--backing " + whole + ": the geometry is 1d, 2d, 3d, a1d or a2d";
}

}  // namespace

constexpr Tool kPtx2spvRow = {
    "ptx2spv",
    "[OPTION...] FILE...",
    "translates NVIDIA PTX kernels that use surfaces to Vulkan compute SPIR-V",
    "A FILE is PTX text, or a CUDA program, object, archive or fat binary with PTX inside. "
    "Several files are linked into one module; with --check every file stands on its own, but for "
    "what --link adds. A program of several modules gives a file for each. A file named - is "
    "standard input. "
    "Output is written whole or not at all.",
    kOptions,
    kExitCodes,
    "NO_COLOR turns colour off.",
    page};
const Tool kPtx2spv = kPtx2spvRow;

namespace {

/// The options that a translation has of its own.
std::string apply_translation(const ParsedOption& option, Settings& settings) {
  TranslateOptions& translate = settings.translate;
  const std::string& value = option.value;
  const auto unknown = [&](const char* what) {
    return unknown_value(kPtx2spv, option.id, what, value);
  };
  const auto counted = [&](std::uint32_t most) {
    std::uint32_t number = 0;
    return parse_number(value, number, 0, most) ? std::optional(number) : std::nullopt;
  };
  const auto beyond = [&](const char* name, std::uint32_t most) {
    return std::string(name) + " " + value + ": it is a number from 0 to " + std::to_string(most);
  };
  switch (option.id) {
    case opt_entry: translate.entry = value; break;
    case opt_fp:
      if (value != "exact" && value != "fast") return unknown("policy");
      translate.fp = value == "fast" ? FpPolicy::fast : FpPolicy::exact;
      break;
    case opt_optimize:
      if (value != "0" && value != "1") return unknown("optimisation level");
      translate.optimize = value[0] - '0';
      break;
    case opt_threads:
      settings.threads_chosen = true;
      if (const auto model = find_thread_model(value))
        translate.threads = *model;
      else
        return unknown("thread model");
      break;
    case opt_block:
      if (!parse_block(value, translate))
        return "--block takes 1 to 1024 threads, or sizes of so many with x between";
      break;
    case opt_workgroup:
      if (!parse_number(value, translate.workgroup_threads, 1, 1024))
        return "--workgroup takes 1 to 1024";
      break;
    case opt_push:
      if (!parse_number(value, translate.push_words, abi::kPushWords, abi::kMostPushWords))
        return "--push takes 28 to 64";
      break;
    case opt_inline:
      if (const auto budget = counted(2000000))
        settings.inline_budget = *budget;
      else
        return beyond("--inline-budget", 2000000);
      break;
    case opt_routines:
      if (!(translate.routine_budget = counted(1000000000)))
        return beyond("--routine-budget", 1000000000);
      break;
    case opt_validator:
      if (!(settings.validator_seconds = counted(86400)))
        return beyond("--validator-seconds", 86400);
      break;
    case opt_small_grid: translate.assume_small_grid = true; break;
    case opt_debug: translate.debug_info = true; break;
    case opt_relax: translate.relax_versions = true; break;
    default: break;
  }
  return {};
}

/// An error where a pass is named and there is none of that name.
std::string unknown_pass(const std::string& name) {
  const std::vector<std::string_view> names = pass_names();
  if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) return {};
  std::string list;
  for (const std::string_view each : names) list += (list.empty() ? "" : ", ") + std::string(each);
  return "there is no pass " + name + "; there are " + list;
}

void add_debug_setting(const std::string& key, const std::string& value) {
  ::setenv("PTX2SPV_DEBUG", debug_settings_and(key + "=" + value).c_str(), 1);
}

}  // namespace

std::string apply_options(const ParsedCommand& command, Settings& settings) {
  std::string color = "auto", profiles = "portable";
  for (const ParsedOption& option : command.options) {
    const std::string& value = option.value;
    const auto unknown = [&](const char* what) {
      return unknown_value(kPtx2spv, option.id, what, value);
    };
    switch (option.id) {
      case opt_output: settings.output = value; break;
      case opt_asm:
        settings.emit = Emit::assembly;
        settings.emit_given = true;
        break;
      case opt_emit:
        settings.emit_given = true;
        if (value == "spirv") {
          settings.emit = Emit::spirv;
        } else if (value == "asm") {
          settings.emit = Emit::assembly;
        } else if (value == "json") {
          settings.emit = Emit::json;
        } else if (value == "c-header") {
          settings.emit = Emit::c_header;
        } else if (value == "cpp-header") {
          settings.emit = Emit::cpp_header;
        } else {
          return unknown("kind of output");
        }
        break;
      case opt_reflect: settings.reflect = value; break;
      case opt_link: settings.linked.push_back(value); break;
      case opt_profile: profiles = value; break;
      case opt_disable:
      case opt_enable:
        if (!find_capability(value)) return unknown_capability(value);
        settings.capabilities.emplace_back(value, option.id == opt_enable);
        break;
      case opt_backing: {
        const std::string error = parse_backing(value, settings.backings.emplace_back());
        if (!error.empty()) return error;
        break;
      }
      case opt_no_slots: settings.capabilities.emplace_back("bound_buffers", false); break;
      case opt_check:
        settings.check = true;
        if (option.has_value && value != "text" && value != "json")
          return unknown("form of a report called");
        settings.check_json = value == "json";
        break;
      case opt_dump:
        settings.dump = true;
        settings.dump_pass = value;
        if (const std::string error = unknown_pass(value); !error.empty()) return error;
        break;
      case opt_stop:
        settings.dump = true;
        settings.stop_after = settings.dump_pass = value;
        if (const std::string error = unknown_pass(value); !error.empty()) return error;
        add_debug_setting("stop-after", value);
        break;
      case opt_skip: add_debug_setting("skip", value); break;
      case opt_time: settings.time_passes = true; break;
      case opt_list:
        settings.list = true;
        if (option.has_value && value != "text" && value != "json")
          return unknown("form of a list called");
        settings.list_json = value == "json";
        break;
      case opt_capability:
        if (!parse_capability(value, settings.capability))
          return "--capability " + value + ": it is written as 7.5";
        break;
      case opt_image:
        if (!parse_number(value, settings.image, 1, 1000000000))
          return "--image " + value + ": it is a number of --list";
        break;
      case opt_supported: settings.print_supported = true; break;
      case opt_diagnostics:
        if (value != "text" && value != "json") return unknown("form of messages called");
        settings.json_diagnostics = value == "json";
        break;
      case opt_color:
        if (value != "auto" && value != "always" && value != "never") return unknown("choice");
        color = value;
        break;
      case opt_quiet: settings.quiet = true; break;
      default: {
        const std::string error = apply_translation(option, settings);
        if (!error.empty()) return error;
      }
    }
  }
  if (profiles == "all") {
    for (std::string_view name : profile_names()) settings.profiles.emplace_back(name);
  } else {
    std::string_view rest = profiles;
    while (!rest.empty()) {
      const std::string name(cut(rest, ','));
      if (name.ends_with(".json")) {
        const std::string error = tools::read_profile(name, settings.read_profiles[name]);
        if (!error.empty()) return error;
      } else if (!find_profile(name)) {
        return unknown_value(kPtx2spv, opt_profile, "profile", name);
      }
      settings.profiles.push_back(name);
    }
  }
  if (settings.profiles.empty()) return "--profile needs a name";
  if (settings.profiles.size() > 1 && !settings.check)
    return "several profiles at once are for --check";
  settings.translate.profile = profile_for(settings, settings.profiles[0]);
  settings.color = use_color(2, color);
  if (settings.check && settings.check_json && !command.operands.empty()) settings.color = false;
  return {};
}

Profile profile_for(const Settings& settings, const std::string& name) {
  const auto read = settings.read_profiles.find(name);
  Profile profile =
      read != settings.read_profiles.end() ? read->second : find_profile(name).value_or(Profile());
  for (const auto& [capability, value] : settings.capabilities)
    set_capability(profile, capability, value);
  return profile;
}

bool options_for(const Settings& settings, const EntryInfo& entry, TranslateOptions& options,
                 std::string& error) {
  options = settings.translate;
  options.entry = entry.name;
  if (!settings.threads_chosen) options.threads = thread_model(entry, ThreadModel::direct);
  for (const auto& [slot, spec] : settings.backings) {
    std::uint32_t index = 0;
    if (!parse_number(slot, index, 0, 0xffff)) {
      while (index < entry.slots.size() && entry.slots[index].name != slot) ++index;
    }
    if (index >= entry.slots.size()) {
      error = "kernel " + entry.name + " has no surface slot " + slot + "; it has " +
              std::to_string(entry.slots.size());
      for (std::size_t k = 0; k < entry.slots.size(); ++k)
        error += (k ? ", " : ": ") + std::to_string(k) + " " + entry.slots[k].name;
      return false;
    }
    if (options.slots.size() <= index) options.slots.resize(index + 1);
    options.slots[index] = spec;
  }
  return true;
}

}  // namespace ptx2spv::tools
