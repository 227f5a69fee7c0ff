#include "probe/driver_libraries.h"

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/text.h"
#include "loader/elf.h"
#include "loader/loader.h"
#include "probe/facts.h"
#include "probe/host_loader.h"

namespace gpuwright {
namespace {

constexpr const char* kCudaLibrary = "libcuda.so.1";
constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

// Where distributions, installers and container toolkits put the driver, whether or not the loader
// looks there. The rest of the pattern below /usr/local is one directory for each toolkit.
constexpr const char* kDirectories[] = {
    "/usr/lib/x86_64-linux-gnu",  // Debian, Ubuntu
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",  // RHEL, Fedora, SUSE, Amazon
    "/usr/lib64/nvidia",
    "/usr/lib",                                  // Arch
    "/usr/lib/x86_64-linux-gnu/nvidia/current",  // Debian's alternatives
    "/run/opengl-driver/lib",                    // NixOS
    "/usr/local/nvidia/lib64",                   // GKE, COS, gVisor, old container runtimes
    "/usr/local/nvidia/lib",
    "/usr/lib/wsl/lib",                  // WSL2
    "/usr/lib/aarch64-linux-gnu/tegra",  // Jetson
    "/usr/lib/aarch64-linux-gnu/nvidia",
};

// Stubs carry the SONAME but only a few hundred empty functions: 70 kB in CUDA 13.0, against tens
// of megabytes for libcuda and more than one for libnvidia-ml.
constexpr std::uint64_t kLargestStub = 512 << 10;

// Whether a directory of the path has this name: ".../lib64/stubs/libcuda.so".
bool lies_in(std::string_view path, std::string_view directory) {
  const auto pieces = split(path, '/');
  return std::find(pieces.begin(), pieces.end() - 1, directory) != pieces.end() - 1;
}

std::string kind_of_problem(const loader::ElfError& error, std::uint64_t size) {
  if (size == 0) return "empty";
  const bool foreign = error.problem == loader::ElfProblem::kWrongClass ||
                       error.problem == loader::ElfProblem::kWrongMachine;
  if (foreign) return "wrong-class";
  const bool cut = error.problem == loader::ElfProblem::kTruncated ||
                   error.problem == loader::ElfProblem::kBadHeader;
  return cut ? "damaged" : "not-elf";
}

// By the place first. WSL's libcuda.so.1 is a small plain file that would pass for a stub, and a
// compat copy is the very file of another driver: the note that says which kernel modules it
// accepts
// (.note.cuda.fwd_compatibility) stands in the driver's own libcuda as well (seen in 580.159.04).
std::string kind_of_object(const loader::ElfObject& object, std::uint64_t size,
                           const std::string& path, const std::string& real_path) {
  const auto either_lies_in = [&](std::string_view directory) {
    return lies_in(path, directory) || lies_in(real_path, directory);
  };
  if (object.elf_class != 2) return "wrong-class";
  if (real_path.starts_with("/usr/lib/wsl/")) return "wsl";
  if (either_lies_in("stubs")) return "stub";
  if (either_lies_in("compat") || either_lies_in("cuda-compat")) return "compat";
  const bool versioned = version_of_library_name(path_name(real_path)).has_value();
  return !versioned && size < kLargestStub ? "stub" : "driver";
}

std::string kind_of_file(const System& system, const std::string& path,
                         const std::string& real_path) {
  const auto file = system.open(real_path);
  if (!file) return file.error().code == EACCES ? "unreadable" : "not-elf";
  const auto size = (*file)->status().size;
  const auto object = loader::read_elf(**file);
  return object ? kind_of_object(*object, size, path, real_path)
                : kind_of_problem(object.error(), size);
}

}  // namespace

std::optional<Version> version_of_library_name(std::string_view file_name) {
  const auto at = file_name.find(".so.");
  if (at == std::string_view::npos) return std::nullopt;
  const auto version = Version::parse(file_name.substr(at + 4));
  if (!version || version->size() < 2 || version->major_part() < 100) return std::nullopt;
  return *version;
}

std::optional<DriverLibrary> examine_driver_library(const System& system, const std::string& path) {
  const auto real_path = system.resolve(path);
  if (!real_path || !exists(system, *real_path)) return std::nullopt;
  DriverLibrary library;
  library.name = path_name(path);
  library.path = printable(path);
  library.real_path = printable(*real_path);
  library.kind = kind_of_file(system, path, *real_path);
  const auto version = version_of_library_name(path_name(*real_path));
  library.version = version ? Fact<Version>::known(*version, library.real_path)
                            : Fact<Version>::unknown(library.real_path,
                                                     "the file's name carries no driver version");
  return library;
}

namespace {

std::string found_by(loader::Stage stage) {
  switch (stage) {
    case loader::Stage::kLibraryPath:
      return "LD_LIBRARY_PATH";
    case loader::Stage::kCache:
      return "ld.so.cache";
    case loader::Stage::kDefaultDirectory:
      return "default directory";
    default:
      return loader::name_of(stage);
  }
}

// Collects copies in the order in which they are offered. One directory reached by two names
// (/lib and /usr/lib) counts once; two links to one file are two copies, since each can be found.
class Copies {
 public:
  explicit Copies(const System& system) : system_(system) {}

