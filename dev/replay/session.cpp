#include "dev/replay/session.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace ptx2spv::tools {
namespace {

constexpr std::size_t kMostLines = 16384, kMostArrays = 64, kBlock = 64;

// The generator of the records' surfaces.
void fill_pattern(std::vector<std::byte>& bytes, std::uint32_t seed) {
  std::uint32_t state = seed * 2654435761u + 1u;
  for (std::byte& byte : bytes) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    byte = std::byte(state >> 11);
  }
}

// Changed runs in the record's notation.
std::string describe_changes(const std::vector<std::byte>& before,
                             const std::vector<std::byte>& after) {
  std::string out;
  for (std::size_t k = 0; k < before.size();) {
    if (before[k] == after[k]) {
      ++k;
      continue;
    }
    out += " @" + std::to_string(k) + ":";
    for (; k < before.size() && before[k] != after[k]; ++k) {
      char pair[3];
      std::snprintf(pair, sizeof pair, "%02x", unsigned(after[k]));
      out += pair;
    }
  }
  return out.empty() ? " none" : out;
}

}  // namespace

KernelCache::KernelCache(const Device& device, const Records& records, HandleSource source)
    : device_(device), records_(records), source_(source) {
  for (std::size_t k = 0; k < records.kernels.size(); ++k)
    entries_.push_back(std::make_unique<Entry>());
}

Result<Kernel> KernelCache::get(std::uint32_t kernel) {
  Entry& entry = *entries_[kernel];
  const std::lock_guard lock(entry.mutex);
  if (!entry.module) {
    const std::string& name = records_.instructions[records_.kernels[kernel][0]].text;
    ModuleOptions options;
    options.relax_versions = true;
    entry.module =
        Module::load(device_, replay_ptx(records_, kernel, source_), name + ".ptx", options);
  }
  if (!*entry.module) return entry.module->error();
  return (*entry.module)->kernel(kReplayKernel);
}

bool ReplaySession::fail(const Error& error) {
  if (!result_.error.empty()) return false;
  result_.error = error.to_string();
  return false;
}

bool ReplaySession::prepare(std::size_t lines, std::size_t arrays) {
  if (!input_ || input_->size() < lines * sizeof(LineInput)) {
    const std::size_t room = std::max<std::size_t>(lines, 1024);
    auto input = Buffer::create(device_, room * sizeof(LineInput));
    if (!input) return fail(input.error());
    input_ = *std::move(input);
    auto output = Buffer::create(device_, room * sizeof(LineOutput));
    if (!output) return fail(output.error());
    output_ = *std::move(output);
  }
  while (pool_->size() < arrays) {
    ArrayDesc desc = surface_->desc;
    desc.backing = options_.backing;
    auto array = Array::create(device_, desc);
    if (!array) return fail(array.error());
    auto surface = Surface::create(*array, surface_->level);
    if (!surface) return fail(surface.error());
    pool_->push_back({*std::move(array), *std::move(surface)});
  }
  return true;
}

bool ReplaySession::fill(std::size_t slot) {
  const Status status = (*pool_)[slot].array.upload(pattern_, surface_->level);
  return status.ok() || fail(status.error());
}

bool ReplaySession::launch(const Lines& lines, const Lines& where, bool& trapped) {
  trapped = false;
  std::vector<LineInput> inputs(lines.size());
  for (std::size_t k = 0; k < lines.size(); ++k) {
    const RecordLine& line = group_->lines[lines[k]];
    for (std::uint32_t c = 0; c < 3; ++c)
      inputs[k].coordinates[c] = std::uint32_t(line.coordinates[c]);
    inputs[k].unread = instruction_->unread;
    std::copy(std::begin(line.values), std::end(line.values), inputs[k].values);
    inputs[k].handle = (*pool_)[where[k]].surface.handle();
  }
  const Status uploaded = input_->upload(0, std::as_bytes(std::span(inputs)));
  if (!uploaded.ok()) return fail(uploaded.error());
  Args args;
  const Surface& surface = (*pool_)[where[0]].surface;
  if (options_.source == HandleSource::param || options_.source == HandleSource::reference)
    args.surface(surface);
  args.buffer(*input_).buffer(*output_).value(std::uint32_t(lines.size()));
  if (options_.source == HandleSource::surfref) args.surfref(kReplaySurfref, surface);
  LaunchConfig config;
  config.block.x = kBlock;
  config.grid.x = std::uint32_t((lines.size() + kBlock - 1) / kBlock);
  config.bind_slots = options_.bind_slots;
  config.threads = options_.threads;
  const auto timing = kernel_->launch(config, args);
  if (timing) return true;
  trapped = timing.error().code == ErrorCode::trap;
  return trapped ? false : fail(timing.error());
}

