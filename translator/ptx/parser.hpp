// The front end's entry: text in, a checked module out.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "translator/ptx/ast.hpp"
#include "translator/support/diagnostic.hpp"

namespace ptx2spv::ptx {

struct ParseOptions {
  bool relax_versions = false;  ///< do not check at which PTX version and target a form appeared
  bool check = true;            ///< semantic checks after parsing
};

/// Parses and checks. Never null; the module is complete only when the sink holds no error.
std::unique_ptr<Module> parse_module(std::string_view text, std::string file_name,
                                     const ParseOptions& options, DiagnosticSink& sink);

}  // namespace ptx2spv::ptx
