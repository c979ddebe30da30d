#include "tools/ptxrun/outputs.hpp"

#include <fmt/format.h>

#include "tools/common/npy.hpp"
#include "tools/common/png.hpp"
#include "tools/common/sha256.hpp"
#include "tools/ptxrun/comparison.hpp"
#include "tools/ptxrun/contents.hpp"

namespace ptx2spv::tools {
namespace {

class Finisher {
 public:
  Finisher(const OutputSpec& output, const ArrayDesc* desc, const Bytes& bytes)
      : output_(output), desc_(desc), bytes_(bytes) {
    result_.line = std::string(output.kind_name()) + " " + output.name;
  }
  OutputResult run();

 private:
  void fail(const std::string& text) {
    if (result_.error.empty()) result_.error = output_.where + text;
  }
  void write(const std::string& path, std::span<const std::byte> data) {
    const IoError error = write_file(path, data);
    if (!error.empty()) return fail(path + ": " + error);
    result_.line += ", wrote " + path;
  }
  ElementShape shape() const {
    return desc_ ? texel_shape(*desc_, output_.level) : row_shape(output_.dtype, bytes_.size());
  }
  void write_array();
  void write_picture();
  void check_sum();
  /// What `expect` holds, and what is compared with it. An error text, empty when both are there.
  std::string read_expected(Bytes& got, Bytes& wanted, ElementShape& elements) const;
  void check_expected();

  const OutputSpec& output_;
  const ArrayDesc* desc_;
  const Bytes& bytes_;
  OutputResult result_;
};

void Finisher::write_array() {
  const ElementShape elements = shape();
  if (bytes_.size() % type_bytes(elements.type))
    return fail(fmt::format("{} bytes are no whole number of {}", bytes_.size(), elements.type));
  write(output_.npy, write_npy(npy_descr(elements.type),
                               desc_ ? npy_shape(*desc_, output_.level)
                                     : std::vector<std::uint64_t>{elements.width},
                               bytes_));
}

void Finisher::write_picture() {
  Bytes png;
  const std::string error = make_picture(*desc_, output_.level, bytes_, output_.range, png);
  if (!error.empty()) return fail(error);
  write(output_.png, png);
}

void Finisher::check_sum() {
  const std::string digest = sha256_hex(bytes_);
  if (digest == output_.sha256) {
    result_.line += ", sha256 matches";
    return;
  }
  result_.mismatch = true;
  result_.line += ", sha256 " + digest + " instead of " + output_.sha256;
}

std::string Finisher::read_expected(Bytes& got, Bytes& wanted, ElementShape& elements) const {
  got = bytes_;
  elements = shape();
  if (!output_.expect.ends_with(".png")) {
    IoError error = read_file(output_.expect, wanted, bytes_.size() + kMostHeader);
    if (!error.empty() || !output_.expect.ends_with(".npy")) return error;
    Npy npy;
    error = read_npy(wanted, npy);
    const std::string type = npy_type(npy.descr);
    // Memory whose elements the manifest does not name has those of the file.
    if (error.empty() && !desc_ && output_.dtype == "u8") {
      elements = row_shape(type, bytes_.size());
    } else if (error.empty() && type_bytes(type) != type_bytes(elements.type))
      error = "has elements of type " + npy.descr + ", the output " + npy_descr(elements.type);
    wanted = std::move(npy.data);
    return error;
  }
  if (!desc_) return "is a picture, the output is not a surface";
  if (const IoError error = read_file(output_.expect, wanted); !error.empty()) return error;
  Picture expected, drawn;
  Bytes png;
  std::string error = read_png(wanted, desc_->channels, expected);
  if (error.empty()) error = make_picture(*desc_, output_.level, bytes_, output_.range, png);
  if (error.empty()) error = read_png(png, desc_->channels, drawn);
  if (!error.empty()) return error;
  if (expected.width != drawn.width || expected.height != drawn.height)
    return fmt::format("is {} x {}, the output {} x {}", expected.width, expected.height,
                       drawn.width, drawn.height);
  elements.type = "u8";
  got = std::move(drawn.pixels);
  wanted = std::move(expected.pixels);
  return {};
}

void Finisher::check_expected() {
  Bytes got, wanted;
  ElementShape elements;
  const std::string error = read_expected(got, wanted, elements);
  if (!error.empty()) return fail(output_.expect + " " + error);
  if (got.size() != wanted.size()) {
    result_.mismatch = true;
    result_.line +=
        fmt::format(", {}: {} bytes instead of {}", output_.expect, got.size(), wanted.size());
    return;
  }
  // Bytes that are no whole number of elements are compared as bytes.
  if (got.size() % type_bytes(elements.type)) elements = row_shape("u8", got.size());
  const Comparison compared = compare_elements(elements, got, wanted, output_.tolerance);
  if (compared.different > output_.max_different) {
    result_.mismatch = true;
    result_.line += ", " + output_.expect + ": " + compared.text;
    if (output_.max_different)
      result_.line += fmt::format("; {} may differ", output_.max_different);
  } else if (compared.equal_bits) {
    result_.line += ", equals " + output_.expect;
  } else {
    result_.line +=
        fmt::format(", is near enough to {}: the largest difference is {} at {}", output_.expect,
                    compared.largest, element_name(elements, compared.largest_at));
    if (compared.different)
      result_.line += fmt::format(", {} beyond the tolerance", compared.different);
  }
  if (!desc_ || compared.equal_bits) return;
  const std::string failed = make_difference(elements, got, wanted, result_.difference);
  if (!failed.empty()) return fail(failed);
  if (!output_.difference.empty()) write(output_.difference, result_.difference);
}

OutputResult Finisher::run() {
  if (!output_.raw.empty()) write(output_.raw, bytes_);
  if (!output_.npy.empty()) write_array();
  if (!output_.png.empty()) write_picture();
  if (!output_.sha256.empty()) check_sum();
  if (!output_.expect.empty()) check_expected();
  return std::move(result_);
}

}  // namespace

OutputResult finish_output(const OutputSpec& output, const ArrayDesc* desc, const Bytes& bytes) {
  return Finisher(output, desc, bytes).run();
}

}  // namespace ptx2spv::tools
