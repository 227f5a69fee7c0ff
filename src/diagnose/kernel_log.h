#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/finding.h"
#include "machine/machine.h"

// What the kernel's driver wrote into the log, read once for several rules. The ring holds this
// boot only, and what stands before the last load of the module is about a driver that is gone.

namespace gpuwright {

/// One error number: "NVRM: Xid (PCI:0000:3b:00): 79, pid=1534, GPU has fallen off the bus."
struct XidLine {
  std::uint64_t code = 0;
  std::string slot;     ///< "0000:3b:00", lower case, without the function.
  std::string program;  ///< "python3 (pid 40117)"; empty when the line names none.
  std::string line;
  friend bool operator==(const XidLine&, const XidLine&) = default;
};
/// Of all drivers since R304, MIG's "GPU-I:05" included. A line without a number that says the same
/// ("GPU 0000:18:00.0: GPU has fallen off the bus") is given as its number.
std::optional<XidLine> parse_xid(std::string_view line);

/// True when a slot of the log is this function: "0000:3b:00" and "0000:3b:00.0".
bool is_slot_of(std::string_view slot, std::string_view address);

/// Lines since the module was last loaded; empty when the log is not known.
std::vector<std::string> lines_since_load(const Machine& machine);

/// Xids since the module was last loaded, oldest first, without those that the driver has declared
/// to be over ("GPU recovery action changed from 0x1 (...) to 0x0 (None)").
std::vector<XidLine> open_xids(const Machine& machine);

/// Lines since the load that hold one of `needles` and name this GPU, oldest first.
std::vector<Evidence> lines_about(const Machine& machine, const std::string& address,
                                  std::initializer_list<std::string_view> needles,
                                  std::size_t at_most = 2);

/// A GPU that this program could be about: on a host those of the bus, in a container those that
/// the driver lists for it.
std::vector<PciGpu> judged_gpus(const Machine& machine);

/// False only when the driver's list is known and this GPU is not in it.
bool may_be_listed(const Machine& machine, const PciGpu& gpu);

/// Whether the driver has brought this GPU up at least once since it was loaded: until then it does
/// not know its UUID ("GPU-????????-..."). Kept for good, so a later failure does not show here.
enum class Started { kNo, kYes, kUnknown };
Started has_started(const Machine& machine, const PciGpu& gpu);

/// Lines since the load in which the kernel did not find the loaded module's firmware: "nvidia
/// 0000:01:00.0: Direct firmware load for nvidia/550.120/gsp_ga10x.bin failed with error -2".
/// nouveau asks for files of other names in the same directory.
std::vector<Evidence> missing_firmware(const Machine& machine);

/// Why the driver could not start a GPU, as its lines about that GPU tell.
enum class StartFailure { kNone, kPower, kBarSpace, kOther };
StartFailure start_failure(const Machine& machine, const PciGpu& gpu);

}  // namespace gpuwright
