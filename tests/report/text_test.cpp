#include "base/text.h"

#include <gtest/gtest.h>

#include "report/layout.h"
#include "report/report.h"
#include "report/sample.h"

namespace gpuwright {
namespace {

std::string text_of(const Diagnosis& diagnosis, const TextStyle& style = {.width = 100},
                    const Machine& machine = {}) {
  return report_text(machine, Catalog::built_in(), diagnosis, style);
}

std::size_t place_of(const std::string& text, const std::string& part) {
  const auto at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part << "\nin\n" << text;
  return at;
}

TEST(ReportText, ReadsInTheOrderOfNeed) {
  const std::string text = text_of(broken_driver());
  const char* order[] = {
      "the driver is broken",
      "  hardware   right",
      "  driver     broken",
      "  cuda       follows from driver",
      "  python     not applicable",
      "  work       not judged",
      "tensorflow 2.21.0 will not use the GPU: the driver is broken\n",
      "torch 2.11.0 will use GPU 0 (H200, 0000:00:06.0)\n",
      "jax cannot tell: jaxlib could not be read\n",
      "driver: the loaded NVIDIA module and libnvidia-ml.so.1 differ\n",
      "- module 550.54.14 (/proc/driver/nvidia/version)\n",
      "cause: the driver was upgraded",
      "certainty: likely, the symptom is seen",
      "1. load the new module (needs root)\n         sudo reboot\n",
      "changes: restarts the machine",
      "undo: none needed",
      "2. enter the firmware's set-up",
      "also wrong\n  - torch 2.11.0: the build has no CUDA [framework.cpu-build]",
      "warnings\n  - 8 of 16 lanes are used [hardware.narrow-link]",
      "could not be decided\n  - unknown: permission denied (/etc/ld.so.cache)\n"
      "    leaves open: libraries.cache, libraries.other\n",
      "hint: gpuwright help driver.version-mismatch"};
  std::size_t last = 0;
  for (const auto* part : order) {
    const auto at = place_of(text, part);
    EXPECT_GE(at, last) << part << "\nin\n" << text;
    last = at;
  }
  EXPECT_TRUE(text.starts_with(broken_driver().verdict));
}

TEST(ReportText, OneLineARungAndNoBlankLineTwice) {
  const std::string text = text_of(broken_driver());
  EXPECT_EQ(text.find("\n\n\n"), std::string::npos);
  for (const auto line : lines(text)) EXPECT_FALSE(line.ends_with(' ')) << line;
}

TEST(ReportText, QuietIsTheVerdict) {
  EXPECT_EQ(text_of(broken_driver(), {.quiet = true}), broken_driver().verdict + "\n");
}

TEST(ReportText, VerboseShowsTheEvidenceOfWarnings) {
  EXPECT_EQ(text_of(broken_driver()).find("8 lanes"), std::string::npos);
  place_of(text_of(broken_driver(), {.verbose = true}), "8 lanes (current_link_width)");
}

TEST(ReportText, KeepsToTheWidthButNeverBreaksACommand) {
  auto diagnosis = broken_driver();
  diagnosis.findings[1].fix[0].command =
      "sudo apt-get install " + std::string(90, 'x') + " yyy zzz";
  const std::string text = text_of(diagnosis, {.width = 50});
  place_of(text, "\n         " + diagnosis.findings[1].fix[0].command + "\n");
  for (const auto line : lines(text))
    EXPECT_TRUE(columns(line) <= 50 || line.find("apt-get") != std::string::npos) << line;
}

TEST(ReportText, WithoutColourThereIsNoEscapeAndWithItTheSameWords) {
  const std::string plain = text_of(broken_driver());
  std::string coloured = text_of(broken_driver(), {.color = true, .width = 100});
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  EXPECT_NE(coloured.find('\x1b'), std::string::npos);
  for (auto at = coloured.find('\x1b'); at != std::string::npos; at = coloured.find('\x1b'))
    coloured.erase(at, coloured.find('m', at) - at + 1);
  EXPECT_EQ(coloured, plain);
}

TEST(ReportText, WhatAHostileFileSaysCannotSteerTheTerminal) {
  auto diagnosis = broken_driver();
  diagnosis.findings[1].evidence[0].text = "\x1b]0;owned\x07";
  diagnosis.rungs[0].summary = "a\x1b[2Jb";
  EXPECT_EQ(text_of(diagnosis).find('\x1b'), std::string::npos);
}

TEST(ReportText, CountsManyGpusAndListsThem) {
  Diagnosis diagnosis;
  diagnosis.frameworks = {
      {"torch", "2.11.0", Answer::kUses, {"0 (H200)", "1 (H200)", "2 (H200)"}, "", "", "high", {}}};
  place_of(text_of(diagnosis), "torch 2.11.0 will use 3 GPUs\n  GPU 0 (H200)\n  GPU 1 (H200)\n");
}

TEST(ReportText, NamesWhatRemainsUnseenWhereConfidenceIsNotHigh) {
  place_of(text_of(broken_driver()), "  confidence: medium\n  not seen: the GPU's health\n");
}

TEST(ReportText, TellsOfProbesThatDidNotFinish) {
  Machine machine;
  machine.notes = {{"driver", "did not finish within 2 s"}};
  place_of(text_of({}, {}, machine), "- probe driver: did not finish within 2 s");
}

TEST(ReportText, LibrariesShowFileRuleVersionAndWhatIsShadowed) {
  const std::string text = text_of(broken_driver(), {.libraries = true}, machine_with_libraries());
  place_of(text,
           "libraries of torch 2.11.0\n"
           "  site-packages is /v/site\n"
           "  opened by site-packages/torch/lib/libtorch_global_deps.so\n"
           "  library            version  rule      file\n"
           "  libcudnn.so.9      9.19.0   DT_RPATH  site-packages/cudnn/lib/libcudnn.so.9\n"
           "                                        tag of libtorch_cuda.so\n"
           "                                        shadows "
           "/usr/lib/x86_64-linux-gnu/libcudnn.so.9.14.0\n"
           "  libcusolver.so.12  -        -         missing: cannot open shared object file\n"
           "                                        not loaded: "
           "site-packages/cusolver/lib/libcusolver.so.12\n");
}

TEST(ReportText, AllListsEveryFactOfTheMachine) {
  const std::string text = text_of({}, {.all = true}, machine_with_libraries());
  place_of(text, "frameworks[0].version ");
  place_of(text, "2.11.0  (METADATA)");
  place_of(text, "unknown: not looked at");
}

TEST(Layout, WrapsAtBlanksAndIndentsWhatFollows) {
  Page page(false, 12);
  page.paragraph("- ", "aaa bbb ccc ddd");
  EXPECT_EQ(page.text(), "- aaa bbb\n  ccc ddd\n");
}

TEST(Layout, CountsCharactersAndNotBytes) {
  EXPECT_EQ(columns("grün"), 4u);
  EXPECT_EQ(pad("grün", 6), "grün  ");
}

}  // namespace
}  // namespace gpuwright
