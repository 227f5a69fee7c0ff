#include "probe/process_view.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "support/memory_system.h"

namespace gpuwright {
namespace {

class ProcessViews : public testing::Test {
 protected:
  ProcessViews() {
    system_->add_file("/etc/passwd",
                      "root:x:0:0:root:/root:/bin/bash\n"
                      "alice:x:1000:1000:Alice:/home/alice:/bin/zsh\n");
    system_->add_file("/etc/group", "root:x:0:\nvideo:x:44:bob,alice\nrender:x:105:\n");
    system_->add_device("/dev/nvidia0", 195, 0, 0660, 0, 44);
    system_->add_device("/dev/nvidiactl", 195, 255, 0666);
  }
  ProcessView unit(const std::string& text) {
    system_->add_file("/etc/systemd/system/train.service", text);
    const auto view = view_of_unit(*system_, "train");
    EXPECT_TRUE(view) << (view ? "" : view.error().text());
    return view.value_or(ProcessView{});
  }
  int refusal(const ProcessView& view, const std::string& path) {
    const auto may = make_environment_system(system_, view)->may_read_write(path);
    return may ? 0 : may.error().code;
  }

  std::shared_ptr<MemorySystem> system_ = std::make_shared<MemorySystem>();
};

TEST_F(ProcessViews, AUserHasTheGroupsOfEtcGroup) {
  const auto view = view_of_user(*system_, "alice");
  ASSERT_TRUE(view);
  EXPECT_EQ(view->identity->groups, (std::vector<std::uint32_t>{1000, 44}));
  EXPECT_EQ(view->variables.at("HOME"), "/home/alice");
  EXPECT_EQ(refusal(*view, "/dev/nvidia0"), 0);
}

TEST_F(ProcessViews, AUserWhoIsNowhereIsAnError) {
  const auto view = view_of_user(*system_, "mallory");
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().text(),
            "mallory: is not in /etc/passwd; directory services are not asked");
}

TEST_F(ProcessViews, AUserOutsideTheGroupMayNotOpenTheNode) {
  system_->add_file("/etc/group", "root:x:0:\nvideo:x:44:bob\n");
  EXPECT_EQ(refusal(*view_of_user(*system_, "alice"), "/dev/nvidia0"), EACCES);
}

TEST_F(ProcessViews, AServiceHasItsOwnVariablesAndNoneOfTheShell) {
  system_->environment_block["LD_LIBRARY_PATH"] = "/shell";
  system_->add_file("/etc/train.env", "# from here\nexport B=\"two words\"\nC='3'\n");
  const auto view = unit(
      "[Unit]\nDescription=x\n[Service]\nEnvironment=A=1 \"D=x y\" \\\n  E=5\n"
      "EnvironmentFile=/etc/train.env\nEnvironmentFile=-/etc/absent.env\nUser=alice\n"
      "ExecStart=/opt/venv/bin/python -m train\nWorkingDirectory=~\n");
  EXPECT_EQ(view.name, "systemd unit train.service");
  EXPECT_EQ(view.variables.at("A"), "1");
  EXPECT_EQ(view.variables.at("D"), "x y");
  EXPECT_EQ(view.variables.at("E"), "5");
  EXPECT_EQ(view.variables.at("B"), "two words");
  EXPECT_EQ(view.variables.at("C"), "3");
  EXPECT_FALSE(view.variables.contains("LD_LIBRARY_PATH"));
  EXPECT_EQ(view.interpreter, "/opt/venv/bin/python");
  EXPECT_EQ(view.working_directory, "/home/alice");
}

TEST_F(ProcessViews, ADropInComesAfterTheUnitAndAnEmptyValueTakesBack) {
  system_->add_file("/etc/systemd/system/train.service.d/10.conf",
                    "[Service]\nEnvironment=\nEnvironment=A=2\n");
  const auto view = unit("[Service]\nEnvironment=A=1 B=1\n");
  EXPECT_EQ(view.variables.at("A"), "2");
  EXPECT_FALSE(view.variables.contains("B"));
}

TEST_F(ProcessViews, PrivateDevicesHidesTheNodes) {
  const auto view = unit("[Service]\nPrivateDevices=yes\n");
  const auto seen = make_environment_system(system_, view);
  EXPECT_EQ(seen->status("/dev/nvidia0").error().code, ENOENT);
  EXPECT_TRUE(seen->list("/dev")->empty());
}

TEST_F(ProcessViews, ADeviceCgroupRefusesWhatIsNotAllowed) {
  EXPECT_EQ(refusal(unit("[Service]\nDevicePolicy=closed\n"), "/dev/nvidia0"), EPERM);
  const auto some = unit("[Service]\nDeviceAllow=/dev/nvidia0 rw\n");
  EXPECT_EQ(refusal(some, "/dev/nvidia0"), 0);
  EXPECT_EQ(refusal(some, "/dev/nvidiactl"), EPERM);
  EXPECT_EQ(refusal(unit("[Service]\nDeviceAllow=char-nvidia* rw\n"), "/dev/nvidiactl"), 0);
}

TEST_F(ProcessViews, AUnitThatIsNowhereAndAFileThatIsMissingAreErrors) {
  EXPECT_FALSE(view_of_unit(*system_, "none"));
  system_->add_file("/etc/systemd/system/x.service", "[Service]\nEnvironmentFile=/etc/x.env\n");
  const auto view = view_of_unit(*system_, "x.service");
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().subject, "/etc/x.env");
}

