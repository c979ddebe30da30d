#include "tools/ptx2spv/output.hpp"

#include "tools/ptx2spv/header.hpp"
#include "tools/ptx2spv/spirv.hpp"

namespace ptx2spv::tools {
std::string render_output(Emit emit, const Translation& translation, const std::string& name,
                          std::string& error) {
  switch (emit) {
    case Emit::spirv:
      return std::string(reinterpret_cast<const char*>(translation.spirv.data()),
                         translation.spirv.size() * 4);
    case Emit::assembly: return disassemble_spirv(translation.spirv, error);
    case Emit::json: return to_json(translation.interface);
    case Emit::c_header: return c_header(translation, name);
    case Emit::cpp_header: return cpp_header(translation.interface, name);
  }
  return {};
}

const char* output_ending(Emit emit) {
  switch (emit) {
    case Emit::spirv: return ".spv";
    case Emit::assembly: return ".spvasm";
    case Emit::json: return ".interface.json";  // NAME.json is what ptxrun --init writes
    case Emit::c_header: return ".h";
    case Emit::cpp_header: return ".hpp";
  }
  return "";
}

}  // namespace ptx2spv::tools
