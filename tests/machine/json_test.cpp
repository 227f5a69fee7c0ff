#include "machine/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace gpuwright {
namespace {

Machine sample() {
  Machine machine;
  machine.host.distribution = Fact<std::string>::known("debian", "/etc/os-release");
  machine.host.glibc = Fact<Version>::known(Version::of("2.36"), "libc.so.6");
  machine.host.wsl = Fact<std::uint64_t>::absent("/proc/version");
  machine.host.secure_boot = Fact<bool>::unknown("/sys/firmware/efi", "permission denied");
  PciGpu gpu;
  gpu.address = "0000:00:06.0";
  gpu.link_speed_gts = Fact<double>::known(32.0, "current_link_speed");
  machine.hardware.gpus = Fact<std::vector<PciGpu>>::known({gpu}, "/sys/bus/pci/devices");
  machine.cuda.variables["CUDA_VISIBLE_DEVICES"] = "0";
  machine.frameworks.emplace_back();
  machine.frameworks[0].libraries.emplace_back().name = "libcudnn.so.9";
  machine.notes.push_back({"driver", "deadline passed"});
  return machine;
}

TEST(SnapshotJson, ReadsBackWhatItWrote) {
  const auto back = snapshot_from_json(snapshot_to_json(sample()));
  ASSERT_TRUE(back.has_value()) << back.error().text();
  EXPECT_EQ(*back, sample());
}

TEST(SnapshotJson, KeepsAbsentUnknownAndTheirSourcesApart) {
  const auto back = snapshot_from_json(snapshot_to_json(sample()));
  ASSERT_TRUE(back.has_value());
  EXPECT_TRUE(back->host.wsl.is_absent());
  EXPECT_EQ(back->host.secure_boot.reason(), "permission denied");
  EXPECT_EQ(back->host.secure_boot.source(), "/sys/firmware/efi");
}

TEST(SnapshotJson, PassesOverKeysItDoesNotKnow) {
  auto document = snapshot_to_json(sample());
  document["machine"]["host"]["invented_later"] = 7;
  EXPECT_TRUE(snapshot_from_json(document).has_value());
}

TEST(SnapshotJson, NamesThePlaceOfAWrongType) {
  auto document = snapshot_to_json(sample());
  document["machine"]["hardware"]["gpus"]["value"][0]["address"] = 7;
  const auto back = snapshot_from_json(document);
  ASSERT_FALSE(back.has_value());
  EXPECT_EQ(back.error().message, "machine.hardware.gpus.value[0].address is not a string");
}

TEST(SnapshotText, RefusesWhatIsNoSnapshotInOneSentence) {
  const std::string deep = "{\"a\": " + std::string(100000, '[');
  for (const std::string text :
       {"", "{",
        "\x7f"
        "ELF\x02\x01",
        "[]", "null", "{\"kind\": 3}", "1e999", "{\"kind\": 1e999}",
        "{\"kind\": \"gpuwright-snapshot\"}", deep.c_str(), "{\"\xff\": 1}"}) {
    const auto machine = snapshot_from_text(text, "bad.json");
    ASSERT_FALSE(machine.has_value()) << text.substr(0, 40);
    EXPECT_EQ(machine.error().subject, "bad.json");
    EXPECT_EQ(machine.error().text().find('\n'), std::string::npos);
  }
}

TEST(SnapshotText, RefusesEveryTruncationOfAGoodOne) {
  const std::string text = snapshot_to_json(sample()).dump();
  for (std::size_t length = 0; length < text.size(); length += 37)
    EXPECT_FALSE(snapshot_from_text(text.substr(0, length), "cut.json").has_value()) << length;
}

TEST(FactLines, SayPlaceValueAndSource) {
  bool seen = false;
  for (const auto& line : fact_lines(sample()))
    if (line.place == "host.secure_boot") {
      seen = true;
      EXPECT_EQ(line.value, "unknown: permission denied");
      EXPECT_EQ(line.source, "/sys/firmware/efi");
    }
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace gpuwright
