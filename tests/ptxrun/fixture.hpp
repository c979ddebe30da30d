// A kernel that fills a surface and a buffer, and what runs manifests of it.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "tests/support/process.hpp"

namespace ptx2spv::test {

// Writes thread number + parameter to a 1D surface of u32 and a buffer.
inline const std::string kFill = R"(.version 8.1
.target sm_90
.address_size 64
.global .surfref out_ref;
.global .u32 offset = 5;
.visible .entry fill(.param .u64 surface, .param .u64 buffer, .param .u32 value)
{
  .reg .b32 %r<6>;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [surface];
  ld.param.u64 %d1, [buffer];
  ld.param.u32 %r0, [value];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r1, %r1, %r2, %r3;
  add.u32 %r0, %r0, %r1;
  shl.b32 %r2, %r1, 2;
  sust.b.1d.b32.trap [%d0, {%r2}], %r0;
  ld.global.u32 %r4, [offset];
  add.u32 %r0, %r0, %r4;
  mul.wide.u32 %d2, %r1, 4;
  add.u64 %d1, %d1, %d2;
  st.global.u32 [%d1], %r0;
  ret;
}
.visible .entry by_reference()
{
  .reg .b32 %r<3>;
  mov.u32 %r1, %tid.x;
  shl.b32 %r2, %r1, 2;
  sust.b.1d.b32.zero [out_ref, {%r2}], %r1;
  ret;
}
.visible .entry add_once(.param .u64 buffer)
{
  .reg .b32 %r<2>;
  .reg .b64 %d;
  ld.param.u64 %d, [buffer];
  mov.u32 %r0, 1;
  red.global.add.u32 [%d], %r0;
  ret;
}
)";

inline std::string manifest(const std::string& launch, const std::string& outputs,
                            const std::string& more = "") {
  return R"({"module": "fill.ptx",
 "surfaces": {"s": {"geometry": "1d", "format": "u32", "channels": 1, "width": 8}},
 "buffers": {"b": {"bytes": 32}},)" +
         more + R"(
 "launches": [)" +
         launch + R"(],
 "outputs": [)" +
         outputs + "]}";
}

inline const std::string kLaunch =
    R"({"kernel": "fill", "grid": 2, "block": 4, "args": [{"surface": "s"}, {"buffer": "b"},
     {"u32": 10}]})";

class Ptxrun : public testing::Test {
 protected:
  ProcessResult run(const std::string& text, std::vector<std::string> options = {}) {
    options.insert(options.begin(), tool_path("ptxrun"));
    options.push_back(folder_.write("m.json", text));
    return run_process(options);
  }
  void SetUp() override { folder_.write("fill.ptx", kFill); }
  TemporaryFolder folder_;
};

inline std::string words(std::initializer_list<std::uint32_t> values) {
  std::string out;
  for (std::uint32_t value : values)
    for (int k = 0; k < 4; ++k) out += char(value >> (8 * k));
  return out;
}

}  // namespace ptx2spv::test
