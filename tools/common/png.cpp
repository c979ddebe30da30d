#include "tools/common/png.hpp"

#include <png.h>

#include <algorithm>
#include <cstring>

namespace ptx2spv::tools {
namespace {

std::uint32_t png_format(std::uint32_t channels) {
  switch (channels) {
    case 1: return PNG_FORMAT_GRAY;
    case 2: return PNG_FORMAT_GA;
    case 3: return PNG_FORMAT_RGB;
    case 4: return PNG_FORMAT_RGBA;
    default: return 0xffffffffu;
  }
}

// Samples of grey or colour without alpha are widened here: libpng's simplified interface would
// blend transparency against a background where the caller wants none dropped.
void put_pixel(const std::uint8_t* rgba, std::uint32_t channels, std::byte* out) {
  if (channels == 4) {
    std::memcpy(out, rgba, 4);
    return;
  }
  // Luminance by the usual weights; equal channels stay as they are.
  const std::uint32_t grey = (rgba[0] * 299u + rgba[1] * 587u + rgba[2] * 114u + 500u) / 1000u;
  out[0] = std::byte(grey);
  if (channels == 2) out[1] = std::byte(rgba[3]);
}

/// Whether a file of `bytes` can hold the samples that its header, which libpng has checked,
/// claims: deflate makes 1,032 bytes of one at most.
bool can_hold(const Bytes& file, std::uint64_t pixels) {
  constexpr std::size_t kDepth = 24, kColourType = 25;
  constexpr std::uint64_t kSamples[] = {1, 0, 3, 1, 2, 0, 4};
  const std::uint64_t samples = kSamples[std::min<std::size_t>(std::size_t(file[kColourType]), 6)];
  return pixels * samples * std::uint64_t(file[kDepth]) / 8 <= 1032 * std::uint64_t{file.size()};
}

}  // namespace

IoError read_png(const Bytes& file, std::uint32_t channels, Picture& picture) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_memory(&image, file.data(), file.size()))
    return std::string("is not a PNG picture: ") + image.message;
  image.format = PNG_FORMAT_RGBA;
  if (image.width > 65536 || image.height > 65536 ||
      std::uint64_t(image.width) * image.height > (std::uint64_t(1) << 28)) {
    png_image_free(&image);
    return "is a picture of absurd size";
  }
  if (!can_hold(file, std::uint64_t(image.width) * image.height)) {
    png_image_free(&image);
    return "is shorter than a picture of its size can be";
  }
  std::vector<std::uint8_t> rgba(PNG_IMAGE_SIZE(image));
  if (!png_image_finish_read(&image, nullptr, rgba.data(), 0, nullptr)) {
    const std::string text = image.message;
    png_image_free(&image);
    return "is a damaged PNG picture: " + text;
  }
  picture = {image.width, image.height, channels, {}};
  const std::size_t pixels = std::size_t(image.width) * image.height;
  picture.pixels.resize(pixels * channels);
  for (std::size_t k = 0; k < pixels; ++k)
    put_pixel(rgba.data() + 4 * k, channels, picture.pixels.data() + channels * k);
  return {};
}

IoError write_png(const Picture& picture, Bytes& file) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = picture.width;
  image.height = picture.height;
  image.format = png_format(picture.channels);
  if (image.format == 0xffffffffu) return "a picture has 1 to 4 channels";
  png_alloc_size_t size = 0;
  if (!png_image_write_to_memory(&image, nullptr, &size, 0, picture.pixels.data(), 0, nullptr))
    return image.message;
  file.resize(size);
  if (!png_image_write_to_memory(&image, file.data(), &size, 0, picture.pixels.data(), 0, nullptr))
    return image.message;
  file.resize(size);
  return {};
}

}  // namespace ptx2spv::tools
