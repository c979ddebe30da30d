#include "tools/ptx2spv/check.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

#include "tools/common/json.hpp"
#include "tools/ptx2spv/messages.hpp"
#include "tools/ptx2spv/program.hpp"
#include "tools/ptx2spv/spirv.hpp"

namespace ptx2spv::tools {
namespace {

struct KernelReport {
  std::string name, profile;
  bool good = false;
  bool validated = false;
  std::size_t words = 0;
  std::vector<Message> messages;
};

struct FileReport {
  std::string file, io_error;
  std::vector<KernelReport> kernels;
  std::vector<Message> messages;  ///< that belong to no kernel
  bool good = true;
};

struct Totals {
  std::size_t files = 0, good_files = 0, kernels = 0, good_kernels = 0;
  std::size_t unvalidated = 0;  ///< of the good kernels
  std::map<std::string, std::size_t> reasons;
};

bool has_error(const std::vector<Message>& messages) {
  return std::any_of(messages.begin(), messages.end(),
                     [](const Message& message) { return message.severity == Severity::error; });
}

/// Errors of a file that are looked at in one attempt, so that few attempts find what is wrong.
constexpr unsigned kMostErrors = 10'000;
/// A file with more errors than all attempts can take is wrong as a whole.
constexpr int kMostAttempts = 16;

class FileCheck {
 public:
  FileCheck(const Settings& settings, std::string text, const std::vector<PtxModule::Input>& linked,
            FileReport& report)
      : settings_(settings),
        linked_(linked),
        report_(report),
        text_(std::move(text)),
        validator_(text_.size() * settings.profiles.size(), settings.validator_seconds) {}

  void run() {
    definitions_ = find_definitions(text_);
    for (const Definition& definition : definitions_)
      if (definition.kernel) kernels_.insert(definition.name);
    std::string text = text_;
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
      std::vector<Message> messages;
      std::vector<PtxModule::Input> inputs{{text, report_.file}};
      inputs.insert(inputs.end(), linked_.begin(), linked_.end());
      const auto module = PtxModule::parse(inputs, messages, settings_.translate.relax_versions,
                                           settings_.inline_budget, kMostErrors);
      if (module) {
        keep(report_.messages, messages, attempt > 0);
        translate(*module);
        break;
      }
      // What fails is blanked out, so that the other kernels of the file are judged too.
      if (!blame(messages, text)) break;
    }
    for (const KernelReport& kernel : report_.kernels) report_.good &= kernel.good;
    report_.good &= !has_error(report_.messages);
  }

 private:
  // Warnings of a second parse are those of the first.
  static void keep(std::vector<Message>& list, std::vector<Message>& messages, bool errors_only) {
    for (Message& message : messages)
      if (!errors_only || message.severity == Severity::error) list.push_back(std::move(message));
  }

  // The last one that has text in the line, or none. Definitions stand one after the other.
  const Definition* definition_at(std::uint32_t line) const {
    const auto next = std::upper_bound(
        definitions_.begin(), definitions_.end(), line,
        [](std::uint32_t at, const Definition& each) { return at < each.first_line; });
    if (next == definitions_.begin() || next[-1].last_line < line) return nullptr;
    return &next[-1];
  }

  // Gives every error to the definition it stands in and blanks that. False when nothing is left to
  // try.
  bool blame(std::vector<Message>& messages, std::string& text) {
    std::map<const Definition*, std::vector<Message>> by_definition;
    bool outside = false;
    for (Message& message : messages) {
      if (message.severity != Severity::error) continue;
      const Definition* owner =
          message.file == report_.file ? definition_at(message.line) : nullptr;
      outside |= !owner;
      if (owner) {
        by_definition[owner].push_back(std::move(message));
      } else {
        report_.messages.push_back(std::move(message));
      }
    }
    bool progress = false;
    for (auto& [definition, list] : by_definition) {
      if (definition->kernel) {
        for (const std::string& profile : settings_.profiles)
          report_.kernels.push_back({definition->name, profile, false, false, 0, list});
      } else {
        report_.messages.insert(report_.messages.end(), list.begin(), list.end());
      }
      for (std::size_t k = definition->begin; k < definition->end; ++k)
        if (text[k] != '\n') {
          progress = progress || text[k] != ' ';
          text[k] = ' ';
        }
    }
    if (!outside && progress) return true;
    // The module itself is wrong: no kernel of it can be judged.
    std::unordered_set<std::string> known;
    for (const KernelReport& kernel : report_.kernels) known.insert(kernel.name);
    for (const Definition& definition : definitions_) {
      if (!definition.kernel || !known.insert(definition.name).second) continue;
      for (const std::string& profile : settings_.profiles)
        report_.kernels.push_back({definition.name, profile, false, false, 0, {}});
    }
    return false;
  }

