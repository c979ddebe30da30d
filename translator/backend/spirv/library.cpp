
#include "translator/backend/spirv/library.hpp"

#include <spirv/unified1/GLSL.std.450.h>

#include <algorithm>

#include "shaders/library.hpp"

namespace ptx2spv::spirv {

namespace {

constexpr std::size_t kHeaderWords = 5;

spv::Op op_at(std::span<const std::uint32_t> words, std::size_t at) {
  return static_cast<spv::Op>(words[at] & 0xffff);
}
std::size_t size_at(std::span<const std::uint32_t> words, std::size_t at) {
  return words[at] >> 16;
}

std::string_view string_at(std::span<const std::uint32_t> words, std::size_t at, std::size_t end) {
  const char* text = reinterpret_cast<const char*>(words.data() + at);
  const std::string_view all(text, (end - at) * 4);
  return all.substr(0, all.find('\0'));
}

/// Which operands (after type and result) are ids: `ids` of them, from `first`; the others are
/// literals. Operand 0 of an extended instruction is an id too, although a literal stands behind
/// it.
struct Layout {
  std::size_t first = 0, ids = ~std::size_t{0};
};
Layout layout_of(spv::Op op) {
  using enum spv::Op;
  constexpr std::size_t kRest = ~std::size_t{0};
  switch (op) {
    case OpTypeInt:
    case OpTypeFloat:
    case OpConstant: return {0, 0};
    case OpTypePointer:
    case OpVariable:
    case OpFunction: return {1, kRest};
    case OpExtInst: return {2, kRest};
    case OpTypeVector:
    case OpTypeMatrix:
    case OpCompositeExtract:
    case OpLoad:
    case OpSelectionMerge: return {0, 1};
    case OpCompositeInsert:
    case OpVectorShuffle:
    case OpStore:
    case OpLoopMerge: return {0, 2};
    case OpBranchConditional: return {0, 3};
    default: return {0, kRest};
  }
}

}  // namespace

Library::Library(std::span<const std::uint32_t> words) : words_(words) {
  if (words.size() < kHeaderWords || words[0] != spv::MagicNumber) return;
  const std::size_t bound = words[3];
  definitions_.resize(bound);
  function_of_.resize(bound);
  decorations_.resize(bound);
  std::vector<std::string_view> name_of(bound);
  bool inside = false;
  for (std::size_t at = kHeaderWords; at < words.size();) {
    const std::size_t size = size_at(words, at);
    if (size == 0 || at + size > words.size()) break;
    const spv::Op op = op_at(words, at);
    const auto offset = static_cast<std::uint32_t>(at);
    if (op == spv::Op::OpName) {
      name_of[words[at + 1]] = string_at(words, at + 2, at + size);
    } else if (op == spv::Op::OpDecorate) {
      decorations_[words[at + 1]].push_back(offset);
    } else if (op == spv::Op::OpFunction) {
      inside = true;
      functions_.push_back({words[at + 2], offset, 0, 0});
      function_of_[words[at + 2]] = static_cast<std::uint32_t>(functions_.size());
    } else if (op == spv::Op::OpFunctionEnd) {
      inside = false;
      functions_.back().end = static_cast<std::uint32_t>(at + size);
    } else if (!inside) {
      bool has_result = false, has_type = false;
      spv::HasResultAndType(op, &has_result, &has_type);
      if (has_result) definitions_[words[at + (has_type ? 2 : 1)]] = offset;
    }
    at += size;
  }
  for (std::uint32_t i = 0; i < functions_.size(); ++i) {
    const std::string_view mangled = name_of[functions_[i].id];
    names_.push_back({mangled.substr(0, mangled.find('(')), i});
  }
  std::ranges::stable_sort(names_, {}, &Name::text);
  for (std::uint32_t i = 0; i < functions_.size(); ++i) count(i);
}

// GLSL has no recursion; a library that has it ends here all the same.
void Library::count(std::uint32_t function) {
  Function& f = functions_[function];
  if (f.cost != 0) return;
  std::uint32_t sum = f.cost = 1;
  for (std::size_t at = f.begin; at < f.end; at += size_at(words_, at)) {
    switch (op_at(words_, at)) {
      case spv::Op::OpFunction:
      case spv::Op::OpFunctionParameter:
      case spv::Op::OpFunctionEnd:
      case spv::Op::OpLabel:
      case spv::Op::OpVariable:
      case spv::Op::OpReturnValue:
      case spv::Op::OpLine:
      case spv::Op::OpNoLine: break;
      case spv::Op::OpFunctionCall: {
        const std::uint32_t callee = function_of_[words_[at + 3]];
        if (callee == 0) break;
        count(callee - 1);
        sum += functions_[callee - 1].cost;
        break;
      }
      default: ++sum;
    }
  }
  f.cost = sum;
}

// std::ranges::equal_range of libstdc++ 12 does not compile with clang 14.
std::pair<Library::Names::const_iterator, Library::Names::const_iterator> Library::named(
    std::string_view name) const {
  return {std::ranges::lower_bound(names_, name, {}, &Name::text),
          std::ranges::upper_bound(names_, name, {}, &Name::text)};
}

std::uint32_t Library::cost(std::string_view name) const {
  std::uint32_t most = 0;
  const auto [first, last] = named(name);
  for (auto it = first; it != last; ++it) most = std::max(most, functions_[it->function].cost);
  return most;
}

std::span<const std::uint32_t> Library::definition(std::uint32_t id) const {
  const std::uint32_t at = definitions_[id];
  return at == 0 ? words_.first(0) : words_.subspan(at, size_at(words_, at));
}

bool Library::takes(const Function& function, std::span<const ir::Type> parameters) const {
  const auto signature = definition(words_[function.begin + 4]);
  if (signature.size() != parameters.size() + 3) return false;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    auto type = definition(signature[3 + i]);
    std::uint32_t words = 1;
    if (op_at(type, 0) == spv::Op::OpTypeVector) {
      words = type[3];
      type = definition(type[2]);
    }
    const bool truth = op_at(type, 0) == spv::Op::OpTypeBool;
    if (!truth && (op_at(type, 0) != spv::Op::OpTypeInt || type[3] != 0)) return false;
    const ir::Type wanted = parameters[i];
    if (truth != (wanted == ir::Type::i1) ||
        words != (wanted == ir::Type::v4                              ? 4u
                  : wanted == ir::Type::v2 || wanted == ir::Type::i64 ? 2u
                                                                      : 1u))
      return false;
  }
  return true;
}

