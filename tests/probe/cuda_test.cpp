#include "probe/cuda.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "probe/cuda_toolkits.h"
#include "probe/probe.h"
#include "small_elf.h"
#include "support/memory_system.h"

namespace gpuwright {
namespace {

Cuda probe(const System& system) {
  Machine machine;
  probe_cuda({system, Machine{}, Catalog::built_in(), ProbeOptions{}})(machine);
  return machine.cuda;
}

constexpr const char* kVersionJson = R"({
   "cuda" : {
      "name" : "CUDA SDK",
      "version" : "12.4.1"
   },
   "cuda_cccl" : {
      "name" : "CUDA C++ Core Compute Libraries",
      "version" : "12.4.127"
   }
}
)";

TEST(ToolkitVersion, IsThatOfTheWholeInVersionJson) {
  EXPECT_EQ(parse_version_json(kVersionJson)->text(), "12.4.1");
  EXPECT_EQ(parse_version_json(R"({"cuda":{"version":"13.0.1"}})")->text(), "13.0.1");
}

TEST(ToolkitVersion, IsNotTakenFromAnotherPart) {
  EXPECT_FALSE(parse_version_json(R"({"cuda":{"name":"x"},"nvcc":{"version":"1.2"}})").has_value());
  EXPECT_FALSE(parse_version_json(R"({"cuda_nvcc":{"version":"1.2"}})").has_value());
  EXPECT_FALSE(parse_version_json(R"({"cuda":{"version":)").has_value());
  EXPECT_FALSE(parse_version_json("").has_value());
}

TEST(ToolkitVersion, IsReadOfTextsAndHeaders) {
  EXPECT_EQ(parse_version_txt("CUDA Version 10.2.89\n")->text(), "10.2.89");
  EXPECT_EQ(parse_version_macro("/* */\n#define CUDA_VERSION 13000\n")->text(), "13.0");
  EXPECT_EQ(parse_version_macro("#define CUDART_VERSION  12040\n")->text(), "12.4");
  EXPECT_FALSE(parse_version_macro("#define CUDA_VERSION 7\n").has_value());
  EXPECT_FALSE(parse_version_macro("#ifndef CUDA_VERSION\n").has_value());
}

TEST(ToolkitVersion, IsTheSeriesInTheRuntimesName) {
  EXPECT_EQ(version_of_runtime_name("libcudart.so.12.4.127")->text(), "12.4");
  EXPECT_EQ(version_of_runtime_name("libcudart.so.11.8.89")->text(), "11.8");
  EXPECT_FALSE(version_of_runtime_name("libcudart.so.12").has_value());
  EXPECT_FALSE(version_of_runtime_name("libcudart.so.11.0").has_value()) << "a SONAME";
}

void add_toolkit(MemorySystem& system, const std::string& root, const std::string& version) {
  system.add_file(root + "/version.json", R"({"cuda":{"version":")" + version + R"("}})");
  system.add_file(root + "/bin/nvcc", "", 0755);
}

// The recorded H200 machine: links through alternatives, a compat directory.
TEST(Toolkits, AreFoundOnceThroughAllTheirLinks) {
  MemorySystem system;
  add_toolkit(system, "/usr/local/cuda-13.0", "13.0.1");
  system.add_link("/usr/local/cuda", "/etc/alternatives/cuda");
  system.add_link("/usr/local/cuda-13", "/etc/alternatives/cuda-13");
  system.add_link("/etc/alternatives/cuda", "/usr/local/cuda-13.0");
  system.add_link("/etc/alternatives/cuda-13", "/usr/local/cuda-13.0");
  system.add_file("/usr/local/cuda-13.0/compat/libcuda.so.1", "");
  system.environment_block = {{"PATH", "/opt/torch/.venv/bin:/usr/local/cuda/bin:/usr/bin"},
                              {"CUDA_HOME", "/usr/local/cuda"}};
  const auto cuda = probe(system);
  ASSERT_TRUE(cuda.toolkits.is_known());
  ASSERT_EQ(cuda.toolkits->size(), 1u);
  const auto& toolkit = cuda.toolkits->front();
  EXPECT_EQ(toolkit.root, "/usr/local/cuda-13.0");
  EXPECT_TRUE(toolkit.version.is(Version::of("13.0.1")));
  EXPECT_TRUE(toolkit.linked);
  EXPECT_TRUE(toolkit.on_path);
  EXPECT_TRUE(toolkit.nvcc.is("/usr/local/cuda-13.0/bin/nvcc"));
  EXPECT_TRUE(toolkit.compat.is("/usr/local/cuda-13.0/compat"));
  EXPECT_TRUE(cuda.nvcc_on_path.is("/usr/local/cuda-13.0/bin/nvcc"));
  EXPECT_EQ(cuda.nvcc_on_path.source(), "/usr/local/cuda/bin/nvcc");
}

