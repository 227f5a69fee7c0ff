#include "probe/host_loader.h"

#include <utility>

namespace gpuwright {
namespace {

// Images without a shell (distroless) still have an interpreter or glibc's own tools.
constexpr const char* kPrograms[] = {
    "/bin/sh",         "/bin/bash", "/usr/bin/env", "/usr/bin/python3", "/usr/local/bin/python3",
    "/usr/bin/getconf"};

// A static program (busybox) starts, but shows nothing of the loader.
bool is_dynamic(const loader::Process& process) {
  return !process.objects().empty() && !process.objects().front().elf.interpreter.empty();
}

}  // namespace

PlainProgram start_plain_program(const System& system) {
  const auto environment = system.environment().value_or(std::map<std::string, std::string>{});
  std::string problem = "no dynamically linked program found to stand for all others";
  for (const std::string program : kPrograms) {
    auto config = loader::make_config(system, program, environment);
    if (!config) continue;
    loader::Process process(system, std::move(*config));
    const auto outcome = process.start(program);
    if (outcome.state == loader::Outcome::State::kFound && is_dynamic(process))
      return {std::move(process), program, ""};
    if (!outcome.error.empty()) problem = program + ": " + outcome.error;
  }
  return {loader::Process(system, loader::Config{}), "", std::move(problem)};
}

}  // namespace gpuwright
