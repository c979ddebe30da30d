#include "bench/cases.hpp"

#include <bit>
#include <string_view>

namespace ptx2spv::bench {
namespace {

constexpr Case kCases[] = {
    {"copy4",
     {"copy4"},
     Geometry::d2,
     1,
     {{{64, 64, 1}, {2048, 2048, 1}, {16384, 16384, 1}}},
     Input::floats},
    {"copy16",
     {"copy16"},
     Geometry::d2,
     4,
     {{{64, 64, 1}, {1024, 1024, 1}, {16384, 8192, 1}}},
     Input::floats},
    {"stencil2d",
     {"stencil2d"},
     Geometry::d2,
     1,
     {{{64, 64, 1}, {2048, 2048, 1}, {16384, 16384, 1}}},
     Input::floats},
    {"stencil3d",
     {"stencil3d"},
     Geometry::d3,
     1,
     {{{32, 32, 32}, {128, 128, 128}, {768, 768, 768}}},
     Input::floats},
    {"histogram",
     {"histogram"},
     Geometry::d2,
     1,
     {{{64, 64, 1}, {1024, 1024, 1}, {16384, 16384, 1}}},
     Input::words,
     4096,
     0,
     true},
    {"zbuffer",
     {"zbuffer_depth", "zbuffer_id"},
     Geometry::d2,
     2,
     {{{64, 64, 1}, {512, 512, 1}, {8192, 8192, 1}}},
     Input::none,
     0,
     0xffffffffu,
     true,
     2,
     4},
    {"blur",
     {"blur"},
     Geometry::a2d,
     1,
     {{{64, 64, 2}, {512, 512, 4}, {4096, 4096, 8}}},
     Input::bytes_as_floats},
    {"mandelbrot",
     {"mandelbrot"},
     Geometry::d2,
     1,
     {{{64, 64, 1}, {512, 512, 1}, {8192, 8192, 1}}},
     Input::none,
     0,
     0,
     false,
     1,
     0,
     true},
    {"nbody",
     {"nbody"},
     Geometry::d2,
     4,
     {{{16, 32, 1}, {64, 64, 1}, {256, 256, 1}}},
     Input::bodies,
     0,
     0,
     false,
     1,
     0,
     true},
};

std::uint32_t texel(Input input, std::uint32_t random) {
  if (input == Input::words) return random;
  // Between -1 and 1, from 2^-31 to 2, or a multiple of 1/256 below 1.
  if (input == Input::bodies) return std::bit_cast<std::uint32_t>(float(int(random)) * 0x1p-31f);
  if (input == Input::floats) return (random >> 4 & 0x0fffffffu) | 0x30000000u;
  return std::bit_cast<std::uint32_t>(float(random >> 24) / 256);
}

}  // namespace

std::span<const Case> all_cases() { return kCases; }

Job make_job(const Case& form, Size size, bool with_input) {
  const Extent extent = form.extents[std::size_t(size)];
  Job job{form, extent, {}, {}, {}, {}, {}, {}, 0};
  ArrayDesc& from = job.from;
  from.geometry = form.geometry;
  from.format = abi::SurfaceFormat::u32;
  from.channels = form.channels;
  from.width = extent.width;
  from.height = extent.height;
  (form.geometry == Geometry::a2d ? from.layers : from.depth) = extent.depth;
  from.backing = ArrayBacking::linear;
  job.to = from;
  if (form.cells) {
    job.to.geometry = Geometry::d1;
    job.to.width = form.cells;
    job.to.height = 1;
  }
  const auto bytes = [](const ArrayDesc& desc) {
    return std::uint64_t(desc.width) * desc.height * desc.depth * desc.layers * desc.texel_bytes();
  };
  job.to_bytes = bytes(job.to);
  job.config.block = {16, 16, 1};
  job.config.grid = {extent.width / form.threads_divisor / 16,
                     extent.height / form.threads_divisor / 16,
                     form.layers ? form.layers : extent.depth};
  job.push = {std::int32_t(extent.width), std::int32_t(extent.height), std::int32_t(extent.depth),
              kIterations, 3.0f / float(extent.width)};
  if (std::string_view(form.name) == "mandelbrot")
    job.arguments = {kIterations, std::bit_cast<std::uint32_t>(job.push.scale)};
  if (std::string_view(form.name) == "nbody") job.arguments = {extent.width, extent.height};
  if (form.input == Input::none || !with_input) return job;
  job.input.resize(bytes(from) / 4);
  std::uint32_t state = 12345;
  for (std::uint32_t& word : job.input) {
    state = state * 1664525u + 1013904223u;
    word = texel(form.input, state);
  }
  return job;
}

}  // namespace ptx2spv::bench
