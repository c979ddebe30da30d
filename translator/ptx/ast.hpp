// The syntax tree of a PTX module: names resolved, modifiers resolved, every node with its place.
//
// Flat and index-based, so that a module of a million instructions is a handful of vectors. Symbols
// are numbered module-wide; nested { } scopes give distinct symbols. Registers of a parameterised
// declaration (%r<100>) exist as symbols only when they are used.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "translator/ptx/opcodes.hpp"
#include "translator/ptx/types.hpp"
#include "translator/support/source.hpp"
#include "translator/support/span.hpp"

namespace ptx2spv::ptx {

using SymbolId = std::uint32_t;
inline constexpr SymbolId kNoSymbol = 0;
inline constexpr std::uint32_t kNoIndex = 0xffffffffu;

enum class SymbolKind : std::uint8_t {
  none,
  reg,       ///< index: the register's number in its function, dense from 0
  variable,  ///< index into Module::variables (module scope and function scope alike)
  param,  ///< of an entry or .func: index into Module::variables as well; a .reg parameter is a reg
  function,        ///< index into Module::functions
  label,           ///< index: its own statement in Function::statements
  branch_targets,  ///< index into Function::target_lists (also call_targets)
  prototype,       ///< index into Function::prototypes
};

struct Symbol {
  std::string_view name;
  Span span;  ///< of the declaration
  SymbolKind kind = SymbolKind::none;
  Type type = Type::none;
  Space space = Space::none;
  std::uint8_t vec = 1;  ///< 1, 2, 4 (8): a vector register or variable
  std::uint32_t index = kNoIndex;
  std::uint32_t function = kNoIndex;  ///< owner; kNoIndex at module scope
};

/// A field of an opaque variable's static initialiser: width = 8, addr_mode_0 = wrap, ...
struct OpaqueField {
  std::string_view name;
  std::uint64_t value = 0;  ///< names (wrap, linear, ...) as their numbers in the manual's order
  Span span;
};

/// An address in an initialiser, written to `bytes` bytes at byte offset `at`.
struct InitAddress {
  std::uint64_t at = 0;
  SymbolId symbol = kNoSymbol;  ///< variable or function
  std::int64_t addend = 0;
  bool generic = false;    ///< generic(symbol): else the address in the symbol's own space
  std::uint8_t bytes = 8;  ///< size of the element
  std::uint8_t shift = 0;  ///< mask() forms: (address >> shift) & 0xFF...
  bool masked = false;
  Span span;
};

struct Initializer {
  bool present = false;
  std::vector<std::uint8_t> bytes;  ///< a prefix of the variable; the rest is zero
  std::vector<InitAddress> addresses;
  std::vector<OpaqueField> fields;  ///< opaque types
};

/// A variable or parameter that lives in memory.
struct Variable {
  SymbolId symbol = kNoSymbol;
  Type type = Type::none;
  Space space = Space::none;
  std::uint8_t vec = 1;
  Linkage linkage = Linkage::none;
  bool is_array = false;
  bool unsized = false;  ///< the outermost dimension is omitted: dynamic .shared or extern
  std::vector<std::uint64_t> dims;
  std::uint64_t count = 1;  ///< elements over all dimensions
  std::uint64_t size = 0;   ///< bytes; 0 when unsized or opaque (opaque: 8 by handle)
  std::uint32_t align = 1;  ///< stated, or the natural one
  Initializer init;
  std::uint8_t bank = 0;  ///< of .const: 1 to 10 are for external arrays without a size
  bool managed = false;
  bool has_unified = false;
  std::uint64_t unified[2] = {0, 0};
  bool is_ptr = false;  ///< kernel parameter .ptr
  Space ptr_space = Space::none;
  std::uint32_t ptr_align = 0;
  Type ptr_opaque = Type::none;  ///< .ptr .surfref and the like
  Span span;
};

enum class OperandKind : std::uint8_t {
  none,      ///< left out (call without returns, arguments or prototype)
  reg,       ///< symbol; part: vector component or video selector; negated: !p
  sum,       ///< symbol + offset: a register and a constant, added in the register's width
  special,   ///< special register: special, index, part
  imm_int,   ///< value; is_unsigned: had a U suffix or did not fit s64
  imm_f32,   ///< value: 32 bits (0f...)
  imm_f64,   ///< value: 64 bits (0d... or decimal)
  address,   ///< symbol (variable, parameter or function) + offset, as a value: mov.u64 rd, sym+8
  memory,    ///< [reg or symbol + offset]; symbol kNoSymbol: [immediate], offset is the address
  vector,    ///< {a, b, ...}: list
  label,     ///< symbol
  function,  ///< symbol
  sink,      ///< _
  pair,      ///< p|q: list of two
  surface,   ///< [a, coords] and [a, b, coords]: list; the first is reg or address, the last the
             ///< coordinates
  list,      ///< ( ... ) of a call: list
  targets,   ///< symbol of .branchtargets, .calltargets or .callprototype
};

/// Components .x/.r .y/.g .z/.b .w/.a and the selectors of video instructions.
enum class Part : std::uint8_t { none, x, y, z, w, bytes, halves };

struct ListRef {  // no initialisers: a member of a union
  std::uint32_t first, count;
};

struct Operand {
  OperandKind kind = OperandKind::none;
  Part part = Part::none;
  bool negated = false;  ///< !p; of a register in a video instruction: -a
  bool is_unsigned = false;
  SpecialReg special{};
  std::uint8_t index = 0;  ///< %pm, %envreg number
  bool plus = false;       ///< an offset is written, if only +0
  bool indexed = false;    ///< name[index]
  bool unified = false;    ///< [address].unified
  /// Video selectors .b0 .h1 .b3210 .h10 ...: one nibble per written digit, the last digit lowest.
  std::uint16_t selector = 0;
  std::uint8_t selectors = 0;  ///< digits written
  SymbolId symbol = kNoSymbol;
  union {
    std::uint64_t value = 0;
    std::int64_t offset;
    ListRef list;
  };
  Span span;
};

/// The modifiers of an instruction, sorted out by the table's slots. Shared by all instructions
/// that are written alike.
struct Modifiers {
  std::array<Type, 4>
      types{};  ///< in the order written: cvt.d.s, set.d.s, tex.vec.d.s, mma-like ones
  std::uint8_t type_count = 0;
  std::uint8_t vec = 1;         ///< .v2 .v4 .v8
  Space space = Space::none;    ///< none: generic
  bool shared_cluster = false;  ///< .shared::cluster
  Mod rounding = Mod::none;     ///< rn rz rm rp rna rs rni rzi rmi rpi approx full
  Mod cmp = Mod::none;          ///< set, setp, vset
  Mod bool_op = Mod::none;      ///< and or xor of set, setp
  Mod op =
      Mod::none;  ///< atom, red, redux, bar.red, sured, lop3's .and/.or, video's second operation
  Mod mode =
      Mod::none;  ///< lo hi wide; shfl, vote, match, shf, prmt, testp modes; wrap/clamp of shifts
  Mod mode2 = Mod::none;  ///< second one: wrap/clamp of shf, membar/fence kinds
  Mod cache = Mod::none;  ///< ca cg cs lu cv wb wt
  Mod sem = Mod::none;    ///< weak relaxed acquire release acq_rel sc volatile mmio
  Mod scope = Mod::none;  ///< cta cluster gpu sys (gl: membar)
  Mod geom = Mod::none;   ///< d1 d2 d3 a1d a2d cube acube d2ms a2dms; m16n8k16 ... of matrices
  std::array<Mod, 2> layouts{};  ///< row, col: of a matrix, or of a and b
  Mod clamp = Mod::none;         ///< trap clamp zero of surfaces; none: left out, acts as trap
  Mod query = Mod::none;         ///< suq, txq
  bool ftz = false, sat = false, cc = false, uni = false;
  std::array<std::uint64_t, (static_cast<std::size_t>(Mod::count_) + 63) / 64> set{};

