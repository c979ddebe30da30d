// Images, modules and libraries: PTX out of whatever a program hands over, loaded into contexts.
#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "ptx2spv/fatbin.hpp"
#include "src/cuda/core/core.hpp"
#include "src/module/module.hpp"
#include "src/options.hpp"

namespace ptx2spv::cuda {

namespace {

using Bytes = std::span<const std::byte>;

CUresult unreadable(const std::string& file, const std::string& error) {
  say(file + ": " + error);
  return fail(eInvalidKernelImage, "the image cannot be read");
}

/// The PTX of one fat binary that devices of a capability may run: the newest first.
CUresult texts_of(Bytes fatbin, int capability, const std::string& file,
                  std::vector<Image::Text>& texts, Image& image) {
  std::string error;
  auto entries = fatbin::read(fatbin, error);
  if (!entries) return unreadable(file, error);
  const auto runs = fatbin::ptx_for(*entries, static_cast<std::uint32_t>(capability));
  const fatbin::Entry* least = nullptr;  // of the others
  for (const fatbin::Entry& each : *entries) {
    if (!each.is_ptx()) image.machine_code = true;
    if (!each.is_ptx() || std::ranges::find(runs, &each) != runs.end()) continue;
    if (!least || each.arch < least->arch) least = &each;
  }
  if (least && (!image.other || static_cast<int>(least->arch) < image.other)) {
    image.other = static_cast<int>(least->arch);
    image.other_name = fatbin::arch_name(*least);
  }
  for (const fatbin::Entry* each : runs) {
    auto text = fatbin::unpack_ptx(*each, error);
    if (!text) return unreadable(file, error);
    const std::string name = each->name.empty() ? file : std::string(each->name);
    texts.push_back({name + "." + fatbin::arch_name(*each) + ".ptx", std::move(*text),
                     static_cast<int>(each->arch)});
  }
  return eSuccess;
}

using Parts = std::vector<std::vector<Image::Text>>;

CUresult parts_of(const std::vector<Bytes>& fatbins, int capability, const std::string& file,
                  Parts& parts, Image& image) {
  for (const Bytes& each : fatbins) {
    std::vector<Image::Text> texts;
    if (CUresult code = texts_of(each, capability, file, texts, image); code != eSuccess)
      return code;
    if (!texts.empty()) parts.push_back(std::move(texts));
  }
  return eSuccess;
}

/// Fat binaries that belong together: the k-th best text of each, until one has no more. Some may
/// have none, as that of the device's runtime, whose functions few programs call. Where all have
/// newer PTX alone, the oldest of that is what there is.
CUresult add_linked(const std::vector<Bytes>& fatbins, const std::string& file, Image& image) {
  const int capability = compute_capability();
  Parts parts;
  if (CUresult code = parts_of(fatbins, capability, file, parts, image); code != eSuccess)
    return code;
  if (parts.empty() && image.other && !capability_is_chosen()) {
    const int other = image.other;
    say_once(fmt::format(
        "the program has PTX for {} and newer alone, which is run although devices report compute "
        "capability {}.{}: with 'ptxexec --compute-capability {}.{}' (PTX2SPV_CUDA_ARCH) they "
        "report what it was written for",
        image.other_name, capability / 10, capability % 10, other / 10, other % 10));
    if (CUresult code = parts_of(fatbins, other, file, parts, image); code != eSuccess) return code;
  }
  std::size_t most = 0;
  for (const auto& each : parts) most = std::max(most, each.size());
  for (std::size_t k = 0; k < most; ++k) {
    std::vector<Image::Text> linked;
    for (const auto& each : parts) linked.push_back(each[std::min(k, each.size() - 1)]);
    image.alternatives.push_back(std::move(linked));
  }
  return eSuccess;
}

CUresult read_container(Bytes bytes, const std::string& file, Image& image) {
  std::string error;
  auto images = fatbin::read_file(bytes, error);
  if (!images) return unreadable(file, error);
  std::vector<Bytes> fatbins;
  for (const fatbin::Image& each : *images) fatbins.push_back(bytes.subspan(each.offset));
  if (fatbins.empty()) image.machine_code = true;
  return add_linked(fatbins, file, image);
}

}  // namespace

CUresult read_image(const void* data, std::size_t bytes, const std::string& file, Image& image) {
  if (!data) return fail(eInvalidValue, "no image");
  std::uint32_t magic = 0;
  const auto* text = static_cast<const char*>(data);
  const auto begins_with = [&](std::string_view word) {
    return (!bytes || bytes >= word.size()) && std::strncmp(text, word.data(), word.size()) == 0;
  };
  if ((!bytes || bytes >= 4) && text[0] && text[1] && text[2]) std::memcpy(&magic, data, 4);
  if (magic == fatbin::kWrapperMagic) {
    std::string error;
    auto fatbins = fatbin::unwrap(data, error);
    if (!fatbins) return unreadable(file, error);
    return add_linked({fatbins->begin(), fatbins->end()}, file, image);
  }
  if (magic == fatbin::kMagic) {
    std::string error;
    if (!bytes) {
      // The first 16 bytes are there in any fat binary; they say how long it is.
      auto size = fatbin::size_of({static_cast<const std::byte*>(data), SIZE_MAX / 2}, error);
      if (!size) return unreadable(file, error);
      bytes = *size;
    }
    return add_linked({{static_cast<const std::byte*>(data), bytes}}, file, image);
  }
  if (begins_with("\x7f"
                  "ELF") ||
      begins_with("!<arch>\n")) {
    Elf64_Ehdr header{};
    std::memcpy(&header, data, bytes ? std::min(bytes, sizeof header) : 0);
    if (bytes && header.e_machine != EM_CUDA)
      return read_container({static_cast<const std::byte*>(data), bytes}, file, image);
    image.machine_code = true;  // a cubin, whose length nobody may say
    return eSuccess;
  }
  const std::size_t length = bytes ? strnlen(text, bytes) : std::strlen(text);
  image.alternatives.push_back({{file, std::string(text, length), 0}});
  return eSuccess;
}

namespace {

void add_variables(ModuleObject& object) {
  const Interface& all = object.module.interface();
  ContextObject& context = *object.context;
  bool any = false;
  for (const VariableInfo& each : all.variables) {
    if (!each.bytes) continue;
    auto address = object.module.global_address(each.name);
    if (!address) continue;
    const bool managed = each.managed && context.device->managed;
    add_variable(context, *address, each.bytes, managed);
    object.variables.push_back(*address);
    any = any || managed;
  }
  if (!any || context.device->info.kind == DeviceKind::cpu) return;
  const runtime::Memory& memory = object.module.state()->globals;
  object.guarded = {memory.mapped(), memory.size()};
  context.gpu().state()->queue.guard().add(object.guarded);
}

/// The function of the device's runtime that kernels set conditions of graphs with. A handle is the
/// word's address.
constexpr const char* kSetCondition = "cudaGraphSetConditional";
constexpr const char* kSetConditionText = R"(.version 6.0
.target sm_30
.address_size 64
.visible .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value)
{
  .reg .b64 %word;
  .reg .b32 %value;
  ld.param.u64 %word, [handle];
  ld.param.u32 %value, [value];
  st.volatile.global.u32 [%word], %value;
  ret;
}
)";

