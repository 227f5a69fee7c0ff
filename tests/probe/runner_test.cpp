#include <gtest/gtest.h>

#include <array>
#include <condition_variable>
#include <mutex>
#include <stdexcept>

#include "probe/probe.h"
#include "support/memory_system.h"

namespace gpuwright {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""h;

// A file system that does not answer until it is released, as a dead network mount.
class StuckSystem : public MemorySystem {
 public:
  Result<std::string> read(const std::string& path, std::size_t max_bytes) const override {
    std::unique_lock lock(mutex_);
    released_.wait(lock, [&] { return is_released_; });
    return MemorySystem::read(path, max_bytes);
  }
  void release() {
    const std::lock_guard lock(mutex_);
    is_released_ = true;
    released_.notify_all();
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable released_;
  bool is_released_ = false;
};

Fill name_kernel(const ProbeInput& input) {
  const auto release = input.system.kernel()->release;
  return [release](Machine& machine) {
    machine.host.kernel_release = Fact<std::string>::known(release, "uname -r");
  };
}

Fill repeat_kernel(const ProbeInput& input) {
  const auto release = input.machine.host.kernel_release;
  return [release](Machine& machine) { machine.driver.newest_kernel = release; };
}

Fill read_slowly(const ProbeInput& input) {
  const auto text = input.system.read("/etc/os-release");
  return [](Machine& machine) {
    machine.host.distribution = Fact<std::string>::known("too late", "nowhere");
  };
}

Fill throw_error(const ProbeInput&) { throw std::runtime_error("broken table"); }
Fill throw_number(const ProbeInput&) { throw 7; }

Machine run(std::span<const Probe> probes, std::shared_ptr<const System> system) {
  return run_probes(probes, std::move(system), Catalog::built_in(), {});
}

TEST(Runner, ShowsALaterProbeWhatEarlierOnesFilled) {
  const std::array probes = {Probe{"first", name_kernel, 1h}, Probe{"second", repeat_kernel, 1h}};
  const auto machine = run(probes, std::make_shared<MemorySystem>());
  EXPECT_TRUE(machine.driver.newest_kernel.is("6.1.0-27-amd64"));
  EXPECT_TRUE(machine.notes.empty());
}

TEST(Runner, NotesAProbeThatOverrunsAndLeavesItsPartNotLookedAt) {
  const auto system = std::make_shared<StuckSystem>();
  const std::array probes = {Probe{"stuck", read_slowly, 1ms}, Probe{"sound", name_kernel, 1h}};
  const auto machine = run(probes, system);
  system->release();
  ASSERT_EQ(machine.notes.size(), 1u);
  EXPECT_EQ(machine.notes[0].probe, "stuck");
  EXPECT_EQ(machine.notes[0].text, "did not finish within 1 ms");
  EXPECT_TRUE(machine.host.distribution.is_unknown());
  EXPECT_EQ(machine.host.distribution.reason(), "not looked at");
  EXPECT_TRUE(machine.host.kernel_release.is_known());
}

TEST(Runner, NotesAProbeThatThrowsAndGoesOn) {
  const std::array probes = {Probe{"bad", throw_error, 1h}, Probe{"worse", throw_number, 1h},
                             Probe{"sound", name_kernel, 1h}};
  const auto machine = run(probes, std::make_shared<MemorySystem>());
  ASSERT_EQ(machine.notes.size(), 2u);
  EXPECT_EQ(machine.notes[0], (ProbeNote{"bad", "failed: broken table"}));
  EXPECT_EQ(machine.notes[1], (ProbeNote{"worse", "failed: unknown exception"}));
  EXPECT_TRUE(machine.host.kernel_release.is_known());
}

TEST(Runner, KeepsTheSystemAliveForAnAbandonedThread) {
  auto system = std::make_shared<StuckSystem>();
  const std::weak_ptr<StuckSystem> watched = system;
  const std::array probes = {Probe{"stuck", read_slowly, 1ms}};
  run(probes, system);
  system.reset();
  const auto still_there = watched.lock();
  ASSERT_NE(still_there, nullptr);
  still_there->release();
}

}  // namespace
}  // namespace gpuwright
