// bench_arithmetic: what exact floating point costs beside the device's own, operation by
// operation.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/main.hpp"
#include "bench/median.hpp"
#include "ptx2spv/runtime.hpp"
#include "ptx2spv/translator.hpp"
#include "tools/common/options.hpp"

namespace ptx2spv::bench {
namespace {

using namespace tools;

enum Id : int { opt_device = 1, opt_rounds };

constexpr Option kOptions[] = {
    device_option(opt_device),
    {opt_rounds, 'r', "rounds", "N",
     "medians of N rounds, in which the policies take turns; 9 when not given"},
};
constexpr Tool kTool = {
    "bench_arithmetic",
    "[OPTION...]",
    "times floating-point operations by each policy",
    "A chain of 16 operations in a loop, on operands near 1 that come out of memory, less the same "
    "loop with one. Instructions are those of a module with one operation more, without bit casts.",
    kOptions,
    kMeasuredExits};

/// An operation on %T0, which it changes, and %T1 and %T2, which stay; T is f, d or h.
struct Row {
  const char* name;
  const char* text;
  char format = 'f';
};
constexpr Row kRows[] = {
    {"f32 add.rn", "add.rn.f32 %f0, %f0, %f1;"},
    {"f32 mul.rn", "mul.rn.f32 %f0, %f0, %f1;"},
    {"f32 fma.rn", "fma.rn.f32 %f0, %f0, %f1, %f2;"},
    {"f32 div.rn", "div.rn.f32 %f0, %f1, %f0;"},
    {"f32 rcp.rn", "rcp.rn.f32 %f0, %f0;\nadd.rn.ftz.f32 %f0, %f0, %f2;"},
    {"f32 sqrt.rn", "sqrt.rn.f32 %f0, %f0;"},
    {"f32 add.rz", "add.rz.f32 %f0, %f0, %f1;"},
    {"f32 mul.rz", "mul.rz.f32 %f0, %f0, %f1;"},
    {"f32 fma.rz", "fma.rz.f32 %f0, %f0, %f1, %f2;"},
    {"f32 div.rz", "div.rz.f32 %f0, %f1, %f0;"},
    {"f32 add.rn of a constant", "add.rn.f32 %f0, %f0, 0f3a83126f;"},
    {"f32 min", "min.f32 %f0, %f0, %f1;\nadd.rn.ftz.f32 %f0, %f0, %f2;"},
    {"f32 div.approx", "div.approx.f32 %f0, %f1, %f0;"},
    {"f32 ex2.approx", "ex2.approx.f32 %f0, %f0;\nadd.rn.ftz.f32 %f0, %f0, 0fbf800000;"},
    {"f32 lg2.approx", "lg2.approx.f32 %f0, %f0;\nadd.rn.ftz.f32 %f0, %f0, 0f3f800000;"},
    {"f32 sin.approx", "sin.approx.f32 %f0, %f0;\nadd.rn.ftz.f32 %f0, %f0, 0f3f800000;"},
    {"f32 rsqrt.approx", "rsqrt.approx.f32 %f0, %f0;"},
    {"f32 tanh.approx", "tanh.approx.f32 %f0, %f0;\nadd.rn.ftz.f32 %f0, %f0, 0f3f800000;"},
    {"f64 add.rn", "add.rn.f64 %d0, %d0, %d1;", 'd'},
    {"f64 mul.rn", "mul.rn.f64 %d0, %d0, %d1;", 'd'},
    {"f64 fma.rn", "fma.rn.f64 %d0, %d0, %d1, %d2;", 'd'},
    {"f64 div.rn", "div.rn.f64 %d0, %d1, %d0;", 'd'},
    {"f64 sqrt.rn", "sqrt.rn.f64 %d0, %d0;", 'd'},
    {"f16 add.rn", "add.rn.f16 %h0, %h0, %h1;", 'h'},
    {"f16 fma.rn", "fma.rn.f16 %h0, %h0, %h1, %h2;", 'h'},
    {"cvt.rn.f32.f64 and back", "cvt.rn.f32.f64 %f0, %d0;\ncvt.f64.f32 %d0, %f0;", 'd'},
    {"cvt.rzi.s32.f32 and back", "cvt.rzi.s32.f32 %t1, %f0;\ncvt.rn.f32.s32 %f0, %t1;"},
    {"cvt.rn.f16.f32 and back", "cvt.rn.f16.f32 %h0, %f0;\ncvt.f32.f16 %f0, %h0;"},
};

constexpr unsigned kChain = 16, kIterations = 16;
constexpr std::uint32_t kBlock = 128, kGrid = 64;

std::string kernel_text(const Row& row, unsigned count) {
  const char* type = row.format == 'f' ? "f32" : row.format == 'd' ? "f64" : "b16";
  std::string text =
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 iterations)\n{\n"
      ".reg .b32 %t<4>;\n.reg .b64 %a<4>;\n.reg .f32 %f<4>;\n.reg .f64 %d<4>;\n.reg .b16 %h<4>;\n"
      ".reg .pred %p;\n"
      "ld.param.u64 %a0, [in];\nld.param.u64 %a1, [out];\nld.param.u32 %t0, [iterations];\n"
      "mov.u32 %t1, %ctaid.x;\nmov.u32 %t2, %tid.x;\n";
  text += fmt::format("mad.lo.u32 %t1, %t1, {}, %t2;\nmad.wide.u32 %a1, %t1, 8, %a1;\n", kBlock);
  for (unsigned i = 0; i < 3; ++i)
    text += fmt::format("ld.global.{} %{}{}, [%a0+{}];\n", type, row.format, i, i * 8);
  // With a volatile load the loop stands once, with the operations that straight code has.
  text += "again:\nld.volatile.global.u32 %t3, [%a0];\n";
  for (unsigned i = 0; i < count; ++i) text += fmt::format("{}\n", row.text);
  text += "sub.u32 %t0, %t0, 1;\nsetp.ne.u32 %p, %t0, 0;\n@%p bra again;\n";
  return text + fmt::format("st.global.{} [%a1], %{}0;\nret;\n}}\n", type, row.format);
}

/// Instructions that an iteration of the kernel's loop has, without bit casts.
std::size_t instructions(const std::string& text, const Profile& profile, FpPolicy policy) {
  constexpr std::uint32_t kUndef = 1, kLine = 8, kEntryPoint = 15, kFunction = 54, kParameter = 55,
                          kFunctionEnd = 56, kCall = 57, kBitcast = 124, kLabel = 248,
                          kReturn = 254, kNoLine = 317;
  std::vector<Message> messages;
  const auto module = PtxModule::parse({{text, "arithmetic.ptx"}}, messages);
  TranslateOptions options;
  options.profile = profile;
  options.fp = policy;
  const auto done = module ? module->translate(options, messages) : std::nullopt;
  if (!done) return 0;
  // What a function holds, and a call what its function does.
  const std::vector<std::uint32_t>& words = done->spirv;
  std::vector<std::size_t> held(words[3]);
  std::vector<std::vector<std::uint32_t>> calls(words[3]);
  std::uint32_t entry = 0, inside = 0;
  for (std::size_t at = 5; at < words.size(); at += words[at] >> 16) {
    const std::uint32_t op = words[at] & 0xffff;
    if (op == kEntryPoint) entry = words[at + 2];
    if (op == kFunction) inside = words[at + 2];
    if (op == kFunctionEnd) inside = 0;
    if (!inside) continue;
    if (op == kCall) calls[inside].push_back(words[at + 3]);
    held[inside] += op != kFunction && op != kParameter && op != kLabel && op != kBitcast &&
                    op != kLine && op != kNoLine && op != kUndef && op != kCall && op != kReturn;
  }
  const std::function<std::size_t(std::uint32_t)> whole = [&](std::uint32_t function) {
    std::size_t sum = held[function];
    for (const std::uint32_t callee : calls[function]) sum += whole(callee);
    return sum;
  };
  return whole(entry);
}

int fail(const Error& error) {
  std::fprintf(stderr, "bench_arithmetic: error: %s\n", error.text.c_str());
  return 2;
}

struct Side {
  Kernel kernel;
  FpPolicy fp;
  std::vector<double> times;
};

int measure(const Device& device, const Row& row, unsigned rounds) {
  constexpr FpPolicy kPolicies[] = {FpPolicy::exact, FpPolicy::fast};
  constexpr unsigned kLengths[] = {1, kChain};
  // 1.0625, 1.25 and 0.001 in each format
  constexpr std::uint64_t kSingle[] = {0x3f880000, 0x3fa00000, 0x3a83126f},
                          kDouble[] = {0x3ff1000000000000, 0x3ff4000000000000, 0x3f50624dd2f1a9fc},
                          kHalf[] = {0x3c40, 0x3d00, 0x1419};
  const std::span<const std::uint64_t> operands = row.format == 'f'   ? std::span(kSingle)
                                                  : row.format == 'd' ? std::span(kDouble)
                                                                      : std::span(kHalf);
  auto from = Buffer::create(device, operands.size_bytes());
  if (!from) return fail(from.error());
  auto to = Buffer::create(device, 8ull * kBlock * kGrid);
  if (!to) return fail(to.error());
  if (auto put = from->upload(0, std::as_bytes(operands)); !put) return fail(put.error());
  std::vector<Side> sides;
  for (const unsigned length : kLengths) {
    auto module = Module::load(device, kernel_text(row, length), "arithmetic.ptx");
    if (!module) return fail(module.error());
    auto kernel = module->kernel("k");
    if (!kernel) return fail(kernel.error());
    for (const FpPolicy fp : kPolicies) sides.push_back({*kernel, fp, {}});
  }
  for (unsigned round = 0; round <= rounds; ++round)
    for (Side& side : sides) {
      LaunchConfig config;
      config.grid = {kGrid, 1, 1};
      config.block = {kBlock, 1, 1};
      config.fp = side.fp;
      config.time = true;
      auto timing = side.kernel.launch(config, Args().buffer(*from).buffer(*to).value(kIterations));
      if (!timing) return fail(timing.error());
      // Processors' timestamps are the host's clock.
      const bool gpu = device.info().kind != DeviceKind::cpu && timing->device_ms >= 0;
      if (round > 0) side.times.push_back(gpu ? timing->device_ms : timing->wall_ms);
    }
  double ns[2];
  std::size_t counts[2];
  const double each = 1e6 / (double{kIterations} * (kChain - 1) * kBlock * kGrid);
  for (unsigned policy = 0; policy < 2; ++policy) {
    ns[policy] = (median(sides[2 + policy].times) - median(sides[policy].times)) * each;
    const auto count = [&](unsigned length) {
      return instructions(kernel_text(row, length), device.profile(), kPolicies[policy]);
    };
    counts[policy] = count(2) - count(1);
  }
  std::printf("| %s | %zu | %zu | %.3f | %.3f | %.1f |\n", row.name, counts[0], counts[1], ns[0],
              ns[1], ns[0] / ns[1]);
  std::fflush(stdout);
  return 0;
}

int run(const ParsedCommand& command) {
  std::string name = "swiftshader";
  unsigned rounds = 9;
  for (const ParsedOption& option : command.options) switch (option.id) {
      case opt_device: name = option.value; break;
      case opt_rounds: rounds = positive(option.value); break;
      default: break;
    }
  DeviceOptions options;
  options.select = name;
  const auto device = Device::open(options);
  if (!device) return fail(device.error());
  std::printf(
      "%s\n\n| operation | instructions exact | fast | exact, ns | fast, ns | exact / fast |\n"
      "|---|---|---|---|---|---|\n",
      device->info().name.c_str());
  for (const Row& row : kRows)
    if (const int exit = measure(*device, row, rounds)) return exit;
  return 0;
}

}  // namespace
}  // namespace ptx2spv::bench

int main(int argc, char** argv) {
  return ptx2spv::bench::bench_main(ptx2spv::bench::kTool, argc, argv, ptx2spv::bench::run);
}
