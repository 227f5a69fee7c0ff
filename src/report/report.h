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

/// The same for programs; docs/schema/check.schema.json describes it.
nlohmann::ordered_json report_json(const Machine& machine, const Catalog& catalog,
                                   const Diagnosis& diagnosis);

/// What a report about a machine and one about a text have in common.
nlohmann::ordered_json diagnosis_json(const Diagnosis& diagnosis);

}  // namespace gpuwright
