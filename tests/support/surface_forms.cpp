#include "tests/support/surface_forms.hpp"

#include <gtest/gtest.h>

namespace ptx2spv::test {
namespace {

using ptx::Mod;
using ptx::SlotKind;

constexpr std::string_view kChapter = "9.7.11.";

/// Puts `mod` where its slot says; false for a kind of slot that surfaces do not have.
bool apply(SurfaceForm& form, const ptx::Slot& slot, Mod mod) {
  switch (slot.kind) {
    case SlotKind::plain:
      form.formatted = form.formatted || mod == Mod::p;
      return mod == Mod::p || mod == Mod::b;
    case SlotKind::type: form.type = ptx::to_type(mod); return true;
    case SlotKind::geom: form.geometry = mod; return true;
    case SlotKind::clamp: form.clamp = mod; return true;
    case SlotKind::cache: form.cache = mod; return true;
    case SlotKind::query: form.query = mod; return true;
    case SlotKind::op: form.operation = mod; return true;
    case SlotKind::vec:
      form.vector = mod == Mod::v2 ? 2 : mod == Mod::v4 ? 4 : 0;
      return form.vector != 0;
    default: return false;
  }
}

void walk(const ptx::FormInfo& row, std::size_t slot, SurfaceForm form,
          std::vector<SurfaceForm>& out) {
  if (slot == row.slots.size()) {
    out.push_back(std::move(form));
    return;
  }
  const ptx::Slot& here = row.slots[slot];
  if (!here.required) {
    SurfaceForm without = form;
    // The omitted mode is .trap.
    if (here.kind == SlotKind::clamp) without.place += ".trap";
    walk(row, slot + 1, std::move(without), out);
  }
  for (std::size_t m = 0; m < here.mods.size(); ++m) {
    if (!here.mods.test(m)) continue;
    const Mod mod = static_cast<Mod>(m);
    SurfaceForm with = form;
    const std::string word = "." + std::string(ptx::text(mod));
    with.name += word;
    if (here.kind != SlotKind::cache) with.place += word;
    if (!apply(with, here, mod)) {
      ADD_FAILURE() << row.syntax << ": tests/support/surface_forms.cpp does not know " << word;
      return;
    }
    walk(row, slot + 1, std::move(with), out);
  }
}

}  // namespace

bool SurfaceForm::too_wide() const { return access_bytes() > 16; }

unsigned SurfaceForm::element_bytes() const { return ptx::bits(type) / 8; }

unsigned SurfaceForm::coordinates() const {
  switch (geometry) {
    case Mod::d1: return 1;
    case Mod::d2:
    case Mod::a1d: return 2;
    case Mod::d3:
    case Mod::a2d: return 3;
    default: return 0;
  }
}

std::string SurfaceForm::text(const std::string& surface,
                              const std::vector<std::string>& coordinates,
                              const std::vector<std::string>& data) const {
  if (query != Mod::none) return name + " " + data[0] + ", [" + surface + "];";
  std::string values, at;
  for (unsigned i = 0; i < vector; ++i) values += (i ? "," : "") + data[i];
  if (vector > 1) values = "{" + values + "}";
  // Three coordinates are written as four.
  const unsigned written = this->coordinates() == 3 ? 4 : this->coordinates();
  for (unsigned i = 0; i < written; ++i)
    at += (i ? "," : "") + coordinates[std::min(i, this->coordinates() - 1)];
  const std::string target = "[" + surface + ", {" + at + "}]";
  return op == ptx::Opcode::suld ? name + " " + values + ", " + target + ";"
                                 : name + " " + target + ", " + values + ";";
}

std::vector<SurfaceForm> surface_forms() {
  std::vector<SurfaceForm> out;
  for (std::uint16_t i = 0; i < ptx::all_forms().size(); ++i) {
    const ptx::FormInfo& row = ptx::form_info(i);
    if (row.refused || !ptx::section(row.op).starts_with(kChapter)) continue;
    SurfaceForm form;
    form.op = row.op;
    form.row = i;
    form.name = form.place = std::string(ptx::text(row.op));
    walk(row, 0, std::move(form), out);
  }
  return out;
}

}  // namespace ptx2spv::test