std::vector<PtxModule::Input> inputs_of(const std::vector<Image::Text>& texts) {
  std::vector<PtxModule::Input> inputs;
  inputs.reserve(texts.size() + 1);
  bool conditions = false, defined = false;
  for (const Image::Text& each : texts) {
    inputs.push_back({each.text, each.file});
    const std::size_t at = each.text.find(kSetCondition);
    conditions = conditions || at != std::string::npos;
    defined = defined ||
              each.text.find(std::string(".visible .func ") + kSetCondition) != std::string::npos;
  }
  if (conditions && !defined) inputs.push_back({kSetConditionText, kSetCondition});
  return inputs;
}

/// CUDA's answer for texts that do not translate: what is no PTX at all, and PTX of a version to
/// come, have codes of their own.
CUresult code_of(const std::vector<Image::Text>& texts) {
  constexpr std::string_view kVersion = ".version";
  for (const Image::Text& each : texts) {
    const std::size_t at = each.text.find(kVersion);
    if (at == std::string::npos) return eInvalidKernelImage;
    if (std::atoi(each.text.c_str() + at + kVersion.size()) > 9) return eUnsupportedPtxVersion;
  }
  return eInvalidPtx;
}

/// The newest target of texts. CUB chooses its kernels by it, and has no others than those that the
/// program was compiled for.
int target_of(const std::vector<Image::Text>& texts) {
  int target = 0;
  for (const Image::Text& each : texts) {
    const std::size_t at =
        each.text.find("sm_", std::min(each.text.find(".target"), each.text.size()));
    if (at != std::string::npos) target = std::max(target, std::atoi(each.text.c_str() + at + 3));
  }
  return target;
}