  void translate(const PtxModule& module) {
    for (const std::string& profile : settings_.profiles) {
      Settings settings = settings_;
      settings.translate.profile = profile_for(settings_, profile);
      for (const EntryInfo& entry : module.interface().entries) {
        if (!settings_.translate.entry.empty() && settings_.translate.entry != entry.name) continue;
        // What is linked in has kernels of its own.
        if (!linked_.empty() && !kernels_.contains(entry.name)) continue;
        KernelReport& kernel = report_.kernels.emplace_back();
        kernel.name = entry.name;
        kernel.profile = profile;
        TranslateOptions options;
        std::string error;
        if (!options_for(settings, entry, options, error)) {
          Message message;
          message.file = report_.file;
          message.text = error;
          message.rendered = report_.file + ": error: " + error;
          kernel.messages.push_back(std::move(message));
          continue;
        }
        auto result = module.translate_kernel(options, kernel.messages);
        if (!result && options.threads == ThreadModel::direct && !settings_.threads_chosen) {
          // As the runtime does: what cannot run thread by thread may run in regions.
          std::vector<Message> second;
          options.threads = ThreadModel::regions;
          result = module.translate_kernel(options, second);
          if (result) kernel.messages = std::move(second);
        }
        if (!result) continue;
        kernel.words = result->spirv.size();
        const Validity validity = validator_.check(result->spirv);
        kernel.good = validity.wrong.empty();
        kernel.validated = kernel.good && validity.unchecked.empty();
        if (kernel.validated) continue;
        Message message;
        message.file = report_.file;
        message.severity = kernel.good ? Severity::warning : Severity::error;
        message.text = kernel.good ? "kernel '" + entry.name + "': " + validity.unchecked
                                   : "internal error: kernel '" + entry.name +
                                         "' became an invalid module: " + validity.wrong +
                                         "; please report it with this file";
        message.rendered =
            report_.file + (kernel.good ? ": warning: " : ": error: ") + message.text;
        kernel.messages.push_back(std::move(message));
      }
    }
  }

  const Settings& settings_;
  const std::vector<PtxModule::Input>& linked_;
  FileReport& report_;
  std::string text_;
  Validator validator_;
  std::vector<Definition> definitions_;
  std::unordered_set<std::string_view> kernels_;  ///< names of those that are kernels
};

// A message, its line and its caret under the kernel they belong to.
std::string indented(const std::string& text) {
  std::string out = "    ";
  for (std::size_t k = 0; k < text.size(); ++k) {
    out += text[k];
    if (text[k] == '\n' && k + 1 < text.size()) out += "    ";
  }
  if (!text.ends_with('\n')) out += '\n';
  return out;
}

void print_text(const Settings& settings, const FileReport& report) {
  if (!report.io_error.empty()) {
    std::printf("%s: error: %s\n", report.file.c_str(), report.io_error.c_str());
    return;
  }
  if (report.good && settings.quiet) return;
  std::printf("%s: %s\n", report.file.c_str(),
              report.good ? report.kernels.empty() ? "no kernel" : "translated" : "not translated");
  const bool several = settings.profiles.size() > 1;
  const auto list = [&](const std::vector<Message>& messages) {
    for (const Message& message : messages) {
      if (message.severity != Severity::error && settings.quiet) continue;
      std::fputs(indented(message.rendered).c_str(), stdout);
    }
  };
  list(report.messages);
  for (const KernelReport& kernel : report.kernels) {
    if (kernel.good && settings.quiet) continue;
    std::printf("  %s%s%s: %s\n", kernel.name.c_str(), several ? ", " : "",
                several ? kernel.profile.c_str() : "",
                kernel.good               ? "translated"
                : kernel.messages.empty() ? "not translated, the module has errors"
                                          : "not translated");
    list(kernel.messages);
  }
}

std::string messages_json(const std::vector<Message>& messages) {
  std::string out = "[";
  for (const Message& message : messages)
    out += (out.size() > 1 ? ", " : "") + message_json(message);
  return out + "]";
}

std::string report_json(const FileReport& report) {
  std::string out =
      fmt::format("  {{\"file\": {}, \"translated\": {}", json_quote(report.file), report.good);
  if (!report.io_error.empty()) out += ", \"error\": " + json_quote(report.io_error);
  out += ", \"messages\": " + messages_json(report.messages) + ", \"kernels\": [";
  for (std::size_t k = 0; k < report.kernels.size(); ++k) {
    const KernelReport& kernel = report.kernels[k];
    out += fmt::format(
        "{}\n    {{\"name\": {}, \"profile\": {}, \"translated\": {}, \"validated\": {}, "
        "\"words\": {}, \"messages\": {}}}",
        k ? "," : "", json_quote(kernel.name), json_quote(kernel.profile), kernel.good,
        kernel.validated, kernel.words, messages_json(kernel.messages));
  }
  return out + "]}";
}

void count(const FileReport& report, Totals& totals) {
  ++totals.files;
  totals.good_files += report.good;
  const auto reasons = [&](const std::vector<Message>& messages) {
    for (const Message& message : messages)
      if (message.severity == Severity::error) ++totals.reasons[message.text];
  };
  reasons(report.messages);
  for (const KernelReport& kernel : report.kernels) {
    ++totals.kernels;
    totals.good_kernels += kernel.good;
    totals.unvalidated += kernel.good && !kernel.validated;
    reasons(kernel.messages);
  }
}

// A source with those it is linked with: of its own program, and of --link.
FileReport check_source(const Settings& settings, const PtxUnit& unit, const PtxSource& source,
                        const std::vector<PtxSource>& linked) {
  std::vector<PtxModule::Input> others;
  for (const PtxSource& other : unit.sources)
    if (&other != &source) others.push_back({other.text, other.name});
  for (const PtxSource& other : linked) others.push_back({other.text, other.name});
  FileReport report;
  report.file = source.name;
  FileCheck(settings, source.text, others, report).run();
  return report;
}

}  // namespace

