#include "machine/redact.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "machine/json.h"

namespace gpuwright {
namespace {

using Json = nlohmann::ordered_json;

const PrivateNames kNames{{"/data/people/alice"}, {"alice"}, {"node7.example.org", "node7"}};

std::string redacted(const std::string& text) {
  return redact(Json{{"text", text}}, kNames)["text"].get<std::string>();
}

std::string redacted_log(const std::string& line) {
  return redact(Json{{"kernel_log", {line}}}, kNames)["kernel_log"][0].get<std::string>();
}

std::string redacted_variable(const std::string& name, const std::string& value) {
  return redact(Json{{"variables", {{name, value}}}}, kNames)["variables"][name].get<std::string>();
}

TEST(Redact, HomeDirectoriesLoseTheirOwner) {
  EXPECT_EQ(redacted("/home/alice/venv/bin/python"), "/home/user1/venv/bin/python");
  EXPECT_EQ(redacted("/mnt/c/Users/Bob/x"), "/mnt/c/Users/user2/x");
  EXPECT_EQ(redacted("/data/people/alice/venv"), "/home/user1/venv");
  EXPECT_EQ(redacted("/opt/a:/home/alice/lib"), "/opt/a:/home/user1/lib");
}

TEST(Redact, DirectoriesOfNobodyStay) {
  for (const auto* path : {"/root/venv", "/home/ubuntu/venv", "/usr/lib/python3/dist-packages",
                           "/opt/conda/lib", "/data/people/alicette", "/homework/x"})
    EXPECT_EQ(redacted(path), path);
}

TEST(Redact, SamePersonSameName) {
  const auto out = redact(Json{{"a", "/home/carol/x"}, {"b", "carol"}, {"c", "/home/dave"}}, {});
  EXPECT_EQ(out["a"], "/home/user1/x");
  EXPECT_EQ(out["b"], "user1");
  EXPECT_EQ(out["c"], "/home/user2");
}

TEST(Redact, NamesOfUsersAndHostsGoWhereverTheyAreWords) {
  EXPECT_EQ(redacted("/scratch/alice/run"), "/scratch/user1/run");
  EXPECT_EQ(redacted("ran on node7.example.org by alice"), "ran on host by user1");
  EXPECT_EQ(redacted("node7: NVRM"), "host: NVRM");
  EXPECT_EQ(redacted("malice node70"), "malice node70");
}

TEST(Redact, AnAccountCalledLikeAWordOfTheRulesChangesNothing) {
  const auto out = redact(Json{{"flavour", "open"}, {"path", "/usr/bin/python"}},
                          {{"/home/open"}, {"open", "python"}, {"localhost"}});
  EXPECT_EQ(out["flavour"], "open");
  EXPECT_EQ(out["path"], "/usr/bin/python");
}

TEST(Redact, UuidsAreNumberedAndEqualOnesStayEqual) {
  const std::string first = "GPU-6f9a2c41-0f2e-11ee-be56-0242ac120002";
  const std::string second = "GPU-77777777-0f2e-11ee-be56-0242ac120002";
  EXPECT_EQ(redacted(first + "," + second + "," + first),
            "GPU-00000001-0000-0000-0000-000000000000,GPU-00000002-0000-0000-0000-000000000000,"
            "GPU-00000001-0000-0000-0000-000000000000");
  EXPECT_EQ(redacted("MIG-6f9a2c41-0f2e-11ee-be56-0242ac120002"),
            "MIG-00000001-0000-0000-0000-000000000000");
  EXPECT_EQ(redacted("root=UUID=6f9a2c41-0f2e-11ee-be56-0242ac120002"),
            "root=UUID=00000001-0000-0000-0000-000000000000");
}

TEST(Redact, AShortUuidStaysTheBeginningOfItsLongForm) {
  const auto out = redact(Json{{"visible", "GPU-777"},
                               {"gpus",
                                {"GPU-6f9a2c41-0f2e-11ee-be56-0242ac120002",
                                 "GPU-77777777-0f2e-11ee-be56-0242ac120002"}}},
                          {});
  const auto visible = out["visible"].get<std::string>();
  EXPECT_TRUE(out["gpus"][1].get<std::string>().starts_with(visible)) << visible;
  EXPECT_FALSE(out["gpus"][0].get<std::string>().starts_with(visible)) << visible;
}

TEST(Redact, AnAmbiguousShortUuidStaysAmbiguous) {
  const auto out = redact(Json{{"visible", "GPU-7777"},
                               {"gpus",
                                {"GPU-77770000-0f2e-11ee-be56-0242ac120002",
                                 "GPU-77771111-0f2e-11ee-be56-0242ac120002"}}},
                          {});
  for (const auto& gpu : out["gpus"])
    EXPECT_TRUE(gpu.get<std::string>().starts_with(out["visible"].get<std::string>()));
}

TEST(Redact, SecretsGo) {
  EXPECT_EQ(redacted_variable("WANDB_API_KEY", "abc"), "<redacted>");
  EXPECT_EQ(redacted_variable("AWS_SECRET_ACCESS_KEY", "x"), "<redacted>");
  EXPECT_EQ(redacted_variable("DB_PASSWORD", "x"), "<redacted>");
  EXPECT_EQ(redacted("HF_TOKEN=abc python train.py"), "HF_TOKEN=<redacted> python train.py");
  EXPECT_EQ(redacted("https://u:p@pypi.example/simple"), "https://<redacted>@pypi.example/simple");
  EXPECT_EQ(redacted("https://h/x?access_token=abc&y=1"),
            "https://h/x?access_token=<redacted>&y=1");
  EXPECT_EQ(redacted("Authorization: Bearer abcdefghijklmnop.qrst"),
            "Authorization: Bearer <redacted>");
  EXPECT_EQ(redacted("hf_abcdefghijklmnopqrstuvwxyzABCDEFGH"), "<redacted>");
  EXPECT_EQ(redacted("ghp_abcdefghijklmnopqrstuvwxyzABCDEFGH12"), "<redacted>");
  EXPECT_EQ(redacted("AKIAIOSFODNN7EXAMPLE"), "<redacted>");
  EXPECT_EQ(redacted("sk-proj-abcdefghijklmnopqrstuv"), "<redacted>");
  EXPECT_EQ(redacted("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"), "<redacted>");
}

TEST(Redact, HardwareAndNetworkAddressesGo) {
  EXPECT_EQ(redacted("link 52:54:00:ab:cd:ef up"), "link <mac-1> up");
  EXPECT_EQ(redacted("Serial Number: 1653122005876"), "Serial Number: <redacted>");
  EXPECT_EQ(redacted("fe80::5054:ff:feab:cdef"), "<ip-1>");
  EXPECT_EQ(redacted("2001:db8:0:1:2:3:4:5"), "<ip-1>");
  EXPECT_EQ(redacted("mail alice.b@example.org now"), "mail <email> now");
  EXPECT_EQ(redacted_log("nfs: server 10.1.2.3 not responding"),
            "nfs: server <ip-1> not responding");
  EXPECT_EQ(redacted_variable("MASTER_ADDR", "10.1.2.3"), "<ip-1>");
  EXPECT_EQ(redacted("{\"worker\": [\"10.1.2.3:2222\"]}"), "{\"worker\": [\"<ip-1>:2222\"]}");
  EXPECT_EQ(redacted("http://192.168.7.9/simple"), "http://<ip-1>/simple");
}

TEST(Redact, FourNumbersThatAreAVersionStay) {
  for (const auto* text :
       {"9.19.0.56", "10.3.10.19", "libcurand.so.10.3.10.19", "nvidia-cudnn-cu13 9.19.0.56",
        "/opt/cudnn/9.19.0.56/lib", "nvidia_curand-10.3.10.19.dist-info", "cudnn 9.14.0.64-1"})
    EXPECT_EQ(redacted(text), text);
  EXPECT_EQ(redacted_log("Video BIOS version: 96.0.5.1"), "Video BIOS version: 96.0.5.1");
  EXPECT_EQ(redacted_variable("NV_CUBLAS_VERSION", "13.1.0.3"), "13.1.0.3");
  EXPECT_EQ(redacted_variable("NV_LIBCUBLAS_PACKAGE", "libcublas=13.1.0.3"), "libcublas=13.1.0.3");
}

TEST(Redact, WhatRulesReadStays) {
  for (const auto* text :
       {"0000:3b:00.0", "580.159.04", "2.11.0+cu130", "GPU-????", "libcudart.faf08d9a.so.13",
        "DT_RUNPATH of /x/libtorch_cuda.so", "std::string", "12:30:45",
        "nvidia-persistenced@.service", "GLIBCXX_3.4.30", "GPU-accelerated", "::1", "127.0.0.1",
        "$ORIGIN/../../nvidia/cublas/lib", "basic authentication"})
    EXPECT_EQ(redacted(text), text);
}

TEST(Redact, TwiceIsOnce) {
  const Json document = {
      {"kernel_log",
       {"alice@example.org at 10.1.2.3 on node7", "GPU-6f9a2c41-0f2e-11ee-be56-0242ac120002"}},
      {"variables",
       {{"CUDA_VISIBLE_DEVICES", "GPU-6f9a,GPU-1234"},
        {"API_KEY", "x"},
        {"https_proxy", "http://bob:pw@10.0.0.1:3128"}}},
      {"path", "/home/carol/52:54:00:ab:cd:ef/HF_TOKEN=abc/2001:db8::1:2"}};
  const Json once = redact(document, kNames);
  EXPECT_EQ(redact(once, kNames).dump(2), once.dump(2));
}

TEST(Redact, KeepsTheShapeOfASnapshot) {
  Machine machine;
  machine.driver.module_version = Fact<Version>::known(Version::of("580.159.04"), "/sys/x");
  machine.host.sudo_user = Fact<std::string>::known("alice", "SUDO_USER");
  machine.cuda.variables["WANDB_API_KEY"] = "abc";
  const auto back = snapshot_from_json(redact(snapshot_to_json(machine), kNames));
  ASSERT_TRUE(back.has_value()) << back.error().text();
  EXPECT_EQ(back->driver.module_version, machine.driver.module_version);
  EXPECT_EQ(*back->host.sudo_user, "user1");
  EXPECT_EQ(back->cuda.variables.at("WANDB_API_KEY"), "<redacted>");
}

// Every secret put into every kind of surrounding is gone afterwards.
TEST(Redact, NoSecretSurvivesItsSurroundings) {
  const std::string secrets[] = {"hf_abcdefghijklmnopqrstuvwxyzABCDEFGH",
                                 "6f9a2c41-0f2e-11ee-be56-0242ac120002", "52:54:00:ab:cd:ef",
                                 "alice@example.org", "/home/zoe"};
  const std::string before[] = {"", " ", "x=", "\"", "(", "see: ", "[", ","};
  const std::string after[] = {"", " ", "\"", ")", ", next", ";", "]"};
  for (const auto& secret : secrets)
    for (const auto& left : before)
      for (const auto& right : after) {
        const auto out = redacted(left + secret + right);
        EXPECT_EQ(out.find(secret), std::string::npos) << out;
        EXPECT_TRUE(out.starts_with(left) && out.ends_with(right)) << out;
      }
}

TEST(Redact, ALongHostileTextIsDoneInTime) {
  const std::string dots(200000, '.');
  const std::string ats(200000, '@');
  const std::string hex(200000, 'a');
  for (const auto& text : {dots, ats, hex}) EXPECT_EQ(redacted(text).size(), text.size());
}

}  // namespace
}  // namespace gpuwright
