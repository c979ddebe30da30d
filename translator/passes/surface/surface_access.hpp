// One surface access: coordinates to a checked byte offset, faults, and the memory operations
// behind it.
#pragma once

#include <optional>

#include "ptx2spv/formats.hpp"
#include "translator/ir/trap_state.hpp"
#include "translator/passes/rewrite.hpp"
#include "translator/passes/surface/surface_record.hpp"

namespace ptx2spv::passes {

/// Where an access goes: units along x (bytes for .b forms, n bytes for sured.p, texels for
/// sust.p).
struct Located {
  Value ok = 0;      ///< i1: in bounds, aligned and live, if that is not sure
  Value unseen = 0;  ///< i1: of that, what the device does not see to itself; 0 where it is all
  Value x = 0, y = 0,
        z = 0;          ///< in bounds when ok: x in bytes; y and z 0 where the geometry has none
  Value fault = 0;      ///< i1, 0 when the access cannot fault
  Value kind = 0;       ///< TrapKind of the fault, i32
  Value in_bounds = 0;  ///< i1: what `ok` is where there is no fault
};

class SurfaceAccess {
 public:
  SurfaceAccess(CfgRewriter& rewriter, Module& module, SurfaceRecord& record, const SurfaceOp& op,
                TrapState trap, std::uint32_t site, bool returns)
      : rw_(rewriter),
        b_(rewriter.builder()),
        m_(module),
        r_(record),
        op_(op),
        trap_(trap),
        site_(site),
        returns_(returns) {}

  /// Notes accesses out of range as `site` of the sanitizer, where the mode allows them.
  void watch(std::uint32_t site) { watched_ = site; }
  /// Notes accesses to arrays of another geometry as `site` of the sanitizer, with the handle.
  void watch_geometry(std::uint32_t site, Value handle) {
    geometry_site_ = site;
    handle_ = handle;
  }
  /// Notes accesses of another width than the texels as `site` of the sanitizer, with the handle.
  void watch_width(std::uint32_t site, Value handle) {
    width_site_ = site;
    handle_ = handle;
  }
  /// Gives `value` (a surf_* operation with these operands after the handle) its meaning.
  void lower(Value value, Op kind, const std::vector<Value>& operands);

 private:
  Value found();
  void note_geometry();
  void note_width();
  Located locate(const std::vector<Value>& coords, Value unit_bytes, unsigned unit_log2);
  void note_fault(Located& at, const std::vector<Value>& coords);
  Value offset32(const Located& at);
  Value slice_pitch(bool high) { return r_.slice_pitch(op_.geometry, high); }
  Value load_address(const Located& at);
  Value store_address(const Located& at, Value ok);
  MemAttr memory(unsigned bytes) const;
  Value discard_offset();
  Value may_store(const Located& at);
  void lower_load(Value value, const Located& at);
  void lower_store(const Located& at, Value data);
  void store_where(const Located& at, Value ok, Value data, unsigned bytes);
  void lower_formatted(const Located& at, const std::vector<Value>& components);
  void lower_reduce(Value value, const Located& at, Value data);
  Value convert(abi::SurfaceFormat format, Value component);
  void store_texel(const Located& at, Value ok, unsigned bytes, const std::vector<Value>& words);

  // Storage images (surface_image.cpp): texel coordinates, and accesses of any size in terms of
  // texels.
  bool image() const { return r_.spec().backing == Backing::image && r_.is_static(); }
  unsigned image_texel_bytes() const;
  /// Whether the device leaves out accesses out of bounds: of whole texels or parts of one, which
  /// are in bounds with their first byte, by coordinates that the image has, too. A fourth
  /// component, of 16 bytes, may come out as 1.
  bool robust() const {
    return image() && r_.profile().features.robust_images && r_.checked() && !op_.formatted &&
           static_cast<unsigned>(op_.geometry) + 1 == r_.spec().geometry &&
           op_.bytes <= image_texel_bytes() && image_texel_bytes() < 16;
  }
  Value image_coords(const Located& at, Value texel_x, Value ok);
  Value image_load_words(const Located& at, std::vector<Value>& words);
  void image_load(Value value, const Located& at);
  void image_store(const Located& at, Value ok, unsigned bytes, Value data);
  void image_reduce(const Located& at, Value ok, AtomicOp op, Value data);

  Value i32(std::uint32_t v) { return b_.i32(v); }
  Value and1(Value a, Value c) { return a == 0 ? c : c == 0 ? a : b_.op2(Op::and_, a, c); }
  Value not1(Value a) { return b_.inst(Op::xor_, Type::i1, {a, b_.i1(true)}); }
  Value library(const char* name, Type type, std::initializer_list<Value> args) {
    return b_.inst(Op::library, type, args, m_.library(name));
  }

  CfgRewriter& rw_;
  Builder& b_;
  Module& m_;
  SurfaceRecord& r_;
  const SurfaceOp& op_;
  TrapState trap_;
  std::uint32_t site_;
  bool returns_;  ///< the thread, after a fault
  std::optional<std::uint32_t> watched_, geometry_site_, width_site_;
  Value handle_ = 0;
};

unsigned log2_of(unsigned power_of_two);

}  // namespace ptx2spv::passes