  void offer(const std::string& path, const std::string& how) {
    const auto directory = system_.resolve(path_directory(path));
    if (!directory) return;
    if (!seen_.insert(path_join(*directory, path_name(path))).second) return;
    auto library = examine_driver_library(system_, path);
    if (!library) return;
    library->found_by = how;
    libraries_.push_back(std::move(*library));
  }

  std::vector<DriverLibrary>& libraries() { return libraries_; }

 private:
  const System& system_;
  std::set<std::string> seen_;
  std::vector<DriverLibrary> libraries_;
};

// compat, and the directories with stubs, of every toolkit under /usr/local. A stub bears the name
// of the development link.
void offer_toolkits(const System& system, Copies& copies) {
  const std::string how = "well-known directory";
  for (const auto& entry : system.list("/usr/local").value_or(std::vector<DirectoryEntry>{})) {
    if (!entry.name.starts_with("cuda")) continue;
    const auto root = path_join("/usr/local", entry.name);
    copies.offer(root + "/compat/" + kCudaLibrary, how);
    for (const std::string name : {"libcuda.so", kCudaLibrary, "libnvidia-ml.so", kNvmlLibrary})
      copies.offer(root + "/lib64/stubs/" + name, how);
  }
}

void offer_all(const System& system, const loader::Process& process, Copies& copies) {
  for (const std::string name : {kCudaLibrary, kNvmlLibrary}) {
    for (const auto& candidate : process.candidates(name))
      copies.offer(candidate.path, found_by(candidate.stage));
    for (const std::string directory : kDirectories)
      copies.offer(path_join(directory, name), "well-known directory");
  }
  offer_toolkits(system, copies);
}

// Marks the copy where the loader's search for `name` ends, be it that the file then cannot be
// loaded: an empty file ends a search as well as a good one.
loader::Outcome choose(loader::Process& process, const std::string& name, Copies& copies) {
  const auto outcome = process.dlopen(name);
  const bool ended = outcome.state == loader::Outcome::State::kFound ||
                     outcome.state == loader::Outcome::State::kUnloadable;
  if (!ended) return outcome;
  copies.offer(outcome.path, found_by(outcome.stage));
  for (auto& library : copies.libraries())
    if (library.path == outcome.path) library.chosen = true;
  return outcome;
}

Fact<Version> version_of_chosen(const std::vector<DriverLibrary>& libraries,
                                const loader::Outcome& outcome) {
  if (outcome.state == loader::Outcome::State::kMissing) return Fact<Version>::absent(kCudaLibrary);
  for (const auto& library : libraries)
    if (library.chosen && library.name == kCudaLibrary) return library.version;
  return Fact<Version>::unknown(kCudaLibrary, outcome.error);
}

}  // namespace

// Sources: the loader's own search for an ordinary program (LD_LIBRARY_PATH, ld.so.cache, default
// directories); the directories above; the compat and stubs directories of toolkits. When no
// program could stand for all others, the copies are listed and none is chosen.
void fill_driver_libraries(const System& system, Driver& driver) {
  auto plain = start_plain_program(system);
  Copies copies(system);
  offer_all(system, plain.process, copies);
  const std::string source = "loader's search, well-known directories";
  if (plain.program.empty()) {
    driver.user_space_version = Fact<Version>::unknown(kCudaLibrary, plain.problem);
  } else {
    const auto cuda = choose(plain.process, kCudaLibrary, copies);
    choose(plain.process, kNvmlLibrary, copies);
    driver.user_space_version = version_of_chosen(copies.libraries(), cuda);
  }
  driver.libraries = Fact<std::vector<DriverLibrary>>::known(std::move(copies.libraries()), source);
}

}  // namespace gpuwright
