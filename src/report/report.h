#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "catalog/catalog.h"
#include "diagnose/diagnose.h"
#include "machine/machine.h"

namespace gpuwright {

struct TextStyle {
  bool color = false;
  int width = 100;         ///< Columns; 0 for no wrapping (a pipe).
  bool all = false;        ///< Every fact.
  bool libraries = false;  ///< The table library -> file -> rule -> version -> shadowed.
  bool quiet = false;      ///< The verdict alone.
  bool verbose = false;    ///< Evidence of warnings and notes too.
};

/// The report for people: verdict, ladder, the lowest broken rung in full, warnings.
std::string report_text(const Machine& machine, const Catalog& catalog, const Diagnosis& diagnosis,
                        const TextStyle& style);

/// One line for Nagios, Icinga and their kind, with counts after the bar, and a line for each
/// finding below it.
std::string report_nagios(const Machine& machine, const Diagnosis& diagnosis, bool strict);
/// The exit status that this line goes with: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.
int nagios_status(const Diagnosis& diagnosis, bool strict);

/// To be pasted into an issue: GitHub's flavour. With `facts` every fact, folded up.
std::string report_markdown(const Machine& machine, const Diagnosis& diagnosis, bool facts);

/// One file that needs no other: light and dark, no script, every text escaped.
std::string report_html(const Machine& machine, const Diagnosis& diagnosis);

/// One test case a rule, for what shows test results. A warning fails only with `strict`, as it
/// does in the exit status.
std::string report_junit(const Diagnosis& diagnosis, bool strict);

/// The same for programs; docs/schema/check.schema.json describes it.
nlohmann::ordered_json report_json(const Machine& machine, const Catalog& catalog,
                                   const Diagnosis& diagnosis);

/// What a report about a machine and one about a text have in common.
nlohmann::ordered_json diagnosis_json(const Diagnosis& diagnosis);

}  // namespace gpuwright
