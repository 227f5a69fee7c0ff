#pragma once

#include <string>
#include <vector>

#include "loader/loader.h"
#include "support/elf_writer.h"
#include "support/memory_system.h"

namespace gpuwright::loader {

/// A small machine in memory: a program, an ld.so, a libc, two default directories, glibc 2.39.
struct World {
  World() {
    system.add_file("/bin/prog", write_elf(program()), 0755);
    system.add_file("/lib64/ld-linux-x86-64.so.2", write_elf({.soname = "ld-linux-x86-64.so.2"}));
    add("/lib64/libc.so.6", {.soname = "libc.so.6",
                             .needed = {"ld-linux-x86-64.so.2"},
                             .version_definitions = {"GLIBC_2.2.5", "GLIBC_2.34"}});
    config.default_directories = {"/lib64", "/usr/lib64"};
    config.lib_token = "lib64";
    config.platform_token = "x86_64";
    config.glibc = Version::of("2.39");
  }

  static ElfSpec program() {
    return {.interpreter = "/lib64/ld-linux-x86-64.so.2",
            .needed = {"libc.so.6"},
            .flags_1 = 0x8000000};
  }

  void add(const std::string& path, const ElfSpec& spec) { system.add_file(path, write_elf(spec)); }

  /// Gives the program other tags.
  void set_program(const ElfSpec& spec) { system.add_file("/bin/prog", write_elf(spec), 0755); }

  /// The process after a good start.
  Process started() {
    Process process(system, config);
    start_outcome = process.start("/bin/prog");
    return process;
  }

  /// Path that `name` becomes when the program opens it; the error otherwise.
  std::string opened(const std::string& name) {
    Process process = started();
    const Outcome outcome = process.dlopen(name);
    return outcome.state == Outcome::State::kFound ? outcome.path : outcome.error;
  }

  MemorySystem system;
  Config config;
  Outcome start_outcome;
};

/// Paths of what is mapped, without program, ld.so and libc.
inline std::vector<std::string> mapped_paths(const Process& process) {
  std::vector<std::string> paths;
  for (const auto& object : process.objects())
    if (object.stage != Stage::kProgram && object.elf.soname != "libc.so.6")
      paths.push_back(object.path);
  return paths;
}

}  // namespace gpuwright::loader
