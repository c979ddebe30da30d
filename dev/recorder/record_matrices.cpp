// Records what matrix instructions give: `recorder matrices`. A line has a form and a hash for each
// warp; with --full, another file has the words of the first warps.
#include <zlib.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>

#include "dev/programs/matrices.hpp"
#include "dev/recorder/cuda_driver.hpp"
#include "dev/recorder/record.hpp"

namespace ptx2spv::recorder {
namespace {

using programs::MatrixForm;

/// The words that all warps leave; none where the driver refuses the module.
std::vector<std::uint32_t> run(const MatrixForm& form, const std::vector<std::uint32_t>& inputs,
                               unsigned warps) {
  auto& d = Driver::get();
  char log[4096] = "";
  int options[] = {5, 6};  // the error log, its size
  void* values[] = {log, reinterpret_cast<void*>(sizeof(log))};
  void *module = nullptr, *function = nullptr;
  const std::string text = programs::matrix_module(form);
  if (d.module_load(&module, text.c_str(), 2, options, values) != 0) {
    std::fprintf(stderr, "%s: %s\n", form.name.c_str(), log);
    return {};
  }
  d.check(d.module_function(&function, module, "k"), "cuModuleGetFunction");
  std::vector<std::uint32_t> words(std::size_t{warps} * form.results, 0xdead);
  DeviceMemory from(inputs.size() * 4), to(words.size() * 4);
  from.upload(inputs.data(), inputs.size() * 4);
  to.upload(words.data(), words.size() * 4);
  DevicePointer in = from.address(), out = to.address();
  void* parameters[] = {&in, &out};
  int error = d.launch(function, warps / programs::kMatrixWarps, 1, 1, 32 * programs::kMatrixWarps,
                       1, 1, 0, nullptr, parameters, nullptr);
  if (!error) error = d.synchronize();
  d.check(error, form.name.c_str());
  to.download(words.data(), words.size() * 4);
  d.module_unload(module);
  return words;
}

}  // namespace

int record_matrices(const std::string& path, const std::string& full, const std::string& only,
                    std::uint32_t seed, std::uint64_t times) {
  auto& driver = Driver::get();
  std::ofstream record(path);
  record << "# matrix instructions on " << driver.device_name << ", driver interface "
         << driver.version << ", seed " << seed << "\n";
  gzFile all = full.empty() ? nullptr : gzopen(full.c_str(), "wb6");
  unsigned forms = 0, refused = 0;
  // Of fragments in registers more words are of use than of those in memory, which repeat them.
  constexpr std::size_t kFullWords = 131072, kFullMemoryWords = 8192;
  for (const MatrixForm& form : programs::matrix_forms()) {
    if (!only.empty() && form.name.find(only) == std::string::npos) continue;
    const unsigned warps = programs::matrix_warps(form) * static_cast<unsigned>(times);
    const auto words = run(form, programs::matrix_inputs(form, warps, seed), warps);
    refused += words.empty();
    if (words.empty()) continue;
    ++forms;
    record << "M " << form.name << "\n";
    if (all) gzprintf(all, "F %s\n", form.name.c_str());
    for (unsigned w = 0; w < warps; ++w) {
      const std::uint32_t* first = words.data() + std::size_t{w} * form.results;
      char text[12];
      std::snprintf(text, sizeof(text), "%08" PRIx32, programs::matrix_hash(first, form.results));
      record << text << (w + 1 == warps ? "\n" : " ");
      const std::size_t most = form.by_thread ? kFullWords : kFullMemoryWords;
      if (!all || std::size_t{w} * form.results >= most) continue;
      for (unsigned i = 0; i < form.results; ++i)
        gzprintf(all, "%" PRIx32 "%c", first[i], i + 1 == form.results ? '\n' : ' ');
    }
  }
  if (all) gzclose(all);
  std::fprintf(stderr, "%u forms recorded, %u refused\n", forms, refused);
  return record.good() && refused == 0 ? 0 : 2;
}

}  // namespace ptx2spv::recorder