TEST(Toolkits, TellWhichOneTheLinkAndPathChoose) {
  MemorySystem system;
  add_toolkit(system, "/usr/local/cuda-11.8", "11.8.0");
  add_toolkit(system, "/usr/local/cuda-12.4", "12.4.1");
  add_toolkit(system, "/opt/cuda", "12.6.0");
  system.add_link("/usr/local/cuda", "cuda-11.8");
  system.environment_block["PATH"] = "/usr/bin:/usr/local/cuda-12.4/bin";
  const auto toolkits = *probe(system).toolkits;
  ASSERT_EQ(toolkits.size(), 3u);
  EXPECT_TRUE(toolkits[0].linked);
  EXPECT_FALSE(toolkits[0].on_path);
  EXPECT_FALSE(toolkits[1].linked);
  EXPECT_TRUE(toolkits[1].on_path);
  EXPECT_EQ(toolkits[2].root, "/opt/cuda");
  EXPECT_TRUE(toolkits[2].compat.is_absent());
}

TEST(Toolkits, KnowDebiansLayoutUnderUsr) {
  MemorySystem system;
  system.add_file("/usr/bin/nvcc", "#!/bin/sh\n", 0755);
  system.add_file("/usr/include/cuda.h", "#define CUDA_VERSION 11080\n");
  system.environment_block["PATH"] = "/usr/bin";
  const auto toolkits = *probe(system).toolkits;
  ASSERT_EQ(toolkits.size(), 1u);
  EXPECT_EQ(toolkits[0].root, "/usr");
  EXPECT_TRUE(toolkits[0].version.is(Version::of("11.8")));
  EXPECT_TRUE(toolkits[0].on_path);
}

TEST(Toolkits, DoNotTakeALinkInUsrBinForOneOfUsr) {
  MemorySystem system;
  add_toolkit(system, "/usr/local/cuda-12.4", "12.4.1");
  system.add_link("/usr/bin/nvcc", "/usr/local/cuda-12.4/bin/nvcc");
  system.environment_block["PATH"] = "/usr/bin";
  const auto toolkits = *probe(system).toolkits;
  ASSERT_EQ(toolkits.size(), 1u);
  EXPECT_EQ(toolkits[0].root, "/usr/local/cuda-12.4");
  EXPECT_TRUE(toolkits[0].on_path);
}

TEST(Toolkits, AreRecognisedInARuntimeImage) {
  MemorySystem system;
  system.add_file("/usr/local/cuda-12.4/lib64/libcudart.so.12.4.127", "");
  system.add_directory("/usr/local/cuda-empty");
  const auto toolkits = *probe(system).toolkits;
  ASSERT_EQ(toolkits.size(), 1u);
  EXPECT_TRUE(toolkits[0].version.is(Version::of("12.4")));
  EXPECT_TRUE(toolkits[0].nvcc.is_absent());
}

TEST(Nvcc, IsTheFirstProgramOnPath) {
  MemorySystem system;
  system.add_file("/first/nvcc", "", 0644);
  system.add_directory("/second/nvcc");
  system.add_file("/third/nvcc", "", 0755);
  system.environment_block["PATH"] = "relative:/first:/second:/third";
  EXPECT_TRUE(read_nvcc_on_path(system).is("/third/nvcc"));
  system.environment_block["PATH"] = "/first";
  EXPECT_TRUE(read_nvcc_on_path(system).is_absent());
}

// --------------------------------------------------------------- search variables

TEST(LibraryPath, KeepsEmptyElements) {
  EXPECT_EQ(split_search_path(":/a;/b:"), (std::vector<std::string>{"", "/a", "/b", ""}));
}

