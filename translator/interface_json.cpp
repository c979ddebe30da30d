// The interface description as JSON: docs/reference/interface.md has the schema.
#include "ptx2spv/formats.hpp"
#include "ptx2spv/text.hpp"
#include "ptx2spv/translator.hpp"

namespace ptx2spv {

namespace {

/// Writes JSON with two-space indentation; objects and arrays nest by begin and end.
class JsonWriter {
 public:
  std::string take() { return std::move(out_) + "\n"; }
  void begin(char open) {
    separate();
    out_ += open;
    ++depth_;
    first_ = true;
  }
  void end(char close) {
    --depth_;
    if (!first_) newline();
    out_ += close;
    first_ = false;
  }
  JsonWriter& key(std::string_view name) {
    separate();
    out_ += json_quote(name);
    out_ += ": ";
    pending_ = true;
    return *this;
  }
  void value(std::string_view text) {
    separate();
    out_ += json_quote(text);
  }
  void value(const std::string& text) { value(std::string_view(text)); }
  void value(const char* text) { value(std::string_view(text)); }
  void value(bool flag) {
    separate();
    out_ += flag ? "true" : "false";
  }
  template <typename T>
  requires std::is_integral_v<T>
  void value(T number) {
    separate();
    out_ += std::to_string(number);
  }

