#include "confirm/protocol.h"

#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "machine/json.h"

namespace gpuwright {
namespace {

using Json = nlohmann::ordered_json;

void write_line(const std::string& text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, rest.data(), rest.size());
    if (written < 0 && errno != EINTR) return;  // the parent is gone
    if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string snapshot_start() {
  return R"({"kind": "gpuwright-snapshot", "schema": )" + std::to_string(kSnapshotSchema) +
         R"(, "machine": {"run": )";
}

}  // namespace

void Speaker::call(const std::string& name) const { write_line(marker_ + " call " + name + "\n"); }

void Speaker::tell(const Run& run) const {
  Machine machine;
  machine.run = run;
  const Json document = snapshot_to_json(machine).at("machine").at("run");
  write_line(marker_ + " json " + document.dump(-1, ' ', false, Json::error_handler_t::replace) +
             "\n");
}

Told parse_told(std::string_view out, std::string_view marker) {
  Told told;
  // What stands behind the last line end was cut off, by the child's death or by our limit.
  out = out.substr(0, out.rfind('\n') + 1);
  for (auto line : lines(out)) {
    if (marker.empty() || !line.starts_with(marker)) continue;
    line.remove_prefix(marker.size());
    if (line.starts_with(" call "))
      told.last_call = printable(line.substr(6, 200));
    else if (line.starts_with(" json "))
      told.json = line.substr(6);
  }
  return told;
}

Result<Run> run_from_json(const std::string& json) {
  const auto machine = snapshot_from_text(snapshot_start() + json + "}}", "the child's answer");
  if (!machine) return tl::unexpected(machine.error());
  return machine->run;
}

Result<FrameworkRun> framework_run_from_json(const std::string& json) {
  const auto run = run_from_json(R"({"frameworks": [)" + json + "]}");
  if (!run) return tl::unexpected(run.error());
  if (run->frameworks.empty()) return fail("holds no framework", "the child's answer");
  return run->frameworks.front();
}

}  // namespace gpuwright
