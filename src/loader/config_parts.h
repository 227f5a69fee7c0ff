#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/version.h"

namespace gpuwright::loader {

/// The default directories that are compiled into a glibc ld.so, in search order, from the bytes of
/// that ld.so; empty when they are not found.
std::vector<std::string> parse_system_directories(std::string_view image);

/// glibc's version from the bytes of ld.so (>= 2.33) or libc.so.6: "release version 2.36".
std::optional<Version> parse_glibc_release(std::string_view image);

/// What the loader derives from the processor.
struct Processor {
  std::vector<std::string> levels;  ///< "x86-64-v3", best first.
  std::string platform;             ///< AT_PLATFORM, or what glibc makes of it: "haswell".
  std::vector<std::string>
      legacy_capabilities;  ///< "x86_64", "avx512_1", in the order of the bits.
};

/// From /proc/cpuinfo, for objects of `machine`.
Processor parse_processor(std::string_view cpuinfo, std::uint16_t machine);

/// The sub-directories that glibc < 2.37 tries in front of every directory, best first.
std::vector<std::string> legacy_hwcaps(const Processor& processor);

/// $LIB: "lib/x86_64-linux-gnu", "lib64", as the first default directory ends.
std::string lib_token_of(std::string_view first_default_directory);

/// Names of LD_PRELOAD; in a secure process only those without a slash.
std::vector<std::string> parse_preload_variable(std::string_view text, bool secure);

/// Names of /etc/ld.so.preload.
std::vector<std::string> parse_preload_file(std::string_view text);

/// The interpreter that programs of this kind name; empty when we do not know.
std::string usual_interpreter(std::uint8_t elf_class, std::uint16_t machine);

}  // namespace gpuwright::loader
