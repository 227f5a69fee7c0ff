#pragma once

#include <span>

// What a line of a log can be. To add a kind of line: a row in the table of its family
// (reading/patterns_<family>.cpp), with example lines. A test holds that each example is read by
// its own row and by no other of another meaning; a rule in diagnose/ says what the event means.

namespace gpuwright {

struct Pattern {
  const char*
      id;  ///< Kind of the event; several rows may share one (other words of other releases).
  /// Texts of which one stands in every such line, separated by '|'. They are searched for in the
  /// whole input at once, so they have to be rare there: at least four characters, and no word that
  /// every second line has. Upper and lower case are not told apart.
  const char* literals;
  /// RE2. Its named groups become the values of the event. Not anchored: lines carry time stamps
  /// and other people's prefixes.
  const char* expression;
  /// Lines as programs print them, in two versions where there are two.
  const char* examples[3];
};

/// Lines that look like trouble and are none.
struct NoisePattern {
  const char* literals;    ///< As above.
  const char* expression;  ///< As above.
  const char* why;         ///< Why it is harmless, a sentence without a full stop.
  const char* examples[3];
};

std::span<const Pattern> driver_patterns();      ///< nvidia-smi, NVML, device nodes, packages.
std::span<const Pattern> kernel_patterns();      ///< The kernel's log: NVRM, Xid, the bus.
std::span<const Pattern> module_patterns();      ///< Kernel modules: loading, building, lists.
std::span<const Pattern> cuda_patterns();        ///< Driver API and runtime errors, toolkits.
std::span<const Pattern> tensorflow_patterns();  ///< TensorFlow, Keras, XLA.
std::span<const Pattern> torch_patterns();       ///< PyTorch, Triton, NCCL.
std::span<const Pattern> jax_patterns();
std::span<const Pattern> python_patterns();     ///< Interpreter, pip, uv, conda, packages.
std::span<const Pattern> container_patterns();  ///< Docker, Podman, CDI, systemd.
std::span<const Pattern> scheduler_patterns();  ///< Kubernetes, Slurm, WSL, shared memory.
std::span<const Pattern> host_patterns();       ///< Loader, libraries, memory, disks.
std::span<const NoisePattern> noise_patterns();

}  // namespace gpuwright
