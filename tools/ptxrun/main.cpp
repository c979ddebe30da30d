// ptxrun: runs a launch manifest.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <new>

#include "ptx2spv/probe.hpp"
#include "tools/common/names.hpp"
#include "tools/common/options.hpp"
#include "tools/common/profile_file.hpp"
#include "tools/common/sha256.hpp"
#include "tools/ptxrun/backend.hpp"
#include "tools/ptxrun/contents.hpp"
#include "tools/ptxrun/report.hpp"

namespace ptx2spv::tools {
namespace {

enum Id : int {
  opt_device = 1,
  opt_backend,
  opt_compare,
  opt_profile,
  opt_disable,
  opt_fp,
  opt_filter,
  opt_backing,
  opt_threads,
  opt_optimize,
  opt_debug,
  opt_relax,
  opt_no_slots,
  opt_time,
  opt_output,
  opt_list,
  opt_probe,
  opt_answers,
  opt_validate,
  opt_check,
  opt_checksums,
  opt_verbose,
  opt_json,
  opt_color,
};

constexpr Option kOptions[] = {
    {opt_device, 'd', "device", "NAME",
     "the device: gpu, cpu, swiftshader, lavapipe, an index, uuid:... or part of the name; with "
     "--backend cuda an "
     "index or part of the name",
     "gpu,cpu,swiftshader,lavapipe"},
    {opt_backend, 'b', "backend", "NAME",
     "vulkan (the default), or cuda: native, by NVIDIA's driver", "vulkan,cuda"},
    {opt_compare, 0, "compare", "NAME",
     "run on this backend too and compare every output and the times; the only one is cuda",
     "cuda"},
    {opt_profile, 0, "profile", "NAME",
     "translate for no more than this profile has, or that of a file NAME.json",
     "portable,swiftshader,lavapipe,nvidia"},
    {opt_disable, 0, "disable", "CAPABILITY",
     "do without this capability of the device; may be repeated"},
    {opt_fp, 0, "fp", "POLICY",
     "exact (the default): results equal NVIDIA's; fast: the device's own float operations",
     "exact,fast"},
    {opt_filter, 0, "filter", "POLICY",
     "exact (the default): texture reads give NVIDIA's results; device: the device's own samplers "
     "read wherever they can",
     "exact,device"},
    {opt_backing, 0, "backing", "KIND", "hold every surface in linear memory or in an image",
     "linear,image"},
    {opt_threads, 0, "threads", "MODEL",
     "how threads map to invocations; chosen for each launch when not given",
     "direct,flat,regions"},
    {opt_no_slots, 0, "no-slots", "",
     "reach every linear surface by its address, none through a bound buffer"},
    {opt_optimize, 'O', "", "LEVEL",
     "optimisation of the translation: 0 or 1; with --backend cuda of the driver's compiler",
     "0,1"},
    {opt_debug, 'g', "debug", "", "put the PTX source into the module, for debuggers"},
    {opt_relax, 0, "relax", "",
     "take instructions that the module's PTX version or target does not have"},
    {opt_time, 't', "time", "",
     "print the times as JSON: stages, and the medians of each launch's repeats"},
    {opt_output, 'o', "output-folder", "FOLDER", "write outputs there, not beside the manifest",
     "file"},
    {opt_checksums, 0, "checksums", "", "print the SHA-256 of every output"},
    {opt_validate, 0, "validate", "",
     "run under the Vulkan validation layer; its messages are a mismatch"},
    {opt_check, 0, "check", "",
     "only check the manifests, and that the PTX and the contents of buffers and of level 0 of "
     "surfaces can be read"},
    {opt_list, 'l', "list-devices", "",
     "list the Vulkan devices and why each would be passed over"},
    {opt_probe, 0, "probe", "[WHAT]",
     "ask the device what Vulkan does not report, and print the answers (table, the default), or "
     "the "
     "row that makes the device known (known); answer is what the process that asks is called with",
     "table,known,answer"},
    {opt_answers, 0, "answers", "TEXT", "with --probe=answer: what the device has answered before"},
    {opt_json, 0, "json", "", "with --list-devices and --probe: as JSON"},
    {opt_verbose, 'v', "verbose", "",
     "print the device, the times of the stages and every output's result"},
    {opt_color, 0, "color", "WHEN",
     "colour in messages: auto (the default), always or never; NO_COLOR is honoured",
     "auto,always,never"},
};

constexpr ExitCode kExitCodes[] = {
    {0, "all outputs match or were written"},    {1, "an output does not match"},
    {2, "usage, manifest, or input and output"}, {3, "translation failed"},
    {4, "a trap; its record was printed"},       {5, "no usable device"},
};

constexpr Tool kTool = {
    "ptxrun",
    "[OPTION...] MANIFEST...",
    "runs the kernels that launch manifests describe: PTX on any Vulkan device, or natively by "
    "CUDA",
    "A manifest is a JSON file that names a PTX module, surfaces, buffers, launches and outputs. "
    "Each manifest given "
    "runs on its own; the exit code is the first that is not 0. A manifest named - is read from "
    "standard input.",
    kOptions,
    kExitCodes,
    "NO_COLOR turns colour off. PTX2SPV_DEVICE selects a device where --device does not; "
    "PTX2SPV_SWIFTSHADER names SwiftShader's library or its folder."};

struct Settings {
  RunOptions run;
  bool cuda = false, compare = false, time = false, checksums = false, check = false,
       verbose = false, color = false;
  std::string output_folder;
  std::string probe, answers;  ///< what of a device's answers is asked for; empty: nothing
};

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
  std::printf(
      "stages     device and module %.1f ms, uploads %.1f ms, launches %.1f ms, downloads %.1f "
      "ms\n",
      result.setup_ms, result.upload_ms, result.launch_ms, result.download_ms);
  double prepare = 0;
  for (const LaunchTime& time : result.launches) prepare += time.prepare_ms;
  if (prepare > 0) std::printf("of which   translation and pipelines %.1f ms\n", prepare);
}

Exit finish_outputs(const Settings& settings, const Manifest& manifest, const RunResult& result) {
  Exit exit = Exit::good;
  for (std::size_t k = 0; k < manifest.outputs.size(); ++k) {
    const OutputSpec& output = manifest.outputs[k];
    const ArrayDesc* desc =
        output.kind == OutputSpec::Kind::surface ? &manifest.surfaces[output.index].desc : nullptr;
    const OutputResult done = finish_output(output, desc, result.outputs[k]);
    if (!done.error.empty()) {
      print_error(settings, done.error);
      exit = worse(exit, Exit::usage);
    }
    if (done.mismatch) {
      print_error(settings, manifest.file + ": error: " + done.line);
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

// Outputs of both backends side by side: the first difference of each, and the ratio of the times.
Exit compare_results(const Manifest& manifest, const RunResult& vulkan, const RunResult& cuda) {
  Exit exit = Exit::good;
  for (std::size_t k = 0; k < manifest.outputs.size(); ++k) {
    const Bytes &ours = vulkan.outputs[k], &theirs = cuda.outputs[k];
    const std::string name =
        std::string(manifest.outputs[k].kind_name()) + " " + manifest.outputs[k].name;
    std::size_t first = 0;
    while (first < ours.size() && first < theirs.size() && ours[first] == theirs[first]) ++first;
    if (first == ours.size() && first == theirs.size()) {
      std::printf("compare    %s: equal, %zu bytes\n", name.c_str(), ours.size());
      continue;
    }
    exit = Exit::mismatch;
    if (first < ours.size() && first < theirs.size()) {
      std::printf("compare    %s: differs first at byte %zu: 0x%02x, cuda 0x%02x\n", name.c_str(),
                  first, unsigned(ours[first]), unsigned(theirs[first]));
    } else {
      std::printf("compare    %s: %zu bytes, cuda %zu\n", name.c_str(), ours.size(), theirs.size());
    }
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

// Reads what the manifest's files hold, without a device.
Exit check_files(const Settings& settings, const Manifest& manifest) {
  Exit exit = Exit::good;
  const auto report = [&](const std::string& error) {
    if (error.empty()) return;
    print_error(settings, error);
    exit = Exit::usage;
  };
  std::string text;
  for (std::size_t k = 0; k < manifest.modules.size(); ++k) {
    const IoError error = read_text(manifest.modules[k], text);
    if (!error.empty()) report(manifest.module_where[k] + manifest.modules[k] + ": " + error);
  }
  const auto no_handle = [](std::uint32_t) { return std::uint64_t(0); };
  for (const SurfaceSpec& spec : manifest.surfaces) {
    Bytes bytes(spec.bytes);
    report(make_contents(spec.init, &spec.desc, no_handle, bytes));
  }
  for (const BufferSpec& spec : manifest.buffers) {
    Bytes bytes(spec.bytes);
    report(make_contents(spec.init, nullptr, no_handle, bytes));
  }
  return exit;
}

Exit run_manifest(Settings& settings, const std::string& file) {
  std::string text;
  const IoError error = read_text(file, text, 64u << 20);
  if (!error.empty()) {
    print_error(settings, file + ": error: " + error);
    return Exit::usage;
  }
  Manifest manifest;
  std::vector<std::string> errors;
  if (!parse_manifest(file == "-" ? "./<stdin>" : file, text, settings.output_folder, manifest,
                      errors)) {
    for (const std::string& line : errors) print_error(settings, line);
    return Exit::usage;
  }
  if (settings.check) return check_files(settings, manifest);

  const bool progress = ::isatty(2) && !settings.time;
  const double start = now_ms();
  double last = start;
  bool shown = false;
  if (progress)
    settings.run.progress = [&](std::size_t done, std::size_t all) {
      const double now = now_ms();
      if (now - start < 1000 || now - last < 100) return;
      last = now;
      shown = true;
      std::fprintf(stderr, "\r%zu of %zu launches", done, all);
    };
  const auto clear = [&] {
    if (shown) std::fputs("\r\x1b[K", stderr);
    shown = false;
  };
  settings.run.warn = [&](const std::string& message) { print_error(settings, message); };

  const RunResult result =
      settings.cuda ? run_cuda(manifest, settings.run) : run_vulkan(manifest, settings.run);
  clear();
  if (result.exit != Exit::good) {
    print_error(settings, result.error);
    return result.exit;
  }
  const char* backend = settings.cuda ? "cuda" : "vulkan";
  if (settings.verbose) print_stages(backend, result);
  if (settings.time) std::fputs(timing_json(manifest, backend, result).c_str(), stdout);
  Exit exit = finish_outputs(settings, manifest, result);
  if (settings.compare) {
    RunOptions other = settings.run;
    other.device.clear();
    const RunResult reference = run_cuda(manifest, other);
    clear();
    if (reference.exit != Exit::good) {
      print_error(settings, reference.error);
      return worse(exit, reference.exit);
    }
    if (settings.verbose) print_stages("cuda", reference);
    if (settings.time) std::fputs(timing_json(manifest, "cuda", reference).c_str(), stdout);
    exit = worse(exit, compare_results(manifest, result, reference));
  }
  return exit;
}

// Sets `settings` from the command; an error text where a value is none of the known ones.
std::string apply_options(const ParsedCommand& command, Settings& settings, bool& list,
                          bool& json) {
  std::string color = "auto";
  for (const ParsedOption& option : command.options) {
    const std::string& value = option.value;
    const auto unknown = [&](const char* what) {
      return unknown_value(kTool, option.id, what, value);
    };
    switch (option.id) {
      case opt_device: settings.run.device = value; break;
      case opt_backend:
        if (value != "vulkan" && value != "cuda") return unknown("backend");
        settings.cuda = value == "cuda";
        break;
      case opt_compare:
        if (value != "cuda") return unknown("backend to compare with called");
        settings.compare = true;
        break;
      case opt_profile:
        settings.run.profile.emplace();
        if (std::string error = find_or_read_profile(value, *settings.run.profile); !error.empty())
          return value.ends_with(".json") ? error : unknown("profile");
        break;
      case opt_disable: {
        Profile probe;
        if (!set_capability(probe, value, false)) return unknown("capability");
        settings.run.disable.push_back(value);
        break;
      }
      case opt_fp:
        if (value != "exact" && value != "fast") return unknown("policy");
        settings.run.fp = value == "fast" ? FpPolicy::fast : FpPolicy::exact;
        break;
      case opt_filter:
        if (value != "exact" && value != "device") return unknown("filter policy");
        settings.run.filter = value == "device" ? FilterPolicy::device : FilterPolicy::exact;
        break;
      case opt_backing:
        if (value != "linear" && value != "image") return unknown("backing");
        settings.run.backing = value == "image" ? ArrayBacking::image : ArrayBacking::linear;
        break;
      case opt_threads:
        settings.run.threads = find_thread_model(value);
        if (!settings.run.threads) return unknown("thread model");
        break;
      case opt_no_slots: settings.run.bind_slots = false; break;
      case opt_optimize:
        if (value != "0" && value != "1") return unknown("optimisation level");
        settings.run.optimize = value[0] - '0';
        settings.run.jit_level = settings.run.optimize;
        break;
      case opt_debug: settings.run.debug_info = true; break;
      case opt_relax: settings.run.relax = true; break;
      case opt_time: settings.time = settings.run.time = true; break;
      case opt_output: settings.output_folder = value; break;
      case opt_checksums: settings.checksums = true; break;
      case opt_validate: settings.run.validate = true; break;
      case opt_check: settings.check = true; break;
      case opt_list: list = true; break;
      case opt_probe:
        settings.probe = option.has_value ? value : "table";
        if (settings.probe != "table" && settings.probe != "known" && settings.probe != "answer")
          return unknown("form of answers called");
        break;
      case opt_answers: settings.answers = value; break;
      case opt_json: json = true; break;
      case opt_verbose: settings.verbose = true; break;
      case opt_color:
        if (value != "auto" && value != "always" && value != "never") return unknown("choice");
        color = value;
        break;
      default: break;
    }
  }
  settings.color = use_color(2, color);
  if (settings.compare && settings.cuda) return "--compare cuda needs --backend vulkan";
  if (settings.compare) settings.run.time = true;
  return {};
}

int run_tool(int argc, char** argv) {
  const ParsedCommand command = parse_command(kTool, argc, argv);
  int exit_code = 0;
  if (handle_common(kTool, command, exit_code)) return exit_code;
  Settings settings;
  bool list = false, json = false;
  std::string error = apply_options(command, settings, list, json);
  const bool asks = list || !settings.probe.empty();
  if (error.empty() && command.operands.empty() && !asks) error = "no manifest is given";
  if (!error.empty()) {
    usage_error(kTool, error);
    return int(Exit::usage);
  }
  if (settings.probe == "answer")
    return answer_questions({.select = settings.run.device}, settings.answers);
  Exit exit = Exit::good;
  if (!settings.probe.empty()) exit = probe_one_device(settings.run.device, settings.probe, json);
  if (list) exit = list_all_devices(json);
  for (const std::string& file : command.operands) exit = worse(exit, run_manifest(settings, file));
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
  try {
    return ptx2spv::tools::run_tool(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("ptxrun: error: out of memory\n", stderr);
    return 2;
  }
}
