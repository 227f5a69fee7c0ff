#include "probe/python_environments.h"

#include <gtest/gtest.h>

#include "python_tree.h"

namespace gpuwright {
namespace {

class OtherEnvironments : public testing::Test {
 protected:
  OtherEnvironments() {
    environment_["HOME"] = "/home/u";
    system_.cwd = "/project";
  }

  // One text an environment: path, kind, frameworks.
  std::vector<std::string> found(const Interpreter& chosen = {}) const {
    std::vector<std::string> texts;
    for (const auto& other : find_other_environments(system_, environment_, chosen)) {
      texts.push_back(other.path + " " + other.kind);
      for (const auto& framework : other.frameworks) texts.back() += " " + framework;
    }
    return texts;
  }

  void install(const std::string& site, const std::string& package, const std::string& metadata) {
    system_.add_directory(site + "/" + package);
    system_.add_directory(site + "/" + metadata + ".dist-info");
  }

  MemorySystem system_;
  EnvironmentBlock environment_;
};

using Texts = std::vector<std::string>;

TEST(Kernelspec, GivesAnAbsoluteInterpreterOnly) {
  EXPECT_EQ(parse_kernelspec(R"({"argv": ["/v/bin/python", "-m", "ipykernel_launcher", "-f",
      "{connection_file}"], "display_name": "v", "language": "python"})"),
            "/v/bin/python");
  EXPECT_EQ(parse_kernelspec(R"({"argv": ["python"]})"), "");
  for (const auto* text : {"", "[]", "{", R"({"argv": []})", R"({"argv": [1]})", R"({"argv": 1})"})
    EXPECT_EQ(parse_kernelspec(text), "") << text;
}

TEST_F(OtherEnvironments, AreNoneOnAnEmptyMachine) { EXPECT_TRUE(found().empty()); }

TEST_F(OtherEnvironments, OfTheWorkingDirectoryNameTheirFrameworks) {
  add_debian_python(system_, "3.11");
  add_venv(system_, "/project/.venv", "/usr", "3.11", kClosed);
  install("/project/.venv/lib/python3.11/site-packages", "tensorflow", "tensorflow_cpu-2.21.0");
  install("/project/.venv/lib/python3.11/site-packages", "tensorboard", "tensorboard-2.19.0");
  EXPECT_EQ(found(),
            (Texts{"/project/.venv venv tensorflow-cpu 2.21.0", "/usr/bin/python3.11 system"}));
}

TEST_F(OtherEnvironments, AreFoundWhereToolsKeepThem) {
  const auto add = [&](const std::string& prefix) { add_python(system_, prefix, "3.12"); };
  add("/home/u/miniforge3");
  add("/home/u/miniforge3/envs/train");
  add("/opt/conda");
  add("/data/envs/listed");
  add("/home/u/.pyenv/versions/3.12.1");
  add("/home/u/.virtualenvs/old");
  system_.add_file("/home/u/.conda/environments.txt", "/opt/conda\n/data/envs/listed\n/gone\n");
  install("/home/u/miniforge3/envs/train/lib/python3.12/site-packages", "torch", "torch-2.5.1");
  EXPECT_EQ(found(),
            (Texts{"/home/u/miniforge3 conda", "/home/u/miniforge3/envs/train conda torch 2.5.1",
                   "/opt/conda conda", "/data/envs/listed conda",
                   "/home/u/.pyenv/versions/3.12.1 pyenv", "/home/u/.virtualenvs/old venv"}));
}

TEST_F(OtherEnvironments, LeaveTheChosenOneOut) {
  add_debian_python(system_, "3.11");
  add_venv(system_, "/project/.venv", "/usr", "3.11", kClosed);
  Interpreter chosen;
  chosen.kind = "venv";
  chosen.prefix = "/project/.venv";
  chosen.real_path = "/usr/bin/python3.11";
  EXPECT_EQ(found(chosen), Texts{"/usr/bin/python3.11 system"});
  chosen.kind = "system";
  chosen.prefix = "/usr";
  EXPECT_EQ(found(chosen), Texts{"/project/.venv venv"});
}

TEST_F(OtherEnvironments, OfTheSystemAreSeveralUnderOnePrefix) {
  add_debian_python(system_, "3.11");
  add_python(system_, "/usr", "3.12");
  system_.add_file("/usr/bin/x86_64-linux-gnu-python3.11-config", "#!/bin/sh\n", 0755);
  system_.add_link("/usr/bin/python3.11-config", "x86_64-linux-gnu-python3.11-config");
  install("/usr/local/lib/python3.11/dist-packages", "jax", "jax-0.4.30");
  EXPECT_EQ(found(),
            (Texts{"/usr/bin/python3.12 system", "/usr/bin/python3.11 system jax 0.4.30"}));
}

TEST_F(OtherEnvironments, IncludeKernelsBesideTheirEnvironments) {
  add_python(system_, "/srv/env", "3.12");
  install("/srv/env/lib/python3.12/site-packages", "jaxlib", "jaxlib-0.5.0");
  system_.add_file("/home/u/.local/share/jupyter/kernels/a/kernel.json",
                   R"({"argv": ["/srv/env/bin/python3"]})");
  system_.add_file("/usr/share/jupyter/kernels/b/kernel.json",
                   R"({"argv": ["/srv/env/bin/python3"]})");
  EXPECT_EQ(found(), Texts{"/srv/env/bin/python3 jupyter kernel jaxlib 0.5.0"});
  Interpreter chosen;
  chosen.prefix = "/srv/env";
  EXPECT_TRUE(found(chosen).empty());
}

TEST_F(OtherEnvironments, AreAtMost64) {
  for (int i = 0; i < 100; ++i)
    add_python(system_, "/home/u/.virtualenvs/" + std::to_string(i), "3.12");
  EXPECT_EQ(found().size(), 64U);
}

}  // namespace
}  // namespace gpuwright
