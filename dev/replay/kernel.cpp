#include "dev/replay/kernel.hpp"

namespace ptx2spv::tools {
namespace {

// Registers of one element: bytes travel in 16-bit registers.
std::string register_type(const RecordInstruction& instruction) {
  switch (instruction.element_bytes) {
    case 1:
    case 2: return "b16";
    case 8: return "b64";
    default: return "b32";
  }
}

std::string coordinate_list(const RecordInstruction& instruction) {
  switch (instruction.coordinates) {
    case 0: return "";  // a query
    case 1: return ", {%c0}";
    case 2: return ", {%c0, %c1}";
    default: return ", {%c0, %c1, %c2, %c2}";
  }
}

}  // namespace

std::string replay_ptx(const Records& records, std::uint32_t kernel, HandleSource source) {
  const std::vector<std::uint32_t>& variants = records.kernels[kernel];
  const RecordInstruction& instruction = records.instructions[variants[0]];
  const std::string mnemonic = instruction.text.substr(0, instruction.text.find(' '));
  const std::string type = register_type(instruction);
  std::string surface = "%handle";
  std::string text = ".version 8.1\n.target sm_90\n.address_size 64\n";
  if (source == HandleSource::surfref) {
    surface = kReplaySurfref;
    text += std::string(".global .surfref ") + kReplaySurfref + ";\n";
  }
  text += std::string(".visible .entry ") + kReplayKernel + "(\n";
  if (source == HandleSource::param) text += "  .param .u64 surface,\n";
  if (source == HandleSource::reference) {
    surface = "surface";
    text += "  .param .surfref surface,\n";
  }
  text += "  .param .u64 input,\n  .param .u64 output,\n  .param .u32 lines)\n{\n";
  text +=
      "  .reg .pred %p;\n  .reg .b32 %i, %n, %block, %c<3>;\n  .reg .b64 %handle, %in, %out, %o;\n";
  text += "  .reg ." + type + " %v<4>;\n";
  text +=
      "  mov.u32 %i, %ctaid.x;\n  mov.u32 %block, %ntid.x;\n  mov.u32 %n, %tid.x;\n"
      "  mad.lo.u32 %i, %i, %block, %n;\n  ld.param.u32 %n, [lines];\n"
      "  setp.ge.u32 %p, %i, %n;\n  @%p bra done;\n"
      "  ld.param.u64 %in, [input];\n  mul.wide.u32 %o, %i, " +
      std::to_string(sizeof(LineInput)) + ";\n  add.u64 %in, %in, %o;\n";
  for (std::uint32_t k = 0; k < instruction.coordinates; ++k)
    text += "  ld.global.u32 %c" + std::to_string(k) + ", [%in+" + std::to_string(4 * k) + "];\n";
  if (source == HandleSource::param) text += "  ld.param.u64 %handle, [surface];\n";
  if (source == HandleSource::memory) text += "  ld.global.u64 %handle, [%in+16];\n";

  std::string values;
  for (std::uint32_t k = 0; k < instruction.elements; ++k)
    values += (k ? ", %v" : "%v") + std::to_string(k);
  if (instruction.elements > 1) values = "{" + values + "}";
  const std::string place = "[" + surface + coordinate_list(instruction) + "]";
  if (instruction.op == RecordOp::load) {
    text += "  ld.param.u64 %out, [output];\n  mul.wide.u32 %o, %i, " +
            std::to_string(sizeof(LineOutput)) + ";\n  add.u64 %out, %out, %o;\n";
    if (variants.size() > 1) text += "  ld.global.u32 %n, [%in+12];\n";
    for (const std::uint32_t variant : variants) {
      const RecordInstruction& one = records.instructions[variant];
      const std::string unread = std::to_string(one.unread);
      if (variants.size() > 1)
        text += "  setp.ne.u32 %p, %n, " + unread + ";\n  @%p bra past" + unread + ";\n";
      text += "  " + mnemonic + " " + values + ", " + place + ";\n";
      for (std::uint32_t k = 0; k < one.elements; ++k)
        if (one.reads(k))
          text += "  st.global." + type + " [%out+" + std::to_string(8 * k) + "], %v" +
                  std::to_string(k) + ";\n";
      if (variants.size() > 1) text += "past" + unread + ":\n";
    }
  } else {
    for (std::uint32_t k = 0; k < instruction.elements; ++k)
      text += "  ld.global." + type + " %v" + std::to_string(k) + ", [%in+" +
              std::to_string(24 + 8 * k) + "];\n";
    text += "  " + mnemonic + " " + place + ", " + values + ";\n";
  }
  return text + "done:\n  ret;\n}\n";
}

}  // namespace ptx2spv::tools
