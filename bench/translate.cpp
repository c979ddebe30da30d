// Translation time against kernel size: the curve has to be a line.
#include <chrono>
#include <cstdio>
#include <string>

#include "ptx2spv/translator.hpp"

namespace {

// A kernel of about `count` instructions: loads, arithmetic, a branch every 32, stores.
std::string make_kernel(int count) {
  std::string text =
      ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 s)\n{\n  .reg .pred %p;\n  .reg .b32 %x, %a, "
      "%b, %c;\n  .reg .b64 %s;\n  ld.param.u64 %s, [s];\n  mov.u32 %x, %tid.x;\n  shl.b32 %x, %x, 2;\n  mov.u32 %a, %x;\n  "
      "mov.u32 %b, 7;\n  mov.u32 %c, 1;\n";
  for (int k = 0; k < count; ++k) {
    switch (k % 8) {
      case 0: text += "  suld.b.1d.b32.clamp %b, [%s, {%x}];\n"; break;
      case 1: text += "  mad.lo.u32 %a, %a, %b, %c;\n"; break;
      case 2: text += "  xor.b32 %c, %a, " + std::to_string(k) + ";\n"; break;
      case 3: text += "  shr.u32 %b, %c, 3;\n"; break;
      case 4:
        if (k % 32 == 4) text += "  setp.gt.u32 %p, %a, %b;\n  @%p bra L" + std::to_string(k) + ";\n";
        break;
      case 5: text += "  add.u32 %a, %a, %b;\n"; break;
      case 6:
        if (k % 32 == 6) text += "L" + std::to_string(k - 2) + ":\n";
        break;
      default: text += "  sust.b.1d.b32.clamp [%s, {%x}], %a;\n"; break;
    }
  }
  if (count % 32 >= 5 && count % 32 < 7) text += "L" + std::to_string(count / 32 * 32 + 4) + ":\n";
  return text + "  sust.b.1d.b32.clamp [%s, {%x}], %a;\n  ret;\n}\n";
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  using namespace ptx2spv;
  const std::string profile = argc > 1 ? argv[1] : "swiftshader";
  const auto found = find_profile(profile);
  if (!found) {
    std::fprintf(stderr, "bench: there is no profile %s\n", profile.c_str());
    return 2;
  }
  std::printf("profile %s\n%12s %12s %12s %12s %14s\n", profile.c_str(), "instructions", "parse ms", "translate ms", "words", "ns/instruction");
  for (int count : {96, 992, 9984, 99968}) {
    const std::string text = make_kernel(count);
    double best_parse = 1e9, best_translate = 1e9;
    std::size_t words = 0;
    for (int round = 0; round < (count > 50000 ? 1 : 3); ++round) {
      std::vector<Message> messages;
      auto start = std::chrono::steady_clock::now();
      const auto module = PtxModule::parse({{text, "bench.ptx"}}, messages);
      best_parse = std::min(best_parse, milliseconds_since(start));
      TranslateOptions options;
      options.profile = *found;
      start = std::chrono::steady_clock::now();
      const auto result = module ? module->translate(options, messages) : std::nullopt;
      best_translate = std::min(best_translate, milliseconds_since(start));
      if (!result) {
        for (const Message& message : messages) std::fputs(message.rendered.c_str(), stderr);
        return 1;
      }
      words = result->spirv.size();
    }
    std::printf("%12d %12.2f %12.2f %12zu %14.0f\n", count, best_parse, best_translate, words,
                (best_parse + best_translate) * 1e6 / count);
    std::fflush(stdout);
  }
  return 0;
}
