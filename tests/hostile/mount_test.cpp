#include <gtest/gtest.h>

#include "hostile/disk_tree.h"
#include "hostile/hanging_mount.h"

// A file system that has stopped answering. The probe that looks at it is cut off and noted, the
// others tell what they know, and the program ends.

namespace gpuwright {
namespace {

struct Place {
  const char* name;
  const char* path;
  const char* python;
  const char* probe;  ///< That is cut off.
};

class HangingMounts : public testing::TestWithParam<Place> {};

TEST_P(HangingMounts, CostOneProbeAndLeaveTheRest) {
  const DiskTree tree;
  const HangingMount mount(tree.at(GetParam().path));
  if (!mount.problem().empty()) GTEST_SKIP() << mount.problem();
  const ProgramRun run = tree.run({"check", "--python", GetParam().python});
  EXPECT_TRUE(run.status == 1 || run.status == 3) << run.status << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.out.find("All right"), std::string::npos) << run.out;
  EXPECT_EQ(run.out.find(" uses "), std::string::npos) << run.out;
  EXPECT_NE(run.out.find(std::string("probe ") + GetParam().probe + ": did not finish within"),
            std::string::npos)
      << run.out;
}

constexpr Place kPlaces[] = {
    {"Sys", "/sys", "/env", "hardware"},
    {"Proc", "/proc/driver", "/env", "hardware"},
    {"Toolkits", "/usr/local", "/usr", "driver"},
    {"HomeEnvironments", "/home/u/.virtualenvs", "/usr", "python"},
    {"LibraryOfAWheel", "/env/lib/python3.12/site-packages/nvidia/cudnn/lib", "/env", "framework"},
};

INSTANTIATE_TEST_SUITE_P(All, HangingMounts, testing::ValuesIn(kPlaces),
                         [](const auto& place) { return std::string(place.param.name); });

// What the user names himself is asked on the way to the probes.
TEST(HangingMount, NamedAsPythonOrRootIsWrongUsage) {
  const DiskTree tree;
  const HangingMount mount(tree.at("/srv"));
  if (!mount.problem().empty()) GTEST_SKIP() << mount.problem();
  const CheckRun python = tree.check({"--python", "/srv/env"});
  EXPECT_EQ(python.status, 2);
  EXPECT_NE(python.err.find("--python /srv/env: does not answer"), std::string::npos) << python.err;
  const ProgramRun root = run_words({"timeout", "--signal=KILL", "60", GPUWRIGHT_PROGRAM, "check",
                                     "--root", tree.at("/srv").string()});
  EXPECT_EQ(root.status, 2);
  EXPECT_NE(root.err.find("does not answer"), std::string::npos) << root.err;
}

}  // namespace
}  // namespace gpuwright
