// What a manifest asks of its modules, held against what they have.
#pragma once

#include <string>
#include <vector>

#include "tools/ptxrun/manifest.hpp"

namespace ptx2spv::tools {

struct CheckedLaunches {
  std::vector<std::string> kernels;  ///< the launches' kernels by the names that the PTX has
  std::vector<std::string> errors;   ///< located, ready to print
};

/// Finds every launch's kernel, and holds the number, sizes and kinds of its arguments, what its
/// references are bound to and the variables that are set or read against the modules' interface.
CheckedLaunches check_launches(const Manifest& manifest, const Interface& interface);

/// The launches' kernels by the names that the PTX of `texts` has; as the manifest writes them
/// where this translator does not read the PTX, or they are not in it.
std::vector<std::string> kernel_names(const Manifest& manifest,
                                      const std::vector<std::string>& texts);

/// The modules' texts as the translator takes them; they have to outlive the result.
std::vector<PtxModule::Input> inputs_of(const Manifest& manifest,
                                        const std::vector<std::string>& texts);

/// Reads the manifest's modules. An error is located; empty when all were read.
std::string read_modules(const Manifest& manifest, std::vector<std::string>& texts);

/// Everything that can be checked without a device: the modules parse, check_launches() finds
/// nothing, and the contents of surfaces and buffers and what outputs are compared with can be
/// read. Returns located errors, ready to print.
std::vector<std::string> check_manifest(const Manifest& manifest, bool relax_versions);

}  // namespace ptx2spv::tools
