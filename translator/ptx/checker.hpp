// The semantic checks of one function, instruction by instruction.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "translator/ptx/ast.hpp"
#include "translator/ptx/instruction_table.hpp"
#include "translator/ptx/matrix.hpp"
#include "translator/ptx/parser.hpp"

namespace ptx2spv::ptx {

/// What an operand amounts to: one scalar, or a register of several.
struct OperandType {
  Type type = Type::none;
  unsigned vec = 1;
};

/// Whether a register of type `reg` may stand where `want` is called for. Widths agree, or with
/// `wide` the register may be wider (ld, st, cvt and surfaces).
bool compatible(Type reg, Type want, bool wide);

class Checker {
 public:
  Checker(const Module& module, const Function& function, const ParseOptions& options,
          DiagnosticSink& sink)
      : m_(module), f_(function), options_(options), sink_(sink) {}
  void run();

 private:
  // check.cpp
  bool check_versions();
  bool needs(unsigned version, unsigned target, std::string_view what);
  void check_generic();
  bool check_rule(const OperandRule& rule, unsigned index);
  bool check_value(const OperandRule& rule, const Operand& operand);
  Type rule_type(const OperandRule& rule) const;
  void check_modifiers();
  void check_rounding();
  void check_convert();
  void check_compare();

  // check_operands.cpp
  OperandType type_of(const Operand& operand) const;
  std::string describe(const Operand& operand) const;
  bool fail(const Operand& operand, std::string text);
  bool mismatch(const Operand& operand, Type want, std::string_view role);
  bool dest(const Operand& operand, Type type, bool wide, bool sink_allowed = false);
  bool source(const Operand& operand, Type type, bool wide, bool special_allowed = false);
  bool sum(const Operand& operand, Type type, bool wide);
  bool unified(const Operand& operand);
  void check_handles();
  bool source_register(const Operand& operand, Type type);
  bool immediate(const Operand& operand, Type type);
  bool dest_pred(const Operand& operand, bool pair_allowed);
  bool dest_with_pred(const Operand& operand, Type type, bool sink_allowed);
  bool source_pred(const Operand& operand);
  bool memory(const Operand& operand) { return memory(operand, mods_->space); }
  bool memory(const Operand& operand, Space space);
  bool address_register(const Operand& operand);
  /// Whether an address of that type is too short for the module's global and generic memory.
  bool narrow_address(Type type, Space space) const;
  bool vector(const Operand& operand, unsigned count, Type type, bool is_dest, bool wide);
  bool writes_something(const Operand& operand);
  Type element_type(const Operand& operand, Type type) const;
  bool constants_apart(std::span<const Operand> items);
  bool same_elements(std::span<const Operand> items);
  bool list_float(const Operand& item, unsigned width, std::span<const Operand> items) const;

  // one file per family
  void check_mov();
  void check_mov_vector();
  unsigned parts(const Operand& operand) const;
  bool packed(const Operand& operand, bool is_dest);
  void mov_source(const Operand& a);
  void check_cvta();
  void check_memory_modifiers();
  void check_hints();
  void check_surface();
  bool check_surface_name(const Operand& base, Type opaque);
  bool check_coordinates(const Operand& coordinates, Mod geom, Type type, bool array_index);
  void check_suq();
  void check_texture();
  void check_texture_extras(unsigned next, Type ctype);
  void check_txq();
  void check_istypep();
  void check_barrier();
  void check_warp();
  void check_async_copy();
  void check_mbarrier();
  void check_video();
  void check_matrix();
  bool fragment(const Operand& operand, const Fragment& want, bool is_dest, bool constants);
  void check_call();

  std::span<const Operand> ops() const { return f_.args(*inst_); }
  const Operand& op(unsigned i) const { return f_.operands[inst_->first_operand + i]; }
  bool count_is(unsigned low, unsigned high);
  /// A cache policy stands with .L2::cache_hint, and neither without the other.
  bool check_cache_policy();
  std::string name() const { return "'" + std::string(text(inst_->op)) + "'"; }

  const Module& m_;
  const Function& f_;
  const ParseOptions& options_;
  DiagnosticSink& sink_;
  const Instruction* inst_ = nullptr;
  const Modifiers* mods_ = nullptr;
  const FormInfo* form_ = nullptr;
};

}  // namespace ptx2spv::ptx
