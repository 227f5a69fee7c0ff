// os-release and the files of /proc and /sys that tell what this system is.

#include "fuzz/fuzz.h"
#include "loader/config_parts.h"
#include "probe/host.h"
#include "probe/host_cpu.h"
#include "probe/host_surroundings.h"

using namespace gpuwright;        // NOLINT(google-build-using-namespace)
using namespace gpuwright::fuzz;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = text_of(data, size);
  const OsRelease release = parse_os_release(text);
  for (const auto& value : {release.id, release.version_id, release.pretty_name})
    require(!value || value->find('\n') == std::string::npos, "a value ends with its line");
  const auto groups = parse_group_names(text);
  for (const auto& [id, name] : groups)
    require(group_name(groups, id) == name, "a group is found by its number");
  use(parse_locked_memory_limit(text));
  const auto lockdown = parse_lockdown(text);
  if (lockdown)
    require(text.find("[" + *lockdown + "]") != std::string::npos, "lockdown is the marked word");
  use(parse_efi_flag(text));
  use(parse_device_controller(text));
  use(container_of_variable(text));
  use(container_of_cgroup(text));
  use(container_of_mounts(text));
  use(hypervisor_of_firmware(text));
  use(cpu_is_virtual(text));
  use(wsl_of_release(text));
  use(parse_cpu_info(text));
  for (const std::uint16_t machine : {62, 3, 183, 21})
    use(loader::legacy_hwcaps(loader::parse_processor(text, machine)));
  return 0;
}
