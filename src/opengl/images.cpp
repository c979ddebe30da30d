// Textures and renderbuffers: what they are, and their texels unchanged.
#include <algorithm>
#include <bit>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "src/opengl/bound.hpp"

namespace ptx2spv::opengl {

namespace {

// Parameters of textures and renderbuffers.
constexpr Enum kTextureWidth = 0x1000, kTextureHeight = 0x1001, kTextureDepth = 0x8071,
               kTextureFormat = 0x1003, kTextureBorder = 0x1005, kTextureImmutableLevels = 0x82df;
constexpr Enum kRenderbufferWidth = 0x8d42, kRenderbufferHeight = 0x8d43,
               kRenderbufferFormat = 0x8d44, kRenderbufferSamples = 0x8cab,
               kRenderbufferBinding = 0x8ca7;
constexpr Enum kFaces = 0x8515;  ///< the first of six

/// Texels in plain memory without gaps, unchanged on their way, for a scope: pixels are stored as
/// by default and no buffer takes them. Contexts of compatibility change them on the way.
class PlainPixels {
 public:
  explicit PlainPixels(const Functions& gl) : gl_(gl) {
    for (std::size_t i = 0; i < std::size(kStores); ++i) {
      gl_.GetIntegerv(kStores[i], &stores_[i]);
      if (const int plain = kStores[i] == kPackAlignment || kStores[i] == kUnpackAlignment;
          stores_[i] != plain)
        gl_.PixelStorei(kStores[i], plain);
    }
    for (int i = 0; i < 2; ++i) {
      gl_.GetIntegerv(kBindings[i], &buffers_[i]);
      if (buffers_[i]) gl_.BindBuffer(kTargets[i], 0);
    }
    int profile = 0;
    gl_.GetIntegerv(0x9126, &profile);
    compatible_ = !(profile & 1) && gl_.PixelTransferf;
    for (std::size_t i = 0; compatible_ && i < std::size(kTransfers); ++i) {
      gl_.GetFloatv(kTransfers[i], &transfers_[i]);
      gl_.PixelTransferf(kTransfers[i], i % 2 ? 1.0F : 0.0F);
    }
  }
  ~PlainPixels() {
    for (std::size_t i = 0; i < std::size(kStores); ++i) gl_.PixelStorei(kStores[i], stores_[i]);
    for (int i = 0; i < 2; ++i)
      if (buffers_[i]) gl_.BindBuffer(kTargets[i], static_cast<unsigned>(buffers_[i]));
    for (std::size_t i = 0; compatible_ && i < std::size(kTransfers); ++i)
      gl_.PixelTransferf(kTransfers[i], transfers_[i]);
  }
  PlainPixels(const PlainPixels&) = delete;
  PlainPixels& operator=(const PlainPixels&) = delete;

 private:
  static constexpr Enum kPackAlignment = 0xd05, kUnpackAlignment = 0xcf5;
  // Swapped bytes, bits' order, row length, skipped rows and pixels, alignment, skipped images and
  // their height: of what is read, and of what is written.
  static constexpr Enum kStores[] = {
      0xd00, 0xd01, 0xd02, 0xd03, 0xd04, kPackAlignment,   0x806b, 0x806c,
      0xcf0, 0xcf1, 0xcf2, 0xcf3, 0xcf4, kUnpackAlignment, 0x806d, 0x806e};
  static constexpr Enum kBindings[] = {0x88ed, 0x88ef}, kTargets[] = {0x88eb, 0x88ec};
  // Mapped colours, then scale and bias of each.
  static constexpr Enum kTransfers[] = {0xd10, 0xd14, 0xd15, 0xd18, 0xd19,
                                        0xd1a, 0xd1b, 0xd1c, 0xd1d};
  const Functions& gl_;
  int stores_[std::size(kStores)] = {}, buffers_[2] = {};
  float transfers_[std::size(kTransfers)] = {};
  bool compatible_ = false;
};

/// A texture of the same extent and format as a renderbuffer, whose texels go through it.
class TextureBetween {
 public:
  TextureBetween(const Functions& gl, const Image& image, const std::byte* texels)
      : gl_(gl), image_(image) {
    gl_.GenTextures(1, &name_);
    bound_.emplace(gl, kTexture2D, name_);
    bound_->sample_nearest();
    gl_.TexImage2D(kTexture2D, 0, static_cast<int>(image.format.internal),
                   static_cast<int>(image.width), static_cast<int>(image.height), 0,
                   image.format.external, image.format.type, texels);
  }
  ~TextureBetween() {
    bound_.reset();
    gl_.DeleteTextures(1, &name_);
  }
  TextureBetween(const TextureBetween&) = delete;
  TextureBetween& operator=(const TextureBetween&) = delete;
  void read(std::byte* to) {
    copy(image_.name, kRenderbuffer, name_, kTexture2D);
    gl_.GetTexImage(kTexture2D, 0, image_.format.external, image_.format.type, to);
  }
  void write() { copy(name_, kTexture2D, image_.name, kRenderbuffer); }

