// What PTX writes beside instructions: constant expressions and sums as operands and addresses,
// masks and constants in initialisers, attributes. What is right is the expression, worked out
// here.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "tests/instructions/derived.hpp"

namespace ptx2spv::tests {
namespace {

Words any_words(std::size_t count) {
  std::mt19937 random(41);
  Words words(count);
  for (std::uint32_t& word : words) word = random();
  return words;
}

Derived of_two(const std::string& name, unsigned results, const std::string& before,
               const std::string& text,
               std::function<void(const std::uint32_t* in, std::uint32_t* out)> right) {
  Derived row;
  row.name = name;
  row.kernel.version = "9.0";
  row.kernel.target = "sm_90";
  row.kernel.threads = 64;
  row.kernel.operands = 4;
  row.kernel.results = results;
  row.kernel.before = before;
  row.kernel.text =
      "ld.global.v4.u32 {%t2, %t3, %t4, %t5}, [%in];\nld.global.u64 %d0, [%in];\n" + text;
  row.in = any_words(row.kernel.threads * 4);
  row.check = each_thread(row.kernel, std::move(right));
  return row;
}

/// 1000 + 546 is 0x60a. Behind each mask a byte of it, or of an address.
Derived masks() {
  return of_two("masks_of_constants", 6, R"(
.global .u32 v[4] = {11, 12, 13, 14};
.global .u8 one = 0xFF00(1000 + 546);
.global .u8 folded[8] = {0xFF(1000 + 546), 0xFF00(1000 + 546), 0xFF0000(1 ? 0x123456 : 0),
                         0xFF000000(~5), 0xFF00000000(1 << 33), 0xFF0000000000(-1), 7 % 4,
                         0xFF00(5)};
.global .u8 place[8] = {0xFF(v+8), 0xFF00(v+8), 0xFF0000(v+8), 0xFF000000(v+8),
                        0xFF00000000(v+8), 0xFF0000000000(v+8), 0xFF000000000000(v+8),
                        0xFF00000000000000(v+8)};
.global .u8 anywhere[8] = {0xFF(generic(v)+4), 0xFF00(generic(v)+4), 0xFF0000(generic(v)+4),
                           0xFF000000(generic(v)+4), 0xFF00000000(generic(v)+4),
                           0xFF0000000000(generic(v)+4), 0xFF000000000000(generic(v)+4),
                           0xFF00000000000000(generic(v)+4)};)",
                R"(
ld.global.u8 %t6, [one];
st.global.u32 [%out], %t6;
mov.u32 %t6, 0;
mov.u64 %d1, folded;
mov.u64 %d2, 0;
mov.u64 %d3, 0;
mov.u64 %d5, 0;
mov.u64 %d4, place;
mov.u64 %d6, anywhere;
bytes:
ld.global.u8 %d7, [%d1];
shl.b64 %d7, %d7, %t6;
or.b64 %d2, %d2, %d7;
ld.global.u8 %d7, [%d4];
shl.b64 %d7, %d7, %t6;
or.b64 %d3, %d3, %d7;
ld.global.u8 %d7, [%d6];
shl.b64 %d7, %d7, %t6;
or.b64 %d5, %d5, %d7;
add.u64 %d1, %d1, 1;
add.u64 %d4, %d4, 1;
add.u64 %d6, %d6, 1;
add.u32 %t6, %t6, 8;
setp.lt.u32 %q, %t6, 64;
@%q bra bytes;
st.global.u32 [%out+4], %d2;
shr.u64 %d2, %d2, 32;
st.global.u32 [%out+8], %d2;
ld.global.u32 %t6, [%d3];
st.global.u32 [%out+12], %t6;
ld.u32 %t6, [%d5];
st.global.u32 [%out+16], %t6;
mov.u64 %d7, v + 8;
setp.eq.u64 %q, %d7, %d3;
selp.u32 %t6, 1, 0, %q;
st.global.u32 [%out+20], %t6;)",
                [](const std::uint32_t*, std::uint32_t* out) {
                  out[0] = 6;
                  // 0a, 06, 12, ff; 02, ff, 03, 00
                  out[1] = 0xff12060a;
                  out[2] = 0x0003ff02;
                  out[3] = 13;
                  out[4] = 12;
                  out[5] = 1;
                });
}

/// In initialisers: precedence, signs, shifts by the whole width, reals.
Derived initialisers() {
  return of_two("initialisers", 8, R"(
.global .u32 whole[4] = {7 % 4 + 2, (1 << 4) | 1, 100 / (3 + 4), WARP_SZ * 2};
.global .s32 negative = -(7) * 3;
.global .f32 real = 1.0 / 4.0;
.global .s64 wide = (3 > 2) ? -1 : 1;)",
                R"(
ld.global.u32 %t6, [whole];
st.global.u32 [%out], %t6;
ld.global.u32 %t6, [whole+4];
st.global.u32 [%out+4], %t6;
ld.global.u32 %t6, [whole+2*4];
st.global.u32 [%out+8], %t6;
ld.global.u32 %t6, [whole + 13 % 5 << 2];
st.global.u32 [%out+12], %t6;
ld.global.u32 %t6, [negative];
st.global.u32 [%out+16], %t6;
ld.global.u32 %t6, [real];
st.global.u32 [%out+20], %t6;
ld.global.v2.u32 {%t6, %t7}, [wide];
st.global.v2.u32 [%out+24], {%t6, %t7};)",
                [](const std::uint32_t*, std::uint32_t* out) {
                  out[0] = 5;
                  out[1] = 17;
                  out[2] = 14;
                  out[3] = 64;
                  out[4] = 0u - 21;
                  out[5] = 0x3e800000;
                  out[6] = out[7] = ~0u;
                });
}

