#include "src/launch/report.hpp"

#include <fmt/format.h>

#include <cstring>

#include "src/demangled.hpp"
#include "src/device/findings.hpp"

namespace ptx2spv::runtime {

namespace {

/// The string at an address of the module's variables, of which the record has the low word.
std::string module_string(const ModuleState& module, std::uint32_t address_lo) {
  if (!module.globals) return {};
  const std::vector<std::uint8_t>& image = module.ptx.interface().globals_image;
  const std::uint32_t offset = address_lo - static_cast<std::uint32_t>(module.globals.address());
  std::string text;
  for (std::size_t i = offset; i < image.size() && image[i]; ++i)
    text += static_cast<char>(image[i]);
  return text;
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!space)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  return out;
}

namespace {

void describe_assertion(TrapReport& report, const ModuleState& module,
                        std::span<const std::uint32_t> record) {
  const std::string text = module_string(module, record[abi::t_coord + 1]);
  const std::string file = module_string(module, record[abi::t_coord + 2]);
  const std::string function = module_string(module, record[abi::t_handle_lo]);
  const std::uint32_t line = record[abi::t_coord];
  report.message = fmt::format("{} ({}:{})", text, file, line);
  report.assertion =
      fmt::format("{}:{}: {}: block: [{},{},{}], thread: [{},{},{}] Assertion `{}` failed.", file,
                  line, function, report.cta[0], report.cta[1], report.cta[2], report.thread[0],
                  report.thread[1], report.thread[2], text);
}

/// Why a handle names nothing, or nothing of the kind.
void describe_dead(TrapReport& report, const ModuleState& module, const TrapSite& where,
                   std::span<const std::uint32_t> record) {
  const DeviceState& device = *module.device;
  // A read of a texture has the whole handle in the coordinates' place.
  const bool texture = !where.message.empty();
  if (texture) report.handle = std::uint64_t{record[abi::t_coord + 1]} << 32 | record[abi::t_coord];
  const Table& own = texture ? device.textures : device.surfaces;
  const Table& other = texture ? device.surfaces : device.textures;
  report.message =
      other.live(report.handle)
          ? fmt::format("it is a {}'s, which {} instructions do not read",
                        texture ? "surface" : "texture", texture ? "texture" : "surface")
          : own.why_dead(report.handle, texture ? "texture" : "surface");
}

/// Under .trap the hardware looks at the bounds first: an access that begins outside is out of
/// bounds, whatever its alignment.
void look_at_bounds(TrapReport& report, const std::string& instruction) {
  if (report.kind != abi::TrapKind::misaligned || !report.extent[0] ||
      instruction.find(".clamp") != std::string::npos ||
      instruction.find(".zero") != std::string::npos)
    return;
  for (const auto& [name, value] : report.coordinates) {
    const std::uint32_t most = report.extent[name == "x" ? 0 : name == "y" ? 1 : 2];
    const auto given = static_cast<std::uint32_t>(value) & (name == "layer" ? 0xffffu : ~0u);
    if (given >= most) report.kind = abi::TrapKind::out_of_bounds;
  }
}

}  // namespace

TrapReport make_report(const ModuleState& module, const KernelState& kernel, const Variant& variant,
                       std::span<const std::uint32_t> record, std::span<const std::byte> params) {
  TrapReport report;
  const std::uint32_t cut_off = record[abi::t_cut_off];
  report.kind =
      cut_off ? abi::TrapKind::loop_limit : static_cast<abi::TrapKind>(record[abi::t_kind]);
  report.thread_known = !cut_off;
  report.trapped_threads = record[abi::t_count];
  report.kernel = kernel.info->name;
  report.file = module.file;
  for (int i = 0; i < 3; ++i) {
    report.cta[i] = record[abi::t_ctaid_x + i];
    report.thread[i] = record[abi::t_tid_x + i];
  }
  if (report.kind == abi::TrapKind::assertion)
    describe_assertion(report, module, record);
  else
    report.handle = std::uint64_t{record[abi::t_handle_hi]} << 32 | record[abi::t_handle_lo];
  const std::uint32_t site = cut_off ? cut_off - 1 : record[abi::t_site];
  // The kernel keeps the low word of a parameter's handle.
  if (report.kind != abi::TrapKind::assertion && site < variant.info.trap_sites.size())
    for (const SlotInfo& slot : variant.info.slots)
      if (slot.name == variant.info.trap_sites[site].surface && slot.offset + 8u <= params.size())
        std::memcpy(&report.handle, params.data() + slot.offset, 8);
  std::vector<std::uint32_t> words;
  if (report.handle && module.device->surfaces.describe(report.handle, words, report.surface)) {
    report.extent = {words[abi::s_row_bytes], words[abi::s_rows], words[abi::s_slices]};
    report.texel_bytes = words[abi::s_texel_bytes];
  }
  if (site < variant.info.trap_sites.size()) {
    const TrapSite& where = variant.info.trap_sites[site];
    report.line = where.line;
    report.column = where.column;
    report.instruction = one_line(where.text);
    report.source_file = where.source_file;
    report.source_line = where.source_line;
    report.inlined_at = where.inlined_at;
    if (report.message.empty()) report.message = where.message;
    if (report.kind == abi::TrapKind::dead_handle) describe_dead(report, module, where, record);
    if (where.function != report.kernel) report.function = where.function;
    if (report.surface.empty()) report.surface = where.surface;
    for (std::size_t i = 0; i < where.coordinates.size() && i < 3; ++i)
      report.coordinates.emplace_back(where.coordinates[i],
                                      static_cast<std::int32_t>(record[abi::t_coord + i]));
    look_at_bounds(report, where.text);
  }
  return report;
}

Error trap_error(TrapReport report) {
  Error error;
  error.code = ErrorCode::trap;
  std::string text = report.to_string();
  error.text = text.substr(0, text.find('\n'));
  error.trap = std::make_shared<const TrapReport>(std::move(report));
  return error;
}

}  // namespace ptx2spv::runtime

