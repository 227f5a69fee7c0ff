#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"
#include "diagnose/finding.h"
#include "machine/machine.h"

// Steps of fixes that several rules share, in the words of the machine's distribution. Where the
// distribution is unknown a step says in prose what is to be done.

namespace gpuwright {

enum class PackageManager { kApt, kDnf, kZypper, kPacman, kUnknown };
PackageManager package_manager(const Machine& machine);

/// One command per package manager; an empty one is said in prose instead.
struct PerManager {
  std::string apt, dnf, zypper, pacman;
};
/// The command for this machine; empty when the package manager is unknown.
std::string pick(const Machine& machine, const PerManager& commands);

/// `text` as one word of a shell command: quoted unless it is harmless. What goes into a command
/// comes from files, and the command is there to be pasted.
std::string shell_word(const std::string& text);

/// A command that needs root and is written with sudo.
FixStep root_step(std::string command, std::string text, std::string changes, std::string undo);
/// A command of an ordinary user.
FixStep user_step(std::string command, std::string text, std::string changes, std::string undo);
/// A step that is no command: a setting in the firmware, a thing to look at.
FixStep advice(std::string text);
FixStep reboot(std::string text);

/// The driver that serves these GPUs, by the distribution's own way.
std::vector<FixStep> install_driver(const Machine& machine, const Catalog& catalog,
                                    const std::vector<PciGpu>& gpus);
/// Builds the installed driver's module for `kernel`: headers first, then DKMS or akmods.
std::vector<FixStep> build_module(const Machine& machine, const std::string& kernel);
/// Writes the initial RAM disk anew, which keeps copies of modprobe.d and of modules.
FixStep rebuild_initramfs(const Machine& machine);
/// Starts a container of this kind with the GPU.
std::vector<FixStep> start_with_gpu(const Machine& machine);

/// Names of the installed packages of the driver that begin with one of `prefixes`; empty when
/// dpkg's list is not known.
std::vector<std::string> installed_packages(const Machine& machine,
                                            std::initializer_list<std::string_view> prefixes);

/// LD_LIBRARY_PATH of this machine without the elements for which `drop` holds, as an export that
/// can be pasted.
FixStep library_path_without(const Machine& machine, bool (*drop)(const PathElement&),
                             std::string text);

}  // namespace gpuwright
