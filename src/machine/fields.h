#pragma once

#include <tuple>

#include "machine/machine.h"

// The field list of every struct of the machine, once. JSON reading and writing and `--all` walk
// these lists, so a new field needs its line here and nothing else.

namespace gpuwright {

template <class S, class T>
struct Field {
  const char* name;
  T S::*member;
};

template <class S, class T>
constexpr Field<S, T> field(const char* name, T S::*member) {
  return {name, member};
}

/// Specialised for every struct that has a JSON form.
template <class S>
inline constexpr bool kFields = false;

#define GPUWRIGHT_F(S, name) field(#name, &S::name)

template <>
inline constexpr auto kFields<CxxRuntime> =
    std::tuple{GPUWRIGHT_F(CxxRuntime, path), GPUWRIGHT_F(CxxRuntime, glibcxx)};

template <>
inline constexpr auto kFields<Host> = std::tuple{GPUWRIGHT_F(Host, distribution),
                                                 GPUWRIGHT_F(Host, distribution_version),
                                                 GPUWRIGHT_F(Host, distribution_name),
                                                 GPUWRIGHT_F(Host, kernel_release),
                                                 GPUWRIGHT_F(Host, architecture),
                                                 GPUWRIGHT_F(Host, glibc),
                                                 GPUWRIGHT_F(Host, cxx_runtime),
                                                 GPUWRIGHT_F(Host, container),
                                                 GPUWRIGHT_F(Host, hypervisor),
                                                 GPUWRIGHT_F(Host, sandbox),
                                                 GPUWRIGHT_F(Host, wsl),
                                                 GPUWRIGHT_F(Host, secure_boot),
                                                 GPUWRIGHT_F(Host, kernel_lockdown),
                                                 GPUWRIGHT_F(Host, device_cgroup),
                                                 GPUWRIGHT_F(Host, shm_bytes),
                                                 GPUWRIGHT_F(Host, memlock_bytes),
                                                 GPUWRIGHT_F(Host, uid),
                                                 GPUWRIGHT_F(Host, groups),
                                                 GPUWRIGHT_F(Host, sudo_user)};

template <>
inline constexpr auto kFields<PciGpu> =
    std::tuple{GPUWRIGHT_F(PciGpu, address),        GPUWRIGHT_F(PciGpu, device_id),
               GPUWRIGHT_F(PciGpu, subsystem_id),   GPUWRIGHT_F(PciGpu, class_code),
               GPUWRIGHT_F(PciGpu, link_speed_gts), GPUWRIGHT_F(PciGpu, link_speed_max_gts),
               GPUWRIGHT_F(PciGpu, link_width),     GPUWRIGHT_F(PciGpu, link_width_max),
               GPUWRIGHT_F(PciGpu, numa_node),      GPUWRIGHT_F(PciGpu, driver),
               GPUWRIGHT_F(PciGpu, enabled)};

template <>
inline constexpr auto kFields<DriverGpu> = std::tuple{
    GPUWRIGHT_F(DriverGpu, address), GPUWRIGHT_F(DriverGpu, model), GPUWRIGHT_F(DriverGpu, uuid),
    GPUWRIGHT_F(DriverGpu, minor), GPUWRIGHT_F(DriverGpu, excluded)};

template <>
inline constexpr auto kFields<Hardware> =
    std::tuple{GPUWRIGHT_F(Hardware, gpus), GPUWRIGHT_F(Hardware, driver_gpus),
               GPUWRIGHT_F(Hardware, nvswitch), GPUWRIGHT_F(Hardware, dxg)};

template <>
inline constexpr auto kFields<ModuleFile> =
    std::tuple{GPUWRIGHT_F(ModuleFile, kernel), GPUWRIGHT_F(ModuleFile, path),
               GPUWRIGHT_F(ModuleFile, version), GPUWRIGHT_F(ModuleFile, flavour)};

template <>
inline constexpr auto kFields<DkmsBuild> =
    std::tuple{GPUWRIGHT_F(DkmsBuild, module), GPUWRIGHT_F(DkmsBuild, version),
               GPUWRIGHT_F(DkmsBuild, built_for)};

template <>
inline constexpr auto kFields<DeviceNode> =
    std::tuple{GPUWRIGHT_F(DeviceNode, path),        GPUWRIGHT_F(DeviceNode, major),
               GPUWRIGHT_F(DeviceNode, minor),       GPUWRIGHT_F(DeviceNode, mode),
               GPUWRIGHT_F(DeviceNode, uid),         GPUWRIGHT_F(DeviceNode, gid),
               GPUWRIGHT_F(DeviceNode, owner_group), GPUWRIGHT_F(DeviceNode, usable),
               GPUWRIGHT_F(DeviceNode, refusal)};

template <>
inline constexpr auto kFields<DriverLibrary> =
    std::tuple{GPUWRIGHT_F(DriverLibrary, name),      GPUWRIGHT_F(DriverLibrary, path),
               GPUWRIGHT_F(DriverLibrary, real_path), GPUWRIGHT_F(DriverLibrary, kind),
               GPUWRIGHT_F(DriverLibrary, version),   GPUWRIGHT_F(DriverLibrary, found_by),
               GPUWRIGHT_F(DriverLibrary, chosen)};

template <>
inline constexpr auto kFields<Driver> = std::tuple{GPUWRIGHT_F(Driver, module_version),
                                                   GPUWRIGHT_F(Driver, module_flavour),
                                                   GPUWRIGHT_F(Driver, loaded_modules),
                                                   GPUWRIGHT_F(Driver, newest_kernel),
                                                   GPUWRIGHT_F(Driver, module_files),
                                                   GPUWRIGHT_F(Driver, dkms),
                                                   GPUWRIGHT_F(Driver, nouveau_blacklisted),
                                                   GPUWRIGHT_F(Driver, nodes),
                                                   GPUWRIGHT_F(Driver, node_helper),
                                                   GPUWRIGHT_F(Driver, uvm_major),
                                                   GPUWRIGHT_F(Driver, libraries),
                                                   GPUWRIGHT_F(Driver, user_space_version),
                                                   GPUWRIGHT_F(Driver, persistence_daemon),
                                                   GPUWRIGHT_F(Driver, fabric_manager_running),
                                                   GPUWRIGHT_F(Driver, fabric_manager_version),
                                                   GPUWRIGHT_F(Driver, packages),
                                                   GPUWRIGHT_F(Driver, kernel_log)};

template <>
inline constexpr auto kFields<Toolkit> = std::tuple{
    GPUWRIGHT_F(Toolkit, root),   GPUWRIGHT_F(Toolkit, version), GPUWRIGHT_F(Toolkit, on_path),
    GPUWRIGHT_F(Toolkit, linked), GPUWRIGHT_F(Toolkit, nvcc),    GPUWRIGHT_F(Toolkit, compat)};

template <>
inline constexpr auto kFields<PathElement> =
    std::tuple{GPUWRIGHT_F(PathElement, text), GPUWRIGHT_F(PathElement, exists),
               GPUWRIGHT_F(PathElement, holds)};

template <>
inline constexpr auto kFields<Cuda> = std::tuple{
    GPUWRIGHT_F(Cuda, toolkits), GPUWRIGHT_F(Cuda, nvcc_on_path), GPUWRIGHT_F(Cuda, library_path),
    GPUWRIGHT_F(Cuda, preload),  GPUWRIGHT_F(Cuda, variables),    GPUWRIGHT_F(Cuda, environment)};

template <>
inline constexpr auto kFields<Distribution> =
    std::tuple{GPUWRIGHT_F(Distribution, name), GPUWRIGHT_F(Distribution, version),
               GPUWRIGHT_F(Distribution, location)};

template <>
inline constexpr auto kFields<Interpreter> =
    std::tuple{GPUWRIGHT_F(Interpreter, path),      GPUWRIGHT_F(Interpreter, real_path),
               GPUWRIGHT_F(Interpreter, chosen_by), GPUWRIGHT_F(Interpreter, kind),
               GPUWRIGHT_F(Interpreter, prefix),    GPUWRIGHT_F(Interpreter, base_prefix),
               GPUWRIGHT_F(Interpreter, version),   GPUWRIGHT_F(Interpreter, libc),
               GPUWRIGHT_F(Interpreter, user_site)};

template <>
inline constexpr auto kFields<SysPathEntry> =
    std::tuple{GPUWRIGHT_F(SysPathEntry, path), GPUWRIGHT_F(SysPathEntry, origin),
               GPUWRIGHT_F(SysPathEntry, exists)};

template <>
inline constexpr auto kFields<OtherEnvironment> =
    std::tuple{GPUWRIGHT_F(OtherEnvironment, path), GPUWRIGHT_F(OtherEnvironment, kind),
               GPUWRIGHT_F(OtherEnvironment, frameworks)};

template <>
inline constexpr auto kFields<Python> =
    std::tuple{GPUWRIGHT_F(Python, interpreter), GPUWRIGHT_F(Python, sys_path),
               GPUWRIGHT_F(Python, path_unknowns), GPUWRIGHT_F(Python, distributions),
               GPUWRIGHT_F(Python, others)};

template <>
inline constexpr auto kFields<ResolvedLibrary> =
    std::tuple{GPUWRIGHT_F(ResolvedLibrary, name),    GPUWRIGHT_F(ResolvedLibrary, when),
               GPUWRIGHT_F(ResolvedLibrary, role),    GPUWRIGHT_F(ResolvedLibrary, opener),
               GPUWRIGHT_F(ResolvedLibrary, rule),    GPUWRIGHT_F(ResolvedLibrary, state),
               GPUWRIGHT_F(ResolvedLibrary, path),    GPUWRIGHT_F(ResolvedLibrary, real_path),
               GPUWRIGHT_F(ResolvedLibrary, version), GPUWRIGHT_F(ResolvedLibrary, error),
               GPUWRIGHT_F(ResolvedLibrary, shadows), GPUWRIGHT_F(ResolvedLibrary, elsewhere)};

template <>
inline constexpr auto kFields<ImportProblem> =
    std::tuple{GPUWRIGHT_F(ImportProblem, object), GPUWRIGHT_F(ImportProblem, error)};

template <>
inline constexpr auto kFields<Framework> = std::tuple{GPUWRIGHT_F(Framework, name),
                                                      GPUWRIGHT_F(Framework, distribution),
                                                      GPUWRIGHT_F(Framework, owners),
                                                      GPUWRIGHT_F(Framework, version),
                                                      GPUWRIGHT_F(Framework, location),
                                                      GPUWRIGHT_F(Framework, build),
                                                      GPUWRIGHT_F(Framework, build_cuda),
                                                      GPUWRIGHT_F(Framework, build_cudnn),
                                                      GPUWRIGHT_F(Framework, targets),
                                                      GPUWRIGHT_F(Framework, opener),
                                                      GPUWRIGHT_F(Framework, opener_tag),
                                                      GPUWRIGHT_F(Framework, libraries),
                                                      GPUWRIGHT_F(Framework, import_problems),
                                                      GPUWRIGHT_F(Framework, plugin),
                                                      GPUWRIGHT_F(Framework, plugin_version),
                                                      GPUWRIGHT_F(Framework, core_version),
                                                      GPUWRIGHT_F(Framework, needs_nvml),
                                                      GPUWRIGHT_F(Framework, notes)};

template <>
inline constexpr auto kFields<ProbeNote> =
    std::tuple{GPUWRIGHT_F(ProbeNote, probe), GPUWRIGHT_F(ProbeNote, text)};

template <>
inline constexpr auto kFields<Machine> = std::tuple{
    GPUWRIGHT_F(Machine, host), GPUWRIGHT_F(Machine, hardware), GPUWRIGHT_F(Machine, driver),
    GPUWRIGHT_F(Machine, cuda), GPUWRIGHT_F(Machine, python),   GPUWRIGHT_F(Machine, frameworks),
    GPUWRIGHT_F(Machine, notes)};

#undef GPUWRIGHT_F

}  // namespace gpuwright
