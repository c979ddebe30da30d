#include <algorithm>

#include "tests/vectors/forms.hpp"

namespace ptx2spv::tests {

bool shares(const std::vector<Form>& forms, std::size_t first, std::size_t last) {
  return std::any_of(forms.begin() + first, forms.begin() + last,
                     [](const Form& form) { return form.text.find("%mine") != std::string::npos; });
}

std::string kernel_text(const std::vector<Form>& forms, std::size_t first, std::size_t last,
                        Sync sync) {
  std::string text = R"(.version 8.3
.target sm_90
.address_size 64
.global .align 8 .b32 cells[2] = {123, 456};
)";
  text += kFunctions;
  text += R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u64 psurf, .param .u64 pspare,
                  .param .u64 ptex, .param .align 16 .b8 four[16])
{
.reg .b64 %in, %out, %o, %d, %mine, %surf, %spare, %tex; .reg .b32 %t, %i, %x, %y;
.reg .b16 %h; .reg .pred %odd, %p, %q;
.reg .b16 %s_b16_<8>; .reg .b32 %s_b32_<8>; .reg .b64 %s_b64_<4>;
ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout]; ld.param.u64 %surf, [psurf];
ld.param.u64 %spare, [pspare]; ld.param.u64 %tex, [ptex];
mad.lo.u32 %t, %tid.z, 4, %tid.y; mad.lo.u32 %t, %t, 16, %tid.x;
mad.lo.u32 %i, %ctaid.y, 2, %ctaid.x; mad.lo.u32 %t, %i, 256, %t;
mul.wide.u32 %d, %t, 64; add.u64 %in, %in, %d; mul.wide.u32 %d, %t, 32; add.u64 %out, %out, %d;
and.b32 %x, %t, 63; shr.u32 %y, %t, 6;
ld.global.u32 %i, [%in+48]; and.b32 %i, %i, 1; setp.ne.u32 %odd, %i, 0;
)";
  // %tid is no operand of mad: PTX reads special registers by mov alone.
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (std::size_t at; (at = text.find(from)) != std::string::npos;)
      text.replace(at, from.size(), to);
  };
  replace("mad.lo.u32 %t, %tid.z, 4, %tid.y; mad.lo.u32 %t, %t, 16, %tid.x;",
          "mov.u32 %t, %tid.z; mov.u32 %i, %tid.y; mad.lo.u32 %t, %t, 4, %i; mov.u32 %i, %tid.x; "
          "mad.lo.u32 %t, %t, 16, %i;");
  replace("mad.lo.u32 %i, %ctaid.y, 2, %ctaid.x;",
          "mov.u32 %i, %ctaid.y; mov.u32 %x, %ctaid.x; mad.lo.u32 %i, %i, 2, %x;");
  if (shares(forms, first, last))
    replace("mov.u32 %i, %ctaid.y;",
            ".shared .align 16 .b8 places[4096]; mov.u64 %mine, places; mul.wide.u32 %d, %t, 16; "
            "add.u64 %mine, %mine, %d; mov.u32 %i,  %ctaid.y;");
  for (unsigned bytes = 2; bytes <= 8; bytes *= 2)
    for (unsigned i = 0; i < std::min(8u, 32 / bytes); ++i) {
      const std::string size = "b" + std::to_string(8 * bytes);
      text += "ld.global." + size + " %s_" + size + "_" + std::to_string(i) + ", [%in+" +
              std::to_string(i * bytes) + "];\n";
    }
  // Vectors that stay alive across every barrier of the kernel.
  text += ".reg .v4 .b32 %kept; mov.v4.b32 %kept, {%s_b32_3, %s_b32_2, %s_b32_1, %s_b32_0};\n";
  for (std::size_t k = first; k < last; ++k) {
    if (sync != Sync::none) text += "bar.sync 0;\n";
    if (sync == Sync::warps && k % 4 == 0) text += "vote.sync.any.pred %p, %odd, 0xffffffff;\n";
    text += "{ add.u64 %o, %out, " + std::to_string((k - first) * kFormThreads * kStored) + ";\n" +
            forms[k].text + "\n}\n";
  }
  return text + "add.u64 %o, %out, " + std::to_string((last - first) * kFormThreads * kStored) +
         ";\nst.global.v4.b32 [%o], %kept;\nret;\n}\n";
}

}  // namespace ptx2spv::tests
