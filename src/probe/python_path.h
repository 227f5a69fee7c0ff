#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/system.h"
#include "machine/machine.h"
#include "probe/python_layout.h"

namespace gpuwright {

/// How an interpreter's own site.py differs from upstream's. Distributions patch it.
struct SiteRules {
  enum class Scheme {
    kUpstream,  ///< PREFIX/lib/pythonX.Y/site-packages
    kDebian,    ///< dist-packages, local/lib first
    kFedora,    ///< /usr/local before the own prefix (Fedora, RHEL, SUSE, openEuler)
  };
  Scheme scheme = Scheme::kUpstream;
  bool skips_hidden_pth = false;  ///< Since 3.13 and the 2024 patch releases: no ".x.pth".
  friend bool operator==(const SiteRules&, const SiteRules&) = default;
};

SiteRules parse_site_rules(std::string_view site_py);

/// What one .pth file asks for.
struct PthFile {
  std::vector<std::string> paths;  ///< Lines that name a directory, as written.
  bool runs_code = false;          ///< Has a line that begins with "import".
  friend bool operator==(const PthFile&, const PthFile&) = default;
};

PthFile parse_pth(std::string_view text);

struct SearchPath {
  std::vector<SysPathEntry> entries;
  std::vector<std::string> unknowns;  ///< What could not be followed, as sentences.
  bool user_site = false;             ///< The user's site-packages are among the entries.
};

/// sys.path as the interpreter builds it at start, for a program that adds no directory of its own:
/// PYTHONPATH, the standard library, then what site.py finds.
SearchPath find_search_path(const System& system, const EnvironmentBlock& environment,
                            const PythonLayout& layout);

}  // namespace gpuwright
