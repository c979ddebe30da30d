// The fuzzers without libFuzzer, built by any compiler: replays files, and mutates what a pool of
// taken inputs holds.
#include <fmt/format.h>

#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz/minimise.hpp"
#include "fuzz/pool.hpp"

namespace {

using namespace ptx2spv::fuzz;

/// The input that runs, for the handler of a crash.
std::string current;
std::string crash_file;
/// Inputs before that one.
std::atomic<std::uint64_t> ran_before = 0;

void on_crash(int number) {
  std::FILE* file = std::fopen(crash_file.c_str(), "wb");
  if (file) {
    std::fwrite(current.data(), 1, current.size(), file);
    std::fclose(file);
  }
  // Without fmt: what crashed may hold the allocator's lock.
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, ran_before.load()).ptr;
  const auto say = [](std::string_view text) { (void)!::write(2, text.data(), text.size()); };
  say(number == SIGALRM ? "a hang after " : "a crash after ");
  say({digits, static_cast<std::size_t>(end - digits)});
  say(" inputs; the input is in the file that --crash names\n");
  std::signal(number, SIG_DFL);
  std::raise(number);
}

int usage(const char* wrong) {
  if (*wrong) fmt::print(stderr, "error: {}\n", wrong);
  fmt::print(
      stderr,
      "usage: fuzz_plain TARGET [--seconds N] [--inputs N] [--seed N] [--root FOLDER]\n"
      "         [--corpus FOLDER] [--write-seeds FOLDER] [--crash FILE] [FILE...]\n"
      "       fuzz_plain TARGET --minimise FILE\n\n"
      "Runs TARGET on the files and ends. Without files: on every seed, then on mutants.\n"
      "--corpus keeps what the target takes, --crash names the file for an input that\n"
      "crashes, --write-seeds only writes the seeds. --minimise writes the smallest part of\n"
      "FILE that crashes to FILE.min.\n\ntargets:\n");
  for (const Target& each : targets()) fmt::print(stderr, "  {:<12} {}\n", each.name, each.what);
  return 2;
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// In a process of its own, which may take a minute.
bool crashes(const Target& target, const std::string& text) {
  const pid_t child = ::fork();
  if (child < 0) return false;
  if (child == 0) {
    for (const int stream : {1, 2}) ::close(stream);
    ::alarm(60);
    target.run({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    ::_exit(0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status != 0;
}

int minimise_file(const Target& target, const std::string& file) {
  const std::string text = contents(file);
  if (!crashes(target, text)) {
    fmt::print(stderr, "error: {} does not crash\n", file);
    return 1;
  }
  const std::string least =
      minimise(text, [&](const std::string& part) { return crashes(target, part); });
  write(file + ".min", least);
  fmt::print("{}: {} bytes of {}\n", file + ".min", least.size(), text.size());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return usage("");
  const Target* target = find_target(argv[1]);
  if (!target) return usage("there is no such target");
  std::uint64_t seconds = 10, inputs = ~std::uint64_t{0}, seed = 1;
  std::string root = ".", corpus, seeds_to, to_minimise;
  std::vector<std::string> files;
  crash_file = fmt::format("crash-{}-{}", target->name, ::getpid());
  for (int i = 2; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (!option.starts_with("--")) {
      files.emplace_back(option);
      continue;
    }
    if (i + 1 == argc) return usage("an option lacks its value");
    const std::string_view value = argv[++i];
    const auto number = [&](std::uint64_t& out) {
      const auto end = value.data() + value.size();
      const auto [at, bad] = std::from_chars(value.data(), end, out);
      return bad == std::errc() && at == end;
    };
    bool good = true;
    if (option == "--seconds")
      good = number(seconds);
    else if (option == "--inputs")
      good = number(inputs);
    else if (option == "--seed")
      good = number(seed);
    else if (option == "--root")
      root = value;
    else if (option == "--corpus")
      corpus = value;
    else if (option == "--write-seeds")
      seeds_to = value;
    else if (option == "--minimise")
      to_minimise = value;
    else if (option == "--crash")
      crash_file = value;
    else
      return usage("there is no such option");
    if (!good) return usage("a value is no number");
  }
  if (!to_minimise.empty()) return minimise_file(*target, to_minimise);
  if (!seeds_to.empty()) {
    std::filesystem::create_directories(seeds_to);
    std::size_t count = 0;
    for (const std::string& text : target->seeds(root))
      write(std::filesystem::path(seeds_to) / fmt::format("seed-{}", count++), text);
    fmt::print("{}: {} seeds\n", target->name, count);
    return count ? 0 : 1;
  }
  for (const int number : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL, SIGALRM})
    std::signal(number, on_crash);
  const auto watched = [&](const std::string& text) {
    current = text;
    ::alarm(60);  // an input that takes longer hangs
    const bool taken =
        target->run({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    ::alarm(0);
    return taken;
  };
  if (!files.empty()) {
    for (const std::string& file : files) watched(contents(file));
    fmt::print("{}: {} files, no crash\n", target->name, files.size());
    return 0;
  }
  std::vector<std::string> start = target->seeds(root);
  if (!corpus.empty()) {
    std::filesystem::create_directories(corpus);
    for (const auto& each : std::filesystem::directory_iterator(corpus))
      start.push_back(contents(each.path()));
  }
  if (start.empty()) return usage("no seeds: --root names the source tree");
  Pool pool(*target, std::move(start), seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (pool.ran() < inputs && std::chrono::steady_clock::now() < end) {
    ran_before = pool.ran();
    const bool seeding = pool.seeding();
    const std::string* kept = pool.step(watched);
    if (kept && !seeding && !corpus.empty())
      write(std::filesystem::path(corpus) / fmt::format("{:016x}", pool.hash_of(*kept)), *kept);
  }
  fmt::print("{}: {} inputs, {} taken, {} in the pool, no crash\n", target->name, pool.ran(),
             pool.taken(), pool.size());
  return 0;
}
