#include "dev/replay/record.hpp"

#include <algorithm>
#include <charconv>
#include <unordered_map>

namespace ptx2spv::tools {
namespace {

/// Instructions of a kernel: drivers take longer over one kernel of many than over several of few.
constexpr std::size_t kMostVariants = 4;

template <class T>
bool take_number(std::string_view& text, T& value, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc()) return false;
  text.remove_prefix(std::size_t(end - text.data()));
  return true;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

/// A cube map's faces are layers to every surface instruction.
std::optional<Geometry> parse_kind(std::string_view name) {
  if (name == "cube" || name == "acube") return Geometry::a2d;
  return parse_geometry(name);
}

/// The array of the record's extents, which are those of its level.
void describe(RecordSurface& surface, std::uint32_t width, std::uint32_t height,
              std::uint32_t depth) {
  ArrayDesc& desc = surface.desc;
  const bool volume = desc.geometry == Geometry::d3,
             layered = desc.geometry == Geometry::a1d || desc.geometry == Geometry::a2d,
             rows = volume || desc.geometry == Geometry::d2 || desc.geometry == Geometry::a2d;
  surface.rows = rows ? std::max(height, 1u) : 1;
  surface.slices = volume || layered ? std::max(depth, 1u) : 1;
  surface.row_bytes = std::uint64_t(width) * desc.texel_bytes();
  desc.levels = surface.level + 1;
  desc.width = width << surface.level;
  desc.height = rows ? std::uint32_t(surface.rows) << surface.level : 1;
  desc.depth = volume ? std::uint32_t(surface.slices) << surface.level : 1;
  desc.layers = layered ? std::uint32_t(surface.slices) : 1;
}

// S u84 2d w=5 h=3 d=0 seed=1
std::string parse_surface(std::string_view text, RecordSurface& surface) {
  surface.text = text;
  take(text, "S ");
  const std::string_view form = take_word(text);
  if (form.size() < 3) return "a surface begins with its format";
  const auto format = parse_format(form.substr(0, form.size() - 1));
  const int channels = form.back() - '0';
  if (!format || (channels != 1 && channels != 2 && channels != 4))
    return "there is no format " + std::string(form);
  const std::string_view geometry_name = take_word(text);
  const auto geometry = parse_kind(geometry_name);
  if (!geometry) return "there is no geometry " + std::string(geometry_name);
  std::uint32_t width = 0, height = 0, depth = 0;
  for (int k = 0; k < 5; ++k) {
    std::string_view word = take_word(text);
    if (k == 4 && word.empty()) break;
    const bool good = take(word, "w=")       ? take_number(word, width)
                      : take(word, "h=")     ? take_number(word, height)
                      : take(word, "d=")     ? take_number(word, depth)
                      : take(word, "seed=")  ? take_number(word, surface.seed)
                      : take(word, "level=") ? take_number(word, surface.level)
                                             : false;
    if (!good || !word.empty()) return "a surface needs w=, h=, d= and seed=";
  }
  if (surface.level > 3) return "a surface has a level up to 3";
  surface.desc.format = *format;
  surface.desc.geometry = *geometry;
  surface.desc.channels = std::uint32_t(channels);
  describe(surface, width, height, depth);
  const std::uint64_t limit = std::uint64_t(1) << 28;
  if (width == 0 || surface.row_bytes > limit || surface.rows > limit / surface.row_bytes ||
      surface.slices > limit / surface.row_bytes / surface.rows)
    return "a surface has from 1 byte to 256 MiB";
  return {};
}

void parse_instruction(std::string_view text, RecordInstruction& out) {
  out.text = text;
  // suld.b.2d.v2.b32.clamp {x,_}
  if (const std::size_t list = text.find(" {"); list != text.npos) {
    for (std::size_t at = list + 2, element = 0; at < text.size() && element < 4; at += 2)
      out.unread |= std::uint32_t(text[at] == '_') << element++;
    text = text.substr(0, list);
  }
  std::vector<std::string_view> parts;
  for (std::string_view rest = text;;) {
    const std::size_t dot = rest.find('.');
    parts.push_back(rest.substr(0, dot));
    if (dot == rest.npos) break;
    rest.remove_prefix(dot + 1);
  }
  if (parts[0] == "suq" && parts.size() == 3) {
    out.op = RecordOp::load;
    out.coordinates = 0;
    out.type = parts[2];
    return;
  }
  if (parts.size() < 5) return;
  const bool formatted = parts[1] == "p";
  RecordOp op = RecordOp::other;
  if (parts[0] == "suld" && !formatted) op = RecordOp::load;
  if (parts[0] == "sust") op = formatted ? RecordOp::formatted_store : RecordOp::store;
  if (parts[0] == "sured") op = formatted ? RecordOp::formatted_reduce : RecordOp::reduce;
  bool geometry = false;
  for (std::string_view part : parts) {
    if (part == "v2") out.elements = 2;
    if (part == "v4") out.elements = 4;
    if (const auto found = parse_geometry(part)) {
      geometry = true;
      out.layered = *found == Geometry::a1d || *found == Geometry::a2d;
      out.coordinates = *found == Geometry::d1                              ? 1
                        : *found == Geometry::d2 || *found == Geometry::a1d ? 2
                                                                            : 3;
    }
  }
  out.mode = parts.back();
  out.type = parts[parts.size() - 2];
  if (out.type == "b8") {
    out.element_bytes = 1;
  } else if (out.type == "b16") {
    out.element_bytes = 2;
  } else if (out.type == "b32" || out.type == "u32" || out.type == "s32") {
    out.element_bytes = 4;
  } else if (out.type == "b64" || out.type == "u64" || out.type == "s64") {
    out.element_bytes = 8;
  } else {
    return;
  }
  if (geometry) out.op = op;
}

bool parse_line(std::string_view text, const RecordInstruction& instruction, RecordLine& line) {
  line.text = text;
  for (std::uint32_t k = 0; k < instruction.coordinates; ++k)
    if ((k && !take(text, ",")) || !take_number(text, line.coordinates[k])) return false;
  if (instruction.op == RecordOp::load) {
    if (!take(text, "=")) return false;
    if (text == "trap") return line.trap = true;
    for (std::uint32_t k = 0; k < instruction.elements; ++k)
      if ((k && !take(text, ",")) ||
          !(instruction.reads(k) ? take_number(text, line.values[k], 16) : take(text, "_")))
        return false;
    return text.empty();
  }
  if (!take(text, " v=")) return false;
  for (std::uint32_t k = 0; k < 4; ++k)
    if ((k && !take(text, ",")) || !take_number(text, line.values[k], 16)) {
      if (k == 0 || (!text.empty() && text[0] == ',')) return false;
      break;
    }
  if (!take(text, " ->")) return false;
  line.changes = text;
  line.trap = text == " trap";
  return true;
}

}  // namespace

std::string read_record(const std::string& path, Records& records) {
  std::string text;
  const IoError error = read_text(path, text);
  if (!error.empty()) return path + ": error: " + error;
  const auto file = std::uint32_t(records.names.size());
  records.names.push_back(path);
  records.texts.push_back(std::move(text));
  std::string_view rest = records.texts.back();

  const auto mnemonic = [](std::string_view of) { return of.substr(0, of.find(' ')); };
  std::unordered_map<std::string_view, std::uint32_t> known, kernels;
  for (std::size_t k = 0; k < records.instructions.size(); ++k) {
    const RecordInstruction& instruction = records.instructions[k];
    known[instruction.text] = std::uint32_t(k);
    kernels[mnemonic(instruction.text)] = instruction.kernel;
  }
  // Growth would move the texts that `known` refers to.
  records.instructions.reserve(records.instructions.size() + 65536);

  bool have_surface = false, have_instruction = false;
  for (std::uint32_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (line.empty() || line[0] == '#') continue;
    const auto fail = [&](const std::string& what) {
      return path + ":" + std::to_string(number) + ": error: " + what;
    };
    if (line.starts_with("S ")) {
      RecordSurface surface;
      const std::string problem = parse_surface(line, surface);
      if (!problem.empty()) return fail(problem);
      records.surfaces.push_back(std::move(surface));
      have_surface = true;
      have_instruction = false;
    } else if (line.starts_with("I ")) {
      if (!have_surface) return fail("an instruction comes after a surface");
      line.remove_prefix(2);
      auto found = known.find(line);
      if (found == known.end()) {
        if (known.size() >= 65536) return fail("more than 65536 instructions");
        RecordInstruction& instruction = records.instructions.emplace_back();
        parse_instruction(line, instruction);
        const auto added = std::uint32_t(records.instructions.size() - 1);
        found = known.emplace(instruction.text, added).first;
        auto& kernel = kernels.emplace(mnemonic(instruction.text), ~0u).first->second;
        if (kernel == ~0u || records.kernels[kernel].size() == kMostVariants) {
          kernel = std::uint32_t(records.kernels.size());
          records.kernels.emplace_back();
        }
        instruction.kernel = kernel;
        records.kernels[instruction.kernel].push_back(added);
      }
      records.groups.push_back(
          {file, std::uint32_t(records.surfaces.size() - 1), found->second, {}});
      have_instruction = true;
    } else {
      if (!have_instruction) return fail("a line comes after an instruction");
      RecordGroup& group = records.groups.back();
      RecordLine& one = group.lines.emplace_back();
      one.number = number;
      const RecordInstruction& instruction = records.instructions[group.instruction];
      if (instruction.op != RecordOp::other && !parse_line(line, instruction, one))
        return fail("a line of " + instruction.text + " does not look like this");
    }
  }
  return {};
}

Range touched(const RecordSurface& surface, const RecordInstruction& instruction,
              const RecordLine& line) {
  const std::int64_t* c = line.coordinates;
  std::int64_t x = 0, y = 0, z = 0;
  if (instruction.layered) {
    z = c[0] & 0xffff;
    x = c[1];
    y = c[2];
  } else {
    x = c[0];
    y = c[1];
    z = c[2];
  }
  const bool formatted = instruction.op == RecordOp::formatted_store;
  const auto n = std::int64_t(formatted ? surface.desc.texel_bytes()
                                        : instruction.elements * instruction.element_bytes);
  if (formatted || instruction.op == RecordOp::formatted_reduce) x *= n;
  const auto w = std::int64_t(surface.row_bytes), h = std::int64_t(surface.rows),
             d = std::int64_t(surface.slices);
  if (instruction.mode == "clamp") {
    if (w < n) return {};
    x = std::min(std::max<std::int64_t>(x, 0), (w - n) / n * n);
    y = std::clamp<std::int64_t>(y, 0, h - 1);
    z = std::clamp<std::int64_t>(z, 0, d - 1);
  } else if (x < 0 || x + n > w || y < 0 || y >= h || z < 0 || z >= d) {
    return {};
  }
  // Every layer of a volume is its first slice. What another geometry does not find is not touched,
  // and takes room in a round for nothing.
  if (instruction.layered && surface.desc.geometry == Geometry::d3) z = 0;
  return {std::uint64_t((z * h + y) * w + x), std::uint64_t(n)};
}

bool apply_changes(std::string_view changes, std::vector<std::byte>& bytes) {
  while (true) {
    std::string_view word = take_word(changes);
    if (word.empty() || word == "none") return true;
    std::uint64_t at = 0;
    if (!take(word, "@") || !take_number(word, at) || !take(word, ":") || word.size() % 2)
      return false;
    for (; !word.empty(); word.remove_prefix(2), ++at) {
      std::uint8_t value = 0;
      std::string_view pair = word.substr(0, 2);
      if (!take_number(pair, value, 16) || !pair.empty() || at >= bytes.size()) return false;
      bytes[at] = std::byte(value);
    }
  }
}

}  // namespace ptx2spv::tools
