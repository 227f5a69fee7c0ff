#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/program.h"
#include "support/schema.h"

namespace gpuwright {
namespace {

using Json = nlohmann::json;

std::string healthy(const std::string& name) {
  return read_whole(std::filesystem::path(GPUWRIGHT_SOURCE_DIR) / "tests/cases/healthy" /
                    (name + ".json"));
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A directory of snapshots.
class FleetCommand : public testing::Test {
 protected:
  void add_sound(int count) {
    const std::string text = healthy("ubuntu-24.04-h200");
    for (int i = 0; i < count; ++i) place_.write("node" + std::to_string(i) + ".json", text);
  }
  // The library of an upgrade whose module is still the old one.
  void add_broken(const std::string& name) {
    Json snapshot = Json::parse(healthy("ubuntu-24.04-h200"));
    snapshot["machine"]["driver"]["module_version"]["value"] = "570.86.10";
    place_.write(name + ".json", snapshot.dump());
  }
  ProgramRun fleet(std::vector<std::string> options = {}) {
    options.insert(options.begin(), {"fleet", place_.path().string()});
    return run_program(options);
  }
  Json fleet_json(std::vector<std::string> options = {}) {
    options.insert(options.end(), {"--format", "json"});
    const Json json = Json::parse(fleet(options).out, nullptr, false);
    EXPECT_EQ(schema_error(json, load_schema("fleet.schema.json")), "");
    return json;
  }

  TempDirectory place_;
};

TEST_F(FleetCommand, OfSoundMachinesIsRight) {
  add_sound(3);
  const ProgramRun run = fleet();
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  EXPECT_TRUE(run.out.starts_with("3 machines: 3 right.\n")) << run.out;
  EXPECT_EQ(run.err, "");
}

TEST_F(FleetCommand, NamesABrokenMachineAndWhatSetsItApart) {
  add_sound(9);
  add_broken("odd");
  const ProgramRun run = fleet();
  EXPECT_EQ(run.status, 1) << run.err;
  EXPECT_TRUE(run.out.starts_with("10 machines: 9 right, 1 with problems.\n")) << run.out;
  EXPECT_TRUE(holds(run.out, "error [driver.version-mismatch] on 1 machine\n")) << run.out;
  EXPECT_TRUE(holds(run.out, "    570.86.10: odd\n")) << run.out;
  const Json json = fleet_json();
  EXPECT_EQ(json["findings"][0]["machines"], Json::array({"odd"}));
  EXPECT_EQ(json["outliers"][0]["field"], "driver");
}

TEST_F(FleetCommand, JudgesEachMachineAsCheckDoes) {
  const auto cases = std::filesystem::path(GPUWRIGHT_SOURCE_DIR) / "tests/cases/healthy";
  std::size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator(cases)) {
    place_.write(file.path().filename().string(), read_whole(file.path()));
    ++count;
  }
  add_broken("odd");
  std::map<std::string, int> outcomes, findings;
  for (const auto& file : std::filesystem::directory_iterator(place_.path())) {
    const Json one =
        Json::parse(run_program({"check", "--from", file.path().string(), "--format", "json"}).out);
    ++outcomes[one["outcome"]];
    std::set<std::string> ids;
    for (const auto& finding : one["findings"]) ids.insert(finding["id"]);
    for (const auto& id : ids) ++findings[id];
  }
  const Json json = fleet_json();
  EXPECT_EQ(json["machines"], count + 1);
  for (const auto* outcome : {"right", "problems", "undecided"})
    EXPECT_EQ(json[outcome], outcomes[outcome]) << outcome;
  ASSERT_EQ(json["findings"].size(), findings.size());
  for (const auto& group : json["findings"])
    EXPECT_EQ(group["count"], findings[group["id"]]) << group["id"];
}

TEST_F(FleetCommand, SaysTheSameEveryTime) {
  add_sound(30);
  for (int i = 0; i < 10; ++i) add_broken("odd" + std::to_string(i));
  const std::string first = fleet({"--all"}).out;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(fleet({"--all"}).out, first);
}

TEST_F(FleetCommand, ListsWhatItCannotReadWithTheReasonAndGoesOn) {
  add_sound(2);
  place_.write("zero.json", "");
  place_.write("cut.json", healthy("ubuntu-24.04-h200").substr(0, 2000));
  place_.write("other.json", "{\"name\": \"package\"}");
  place_.write("text.json", "hello");
  place_.write("README.md", "not a snapshot, and nobody's mistake");
  std::filesystem::create_directory(place_.path() / "folder.json");
  std::filesystem::create_symlink("/no/such/file", place_.path() / "gone.json");
  std::filesystem::create_symlink("loop.json", place_.path() / "loop.json");
  ASSERT_EQ(::mkfifo((place_ / "pipe.json").c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/zero", place_.path() / "device.json");
  place_.write("huge.json", "{");
  std::filesystem::resize_file(place_.path() / "huge.json", std::uintmax_t{1} << 40);  // a hole
  const Json json = fleet_json();
  std::map<std::string, std::string> reasons;
  for (const auto& file : json["unreadable"])
    reasons[std::filesystem::path(file["file"].get<std::string>()).filename()] = file["reason"];
  EXPECT_EQ(json["machines"], 2);
  EXPECT_EQ(reasons["zero.json"], "is empty");
  EXPECT_TRUE(reasons["cut.json"].starts_with("is not JSON, at byte")) << reasons["cut.json"];
  EXPECT_TRUE(reasons["other.json"].starts_with("is not a gpuwright snapshot"));
  EXPECT_TRUE(reasons["text.json"].starts_with("is not a gpuwright snapshot"));
  EXPECT_EQ(reasons["folder.json"], "Is a directory");
  EXPECT_EQ(reasons["gone.json"], "No such file or directory");
  EXPECT_TRUE(holds(reasons["loop.json"], "symbolic links")) << reasons["loop.json"];
  EXPECT_EQ(reasons["pipe.json"], "is not a regular file");
  EXPECT_EQ(reasons["device.json"], "is not a regular file");
  EXPECT_TRUE(reasons["huge.json"].starts_with("is larger than")) << reasons["huge.json"];
  EXPECT_EQ(reasons.size(), 10u);
  const ProgramRun run = fleet();
  EXPECT_EQ(run.status, 3) << run.out;
  EXPECT_TRUE(run.out.starts_with("2 machines: 2 right; 10 files could not be read.\n")) << run.out;
}

TEST_F(FleetCommand, AFileWithoutPermissionIsListed) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  add_sound(1);
  place_.write("secret.json", healthy("ubuntu-24.04-h200"));
  ::chmod((place_ / "secret.json").c_str(), 0);
  EXPECT_EQ(fleet_json()["unreadable"][0]["reason"], "Permission denied");
}

TEST_F(FleetCommand, AProblemWeighsMoreThanAFileThatCannotBeRead) {
  add_broken("odd");
  place_.write("zero.json", "");
  EXPECT_EQ(fleet().status, 1);
}

TEST_F(FleetCommand, WithoutOneSnapshotIsOneLineAndStatusTwo) {
  const auto refused = [](const ProgramRun& run, const std::string& says) {
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_TRUE(holds(run.err, says)) << run.err;
  };
  refused(fleet(), place_.path().string() + ": holds no *.json\n");
  place_.write("zero.json", "");
  refused(fleet(), "zero.json: is empty\n");
  place_.write("text.json", "hello");
  refused(fleet(), "; another 1 of 2 could not be read either");
  refused(run_program({"fleet"}), "give a directory of snapshots, or their files");
  refused(run_program({"fleet", "/no/such"}), "/no/such: No such file or directory\n");
  refused(run_program({"fleet", ""}), "a name is empty");
}

TEST_F(FleetCommand, DirectoriesAndFilesMixAndNoFileCountsTwice) {
  add_sound(2);
  const ProgramRun run = fleet({place_ / "node0.json", place_.path().string() + "/"});
  EXPECT_TRUE(run.out.starts_with("2 machines: 2 right.\n")) << run.out;
}

TEST_F(FleetCommand, MachinesOfOneNameAreToldApartByTheirPath) {
  add_broken("a/node");
  add_broken("b/node");
  const ProgramRun run = run_program({"fleet", place_ / "a", place_ / "b"});
  EXPECT_TRUE(holds(run.out, "  " + (place_ / "a/node") + ", " + (place_ / "b/node") + "\n"))
      << run.out;
}

TEST_F(FleetCommand, RelativeNamesAreOfTheWorkingDirectory) {
  add_sound(1);
  for (const auto* operand : {".", "node0.json", "./node0.json"}) {
    const ProgramRun run =
        run_words({GPUWRIGHT_PROGRAM, "fleet", operand}, "", {}, place_.path().string());
    EXPECT_TRUE(run.out.starts_with("1 machine: 1 right.\n")) << operand << run.err;
  }
}

TEST_F(FleetCommand, StrictCountsWarnings) {
  Json snapshot = Json::parse(healthy("ubuntu-24.04-h200"));
  snapshot["machine"]["host"]["spaces"] = {{"value",
                                            {{{"path", "/tmp"},
                                              {"purpose", "temporary files"},
                                              {"total_bytes", 1000000000000},
                                              {"free_bytes", 0},
                                              {"total_inodes", 1000000},
                                              {"free_inodes", 900000},
                                              {"read_only", false}}}},
                                           {"source", "statvfs"}};
  place_.write("full.json", snapshot.dump());
  const Json json = fleet_json();
  ASSERT_EQ(json["findings"].size(), 1u) << json.dump(2);
  ASSERT_EQ(json["findings"][0]["severity"], "warning");
  EXPECT_EQ(fleet().status, 0);
  EXPECT_EQ(fleet({"--strict"}).status, 1);
}

TEST_F(FleetCommand, MarkdownAndQuietAreForms) {
  add_sound(1);
  EXPECT_TRUE(fleet({"--format", "markdown"})
                  .out.starts_with("## gpuwright fleet\n\n**1 machine: 1 right.**\n"));
  EXPECT_EQ(fleet({"--quiet"}).out, "1 machine: 1 right.\n");
}

}  // namespace
}  // namespace gpuwright
