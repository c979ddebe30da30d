#include "src/cache/serialize.hpp"

#include <cstring>
#include <string>
#include <type_traits>

namespace ptx2spv::runtime {

namespace {

// One description of each struct serves both directions.
class Writer {
 public:
  std::vector<std::byte> bytes;
  bool ok = true;
  void raw(const void* data, std::size_t count) {
    auto* from = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), from, from + count);
  }
  std::size_t count(std::size_t size) {
    auto value = static_cast<std::uint32_t>(size);
    raw(&value, 4);
    return size;
  }
  template <class T>
  void resize(T&, std::size_t) {}
};

class Reader {
 public:
  explicit Reader(const std::vector<std::byte>& bytes) : bytes_(bytes) {}
  bool ok = true;
  void raw(void* data, std::size_t count) {
    if (!ok || count > bytes_.size() - at_) {
      ok = false;
      return;
    }
    if (count) std::memcpy(data, bytes_.data() + at_, count);
    at_ += count;
  }
  std::size_t count(std::size_t) {
    std::uint32_t value = 0;
    raw(&value, 4);
    // An element takes a byte at least, so no count exceeds what is left.
    if (value > bytes_.size() - at_) ok = false;
    return ok ? value : 0;
  }
  template <class T>
  void resize(T& container, std::size_t size) {
    container.resize(size);
  }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  const std::vector<std::byte>& bytes_;
  std::size_t at_ = 0;
};

template <class A, class T>
requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void field(A& archive, T& value) {
  archive.raw(&value, sizeof value);
}
template <class A>
void field(A& archive, bool& value) {
  std::uint8_t byte = value ? 1 : 0;
  archive.raw(&byte, 1);
  if (byte > 1) archive.ok = false;
  value = byte == 1;
}
template <class A>
void field(A& archive, std::string& text) {
  std::size_t size = archive.count(text.size());
  archive.resize(text, size);
  archive.raw(text.data(), size);
}
// The archives are of this namespace: argument-dependent look-up finds what stands below.

template <class A, class T>
void field(A& archive, std::vector<T>& all) {
  std::size_t size = archive.count(all.size());
  archive.resize(all, size);
  for (T& each : all) field(archive, each);
}

template <class A, class... T>
void fields(A& archive, T&... values) {
  (field(archive, values), ...);
}

template <class A>
void field(A& archive, ParamInfo& it) {
  fields(archive, it.name, it.type, it.kind, it.offset, it.bytes, it.align);
}
template <class A>
void field(A& archive, SlotInfo& it) {
  fields(archive, it.name, it.is_variable, it.offset, it.loads, it.stores, it.reduces,
         it.sub_texel_possible, it.load_bytes, it.store_bytes, it.reduce_bytes, it.formatted_stores,
         it.geometries, it.bound.backing, it.bound.format, it.bound.channels, it.bound.geometry,
         it.bound.format_known, it.image_format, it.image_view);
}
template <class A>
void field(A& archive, RefInfo& it) {
  fields(archive, it.name, it.offset);
}
template <class A>
void field(A& archive, SourcePlace& it) {
  fields(archive, it.file, it.line);
}
template <class A>
void field(A& archive, TrapSite& it) {
  fields(archive, it.line, it.column, it.source_line, it.source_file, it.text, it.surface,
         it.function, it.message, it.inlined_at, it.coordinates);
}

template <class A>
void field(A& archive, TextureUse& it) {
  fields(archive, it.geometry, it.mode, it.integer, it.offset, it.sampler_apart);
}
template <class A>
void field(A& archive, MemoryObject& it) {
  fields(archive, it.name, it.space, it.offset, it.bytes);
}
template <class A>
void field(A& archive, AccessSite& it) {
  fields(archive, it.place, it.check, it.kind, it.sync, it.first_point, it.space, it.memory,
         it.bytes, it.geometry, it.object, it.pointer, it.loc);
}
template <class A>
void field(A& archive, PushParam& it) {
  fields(archive, it.word, it.offset, it.shift);
}

template <class A>
void entry(A& archive, EntryInfo& it) {
  fields(archive, it.name, it.params, it.param_bytes, it.param_buffer_bytes, it.slot_records,
         it.slots, it.bindings, it.push_words, it.push_params, it.guards_loops, it.local_accesses,
         it.textures.records, it.textures.slots, it.textures.uses, it.textures.dynamic,
         it.textures.table_uses, it.surfrefs, it.texrefs, it.samplerrefs, it.trap_sites,
         it.sanitizer.objects, it.sanitizer.pointer_params, it.sanitizer.written_pointers,
         it.sanitizer.writes_anywhere, it.sanitizer.words, it.sanitizer.shadow_shared,
         it.sanitizer.shadow_granule, it.sanitizer.may_race, it.sanitizer.sites, it.shared_bytes,
         it.local_bytes, it.local_slab_bytes, it.dynamic_shared, it.sync.barriers,
         it.sync.warp_operations, it.sync.divergent_barriers, it.sync.divergent_warp_operations,
         it.sync.partial_warp_operations, it.waits.spins, it.sync.warp_subgroups,
         it.dynamic_handles, it.uses_printf, it.uses_heap, it.system_atomics,
         it.sync.uses_grid_workspace, it.sync.grid_workspace, it.waits.reads_clock,
         it.waits.for_clock, it.waits.clock_rates, it.sync.control_bytes, it.uses_textures,
         it.reqntid[0], it.reqntid[1], it.reqntid[2], it.maxntid[0], it.maxntid[1], it.maxntid[2],
         it.threads, it.workgroup_threads, it.threads_per_invocation);
}

}  // namespace

std::vector<std::byte> serialize(const std::vector<std::uint32_t>& spirv, const EntryInfo& info) {
  Writer writer;
  std::vector<std::uint32_t> words = spirv;
  EntryInfo copy = info;
  writer.count(words.size());
  writer.raw(words.data(), words.size() * 4);
  entry(writer, copy);
  return std::move(writer.bytes);
}

bool deserialize(const std::vector<std::byte>& bytes, std::vector<std::uint32_t>& spirv,
                 EntryInfo& info) {
  Reader reader(bytes);
  spirv.resize(reader.count(0));
  reader.raw(spirv.data(), spirv.size() * 4);
  entry(reader, info);
  return reader.ok && reader.at_end();
}

}  // namespace ptx2spv::runtime
