#include "tools/ptx2spv/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "ptx2spv/debug_setting.hpp"
#include "ptx2spv/formats.hpp"

#include "tools/common/files.hpp"
#include "tools/common/names.hpp"
#include "tools/common/profile_file.hpp"
#include "tools/ptx2spv/pages.hpp"

namespace ptx2spv::tools {
namespace {

std::string_view cut(std::string_view& text, char mark) {
  const std::size_t at = text.find(mark);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == text.npos ? text.size() : at + 1);
  return part;
}

// 1024, or 32x32 and 8x8x8
bool parse_block(std::string_view text, TranslateOptions& options) {
  if (text.find('x') == text.npos) return parse_number(text, options.max_block_threads, 1u, 1024u);
  std::uint32_t size[3] = {1, 1, 1}, threads = 1;
  for (unsigned axis = 0; axis < 3 && !text.empty(); ++axis) {
    if (!parse_number(cut(text, 'x'), size[axis], 1u, 1024u)) return false;
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
  if (!parse_number(cut(text, '.'), major, 1u, 999u) || !parse_number(text, minor, 0u, 9u))
    return false;
  capability = major * 10 + minor;
  return true;
}

// u8x4
bool parse_texel(std::string_view text, SlotSpec& spec) {
  const std::string_view format = cut(text, 'x');
  std::uint32_t channels = 0;
  if (!parse_number(text, channels, 1u, 4u) || channels == 3) return false;
  spec.channels = std::uint8_t(channels);
  for (std::size_t k = 0; k < std::size(kFormatNames); ++k) {
    if (format != kFormatNames[k]) continue;
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
  for (std::size_t k = 0; k < kSurfaceGeometries; ++k) {
    if (text != kGeometryNames[k]) continue;
    spec.geometry = std::uint8_t(k + 1);
    return {};
  }
  return "--backing " + whole + ": the geometry is 1d, 2d, 3d, a1d or a2d";
}

std::string take_emit(Settings& settings, const ParsedOption& option) {
  settings.emit_given = true;
  return set_choice<Emit::spirv, &Settings::emit>(&settings, option);
}
std::string take_assembly(Settings& settings, const ParsedOption&) {
  settings.emit_given = true;
  settings.emit = Emit::assembly;
  return {};
}

/// Of an option that may say text or json.
template <auto given, auto json>
std::string set_form(void* settings, const ParsedOption& option) {
  member<given>(settings) = true;
  return option.has_value ? set_choice<false, json>(settings, option) : std::string();
}

std::string take_compute_capability(Settings& settings, const ParsedOption& option) {
  if (parse_capability(option.value, settings.capability)) return {};
  return "--capability " + option.value + ": it is written as 7.5";
}

template <bool enabled>
std::string take_capability(Settings& settings, const ParsedOption& option) {
  if (!find_capability(option.value)) return unknown_capability(option.value);
  settings.capabilities.emplace_back(option.value, enabled);
  return {};
}

std::string take_threads(Settings& settings, const ParsedOption& option) {
  settings.threads_chosen = true;
  return set_choice<ThreadModel::direct, &Settings::translate, &TranslateOptions::threads>(
      &settings, option);
}

std::string take_block(Settings& settings, const ParsedOption& option) {
  if (parse_block(option.value, settings.translate)) return {};
  return "--block takes 1 to 1024 threads, or sizes of so many with x between";
}

std::string take_backing(Settings& settings, const ParsedOption& option) {
  return parse_backing(option.value, settings.backings.emplace_back());
}

/// An error where a pass is named and there is none of that name.
std::string unknown_pass(const std::string& name) {
  const std::vector<std::string_view> names = pass_names();
  if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) return {};
  return fmt::format("there is no pass {}; there are {}", name, fmt::join(names, ", "));
}

std::string take_dump(Settings& settings, const ParsedOption& option) {
  settings.dump = true;
  settings.dump_pass = option.value;
  return unknown_pass(option.value);
}

void add_debug_setting(const std::string& key, const std::string& value) {
  ::setenv("PTX2SPV_DEBUG", debug_settings_and(key + "=" + value).c_str(), 1);
}
std::string take_stop(Settings& settings, const ParsedOption& option) {
  settings.stop_after = option.value;
  add_debug_setting("stop-after", option.value);
  return take_dump(settings, option);
}
std::string take_skip(Settings&, const ParsedOption& option) {
  add_debug_setting("skip", option.value);
  return {};
}

constexpr Option kOptions[] = {
    {set_text<&Settings::output>, 'o', "output", "FILE",
     "write there, - for standard output; without it FILE.spv (.spvasm, .interface.json, .h, .hpp) "
     "in the working folder, or standard output where the input is standard input",
     "file"},
    {set_by<take_emit>, 0, "emit", "KIND",
     "what to write: spirv (the default), asm, json (the interface description), c-header (the "
     "module as an array, a struct for each kernel's parameters, and the description), cpp-header "
     "(a struct of "
     "typed "
     "arguments for each kernel, for the runtime library)",
     "spirv,asm,json,c-header,cpp-header"},
    {set_by<take_assembly>, 'S', "", "", "the same as --emit asm"},
    {set_text<&Settings::reflect>, 0, "reflect", "FILE",
     "write the interface description there as JSON, - for standard output; without -o nothing "
     "else",
     "file"},
    {add_text<&Settings::linked>, 0, "link", "FILE",
     "link this PTX file too, for what the others declare as extern; with --check, to every file "
     "in turn; may be repeated",
     "file"},
    {set_form<&Settings::list, &Settings::list_json>, 0, "list", "[FORMAT]",
     "list what programs, objects, archives and fat binaries hold; FORMAT is text (the default) or "
     "json",
     "text,json"},
    {set_by<take_compute_capability>, 0, "capability", "M.N",
     "of a program, take the newest PTX that is not over this compute capability, 7.5 when not "
     "given"},
    {set_number<1u, 1000000000u, &Settings::image>, 0, "image", "NUMBER",
     "of a program, take this PTX, whatever it is for; --list gives the numbers"},
    {set_text<&Settings::translate, &TranslateOptions::entry>, 'e', "entry", "NAME",
     "translate this kernel only"},
    {set_text<&Settings::profile_list>, 'p', "profile", "NAME",
     "the device to translate for: portable (the default), swiftshader, lavapipe, nvidia, or a "
     "file (NAME.json) that ptxrun --probe --json wrote; --check takes several with commas "
     "between, or "
     "all",
     "portable,swiftshader,lavapipe,nvidia,all"},
    {set_by<take_capability<false>>, 0, "disable", "CAPABILITY",
     "do without this capability (docs/reference/capabilities.md); may be repeated"},
    {set_by<take_capability<true>>, 0, "enable", "CAPABILITY",
     "use this capability, or this workaround, which the profile has not; may be repeated"},
    {set_choice<FpPolicy::exact, &Settings::translate, &TranslateOptions::fp>, 0, "fp", "POLICY",
     "exact (the default): results equal NVIDIA's; fast: the device's own float operations",
     "exact,fast"},
    {set_choice<0, &Settings::translate, &TranslateOptions::optimize>, 'O', "", "LEVEL",
     "optimisation: 0, or 1 (the default)", "0,1"},
    {set_number<0u, 2000000u, &Settings::inline_budget>, 0, "inline-budget", "COUNT",
     "instructions of a kernel up to which every call gets a copy of the function called, 40000 "
     "when not given; beyond, calls share one; 0: always"},
    {set_number<0u, 1000000000u, &Settings::translate, &TranslateOptions::routine_budget>, 0,
     "routine-budget", "COUNT",
     "instructions of long routines of emulated arithmetic that a kernel gets copies of, the "
     "profile's when not given; beyond, those alike share one; 0: always"},
    {set_by<take_threads>, 0, "threads", "MODEL",
     "how threads map to invocations: direct, flat, regions; chosen by what the kernel does when "
     "not given",
     "direct,flat,regions"},
    {set_by<take_block>, 0, "block", "THREADS",
     "regions: threads of the largest block, 1024 when not given; as in 32x32: the size of every "
     "block"},
    {set_number<1u, 1024u, &Settings::translate, &TranslateOptions::workgroup_threads>, 0,
     "workgroup", "INVOCATIONS", "regions: invocations of a workgroup"},
    {set_number<abi::kPushWords, abi::kMostPushWords, &Settings::translate,
                &TranslateOptions::push_words>,
     0, "push", "WORDS",
     "parameters in the push constants that a launch leaves, of so many words that the device has, "
     "28 to 64; the description lists them"},
    {set_flag<&Settings::translate, &TranslateOptions::assume_small_grid>, 0, "small-grid", "",
     "every launch is one dispatch of at most 2^26 threads along each axis"},
    {set_by<take_backing>, 0, "backing", "SLOT=KIND",
     "what a surface is bound to, by the slot's number or name: buffer, buffer:FORMATxCHANNELS, "
     "address, "
     "address:FORMATxCHANNELS, image:FORMATxCHANNELS:GEOMETRY as in 0=image:u8x4:2d; may be "
     "repeated"},
    {set_flag<&Settings::no_slots>, 0, "no-slots", "", "reach every surface by its address"},
    {set_flag<&Settings::translate, &TranslateOptions::debug_info>, 'g', "debug", "",
     "put names, the PTX source and its lines into the module"},
    {set_flag<&Settings::translate, &TranslateOptions::relax_versions>, 0, "relax", "",
     "take instructions that the module's PTX version or target does not have"},
    {set_number<0u, 86400u, &Settings::validator_seconds>, 0, "validator-seconds", "SECONDS",
     "processor time that the validator may take for a file, 0 to 86400; when not given what is "
     "left of 8 seconds for each megabyte of text, 1.6 at least. A module that is not checked in "
     "it is written, and reported. 0: no module is checked"},
    {set_form<&Settings::check, &Settings::check_json>, 0, "check", "[FORMAT]",
     "write no module: report for every file and kernel whether it translates and validates, or "
     "every construct that is "
     "not supported with its line; FORMAT is text (the default) or json",
     "text,json"},
    {set_by<take_dump>, 0, "dump-ir", "[PASS]",
     "print the IR after every pass, or after this one, to standard error"},
    {set_by<take_stop>, 0, "stop-after", "PASS",
     "print the IR after this pass to standard error, and translate no further"},
    {set_by<take_skip>, 0, "skip", "PASS", "leave an optional pass out; several with + between"},
    {set_flag<&Settings::time_passes>, 0, "time-passes", "",
     "print how long each pass took, to standard error"},
    {set_flag<&Settings::print_supported>, 0, "print-supported", "",
     "print every instruction form that is accepted"},
    {set_choice<false, &Settings::json_diagnostics>, 0, "diagnostics", "FORMAT",
     "messages as text (the default), or as json: one object a line", "text,json"},
    {set_word<&Settings::color_choice>, 0, "color", "WHEN",
     "colour in messages: auto (the default), always or never; NO_COLOR is honoured",
     "auto,always,never"},
    {set_flag<&Settings::quiet>, 'q', "quiet", "", "no warnings; with --check only what failed"},
};

constexpr ExitCode kExitCodes[] = {
    {0, "everything was translated"},
    {2, "usage, or input and output"},
    {3, "translation failed; with --check for at least one kernel"},
    {4, "--check: every kernel was translated, and the validator came to no end for at least one"},
};

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

std::string apply_options(const ParsedCommand& command, Settings& settings) {
  if (std::string error = set_options(command, &settings); !error.empty()) return error;
  if (settings.profile_list == "all") {
    for (std::string_view name : profile_names()) settings.profiles.emplace_back(name);
  } else {
    std::string_view rest = settings.profile_list;
    while (!rest.empty()) {
      const std::string name(cut(rest, ','));
      if (name.ends_with(".json")) {
        const std::string error = tools::read_profile(name, settings.read_profiles[name]);
        if (!error.empty()) return error;
      } else if (!find_profile(name)) {
        return unknown_profile(name);
      }
      settings.profiles.push_back(name);
    }
  }
  if (settings.profiles.empty()) return "--profile needs a name";
  if (settings.profiles.size() > 1 && !settings.check)
    return "several profiles at once are for --check";
  settings.translate.profile = profile_for(settings, settings.profiles[0]);
  settings.color = use_color(2, settings.color_choice);
  if (settings.check && settings.check_json && !command.operands.empty()) settings.color = false;
  return {};
}

Profile profile_for(const Settings& settings, const std::string& name) {
  const auto read = settings.read_profiles.find(name);
  Profile profile =
      read != settings.read_profiles.end() ? read->second : find_profile(name).value_or(Profile());
  for (const auto& [capability, value] : settings.capabilities)
    set_capability(profile, capability, value);
  if (settings.no_slots) profile.max_slots = 0;
  return profile;
}

bool options_for(const Settings& settings, const EntryInfo& entry, TranslateOptions& options,
                 std::string& error) {
  options = settings.translate;
  options.entry = entry.name;
  if (!settings.threads_chosen) options.threads = thread_model(entry, ThreadModel::direct);
  for (const auto& [slot, spec] : settings.backings) {
    std::uint32_t index = 0;
    if (!parse_number(slot, index, 0u, 0xffffu)) {
      while (index < entry.slots.size() && entry.slots[index].name != slot) ++index;
    }
    if (index >= entry.slots.size()) {
      error = fmt::format("kernel {} has no surface slot {}; it has {}", entry.name, slot,
                          entry.slots.size());
      for (std::size_t k = 0; k < entry.slots.size(); ++k)
        error += fmt::format("{}{} {}", k ? ", " : ": ", k, entry.slots[k].name);
      return false;
    }
    if (options.slots.size() <= index) options.slots.resize(index + 1);
    options.slots[index] = spec;
  }
  return true;
}

}  // namespace ptx2spv::tools
