// bench_translate: translation time against kernel size, which has to be a line, beside ptxas on
// the same text.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <spirv-tools/libspirv.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/main.hpp"
#include "ptx2spv/translator.hpp"
#include "tools/common/files.hpp"
#include "tools/common/json.hpp"
#include "tools/common/options.hpp"

namespace ptx2spv::bench {
namespace {

using namespace tools;

enum Id : int { opt_profile = 1, opt_size, opt_ptxas, opt_no_ptxas, opt_limit, opt_json };

constexpr Option kOptions[] = {
    {opt_profile, 0, "profile", "NAME", "the device to translate for; swiftshader when not given",
     "portable,swiftshader,lavapipe,nvidia"},
    {opt_size, 'n', "instructions", "N",
     "only about so many instructions; may be repeated; 100 to 1,000,000 when not given"},
    {opt_ptxas, 0, "ptxas", "FILE",
     "the ptxas to compare with: the one on the path or in CUDA's usual folder", "file"},
    {opt_no_ptxas, 0, "no-ptxas", "", "leave ptxas out"},
    {opt_limit, 0, "limit", "SECONDS",
     "stop ptxas after so many seconds of its time; 120 when not given"},
    json_option(opt_json),
};
constexpr ExitCode kExitCodes[] = {{0, "measured"}, {1, "a translation failed"}, {2, "usage"}};
constexpr Tool kTool = {"bench_translate",
                        "[OPTION...]",
                        "times the translator on kernels of growing size, beside ptxas -O1",
                        "The kernels load, compute, branch and store. Times are the best of three, "
                        "of one from 100,000 instructions on; that of "
                        "ptxas includes the start of its process.",
                        kOptions,
                        kExitCodes};

// A kernel of about `count` instructions: loads, arithmetic, a branch every 32, stores.
std::string make_kernel(int count) {
  std::string text =
      ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 s)\n{\n  .reg "
      ".pred %p;\n  .reg .b32 %x, %a, "
      "%b, %c;\n  .reg .b64 %s;\n  ld.param.u64 %s, [s];\n  mov.u32 %x, %tid.x;\n  shl.b32 %x, %x, "
      "2;\n  mov.u32 %a, %x;\n  "
      "mov.u32 %b, 7;\n  mov.u32 %c, 1;\n";
  for (int k = 0; k < count; ++k) {
    switch (k % 8) {
      case 0: text += "  suld.b.1d.b32.clamp %b, [%s, {%x}];\n"; break;
      case 1: text += "  mad.lo.u32 %a, %a, %b, %c;\n"; break;
      case 2: text += "  xor.b32 %c, %a, " + std::to_string(k) + ";\n"; break;
      case 3: text += "  shr.u32 %b, %c, 3;\n"; break;
      case 4:
        if (k % 32 == 4)
          text += "  setp.gt.u32 %p, %a, %b;\n  @%p bra L" + std::to_string(k) + ";\n";
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
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

std::string find_ptxas() {
  const char* path = std::getenv("PATH");
  std::string rest = std::string(path ? path : "") + ":/usr/local/cuda/bin";
  for (std::size_t at = 0; at < rest.size();) {
    const std::size_t end = std::min(rest.find(':', at), rest.size());
    const std::string file = rest.substr(at, end - at) + "/ptxas";
    if (::access(file.c_str(), X_OK) == 0) return file;
    at = end + 1;
  }
  return {};
}

/// Milliseconds of `ptxas -O1`; negative when it fails or takes more than `limit` seconds of
/// processor time.
double time_ptxas(const std::string& ptxas, const std::string& input, unsigned limit) {
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit seconds{limit, limit};
    ::setrlimit(RLIMIT_CPU, &seconds);
    ::execl(ptxas.c_str(), "ptxas", "-O1", "-arch=sm_90", "-o", "/dev/null", input.c_str(),
            nullptr);
    ::_exit(127);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0) return -1;
  return milliseconds_since(start);
}

struct Row {
  int instructions = 0;
  double parse_ms = 1e30, translate_ms = 1e30, validate_ms = 1e30, ptxas_ms = -1;
  std::size_t words = 0;
  double total_ms() const { return parse_ms + translate_ms; }
};

bool measure(const Profile& profile, const std::string& ptxas, unsigned limit,
             const std::string& folder, Row& row) {
  const std::string text = make_kernel(row.instructions);
  const int rounds = row.instructions > 50000 ? 1 : 3;
  for (int round = 0; round < rounds; ++round) {
    std::vector<Message> messages;
    auto start = std::chrono::steady_clock::now();
    const auto module = PtxModule::parse({{text, "bench.ptx"}}, messages);
    row.parse_ms = std::min(row.parse_ms, milliseconds_since(start));
    TranslateOptions options;
    options.profile = profile;
    start = std::chrono::steady_clock::now();
    const auto result = module ? module->translate(options, messages) : std::nullopt;
    row.translate_ms = std::min(row.translate_ms, milliseconds_since(start));
    if (!result) {
      for (const Message& message : messages) std::fputs(message.rendered.c_str(), stderr);
      return false;
    }
    row.words = result->spirv.size();
    // What ptx2spv adds before it writes the module.
    start = std::chrono::steady_clock::now();
    const spvtools::SpirvTools validator(SPV_ENV_VULKAN_1_1_SPIRV_1_4);
    const bool valid = validator.Validate(result->spirv);
    row.validate_ms = std::min(row.validate_ms, milliseconds_since(start));
    if (!valid) {
      std::fputs("bench_translate: error: the module is invalid\n", stderr);
      return false;
    }
  }
  if (ptxas.empty()) return true;
  const std::string file = folder + "/bench.ptx";
  if (const IoError error = write_text(file, text); !error.empty()) {
    std::fprintf(stderr, "bench_translate: error: %s: %s\n", file.c_str(), error.c_str());
    return false;
  }
  for (int round = 0; round < rounds; ++round) {
    const double time = time_ptxas(ptxas, file, limit);
    if (time >= 0 && (row.ptxas_ms < 0 || time < row.ptxas_ms)) row.ptxas_ms = time;
  }
  return true;
}

int run(const ParsedCommand& command) {
  std::string profile_name = "swiftshader", ptxas;
  std::vector<int> sizes;
  unsigned limit = 120;
  bool with_ptxas = true, json = false;
  for (const ParsedOption& option : command.options) switch (option.id) {
      case opt_profile: profile_name = option.value; break;
      case opt_size: sizes.push_back(static_cast<int>(positive(option.value))); break;
      case opt_ptxas: ptxas = option.value; break;
      case opt_no_ptxas: with_ptxas = false; break;
      case opt_limit: limit = positive(option.value); break;
      case opt_json: json = true; break;
    }
  // Four branches end in 32 instructions: a multiple of that is always a whole kernel.
  if (sizes.empty()) sizes = {96, 992, 9984, 99968, 999968};
  const auto profile = find_profile(profile_name);
  if (!profile) return usage_error(kTool, "there is no profile " + profile_name), 2;
  if (ptxas.empty() && with_ptxas) ptxas = find_ptxas();
  if (!with_ptxas) ptxas.clear();
  const char* base = std::getenv("TMPDIR");
  std::string folder = std::string(base && *base ? base : "/tmp") + "/bench_translate-XXXXXX";
  if (!::mkdtemp(folder.data())) return std::perror("bench_translate: error: mkdtemp"), 2;

  if (!json) {
    std::printf("profile %s; %s\n", profile_name.c_str(),
                ptxas.empty() ? "no ptxas" : (ptxas + " -O1").c_str());
    std::printf("%12s %10s %12s %12s %10s %10s %15s %10s\n", "instructions", "parse ms",
                "translate ms", "validate ms", "words", "ptxas ms", "ns/instruction", "to ptxas");
  } else {
    std::printf("{\n  \"profile\": %s,\n  \"ptxas\": %s,\n  \"kernels\": [",
                json_quote(profile_name).c_str(),
                ptxas.empty() ? "null" : json_quote(ptxas).c_str());
  }
  int exit = 0;
  for (std::size_t k = 0; k < sizes.size() && exit == 0; ++k) {
    Row row;
    row.instructions = sizes[k];
    if (!measure(*profile, ptxas, limit, folder, row)) {
      exit = 1;
      break;
    }
    const double each = row.total_ms() * 1e6 / row.instructions,
                 ratio = row.ptxas_ms > 0 ? row.total_ms() / row.ptxas_ms : -1;
    const std::string missing = json ? "null" : ptxas.empty() ? "-" : "stopped";
    char ptxas_text[32], ratio_text[32];
    std::snprintf(ptxas_text, sizeof ptxas_text, "%.2f", row.ptxas_ms);
    std::snprintf(ratio_text, sizeof ratio_text, "%.3f", ratio);
    std::printf(json ? "%s\n    {\"instructions\": %d, \"parse_ms\": %.3f, \"translate_ms\": %.3f, "
                       "\"validate_ms\": %.3f, "
                       "\"words\": %zu, \"ptxas_ms\": %s, "
                       "\"ns_per_instruction\": %.0f, \"to_ptxas\": %s}"
                     : "%s%12d %10.2f %12.2f %12.2f %10zu %10s %15.0f %10s\n",
                json && k ? "," : "", row.instructions, row.parse_ms, row.translate_ms,
                row.validate_ms, row.words, row.ptxas_ms < 0 ? missing.c_str() : ptxas_text, each,
                ratio < 0 ? missing.c_str() : ratio_text);
    std::fflush(stdout);
  }
  if (json) std::printf("\n  ]\n}\n");
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return exit;
}

}  // namespace
}  // namespace ptx2spv::bench

int main(int argc, char** argv) {
  return ptx2spv::bench::bench_main(ptx2spv::bench::kTool, argc, argv, ptx2spv::bench::run);
}
