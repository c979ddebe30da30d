// Questions about float operations. Each runs PTX instructions translated as the row's yes would
// have them: whether the results that depend on the row are right is what the row means.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "src/probe/ieee.hpp"
#include "src/probe/questions.hpp"

namespace ptx2spv::runtime {

namespace {

using ieee::Kind;

/// Whether a kernel gives the words of NVIDIA's hardware.
Answer right(Asker& asker, const Profile& profile, const ProbeKernel& kernel, std::uint32_t blocks,
             const Words& in) {
  return judged(asker.wrong(profile, kernel, blocks, kBlock, in),
                std::size_t{blocks} * kBlock * kernel.out);
}

/// Tuples of `each` single-precision numbers, as many as `blocks` have threads.
Words singles(std::uint32_t blocks, unsigned each, Kind kind, std::uint64_t seed) {
  ieee::Sequence sequence(seed);
  Words words;
  for (std::uint32_t i = 0; i < blocks * kBlock * each; ++i)
    words.push_back(ieee::single(sequence, kind));
  return words;
}

/// Asks about operands of single precision.
Answer ask32(Asker& asker, const Profile& profile, const ProbeKernel& kernel, Kind kind) {
  constexpr std::uint32_t kBlocks = 32;
  return right(asker, profile, kernel, kBlocks, singles(kBlocks, kernel.in, kind, 1));
}

Answer ask64(Asker& asker, const Profile& profile, const ProbeKernel& kernel, Kind kind) {
  constexpr std::uint32_t kBlocks = 16;
  ieee::Sequence sequence(2);
  Words in;
  for (std::uint32_t i = 0; i < kBlocks * kBlock * kernel.in / 2; ++i)
    ieee::wide(sequence, kind, in);
  return right(asker, profile, kernel, kBlocks, in);
}

constexpr std::string_view kLoad32 = "mov.b32 %f1, %r1;\nmov.b32 %f2, %r2;\nmov.b32 %f3, %r3;\n";

Answer denormals32(Asker& asker) {
  Profile profile = asker.profile();
  profile.exactness.denormals32 = true;
  profile.exactness.flushes_denormals32 = false;
  static const std::string body = std::string(kLoad32) +
                                  "add.rn.f32 %f4, %f1, %f2;\nsub.rn.f32 %f5, %f2, %f3;\n"
                                  "mul.rn.f32 %f6, %f1, %f2;\nmul.rn.f32 %f7, %f2, %f3;\n"
                                  "neg.f32 %f8, %f3;\nadd.rn.f32 %f8, %f8, %f1;\n"
                                  "st.global.f32 [%d1], %f4;\nst.global.f32 [%d1+4], %f5;\n"
                                  "st.global.f32 [%d1+8], %f6;\nst.global.f32 [%d1+12], %f7;\n"
                                  "st.global.f32 [%d1+16], %f8;\n";
  return ask32(asker, profile, {body, 3, 5}, Kind::any);
}

Answer flushes_denormals32(Asker& asker) {
  if (asker.profile().exactness.denormals32) return {0, "it keeps them"};
  Profile profile = asker.profile();
  profile.exactness.flushes_denormals32 = true;
  static const std::string body = std::string(kLoad32) +
                                  "add.rn.ftz.f32 %f4, %f1, %f2;\nsub.rn.ftz.f32 %f5, %f2, %f3;\n"
                                  "mul.rn.ftz.f32 %f6, %f1, %f2;\nsetp.lt.ftz.f32 %p1, %f1, %f3;\n"
                                  "selp.u32 %r8, 1, 0, %p1;\nsetp.eq.ftz.f32 %p2, %f2, %f3;\n"
                                  "selp.u32 %r9, 2, 0, %p2;\nor.b32 %r8, %r8, %r9;\n"
                                  "st.global.f32 [%d1], %f4;\nst.global.f32 [%d1+4], %f5;\n"
                                  "st.global.f32 [%d1+8], %f6;\nst.global.u32 [%d1+12], %r8;\n";
  return ask32(asker, profile, {body, 3, 4}, Kind::any);
}

Answer exact_compare32(Asker& asker) {
  Profile profile = asker.profile();
  profile.exactness.exact_compare32 = true;
  static const std::string body =
      std::string(kLoad32) +
      "setp.lt.f32 %p1, %f1, %f2;\nselp.u32 %r8, 1, 0, %p1;\n"
      "setp.le.f32 %p2, %f1, %f2;\nselp.u32 %r9, 2, 0, %p2;\nor.b32 %r8, %r8, %r9;\n"
      "setp.eq.f32 %p3, %f1, %f2;\nselp.u32 %r9, 4, 0, %p3;\nor.b32 %r8, %r8, %r9;\n"
      "setp.gt.f32 %p4, %f1, 0f00000000;\nselp.u32 %r9, 8, 0, %p4;\nor.b32 %r8, %r8, %r9;\n"
      "setp.ne.f32 %p5, %f3, 0f00000000;\nselp.u32 %r9, 16, 0, %p5;\nor.b32 %r8, %r8, %r9;\n"
      "st.global.u32 [%d1], %r8;\n";
  return ask32(asker, profile, {body, 3, 1}, Kind::any);
}

Answer both_kinds(Asker& asker, const Profile& profile, const ProbeKernel& kernel) {
  Answer answer = ask32(asker, profile, kernel, Kind::close);
  if (answer.value) answer = ask32(asker, profile, kernel, Kind::any);
  return answer;
}

Answer exact_div32(Asker& asker) {
  Profile profile = asker.profile();
  profile.exactness.exact_div32 = true;
  static const std::string body = std::string(kLoad32) +
                                  "div.rn.f32 %f4, %f1, %f2;\nrcp.rn.f32 %f5, %f3;\n"
                                  "st.global.f32 [%d1], %f4;\nst.global.f32 [%d1+4], %f5;\n";
  return both_kinds(asker, profile, {body, 3, 2});
}

Answer exact_sqrt32(Asker& asker) {
  Profile profile = asker.profile();
  profile.exactness.exact_sqrt32 = true;
  return both_kinds(
      asker, profile,
      {"mov.b32 %f1, %r1;\nsqrt.rn.f32 %f4, %f1;\nst.global.f32 [%d1], %f4;\n", 1, 1});
}

Answer fma_with(Asker& asker, bool ftz) {
  Profile profile = asker.profile();
  profile.exactness.fused_fma32 = true;
  profile.exactness.fma_denormals32 = !ftz;
  static const std::string plain =
      std::string(kLoad32) + "fma.rn.f32 %f4, %f1, %f2, %f3;\nst.global.f32 [%d1], %f4;\n";
  static const std::string flushed =
      std::string(kLoad32) + "fma.rn.ftz.f32 %f4, %f1, %f2, %f3;\nst.global.f32 [%d1], %f4;\n";
  return both_kinds(asker, profile, {ftz ? flushed : plain, 3, 1});
}

Answer fused_fma32(Asker& asker) { return fma_with(asker, true); }
Answer fma_denormals32(Asker& asker) {
  if (!asker.profile().exactness.fused_fma32) return {0, "it is not fused"};
  return fma_with(asker, false);
}

Answer exact_convert32(Asker& asker) {
  Profile profile = asker.profile();
  profile.exactness.exact_convert32 = true;
  return ask32(asker, profile,
               {"cvt.rn.f32.u32 %f4, %r1;\ncvt.rn.f32.s32 %f5, %r1;\n"
                "st.global.f32 [%d1], %f4;\nst.global.f32 [%d1+4], %f5;\n",
                1, 2},
               Kind::any);
}

/// Numbers of a few places before and after the point, ties and those beyond 32 bits among them;
/// first those next to where something changes.
Words with_fractions(std::uint32_t blocks) {
  constexpr std::uint32_t kEdges[] = {0x3effffff, 0x3f000000, 0x3f000001, 0x3f7fffff, 0x3fc00000,
                                      0x40200000, 0x4afffffd, 0x4affffff, 0x4b000001, 0x4effffff,
                                      0x4f000000, 0x4f000001, 0x4f7fffff, 0x4f800000, 0x4f800001,
                                      0x7f800001, 0x7fa00000, 0x7fffffff, 0x7f7fffff, 0x7f800000};
  Words words = singles(blocks, 1, Kind::any, 5);
  ieee::Sequence sequence(6);
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const std::uint32_t bits = sequence.next();
    const std::uint32_t fraction = i % 4 ? bits & 0x7fffff : bits & 0x780000;
    words[i] = (bits & 0x80000000) | (124 + (bits >> 23) % (i % 4 ? 38 : 8)) << 23 | fraction;
  }
  for (std::size_t i = 0; i < std::size(kEdges); ++i)
    words[2 * i] = kEdges[i], words[2 * i + 1] = kEdges[i] | 0x80000000;
  return words;
}

Answer exact_round32(Asker& asker) {
  constexpr std::uint32_t kBlocks = 32;
  Profile profile = asker.profile();
  profile.exactness.exact_round32 = true;
  std::string body = "mov.b32 %f1, %r1;\n";
  unsigned out = 0;
  for (const char* round : {"rni", "rzi", "rmi", "rpi"}) {
    body +=
        fmt::format("cvt.{}.f32.f32 %f4, %f1;\nst.global.f32 [%d1+{}], %f4;\n", round, 4 * out++);
    for (const char* to : {"s32", "u32"})
      body += fmt::format("cvt.{}.{}.f32 %r8, %f1;\nst.global.u32 [%d1+{}], %r8;\n", round, to,
                          4 * out++);
  }
  return right(asker, profile, {body, 1, out}, kBlocks, with_fractions(kBlocks));
}

/// Of any two numbers, of one and a constant, and as what saturates. The first pairs are all those
/// of zeros, denormals, infinities and NaN.
Answer exact_min32(Asker& asker) {
  Profile profile = asker.profile();
  profile.exactness.exact_min32 = true;
  static const std::string body = std::string(kLoad32) +
                                  "min.f32 %f4, %f1, %f2;\nst.global.f32 [%d1], %f4;\n"
                                  "max.f32 %f4, %f1, %f2;\nst.global.f32 [%d1+4], %f4;\n"
                                  "min.f32 %f4, %f1, 0f80000000;\nst.global.f32 [%d1+8], %f4;\n"
                                  "max.f32 %f4, %f1, 0f00000000;\nst.global.f32 [%d1+12], %f4;\n"
                                  "min.f32 %f4, %f1, 0f3f800000;\nst.global.f32 [%d1+16], %f4;\n"
                                  "cvt.sat.f32.f32 %f4, %f1;\nst.global.f32 [%d1+20], %f4;\n"
                                  "add.sat.f32 %f4, %f1, %f2;\nst.global.f32 [%d1+24], %f4;\n"
                                  "mul.sat.f32 %f4, %f1, %f2;\nst.global.f32 [%d1+28], %f4;\n";
  constexpr std::uint32_t kNumbers[] = {0x00000000, 0x80000000, 0x00000001, 0x80000001,
                                        0x007fffff, 0x807fffff, 0x00800000, 0x80800000,
                                        0x3f800000, 0xbf800000, 0x7f7fffff, 0x7f800000,
                                        0xff800000, 0x7fc00000, 0xffc12345, 0x7f923456};
  Words in;
  for (const std::uint32_t a : kNumbers)
    for (const std::uint32_t b : kNumbers) in.insert(in.end(), {a, b});
  for (const Kind kind : {Kind::any, Kind::close})
    std::ranges::copy(singles(14, 2, kind, 7), std::back_inserter(in));
  return right(asker, profile, {body, 2, 8}, static_cast<std::uint32_t>(in.size() / 2 / kBlock),
               in);
}

/// Every pair and triple of numbers that are NaN, or make one.
Answer canonical_nan32(Asker& asker) {
  Profile profile = asker.profile();
  profile.exactness.canonical_nan32 = true;
  static const std::string body = std::string(kLoad32) +
                                  "add.rn.f32 %f4, %f1, %f2;\nmul.rn.f32 %f5, %f1, %f2;\n"
                                  "fma.rn.f32 %f6, %f1, %f2, %f3;\ndiv.rn.f32 %f7, %f1, %f2;\n"
                                  "st.global.f32 [%d1], %f4;\nst.global.f32 [%d1+4], %f5;\n"
                                  "st.global.f32 [%d1+8], %f6;\nst.global.f32 [%d1+12], %f7;\n"
                                  "add.rn.ftz.f32 %f4, %f1, %f2;\nmul.rn.ftz.f32 %f5, %f1, %f2;\n"
                                  "st.global.f32 [%d1+16], %f4;\nst.global.f32 [%d1+20], %f5;\n";
  constexpr std::uint32_t kNumbers[] = {0x00000000, 0x80000000, 0x3fc00000, 0x7f800000,
                                        0xff800000, 0x7fc00000, 0xffc12345, 0x7f923456};
  Words in;
  for (const std::uint32_t a : kNumbers)
    for (const std::uint32_t b : kNumbers)
      for (const std::uint32_t c : kNumbers) in.insert(in.end(), {a, b, c});
  return right(asker, profile, {body, 3, 6}, 8, in);
}

/// The rows of double precision ask nothing of a device without it.
bool without_doubles(const Asker& asker, Answer& answer) {
  answer = {0, "it has no float64"};
  return !asker.profile().features.float64;
}

constexpr std::string_view kLoad64 = "mov.b64 %g1, {%r1, %r2};\nmov.b64 %g2, {%r3, %r4};\n";

Answer exact_float64(Asker& asker) {
  Answer answer;
  if (without_doubles(asker, answer)) return answer;
  Profile profile = asker.profile();
  profile.exactness.exact_float64 = true;
  static const std::string body = std::string(kLoad64) +
                                  "add.rn.f64 %g4, %g1, %g2;\nmul.rn.f64 %g5, %g1, %g2;\n"
                                  "st.global.f64 [%d1], %g4;\nst.global.f64 [%d1+8], %g5;\n"
                                  "setp.lt.f64 %p1, %g1, %g2;\nselp.f64 %g6, %g1, %g2, %p1;\n"
                                  "st.global.f64 [%d1+16], %g6;\n";
  answer = ask64(asker, profile, {body, 4, 6}, Kind::any);
  return answer.value ? ask64(asker, profile, {body, 4, 6}, Kind::close) : answer;
}

Answer second_nan64(Asker& asker) {
  Answer answer;
  if (without_doubles(asker, answer)) return answer;
  if (!asker.profile().exactness.exact_float64) return {0, "its float64 is not IEEE"};
  Profile profile = asker.profile();
  profile.exactness.second_nan64 = profile.exactness.fused_fma64 = true;
  static const std::string body = std::string(kLoad64) +
                                  "mov.b64 %g3, {%r5, %r6};\n"
                                  "add.rn.f64 %g4, %g1, %g2;\nmul.rn.f64 %g5, %g1, %g2;\n"
                                  "st.global.f64 [%d1], %g4;\nst.global.f64 [%d1+8], %g5;\n"
                                  "fma.rn.f64 %g4, %g1, %g2, %g3;\nst.global.f64 [%d1+16], %g4;\n";
  constexpr std::uint64_t kNans[] = {0x7ff8000000000001, 0xfff8000012345678, 0x7ff0000000000003,
                                     0xfffc000000000000, 0x7ff4000087654321, 0xfff8000000000000,
                                     0x7fffffffffffffff, 0xfff0000000000010, 0x3ff0000000000000};
  Words in;
  for (const std::uint64_t a : kNans)
    for (const std::uint64_t b : kNans)
      for (const std::uint64_t each : {a, b, a ^ 0x10})
        in.insert(in.end(),
                  {static_cast<std::uint32_t>(each), static_cast<std::uint32_t>(each >> 32)});
  return right(asker, profile, {body, 6, 6}, 1, in);
}

constexpr std::uint32_t kNanBlocks = 2;
/// Pairs of NaN and numbers.
Words nans64() {
  constexpr std::uint64_t kNans[] = {0x7ff8000000000001, 0xfff8000012345678, 0x7ff0000000000003,
                                     0xfffc000000000000, 0x7ff4000087654321, 0xfff8000000000000,
                                     0x7fffffffffffffff, 0xfff0000000000010, 0x3ff0000000000000,
                                     0xc008000000000000, 0x0000000000000000};
  Words in;
  for (const std::uint64_t a : kNans)
    for (const std::uint64_t b : kNans)
      for (const std::uint64_t each : {a, b})
        in.insert(in.end(),
                  {static_cast<std::uint32_t>(each), static_cast<std::uint32_t>(each >> 32)});
  in.resize(std::size_t{kNanBlocks} * kBlock * 4);
  return in;
}

Answer nan_signs64(Asker& asker) {
  Answer answer;
  if (without_doubles(asker, answer)) return answer;
  if (!asker.profile().exactness.exact_float64) return {0, "its float64 is not IEEE"};
  Profile profile = asker.profile();
  profile.exactness.nan_signs64 = true;
  static const std::string body =
      std::string(kLoad64) +
      "mov.b64 %g3, 0d4008000000000000;\n"
      "neg.f64 %g4, %g1;\nabs.f64 %g5, %g2;\nneg.f64 %g6, %g5;\n"
      "add.rn.f64 %g7, %g4, %g3;\nst.global.f64 [%d1], %g7;\n"
      "mul.rn.f64 %g7, %g3, %g5;\nst.global.f64 [%d1+8], %g7;\n"
      "sub.rn.f64 %g7, %g3, %g1;\nst.global.f64 [%d1+16], %g7;\n"
      "fma.rn.f64 %g7, %g4, 0d3FF8000000000000, %g3;\nst.global.f64 [%d1+24], %g7;\n"
      "fma.rn.f64 %g7, %g3, 0d3FF8000000000000, %g6;\nst.global.f64 [%d1+32], %g7;\n"
      "div.rn.f64 %g7, %g4, %g3;\nst.global.f64 [%d1+40], %g7;\n"
      "sqrt.rn.f64 %g7, %g4;\nst.global.f64 [%d1+48], %g7;\n"
      "cvt.rni.f64.f64 %g7, %g6;\nst.global.f64 [%d1+56], %g7;\n";
  return right(asker, profile, {body, 4, 16}, kNanBlocks, nans64());
}

/// Numbers of a few places before and after the point, ties, those beyond 32 and 53 bits and NaN.
Answer exact_round64(Asker& asker) {
  constexpr std::uint32_t kBlocks = 32;
  constexpr std::uint64_t kEdges[] = {
      0x3fdfffffffffffff, 0x3fe0000000000000, 0x3fe0000000000001, 0x3ff8000000000000,
      0x4004000000000000, 0x41dfffffffbfffff, 0x41dfffffffc00000, 0x41dfffffffe00000,
      0x41e0000000000000, 0x41e0000000200000, 0x41efffffffe00000, 0x41effffffff00000,
      0x41f0000000000000, 0x4330000000000001, 0x7fefffffffffffff, 0x7ff0000000000000,
      0x7ff0000000000001, 0x7ff4000000000000, 0x7fffffffffffffff, 0x0000000000000001};
  Answer answer;
  if (without_doubles(asker, answer)) return answer;
  Profile profile = asker.profile();
  profile.exactness.exact_round64 = true;
  std::string body = "mov.b64 %g1, {%r1, %r2};\n";
  unsigned out = 0;
  for (const char* round : {"rni", "rzi", "rmi", "rpi"}) {
    body += fmt::format("cvt.{}.f64.f64 %g4, %g1;\nst.global.f64 [%d1+{}], %g4;\n", round, 4 * out);
    out += 2;
    for (const char* to : {"s32", "u32"})
      body += fmt::format("cvt.{}.{}.f64 %r8, %g1;\nst.global.u32 [%d1+{}], %r8;\n", round, to,
                          4 * out++);
  }
  Words in;
  const auto put = [&](std::uint64_t bits) {
    in.push_back(static_cast<std::uint32_t>(bits));
    in.push_back(static_cast<std::uint32_t>(bits >> 32));
  };
  for (const std::uint64_t edge : kEdges) put(edge), put(edge | std::uint64_t{1} << 63);
  ieee::Sequence sequence(9);
  while (in.size() < std::size_t{kBlocks} * kBlock * 2) {
    ieee::wide(sequence, Kind::any, in);
    const std::uint64_t high = sequence.next(), low = sequence.next();
    put((high & 0x800fffff) << 32 | (1020 + low % 60) << 52 | (low & 1 ? low : 0));
  }
  in.resize(std::size_t{kBlocks} * kBlock * 2);
  return right(asker, profile, {body, 2, out}, kBlocks, in);
}

Answer exact_div64(Asker& asker) {
  Answer answer;
  if (without_doubles(asker, answer)) return answer;
  Profile profile = asker.profile();
  profile.exactness.exact_float64 = profile.exactness.exact_div64 = true;
  static const std::string body = std::string(kLoad64) +
                                  "div.rn.f64 %g4, %g1, %g2;\nsqrt.rn.f64 %g5, %g1;\n"
                                  "st.global.f64 [%d1], %g4;\nst.global.f64 [%d1+8], %g5;\n";
  answer = ask64(asker, profile, {body, 4, 4}, Kind::any);
  return answer.value ? ask64(asker, profile, {body, 4, 4}, Kind::close) : answer;
}

Answer fused_fma64(Asker& asker) {
  Answer answer;
  if (without_doubles(asker, answer)) return answer;
  Profile profile = asker.profile();
  profile.exactness.exact_float64 = profile.exactness.fused_fma64 = true;
  static const std::string body = std::string(kLoad64) +
                                  "neg.f64 %g3, %g2;\nfma.rn.f64 %g4, %g1, %g2, %g3;\n"
                                  "st.global.f64 [%d1], %g4;\n";
  return ask64(asker, profile, {body, 4, 2}, Kind::close);
}

Answer exact_widen64(Asker& asker) {
  Answer answer;
  if (without_doubles(asker, answer)) return answer;
  Profile profile = asker.profile();
  profile.exactness.exact_float64 = profile.exactness.exact_widen64 = true;
  constexpr std::uint32_t kBlocks = 32;
  return right(asker, profile,
               {"mov.b32 %f1, %r1;\ncvt.f64.f32 %g1, %f1;\nst.global.f64 [%d1], %g1;\n", 1, 2},
               kBlocks, singles(kBlocks, 1, Kind::any, 3));
}

Answer exact_narrow64(Asker& asker) {
  Answer answer;
  if (without_doubles(asker, answer)) return answer;
  Profile profile = asker.profile();
  profile.exactness.exact_float64 = profile.exactness.exact_narrow64 = true;
  constexpr std::uint32_t kBlocks = 32;
  ieee::Sequence sequence(4);
  Words in;
  for (std::uint32_t i = 0; i < kBlocks * kBlock; ++i) {
    // Every third one becomes a denormal, every ninth one nothing or infinity.
    const std::uint32_t low = sequence.next(), high = sequence.next();
    const std::uint32_t exponent = i % 3 ? 900 + high % 250 : 870 + high % 30;
    in.push_back(i % 5 ? low : low & 0xf0000000);  // ties
    in.push_back((high & 0x800fffff) | exponent << 20);
  }
  return right(
      asker, profile,
      {"mov.b64 %g1, {%r1, %r2};\ncvt.rn.f32.f64 %f1, %g1;\nst.global.f32 [%d1], %f1;\n", 2, 1},
      kBlocks, in);
}

/// Every half, with another one beside it.
Words all_halves() {
  Words words;
  for (std::uint32_t i = 0; i < 0x10000; i += 2) words.push_back(i | (i + 1) << 16);
  return words;
}

Answer exact_widen16(Asker& asker) {
  Profile profile = asker.profile();
  profile.exactness.exact_widen16 = true;
  return right(asker, profile,
               {"mov.b32 {%h1, %h2}, %r1;\ncvt.f32.f16 %f1, %h1;\ncvt.f32.f16 %f2, %h2;\n"
                "st.global.f32 [%d1], %f1;\nst.global.f32 [%d1+4], %f2;\n",
                1, 2},
               0x8000 / kBlock, all_halves());
}

/// Tuples of words of two halves.
Words halves(std::uint32_t blocks, unsigned each, Kind kind) {
  ieee::Sequence sequence(6);
  Words words;
  for (std::uint32_t i = 0; i < blocks * kBlock * each; ++i) {
    const std::uint32_t low = ieee::half(sequence, kind);
    words.push_back(low | ieee::half(sequence, kind) << 16);
  }
  return words;
}

/// Products a little less than half an ulp of the addend, less than single precision shows beside
/// it: (1 + 2^-10) (1 - 2^-10), with any signs.
Words near_ties(std::uint32_t blocks) {
  ieee::Sequence sequence(7);
  const auto two = [&](std::uint32_t low, std::uint32_t high) {
    return (low | high << 16) ^ (sequence.next() & 0x80008000);
  };
  Words in;
  for (std::uint32_t i = 0; i < blocks * kBlock; ++i) {
    const std::uint32_t x = sequence.next() >> 8, a = 13 + x % 4, b = 9 + (x >> 4) % 6;
    const std::uint32_t c = (a + b - 15 + 11) << 10, left = x >> 8;
    in.push_back(two(a << 10 | 1, a << 10 | 1));
    in.push_back(two((b << 10) - 2, (b << 10) - 2));
    in.push_back(two(c | (left & 0x3ff), c | (left >> 6 & 0x3ff)));
  }
  return in;
}

Answer exact_float16(Asker& asker) {
  if (!asker.profile().features.float16) return {0, "it has no float16"};
  Profile profile = asker.profile();
  profile.exactness.exact_float16 = true;
  // Sums with zeros and products with one, which drivers simplify, among them.
  const ProbeKernel kernel = {
      "add.rn.f16x2 %r4, %r1, %r2;\nsub.rn.f16x2 %r5, %r2, %r3;\nmul.rn.f16x2 %r6, %r1, %r3;\n"
      "st.global.u32 [%d1], %r4;\nst.global.u32 [%d1+4], %r5;\nst.global.u32 [%d1+8], %r6;\n"
      "mov.b32 %r7, 0x80000000;\nadd.rn.f16x2 %r4, %r1, %r7;\n"
      "mov.b32 %r7, 0x80003c00;\nmul.rn.f16x2 %r5, %r1, %r7;\n"
      "fma.rn.f16x2 %r6, %r1, %r2, %r3;\nst.global.u32 [%d1+12], %r4;\n"
      "st.global.u32 [%d1+16], %r5;\nst.global.u32 [%d1+20], %r6;\n"
      "mov.b32 {%h1, %h2}, %r1;\nadd.rn.f16 %h3, %h1, %h2;\nmul.rn.f16 %h2, %h1, %h3;\n"
      "fma.rn.f16 %h3, %h1, %h2, %h3;\nmov.b32 %r6, {%h3, %h2};\n"
      "add.rn.f16x2 %r8, %r6, %r2;\nmul.rn.f16x2 %r8, %r8, %r3;\n"
      "st.global.u32 [%d1+24], %r6;\nst.global.u32 [%d1+28], %r8;\n",
      3, 8};
  constexpr std::uint32_t kBlocks = 32;
  Words in = near_ties(kBlocks);
  for (const Kind kind : {Kind::any, Kind::normal, Kind::close}) {
    const Words more = halves(kBlocks, kernel.in, kind);
    in.insert(in.end(), more.begin(), more.end());
  }
  return right(asker, profile, kernel, 4 * kBlocks, in);
}

/// Every NaN, and numbers that make one.
Answer canonical_nan16(Asker& asker) {
  Profile profile = asker.profile();
  profile.exactness.canonical_nan16 = true;
  constexpr std::uint32_t kNumbers[] = {0x0000, 0x8000, 0x3e00, 0x7c00, 0xfc00,
                                        0x7e00, 0xfe12, 0x7c91, 0xffff, 0xfc01};
  Words in;
  for (const std::uint32_t a : kNumbers)
    for (const std::uint32_t b : kNumbers)
      for (const std::uint32_t c : kNumbers)
        in.insert(in.end(), {a | b << 16, b | c << 16, c | a << 16, c << 16 | b});
  in.resize(in.size() / (4 * kBlock) * 4 * kBlock);
  return right(asker, profile,
               {"add.rn.f16x2 %r5, %r1, %r2;\nmul.rn.f16x2 %r6, %r1, %r2;\n"
                "fma.rn.f16x2 %r7, %r1, %r2, %r3;\nst.global.u32 [%d1], %r5;\n"
                "st.global.u32 [%d1+4], %r6;\nst.global.u32 [%d1+8], %r7;\n"
                "mov.b32 {%h1, %h2}, %r1;\ncvt.f32.f16 %f1, %h1;\nmov.b32 %f2, %r4;\n"
                "cvt.rn.f16.f32 %h1, %f2;\nmov.b32 %r5, {%h1, %h1};\n"
                "st.global.f32 [%d1+12], %f1;\nst.global.u32 [%d1+16], %r5;\n",
                4, 5},
               static_cast<std::uint32_t>(in.size() / 4 / kBlock), in);
}

/// Whether a word is within the bounds that the manual gives approximations. The emulation's are;
/// only hardware has the bits.
bool near(std::uint32_t want, std::uint32_t got) {
  const float a = std::bit_cast<float>(want), b = std::bit_cast<float>(got);
  return want == got || std::fabs(a - b) <= 0x1p-10f * std::max(1.0f, std::fabs(a));
}

Answer native_approx(Asker& asker) {
  struct Function {
    const char* name;
    std::vector<std::uint32_t> pairs;
  };
  static const Function kFunctions[] = {
#define PTX2SPV_APPROXIMATION(name, ...) {#name, {__VA_ARGS__}},
#include "src/probe/approximations.def"
#undef PTX2SPV_APPROXIMATION
  };
  Profile profile = asker.profile();
  profile.exactness.native_approx = true;
  std::string body;
  Words in, want;
  std::size_t tuples = kFunctions[0].pairs.size() / 2;
  for (const Function& each : kFunctions) tuples = std::min(tuples, each.pairs.size() / 2);
  // A thread takes an operand for each function from memory: they are more than four.
  body = fmt::format("mul.wide.u32 %d3, %r0, {0};\nadd.u64 %d3, %d3, %d0;\n",
                     4 * std::size(kFunctions));
  for (std::size_t k = 0; k < std::size(kFunctions); ++k)
    body += fmt::format(
        "ld.global.f32 %f1, [%d3+{}];\n{}.approx.ftz.f32 %f2, %f1;\nst.global.f32 [%d1+{}], %f2;\n",
        16 + 4 * k, kFunctions[k].name, 4 * k);
  for (std::size_t i = 0; i < tuples; ++i)
    for (const Function& each : kFunctions) {
      in.push_back(each.pairs[2 * i]);
      want.push_back(each.pairs[2 * i + 1]);
    }
  auto outcome = asker.run(profile, {body, 0, std::size(kFunctions)}, 1,
                           static_cast<std::uint32_t>(tuples), in);
  if (!outcome.error.empty()) return {0, outcome.error};
  if (asker.interpreted())
    std::ranges::transform(want, outcome.words, want.begin(),
                           [](auto a, auto b) { return near(a, b) ? b : a; });
  return judged(differences(want, outcome.words), want.size());
}

}  // namespace

