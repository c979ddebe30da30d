#include "tools/ptx2spv/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "ptx2spv/fatbin.hpp"
#include "tools/common/files.hpp"
#include "tools/common/input_kind.hpp"
#include "tools/common/json.hpp"
#include "tools/ptx2spv/messages.hpp"

namespace ptx2spv::tools {
namespace {

using fatbin::Entry;
using fatbin::Image;

std::string display_name(const std::string& file) { return file == "-" ? "<stdin>" : file; }

std::string dotted(std::uint32_t capability) {
  return fmt::format("{}.{}", capability / 10, capability % 10);
}

/// Whether it is machine code without a function, as nvcc's linker leaves it in every program.
bool is_empty(const Image& image) {
  return std::ranges::all_of(image.entries, [](const Entry& entry) {
    if (entry.kind != fatbin::Kind::sass) return false;
    std::string error;
    const auto code = fatbin::unpack(entry, error);
    return code && code->starts_with("\177ELF") && code->find(".text.") == std::string::npos;
  });
}

class Program {
 public:
  Program(const Settings& settings, std::string name, const std::vector<Image>& images)
      : settings_(settings), name_(std::move(name)), images_(images) {}

  // The rows of --list are counted through all fat binaries.
  bool run(std::vector<PtxUnit>& units, std::vector<std::string>& notes, std::string& error) {
    if (settings_.image) return take_row(units, error);
    PtxUnit linked;
    std::size_t row = 1, without = 0;
    for (const Image& image : images_) {
      const std::size_t first = row;
      row += image.entries.size();
      if (is_empty(image)) continue;
      const auto found = fatbin::ptx_for(image.entries, settings_.capability);
      if (found.empty()) {
        std::string reason = why_none(image);
        if (image.relocatable) {
          ++without;
          notes.push_back(
              fmt::format("from row {} on: {}; what is linked goes without", first, reason));
          last_reason_ = std::move(reason);
          continue;
        }
        error = fmt::format("the fat binary that begins with row {} of --list: {}", first, reason);
        return false;
      }
      PtxUnit unit;
      for (const Entry* entry : found) {
        const std::size_t number = first + std::size_t(entry - image.entries.data());
        PtxSource source;
        if (!unpack(*entry, number, source, error)) return false;
        if (image.relocatable) {
          if (!linked.row) linked.row = number;
          linked.sources.push_back(std::move(source));
          break;
        }
        if (unit.sources.empty()) {
          unit.row = number;
          unit.sources.push_back(std::move(source));
        } else {
          unit.older.push_back(std::move(source));
        }
      }
      if (!unit.sources.empty()) units.push_back(std::move(unit));
    }
    if (!linked.sources.empty()) units.push_back(std::move(linked));
    if (!units.empty()) return true;
    error = without ? last_reason_ : "it holds no device code";
    return false;
  }

 private:
  bool unpack(const Entry& entry, std::size_t row, PtxSource& source, std::string& error) {
    source.name = fmt::format("{}[{}]", name_, row);
    auto text = fatbin::unpack_ptx(entry, error);
    if (!text) {
      error = fmt::format("row {} of --list: {}", row, error);
      return false;
    }
    source.text = std::move(*text);
    return true;
  }

  bool take_row(std::vector<PtxUnit>& units, std::string& error) {
    std::size_t row = 1;
    for (const Image& image : images_) {
      if (settings_.image >= row + image.entries.size()) {
        row += image.entries.size();
        continue;
      }
      const Entry& entry = image.entries[settings_.image - row];
      if (!entry.is_ptx()) {
        error = fmt::format("row {} of --list is {} and not PTX", settings_.image,
                            fatbin::kind_name(entry.kind));
        return false;
      }
      PtxUnit& unit = units.emplace_back();
      unit.row = settings_.image;
      return unpack(entry, unit.row, unit.sources.emplace_back(), error);
    }
    error = fmt::format("--image {}: --list has {} rows", settings_.image, row - 1);
    return false;
  }

  std::string why_none(const Image& image) const {
    std::set<std::string> newer;
    std::uint32_t least = ~0u;
    for (const Entry& entry : image.entries) {
      if (!entry.is_ptx()) continue;
      newer.insert(fatbin::arch_name(entry));
      least = std::min(least, entry.arch);
    }
    if (newer.empty())
      return fmt::format(
          "it has machine code (SASS) alone, and PTX is needed; nvcc puts it in with "
          "-arch=compute_{}",
          settings_.capability);
    std::string list;
    for (const std::string& name : newer) list += (list.empty() ? "" : ", ") + name;
    return fmt::format(
        "its PTX is for {}, and none for compute capability {}; --capability {} takes it", list,
        dotted(settings_.capability), dotted(least));
  }

