// PTX that SPIRV-Tools' validator takes long for.
#pragma once

#include <string>

namespace ptx2spv::test {

/// `count` loops, each inside the one before, that count `word`, a register of 32 bits.
inline std::string nested_loops(int count, const std::string& word) {
  std::string body = "{ .reg .pred %nested;\n", ends;
  for (int i = 0; i < count; ++i) {
    const std::string label = "L" + std::to_string(i), number = std::to_string(i);
    body += label + ": add.u32 " + word + ", " + word + ", 1;\n";
    ends =
        "setp.lt.u32 %nested, " + word + ", " + number + ";\n@%nested bra " + label + ";\n" + ends;
  }
  return body + ends + "}\n";
}

}  // namespace ptx2spv::test
