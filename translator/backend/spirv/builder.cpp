#include "translator/backend/spirv/builder.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <string>

namespace ptx2spv::spirv {

namespace {

// SPIR-V 1.3, what every Vulkan 1.1 takes. What later versions made core is an extension here. An
// explicit layout of shared memory needs 1.4.
constexpr std::uint32_t kVersion = 0x00010300, kVersionOfLayouts = 0x00010400;
constexpr std::uint32_t kSmallConstants = 256;

std::uint32_t hash_of(std::uint32_t head, Id type, std::span<const std::uint32_t> operands) {
  std::uint64_t hash = (std::uint64_t{head} << 32 | type) * 0x9e3779b97f4a7c15u;
  for (const std::uint32_t operand : operands) {
    hash = (hash ^ (hash >> 29) ^ operand) * 0xbf58476d1ce4e5b9u;
  }
  return static_cast<std::uint32_t>(hash >> 32);
}

std::uint32_t head_of(spv::Op op, std::size_t words) { return head_word(word(op), words); }

// Bytes of the UTF-8 character at the start of `text`, 0 when there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : 4;
  if (first == 0 || (length == 4 && first >> 3 != 30) || first == 0xc0 || first == 0xc1) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if (byte(i) >> 6 != 2) return 0;
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool beyond =
      (first == 0xed && byte(1) >= 0xa0) || first > 0xf4 || (first == 0xf4 && byte(1) >= 0x90);
  return overlong || beyond ? 0 : length;
}

/// Whether `text` is ASCII without zeros, looked at eight bytes at a time.
bool is_plain(std::string_view text) {
  constexpr std::uint64_t kOnes = 0x0101010101010101u, kHigh = kOnes << 7;
  const char* p = text.data();
  const char* const end = p + text.size();
  for (; end - p >= 8; p += 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, p, sizeof eight);
    // The subtraction borrows from the high bit of a byte that is 0.
    if ((eight | (eight - kOnes)) & kHigh) return false;
  }
  return std::all_of(p, end, [](char c) { return c > 0; });
}

/// A file's text may be anything. What SPIR-V's strings cannot hold, which are UTF-8 that a 0 ends,
/// becomes as many question marks, so that columns stand. `made` keeps a text that had to change.
std::string_view as_utf8(std::string_view text, std::string& made) {
  if (is_plain(text)) return text;
  made.clear();
  made.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    made += length ? text.substr(0, length) : std::string_view("?");
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return made;
}

/// The pieces of a UTF-8 text that fit into an instruction each, whose words a file's text may have
/// 65,280 of. No character is divided.
std::vector<std::string_view> pieces(std::string_view text) {
  constexpr std::size_t kMost = 0xff00 * 4;
  std::vector<std::string_view> out;
  do {
    std::size_t length = std::min(text.size(), kMost);
    while (length < text.size() && (static_cast<unsigned char>(text[length]) >> 6) == 2) --length;
    out.push_back(text.substr(0, length));
    text.remove_prefix(length);
  } while (!text.empty());
  return out;
}

}  // namespace

Words literal(std::string_view text) {
  Words words(text.size() / 4 + 1, 0);
  if constexpr (std::endian::native == std::endian::little) {
    if (!text.empty()) std::memcpy(words.data(), text.data(), text.size());
    return words;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    words[i / 4] |= std::uint32_t{static_cast<unsigned char>(text[i])} << (i % 4 * 8);
  }
  return words;
}

Builder::Builder() : table_(1024), small_constants_(kSmallConstants, 0) {
  capability(spv::Capability::Shader);
  bool_ = global(spv::Op::OpTypeBool, 0, {});
  uint_ = global(spv::Op::OpTypeInt, 0, {32, 0});
  for (unsigned n = 2; n <= 4; ++n) uvec_[n] = type_vector(uint_, n);
}

void Builder::capability(spv::Capability capability) {
  if (std::ranges::find(capability_list_, capability) != capability_list_.end()) return;
  capability_list_.push_back(capability);
  put(capabilities_, spv::Op::OpCapability, capability);
  if (capability == kFmaCapability) return extension("SPV_KHR_fma");
  switch (capability) {
    case spv::Capability::PhysicalStorageBufferAddresses:
      return extension("SPV_KHR_physical_storage_buffer");
    case spv::Capability::RuntimeDescriptorArray:
    case spv::Capability::ShaderNonUniform:
    case spv::Capability::SampledImageArrayNonUniformIndexing:
      return extension("SPV_EXT_descriptor_indexing");
    case spv::Capability::GroupNonUniformPartitionedNV:
      return extension("SPV_NV_shader_subgroup_partitioned");
    case spv::Capability::DotProduct:
    case spv::Capability::DotProductInput4x8BitPacked:
      return extension("SPV_KHR_integer_dot_product");
    case spv::Capability::WorkgroupMemoryExplicitLayoutKHR:
      return extension("SPV_KHR_workgroup_memory_explicit_layout");
    case spv::Capability::StorageBuffer8BitAccess: return extension("SPV_KHR_8bit_storage");
    case spv::Capability::DenormPreserve:
    case spv::Capability::SignedZeroInfNanPreserve:
    case spv::Capability::RoundingModeRTE: return extension("SPV_KHR_float_controls");
    default: return;
  }
}

