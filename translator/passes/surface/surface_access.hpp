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
  ir::Value ok = 0;  ///< i1: in bounds, aligned and live
  ir::Value x = 0, y = 0,
            z = 0;      ///< in bounds when ok: x in bytes; y and z 0 where the geometry has none
  ir::Value fault = 0;  ///< i1, 0 when the access cannot fault
  ir::Value kind = 0;   ///< TrapKind of the fault, i32
};

class SurfaceAccess {
 public:
  SurfaceAccess(CfgRewriter& rewriter, ir::Module& module, SurfaceRecord& record,
                const ir::SurfaceOp& op, ir::TrapState trap, std::uint32_t site)
      : rw_(rewriter),
        b_(rewriter.builder()),
        m_(module),
        r_(record),
        op_(op),
        trap_(trap),
        site_(site) {}

  /// Notes accesses out of range as `site` of the sanitizer, where the mode allows them.
  void watch(std::uint32_t site) { watched_ = site; }
  /// Notes accesses to arrays of another geometry as `site` of the sanitizer, with the handle.
  void watch_geometry(std::uint32_t site, ir::Value handle) {
    geometry_site_ = site;
    handle_ = handle;
  }
  /// Notes accesses of another width than the texels as `site` of the sanitizer, with the handle.
  void watch_width(std::uint32_t site, ir::Value handle) {
    width_site_ = site;
    handle_ = handle;
  }
  /// Gives `value` (a surf_* operation with these operands after the handle) its meaning.
  void lower(ir::Value value, ir::Op kind, const std::vector<ir::Value>& operands);

 private:
  ir::Value found();
  void note_geometry();
  void note_width();
  Located locate(const std::vector<ir::Value>& coords, ir::Value unit_bytes, unsigned unit_log2);
  void note_fault(const Located& at, const std::vector<ir::Value>& coords);
  ir::Value offset32(const Located& at);
  ir::Value slice_pitch(bool high) { return r_.slice_pitch(op_.geometry, high); }
  ir::Value load_address(const Located& at);
  ir::Value store_address(const Located& at, ir::Value ok);
  ir::MemAttr memory(unsigned bytes) const;
  ir::Value discard_offset();
  ir::Value may_store(const Located& at);
  void lower_load(ir::Value value, const Located& at);
  void lower_store(const Located& at, ir::Value data);
  void store_where(const Located& at, ir::Value ok, ir::Value data, unsigned bytes);
  void lower_formatted(const Located& at, const std::vector<ir::Value>& components);
  void lower_reduce(ir::Value value, const Located& at, ir::Value data);
  ir::Value convert(abi::SurfaceFormat format, ir::Value component);
  void store_texel(const Located& at, ir::Value ok, unsigned bytes,
                   const std::vector<ir::Value>& words);

  // Storage images (surface_image.cpp): texel coordinates, and accesses of any size in terms of
  // texels.
  bool image() const { return r_.spec().backing == Backing::image && r_.is_static(); }
  unsigned image_texel_bytes() const;
  ir::Value image_coords(const Located& at, ir::Value texel_x);
  ir::Value image_load_words(const Located& at, std::vector<ir::Value>& words);
  void image_load(ir::Value value, const Located& at);
  void image_store(const Located& at, ir::Value ok, unsigned bytes, ir::Value data);
  void image_reduce(const Located& at, ir::Value ok, ir::AtomicOp op, ir::Value data);

  ir::Value i32(std::uint32_t v) { return b_.i32(v); }
  ir::Value and1(ir::Value a, ir::Value c) {
    return a == 0 ? c : c == 0 ? a : b_.op2(ir::Op::and_, a, c);
  }
  ir::Value not1(ir::Value a) { return b_.inst(ir::Op::xor_, ir::Type::i1, {a, b_.i1(true)}); }
  ir::Value library(const char* name, ir::Type type, std::initializer_list<ir::Value> args) {
    return b_.inst(ir::Op::library, type, args, m_.library(name));
  }

  CfgRewriter& rw_;
  ir::Builder& b_;
  ir::Module& m_;
  SurfaceRecord& r_;
  const ir::SurfaceOp& op_;
  ir::TrapState trap_;
  std::uint32_t site_;
  std::optional<std::uint32_t> watched_, geometry_site_, width_site_;
  ir::Value handle_ = 0;
};

unsigned log2_of(unsigned power_of_two);

}  // namespace ptx2spv::passes
