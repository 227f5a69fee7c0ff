#include "diagnose/rule.h"

#include <sstream>

#include "diagnose/diagnose.h"

namespace gpuwright {

const char* name_of(Rung rung) {
  switch (rung) {
    case Rung::kHost:
      return "host";
    case Rung::kHardware:
      return "hardware";
    case Rung::kDriver:
      return "driver";
    case Rung::kCuda:
      return "cuda";
    case Rung::kLibraries:
      return "libraries";
    case Rung::kPython:
      return "python";
    case Rung::kFramework:
      return "framework";
    case Rung::kWork:
      return "work";
    case Rung::kSpeed:
      return "speed";
  }
  return "";
}

const char* name_of(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kInfo:
      return "info";
  }
  return "";
}

const char* name_of(Certainty certainty) {
  switch (certainty) {
    case Certainty::kProven:
      return "proven";
    case Certainty::kLikely:
      return "likely";
    case Certainty::kPossible:
      return "possible";
  }
  return "";
}

std::string fact_text(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

Evidence cite_text(const char* what, bool known, bool absent, const std::string& value,
                   const std::string& reason, const std::string& source) {
  std::string text = what;
  if (known) {
    if (!value.empty()) text += ": " + value;
  } else if (absent) {
    text += ": not there";
  } else {
    text += ": unknown, " + reason;
  }
  return {text, source};
}

std::vector<RungRules> all_rules() {
  return {
      {Rung::kHost, host_rules()},
      {Rung::kHost, host_limit_rules()},
      {Rung::kHardware, hardware_rules()},
      {Rung::kHardware, hardware_log_rules()},
      {Rung::kHardware, hardware_health_rules()},
      {Rung::kDriver, driver_module_rules()},
      {Rung::kDriver, driver_library_rules()},
      {Rung::kDriver, driver_node_rules()},
      {Rung::kDriver, driver_install_rules()},
      {Rung::kDriver, driver_service_rules()},
      {Rung::kCuda, cuda_rules()},
      // Behind the cuda rung, whose stub or compat copy explains what the driver says when run.
      {Rung::kDriver, run_driver_rules()},
      {Rung::kLibraries, library_path_rules()},
      {Rung::kLibraries, library_file_rules()},
      {Rung::kLibraries, framework_library_rules()},
      {Rung::kPython, python_rules()},
      {Rung::kPython, python_environment_rules()},
      {Rung::kFramework, framework_rules()},
      {Rung::kFramework, framework_code_rules()},
      {Rung::kFramework, framework_compiler_rules()},
      {Rung::kFramework, framework_package_rules()},
      {Rung::kFramework, framework_setting_rules()},
      {Rung::kFramework, run_framework_rules()},
      {Rung::kHost, log_host_rules(), true},
      {Rung::kHost, log_shm_rules(), true},
      {Rung::kHardware, log_xid_rules(), true},
      {Rung::kHardware, log_gpu_memory_rules(), true},
      {Rung::kHardware, log_hardware_rules(), true},
      {Rung::kHardware, log_link_rules(), true},
      {Rung::kDriver, log_driver_rules(), true},
      {Rung::kDriver, log_module_rules(), true},
      {Rung::kDriver, log_service_rules(), true},
      {Rung::kDriver, log_container_rules(), true},
      {Rung::kDriver, log_scheduler_rules(), true},
      {Rung::kDriver, log_symptom_rules(), true},
      {Rung::kCuda, log_compat_rules(), true},
      {Rung::kCuda, log_cuda_rules(), true},
      {Rung::kLibraries, log_library_rules(), true},
      {Rung::kPython, log_python_rules(), true},
      {Rung::kFramework, log_build_rules(), true},
      {Rung::kFramework, log_companion_rules(), true},
      {Rung::kFramework, log_framework_rules(), true},
      {Rung::kFramework, log_age_rules(), true},
      {Rung::kWork, log_gpu_fault_rules(), true},
      {Rung::kWork, log_holder_rules(), true},
      {Rung::kWork, log_work_rules(), true},
      {Rung::kSpeed, log_speed_rules(), true},
  };
}

}  // namespace gpuwright
