#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/system.h"
#include "base/version.h"
#include "loader/elf.h"

// A model of the glibc dynamic loader: which file does a name become, asked by which object, in a
// process in which which objects are mapped already. Follows glibc's elf/dl-load.c, dl-cache.c and
// dl-version.c; tests/loader compares it with the real ld.so over every object of a machine.

namespace gpuwright::loader {

/// Where a candidate came from. The order is the order of the search.
enum class Stage {
  kAlreadyMapped,
  kAbsolutePath,  ///< The name had a slash.
  kRpath,         ///< DT_RPATH of the asker, of its loaders, or of the main executable.
  kLibraryPath,   ///< LD_LIBRARY_PATH
  kRunpath,       ///< DT_RUNPATH of the asker
  kCache,         ///< /etc/ld.so.cache
  kDefaultDirectory,
  kPreload,  ///< LD_PRELOAD, /etc/ld.so.preload
  kProgram,  ///< The main executable or its PT_INTERP.
};
const char* name_of(Stage stage);

/// What the loader takes from its surroundings, read once.
struct Config {
  std::uint8_t elf_class = 2;
  std::uint16_t machine = 62;
  bool musl = false;
  bool secure = false;                      ///< AT_SECURE: LD_* and $ORIGIN do not count.
  std::optional<std::string> library_path;  ///< LD_LIBRARY_PATH as it was at exec.
  std::string preload;                      ///< LD_PRELOAD
  std::string working_directory = "/";
  std::vector<std::string> default_directories;  ///< In search order.
  std::string lib_token;                         ///< $LIB
  std::string platform_token;                    ///< $PLATFORM
  /// Sub-directories this CPU may use, best first: "glibc-hwcaps/x86-64-v3", "tls/x86_64".
  std::vector<std::string> hwcaps;
  /// Those of "x86-64-v4", "x86-64-v3", "x86-64-v2" that this CPU has, best first.
  std::vector<std::string> cpu_levels;
  bool cpu_known = true;     ///< False when /proc/cpuinfo could not be read, as in an image.
  Version glibc;             ///< Without numbers when unknown.
  int executable_stack = 1;  ///< glibc.rtld.execstack of GLIBC_TUNABLES: 0, 1 or 2.

  /// True when glibc is known to be older than `version`; an unknown one counts as current.
  bool glibc_before(std::string_view version) const {
    return glibc.size() > 0 && glibc < Version::of(version);
  }
};

/// Config for `program` (an ELF file) of this tree: its architecture; default directories and glibc
/// version as they stand in its PT_INTERP, or by distribution and libc when they do not; CPU levels
/// from /proc/cpuinfo.
[[nodiscard]] Result<Config> make_config(const System& system, const std::string& program,
                                         const std::map<std::string, std::string>& environment);

/// An object in the model's process.
struct Mapped {
  std::string path;       ///< As opened: the text that $ORIGIN comes from.
  std::string real_path;  ///< What /proc/PID/maps shows.
  std::string origin;     ///< Directory for $ORIGIN.
  FileStatus status;
  ElfObject elf;
  std::vector<std::string> names;  ///< Every name it was requested under.
  /// Index of the object whose DT_NEEDED brought it; nothing after dlopen, where the chain of
  /// DT_RPATH begins anew.
  std::optional<std::size_t> loader;
  Stage stage = Stage::kAbsolutePath;
  std::string stage_detail;  ///< Whose list it was: "DT_RPATH of /x/libtorch_cuda.so".
};

/// A DT_NEEDED of the program's start that no file answered.
struct MissingName {
  std::string name;
  std::size_t asker = 0;  ///< Index into Process::objects().
};

/// How one request ended.
struct Outcome {
  enum class State { kFound, kMissing, kUnloadable, kUnknown } state = State::kUnknown;
  std::optional<std::size_t> object;  ///< Index into Process::objects() when found.
  Stage stage = Stage::kAlreadyMapped;
  std::string stage_detail;
  std::string path;  ///< The file found, or the candidate that ended the search.
  /// The loader's text: "libx.so.1: cannot open shared object file: No such file or directory".
  std::string error;
  std::string culprit;  ///< The object that failed, when it is a dependency of the one asked for.
  bool newly_mapped = false;  ///< By this very request.
};

/// One place where a name exists, whether or not it wins.
struct Candidate {
  std::string path;
  std::string real_path;
  Stage stage = Stage::kCache;
  std::string stage_detail;
  ElfProblem problem = ElfProblem::kNone;  ///< Why the loader would skip or refuse it.
};

/// A modelled process: starts empty, gets a program, then grows by dlopen.
class Process {
 public:
  Process(const System& system, Config config);
  ~Process();
  Process(Process&&) noexcept;
  Process& operator=(Process&&) noexcept;

  /// Maps the program, LD_PRELOAD and /etc/ld.so.preload, and the closure of DT_NEEDED, breadth
  /// first. The outcome is that of the whole start: the first thing that would stop it. After a
  /// missing name the rest is mapped all the same, as ldd does. Call it once, before all else.
  Outcome start(const std::string& program);

  /// Names of the start's closure that were not found, those found only in another ELF class
  /// included, in the order of asking.
  const std::vector<MissingName>& missing() const;

  /// dlopen(name) called by code in object `caller` (nothing: as by the main program). Maps the
  /// closure; when anything in it fails, nothing stays mapped, as in the real one.
  Outcome dlopen(const std::string& name, std::optional<std::size_t> caller = std::nullopt);

  /// Every place where `name` would be looked for by `caller`, in search order, that has such a
  /// file.
  std::vector<Candidate> candidates(const std::string& name,
                                    std::optional<std::size_t> caller = std::nullopt) const;

  /// In the order of mapping.
  const std::vector<Mapped>& objects() const;
  /// Index of the mapped object that answers to `name` (a SONAME or a name it was requested under).
  std::optional<std::size_t> find(const std::string& name) const;
  /// Index of the mapped object of this real path.
  std::optional<std::size_t> find_path(const std::string& real_path) const;

  const Config& config() const;

  /// Failures of the start that the real loader only prints: LD_PRELOAD names that are ignored.
  const std::vector<std::string>& warnings() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// One row of /etc/ld.so.cache.
struct CacheEntry {
  std::string name;  ///< "libcuda.so.1"
  std::string path;
  std::uint32_t flags = 0;
  std::string hwcaps;  ///< glibc-hwcaps sub-directory name; empty for most.
  /// For a sub-directory like tls/ or haswell/, which glibc >= 2.37 passes over.
  bool legacy_hwcaps = false;
};

/// Rows in the file's order. An error names what is wrong with the file.
[[nodiscard]] Result<std::vector<CacheEntry>> read_cache(
    const System& system, const std::string& path = "/etc/ld.so.cache");

}  // namespace gpuwright::loader
