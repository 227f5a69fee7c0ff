#pragma once

#include <string>

#include "small_elf.h"
#include "support/memory_system.h"

// Installations of Python as files in memory: just what the model of getpath and site.py looks at.

namespace gpuwright {

inline std::string python_program(const std::string& loader = "/lib64/ld-linux-x86-64.so.2") {
  return small_library("python", 1024, loader);
}

/// bin/python3.X with its links, and a standard library whose site.py is `site_py`.
inline void add_python(MemorySystem& system, const std::string& prefix, const std::string& series,
                       const std::string& library = "lib", const std::string& site_py = "") {
  system.add_file(prefix + "/bin/python" + series, python_program(), 0755);
  system.add_link(prefix + "/bin/python3", "python" + series);
  const auto directory = prefix + "/" + library + "/python" + series;
  system.add_file(directory + "/os.py", "");
  system.add_file(directory + "/site.py", site_py);
  system.add_directory(directory + "/lib-dynload");
}

/// Debian's own: dist-packages, and site.py that says so.
inline void add_debian_python(MemorySystem& system, const std::string& series) {
  add_python(system, "/usr", series, "lib", "os.path.join(prefix, \"lib\", \"dist-packages\")");
  system.add_directory("/usr/lib/python3/dist-packages");
  system.add_directory("/usr/local/lib/python" + series + "/dist-packages");
}

/// A virtual environment of `base` with links, as venv and uv make it.
inline void add_venv(MemorySystem& system, const std::string& prefix, const std::string& base,
                     const std::string& series, const std::string& more_config = "") {
  system.add_link(prefix + "/bin/python", base + "/bin/python" + series);
  system.add_link(prefix + "/bin/python3", "python");
  system.add_link(prefix + "/lib64", "lib");
  system.add_directory(prefix + "/lib/python" + series + "/site-packages");
  system.add_file(prefix + "/pyvenv.cfg", "home = " + base + "/bin\n" + more_config);
}

inline constexpr const char* kClosed = "include-system-site-packages = false\n";
inline constexpr const char* kOpen = "include-system-site-packages = true\n";

}  // namespace gpuwright
