// Lines of the kernel's log, and error numbers in them.

#include "diagnose/kernel_log.h"

#include "fuzz/fuzz.h"
#include "probe/driver.h"

using namespace gpuwright;        // NOLINT(google-build-using-namespace)
using namespace gpuwright::fuzz;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = text_of(data, size);
  const auto found = gpu_lines(text, 20);
  require(found.size() <= 20, "a limit is kept");
  Machine machine;
  machine.driver.kernel_log = Fact<std::vector<std::string>>::known(found, "kernel log");
  require(lines_since_load(machine).size() <= found.size(), "a part is not larger than the whole");
  for (const auto& xid : open_xids(machine))
    require(parse_xid(xid.line) == xid, "an error is read from its line alone");
  for (const auto& line : found) {
    require(line.find('\n') == std::string::npos, "a line is one line");
    use(parse_xid(line));
  }
  const auto [slot, address] = first_line_and_rest(text);
  use(is_slot_of(slot, address));
  return 0;
}
