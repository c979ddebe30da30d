// Atomics that devices lack, by many threads on few words: what each one found and what is there in
// the end has come about one after the other. Threads come by two branches, in loops that they
// leave at different times, with equal operands and with different ones.
#include <algorithm>
#include <bit>
#include <cmath>

#include "tests/runtime/fixture.hpp"
#include "tests/support/order.hpp"

namespace ptx2spv {
namespace {

constexpr std::uint32_t kRounds = 3;

struct Operation {
  const char* name;
  const char* text;  ///< AT is the address, %r9 the operand, %r10 what was found
  std::uint32_t bytes;
  std::uint32_t first;
  std::vector<std::uint32_t> operands;
  std::uint32_t (*left)(std::uint32_t found, std::uint32_t operand, bool shared);
};
void PrintTo(const Operation& it, std::ostream* out) { *out << it.name; }

std::uint32_t incremented(std::uint32_t found, std::uint32_t bound, bool) {
  return found >= bound ? 0 : found + 1;
}
std::uint32_t decremented(std::uint32_t found, std::uint32_t bound, bool) {
  return found == 0 || found > bound ? bound : found - 1;
}

// Sums in global memory flush denormals.
std::uint32_t float_sum(std::uint32_t found, std::uint32_t operand, bool shared) {
  const auto taken = [shared](std::uint32_t bits) {
    const float value = std::bit_cast<float>(bits);
    return !shared && std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
  };
  return std::bit_cast<std::uint32_t>(
      taken(std::bit_cast<std::uint32_t>(taken(found) + taken(operand))));
}

/// Whole numbers below 2,048 as halves, which their sums are too.
std::uint32_t half_of(std::uint32_t number) {
  if (number == 0) return 0;
  const unsigned exponent = std::bit_width(number) - 1u;
  return (exponent + 15) << 10 | ((number << 10 >> exponent) & 0x3ff);
}
std::uint32_t number_of(std::uint32_t half) {
  return half == 0 ? 0 : (0x400 | (half & 0x3ff)) >> (25 - (half >> 10));
}
std::uint32_t half_sum(std::uint32_t found, std::uint32_t operand, bool) {
  return half_of(number_of(found) + number_of(operand));
}
std::uint32_t pair_sum(std::uint32_t found, std::uint32_t operand, bool) {
  return half_sum(found & 0xffff, operand & 0xffff, false) |
         half_sum(found >> 16, operand >> 16, false) << 16;
}
std::uint32_t swapped(std::uint32_t found, std::uint32_t operand, bool) {
  return found == (operand & 0xffff) ? operand >> 16 : found;
}

std::uint32_t sum(std::uint32_t found, std::uint32_t operand, bool) { return found + operand; }
std::uint32_t larger(std::uint32_t found, std::uint32_t operand, bool) {
  return std::max(found, operand);
}

const Operation kOperations[] = {
    {"inc", "atom.SPACE.inc.u32 %r10, [AT], %r9;", 4, 0, {6}, incremented},
    {"inc_to_several", "atom.SPACE.inc.u32 %r10, [AT], %r9;", 4, 9, {5, 0, 40, ~0u}, incremented},
    {"inc_far", "atom.SPACE.inc.u32 %r10, [AT], %r9;", 4, ~0u - 20, {~0u}, incremented},
    {"inc_to_nothing", "atom.SPACE.inc.u32 %r10, [AT], %r9;", 4, 3, {0}, incremented},
    {"dec", "atom.SPACE.dec.u32 %r10, [AT], %r9;", 4, 100, {6}, decremented},
    {"dec_to_several", "atom.SPACE.dec.u32 %r10, [AT], %r9;", 4, 3, {5, 0, 40, ~0u}, decremented},
    {"float_sum",
     "mov.b32 %f0, %r9; atom.SPACE.add.f32 %f1, [AT], %f0; mov.b32 %r10, %f1;",
     4,
     0x00000007,
     {0x00300000, 0x3dcccccd, 0x80200000, 0x41234567, 0x80100001, 0x4b000001},
     float_sum},
    {"half_sum",
     "cvt.u16.u32 %h0, %r9; atom.SPACE.add.noftz.f16 %h1, [AT], %h0; cvt.u32.u16 %r10, %h1;",
     2,
     half_of(1),
     {half_of(1), half_of(2), half_of(3)},
     half_sum},
    {"pair_sum",
     "atom.SPACE.add.noftz.f16x2 %r10, [AT], %r9;",
     4,
     half_of(5),
     {half_of(1), half_of(2) << 16, half_of(3) | half_of(1) << 16},
     pair_sum},
    {"swap_of_16_bits",
     "mov.b32 {%h0, %h1}, %r9; atom.SPACE.cas.b16 %h2, [AT], %h0, %h1; cvt.u32.u16 %r10, %h2;",
     2,
     1,
     {0x00020001, 0x00030002, 0x00010003, 0x00010002},
     swapped},
    {"sum_of_64_bits",
     "cvt.u64.u32 %d7, %r9; atom.SPACE.add.u64 %d8, [AT], %d7; cvt.u32.u64 %r10, %d8;",
     8,
     7,
     {1, 5, 1000},
     sum},
    {"sum_of_doubles",
     "cvt.rn.f64.u32 %e0, %r9; atom.SPACE.add.f64 %e1, [AT], %e0; cvt.rzi.u32.f64 %r10, %e1;",
     8,
     0,
     {1, 5, 1000},
     sum},
    {"maximum_of_64_bits",
     "cvt.u64.u32 %d7, %r9; atom.SPACE.max.u64 %d8, [AT], %d7; cvt.u32.u64 %r10, %d8;",
     8,
     3,
     {1, 5, 1000, 900, 4, 2000},
     larger},
};

std::string with(std::string text, const std::string& name, const std::string& value) {
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += value.size())
    text.replace(at, name.size(), value);
  return text;
}

// Thread t's round i: cell (7t + i) % words, operand (t / 2 + i) % count. It has t % 3 + 1 rounds.
std::string kernel(const Operation& it, bool shared) {
  std::string text = R"(
.shared .align 4 .b8 own[256];
.visible .entry k(.param .u64 out, .param .u64 cells, .param .u64 from, .param .u32 words,
                  .param .u32 count) {
  .reg .pred %p<3>;
  .reg .b16 %h<3>;
  .reg .b32 %r<16>;
  .reg .f32 %f<2>;
  .reg .f64 %e<2>;
  .reg .b64 %d<9>;
  ld.param.u64 %d0, [out];
  ld.param.u64 %d1, [cells];
  ld.param.u64 %d2, [from];
  ld.param.u32 %r4, [words];
  ld.param.u32 %r11, [count];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mad.lo.u32 %r3, %r1, %r2, %r0;
  shl.b32 %r12, %r0, 2;
  mul.lo.u32 %r13, %r1, SHARED;
  add.u32 %r13, %r13, %r12;
  cvt.u64.u32 %d3, %r13;
  add.u64 %d3, %d1, %d3;
  mov.u32 %r14, own;
  add.u32 %r12, %r12, %r14;
  setp.lt.u32 %p0, %r0, SHARED;
  setp.lt.and.u32 %p0, %r0, 64, %p0;
  @!%p0 bra begun;
  ld.global.u32 %r15, [%d3];
  st.shared.u32 [%r12], %r15;
begun:
  bar.sync 0;
  mad.lo.u32 %r12, %r3, 12, 0;
  cvt.u64.u32 %d4, %r12;
  add.u64 %d4, %d0, %d4;
  rem.u32 %r7, %r3, 3;
  and.b32 %r8, %r3, 4;
  setp.eq.u32 %p1, %r8, 0;
  mov.u32 %r5, 0;
again:
  mad.lo.u32 %r6, %r3, 7, %r5;
  rem.u32 %r6, %r6, %r4;
  mul.lo.u32 %r6, %r6, BYTES;
  shr.u32 %r8, %r3, 1;
  add.u32 %r8, %r8, %r5;
  rem.u32 %r8, %r8, %r11;
  mul.wide.u32 %d5, %r8, 4;
  add.u64 %d5, %d2, %d5;
  ld.global.u32 %r9, [%d5];
  cvt.u64.u32 %d6, %r6;
  add.u64 %d6, %d1, %d6;
  add.u32 %r6, %r6, %r14;
  @%p1 bra other;
  OPERATION
  bra joined;
other:
  OPERATION
joined:
  st.global.u32 [%d4], %r10;
  add.u64 %d4, %d4, 4;
  add.u32 %r5, %r5, 1;
  setp.le.u32 %p2, %r5, %r7;
  @%p2 bra again;
  bar.sync 0;
  @!%p0 bra done;
  shl.b32 %r12, %r0, 2;
  add.u32 %r12, %r12, %r14;
  ld.shared.u32 %r15, [%r12];
  st.global.u32 [%d3], %r15;
done:
  ret;
}
)";
  text = with(text, "OPERATION", it.text);
  text = with(text, "SPACE", shared ? "shared" : "global");
  text = with(text, "AT]", shared ? "%r6]" : "%d6]");
  text = with(text, "SHARED", shared ? "256" : "0");
  return with(text, "BYTES", std::to_string(it.bytes));
}

