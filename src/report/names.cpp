#include "report/names.h"

namespace gpuwright {

const char* name_of(RungState state) {
  switch (state) {
    case RungState::kRight:
      return "right";
    case RungState::kBroken:
      return "broken";
    case RungState::kFollows:
      return "follows";
    case RungState::kUnknown:
      return "unknown";
    case RungState::kNotApplicable:
      return "not-applicable";
    case RungState::kNotJudged:
      break;
  }
  return "not-judged";
}

const char* name_of(Answer answer) {
  switch (answer) {
    case Answer::kUses:
      return "uses";
    case Answer::kDoesNot:
      return "does-not";
    case Answer::kCannotTell:
      break;
  }
  return "cannot-tell";
}

const char* name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kRight:
      return "right";
    case Outcome::kProblems:
      return "problems";
    case Outcome::kUndecided:
      break;
  }
  return "undecided";
}

}  // namespace gpuwright
