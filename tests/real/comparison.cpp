#include "comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "catalog/catalog.h"
#include "machine/json.h"

namespace gpuwright::real {
namespace {

// The libraries of docs/testing.md, by file name. Written anew here rather than taken from the
// probe, so that one that the probe forgets is seen.
bool is_compared(const std::string& path) {
  static const std::regex pattern(
      "(?:.*/)?lib(cuda|cudart|cublas|cublasLt|cufft|curand|cusolver|cusparse|cusparseLt|cufile|"
      "cudnn\\w*|nccl|nvrtc|nvrtc-builtins|nvJitLink|cupti|nvidia-ml|nvshmem_host|stdc\\+\\+)"
      "(-[0-9a-f]{8})?\\.so.*");
  return std::regex_match(path, pattern);
}

constexpr const char* kProgram = R"(
import os, sys

def maps(tag):
    seen = {}
    for line in open('/proc/self/maps'):
        parts = line.rstrip('\n').split(None, 5)
        if len(parts) == 6 and '.so' in parts[5]:
            seen.setdefault(parts[5])
    for path in seen:
        print(tag, path)

def tensorflow():
    import tensorflow
    maps('IMPORT')
    return len(tensorflow.config.list_physical_devices('GPU'))

def torch():
    import torch
    maps('IMPORT')
    torch.cuda.is_available()
    return torch.cuda.device_count()

def jax():
    import jax
    maps('IMPORT')
    # This machine has no device node; with one, JAX goes on to make its client.
    from jax._src import hardware_utils
    hardware_utils.has_visible_nvidia_gpu = lambda: True
    return sum(device.platform == 'gpu' for device in jax.devices())

try:
    print('GPUS', {'tensorflow': tensorflow, 'torch': torch, 'jax': jax}[sys.argv[1]]())
except Exception as error:
    print('ERROR', str(error).replace('\n', ' '))
maps('USED')
sys.stdout.flush()
os._exit(0)
)";

Environment block_of(const Scene& scene) {
  Environment block = {
      {"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"HOME", "/"}, {"LANG", "C.UTF-8"}};
  for (const auto& [name, value] : scene.variables) block[name] = value;
  return block;
}

/// The machine of tests/cases/healthy with this Python, these frameworks and these variables.
Machine on_gpu_machine(const Machine& here) {
  const std::string file =
      std::string(GPUWRIGHT_SOURCE_DIR) + "/tests/cases/healthy/ubuntu-24.04-h200.json";
  auto machine = snapshot_from_text(read_text(file), file);
  if (!machine) throw std::runtime_error(machine.error().text());
  machine->python = here.python;
  machine->frameworks = here.frameworks;
  machine->cuda = here.cuda;
  return *machine;
}

std::string missing_from(const Paths& paths, const Paths& others, const char* what) {
  std::string text;
  for (const auto& path : paths)
    if (!others.contains(path)) text += std::string("  ") + what + ": " + path + "\n";
  return text;
}

/// Both ways; with `partly`, what is predicted need not be mapped.
void compare_paths(const std::string& title, const Paths& predicted, const Paths& real, bool partly,
                   Tally& tally) {
  auto text = missing_from(real, predicted, "mapped, not predicted");
  if (!partly) text += missing_from(predicted, real, "predicted, not mapped");
  tally.paths += real.size();
  tally.differences += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  EXPECT_EQ(text, "") << title;
}

bool has_id(const std::vector<Finding>& findings, const std::string& id) {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const auto& finding) { return finding.id == id; });
}

}  // namespace

Paths Prediction::mapped(const std::string& until) const {
  constexpr std::array<std::string_view, 4> kStages = {"import", "query", "device", "use"};
  const auto rank = [&](const std::string& when) {
    return std::find(kStages.begin(), kStages.end(), when) - kStages.begin();
  };
  Paths paths;
  for (const auto& library : framework.libraries)
    if (library.state == "found" && rank(library.when) <= rank(until) &&
        is_compared(library.real_path))
      paths.insert(library.real_path);
  return paths;
}

bool Prediction::finds(const std::string& id) const { return has_id(findings, id); }

bool Prediction::finds_anywhere(const std::string& id) const { return has_id(all, id); }

Prediction predict(const Scene& scene) {
  const auto result = run_child({GPUWRIGHT_PROGRAM, "snapshot", "--no-redact", "--python",
                                 scene.python_environment + "/bin/python"},
                                block_of(scene));
  if (result.exit_status != 0) throw std::runtime_error("gpuwright snapshot: " + result.err);
  const auto machine = snapshot_from_text(result.out, "snapshot");
  if (!machine) throw std::runtime_error(machine.error().text());
  Prediction prediction;
  prediction.machine = *machine;
  for (const auto& framework : machine->frameworks)
    if (framework.name == scene.framework) prediction.framework = framework;
  const auto diagnosis = diagnose(on_gpu_machine(*machine), Catalog::built_in());
  for (const auto& answer : diagnosis.frameworks)
    if (answer.framework == scene.framework) prediction.answer = answer;
  prediction.all = diagnosis.findings;
  for (const auto& finding : diagnosis.findings)
    if (finding.subject.starts_with(scene.framework)) prediction.findings.push_back(finding);
  return prediction;
}

Reality observe(const Scene& scene) {
  const ScratchDirectory scratch;
  const auto script = scratch.path() + "/program.py";
  write_text(script, kProgram);
  const auto result = run_child({scene.python_environment + "/bin/python", script, scene.framework},
                                block_of(scene));
  if (result.timed_out) throw std::runtime_error("python hangs: " + result.err);
  Reality reality;
  reality.log = result.err;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) {
    const auto blank = line.find(' ');
    const auto tag = line.substr(0, blank);
    const auto value = blank == std::string::npos ? "" : line.substr(blank + 1);
    if (tag == "IMPORT" && is_compared(value)) reality.after_import.insert(value);
    if (tag == "USED" && is_compared(value)) reality.after_query.insert(value);
    if (tag == "GPUS") reality.gpus = std::stoul(value);
    if (tag == "ERROR") reality.import_error = value;
  }
  if (result.out.find("USED ") == std::string::npos)
    throw std::runtime_error("python ended with " + std::to_string(result.exit_status) + ": " +
                             result.err);
  return reality;
}

void compare(const std::string& title, const Prediction& prediction, const Reality& reality,
             Reach reach, Tally& tally) {
  ++tally.scenes;
  if (reality.import_error.empty())
    compare_paths(title + ": import", prediction.mapped("import"), reality.after_import, false,
                  tally);
  const auto* const until = reach == Reach::kQuery ? "query" : "device";
  compare_paths(title + ": device query\n" + reality.log, prediction.mapped(until),
                reality.after_query, reach == Reach::kStops, tally);
  const bool uses = prediction.answer.answer == Answer::kUses;
  if (reach == Reach::kDevice) {
    EXPECT_EQ(uses, reality.gpus > 0) << title << ": " << prediction.answer.because << "\n"
                                      << reality.log;
    tally.differences += uses != (reality.gpus > 0) ? 1 : 0;
  } else if (!uses) {
    EXPECT_EQ(reality.gpus, 0u) << title << "\n" << reality.log;
  }
}

void print(const char* what, const Tally& tally) {
  std::printf("%s: %zu scenes, %zu paths compared, %zu differences\n", what, tally.scenes,
              tally.paths, tally.differences);
  testing::Test::RecordProperty("paths", static_cast<int>(tally.paths));
  testing::Test::RecordProperty("differences", static_cast<int>(tally.differences));
}

}  // namespace gpuwright::real
