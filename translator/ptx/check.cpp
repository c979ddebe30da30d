#include "translator/ptx/parser_impl.hpp"

namespace ptx2spv::ptx {

void check_function(const Module&, Function&, const ParseOptions&, DiagnosticSink&) {}

}  // namespace ptx2spv::ptx
