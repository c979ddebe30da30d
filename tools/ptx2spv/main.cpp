// ptx2spv: PTX text to SPIR-V and its interface description.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <map>
#include <new>

#include <fmt/format.h>

#include "tools/common/file_uses.hpp"
#include "tools/common/files.hpp"
#include "tools/ptx2spv/check.hpp"
#include "tools/ptx2spv/messages.hpp"
#include "tools/ptx2spv/output.hpp"
#include "tools/ptx2spv/program.hpp"
#include "tools/ptx2spv/settings.hpp"
#include "tools/ptx2spv/spirv.hpp"
#include "tools/ptx2spv/supported.hpp"

namespace ptx2spv::tools {
namespace {

std::string stem_of(const std::string& file) {
  std::string name = file_name_of(file);
  for (const char* ending : {".gz", ".ptx"})
    if (name.size() > std::char_traits<char>::length(ending) && name.ends_with(ending))
      name.resize(name.size() - std::char_traits<char>::length(ending));
  return name;
}

// The slots of one translation hold for all its kernels. Where some need regions and others do not,
// the translator finds out by itself which, and the interface description says it of each.
bool choose_options(const Settings& settings, const PtxModule& module, TranslateOptions& options,
                    std::string& error) {
  const std::string entry = settings.translate.entry;
  options = settings.translate;
  bool first = true;
  for (const EntryInfo& info : module.interface().entries) {
    if (!entry.empty() && info.name != entry) continue;
    TranslateOptions one;
    if (!options_for(settings, info, one, error)) return false;
    const bool mixed = !first && one.threads != options.threads;
    options = std::move(one);
    if (mixed) options.threads = ThreadModel::direct;
    first = false;
  }
  options.entry = entry;
  return true;
}

void print_times(const std::vector<std::pair<std::string, double>>& times) {
  std::map<std::string, double> sums;
  std::vector<std::string> order;
  double total = 0;
  for (const auto& [pass, milliseconds] : times) {
    if (!sums.count(pass)) order.push_back(pass);
    sums[pass] += milliseconds;
    total += milliseconds;
  }
  for (const std::string& pass : order)
    std::fprintf(stderr, "%9.3f ms  %s\n", sums[pass], pass.c_str());
  std::fprintf(stderr, "%9.3f ms  all passes\n", total);
}

std::string output_path(const Settings& settings, const std::string& stem) {
  if (!settings.output.empty()) return settings.output;
  return stem.empty() ? "-" : stem + output_ending(settings.emit);
}

bool writes_module(const Settings& settings) {
  return settings.reflect.empty() || !settings.output.empty() || settings.emit_given;
}

// Whether the outputs are files of their own. Without -o they are named after the `stems`.
bool own_outputs(const Settings& settings, const std::vector<std::string>& files,
                 const std::vector<std::string>& stems) {
  FileUses uses;
  for (const std::string& file : files) uses.read(file, "an input");
  for (const std::string& file : settings.linked) uses.read(file, "an input");
  for (const auto& [file, profile] : settings.read_profiles) uses.read(file, "the profile");
  const auto write = [&](const std::string& path, const std::string& what) {
    const std::string problem = uses.write(path, what);
    if (!problem.empty()) print_error(settings, "", problem);
    return problem.empty();
  };
  for (const std::string& stem : stems)
    if (writes_module(settings) && !write(output_path(settings, stem), "the module's file"))
      return false;
  return settings.reflect.empty() || write(settings.reflect, "the file of --reflect");
}

int write_output(const Settings& settings, const std::string& path, const std::string& bytes,
                 bool binary) {
  if (path == "-" && binary && ::isatty(1)) {
    print_error(
        settings, "",
        "the module is binary and standard output a terminal; -o FILE writes it, -S shows it");
    return kUsage;
  }
  const IoError error = write_text(path, bytes);
  if (error.empty()) return kGood;
  print_error(settings, path == "-" ? "standard output" : path, error);
  return kUsage;
}

// One module out of linked sources. Without -o it is written under `stem`, or where that is empty
// to standard output.
int translate_module(Settings& settings, const std::vector<PtxSource>& sources,
                     const std::string& stem) {
  std::vector<PtxModule::Input> inputs;
  std::size_t size = 0;
  for (const PtxSource& source : sources) {
    inputs.push_back({source.text, source.name});
    size += source.text.size();
  }
  Validator validator(size, settings.validator_seconds);
  std::vector<Message> messages;
  const auto module =
      PtxModule::parse(inputs, messages, settings.translate.relax_versions, settings.inline_budget);
  print_messages(settings, messages);
  if (!module) return kTranslation;

  std::vector<std::pair<std::string, double>> times;
  bool stopped = false;
  if (settings.dump)
    settings.translate.dump = [&](std::string_view pass, std::string_view text) {
      if (!settings.dump_pass.empty() && pass != settings.dump_pass) return;
      stopped = !settings.stop_after.empty();
      std::fprintf(stderr, "; after %.*s\n%.*s\n", int(pass.size()), pass.data(), int(text.size()),
                   text.data());
    };
  if (settings.time_passes)
    settings.translate.timing = [&](std::string_view pass, double milliseconds) {
      times.emplace_back(pass, milliseconds);
    };

  TranslateOptions options;
  std::string error;
  if (!choose_options(settings, *module, options, error)) {
    print_error(settings, inputs[0].file, error);
    return kUsage;
  }
  messages.clear();
  const auto translation = module->translate(options, messages);
  if (stopped)
    std::erase_if(messages, [](const Message& each) {
      return each.text.find("stopped after pass") != std::string::npos;
    });
  print_messages(settings, messages);
  if (settings.time_passes) print_times(times);
  if (!settings.stop_after.empty()) {
    if (stopped) return messages.empty() ? kGood : kTranslation;
    if (translation)
      print_error(settings, inputs[0].file, "pass '" + settings.stop_after + "' does not run");
    return kTranslation;
  }
  if (!translation) return kTranslation;
  // Always: a module that drivers may refuse, or run as they like, is not handed out.
  const Validity validity = validator.check(translation->spirv);
  if (!validity.wrong.empty()) {
    print_error(settings, inputs[0].file,
                "internal error: the module is invalid: " + validity.wrong +
                    "; please report it with this file");
    return kTranslation;
  }
  if (!validity.unchecked.empty()) print_note(settings, inputs[0].file, validity.unchecked);

  int exit = kGood;
  if (writes_module(settings)) {
    const std::string path = output_path(settings, stem);
    const std::string bytes =
        render_output(settings.emit, *translation, stem.empty() ? "module" : stem, error);
    if (!error.empty()) {
      print_error(settings, inputs[0].file, "the module cannot be shown: " + error);
      return kTranslation;
    }
    exit = write_output(settings, path, bytes, settings.emit == Emit::spirv);
  }
  if (exit == kGood && !settings.reflect.empty())
    exit = write_output(settings, settings.reflect, to_json(translation->interface), false);
  return exit;
}

// A unit's newest PTX, or where that does not translate, the next older.
int translate_unit(Settings& settings, const PtxUnit& unit, const std::string& stem) {
  int exit = translate_module(settings, unit.sources, stem);
  for (const PtxSource& source : unit.older) {
    if (exit != kTranslation) break;
    print_note(settings, source.name, "this older PTX is tried instead");
    exit = translate_module(settings, {source}, stem);
  }
  return exit;
}

// The modules of one program, each to a file of its own.
int translate_units(Settings& settings, const std::string& file,
                    const std::vector<PtxUnit>& units) {
  std::string rows;
  for (const PtxUnit& unit : units) rows += fmt::format("{}{}", rows.empty() ? "" : ", ", unit.row);
  if (!settings.output.empty() || !settings.reflect.empty() || file == "-") {
    print_error(
        settings, file,
        fmt::format("it holds {} modules, and there is one output; --image takes one of them: {}",
                    units.size(), rows));
    return kUsage;
  }
  std::vector<std::string> stems;
  for (const PtxUnit& unit : units) stems.push_back(fmt::format("{}.{}", stem_of(file), unit.row));
  if (!own_outputs(settings, {file}, stems)) return kUsage;
  int exit = kGood;
  for (std::size_t k = 0; k < units.size(); ++k)
    exit = std::max(exit, translate_unit(settings, units[k], stems[k]));
  return exit;
}

int translate_files(Settings& settings, std::vector<std::string> files) {
  files.insert(files.end(), settings.linked.begin(), settings.linked.end());
  PtxUnit all;
  for (std::size_t k = 0; k < files.size(); ++k) {
    std::vector<PtxUnit> units;
    if (const int exit = read_or_tell(settings, files[k], units)) return exit;
    if (files.size() == 1 && units.size() > 1) return translate_units(settings, files[0], units);
    if (units.size() > 1) {
      print_error(
          settings, files[k],
          fmt::format(
              "it holds {} modules, which are not linked with other files; translate it alone",
              units.size()));
      return kUsage;
    }
    if (files.size() == 1) all.older = std::move(units[0].older);
    for (PtxSource& source : units[0].sources) all.sources.push_back(std::move(source));
  }
  const std::string stem = files[0] == "-" ? "" : stem_of(files[0]);
  if (!own_outputs(settings, files, {stem})) return kUsage;
  return translate_unit(settings, all, stem);
}

int run_tool(int argc, char** argv) {
  const ParsedCommand command = parse_command(kPtx2spv, argc, argv);
  int exit = kGood;
  if (handle_common(kPtx2spv, command, exit)) return exit;
  Settings settings;
  std::string error = apply_options(command, settings);
  if (error.empty() && command.operands.empty() && !settings.print_supported)
    error = "no file is given";
  int standard_inputs = 0;
  for (const std::string& file : command.operands) standard_inputs += file == "-";
  if (standard_inputs > 1) error = "standard input can be read once";
  if (!error.empty()) {
    usage_error(kPtx2spv, error);
    return kUsage;
  }
  if (settings.list) {
    exit = list_files(settings, command.operands);
  } else if (settings.print_supported) {
    std::fputs(supported_forms().c_str(), stdout);
  } else if (settings.check) {
    exit = check_files(settings, command.operands);
  } else {
    exit = translate_files(settings, command.operands);
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    std::perror("ptx2spv: error: standard output");
    if (exit == kGood) exit = kUsage;
  }
  return exit;
}

}  // namespace
}  // namespace ptx2spv::tools

int main(int argc, char** argv) {
  // A write past the limit of a file's size then fails as any other that fails.
  std::signal(SIGXFSZ, SIG_IGN);
  ptx2spv::tools::occupy_standard_descriptors();
  try {
    return ptx2spv::tools::run_tool(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("ptx2spv: error: out of memory\n", stderr);
    return 2;
  }
}
