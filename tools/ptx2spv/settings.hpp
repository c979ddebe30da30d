// What ptx2spv's command line asks for.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ptx2spv/translator.hpp"
#include "tools/common/options.hpp"

namespace ptx2spv::tools {

/// Exit codes.
inline constexpr int kGood = 0, kUsage = 2, kTranslation = 3;

enum class Emit : std::uint8_t { spirv, assembly, json, c_header, cpp_header };

struct Settings {
  TranslateOptions translate;
  std::size_t inline_budget = kInlineBudget;
  std::optional<unsigned> validator_seconds;
  bool threads_chosen = false;  ///< else each kernel gets the model it needs
  bool no_slots = false;
  std::vector<std::string> profiles;                       ///< --check goes through all of them
  std::map<std::string, Profile> read_profiles;            ///< those of files, by name
  std::vector<std::pair<std::string, bool>> capabilities;  ///< of --disable and --enable
  std::vector<std::pair<std::string, SlotSpec>> backings;  ///< slot number or name
  std::vector<std::string> linked;                         ///< files of --link
  std::string output, reflect, dump_pass, stop_after, profile_list = "portable",
                                                      color_choice = "auto";
  std::uint32_t capability = 75;  ///< of programs: the newest PTX not over it, 75 for 7.5
  std::uint32_t image = 0;        ///< of programs: this row of --list; 0: by capability
  Emit emit = Emit::spirv;
  bool emit_given = false, dump = false, time_passes = false, check = false, check_json = false,
       list = false, list_json = false, print_supported = false, json_diagnostics = false,
       color = false, quiet = false;
};

extern const Tool kPtx2spv;

/// Fills `settings`; an error text where a value is none of the known ones.
std::string apply_options(const ParsedCommand& command, Settings& settings);

/// The profile of that name without the disabled capabilities.
Profile profile_for(const Settings& settings, const std::string& name);

/// The options for translating an entry, whose uses choose the thread model and whose slot names
/// resolve `backings`. False and an error text when a slot is unknown.
bool options_for(const Settings& settings, const EntryInfo& entry, TranslateOptions& options,
                 std::string& error);

}  // namespace ptx2spv::tools
