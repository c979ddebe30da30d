// Names that C++ compilers mangle, by the libraries and by tools that link none of them.
#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace ptx2spv::runtime {

/// The C++ name behind a name mangled as the Itanium C++ ABI says: `_Z6blur_hyyii` gives
/// "blur_h(unsigned long long, unsigned long long, int, int)". Any other name comes back as it is.
inline std::string demangled(const std::string& name) {
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      ::abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text ? text.get() : name;
}

/// "_Z4blury (blur(unsigned long long))", or "blur".
inline std::string with_demangled(const std::string& name) {
  const std::string text = demangled(name);
  return text == name ? name : name + " (" + text + ")";
}

}  // namespace ptx2spv::runtime
