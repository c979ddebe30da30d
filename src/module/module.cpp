#include "src/module/module.hpp"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "src/cache/digest.hpp"
#include "src/files.hpp"
#include "src/memory/transfer.hpp"
#include "src/options.hpp"

namespace ptx2spv::runtime {

namespace {

template <class T>
const T* find_named(const std::vector<T>& all, std::string_view name) {
  auto it = std::find_if(all.begin(), all.end(), [&](const T& each) { return each.name == name; });
  return it == all.end() ? nullptr : &*it;
}

/// What `relocation` puts into its image. Addends count from the image's start: two modules may
/// each have a variable of the name.
std::uint64_t field(const ModuleState& module, const Relocation& relocation) {
  std::uint64_t base = 0;  // the addend of a function is its number
  if (relocation.kind == Relocation::Kind::global) base = module.globals.address();
  if (relocation.kind == Relocation::Kind::constant) base = module.constants.address();
  return (base + relocation.addend) >> relocation.shift;
}

Status upload(ModuleState& module, const Memory& memory, std::uint64_t offset,
              const std::byte* bytes, std::uint64_t count) {
  Rows rows;
  rows.offset = memory.offset() + offset;
  rows.row_bytes = rows.row_pitch = rows.host_row_pitch = count;
  return upload_rows(*module.device, memory.base(), rows, bytes, true);
}

}  // namespace

namespace {

/// Calls each(address, variable) for every variable that has memory.
template <typename Each>
void each_variable(const ModuleState& module, Each&& each) {
  for (const VariableInfo& variable : module.ptx.interface().variables) {
    const Memory& memory = variable.constant ? module.constants : module.globals;
    if (memory && variable.bytes) each(memory.address() + variable.offset, variable);
  }
}

}  // namespace

ModuleState::~ModuleState() {
  if (serial)
    each_variable(*this, [&](std::uint64_t address, const VariableInfo&) {
      device->allocations.remove(address);
    });
  for (auto& [name, handle] : static_handles) device->surfaces.remove(handle);
  for (auto& [name, handle] : static_textures) device->textures.remove(handle);
}

std::uint64_t ModuleState::surfref_handle(const std::string& name) const {
  if (auto bound = surfaces.find(name); bound != surfaces.end()) return bound->second->handle;
  auto fixed = static_handles.find(name);
  return fixed == static_handles.end() ? 0 : fixed->second;
}

bool ModuleState::has_surfref(std::string_view name) const {
  const Interface& all = ptx.interface();
  if (find_named(all.surfrefs, name)) return true;
  return std::any_of(all.entries.begin(), all.entries.end(), [&](const EntryInfo& entry) {
    return find_named(entry.surfrefs, name) != nullptr;
  });
}

const VariableInfo* ModuleState::variable(std::string_view name) const {
  return find_named(ptx.interface().variables, name);
}

Status allocate_variables(ModuleState& module) {
  const Interface& all = module.ptx.interface();
  DeviceState& device = *module.device;
  if (!all.unresolved.empty())
    return make_error(ErrorCode::translation, "declared .extern, and no module defines it: '{}'",
                      fmt::join(all.unresolved, "', '"));
  for (const StaticSurfref& each : all.surfrefs) {
    bool initialised = each.width >= 0 || each.height >= 0 || each.depth >= 0 ||
                       each.channel_data_type >= 0 || each.channel_order >= 0 ||
                       each.array_size >= 0 || each.memory_layout >= 0;
    if (!initialised) continue;
    // A surface of no bytes: queries answer from the initialisers, every access is out of bounds.
    std::array<std::uint32_t, abi::kSurfaceWords> record{};
    std::uint64_t base = device.discard.address();
    record[abi::s_base_lo] = static_cast<std::uint32_t>(base);
    record[abi::s_base_hi] = static_cast<std::uint32_t>(base >> 32);
    record[abi::s_rows] = record[abi::s_slices] = 1;
    record[abi::s_texel_bytes] = 4;
    record[abi::s_format] = static_cast<std::uint32_t>(abi::SurfaceFormat::u32);
    record[abi::s_channels] = 1;
    record[abi::s_flags] = abi::surface_of_nothing;
    auto set = [&](abi::SurfaceWord word, std::int64_t value) {
      if (value >= 0) record[word] = static_cast<std::uint32_t>(value);
    };
    set(abi::s_width, each.width);
    set(abi::s_height, each.height);
    set(abi::s_depth, each.depth);
    set(abi::s_channel_data_type, each.channel_data_type);
    set(abi::s_channel_order, each.channel_order);
    set(abi::s_array_size, each.array_size);
    set(abi::s_memory_layout, each.memory_layout);
    auto handle = device.surfaces.add(record, each.name, {});
    if (!handle) return handle.error();
    module.static_handles[each.name] = *handle;
  }
  for (const StaticTexref& each : all.texrefs)
    if (Status status = create_static_texture(module, each); !status) return status;
  const std::uint64_t sizes[2] = {all.globals_bytes, all.constants_image.size()};
  module.constants_bytes = sizes[1];
  // Managed variables are in the host's memory, and with them all of the module, as their offsets
  // have one base.
  const bool shared =
      !device.heap.unified() && std::ranges::any_of(all.variables, &VariableInfo::managed);
  for (int constant = 0; constant < 2; ++constant) {
    if (!sizes[constant]) continue;
    auto memory = shared && !constant
                      ? device.heap.allocate(MemoryKind::readback, sizes[constant],
                                             static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)))
                      : device.heap.allocate(MemoryKind::device, sizes[constant]);
    if (!memory) return memory.error();
    (constant ? module.constants : module.globals) = std::move(*memory);
  }
  each_variable(module, [&](std::uint64_t address, const VariableInfo& variable) {
    device.allocations.add(
        address, variable.bytes, !variable.constant,
        fmt::format("{} '{}'", variable.constant ? "constant" : "variable", variable.name));
  });
  for (int constant = 0; constant < 2; ++constant) {
    if (!sizes[constant]) continue;
    const auto& image = constant ? all.constants_image : all.globals_image;
    std::vector<std::byte> bytes(sizes[constant]);
    if (!image.empty()) std::memcpy(bytes.data(), image.data(), image.size());
    for (const Relocation& relocation : all.relocations) {
      if (relocation.in_constants != (constant == 1)) continue;
      const std::uint64_t value = field(module, relocation);
      std::uint64_t count = std::min<std::uint64_t>(relocation.bytes, 8);
      if (relocation.at > bytes.size() || count > bytes.size() - relocation.at)
        return make_error(ErrorCode::internal, "a relocation lies outside of its variable's image");
      std::memcpy(bytes.data() + relocation.at, &value, count);
    }
    const Memory& memory = constant ? module.constants : module.globals;
    if (Status status = upload(module, memory, 0, bytes.data(), bytes.size()); !status)
      return status;
  }
  return {};
}

}  // namespace ptx2spv::runtime

