// What is bound for a scope of calls, and what was bound before.
#pragma once

#include "src/opengl/calls.hpp"

namespace ptx2spv::opengl {

inline constexpr Enum kCopyRead = 0x8f36, kCopyWrite = 0x8f37;

/// A buffer at the targets for copies, which nothing but copies looks at, for a scope.
class BoundBuffer {
 public:
  BoundBuffer(const Functions& gl, Enum target, unsigned name) : gl_(gl), target_(target) {
    gl_.GetIntegerv(target, &before_);  // the target is its own query
    gl_.BindBuffer(target, name);
  }
  ~BoundBuffer() { gl_.BindBuffer(target_, static_cast<unsigned>(before_)); }
  BoundBuffer(const BoundBuffer&) = delete;
  BoundBuffer& operator=(const BoundBuffer&) = delete;

 private:
  const Functions& gl_;
  Enum target_;
  int before_ = 0;
};

/// The query of what is bound to a target; 0: CUDA takes no texture of it.
inline Enum binding_of(Enum target) {
  switch (target) {
    case kTexture2D: return 0x8069;
    case kTextureRectangle: return 0x84f6;
    case kTextureCube: return 0x8514;
    case kTexture3D: return 0x806a;
    case kTexture2DArray: return 0x8c1d;
    default: return 0;
  }
}

class BoundTexture {
 public:
  BoundTexture(const Functions& gl, Enum target, unsigned name) : gl_(gl), target_(target) {
    gl_.GetIntegerv(binding_of(target), &before_);
    gl_.BindTexture(target, name);
  }
  ~BoundTexture() { gl_.BindTexture(target_, static_cast<unsigned>(before_)); }
  /// OpenGL's copies leave alone what a filter makes incomplete.
  void sample_nearest() const {
    constexpr Enum kMinFilter = 0x2801, kMagFilter = 0x2800;
    constexpr int kNearest = 0x2600;
    for (const Enum filter : {kMinFilter, kMagFilter}) gl_.TexParameteri(target_, filter, kNearest);
  }
  BoundTexture(const BoundTexture&) = delete;
  BoundTexture& operator=(const BoundTexture&) = delete;

 private:
  const Functions& gl_;
  Enum target_;
  int before_ = 0;
};

}  // namespace ptx2spv::opengl