class Atomics : public testing::TestWithParam<Operation> {};

TEST_P(Atomics, come_one_after_the_other) {
  const Operation& it = GetParam();
  constexpr std::uint32_t kBlocks = 3, kCells = 64;
  for (const bool shared : {false, true}) {
    Module module = load(kernel(it, shared));
    const Kernel k = must(module.kernel("k"));
    for (const std::uint32_t threads : {64u, 96u})
      for (const std::uint32_t words : {1u, 3u, it.bytes == 8 ? kCells / 2 : kCells}) {
        // A block has 256 bytes of its own in shared memory, all use the first ones in global.
        const std::uint32_t copies = shared ? kBlocks : 1, all = kBlocks * threads;
        const std::uint32_t filler = it.bytes == 2 ? it.first | it.first << 16 : it.first;
        Buffer out = must(Buffer::create(test_device(), std::uint64_t{12} * all));
        Buffer cells = must(Buffer::create(test_device(), 256 * kBlocks));
        Buffer from = must(Buffer::create(test_device(), 64));
        std::vector<std::uint32_t> filled(64 * kBlocks, filler);
        for (std::size_t i = 1; it.bytes == 8 && i < filled.size(); i += 2) filled[i] = 0;
        must(cells.upload(0, bytes_of(filled)));
        must(from.upload(0, bytes_of(it.operands)));
        LaunchConfig config;
        config.grid = {kBlocks, 1, 1};
        config.block = {threads, 1, 1};
        const auto count = static_cast<std::uint32_t>(it.operands.size());
        must(k.launch(config,
                      Args().buffer(out).buffer(cells).buffer(from).value(words).value(count)));
        const auto found = read_buffer<std::uint32_t>(out, std::size_t{3} * all);
        const auto last = read_buffer<std::uint8_t>(cells, 256 * kBlocks);
        std::vector<std::vector<test::Step>> steps(std::size_t{copies} * words);
        for (std::uint32_t t = 0; t < all; ++t)
          for (std::uint32_t i = 0; i <= t % kRounds; ++i) {
            const std::uint32_t cell = (7 * t + i) % words, old = found[3 * t + i];
            steps[(shared ? t / threads * words : 0) + cell].push_back(
                {old, it.left(old, it.operands[(t / 2 + i) % count], shared)});
          }
        for (std::uint32_t copy = 0; copy < copies; ++copy)
          for (std::uint32_t cell = 0; cell < words; ++cell) {
            std::uint64_t now = 0;
            std::memcpy(&now, &last[256 * copy + std::size_t{it.bytes} * cell], it.bytes);
            if (it.name == std::string_view("sum_of_doubles"))
              now = static_cast<std::uint64_t>(std::bit_cast<double>(now));
            EXPECT_TRUE(test::has_order(it.first, now, steps[copy * words + cell]))
                << (shared ? "shared" : "global") << ", " << words << " words, cell " << cell
                << " of block " << copy << ", which holds " << now;
          }
      }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Atomics, testing::ValuesIn(kOperations),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace ptx2spv
