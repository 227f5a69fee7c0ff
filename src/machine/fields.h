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
inline constexpr auto kFields<FileSpace> =
    std::tuple{GPUWRIGHT_F(FileSpace, path),         GPUWRIGHT_F(FileSpace, purpose),
               GPUWRIGHT_F(FileSpace, total_bytes),  GPUWRIGHT_F(FileSpace, free_bytes),
               GPUWRIGHT_F(FileSpace, total_inodes), GPUWRIGHT_F(FileSpace, free_inodes),
               GPUWRIGHT_F(FileSpace, read_only)};

template <>
inline constexpr auto kFields<Clock> =
    std::tuple{GPUWRIGHT_F(Clock, now_s), GPUWRIGHT_F(Clock, newest_file_s),
               GPUWRIGHT_F(Clock, newest_file), GPUWRIGHT_F(Clock, synchronised)};

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
                                                 GPUWRIGHT_F(Host, sudo_user),
                                                 GPUWRIGHT_F(Host, spaces),
                                                 GPUWRIGHT_F(Host, open_files),
                                                 GPUWRIGHT_F(Host, cpu_model),
                                                 GPUWRIGHT_F(Host, cpu_features),
                                                 GPUWRIGHT_F(Host, clock),
                                                 GPUWRIGHT_F(Host, memory_bytes),
                                                 GPUWRIGHT_F(Host, memory_limit_bytes),
                                                 GPUWRIGHT_F(Host, environment_of)};

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
               GPUWRIGHT_F(ModuleFile, version), GPUWRIGHT_F(ModuleFile, flavour),
               GPUWRIGHT_F(ModuleFile, vermagic)};

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
inline constexpr auto kFields<PackageEvent> =
    std::tuple{GPUWRIGHT_F(PackageEvent, time),    GPUWRIGHT_F(PackageEvent, action),
               GPUWRIGHT_F(PackageEvent, package), GPUWRIGHT_F(PackageEvent, from),
               GPUWRIGHT_F(PackageEvent, to),      GPUWRIGHT_F(PackageEvent, log)};

template <>
inline constexpr auto kFields<DriverHolder> =
    std::tuple{GPUWRIGHT_F(DriverHolder, pid), GPUWRIGHT_F(DriverHolder, name),
               GPUWRIGHT_F(DriverHolder, holds)};

template <>
inline constexpr auto kFields<BlockedTask> = std::tuple{
    GPUWRIGHT_F(BlockedTask, pid), GPUWRIGHT_F(BlockedTask, name), GPUWRIGHT_F(BlockedTask, where)};

template <>
inline constexpr auto kFields<MigGpu> =
    std::tuple{GPUWRIGHT_F(MigGpu, minor), GPUWRIGHT_F(MigGpu, gpu_instances),
               GPUWRIGHT_F(MigGpu, compute_instances)};

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
                                                   GPUWRIGHT_F(Driver, kernel_log),
                                                   GPUWRIGHT_F(Driver, package_history),
                                                   GPUWRIGHT_F(Driver, runfile),
                                                   GPUWRIGHT_F(Driver, holders),
                                                   GPUWRIGHT_F(Driver, blocked),
                                                   GPUWRIGHT_F(Driver, mig),
                                                   GPUWRIGHT_F(Driver, mps_directory),
                                                   GPUWRIGHT_F(Driver, mps_daemon),
                                                   GPUWRIGHT_F(Driver, vgpu_guest),
                                                   GPUWRIGHT_F(Driver, licence_daemon),
                                                   GPUWRIGHT_F(Driver, licence_configured),
                                                   GPUWRIGHT_F(Driver, gsp_firmware),
                                                   GPUWRIGHT_F(Driver, module_options)};

template <>
inline constexpr auto kFields<Toolkit> = std::tuple{
    GPUWRIGHT_F(Toolkit, root),   GPUWRIGHT_F(Toolkit, version), GPUWRIGHT_F(Toolkit, on_path),
    GPUWRIGHT_F(Toolkit, linked), GPUWRIGHT_F(Toolkit, nvcc),    GPUWRIGHT_F(Toolkit, compat)};

template <>
inline constexpr auto kFields<PathElement> =
    std::tuple{GPUWRIGHT_F(PathElement, text), GPUWRIGHT_F(PathElement, exists),
               GPUWRIGHT_F(PathElement, holds)};