Result<Module> load_texts(ContextObject& context, const std::vector<Image::Text>& texts) {
  ModuleOptions options;
  if (runtime::option_text(runtime::Option::cuda_fp) == "fast") options.fp = FpPolicy::fast;
  return Module::load(context.gpu(), inputs_of(texts), options);
}

}  // namespace

bool check_link(const std::vector<Image::Text>& texts, std::string& errors) {
  std::vector<Message> messages;
  auto module = PtxModule::parse(inputs_of(texts), messages);
  for (const Message& each : messages)
    if (each.severity == Severity::error) errors += each.rendered;
  if (module && !module->interface().unresolved.empty())
    errors = fmt::format("no input defines '{}'\n", module->interface().unresolved.front());
  return module && errors.empty();
}

CUresult load_module(ContextObject& context, const Image& image,
                     std::shared_ptr<ModuleObject>& made, std::string* log) {
  if (image.alternatives.empty()) {
    if (image.other)
      say_once(fmt::format(
          "the program has PTX for {}, and devices report compute capability {}.{}: with "
          "'ptxexec --compute-capability {}.{}' (PTX2SPV_CUDA_ARCH) they report one that runs it",
          image.other_name, compute_capability() / 10, compute_capability() % 10, image.other / 10,
          image.other % 10));
    else if (image.machine_code)
      say_once(fmt::format(
          "the program holds machine code for NVIDIA's devices and no PTX for compute capability "
          "{}.{} or older: build it by 'ptxexec build make' (or whatever builds it), or compile it "
          "with -gencode arch=compute_{},code=compute_{}",
          compute_capability() / 10, compute_capability() % 10, compute_capability(),
          compute_capability()));
    return fail(eNoKernelImageForDevice, "no PTX that the device may run");
  }
  std::optional<Error> first;
  for (const auto& texts : image.alternatives) {
    auto module = load_texts(context, texts);
    if (!module) {
      if (!first) first = module.error();
      continue;
    }
    auto object = std::make_shared<ModuleObject>(std::move(*module));
    object->context = &context;
    object->target = target_of(texts);
    add_variables(*object);
    tables().modules.add(object);
    made = std::move(object);
    return eSuccess;
  }
  const bool text = first->code == ErrorCode::translation;
  if (log) *log = first->to_string();
  // A text's errors are in the log, where there is one.
  const CUresult code = log && text ? eSuccess : report(*first);
  return text ? fail(code_of(image.alternatives.front()), "the module does not translate") : code;
}

namespace {

void forget_module(ModuleObject& module) {
  if (!module.guarded.empty())
    module.context->gpu().state()->queue.guard().remove(module.guarded.data());
  for (CUdeviceptr each : module.variables) remove_variable(each);
  for (const auto& [name, function] : module.functions) tables().functions.take(function.get());
  for (const auto& [name, each] : module.texture_refs) tables().texture_refs.take(each.get());
  for (const auto& [name, each] : module.surface_refs) tables().surface_refs.take(each.get());
  tables().modules.take(&module);
}

}  // namespace

CUresult unload_module(CUmodule handle) {
  auto module = tables().modules.find(handle);
  if (!module || module->library) return fail(eInvalidResourceHandle, "no such module");
  const CUresult code = synchronize(*module->context);
  forget_module(*module);
  return code;
}

CUresult find_function(ModuleObject& module, std::string_view name, CUfunction& found) {
  std::lock_guard lock(module.mutex);
  if (auto known = module.functions.find(name); known != module.functions.end()) {
    found = known->second.get();
    return eSuccess;
  }
  auto kernel = module.module.kernel(name);
  if (!kernel) return fail(eSymbolNotFound, kernel.error().text);
  auto function = std::make_shared<FunctionObject>(std::move(*kernel));
  function->module = &module;
  function->name = std::string(name);
  const EntryInfo& info = function->kernel.info();
  function->params.resize(info.param_bytes);
  module.functions.emplace(function->name, function);
  found = tables().functions.add(std::move(function));
  return eSuccess;
}

CUresult find_global(ModuleObject& module, std::string_view name, CUdeviceptr& address,
                     std::size_t& bytes) {
  auto place = module.module.global_address(name);
  if (!place) {
    // A name of something else is a wrong value, not one that is missing.
    const Interface& all = module.module.interface();
    const auto has = [&](const auto& list) {
      return std::any_of(list.begin(), list.end(),
                         [&](const auto& each) { return each.name == name; });
    };
    const bool other = has(all.entries) || has(all.texrefs) || has(all.surfrefs);
    return fail(other ? eInvalidValue : eSymbolNotFound, place.error().text);
  }
  auto size = module.module.global_size(name);
  if (!size) return report(size.error());
  address = *place;
  bytes = *size;
  return eSuccess;
}

