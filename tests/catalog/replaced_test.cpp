#include <gtest/gtest.h>

#include <cerrno>

#include "base/text.h"
#include "catalog/catalog.h"
#include "support/memory_system.h"

// A catalogue whose files the user replaced.

namespace gpuwright {
namespace {

constexpr const char* kDrivers = R"(schema = 1
as_of = "2027-01-15"

[[branch]]
branch = 625
cuda_shown = "14.0"
architectures = ["Rubin"]
kernel_module = "open"

[[architecture]]
architecture = "Rubin"
cc = ["10.7"]
first_branch = 625
module = "open"
)";

/// kDrivers with one line replaced, as the only file of the directory.
MemorySystem drivers_with(std::string_view line, std::string_view by) {
  std::string text = kDrivers;
  text.replace(text.find(line), line.size(), by);
  MemorySystem system;
  system.add_file("/facts/drivers.toml", text);
  return system;
}

std::string error_of(const MemorySystem& system) {
  const auto catalog = Catalog::from_directory(system, "/facts");
  return catalog ? "no error" : catalog.error().text();
}

TEST(ReplacedCatalog, AnswersFromTheFileThatIsThere) {
  MemorySystem system;
  system.add_file("/facts/drivers.toml", kDrivers);
  const auto catalog = Catalog::from_directory(system, "/facts");
  ASSERT_TRUE(catalog) << catalog.error().text();
  EXPECT_EQ(catalog->cuda_of_driver(Version::of("625.10"))->text(), "14.0");
  EXPECT_FALSE(catalog->driver_branch(Version::of("580.65.06")));
  EXPECT_EQ(catalog->architecture("Rubin")->first_branch, 625u);
  EXPECT_EQ(catalog->text("drivers"), kDrivers);
}

TEST(ReplacedCatalog, TakesTheOtherTablesFromTheBinary) {
  MemorySystem system;
  system.add_file("/facts/drivers.toml", kDrivers);
  const auto catalog = Catalog::from_directory(system, "/facts");
  ASSERT_TRUE(catalog) << catalog.error().text();
  EXPECT_EQ(catalog->gpu("2335")->name, "H200 SXM 141GB");
  EXPECT_EQ(catalog->text("xid"), Catalog::built_in().text("xid"));
}

TEST(ReplacedCatalog, KeepsItsRowsWhenItIsMoved) {
  MemorySystem system;
  system.add_file("/facts/drivers.toml", kDrivers);
  auto catalog = Catalog::from_directory(system, "/facts");
  ASSERT_TRUE(catalog) << catalog.error().text();
  const Catalog moved = std::move(*catalog);
  EXPECT_EQ(moved.architecture("Rubin")->architecture, "Rubin");
}

TEST(ReplacedCatalog, AcceptsAllBuiltInFilesAndAnswersAlike) {
  MemorySystem system;
  for (const auto* name : {"gpus", "drivers", "cuda", "cudnn", "tensorflow", "pytorch", "jax",
                           "xid", "platforms", "companions", "metrics", "numpy_protobuf"})
    system.add_file(path_join("/facts", std::string(name) + ".toml"),
                    std::string(Catalog::built_in().text(name)));
  const auto catalog = Catalog::from_directory(system, "/facts");
  ASSERT_TRUE(catalog) << catalog.error().text();
  EXPECT_EQ(catalog->tensorflow(Version::of("2.21.0"))->sonames,
            Catalog::built_in().tensorflow(Version::of("2.21.0"))->sonames);
}

TEST(ReplacedCatalog, IgnoresFilesThatAreNoTables) {
  MemorySystem system;
  system.add_file("/facts/README.md", "notes");
  EXPECT_EQ(error_of(system), "no error");
}

TEST(ReplacedCatalog, RefusesANameThatIsNoTable) {
  MemorySystem system;
  system.add_file("/facts/gpu.toml", "schema = 1\n");
  EXPECT_EQ(error_of(system), "/facts/gpu.toml: is no table of the catalogue");
}

TEST(ReplacedCatalog, NamesFileAndLineOfASyntaxFault) {
  const auto error = error_of(drivers_with("branch = 625\n", "branch = = 625\n"));
  EXPECT_TRUE(error.starts_with("/facts/drivers.toml:5: ")) << error;
}

TEST(ReplacedCatalog, NamesFileAndLineOfAFaultInARow) {
  EXPECT_EQ(error_of(drivers_with("branch = 625\n", "")),
            "/facts/drivers.toml:4: 'branch' is missing");
  EXPECT_EQ(error_of(drivers_with("branch = 625\n", "branch = \"625\"\n")),
            "/facts/drivers.toml:5: 'branch' is not a number from 0 on");
  EXPECT_EQ(error_of(drivers_with("branch = 625\n", "branch = -1\n")),
            "/facts/drivers.toml:5: 'branch' is not a number from 0 on");
  EXPECT_EQ(
      error_of(drivers_with("\"14.0\"", "14.0")),
      "/facts/drivers.toml:6: 'cuda_shown' holds something that is not a text, or an empty one");
  EXPECT_EQ(error_of(drivers_with("\"14.0\"", "\"soon\"")),
            "/facts/drivers.toml:6: 'cuda_shown' has \"soon\", which is no version");
  EXPECT_EQ(error_of(drivers_with("[\"Rubin\"]", "\"Rubin\"")),
            "/facts/drivers.toml:7: 'architectures' is not a list");
  EXPECT_EQ(
      error_of(drivers_with("kernel_module = \"open\"", "kernel_module = \"free\"")),
      "/facts/drivers.toml:8: 'kernel_module' is \"free\"; it may be proprietary, open, either");
}

TEST(ReplacedCatalog, RefusesAFileOfAnotherSchema) {
  EXPECT_EQ(error_of(drivers_with("schema = 1", "schema = 2")),
            "/facts/drivers.toml:1: has schema 2; this program reads 1");
  EXPECT_EQ(error_of(drivers_with("schema = 1\n", "")),
            "/facts/drivers.toml: has no 'schema' number");
}

TEST(ReplacedCatalog, RefusesAFileWithoutItsTables) {
  MemorySystem system;
  system.add_file("/facts/drivers.toml", "schema = 1\n");
  EXPECT_EQ(error_of(system), "/facts/drivers.toml: has no [[branch]]");
}

TEST(ReplacedCatalog, RefusesRowsThatAreNoTables) {
  MemorySystem system;
  system.add_file("/facts/drivers.toml", "schema = 1\nbranch = [625]\narchitecture = []\n");
  EXPECT_EQ(error_of(system), "/facts/drivers.toml:2: [[branch]] holds something that is no table");
}

TEST(ReplacedCatalog, SaysWhyTheDirectoryOrAFileCannotBeRead) {
  MemorySystem system;
  EXPECT_FALSE(Catalog::from_directory(system, "/facts"));
  system.add_file("/facts/drivers.toml", kDrivers);
  system.set_error("/facts/drivers.toml", EACCES);
  const auto catalog = Catalog::from_directory(system, "/facts");
  ASSERT_FALSE(catalog);
  EXPECT_EQ(catalog.error().code, EACCES);
}

}  // namespace
}  // namespace gpuwright