template <>
inline constexpr auto kFields<DeclaredVariable> =
    std::tuple{GPUWRIGHT_F(DeclaredVariable, name), GPUWRIGHT_F(DeclaredVariable, value),
               GPUWRIGHT_F(DeclaredVariable, file), GPUWRIGHT_F(DeclaredVariable, scope)};

template <>
inline constexpr auto kFields<LibraryCopy> =
    std::tuple{GPUWRIGHT_F(LibraryCopy, family),    GPUWRIGHT_F(LibraryCopy, path),
               GPUWRIGHT_F(LibraryCopy, real_path), GPUWRIGHT_F(LibraryCopy, soname),
               GPUWRIGHT_F(LibraryCopy, version),   GPUWRIGHT_F(LibraryCopy, kind),
               GPUWRIGHT_F(LibraryCopy, origin)};

template <>
inline constexpr auto kFields<Cuda> = std::tuple{
    GPUWRIGHT_F(Cuda, toolkits), GPUWRIGHT_F(Cuda, nvcc_on_path), GPUWRIGHT_F(Cuda, library_path),
    GPUWRIGHT_F(Cuda, preload),  GPUWRIGHT_F(Cuda, variables),    GPUWRIGHT_F(Cuda, environment),
    GPUWRIGHT_F(Cuda, declared), GPUWRIGHT_F(Cuda, copies)};

template <>
inline constexpr auto kFields<Distribution> = std::tuple{GPUWRIGHT_F(Distribution, name),
                                                         GPUWRIGHT_F(Distribution, version),
                                                         GPUWRIGHT_F(Distribution, location),
                                                         GPUWRIGHT_F(Distribution, requirements),
                                                         GPUWRIGHT_F(Distribution, requires_python),
                                                         GPUWRIGHT_F(Distribution, tag)};

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
inline constexpr auto kFields<ModuleShadow> =
    std::tuple{GPUWRIGHT_F(ModuleShadow, module), GPUWRIGHT_F(ModuleShadow, path),
               GPUWRIGHT_F(ModuleShadow, origin), GPUWRIGHT_F(ModuleShadow, hides)};

template <>
inline constexpr auto kFields<Launcher> =
    std::tuple{GPUWRIGHT_F(Launcher, command), GPUWRIGHT_F(Launcher, path),
               GPUWRIGHT_F(Launcher, interpreter), GPUWRIGHT_F(Launcher, prefix)};

template <>
inline constexpr auto kFields<JupyterKernel> =
    std::tuple{GPUWRIGHT_F(JupyterKernel, name),     GPUWRIGHT_F(JupyterKernel, path),
               GPUWRIGHT_F(JupyterKernel, title),    GPUWRIGHT_F(JupyterKernel, program),
               GPUWRIGHT_F(JupyterKernel, prefix),   GPUWRIGHT_F(JupyterKernel, frameworks),
               GPUWRIGHT_F(JupyterKernel, variables)};

template <>
inline constexpr auto kFields<Python> =
    std::tuple{GPUWRIGHT_F(Python, interpreter),   GPUWRIGHT_F(Python, sys_path),
               GPUWRIGHT_F(Python, path_unknowns), GPUWRIGHT_F(Python, distributions),
               GPUWRIGHT_F(Python, others),        GPUWRIGHT_F(Python, shadows),
               GPUWRIGHT_F(Python, launchers),     GPUWRIGHT_F(Python, kernels)};

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
                                                      GPUWRIGHT_F(Framework, notes),
                                                      GPUWRIGHT_F(Framework, variant),
                                                      GPUWRIGHT_F(Framework, conda_build),
                                                      GPUWRIGHT_F(Framework, ptxas),
                                                      GPUWRIGHT_F(Framework, libdevice)};