  Type type(unsigned i = 0) const { return types[i]; }
  bool has(Mod m) const {
    auto i = static_cast<unsigned>(m);
    return (set[i / 64] >> (i % 64)) & 1u;
  }
};

struct Instruction {
  Opcode op{};
  std::uint16_t form = 0;  ///< row of the instruction table: form_info(form)
  bool pred_negated = false;
  std::uint8_t operand_count = 0;
  std::uint32_t first_operand = 0;  ///< Function::operands
  SymbolId pred = kNoSymbol;        ///< guard @p
  std::uint32_t loc = 0;            ///< index into Module::locs, 0: none
  const Modifiers* mods = nullptr;
  Span span;         ///< from the opcode (guard excluded) to before the semicolon
  Span opcode_span;  ///< opcode with modifiers
};

/// call always has four operands: returns (list or none), callee (function or reg), arguments (list
/// or none), prototype or targets (targets or none).
inline constexpr unsigned kCallReturns = 0, kCallCallee = 1, kCallArguments = 2, kCallPrototype = 3;

/// .loc file line column [, function_name label {+ imm}, inlined_at file line column]
struct SourceLoc {
  std::uint32_t file = 0, line = 0, column = 0;
  bool inlined = false;
  std::uint32_t inlined_file = 0, inlined_line = 0, inlined_column = 0;
  std::uint32_t caller = 0;  ///< the last .loc of the place inlined at, with its own chain; 0: none
};

enum class StatementKind : std::uint8_t { instruction, label };
struct Statement {
  StatementKind kind = StatementKind::instruction;
  std::uint32_t index = 0;  ///< into Function::instructions, or the label's SymbolId
};

struct TargetList {
  SymbolId symbol = kNoSymbol;
  bool calls = false;  ///< .calltargets: functions; else labels
  std::vector<SymbolId> targets;
  Span span;
};

/// Parameter of a .callprototype.
struct PrototypeParam {
  Type type = Type::none;
  Space space = Space::none;  ///< param or reg
  std::uint32_t align = 1;
  bool is_array = false;
  std::uint64_t size = 0;  ///< bytes
};
struct Prototype {
  SymbolId symbol = kNoSymbol;
  std::vector<PrototypeParam> returns, params;
  bool noreturn = false;
  Span span;
};

struct Function {
  std::string_view name;
  SymbolId symbol = kNoSymbol;
  Linkage linkage = Linkage::none;
  bool is_entry = false;
  bool has_body = false;  ///< false: declared only
  bool noreturn = false;
  bool has_unified = false;
  std::uint64_t unified[2] = {0, 0};
  std::vector<SymbolId> returns;                                 ///< reg or param symbols
  std::vector<SymbolId> params;                                  ///< reg or param symbols
  std::uint32_t maxntid[3] = {0, 0, 0}, reqntid[3] = {0, 0, 0};  ///< 0: not stated
  std::uint32_t minnctapersm = 0, maxnctapersm = 0, maxnreg = 0;
  std::uint32_t reqnctapercluster[3] = {0, 0, 0};
  bool explicit_cluster = false, blocks_are_clusters = false;
  std::vector<std::string_view> pragmas;
  std::vector<SymbolId> registers;  ///< by register number (Symbol::index)
  std::vector<SymbolId> variables;  ///< .local .shared .param .global ... declared in the body
  std::vector<Statement> statements;
  std::vector<Instruction> instructions;
  std::vector<Operand> operands;  ///< of the instructions, and nested lists
  std::vector<TargetList> target_lists;
  std::vector<Prototype> prototypes;
  Span body_directive;  ///< the last one in the header that needs a body
  Span span;            ///< of the name
  Span body_end;        ///< the closing brace

