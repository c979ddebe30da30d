#include "fuzz/target.hpp"

#include <algorithm>
#include <iterator>

namespace ptx2spv::fuzz {

namespace {

constexpr Target kTargets[] = {
    {"ptx", "PTX text through the parser and the checks", run_ptx, ptx_seeds, mutate_ptx},
    {"whole", "PTX text to SPIR-V, under options that the text's digest chooses", run_whole,
     ptx_seeds, mutate_ptx},
    {"sensitivity", "a change of a kernel that its module must show", run_sensitivity,
     sensitivity_seeds, mutate_instruction, false},
    {"interpret", "an instruction in the host back end, optimised or not, compiled or not",
     run_interpret, sensitivity_seeds, mutate_instruction, false},
    {"manifest", "launch manifests", run_manifest, manifest_seeds, mutate_json},
    {"cache", "entries of the cache on disk", run_cache, cache_seeds, mutate_bytes},
    {"npy", ".npy files", run_npy, npy_seeds, mutate_bytes},
    {"png", "PNG files", run_png, png_seeds, mutate_bytes},
    {"gzip", "gzip files", run_gzip, gzip_seeds, mutate_bytes},
    {"fatbin", "fat binaries, ELF files and archives", run_fatbin, fatbin_seeds, mutate_bytes},
};

}  // namespace

std::span<const Target> targets() { return kTargets; }

const Target* find_target(std::string_view name) {
  const auto at = std::ranges::find(kTargets, name, &Target::name);
  return at == std::end(kTargets) ? nullptr : at;
}

}  // namespace ptx2spv::fuzz
