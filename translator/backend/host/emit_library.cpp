#include "translator/backend/host/emit_library.hpp"

#include <algorithm>

namespace ptx2spv::interpreter::llvm {

namespace {

spv::Op op_of(std::span<const std::uint32_t> words) {
  return static_cast<spv::Op>(words[0] & 0xffff);
}

}  // namespace

void LibraryCall::flatten(std::uint32_t type, std::vector<Element>& out) const {
  const Words words = library_.definition(type);
  switch (op_of(words)) {
    case spv::Op::OpTypeBool: out.push_back(Element::truth); return;
    case spv::Op::OpTypeInt: out.push_back(Element::word); return;
    case spv::Op::OpTypeFloat: out.push_back(Element::real); return;
    case spv::Op::OpTypeVector:
      for (std::uint32_t i = 0; i < words[3]; ++i) flatten(words[2], out);
      return;
    case spv::Op::OpTypeStruct:
      for (const std::uint32_t member : words.subspan(2)) flatten(member, out);
      return;
    default: return;
  }
}

std::uint32_t LibraryCall::size_of(std::uint32_t type) const {
  std::vector<Element> elements;
  flatten(type, elements);
  return static_cast<std::uint32_t>(elements.size());
}

std::uint32_t LibraryCall::offset_of(std::uint32_t& type, std::uint32_t member) const {
  const Words words = library_.definition(type);
  if (op_of(words) == spv::Op::OpTypeVector) {
    type = words[2];
    return member;
  }
  std::uint32_t offset = 0;
  for (std::uint32_t i = 0; i < member; ++i) offset += size_of(words[2 + i]);
  type = words[2 + member];
  return offset;
}

LLVMTypeRef LibraryCall::element_type(Element element, bool uniform) const {
  LLVMTypeRef t = element == Element::truth ? b_.i1 : element == Element::real ? b_.f32 : b_.i32;
  return uniform ? t : b_.vector(t);
}

LibraryCall::Parts LibraryCall::constant(std::uint32_t id) {
  const Words words = library_.definition(id);
  Parts out;
  switch (op_of(words)) {
    case spv::Op::OpConstantTrue:
    case spv::Op::OpConstantFalse:
      out.part = {b_.l.ConstInt(b_.i1, op_of(words) == spv::Op::OpConstantTrue, 0)};
      break;
    case spv::Op::OpConstant: {
      std::vector<Element> elements;
      flatten(words[1], elements);
      out.part = {b_.cast(op_bitcast, b_.c32(words[3]), element_type(elements[0], true))};
      break;
    }
    case spv::Op::OpConstantComposite:
      for (const std::uint32_t member : words.subspan(3)) {
        const Parts part = constant(member);
        out.part.insert(out.part.end(), part.part.begin(), part.part.end());
      }
      break;
    default: {
      std::vector<Element> elements;
      flatten(words[1], elements);
      for (const Element each : elements)
        out.part.push_back(b_.l.ConstNull(element_type(each, true)));
    }
  }
  return out;
}

LibraryCall::Parts LibraryCall::value(std::uint32_t id) {
  if (const auto known = values_.find(id); known != values_.end()) return known->second;
  return constant(id);
}

LibraryCall::Parts LibraryCall::spread(Parts v) {
  if (!v.uniform) return v;
  for (LLVMValueRef& part : v.part) part = b_.splat(part);
  v.uniform = false;
  return v;
}

/// Of several values: all uniform, or all vectors.
std::vector<LibraryCall::Parts> LibraryCall::alike(Words ids) {
  std::vector<Parts> all;
  for (const std::uint32_t id : ids) all.push_back(value(id));
  if (std::ranges::all_of(all, &Parts::uniform)) return all;
  for (Parts& each : all) each = spread(std::move(each));
  return all;
}

std::optional<LibraryCall::Parts> LibraryCall::run(Words body, std::span<const Parts> arguments) {
  std::size_t parameter = 0;
  for (std::size_t at = 0; at < body.size();) {
    const Words words = body.subspan(at, body[at] >> 16);
    at += words.size();
    const spv::Op op = op_of(words);
    bool has_result = false, has_type = false;
    spv::HasResultAndType(op, &has_result, &has_type);
    if (has_type) types_[words[2]] = words[1];
    if (op == spv::Op::OpFunctionParameter)
      values_[words[2]] = arguments[parameter++];
    else if (!instruction(op, words))
      return std::nullopt;
  }
  return std::move(result_);
}

bool LibraryCall::instruction(spv::Op op, Words words) {
  switch (op) {
    case spv::Op::OpFunction:
    case spv::Op::OpFunctionEnd:
    case spv::Op::OpLine:
    case spv::Op::OpNoLine:
    case spv::Op::OpSelectionMerge: return true;
    default: break;
  }
  return control(op, words) || memory(op, words) || composite(op, words) || arithmetic(op, words) ||
         wide(op, words);
}

void LibraryCall::edge(std::uint32_t to, LLVMValueRef condition) {
  edges_[{block_, to}] = condition;
  const auto [there, added] = blocks_.try_emplace(to, condition);
  if (!added) there->second = b_.op(op_or, there->second, condition);
}

bool LibraryCall::control(spv::Op op, Words words) {
  switch (op) {
    case spv::Op::OpLabel: {
      block_ = words[1];
      const auto found = blocks_.find(block_);
      here_ = found == blocks_.end() ? nullptr : found->second;
      return true;
    }
    case spv::Op::OpBranch: edge(words[1], here_ ? here_ : b_.all_ones()); return true;
    case spv::Op::OpBranchConditional: {
      LLVMValueRef c = spread(value(words[1])).part[0];
      LLVMValueRef here = here_ ? here_ : b_.all_ones();
      edge(words[2], b_.op(op_and, here, c));
      edge(words[3], b_.op(op_and, here, not_(c)));
      return true;
    }
    case spv::Op::OpPhi: values_[words[2]] = phi(words); return true;
    case spv::Op::OpReturnValue:
      // The last block alone returns.
      if (result_) return false;
      result_ = value(words[1]);
      return true;
    case spv::Op::OpSelect: {
      const Parts c = value(words[3]);
      Parts x = value(words[4]), y = value(words[5]);
      values_[words[2]] = choose(c, std::move(x), std::move(y));
      return true;
    }
    default: return false;
  }
}

LibraryCall::Parts LibraryCall::choose(const Parts& c, Parts x, Parts y) {
  if (!c.uniform || !x.uniform || !y.uniform) {
    x = spread(std::move(x));
    y = spread(std::move(y));
  }
  for (std::size_t i = 0; i < x.part.size(); ++i)
    x.part[i] = b_.select(c.part[c.part.size() > 1 ? i : 0], x.part[i], y.part[i]);
  return x;
}

LibraryCall::Parts LibraryCall::phi(Words words) {
  Parts out = value(words[3]);
  for (std::size_t i = 5; i < words.size(); i += 2)
    out = choose({{edges_[{words[i + 1], block_}]}, false}, value(words[i]), std::move(out));
  return out;
}

bool LibraryCall::memory(spv::Op op, Words words) {
  switch (op) {
    case spv::Op::OpVariable: {
      const std::uint32_t type = library_.definition(words[1])[3];
      pointers_[words[2]] = {words[2], 0, type};
      std::vector<Element> elements;
      flatten(type, elements);
      for (const Element each : elements)
        variables_[words[2]].part.push_back(b_.l.ConstNull(element_type(each, true)));
      return true;
    }
    case spv::Op::OpAccessChain: {
      Pointer pointer = pointers_.at(words[3]);
      for (const std::uint32_t index : words.subspan(4))
        pointer.first += offset_of(pointer.type, library_.definition(index)[3]);
      pointers_[words[2]] = pointer;
      return true;
    }
    case spv::Op::OpLoad: {
      const Pointer& from = pointers_.at(words[3]);
      values_[words[2]] = slice(variables_[from.variable], from.first, from.type);
      return true;
    }
    case spv::Op::OpStore: {
      const Pointer& to = pointers_.at(words[1]);
      Parts& all = variables_[to.variable];
      Parts what = value(words[2]);
      if (!what.uniform || here_) all = spread(std::move(all));
      if (!all.uniform) what = spread(std::move(what));
      for (std::uint32_t i = 0; i < what.part.size(); ++i) {
        LLVMValueRef& part = all.part[to.first + i];
        part = here_ ? b_.select(here_, what.part[i], part) : what.part[i];
      }
      return true;
    }
    default: return false;
  }
}

LibraryCall::Parts LibraryCall::slice(const Parts& from, std::uint32_t first,
                                      std::uint32_t type) const {
  const auto begin = from.part.begin() + first;
  return {{begin, begin + size_of(type)}, from.uniform};
}

bool LibraryCall::composite(spv::Op op, Words words) {
  switch (op) {
    case spv::Op::OpCompositeExtract: {
      const Parts from = value(words[3]);
      const auto known = types_.find(words[3]);
      std::uint32_t offset = 0;
      std::uint32_t type = known == types_.end() ? library_.definition(words[3])[1] : known->second;
      for (const std::uint32_t member : words.subspan(4)) offset += offset_of(type, member);
      values_[words[2]] = slice(from, offset, type);
      return true;
    }
    case spv::Op::OpCompositeConstruct: {
      Parts out;
      for (const Parts& each : alike(words.subspan(3))) {
        out.part.insert(out.part.end(), each.part.begin(), each.part.end());
        out.uniform = each.uniform;
      }
      values_[words[2]] = std::move(out);
      return true;
    }
    case spv::Op::OpVectorShuffle: {
      const auto from = alike(words.subspan(3, 2));
      Parts out{{}, from[0].uniform};
      for (const std::uint32_t i : words.subspan(5))
        out.part.push_back(i < from[0].part.size() ? from[0].part[i]
                                                   : from[1].part[i - from[0].part.size()]);
      values_[words[2]] = std::move(out);
      return true;
    }
    default: return false;
  }
}

bool Emitter::library(Value v) {
  const ir::Inst& inst = f_.insts[v];
  const spirv::Library& library = spirv::Library::embedded();
  std::vector<ir::Type> types;
  std::vector<LibraryCall::Parts> arguments;
  for (const Value a : f_.args(v)) {
    const Lifted given = value(a);
    types.push_back(f_.insts[a].type);
    LibraryCall::Parts parts{{given.part, given.part + given.parts}, given.uniform};
    if (types.back() == ir::Type::i64) {
      LLVMTypeRef word = given.uniform ? b_.i32 : b_.vector(b_.i32);
      LLVMValueRef both = given.part[0], by = b_.number(both, b_.i64, 32);
      parts.part = {b_.cast(op_trunc, both, word),
                    b_.cast(op_trunc, b_.op(op_lshr, both, by), word)};
    }
    // The library's own bits never merge, but may with those that come from elsewhere.
    for (LLVMValueRef& part : parts.part) part = b_.fence(part);
    arguments.push_back(std::move(parts));
  }
  const std::string& name = static_cast<const Call*>(program_.steps[steps_[v]].more)->name;
  // Of their own they have fused operations.
  if (name.ends_with("_fused")) return false;
  const auto result = LibraryCall(b_, library).run(library.body(name, types), arguments);
  if (!result || result->part.empty()) return false;
  Lifted out{.parts = static_cast<unsigned>(result->part.size()), .uniform = result->uniform};
  std::ranges::copy(result->part, out.part);
  if (inst.type == ir::Type::i64) {
    LLVMTypeRef twice = out.uniform ? b_.i64 : b_.vector(b_.i64);
    LLVMValueRef low = b_.cast(op_zext, out.part[0], twice),
                 high = b_.cast(op_zext, out.part[1], twice);
    out = {.part = {b_.op(op_or, low, b_.op(op_shl, high, b_.number(high, b_.i64, 32)))},
           .parts = 1,
           .uniform = out.uniform};
  }
  define(v, out);
  return true;
}

}  // namespace ptx2spv::interpreter::llvm
