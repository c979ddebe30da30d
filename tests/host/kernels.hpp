// Kernels by the interpreter and as machine code.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <random>

#include "ptx2spv/interpreter.hpp"
#include "tests/host/emulated.hpp"
#include "translator/backend/host/compile.hpp"
#include "translator/backend/host/llvm_api.hpp"

namespace ptx2spv::tests {

using Tier = InterpretedKernel::Tier;

struct Shape {
  std::uint32_t x, y, z, blocks;
};
/// Rows of whole warps, rows that are not, blocks that end within a warp.
constexpr Shape kShapes[] = {{64, 1, 1, 9}, {32, 4, 1, 5}, {16, 16, 1, 3},
                             {17, 3, 1, 7}, {1, 1, 1, 4},  {5, 7, 2, 3}};

inline std::optional<InterpretedKernel> kernel_of(const std::string& body,
                                                  const std::string& memory = "",
                                                  std::shared_ptr<CodeStore> store = nullptr) {
  const std::string text =
      ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 to, .param "
      ".u64 "
      "from, .param .u32 count) {\n" +
      memory +
      ".reg .pred %p<8>;\n.reg .b32 %r<40>;\n.reg .f32 %f<8>;\n.reg .b64 %d<8>;\n"
      "ld.param.u64 %d0, [to];\nld.param.u64 %d1, [from];\nld.param.u32 %r0, [count];\n"
      // %r1: the thread's number in the grid; %r2: in its block; %d2, %d3: its words.
      "mov.u32 %r3, %tid.x;\nmov.u32 %r4, %tid.y;\nmov.u32 %r5, %tid.z;\nmov.u32 %r6, %ntid.x;\n"
      "mov.u32 %r7, %ntid.y;\nmov.u32 %r8, %ntid.z;\nmad.lo.u32 %r2, %r5, %r7, %r4;\n"
      "mad.lo.u32 %r2, %r2, %r6, %r3;\nmul.lo.u32 %r9, %r6, %r7;\nmul.lo.u32 %r9, %r9, %r8;\n"
      "mov.u32 %r1, %ctaid.x;\nmad.lo.u32 %r1, %r1, %r9, %r2;\nmul.wide.u32 %d2, %r1, 8;\n"
      "add.u64 %d3, %d1, %d2;\nadd.u64 %d2, %d0, %d2;\nld.global.v2.u32 {%r10, %r11}, [%d3];\n" +
      body + "\nst.global.v2.u32 [%d2], {%r10, %r11};\nret;\n}\n";
  std::vector<Message> messages;
  const auto module = PtxModule::parse({{text, "k.ptx"}}, messages);
  std::optional<InterpretedKernel> kernel;
  if (module) kernel = InterpretedKernel::make(*module, {.entry = "k"}, messages, std::move(store));
  for (const Message& each : messages) ADD_FAILURE() << each.rendered;
  return kernel;
}

inline std::vector<std::uint32_t> words_for(const Shape& shape) {
  std::mt19937 random(7);
  std::vector<std::uint32_t> words(shape.x * shape.y * shape.z * shape.blocks * 2);
  for (std::uint32_t& word : words) word = random();
  return words;
}

struct Result {
  std::vector<std::uint32_t> words;
  InterpretedKernel::Ending ending;
};

inline Result run(const InterpretedKernel& kernel, const Shape& shape, Tier tier,
                  double timeout = 0, unsigned processors = 2) {
  const std::vector<std::uint32_t> from = words_for(shape);
  const auto count = static_cast<std::uint32_t>(from.size() / 2);
  Result result{.words = std::vector<std::uint32_t>(count * 2)};
  struct {
    const std::uint32_t *to, *from;
    std::uint32_t count;
  } given{result.words.data(), from.data(), count};
  std::vector<std::byte> zeros(4096), params(256), trap(4096);
  std::memcpy(params.data(), &given, sizeof given);
  std::vector<std::uint32_t> push(64);
  push[abi::grid_x] = shape.blocks;
  push[abi::grid_x + 1] = push[abi::grid_x + 2] = 1;
  push[abi::block_x] = shape.x;
  push[abi::block_x + 1] = shape.y;
  push[abi::block_x + 2] = shape.z;
  InterpretedKernel::Launch launch;
  launch.grid[0] = shape.blocks;
  std::copy_n(&push[abi::block_x], 3, launch.block);
  for (auto& each : launch.bindings) each = {zeros.data(), zeros.size()};
  launch.bindings[abi::params] = {params.data(), params.size()};
  launch.bindings[abi::trap] = {trap.data(), trap.size()};
  launch.push = push;
  launch.threads = processors;
  launch.timeout = timeout;
  launch.tier = tier;
  result.ending = kernel.run(launch);
  return result;
}

class Kept : public CodeStore {
 public:
  std::optional<std::vector<std::byte>> load(const std::string& content) override {
    const auto known = codes.find(content);
    if (known == codes.end()) return std::nullopt;
    ++found;
    return known->second;
  }
  void store(const std::string& content, const std::vector<std::byte>& code) override {
    ++stored;
    codes[content] = code;
  }
  std::shared_ptr<void> turn(const std::string& content, void (*waiting)()) override {
    waiting();
    if (const auto known = others.find(content); known != others.end()) codes.insert(*known);
    return std::make_shared<int>();
  }

