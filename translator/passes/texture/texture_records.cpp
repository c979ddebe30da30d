#include "translator/passes/texture/texture_records.hpp"

#include <algorithm>
#include <optional>

#include "translator/passes/surface/surface_record.hpp"

namespace ptx2spv::passes {

namespace {

constexpr std::uint32_t kRecordBytes = abi::kTextureWords * 4;

/// The handle whose record `value` is the place of, as TextureLowering::open_record writes it.
std::optional<Value> handle_of(const Function& f, Value value) {
  const Inst& mul = f.insts[value];
  if (mul.op != Op::mul) return std::nullopt;
  const Inst& bytes = f.insts[f.arg(value, 1)];
  if (bytes.op != Op::constant || bytes.imm != kRecordBytes) return std::nullopt;
  const Value known = f.arg(value, 0);
  if (f.insts[known].op != Op::select) return std::nullopt;
  const Value low = f.arg(known, 1);
  if (f.insts[low].op != Op::trunc) return std::nullopt;
  return f.arg(low, 0);
}

/// The sum of a record's place and a constant in a load's address, which may add more to it.
struct RecordAddress {
  Value sum = 0, handle = 0;
  std::uint32_t offset = 0;
  bool exact = false;  ///< the whole address
};

std::optional<RecordAddress> record_address(const Function& f, Value address) {
  RecordAddress found;
  found.exact = true;
  for (found.sum = address; f.insts[found.sum].op == Op::add; found.exact = false) {
    const Value first = f.arg(found.sum, 0);
    const Inst& second = f.insts[f.arg(found.sum, 1)];
    if (const auto handle = handle_of(f, first); handle && second.op == Op::constant) {
      found.handle = *handle;
      found.offset = static_cast<std::uint32_t>(second.imm);
      return found;
    }
    found.sum = first;
  }
  return std::nullopt;
}

template <class Each>
void each_record_load(Function& f, Each&& each) {
  const HandleTracer tracer(f);
  for (const Block& block : f.blocks)
    for (const Value value : block.insts) {
      const Inst& inst = f.insts[value];
      if (inst.op != Op::load || inst.mem.space != Space::textures) continue;
      const auto address = record_address(f, f.arg(value, 0));
      if (!address) continue;
      if (const auto at = tracer.parameter_offset(address->handle)) each(value, *address, *at);
    }
}

/// Whether a known handle passes the test of its kind that open_record makes.
bool is_of_kind(const Function& f, Value test, const TextureSpec& spec) {
  if (f.insts[test].op != Op::eq) return true;  // either
  const bool sampler = f.insts[f.arg(test, 1)].imm & abi::kSamplerHandleBit;
  return sampler == (spec.channels == 0);
}

void become_constant(Inst& inst, std::uint64_t value) {
  inst.op = Op::constant;
  inst.count = 0;
  inst.mem = {};
  inst.imm = value;
}

/// The words of a record that the host's knowledge fixes.
std::optional<std::uint32_t> fixed_word(std::uint32_t word, const TextureSpec& spec) {
  static constexpr std::uint32_t kBytes[] = {1, 2, 4, 1, 2, 4, 2, 4};
  const auto format = static_cast<std::uint32_t>(spec.format);
  switch (word) {
    case abi::x_sampler: return spec.sampler;
    case abi::x_format: return format;
    case abi::x_channels: return spec.channels;
    case abi::x_component_bytes: return kBytes[format % 8];
    case abi::x_texel_bytes: return kBytes[format % 8] * spec.channels;
    case abi::x_levels: return spec.one_level ? std::optional(1u) : std::nullopt;
    default: return std::nullopt;
  }
}

void add_use(std::vector<TextureUse>& uses, const TextureUse& use) {
  if (std::find(uses.begin(), uses.end(), use) == uses.end()) uses.push_back(use);
}

}  // namespace

Value record_place(Builder& b, Value low, Value exists) {
  return b.op2(Op::mul, b.select(exists, low, b.i32(0)), b.i32(kRecordBytes));
}

Value record_index(Builder& b, Value record) {
  const Function& f = b.function();
  // As open_record and record_place make it.
  if (f.insts[record].op == Op::mul) return f.arg(record, 0);
  return b.op2(Op::udiv, record, b.i32(kRecordBytes));
}

std::optional<std::uint32_t> record_parameter(const HandleTracer& tracer, const Function& f,
                                              Value record) {
  const auto handle = handle_of(f, record);
  return handle ? tracer.parameter_offset(*handle) : std::nullopt;
}

void find_texture_slots(const Function& function, const Module& module, EntryInfo& entry) {
  auto& slots = entry.textures.slots;
  each_record_load(const_cast<Function&>(function),
                   [&](Value, const RecordAddress&, std::uint32_t at) {
                     if (std::find(slots.begin(), slots.end(), at) == slots.end())
                       slots.push_back(at);
                   });
  entry.textures.records = (entry.param_buffer_bytes + 15) / 16 * 16;
  const HandleTracer tracer(function);
  for (const Block& block : function.blocks)
    for (const Value value : block.insts) {
      if (function.insts[value].op != Op::texture_read) continue;
      const TextureUse& use = module.texture_ops[function.insts[value].imm].use;
      const auto at = record_parameter(tracer, function, function.arg(value, 0));
      if (!at) {
        entry.textures.dynamic = true;
        add_use(entry.textures.table_uses, use);
        continue;
      }
      auto slot = std::find(slots.begin(), slots.end(), *at);
      if (slot == slots.end()) slot = slots.insert(slots.end(), *at);
      entry.textures.uses.resize(slots.size());
      add_use(entry.textures.uses[static_cast<std::size_t>(slot - slots.begin())], use);
    }
  entry.textures.uses.resize(slots.size());
}

void fix_texture_records(Function& function, const EntryInfo& entry,
                         const std::vector<TextureSpec>& specs) {
  std::vector<const TextureSpec*> generation(function.insts.size());
  std::vector<std::pair<Value, std::uint64_t>> constants;
  std::vector<std::pair<Value, std::uint32_t>>
      copies;  // the sum of the address and what it becomes
  each_record_load(function, [&](Value load, const RecordAddress& address, std::uint32_t at) {
    const auto slot = static_cast<std::size_t>(
        std::find(entry.textures.slots.begin(), entry.textures.slots.end(), at) -
        entry.textures.slots.begin());
    if (slot >= specs.size() || !specs[slot].known) return;
    const std::uint32_t word = address.offset / 4;
    if (address.exact && word == abi::x_generation) generation[load] = &specs[slot];
    if (const auto value = fixed_word(word, specs[slot]); value && address.exact) {
      constants.emplace_back(load, *value);
      return;
    }
    function.insts[load].mem.space = Space::param;
    copies.emplace_back(
        address.sum,
        entry.textures.records + static_cast<std::uint32_t>(slot) * kRecordBytes + address.offset);
  });
  for (const auto& [value, number] : constants) become_constant(function.insts[value], number);
  for (const auto& [value, number] : copies) become_constant(function.insts[value], number);
  // The host has seen that the handle is live, and knows of which kind it is.
  for (const Block& block : function.blocks)
    for (const Value value : block.insts) {
      Inst& inst = function.insts[value];
      if (inst.op != Op::and_ || inst.type != Type::i1) continue;
      const Value equal = function.arg(value, 0);
      if (function.insts[equal].op != Op::eq) continue;
      const TextureSpec* spec = generation[function.arg(equal, 0)];
      if (spec) become_constant(inst, is_of_kind(function, function.arg(value, 1), *spec));
    }
}

}  // namespace ptx2spv::passes
