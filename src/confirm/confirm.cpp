#include "confirm/confirm.h"

#include <sys/random.h>

#include <algorithm>
#include <cstring>

#include "base/embedded.h"
#include "base/text.h"
#include "confirm/child.h"
#include "confirm/protocol.h"

namespace gpuwright {

extern const EmbeddedFile k_confirm_scripts[];

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// One question to a child.
struct Question {
  ChildCommand command;
  ChildEnd end;
  Told told;
};

class Confirmation {
 public:
  Confirmation(const Machine& machine, const ConfirmOptions& options, ChildDoor& door)
      : machine_(machine), options_(options), door_(door) {}

  Fact<NvmlRun> nvml() {
    const char* name = "libnvidia-ml.so.1";
    const DriverLibrary* library = chosen(name);
    if (library == nullptr) return nothing_chosen<NvmlRun>(name);
    door_.progress("asking NVML");
    // Without persistence each GPU is initialised for the question, which takes 1 to 3 s.
    const Question question = ask("nvml", library->path, seconds(5) + 3 * gpus_beyond_one());
    NvmlRun run = answer_of(question).nvml.value_or({});
    run.path = library->path;
    if (const auto failure = failure_of(question); !failure.empty()) run.result = failure;
    return Fact<NvmlRun>::known(std::move(run), library->path);
  }

  Fact<DriverRun> driver() {
    const char* name = "libcuda.so.1";
    const DriverLibrary* library = chosen(name);
    if (library == nullptr) return nothing_chosen<DriverRun>(name);
    door_.progress("initialising the CUDA driver");
    const Question question = ask("driver", library->path, seconds(10) + 3 * gpus_beyond_one());
    DriverRun run = answer_of(question).driver.value_or({});
    run.path = library->path;
    if (const auto failure = failure_of(question); !failure.empty()) run.result = failure;
    return Fact<DriverRun>::known(std::move(run), library->path);
  }

  FrameworkRun framework(const std::string& name) {
    door_.progress("importing " + name + " and multiplying two matrices");
    Question question;
    question.command = command_of(
        {machine_.python.interpreter->path, "-c", script(), options_.marker, name}, seconds(120));
    // JAX would take three quarters of the GPU's memory; TensorFlow is told so by the script.
    question.command.environment["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false";
    put(question);
    FrameworkRun run = framework_run_from_json(question.told.json).value_or(FrameworkRun{});
    run.framework = name;
    if (const auto failure = failure_of(question); !failure.empty()) run.result = failure;
    run.error = printable(run.error);
    run.messages = gpu_messages(question.end.err);
    return run;
  }

 private:
  static std::string script() { return std::string(k_confirm_scripts[0].text()); }

  // The file where a plain program's search ends.
  const DriverLibrary* chosen(std::string_view name) const {
    const auto& libraries = machine_.driver.libraries;
    if (!libraries.is_known()) return nullptr;
    for (const auto& library : *libraries)
      if (library.chosen && library.name == name) return &library;
    return nullptr;
  }

  template <class T>
  Fact<T> nothing_chosen(const char* name) const {
    const auto& libraries = machine_.driver.libraries;
    return libraries.is_unknown() ? Fact<T>::unknown(name, libraries.reason())
                                  : Fact<T>::absent(name);
  }

  milliseconds::rep count_of_gpus() const {
    const auto& gpus = machine_.hardware.gpus;
    return gpus.is_known() ? static_cast<milliseconds::rep>(gpus->size()) : 1;
  }
  seconds gpus_beyond_one() const {
    return seconds(std::clamp<milliseconds::rep>(count_of_gpus() - 1, 0, 15));
  }

  ChildCommand command_of(std::vector<std::string> arguments, milliseconds limit) const {
    ChildCommand command;
    command.arguments = std::move(arguments);
    command.environment = options_.environment;
    command.directory = options_.directory;
    command.limit = options_.limit.count() > 0 ? options_.limit : limit;
    command.out_limit = 8 << 20;
    return command;
  }

  Question ask(const char* what, const std::string& path, milliseconds limit) {
    Question question;
    question.command =
        command_of({options_.program, kChildCommand, what, path, options_.marker}, limit);
    put(question);
    return question;
  }

  void put(Question& question) {
    question.end = door_.run(question.command);
    question.told = parse_told(question.end.out, options_.marker);
  }

  static Run answer_of(const Question& question) {
    return run_from_json(question.told.json).value_or(Run{});
  }

  // "died of SIGSEGV in cuInit"; empty when the child ended well and told something.
  static std::string failure_of(const Question& question) {
    const auto& end = question.end;
    const std::string where =
        question.told.last_call.empty() ? "" : " in " + question.told.last_call;
    switch (end.kind) {
      case ChildEnd::Kind::kNotStarted:
        return "cannot be started: " + std::string(std::strerror(end.code));
      case ChildEnd::Kind::kNoAnswer:
        return "no answer within " + seconds_text(question.command.limit) + where +
               (end.left_behind
                    ? "; process " + std::to_string(end.pid) + " cannot be killed and was left"
                    : "");
      case ChildEnd::Kind::kSignalled:
        return "died of " + signal_name(end.code) + where;
      case ChildEnd::Kind::kExited:
        break;
    }
    if (end.code == 0 && !question.told.json.empty()) return "";
    return "ended with status " + std::to_string(end.code) + where;
  }

  static std::string seconds_text(milliseconds limit) {
    return std::to_string(std::chrono::duration_cast<seconds>(limit).count()) + " s";
  }

  // Lines of standard error that name a GPU subject.
  static std::vector<std::string> gpu_messages(const std::string& err) {
    constexpr std::string_view kSubjects[] = {"cuda", "gpu",    "nvidia", "cudnn",  "cublas",
                                              "nvml", "driver", "dlopen", "device", "illegal"};
    std::vector<std::string> messages;
    for (const auto line : lines(err)) {
      const std::string text = lower(line.substr(0, 2000));
      const bool named = std::any_of(
          std::begin(kSubjects), std::end(kSubjects),
          [&](std::string_view subject) { return text.find(subject) != std::string::npos; });
      if (named) messages.push_back(printable(line.substr(0, 400)));
      if (messages.size() == 40) break;
    }
    return messages;
  }

  const Machine& machine_;
  const ConfirmOptions& options_;
  ChildDoor& door_;
};

}  // namespace

Run confirm(const Machine& machine, const ConfirmOptions& options, ChildDoor& door) {
  Confirmation confirmation(machine, options, door);
  Run run;
  run.nvml = confirmation.nvml();
  run.driver = confirmation.driver();
  if (machine.python.interpreter.is_known())
    for (const auto& framework : machine.frameworks)
      run.frameworks.push_back(confirmation.framework(framework.name));
  door.progress("");
  return run;
}

std::string random_marker() {
  unsigned char bytes[12] = {};
  // Without randomness a marker is still no word that a library prints.
  static_cast<void>(::getrandom(bytes, sizeof bytes, GRND_NONBLOCK) < 0);
  std::string marker = "gpuwright-";
  for (const unsigned char byte : bytes)
    for (const unsigned nibble : {byte >> 4, byte & 15}) marker += "0123456789abcdef"[nibble];
  return marker;
}

}  // namespace gpuwright
