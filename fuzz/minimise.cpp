#include "fuzz/minimise.hpp"

#include <algorithm>
#include <vector>

namespace ptx2spv::fuzz {

namespace {

using Parts = std::vector<std::string>;

Parts lines_of(const std::string& text) {
  Parts out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    out.push_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

Parts bytes_of(const std::string& text) {
  Parts out;
  for (const char each : text) out.emplace_back(1, each);
  return out;
}

/// All parts but those from `begin` to before `end`.
std::string without(const Parts& parts, std::size_t begin, std::size_t end) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (i < begin || i >= end) out += parts[i];
  return out;
}

std::string shrink(Parts parts, const std::function<bool(const std::string&)>& crashes) {
  for (std::size_t run = std::max<std::size_t>(parts.size() / 2, 1); run > 0; run /= 2)
    for (std::size_t at = 0; at < parts.size();) {
      const std::size_t end = std::min(at + run, parts.size());
      if (crashes(without(parts, at, end)))
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at),
                    parts.begin() + static_cast<std::ptrdiff_t>(end));
      else
        at = end;
    }
  return without(parts, 0, 0);
}

}  // namespace

std::string minimise(std::string text, const std::function<bool(const std::string&)>& crashes) {
  // What needed another part may go once that is gone.
  for (std::size_t before = text.size() + 1; text.size() < before;) {
    before = text.size();
    text = shrink(bytes_of(shrink(lines_of(text), crashes)), crashes);
  }
  return text;
}

}  // namespace ptx2spv::fuzz
