#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "confirm/confirm.h"

// The embedded Python text in a real interpreter, with modules of a few lines in the place of the
// frameworks.

namespace gpuwright {
namespace {

namespace fs = std::filesystem;

class Children : public ChildDoor {
 public:
  ChildEnd run(const ChildCommand& command) override { return run_child(command); }
  void progress(const std::string&) override {}
};

// What is asked of torch: tensors that are lists, a product that is right.
constexpr const char* kTorch = R"(
import sys
__version__ = "2.9.0+fake"
float32 = "f"
names = ["Fake A", "Fake B"]
class Tensor:
    def __init__(self, rows): self.rows = rows
    def cpu(self): return self
    def tolist(self): return self.rows
def tensor(rows, dtype, device):
    assert device == "cuda:0" and dtype == float32
    return Tensor(rows)
def matmul(a, b):
    columns = list(zip(*b.rows))
    return Tensor([[float(sum(x * y for x, y in zip(row, column))) for column in columns]
                   for row in a.rows])
class cuda:
    @staticmethod
    def is_available(): return True
    @staticmethod
    def device_count(): return len(names)
    @staticmethod
    def get_device_name(i): return names[i]
    @staticmethod
    def init(): raise RuntimeError("No CUDA GPUs are available")
print("M json {\"result\": \"chatter on standard output\"}")
print("torch says: a driver was found", file=sys.stderr)
)";

class FrameworkScript : public testing::Test {
 protected:
  FrameworkScript() {
    std::string pattern = (fs::temp_directory_path() / "gpuwright-XXXXXX").string();
    place_ = ::mkdtemp(pattern.data());
  }
  ~FrameworkScript() override { fs::remove_all(place_); }

  void write(const std::string& name, const std::string& text) {
    fs::create_directories((place_ / name).parent_path());
    std::ofstream(place_ / name) << text;
  }

  static std::string python() {
    for (const auto* path : {"/usr/bin/python3", "/usr/local/bin/python3"})
      if (fs::exists(path)) return path;
    return "";
  }

  FrameworkRun examine(const std::string& name,
                       std::chrono::seconds limit = std::chrono::minutes(10)) {
    Machine machine;
    Interpreter interpreter;
    interpreter.path = python();
    machine.python.interpreter = Fact<Interpreter>::known(interpreter, "test");
    machine.frameworks.emplace_back();
    machine.frameworks.back().name = name;
    ConfirmOptions options;
    options.marker = "M2";
    options.directory = place_.string();
    options.environment = {{"PYTHONPATH", (place_ / "site").string()},
                           {"PYTHONDONTWRITEBYTECODE", "1"}};
    options.limit = limit;
    Children children;
    return confirm(machine, options, children).frameworks.at(0);
  }

  void SetUp() override {
    if (python().empty()) GTEST_SKIP() << "no python3 here";
  }

