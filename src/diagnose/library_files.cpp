#include <algorithm>
#include <map>

#include "base/text.h"
#include "diagnose/fix.h"
#include "diagnose/framework.h"
#include "diagnose/framework_rule.h"
#include "diagnose/library_file.h"
#include "diagnose/rule.h"

// Files that bear the name of a GPU library and are none, or are of another version. They are told
// where a framework's search ends at one, or misses one; framework.libraries-missing is then a
// consequence and stays silent.

namespace gpuwright {
namespace {

constexpr const char* kDamaged = "libraries.file-damaged";
constexpr const char* kUnreadable = "libraries.file-unreadable";
constexpr const char* kBrokenLink = "libraries.link-broken";
constexpr const char* kArchitecture = "libraries.other-architecture";
constexpr const char* kSoname = "libraries.other-soname";

bool says(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

struct KindText {
  std::string_view kind;
  const char* finding;
  const char* what;
};
constexpr KindText kKinds[] = {
    {"empty", kDamaged, "is empty (0 bytes)"},
    {"lfs-pointer", kDamaged, "is a pointer of Git LFS and not the file itself"},
    {"text", kDamaged, "is a text and no library"},
    {"damaged", kDamaged, "is cut short"},
    {"unreadable", kUnreadable, "may not be read by this user"},
    {"broken-link", kBrokenLink, "is a link to a file that is not there"},
    {"other-architecture", kArchitecture, "is for another processor"},
};

const LibraryCopy* copy_at(const Machine& machine, const std::string& path) {
  if (!machine.cuda.copies.is_known()) return nullptr;
  for (const auto& copy : *machine.cuda.copies)
    if (copy.path == path || (!copy.real_path.empty() && copy.real_path == path)) return &copy;
  return nullptr;
}

std::optional<BadFile> by_kind(const LibraryCopy& copy) {
  for (const auto& kind : kKinds)
    if (copy.kind == kind.kind) return BadFile{kind.finding, copy.path, kind.what};
  return std::nullopt;
}

// The loader's words about the file where the search ended.
std::optional<BadFile> refused(const Machine& machine, const ResolvedLibrary& library) {
  if (library.path.empty()) return std::nullopt;
  if (const auto* copy = copy_at(machine, library.path))
    if (const auto bad = by_kind(*copy)) return bad;
  if (says(library.error, "file too short"))
    return BadFile{kDamaged, library.path, "is empty or cut short"};
  if (says(library.error, "invalid ELF header"))
    return BadFile{kDamaged, library.path, "is no library (invalid ELF header)"};
  if (says(library.error, "wrong ELF class"))
    return BadFile{kArchitecture, library.path, "is for another processor"};
  return std::nullopt;
}

std::optional<BadFile> passed_over(const Machine& machine, const ResolvedLibrary& library) {
  if (!machine.cuda.copies.is_known()) return std::nullopt;
  for (const auto& copy : *machine.cuda.copies)
    if (path_name(copy.path) == library.name)
      if (const auto bad = by_kind(copy)) return bad;
  return std::nullopt;
}

std::string stem_of(std::string_view name) {
  return std::string(name.substr(0, name.find(".so.")));
}

// Only a copy that this framework's search would have reached says anything; the environment's own
// wheels and LD_LIBRARY_PATH are those.
std::optional<BadFile> other_soname(const Machine& machine, const ResolvedLibrary& library) {
  if (!machine.cuda.copies.is_known() || !library.elsewhere.empty()) return std::nullopt;
  const LibraryCopy* other = nullptr;
  for (const auto& copy : *machine.cuda.copies) {
    if (copy.kind != "library" || stem_of(path_name(copy.path)) != stem_of(library.name)) continue;
    if (path_name(copy.path) == library.name) return std::nullopt;
    const bool reachable = copy.origin == "wheel" || copy.origin == "conda" ||
                           copy.origin == "LD_LIBRARY_PATH" || copy.origin == "ld.so.cache";
    if (reachable && (other == nullptr || copy.origin == "wheel")) other = &copy;
  }
  if (other == nullptr) return std::nullopt;
  return BadFile{kSoname, other->path,
                 "has another number, and a number is part of the name that is asked for"};
}

bool matters(const ResolvedLibrary& library) {
  return (library.role == "required" || library.role == "linked") &&
         (library.state == "missing" || library.state == "unloadable");
}

// With the number of the release, so that only its libraries come anew.
std::string requirement_of(const Framework& framework) {
  const auto version =
      framework.version.is_known()
          ? "==" + framework.version->text().substr(0, framework.version->text().find('+'))
          : std::string();
  if (framework.name == "tensorflow") return "'tensorflow[and-cuda]" + version + "'";
  if (framework.name == "torch") return "torch" + version;
  const auto cuda =
      framework.build_cuda.is_known() ? std::to_string(framework.build_cuda->major_part()) : "12";
  return "'jax[cuda" + cuda + "]" + version + "'";
}

std::vector<FixStep> fix_of(const Machine& machine, const Framework& framework, const BadFile& bad,
                            const ResolvedLibrary& library) {
  const auto in_wheel = bad.path.find("-packages/nvidia/") != std::string::npos;
  if (std::string_view(bad.finding) == kUnreadable)
    return {root_step(
        "sudo chmod a+rX " + shell_word(path_directory(bad.path)) + " " + shell_word(bad.path),
        "let everybody read it", "mode bits of the file and its directory",
        "chmod back to what ls -l shows now")};
  if (std::string_view(bad.finding) == kSoname)
    return {
        environment_step(pip(machine) + " install --force-reinstall " + requirement_of(framework),
                         "brings the libraries of this release under the names it asks for"),
        advice("do not link " + std::string(path_name(bad.path)) + " to " + library.name +
               ": the number changes when the functions do")};
  if (in_wheel) {
    const auto at = bad.path.find("-packages/nvidia/") + 17;
    const auto product = bad.path.substr(at, bad.path.find('/', at) - at);
    return {environment_step(pip(machine) + " list | grep -i nvidia-" + shell_word(product),
                             "the name of the package that brings it"),
            environment_step(pip(machine) + " install --force-reinstall --no-deps --no-cache-dir "
                                            "THAT-PACKAGE",
                             "writes its files anew")};
  }
  return {user_step("ls -lL " + shell_word(bad.path), "look at it", "nothing", "none needed"),
          advice("install the package that it belongs to again, or take its directory out of "
                 "LD_LIBRARY_PATH")};
}

const char* cause_of(std::string_view finding) {
  if (finding == kDamaged)
    return "a disk that was full while it was written, a copy without its contents (Git LFS, a "
           "synchronising tool), a download that ended early";
  if (finding == kUnreadable) return "it was installed by root with a strict umask";
  if (finding == kBrokenLink)
    return "the file it leads to was removed or moved, or the link was copied alone";
  if (finding == kArchitecture)
    return "files of another processor's build were copied here, or the directory of a 32-bit or "
           "cross-compiling toolkit is searched";
  return "this release of the framework was built for another release of the library";
}

Verdict judge_files(const Machine& machine, std::string_view id) {
  std::vector<Finding> findings;
  for (const auto& framework : machine.frameworks)
    for (const auto& library : framework.libraries) {
      if (!matters(library)) continue;
      const auto bad = bad_file(machine, library);
      if (!bad || bad->finding != id) continue;
      Finding finding;
      finding.subject = label_of(framework);
      finding.statement =
          title(framework) + " asks for " + library.name + ", and " + bad->path + " " + bad->what;
      finding.evidence = {{printable(library.error), library.opener}, {bad->what, bad->path}};
      finding.cause = cause_of(id);
      finding.fix = fix_of(machine, framework, *bad, library);
      findings.push_back(std::move(finding));
      break;  // The first one is enough: one missing library and no GPU is used.
    }
  if (!findings.empty()) return findings;
  return machine.frameworks.empty() ? Verdict(NotApplicable{}) : Verdict(Fine{});
}

template <const char* const& id>
Verdict judge_kind(const Machine& machine, const Catalog&) {
  return judge_files(machine, id);
}

// ------------------------------------------------------------------------ leftovers

// Names that a search asks for, of cuDNN's parts in one directory, that lead to files of different
// releases: an installation over an older one that was not removed.
Verdict no_leftovers(const Machine& machine, const Catalog&) {
  if (!machine.cuda.copies.is_known()) return NotApplicable{};
  std::map<std::string, std::vector<const LibraryCopy*>> by_directory;
  for (const auto& copy : *machine.cuda.copies)
    if (copy.family == "cudnn" && copy.kind == "library" && copy.version.is_known() &&
        copy.version->size() >= 3)
      by_directory[path_directory(copy.path) + "\n" + std::to_string(copy.version->major_part())]
          .push_back(&copy);
  std::vector<Finding> findings;
  for (const auto& [key, copies] : by_directory) {
    const auto differs = std::find_if(copies.begin(), copies.end(), [&](const LibraryCopy* copy) {
      return !(*copy->version == *copies.front()->version);
    });
    if (differs == copies.end()) continue;
    Finding finding;
    finding.severity = Severity::kWarning;
    finding.subject = path_directory(copies.front()->path);
    finding.statement =
        "parts of two cuDNN releases lie in " + finding.subject + ": " +
        std::string(path_name(copies.front()->path)) + " is " + copies.front()->version->text() +
        ", " + std::string(path_name((*differs)->path)) + " is " + (*differs)->version->text();
    finding.evidence = {{copies.front()->version->text(), copies.front()->real_path},
                        {(*differs)->version->text(), (*differs)->real_path}};
    finding.cause = "a release was copied or unpacked over another one";
    finding.fix = {user_step("ls -l " + shell_word(finding.subject) + "/libcudnn*",
                             "which files are there", "nothing", "none needed"),
                   advice("remove all libcudnn* of that directory and install one release")};
    findings.push_back(std::move(finding));
  }
  return findings.empty() ? Verdict(Fine{}) : Verdict(std::move(findings));
}

// ----------------------------------------------------------------- cuDNN and the GPU

// cuDNN after 9.10.2 has no code for Maxwell, Pascal and Volta, and open version ranges of
// frameworks (TensorFlow 2.20) bring the newest.
Verdict cudnn_knows_the_gpu(const Machine& machine, const Catalog& catalog) {
  std::vector<Finding> findings;
  bool any = false;
  for (const auto& framework : machine.frameworks)
    for (const auto& library : framework.libraries) {
      if (library.state != "found" || !library.name.starts_with("libcudnn.so") ||
          !library.version.is_known())
        continue;
      const auto series = catalog.cudnn(*library.version);
      if (!series || !series->cc_min) continue;
      any = true;
      for (const auto& gpu : reachable_gpus(machine).gpus) {
        const auto capability = gpu_capability(machine, catalog, gpu.address);
        if (!capability || *capability >= *series->cc_min) continue;
        Finding finding;
        finding.subject = label_of(framework);
        finding.statement = title(framework) + " loads cuDNN " + library.version->text() +
                            ", which needs compute capability " + series->cc_min->text() + "; " +
                            gpu_name(machine, catalog, gpu) + " has " + capability->text() +
                            ": convolutions fail";
        finding.evidence = {cite("cuDNN that is loaded", library.version),
                            {"compute capability " + capability->text(), gpu.address}};
        finding.cause =
            "the last cuDNN for Maxwell, Pascal and Volta is 9.10.2; a version range without an "
            "upper end brought a newer one";
        finding.fix = {environment_step(pip(machine) + " install 'nvidia-cudnn-cu12==9.10.2.21'",
                                        "the last release with code for this GPU")};
        findings.push_back(std::move(finding));
        break;
      }
      break;
    }
  if (!findings.empty()) return findings;
  return any ? Verdict(Fine{}) : Verdict(NotApplicable{});
}

constexpr Rule kRules[] = {
    {"libraries.file-damaged", "library files hold what their names say", judge_kind<kDamaged>,
     Standing::kOwn},
    {"libraries.file-unreadable", "library files may be read", judge_kind<kUnreadable>,
     Standing::kOwn},
    {"libraries.link-broken", "links to libraries lead to files", judge_kind<kBrokenLink>,
     Standing::kOwn},
    {"libraries.other-architecture", "libraries are for this processor", judge_kind<kArchitecture>,
     Standing::kOwn},
    {"libraries.other-soname", "libraries have the number that is asked for", judge_kind<kSoname>,
     Standing::kOwn},
    {"libraries.cudnn-too-new-for-gpu", "cuDNN has code for this GPU", cudnn_knows_the_gpu,
     Standing::kOwn},
    {"libraries.leftovers", "a directory holds cuDNN of one release", no_leftovers,
     Standing::kAdvice},
};

}  // namespace

std::optional<BadFile> bad_file(const Machine& machine, const ResolvedLibrary& library) {
  if (library.state == "unloadable") return refused(machine, library);
  if (library.state != "missing") return std::nullopt;
  if (auto bad = passed_over(machine, library)) return bad;
  if (lost_path(machine, library)) return std::nullopt;
  return other_soname(machine, library);
}

std::span<const Rule> library_file_rules() { return kRules; }

}  // namespace gpuwright