  std::span<const Operand> args(const Instruction& inst) const {
    return {operands.data() + inst.first_operand, inst.operand_count};
  }
  std::span<const Operand> list(const Operand& operand) const {
    return {operands.data() + operand.list.first, operand.list.count};
  }
};

struct SourceFileName {
  std::uint32_t number = 0;
  std::string_view name;
};
struct Alias {
  SymbolId alias = kNoSymbol, target = kNoSymbol;
};

struct Module {
  std::uint32_t version_major = 0, version_minor = 0;
  unsigned version() const { return version_major * 10 + version_minor; }
  /// Why the module may not have `what`, which is of a PTX version and a target (instructions.def);
  /// empty where it may.
  std::string older_than(unsigned needed, unsigned needed_sm, std::string_view what) const;
  bool is_older_than(unsigned needed, unsigned needed_sm) const {
    return version() < needed || sm < needed_sm % 128 || (needed_sm >= 128 && sm_suffix == 0);
  }
  std::string_view target;  ///< sm_90a
  unsigned sm = 0;          ///< 90
  char sm_suffix = 0;       ///< a, f or 0
  bool texmode_independent = false;
  bool debug = false, map_f64_to_f32 = false;
  unsigned address_size = 32;
  std::deque<Symbol> symbols{Symbol{}};  ///< [0] is no symbol
  std::deque<Variable> variables;        ///< of every scope, parameters included
  std::vector<SymbolId> globals;         ///< module-scope variables in order
  std::deque<Function> functions;  ///< one per name: a later definition replaces its declaration
  std::vector<SourceFileName> files;
  std::unordered_map<std::uint32_t, std::size_t> file_of;  ///< by number: the first in files
  std::vector<SourceLoc> locs{SourceLoc{}};
  std::vector<Alias> aliases;
  std::vector<std::string_view> pragmas;
  SourceFile source;  ///< owns the text; every string_view points into it or into `strings`
  std::deque<std::string> strings;
  std::vector<std::unique_ptr<Modifiers>> modifier_sets;

  Symbol& symbol(SymbolId id) { return symbols[id]; }
  const Symbol& symbol(SymbolId id) const { return symbols[id]; }
  const Variable& variable(SymbolId id) const { return variables[symbols[id].index]; }
  std::string_view text(Span span) const { return source.text(span); }
  /// What .file calls the file of that number; empty when there is none.
  std::string_view file(std::uint32_t number) const {
    const auto at = file_of.find(number);
    return at == file_of.end() ? std::string_view() : files[at->second].name;
  }
};

/// The bits of an immediate as an operand of type `type`: integers truncated, floats converted
/// (decimal and 0d literals are doubles, 0f literals floats).
std::uint64_t immediate_bits(const Operand& operand, Type type);

}  // namespace ptx2spv::ptx