  fs::path place_;
};

TEST_F(FrameworkScript, TorchThatComputesRightly) {
  write("site/torch.py", kTorch);
  const FrameworkRun run = examine("torch");
  EXPECT_EQ(run.result, "imported") << run.error;
  EXPECT_EQ(run.error, "");
  EXPECT_TRUE(run.version.is("2.9.0+fake"));
  EXPECT_TRUE(run.devices.is({"cuda:0 (Fake A)", "cuda:1 (Fake B)"}));
  EXPECT_TRUE(run.matmul.is("right"));
  EXPECT_EQ(run.messages, std::vector<std::string>{"torch says: a driver was found"});
}

TEST_F(FrameworkScript, TorchThatComputesWrongly) {
  write("site/torch.py", std::string(kTorch) + R"(
right = matmul
def matmul(a, b):
    product = right(a, b)
    product.rows[17][3] += 0.5
    return product
)");
  const FrameworkRun run = examine("torch");
  ASSERT_TRUE(run.matmul.is_known());
  EXPECT_TRUE(run.matmul->starts_with("wrong: ")) << *run.matmul;
  EXPECT_NE(run.matmul->find("row 17, column 3"), std::string::npos) << *run.matmul;
}

TEST_F(FrameworkScript, ANanIsWrong) {
  write("site/torch.py", std::string(kTorch) +
                             "\nright = matmul\n"
                             "def matmul(a, b):\n"
                             "    product = right(a, b)\n"
                             "    product.rows[63][63] = float('nan')\n"
                             "    return product\n");
  EXPECT_TRUE(examine("torch").matmul.value_or("").starts_with("wrong: nan"));
}

TEST_F(FrameworkScript, TorchWhoseWorkFails) {
  write("site/torch.py",
        std::string(kTorch) +
            "\ndef matmul(a, b):\n    raise RuntimeError('CUDA error: out of memory\\nmore')\n");
  EXPECT_TRUE(examine("torch").matmul.is("failed: RuntimeError: CUDA error: out of memory"));
}

TEST_F(FrameworkScript, TorchWithoutAGpuSaysWhy) {
  write("site/torch.py",
        std::string(kTorch) + "\ncuda.is_available = staticmethod(lambda: False)\n");
  const FrameworkRun run = examine("torch");
  EXPECT_EQ(run.result, "imported");
  EXPECT_TRUE(run.devices.is({}));
  EXPECT_FALSE(run.matmul.is_known());
  EXPECT_EQ(run.error, "RuntimeError: No CUDA GPUs are available");
}

TEST_F(FrameworkScript, JaxComputesOnItsFirstGpu) {
  write("site/numpy.py",
        "float32 = 'f'\nclass A(list):\n    def tolist(self): return list(self)\n"
        "def array(m, dtype): return A(m)\ndef asarray(m): return A(m)\n");
  write("site/jax/numpy.py",
        "def matmul(a, b):\n"
        "    columns = list(zip(*b))\n"
        "    return [[float(sum(x * y for x, y in zip(r, c))) for c in columns] for r in a]\n");
  write("site/jax/__init__.py",
        "import os\n"
        "assert os.environ['XLA_PYTHON_CLIENT_PREALLOCATE'] == 'false'\n"
        "__version__ = '0.9'\n"
        "class Device:\n"
        "    def __init__(self, platform, name): self.platform, self.name = platform, name\n"
        "    def __str__(self): return self.name\n"
        "    device_kind = 'Fake H200'\n"
        "def devices(): return [Device('gpu', 'cuda:0'), Device('cpu', 'cpu:0')]\n"
        "def device_put(m, device):\n    assert device.name == 'cuda:0'\n    return m\n");
  const FrameworkRun run = examine("jax");
  EXPECT_TRUE(run.devices.is({"cuda:0 (Fake H200)"})) << run.error;
  EXPECT_TRUE(run.matmul.is("right")) << run.matmul.value_or("");
}

TEST_F(FrameworkScript, TensorFlowIsKeptFromTakingAllMemory) {
  write("site/tensorflow.py", R"(
__version__ = "2.99"
float32 = "f"
class Gpu:
    name = "/physical_device:GPU:0"
grown = []
class config:
    class experimental:
        @staticmethod
        def set_memory_growth(gpu, on): grown.append(on)
    @staticmethod
    def list_physical_devices(kind): return [Gpu()]
    @staticmethod
    def set_soft_device_placement(on): assert not on
class device:
    def __init__(self, name): assert name == "/GPU:0"
    def __enter__(self): pass
    def __exit__(self, *_): pass
def constant(m, kind): return m
class Product(list):
    def numpy(self): return self
    def tolist(self): return list(self)
def matmul(a, b):
    assert grown == [True]
    columns = list(zip(*b))
    return Product([[float(sum(x * y for x, y in zip(r, c))) for c in columns] for r in a])
)");
  const FrameworkRun run = examine("tensorflow");
  EXPECT_TRUE(run.devices.is({"/physical_device:GPU:0"})) << run.error;
  EXPECT_TRUE(run.matmul.is("right")) << run.matmul.value_or("");
}

TEST_F(FrameworkScript, AnImportThatFailsHasTheLastLineOfItsTraceback) {
  write("site/torch.py", "import nothing_of_that_name\n");
  FrameworkRun run = examine("torch");
  EXPECT_EQ(run.result, "import failed");
  EXPECT_EQ(run.error, "ModuleNotFoundError: No module named 'nothing_of_that_name'");
  write("site/torch.py",
        "raise ImportError('Traceback (most recent call last):\\n  File x\\n"
        "ImportError: libcublas.so.12: cannot open shared object file\\n\\nFailed to load.')\n");
  run = examine("torch");
  EXPECT_EQ(run.error, "ImportError: libcublas.so.12: cannot open shared object file");
  write("site/torch.py", "import sys\nsys.exit('no')\n");
  EXPECT_EQ(examine("torch").error, "SystemExit: no");
}

TEST_F(FrameworkScript, ACrashWithinTheImportIsASignal) {
  write("site/torch.py", "import os, signal\nos.kill(os.getpid(), signal.SIGILL)\n");
  EXPECT_EQ(examine("torch").result, "died of SIGILL in import torch");
}

TEST_F(FrameworkScript, ACrashAfterTheImportLeavesWhatWasSeen) {
  write("site/torch.py",
        std::string(kTorch) + "\nimport os\ndef matmul(a, b):\n    os.kill(os.getpid(), 11)\n");
  const FrameworkRun run = examine("torch");
  EXPECT_EQ(run.result, "died of SIGSEGV in a matrix product");
  EXPECT_TRUE(run.version.is("2.9.0+fake"));
  EXPECT_TRUE(run.devices.is_known());
}

TEST_F(FrameworkScript, AHangIsNoAnswer) {
  write("site/torch.py", "import time\nwhile True: time.sleep(1000)\n");
  EXPECT_EQ(examine("torch", std::chrono::seconds(5)).result,
            "no answer within 5 s in import torch");
}

TEST_F(FrameworkScript, TheWorkingDirectoryHidesNothing) {
  write("torch.py", "raise RuntimeError('of the working directory')\n");
  write("json.py", "raise RuntimeError('of the working directory')\n");
  write("site/torch.py", kTorch);
  EXPECT_EQ(examine("torch").result, "imported");
}

TEST_F(FrameworkScript, AFrameworkThatClosesStandardOutputIsHeard) {
  write("site/torch.py", std::string(kTorch) + "\nimport os\nos.close(1)\nos.close(2)\n");
  EXPECT_TRUE(examine("torch").matmul.is("right"));
}

TEST_F(FrameworkScript, WithoutDevicesBecauseTheyCannotBeListedTheyAreUnknown) {
  write("site/torch.py",
        std::string(kTorch) +
            "\ndef broken(): raise RuntimeError('half')\ncuda.is_available = broken\n");
  const FrameworkRun run = examine("torch");
  EXPECT_EQ(run.result, "imported");
  EXPECT_TRUE(run.devices.is_unknown());
  EXPECT_EQ(run.error, "RuntimeError: half");
}

}  // namespace
}  // namespace gpuwright
