// The formats of OpenGL's images that CUDA takes.
#include <string>

#include <fmt/format.h>

#include "src/opengl/calls.hpp"

namespace ptx2spv::opengl {

namespace {

using abi::SurfaceFormat;

// Transfer formats and types.
constexpr Enum kRed = 0x1903, kRg = 0x8227, kRgba = 0x1908, kLuminance = 0x1909, kAlpha = 0x1906,
               kLuminanceAlpha = 0x190a, kRedInteger = 0x8d94, kRgInteger = 0x8228,
               kRgbaInteger = 0x8d99, kLuminanceInteger = 0x8d9c, kAlphaInteger = 0x8d97,
               kLuminanceAlphaInteger = 0x8d9d;
constexpr Enum kByte = 0x1400, kUnsignedByte = 0x1401, kShort = 0x1402, kUnsignedShort = 0x1403,
               kInt = 0x1404, kUnsignedInt = 0x1405, kFloatType = 0x1406, kHalfFloat = 0x140b;
/// The ten formats of a family in the order of kTypes, and what reads them.
struct Family {
  unsigned channels;
  Enum external, external_integer;
  Enum internal[10];
};
struct Type {
  Enum type;
  SurfaceFormat format;
  bool integer;
};
constexpr Type kTypes[10] = {
    {kUnsignedByte, SurfaceFormat::u8, false}, {kUnsignedShort, SurfaceFormat::u16, false},
    {kHalfFloat, SurfaceFormat::f16, false},   {kFloatType, SurfaceFormat::f32, false},
    {kUnsignedByte, SurfaceFormat::u8, true},  {kUnsignedShort, SurfaceFormat::u16, true},
    {kUnsignedInt, SurfaceFormat::u32, true},  {kByte, SurfaceFormat::s8, true},
    {kShort, SurfaceFormat::s16, true},        {kInt, SurfaceFormat::s32, true},
};
// 8, 16, 16F, 32F, 8UI, 16UI, 32UI, 8I, 16I, 32I.
constexpr Family kFamilies[] = {
    {1,
     kRed,
     kRedInteger,
     {0x8229, 0x822a, 0x822d, 0x822e, 0x8232, 0x8234, 0x8236, 0x8231, 0x8233, 0x8235}},
    {2,
     kRg,
     kRgInteger,
     {0x822b, 0x822c, 0x822f, 0x8230, 0x8238, 0x823a, 0x823c, 0x8237, 0x8239, 0x823b}},
    {4,
     kRgba,
     kRgbaInteger,
     {0x8058, 0x805b, 0x881a, 0x8814, 0x8d7c, 0x8d76, 0x8d70, 0x8d8e, 0x8d88, 0x8d82}},
    {1,
     kLuminance,
     kLuminanceInteger,
     {0x8040, 0x8042, 0x881e, 0x8818, 0x8d80, 0x8d7a, 0x8d74, 0x8d92, 0x8d8c, 0x8d86}},
    {1,
     kAlpha,
     kAlphaInteger,
     {0x803c, 0x803e, 0x881c, 0x8816, 0x8d7e, 0x8d78, 0x8d72, 0x8d90, 0x8d8a, 0x8d84}},
    {2,
     kLuminanceAlpha,
     kLuminanceAlphaInteger,
     {0x8045, 0x8048, 0x881f, 0x8819, 0x8d81, 0x8d7b, 0x8d75, 0x8d93, 0x8d8d, 0x8d87}},
    // An intensity is read and written as its red.
    {1,
     kRed,
     kRedInteger,
     {0x804b, 0x804d, 0x881d, 0x8817, 0x8d7f, 0x8d79, 0x8d73, 0x8d91, 0x8d8b, 0x8d85}},
};
/// Formats whose sizes OpenGL chooses, or which hold other bytes as one of the families does: those
/// of three channels have a fourth without meaning, as on an H100. They are taken where OpenGL
/// chose the size of the type: the parameters of a texture and of a renderbuffer tell it.
struct Other {
  Enum internal;
  int family, type;
  Enum texture_bits, renderbuffer_bits;
  bool three = false;
};
constexpr Enum kRedBits = 0x805c, kAlphaBits = 0x805f, kLuminanceBits = 0x8060,
               kIntensityBits = 0x8061, kBufferRedBits = 0x8d50, kBufferAlphaBits = 0x8d53;
constexpr Other kOthers[] = {
    {kRed, 0, 0, kRedBits, kBufferRedBits},
    {kRg, 1, 0, kRedBits, kBufferRedBits},
    {kRgba, 2, 0, kRedBits, kBufferRedBits},
    {4, 2, 0, kRedBits, kBufferRedBits},
    {kLuminance, 3, 0, kLuminanceBits, kBufferRedBits},
    {1, 3, 0, kLuminanceBits, kBufferRedBits},
    {kAlpha, 4, 0, kAlphaBits, kBufferAlphaBits},
    {kLuminanceAlpha, 5, 0, kLuminanceBits, kBufferRedBits},
    {2, 5, 0, kLuminanceBits, kBufferRedBits},
    {0x8049, 6, 0, kIntensityBits, kBufferRedBits},
    {0x1907, 2, 0, kRedBits, kBufferRedBits, true},  // RGB
    {3, 2, 0, kRedBits, kBufferRedBits, true},
    {0x8051, 2, 0, kRedBits, kBufferRedBits, true},  // RGB8
    {0x8054, 2, 1, kRedBits, kBufferRedBits, true},  // RGB16
    {0x8815, 2, 3, kRedBits, kBufferRedBits, true},  // RGB32F
    {0x8d7d, 2, 4, kRedBits, kBufferRedBits, true},  // RGB8UI
    {0x8d71, 2, 6, kRedBits, kBufferRedBits, true},  // RGB32UI
    {0x8c41, 2, 0, kRedBits, kBufferRedBits, true},  // SRGB8
    {0x8c43, 2, 0, kRedBits, kBufferRedBits},        // SRGB8_ALPHA8
    {0x805a, 2, 1, kRedBits, kBufferRedBits},        // RGBA12
    {0x803f, 3, 0, kLuminanceBits, kBufferRedBits},  // LUMINANCE4
    {0x8c47, 3, 0, kLuminanceBits, kBufferRedBits},  // SLUMINANCE8
    {0x803b, 4, 0, kAlphaBits, kBufferAlphaBits},    // ALPHA4
    {0x8044, 5, 0, kLuminanceBits, kBufferRedBits},  // LUMINANCE6_ALPHA2
};

Format format_of(const Family& family, int type, Enum internal) {
  const Type& how = kTypes[type];
  Format made = {internal, how.integer ? family.external_integer : family.external, how.type,
                 how.format, family.channels};
  if (&family < kFamilies + 3) made.sized = family.internal[type];
  return made;
}

}  // namespace

Status find_format(Enum internal, bool renderbuffer, const std::function<int(Enum)>& bits,
                   Format& found) {
  for (const Family& family : kFamilies)
    for (int type = 0; type < 10; ++type)
      if (family.internal[type] == internal) {
        found = format_of(family, type, internal);
        return {};
      }
  for (const Other& each : kOthers) {
    if (each.internal != internal) continue;
    Format made = format_of(kFamilies[each.family], each.type, internal);
    made.three = each.three;
    if (made.three) made.sized = 0;
    const auto wanted = static_cast<int>(made.texel_bytes() / made.channels * 8);
    if (bits(renderbuffer ? each.renderbuffer_bits : each.texture_bits) != wanted) break;
    found = made;
    return {};
  }
  const std::string text =
      fmt::format("CUDA takes no OpenGL image of internal format {:#06x}", internal);
  return refuse(ErrorCode::unsupported, text);
}

std::size_t Format::texel_bytes() const {
  switch (type) {
    case kByte:
    case kUnsignedByte: return channels;
    case kShort:
    case kUnsignedShort:
    case kHalfFloat: return std::size_t{2} * channels;
    default: return std::size_t{4} * channels;
  }
}

}  // namespace ptx2spv::opengl