CUresult find_managed(ModuleObject& module, std::string_view name, CUdeviceptr& address,
                      std::size_t& bytes) {
  const auto& all = module.module.interface().variables;
  if (std::ranges::none_of(
          all, [&](const VariableInfo& each) { return each.managed && each.name == name; }))
    return fail(eSymbolNotFound, fmt::format("no __managed__ variable is named '{}'", name));
  if (!module.context->device->managed)
    return not_supported("a __managed__ variable",
                         "this device and the host reach memory by different addresses");
  return find_global(module, name, address, bytes);
}

// ------------------------------------------------------------------------------------ libraries

CUresult module_of(LibraryObject& library, ContextObject& context, ModuleObject*& found) {
  std::lock_guard lock(library.mutex);
  if (auto known = library.modules.find(&context); known != library.modules.end()) {
    found = known->second.get();
    return eSuccess;
  }
  // What failed once fails again: no message is printed twice.
  if (auto failed = library.failures.find(&context); failed != library.failures.end())
    return failed->second;
  if (library.reader) {
    if (CUresult code = library.reader(library.image); code != eSuccess) {
      library.failures[&context] = code;
      return code;
    }
    library.reader = nullptr;
  }
  std::shared_ptr<ModuleObject> module;
  if (CUresult code = load_module(context, library.image, module, nullptr); code != eSuccess) {
    library.failures[&context] = code;
    return code;
  }
  module->library = &library;
  found = module.get();
  library.modules.emplace(&context, std::move(module));
  return eSuccess;
}

CUresult kernel_of(LibraryObject& library, std::string_view name, CUkernel& found) {
  std::lock_guard lock(library.mutex);
  auto known = library.kernels.find(name);
  if (known == library.kernels.end()) {
    auto kernel = std::make_shared<KernelObject>();
    kernel->library = &library;
    kernel->name = std::string(name);
    known = library.kernels.emplace(kernel->name, kernel).first;
    tables().kernels.add(kernel);
  }
  found = known->second.get();
  return eSuccess;
}

CUresult function_of(KernelObject& kernel, ContextObject& context, FunctionObject*& found) {
  std::lock_guard lock(kernel.mutex);
  if (kernel.last_context == &context) {
    found = kernel.last_function;
    return eSuccess;
  }
  ModuleObject* module = nullptr;
  if (CUresult code = module_of(*kernel.library, context, module); code != eSuccess) return code;
  CUfunction function = nullptr;
  if (CUresult code = find_function(*module, kernel.name, function); code != eSuccess) return code;
  for (const auto& [attribute, value] : kernel.attributes)
    (void)set_function_attribute(*function, attribute, value);
  kernel.last_context = &context;
  kernel.last_function = function;
  found = function;
  return eSuccess;
}

namespace {

void forget_kernels(LibraryObject& library, const ContextObject* context) {
  for (const auto& [name, kernel] : library.kernels) {
    std::lock_guard lock(kernel->mutex);
    if (!context || kernel->last_context == context) {
      kernel->last_context = nullptr;
      kernel->last_function = nullptr;
    }
  }
}

}  // namespace

CUresult unload_library(CUlibrary handle) {
  if (ended()) return why_not_initialized();
  auto library = tables().libraries.take(handle);
  if (!library) return fail(eInvalidResourceHandle, "no such library");
  CUresult code = eSuccess;
  std::lock_guard lock(library->mutex);
  forget_kernels(*library, nullptr);
  for (const auto& [context, module] : library->modules) {
    if (CUresult last = synchronize(*context); last != eSuccess) code = last;
    forget_module(*module);
  }
  for (const auto& [name, kernel] : library->kernels) tables().kernels.take(kernel.get());
  return code;
}

void forget_context(const ContextObject& context) {
  for (const auto& library : tables().libraries.all()) {
    std::lock_guard lock(library->mutex);
    forget_kernels(*library, &context);
    library->failures.erase(const_cast<ContextObject*>(&context));
    library->modules.erase(const_cast<ContextObject*>(&context));
  }
  for (const auto& module : tables().modules.all())
    if (module->context == &context) forget_module(*module);
}

CUresult resolve_function(ContextObject& context, CUfunction handle, FunctionObject*& found) {
  if (tables().functions.has(handle)) {
    found = handle;
    return eSuccess;
  }
  auto kernel = tables().kernels.find(reinterpret_cast<CUkernel>(handle));
  if (!kernel) return fail(eInvalidResourceHandle, "no such function");
  return function_of(*kernel, context, found);
}

}  // namespace ptx2spv::cuda
