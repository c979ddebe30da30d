#include "src/device/findings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ptx2spv/text.hpp"
#include "src/demangled.hpp"

namespace ptx2spv::runtime {

bool Findings::add(const Finding& finding, const Suppressions& more) {
  std::lock_guard lock(mutex_);
  if (more.cover(finding) || suppressions_.cover(finding)) {
    ++report_.suppressed;
    return false;
  }
  const auto same = [&](const Finding& each) {
    return each.kind == finding.kind && each.line == finding.line &&
           each.column == finding.column && each.kernel == finding.kernel &&
           each.file == finding.file && each.memory == finding.memory;
  };
  auto& all = report_.findings;
  if (const auto known = std::find_if(all.begin(), all.end(), same); known != all.end()) {
    known->threads += finding.threads;
    return false;
  }
  if (all.size() == kMost) {
    const std::string place =
        fmt::format("{}:{}:{}:{}:{}:{}", static_cast<int>(finding.kind), finding.line,
                    finding.column, static_cast<int>(finding.memory), finding.kernel, finding.file);
    if (beyond_.insert(place).second) ++report_.places_left_out;
    return false;
  }
  all.push_back(finding);
  return true;
}

std::string_view surface_unit(std::string_view instruction) {
  // The guard, if there is one, is a word of its own.
  while (!instruction.empty()) {
    const std::string word = std::string(instruction.substr(0, instruction.find(' '))) + ".";
    instruction.remove_prefix(std::min(word.size(), instruction.size()));
    const bool reduces = word.starts_with("sured.");
    if (!reduces && !word.starts_with("suld.") && !word.starts_with("sust.")) continue;
    if (word.find(".p.") == std::string::npos) return " (x in bytes)";
    if (!reduces) return " (x in texels)";
    return word.find(".b64.") == std::string::npos ? " (x in units of .b32, 4 bytes)"
                                                   : " (x in units of .b64, 8 bytes)";
  }
  return {};
}

SanitizerReport Findings::report() const {
  std::lock_guard lock(mutex_);
  return report_;
}

}  // namespace ptx2spv::runtime

