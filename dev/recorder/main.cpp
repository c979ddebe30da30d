// recorder: runs PTX on an NVIDIA GPU, through the CUDA driver alone, and writes down what it does.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "dev/recorder/record.hpp"

namespace {

constexpr const char* kHelp =
    "usage: recorder instructions FILE [--full FILE] [--only TEXT]\n"
    "       recorder forms FILE [--full FILE] [--only TEXT]\n"
    "       recorder textures FILE [--only TEXT]\n"
    "       recorder levels FILE [--only TEXT]\n"
    "       recorder sampling FILE [--only SECTION] [--seed N]\n"
    "       recorder references FILE\n"
    "       recorder sweeps FILE [--only TEXT]\n"
    "       recorder surfaces FILE [--only TEXT]\n"
    "       recorder traps FILE [--only TEXT]\n"
    "       recorder pairs FILE [--only TEXT] [--jobs N] [--seconds N]\n"
    "       recorder unread FILE [--only TEXT] [--jobs N] [--seconds N]\n"
    "       recorder texture-pairs FILE [--jobs N]\n"
    "       recorder warps FILE [--only TEXT] [--seed N]\n"
    "       recorder matrices FILE [--full FILE] [--only TEXT] [--seed N] [--count N]\n"
    "       recorder modules FOLDER\n"
    "       recorder vocabulary FILE --from FOLDER\n"
    "       recorder programs FILE --vocabulary FILE [--seed FIRST] [--count N] [--step N] [--jobs "
    "N]\n"
    "       recorder program FILE --vocabulary FILE --seed NUMBER\n"
    "       recorder scenes FILE [--only CHECK] [--seed FIRST] [--count N]\n"
    "instructions  records the one-instruction kernels; --full also writes every result\n"
    "forms         records the forms that the first record of kernels does not hold\n"
    "textures      records the texture instructions\n"
    "levels        records levels of detail, sRGB and sums over planes\n"
    "sampling      records textures drawn at random, seamless cube maps, anisotropy, gradients,\n"
    "              depths and samples (sections random, seamless, anisotropy, gradients, cubes,\n"
    "              depths, samples; places, ratios, sums and kinds of anisotropic reads,\n"
    "              integers, odd); --seed draws others than the committed record has\n"
    "references    records reads and queries of .texref and .samplerref variables\n"
    "sweeps        writes dense sweeps of texture coordinates, for deriving rules\n"
    "surfaces      records surface instructions on surfaces of many shapes\n"
    "traps         records surface instructions that fault, one process each\n"
    "pairs         records surface instructions of each geometry on every kind of array; "
    "--seconds\n"
    "              ends those that fault, one process each\n"
    "unread        the same of surface loads some of whose elements the kernel does not read\n"
    "texture-pairs the same of textures\n"
    "warps         records shuffles from lanes that are no members, have ended or never were\n"
    "matrices      records matrix instructions, a hash for each warp; --count records N times as\n"
    "              many warps\n"
    "modules       writes the PTX of the one-instruction kernels and those of surfaces\n"
    "vocabulary    writes the forms that random programs are made of (FOLDER: tests/data/ptxas)\n"
    "programs      records a checksum of each random program\n"
    "program       writes every word that one random program gives\n"
    "scenes        runs what PTX2SPV_SCENES=FILE test_sanitize wrote; compute-sanitizer looks at "
    "it\n"
    "              (dev/compute_sanitizer)\n";

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() == 1 && args[0] == "--help") {
    std::fputs(kHelp, stdout);
    return 0;
  }
  if (args.size() < 2 || args.size() % 2 != 0) {
    std::fputs(kHelp, stderr);
    return 2;
  }
  std::string extra, only;
  std::uint32_t seed = 0;
  double seconds = 0;
  ptx2spv::recorder::ProgramRange range;
  range.path = args[1];
  for (std::size_t i = 2; i + 1 < args.size(); i += 2) {
    if (args[i] == "--full") {
      extra = args[i + 1];
    } else if (args[i] == "--only") {
      only = args[i + 1];
    } else if (args[i] == "--seed") {
      seed = static_cast<std::uint32_t>(std::strtoul(args[i + 1].c_str(), nullptr, 0));
      range.first = std::strtoull(args[i + 1].c_str(), nullptr, 0);
    } else if (args[i] == "--from" || args[i] == "--vocabulary") {
      range.vocabulary = args[i + 1];
    } else if (args[i] == "--count") {
      range.count = std::strtoull(args[i + 1].c_str(), nullptr, 0);
    } else if (args[i] == "--step") {
      range.step = std::strtoull(args[i + 1].c_str(), nullptr, 0);
    } else if (args[i] == "--jobs") {
      range.jobs = static_cast<unsigned>(std::strtoul(args[i + 1].c_str(), nullptr, 0));
    } else if (args[i] == "--seconds") {
      seconds = std::strtod(args[i + 1].c_str(), nullptr);
    } else {
      std::fprintf(stderr, "recorder: unknown option %s\n%s", args[i].c_str(), kHelp);
      return 2;
    }
  }
  if (args[0] == "instructions")
    return ptx2spv::recorder::record_instructions(args[1], extra, only);
  if (args[0] == "forms") return ptx2spv::recorder::record_forms(args[1], extra, only);
  if (args[0] == "textures") return ptx2spv::recorder::record_textures(args[1], only);
  if (args[0] == "levels") return ptx2spv::recorder::record_texture_levels(args[1], only);
  if (args[0] == "sampling") return ptx2spv::recorder::record_texture_sampling(args[1], only, seed);
  if (args[0] == "references") return ptx2spv::recorder::record_references(args[1]);
  if (args[0] == "sweeps") return ptx2spv::recorder::record_sweeps(args[1], only);
  if (args[0] == "surfaces") return ptx2spv::recorder::record_surfaces(args[1], only);
  if (args[0] == "traps") return ptx2spv::recorder::record_traps(args[1], only);
  if (args[0] == "pairs" || args[0] == "unread")
    return ptx2spv::recorder::record_pairs(args[1], range.jobs, seconds, only, args[0] == "unread");
  if (args[0] == "texture-pairs")
    return ptx2spv::recorder::record_texture_pairs(args[1], range.jobs);
  if (args[0] == "warps") return ptx2spv::recorder::record_warps(args[1], only, seed);
  if (args[0] == "matrices")
    return ptx2spv::recorder::record_matrices(args[1], extra, only, seed, range.count);
  if (args[0] == "modules") return ptx2spv::recorder::write_modules(args[1]);
  if (args[0] == "vocabulary")
    return ptx2spv::recorder::write_vocabulary(range.path, range.vocabulary);
  if (args[0] == "programs") return ptx2spv::recorder::record_programs(range);
  if (args[0] == "program") return ptx2spv::recorder::dump_program(range);
  if (args[0] == "scenes")
    return ptx2spv::recorder::run_scenes(range.path, only, range.first, range.count);
  std::fputs(kHelp, stderr);
  return 2;
}