 private:
  void newline() {
    out_ += '\n';
    out_.append(2 * depth_, ' ');
  }
  void separate() {
    if (pending_) {
      pending_ = false;
      return;
    }
    if (depth_ == 0) return;
    if (!first_) out_ += ',';
    first_ = false;
    newline();
  }
  std::string out_;
  std::size_t depth_ = 0;
  bool first_ = true, pending_ = false;
};

std::string hex(const std::vector<std::uint8_t>& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

template <typename List, typename Each>
void list(JsonWriter& json, std::string_view name, const List& items, Each&& each) {
  json.key(name).begin('[');
  for (const auto& item : items) each(item);
  json.end(']');
}

void write_refs(JsonWriter& json, std::string_view name, const std::vector<RefInfo>& refs) {
  list(json, name, refs, [&](const RefInfo& ref) {
    json.begin('{');
    json.key("name").value(ref.name);
    json.key("offset").value(ref.offset);
    json.end('}');
  });
}

void write_sizes(JsonWriter& json, std::string_view name, const std::vector<std::uint8_t>& sizes) {
  list(json, name, sizes, [&](std::uint8_t bytes) { json.value(static_cast<unsigned>(bytes)); });
}

const char* param_kind(ParamKind kind) {
  switch (kind) {
    case ParamKind::scalar: return "scalar";
    case ParamKind::bytes: return "bytes";
    case ParamKind::surfref: return "surfref";
    case ParamKind::texref: return "texref";
    case ParamKind::samplerref: return "samplerref";
  }
  return "";
}

void write_entry(JsonWriter& json, const EntryInfo& entry) {
  json.begin('{');
  json.key("name").value(entry.name);
  list(json, "params", entry.params, [&](const ParamInfo& param) {
    json.begin('{');
    json.key("name").value(param.name);
    json.key("type").value(param.type);
    json.key("kind").value(param_kind(param.kind));
    json.key("offset").value(param.offset);
    json.key("bytes").value(param.bytes);
    json.key("align").value(param.align);
    json.end('}');
  });
  json.key("param_bytes").value(entry.param_bytes);
  json.key("param_buffer_bytes").value(entry.param_buffer_bytes);
  json.key("slot_records").value(entry.slot_records);
  json.key("bindings").begin('[');
  for (std::uint32_t number = 0; number < abi::kBindings; ++number)
    if (entry.bindings >> number & 1) json.value(number);
  json.end(']');
  json.key("push_words").value(entry.push_words);
  list(json, "push_params", entry.push_params, [&](const PushParam& param) {
    json.begin('{');
    json.key("word").value(param.word);
    json.key("offset").value(param.offset);
    json.key("shift").value(param.shift);
    json.end('}');
  });
  std::uint32_t binding = 0;
  list(json, "slots", entry.slots, [&](const SlotInfo& slot) {
    json.begin('{');
    json.key("name").value(slot.name);
    json.key("set").value(abi::kSlotSet);
    json.key("binding").value(binding++);
    json.key("variable").value(slot.is_variable);
    json.key("offset").value(slot.offset);
    json.key("loads").value(slot.loads);
    json.key("stores").value(slot.stores);
    json.key("reduces").value(slot.reduces);
    json.key("formatted_stores").value(slot.formatted_stores);
    constexpr const char* kBackings[] = {"address", "buffer", "image"};
    json.key("backing").value(kBackings[static_cast<int>(slot.bound.backing)]);
    json.key("image_format").value(slot.image_format);
    json.key("image_view").value(slot.image_view);
    json.key("geometries");
    json.begin('[');
    for (unsigned k = 0; k < kSurfaceGeometries; ++k)
      if (slot.geometries >> k & 1) json.value(kGeometryNames[k]);
    json.end(']');
    write_sizes(json, "load_bytes", slot.load_bytes);
    write_sizes(json, "store_bytes", slot.store_bytes);
    write_sizes(json, "reduce_bytes", slot.reduce_bytes);
    json.end('}');
  });
  write_refs(json, "surfrefs", entry.surfrefs);
  write_refs(json, "texrefs", entry.texrefs);
  write_refs(json, "samplerrefs", entry.samplerrefs);
  list(json, "trap_sites", entry.trap_sites, [&](const TrapSite& site) {
    json.begin('{');
    json.key("line").value(site.line);
    json.key("column").value(site.column);
    json.key("text").value(site.text);
    if (!site.source_file.empty()) {
      json.key("source_file").value(site.source_file);
      json.key("source_line").value(site.source_line);
    }
    if (!site.inlined_at.empty())
      list(json, "inlined_at", site.inlined_at, [&](const SourcePlace& place) {
        json.begin('{');
        json.key("source_file").value(place.file);
        json.key("source_line").value(place.line);
        json.end('}');
      });
    if (!site.surface.empty()) json.key("surface").value(site.surface);
    if (!site.message.empty()) json.key("message").value(site.message);
    list(json, "coordinates", site.coordinates, [&](const std::string& name) { json.value(name); });
    json.end('}');
  });
  json.key("shared_bytes").value(entry.shared_bytes);
  json.key("local_bytes").value(entry.local_bytes);
  json.key("local_slab_bytes").value(entry.local_slab_bytes);
  json.key("dynamic_shared").value(entry.dynamic_shared);
  json.key("barriers").value(entry.sync.barriers);
  json.key("divergent_barriers").value(entry.sync.divergent_barriers);
  json.key("warp_operations").value(entry.sync.warp_operations);
  json.key("divergent_warp_operations").value(entry.sync.divergent_warp_operations);
  json.key("waits").value(entry.waits.spins);
  json.key("warp_subgroups").value(entry.sync.warp_subgroups);
  json.key("dynamic_handles").value(entry.dynamic_handles);
  json.key("uses_printf").value(entry.uses_printf);
  json.key("uses_heap").value(entry.uses_heap);
  json.key("system_atomics").value(entry.system_atomics);
  json.key("uses_textures").value(entry.uses_textures);
  json.key("uses_grid_workspace").value(entry.sync.uses_grid_workspace);
  json.key("grid_workspace").value(entry.sync.grid_workspace);
  json.key("reads_clock").value(entry.waits.reads_clock);
  json.key("waits_for_clock").value(entry.waits.for_clock);
  json.key("clock_rates").value(entry.waits.clock_rates);
  json.key("control_bytes").value(entry.sync.control_bytes);
  const auto triple = [&](std::string_view name, const std::uint32_t(&size)[3]) {
    list(json, name, size, [&](std::uint32_t n) { json.value(n); });
  };
  triple("reqntid", entry.reqntid);
  triple("maxntid", entry.maxntid);
  constexpr const char* kModels[] = {"direct", "flat", "regions"};
  json.key("threads").value(kModels[static_cast<int>(entry.threads)]);
  json.key("workgroup_threads").value(entry.workgroup_threads);
  json.key("threads_per_invocation").value(entry.threads_per_invocation);
  json.end('}');
}

// A static initialiser that the module has.
void write_given(JsonWriter& json, std::string_view name, std::int64_t value) {
  if (value >= 0) json.key(name).value(value);
}

// Those that .surfref and .texref share.
template <class Ref>
void write_extents(JsonWriter& json, const Ref& ref) {
  write_given(json, "width", ref.width);
  write_given(json, "height", ref.height);
  write_given(json, "depth", ref.depth);
  write_given(json, "channel_data_type", ref.channel_data_type);
  write_given(json, "channel_order", ref.channel_order);
  write_given(json, "array_size", ref.array_size);
}

}  // namespace

std::string to_json(const Interface& interface) {
  JsonWriter json;
  json.begin('{');
  json.key("version").value(interface.version);
  json.key("push_constant_words").value(abi::kPushWords);
  json.key("surface_record_words").value(abi::kSurfaceWords);
  json.key("texture_record_words").value(abi::kTextureWords);
  list(json, "entries", interface.entries,
       [&](const EntryInfo& entry) { write_entry(json, entry); });
  list(json, "variables", interface.variables, [&](const VariableInfo& variable) {
    json.begin('{');
    json.key("name").value(variable.name);
    json.key("space").value(variable.constant ? "const" : "global");
    json.key("offset").value(variable.offset);
    json.key("bytes").value(variable.bytes);
    json.end('}');
  });
  json.key("globals_bytes").value(interface.globals_bytes);
  json.key("globals_image").value(hex(interface.globals_image));
  json.key("constants_image").value(hex(interface.constants_image));
  list(json, "relocations", interface.relocations, [&](const Relocation& relocation) {
    constexpr const char* kKinds[] = {"global", "const", "function"};
    json.begin('{');
    json.key("kind").value(kKinds[static_cast<int>(relocation.kind)]);
    json.key("image").value(relocation.in_constants ? "const" : "global");
    json.key("at").value(relocation.at);
    json.key("symbol").value(relocation.symbol);
    json.key("addend").value(relocation.addend);
    json.key("bytes").value(static_cast<unsigned>(relocation.bytes));
    json.key("shift").value(static_cast<unsigned>(relocation.shift));
    json.end('}');
  });
  list(json, "surfrefs", interface.surfrefs, [&](const StaticSurfref& ref) {
    json.begin('{');
    json.key("name").value(ref.name);
    write_extents(json, ref);
    write_given(json, "memory_layout", ref.memory_layout);
    json.end('}');
  });
  list(json, "texrefs", interface.texrefs, [&](const StaticTexref& ref) {
    json.begin('{');
    json.key("name").value(ref.name);
    json.key("kind").value(ref.sampler ? "samplerref" : "texref");
    write_extents(json, ref);
    write_given(json, "num_mipmap_levels", ref.num_mipmap_levels);
    write_given(json, "num_samples", ref.num_samples);
    write_given(json, "normalized_coords", ref.normalized_coords);
    write_given(json, "force_unnormalized_coords", ref.force_unnormalized_coords);
    write_given(json, "filter_mode", ref.filter_mode);
    write_given(json, "addr_mode_0", ref.addr_mode[0]);
    write_given(json, "addr_mode_1", ref.addr_mode[1]);
    write_given(json, "addr_mode_2", ref.addr_mode[2]);
    json.end('}');
  });
  list(json, "unresolved", interface.unresolved,
       [&](const std::string& name) { json.value(name); });
  json.end('}');
  return json.take();
}

}  // namespace ptx2spv
