#include <algorithm>

#include "diagnose/fix.h"
#include "diagnose/rule.h"
#include "diagnose/setting.h"

// Limits of the host that end GPU work: room, memory, clock, open files. Advice: a GPU is used all
// the same, until the first data loader, compiler or download meets the limit.

namespace gpuwright {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kGiB = 1 << 30;

std::string amount(std::uint64_t bytes) {
  const bool large = bytes >= kGiB;
  const auto tenths = bytes / ((large ? kGiB : kMiB) / 10);
  return fact_text(static_cast<double>(tenths) / 10) + (large ? " GiB" : " MiB");
}

bool has_framework(const Machine& machine, std::string_view name) {
  return std::any_of(machine.frameworks.begin(), machine.frameworks.end(),
                     [&](const Framework& framework) { return framework.name == name; });
}

const FileSpace* space_for(const Machine& machine, std::string_view purpose) {
  if (!machine.host.spaces.is_known()) return nullptr;
  for (const auto& space : *machine.host.spaces)
    if (space.purpose == purpose) return &space;
  return nullptr;
}

Evidence cite(const FileSpace& space) {
  return {amount(space.free_bytes) + " of " + amount(space.total_bytes) + " free, " +
              std::to_string(space.free_inodes) + " of " + std::to_string(space.total_inodes) +
              " inodes",
          space.path};
}

// -------------------------------------------------------------------- shared memory

// Docker gives a container 64 MiB of /dev/shm, Kubernetes too. PyTorch's loader workers hand their
// batches over through it, and die of SIGBUS when it is full.
Verdict shm_is_large(const Machine& machine, const Catalog&) {
  if (!machine.host.container.is_known() || !machine.host.shm_bytes.is_known())
    return NotApplicable{};
  if (!has_framework(machine, "torch")) return NotApplicable{};
  if (*machine.host.shm_bytes > 64 * kMiB) return Fine{};
  const bool kubernetes = machine.host.container.is("kubernetes");
  Finding finding;
  finding.severity = Severity::kWarning;
  finding.statement = "/dev/shm has " + amount(*machine.host.shm_bytes) +
                      ", too little for PyTorch's data loader workers: they die of 'Bus error'";
  finding.evidence = {gpuwright::cite("bytes of /dev/shm", machine.host.shm_bytes),
                      gpuwright::cite("container", machine.host.container)};
  finding.cause = "the container was started with the default size of shared memory";
  if (kubernetes)
    finding.fix = {advice("mount an emptyDir with medium: Memory at /dev/shm in the pod's "
                          "specification"),
                   advice("or set num_workers=0 in the DataLoader, which is slower")};
  else
    finding.fix = {
        user_step("docker run --shm-size=8g ...", "start the container with more of it",
                  "the container's /dev/shm", "start it without the option"),
        user_step("docker run --ipc=host ...", "or with the host's",
                  "the container shares the host's shared memory", "start it without the option")};
  return finding;
}

// ------------------------------------------------------------------------- file systems

// Below this, a wheel cannot be unpacked, a kernel cache not written, a checkpoint not saved.
constexpr std::uint64_t kFull = 100 * kMiB;

FixStep look_for_space(const FileSpace& space) {
  return user_step(
      "du -xh --max-depth=2 " + shell_word(space.path) + " 2>/dev/null | sort -h | tail",
      "what takes the room there", "nothing", "none needed");
}

Finding is_full(const FileSpace& space, bool inodes) {
  Finding finding;
  finding.severity = Severity::kWarning;
  finding.subject = space.path;
  finding.statement =
      inodes ? space.path + " (" + space.purpose + ") has no inodes left: no file can be made there"
             : space.path + " (" + space.purpose + ") is full: " + amount(space.free_bytes) +
                   " of " + amount(space.total_bytes) + " free";
  finding.evidence = {cite(space)};
  finding.cause = inodes ? "millions of small files: caches of packages, data sets of single images"
                         : "caches, checkpoints and downloads; a small tmpfs as /tmp is full after "
                           "one CUDA wheel";
  finding.fix = {look_for_space(space)};
  if (space.purpose == "temporary files")
    finding.fix.push_back(user_step("mkdir -p ~/tmp && export TMPDIR=~/tmp",
                                    "another place for temporary files", "this shell",
                                    "unset TMPDIR"));
  if (space.purpose == "home")
    finding.fix.push_back(
        user_step("pip cache purge", "empties pip's cache", "~/.cache/pip", "none needed"));
  return finding;
}

bool matters(const FileSpace& space) {
  return space.purpose == "temporary files" || space.purpose == "home";
}

Verdict has_room(const Machine& machine, const Catalog&) {
  if (!machine.host.spaces.is_known()) return NotApplicable{};
  std::vector<Finding> findings;
  for (const auto& space : *machine.host.spaces)
    if (matters(space) && !space.read_only && space.total_bytes > 0 && space.free_bytes < kFull)
      findings.push_back(is_full(space, false));
  return findings.empty() ? Verdict(Fine{}) : Verdict(std::move(findings));
}

Verdict has_inodes(const Machine& machine, const Catalog&) {
  if (!machine.host.spaces.is_known()) return NotApplicable{};
  std::vector<Finding> findings;
  for (const auto& space : *machine.host.spaces)
    if (matters(space) && !space.read_only && space.total_inodes > 0 && space.free_inodes < 100)
      findings.push_back(is_full(space, true));
  return findings.empty() ? Verdict(Fine{}) : Verdict(std::move(findings));
}

Verdict tmp_is_writable(const Machine& machine, const Catalog&) {
  const auto* space = space_for(machine, "temporary files");
  if (space == nullptr) return NotApplicable{};
  if (!space->read_only) return Fine{};
  Finding finding;
  finding.severity = Severity::kWarning;
  finding.statement = space->path + " is read-only: compilers of Triton and XLA, and pip, need it";
  finding.evidence = {{"mounted read-only", space->path}};
  finding.cause = "the container was started with a read-only root, or the disk had an error";
  finding.fix = {user_step("docker run --tmpfs /tmp ...", "give the container a /tmp of its own",
                           "a tmpfs in the container", "start it without the option"),
                 user_step("export TMPDIR=/dev/shm", "or another place that can be written",
                           "this shell", "unset TMPDIR")};
  return finding;
}

// -------------------------------------------------------------------------------- clock

constexpr std::uint64_t kDay = 86400;
constexpr std::uint64_t kFirstRelease =
    1700000000;  ///< November 2023, before this program existed.

Verdict clock_is_right(const Machine& machine, const Catalog&) {
  if (!machine.host.clock.is_known()) return NotApplicable{};
  const auto& clock = *machine.host.clock;
  const bool before_file = clock.newest_file_s > clock.now_s + kDay;
  if (!before_file && clock.now_s >= kFirstRelease) return Fine{};
  Finding finding;
  finding.severity = Severity::kWarning;
  finding.statement =
      before_file ? "the clock is " + std::to_string((clock.newest_file_s - clock.now_s) / kDay) +
                        " days behind " + clock.newest_file +
                        ": certificates seem not to be valid yet, and downloads fail"
                  : "the clock is years behind: certificates seem not to be valid yet, and "
                    "downloads fail";
  finding.evidence = {{"now " + std::to_string(clock.now_s) + " s since 1970", "clock"}};
  if (before_file)
    finding.evidence.push_back(
        {"changed " + std::to_string(clock.newest_file_s) + " s since 1970", clock.newest_file});
  finding.cause =
      "the battery of the board is empty, or a virtual machine came back from a snapshot";
  finding.fix = {root_step("sudo timedatectl set-ntp true", "let a time service set it",
                           "the clock", "sudo timedatectl set-ntp false"),
                 root_step("sudo hwclock --systohc", "then keep it in the board's clock",
                           "the board's clock", "none needed")};
  finding.certainty = before_file ? Certainty::kLikely : Certainty::kProven;
  return finding;
}

// ------------------------------------------------------------------------------- limits

Verdict open_files_suffice(const Machine& machine, const Catalog&) {
  if (!machine.host.open_files.is_known() || machine.frameworks.empty()) return NotApplicable{};
  if (*machine.host.open_files >= 1024) return Fine{};
  Finding finding;
  finding.severity = Severity::kWarning;
  finding.statement = "a process may open " + std::to_string(*machine.host.open_files) +
                      " files only: loader workers and NCCL run into 'Too many open files'";
  finding.evidence = {gpuwright::cite("soft limit of open files", machine.host.open_files)};
  finding.cause = "a shell profile, a service or a scheduler lowered the limit; 1024 is usual";
  finding.fix = {
      user_step("ulimit -n 65536", "raises it for this shell", "this shell", "open a new shell"),
      advice("in a systemd unit: LimitNOFILE=65536")};
  return finding;
}

// A CUDA context and the libraries of a framework take two gigabytes of host memory before the
// first tensor.
Verdict memory_suffices(const Machine& machine, const Catalog&) {
  const auto& limit = machine.host.memory_limit_bytes;
  if (!limit.is_known() || machine.frameworks.empty()) return NotApplicable{};
  const bool cuda = std::any_of(machine.frameworks.begin(), machine.frameworks.end(),
                                [](const Framework& f) { return f.build.is("cuda"); });
  if (!cuda || *limit >= 2 * kGiB) return cuda ? Verdict(Fine{}) : Verdict(NotApplicable{});
  Finding finding;
  finding.severity = Severity::kWarning;
  finding.statement = "this process may use " + amount(*limit) +
                      " of memory: a framework with CUDA is killed at about 2 GiB before it begins";
  finding.evidence = {gpuwright::cite("memory limit of the cgroup", limit)};
  finding.cause = "the container, the pod, the job or the service was given a small limit";
  finding.fix = {
      advice("raise it: docker run --memory, resources.limits.memory of the pod, --mem of "
             "Slurm, MemoryMax= of the unit")};
  return finding;
}

constexpr Rule kRules[] = {
    {"host.shm-small", "/dev/shm has room for the batches of loader workers", shm_is_large,
     Standing::kAdvice},
    {"host.disk-full", "there is room for temporary files and in the home directory", has_room,
     Standing::kAdvice},
    {"host.inodes-used-up", "files can be made there", has_inodes, Standing::kAdvice},
    {"host.tmp-read-only", "temporary files can be written", tmp_is_writable, Standing::kAdvice},
    {"host.clock-wrong", "the clock is not before the newest file", clock_is_right,
     Standing::kAdvice},
    {"host.open-files-low", "a process may open 1024 files or more", open_files_suffice,
     Standing::kAdvice},
    {"host.memory-limit-small", "the memory limit leaves room for a CUDA context", memory_suffices,
     Standing::kAdvice},
};

}  // namespace

std::span<const Rule> host_limit_rules() { return kRules; }

}  // namespace gpuwright
