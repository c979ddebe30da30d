// The surface kernels in OpenCL C over buffers, by POCL, where it is installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace ptx2spv::bench {

/// Every function returns what went wrong, empty for nothing.
class OpenCl {
 public:
  OpenCl();
  ~OpenCl();
  OpenCl(const OpenCl&) = delete;
  OpenCl& operator=(const OpenCl&) = delete;

  struct Job {
    std::string kernel;
    std::span<const std::byte> input;  ///< empty: the kernel reads nothing
    std::uint64_t to_bytes = 0;
    std::int32_t width = 0, height = 0, depth = 0, iterations = 0;
    float scale = 0;
    std::size_t threads[3] = {};  ///< of the whole grid, in groups of 16 by 16
  };
  std::string open(const std::string& source_file);
  std::string prepare(const Job& job);
  std::string fill(std::uint32_t word);
  std::string launch();  ///< and waits
  std::string download(std::span<std::byte> bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ptx2spv::bench
