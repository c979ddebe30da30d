#include "tools/ptxrun/check.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tools/common/entry_name.hpp"
#include "tools/common/input_kind.hpp"
#include "tools/common/npy.hpp"
#include "tools/ptxrun/contents.hpp"

namespace ptx2spv::tools {
namespace {

/// u32 of ".u32" and of ".param .u32"; empty where the parameter has no plain type.
std::string_view plain_type(std::string_view type) {
  const std::size_t dot = type.rfind('.');
  return dot == type.npos ? type : type.substr(dot + 1);
}

const char* kind_name(ArgSpec::Kind kind) {
  switch (kind) {
    case ArgSpec::Kind::surface: return "surface";
    case ArgSpec::Kind::texture: return "texture";
    case ArgSpec::Kind::sampler: return "sampler";
    case ArgSpec::Kind::buffer: return "buffer";
    case ArgSpec::Kind::bytes: break;
  }
  return "number";
}

/// What is wrong with an argument for this parameter; empty where nothing is.
std::string argument_problem(const ArgSpec& arg, const ParamInfo& param) {
  const std::string_view wanted = plain_type(param.type);
  if (arg.kind != ArgSpec::Kind::bytes) {
    if (param.kind != ParamKind::scalar && param.kind != ParamKind::bytes) return {};
    if (param.bytes == 8 && wanted[0] != 'f') return {};
    return fmt::format("a {} is passed as 8 bytes, and the parameter is {}", kind_name(arg.kind),
                       param.type);
  }
  if (arg.bytes.size() != param.bytes)
    return fmt::format("{} has {} bytes, and the parameter {} has {}",
                       arg.type.empty() ? "bytes" : arg.type, arg.bytes.size(), param.type,
                       param.bytes);
  // Parameters of untyped bits take any number.
  if (arg.type.empty() || param.kind != ParamKind::scalar || wanted[0] == 'b') return {};
  if ((arg.type[0] == 'f') == (wanted[0] == 'f')) return {};
  return fmt::format("{} was given, and the parameter is {}; \"bytes\" passes bits as they are",
                     arg.type, param.type);
}

class Checker {
 public:
  Checker(const Manifest& manifest, const Interface& interface)
      : manifest_(manifest), interface_(interface) {}
  CheckedLaunches run();

 private:
  void launch(const LaunchSpec& spec, const EntryInfo& entry);
  void references(const LaunchSpec& spec, const EntryInfo& entry);
  void variable(const std::string& name, const std::string& where);

