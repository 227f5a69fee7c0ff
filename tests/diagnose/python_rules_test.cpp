#include <gtest/gtest.h>

#include "frameworks.h"

// Branches of the rules about environments that the cases do not have.

namespace gpuwright {
namespace {

Launcher pip_of(const char* prefix) {
  Launcher launcher;
  launcher.command = "pip";
  launcher.path = "/usr/local/bin/pip";
  launcher.interpreter = text("/usr/bin/python3.12");
  launcher.prefix = text(prefix);
  return launcher;
}

TEST(PipOfOtherPython, SpeaksInAnActiveEnvironmentWithoutFrameworks) {
  auto machine = healthy_machine();
  auto& python = machine.python.interpreter.edit();
  python.prefix = "/venv";
  python.chosen_by = "VIRTUAL_ENV";
  EXPECT_TRUE(does_not_apply(judge("python.pip-of-other-python", machine)));
  machine.python.launchers = known(std::vector<Launcher>{pip_of("/usr")});
  EXPECT_EQ(findings_of(judge("python.pip-of-other-python", machine)).size(), 1U);
  python.chosen_by = "PATH";
  EXPECT_TRUE(is_fine(judge("python.pip-of-other-python", machine)));
  python.chosen_by = "--python";
  EXPECT_TRUE(does_not_apply(judge("python.pip-of-other-python", machine)));
  python.prefix = "/usr";
  python.chosen_by = "VIRTUAL_ENV";
  EXPECT_TRUE(is_fine(judge("python.pip-of-other-python", machine)));
}

TEST(PipOfOtherPython, IsSilentWhereTheScriptCannotBeRead) {
  auto machine = healthy_machine();
  machine.python.interpreter.edit().chosen_by = "VIRTUAL_ENV";
  auto launcher = pip_of("/usr");
  launcher.prefix = Fact<std::string>::unknown("/usr/local/bin/pip", "permission denied");
  machine.python.launchers = known(std::vector<Launcher>{launcher});
  EXPECT_TRUE(does_not_apply(judge("python.pip-of-other-python", machine)));
}

Machine venv_without_packages() {
  auto machine = healthy_machine();
  auto& python = machine.python.interpreter.edit();
  python.kind = "venv";
  python.prefix = "/venv";
  python.version = known(Version::of("3.12.3"));
  machine.python.sys_path = {{"/usr/lib/python3.12", "standard library", true}};
  return machine;
}

TEST(VenvOfOtherPython, IsNotTakenForOneThatCannotBeRead) {
  auto machine = venv_without_packages();
  EXPECT_EQ(finding_of(judge("python.venv-of-other-python", machine)).severity, Severity::kError);
  machine.python.path_unknowns = {"/venv/lib/python3.12/site-packages: permission denied"};
  EXPECT_TRUE(is_fine(judge("python.venv-of-other-python", machine)));
  machine.python.path_unknowns.clear();
  machine.frameworks = {sound_torch()};  // from the system's packages
  EXPECT_EQ(finding_of(judge("python.venv-of-other-python", machine)).severity, Severity::kWarning);
  machine.python.sys_path.clear();
  EXPECT_TRUE(does_not_apply(judge("python.venv-of-other-python", machine)));
}

TEST(UserSite, OfASystemPythonIsByDesign) {
  auto machine = machine_with(sound_torch());
  machine.python.sys_path = {{"/u", "user site", true}, {"/s", "site-packages", true}};
  machine.python.distributions = {{"numpy", "2.1", "/u"}, {"numpy", "1.26", "/s"}};
  machine.python.interpreter.edit().kind = "system";
  EXPECT_TRUE(does_not_apply(judge("python.user-site-shadows", machine)));
  machine.python.interpreter.edit().kind = "conda";
  EXPECT_EQ(findings_of(judge("python.user-site-shadows", machine)).size(), 1U);
  machine.python.distributions[0].version = "1.26";
  EXPECT_TRUE(is_fine(judge("python.user-site-shadows", machine)));
}

TEST(Pythonpath, WithLibrariesAloneIsNoLeak) {
  auto machine = machine_with(sound_torch());
  machine.python.interpreter.edit().version = known(Version::of("3.12.3"));
  const std::string other = "/x/lib/python3.9/site-packages";
  machine.python.sys_path = {{other, "PYTHONPATH", true}, {"/s", "site-packages", true}};
  machine.python.distributions = {{"nvidia-cudnn-cu12", "9.1.0.70", other}};
  EXPECT_TRUE(is_fine(judge("python.pythonpath-leaks", machine)));
  machine.python.distributions = {{"h5py", "3.11.0", other}};
  EXPECT_EQ(finding_of(judge("python.pythonpath-leaks", machine)).severity, Severity::kWarning);
  machine.python.distributions = {{"numpy", "1.26.4", other}};
  EXPECT_EQ(finding_of(judge("python.pythonpath-leaks", machine)).severity, Severity::kError);
}

TEST(NoWheels, IsForEnvironmentsThatAreMeantForGpuWork) {
  auto machine = healthy_machine();
  auto& python = machine.python.interpreter.edit();
  python.version = known(Version::of("3.15.0"));
  python.chosen_by = "VIRTUAL_ENV";
  EXPECT_EQ(findings_of(judge("python.no-wheels", machine)).size(), 1U);
  python.version = known(Version::of("3.12.3"));
  EXPECT_TRUE(is_fine(judge("python.no-wheels", machine)));
  python.version = known(Version::of("3.15.0"));
  python.chosen_by = "PATH";
  EXPECT_TRUE(does_not_apply(judge("python.no-wheels", machine)));
}

TEST(KernelElsewhere, IsSilentWhileAKernelMayBeThisOne) {
  auto machine = machine_with(sound_torch());
  machine.python.interpreter.edit().prefix = "/env";
  JupyterKernel kernel;
  kernel.name = "python3";
  kernel.program = "/other/bin/python";
  kernel.prefix = text("/other");
  machine.python.kernels = known(std::vector<JupyterKernel>{kernel});
  EXPECT_EQ(findings_of(judge("python.kernel-elsewhere", machine)).size(), 1U);
  kernel.prefix = Fact<std::string>::unknown("kernel.json", "the server's own Python");
  machine.python.kernels.edit().push_back(kernel);
  EXPECT_TRUE(is_fine(judge("python.kernel-elsewhere", machine)));
  machine.python.kernels = Fact<std::vector<JupyterKernel>>::absent("test");
  EXPECT_TRUE(does_not_apply(judge("python.kernel-elsewhere", machine)));
}

}  // namespace
}  // namespace gpuwright
