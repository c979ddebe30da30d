// The recursive-descent parser. After an error it goes on behind the next ';' or at the next '}'.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "translator/ptx/ast.hpp"
#include "translator/ptx/instruction_table.hpp"
#include "translator/ptx/lexer.hpp"
#include "translator/ptx/parser.hpp"
#include "translator/ptx/symbol_table.hpp"

namespace ptx2spv::ptx {

inline std::string quoted(std::string_view name) { return "'" + std::string(name) + "'"; }

/// Value of a constant expression: s64, u64 or f64.
struct Constant {
  enum class Kind : std::uint8_t { integer, real32, real64 } kind = Kind::integer;
  bool is_unsigned = false;
  std::uint64_t value = 0;  ///< bits of the double or (a lone 0f literal) the float
  Span span;
};

/// What needs a PTX version or a target and is no instruction; parser_features.cpp.
enum class Feature : std::uint8_t {
  opaque_type,
  opaque_pointer,
  unsized_parameter,
  type_f16x2,
  type_b128,
  init_address,
  init_kernel,
  init_generic,
  init_mask,
  init_mask_constant,
  attribute,
  managed,
  unified,
  alias,
  call_prototype,
  section,
  section_offset,
  section_label,
  section_difference,
  file_size,
  weak,
  common,
  pragma,
  kernel_prototype,
  kernel_parameters,
  large_parameters,
  pointer,
  function_param,
  body_param,
};

/// Variables or labels that one name<N> may stand for.
inline constexpr std::uint32_t kMaxVariables = 65536;

class Parser {
 public:
  Parser(Module& module, const ParseOptions& options, DiagnosticSink& sink);
  void parse();

 private:
  // What a declaration says before its names.
  struct DeclSpec {
    Space space = Space::none;
    Linkage linkage = Linkage::none;
    Type type = Type::none;
    std::uint8_t vec = 1;
    std::uint32_t align = 0;
    std::uint8_t bank = 0;
    bool managed = false, has_unified = false;
    std::uint64_t unified[2] = {0, 0};
    bool old_texture = false;  ///< .tex, as it was before opaque types
    bool is_ptr = false;
    Span ptr_span;
    Space ptr_space = Space::none;
    std::uint32_t ptr_align = 0;
    Type ptr_opaque = Type::none;
    Span space_span, type_span, linkage_span, align_span, vec_span, attribute_span;
    Span misplaced_span;  ///< of an .align, .attribute or vector size behind the type
    std::string_view misplaced;
  };
  struct Dimensions {
    bool is_array = false, unsized = false;
    std::vector<std::uint64_t> dims;
  };
  struct OpcodeEntry {
    Opcode op = Opcode::none;
    struct Candidate {
      std::uint16_t form;
      const Modifiers* mods;
    };
    std::vector<Candidate> candidates;
    std::string error;  ///< when there is no candidate
  };
  struct PendingLabel {
    enum class Where : std::uint8_t { operand, target_list } where;
    std::uint32_t index, sub;  ///< operand, or list and entry
    std::uint32_t depth;
    std::string_view name;
    Span span;
  };

  // parser.cpp: module level
  void directive();
  void version_directive();
  void target_directive();
  void address_size_directive();
  bool pragma_directive(std::vector<std::string_view>& out);
  bool check_pragma(std::string_view pragma, Span span);
  void file_directive();
  void loc_directive();
  void section_directive();
  void alias_directive();
  std::string alias_refusal(SymbolId alias, SymbolId target) const;
  void linked(Linkage linkage, Span span);
  void recover_module();

  // parser_features.cpp
  bool feature(Feature wanted, Span span);
  void check_target(Span span);
  void check_constants();

  // parser_function.cpp
  void function(Linkage linkage, bool entry);
  bool parameter_list(Function& f, std::vector<SymbolId>& out, bool entry, bool returns);
  void check_parameter_space(const Function& kernel, Span span);
  std::string parameter_difference(const std::vector<SymbolId>& a,
                                   const std::vector<SymbolId>& b) const;
  std::string header_difference(const Function& old, const Function& now) const;
  void redeclaration(const Function& old, const Function& now, bool has_body);
  void function_directives(Function& f, bool prototype);
  bool function_directive(Function& f, std::string_view name, std::uint32_t most);
  void check_directives(const Function& f, Span name, bool has_body);
  bool counts(std::uint32_t (&out)[3]);
  bool number(std::uint32_t& out, std::string_view what);
  SymbolId declare_function(std::string_view name, Span span);

  // parser_decl.cpp
  bool decl_spec(DeclSpec& spec);
  bool decl_word(DeclSpec& spec, const Token& token, bool& done);
  bool attribute(DeclSpec& spec, Span span);
  bool misplaced(const DeclSpec& spec);
  bool dimensions(Dimensions& dims);
  void variables(Linkage linkage);
  void declare_registers(const DeclSpec& spec);
  bool declare_variable(const DeclSpec& spec);
  bool check_variable(const DeclSpec& spec, std::string_view name, Span span);
  bool check_special(Span name);
  bool check_name(Span name);
  bool finish_variable(Variable& v, const DeclSpec& spec, const Dimensions& dims, Span span);
  SymbolId add_symbol(std::string_view name, Span span, SymbolKind kind);
  bool bind(std::string_view name, SymbolId id);
  SymbolId add_register(std::string_view name, Span span, Type type, std::uint8_t vec,
                        std::uint32_t scope);
  void declare_range(RegisterRange range);
  bool check_numbered(std::string_view name, SymbolId id);
  bool check_vector(const DeclSpec& spec);
  void check_redeclared(const Variable& old, const Variable& now);

