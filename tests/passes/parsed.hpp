// Functions out of text, for tests of one pass: the text is what the pass gets; what it made is
// looked at, or run by the interpreter.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>

#include "tests/support/parse.hpp"
#include "tests/support/reference.hpp"
#include "translator/ir/cfg.hpp"

namespace ptx2spv::test {

/// What the text has to be: with variables and any graph, in SSA form, or structured as well.
enum class Form : std::uint8_t { variables, ssa, structured };

struct Parsed {
  ir::Module m;
  ir::Function f;

  explicit Parsed(std::string_view text, Form form = Form::ssa) : form_(form) {
    EXPECT_EQ(ir::parse(text, f, m), "");
    if (form == Form::structured) f.order = ir::reverse_postorder(f, true);
    expect_valid();
  }
  /// The form is still that of the text.
  void expect_valid() const {
    EXPECT_EQ(validate(f, m, form_ != Form::variables, form_ == Form::structured), "")
        << print(f, m);
  }
  /// Whether an instruction fits; `fits` gets it and the block that it stands in.
  template <typename Fits>
  bool any(Fits&& fits) const {
    return count(fits) != 0;
  }
  template <typename Fits>
  std::size_t count(Fits&& fits) const {
    std::size_t n = 0;
    for (ir::BlockId b = 0; b < f.blocks.size(); ++b)
      for (const ir::Value v : f.blocks[b].insts) n += fits(v, b);
    return n;
  }
  std::size_t count(ir::Op op) const {
    return count([&](ir::Value v, ir::BlockId) { return f.insts[v].op == op; });
  }
  bool has(ir::Op op) const { return count(op) != 0; }
  /// Memory accesses of `op` in a space.
  std::size_t count(ir::Op op, ir::Space space) const {
    return count([&](ir::Value v, ir::BlockId) {
      return f.insts[v].op == op && f.insts[v].mem.space == space;
    });
  }
  std::size_t ends(ir::Term term) const {
    std::size_t n = 0;
    for (const ir::Block& block : f.blocks) n += block.term == term;
    return n;
  }
  ir::Op operand(ir::Value v, unsigned i) const { return f.insts[f.arg(v, i)].op; }
  ir::Outcome run(ir::Memory& memory, const ir::RunOptions& options = {}) const {
    return interpret(f, m, memory, options);
  }

 private:
  Form form_;
};
struct Structured : Parsed {
  explicit Structured(std::string_view text) : Parsed(text, Form::structured) {}
};

/// Runs a row of `threads` to their end; memory is what they leave.
inline void run_row(const ir::Function& f, const ir::Module& m, ir::Memory& memory,
                    std::uint32_t threads, ir::RunOptions options = {}) {
  options.threads[0] = threads;
  options.trace = false;
  const ir::Outcome outcome = ir::interpret(f, m, memory, options);
  EXPECT_EQ(outcome.error, "") << print(f, m);
  EXPECT_FALSE(outcome.stalled || outcome.out_of_steps) << print(f, m);
}

/// Text of 32-bit constants, %`first` and the next ones.
inline std::string constants(unsigned first, std::initializer_list<std::uint32_t> words) {
  std::string text;
  for (const std::uint32_t word : words)
    text += "  %" + std::to_string(first++) + " = constant i32 " + std::to_string(word) + "\n";
  return text;
}

/// Words of memory by byte offset; memory grows as they are written.
inline void put(ir::Memory& memory, ir::Space space, std::size_t at, std::uint32_t word) {
  auto& bytes = memory.of(space);
  if (bytes.size() < at + 4) bytes.resize(at + 4);
  std::memcpy(&bytes[at], &word, 4);
}
inline std::uint32_t word(ir::Memory& memory, ir::Space space, std::size_t at) {
  const auto& bytes = memory.of(space);
  std::uint32_t word = 0;
  if (at + 4 <= bytes.size()) std::memcpy(&word, &bytes[at], 4);
  return word;
}

}  // namespace ptx2spv::test