namespace ptx2spv {

namespace {

std::string bytes_text(std::uint64_t bytes) {
  return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
}

/// "4 bytes behind the end of buffer 'x' (64 bytes)".
std::string where_text(const Finding& f) {
  std::string at;
  if (f.inside)
    at = fmt::format("{} from the start of ", bytes_text(static_cast<std::uint64_t>(f.distance)));
  else if (f.distance < 0)
    at =
        fmt::format("{} before the start of ", bytes_text(static_cast<std::uint64_t>(-f.distance)));
  else
    at = fmt::format("{} behind the end of ", bytes_text(static_cast<std::uint64_t>(f.distance)));
  return at + fmt::format("{} ({})", f.object, bytes_text(f.object_bytes));
}

void add_calls(std::string& text, std::string_view what, std::string_view calls) {
  while (!calls.empty()) {
    const std::size_t end = calls.find('\n');
    text += fmt::format("\n  {}: {}", what, calls.substr(0, end));
    calls = end == std::string_view::npos ? std::string_view() : calls.substr(end + 1);
    what = "  called from";
  }
}

}  // namespace

const char* to_string(FindingKind kind) {
  switch (kind) {
    case FindingKind::out_of_bounds: return "out-of-bounds";
    case FindingKind::null_pointer: return "null-pointer";
    case FindingKind::freed_memory: return "freed-memory";
    case FindingKind::misaligned: return "misaligned";
    case FindingKind::constant_store: return "constant-memory";
    case FindingKind::uninitialised: return "uninitialised";
    case FindingKind::race: return "racing";
    case FindingKind::other_geometry: return "other-geometry";
    case FindingKind::other_width: return "other-width";
    case FindingKind::endless_wait: return "endless-wait";
    case FindingKind::missed_barrier: return "missed-barrier";
    case FindingKind::divergent_barrier: return "divergent-barrier";
    case FindingKind::barrier_count: return "barrier-count";
    case FindingKind::missing_lanes: return "missing-lanes";
    case FindingKind::undefined_lane: return "undefined-lane";
    case FindingKind::differing_members: return "differing-members";
  }
  return "unknown";
}

std::string Finding::to_string() const {
  const bool sync = kind >= FindingKind::endless_wait;
  std::string text =
      fmt::format("{}:{}:{}: error: {}", file, line, column, ptx2spv::to_string(kind));
  if (sync)
    text += fmt::format(" at a {}: {}", ptx2spv::to_string(access), detail);
  else if (bytes)
    text += fmt::format(" {} of {} in {} memory", ptx2spv::to_string(access), bytes_text(bytes),
                        ptx2spv::to_string(memory));
  else
    text += fmt::format(" {} in {} memory", ptx2spv::to_string(access), ptx2spv::to_string(memory));
  if (!instruction.empty()) text += "\n  instruction: " + instruction;
  if (!source_file.empty()) text += fmt::format("\n  source: {}:{}", source_file, source_line);
  for (const SourcePlace& place : inlined_at)
    text += fmt::format("\n  inlined at: {}:{}", place.file, place.line);
  text += "\n  kernel: " + runtime::with_demangled(kernel);
  text += fmt::format("\n  thread: block ({}, {}, {}), thread ({}, {}, {})", cta[0], cta[1], cta[2],
                      thread[0], thread[1], thread[2]);
  if (kind == FindingKind::other_geometry || kind == FindingKind::other_width) {
    text += fmt::format("\n  {}: {}\n  {}: {}", ptx2spv::to_string(memory), object,
                        kind == FindingKind::other_width ? "width" : "geometry", detail);
  } else if (!coordinates.empty()) {
    text += fmt::format("\n  {}: {}, at ", ptx2spv::to_string(memory), object);
    for (std::size_t i = 0; i < coordinates.size(); ++i)
      text += fmt::format("{}{} = {}", i ? ", " : "", coordinates[i].first, coordinates[i].second);
    text += runtime::surface_unit(instruction);
  } else if (sync || !bytes) {
    // The first line has said it, or the handle does.
  } else if (address_known) {
    text += fmt::format("\n  address: {:#x}", address);
    if (!object.empty()) text += ", " + where_text(*this);
  } else {
    text += "\n  address: not kept, because the thread had other faults after this one";
  }
  if (other.known) {
    const std::string block = other.block_known ? fmt::format("block ({}, {}, {})", other.block[0],
                                                              other.block[1], other.block[2])
                                                : "the block";
    const std::string who =
        other.thread_known ? fmt::format("thread {}", other.thread) : "another thread";
    text += fmt::format("\n  {}: {} by {} of {}, line {}:{}", sync ? "meanwhile" : "races with",
                        ptx2spv::to_string(other.access), who, block, other.line, other.column);
    if (!other.instruction.empty()) text += ", " + other.instruction;
    if (!other.source_file.empty())
      text += fmt::format(" ({}:{})", other.source_file, other.source_line);
  }
  if (kind == FindingKind::uninitialised && !detail.empty()) text += "\n  written: " + detail;
  if (kind == FindingKind::freed_memory && !detail.empty()) text += "\n  handle: " + detail;
  if (!pointer.empty()) text += fmt::format("\n  pointer: parameter '{}'", pointer);
  add_calls(text, "allocated by", made);
  add_calls(text, "freed by", freed);
  text += fmt::format("\n  threads: {}\n", threads);
  return text;
}

std::string SanitizerReport::to_json() const {
  std::string out = "{\"findings\": [";
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const Finding& f = findings[i];
    out += fmt::format(
        "{}\n  {{\"kind\": {}, \"access\": {}, \"bytes\": {}, \"space\": {}, \"memory\": {},\n"
        "   \"kernel\": {}, \"file\": {}, \"line\": {}, \"column\": {}, \"instruction\": {},\n"
        "   \"source_file\": {}, \"source_line\": {}, \"inlined_at\": [",
        i ? "," : "", json_quote(ptx2spv::to_string(f.kind)),
        json_quote(ptx2spv::to_string(f.access)), f.bytes, json_quote(ptx2spv::to_string(f.space)),
        json_quote(ptx2spv::to_string(f.memory)), json_quote(f.kernel), json_quote(f.file), f.line,
        f.column, json_quote(f.instruction), json_quote(f.source_file), f.source_line);
    for (std::size_t k = 0; k < f.inlined_at.size(); ++k)
      out += fmt::format("{}{{\"file\": {}, \"line\": {}}}", k ? ", " : "",
                         json_quote(f.inlined_at[k].file), f.inlined_at[k].line);
    out += fmt::format(
        "],\n   \"block\": [{}, {}, {}], \"thread\": [{}, {}, {}], \"threads\": {},\n"
        "   \"address\": {}, \"object\": {}, \"object_bytes\": {}, \"distance\": {}, "
        "\"inside\": {}, \"pointer\": {},\n   \"allocated\": {}, \"freed\": {}",
        f.cta[0], f.cta[1], f.cta[2], f.thread[0], f.thread[1], f.thread[2], f.threads,
        f.address_known && f.coordinates.empty() && f.kind < FindingKind::endless_wait
            ? std::to_string(f.address)
            : "null",
        json_quote(f.object), f.object_bytes, f.distance, f.inside, json_quote(f.pointer),
        json_quote(f.made), json_quote(f.freed));
    if (!f.detail.empty()) out += ",\n   \"detail\": " + json_quote(f.detail);
    if (!f.coordinates.empty()) out += ",\n   \"coordinates\": {";
    for (std::size_t k = 0; k < f.coordinates.size(); ++k)
      out += fmt::format("{}{}: {}", k ? ", " : "", json_quote(f.coordinates[k].first),
                         f.coordinates[k].second);
    if (!f.coordinates.empty()) out += "}";
    if (f.other.known)
      out += fmt::format(
          ",\n   \"other\": {{\"access\": {}, \"line\": {}, \"column\": {}, \"instruction\": {}, "
          "\"source_file\": {}, \"source_line\": {}, \"thread\": {}, \"block\": {}}}",
          json_quote(ptx2spv::to_string(f.other.access)), f.other.line, f.other.column,
          json_quote(f.other.instruction), json_quote(f.other.source_file), f.other.source_line,
          f.other.thread_known ? std::to_string(f.other.thread) : "null",
          f.other.block_known
              ? fmt::format("[{}, {}, {}]", f.other.block[0], f.other.block[1], f.other.block[2])
              : "null");
    out += "}";
  }
  return out + fmt::format("],\n \"places_left_out\": {}, \"suppressed\": {}}}\n", places_left_out,
                           suppressed);
}

}  // namespace ptx2spv