std::span<const std::uint32_t> Library::body(std::string_view name,
                                             std::span<const ir::Type> parameters) const {
  const auto [first, last] = named(name);
  for (auto it = first; it != last; ++it)
    if (const Function& function = functions_[it->function]; takes(function, parameters))
      return words_.subspan(function.begin, function.end - function.begin);
  return {};
}

const Library& Library::embedded() {
  // Threads that translate go on while the process ends: nothing that they read is destroyed.
  static const auto* library = new Library(shaders::library_words());
  return *library;
}

std::vector<std::string_view> Library::names() const {
  std::vector<std::string_view> all;
  for (const Name& name : names_) all.push_back(name.text);
  return all;
}

/// One request: copies definitions with their ids replaced by the module's.
class Library::Copy {
 public:
  Copy(const Library& library, Builder& builder)
      : library_(library), words_(library.words_), builder_(builder), ids_(builder.library_ids()) {
    if (ids_.size() < library.definitions_.size()) ids_.resize(library.definitions_.size());
  }

  /// The module's id for the library's `id`; what stands behind it is copied when it is not there
  /// yet.
  Id map(std::uint32_t id) {
    if (ids_[id] != 0) return ids_[id];
    if (library_.definitions_[id] != 0) return ids_[id] = define(library_.definitions_[id]);
    if (library_.function_of_[id] != 0) {
      const std::uint32_t index = library_.function_of_[id] - 1;
      ids_[id] = builder_.id();
      function(index);
      return ids_[id];
    }
    ids_[id] = builder_.id();
    for (const std::uint32_t at : library_.decorations_[id]) {
      Words operands(words_.begin() + at + 1, words_.begin() + at + size_at(words_, at));
      operands[0] = ids_[id];
      builder_.annotate(spv::Op::OpDecorate, operands);
    }
    return ids_[id];
  }

  bool uses_variables() const { return uses_variables_; }
  /// What a copy of the function says of its calls.
  void control(std::uint32_t function, spv::FunctionControlMask mask) {
    controlled_ = function;
    control_ = static_cast<std::uint32_t>(mask);
  }

