#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "reading/pattern.h"
#include "reading/reading.h"

// Every row is tried on its own examples, through the whole reader: the literal is found, the
// expression matches, and no row of another kind takes the line as well.

namespace gpuwright {
namespace {

std::vector<std::span<const Pattern>> tables() {
  return {driver_patterns(), kernel_patterns(),     module_patterns(), scheduler_patterns(),
          cuda_patterns(),   tensorflow_patterns(), torch_patterns(),  jax_patterns(),
          python_patterns(), container_patterns(),  host_patterns()};
}

std::set<std::string> ids_of(const Reading& reading) {
  std::set<std::string> ids;
  for (const auto& event : reading.machine.events) ids.insert(event.id);
  return ids;
}

TEST(Patterns, ReadTheirExamples) {
  for (const auto table : tables())
    for (const auto& pattern : table) {
      ASSERT_NE(pattern.examples[0], nullptr) << pattern.id;
      for (const auto* example : pattern.examples) {
        if (example == nullptr) continue;
        const auto reading = read_text(example, "log");
        EXPECT_TRUE(ids_of(reading).contains(pattern.id)) << pattern.id << "\n" << example;
        EXPECT_TRUE(reading.unplaced.empty()) << example;
      }
    }
}

// A line with a prefix of a container's log, a time stamp, colours and a Windows line end is the
// same line.
TEST(Patterns, ReadTheirExamplesInDisguise) {
  for (const auto table : tables())
    for (const auto& pattern : table) {
      if (pattern.expression[0] == '^') continue;  // A line of a table, which stands alone.
      const auto text = std::string("\x1b[31mtrainer-1  | 2026-11-30T12:00:00Z ") +
                        pattern.examples[0] + "\x1b[0m\r\n";
      EXPECT_TRUE(ids_of(read_text(text, "log")).contains(pattern.id)) << text;
    }
}

TEST(Patterns, HaveSelectiveLiterals) {
  const auto check = [](const char* literals) {
    for (const auto literal : split(literals, '|')) EXPECT_GE(literal.size(), 4U) << literals;
  };
  for (const auto table : tables())
    for (const auto& pattern : table) check(pattern.literals);
  for (const auto& pattern : noise_patterns()) check(pattern.literals);
}

TEST(NoisePatterns, TakeTheirExamplesForHarmless) {
  for (const auto& pattern : noise_patterns()) {
    ASSERT_NE(pattern.examples[0], nullptr) << pattern.why;
    for (const auto* example : pattern.examples) {
      if (example == nullptr) continue;
      const auto reading = read_text(example, "log");
      ASSERT_EQ(reading.noise.size(), 1U) << example;
      EXPECT_EQ(reading.noise[0].why, pattern.why) << example;
      EXPECT_TRUE(reading.unplaced.empty()) << example;
    }
  }
}

}  // namespace
}  // namespace gpuwright
