#pragma once

#include "cli/command.h"
#include "cli/open.h"
#include "diagnose/diagnose.h"
#include "report/report.h"

namespace gpuwright::cli {

/// The options of `check`, understood.
struct CheckOptions {
  MachineOptions machine;
  std::string catalog;
  std::string format;
  bool strict = false;
  TextStyle style;
  DiagnoseOptions diagnose;
};

/// Reads the ignore files too.
[[nodiscard]] Result<CheckOptions> parse_check(const Arguments& arguments, const Output& output);

/// `check --list`: every rule that --only and --skip leave.
std::string rule_list(const CheckOptions& options);

}  // namespace gpuwright::cli
