// NumPy's .npy files, versions 1 to 3: C order, little endian.
#pragma once

#include <string>
#include <vector>

#include "tools/common/files.hpp"

namespace ptx2spv::tools {

struct Npy {
  std::string descr;  ///< as NumPy writes it: "<u4", "|u1", "<f2"
  std::vector<std::uint64_t> shape;
  Bytes data;
};

IoError read_npy(const Bytes& file, Npy& npy);
Bytes write_npy(const std::string& descr, const std::vector<std::uint64_t>& shape,
                std::span<const std::byte> data);
/// NumPy's name of u8 ... f64, empty for anything else.
std::string npy_descr(const std::string& type);
/// The name u8 ... f64 of what NumPy calls so, empty for types that are not supported.
std::string npy_type(const std::string& descr);
/// Bytes of a name that npy_descr takes, 0 for anything else.
std::uint32_t type_bytes(const std::string& type);

}  // namespace ptx2spv::tools
