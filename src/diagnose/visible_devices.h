#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuwright {

/// A GPU as CUDA_VISIBLE_DEVICES can name it.
struct NamedGpu {
  std::string uuid;  ///< "GPU-..."; empty when not known.
};

/// What libcuda makes of CUDA_VISIBLE_DEVICES at cuInit.
struct VisibleDevices {
  enum class State {
    kAll,      ///< The variable is not set.
    kSome,     ///< `gpus`, in order.
    kNone,     ///< No device at all.
    kUnknown,  ///< Cannot be decided from what is known.
  } state = State::kUnknown;
  std::vector<std::size_t> gpus;  ///< Indices into the list that was given.
  std::string reason;             ///< For kNone and kUnknown: a sentence about the value.
};

/// Follows the driver: elements in order, the first invalid one ends the list, a duplicate leaves
/// nothing, numbers parse as strtoul does (so "1gpu" is 1 and "\"0\"" is nothing), "GPU-<prefix>"
/// must match exactly one UUID, the kind of the first element fixes that of all. `gpus` is in the
/// order of the driver's numbering; without a value (`value` is empty optional) all are visible.
/// `count_known` false: the number of GPUs is not known, and only values that are wrong for every
/// count are decided.
VisibleDevices visible_devices(const std::optional<std::string>& value,
                               const std::vector<NamedGpu>& gpus, bool count_known);

}  // namespace gpuwright
