#pragma once

#include <span>
#include <variant>
#include <vector>

#include "catalog/catalog.h"
#include "diagnose/finding.h"
#include "machine/machine.h"

// A rule is a pure function and a row. To add one: write the function in diagnose/<rung>.cpp, add
// its row to that file's table, write docs/findings/<id>.md, add a case where it speaks under
// tests/cases/. A test fails for an id without page or speaking case, and for one that speaks on a
// healthy machine.

namespace gpuwright {

/// The question does not arise on this machine.
struct NotApplicable {};
/// What the rule looks at is as it should be.
struct Fine {};
/// A fact that would decide is unknown; the facts in question.
struct Undecided {
  std::vector<Evidence> missing;
};
/// The four outcomes are types, so that "could not look" cannot be mistaken for "fine".
/// A rule that can hit several things at once (two GPUs, two frameworks) gives several findings.
using Verdict = std::variant<NotApplicable, Fine, Undecided, Finding, std::vector<Finding>>;

/// How a rule stands to the rules below it: those of lower rungs and earlier rows of its table.
enum class Standing {
  kLink,    ///< A link of the chain from the bus to the framework: not judged above a broken one,
            ///< where it would only see consequences. An unknown leaves the answer open.
  kOwn,     ///< A fault of its own, whatever lies below. An unknown leaves the answer open.
  kAdvice,  ///< Warns or informs, never breaks the chain. An unknown decides nothing.
};

struct Rule {
  const char* id;     ///< "<rung>.<slug>"
  const char* holds;  ///< What is true on a sound machine, one line.
  Verdict (*judge)(const Machine&, const Catalog&);
  Standing standing = Standing::kLink;
};

/// What a fact says and where it was read, or that it is absent or unknown and why. A fact whose
/// value has no short text form is only named.
template <class T>
Evidence cite(const char* what, const Fact<T>& fact);
Evidence cite_text(const char* what, bool known, bool absent, const std::string& value,
                   const std::string& reason, const std::string& source);

inline std::string fact_text(const std::string& value) { return value; }
inline std::string fact_text(const Version& value) { return value.text(); }
inline std::string fact_text(bool value) { return value ? "yes" : "no"; }
inline std::string fact_text(std::uint64_t value) { return std::to_string(value); }
std::string fact_text(double value);  ///< "2.5"
inline std::string fact_text(const std::vector<std::string>& value) {
  std::string out;
  for (const auto& item : value) out += (out.empty() ? "" : ", ") + item;
  return out.empty() ? "none" : out;
}

template <class T>
Evidence cite(const char* what, const Fact<T>& fact) {
  std::string value;
  if constexpr (requires { fact_text(*fact); }) {
    if (fact.is_known()) value = fact_text(*fact);
  }
  return cite_text(what, fact.is_known(), fact.is_absent(), value, fact.reason(), fact.source());
}

/// The tables of rules, a file each, in order of judging. A rung may have several.
std::span<const Rule> host_rules();
std::span<const Rule> host_limit_rules();
std::span<const Rule> hardware_rules();
std::span<const Rule> hardware_log_rules();
std::span<const Rule> hardware_health_rules();
std::span<const Rule> driver_install_rules();
std::span<const Rule> driver_module_rules();
std::span<const Rule> driver_library_rules();
std::span<const Rule> driver_node_rules();
std::span<const Rule> driver_service_rules();
std::span<const Rule> run_driver_rules();  ///< Rung driver.
std::span<const Rule> cuda_rules();
std::span<const Rule> library_file_rules();       ///< Rung libraries.
std::span<const Rule> library_path_rules();       ///< Rung libraries.
std::span<const Rule> framework_library_rules();  ///< Rung libraries.
std::span<const Rule> python_rules();
std::span<const Rule> python_environment_rules();
std::span<const Rule> framework_rules();
std::span<const Rule> framework_code_rules();
std::span<const Rule> framework_compiler_rules();
std::span<const Rule> framework_package_rules();
std::span<const Rule> framework_setting_rules();
std::span<const Rule> run_framework_rules();  ///< Rung framework.

/// Rules about lines of logs and pasted output (machine.events). They may share an id with a rule
/// about facts: the same fault seen through another door.
std::span<const Rule> log_host_rules();
std::span<const Rule> log_hardware_rules();
std::span<const Rule> log_driver_rules();
std::span<const Rule>
log_container_rules();                  ///< Rung driver: what keeps the GPU out of a container.
std::span<const Rule> log_shm_rules();  ///< Rung host.
std::span<const Rule> log_xid_rules();  ///< Rung hardware: numbered errors.
std::span<const Rule> log_gpu_memory_rules();  ///< Rung hardware: memory, NVSwitches.
std::span<const Rule> log_link_rules();        ///< Rung hardware: links and clocks.
std::span<const Rule> log_module_rules();      ///< Rung driver: the kernel module.
std::span<const Rule> log_service_rules();     ///< Rung driver: fabric, MIG, nodes, WSL.
std::span<const Rule> log_scheduler_rules();   ///< Rung driver: Slurm, Kubernetes.
std::span<const Rule> log_symptom_rules();     ///< Rung driver, last: symptoms of many causes.
std::span<const Rule> log_compat_rules();      ///< Rung cuda.
std::span<const Rule> log_age_rules();         ///< Rung framework: the driver's age.
std::span<const Rule> log_gpu_fault_rules();   ///< Rung work: programs that made a GPU fault.
std::span<const Rule> log_holder_rules();      ///< Rung work: memory that others hold.
std::span<const Rule> log_cuda_rules();
std::span<const Rule> log_library_rules();
std::span<const Rule> log_python_rules();
std::span<const Rule> log_framework_rules();
std::span<const Rule> log_build_rules();      ///< Rung framework.
std::span<const Rule> log_companion_rules();  ///< Rung framework.
std::span<const Rule> log_work_rules();  ///< Memory, asserts, collectives: the program's own run.
std::span<const Rule> log_speed_rules();

}  // namespace gpuwright