namespace ptx2spv {

Result<Module> Module::load(const Device& device, std::string_view ptx, std::string file,
                            const ModuleOptions& options) {
  return load(device, {PtxModule::Input{ptx, std::move(file)}}, options);
}

Result<Module> Module::load(const Device& device, const std::vector<PtxModule::Input>& inputs,
                            const ModuleOptions& options) {
  auto module = std::make_shared<ModuleState>();
  module->device = device.state();
  module->options = options;
  module->options.debug_info = options.debug_info || option_flag(Option::debug_info, false);
  auto start = std::chrono::steady_clock::now();
  const std::size_t budget =
      options.inline_budget.value_or(option_number(Option::inline_budget, kInlineBudget));
  module->options.inline_budget = budget;
  auto parsed = PtxModule::parse(inputs, module->warnings, options.relax_versions, budget);
  double took =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  {
    std::lock_guard lock(module->device->statistics_mutex);
    module->device->statistics.translation_ms += took;
  }
  if (!parsed) {
    Error error = make_error(ErrorCode::translation, "the PTX has errors");
    for (const Message& each : module->warnings)
      if (each.severity == Severity::error) {
        error.text =
            fmt::format("{}:{}:{}: error: {}", each.file, each.line, each.column, each.text);
        break;
      }
    error.messages = std::move(module->warnings);
    return error;
  }
  module->ptx = std::move(*parsed);
  module->file = inputs.empty() ? std::string() : inputs.front().file;
  module->serial = module->device->next_serial.fetch_add(1);
  Digest digest;
  for (const PtxModule::Input& each : inputs) {
    digest.add(each.file);
    digest.add(each.text);
  }
  module->digest = digest.text();
  if (Status status = allocate_variables(*module); !status) return status.error();
  return Module(std::move(module));
}

Result<Module> Module::load_file(const Device& device, const std::string& path,
                                 const ModuleOptions& options) {
  std::string text;
  if (const std::string why = read_file(path, kMostText, text); !why.empty())
    return make_error(ErrorCode::io, "{} cannot be read: {}", path, why);
  return load(device, text, path, options);
}

const std::vector<Message>& Module::warnings() const { return state_->warnings; }
const Interface& Module::interface() const { return state_->ptx.interface(); }

Result<Kernel> Module::kernel(std::string_view name) const {
  std::lock_guard lock(state_->mutex);
  auto wrap = [this](KernelState* kernel) {
    return Kernel(std::shared_ptr<KernelState>(state_, kernel));
  };
  if (auto known = state_->kernels.find(name); known != state_->kernels.end())
    return wrap(known->second.get());
  const EntryInfo* info = nullptr;
  std::string names;
  for (const EntryInfo& entry : state_->ptx.interface().entries) {
    if (entry.name == name) info = &entry;
    names += (names.empty() ? "" : ", ") + entry.name;
  }
  if (!info)
    return make_error(ErrorCode::not_found, "{} has no kernel '{}'; it has {}", state_->file, name,
                      names.empty() ? "none" : names);
  auto kernel = std::make_unique<KernelState>();
  kernel->module = state_.get();
  kernel->info = info;
  KernelState* raw = kernel.get();
  state_->kernels.emplace(std::string(name), std::move(kernel));
  return wrap(raw);
}

namespace {

struct Place {
  const Memory* memory;
  std::uint64_t offset, bytes;
};

Result<Place> find_variable(const ModuleState& module, std::string_view name) {
  const VariableInfo* variable = module.variable(name);
  if (!variable)
    return make_error(ErrorCode::not_found, "{} has no variable '{}'", module.file, name);
  return Place{variable->constant ? &module.constants : &module.globals, variable->offset,
               variable->bytes};
}

Result<Rows> rows_of(const ModuleState& module, std::string_view name, std::uint64_t offset,
                     std::uint64_t bytes) {
  auto place = find_variable(module, name);
  if (!place) return place.error();
  if (offset > place->bytes || bytes > place->bytes - offset)
    return bad_argument("{} bytes at {} do not lie in variable '{}' of {} bytes", bytes, offset,
                        name, place->bytes);
  Rows rows;
  rows.offset = place->memory->offset() + place->offset + offset;
  rows.row_bytes = rows.row_pitch = rows.host_row_pitch = bytes;
  return rows;
}

}  // namespace

Result<std::uint64_t> Module::global_address(std::string_view name) const {
  auto place = find_variable(*state_, name);
  if (!place) return place.error();
  return place->memory->address() + place->offset;
}

Result<std::uint64_t> Module::global_size(std::string_view name) const {
  auto place = find_variable(*state_, name);
  if (!place) return place.error();
  return place->bytes;
}

Status Module::set_global(std::string_view name, std::span<const std::byte> bytes,
                          std::uint64_t offset) {
  auto rows = rows_of(*state_, name, offset, bytes.size());
  if (!rows) return rows.error();
  const Memory& memory = *find_variable(*state_, name)->memory;
  return upload_rows(*state_->device, memory.base(), *rows, bytes.data(), true);
}

Status Module::get_global(std::string_view name, std::span<std::byte> bytes,
                          std::uint64_t offset) const {
  auto rows = rows_of(*state_, name, offset, bytes.size());
  if (!rows) return rows.error();
  const Memory& memory = *find_variable(*state_, name)->memory;
  return download_rows(*state_->device, memory.base(), *rows, bytes.data());
}

}  // namespace ptx2spv
