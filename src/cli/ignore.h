#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "diagnose/diagnose.h"

// Files of findings to live with. One a line:
//
//   # comment
//   hardware.narrow-link  until=2026-12-31  the riser is replaced at year's end
//   framework.cpu-build  subject="torch 2.11.0"  this one is for the web server
//
// An id, what narrows it, and a reason, which has to be there: in a year nobody knows it any more.

namespace gpuwright::cli {

/// The entries of `text`; an error's subject is "file:line".
[[nodiscard]] Result<std::vector<Ignore>> parse_ignores(std::string_view text,
                                                        const std::string& file);

/// /etc/gpuwright/ignore and gpuwright/ignore in $XDG_CONFIG_HOME or ~/.config; those that are
/// there.
std::vector<std::string> usual_ignore_files();

/// Today by this machine's clock and time zone, "2026-11-30".
std::string today();

}  // namespace gpuwright::cli
