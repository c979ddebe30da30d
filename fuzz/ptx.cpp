// The front end alone: every error has a place in the text and words, and there are not too many.
#include "dev/programs/matrices.hpp"
#include "fuzz/target.hpp"
#include "translator/ptx/parser.hpp"

namespace ptx2spv::fuzz {

bool run_ptx(Input input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  DiagnosticSink sink;
  ptx::ParseOptions options;
  options.relax_versions = hash(input) & 1;
  const auto module = ptx::parse_module(text, "fuzz.ptx", options, sink);
  if (!module) found("the parser gives no module");
  if (sink.errors() > 20) found("more errors than the limit");
  for (const Diagnostic& each : sink.diagnostics()) {
    if (each.span.begin > text.size()) found("an error outside the text");
    if (each.text.empty()) found("an error without words");
    if (render(each, module->source).empty()) found("an error that does not print");
  }
  return sink.errors() == 0;
}

std::vector<std::string> ptx_seeds(const std::string& root) {
  std::vector<std::string> all;
  for (const char* folder : {"/tests/cases", "/examples", "/tests/kernels", "/tests/random/found"})
    for (std::string& text : files_below(root + folder, ".ptx", 16384))
      all.push_back(std::move(text));
  // Of the forms that ptxas accepts, a share that has every opcode.
  std::string opcode;
  std::size_t count = 0;
  for (const std::string& form : sensitivity_seeds(root)) {
    const std::string its = form.substr(0, form.find_first_of(". "));
    if (its == opcode && ++count % 16 != 0) continue;
    opcode = its;
    all.push_back(kernel_around(form));
  }
  // Of products of matrices, a share of each kind.
  count = 0;
  for (const programs::MatrixForm& form : programs::matrix_forms())
    if (++count % 16 == 0) all.push_back(programs::matrix_module(form));
  return all;
}

}  // namespace ptx2spv::fuzz
