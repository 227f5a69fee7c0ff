#include "reading/pattern.h"

namespace gpuwright {
namespace {

constexpr Pattern kPatterns[] = {
    {"container.no-device-driver",
     "could not select device driver",
     R"re(could not select device driver "(?P<driver>[^"]*)" with capabilities: \[\[(?P<capabilities>[^\]]*)\]\])re",
     {"docker: Error response from daemon: could not select device driver \"\" with capabilities: "
      "[[gpu]]."}},
};

}  // namespace

std::span<const Pattern> container_patterns() { return kPatterns; }

}  // namespace gpuwright
