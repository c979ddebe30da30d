// One device for all tests of the process, under the validation layer where there is one.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/environment.hpp"
#include "tests/support/runtime.hpp"

namespace ptx2spv {

/// Text that printf wrote since it was last cleared.
std::string& printed();
/// The device that PTX2SPV_DEVICE names, opened once.
Device& test_device();

template <class T>
T must(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << text_of(result.error());
    std::abort();  // nothing later would make sense
  }
  return std::move(*result);
}

inline void must(Status status) {
  if (!status) ADD_FAILURE() << status.error().text;
}

template <class T>
std::vector<T> read_buffer(const Buffer& buffer, std::size_t count, std::uint64_t offset = 0) {
  std::vector<T> values(count);
  must(buffer.download(offset, writable(values)));
  return values;
}
template <class T>
std::vector<T> read_array(const Array& array) {
  std::vector<T> values(array.bytes() / sizeof(T));
  must(array.download(writable(values)));
  return values;
}

inline Module load_on(const Device& device, const std::string& body,
                      const ModuleOptions& options = {}) {
  return must(Module::load(device, ".version 8.3\n.target sm_80\n.address_size 64\n" + body,
                           "test.ptx", options));
}
inline Module load(const std::string& body, const ModuleOptions& options = {}) {
  return load_on(test_device(), body, options);
}

/// A device of its own whose launches `executor` runs; where the host runs none, the device.
inline Device device_by(ExecutorPolicy executor, DeviceOptions options = {}) {
  options.executor = executor;
  auto device = Device::open(options);
  if (!device && device.error().code == ErrorCode::unsupported) {
    options.executor = ExecutorPolicy::device;
    device = Device::open(options);
  }
  return must(std::move(device));
}

}  // namespace ptx2spv
