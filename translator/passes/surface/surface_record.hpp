// Where a surface's record comes from, and its words as values. A handle that the host knows before
// the launch has a slot: its record is read once, at the function's entry. Any other handle is
// looked up at the access.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "ptx2spv/translator.hpp"
#include "translator/ir/trap_state.hpp"
#include "translator/passes/ir.hpp"

namespace ptx2spv::passes {

/// Traces values back to loads of constant parameter offsets, through variables that only ever get
/// the same one: as those do that a function shared by several calls takes its handles from. Linear
/// for all questions together.
class HandleTracer {
 public:
  explicit HandleTracer(const Function& function);
  /// Byte offset in the parameter buffer of the u64 that `handle` is, if that is known.
  std::optional<std::uint32_t> parameter_offset(Value handle) const;

 private:
  /// Of a handle or one of its words. By variable, `fresh` is one that was not asked for yet.
  struct Source {
    enum class State : std::uint8_t { fresh, known, unknown } state = State::fresh;
    std::uint32_t offset = 0;
  };
  Source trace(Value value, bool word, int depth) const;
  Source trace_variable(std::uint32_t variable, bool word, int depth) const;

  const Function& f_;
  std::vector<std::vector<Value>> sets_;         ///< by variable: what set_var gives it
  mutable std::vector<Source> handles_, words_;  ///< by variable
};

/// What slot `slot` is bound to: the options' choice, or an address where the profile binds no
/// buffer.
SlotSpec bound_slot(const TranslateOptions& options, std::uint32_t slot);

/// A record's words. Static: loads go to the prologue, each word once.
class SurfaceRecord {
 public:
  struct Shared {  ///< of one function
    Function& function;
    Builder prologue;  ///< appends to a block that will run first
    Builder& body;
    const TranslateOptions& options;
  };
  /// A static handle at `offset` of the parameters, slot `slot`; the slots' records are at
  /// `records`. `texels64`: an image is seen as 64-bit integers.
  SurfaceRecord(Shared& shared, std::uint32_t offset, std::uint32_t slot, std::uint32_t records,
                bool texels64);
  /// A handle looked up where the body's builder stands, for an access by instructions of the
  /// geometry, or a query.
  SurfaceRecord(Shared& shared, Value handle, std::optional<Geometry> accessed);

  Value word(abi::SurfaceWord which);
  /// s_row_bytes and a word of s_slice_pitch as instructions of a geometry find them: an array of
  /// another kind has no bytes to them.
  Value row_bytes(Geometry geometry);
  Value slice_pitch(Geometry geometry, bool high);
  /// i1: the handle names no live surface; 0 where the host has made sure.
  Value dead() const { return dead_; }
  bool is_static() const { return static_; }
  /// The host has made sure that the handle is live, that a row holds every access of the slot, and
  /// that these are of the array's geometry.
  bool checked() const { return static_ && shared_.options.assume_live_handles; }
  /// Surfaces may exceed 4 GiB: offsets are 64-bit.
  bool wide() const { return shared_.options.wide_surfaces; }
  const Profile& profile() const { return shared_.options.profile; }
  std::uint32_t slot() const { return slot_; }
  const SlotSpec& spec() const { return spec_; }
  bool texels64() const { return texels64_; }
  /// Puts a fault of `kind` at these coordinates into the trap's state where `fault` holds and no
  /// earlier one is there. With `returns`, the thread then ends.
  void note_fault(Builder& b, const TrapState& trap, Value fault, Value kind,
                  std::span<const Value> coordinates, bool returns) const;
  Builder& builder() { return static_ ? shared_.prologue : shared_.body; }
  /// A value made once for a static record: `make` appends to builder().
  template <typename Make>
  Value cached(std::uint32_t key, Make&& make) {
    if (const auto it = cache_.find(key); it != cache_.end()) return it->second;
    return cache_[key] = make(builder());
  }

 private:
  void look_up(Value lo, Value hi);
  void check_generation(Value hi);
  /// Loads words `first` up of a record in the table.
  void load_together(abi::SurfaceWord first, unsigned words);
  Shared& shared_;
  bool static_, texels64_ = false;
  std::optional<Geometry> accessed_;  ///< of a handle that is looked up
  std::uint32_t slot_ = 0,
                copy_ = 0;  ///< copy_: offset of the record's copy in the parameter buffer
  SlotSpec spec_;
  Value dead_ = 0, base_ = 0, handle_lo_ = 0;
  Value handle_hi_ = 0;  ///< 0 of a static record: the launch knows it
  std::map<std::uint32_t, Value> cache_;
};

}  // namespace ptx2spv::passes
