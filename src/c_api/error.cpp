// A thread's last error.
#include "src/c_api/handles.hpp"

#include <fmt/format.h>

#include "src/device/device.hpp"

namespace ptx2spv::runtime {

namespace {
struct Last {
  std::string text, details;
  std::shared_ptr<const TrapReport> trap;
};
thread_local Last t_last;

// The C codes are ErrorCode plus one.
static_assert(static_cast<int>(ErrorCode::trap) + 1 == PTX2SPV_TRAP);
static_assert(static_cast<int>(ErrorCode::internal) + 1 == PTX2SPV_INTERNAL);
static_assert(static_cast<int>(ErrorCode::timed_out) + 1 == PTX2SPV_TIMED_OUT);
static_assert(static_cast<int>(abi::TrapKind::out_of_bounds) == PTX2SPV_TRAP_OUT_OF_BOUNDS);
}  // namespace

ptx2spv_status fail(Error error) {
  t_last.text = error.text;
  t_last.details = error.to_string();
  t_last.trap = std::move(error.trap);
  return static_cast<ptx2spv_status>(static_cast<int>(error.code) + 1);
}

Status check_struct(const void* object, std::uint32_t given, std::size_t size, const char* name) {
  if (!object) return bad_argument(std::string(name) + " is null");
  if (given >= size) return {};
  return bad_argument("{} has the size {}, and {} in this version: PTX2SPV_INIT sets it", name,
                      given, size);
}

ptx2spv_status fail_null(const char* what) {
  return fail(bad_argument(std::string(what) + " is null"));
}

}  // namespace ptx2spv::runtime

extern "C" {

const char* ptx2spv_build_id(void) {
  static const std::string text(build_id());
  return text.c_str();
}
const char* ptx2spv_status_name(uint32_t status) {
  if (status == PTX2SPV_OK) return "ok";
  return status <= PTX2SPV_TIMED_OUT ? to_string(static_cast<ErrorCode>(status - 1)) : "unknown";
}
const char* ptx2spv_trap_kind_name(uint32_t kind) {
  return kind <= PTX2SPV_TRAP_NO_PROGRESS ? to_string(static_cast<abi::TrapKind>(kind)) : "unknown";
}
uint32_t ptx2spv_api_version(void) { return PTX2SPV_API_VERSION; }
const char* ptx2spv_version_text(void) {
  static const std::string text(version());
  return text.c_str();
}
const char* ptx2spv_last_error(void) { return t_last.text.c_str(); }
const char* ptx2spv_last_error_details(void) { return t_last.details.c_str(); }

ptx2spv_status ptx2spv_last_trap(ptx2spv_trap_report* report) {
  if (!report || report->size < sizeof *report) return fail_null("the report, or its size,");
  if (!t_last.trap)
    return fail(make_error(ErrorCode::not_found, "this thread's last error was no trap"));
  const TrapReport& trap = *t_last.trap;
  report->kind = static_cast<uint32_t>(trap.kind);
  report->trapped_threads = trap.trapped_threads;
  report->kernel = trap.kernel.c_str();
  report->function = trap.function.c_str();
  report->file = trap.file.c_str();
  report->instruction = trap.instruction.c_str();
  report->source_file = trap.source_file.c_str();
  report->surface = trap.surface.c_str();
  report->message = trap.message.c_str();
  report->line = trap.line;
  report->source_line = trap.source_line;
  report->column = trap.column;
  for (int i = 0; i < 3; ++i) {
    report->block[i] = trap.cta[i];
    report->thread[i] = trap.thread[i];
    report->extent[i] = trap.extent[i];
    report->coordinates[i] =
        static_cast<std::size_t>(i) < trap.coordinates.size() ? trap.coordinates[i].second : 0;
  }
  report->coordinate_count = static_cast<uint32_t>(trap.coordinates.size());
  report->handle = trap.handle;
  report->texel_bytes = trap.texel_bytes;
  report->thread_known = trap.thread_known;
  report->assertion = trap.assertion.c_str();
  for (std::size_t i = 0; i < 3; ++i)
    report->coordinate_names[i] =
        i < trap.coordinates.size() ? trap.coordinates[i].first.c_str() : "";
  report->inlined_count = static_cast<uint32_t>(trap.inlined_at.size());
  return PTX2SPV_OK;
}

ptx2spv_status ptx2spv_last_inlined(uint32_t index, const char** file, uint32_t* line) {
  if (!t_last.trap || index >= t_last.trap->inlined_at.size())
    return fail(make_error(ErrorCode::not_found, "the last trap has no such place"));
  const SourcePlace& place = t_last.trap->inlined_at[index];
  if (file) *file = place.file.c_str();
  if (line) *line = place.line;
  return PTX2SPV_OK;
}

}  // extern "C"
