#include <algorithm>
#include <optional>

#include "base/text.h"
#include "diagnose/fix.h"
#include "diagnose/gpu.h"
#include "diagnose/rule.h"
#include "diagnose/setting.h"

namespace gpuwright {
namespace {

constexpr std::string_view kCuda = "libcuda.so.1";
constexpr std::string_view kNvml = "libnvidia-ml.so.1";

Evidence cite_library(const DriverLibrary& library) {
  return {library.name + " -> " + library.real_path + " (" + library.found_by + ")", library.path};
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// ------------------------------------------------------------------------------- stubs

bool is_stub_element(const PathElement& element) {
  return contains(element.holds, "(stub)") || contains(element.text, "/stubs");
}

std::vector<FixStep> take_stub_off_path(const Machine& machine) {
  return {library_path_without(machine, is_stub_element,
                               "without the stubs directory; take it out of ~/.bashrc or the "
                               "module file that sets it as well"),
          user_step("grep -n stubs ~/.bashrc ~/.profile /etc/environment /etc/profile.d/*",
                    "where it is set", "nothing", "none needed")};
}

std::vector<FixStep> take_stub_away(const Machine& machine, const DriverLibrary& library) {
  if (library.found_by == "LD_LIBRARY_PATH") return take_stub_off_path(machine);
  if (library.found_by == "ld.so.cache")
    return {user_step("grep -rn stubs /etc/ld.so.conf /etc/ld.so.conf.d", "where it is named",
                      "nothing", "none needed"),
            root_step("sudo sed -i '/stubs/d' /etc/ld.so.conf.d/*.conf && sudo ldconfig",
                      "takes it out of the loader's cache", "files in /etc/ld.so.conf.d",
                      "write the line back and run ldconfig")};
  return {root_step(
      "sudo rm " + shell_word(library.path) + " && sudo ldconfig",
      "a stub has no business in a directory that programs search", "removes that file or link",
      "sudo ln -s " + shell_word(library.real_path) + " " + shell_word(library.path))};
}

constexpr const char* kWhyStub =
    "a stubs directory, meant for the linker (LIBRARY_PATH), was put where programs look at run "
    "time";

std::vector<Evidence> stubs_on_path(const Machine& machine) {
  std::vector<Evidence> found;
  for (const auto& element : machine.cuda.library_path.value_or({}))
    if (element.exists && is_stub_element(element))
      found.push_back({"LD_LIBRARY_PATH has " + element.text + " with " + element.holds,
                       machine.cuda.library_path.source()});
  return found;
}

Finding stub_is_chosen(const Machine& machine, const DriverLibrary& library) {
  std::vector<Evidence> evidence = stubs_on_path(machine);
  evidence.insert(evidence.begin(), cite_library(library));
  return {
      .severity = library.name == kCuda ? Severity::kError : Severity::kWarning,
      .statement = library.name + " is the toolkit's stub (" + library.real_path + ", by " +
                   library.found_by + "), not the driver's library",
      .evidence = std::move(evidence),
      .cause = kWhyStub,
      .fix = take_stub_away(machine, library),
  };
}

// Most programs ask for libcuda.so.1, which a stubs directory does not have; numba, cuDNN 8 and
// what was linked by hand ask for libcuda.so, which it has.
Finding stub_waits(const Machine& machine, std::vector<Evidence> evidence) {
  return {
      .severity = Severity::kWarning,
      .statement =
          "LD_LIBRARY_PATH has a toolkit's stubs directory: programs that ask for "
          "libcuda.so, without .1, load the stub instead of the driver's library",
      .evidence = std::move(evidence),
      .cause = kWhyStub,
      .fix = take_stub_off_path(machine),
  };
}

// A toolkit's stubs directory serves the linker on machines without a driver. Its libcuda.so has
// the SONAME libcuda.so.1, so a copy or link under that name, or a path to it, satisfies the
// loader, and then every call answers 34, CUDA_ERROR_STUB_LIBRARY.
Verdict no_stub_is_chosen(const Machine& machine, const Catalog&) {
  const auto& libraries = machine.driver.libraries;
  if (libraries.is_unknown()) return Undecided{{cite("driver libraries", libraries)}};
  std::vector<Finding> findings;
  for (const auto name : {kCuda, kNvml}) {
    const DriverLibrary* library = chosen_library(machine, name);
    if (library != nullptr && library->kind == "stub")
      findings.push_back(stub_is_chosen(machine, *library));
  }
  if (!findings.empty()) return findings;
  auto waiting = stubs_on_path(machine);
  if (!waiting.empty()) return stub_waits(machine, std::move(waiting));
  return libraries.is_known() ? Verdict(Fine{}) : NotApplicable{};
}

// ------------------------------------------------------------------------------- compat

/// Whether forward compatibility may be used with these GPUs.
enum class Allowance { kForbidden, kAllowed, kUnknown };

constexpr std::string_view kDataCentreBoards[] = {
    "Tesla", "P100",  "V100", "T4",   "A2",   "A10",   "A16",  "A30",  "A40",
    "A100",  "A800",  "L4",   "L20",  "L40",  "L40S",  "H20",  "H100", "H200",
    "H800",  "GH200", "B100", "B200", "B300", "GB200", "GB300"};

bool is_data_centre_board(const std::string& name) {
  std::string spaced = name;
  std::replace(spaced.begin(), spaced.end(), '-', ' ');
  const auto parts = words(spaced);
  return std::any_of(parts.begin(), parts.end(), [](std::string_view part) {
    return std::find(std::begin(kDataCentreBoards), std::end(kDataCentreBoards), part) !=
           std::end(kDataCentreBoards);
  });
}

// NVIDIA allows it on data-centre GPUs and on some of its workstation boards, never on GeForce.
Allowance allowance(const std::string& name) {
  if (contains(name, "GeForce") || contains(name, "TITAN")) return Allowance::kForbidden;
  return is_data_centre_board(name) ? Allowance::kAllowed : Allowance::kUnknown;
}

Allowance allowance_of_gpus(const Machine& machine, const Catalog& catalog) {
  if (!machine.hardware.gpus.is_known() || machine.hardware.gpus->empty())
    return Allowance::kUnknown;
  Allowance all = Allowance::kAllowed;
  for (const auto& gpu : *machine.hardware.gpus) {
    const auto one = allowance(gpu_name(machine, catalog, gpu));
    if (one == Allowance::kForbidden) return one;
    if (one == Allowance::kUnknown) all = one;
  }
  return all;
}

bool is_compat_element(const PathElement& element) {
  return contains(element.holds, "(compat)") || contains(element.text, "/compat");
}

std::vector<FixStep> take_compat_away(const Machine& machine, const DriverLibrary& library) {
  std::vector<FixStep> steps;
  if (library.found_by == "LD_LIBRARY_PATH")
    steps.push_back(
        library_path_without(machine, is_compat_element, "without the compat directory"));
  const auto packages = installed_packages(machine, {"cuda-compat"});
  const std::string command = pick(
      machine,
      {.apt = packages.empty() ? "" : "sudo apt purge " + join(packages, " ") + " && sudo ldconfig",
       .dnf = "sudo dnf remove 'cuda-compat-*' && sudo ldconfig",
       .zypper = "sudo zypper remove 'cuda-compat-*' && sudo "
                 "ldconfig",
       .pacman = ""});
  if (!command.empty())
    steps.push_back(root_step(command,
                              machine.host.container.is_known()
                                  ? "in the image, where an entrypoint may turn it on again"
                                  : "removes it for good",
                              "removes the compat package", "install it again"));
  steps.push_back(
      advice("or bring the driver to the branch that the newer CUDA needs; then nothing "
             "asks for the compat library"));
  return steps;
}

Finding compat_finding(const Machine& machine, const Catalog& catalog, const DriverLibrary& library,
                       bool older) {
  const std::string compat = library.version->text();
  const std::string module = machine.driver.module_version->text();
  return {
      .statement = older
                       ? "libcuda.so.1 comes from a compat directory and is older (" + compat +
                             ") than the loaded module (" + module + ")"
                       : "libcuda.so.1 comes from a compat directory (" + compat + " over module " +
                             module + "), which " + gpu_names(machine, catalog) + " does not allow",
      .evidence = {cite_library(library), cite("loaded module", machine.driver.module_version)},
      .cause =
          older ? "the compat package was made for an older driver; the driver has been upgraded "
                  "since, and LD_LIBRARY_PATH or the loader's cache still prefers the package"
                : "the image or LD_LIBRARY_PATH turns on cuda-compat, which GeForce boards refuse "
                  "(error 804)",
      .fix = take_compat_away(machine, library),
      .certainty = Certainty::kLikely,
  };
}

// cuda-compat is a newer driver's libcuda over an older module: deliberate, allowed for some
// boards, and only that way round.
Verdict compat_is_allowed(const Machine& machine, const Catalog& catalog) {
  const DriverLibrary* library = chosen_library(machine, kCuda);
  if (library == nullptr || library->kind != "compat") return NotApplicable{};
  if (is_wsl(machine) || setting_of(machine) == Setting::kGvisor || is_jetson(machine))
    return NotApplicable{};
  const auto& module = machine.driver.module_version;
  if (module.is_absent()) return NotApplicable{};
  if (!module.is_known() || !library->version.is_known())
    return Undecided{{cite("loaded module", module), cite("compat library", library->version)}};
  if (*library->version == *module) return Fine{};
  if (*library->version < *module) return compat_finding(machine, catalog, *library, true);
  switch (allowance_of_gpus(machine, catalog)) {
    case Allowance::kAllowed:
      return Fine{};
    case Allowance::kForbidden:
      return compat_finding(machine, catalog, *library, false);
    case Allowance::kUnknown:
      break;
  }
  return Undecided{
      {{"whether " + gpu_names(machine, catalog) + " allows cuda-compat is not in the catalogue",
        "catalogue"}}};
}

// ---------------------------------------------------------------------- LD_LIBRARY_PATH

// What is wrong with one element, if anything; the loader says nothing about any of these.
struct ElementFault {
  Severity severity;
  std::string text;
};

// The images of NVIDIA name these two whether or not they are there.
bool is_customary(const std::string& path) {
  return path == "/usr/local/nvidia/lib" || path == "/usr/local/nvidia/lib64";
}

bool has_loader_token(const std::string& text) {
  return contains(text, "$ORIGIN") || contains(text, "${ORIGIN}") || contains(text, "$LIB") ||
         contains(text, "${LIB}") || contains(text, "$PLATFORM") || contains(text, "${PLATFORM}");
}

std::optional<ElementFault> fault_of(const PathElement& element) {
  const std::string& text = element.text;
  if (text.empty())
    return ElementFault{Severity::kInfo,
                        "an empty element, which is the current directory of every program"};
  if (element.exists) return std::nullopt;
  const std::string quoted = "'" + printable(text) + "'";
  if (text.find_first_of("*?[") != std::string::npos)
    return ElementFault{
        Severity::kWarning,
        quoted + ", a pattern that no shell expanded: the loader takes it literally"};
  if (text.starts_with('~'))
    return ElementFault{Severity::kWarning,
                        quoted + ", whose ~ no shell expanded: the loader takes it literally"};
  if (has_loader_token(text)) return std::nullopt;
  if (contains(text, "$"))
    return ElementFault{Severity::kWarning,
                        quoted + ", whose variable no shell expanded: the loader drops it"};
  if (is_customary(text)) return std::nullopt;
  return ElementFault{Severity::kInfo, quoted + ", which does not exist"};
}

bool is_faulty(const PathElement& element) { return fault_of(element).has_value(); }

Verdict library_path_is_sound(const Machine& machine, const Catalog&) {
  const auto& path = machine.cuda.library_path;
  if (path.is_absent()) return NotApplicable{};
  if (!path.is_known()) return Undecided{{cite("LD_LIBRARY_PATH", path)}};
  Severity severity = Severity::kInfo;
  std::vector<std::string> faults;
  std::vector<Evidence> evidence;
  for (const auto& element : *path) {
    const auto fault = fault_of(element);
    if (!fault) continue;
    if (fault->severity == Severity::kWarning) severity = Severity::kWarning;
    faults.push_back(fault->text);
    evidence.push_back({fault->text, path.source()});
  }
  if (faults.empty()) return Fine{};
  return Finding{
      .severity = severity,
      .statement = "LD_LIBRARY_PATH has " + join(faults, "; "),
      .evidence = std::move(evidence),
      .cause =
          "a line such as export LD_LIBRARY_PATH=$LD_LIBRARY_PATH:/x where the variable was "
          "empty, a pattern or ~ in quotes, or a directory that has moved",
      .fix = {library_path_without(machine, is_faulty, "the same without them")},
  };
}

// --------------------------------------------------------------------------- toolkits

const Toolkit* toolkit_where(const std::vector<Toolkit>& toolkits, bool Toolkit::*holds) {
  const auto found = std::find_if(toolkits.begin(), toolkits.end(),
                                  [&](const Toolkit& toolkit) { return toolkit.*holds; });
  return found == toolkits.end() ? nullptr : &*found;
}

std::string described(const Toolkit& toolkit) {
  return toolkit.version.is_known() ? toolkit.version->text() + " (" + toolkit.root + ")"
                                    : toolkit.root;
}

// None of this matters to a framework from a wheel, which brings its own runtime; it does to
// whoever compiles an extension, whose build takes nvcc from PATH and the rest from CUDA_HOME.
Verdict toolkits_agree(const Machine& machine, const Catalog&) {
  const auto& toolkits = machine.cuda.toolkits;
  if (!toolkits.is_known()) return NotApplicable{};
  const Toolkit* on_path = toolkit_where(*toolkits, &Toolkit::on_path);
  const Toolkit* linked = toolkit_where(*toolkits, &Toolkit::linked);
  if (on_path == nullptr || linked == nullptr || on_path == linked) return Fine{};
  return Finding{
      .severity = Severity::kInfo,
      .statement = "PATH chooses the nvcc of toolkit " + described(*on_path) +
                   ", and /usr/local/cuda leads to " + described(*linked),
      .evidence = {cite("nvcc on PATH", machine.cuda.nvcc_on_path),
                   {"/usr/local/cuda -> " + linked->root, "/usr/local/cuda"}},
      .cause = "several toolkits are installed, and the link and PATH were set at different times",
      .fix = {user_step("export PATH=" + shell_word(linked->root + "/bin") +
                            ":\"$PATH\" CUDA_HOME=" + shell_word(linked->root),
                        "takes both from one toolkit; only compiling needs it",
                        "this shell and what is started from it", "open a new shell")},
  };
}

constexpr Rule kRules[] = {
    {"cuda.stub-library", "programs load the driver's libcuda.so.1 and not a toolkit's stub",
     no_stub_is_chosen, Standing::kOwn},
    {"cuda.compat-shadows-driver", "a compat libcuda is newer than the module and allowed",
     compat_is_allowed},
    {"cuda.library-path-broken", "every element of LD_LIBRARY_PATH is a directory",
     library_path_is_sound, Standing::kAdvice},
    {"cuda.toolkits-differ", "PATH and /usr/local/cuda choose one toolkit", toolkits_agree,
     Standing::kAdvice},
};

}  // namespace

std::span<const Rule> cuda_rules() { return kRules; }

}  // namespace gpuwright
