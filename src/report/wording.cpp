#include "report/wording.h"

#include "base/text.h"

namespace gpuwright {
namespace {

// Up to two GPUs fit a sentence; more are counted in it.
std::string gpus_sentence(const std::vector<std::string>& gpus) {
  if (gpus.size() == 1) return "will use GPU " + gpus[0];
  if (gpus.size() == 2) return "will use GPU " + gpus[0] + " and GPU " + gpus[1];
  return "will use " + std::to_string(gpus.size()) + " GPUs";
}

}  // namespace

std::string headline(const Finding& finding) {
  const bool said = lower(finding.statement).find(lower(finding.subject)) != std::string::npos;
  return said ? finding.statement : finding.subject + ": " + finding.statement;
}

const char* meaning_of(Certainty certainty) {
  switch (certainty) {
    case Certainty::kProven:
      return "follows from what was read";
    case Certainty::kLikely:
      return "the symptom is seen, the cause inferred";
    case Certainty::kPossible:
      break;
  }
  return "one of several causes that fit";
}

std::string with_source(const Evidence& evidence) {
  return evidence.source.empty() ? evidence.text : evidence.text + " (" + evidence.source + ")";
}

std::string answer_sentence(const FrameworkAnswer& answer) {
  switch (answer.answer) {
    case Answer::kUses:
      return gpus_sentence(answer.gpus);
    case Answer::kDoesNot:
      return "will not use the GPU: " + answer.because;
    case Answer::kCannotTell:
      break;
  }
  return "cannot tell: " + answer.because;
}

std::string text_of(const FixStep& step) {
  const std::string what = step.text.empty() && !step.command.empty() ? "run" : step.text;
  return what + (step.needs_root ? " (needs root)" : "");
}

std::string reason_of(const Ignore& ignore) {
  return ignore.reason + " (" + (ignore.until.empty() ? "" : "until " + ignore.until + ", ") +
         ignore.place + ")";
}

}  // namespace gpuwright
