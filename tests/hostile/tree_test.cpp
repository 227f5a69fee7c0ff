#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "base/text.h"
#include "hostile/disk_tree.h"

// Trees that no installer makes: too large, without end, with names in no encoding, or changing
// while we read.

namespace gpuwright {
namespace {

// ------------------------------------------------------------------- too large

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr long kMostKilobytes = 1500 << 10;  // the sanitizers' own bookkeeping
#else
constexpr long kMostKilobytes = 250 << 10;
#endif

// Of the largest program that this test has started.
long peak_kilobytes() {
  struct rusage usage {};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  return usage.ru_maxrss;
}

struct HugeFile {
  const char* path;
  const char* head;
};

std::string name_of(const testing::TestParamInfo<HugeFile>& file) {
  std::string name;
  for (const char c : std::string_view(file.param.path))
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
  return name;
}

#define SITE "/env/lib/python3.12/site-packages/"

// Every text that a probe reads, as a gigabyte.
constexpr HugeFile kHugeFiles[] = {
    {"/etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n"},
    {"/etc/group", "root:x:0:\n"},
    {"/etc/passwd", "root:x:0:0::/root:/bin/sh\n"},
    {"/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n"},
    {"/etc/ld.so.cache", "glibc-ld.so.cache1.1"},
    {"/etc/ld.so.preload", "/lib/x.so\n"},
    {"/etc/modprobe.d/x.conf", "blacklist nouveau\n"},
    {"/proc/modules", "nvidia 1 0 - Live 0x0\n"},
    {"/proc/devices", "195 nvidia\n"},
    {"/proc/cpuinfo", "flags : sse\n"},
    {"/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05\n"},
    {"/proc/self/environ", "PATH=/usr/bin"},
    {"/proc/self/mountinfo", "22 1 254:1 / / rw - ext4 /dev/vda1 rw\n"},
    {"/proc/sys/kernel/osrelease", "6.1.0-27-amd64\n"},
    {"/sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n"},
    {"/var/lib/dpkg/status", "Package: nvidia-driver-580\nStatus: install ok installed\n"},
    {"/var/log/dmesg", "[    1.0] nvidia: loading\n"},
    {"/lib/modules/6.1.0-27-amd64/modules.dep", "updates/dkms/nvidia.ko:\n"},
    {"/lib/modules/6.1.0-27-amd64/updates/dkms/nvidia.ko", "\177ELF"},
    {"/usr/local/cuda-12.5/version.json", "{\"cuda\": {\"version\": \"12.5.1\"}}"},
    {"/usr/local/cuda-12.5/include/cuda.h", "#define CUDA_VERSION 12050\n"},
    {"/env/pyvenv.cfg", "home = /usr/bin\n"},
    {"/usr/lib/python3.12/site.py", "import sys\n"},
    {"/lib64/ld-linux-x86-64.so.2", "\177ELF"},
    {"/usr/lib/x86_64-linux-gnu/libc.so.6", "\177ELF"},
    {"/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05", "\177ELF"},
    {SITE "huge.pth", "/opt/x\n"},
    {SITE "tensorflow/__init__.py", "__version__ = '2.20.0'\n"},
    {SITE "tensorflow/python/platform/build_info.py", "build_info = {}\n"},
    {SITE "tensorflow/libtensorflow_framework.so.2", "\177ELF"},
    {SITE "tensorflow-2.20.0.dist-info/METADATA", "Name: tensorflow\n"},
    {SITE "tensorflow-2.20.0.dist-info/RECORD", "tensorflow/__init__.py,,\n"},
    {SITE "tensorflow-2.20.0.dist-info/direct_url.json", "{"},
    {SITE "torch/__init__.py", "import os\n"},
    {SITE "torch/version.py", "__version__ = '2.11.0+cu130'\n"},
    {SITE "torch/_C.cpython-312-x86_64-linux-gnu.so", "\177ELF"},
    {SITE "jaxlib/version.py", "__version__ = '0.10'\n"},
    {SITE "jax_plugins/xla_cuda13/__init__.py", "def _load(module, libraries):\n"},
    {"/env/conda-meta/cudnn-9.1.0-0.json", "{"},
    {"/home/u/.local/share/jupyter/kernels/x/kernel.json", "{\"argv\": [\"/x/python\"]}"},
    {"/home/u/.bashrc", "export LD_LIBRARY_PATH=/x\n"},
    {"/home/u/.pyenv/version", "3.12\n"},
};

class HugeFiles : public testing::TestWithParam<HugeFile> {};

TEST_P(HugeFiles, CostLittleAndAreAnswered) {
  const DiskTree tree;
  tree.write_huge(GetParam().path, GetParam().head);
  const CheckRun run = tree.check();
  EXPECT_TRUE(run.is_answer()) << run.status << run.err;
  EXPECT_LT(peak_kilobytes(), kMostKilobytes);
}

TEST(HugeInterpreter, IsNoneAndAnswered) {
  const DiskTree tree;
  tree.write_huge("/usr/bin/python3.12", "\177ELF");
  EXPECT_TRUE(tree.check({}).is_answer());
  EXPECT_EQ(tree.check({"--python", "/env"}).status, 2);  // what was asked for by name
  EXPECT_LT(peak_kilobytes(), kMostKilobytes);
}

INSTANTIATE_TEST_SUITE_P(All, HugeFiles, testing::ValuesIn(kHugeFiles), name_of);

// One directory with 100,000 entries whose names mean something to one probe or another, in every
// place that a probe lists.
class HugeDirectory : public testing::Test {
 protected:
  static constexpr int kEach = 10000;