void Builder::extension(std::string_view name) {
  Words words = literal(name);
  if (std::ranges::find(extension_list_, words) != extension_list_.end()) return;
  put_list(extensions_, spv::Op::OpExtension, words);
  extension_list_.push_back(std::move(words));
}

void Builder::use_vulkan_memory() {
  vulkan_memory_ = true;
  extension("SPV_KHR_vulkan_memory_model");
  capability(spv::Capability::VulkanMemoryModel);
  capability(spv::Capability::VulkanMemoryModelDeviceScope);
}

Id Builder::import_set(std::string_view name) {
  Words words = literal(name);
  for (const auto& [known, id] : import_list_) {
    if (known == words) return id;
  }
  const Id result = id();
  put_list(imports_, spv::Op::OpExtInstImport, words, result);
  import_list_.emplace_back(std::move(words), result);
  return result;
}

Id Builder::type_int(unsigned bits) {
  if (bits == 32) return uint_;
  if (bits == 64) capability(spv::Capability::Int64);
  return global(spv::Op::OpTypeInt, 0, {bits, 0});
}

Id Builder::type_signed(unsigned bits) {
  if (bits == 64) capability(spv::Capability::Int64);
  return global(spv::Op::OpTypeInt, 0, {bits, 1});
}

Id Builder::type_float(unsigned bits) {
  if (bits >= 32) has_float_[bits / 64] = true;
  if (bits == 64) capability(spv::Capability::Float64);
  return global(spv::Op::OpTypeFloat, 0, {bits});
}

Id Builder::type_function(Id result, std::initializer_list<Id> parameters) {
  Words operands{result};
  operands.insert(operands.end(), parameters.begin(), parameters.end());
  return global(spv::Op::OpTypeFunction, 0, operands);
}

Id Builder::type_block(Id element, unsigned stride, unsigned length, bool readonly) {
  return type_block_of(element, stride, length == 0 ? 0 : constant(length), readonly);
}

Id Builder::type_block_of(Id element, unsigned stride, Id length, bool readonly) {
  // Never shared with an undecorated array or structure, so made outside the table.
  const Id array = id();
  if (length == 0) {
    put(globals_, spv::Op::OpTypeRuntimeArray, array, element);
  } else {
    put(globals_, spv::Op::OpTypeArray, array, element, length);
  }
  decorate(array, spv::Decoration::ArrayStride, stride);
  const Id block = id();
  put(globals_, spv::Op::OpTypeStruct, block, array);
  decorate(block, spv::Decoration::Block);
  decorate_member(block, 0, spv::Decoration::Offset, 0u);
  if (readonly) decorate_member(block, 0, spv::Decoration::NonWritable);
  return block;
}

Id Builder::type_coherent(Id element) {
  const Id block = id();
  put(globals_, spv::Op::OpTypeStruct, block, element);
  decorate(block, spv::Decoration::Block);
  decorate_member(block, 0, spv::Decoration::Offset, 0u);
  decorate_member(block, 0, spv::Decoration::Coherent);
  return block;
}

Id Builder::constant(std::uint32_t value) {
  if (value >= kSmallConstants) return constant_bits(uint_, value);
  Id& known = small_constants_[value];
  if (known == 0) known = constant_bits(uint_, value);
  return known;
}

Id Builder::constant64(std::uint64_t value) { return constant_bits64(type_int(64), value); }

Id Builder::constant_bits64(Id type, std::uint64_t value) {
  return global(spv::Op::OpConstant, type,
                {static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)});
}

Id Builder::constant_bool(bool value) {
  return global(value ? spv::Op::OpConstantTrue : spv::Op::OpConstantFalse, bool_, {});
}

Id Builder::spec_constant(std::uint32_t number, std::uint32_t value) {
  Id& known = shared(0x5bec0000u + number);
  if (known != 0) return known;
  known = id();
  const Id result = known;
  put(globals_, spv::Op::OpSpecConstant, uint_, result, value);
  decorate(result, spv::Decoration::SpecId, number);
  return result;
}

Id Builder::spec_op(spv::Op op, Id type, std::initializer_list<Id> operands) {
  Words words{word(op)};
  words.insert(words.end(), operands.begin(), operands.end());
  return global(spv::Op::OpSpecConstantOp, type, words);
}

Id Builder::global(spv::Op op, Id type, std::span<const std::uint32_t> operands) {
  const std::size_t fixed = type != 0 ? 3 : 2;
  const std::uint32_t head = head_of(op, fixed + operands.size());
  const std::uint32_t hash = hash_of(head, type, operands);
  const std::size_t mask = table_.size() - 1;
  std::size_t at = hash & mask;
  for (; table_[at].at != 0; at = (at + 1) & mask) {
    if (table_[at].hash != hash) continue;
    const std::uint32_t* known = &globals_[table_[at].at - 1];
    if (known[0] != head || (type != 0 && known[1] != type)) continue;
    if (std::equal(operands.begin(), operands.end(), known + fixed)) return known[fixed - 1];
  }
  table_[at] = {hash, static_cast<std::uint32_t>(globals_.size() + 1)};
  const Id result = id();
  globals_.push_back(head);
  if (type != 0) globals_.push_back(type);
  globals_.push_back(result);
  globals_.insert(globals_.end(), operands.begin(), operands.end());
  if (++used_ * 2 > table_.size()) grow();
  return result;
}