 private:
  void copy(unsigned from, Enum from_target, unsigned to, Enum to_target) {
    gl_.CopyImageSubData(from, from_target, 0, 0, 0, 0, to, to_target, 0, 0, 0, 0,
                         static_cast<int>(image_.width), static_cast<int>(image_.height), 1);
  }
  const Functions& gl_;
  const Image& image_;
  unsigned name_ = 0;
  std::optional<BoundTexture> bound_;
};

std::size_t shrink(std::size_t extent, unsigned level) {
  return std::max<std::size_t>(extent >> level, 1);
}

}  // namespace

bool Image::layered() const { return target == kTexture2DArray || target == kTextureCube; }
bool Image::deep() const { return target == kTexture3D || target == kTexture2DArray; }
std::size_t Image::width_of(unsigned level) const { return shrink(width, level); }
std::size_t Image::height_of(unsigned level) const { return shrink(height, level); }
std::size_t Image::depth_of(unsigned level) const {
  return layered() ? depth : shrink(depth, level);
}
std::size_t Image::level_bytes(unsigned level) const {
  return width_of(level) * height_of(level) * depth_of(level) * format.texel_bytes();
}

/// The first levels that follow from each other: those of a texture without immutable storage may
/// be anything.
Status Calls::count_levels(Image& image) {
  const Enum target = image.target == kTextureCube ? kFaces : image.target;
  int immutable = 0;
  gl_.GetTexParameteriv(image.target, kTextureImmutableLevels, &immutable);
  (void)gl_.GetError();  // before OpenGL 4.3
  const std::size_t longest = std::max(
      {image.width, image.height, image.target == kTexture3D ? image.depth : std::size_t{1}});
  const auto most =
      image.target == kTextureRectangle ? 1U : static_cast<unsigned>(std::bit_width(longest));
  if (immutable > 0) {
    image.levels = std::min(most, static_cast<unsigned>(immutable));
    return {};
  }
  const auto is = [&](Enum face, unsigned level, Enum name, std::size_t expected) {
    int value = 0;
    gl_.GetTexLevelParameteriv(face, static_cast<int>(level), name, &value);
    return static_cast<std::size_t>(value) == expected;
  };
  const auto fits = [&](unsigned level) {
    for (Enum face = target; face < target + (image.target == kTextureCube ? 6U : 1U); ++face)
      if (!is(face, level, kTextureWidth, image.width_of(level)) ||
          !is(face, level, kTextureHeight, image.height_of(level)) ||
          !is(face, level, kTextureFormat, image.format.internal) ||
          (image.target != kTextureCube && !is(face, level, kTextureDepth, image.depth_of(level))))
        return false;
    return true;
  };
  for (image.levels = 0; image.levels < most && fits(image.levels); ++image.levels) {
  }
  return image.levels ? check("tell the levels of a texture")
                      : refuse(ErrorCode::invalid_argument, "the faces of the cube differ");
}

/// A texture is bound to no target but its own.
bool Calls::find_target(Image& image) {
  for (const Enum target :
       {image.target, kTexture2D, kTextureRectangle, kTextureCube, kTexture3D, kTexture2DArray}) {
    const BoundTexture bound(gl_, target, image.name);
    if (gl_.GetError()) continue;
    image.target = target;
    return true;
  }
  return false;
}

Status Calls::describe_texture(Image& image) {
  if (!gl_.IsTexture(image.name))
    return refuse(ErrorCode::not_found, fmt::format("{} is no OpenGL texture", image.name));
  if (!find_target(image))
    return refuse(ErrorCode::invalid_argument,
                  fmt::format("OpenGL texture {} has another target", image.name));
  const BoundTexture bound(gl_, image.target, image.name);
  const Enum face = image.target == kTextureCube ? kFaces : image.target;
  const auto value = [&](Enum name) {
    int got = 0;
    gl_.GetTexLevelParameteriv(face, 0, name, &got);
    return got;
  };
  image.width = static_cast<std::size_t>(value(kTextureWidth));
  image.height = static_cast<std::size_t>(value(kTextureHeight));
  image.depth = image.target == kTextureCube ? 6 : static_cast<std::size_t>(value(kTextureDepth));
  if (!image.width || !image.height || !image.depth)
    return refuse(ErrorCode::invalid_argument,
                  fmt::format("OpenGL texture {} has no level 0", image.name));
  int border = 0;
  gl_.GetTexLevelParameteriv(face, 0, kTextureBorder, &border);
  (void)gl_.GetError();  // a context without borders does not know the name
  if (border) return refuse(ErrorCode::invalid_argument, "CUDA takes no texture with a border");
  Status code = find_format(static_cast<Enum>(value(kTextureFormat)), false, value, image.format);
  return code ? count_levels(image) : std::move(code);
}

Status Calls::describe_renderbuffer(Image& image) {
  if (!gl_.IsRenderbuffer(image.name))
    return refuse(ErrorCode::not_found, fmt::format("{} is no OpenGL renderbuffer", image.name));
  const int before = integer(kRenderbufferBinding);
  gl_.BindRenderbuffer(kRenderbuffer, image.name);
  const auto value = [&](Enum name) {
    int got = 0;
    gl_.GetRenderbufferParameteriv(kRenderbuffer, name, &got);
    return got;
  };
  image.width = static_cast<std::size_t>(value(kRenderbufferWidth));
  image.height = static_cast<std::size_t>(value(kRenderbufferHeight));
  Status code;
  if (!image.width || !image.height)
    code = refuse(ErrorCode::invalid_argument,
                  fmt::format("OpenGL renderbuffer {} has no memory", image.name));
  else if (value(kRenderbufferSamples))
    code = refuse(ErrorCode::invalid_argument, "CUDA takes no renderbuffer of several samples");
  else
    code = find_format(static_cast<Enum>(value(kRenderbufferFormat)), true, value, image.format);
  gl_.BindRenderbuffer(kRenderbuffer, static_cast<unsigned>(before));
  if (!code) return code;
  const int version = integer(0x821b) * 10 + integer(0x821c);
  if (!gl_.CopyImageSubData || (version < 43 && !has_extension("GL_ARB_copy_image")))
    return refuse(ErrorCode::unsupported, "a renderbuffer needs OpenGL 4.3, or GL_ARB_copy_image");
  code = check("tell the extent of a renderbuffer");
  return code ? try_renderbuffer(image.format) : std::move(code);
}

/// Texels reach a renderbuffer by copies between formats that need not be the same inside: Mesa's
/// zink changes some of luminance and alpha. A small one tells, once for a driver and format.
Status Calls::try_renderbuffer(const Format& format) {
  static std::mutex mutex;
  static auto& kept = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  const std::string key = fmt::format("{} {:x}", driver(), format.internal);
  if (kept.contains(key)) return {};
  Image image;
  image.target = kRenderbuffer;
  image.format = format;
  image.width = image.height = 4;
  const int before = integer(kRenderbufferBinding);
  gl_.GenRenderbuffers(1, &image.name);
  gl_.BindRenderbuffer(kRenderbuffer, image.name);
  gl_.RenderbufferStorage(kRenderbuffer, format.internal, 4, 4);
  std::vector<std::byte> written(image.level_bytes(0)), read_back(written.size());
  for (std::size_t i = 0; i < written.size(); ++i) written[i] = static_cast<std::byte>(i * 7 + 1);
  Status code = write(image, 0, written.data());
  if (code) {
    // Where nothing is copied, the way back must not find what the way there left in its memory.
    const PlainPixels plain(gl_);
    TextureBetween(gl_, image, read_back.data()).read(read_back.data());
    code = check("read a renderbuffer");
  }
  gl_.BindRenderbuffer(kRenderbuffer, static_cast<unsigned>(before));
  gl_.DeleteRenderbuffers(1, &image.name);
  const std::size_t texel = format.texel_bytes();
  for (std::size_t at = 0; format.three && at < written.size(); at += texel)
    std::copy_n(&read_back[at + texel / 4 * 3], texel / 4, &written[at + texel / 4 * 3]);
  if (code && written == read_back) kept.insert(key);
  if (!code || written == read_back) return code;
  const std::string text =
      fmt::format("OpenGL does not keep what is copied to renderbuffers of internal format {:#06x}",
                  format.internal);
  return refuse(ErrorCode::unsupported, text);
}

Status Calls::describe(unsigned name, Enum target, Image& image) {
  image = {};
  image.name = name;
  image.target = target;
  if (target == kRenderbuffer) return describe_renderbuffer(image);
  return describe_texture(image);
}

bool takes_target(Enum target) { return target == kRenderbuffer || binding_of(target); }

Status Calls::read(const Image& image, unsigned level, std::byte* to, std::size_t row_pitch) {
  const PlainPixels plain(gl_);
  constexpr Enum kPackRowLength = 0xd02;
  if (row_pitch)
    gl_.PixelStorei(kPackRowLength, static_cast<int>(row_pitch / image.format.texel_bytes()));
  const Format& format = image.format;
  if (image.target == kRenderbuffer) {
    TextureBetween(gl_, image, nullptr).read(to);
    return check("read a renderbuffer");
  }
  const BoundTexture bound(gl_, image.target, image.name);
  const bool cube = image.target == kTextureCube;
  const std::size_t face =
      row_pitch ? row_pitch * image.height_of(level) : image.level_bytes(level) / (cube ? 6 : 1);
  for (unsigned i = 0; i < (cube ? 6U : 1U); ++i)
    gl_.GetTexImage(cube ? kFaces + i : image.target, static_cast<int>(level), format.external,
                    format.type, to + i * face);
  return check("read a texture");
}

Status Calls::write(const Image& image, unsigned level, const std::byte* from,
                    std::size_t row_pitch) {
  const PlainPixels plain(gl_);
  constexpr Enum kUnpackRowLength = 0xcf2;
  if (row_pitch)
    gl_.PixelStorei(kUnpackRowLength, static_cast<int>(row_pitch / image.format.texel_bytes()));
  const Format& format = image.format;
  if (image.target == kRenderbuffer) {
    TextureBetween(gl_, image, from).write();
    return check("write a renderbuffer");
  }
  const BoundTexture bound(gl_, image.target, image.name);
  const auto mip = static_cast<int>(level), width = static_cast<int>(image.width_of(level)),
             height = static_cast<int>(image.height_of(level)),
             depth = static_cast<int>(image.depth_of(level));
  if (image.target == kTexture3D || image.target == kTexture2DArray) {
    gl_.TexSubImage3D(image.target, mip, 0, 0, 0, width, height, depth, format.external,
                      format.type, from);
    return check("write a texture");
  }
  const bool cube = image.target == kTextureCube;
  const std::size_t face =
      row_pitch ? row_pitch * image.height_of(level) : image.level_bytes(level) / (cube ? 6 : 1);
  for (unsigned i = 0; i < (cube ? 6U : 1U); ++i)
    gl_.TexSubImage2D(cube ? kFaces + i : image.target, mip, 0, 0, width, height, format.external,
                      format.type, from + i * face);
  return check("write a texture");
}

}  // namespace ptx2spv::opengl
