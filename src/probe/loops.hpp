// Loops that threads leave in different iterations with what they loaded there: for the questions
// about drivers that lose it, and for the tests of launches.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace ptx2spv::runtime::loops {

/// A search from the thread's own number on: the word that ended it, something made of it, and the
/// place. Registers and memory are those of a ProbeKernel with three words of output.
inline constexpr std::string_view kSearch = R"(
add.u64 %d0, %d0, 16;
mov.u32 %r8, %r0;
search:
mul.wide.u32 %d3, %r8, 4;
add.u64 %d4, %d0, %d3;
ld.global.u32 %r2, [%d4];
xor.b32 %r3, %r2, 0x5555;
and.b32 %r4, %r2, 7;
setp.eq.u32 %p0, %r4, 3;
@%p0 bra found;
add.u32 %r8, %r8, 1;
bra search;
found:
st.global.u32 [%d1], %r2;
st.global.u32 [%d1+4], %r3;
st.global.u32 [%d1+8], %r8;
)";

/// Loops one behind the other, each over what the one before left in %r9, which `start` begins. A
/// thread stays in each while setp's `condition` on %r8, the number of its iterations, holds; one
/// word of output.
inline std::string in_sequence(unsigned count, std::string_view start, std::string_view condition) {
  std::string body = fmt::format("mov.u32 %r9, {};\n", start);
  for (unsigned i = 0; i < count; ++i)
    body += fmt::format(
        "mov.u32 %r8, 0;\nagain{0}:\nmad.lo.u32 %r9, %r9, {1}, %r8;\nadd.u32 %r8, %r8, 1;\n"
        "setp.{2};\n@%p1 bra again{0};\n",
        i, 2 * i + 3, condition);
  return body + "st.global.u32 [%d1], %r9;\n";
}

/// Two levels are left at once, with what the inner loop has loaded; two words of output. `inner`
/// stands in the inner loop.
inline std::string two_levels(std::string_view inner) {
  return R"(
add.u64 %d0, %d0, 16;
mov.u32 %r8, 0;
mov.u32 %r9, 0;
outer:
mad.lo.u32 %r10, %r8, 16, %r0;
mul.wide.u32 %d3, %r10, 4;
add.u64 %d4, %d0, %d3;
ld.global.u32 %r11, [%d4];
mov.u32 %r12, 0;
inner:
add.u32 %r13, %r10, %r12;
mul.wide.u32 %d3, %r13, 4;
add.u64 %d4, %d0, %d3;
ld.global.u32 %r14, [%d4];
)" + std::string(inner) +
         R"(
and.b32 %r15, %r14, 31;
setp.eq.u32 %p0, %r15, %r8;
@%p0 bra done;
add.u32 %r12, %r12, 1;
setp.lt.u32 %p1, %r12, 6;
@%p1 bra inner;
add.u32 %r9, %r9, %r11;
add.u32 %r9, %r9, %r14;
add.u32 %r8, %r8, 1;
setp.lt.u32 %p2, %r8, 10;
@%p2 bra outer;
done:
add.u32 %r9, %r9, %r11;
st.global.u32 [%d1], %r14;
st.global.u32 [%d1+4], %r9;
)";
}

}  // namespace ptx2spv::runtime::loops
