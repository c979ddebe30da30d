#include "dev/recorder/surface_session.hpp"

#include <cstdio>
#include <cstring>

namespace ptx2spv::recorder {
namespace {

/// What a thread reads: 48 bytes that the kernel knows.
struct LineWords {
  std::int32_t coordinates[4];
  std::uint64_t values[4];
};
static_assert(sizeof(LineWords) == 48);

std::string hex(std::uint64_t value, unsigned bytes) {
  char text[20];
  std::snprintf(text, sizeof(text), "%0*llx", static_cast<int>(2 * bytes),
                static_cast<unsigned long long>(value));
  return text;
}

std::string changes(const std::uint8_t* before, const std::uint8_t* after, std::size_t bytes) {
  std::string text;
  for (std::size_t k = 0; k < bytes; ++k) {
    if (before[k] == after[k]) continue;
    if (!k || before[k - 1] == after[k - 1]) text += " @" + std::to_string(k) + ":";
    text += hex(after[k], 1);
  }
  return text.empty() ? " none" : text;
}

ArrayDescription description(const SurfaceSetup& setup) {
  ArrayDescription a;
  // Of a level of a mipmapped array the setup has the extents of the level.
  a.width = std::size_t{setup.width} << setup.level;
  a.height = std::size_t{setup.height} << setup.level;
  a.depth = std::size_t{setup.depth} << (setup.geometry == "3d" ? setup.level : 0);
  a.channels = setup.channels;
  const unsigned step = setup.channels == 4 ? 2 : setup.channels - 1;
  a.format = setup.format->normalized
                 ? static_cast<ArrayFormat>(static_cast<unsigned>(setup.format->format) + step)
                 : setup.format->format;
  a.flags = array_flag::surface | (setup.layered() ? array_flag::layered : 0) |
            (setup.is_cube() ? array_flag::cubemap : 0);
  return a;
}

}  // namespace

SurfaceObject::SurfaceObject(const SurfaceSetup& setup) : setup_(setup) {
  auto& d = Driver::get();
  const ArrayDescription a = description(setup);
  if (setup.level) {
    error_ = d.mipmapped_create(&mipmapped_, &a, setup.level + 1);
    if (!error_) error_ = d.mipmapped_level(&level_, mipmapped_, setup.level);
  } else {
    error_ = d.array_create(&array_, &a);
  }
  if (error_) return;
  ResourceDescription resource;
  resource.array = array();
  error_ = d.surface_create(&handle_, &resource);
}

SurfaceObject::~SurfaceObject() {
  auto& d = Driver::get();
  if (handle_) d.surface_destroy(handle_);
  if (array_) d.array_destroy(array_);
  if (mipmapped_) d.mipmapped_destroy(mipmapped_);
}

int SurfaceObject::copy(DevicePointer memory, bool to_array) const {
  Copy3D::Side dense, array;
  dense.memory = 2;
  dense.device = memory;
  dense.pitch = setup_.row_bytes();
  dense.height = setup_.rows();
  array.memory = 3;
  array.array = this->array();
  Copy3D copy;
  copy.source = to_array ? dense : array;
  copy.target = to_array ? array : dense;
  copy.width_bytes = setup_.row_bytes();
  copy.height = setup_.rows();
  copy.depth = setup_.slices();
  return Driver::get().copy_3d(&copy);
}

std::string surface_operands(const SurfaceInstruction& i, const SurfaceLine& line) {
  std::string text;
  for (unsigned k = 0; k < i.coordinates(); ++k)
    text += (k ? "," : "") + std::to_string(line.coordinates[k]);
  if (i.kind == SurfaceKind::load) return text;
  text += " v=";
  for (unsigned k = 0; k < i.elements; ++k)
    text += (k ? "," : "") + hex(line.values[k], i.element_bytes == 1 ? 2 : i.element_bytes);
  return text + " ->";
}

std::vector<std::string> SurfaceRun::run(const SurfaceInstruction& i, const Kernel& kernel,
                                         const std::vector<SurfaceLine>& lines) {
  std::vector<LineWords> words(lines.size());
  for (std::size_t k = 0; k < lines.size(); ++k) {
    std::memcpy(words[k].coordinates, lines[k].coordinates, sizeof(words[k].coordinates));
    std::memcpy(words[k].values, lines[k].values, sizeof(words[k].values));
  }
  DeviceMemory in(words.size() * sizeof(LineWords));
  in.upload(words.data(), words.size() * sizeof(LineWords));
  return i.kind == SurfaceKind::load ? loads(i, kernel, lines, in) : stores(i, kernel, lines, in);
}

std::vector<std::string> SurfaceRun::loads(const SurfaceInstruction& i, const Kernel& kernel,
                                           const std::vector<SurfaceLine>& lines,
                                           const DeviceMemory& in) {
  if (object_.copy(first_.address(), true)) return {};
  std::vector<std::uint64_t> results(lines.size() * 4);
  DeviceMemory out(results.size() * 8);
  const auto blocks = static_cast<std::uint32_t>((lines.size() + 127) / 128);
  if (kernel.run(blocks, {object_.handle(), in.address(), out.address(), 0, lines.size()}))
    return {};
  out.download(results.data(), results.size() * 8);
  std::vector<std::string> text;
  const unsigned bytes = i.element_bytes == 1 ? 2 : i.element_bytes;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    std::string line = surface_operands(i, lines[k]) + "=";
    for (unsigned e = 0; e < i.elements; ++e) {
      const std::uint64_t mask = bytes == 8 ? ~0ull : (1ull << (8 * bytes)) - 1;
      line += (e ? "," : "") + (i.reads(e) ? hex(results[4 * k + e] & mask, bytes) : "_");
    }
    text.push_back(std::move(line));
  }
  return text;
}

std::vector<std::string> SurfaceRun::stores(const SurfaceInstruction& i, const Kernel& kernel,
                                            const std::vector<SurfaceLine>& lines,
                                            const DeviceMemory& in) {
  const std::size_t size = pattern_.size();
  DeviceMemory all(size * lines.size());
  for (std::size_t k = 0; k < lines.size(); ++k) {
    if (object_.copy(first_.address(), true) ||
        kernel.start(1, {object_.handle(), in.address(), 0, k, 1}) ||
        object_.copy(all.address() + k * size, false))
      return {};
  }
  if (Driver::get().synchronize()) return {};
  std::vector<std::uint8_t> after(size * lines.size());
  all.download(after.data(), after.size());
  std::vector<std::string> text;
  for (std::size_t k = 0; k < lines.size(); ++k)
    text.push_back(surface_operands(i, lines[k]) +
                   changes(pattern_.data(), &after[k * size], size));
  return text;
}

}  // namespace ptx2spv::recorder
