#include "shaders/embed/host_calls.hpp"

#include <cstdio>
#include <map>
#include <string>

namespace ptx2spv::embed {

namespace {

enum Op : std::uint32_t {
  name_op = 5,
  type_bool = 20,
  type_int = 21,
  type_vector = 23,
  type_function = 33,
  function_op = 54,
};

/// A value's GLSL type, and the words that it takes; none where no call passes it.
struct Type {
  const char* name = nullptr;
  unsigned words = 0;
};

struct Module {
  std::map<std::uint32_t, std::string> names;
  std::map<std::uint32_t, Type> types;
  std::map<std::uint32_t, Words> signatures;         ///< result, parameters
  std::map<std::uint32_t, std::uint32_t> functions;  ///< to their signatures
};

void read(const Words& words, Module& out) {
  each_instruction(words, [&](std::uint32_t op, std::size_t at, std::size_t count) {
    const std::uint32_t id = words[at + 1];
    switch (op) {
      case name_op: out.names[id] = reinterpret_cast<const char*>(&words[at + 2]); break;
      case type_bool: out.types[id] = {"bool", 1}; break;
      case type_int:
        if (words[at + 2] == 32 && words[at + 3] == 0) out.types[id] = {"uint", 1};
        break;
      case type_vector: {
        const Type element = out.types[words[at + 2]];
        const bool word = element.name && std::string(element.name) == "uint";
        if (word && words[at + 3] == 2) out.types[id] = {"uvec2", 2};
        if (word && words[at + 3] == 4) out.types[id] = {"uvec4", 4};
        break;
      }
      case type_function:
        out.signatures[id] = Words(words.begin() + static_cast<std::ptrdiff_t>(at) + 2,
                                   words.begin() + static_cast<std::ptrdiff_t>(at + count));
        break;
      case function_op: out.functions[words[at + 2]] = words[at + 4]; break;
      default: break;
    }
  });
}

/// The components of words from `first` on as a value.
std::string argument(const Type& type, unsigned first) {
  const auto word = [&](unsigned i) { return "a[" + std::to_string(first + i) + "]"; };
  std::string text;
  for (unsigned i = 0; i < type.words; ++i) text += (i ? ", " : "") + word(i);
  const std::string name = type.name;
  return name == "bool" ? word(0) + " != 0" : name == "uint" ? text : name + "(" + text + ")";
}

/// A row of the table: the name with the parameters' types, and the call.
std::string row(const Module& module, std::uint32_t function) {
  const auto name = module.names.find(function);
  const auto signature = module.signatures.find(module.functions.at(function));
  if (name == module.names.end() || signature == module.signatures.end()) return {};
  const std::string plain = name->second.substr(0, name->second.find('('));
  std::string arguments, types;
  unsigned words = 0;
  for (std::size_t i = 0; i < signature->second.size(); ++i) {
    const auto type = module.types.find(signature->second[i]);
    if (type == module.types.end() || !type->second.name) return {};
    if (i == 0) continue;
    arguments += (i > 1 ? ", " : "") + argument(type->second, words);
    types += std::string(" ") + type->second.name;
    words += type->second.words;
  }
  const Type result = module.types.at(signature->second[0]);
  std::string out = "    {\"" + plain + types + "\", [](uint* r, const uint*" +
                    (words ? " a" : "") + ") {\n       const " + result.name + " v = " + plain +
                    "(" + arguments + ");\n";
  constexpr const char* kParts[] = {".x", ".y", ".z", ".w"};
  for (unsigned i = 0; i < result.words; ++i)
    out += "       r[" + std::to_string(i) + "] = v" + (result.words > 1 ? kParts[i] : "") + ";\n";
  return out + "     }},\n";
}

}  // namespace

bool write_host_calls(const char* path, const char* name, const Words& words) {
  Module module;
  read(words, module);
  std::FILE* file = std::fopen(path, "w");
  if (!file) return false;
  std::fprintf(file,
               "#include \"shaders/host/%s.hpp\"\n#include \"shaders/library.hpp\"\n\n"
               "namespace glsl {\nnamespace {\n\n"
               "constexpr ptx2spv::shaders::HostCall kCalls[] = {\n",
               name);
  for (const auto& [function, signature] : module.functions)
    std::fputs(row(module, function).c_str(), file);
  std::fprintf(file,
               "};\n\n}  // namespace\n}  // namespace glsl\n\n"
               "std::span<const ptx2spv::shaders::HostCall> ptx2spv::shaders::%s_host_calls() {\n"
               "  return glsl::kCalls;\n}\n",
               name);
  return std::fclose(file) == 0;
}

}  // namespace ptx2spv::embed