template <>
inline constexpr auto kFields<NvmlGpu> = std::tuple{GPUWRIGHT_F(NvmlGpu, index),
                                                    GPUWRIGHT_F(NvmlGpu, address),
                                                    GPUWRIGHT_F(NvmlGpu, name),
                                                    GPUWRIGHT_F(NvmlGpu, uuid),
                                                    GPUWRIGHT_F(NvmlGpu, error),
                                                    GPUWRIGHT_F(NvmlGpu, memory_total_bytes),
                                                    GPUWRIGHT_F(NvmlGpu, memory_used_bytes),
                                                    GPUWRIGHT_F(NvmlGpu, utilisation_percent),
                                                    GPUWRIGHT_F(NvmlGpu, temperature_c),
                                                    GPUWRIGHT_F(NvmlGpu, power_w),
                                                    GPUWRIGHT_F(NvmlGpu, power_limit_w),
                                                    GPUWRIGHT_F(NvmlGpu, link_generation),
                                                    GPUWRIGHT_F(NvmlGpu, link_generation_max),
                                                    GPUWRIGHT_F(NvmlGpu, link_width),
                                                    GPUWRIGHT_F(NvmlGpu, link_width_max),
                                                    GPUWRIGHT_F(NvmlGpu, clock_reasons),
                                                    GPUWRIGHT_F(NvmlGpu, compute_mode),
                                                    GPUWRIGHT_F(NvmlGpu, persistence),
                                                    GPUWRIGHT_F(NvmlGpu, ecc),
                                                    GPUWRIGHT_F(NvmlGpu, mig),
                                                    GPUWRIGHT_F(NvmlGpu, mig_devices),
                                                    GPUWRIGHT_F(NvmlGpu, ecc_uncorrected_volatile),
                                                    GPUWRIGHT_F(NvmlGpu, ecc_uncorrected_aggregate),
                                                    GPUWRIGHT_F(NvmlGpu, remapped_rows_uncorrected),
                                                    GPUWRIGHT_F(NvmlGpu, remap_pending),
                                                    GPUWRIGHT_F(NvmlGpu, remap_failed),
                                                    GPUWRIGHT_F(NvmlGpu, retired_pages),
                                                    GPUWRIGHT_F(NvmlGpu, retirement_pending),
                                                    GPUWRIGHT_F(NvmlGpu, virtualisation),
                                                    GPUWRIGHT_F(NvmlGpu, licence),
                                                    GPUWRIGHT_F(NvmlGpu, fabric_state)};

template <>
inline constexpr auto kFields<NvmlRun> =
    std::tuple{GPUWRIGHT_F(NvmlRun, path), GPUWRIGHT_F(NvmlRun, result),
               GPUWRIGHT_F(NvmlRun, driver_version), GPUWRIGHT_F(NvmlRun, gpus)};

template <>
inline constexpr auto kFields<DriverRun> =
    std::tuple{GPUWRIGHT_F(DriverRun, path), GPUWRIGHT_F(DriverRun, result),
               GPUWRIGHT_F(DriverRun, cuda), GPUWRIGHT_F(DriverRun, devices)};

template <>
inline constexpr auto kFields<FrameworkRun> =
    std::tuple{GPUWRIGHT_F(FrameworkRun, framework), GPUWRIGHT_F(FrameworkRun, result),
               GPUWRIGHT_F(FrameworkRun, error),     GPUWRIGHT_F(FrameworkRun, version),
               GPUWRIGHT_F(FrameworkRun, devices),   GPUWRIGHT_F(FrameworkRun, matmul),
               GPUWRIGHT_F(FrameworkRun, libraries), GPUWRIGHT_F(FrameworkRun, messages)};

template <>
inline constexpr auto kFields<Run> =
    std::tuple{GPUWRIGHT_F(Run, driver), GPUWRIGHT_F(Run, nvml), GPUWRIGHT_F(Run, frameworks)};

template <>
inline constexpr auto kFields<Event> =
    std::tuple{GPUWRIGHT_F(Event, id), GPUWRIGHT_F(Event, text), GPUWRIGHT_F(Event, source),
               GPUWRIGHT_F(Event, count), GPUWRIGHT_F(Event, values)};

template <>
inline constexpr auto kFields<ProbeNote> =
    std::tuple{GPUWRIGHT_F(ProbeNote, probe), GPUWRIGHT_F(ProbeNote, text)};

template <>
inline constexpr auto kFields<Machine> = std::tuple{
    GPUWRIGHT_F(Machine, host), GPUWRIGHT_F(Machine, hardware), GPUWRIGHT_F(Machine, driver),
    GPUWRIGHT_F(Machine, cuda), GPUWRIGHT_F(Machine, python),   GPUWRIGHT_F(Machine, frameworks),
    GPUWRIGHT_F(Machine, run),  GPUWRIGHT_F(Machine, events),   GPUWRIGHT_F(Machine, notes)};

#undef GPUWRIGHT_F

}  // namespace gpuwright
