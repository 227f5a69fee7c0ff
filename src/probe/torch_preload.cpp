#include "probe/torch_preload.h"

#include <algorithm>

#include "base/text.h"
#include "probe/python_literal.h"

namespace gpuwright {
namespace {

constexpr auto kNowhere = std::string_view::npos;

// Lines that hold a folder and a pattern, in whatever form: `"cublas": "libcublas.so.*[0-9]",` of
// a dict, `("cublas", "libcublas.so.*[0-9]"),` of a list, `cuda_libs["cufile"] = "libcufile..."`,
// `_preload_cuda_deps("nvtx", "libnvToolsExt.so.*[0-9]", required=False)`.
std::vector<TorchPreload> preloads_in(std::string_view text) {
  std::vector<TorchPreload> found;
  for (const auto line : lines(text)) {
    auto texts = quoted_texts(line);
    if (texts.size() != 2 || !texts[1].starts_with("lib") ||
        texts[1].find(".so.") == std::string::npos)
      continue;
    found.push_back(
        {std::move(texts[0]), std::move(texts[1]), line.find("required=False") == kNowhere});
  }
  return found;
}

// Two parts of _load_global_deps: from the first CDLL to `except OSError`, and what follows.
struct GlobalDeps {
  std::string_view success, failure;
};
GlobalDeps split_global_deps(std::string_view body) {
  const auto loaded = body.find("ctypes.CDLL(");
  const auto failed = body.find("except OSError");
  if (loaded == kNowhere || failed == kNowhere || failed < loaded) return {};
  return {body.substr(loaded, failed - loaded), body.substr(failed)};
}

// `if "libcudart.so" not in _maps:`
std::string maps_condition(std::string_view success) {
  for (const auto line : lines(success))
    if (line.find("not in _maps") != kNowhere)
      if (const auto texts = quoted_texts(line); !texts.empty()) return texts.front();
  return {};
}

// The search is written out in _preload_cuda_deps, since 2.7 in a function of its own.
std::vector<std::string> places_in(std::string_view source) {
  auto search = function_body(source, "_get_cuda_dep_paths");
  if (search.empty()) search = function_body(source, "_preload_cuda_deps");
  std::vector<std::string> places = {"nvidia/%F/lib"};
  if (search.find("cu{") != kNowhere) places.emplace_back("nvidia/cu%M/lib");
  if (search.find("(path, lib_folder") != kNowhere) places.emplace_back("%F/lib");
  return places;
}

}  // namespace

TorchPreloadPlan parse_torch_preload(std::string_view source) {
  TorchPreloadPlan plan;
  plan.places = places_in(source);
  const auto parts = split_global_deps(function_body(source, "_load_global_deps"));
  // Since 2.10 the list is that of a function which both sides call.
  const auto shared = preloads_in(function_body(source, "_preload_cuda_deps"));
  plan.after_failure = shared.empty() ? preloads_in(parts.failure) : shared;
  plan.success_needs = maps_condition(parts.success);
  if (shared.empty()) {
    plan.after_success = preloads_in(parts.success);
  } else if (parts.success.find("_preload_cuda_deps(") != kNowhere) {
    plan.after_success = shared;
    if (parts.success.find("_preload_cuda_deps(required=False)") != kNowhere)
      for (auto& preload : plan.after_success) preload.required = false;
  }
  return plan;
}

}  // namespace gpuwright
