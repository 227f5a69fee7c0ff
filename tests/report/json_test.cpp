#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/report.h"
#include "report/sample.h"
#include "support/schema.h"

namespace gpuwright {
namespace {

nlohmann::json report() {
  return report_json(machine_with_libraries(), Catalog::built_in(), broken_driver());
}

TEST(ReportJson, KeepsToItsSchema) {
  EXPECT_EQ(schema_error(report(), load_schema("check.schema.json")), "");
}

TEST(ReportJson, CarriesTheFindingsWithEvidenceAndFix) {
  const auto finding = report()["findings"][1];
  EXPECT_EQ(finding["id"], "driver.version-mismatch");
  EXPECT_EQ(finding["severity"], "error");
  EXPECT_EQ(finding["certainty"], "likely");
  EXPECT_EQ(finding["evidence"][0]["source"], "/proc/driver/nvidia/version");
  EXPECT_EQ(finding["fix"][0]["command"], "sudo reboot");
  EXPECT_TRUE(finding["fix"][1]["command"].is_null());
  EXPECT_TRUE(finding["subject"].is_null());
}

TEST(ReportJson, AConsequenceNamesItsCause) {
  EXPECT_EQ(report()["rungs"][3]["state"], "follows");
  EXPECT_EQ(report()["rungs"][3]["because"], "driver");
  EXPECT_TRUE(report()["rungs"][2]["because"].is_null());
}

TEST(ReportJson, AFrameworkCarriesItsLibraries) {
  const auto torch = report()["frameworks"][1];
  EXPECT_EQ(torch["answer"], "uses");
  EXPECT_EQ(torch["libraries"][0]["version"], "9.19.0");
  EXPECT_TRUE(torch["libraries"][1]["path"].is_null());
  EXPECT_TRUE(report()["frameworks"][0]["libraries"].empty());
}

TEST(SchemaChecker, SeesWhatIsWrong) {
  const auto schema = load_schema("check.schema.json");
  auto extra = report();
  extra["surprise"] = 1;
  EXPECT_EQ(schema_error(extra, schema), "$.surprise is not allowed");
  auto without = report();
  without["findings"][0].erase("cause");
  EXPECT_EQ(schema_error(without, schema), "$.findings[0] has no \"cause\"");
  auto other = report();
  other["rungs"][0]["state"] = "fine";
  EXPECT_NE(schema_error(other, schema), "");
}

}  // namespace
}  // namespace gpuwright
