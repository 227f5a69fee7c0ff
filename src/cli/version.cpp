#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "machine/json.h"

namespace gpuwright::cli {

std::string version_line() { return "gpuwright " GPUWRIGHT_VERSION "\n"; }

Result<int> run_version(const Arguments& arguments, Output& output) {
  if (arguments.value("--format") == "json") {
    const nlohmann::ordered_json out = {{"version", GPUWRIGHT_VERSION},
                                        {"snapshot_schema", kSnapshotSchema}};
    output.data(out.dump(2) + "\n");
  } else {
    output.data(version_line());
  }
  return kAllRight;
}

}  // namespace gpuwright::cli
