#include "confirm/confirm.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <functional>

// The whole of `check --run` with a door that answers without children.

namespace gpuwright {
namespace {

using Kind = ChildEnd::Kind;

class DoorTwin : public ChildDoor {
 public:
  std::function<ChildEnd(const ChildCommand&)> answer = [](const ChildCommand&) {
    return ChildEnd{.kind = Kind::kExited};
  };
  std::vector<ChildCommand> commands;
  std::vector<std::string> told;

  ChildEnd run(const ChildCommand& command) override {
    commands.push_back(command);
    return answer(command);
  }
  void progress(const std::string& what) override { told.push_back(what); }
};

DriverLibrary library(const char* name, const char* path) {
  DriverLibrary out;
  out.name = name;
  out.path = path;
  out.chosen = true;
  return out;
}

Machine machine_with(const std::vector<std::string>& frameworks) {
  Machine machine;
  machine.driver.libraries = Fact<std::vector<DriverLibrary>>::known(
      {library("libcuda.so.1", "/d/libcuda.so.1"),
       library("libnvidia-ml.so.1", "/d/libnvidia-ml.so.1")},
      "test");
  machine.hardware.gpus = Fact<std::vector<PciGpu>>::known({PciGpu{}}, "test");
  Interpreter python;
  python.path = "/venv/bin/python";
  machine.python.interpreter = Fact<Interpreter>::known(python, "test");
  for (const auto& name : frameworks) {
    machine.frameworks.emplace_back();
    machine.frameworks.back().name = name;
  }
  return machine;
}

ConfirmOptions options() {
  ConfirmOptions out;
  out.marker = "M";
  out.environment = {{"LD_LIBRARY_PATH", "rel"}};
  out.directory = "/here";
  return out;
}

TEST(Confirm, AsksNvmlThenTheDriverThenEachFramework) {
  DoorTwin door;
  const auto run = confirm(machine_with({"tensorflow", "jax"}), options(), door);
  ASSERT_EQ(door.commands.size(), 4u);
  EXPECT_EQ(
      door.commands[0].arguments,
      (std::vector<std::string>{"/proc/self/exe", "--child", "nvml", "/d/libnvidia-ml.so.1", "M"}));
  EXPECT_EQ(door.commands[1].arguments[2], "driver");
  EXPECT_EQ(door.commands[1].arguments[3], "/d/libcuda.so.1");
  EXPECT_EQ(door.commands[2].arguments[0], "/venv/bin/python");
  EXPECT_EQ(door.commands[2].arguments[4], "tensorflow");
  EXPECT_EQ(door.commands[3].arguments[4], "jax");
  for (const auto& command : door.commands) EXPECT_EQ(command.directory, "/here");
  ASSERT_EQ(run.frameworks.size(), 2u);
  EXPECT_EQ(run.frameworks[1].framework, "jax");
}

TEST(Confirm, WaitsAsLongAsEachNeedsOrAsIsWished) {
  DoorTwin door;
  Machine machine = machine_with({"torch"});
  confirm(machine, options(), door);
  EXPECT_EQ(door.commands[0].limit, std::chrono::seconds(5));
  EXPECT_EQ(door.commands[1].limit, std::chrono::seconds(10));
  EXPECT_EQ(door.commands[2].limit, std::chrono::seconds(120));
  machine.hardware.gpus.edit().resize(8);
  door.commands.clear();
  confirm(machine, options(), door);
  EXPECT_EQ(door.commands[0].limit, std::chrono::seconds(5 + 7 * 3));
  ConfirmOptions longer = options();
  longer.limit = std::chrono::seconds(700);
  door.commands.clear();
  confirm(machine, longer, door);
  for (const auto& command : door.commands) EXPECT_EQ(command.limit, std::chrono::seconds(700));
}

TEST(Confirm, ChangesTheEnvironmentForFrameworksAlone) {
  DoorTwin door;
  confirm(machine_with({"jax"}), options(), door);
  EXPECT_EQ(door.commands[0].environment, options().environment);
  auto changed = options().environment;
  changed["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false";
  EXPECT_EQ(door.commands[2].environment, changed);
}

TEST(Confirm, WhereNoLibraryWouldBeLoadedNothingIsAsked) {
  DoorTwin door;
  Machine machine = machine_with({});
  machine.driver.libraries.edit()[0].chosen = false;
  const auto run = confirm(machine, options(), door);
  EXPECT_TRUE(run.driver.is_absent());
  ASSERT_EQ(door.commands.size(), 1u);
  machine.driver.libraries = {};
  EXPECT_TRUE(confirm(machine, options(), door).driver.is_unknown());
}

TEST(Confirm, WithoutAnInterpreterNoFrameworkIsRun) {
  DoorTwin door;
  Machine machine = machine_with({"torch"});
  machine.python.interpreter = Fact<Interpreter>::absent("test");
  EXPECT_TRUE(confirm(machine, options(), door).frameworks.empty());
}

TEST(Confirm, TakesTheAnswersOfTheChildren) {
  DoorTwin door;
  door.answer = [](const ChildCommand& command) {
    ChildEnd end{.kind = Kind::kExited};
    if (command.arguments[2] == "nvml")
      end.out =
          "M json {\"nvml\": {\"value\": {\"result\": \"NVML_SUCCESS\"}, \"source\": \"\"}}\n";
    else if (command.arguments[2] == "driver")
      end.out =
          "M json {\"driver\": {\"value\": {\"result\": \"CUDA_SUCCESS\", \"devices\": "
          "[\"A\"]}, \"source\": \"\"}}\n";
    else
      end.out =
          "M json {\"framework\": \"other\", \"result\": \"imported\", \"error\": "
          "\"\\u001b[31mred\"}\n";
    end.err = "hello\nE0000 cuda_driver.cc: failed call to cuInit\n" + std::string(100, 'x') + "\n";
    return end;
  };
  const auto run = confirm(machine_with({"torch"}), options(), door);
  EXPECT_EQ(run.nvml->result, "NVML_SUCCESS");
  EXPECT_EQ(run.nvml->path, "/d/libnvidia-ml.so.1");
  EXPECT_EQ(run.driver->devices, std::vector<std::string>{"A"});
  EXPECT_EQ(run.frameworks[0].framework, "torch") << "whatever the child says";
  EXPECT_EQ(run.frameworks[0].result, "imported");
  EXPECT_EQ(run.frameworks[0].error.find('\x1b'), std::string::npos);
  EXPECT_EQ(run.frameworks[0].messages,
            std::vector<std::string>{"E0000 cuda_driver.cc: failed call to cuInit"});
}

std::string driver_result(ChildEnd end) {
  DoorTwin door;
  door.answer = [&](const ChildCommand&) { return end; };
  return confirm(machine_with({}), options(), door).driver->result;
}

TEST(Confirm, EveryEndOfAChildHasItsSentence) {
  EXPECT_EQ(driver_result({.kind = Kind::kNotStarted, .code = ENOENT}),
            "cannot be started: No such file or directory");
  EXPECT_EQ(driver_result({.kind = Kind::kSignalled, .code = SIGSEGV, .out = "M call cuInit\n"}),
            "died of SIGSEGV in cuInit");
  EXPECT_EQ(driver_result({.kind = Kind::kNoAnswer, .out = "M call cuInit\n"}),
            "no answer within 10 s in cuInit");
  EXPECT_EQ(driver_result({.kind = Kind::kNoAnswer, .left_behind = true, .pid = 77}),
            "no answer within 10 s; process 77 cannot be killed and was left");
  EXPECT_EQ(driver_result({.kind = Kind::kExited, .code = 3}), "ended with status 3");
  EXPECT_EQ(driver_result({.kind = Kind::kExited}), "ended with status 0") << "it said nothing";
}

TEST(Confirm, WhatAChildToldBeforeItsDeathIsKept) {
  DoorTwin door;
  door.answer = [](const ChildCommand& command) {
    ChildEnd end{.kind = Kind::kSignalled, .code = SIGILL};
    if (command.arguments[1] == "-c")
      end.out =
          "M json {\"result\": \"imported\", \"version\": {\"value\": \"2.1\", \"source\": "
          "\"t\"}}\nM call torch.cuda.is_available\n";
    return end;
  };
  const auto run = confirm(machine_with({"torch"}), options(), door);
  EXPECT_EQ(run.frameworks[0].result, "died of SIGILL in torch.cuda.is_available");
  EXPECT_TRUE(run.frameworks[0].version.is("2.1"));
}

TEST(Confirm, HostileOutputIsNoAnswer) {
  for (const std::string& text :
       {std::string("M json [[[[\n"), "M json " + std::string(1 << 20, '[') + "\n",
        std::string("M json \xff\xfe{}\nM call \xff\n"), std::string(1 << 20, '\n')}) {
    DoorTwin door;
    door.answer = [&](const ChildCommand&) {
      return ChildEnd{.kind = Kind::kExited, .out = text, .err = text};
    };
    const auto run = confirm(machine_with({"torch"}), options(), door);
    EXPECT_TRUE(run.driver->devices.empty());
    EXPECT_NE(run.driver->result, "CUDA_SUCCESS");
  }
}

TEST(Confirm, SaysWhatItDoesAndClearsItAtTheEnd) {
  DoorTwin door;
  confirm(machine_with({"torch"}), options(), door);
  ASSERT_EQ(door.told.size(), 4u);
  EXPECT_EQ(door.told.back(), "");
}

TEST(RandomMarker, IsLongAndNew) {
  EXPECT_GE(random_marker().size(), 24u);
  EXPECT_NE(random_marker(), random_marker());
}

}  // namespace
}  // namespace gpuwright