/// A sum of a register and a constant, the constant a whole expression, as value and as address.
Derived sums() {
  return of_two("sums_as_operands", 12, "", R"(
st.global.u32 [%out], %t2 + 7 % 4;
st.global.u32 [%out+4], %t2 + -1;
st.global.u64 [%out+8], %d0 + 1 << 3;
mul.lo.u32 %t6, %t2 + 3, 5;
st.global.u32 [%out+16], %t6;
sub.u32 %t6, 5, %t2 + 1;
st.global.u32 [%out+20], %t6;
cvt.u64.u32 %d1, %t2 + 1;
st.global.u64 [%out+24], %d1;
add.u32 %t6, %t3, 1 ? 2 : 3;
st.global.u32 [%out+32], %t6;
shl.b32 %t6, %t3, WARP_SZ / 8;
st.global.u32 [%out + 9 << 2], %t6;
setp.lt.u32 %q, %t2, 1 << 31;
selp.u32 %t6, 5 - 8, 100 / 7, %q;
st.global.u32 [%out+40], %t6;
ld.global.u8 %t6, [%in + 7 << 1];
st.global.u32 [%out + (3 | 8) * 4], %t6;)",
                [](const std::uint32_t* in, std::uint32_t* out) {
                  const std::uint64_t pair = in[0] | std::uint64_t{in[1]} << 32;
                  out[0] = in[0] + 3;
                  out[1] = in[0] - 1;
                  out[2] = static_cast<std::uint32_t>(pair + 8);
                  out[3] = static_cast<std::uint32_t>((pair + 8) >> 32);
                  out[4] = (in[0] + 3) * 5;
                  out[5] = 5 - (in[0] + 1);
                  out[6] = in[0] + 1;  // of 32 bits, before it is widened
                  out[7] = 0;
                  out[8] = in[1] + 2;
                  out[9] = in[1] << 4;
                  out[10] = in[0] < 1u << 31 ? 0u - 3 : 14;
                  out[11] = in[3] >> 16 & 0xff;  // byte 14
                });
}

/// A sum stored through the name of a variable of each space; the address of a symbol and a
/// constant, where a value stands.
Derived named_places() {
  return of_two("sums_stored_by_name", 10, R"(
.global .align 8 .b64 cells[4] = {1, 2, 3, 4};)",
                R"(
.local .align 8 .b64 local_x;
.shared .align 8 .b64 shared_x[64];
st.u64 [local_x], %d0 + 1;
ld.local.u64 %d1, [local_x];
st.global.u64 [%out], %d1;
ld.u64 %d2, [local_x];
st.global.u64 [%out+8], %d2;
st.local.u64 [local_x], %d0 + 9 % 4 << 1;
ld.u64 %d1, [local_x];
st.global.u64 [%out+16], %d1;
mul.wide.u32 %d3, %t1, 8;
add.u64 %d3, shared_x + 0, %d3;
st.shared.u64 [%d3], %d0 + 5;
ld.shared.u64 %d1, [%d3];
st.global.u64 [%out+24], %d1;
mov.u64 %d1, cells + 1 ? 8 : 4;
ld.global.u32 %t6, [%d1];
st.global.u32 [%out+32], %t6;
add.u64 %d1, cells + 8, 8;
ld.global.u32 %t6, [%d1];
st.global.u32 [%out+36], %t6;)",
                [](const std::uint32_t* in, std::uint32_t* out) {
                  const std::uint64_t pair = in[0] | std::uint64_t{in[1]} << 32;
                  constexpr std::uint64_t kAdded[] = {1, 1, 2, 5};
                  for (unsigned i = 0; i < 4; ++i) {
                    out[2 * i] = static_cast<std::uint32_t>(pair + kAdded[i]);
                    out[2 * i + 1] = static_cast<std::uint32_t>((pair + kAdded[i]) >> 32);
                  }
                  out[8] = 2;
                  out[9] = 3;
                });
}

