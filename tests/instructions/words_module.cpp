#include <fmt/format.h>

#include "tests/instructions/words.hpp"

namespace ptx2spv::tests {

std::string words_module(const WordsKernel& kernel) {
  return fmt::format(".version {}\n.target {}\n.address_size 64\n{}\n", kernel.version,
                     kernel.target, kernel.before) +
         ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
         ".reg .b32 %t<8>;\n.reg .b64 %in, %out, %d<8>;\n.reg .f32 %f<8>;\n.reg .f64 %g<8>;\n"
         ".reg .b16 %h<8>;\n.reg .pred %q, %p<4>;\n"
         "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\n"
         "mov.u32 %t0, %ctaid.x;\nmov.u32 %t1, %tid.x;\nmad.lo.u32 %t0, %t0, 64, %t1;\n" +
         fmt::format("mad.wide.u32 %in, %t0, {}, %in;\nmad.wide.u32 %out, %t0, {}, %out;\n",
                     kernel.operands * 4, kernel.results * 4) +
         kernel.text + "\nret;\n}\n";
}

}  // namespace ptx2spv::tests
