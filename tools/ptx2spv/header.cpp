#include "tools/ptx2spv/header.hpp"

#include <array>
#include <cstdio>
#include <set>
#include <string_view>

#include <fmt/format.h>

namespace ptx2spv::tools {

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

namespace {

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
    if (offset > at) fields += fmt::format("  uint8_t pad{}[{}];\n", pads++, offset - at);
    fields += "  " + declaration + "\n";
    checks += fmt::format("PTX2SPV_CHECK_OFFSET({}, {}, {});\n", name, member, offset);
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
      field(param.offset, param.bytes, fmt::format("uint8_t {}[{}];", member, param.bytes), member);
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

// Names of a struct that no field may take twice.
class Names {
 public:
  explicit Names(std::set<std::string, std::less<>> taken) : taken_(std::move(taken)) {}
  std::string add(const std::string& text) {
    constexpr std::array<std::string_view, 26> kKeywords = {
        "auto", "bool",   "break", "case",   "char",   "class", "const", "default", "delete",
        "do",   "double", "else",  "float",  "for",    "if",    "int",   "long",    "namespace",
        "new",  "return", "short", "static", "switch", "this",  "using", "void"};
    std::string name = identifier(text);
    for (std::string_view word : kKeywords)
      if (name == word) name += '_';
    while (!taken_.insert(name).second) name += '_';
    return name;
  }

 private:
  std::set<std::string, std::less<>> taken_;
};

// One kernel's arguments: surfaces by reference, so that none can be left out, numbers by value.
std::string argument_struct(const EntryInfo& entry, const std::string& type) {
  Names names({"kernel_name", "args", type});
  std::string fields, calls;
  const auto reference = [&](const char* of, const std::string& name, const std::string& call) {
    fields += "  const ptx2spv::" + std::string(of) + "& " + name + ";\n";
    calls += "    list." + call + ";\n";
  };
  for (const ParamInfo& param : entry.params) {
    // nvcc calls them KERNEL_param_N.
    std::string_view plain = param.name;
    if (plain.starts_with(entry.name + "_")) plain.remove_prefix(entry.name.size() + 1);
    const std::string name = names.add(std::string(plain));
    bool surface = param.kind == ParamKind::surfref;
    for (const SlotInfo& slot : entry.slots)
      surface |= !slot.is_variable && slot.offset == param.offset && param.bytes == 8;
    const char* scalar = c_type(param.type);
    if (surface) {
      reference("Surface", name, "surface(" + name + ")");
    } else if (param.kind == ParamKind::texref) {
      reference("Texture", name, "texture(" + name + ")");
    } else if (param.kind == ParamKind::samplerref) {
      reference("Sampler", name, "sampler(" + name + ")");
    } else if (param.kind == ParamKind::scalar && scalar) {
      fields += "  " + std::string(std::string_view(scalar).ends_with("_t") ? "std::" : "") +
                scalar + " " + name + ";\n";
      calls += "    list.value(" + name + ");\n";
    } else {
      fields += fmt::format("  std::array<std::byte, {}> {};  // .align {}\n", param.bytes, name,
                            param.align);
      calls += "    list.bytes(" + name + ");\n";
    }
  }
  return "/// Arguments of kernel \"" + entry.name + "\", in its order.\nstruct " + type +
         " {\n  static constexpr const char* kernel_name = \"" + entry.name + "\";\n" + fields +
         "\n  ptx2spv::Args args() const {\n    ptx2spv::Args list;\n" + calls +
         "    return list;\n  }\n};\n\n";
}

}  // namespace

std::string c_header(const Translation& translation, const std::string& file_name) {
  const std::string name = identifier(file_name);
  std::string out = fmt::format(
      "/* Made by ptx2spv {} from {}: a Vulkan compute module and all that a host needs to know of "
      "it, binding interface version {}. */\n#ifndef PTX2SPV_{}\n#define PTX2SPV_{}\n\n#include "
      "<stddef.h>\n#include <stdint.h>\n\n",
      version(), file_name, translation.interface.version, name, name);
  out +=
      "#ifndef PTX2SPV_CHECK_OFFSET\n#ifdef __cplusplus\n#define PTX2SPV_CHECK_OFFSET(type, "
      "member, offset) \\\n"
      "  static_assert(offsetof(type, member) == (offset), \"layout of \" #type)\n#else\n"
      "#define PTX2SPV_CHECK_OFFSET(type, member, offset) \\\n"
      "  _Static_assert(offsetof(type, member) == (offset), \"layout of \" "
      "#type)\n#endif\n#endif\n\n";
  out += binding_types();
  for (const EntryInfo& entry : translation.interface.entries) {
    out += "/* Kernel " + entry.name + ", entry point \"" + entry.name + "\". */\n";
    out += param_struct(entry);
  }
  out += fmt::format("static const uint32_t {}_spirv[{}] = {{", name, translation.spirv.size());
  for (std::size_t k = 0; k < translation.spirv.size(); ++k) {
    char word[16];
    std::snprintf(word, sizeof word, "0x%08x,", translation.spirv[k]);
    out += k % 8 ? " " : "\n    ";
    out += word;
  }
  return out + "\n};\n\n" + binding_tables(translation.interface, name) + "#endif\n";
}

std::string cpp_header(const Interface& interface, const std::string& file_name) {
  std::string out =
      "// Made by ptx2spv " + std::string(version()) + " from " + file_name +
      ": the arguments of its kernels, typed, for ptx2spv's runtime.\n"
      "// 64-bit fields also take device addresses and the handles of textures. Signs are the "
      "PTX's;\n// nvcc writes int as .u32.\n"
      "#pragma once\n\n#include <array>\n#include <cstddef>\n#include <cstdint>\n\n"
      "#include <ptx2spv/runtime.hpp>\n\n";
  Names types({});
  const std::string space = Names({}).add(file_name);
  out += "namespace " + space + " {\n\n";
  for (const EntryInfo& entry : interface.entries)
    out += argument_struct(entry, types.add(entry.name));
  return out + "}  // namespace " + space + "\n";
}

}  // namespace ptx2spv::tools
