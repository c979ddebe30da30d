// Build tool for the shader library: embed IN.spv OUT.cpp NAME HOST.cpp
//
// Optimises every function, the uncalled ones too, and writes the words as C++. HOST.cpp calls the
// same functions, compiled as C++ (host_calls.hpp).
//
// The optimiser keeps and treats what entry points reach, so while it runs every function is an
// entry point. (Export linkage would be the proper way to say it, but under the Linkage capability
// the passes that turn variables into values do nothing.) Such entry points have parameters, which
// the validator refuses: hence the optimiser's library without its validator, not spirv-opt.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>

#include <spirv-tools/optimizer.hpp>

#include "shaders/embed/host_calls.hpp"

namespace {

using ptx2spv::embed::each_instruction;
using ptx2spv::embed::kHeaderWords;
using ptx2spv::embed::Words;
constexpr std::uint32_t kGlCompute = 5;

enum Op : std::uint32_t {
  name_op = 5,
  entry_point_op = 15,
  function_op = 54,
};

bool read_words(const char* path, Words& words) {
  std::FILE* file = std::fopen(path, "rb");
  if (!file) return false;
  std::uint32_t word = 0;
  while (std::fread(&word, sizeof word, 1, file) == 1) words.push_back(word);
  std::fclose(file);
  return words.size() > kHeaderWords && words[0] == 0x07230203;
}

bool is_main(const Words& words, std::size_t at) {
  return std::strncmp(reinterpret_cast<const char*>(&words[at + 3]), "main", 5) == 0;
}

bool add_roots(const Words& in, Words& out) {
  std::map<std::uint32_t, Words> names;  // literal string words per id
  std::uint32_t main_function = 0;
  Words roots;
  std::size_t after_main = 0;
  const bool whole = each_instruction(in, [&](std::uint32_t op, std::size_t at, std::size_t count) {
    if (op == name_op) names[in[at + 1]] = Words(in.begin() + at + 2, in.begin() + at + count);
    if (op == entry_point_op) {
      main_function = in[at + 2];
      after_main = at + count;
    }
    if (op != function_op || in[at + 2] == main_function) return;
    const Words& name = names[in[at + 2]];
    roots.push_back(static_cast<std::uint32_t>(name.size() + 3) << 16 | entry_point_op);
    roots.push_back(kGlCompute);
    roots.push_back(in[at + 2]);
    roots.insert(roots.end(), name.begin(), name.end());
  });
  if (!whole || after_main == 0) return false;
  out.assign(in.begin(), in.begin() + after_main);
  out.insert(out.end(), roots.begin(), roots.end());
  out.insert(out.end(), in.begin() + after_main, in.end());
  return true;
}

// Calls first: the arithmetic's rounding modes are constants that fold only inside the caller. Then
// variables to values, constants and dead code; the second round cleans up after the branches that
// the first one removed.
bool optimise(const Words& in, Words& out) {
  spvtools::Optimizer optimizer(SPV_ENV_VULKAN_1_1);
  optimizer.SetMessageConsumer([](spv_message_level_t, const char*, const spv_position_t&,
                                  const char* text) { std::fprintf(stderr, "embed: %s\n", text); });
  optimizer.RegisterPass(spvtools::CreateInlineExhaustivePass())
      .RegisterPass(spvtools::CreateScalarReplacementPass(0))
      .RegisterPass(spvtools::CreateLocalSingleBlockLoadStoreElimPass())
      .RegisterPass(spvtools::CreateLocalSingleStoreElimPass())
      .RegisterPass(spvtools::CreateSSARewritePass())
      .RegisterPass(spvtools::CreateCCPPass())
      .RegisterPass(spvtools::CreateSimplificationPass())
      .RegisterPass(spvtools::CreateDeadBranchElimPass())
      .RegisterPass(spvtools::CreateBlockMergePass())
      .RegisterPass(spvtools::CreateAggressiveDCEPass())
      .RegisterPass(spvtools::CreateRedundancyEliminationPass())
      .RegisterPass(spvtools::CreateSimplificationPass())
      .RegisterPass(spvtools::CreateAggressiveDCEPass());
  spvtools::OptimizerOptions options;
  options.set_run_validator(false);
  return optimizer.Run(in.data(), in.size(), &out, options);
}

bool write_array(const char* path, const char* name, const Words& in) {
  Words words(in.begin(), in.begin() + kHeaderWords);
  const bool whole = each_instruction(in, [&](std::uint32_t op, std::size_t at, std::size_t count) {
    if (op == entry_point_op && !is_main(in, at)) return;
    words.insert(words.end(), in.begin() + at, in.begin() + at + count);
  });
  if (!whole) return false;
  std::FILE* file = std::fopen(path, "w");
  if (!file) return false;
  std::fprintf(file,
               "#include \"shaders/library.hpp\"\n\nnamespace ptx2spv::shaders {\nnamespace {\n"
               "constexpr std::uint32_t kWords[] = {");
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::fprintf(file, "%s0x%08x,", i % 8 == 0 ? "\n    " : " ", words[i]);
  }
  std::fprintf(
      file,
      "\n};\n}  // namespace\n\nstd::span<const std::uint32_t> %s_words() { return kWords; }\n\n"
      "}  // namespace ptx2spv::shaders\n",
      name);
  return std::fclose(file) == 0;
}

int fail(const char* what, const char* path) {
  std::fprintf(stderr, "embed: %s %s\n", what, path);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return fail("usage:", "embed IN.spv OUT.cpp NAME HOST.cpp");
  Words in, rooted, optimised;
  if (!read_words(argv[1], in)) return fail("not a SPIR-V module:", argv[1]);
  if (!add_roots(in, rooted)) return fail("damaged module:", argv[1]);
  if (!optimise(rooted, optimised)) return fail("cannot optimise", argv[1]);
  if (!write_array(argv[2], argv[3], optimised)) return fail("cannot write", argv[2]);
  return ptx2spv::embed::write_host_calls(argv[4], argv[3], in) ? 0 : fail("cannot write", argv[4]);
}
