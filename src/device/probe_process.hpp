// A process that meets the device in the place of this one, so that a driver that hangs or crashes
// takes that process with it and not the application.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ptx2spv::runtime {

/// One run of ptx2spv-probe, which meets the device as it is: without the settings of this
/// process.
class ProbeProcess {
 public:
  ProbeProcess() = default;
  ProbeProcess(const ProbeProcess&) = delete;
  ProbeProcess& operator=(const ProbeProcess&) = delete;
  ~ProbeProcess() { end(); }

  /// `input`: a descriptor that becomes its standard input; -1: there is none.
  bool start(const std::string& program, const std::vector<std::string>& arguments, int input = -1);
  enum class Got : std::uint8_t { line, end, late };
  /// The next line, within `limit_ms`; negative: whenever it comes.
  Got read(std::string& line, int limit_ms);
  /// Kills it where it still runs. How it ended, in words.
  std::string end();

 private:
  pid_t process_ = -1;
  int out_ = -1;
  std::string rest_;
};

/// "00112233...", as `--device uuid:...` takes it.
std::string uuid_text(std::span<const std::uint8_t> uuid);

}  // namespace ptx2spv::runtime