std::span<const Question> float_questions() {
  static constexpr Question kQuestions[] = {
      {"denormals32", "are sums and products of float32 IEEE, denormals included?", denormals32},
      {"flushes_denormals32", "or are denormals zero, as operands and as results?",
       flushes_denormals32},
      {"exact_compare32", "do comparisons of float32 tell denormals from zero?", exact_compare32},
      {"exact_div32", "is division of float32 IEEE?", exact_div32},
      {"exact_sqrt32", "is the square root of float32 IEEE?", exact_sqrt32},
      {"fused_fma32", "is Fma of float32 rounded once?", fused_fma32},
      {"fma_denormals32", "with denormals too?", fma_denormals32},
      {"exact_float64", "are sums, products and comparisons of float64 IEEE?", exact_float64},
      {"exact_div64", "are division and square root of float64 IEEE?", exact_div64},
      {"fused_fma64", "is Fma of float64 rounded once?", fused_fma64},
      {"exact_widen64", "does float32 to float64 keep denormals and what NaN carry?",
       exact_widen64},
      {"exact_narrow64", "does float64 to float32 round to nearest even, with denormals?",
       exact_narrow64},
      {"exact_convert32", "do integers become float32 by round to nearest even?", exact_convert32},
      {"canonical_nan32", "does float32 arithmetic give 0x7fffffff for every NaN?",
       canonical_nan32},
      {"exact_round32", "do float32 become whole numbers and integers as by cvt?", exact_round32},
      {"exact_min32", "are NMin and NMax of float32 min and max?", exact_min32},
      {"second_nan64", "of two NaN, do float64 sums, products and fma keep NVIDIA's?",
       second_nan64},
      {"exact_round64", "do float64 become whole numbers and integers as by cvt?", exact_round64},
      {"nan_signs64", "do FNegate and FAbs of float64 operands leave the signs of NaN?",
       nan_signs64},
      {"exact_widen16", "does float16 to float32 keep denormals?", exact_widen16},
      {"exact_float16", "are sums, products and Fma of float16 IEEE, denormals included?",
       exact_float16},
      {"canonical_nan16", "do float16 arithmetic and conversions of float16 give one NaN?",
       canonical_nan16},
      {"native_approx", "are Exp2, Log2, Sin, Cos, InverseSqrt and Sqrt NVIDIA's to the bit?",
       native_approx},
  };
  return kQuestions;
}

}  // namespace ptx2spv::runtime