  const Settings& settings_;
  std::string name_, last_reason_;
  const std::vector<Image>& images_;
};

// Names come out of the file: nothing in them may steer a terminal.
std::string printable(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

void print_rows(const std::string& name, const std::vector<Image>& images) {
  std::size_t entries = 0;
  for (const Image& image : images) entries += image.entries.size();
  std::fputs(fmt::format("{}: {} fat binar{}, {} image{}\n", name, images.size(),
                         images.size() == 1 ? "y" : "ies", entries, entries == 1 ? "" : "s")
                 .c_str(),
             stdout);
  if (entries == 0) return;
  std::fputs(
      fmt::format("{:>6}  {:>10}  {:<8}  {:<8}  {:<11}  {:>9}  {:>9}  {:<10}  {}\n", "image",
                  "fat binary", "kind", "arch", "compression", "stored", "bytes", "flags", "file")
          .c_str(),
      stdout);
  std::size_t row = 0, number = 0;
  for (const Image& image : images) {
    ++number;
    for (const Entry& entry : image.entries) {
      std::string from(entry.name);
      if (!image.member.empty())
        from += fmt::format("{}({})", from.empty() ? "" : " ", image.member);
      if (image.relocatable) from += from.empty() ? "relocatable" : " relocatable";
      std::fputs(fmt::format("{:>6}  {:>10}  {:<8}  {:<8}  {:<11}  {:>9}  {:>9}  {:<10}  {}\n",
                             ++row, number, fatbin::kind_name(entry.kind), fatbin::arch_name(entry),
                             fatbin::compression_name(entry.compression), entry.stored.size(),
                             entry.bytes, fmt::format("{:#x}", entry.flags), printable(from))
                     .c_str(),
                 stdout);
    }
  }
}

std::string file_json(const std::string& name, const std::vector<Image>& images) {
  std::string out = "  {\"file\": " + json_quote(name) + ", \"fat_binaries\": [";
  std::size_t row = 0;
  for (std::size_t k = 0; k < images.size(); ++k) {
    const Image& image = images[k];
    out += fmt::format(
        "{}\n    {{\"member\": {}, \"section\": {}, \"offset\": {}, "
        "\"relocatable\": {}, \"images\": [",
        k ? "," : "", json_quote(image.member), json_quote(image.section), image.offset,
        image.relocatable);
    for (std::size_t j = 0; j < image.entries.size(); ++j) {
      const Entry& entry = image.entries[j];
      out += fmt::format(
          "{}\n      {{\"image\": {}, \"kind\": {}, \"arch\": {}, "
          "\"compression\": {}, \"stored\": {}, \"bytes\": {}, \"flags\": {}, "
          "\"source\": {}, \"options\": {}}}",
          j ? "," : "", ++row, json_quote(fatbin::kind_name(entry.kind)),
          json_quote(fatbin::arch_name(entry)),
          json_quote(std::string(fatbin::compression_name(entry.compression))), entry.stored.size(),
          entry.bytes, entry.flags, json_quote(std::string(entry.name)),
          json_quote(std::string(entry.options)));
    }
    out += "]}";
  }
  return out + "]}";
}

}  // namespace

bool read_units(const Settings& settings, const std::string& file, std::vector<PtxUnit>& units,
                std::vector<std::string>& notes, std::string& error, int& exit) {
  Bytes bytes;
  exit = kUsage;
  error = read_file(file, bytes, [](std::span<const std::byte> beginning) {
    return fatbin::is_container(beginning) ? std::uint64_t(1) << 32 : kMostText;
  });
  if (!error.empty()) return false;
  const std::string name = display_name(file);
  if (!fatbin::is_container(bytes)) {
    if (settings.image) {
      error = "--image is for programs, and this is none";
      return false;
    }
    std::string text = text_of(bytes);
    error = other_kind(text, Wanted::ptx);
    exit = kTranslation;
    if (!error.empty()) return false;
    units.emplace_back().sources.push_back({name, std::move(text)});
    return true;
  }
  const auto images = fatbin::read_file(bytes, error);
  if (!images) return false;
  exit = kTranslation;
  return Program(settings, name, *images).run(units, notes, error);
}

int read_or_tell(const Settings& settings, const std::string& file, std::vector<PtxUnit>& units) {
  std::vector<std::string> notes;
  std::string error;
  int exit = 0;
  const bool good = read_units(settings, file, units, notes, error, exit);
  for (const std::string& note : notes) print_note(settings, display_name(file), note);
  if (good) return 0;
  print_error(settings, display_name(file), error);
  return exit;
}

int list_files(const Settings& settings, const std::vector<std::string>& files) {
  int exit = 0;
  bool first = true;
  if (settings.list_json) std::fputs("{\"files\": [", stdout);
  for (const std::string& file : files) {
    Bytes bytes;
    std::optional<std::vector<Image>> images;
    std::string error = read_file(file, bytes);
    if (error.empty() && !fatbin::is_container(bytes))
      error = "it is no program, object, archive or fat binary";
    if (error.empty()) images = fatbin::read_file(bytes, error);
    if (!images) {
      print_error(settings, display_name(file), error);
      exit = kUsage;
      continue;
    }
    if (settings.list_json) {
      std::fputs(((first ? "\n" : ",\n") + file_json(display_name(file), *images)).c_str(), stdout);
    } else {
      print_rows(display_name(file), *images);
    }
    first = false;
  }
  if (settings.list_json) std::fputs("]}\n", stdout);
  return exit;
}

}  // namespace ptx2spv::tools
