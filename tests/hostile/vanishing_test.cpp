#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>

#include "diagnose/diagnose.h"
#include "hostile/disk_tree.h"
#include "probe/probe.h"

// One file at a time cannot be looked at, or is gone when it is looked at after it was listed, as a
// process under /proc is that has just ended.

namespace gpuwright {
namespace {

/// A tree in which each look at one path fails. Writes down which paths were looked at.
class Vanishing : public System {
 public:
  explicit Vanishing(const MemorySystem& tree, std::string path = {}, int code = 0)
      : tree_(tree), path_(std::move(path)), code_(code) {}

  std::set<std::string> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

  Result<FileStatus> status(const std::string& path) const override {
    return look(path, [&] { return tree_.status(path); });
  }
  Result<FileStatus> link_status(const std::string& path) const override {
    return look(path, [&] { return tree_.link_status(path); });
  }
  Result<std::string> read_link(const std::string& path) const override {
    return look(path, [&] { return tree_.read_link(path); });
  }
  Result<std::string> resolve(const std::string& path) const override {
    return look(path, [&] { return tree_.resolve(path); });
  }
  Result<std::vector<DirectoryEntry>> list(const std::string& path) const override {
    return look(path, [&] { return tree_.list(path); });
  }
  Result<std::string> read(const std::string& path, std::size_t most) const override {
    return look(path, [&] { return tree_.read(path, most); });
  }
  Result<std::unique_ptr<RandomAccessFile>> open(const std::string& path) const override {
    return look(path, [&] { return tree_.open(path); });
  }
  Result<bool> may_read_write(const std::string& path) const override {
    return look(path, [&] { return tree_.may_read_write(path); });
  }
  Result<Space> space(const std::string& path) const override {
    return look(path, [&] { return tree_.space(path); });
  }
  Result<std::string> kernel_log(std::size_t most) const override {
    return look("kernel log", [&] { return tree_.kernel_log(most); });
  }
  Result<KernelName> kernel() const override {
    return look("kernel", [&] { return tree_.kernel(); });
  }
  Result<Identity> identity() const override {
    return look("identity", [&] { return tree_.identity(); });
  }
  Result<ClockReading> clock() const override {
    return look("clock", [&] { return tree_.clock(); });
  }
  Result<std::map<std::string, std::string>> environment() const override {
    return look("environment", [&] { return tree_.environment(); });
  }
  Result<std::string> working_directory() const override {
    return look("directory", [&] { return tree_.working_directory(); });
  }

 private:
  template <class Ask>
  auto look(const std::string& path, Ask ask) const -> decltype(ask()) {
    const std::lock_guard lock(mutex_);
    asked_.insert(path);
    if (path == path_) return fail(std::strerror(code_), path, code_);
    return ask();
  }

  const MemorySystem& tree_;
  std::string path_;
  int code_;
  mutable std::mutex mutex_;
  mutable std::set<std::string> asked_;
};

Diagnosis diagnosis_of(const std::shared_ptr<const System>& system) {
  const Catalog& catalog = Catalog::built_in();
  const Machine machine = probe_machine(system, catalog, {"/env", ""});
  for (const auto& note : machine.notes) ADD_FAILURE() << note.probe << " " << note.text;
  return diagnose(machine, catalog);
}

bool says_uses(const Diagnosis& diagnosis) {
  for (const auto& answer : diagnosis.frameworks)
    if (answer.answer == Answer::kUses) return true;
  return false;
}

// At most `most` of what a look at this tree asks for, evenly spread.
std::vector<std::string> paths_asked(const MemorySystem& tree, std::size_t most) {
  const auto system = std::make_shared<Vanishing>(tree);
  diagnosis_of(system);
  const auto asked = system->asked();
  const std::size_t step = asked.size() / most + 1;
  std::vector<std::string> paths;
  std::size_t number = 0;
  for (const auto& path : asked)
    if (number++ % step == 0) paths.push_back(path);
  return paths;
}

void add_processes(SoundMachine& machine) {
  for (int pid = 100; pid < 120; ++pid) {
    const std::string process = "/proc/" + std::to_string(pid);
    machine.text(process + "/comm", "python3\n");
    machine.text(process + "/stat", std::to_string(pid) + " (python3) D 1 1 1\n");
    machine.text(process + "/wchan", "nvidia_ioctl");
    machine.text(process + "/maps", "7f00-7f01 r-xp 0 08:01 1 /usr/lib/libcuda.so.580.82.07\n");
  }
}

TEST(WhatVanishes, IsNeverASoundMachinesEnd) {
  SoundMachine machine;
  add_processes(machine);
  ASSERT_TRUE(says_uses(diagnosis_of(std::make_shared<Vanishing>(machine.system))));
  for (const auto& path : paths_asked(machine.system, 200))
    for (const int code : {ENOENT, EIO}) {
      SCOPED_TRACE(path + ": " + std::strerror(code));
      diagnosis_of(std::make_shared<Vanishing>(machine.system, path, code));
    }
}

// Not to be able to look is no reason to believe.
TEST(WhatCannotBeRead, IsNeverABrokenMachinesCure) {
  SoundMachine mismatch;
  add_processes(mismatch);
  mismatch.text("/proc/driver/nvidia/version",
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.82.07  Mon Aug 4 2025\n");
  SoundMachine without_cudnn;
  without_cudnn.system.remove(WheelTree::wheel("cudnn", "libcudnn.so.9"));
  SoundMachine hidden;
  hidden.variable("CUDA_VISIBLE_DEVICES", "");
  for (const auto* machine : {&mismatch, &without_cudnn, &hidden}) {
    ASSERT_FALSE(says_uses(diagnosis_of(std::make_shared<Vanishing>(machine->system))));
    for (const auto& path : paths_asked(machine->system, 150)) {
      SCOPED_TRACE(path);
      EXPECT_FALSE(
          says_uses(diagnosis_of(std::make_shared<Vanishing>(machine->system, path, EIO))));
    }
  }
}

}  // namespace
}  // namespace gpuwright
