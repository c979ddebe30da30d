// The recordings that `recorder` makes, one function each. hardware.md describes the files.
#pragma once

#include <cstdint>
#include <string>

namespace ptx2spv::recorder {

/// Writes the record of every one-instruction kernel to `path`; with `full`, every result to that
/// file, too.
int record_instructions(const std::string& path, const std::string& full, const std::string& only);
/// The same of the second record's rows.
int record_forms(const std::string& path, const std::string& full, const std::string& only);
/// Writes the texture record to `path`.
int record_textures(const std::string& path, const std::string& only);
/// Writes the record of levels of detail, sRGB and cancelling sums to `path`.
int record_texture_levels(const std::string& path, const std::string& only);
/// Writes the third record: textures and reads drawn at random, and what the first two leave out.
/// `only` names a section.
int record_texture_sampling(const std::string& path, const std::string& only, std::uint32_t seed);
/// Writes what `.texref` variables and samplers of their own give: initialisers, bindings, queries.
int record_references(const std::string& path);
/// Writes the dense sweeps that the texture rules were derived from.
int record_sweeps(const std::string& path, const std::string& only);
/// Writes what surface instructions do on surfaces of many shapes and every format.
int record_surfaces(const std::string& path, const std::string& only);
/// The same of those that fault. Each one ends its process's context, so each has a process.
int record_traps(const std::string& path, const std::string& only);
/// Writes what surface instructions of each geometry do on every kind of array. `seconds` bounds
/// the time for those that fault; 0: none. `unread`: instead, what loads do of whose elements
/// kernels read some.
int record_pairs(const std::string& path, unsigned processes, double seconds,
                 const std::string& only, bool unread);
/// The same of textures.
int record_texture_pairs(const std::string& path, unsigned processes);
/// Writes what shuffles give whose sources are no members, have ended or never were.
int record_warps(const std::string& path, const std::string& only, std::uint32_t seed);
/// Writes what matrix instructions give, a hash for each warp; every word to `full`. `times` as
/// many warps as the committed record has.
int record_matrices(const std::string& path, const std::string& full, const std::string& only,
                    std::uint32_t seed, std::uint64_t times);
/// Writes the PTX of every row to the folder `path`, for a look or for ptxas.
int write_modules(const std::string& path);
/// Random programs: numbers first, first + step, ... in so many processes side by side.
struct ProgramRange {
  std::string path, vocabulary;
  std::uint64_t first = 0, count = 1, step = 1;
  unsigned jobs = 1;
};
/// Writes a checksum for each.
int record_programs(const ProgramRange& range);
/// Writes every word that the first one gives.
int dump_program(const ProgramRange& range);
/// Runs scenes of the sanitizer's tests for compute-sanitizer to look at: `count` from the one with
/// number `first` on, of those with `check` (empty: of all). Prints a line before and after each.
/// Returns 3 where the driver does not go on behind one of them.
int run_scenes(const std::string& path, const std::string& check, std::uint64_t first,
               std::uint64_t count);
/// The vocabulary of the random programs, out of the forms in `folder`.
int write_vocabulary(const std::string& path, const std::string& folder);

}  // namespace ptx2spv::recorder