  const Manifest& manifest_;
  const Interface& interface_;
  CheckedLaunches out_;
};

void Checker::launch(const LaunchSpec& spec, const EntryInfo& entry) {
  const std::string kernel = shown_name(entry.name);
  if (spec.args.size() != entry.params.size()) {
    std::string list;
    for (const ParamInfo& param : entry.params)
      list += (list.empty() ? "" : ", ") + param.type + " " + param.name;
    out_.errors.push_back(fmt::format(
        "{}kernel {} has {} parameter{}{}{}, and {} argument{} given", spec.where, kernel,
        entry.params.size(), entry.params.size() == 1 ? "" : "s", list.empty() ? "" : ": ", list,
        spec.args.size(), spec.args.size() == 1 ? " was" : "s were"));
    return;
  }
  for (std::size_t k = 0; k < spec.args.size(); ++k) {
    const std::string problem = argument_problem(spec.args[k], entry.params[k]);
    if (!problem.empty())
      out_.errors.push_back(fmt::format("{}argument {} of kernel {}, '{}': {}", spec.where, k + 1,
                                        kernel, entry.params[k].name, problem));
  }
  references(spec, entry);
}

void Checker::references(const LaunchSpec& spec, const EntryInfo& entry) {
  const auto check = [&](const auto& bound, const std::vector<RefInfo>& known, const char* what,
                         const auto& variables, bool module_has_more) {
    for (const auto& [name, index] : bound) {
      // Clang before 16 captures no structured binding.
      const std::string& wanted = name;
      const auto named = [&wanted](const auto& ref) { return ref.name == wanted; };
      // A variable that this kernel does not read may be bound, as in CUDA.
      const bool found = std::any_of(known.begin(), known.end(), named) ||
                         std::any_of(variables.begin(), variables.end(), named);
      if (found || module_has_more) continue;
      std::string list;
      for (const RefInfo& ref : known) list += (list.empty() ? "" : ", ") + ref.name;
      out_.errors.push_back(fmt::format("{}kernel {} uses no {} '{}'; it uses {}", spec.where,
                                        shown_name(entry.name), what, name,
                                        list.empty() ? "none" : list));
    }
  };
  // Handles that are not known before the launch may be any variable's.
  check(spec.surfrefs, entry.surfrefs, ".surfref", interface_.surfrefs, entry.dynamic_handles);
  check(spec.texrefs, entry.texrefs, ".texref", interface_.texrefs, entry.textures.dynamic);
  check(spec.samplerrefs, entry.samplerrefs, ".samplerref", interface_.texrefs,
        entry.textures.dynamic);
}

void Checker::variable(const std::string& name, const std::string& where) {
  const auto& all = interface_.variables;
  if (std::any_of(all.begin(), all.end(),
                  [&](const VariableInfo& info) { return info.name == name; }))
    return;
  std::string list;
  for (const VariableInfo& info : all) list += (list.empty() ? "" : ", ") + info.name;
  out_.errors.push_back(fmt::format("{}there is no variable '{}'; there {}", where, name,
                                    all.empty() ? "is none" : "are " + list));
}

CheckedLaunches Checker::run() {
  std::vector<std::string> names;
  for (const EntryInfo& entry : interface_.entries) names.push_back(entry.name);
  for (const LaunchSpec& spec : manifest_.launches) {
    std::string problem;
    const int found = find_entry_name(names, spec.kernel, problem);
    if (found < 0) {
      out_.errors.push_back(spec.where + problem);
      out_.kernels.push_back(spec.kernel);
      continue;
    }
    out_.kernels.push_back(names[std::size_t(found)]);
    launch(spec, interface_.entries[std::size_t(found)]);
  }
  for (const GlobalSpec& spec : manifest_.globals) variable(spec.name, spec.init.where);
  for (const OutputSpec& spec : manifest_.outputs)
    if (spec.kind == OutputSpec::Kind::global) variable(spec.name, spec.where);
  return std::move(out_);
}

/// The bytes that an output has, or nothing where only the modules tell.
std::optional<std::uint64_t> output_bytes(const Manifest& manifest, const OutputSpec& output) {
  switch (output.kind) {
    case OutputSpec::Kind::surface:
      return level_bytes(manifest.surfaces[output.index].desc, output.level);
    case OutputSpec::Kind::buffer: return manifest.buffers[output.index].bytes;
    case OutputSpec::Kind::global: break;
  }
  return std::nullopt;
}

std::string expected_problem(const Manifest& manifest, const OutputSpec& output) {
  if (output.expect.empty()) return {};
  Bytes bytes;
  IoError error = read_file(output.expect, bytes);
  if (error.empty() && output.expect.ends_with(".npy")) {
    Npy npy;
    error = read_npy(bytes, npy);
    bytes = std::move(npy.data);
  }
  const auto size = output_bytes(manifest, output);
  if (error.empty() && size && !output.expect.ends_with(".png") && bytes.size() != *size)
    error = fmt::format("holds {} bytes, the output has {}", bytes.size(), *size);
  return error.empty() ? error : output.where + output.expect + " " + error;
}

}  // namespace

std::vector<PtxModule::Input> inputs_of(const Manifest& manifest,
                                        const std::vector<std::string>& texts) {
  std::vector<PtxModule::Input> inputs;
  for (std::size_t k = 0; k < texts.size(); ++k) inputs.push_back({texts[k], manifest.modules[k]});
  return inputs;
}

std::string read_modules(const Manifest& manifest, std::vector<std::string>& texts) {
  texts.assign(manifest.modules.size(), {});
  for (std::size_t k = 0; k < texts.size(); ++k) {
    const std::string& file = manifest.modules[k];
    IoError error = read_text(file, texts[k]);
    if (error.empty()) error = other_kind(texts[k], Wanted::ptx);
    if (!error.empty()) return manifest.module_where[k] + file + ": " + error;
  }
  return {};
}

CheckedLaunches check_launches(const Manifest& manifest, const Interface& interface) {
  return Checker(manifest, interface).run();
}

std::vector<std::string> kernel_names(const Manifest& manifest,
                                      const std::vector<std::string>& texts) {
  std::vector<Message> messages;
  const auto module = PtxModule::parse(inputs_of(manifest, texts), messages, true);
  std::vector<std::string> names;
  if (module) return check_launches(manifest, module->interface()).kernels;
  for (const LaunchSpec& spec : manifest.launches) names.push_back(spec.kernel);
  return names;
}

std::vector<std::string> check_manifest(const Manifest& manifest, bool relax_versions) {
  std::vector<std::string> errors;
  const auto add = [&](std::string error) {
    if (!error.empty()) errors.push_back(std::move(error));
  };
  std::vector<std::string> texts;
  add(read_modules(manifest, texts));
  if (errors.empty()) {
    std::vector<Message> messages;
    const auto module = PtxModule::parse(inputs_of(manifest, texts), messages, relax_versions);
    for (const Message& message : messages)
      if (message.severity == Severity::error) add(message.rendered);
    if (module)
      for (std::string& error : check_launches(manifest, module->interface()).errors)
        add(std::move(error));
  }
  const auto no_handle = [](std::uint32_t) { return std::uint64_t(0); };
  for (const SurfaceSpec& spec : manifest.surfaces) {
    for (std::uint32_t level = 0; level <= spec.level_inits.size(); ++level) {
      const ArrayDesc form = level_desc(spec.desc, level);
      Bytes bytes(level_bytes(spec.desc, level));
      add(make_contents(level ? spec.level_inits[level - 1] : spec.init, &form, no_handle, bytes));
    }
  }
  for (const BufferSpec& spec : manifest.buffers) {
    Bytes bytes(spec.bytes);
    add(make_contents(spec.init, nullptr, no_handle, bytes));
  }
  for (const OutputSpec& output : manifest.outputs) add(expected_problem(manifest, output));
  return errors;
}

}  // namespace ptx2spv::tools