  // parser_init.cpp
  bool initializer(Variable& v);
  bool init_list(Variable& v, std::size_t level, std::uint64_t base, std::uint64_t count,
                 const std::vector<std::uint64_t>& dims, std::uint64_t& highest, unsigned depth);
  bool init_element(Variable& v, std::uint64_t index);
  bool init_address(Variable& v, std::uint64_t index, std::optional<std::uint64_t> mask,
                    Span mask_span);
  bool mask_shift(std::uint64_t mask, Span span, std::uint8_t& shift);
  bool init_masked(Variable& v, std::uint64_t index);
  void put_bytes(Variable& v, std::uint64_t at, std::uint64_t size, std::uint64_t value);
  bool field_value(Variable& v, std::string_view member, OpaqueField& field);
  bool opaque_initializer(Variable& v);
  void size_opaque_array(Variable& v, std::uint64_t elements);
  bool opaque_fields(Variable& v);

  // parser_const.cpp
  std::optional<Constant> constant(unsigned depth = 0);
  std::optional<Constant> constant_binary(int min_precedence, unsigned depth);
  std::optional<Constant> constant_unary(unsigned depth);
  std::optional<std::uint64_t> integer_constant(std::string_view what);
  std::optional<std::uint64_t> number_constant(std::string_view what);
  bool operand_of_expression(const Constant& value);

  // parser_body.cpp
  void body(Function& f);
  void statement();
  bool body_directive();
  void label(const Token& name);
  void branch_targets(const Token& label, bool calls);
  void call_prototype(const Token& label);
  bool prototype_params(std::vector<PrototypeParam>& out, bool returns);
  void instruction(SymbolId pred, bool negated);
  void follow_ptxas(Instruction& inst, std::span<const Operand> operands);
  std::uint8_t constant_bank();
  OpcodeEntry& opcode_entry(const Token& word, Span& span);
  OpcodeEntry make_entry(std::string_view text);
  bool guard(SymbolId& pred, bool& negated);
  void enter_scope(Span span);
  void leave_scope();
  void resolve_pending(std::uint32_t depth);

  // parser_operand.cpp
  bool operands(Opcode op, std::vector<Operand>& out);
  bool call_operands(std::vector<Operand>& out);
  bool operand(Operand& out);
  bool operand_or_pair(Operand& out);
  bool name_operand(const Token& token, Operand& out);
  bool memory_operand(Operand& out);
  bool vector_operand(Operand& out);
  bool list_operand(Operand& out);
  bool label_operand(std::vector<Operand>& out, OperandKind kind);
  bool constant_operand(Operand& out);
  bool offset_suffix(std::int64_t& offset);
  bool sum_operand(Operand& out);
  bool unified_suffix(Operand& out);
  bool part_suffix(Operand& out);
  void add_list(Operand& out, const std::vector<Operand>& items, Span span);
  SymbolId resolve(std::string_view name);
  SymbolId resolve_register(std::string_view name);

  // helpers
  bool expect(char c, std::string_view where);
  bool error(Span span, std::string text);
  bool error_here(std::string text);
  std::string shown(const Token& token) const;
  void skip_statement();
  std::string_view text(Span span) const { return lex_.text(span); }
  bool in_function() const { return f_ != nullptr; }

  Module& m_;
  ParseOptions options_;
  DiagnosticSink& sink_;
  Lexer lex_;
  NameMap globals_, locals_, range_names_;
  /// By what stands before the number in a name: the declared name of the scope with the least one.
  NameMap numbered_;
  std::vector<RegisterRange> ranges_;
  std::unordered_map<std::string_view, OpcodeEntry> opcodes_;
  std::vector<PendingLabel> pending_;
  std::uint64_t numbered_targets_ = 0;  ///< labels that .branchtargets names by L<N>
  struct PendingOperand {
    std::uint32_t index;  ///< among the instruction's operands
    Span span;
  };
  std::vector<PendingOperand> pending_operands_;
  std::vector<Operand> operand_buffer_;
  Function* f_ = nullptr;
  bool has_cluster_rank_ = false;  ///< the header has .maxclusterrank
  std::uint32_t f_index_ = kNoIndex;
  std::uint32_t loc_ = 0;
  std::map<std::array<std::uint32_t, 3>, std::uint32_t> loc_places_;  ///< by file, line, column
  bool has_version_ = false, has_target_ = false, has_address_size_ = false,
       has_declaration_ = false;
};

/// Why no form of `op` takes these modifiers.
std::string explain_mismatch(Opcode op, std::string_view opcode_text);
/// Checks one finished function, or the module's declarations; check.cpp.
void check_function(const Module& module, Function& function, const ParseOptions& options,
                    DiagnosticSink& sink);

}  // namespace ptx2spv::ptx
