#include "report/explain.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/command.h"
#include "cli/open.h"
#include "diagnose/diagnose.h"
#include "reading/line.h"
#include "reading/reading.h"

namespace gpuwright::cli {
namespace {

constexpr std::size_t kBlock = 1 << 20;

// Ctrl-C ends the reading and not the program: what is known so far is told.
volatile std::sig_atomic_t interrupted = 0;
void on_interrupt(int) { interrupted = 1; }

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;  // without SA_RESTART, so that read(2) comes back
  ::sigaction(SIGINT, &action, nullptr);
}

/// The next bytes, up to a full buffer unless the end comes first.
Result<std::size_t> fill(int descriptor, std::vector<char>& buffer, const std::string& name) {
  std::size_t have = 0;
  while (have < buffer.size() && !interrupted) {
    const ssize_t got = ::read(descriptor, buffer.data() + have, buffer.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(std::strerror(errno), name, errno);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  return have;
}

// A text that fits into one buffer may be a paste whose lines a terminal has broken.
Result<void> read_all(int descriptor, const std::string& name, Reader& reader) {
  std::vector<char> buffer(kBlock);
  reader.begin(name);
  bool first = true;
  while (!interrupted) {
    const auto got = fill(descriptor, buffer, name);
    if (!got) return tl::unexpected(got.error());
    const std::string_view bytes(buffer.data(), *got);
    const bool whole = *got < buffer.size();
    if (first && whole) {
      if (bytes.empty()) return fail("is empty", name);
      reader.feed(unwrap(bytes));
    } else {
      reader.feed(bytes);
    }
    first = false;
    if (whole) break;
  }
  reader.end();
  return {};
}

Result<void> read_file(const std::string& name, Reader& reader) {
  if (name == "-") return read_all(STDIN_FILENO, "input", reader);
  const int descriptor = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return fail(std::strerror(errno), name, errno);
  struct stat status {};
  Result<void> read = ::fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode)
                          ? Result<void>(fail("is a directory", name))
                          : read_all(descriptor, name, reader);
  ::close(descriptor);
  return read;
}

Explanation explanation_of(Reading reading, const Catalog& catalog) {
  Explanation out;
  DiagnoseOptions options;
  options.text_alone = true;
  out.diagnosis = diagnose(reading.machine, catalog, options);
  for (auto& line : reading.noise)
    out.noise.push_back({line.source, line.text, line.why, line.count});
  for (auto& line : reading.unplaced)
    out.unplaced.push_back({line.source, line.text, "", line.count});
  out.lines = reading.lines;
  return out;
}

int status_of(Outcome outcome) {
  if (interrupted) return kInterrupted;
  if (outcome == Outcome::kProblems) return kProblemsFound;
  return outcome == Outcome::kRight ? kAllRight : kCouldNotDecide;
}

}  // namespace

Result<int> run_explain(const Arguments& arguments, Output& output) {
  const auto catalog = open_catalog(arguments.value("--catalog"));
  if (!catalog) return tl::unexpected(catalog.error());
  auto files = arguments.operands();
  if (files.empty() && ::isatty(STDIN_FILENO) == 1)
    return fail("give a file, or - to paste a text and end it with Ctrl-D");
  if (files.empty()) files = {"-"};
  catch_interrupts();
  Reader reader;
  for (const auto& file : files)
    if (const auto read = read_file(file, reader); !read) return tl::unexpected(read.error());
  const auto explanation = explanation_of(reader.take(), **catalog);
  TextStyle style;
  style.color = output.may_color() && !arguments.has("--no-color");
  style.width = output.width();
  style.all = arguments.has("--all");
  style.quiet = arguments.has("--quiet");
  style.verbose = arguments.has("--verbose");
  if (arguments.value("--format") == "json") {
    output.data(explain_json(explanation)
                    .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
                "\n");
  } else {
    output.data(explain_text(explanation, style));
  }
  return status_of(explanation.diagnosis.outcome);
}

}  // namespace gpuwright::cli
