#include "reading/pattern.h"

namespace gpuwright {
namespace {

constexpr Pattern kPatterns[] = {
    {"loader.not-found",
     "cannot open shared object file",
     R"((?P<library>lib[\w.+-]+?\.so[\d.]*): cannot open shared object file: (?P<reason>[A-Z][a-z ]+))",
     {"ImportError: libcudnn.so.8: cannot open shared object file: No such file or directory"}},
};

}  // namespace

std::span<const Pattern> host_patterns() { return kPatterns; }

}  // namespace gpuwright
