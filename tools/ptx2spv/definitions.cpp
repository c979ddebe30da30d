// Finds the kernels and functions of PTX text without parsing it, which works in a file that does
// not parse too.
#include "tools/ptx2spv/check.hpp"

namespace ptx2spv::tools {
namespace {

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '%';
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<Definition> run() {
    std::vector<Definition> found;
    std::size_t statement = 0;  // where the declaration at hand begins
    std::uint32_t statement_line = 1;
    bool at_start = true;
    while (skip_blank()) {
      if (at_start) {
        statement = at_;
        statement_line = line_;
        at_start = false;
      }
      const char c = text_[at_];
      if (c == '.' && (word(".entry") || word(".func"))) {
        Definition one;
        one.kernel = text_[at_ - 1] == 'y';
        one.begin = statement;
        one.first_line = statement_line;
        if (finish(one)) found.push_back(std::move(one));
        at_start = true;
      } else if (c == ';' || c == '{' || c == '}') {
        ++at_;
        at_start = true;
      } else if (c == '.' || is_name(c)) {
        const std::uint32_t line = line_;
        const bool directive = word(".version") || word(".target") || word(".address_size");
        if (!directive) take_name();
        // These three end with their line.
        while (directive && at_ < text_.size() && line_ == line && text_[at_] != '\n') ++at_;
        at_start = directive;
      } else {
        ++at_;
      }
    }
    return found;
  }

 private:
  // After .entry or .func: the name, then the body's braces. False for a declaration.
  bool finish(Definition& one) {
    int depth = 0, parens = 0;
    bool body = false;
    while (skip_blank()) {
      const char c = text_[at_];
      if (c == '(') ++parens;
      if (c == ')') --parens;
      if (is_name(c)) {
        const std::string_view name = take_name();
        if (one.name.empty() && parens == 0) one.name = name;
        continue;
      }
      if (c == '.') {
        ++at_;
        take_name();
        continue;
      }
      if (c == ';' && !body && parens == 0) {
        ++at_;
        return false;
      }
      if (c == '{') {
        ++depth;
        body = true;
      }
      if (c == '}') --depth;
      ++at_;
      if (body && depth <= 0) break;
    }
    one.end = at_;
    one.last_line = line_;
    return body;
  }

  std::string_view take_name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    if (at_ == begin) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  bool word(std::string_view text) {
    if (!text_.substr(at_).starts_with(text)) return false;
    const std::size_t end = at_ + text.size();
    if (end < text_.size() && is_name(text_[end])) return false;
    at_ = end;
    return true;
  }

  // To the next character that is no blank, comment or string; false at the end.
  bool skip_blank() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        ++at_;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else if (text_.substr(at_).starts_with("//")) {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (text_.substr(at_).starts_with("/*")) {
        const std::size_t end = text_.find("*/", at_ + 2);
        const std::size_t stop = end == text_.npos ? text_.size() : end + 2;
        for (; at_ < stop; ++at_) line_ += text_[at_] == '\n';
      } else if (c == '"') {
        for (++at_; at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n'; ++at_)
          if (text_[at_] == '\\') ++at_;
        if (at_ < text_.size() && text_[at_] == '"') ++at_;
      } else {
        return true;
      }
    }
    at_ = std::min(at_, text_.size());
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
};

}  // namespace

std::vector<Definition> find_definitions(std::string_view text) { return Scanner(text).run(); }

}  // namespace ptx2spv::tools
