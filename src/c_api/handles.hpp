// What the C interface's handles point to, and how errors reach the calling thread.
#pragma once

#include <cstring>
#include <string>

#include "ptx2spv/ptx2spv.h"
#include "ptx2spv/runtime.hpp"

namespace ptx2spv::runtime {
template <class T>
struct Held {
  T it;
};
}  // namespace ptx2spv::runtime

struct ptx2spv_device {
  ptx2spv::Device it;
  std::string sanitizer_report = {};  ///< as last asked for
};
struct ptx2spv_buffer : ptx2spv::runtime::Held<ptx2spv::Buffer> {};
struct ptx2spv_array : ptx2spv::runtime::Held<ptx2spv::Array> {};
struct ptx2spv_surface : ptx2spv::runtime::Held<ptx2spv::Surface> {};
struct ptx2spv_texture : ptx2spv::runtime::Held<ptx2spv::Texture> {};
struct ptx2spv_sampler : ptx2spv::runtime::Held<ptx2spv::Sampler> {};
struct ptx2spv_module {
  ptx2spv::Module it;
  std::string interface, warnings;
};
struct ptx2spv_kernel : ptx2spv::runtime::Held<ptx2spv::Kernel> {};
struct ptx2spv_stream : ptx2spv::runtime::Held<ptx2spv::Stream> {};
struct ptx2spv_event : ptx2spv::runtime::Held<ptx2spv::Event> {};
struct ptx2spv_graph : ptx2spv::runtime::Held<ptx2spv::Graph> {};
struct ptx2spv_ptx {
  ptx2spv::PtxModule it;
  std::vector<std::string> entries;
  std::string interface, warnings;
};
struct ptx2spv_profile : ptx2spv::runtime::Held<ptx2spv::Profile> {};
struct ptx2spv_translation {
  std::vector<std::uint32_t> words;
  std::string interface, warnings;
};

namespace ptx2spv::runtime {

/// Keeps `error` for ptx2spv_last_error and gives its code.
ptx2spv_status fail(Error error);
ptx2spv_status fail_null(const char* what);
/// Whether a struct is there and at least as long as this version's; if not, the error is kept.
Status check_struct(const void* object, std::uint32_t given, std::size_t size, const char* name);
template <class T>
Status check_struct(const T* object, const char* name) {
  return check_struct(object, object ? object->size : 0, sizeof(T), name);
}
Status read_desc(const ptx2spv_array_desc* from, ArrayDesc& to);
/// Nothing for the default.
Result<std::optional<ThreadModel>> read_threads(const ptx2spv_threads& from);
Status read_inputs(const char* const* ptx, const size_t* bytes, const char* const* files,
                   uint32_t count, std::vector<PtxModule::Input>& inputs);
DeviceOptions read_options(const ptx2spv_device_options* from);
Status check_options(const ptx2spv_device_options* options);
Status read_array_region(const ptx2spv_array_region* from, ArrayRegion& to);
inline ptx2spv_status finish(Status status) {
  return status ? PTX2SPV_OK : fail(std::move(status).error());
}
inline std::span<const std::byte> input(const void* data, uint64_t bytes) {
  return {static_cast<const std::byte*>(data), bytes};
}
inline std::span<std::byte> output(void* data, uint64_t bytes) {
  return {static_cast<std::byte*>(data), bytes};
}
/// Moves a result into a new handle.
template <class Handle, class T>
ptx2spv_status give(Result<T> result, Handle** out) {
  if (!result) return fail(result.error());
  *out = new Handle{std::move(*result)};
  return PTX2SPV_OK;
}
/// The number in an enumeration of C, which may be any: loading another than the named ones as the
/// enumeration is undefined in C++.
template <class Enum>
std::uint32_t number_in(const Enum& value) {
  static_assert(sizeof(Enum) == sizeof(std::uint32_t));
  std::uint32_t number = 0;
  std::memcpy(&number, &value, sizeof number);
  return number;
}
/// A launch's configuration and arguments; an error where a struct is not one of this version.
Status read_launch(const ptx2spv_launch* launch, LaunchConfig& config, Args& args);

}  // namespace ptx2spv::runtime

using namespace ptx2spv;
using namespace ptx2spv::runtime;
