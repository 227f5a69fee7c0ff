#include <algorithm>

#include "base/text.h"
#include "diagnose/framework.h"

// Rules about the files that a framework's library names become: all found, and yet a set that does
// not belong together.

namespace gpuwright {
namespace {

// From the wheels of a Python environment: ".../site-packages/nvidia/cudnn/lib/libcudnn.so.9".
bool is_wheel_file(std::string_view path) {
  return path.find("-packages/nvidia/") != std::string_view::npos;
}

std::string with_version(const ResolvedLibrary& library) {
  return library.real_path +
         (library.version.is_known() ? " (" + library.version->text() + ")" : std::string());
}

// LD_LIBRARY_PATH beats DT_RUNPATH, so a toolkit in it replaces part of a framework's own wheels.
// Between the same versions that is harmless; told as a warning, since the versions that fit were
// chosen with the framework.
Verdict wheels_are_used(const Machine& machine, const Catalog&) {
  std::vector<Finding> findings;
  for (const auto& framework : machine.frameworks)
    for (const auto& library : framework.libraries) {
      if (library.state != "found" || is_wheel_file(library.real_path)) continue;
      const auto wheel =
          std::find_if(library.shadows.begin(), library.shadows.end(), is_wheel_file);
      if (wheel == library.shadows.end()) continue;
      Finding finding;
      finding.severity = Severity::kWarning;
      finding.subject = label_of(framework);
      finding.statement = label_of(framework) + " loads " + with_version(library) +
                          " and not the " + library.name + " of its own environment (" + *wheel +
                          ")";
      finding.evidence = {{library.name + " by " + library.rule, library.opener},
                          {"shadowed copy", *wheel}};
      finding.cause = library.rule.find("LD_LIBRARY_PATH") != std::string::npos
                          ? "LD_LIBRARY_PATH comes before the search path built into the framework"
                          : "the search of the opening object reaches the system's copy first";
      if (library.rule.find("LD_LIBRARY_PATH") != std::string::npos)
        finding.fix = {{.command = "unset LD_LIBRARY_PATH",
                        .text = "or remove the toolkit's directory from it",
                        .needs_root = false,
                        .changes = "this shell and what is started from it",
                        .undo = "open a new shell"}};
      findings.push_back(std::move(finding));
    }
  if (!findings.empty()) return findings;
  return machine.frameworks.empty() ? Verdict(NotApplicable{}) : Verdict(Fine{});
}

// cuDNN asks for its parts by bare name, the full version first. Parts of another release, or of
// the same release from another directory, are refused at the first convolution.
Verdict cudnn_is_one_set(const Machine& machine, const Catalog&) {
  std::vector<Finding> findings;
  bool any = false;
  for (const auto& framework : machine.frameworks) {
    const auto& libraries = framework.libraries;
    const auto main = std::find_if(libraries.begin(), libraries.end(), [](const auto& library) {
      return library.state == "found" && library.name.starts_with("libcudnn.so");
    });
    if (main == libraries.end()) continue;
    any = true;
    const auto home = path_directory(main->real_path);
    for (const auto& part : libraries) {
      if (!path_name(part.real_path).starts_with("libcudnn_") || part.state != "found" ||
          path_directory(part.real_path) == home)
        continue;
      Finding finding;
      finding.subject = label_of(framework);
      finding.statement =
          label_of(framework) + " takes libcudnn from " + with_version(*main) + " and " +
          std::string(path_name(part.real_path)) + " from " + with_version(part) +
          ": convolutions fail with CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED or a version mismatch";
      finding.evidence = {{main->name + " by " + main->rule, main->real_path},
                          {part.name + " by " + part.rule, part.real_path}};
      finding.cause =
          "two installations of cuDNN are on the search path, often one by pip and one by the "
          "system";
      finding.fix = {{.command = "unset LD_LIBRARY_PATH",
                      .text = "if the second directory comes from there; otherwise remove one of "
                              "the two installations",
                      .needs_root = false,
                      .changes = "this shell and what is started from it",
                      .undo = "open a new shell"}};
      const bool same_version =
          main->version.is_known() && part.version.is_known() && *main->version == *part.version;
      if (same_version) {
        finding.severity = Severity::kWarning;
        finding.statement = label_of(framework) + " takes libcudnn and " +
                            std::string(path_name(part.real_path)) +
                            " of one version from two directories (" + home + " and " +
                            path_directory(part.real_path) + ")";
      }
      findings.push_back(std::move(finding));
      break;
    }
  }
  if (!findings.empty()) return findings;
  return any ? Verdict(Fine{}) : Verdict(NotApplicable{});
}

const Toolkit* toolkit_of(const Machine& machine, const std::string& path) {
  if (!machine.cuda.toolkits.is_known()) return nullptr;
  for (const auto& toolkit : *machine.cuda.toolkits)
    if (path.starts_with(toolkit.root + "/") && toolkit.root != "/usr") return &toolkit;
  return nullptr;
}

// CUDA 12 and 13 share sonames (libcusparse.so.12, libcudnn.so.9), so a framework built for one can
// pick up the other's file without an error.
Verdict one_cuda_major(const Machine& machine, const Catalog& catalog) {
  std::vector<Finding> findings;
  bool any = false;
  for (const auto& framework : machine.frameworks) {
    const auto cuda = cuda_of_build(framework, catalog);
    if (!cuda) continue;
    for (const auto& library : framework.libraries) {
      if (library.state != "found") continue;
      any = true;
      const auto* toolkit = toolkit_of(machine, library.real_path);
      if (toolkit == nullptr || !toolkit->version.is_known() ||
          toolkit->version->major_part() == cuda->major_part())
        continue;
      Finding finding;
      finding.severity = Severity::kWarning;
      finding.subject = label_of(framework);
      finding.statement = label_of(framework) + " is built for CUDA " + cuda->text() +
                          " and loads " + library.name + " of CUDA " + toolkit->version->text() +
                          " (" + library.real_path + ")";
      finding.evidence = {{library.name + " by " + library.rule, library.opener},
                          cite("the toolkit", toolkit->version)};
      finding.cause =
          "the two CUDA releases use the same name for this library, and the right one is not "
          "installed where the search looks";
      findings.push_back(std::move(finding));
      break;
    }
  }
  if (!findings.empty()) return findings;
  return any ? Verdict(Fine{}) : Verdict(NotApplicable{});
}

constexpr Rule kRules[] = {
    {"libraries.wheel-overridden", "frameworks load the libraries of their own environment",
     wheels_are_used, Standing::kAdvice},
    {"libraries.cudnn-mixed", "cuDNN and its parts come from one installation", cudnn_is_one_set,
     Standing::kOwn},
    {"libraries.other-cuda", "frameworks load libraries of the CUDA they were built for",
     one_cuda_major, Standing::kAdvice},
};

}  // namespace

std::span<const Rule> framework_library_rules() { return kRules; }

}  // namespace gpuwright
