#include "tests/sanitize/planted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace ptx2spv {

namespace {

struct RouteRow {
  Route route;
  const char* name;
  const char* space;        ///< of the access
  const char* declaration;  ///< of the object, at module scope or in the kernel
  bool in_kernel;
  const char* address;  ///< instructions that leave the object's address in %base
  bool writes;          ///< stores and atomics may be made there
  bool atomics;
};

constexpr RouteRow kRoutes[] = {
    {Route::param, "param", ".global", "", false, "ld.param.u64 %base, [buffer];", true, true},
    {Route::table, "table", ".global", "", false,
     "ld.param.u64 %cell, [pointer]; ld.global.u64 %base, [%cell];", true, true},
    {Route::global_variable, "global_variable", ".global",
     ".global .align 16 .b8 object[64]; .global .align 16 .b8 next[64];", false,
     "mov.u64 %base, object;", true, true},
    {Route::constant, "constant", ".const",
     ".const .align 16 .b8 object[64]; .const .align 16 .b8 next[64];", false,
     "mov.u64 %base, object;", false, false},
    {Route::shared, "shared", ".shared",
     ".shared .align 16 .b8 object[64]; .shared .align 16 .b8 next[64];", true,
     "mov.u64 %base, object;", true, true},
    {Route::dynamic_shared, "dynamic_shared", ".shared", ".extern .shared .align 16 .b8 object[];",
     false, "mov.u64 %base, object;", true, true},
    {Route::local, "local", ".local",
     ".local .align 16 .b8 object[64]; .local .align 16 .b8 next[64];", true,
     "mov.u64 %base, object;", true, false},
    {Route::parameter, "parameter", ".param", "", false, "mov.b64 %base, block;", false, false},
    {Route::generic_param, "generic_param", "", "", false, "ld.param.u64 %base, [buffer];", true,
     true},
    {Route::generic_shared, "generic_shared", "", ".shared .align 16 .b8 object[64];", true,
     "mov.u64 %base, object; cvta.shared.u64 %base, %base;", true, true},
    {Route::generic_local, "generic_local", "", ".local .align 16 .b8 object[64];", true,
     "mov.u64 %base, object; cvta.local.u64 %base, %base;", true, false},
    {Route::generic_constant, "generic_constant", "",
     ".const .align 16 .b8 object[64]; .const .align 16 .b8 next[64];", false,
     "mov.u64 %base, object; cvta.const.u64 %base, %base;", false, false},
    {Route::generic_variable, "generic_variable", "",
     ".global .align 16 .b8 object[64]; .global .align 16 .b8 next[64];", false,
     "mov.u64 %base, object; cvta.global.u64 %base, %base;", true, true},
};

const RouteRow& row_of(Route route) {
  return *std::find_if(std::begin(kRoutes), std::end(kRoutes),
                       [&](const RouteRow& row) { return row.route == route; });
}

constexpr const char* kBorders[] = {"end", "before", "across", "askew"};
constexpr const char* kModels[] = {"direct", "flat", "regions"};

std::string access_text(const Planted& p) {
  const char* space = row_of(p.route).space;
  if (p.access == AccessKind::atomic)
    return p.bytes == 8 ? fmt::format("atom{}.add.u64 %data, [%at], %data;", space)
                        : fmt::format("atom{}.add.u32 %low, [%at], %low;", space);
  const bool load = p.access == AccessKind::load;
  const auto text = [&](const char* type, const char* data) {
    return load ? fmt::format("ld{}.{} {}, [%at];", space, type, data)
                : fmt::format("st{}.{} [%at], {};", space, type, data);
  };
  switch (p.bytes) {
    case 1: return text("u8", "%low");
    case 2: return text("u16", "%half");
    case 4: return text("u32", "%low");
    case 8: return text("u64", "%data");
    default: return text("v4.u32", "{%low, %r1, %r2, %r3}");
  }
}

}  // namespace

std::string Planted::name() const {
  return fmt::format("{} {} of {} bytes, {}, {}", row_of(route).name, to_string(access), bytes,
                     kBorders[static_cast<unsigned>(border)],
                     kModels[static_cast<unsigned>(threads)]);
}

