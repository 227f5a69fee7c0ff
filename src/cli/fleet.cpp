#include "report/fleet.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/system.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/open.h"
#include "machine/json.h"

// Each snapshot is read, judged and forgotten but for its digest, so that ten thousand take no more
// memory than a few at a time.

namespace gpuwright::cli {
namespace {

constexpr std::string_view kSuffix = ".json";

// Snapshots of real machines have some 100 KB. Less than `check --from` takes, since several are in
// memory at once and parsed they are many times as large.
constexpr std::size_t kLimit = 16 << 20;

// More threads than this wait for the disk rather than for a processor.
constexpr unsigned kMostThreads = 8;

/// What is to be judged, and what could not be looked into.
struct Files {
  std::vector<std::string> paths;
  std::vector<UnreadableFile> unreadable;
};

// System takes absolute paths; what is shown stays as it was typed.
std::string absolute(const System& system, const std::string& path) {
  if (path.starts_with('/')) return path;
  return path_join(system.working_directory().value_or("/"), path);
}

// Other files beside the snapshots (a README, a log) are nobody's mistake.
void add_directory(const System& system, const std::string& directory, Files& files) {
  const auto entries = system.list(absolute(system, directory));
  if (!entries) {
    files.unreadable.push_back({directory, entries.error().message});
    return;
  }
  const std::size_t before = files.paths.size();
  for (const auto& entry : *entries)
    if (entry.name.ends_with(kSuffix)) files.paths.push_back(path_join(directory, entry.name));
  if (files.paths.size() == before) files.unreadable.push_back({directory, "holds no *.json"});
}

// A machine that is named twice (a directory and a file in it) would count twice.
void drop_repeats(const System& system, std::vector<std::string>& paths) {
  std::set<std::string> known;
  std::erase_if(paths, [&](const std::string& path) {
    const std::filesystem::path whole = absolute(system, path);
    return !known.insert(whole.lexically_normal().string()).second;
  });
}

Files files_of(const System& system, const std::vector<std::string>& operands) {
  Files files;
  for (const auto& operand : operands) {
    const auto status = system.status(absolute(system, operand));
    if (status && status->kind == FileKind::kDirectory)
      add_directory(system, operand, files);
    else
      files.paths.push_back(operand);
  }
  drop_repeats(system, files.paths);
  return files;
}

std::string without_suffix(std::string name) {
  if (name.size() > kSuffix.size() && name.ends_with(kSuffix))
    name.resize(name.size() - kSuffix.size());
  return name;
}

// A machine is called as its file; where two directories hold the same name, with its path.
std::vector<std::string> names_of(const std::vector<std::string>& paths) {
  std::map<std::string, int> count;
  for (const auto& path : paths) ++count[std::string(path_name(path))];
  std::vector<std::string> names;
  for (const auto& path : paths) {
    std::string name(path_name(path));
    names.push_back(without_suffix(count[name] == 1 ? std::move(name) : path));
  }
  return names;
}

Result<Machine> read_machine(const System& system, const std::string& path) {
  const auto text = system.read(absolute(system, path), kLimit + 1);
  if (!text) return tl::unexpected(text.error());
  if (text->empty()) return fail("is empty");
  if (text->size() > kLimit) return fail("is larger than a snapshot of a fleet can be (16 MiB)");
  return snapshot_from_text(*text, path);
}

/// Judges the files of a list, each by whichever thread is free.
class Judging {
 public:
  Judging(const System& system, const Catalog& catalog, const std::vector<std::string>& paths,
          Output& output)
      : system_(system),
        catalog_(catalog),
        paths_(paths),
        names_(names_of(paths)),
        output_(output),
        digests_(paths.size(), fail("was not read")) {}

  /// In the order of the files.
  std::vector<Result<MachineDigest>> run() {
    const std::size_t cores = std::clamp(std::thread::hardware_concurrency(), 1u, kMostThreads);
    std::vector<std::future<void>> others;
    for (std::size_t i = 1; i < std::min(cores, paths_.size()); ++i)
      others.push_back(std::async(std::launch::async, [this] { work(false); }));
    work(true);
    for (auto& other : others) other.get();  // and what it threw
    output_.progress("");
    return std::move(digests_);
  }

 private:
  void work(bool tells) {
    std::size_t done = 0;
    for (std::size_t i = next_++; i < paths_.size(); i = next_++) {
      digests_[i] = read_machine(system_, paths_[i]).transform([&](const Machine& machine) {
        return digest_of(names_[i], machine, catalog_, diagnose(machine, catalog_));
      });
      if (tells && done++ % 32 == 0)
        output_.progress("judging " + std::to_string(i) + " of " + std::to_string(paths_.size()));
    }
  }

  const System& system_;
  const Catalog& catalog_;
  const std::vector<std::string>& paths_;
  const std::vector<std::string> names_;
  Output& output_;
  std::vector<Result<MachineDigest>> digests_;
  std::atomic<std::size_t> next_ = 0;
};

Fleet fleet_of(const System& system, const Catalog& catalog, Files files, Output& output) {
  std::vector<MachineDigest> digests;
  auto judged = Judging(system, catalog, files.paths, output).run();
  for (std::size_t i = 0; i < judged.size(); ++i) {
    if (judged[i])
      digests.push_back(std::move(*judged[i]));
    else
      files.unreadable.push_back({files.paths[i], judged[i].error().message});
  }
  return summarise(digests, std::move(files.unreadable));
}

std::string shown(const Arguments& arguments, const Fleet& fleet, const Output& output) {
  const bool all = arguments.has("--all");
  const std::string format = arguments.value("--format");
  if (format == "markdown") return fleet_markdown(fleet, all);
  if (format == "json")
    return fleet_json(fleet, all)
               .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
           "\n";
  return fleet_text(fleet, {output.may_color() && !arguments.has("--no-color"), output.width(), all,
                            arguments.has("--quiet")});
}

int status_of(const Fleet& fleet, bool strict) {
  const bool warned =
      std::any_of(fleet.findings.begin(), fleet.findings.end(),
                  [](const FleetGroup& group) { return group.severity == Severity::kWarning; });
  const Outcome outcome = fleet.outcome();
  if (outcome == Outcome::kProblems || (strict && warned)) return kProblemsFound;
  return outcome == Outcome::kRight ? kAllRight : kCouldNotDecide;
}

// One line, as for every input that cannot be read.
Result<int> nothing_read(const Fleet& fleet) {
  const auto& first = fleet.unreadable.front();
  const auto all = fleet.unreadable.size();
  if (all == 1) return fail(first.reason, first.file);
  return fail(first.reason + "; another " + std::to_string(all - 1) + " of " + std::to_string(all) +
                  " could not be read either",
              first.file);
}

}  // namespace

Result<int> run_fleet(const Arguments& arguments, Output& output) {
  const auto& operands = arguments.operands();
  if (operands.empty()) return fail("give a directory of snapshots, or their files");
  // `fleet "$DIR"` with DIR unset must not judge what lies around here.
  if (std::count(operands.begin(), operands.end(), "") > 0) return fail("a name is empty");
  const auto catalog = open_catalog(arguments.value("--catalog"));
  if (!catalog) return tl::unexpected(catalog.error());
  const auto system = make_live_system();
  const Fleet fleet = fleet_of(*system, **catalog, files_of(*system, operands), output);
  if (fleet.machines() == 0) return nothing_read(fleet);
  output.data(shown(arguments, fleet, output));
  return status_of(fleet, arguments.has("--strict"));
}

}  // namespace gpuwright::cli