Derived unified() {
  return of_two("unified_addresses", 6, R"(
.global .attribute(.unified(19, 95)) .u32 shared_by_all[4] = {21, 22, 23, 24};)",
                R"(
ld.global.u32 %t6, [shared_by_all].unified;
st.global.u32 [%out], %t6;
ld.u32 %t6, [shared_by_all + 4].unified;
st.global.u32 [%out+4], %t6;
ld.global.v2.u32 {%t6, %t7}, [%in+8].unified;
st.global.v2.u32 [%out+8], {%t6, %t7};
mov.u64 %d1, shared_by_all;
ld.global.u32 %t6, [%d1 + 3 << 2].unified;
st.global.u32 [%out+16], %t6;
atom.global.exch.b32 %t6, [%out].unified, 77;
st.global.u32 [%out+20], %t6;)",
                [](const std::uint32_t* in, std::uint32_t* out) {
                  out[0] = 77;
                  out[1] = 22;
                  out[2] = in[2];
                  out[3] = in[3];
                  out[4] = 24;
                  out[5] = 21;
                });
}

/// Floats in registers wider than the bits that are stored: ptxas converts them to integers.
Derived wider_floats() {
  Derived row = of_two(
      "stores_of_wider_floats", 6, "", R"(
ld.global.f64 %g0, [%in];
ld.global.f32 %f0, [%in+8];
st.global.b32 [%out], %g0;
st.global.b16 [%out+4], %g0;
st.global.b8 [%out+6], %g0;
st.global.b16 [%out+8], %f0;
st.global.b8 [%out+10], %f0;
st.global.v2.b32 [%out+16], {%g0, %g0};
st.global.b32 [%out+12], %f0;)",
      [](const std::uint32_t* in, std::uint32_t* out) {
        const auto whole = [](double value, double most) {
          return static_cast<std::uint32_t>(value > 0 ? std::min(std::trunc(value), most) : 0.0);
        };
        const double wide = std::bit_cast<double>(std::uint64_t{in[1]} << 32 | in[0]);
        const double narrow = std::bit_cast<float>(in[2]);
        out[0] = out[4] = out[5] = whole(wide, 4294967295.0);
        out[1] = whole(wide, 65535) | whole(wide, 255) << 16;
        out[2] = whole(narrow, 65535) | whole(narrow, 255) << 16;
        out[3] = in[2];
      });
  std::mt19937 random(43);
  for (std::size_t i = 0; i < row.in.size(); i += 4) {
    // Up to 2^40, half of them below 2^10, some negative or below 1.
    const double wide = std::ldexp(static_cast<double>(random() % 2000) - 300.5,
                                   i % 8 ? 0 : static_cast<int>(random() % 30));
    const auto bits = std::bit_cast<std::uint64_t>(wide);
    row.in[i] = static_cast<std::uint32_t>(bits);
    row.in[i + 1] = static_cast<std::uint32_t>(bits >> 32);
    row.in[i + 2] = std::bit_cast<std::uint32_t>(static_cast<float>(wide) * 0.75f);
  }
  return row;
}

/// Special registers wider than what is converted: the low bits.
Derived narrowed_registers() {
  Derived row = of_two("conversions_of_wider_registers", 4, "", R"(
cvt.u32.u8 %t6, %lanemask_le;
cvt.s32.s8 %t7, %lanemask_le;
cvt.u32.u16 %t5, %lanemask_lt;
cvt.sat.u8.s16 %t4, %lanemask_lt;
st.global.v4.u32 [%out], {%t6, %t7, %t5, %t4};)",
                       {});
  row.check = all_threads([](const Words& in) {
    Words out(in.size());
    for (std::uint32_t thread = 0; 4 * thread < in.size(); ++thread) {
      const std::uint64_t lower = (std::uint64_t{1} << thread % 32) - 1, upto = 2 * lower + 1;
      const auto half = static_cast<std::int16_t>(lower);
      out[4 * thread] = static_cast<std::uint8_t>(upto);
      out[4 * thread + 1] = static_cast<std::uint32_t>(static_cast<std::int8_t>(upto));
      out[4 * thread + 2] = static_cast<std::uint16_t>(lower);
      out[4 * thread + 3] = static_cast<std::uint32_t>(std::clamp<int>(half, 0, 255));
    }
    return out;
  });
  return row;
}

/// Targets by number, a barrier's number of over 32 bits, and lines of a preprocessor.
Derived numbered_targets() {
  return of_two("targets_by_number", 1, "# 7 \"a.cu\"", R"(
#line 8 "a.cu"
bar.sync 0x100000005;
and.b32 %t6, %t2, 3;
T: .branchtargets M, L<2>, M;
brx.idx %t6, T;
L1: add.u32 %t7, %t3, 100;
bra E;
L0: add.u32 %t7, %t3, 200;
bra E;
M: add.u32 %t7,
  # 9 "b.cu"
  %t3, 300;
E: st.global.u32 [%out], %t7;)",
                [](const std::uint32_t* in, std::uint32_t* out) {
                  constexpr std::uint32_t kAdded[] = {300, 200, 100, 300};
                  out[0] = in[1] + kAdded[in[0] & 3];
                });
}

}  // namespace

std::vector<Derived> language_rows() {
  return {masks(),
          initialisers(),
          sums(),
          named_places(),
          unified(),
          wider_floats(),
          narrowed_registers(),
          numbered_targets()};
}

}  // namespace ptx2spv::tests
