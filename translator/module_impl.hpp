// The state behind PtxModule.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx2spv/translator.hpp"
#include "translator/lower/program.hpp"
#include "translator/pipeline.hpp"

namespace ptx2spv {

struct PtxModule::Impl {
  explicit Impl(lower::Program&& linked) : program(std::move(linked)) {}
  lower::Program program;
  std::vector<FrontEntry> entries;
  std::unordered_multimap<std::string_view, const FrontEntry*> by_name;

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const FrontEntry& entry : entries) out.push_back(entry.lowered.info.name);
    return out;
  }
  /// The one of that name, or all where it is empty.
  std::vector<const FrontEntry*> entries_of(const std::string& name) const {
    std::vector<const FrontEntry*> out;
    if (name.empty()) {
      for (const FrontEntry& entry : entries) out.push_back(&entry);
    } else {
      const auto [first, last] = by_name.equal_range(name);
      for (auto each = first; each != last; ++each) out.push_back(each->second);
    }
    return out;
  }
  /// Says that there is not just one of that name.
  void refuse_name(const std::string& name, std::vector<Message>& messages) const;
  /// The one that is named, or the only one. Null after an error.
  const FrontEntry* one_entry(const std::string& name, std::vector<Message>& messages) const;
  /// A module of these. Nothing after an error.
  std::optional<spirv::Builder> translate(std::span<const FrontEntry* const> chosen,
                                          const TranslateOptions& options,
                                          std::vector<EntryInfo>& infos,
                                          std::vector<Message>& messages) const;
};

}  // namespace ptx2spv
