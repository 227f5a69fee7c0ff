#include <gtest/gtest.h>

#include "reading/line.h"
#include "reading/reading.h"
#include "reading/scanner.h"

namespace gpuwright {
namespace {

constexpr const char* kXid =
    "NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.";

TEST(Reader, NumbersLinesAcrossPieces) {
  const std::string text = std::string("one\ntwo\n") + kXid + "\nfour\n" + kXid + " again\n";
  for (const std::size_t piece : {1U, 7U, 64U, 1000U}) {
    Reader reader;
    reader.begin("k.log");
    for (std::size_t at = 0; at < text.size(); at += piece) reader.feed(text.substr(at, piece));
    reader.end();
    const auto reading = reader.take();
    ASSERT_EQ(reading.machine.events.size(), 2U) << piece;
    EXPECT_EQ(reading.machine.events[0].source, "k.log:3");
    EXPECT_EQ(reading.machine.events[1].source, "k.log:5");
    EXPECT_EQ(reading.lines, 5U);
  }
}

TEST(Reader, CountsARepeatedLineOnce) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += std::string(kXid) + "\n";
  const auto reading = read_text(text, "k.log");
  ASSERT_EQ(reading.machine.events.size(), 1U);
  EXPECT_EQ(reading.machine.events[0].count, 1000U);
}

TEST(Reader, FindsTheLineBehindAProgressBar) {
  const auto reading = read_text(std::string("  1%\r  2%\r") + kXid + "\n", "t");
  ASSERT_EQ(reading.machine.events.size(), 1U);
  EXPECT_EQ(reading.machine.events[0].values.at("code"), "79");
}

TEST(Reader, SurvivesBinaryAndEndlessLines) {
  EXPECT_TRUE(read_text(std::string(1000, '\0') + kXid, "b").binary);
  const auto reading = read_text(std::string(20U << 20, 'x') + kXid, "b");
  EXPECT_EQ(reading.machine.events.size(), 1U);
}

TEST(Reader, KeepsItsMemoryFlat) {
  std::string text;
  for (int i = 0; i < 100000; ++i)
    text += "error number " + std::string(static_cast<std::size_t>(i % 97), 'e') + "\n" +
            "NVRM: Xid (PCI:0000:01:00): " + std::to_string(i) + ", x\n";
  const auto reading = read_text(text, "b");
  EXPECT_LE(reading.machine.events.size(), 2000U);
  EXPECT_LE(reading.unplaced.size(), 100U);
}

TEST(Scanner, HyperscanFindsWhatThePlainSearchFinds) {
  const std::vector<std::string> texts = {"abcde", "cde", "CUDA error", "error"};
  const std::string block = "xxabcdecde\ncuda ERROR abcd abcde";
  std::vector<std::pair<std::uint32_t, std::size_t>> plain, fast;
  make_plain_scanner(texts)->scan(
      block, [&](std::uint32_t id, std::size_t at) { plain.emplace_back(id, at); });
  make_scanner(texts)->scan(block,
                            [&](std::uint32_t id, std::size_t at) { fast.emplace_back(id, at); });
  const auto by_place = [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second < b.second : a.first < b.first;
  };
  std::sort(plain.begin(), plain.end(), by_place);
  std::sort(fast.begin(), fast.end(), by_place);
  EXPECT_EQ(plain, fast);
  EXPECT_FALSE(plain.empty());
}

TEST(Lines, LoseColoursAndControlCharacters) {
  EXPECT_EQ(clean_line("\x1b[1;31mError\x1b[0m: x\x07 \r"), "Error: x");
  EXPECT_EQ(clean_line("10%\r20%\rdone"), "done");
  EXPECT_EQ(clean_line("\x1b]0;title\x07text"), "text");
}

TEST(Lines, AreJoinedWhereATerminalBrokeThem) {
  const std::string full(80, 'a');
  EXPECT_EQ(unwrap(full + "\n" + full + "\nrest\nnext\n"), full + full + "rest\n\n\nnext\n");
  EXPECT_EQ(unwrap("short\nlines\n"), "short\nlines\n");
}

TEST(SmiTable, TellsEachGpuWithItsSecondLine) {
  const auto reading = read_text(
      "| NVIDIA-SMI 550.90.07    Driver Version: 550.90.07    CUDA Version: 12.4     |\n"
      "|-------------------------------+----------------------+----------------------+\n"
      "| GPU  Name      Persistence-M  | Bus-Id        Disp.A | Volatile Uncorr. ECC |\n"
      "|===============================+======================+======================|\n"
      "|   0  NVIDIA GeForce RTX 3090        Off |   00000000:01:00.0 Off |          N/A |\n"
      "| 30%   38C    P8      22W /  350W |   21850MiB /  24576MiB |      0%      Default |\n"
      "|                               |                      |                  N/A |\n"
      "+-------------------------------+----------------------+----------------------+\n",
      "s");
  const Event* gpu = nullptr;
  for (const auto& event : reading.machine.events)
    if (event.id == "smi.gpu") gpu = &event;
  ASSERT_NE(gpu, nullptr);
  EXPECT_EQ(gpu->values.at("name"), "NVIDIA GeForce RTX 3090");
  EXPECT_EQ(gpu->values.at("address"), "0000:01:00.0");
  EXPECT_EQ(gpu->values.at("used_mib"), "21850");
  EXPECT_EQ(gpu->values.at("utilisation"), "0");
}

}  // namespace
}  // namespace gpuwright
