// Runs texture instructions on the GPU: a texture object from a setup, a kernel from an
// instruction.
#pragma once

#include <fstream>
#include <map>
#include <memory>

#include "dev/recorder/cuda_driver.hpp"
#include "dev/recorder/texture_kernels.hpp"
#include "dev/recorder/texture_setup.hpp"

namespace ptx2spv::recorder {

/// A texture object and the memory behind it.
class TextureObject {
 public:
  explicit TextureObject(const TextureSetup& setup);
  ~TextureObject();
  TextureObject(const TextureObject&) = delete;
  TextureObject& operator=(const TextureObject&) = delete;
  std::uint64_t handle() const { return handle_; }
  /// The driver's error number where it refused the setup.
  int error() const { return error_; }

 private:
  int create_array(const TextureSetup& setup, ResourceDescription& resource);
  void* array_ = nullptr;
  void* mipmapped_ = nullptr;
  std::unique_ptr<DeviceMemory> memory_;
  std::uint64_t handle_ = 0;
  int error_ = 0;
};

/// Writes one file: the record as text, or, for sweeps, sections of a line of text and the operands
/// and results as 32-bit words.
class TextureSession {
 public:
  TextureSession(const std::string& path, bool sweeps, std::string only);
  /// Runs `instruction` on every tuple of `operands` and writes a section.
  void run(const TextureSetup& setup, const TextureInstruction& instruction,
           const std::vector<std::uint32_t>& operands);
  bool good() const { return file_.good(); }
  unsigned lines() const { return lines_; }
  /// Joins the seeds of what is drawn at random; 0 draws what the committed records hold.
  std::uint32_t seed = 0;

 private:
  std::ofstream file_;
  bool sweeps_;
  std::string only_, setup_text_;
  std::unique_ptr<TextureObject> texture_;
  std::map<std::string, std::unique_ptr<Kernel>> kernels_;
  bool setup_written_ = false;
  unsigned lines_ = 0;
};

/// The sections of the record and the sweeps (texture_sections.cpp, texture_sweeps.cpp).
void texture_sections(TextureSession& session);
void texture_sweeps(TextureSession& session);
/// The second record (texture_levels.cpp).
void texture_levels(TextureSession& session);
/// The sections of the third record (texture_sampling.cpp); `only` names one. False: there is none.
bool texture_sampling(TextureSession& session, const std::string& only);
/// Sections of it (texture_anisotropic.cpp), and the setup that reads of levels share.
TextureSetup levelled(const std::string& geometry, unsigned extent, unsigned levels,
                      TexelData data);
void anisotropic_places(TextureSession& session);
void anisotropic_ratios(TextureSession& session);
void anisotropic_sums(TextureSession& session);
void integer_gradients(TextureSession& session);
/// More of them (texture_kinds.cpp).
void anisotropic_kinds(TextureSession& session);
void odd_descriptions(TextureSession& session);
/// And those of texture_probes.cpp.
void anisotropic_directions(TextureSession& session);
void cube_directions(TextureSession& session);
void footprints(TextureSession& session);
void level_mixes(TextureSession& session);
void wide_levels(TextureSession& session);
void far_directions(TextureSession& session);
/// Instructions of one geometry on textures of another (texture_pairs.cpp), a texture a section.
unsigned texture_pair_sections();
void texture_pairs(TextureSession& session, unsigned section);

}  // namespace ptx2spv::recorder