std::string Planted::ptx() const {
  const RouteRow& row = row_of(route);
  const std::string own = row.in_kernel ? row.declaration : "";
  return fmt::format(
      ".version 8.3\n.target sm_80\n.address_size 64\n{}\n"
      ".visible .entry planted(.param .u64 buffer, .param .u64 pointer, .param .s32 offset,\n"
      "  .param .u64 result, .param .align 16 .b8 block[64])\n{{\n"
      "  .reg .pred %other; .reg .b16 %half; .reg .b32 %low, %r<4>, %shift;\n"
      "  .reg .b64 %base, %cell, %at, %data, %far; {}\n"
      "  ld.param.u64 %cell, [result]; mov.u64 %data, 1; mov.u32 %low, 1; mov.u16 %half, 1;\n"
      "  mov.u32 %r1, 1; mov.u32 %r2, 1; mov.u32 %r3, 1;\n"
      "  {}\n"
      "  ld.param.s32 %shift, [offset]; cvt.s64.s32 %far, %shift; add.s64 %at, %base, %far;\n"
      "  mov.u32 %shift, %tid.x; setp.ne.u32 %other, %shift, {};\n"
      "  @%other bra end;\n"
      "  {}\n"
      "  ld.param.u64 %cell, [result]; st.global.u32 [%cell], %low;\n"
      "  st.global.u16 [%cell+4], %half; st.global.u64 [%cell+8], %data;\n"
      "  st.global.v4.u32 [%cell+16], {{%low, %r1, %r2, %r3}};\n"
      "end:\n  ret;\n}}\n",
      row.in_kernel ? "" : row.declaration, own, row.address, kThread, access_text(*this));
}

std::uint32_t Planted::line() const {
  const std::string text = ptx();
  const std::size_t at = text.find(access_text(*this));
  return static_cast<std::uint32_t>(
      std::count(text.begin(), text.begin() + std::ptrdiff_t(at), '\n') + 1);
}

std::int32_t Planted::offset() const {
  const auto size = static_cast<std::int32_t>(bytes);
  switch (border) {
    case Border::end: return kBytes;
    case Border::before: return -size;
    case Border::across: return static_cast<std::int32_t>(kBytes) - size + 1;
    case Border::askew: return 1;
  }
  return 0;
}

Scene Planted::scene(bool faulty) const {
  Scene scene;
  scene.name = fmt::format("planted, {}, {}", name(), faulty ? "faulty" : "mended");
  scene.check = "memory";
  scene.faulty = faulty;
  scene.ptx = ptx();
  scene.kernel = "planted";
  scene.grid = 2;
  scene.block = {32, 1};
  if (route == Route::dynamic_shared) scene.shared = kBytes;
  scene.memory = {{"object", kBytes, 0u}, {"pointer", 8, {}, 0}, {"result", 64, 7u}};
  scene.arguments = {{Scene::Kind::memory, 0},
                     {Scene::Kind::memory, 1},
                     {Scene::Kind::value, faulty ? offset() : 0, 4},
                     {Scene::Kind::memory, 2},
                     {Scene::Kind::value, 0, 64}};
  return scene;
}

bool Planted::has_border() const {
  const RouteRow& row = row_of(route);
  if (access != AccessKind::load && !row.writes) return false;
  if (access == AccessKind::atomic && (!row.atomics || (bytes != 4 && bytes != 8))) return false;
  if ((border == Border::across || border == Border::askew) && bytes == 1) return false;
  // Blocks that are cut up have no shared memory in the flat model, which becomes regions.
  const bool shared =
      route == Route::shared || route == Route::dynamic_shared || route == Route::generic_shared;
  return !(shared && threads == ThreadModel::flat);
}

std::vector<Planted> planted_faults() {
  std::vector<Planted> all;
  unsigned turn = 0;
  for (const RouteRow& row : kRoutes)
    for (const AccessKind access : {AccessKind::load, AccessKind::store, AccessKind::atomic})
      for (const unsigned bytes : {1u, 2u, 4u, 8u, 16u})
        for (const Border border : {Border::end, Border::before, Border::across, Border::askew}) {
          Planted each{row.route, access, bytes, border, ThreadModel::direct};
          if (!each.has_border()) continue;
          each.threads = static_cast<ThreadModel>(turn++ % 3);
          if (!each.has_border()) each.threads = ThreadModel::regions;
          all.push_back(each);
        }
  return all;
}

std::vector<Scene> planted_scenes() {
  std::vector<Scene> scenes;
  for (const Planted& planted : planted_faults())
    for (const bool faulty : {true, false}) scenes.push_back(planted.scene(faulty));
  return scenes;
}

}  // namespace ptx2spv