int check_files(const Settings& settings, const std::vector<std::string>& files) {
  Totals totals;
  bool unread = false;
  std::vector<PtxSource> linked;
  for (const std::string& name : settings.linked) {
    std::vector<PtxUnit> units;
    if (const int exit = read_or_tell(settings, name, units)) return exit;
    for (PtxUnit& unit : units)
      for (PtxSource& source : unit.sources) linked.push_back(std::move(source));
  }
  if (settings.check_json) std::printf("{\"files\": [");
  const auto tell = [&](const FileReport& report) {
    if (settings.check_json) {
      std::printf("%s%s", totals.files ? ",\n" : "\n", report_json(report).c_str());
    } else {
      print_text(settings, report);
    }
    count(report, totals);
  };
  for (const std::string& file : files) {
    std::vector<PtxUnit> units;
    std::vector<std::string> notes;
    FileReport unread_report;
    int exit = 0;
    const bool read = read_units(settings, file, units, notes, unread_report.io_error, exit);
    for (const std::string& note : notes) print_note(settings, file, note);
    if (!read) {
      unread_report.file = file;
      unread_report.good = false;
      unread |= exit == 2;
      tell(unread_report);
      continue;
    }
    for (const PtxUnit& unit : units)
      for (const PtxSource& source : unit.sources)
        tell(check_source(settings, unit, source, linked));
  }
  const bool all = totals.good_files == totals.files;
  if (settings.check_json) {
    std::printf(
        "],\n \"summary\": {\"files\": %zu, \"files_translated\": %zu, \"kernels\": %zu, "
        "\"kernels_translated\": %zu, \"kernels_not_validated\": %zu, \"errors\": {",
        totals.files, totals.good_files, totals.kernels, totals.good_kernels, totals.unvalidated);
    bool first = true;
    for (const auto& [reason, number] : totals.reasons) {
      std::printf("%s\n  %s: %zu", first ? "" : ",", json_quote(reason).c_str(), number);
      first = false;
    }
    std::printf("}}}\n");
  } else {
    std::printf("check: %zu of %zu files and %zu of %zu kernels translated", totals.good_files,
                totals.files, totals.good_kernels, totals.kernels);
    if (totals.unvalidated)
      std::printf(", %zu of these not checked by SPIRV-Tools' validator", totals.unvalidated);
    std::printf("\n");
  }
  const bool waived = settings.validator_seconds == 0u;
  if (totals.unvalidated && !waived)
    print_warning(settings,
                  fmt::format("{} of {} translated kernels are not checked by SPIRV-Tools' "
                              "validator, for which --validator-seconds gives it more time",
                              totals.unvalidated, totals.good_kernels));
  return unread ? 2 : !all ? 3 : totals.unvalidated && !waived ? 4 : 0;
}

}  // namespace ptx2spv::tools
