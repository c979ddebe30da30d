// The order of the passes, and what one translation of an entry needs.
#pragma once

#include <string>
#include <vector>

#include "ptx2spv/translator.hpp"
#include "translator/lower/lower.hpp"
#include "translator/spirv/builder.hpp"

namespace ptx2spv {

/// An entry after lowering and inlining: what every translation of it starts from.
struct FrontEntry {
  lower::LoweredEntry lowered;
};

/// Lowers and inlines an entry, and finds its slots and what it needs of the device.
/// `inline_budget`: of PtxModule::parse.
FrontEntry prepare_entry(lower::Program& program, lower::FunctionRef entry,
                         std::size_t inline_budget);

/// Runs the passes on a copy of `front` and adds the entry point to `builder`. False after an
/// error.
bool translate_entry(const FrontEntry& front, const lower::Program& program,
                     const TranslateOptions& options, spirv::Builder& builder, EntryInfo& info,
                     std::vector<Message>& messages);

}  // namespace ptx2spv
