#include "diagnose/visible_devices.h"

#include <algorithm>
#include <cstdint>

#include "base/text.h"

namespace gpuwright {
namespace {

using State = VisibleDevices::State;

// strtoul's view of an element: blanks and a sign, then digits, then anything. Nothing without a
// digit; a negative number wraps to one that no machine has.
std::optional<std::size_t> leading_number(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\n\v\f\r");
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const auto number = parse_unsigned(text.substr(0, text.find_first_not_of("0123456789")));
  if (!number) return std::nullopt;
  return negative && *number > 0 ? SIZE_MAX : static_cast<std::size_t>(*number);
}

VisibleDevices none(std::string reason) { return {State::kNone, {}, std::move(reason)}; }
VisibleDevices unknown(std::string reason) { return {State::kUnknown, {}, std::move(reason)}; }

// The one GPU whose UUID begins with `prefix`, compared without regard to case. "GPU-" alone and a
// blank before it name none (driver 580.159.04).
std::optional<std::size_t> by_uuid(std::string_view prefix, const std::vector<NamedGpu>& gpus) {
  constexpr std::string_view kMark = "GPU-";
  std::optional<std::size_t> hit;
  if (!prefix.starts_with(kMark) || prefix.size() == kMark.size()) return hit;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (!lower(gpus[i].uuid).starts_with(lower(prefix))) continue;
    if (hit) return std::nullopt;
    hit = i;
  }
  return hit;
}

}  // namespace

VisibleDevices visible_devices(const std::optional<std::string>& value,
                               const std::vector<NamedGpu>& gpus, bool count_known) {
  if (!value) return {State::kAll, {}, {}};
  const std::string shown = "CUDA_VISIBLE_DEVICES='" + printable(*value) + "'";
  if (trim(*value).empty()) return none(shown + " is set and empty, which hides every GPU");
  const auto elements = split(*value, ',');
  const bool uuids = elements[0].starts_with("GPU-");
  if (elements[0].starts_with("MIG-"))
    return unknown(shown + " names a MIG instance, and those are not known from files");
  const bool names_known =
      std::all_of(gpus.begin(), gpus.end(), [](const auto& gpu) { return !gpu.uuid.empty(); });
  if (uuids && (!count_known || !names_known))
    return unknown(shown + " names GPUs by UUID, and their UUIDs are not known");

  VisibleDevices result{State::kSome, {}, {}};
  for (const auto element : elements) {
    std::optional<std::size_t> index;
    if (uuids) {
      index = by_uuid(element, gpus);
    } else {
      index = leading_number(element);
      if (index && !count_known && *index != SIZE_MAX)
        return unknown(shown + " counts GPUs, and their number is not known");
      if (index && *index >= gpus.size()) index = std::nullopt;
    }
    if (!index) break;  // the first invalid element ends the list
    if (std::find(result.gpus.begin(), result.gpus.end(), *index) != result.gpus.end())
      return none(shown + " names GPU " + std::to_string(*index) +
                  " twice, which CUDA refuses as a whole (error 101)");
    result.gpus.push_back(*index);
  }
  if (!result.gpus.empty()) return result;
  const auto first = trim(elements[0]);
  if (first.starts_with('"') || first.starts_with('\''))
    return none(shown + " holds quotation marks, so that no element is a number");
  return none(shown + " begins with '" + std::string(first) +
              "', which is no GPU of this machine, so that none is visible");
}

}  // namespace gpuwright