TEST(GpuLibraryName, IsASonameAndNoOtherForm) {
  for (const auto* name : {"libcuda.so.1", "libcudnn.so.9", "libcudart.so.11.0",
                           "libcublasLt.so.12", "libnvidia-ml.so.1"})
    EXPECT_TRUE(is_gpu_library_name(name)) << name;
  for (const auto* name : {"libcudart.so", "libcudnn.so.9.14.0", "libcuda.so.580.159.04",
                           "libcudadebugger.so.1", "libz.so.1", "libcudnn.so.x"})
    EXPECT_FALSE(is_gpu_library_name(name)) << name;
}

TEST(LibraryPath, TellsWhatEachElementHolds) {
  MemorySystem system;
  system.cwd = "/home/ann";
  system.add_file("/home/ann/libcudnn.so.8", "");
  system.add_file("/usr/local/cuda/lib64/libcudart.so", "");
  system.add_file("/usr/local/cuda/lib64/libcudart.so.12", "");
  system.add_file("/usr/local/cuda/lib64/stubs/libcuda.so", small_library("libcuda.so.1", 70368));
  system.environment_block["LD_LIBRARY_PATH"] =
      ":/usr/local/cuda/lib64:/usr/local/cuda/lib64/stubs:/nowhere";
  const auto elements = probe(system).library_path;
  ASSERT_TRUE(elements.is_known());
  EXPECT_EQ(*elements,
            (std::vector<PathElement>{{"", true, "libcudnn.so.8"},
                                      {"/usr/local/cuda/lib64", true, "libcudart.so.12"},
                                      {"/usr/local/cuda/lib64/stubs", true, "libcuda.so (stub)"},
                                      {"/nowhere", false, ""}}));
}

TEST(LibraryPath, IsAbsentWhenUnset) {
  EXPECT_TRUE(probe(MemorySystem()).library_path.is_absent());
}

TEST(Preload, JoinsVariableAndFileInTheLoadersOrder) {
  MemorySystem system;
  EXPECT_TRUE(probe(system).preload.is_absent());
  system.environment_block["LD_PRELOAD"] = "/opt/a.so:libb.so c.so";
  system.add_file("/etc/ld.so.preload", "# vGPU\n/usr/lib/libvgpu.so\n");
  EXPECT_TRUE(probe(system).preload.is({"/opt/a.so", "libb.so", "c.so", "/usr/lib/libvgpu.so"}));
}

TEST(Preload, IsUnknownWhenItsFileMayNotBeRead) {
  MemorySystem system;
  system.set_error("/etc/ld.so.preload", EACCES);
  EXPECT_TRUE(probe(system).preload.is_unknown());
}

TEST(Variables, AreTakenByNameSoThatSecretsStayOut) {
  MemorySystem system;
  system.environment_block = {{"CUDA_VISIBLE_DEVICES", ""},
                              {"NVIDIA_API_KEY", "secret"},
                              {"TF_VAR_password", "secret"},
                              {"PATH", "/bin"},
                              {"XLA_FLAGS", "--xla_gpu_cuda_data_dir=/usr/local/cuda"}};
  const auto cuda = probe(system);
  EXPECT_EQ(cuda.variables,
            (Environment{{"CUDA_VISIBLE_DEVICES", ""},
                         {"XLA_FLAGS", "--xla_gpu_cuda_data_dir=/usr/local/cuda"}}));
  EXPECT_TRUE(cuda.environment.is(true));
}

// A tree of another machine has no environment of its own.
class NoEnvironment : public MemorySystem {
 public:
  Result<std::map<std::string, std::string>> environment() const override {
    return fail("No such file or directory", "/proc/self/environ", ENOENT);
  }
};

TEST(Variables, AreUnknownWithoutAnEnvironment) {
  const auto cuda = probe(NoEnvironment());
  EXPECT_TRUE(cuda.environment.is_unknown());
  EXPECT_TRUE(cuda.library_path.is_unknown());
  EXPECT_TRUE(cuda.nvcc_on_path.is_unknown());
  EXPECT_TRUE(cuda.variables.empty());
}

}  // namespace
}  // namespace gpuwright