void Builder::grow() {
  std::vector<Slot> old(table_.size() * 2);
  old.swap(table_);
  const std::size_t mask = table_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.at == 0) continue;
    std::size_t at = slot.hash & mask;
    while (table_[at].at != 0) at = (at + 1) & mask;
    table_[at] = slot;
  }
}

Id Builder::variable(spv::StorageClass storage, Id pointee) {
  const Id type = type_pointer(storage, pointee);
  const Id result = id();
  put(globals_, spv::Op::OpVariable, type, result, storage);
  return result;
}

void Builder::name(Id id, std::string_view name) {
  put_list(names_, spv::Op::OpName, literal(name), id);
}

void Builder::annotate(spv::Op op, std::span<const std::uint32_t> operands) {
  put_list(annotations_, op, operands);
}

void Builder::embed(std::string_view name, std::string_view text) {
  Words operands{non_semantic_set("NonSemantic.ptx2spv"), 1, string(name)};
  const std::vector<Id> parts = strings(text);
  operands.insert(operands.end(), parts.begin(), parts.end());
  global(spv::Op::OpExtInst, type_void(), operands);
}

std::vector<Id> Builder::strings(std::string_view text) {
  std::vector<Id> out;
  std::string made;
  for (const std::string_view piece : pieces(as_utf8(text, made))) {
    const Words words = literal(piece);
    const std::size_t hash = std::hash<std::string_view>{}(piece);
    const auto [first, last] = string_at_.equal_range(hash);
    const auto known = std::find_if(first, last, [&](const auto& each) {
      const std::uint32_t* at = &strings_[each.second];
      return at[0] >> 16 == words.size() + 2 && std::equal(words.begin(), words.end(), at + 2);
    });
    if (known != last) {
      out.push_back(strings_[known->second + 1]);
      continue;
    }
    string_at_.emplace(hash, strings_.size());
    out.push_back(id());
    put_list(strings_, spv::Op::OpString, words, out.back());
  }
  return out;
}

Id Builder::string(std::string_view text) { return strings(text).front(); }

void Builder::source(Id file, std::string_view text) {
  const auto unknown = spv::SourceLanguage::Unknown;
  if (text.empty()) {
    put(sources_, spv::Op::OpSource, unknown, 0u, file);
    return;
  }
  std::string made;
  bool first = true;
  for (const std::string_view piece : pieces(as_utf8(text, made))) {
    if (first)
      put_list(sources_, spv::Op::OpSource, literal(piece), unknown, 0u, file);
    else
      put_list(sources_, spv::Op::OpSourceContinued, literal(piece));
    first = false;
  }
}

void Builder::entry_point(Id function, std::string_view name, std::span<const Id> inputs,
                          std::span<const Id> others) {
  constexpr auto kModel = spv::ExecutionModel::GLCompute;
  Words words = literal(name);
  words.insert(words.end(), inputs.begin(), inputs.end());
  put_list(entry_points_, spv::Op::OpEntryPoint, words, kModel, function);
  words.insert(words.end(), others.begin(), others.end());
  put_list(whole_entry_points_, spv::Op::OpEntryPoint, words, kModel, function);
}

Id& Builder::shared(std::uint64_t key) { return shared_[key]; }

Words Builder::finish() const {
  const auto declares = [&](spv::Capability capability) {
    return std::ranges::find(capability_list_, capability) != capability_list_.end();
  };
  const bool addresses = declares(spv::Capability::PhysicalStorageBufferAddresses);
  const bool layouts = declares(spv::Capability::WorkgroupMemoryExplicitLayoutKHR);
  Words model;
  put(model, spv::Op::OpMemoryModel,
      addresses ? spv::AddressingModel::PhysicalStorageBuffer64 : spv::AddressingModel::Logical,
      vulkan_memory_ ? spv::MemoryModel::Vulkan : spv::MemoryModel::GLSL450);
  const Words& entry_points = layouts ? whole_entry_points_ : entry_points_;
  const Words* sections[] = {&capabilities_, &extensions_,  &imports_, &model,
                             &entry_points,  &modes_,       &strings_, &sources_,
                             &names_,        &annotations_, &globals_, &library_functions_,
                             &functions_};
  std::size_t size = 5;
  for (const Words* section : sections) size += section->size();
  Words words{spv::MagicNumber, layouts ? kVersionOfLayouts : kVersion, 0, bound_, 0};
  words.reserve(size);
  for (const Words* section : sections) words.insert(words.end(), section->begin(), section->end());
  return words;
}

}  // namespace ptx2spv::spirv