bool ReplaySession::compare_load(std::uint32_t line, const LineOutput& output) {
  const RecordLine& wanted = group_->lines[line];
  const std::uint32_t size = std::max(2u, instruction_->element_bytes);
  std::string got;
  bool equal = true;
  for (std::uint32_t k = 0; k < instruction_->elements; ++k) {
    if (!instruction_->reads(k)) {
      got += k ? ",_" : "_";
      continue;
    }
    const std::uint64_t value =
        size == 8 ? output.values[k] : output.values[k] & ((1ull << (8 * size)) - 1);
    equal &= value == wanted.values[k];
    char hex[20];
    std::snprintf(hex, sizeof hex, "%s%0*llx", k ? "," : "", int(2 * size),
                  static_cast<unsigned long long>(value));
    got += hex;
  }
  if (!equal) result_.differences.push_back({number_, line, got});
  return equal;
}

void ReplaySession::loads(const Lines& all) {
  for (std::size_t begin = 0; begin < all.size(); begin += kMostLines) {
    const Lines lines(all.begin() + std::ptrdiff_t(begin),
                      all.begin() + std::ptrdiff_t(std::min(all.size(), begin + kMostLines)));
    const std::size_t arrays =
        options_.source == HandleSource::memory ? std::min<std::size_t>(4, lines.size()) : 1;
    // Handles from memory go to several equal surfaces, so that neighbours differ.
    Lines where(lines.size());
    for (std::size_t k = 0; k < where.size(); ++k) where[k] = std::uint32_t(k % arrays);
    bool good = prepare(lines.size(), arrays);
    for (std::size_t k = 0; good && k < arrays; ++k) good = fill(k);
    std::vector<LineOutput> outputs(lines.size());
    if (good) {
      const Status cleared = output_->fill(0, lines.size() * sizeof(LineOutput), 0xee);
      if (!cleared.ok()) good = fail(cleared.error());
    }
    bool trapped = false;
    good = good && launch(lines, where, trapped);
    if (trapped) {
      for (std::uint32_t line : lines) alone(line);
      continue;
    }
    if (good) {
      const Status status = output_->download(0, std::as_writable_bytes(std::span(outputs)));
      if (!status.ok()) good = fail(status.error());
    }
    if (!good) {
      result_.skipped += lines.size();
      continue;
    }
    for (std::size_t k = 0; k < lines.size(); ++k) compare_load(lines[k], outputs[k]);
    result_.checked += lines.size();
  }
}

// One line in a launch of its own, on a fresh surface.
void ReplaySession::alone(std::uint32_t line) {
  const RecordLine& wanted = group_->lines[line];
  bool trapped = false;
  if (!prepare(1, 1) || !fill(0) || (!launch({line}, {0}, trapped) && !trapped)) {
    ++result_.skipped;
    return;
  }
  ++result_.checked;
  if (trapped || wanted.trap) {
    if (trapped != wanted.trap)
      result_.differences.push_back({number_, line, trapped ? "trap" : "no trap"});
    return;
  }
  if (instruction_->op == RecordOp::load) {
    LineOutput output;
    const Status status = output_->download(0, std::as_writable_bytes(std::span(&output, 1)));
    if (status.ok()) {
      compare_load(line, output);
    } else {
      fail(status.error());
    }
    return;
  }
  std::vector<std::byte> expected = pattern_, got(pattern_.size());
  const Status status = (*pool_)[0].array.download(got, surface_->level);
  if (!status.ok()) fail(status.error());
  if (!apply_changes(wanted.changes, expected) || expected != got)
    result_.differences.push_back({number_, line, describe_changes(pattern_, got)});
}

