#include "machine/json.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "machine/fields.h"

namespace gpuwright {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
inline constexpr bool kIsStruct = !std::is_same_v<std::remove_cv_t<decltype(kFields<T>)>, bool>;

template <class T>
struct IsFact : std::false_type {};
template <class T>
struct IsFact<Fact<T>> : std::true_type {
  using Value = T;
};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

template <class T>
Json write(const T& value) {
  if constexpr (IsFact<T>::value) {
    Json out;
    if (value.is_known()) {
      out["value"] = write(*value);
    } else if (value.is_absent()) {
      out["absent"] = true;
    } else {
      out["unknown"] = value.reason();
    }
    out["source"] = value.source();
    return out;
  } else if constexpr (kIsStruct<T>) {
    Json out = Json::object();
    std::apply([&](const auto&... f) { ((out[f.name] = write(value.*(f.member))), ...); },
               kFields<T>);
    return out;
  } else if constexpr (IsVector<T>::value) {
    Json out = Json::array();
    for (const auto& item : value) out.push_back(write(item));
    return out;
  } else if constexpr (std::is_same_v<T, Version>) {
    return value.text();
  } else if constexpr (std::is_same_v<T, std::map<std::string, std::string>>) {
    Json out = Json::object();
    for (const auto& [key, text] : value) out[key] = text;
    return out;
  } else {
    return value;
  }
}

/// Reads with the place at hand; the first failure is kept and ends the rest.
struct Reader {
  std::string error_place;
  std::string error;

  void refuse(const std::string& place, std::string why) {
    if (error.empty()) {
      error_place = place;
      error = std::move(why);
    }
  }

  template <class T>
  void read(const Json& from, T& into, const std::string& place) {
    if (!error.empty()) return;
    if constexpr (IsFact<T>::value) {
      read_fact(from, into, place);
    } else if constexpr (kIsStruct<T>) {
      if (!from.is_object()) return refuse(place, "is not an object");
      std::apply(
          [&](const auto&... f) {
            ((from.contains(f.name) ? read(from.at(f.name), into.*(f.member), place + "." + f.name)
                                    : void()),
             ...);
          },
          kFields<T>);
    } else if constexpr (IsVector<T>::value) {
      if (!from.is_array()) return refuse(place, "is not an array");
      into.clear();
      for (std::size_t i = 0; i < from.size(); ++i) {
        into.emplace_back();
        read(from[i], into.back(), place + "[" + std::to_string(i) + "]");
      }
    } else if constexpr (std::is_same_v<T, Version>) {
      if (!from.is_string()) return refuse(place, "is not a version");
      auto version = Version::parse(from.get<std::string>());
      if (!version) return refuse(place, "is not a version");
      into = *version;
    } else if constexpr (std::is_same_v<T, std::map<std::string, std::string>>) {
      if (!from.is_object()) return refuse(place, "is not an object");
      for (const auto& [key, text] : from.items()) {
        if (!text.is_string()) return refuse(place + "." + key, "is not a string");
        into[key] = text.template get<std::string>();
      }
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!from.is_string()) return refuse(place, "is not a string");
      into = from.get<std::string>();
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!from.is_boolean()) return refuse(place, "is not true or false");
      into = from.get<bool>();
    } else if constexpr (std::is_same_v<T, double>) {
      if (!from.is_number()) return refuse(place, "is not a number");
      into = from.get<double>();
    } else {
      static_assert(std::is_same_v<T, std::uint64_t>);
      if (!from.is_number_unsigned()) return refuse(place, "is not a whole number");
      into = from.get<std::uint64_t>();
    }
  }

  template <class T>
  void read_fact(const Json& from, Fact<T>& into, const std::string& place) {
    if (!from.is_object()) return refuse(place, "is not a fact");
    std::string source;
    if (from.contains("source")) read(from.at("source"), source, place + ".source");
    if (from.contains("value")) {
      T value{};
      read(from.at("value"), value, place + ".value");
      into = Fact<T>::known(std::move(value), source);
    } else if (from.contains("absent")) {
      into = Fact<T>::absent(source);
    } else if (from.contains("unknown")) {
      std::string reason;
      read(from.at("unknown"), reason, place + ".unknown");
      into = Fact<T>::unknown(source, reason);
    } else {
      refuse(place, "has none of value, absent, unknown");
    }
  }
};

template <class T>
void collect(const T& value, const std::string& place, const std::string& source,
             std::vector<FactLine>& out) {
  if constexpr (IsFact<T>::value) {
    if (value.is_known()) {
      collect(*value, place, value.source(), out);
    } else {
      out.push_back(
          {place, value.is_absent() ? "absent" : "unknown: " + value.reason(), value.source()});
    }
  } else if constexpr (kIsStruct<T>) {
    std::apply(
        [&](const auto&... f) {
          (collect(value.*(f.member), place.empty() ? f.name : place + "." + f.name, source, out),
           ...);
        },
        kFields<T>);
  } else if constexpr (IsVector<T>::value) {
    if (value.empty()) out.push_back({place, "none", source});
    for (std::size_t i = 0; i < value.size(); ++i)
      collect(value[i], place + "[" + std::to_string(i) + "]", source, out);
  } else if constexpr (std::is_same_v<T, std::map<std::string, std::string>>) {
    for (const auto& [key, text] : value) out.push_back({place + "." + key, text, source});
  } else if constexpr (std::is_same_v<T, Version>) {
    out.push_back({place, value.text(), source});
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!value.empty()) out.push_back({place, value, source});
  } else {
    out.push_back({place, Json(value).dump(), source});
  }
}

}  // namespace

Json snapshot_to_json(const Machine& machine) {
  Json out;
  out["kind"] = "gpuwright-snapshot";
  out["schema"] = kSnapshotSchema;
  out["machine"] = write(machine);
  return out;
}

Result<Machine> snapshot_from_json(const Json& document) {
  if (!document.is_object() || document.value("kind", Json()) != "gpuwright-snapshot")
    return fail("is not a gpuwright snapshot (no \"kind\": \"gpuwright-snapshot\")");
  const auto schema = document.value("schema", Json());
  if (!schema.is_number_integer()) return fail("has no schema number");
  if (schema != kSnapshotSchema)
    return fail("has schema " + schema.dump() + ", this program reads schema " +
                std::to_string(kSnapshotSchema));
  if (!document.contains("machine")) return fail("has no \"machine\"");
  Machine machine;
  Reader reader;
  reader.read(document.at("machine"), machine, "machine");
  if (!reader.error.empty()) return fail(reader.error_place + " " + reader.error);
  return machine;
}

Result<Machine> snapshot_from_text(std::string_view text, const std::string& name) {
  // Said before the depth is counted, which in a binary file would be an accident.
  if (!trim(text).starts_with('{'))
    return fail("is not a gpuwright snapshot (does not begin with '{')", name);
  // A depth limit comes first: the parser is iterative but the value's destructor is not.
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > 64) return fail("is nested too deeply for a snapshot", name);
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  Json document;
  try {
    document = Json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    return fail("is not JSON, at byte " + std::to_string(error.byte), name);
  } catch (const nlohmann::json::out_of_range&) {
    return fail("has a number beyond all measure", name);  // 1e999
  }
  auto machine = snapshot_from_json(document);
  if (!machine) return fail(machine.error().message, name);
  return machine;
}

std::vector<FactLine> fact_lines(const Machine& machine) {
  std::vector<FactLine> out;
  collect(machine, "", "", out);
  for (auto& line : out) line.value = printable(line.value);
  return out;
}

}  // namespace gpuwright
