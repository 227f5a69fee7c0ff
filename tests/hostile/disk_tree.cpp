#include "hostile/disk_tree.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <stdexcept>

namespace gpuwright {
namespace {

constexpr const char* kDriver = "580.95.05";

TensorFlowShape tensorflow_2_20() {
  return {"2.20.0", "12.5.1", "9",
          wheel_path({"cuda_cupti", "cublas", "cudnn", "cufft", "cusolver", "cusparse", "tensorrt",
                      "cuda_runtime"})};
}

void add_bus(MemorySystem& system) {
  const std::string gpu = "/sys/bus/pci/devices/0000:01:00.0";
  system.add_file(gpu + "/vendor", "0x10de\n");
  system.add_file(gpu + "/device", "0x2335\n");
  system.add_file(gpu + "/class", "0x030200\n");
  system.add_file(gpu + "/enable", "1\n");
  system.add_directory("/sys/bus/pci/drivers/nvidia");
  system.add_link(gpu + "/driver", "../../drivers/nvidia");
}

void add_module(MemorySystem& system) {
  const std::string proc = "/proc/driver/nvidia";
  system.add_file(proc + "/version",
                  std::string("NVRM version: NVIDIA UNIX x86_64 Kernel Module  ") + kDriver +
                      "  Tue Sep 23 10:11:16 UTC 2025\nGCC version:  gcc version 12.2.0\n");
  system.add_file(
      proc + "/gpus/0000:01:00.0/information",
      "Model: \t\t NVIDIA H200\nIRQ:   \t\t 40\nGPU UUID: \t "
      "GPU-11111111-2222-3333-4444-555555555555\nDevice Minor: \t 0\nGPU Excluded:\tNo\n");
  system.add_file("/proc/modules", "nvidia_uvm 1 0 - Live 0x0\nnvidia 1 1 - Live 0x0\n");
  system.add_file("/proc/devices", "Character devices:\n195 nvidia\n511 nvidia-uvm\n");
  system.add_device("/dev/nvidia0", 195, 0);
  system.add_device("/dev/nvidiactl", 195, 255);
  system.add_device("/dev/nvidia-uvm", 511, 0);
}

void add_kernel(MemorySystem& system) {
  system.add_file("/proc/sys/kernel/osrelease", "6.1.0-27-amd64\n");
  system.add_file("/proc/sys/kernel/version", "#1 SMP\n");
  system.add_file("/proc/self/status",
                  "Name:\tx\nUid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\n");
  system.add_file("/proc/self/environ", std::string("HOME=/home/u\0PATH=/usr/bin\0", 28));
  system.add_file("/proc/self/mountinfo", "22 1 254:1 / / rw - ext4 /dev/vda1 rw\n");
  system.add_file("/proc/cpuinfo",
                  "processor\t: 0\nflags\t\t: fpu sse sse2 ssse3 sse4_1 sse4_2 avx avx2 fma bmi1 "
                  "bmi2 f16c movbe lzcnt popcnt\n");
  system.add_file("/proc/1/comm", "systemd\n");
  system.add_file("/proc/1/environ", "");
  system.add_file("/etc/group", "root:x:0:\nvideo:x:44:\n");
  system.add_directory("/sys/module");
}

}  // namespace

SoundMachine::SoundMachine() {
  add_cuda12_wheels(*this);
  add_tensorflow(*this, tensorflow_2_20());
  add_bus(system);
  add_module(system);
  add_kernel(system);
}

bool CheckRun::says_uses() const {
  for (const auto& framework : report["frameworks"])
    if (framework["answer"] == "uses") return true;
  return false;
}

bool CheckRun::has_finding(const std::string& id) const {
  for (const auto& finding : report["findings"])
    if (finding["id"] == id) return true;
  return false;
}

std::vector<std::string> CheckRun::notes() const {
  std::vector<std::string> probes;
  if (report.contains("notes"))
    for (const auto& note : report["notes"]) probes.push_back(note["probe"]);
  return probes;
}

DiskTree::DiskTree(const MemorySystem& system, const std::filesystem::path& place)
    : directory_(place) {
  std::vector<std::string> left = {"/"};
  while (!left.empty()) {
    const std::string directory = left.back();
    left.pop_back();
    std::filesystem::create_directories(at(directory));
    const auto entries = system.list(directory).value();
    for (const auto& entry : entries) {
      const auto path = path_join(directory, entry.name);
      const auto status = system.link_status(path).value();
      if (entry.kind == FileKind::kDirectory) left.push_back(path);
      if (entry.kind == FileKind::kSymlink) link(path, system.read_link(path).value());
      if (entry.kind == FileKind::kRegular) {
        write(path, system.read(path, 64 << 20).value());
        ::chmod(at(path).c_str(), status.mode);
      }
      if (entry.kind != FileKind::kCharacterDevice) continue;
      const auto number = makedev(status.rdev_major, status.rdev_minor);
      has_nodes_ = has_nodes_ && ::mknod(at(path).c_str(), S_IFCHR | 0666, number) == 0 &&
                   ::chmod(at(path).c_str(), 0666) == 0;
    }
  }
}

void DiskTree::write(const std::string& path, const std::string& text) const {
  std::filesystem::create_directories(at(path).parent_path());
  std::ofstream(at(path), std::ios::binary) << text;
}

void DiskTree::link(const std::string& path, const std::string& target) const {
  std::filesystem::create_directories(at(path).parent_path());
  std::filesystem::remove_all(at(path));
  std::filesystem::create_symlink(target, at(path));
}

void DiskTree::write_huge(const std::string& path, const std::string& head) const {
  write(path, head);
  std::filesystem::resize_file(at(path), std::uintmax_t{1} << 30);
}

CheckRun DiskTree::check(std::vector<std::string> options) const {
  options.insert(options.begin(), {"check", "--format", "json"});
  const ProgramRun done = run(std::move(options));
  return {done.status, done.err, nlohmann::json::parse(done.out, nullptr, false)};
}

// The time limit is no measurement: all deadlines together are 40 seconds, and what has not ended
// by then never will.
ProgramRun DiskTree::run(std::vector<std::string> words) const {
  words.insert(words.begin(), {"timeout", "--signal=KILL", "90", GPUWRIGHT_PROGRAM});
  words.insert(words.end(), {"--root", root().string()});
  return run_words(words);
}

}  // namespace gpuwright