TEST_F(ProcessViews, SudoResetsTheEnvironmentAndDropsLoaderVariables) {
  system_->environment_block = {{"USER", "alice"},
                                {"PATH", "/home/alice/bin"},
                                {"LD_LIBRARY_PATH", "/x"},
                                {"CUDA_VISIBLE_DEVICES", "1"},
                                {"KEPT", "1"}};
  system_->add_file("/etc/sudoers",
                    "Defaults env_reset\nDefaults env_keep += \"KEPT LD_LIBRARY_PATH\"\n"
                    "Defaults secure_path=\"/sbin:/bin\"\n");
  const auto view = view_of_sudo(*system_);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->variables.at("PATH"), "/sbin:/bin");
  EXPECT_EQ(view->variables.at("KEPT"), "1");
  EXPECT_EQ(view->variables.at("SUDO_USER"), "alice");
  EXPECT_FALSE(view->variables.contains("LD_LIBRARY_PATH"));
  EXPECT_FALSE(view->variables.contains("CUDA_VISIBLE_DEVICES"));
}

TEST_F(ProcessViews, CronHasAShortPathWhateverEtcEnvironmentSays) {
  system_->add_file("/etc/environment", "PATH=\"/opt/bin\"\nCUDA_HOME=/cuda\n");
  system_->add_file("/etc/pam.d/cron", "session required pam_env.so\n");
  const auto view = view_of_cron(*system_, "alice");
  ASSERT_TRUE(view);
  EXPECT_EQ(view->variables.at("PATH"), "/usr/bin:/bin");
  EXPECT_EQ(view->variables.at("CUDA_HOME"), "/cuda");
}

TEST(Variables, AreLinesOrABlock) {
  EXPECT_EQ(*parse_variables(std::string("A=1\0B=x=y\0", 10), "f"),
            (Variables{{"A", "1"}, {"B", "x=y"}}));
  EXPECT_EQ(*parse_variables("A=1\nHANDED_ON\n", "f"), (Variables{{"A", "1"}}));
  EXPECT_EQ(parse_variables("A=1\n=2\n", "f").error().subject, "f:2");
  EXPECT_EQ(parse_variables("two words\n", "f").error().subject, "f:1");
}

TEST(ModeBits, DecideByTheFirstClassThatFits) {
  FileStatus node;
  node.mode = 0606;
  node.gid = 44;
  EXPECT_TRUE(mode_allows(node, {1000, 1000, {}}));
  EXPECT_FALSE(mode_allows(node, {1000, 1000, {44}}));
  EXPECT_TRUE(mode_allows(node, {0, 0, {}}));
}

}  // namespace
}  // namespace gpuwright