// Lines whose bytes do not overlap share a surface and a launch; the others wait for the next.
void ReplaySession::stores(const Lines& lines) {
  std::vector<Lines> rounds;
  if (options_.source == HandleSource::memory) {
    // Every thread has a surface of its own.
    for (std::size_t k = 0; k < lines.size(); ++k) {
      if (k % kMostArrays == 0) rounds.emplace_back();
      rounds.back().push_back(lines[k]);
    }
  } else {
    std::vector<std::vector<bool>> busy;
    for (std::uint32_t line : lines) {
      const Range range = touched(*surface_, *instruction_, group_->lines[line]);
      std::size_t round = 0;
      for (;; ++round) {
        if (round == rounds.size()) {
          rounds.emplace_back();
          busy.emplace_back(pattern_.size());
        }
        const auto from = busy[round].begin() + std::ptrdiff_t(range.begin);
        const auto to = from + std::ptrdiff_t(range.size);
        if (rounds[round].size() < kMostLines && std::find(from, to, true) == to) {
          std::fill(from, to, true);
          break;
        }
      }
      rounds[round].push_back(line);
    }
  }
  std::vector<std::byte> got(pattern_.size());
  for (const Lines& round : rounds) {
    const bool own = options_.source == HandleSource::memory;
    const std::size_t arrays = own ? round.size() : 1;
    Lines where(round.size());
    for (std::size_t k = 0; own && k < where.size(); ++k) where[k] = std::uint32_t(k);
    bool good = prepare(round.size(), arrays), trapped = false;
    for (std::size_t k = 0; good && k < arrays; ++k) good = fill(k);
    good = good && launch(round, where, trapped);
    bool equal = good;
    for (std::size_t k = 0; good && k < arrays; ++k) {
      std::vector<std::byte> expected = pattern_;
      for (std::size_t j = 0; j < round.size(); ++j)
        if (where[j] == k) equal &= apply_changes(group_->lines[round[j]].changes, expected);
      const Status status = (*pool_)[k].array.download(got, surface_->level);
      if (!status.ok()) good = fail(status.error());
      equal &= expected == got;
    }
    if (trapped || (good && !equal)) {
      const std::size_t before = result_.differences.size();
      for (std::uint32_t line : round) alone(line);
      // Wrong together, right alone: a thread disturbed a neighbour.
      if (!trapped && result_.differences.size() == before)
        result_.differences.push_back(
            {number_, round[0], "the lines of this launch are right only one by one"});
    } else if (good) {
      result_.checked += round.size();
    } else {
      result_.skipped += round.size();
    }
  }
}

GroupResult ReplaySession::run(std::uint32_t number) {
  number_ = number;
  group_ = &records_.groups[number];
  surface_ = &records_.surfaces[group_->surface];
  instruction_ = &records_.instructions[group_->instruction];
  result_ = {};
  if (instruction_->op == RecordOp::other) {
    result_.skipped = group_->lines.size();
    result_.error = "there is no way to replay " + instruction_->text;
    return std::move(result_);
  }
  const auto kernel = kernels_.get(instruction_->kernel);
  if (!kernel) {
    fail(kernel.error());
    result_.skipped = group_->lines.size();
    return std::move(result_);
  }
  kernel_ = *kernel;
  pool_ = &pools_[surface_->text.substr(0, surface_->text.find(" seed=")) +
                  std::to_string(surface_->level)];
  pattern_.resize(surface_->bytes());
  fill_pattern(pattern_, surface_->seed);
  Lines together, traps;
  for (std::uint32_t k = 0; k < group_->lines.size(); ++k)
    (group_->lines[k].trap ? traps : together).push_back(k);
  if (instruction_->op == RecordOp::load) {
    loads(together);
  } else {
    stores(together);
  }
  for (std::uint32_t line : traps) alone(line);
  return std::move(result_);
}

}  // namespace ptx2spv::tools
