// The binding interface and a module's description as C.
#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "tools/ptx2spv/header.hpp"

namespace ptx2spv::tools {
namespace {

struct Number {
  const char* name;
  std::uint32_t value;
};

#define PTX2SPV_NUMBER(name) \
  { #name, static_cast < std::uint32_t>(abi::name) }
constexpr Number kPush[] = {PTX2SPV_NUMBER(grid_x),         PTX2SPV_NUMBER(block_x),
                            PTX2SPV_NUMBER(base_x),         PTX2SPV_NUMBER(threads),
                            PTX2SPV_NUMBER(dynamic_shared), PTX2SPV_NUMBER(globals),
                            PTX2SPV_NUMBER(params_address), PTX2SPV_NUMBER(constants_address),
                            PTX2SPV_NUMBER(printf_buffer),  PTX2SPV_NUMBER(shared_slab),
                            PTX2SPV_NUMBER(discard),        PTX2SPV_NUMBER(surface_count),
                            PTX2SPV_NUMBER(texture_count),  PTX2SPV_NUMBER(heap)};
constexpr Number kSurfaceRecord[] = {
    PTX2SPV_NUMBER(s_base_lo),        PTX2SPV_NUMBER(s_base_hi),
    PTX2SPV_NUMBER(s_row_pitch),      PTX2SPV_NUMBER(s_generation),
    PTX2SPV_NUMBER(s_row_bytes_2d),   PTX2SPV_NUMBER(s_rows),
    PTX2SPV_NUMBER(s_slices),         PTX2SPV_NUMBER(s_row_bytes_3d),
    PTX2SPV_NUMBER(s_slice_pitch_lo), PTX2SPV_NUMBER(s_slice_pitch_hi),
    PTX2SPV_NUMBER(s_layer_pitch_lo), PTX2SPV_NUMBER(s_layer_pitch_hi),
    PTX2SPV_NUMBER(s_row_bytes_1d),   PTX2SPV_NUMBER(s_row_bytes),
    PTX2SPV_NUMBER(s_texel_bytes),    PTX2SPV_NUMBER(s_format),
    PTX2SPV_NUMBER(s_width),          PTX2SPV_NUMBER(s_height),
    PTX2SPV_NUMBER(s_depth),          PTX2SPV_NUMBER(s_channel_data_type),
    PTX2SPV_NUMBER(s_channel_order),  PTX2SPV_NUMBER(s_array_size),
    PTX2SPV_NUMBER(s_memory_layout),  PTX2SPV_NUMBER(s_channels),
    PTX2SPV_NUMBER(s_flags)};
constexpr Number kTextureRecord[] = {
    PTX2SPV_NUMBER(x_base_lo),         PTX2SPV_NUMBER(x_base_hi),
    PTX2SPV_NUMBER(x_row_pitch),       PTX2SPV_NUMBER(x_slice_pitch),
    PTX2SPV_NUMBER(x_width),           PTX2SPV_NUMBER(x_height),
    PTX2SPV_NUMBER(x_depth),           PTX2SPV_NUMBER(x_layers),
    PTX2SPV_NUMBER(x_generation),      PTX2SPV_NUMBER(x_texel_bytes),
    PTX2SPV_NUMBER(x_component_bytes), PTX2SPV_NUMBER(x_channels),
    PTX2SPV_NUMBER(x_format),          PTX2SPV_NUMBER(x_sampler),
    PTX2SPV_NUMBER(x_border),          PTX2SPV_NUMBER(x_query_width),
    PTX2SPV_NUMBER(x_levels),          PTX2SPV_NUMBER(x_lod_bias),
    PTX2SPV_NUMBER(x_lod_min),         PTX2SPV_NUMBER(x_lod_max),
    PTX2SPV_NUMBER(x_level_offset),    PTX2SPV_NUMBER(x_samples),
    PTX2SPV_NUMBER(x_sampled)};
constexpr Number kTrapRecord[] = {PTX2SPV_NUMBER(t_count),     PTX2SPV_NUMBER(t_claimed),
                                  PTX2SPV_NUMBER(t_site),      PTX2SPV_NUMBER(t_kind),
                                  PTX2SPV_NUMBER(t_ctaid_x),   PTX2SPV_NUMBER(t_tid_x),
                                  PTX2SPV_NUMBER(t_coord),     PTX2SPV_NUMBER(t_handle_lo),
                                  PTX2SPV_NUMBER(t_handle_hi), PTX2SPV_NUMBER(t_cut_off)};
#undef PTX2SPV_NUMBER
constexpr Number kSizes[] = {{"ABI_VERSION", abi::kVersion},
                             {"SET_BUFFERS", abi::kSet},
                             {"SET_SLOTS", abi::kSlotSet},
                             {"SET_TEXTURES", abi::kTextureSet},
                             {"BINDINGS", abi::kBindings},
                             {"LOCK_WORDS", abi::kLockWords},
                             {"SURFACE_WORDS", abi::kSurfaceWords},
                             {"TEXTURE_WORDS", abi::kTextureWords},
                             {"TRAP_WORDS", abi::kTrapWords},
                             {"SPEC_SIZE_X", abi::size_x},
                             {"SPEC_SIZE_Y", abi::size_y},
                             {"SPEC_SIZE_Z", abi::size_z},
                             {"SPEC_DYNAMIC_SHARED_WORDS", abi::dynamic_shared_words}};
constexpr Number kBindingNumbers[] = {
#define PTX2SPV_BINDING(name, number, space, readonly, moves, holds) {#name, number},
#include "ptx2spv/bindings.def"
};

template <std::size_t N>
std::string numbers(const char* prefix, const Number (&rows)[N]) {
  std::string out;
  for (const Number& row : rows) {
    std::string name = std::string("PTX2SPV_") + prefix;
    for (const char* c = row.name; *c; ++c)
      name += static_cast<char>(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    out += fmt::format("#define {} {}u\n", name, row.value);
  }
  return out;
}

constexpr const char* kTypes = R"(
/* A surface whose handle is known before the launch: descriptor K of set PTX2SPV_SET_SLOTS. */
typedef struct ptx2spv_h_slot {
  const char* name;
  uint32_t is_variable; /* 1: a .surfref variable, 0: a parameter */
  uint32_t offset;      /* of its handle in the parameter buffer */
  uint32_t backing;     /* 0: nothing is bound, 1: a storage buffer, 2: a storage image */
  const char* image_format; /* "r32ui"; empty without an image */
  const char* image_view;   /* "2d" */
} ptx2spv_h_slot;
/* A word of the push constants that holds a word of the parameter buffer, shifted right. */
typedef struct ptx2spv_h_push_param {
  uint32_t word, offset, shift;
} ptx2spv_h_push_param;
/* Word PTX2SPV_T_SITE of a trap record is an index into a kernel's trap sites. */
typedef struct ptx2spv_h_trap_site {
  uint32_t line, column; /* of the PTX */
  uint32_t source_line;  /* of the CUDA source, 0 where nothing is known */
  const char *source_file, *text, *surface, *function, *message;
  const char* coordinates[4]; /* names of the recorded coordinates; null ends them */
} ptx2spv_h_trap_site;
/* A .surfref, .texref or .samplerref: where its handle lies in the parameter buffer. */
typedef struct ptx2spv_h_reference {
  const char* name;
  uint32_t offset;
} ptx2spv_h_reference;
typedef struct ptx2spv_h_kernel {
  const char* name; /* the entry point */
  uint32_t bindings; /* of set PTX2SPV_SET_BUFFERS: bit b is binding b */
  uint32_t param_bytes, param_buffer_bytes;
  uint32_t slot_records;    /* offset of copies of the slots' surface records */
  uint32_t texture_records; /* offset of copies of the texture slots' records */
  uint32_t push_words;
  uint32_t threads; /* 0: direct, 1: flat, 2: regions */
  uint32_t workgroup_threads, threads_per_invocation;
  uint32_t shared_bytes, local_bytes;
  uint32_t dynamic_shared, uses_printf, uses_heap, uses_textures, dynamic_handles;
  uint32_t warp_subgroups; /* 1: the pipeline has to have full subgroups of 32 threads */
  uint32_t reqntid[3], maxntid[3];
  const ptx2spv_h_slot* slots;
  uint32_t slot_count;
  const ptx2spv_h_push_param* push_params;
  uint32_t push_param_count;
  const uint32_t* texture_slots; /* offsets of handles */
  uint32_t texture_slot_count;
  const ptx2spv_h_reference *surfrefs, *texrefs, *samplerrefs;
  uint32_t surfref_count, texref_count, samplerref_count;
  const ptx2spv_h_trap_site* trap_sites; /* 0 is no site */
  uint32_t trap_site_count;
} ptx2spv_h_kernel;
typedef struct ptx2spv_h_variable {
  const char* name;
  uint32_t constant; /* 1: .const, 0: .global */
  uint64_t offset, bytes;
} ptx2spv_h_variable;
/* A field of an image that takes an address (docs/reference/interface.md). */
typedef struct ptx2spv_h_relocation {
  const char* kind; /* "global", "constant" or "function" */
  uint32_t in_constants;
  uint64_t at, addend;
  uint32_t bytes, shift;
  const char* symbol;
} ptx2spv_h_relocation;
typedef struct ptx2spv_h_module {
  const uint32_t* spirv;
  size_t spirv_words;
  const ptx2spv_h_kernel* kernels;
  uint32_t kernel_count;
  const ptx2spv_h_variable* variables;
  uint32_t variable_count;
  const unsigned char* globals; /* the first bytes of .global memory; the rest is 0 */
  uint64_t globals_image_bytes, globals_bytes;
  const unsigned char* constants;
  uint64_t constants_bytes;
  const ptx2spv_h_relocation* relocations;
  uint32_t relocation_count;
} ptx2spv_h_module;
)";

/// A C string. Bytes beyond ASCII are octal, which no following digit can lengthen.
std::string quote(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || c == '?') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      char octal[8];
      std::snprintf(octal, sizeof octal, "\\%03o", byte);
      out += octal;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string count(std::size_t number) { return fmt::format("{}u", number); }

/// Writes tables, each only where it has rows, and remembers how to name them.
class Tables {
 public:
  /// "NAME, 3u" after the table stands in the text, "0, 0u" where it has no rows.
  std::string add(const std::string& type, const std::string& name,
                  const std::vector<std::string>& rows) {
    if (rows.empty()) return "0, 0u";
    text_ += fmt::format("static const {} {}[{}] = {{\n", type, name, rows.size());
    for (const std::string& row : rows) text_ += "    " + row + ",\n";
    text_ += "};\n";
    return name + ", " + count(rows.size());
  }
  void put(const std::string& text) { text_ += text; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string references(Tables& tables, const std::string& name, const std::vector<RefInfo>& refs) {
  std::vector<std::string> rows;
  for (const RefInfo& ref : refs)
    rows.push_back("{" + quote(ref.name) + ", " + count(ref.offset) + "}");
  return tables.add("ptx2spv_h_reference", name, rows);
}

std::string trap_site(const TrapSite& site) {
  std::string row = "{" + count(site.line) + ", " + count(site.column) + ", " +
                    count(site.source_line) + ", " + quote(site.source_file) + ", " +
                    quote(site.text) + ", " + quote(site.surface) + ", " + quote(site.function) +
                    ", " + quote(site.message) + ", {";
  for (std::size_t i = 0; i < site.coordinates.size() && i < 3; ++i)
    row += quote(site.coordinates[i]) + ", ";
  return row + "0}}";
}

/// `references, 3u` of a list becomes two members, the names first.
std::pair<std::string, std::string> parted(const std::string& both) {
  const std::size_t comma = both.find(", ");
  return {both.substr(0, comma), both.substr(comma + 2)};
}

std::string kernel(Tables& tables, const EntryInfo& entry, const std::string& name) {
  std::vector<std::string> slots, pushed, textures, sites;
  for (const SlotInfo& slot : entry.slots)
    slots.push_back("{" + quote(slot.name) + ", " + count(slot.is_variable) + ", " +
                    count(slot.offset) + ", " +
                    count(static_cast<std::size_t>(slot.bound.backing)) + ", " +
                    quote(slot.image_format) + ", " + quote(slot.image_view) + "}");
  for (const PushParam& param : entry.push_params)
    pushed.push_back("{" + count(param.word) + ", " + count(param.offset) + ", " +
                     count(param.shift) + "}");
  for (const std::uint32_t offset : entry.textures.slots) textures.push_back(count(offset));
  for (const TrapSite& site : entry.trap_sites) sites.push_back(trap_site(site));
  const std::string slot_table = tables.add("ptx2spv_h_slot", name + "_slots", slots);
  const std::string push_table = tables.add("ptx2spv_h_push_param", name + "_push_params", pushed);
  const std::string texture_table = tables.add("uint32_t", name + "_texture_slots", textures);
  const auto surfrefs = parted(references(tables, name + "_surfrefs", entry.surfrefs));
  const auto texrefs = parted(references(tables, name + "_texrefs", entry.texrefs));
  const auto samplerrefs = parted(references(tables, name + "_samplerrefs", entry.samplerrefs));
  const std::string site_table = tables.add("ptx2spv_h_trap_site", name + "_trap_sites", sites);
  std::string row = "{" + quote(entry.name);
  for (const std::size_t number :
       {std::size_t{entry.bindings}, std::size_t{entry.param_bytes},
        std::size_t{entry.param_buffer_bytes}, std::size_t{entry.slot_records},
        std::size_t{entry.textures.records}, std::size_t{entry.push_words},
        static_cast<std::size_t>(entry.threads), std::size_t{entry.workgroup_threads},
        std::size_t{entry.threads_per_invocation}, std::size_t{entry.shared_bytes},
        std::size_t{entry.local_bytes}, std::size_t{entry.dynamic_shared},
        std::size_t{entry.uses_printf}, std::size_t{entry.uses_heap},
        std::size_t{entry.uses_textures}, std::size_t{entry.dynamic_handles},
        std::size_t{entry.sync.warp_subgroups}})
    row += ", " + count(number);
  for (const auto* size : {&entry.reqntid, &entry.maxntid})
    row += ", {" + count((*size)[0]) + ", " + count((*size)[1]) + ", " + count((*size)[2]) + "}";
  return row + ",\n     " + slot_table + ", " + push_table + ", " + texture_table + ",\n     " +
         surfrefs.first + ", " + texrefs.first + ", " + samplerrefs.first + ", " + surfrefs.second +
         ", " + texrefs.second + ", " + samplerrefs.second + ",\n     " + site_table + "}";
}

/// The bytes of an image; its name, or 0 where there are none.
std::string image(Tables& tables, const std::string& name, const std::vector<std::uint8_t>& bytes) {
  std::vector<std::string> rows;
  for (std::size_t at = 0; at < bytes.size(); at += 16) {
    std::string row;
    for (std::size_t i = at; i < std::min(at + 16, bytes.size()); ++i)
      row += fmt::format("{}{}", i == at ? "" : ", ", bytes[i]);
    rows.push_back(row);
  }
  if (rows.empty()) return "0";
  std::string text = fmt::format("static const unsigned char {}[{}] = {{\n", name, bytes.size());
  for (const std::string& row : rows) text += "    " + row + ",\n";
  tables.put(text + "};\n");
  return name;
}

const char* kind_of(Relocation::Kind kind) {
  switch (kind) {
    case Relocation::Kind::global: return "global";
    case Relocation::Kind::constant: return "constant";
    case Relocation::Kind::function: return "function";
  }
  return "";
}

}  // namespace

std::string binding_types() {
  return "#ifndef PTX2SPV_ABI_VERSION\n" + numbers("", kSizes) +
         "/* Bindings of set PTX2SPV_SET_BUFFERS (docs/reference/abi.md). */\n" +
         numbers("BINDING_", kBindingNumbers) + "/* Words of the push constants. */\n" +
         numbers("PUSH_", kPush) + "/* Words of a surface record. */\n" +
         numbers("", kSurfaceRecord) + "/* Words of a texture record. */\n" +
         numbers("", kTextureRecord) + "/* Words of the trap record. */\n" +
         numbers("", kTrapRecord) + kTypes + "#endif\n\n";
}

std::string binding_tables(const Interface& interface, const std::string& name) {
  Tables tables;
  std::vector<std::string> kernels, variables, relocations;
  for (std::size_t i = 0; i < interface.entries.size(); ++i)
    kernels.push_back(
        kernel(tables, interface.entries[i],
               fmt::format("{}_{}_{}", name, i, identifier(interface.entries[i].name))));
  for (const VariableInfo& each : interface.variables)
    variables.push_back("{" + quote(each.name) + ", " + count(each.constant) + ", " +
                        count(each.offset) + ", " + count(each.bytes) + "}");
  for (const Relocation& each : interface.relocations)
    relocations.push_back(fmt::format(
        "{{{}, {}, {}, {}ull, {}, {}, {}}}", quote(kind_of(each.kind)), count(each.in_constants),
        count(each.at), each.addend, count(each.bytes), count(each.shift), quote(each.symbol)));
  const std::string all = tables.add("ptx2spv_h_kernel", name + "_kernels", kernels) + ",\n    " +
                          tables.add("ptx2spv_h_variable", name + "_variables", variables) +
                          ",\n    " + image(tables, name + "_globals", interface.globals_image) +
                          ", " + count(interface.globals_image.size()) + ", " +
                          count(interface.globals_bytes) + ", " +
                          image(tables, name + "_constants", interface.constants_image) + ", " +
                          count(interface.constants_image.size()) + ",\n    " +
                          tables.add("ptx2spv_h_relocation", name + "_relocations", relocations);
  return tables.take() + "/* All of it. */\nstatic const ptx2spv_h_module " + name +
         "_module = {\n    " + name + "_spirv, sizeof " + name + "_spirv / 4,\n    " + all +
         "};\n\n";
}

}  // namespace ptx2spv::tools
