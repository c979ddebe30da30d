#include "dev/recorder/texture_session.hpp"

#include <algorithm>

#include "dev/recorder/record.hpp"

namespace ptx2spv::recorder {
namespace {

ArrayFormat array_format(TexelFormat format) {
  static constexpr ArrayFormat kFormats[] = {ArrayFormat::u8,  ArrayFormat::u16, ArrayFormat::u32,
                                             ArrayFormat::s8,  ArrayFormat::s16, ArrayFormat::s32,
                                             ArrayFormat::f16, ArrayFormat::f32};
  return kFormats[static_cast<unsigned>(format)];
}

/// The normalised formats have a number for each count of channels.
ArrayFormat array_format(const TextureSetup& s) {
  if (s.format <= TexelFormat::f32) return array_format(s.format);
  const std::uint32_t format =
      static_cast<std::uint32_t>(s.format) - static_cast<std::uint32_t>(TexelFormat::unorm8);
  return static_cast<ArrayFormat>(0xc0 + 3 * format + (s.channels == 4 ? 2 : s.channels - 1));
}

void copy_level(const TextureSetup& s, unsigned level, void* array) {
  const auto bytes = texture_bytes(s, level);
  Copy3D copy;
  copy.source.memory = 1;
  copy.source.host = const_cast<std::uint8_t*>(bytes.data());
  copy.source.pitch = std::size_t{s.level_width(level)} * s.texel_bytes();
  copy.source.height = s.level_height(level);
  copy.target.memory = 3;
  copy.target.array = array;
  copy.width_bytes = copy.source.pitch;
  copy.height = s.level_height(level);
  copy.depth = s.level_depth(level);
  Driver::get().check(Driver::get().copy_3d(&copy), "cuMemcpy3D");
}

}  // namespace

TextureObject::TextureObject(const TextureSetup& s) {
  auto& d = Driver::get();
  ResourceDescription resource;
  if (s.resource == "array") {
    error_ = create_array(s, resource);
    if (error_) return;
  } else {
    const auto bytes = texture_bytes(s, 0);
    const std::size_t row = std::size_t{s.width} * s.texel_bytes(),
                      pitch = s.pitch ? s.pitch : (row + 511) / 512 * 512;
    if (s.resource == "linear") {
      memory_ = std::make_unique<DeviceMemory>(bytes.size());
      memory_->upload(bytes.data(), bytes.size());
      resource.type = ResourceType::linear;
      resource.linear = {memory_->address(), array_format(s.format), s.channels, bytes.size()};
    } else {
      std::vector<std::uint8_t> padded(pitch * s.height);
      for (unsigned y = 0; y < s.height; ++y)
        std::memcpy(padded.data() + y * pitch, bytes.data() + y * row, row);
      memory_ = std::make_unique<DeviceMemory>(padded.size());
      memory_->upload(padded.data(), padded.size());
      resource.type = ResourceType::pitched;
      resource.pitched = {
          memory_->address(), array_format(s.format), s.channels, s.width, s.height, pitch};
    }
  }
  TextureDescription t;
  for (int i = 0; i < 3; ++i) t.address[i] = static_cast<AddressMode>(s.address[i]);
  t.filter = s.linear ? Filter::linear : Filter::point;
  t.mip_filter = s.mip_linear ? Filter::linear : Filter::point;
  t.flags = (s.element ? texture_flag::element : 0) |
            (s.normalized ? texture_flag::normalized : 0) | (s.srgb ? texture_flag::srgb : 0) |
            (s.seamless ? texture_flag::seamless : 0) |
            (s.full_trilinear ? texture_flag::full_trilinear : 0);
  t.anisotropy = s.anisotropy;
  t.bias = s.bias;
  t.min_level = s.min_level;
  t.max_level = s.max_level;
  std::copy(s.border, s.border + 4, t.border);
  error_ = d.texture_create(&handle_, &resource, &t, nullptr);
}

int TextureObject::create_array(const TextureSetup& s, ResourceDescription& resource) {
  auto& d = Driver::get();
  ArrayDescription a;
  a.width = s.width;
  a.height = s.cube() ? s.width : s.dimensions() >= 2 ? s.height : 0;
  a.depth = s.geometry == "3d" || s.layered() || s.cube() ? s.level_depth(0) : 0;
  a.format = array_format(s);
  a.channels = s.channels;
  a.flags = (s.layered() ? array_flag::layered : 0) | (s.cube() ? array_flag::cubemap : 0) |
            (s.dimensions() == 2 || s.cube() ? array_flag::gather : 0);
  if (s.levels) {
    int error = d.mipmapped_create(&mipmapped_, &a, s.levels);
    if (error &&
        (a.flags & array_flag::gather)) {  // some geometries gather without the flag, and refuse it
      a.flags &= ~array_flag::gather;
      error = d.mipmapped_create(&mipmapped_, &a, s.levels);
    }
    if (error) return error;
    for (unsigned level = 0; level < s.levels; ++level) {
      void* array = nullptr;
      d.check(d.mipmapped_level(&array, mipmapped_, level), "cuMipmappedArrayGetLevel");
      copy_level(s, level, array);
    }
    resource.type = ResourceType::mipmapped;
    resource.array = mipmapped_;
  } else {
    int error = d.array_create(&array_, &a);
    if (error && (a.flags & array_flag::gather)) {
      a.flags &= ~array_flag::gather;
      error = d.array_create(&array_, &a);
    }
    if (error) return error;
    copy_level(s, 0, array_);
    resource.array = array_;
  }
  return 0;
}

TextureObject::~TextureObject() {
  auto& d = Driver::get();
  if (handle_) d.texture_destroy(handle_);
  if (array_) d.array_destroy(array_);
  if (mipmapped_) d.mipmapped_destroy(mipmapped_);
}

TextureSession::TextureSession(const std::string& path, bool sweeps, std::string only)
    : file_(path, std::ios::binary), sweeps_(sweeps), only_(std::move(only)) {
  if (sweeps) return;
  file_ << "# texture instructions on " << Driver::get().device_name << ", driver interface "
        << Driver::get().version << "\n";
}

void TextureSession::run(const TextureSetup& setup, const TextureInstruction& instruction,
                         const std::vector<std::uint32_t>& operands) {
  const std::string text = describe(setup);
  if (!only_.empty() && (text + instruction.text).find(only_) == std::string::npos) return;
  if (text != setup_text_) {
    setup_text_ = text;
    setup_written_ = false;
    texture_ = std::make_unique<TextureObject>(setup);
  }
  if (texture_->error()) {
    if (!setup_written_) file_ << "# refused (" << texture_->error() << "): " << text << "\n";
    setup_written_ = true;
    return;
  }
  auto& kernel = kernels_[instruction.text];
  if (!kernel) {
    std::string log;
    kernel = Kernel::load(texture_module(instruction), &log);
    if (!kernel) {
      file_ << "# refused: " << instruction.text << "\n";
      std::fprintf(stderr, "refused: %s: %s\n", instruction.text.c_str(), log.c_str());
      return;
    }
  }
  const std::size_t count = instruction.words ? operands.size() / instruction.words : 1;
  const std::size_t threads = (count + 127) / 128 * 128;
  auto padded = operands;
  padded.resize(std::max<std::size_t>(1, threads * instruction.words));
  DeviceMemory in(padded.size() * 4), out(threads * 16);
  in.upload(padded.data(), padded.size() * 4);
  const int error = kernel->run(static_cast<std::uint32_t>(threads / 128),
                                {texture_->handle(), in.address(), out.address()});
  Driver::get().check(error, (text + " " + instruction.text).c_str());
  std::vector<std::uint32_t> results(threads * 4);
  out.download(results.data(), results.size() * 4);
  if (sweeps_) {
    file_ << "D " << text << '\t' << instruction.text << '\t' << instruction.words << '\t' << count
          << '\n';
    file_.write(reinterpret_cast<const char*>(operands.data()),
                static_cast<std::streamsize>(count * instruction.words * 4));
    file_.write(reinterpret_cast<const char*>(results.data()),
                static_cast<std::streamsize>(count * 16));
    file_.flush();
    return;
  }
  if (!setup_written_) file_ << "T " << text << "\n";
  setup_written_ = true;
  file_ << "I " << instruction.text << "\n";
  const std::size_t shown = instruction.text.starts_with("txq")                   ? 1
                            : instruction.text.find("f16x2") != std::string::npos ? 2
                                                                                  : 4;
  char word[16];
  for (std::size_t i = 0; i < count; ++i) {
    std::string line;
    for (std::size_t k = 0; k < instruction.words; ++k) {
      std::snprintf(word, sizeof(word), k ? ",%x" : "%x", operands[i * instruction.words + k]);
      line += word;
    }
    for (std::size_t k = 0; k < shown; ++k) {
      std::snprintf(word, sizeof(word), k ? ",%x" : "=%x", results[i * 4 + k]);
      line += word;
    }
    file_ << line << "\n";
    ++lines_;
  }
  file_.flush();  // what is recorded stays, should a later instruction end the context
}

int record_textures(const std::string& path, const std::string& only) {
  TextureSession session(path, false, only);
  texture_sections(session);
  std::fprintf(stderr, "%u texture lines recorded\n", session.lines());
  return session.good() ? 0 : 2;
}

int record_texture_levels(const std::string& path, const std::string& only) {
  TextureSession session(path, false, only);
  texture_levels(session);
  std::fprintf(stderr, "%u texture lines recorded\n", session.lines());
  return session.good() ? 0 : 2;
}

int record_texture_sampling(const std::string& path, const std::string& only, std::uint32_t seed) {
  TextureSession session(path, false, "");
  session.seed = seed;
  if (!texture_sampling(session, only)) {
    std::fprintf(stderr, "no section '%s'\n", only.c_str());
    return 2;
  }
  std::fprintf(stderr, "%u texture lines recorded\n", session.lines());
  return session.good() ? 0 : 2;
}

int record_sweeps(const std::string& path, const std::string& only) {
  TextureSession session(path, true, only);
  texture_sweeps(session);
  return session.good() ? 0 : 2;
}

}  // namespace ptx2spv::recorder
