#include "diagnose/framework_requirements.h"

#include <array>

#include "base/text.h"
#include "diagnose/fix.h"
#include "diagnose/framework_rule.h"
#include "diagnose/packages.h"

namespace gpuwright {
namespace {

std::string install(const Machine& machine, const std::string& requirement) {
  return pip(machine) + " install " + shell_word(requirement);
}

// ------------------------------------------------------------------------------ NumPy

// Compiled packages that an import of the framework brings, and their first release for NumPy 2.
struct CompiledPart {
  const char* package;
  const char* first;
  bool tensorflow, jax;  ///< Who imports it.
};
constexpr std::array kCompiledParts = {
    CompiledPart{"h5py", "3.11", true, false},
    CompiledPart{"ml-dtypes", "0.4", true, true},
};

// Built for NumPy 1 and met by NumPy 2: the framework itself, or a package that it imports.
std::optional<Evidence> part_of_numpy1(const Machine& machine, const Catalog& catalog,
                                       const Framework& framework, Version& first) {
  const auto built = catalog.first_numpy2(framework.name);
  const auto& version = framework.name == "jax" ? framework.core_version : framework.version;
  if (built && version.is_known() && *version < *built && !is_conda_build(machine, framework)) {
    first = *built;
    return Evidence{title(framework) + " is built for NumPy 1", framework.location};
  }
  for (const auto& part : kCompiledParts) {
    if (!(framework.name == "tensorflow" ? part.tensorflow : framework.name == "jax" && part.jax))
      continue;
    const auto* package = installed(machine, part.package);
    if (package == nullptr || package->location.ends_with("conda-meta")) continue;
    const auto its = version_of(*package);
    if (!its || *its >= Version::of(part.first) || in_conda(machine)) continue;
    first = Version::of(part.first);
    return Evidence{package->name + " " + package->version + " is built for NumPy 1",
                    package->location};
  }
  return std::nullopt;
}

}  // namespace

// Without an upper bound in the metadata (TensorFlow up to 2.11, h5py) pip takes the newest NumPy,
// and another package may bring it at any time.
Verdict numpy_fits(const Machine& machine, const Catalog& catalog) {
  return each_framework(machine, [&](const Framework& framework) -> Verdict {
    const auto* numpy = installed(machine, "numpy");
    const auto version = numpy == nullptr ? std::nullopt : version_of(*numpy);
    if (!version) return NotApplicable{};
    if (version->major_part() < 2) return Fine{};
    Version first;
    const auto part = part_of_numpy1(machine, catalog, framework, first);
    if (!part) return Fine{};
    // PyTorch works without NumPy, and then cannot hand arrays over.
    const bool torch = framework.name == "torch";
    Finding finding;
    finding.severity = torch ? Severity::kWarning : Severity::kError;
    finding.statement =
        part->text + " (for NumPy 2 from " + first.text() + " on), and NumPy is " + numpy->version +
        (torch ? ": tensor.numpy() and torch.from_numpy() fail" : ": the import fails");
    finding.evidence = {*part, cite_package(*numpy)};
    if (const auto* owner = owner_of(machine, framework))
      if (const auto asked = unmet(machine, *owner, "numpy", *version))
        finding.evidence.push_back(cite_requirement(*owner, *asked));
    finding.cause =
        "NumPy was upgraded on its own or by another package; the message is '_ARRAY_API not "
        "found', "
        "'numpy.core.multiarray failed to import' or 'numpy.dtype size changed'";
    finding.fix = {
        environment_step(install(machine, "numpy<2"), "the last NumPy of the first line"),
        advice("or upgrade what is built for NumPy 1 to " + first.text() + " or newer")};
    return finding;
  });
}

// ----------------------------------------------------------------------- other imports

namespace {

// Pairs that were seen to break the import. `needs`: a version below what the framework's metadata
// ask for; otherwise the versions from `from` on.
struct Breakage {
  const char* package;
  const char* first;  ///< TensorFlow releases from this
  const char* last;   ///< up to this minor series; empty for all newer ones.
  const char* from;   ///< Package versions from this on break it; empty: those below the metadata.
  const char* below;  ///< And only below this one; empty for no limit.
  const char* symptom;
};
constexpr std::array kBreakages = {
    Breakage{"protobuf", "1.0", "2.11", "4", "", "Descriptors cannot be created directly"},
    Breakage{"protobuf", "2.20", "", "", "",
             "cannot import name 'runtime_version', or a VersionError of protobuf"},
    Breakage{"ml-dtypes", "2.20", "", "", "", "module 'ml_dtypes' has no attribute 'int2'"},
    Breakage{"numpy", "2.20", "", "", "1.25", "module 'numpy' has no attribute 'dtypes'"},
};

bool concerns(const Breakage& breakage, const Version& release) {
  if (release < Version::of(breakage.first)) return false;
  const std::string_view last = breakage.last;
  return last.empty() || release < Version::of(last) || release.same_series(Version::of(last), 2);
}

bool is_relieved(const Machine& machine, const Breakage& breakage) {
  return std::string_view(breakage.package) == "protobuf" &&
         variable(machine, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION") == "python";
}

std::optional<Finding> breakage_of(const Machine& machine, const Framework& framework,
                                   const Breakage& breakage) {
  const auto* package = installed(machine, breakage.package);
  const auto* owner = owner_of(machine, framework);
  const auto version = package == nullptr ? std::nullopt : version_of(*package);
  if (!version || owner == nullptr || !concerns(breakage, *framework.version)) return std::nullopt;
  const auto asked = unmet(machine, *owner, breakage.package, *version);
  const std::string_view from = breakage.from;
  const std::string_view below = breakage.below;
  const bool too_new = !from.empty() && *version >= Version::of(from);
  const bool too_old = from.empty() && asked && asked->range.is_above(*version) &&
                       (below.empty() || *version < Version::of(below));
  if ((!too_new && !too_old) || (too_new && is_relieved(machine, breakage))) return std::nullopt;
  Finding finding;
  finding.statement = title(framework) + " cannot be imported with " + package->name + " " +
                      package->version + ", which is too " + (too_new ? "new" : "old") + ": " +
                      breakage.symptom;
  finding.evidence = {cite_package(*package)};
  if (asked) finding.evidence.push_back(cite_requirement(*owner, *asked));
  finding.cause = "another package brought its own version, or pip was told to ignore requirements";
  const auto wanted = asked ? asked->range.text() : "<" + std::string(from);
  finding.fix = {environment_step(install(machine, package->name + wanted),
                                  "a version that this TensorFlow works with")};
  return finding;
}

}  // namespace

Verdict dependencies_fit(const Machine& machine, const Catalog&) {
  return each_framework(machine, [&](const Framework& framework) -> Verdict {
    if (framework.name != "tensorflow" || !framework.version.is_known() ||
        is_conda_build(machine, framework))
      return NotApplicable{};
    for (const auto& breakage : kBreakages)
      if (auto finding = breakage_of(machine, framework, breakage)) return std::move(*finding);
    return Fine{};
  });
}

// From 2.16 on tf.keras is Keras 3, loaded at its first use: the import works and tf.keras.layers
// raises AttributeError. The reverse, Keras 3 under 2.15, works.
Verdict keras_fits(const Machine& machine, const Catalog&) {
  return each_framework(machine, [&](const Framework& framework) -> Verdict {
    const auto* keras = installed(machine, "keras");
    const auto version = keras == nullptr ? std::nullopt : version_of(*keras);
    if (framework.name != "tensorflow" || !framework.version.is_known() || !version)
      return NotApplicable{};
    const bool legacy = variable(machine, "TF_USE_LEGACY_KERAS").value_or("0") == "1" &&
                        installed(machine, "tf-keras") != nullptr;
    if (*framework.version < Version::of("2.16") || version->major_part() >= 3 || legacy)
      return Fine{};
    Finding finding;
    finding.severity = Severity::kWarning;
    finding.statement = title(framework) + " takes tf.keras from Keras 3, and keras is " +
                        keras->version + ": tf.keras raises AttributeError at its first use";
    finding.evidence = {cite_package(*keras)};
    if (const auto* owner = owner_of(machine, framework))
      if (const auto asked = unmet(machine, *owner, "keras", *version))
        finding.evidence.push_back(cite_requirement(*owner, *asked));
    finding.cause = "a requirement pins Keras 2, or TensorFlow was upgraded alone";
    finding.fix = {environment_step(install(machine, "keras>=3"), "the Keras of this TensorFlow"),
                   environment_step(install(machine, "tf-keras"),
                                    "or, for code of Keras 2: this package with "
                                    "TF_USE_LEGACY_KERAS=1 in the environment")};
    return finding;
  });
}

// -------------------------------------------------------------------------- companions

namespace {

// Packages whose compiled code or calls are for one release of a framework, judged by their own
// requirement on it.
struct Companion {
  const char* package;
  const char* framework;
  bool series;  ///< Only another minor series matters: patch releases keep the ABI.
  bool above;   ///< Only a framework older than asked for matters.
  const char* effect;
};
constexpr std::array kCompanions = {
    Companion{"torchvision", "torch", true, false, "operator torchvision::nms does not exist"},
    Companion{"torchaudio", "torch", true, false, "an undefined symbol when it is imported"},
    Companion{"torchtext", "torch", true, false, "an undefined symbol when it is imported"},
    Companion{"tensorflow-text", "tensorflow", true, true,
              "an undefined symbol when it is imported"},
    Companion{"flax", "jax", false, true, "attributes that this jax does not have"},
};

// The bound that is nearest: "==2.4.1" has 2.4 as its series.
bool same_series(const Requirement& asked, const Version& version) {
  const auto text = asked.range.text();
  const auto digits = text.find_first_of("0123456789");
  const auto bound = digits == std::string::npos
                         ? Result<Version>(fail("no version"))
                         : Version::parse(text.substr(digits, text.find(',') - digits));
  return bound && text.starts_with("==") && bound->same_series(version, 2);
}

Finding companion_finding(const Machine& machine, const Framework& framework,
                          const Distribution& package, std::string effect, Evidence wanted) {
  Finding finding;
  finding.severity = Severity::kWarning;
  finding.subject = label_of(framework);
  finding.statement = wanted.text + ", and here is " + title(framework) + ": " + effect;
  finding.evidence = {std::move(wanted), cite("version of the framework", framework.version)};
  finding.cause = "one of the two was installed or upgraded without the other";
  finding.certainty = Certainty::kLikely;
  const auto release = framework.version->text().substr(0, framework.version->text().find('+'));
  finding.fix = {environment_step(
      pip(machine) + " install --upgrade " + package.name + " " +
          shell_word((framework.distribution.empty() ? framework.name : framework.distribution) +
                     "==" + release),
      "lets pip choose the release of " + package.name + " that goes with this framework")};
  return finding;
}

std::optional<Finding> companion_of(const Machine& machine, const Framework& framework,
                                    const Companion& companion) {
  const auto* package = installed(machine, companion.package);
  if (framework.name != companion.framework || package == nullptr) return std::nullopt;
  const auto asked = unmet(machine, *package, companion.framework, *framework.version);
  if (!asked || (companion.above && !asked->range.is_above(*framework.version)))
    return std::nullopt;
  if (companion.series && same_series(*asked, *framework.version)) return std::nullopt;
  return companion_finding(machine, framework, *package, companion.effect,
                           cite_requirement(*package, *asked));
}

// tensorflow-addons names no TensorFlow in its metadata; its readers are told by a table.
std::optional<Finding> addons_of(const Machine& machine, const Catalog& catalog,
                                 const Framework& framework) {
  const auto* package = installed(machine, "tensorflow-addons");
  const auto version = package == nullptr ? std::nullopt : version_of(*package);
  if (framework.name != "tensorflow" || !version) return std::nullopt;
  const auto match = catalog.companion(package->name, *version);
  const bool old_keras = *framework.version < Version::of("2.16");
  if (!match || (old_keras && framework.version->same_series(match->tensorflow, 2)))
    return std::nullopt;
  auto finding =
      companion_finding(machine, framework, *package,
                        old_keras ? "its compiled operations may fail to load"
                                  : "its import fails with No module named 'keras.src.engine'",
                        {package->name + " " + package->version + " is made for TensorFlow " +
                             match->tensorflow.text(),
                         package->location});
  if (!old_keras)
    finding.fix = {
        advice("tensorflow-addons has no release for 2.16 and newer: take what is needed "
               "from Keras, or stay with TensorFlow 2.15")};
  return finding;
}

// tensorflow-probability compares at its first use and raises ImportError.
std::optional<Finding> probability_of(const Machine& machine, const Catalog& catalog,
                                      const Framework& framework) {
  const auto* package = installed(machine, "tensorflow-probability");
  const auto version = package == nullptr ? std::nullopt : version_of(*package);
  if (framework.name != "tensorflow" || !version) return std::nullopt;
  const auto match = catalog.companion(package->name, *version);
  if (!match || !match->or_newer || *framework.version >= match->tensorflow) return std::nullopt;
  auto finding =
      companion_finding(machine, framework, *package, "it raises ImportError when it is first used",
                        {package->name + " " + package->version + " is for TensorFlow " +
                             match->tensorflow.text() + " and newer",
                         package->location});
  finding.certainty = Certainty::kProven;
  finding.fix = {environment_step(install(machine, package->name + "<" + package->version),
                                  "an older release, until it fits this TensorFlow")};
  return finding;
}

// torchvision from the index of CPU builds beside a torch with CUDA.
std::optional<Finding> cpu_vision(const Machine& machine, const Framework& framework) {
  const auto* package = installed(machine, "torchvision");
  if (framework.name != "torch" || package == nullptr || !framework.build.is("cuda") ||
      !package->version.ends_with("+cpu"))
    return std::nullopt;
  auto finding = companion_finding(
      machine, framework, *package, "its operations (nms, roi_align) do not run on the GPU",
      {package->name + " " + package->version + " is the build for the CPU", package->location});
  finding.certainty = Certainty::kProven;
  finding.fix = {environment_step(pip(machine) +
                                      " install --force-reinstall --no-deps torchvision==" +
                                      package->version.substr(0, package->version.find('+')),
                                  "the build of the index that has torch with CUDA")};
  return finding;
}

}  // namespace

Verdict companions_fit(const Machine& machine, const Catalog& catalog) {
  std::vector<Finding> findings;
  for (const auto& framework : machine.frameworks) {
    if (!framework.version.is_known()) continue;
    for (const auto& companion : kCompanions)
      if (auto finding = companion_of(machine, framework, companion))
        findings.push_back(std::move(*finding));
    if (auto finding = addons_of(machine, catalog, framework))
      findings.push_back(std::move(*finding));
    if (auto finding = probability_of(machine, catalog, framework))
      findings.push_back(std::move(*finding));
    if (auto finding = cpu_vision(machine, framework)) findings.push_back(std::move(*finding));
  }
  return findings.empty() ? Verdict(Fine{}) : Verdict(findings);
}

}  // namespace gpuwright
