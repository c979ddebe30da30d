// Questions about products of matrices: whether each lane has the elements of a cooperative matrix
// that mma gives it, and whether the products are mma's. A kernel of mma, translated for yes, shows
// both.
#include <fmt/format.h>

#include "src/probe/ieee.hpp"
#include "src/probe/questions.hpp"

namespace ptx2spv::runtime {

namespace {

constexpr unsigned kMmaWords = 10;  ///< of a thread: four of a, two of b, four of c
constexpr std::uint32_t kMmaBlocks = 32;

/// Loads a thread's words into %r10 to %r19.
std::string loads(unsigned zeros) {
  std::string text =
      fmt::format("mul.wide.u32 %d3, %r0, {};\nadd.u64 %d3, %d3, %d0;\n", 4 * kMmaWords);
  for (unsigned i = 0; i < kMmaWords; ++i)
    text += fmt::format("ld.global.u32 %r{}, [%d3+{}];\n", 10 + i, 4 * (zeros + i));
  return text;
}

/// mma of `shape` and `types` of those words, with as many of a, b and c; stores its results.
std::string mma(std::string_view shape, std::string_view types, unsigned a, unsigned b, unsigned c,
                unsigned& out) {
  const auto list = [](std::string_view bank, unsigned first, unsigned count) {
    std::string text;
    for (unsigned i = 0; i < count; ++i)
      text += fmt::format("{}%{}{}", i ? ", " : "", bank, first + i);
    return text;
  };
  const bool floats = types.starts_with(".f32");
  const std::string_view bank = floats ? "f" : "r";
  std::string text;
  for (unsigned i = 0; floats && i < c; ++i)
    text += fmt::format("mov.b32 %f{}, %r{};\n", i, 16 + i);
  const unsigned to = floats ? 4 : 20, from = floats ? 0 : 16;
  text +=
      fmt::format("mma.sync.aligned.{}.row.col{} {{{}}}, {{{}}}, {{{}}}, {{{}}};\n", shape, types,
                  list(bank, to, c), list("r", 10, a), list("r", 14, b), list(bank, from, c));
  for (unsigned i = 0; i < c; ++i)
    text += fmt::format("st.global.b32 [%d1+{}], %{}{};\n", 4 * out++, bank, to + i);
  return text;
}

/// Of each warp's halves one kind: any, near one, denormals, specials, whole numbers that cancel,
/// all exponents, the largest, the smallest.
std::uint32_t half(ieee::Sequence& sequence, std::uint32_t kind) {
  constexpr std::uint32_t kSpecial[] = {0x7c00, 0xfc00, 0x7e01, 0x0000, 0x8000, 0x0001, 0x3c00};
  const std::uint32_t bits = sequence.next() & 0xffff, rest = bits & 0x83ff, other = bits >> 10;
  switch (kind) {
    case 1: return rest | (12 + other % 8) << 10;
    case 2: return rest;
    case 3: return other % 4 ? 0x3c00 | rest : kSpecial[bits % std::size(kSpecial)];
    case 4: return (bits & 0x8003) | 0x3c00;
    case 5: return rest | (1 + other % 30) << 10;
    case 6: return rest | (28 + other % 3) << 10;
    case 7: return rest | other % 6 << 10;
    default: return bits;
  }
}

std::uint32_t single(ieee::Sequence& sequence, std::uint32_t kind) {
  const std::uint32_t bits = sequence.next(), rest = bits & 0x807fffff, other = bits >> 23 & 255;
  switch (kind) {
    case 1: return rest | (115 + other % 20) << 23;
    case 2: return other % 3 ? rest | (80 + other % 30) << 23 : 0;
    case 3: return ieee::single(sequence, ieee::Kind::any);
    case 4: return (bits & 0x80f00000) | 0x41000000;
    case 5: return rest | (100 + other % 50) << 23;
    case 6:
    case 7: return rest | (90 + other % 70) << 23;
    default: return bits;
  }
}

std::uint32_t bfloat(ieee::Sequence& sequence, std::uint32_t kind) {
  return single(sequence, kind) >> 16;
}

/// What is wrong with mma of elements of 16 bits; `types` end with that of c.
std::string wrong_halves(Asker& asker, const Profile& profile, std::string_view types,
                         std::uint64_t seed) {
  const bool sums_of_halves = types.ends_with(".f16"), wide = types.find("bf16") != types.npos;
  ProbeKernel kernel;
  kernel.out = 0;
  std::string body = loads(kernel.zeros);
  const unsigned sums = sums_of_halves ? 2 : 4;
  body += mma("m16n8k16", types, 4, 2, sums, kernel.out);
  body += mma("m16n8k8", types, 2, 1, sums, kernel.out);
  kernel.body = body;
  ieee::Sequence sequence(seed);
  Words in;
  for (std::uint32_t t = 0; t < kMmaBlocks * kBlock; ++t)
    for (unsigned i = 0; i < kMmaWords; ++i) {
      const std::uint32_t kind = t / 32 % 8;
      const auto element = wide ? bfloat : half;
      const auto low = element(sequence, kind), high = element(sequence, kind);
      in.push_back(i < 6 || sums_of_halves ? low | high << 16 : single(sequence, kind));
    }
  return asker.wrong(profile, kernel, kMmaBlocks, kBlock, in);
}

Answer exact_matrices_f16(Asker& asker) {
  if (!asker.profile().features.matrices_f16) return {0, "it has no such matrices"};
  if (!asker.profile().exactness.native_warps) return {0, "its subgroups are no warps"};
  Profile profile = asker.profile();
  profile.exactness.exact_matrices_f16 = true;
  std::string wrong = wrong_halves(asker, profile, ".f32.f16.f16.f32", 6);
  if (wrong.empty()) wrong = wrong_halves(asker, profile, ".f16.f16.f16.f16", 5);
  return judged(wrong, std::size_t{kMmaBlocks} * kBlock * 12);
}

Answer exact_matrices_bf16(Asker& asker) {
  if (!asker.profile().features.matrices_bf16) return {0, "it has no such matrices"};
  if (!asker.profile().exactness.native_warps) return {0, "its subgroups are no warps"};
  Profile profile = asker.profile();
  profile.exactness.exact_matrices_bf16 = true;
  return judged(wrong_halves(asker, profile, ".f32.bf16.bf16.f32", 8),
                std::size_t{kMmaBlocks} * kBlock * 8);
}

Answer exact_matrices_s8(Asker& asker) {
  if (!asker.profile().features.matrices_s8) return {0, "it has no such matrices"};
  if (!asker.profile().exactness.native_warps) return {0, "its subgroups are no warps"};
  Profile profile = asker.profile();
  profile.exactness.exact_matrices_s8 = true;
  ProbeKernel kernel;
  kernel.out = 0;
  std::string body = loads(kernel.zeros);
  for (const std::string_view types : {".s32.s8.s8.s32", ".s32.u8.u8.s32"}) {
    body += mma("m16n8k32", types, 4, 2, 4, kernel.out);
    body += mma("m16n8k16", types, 2, 1, 4, kernel.out);
    body += mma("m8n8k16", types, 1, 1, 2, kernel.out);
  }
  kernel.body = body;
  ieee::Sequence sequence(7);
  Words in;
  for (std::uint32_t i = 0; i < kMmaBlocks * kBlock * kMmaWords; ++i) in.push_back(sequence.next());
  return judged(asker.wrong(profile, kernel, kMmaBlocks, kBlock, in),
                std::size_t{kMmaBlocks} * kBlock * kernel.out);
}

}  // namespace

std::span<const Question> matrix_questions() {
  static constexpr Question kQuestions[] = {
      {"exact_matrices_f16", "are products of cooperative matrices of f16 those of mma?",
       exact_matrices_f16},
      {"exact_matrices_bf16", "are products of cooperative matrices of bf16 those of mma?",
       exact_matrices_bf16},
      {"exact_matrices_s8", "are products of cooperative matrices of s8 and u8 those of mma?",
       exact_matrices_s8},
  };
  return kQuestions;
}

}  // namespace ptx2spv::runtime
