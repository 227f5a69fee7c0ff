#pragma once

#include "diagnose/diagnose.h"
#include "machine/machine.h"

namespace gpuwright {

/// A machine whose driver was upgraded without a reboot, as a diagnosis might look.
inline Diagnosis broken_driver() {
  Diagnosis diagnosis;
  diagnosis.outcome = Outcome::kProblems;
  diagnosis.verdict = "the driver is broken: the loaded module and libnvidia-ml.so.1 differ";
  diagnosis.rungs = {
      {Rung::kHost, RungState::kRight, "Debian 12, kernel 6.1.0-27-amd64", {}},
      {Rung::kHardware, RungState::kRight, "1 GPU: H200 (0000:00:06.0)", {}},
      {Rung::kDriver, RungState::kBroken, "module 550.54.14, libraries 550.54.15", {}},
      {Rung::kCuda, RungState::kFollows, "", Rung::kDriver},
      {Rung::kLibraries, RungState::kUnknown, "one cache could not be read", {}},
      {Rung::kPython, RungState::kNotApplicable, "no Python", {}},
      {Rung::kWork, RungState::kNotJudged, "", {}},
  };
  Finding mismatch;
  mismatch.id = "driver.version-mismatch";
  mismatch.rung = Rung::kDriver;
  mismatch.statement = "the loaded NVIDIA module and libnvidia-ml.so.1 differ";
  mismatch.evidence = {{"module 550.54.14", "/proc/driver/nvidia/version"}};
  mismatch.cause = "the driver was upgraded and the old module is still loaded";
  mismatch.fix = {
      {"sudo reboot", "load the new module", true, "restarts the machine", "none needed"},
      {"", "enter the firmware's set-up", false, "", ""}};
  mismatch.certainty = Certainty::kLikely;
  Finding cpu_build;
  cpu_build.id = "framework.cpu-build";
  cpu_build.rung = Rung::kFramework;
  cpu_build.subject = "torch 2.11.0";
  cpu_build.statement = "the build has no CUDA";
  Finding narrow;
  narrow.id = "hardware.narrow-link";
  narrow.rung = Rung::kHardware;
  narrow.severity = Severity::kWarning;
  narrow.statement = "8 of 16 lanes are used";
  narrow.evidence = {{"8 lanes", "current_link_width"}};
  diagnosis.findings = {narrow, mismatch, cpu_build};
  diagnosis.frameworks = {
      {"tensorflow",
       "2.21.0",
       Answer::kDoesNot,
       {},
       "the driver is broken",
       "driver.version-mismatch",
       "high",
       {}},
      {"torch",
       "2.11.0",
       Answer::kUses,
       {"0 (H200, 0000:00:06.0)"},
       "",
       "",
       "medium",
       {"the GPU's health"}},
      {"jax", "", Answer::kCannotTell, {}, "jaxlib could not be read", "", "", {}},
  };
  const Evidence cache{"unknown: permission denied", "/etc/ld.so.cache"};
  diagnosis.undecided = {{"libraries.cache", Rung::kLibraries, {cache}},
                         {"libraries.other", Rung::kLibraries, {cache}}};
  return diagnosis;
}

inline Machine machine_with_libraries() {
  Machine machine;
  Framework torch;
  torch.name = "torch";
  torch.version = Fact<Version>::known(Version::of("2.11.0"), "METADATA");
  torch.location = "/v/site/torch";
  torch.opener = Fact<std::string>::known("/v/site/torch/lib/libtorch_global_deps.so", "scan");
  ResolvedLibrary found;
  found.name = "libcudnn.so.9";
  found.rule = "DT_RPATH of /v/site/torch/lib/libtorch_cuda.so";
  found.state = "found";
  found.path = "/v/site/cudnn/lib/libcudnn.so.9";
  found.real_path = found.path;
  found.version = Fact<Version>::known(Version::of("9.19.0"), "libcudnn.so.9");
  found.shadows = {"/usr/lib/x86_64-linux-gnu/libcudnn.so.9.14.0"};
  ResolvedLibrary missing;
  missing.name = "libcusolver.so.12";
  missing.state = "missing";
  missing.error = "libcusolver.so.12: cannot open shared object file";
  missing.elsewhere = {"/v/site/cusolver/lib/libcusolver.so.12"};
  torch.libraries = {found, missing};
  machine.frameworks = {torch};
  return machine;
}

}  // namespace gpuwright
