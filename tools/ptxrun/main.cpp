// ptxrun: runs a launch manifest.
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <new>

#include <fmt/format.h>

#include "ptx2spv/interpreter.hpp"
#include "ptx2spv/probe.hpp"
#include "ptx2spv/sanitize.hpp"
#include "tools/common/elements.hpp"
#include "tools/common/file_uses.hpp"
#include "tools/common/input_kind.hpp"
#include "tools/common/json.hpp"
#include "tools/common/names.hpp"
#include "tools/common/options.hpp"
#include "tools/common/profile_file.hpp"
#include "tools/common/sha256.hpp"
#include "tools/ptxrun/backend.hpp"
#include "tools/ptxrun/batch.hpp"
#include "tools/ptxrun/check.hpp"
#include "tools/ptxrun/comparison.hpp"
#include "tools/ptxrun/contents.hpp"
#include "tools/ptxrun/crash.hpp"
#include "tools/ptxrun/draft.hpp"
#include "tools/ptxrun/html_report.hpp"
#include "tools/ptxrun/known_page.hpp"
#include "tools/ptxrun/outputs.hpp"
#include "tools/ptxrun/progress.hpp"
#include "tools/ptxrun/report.hpp"

namespace ptx2spv::tools {
namespace {

struct Settings {
  RunOptions run;
  bool cuda = false, compare = false, time = false, checksums = false, check = false,
       verbose = false, color = false, quiet = false, json = false, list = false;
  int error_exit = int(Exit::trap);
  std::string output_folder, junit, init, trace, findings, report;
  std::vector<std::string> only;
  unsigned jobs = 1;
  std::string color_choice = "auto";
  std::string probe;  ///< what of a device's answers is asked for; empty: nothing
};

std::string take_profile(Settings& settings, const ParsedOption& option) {
  const std::string error = find_or_read_profile(option.value, settings.run.profile.emplace());
  return error.empty() || option.value.ends_with(".json") ? error : unknown_profile(option.value);
}
std::string take_disabled(Settings& settings, const ParsedOption& option) {
  settings.run.disable.push_back(option.value);
  return find_capability(option.value) ? std::string() : unknown_capability(option.value);
}
std::string take_filter(Settings& settings, const ParsedOption& option) {
  const std::string error =
      set_choice<FilterPolicy::exact, &Settings::run, &RunOptions::filter>(&settings, option);
  if (error.empty()) return {};
  return error + " (who filters textures); --only " + option.value + " chooses manifests by name";
}
std::string take_no_slots(Settings& settings, const ParsedOption&) {
  settings.run.bind_slots = false;
  return {};
}
std::string take_level(Settings& settings, const ParsedOption& option) {
  const std::string error = set_choice<0, &Settings::run, &RunOptions::optimize>(&settings, option);
  settings.run.jit_level = settings.run.optimize;
  return error;
}
std::string take_time(Settings& settings, const ParsedOption&) {
  settings.time = settings.run.time = true;
  return {};
}
std::string take_trace(Settings& settings, const ParsedOption& option) {
  settings.run.trace = true;
  settings.trace = option.value;
  return {};
}
std::string take_probe(Settings& settings, const ParsedOption& option) {
  settings.probe = "table";
  return option.has_value ? set_word<&Settings::probe>(&settings, option) : std::string();
}
std::string take_checks(Settings& settings, const ParsedOption& option) {
  std::string unknown;
  settings.run.checks = parse_checks(option.value, unknown);
  return settings.run.checks ? std::string() : unknown_check(unknown);
}
std::string take_suppressions(Settings& settings, const ParsedOption& option) {
  std::string& text = settings.run.suppressions.emplace();
  if (const IoError failed = read_text(option.value, text); !failed.empty())
    return option.value + ": " + failed;
  return suppressions_problem(text, option.value);
}

constexpr Option kOptions[] = {
    {set_text<&Settings::run, &RunOptions::device>, 'd', "device", "NAME",
     "the device: gpu, cpu, swiftshader, lavapipe, an index, uuid:... or part of the name; with "
     "--backend cuda an "
     "index or part of the name",
     "gpu,cpu,swiftshader,lavapipe"},
    {set_choice<false, &Settings::cuda>, 'b', "backend", "NAME",
     "vulkan (the default), or cuda: native, by NVIDIA's driver", "vulkan,cuda"},
    {set_choice<true, &Settings::compare>, 0, "compare", "NAME",
     "run on this backend too and compare every output and the times; the only one is cuda",
     "cuda"},
    {set_by<take_profile>, 0, "profile", "NAME",
     "translate for no more than this profile has, or that of a file NAME.json",
     "portable,swiftshader,lavapipe,nvidia"},
    {set_by<take_disabled>, 0, "disable", "CAPABILITY",
     "do without this capability of the device; may be repeated"},
    {set_choice<FpPolicy::exact, &Settings::run, &RunOptions::fp>, 0, "fp", "POLICY",
     "exact (the default): results equal NVIDIA's; fast: the device's own float operations",
     "exact,fast"},
    {set_by<take_filter>, 0, "filter", "POLICY",
     "exact (the default): texture reads give NVIDIA's results; device: the device's own samplers "
     "read wherever they can",
     "exact,device"},
    {set_choice<ArrayBacking::linear, &Settings::run, &RunOptions::backing>, 0, "backing", "KIND",
     "hold every surface in linear memory or in an image", "linear,image"},
    {set_choice<ThreadModel::direct, &Settings::run, &RunOptions::threads>, 0, "threads", "MODEL",
     "how threads map to invocations; chosen for each launch when not given",
     "direct,flat,regions"},
    {set_by<take_no_slots>, 0, "no-slots", "",
     "reach every linear surface by its address, none through a bound buffer"},
    {set_by<take_level>, 'O', "", "LEVEL",
     "optimisation of the translation: 0 or 1; with --backend cuda of the driver's compiler",
     "0,1"},
    {set_flag<&Settings::run, &RunOptions::debug_info>, 'g', "debug", "",
     "put the PTX source into the module, for debuggers"},
    {set_flag<&Settings::run, &RunOptions::relax>, 0, "relax", "",
     "take instructions that the module's PTX version or target does not have"},
    {set_by<take_time>, 't', "time", "",
     "print the times as JSON: stages, and the medians of each launch's repeats"},
    {set_by<take_trace>, 0, "trace", "FILE",
     "write what the run spent its time on (translation, pipelines, copies, launches) as a trace "
     "for chrome://tracing or Perfetto",
     "file"},
    {set_text<&Settings::report>, 0, "report", "FILE",
     "write the run as one HTML page: verdict, pictures, differences, times, traps", "file"},
    {set_text<&Settings::output_folder>, 'o', "output-folder", "FOLDER",
     "write outputs there, not beside the manifest; it is made if need be", "file"},
    {set_number<1u, 1024u, &Settings::jobs>, 'j', "jobs", "COUNT",
     "how many manifests run at a time, each in a process of its own; 1 when not given"},
    {add_text<&Settings::only>, 0, "only", "PATTERN",
     "of the manifests given, run those whose name or path fits the shell pattern; may be "
     "repeated"},
    {set_text<&Settings::junit>, 0, "junit", "FILE", "write the manifests' verdicts as JUnit's XML",
     "file"},
    {set_text<&Settings::init>, 0, "init", "FILE",
     "write a manifest for this PTX to fill in: NAME.json for NAME.ptx, in the working folder or "
     "--output-folder; a file that is there already stays",
     "file"},
    {set_flag<&Settings::checksums>, 0, "checksums", "", "print the SHA-256 of every output"},
    {set_number<std::uint64_t{0}, std::uint64_t{1} << 32, &Settings::run, &RunOptions::malloc_heap>,
     0, "malloc-heap", "BYTES",
     "what malloc in kernels gives out of: 8 MiB when not given, at most 4 GiB"},
    {set_flag<&Settings::run, &RunOptions::validate>, 0, "validate", "",
     "run under the Vulkan validation layer; its messages are a mismatch"},
    {set_flag<&Settings::check>, 0, "check", "",
     "only check the manifests: that the PTX parses and has the kernels, that their parameters "
     "take the arguments, and that contents and expected files can be read"},
    {set_flag<&Settings::list>, 'l', "list-devices", "",
     "list the Vulkan devices and why each would be passed over"},
    {set_by<take_probe>, 0, "probe", "[WHAT]",
     "ask the device what Vulkan does not report, and print the answers (table, the default), or "
     "the row that makes the device known (known)",
     "table,known"},
    {set_by<take_checks>, 0, "sanitize", "CHECKS",
     "check kernels while they run: memory (accesses out of bounds, misaligned ones, freed "
     "memory), init (reads of what nobody wrote), race (memory that two threads access at once), "
     "sync (threads that wait in vain), clamp (surface accesses out of range that do not trap), "
     "width (surface accesses of more or fewer bytes than a texel has), or all, which is every "
     "check but clamp and width",
     "all,memory,init,race,sync,clamp,width"},
    {set_number<0, 255, &Settings::error_exit>, 0, "error-exitcode", "CODE",
     "the exit code where --sanitize found something; 4 when not given"},
    {set_by<take_suppressions>, 0, "suppressions", "FILE", kSuppressionsHelp, "file"},
    {set_number<0.0, 1e6, &Settings::run, &RunOptions::timeout>, 0, "timeout", "SECONDS",
     "a launch that takes longer ends the run with an error"},
    {set_choice<ExecutorPolicy::automatic, &Settings::run, &RunOptions::executor>, 0, "executor",
     "WHO", kExecutorHelp, "auto,device,host"},
    {set_text<&Settings::findings>, 0, "findings", "FILE",
     "write what --sanitize found to this file, as JSON", "file"},
    {set_flag<&Settings::json>, 0, "json", "",
     "the manifests' verdicts as JSON, and so --list-devices and --probe"},
    {set_flag<&Settings::quiet>, 'q', "quiet", "", "print only what failed"},
    {set_flag<&Settings::verbose>, 'v', "verbose", "",
     "print the device, the times of the stages and every output's result"},
    {set_word<&Settings::color_choice>, 0, "color", "WHEN",
     "colour in messages: auto (the default), always or never; NO_COLOR is honoured",
     "auto,always,never"},
};

constexpr ExitCode kExitCodes[] = {
    {0, "all outputs match or were written"},
    {1, "an output does not match"},
    {2, "usage, manifest, or input and output"},
    {3, "translation failed"},
    {4, "a trap or a finding of the sanitizer, which was printed"},
    {5, "no usable device, or it was lost"},
    {6, "the device lacks memory, sizes or features that the manifest needs"},
    {7, "a launch took longer than --timeout"},
    {139,
     "a signal ended the process (128 and its number): the driver crashed, as CPU drivers do "
     "when a kernel accesses memory that is not there"},
};

constexpr Tool kTool = {
    "ptxrun",
    "[OPTION...] MANIFEST...",
    "runs the kernels that launch manifests describe: PTX on any Vulkan device, or natively by "
    "CUDA",
    "A manifest is a JSON file that names a PTX module, surfaces, buffers, launches and outputs. "
    "Of several manifests each runs in a process of its own and gets a verdict; the exit code is "
    "the first that is not 0. A manifest named - is read from standard input.",
    kOptions,
    kExitCodes,
    "NO_COLOR turns colour off. PTX2SPV_DEVICE selects a device where --device does not; "
    "PTX2SPV_SWIFTSHADER names SwiftShader's library or its folder.",
    known_devices_page};

void print_error(const Settings& settings, const std::string& text) {
  std::string line = text;
  if (!line.empty() && line.back() != '\n') line += '\n';
  if (settings.color) {
    const std::size_t at = line.find("error:");
    if (at != line.npos)
      line = line.substr(0, at) + "\x1b[1;31merror:\x1b[0m" + line.substr(at + 6);
  }
  std::fputs(line.c_str(), stderr);
}

Exit worse(Exit first, Exit second) { return first == Exit::good ? second : first; }

void print_stages(const char* backend, const RunResult& result) {
  std::printf("%-10s %s\n", backend, result.device.c_str());
  if (result.on_cpu)
    if (const std::string missing = InterpretedKernel::no_compiler(); !missing.empty())
      std::printf("host       interprets kernels: %s\n", missing.c_str());
  std::printf(
      "stages     device and module %.1f ms, uploads %.1f ms, launches %.1f ms, downloads %.1f "
      "ms\n",
      result.setup_ms, result.upload_ms, result.launch_ms, result.download_ms);
  double prepare = 0;
  for (const LaunchTime& time : result.launches) prepare += time.prepare_ms;
  if (prepare > 0) std::printf("of which   translation and pipelines %.1f ms\n", prepare);
}

Exit finish_outputs(const Settings& settings, const Manifest& manifest, const RunResult& result,
                    ReportedRun& reported) {
  Exit exit = Exit::good;
  for (std::size_t k = 0; k < manifest.outputs.size(); ++k) {
    const OutputSpec& output = manifest.outputs[k];
    const ArrayDesc* desc =
        output.kind == OutputSpec::Kind::surface ? &manifest.surfaces[output.index].desc : nullptr;
    OutputResult done = finish_output(output, desc, result.outputs[k]);
    if (!settings.report.empty()) {
      ReportedOutput& each = reported.outputs.emplace_back();
      each = {done.line, done.mismatch, {}, std::move(done.difference)};
      // What cannot be a picture is told by its line alone.
      if (desc &&
          !make_picture(*desc, output.level, result.outputs[k], output.range, each.picture).empty())
        each.picture.clear();
    }
    if (!done.error.empty()) {
      print_error(settings, done.error);
      reported.problems.push_back(done.error);
      exit = worse(exit, Exit::usage);
    }
    if (done.mismatch) {
      print_error(settings, output.where + done.line);
      exit = worse(exit, Exit::mismatch);
    } else if (settings.verbose) {
      std::printf("output     %s\n", done.line.c_str());
    }
    if (settings.checksums)
      std::printf("%s  %s %s\n", sha256_hex(result.outputs[k]).c_str(), output.kind_name(),
                  output.name.c_str());
  }
  return exit;
}

// Outputs of both backends side by side: what differs, and the ratio of the times.
Exit compare_results(const Manifest& manifest, const RunResult& vulkan, const RunResult& cuda) {
  Exit exit = Exit::good;
  for (std::size_t k = 0; k < manifest.outputs.size(); ++k) {
    const OutputSpec& output = manifest.outputs[k];
    const Bytes &ours = vulkan.outputs[k], &theirs = cuda.outputs[k];
    std::string text = fmt::format("equal, {} bytes", ours.size());
    if (ours.size() != theirs.size()) {
      exit = Exit::mismatch;
      text = fmt::format("{} bytes, cuda {}", ours.size(), theirs.size());
    } else if (ours != theirs) {
      const bool whole = ours.size() % element_type(output.dtype).bytes == 0;
      const ElementShape shape =
          output.kind == OutputSpec::Kind::surface
              ? texel_shape(manifest.surfaces[output.index].desc, output.level)
              : row_shape(whole ? output.dtype : "u8", ours.size());
      const Comparison compared = compare_elements(shape, ours, theirs, output.tolerance);
      const bool near_enough = compared.different <= output.max_different;
      if (!near_enough) exit = Exit::mismatch;
      text = near_enough ? "within the tolerance" : compared.text + " of cuda";
    }
    std::printf("compare    %s %s: %s\n", output.kind_name(), output.name.c_str(), text.c_str());
  }
  for (std::size_t k = 0; k < manifest.launches.size(); ++k) {
    const double ours = median(vulkan.launches[k].device_ms),
                 theirs = median(cuda.launches[k].device_ms);
    if (ours < 0 || theirs <= 0) continue;
    std::printf("compare    %s: %.4f ms, cuda %.4f ms, ratio %.3f\n",
                manifest.launches[k].kernel.c_str(), ours, theirs, ours / theirs);
  }
  return exit;
}

/// What would be overwritten that the run reads, or written twice. An option of such a file is
/// taken back, since reports are written however the run ends.
std::vector<std::string> overwritten_files(Settings& settings, const std::string& file,
                                           const Manifest& manifest) {
  FileUses uses;
  uses.read(file, "the manifest");
  for (const FileUse& each : manifest.files)
    if (!each.written) uses.read(each.path, "the file of " + each.place);
  std::vector<std::string> errors;
  constexpr std::size_t kMost = 50;
  for (const FileUse& each : manifest.files) {
    if (!each.written || errors.size() == kMost) continue;
    const std::string problem = uses.write(each.path, "the file of " + each.place);
    if (!problem.empty()) errors.push_back(shortened(each.where + problem));
  }
  const std::pair<const char*, std::string*> options[] = {{"--trace", &settings.trace},
                                                          {"--report", &settings.report},
                                                          {"--findings", &settings.findings}};
  for (const auto& [option, path] : options) {
    const std::string problem = uses.write(*path, std::string("the file of ") + option);
    if (problem.empty()) continue;
    errors.push_back(shortened(file + ": error: " + option + ": " + problem));
    path->clear();
  }
  return errors;
}

/// What is wrong with the manifest; empty where it was read.
std::vector<std::string> read_manifest(Settings& settings, const std::string& file,
                                       Manifest& manifest) {
  std::string text;
  IoError error = read_text(file, text, 64u << 20);
  if (error.empty()) error = other_kind(text, Wanted::manifest);
  std::vector<std::string> errors;
  if (error.empty())
    (void)parse_manifest(file == "-" ? "./<stdin>" : file, text, settings.output_folder, manifest,
                         errors);
  else
    errors.push_back(file + ": error: " + error);
  for (std::string& each : overwritten_files(settings, file, manifest))
    errors.push_back(std::move(each));
  return errors;
}

Exit write_file(const Settings& settings, const std::string& path, const std::string& text) {
  const IoError error = write_text(path, text);
  if (error.empty()) return Exit::good;
  print_error(settings, path + ": error: " + error);
  return Exit::usage;
}

/// Says what the sanitizer found; the findings themselves were printed when they were made.
Exit finish_sanitizer(const Settings& settings, const RunResult& result, ReportedRun& reported) {
  const SanitizerReport& report = result.sanitized;
  for (const Finding& finding : report.findings) reported.problems.push_back(finding.to_string());
  if (!settings.findings.empty())
    if (const IoError error = write_text(settings.findings, report.to_json()); !error.empty()) {
      print_error(settings, settings.findings + ": error: " + error);
      return Exit::usage;
    }
  if (report.suppressed && !settings.quiet)
    std::fprintf(stderr, "ptxrun: findings of the sanitizer that were suppressed: %llu\n",
                 static_cast<unsigned long long>(report.suppressed));
  if (report.findings.empty()) return Exit::good;
  std::fprintf(stderr, "ptxrun: the sanitizer found %zu faulty %s%s\n", report.findings.size(),
               report.findings.size() == 1 ? "place" : "places",
               report.places_left_out ? ", and more than it keeps" : "");
  return Exit(settings.error_exit);
}

/// Runs what was read and tells how it went, as far as it went.
Exit run_and_tell(Settings& settings, const Manifest& manifest, RunResult& result,
                  ReportedRun& reported) {
  const auto run = [&](bool cuda, const RunOptions& options) {
    Progress progress(::isatty(2) && !settings.time && !settings.quiet, manifest.launches.size());
    RunOptions shown = options;
    shown.progress = [&](std::size_t done) { progress.finished(done); };
    shown.finding = [&](std::string_view found) {
      progress.clear();
      print_error(settings, std::string(found));
    };
    shown.warn = [&](const std::string& message) {
      progress.clear();
      if (!settings.quiet) print_error(settings, message);
    };
    return cuda ? run_cuda(manifest, shown) : run_vulkan(manifest, shown);
  };
  result = run(settings.cuda, settings.run);
  const Exit sanitized = finish_sanitizer(settings, result, reported);
  if (result.exit != Exit::good) {
    print_error(settings, result.error);
    if (result.exit == Exit::no_device || result.exit == Exit::too_small)
      std::fputs(limits_in_force(), stderr);
    reported.problems.push_back(result.error);
    return worse(result.exit, sanitized);
  }
  const char* backend = settings.cuda ? "cuda" : "vulkan";
  if (settings.verbose) print_stages(backend, result);
  if (settings.time) std::fputs(timing_json(manifest, backend, result).c_str(), stdout);
  Exit exit = worse(sanitized, finish_outputs(settings, manifest, result, reported));
  if (settings.compare) {
    RunOptions other = settings.run;
    other.device.clear();
    const RunResult reference = run(true, other);
    if (reference.exit != Exit::good) {
      print_error(settings, reference.error);
      reported.problems.push_back(reference.error);
      return worse(exit, reference.exit);
    }
    if (settings.verbose) print_stages("cuda", reference);
    if (settings.time) std::fputs(timing_json(manifest, "cuda", reference).c_str(), stdout);
    exit = worse(exit, compare_results(manifest, result, reference));
  }
  return exit;
}

/// The report and the trace are written however the run ends: CI keeps no older ones then.
Exit run_manifest(Settings& settings, const std::string& file) {
  Manifest manifest;
  RunResult result;
  ReportedRun reported;
  reported.problems = read_manifest(settings, file, manifest);
  if (reported.problems.empty() && settings.check)
    reported.problems = check_manifest(manifest, settings.run.relax);
  Exit exit = reported.problems.empty() ? Exit::good : Exit::usage;
  for (const std::string& error : reported.problems) print_error(settings, error);
  if (settings.check) return exit;
  if (manifest.file.empty()) manifest.file = file;
  if (exit == Exit::good) exit = run_and_tell(settings, manifest, result, reported);
  reported.exit = exit;
  if (!settings.trace.empty())
    exit = worse(exit, write_file(settings, settings.trace, trace_json(result.spans)));
  if (!settings.report.empty())
    exit =
        worse(exit, write_file(settings, settings.report, html_report(manifest, result, reported)));
  return exit;
}

/// The file that describes manifests to editors, where an installation or a build has it.
std::string schema_path() {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return {};
  const auto path = self.parent_path().parent_path() / "share/ptx2spv/manifest.schema.json";
  return std::filesystem::exists(path, failed) ? path.string() : std::string();
}

// Writes a manifest to fill in.
Exit draft(const Settings& settings) {
  const std::string& file = settings.init;
  std::string text;
  IoError error = read_text(file, text);
  if (error.empty()) error = other_kind(text, Wanted::ptx);
  if (!error.empty()) {
    print_error(settings, file + ": error: " + error);
    return Exit::usage;
  }
  std::vector<Message> messages;
  const auto module = PtxModule::parse({{text, file}}, messages, settings.run.relax);
  const auto translation = module ? module->translate({}, messages) : std::nullopt;
  if (!translation) {
    for (const Message& message : messages) print_error(settings, message.rendered);
    return Exit::translation;
  }
  const std::filesystem::path folder =
      settings.output_folder.empty() ? "." : settings.output_folder;
  std::filesystem::path name = std::filesystem::path(file).filename();
  if (name.extension() == ".gz") name = name.stem();
  const std::string path = path_from(folder.string(), name.replace_extension(".json").string());
  std::error_code ignored;
  const std::string module_path =
      std::filesystem::proximate(std::filesystem::absolute(file), folder, ignored).string();
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0) {
    print_error(settings, path + ": error: is there already");
    return Exit::usage;
  }
  error = write_text(path, draft_manifest(translation->interface, module_path, schema_path()));
  if (!error.empty()) {
    print_error(settings, path + ": error: " + error);
    return Exit::usage;
  }
  if (!settings.quiet) std::printf("wrote %s\n", path.c_str());
  return Exit::good;
}

// Sets `settings` from the command; an error text where a value will not do.
std::string apply_options(const ParsedCommand& command, Settings& settings) {
  if (std::string error = set_options(command, &settings); !error.empty()) return error;
  settings.color = use_color(2, settings.color_choice);
  if (!settings.findings.empty() && command.operands.size() > 1)
    return "--findings takes those of one manifest";
  if (settings.compare && settings.cuda) return "--compare cuda needs --backend vulkan";
  if (settings.compare) settings.run.time = true;
  return {};
}

// The manifests that --only leaves.
std::vector<std::string> chosen(const Settings& settings, const std::vector<std::string>& files) {
  std::vector<std::string> out;
  for (const std::string& file : files)
    if (settings.only.empty() ||
        std::any_of(settings.only.begin(), settings.only.end(), [&](const std::string& pattern) {
          return ::fnmatch(pattern.c_str(), file.c_str(), 0) == 0 ||
                 ::fnmatch(pattern.c_str(), file_name_of(file).c_str(), 0) == 0;
        }))
      out.push_back(file);
  return out;
}

// Several manifests, or one whose verdict is wanted as JSON or XML.
Exit run_batch(Settings& settings, const std::vector<std::string>& files) {
  const auto tell = [&](const ManifestRun& run) {
    if (settings.json || (settings.quiet && run.passed())) return;
    std::fputs(run.err.c_str(), stderr);
    std::fputs(run.out.c_str(), stdout);
    std::printf("%s %s (%.2f s)%s\n", run.passed() ? "passed" : "FAILED", run.file.c_str(),
                run.seconds, run.exit > 128 ? (": " + run.reason()).c_str() : "");
    std::fflush(stdout);
  };
  const std::vector<ManifestRun> runs = run_each(
      files, settings.jobs,
      [&](const std::string& file) { return int(run_manifest(settings, file)); }, tell);
  if (settings.json) {
    std::fputs(batch_json(runs).c_str(), stdout);
  } else if (!settings.quiet) {
    std::printf("%s\n", summary_line(runs).c_str());
  }
  Exit exit = Exit::good;
  for (const ManifestRun& run : runs) exit = worse(exit, Exit(run.exit));
  if (settings.junit.empty()) return exit;
  const IoError error = write_text(settings.junit, batch_junit(runs));
  if (error.empty()) return exit;
  print_error(settings, settings.junit + ": error: " + error);
  return worse(exit, Exit::usage);
}

// What is wrong with the command as a whole.
std::string usage_problem(const Settings& settings, const std::vector<std::string>& operands,
                          const std::vector<std::string>& files) {
  const bool asks = settings.list || !settings.probe.empty() || !settings.init.empty();
  if (operands.empty() && !asks) return "no manifest is given";
  if (!operands.empty() && files.empty()) return "no manifest fits --only";
  const bool shows = !settings.trace.empty() || !settings.report.empty();
  if (files.size() > 1 && shows) return "--trace and --report take one manifest";
  if (settings.check && shows) return "--check runs nothing that --trace or --report could show";
  if (std::count(files.begin(), files.end(), "-") > 1) return "standard input can be read once";
  FileUses uses;
  for (const std::string& file : files) uses.read(file, "a manifest");
  if (const std::string problem = uses.write(settings.junit, ""); !problem.empty())
    return "--junit: " + problem;
  return {};
}

int run_tool(int argc, char** argv) {
  const ParsedCommand command = parse_command(kTool, argc, argv);
  int exit_code = 0;
  if (handle_common(kTool, command, exit_code)) return exit_code;
  Settings settings;
  std::string error = apply_options(command, settings);
  const std::vector<std::string> files = chosen(settings, command.operands);
  if (error.empty()) error = usage_problem(settings, command.operands, files);
  if (!error.empty()) {
    usage_error(kTool, error);
    return int(Exit::usage);
  }
  if (!settings.output_folder.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(settings.output_folder, failed);
    if (failed) {
      print_error(settings, settings.output_folder + ": error: " + failed.message());
      return int(Exit::usage);
    }
  }
  Exit exit = Exit::good;
  // Manifests first: their processes are forks of this one, which has loaded no driver yet.
  if (files.size() > 1 || (!files.empty() && (settings.json || !settings.junit.empty()))) {
    exit = run_batch(settings, files);
  } else if (!files.empty()) {
    exit = run_manifest(settings, files[0]);
  }
  if (!settings.init.empty()) exit = worse(exit, draft(settings));
  if (!settings.probe.empty())
    exit = worse(exit, probe_one_device(settings.run.device, settings.probe, settings.json));
  if (settings.list) exit = worse(exit, list_all_devices(settings.json));
  if (std::fflush(stdout) != 0) {
    std::perror("ptxrun: error: standard output");
    exit = worse(exit, Exit::usage);
  }
  return int(exit);
}

}  // namespace
}  // namespace ptx2spv::tools

int main(int argc, char** argv) {
  // A write past the limit of a file's size then fails as any other that fails.
  std::signal(SIGXFSZ, SIG_IGN);
  ptx2spv::tools::occupy_standard_descriptors();
  ptx2spv::tools::report_limits_in_crashes();
  try {
    return ptx2spv::tools::run_tool(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("ptxrun: error: out of memory\n", stderr);
    return 2;
  }
}
