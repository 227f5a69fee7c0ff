#include "loader/candidate_file.h"

#include <cerrno>

namespace gpuwright::loader {
namespace {

Attempt not_opened(const Error& error) {
  Attempt attempt;
  attempt.code = error.code;
  switch (error.code) {
    case EISDIR:  // open(2) succeeds for the loader, its read(2) does not
      attempt.kind = Attempt::Kind::kStop;
      attempt.problem = ElfProblem::kUnreadable;
      attempt.reason = "cannot read file data";
      break;
    case EINVAL:  // a FIFO makes the loader wait, a device gives whatever it gives
      attempt.kind = Attempt::Kind::kStop;
      attempt.problem = ElfProblem::kUnreadable;
      attempt.reason = error.message;
      attempt.code = 0;
      attempt.certain = false;
      break;
    default:
      break;
  }
  return attempt;
}

Attempt judge(const RandomAccessFile& file, const Host& host) {
  Attempt attempt;
  attempt.status = file.status();
  auto elf = read_elf(file, host);
  if (elf) {
    attempt.kind = Attempt::Kind::kOpened;
    attempt.elf = std::make_shared<const ElfObject>(std::move(*elf));
    return attempt;
  }
  attempt.problem = elf.error().problem;
  const bool passed_over =
      attempt.problem == ElfProblem::kWrongClass || attempt.problem == ElfProblem::kWrongMachine;
  attempt.kind = passed_over ? Attempt::Kind::kNext : Attempt::Kind::kStop;
  attempt.code = passed_over ? ENOENT : 0;
  attempt.reason = std::move(elf.error().message);
  attempt.certain = attempt.problem != ElfProblem::kUnreadable;
  return attempt;
}

}  // namespace

Attempt CandidateFiles::open(const std::string& absolute_path) {
  const auto file = system_.open(absolute_path);
  if (!file) return not_opened(file.error());
  const FileStatus& status = (*file)->status();
  const Identity identity{status.device, status.inode, status.size, status.modified_s};
  if (const auto known = known_.find(identity); known != known_.end()) return known->second;
  return known_.emplace(identity, judge(**file, host_)).first->second;
}

}  // namespace gpuwright::loader
