// One small kernel per test: built with ir::Builder, emitted for every profile, validated.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "ptx2spv/profile.hpp"
#include "tests/support/spirv_tools.hpp"
#include "translator/backend/spirv/emit.hpp"
#include "translator/ir/ir.hpp"

namespace ptx2spv::test {

struct Kernel {
  ir::Module module;
  ir::Function function;
  ir::Builder b{function};

  Kernel() {
    function.name = "kernel";
    b.at(b.new_block());
  }
  ir::Value inst(ir::Op op, ir::Type type, std::initializer_list<ir::Value> args,
                 std::uint64_t imm = 0) {
    return b.inst(op, type, args, imm);
  }
  /// Values that no optimiser knows: words of the parameter buffer.
  ir::Value input(ir::Type type, unsigned offset = 0) {
    const auto bytes = static_cast<std::uint8_t>(type == ir::Type::i32  ? 4
                                                 : type == ir::Type::v4 ? 16
                                                                        : 8);
    return b.load(type, b.i32(offset),
                  {.space = ir::Space::param, .bytes = bytes, .readonly = true});
  }
  /// Keeps a value alive: stores it to slot 0.
  void output(ir::Value value, unsigned offset = 0) {
    ir::Type type = function.insts[value].type;
    if (type == ir::Type::i1) {
      value = inst(ir::Op::zext, ir::Type::i32, {value});
      type = ir::Type::i32;
    }
    const auto bytes = static_cast<std::uint8_t>(type == ir::Type::i32  ? 4
                                                 : type == ir::Type::v4 ? 16
                                                                        : 8);
    b.store(b.i32(offset), value, {.space = ir::Space::slot, .bytes = bytes});
  }
  /// The module, or the emitter's error in `error`.
  std::vector<std::uint32_t> emit(const spirv::EmitOptions& options, std::string& error) {
    function.compute_preds();
    spirv::Builder builder;
    const auto failure = spirv::emit(module, function, options, builder);
    error = failure ? failure->text : std::string();
    return failure ? std::vector<std::uint32_t>() : builder.finish();
  }
};

inline spirv::EmitOptions options_for(std::string_view profile) {
  spirv::EmitOptions options;
  options.profile = find_profile(profile).value();
  options.float_controls = true;
  return options;
}

/// Builds, emits and validates for each profile that `wanted` accepts; gives the last one's text.
inline std::string check_all(const std::function<void(Kernel&, const Profile&)>& build,
                             const std::vector<SlotSpec>& slots = {},
                             const std::function<bool(const Profile&)>& wanted = nullptr) {
  std::string text;
  for (const std::string_view name : profile_names()) {
    spirv::EmitOptions options = options_for(name);
    options.slots = slots;
    if (wanted && !wanted(options.profile)) continue;
    for (const bool debug : {false, true}) {
      options.debug_info = debug;
      options.ptx_source = [](std::uint32_t) {
        return spirv::PtxSource{"test.ptx", ".version 8.0"};
      };
      Kernel kernel;
      build(kernel, options.profile);
      kernel.b.exit();
      std::string error;
      const auto words = kernel.emit(options, error);
      EXPECT_EQ(error, "") << name;
      if (words.empty()) continue;
      text = disassemble_spirv(words);
      EXPECT_EQ(validate_spirv(words), "") << name << "\n" << text;
    }
  }
  return text;
}

}  // namespace ptx2spv::test