  std::map<std::string, std::vector<std::byte>> codes;
  std::map<std::string, std::vector<std::byte>> others;  ///< what others make during the wait
  int found = 0, stored = 0;
};

/// Beside what the interpreter of this machine stores.
inline void expect_equal_on_arm(const std::string& body, const std::string& memory) {
  const auto has = [&](const char* name) { return body.find(name) != std::string::npos; };
  // As lanes_of() of compile.cpp has it for registers of four.
  const unsigned lanes = has("shfl.") || has("vote.") ? 32 : has("bar.") ? 16 : 8;
  // Whole warps, and others.
  for (const Shape& shape : {kShapes[0], kShapes[3]}) {
    SCOPED_TRACE(testing::Message() << shape.x << " " << shape.y << " " << shape.z << "\n" << body);
    const auto kept = std::make_shared<Kept>();
    const auto kernel = kernel_of(body, memory, kept);
    ASSERT_TRUE(kernel);
    const Result right = run(*kernel, shape, Tier::compiled);
    ASSERT_EQ(kept->codes.size(), 1u);
    const auto words = Emulator::run(kept->codes.begin()->second,
                                     {{shape.x, shape.y, shape.z},
                                      shape.blocks,
                                      lanes,
                                      static_cast<std::uint32_t>(right.words.size())},
                                     words_for(shape));
    ASSERT_FALSE(words.empty()) << "the kernel calls handlers, which only this machine has";
    EXPECT_EQ(words, right.words);
  }
}

inline bool g_on_arm = false;

inline void expect_equal(const std::string& body, const std::string& memory = "") {
  if (g_on_arm) return expect_equal_on_arm(body, memory);
  const auto kernel = kernel_of(body, memory);
  ASSERT_TRUE(kernel);
  for (const Shape& shape : kShapes) {
    const std::uint32_t block[] = {shape.x, shape.y, shape.z};
    SCOPED_TRACE(testing::Message() << shape.x << " " << shape.y << " " << shape.z << "\n" << body);
    EXPECT_EQ(kernel->not_compiled(block), "");
    const Result right = run(*kernel, shape, Tier::interpreted);
    const Result made = run(*kernel, shape, Tier::compiled);
    EXPECT_EQ(right.ending.problem, "");
    EXPECT_EQ(made.ending.problem, "");
    EXPECT_EQ(made.ending.blocks, shape.blocks);
    EXPECT_EQ(made.words, right.words);
    EXPECT_EQ(kernel->not_compiled(block), "");
  }
}

/// What the library of LLVM exports that is loaded.
inline void* library_symbol(const char* name) {
  std::string problem;
  const interpreter::llvm::Api* api = interpreter::llvm::load_api(problem);
  void* library = api ? dlopen(api->file.c_str(), RTLD_NOW | RTLD_NOLOAD) : nullptr;
  return library ? dlsym(library, name) : nullptr;
}

/// Initialises LLVM's part for a processor of that name.
inline bool initialise(const std::string& target) {
  for (const char* part : {"TargetInfo", "Target", "TargetMC", "AsmPrinter"}) {
    void* symbol = library_symbol(("LLVMInitialize" + target + part).c_str());
    if (!symbol) return false;
    reinterpret_cast<void (*)()>(symbol)();
  }
  return true;
}

/// By the name of a processor among LLVM's; empty: this machine's.
class Compiled : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string problem = InterpretedKernel::no_compiler(); !problem.empty())
      GTEST_SKIP() << problem;
#if defined(__x86_64__)
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (std::string_view(GetParam()) == "haswell" && !avx2)
      GTEST_SKIP() << "this processor has no AVX2";
#else
    if (*GetParam()) GTEST_SKIP() << "of another architecture";
#endif
    interpreter::llvm::compile_for(GetParam());
  }
  void TearDown() override { interpreter::llvm::compile_for(""); }
};

}  // namespace ptx2spv::tests
