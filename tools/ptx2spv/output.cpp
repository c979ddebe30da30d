#include "tools/ptx2spv/output.hpp"

#include <cstdio>

#include "tools/ptx2spv/spirv.hpp"

namespace ptx2spv::tools {
namespace {

// A C identifier made of any text.
std::string identifier(const std::string& text) {
  std::string out;
  for (char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool digit = c >= '0' && c <= '9';
    if (digit && out.empty()) out += '_';
    out += letter || digit ? c : '_';
  }
  return out.empty() ? "_" : out;
}

const char* c_type(const std::string& type) {
  constexpr const char* kTypes[][2] = {
      {"u8", "uint8_t"},  {"s8", "int8_t"},    {"b8", "uint8_t"},   {"u16", "uint16_t"},
      {"s16", "int16_t"}, {"b16", "uint16_t"}, {"f16", "uint16_t"}, {"u32", "uint32_t"},
      {"s32", "int32_t"}, {"b32", "uint32_t"}, {"f32", "float"},    {"u64", "uint64_t"},
      {"s64", "int64_t"}, {"b64", "uint64_t"}, {"f64", "double"}};
  std::string_view name = type;
  if (name.starts_with('.')) name.remove_prefix(1);
  for (const auto& row : kTypes)
    if (name == row[0]) return row[1];
  return nullptr;
}

// The parameter buffer as a struct: what a host fills in and copies whole. The handles of .surfref
// and .texref variables follow the parameters.
std::string param_struct(const EntryInfo& entry) {
  std::string name = identifier(entry.name) + "_params";
  std::string fields, checks;
  std::uint32_t at = 0, pads = 0;
  const auto field = [&](std::uint32_t offset, std::uint32_t bytes, const std::string& declaration,
                         const std::string& member) {
    if (offset > at)
      fields +=
          "  uint8_t pad" + std::to_string(pads++) + "[" + std::to_string(offset - at) + "];\n";
    fields += "  " + declaration + "\n";
    checks +=
        "PTX2SPV_CHECK_OFFSET(" + name + ", " + member + ", " + std::to_string(offset) + ");\n";
    at = offset + bytes;
  };
  for (const ParamInfo& param : entry.params) {
    const std::string member = identifier(param.name);
    const char* type = c_type(param.type);
    if (param.kind != ParamKind::scalar && param.kind != ParamKind::bytes) {
      field(param.offset, 8, "uint64_t " + member + ";  /* handle */", member);
    } else if (param.kind == ParamKind::scalar && type) {
      field(param.offset, param.bytes, std::string(type) + " " + member + ";", member);
    } else if (param.bytes) {
      field(param.offset, param.bytes,
            "uint8_t " + member + "[" + std::to_string(param.bytes) + "];", member);
    }
  }
  for (const auto* list : {&entry.surfrefs, &entry.texrefs, &entry.samplerrefs})
    for (const RefInfo& ref : *list)
      if (ref.offset >= at)
        field(ref.offset, 8, "uint64_t " + identifier(ref.name) + ";  /* handle of the variable */",
              identifier(ref.name));
  if (fields.empty()) return {};
  return "#pragma pack(push, 1)\ntypedef struct " + name + " {\n" + fields + "} " + name +
         ";\n#pragma pack(pop)\n" + checks + "\n";
}

std::string c_header(const Translation& translation, const std::string& file_name) {
  const std::string name = identifier(file_name);
  std::string out =
      "/* Made by ptx2spv " + std::string(version()) + " from " + file_name +
      ": a Vulkan compute module and the parameters of its kernels, binding interface version " +
      std::to_string(translation.interface.version) + ". */\n#ifndef PTX2SPV_" + name +
      "\n#define PTX2SPV_" + name + "\n\n#include <stddef.h>\n#include <stdint.h>\n\n";
  out +=
      "#ifndef PTX2SPV_CHECK_OFFSET\n#ifdef __cplusplus\n#define PTX2SPV_CHECK_OFFSET(type, "
      "member, offset) \\\n"
      "  static_assert(offsetof(type, member) == (offset), \"layout of \" #type)\n#else\n"
      "#define PTX2SPV_CHECK_OFFSET(type, member, offset) \\\n"
      "  _Static_assert(offsetof(type, member) == (offset), \"layout of \" "
      "#type)\n#endif\n#endif\n\n";
  for (const EntryInfo& entry : translation.interface.entries) {
    out += "/* Kernel " + entry.name + ", entry point \"" + entry.name + "\". */\n";
    out += param_struct(entry);
  }
  out += "static const uint32_t " + name + "_spirv[" + std::to_string(translation.spirv.size()) +
         "] = {";
  for (std::size_t k = 0; k < translation.spirv.size(); ++k) {
    char word[16];
    std::snprintf(word, sizeof word, "0x%08x,", translation.spirv[k]);
    out += k % 8 ? " " : "\n    ";
    out += word;
  }
  return out + "\n};\n\n#endif\n";
}

}  // namespace

std::string render_output(Emit emit, const Translation& translation, const std::string& name,
                          std::string& error) {
  switch (emit) {
    case Emit::spirv:
      return std::string(reinterpret_cast<const char*>(translation.spirv.data()),
                         translation.spirv.size() * 4);
    case Emit::assembly: return disassemble_spirv(translation.spirv, error);
    case Emit::json: return to_json(translation.interface);
    case Emit::c_header: return c_header(translation, name);
  }
  return {};
}

const char* output_ending(Emit emit) {
  switch (emit) {
    case Emit::spirv: return ".spv";
    case Emit::assembly: return ".spvasm";
    case Emit::json: return ".json";
    case Emit::c_header: return ".h";
  }
  return "";
}

}  // namespace ptx2spv::tools
