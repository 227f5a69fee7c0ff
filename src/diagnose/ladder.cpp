#include "diagnose/ladder.h"

#include <algorithm>

#include "base/text.h"
#include "diagnose/framework.h"
#include "diagnose/gpu.h"
#include "diagnose/setting.h"

namespace gpuwright {
namespace {

constexpr Rung kAllRungs[] = {Rung::kHost,      Rung::kHardware,  Rung::kDriver,
                              Rung::kCuda,      Rung::kLibraries, Rung::kPython,
                              Rung::kFramework, Rung::kWork,      Rung::kSpeed};

bool is_error(const Finding& finding) { return finding.severity == Severity::kError; }

std::string counted(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

// ----------------------------------------------------------------------------- summaries

void add_known(std::vector<std::string>& pieces, const std::string& before,
               const Fact<std::string>& fact, const std::string& after = "") {
  if (fact.is_known()) pieces.push_back(before + *fact + after);
}

std::string host_summary(const Host& host) {
  std::vector<std::string> pieces;
  add_known(pieces, "",
            host.distribution_name.is_known() ? host.distribution_name : host.distribution);
  add_known(pieces, "kernel ", host.kernel_release);
  add_known(pieces, "", host.architecture);
  if (host.glibc.is_known()) pieces.push_back("glibc " + host.glibc->text());
  if (host.wsl.is_known()) {
    pieces.push_back("WSL " + std::to_string(*host.wsl));
  } else {
    add_known(pieces, "", host.hypervisor, " guest");
  }
  add_known(pieces, "", host.sandbox);
  add_known(pieces, "in a container (", host.container, ")");
  return join(pieces, ", ");
}

// Compute capabilities of the GPUs, each once.
std::string capabilities(const Machine& machine, const Catalog& catalog) {
  std::vector<std::string> found;
  for (const auto& gpu : *machine.hardware.gpus) {
    const auto model = catalog.gpu(gpu.device_id);
    if (!model) continue;
    const auto& text = model->compute_capability.text();
    if (std::find(found.begin(), found.end(), text) == found.end()) found.push_back(text);
  }
  return join(found, ", ");
}

std::string hardware_summary(const Machine& machine, const Catalog& catalog) {
  if (is_wsl(machine))
    return machine.hardware.dxg.is(true) ? "the GPU of Windows, by /dev/dxg" : "";
  const auto& gpus = machine.hardware.gpus;
  if (!gpus.is_known()) return gpus.is_unknown() ? "unknown: " + gpus.reason() : "";
  if (gpus->empty()) return "no NVIDIA GPU on the PCI bus";
  const auto known = capabilities(machine, catalog);
  return gpu_names(machine, catalog) + (known.empty() ? "" : ", compute capability " + known);
}

std::string driver_summary(const Machine& machine) {
  if (is_wsl(machine)) return "the driver of Windows";
  const Driver& driver = machine.driver;
  std::vector<std::string> pieces;
  if (driver.module_version.is_known()) {
    pieces.push_back("driver " + driver.module_version->text());
    add_known(pieces, "", driver.module_flavour, " module");
  } else {
    const auto installed = installed_driver(machine);
    pieces.push_back(driver.module_version.is_unknown() ? "version unknown"
                     : installed ? "driver " + installed->version.text() + ", not loaded"
                                 : "no module loaded");
  }
  if (machine.hardware.driver_gpus.is_known())
    pieces.push_back(counted(machine.hardware.driver_gpus->size(), "GPU"));
  return join(pieces, ", ");
}

std::string cuda_summary(const Machine& machine, const Catalog& catalog) {
  std::vector<std::string> pieces;
  if (machine.driver.module_version.is_known()) {
    const auto offered = catalog.cuda_of_driver(*machine.driver.module_version);
    if (offered) pieces.push_back("the driver runs CUDA up to " + offered->text());
  }
  const auto& toolkits = machine.cuda.toolkits;
  if (toolkits.is_known()) {
    std::vector<std::string> versions;
    for (const auto& toolkit : *toolkits)
      versions.push_back(toolkit.version.is_known() ? toolkit.version->text() : toolkit.root);
    pieces.push_back(versions.empty() ? "no toolkit (none is needed to run wheels)"
                                      : "toolkit " + join(versions, ", "));
  }
  return join(pieces, "; ");
}

// Optional libraries are left out: what a framework does not need is not missing.
std::string libraries_of(const Framework& framework) {
  std::size_t all = 0, found = 0;
  for (const auto& library : framework.libraries) {
    if (library.role == "optional") continue;
    ++all;
    found += library.state == "found" ? 1 : 0;
  }
  if (all == 0) return "";
  return framework.name + " " + std::to_string(found) + " of " + std::to_string(all) + " found";
}

std::string libraries_summary(const std::vector<Framework>& frameworks) {
  std::vector<std::string> pieces;
  for (const auto& framework : frameworks)
    if (const auto piece = libraries_of(framework); !piece.empty()) pieces.push_back(piece);
  return join(pieces, "; ");
}

std::string python_summary(const Python& python) {
  const auto& interpreter = python.interpreter;
  if (interpreter.is_absent()) return "no interpreter";
  if (!interpreter.is_known()) return "unknown: " + interpreter.reason();
  const std::string version = interpreter->version.is_known() ? interpreter->version->text() : "";
  std::string text = "Python " + version + (version.empty() ? "" : " ") + "(" + interpreter->kind +
                     "), " + interpreter->path;
  return text + ", " + counted(python.distributions.size(), "distribution");
}

std::string framework_summary(const std::vector<FrameworkAnswer>& answers) {
  std::vector<std::string> pieces;
  for (const auto& answer : answers) {
    std::string piece = answer.framework + (answer.version.empty() ? "" : " " + answer.version);
    switch (answer.answer) {
      case Answer::kUses:
        piece +=
            answer.gpus.empty() ? " uses the GPU" : " uses " + counted(answer.gpus.size(), "GPU");
        break;
      case Answer::kDoesNot:
        piece += " uses no GPU";
        break;
      case Answer::kCannotTell:
        piece += ": cannot tell";
        break;
    }
    pieces.push_back(std::move(piece));
  }
  return pieces.empty() ? "none installed" : join(pieces, "; ");
}

std::string summary_of(Rung rung, const Machine& machine, const Catalog& catalog,
                       const Diagnosis& diagnosis) {
  switch (rung) {
    case Rung::kHost:
      return host_summary(machine.host);
    case Rung::kHardware:
      return hardware_summary(machine, catalog);
    case Rung::kDriver:
      return driver_summary(machine);
    case Rung::kCuda:
      return cuda_summary(machine, catalog);
    case Rung::kLibraries:
      return libraries_summary(machine.frameworks);
    case Rung::kPython:
      return python_summary(machine.python);
    case Rung::kFramework:
      return framework_summary(diagnosis.frameworks);
    case Rung::kWork:
    case Rung::kSpeed:
      break;
  }
  return "";
}

// -------------------------------------------------------------------------------- states

bool is_broken(Rung rung, const Diagnosis& diagnosis) {
  return std::any_of(diagnosis.findings.begin(), diagnosis.findings.end(),
                     [&](const Finding& f) { return f.rung == rung && is_error(f); });
}

std::optional<Rung> broken_below(Rung rung, const Diagnosis& diagnosis) {
  for (const Rung lower : kAllRungs)
    if (lower < rung && depends_on(rung, lower) && is_broken(lower, diagnosis)) return lower;
  return std::nullopt;
}

bool is_undecided(Rung rung, const Diagnosis& diagnosis) {
  if (std::any_of(diagnosis.undecided.begin(), diagnosis.undecided.end(),
                  [&](const Undecision& u) { return u.rung == rung; }))
    return true;
  return rung == Rung::kFramework &&
         std::any_of(diagnosis.frameworks.begin(), diagnosis.frameworks.end(),
                     [](const auto& a) { return a.answer == Answer::kCannotTell; });
}

bool has_subject(Rung rung, const Machine& machine) {
  switch (rung) {
    case Rung::kLibraries:
      return !libraries_summary(machine.frameworks).empty();
    case Rung::kPython:
      return !machine.python.interpreter.is_absent();
    case Rung::kFramework:
      return !machine.frameworks.empty();
    default:
      return true;
  }
}

RungResult judge_rung(Rung rung, const Machine& machine, const Diagnosis& diagnosis) {
  const auto because = broken_below(rung, diagnosis);
  RungState state = RungState::kRight;
  if (rung == Rung::kWork || rung == Rung::kSpeed) {
    return {.rung = rung, .state = RungState::kNotJudged};
  } else if (is_broken(rung, diagnosis)) {
    state = RungState::kBroken;
  } else if (!has_subject(rung, machine) && !is_undecided(rung, diagnosis)) {
    state = RungState::kNotApplicable;
  } else if (because) {
    return {.rung = rung, .state = RungState::kFollows, .because = because};
  } else if (is_undecided(rung, diagnosis)) {
    state = RungState::kUnknown;
  }
  return {.rung = rung, .state = state};
}

}  // namespace

bool depends_on(Rung upper, Rung lower) {
  if (lower >= upper) return false;
  return upper != Rung::kLibraries && upper != Rung::kPython;
}

std::optional<Rung> lowest_broken(const std::vector<Finding>& findings) {
  std::optional<Rung> lowest;
  for (const auto& finding : findings)
    if (is_error(finding) && (!lowest || finding.rung < *lowest)) lowest = finding.rung;
  return lowest;
}

std::vector<RungResult> climb(const Machine& machine, const Catalog& catalog,
                              const Diagnosis& diagnosis, const std::set<Rung>& only) {
  std::vector<RungResult> rungs;
  for (const Rung rung : kAllRungs) {
    if (!only.empty() && !only.contains(rung)) {
      rungs.push_back({.rung = rung, .state = RungState::kNotJudged});
      continue;
    }
    RungResult result = judge_rung(rung, machine, diagnosis);
    result.summary = summary_of(rung, machine, catalog, diagnosis);
    rungs.push_back(std::move(result));
  }
  return rungs;
}

}  // namespace gpuwright
