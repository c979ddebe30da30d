#include "translator/passes/surface/lower_surfaces.hpp"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include <fmt/format.h>

#include "ptx2spv/image_slot.hpp"
#include "translator/passes/surface/surface_access.hpp"

namespace ptx2spv::passes {

namespace {

void note(std::vector<std::uint8_t>& sizes, unsigned bytes) {
  if (std::find(sizes.begin(), sizes.end(), bytes) == sizes.end())
    sizes.push_back(static_cast<std::uint8_t>(bytes));
}

Value query_word(SurfaceRecord& record, Query query) {
  switch (query) {
    case Query::width: return record.word(abi::s_width);
    case Query::height: return record.word(abi::s_height);
    case Query::depth: return record.word(abi::s_depth);
    case Query::channel_data_type: return record.word(abi::s_channel_data_type);
    case Query::channel_order: return record.word(abi::s_channel_order);
    case Query::array_size: return record.word(abi::s_array_size);
    case Query::memory_layout: return record.word(abi::s_memory_layout);
  }
  return 0;
}

std::vector<std::string> coordinate_names(Geometry geometry) {
  switch (geometry) {
    case Geometry::d1: return {"x"};
    case Geometry::d2: return {"x", "y"};
    case Geometry::d3: return {"x", "y", "z"};
    case Geometry::a1d: return {"layer", "x"};
    case Geometry::a2d: return {"layer", "x", "y"};
  }
  return {};
}

/// How the emitter declares the image of a slot.
void describe_image(SlotInfo& slot, const Profile& profile) {
  const bool image1d = profile.features.image1d;
  switch (texel_bytes(slot.bound.format, slot.bound.channels)) {
    case 1: slot.image_format = "r8ui"; break;
    case 2: slot.image_format = "r16ui"; break;
    case 4: slot.image_format = "r32ui"; break;
    case 8:
      slot.image_format =
          image_service(slot, 8, profile) == ImageService::texels64 ? "r64ui" : "rg32ui";
      break;
    default: slot.image_format = "rgba32ui"; break;
  }
  switch (slot.bound.geometry) {
    case 1: slot.image_view = image1d ? "1d" : "2d"; break;
    case 3: slot.image_view = "3d"; break;
    case 4: slot.image_view = image1d ? "1d_array" : "2d_array"; break;
    case 5: slot.image_view = "2d_array"; break;
    default: slot.image_view = "2d"; break;
  }
}

}  // namespace

AccessSite surface_site(const Function& function, Value value, std::uint32_t check,
                        std::string surface) {
  const Inst& inst = function.insts[value];
  const SurfaceOp& op = function.surface_ops[inst.imm];
  AccessSite site;
  site.check = check;
  site.place.line = function.locs[inst.loc].line;
  site.place.surface = std::move(surface);
  site.place.coordinates = coordinate_names(op.geometry);
  site.loc = inst.loc;
  site.kind = inst.op == Op::surf_load     ? AccessKind::load
              : inst.op == Op::surf_reduce ? AccessKind::atomic
                                           : AccessKind::store;
  site.space = site.memory = MemorySpace::surface;
  site.bytes = op.bytes;
  if (check == check_width) site.bytes += op.unread_bytes;
  site.geometry = static_cast<std::uint8_t>(op.geometry);
  return site;
}

void find_slots(const Function& function, EntryInfo& entry) {
  const HandleTracer tracer(function);
  std::unordered_map<std::uint32_t, std::size_t> slot_at;
  for (const Block& block : function.blocks)
    for (const Value value : block.insts) {
      const Inst& inst = function.insts[value];
      if (!is_surface_operation(inst.op)) continue;
      const auto offset = tracer.parameter_offset(function.arg(value, 0));
      if (!offset) {
        entry.dynamic_handles = true;
        continue;
      }
      const auto [it, is_new] = slot_at.try_emplace(*offset, entry.slots.size());
      if (is_new) {
        SlotInfo slot;
        slot.offset = *offset;
        slot.is_variable = *offset >= entry.param_bytes;
        for (const RefInfo& ref : entry.surfrefs)
          if (ref.offset == *offset) slot.name = ref.name;
        for (const ParamInfo& param : entry.params)
          if (*offset >= param.offset && *offset < param.offset + param.bytes)
            slot.name = param.offset == *offset
                            ? param.name
                            : param.name + "+" + std::to_string(*offset - param.offset);
        entry.slots.push_back(std::move(slot));
      }
      SlotInfo& slot = entry.slots[it->second];
      const SurfaceOp& op = function.surface_ops[inst.imm];
      if (inst.op != Op::surf_query)
        slot.geometries |= static_cast<std::uint8_t>(1u << static_cast<unsigned>(op.geometry));
      switch (inst.op) {
        case Op::surf_load:
          slot.loads = true;
          note(slot.load_bytes, op.bytes + op.unread_bytes);
          break;
        case Op::surf_store:
          slot.stores = true;
          note(slot.store_bytes, op.bytes);
          break;
        case Op::surf_store_p: slot.stores = slot.formatted_stores = true; break;
        case Op::surf_reduce:
          slot.reduces = true;
          // Its order is the format's.
          if (op.signed_by_format) slot.formatted_stores = true;
          note(slot.reduce_bytes, op.bytes);
          break;
        default: break;
      }
      slot.sub_texel_possible =
          !slot.store_bytes.empty() &&
          *std::min_element(slot.store_bytes.begin(), slot.store_bytes.end()) < 16;
    }
  entry.slot_records = (entry.param_buffer_bytes + 15) / 16 * 16;
  if (!entry.slots.empty())
    entry.param_buffer_bytes = entry.slot_records + static_cast<std::uint32_t>(entry.slots.size()) *
                                                        abi::kSurfaceWords * 4;
}

std::string image_refusal(const EntryInfo& entry, const TranslateOptions& options) {
  for (std::uint32_t i = 0; i < entry.slots.size(); ++i) {
    const SlotSpec spec = bound_slot(options, i);
    if (spec.backing != Backing::image) continue;
    const SlotInfo& slot = entry.slots[i];
    const unsigned texel = texel_bytes(spec.format, spec.channels);
    const auto refuse = [&](const char* what, unsigned bytes) {
      return fmt::format(
          "an image with texels of {} bytes takes no {} of {} bytes{}; bind surface '{}' as buffer "
          "or address",
          texel, what, bytes, bytes == 8 && texel == 8 ? " without image_atomics64" : "",
          slot.name);
    };
    if (image_service(slot, texel, options.profile) != ImageService::none) continue;
    for (const std::uint8_t bytes : slot.store_bytes)
      if (bytes < texel && texel != 4) return refuse("stores", bytes);
    for (const std::uint8_t bytes : slot.reduce_bytes)
      if (bytes != texel || bytes == 8) return refuse("reductions", bytes);
  }
  return {};
}

void lower_surfaces(Function& function, Module& module, const TranslateOptions& given,
                    EntryInfo& entry, AfterFault after) {
  for (std::uint32_t i = 0; i < entry.slots.size(); ++i) {
    SlotInfo& slot = entry.slots[i];
    slot.bound = bound_slot(given, i);
    if (slot.bound.backing == Backing::image) describe_image(slot, given.profile);
  }
  bool any = false;
  for (const Block& block : function.blocks)
    for (const Value value : block.insts)
      any = any || is_surface_operation(function.insts[value].op);
  if (!any) return;

  const HandleTracer tracer(function);
  const TrapState trap = trap_state(function);
  const std::vector<bool> goes_on = faults_that_go_on(function, after);
  CfgRewriter rewriter(function);
  // The prologue is written to a block of its own, then put in front of the entry block's
  // instructions.
  Builder prologue(function);
  const BlockId scratch = prologue.new_block();
  prologue.at(scratch);
  SurfaceRecord::Shared shared{function, prologue, rewriter.builder(), given};
  std::unordered_map<std::uint32_t, std::unique_ptr<SurfaceRecord>> records;
  std::unordered_map<std::uint32_t, std::uint32_t> slot_at;
  for (std::uint32_t i = 0; i < entry.slots.size(); ++i) slot_at[entry.slots[i].offset] = i;

  rewriter.run([&](Value value) {
    const Inst inst = function.insts[value];
    if (!is_surface_operation(inst.op)) return rewriter.keep(value);
    const std::vector<Value> args(function.args(value).begin(), function.args(value).end());
    const auto offset = tracer.parameter_offset(args[0]);
    const SurfaceOp op = function.surface_ops[inst.imm];
    std::unique_ptr<SurfaceRecord> own;
    SurfaceRecord* record = nullptr;
    std::string surface;
    if (offset && slot_at.contains(*offset)) {
      const std::uint32_t slot = slot_at[*offset];
      auto& shared_record = records[slot];
      if (!shared_record)
        shared_record = std::make_unique<SurfaceRecord>(shared, *offset, slot, entry.slot_records,
                                                        entry.slots[slot].image_format == "r64ui");
      record = shared_record.get();
      surface = entry.slots[slot].name;
    } else {
      const std::optional<Geometry> accessed =
          inst.op == Op::surf_query ? std::nullopt : std::optional(op.geometry);
      own = std::make_unique<SurfaceRecord>(shared, args[0], accessed);
      record = own.get();
    }
    const auto add_site = [&] {
      TrapSite site;
      site.line = function.locs[inst.loc].line;
      site.surface = surface;
      if (inst.op != Op::surf_query) site.coordinates = coordinate_names(op.geometry);
      entry.trap_sites.push_back(std::move(site));
      entry.trap_site_locs.push_back(inst.loc);
      return static_cast<std::uint32_t>(entry.trap_sites.size() - 1);
    };
    if (inst.op == Op::surf_query) {
      Builder& b = rewriter.builder();
      Value result = query_word(*record, op.query);
      if (record->dead()) {
        const Value kind = b.i32(trap_code(add_site(), abi::TrapKind::dead_handle));
        record->note_fault(b, trap, record->dead(), kind, {}, !goes_on[value]);
        result = b.select(record->dead(), b.i32(0), result);
      }
      return rewriter.replace_by(value, result);
    }
    SurfaceAccess access(rewriter, module, *record, op, trap, add_site(), !goes_on[value]);
    if (given.checks & check_clamp && op.clamp != ClampMode::trap) {
      // check_accesses has counted these.
      AccessSite site = surface_site(function, value, check_clamp, surface);
      entry.sanitizer.sites.push_back(std::move(site));
      access.watch(static_cast<std::uint32_t>(entry.sanitizer.sites.size() - 1));
    }
    if (given.checks & kKernelChecks) {
      AccessSite site = surface_site(function, value, check_memory, surface);
      entry.sanitizer.sites.push_back(std::move(site));
      access.watch_geometry(static_cast<std::uint32_t>(entry.sanitizer.sites.size() - 1), args[0]);
    }
    // A formatted store writes whole texels, whatever their size.
    if (given.checks & check_width && inst.op != Op::surf_store_p) {
      AccessSite site = surface_site(function, value, check_width, surface);
      entry.sanitizer.sites.push_back(std::move(site));
      access.watch_width(static_cast<std::uint32_t>(entry.sanitizer.sites.size() - 1), args[0]);
    }
    access.lower(value, inst.op, {args.begin() + 1, args.end()});
  });

  std::vector<Value>& first = function.blocks[0].insts;
  const std::vector<Value> before = std::move(function.blocks[scratch].insts);
  first.insert(first.begin(), before.begin(), before.end());
  // The scratch block stays behind as an unreachable one, which the structurizer removes.
  function.blocks[scratch].insts.clear();
  function.blocks[scratch].term = Term::unreachable;
}

}  // namespace ptx2spv::passes

namespace ptx2spv {

ImageService image_service(const SlotInfo& slot, std::uint32_t texel_bytes,
                           const Profile& profile) {
  for (const std::uint8_t bytes : slot.store_bytes)
    if (bytes < texel_bytes && texel_bytes != 4) return ImageService::none;
  for (const std::uint8_t bytes : slot.reduce_bytes)
    if (bytes != texel_bytes ||
        (bytes == 8 && !(profile.features.image_atomics64 && profile.features.int64)))
      return ImageService::none;
  return texel_bytes == 8 && !slot.reduce_bytes.empty() ? ImageService::texels64
                                                        : ImageService::texels;
}

}  // namespace ptx2spv
