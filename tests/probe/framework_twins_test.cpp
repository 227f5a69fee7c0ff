#include <gtest/gtest.h>

#include <algorithm>

#include "probe/framework.h"
#include "torch_init.h"
#include "wheel_tree.h"

// The frameworks' wheels as twins in memory, release by release: which file each library becomes,
// by which rule, under the circumstances in which it matters. tests/real holds the same predictions
// to real processes, where the wheels are to be had.

namespace gpuwright {
namespace {

constexpr const char* kNotFound = ": cannot open shared object file: No such file or directory";

const ResolvedLibrary& row(const Framework& framework, const std::string& name) {
  const auto& libraries = framework.libraries;
  const auto it = std::find_if(libraries.begin(), libraries.end(),
                               [&](const auto& library) { return library.name == name; });
  if (it == libraries.end()) throw std::runtime_error("no row for " + name);
  return *it;
}

std::string path_of(const Framework& framework, const std::string& name) {
  const auto& library = row(framework, name);
  return library.state == "found" ? library.real_path : library.state;
}

std::vector<std::string> missing(const Framework& framework) {
  std::vector<std::string> names;
  for (const auto& library : framework.libraries)
    if (library.role == "required" && library.state != "found") names.push_back(library.name);
  return names;
}

using Names = std::vector<std::string>;

// --------------------------------------------------------------------- TensorFlow

const Names kFolders2_18 = {"cublas",   "cudnn",    "cufft",       "cusolver",
                            "cusparse", "tensorrt", "cuda_runtime"};

TensorFlowShape tensorflow_2_20() {
  auto folders = kFolders2_18;
  folders.insert(folders.begin(), "cuda_cupti");
  return {"2.20.0", "12.5.1", "9", wheel_path(folders)};
}

WheelTree tensorflow_tree(const TensorFlowShape& shape) {
  WheelTree tree;
  add_cuda12_wheels(tree);
  add_tensorflow(tree, shape);
  return tree;
}

TEST(TensorFlowTwin, FindsItsWheels) {
  const auto framework = tensorflow_tree(tensorflow_2_20()).examine("tensorflow");
  EXPECT_EQ(framework.version->text(), "2.20.0");
  EXPECT_TRUE(framework.build.is("cuda"));
  EXPECT_EQ(*framework.opener, WheelTree::in_site("tensorflow/libtensorflow_framework.so.2"));
  EXPECT_EQ(*framework.opener_tag, "DT_RUNPATH");
  EXPECT_TRUE(framework.needs_nvml.is(false));
  EXPECT_EQ(missing(framework), Names{});
  EXPECT_EQ(path_of(framework, "libcudart.so.12"),
            WheelTree::wheel("cuda_runtime", "libcudart.so.12"));
  EXPECT_EQ(path_of(framework, "libcusolver.so.11"),
            WheelTree::wheel("cusolver", "libcusolver.so.11"));
  EXPECT_EQ(path_of(framework, "libcudnn.so.9"), WheelTree::wheel("cudnn", "libcudnn.so.9"));
  EXPECT_EQ(row(framework, "libcudnn.so.9").version->text(), "9.3.0.75");
  EXPECT_EQ(path_of(framework, "libcuda.so.1"),
            std::string(kSystemLibraries) + "/libcuda.so.580.95.05");
}

TEST(TensorFlowTwin, OpensInTheOrderOfTheRelease) {
  const auto framework = tensorflow_tree(tensorflow_2_20()).examine("tensorflow");
  Names required;
  for (const auto& library : framework.libraries)
    if (library.role == "required") required.push_back(library.name);
  EXPECT_EQ(required,
            (Names{"libcudart.so.12", "libcublas.so.12", "libcublasLt.so.12", "libcufft.so.11",
                   "libcusolver.so.11", "libcusparse.so.12", "libcudnn.so.9"}));
  EXPECT_EQ(row(framework, "libcudart.so.12").when, "import");
  EXPECT_EQ(row(framework, "libcuda.so.1").when, "query");
  EXPECT_EQ(row(framework, "libcublas.so.12").when, "device");
  EXPECT_EQ(row(framework, "libcudnn_ops.so.9").when, "use");
  EXPECT_EQ(row(framework, "libnvJitLink.so.12").role, "dependency");
}

// 2.11 has a RUNPATH of $ORIGIN/ alone, so that wheels are found by LD_LIBRARY_PATH or not at all.
TEST(TensorFlowTwin, UpTo2_13NoWheelIsReached) {
  WheelTree tree;
  add_tensorflow(tree, {"2.11.0", "11.2", "8", "$ORIGIN/"});
  tree.object(WheelTree::wheel("cuda_runtime", "libcudart.so.11.0"));
  const auto framework = tree.examine("tensorflow");
  EXPECT_EQ(missing(framework),
            (Names{"libcudart.so.11.0", "libcublas.so.11", "libcublasLt.so.11", "libcufft.so.10",
                   "libcurand.so.10", "libcusolver.so.11", "libcusparse.so.11", "libcudnn.so.8"}));
  EXPECT_EQ(row(framework, "libcudart.so.11.0").elsewhere,
            Names{WheelTree::wheel("cuda_runtime", "libcudart.so.11.0")});
}

TEST(TensorFlowTwin, From2_14TheWheelsAreReached) {
  for (const auto* version : {"2.15.0", "2.17.0"}) {
    auto folders = kFolders2_18;
    auto tree = tensorflow_tree({version, "12.2", "8", "$ORIGIN/:" + wheel_path(folders)});
    tree.object(WheelTree::wheel("cudnn", "libcudnn.so.8"), {.runpath = "$ORIGIN"});
    const auto framework = tree.examine("tensorflow");
    EXPECT_EQ(missing(framework), Names{}) << version;
    EXPECT_EQ(path_of(framework, "libcudnn.so.8"), WheelTree::wheel("cudnn", "libcudnn.so.8"));
  }
}

// tensorflow/tensorflow#63362: libtensorflow_cc.so.2 has the whole list, but under Python the
// function in libtensorflow_framework.so.2 opens.
TEST(TensorFlowTwin, In2_16_1OnlyTheRuntimeIsReached) {
  auto tree = tensorflow_tree(
      {"2.16.1", "12.3", "8", "$ORIGIN/:" + wheel_path({"tensorrt", "cuda_runtime"})});
  tree.object(WheelTree::wheel("cudnn", "libcudnn.so.8"));
  const auto framework = tree.examine("tensorflow");
  EXPECT_EQ(path_of(framework, "libcudart.so.12"),
            WheelTree::wheel("cuda_runtime", "libcudart.so.12"));
  EXPECT_EQ(missing(framework), (Names{"libcublas.so.12", "libcublasLt.so.12", "libcufft.so.11",
                                       "libcusolver.so.11", "libcusparse.so.12", "libcudnn.so.8"}));
  EXPECT_EQ(row(framework, "libcublas.so.12").elsewhere,
            Names{WheelTree::wheel("cublas", "libcublas.so.12")});
}

TEST(TensorFlowTwin, In2_21CusolverIsNotReachedAndNvmlIsNeeded) {
  auto folders = kFolders2_18;
  std::erase(folders, "cusolver");
  folders.insert(folders.begin(), "nccl");
  auto tree = tensorflow_tree({"2.21.0", "12.5.1", "9", wheel_path(folders)});
  auto framework = tree.examine("tensorflow");
  EXPECT_EQ(missing(framework), Names{"libcusolver.so.11"});
  EXPECT_EQ(row(framework, "libcusolver.so.11").error,
            std::string("libcusolver.so.11") + kNotFound);
  EXPECT_TRUE(framework.needs_nvml.is(true));
  EXPECT_EQ(row(framework, "libnvidia-ml.so.1").role, "nvml");

  tree.variable("LD_LIBRARY_PATH", WheelTree::in_site("nvidia/cusolver/lib"));
  framework = tree.examine("tensorflow");
  EXPECT_EQ(missing(framework), Names{});
  // What cuSOLVER needs comes by its own RUNPATH.
  EXPECT_EQ(path_of(framework, "libnvJitLink.so.12"),
            WheelTree::wheel("nvjitlink", "libnvJitLink.so.12"));
}

TEST(TensorFlowTwin, ReleaseNewerThanTheCatalogueIsTakenLikeTheNewest) {
  auto shape = tensorflow_2_20();
  shape.version = "2.99.0";
  const auto framework = tensorflow_tree(shape).examine("tensorflow");
  ASSERT_FALSE(framework.notes.empty());
  EXPECT_NE(framework.notes.front().find("newer than the catalogue"), std::string::npos);
  EXPECT_EQ(missing(framework), Names{});
}

TEST(TensorFlowTwin, LibraryPathBeatsTheWheels) {
  auto tree = tensorflow_tree(tensorflow_2_20());
  tree.object("/opt/cuda/lib64/libcudart.so.12");
  tree.object("/opt/cuda/lib64/libcublasLt.so.12");
  tree.variable("LD_LIBRARY_PATH", "/opt/cuda/lib64");
  const auto framework = tree.examine("tensorflow");
  const auto& runtime = row(framework, "libcudart.so.12");
  EXPECT_EQ(runtime.real_path, "/opt/cuda/lib64/libcudart.so.12");
  EXPECT_EQ(runtime.rule, "LD_LIBRARY_PATH");
  EXPECT_EQ(runtime.shadows, Names{WheelTree::wheel("cuda_runtime", "libcudart.so.12")});
  // cuBLAS is the wheel's, and the cuBLASLt that it needs is not.
  EXPECT_EQ(path_of(framework, "libcublas.so.12"), WheelTree::wheel("cublas", "libcublas.so.12"));
  EXPECT_EQ(path_of(framework, "libcublasLt.so.12"), "/opt/cuda/lib64/libcublasLt.so.12");
}

TEST(TensorFlowTwin, SecureProgramIgnoresTheLibraryPath) {
  auto tree = tensorflow_tree(tensorflow_2_20());
  tree.object("/opt/cuda/lib64/libcudart.so.12");
  tree.variable("LD_LIBRARY_PATH", "/opt/cuda/lib64");
  tree.system.who = {.uid = 1000, .gid = 1000, .groups = {}};
  tree.system.add_file(
      "/usr/bin/python3.12",
      write_elf({.interpreter = "/lib64/ld-linux-x86-64.so.2", .needed = {"libc.so.6"}}), 04755);
  const auto framework = tree.examine("tensorflow");
  EXPECT_EQ(path_of(framework, "libcudart.so.12"),
            WheelTree::wheel("cuda_runtime", "libcudart.so.12"));
}

TEST(TensorFlowTwin, OneHiddenLibraryIsMissedAndTheRestFound) {
  auto tree = tensorflow_tree(tensorflow_2_20());
  tree.system.remove(WheelTree::wheel("cufft", "libcufft.so.11"));
  const auto framework = tree.examine("tensorflow");
  EXPECT_EQ(missing(framework), Names{"libcufft.so.11"});
}

TEST(TensorFlowTwin, MissingDependencyMakesItsLibraryUnloadable) {
  auto tree = tensorflow_tree(tensorflow_2_20());
  tree.system.remove(WheelTree::wheel("nvjitlink", "libnvJitLink.so.12"));
  const auto framework = tree.examine("tensorflow");
  EXPECT_EQ(missing(framework), (Names{"libcusolver.so.11", "libcusparse.so.12"}));
  const auto& cusparse = row(framework, "libcusparse.so.12");
  EXPECT_EQ(cusparse.state, "unloadable");
  EXPECT_EQ(cusparse.error,
            std::string("libnvJitLink.so.12") + kNotFound + " (needed by libcusparse.so.12)");
  EXPECT_TRUE(cusparse.path.ends_with("nvidia/cusparse/lib/libcusparse.so.12"));
  EXPECT_TRUE(cusparse.elsewhere.empty());
}

TEST(TensorFlowTwin, EmptyFileEarlierOnThePathEndsTheSearch) {
  auto tree = tensorflow_tree(tensorflow_2_20());
  tree.text("/opt/broken/libcufft.so.11");
  tree.variable("LD_LIBRARY_PATH", "/opt/broken");
  const auto cufft_of = tree.examine("tensorflow");
  const auto& cufft = row(cufft_of, "libcufft.so.11");
  EXPECT_EQ(cufft.state, "unloadable");
  EXPECT_EQ(cufft.path, "/opt/broken/libcufft.so.11");
  EXPECT_NE(cufft.error.find("file too short"), std::string::npos);
}

// libcudnn.so.9 of these wheels has DT_RUNPATH, so that its parts come from LD_LIBRARY_PATH first.
TEST(TensorFlowTwin, PartsOfCudnnComeFromAnotherDirectory) {
  auto tree = tensorflow_tree(tensorflow_2_20());
  tree.object("/opt/cudnn/libcudnn_graph.so.9");
  tree.variable("LD_LIBRARY_PATH", "/opt/cudnn");
  const auto framework = tree.examine("tensorflow");
  EXPECT_EQ(path_of(framework, "libcudnn.so.9"), WheelTree::wheel("cudnn", "libcudnn.so.9"));
  EXPECT_EQ(path_of(framework, "libcudnn_graph.so.9"), "/opt/cudnn/libcudnn_graph.so.9");
  EXPECT_EQ(path_of(framework, "libcudnn_ops.so.9"),
            WheelTree::wheel("cudnn", "libcudnn_ops.so.9"));
}

// cuDNN asks for its full version first; wheels have only the short name, a system package both.
TEST(TensorFlowTwin, SystemsCudnnOfTheSameVersionGivesTheParts) {
  auto tree = tensorflow_tree(tensorflow_2_20());
  const auto system_part = std::string(kSystemLibraries) + "/libcudnn_graph.so.9.3.0";
  tree.object(system_part, {.soname = "libcudnn_graph.so.9"});
  const auto framework = tree.examine("tensorflow");
  EXPECT_EQ(path_of(framework, "libcudnn_graph.so.9.3.0"), system_part);
}

// $ORIGIN is the text of the path, and the kernel follows the link before it goes up.
TEST(TensorFlowTwin, LinkedPackageDirectoryLosesTheWheels) {
  auto tree = tensorflow_tree(tensorflow_2_20());
  WheelTree linked;
  add_cuda12_wheels(linked);
  linked.distribution("tensorflow", "2.20.0");
  linked.system.add_link(WheelTree::in_site("tensorflow"), "/store/tensorflow");
  for (const auto* below :
       {"__init__.py", "libtensorflow_framework.so.2", "libtensorflow_cc.so.2",
        "python/platform/build_info.py", "python/_pywrap_tensorflow_internal.so",
        "python/platform/_pywrap_cpu_feature_guard.so"})
    linked.text(std::string("/store/tensorflow/") + below,
                *tree.system.read(WheelTree::in_site(std::string("tensorflow/") + below)));
  const auto framework = linked.examine("tensorflow");
  EXPECT_EQ(row(framework, "libcudart.so.12").state, "missing");
}

// uv links file by file, which keeps the directories and so the way up.
TEST(TensorFlowTwin, LinkedFilesKeepTheWheels) {
  auto tree = tensorflow_tree(tensorflow_2_20());
  const auto file = WheelTree::in_site("tensorflow/libtensorflow_framework.so.2");
  tree.text("/cache/archive/libtensorflow_framework.so.2", *tree.system.read(file));
  tree.system.remove(file);
  tree.system.add_link(file, "/cache/archive/libtensorflow_framework.so.2");
  EXPECT_EQ(missing(tree.examine("tensorflow")), Names{});
}

TEST(TensorFlowTwin, NoDriverIsMissingToTheDriverAlone) {
  auto tree = tensorflow_tree(tensorflow_2_20());
  tree.remove_driver();
  const auto framework = tree.examine("tensorflow");
  EXPECT_EQ(row(framework, "libcuda.so.1").state, "missing");
  EXPECT_EQ(missing(framework), Names{});
}

TEST(TensorFlowTwin, CpuBuildAsksForNothing) {
  auto tree = tensorflow_tree(tensorflow_2_20());
  tree.text(WheelTree::in_site("tensorflow/python/platform/build_info.py"),
            "build_info = collections.OrderedDict([('is_cuda_build', False)])\n");
  const auto framework = tree.examine("tensorflow");
  EXPECT_TRUE(framework.build.is("cpu"));
  EXPECT_EQ(missing(framework), Names{});
  EXPECT_THROW(row(framework, "libcuda.so.1"), std::runtime_error);
}

TEST(TensorFlowTwin, ObjectThatDoesNotLoadIsAnImportProblem) {
  auto tree = tensorflow_tree(tensorflow_2_20());
  tree.object(WheelTree::in_site("tensorflow/libtensorflow_cc.so.2"),
              {.needed = {"libtensorflow_framework.so.2"},
               .runpath = "$ORIGIN/",
               .version_needs = {{"libc.so.6", "GLIBC_2.40"}}});
  const auto framework = tree.examine("tensorflow");
  ASSERT_FALSE(framework.import_problems.empty());
  EXPECT_NE(framework.import_problems[0].error.find("GLIBC_2.40"), std::string::npos);
}

// 1.15 to 2.1 have plain assignments, in tensorflow_core/.
TEST(TensorFlowTwin, OldBuildInfoAndPackageAreRead) {
  WheelTree tree;
  tree.distribution("tensorflow", "2.1.0");
  tree.text(WheelTree::in_site("tensorflow/__init__.py"));
  tree.text(WheelTree::in_site("tensorflow_core/__init__.py"));
  tree.text(WheelTree::in_site("tensorflow_core/python/platform/build_info.py"),
            "is_rocm_build = False\nis_cuda_build = True\n\ncuda_version_number = '10.1'\n"
            "cudnn_version_number = '7'\n");
  tree.object(WheelTree::in_site("tensorflow_core/libtensorflow_framework.so.2"),
              {.rpath = "$ORIGIN/", .defines = {"_ZN10tensorflow8internal11LoadLibraryEPKcPPv"}});
  tree.object(WheelTree::in_site("tensorflow_core/python/_pywrap_tensorflow_internal.so"),
              {.needed = {"libtensorflow_framework.so.2"}, .rpath = "$ORIGIN/:$ORIGIN/.."});
  const auto framework = tree.examine("tensorflow");
  EXPECT_EQ(framework.build_cuda->text(), "10.1");
  EXPECT_EQ(*framework.opener_tag, "DT_RPATH");
  EXPECT_EQ(missing(framework).front(), "libcudart.so.10.1");
}

// conda-forge links the CUDA libraries and has DT_RPATH on everything, python included.
TEST(CondaTwin, LibrariesAreLinkedAndComeFromThePrefix) {
  WheelTree tree;
  const std::string prefix = "/opt/conda/envs/tf";
  const auto lib = [&](const std::string& name) { return prefix + "/lib/" + name; };
  add_python(tree.system, prefix, "3.12");
  tree.system.add_file(prefix + "/bin/python3.12",
                       write_elf({.interpreter = "/lib64/ld-linux-x86-64.so.2",
                                  .needed = {"libc.so.6"},
                                  .rpath = "$ORIGIN/../lib"}),
                       0755);
  tree.system.add_link(prefix + "/bin/python", "python3.12");
  tree.system.add_file(prefix + "/conda-meta/tensorflow-base-2.19.1-cuda128py312h1.json", "{}");
  tree.system.add_file(prefix + "/conda-meta/cudnn-9.10.1.4-h7d33bf5_0.json", "{}");
  for (const auto* name : {"libcublas.so.12", "libcublasLt.so.12", "libcufft.so.11",
                           "libcusolver.so.11", "libcusparse.so.12"})
    tree.object(lib(name), {.rpath = "$ORIGIN"});
  tree.object(prefix + "/targets/x86_64-linux/lib/libcudart.so.12");
  tree.system.add_link(lib("libcudart.so.12"), "../targets/x86_64-linux/lib/libcudart.so.12");
  tree.object(lib("libcudnn.so.9"), {.rpath = "$ORIGIN"});
  tree.object(lib("libtensorflow_framework.so.2"),
              {.needed = {"libcudart.so.12", "libcublas.so.12", "libcudnn.so.9"},
               .rpath = "$ORIGIN",
               .defines = {"_ZN3tsl8internal18LoadDynamicLibraryEPKcPPv"}});
  tree.object(lib("libtensorflow_cc.so.2"),
              {.needed = {"libtensorflow_framework.so.2"}, .rpath = "$ORIGIN"});
  const auto site = prefix + "/lib/python3.12/site-packages/";
  tree.system.add_file(site + "tensorflow-2.19.1.dist-info/METADATA", "");
  tree.text(site + "tensorflow/__init__.py");
  tree.text(site + "tensorflow/python/platform/build_info.py", cuda_build_info("12.8", "9"));
  for (const auto* name : {"libtensorflow_framework.so.2", "libtensorflow_cc.so.2"})
    tree.system.add_link(site + "tensorflow/" + name, std::string("../../../") + name);
  tree.object(site + "tensorflow/python/_pywrap_tensorflow_internal.so",
              {.needed = {"libtensorflow_cc.so.2"}, .rpath = "$ORIGIN/../../../.."});
  // A toolkit in LD_LIBRARY_PATH loses against DT_RPATH.
  tree.object("/opt/cuda/lib64/libcublas.so.12");
  tree.variable("LD_LIBRARY_PATH", "/opt/cuda/lib64");

  auto framework = tree.examine("tensorflow", prefix);
  EXPECT_EQ(path_of(framework, "libcudart.so.12"),
            prefix + "/targets/x86_64-linux/lib/libcudart.so.12");
  EXPECT_EQ(path_of(framework, "libcublas.so.12"), lib("libcublas.so.12"));
  EXPECT_NE(row(framework, "libcublas.so.12").rule.find("DT_RPATH"), std::string::npos);
  EXPECT_EQ(row(framework, "libcublas.so.12").when, "import");
  EXPECT_EQ(row(framework, "libcudnn.so.9").version->text(), "9.10.1.4");
  EXPECT_EQ(missing(framework), Names{});
  EXPECT_EQ(path_of(framework, "libcuda.so.1"),
            std::string(kSystemLibraries) + "/libcuda.so.580.95.05");

  tree.system.remove(lib("libcudnn.so.9"));
  framework = tree.examine("tensorflow", prefix);
  ASSERT_EQ(framework.import_problems.size(), 1U);
  EXPECT_EQ(framework.import_problems[0].error, std::string("libcudnn.so.9") + kNotFound);
}

// ------------------------------------------------------------------------ PyTorch

TorchShape torch_2_4() {
  return {.version = "2.4.1+cu121",
          .cuda = "12.1",
          .init = torch_init_2_4(),
          .wheels = {"cublas", "cuda_cupti", "cuda_nvrtc", "cuda_runtime", "cudnn", "cufft",
                     "curand", "cusolver", "cusparse", "nccl", "nvtx"},
          .global_deps = {"libcudart.so.12", "libnvToolsExt.so.1"},
          .cpu = {"libcupti.so.12", "libcudart.so.12"},
          .cuda_needed = {"libcudart.so.12", "libcusparse.so.12", "libcufft.so.11",
                          "libnvToolsExt.so.1", "libcurand.so.10", "libcublas.so.12",
                          "libcublasLt.so.12", "libcudnn.so.9", "libnccl.so.2"},
          .linalg = {"libcusolver.so.11"}};
}

TorchShape torch_2_10() {
  auto shape = torch_2_4();
  shape.version = "2.10.0+cu128";
  shape.cuda = "12.8";
  shape.init = torch_init_2_10(libraries_of_2_10(), "");
  shape.global_deps = {"libcudart.so.12"};
  std::erase(shape.cuda_needed, "libnvToolsExt.so.1");
  return shape;
}

TorchShape torch_2_11() {
  return {.version = "2.11.0+cu130",
          .cuda = "13.0",
          .init = torch_init_2_11(),
          .wheels = {"cudnn", "nvshmem", "nccl", "cusparselt", "cu13"},
          .global_deps = {"libcudart.so.13"},
          .cpu = {"libcupti.so.13", "libcudart.so.13"},
          .cuda_needed = {"libcudart.so.13", "libcusparse.so.12", "libcufft.so.12",
                          "libcufile.so.0", "libcusparseLt.so.0", "libnccl.so.2", "libcurand.so.10",
                          "libcublas.so.13", "libcublasLt.so.13", "libcudnn.so.9"},
          .linalg = {"libcusolver.so.12"}};
}

WheelTree torch_tree(const TorchShape& shape) {
  WheelTree tree;
  if (shape.cuda.starts_with("13"))
    add_cuda13_wheels(tree);
  else
    add_cuda12_wheels(tree);
  add_torch(tree, shape);
  return tree;
}

TEST(TorchTwin, LinkedLibrariesComeFromTheWheels) {
  for (const auto& shape : {torch_2_4(), torch_2_10(), torch_2_11()}) {
    const auto framework = torch_tree(shape).examine("torch");
    EXPECT_TRUE(framework.import_problems.empty()) << shape.version;
    EXPECT_TRUE(framework.build.is("cuda"));
    EXPECT_EQ(framework.build_cuda->text(), shape.cuda);
    EXPECT_EQ(path_of(framework, "libcudnn.so.9"), WheelTree::wheel("cudnn", "libcudnn.so.9"));
    EXPECT_EQ(path_of(framework, "libnccl.so.2"), WheelTree::wheel("nccl", "libnccl.so.2"));
    EXPECT_EQ(row(framework, "libcudnn.so.9").when, "import");
  }
}

TEST(TorchTwin, OnlyThePreloadMapsLibrariesThatNothingLinks) {
  EXPECT_EQ(path_of(torch_tree(torch_2_11()).examine("torch"), "libcusolver.so.12"),
            WheelTree::wheel("cu13", "libcusolver.so.12"));
  EXPECT_THROW(row(torch_tree(torch_2_4()).examine("torch"), "libcusolver.so.11"),
               std::runtime_error);
}

// DT_RPATH: direct dependencies are the wheels'. A dependency of NVIDIA's own library with
// DT_RUNPATH is not, unless the wheel's copy is mapped before.
TEST(TorchTwin, LibraryPathWinsOnlyBehindARunpath) {
  for (const auto& shape : {torch_2_4(), torch_2_10(), torch_2_11()}) {
    auto tree = torch_tree(shape);
    const std::string major = shape.cuda.substr(0, 2);
    tree.object("/opt/cuda/lib64/libcudnn.so.9");
    tree.object("/opt/cuda/lib64/libnvJitLink.so." + major);
    tree.variable("LD_LIBRARY_PATH", "/opt/cuda/lib64");
    const auto framework = tree.examine("torch");
    EXPECT_EQ(path_of(framework, "libcudnn.so.9"), WheelTree::wheel("cudnn", "libcudnn.so.9"));
    const auto nvjitlink = path_of(framework, "libnvJitLink.so." + major);
    const bool preloaded = shape.version != torch_2_4().version;
    EXPECT_EQ(nvjitlink.starts_with("/opt/cuda"), !preloaded) << shape.version;
  }
}

// 2.10 preloads cuBLAS first, which brings the cuBLASLt of LD_LIBRARY_PATH along; 2.11 preloads
// cuBLASLt before it.
TEST(TorchTwin, OrderOfThePreloadDecidesAboutCublasLt) {
  const auto seen = [](const TorchShape& shape, const std::string& name) {
    auto tree = torch_tree(shape);
    tree.object("/opt/cuda/lib64/" + name);
    tree.variable("LD_LIBRARY_PATH", "/opt/cuda/lib64");
    return path_of(tree.examine("torch"), name);
  };
  EXPECT_EQ(seen(torch_2_10(), "libcublasLt.so.12"), "/opt/cuda/lib64/libcublasLt.so.12");
  EXPECT_EQ(seen(torch_2_11(), "libcublasLt.so.13"), WheelTree::wheel("cu13", "libcublasLt.so.13"));
}

TEST(TorchTwin, GapInTheWheelsEndsThePreloadOf2_10AndNotThatOf2_15) {
  const auto preloads_cusolver = [](TorchShape shape) {
    auto tree = torch_tree(shape);
    tree.system.remove(WheelTree::wheel("cu13", "libnvrtc-builtins.so.13.0"));
    const auto framework = tree.examine("torch");
    return std::any_of(framework.libraries.begin(), framework.libraries.end(),
                       [](const auto& library) { return library.name == "libcusolver.so.12"; });
  };
  auto shape = torch_2_11();
  EXPECT_FALSE(preloads_cusolver(shape));
  shape.init = torch_init_2_15();
  EXPECT_TRUE(preloads_cusolver(shape));
}

TEST(TorchTwin, MissingLinkedLibraryIsAnImportProblem) {
  auto tree = torch_tree(torch_2_11());
  tree.system.remove(WheelTree::wheel("cu13", "libcufft.so.12"));
  const auto framework = tree.examine("torch");
  ASSERT_EQ(framework.import_problems.size(), 1U);
  EXPECT_EQ(framework.import_problems[0].error, std::string("libcufft.so.12") + kNotFound);
}

// libtorch_global_deps.so fails, torch searches the wheels itself, and reports its own failure.
TEST(TorchTwin, MissingRuntimeIsReportedInTorchsWords) {
  auto tree = torch_tree(torch_2_11());
  tree.system.remove(WheelTree::wheel("cu13", "libcudart.so.13"));
  const auto framework = tree.examine("torch");
  ASSERT_EQ(framework.import_problems.size(), 1U);
  EXPECT_EQ(framework.import_problems[0].error, "libcudart.so.*[0-9] not found in the system path");
}

// Wheels in another site-packages than torch (a venv with system packages, --user): DT_RPATH does
// not reach them, the search of the preload does.
TEST(TorchTwin, WheelsOfAnotherSitePackagesAreFoundByThePreload) {
  WheelTree tree;
  add_torch(tree, torch_2_11());
  WheelTree wheels;
  add_cuda13_wheels(wheels);
  for (const std::string folder : {"cu13", "cudnn", "nccl", "cusparselt", "nvshmem"}) {
    const auto entries = wheels.system.list(WheelTree::in_site("nvidia/" + folder + "/lib"));
    for (const auto& entry : *entries)
      tree.text("/more/nvidia/" + folder + "/lib/" + entry.name,
                *wheels.system.read(WheelTree::wheel(folder, entry.name)));
  }
  tree.variable("PYTHONPATH", "/more");
  const auto framework = tree.examine("torch");
  EXPECT_TRUE(framework.import_problems.empty());
  EXPECT_EQ(path_of(framework, "libcudart.so.13"), "/more/nvidia/cu13/lib/libcudart.so.13");
  EXPECT_EQ(row(framework, "libcudart.so.13").rule, "absolute path");
}

TEST(TorchTwin, DriverIsOpenedByCublasLtDuringTheImport) {
  const auto framework = torch_tree(torch_2_11()).examine("torch");
  const auto& driver = row(framework, "libcuda.so.1");
  EXPECT_EQ(driver.when, "import");
  EXPECT_EQ(driver.opener, WheelTree::wheel("cu13", "libcublasLt.so.13"));
  EXPECT_EQ(driver.version->text(), "580.95.05");
}

TEST(TorchTwin, CpuBuildIsToldByItsVersionFile) {
  auto tree = torch_tree(torch_2_11());
  tree.text(WheelTree::in_site("torch/version.py"), "__version__ = '2.11.0+cpu'\ncuda = None\n");
  const auto framework = tree.examine("torch");
  EXPECT_TRUE(framework.build.is("cpu"));
  EXPECT_TRUE(framework.build_cuda.is_absent());
}

// ---------------------------------------------------------------------------- JAX

WheelTree jax_tree(const std::string& version, const std::string& cuda_major) {
  WheelTree tree;
  if (cuda_major == "13")
    add_cuda13_wheels(tree);
  else
    add_cuda12_wheels(tree);
  add_jax(tree, version, cuda_major, version);
  return tree;
}

TEST(JaxTwin, PluginFindsTheWheelsOfItsCuda) {
  auto framework = jax_tree("0.11.2", "13").examine("jax");
  EXPECT_EQ(*framework.plugin, "jax-cuda13-plugin 0.11.2");
  EXPECT_EQ(missing(framework), Names{});
  EXPECT_EQ(path_of(framework, "libcublas.so.13"), WheelTree::wheel("cu13", "libcublas.so.13"));
  EXPECT_EQ(row(framework, "libnvidia-ml.so.1").role, "nvml");

  framework = jax_tree("0.10.2", "12").examine("jax");
  EXPECT_EQ(*framework.plugin, "jax-cuda12-plugin 0.10.2");
  EXPECT_EQ(missing(framework), Names{});
  EXPECT_EQ(path_of(framework, "libcufft.so.11"), WheelTree::wheel("cufft", "libcufft.so.11"));
}

TEST(JaxTwin, ImportOpensTheRuntimeAndTheQueryTheRest) {
  const auto framework = jax_tree("0.11.2", "13").examine("jax");
  EXPECT_EQ(row(framework, "libcudart.so.13").when, "import");
  EXPECT_EQ(row(framework, "libcublas.so.13").when, "query");
  EXPECT_EQ(row(framework, "libcudnn_graph.so.9").when, "query");
  EXPECT_EQ(row(framework, "libnvidia-ml.so.1").when, "device");
  EXPECT_EQ(row(framework, "libcublas.so.13").role, "required");
}

// nvJitLink is not in the list of the preload, and cuSPARSE, which needs it, has DT_RUNPATH.
TEST(JaxTwin, LibraryPathWinsForNvJitLinkAlone) {
  auto tree = jax_tree("0.10.2", "12");
  for (const auto* name :
       {"libcudart.so.12", "libcublas.so.12", "libcudnn.so.9", "libnvJitLink.so.12"})
    tree.object(std::string("/opt/cuda/lib64/") + name);
  tree.variable("LD_LIBRARY_PATH", "/opt/cuda/lib64");
  const auto framework = tree.examine("jax");
  Names outside;
  for (const auto& library : framework.libraries)
    if (library.real_path.starts_with("/opt/cuda")) outside.push_back(library.name);
  EXPECT_EQ(outside, Names{"libnvJitLink.so.12"});
}

TEST(JaxTwin, WithoutWheelsTheSystemsLibrariesAreFound) {
  WheelTree tree;
  add_jax(tree, "0.11.2", "13", "0.11.2");
  for (const auto* name :
       {"libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13", "libcudnn.so.9"})
    tree.object(std::string(kSystemLibraries) + "/" + name);
  const auto framework = tree.examine("jax");
  EXPECT_EQ(path_of(framework, "libcudnn.so.9"), std::string(kSystemLibraries) + "/libcudnn.so.9");
  EXPECT_EQ(missing(framework), (Names{"libcufft.so.12", "libcusparse.so.12", "libcupti.so.13"}));
}

// Two portions of the namespace package nvidia: the first that has the module counts.
TEST(JaxTwin, FirstPortionOfTheNamespaceCounts) {
  auto tree = jax_tree("0.11.2", "13");
  tree.object("/more/nvidia/cudnn/lib/libcudnn.so.9");
  tree.variable("PYTHONPATH", "/more");
  EXPECT_EQ(path_of(tree.examine("jax"), "libcudnn.so.9"), "/more/nvidia/cudnn/lib/libcudnn.so.9");
}

// nvidia/cudnn of the second portion has an __init__.py, that of the first has none.
TEST(JaxTwin, RegularPackageCountsBeforeADirectory) {
  auto tree = jax_tree("0.11.2", "13");
  tree.text(WheelTree::in_site("nvidia/cudnn/__init__.py"));
  tree.object("/more/nvidia/cudnn/lib/libcudnn.so.9");
  tree.variable("PYTHONPATH", "/more");
  EXPECT_EQ(path_of(tree.examine("jax"), "libcudnn.so.9"),
            WheelTree::wheel("cudnn", "libcudnn.so.9"));
}

TEST(JaxTwin, LibraryThatIsAskedForTwiceIsMissedOnce) {
  WheelTree tree;
  add_jax(tree, "0.11.2", "13", "0.11.2");
  const auto framework = tree.examine("jax");
  EXPECT_EQ(missing(framework).front(), "libcudart.so.13");
  EXPECT_EQ(std::count_if(framework.libraries.begin(), framework.libraries.end(),
                          [](const auto& each) { return each.name == "libcudart.so.13"; }),
            1);
}

TEST(JaxTwin, TwoPluginsAreTold) {
  auto tree = jax_tree("0.11.2", "13");
  add_jax(tree, "0.11.2", "12", "0.11.2");
  const auto framework = tree.examine("jax");
  EXPECT_EQ(*framework.plugin, "jax-cuda13-plugin 0.11.2");
  EXPECT_EQ(framework.notes.size(), 1U);
}

TEST(JaxTwin, PluginOfAnotherVersionIsTold) {
  WheelTree tree;
  add_jax(tree, "0.11.2", "12", "0.11.0");
  const auto framework = tree.examine("jax");
  EXPECT_EQ(framework.core_version->text(), "0.11.2");
  EXPECT_EQ(framework.plugin_version->text(), "0.11.0");
}

TEST(JaxTwin, WithoutPluginItIsACpuBuild) {
  WheelTree tree;
  tree.distribution("jax", "0.11.2");
  tree.distribution("jaxlib", "0.11.2");
  tree.text(WheelTree::in_site("jax/__init__.py"));
  const auto framework = tree.examine("jax");
  EXPECT_TRUE(framework.build.is("cpu"));
  EXPECT_TRUE(framework.plugin.is_absent());
  EXPECT_TRUE(framework.libraries.empty());
}

}  // namespace
}  // namespace gpuwright