namespace ptx2spv {

const char* to_string(abi::TrapKind kind) {
  switch (kind) {
    case abi::TrapKind::none: return "no trap";
    case abi::TrapKind::out_of_bounds: return "surface access out of bounds";
    case abi::TrapKind::misaligned: return "misaligned surface access";
    case abi::TrapKind::dead_handle: return "handle is not alive";
    case abi::TrapKind::trap_instruction: return "trap instruction";
    case abi::TrapKind::assertion: return "assertion failed";
    case abi::TrapKind::loop_limit:
      return "a loop makes more iterations than this device carries out";
    case abi::TrapKind::bad_call: return "indirect call to no function of the module";
    case abi::TrapKind::no_progress: return "threads wait for one another without end";
  }
  return "unknown trap";
}

std::string TrapReport::to_string() const {
  std::string text =
      fmt::format("{}:{}:{}: error: {}", file, line, column, ptx2spv::to_string(kind));
  if (!message.empty()) text += ": " + message;
  if (!instruction.empty()) text += "\n  instruction: " + instruction;
  if (!source_file.empty()) text += fmt::format("\n  source: {}:{}", source_file, source_line);
  for (const SourcePlace& place : inlined_at)
    text += fmt::format("\n  inlined at: {}:{}", place.file, place.line);
  text += "\n  kernel: " + runtime::with_demangled(kernel);
  if (!function.empty()) text += ", in " + runtime::with_demangled(function);
  if (thread_known)
    text += fmt::format("\n  thread: block ({}, {}, {}), thread ({}, {}, {})", cta[0], cta[1],
                        cta[2], thread[0], thread[1], thread[2]);
  if (!surface.empty()) text += "\n  surface: " + surface;
  if (kind == abi::TrapKind::dead_handle) text += fmt::format("\n  handle: {:#018x}", handle);
  if (!coordinates.empty()) {
    text += "\n  coordinates: ";
    for (std::size_t i = 0; i < coordinates.size(); ++i)
      text += fmt::format("{}{} = {}", i ? ", " : "", coordinates[i].first, coordinates[i].second);
  }
  if (!coordinates.empty()) text += runtime::surface_unit(instruction);
  if (extent[1]) {
    text += fmt::format("\n  extent: {} bytes a row, {} row{}", extent[0], extent[1],
                        extent[1] == 1 ? "" : "s");
    if (extent[2] > 1) text += fmt::format(", {} slices or layers", extent[2]);
    if (texel_bytes)
      text += fmt::format(", {} byte{} a texel", texel_bytes, texel_bytes == 1 ? "" : "s");
  }
  text += fmt::format("\n  trapped threads: {}\n", trapped_threads);
  return text;
}

}  // namespace ptx2spv
