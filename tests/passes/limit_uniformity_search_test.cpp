// Computations that are the same in all threads, cut where a driver searches them for too long.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/passes/parsed.hpp"
#include "translator/passes/passes.hpp"

namespace {

using namespace ptx2spv;
using namespace ptx2spv::ir;

/// The search of Mesa 22.3 (nir_src_is_dynamically_uniform): operands in their order, nothing
/// noted, until one is not the same in all threads. Stops counting at a million.
struct Search {
  const Function& f;
  std::uint64_t asked = 0;
  bool operator()(Value v) {
    if (++asked > 1'000'000) return false;
    const Inst& inst = f.insts[v];
    if (inst.op == Op::constant) return true;
    const bool loads = inst.op == Op::load;
    if (loads && inst.mem.space != Space::push && inst.mem.space != Space::param) return false;
    if (!loads && (!(info(inst.op).flags & flag::P) || inst.op == Op::phi || inst.count == 0))
      return false;
    const auto args = f.args(v);
    return std::all_of(args.begin(), args.end(), [&](Value a) { return (*this)(a); });
  }
};

/// A store to an offset of `steps` steps, each of which takes the one before twice.
std::string chain(const char* origin, unsigned steps, const char* op = "add i32") {
  std::string text = "b0:\n  %1 = constant i32 0x4\n  %2 = ";
  text += origin;
  unsigned last = 2;
  for (unsigned i = 0; i < steps; ++i, ++last)
    text += "\n  %" + std::to_string(last + 1) + " = " + op + " %" + std::to_string(last) + " %" +
            std::to_string(last);
  const std::string v = std::to_string(last);
  return text + "\n  store mem=shared,4 %" + v + " %" + v + "\n  exit\n";
}

struct Made : test::Parsed {
  using Parsed::Parsed;
  /// The most that asking for any operand takes.
  std::uint64_t asked() const {
    std::uint64_t most = 0;
    for (const Block& block : f.blocks)
      for (const Value v : block.insts)
        for (const Value a : f.args(v)) {
          Search search{f};
          search(a);
          most = std::max(most, search.asked);
        }
    return most;
  }
  Outcome run() {
    Memory memory;
    return Parsed::run(memory, {.workgroup = {7, 0, 0}, .workgroups = {9, 1, 1}});
  }
};

TEST(LimitUniformitySearch, a_search_ends_after_a_few_hundred_questions) {
  for (const char* origin : {"load i32 mem=param,4,readonly %1", "constant i32 0x3",
                             "load i32 mem=push,4,readonly %1"}) {
    Made made(chain(origin, 60));
    EXPECT_GT(made.asked(), 1'000'000u) << origin;
    EXPECT_TRUE(passes::limit_uniformity_search(made.f));
    EXPECT_EQ(validate(made.f, made.m, true, false), "");
    EXPECT_LT(made.asked(), 1500u) << origin;
  }
}

TEST(LimitUniformitySearch, results_stay) {
  for (const char* op : {"add i32", "xor_ i32", "mul i32"}) {
    Made made(chain("constant i32 0x3", 60, op));
    const Outcome before = made.run();
    EXPECT_TRUE(passes::limit_uniformity_search(made.f));
    const Outcome after = made.run();
    EXPECT_EQ(before.error, "");
    EXPECT_EQ(after.error, "");
    EXPECT_EQ(before.trace, after.trace) << op;
  }
}

TEST(LimitUniformitySearch, what_is_short_or_differs_between_threads_is_left_alone) {
  Made short_one(chain("load i32 mem=param,4,readonly %1", 5));
  EXPECT_FALSE(passes::limit_uniformity_search(short_one.f));
  Made threads(chain("builtin i32 local_id_x", 60));
  EXPECT_FALSE(passes::limit_uniformity_search(threads.f));
  Made memory(chain("load i32 mem=shared,4 %1", 60));
  EXPECT_FALSE(passes::limit_uniformity_search(memory.f));
}

}  // namespace