 private:
  Id define(std::size_t at) {
    const spv::Op op = op_at(words_, at);
    const std::size_t end = at + size_at(words_, at);
    if (op == spv::Op::OpExtInstImport) return builder_.import_set(string_at(words_, at + 2, end));
    if (op == spv::Op::OpVariable) uses_variables_ = true;
    if (op == spv::Op::OpTypeInt) {
      return words_[at + 3] == 0 ? builder_.type_int(words_[at + 2])
                                 : builder_.type_signed(words_[at + 2]);
    }
    if (op == spv::Op::OpTypeFloat) return builder_.type_float(words_[at + 2]);
    bool has_result = false, has_type = false;
    spv::HasResultAndType(op, &has_result, &has_type);
    const Id type = has_type ? map(words_[at + 1]) : 0;
    Words operands;
    remap(op, {words_.begin() + at + (has_type ? 3 : 2), words_.begin() + end}, operands);
    return builder_.global(op, type, operands);
  }

  void remap(spv::Op op, std::span<const std::uint32_t> from, Words& to) {
    const Layout layout = layout_of(op);
    for (std::size_t i = 0; i < from.size(); ++i) {
      bool is_id = i >= layout.first && i - layout.first < layout.ids;
      if (op == spv::Op::OpExtInst && i == 0) is_id = true;
      if (op == spv::Op::OpSwitch && i >= 2) is_id = i % 2 == 1;
      to.push_back(is_id ? map(from[i]) : from[i]);
    }
  }

  /// Whether GLSL's fma stands there, of floats for which the module uses SPIR-V's.
  bool is_fma(std::size_t at) {
    if (op_at(words_, at) != spv::Op::OpExtInst || words_[at + 4] != GLSLstd450Fma) return false;
    const auto set = library_.definition(words_[at + 3]);
    if (set.size() < 3 || string_at(set, 2, set.size()) != "GLSL.std.450") return false;
    auto type = library_.definition(words_[at + 1]);
    if (op_at(type, 0) == spv::Op::OpTypeVector) type = library_.definition(type[2]);
    if (!builder_.uses_fma(type[2])) return false;
    builder_.capability(kFmaCapability);
    return true;
  }

  void function(std::uint32_t index) {
    const Function& range = library_.functions_[index];
    Words body;
    body.reserve(range.end - range.begin);
    Words operands;
    for (std::size_t at = range.begin; at < range.end;) {
      const spv::Op op = op_at(words_, at);
      const std::size_t size = size_at(words_, at);
      bool has_result = false, has_type = false;
      spv::HasResultAndType(op, &has_result, &has_type);
      const std::size_t fixed = 1 + (has_type ? 1 : 0) + (has_result ? 1 : 0);
      if (op != spv::Op::OpLine && op != spv::Op::OpNoLine) {
        operands.clear();
        if (has_type) operands.push_back(map(words_[at + 1]));
        if (has_result) operands.push_back(map(words_[at + fixed - 1]));
        const bool fma = is_fma(at);
        const std::size_t first = at + fixed + (fma ? 2 : 0);
        remap(fma ? kFmaKHR : op, {words_.begin() + first, words_.begin() + at + size}, operands);
        if (op == spv::Op::OpFunction && index == controlled_) operands[fixed - 1] |= control_;
        put_list(body, fma ? kFmaKHR : op, operands);
      }
      at += size;
    }
    const auto name = std::ranges::find(library_.names_, index, &Name::function);
    builder_.name(ids_[range.id], name->text);
    Words& out = builder_.library_functions();
    out.insert(out.end(), body.begin(), body.end());
  }

  const Library& library_;
  std::span<const std::uint32_t> words_;
  Builder& builder_;
  std::vector<Id>& ids_;
  bool uses_variables_ = false;
  std::uint32_t controlled_ = 0, control_ = 0;
};

Id Library::link(Builder& builder, std::string_view name, Id function_type, std::string& error,
                 spv::FunctionControlMask control) const {
  const auto [first, last] = named(name);
  if (first == last) {
    error = "the shader library has no function " + std::string(name);
    return 0;
  }
  Copy copy(*this, builder);
  for (auto it = first; it != last; ++it) {
    const Function& function = functions_[it->function];
    if (copy.map(words_[function.begin + 4]) != function_type) continue;
    copy.control(it->function, control);
    const Id result = copy.map(function.id);
    if (!copy.uses_variables()) return result;
    error = "library function " + std::string(name) + " uses a global variable";
    return 0;
  }
  error = "library function " + std::string(name) + " is not declared with the types of its use";
  return 0;
}

}  // namespace ptx2spv::spirv
