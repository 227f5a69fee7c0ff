// The driver's files in /proc and /sys, modprobe's configuration, lists of modules.

#include "fuzz/fuzz.h"
#include "probe/driver.h"
#include "probe/driver_holders.h"
#include "probe/driver_libraries.h"
#include "probe/driver_modules.h"
#include "probe/driver_nodes.h"
#include "probe/driver_services.h"
#include "probe/hardware.h"

using namespace gpuwright;        // NOLINT(google-build-using-namespace)
using namespace gpuwright::fuzz;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = text_of(data, size);
  const auto module = parse_driver_version(text);
  if (module)
    require(module->flavour == "open" || module->flavour == "proprietary",
            "there are two flavours");
  use(parse_gpu_modules(text));
  use(parse_character_major(text, "nvidia-uvm"));
  use(blacklists_nouveau(text));
  use(command_line_blacklists_nouveau(text));
  use(version_of_library_name(text));
  use(is_main_module(text));
  for (const auto& path : parse_module_paths(text))
    require(text.find(path) != std::string::npos, "a module's path stands in the list");
  use(parse_modinfo(text));
  use(parse_link_speed(text));
  const auto width = parse_link_width(text);
  if (width) require(*width >= 1 && *width <= 32, "a link has 1 to 32 lanes");
  const auto id = parse_pci_id(text);
  if (id) require(id->size() == 4, "an id has four digits");
  use(parse_gpu_information("0000:01:00.0", text));
  use(parse_installer_list(text));
  use(parse_installer_log(text));
  std::map<std::string, std::string> options;
  add_module_options(text, options);
  add_command_line_options(text, options);
  for (const auto& [name, value] : options)
    require(name.starts_with("nvidia"), "only options of the driver are kept");
  use(is_vgpu_name(text));
  use(names_licence_server(text));
  use(held_library(text));
  use(parse_task_state(text));
  use(is_inside_driver(text));
  const auto [a, b] = first_line_and_rest(text);
  require(!(natural_less(a, b) && natural_less(b, a)), "an order has one direction");
  require(!natural_less(a, a), "nothing is less than itself");
  return 0;
}