  HugeDirectory() {
    std::filesystem::create_directories(tree_.at("/many"));
    for (int i = 0; i < kEach; ++i) {
      const std::string number = std::to_string(i);
      for (const std::string& name :
           {"cuda-" + number, "6.1.0-" + number, number, "p" + number + "-1.0.dist-info"})
        ::mkdir(tree_.at("/many/" + name).c_str(), 0755);
      for (const std::string& name :
           {"x" + number + ".pth", "libcudnn.so.9." + number, "nvidia" + number,
            "0000:" + number + ":00.0", "cudnn-9." + number + "-0.json", "f" + number + ".conf"})
        ::close(::open(tree_.at("/many/" + name).c_str(), O_CREAT | O_WRONLY, 0644));
    }
  }

  // In memory where that is to be had: making 100,000 files on a busy disk takes minutes.
  static std::filesystem::path place() { return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : ""; }

  DiskTree tree_{SoundMachine().system, place()};
};

// A probe that cannot get through is cut off at its deadline, and the others go on: together, since
// each costs its deadline.
TEST_F(HugeDirectory, IsAnsweredWhereTheMachineIsDescribed) {
  for (const char* place :
       {"/etc/ld.so.conf.d", "/etc/modprobe.d", "/sys/bus/pci/devices", "/sys/module",
        "/proc/driver/nvidia/gpus", "/lib/modules", "/usr/local", "/opt", "/var/lib/dkms"})
    tree_.link(place, "/many");
  const CheckRun run = tree_.check();
  ASSERT_TRUE(run.is_answer()) << run.status << run.err;
  EXPECT_FALSE(run.says_uses());
  EXPECT_LT(peak_kilobytes(), kMostKilobytes);
}

TEST_F(HugeDirectory, IsAnsweredWherePythonLooks) {
  for (const char* place :
       {"/env/conda-meta", "/home/u/.pyenv/versions", "/home/u/.virtualenvs",
        "/home/u/miniconda3/envs", "/home/u/.local/share/jupyter/kernels",
        "/usr/lib/python3.12/site-packages", "/env/lib/python3.12/site-packages/nvidia/cudnn/lib"})
    tree_.link(place, "/many");
  const CheckRun run = tree_.check();
  ASSERT_TRUE(run.is_answer()) << run.status << run.err;
  EXPECT_FALSE(run.says_uses());
  EXPECT_LT(peak_kilobytes(), kMostKilobytes);
}

TEST_F(HugeDirectory, IsAnsweredWhereTensorFlowLies) {
  for (const char* name : {"tensorflow", "nvidia", "tensorflow-2.20.0.dist-info"})
    std::filesystem::rename(tree_.at(WheelTree::in_site(name)), tree_.at("/many/") / name);
  tree_.link("/env/lib/python3.12/site-packages", "/many");
  const CheckRun run = tree_.check();
  EXPECT_TRUE(run.is_answer()) << run.status << run.err;
  EXPECT_LT(peak_kilobytes(), kMostKilobytes);
}

// A cache of 64 MB whose rows all bear one name: each look-up has to pass through them.
TEST(HugeCache, OfEqualRowsIsAnswered) {
  const DiskTree tree;
  std::string cache = "glibc-ld.so.cache1.1";
  constexpr std::uint32_t kRows = 2'000'000;
  const auto add = [&](std::uint32_t number) {
    cache.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  for (const std::uint32_t number : {kRows, 32U, 2U, 0U, 0U, 0U, 0U}) add(number);
  const std::uint32_t strings = 48 + kRows * 24;
  for (std::uint32_t i = 0; i < kRows; ++i)
    for (const std::uint32_t number : {0x803U, strings, strings, 0U, 0U, 0U}) add(number);
  cache += "libcudnn.so.9";
  tree.write("/etc/ld.so.cache", cache);
  const CheckRun run = tree.check();
  EXPECT_TRUE(run.is_answer()) << run.status << run.err;
}

// Millions of names for sub-directories, each the whole rest of the file.
TEST(HugeCache, OfEndlessNamesCostsLittle) {
  const DiskTree tree;
  std::string cache = "glibc-ld.so.cache1.1";
  const auto add = [&](std::uint32_t number) {
    cache.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  constexpr std::uint32_t kSize = 32 << 20;
  for (const std::uint32_t number : {0U, 0U, 2U, 48U, 0U, 0U, 0U}) add(number);
  for (const std::uint32_t number : {0xeaa42174U, 1U, 1U, 0U, 72U, kSize}) add(number);
  for (std::uint32_t i = 0; i < kSize / 4; ++i) add(0x01010101U);
  tree.write("/etc/ld.so.cache", cache);
  const CheckRun run = tree.check();
  EXPECT_TRUE(run.is_answer()) << run.status << run.err;
  EXPECT_LT(peak_kilobytes(), kMostKilobytes);
}

// ---------------------------------------------------------------- without end

TEST(Links, ThatLeadToThemselvesAreAnswered) {
  for (const char* place :
       {"/etc/os-release", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/usr/local/cuda",
        "/lib/modules", "/proc/self/environ", "/sys/bus/pci/devices", "/env/pyvenv.cfg",
        "/env/bin/python", "/env/lib/python3.12/site-packages", "/usr/bin/python3.12",
        "/usr/lib/python3.12/os.py", "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/dev/nvidia0",
        "/home/u/.pyenv"}) {
    const DiskTree tree;
    tree.link(place, std::string(path_name(place)));
    const CheckRun run = tree.check({});
    EXPECT_TRUE(run.is_answer()) << place << ": " << run.status << run.err;
  }
}

TEST(Links, ThatLeadUpwardsAreAnswered) {
  const DiskTree tree;
  for (const char* place :
       {"/usr/local/cuda-1", "/opt/x", "/home/u/.virtualenvs", "/home/u/miniconda3/envs",
        "/env/lib/python3.12/site-packages/nvidia/up", "/env/lib/python3.12/site-packages/up",
        "/lib/modules/6.1.0-27-amd64", "/var/lib/dkms/nvidia", "/etc/ld.so.conf.d"})
    tree.link(place, "..");
  const CheckRun run = tree.check();
  ASSERT_TRUE(run.is_answer()) << run.status << run.err;
  EXPECT_EQ(run.says_uses(), tree.has_device_nodes());
}

TEST(Includes, OfThemselvesAreAnswered) {
  const DiskTree tree;
  tree.write("/etc/ld.so.conf", "include /etc/ld.so.conf\ninclude /etc/*\ninclude /*/*/*/*/*/*\n");
  EXPECT_TRUE(tree.check().is_answer());
}

// -------------------------------------------------------------- names and texts

constexpr const char* kNoEncoding = "\xff\xfe caf\xe9 \x1b[31m\nx";

TEST(NamesInNoEncoding, AreShownAsTextThatIsNone) {
  const std::string name = kNoEncoding;
  SoundMachine machine;
  const std::string site = WheelTree::in_site(name);
  machine.text(site + ".pth", "/" + name + "\n");
  machine.text(site + "-1." + name + ".dist-info/METADATA", "Name: " + name + "\n");
  machine.text("/proc/driver/nvidia/gpus/" + name + "/information", "Model: " + name);
  machine.text("/usr/local/cuda-" + name + "/version.txt", "CUDA Version " + name);
  machine.text("/lib/modules/" + name + "/modules.dep", name);
  machine.text("/etc/os-release", "ID=" + name + "\nPRETTY_NAME=" + name);
  machine.text("/home/u/.local/share/jupyter/kernels/" + name + "/kernel.json", name);
  machine.object(WheelTree::wheel("cudnn", "libcudnn.so.9"), {.needed = {name}, .runpath = name});
  const DiskTree tree(machine);
  const CheckRun run = tree.check({"--python", "/env"});
  ASSERT_TRUE(run.is_answer()) << run.status << run.err;
  EXPECT_FALSE(run.says_uses());
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"check", "--all", "--libraries", "--verbose"}, {"snapshot"}}) {
    const ProgramRun text = tree.run(words);
    EXPECT_EQ(text.out.find('\x1b'), std::string::npos);
    EXPECT_EQ(printable(text.out).size(), text.out.size());
    EXPECT_EQ(text.err, "");
  }
}

TEST(NamesInNoEncoding, MayBeThatOfTheEnvironmentAndTheRoot) {
  const std::string name = kNoEncoding;
  const DiskTree tree;
  std::filesystem::rename(tree.at("/env"), tree.at("/" + name));
  const CheckRun run = tree.check({"--python", "/" + name});
  ASSERT_TRUE(run.is_answer()) << run.status << run.err;
  EXPECT_EQ(run.says_uses(), tree.has_device_nodes());
  const ProgramRun snapshot = tree.run({"snapshot", "--python", "/" + name});
  const ProgramRun judged = run_program({"check", "--from", "-"}, snapshot.out);
  EXPECT_EQ(judged.err, "");
}

// -------------------------------------------------------- changing while we read

// Cuts files to nothing and writes them again, as fast as it can, until it is destroyed.
class Changer {
 public:
  Changer(const DiskTree& tree, std::vector<std::string> paths) {
    for (const auto& path : paths) files_.push_back({tree.at(path), read_whole(tree.at(path))});
    thread_ = std::thread([this] {
      for (std::size_t turn = 0; !done_; ++turn) {
        const auto& [path, content] = files_[turn % files_.size()];
        const std::size_t cuts[] = {0, content.size() / 2, 1, content.size() - 1};
        std::error_code ignored;
        std::filesystem::resize_file(path, cuts[turn / files_.size() % 4], ignored);
        std::ofstream(path, std::ios::binary | std::ios::in) << content;
      }
    });
  }
  ~Changer() {
    done_ = true;
    thread_.join();
  }
  Changer(const Changer&) = delete;
  Changer& operator=(const Changer&) = delete;

 private:
  std::vector<std::pair<std::filesystem::path, std::string>> files_;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

TEST(FilesThatChangeWhileRead, AreAnswered) {
  const DiskTree tree;
  const Changer changer(
      tree, {WheelTree::wheel("cudnn", "libcudnn.so.9"), "/etc/os-release", "/env/pyvenv.cfg",
             WheelTree::in_site("tensorflow/libtensorflow_framework.so.2"),
             WheelTree::in_site("tensorflow/python/platform/build_info.py"),
             "/proc/driver/nvidia/version", "/proc/self/environ", "/lib64/ld-linux-x86-64.so.2"});
  for (int i = 0; i < 40; ++i) {
    const CheckRun run = tree.check({});
    ASSERT_TRUE(run.is_answer()) << run.status << run.err;
  }
}

}  // namespace
}  // namespace gpuwright
