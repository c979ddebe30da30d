// Off, the sanitizer is not there: lowering marks accesses, variables and synchronisation for it,
// and without checks every kernel of the tree is word for word what it is where nothing was ever
// marked.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/support/translations.hpp"
#include "translator/backend/spirv/builder.hpp"
#include "translator/passes/cfg/expand_recursion.hpp"
#include "translator/passes/passes.hpp"
#include "translator/pipeline.hpp"
#include "translator/ptx/parser.hpp"

namespace ptx2spv {
namespace {

/// Takes all marks away. The number that there were.
std::size_t unmark(ir::Module& module) {
  std::size_t marks = 0;
  for (ir::Function& function : module.functions)
    for (ir::Inst& inst : function.insts) {
      marks += (inst.object != 0) + (inst.mem.origin != ir::Origin::none);
      inst.object = 0;
      inst.mem.origin = ir::Origin::none;
    }
  return marks;
}

std::vector<std::uint32_t> words(const FrontEntry& front, const lower::Program& program,
                                 const TranslateOptions& options) {
  spirv::Builder builder;
  EntryInfo info;
  std::vector<Message> messages;
  Growth growth(program.text_bytes());
  if (!translate_entry(front, program, options, builder, info, messages, growth)) return {};
  EXPECT_TRUE(info.sanitizer.sites.empty());
  return builder.finish();
}

struct Counts {
  std::size_t kernels = 0, marks = 0, modules = 0;
};

void compare(lower::Program& program, lower::FunctionRef entry, Counts& counts) {
  const FrontEntry marked = prepare_entry(program, entry, kInlineBudget);
  if (!marked.lowered.ok) return;
  ++counts.kernels;
  // The passes that every translation shares do not look at marks either.
  lower::LoweredEntry before = lower::lower_entry(program, entry);
  FrontEntry bare = marked;
  counts.marks += unmark(before.module);
  unmark(bare.lowered.module);
  if (passes::recursive_functions(before.module).empty()) {
    ASSERT_EQ(passes::inline_calls(before.module, kInlineBudget), "");
    passes::narrow_surface_loads(before.module.functions[0], before.module);
    EXPECT_EQ(ir::print(before.module.functions[0], before.module),
              ir::print(bare.lowered.module.functions[0], bare.lowered.module));
  }
  for (const char* profile : {"portable", "nvidia"}) {
    TranslateOptions options;
    options.profile = *find_profile(profile);
    options.threads = thread_model(marked.lowered.info, ThreadModel::direct);
    const auto with = words(marked, program, options);
    EXPECT_EQ(with, words(bare, program, options)) << profile;
    counts.modules += !with.empty();
  }
}

TEST(Unmarked, EveryKernelOfTheTreeIsTheSameModuleWithoutMarks) {
  const std::string root = PTX2SPV_SOURCE_DIR;
  Counts counts;
  std::string last;
  for (const test::KernelFile& each : test::kernels_below(root, {"tests", "examples", "bench"})) {
    if (each.file == last) continue;
    last = each.file;
    SCOPED_TRACE(each.file);
    std::ifstream stream(each.file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    DiagnosticSink sink;
    std::vector<std::unique_ptr<ptx::Module>> modules;
    modules.push_back(ptx::parse_module(text, each.file, {}, sink));
    std::vector<Message> messages;
    lower::Program program(std::move(modules), messages);
    for (const lower::FunctionRef entry : program.entries()) compare(program, entry, counts);
  }
  // The tree has kernels, they have marks, and they do become modules.
  EXPECT_GT(counts.kernels, 90u);
  EXPECT_GT(counts.marks, 1200u);
  EXPECT_GT(counts.modules, counts.kernels);
}

}  // namespace
}  // namespace ptx2spv
