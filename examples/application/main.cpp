// Loads a PTX kernel and edits a picture with it on whatever Vulkan device there is, the CPU
// included:  spotlight KERNEL.ptx OUT.ppm
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include <ptx2spv/runtime.hpp>

namespace {

constexpr std::int32_t kWidth = 320, kHeight = 200;

// A picture to work on: four bytes a texel, red, green, blue and opacity.
std::vector<std::uint8_t> stripes() {
  std::vector<std::uint8_t> texels;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const bool dark = (x / 20 + y / 20) % 2 != 0;
      texels.push_back(static_cast<std::uint8_t>(dark ? 40 : 255 - x / 2));
      texels.push_back(static_cast<std::uint8_t>(dark ? 60 : 80 + y / 2));
      texels.push_back(static_cast<std::uint8_t>(dark ? 90 : x * 3 / 4));
      texels.push_back(255);
    }
  }
  return texels;
}

int fail(const ptx2spv::Error& error) {
  std::fprintf(stderr, "spotlight: %s", error.to_string().c_str());
  return 1;
}

bool write_ppm(const char* path, const std::vector<std::uint8_t>& texels) {
  std::FILE* file = std::fopen(path, "wb");
  if (!file) return false;
  std::fprintf(file, "P6\n%d %d\n255\n", kWidth, kHeight);
  for (std::size_t i = 0; i < texels.size(); i += 4) std::fwrite(&texels[i], 1, 3, file);
  return std::fclose(file) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: spotlight KERNEL.ptx OUT.ppm\n");
    return 2;
  }

  auto device = ptx2spv::Device::open();  // cudaSetDevice
  if (!device) return fail(device.error());
  auto module = ptx2spv::Module::load_file(*device, argv[1]);  // cuModuleLoad
  if (!module) return fail(module.error());
  auto kernel = module->kernel("spotlight");  // cuModuleGetFunction
  if (!kernel) return fail(kernel.error());

  ptx2spv::ArrayDesc desc;
  desc.geometry = ptx2spv::Geometry::d2;
  desc.format = ptx2spv::abi::SurfaceFormat::u8;
  desc.channels = 4;
  desc.width = kWidth;
  desc.height = kHeight;
  auto array = ptx2spv::Array::create(*device, desc);  // cudaMallocArray
  if (!array) return fail(array.error());
  auto surface = ptx2spv::Surface::create(*array);  // cudaCreateSurfaceObject
  if (!surface) return fail(surface.error());

  std::vector<std::uint8_t> texels = stripes();
  if (auto status = array->upload(std::as_bytes(std::span(texels))); !status) {
    return fail(status.error());
  }

  ptx2spv::LaunchConfig config;
  config.block = {16, 16, 1};
  config.grid = {(kWidth + 15) / 16, (kHeight + 15) / 16, 1};
  ptx2spv::Args args;
  args.surface(*surface).value(kWidth).value(kHeight).value(170).value(90).value(75);
  if (auto timing = kernel->launch(config, args); !timing) return fail(timing.error());

  if (auto status = array->download(std::as_writable_bytes(std::span(texels))); !status) {
    return fail(status.error());
  }
  if (!write_ppm(argv[2], texels)) {
    std::fprintf(stderr, "spotlight: cannot write %s\n", argv[2]);
    return 1;
  }
  std::printf("%s wrote %s\n", device->info().name.c_str(), argv[2]);
  return 0;
}
