#pragma once

#include <set>
#include <string>
#include <vector>

#include "child.h"
#include "diagnose/diagnose.h"
#include "machine/machine.h"

// One framework in one environment, under one set of variables: what gpuwright predicts from the
// files, and what the real process does.

namespace gpuwright::real {

/// What is run, and under which variables.
struct Scene {
  std::string python_environment;  ///< Directory of a venv.
  std::string framework;           ///< "tensorflow", "torch", "jax"
  Environment variables;           ///< Besides PATH, HOME and LANG.
};

using Paths = std::set<std::string>;

struct Prediction {
  Machine machine;      ///< As the probes fill it.
  Framework framework;  ///< The one of the scene.
  /// The judgement if the machine had a working H200 with its driver, and all else as it is.
  FrameworkAnswer answer;
  std::vector<Finding> findings;  ///< Of that judgement, those about this framework.
  std::vector<Finding> all;       ///< All of them.

  /// Real paths of the libraries found up to a stage: "import", "query", "device" or "use".
  Paths mapped(const std::string& until) const;
  bool finds(const std::string& id) const;
  bool finds_anywhere(const std::string& id) const;
};
/// Runs `gpuwright snapshot` as the user would.
Prediction predict(const Scene& scene);

/// What the real process said and mapped.
struct Reality {
  Paths after_import, after_query;  ///< GPU libraries and libstdc++ in /proc/self/maps.
  std::size_t gpus = 0;             ///< Devices that the framework lists.
  std::string import_error;         ///< Text of the exception, empty when it worked.
  std::string log;                  ///< Standard error.
};
Reality observe(const Scene& scene);

/// Adds up over a test program, for the line that it prints.
struct Tally {
  std::size_t scenes = 0, paths = 0, differences = 0;
};

/// How far the real process goes at the device query.
enum class Reach {
  kDevice,  ///< CUDA starts, all that a device needs is opened, and the devices are listed.
  kOpened,  ///< The same up to the listing, for which the fake driver does too little.
  kQuery,   ///< The driver is asked and nothing after it.
  kStops,   ///< Somewhere between: what is mapped must be predicted, not the reverse.
};

/// Compares both stages path by path and the answer with the devices listed. Every difference is a
/// test failure.
void compare(const std::string& title, const Prediction& prediction, const Reality& reality,
             Reach reach, Tally& tally);

/// Prints and records what was compared.
void print(const char* what, const Tally& tally);

}  // namespace gpuwright::real
